"""Counts of close neighbours: which records lie within the radius of each other.

A *ball* is a box around a record's values: in every variable the closed interval `[y - reach, y + reach]` with
`reach = max(radius * |y|, min_radius)`. A *cell* is a set of records that can be close at all: those of one pattern
with the same values of the categorical sensitive variables. All work is done within cells, which run in threads, and
no array is larger than (records, variables).

One variable is sorted and swept in O(n log n) for any order; two are swept with a Fenwick tree over the ranks of the
second, in O(n log n); three or more are scanned in parallel within the window of the most selective variable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats, Integers
from molehill.risk import kernels
from molehill.runtime import in_threads, workers

# Below this number of records, threads cost more than they save.
_SMALL = 50_000


@dataclass(frozen=True)
class Grouped:
    """Records by cell: those of cell `c` are `records[starts[c]:starts[c + 1]]`."""

    records: Integers
    starts: Integers


@dataclass(frozen=True)
class Coverage:
    """Close neighbours of every record.

    `within` counts the records of a record's cell within its ball. `inside` sums over those, and `total` over the whole
    cell, the share of sets of `order - 1` other records of the pattern that have no ball around a record.
    """

    within: NDArray[np.int32] | NDArray[np.int64]
    inside: Floats
    total: Floats


def group(cells: Integers, number: int) -> Grouped:
    """List the records of each of `number` cells; -1 is no cell."""
    layout = _lay_out(cells, number)
    records = np.empty(layout.starts[-1], dtype=count_type(len(cells)))

    def list_records(block: int, first: int, last: int) -> None:
        kernels.group(cells, first, last, layout.places[block].copy(), records)

    _over_blocks(list_records, layout.edges)
    return Grouped(records, layout.starts)


def sort_cells(values: Floats, grouped: Grouped) -> Grouped:
    """Sort the records of every cell by their first variable."""
    if values.shape[1] == 0:
        return grouped
    line, records, starts = values[:, 0], grouped.records.copy(), grouped.starts
    _over_cells(lambda first, last: kernels.sort_cells(line, records, starts, first, last), starts)
    return Grouped(records, starts)


def bounds(values: Floats, radius: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Lower and upper ends of every record's ball, each (records, variables)."""
    reach = np.maximum(np.abs(values) * radius, floor)
    return values - reach, values + reach


def cover(
    values: Floats,
    cells: Integers,
    *,
    size: Integers,
    order: Integers,
    radius: Floats,
    floor: Floats,
) -> Coverage:
    """Count the close neighbours of every record, and sum the shares that risk of any order needs.

    Parameters
    ----------
    values
        Numeric sensitive values, (records, variables); without a variable all records of a cell are close.
    cells
        The cell of every record, -1 for one that is left out.
    size, order
        For every cell, the size of its pattern and the order to compute.
    radius, floor
        Relative and minimum radius of every variable.
    """
    records, columns = values.shape
    result = Coverage(np.zeros(records, dtype=count_type(records)), np.zeros(records), np.zeros(len(size)))
    if columns == 1:
        _cover_lines(values[:, 0], cells, size, order, (radius[0], floor[0]), result)
        return result
    grouped = group(cells, len(size))
    if columns == 0:
        _cover_whole_cells(grouped, size, order, result)
    elif columns == 2:
        shared = (values, grouped.records, grouped.starts, size, order, radius, floor)
        out = (result.within, result.inside, result.total)
        _over_cells(lambda first, last: kernels.cover_plane(*shared, first, last, *out), grouped.starts)
    else:
        _cover_space(values, grouped, size, order, bounds(values, radius, floor), result)
    return result


