"""An intruder who pools all released tables, because the same records stand in each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from molehill import balls, kernels
from molehill.arguments import check_choice
from molehill.balls import Floats, Integers
from molehill.over_tables import Figure, resampled, resampled_counts
from molehill.reading import Breaks, Confidential, Floor, Kinds, Missing, Radius, as_tables, read_confidential
from molehill.reading import read_released as read_released_table
from molehill.risk import Singletons

# Comparisons of a target with a candidate in a table that are made at most; more targets than that are sampled.
_MOST_COMPARISONS = 400_000_000
# Resampled runs for the intervals.
_RUNS = 20


@dataclass(frozen=True, eq=False, repr=False)
class PooledRisk:
    """What pooling the tables gives an intruder.

    Attributes
    ----------
    risk
        One per record: its risk in the one table that holds, for every record, the median of its released values (the
        most frequent level of a categorical column).
    mean
        Mean of that risk, with its interval over tables.
    right_picks
        Share of the records that the intruder picks rightly who adds up, table by table, the chance of every candidate
        and picks the one with the highest sum; with its interval over tables.
    targets
        How many records the share of right picks was counted over.
    """

    risk: Floats
    mean: Figure
    right_picks: Figure
    targets: int

    def __repr__(self) -> str:
        return f"PooledRisk(mean risk {self.mean.value:.4f}, right picks {self.right_picks.value:.4f})"


@dataclass(frozen=True, eq=False)
class _Own:
    """What all tables say of every confidential record: cells (tables, records), values (tables, records, columns)."""

    cells: NDArray[np.int64]
    values: Floats


def pooled_risk(
    data: Any,
    released: Any,
    *,
    known: str | Sequence[str],
    sensitive: str | Sequence[str],
    radius: Radius,
    floor: Floor = 0.0,
    key: str | None = None,
    singletons: Singletons = "protect",
    missing: Missing = "error",
    breaks: Breaks = None,
    kinds: Kinds = None,
) -> PooledRisk:
    """Measure the risk to an intruder who has all tables and knows which of their records belong together.

    Partially synthetic tables hold the same people, so an intruder can follow a record through the tables, by its
    position or by columns that were not replaced. Two ways to use that are measured. The first takes the median of
    every record's released values and looks for the true value among the medians, as in `release_risk`: noise that
    differs from table to table averages out. The second searches every table: a candidate that is close to the true
    value together with c - 1 others of the pattern gets the chance 1/c there; chances are added over the tables, and
    the candidate with the highest sum is picked, one of them at random if several have it.

    Parameters
    ----------
    data, released, known, sensitive, radius, floor, key, missing, breaks, kinds
        As in `release_risk`.
    singletons
        A record alone in its pattern, and found: "protect" (risk 1), or "formula" and "error" (risk 0).

    References
    ----------
    Reiter and Mitra, Estimating Risks of Identification Disclosure in Partially Synthetic Data (2009), for the sum of
    chances over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 3, "pay": [100.0, 110.0, 900.0]})
    >>> released = [data.assign(pay=[100.0, 109.0, pay]) for pay in (900.0, 905.0, 100.0)]
    >>> pooled_risk(data, released, known="town", sensitive="pay", radius=0.1).risk
    array([0.33333333, 0.33333333, 0.66666667])
    """
    check_choice("singletons", singletons, ("protect", "formula", "error"))
    side = read_confidential(data, known, sensitive, radius, floor, missing, breaks, kinds)
    readings = [read_released_table(side, table, key, missing) for table in as_tables(released)]
    own = _Own(
        np.stack([np.asarray(reading.own_cells, dtype=np.int64) for reading in readings]),
        np.stack([reading.own_values for reading in readings]),
    )
    by_row = _risk_of_medians(side, own, alone_risk=1.0 if singletons == "protect" else 0.0)
    means = by_row[:, side.part].mean(axis=1)
    risk = np.where(side.part, by_row[0], np.nan)
    risk.flags.writeable = False
    picks, targets = _share_picked(side, own)
    mean, right = (
        resampled(float(found[0]), found[1:], len(readings), least=0.0, most=1.0) for found in (means, picks)
    )
    return PooledRisk(risk, mean, right, targets)


def most_frequent(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the most frequent code from 0 up in every column, the lowest of several; -1 if there is none.

    Examples
    --------
    >>> most_frequent(np.array([[2, -1], [1, -1], [2, -1]]))
    array([ 2, -1])
    """
    ordered = np.sort(codes, axis=0)
    best, longest = np.full(codes.shape[1], -1), np.zeros(codes.shape[1], dtype=np.int64)
    run, previous = np.zeros(codes.shape[1], dtype=np.int64), np.full(codes.shape[1], -2)
    for row in ordered:
        run = np.where(row == previous, run + 1, 1)
        better = (run > longest) & (row >= 0)
        best, longest = np.where(better, row, best), np.where(better, run, longest)
        previous = row
    return best


