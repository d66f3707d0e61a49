"""How a measured point is judged by a target: beyond its error, by chance, by few records drawn anew."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from agreement import assert_agrees, assert_differs, assert_rate, standard_error
from molehill.evaluation.criteria import Criterion, read_criteria
from molehill.release.search.judging import (
    Measured,
    breaking_by_record,
    breaking_chance,
    breaking_records,
    count_breaks,
    expected_figure,
    judge,
)


def test_chance_of_breaking_is_that_of_coins():
    risk, coverage = np.array([0.27, 0.0, 0.6]), np.array([0.9, 0.5, 0.6])
    found = breaking_by_record(risk, coverage, 0.5, 20)
    # 0.9 k / 20 > 0.5 from k = 12 on; the last is close in every table, and its risk is then 0.6.
    np.testing.assert_allclose(found, np.array([float(binom.sf(11, 20, 0.3)), 0.0, 1.0]), atol=1e-12)
    # On the bound is not beyond it: 10 of 20 tables at coverage 1.
    np.testing.assert_allclose(breaking_by_record(np.array([0.4]), np.array([1.0]), 0.5, 20), binom.sf(10, 20, 0.4))
    assert breaking_chance(np.array([0.1, 0.2, 0.0])) == pytest.approx(1 - 0.9 * 0.8)


def test_chance_of_breaking_agrees_with_simulated_releases():
    random = np.random.default_rng(1)
    close, coverage = random.uniform(0.05, 0.35, 400), random.uniform(0.7, 1.0, 400)
    counts = random.binomial(20, close, (4000, 400))
    broken = (counts * coverage / 20 > 0.5).any(axis=1).sum()
    chance = breaking_chance(breaking_by_record(close * coverage, coverage, 0.5, 20))
    assert_rate(broken, 4000, chance, detects=0.08, of="releases that break the rule")


@pytest.mark.parametrize("share", [0.99, 1.0])
def test_the_maximum_of_noisy_risks_is_not_taken_at_face_value(share):
    random = np.random.default_rng(2)
    target = Criterion("expected_mean", "99%" if share < 1 else "maximum", 0.5)
    naive, corrected = [], []
    for _ in range(120):
        true = random.normal(0.3, 0.05, 2000)
        blocks = true + random.normal(0, 0.03 * np.sqrt(20), (20, 2000))
        naive.append(np.quantile(blocks.mean(axis=0), share) - np.quantile(true, share))
        corrected.append(expected_figure(target, blocks)[0] - np.quantile(true, share))
    # Noise of 0.03 widens a spread of 0.05; the largest of 2000 lies at about the quantile 1 - 1 / 3000 of it.
    bias = (np.hypot(0.05, 0.03) - 0.05) * norm.ppf(min(share, 1 - 1 / 3000))
    assert_differs(np.mean(naive), 0.0, standard_error(naive), effect=bias)
    # To second order: what is left is less than a third of the bias.
    assert_agrees(np.mean(corrected), 0.0, standard_error(corrected), bias=bias / 3, detects=bias)


def measured(risk, *, coverage=1.0, spread=0.0, runs=None, distances=(0.02, 0.03), overlaps=None):
    risk = np.asarray(risk, dtype=float)
    blocks = risk + spread * np.where(np.arange(20) % 2, 1, -1)[:, None]
    runs = np.tile(risk, (20, 1)) if runs is None else np.asarray(runs)
    return Measured(
        blocks,
        runs,
        np.full(len(risk), coverage),
        np.array(distances),
        overlaps or {},
        figures={},
        isolated=risk >= risk.max(),
        agreement=np.full(2, 1000.0),
        lost=np.zeros(1),
        picks=blocks / 2,
    )


def test_risk_in_the_population_is_that_times_the_chance_to_be_in_the_sample():
    how: dict[str, Any] = {"tables": 20, "in_sample": np.full(2, 0.1)}
    found = judge(Criterion("population_mean", "maximum", 0.05), measured([0.2, 0.4]), chance=0.2, **how)
    assert found.met
    assert found.value == pytest.approx(0.04)
    tight = Criterion("population_mean", "mean", 0.02)
    missed = judge(tight, measured([0.2, 0.4]), chance=0.2, **how)
    assert not missed.met
    assert breaking_records(tight, measured([0.1, 0.4]), **how).tolist() == [False, True]


def test_an_expected_risk_must_meet_its_bound_beyond_its_error():
    how: dict[str, Any] = {"tables": 20, "chance": 0.2}
    exact = judge(read_criteria("mean expected <= 0.2")[0], measured([0.1, 0.3]), **how)
    assert (exact.met, exact.gap) == (True, 0.0)
    assert exact.value == pytest.approx(0.2)
    # Blocks 0.1 above and below: standard deviation 0.1026, error 0.0229.
    noisy = judge(read_criteria("mean expected <= 0.22")[0], measured([0.1, 0.3], spread=0.1), **how)
    assert noisy.error == pytest.approx(0.1 * np.sqrt(20 / 19) / np.sqrt(20))
    assert not noisy.met
    assert noisy.gap == pytest.approx(0.2 + 1.645 * noisy.error - 0.22)
    assert judge(read_criteria("mean expected <= 0.22")[0], measured([0.1, 0.3], spread=0.1), **how, margin=0.0).met
    distance = judge(read_criteria("U_m <= 0.03")[0], measured([0.1]), **how)
    assert (distance.value, distance.error, distance.met) == (pytest.approx(0.025), pytest.approx(0.005), False)


def test_the_chance_to_be_picked_must_meet_its_bound_beyond_its_error():
    how: dict[str, Any] = {"tables": 20, "chance": 0.2}
    # The helper has picks of half the risk: 0.05 and 0.15.
    exact = judge(read_criteria("maximum pick <= 0.1501")[0], measured([0.1, 0.3]), **how)
    assert (exact.met, exact.value) == (True, pytest.approx(0.15))
    assert judge(read_criteria("mean pick <= 0.1")[0], measured([0.1, 0.3]), **how).value == pytest.approx(0.1)
    # Blocks 0.05 above and below: error 0.0115, of which 1.645 are 0.0189.
    for bound, met in ((0.165, False), (0.17, True)):
        noisy = judge(read_criteria(f"maximum pick <= {bound}")[0], measured([0.1, 0.3], spread=0.1), **how)
        assert noisy.error == pytest.approx(0.05 * np.sqrt(20 / 19) / np.sqrt(20))
        assert noisy.met == met
    found = breaking_records(read_criteria("maximum pick <= 0.1")[0], measured([0.1, 0.3, 0.18]), tables=20)
    assert found.tolist() == [False, True, False]
    assert breaking_records(read_criteria("right picks <= 0.1")[0], measured([0.1, 0.3]), tables=20).sum() == 0


def test_runs_that_break_a_realised_target_are_counted_with_their_interval():
    runs = np.array([[0.1, 0.6]] * 3 + [[0.2, 0.5]] * 17)
    maximum, mean = read_criteria(["maximum realised <= 0.5", "mean realised <= 0.349"])
    # Clopper and Pearson for 3 of 20.
    assert count_breaks([maximum], runs) == pytest.approx((0.15, 0.0321, 0.3789), abs=1e-4)
    # The others break the mean.
    assert count_breaks([maximum, mean], runs)[::2] == (1.0, 1.0)
    assert count_breaks(read_criteria("maximum realised <= 1"), runs) == (0.0, 0.0, 0.0)
    assert np.isnan(count_breaks(read_criteria("maximum expected <= 0.5"), runs)).all()


def test_realised_targets_are_judged_by_chance_or_by_few_redrawn():
    how: dict[str, Any] = {"tables": 20, "chance": 0.2}
    target = read_criteria("maximum realised <= 0.5")[0]
    few = measured([0.25] * 50)
    one = binom.sf(10, 20, 0.25)
    verdict = judge(target, few, **how)
    assert verdict.chance == pytest.approx(1 - (1 - one) ** 50)
    assert verdict.records == pytest.approx(50 * one)
    assert verdict.met == (verdict.chance <= 0.2)
    many = measured([0.25] * 5000)
    assert not judge(target, many, **how).met
    assert judge(target, many, **how).chance > 0.9
    # 20 records of 5,000 are expected to break it, four in a thousand; of 1,500 at 0.2 it is 0.84 in all.
    assert not judge(target, many, **how, redraw=0.001).met
    assert judge(target, many, **how, redraw=0.005).met
    one_or_none = judge(target, measured([0.2] * 1500), **how, redraw=1e-6)
    assert one_or_none.records == pytest.approx(1500 * binom.sf(10, 20, 0.2))
    assert one_or_none.met
    assert not judge(target, measured([0.2] * 1500), **how).met
    # A record that breaks it in expectation is not bad luck.
    assert not judge(target, measured([0.2] * 100 + [0.55]), **how, redraw=0.5).met


def test_moles_and_overlaps():
    how: dict[str, Any] = {"tables": 20, "chance": 0.2}
    point = measured([0.5, 0.2], overlaps={"mean of pay": 0.9, "sd of pay": 0.4})
    reference = (np.array([0.2, 0.2]), np.zeros(2))
    assert judge(read_criteria("moles 0.1 <= 0")[0], point, **how, reference=reference).value == 1
    assert judge(read_criteria("moles 0.1 <= 1")[0], point, **how, reference=reference).met
    assert judge(read_criteria("overlap of mean of pay >= 0.6")[0], point, **how).met
    assert judge(read_criteria("overlap >= 0.6")[0], point, **how).value == 0.4
    found = breaking_records(read_criteria("moles 0.1 <= 0")[0], point, tables=20, reference=reference)
    assert found.tolist() == [True, False]
    assert breaking_records(read_criteria("maximum expected <= 0.3")[0], point, tables=20).tolist() == [True, False]
