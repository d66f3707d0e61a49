"""A forest: any kind of column, from trees that are grown on draws of the pseudo posterior. No chains, no convergence.

With nothing assumed but that records are draws from one distribution, and each record's likelihood raised to its weight
a_i, the distribution has the pseudo posterior Dirichlet(a_1, ..., a_n) over the records: the limit of a Dirichlet
process with a vanishing prior. A draw of it gives every record a mass g_i ~ Gamma(a_i). Masses of a record that stands
in the table twice add up to Gamma(2 a_i), and a record of weight 0 has none.

Every tree is grown on masses of its own: the records are parted by one predictor after the other, so that the levels of
the column differ most between the parts, as long as either part has a mass of at least `leaf`. The distribution of the
column in a part is that of its masses, shrunk to that of the part before: (m_k + c p_k) / (m + c). A new value is drawn
from one of a few trees, chosen at random for every record: from the mean of their distributions.

Numbers are cut into levels (see `Grid`): a value that many records share is one of its own, the others are drawn anew
within their bin. No value is released because a part of a tree held only that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError, is_whole
from molehill.machine import in_threads, workers
from molehill.models.amounts import check_support, find_amounts
from molehill.synthesis.design import (
    Design,
    find_codes,
    find_levels,
    learn_design,
    predictor_codes,
    predictor_numbers,
    spread_rows,
)
from molehill.synthesis.synthesizer import DirectSynthesizer, Inputs, Learned, Prediction
from molehill.synthesis.transforms import Support, Transform, apply_transform, restore, usual_transform
from molehill.tables.schema import Kind, infer_kind
from molehill.tables.table import Table, find_columns

# Trees of a forest, and how many of them a table is drawn from.
TREES, WINDOW = 200, 20
# Mass that a part is shrunk to the one before it by.
SHRINKAGE = 2.0
# The least mass of a part, by default, and that of a category in relation to it.
LEAF, OF_LEVELS = 25.0, 0.4
# A set of levels is one word of the machine.
MOST_CODES = 64
MOST_LEVELS = 500
# A value that so many records share is nobody's own; one that such a share of them has is a level.
SHARED, OFTEN = 10.0, 0.02
# Bins of a number, the least mass of each, and the share of the outermost ones.
MOST_BINS, LEAST_IN_BIN, OUTERMOST = 50, 20.0, 0.01


def forest(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    leaf: float = LEAF,
    trees: int = TREES,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    missing: bool = False,
) -> DirectSynthesizer:
    """Replace a column of any kind by draws from a forest.

    Parameters
    ----------
    column
        The sensitive column: an amount, a count or a category.
    predictors, breaks, kinds
        What the model conditions on: see `molehill.synthesis.design.learn_design`. Of a formula only the columns
        count: trees find by themselves which go together.
    leaf
        The least mass of a part, about how many records of weight 1 it has: of a number; of a category, which has fewer
        levels, two fifths of it. Larger parts tell less of a person. As large as the table, the column depends on
        nothing.
    trees
        How many are grown, at least 20.
    lower, upper
        The public support of a number, for instance from a codebook; never the confidential extremes.
    missing
        Whether the forest also says which values are missing, as one level more; otherwise those that are stay so.

    Examples
    --------
    >>> forest("income", ["age", "education"], lower=0, upper=2_000_000).sensitive
    ('income',)
    """
    support = check_support(lower, upper)
    if isinstance(leaf, bool) or not 1 <= leaf < np.inf:
        raise InputError("leaf", "it must be a number from 1 up", f"{LEAF:g} is the default")
    if not is_whole(trees, WINDOW):
        raise InputError("trees", f"it must be a whole number from {WINDOW} up", f"{TREES} is the default")
    own_kind = (kinds or {}).get(column)
    of_predictors = {name: kind for name, kind in (kinds or {}).items() if name != column}

    def learn(table: Table, weights: Floats) -> Learned:
        find_columns(table, [column], "column")
        design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=of_predictors, complete=False)
        coding = _learn_coding(table, design)
        kind = own_kind or infer_kind(table, column)[0]
        if kind == "categorical":
            outcome, levels = _learn_levels(table, column)
        else:
            values = find_amounts(table, column)
            levels = learn_grid(values, np.where(np.isnan(values), 0.0, weights), support)
            outcome = levels.codes(values)
        number = len(levels) if isinstance(levels, tuple) else levels.number
        if missing:
            outcome, number = np.where(outcome < 0, number, outcome), number + 1
        scores = _scores(table.frame[column], levels, number)
        inputs = {"codes": coding.apply(table), "outcome": outcome}
        facts = {
            "column": column,
            "levels": levels,
            "number": number,
            "support": support,
            "design": design.facts,
            "coding": coding,
            "scores": scores,
            "leaf": max(OF_LEVELS * leaf, 1.0) if isinstance(levels, tuple) else float(leaf),
        }
        return Learned(inputs, facts, again=coding.again)

    return DirectSynthesizer(
        sensitive=(column,),
        name="forest",
        words="a forest of trees",
        learn=learn,
        sample=partial(_grow, trees=trees),
        predict=partial(_predict, column=column, missing=missing),
        functionals=_functionals,
        levels=lambda learned: _named_levels(learned, column),
        missing=missing,
    )


def _named_levels(learned: Learned, column: str) -> dict[str, Any]:
    levels = learned.facts["levels"]
    return {column: levels} if isinstance(levels, tuple) else {}


# Predictors as small whole numbers.


@dataclass(frozen=True, eq=False)
class Coding:
    """Predictors as codes below 64: levels of categories, bins of numbers (0: missing).

    Attributes
    ----------
    design
        What was learned of the predictors.
    names
        The predictors that vary, in the order of the codes.
    ends
        Of a number, where its bins begin after the first.
    base
        The codes of the table that was learned from.
    """

    design: Design
    names: tuple[str, ...]
    ends: Mapping[str, Floats]
    base: NDArray[np.uint8]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each predictor has."""
        of = [len(self.ends[n]) + 2 if n in self.ends else len(self.design.levels[n]) for n in self.names]
        return np.array(of, dtype=np.int64)

    @property
    def unordered(self) -> Booleans:
        """Which predictors are categories without an order."""
        ordered = {*self.ends, *self.design.breaks}
        return np.array([name not in ordered for name in self.names], dtype=bool)

    def code(self, table: Table, name: str) -> NDArray[np.uint8]:
        """Give the codes of one predictor."""
        if name not in self.ends:
            return predictor_codes(self.design, table, name).astype(np.uint8)
        values = predictor_numbers(table, name)
        places = 1 + np.searchsorted(self.ends[name], values, side="right")
        return np.where(np.isnan(values), 0, places).astype(np.uint8)

    def apply(self, table: Table) -> NDArray[np.uint8]:
        """Give the codes of all predictors, (records, predictors)."""
        columns = [self.code(table, name) for name in self.names]
        return np.column_stack(columns) if columns else np.zeros((len(table.frame), 0), dtype=np.uint8)

    def again(self, table: Table, replaced: Sequence[str] | None = None) -> dict[str, Any]:
        """The codes for a table with other values in some predictors, or in those that are named alone."""
        if replaced is None:
            return {"codes": self.apply(table)}
        codes = self.base.copy()
        for place, name in enumerate(self.names):
            if name in replaced:
                codes[:, place] = self.code(table, name)
        return {"codes": codes}


