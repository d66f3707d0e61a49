"""Attribute risk of a forest: log likelihood ratios of released values under a guess of one value to under the truth.

As in `without`, released values are compared leaf by leaf. Let record i of weight a have the level k in a leaf; with a
guess it has the level g, or belongs to another leaf if the guessed variable is a predictor. The shares of two levels of
a leaf are approximately Dirichlet with the parameters

    A_k + c e_k,      A_g + c e_g           with the truth
    A_k - a + c e'_k, A_g + a + c e'_g      with the guess, in the same leaf

where A are the total weights of the levels and e the shares in the parent node, under the truth or the guess. The
counts of both levels among the values drawn from the leaf are Dirichlet-multinomial. If the guess moves the record to
another leaf, one leaf loses the record, as without it, and the other gains it. Ratios multiply over trees.

All guesses of a record are compared on the same simulated values. What is held fixed, and what the intruder knows, is
as in `without`. Guesses in the same bin are equivalent.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numba
import numpy as np

from molehill.arrays import Floats, Integers
from molehill.models.forests.trees import fill_counts, find_leaf, sum_row
from molehill.models.forests.without import rising
from molehill.runtime import in_threads, workers
from molehill.synthesis.synthesizer import Learned


def compare_guesses(
    draws: Mapping[str, np.ndarray],
    learned: Learned,
    weights: Floats,
    rows: Integers,
    guesses: Sequence[Mapping[str, Any]],
    places: Sequence[int],
    releases: int,
    seed: int,
    *,
    window: int,
    shrinkage: float,
) -> Floats:
    """Simulate releases with the true values, and compute their log likelihood ratios under each guess.

    Parameters
    ----------
    draws, learned, weights
        Of the forest.
    rows
        Rows of the records.
    guesses
        Codes and outcome of all records, one per guess, in which the rows have their guessed values.
    places, window, releases, shrinkage
        As in `molehill.models.forests.without.compare_releases`.

    Returns
    -------
    array
        (releases, rows, guesses)
    """
    sites = tuple(draws[name][0] for name in ("feature", "left", "child"))
    codes, outcome = np.ascontiguousarray(learned.inputs["codes"]), np.asarray(learned.inputs["outcome"])
    guessed_codes = np.stack([np.asarray(one["codes"])[rows] for one in guesses])
    guessed_levels = np.stack([np.asarray(one["outcome"])[rows] for one in guesses])
    trees, number = sites[0].shape[0], learned.facts["number"]
    cover = np.zeros(trees, dtype=np.int64)
    for place in places:
        cover[(place + np.arange(min(window, trees))) % trees] += 1
    turns = np.random.default_rng(seed).integers(0, trees, (len(rows), releases))
    found = np.zeros((len(rows), releases, len(guesses)))
    about = (codes, outcome, weights, rows, guessed_codes, guessed_levels, *sites, number, shrinkage)
    simulate = partial(_simulate, *about, cover, min(window, trees), turns, seed, found)
    in_threads(simulate, list(pairwise(np.linspace(0, len(rows), workers() + 1).astype(np.int64).tolist())))
    return np.moveaxis(found, 0, 1)


@numba.njit(cache=True, nogil=True)
def _simulate(
    codes,
    outcome,
    weights,
    rows,
    guessed_codes,
    guessed_levels,
    feature,
    left,
    child,
    number,
    shrinkage,
    cover,
    window,
    turns,
    seed,
    found,
    first,
    last,
):
    """Simulate, tree by tree, the numbers of released values of the cells of a record's guesses."""
    trees, guesses, releases = len(cover), len(guessed_codes), found.shape[1]
    nodes = child.shape[1]
    counts, people = np.zeros((nodes, number)), np.zeros(nodes)
    # A cell is a level in a leaf. The first is that of the truth; several guesses may share one.
    leaf, level = np.empty(guesses + 1, np.int64), np.empty(guesses + 1, np.int64)
    cell, shape = np.empty(guesses + 1, np.int64), np.empty((guesses + 1, 6))
    seen, values = np.empty(guesses + 1), np.empty(guesses + 1)
    for tree in range(trees):
        fill_counts(codes, outcome, weights, feature[tree], left[tree], child[tree], counts, people)
        for place in range(first, last):
            i = rows[place]
            own = weights[i]
            if own == 0 or outcome[i] < 0:
                continue
            leaf[0] = find_leaf(codes[i], feature[tree], left[tree], child[tree])
            level[0], cell[0], differs = outcome[i], 0, False
            about = (counts, feature, left, child, tree, shrinkage)
            shape[0, 0], shape[0, 1] = shares_of(codes[i], codes[i], level[0], level[0], 0.0, *about)
            for g in range(guesses):
                other, k = guessed_codes[g, place], guessed_levels[g, place]
                leaf[g + 1], level[g + 1] = find_leaf(other, feature[tree], left[tree], child[tree]), k
                cell[g + 1] = g + 1
                for before in range(g + 1):
                    if leaf[before] == leaf[g + 1] and level[before] == k:
                        cell[g + 1] = before
                        break
                if cell[g + 1] == 0:
                    continue
                differs = True
                # The cell of the guess, without and with the record; and that of the truth, without it.
                shape[g + 1, 0], shape[g + 1, 1] = shares_of(other, codes[i], k, level[0], 0.0, *about)
                shape[g + 1, 2], shape[g + 1, 3] = shares_of(other, codes[i], k, level[0], own, *about)
                shape[g + 1, 4], shape[g + 1, 5] = shares_of(codes[i], other, level[0], k, -own, *about)
            if not differs:
                continue
            # Every record has its own random numbers in every tree, whichever thread takes it.
            np.random.seed((seed + 7919 * place + 104729 * tree) % 2**32)
            for release in range(releases):
                times = cover[(tree - turns[place, release]) % trees]
                if times == 0:
                    continue
                draw_cells(leaf, cell, shape, people, times, window, seen, values)
                for g in range(guesses):
                    if cell[g + 1] > 0:
                        same = leaf[g + 1] == leaf[0]
                        found[place, release, g] += compare_cells(shape, cell[g + 1], same, seen, values)


