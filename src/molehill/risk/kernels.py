"""Compiled loops behind `molehill.risk.balls`: plain arrays in, plain arrays filled.

Every function releases the interpreter's lock, so blocks of cells run in threads, and is compiled once per
machine (cached). The records of cell `c` are `records[starts[c]:starts[c + 1]]`.
"""

import numpy as np
from numba import njit

from molehill.sorting import count_below, count_up_to, order_of

_compiled = njit(nogil=True, cache=True, error_model="numpy")


@_compiled
def count_cells(cells, counts):
    """Count the records of each cell; -1 is in no cell."""
    for cell in cells:
        if cell >= 0:
            counts[cell] += 1


# Values laid out by cell: `place` is where the first record of each cell, from record `first` on, belongs. Records are
# read in order, which is fast.


@_compiled
def group(cells, first, last, place, records):
    """List the records of every cell."""
    for record in range(first, last):
        cell = cells[record]
        if cell >= 0:
            records[place[cell]] = record
            place[cell] += 1


@_compiled
def sort_cells(line, records, starts, first_cell, last_cell):
    """Order the records of each cell by `line`, in place."""
    for cell in range(first_cell, last_cell):
        begin, number = starts[cell], starts[cell + 1] - starts[cell]
        points, members = np.empty(number), np.empty(number, records.dtype)
        for i in range(number):
            members[i] = records[begin + i]
            points[i] = line[members[i]]
        order = order_of(points)
        for i in range(number):
            records[begin + i] = members[order[i]]


@_compiled
def find_ends(points, low, high, first, last):
    """Find, for every interval, the sorted points within it: `points[first:last]`.

    The lower ends must be sorted, and the upper ends too. Those of balls are, for any relative radius up to 1, when the
    balls are sorted by their centre. Two branch-free merges: each step advances by one point or one interval.
    """
    intervals, number = len(low), len(points)
    i = p = j = q = 0
    while i < intervals and p < number and j < intervals and q < number:
        first[i] = p
        last[j] = q
        below = points[p] < low[i]
        up_to = points[q] <= high[j]
        p += below
        i += 1 - below
        q += up_to
        j += 1 - up_to
    while i < intervals:
        while p < number and points[p] < low[i]:
            p += 1
        first[i] = p
        i += 1
    while j < intervals:
        while q < number and points[q] <= high[j]:
            q += 1
        last[j] = q
        j += 1


@_compiled
def miss_in_cell(size, cover, order):
    """Share of the sets of `order - 1` other records of a pattern whose balls all miss a record, for one cell.

    `cover` counts the balls that contain each record. The loops are ordered so that they vectorize.
    """
    share = np.ones(len(cover))
    for j in range(order - 1):
        inverse = 1.0 / (size - 1 - j) if size - 1 > j else 0.0
        for i in range(len(cover)):
            share[i] *= max(size - 1.0 - j - cover[i], 0.0) * inverse
    return share


@_compiled
def sum_prefixes(weight):
    """Prefix sums with Neumaier's correction, accurate to the last bit or two."""
    prefix = np.empty(len(weight) + 1)
    prefix[0] = total = carry = 0.0
    for i in range(len(weight)):
        new = total + weight[i]
        # Weights are not negative, so the total is the larger term except at the start.
        carry += (total - new) + weight[i] if total >= weight[i] else (weight[i] - new) + total
        total = new
        prefix[i + 1] = total + carry
    return prefix


@_compiled
def spread(column, cells, first, last, place, line):
    """Lay a variable out by cell."""
    for record in range(first, last):
        cell = cells[record]
        if cell >= 0:
            line[place[cell]] = column[record]
            place[cell] += 1


@_compiled
def collect(counts, line, cells, first, last, place, within, inside):
    """Copy values laid out by cell back to the records."""
    for record in range(first, last):
        cell = cells[record]
        if cell >= 0:
            within[record] = counts[place[cell]]
            inside[record] = line[place[cell]]
            place[cell] += 1


@_compiled
def cover_line(line, counts, starts, size, order, radius, floor, first_cell, last_cell, total):
    """Coverage of one variable by sorting, a difference array and prefix sums.

    `line` holds the points laid out by cell, and on return the sum inside each ball; `counts` is filled.
    """
    for cell in range(first_cell, last_cell):
        begin, end = starts[cell], starts[cell + 1]
        number = end - begin
        by_value = order_of(line[begin:end])
        points, low, high = np.empty(number), np.empty(number), np.empty(number)
        for i in range(number):
            points[i] = line[begin + by_value[i]]
            reach = max(abs(points[i]) * radius, floor)
            low[i], high[i] = points[i] - reach, points[i] + reach
        first, last = np.empty(number, np.int64), np.empty(number, np.int64)
        find_ends(points, low, high, first, last)
        for i in range(number):
            counts[begin + by_value[i]] = last[i] - first[i]
        if order[cell] == 1:
            for i in range(begin, end):
                line[i] = counts[i]
            total[cell] = number
            continue
        steps = np.zeros(number + 1, np.int64)
        for i in range(number):
            steps[first[i]] += 1
            steps[last[i]] -= 1
        cover = 0
        covers = low
        for i in range(number):
            cover += steps[i]
            covers[i] = cover
        prefix = sum_prefixes(miss_in_cell(size[cell], covers, order[cell]))
        for i in range(number):
            line[begin + by_value[i]] = prefix[last[i]] - prefix[first[i]]
        total[cell] = prefix[number]