def _learn_coding(table: Table, design: Design) -> Coding:
    ends = {}
    for name in design.centre:
        if name not in design.dropped or name in design.missing:
            ends[name] = _bin_ends(predictor_numbers(table, name))
    levels = [name for name in design.levels if name not in design.dropped]
    names = tuple(name for term in design.terms for name in term)
    names = tuple(name for name in dict.fromkeys(names) if name in ends or name in levels)
    made = Coding(design, names, ends, np.zeros((0, 0), dtype=np.uint8))
    return Coding(design, names, ends, made.apply(table))


def _bin_ends(values: Floats) -> Floats:
    """Cut a number into as many bins as there are codes: at its values if these are few, at quantiles otherwise."""
    present = values[~np.isnan(values)]
    distinct = np.unique(present)
    if len(distinct) <= MOST_CODES - 1:
        return distinct[1:]
    shares = np.arange(1, MOST_CODES - 1) / (MOST_CODES - 1)
    return np.unique(np.quantile(present, shares, method="higher"))


def _learn_levels(table: Table, column: str) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    values = table.frame[column]
    levels = tuple(level for level in find_levels(values, column, "column") if level is not None)
    if len(levels) < 2:
        raise InputError("column", f"{column!r} has fewer than two levels", "Release it as it is")
    if len(levels) > MOST_LEVELS:
        problem = f"{column!r} has {len(levels):,} levels, more than {MOST_LEVELS}"
        raise InputError("column", problem, "Group them into fewer")
    codes = find_codes(values, (*levels, None), column, "column")
    return np.where(codes < len(levels), codes, -1), levels