@numba.njit(cache=True, nogil=True)
def shares_of(codes, others, level, other_level, change, counts, feature, left, child, tree, shrinkage):
    """Dirichlet parameter of a level in the leaf of some codes, and the sum over all levels there.

    A record of weight `change` is added to the level there, and removed from the other level at the other codes (or the
    reverse, if it is negative). In nodes common to both, only levels change.
    """
    node, other, pull = 0, 0, 1.0
    share = 1.0 / counts.shape[1]
    while True:
        apart = node != other
        held, mass = counts[node, level], sum_row(counts, node)
        if apart:
            held, mass = held + change, mass + change
        elif level != other_level:
            held += change
        held = max(held, 0.0)
        if child[tree, node] < 0:
            return held + pull * share, mass + pull
        share = (held + pull * share) / (mass + pull)
        pull = shrinkage
        word, f = left[tree, node], feature[tree, node]
        below = child[tree, node]
        node = below + (0 if (word >> np.uint64(codes[f])) & np.uint64(1) else 1)
        # Separated nodes stay separated.
        other = -1 if apart else below + (0 if (word >> np.uint64(others[f])) & np.uint64(1) else 1)


@numba.njit(cache=True, nogil=True)
def draw_cells(leaf, cell, shape, people, times, window, seen, values):
    """Draw the number of values released from every leaf, and of these the number of every cell."""
    for one in range(len(leaf)):
        if cell[one] != one:
            continue
        fresh = True
        for before in range(one):
            if cell[before] == before and leaf[before] == leaf[one]:
                fresh = False
                values[one] = values[before]
                break
        if fresh:
            values[one] = np.random.binomial(int(people[leaf[one]]) * times, 1.0 / window)
        # The remainder after previous cells of the same leaf.
        rest, still = shape[one, 1], values[one]
        for before in range(one):
            if cell[before] == before and leaf[before] == leaf[one]:
                rest, still = rest - shape[before, 0], still - seen[before]
        seen[one] = 0.0
        if still > 0:
            others = max(rest - shape[one, 0], 1e-12)
            seen[one] = np.random.binomial(int(still), np.random.beta(shape[one, 0], others))


@numba.njit(cache=True, nogil=True)
def compare_cells(shape, cell, same, seen, values):
    """Log likelihood ratio of the values under a guess to under the truth."""
    if same and seen[0] == 0 and seen[cell] == 0:
        return 0.0
    alpha, total, more = shape[cell, 0], shape[cell, 1], shape[cell, 2]
    more_total, less, less_total = shape[cell, 3], shape[cell, 4], shape[cell, 5]
    true, true_total = shape[0, 0], shape[0, 1]
    logs = rising(less, seen[0]) - rising(true, seen[0]) + rising(more, seen[cell]) - rising(alpha, seen[cell])
    if same:
        return logs
    for after, before, number in (
        (less_total - less, true_total - true, values[0] - seen[0]),
        (more_total - more, total - alpha, values[cell] - seen[cell]),
    ):
        logs += rising(after, number) - rising(before, number)
    logs -= rising(less_total, values[0]) - rising(true_total, values[0])
    return logs - rising(more_total, values[cell]) + rising(total, values[cell])
