"""Whether a release shows who was in the data: one half of the records is held out, and then the other.

A synthesizer is fitted to either half. Tables that learn kinds of people lie as near to those who were held out as to
those who were not; tables that repeat people lie nearer to the latter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd
from numba import njit

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.runtime import in_threads, workers
from molehill.tables.intervals import Figure
from molehill.tables.resolution import holds_dates
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table

# Records that distances are taken from, and records of a table that they are taken to, at most.
MOST_ASKED, MOST_NEAR = 5_000, 20_000
_Z = 1.96


@dataclass(frozen=True, eq=False, repr=False)
class Holdout:
    """How near tables lie to people who were in the data that they were made from, and to people who were not.

    Attributes
    ----------
    records
        The confidential records that were asked about, from 0 on.
    inside, outside
        Distance of each to the nearest record of tables made with, and without, the half that it is in.
    nearer
        For some released records, 1 if the nearest confidential record is of the half that they were made from, 0 if it
        is of the other, and 1/2 if both are as near.
    """

    records: Integers
    inside: Floats
    outside: Floats
    nearer: Floats

    def __repr__(self) -> str:
        return f"Holdout(members nearer: {self.members().value:.3f}, released records nearer: {self.share().value:.3f})"

    def members(self, chosen: Booleans | None = None) -> Figure:
        """The chance that tables lie nearer to a person who was in the data than had the person not been; 1/2: no sign.

        Parameters
        ----------
        chosen
            Of all confidential records, who is asked about; by default everybody.
        """
        told = np.where(self.inside == self.outside, 0.5, self.inside < self.outside)
        return _mean(told if chosen is None else told[chosen[self.records]])

    def share(self) -> Figure:
        """Share of the released records whose nearest confidential one was in the data, not held out; 1/2: no sign."""
        return _mean(self.nearer)


def _mean(values: Floats) -> Figure:
    if not len(values):
        return Figure(np.nan, np.nan, np.nan)
    mean = float(values.mean())
    # Never narrower than of so many coins: all may have fallen alike.
    error = max(float(values.std()), 0.5 / np.sqrt(len(values) + 1)) / np.sqrt(len(values))
    return Figure(mean, max(mean - _Z * error, 0.0), min(mean + _Z * error, 1.0))


def compare_halves(
    data: Any, half: Booleans, first: Sequence[Any], second: Sequence[Any], columns: Sequence[str], *, seed: int
) -> Holdout:
    """Compare tables made from one half of the records with tables made from the other.

    A distance is the sum over the columns: of a number how far apart two values stand among the confidential ones, from
    0 to 1; of a category 0 if it is the same and 1 if not. A missing value is at distance 1 from any other.

    Parameters
    ----------
    data
        The confidential table.
    half
        Which of its records the first tables were made from; the second from the others.
    first, second
        The tables.
    columns
        What is compared.
    seed
        Of the choice of records, where there are many.

    Examples
    --------
    >>> data = pd.DataFrame({"pay": np.arange(8.0)})
    >>> half = np.arange(8) < 4
    >>> compare_halves(data, half, [data[half]], [data[~half]], ["pay"], seed=1)
    Holdout(members nearer: 1.000, released records nearer: 1.000)
    """
    table, random = as_table(data), np.random.default_rng(seed)
    coding = Places([table], columns)
    own = coding.of(table)
    asked = choose_rows(random, len(own), MOST_ASKED)
    distances = []
    for made in (first, second):
        places = np.concatenate([coding.of(as_table(one)) for one in made])
        distances.append(_nearest(own[asked], places[choose_rows(random, len(places), MOST_NEAR)], coding.exact))
    inside = np.where(half[asked], *distances)
    outside = np.where(half[asked], *distances[::-1])
    nearer = []
    for made, from_half in ((first, half), (second, ~half)):
        places = np.concatenate([coding.of(as_table(one)) for one in made])
        places = places[choose_rows(random, len(places), MOST_ASKED // 2)]
        # As many on either side: of more records one lies nearer.
        sides = [np.flatnonzero(from_half), np.flatnonzero(~from_half)]
        number = min(*map(len, sides), MOST_NEAR)
        to = [_nearest(places, own[random.permutation(side)[:number]], coding.exact) for side in sides]
        nearer.append(np.where(to[0] == to[1], 0.5, to[0] < to[1]))
    return Holdout(freeze(asked), freeze(inside), freeze(outside), freeze(np.concatenate(nearer)))


def choose_rows(random: np.random.Generator, number: int, most: int) -> Integers:
    """Choose rows at random, in their order: all of them if there are no more than `most`."""
    return np.arange(number) if number <= most else np.sort(random.choice(number, most, replace=False))


Scale = Literal["rank", "range", "none"]
_MISSING = "\0missing"


class Places:
    """Columns as places: of a number its rank or its place in the range, from 0 to 1; of a category its level's number.

    Parameters
    ----------
    tables
        What ranks, ranges and levels are learned from.
    columns
        The columns, in the order of the places.
    scale
        Of numbers: "rank", how far up a value stands among all; "range", divided by the range of all, as Gower's
        distance has it; "none", as they are.
    numbers
        Which columns are compared by size; by default those of numbers and dates.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        columns: Sequence[str],
        *,
        scale: Scale = "rank",
        numbers: Sequence[str] | None = None,
    ) -> None:
        self.columns, self.scale = list(columns), scale
        if numbers is None:
            numbers = [name for name in columns if _is_sized(tables[0].frame[name])]
        self.exact = np.array([name not in numbers for name in columns], dtype=bool)
        values = {name: np.concatenate([column_numbers(table, name) for table in tables]) for name in numbers}
        self.sorted = {name: np.sort(own[~np.isnan(own)]) for name, own in values.items()}
        self.levels = {
            name: pd.Index(
                [level for table in tables for level in _written(table.frame[name])[1][:-1]] + [_MISSING]
            ).unique()
            for name in columns
            if name not in self.sorted
        }

    def of(self, table: Table) -> Floats:
        """Give the places of a table, (records, columns); -1 for a level that was not learned."""
        return np.column_stack([self._place(table, name) for name in self.columns])

    def _place(self, table: Table, name: str) -> Floats:
        if name in self.levels:
            codes, levels = _written(table.frame[name])
            return self.levels[name].get_indexer(pd.Index(levels))[codes].astype(np.float64)
        values, line = column_numbers(table, name, "released"), self.sorted[name]
        if self.scale == "none" or not len(line):
            return values
        if self.scale == "range":
            return (values - line[0]) / (line[-1] - line[0] or 1.0)
        # The middle of all that are the same.
        ranks = (np.searchsorted(line, values, "left") + np.searchsorted(line, values, "right")) / 2
        return np.where(np.isnan(values), np.nan, ranks / max(len(line), 1))


