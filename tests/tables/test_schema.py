"""Roles, kinds and groups are settled as documented, and say why."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from molehill.errors import InputError, nearest
from molehill.tables.schema import Column, Schema, cut_into_groups, group_labels, infer_kind, infer_schema
from molehill.tables.table import Table, find_columns

PEOPLE = pd.DataFrame(
    {
        "age": np.arange(20, 40),
        "region": ["N", "S"] * 10,
        "income": np.linspace(10.5, 99.5, 20),
        "born": pd.to_datetime(["1990-01-01"] * 20),
        "note": ["x"] * 20,
    }
)


def kind_of(values, labels=None):
    return infer_kind(Table(pd.DataFrame({"c": values}), {}, {"c": labels or {}}), "c")


def problem_of(**arguments: Any):
    with pytest.raises(InputError) as caught:
        infer_schema(PEOPLE, **arguments)
    return str(caught.value)


# Roles and policies.


def test_roles_policies_and_order_of_the_columns():
    schema = infer_schema(PEOPLE, known=["region", "age"], sensitive="income", predictors="age", breaks={"age": [30]})
    assert [column.name for column in schema.columns] == list(PEOPLE.columns)
    assert schema["age"].roles == ("known", "predictor")
    assert schema["age"].breaks == (30.0,)
    assert schema["region"].roles == ("known",)
    assert schema["income"].roles == ("sensitive",)
    assert schema["note"].roles == ("carried",)
    assert [column.missing for column in schema.columns] == ["category", "category", "error", "keep", "keep"]
    assert schema.having("known") == ("age", "region")
    assert schema.having("sensitive") == ("income",)
    assert schema.having("predictor") == ("age",)
    assert schema.having("carried") == ("born", "note")


def test_a_predictor_alone_has_missing_as_a_category_and_sensitive_may_be_kept():
    schema = infer_schema(PEOPLE, predictors="age", sensitive=("income",), missing="keep")
    assert schema["age"].missing == "category"
    assert schema["income"].missing == "keep"


def test_polars_frames_have_a_schema():
    assert infer_schema(pl.DataFrame({"a": ["x"]}), known="a").having("known") == ("a",)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"known": "age", "sensitive": "age"}, "sensitive: 'age' is also known"),
        ({"predictors": "age", "sensitive": ["income", "age"]}, "sensitive: 'age' is also a predictor"),
        ({"known": "Incom"}, "known: there is no variable 'Incom'. Did you mean 'income'?"),
        ({"sensitive": ["age", "age"]}, "sensitive: 'age' is named more than once"),
        ({"predictors": [3]}, "predictors: a variable's name must be text, not int"),
        ({"predictors": 3}, "predictors: a variable's name must be text, not int"),
        ({"known": ""}, "known: a name is empty"),
        ({"sensitive": "income", "missing": "category"}, "missing: 'category' is not a choice"),
        ({"kinds": {"agee": "count"}}, "kinds: there is no variable 'agee'. Did you mean 'age'?"),
        (
            {"kinds": {"age": "integer"}},
            "kinds: 'integer' for 'age' is not a kind. The kinds are categorical, count",
        ),
        (
            {"kinds": {"region": "continuous"}},
            "kinds: 'region' is not numeric, so that it cannot be continuous",
        ),
        ({"kinds": {"born": "count"}}, "kinds: 'born' holds dates, so that it cannot be count"),
        ({"kinds": {"age": "date"}}, "kinds: 'age' holds no dates"),
        ({"known": "age", "breaks": {"agee": [1]}}, "breaks: there is no variable 'agee'. Did you mean 'age'?"),
        ({"known": "age", "breaks": {"income": [1]}}, "breaks: 'income' is neither known nor a predictor"),
        (
            {"sensitive": "income", "breaks": {"income": [1]}},
            "breaks: 'income' is neither known nor a predictor",
        ),
        ({"known": "region", "breaks": {"region": [1]}}, "breaks: 'region' is not numeric"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words):
    assert words in problem_of(**arguments)


@pytest.mark.parametrize("breaks", [[], [3, 2], [2, 2], [1, np.inf], [np.nan], ["x"], 5, None, [[1, 2], [3, 4]]])
def test_breaks_must_rise(breaks):
    problem = problem_of(known="age", breaks={"age": breaks})
    assert problem.startswith("breaks: those of 'age' are not a list of increasing, finite numbers")


def test_breaks_of_a_predictor_are_kept():
    assert infer_schema(PEOPLE, predictors="age", breaks={"age": (25, 30.5)})["age"].breaks == (25.0, 30.5)


def test_a_given_kind_wins_and_says_so():
    column = infer_schema(PEOPLE, sensitive="age", kinds={"age": "continuous"})["age"]
    assert (column.kind, column.reason) == ("continuous", "given by the caller")
    assert infer_schema(PEOPLE, kinds={"region": "categorical"})["region"].kind == "categorical"


def test_unknown_columns_of_a_schema_are_suggested():
    with pytest.raises(InputError, match="Did you mean 'region'"):
        infer_schema(PEOPLE)["regoin"]


def test_a_schema_is_printed_in_columns():
    schema = Schema(
        (
            Column("age", ("known", "predictor"), "count", "whole", (25.0, 35.5), "category"),
            Column("x", ("carried",), "categorical", "text"),
        )
    )
    assert str(schema).splitlines() == [
        "variable  roles             kind         missing   groups                                     reason",
        "age       known, predictor  count        category  under 25; 25 to under 35.5; 35.5 and over  whole",
        "x         carried           categorical  keep      -                                          text",
    ]


# Names.


def test_one_name_or_several_are_found():
    table = Table(PEOPLE)
    assert find_columns(table, "age", "known") == ["age"]
    assert find_columns(table, ("region", "age"), "known") == ["region", "age"]
    assert find_columns(table, [], "known") == []


def test_an_empty_name_can_be_a_column():
    assert find_columns(Table(pd.DataFrame({"": [1]})), "", "known") == [""]


def test_the_nearest_name_is_suggested_and_not_more_than_ten_are_listed():
    assert nearest("REGION", ["age", "region"]).startswith("Did you mean 'region'?")
    many = nearest("zzz", [f"c{number}" for number in range(30)])
    assert many.startswith("The names are 'c0'")
    assert many.endswith("'c9', and more")


# Kinds.


@pytest.mark.parametrize(
    ("values", "kind", "reason"),
    [
        (["a", "b"], "categorical", "text"),
        (pd.Categorical([1, 2]), "categorical", "categories"),
        ([True, False], "categorical", "true or false"),
        (pd.array([True, None], dtype="boolean"), "categorical", "true or false"),
        ([np.nan, np.nan], "categorical", "every value is missing"),
        (pd.array([None, None], dtype="str"), "categorical", "every value is missing"),
        (pd.array([None, None], dtype="Int64"), "categorical", "every value is missing"),
        (pd.to_datetime(["2020-01-01"]), "categorical", "dates, compared as they are"),
        ([datetime.date(2020, 1, 1), None], "categorical", "dates, compared as they are"),
        (np.arange(50) % 10, "categorical", "whole numbers, 10 different ones"),
        (np.arange(49) % 10, "count", "whole numbers, not negative, below 10,000"),
        (np.ones(5), "categorical", "whole numbers, 1 different one"),
        (np.arange(11), "count", "whole numbers, not negative, below 10,000"),
        (np.arange(11.0), "count", "whole numbers, not negative, below 10,000"),
        (pd.array([*range(11), None], dtype="Int64"), "count", "whole numbers, not negative, below 10,000"),
        (np.arange(9_989, 10_000), "count", "whole numbers, not negative, below 10,000"),
        (np.arange(9_990, 10_001), "continuous", "whole numbers, reaching 10,000"),
        (np.arange(-11, 0), "continuous", "whole numbers, some negative"),
        (
            np.r_[np.arange(-20, 0), np.arange(1, 200)],
            "semicontinuous",
            "whole numbers, some negative, of both signs",
        ),
        (
            np.r_[0, np.arange(9_000, 9_199) * 10],
            "semicontinuous",
            "whole numbers, reaching 10,000, zero in at least 0.5% of the records",
        ),
        (np.r_[0, np.arange(9_000, 9_200) * 10], "continuous", "whole numbers, reaching 10,000"),
        ([0.5, 1.5], "continuous", "numbers with fractions"),
        ([-0.5, 1.5], "continuous", "numbers with fractions"),
        (
            np.r_[0, np.arange(199) + 0.5],
            "semicontinuous",
            "numbers with fractions, zero in at least 0.5% of the records",
        ),
        (np.r_[0, np.arange(200) + 0.5], "continuous", "numbers with fractions"),
        (np.r_[0, -0.5, np.arange(300) + 0.5], "semicontinuous", "numbers with fractions, of both signs"),
        (
            [0.0, 0.5, np.nan],
            "semicontinuous",
            "numbers with fractions, zero in at least 0.5% of the records",
        ),
        ([0.5, np.inf], "continuous", "numbers with fractions"),
    ],
)
def test_kinds_follow_the_rules(values, kind, reason):
    assert kind_of(values) == (kind, reason)


def test_value_labels_make_numbers_categorical_if_they_name_them_all():
    values = [*range(20), np.nan]
    named = {number: f"label {number}" for number in range(20)}
    assert kind_of(values, named) == ("categorical", "value labels name every value")
    del named[7]
    assert kind_of(values, named)[0] == "count"
    assert kind_of([1.5, 2.5], {1.5: "a", 2.5: "b"})[0] == "categorical"
    assert kind_of([1.5, 2.5], {"1.5": "a", "2.5": "b"})[0] == "continuous"


def test_long_columns_are_looked_at_in_part_but_their_range_in_full():
    values = np.zeros(1_000_000)
    assert kind_of(values) == ("categorical", "whole numbers, 1 different one in 10,000 records looked at")
    values[:] = np.arange(len(values)) % 50
    assert kind_of(values)[0] == "count"
    values[123_457] = 0.5
    assert kind_of(values)[0] == "semicontinuous"
    values[123_457] = 20_000
    assert kind_of(values)[1].startswith("whole numbers, reaching 10,000")


def test_reasons_repeat_no_value():
    reason = kind_of([987_654_321.25, 1.5])[1] + kind_of(np.arange(500) + 987_654)[1]
    assert "987" not in reason


# Groups.


def test_group_labels_are_words():
    assert group_labels([25, 35]) == ["under 25", "25 to under 35", "35 and over"]
    assert group_labels([10_000_000.0]) == ["under 10000000", "10000000 and over"]
    assert group_labels([-0.5, 1.25]) == ["under -0.5", "-0.5 to under 1.25", "1.25 and over"]


def test_a_break_belongs_to_the_group_above_it():
    codes = cut_into_groups(np.array([24.9, 25.0, 34.9, 35.0, np.nan, -np.pi]), [25, 35], "age")
    assert codes.tolist() == [0, 1, 1, 2, -1, 0]
    assert codes.dtype.kind == "i"


def test_infinite_values_are_named_by_column_and_record():
    with pytest.raises(InputError, match=r"'age' is infinite in row 2"):
        cut_into_groups(np.array([1.0, -np.inf]), [25], "age")


def test_groups_need_rising_breaks():
    with pytest.raises(InputError, match="those of 'age'"):
        cut_into_groups(np.array([1.0]), [2, 1], "age")
