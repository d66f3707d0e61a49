"""k-way marginal agreement: the shares of the combinations of values of any two or three variables (NIST k-marginals).

Every variable is coded into a few levels, which are learned from the confidential data alone. For every set of
variables that contains a synthesized one, the two tables of cell shares are compared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, pairwise
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from molehill.arrays import Floats, Integers
from molehill.errors import InputError, check_whole
from molehill.runtime import in_threads, workers
from molehill.tables.schema import column_numbers, cut_into_groups, has_many_dates, infer_kind, refuse_infinite
from molehill.tables.table import Table, as_table, as_tables, find_columns
from molehill.utility.distances import Distances, gather

WAYS = (2, 3)
MOST_BINS = 20
# A value that at least this share of the records has is a level of its own, for example zero or a top code.
COMMON_SHARE = 0.02
# Maximum number of sets. For the 4,165 sets of four variables of NIST's data, 2,000 give the same within 0.5 of 1000.
MOST_SETS = 2_000

# Sets with more cells than this, in total or per record, are counted sparsely.
_MOST_CELLS = 2**19
_CELLS_A_RECORD = 4
# Cells to count per additional thread.
_ENOUGH_WORK = 2**21

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Agreement(Distances):
    """k-way marginal agreement, and the sets of variables that agree least.

    Attributes
    ----------
    summary, by_dataset
        As in `Distances`: the measures are "agreement_2", "agreement_2_benchmark" and so on, by the number of
        variables.
    sets
        One row per set of variables, sorted by excess over the sampling benchmark: `ways` (number of variables),
        `columns` (their names), `distance` (total variation, mean over the datasets) and `fresh` (its benchmark: the
        expectation for a new sample).
    """

    sets: pd.DataFrame

    def worst(self, ways: int, number: int = 5) -> pd.DataFrame:
        """Return the sets of `ways` variables that agree least."""
        return self.sets[self.sets["ways"] == ways].head(number).reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of a variable, followed by one for any other value and one for missing.

    Attributes
    ----------
    name
        The variable.
    values
        Values that are levels of their own: all of a category; for a binned number, the frequent ones.
    cuts
        Lower bounds of the bins of all other numbers; None for a category.
    """

    name: str
    values: pd.Index
    cuts: tuple[float, ...] | None = None

    @property
    def number(self) -> int:
        """Number of levels."""
        return len(self.values) + len(self.cuts or ()) + 2


