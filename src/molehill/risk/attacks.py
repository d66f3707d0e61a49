"""Intruders who combine all datasets, guess a sensitive value, or look up records that share the key variables."""

from collections.abc import Sequence
from dataclasses import dataclass
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

# Maximum number of comparisons of a record with a candidate; with more, records are sampled.
_MOST_COMPARISONS = 400_000_000
# Resampled runs for the intervals.
_RUNS = 20


@dataclass(frozen=True, eq=False, repr=False)
class PooledRisk:
    """Identification risk of an intruder who combines all datasets.

    Attributes
    ----------
    risk
        One per record: its risk in the dataset of medians over the released datasets (for a category, modes).
    mean
        Mean of that risk, with its interval over datasets.
    right_picks
        Match rate of the intruder who sums the match probability of every candidate over the datasets and picks the
        candidate with the highest sum; with its interval over datasets.
    targets
        Number of records over which that rate was computed.
    """

    risk: Floats
    mean: Figure
    right_picks: Figure
    targets: int

    def __repr__(self) -> str:
        return f"PooledRisk(mean risk {self.mean.value:.4f}, match rate {self.right_picks.value:.4f})"


@dataclass(frozen=True, eq=False)
class _Own:
    """The released counterparts of every confidential record in all datasets: cells and values, datasets first."""

    cells: NDArray[np.int64]
    values: Floats


def pooled_risk(data: Any, released: Any, intruder: Intruder | None = None, *, key: str | None = None) -> PooledRisk:
    """Measure the risk from an intruder who combines all datasets.

    Partially synthetic datasets contain the same records, which can be linked by position or by unchanged variables.
    Two attacks are measured. The first takes the median of every record's released values and compares it with the
    true value, as in `release_risk`. The second gives, in every dataset, each of the c records that are close to the
    true value the probability 1/c, sums these over the datasets, and picks the record with the highest sum (one of
    them at random in case of ties).

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`. A record unique in its pattern, and close, has risk 1.

    References
    ----------
    Reiter and Mitra, Estimating Risks of Identification Disclosure in Partially Synthetic Data (2009), for the sum of
    probabilities over the datasets.

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
    """Compute only the mean risk of `pooled_risk`, without the second attack."""
    view = as_view(data, intruder)
    return _tell_medians(view, _gather(read_released(view, released, key)))[1]


def _gather(readings: Sequence[Reading]) -> _Own:
    return _Own(
        np.stack([np.asarray(reading.own_cells, dtype=np.int64) for reading in readings]),
        np.stack([reading.own_values for reading in readings]),
    )


def _tell_medians(view: View, own: _Own) -> tuple[Floats, Figure]:
    """Risk of every record in the dataset of medians, and its mean with an interval over datasets."""
    by_row = _risk_of_medians(view, own)
    means = by_row[:, view.part].mean(axis=1)
    return freeze(np.where(view.part, by_row[0], np.nan)), _over_tables(means, len(own.cells))


def _over_tables(found: Floats, tables: int) -> Figure:
    return figure_of_runs(float(found[0]), found[1:], tables, least=0.0, most=1.0)


def most_frequent(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the most frequent non-negative code of every column, the lowest in case of ties; -1 if there is none.

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
    """Median over the first axis of the values that are present; 0 where there is none."""
    if present.all():
        return np.median(values, axis=0)
    # Missing values are sorted to the end.
    ordered = np.sort(np.where(present, values, np.inf), axis=0)
    number = present.sum(axis=0)
    low, high = np.maximum(number - 1, 0) // 2, np.minimum(number // 2, len(values) - 1)
    ends = [np.take_along_axis(ordered, place[None], axis=0)[0] for place in (low, high)]
    return np.where(number > 0, sum(ends) / 2, 0.0)


def _taken(tables: int) -> NDArray[np.int64]:
    """(rows, datasets): how often each dataset counts: once in the first row, as resampled in the others."""
    once = np.ones((1, tables), dtype=np.int64)
    return np.concatenate([once, resampled_counts(tables)[:_RUNS]]) if tables > 1 else once


def _risk_of_medians(view: View, own: _Own) -> Floats:
    """Risk of every record in the dataset of medians: of all datasets in the first row, then of resampled ones."""
    # The usual integer type, so that no kernel is compiled for another one.
    cells = most_frequent(own.cells).astype(view.cells.dtype)
    # If values may be missing, only the datasets in which the most frequent cell occurs are used.
    used = own.cells >= 0 if view.complete else own.cells == cells
    present = np.broadcast_to(used[:, :, None], own.values.shape)
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
    """Match rate with all datasets, then with resampled ones; and the number of records used."""
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
            # Contiguous, so that no kernel is compiled for another memory layout.
            values = np.ascontiguousarray(own.values[:, members])
            here = np.ascontiguousarray(own.cells[:, members] == cell)
            _count_picks(values, here, low[wanted], high[wanted], places, taken, right)
    return right / max(len(targets), 1), len(targets)


def _candidates(cells: NDArray[np.int64], number: int) -> list[Integers]:
    """Records that are in each cell in any of the datasets."""
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
    """Add the expected number of correct picks among the candidates of one cell, for every row of `taken`."""
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
            # Sums of the same fractions may differ in the last digit; records that are never close are not picked.
            least = max(most - 1e-9, 1e-9)
            for member in range(number):
                picked += score[member] >= least
            if places[target] >= 0 and score[places[target]] >= least:
                right[row] += 1.0 / picked


@njit(nogil=True, cache=True, error_model="numpy")
def _divide_pick(values: Floats, here: Booleans, low: Floats, high: Floats, close: Floats) -> None:
    """Divide the probability 1 equally among the close candidates of one dataset."""
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
    """A rate from the record's own released value, the leave-one-out rate, and their difference, the gain."""

    own: Figure
    without: Figure
    gain: Figure


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """Attribution of one sensitive variable.

    Attributes
    ----------
    column
        The variable.
    right
        Correct attribution rate: guesses within the radius, or of the same category.
    error
        Mean relative error of a guess; None for a category.
    pooled
        Correct attribution rate if all datasets are combined; None for one dataset.
    own, without
        (datasets, records): 1 where the record's own released value is correct; and the share of the other released
        records of its pattern that are. NaN for a record that is left out.
    """

    column: str
    right: Gain
    error: Gain | None
    pooled: Gain | None
    own: Floats
    without: Floats

    def __repr__(self) -> str:
        return f"Guesses({self.column}: {np.nanmean(self.own):.1%} correct, {np.nanmean(self.without):.1%} without)"


