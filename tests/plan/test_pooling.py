"""Rare levels of synthesized categories are pooled, by hand; what stays is named by nothing that is rare."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.plan import plan_settings
from molehill.plan.pooling import pool_levels
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