def agreement(
    data: Any,
    released: Any,
    replaced: str | Sequence[str],
    *,
    ways: int | Sequence[int] = WAYS,
    columns: str | Sequence[str] | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    most_sets: int = MOST_SETS,
) -> Agreement:
    """Compare all 2-way, 3-way or larger marginals that contain a synthesized variable.

    With pi(c) and pi*(c) the shares of the confidential and released records in the cell c of a set of variables, their
    distance is the total variation, half the sum of |pi(c) - pi*(c)| over the cells. "agreement_k" is 1000 (1 - mean
    distance over all sets of k variables), from 0 to 1000. "agreement_k_benchmark" is its expectation for a new sample,
    see `fresh_agreement`.

    A number with more than 20 distinct values is binned, by the confidential data alone: a value that at least 2% of
    the records have is a bin of its own, and the others are cut at their quantiles, into at most 20 bins in all. Any
    other variable is used as it is; values that do not occur in the confidential data form one level, missing values
    another. Of more than 2,000 sets, a fixed, evenly spaced choice of 2,000 is compared.

    Parameters
    ----------
    data
        The confidential data.
    released
        One released dataset, or a sequence of them.
    replaced
        The synthesized variables: only sets that contain one of them are compared.
    ways
        Number of variables per set, one number or several.
    columns
        The other variables to use; all by default.
    breaks
        Bins by variable, left-closed, instead of the learned ones: `{"age": [18, 65]}`. An empty list uses the values
        as they are.
    most_sets
        Maximum number of sets.

    References
    ----------
    The k-marginal score of NIST's challenges and of its SDNist library: Task, Bhagat and Howarth, SDNist v2:
    Deidentified Data Report Tool (2023). There the sets are of all variables.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "m"]})
    >>> found = agreement(data, data.assign(sex=["f", "f", "m", "m"]), "sex", ways=2)
    >>> found.value("agreement_2"), found.worst(2).columns.tolist()
    (500.0, ['ways', 'columns', 'distance', 'fresh'])
    """
    table, tables = as_table(data), as_tables(released)
    learned = _learn(table, replaced, columns, breaks)
    for other in tables:
        find_columns(other, learned.names, "released")
    chosen = learned.list_sets(ways, most_sets)
    apart: dict[int, list[Floats]] = {k: [] for k in chosen}
    fresh: dict[tuple[int, int], Floats] = {}
    rows = []
    for place, other in enumerate(tables, 1):
        codes, records = _code_all(learned.levels, other, "released"), len(other.frame)
        for k, sets in chosen.items():
            apart[k].append(_distances(learned, codes, sets))
            if (k, records) not in fresh:
                fresh[k, records] = _fresh_distances(learned, records, sets)
            called = {"group": "", "table": place, "column": ", ".join(learned.names[: learned.replaced])}
            rows.append({**called, "measure": f"agreement_{k}", "value": _score(apart[k][-1])})
            rows.append({**called, "measure": f"agreement_{k}_benchmark", "value": _score(fresh[k, records])})
    found, first = gather(rows, grouped=False), len(tables[0].frame)
    listed = [_list_distances(learned.names, k, sets, apart[k], fresh[k, first]) for k, sets in chosen.items()]
    return Agreement(found.summary, found.by_dataset, pd.concat(listed, ignore_index=True))


def fresh_agreement(
    data: Any,
    replaced: str | Sequence[str],
    *,
    ways: int | Sequence[int] = WAYS,
    columns: str | Sequence[str] | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    most_sets: int = MOST_SETS,
    records: int | None = None,
) -> dict[int, float]:
    """Compute the sampling benchmark of the agreement: its expectation for a new sample, by number of variables.

    The sample is drawn from the confidential records with replacement. The expectation is exact: the count of a cell
    with share p in n draws is binomial, with mean absolute deviation (De Moivre)

        2 n p (1 - p) b(floor(n p); n - 1, p)

    where b is the binomial probability. All variables are drawn anew, so that a release with unchanged variables can
    agree better than the benchmark.

    Parameters
    ----------
    data, replaced, ways, columns, breaks, most_sets
        As in `agreement`.
    records
        Size of the sample; by default that of the confidential data.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "B"], "sex": ["f", "m"]})
    >>> fresh_agreement(data, "sex", ways=2)  # of four samples two have both records, and two have one of them twice
    {2: 750.0}
    """
    table = as_table(data)
    size = len(table.frame) if records is None else check_whole("records", records, 1)
    learned = _learn(table, replaced, columns, breaks)
    chosen = learned.list_sets(ways, most_sets)
    return {k: _score(_fresh_distances(learned, size, sets)) for k, sets in chosen.items()}


