"""Sums, quantiles and sorted values of columns that are never held whole, to the last bit as if they were.

NumPy adds a long array by halves. `sum_in_order` cuts a stream at the same places. Quantiles and distributions come
from the different values of every bucket, sorted, with how many lie at or below each.
"""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats

# Numbers that are added at once, a multiple of NumPy's own block of 128.
_BLOCK = 2**16
_SIGN = 2**63


def sum_in_order(pieces: Iterable[Floats], number: int) -> float:
    """Add so many numbers that come in pieces: what `numpy.sum` gives of the one array that they would make.

    Examples
    --------
    >>> many = np.random.default_rng(1).lognormal(size=200_000)
    >>> sum_in_order(np.array_split(many, 7), len(many)) == float(many.sum())
    True
    """
    take = _taker(iter(pieces))

    def add(number: int) -> float:
        if number <= _BLOCK:
            return float(np.add.reduce(take(number)))
        half = number // 2
        half -= half % 8
        return add(half) + add(number - half)

    return add(number)


def _taker(pieces: Iterator[Floats]):  # noqa: ANN202 (a function that takes the next numbers)
    left = np.empty(0)

    def take(number: int) -> Floats:
        nonlocal left
        held, missing = [left], number - len(left)
        while missing > 0:
            held.append(np.asarray(next(pieces), dtype=np.float64))
            missing -= len(held[-1])
        joined = np.concatenate(held)
        left = joined[number:]
        return joined[:number]

    return take


def count_values(values: Floats, path: Path) -> None:
    """Write the different values of a piece of a column, sorted, and how many lie at or below each; none may be NaN."""
    different, counts = np.unique(values, return_counts=True)
    # Zero has two signs, which are equal: the plain one is kept. As fractions, counts are exact up to 2^53.
    save_whole(path, np.stack([different + 0.0, np.cumsum(counts).astype(np.float64)]))


def save_whole(path: Path, array: Floats) -> None:
    """Save an array at once: a worker that was given up may write what another has written, while it is read."""
    written = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with written.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    written.replace(path)


def _open(pieces: Sequence[Path]) -> list[Floats]:
    """Give values and counts of every piece that has any, without reading them: only what is asked for is."""
    opened = [np.load(piece, mmap_mode="r") for piece in pieces]
    return [piece for piece in opened if piece.shape[1]]


def median(pieces: Sequence[Path]) -> float:
    """Give the median of a column of pieces, as `numpy.median` does; NaN of none."""
    opened = _open(pieces)
    number = sum(int(below[-1]) for _, below in opened)
    if not number:
        return np.nan
    return float(np.mean([_at_rank(opened, rank) for rank in sorted({(number - 1) // 2, number // 2})]))


def quantiles(pieces: Sequence[Path], shares: Sequence[float]) -> list[float]:
    """Give quantiles of a column of pieces, as `numpy.quantile` does."""
    opened = _open(pieces)
    number = sum(int(below[-1]) for _, below in opened)
    found = []
    for share in shares:
        place = (number - 1) * share
        first = int(np.floor(place))
        ends = [_at_rank(opened, rank) for rank in (first, min(first + 1, number - 1))]
        found.append(float(np.quantile(ends, place - first)))
    return found


def _at_rank(opened: Sequence[Floats], rank: int) -> float:
    """The number of that rank, from 0: halving all numbers there are."""
    low, high = 0, 2**64 - 1
    while low < high:
        middle = (low + high) // 2
        at = _number_of(middle)
        low, high = (low, middle) if _at_or_below(opened, at) > rank else (middle + 1, high)
    return _number_of(low)


def _at_or_below(opened: Sequence[Floats], at: float) -> int:
    places = [int(np.searchsorted(values, at, side="right")) for values, _ in opened]
    return sum(int(below[place - 1]) for place, (_, below) in zip(places, opened, strict=True) if place)


def _number_of(key: int) -> float:
    """The number that a whole number stands for, so that both rise together; what is none counts as infinite."""
    bits = key - _SIGN if key >= _SIGN else (2**64 - 1) ^ key
    number = float(np.array(bits, dtype=np.uint64).view(np.float64))
    if np.isnan(number):
        return np.inf if key >= _SIGN else -np.inf
    return number


def walk_together(
    one: Sequence[Path], other: Sequence[Path], *, most: int
) -> Iterator[tuple[Floats, NDArray[np.int64], NDArray[np.int64]]]:
    """Go through the values of two columns from the smallest up: values, and how often each is in either, in stretches.

    `most` is about how many different values to hold at once.
    """
    paths = [(path, side) for side, pieces in enumerate((one, other)) for path in pieces]
    edges = _choose_edges(_open([path for path, _ in paths]), most)
    places = [0] * len(paths)
    for edge in (*edges, np.inf):
        values, counts = [], []
        for number, (path, side) in enumerate(paths):
            # Opened anew: what was read of a file stays in memory as long as it is open.
            of_piece, below = np.load(path, mmap_mode="r")
            first, last = places[number], int(np.searchsorted(of_piece, edge, side="right"))
            if last > first:
                before = float(below[first - 1]) if first else 0.0
                often = np.zeros((2, last - first), dtype=np.int64)
                often[side] = np.diff(below[first:last], prepend=before).astype(np.int64)
                values.append(np.array(of_piece[first:last]))
                counts.append(often)
            places[number] = last
        if values:
            different, at = np.unique(np.concatenate(values), return_inverse=True)
            sums = np.zeros((2, len(different)), dtype=np.int64)
            joined = np.concatenate(counts, axis=1)
            for side in (0, 1):
                np.add.at(sums[side], at, joined[side])
            yield different, sums[0], sums[1]


def _choose_edges(opened: Sequence[Floats], most: int) -> list[float]:
    """Values between which, in all pieces together, lie about so many others."""
    pieces = [piece[0] for piece in opened]
    total = sum(map(len, pieces))
    if total <= most:
        return []
    step = max(most // (4 * len(pieces)), 1)
    sample = np.sort(np.concatenate([values[step - 1 :: step] for values in pieces]))
    return np.unique(sample[max(most // step, 1) - 1 :: max(most // step, 1)]).tolist()
