"""Coding of numbers as levels (bins and frequent values), and drawing numbers within a level.

No single record determines what kinds of values are released. The number of records from which a value counts as shared
is random for every value, between `SHARED` and `MARGIN` more, derived from the seed of the release: one record more or
less changes the outcome with probability at most 1 / `MARGIN`. Only shared values are released as collected. Bin ends
are drawn between neighbouring values. Too few negative values (or positive ones among negative ones) count as zero, too
few values beside shared ones as the nearest of these, and in an outermost bin the largest distance is limited to five
times the mean of the others.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.errors import InputError
from molehill.synthesis.fitting import NothingCountsError
from molehill.synthesis.transforms import Support, Transform, apply_transform, restore, usual_transform
from molehill.tables.resolution import are_multiples, resolution, round_to_unit

# A value counts as shared from SHARED to SHARED + MARGIN records; with at least the share OFTEN of the records it is a
# level.
SHARED, MARGIN, OFTEN = 10.0, 10.0, 0.02
# Maximum number of bins, minimum number of records of each, and tail probabilities of additional outer bins.
MOST_BINS, LEAST_IN_BIN, OUTERMOST = 50, 20.0, (0.005, 0.01, 0.015)
# Limit of the largest distance in an outermost bin, as a multiple of the mean of the others.
_FARTHEST = 5.0
# Number of coarser units, up to ten thousand times the unit.
_STEPS = 8
# Tolerance for bounds that are multiples of the unit.
_ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Grid:
    """Levels of a number, and the distribution of values within a level.

    Levels are the bins, and then the `spikes`: shared values that at least 2% of the records have. Within a bin,
    another shared value (a heap) is drawn as often as it was collected; other values are uniform between the bin ends
    or, if numbers have a unit, on its multiples that are neither spikes nor heaps, with multiples of coarser units as
    frequent as collected. The outermost bins have no outer ends, which would be the extremes of the data: distances
    from their inner end are exponential, on a log or root scale if the bin lies on one side of zero. They do not cross
    zero unless values do.

    Attributes
    ----------
    ends
        Bin ends between the bins.
    spikes
        Values that are levels of their own.
    heaps, heap_bins, heap_shares
        Shared values within bins, their bins, and their shares of the bin.
    rates, scales
        Of the two outermost bins: rate of the exponential distribution, and scale of the distances.
    support
        Value range.
    unit
        The unit of which values are multiples, 0 for none.
    sign
        1 or -1 if no values, or too few, lie on the other side of zero (these count as zero), else 0.
    steps, step_shares
        The unit and coarser units, and the shares of values drawn among the multiples of each.
    bare
        Whether no values, or too few, lie beside the spikes (these count as the nearest spike).
    """

    ends: Floats
    spikes: Floats
    heaps: Floats
    heap_bins: NDArray[np.int64]
    heap_shares: Floats
    rates: tuple[float, float]
    scales: tuple[Transform, Transform]
    support: Support
    unit: float
    sign: int
    steps: Floats = field(default_factory=lambda: np.empty(0))
    step_shares: Floats = field(default_factory=lambda: np.empty(0))
    bare: bool = False

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.ends) + 1

    @property
    def number(self) -> int:
        """Number of levels."""
        return self.bins + len(self.spikes)

    def codes(self, values: Floats) -> NDArray[np.int64]:
        """Level code of every value, -1 where missing."""
        if self.sign:
            values = self.sign * np.maximum(self.sign * values, 0.0)
        codes = np.searchsorted(self.ends, values, side="right")
        if self.bare:
            return np.where(np.isnan(values), -1, self.bins + _nearest(self.spikes, values))
        place = np.searchsorted(self.spikes, values)
        found = (place < len(self.spikes)) & (np.append(self.spikes, np.nan)[place] == values)
        return np.where(np.isnan(values), -1, np.where(found, self.bins + place, codes))

    @property
    def kind(self) -> tuple[Any, ...]:
        """What determines which values can be released: shared values, unit, signs and steps."""
        return *np.union1d(self.spikes, self.heaps).tolist(), self.unit, self.sign, self.bare, *self.steps.tolist()

    def middles(self) -> Floats:
        """A value of every level, to sort them by."""
        inner = (self.ends[1:] + self.ends[:-1]) / 2
        return np.concatenate([[-np.inf], inner, [np.inf], self.spikes])

    def draw(self, codes: NDArray[np.int64], random: np.random.Generator, low: Floats, high: Floats) -> Floats:
        """Draw a value of each record's level, within the record's bounds if the level has such values."""
        values = np.full(len(codes), np.nan)
        share, chance = random.random(len(codes)), random.random(len(codes))
        inner = (codes > 0) & (codes < self.bins - 1)
        step = np.searchsorted(np.cumsum(self.step_shares)[:-1], random.random(int(inner.sum())), side="right")
        values[inner] = self._draw_even(codes[inner], share[inner], low[inner], high[inner], step)
        for side, place in ((-1, 0), (1, self.bins - 1)):
            outer = codes == place
            if outer.any():
                values[outer] = self._draw_tail(side, share[outer], low[outer], high[outer])
        spike = codes >= self.bins
        values[spike] = self.spikes[codes[spike] - self.bins]
        return self._draw_heaps(values, codes, chance, low, high)

    def _draw_even(
        self, codes: NDArray[np.int64], share: Floats, low: Floats, high: Floats, step: NDArray[np.int64]
    ) -> Floats:
        """Draw uniformly from inner bins; with a unit, among the multiples of a step that are not shared values."""
        first, last = np.maximum(self.ends[codes - 1], low), np.minimum(self.ends[codes], high)
        values = first + share * (last - first)
        if not self.unit:
            return values
        even, left = values.copy(), np.ones(len(codes), dtype=bool)
        for turn in range(len(self.steps) - 1, -1, -1):
            # If no multiple of a step is free, the next finer step is used; finally any multiple of the unit.
            unit, mine = self.steps[turn], np.flatnonzero(left & (step >= turn))
            place, free, some = self._choose_multiple(codes[mine], share[mine], first[mine], last[mine], unit)
            found = mine[some & (free | (turn == 0))]
            values[found] = round_to_unit(place[some & (free | (turn == 0))] * unit, unit)
            left[found] = False
        values[left] = even[left]
        return np.clip(values, low, high)

    def _choose_multiple(
        self, codes: NDArray[np.int64], share: Floats, first: Floats, last: Floats, unit: float
    ) -> tuple[Floats, Booleans, Booleans]:
        """Choose a multiple of a unit between two bounds; also return whether a free one, or any, exists."""
        # The upper end of a bin belongs to the next one.
        begin = np.ceil(first / unit * (1 - np.sign(first) * _ROUNDING))
        end = np.floor(last / unit * (1 + np.sign(last) * _ROUNDING))
        ends = self.ends[codes] / unit
        end -= end >= ends - _ROUNDING * np.abs(ends)
        taken = np.union1d(self.spikes, self.heaps)
        taken = np.rint(taken[are_multiples(taken, unit)] / unit)
        before = np.searchsorted(taken, begin)
        free = end - begin + 1 - (np.searchsorted(taken, end, side="right") - before)
        # The rank among free multiples, and then among all.
        below = begin - before + np.minimum(np.floor(share * free), free - 1)
        place = below + np.searchsorted(taken - np.arange(len(taken)), below, side="right")
        place = np.where(free > 0, place, begin + np.floor(share * (end - begin + 1)))
        return place, free > 0, begin <= end

    def _draw_tail(self, side: int, share: Floats, low: Floats, high: Floats) -> Floats:
        """Draw from an outermost bin: exponential distances from its inner end, truncated to the record's bounds."""
        scale, rate = self.scales[side > 0], self.rates[side > 0]
        inner = self.ends[-1 if side > 0 else 0]
        # Zero is a bound too, unless the bin or the record must lie beyond it.
        least = 0.0 if self.sign > 0 and (side > 0 or inner > 0) else -np.inf
        most = 0.0 if self.sign < 0 and (side < 0 or inner < 0) else np.inf
        ends = np.where(high >= least, np.maximum(low, least), low), np.where(low <= most, np.minimum(high, most), high)
        low, high = ends
        near = _distance(inner, np.clip(inner, low, high), scale)
        far = _distance(inner, high if side > 0 else low, scale)
        # The exponential distribution is memoryless, so that truncation is accurate far out in the tail.
        with np.errstate(over="ignore"):
            # If all values are at the inner end, the rate is very large, and products may overflow.
            beyond = np.expm1(-rate * np.maximum(far - near, 0.0))
        distance = near - np.log1p(share * beyond) / rate
        return np.clip(_step(inner, side * distance, scale), low, high)

    def _draw_heaps(
        self, values: Floats, codes: NDArray[np.int64], chance: Floats, low: Floats, high: Floats
    ) -> Floats:
        """Replace values by heaps of their bins, with the collected frequencies."""
        if not len(self.heaps):
            return values
        upto = np.cumsum(self.heap_shares)
        begun = np.searchsorted(self.heap_bins, self.heap_bins)
        upto -= np.append(0.0, upto)[begun]
        place = np.minimum(np.searchsorted(self.heap_bins + upto, codes + chance, side="right"), len(upto) - 1)
        found, heap = (self.heap_bins[place] == codes) & (chance < upto[place]), self.heaps[place]
        return np.where(found & (low <= heap) & (heap <= high), heap, values)

    def possible(self, low: Floats, high: Floats) -> Booleans:
        """Which levels have values within each record's bounds, (records, levels)."""
        first = np.concatenate([[-np.inf], self.ends, self.spikes])
        last = np.concatenate([self.ends, [np.inf], self.spikes])
        # The upper end of a bin belongs to the next one.
        below = np.concatenate([np.full(len(self.ends), fill_value=True), np.zeros(1 + len(self.spikes), dtype=bool)])
        reached = np.where(below, low[:, None] < last, low[:, None] <= last)
        return reached & (first <= high[:, None]) & (low <= high)[:, None]

    def outside(self) -> Floats:
        """Share of every level's probability outside the support."""
        low, high = self.support
        first, last = np.append(-np.inf, self.ends), np.append(self.ends, np.inf)
        cut = np.ones(self.bins)
        for place in np.flatnonzero(np.maximum(first, low) < np.minimum(last, high)):
            if place in (0, self.bins - 1):
                side = int(place > 0)
                inner, scale = self.ends[-1 if side else 0], self.scales[side]
                ends = np.array([np.clip(inner, low, high), self.support[side]])
                near, far = np.exp(-self.rates[side] * _distance(inner, ends, scale))
                cut[place] = 1 - (near - far)
            else:
                cut[place] = 1 - (min(last[place], high) - max(first[place], low)) / (last[place] - first[place])
        heaped = np.bincount(self.heap_bins, self.heap_shares, minlength=self.bins)
        lost = self.heap_shares * ((self.heaps < low) | (self.heaps > high))
        cut = (1 - heaped) * cut + np.bincount(self.heap_bins, lost, minlength=self.bins)
        beyond = (self.spikes < low) | (self.spikes > high)
        return np.concatenate([cut, beyond.astype(np.float64)])


