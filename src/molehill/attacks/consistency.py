"""Consistency: released records that nobody could be, and what gives away how a release was made.

A man who gave birth is no secret, but who sees him trusts no other record. Each check says how often a fresh sample of
the same population would fail it, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from molehill.arrays import Floats, Integers
from molehill.attacks.identity import Breaks
from molehill.attacks.neighbours import read_tables
from molehill.errors import InputError, check_whole
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.resolution import column_unit
from molehill.tables.schema import column_numbers, cut_into_groups, is_number
from molehill.tables.table import Table

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class PairCheck:
    """The cells of two columns, or of all pairs together; numbers of records in a table, means over the tables.

    Attributes
    ----------
    columns
        The two columns; empty for all pairs together, each record counted once.
    new
        Released records in cells that never occur in the confidential table.
    expected
        As many records of a fresh sample of the same size, estimated.
    small, small_original
        Records in cells of fewer than `few` records, in a released table and in the confidential one.
    """

    columns: tuple[str, ...]
    new: Figure
    expected: Figure
    small: Figure
    small_original: int


def check_pairs(
    data: Any,
    released: Any,
    columns: Sequence[str] | str,
    *,
    breaks: Breaks = None,
    groups: int = 10,
    few: int = 5,
) -> list[PairCheck]:
    """Count the released records with combinations of two values that nobody in the data has; all pairs come first.

    A reader finds a child with an industry, or a widow of 12. Some new combinations are only rare: a fresh sample of m
    people would have some, too. Leaving each of the n confidential records out in turn, those that are then the first
    of their cell estimate how many: with f cells of one record, `m f / n`, Good's and Turing's estimate, with the
    standard error `m sqrt(f + 2 f2) / n` of f2 cells of two. Far more than that in a release are impossible
    combinations.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them.
    columns
        At least two.
    breaks
        Groups of numeric columns. Others are cut at quantiles of the confidential table.
    groups
        How many such groups.
    few
        Cells of fewer records are small.

    References
    ----------
    Good, The Population Frequencies of Species and the Estimation of Population Parameters (1953).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": ["young", "young", "old", "old"], "job": ["no", "no", "no", "yes"]})
    >>> released = data.assign(job=["yes", "no", "no", "yes"])
    >>> everything, pair = check_pairs(data, released, ["age", "job"])
    >>> pair.columns, pair.new.value, pair.expected.value
    (('age', 'job'), 1.0, 2.0)
    """
    check_whole("groups", groups, 2)
    check_whole("few", few, 1)
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    if len(names) < 2:
        raise InputError("columns", "one makes no pair", "Name at least two")
    unknown = [name for name in breaks or {} if name not in names]
    if unknown:
        raise InputError("breaks", f"{unknown[0]!r} is not among the columns", "Leave it out")
    coded = [_code(table, tables, name, (breaks or {}).get(name), groups) for name in names]
    sizes, records = np.array([len(one.frame) for one in tables]), len(table.frame)
    marks = [np.zeros((4, size), dtype=bool) for size in (records, *sizes)]
    pairs = []
    for (first, one), (second, other) in combinations(zip(names, coded, strict=True), 2):
        width = max(int(codes.max(initial=0)) for codes in other) + 1
        joined = [here.astype(np.int64) * width + there for here, there in zip(one, other, strict=True)]
        found = _count_cells(joined, few)
        marks = [mark | own for mark, own in zip(marks, found, strict=True)]
        pairs.append(_pair_check((first, second), found, sizes, records))
    return [_pair_check((), marks, sizes, records), *pairs]


def _code(
    table: Table, tables: Sequence[Table], name: str, breaks: Sequence[float] | None, groups: int
) -> list[Integers]:
    """Number the values of a column in all tables, the confidential one first."""
    everything = [table, *tables]
    if breaks is None and is_number(table, name):
        values = column_numbers(table, name)
        inner = np.arange(1, groups) / groups
        present = values[~np.isnan(values)]
        breaks = np.unique(np.quantile(present, inner, method="inverted_cdf")).tolist() if len(present) else [0.0]
    if breaks is not None:
        return [
            cut_into_groups(column_numbers(one, name, "data" if one is table else "released"), breaks, name) + 1
            for one in everything
        ]
    levels = learn_patterns(table, [name])
    # A level that nobody has makes a new cell with whatever else.
    return [np.asarray(levels.codes) + 1, *(np.asarray(match_patterns(levels, one)) + 1 for one in tables)]


def _count_cells(joined: Sequence[Integers], few: int) -> list[np.ndarray]:
    """Mark, for every table, the confidential one first, who is in a new, single, double or small cell."""
    number = max(int(one.max()) for one in joined) + 1
    own = np.bincount(joined[0], minlength=number)
    found = [np.stack([own[joined[0]] == 0, own[joined[0]] == 1, own[joined[0]] == 2, own[joined[0]] < few])]
    for one in joined[1:]:
        new, small = own[one] == 0, np.bincount(one, minlength=number)[one] < few
        found.append(np.stack([new, np.zeros_like(new), np.zeros_like(new), small]))
    return found


def _pair_check(columns: tuple[str, ...], found: Sequence[np.ndarray], sizes: Integers, records: int) -> PairCheck:
    single, double, small = (int(found[0][row].sum()) for row in (1, 2, 3))
    size = float(sizes.mean())
    error = float(size * np.sqrt(single + double) / records)
    expected = size * single / records
    figure = Figure(expected, max(expected - 1.96 * error, 0.0), min(expected + 1.96 * error, size))
    counts = np.array([[own[0].sum(), own[3].sum()] for own in found[1:]], dtype=np.float64)
    new, few = (mean_over_tables(count, least=0.0, most=float(sizes.max())) for count in counts.T)
    return PairCheck(columns, new, figure, few, small)


@dataclass(frozen=True)
class RangeCheck:
    """Released values of a number or a date beyond those of the data; means over the tables.

    Attributes
    ----------
    column
        The column.
    below, above
        Released records below the least and above the largest confidential value.
    expected
        As many on either side in a fresh sample of the same size, at most.
    at_ends
        Share of the released records that have the least or the largest confidential value itself.
    at_ends_original
        The same share of the confidential records.
    """

    column: str
    below: Figure
    above: Figure
    expected: float
    at_ends: Figure
    at_ends_original: float


def check_ranges(data: Any, released: Any, columns: Sequence[str] | str) -> list[RangeCheck]:
    """Count the released values, dates among them, beyond the range of the data, and those at its ends.

    Values far beyond show that nobody looked, and a pile at an end shows where values were cut, which gives the least
    or largest confidential value away. In a fresh sample of m records, next to n, `m / (n + 1)` lie beyond on either
    side if no two are the same, and fewer otherwise.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them.
    columns
        Columns of numbers or dates.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"pay": [10.5, 20.5, 30.5]})
    >>> (found,) = check_ranges(data, pd.DataFrame({"pay": [9.0, 10.5, 40.0]}), "pay")
    >>> found.below.value, found.above.value, found.expected, round(found.at_ends.value, 3)
    (1.0, 1.0, 0.75, 0.333)
    """
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    checks = []
    for name in names:
        own = _present(table, name, "data")
        if not len(own):
            raise InputError("columns", f"{name!r} has no values", "Leave it out")
        low, high = own.min(), own.max()
        told = [_present(one, name, "released") for one in tables]
        counts = np.array([[(one < low).sum(), (one > high).sum(), np.isin(one, (low, high)).sum()] for one in told])
        sizes = np.array([len(one) for one in told])
        below, above = (mean_over_tables(count.astype(np.float64), least=0.0) for count in counts.T[:2])
        at_ends = mean_over_tables(counts[:, 2] / np.maximum(sizes, 1), least=0.0, most=1.0)
        expected = float(sizes.mean() / (len(own) + 1))
        checks.append(RangeCheck(name, below, above, expected, at_ends, float(np.isin(own, (low, high)).mean())))
    return checks


@dataclass(frozen=True)
class HeapCheck:
    """How round the values of a number are; shares, means over the tables.

    Attributes
    ----------
    column
        The column.
    unit
        The unit that all confidential values are written in, 0 for none.
    off
        Released values that are no multiple of it: nobody's could be written so.
    at
        Coarser units: 10, 100 and 1,000 times the unit.
    heaped, heaped_original
        Released and confidential values that are multiples of each.
    """

    column: str
    unit: float
    off: Figure
    at: tuple[float, ...]
    heaped: tuple[Figure, ...]
    heaped_original: tuple[float, ...]


def check_heaps(data: Any, released: Any, columns: Sequence[str] | str) -> list[HeapCheck]:
    """Compare how round released values are with how round people's own are.

    People tell their income in thousands. A release whose values are not heaped shows at a glance which records are
    synthetic, and one that keeps some of them tells which were kept. Zeros count nowhere.

    Parameters
    ----------
    data, released, columns
        As in `check_ranges`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"pay": [1000, 2000, 2500, 1210]})
    >>> (found,) = check_heaps(data, pd.DataFrame({"pay": [1000.0, 2013.7, 2500.0, 1210.0]}), "pay")
    >>> found.unit, found.off.value, found.at[1], found.heaped[1].value, found.heaped_original[1]
    (10.0, 0.25, 1000.0, 0.25, 0.5)
    """
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    checks = []
    for name in names:
        own = _present(table, name, "data")
        unit = column_unit(table.frame[name])
        at = tuple(unit * step for step in (10, 100, 1_000)) if unit else ()
        told = [_present(one, name, "released") for one in tables]
        off = [1 - _share_multiples(one, unit) if unit and one.any() else 0.0 for one in told]
        heaped = [np.array([_share_multiples(one, step) for one in told]) for step in at]
        checks.append(
            HeapCheck(
                name,
                unit,
                mean_over_tables(np.array(off), least=0.0, most=1.0),
                at,
                tuple(mean_over_tables(shares, least=0.0, most=1.0) for shares in heaped),
                tuple(_share_multiples(own, step) for step in at),
            )
        )
    return checks


def _present(table: Table, name: str, argument: str) -> Floats:
    values = column_numbers(table, name, argument)
    return values[~np.isnan(values)]


def _share_multiples(values: Floats, unit: float) -> float:
    """Share of the values other than 0 that are multiples of a unit, but for floating error; 0 if there is none."""
    times = values[values != 0] / unit
    if not len(times):
        return 0.0
    return float((np.abs(times - np.rint(times)) <= _TOLERANCE * np.maximum(np.abs(times), 1.0)).mean())
