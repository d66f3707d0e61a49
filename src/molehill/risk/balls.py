"""Who is within whose ball.

A *ball* is a box around a record's values: in every column the closed interval `[y - reach, y + reach]` with
`reach = max(radius * |y|, floor)`. A *cell* is a set of records that can be close at all: the same pattern and
the same values of the categorical sensitive columns. All work happens within cells, so a cell can be worked
on alone, in any thread, and no array is ever larger than (records, columns).

One column is sorted and swept: n log n for any order. Two columns are swept with a Fenwick tree over the
ranks of the second: n log n. More are scanned, in parallel, within the window that the narrowest column leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats, Integers
from molehill.risk import kernels
from molehill.runtime import in_threads, workers

# Below this many records a second thread costs more than it saves.
_SMALL = 50_000


@dataclass(frozen=True)
class Grouped:
    """Records gathered by cell: those of cell `c` are `records[starts[c]:starts[c + 1]]`."""

    records: Integers
    starts: Integers


@dataclass(frozen=True)
class Coverage:
    """What the balls of a table cover.

    `within` counts, for every record, the records of its cell in its ball. `inside` sums over those, and `total`
    over the whole of each cell, the share of sets of `order - 1` other records of the pattern that leave a
    record uncovered.
    """

    within: NDArray[np.int32] | NDArray[np.int64]
    inside: Floats
    total: Floats


def group(cells: Integers, number: int) -> Grouped:
    """Gather the records of each of `number` cells; a record of cell -1 is in none."""
    layout = _lay_out(cells, number)
    records = np.empty(layout.starts[-1], dtype=count_type(len(cells)))

    def list_records(block: int, first: int, last: int) -> None:
        kernels.group(cells, first, last, layout.places[block].copy(), records)

    _over_blocks(list_records, layout.edges)
    return Grouped(records, layout.starts)


def sort_cells(values: Floats, grouped: Grouped) -> Grouped:
    """List the records of every cell by their first column."""
    if values.shape[1] == 0:
        return grouped
    line, records, starts = values[:, 0], grouped.records.copy(), grouped.starts
    _over_cells(lambda first, last: kernels.sort_cells(line, records, starts, first, last), starts)
    return Grouped(records, starts)


def bounds(values: Floats, radius: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """Lower and upper ends of every record's ball, each (records, columns)."""
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
    """Cover every record of a table with the balls of its cell, for any order.

    Parameters
    ----------
    values
        Numeric sensitive values, (records, columns); without a column all of a cell is close.
    cells
        The cell of every record, -1 for one that takes no part.
    size, order
        For every cell, how many records its pattern has, and the order to work out there (at most that).
    radius, floor
        For every column; see `bounds`.
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
    """Count, for every ball, the points of its cell in it: (tables, balls).

    Parameters
    ----------
    tables
        The points of one or more tables, each (points, columns), that have the same cells.
    grouped
        The points by cell.
    low, high
        Ends of the balls, each (balls, columns).
    balls
        The balls by cell; must come from `sort_cells` of their middles.
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
    """Type of numbers that count records: large tables are as fast as memory is, and most need half of it."""
    return np.int32 if records < 2**31 else np.int64


@dataclass(frozen=True)
class _Layout:
    """Records laid out by cell: where each cell starts, and in blocks of records where the block's own part of it does.

    Block `b` is the records from `edges[b]` to `edges[b + 1]`; its first record of cell `c` belongs at `places[b, c]`.
    """

    starts: NDArray[np.int64]
    edges: list[int]
    places: NDArray[np.int64]


def _lay_out(cells: Integers, number: int) -> _Layout:
    # A block costs a number per cell: with few records to a cell there is only one.
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
    """Gather the only column of every table for some cells, (tables, records), and sort it within each cell."""
    ends = grouped.starts[first : last + 1] - grouped.starts[first]
    records = grouped.records[grouped.starts[first] : grouped.starts[last]]
    lines = np.empty((len(tables), len(records)))
    for points, line in zip(tables, lines, strict=True):
        kernels.gather(points, records, line)
    if len(records) < 32 * (last - first):
        kernels.sort_lines(lines, ends)
    else:
        # NumPy's sort is vectorised: worth a call each where cells are not small.
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
    """Run `kernel(first, last)` over blocks of cells of about the same number of records, in threads."""
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
    # The zero at the end is of no cell: a cell has the same sum wherever it lies.
    result.total[:] = np.add.reduceat(np.append(weight, 0.0), starts)[:-1] * (np.diff(starts) > 0)


def _narrowest_first(values: Floats, grouped: Grouped, ends: tuple[Floats, Floats]) -> list[int]:
    """Order the columns by how many records the intervals of each hold, all together: the first one bounds the scan."""
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
    """Sum the weights (or count) of the points in every box, and count the boxes over every point."""
    first, last = np.empty(len(low), dtype=np.int64), np.empty(len(low), dtype=np.int64)
    kernels.find_windows(points[:, 0], starts, low[:, 0], high[:, 0], ball_starts, first, last)
    weight = np.ones(len(points)) if weight is None else weight
    parts = workers() if len(low) >= 1000 else 1
    sums, covers = np.zeros(len(low)), np.zeros((parts, len(points)), dtype=np.int64)

    def scan(part: int) -> None:
        kernels.scan_space(points, low, high, first, last, weight, part, parts, sums, covers[part])

    in_threads(scan, [(part,) for part in range(parts)])
    return sums, covers.sum(axis=0)
