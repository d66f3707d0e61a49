"""Releases that avoid the true value, or that an intruder can turn back: what lies just outside of the radius.

A value that was moved by a known amount is close to nobody, and known all the same. Two attacks see it: the truth is
avoided, if a row's released value is close to it less often than those of other rows are; and it can be turned back, if
an intruder who has learned from some people how true and released values lie to each other finds those of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from molehill.arrays import Booleans, Floats, Integers
from molehill.tables.intervals import Figure

LEVEL = 0.99
# Windows that an intruder remembers, how wide they are in radii, and how far from the released value they may lie.
WINDOWS, WIDTH, REACH = 4, 0.2, 20.0
# Pairs that a map is fitted to at most, permutations, datasets that are tried at most, and people at least.
_PAIRS, _PERMUTATIONS, _DATASETS, _FEWEST = 20_000, 3, 5, 40


def in_radii(values: Floats, radius: float, floor: float, least: float) -> Floats:
    """Measure values on a scale on which a radius is 1 everywhere: logarithmic where the radius is relative.

    Parameters
    ----------
    values
        Any numbers.
    radius, floor
        The relative radius and the minimum radius.
    least
        The smallest size above 0 that matters, where there is no minimum radius.

    Examples
    --------
    >>> in_radii(np.array([-10.0, 0.0, 5.0, 10.0, 20.0]), 0.5, 5.0, 1.0).round(2)
    array([-2.  ,  0.  ,  1.  ,  2.  ,  3.39])
    """
    size = np.abs(values)
    if radius == 0:
        return values / floor
    edge = floor / radius if floor > 0 else least
    inside = np.minimum(size, edge) / (floor if floor > 0 else least)
    start = 1 / radius if floor > 0 else 1.0
    return np.sign(values) * np.where(
        size < edge, inside, start + (np.log(np.maximum(size, edge)) - np.log(edge)) / radius
    )


def avoided(truth: Floats, released: Floats, patterns: Integers, low: Floats, high: Floats) -> Figure:
    """Say how much less often a row's released value is close to the true one than those of other rows are.

    With O the share of the rows whose released value is close to the true value without being the same, and E that
    share if the released value of another row were taken, at random, it is `1 - O / E`. E is the smaller of two: of
    other rows of the pattern, and of all other rows. A release that ignores the key variables has fewer close values
    than its pattern and no fewer than the whole dataset; one that leaves a person's own value out of what it draws from
    has no equal ones, and as many close ones. Below 0: closer than others.

    Parameters
    ----------
    truth, low, high
        The true value of every record, NaN where missing, and the ends of its radius.
    released
        (datasets, records): the released value of the same record, NaN where missing.
    patterns
        One per record.

    Examples
    --------
    >>> truth = np.array([100.0, 103.0, 200.0, 206.0])
    >>> swapped = truth[[2, 3, 0, 1]][None]
    >>> avoided(truth, swapped, np.zeros(4, dtype=int), truth * 0.9, truth * 1.1).value
    1.0
    """
    here = ~np.isnan(truth)
    truth, released, patterns, low, high = truth[here], released[:, here], patterns[here], low[here], high[here]
    present = ~np.isnan(released)
    close = (released >= low) & (released <= high) & (released != truth) & present
    own, had = close.sum(axis=0), present.sum(axis=0)
    asked = had > 0
    expected = []
    for groups in (patterns.astype(np.int64), np.zeros(len(patterns), dtype=np.int64)):
        near, size = _count_near(truth, released, present, groups, low, high)
        expected.append((near - own, size - had))
    # Who is alone in the pattern is compared with everybody.
    alone = expected[0][1] <= 0
    shares = [np.where(size > 0, near / np.maximum(size, 1), 0.0) for near, size in expected]
    shares[0] = np.where(alone, shares[1], shares[0])
    observed, by_chance = own[asked] / had[asked], min((one[asked] for one in shares), key=lambda one: one.sum())
    total = float(by_chance.sum())
    if not total > 0:
        return Figure(np.nan, np.nan, np.nan)
    ratio = float(observed.sum()) / total
    # Of a share of two sums; never less than of so many people, each counted once.
    error = (
        max(float(np.sqrt(((observed - ratio * by_chance) ** 2).sum())), np.sqrt(max(ratio, 1 / total) * total)) / total
    )
    reach = float(ndtri((1 + LEVEL) / 2)) * error
    return Figure(1 - ratio, 1 - ratio - reach, min(1 - ratio + reach, 1.0))


def _count_near(
    truth: Floats, released: Floats, present: Booleans, groups: Integers, low: Floats, high: Floats
) -> tuple[Integers, Integers]:
    """Count the released values of every record's group that are close to its true one and not the same, and all."""
    values, places = np.unique(released[present], return_inverse=True)
    wide, of = len(values) + 1, np.broadcast_to(groups, released.shape)[present]
    keys = np.sort(of * wide + places)

    def below(ends: Floats, side: Literal["left", "right"]) -> Integers:
        return np.searchsorted(keys, groups * wide + np.searchsorted(values, ends, side=side))

    same = below(truth, "right") - below(truth, "left")
    near = below(high, "right") - below(low, "left") - same
    return near, np.bincount(of, minlength=int(groups.max(initial=0)) + 1)[groups]


