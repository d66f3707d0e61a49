"""Design matrices have the columns that the predictors ask for, and nothing is evaluated or guessed."""

import datetime

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.synthesis.design import MOST_LEVELS, apply_design, find_codes, find_levels, learn_design, spread_rows
from molehill.tables.table import Table

RNG = np.random.default_rng(7)
COUNT = 60
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, COUNT),
        "hours": RNG.normal(35, 5, COUNT),
        "region": pd.Categorical(RNG.choice(["S", "N", "E"], COUNT), categories=["S", "unused", "N", "E"]),
        "tenure": RNG.integers(1, 4, COUNT).astype(float),
        "earner": RNG.choice([True, False], COUNT),
        "same": ["x"] * COUNT,
        "flat": [0.1] * COUNT,
        "income": RNG.normal(size=COUNT),
    }
)


def design_of(predictors, frame=PEOPLE, **settings):
    return learn_design(Table(frame), predictors, sensitive="income", **settings)


def problem_of(predictors, frame=PEOPLE, **settings):
    with pytest.raises(InputError) as caught:
        design_of(predictors, frame, **settings)
    return str(caught.value)


# What the columns are.


@pytest.mark.parametrize("nothing", [None, [], "1"])
def test_without_predictors_there_is_the_intercept_alone(nothing):
    design = design_of(nothing)
    assert design.names == ("Intercept",)
    np.testing.assert_array_equal(design.matrix, np.ones((COUNT, 1)))
    np.testing.assert_array_equal(apply_design(design, Table(PEOPLE[:3])), np.ones((3, 1)))


def test_columns_of_every_kind_by_hand():
    design = design_of(["region", "hours", "tenure", "earner"])
    assert design.names == ("Intercept", "region[N]", "region[E]", "hours", "tenure[2]", "tenure[3]", "earner[True]")
    hours = PEOPLE["hours"].to_numpy()
    by_hand = [
        np.ones(COUNT),
        PEOPLE["region"] == "N",
        PEOPLE["region"] == "E",
        (hours - hours.mean()) / hours.std(),
        PEOPLE["tenure"] == 2,
        PEOPLE["tenure"] == 3,
        PEOPLE["earner"],
    ]
    np.testing.assert_allclose(design.matrix, np.column_stack([np.asarray(c, float) for c in by_hand]), atol=1e-14)
    assert design.matrix.dtype == np.float64
    assert design.levels == {"region": ("S", "N", "E"), "tenure": (1, 2, 3), "earner": (False, True)}
    assert design.centre == {"hours": hours.mean()}
    assert design.scale == {"hours": hours.std()}
    assert design.formula == "1 + region + hours + tenure + earner"
    assert design.dropped == design.collinear == ()
    assert set(design.facts) >= {"names", "levels", "centre", "scale"}
    assert "matrix" not in design.facts


def test_breaks_make_left_closed_groups_and_missing_is_one():
    frame = pd.DataFrame({"age": [24.0, 25, 34.9, 35, np.nan, 80], "income": np.arange(6.0)})
    design = design_of(["age"], frame, breaks={"age": [25, 35, 90]})
    assert design.levels["age"] == ("under 25", "25 to under 35", "35 to under 90", None)
    assert design.names[1:] == ("age[25 to under 35]", "age[35 to under 90]", "age[missing]")
    np.testing.assert_array_equal(design.matrix[:, 1:].argmax(axis=1)[1:], [0, 0, 1, 2, 1])
    assert not design.matrix[0, 1:].any()
    assert design.breaks == {"age": (25.0, 35.0, 90.0)}


def test_kinds_can_be_given():
    assert design_of(["tenure"], kinds={"tenure": "count"}).names == ("Intercept", "tenure")


def test_a_missing_value_of_a_categorical_predictor_is_a_level():
    frame = pd.DataFrame({"job": ["b", None, "missing", "b"], "income": np.arange(4.0)})
    design = design_of(["job"], frame)
    assert design.names == ("Intercept", "job[missing]", "job[no value]")
    np.testing.assert_array_equal(design.matrix[:, 1:], [[0, 0], [0, 1], [1, 0], [0, 0]])


