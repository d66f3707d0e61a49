"""Numbers as levels: bins, and values that many share; and numbers drawn anew within a level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError
from molehill.synthesis.transforms import Support, Transform, apply_transform, restore, usual_transform

# A value that so many records share is nobody's own; one that such a share of them has is a level.
SHARED, OFTEN = 10.0, 0.02
# Bins of a number, the least mass of each, and the share of the outermost ones.
MOST_BINS, LEAST_IN_BIN, OUTERMOST = 50, 20.0, 0.01


@dataclass(frozen=True, eq=False)
class Grid:
    """How numbers are levels, and how a number is drawn within one.

    First come the bins, then the `spikes`: values that a fiftieth of the records, and at least ten, share. Within a bin
    a value that ten records share, a heap, is drawn as often as it was collected, and all others evenly between the
    ends of the bin. The outermost bins have no ends of their own, which would be the extremes of the table: distances
    from their inner end are exponential, on a scale of logarithms or roots where the bin lies on one side of zero.

    Attributes
    ----------
    ends
        Where the bins begin after the first.
    spikes
        Values that are levels.
    heaps, heap_bins, heap_shares
        Values that are often drawn within a bin, the bin, and the share of them in it.
    rates, scales
        Of the two outermost bins: the exponential's rate, and the scale of its distances.
    support
        Ends of what may be released.
    """

    ends: Floats
    spikes: Floats
    heaps: Floats
    heap_bins: NDArray[np.int64]
    heap_shares: Floats
    rates: tuple[float, float]
    scales: tuple[Transform, Transform]
    support: Support

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return len(self.ends) + 1

    @property
    def number(self) -> int:
        """How many levels there are."""
        return self.bins + len(self.spikes)

    def codes(self, values: Floats) -> NDArray[np.int64]:
        """Give the level of every value, -1 where it is missing."""
        codes = np.searchsorted(self.ends, values, side="right")
        place = np.searchsorted(self.spikes, values)
        found = (place < len(self.spikes)) & (np.append(self.spikes, np.nan)[place] == values)
        return np.where(np.isnan(values), -1, np.where(found, self.bins + place, codes))

    def middles(self) -> Floats:
        """A value of every level, to order them by."""
        inner = (self.ends[1:] + self.ends[:-1]) / 2
        return np.concatenate([[-np.inf], inner, [np.inf], self.spikes])

    def draw(self, codes: NDArray[np.int64], random: np.random.Generator, low: Floats, high: Floats) -> Floats:
        """Draw a value of each level, between ends of each record's own where the level has such values."""
        values = np.full(len(codes), np.nan)
        share, chance = random.random(len(codes)), random.random(len(codes))
        in_bin = (codes >= 0) & (codes < self.bins)
        inner = in_bin & (codes > 0) & (codes < self.bins - 1)
        first, last = self.ends[codes[inner] - 1], self.ends[codes[inner]]
        first, last = np.maximum(first, low[inner]), np.minimum(last, high[inner])
        values[inner] = first + share[inner] * (last - first)
        for side, place in ((-1, 0), (1, self.bins - 1)):
            outer = codes == place
            if outer.any():
                values[outer] = self._draw_tail(side, share[outer], low[outer], high[outer])
        spike = codes >= self.bins
        values[spike] = self.spikes[codes[spike] - self.bins]
        return self._draw_heaps(values, np.where(in_bin, codes, -1), chance, low, high)

    def _draw_tail(self, side: int, share: Floats, low: Floats, high: Floats) -> Floats:
        """Draw from an outermost bin: exponential distances from its inner end, cut off at the ends of the record."""
        scale, rate = self.scales[side > 0], self.rates[side > 0]
        inner = self.ends[-1 if side > 0 else 0]
        near = _distance(inner, np.clip(inner, low, high), scale)
        far = _distance(inner, high if side > 0 else low, scale)
        near_mass, far_mass = np.exp(-rate * np.maximum(near, 0.0)), np.exp(-rate * np.maximum(far, 0.0))
        distance = -np.log(near_mass - share * (near_mass - far_mass)) / rate
        return np.clip(_step(inner, side * distance, scale), low, high)

    def _draw_heaps(self, values: Floats, bins: NDArray[np.int64], chance: Floats, low: Floats, high: Floats) -> Floats:
        before = np.zeros(len(values))
        for value, place, share in zip(self.heaps, self.heap_bins, self.heap_shares, strict=True):
            mine = (bins == place) & (chance >= before) & (chance < before + share) & (low <= value) & (value <= high)
            values[mine] = value
            before[bins == place] += share
        return values

    def possible(self, low: Floats, high: Floats) -> Booleans:
        """Which levels have a value between ends of each record's own, (records, levels)."""
        first = np.concatenate([[-np.inf], self.ends, self.spikes])
        last = np.concatenate([self.ends, [np.inf], self.spikes])
        # The end of a bin belongs to the next one.
        below = np.concatenate([np.full(len(self.ends), fill_value=True), np.zeros(1 + len(self.spikes), dtype=bool)])
        reached = np.where(below, low[:, None] < last, low[:, None] <= last)
        return reached & (first <= high[:, None])

    def outside(self) -> Floats:
        """Share of every level's mass that lies outside the support."""
        first = np.concatenate([[-np.inf], self.ends])
        last = np.concatenate([self.ends, [np.inf]])
        share = np.zeros(self.number)
        for place in range(self.bins):
            low, high = max(first[place], self.support[0]), min(last[place], self.support[1])
            if low >= high:
                share[place] = 1.0
            elif place in (0, self.bins - 1):
                side = int(place > 0)
                end = self.support[side]
                far = _distance(self.ends[-1 if side else 0], np.array([end]), self.scales[side])
                share[place] = float(np.exp(-self.rates[side] * np.maximum(far, 0.0))[0])
            else:
                share[place] = 1 - (high - low) / (last[place] - first[place])
        share[self.bins :] = (self.spikes < self.support[0]) | (self.spikes > self.support[1])
        return share