def _scores(column: pd.Series, levels: Any, number: int) -> Floats:
    """Numbers in the order of the levels, to order categorical predictors by; none for a category without an order."""
    if isinstance(levels, tuple):
        ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        return np.arange(number) / number if ordered else np.empty(0)
    middles = levels.middles()
    # A missing value, if that is a level, stands before all.
    return np.argsort(np.argsort(np.append(middles, np.full(number - len(middles), -np.inf)))) / number


# Numbers as levels.


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
    mass = np.bincount(place, weights)
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


# Trees.


class _Task(NamedTuple):
    """What every tree is grown on."""

    codes: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    unordered: Booleans
    outcome: NDArray[np.int64]
    number: int
    scores: Floats
    leaf: float


def _grow(learned: Learned, weights: Floats, seed: int, *, trees: int, advance: Any = None) -> dict[str, np.ndarray]:
    """Grow trees, each on masses of its own: sites as arrays (1, trees, ...)."""
    facts, coding = learned.facts, learned.facts["coding"]
    counted = weights > 0
    task = _Task(
        np.ascontiguousarray(learned.inputs["codes"][counted]),
        coding.sizes,
        coding.unordered,
        np.ascontiguousarray(learned.inputs["outcome"][counted]),
        facts["number"],
        facts["scores"],
        facts["leaf"],
    )
    grown: list[Any] = [None] * trees
    alpha = weights[counted]

    def grow(first: int, last: int) -> None:
        for tree in range(first, last):
            random = np.random.default_rng([seed, tree])
            masses = random.standard_gamma(alpha)
            grown[tree] = grow_tree(*task, masses, int(random.integers(2**31)), SHRINKAGE)

    # In rounds, so that progress can be told.
    step = 2 * workers()
    for begin in range(0, trees, 10 * step):
        end = min(begin + 10 * step, trees)
        cuts = np.linspace(begin, end, workers() + 1).astype(int).tolist()
        in_threads(grow, list(zip(cuts[:-1], cuts[1:], strict=True)))
        if advance is not None:
            advance(end - begin)
    nodes = max(len(tree[0]) for tree in grown)
    leaves = max(len(tree[3]) for tree in grown)
    feature, child = (np.full((1, trees, nodes), -1, dtype=np.int32) for _ in range(2))
    left = np.zeros((1, trees, nodes), dtype=np.uint64)
    shares = np.zeros((1, trees, leaves, facts["number"]), dtype=np.float32)
    for place, (own_feature, own_left, own_child, own_shares) in enumerate(grown):
        size = len(own_feature)
        feature[0, place, :size], left[0, place, :size], child[0, place, :size] = own_feature, own_left, own_child
        shares[0, place, : len(own_shares)] = own_shares
    return {"feature": feature, "left": left, "child": child, "shares": shares}


