"""Nearest records against all distances counted one by one."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate
from molehill import InputError
from molehill.attacks.neighbours import find_neighbours, learn_places, read_tables
from molehill.tables.table import as_table


def apart(one, other, exact):
    total = 0.0
    for a, b, category in zip(one, other, exact, strict=True):
        if category:
            total += a != b
        elif np.isnan(a) or np.isnan(b):
            total += not (np.isnan(a) and np.isnan(b))
        else:
            total += abs(a - b)
    return total


def test_neighbours_are_the_nearest_of_all():
    random = np.random.default_rng(1)
    exact = np.array([False, True, False])

    def draw(number):
        places = np.column_stack([random.random(number), random.integers(3, size=number), random.random(number)])
        places[random.random(number) < 0.2, 0] = np.nan
        return places

    asked, to = draw(20), draw(50)
    rows, distances = find_neighbours(asked, to, exact, 4, seed=1)
    for i in range(20):
        every = np.array([apart(asked[i], one, exact) for one in to])
        np.testing.assert_allclose(distances[i], np.sort(every)[:4])
        np.testing.assert_allclose(every[rows[i]], distances[i])
        assert len(set(rows[i])) == 4


def test_of_the_equally_near_any_comes_first_for_each_who_asks():
    to = np.zeros((5, 1))
    rows = find_neighbours(np.zeros((5_000, 1)), to, np.array([True]), 1, seed=1)[0][:, 0]
    counts = np.bincount(rows, minlength=5)
    for count in counts:
        assert_rate(count, 5_000, 1 / 5, detects=0.05)
    pairs = find_neighbours(np.zeros((5_000, 1)), to, np.array([True]), 2, seed=1)[0]
    assert (pairs[:, 0] != pairs[:, 1]).all()
    for count in np.bincount(pairs.ravel(), minlength=5):
        assert_rate(count, 5_000, 2 / 5, detects=0.06)


def test_the_same_seed_gives_the_same_and_another_others():
    asked, to = np.zeros((50, 1)), np.zeros((50, 1))
    first, again, other = (find_neighbours(asked, to, np.array([True]), 1, seed=seed)[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_numbers_are_divided_by_the_range_of_all_tables():
    data = as_table(pd.DataFrame({"pay": [10.5, 20.5], "job": ["a", "b"]}))
    other = as_table(pd.DataFrame({"pay": [30.5, np.nan], "job": ["c", "a"]}))
    places = learn_places(data, [other], ["pay", "job"])
    np.testing.assert_allclose(places.of(other), [[1.0, 2.0], [np.nan, 0.0]])
    assert places.exact.tolist() == [False, True]


def test_a_category_is_the_same_however_a_table_holds_it():
    data = as_table(pd.DataFrame({"sex": [1, 2] * 10, "job": pd.Categorical(["a", "b"] * 10)}))
    other = as_table(pd.DataFrame({"sex": [2.0, np.nan], "job": pd.Series([None, "a"], dtype=object)}))
    another = as_table(pd.DataFrame({"sex": pd.array([None, 1], dtype="Int64"), "job": pd.Series(["b", np.nan])}))
    places = learn_places(data, [other, another], ["sex", "job"])
    assert places.exact.all()
    assert places.of(data)[:2].tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert places.of(other).tolist() == [[1.0, 2.0], [2.0, 0.0]]
    assert places.of(another).tolist() == [[2.0, 1.0], [0.0, 2.0]]


def test_columns_that_are_not_there_are_refused():
    data = pd.DataFrame({"pay": [1.5], "job": ["a"]})
    with pytest.raises(InputError, match="known: there is no variable 'town'"):
        read_tables(data, data, None, "town", "known")
    with pytest.raises(InputError, match="control: there is no variable 'job'"):
        read_tables(data, data, data[["pay"]], ["pay", "job"], "known")
    with pytest.raises(InputError, match="known: no column is named"):
        read_tables(data, data, None, [], "known")
