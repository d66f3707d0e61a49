"""What a release of a forest shows of one record: how much likelier its values are without the record than with it.

Every tree is a draw of the pseudo posterior, and twenty datasets show something of two hundred trees: to whoever saw
the trees themselves, every record would be plain. What is released are values, a few from every leaf, so it is these
that are compared.

Let record i of weight a come to a leaf in which records of weight A have its level, all have B, and e is the share of
the level in the part before. Masses are Gamma, so the share of the level in the leaf, shrunk by c, is about

    q ~ Beta(A + c e, B - A + c (1 - e))        with the record
    q ~ Beta(A - a + c e', B - A + c (1 - e'))  without it, e' the share without it

whose ratio is q^a, the likelihood of the record, but for e. J values are drawn from the leaf in all datasets, N of them
of the level: the number is beta-binomial, and given it the other levels are as likely with the record as without. So
the ratio of the two chances of N is that of all values of the leaf, and trees multiply. A record of a level of its own
is still told from the others by N alone: q is nothing without it but what the leaf is shrunk to.

Under a survey a record has a mass of mean a d and of variance s^2 (see `masses`), and a leaf is shrunk as by its
effective number of records n: the share is (n q + c e) / (n + c), q that of the masses. With A the mass of the level, B
of all, q = A / B and S the sums of s^2, those of the level and of all, q varies by about

    ((1 - q)^2 S_level + q^2 (S_all - S_level)) / (B^2 + S_all)

and the Beta is the one of that mean and variance. Masses have to be independent: where the records of a cluster share
one, other leaves would tell of it.

Held to be the same with and without the record: how the trees part, where bins end, and by how much trees lean. (What
a tree leans by brings cells to the masses that they have, which the leaves of a cell have already.) So this is no bound
on what a release shows. Not held to be the same is what values can be released as they are: a record without which one
could not be is found by `find_deciding` of the forest. Whoever attacks is told of every value which tree it was drawn
from, and how that parts: more than anybody has.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numba
import numpy as np

from molehill.arrays import Floats, Integers
from molehill.models.forests.masses import find_certain
from molehill.models.forests.trees import sum_row
from molehill.runtime import in_threads, workers
from molehill.synthesis.survey_fit import Survey
from molehill.synthesis.synthesizer import Learned

# Of more values than these the beta-binomial is taken by gamma functions.
_MANY = 20
# A share that does not vary is taken for one of so large a size.
_SURE = 1e8


def compare_releases(
    draws: Mapping[str, np.ndarray],
    learned: Learned,
    weights: Floats,
    rows: Integers,
    places: Sequence[int],
    releases: int,
    seed: int,
    *,
    window: int,
    shrinkage: float,
    survey: Survey | None = None,
) -> Floats:
    """Simulate releases with every record, and give the logarithm of how much likelier each would be without it.

    Parameters
    ----------
    draws, learned, weights
        Of the forest.
    rows
        The records that are asked about.
    places, window
        The first tree of every dataset, and from how many trees after it a dataset is drawn.
    releases
        How many releases are simulated; each begins at a tree by chance, its datasets as far apart as `places`.
    shrinkage
        Mass that a part is shrunk to the one before it by.
    survey
        What the records are from; their weights are then the risk weights alone.

    Returns
    -------
    array
        (releases, rows)
    """
    sites = [draws[name][0] for name in ("feature", "left", "child")]
    codes, outcome = np.ascontiguousarray(learned.inputs["codes"]), np.asarray(learned.inputs["outcome"])
    trees, number = sites[0].shape[0], learned.facts["number"]
    company = np.empty((5, len(rows), trees))
    masses = None if survey is None else describe_masses(weights, survey)
    for tree in range(trees):
        feature, left, child = (site[tree] for site in sites)
        about, found = (rows, feature, left, child, number, shrinkage), company[:, :, tree]
        if masses is None:
            find_company(codes, outcome, weights, *about, found)
        else:
            find_surveyed_company(codes, outcome, masses, *about, found)
    window = min(window, trees)
    cover = np.zeros(trees, dtype=np.int64)
    for place in places:
        cover[(place + np.arange(window)) % trees] += 1
    found = np.zeros((len(rows), releases))
    ends = np.linspace(0, len(rows), workers() + 1).astype(np.int64).tolist()
    in_threads(partial(_simulate, company, cover, window, seed, found), list(pairwise(ends)))
    return found.T


@numba.njit(cache=True, nogil=True)
def find_company(codes, outcome, weights, rows, feature, left, child, number, shrinkage, company):
    """Find whom records share a leaf of a tree with.

    `company` gets, one row a line and one variable a record: alpha and beta of the share of its level with the record,
    both without it, and how many records draw from the leaf.
    """
    nodes, records = len(child), len(codes)
    counts, people = np.zeros((nodes, number)), np.zeros(nodes)
    for i in range(records):
        if outcome[i] >= 0:
            node = 0
            while child[node] >= 0:
                goes_left = (left[node] >> np.uint64(codes[i, feature[node]])) & np.uint64(1)
                node = child[node] + (0 if goes_left else 1)
            counts[node, outcome[i]] += weights[i]
            people[node] += 1
    for node in range(nodes - 1, -1, -1):
        if child[node] >= 0:
            for k in range(number):
                counts[node, k] = counts[child[node], k] + counts[child[node] + 1, k]
    for place in range(len(rows)):
        i = rows[place]
        k, own = outcome[i], weights[i]
        if k < 0 or own == 0:
            for line in range(4):
                company[line, place] = 1.0
            company[4, place] = 0.0
            continue
        # The part before all others: whatever level there is can come.
        share, less, pull, node = 1.0 / number, 1.0 / number, 1.0, 0
        while True:
            held, mass = counts[node, k], sum_row(counts, node)
            if child[node] < 0:
                break
            share = (held + pull * share) / (mass + pull)
            less = (max(held - own, 0.0) + pull * less) / (mass - own + pull)
            pull = shrinkage
            goes_left = (left[node] >> np.uint64(codes[i, feature[node]])) & np.uint64(1)
            node = child[node] + (0 if goes_left else 1)
        company[0, place] = held + pull * share
        company[1, place] = mass - held + pull * (1 - share)
        company[2, place] = max(held - own, 0.0) + pull * less
        company[3, place] = mass - held + pull * (1 - less)
        company[4, place] = people[node]


def describe_masses(weights: Floats, survey: Survey) -> Floats:
    """Mean and variance of the mass of every record, and what its part of a design's effective number is, (3, records).

    As `masses.draw_masses` draws them, but for what is shared by the records of a stratum.
    """
    mean = weights * survey.times
    if not survey.sandwich:
        return np.stack([mean, mean, mean * survey.times])
    sample = survey.sample
    drawn = np.where(find_certain(sample), 0.0, 1 - sample.fractions)[sample.stratum_of][sample.cluster]
    spread = survey.times**2 * (drawn * weights**2 + np.maximum(weights * (1 - weights), 0.0))
    return np.stack([mean, spread, mean * survey.times])


@numba.njit(cache=True, nogil=True)
def find_surveyed_company(codes, outcome, masses, rows, feature, left, child, number, shrinkage, company):
    """Find whom records share a leaf of a tree with, as `find_company` does, where masses are those of a survey."""
    nodes = len(child)
    counts, spreads = np.zeros((nodes, number)), np.zeros((nodes, number))
    squares, people = np.zeros(nodes), np.zeros(nodes)
    for i in range(len(codes)):
        if outcome[i] >= 0:
            node = 0
            while child[node] >= 0:
                goes_left = (left[node] >> np.uint64(codes[i, feature[node]])) & np.uint64(1)
                node = child[node] + (0 if goes_left else 1)
            counts[node, outcome[i]] += masses[0, i]
            spreads[node, outcome[i]] += masses[1, i]
            squares[node] += masses[2, i]
            people[node] += 1
    for node in range(nodes - 1, -1, -1):
        if child[node] >= 0:
            below = child[node]
            counts[node] = counts[below] + counts[below + 1]
            spreads[node] = spreads[below] + spreads[below + 1]
            squares[node] = squares[below] + squares[below + 1]
    for place in range(len(rows)):
        i = rows[place]
        k, own = outcome[i], masses[:, i]
        company[:, place] = 1.0
        company[4, place] = 0.0
        if k < 0 or own[0] == 0:
            continue
        node = 0
        for turn in range(2):
            # With the record, and without it.
            mean, spread, square = (0.0, 0.0, 0.0) if turn == 0 else (own[0], own[1], own[2])
            share, pull, node = 1.0 / number, 1.0, 0
            while True:
                held, mass = max(counts[node, k] - mean, 0.0), max(counts[node].sum() - mean, 1e-12)
                worth = mass * mass / max(squares[node] - square, 1e-12)
                share = (worth * held / mass + pull * share) / (worth + pull)
                if child[node] < 0:
                    break
                pull = shrinkage
                goes_left = (left[node] >> np.uint64(codes[i, feature[node]])) & np.uint64(1)
                node = child[node] + (0 if goes_left else 1)
            of_level, of_all = max(spreads[node, k] - spread, 0.0), max(spreads[node].sum() - spread, 0.0)
            q = held / mass
            varies = ((1 - q) ** 2 * of_level + q**2 * (of_all - of_level)) / (mass * mass + of_all)
            varies *= (worth / (worth + pull)) ** 2
            size = min(share * (1 - share) / max(varies, 1e-12), _SURE) - 1.0
            company[2 * turn, place] = max(size, 1e-6) * share
            company[2 * turn + 1, place] = max(size, 1e-6) * (1 - share)
        company[4, place] = people[node]


@numba.njit(cache=True, nogil=True)
def _simulate(company, cover, window, seed, found, first, last):
    """Draw how many values of a record's leaves have its level, and add up the ratios of their chances."""
    trees = len(cover)
    for row in range(first, last):
        # Every record has random numbers of its own: which thread takes it makes no difference.
        np.random.seed((seed + 7919 * row) % 2**32)
        for release in range(found.shape[1]):
            turn, logs = np.random.randint(trees), 0.0
            for place in range(trees):
                tree = (place + turn) % trees
                if cover[place] == 0 or company[4, row, tree] == 0:
                    continue
                alpha, beta = company[0, row, tree], company[1, row, tree]
                alpha_less, beta_less = company[2, row, tree], company[3, row, tree]
                values = np.random.binomial(int(company[4, row, tree]) * cover[place], 1.0 / window)
                if values == 0:
                    continue
                share = np.random.beta(alpha, beta)
                of_level = np.random.binomial(values, share)
                logs += beta_binomial(alpha_less, beta_less, values, of_level)
                logs -= beta_binomial(alpha, beta, values, of_level)
            found[row, release] = logs


@numba.njit(cache=True, nogil=True)
def beta_binomial(alpha, beta, values, of_level):
    """The logarithm of the chance that so many of some values have a level, but for the ways to choose them."""
    return rising(alpha, of_level) + rising(beta, values - of_level) - rising(alpha + beta, values)


@numba.njit(cache=True, nogil=True)
def rising(start, steps):
    """Log of start (start + 1) ... up to so many factors."""
    if steps > _MANY:
        return math.lgamma(start + steps) - math.lgamma(start)
    # A logarithm of one product, or of a few where one would not fit.
    logs, product = 0.0, 1.0
    for step in range(steps):
        product *= start + step
        if product > 1e200:
            logs, product = logs + np.log(product), 1.0
    return logs + np.log(product)