@_compiled
def rank_plane(points, low, high):
    """Rank the second variable: each point's place, and each box's range of places `[bottom, top)`."""
    by_height = order_of(points[:, 1].copy())
    heights = points[by_height, 1]
    place = np.empty(len(by_height), np.int64)
    for j in range(len(by_height)):
        place[by_height[j]] = j
    bottom, top = np.empty(len(low), np.int64), np.empty(len(high), np.int64)
    for i in range(len(low)):
        bottom[i] = count_below(heights, low[i, 1])
        top[i] = count_up_to(heights, high[i, 1])
    return place, bottom, top


@_compiled
def list_events(first, last, number):
    """Events of a sweep over `number` points.

    Those just before point `p` are `events[heads[p]:heads[p + 1]]`: `i` where box i ends, `~i` where it begins.
    """
    heads = np.zeros(number + 2, np.int64)
    for i in range(len(first)):
        heads[first[i] + 1] += 1
        heads[last[i] + 1] += 1
    for p in range(number + 1):
        heads[p + 1] += heads[p]
    place = heads.copy()
    events = np.empty(2 * len(first), np.int64)
    for i in range(len(first)):
        events[place[first[i]]] = ~i
        place[first[i]] += 1
        events[place[last[i]]] = i
        place[last[i]] += 1
    return heads, events


@_compiled
def add_to_tree(tree, place, amount):
    """Fenwick tree: add at a place."""
    place += 1
    while place < len(tree):
        tree[place] += amount
        place += place & -place


@_compiled
def sum_tree(tree, place):
    """Fenwick tree: sum of the places before `place`."""
    total = tree[0]
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@_compiled
def sum_plane(heads, events, place, bottom, top, weight):
    """Sum the weights of the points in every box, as the difference of the sums at its end and its beginning."""
    tree = np.zeros(len(place) + 1)
    sums = np.zeros(len(bottom))
    for p in range(len(place) + 1):
        for event in events[heads[p] : heads[p + 1]]:
            box = event if event >= 0 else ~event
            passed = sum_tree(tree, top[box]) - sum_tree(tree, bottom[box])
            sums[box] += passed if event >= 0 else -passed
        if p < len(place):
            add_to_tree(tree, place[p], weight[p])
    return sums


@_compiled
def cover_points(heads, events, place, bottom, top):
    """Count the boxes that contain every point."""
    tree = np.zeros(len(place) + 2, np.int64)
    covers = np.empty(len(place), np.int64)
    for p in range(len(place)):
        for event in events[heads[p] : heads[p + 1]]:
            box = event if event >= 0 else ~event
            step = -1 if event >= 0 else 1
            add_to_tree(tree, bottom[box], step)
            add_to_tree(tree, top[box], -step)
        covers[p] = sum_tree(tree, place[p] + 1)
    return covers


@_compiled
def cover_plane(values, records, starts, size, order, radius, floor, first_cell, last_cell, within, inside, total):
    """Coverage of two variables: a sweep along the first with a Fenwick tree over the second."""
    for cell in range(first_cell, last_cell):
        members = records[starts[cell] : starts[cell + 1]]
        number = len(members)
        members = members[order_of(values[members, 0])]
        points = values[members]
        reach = np.maximum(np.abs(points) * radius, floor)
        low, high = points - reach, points + reach
        first, last = np.empty(number, np.int64), np.empty(number, np.int64)
        find_ends(points[:, 0], low[:, 0], high[:, 0], first, last)
        heads, events = list_events(first, last, number)
        place, bottom, top = rank_plane(points, low, high)
        weight = np.ones(number)
        counts = sum_plane(heads, events, place, bottom, top, weight)
        for i in range(number):
            within[members[i]] = np.int64(counts[i])
        if order[cell] > 1:
            covers = cover_points(heads, events, place, bottom, top)
            weight = miss_in_cell(size[cell], covers.astype(np.float64), order[cell])
            counts = sum_plane(heads, events, place, bottom, top, weight)
        for i in range(number):
            inside[members[i]] = counts[i]
        total[cell] = sum_prefixes(weight)[number]


@_compiled
def gather(points, records, line):
    """Take the first variable of the records, in their order."""
    for i in range(len(records)):
        line[i] = points[records[i], 0]


@_compiled
def sort_lines(lines, ends):
    """Sort every row between each two ends, in place."""
    for cell in range(len(ends) - 1):
        for row in range(len(lines)):
            line = lines[row, ends[cell] : ends[cell + 1]].copy()
            order = order_of(line)
            for i in range(len(line)):
                lines[row, ends[cell] + i] = line[order[i]]


