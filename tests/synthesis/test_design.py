"""Design matrices have the columns that the predictors ask for, and nothing is evaluated or guessed."""

import datetime

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.synthesis.design import apply_design, find_codes, find_levels, learn_design, spread_rows
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


def test_a_missing_number_is_the_mean_and_a_column_tells_where():
    gap = PEOPLE.assign(hours=PEOPLE["hours"].where(PEOPLE.index != 4), region=PEOPLE["region"].where(PEOPLE.index > 1))
    design = design_of("hours*earner + region", gap)
    assert design.names[-1] == "hours[missing]"
    hours = gap["hours"].dropna()
    assert design.centre == {"hours": pytest.approx(hours.mean())}
    assert design.scale == {"hours": pytest.approx(hours.std(ddof=0))}
    column = design.matrix[:, design.names.index("hours")]
    assert column[4] == 0
    np.testing.assert_allclose(np.delete(column, 4), (hours - hours.mean()) / hours.std(ddof=0))
    np.testing.assert_array_equal(np.flatnonzero(design.matrix[:, -1]), [4])
    assert design.facts["missing"] == {"hours": 1, "region": 2}
    np.testing.assert_array_equal(apply_design(design, Table(gap)), design.matrix)
    assert np.isfinite(design.matrix).all()


def test_the_indicator_stays_where_the_number_itself_is_constant():
    frame = PEOPLE.assign(flat=PEOPLE["flat"].where(PEOPLE.index % 2 == 0))
    design = design_of(["flat"], frame, kinds={"flat": "continuous"})
    assert design.names == ("Intercept", "flat[missing]")
    assert design.dropped == ("flat",)


@pytest.mark.parametrize("kind", ["categorical", "continuous"])
def test_a_predictor_that_is_missing_throughout_is_dropped_and_named(kind):
    frame = PEOPLE.assign(nothing=np.full(COUNT, np.nan))
    design = design_of(["nothing", "hours"], frame, kinds={"nothing": kind})
    assert design.names == ("Intercept", "hours")
    assert design.dropped == ("nothing", *["nothing[missing]"] * (kind == "continuous"))
    assert design.facts["missing"] == {"nothing": COUNT}
    np.testing.assert_array_equal(apply_design(design, Table(frame)), design.matrix)


