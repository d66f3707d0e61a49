"""Dependence: what a person's released values say of the true one, close to it or not.

A released value that is never close to the true one may disclose it all the same: each level of a category exchanged
for another one, a code redrawn within its chapter, an amount that is 0 for the same people, two datasets whose mean is
the truth. Whatever the relation is, an intruder learns it from people whose true values are known.
"""

import numpy as np

from molehill.arrays import Floats, Integers
from molehill.attacks.linking import predict_scores
from molehill.attacks.transformations import permute_within
from molehill.tables.intervals import Figure

# Records that count as next to one, on either side, by what is predicted.
_NEXT = 5
# People who must not have the most frequent value.
_OTHERS = 10
# Groups that numbers are cut into, exchanges of records for what chance shows, and people at least.
_GROUPS, _PERMUTATIONS, _LEAST = 10, 50, 50
# Standard errors of what chance shows, or times the farthest that it went, that a figure must lie above 0.
_ERRORS, _TAIL = 4.0, 1.5


def dependence(
    truth: Floats,
    released: Floats,
    patterns: Integers,
    *,
    alike: Integers | None = None,
    kept: Floats | None = None,
    exact: bool,
    seed: int,
) -> Figure:
    """Give the share of the uncertainty of a true value that the released ones of the same person remove.

    With I the mutual information of true and released values, and H the entropy of the true ones, it is
    `(I - E) / (H - E)` (Theil's uncertainty coefficient beyond chance): 1 where the released value determines the true
    one, by whatever relation, and 0 where it says no more than the released value of another person. E is the mean of I
    where another record of the same pattern, and of the same group by what is released unchanged, takes the place of
    the own one; of a number no less than where it is one of those next to it by what a linear regression on the
    variables released unchanged predicts, so that what these say of a value is no sign.

    Numbers are cut into ten groups by their size. Of several datasets it is the largest of those of single values and
    of what they are together: the mean of the ranks, the least and the largest one of a number, the most frequent level
    of a category; there E is no less than that of one released value and the others, as the true value of a person is
    like one more draw.

    Parameters
    ----------
    truth, released
        One per record, and (datasets, records); codes of levels of a category; NaN where missing.
    patterns, alike
        One per record: the pattern, and of which group it is by what is released unchanged.
    kept
        (records, inputs): what a linear regression sees of the variables released unchanged.
    exact
        Whether these are codes of levels.
    seed
        Of the exchanges.

    Examples
    --------
    >>> truth = np.arange(200.0) % 2
    >>> turned = dependence(truth, 1 - truth[None], np.zeros(200, dtype=int), exact=True, seed=1)
    >>> round(turned.value, 2), turned.low > 0
    (1.0, True)
    """
    here = np.flatnonzero(~np.isnan(truth))
    if len(here) < _LEAST:
        return Figure(np.nan, np.nan, np.nan)
    random = np.random.default_rng(seed)
    groups = np.zeros_like(patterns) if alike is None else alike
    within = np.unique(np.stack([groups, patterns]), axis=1, return_inverse=True)[1].reshape(-1)
    around = (np.zeros_like(groups), groups, within)
    others = [[permute_within(around, here, random)[here] for _ in range(_PERMUTATIONS)]]
    if kept is not None and not exact:
        others.append(_list_neighbours(predict_scores(released, kept)[here], here, random))
    found = [_compare(truth, released, here, others, [], exact=exact)]
    for put_together in (_frequent,) if exact else (_mean_rank, _least, _largest):
        if len(released) > 1:
            places = np.arange(len(released))
            more = [(released[place], put_together(released[places != place])) for place in places]
            found.append(_compare(truth, put_together(released), here, others, more, exact=exact))
    return max(found, key=lambda one: -np.inf if np.isnan(one.low) else one.low)


def _compare(
    truth: Floats,
    told: Floats,
    here: Integers,
    others: list[list[Integers]],
    more: list[tuple[Floats, Floats]],
    *,
    exact: bool,
) -> Figure:
    own, codes = _code(truth[None], exact=exact)[:, here], _code(told, exact=exact)
    entropy = _entropy(own.ravel())
    by_chance = max(([_shared(own, codes[:, other]) for other in some] for some in others), key=np.mean)
    draws = [_shared(_code(one[None], exact=exact)[:, here], _code(rest, exact=exact)[:, here]) for one, rest in more]
    chance = max(float(np.mean(by_chance)), float(np.mean(draws)) if draws else 0.0)
    # Of a few people who have another value than most nothing is learned.
    if entropy - chance < 1e-9 or own.size - np.bincount(own.ravel()).max() < _OTHERS:
        return Figure(np.nan, np.nan, np.nan)
    gain = (_shared(own, codes[:, here]) - chance) / (entropy - chance)
    # Of rare levels chance has a long tail.
    errors = [max(_ERRORS * np.std(one), _TAIL * (np.max(one) - np.mean(one))) for one in (by_chance, draws) if one]
    error = float(max(errors)) / (entropy - chance)
    return Figure(gain, gain - error, min(gain + error, 1.0))


def _list_neighbours(predicted: Floats, here: Integers, random: np.random.Generator) -> list[Integers]:
    """Give every record others that are next to it by what is predicted: up to five away on either side."""
    order = np.lexsort((random.random(len(predicted)), predicted))
    found = []
    for shift in range(1, _NEXT + 1):
        for way in (shift, -shift):
            other = np.empty_like(here)
            other[order] = here[np.roll(order, way)]
            found.append(other)
    return found


def _code(values: Floats, *, exact: bool) -> Integers:
    """Number levels, or groups of numbers by their size, from 0 up; missing ones have a number of their own."""
    present = values[~np.isnan(values)]
    if exact:
        codes = np.unique(present, return_inverse=True)[1]
    else:
        ends = np.unique(np.quantile(present, np.arange(1, _GROUPS) / _GROUPS)) if len(present) else present
        # Of an end that many have, such as zero, what lies beyond is another group.
        codes = np.searchsorted(ends, present, side="left") + np.searchsorted(ends, present, side="right")
    found = np.zeros(values.shape, dtype=np.int64)
    found[~np.isnan(values)] = codes + 1
    return found


def _entropy(codes: Integers) -> float:
    shares = np.unique(codes, return_counts=True)[1] / codes.size
    return -float((shares * np.log(shares)).sum())


def _shared(own: Integers, told: Integers) -> float:
    """The mutual information of true codes, (1, records), and released ones, (datasets, records), in nats."""
    both = np.broadcast_to(own, told.shape).ravel() * (int(told.max(initial=0)) + 1) + told.ravel()
    return _entropy(np.broadcast_to(own, told.shape).ravel()) + _entropy(told.ravel()) - _entropy(both)


def _frequent(released: Floats) -> Floats:
    levels = np.unique(released[~np.isnan(released)])
    counts = np.array([(released == level).sum(axis=0) for level in levels])
    return levels[counts.argmax(axis=0)][None]


def _mean_rank(released: Floats) -> Floats:
    ordered = np.sort(released[~np.isnan(released)])
    ranks = np.searchsorted(ordered, released) + np.searchsorted(ordered, released, side="right")
    return np.where(np.isnan(released), np.nan, ranks).mean(axis=0)[None]


def _least(released: Floats) -> Floats:
    return released.min(axis=0)[None]


def _largest(released: Floats) -> Floats:
    return released.max(axis=0)[None]