@numba.njit(cache=True, nogil=True)
def grow_tree(codes, sizes, unordered, outcome, number, scores, leaf, masses, seed, shrinkage):  # noqa: ANN001, ANN201, C901, PLR0912, PLR0914, PLR0915
    """Grow one tree on masses of the records.

    Returns
    -------
    feature, left, child
        One a node: the predictor it is parted by, the codes that go to the left as a set of bits, and its left child
        (the right one follows it); of a leaf -1, nothing, and minus its number minus 1.
    shares
        (leaves, levels): the distribution of the column in every leaf.
    """
    np.random.seed(seed)
    records, predictors = codes.shape
    order = np.arange(records)
    aside = np.empty(records, np.int64)
    most = 3 + 2 * int(masses.sum() / leaf)
    feature, child, parent = np.full(most, -1, np.int32), np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    left = np.zeros(most, np.uint64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    counts = np.zeros((most, number))
    end[0] = records
    for i in range(records):
        counts[0, outcome[i]] += masses[i]
    table, total, score = np.zeros((64, number)), np.zeros(64), np.zeros(64)
    part = np.zeros(number)
    nodes, node = 1, 0
    while node < nodes:
        mass = counts[node].sum()
        if mass >= 2 * leaf and nodes + 2 <= most and counts[node].max() < mass * (1 - 1e-9):
            base = -mass * np.log(mass)
            for k in range(number):
                if counts[node, k] > 0:
                    base += counts[node, k] * np.log(counts[node, k])
            # A level by chance, to order the codes of categories by where levels have no order.
            limit, chosen = np.random.random() * mass, 0
            reached = counts[node, 0]
            while reached < limit and chosen < number - 1:
                chosen += 1
                reached += counts[node, chosen]
            best, best_feature, best_left = 1e-9, -1, np.uint64(0)
            for f in range(predictors):
                size = sizes[f]
                table[:size] = 0.0
                for place in range(begin[node], end[node]):
                    i = order[place]
                    table[codes[i, f], outcome[i]] += masses[i]
                for code in range(size):
                    total[code] = table[code].sum()
                if unordered[f]:
                    for code in range(size):
                        score[code] = 2.0
                        if total[code] > 0:
                            if len(scores) == number:
                                score[code] = (table[code] * scores).sum() / total[code]
                            else:
                                score[code] = table[code, chosen] / total[code]
                        else:
                            # A code that is not here goes where chance sends it.
                            score[code] = np.random.random()
                    ranked = np.argsort(score[:size])
                else:
                    ranked = np.arange(size)
                part[:] = 0.0
                lower = 0.0
                word = np.uint64(0)
                for place in range(size - 1):
                    code = ranked[place]
                    word |= np.uint64(1) << np.uint64(code)
                    if total[code] == 0:
                        continue
                    part += table[code]
                    lower += total[code]
                    upper = mass - lower
                    if lower < leaf:
                        continue
                    if upper < leaf:
                        break
                    gain = -base - lower * np.log(lower) - upper * np.log(upper)
                    for k in range(number):
                        if part[k] > 0:
                            gain += part[k] * np.log(part[k])
                        other = counts[node, k] - part[k]
                        if other > 1e-12:
                            gain += other * np.log(other)
                    if gain > best:
                        best, best_feature, best_left = gain, f, word
            if best_feature >= 0:
                feature[node], left[node], child[node] = best_feature, best_left, nodes
                parent[nodes], parent[nodes + 1] = node, node
                front, back = begin[node], 0
                for place in range(begin[node], end[node]):
                    i = order[place]
                    if (best_left >> np.uint64(codes[i, best_feature])) & np.uint64(1):
                        order[front] = i
                        front += 1
                        counts[nodes, outcome[i]] += masses[i]
                    else:
                        aside[back] = i
                        back += 1
                        counts[nodes + 1, outcome[i]] += masses[i]
                for place in range(back):
                    order[front + place] = aside[place]
                begin[nodes], end[nodes] = begin[node], front
                begin[nodes + 1], end[nodes + 1] = front, end[node]
                nodes += 2
        node += 1
    shares = np.empty((nodes, number))
    leaves = 0
    for v in range(nodes):
        mass = counts[v].sum()
        if v == 0:
            # Whatever level there is can come, if hardly ever.
            shares[v] = (counts[v] + 1.0 / number) / (mass + 1.0)
        else:
            shares[v] = (counts[v] + shrinkage * shares[parent[v]]) / (mass + shrinkage)
        if child[v] < 0:
            leaves += 1
    kept = np.empty((leaves, number), np.float32)
    leaves = 0
    for v in range(nodes):
        if child[v] < 0:
            kept[leaves] = shares[v]
            leaves += 1
            child[v] = -leaves
    return feature[:nodes], left[:nodes], child[:nodes], kept


@numba.njit(cache=True, nogil=True)
def walk(codes, feature, left, child, shares, chosen, chance, allowed, drawn, given):  # noqa: ANN001, ANN201
    """Take every record down its tree and draw a level from where it comes to, of those that are allowed.

    `given` gets the share of the allowed levels there; where that is nothing, the level is -1.
    """
    for i in range(len(codes)):
        tree, node = chosen[i], 0
        while child[tree, node] >= 0:
            code = np.uint64(codes[i, feature[tree, node]])
            goes_left = (left[tree, node] >> code) & np.uint64(1)
            node = child[tree, node] + (0 if goes_left else 1)
        own = shares[tree, -child[tree, node] - 1]
        total = 0.0
        for k in range(len(own)):
            if allowed[i % len(allowed), k]:
                total += own[k]
        given[i] = total
        drawn[i] = -1
        limit, reached = chance[i] * total, 0.0
        for k in range(len(own)):
            if allowed[i % len(allowed), k] and own[k] > 0:
                reached += own[k]
                drawn[i] = k
                if reached > limit:
                    break


def _predict(
    random: np.random.Generator,
    draws: Mapping[str, np.ndarray],
    place: int,
    learned: Learned,
    inputs: Inputs,
    *,
    column: str,
    missing: bool,
) -> Prediction:
    """Draw new values from the trees after `place`."""
    facts = learned.facts
    levels, number = facts["levels"], facts["number"]
    codes = np.ascontiguousarray(inputs["codes"])
    records, trees = len(codes), draws["child"].shape[1]
    chosen = (place + random.integers(0, min(WINDOW, trees), records)) % trees
    allowed, low, high = _possible(facts, inputs, records)
    drawn, given = np.empty(records, dtype=np.int64), np.empty(records)
    sites = [draws[name][0] for name in ("feature", "left", "child", "shares")]
    walk(codes, *sites, chosen, random.random(records), allowed, drawn, given)
    if isinstance(levels, tuple):
        # The code -1 is nothing: a missing value.
        return Prediction({column: np.where(drawn == len(levels), -1, drawn) if missing else drawn})
    absent = (drawn == levels.number) | (drawn < 0)
    values = levels.draw(np.where(absent, -1, drawn), random, low, high)
    counts = np.bincount(drawn[~absent], minlength=number)[: levels.number]
    return Prediction({column: values}, float(counts @ levels.outside() / max(counts.sum(), 1)))


def _possible(facts: Mapping[str, Any], inputs: Inputs, records: int) -> tuple[Booleans, Floats, Floats]:
    """Which levels a record may have, one row for all where that is the same, and between which ends its number lies."""
    levels, number = facts["levels"], facts["number"]
    ends = [np.broadcast_to(np.float64(end), records) for end in facts["support"]]
    given = [np.asarray(inputs[name]) if name in inputs else None for name in ("allowed", "lower", "upper")]
    allowed = np.ones((1, number), dtype=bool)
    if isinstance(levels, tuple):
        if given[0] is not None:
            allowed = np.ones((records, number), dtype=bool)
            allowed[:, : len(levels)] = given[0]
        return allowed, ends[0], ends[1]
    low = ends[0] if given[1] is None else np.maximum(ends[0], given[1])
    high = ends[1] if given[2] is None else np.minimum(ends[1], given[2])
    one = slice(0, 1) if given[1] is None and given[2] is None else slice(None)
    possible = levels.possible(low[one], high[one])
    allowed = np.ones((len(possible), number), dtype=bool)
    allowed[:, : levels.number] = possible
    return allowed, low, high


def _functionals(draws: Mapping[str, np.ndarray], learned: Learned, weights: Floats) -> dict[str, np.ndarray]:
    """What is watched: by tree, the shares of the levels over all records, and the weighted log-likelihood."""
    sites = [draws[name][0] for name in ("feature", "left", "child", "shares")]
    counted = weights > 0
    codes = np.ascontiguousarray(learned.inputs["codes"][counted])
    outcome = learned.inputs["outcome"][counted]
    trees, number = sites[3].shape[0], sites[3].shape[2]
    shares, fit = np.empty((trees, number)), np.empty((trees, 1))
    watched = spread_rows(len(codes), 500)
    for tree in range(trees):
        leaves = _leaves(codes, sites[0][tree], sites[1][tree], sites[2][tree])
        shares[tree] = sites[3][tree, leaves[watched]].mean(axis=0)
        fit[tree] = weights[counted] @ np.log(np.maximum(sites[3][tree, leaves, outcome], 1e-30))
    return {"level_share": shares[None], "weighted_loglik": fit[None]}


@numba.njit(cache=True, nogil=True)
def _leaves(codes, feature, left, child):  # noqa: ANN001, ANN202
    found = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        node = 0
        while child[node] >= 0:
            goes_left = (left[node] >> np.uint64(codes[i, feature[node]])) & np.uint64(1)
            node = child[node] + (0 if goes_left else 1)
        found[i] = -child[node] - 1
    return found
