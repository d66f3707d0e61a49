import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from molehill import InputError
from molehill.utility import propensity


def towns(a, b):
    return pd.DataFrame({"town": ["A"] * a + ["B"] * b})


def people(rng, records=400):
    """A population with two numbers that hang together and a category that shifts one of them."""
    town = rng.choice(["A", "B", "C"], records, p=[0.5, 0.3, 0.2])
    age = rng.normal(40, 10, records)
    return pd.DataFrame({"town": town, "age": age, "pay": 50 + age + 10 * (town == "A") + rng.normal(0, 5, records)})


def within(ratios):
    """Three Monte Carlo errors of a mean."""
    return 3 * np.std(ratios, ddof=1) / np.sqrt(len(ratios))


@pytest.mark.parametrize("method", ["logistic", "tree"])
def test_shares_by_hand(method):
    # Of the 80 records of town A 20 are released, of the 80 of B 60: p is 1/4 and 3/4.
    found = propensity(towns(60, 20), towns(20, 60), "town", method=method)
    assert found.value("pMSE") == pytest.approx(1 / 16, rel=1e-6)
    if method == "logistic":
        # Two coefficients, c = 1/2: (2 - 1) / 4 / 160.
        assert found.value("pMSE expected") == pytest.approx(1 / 640)
        assert found.value("pMSE ratio") == pytest.approx(40, rel=1e-6)


def test_unequal_sizes_by_hand():
    # c = 1/4; p is 10 / 60 in A and 20 / 60 in B.
    found = propensity(towns(50, 40), towns(10, 20), "town")
    assert found.value("pMSE") == pytest.approx((60 * (1 / 6 - 1 / 4) ** 2 + 60 * (1 / 3 - 1 / 4) ** 2) / 120, rel=1e-6)
    assert found.value("pMSE expected") == pytest.approx(3 / 16 / 120)


def test_tables_that_can_be_told_apart_have_the_largest():
    data = pd.DataFrame({"pay": np.linspace(0, 1, 50)})
    for method in ("logistic", "tree"):
        assert propensity(data, data + 5, "pay", method=method).value("pMSE") == pytest.approx(0.25, abs=1e-4)


def test_the_expectation_is_that_of_permutations_and_of_fresh_samples():
    rng = np.random.default_rng(1)
    data, columns = people(rng), ["town", "age", "pay"]
    fresh = [people(rng) for _ in range(40)]
    closed = propensity(data, fresh, columns)
    # 1 + 2 + 2 columns, 2 + 2 + 1 products, 2 squares, less those that are the same: 11 in all.
    assert closed.value("pMSE expected") == pytest.approx((2 + 1 + 1 + 2 + 2 + 1 + 2) / 4 / 800)
    permuted = propensity(data, fresh, columns, permutations=80)
    chance = np.sqrt(2 / 11 / 80)
    assert permuted.value("pMSE expected") == pytest.approx(closed.value("pMSE expected"), rel=3 * chance + 0.02)
    # One confidential sample only is a poor average: pair the fresh ones.
    ratios = [propensity(fresh[i], fresh[i + 1], columns).value("pMSE ratio") for i in range(0, 40, 2)]
    ratios += [propensity(people(rng), people(rng), columns).value("pMSE ratio") for _ in range(40)]
    assert np.mean(ratios) == pytest.approx(1.0, abs=within(ratios) + 0.02)


def test_the_expectation_of_a_tree_is_that_of_fresh_samples():
    rng = np.random.default_rng(2)
    columns = ["town", "age", "pay"]
    ratios = [
        propensity(people(rng), people(rng), columns, method="tree", permutations=10).value("pMSE ratio")
        for _ in range(25)
    ]
    assert np.mean(ratios) == pytest.approx(1.0, abs=within(ratios))


@pytest.mark.parametrize(("method", "permutations"), [("logistic", None), ("logistic", 10), ("tree", 10)])
def test_pairs_are_the_expectation_where_only_one_column_was_replaced(method, permutations):
    rng = np.random.default_rng(3)
    columns, by_pairs, by_tables = ["age", "pay"], [], []
    settings: Any = {"method": method, "permutations": permutations}
    for _ in range(16 if permutations else 60):
        age = rng.normal(40, 10, 300)
        data, released = (pd.DataFrame({"age": age, "pay": age + rng.normal(0, 5, 300)}) for _ in range(2))
        by_pairs.append(propensity(data, released, columns, **settings).value("pMSE ratio"))
        by_tables.append(propensity(data, released, columns, pairs=False, **settings).value("pMSE ratio"))
    assert np.mean(by_pairs) == pytest.approx(1.0, abs=within(by_pairs) + 0.02)
    assert np.mean(by_tables) < np.mean(by_pairs) - 0.1