@dataclass(frozen=True, eq=False)
class TurnedBack:
    """What an intruder finds who has learned from half of the people how true and released values lie to each other.

    Attributes
    ----------
    rate
        Share of the released values, of the other half, from which the true one lies in one of the windows learned.
    control
        The same share, if the true value were that of another record of the pattern, or the one of another dataset;
        the larger of the two.
    risk
        `(rate - control) / (1 - control)`, with an interval of 99%.
    """

    rate: float
    control: float
    risk: Figure


def turned_back(
    truth: Floats, released: Floats, patterns: Integers, *, alike: Integers | None = None, seed: int
) -> dict[str, TurnedBack]:
    """Learn from some people how true values lie to released ones, and try it on the others.

    The intruder of "factors" knows the true values of half of the people. He notes how far they lie from the released
    ones and remembers the four windows, each a fifth of the radius wide, that hold more of them than they would by
    chance. The one of "map" first fits the monotone map of released to true values. Both are tried on the other half.

    By chance means two things, of which the larger counts: the true value of another record of the pattern takes the
    place of the own one; and, where there are several datasets, the released value of another dataset does. If released
    values are draws from a person's predictive distribution, the true one is like one more draw: it lies to a released
    value as two released values lie to each other, however much the predictors tell.

    Parameters
    ----------
    truth, released
        One per record, and (datasets, records), both in radii (`in_radii`), NaN where missing.
    patterns
        One per record.
    alike
        One per record: of which group it is by what is released unchanged (`prediction.group_by_kept`). Another
        record is one of the same pattern and group; of who has none there, one of the group.
    seed
        Of the halves and of the permutations.

    Returns
    -------
    dict
        By intruder; empty where there are too few people.
    """
    random = np.random.default_rng(seed)
    here = np.flatnonzero(~np.isnan(truth))
    if len(here) < _FEWEST:
        return {}
    some = np.unique(np.linspace(0, len(released) - 1, _DATASETS).astype(np.int64))
    released, order = released[some], random.permutation(here)
    learned, tried = order[::2], order[1::2]
    groups = np.zeros_like(patterns) if alike is None else alike
    # One code for both.
    within = np.unique(np.stack([groups, patterns]), axis=1, return_inverse=True)[1].reshape(-1)
    others = [
        truth[permute_within((np.zeros_like(groups), groups, within), here, random)] for _ in range(_PERMUTATIONS)
    ]
    found = {}
    for name, mapped in (("factors", released), ("map", _fit_map(truth, released, learned))):
        sides = [one - mapped for one in (truth, *others)]
        again = (
            []
            if len(released) < 2
            else [
                np.roll(released, 1 + shift, axis=0) - mapped for shift in range(min(len(released) - 1, _PERMUTATIONS))
            ]
        )
        one = _try(sides[0], [sides[1:], again], learned, tried)
        if one is not None:
            found[name] = one
    return found


def permute_within(groupings: Sequence[Integers], here: Integers, random: np.random.Generator) -> Integers:
    """Give every record another one of its group: of the last grouping in which it is not alone. -1 is never given."""
    chosen = np.arange(len(groupings[0]))
    for groups in groupings:
        shuffled = here[np.lexsort((random.random(len(here)), groups[here]))]
        of = groups[shuffled]
        last = np.r_[of[1:] != of[:-1], True]
        first = np.flatnonzero(np.r_[True, of[1:] != of[:-1]])
        following = np.r_[shuffled[1:], shuffled[:1]]
        following[last] = shuffled[first]
        several = following != shuffled
        chosen[shuffled[several]] = following[several]
    return chosen


