"""Numbers put in order within compiled functions, by code of our own.

What Numba makes of `sort`, `argsort` and `searchsorted` must not stand in a function that is kept in its cache. It
names their loops alike but for a number that every process counts anew. Two functions that were compiled in different
processes can so hold different loops of one name, and whoever loads both calls one for the other: a sort then does what
an argsort should, without a word (seen with Numba 0.68). Functions of a module, as these, have names of their own.
"""

import numpy as np
from numba import njit

_compiled = njit(nogil=True, cache=True, error_model="numpy")
# Fewer are put in order by merging, and up to so many at first one by one.
_MANY, _RUN = 512, 16


@_compiled
def order_of(points):
    """Give the order of the numbers, as a stable `numpy.argsort` does; none may be NaN.

    Many are sorted by radix, eleven bits at a time from the last: time grows with their number and no faster.
    """
    number = len(points)
    if number < _MANY:
        return _merge(points)
    keys, order = np.empty(number, np.uint64), np.arange(number)
    counts = np.zeros((6, 2048), np.int64)
    sign, digit = np.uint64(1 << 63), np.uint64(2047)
    bits = points.view(np.uint64)
    for i in range(number):
        # The bits of a number, read as a whole number, rise with it once the sign is turned (all bits, if below 0).
        keys[i] = bits[i] ^ (~np.uint64(0) if bits[i] & sign else sign)
        for j in range(6):
            counts[j, (keys[i] >> np.uint64(11 * j)) & digit] += 1
    next_keys, next_order = np.empty_like(keys), np.empty_like(order)
    for j in range(6):
        shift, place = np.uint64(11 * j), counts[j]
        if place[(keys[0] >> shift) & digit] == number:
            continue
        total = 0
        for k in range(2048):
            total, place[k] = total + place[k], total
        for i in range(number):
            k = (keys[i] >> shift) & digit
            next_keys[place[k]], next_order[place[k]] = keys[i], order[i]
            place[k] += 1
        keys, next_keys, order, next_order = next_keys, keys, next_order, order
    return order


@_compiled
def _merge(points):
    """Order few numbers: short runs one by one, then two runs at a time."""
    number = len(points)
    order = np.arange(number)
    for begin in range(0, number, _RUN):
        for i in range(begin + 1, min(begin + _RUN, number)):
            moved, j = order[i], i
            while j > begin and points[order[j - 1]] > points[moved]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    other, width = np.empty_like(order), _RUN
    while width < number:
        for begin in range(0, number, 2 * width):
            middle, end = min(begin + width, number), min(begin + 2 * width, number)
            left, right = begin, middle
            for i in range(begin, end):
                if left < middle and (right >= end or points[order[left]] <= points[order[right]]):
                    other[i] = order[left]
                    left += 1
                else:
                    other[i] = order[right]
                    right += 1
        order, other, width = other, order, 2 * width
    return order


@_compiled
def count_below(ordered, value):
    """Count the numbers below a value, of numbers that rise: `numpy.searchsorted` from the left."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@_compiled
def count_up_to(ordered, value):
    """Count the numbers at or below a value, of numbers that rise: `numpy.searchsorted` from the right."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