def guess_values(
    data: Any,
    released: Any,
    intruder: Intruder | None = None,
    *,
    key: str | None = None,
    alike: Integers | None = None,
) -> Guesses:
    """Compare attribution of a sensitive value from the record's own released value with attribution without it.

    The intruder has linked a person to a released record by unchanged variables, and takes its value for the true one.
    The baseline intruder takes the value of another released record of the pattern at random; if there is none, of any
    other record. The baseline rate is computed exactly, as the mean over all other records. The gain is 0 on average
    if every value is drawn from the distribution of its pattern; a positive gain is due to the record's own value, or
    to other information about the person in the release.

    A guess of a number is correct if it lies within the radius of the true value. Its relative error is
    `|guess - y| / |y|`, at most 1; a wrong guess of zero has error 1. Rates are computed by dataset and averaged. With
    several datasets they are also computed with all datasets combined: the guess is then the median (or mode) over the
    datasets of a record's values.

    Parameters
    ----------
    data, released, intruder, key
        As in `release_risk`, with one sensitive variable.
    alike
        One per record: a group by unchanged variables, for example respondents who cannot have a wage
        (`molehill.attacks.prediction.group_by_kept`). The baseline then uses records of the same pattern and group or,
        if there is none, of the group.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 3, "pay": [100.0, 110.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 890.0])
    >>> guess_values(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    Guesses(pay: 66.7% correct, 16.7% without)
    """
    view = as_view(data, intruder)
    if len(view.intruder.sensitive) != 1:
        raise InputError("sensitive", "attribution needs exactly one variable", "Name one sensitive variable")
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
            # A released row has the group of its own record.
            of = np.full(len(patterns), -1)
            of[rows[rows >= 0]] = groups[rows >= 0]
            patterns = np.where((patterns >= 0) & (of >= 0), patterns * wide + of, -1)
        found.append(_guess(asked, values, patterns, rows))
        own_values.append(np.where(rows >= 0, values[rows], 0.0))
        own_patterns.append(np.where(rows >= 0, patterns[rows], -1))
    # By dataset: correct guesses and errors, from the own record and without it.
    right, error = (np.stack([one[part] for one in found], axis=1) for part in (0, 1))
    # Relative errors do not apply to dates.
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
    """The records whose values are guessed: true values, bounds of a correct guess, patterns, and who is included.

    Patterns with the same remainder modulo `groups` belong to one group.
    """

    truth: Floats
    low: Floats
    high: Floats
    patterns: Integers
    number: int
    groups: int
    part: Booleans