def test_numbers_and_groups_not_seen_in_learning_are_the_nearest_seen():
    frame = pd.DataFrame({"age": [24.0, 26, 80, 81], "rooms": [1, 2, 4, 4], "income": np.arange(4.0)})
    groups = {"age": [25, 35, 60, 90]}
    design = design_of(["age", "rooms"], frame, breaks=groups, kinds={"rooms": "categorical"})
    other = pd.DataFrame({"age": [40.0, 59, 95, 1], "rooms": [9, 3, -1, 4]})
    matrix = apply_design(design, Table(other))
    assert design.names[1:] == ("age[25 to under 35]", "age[60 to under 90]", "rooms[2]", "rooms[4]")
    np.testing.assert_array_equal(matrix[:, 1:], [[1, 0, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def test_a_missing_number_where_none_was_missing_is_the_mean():
    matrix = apply_design(design_of(["hours"]), Table(pd.DataFrame({"hours": [np.nan]})))
    np.testing.assert_array_equal(matrix, [[1.0, 0.0]])


# Very many levels, very many predictors.


def many_levels(number, records=2000, seed=5):
    random = np.random.default_rng(seed)
    place = np.minimum(random.geometric(0.02, records), number - 1)
    place[:number] = np.arange(number)
    return pd.DataFrame({"place": [f"p{p:03}" for p in place], "income": random.normal(size=records)})


def test_fifty_levels_are_as_they_are():
    frame = many_levels(50, 200)
    design = design_of(["place"], frame)
    assert len(design.levels["place"]) == 50
    assert design.pooled == {}


def test_of_more_levels_the_rare_ones_are_one_level():
    frame = many_levels(300)
    frame.loc[[7, 11], "place"] = None
    design = design_of(["place"], frame)
    sizes = frame["place"].value_counts()
    kept = sorted(sizes[sizes >= 10].sort_index().sort_values(ascending=False, kind="stable").index[:50])
    assert design.levels["place"] == (*kept, "other", None)
    assert design.pooled == {"place": frame["place"].nunique() - len(kept)}
    assert design.names[-2:] == ("place[other]", "place[missing]")
    in_other = frame["place"].notna() & ~frame["place"].isin(kept)
    np.testing.assert_array_equal(design.matrix[:, -2], in_other)
    np.testing.assert_array_equal(apply_design(design, Table(frame)), design.matrix)
    unseen = apply_design(design, Table(pd.DataFrame({"place": ["new", kept[0]]})))
    np.testing.assert_array_equal(unseen[:, -2], [1, 0])


def test_a_level_called_other_is_not_mistaken_for_the_pooled_ones():
    frame = many_levels(300)
    rare, often = frame["place"].replace("p299", "other"), frame["place"].replace("p001", "other")
    for place, pooled in ((rare, "other"), (often, "all others")):
        design = design_of(["place"], frame.assign(place=place))
        assert design.names[-1] == f"place[{pooled}]"
        column = design.matrix[:, -1]
        assert column[place == "p298"].all()
        assert column[place == "other"].all() == (pooled == "other")


def wide(number, records):
    random = np.random.default_rng(8)
    numbers = random.normal(size=(records, number))
    frame = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(number)])
    return frame.assign(income=numbers[:, 3] + 0.5 * numbers[:, -1] + random.normal(size=records))


def test_of_too_many_predictors_those_that_say_least_are_left_out():
    frame = wide(80, 300)
    names = [name for name in frame if name != "income"]
    design = design_of(names, frame, outcome=frame["income"].to_numpy())
    assert len(design.names) == 60
    assert len(design.left_out) == 21
    assert {"x3", "x79"} <= set(design.names)
    says = frame[names].corrwith(frame["income"]).abs().sort_values()
    assert set(design.left_out) == set(says.index[:21])
    assert "x3" in design.formula
    assert design.facts["left_out"] == design.left_out
    np.testing.assert_array_equal(apply_design(design, Table(frame)), design.matrix)
    assert len(design_of(names, frame).names) == 81
    assert len(design_of(names, frame, outcome=frame["income"].to_numpy(), widest=55).names) == 55
    # Records without an outcome do not count.
    few = np.where(np.arange(300) < 270, frame["income"], np.nan)
    assert len(design_of(names, frame, outcome=few).names) == 54


def test_predictors_are_not_left_out_of_a_design_of_fifty_columns():
    frame = wide(49, 60)
    names = [name for name in frame if name != "income"]
    assert design_of(names, frame, outcome=frame["income"].to_numpy()).left_out == ()


def test_a_predictor_of_many_levels_that_says_nothing_goes_before_a_number_that_says_a_little():
    frame = many_levels(60, 400).rename(columns={"place": "levels"})
    random = np.random.default_rng(3)
    for name in ("a", "b"):
        frame[name] = random.choice([f"l{i}" for i in range(45)], 400)
    frame["number"] = frame["income"] + random.normal(0, 3, 400)
    several = np.column_stack([frame["income"], -frame["income"]])
    design = design_of(["levels", "a", "b", "number"], frame, outcome=several)
    assert "number" in design.names
    assert set(design.left_out) < {"levels", "a", "b"}


def test_interactions_go_with_the_predictor_that_is_left_out():
    frame = wide(40, 300).assign(group=[f"g{i % 30}" for i in range(300)])
    formula = " + ".join(f"x{i}" for i in range(40)) + " + group*x3"
    design = design_of(formula, frame, outcome=frame["income"].to_numpy())
    assert "group" in design.left_out
    assert not any("group" in name for name in design.names)
    assert "x3" in design.names


def test_levels_that_cannot_be_sorted_have_one_order_all_the_same():
    days = [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)]
    assert find_levels(pd.Series(days), "day", "column") == tuple(sorted(days))
    assert find_levels(pd.Series(["1", 2, 1, "a"], dtype=object), "mixed", "column") == (1, 2, "1", "a")
    frame = pd.DataFrame({"mixed": pd.Series(["1", 2, 1, "a"], dtype=object), "income": np.arange(4.0)})
    names = design_of(["mixed"], frame, kinds={"mixed": "categorical"}).names
    assert names == ("Intercept", "mixed[2]", "mixed['1']", "mixed['a']")


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
        ("age + {__import__('os')}", "'{' is not allowed in a formula"),
        ("log(age)", "like a function"),
        ("`age` (hours)", "like a function"),
        ("income ~ age", "'~' is not allowed"),
        ("age; hours", "is not allowed"),
        ("age[0]", "is not allowed"),
        ("age | hours", "is not allowed"),
        ("age + 12", "is not allowed"),
        ("age + 'x'", "is not allowed"),
        ("age +", "cannot be read"),
        ("(age", "cannot be read"),
        ("age hours", "cannot be read"),
        ("3*age", "cannot be read"),
        ("", "cannot be read"),
        ("  ", "cannot be read"),
        ("age - 1", "removes the intercept"),
        ("0 + age", "removes the intercept"),
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
    with pytest.raises(InputError, match="'region' has a level that the model was not fitted to, in 2 rec") as e:
        apply_design(design, Table(pd.DataFrame({"region": ["N", "secret", "secret"]})))
    assert "secret" not in str(e.value)
    with pytest.raises(InputError, match="in 1 record"):
        apply_design(design, Table(pd.DataFrame({"region": ["N", None]})))
    with pytest.raises(InputError, match="no variable 'region'"):
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
        (["age"], {"breaks": {"age": [3, 2]}}, "increasing"),
        (["age"], {"breaks": {"hours": [3]}}, "neither known nor a predictor"),
        (["region"], {"breaks": {"region": [3]}}, "not numeric"),
        (["region"], {"kinds": {"region": "count"}}, "not numeric"),
        (["age"], {"kinds": {"age": "number"}}, "not a kind"),
    ],
)
def test_settings_that_are_refused(predictors, settings, words):
    assert words in problem_of(predictors, **settings)


