"""Rare levels of synthesized categories are pooled, by hand; what stays is named by nothing that is rare."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate_at_most
from molehill.errors import InputError
from molehill.plan.plan import plan_settings
from molehill.plan.pooling import pool_levels, write_in_units
from molehill.plan.settings import Settings
from molehill.tables.table import Table
from people import refusal

JOBS = Settings(synthesize=["job"], known=[])


def pooled(column, labels=None, **changes):
    values = {} if labels is None else {"job": labels}
    table, told = pool_levels(Table(pd.DataFrame({"job": column}), {}, values), JOBS.but(**changes))
    counts = table.frame["job"].value_counts()
    return {level: int(number) for level, number in counts.items() if number}, table, [f"{one}" for one in told]


def repeated(**levels):
    return [level for level, number in levels.items() for _ in range(number)]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({"a": 9, "b": 5}, {"a": 9, "b": 5}),
        ({"a": 9, "b": 5, "c": 3, "d": 2}, {"a": 9, "b": 5, "other": 5}),
        # Too few for a level of their own: that one would show that there is somebody.
        ({"a": 8, "b": 9, "c": 1, "d": 3}, {"a": 8, "b": 13}),
        ({"other": 9, "b": 5, "c": 4, "d": 4}, {"other": 9, "b": 5, "all others": 8}),
        # That somebody wrote "other" decides nothing where they are rare.
        ({"a": 9, "b": 5, "other": 2, "d": 4}, {"a": 9, "b": 5, "other": 6}),
    ],
)
def test_levels_of_fewer_than_five_records_are_pooled(levels, expected):
    for column in (repeated(**levels), pd.Categorical(repeated(**levels))):
        found, table, told = pooled(column)
        assert found == expected
        assert len(told) == (found != levels)
        if isinstance(table.frame["job"].dtype, pd.CategoricalDtype):
            assert set(table.frame["job"].cat.categories) == set(expected)


def test_the_plan_tells_how_many_and_no_level():
    _, _, (told,) = pooled(repeated(a=9, b=5, priest=3, pope=2))
    assert told == "2 levels of fewer than 5 records (5 in all) are pooled into one level"
    people = pd.DataFrame({"job": repeated(a=19, b=15, priest=3, pope=2), "town": repeated(A=36, B=3)})
    settings = Settings(synthesize=["job"], keep=["town"], known=["town"])
    plan = plan_settings(people, settings)
    assert told in f"{plan}"
    assert told in plan.columns["remark"][0]
    assert "1 level of few records (3 in all) published as collected" in plan.columns["remark"][1]
    assert "pope" not in f"{plan}"
    # Who wants every level says so.
    assert "pooled" not in f"{plan_settings(people, settings.but(min_level_records=1))}"
    assert "pooled" in f"{plan_settings(people, settings.but(min_level_records={'town': 1}))}"
    whole = Settings(columns={"job": {"release": "synthesize", "min_level_records": 3}, "town": "keep"}, known=["town"])
    assert (
        "1 level of fewer than 3 records (2 in all) is pooled into the most frequent level"
        in f"{plan_settings(people, whole)}"
    )


def test_what_is_missing_is_no_level():
    found, table, _ = pooled([*repeated(a=9, b=5, c=3, d=2), None])
    assert (found, int(table.frame["job"].isna().sum())) == ({"a": 9, "b": 5, "other": 5}, 1)


def test_levels_with_an_order_go_to_the_nearest():
    order = ["none", "some", "much", "all"]
    levels = repeated(none=1, some=9, much=2, all=7)
    # Much is as near to some as to all: the lower one.
    expected = {"some": 12, "all": 7}
    assert pooled(levels, levels={"job": order})[0] == expected
    assert pooled(pd.Categorical(levels, order, ordered=True))[0] == expected
    numbers = np.repeat([0, 1, 2, 3, 7], [20, 20, 20, 4, 1])
    assert pooled(numbers)[0] == {0: 20, 1: 20, 2: 25}
    assert pooled(numbers, min_level_records=4)[0] == {0: 20, 1: 20, 2: 20, 3: 5}
    days = pd.to_datetime(["2001-01-01"] * 9 + ["2001-01-02"] * 9 + ["2001-05-01"])
    assert sorted(pooled(days, kinds={"job": "categorical"})[0].values()) == [9, 10]


@pytest.mark.parametrize("kind", ["int8", "float64", "Int16"])
def test_codes_get_a_code_that_no_label_has(kind):
    labels: dict[float | str, str] = {1: "clerk", 2: "nurse", 3: "priest", 4: "pope", 9: "refused"}
    column = pd.array(np.repeat([1, 2, 3, 4], [30, 20, 3, 2]), dtype=kind)
    found, table, _ = pooled(column, labels)
    assert found == {1: 30, 2: 20, 99: 5}
    assert table.value_labels["job"] == {1: "clerk", 2: "nurse", 9: "refused", 99: "other"}
    assert table.frame["job"].dtype == kind
    # Neither one that stands for a missing value, nor one that the type of the column cannot hold.
    found, table, _ = pooled(column, {**labels, 99: "other"}, missing_codes={"job": [99.0]})
    assert found == {1: 30, 2: 20, 999: 5}
    assert table.value_labels["job"][999] == "all others"


def test_too_few_levels_left_is_refused_without_a_level():
    text = refusal(lambda: pooled(repeated(a=30, pope=1)), "min_level_records")
    assert "pope" not in text


def test_a_constraint_on_a_rare_level_says_that_it_is_pooled():
    people = pd.DataFrame({"job": repeated(a=30, b=30, pope=1, priest=6), "town": ["A"] * 67})
    settings = Settings(synthesize=["job"], keep=["town"], known=["town"], constraints=["town = 'A' -> job != 'pope'"])
    with pytest.raises(InputError, match="Rare levels of 'job' are pooled: a smaller min_level_records"):
        plan_settings(people, settings)
    plan_settings(people, settings.but(min_level_records=1))


def test_one_record_more_or_less_of_a_rare_level_changes_no_level():
    jobs = repeated(a=30, b=20, c=3, d=2)
    base = pooled(jobs)[0]
    for other in ("a", "c", "pope", "other", None):
        found = pooled([*jobs[1:], other])[0]
        assert set(found) == set(base), other
    alone = repeated(a=30, b=20)
    for other in ("a", "pope", "other"):
        assert set(pooled([*alone[1:], other])[0]) == {"a", "b"}, other


def test_no_single_record_decides_for_sure_whether_a_level_is_published():
    number, levels = 200, [f"l{place}" for place in range(200)]

    def published(records):
        """Which of many levels are published that have so many records each."""
        found = pooled([*repeated(a=30, b=20), *levels * records], seed=7)[0]
        return np.array([level in found for level in levels])

    by_records = [published(records) for records in range(3, 11)]
    assert not by_records[1].any()
    assert by_records[-2].all()
    for fewer, more in pairwise(by_records):
        assert not (fewer & ~more).any()
        # Who knows all others learns by it that the record is there, in one of five releases.
        assert_rate_at_most(int((more & ~fewer).sum()), number, 1 / 5, detects=0.3)
    # Where fewer than two would be left nothing is drawn: with one record less nothing is released at all.
    assert all(set(pooled(repeated(a=30, b=5), seed=seed)[0]) == {"a", "b"} for seed in range(9))


def test_no_single_record_decides_for_sure_in_which_unit_numbers_are_written():
    number, pay = 200, np.arange(100, 40_100, 100)

    def in_hundreds(odd):
        """Which of many variables are written in hundreds that have so many values that are no hundreds."""
        own = pay + np.where(np.arange(400) < odd, 7, 0)
        frame = pd.DataFrame({f"v{place}": own for place in range(number)})
        made = write_in_units(Table(frame), Settings(synthesize=[*frame], known=[], seed=7)).frame
        assert made.dtypes.equals(frame.dtypes)
        return (made % 100 == 0).all().to_numpy()

    found = [in_hundreds(odd) for odd in range(3, 11)]
    # Four of 400 are within 1%, ten are too many for any seed.
    assert found[1].all()
    assert not found[-1].any()
    for fewer, more in pairwise(found):
        assert not (more & ~fewer).any()
        assert_rate_at_most(int((fewer & ~more).sum()), number, 1 / 6, detects=0.3)


def test_what_is_no_multiple_is_written_as_the_nearest_and_never_as_zero():
    days = pd.Series([pd.Timestamp("2001-01-01")] * 199 + [pd.Timestamp("2001-05-03 18:00")])
    whole = [*range(100, 20_000, 100), 30]
    frame = pd.DataFrame({"pay": whole, "loss": [-30.5, *range(-20_000, -100, 100)], "on": days})
    settings = Settings(synthesize=["pay", "loss", "on"], known=[], seed=2)
    made = write_in_units(Table(frame), settings).frame
    assert made["pay"].tolist() == [*whole[:-1], 100]
    assert made["loss"].tolist() == [-100.0, *frame["loss"][1:]]
    assert made["on"].iloc[-1] == pd.Timestamp("2001-05-04")
    assert made.dtypes.equals(frame.dtypes)


@pytest.mark.parametrize(
    ("model", "values", "what"),
    [
        ("semicontinuous", [-5.0] * 3 + [0.0] * 40 + [*range(1, 58)], "losses"),
        ("semicontinuous", [5.0] * 9 + [0.0] * 40 + [*range(-51, 0)], "gains"),
        ("normal_linear", [np.nan] * 4 + [*range(96)], "missing values"),
    ],
)
def test_other_models_than_forests_are_refused_where_few_records_decide_what_is_released(model, values, what):
    people = pd.DataFrame({"town": ["A", "B"] * 50, "pay": np.array(values) * 1.5})
    about: dict[str, Any] = {"missing_values": "model", "lower": -1e4, "upper": 1e4}
    settings = Settings(synthesize=["pay"], keep=["town"], known=["town"], synthesizer=model, **about)
    assert f"has few {what}, and {model} would release some" in refusal(
        lambda: plan_settings(people, settings), "synthesizer"
    )
    plan_settings(people, settings.but(synthesizer="forest"))
    # Of twenty nobody is the one.
    enough = people.assign(pay=np.r_[np.repeat(people["pay"].iloc[0], 20), people["pay"].iloc[20:]])
    plan_settings(enough, settings)