def learn_levels(table: Table, name: str, breaks: Sequence[float] | None = None) -> Levels:
    """Learn the levels of a variable from the confidential data; `breaks` as in `agreement`.

    Examples
    --------
    >>> hours = [0.0] * 40 + list(range(1, 101))
    >>> learned = learn_levels(Table(pd.DataFrame({"hours": hours})), "hours")
    >>> learned.values.tolist(), len(learned.cuts), learned.cuts[:3]
    ([0.0], 13, (8.0, 15.0, 22.0))
    """
    column = table.frame[name]
    if breaks is not None and len(breaks):
        # Only to check the breaks.
        cut_into_groups(np.array([]), breaks, name)
        return Levels(name, pd.Index([], dtype=np.float64), tuple(map(float, breaks)))
    dated = has_many_dates(column) and breaks is None
    plain = not pd.api.types.is_numeric_dtype(column.dtype) or breaks is not None
    if not dated and (plain or infer_kind(table, name)[0] == "categorical"):
        return Levels(name, _distinct(column))
    numbers = column_numbers(table, name)
    refuse_infinite(numbers, name)
    values, counts = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    if len(values) <= MOST_BINS:
        return Levels(name, _distinct(column))
    common = counts >= COMMON_SHARE * len(numbers)
    rest = np.repeat(values[~common], counts[~common])
    # In proportion to the remaining records, so that no bin is much rarer than a frequent value.
    bins = max(1, min(MOST_BINS - int(common.sum()), round(MOST_BINS * len(rest) / len(numbers))))
    cuts = np.unique(rest[np.arange(1, bins) * len(rest) // bins]) if len(rest) else rest
    return Levels(name, pd.Index(values[common]), tuple(cuts[cuts > rest[:1]].tolist()))


def code_column(levels: Levels, table: Table, argument: str = "data") -> Codes:
    """Code every record of a dataset by its level."""
    column, known = table.frame[levels.name], len(levels.values)
    if levels.cuts is not None:
        numbers = column_numbers(table, levels.name, argument)
        refuse_infinite(numbers, levels.name, argument)
        codes = known + np.searchsorted(levels.cuts, numbers, side="right")
        if known:
            common = levels.values.to_numpy()
            nearest = np.minimum(np.searchsorted(common, numbers), known - 1)
            codes = np.where(common[nearest] == numbers, nearest, codes)
        absent = np.isnan(numbers)
    else:
        if isinstance(column.dtype, pd.CategoricalDtype):
            # Looked up by category, not by record; code -1 (missing) takes the last entry.
            codes = np.append(levels.values.get_indexer(column.cat.categories), -1)[column.cat.codes]
        else:
            codes = levels.values.get_indexer(pd.Index(column))
        codes, absent = np.where(codes < 0, known, codes), column.isna().to_numpy()
    return np.where(absent, levels.number - 1, codes).astype(np.int32)


def list_sets(columns: int, replaced: int, ways: int, most: int = MOST_SETS) -> NDArray[np.int64]:
    """List the sets of `ways` variables that contain one of the first `replaced` variables: (sets, ways).

    If there are more than `most`, evenly spaced ones are taken.

    Examples
    --------
    >>> list_sets(4, 1, 2).tolist()
    [[0, 1], [0, 2], [0, 3]]
    >>> list_sets(50, 2, 3, most=3).tolist()
    [[0, 9, 38], [0, 42, 47], [1, 21, 44]]
    """
    total = comb(columns, ways) - comb(columns - replaced, ways)
    if total <= most:
        return np.array(list(islice(combinations(range(columns), ways), total)), dtype=np.int64)
    ranks = [(2 * step + 1) * total // (2 * most) for step in range(most)]
    return np.array([_find_set(rank, columns, ways) for rank in ranks], dtype=np.int64)


def _find_set(rank: int, columns: int, ways: int) -> list[int]:
    """The set at a given rank in lexicographic order."""
    chosen, column = [], 0
    for left in range(ways - 1, -1, -1):
        while (beginning := comb(columns - column - 1, left)) <= rank:
            rank -= beginning
            column += 1
        chosen.append(column)
        column += 1
    return chosen


@dataclass(frozen=True, eq=False)
class _Learned:
    """Levels and codes, (variables, records), of the confidential data; the `replaced` variables come first."""

    levels: list[Levels]
    replaced: int
    codes: Codes

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.levels]

    @property
    def radix(self) -> NDArray[np.int64]:
        return np.array([each.number for each in self.levels], dtype=np.int64)

    def list_sets(self, ways: Any, most: int) -> dict[int, NDArray[np.int64]]:
        """The sets to compare, by the requested number of variables."""
        several = list(dict.fromkeys(ways)) if isinstance(ways, Iterable) else [ways]
        if not several:
            raise InputError("ways", "it is empty", "Give the number of variables per set, for example 2 or (2, 3)")
        check_whole("most_sets", most, 1)
        number = len(self.levels)
        return {k: list_sets(number, self.replaced, min(check_whole("ways", k, 1), number), most) for k in several}


def _learn(
    table: Table,
    replaced: str | Sequence[str],
    columns: str | Sequence[str] | None,
    breaks: Mapping[str, Sequence[float]] | None,
) -> _Learned:
    first = find_columns(table, replaced, "replaced")
    if not first:
        raise InputError("replaced", "no variable is named", "Name the synthesized variables")
    others = list(table.frame.columns) if columns is None else find_columns(table, columns, "columns")
    ends = breaks or {}
    find_columns(table, list(ends), "breaks")
    levels = [learn_levels(table, name, ends.get(name)) for name in dict.fromkeys([*first, *others])]
    return _Learned(levels, len(first), _code_all(levels, table, "data"))


def _distinct(column: pd.Series) -> pd.Index:
    return pd.Index(column.dropna().unique())


def _code_all(levels: Sequence[Levels], table: Table, argument: str) -> Codes:
    return np.stack([code_column(each, table, argument) for each in levels])


def _score(distances: Floats) -> float:
    return 1000 * (1 - float(distances.mean()))


def _list_distances(
    names: Sequence[str], ways: int, sets: Integers, distances: Sequence[Floats], fresh: Floats
) -> pd.DataFrame:
    """Frame of the sets with their mean distances, sorted by excess over the benchmark."""
    distance = np.mean(distances, axis=0)
    order = np.argsort(fresh - distance, kind="stable")
    called = [tuple(names[int(column)] for column in chosen) for chosen in sets[order]]
    return pd.DataFrame({"ways": ways, "columns": called, "distance": distance[order], "fresh": fresh[order]})


def _distances(learned: _Learned, other: Codes, sets: Integers) -> Floats:
    """Total variation distance of two datasets for every set of variables."""
    own, radix = learned.codes, learned.radix
    # Records are weighted by the size of the other dataset, so that counts remain integers.
    steps = (other.shape[1], -own.shape[1])

    def count_rare(chosen: Integers) -> float:
        return float(np.abs(_count_sparse((own, other), radix, chosen, steps)).sum())

    kernel = partial(_count_apart, own, other, radix)
    return _for_all(kernel, count_rare, radix, sets, sum(map(abs, steps))) / (2.0 * own.shape[1] * other.shape[1])


def _fresh_distances(learned: _Learned, records: int, sets: Integers) -> Floats:
    """Expected distance for a sample of `records` drawn from the confidential data."""
    own, radix = learned.codes, learned.radix
    shown = _expect_off(own.shape[1], records)

    def count_rare(chosen: Integers) -> float:
        return float(shown[_count_sparse((own,), radix, chosen, (1,))].sum())

    return _for_all(partial(_count_fresh, own, shown, radix), count_rare, radix, sets, own.shape[1]) / 2


def _expect_off(size: int, records: int) -> Floats:
    """Mean absolute deviation of a cell's share in a sample of `records`, by its number of records among `size`."""
    number = np.arange(size + 1)
    expected = number * records // size
    share = number / size
    # A cell with all records has deviation 0.
    expected[-1] = 0
    chosen = gammaln(records) - gammaln(expected + 1) - gammaln(records - expected)
    probability = np.exp(chosen + xlogy(expected, share) + xlog1py(records - 1 - expected, -share))
    off = 2 * share * (1 - share) * probability
    off[[0, -1]] = 0.0
    return off


def _for_all(
    kernel: Callable[..., None],
    count_rare: Callable[[Integers], float],
    radix: Integers,
    sets: Integers,
    records: int,
) -> Floats:
    """Apply the kernel to sets with few cells, in threads, and `count_rare` to each of the others."""
    into, cells = np.empty(len(sets)), radix[sets].astype(np.float64).prod(axis=1)
    few = cells <= max(_MOST_CELLS, _CELLS_A_RECORD * records)
    if few.any():
        found, sizes = np.empty(int(few.sum())), cells[few].astype(np.int64)
        parts = max(1, min(workers(), len(found) * records // _ENOUGH_WORK))
        ends = np.linspace(0, len(found), parts + 1).astype(np.int64).tolist()
        in_threads(partial(kernel, sets[few], sizes, found), list(pairwise(ends)))
        into[few] = found
    for place in np.flatnonzero(~few):
        into[place] = count_rare(sets[place])
    return into


def _count_sparse(
    tables: Sequence[Codes], radix: Integers, chosen: Integers, steps: Sequence[int]
) -> NDArray[np.int64]:
    """Count the occupied cells, with `steps` as the weight of the records of every dataset."""
    places = np.zeros(sum(codes.shape[1] for codes in tables), dtype=np.int64)
    for column in chosen:
        both = np.concatenate([codes[column] for codes in tables])
        places = pd.factorize(places * radix[column] + both)[0].astype(np.int64)
    cells, start = np.zeros(int(places.max()) + 1, dtype=np.int64), 0
    for codes, step in zip(tables, steps, strict=True):
        part = places[start : start + codes.shape[1]]
        cells += step * np.bincount(part, minlength=len(cells))
        start += codes.shape[1]
    return cells


@njit(nogil=True, cache=True, error_model="numpy")
def _tally(
    codes: Codes,
    radix: np.ndarray,
    sets: np.ndarray,
    s: int,
    first: int,
    places: np.ndarray,
    cells: np.ndarray,
    step: int,
) -> None:
    """Count the cells of set s; `places` (codes of all variables but the last) are reused from the previous set."""
    last = sets.shape[1] - 1
    changed = s == first
    for j in range(last):
        changed |= sets[s, j] != sets[s - 1, j]
    if changed:
        for i in range(len(places)):
            places[i] = 0
        for j in range(last):
            column, number = sets[s, j], radix[sets[s, j]]
            for i in range(len(places)):
                places[i] = places[i] * number + codes[column, i]
    column, number = sets[s, last], radix[sets[s, last]]
    for i in range(len(places)):
        cells[places[i] * number + codes[column, i]] += step


@njit(nogil=True, cache=True, error_model="numpy")
def _count_apart(
    own: Codes,
    other: Codes,
    radix: np.ndarray,
    sets: np.ndarray,
    sizes: np.ndarray,
    into: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Absolute differences of the cell counts of two datasets, summed, for the sets from `first` to `end`."""
    cells = np.zeros(sizes.max(), dtype=np.int64)
    ours, theirs = np.zeros(own.shape[1], dtype=np.int64), np.zeros(other.shape[1], dtype=np.int64)
    for s in range(first, end):
        _tally(own, radix, sets, s, first, ours, cells, other.shape[1])
        _tally(other, radix, sets, s, first, theirs, cells, -own.shape[1])
        total = 0
        for cell in range(sizes[s]):
            total += abs(cells[cell])
            cells[cell] = 0
        into[s] = total


@njit(nogil=True, cache=True, error_model="numpy")
def _count_fresh(
    own: Codes,
    shown: np.ndarray,
    radix: np.ndarray,
    sets: np.ndarray,
    sizes: np.ndarray,
    into: np.ndarray,
    first: int,
    end: int,
) -> None:
    """Expected deviations of the cells, summed, for the sets from `first` to `end`."""
    cells = np.zeros(sizes.max(), dtype=np.int64)
    ours = np.zeros(own.shape[1], dtype=np.int64)
    for s in range(first, end):
        _tally(own, radix, sets, s, first, ours, cells, 1)
        total = 0.0
        for cell in range(sizes[s]):
            total += shown[cells[cell]]
            cells[cell] = 0
        into[s] = total
