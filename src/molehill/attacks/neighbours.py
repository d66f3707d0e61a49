"""The released records that look most like a person, by Gower's distance over mixed columns."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from molehill.arrays import Booleans, Floats, Integers
from molehill.errors import InputError, check_names
from molehill.risk.holdout import Places, Scale, measure_distances
from molehill.runtime import in_threads, workers
from molehill.tables.schema import is_number
from molehill.tables.table import Table, as_table, as_tables, find_columns


def read_tables(
    data: Any, released: Any, control: Any, columns: Sequence[str] | str, argument: str
) -> tuple[list[str], Table, list[Table], Table | None]:
    """Take the confidential table, the released ones and the control records; all must have the columns."""
    table, tables = as_table(data), as_tables(released)
    names = find_columns(table, check_names(argument, columns), argument)
    if not names:
        raise InputError(argument, "no column is named", "Name at least one")
    held = None if control is None else as_table(control, argument="control")
    for other, called in [*((one, "released") for one in tables), *([(held, "control")] if held else [])]:
        find_columns(other, names, called)
    return names, table, tables, held


def learn_places(table: Table, others: Sequence[Table], columns: Sequence[str], scale: Scale = "range") -> Places:
    """Learn the places of columns from all tables; what is a number is seen in the confidential one."""
    numbers = [name for name in columns if is_number(table, name)]
    return Places([table, *others], columns, scale=scale, numbers=numbers)


def find_neighbours(asked: Floats, to: Floats, exact: Booleans, number: int, *, seed: int) -> tuple[Integers, Floats]:
    """Find the nearest records of every asked one: their rows and distances, (asked, number), the nearest first.

    The distance is the sum over the columns: 0 or 1 of a category, the difference of places of a number, 1 if one of
    them is missing and 0 if both are. Of those that are equally near, any may come first, by a coin of their own for
    every asked record: with few categories a whole pattern is equally near, and the order of the rows must not choose.

    Parameters
    ----------
    asked, to
        Places, (records, columns).
    exact
        Which columns are categories.
    number
        How many neighbours.
    seed
        Of the coins.

    References
    ----------
    Gower, A General Coefficient of Similarity and Some of Its Properties (1971).

    Examples
    --------
    >>> to = np.array([[0.0, 1.0], [0.5, 1.0], [0.1, 2.0]])
    >>> find_neighbours(np.array([[0.1, 1.0]]), to, np.array([False, True]), 2, seed=1)
    (array([[0, 1]]), array([[0.1, 0.4]]))
    """
    number = min(number, len(to))
    rows, distances = np.empty((len(asked), number), dtype=np.int64), np.empty((len(asked), number))
    ends = np.linspace(0, len(asked), workers() + 1).astype(np.int64).tolist()
    kernel = partial(_search, asked, np.ascontiguousarray(to.T), exact, np.uint64(seed), rows, distances)
    in_threads(kernel, list(pairwise(ends)))
    return rows, distances


@njit(nogil=True, cache=True)
def _coin(seed: np.uint64, one: np.uint64, other: np.uint64) -> np.uint64:
    """A number at random for every pair, by the finalizer of SplitMix64: the same whatever else is asked."""
    mixed = seed + one * np.uint64(0x9E3779B97F4A7C15) + other * np.uint64(0xD1B54A32D192ED03)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@njit(nogil=True, cache=True, error_model="numpy")
def _search(
    asked: Floats,
    columns: Floats,
    exact: Booleans,
    seed: np.uint64,
    rows: Integers,
    distances: Floats,
    first: int,
    last: int,
) -> None:
    number, records = rows.shape[1], columns.shape[1]
    coins, apart = np.empty(number, dtype=np.uint64), np.empty(records)
    for i in range(first, last):
        measure_distances(asked[i], columns, exact, apart)
        found, most = 0, np.inf
        for j in range(records):
            distance = apart[j]
            if distance > most:
                continue
            coin = _coin(seed, np.uint64(i), np.uint64(j))
            if found == number and distance == most and coin >= coins[number - 1]:
                continue
            # Move up those that come after, and drop the last if there is no more place.
            place = min(found, number - 1)
            while place > 0 and (
                distances[i, place - 1] > distance or (distances[i, place - 1] == distance and coins[place - 1] > coin)
            ):
                distances[i, place], rows[i, place] = distances[i, place - 1], rows[i, place - 1]
                coins[place] = coins[place - 1]
                place -= 1
            distances[i, place], rows[i, place], coins[place] = distance, j, coin
            found = min(found + 1, number)
            if found == number:
                most = distances[i, number - 1]
