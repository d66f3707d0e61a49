"""Holding out halves of the records, and asking look-alikes: against counting by hand, and what must come out."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_mean
from molehill import Intruder
from molehill.risk.attacks import attribution
from molehill.risk.holdout import Holdout, compare_halves

PEOPLE = pd.DataFrame({"pay": [10.0, 20.0, 30.0, np.nan], "job": ["a", "a", "b", "b"]})


def distance(one, other):
    """Of two records of PEOPLE's columns: ranks among 10, 20 and 30, and whether the job is the same."""
    ranks = {10.0: 1 / 6, 20.0: 3 / 6, 30.0: 5 / 6, 15.0: 2 / 6, 99.0: 1.0}
    apart = float(one["job"] != other["job"])
    missing = [pd.isna(one["pay"]), pd.isna(other["pay"])]
    return apart + (float(not all(missing)) if any(missing) else abs(ranks[one["pay"]] - ranks[other["pay"]]))


def test_distances_are_those_counted_by_hand():
    first = pd.DataFrame({"pay": [15.0, np.nan], "job": ["a", "c"]})
    second = pd.DataFrame({"pay": [99.0], "job": ["b"]})
    half = np.array([True, True, False, False])
    found = compare_halves(PEOPLE, half, [first], [second], ["pay", "job"], seed=1)
    rows = [PEOPLE.iloc[row] for row in range(4)]
    to_first = [min(distance(row, first.iloc[k]) for k in range(2)) for row in rows]
    to_second = [distance(row, second.iloc[0]) for row in rows]
    np.testing.assert_allclose(found.inside, [*to_first[:2], *to_second[2:]])
    np.testing.assert_allclose(found.outside, [*to_second[:2], *to_first[2:]])
    # (15, a) lies by (10, a) and (20, a), of the first half. (none, c) is as far from all but (none, b), of the second.
    # (99, b) lies by (30, b), of the second.
    np.testing.assert_allclose(found.nearer, [1.0, 0.0, 1.0])


def test_a_copy_shows_everybody_and_a_fresh_sample_nobody():
    random, columns = np.random.default_rng(1), ["pay", "rent", "job"]

    def sample(number):
        pay = random.lognormal(10, 0.5, number)
        rent = pay * random.uniform(0.1, 0.5, number)
        return pd.DataFrame({"pay": pay, "rent": rent, "job": random.choice(4, number)})

    data, half = sample(600), random.permutation(600) < 300
    copies = compare_halves(data, half, [data[half]], [data[~half]], columns, seed=1)
    assert copies.members().value == 1.0
    assert copies.share().value == 1.0
    shares = []
    for _ in range(60):
        fresh = compare_halves(data, half, [sample(300)], [sample(300)], columns, seed=1)
        shares.append([fresh.members().value, fresh.share().value])
    assert_mean(shares, 0.5, detects=0.05)


def test_intervals_are_those_of_a_mean_and_never_without_width():
    many = Holdout(np.arange(100), np.zeros(100), np.repeat([1.0, -1.0], [60, 40]), np.ones(100))
    found = many.members()
    assert found.value == 0.6
    assert found.low == pytest.approx(0.6 - 1.96 * np.sqrt(0.24 / 100))
    assert many.share().low < 1.0
    chosen = np.arange(100) < 30
    assert many.members(chosen).value == 1.0
    assert np.isnan(many.members(np.zeros(100, dtype=bool)).value)


def test_of_many_records_some_are_asked(monkeypatch):
    monkeypatch.setattr("molehill.risk.holdout.MOST_ASKED", 50)
    data = pd.DataFrame({"pay": np.arange(500.0)})
    half = np.arange(500) % 2 == 0
    found = compare_halves(data, half, [data[half]], [data[~half]], ["pay"], seed=1)
    assert len(found.records) == 50
    assert found.members().value == 1.0
    again = compare_halves(data, half, [data[half]], [data[~half]], ["pay"], seed=1)
    np.testing.assert_array_equal(found.records, again.records)


@pytest.mark.parametrize("columns", [["pay"], ["job"], ["pay", "job"]])
def test_look_alikes_are_counted_by_hand(columns):
    random = np.random.default_rng(4)

    def sample(number):
        pay, job = random.integers(50, 200, number).astype(float), random.choice(list("ab"), number)
        return pd.DataFrame({"town": random.choice(list("ABCDEF"), number), "pay": pay, "job": job})

    data, released = sample(60), [sample(25), sample(90)]
    # Nobody else lives in Z, and no released record does.
    data.loc[0, "town"] = "Z"
    view = Intruder(known="town", sensitive=columns, radius=0.2 if "pay" in columns else None).view(data)
    found = attribution(view, released)

    def close(person, other):
        right = "job" not in columns or person["job"] == other["job"]
        return right and ("pay" not in columns or abs(person["pay"] - other["pay"]) <= 0.2 * person["pay"])

    def share(person, others):
        alike = [other for _, other in others.iterrows() if other["town"] == person["town"]]
        asked = alike or [other for _, other in others.iterrows()]
        return np.mean([close(person, other) for other in asked])

    for row in range(len(data)):
        person = data.iloc[row]
        assert found.without[row] == pytest.approx(share(person, data.drop(index=row)))
        for number, table in enumerate(released):
            assert found.by_dataset[number, row] == pytest.approx(share(person, table))


def test_who_takes_no_part_is_not_asked_about():
    data = pd.DataFrame({"town": ["A"] * 4, "pay": [1.0, 2.0, np.nan, 4.0]})
    found = attribution(data, data, Intruder(known="town", sensitive="pay", radius=0.1, missing_values="keep"))
    assert np.isnan(found.without).tolist() == [False, False, True, False]
    np.testing.assert_allclose(found.by_dataset[0, [0, 1, 3]], 1 / 3)
