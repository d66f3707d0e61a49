"""Linking: finding a person's released record by all synthesized values together, each of which says little.

Noise that hides one value does not hide twenty: whoever knows about what the true values are takes the released record
that fits best.
"""

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from molehill.arrays import Floats, Integers
from molehill.attacks.rates import NOTHING, excess, rate_of
from molehill.tables.intervals import Figure

# People that are looked for, at most and at least.
_PEOPLE, _LEAST = 2_000, 50
# A correlation counts as far as it lies beyond so many standard errors.
_BY_CHANCE = 2.0


def linked_by_values(truth: Floats, released: Floats, kept: Floats, patterns: Integers, *, seed: int) -> Figure:
    """Say how many people's own released record fits their true values best of all of the pattern, beyond chance.

    Values count by their ranks, as normal scores, of several datasets by the mean, less what a linear regression on the
    variables released unchanged says: what all can see of a person finds nobody's synthesized values. With the
    correlation of what is left of true and released ones, the record that fits best is the likeliest. Chance is the
    larger of two: how often the record of another person of the pattern, chosen at random, fits best; and how often the
    own one does, if each of its values is that of the person next to it by what the regression says.

    Parameters
    ----------
    truth, released
        (records, variables) and (datasets, records, variables); NaN where missing.
    kept
        (records, inputs): what the regression sees.
    patterns
        One per record.
    seed
        Of who is looked for.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> truth = random.normal(size=(400, 20))
    >>> made = truth + 0.5 * random.normal(size=(400, 20))
    >>> one, kept = np.zeros(400, dtype=int), np.empty((400, 0))
    >>> linked_by_values(truth, made[None], kept, one, seed=1).value > 0.5
    True
    >>> linked_by_values(truth, made[None, ::-1], kept, one, seed=1).low > 0
    False
    """
    number = len(truth)
    if number < _LEAST:
        return NOTHING
    own, told = normal_scores(truth), np.mean([normal_scores(one) for one in released], axis=0)
    inputs = np.column_stack([np.ones(number), kept])
    next_to = _exchange(told, inputs)
    own, told, next_to = (_left_over(one, inputs) for one in (own, told, next_to))
    strength = (own * told).mean(axis=0)
    strength = np.clip(
        np.sign(strength) * np.maximum(np.abs(strength) - _BY_CHANCE / np.sqrt(number), 0), -0.999, 0.999
    )
    random = np.random.default_rng(seed)
    found, by_chance, of_others = [], [], []
    asked = random.permutation(number)[:_PEOPLE]
    for pattern in np.unique(patterns[asked]):
        members = np.flatnonzero(patterns == pattern)
        rows = asked[patterns[asked] == pattern]
        if len(members) < 2:
            continue
        best, best_of_others = (members[_fit(own[rows], one[members], strength)] for one in (told, next_to))
        place = np.searchsorted(members, rows)
        other = members[(place + random.integers(1, len(members), len(rows))) % len(members)]
        found.append(best == rows)
        by_chance.append(best == other)
        of_others.append(best_of_others == rows)
    if not found:
        return NOTHING
    several = [np.concatenate(one)[None].astype(np.float64) for one in (found, by_chance, of_others)]
    rate, *controls = (rate_of(one, level=0.99) for one in several)
    return excess(rate, max(controls, key=lambda one: one.value))


def _fit(own: Floats, told: Floats, strength: Floats) -> Integers:
    """Give for every person the place of the record whose values are the likeliest beside the true ones."""
    fits = np.zeros((len(own), len(told)))
    for column in np.flatnonzero(strength):
        fits -= (told[:, column] - strength[column] * own[:, column][:, None]) ** 2 / (1 - strength[column] ** 2)
    return fits.argmax(axis=1)


def _exchange(told: Floats, inputs: Floats) -> Floats:
    """Give everybody, variable by variable, the value of the person next by what is predicted of it."""
    predicted, found = inputs @ np.linalg.lstsq(inputs, told, rcond=None)[0], np.empty_like(told)
    for column in range(told.shape[1]):
        order = np.argsort(predicted[:, column], kind="stable")
        found[order, column] = told[np.roll(order, 1), column]
    return found


def predict_scores(released: Floats, kept: Floats) -> Floats:
    """Predict the mean normal score of the released values, (datasets, records), from other variables, linearly."""
    told = np.mean([normal_scores(one[:, None]) for one in released], axis=0)
    inputs = np.column_stack([np.ones(len(told)), kept])
    return (inputs @ np.linalg.lstsq(inputs, told, rcond=None)[0])[:, 0]


def normal_scores(values: Floats) -> Floats:
    """Normal scores of every column; 0 where a value is missing."""
    ranks = rankdata(values, axis=0, nan_policy="omit")
    scores = ndtri((ranks - 0.5) / np.maximum((~np.isnan(values)).sum(axis=0), 1))
    return np.where(np.isnan(values), 0.0, scores)


def _left_over(scores: Floats, inputs: Floats) -> Floats:
    """What a regression on the inputs leaves, with standard deviation 1."""
    left = scores - inputs @ np.linalg.lstsq(inputs, scores, rcond=None)[0]
    spread = left.std(axis=0)
    return left / np.where(spread > 1e-9, spread, np.inf)