def test_levels_that_cannot_be_sorted_have_one_order_all_the_same():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]
    assert find_levels(pd.Series(days), "day", "column") == tuple(sorted(days))
    assert find_levels(pd.Series(["1", 2, 1, "a"], dtype=object), "mixed", "column") == (1, 2, "1", "a")
    frame = pd.DataFrame({"mixed": pd.Series(["1", 2, 1, "a"], dtype=object), "income": np.arange(4.0)})
    assert design_of(["mixed"], frame).names == ("Intercept", "mixed[2]", "mixed['1']", "mixed['a']")


# Formulas.


def test_formulas_multiply_subtract_and_raise():
    star = design_of("hours*earner + region")
    assert star.names == ("Intercept", "hours", "earner[True]", "region[N]", "region[E]", "hours:earner[True]")
    np.testing.assert_allclose(star.matrix[:, 5], star.matrix[:, 1] * star.matrix[:, 2])
    assert design_of("(hours + earner)^2").names == design_of("hours*earner").names
    assert design_of("hours*earner - hours:earner").names == design_of(["hours", "earner"]).names
    assert star.formula == "1 + hours + earner + region + hours:earner"


def test_an_interaction_without_its_parts_is_coded_to_full_rank():
    design = design_of("region:earner")
    assert len(design.names) == 6
    assert np.linalg.matrix_rank(design.matrix) == 6
    assert design.collinear == ()


@pytest.mark.parametrize("name", ["age group", 'l\'âge "x"', "所得", "a+b", "x0", "2nd", "a`b", "log.age", "x[1]:y"])
def test_any_column_name_works(name):
    frame = pd.DataFrame({name: PEOPLE["hours"], "x1": PEOPLE["region"], "income": PEOPLE["income"]})
    listed = design_of([name, "x1"], frame)
    assert listed.matrix.shape == (COUNT, 4)
    np.testing.assert_allclose(listed.matrix[:, 1], design_of(["hours"]).matrix[:, 1])
    assert design_of(name, frame).matrix.shape == (COUNT, 2)
    if "`" not in name:
        np.testing.assert_array_equal(design_of(f"`{name}` + x1", frame).matrix, listed.matrix)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("__import__('os').system('touch broken')", "like a function"),
        ("age + {__import__('os')}", "'{' cannot stand in a formula"),
        ("log(age)", "like a function"),
        ("`age` (hours)", "like a function"),
        ("income ~ age", "'~' cannot stand"),
        ("age; hours", "cannot stand"),
        ("age[0]", "cannot stand"),
        ("age | hours", "cannot stand"),
        ("age + 12", "cannot stand"),
        ("age + 'x'", "cannot stand"),
        ("age +", "cannot be read"),
        ("(age", "cannot be read"),
        ("age hours", "cannot be read"),
        ("3*age", "cannot be read"),
        ("", "cannot be read"),
        ("  ", "cannot be read"),
        ("age - 1", "takes the intercept away"),
        ("0 + age", "takes the intercept away"),
        ("agee + hours", "Did you mean 'age'?"),
    ],
)
def test_formulas_that_are_refused(formula, words):
    assert words in problem_of(formula)
    assert problem_of(formula).startswith("predictors: ")


# Constant and collinear columns.


def test_constant_columns_are_dropped_and_named():
    design = design_of(["same", "flat", "hours"])
    assert design.names == ("Intercept", "hours")
    assert design.dropped == ("same", "flat")
    np.testing.assert_array_equal(apply_design(design, Table(PEOPLE)), design.matrix)


def test_an_empty_cell_of_an_interaction_is_dropped_and_named():
    frame = pd.DataFrame({"a": list("xxyyy"), "b": list("uvuuu"), "income": np.arange(5.0)})
    design = design_of("a*b", frame)
    assert design.names == ("Intercept", "a[y]", "b[v]")
    assert design.dropped == ("a[y]:b[v]",)
    np.testing.assert_array_equal(apply_design(design, Table(frame)), design.matrix)


def test_collinear_columns_are_kept_and_named():
    frame = PEOPLE.assign(double=2 * PEOPLE["hours"] + 3, again=PEOPLE["region"].astype(str))
    design = design_of(["hours", "region", "double", "again"], frame)
    assert design.matrix.shape[1] == 7
    assert design.collinear == ("double", "again[N]", "again[S]")


def test_more_columns_than_records():
    frame = PEOPLE[["age", "hours", "tenure", "income"]][:2]
    assert len(design_of(["age", "hours", "tenure"], frame.reset_index(drop=True)).collinear) == 2


