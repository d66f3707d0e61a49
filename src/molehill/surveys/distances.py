"""U_m and U_a of weighted distribution functions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.surveys.design import as_numbers, effective_size

# The mean of Kolmogorov's distribution, as in `molehill.utility`.
_KOLMOGOROV_MEAN = float(np.sqrt(np.pi / 2) * np.log(2))


class WeightedDistances(NamedTuple):
    """U_m (largest difference) and U_a (mean squared difference), with the expectation for a new sample."""

    U_m: float
    U_a: float
    U_m_benchmark: float
    U_a_benchmark: float


def weighted_ecdf(values: Any, weights: Any, at: Any) -> Floats:
    """Weighted distribution function: the share of the weights with values at or below each point.

    Examples
    --------
    >>> weighted_ecdf([3.0, 1.0], [1.0, 3.0], at=[0.0, 1.0, 3.0]).tolist()
    [0.0, 0.75, 1.0]
    """
    values, weights = _check(values, weights, "values")
    order = np.argsort(values, kind="stable")
    reached = np.append(0.0, np.cumsum(weights[order]))
    places = np.searchsorted(values[order], as_numbers("at", at), side="right")
    return reached[places] / reached[-1]


def weighted_distances(values: Any, weights: Any, others: Any, other_weights: Any) -> WeightedDistances:
    """Compare the distribution of a variable in two weighted datasets.

    Over the pooled values z of both datasets, `U_m` is the largest |F(z) - F*(z)| and `U_a` the mean of (F(z) -
    F*(z))^2, weighted by the survey weights scaled to mean 1. Equal weights give the U_m and U_a of
    `molehill.utility.ecdf_distances`. The sampling benchmarks use Kish's effective sample sizes and ignore clusters,
    which would make them larger.

    Parameters
    ----------
    values, weights
        Of one dataset; no value may be missing.
    others, other_weights
        Of the other.

    Examples
    --------
    >>> found = weighted_distances([1.0, 2.0], [1.0, 3.0], [1.0, 2.0], [1.0, 1.0])
    >>> found.U_m, found.U_a
    (0.25, 0.0234375)
    """
    values, weights = _check(values, weights, "values")
    others, other_weights = _check(others, other_weights, "others")
    pooled = np.append(values, others)
    counts = np.append(weights / weights.mean(), other_weights / other_weights.mean())
    own, other = weighted_ecdf(values, weights, pooled), weighted_ecdf(others, other_weights, pooled)
    difference = np.abs(own - other)
    both = (len(values) * own + len(others) * other) / len(pooled)
    first, second = effective_size(weights), effective_size(other_weights)
    total = first + second
    spread = float(np.average(both * (1 - both), weights=counts))
    return WeightedDistances(
        float(difference.max()),
        float(np.average(difference**2, weights=counts)),
        _KOLMOGOROV_MEAN * float(np.sqrt(1 / first + 1 / second)),
        spread * (1 / first + 1 / second) * total / (total - 1),
    )


def _check(values: Any, weights: Any, argument: str) -> tuple[Floats, Floats]:
    found: list[NDArray[np.float64]] = []
    for name, given in ((argument, values), ("weights" if argument == "values" else "other_weights", weights)):
        numbers = as_numbers(name, given)
        if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
            raise InputError(name, "it is empty, or some are missing or infinite", "Give a finite number per record")
        found.append(numbers)
    if len(found[0]) != len(found[1]):
        problem = f"there are {len(found[0]):,} values for {len(found[1]):,} weights"
        raise InputError(argument, problem, "Give one weight for every record")
    if (found[1] < 0).any() or not found[1].any():
        raise InputError("weights", "some are negative, or all are zero", "Give weights of 0 or more")
    return found[0], found[1]
