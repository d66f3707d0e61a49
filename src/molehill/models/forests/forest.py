"""A forest: any kind of variable, from trees that are grown on draws of the pseudo posterior, without MCMC.

With nothing assumed but that records are draws from one distribution, and each record's likelihood raised to its weight
a_i, the distribution has the pseudo posterior Dirichlet(a_1, ..., a_n) over the records: the limit of a Dirichlet
process with a vanishing prior. A draw of it gives every record a mass g_i ~ Gamma(a_i). Masses of a record that stands
in the dataset twice add up to Gamma(2 a_i), and a record of weight 0 has none.

Every tree is grown on masses of its own: the records are parted by one predictor after the other (of half of them, by
chance), so that the levels of the variable differ most between the parts, as long as either part has a mass of at least
`leaf`. The distribution of the variable in a part is that of its masses, shrunk to that of the part before:
(m_k + c p_k) / (m + c). What parts the records last, or only few differ in, is then lost: so every tree leans to how
the variable goes together with each predictor by itself, by factors for every cell of a predictor (codes of at least
the mass of a part) and group of levels, fitted one predictor after the other to what the masses show. A new value is
drawn from one of a few trees, chosen at random for every record: from the mean of their distributions.

Under a survey design a record stands for d_i others, and masses say how many: see `masses`. What is drawn is then the
population's, but what protects respondents, the least mass of a part, of a cell, of a bin and of a value that many
share, counts records by their weights a_i alone: a record that stands for many is one record.

Numbers are cut into levels (see `Grid`): a value that many records share is one of its own, the others are drawn anew
within their bin. No value is released because a part of a tree held only that.
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

# With no more values on a side of zero, one of them may decide that there are any.
_FEW = 20
# What a tree is made of.
SITES = ("feature", "left", "child", "shares", "lean")
# From how many trees of a forest a dataset is drawn.
WINDOW = 20
# Share of the predictors that a part is tried to be parted by, chosen by chance: trees that differ make a finer mean.
TRIED = 0.5
# Mass that a part is shrunk to the one before it by.
SHRINKAGE = 2.0
# The least mass of a part, by default, and that of a category in relation to it.
LEAF, OF_LEVELS = 30.0, 0.2
# By what a tree leans to single predictors: groups of levels, and cells of a number.
GROUPS, CELLS = 8, 10
# A set of levels is one word of the machine.
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
    """Replace a variable of any kind by draws from a forest.

    Parameters
    ----------
    column
        The sensitive variable: an amount, a count or a category.
    predictors, breaks, kinds
        What the model conditions on: see `molehill.synthesis.design.learn_design`. Of a formula only the variables
        count: trees find by themselves which go together.
    min_leaf_size
        The least mass of a part, about how many records of weight 1 it has: of a number; of a category, which has fewer
        levels, a fifth of it. Larger parts tell less of a person. With a least mass as large as the dataset, the
        variable depends on nothing.
    trees
        How many are grown, at least 20; by default 200, of more than 25,000 records fewer, down to 40.
    lower, upper
        The public support of a number, for example from a codebook; never the confidential extremes.
    levels
        Of a category that has an order, all its levels in that order; an ordered variable of pandas says it itself.
    missing
        Whether the forest also says which values are missing, as one level more; otherwise those that are stay so.
    min_level_records
        Of how few records a missing value is a level: where fewer are missing, none will be.
    seed
        By which it is drawn how many records must share a number, so that it may be released as it is, and where bins
        end: see `Grid`. Who knows it knows these; left out, it is 0.

    Examples
    --------
    >>> forest("income", ["age", "education"], lower=0, upper=2_000_000).sensitive
    ('income',)
    """
    support = check_support(lower, upper)
    if isinstance(min_leaf_size, bool | str) or not 1 <= min_leaf_size < np.inf:
        raise InputError("min_leaf_size", "it must be a number from 1 up", f"{LEAF:g} is the default")
    if trees is not None and not is_whole(trees, WINDOW):
        raise InputError("trees", f"it must be a whole number from {WINDOW} up", "Leave it out for the default")
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
            problem = f"no record that has a value of {column!r} counts"
            raise NothingCountsError(
                "weights", problem, "Give some of them a weight above 0, by a larger scale or shift"
            )
        # Where nothing, or hardly anything, is missing, nothing will be.
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
    """Say which of some records decide what can be released: without one a value, or a level, would not be."""
    found, outcome = learned.facts["levels"], np.asarray(learned.inputs["outcome"])
    deciding = np.zeros(len(rows), dtype=bool)
    known = len(found) if isinstance(found, tuple) else found.number
    # A level, or a missing value, that one record has.
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
        # Others can be left out without any such change: most need no new grid.
        if values[row] not in shared and np.sign(values[row]) not in few and resolution(values[rest]) == unit:
            continue
        alike = (float(values[row]), float(weights[row]), *([] if survey is None else [float(survey.times[row])]))
        if alike not in changed:
            try:
                changed[alike] = cut(table, values, np.where(rest, weights, 0.0), survey).kind != found.kind
            except InputError:
                # The others are all the same.
                changed[alike] = True
        deciding[place] = changed[alike]
    return deciding


def _observe(table: Table, *, column: str, levels: Any, absent: int) -> Observed:
    """The levels of other values; `absent` is that of a missing one."""
    if isinstance(levels, tuple):
        codes = find_codes(table.frame[column], (*levels, None), column, "guesses")
        codes = np.where(codes < len(levels), codes, -1)
    else:
        codes = levels.codes(column_numbers(table, column))
    return Observed({"outcome": np.where(codes < 0, absent, codes)})


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
        The codes of the dataset that was learned from.
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
        """The codes for a dataset with other values in some predictors, or in those that are named alone."""
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
    """Cut a number into as many bins as there are codes: at its values if these are few, at weighted quantiles else."""
    counted = ~np.isnan(values) & (weights > 0)
    distinct, place = np.unique(values[counted], return_inverse=True)
    if len(distinct) <= MOST_CODES - 1:
        return distinct[1:]
    upto = np.cumsum(np.bincount(place, weights[counted]))
    shares = np.arange(1, MOST_CODES - 1) / (MOST_CODES - 1)
    return np.unique(distinct[np.searchsorted(upto, shares * upto[-1])])


def _scores(column: pd.Series, levels: Any, number: int, *, ordered: bool) -> Floats:
    """Numbers in the order of the levels, to order categorical predictors by; none for a category without an order."""
    if isinstance(levels, tuple):
        ordered |= isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
        return np.arange(number) / number if ordered else np.empty(0)
    places = np.argsort(np.argsort(levels.middles(), kind="stable"))
    # A missing value, if that is a level, stands before all.
    return np.append(places + 1, np.zeros(number - levels.number)) / (number + 1)


def _group_levels(levels: Any, outcome: NDArray[np.int64], weights: Floats, number: int) -> NDArray[np.int64]:
    """Sort levels into a few groups: of a number those that lie side by side; of a category the frequent ones alone.

    What is missing, if that is a level, is a group of its own.
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
    """Number the cells of all predictors, (predictors, 64): codes of at least the mass of a part, -1 for the others.

    Of an ordered predictor neighbours make a cell; of a category every level is one.
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
            # What is left at the end goes with the last.
            cells[place, edges[-1][1] : size] = number - 1
    return cells


class _Task(NamedTuple):
    """What every tree is grown on."""

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
    """Grow trees, each on masses of its own: sites as arrays (1, trees, ...)."""
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
    # Without a survey masses say as well how many records there are, and the kernels are compiled without the rest.
    who, times = (None, None) if survey is None else (weights[counted], survey.times[counted])
    worth = None if who is None or times is None else _worth(task.codes, cells, number, who, times)

    def grow(first: int, last: int) -> None:
        for tree in range(first, last):
            # Datasets are drawn with [seed, dataset]: the same numbers must not do both.
            random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(tree,)))
            masses = draw_masses(random, weights, survey)[counted]
            feature, left, child, shares = grow_tree(
                *task, masses, int(random.integers(2**31)), SHRINKAGE, who=who, times=times
            )
            about = (task.codes, cells, task.outcome, group, groups, masses)
            sweeps = SWEEPS if survey is None else UNDER_DESIGN
            lean = lean_tree(*about, feature, left, child, shares, number, sweeps, SHRINKAGE, worth)
            grown[tree] = (feature, left, child, shares, lean)

    # In rounds, so that progress can be told.
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
    """How many records every cell is worth, by Kish: fewer than it has, where some stand for more than others."""
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
        # The code -1 is nothing: a missing value.
        return Prediction({column: np.where(drawn == len(levels), -1, drawn) if missing else drawn})
    absent = (drawn == levels.number) | (drawn < 0)
    values = levels.draw(np.where(absent, -1, drawn), random, low, high)
    inside = given * (1 - np.append(levels.outside(), 0.0)[np.where(absent, -1, drawn)])
    return Prediction({column: values}, float(1 - inside.mean()))


def _possible(facts: Mapping[str, Any], inputs: Inputs, records: int) -> tuple[Booleans, Floats, Floats]:
    """Which levels a record may have (one row, if all may the same), and between which ends its number lies."""
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
        # The level after all others is that of a missing value.
        allowed[:, known] = ~inputs["filled"]
    return allowed, low, high


def _functionals(draws: Mapping[str, np.ndarray], learned: Learned, weights: Floats) -> dict[str, np.ndarray]:
    """What is watched: by tree, the shares of the levels over all records, and the weighted log-likelihood."""
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