def learn_grid(values: Floats, weights: Floats, support: Support) -> Grid:
    """Cut numbers into levels by the weighted records; one of weight 0 has no part in it.

    Examples
    --------
    >>> grid = learn_grid(np.repeat([0.0, 10.0, 20.0, 30.0], [30, 25, 25, 25]), np.ones(105), (0.0, 100.0))
    >>> grid.spikes
    array([ 0., 10., 20., 30.])
    """
    counted = ~np.isnan(values) & (weights > 0)
    if not counted.any():
        counted, weights = ~np.isnan(values), np.ones(len(values))
    values, weights = values[counted], weights[counted]
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        raise InputError("column", "it is the same for every record that counts", "Release it as it is")
    mass: Floats = np.bincount(place, weights).astype(np.float64)
    often = mass >= max(SHARED, OFTEN * mass.sum())
    spikes = distinct[often]
    rest, rest_mass = distinct[~often], mass[~often]
    if not len(rest):
        # Something must lie in the bins; nothing does.
        return Grid(
            np.array([(distinct[0] + distinct[-1]) / 2]),
            spikes,
            np.empty(0),
            np.empty(0, dtype=np.int64),
            np.empty(0),
            (1.0, 1.0),
            ("identity", "identity"),
            support,
        )
    ends = _grid_ends(rest, rest_mass, support)
    bins = np.searchsorted(ends, rest, side="right")
    in_bin = np.bincount(bins, rest_mass, minlength=len(ends) + 1)
    heap = rest_mass >= SHARED
    tails = [_learn_tail(rest, rest_mass, ends, side) for side in (-1, 1)]
    return Grid(
        ends,
        spikes,
        rest[heap],
        bins[heap],
        rest_mass[heap] / in_bin[bins[heap]],
        (tails[0][0], tails[1][0]),
        (tails[0][1], tails[1][1]),
        support,
    )


def _grid_ends(values: Floats, mass: Floats, support: Support) -> Floats:
    """Inner ends of the bins, at weighted quantiles; zero is one where values lie on both sides of it."""
    total = mass.sum()
    number = int(np.clip(total // LEAST_IN_BIN, 2, MOST_BINS))
    shares = set((np.arange(1, number) / number).tolist())
    if total * OUTERMOST >= LEAST_IN_BIN:
        shares |= {OUTERMOST, 1 - OUTERMOST}
    upto = np.cumsum(mass) / total
    ends = values[np.minimum(np.searchsorted(upto, sorted(shares)), len(values) - 1)]
    ends = np.unique(np.append(ends, [0.0] if values[0] < 0 < values[-1] else []))
    # A bin that nothing lies in has no distribution; of a single value half of the way to the support will do.
    ends = ends[(ends > values[0]) & (ends <= values[-1])]
    if len(ends):
        return ends
    reach = [end for end in support if np.isfinite(end)]
    return np.array([(values[0] + (reach[-1] if reach else values[0])) / 2])


def _learn_tail(values: Floats, mass: Floats, ends: Floats, side: int) -> tuple[float, Transform]:
    """Rate and scale of the distances of an outermost bin from its inner end."""
    inner = ends[-1 if side > 0 else 0]
    beyond = values >= inner if side > 0 else values < inner
    scale: Transform = "identity"
    # On one side of zero, far from it the sizes themselves grow: logarithms or roots, whichever fits them.
    if side * inner > 0:
        scale = usual_transform(side * values[side * values > 0])
    far = np.abs(_distance(inner, values[beyond], scale))
    total = float(far @ mass[beyond])
    return (float(mass[beyond].sum()) / total if total > 0 else 1e6), scale


def _distance(inner: float, values: Any, scale: Transform) -> Floats:
    """How far values lie from the inner end of an outermost bin, on its scale."""
    if scale == "identity":
        return np.abs(np.asarray(values) - inner)
    # Nothing on the other side of zero is in the bin.
    sizes = np.maximum(np.sign(inner) * np.asarray(values), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return np.abs(apply_transform(sizes, scale) - apply_transform(np.array([abs(inner)]), scale))


def _step(inner: float, distances: Floats, scale: Transform) -> Floats:
    """The values at signed distances from the inner end."""
    if scale == "identity":
        return inner + distances
    moved = apply_transform(np.array([abs(inner)]), scale) + np.sign(inner) * distances
    with np.errstate(over="ignore"):
        return np.sign(inner) * restore(moved, scale)