def count_within(
    tables: Sequence[Floats], grouped: Grouped, low: Floats, high: Floats, balls: Grouped
) -> NDArray[np.int32]:
    """Count the points of its cell that lie in every ball: (datasets, balls).

    Parameters
    ----------
    tables
        The points of one or more datasets with the same cells, each (points, variables).
    grouped
        The points by cell.
    low, high
        Ends of the balls, each (balls, variables).
    balls
        The balls by cell, from `sort_cells` of their centres.
    """
    counts = np.zeros((len(tables), len(low)), dtype=np.int32)
    columns = tables[0].shape[1]
    shared = (low, high, balls.records, balls.starts)
    if columns == 0:
        counts[:, balls.records] = np.repeat(np.diff(grouped.starts), np.diff(balls.starts))
    elif columns == 1:

        def count(first: int, last: int) -> None:
            lines = _sorted_lines(tables, grouped, first, last)
            kernels.count_lines(lines, grouped.starts, *shared, first, last, counts)

        _over_cells(count, grouped.starts, rows=len(tables))
    else:
        for points, row in zip(tables, counts, strict=True):
            _count_boxes(points, sort_cells(points, grouped), shared, row)
    return counts


def count_type(records: int) -> type[np.int32] | type[np.int64]:
    """Integer type for counts of records: large data are limited by memory bandwidth."""
    return np.int32 if records < 2**31 else np.int64


@dataclass(frozen=True)
class _Layout:
    """Positions of records sorted by cell, computed for blocks of records in threads.

    Block `b` is the records from `edges[b]` to `edges[b + 1]`; its first record of cell `c` belongs at `places[b, c]`.
    """

    starts: NDArray[np.int64]
    edges: list[int]
    places: NDArray[np.int64]


def _lay_out(cells: Integers, number: int) -> _Layout:
    # A block needs one number per cell: with few records per cell there is only one block.
    edges = _record_edges(len(cells)) if number * 32 < len(cells) else [0, len(cells)]
    counts = np.zeros((len(edges) - 1, number), dtype=np.int64)
    _over_blocks(lambda block, first, last: kernels.count_cells(cells[first:last], counts[block]), edges)
    starts = np.zeros(number + 1, dtype=np.int64)
    np.cumsum(counts.sum(axis=0), out=starts[1:])
    return _Layout(starts, edges, starts[:-1] + counts.cumsum(axis=0) - counts)


def over_records(kernel: Callable[[int, int], None], records: int) -> None:
    """Run `kernel(first, last)` over blocks of records, in threads."""
    _over_blocks(lambda _, first, last: kernel(first, last), _record_edges(records))


def _record_edges(records: int) -> list[int]:
    blocks = workers() if records >= _SMALL else 1
    return np.linspace(0, records, blocks + 1).astype(int).tolist()


def _over_blocks(kernel: Callable[[int, int, int], None], edges: list[int]) -> None:
    """Run `kernel(block, first, last)` for every block between two edges, in threads."""
    in_threads(kernel, [(block, *ends) for block, ends in enumerate(pairwise(edges))])


def _sorted_lines(tables: Sequence[Floats], grouped: Grouped, first: int, last: int) -> Floats:
    """Values of some cells in every dataset, (datasets, records), sorted within each cell."""
    ends = grouped.starts[first : last + 1] - grouped.starts[first]
    records = grouped.records[grouped.starts[first] : grouped.starts[last]]
    lines = np.empty((len(tables), len(records)))
    for points, line in zip(tables, lines, strict=True):
        kernels.gather(points, records, line)
    if len(records) < 32 * (last - first):
        kernels.sort_lines(lines, ends)
    else:
        # NumPy's vectorized sort is faster for large cells.
        for start, end in pairwise(ends.tolist()):
            lines[:, start:end].sort(axis=1)
    return lines


def _count_boxes(
    points: Floats, ordered: Grouped, shared: tuple[Floats, Floats, Integers, Integers], counts: NDArray[np.int32]
) -> None:
    low, high, balls, ball_starts = shared
    if points.shape[1] == 2:

        def count(first: int, last: int) -> None:
            kernels.count_plane(points, ordered.records, ordered.starts, *shared, first, last, counts)

        _over_cells(count, ball_starts)
    else:
        sums, _ = _scan(points[ordered.records], ordered.starts, low[balls], high[balls], ball_starts)
        counts[balls] = sums