def learn_grid(
    values: Floats,
    weights: Floats,
    support: Support,
    called: str = "it",
    times: Floats | None = None,
    *,
    seed: int = 0,
    zero: bool = True,
) -> Grid:
    """Learn the levels of a number from the records with positive weight.

    With a survey, `times` are the survey weights: shares, quantiles and tails are then those of the population, while
    minimum numbers count records. `seed` determines thresholds and bin ends, and is confidential. `zero` is whether
    zero has a meaning; among dates it has not.

    Examples
    --------
    >>> grid = learn_grid(np.repeat([0.0, 10.0, 20.0, 30.0], [30, 25, 25, 25]), np.ones(105), (0.0, 100.0))
    >>> grid.spikes
    array([ 0., 10., 20., 30.])
    """
    present = ~np.isnan(values)
    counted = present & (weights > 0)
    if not counted.any():
        counted, weights = present, np.ones(len(values))
        times = None if times is None else np.ones(len(values))
    own, weights = values[counted], weights[counted]
    if len(np.unique(own)) < 2 and len(np.unique(values[present])) > 1:
        problem = f"{called} is the same for every record with a positive weight"
        raise NothingCountsError("weights", problem, "Use a larger scale or shift of the weights")
    if len(np.unique(own)) < 2:
        raise InputError("column", f"{called} is the same for every record", "Keep it unchanged, or drop it")
    unit, sign = resolution(own), _find_sign(own, weights, seed) if zero else 0
    own = sign * np.maximum(sign * own, 0.0) if sign else own
    distinct, place, records = np.unique(own, return_inverse=True, return_counts=True)
    held: Floats = np.bincount(place, weights).astype(np.float64)
    # A record counts at most once towards a shared value. Shared values are multiples of the unit.
    shared = are_shared(distinct, np.minimum(held, records), seed)
    shared &= are_multiples(distinct, unit) if unit else True
    mass: Floats = held if times is None else np.bincount(place, weights * times[counted]).astype(np.float64)
    often = shared & (mass >= OFTEN * mass.sum())
    spikes, beside = distinct[often], np.minimum(held, records)[~often].sum()
    if often.any() and not are_shared(np.array([np.nan]), np.array([beside]), seed)[0]:
        # The bins are empty.
        reach = (spikes[-1] - spikes[0]) / 4 or max(abs(float(spikes[0])), 1.0) / 4
        reach = max(reach, np.finfo(np.float64).tiny)
        middle, none = (spikes[0] + spikes[-1]) / 2 if len(spikes) > 1 else spikes[0] + reach, np.empty(0)
        return Grid(
            np.array([middle]),
            spikes,
            none,
            none.astype(np.int64),
            none,
            (1 / reach, 1 / reach),
            ("identity", "identity"),
            support,
            unit,
            sign,
            bare=True,
        )
    rest, rest_mass, heap = distinct[~often], mass[~often], shared[~often]
    rest_held = None if times is None else held[~often]
    ends = _grid_ends(rest, rest_mass, support, sign, held=rest_held, crowned=bool(heap[-1]), zero=zero)
    ends = _between(ends, rest, seed)
    bins = np.searchsorted(ends, rest, side="right")
    in_bin = np.bincount(bins, rest_mass, minlength=len(ends) + 1)
    tails = [_learn_tail(rest, rest_mass, ends, side) for side in (-1, 1)]
    rounded = np.minimum(held, records)[~often][~heap]
    steps, step_shares = _learn_steps(rest[~heap], rest_mass[~heap], rounded, unit, seed)
    return Grid(
        ends,
        spikes,
        rest[heap],
        bins[heap],
        rest_mass[heap] / in_bin[bins[heap]],
        (tails[0][0], tails[1][0]),
        (tails[0][1], tails[1][1]),
        support,
        unit,
        sign,
        steps,
        step_shares,
    )


