"""The unit of a column is found from all its values, and new values are written in it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from molehill.tables.resolution import resolution, round_to_unit

UNITS = [float(f"{digit}e{exponent}") for exponent in range(-6, 7) for digit in (1, 5)]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([0.01, 0.02, 19.99], 0.01),
        ([1.0, 2.0, np.nan], 1.0),
        ([-300, 200, 0], 100.0),
        ([5, 10, 35], 5.0),
        ([0.1 + 0.2, 0.7, 1e7 + 0.1], 0.1),
        ([25.5, np.inf, np.nan], 0.5),
        ([0.0, np.nan], 0.0),
        ([], 0.0),
        ([np.pi, 1.0], 0.0),
        ([1e9, 3e9], 5e6),
        ([1e-9, 1.0], 0.0),
        ([2_000_000_000.01, 3.5], 0.01),
    ],
)
def test_units_by_hand(values, unit):
    assert resolution(values) == unit


@given(st.sampled_from(UNITS), st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30))
def test_every_multiple_is_recognised(unit, times):
    found = resolution([time * unit for time in times])
    if any(times):
        assert found >= unit
    else:
        assert found == 0
    rounded = round_to_unit([time * unit for time in times], unit)
    np.testing.assert_allclose(rounded, [time * unit for time in times], rtol=1e-14)


def test_random_numbers_have_no_unit_and_stay_as_they_are():
    numbers = np.random.default_rng(1).lognormal(10, 1, 500)
    assert resolution(numbers) == 0
    np.testing.assert_array_equal(round_to_unit(numbers, 0.0, lower=1.0), numbers)


def test_one_cent_among_many_whole_numbers_changes_nothing_wherever_it_stands():
    for place in (0, 1500, 4999):
        numbers = np.arange(5000.0)
        numbers[place] = 12.34
        assert resolution(numbers) == 1.0


@pytest.mark.parametrize(
    ("records", "others"), [(12, 0), (19, 0), (20, 1), (39, 1), (40, 2), (299, 2), (300, 3), (5000, 50)]
)
def test_the_unit_is_that_of_99_of_100_values(records, others):
    for odd, unit in ((others, 100.0), (others + 1, 0.5)):
        # Those that are no multiples come last, behind all that are looked at first.
        numbers = np.append(100.0 * (1 + np.arange(records - odd) % 7), np.full(odd, 12_345.5))
        assert resolution(numbers) == unit


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([0.01, 1.0, 100.0]), st.integers(41, 250), st.integers(0, 10**6), st.floats(-1e6, 1e6))
def test_no_single_value_makes_the_unit_another(unit, records, seed, value):
    # Where all are multiples, and one is another, is left out, or comes in addition.
    values = np.random.default_rng(seed).integers(1, 1000, records) * unit
    found = resolution(values)
    assert (
        resolution(np.append(values[1:], value))
        == resolution(values[1:])
        == resolution(np.append(values, value))
        == found
    )


def test_single_precision_has_the_unit_that_it_was_written_in():
    assert resolution(np.array([0.1, 12.3, 4567.8], dtype=np.float32)) == pytest.approx(0.1)
    assert resolution(pd.Series([0.25, 12.5], dtype="float32")) == 0.05


def test_rounded_numbers_are_written_with_few_digits():
    numbers = np.random.default_rng(2).normal(0, 1000, 2000)
    for unit, digits in ((0.1, 1), (0.01, 2), (0.05, 2), (1e-6, 6)):
        assert max(len(repr(value).partition(".")[2]) for value in round_to_unit(numbers, unit).tolist()) == digits


def test_rounding_goes_inward_at_the_ends():
    np.testing.assert_array_equal(round_to_unit([0.26, 9.9], 1.0, 0.25, 9.75), [1.0, 9.0])
    np.testing.assert_array_equal(round_to_unit([0.29, 0.71], 0.1, 0.3, 0.7), [0.3, 0.7])
    np.testing.assert_array_equal(round_to_unit([1e-9, 40.0], 100.0, np.finfo(float).tiny), [100.0, 100.0])
    np.testing.assert_array_equal(round_to_unit([3.3, np.nan], 100.0, 1.0, 50.0), [3.3, np.nan])


def test_what_is_not_finite_stays_so():
    np.testing.assert_array_equal(round_to_unit([np.nan, np.inf, 2.4], 1.0), [np.nan, np.inf, 2.0])
