import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

from molehill import InputError, Table
from molehill.utility import ecdf_distances, table_difference, wasserstein

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
    assert found.by_table.query("measure == 'U_m'")["value"].tolist() == [0.5, 0.0, 1.0]
    assert found.by_table.query("measure == 'U_m'")["table"].tolist() == [1, 2, 3]
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
            shown.append((found.value("U_a"), found.value("U_a of a fresh sample")))
        measured, expected = np.mean(shown, axis=0)
        assert expected == pytest.approx(measured)
        assert np.ptp([each[1] for each in shown]) < 1e-12


def test_what_a_fresh_sample_shows_by_simulation():
    rng = np.random.default_rng(1)
    data = [ecdf_distances(pay(*rng.normal(size=1000)), pay(*rng.normal(size=1000)), "pay") for _ in range(200)]
    largest = np.array([found.value("U_m") for found in data])
    # The limit for large tables is a hair above the mean for 1,000.
    error = 3 * largest.std() / np.sqrt(200) + 0.001
    assert data[0].value("U_m of a fresh sample") == pytest.approx(largest.mean(), abs=error)


def test_wasserstein_by_hand_and_against_scipy():
    assert wasserstein(pay(1, 2), pay(2, 5), "pay").value("Wasserstein distance") == 2.0
    rng = np.random.default_rng(2)
    one, other = rng.lognormal(size=70).round(1), rng.lognormal(size=110).round(1)
    found = wasserstein(pay(*one), pay(*other), "pay")
    assert found.value("Wasserstein distance") == pytest.approx(wasserstein_distance(one, other))
    scaled = wasserstein_distance(one, other) / one.std(ddof=1)
    assert found.value("Wasserstein distance in sd") == pytest.approx(scaled)
    # A constant has no sd to measure by.
    assert np.isnan(wasserstein(pay(1, 1), pay(1, 2), "pay").value("Wasserstein distance in sd"))


def test_two_way_tables_by_hand():
    data = pd.DataFrame({"town": list("AABB"), "sex": list("fmfm"), "age": [20, 40, 30, 70]})
    found = table_difference(data, data.assign(sex=list("ffff")), [("town", "sex"), ("town", "age")])
    # A and B: half of each moves from m to f.
    assert found.value("total variation", column="town x sex") == 0.5
    assert found.value("largest difference", column="town x sex") == 0.25
    assert found.value("total variation", column="town x age") == 0.0
    # Cells that only one of the tables has, and a missing value as a category.
    other = pd.DataFrame({"town": ["A", "A", "C"], "sex": ["f", None, "m"]})
    found = table_difference(data, other, [("town", "sex")])
    # Confidential 1/4 each in Af Am Bf Bm; released 1/3 in Af A? Cm.
    assert found.value("total variation") == pytest.approx((1 / 12 + 3 / 4 + 2 / 3) / 2)
    assert found.value("largest difference") == pytest.approx(1 / 3)


def test_numbers_are_cut_into_groups():
    data = pd.DataFrame({"town": list("AABB"), "pay": [10.0, 30.0, 10.0, 50.0]})
    released = data.assign(pay=[11.0, 20.0, 12.5, 19.0])
    found = table_difference(data, released, [("town", "pay")], breaks={"pay": [20]})
    assert found.value("total variation") == 0.25


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
    with pytest.raises(InputError, match="data: 1 records have no value of 'pay'"):
        ecdf_distances(gap, pay(2, 3), "pay")
    with pytest.raises(InputError, match="released: in table 2, 1 records have no value of 'pay'"):
        wasserstein(pay(1, 2), [pay(1, 2), gap], "pay")
    assert ecdf_distances(gap, pay(2, 3), "pay", missing="keep").value("U_m") == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ecdf_distances(pay(1), pay(1), "pya"), "column: there is no column 'pya'. Did you mean 'pay'"),
        (lambda: wasserstein(pay(1), pay(1).rename(columns=str.upper), "pay"), "released: there is no column 'pay'"),
        (lambda: ecdf_distances(pay(1), pay(1).astype(str), "pay"), "released: the column 'pay' is not numeric"),
        (lambda: ecdf_distances(pay(1), pay(np.inf), "pay"), "released: column 'pay' holds an infinite value"),
        (lambda: MEASURES[2][0](pay(1), pay(1), ["pay"]), "pairs: a pair is two different columns"),
        (lambda: table_difference(pay(1), pay(1), []), "pairs: a pair is two different columns"),
        (lambda: table_difference(pay(1), pay(1), [("pay", "pay")]), "pairs: a pair is two different columns"),
        (lambda: table_difference(pay(1), pay(1), [("pay", "age")]), "pairs: there is no column 'age'"),
        (
            lambda: table_difference(pay(*range(200)).assign(town="A"), pay(1).assign(town="A"), [("pay", "town")]),
            "pairs: column 'pay' has more than 100 different values. Group it",
        ),
        (
            lambda: table_difference(pay(1).assign(town=1), pay(1).assign(town="1"), [("pay", "town")]),
            "released: no value of column 'town' occurs in the confidential table",
        ),
        (lambda: ecdf_distances(pay(1), pay(1), "pay").value("U"), "measure: 0 rows .* The measures are 'U_m', 'U_a'"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
