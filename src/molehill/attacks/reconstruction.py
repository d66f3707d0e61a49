"""Reconstruction: what an intruder learns of one kept column who knows all the others.

Columns that are kept are published as they are. Who knows all but one of a person reads the last one off the release,
where nobody else has the same others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from molehill.arrays import Booleans, Floats, Integers
from molehill.attacks.neighbours import read_tables
from molehill.attacks.rates import NOTHING, rate_of
from molehill.errors import InputError, check_number
from molehill.tables.intervals import Figure
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.schema import column_numbers, is_number
from molehill.tables.table import Table


@dataclass(frozen=True)
class Reconstruction:
    """How often one column of a person is guessed right from all others.

    Attributes
    ----------
    column
        The column.
    rate
        Share of the people guessed right from the release.
    without
        The same, had the person's own record not been in the release; NaN where released records are nobody's. Between
        values that are as frequent, leaving the own one out tilts against the truth: it may fall below the baseline.
    baseline
        Share guessed right by the most frequent released value, of a number the median, of everybody.
    alone
        Share of the people with whom one released record, or none, agrees on all other columns.
    """

    column: str
    rate: Figure
    without: Figure
    baseline: Figure
    alone: Figure


def infer_unchanged(
    data: Any,
    released: Any,
    columns: Sequence[str] | str,
    *,
    tolerance: float = 0.0,
    linked: bool = True,
) -> list[Reconstruction]:
    """Guess each column of a person from all the others, by the released records that agree on these.

    An intruder knows all columns of a person but one, looks up the released records that agree on them, and takes their
    most frequent value, of a number the median; where nobody agrees, that of everybody. A category must be guessed
    exactly, a number y within `tolerance * |y|`. What the rate has beyond `without` is owed to the person's own record;
    what `without` has beyond the baseline is owed to how columns depend on each other.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them.
    columns
        The columns that the release keeps, at least two.
    tolerance
        Of a number, relative to the true value; 0: exactly.
    linked
        Whether released records are those of the same people, row by row.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "C"], "job": ["x", "x", "y", "x"]})
    >>> town, job = infer_unchanged(data, data, ["town", "job"])
    >>> job.rate.value, job.without.value, job.baseline.value, job.alone.value
    (1.0, 0.75, 0.75, 0.5)
    """
    if check_number("tolerance", tolerance) < 0:
        raise InputError("tolerance", "it is negative", "Give a share, such as 0.05")
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    if len(names) < 2:
        raise InputError("columns", "one is not enough to guess it from others", "Name at least two")
    different = [len(one.frame) for one in tables if len(one.frame) != len(table.frame)]
    if linked and different:
        problem = f"it has {different[0]:,} records where the confidential table has {len(table.frame):,}"
        raise InputError("released", problem, "Say that no record is anybody's: linked=False")
    return [_reconstruct(table, tables, name, names, tolerance, linked=linked) for name in names]


def _reconstruct(
    table: Table, tables: Sequence[Table], column: str, columns: Sequence[str], tolerance: float, *, linked: bool
) -> Reconstruction:
    sized = is_number(table, column)
    patterns = learn_patterns(table, [name for name in columns if name != column])
    levels = learn_patterns(table, [column])
    truth = column_numbers(table, column) if sized else levels.codes.astype(np.float64)
    everyone = np.zeros(len(truth), dtype=np.int64)
    own_rows, no_rows = np.arange(len(truth)), np.full(len(truth), -1)
    right: list[list[Booleans]] = [[], [], []]
    alone = []
    for one in tables:
        told = column_numbers(one, column, "released") if sized else match_patterns(levels, one).astype(np.float64)
        agreeing = np.asarray(match_patterns(patterns, one), dtype=np.int64)
        typical = typical_others if sized else frequent_others
        # A number that is missing is nobody's guess.
        present = ~np.isnan(told) if sized else told >= 0
        agreeing, all_told = np.where(present, agreeing, -1), np.where(present, 0, -1)
        told = np.where(present, told, 0.0)
        anybody = typical(told, all_told, no_rows[:1], everyone[:1])[0]
        for which, rows in enumerate((no_rows, own_rows if linked else None)):
            if rows is not None:
                guess = typical(told, agreeing, rows, patterns.codes.astype(np.int64))
                right[which].append(_is_right(np.where(np.isnan(guess), anybody, guess), truth, tolerance, sized=sized))
        right[2].append(_is_right(np.full(len(truth), anybody), truth, tolerance, sized=sized))
        sizes = np.bincount(agreeing[agreeing >= 0], minlength=patterns.number)
        alone.append(sizes[patterns.codes] <= 1)
    rate, without, baseline = (rate_of(np.array(one, dtype=np.float64)) if one else NOTHING for one in right)
    return Reconstruction(column, rate, without, baseline, rate_of(np.array(alone, dtype=np.float64)))


def _is_right(guess: Floats, truth: Floats, tolerance: float, *, sized: bool) -> Booleans:
    reach = tolerance * np.abs(truth) if sized else 0.0
    return np.abs(guess - truth) <= reach


def typical_others(values: Floats, patterns: Integers, rows: Integers, wanted: Integers) -> Floats:
    """Median of the values with each record's pattern, its own row left out; NaN where there is no other."""
    number = int(max(patterns.max(initial=0), wanted.max(initial=0))) + 1
    order = np.lexsort((values, patterns))
    order = order[patterns[order] >= 0]
    sizes = np.bincount(patterns[order], minlength=number)
    starts = np.cumsum(sizes) - sizes
    rank = np.full(len(values), -1)
    rank[order] = np.arange(len(order)) - starts[patterns[order]]
    # A record that is elsewhere in the release is not among these, so that none need be left out.
    among = (rows >= 0) & (patterns[rows] == wanted)
    place = np.where(among, rank[rows], len(values))
    others = sizes[wanted] - among
    ends = []
    for middle_place in (np.maximum(others - 1, 0) // 2, others // 2):
        shifted = starts[wanted] + middle_place + (middle_place >= place)
        ends.append(values[order[np.minimum(shifted, len(order) - 1)]] if len(order) else np.zeros(len(rows)))
    return np.where(others > 0, (ends[0] + ends[1]) / 2, np.nan)


def frequent_others(values: Floats, patterns: Integers, rows: Integers, wanted: Integers) -> Floats:
    """Most frequent level with each record's pattern, its own row left out; NaN where there is no other.

    Of equally frequent ones the lowest. Only the two most frequent of a pattern need be known: leaving one record out
    takes one away from one of them.
    """
    codes = values.astype(np.int64)
    levels, number = int(codes.max(initial=0)) + 1, int(max(patterns.max(initial=0), wanted.max(initial=0))) + 1
    here = patterns >= 0
    cells, counts = np.unique(patterns[here].astype(np.int64) * levels + codes[here], return_counts=True)
    order = np.lexsort((cells % levels, -counts, cells // levels))
    cells, counts = cells[order], counts[order]
    starts = np.flatnonzero(np.r_[True, np.diff(cells // levels) > 0]) if len(cells) else np.empty(0, dtype=np.int64)
    best = np.full((number, 2), -1)
    times = np.zeros((number, 2), dtype=np.int64)
    ends = np.r_[starts[1:], len(cells)]
    for place in (0, 1):
        some = starts + place < ends
        at = starts[some] + place
        best[cells[at] // levels, place], times[cells[at] // levels, place] = cells[at] % levels, counts[at]
    own = np.where((rows >= 0) & (patterns[rows] == wanted), codes[rows], -2)
    left = times[wanted] - (best[wanted] == own[:, None])
    second = (left[:, 1] > left[:, 0]) | ((left[:, 1] == left[:, 0]) & (best[wanted, 1] < best[wanted, 0]))
    chosen = np.where(second & (left[:, 1] > 0), best[wanted, 1], best[wanted, 0])
    return np.where(left.max(axis=1) > 0, chosen, np.nan)
