"""Attribute disclosure: how well a sensitive value is guessed from released tables, and how well without the record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill import balls
from molehill.frames import Table, as_table
from molehill.over_tables import Figure, mean_over_tables, resampled, resampled_counts
from molehill.patterns import match_patterns
from molehill.pooling import middle, most_frequent
from molehill.reading import Breaks, Confidential, Floor, Kinds, Missing, Radius, as_tables, read_confidential
from molehill.reading import read_released as read_released_table
from molehill.schema import column_numbers

Floats = NDArray[np.float64]
# Levels of a categorical column are counted for about this many pairs of record and level at a time.
_CHUNK = 4_000_000
# Resampled runs for the intervals of guesses from pooled tables.
_RUNS = 20

OWN, WITHOUT = "own", "without"


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """How well one sensitive column is guessed.

    Attributes
    ----------
    column
        The column.
    figures
        By measure, in words: the value and its interval over tables.
    own, without
        (tables, records): 1 where the guess from the record's own released value, or without it, is right; NaN for a
        record that takes no part.
    """

    column: str
    figures: Mapping[str, Figure]
    own: Floats
    without: Floats

    def __repr__(self) -> str:
        return f"Guesses({self.column}: {np.nanmean(self.own):.1%} right, {np.nanmean(self.without):.1%} without)"


def guess_values(
    data: Any,
    released: Any,
    *,
    known: str | Sequence[str],
    sensitive: str,
    radius: Radius,
    floor: Floor = 0.0,
    key: str | None = None,
    missing: Missing = "error",
    breaks: Breaks = None,
    kinds: Kinds = None,
) -> Guesses:
    """Compare guesses of a sensitive value from a record's own released values with guesses without the record.

    The intruder has found a person's record in the release, by columns that were not replaced, and takes its released
    value for the true one. The baseline intruder sees the same release without that record, and takes the median (of a
    categorical column the most frequent level) of the others with the person's pattern; if there is no other, of all
    others. What the baseline gets right is what the release teaches about people of that kind; only what is above it is
    disclosed about the person.

    A guess of a number is right if it lies in the ball around the true value. Its relative error is
    `|guess - y| / |y|`, and at most 1: an error of 100% is as bad as any larger one, and a wrong guess of zero is 1.
    Every measure is taken table by table and averaged. With several tables it is also taken with the tables pooled: the
    guess is then the median over the tables of each table's guess.

    Parameters
    ----------
    sensitive
        One column.
    data, released, known, radius, floor, key, missing, breaks, kinds
        As in `release_risk`.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 3, "pay": [100.0, 110.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 890.0])
    >>> guess_values(data, released, known="town", sensitive="pay", radius=0.1)
    Guesses(pay: 66.7% right, 0.0% without)
    """
    table = as_table(data)
    side = read_confidential(table, known, sensitive, radius, floor, missing, breaks, kinds)
    levels = None if side.numeric else pd.Index(side.table.frame[sensitive].dropna().unique())
    truth, _ = _column_values(table, sensitive, levels, "data")
    own, without = [], []
    for released_table in as_tables(released):
        read_released_table(side, released_table, key, missing)
        values, present = _column_values(released_table, sensitive, levels, "released")
        patterns = np.where(present, match_patterns(side.patterns, released_table), -1)
        rows = _own_rows(side, released_table, key)
        rows = np.where(present[rows], rows, -1)
        typical = _typical_others if levels is None else _frequent_others
        others = typical(values, patterns, rows, side.patterns.codes)
        alone = np.isnan(others)
        if alone.any():
            everyone = np.zeros(len(values), dtype=np.int64)
            everyone[~present] = -1
            others[alone] = typical(values, everyone, rows, np.zeros(side.records, dtype=np.int64))[alone]
        # Who is not in the release can only be guessed without the record.
        own.append(np.where(rows >= 0, values[rows], others))
        without.append(others)
    guesses = {OWN: np.stack(own)[:, side.part], WITHOUT: np.stack(without)[:, side.part]}
    ends = _right_between(side, truth)
    low, high = ends[0][side.part], ends[1][side.part]
    figures = _measure(guesses, truth[side.part], low, high, numeric=levels is None)
    by_record = {}
    for name, values in guesses.items():
        by_record[name] = np.full((len(values), side.records), np.nan)
        by_record[name][:, side.part] = (values >= low) & (values <= high)
        by_record[name].flags.writeable = False
    return Guesses(sensitive, figures, by_record[OWN], by_record[WITHOUT])


def _column_values(
    table: Table, column: str, levels: pd.Index | None, argument: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers, or codes of the levels (a level that the confidential table lacks is never right), and who has one."""
    if levels is None:
        values = column_numbers(table, column, argument)
        present = ~np.isnan(values)
        return np.where(present, values, 0.0), present
    present = table.frame[column].notna().to_numpy()
    codes = levels.get_indexer(pd.Index(table.frame[column]))
    return np.where(codes < 0, len(levels), codes).astype(np.float64), present


