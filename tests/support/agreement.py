"""Statistical assertions whose false-alarm rate and power are stated, and checked when they run.

A simulated figure is compared with its true value through one of these functions. Each comparison is made at
`ALARM_ERRORS` = 5 standard errors, and each names the departure that it must be able to detect:

- *False alarms.* If the code is right, a comparison of a normal figure fails with probability 6e-7 whatever the
  random numbers are, and so also on a processor whose arithmetic sends a Markov chain along another path. Seeds are
  fixed: figures that depend on random numbers of NumPy alone repeat to about 1e-12, and never change sides.
- *Power.* The departure named by `detects` (or `effect`) must be at least `DETECTED_ERRORS` = 8 standard errors
  (10 for `assert_differs`), so that it is found with probability above 0.998. An assertion with too few draws for that
  fails as badly designed, even if the figure agrees.

Rates, counts and whole distributions have bounds of their own, which hold for any number of draws, with the same two
probabilities: there the departure is another rate, or another distribution that must be told from the right one.
A departure is what somebody would notice, and never a multiple of the error itself, which no design could miss.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

ALARM_ERRORS = 5.0
DETECTED_ERRORS = 8.0
# The false-alarm probability and the power that belong to them, for figures that are counts.
ALARM = float(2 * stats.norm.sf(ALARM_ERRORS))
POWER = float(stats.norm.cdf(DETECTED_ERRORS - ALARM_ERRORS))


def standard_error(values: Any, *, effective: float | None = None, axis: int = 0) -> Any:
    """Standard error of the mean of independent values, or of draws that are worth `effective` independent ones."""
    values = np.asarray(values, dtype=float)
    size = values.shape[axis] if effective is None else min(effective, values.shape[axis])
    return values.std(axis=axis, ddof=1) / np.sqrt(size)


def spread_error(values: Any, *, axis: int = 0) -> Any:
    """Standard error of the logarithm of the standard deviation of independent values, of any distribution."""
    values = np.asarray(values, dtype=float)
    squares = (values - values.mean(axis=axis, keepdims=True)) ** 2
    return 0.5 * standard_error(squares, axis=axis) / squares.mean(axis=axis)


def assert_agrees(estimate: Any, truth: Any, error: Any, *, detects: Any, bias: Any = 0.0, of: object = "") -> None:
    """Assert that an estimate is its true value but for 5 standard errors; arrays are compared value by value.

    `error` is the standard error of `estimate - truth`; `detects` the departure that must be found. `bias` is by how
    much the method itself may be off, such as by shrinkage: the departure must be found beyond it.
    """
    estimate, truth, error, detects, bias = np.broadcast_arrays(
        *(np.asarray(one, float) for one in (estimate, truth, error, detects, bias))
    )
    assert estimate.size, f"{of} badly designed: there is nothing to compare"
    weak = ~(np.abs(detects) - bias >= DETECTED_ERRORS * error)
    assert not weak.any(), (
        f"{of} badly designed: a departure of {detects[weak][0]:.4g} is only "
        f"{((np.abs(detects) - bias)[weak] / error[weak])[0]:.1f} standard errors, {DETECTED_ERRORS:.0f} are needed: "
        "draw more"
    )
    away = np.abs(estimate - truth) - bias
    wrong = ~(away <= ALARM_ERRORS * error + 1e-12 * np.abs(truth))
    assert not wrong.any(), (
        f"{of} {estimate[wrong][0]:.6g} is not {truth[wrong][0]:.6g}: standard error {error[wrong][0]:.3g}, "
        f"{wrong.sum()} of {wrong.size} beyond {ALARM_ERRORS:.0f} of them"
    )


def assert_mean(values: Any, truth: Any, *, detects: Any, effective: float | None = None, of: object = "") -> None:
    """Assert that draws (along the first axis) have a mean, within 5 standard errors of that mean."""
    values = np.asarray(values, dtype=float)
    assert_agrees(values.mean(axis=0), truth, standard_error(values, effective=effective), detects=detects, of=of)


def assert_spread(values: Any, truth: Any, *, detects: float, of: object = "") -> None:
    """Assert that independent draws (along the first axis) have a standard deviation.

    `detects` is by how much it would be off where that must be found, as a share of it.
    """
    logs, values = np.log1p(detects), np.asarray(values, dtype=float)
    found = np.log(values.std(axis=0, ddof=1) / np.asarray(truth, dtype=float))
    assert_agrees(found, 0.0, spread_error(values), detects=logs, of=f"{of} logarithm of the standard deviation")


def assert_rate(hits: float, trials: int, rate: float, *, detects: float, of: object = "") -> None:
    """Assert that so many hits in independent trials fit a rate, by exact binomial probabilities."""
    assert detects > 0, f"{of} badly designed: it says of no departure that it is found"
    low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], trials, rate)
    for other in (rate - detects, rate + detects):
        _check_missed(low, high, trials, rate, other, of)
    assert low <= hits <= high, f"{of} {hits} hits in {trials} trials do not fit a rate of {rate:.4g}: {low} to {high}"


def assert_rate_at_most(hits: float, trials: int, rate: float, *, detects: float, of: object = "") -> None:
    """Assert that so many hits in independent trials fit a rate or a smaller one; `detects` is a departure upwards."""
    assert detects > 0, f"{of} badly designed: it says of no departure that it is found"
    high = float(stats.binom.ppf(1 - ALARM / 2, trials, rate))
    _check_missed(0, high, trials, rate, rate + detects, of)
    assert 0 <= hits <= high, f"{of} {hits} hits in {trials} trials are too many for a rate of {rate:.4g}: {high}"


def _check_missed(low: float, high: float, trials: int, rate: float, other: float, of: object) -> None:
    """Refuse an assertion that another rate could pass; one that there cannot be is no matter."""
    if 0 <= other <= 1:
        missed = stats.binom.cdf(high, trials, other) - stats.binom.cdf(low - 1, trials, other)
        assert missed <= 1 - POWER, (
            f"{of} badly designed: a rate of {other:.4g} for {rate:.4g} would be missed with probability {missed:.3g}"
        )


def assert_counts(counts: Any, shares: Any, *, other: Any, of: object = "") -> None:
    """Assert that independent draws fall into cells with some shares, by exact binomial probabilities of every cell.

    The probability of a false alarm is divided among the cells. `other` are the shares that must be told from these:
    one cell at least must do it alone.
    """
    counts, shares, other = (np.asarray(one, dtype=float) for one in (counts, shares, other))
    for one in (shares, other):
        assert np.isclose(one.sum(), 1.0), f"{of} badly designed: shares do not add up to 1"
    trials, tail = counts.sum(), ALARM / 2 / len(shares)
    low, high = stats.binom.ppf(tail, trials, shares), stats.binom.isf(tail, trials, shares)
    missed = stats.binom.cdf(high, trials, other) - stats.binom.cdf(low - 1, trials, other)
    assert missed.min() <= 1 - POWER, (
        f"{of} badly designed: the other shares would be missed with probability {missed.min():.3g}: draw more"
    )
    wrong = ~((low <= counts) & (counts <= high))
    assert not wrong.any(), (
        f"{of} {counts[wrong][0]:.0f} of {trials:.0f} do not fit a share of {shares[wrong][0]:.4g}: "
        f"{wrong.sum()} of {wrong.size} cells"
    )


def assert_distribution(
    values: Any, law: Callable[[Any], Any], *, other: Callable[[Any], Any], of: object = ""
) -> None:
    """Assert that independent draws follow a distribution function, by their largest difference from it.

    By Massart's bound the difference passes `reach` with the probability of a false alarm at most, for any number of
    draws. `other` is the distribution function that must be told from this one: where the two differ most, the share
    of draws has a standard error of half over the root of their number at most, and three of them must be left.
    """
    values = np.asarray(values, dtype=float)
    assert np.isfinite(values).all(), f"{of} has values that are no numbers"
    root = np.sqrt(values.size)
    reach = np.sqrt(np.log(2 / ALARM) / 2) / root
    gap, needed = np.abs(law(values) - other(values)).max(), reach + (DETECTED_ERRORS - ALARM_ERRORS) / 2 / root
    assert gap >= needed, (
        f"{of} badly designed: the other distribution differs by {gap:.4g}, {needed:.4g} are needed: draw more"
    )
    found = float(stats.kstest(values, law).statistic)
    assert found <= reach, f"{of} differs from its distribution by {found:.4g}, more than {reach:.4g}"


def assert_differs(estimate: Any, other: Any, error: Any, *, effect: Any, of: object = "") -> None:
    """Assert that two figures differ by more than 5 standard errors, where the true difference is known.

    `effect` is the true difference `estimate - other`, from a closed form or a long run: at least 10 standard errors
    of it, so that the difference is missed with probability 3e-7, on any processor.
    """
    assert abs(effect) >= 2 * ALARM_ERRORS * error, (
        f"{of} badly designed: a difference of {effect:.4g} is only {abs(effect) / error:.1f} standard errors, "
        f"{2 * ALARM_ERRORS:.0f} are needed: draw more"
    )
    apart = (estimate - other) * np.sign(effect)
    assert apart > ALARM_ERRORS * error, f"{of} {estimate:.6g} and {other:.6g} do not differ as they should"


def assert_at_most(estimate: Any, bound: Any, error: Any, *, detects: Any, of: object = "") -> None:
    """Assert that an estimate is not above a bound by more than 5 standard errors.

    `error` is the standard error of `estimate - bound`; `detects` how far above it the figure would be, where that must
    be found.
    """
    estimate, bound = (np.asarray(one, dtype=float) for one in (estimate, bound))
    assert not np.isnan(estimate).any(), f"{of} is not a number"
    assert_agrees(np.maximum(estimate, bound), bound, error, detects=detects, of=of)


def assert_at_least(estimate: Any, bound: Any, error: Any, *, detects: Any, of: object = "") -> None:
    """Assert that an estimate is not below a bound by more than 5 standard errors, as `assert_at_most` has it."""
    estimate, bound = (np.asarray(one, dtype=float) for one in (estimate, bound))
    assert_at_most(-estimate, -bound, error, detects=detects, of=of)