# Decisions that no single record determines.


def are_shared(values: Floats, records: Floats, seed: int) -> Booleans:
    """Which values are shared by enough records to be released as collected.

    Never below `SHARED` records, always from `SHARED` + `MARGIN`; in between every value has a uniform random threshold
    derived from the seed.

    Examples
    --------
    >>> are_shared(np.array([100.0, 200.0]), np.array([9.0, 20.0]), seed=3).tolist()
    [False, True]
    """
    enough = np.asarray(records >= SHARED + MARGIN)
    for place in np.flatnonzero((records >= SHARED) & ~enough).tolist():
        enough[place] = records[place] >= SHARED + MARGIN * _chance(seed, "shared", values[place])
    return enough


def _chance(seed: int, what: str, value: float) -> float:
    """A pseudorandom number between 0 and 1, determined by the seed."""
    # Adding 0.0 makes -0.0 equal to 0.0.
    return derive_seed(seed, what, (float(value) + 0.0).hex()) / 2.0**63


def _find_sign(values: Floats, weights: Floats, seed: int) -> int:
    """1 or -1 if there are no values, or too few, on the other side of zero; else 0."""
    sides = [values < 0, values > 0]
    below, above = (float(np.minimum(weights[side], 1.0).sum()) for side in sides)
    if are_shared(np.array([-np.inf, np.inf]), np.array([below, above]), seed).all():
        return 0
    return int(np.sign(above - below))


