"""Estimates with confidence intervals, and combining rules for synthetic datasets.

Every summary works along the last axis, so that many samples of the same size are one call.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice

Rule = Literal["partial", "full"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A point estimate with its confidence interval: numbers, or arrays of the same shape."""

    point: Any
    low: Any
    high: Any


def combine(
    points: Any,
    variances: Any,
    *,
    rule: Rule = "partial",
    level: float = 0.95,
    degrees: Any = np.inf,
    size: float = 1.0,
) -> Estimate:
    """Combine estimates from several released datasets (Rubin-type combining rules).

    With L datasets, the point is the mean of their points, b the variance between them (denominator L - 1) and v the
    mean of their variances. The interval is the point plus or minus a t quantile times the root of T:

    - "partial", for partially synthetic data: T = v + b / L, with (L - 1) (1 + L v / b)^2 degrees of freedom. For fully
      synthetic data drawn with fixed parameters, with `size` released records per confidential one, size * v replaces
      v;
    - "full", for fully synthetic data with parameters drawn anew for every dataset: T = (1 + 1 / L) b - v, with
      (L - 1) (1 - v / ((1 + 1 / L) b))^2 degrees of freedom, at least 1. If T is not positive, v is used with infinite
      degrees of freedom.

    With a single dataset b is unknown: "partial" gives the interval of that dataset, which is too short for synthetic
    data.

    Parameters
    ----------
    points, variances
        The estimates and their variances; the first axis runs over the datasets.
    rule
        "partial" or "full".
    level
        Confidence level.
    degrees
        Degrees of freedom of the t interval of a single dataset, if it has any (records minus coefficients of a linear
        regression). Those of the rule, d, become 1 / (1 / d + 1 / degrees).
    size
        Number of released records per confidential record, for fully synthetic data.

    References
    ----------
    Reiter, Inference for Partially Synthetic, Public Use Microdata Sets (2003). Raghunathan, Reiter and Rubin, Multiple
    Imputation for Statistical Disclosure Limitation (2003). Reiter, Satisfying Disclosure Restrictions with Synthetic
    Data Sets (2002). Raab, Nowok and Dibben, Practical Data Synthesis for Large Samples (2016), for datasets of new
    respondents.

    Examples
    --------
    >>> found = combine([10.0, 12.0, 14.0], [4.0, 4.0, 4.0])
    >>> print(f"{found.point:.1f} [{found.low:.2f}, {found.high:.2f}]")
    12.0 [7.30, 16.70]
    """
    check_level(level)
    points, variances = np.asarray(points, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if points.ndim == 0 or points.shape != variances.shape:
        problem = f"points have shape {points.shape}, variances {variances.shape}"
        raise InputError("points", problem, "Give one point and one variance for every dataset")
    if not (np.isfinite(points).all() and np.isfinite(variances).all() and (variances >= 0).all()):
        raise InputError("variances", "some are negative or not finite, or a point is not", "Check the estimates")
    if isinstance(size, bool) or not 0 < size < np.inf:
        raise InputError("size", "it must be a number above 0", "Use 1 for datasets as large as the confidential data")
    total, own = combined_variance(points, variances, rule, size)
    with np.errstate(divide="ignore"):
        all_degrees = 1 / (1 / own + 1 / np.asarray(degrees, dtype=np.float64))
    return around(points.mean(axis=0), total, all_degrees, level)


def combined_variance(points: Floats, variances: Floats, rule: Rule, size: float = 1.0) -> tuple[Floats, Floats]:
    """T and its degrees of freedom; the first axis runs over the datasets."""
    check_choice("rule", rule, ("partial", "full"))
    tables = len(points)
    if tables == 0:
        raise InputError("points", "there are none", "Give one for every dataset")
    within = variances.mean(axis=0) * (size if rule == "partial" else 1.0)
    if tables == 1:
        if rule == "full":
            raise InputError("rule", "'full' needs at least two released datasets", "Release more, or use 'partial'")
        return within, np.full_like(within, np.inf)
    between = points.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if rule == "partial":
            degrees = (tables - 1) * (1 + tables * within / between) ** 2
            return within + between / tables, np.where(between > 0, degrees, np.inf)
        total = (1 + 1 / tables) * between - within
        degrees = (tables - 1) * (1 - within / ((1 + 1 / tables) * between)) ** 2
        return np.where(total > 0, total, within), np.where(total > 0, np.maximum(degrees, 1.0), np.inf)


def around(point: Any, variance: Any, degrees: Any, level: float) -> Estimate:
    """The t interval around a point; normal for infinite degrees of freedom."""
    upper = (1 + level) / 2
    degrees = np.asarray(degrees, dtype=np.float64)
    finite = np.isfinite(degrees)
    factor = np.where(finite, stdtrit(np.where(finite, degrees, 1.0), upper), ndtri(upper))
    reach = factor * np.sqrt(variance)
    return Estimate(_plain(point), _plain(point - reach), _plain(point + reach))


def mean_and_variance(values: Floats) -> tuple[Floats, Floats]:
    """The mean, and its variance s^2 / n."""
    return values.mean(axis=-1), values.var(axis=-1, ddof=1) / values.shape[-1]


def quantile_and_variance(values: Floats, share: float) -> tuple[Floats, Floats]:
    """A quantile (type 7) and its variance by Woodruff's method.

    The share of records below the quantile has standard error e = sqrt(share (1 - share) / n). The variance follows
    from the distance of the quantiles at share - 1.96 e and share + 1.96 e. About 3.92 n e records lie between these,
    so few that the interval needs `quantile_degrees`.
    """
    error = np.sqrt(share * (1 - share) / values.shape[-1])
    ends = np.clip([share - 1.96 * error, share + 1.96 * error], 0.0, 1.0)
    point, low, high = np.quantile(values, [share, *ends], axis=-1)
    return point, (error * (high - low) / (ends[1] - ends[0])) ** 2


def quantile_degrees(records: int, share: float) -> float:
    """Degrees of freedom of the variance of a quantile: half the number of gaps between its two quantiles."""
    return 1.96 * float(np.sqrt(records * share * (1 - share)))


def sd_and_variance(values: Floats) -> tuple[Floats, Floats]:
    """The standard deviation, and its variance (m4 - m2^2) / (4 n s^2) with m2, m4 the central moments."""
    number = values.shape[-1]
    squares = (values - values.mean(axis=-1, keepdims=True)) ** 2
    second = squares.mean(axis=-1)
    spread = squares.var(axis=-1)
    point = np.sqrt(second * number / (number - 1))
    return point, np.divide(spread, 4 * number * point**2, out=np.zeros_like(point), where=point > 0)


def correlation_and_variance(values: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Fisher's z = atanh(r) and its distribution-free variance: the variance of the records' influence over n.

    With u and w the standardized variables, the influence on r is u w - r (u^2 + w^2) / 2; on z it is divided by 1 -
    r^2.
    """
    u, w = _standardise(values), _standardise(others)
    r = np.clip((u * w).mean(axis=-1, keepdims=True), -1.0, 1.0)
    rest = np.maximum(1 - r**2, 1e-15)
    influence = (u * w - r * (u**2 + w**2) / 2) / rest
    exact = rest[..., 0] <= 1e-12
    point = np.arctanh(np.clip(r[..., 0], -1 + 1e-15, 1 - 1e-15))
    return point, np.where(exact, 0.0, (influence**2).mean(axis=-1) / values.shape[-1])


def check_level(level: float) -> None:
    """Check that a confidence level lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InputError("level", "it must be a number between 0 and 1", "Write 0.95 for 95%")


def _standardise(values: Floats) -> Floats:
    return (values - values.mean(axis=-1, keepdims=True)) / values.std(axis=-1, keepdims=True)


def _plain(number: Any) -> Any:
    return float(number) if np.ndim(number) == 0 else number