# Other tables.


def test_another_table_gets_the_learned_columns():
    half, other = PEOPLE[:40].reset_index(drop=True), PEOPLE[40:].reset_index(drop=True)
    design = design_of("hours*region + tenure + age", half, breaks={"age": [40, 60]})
    np.testing.assert_array_equal(apply_design(design, Table(half)), design.matrix)
    as_text = other.assign(region=other["region"].astype(object), tenure=other["tenure"].astype("Int64"))
    matrix = apply_design(design, Table(as_text[:1]))
    assert matrix.shape == (1, len(design.names))
    hours = half["hours"]
    expected = (other["hours"].iloc[0] - hours.mean()) / hours.std(ddof=0)
    assert matrix[0, design.names.index("hours")] == pytest.approx(expected)
    assert matrix[0, design.names.index("tenure[2]")] == (other["tenure"].iloc[0] == 2)


def test_levels_not_seen_are_refused_by_number_and_never_by_value():
    design = design_of(["region"])
    with pytest.raises(
        InputError, match="'region' has a level that was not there when the model learned, in 2 rec"
    ) as e:
        apply_design(design, Table(pd.DataFrame({"region": ["N", "secret", "secret"]})))
    assert "secret" not in str(e.value)
    with pytest.raises(InputError, match="in 1 record"):
        apply_design(design, Table(pd.DataFrame({"region": ["N", None]})))
    with pytest.raises(InputError, match="no column 'region'"):
        apply_design(design, Table(pd.DataFrame({"Region": ["N"]})))


def test_codes_follow_the_levels():
    np.testing.assert_array_equal(find_codes(pd.Series(["b", None, "a"]), ("a", "b", None), "c", "column"), [1, 2, 0])


def test_rows_to_watch_are_spread_from_first_to_last():
    assert spread_rows(3).tolist() == [0, 1, 2]
    assert spread_rows(5122)[[0, -1]].tolist() == [0, 5121]
    assert len(spread_rows(5122)) == 26


# What is refused.


@pytest.mark.parametrize(
    ("predictors", "settings", "words"),
    [
        (["income"], {}, "'income' is also a predictor"),
        ("age + income", {}, "'income' is also a predictor"),
        (["regio"], {}, "Did you mean 'region'?"),
        (["age", "age"], {}, "more than once"),
        ([3], {}, "must be text"),
        (["age"], {"breaks": {"age": [3, 2]}}, "rising"),
        (["age"], {"breaks": {"hours": [3]}}, "neither known nor a predictor"),
        (["region"], {"breaks": {"region": [3]}}, "not numeric"),
        (["region"], {"kinds": {"region": "count"}}, "not numeric"),
        (["age"], {"kinds": {"age": "number"}}, "not a kind"),
    ],
)
def test_settings_that_are_refused(predictors, settings, words):
    assert words in problem_of(predictors, **settings)


def test_missing_and_infinite_numbers_are_refused_with_the_remedy():
    gap = PEOPLE.assign(hours=PEOPLE["hours"].where(PEOPLE.index != 4))
    assert "'hours' is missing in 1 record(s), the first in row 5" in problem_of(["hours"], gap)
    assert "breaks={'hours'" in problem_of(["hours"], gap)
    for breaks in ({}, {"hours": [30.0]}):
        infinite = PEOPLE.assign(hours=PEOPLE["hours"].where(PEOPLE.index != 4, np.inf))
        assert "'hours' is infinite in row 5" in problem_of(["hours"], infinite, breaks=breaks)
    infinite = PEOPLE.assign(tenure=PEOPLE["tenure"].where(PEOPLE.index != 4, -np.inf))
    assert "'tenure' is infinite in row 5" in problem_of(["tenure"], infinite)
    assert "'tenure' is infinite in row 5" in problem_of(["tenure"], infinite, kinds={"tenure": "categorical"})


def test_too_many_levels_and_values_that_are_no_levels_are_refused():
    names = [f"person {i}" for i in range(MOST_LEVELS + 1)]
    frame = pd.DataFrame({"name": names, "income": np.arange(MOST_LEVELS + 1.0)})
    assert "'name' has 501 levels" in problem_of(["name"], frame)
    frame = pd.DataFrame({"bag": [[1], [2]], "income": [1.0, 2.0]})
    assert "cannot be compared" in problem_of(["bag"], frame)