def _learn_steps(values: Floats, mass: Floats, records: Floats, unit: float, seed: int) -> tuple[Floats, Floats]:
    """The unit and coarser units with enough multiples, and the shares of values drawn among the multiples of each.

    A multiple of a step s is a multiple of a coarser step t by chance with probability s / t. So, with p_s the required
    shares, the share of the multiples of t is the sum of p_s over the steps from t up, plus p_s s / t over the finer
    ones.
    """
    if not unit or not len(values):
        return np.array([unit]), np.ones(1)
    steps, shares = [unit], [1.0]
    for _ in range(_STEPS):
        # From 5 times a power of ten to the next power it is 2, from that to the next 5 times it is 5.
        step = float(f"{steps[-1] * (2 if f'{steps[-1]:e}'[0] == '5' else 5):.0e}")
        rounded = are_multiples(values, step) & (values != 0)
        if not are_shared(np.array([step]), np.array([records[rounded].sum()]), seed)[0]:
            break
        steps.append(step)
        shares.append(float(mass[rounded].sum() / mass.sum()))
    given = np.array(steps)
    by_chance = np.minimum(given[None, :] / given[:, None], 1.0)
    asked = np.maximum(np.linalg.solve(by_chance, np.array(shares)), 0.0)
    return given, asked / asked.sum()


