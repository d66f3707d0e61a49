import numpy as np
import pytest
from scipy import stats

from agreement import assert_rate, assert_rate_at_most, assert_spread
from molehill import InputError
from molehill.utility.estimates import (
    around,
    combine,
    combined_variance,
    correlation_and_variance,
    mean_and_variance,
    quantile_and_variance,
    quantile_degrees,
    sd_and_variance,
)

SAMPLES, RECORDS = 4000, 100


def covers(found, truth):
    """How many of the intervals hold the truth."""
    return ((found.low <= truth) & (truth <= found.high)).sum()


def assert_covers(found, truth):
    """Intervals of 95% hold the truth as often as they say; one of 91% would be found."""
    assert_rate(covers(found, truth), SAMPLES, 0.95, detects=0.04)


def synthesize(tables, records=RECORDS, seed=20):
    """Means and their variances in tables from the exact posterior predictive of samples of a normal population.

    The population has mean 0 and sd 1; means and variances of normal samples are drawn without the samples.
    """
    rng = np.random.default_rng(seed)

    def sample(centre, variance, size):
        chi = rng.chisquare(records - 1, size=size)
        return centre + rng.normal(size=size) * np.sqrt(variance / records), variance * chi / (records - 1)

    centre, variance = sample(0.0, 1.0, SAMPLES)
    drawn = variance * (records - 1) / rng.chisquare(records - 1, size=(tables, SAMPLES))
    drawn_centre = centre + rng.normal(size=drawn.shape) * np.sqrt(drawn / records)
    points, variances = sample(drawn_centre, drawn, drawn.shape)
    return points, variances / records


def test_the_rule_for_partial_synthesis_by_hand():
    points, variances = np.array([10.0, 12.0, 14.0]), np.array([3.0, 4.0, 5.0])
    total, degrees = combined_variance(points, variances, "partial")
    # v = 4, b = 4: T = 4 + 4/3, and 2 (1 + 3)^2 degrees.
    assert total == pytest.approx(16 / 3)
    assert degrees == pytest.approx(32)
    found = combine(points, variances)
    assert found.point == 12
    assert found.high - 12 == pytest.approx(2.036933 * np.sqrt(16 / 3), abs=1e-5)
    assert 12 - found.low == pytest.approx(found.high - 12)


def test_the_rule_for_full_synthesis_by_hand():
    total, degrees = combined_variance(np.array([0.0, 6.0, 12.0]), np.full(3, 4.0), "full")
    # b = 36, (4/3) 36 = 48: T = 44, and 2 (1 - 4/48)^2 degrees.
    assert total == pytest.approx(44)
    assert degrees == pytest.approx(2 * (11 / 12) ** 2)
    # b = 1, v = 4: T would be negative, and v takes its place.
    total, degrees = combined_variance(np.array([0.0, 1.0, 2.0]), np.full(3, 4.0), "full")
    assert (total, degrees) == (4.0, np.inf)


@pytest.mark.parametrize("tables", [3, 5, 20])
def test_intervals_for_partial_synthesis_cover_the_population(tables):
    assert_covers(combine(*synthesize(tables)), 0.0)


def test_intervals_for_full_synthesis_cover_the_population():
    """With few tables T is a difference of noisy numbers, and its t interval is known to cover more than it says."""
    assert_covers(combine(*synthesize(400), rule="full"), 0.0)
    missed = SAMPLES - covers(combine(*synthesize(20), rule="full"), 0.0)
    assert_rate_at_most(missed, SAMPLES, 0.05, detects=0.04)


@pytest.mark.parametrize("rule", ["partial", "full"])
def test_the_rules_tell_the_variance_of_the_combined_point(rule):
    points, variances = synthesize(20)
    between = points.var(axis=0, ddof=1)
    total, _ = combined_variance(points, variances, rule)
    if rule == "full":
        # Without the repair of negative ones, which is biased.
        total = 1.05 * between - variances.mean(axis=0)
    assert_spread(points.mean(axis=0), np.sqrt(total.mean()), detects=0.1)


def test_using_one_synthetic_table_as_if_it_were_data_covers_too_little():
    """What the rules are for: else the tests above could not fail."""
    points, variances = synthesize(5)
    # The variance is three times what is told: two normal probabilities.
    assert_rate(covers(combine(points[:1], variances[:1]), 0.0), SAMPLES, 0.742, detects=0.07)


def test_a_combined_sd_covers_the_population():
    rng = np.random.default_rng(23)
    sample = rng.normal(size=(SAMPLES, 400))
    variance = sample.var(axis=1, ddof=1) * 399 / rng.chisquare(399, size=(3, SAMPLES))
    tables = rng.normal(size=(3, SAMPLES, 400)) * np.sqrt(variance)[:, :, None]
    assert_covers(combine(*sd_and_variance(tables)), 1.0)


