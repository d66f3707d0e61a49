"""The worst dataset: hand-computed, and how often chance makes one."""

import numpy as np
import pytest
from scipy import stats

from agreement import assert_rate_at_most
from molehill.attacks.worst_dataset import copied_records, worst_dataset


def test_the_highest_lies_above_the_median_of_the_others():
    values = np.array([0.10, 0.12, 0.11, 0.70, 0.13])
    figure, place = worst_dataset(values, 100)
    assert place == 3
    assert figure.value == pytest.approx(0.70 - 0.115)
    # By hand: the median absolute deviation of the others is .01; the share (116 + 1) / 502.
    share, spread, known = (values.sum() * 100 + 1) / 502, 1.4826 * 0.01, 0.37 * 3
    variance = (known * spread**2 + 4 * share * (1 - share) / 100) / (known + 4)
    reach = stats.t.ppf(1 - 0.001 / 5, known + 4) * np.sqrt(variance * 1.25)
    assert figure.low == pytest.approx(figure.value - reach)
    assert figure.low > 0


def test_a_second_bad_dataset_does_not_hide_the_first():
    values = np.linspace(0.1, 0.119, 20)
    values[[3, 7, 11]] = (0.7, 0.68, 0.72)
    assert worst_dataset(values, 300)[0].low > 0


def test_of_two_datasets_one_may_be_the_original_and_of_three_records_nothing_is_told():
    assert worst_dataset(np.array([0.1, 0.9]), 300)[0].low > 0
    assert worst_dataset(np.array([0.1, 0.13]), 300)[0].low < 0
    # One of three records in one of 20 datasets is what chance gives.
    rare = np.r_[np.zeros(19), 1 / 3]
    assert worst_dataset(rare, 3)[0].low <= 0
    assert worst_dataset(np.zeros(5), 100)[0].value == 0


@pytest.mark.parametrize(
    ("share", "records", "datasets"), [(0.1, 300, 20), (0.005, 300, 20), (0.3, 4, 20), (0.1, 300, 2)]
)
def test_chance_seldom_makes_a_worst_dataset(share, records, datasets):
    random = np.random.default_rng(5)
    values = random.binomial(records, share, size=(2000, datasets)) / records
    alarms = sum(worst_dataset(one, records)[0].low > 0 for one in values)
    assert_rate_at_most(alarms, 2000, 0.002, detects=0.02)


def test_copies_are_counted_once_and_in_any_order():
    cells, numbers = np.array([0, 0, 1, 1]), np.array([[1.0], [2.0], [2.0], [3.0]])
    same = (cells[::-1], numbers[::-1])
    # 2 is there once in either cell; the third record is of no cell, the fourth is new.
    other = (np.array([0, 0, -1, 1]), np.array([[2.0], [2.0], [2.0], [4.0]]))
    assert copied_records(cells, numbers, [same, other]).tolist() == [1.0, 0.25]
    # Of categories alone, cells are all there is; and datasets may have other numbers of records.
    assert copied_records(cells, np.zeros((4, 0)), [(np.array([0, 1]), np.zeros((2, 0)))]).tolist() == [1.0]