def _between(ends: Floats, values: Floats, seed: int) -> Floats:
    """Move every bin end that is a value to a random place between it and the next smaller value.

    Zero stays; an end becomes zero if no value lies between.
    """
    moved = ends.copy()
    for place, end in enumerate(ends.tolist()):
        at = int(np.searchsorted(values, end))
        if end == 0 or at == 0 or at == len(values) or values[at] != end:
            continue
        before = float(values[at - 1])
        moved[place] = 0.0 if before < 0 < end else end - (end - before) * _chance(seed, "end", place)
    return np.unique(moved)


def _grid_ends(
    values: Floats, mass: Floats, support: Support, sign: int, *, held: Floats | None, crowned: bool, zero: bool
) -> Floats:
    """Bin ends at weighted quantiles, and at zero if values lie on both sides of it.

    `held` is the number of records of each value if `mass` is weighted by a survey. `crowned` is whether the largest
    value is shared.
    """
    total = mass.sum() if held is None else held.sum()
    number = int(np.clip(total // LEAST_IN_BIN, 2, MOST_BINS))
    shares = set((np.arange(1, number) / number).tolist())
    # Narrower bins in the tails, as long as every bin has enough records.
    finer = (
        OUTERMOST
        if total * OUTERMOST[0] >= LEAST_IN_BIN
        else [one for one in OUTERMOST[1:2] if total * one >= LEAST_IN_BIN]
    )
    shares |= {end for one in finer for end in (one, 1 - one)}
    upto = np.cumsum(mass) / mass.sum()
    ends = values[np.minimum(np.searchsorted(upto, sorted(shares)), len(values) - 1)]
    ends = np.unique(np.append(ends, [0.0] if zero and values[0] < 0 < values[-1] else []))
    # No empty bins, and no bin that begins at the largest value, which would be released.
    ends = ends[(ends > values[0]) & ((ends < values[-1]) | crowned)]
    if held is not None:
        ends = _with_enough(ends, values, held)
    if len(ends):
        return ends
    if len(values) > 1:
        return values[[len(values) // 2]]
    # With a single value, halfway to zero or to an end of the support, whichever is farther.
    own = float(values[0])
    reach = [end for end in (*support, 0.0) if np.isfinite(end) and end != own and sign * end >= 0]
    return np.array([(own + max(reach or [own - (sign or 1)], key=lambda end: abs(end - own))) / 2])


def _nearest(among: Floats, values: Floats) -> NDArray[np.int64]:
    """Index of the nearest of some increasing numbers."""
    return np.searchsorted((among[1:] + among[:-1]) / 2, values)


def _with_enough(ends: Floats, values: Floats, held: Floats) -> Floats:
    """Remove bin ends until every bin has enough records; zero stays."""
    upto = np.append(0.0, np.cumsum(held))
    below = [*upto[np.searchsorted(values, ends)].tolist(), float(upto[-1])]
    kept: list[int] = []

    def begun() -> float:
        return below[kept[-1]] if kept else 0.0

    for place, end in enumerate([*ends.tolist(), np.inf]):
        fixed = end in (0.0, np.inf)
        # Remaining records before a fixed end join the previous bin.
        while fixed and kept and ends[kept[-1]] != 0 and below[place] - begun() < LEAST_IN_BIN:
            kept.pop()
        if fixed or below[place] - begun() >= LEAST_IN_BIN:
            kept.append(place)
    return ends[kept[:-1]]


def _learn_tail(values: Floats, mass: Floats, ends: Floats, side: int) -> tuple[float, Transform]:
    """Rate and scale of the distances of an outermost bin from its inner end."""
    inner = ends[-1 if side > 0 else 0]
    beyond = values >= inner if side > 0 else values < inner
    scale: Transform = "identity"
    # On one side of zero: a log or root scale, whichever fits better.
    if side * inner > 0:
        scale = usual_transform(side * values[side * values > 0])
    far, held = np.abs(_distance(inner, values[beyond], scale)), mass[beyond]
    # The farthest is the first or the last.
    most = 0 if side < 0 else -1
    others = float(far @ held - far[most] * held[most]) if len(far) else 0.0
    if others > 0:
        far[most] = min(far[most], _FARTHEST * others / float(held.sum() - held[most]))
    total = float(far @ held)
    if total > 0:
        return float(held.sum()) / total, scale
    # Without values beyond the end: the range of all values.
    return 1 / max(float(values[-1] - values[0]) or abs(float(inner)), np.finfo(np.float64).tiny), "identity"


def _distance(inner: float, values: Any, scale: Transform) -> Floats:
    """Distances from the inner end of an outermost bin, on its scale."""
    if scale == "identity":
        return np.abs(np.asarray(values) - inner)
    # The bin contains no values on the other side of zero.
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