def test_infinite_numbers_are_refused():
    for breaks in ({}, {"hours": [30.0]}):
        infinite = PEOPLE.assign(hours=PEOPLE["hours"].where(PEOPLE.index != 4, np.inf))
        assert "'hours' is infinite in row 5" in problem_of(["hours"], infinite, breaks=breaks)
    infinite = PEOPLE.assign(tenure=PEOPLE["tenure"].where(PEOPLE.index != 4, -np.inf))
    assert "'tenure' is infinite in row 5" in problem_of(["tenure"], infinite)
    assert "'tenure' is infinite in row 5" in problem_of(["tenure"], infinite, kinds={"tenure": "categorical"})


def test_a_column_of_as_many_levels_as_records_says_nothing():
    people = pd.DataFrame({"street": [f"street {number}" for number in range(600)], "pay": np.arange(600.0)})
    design = learn_design(Table(people), ["street"], sensitive="pay")
    assert (design.names, design.dropped, design.pooled) == (("Intercept",), ("street",), {"street": 600})


def test_values_that_are_no_levels_are_refused():
    frame = pd.DataFrame({"bag": [[1], [2]], "income": [1.0, 2.0]})
    assert "cannot be compared" in problem_of(["bag"], frame, kinds={"bag": "categorical"})


def test_a_very_skewed_number_stands_in_logarithms_in_every_table():
    random = np.random.default_rng(4)
    people = pd.DataFrame({"spent": np.exp(random.normal(8, 1.2, 400)), "age": random.normal(40, 9, 400)})
    people.loc[0, "spent"] = 0.0
    design = learn_design(Table(people.assign(pay=1.0)), ["spent", "age"], sensitive="pay")
    assert (design.logged, design.names) == (("spent",), ("Intercept", "spent[log]", "age"))
    logs = np.log1p(people["spent"])
    np.testing.assert_allclose(design.matrix[:, 1], (logs - logs.mean()) / logs.std(ddof=0))
    # Learned once: another table is brought onto the same scale, whatever its own skewness.
    other = apply_design(design, Table(pd.DataFrame({"spent": [99.0, -99.0], "age": [40.0, 40.0]})))
    np.testing.assert_allclose(other[:, 1], (np.array([1, -1]) * np.log(100) - logs.mean()) / logs.std(ddof=0))
