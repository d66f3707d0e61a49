"""Intervals over tables, against hand computation and coverage."""

import numpy as np
import pytest
from scipy import stats

from agreement import assert_agrees, assert_rate_at_most, spread_error, standard_error
from molehill.tables.intervals import RUNS, mean_over_tables, resample, resampled_counts


def test_a_mean_has_students_interval():
    figure = mean_over_tables(np.array([1.0, 2.0, 6.0]))
    # Variance 7, standard error sqrt(7 / 3), t quantile with 2 degrees 4.3027.
    assert figure.value == 3
    assert figure.high - 3 == pytest.approx(4.302653 * np.sqrt(7 / 3), rel=1e-6)
    assert figure.low == pytest.approx(6 - figure.high)


def test_one_table_has_no_interval():
    by_dataset = np.array([[0.0, 1.0]])
    for figure in (mean_over_tables(np.array([0.5])), *resample(lambda records: records[[0, 1]] * 0 + 0.5, by_dataset)):
        assert figure.value == 0.5
        assert np.isnan([figure.low, figure.high]).all()


def test_the_interval_is_cut_where_the_figure_cannot_be():
    figure = mean_over_tables(np.array([0.0, 1.0]), least=0.0, most=1.0)
    assert (figure.low, figure.high) == (0.0, 1.0)


def test_two_tables_by_hand():
    # A resampled run that varies as it should is one of the two tables alone: the maximum is .8 or .6, around .7.
    (figure,) = resample(lambda records: np.array([records.max()]), np.array([[0.0, 0.8], [0.6, 0.6]]))
    share = (resampled_counts(2)[:, 0] == 2).mean()
    error = 0.2 * np.sqrt(share * (1 - share) * RUNS / (RUNS - 1))
    assert sorted({tuple(row) for row in resampled_counts(2).tolist()}) == [(0, 2), (2, 0)]
    assert figure.value == pytest.approx(0.7)
    assert figure.high == pytest.approx(0.7 + stats.t.ppf(0.975, 1) * error)


@pytest.mark.parametrize("tables", [2, 3, 5, 20])
def test_resampled_runs_have_the_variance_of_new_ones(tables):
    # For a mean the exact interval is Student's. The standard deviation of 100 runs is known to 7%; were the runs as
    # many tables with no more variance than resampling has, two tables would show 0.7 of it.
    by_dataset = np.random.default_rng(tables).random((tables, 30))
    (ours,) = resample(lambda records: np.array([records.mean()]), by_dataset)
    exact = mean_over_tables(by_dataset.mean(axis=1))
    assert ours.value == pytest.approx(exact.value)
    ratio = np.log((ours.high - ours.value) / (exact.high - exact.value))
    assert_agrees(ratio, 0.0, 1 / np.sqrt(2 * RUNS), detects=np.log(2))


def measure(records):
    return np.array([*np.quantile(records, [0.75, 0.99, 1.0]), (records > 0.5).sum()])


def test_the_intervals_cover_what_many_releases_would_show():
    # Record i is found by a coin of its own in each of 20 tables; the target is the mean over many releases.
    random = np.random.default_rng(5)
    chance, size = random.uniform(0.05, 0.6, 300), random.uniform(0.7, 1.0, 300)

    def release():
        return (random.random((20, 300)) < chance) * size

    many = np.array([measure(release().mean(axis=0)) for _ in range(1000)])
    found = np.array([resample(measure, release()) for _ in range(200)])
    covered = ((found[:, :, 1] <= many.mean(axis=0)) & (many.mean(axis=0) <= found[:, :, 2])).sum(axis=0)
    for hits in covered:
        assert_rate_at_most(200 - hits, 200, 0.05, detects=0.2)
    # Quartiles of means of 20 tables lie close together, and spread by up to a fifth more when they are resampled.
    told = (found[:, :, 2] - found[:, :, 0]) / stats.t.ppf(0.975, 19)
    ratio = np.log(told.mean(axis=0) / many.std(axis=0))
    error = np.hypot(standard_error(told) / told.mean(axis=0), spread_error(many))
    assert_agrees(ratio, 0.0, error, bias=np.log(1.2), detects=np.log(1.6))
