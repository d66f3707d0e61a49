"""Moles in the expected risk, and rises in the realised risk beside what chance alone shows."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_at_least
from molehill.errors import InputError
from molehill.models import negative_binomial
from molehill.risk.expected import expected_risk
from molehill.risk.intruder import Intruder
from molehill.risk.moles import count_increases, moles
from molehill.synthesis.fitting import fit


def test_a_mole_rises_beyond_its_error():
    found = moles([0.50, 0.50, 0.45, 0.1], [0.03, 0.06, 0.0, 0.0], [0.2, 0.2, 0.25, 0.9], [0.0, 0.08, 0.0, 0.0])
    # Rises .3 (error .03), .3 (error .1), .2, -.8: only the first clears 0.2 by three errors; .2 is not more than .2.
    assert found.records.tolist() == [True, False, False, False]
    assert found.rise == pytest.approx([0.3, 0.3, 0.2, -0.8])
    assert found.error == pytest.approx([0.03, 0.1, 0.0, 0.0])
    assert found.number == 1
    assert repr(found) == "Moles(1 of 4 records increase by more than 0.2)"


def test_errors_and_step_decide():
    given = ([0.4], [0.03], [0.2], [0.04])
    assert moles(*given, step=0.1, errors=1.9).number == 1
    assert moles(*given, step=0.1, errors=2.1).number == 0
    assert moles(*given, step=0.15, errors=1.9).number == 0


def test_a_record_that_takes_no_part_is_no_mole():
    assert moles([np.nan], [np.nan], [np.nan], [np.nan]).number == 0


def test_of_one_table_of_the_reference_the_null_is_unknown():
    scheme = np.array([[0.9, 0.2, 0.5]])
    reference = np.array([[0.1, 0.2, 0.4]])
    rises = count_increases(scheme, reference, step=0.2)
    assert rises.number == 1
    assert np.isnan([rises.null, rises.null_low, rises.null_high]).all()


def test_a_reference_without_chance_has_no_rises_of_its_own():
    reference = np.array([[0.1, 0.2, 0.4]] * 5)
    rises = count_increases(reference + 0.3, reference, step=0.2)
    assert (rises.number, rises.null, rises.null_low, rises.null_high) == (3, 0, 0, 0)


def test_runs_of_the_reference_are_compared_in_all_ordered_pairs():
    runs = np.array([[0.0, 0.5], [0.3, 0.0], [0.6, 0.0]])
    rises = count_increases(runs[:1], runs[1:2], step=0.2, runs=runs)
    # First record: 2 > 1, 3 > 1, 3 > 2; second: 1 > 2, 1 > 3. Five in six ordered pairs, none with itself.
    assert rises.number == 1
    assert rises.null == pytest.approx(5 / 6)


@pytest.mark.parametrize(("tables", "own"), [(20, 20), (10, 20)])
def test_the_resampled_null_agrees_with_independent_runs(tables, own):
    # Records are found by a coin of their own in every table; the truth comes from pairs of independent runs.
    random = np.random.default_rng(7)
    chance, size = random.beta(2, 2, 3000), random.uniform(0.7, 1.0, 3000)

    def run(number):
        return (random.random((number, 3000)) < chance) * size

    true = np.array([(run(tables).mean(axis=0) - run(own).mean(axis=0) > 0.2).sum() for _ in range(200)])
    found = [count_increases(run(tables), run(own), seed=seed) for seed in range(8)]
    # Of one pair the resampled number is known to less than 2% (it has a standard deviation of 0.4 to 0.8%); resampling
    # 20 tables stretches the tails by up to 5%.
    null = np.mean([rises.null for rises in found]) / true.mean()
    error = np.hypot(true.std() / true.mean() / np.sqrt(200), 0.02 / np.sqrt(8))
    assert_agrees(null, 1.0, error, bias=0.05, detects=0.15)
    # Intervals of the single pairs cover 0.9 to 1, by a standard deviation of 0.03; found are those that cover 0.75.
    inside = [rises.null_low <= number <= rises.null_high for rises in found for number in true]
    assert_at_least(np.mean(inside), 0.95, np.hypot(0.03 / np.sqrt(8), np.sqrt(0.95 * 0.05 / 200)), detects=0.2)
    realised = [rises.number for rises in found]
    assert_agrees(np.mean(realised), true.mean(), true.std() / np.sqrt(8), detects=true.mean() / 2)


@pytest.mark.slow
def test_the_papers_simulation_has_as_many_rises_between_two_runs_of_one_scheme(shared):
    # README of the shared data: 19.5 (sd 4.4) between two runs of 20 tables; mean risk .1831 (sd .0019) in a run.
    data = pd.read_csv(shared / "nb_mixture_paper.csv")
    posterior = fit(negative_binomial("outcome"), data, seed=1, progress=False)
    expected = expected_risk(posterior, Intruder(known=[], sensitive="outcome", radius=0.15), seed=2)
    rises = count_increases(expected.runs[:1], expected.runs[1:2], runs=expected.runs)
    # Twenty runs are as good as ten independent pairs.
    assert len(expected.runs) == 20
    assert_agrees(rises.null, 19.5, 4.4 / np.sqrt(10), detects=12.0)
    assert_agrees(expected.runs.mean(), 0.1831, 0.0019, detects=0.02)


def test_wrong_arguments_are_refused():
    one = np.zeros((2, 3))
    with pytest.raises(InputError, match="step"):
        count_increases(one, one, step=0)
    with pytest.raises(InputError, match="reference: it has another number"):
        count_increases(one, np.zeros((2, 4)))
    with pytest.raises(InputError, match="risk: the four"):
        moles([0.1], [0.1, 0.2], [0.1], [0.1])
    with pytest.raises(InputError, match="errors"):
        moles([0.1], [0.1], [0.1], [0.1], errors=-1)