def _fit_map(truth: Floats, released: Floats, learned: Integers) -> Floats:
    """Map released values to true ones by the monotone map that fits the people who were learned from best."""
    # Imported here because it loads slowly and most commands do not need it.
    from scipy.optimize import isotonic_regression  # noqa: PLC0415
    from scipy.stats import rankdata  # noqa: PLC0415

    x, y = released[:, learned].ravel(), np.tile(truth[learned], len(released))
    here = ~np.isnan(x)
    x, y = x[here], y[here]
    if len(x) > _PAIRS:
        some = np.linspace(0, len(x) - 1, _PAIRS).astype(np.int64)
        x, y = x[some], y[some]
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return released
    knots, places = np.unique(x, return_inverse=True)
    weights = np.bincount(places).astype(np.float64)
    means = np.bincount(places, y) / weights
    rising = bool(np.corrcoef(rankdata(x), rankdata(y))[0, 1] >= 0)
    fitted = isotonic_regression(means, weights=weights, increasing=rising).x
    return np.where(np.isnan(released), np.nan, np.interp(released, knots, fitted))


def _try(own: Floats, by_chance: list[list[Floats]], learned: Integers, tried: Integers) -> TurnedBack | None:
    half = WIDTH / 2
    counted = [_count_bins([own], learned, half), *(_count_bins(one, learned, half) for one in by_chance if one)]
    shares = [one / max(one.sum(), 1) for one in counted]
    # The last bin is of what lies too far off: no window.
    excess = (shares[0] - np.max(shares[1:], axis=0))[:-1]
    windows = np.zeros(len(shares[0]), dtype=bool)
    pairs = excess[1:] + excess[:-1]
    for _ in range(WINDOWS):
        best = int(np.argmax(pairs))
        if not pairs[best] > 0:
            break
        windows[best : best + 2] = True
        pairs[max(best - 1, 0) : best + 2] = -np.inf
    hits = _share_hit([own], windows, tried, half)
    chances = [_share_hit(one, windows, tried, half) for one in by_chance if one]
    asked = ~np.isnan(hits) & ~np.isnan(chances).any(axis=0)
    if asked.sum() < _FEWEST // 2:
        return None
    control = max((one[asked] for one in chances), key=lambda one: one.mean())
    rate, chance = float(hits[asked].mean()), float(control.mean())
    if chance > 0.99:
        return None
    gain = (hits[asked] - control) / (1 - chance)
    # Never less than if one more person had been lost, or won.
    error = max(float(gain.std()), 1 / np.sqrt(len(gain))) / np.sqrt(len(gain))
    reach = float(ndtri((1 + LEVEL) / 2)) * error
    return TurnedBack(
        rate, chance, Figure(float(gain.mean()), float(gain.mean()) - reach, min(float(gain.mean()) + reach, 1.0))
    )


def _bins(distances: Floats, half: float) -> Integers:
    """Number the bins of distances, from 0 up; the last one is of what lies too far off, or is missing."""
    number = int(2 * REACH / half)
    places = np.floor((distances + REACH) / half)
    return np.where((places >= 0) & (places < number), places, number).astype(np.int64)


def _count_bins(several: list[Floats], rows: Integers, half: float) -> Floats:
    number = int(2 * REACH / half)
    counts = np.zeros(number + 1)
    for one in several:
        some = one[:, rows]
        counts += np.bincount(_bins(some[~np.isnan(some)], half), minlength=number + 1)
    return counts


def _share_hit(several: list[Floats], windows: Booleans, rows: Integers, half: float) -> Floats:
    """Share of the datasets (and permutations) in which each row lies in one of the windows."""
    hits, told = np.zeros(len(rows)), np.zeros(len(rows))
    for one in several:
        some = one[:, rows]
        present = ~np.isnan(some)
        hits += (windows[_bins(np.where(present, some, np.inf), half)] & present).sum(axis=0)
        told += present.sum(axis=0)
    return np.where(told > 0, hits / np.maximum(told, 1), np.nan)