@_compiled
def count_lines(lines, starts, low, high, balls, ball_starts, first_cell, last_cell, counts):
    """Points of every row in every ball, one variable; rows hold some cells, each sorted, and so are the balls."""
    for cell in range(first_cell, last_cell):
        members = balls[ball_starts[cell] : ball_starts[cell + 1]]
        cell_low, cell_high = low[members, 0], high[members, 0]
        first, last = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
        start, end = starts[cell] - starts[first_cell], starts[cell + 1] - starts[first_cell]
        for row in range(len(lines)):
            find_ends(lines[row, start:end], cell_low, cell_high, first, last)
            for i in range(len(members)):
                counts[row, members[i]] = last[i] - first[i]


@_compiled
def count_plane(points, records, starts, low, high, balls, ball_starts, first_cell, last_cell, counts):
    """Points in every box, two variables; `records` and `balls` are sorted within their cells."""
    for cell in range(first_cell, last_cell):
        members = balls[ball_starts[cell] : ball_starts[cell + 1]]
        cell_points = points[records[starts[cell] : starts[cell + 1]]]
        cell_low, cell_high = low[members], high[members]
        first, last = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
        find_ends(cell_points[:, 0], cell_low[:, 0], cell_high[:, 0], first, last)
        heads, events = list_events(first, last, len(cell_points))
        place, bottom, top = rank_plane(cell_points, cell_low, cell_high)
        sums = sum_plane(heads, events, place, bottom, top, np.ones(len(cell_points)))
        for i in range(len(members)):
            counts[members[i]] = np.int64(sums[i])


@_compiled
def find_windows(line, starts, low, high, ball_starts, first, last):
    """Window of every ball among the points, both already sorted by cell and first variable."""
    for cell in range(len(starts) - 1):
        a, b = ball_starts[cell], ball_starts[cell + 1]
        find_ends(line[starts[cell] : starts[cell + 1]], low[a:b], high[a:b], first[a:b], last[a:b])
        first[a:b] += starts[cell]
        last[a:b] += starts[cell]


@_compiled
def scan_space(points, low, high, first, last, weight, part, parts, sums, covers):
    """Sum weights and count covers by comparing every point of every window, for one share of the balls.

    Balls are assigned to the shares in blocks of 64, so that no cache line is shared between threads.
    """
    for block in range(64 * part, len(first), 64 * parts):
        for i in range(block, min(block + 64, len(first))):
            for p in range(first[i], last[i]):
                close = True
                for column in range(1, points.shape[1]):
                    if points[p, column] < low[i, column] or points[p, column] > high[i, column]:
                        close = False
                        break
                if close:
                    sums[i] += weight[p]
                    covers[p] += 1


@_compiled
def miss_by_record(size, covers, order):
    """As `miss_in_cell`, with the size and order of every record's cell."""
    shares = np.ones(len(covers))
    for i in range(len(covers)):
        for j in range(order[i] - 1):
            left = size[i] - 1 - covers[i] - j
            shares[i] *= left / (size[i] - 1 - j) if left > 0 else 0.0
    return shares


@_compiled
def finish_risk(codes, part, totals, sizes, coverable, first, last, risk, pattern_size):
    """Compute every record's risk in place from the sum inside its ball, and fill in the size of its pattern.

    `coverable` is, for every pattern, the denominator of the risk; 0 means maximum risk.
    """
    for i in range(first, last):
        code = codes[i]
        pattern_size[i] = sizes[code] if part[i] else 0
        if not part[i]:
            risk[i] = np.nan
        elif coverable[code] == 0:
            risk[i] = 1.0
        else:
            # The difference of two sums can miss 0 by a rounding error.
            risk[i] = min(max((totals[code] - risk[i]) / coverable[code], 0.0), 1.0)


@_compiled
def count_edges(values, part, radius, floor):
    """Count the records with a negative value, with radius 0, and with the minimum radius."""
    negative = flat = widened = 0
    for i in range(len(values)):
        if part[i]:
            below = none = wide = False
            for column in range(values.shape[1]):
                reach = abs(values[i, column]) * radius[column]
                below |= values[i, column] < 0
                none |= max(reach, floor[column]) == 0
                wide |= reach < floor[column]
            negative += below
            flat += none
            widened += wide
    return negative, flat, widened


@_compiled
def find_linked(part, cells, own_cells, low, high, own, linked):
    """T: whether a record's own released values have its cell and lie in its ball."""
    for i in range(len(part)):
        linked[i] = part[i] & (cells[i] == own_cells[i])
    # Variable by variable and without early exit, so that the loop vectorizes.
    for column in range(low.shape[1]):
        for i in range(len(part)):
            linked[i] &= (low[i, column] <= own[i, column]) & (own[i, column] <= high[i, column])


@_compiled
def risk_from_counts(within, size, linked, own, risk):
    """Risk of every record in one released dataset; returns the number of linked records unique in their pattern.

    `own` is 1 where a record does not count itself, else 0.
    """
    alone = 0
    for i in range(len(within)):
        share = 1.0 if size[i] == 1 else (size[i] - within[i]) / (size[i] - own)
        risk[i] = share if linked[i] else 0.0
        alone += linked[i] & (size[i] == 1)
    return alone
