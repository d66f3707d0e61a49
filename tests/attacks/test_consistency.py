"""What no person could be, counted by hand, and how much of it a fresh sample has."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks.consistency import check_heaps, check_pairs, check_ranges

DATA = pd.DataFrame(
    {
        "age": ["child"] * 3 + ["old"] * 3,
        "job": ["none", "none", "none", "none", "cook", "cook"],
        "sex": ["f", "m", "f", "m", "f", "f"],
    }
)


def test_new_and_small_cells_are_those_counted_by_hand():
    released = DATA.assign(job=["cook", "none", "none", "none", "cook", "pope"])
    everything, *pairs = check_pairs(DATA, released, ["age", "job", "sex"], few=2)
    assert [pair.columns for pair in pairs] == [("age", "job"), ("age", "sex"), ("job", "sex")]
    # A child who cooks, and a pope, of whom nobody has heard.
    assert [pair.new.value for pair in pairs] == [2, 0, 1]
    assert everything.new.value == 2
    # Cells of one: old none; child m, old m; none.
    assert [pair.expected.value for pair in pairs] == [1, 2, 0]
    assert everything.expected.value == 2  # the second record, and the fourth, in two cells
    assert [pair.small_original for pair in pairs] == [1, 2, 0]
    # Released: child cook, old none, old cook, old pope; child m, old m; cook f twice, none f, pope f once.
    assert [pair.small.value for pair in pairs] == [4, 2, 2]


def test_numbers_are_cut_at_quantiles_or_where_it_is_said():
    data = pd.DataFrame({"age": np.arange(100.0) + 0.5, "job": np.where(np.arange(100) < 50, "no", "yes")})
    released = data.assign(age=data["age"][::-1].to_numpy())
    everything, _ = check_pairs(data, released, ["age", "job"], groups=4)
    # Groups begin at 24.5, 49.5 and 74.5; the last "no" is in the third. New are "no" of the fourth (26), "yes" of the
    # second (25) and of the first (24).
    assert everything.new.value == 75
    assert check_pairs(data, released, ["age", "job"], breaks={"age": [200]})[0].new.value == 0


def test_a_fresh_sample_has_as_many_new_cells_as_expected():
    random = np.random.default_rng(1)

    def sample():
        one, other = random.geometric(0.2, 400), random.geometric(0.3, 400)
        return pd.DataFrame({"one": [f"_{value}" for value in one], "other": [f"_{value}" for value in other]})

    found = [check_pairs(sample(), sample(), ["one", "other"])[0] for _ in range(200)]
    gaps = np.array([one.new.value - one.expected.value for one in found])
    assert abs(gaps.mean()) < 4 * gaps.std() / np.sqrt(200)


def test_values_beyond_the_range_and_at_its_ends_are_counted():
    data = pd.DataFrame({"pay": [1.5, 2.5, 2.5, 9.5]})
    first, second = pd.DataFrame({"pay": [1.0, 1.5, 9.5, 12.0]}), pd.DataFrame({"pay": [2.5, 3.5, np.nan, 10.0]})
    (found,) = check_ranges(data, [first, second], "pay")
    assert (found.below.value, found.above.value) == (0.5, 1.0)
    assert found.at_ends.value == pytest.approx((2 / 4 + 0) / 2)
    assert found.at_ends_original == 0.5
    assert found.expected == pytest.approx(3.5 / 5)


def test_dates_have_a_range_too():
    data = pd.DataFrame({"born": pd.to_datetime(["1950-01-01", "1960-05-05"])})
    (found,) = check_ranges(data, pd.DataFrame({"born": pd.to_datetime(["1949-12-31", "2050-01-01"])}), "born")
    assert (found.below.value, found.above.value) == (1.0, 1.0)


def test_what_is_off_the_unit_and_how_round_values_are():
    data = pd.DataFrame({"pay": [100.0, 250.0, 1_000.0, 0.0]})
    released = pd.DataFrame({"pay": [100.0, 260.0, 33.3, 5_000.0]})
    (found,) = check_heaps(data, released, "pay")
    assert found.unit == 50
    assert found.off.value == 0.5  # 260 and 33.3
    assert found.at == (500.0, 5_000.0, 50_000.0)
    assert [figure.value for figure in found.heaped] == [0.25, 0.25, 0.0]
    assert found.heaped_original == (pytest.approx(1 / 3), 0.0, 0.0)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="columns: one makes no pair"):
        check_pairs(DATA, DATA, "age")
    with pytest.raises(InputError, match="breaks: 'pay' is not among"):
        check_pairs(DATA, DATA, ["age", "job"], breaks={"pay": [1]})
    with pytest.raises(InputError, match="'age' is not numeric"):
        check_ranges(DATA, DATA, "age")