def middle(values: Floats, present: NDArray[np.bool_]) -> Floats:
    """Take the median over the first axis of the values that are present; 0 where none is."""
    if present.all():
        return np.median(values, axis=0)
    # Absent ones go last; the middle is that of the others.
    ordered = np.sort(np.where(present, values, np.inf), axis=0)
    number = present.sum(axis=0)
    low, high = np.maximum(number - 1, 0) // 2, np.minimum(number // 2, len(values) - 1)
    ends = [np.take_along_axis(ordered, place[None], axis=0)[0] for place in (low, high)]
    return np.where(number > 0, sum(ends) / 2, 0.0)


def _taken(tables: int) -> NDArray[np.int64]:
    """(rows, tables): how often each table is taken: all once, then, if there are several, in resampled runs."""
    once = np.ones((1, tables), dtype=np.int64)
    return np.concatenate([once, resampled_counts(tables)[:_RUNS]]) if tables > 1 else once


def _risk_of_medians(side: Confidential, own: _Own, *, alone_risk: float) -> Floats:
    """Risk of every record in the table of medians: of all tables in the first row, then of resampled ones."""
    cells = most_frequent(own.cells)
    present = np.broadcast_to((own.cells >= 0)[:, :, None], own.values.shape)
    rows = [np.repeat(np.arange(len(counts)), counts) for counts in _taken(len(own.cells))]
    tables = [middle(own.values[row], present[row]) for row in rows]
    low, high = balls.bounds(side.values, side.radius, side.floor)
    points = balls.group(cells, side.by_cell.number)
    around = balls.sort_cells(side.values, balls.group(side.cells, side.by_cell.number))
    counts = balls.count_within(tables, points, low, high, around)
    patterns = side.pattern_of_cell[cells[cells >= 0]]
    size = np.bincount(patterns, minlength=side.patterns.number)[side.patterns.codes]
    risk = np.empty((len(tables), side.records))
    linked = np.empty(side.records, dtype=bool)
    for values, within, row in zip(tables, counts, risk, strict=True):
        kernels.find_linked(side.part, side.cells, cells, low, high, values, linked)
        kernels.released_risk(within, size, linked, alone_risk, row)
    return risk


def _share_picked(side: Confidential, own: _Own) -> tuple[Floats, int]:
    """Share of right picks with all tables, then with resampled ones; and the number of targets."""
    low, high = balls.bounds(side.values, side.radius, side.floor)
    candidates = _candidates(own.cells, side.by_cell.number)
    sizes = np.array([len(members) for members in candidates])
    targets = np.flatnonzero(side.part)
    comparisons = int(sizes[side.cells[targets]].sum()) * len(own.cells)
    targets = targets[:: -(-comparisons // _MOST_COMPARISONS) or 1]
    taken = _taken(len(own.cells)).astype(np.float64)
    right = np.zeros(len(taken))
    for cell in np.unique(side.cells[targets]).tolist():
        members, wanted = candidates[cell], targets[side.cells[targets] == cell]
        if len(members):
            places = np.searchsorted(members, wanted)
            places[members[np.minimum(places, len(members) - 1)] != wanted] = -1
            here = own.cells[:, members] == cell
            _count_picks(own.values[:, members], here, low[wanted], high[wanted], places, taken, right)
    return right / max(len(targets), 1), len(targets)


def _candidates(cells: NDArray[np.int64], number: int) -> list[Integers]:
    """Records that are in each cell in any of the tables."""
    alike = bool((cells == cells[0]).all())
    records = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)
    pairs = np.stack([cells[0], records[0]]) if alike else np.unique(np.stack([cells.ravel(), records.ravel()]), axis=1)
    pairs = pairs[:, pairs[0] >= 0]
    ordered = pairs[1][np.argsort(pairs[0], kind="stable")]
    return np.split(ordered, np.cumsum(np.bincount(pairs[0], minlength=number))[:-1])


@njit(nogil=True, cache=True, error_model="numpy")
def _count_picks(
    values: Floats,
    here: NDArray[np.bool_],
    low: Floats,
    high: Floats,
    places: Integers,
    taken: Floats,
    right: Floats,
) -> None:
    """Add the expected number of right picks among the candidates of one cell, for every row of `taken`."""
    tables, number, columns = values.shape
    close, score = np.empty((tables, number)), np.empty(number)
    for target in range(len(low)):
        for table in range(tables):
            for member in range(number):
                inside = here[table, member]
                for column in range(columns):
                    value = values[table, member, column]
                    inside &= (low[target, column] <= value) & (value <= high[target, column])
                close[table, member] = inside
            total = close[table].sum()
            if total > 0:
                close[table] /= total
        for row in range(len(taken)):
            score[:] = 0.0
            for table in range(tables):
                if taken[row, table] > 0:
                    score += taken[row, table] * close[table]
            # Sums of the same fractions may differ in the last digit; who is close in no table is nobody's pick.
            least = max(score.max() - 1e-9, 1e-9)
            if places[target] >= 0 and score[places[target]] >= least:
                right[row] += 1.0 / (score >= least).sum()
