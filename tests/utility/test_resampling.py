import itertools
from collections import Counter

import numpy as np
import pytest

from agreement import assert_agrees, assert_mean, assert_rate, spread_error, standard_error
from molehill.utility import resampling

DRAWS = 200_000


def enumerate_resamples(records, statistic):
    """Every resample of a few records, and the exact probability of every value of the statistic."""
    counts = Counter(
        round(float(statistic(np.array(pick))), 9) for pick in itertools.product(records, repeat=len(records))
    )
    return {value: number / len(records) ** len(records) for value, number in counts.items()}


def assert_same_distribution(found, exact):
    seen = Counter(np.round(found, 9).tolist())
    assert set(seen) <= set(exact)
    for value, chance in exact.items():
        assert_rate(seen[value], len(found), chance, detects=0.01, of=value)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("records", [[1.0, 2.0, 5.0, 11.0], [4.0, 1.0, 4.0, 9.0, 25.0]])
def test_quantiles_have_the_distribution_of_all_resamples(records, share):
    exact = enumerate_resamples(records, lambda values: np.quantile(values, share))
    found = resampling.resample_quantiles(np.array(records), share, DRAWS, np.random.default_rng(3))
    assert_same_distribution(found, exact)


@pytest.mark.parametrize("records", [[1.0, 2.0, 5.0], [0.0, 1.0, 10.0, 100.0], [1.0, 3.0, 7.0, 20.0, 50.0]])
def test_means_and_sds_have_the_distribution_of_all_resamples(records):
    values, rng = np.array(records), np.random.default_rng(4)
    assert_same_distribution(resampling.resample_means(values, DRAWS, rng), enumerate_resamples(records, np.mean))
    exact = enumerate_resamples(records, lambda values: np.std(values, ddof=1) ** 2)
    assert_same_distribution(resampling.resample_sds(values, DRAWS, rng) ** 2, exact)


def test_correlations_are_those_of_resamples():
    rng = np.random.default_rng(5)
    one = rng.lognormal(size=300)
    other = one + rng.normal(size=300)
    found = resampling.resample_correlations(one, other, 4000, rng)
    picks = rng.integers(0, 300, size=(4000, 300))
    plain = np.array([np.corrcoef(one[pick], other[pick])[0, 1] for pick in picks])
    error = np.hypot(standard_error(found), standard_error(plain))
    assert_agrees(found.mean(), plain.mean(), error, detects=0.2 * plain.std())
    error = np.hypot(spread_error(found), spread_error(plain))
    assert_agrees(np.log(found.std() / plain.std()), 0.0, error, detects=0.2)


def test_every_record_has_the_same_chance():
    """Sums of one record's own indicator, by place: the last and the first as often as the others."""
    sums = resampling.resample_sums(np.eye(7), 30_000, np.random.default_rng(6))
    assert (sums.sum(axis=1) == 7).all()
    assert_mean(sums, np.ones(7), detects=0.05)


def test_many_chunks_are_one_result(monkeypatch):
    values = np.arange(50.0)
    whole = resampling.resample_means(values, 100, np.random.default_rng(7))
    monkeypatch.setattr(resampling, "_AT_ONCE", 150)
    assert (resampling.resample_means(values, 100, np.random.default_rng(7)) == whole).all()
    assert len(np.unique(whole)) > 50
