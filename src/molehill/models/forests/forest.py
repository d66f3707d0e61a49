"""The forest synthesizer: variables of any kind, by trees grown on draws of the pseudo posterior, without MCMC.

The distribution of the records has a nonparametric pseudo posterior, Dirichlet(a_1, ..., a_n), with a_i the weight of
record i (the limit of a Dirichlet process with a vanishing prior). A draw gives every record a Bayesian-bootstrap
weight g_i ~ Gamma(a_i), called its mass in the code.

Every tree is grown on its own bootstrap weights. Records are split by one predictor at a time (the best of a random
half of the predictors) so that the distribution of the variable differs most between the two sides, as long as both
sides have a total weight of at least the minimum leaf size. The distribution in a node is that of its weights, shrunk
to that of its parent: (m_k + c p_k) / (m + c). Associations with predictors that are split last or not at all would be
lost; therefore the leaf distributions are raked to the one-way margins of every predictor (iterative proportional
fitting), by cells of a predictor (codes with at least the minimum leaf size) and groups of levels. A new value is drawn
from a tree chosen at random for every record among a few: from the mean of their distributions.

With a survey design a record represents d_i others, which the bootstrap weights take into account (see `masses`), so
that values are drawn from the population. The limits that protect records (minimum leaf size, cells, bins, values
released as collected) still count records by their weights a_i alone.

Numbers are coded as levels (see `Grid`): a frequent value is a level of its own, other values are drawn within their
bin. No value is released because a leaf contained only that value.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.errors import InputError, is_whole
from molehill.models.amounts import check_support, find_amounts
from molehill.models.forests.grid import Grid, learn_grid
from molehill.models.forests.guesses import compare_guesses
from molehill.models.forests.masses import draw_masses
from molehill.models.forests.trees import SWEEPS, UNDER_DESIGN, count_trees, find_leaves, grow_tree, lean_tree, walk
from molehill.models.forests.without import compare_releases
from molehill.runtime import in_threads, workers
from molehill.synthesis.design import (
    Design,
    code_levels,
    find_codes,
    learn_design,
    predictor_codes,
    predictor_numbers,
    spread_rows,
)
from molehill.synthesis.fitting import NothingCountsError
from molehill.synthesis.survey_fit import Survey
from molehill.synthesis.synthesizer import DirectSynthesizer, Inputs, Learned, Observed, Prediction
from molehill.tables.resolution import holds_dates, resolution
from molehill.tables.schema import Kind, column_numbers, infer_kind
from molehill.tables.table import Table, find_columns

# With at most this many values on one side of zero, one of them may determine whether that side is released.
_FEW = 20
# Arrays of a tree.
SITES = ("feature", "left", "child", "shares", "lean")
# Number of trees that a dataset is drawn from.
WINDOW = 20
# Share of the predictors tried at a split, chosen at random.
TRIED = 0.5
# Prior weight of the parent's distribution.
SHRINKAGE = 2.0
# Default minimum leaf size, and its factor for categories.
LEAF, OF_LEVELS = 30.0, 0.2
# Raking: number of groups of levels, and of cells of a numeric predictor.
GROUPS, CELLS = 8, 10
# Maximum number of codes of a predictor: a set of codes is a 64-bit word.
MOST_CODES = 64


def forest(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    min_leaf_size: float = LEAF,
    trees: int | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    levels: Sequence[Any] | None = None,
    missing: bool = False,
    min_level_records: int = 1,
    seed: int | None = None,
) -> DirectSynthesizer:
    """Synthesize a variable of any kind by a forest.

    Parameters
    ----------
    column
        The sensitive variable: an amount, a count or a category.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`. Of a formula only the variables are used: trees find
        interactions themselves.
    min_leaf_size
        Minimum total weight of a leaf, about its number of records of weight 1; for categories a fifth of it. Larger
        leaves lower the risk and lose detail. At the size of the data, no predictor is used.
    trees
        Number of trees, at least 20; by default 200, and fewer (at least 40) for more than 25,000 records.
    lower, upper
        Value range of a number, for example from a codebook; never the confidential extremes.
    levels
        All levels of an ordered category, in order; not needed for an ordered pandas categorical.
    missing
        Whether to model missingness, as an additional level; otherwise missing values stay missing.
    min_level_records
        Minimum number of missing values for missingness to be modelled; with fewer, no value will be missing.
    seed
        Seed of the thresholds from which values count as shared, and of the bin ends, see `Grid`; 0 by default. It is
        confidential.

    Examples
    --------
    >>> forest("income", ["age", "education"], lower=0, upper=2_000_000).sensitive
    ('income',)
    """
    support = check_support(lower, upper)
    if isinstance(min_leaf_size, bool | str) or not 1 <= min_leaf_size < np.inf:
        raise InputError("min_leaf_size", "it must be a number, 1 or larger", f"The default is {LEAF:g}")
    if trees is not None and not is_whole(trees, WINDOW):
        raise InputError("trees", f"it must be a whole number, {WINDOW} or larger", "Omit it for the default")
    own_kind, order = (kinds or {}).get(column), None if levels is None else tuple(levels)
    of_predictors: dict[str, Kind] = {name: kind for name, kind in (kinds or {}).items() if name != column}

    def cut(table: Table, values: Floats, weights: Floats, survey: Survey | None) -> Grid:
        times, dated = (None if survey is None else survey.times), holds_dates(table.frame[column])
        counted, own = np.where(np.isnan(values), 0.0, weights), derive_seed(seed or 0, "grid", column)
        return learn_grid(values, counted, support, repr(column), times, seed=own, zero=not dated)

    def learn(table: Table, weights: Floats, survey: Survey | None = None) -> Learned:
        find_columns(table, [column], "column")
        design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=of_predictors, complete=False)
        coding = _learn_coding(table, design, weights)
        kind = own_kind or infer_kind(table, column)[0]
        if kind == "categorical":
            outcome, found = code_levels(table, column, order)
        else:
            values = find_amounts(table, column)
            found = cut(table, values, weights, survey)
            outcome = found.codes(values)
        known = number = len(found) if isinstance(found, tuple) else found.number
        if missing and not weights[outcome >= 0].any():
            problem = f"all records with a value of {column!r} have weight 0"
            raise NothingCountsError("weights", problem, "Use a larger scale or shift of the weights")
        # With too few missing values, none will be missing.
        if missing and weights[outcome < 0].any() and (outcome < 0).sum() >= min_level_records:
            outcome, number = np.where(outcome < 0, number, outcome), number + 1
        scores = _scores(table.frame[column], found, number, ordered=order is not None)
        inputs = {"codes": coding.apply(table), "outcome": outcome}
        facts = {
            "column": column,
            "levels": found,
            "number": number,
            "support": support,
            "design": design.facts,
            "coding": coding,
            "scores": scores,
            "group": _group_levels(found, outcome, weights, number),
            "cells": _find_cells(coding, weights, float(min_leaf_size)),
            "leaf": max(OF_LEVELS * min_leaf_size, 1.0) if isinstance(found, tuple) else float(min_leaf_size),
        }
        absent = number - 1 if missing and number > known else -1
        observed = partial(_observe, column=column, levels=found, absent=absent)
        return Learned(inputs, facts, again=coding.again, observed=observed)

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
        surveyed=True,
        compare_releases=partial(compare_releases, window=WINDOW, shrinkage=SHRINKAGE),
        find_deciding=partial(_find_deciding, column=column, cut=cut),
        compare_guesses=partial(compare_guesses, window=WINDOW, shrinkage=SHRINKAGE),
    )


def _find_deciding(
    table: Table,
    weights: Floats,
    learned: Learned,
    rows: NDArray[np.int64],
    survey: Survey | None = None,
    *,
    column: str,
    cut: Callable[[Table, Floats, Floats, Survey | None], Grid],
) -> Booleans:
    """Which records determine what can be released: without them a value or level would not be."""
    found, outcome = learned.facts["levels"], np.asarray(learned.inputs["outcome"])
    deciding = np.zeros(len(rows), dtype=bool)
    known = len(found) if isinstance(found, tuple) else found.number
    # A level, or missing, that only one record has.
    counts, own = np.bincount(outcome[outcome >= 0], minlength=known + 1), outcome[rows]
    named = (own >= 0) if isinstance(found, tuple) else own >= known
    deciding[named] = counts[own[named]] == 1
    if isinstance(found, tuple):
        return deciding
    values = find_amounts(table, column)
    counted = ~np.isnan(values) & (weights > 0)
    shared, unit = np.union1d(found.spikes, found.heaps), resolution(values[counted])
    few = [np.sign(side) for side in (-1, 1) if (side * values[counted] > 0).sum() <= _FEW]
    changed: dict[tuple[float, ...], bool] = {}
    for place in np.flatnonzero(~deciding & counted[rows]).tolist():
        row = int(rows[place])
        rest = counted & (np.arange(len(values)) != row)
        # Most records can be left out without learning a new grid.
        if values[row] not in shared and np.sign(values[row]) not in few and resolution(values[rest]) == unit:
            continue
        alike = (float(values[row]), float(weights[row]), *([] if survey is None else [float(survey.times[row])]))
        if alike not in changed:
            try:
                changed[alike] = cut(table, values, np.where(rest, weights, 0.0), survey).kind != found.kind
            except InputError:
                # All other values are equal.
                changed[alike] = True
        deciding[place] = changed[alike]
    return deciding


def _observe(table: Table, *, column: str, levels: Any, absent: int) -> Observed:
    """Level codes of other values; `absent` is the code of a missing value."""
    if isinstance(levels, tuple):
        codes = find_codes(table.frame[column], (*levels, None), column, "guesses")
        codes = np.where(codes < len(levels), codes, -1)
    else:
        codes = levels.codes(column_numbers(table, column))
    return Observed({"outcome": np.where(codes < 0, absent, codes)})


def _named_levels(learned: Learned, column: str) -> dict[str, Any]:
    levels = learned.facts["levels"]
    return {column: levels} if isinstance(levels, tuple) else {}


# Predictor codes.


@dataclass(frozen=True, eq=False)
class Coding:
    """Predictors as codes below 64: levels of categories, bins of numbers (0: missing).

    Attributes
    ----------
    design
        The encoding of the predictors.
    names
        The predictors that vary, in the order of the codes.
    ends
        Bin ends of numeric predictors.
    base
        The codes of the confidential data.
    """

    design: Design
    names: tuple[str, ...]
    ends: Mapping[str, Floats]
    base: NDArray[np.uint8]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of codes of every predictor."""
        of = [len(self.ends[n]) + 2 if n in self.ends else len(self.design.levels[n]) for n in self.names]
        return np.array(of, dtype=np.int64)

    @property
    def unordered(self) -> Booleans:
        """Which predictors are unordered categories."""
        ordered = {*self.ends, *self.design.breaks}
        return np.array([name not in ordered for name in self.names], dtype=bool)

    def code(self, table: Table, name: str) -> NDArray[np.uint8]:
        """Codes of one predictor."""
        if name not in self.ends:
            return predictor_codes(self.design, table, name).astype(np.uint8)
        values = predictor_numbers(table, name)
        places = 1 + np.searchsorted(self.ends[name], values, side="right")
        return np.where(np.isnan(values), 0, places).astype(np.uint8)

    def apply(self, table: Table) -> NDArray[np.uint8]:
        """Codes of all predictors, (records, predictors)."""
        columns = [self.code(table, name) for name in self.names]
        return np.column_stack(columns) if columns else np.zeros((len(table.frame), 0), dtype=np.uint8)

    def again(self, table: Table, replaced: Sequence[str] | None = None) -> dict[str, Any]:
        """Codes for a dataset with other values of the predictors, or of the named ones only."""
        if replaced is None:
            return {"codes": self.apply(table)}
        codes = self.base.copy()
        for place, name in enumerate(self.names):
            if name in replaced:
                codes[:, place] = self.code(table, name)
        return {"codes": codes}


def _learn_coding(table: Table, design: Design, weights: Floats) -> Coding:
    ends = {}
    for name in design.centre:
        if name not in design.dropped or name in design.missing:
            ends[name] = _bin_ends(predictor_numbers(table, name), weights if weights.any() else np.ones(len(weights)))
    levels = [name for name in design.levels if name not in design.dropped]
    names = tuple(name for term in design.terms for name in term)
    names = tuple(name for name in dict.fromkeys(names) if name in ends or name in levels)
    made = Coding(design, names, ends, np.zeros((0, 0), dtype=np.uint8))
    return Coding(design, names, ends, made.apply(table))


def _bin_ends(values: Floats, weights: Floats) -> Floats:
    """Bin ends of a number: all its values if they are few, otherwise weighted quantiles."""
    counted = ~np.isnan(values) & (weights > 0)
    distinct, place = np.unique(values[counted], return_inverse=True)
    if len(distinct) <= MOST_CODES - 1:
        return distinct[1:]
    upto = np.cumsum(np.bincount(place, weights[counted]))
    shares = np.arange(1, MOST_CODES - 1) / (MOST_CODES - 1)
    return np.unique(distinct[np.searchsorted(upto, shares * upto[-1])])


def _scores(column: pd.Series, levels: Any, number: int, *, ordered: bool) -> Floats:
    """Scores of the levels, by whose mean the codes of unordered predictors are sorted; empty for unordered levels."""
    if isinstance(levels, tuple):
        ordered |= isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
        return np.arange(number) / number if ordered else np.empty(0)
    places = np.argsort(np.argsort(levels.middles(), kind="stable"))
    # Missing, if it is a level, comes first.
    return np.append(places + 1, np.zeros(number - levels.number)) / (number + 1)


def _group_levels(levels: Any, outcome: NDArray[np.int64], weights: Floats, number: int) -> NDArray[np.int64]:
    """Group the levels for raking: adjacent levels of a number, the frequent levels of a category.

    Missing, if it is a level, is a group of its own.
    """
    mass = np.bincount(outcome[outcome >= 0], weights[outcome >= 0], minlength=number)
    known = len(levels) if isinstance(levels, tuple) else levels.number
    if isinstance(levels, tuple):
        order = np.argsort(-mass[:known], kind="stable")
        group = np.minimum(np.argsort(order), 2 * GROUPS - 1)
    else:
        order = np.argsort(levels.middles(), kind="stable")
        upto = np.cumsum(mass[order]) - mass[order] / 2
        group = np.empty(known, dtype=np.int64)
        group[order] = np.minimum(GROUPS * upto / max(mass[:known].sum(), 1e-300), GROUPS - 1).astype(np.int64)
    group = np.unique(group, return_inverse=True)[1]
    return np.append(group, np.full(number - known, group.max(initial=-1) + 1)).astype(np.int64)


def _find_cells(coding: Coding, weights: Floats, leaf: float) -> NDArray[np.int64]:
    """Raking cells of all predictors, (predictors, 64): codes with at least the minimum leaf size, -1 for others.

    Neighbouring codes of an ordered predictor are combined; of a category every level is a cell.
    """
    cells, number = np.full((len(coding.names), MOST_CODES), -1, dtype=np.int64), 0
    for place, (size, unordered) in enumerate(zip(coding.sizes, coding.unordered, strict=True)):
        mass = np.bincount(coding.base[:, place], weights, minlength=size)
        if unordered:
            own = np.flatnonzero(mass >= leaf)
            if len(own) > 1 or (len(own) == 1 and mass[own].sum() < mass.sum()):
                cells[place, own] = number + np.arange(len(own))
                number += len(own)
            continue
        least = max(leaf, mass.sum() / CELLS)
        begun, held, edges = 0, 0.0, []
        for code in range(size):
            held += mass[code]
            if held >= least:
                edges.append((begun, code + 1))
                begun, held = code + 1, 0.0
        if len(edges) > 1 or (edges and held > 0):
            for first, last in edges:
                cells[place, first:last] = number
                number += 1
            # Remaining codes join the last cell.
            cells[place, edges[-1][1] : size] = number - 1
    return cells


class _Task(NamedTuple):
    """Arguments common to all trees."""

    codes: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    unordered: Booleans
    outcome: NDArray[np.int64]
    number: int
    scores: Floats
    leaf: float
    try_most: int


def _grow(
    learned: Learned,
    weights: Floats,
    seed: int,
    *,
    trees: int | None,
    advance: Any = None,
    survey: Survey | None = None,
) -> dict[str, np.ndarray]:
    """Grow trees, each on its own bootstrap weights: sites as arrays (1, trees, ...)."""
    facts, coding = learned.facts, learned.facts["coding"]
    counted = weights > 0
    trees = count_trees(int(counted.sum())) if trees is None else trees
    task = _Task(
        np.ascontiguousarray(learned.inputs["codes"][counted]),
        coding.sizes,
        coding.unordered,
        np.ascontiguousarray(learned.inputs["outcome"][counted]),
        facts["number"],
        facts["scores"],
        facts["leaf"],
        max(1, int(np.ceil(TRIED * len(coding.names)))),
    )
    grown: list[Any] = [None] * trees
    cells, group = facts["cells"], facts["group"]
    number, groups = int(cells.max(initial=-1)) + 1, int(group.max()) + 1
    # Needed with a survey only; otherwise the kernels are compiled without them.
    who, times = (None, None) if survey is None else (weights[counted], survey.times[counted])
    worth = None if who is None or times is None else _worth(task.codes, cells, number, who, times)

    def grow(first: int, last: int) -> None:
        for tree in range(first, last):
            # A spawn key, because drawing uses [seed, number of the dataset].
            random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(tree,)))
            masses = draw_masses(random, weights, survey)[counted]
            feature, left, child, shares = grow_tree(
                *task, masses, int(random.integers(2**31)), SHRINKAGE, who=who, times=times
            )
            about = (task.codes, cells, task.outcome, group, groups, masses)
            sweeps = SWEEPS if survey is None else UNDER_DESIGN
            lean = lean_tree(*about, feature, left, child, shares, number, sweeps, SHRINKAGE, worth)
            grown[tree] = (feature, left, child, shares, lean)

    # In rounds, to report progress.
    step = 2 * workers()
    for begin in range(0, trees, 10 * step):
        end = min(begin + 10 * step, trees)
        cuts = np.linspace(begin, end, workers() + 1).astype(int).tolist()
        in_threads(grow, list(pairwise(cuts)))
        if advance is not None:
            advance(end - begin)
    nodes = max(len(tree[0]) for tree in grown)
    leaves = max(len(tree[3]) for tree in grown)
    feature, child = (np.full((1, trees, nodes), -1, dtype=np.int32) for _ in range(2))
    left = np.zeros((1, trees, nodes), dtype=np.uint64)
    shares = np.zeros((1, trees, leaves, facts["number"]), dtype=np.float32)
    lean = np.stack([tree[4] for tree in grown])[None].astype(np.float32)
    for place, (own_feature, own_left, own_child, own_shares, _) in enumerate(grown):
        size = len(own_feature)
        feature[0, place, :size], left[0, place, :size], child[0, place, :size] = own_feature, own_left, own_child
        shares[0, place, : len(own_shares)] = own_shares
    return {"feature": feature, "left": left, "child": child, "shares": shares, "lean": lean}


def _worth(codes: NDArray[np.uint8], cells: NDArray[np.int64], number: int, weights: Floats, times: Floats) -> Floats:
    """Kish's effective number of records of every cell."""
    first, second = np.zeros(number), np.zeros(number)
    for place in range(codes.shape[1]):
        of = cells[place, codes[:, place]]
        inside = of >= 0
        first += np.bincount(of[inside], (weights * times)[inside], minlength=number)
        second += np.bincount(of[inside], (weights * times**2)[inside], minlength=number)
    return first**2 / np.maximum(second, np.finfo(np.float64).tiny)


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
    levels = facts["levels"]
    codes = np.ascontiguousarray(inputs["codes"])
    records, trees = len(codes), draws["child"].shape[1]
    chosen = (place + random.integers(0, min(WINDOW, trees), records)) % trees
    allowed, low, high = _possible(facts, inputs, records)
    drawn, given = np.empty(records, dtype=np.int64), np.empty(records)
    sites = [draws[name][0] for name in SITES]
    feature, left, child, shares, lean = sites
    leaning = (lean, facts["cells"], facts["group"])
    walk(codes, feature, left, child, shares, *leaning, chosen, random.random(records), allowed, drawn, given)
    if isinstance(levels, tuple):
        # Code -1 is missing.
        return Prediction({column: np.where(drawn == len(levels), -1, drawn) if missing else drawn})
    absent = (drawn == levels.number) | (drawn < 0)
    values = levels.draw(np.where(absent, -1, drawn), random, low, high)
    inside = given * (1 - np.append(levels.outside(), 0.0)[np.where(absent, -1, drawn)])
    return Prediction({column: values}, float(1 - inside.mean()))


def _possible(facts: Mapping[str, Any], inputs: Inputs, records: int) -> tuple[Booleans, Floats, Floats]:
    """Levels that a record may have (one row if they are the same for all), and bounds of its number."""
    levels, number = facts["levels"], facts["number"]
    ends = [np.broadcast_to(np.float64(end), records) for end in facts["support"]]
    ruled = "lower" in inputs
    allowed = np.ones((records if ruled else 1, number), dtype=bool)
    if isinstance(levels, tuple):
        low, high = ends
        allowed[:, : len(levels)] = inputs.get("allowed", True)
    else:
        low = np.maximum(ends[0], inputs["lower"]) if ruled else ends[0]
        high = np.minimum(ends[1], inputs["upper"]) if ruled else ends[1]
        allowed[:, : levels.number] = levels.possible(low[: len(allowed)], high[: len(allowed)])
    known = len(levels) if isinstance(levels, tuple) else levels.number
    if ruled and number > known:
        # The last level is missing.
        allowed[:, known] = ~inputs["filled"]
    return allowed, low, high


def _functionals(draws: Mapping[str, np.ndarray], learned: Learned, weights: Floats) -> dict[str, np.ndarray]:
    """Functionals by tree: shares of the levels over all records, and the weighted log-likelihood."""
    sites = [draws[name][0] for name in SITES]
    counted = weights > 0
    codes = np.ascontiguousarray(learned.inputs["codes"][counted])
    outcome = learned.inputs["outcome"][counted]
    trees, number = sites[3].shape[0], sites[3].shape[2]
    shares, fit = np.empty((trees, number)), np.empty((trees, 1))
    watched = spread_rows(len(codes), 500)
    for tree in range(trees):
        leaves = find_leaves(codes, sites[0][tree], sites[1][tree], sites[2][tree])
        shares[tree] = sites[3][tree, leaves[watched]].mean(axis=0)
        fit[tree] = weights[counted] @ np.log(np.maximum(sites[3][tree, leaves, outcome], 1e-30))
    return {"level_share": shares[None], "weighted_loglik": fit[None]}
