"""The bootstrap, many resamples at a time.

Resamples are drawn with replacement, as large as the dataset. Moments are summed in a compiled loop. A quantile needs
only one or two order statistics: the k-th smallest of n draws from n records is the record at position n U, where U is
the k-th smallest of n uniform numbers, which has a beta distribution. This has exactly the resampling distribution.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from molehill.arrays import Floats

# Random picks at a time, to stay in the processor's cache.
_AT_ONCE = 2**18


def resample_sums(features: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Sum features, (features, records), over resamples of the records: (replicates, features)."""
    features = np.ascontiguousarray(features)
    records = features.shape[1]
    sums = np.empty((replicates, len(features)))
    chunk = max(1, _AT_ONCE // records)
    for start in range(0, replicates, chunk):
        into = sums[start : start + chunk]
        # Two picks from 64 bits; the relative error of a record's probability is below n / 2^32.
        bits = generator.integers(0, 2**64, size=(len(into), (records + 1) // 2), dtype=np.uint64).view(np.uint32)
        _add_up(features, bits, into)
    return sums


def resample_means(values: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Means of resamples."""
    return resample_sums(values[None], replicates, generator)[:, 0] / len(values)


def resample_sds(values: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Standard deviations of resamples, with denominator n - 1."""
    number, centred = len(values), values - values.mean()
    first, second = resample_sums(np.stack([centred, centred**2]), replicates, generator).T
    return np.sqrt(np.maximum(second - first**2 / number, 0.0) / (number - 1))


def resample_correlations(values: Floats, others: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Correlations of resamples; NaN where a resample is constant."""
    number = len(values)
    u, w = values - values.mean(), others - others.mean()
    sums = resample_sums(np.stack([u, w, u * u, w * w, u * w]), replicates, generator).T / number
    spread = np.maximum(sums[2] - sums[0] ** 2, 0.0) * np.maximum(sums[3] - sums[1] ** 2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip((sums[4] - sums[0] * sums[1]) / np.sqrt(spread), -1.0, 1.0)


def resample_quantiles(values: Floats, share: float, replicates: int, generator: np.random.Generator) -> Floats:
    """Quantiles (type 7) of resamples."""
    ordered, number = np.sort(values), len(values)
    place = share * (number - 1)
    below = int(place)
    weight = place - below
    # The next order statistic: the smallest of `number - below - 1` uniform numbers above the first one.
    first = generator.beta(below + 1, number - below, size=replicates)
    found = ordered[_place(first, number)]
    if weight > 0:
        rest = 1 - generator.random(replicates) ** (1 / (number - below - 1))
        found = found + weight * (ordered[_place(first + (1 - first) * rest, number)] - found)
    return found


def _place(uniform: Floats, number: int) -> np.ndarray:
    return np.minimum((uniform * number).astype(np.intp), number - 1)


@njit(nogil=True, cache=True, error_model="numpy")
def _add_up(features: Floats, bits: NDArray[np.uint32], sums: Floats) -> None:
    """Sum the features of the records picked by random bits, with four accumulators."""
    number = features.shape[1]
    scale, shift, even = np.uint64(number), np.uint64(32), number // 4 * 4
    for replicate in range(len(sums)):
        picks = bits[replicate]
        for feature in range(len(features)):
            values = features[feature]
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for i in range(0, even, 4):
                a += values[(picks[i] * scale) >> shift]
                b += values[(picks[i + 1] * scale) >> shift]
                c += values[(picks[i + 2] * scale) >> shift]
                d += values[(picks[i + 3] * scale) >> shift]
            for i in range(even, number):
                a += values[(picks[i] * scale) >> shift]
            sums[replicate, feature] = a + b + c + d
