"""Repeated values: claims by hand, and no more alarms than there may be of releases that tell of nobody."""

import numpy as np
import pytest

from agreement import assert_rate_at_most
from molehill.attacks.rates import exact
from molehill.attacks.repeats import code_values, repeated_values


def test_a_value_that_one_row_has_in_every_dataset_is_claimed_and_a_common_one_is_not():
    released = np.array([[7, 1, 2, 3, 0], [7, 2, 4, 5, 0], [7, 6, 5, 4, 0], [7, 3, 6, 1, 0]])
    # Row 0 has 7 four times, nobody else: (1/5)^4 = .0016. Nobody is found by zeros that six rows have.
    wide = np.concatenate([released, np.zeros((4, 5), dtype=int)], axis=1)
    found = repeated_values(np.array([7, 8, 9, 8, 9, 0, 0, 0, 0, 0]), wide, np.repeat([0, 1], 5))
    assert found is not None
    assert (found.records.tolist(), found.right.value, found.control, found.unique.value) == ([0], 1.0, 0.0, 1.0)
    # One claim of one is no evidence.
    assert found.risk.low == pytest.approx(exact(1, 1, level=0.99).low)
    assert found.risk.low < 0.1


def test_the_four_other_rows_that_have_a_value_most_often_are_counted():
    # r = 4 and s = 3 + 2 + 1 + 1: P(binomial(11, 1/5) >= 4) = .161; of the five rows without those, .0016.
    rows = [[7, 7, 7, 7], [7, 7, 7, 1], [7, 7, 2, 3], [7, 4, 5, 6], [7, 8, 9, 10], [7, 11, 12, 13]]
    released = np.array(rows).T
    truth, patterns = np.array([7, 20, 20, 20, 20, 20]), np.zeros(6, dtype=int)
    assert repeated_values(truth, released, patterns) is None
    alone = np.where((released == 7) & (np.arange(6) > 0), 30 + np.arange(24).reshape(4, 6), released)
    assert repeated_values(truth, alone, patterns) is not None


def test_a_wrong_claim_and_what_is_right_by_chance():
    # Rows 0 and 1 repeat 5 and 6: the first is true, and of one of the two others of the pattern as well.
    released = np.array([[5, 6, 1, 2], [5, 6, 3, 4], [5, 6, 7, 8], [5, 6, 9, 10]])
    found = repeated_values(np.array([5, 8, 5, 9]), released, np.zeros(4, dtype=int))
    assert found is not None
    assert found.right.value == 0.5
    # Of claim 5 one of three others has it; of claim 6 nobody.
    assert found.control == pytest.approx((1 / 3 + 0) / 2)
    assert found.risk.value == pytest.approx((0.5 - 1 / 6) / (1 - 1 / 6))
    assert found.unique.value == 0.0


def test_who_is_alone_in_the_pattern_is_compared_with_everybody():
    released = np.array([[5, 1, 2], [5, 3, 4], [5, 7, 8], [5, 9, 10]])
    found = repeated_values(np.array([5, 5, 9]), released, np.arange(3))
    assert found is not None
    assert found.control == 0.5


def test_one_dataset_repeats_nothing_and_missing_values_are_no_values():
    truth, one = np.array([1, 2]), np.array([[1, 2]])
    assert repeated_values(truth, one, np.zeros(2, dtype=int)) is None
    gone = np.full((5, 2), -1)
    assert repeated_values(truth, gone, np.zeros(2, dtype=int)) is None
    assert repeated_values(np.full(2, -1), np.tile(one, (5, 1)), np.zeros(2, dtype=int)) is None
    codes, released = code_values(np.array([3.0, np.nan]), np.array([[3.0, 1.0], [np.nan, 3.0]]))
    assert (codes.tolist(), released.tolist()) == ([1, -1], [[1, 0], [-1, 1]])


def heaped(random, size):
    coin, pay = random.random(size), np.exp(10 + 0.5 * random.normal(size=size))
    rounded = np.where(coin < 0.5, np.round(pay, -3), np.where(coin < 0.8, np.round(pay, -2), np.round(pay)))
    return np.where(random.random(size) < 0.2, 0.0, rounded)


@pytest.mark.parametrize("way", ["model", "donors", "counts"])
def test_safe_releases_of_heaped_values_zeros_and_counts_give_few_alarms(way):
    alarms, runs = 0, 60
    for run in range(runs):
        random = np.random.default_rng(run)
        number, patterns = 300, random.integers(8, size=300)
        truth = heaped(random, number) if way != "counts" else random.poisson(2.0, size=number).astype(float)
        if way == "donors":
            # From the 25 who are most alike, as a forest draws.
            order = np.argsort(patterns + random.random(number))
            donors = np.arange(number) // 25 * 25 + random.integers(25, size=(12, number))
            released = np.empty((12, number))
            released[:, order] = truth[order[donors]]
        elif way == "model":
            released = heaped(random, (12, number))
        else:
            released = random.poisson(2.0, size=(12, number)).astype(float)
        found = repeated_values(*code_values(truth, released), patterns)
        alarms += found is not None and found.risk.low > 0.1
    assert_rate_at_most(alarms, runs, 0.05, detects=0.4)


@pytest.mark.parametrize(("every", "share"), [(2, 0.9), (1, 0.9)])
def test_values_of_a_few_people_in_half_of_the_datasets_or_in_all_are_found(every, share):
    random = np.random.default_rng(3)
    truth, released = heaped(random, 400), heaped(random, (20, 400))
    copied = random.choice(np.flatnonzero(truth % 100 > 0), 24, replace=False)
    for row in copied:
        released[random.choice(20, 20 // every, replace=False), row] = truth[row]
    found = repeated_values(*code_values(truth, released), np.zeros(400, dtype=int))
    assert found is not None
    # Codes of patterns may be small integers.
    few = repeated_values(*code_values(truth, released), (np.arange(400) % 100).astype(np.int8))
    assert few is not None
    assert few.right == found.right
    assert np.isin(copied, found.records).mean() >= share
    assert found.risk.low > 0.6
