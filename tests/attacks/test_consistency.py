"""What no person could be, counted by hand, and how much of it a fresh sample has."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_mean, assert_rate_at_most
from molehill import InputError
from molehill.attacks.consistency import (
    check_cells,
    check_dates,
    check_heaps,
    check_pairs,
    check_ranges,
    check_rules,
)
from molehill.rules import EmptyWhere, read_constraints
from molehill.rules.rules import Rules

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

    found = [check_pairs(sample(), sample(), ["one", "other"])[0] for _ in range(100)]
    gaps = np.array([one.new.value - one.expected.value for one in found])
    # A fifth of the cells that are expected.
    assert_mean(gaps, 0.0, detects=10.0)


def test_small_cells_are_those_counted_by_hand():
    released = DATA.assign(job=["cook", "none", "none", "none", "cook", "pope"])
    found = check_cells(DATA, [released, DATA], ["age", "job", "sex"])
    assert found is not None
    # One or two: old none 1, old cook 2; child f 2, child m 1, old m 1, old f 2; none f 2, none m 2, cook f 2.
    assert found.original == 9
    # Released: child cook, child none (2), old none, old cook, old pope; the four of age and sex; cook f (2), none m
    # (2), none f, pope f.
    assert found.number.value == (13 + 9) / 2
    # As many records as before: old none; all four of age and sex; none m and cook f.
    assert found.kept.value == pytest.approx((7 + 9) / 2 / 9)
    # Halves of a cell of 2 are 1 and 1 with chance 1/2, and there are 6 of them. Cells of 1 in a half: 3 cells of 1
    # with chance 1/2, 6 of 2 with 1/2, child none of 3 with 3/8; cells of 2: 6 of 2 with 1/4, that of 3 with 3/8.
    assert found.fresh.value == pytest.approx(3 / (1.5 + 3 + 3 / 8 + 1.5 + 3 / 8))
    # Six people are too few to tell a gain.
    assert np.isnan(found.gain.value)


def test_pairs_of_kept_columns_are_not_asked_for_small_cells(monkeypatch):
    monkeypatch.setattr("molehill.attacks.consistency._LEAST_HAVING", 1)
    released = DATA.assign(job=["cook", "none", "none", "none", "cook", "pope"])
    found = check_cells(DATA, released, ["age", "job", "sex"], kept=["age", "sex"])
    assert found is not None
    assert (found.original, found.number.value) == (5, 9)
    assert check_cells(DATA, released, ["age", "sex"], kept=["age", "sex"]) is None


def test_a_fresh_sample_finds_as_many_small_cells_again_as_halves_do():
    random = np.random.default_rng(1)

    def sample():
        one, other = random.geometric(0.2, 800), random.geometric(0.3, 800)
        return pd.DataFrame({"one": [f"_{value}" for value in one], "other": [f"_{value}" for value in other]})

    found = [check_cells(sample(), sample(), ["one", "other"]) for _ in range(100)]
    gaps = np.array([one.kept.value - one.fresh.value for one in found if one is not None])
    # Halves are samples of half the size, which makes a small difference beside the noise.
    assert_mean(gaps, 0.0, detects=0.1)
    assert_rate_at_most(sum(one.gain.low > 0 for one in found if one is not None), len(gaps), 0.025, detects=0.3)
    data = sample()
    copied = check_cells(data, data, ["one", "other"])
    assert copied is not None
    assert (copied.kept.value, copied.gain.value) == (1, 1)


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


def test_a_number_heaps_where_round_values_are_more_frequent_than_by_chance():
    random = np.random.default_rng(1)
    spread = pd.DataFrame({"pay": random.integers(10_000, 90_000, 500)})
    told = pd.DataFrame({"pay": np.where(np.arange(500) < 300, spread["pay"].round(-3), spread["pay"])})
    (even,) = check_heaps(spread, spread, "pay")
    (heaped,) = check_heaps(told, spread, "pay")
    assert even.heap is None
    assert heaped.heap is not None
    assert heaped.at[heaped.heap] == 1_000
    # A unit that single precision cannot write is a unit all the same.
    short = pd.DataFrame({"pay": np.array([0.1, 0.25, 3.45], dtype=np.float32)})
    (single,) = check_heaps(short, short, "pay")
    assert (single.unit, single.off.value) == (0.05, 0)


def test_days_that_dates_fall_on_are_counted():
    # 40 first days of months from January 2001 on, and 60 Wednesdays that are none, nor the day before.
    firsts = pd.date_range("2001-01-01", periods=40, freq="MS")
    wednesdays = [day for day in pd.date_range("2001-01-03", periods=80, freq="7D") if 1 < day.day < 28][:60]
    data = pd.DataFrame({"when": [*firsts, *wednesdays]})
    released = data + pd.Timedelta(days=1, hours=12)
    (found,) = check_dates(data, [data, released], "when")
    on = dict(zip(found.on, zip(found.heaped, found.heaped_original, strict=True), strict=True))
    first, again = on["the first of a month"]
    assert (first.value, again) == (0.2, 0.4)
    # Five of the first days are Wednesdays, too.
    assert on["Wednesdays"][1] == (60 + (firsts.day_of_week == 2).sum()) / 100
    assert found.off.value == 0.5
    calendar = pd.DataFrame({"when": pd.date_range("2001-01-01", periods=700)})
    (even,) = check_dates(calendar, calendar, "when")
    assert even.on == ()
    with pytest.raises(InputError, match="'age' has no dates"):
        check_dates(DATA, DATA, "age")


def test_records_that_break_a_rule_are_counted():
    data = pd.DataFrame({"age": [5, 40, 50, 60], "rent": [1, 2, 9, 3], "pay": [np.nan, 5.0, 5.0, 5.0]})
    released = data.assign(pay=[7.0, 1.0, 5.0, 5.0])
    rules = Rules((EmptyWhere("pay", "age", below=15),), read_constraints("rent <= pay", data))
    everything, rent, empty = check_rules(data, [released, data], rules)
    assert (everything.rule, rent.rule) == ("", "rent <= pay")
    # The second and the third pay too much rent, the first is too young; the third did so when asked.
    assert [one.broken.value for one in (everything, rent, empty)] == [(3 + 1) / 2, (2 + 1) / 2, 0.5]
    assert [one.broken_original for one in (everything, rent, empty)] == [1, 1, 0]
    assert everything.more.value == (3 + 1) / 2 / 4 - 1 / 4
    assert check_rules(data, released.drop(columns="pay"), rules) == []


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="columns: one makes no pair"):
        check_pairs(DATA, DATA, "age")
    with pytest.raises(InputError, match="breaks: 'pay' is not among"):
        check_pairs(DATA, DATA, ["age", "job"], breaks={"pay": [1]})
    with pytest.raises(InputError, match="'age' is not numeric"):
        check_ranges(DATA, DATA, "age")


def test_pairs_of_kept_columns_alone_are_not_counted():
    # Forty towns with one record each would expect forty new pairs, which nothing that is kept can have.
    data = pd.DataFrame(
        {"town": range(40), "area": [f"a{n}" for n in range(40)], "sex": ["f", "m"] * 20, "births": [1, 0] * 20}
    )
    data["town"] = data["town"].astype(str)
    released = data.assign(births=[1, 1] + [1, 0] * 19)
    text = data.astype({"births": str}), released.astype({"births": str})
    everything = check_pairs(*text, ["births", "sex", "town", "area"], kept=["sex", "town", "area"])
    assert {one.columns for one in everything[1:]} == {("births", "sex"), ("births", "town"), ("births", "area")}
    (births,) = [one for one in everything if one.columns == ("births", "sex")]
    assert (births.new.value, births.expected.value) == (1.0, 0.0)


def test_cells_of_rare_kept_values_are_not_counted_and_few_people_tell_no_gain():
    rng = np.random.default_rng(4)
    town = np.array([f"t{n}" for n in rng.integers(0, 200, 300)])
    data = pd.DataFrame({"town": town, "job": rng.choice(["a", "b", "c"], 300)})
    # Drawn again from what the town says of everybody, which is nothing.
    released = data.assign(job=rng.choice(["a", "b", "c"], 300))
    found = check_cells(data, released, ["town", "job"], kept=["town"])
    assert found is not None
    assert found.original == 0
    assert np.isnan(found.gain.value)
    anybody = check_cells(data, released, ["town", "job"])
    assert anybody is not None
    assert anybody.original > 100
    assert anybody.gain.value == pytest.approx((anybody.kept.value - anybody.fresh.value) / (1 - anybody.fresh.value))
    assert anybody.gain.low < anybody.gain.value < anybody.gain.high
    one = pd.DataFrame({"job": ["x"] * 58 + ["y", "z"], "sex": ["f", "m"] * 30})
    alone = check_cells(one, one, ["job", "sex"])
    assert alone is not None
    assert (alone.original, alone.kept.value) == (2, 1.0)
    assert np.isnan(alone.gain.value)