def _over_cells(kernel: Callable[[int, int], None], starts: Integers, rows: int = 1) -> None:
    """Run `kernel(first, last)` over blocks of cells with similar numbers of records, in threads."""
    cells, records = len(starts) - 1, int(starts[-1])
    if records * rows < _SMALL or workers() == 1:
        kernel(0, cells)
        return
    blocks = workers() if records < _SMALL else 4 * workers()
    edges = np.unique(np.searchsorted(starts, np.linspace(0, records, blocks + 1))).tolist()
    in_threads(kernel, list(pairwise(edges)))


def _cover_whole_cells(grouped: Grouped, size: Integers, order: Integers, result: Coverage) -> None:
    number = np.diff(grouped.starts)
    result.total[:] = number * kernels.miss_by_record(size, number, order)
    result.within[grouped.records] = np.repeat(number, number)
    result.inside[grouped.records] = np.repeat(result.total, number)


def _cover_lines(
    column: Floats, cells: Integers, size: Integers, order: Integers, reach: tuple[float, float], result: Coverage
) -> None:
    layout = _lay_out(cells, len(size))
    starts, places = layout.starts, layout.places
    line, counts = np.empty(starts[-1]), np.empty(starts[-1], dtype=count_type(len(cells)))

    def spread(block: int, first: int, last: int) -> None:
        kernels.spread(column, cells, first, last, places[block].copy(), line)

    def cover_cells(first: int, last: int) -> None:
        kernels.cover_line(line, counts, starts, size, order, *reach, first, last, result.total)

    def collect(block: int, first: int, last: int) -> None:
        kernels.collect(counts, line, cells, first, last, places[block].copy(), result.within, result.inside)

    _over_blocks(spread, layout.edges)
    _over_cells(cover_cells, starts)
    _over_blocks(collect, layout.edges)


def _cover_space(
    values: Floats,
    grouped: Grouped,
    size: Integers,
    order: Integers,
    ends: tuple[Floats, Floats],
    result: Coverage,
) -> None:
    narrow = _narrowest_first(values, grouped, ends)
    values, low, high = values[:, narrow], ends[0][:, narrow], ends[1][:, narrow]
    ordered = sort_cells(values, grouped)
    records, starts = ordered.records, ordered.starts
    sorted_arguments = (values[records], starts, low[records], high[records], starts)
    counts, covers = _scan(*sorted_arguments)
    cell = np.repeat(np.arange(len(size)), np.diff(starts))
    weight = kernels.miss_by_record(size[cell], covers, order[cell])
    result.within[records] = counts
    result.inside[records] = _scan(*sorted_arguments, weight=weight)[0] if (order > 1).any() else counts
    # With a zero at the end, `reduceat` sums the last cell like any other.
    result.total[:] = np.add.reduceat(np.append(weight, 0.0), starts)[:-1] * (np.diff(starts) > 0)


def _narrowest_first(values: Floats, grouped: Grouped, ends: tuple[Floats, Floats]) -> list[int]:
    """Order the variables by the total number of records within all intervals: the most selective limits the scan."""
    held = []
    for column in range(values.shape[1]):
        line, low, high = (array[:, [column]] for array in (values, *ends))
        ordered = sort_cells(line, grouped)
        held.append(int(count_within([line], grouped, low, high, ordered).sum(dtype=np.int64)))
    return np.argsort(np.array(held, dtype=np.int64), kind="stable").tolist()


def _scan(
    points: Floats,
    starts: Integers,
    low: Floats,
    high: Floats,
    ball_starts: Integers,
    weight: Floats | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """Sum the weights (default 1) of the points in every box, and count the boxes around every point."""
    first, last = np.empty(len(low), dtype=np.int64), np.empty(len(low), dtype=np.int64)
    kernels.find_windows(points[:, 0], starts, low[:, 0], high[:, 0], ball_starts, first, last)
    weight = np.ones(len(points)) if weight is None else weight
    parts = workers() if len(low) >= 1000 else 1
    sums, covers = np.zeros(len(low)), np.zeros((parts, len(points)), dtype=np.int64)

    def scan(part: int) -> None:
        kernels.scan_space(points, low, high, first, last, weight, part, parts, sums, covers[part])

    in_threads(scan, [(part,) for part in range(parts)])
    return sums, covers.sum(axis=0)