def test_intervals_of_one_table_cover_the_population():
    rng = np.random.default_rng(21)
    skewed = rng.lognormal(size=(SAMPLES, 1000))
    for share in (0.1, 0.5, 0.9):
        truth, degrees = np.exp(stats.norm.ppf(share)), quantile_degrees(1000, share)
        assert_covers(around(*quantile_and_variance(skewed, share), degrees, 0.95), truth)
    # A correlation of skewed columns: the normal theory, variance 1 / (n - 3), would cover too little here.
    common = rng.exponential(size=(SAMPLES, 1000))
    one, other = common + rng.exponential(size=common.shape), common + rng.exponential(size=common.shape)
    point, variance = correlation_and_variance(one, other)
    assert_covers(around(point, variance, np.inf, 0.95), np.arctanh(0.5))
    assert covers(around(point, 1 / 997, np.inf, 0.95), np.arctanh(0.5)) < 0.92 * SAMPLES


def test_summaries_by_hand():
    values = np.array([1.0, 2.0, 3.0, 6.0])
    assert mean_and_variance(values) == (3.0, pytest.approx(14 / 3 / 4))
    # Squares about the mean 4, 1, 0, 9: m2 = 3.5, m4 = 24.5, s^2 = 14/3.
    point, variance = sd_and_variance(values)
    assert point == pytest.approx(np.sqrt(14 / 3))
    assert variance == pytest.approx((24.5 - 3.5**2) / (4 * 4 * 14 / 3))
    # e = 1/4, ends clipped to 0 and 1 (0.5 -+ 0.49): quantiles 1.03 and 5.91.
    point, variance = quantile_and_variance(values, 0.5)
    assert point == 2.5
    assert variance == pytest.approx((0.25 * (5.91 - 1.03) / 0.98) ** 2)
    u = np.array([-1.0, 1.0, -1.0, 1.0])
    w = np.array([-1.0, 1.0, 1.0, 1.0])
    point, _ = correlation_and_variance(u, w)
    assert np.tanh(point) == pytest.approx(1 / np.sqrt(3))


def test_the_influence_variance_is_that_of_the_jackknife():
    rng = np.random.default_rng(22)
    one = rng.exponential(size=500)
    other = one + rng.exponential(size=500)
    _, variance = correlation_and_variance(one, other)
    left_out = [np.arctanh(np.corrcoef(np.delete(one, i), np.delete(other, i))[0, 1]) for i in range(500)]
    assert variance == pytest.approx(499**2 / 500 * np.var(left_out, ddof=1), rel=0.05)


def test_degenerate_columns_have_intervals_without_width():
    constant = np.full(5, 7.0)
    for summary in (mean_and_variance, sd_and_variance, lambda values: quantile_and_variance(values, 0.5)):
        assert summary(constant)[1] == 0.0
    line = np.arange(5.0)
    point, variance = correlation_and_variance(line, 2 * line)
    assert np.tanh(point) == pytest.approx(1.0)
    assert variance == 0.0
    found = combine([3.0, 3.0], [0.0, 0.0])
    assert (found.low, found.high) == (3.0, 3.0)


def test_released_copies_give_the_interval_of_the_table():
    found, own = combine([5.0] * 3, [2.0] * 3, degrees=9), around(5.0, 2.0, 9, 0.95)
    assert (found.low, found.high) == (pytest.approx(own.low), pytest.approx(own.high))
    assert own.high - 5 == pytest.approx(2.262157 * np.sqrt(2), abs=1e-5)


@pytest.mark.parametrize(
    ("points", "variances", "change", "message"),
    [
        ([1.0, 2.0], [1.0], {}, "points: points have shape"),
        (1.0, 1.0, {}, "points: points have shape"),
        ([1.0, 2.0], [1.0, -1.0], {}, "variances: some are negative"),
        ([1.0, np.nan], [1.0, 1.0], {}, "variances: some are negative or not finite"),
        ([1.0], [1.0], {"rule": "full"}, "rule: 'full' needs at least two"),
        ([1.0], [1.0], {"rule": "half"}, "rule: 'half' is not a choice"),
        ([1.0], [1.0], {"level": 95}, "level: it must be a number between 0 and 1"),
        ([], [], {}, "points: there are none"),
    ],
)
def test_bad_arguments_are_named(points, variances, change, message):
    with pytest.raises(InputError, match=message):
        combine(points, variances, **change)
