"""Sorting and searching within compiled functions.

Numba's `sort`, `argsort` and `searchsorted` must not be used in cached functions: their loops have names with a counter
per process, so that functions compiled in different processes can contain different loops of the same name, and a sort
then silently runs as an argsort (numba #10486, seen with Numba 0.68). Module-level functions have unique names.
"""

import numpy as np
from numba import njit

_compiled = njit(nogil=True, cache=True, error_model="numpy")
# Below _MANY numbers merge sort is used, and insertion sort for runs of _RUN.
_MANY, _RUN = 512, 16


@_compiled
def order_of(points):
    """Stable argsort of numbers without NaN, by radix sort (eleven bits at a time) if they are many."""
    number = len(points)
    if number < _MANY:
        return _merge(points)
    keys, order = np.empty(number, np.uint64), np.arange(number)
    counts = np.zeros((6, 2048), np.int64)
    sign, digit = np.uint64(1 << 63), np.uint64(2047)
    bits = points.view(np.uint64)
    for i in range(number):
        # As integers, the bits are monotone in the number if the sign bit is flipped (all bits, if negative).
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
    """Stable merge sort for few numbers."""
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
    """Number of sorted numbers below a value: `numpy.searchsorted` with side "left"."""
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
    """Number of sorted numbers at or below a value: `numpy.searchsorted` with side "right"."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
