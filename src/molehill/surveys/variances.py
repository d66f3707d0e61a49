"""Design-based variances by linearization or replicate weights, and bootstrap replicate weights.

Linearization: an estimate is nearly a sum over records of weight times influence, whose variance follows from the
cluster totals within strata. Replication: the estimate is repeated with other weights.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_whole
from molehill.surveys.design import Replicates, Sample

# Replicate weights processed at a time, to limit memory.
_AT_ONCE = 2**22


def linearised(sample: Sample, scores: Floats) -> Floats:
    """Variance of the sum of scores (weight times influence), (records,) or (records, estimates).

    With t_c the total of cluster c, n_h clusters and the fraction f_h drawn in stratum h, it is the sum over h of
    (1 - f_h) n_h / (n_h - 1) times the sum over c of (t_c - mean of t in h)^2. A single cluster has (1 - f_h) times the
    square of its distance from the mean of all clusters ("adjust"), or nothing ("certainty").
    """
    columns = scores[:, None] if scores.ndim == 1 else scores
    factor = _unit_factors(sample)
    # One by one, to save memory.
    found = np.array([_centred_totals(sample, column) ** 2 @ factor for column in columns.T])
    return found[0] if scores.ndim == 1 else found


def _unit_factors(sample: Sample) -> Floats:
    """Factor of the squared deviation of every first-stage unit."""
    drawn = np.bincount(sample.stratum_of)
    factor: Floats = (1 - sample.fractions) * drawn / np.maximum(drawn - 1, 1)
    return (factor if sample.single == "adjust" else np.where(drawn == 1, 0.0, factor))[sample.stratum_of]


def _centred_totals(sample: Sample, scores: Floats) -> Floats:
    """Totals of the units minus the mean of their stratum; of a single unit, minus the mean of all units."""
    stratum, drawn = sample.stratum_of, np.bincount(sample.stratum_of)
    totals = np.bincount(sample.cluster, scores, len(stratum))
    centres = np.where(drawn == 1, totals.mean(), np.bincount(stratum, totals) / drawn)
    apart: Floats = np.subtract(totals, centres[stratum], dtype=np.float64)
    return apart


def covariances(sample: Sample, scores: Floats) -> Floats:
    """Covariances of the sums of scores, (records, estimates), from replicates if there are any, else linearized."""
    if sample.replicates is not None:
        every = np.ones(sample.records, dtype=bool)
        influence = scores / np.where(sample.weights > 0, sample.weights, 1.0)[:, None]
        influence[sample.weights == 0] = 0.0
        found = np.concatenate([block @ influence for block in _blocks(sample.replicates, every)])
        apart = found - (scores.sum(axis=0) if sample.replicates.centre == "estimate" else found.mean(axis=0))
        return (apart * sample.replicates.factors[:, None]).T @ apart
    apart = np.stack([_centred_totals(sample, column) for column in scores.T], axis=1)
    return (apart * _unit_factors(sample)[:, None]).T @ apart


def replicated(
    sample: Sample, rows: NDArray[np.bool_], point: Floats | float, again: Callable[[Floats], Floats]
) -> Floats:
    """Variance of an estimate from replicates: the sum of factor times squared difference.

    `again` gives the estimates, (replicates,) or (replicates, estimates), of weights (replicates, records of `rows`).
    """
    if sample.replicates is None:
        raise InputError(
            "sample", "it has no replicate weights", "Name them in the design, or create them by `bootstrap`"
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.concatenate([again(block) for block in _blocks(sample.replicates, rows)])
    lost = int((~np.isfinite(found.reshape(len(found), -1)).all(axis=1)).sum())
    if lost:
        problem = f"{lost:,} of {len(found):,} replicates cannot be computed: no record has a weight, or a fit fails"
        raise InputError("within", problem, "Use a larger group, or strata and clusters instead of replicates")
    centre = point if sample.replicates.centre == "estimate" else found.mean(axis=0)
    return np.tensordot(sample.replicates.factors, (found - centre) ** 2, axes=1)


def bootstrap(sample: Sample, *, replicates: int = 500, seed: int) -> Sample:
    """Add bootstrap replicate weights: the rescaled bootstrap of Rao and Wu.

    In every stratum n_h - 1 of its n_h clusters are drawn with replacement. A cluster that was drawn r times has the
    weight times 1 - s + s r n_h / (n_h - 1), where s is the root of 1 - f_h: without a finite population correction,
    r n_h / (n_h - 1). The variance is the mean squared difference from the full estimate.

    Parameters
    ----------
    sample
        As read from a design.
    replicates
        Their number; the relative error of a standard error is about 1 / sqrt(2 replicates).
    seed
        Of the random numbers.

    References
    ----------
    Rao and Wu, Resampling Inference with Complex Survey Data (1988). Rao, Wu and Yue, Some Recent Work on Resampling
    Methods for Complex Surveys (1992).
    """
    check_whole("replicates", replicates, 2)
    check_whole("seed", seed, 0)
    drawn = np.bincount(sample.stratum_of)
    if sample.single == "adjust" and ((drawn == 1) & (sample.fractions < 1)).any():
        problem = "the bootstrap cannot adjust strata with a single cluster"
        raise InputError("single", problem, "Combine such strata, or use single='certainty'")
    generator = np.random.default_rng(seed)
    values = np.ones((replicates, len(sample.stratum_of)))
    order = np.argsort(sample.stratum_of, kind="stable")
    for units, fraction in zip(np.split(order, np.cumsum(drawn)[:-1]), sample.fractions, strict=True):
        number = len(units)
        if number > 1:
            times = generator.multinomial(number - 1, np.full(number, 1 / number), replicates)
            shrink = np.sqrt(1 - fraction)
            values[:, units] = 1 - shrink + shrink * times * number / (number - 1)
    factors = np.full(replicates, 1 / replicates)
    plain = replace(sample, replicates=None)
    degrees = min(plain.degrees, float(replicates - 1))
    made = Replicates(freeze(values), sample.cluster, sample.weights, freeze(factors), "estimate", degrees)
    return replace(plain, replicates=made)


def _blocks(made: Replicates, rows: NDArray[np.bool_]) -> Iterator[Floats]:
    units, times = made.units[rows], made.times[rows]
    step = max(1, _AT_ONCE // max(len(units), 1))
    for start in range(0, len(made.values), step):
        yield made.values[start : start + step, units] * times