def _guess(asked: _Asked, values: Floats, patterns: Integers, rows: Integers) -> Floats:
    """Judge guesses from a record's own row (-1: none) and, on average, from the other rows of its pattern.

    Returns
    -------
    array
        (2, 2, records): correct guesses and relative errors, from the own row and the mean over the others.
    """
    among = (rows >= 0) & (patterns[rows] == asked.patterns)
    own = np.where(rows >= 0, values[rows], np.nan)
    found = np.full((2, 2, len(rows)), np.nan)
    about = (asked.truth, asked.low, asked.high)
    _guess_by_others(*about, own, among, asked.patterns, *_sort_patterns(values, patterns, asked.number), found)
    # A record unique in its pattern is compared with its group, or else with all records.
    for number in (asked.groups, 1):
        alone = np.isnan(found[0, 1])
        if alone.any():
            group, here = asked.patterns % number, np.where(patterns >= 0, patterns % number, -1)
            among, others = (rows >= 0) & (here[rows] == group), np.empty_like(found)
            _guess_by_others(*about, own, among, group, *_sort_patterns(values, here, number), others)
            found[:, 1, alone] = others[:, 1, alone]
    # A record that is not in the release has no own value.
    found[:, 0] = np.where(rows >= 0, found[:, 0], found[:, 1])
    return found


def _sort_patterns(values: Floats, patterns: Integers, number: int) -> tuple[Floats, Integers]:
    """Sort the values of every pattern; return them with the start of each pattern."""
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
    """Judge every record's own guess and, by binary search and cumulative sums, all others of its pattern at once."""
    # Cumulative absolute values from zero outwards, so that no larger value enters a sum.
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
        # The relative error is 1 except for guesses between zero and twice the value.
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
    """Numbers, 0 where missing, or level codes; an unknown level is never correct."""
    if levels is None:
        return np.nan_to_num(column_numbers(table, column, argument))
    codes = levels.get_indexer(pd.Index(table.frame[column]))
    return np.where(codes < 0, len(levels), codes).astype(np.float64)


def _pool_guesses(asked: _Asked, values: Floats, patterns: NDArray[np.int64], *, numeric: bool) -> Gain:
    """Guesses from all datasets combined, with intervals from resampled datasets."""
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
        # A record may be missing from all resampled datasets.
        here = np.where(present.any(axis=0), pattern, -1)
        rows = np.where(here >= 0, np.arange(records), -1)
        shares.append(_guess(asked, said, here, rows)[0][:, asked.part].mean(axis=1))
    return _gain(list(np.stack(shares, axis=1)), pooled_tables=tables)


def _gain(values: Sequence[Floats], *, better: int = 1, pooled_tables: int = 0) -> Gain:
    """Figures with the record, without it, and of their difference."""
    figures = []
    for found, least in ((values[0], 0.0), (values[1], 0.0), (better * (values[0] - values[1]), -1.0)):
        if pooled_tables:
            figures.append(figure_of_runs(float(found[0]), found[1:], pooled_tables, least=least, most=1.0))
        else:
            figures.append(mean_over_tables(found, least=least, most=1.0))
    return Gain(*figures)


@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """Attribution by released records that share the person's key variables.

    Attributes
    ----------
    by_dataset
        (datasets, records): share of the released records of the person's pattern that are close to the person in all
        sensitive variables; of all released records if the pattern is not released. NaN for a record left out.
    without
        The same share among the other records of the confidential data: the baseline.
    """

    by_dataset: Floats
    without: Floats

    def __repr__(self) -> str:
        return f"Attribution({np.nanmean(self.by_dataset):.3f}, {np.nanmean(self.without):.3f} without the release)"


def attribution(data: Any, released: Any, intruder: Intruder | None = None) -> Attribution:
    """Measure attribution by released records that share a person's key variables.

    The intruder takes the sensitive values of a released record of the person's pattern at random, which is correct
    with probability c / M, where c of M are close. The person's own record is not needed, so that this also applies to
    fully synthetic data. The baseline is (c - 1) / (M - 1) among the other records of the confidential data. A release
    that reproduces the population but no individual record is at the baseline, or below it if it is smoother.

    Parameters
    ----------
    data, intruder
        The confidential data, as in `confidential_risk`.
    released
        One released dataset, or a sequence of them, of any number of records.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 105.0, 110.0, 900.0]})
    >>> released = pd.DataFrame({"town": ["A", "A", "B"], "pay": [102.0, 890.0, 5.0]})
    >>> found = attribution(data, released, Intruder(known="town", sensitive="pay", radius=0.1))
    >>> found.by_dataset, found.without
    (array([[0.5, 0.5, 0.5, 0.5]]), array([0.66666667, 0.66666667, 0.66666667, 0.        ]))
    """
    view = as_view(data, intruder)
    anybody = view.without_known
    readings = read_released(view, released, linked=False)
    rows = [_share_close(view, anybody, reading) for reading in readings]
    size, everyone = view.size, int(view.part.sum())
    own = _count_close(view, view.values, view.cells) - 1
    # A record unique in its pattern is compared with all others.
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
    """Count the records of a dataset (its values and cells) that are close to every confidential record."""
    low, high = balls.bounds(view.values, view.radius, view.min_radius)
    around = balls.sort_cells(view.values, balls.group(view.cells, view.by_cell.number))
    points = balls.group(cells, view.by_cell.number)
    return np.asarray(balls.count_within([values], points, low, high, around)[0], dtype=np.float64)
