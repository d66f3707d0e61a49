"""Sampling benchmarks of the standard deviation, tails and extremes of a variable, given its confidential values.

The standard deviation, the 1% and 99% quantiles and the extremes of a heavy-tailed variable vary much between samples.
The benchmarks are ranges over simulated samples. A bootstrap has no value beyond the largest one; therefore values
beyond a high threshold follow a fitted tail. With d the distance from the median, and u the distance that k values of a
side exceed,

    P(log(d / u) > t) = (1 + xi t / scale)^(-1 / xi),   xi from -1/5 to 0

a generalized Pareto law of the logarithm. At xi = 0 the tail is a power law, the heaviest allowed; below it is lighter,
like that of a lognormal variable. Every simulated sample has its own tail, drawn from the posterior of (xi, scale) on a
grid, and a random number of records in it; sums over the other records are drawn from their normal approximation.

References
----------
Davison and Smith, Models for Exceedances over High Thresholds (1990).
Beirlant, Goegebeur, Segers and Teugels, Statistics of Extremes (2004), section 4.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats

# Probability that a figure of a correct release lies within its range; larger for extremes, since a single extreme can
# lead to a negative recommendation.
LEVEL, REACH_LEVEL = 0.98, 0.995
# Simulated distributions; maximum number of datasets from each for the standard deviation; largest values from each.
_DRAWS, _MOST_DATASETS, _LARGEST = 400, 3, 25
# A tail has this many times the root of the number of records; with fewer than _LEAST values no tail is fitted.
_ROOTS, _LEAST = 2.0, 5
_SHAPES, _SCALES = np.linspace(-0.2, 0.0, 5), np.exp(np.linspace(-1.0, 1.2, 45))
# Log distances are truncated so that squares do not overflow.
_FARTHEST = 150.0
_OUTER = (0.01, 0.99)

Ends = tuple[float, float]
_UNKNOWN = (np.nan, np.nan)


@dataclass(frozen=True)
class FreshRange:
    """Ranges of ratios (correct release over confidential data); NaN where there are too few values.

    Attributes
    ----------
    spread
        Mean standard deviation of the datasets.
    tails
        Mean 1-99% range of the datasets.
    largest, smallest
        Distance from the median to the largest and the smallest value of all datasets.
    """

    spread: Ends
    tails: Ends
    largest: Ends
    smallest: Ends


@dataclass(frozen=True)
class _Tail:
    """One tail of a variable in every simulated distribution.

    `number` collected values lie beyond the distance `start`; a new value does with probability `share`, and then
    follows the law of `shape` and `scale`, one of each per draw.
    """

    number: int
    start: float
    farthest: float
    share: Floats
    shape: Floats
    scale: Floats

    def distance(self, survival: Floats) -> Floats:
        """Quantiles of the tail, (draws, ...), at these survival probabilities."""
        logs = -np.log(np.clip(survival, 1e-300, 1.0))
        shape, scale = (one.reshape(-1, *[1] * (survival.ndim - 1)) for one in (self.shape, self.scale))
        flat = shape > -1e-9
        steps = scale * np.where(flat, logs, np.expm1(shape * logs) / np.where(flat, 1.0, shape))
        return self.start * np.exp(np.minimum(steps, _FARTHEST))


def fresh_range(values: Floats, datasets: int, size: int | None = None) -> FreshRange:
    """Simulate the sampling benchmarks of standard deviation, tails and extremes of a variable.

    Parameters
    ----------
    values
        The confidential values, none missing.
    datasets, size
        Number of datasets of a release, and of values in each (default: that of the confidential data).

    Examples
    --------
    >>> found = fresh_range(np.arange(1000.0), 5)
    >>> 0.9 < found.spread[0] < 1 < found.spread[1] < 1.1
    True
    """
    # A fixed seed, so that an evaluation can be repeated.
    random, number = np.random.default_rng(33), len(values)
    size = size or number
    ordered = np.sort(values - np.median(values))
    upper, lower = _fit_tail(random, ordered[::-1]), _fit_tail(random, -ordered)
    if upper is None or lower is None:
        ends = (_reach(random, one, datasets * size) for one in (upper, lower))
        return FreshRange(_UNKNOWN, _UNKNOWN, *ends)
    body = ordered[lower.number : number - upper.number]
    spreads = _draw_spreads(random, upper, lower, body, min(datasets, _MOST_DATASETS), size)
    tails = _draw_quantiles(random, upper, ordered[::-1], datasets, size)
    tails = tails + _draw_quantiles(random, lower, -ordered, datasets, size)
    return FreshRange(
        _ends(spreads, float(np.std(values))),
        _ends(tails.mean(axis=1), float(np.ptp(np.quantile(values, _OUTER)))),
        *(_reach(random, one, datasets * size) for one in (upper, lower)),
    )


def _ends(drawn: Floats, confidential: float, level: float = LEVEL) -> Ends:
    if not confidential > 0:
        return _UNKNOWN
    low, high = np.quantile(drawn / confidential, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _fit_tail(random: np.random.Generator, distances: Floats) -> _Tail | None:
    """Draw tails from their posterior given distances in decreasing order; None if there are too few."""
    beside, nothing = int((distances > 0).sum()), np.zeros(_DRAWS)
    if beside == 0:
        return _Tail(0, 0.0, 0.0, nothing, nothing, nothing)
    number = min(int(_ROOTS * np.sqrt(len(distances))), beside - 1)
    if number < _LEAST:
        return None
    start, share = float(distances[number]), random.gamma(number, 1 / len(distances), _DRAWS)
    logs = np.log(distances[:number] / start)
    if not logs.max() > 0:
        # All values are equal, for example topcoded.
        return _Tail(number, start, start, share, nothing, nothing)
    scales = logs.mean() * _SCALES
    chances = np.stack([_log_density(logs, shape, scales) for shape in _SHAPES])
    upto = np.cumsum(np.exp(chances - chances.max()).ravel())
    place = np.searchsorted(upto, random.random(_DRAWS) * upto[-1]).clip(max=chances.size - 1)
    shape, scale = _SHAPES[place // len(scales)], scales[place % len(scales)]
    return _Tail(number, start, float(distances[0]), share, shape, scale)


def _log_density(logs: Floats, shape: float, scales: Floats) -> Floats:
    """Log density of log distances by scale, with a prior that is uniform on log(scale)."""
    if shape == 0:
        return -logs.sum() / scales - len(logs) * np.log(scales)
    inside = 1 + shape * logs / scales[:, None]
    possible = (inside > 0).all(axis=1)
    total = np.log(np.where(inside > 0, inside, 1.0)).sum(axis=1)
    return np.where(possible, -(1 + 1 / shape) * total - len(logs) * np.log(scales), -np.inf)


def _reach(random: np.random.Generator, tail: _Tail | None, number: int) -> Ends:
    """Range of the largest distance among `number` new values, relative to the largest collected one."""
    if tail is None or not tail.farthest > 0:
        return _UNKNOWN
    # The survival probability of the largest of many values is approximately exponential.
    beyond = random.exponential(size=(_DRAWS, _LARGEST)) / number
    return _ends(tail.distance(beyond / tail.share[:, None]), tail.farthest, REACH_LEVEL)


def _draw_quantiles(random: np.random.Generator, tail: _Tail, distances: Floats, datasets: int, size: int) -> Floats:
    """Distance of the 1% (99%) quantile of every dataset, (draws, datasets)."""
    share, number = _OUTER[0], len(distances)
    at = random.beta(share * size + 0.5, (1 - share) * size + 0.5, (_DRAWS, datasets))
    if not tail.number:
        return _place(distances, at * (number - 1))
    # Outside the tail, ranks are scaled by the simulated share of the tail.
    inner = _place(distances, at / tail.share[:, None] * tail.number)
    return np.where(at < tail.share[:, None], tail.distance(at / tail.share[:, None]), inner)


def _place(distances: Floats, place: Floats) -> Floats:
    return distances[np.rint(place).astype(np.int64).clip(0, len(distances) - 1)]


def _draw_spreads(
    random: np.random.Generator, upper: _Tail, lower: _Tail, body: Floats, datasets: int, size: int
) -> Floats:
    """Mean standard deviation of every release, (draws,)."""
    powers = np.stack([body, body**2])
    moments = powers.mean(axis=1)[:, None, None]
    # Every dataset is a sample of a distribution that is itself estimated from a sample.
    by_draw = random.standard_normal((2, _DRAWS, 1)) * np.sqrt(size / len(body))
    moved = _mix(powers) @ (by_draw + random.standard_normal((2, _DRAWS, datasets))).reshape(2, -1)
    counts, sums = np.zeros((_DRAWS, datasets)), np.zeros((2, _DRAWS, datasets))
    for side, tail in ((1, upper), (-1, lower)):
        if tail.number:
            held, found = _draw_tail(random, tail, datasets, size)
            counts += held
            sums += np.stack([side * found[0], found[1]])
    inner = np.maximum(size - counts, 0.0)
    sums += inner * moments + np.sqrt(inner) * moved.reshape(2, _DRAWS, datasets)
    first, second = sums / size
    return np.sqrt(np.maximum(second - first**2, 0.0)).mean(axis=1)


def _mix(powers: Floats) -> Floats:
    """Cholesky factor of the covariance of values and squares, computed on their correlation for stability."""
    sizes = powers.std(axis=1)
    sizes[sizes == 0] = 1.0
    one, other = (powers - powers.mean(axis=1)[:, None]) / sizes[:, None]
    shared = float(np.clip((one * other).mean(), -1.0, 1.0))
    return sizes[:, None] * np.array(
        [[float(one.std() > 0), 0.0], [shared, np.sqrt(1 - shared**2) * (other.std() > 0)]]
    )


def _draw_tail(random: np.random.Generator, tail: _Tail, datasets: int, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Number of values of every dataset in a tail, and the sums of their distances and squared distances."""
    counts = random.poisson(np.minimum(tail.share, 1.0)[:, None] * size, (_DRAWS, datasets))
    most = int(counts.max(initial=0))
    distances = tail.distance(random.random((_DRAWS, datasets, most)))
    distances[np.arange(most) >= counts[..., None]] = 0.0
    return counts, np.stack([distances.sum(axis=2), (distances**2).sum(axis=2)])