def _own_rows(side: Confidential, table: Table, key: str | None) -> NDArray[np.intp]:
    """Row of the released table for every confidential record, -1 if it has none."""
    if key is None:
        return np.arange(side.records)
    return pd.Index(table.frame[key]).get_indexer(pd.Index(side.table.frame[key]))


def _right_between(side: Confidential, truth: Floats) -> tuple[Floats, Floats]:
    if not side.numeric:
        return truth, truth
    low, high = balls.bounds(side.values, side.radius, side.floor)
    return low[:, 0], high[:, 0]


def _typical_others(values: Floats, patterns: NDArray, rows: NDArray, wanted: NDArray) -> Floats:
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


def _frequent_others(values: Floats, patterns: NDArray, rows: NDArray, wanted: NDArray) -> Floats:
    """Most frequent level with each record's pattern, its own row left out; NaN where there is no other."""
    codes = values.astype(np.int64)
    number, levels = int(max(patterns.max(initial=0), wanted.max(initial=0))) + 1, int(codes.max(initial=0)) + 1
    here = patterns >= 0
    counts = np.bincount(patterns[here] * levels + codes[here], minlength=number * levels).reshape(number, levels)
    guess = np.full(len(rows), np.nan)
    chunk = max(1, _CHUNK // levels)
    for start in range(0, len(rows), chunk):
        some = slice(start, start + chunk)
        left, own = counts[wanted[some]], rows[some]
        among = np.flatnonzero((own >= 0) & (patterns[own] == wanted[some]))
        left[among, codes[own[among]]] -= 1
        guess[some] = np.where(left.sum(axis=1) > 0, left.argmax(axis=1), np.nan)
    return guess


def _measure(
    guesses: Mapping[str, Floats], truth: Floats, low: Floats, high: Floats, *, numeric: bool
) -> dict[str, Figure]:
    tables = len(guesses[OWN])
    shares = {source: _share(values, low, high) for source, values in guesses.items()}
    right = "guesses within the radius" if numeric else "right guesses"
    figures = _compare(right, shares)
    if numeric:
        errors = {source: _relative(values, truth) for source, values in guesses.items()}
        figures |= _compare("mean relative error of the guess", errors, better=-1)
    if tables > 1:
        # All tables in the first row, then resampled ones.
        rows = [np.arange(tables), *(np.repeat(np.arange(tables), row) for row in resampled_counts(tables)[:_RUNS])]
        pooled = {}
        for source, values in guesses.items():
            shares = [_share(_pool(values[row], numeric=numeric)[None], low, high) for row in rows]
            pooled[source] = np.concatenate(shares)
        figures |= _compare(f"{right}, tables pooled", pooled, pooled_tables=tables)
    return figures


def _compare(name: str, values: Mapping[str, Floats], *, better: int = 1, pooled_tables: int = 0) -> dict[str, Figure]:
    """Give the figure with the record, without it, and how much better it is with it."""
    named = {
        (name, 0.0): values[OWN],
        (f"{name}, without the record", 0.0): values[WITHOUT],
        (f"{name}, gain over without the record", -1.0): better * (values[OWN] - values[WITHOUT]),
    }
    if pooled_tables:
        return {
            n: resampled(float(v[0]), v[1:], pooled_tables, least=least, most=1.0) for (n, least), v in named.items()
        }
    return {n: mean_over_tables(v, least=least, most=1.0) for (n, least), v in named.items()}


def _share(guesses: Floats, low: Floats, high: Floats) -> Floats:
    return ((guesses >= low) & (guesses <= high)).mean(axis=1)


def _relative(guesses: Floats, truth: Floats) -> Floats:
    size = np.abs(truth)
    error = np.abs(guesses - truth) / np.where(size > 0, size, 1.0)
    return np.where(size > 0, np.minimum(error, 1.0), guesses != truth).mean(axis=1)


def _pool(guesses: Floats, *, numeric: bool) -> Floats:
    if numeric:
        return middle(guesses, np.ones(guesses.shape, dtype=bool))
    return most_frequent(guesses.astype(np.int64)).astype(np.float64)
