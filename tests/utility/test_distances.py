"""Distances of tables by hand, against simulation, and against all ways to label or swap the records."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import wasserstein_distance
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from agreement import assert_agrees, assert_mean
from molehill import InputError, Table
from molehill.utility import distances, ecdf_distances, propensity, table_difference, wasserstein

MEASURES: list[tuple[Any, Any]] = [
    (ecdf_distances, "pay"),
    (wasserstein, "pay"),
    (table_difference, [("sex", "town")]),
]


def pay(*values):
    return pd.DataFrame({"pay": np.array(values, dtype=np.float64)})


def test_distances_of_distributions_by_hand():
    # Pooled 1, 2, 2, 3: F is 1/2, 1, 1, 1 and F* is 0, 1/2, 1/2, 1.
    found = ecdf_distances(pay(1, 2), pay(2, 3), "pay")
    assert found.value("U_m") == 0.5
    assert found.value("U_a") == pytest.approx(3 * 0.25 / 4)
    # Pooled 1, 1, 2, 5, 9: F is 2/3, 2/3, 2/3, 1, 1 and F* is 0, 0, 1/2, 1/2, 1.
    found = ecdf_distances(pay(1, 5, 1), pay(9, 2), "pay")
    assert found.value("U_m") == pytest.approx(2 / 3)
    assert found.value("U_a") == pytest.approx((2 * 4 / 9 + 1 / 36 + 1 / 4 + 0) / 5)


def test_the_mean_over_tables_and_its_interval():
    found = ecdf_distances(pay(1, 2), [pay(2, 3), pay(1, 2), pay(5, 5)], "pay")
    assert found.by_dataset.query("measure == 'U_m'")["value"].tolist() == [0.5, 0.0, 1.0]
    assert found.by_dataset.query("measure == 'U_m'")["table"].tolist() == [1, 2, 3]
    row = found.summary.query("measure == 'U_m'").iloc[0]
    assert row["value"] == 0.5
    assert row["high"] - 0.5 == pytest.approx(4.302653 * 0.5 / np.sqrt(3), abs=1e-5)
    assert ecdf_distances(pay(1, 2), pay(1, 3), "pay").summary["low"].isna().all()


def test_what_a_fresh_sample_shows_is_the_mean_over_all_labels():
    """Every way to call two or three of the pooled records confidential, with ties."""
    pooled = [1.0, 2.0, 2.0, 3.0, 7.0, 7.0]
    for number in (2, 3):
        shown = []
        for chosen in itertools.combinations(range(6), number):
            own = pay(*(pooled[i] for i in chosen))
            other = pay(*(pooled[i] for i in range(6) if i not in chosen))
            found = ecdf_distances(own, other, "pay")
            shown.append((found.value("U_a"), found.value("U_a_benchmark")))
        measured, expected = np.mean(shown, axis=0)
        assert expected == pytest.approx(measured)
        assert np.ptp([each[1] for each in shown]) < 1e-12


def test_what_a_fresh_sample_shows_by_simulation():
    rng = np.random.default_rng(1)
    data = [ecdf_distances(pay(*rng.normal(size=1000)), pay(*rng.normal(size=1000)), "pay") for _ in range(100)]
    largest = np.array([found.value("U_m") for found in data])
    # The limit for large tables is a hair above the mean for 1,000. With one of the two sizes forgotten it would be
    # smaller by a factor of the root of 2.
    assert_mean(largest, data[0].value("U_m_benchmark"), detects=0.01)


def test_wasserstein_by_hand_and_against_scipy():
    assert wasserstein(pay(1, 2), pay(2, 5), "pay").value("wasserstein") == 2.0
    rng = np.random.default_rng(2)
    one, other = rng.lognormal(size=70).round(1), rng.lognormal(size=110).round(1)
    found = wasserstein(pay(*one), pay(*other), "pay")
    assert found.value("wasserstein") == pytest.approx(wasserstein_distance(one, other))
    scaled = wasserstein_distance(one, other) / one.std(ddof=1)
    assert found.value("wasserstein_sd") == pytest.approx(scaled)
    # A constant has no sd to measure by.
    assert np.isnan(wasserstein(pay(1, 1), pay(1, 2), "pay").value("wasserstein_sd"))


def test_two_way_tables_by_hand():
    data = pd.DataFrame({"town": list("AABB"), "sex": list("fmfm"), "age": [20, 40, 30, 70]})
    found = table_difference(data, data.assign(sex=list("ffff")), [("town", "sex"), ("town", "age")])
    # A and B: half of each moves from m to f.
    assert found.value("variation", column="town x sex") == 0.5
    assert found.value("difference", column="town x sex") == 0.25
    assert found.value("variation", column="town x age") == 0.0
    # Cells that only one of the tables has, and a missing value as a category.
    other = pd.DataFrame({"town": ["A", "A", "C"], "sex": ["f", None, "m"]})
    found = table_difference(data, other, [("town", "sex")])
    # Confidential 1/4 each in Af Am Bf Bm; released 1/3 in Af A? Cm.
    assert found.value("variation") == pytest.approx((1 / 12 + 3 / 4 + 2 / 3) / 2)
    assert found.value("difference") == pytest.approx(1 / 3)


def test_numbers_are_cut_into_groups():
    data = pd.DataFrame({"town": list("AABB"), "pay": [10.0, 30.0, 10.0, 50.0]})
    released = data.assign(pay=[11.0, 20.0, 12.5, 19.0])
    found = table_difference(data, released, [("town", "pay")], breaks={"pay": [20]})
    assert found.value("variation") == 0.25


def test_groups_are_tables_of_their_own():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"pay": rng.normal(size=60), "town": rng.choice(list("AB"), 60), "sex": rng.choice(list("fm"), 60)}
    )
    released = [data.assign(pay=rng.normal(size=60), sex=rng.permutation(data["sex"])) for _ in range(3)]
    for measure, named in MEASURES:
        found = measure(data, released, named, groups="town")
        for town in "AB":
            alone = measure(data[data["town"] == town], [table[table["town"] == town] for table in released], named)
            ours = found.summary[found.summary["group"] == town].drop(columns="group").reset_index(drop=True)
            pd.testing.assert_frame_equal(ours, alone.summary)
    found = ecdf_distances(data, released, "pay", groups="town")
    assert found.value("U_m", group="A") != found.value("U_m", group="B")
    with pytest.raises(InputError, match="measure: 2 rows of the summary"):
        found.value("U_m")


def test_every_kind_of_table_is_taken():
    data = pd.DataFrame({"pay": [1.0, 2.0, 4.0], "town": list("ABA"), "sex": list("fmm")})
    other = data.assign(pay=[1.0, 3.0, 4.0], sex=list("mmf"))
    for kind in (Table, pl.from_pandas, lambda frame: frame.astype({"town": "category", "sex": "category"})):
        for measure, named in MEASURES:
            found, expected = measure(kind(data), kind(other), named), measure(data, other, named)
            pd.testing.assert_frame_equal(found.summary, expected.summary)


def test_missing_values():
    gap = pay(1, 2, np.nan)
    with pytest.raises(InputError, match="data: 1 records have a missing value of 'pay'"):
        ecdf_distances(gap, pay(2, 3), "pay")
    with pytest.raises(InputError, match="released: in table 2, 1 records have a missing value of 'pay'"):
        wasserstein(pay(1, 2), [pay(1, 2), gap], "pay")
    assert ecdf_distances(gap, pay(2, 3), "pay", missing="keep").value("U_m") == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ecdf_distances(pay(1), pay(1), "pya"), "column: there is no variable 'pya'. Did you mean 'pay'"),
        (lambda: wasserstein(pay(1), pay(1).rename(columns=str.upper), "pay"), "released: there is no variable 'pay'"),
        (lambda: ecdf_distances(pay(1), pay(1).astype(str), "pay"), "released: the variable 'pay' is not numeric"),
        (lambda: ecdf_distances(pay(1), pay(np.inf), "pay"), "released: variable 'pay' holds an infinite value"),
        (lambda: MEASURES[2][0](pay(1), pay(1), ["pay"]), "pairs: a pair must name two variables"),
        (lambda: table_difference(pay(1), pay(1), []), "pairs: a pair must name two variables"),
        (lambda: table_difference(pay(1), pay(1), [("pay", "pay")]), "pairs: a pair must name two variables"),
        (lambda: table_difference(pay(1), pay(1), [("pay", "age")]), "pairs: there is no variable 'age'"),
        (
            lambda: table_difference(pay(*range(200)).assign(town="A"), pay(1).assign(town="A"), [("pay", "town")]),
            "pairs: variable 'pay' has more than 100 different values. Group it",
        ),
        (
            lambda: table_difference(pay(1).assign(town=1), pay(1).assign(town="1"), [("pay", "town")]),
            "released: no value of variable 'town' occurs in the confidential data",
        ),
        (lambda: ecdf_distances(pay(1), pay(1), "pay").value("U"), "measure: 0 rows .* The measures are 'U_m', 'U_a'"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def towns(a, b):
    return pd.DataFrame({"town": ["A"] * a + ["B"] * b})


def people(rng, records=400):
    """A population with two numbers that hang together and a category that shifts one of them."""
    town = rng.choice(["A", "B", "C"], records, p=[0.5, 0.3, 0.2])
    age = rng.normal(40, 10, records)
    return pd.DataFrame({"town": town, "age": age, "pay": 50 + age + 10 * (town == "A") + rng.normal(0, 5, records)})


@pytest.mark.parametrize("method", ["logistic", "tree"])
def test_shares_by_hand(method):
    # Of the 80 records of town A 20 are released, of the 80 of B 60: p is 1/4 and 3/4.
    found = propensity(towns(60, 20), towns(20, 60), "town", method=method)
    assert found.value("pmse") == pytest.approx(1 / 16, rel=1e-6)
    if method == "logistic":
        # Two coefficients, c = 1/2: (2 - 1) / 4 / 160.
        assert found.value("pmse_expected") == pytest.approx(1 / 640)
        assert found.value("pmse_ratio") == pytest.approx(40, rel=1e-6)


def test_unequal_sizes_by_hand():
    # c = 1/4; p is 10 / 60 in A and 20 / 60 in B.
    found = propensity(towns(50, 40), towns(10, 20), "town")
    assert found.value("pmse") == pytest.approx((60 * (1 / 6 - 1 / 4) ** 2 + 60 * (1 / 3 - 1 / 4) ** 2) / 120, rel=1e-6)
    assert found.value("pmse_expected") == pytest.approx(3 / 16 / 120)


def test_tables_that_can_be_told_apart_have_the_largest():
    data = pd.DataFrame({"pay": np.linspace(0, 1, 50)})
    for method in ("logistic", "tree"):
        assert propensity(data, data + 5, "pay", method=method).value("pmse") == pytest.approx(0.25, abs=1e-4)


def test_the_expectation_is_that_of_permutations_and_of_fresh_samples():
    rng = np.random.default_rng(1)
    data, columns = people(rng), ["town", "age", "pay"]
    fresh = [people(rng) for _ in range(20)]
    closed = propensity(data, fresh, columns)
    # 1 + 2 + 2 columns, 2 + 2 + 1 products, 2 squares, less those that are the same: 11 in all.
    assert closed.value("pmse_expected") == pytest.approx((2 + 1 + 1 + 2 + 2 + 1 + 2) / 4 / 800)
    permuted = propensity(data, fresh, columns, permutations=60)
    # As many degrees as columns: those of a model without its products would be half as many.
    ratio = permuted.value("pmse_expected") / closed.value("pmse_expected")
    assert_agrees(ratio, 1.0, np.sqrt(2 / 11 / 60), detects=0.5)
    # One confidential sample only is a poor average: pair the fresh ones.
    ratios = [propensity(fresh[i], fresh[i + 1], columns).value("pmse_ratio") for i in range(0, 20, 2)]
    ratios += [propensity(people(rng), people(rng), columns).value("pmse_ratio") for _ in range(25)]
    assert_mean(ratios, 1.0, detects=0.75)


@pytest.mark.slow
def test_the_expectation_of_a_tree_is_that_of_fresh_samples():
    rng = np.random.default_rng(2)
    columns = ["town", "age", "pay"]
    ratios = [
        propensity(people(rng), people(rng), columns, method="tree", permutations=10).value("pmse_ratio")
        for _ in range(25)
    ]
    assert_mean(ratios, 1.0, detects=0.5)


def one_replaced(rng):
    """Data and a release in which only the pay was drawn anew, from its true distribution."""
    age = rng.normal(40, 10, 300)
    return (pd.DataFrame({"age": age, "pay": age + rng.normal(0, 5, 300)}) for _ in range(2))


@pytest.mark.parametrize(
    ("method", "permutations", "runs", "detects"), [("logistic", None, 70, 1.0), ("tree", 10, 16, 0.4)]
)
def test_pairs_are_the_expectation_where_only_one_column_was_replaced(method, permutations, runs, detects):
    rng, columns = np.random.default_rng(3), ["age", "pay"]
    by_pairs, by_tables = [], []
    how: Any = {"method": method, "permutations": permutations}
    for run in range(runs):
        data, released = one_replaced(rng)
        by_pairs.append(propensity(data, released, columns, **how).value("pmse_ratio"))
        if run < 16:
            by_tables.append(propensity(data, released, columns, pairs=False, **how).value("pmse_ratio"))
    assert_mean(by_pairs, 1.0, detects=detects)
    assert np.mean(by_tables) < np.mean(by_pairs[:16]) - 0.1


@pytest.mark.slow
def test_pairs_that_are_swapped_have_the_expectation_of_the_formula():
    rng, columns = np.random.default_rng(3), ["age", "pay"]
    ratios = []
    for _ in range(12):
        data, released = one_replaced(rng)
        found = (propensity(data, released, columns, permutations=number) for number in (20, None))
        swapped, formula = (one.value("pmse_expected") for one in found)
        ratios.append(swapped / formula)
    assert_mean(ratios, 1.0, detects=0.6)


def test_the_formula_for_pairs_is_that_of_all_swaps():
    """Three pairs: all eight ways to swap them, the projection written out."""
    age, pay, other = [20.5, 30.5, 60.5], [1.5, 2.5, 4.5], [2.5, 1.5, 9.5]
    data, released = (pd.DataFrame({"age": age, "pay": values}) for values in (pay, other))
    found = propensity(data, released, ["age", "pay"], interactions=False)
    design = np.column_stack([np.ones(6), age * 2, pay + other])
    projection = design @ np.linalg.pinv(design)
    swaps = [np.array([*signs, *(-sign for sign in signs)]) / 2 for signs in itertools.product((-1, 1), repeat=3)]
    expected = np.mean([labels @ projection @ labels / 6 for labels in swaps])
    assert found.value("pmse_expected") == pytest.approx(expected)
    apart = propensity(data, released.iloc[[1, 2, 0]], ["age", "pay"], interactions=False)
    assert apart.value("pmse_expected") == pytest.approx(2 / 4 / 6)


def test_only_interactions_see_a_relation_that_was_lost():
    rng = np.random.default_rng(4)
    data = people(rng, 2000)
    released = data.assign(pay=rng.permutation(data["pay"]))
    plain = propensity(data, released, ["age", "pay"], interactions=False).value("pmse_ratio")
    assert plain < 0.5
    assert propensity(data, released, ["age", "pay"]).value("pmse_ratio") > 20
    assert propensity(data, released, ["age", "pay"], method="tree", permutations=5).value("pmse_ratio") > 1.2


def test_the_classifier_takes_groups_and_every_kind_of_table():
    rng = np.random.default_rng(5)
    data, released = people(rng), [people(rng) for _ in range(2)]
    found = propensity(data, released, "pay", groups="town")
    assert found.summary["group"].unique().tolist() == ["A", "B", "C"]
    for town in "AC":
        alone = propensity(data[data["town"] == town], [each[each["town"] == town] for each in released], "pay")
        assert found.value("pmse", group=town) == pytest.approx(alone.value("pmse"))
    whole = propensity(pl.from_pandas(data), list(map(pl.from_pandas, released)), ["town", "pay"])
    pd.testing.assert_frame_equal(whole.summary, propensity(data, released, ["town", "pay"]).summary)


def test_of_many_records_some_are_looked_at_the_same_rows_of_pairs():
    rng = np.random.default_rng(4)
    data = people(rng)
    released = data.assign(pay=rng.permutation(data["pay"].to_numpy()))
    columns = list(data.columns)
    rows = np.sort(np.random.default_rng([7, 0, 1]).choice(len(data), 150, replace=False))
    few = propensity(data, released, columns, most_records=150, seed=7)
    assert few.value("pmse") == propensity(data.iloc[rows], released.iloc[rows], columns).value("pmse")
    paired = propensity(data.iloc[rows], released.iloc[rows], columns, pairs=True).value("pmse_expected")
    assert few.value("pmse_expected") == paired
    whole = propensity(data, released, columns, most_records=None).value("pmse")
    assert propensity(data, released, columns, most_records=len(data)).value("pmse") == whole != few.value("pmse")


def test_permutations_repeat_with_their_seed():
    rng = np.random.default_rng(6)
    data, released = people(rng), people(rng)
    one, again, other = (
        propensity(data, released, "pay", permutations=3, seed=seed).value("pmse_expected") for seed in (1, 1, 2)
    )
    assert one == again != other


BASE = pd.DataFrame({"pay": [1.5, 2.5, 3.5, 9.5], "town": list("ABAB")})


@pytest.mark.parametrize(
    ("released", "columns", "change", "message"),
    [
        (BASE, "pya", {}, "columns: there is no variable 'pya'. Did you mean 'pay'"),
        (BASE, [], {}, "columns: no variable is named"),
        (BASE.drop(columns="town"), ["pay", "town"], {}, "released: there is no variable 'town'"),
        (BASE.assign(pay=np.nan), "pay", {}, "released: 4 records have a missing value of 'pay'"),
        (BASE.assign(pay=np.nan), "pay", {"missing": "keep"}, "released: 0 records"),
        (BASE[:1], "pay", {}, "released: 1 records have a value, but 2 are needed"),
        (BASE.assign(pay=np.inf), "pay", {}, "released: variable 'pay' holds an infinite value"),
        (BASE.assign(pay="x"), "pay", {}, "released: the variable 'pay' is not numeric"),
        (BASE[:3], "pay", {"pairs": True}, "released: it has 3 records, the confidential data 4"),
        (BASE, "pay", {"pairs": True, "missing": "keep"}, "pairs: missing='keep'"),
        (BASE, "pay", {"method": "forest"}, "method: 'forest' is not a choice"),
        (BASE, "pay", {"permutations": 0}, "permutations: it must be a whole number from 1 up"),
    ],
)
def test_bad_arguments_of_the_classifier_are_named(released, columns, change, message):
    with pytest.raises(InputError, match=message):
        propensity(BASE, released, columns, **change)


def test_constant_columns_and_too_many_terms_are_refused():
    constant = pd.DataFrame({"town": ["A"] * 4})
    with pytest.raises(InputError, match="every variable is constant"):
        propensity(constant, constant, "town")
    wide = pd.DataFrame({name: [f"{name}{i}" for i in range(40)] for name in ("one", "two")})
    with pytest.raises(InputError, match="columns: they make more than 500 terms"):
        propensity(wide, wide, ["one", "two"])
    assert propensity(wide, wide, ["one", "two"], interactions=False).value("pmse") < 1e-9


def test_a_classifier_that_has_not_converged_does_not_warn(monkeypatch):
    made = linear_model.LogisticRegression
    monkeypatch.setattr(linear_model, "LogisticRegression", lambda **how: made(**{**how, "max_iter": 1}))
    data, released = pd.DataFrame({"x": np.arange(40.0)}), pd.DataFrame({"x": np.arange(40.0) ** 2})
    design = np.concatenate([data, released])
    with pytest.warns(ConvergenceWarning):
        distances._pmse(design, np.repeat([0, 1], 40), "logistic")
    assert propensity(data, released, "x").value("pmse") > 0
