"""Intervals of rates against published values and against what they must be."""

import numpy as np
import pytest
from scipy import stats

from molehill.attacks.rates import compare, exact, excess, rate_of, wilson
from molehill.tables.intervals import Figure


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (15, 148), (81, 263)])
def test_intervals_are_those_of_scipy(successes, trials):
    test = stats.binomtest(successes, trials)
    for ours, method in ((wilson, "wilson"), (exact, "exact")):
        ends = test.proportion_ci(method=method)
        np.testing.assert_allclose(ours(successes, trials), (successes / trials, ends.low, ends.high), atol=1e-12)


def test_nothing_tried_tells_nothing():
    assert np.isnan([*wilson(0, 0), *exact(0, 0), *rate_of(np.empty((3, 0)))]).all()


def test_tables_of_the_same_people_are_no_more_people():
    once = np.repeat([1.0, 0.0], [30, 70])[None]
    assert rate_of(np.repeat(once, 5, axis=0)) == wilson(30, 100)
    assert rate_of(np.ones((5, 10))) == wilson(10, 10)
    random = np.random.default_rng(1)
    # Of independent attacks each counts.
    many = rate_of((random.random((5, 2_000)) < 0.3).astype(float))
    np.testing.assert_allclose(many, wilson(many.value * 10_000, 10_000), atol=2e-4)


def test_the_risk_is_what_the_control_leaves():
    risk = excess(wilson(80, 100), wilson(60, 100))
    assert risk.value == pytest.approx(0.5)
    # By hand: Wilson's ends are .7112, .8666 and .5020, .6906; divided by .4, the control's times the ratio .5.
    assert risk.low == pytest.approx(0.5 - np.hypot(0.0888 / 0.4, 0.5 * 0.0906 / 0.4), abs=5e-4)
    assert risk.high == pytest.approx(0.5 + np.hypot(0.0666 / 0.4, 0.5 * 0.0980 / 0.4), abs=5e-4)


def test_at_no_risk_the_interval_is_newcombes():
    # His example of 56 of 70 against 48 of 80: .0524 to .3339 for the difference.
    one, other = wilson(56, 70), wilson(48, 80)
    low = np.hypot(one.value - one.low, other.high - other.value)
    assert one.value - other.value - low == pytest.approx(0.0524, abs=1e-4)
    same = excess(other, other)
    assert same.low * (1 - other.value) == pytest.approx(-np.hypot(other.value - other.low, other.high - other.value))


def test_a_control_that_always_succeeds_leaves_nothing():
    assert np.isnan(excess(wilson(9, 10), wilson(10, 10))).all()


def test_successes_that_go_together_make_it_narrower():
    one, other = wilson(30, 100), wilson(25, 100)
    free, tied = excess(one, other), excess(one, other, correlation=0.9)
    assert tied.high - tied.low < free.high - free.low


def test_without_control_there_is_no_risk():
    found = compare(np.ones((1, 4)), None, Figure(0.1, np.nan, np.nan))
    assert np.isnan([*found.control, *found.risk]).all()
    assert not found.shows
    assert compare(np.ones((1, 40)), np.zeros((1, 40)), Figure(0.1, np.nan, np.nan)).shows
