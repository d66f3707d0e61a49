"""Emptiness that follows from another column is found as a person would write it, and chance is no rule."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.rules.emptiness import LEAST, EmptyWhere, find_emptiness, may_be_empty, must_be_empty
from molehill.tables.cells import declare_missing
from molehill.tables.formats.formats import read_table
from molehill.tables.table import Table
from properties import examples


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(0, 90, 2000), "home": rng.choice(["own", "rent", "prison"], 2000)})
    frame["sex"] = rng.choice([1, 2], 2000)
    frame["income"] = np.where(frame["age"] < 15, np.nan, rng.normal(3000, 500, 2000).round(2))
    return frame


def told(frame, columns, given):
    return [str(rule) for rule in find_emptiness(Table(frame), columns, given)]


def test_the_file_of_nist(shared):
    table = read_table(shared / "nist_ma.csv")
    # Most of these stay text for `find_missing_codes`: their other cells are few codes.
    coded = {name: ["N"] for name in table.frame.columns if "N" in set(table.frame[name].astype(str))}
    table = declare_missing(table, coded)
    columns = ["MSP", "NOC", "NPF", "INDP_CAT", "EDU", "PINCP", "POVPIP", "DVET", "DREM"]
    rules = find_emptiness(table, columns, [name for name in table.frame.columns if name not in columns])
    assert {str(rule): rule.exact for rule in rules} == {
        "MSP is empty where AGEP < 15": True,
        "NOC is empty where HOUSING_TYPE in (2, 3)": True,
        "NPF is empty where HOUSING_TYPE in (2, 3)": False,
        "INDP_CAT is empty where AGEP < 16": False,
        "EDU is empty where AGEP < 3": True,
        "PINCP is empty where AGEP < 15": True,
        "POVPIP is empty where HOUSING_TYPE = 2": False,
        # Nearly nobody has DVET: that the young have none says nothing.
        "DREM is empty where AGEP < 5": True,
    }
    assert [rule.records for rule in rules if rule.column == "PINCP"] == [table.frame["PINCP"].isna().sum()]
    for name in columns:
        empty, must = table.frame[name].isna().to_numpy(), must_be_empty(rules, name, table.frame)
        assert not (must & ~empty).any()
        assert may_be_empty(rules, name) == (empty & ~must).any()


def test_a_replaced_column_that_is_drawn_before_decides_too(people):
    people["work"] = pd.Series("yes", index=people.index).mask(people["age"] < 15)
    # A kept column is preferred to a replaced one that says the same.
    assert told(people, ["work", "income"], ["sex", "age"]) == [
        "work is empty where age < 15",
        "income is empty where age < 15",
    ]
    assert told(people, ["work", "income"], ["sex"]) == ["income is empty where work is empty"]
    assert told(people, ["income", "work"], ["sex"]) == ["work is empty where income is empty"]


def test_rules_are_joined_and_none_is_redundant(people):
    people["income"] = people["income"].mask(people["home"] == "prison")
    people["child"] = people["age"] < 15
    rules = find_emptiness(Table(people), ["income"], ["sex", "age", "home", "child"])
    assert [str(rule) for rule in rules] == ["income is empty where home = 'prison'", "income is empty where age < 15"]
    assert [rule.records for rule in rules] == [(people["home"] == "prison").sum(), (people["age"] < 15).sum()]
    assert all(rule.exact for rule in rules)
    np.testing.assert_array_equal(must_be_empty(rules, "income", people), people["income"].isna())
    people.loc[people.index[people["age"] > 50][:5], "income"] = np.nan
    assert not any(rule.exact for rule in find_emptiness(Table(people), ["income"], ["age", "home"]))


def test_two_rules_that_cover_most_of_the_table_are_found():
    frame = pd.DataFrame({"home": np.repeat(["a", "b", "c"], [600, 300, 100]), "age": np.tile([8, 40], 500)})
    frame["pay"] = np.where((frame["home"] == "a") | (frame["age"] < 15), np.nan, 1.0)
    rules = find_emptiness(Table(frame), ["pay"], ["home", "age"])
    assert [str(rule) for rule in rules] == ["pay is empty where home = 'a'", "pay is empty where age = 8"]
    assert not may_be_empty(rules, "pay")


def test_above_a_threshold_and_where_another_is_empty(people):
    people["pension"] = np.where(people["age"] > 64, 1.0, np.nan)
    people["school"] = np.where(people["age"] > 30, np.nan, 1.0)
    people["marks"] = people["school"].mask(people["age"] < 6)
    assert told(people, ["pension"], ["age"]) == ["pension is empty where age < 65"]
    assert told(people, ["school"], ["age"]) == ["school is empty where age > 30"]
    both = find_emptiness(Table(people), ["marks"], ["school", "age"])
    assert [str(rule) for rule in both] == ["marks is empty where school is empty", "marks is empty where age < 6"]


def test_chance_is_no_rule():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"weight": rng.normal(size=3000), "place": rng.integers(0, 400, 3000).astype(str)})
    frame["rare"] = np.where(np.arange(3000) < LEAST - 1, "few", "many")
    frame["x"] = np.where(rng.random(3000) < 0.3, np.nan, 1.0)
    frame.loc[frame["rare"] == "few", "x"] = np.nan
    assert told(frame, ["x"], ["weight", "place", "rare"]) == []
    # The oldest are all empty, but so are nearly all that are a little younger.
    frame["age"] = np.sort(rng.uniform(0, 100, 3000))
    frame["x"] = np.where(rng.random(3000) < np.where(frame["age"] > 80, 0.9, 0.1), np.nan, 1.0)
    frame.loc[2970:, "x"] = np.nan
    assert told(frame, ["x"], ["age"]) == []
    # If the young have none, and hardly anybody else has one, it is simply rare.
    frame["x"] = np.where((rng.random(3000) < 0.05) & (frame["age"] > 15), 1.0, np.nan)
    assert told(frame, ["x"], ["age"]) == []


def test_never_and_always_empty():
    frame = pd.DataFrame({"a": np.arange(50), "b": [None] * 50, "c": 1.0})
    rules = find_emptiness(Table(frame), ["a", "b"], ["c"])
    assert [str(rule) for rule in rules] == ["a is never empty"]
    assert (may_be_empty(rules, "a"), may_be_empty(rules, "b")) == (False, True)
    assert not must_be_empty(rules, "a", frame).any()
    assert not must_be_empty(rules, "b", frame).any()


def test_a_threshold_on_a_replaced_column_is_no_confidential_value():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.uniform(0, 99_999, 1000).round(2), "sex": rng.choice([1, 2], 1000)})
    frame["aid"] = np.where(frame["income"] > 50_000, np.nan, 1.0)
    (kept,) = find_emptiness(Table(frame.head(900)), ["aid"], ["income"])
    assert kept.above == frame["income"][:900][frame["aid"][:900].notna()].max()
    assert told(frame, ["income", "aid"], []) == ["income is never empty", "aid is empty where income > 50000"]
    # Densely around an odd number there is no short number between the two.
    frame["income"] = np.arange(1000) + 43_000.0
    frame["aid"] = np.where(frame["income"] < 43_217, np.nan, 1.0)
    assert told(frame, ["income", "aid"], []) == ["income is never empty"]


def test_bad_input(people):
    table = Table(people)
    with pytest.raises(InputError, match=r"columns: there is no variable 'incom'\. Did you mean 'income'"):
        find_emptiness(table, ["incom"], ["age"])
    with pytest.raises(InputError, match="given: 'age' is also synthesized"):
        find_emptiness(table, ["income", "age"], ["age"])
    (rule,) = find_emptiness(table, ["income"], ["age"])
    with pytest.raises(InputError, match="frame: it lacks the variable 'age'"):
        rule.holds(people[["sex"]])
    with pytest.raises(InputError, match="frame: the variable 'age' is not numeric"):
        rule.holds(people.assign(age="x"))


def test_odd_names_and_levels():
    odd = "<b>it's\nso</b>"
    frame = pd.DataFrame({"税 (net)": np.where(np.arange(100) < 30, np.nan, 1.0)})
    frame["is"] = pd.Categorical(np.where(np.arange(100) < 30, odd, "二"))
    frame["lists"] = [[1]] * 100
    (rule,) = find_emptiness(Table(frame), ["税 (net)"], ["is", "lists"])
    assert rule == EmptyWhere("税 (net)", "is", levels=(odd,), records=30, exact=True)
    assert str(rule) == "`税 (net)` is empty where `is` = '<b>it''s so</b>'"
    np.testing.assert_array_equal(rule.holds(frame), np.arange(100) < 30)


@examples(50)
@given(st.data())
def test_a_rule_holds_without_exception_and_exact_means_exact(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    frame = pd.DataFrame({"n": rng.integers(0, 40, 300), "m": rng.normal(size=300).round(1)})
    frame["k"] = rng.choice(["a", "b", "c", "d"], 300)
    empty = np.zeros(300, dtype=bool)
    for condition in data.draw(st.lists(st.sampled_from(["n", "m", "k", "chance"]), max_size=3)):
        if condition == "chance":
            empty |= rng.random(300) < 0.1
        elif condition == "k":
            empty |= (frame["k"] == "a").to_numpy()
        else:
            cut = frame[condition].quantile(rng.uniform(0.05, 0.4))
            empty |= (frame[condition] < cut).to_numpy()
    frame["x"] = np.where(empty, np.nan, 1.0)
    rules = find_emptiness(Table(frame), ["m", "x"], ["n", "k"])
    must = must_be_empty(rules, "x", frame)
    assert not (must & ~empty).any()
    if any(rule.column == "x" for rule in rules):
        assert may_be_empty(rules, "x") == (empty & ~must).any()
    for rule in rules:
        assert rule.by is None or rule.records == rule.holds(frame).sum() >= LEAST
