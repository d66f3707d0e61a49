"""Membership inference by distance to the nearest record, with a holdout half of the data.

A synthesizer is fitted to either half of the records. Datasets that reproduce the population lie as near to records
held out as to the others; datasets that reproduce individual records lie nearer to those they were made from.
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

# Maximum number of records for which distances are computed, and of records they are computed to.
MOST_ASKED, MOST_NEAR = 5_000, 20_000
_Z = 1.96


@dataclass(frozen=True, eq=False, repr=False)
class Holdout:
    """Distances between confidential and synthetic records, with and without a record in the data.

    Attributes
    ----------
    records
        Row numbers, from 0, of the confidential records.
    inside, outside
        Distance of each to the nearest synthetic record made with, and without, the half that contains it.
    nearer
        For a sample of synthetic records, 1 if the nearest confidential record is in the half they were made from, 0
        if it is in the other half, 1/2 for a tie.
    """

    records: Integers
    inside: Floats
    outside: Floats
    nearer: Floats

    def __repr__(self) -> str:
        members, share = self.members().value, self.share().value
        return f"Holdout(closer to participants: {members:.3f}, released records nearer: {share:.3f})"

    def members(self, chosen: Booleans | None = None) -> Figure:
        """The share of records to which datasets made with them lie nearer than datasets without; 1/2 = no evidence.

        Parameters
        ----------
        chosen
            Which of all confidential records to include; all by default.
        """
        closer = np.where(self.inside == self.outside, 0.5, self.inside < self.outside)
        return _mean(closer if chosen is None else closer[chosen[self.records]])

    def share(self) -> Figure:
        """Share of the synthetic records whose nearest confidential record was not held out; 1/2 = no evidence."""
        return _mean(self.nearer)


def _mean(values: Floats) -> Figure:
    if not len(values):
        return Figure(np.nan, np.nan, np.nan)
    mean = float(values.mean())
    # The standard error is at least that of a binomial share of 1/2.
    error = max(float(values.std()), 0.5 / np.sqrt(len(values) + 1)) / np.sqrt(len(values))
    return Figure(mean, max(mean - _Z * error, 0.0), min(mean + _Z * error, 1.0))


def compare_halves(
    data: Any, half: Booleans, first: Sequence[Any], second: Sequence[Any], columns: Sequence[str], *, seed: int
) -> Holdout:
    """Compare datasets made from one half of the records with datasets made from the other half.

    The distance of two records is the sum over the variables of the difference in rank (0 to 1) for numbers, and of 0
    (equal) or 1 for categories. A missing value has distance 1 from any other value.

    Parameters
    ----------
    data
        The confidential data.
    half
        The records that the first datasets were made from; the second datasets were made from the others.
    first, second
        The datasets.
    columns
        The variables to compare.
    seed
        Of the sample of records, if there are many.

    Examples
    --------
    >>> data = pd.DataFrame({"pay": np.arange(8.0)})
    >>> half = np.arange(8) < 4
    >>> compare_halves(data, half, [data[half]], [data[~half]], ["pay"], seed=1)
    Holdout(closer to participants: 1.000, released records nearer: 1.000)
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
        # Equal numbers on either side: the nearest of more records is nearer.
        sides = [np.flatnonzero(from_half), np.flatnonzero(~from_half)]
        number = min(*map(len, sides), MOST_NEAR)
        to = [_nearest(places, own[random.permutation(side)[:number]], coding.exact) for side in sides]
        nearer.append(np.where(to[0] == to[1], 0.5, to[0] < to[1]))
    return Holdout(freeze(asked), freeze(inside), freeze(outside), freeze(np.concatenate(nearer)))


def choose_rows(random: np.random.Generator, number: int, most: int) -> Integers:
    """Sample at most `most` rows at random, in their order."""
    return np.arange(number) if number <= most else np.sort(random.choice(number, most, replace=False))


Scale = Literal["rank", "range", "none"]
_MISSING = "\0missing"


class Places:
    """Numerical coding of variables for distances: numbers as ranks or scaled values, categories as level codes.

    Parameters
    ----------
    tables
        The datasets from which ranks, ranges and levels are learned.
    columns
        The variables, in the order of the coded columns.
    scale
        Scale of numbers: "rank" (0 to 1), "range" (divided by the range, as in Gower's distance) or "none".
    numbers
        Which variables are compared as numbers; by default numbers and dates.
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
        """Code a dataset, (records, variables); -1 for a level that was not learned."""
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
        # Mid-ranks of ties.
        ranks = (np.searchsorted(line, values, "left") + np.searchsorted(line, values, "right")) / 2
        return np.where(np.isnan(values), np.nan, ranks / max(len(line), 1))


def _is_sized(column: pd.Series) -> bool:
    """Whether a variable holds numbers (not Booleans) or dates."""
    kind = column.dtype
    return (pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)) or holds_dates(column)


def _written(column: pd.Series) -> tuple[Integers, np.ndarray]:
    """Codes of a categorical variable and its levels as text, the last for missing; 6 and 6.0 are the same level."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        column = pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan))

    codes, values = pd.factorize(column)
    return codes, np.array([*(str(value) for value in values), _MISSING], dtype=object)


def _nearest(asked: Floats, to: Floats, exact: Booleans) -> Floats:
    """Distance of every record to the nearest of others."""
    found = np.empty(len(asked))
    ends = np.linspace(0, len(asked), workers() + 1).astype(np.int64).tolist()
    in_threads(partial(_find_nearest, asked, np.ascontiguousarray(to.T), exact, found), list(pairwise(ends)))
    return found


@njit(nogil=True, cache=True, error_model="numpy")
def measure_distances(record: Floats, columns: Floats, exact: Booleans, found: Floats) -> None:
    """Distances of a coded record to others, which are given (variables, records)."""
    # Variable by variable, so that the inner loops have no branches and vectorize.
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
