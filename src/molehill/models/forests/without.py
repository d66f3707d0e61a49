"""Leave-one-out comparison of releases of a forest: log likelihood ratios without a record to with it.

Every tree is a posterior draw, and twenty datasets reflect up to two hundred trees, which would reveal every record.
What is released are values, a few from every leaf, so these are compared.

Let record i of weight a belong to a leaf in which records of total weight A have its level, all have B, and e is the
share of the level in the parent node. Bootstrap weights are Gamma, so the share of the level in the leaf, shrunk by c,
is approximately

    q ~ Beta(A + c e, B - A + c (1 - e))        with the record
    q ~ Beta(A - a + c e', B - A + c (1 - e'))  without it, e' the share without it

with the ratio q^a, the likelihood of the record, up to e. Of J values drawn from the leaf in all datasets, N have the
level: N is beta-binomial, and given N the other levels are equally likely with and without the record. So the ratio for
all values of the leaf is that of the two probabilities of N, and ratios multiply over trees.

With a survey a record's bootstrap weight has mean a d and variance s^2 (see `masses`), and a leaf is shrunk by its
effective number of records n: its share is (n q + c e) / (n + c), with q that of the weights. With A the total weight
of the level, B of all levels, q = A / B and S the sums of s^2, q has the approximate variance

    ((1 - q)^2 S_level + q^2 (S_all - S_level)) / (B^2 + S_all)

and the Beta distribution has this mean and variance. This requires independent weights, so no clusters.

Held fixed are the splits of the trees, the bin ends and the raking factors, so this is not an upper bound on what a
release reveals. Records without which other values could be released are found by `find_deciding` of the forest. The
intruder is assumed to know the tree of every value and its splits.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numba
import numpy as np

from molehill.arrays import Floats, Integers
from molehill.models.forests.masses import find_certain
from molehill.models.forests.trees import fill_counts, find_leaf, sum_row
from molehill.runtime import in_threads, workers
from molehill.synthesis.survey_fit import Survey
from molehill.synthesis.synthesizer import Learned

# With more values, the beta-binomial is computed by gamma functions.
_MANY = 20
# Sample size that represents a share without variance.
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
    """Simulate releases with all records, and compute their log likelihood ratios without each record to with it.

    Parameters
    ----------
    draws, learned, weights
        Of the forest.
    rows
        Rows of the records.
    places, window
        The first tree of every dataset, and the number of trees from which a dataset is drawn.
    releases
        Number of simulated releases; each starts at a random tree, its datasets spaced as `places`.
    shrinkage
        Prior weight of the parent's distribution.
    survey
        The survey design; weights are then the risk weights alone.

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
    """Beta parameters of the leaves of records in one tree.

    `company` gets, one row each and one column per record: alpha and beta of the share of its level with the record,
    both without it, and the number of records in the leaf.
    """
    counts, people = np.zeros((len(child), number)), np.zeros(len(child))
    fill_counts(codes, outcome, weights, feature, left, child, counts, people)
    for place in range(len(rows)):
        i = rows[place]
        k, own = outcome[i], weights[i]
        if k < 0 or own == 0:
            for line in range(4):
                company[line, place] = 1.0
            company[4, place] = 0.0
            continue
        # Prior of the root: every level has a positive probability.
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
    """Mean and variance of every record's bootstrap weight, and its term of the effective sample size, (3, records).

    As drawn by `masses.draw_masses`, without the dependence within strata.
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
    """As `find_company`, with bootstrap weights of a survey."""
    nodes = len(child)
    counts, spreads = np.zeros((nodes, number)), np.zeros((nodes, number))
    squares, people = np.zeros(nodes), np.zeros(nodes)
    for i in range(len(codes)):
        if outcome[i] >= 0:
            node = find_leaf(codes[i], feature, left, child)
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
    """Draw the numbers of values with a record's level in its leaves, and sum the log ratios of their probabilities."""
    trees = len(cover)
    for row in range(first, last):
        # Every record has its own random numbers, whichever thread takes it.
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
    """Log beta-binomial probability, up to the binomial coefficient."""
    return rising(alpha, of_level) + rising(beta, values - of_level) - rising(alpha + beta, values)


@numba.njit(cache=True, nogil=True)
def rising(start, steps):
    """Log rising factorial: start (start + 1) ..., `steps` factors."""
    if steps > _MANY:
        return math.lgamma(start + steps) - math.lgamma(start)
    # The logarithm of a product, split if it would overflow.
    logs, product = 0.0, 1.0
    for step in range(steps):
        product *= start + step
        if product > 1e200:
            logs, product = logs + np.log(product), 1.0
    return logs + np.log(product)