def test_the_formula_for_pairs_is_that_of_all_swaps():
    """Three pairs: all eight ways to swap them, the projection written out."""
    age, pay, other = [20.5, 30.5, 60.5], [1.5, 2.5, 4.5], [2.5, 1.5, 9.5]
    data, released = (pd.DataFrame({"age": age, "pay": values}) for values in (pay, other))
    found = propensity(data, released, ["age", "pay"], interactions=False)
    design = np.column_stack([np.ones(6), age * 2, pay + other])
    projection = design @ np.linalg.pinv(design)
    swaps = [np.array([*signs, *(-sign for sign in signs)]) / 2 for signs in itertools.product((-1, 1), repeat=3)]
    expected = np.mean([labels @ projection @ labels / 6 for labels in swaps])
    assert found.value("pMSE expected") == pytest.approx(expected)
    apart = propensity(data, released.iloc[[1, 2, 0]], ["age", "pay"], interactions=False)
    assert apart.value("pMSE expected") == pytest.approx(2 / 4 / 6)


def test_only_interactions_see_a_relation_that_was_lost():
    rng = np.random.default_rng(4)
    data = people(rng, 2000)
    released = data.assign(pay=rng.permutation(data["pay"]))
    plain = propensity(data, released, ["age", "pay"], interactions=False).value("pMSE ratio")
    assert plain < 0.5
    assert propensity(data, released, ["age", "pay"]).value("pMSE ratio") > 20
    assert propensity(data, released, ["age", "pay"], method="tree", permutations=5).value("pMSE ratio") > 1.2


def test_groups_and_kinds_of_tables():
    rng = np.random.default_rng(5)
    data, released = people(rng), [people(rng) for _ in range(2)]
    found = propensity(data, released, "pay", groups="town")
    assert found.summary["group"].unique().tolist() == ["A", "B", "C"]
    for town in "AC":
        alone = propensity(data[data["town"] == town], [each[each["town"] == town] for each in released], "pay")
        assert found.value("pMSE", group=town) == pytest.approx(alone.value("pMSE"))
    whole = propensity(pl.from_pandas(data), list(map(pl.from_pandas, released)), ["town", "pay"])
    pd.testing.assert_frame_equal(whole.summary, propensity(data, released, ["town", "pay"]).summary)


def test_permutations_repeat_with_their_seed():
    rng = np.random.default_rng(6)
    data, released = people(rng), people(rng)
    one, again, other = (
        propensity(data, released, "pay", permutations=3, seed=seed).value("pMSE expected") for seed in (1, 1, 2)
    )
    assert one == again != other


BASE = pd.DataFrame({"pay": [1.5, 2.5, 3.5, 9.5], "town": list("ABAB")})


@pytest.mark.parametrize(
    ("released", "columns", "change", "message"),
    [
        (BASE, "pya", {}, "columns: there is no column 'pya'. Did you mean 'pay'"),
        (BASE, [], {}, "columns: no column is named"),
        (BASE.drop(columns="town"), ["pay", "town"], {}, "released: there is no column 'town'"),
        (BASE.assign(pay=np.nan), "pay", {}, "released: 4 records have no value of 'pay'"),
        (BASE.assign(pay=np.nan), "pay", {"missing": "keep"}, "released: there are 0 records"),
        (BASE[:1], "pay", {}, "released: there are 1 records with a value where 2 are needed"),
        (BASE.assign(pay=np.inf), "pay", {}, "released: column 'pay' holds an infinite value"),
        (BASE.assign(pay="x"), "pay", {}, "released: the column 'pay' is not numeric"),
        (BASE[:3], "pay", {"pairs": True}, "released: it has 3 records where the confidential table has 4"),
        (BASE, "pay", {"pairs": True, "missing": "keep"}, "pairs: records left out"),
        (BASE, "pay", {"method": "forest"}, "method: 'forest' is not a choice"),
        (BASE, "pay", {"permutations": 0}, "permutations: it must be a whole number from 1 up"),
    ],
)
def test_bad_arguments_are_named(released, columns, change, message):
    with pytest.raises(InputError, match=message):
        propensity(BASE, released, columns, **change)


def test_constant_columns_and_too_many_terms_are_refused():
    constant = pd.DataFrame({"town": ["A"] * 4})
    with pytest.raises(InputError, match="every column is the same for all records"):
        propensity(constant, constant, "town")
    wide = pd.DataFrame({name: [f"{name}{i}" for i in range(40)] for name in ("one", "two")})
    with pytest.raises(InputError, match="columns: they make more than 500 terms"):
        propensity(wide, wide, ["one", "two"])
    assert propensity(wide, wide, ["one", "two"], interactions=False).value("pMSE") < 1e-9
