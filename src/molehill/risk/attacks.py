"""Intruders who do more than look: they pool all tables, guess a sensitive value, or ask those who look alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.errors import InputError
from molehill.risk import balls, kernels
from molehill.risk.intruder import Intruder, Reading, View, as_view, read_released
from molehill.sorting import count_below, count_up_to
from molehill.tables.intervals import Figure, figure_of_runs, mean_over_tables, resampled_counts
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

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


def pooled_risk(data: Any, released: Any, intruder: Intruder | None = None, *, key: str | None = None) -> PooledRisk:
    """Measure the risk to an intruder who has all tables and knows which of their records belong together.

    Partially synthetic tables hold the same people, so an intruder can follow a record through the tables, by its
    position or by columns that were not replaced. Two ways to use that are measured. The first takes the median of
    every record's released values and looks for the true value among the medians, as in `release_risk`: noise that
    differs from table to table averages out. The second searches every table: a candidate that is close to the true
    value together with c - 1 others of the pattern gets the chance 1/c there; chances are added over the tables, and
    the candidate with the highest sum is picked, one of them at random if several have it.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`. A record alone in its pattern, and found, has risk 1.

    References
    ----------
    Reiter and Mitra, Estimating Risks of Identification Disclosure in Partially Synthetic Data (2009), for the sum of
    chances over the tables.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 3, "pay": [100.0, 110.0, 900.0]})
    >>> released = [data.assign(pay=[100.0, 109.0, pay]) for pay in (900.0, 905.0, 100.0)]
    >>> pooled_risk(data, released, Intruder(known="town", sensitive="pay", radius=0.1)).risk
    array([0.5, 0.5, 1. ])
    """
    view = as_view(data, intruder)
    own = _gather(read_released(view, released, key))
    risk, mean = _tell_medians(view, own)
    picks, targets = _share_picked(view, own)
    return PooledRisk(risk, mean, _over_tables(picks, len(own.cells)), targets)


def pooled_mean(data: Any, released: Any, intruder: Intruder | None = None, *, key: str | None = None) -> Figure:
    """Give the mean risk of `pooled_risk` alone, without searching every table."""
    view = as_view(data, intruder)
    return _tell_medians(view, _gather(read_released(view, released, key)))[1]


def _gather(readings: Sequence[Reading]) -> _Own:
    return _Own(
        np.stack([np.asarray(reading.own_cells, dtype=np.int64) for reading in readings]),
        np.stack([reading.own_values for reading in readings]),
    )


def _tell_medians(view: View, own: _Own) -> tuple[Floats, Figure]:
    """Risk of every record in the table of medians, and its mean with an interval over tables."""
    by_row = _risk_of_medians(view, own)
    means = by_row[:, view.part].mean(axis=1)
    return freeze(np.where(view.part, by_row[0], np.nan)), _over_tables(means, len(own.cells))


def _over_tables(found: Floats, tables: int) -> Figure:
    return figure_of_runs(float(found[0]), found[1:], tables, least=0.0, most=1.0)


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


def middle(values: Floats, present: Booleans) -> Floats:
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


def _risk_of_medians(view: View, own: _Own) -> Floats:
    """Risk of every record in the table of medians: of all tables in the first row, then of resampled ones."""
    # Of the types that whole tables have: for others every kernel would be compiled once more, here and below.
    cells = most_frequent(own.cells).astype(view.cells.dtype)
    # Where values may be missing, the tables in which as many are there as mostly.
    told = own.cells >= 0 if view.complete else own.cells == cells
    present = np.broadcast_to(told[:, :, None], own.values.shape)
    rows = [np.repeat(np.arange(len(counts)), counts) for counts in _taken(len(own.cells))]
    tables = [middle(own.values[row], present[row]) for row in rows]
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    points = balls.group(cells, view.by_cell.number)
    around = balls.sort_cells(view.values, balls.group(view.cells, view.by_cell.number))
    counts = balls.count_within(tables, points, low, high, around)
    patterns = view.pattern_of_cell[cells[cells >= 0]]
    size = np.bincount(patterns, minlength=view.patterns.number)[view.patterns.codes]
    risk = np.empty((len(tables), view.records))
    linked = np.empty(view.records, dtype=bool)
    for values, within, row in zip(tables, counts, risk, strict=True):
        kernels.find_linked(view.part, view.cells, cells, low, high, values, linked)
        kernels.risk_from_counts(within, size, linked, not view.intruder.count_self, row)
    return risk


def _share_picked(view: View, own: _Own) -> tuple[Floats, int]:
    """Share of right picks with all tables, then with resampled ones; and the number of targets."""
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    candidates = _candidates(own.cells, view.by_cell.number)
    sizes = np.array([len(members) for members in candidates])
    targets = np.flatnonzero(view.part)
    comparisons = int(sizes[view.cells[targets]].sum()) * len(own.cells)
    targets = targets[:: -(-comparisons // _MOST_COMPARISONS) or 1]
    taken = _taken(len(own.cells)).astype(np.float64)
    right = np.zeros(len(taken))
    for cell in np.unique(view.cells[targets]).tolist():
        members, wanted = candidates[cell], targets[view.cells[targets] == cell]
        if len(members):
            places = np.searchsorted(members, wanted)
            places[members[np.minimum(places, len(members) - 1)] != wanted] = -1
            # In one order, whatever NumPy made it: else every order would be compiled.
            values = np.ascontiguousarray(own.values[:, members])
            here = np.ascontiguousarray(own.cells[:, members] == cell)
            _count_picks(values, here, low[wanted], high[wanted], places, taken, right)
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
    here: Booleans,
    low: Floats,
    high: Floats,
    places: Integers,
    taken: Floats,
    right: Floats,
) -> None:
    """Add the expected number of right picks among the candidates of one cell, for every row of `taken`."""
    tables, number, _ = values.shape
    close, score = np.empty((tables, number)), np.empty(number)
    for target in range(len(low)):
        for table in range(tables):
            _divide_pick(values[table], here[table], low[target], high[target], close[table])
        for row in range(len(taken)):
            most, picked = 0.0, 0
            for member in range(number):
                score[member] = 0.0
            for table in range(tables):
                for member in range(number):
                    score[member] += taken[row, table] * close[table, member]
            for member in range(number):
                most = max(most, score[member])
            # Sums of the same fractions may differ in the last digit; who is close in no table is nobody's pick.
            least = max(most - 1e-9, 1e-9)
            for member in range(number):
                picked += score[member] >= least
            if places[target] >= 0 and score[places[target]] >= least:
                right[row] += 1.0 / picked


@njit(nogil=True, cache=True, error_model="numpy")
def _divide_pick(values: Floats, here: Booleans, low: Floats, high: Floats, close: Floats) -> None:
    """Share a pick equally among the candidates of one dataset that are close."""
    number, columns = values.shape
    total = 0
    for member in range(number):
        inside = here[member]
        for column in range(columns):
            inside &= (low[column] <= values[member, column]) & (values[member, column] <= high[column])
        close[member] = inside
        total += inside
    for member in range(number):
        close[member] /= max(total, 1)


@dataclass(frozen=True, eq=False)
class Gain:
    """How often (or how far) a guess is right or wrong from the record itself, without it, and how much it gains."""

    own: Figure
    without: Figure
    gain: Figure


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """How well one sensitive column is guessed.

    Attributes
    ----------
    column
        The column.
    right
        Share of the guesses that are right: within the radius, or of a category the same.
    error
        Mean relative error of a guess; None for a category.
    pooled
        Share of the guesses that are right when the tables are pooled; None for one table.
    own, without
        (tables, records): 1 where the record's own released value is right; and the share of the other released records
        of its pattern whose values are. NaN for a record that takes no part.
    """

    column: str
    right: Gain
    error: Gain | None
    pooled: Gain | None
    own: Floats
    without: Floats

    def __repr__(self) -> str:
        return f"Guesses({self.column}: {np.nanmean(self.own):.1%} right, {np.nanmean(self.without):.1%} without)"


def guess_values(
    data: Any,
    released: Any,
    intruder: Intruder | None = None,
    *,
    key: str | None = None,
    alike: Integers | None = None,
) -> Guesses:
    """Compare guesses of a sensitive value from a record's own released values with guesses without the record.

    The intruder has found a person's record in the release, by columns that were not replaced, and takes its released
    value for the true one. The baseline intruder takes the released value of another record of the person's pattern,
    each as likely; if there is no other, of any other record. Both guess by one released value, so that the gain has
    the mean 0 where every value is drawn from the distribution of its pattern, whatever that is. The baseline is the
    mean over all other records, not one choice of them. What is above it is owed to the record: to its own value, or to
    what else the release keeps of the person.

    A guess of a number is right if it lies in the ball around the true value. Its relative error is
    `|guess - y| / |y|`, and at most 1: an error of 100% is as bad as any larger one, and a wrong guess of zero is 1.
    Every measure is taken table by table and averaged. With several tables it is also taken with the tables pooled: the
    guess is then the median over the tables of a record's values (the most frequent level), be it the person's own
    record or another one.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`; the intruder asks for one sensitive column.
    alike
        One per record: of which group it is by what is released unchanged, such as of those who cannot have a wage
        (`molehill.attacks.prediction.group_by_kept`). Another record is one of the same pattern and group; if there
        is no other, one of the group.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 3, "pay": [100.0, 110.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 890.0])
    >>> guess_values(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    Guesses(pay: 66.7% right, 16.7% without)
    """
    view = as_view(data, intruder)
    if len(view.intruder.sensitive) != 1:
        raise InputError("sensitive", "guesses are of one column at a time", "Name one sensitive column")
    column = view.intruder.sensitive[0]
    levels = None if view.numeric else pd.Index(view.table.frame[column].dropna().unique())
    truth = _column_values(view.table, column, levels, "data")
    ends = balls.bounds(view.values, view.radius, view.min_radius) if view.numeric else (truth[:, None], truth[:, None])
    groups = np.zeros(view.records, dtype=np.int64) if alike is None else alike.astype(np.int64)
    wide = int(groups.max(initial=0)) + 1
    codes = view.patterns.codes.astype(np.int64) * wide + groups
    asked = _Asked(truth, ends[0][:, 0], ends[1][:, 0], codes, view.patterns.number * wide, wide, view.part)
    found, own_values, own_patterns = [], [], []
    for reading in read_released(view, released, key):
        values, present = _column_values(reading.table, column, levels, "released"), reading.part
        rows = np.arange(view.records) if reading.rows is None else reading.rows
        rows = np.where(present[rows], rows, -1)
        patterns = np.where(present, reading.patterns, -1).astype(np.int64)
        if wide > 1:
            # A released row is of the group of its own record.
            of = np.full(len(patterns), -1)
            of[rows[rows >= 0]] = groups[rows >= 0]
            patterns = np.where((patterns >= 0) & (of >= 0), patterns * wide + of, -1)
        found.append(_guess(asked, values, patterns, rows))
        own_values.append(np.where(rows >= 0, values[rows], 0.0))
        own_patterns.append(np.where(rows >= 0, patterns[rows], -1))
    # By table: from the own record and without it, right guesses and errors.
    right, error = (np.stack([one[part] for one in found], axis=1) for part in (0, 1))
    # A share of a date means nothing.
    sized = bool(view.numeric) and view.schema[column].kind != "date"
    pooled = None
    if len(found) > 1:
        pooled = _pool_guesses(
            asked, np.stack(own_values), np.stack(own_patterns, dtype=np.int64), numeric=bool(view.numeric)
        )
    by_record = (freeze(np.where(view.part, one, np.nan)) for one in right)
    return Guesses(
        column,
        _gain([one[:, view.part].mean(axis=1) for one in right]),
        _gain([one[:, view.part].mean(axis=1) for one in error], better=-1) if sized else None,
        pooled,
        *by_record,
    )


@dataclass(frozen=True)
class _Asked:
    """The records whose values are guessed: true values, ends of what is right, patterns, and who takes part.

    Patterns that have the same remainder by `groups` are of one group: of another record, if the pattern has none.
    """

    truth: Floats
    low: Floats
    high: Floats
    patterns: Integers
    number: int
    groups: int
    part: Booleans


def _guess(asked: _Asked, values: Floats, patterns: Integers, rows: Integers) -> Floats:
    """Guess from a record's own row (-1: it has none) and from another one of its pattern, each as likely.

    Returns
    -------
    array
        (2, 2, records): of right guesses and of relative errors, that from the own row and the mean over the others.
    """
    among = (rows >= 0) & (patterns[rows] == asked.patterns)
    own = np.where(rows >= 0, values[rows], np.nan)
    found = np.full((2, 2, len(rows)), np.nan)
    about = (asked.truth, asked.low, asked.high)
    _guess_by_others(*about, own, among, asked.patterns, *_sort_patterns(values, patterns, asked.number), found)
    # Who is alone in the pattern is compared with the group, and with everybody.
    for number in (asked.groups, 1):
        alone = np.isnan(found[0, 1])
        if alone.any():
            group, here = asked.patterns % number, np.where(patterns >= 0, patterns % number, -1)
            among, others = (rows >= 0) & (here[rows] == group), np.empty_like(found)
            _guess_by_others(*about, own, among, group, *_sort_patterns(values, here, number), others)
            found[:, 1, alone] = others[:, 1, alone]
    # Who is not in the release can only be guessed without the record.
    found[:, 0] = np.where(rows >= 0, found[:, 0], found[:, 1])
    return found


def _sort_patterns(values: Floats, patterns: Integers, number: int) -> tuple[Floats, Integers]:
    """Sort the values of every pattern, and say where each pattern starts."""
    order = np.lexsort((values, patterns))
    order = order[patterns[order] >= 0]
    return values[order], np.append(0, np.cumsum(np.bincount(patterns[order], minlength=number)))


@njit(nogil=True, cache=True, error_model="numpy")
def _guess_by_others(
    truth: Floats,
    low: Floats,
    high: Floats,
    own: Floats,
    among: Booleans,
    patterns: Integers,
    values: Floats,
    starts: Integers,
    found: Floats,
) -> None:
    """Judge every record's own guess and, by two searches and a sum, all others of its pattern at once."""
    # Sums of the sizes on one side of zero, from zero outwards: no larger value is part of a sum.
    sums = np.zeros(len(values))
    for pattern in range(len(starts) - 1):
        first, last = starts[pattern], starts[pattern + 1]
        for place in range(first, last):
            if values[place] > 0:
                sums[place] = values[place] + (sums[place - 1] if place > first and values[place - 1] > 0 else 0.0)
        for place in range(last - 1, first - 1, -1):
            if values[place] < 0:
                sums[place] = (sums[place + 1] if place < last - 1 and values[place + 1] < 0 else 0.0) - values[place]
    for i in range(len(truth)):
        some, y = values[starts[patterns[i]] : starts[patterns[i] + 1]], truth[i]
        upto = sums[starts[patterns[i]] : starts[patterns[i] + 1]]
        others, size = len(some) - among[i], abs(y)
        right = count_up_to(some, high[i]) - count_below(some, low[i])
        # All are wrong by as much as the value is large, but those between zero and twice the value.
        if y == 0:
            error = float(len(some) - count_up_to(some, y) + count_below(some, y))
        elif y > 0:
            begin, middle = count_up_to(some, 0.0), count_up_to(some, y)
            end = count_up_to(some, 2 * y)
            near = upto[middle - 1] if middle > begin else 0.0
            far = upto[end - 1] if end > begin else 0.0
            error = (y * (middle - begin) - near) + (far - near) - y * (end - middle)
            error = error / size + len(some) - (end - begin)
        else:
            begin, middle = count_below(some, 0.0), count_below(some, y)
            end = count_below(some, 2 * y)
            near = upto[middle] if middle < begin else 0.0
            far = upto[end] if end < begin else 0.0
            error = (size * (begin - middle) - near) + (far - near) - size * (middle - end)
            error = error / size + len(some) - (begin - end)
        mine = 1.0 if low[i] <= own[i] <= high[i] else 0.0
        off = min(abs(own[i] - y) / size, 1.0) if size > 0 else 1.0 * (own[i] != y)
        found[0, 0, i], found[1, 0, i] = mine, off
        if among[i]:
            right -= mine
            error -= off
        found[0, 1, i] = right / others if others > 0 else np.nan
        found[1, 1, i] = max(error, 0.0) / others if others > 0 else np.nan


def _column_values(table: Table, column: str, levels: pd.Index | None, argument: str) -> Floats:
    """Numbers, 0 where missing, or codes of the levels; a level that the confidential table lacks is never right."""
    if levels is None:
        return np.nan_to_num(column_numbers(table, column, argument))
    codes = levels.get_indexer(pd.Index(table.frame[column]))
    return np.where(codes < 0, len(levels), codes).astype(np.float64)


def _pool_guesses(asked: _Asked, values: Floats, patterns: NDArray[np.int64], *, numeric: bool) -> Gain:
    """Guesses by what all tables say of a record: all tables, with intervals from resampled ones."""
    tables, records = values.shape
    pattern = most_frequent(patterns)
    shares = []
    for counts in _taken(tables):
        row = np.repeat(np.arange(tables), counts)
        present = patterns[row] >= 0
        if numeric:
            said = middle(values[row], present)
        else:
            said = most_frequent(np.where(present, values[row], -1).astype(np.int64)).astype(np.float64)
        # Of other tables than these a record may have said something.
        here = np.where(present.any(axis=0), pattern, -1)
        rows = np.where(here >= 0, np.arange(records), -1)
        shares.append(_guess(asked, said, here, rows)[0][:, asked.part].mean(axis=1))
    return _gain(list(np.stack(shares, axis=1)), pooled_tables=tables)


def _gain(values: Sequence[Floats], *, better: int = 1, pooled_tables: int = 0) -> Gain:
    """Give the figure with the record, without it, and how much better it is with it."""
    figures = []
    for found, least in ((values[0], 0.0), (values[1], 0.0), (better * (values[0] - values[1]), -1.0)):
        if pooled_tables:
            figures.append(figure_of_runs(float(found[0]), found[1:], pooled_tables, least=least, most=1.0))
        else:
            figures.append(mean_over_tables(found, least=least, most=1.0))
    return Gain(*figures)


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """What those who look like a person tell of the person.

    Attributes
    ----------
    by_dataset
        (tables, records): the share of the released records with the person's known values that are close to the person
        in all sensitive columns; of all released records, where none has those known values. NaN for who takes no part.
    without
        The same share among the other people of the confidential table: what is known without any release.
    """

    by_dataset: Floats
    without: Floats

    def __repr__(self) -> str:
        return f"Attribution({np.nanmean(self.by_dataset):.3f}, {np.nanmean(self.without):.3f} without the release)"


def attribution(data: Any, released: Any, intruder: Intruder | None = None) -> Attribution:
    """Say how well a person's sensitive values are told by released records that look like the person.

    The intruder knows a person's known columns, looks up the released records that have them, and takes the sensitive
    values of one of these, at random. That is right with the chance c / M, of c that are close among M. It needs no
    record of the person in the release, so that it can be asked of tables of new people, too. The baseline asks the
    other people of the confidential table: (c - 1) / (M - 1). A release that tells of kinds of people, and of no person
    among them, comes out at the baseline; below it where it is smoother than the data.

    Parameters
    ----------
    data, intruder
        The confidential table, as in `confidential_risk`.
    released
        One released table, or a sequence of them, of any number of records.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 105.0, 110.0, 900.0]})
    >>> released = pd.DataFrame({"town": ["A", "A", "B"], "pay": [102.0, 890.0, 5.0]})
    >>> found = attribution(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    >>> found.by_dataset, found.without
    (array([[0.5, 0.5, 0.5, 0.5]]), array([0.66666667, 0.66666667, 0.66666667, 0.        ]))
    """
    view = as_view(data, intruder)
    anybody = replace(view.intruder, known=(), breaks={}).view(view)
    readings = read_released(view, released, linked=False)
    rows = [_share_close(view, anybody, reading) for reading in readings]
    size, everyone = view.size, int(view.part.sum())
    own = _count_close(view, view.values, view.cells) - 1
    # Who is alone among the known values can only be compared with all others.
    alone = size < 2
    without = own / np.maximum(size - 1, 1)
    if alone.any():
        own = _count_close(anybody, anybody.values, anybody.cells) - 1
        without = np.where(alone, own / max(everyone - 1, 1), without)
    return Attribution(freeze(np.stack(rows)), freeze(np.where(view.part, without, np.nan)))


def _share_close(view: View, anybody: View, reading: Reading) -> Floats:
    size = reading.size
    close = _count_close(view, reading.values, reading.cells) / np.maximum(size, 1)
    if (size == 0).any():
        other = read_released(anybody, [reading])[0]
        among_all = _count_close(anybody, other.values, other.cells) / max(int(other.part.sum()), 1)
        close = np.where(size == 0, among_all, close)
    return np.where(view.part, close, np.nan)


def _count_close(view: View, values: Floats, cells: Integers) -> Floats:
    """Count the records of a table, its values and cells, in the box around every confidential record."""
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    around = balls.sort_cells(view.values, balls.group(view.cells, view.by_cell.number))
    points = balls.group(cells, view.by_cell.number)
    return np.asarray(balls.count_within([values], points, low, high, around)[0], dtype=np.float64)
