"""Diagnostics: the numbers of ArviZ, and what is wrong in words."""

from typing import Any

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from molehill.synthesis.sampling.chains import Run
from molehill.synthesis.sampling.diagnostics import LEAST_BULK, diagnose, join_diagnostics

AXES = {"chain_axis": 0, "draw_axis": 1}
STATS: Any = array_stats


def judge(functionals: dict[str, np.ndarray], divergent: float = 0.0, **how: Any):
    shape = next(iter(functionals.values())).shape[:2]
    broke = np.arange(np.prod(shape)).reshape(shape) < divergent * np.prod(shape)
    return diagnose(Run({}, functionals, np.full(shape, 0.8), broke, 9, shape[1], 0, {"sampling": 1.0}), **how)


def noise(draws: int = 600, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, draws, 1))


def test_numbers_are_those_of_arviz():
    chains = np.cumsum(noise(), axis=1) * 0.01 + noise(seed=1)
    diagnostics = judge({"level": chains, "pair": np.concatenate([chains**2, noise(seed=2)], axis=2)})
    assert list(diagnostics.table.index) == ["level", "pair[0]", "pair[1]"]
    row = diagnostics.table.loc["level"].to_dict()
    values = chains[..., 0]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std())
    assert row["rhat"] == pytest.approx(float(STATS.rhat(values, **AXES)))
    assert row["bulk"] == pytest.approx(float(STATS.ess(values, **AXES)))
    assert row["tail"] == pytest.approx(float(STATS.ess(values, method="tail", prob=(0.05, 0.95), **AXES)))
    assert row["error"] == pytest.approx(float(STATS.mcse(values, **AXES)))
    assert diagnostics.effective_size == diagnostics.table["bulk"].min()
    assert (diagnostics.divergent, diagnostics.accept, diagnostics.gradients) == (0.0, pytest.approx(0.8), 9)


def test_good_chains_have_no_problem():
    assert judge({"a": noise()}).problems == ()


def test_chains_apart_are_told_with_the_functional_and_the_number():
    apart = noise() + np.array([0.0, 3.0])[:, None, None]
    problems = judge({"fine": noise(seed=1), "apart": apart}).problems
    rhat = float(STATS.rhat(apart[..., 0], **AXES))
    assert problems[0].startswith(f"R-hat of apart is {rhat:.3f}, above ")
    assert "draws=" in problems[0]


def test_modes_within_the_tolerance_are_told_and_decide_nothing():
    """Two chains 0.3 apart: an R-hat far above the limit, and a difference that is said to be none."""
    modes = 0.1 * noise() + np.array([0.0, 0.3])[:, None, None]
    functionals = {"fine": noise(seed=1), "modes": modes}
    halves = modes.reshape(2, 2, 300).mean(axis=2)
    for tolerance, excused in ((np.ptp(halves) * 1.001, True), (np.ptp(halves) * 0.999, False)):
        found = judge(functionals, tolerances={"modes": tolerance})
        assert found.table.loc["modes", "apart"] == pytest.approx(np.ptp(halves))
        assert (found.problems == ()) == excused == (not found.table.loc["modes", "decides"])
        assert (found.largest_rhat < 1.02) == excused
        assert bool(found.remarks) == excused
    told = judge(functionals, tolerances={"modes": np.inf}).remarks
    assert told[0].startswith("the chains are in different modes (R-hat of modes is")


def test_a_tolerance_excuses_no_chains_that_hardly_move():
    """Two chains that stand nearly still, and near each other, have shown nothing."""
    still = 0.001 * np.cumsum(noise(), axis=1)
    assert judge({"a": still, "b": still**2, "c": noise()}, tolerances={"a": 1.0, "b": 1.0}).problems
    assert not judge({"a": still, "b": noise(seed=1), "c": noise()}, tolerances={"a": 1.0}).problems


def test_hopeless_is_what_lies_far_apart_and_would_not_do_in_the_time_that_is_left():
    apart = 0.1 * noise() + np.array([0.0, 0.3])[:, None, None]
    found = judge({"fine": noise(seed=1), "apart": apart})
    size = float(found.table["bulk"]["apart"])
    assert found.is_hopeless(0.99 * 200 / size, 200)
    assert not found.is_hopeless(1.01 * 200 / size, 200)
    assert not judge({"fine": noise(seed=1), "apart": apart}, tolerances={"apart": 0.4}).is_hopeless(1.0, 200)
    assert judge({"fine": noise(seed=1), "apart": apart}, tolerances={"apart": 0.2}).is_hopeless(1.0, 200)


@pytest.mark.parametrize("stuck", [[0, 1], [0]], ids=["both", "one"])
def test_chains_that_never_move_each_at_its_own_place(stuck):
    chains = noise()
    for chain in stuck:
        chains[chain] = 5.0 + chain
    assert any(problem.startswith("R-hat of a is") for problem in judge({"a": chains}).problems)


def test_short_chains_have_too_small_an_effective_size():
    problems = judge({"a": noise(50)}).problems
    assert any(problem.startswith("the bulk effective size of a is") for problem in problems)
    assert any(f"below {LEAST_BULK}" in problem for problem in problems)


def test_slow_chains_have_too_small_an_effective_size():
    slow = np.cumsum(noise(2000), axis=1)
    assert any("effective size of slow" in problem for problem in judge({"slow": slow, "fast": noise(2000)}).problems)


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_too_few_draws_to_judge_is_a_problem(draws):
    diagnostics = judge({"a": noise(draws)})
    assert "too few draws" in "".join(diagnostics.problems)
    assert diagnostics.effective_size == 0


def test_a_constant_functional_says_nothing():
    diagnostics = judge({"constant": np.full((2, 600, 1), 3.0), "a": noise()})
    assert diagnostics.problems == ()
    assert diagnostics.effective_size == diagnostics.table.loc["a", "bulk"]
    assert np.isnan(diagnostics.table["rhat"].to_dict()["constant"])


def test_chains_that_all_stand_still_have_not_converged():
    diagnostics = judge({"a": np.full((2, 600, 2), 3.0)})
    assert "no chain moved" in "".join(diagnostics.problems)
    assert diagnostics.effective_size == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_functional_that_is_not_finite_is_named(value):
    chains = np.concatenate([noise(), noise(seed=1)], axis=2)
    chains[1, 7, 1] = value
    diagnostics = judge({"mean": chains})
    assert len(diagnostics.problems) == 1
    assert "1 functionals are not finite, for example mean[1]" in diagnostics.problems[0]
    assert diagnostics.effective_size == diagnostics.table.loc["mean[0]", "bulk"]


def test_divergences_are_told():
    assert judge({"a": noise()}, divergent=0.005).problems == ()
    diagnostics = judge({"a": noise()}, divergent=0.05)
    assert diagnostics.divergent == pytest.approx(0.05)
    assert diagnostics.problems[0].startswith("5.0% of the trajectories diverged")


def test_parts_keep_their_names_when_joined():
    parts = {"sign": judge({"a": noise()}), "size": judge({"a": noise(50)}, divergent=0.5)}
    joined = join_diagnostics(parts)
    assert list(joined.table.index) == ["sign.a", "size.a"]
    assert joined.problems == tuple(f"size: {problem}" for problem in parts["size"].problems)
    assert joined.effective_size == parts["size"].effective_size
    assert (joined.divergent, joined.gradients) == (pytest.approx(0.5), 18)
    assert joined.seconds == {"sign, sampling": 1.0, "size, sampling": 1.0}