def _is_sized(column: pd.Series) -> bool:
    """Whether a column holds numbers, not true or false, or dates."""
    kind = column.dtype
    return (pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)) or holds_dates(column)


def _written(column: pd.Series) -> tuple[Integers, np.ndarray]:
    """Give a category as codes, and its levels as text: 6 is 6.0 beside missing values, and the last is missing."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        column = pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))
    # Each level is written once, and not each record.
    codes, values = pd.factorize(column)
    return codes, np.array([*(str(value) for value in values), _MISSING], dtype=object)


def _nearest(asked: Floats, to: Floats, exact: Booleans) -> Floats:
    """Distance of every asked record to the nearest of others."""
    found = np.empty(len(asked))
    ends = np.linspace(0, len(asked), workers() + 1).astype(np.int64).tolist()
    in_threads(partial(_find_nearest, asked, np.ascontiguousarray(to.T), exact, found), list(pairwise(ends)))
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def measure_distances(record: Floats, columns: Floats, exact: Booleans, found: Floats) -> None:
    """Distances of a record's places to those of others, which are given (columns, records)."""
    # Column by column, so that the inner loops have no branches and many records are compared at once.
    found[:] = 0.0
    for k in range(len(record)):
        one, others = record[k], columns[k]
        if exact[k]:
            for j in range(len(found)):
                found[j] += 0.0 if others[j] == one else 1.0
        elif np.isnan(one):
            for j in range(len(found)):
                found[j] += 0.0 if np.isnan(others[j]) else 1.0
        else:
            for j in range(len(found)):
                distance = abs(others[j] - one)
                found[j] += 1.0 if np.isnan(distance) else distance


@njit(nogil=True, cache=True, error_model="numpy")
def _find_nearest(asked: Floats, columns: Floats, exact: Booleans, found: Floats, first: int, last: int) -> None:
    distances = np.empty(columns.shape[1])
    for i in range(first, last):
        measure_distances(asked[i], columns, exact, distances)
        found[i] = distances.min()
