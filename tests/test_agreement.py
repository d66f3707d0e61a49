"""Statistical assertions: how often they fail without reason, what they find, and what they refuse."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import agreement
from agreement import (
    ALARM,
    POWER,
    assert_agrees,
    assert_at_least,
    assert_at_most,
    assert_counts,
    assert_differs,
    assert_distribution,
    assert_mean,
    assert_rate,
    assert_rate_at_most,
    assert_spread,
    spread_error,
    standard_error,
)

# Draws of mean 0 and standard deviation 1.
DRAWS = np.random.default_rng(1).normal(size=1000)
NAN = np.nan


def passes(call, *given: Any, **named: Any) -> bool:
    try:
        call(*given, **named)
    except AssertionError as error:
        if "badly designed" in str(error):
            raise
        return False
    return True


def test_the_probabilities_are_those_that_are_stated():
    assert pytest.approx(5.7e-7, rel=0.01) == ALARM
    assert POWER > 0.998
    # A difference of 10 errors that is not seen.
    assert stats.norm.sf(10 - 5) == pytest.approx(3e-7, rel=0.05)


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_estimate_may_lie_five_errors_from_the_truth(sign):
    compare = partial(passes, assert_agrees, truth=3.0, error=0.1, detects=1.0)
    assert compare(3.0 + sign * 0.499)
    assert not compare(3.0 + sign * 0.501)


def test_false_alarms_and_power_by_simulation(monkeypatch):
    # At one and a half errors in the place of 5, and 4 in the place of 8: as often as a normal distribution says.
    monkeypatch.setattr(agreement, "ALARM_ERRORS", 1.5)
    monkeypatch.setattr(agreement, "DETECTED_ERRORS", 4.0)
    random, runs, size = np.random.default_rng(2), 2000, 400
    for shift, passed in ((0.0, 1 - 2 * stats.norm.sf(1.5)), (4.0 / np.sqrt(size), stats.norm.sf(4.0 - 1.5))):
        draws = random.normal(shift, 1.0, (runs, size))
        hits = sum(passes(assert_mean, each, 0.0, detects=0.3) for each in draws)
        assert_rate(hits, runs, float(passed), detects=0.1)


@pytest.mark.parametrize(("trials", "rate", "detects"), [(400, 0.95, 0.12), (600, 0.2, 0.16), (60, 0.5, 0.49)])
def test_false_alarms_and_power_of_rates_are_exact(trials, rate, detects):
    every = np.arange(trials + 1)
    passed = np.array([passes(assert_rate, hits, trials, rate, detects=detects) for hits in every])
    assert stats.binom.pmf(every[~passed], trials, rate).sum() <= ALARM
    for other in {max(rate - detects, 0.0), min(rate + detects, 1.0)}:
        if abs(other - rate) >= detects:
            assert stats.binom.pmf(every[passed], trials, other).sum() <= 1 - POWER
    below = np.array([passes(assert_rate_at_most, hits, trials, rate, detects=detects) for hits in every])
    assert below[: int(rate * trials)].all()
    assert (below[every > rate * trials] == passed[every > rate * trials]).all()


FAIR, LOADED = np.full(6, 1 / 6), np.array([1, 1, 1, 1, 1, 2]) / 7


def test_false_alarms_and_power_of_counts_by_simulation(monkeypatch):
    # One in a hundred in the place of 6e-7. Cells are bounded one by one, so that fewer false alarms are given.
    monkeypatch.setattr(agreement, "ALARM", 0.01)
    random, runs = np.random.default_rng(4), 1000
    compare = partial(passes, assert_counts, shares=FAIR, other=LOADED)
    alarms = sum(not compare(counts) for counts in random.multinomial(600, FAIR, runs))
    assert_rate_at_most(alarms, runs, 0.01, detects=0.05)
    missed = sum(compare(counts) for counts in random.multinomial(600, LOADED, runs))
    assert_rate_at_most(missed, runs, 1 - POWER, detects=0.05)


@pytest.mark.slow
def test_false_alarms_and_power_of_distributions_by_simulation(monkeypatch):
    monkeypatch.setattr(agreement, "ALARM", 0.01)
    random, runs, other = np.random.default_rng(5), 1000, stats.norm(0.4).cdf
    compare = partial(passes, assert_distribution, law=stats.norm.cdf, other=other)
    alarms = sum(not compare(draws) for draws in random.normal(0.0, 1.0, (runs, 500)))
    assert_rate(alarms, runs, 0.01, detects=0.05)
    missed = sum(compare(draws) for draws in random.normal(0.4, 1.0, (runs, 500)))
    assert_rate_at_most(missed, runs, 1 - POWER, detects=0.05)


def test_a_bias_of_the_method_is_allowed_for_and_nothing_beyond_it():
    compare = partial(passes, assert_agrees, truth=3.0, error=0.1, detects=1.1, bias=0.2)
    for sign in (-1, 1):
        assert compare(3.0 + sign * 0.699)
        assert not compare(3.0 + sign * 0.701)


def test_a_bound_is_passed_from_one_side_only():
    about: Any = {"error": 0.1, "detects": 1.0}
    for estimate, below in ((-100.0, True), (3.49, True), (3.51, False), (100.0, False)):
        assert passes(assert_at_most, estimate, 3.0, **about) == below
        assert passes(assert_at_least, -estimate, -3.0, **about) == below


def test_a_difference_must_be_seen_and_be_the_right_one():
    about: Any = {"error": 0.1, "effect": 1.0}
    assert passes(assert_differs, 2.0, 1.0, **about)
    assert not passes(assert_differs, 1.49, 1.0, **about)
    assert not passes(assert_differs, 0.0, 1.0, **about)
    assert passes(assert_differs, 0.0, 1.0, error=0.1, effect=-1.0)


def test_one_value_of_many_that_is_off_is_found_and_named():
    estimates = np.zeros((5, 4))
    estimates[3, 2] = 1.0
    with pytest.raises(AssertionError, match=r"the slopes 1 is not 0.*1 of 20 beyond 5"):
        assert_agrees(estimates, 0.0, 0.1, detects=1.0, of="the slopes")


def test_without_any_error_it_must_be_the_same():
    assert passes(assert_agrees, 0.25, 0.25, 0.0, detects=0.1)
    assert not passes(assert_agrees, 0.25, 0.2500001, 0.0, detects=0.1)
    assert passes(assert_mean, np.full(10, 2.0), 2.0, detects=0.1)


def test_draws_that_hang_together_are_worth_fewer():
    assert standard_error(DRAWS, effective=250) == pytest.approx(2 * standard_error(DRAWS))
    assert standard_error(DRAWS, effective=1e9) == standard_error(DRAWS)
    off = DRAWS - DRAWS.mean() + 6 * standard_error(DRAWS)
    assert not passes(assert_mean, off, 0.0, detects=1.0)
    assert passes(assert_mean, off, 0.0, detects=1.0, effective=500)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_the_error_of_a_standard_deviation_is_that_of_its_distribution(draw):
    samples = getattr(np.random.default_rng(3), draw)(size=(1000, 3000))
    told, found = spread_error(samples[:, :50]).mean(), np.log(samples.std(axis=0, ddof=1)).std()
    # The second is known to 1.3%, the first to about 1%.
    assert told == pytest.approx(found, rel=0.1)


def test_a_standard_deviation_that_is_off_is_found():
    assert_spread(DRAWS, 1.0, detects=0.3)
    with pytest.raises(AssertionError, match="standard deviation"):
        assert_spread(1.3 * DRAWS, 1.0, detects=0.3)


@pytest.mark.parametrize(
    "call",
    [
        partial(assert_agrees, 1.0, 1.0, 0.1, detects=0.7),
        partial(assert_agrees, [1.0, 1.0], 1.0, [0.01, 0.1], detects=0.7),
        partial(assert_agrees, [], [], [], detects=0.7),
        partial(assert_agrees, 1.0, 1.0, np.inf, detects=0.7),
        partial(assert_mean, DRAWS, 0.0, detects=0.2),
        partial(assert_mean, DRAWS, 0.0, detects=0.3, effective=100),
        partial(assert_spread, DRAWS, 1.0, detects=0.1),
        partial(assert_rate, 95, 100, 0.95, detects=0.05),
        partial(assert_rate, 50, 100, 0.5, detects=0.2),
        partial(assert_rate, 50, 100, 0.5, detects=0.0),
        partial(assert_rate_at_most, 2, 100, 0.025, detects=0.05),
        partial(assert_rate_at_most, 2, 100, 0.025, detects=0.0),
        partial(assert_at_most, 0.0, 1.0, 0.1, detects=0.7),
        partial(assert_at_least, 2.0, 1.0, 0.1, detects=0.7),
        partial(assert_differs, 2.0, 1.0, 0.11, effect=1.0),
        partial(assert_agrees, 1.0, 1.0, 0.1, detects=1.0, bias=0.3),
        partial(assert_counts, [50, 50], [0.5, 0.5], other=[0.4, 0.6]),
        partial(assert_counts, [500, 500], [0.5, 0.6], other=[0.1, 0.9]),
        partial(assert_counts, [500, 500], [0.5, 0.5], other=[0.1, 0.8]),
        partial(assert_distribution, DRAWS, stats.norm.cdf, other=stats.norm(0.2).cdf),
        partial(assert_distribution, DRAWS, stats.norm.cdf, other=stats.norm.cdf),
    ],
)
def test_too_few_draws_for_what_must_be_found_are_refused(call):
    with pytest.raises(AssertionError, match="badly designed"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        *(partial(assert_agrees, *given, detects=1.0) for given in ((NAN, 1, 0.1), (1, NAN, 0.1), (1, 1, NAN))),
        partial(assert_agrees, 1.0, 1.0, 0.1, detects=NAN),
        partial(assert_agrees, [1.0, NAN], 1.0, 0.1, detects=1.0),
        partial(assert_mean, [*DRAWS, NAN], 0.0, detects=1.0),
        partial(assert_mean, DRAWS, 0.0, detects=1.0, effective=NAN),
        partial(assert_spread, [*DRAWS, NAN], 1.0, detects=1.0),
        partial(assert_spread, DRAWS, NAN, detects=1.0),
        partial(assert_rate, NAN, 400, 0.5, detects=0.3),
        partial(assert_rate, 200, 400, NAN, detects=0.3),
        partial(assert_rate, 200, 400, 0.5, detects=NAN),
        partial(assert_rate_at_most, NAN, 400, 0.5, detects=0.3),
        partial(assert_rate_at_most, 200, 400, NAN, detects=0.3),
        partial(assert_rate_at_most, 200, 400, 0.5, detects=NAN),
        partial(assert_agrees, 1.0, 1.0, 0.1, detects=1.0, bias=NAN),
        partial(assert_counts, [NAN, 500], [0.5, 0.5], other=[0.1, 0.9]),
        partial(assert_counts, [500, 500], [NAN, 0.5], other=[0.1, 0.9]),
        partial(assert_counts, [500, 500], [0.5, 0.5], other=[NAN, 0.9]),
        partial(assert_distribution, [*DRAWS, NAN], stats.norm.cdf, other=stats.norm(1).cdf),
        partial(assert_distribution, DRAWS, lambda at: NAN * at, other=stats.norm(1).cdf),
        partial(assert_distribution, DRAWS, stats.norm.cdf, other=lambda at: NAN * at),
        *(
            partial(bounded, *given, detects=1.0)
            for bounded in (assert_at_most, assert_at_least)
            for given in ((NAN, 1, 0.1), (1, NAN, 0.1), (1, 1, NAN))
        ),
        *(
            partial(assert_differs, *given[:3], effect=given[3])
            for given in ((NAN, 1, 0.1, 1), (2, NAN, 0.1, 1), (2, 1, NAN, 1), (2, 1, 0.1, NAN))
        ),
    ],
)
def test_what_is_not_a_number_never_passes(call):
    with pytest.raises(AssertionError):
        call()
