"""Survey-weighted estimates: point, variance and degrees of freedom, as `molehill.utility.combine` takes them.

A group is a domain: its estimate uses its records only, its variance the whole design. Subsetting the dataset instead
would lose clusters and strata.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, stdtrit

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice, check_number
from molehill.surveys.design import Sample, as_numbers
from molehill.surveys.variances import linearised, replicated
from molehill.tables.schema import Missing

MOST_CELLS = 1_000
QuantileRule = Literal["linear", "step"]
Family = Literal["linear", "logit", "poisson"]

# Woodruff: quantiles at shares this many standard errors away.
_REACH = 1.96
_SINGULAR = 1e-10
# Relative rounding error of sums of weights.
_ROUNDING = 1e-12
# Maximum number of Newton steps, and the linear predictor beyond which a fit has diverged.
_MOST_STEPS, _FAR_OUT = 50, 500.0


@dataclass(frozen=True, eq=False)
class SurveyEstimate:
    """A population estimate: numbers, or arrays.

    Attributes
    ----------
    point, variance, degrees
        The estimate, its variance, and the degrees of freedom of that; `molehill.utility.combine` takes these.
    low, high
        The confidence interval.
    """

    point: Any
    variance: Any
    degrees: Any
    low: Any
    high: Any

    @property
    def error(self) -> Any:
        """The standard error."""
        return np.sqrt(self.variance)


class _Read(NamedTuple):
    """Variables, (variables, records), and weights of the records included, and which records these are."""

    columns: Floats
    weights: Floats
    rows: NDArray[np.bool_]

    @property
    def number(self) -> int:
        """Number of records with a positive weight."""
        return int((self.weights > 0).sum())


def weighted_mean(
    sample: Sample, values: Any, *, within: Any = None, missing: Missing = "error", level: float = 0.95
) -> SurveyEstimate:
    """Estimate the mean of a population, or of a group of it.

    The sum of weight times value over the sum of the weights, W; the influence of a record is (y - mean) / W.

    Parameters
    ----------
    sample
        As read by `SurveyDesign.read`.
    values
        A number for every record of the sample.
    within
        True for the records of a group (domain); all by default. Do not subset the dataset instead.
    missing
        Missing values: "error", or "keep" (the record is left out of the group).
    level
        Confidence level of the t interval.

    Examples
    --------
    >>> from molehill.surveys import SurveyDesign
    >>> table = pd.DataFrame({"w": [2.0, 2.0, 6.0, 6.0], "area": list("AABB"), "pay": [1.0, 3.0, 4.0, 8.0]})
    >>> found = weighted_mean(SurveyDesign(weight="w", stratum="area").read(table), table["pay"])
    >>> print(f"{found.point} ({found.error:.3f})")
    5.0 (1.521)
    """
    read = _read(sample, [values], within, missing)
    y, weights = read.columns[0], read.weights
    point = weights @ y / weights.sum()
    variance = _variance(
        sample, read, point, weights * (y - point) / weights.sum(), lambda many: many @ y / many.sum(axis=1)
    )
    return _around(point, variance, sample.degrees_within(read.rows), level)


def weighted_total(
    sample: Sample, values: Any, *, within: Any = None, missing: Missing = "error", level: float = 0.95
) -> SurveyEstimate:
    """Estimate the total of a population, or of a group of it: the sum of weight times value.

    Parameters
    ----------
    sample, values, within, missing, level
        As in `weighted_mean`. To estimate a population size, give 1 for every record.
    """
    read = _read(sample, [values], within, missing)
    y = read.columns[0]
    scores = read.weights * y
    variance = _variance(sample, read, scores.sum(), scores, lambda many: many @ y)
    return _around(scores.sum(), variance, sample.degrees_within(read.rows), level)


def weighted_quantile(
    sample: Sample,
    values: Any,
    share: float,
    *,
    rule: QuantileRule = "linear",
    within: Any = None,
    missing: Missing = "error",
    level: float = 0.95,
) -> SurveyEstimate:
    """Estimate a quantile of the population.

    The interval (Woodruff) goes from the quantile at p - t e to that at p + t e, where e is the standard error of the
    share at or below the quantile, scaled from the observed share F to p by p (1 - p) / (F (1 - F)). The variance, for
    `combine`, follows from the quantiles at p - 1.96 e and p + 1.96 e; its degrees of freedom are at most
    1.96 p (1 - p) / e, because few records lie between these.

    Parameters
    ----------
    sample, values, within, missing, level
        As in `weighted_mean`.
    share
        Between 0 and 1.
    rule
        "linear": interpolated between weight midpoints, type 7 if all weights are equal. "step": where the weighted
        distribution function reaches the share, or halfway to the next value if it does so exactly.

    References
    ----------
    Woodruff, Confidence Intervals for Medians and Other Position Measures (1952).
    """
    check_choice("rule", rule, ("linear", "step"))
    if not 0 < check_number("share", share) < 1:
        raise InputError("share", "it must be a number between 0 and 1", "For the 90% quantile write 0.9")
    read = _read(sample, [values], within, missing)
    y, weights = read.columns[0], read.weights
    order = np.lexsort((weights, y))
    invert = _linear if rule == "linear" else _step
    ordered, heavy = y[order], weights[order]
    ordered, heavy = ordered[heavy > 0], heavy[heavy > 0]
    point = float(invert(ordered, heavy, np.array([share]))[0])
    error = _share_error(sample, read, y <= point, share)
    degrees = sample.degrees_within(read.rows)
    if error == 0:
        return SurveyEstimate(point, 0.0, degrees, point, point)
    reach = np.array([-_REACH, _REACH, *(float(stdtrit(degrees, (1 + level) / 2)) * np.array([-1, 1]))]) * error
    ends = np.clip(share + reach, 0.0, 1.0)
    near_low, near_high, low, high = invert(ordered, heavy, ends)
    variance = float((error * (near_high - near_low) / (ends[1] - ends[0])) ** 2)
    few = _REACH * share * (1 - share) / error
    return SurveyEstimate(point, variance, min(degrees, few), float(low), float(high))


def weighted_sd(
    sample: Sample, values: Any, *, within: Any = None, missing: Missing = "error", level: float = 0.95
) -> SurveyEstimate:
    """Estimate the standard deviation of a population, or of a group of it.

    The root of n / (n - 1) times the weighted mean m2 of the squared distances from the weighted mean; n counts records
    with a weight. The influence is ((y - mean)^2 - m2) / (2 s W); the variance is (n - 1) / n of its linearised one, so
    that equal weights give the formula of `molehill.utility`.

    Parameters
    ----------
    sample, values, within, missing, level
        As in `weighted_mean`.
    """
    read = _read(sample, [values], within, missing, least=2)
    weights, number = read.weights, read.number
    y = read.columns[0] - weights @ read.columns[0] / weights.sum()
    second = weights @ y**2 / weights.sum()
    spread = np.sqrt(number / (number - 1))
    point = float(spread * np.sqrt(second))
    degrees = sample.degrees_within(read.rows)
    if point == 0:
        return SurveyEstimate(0.0, 0.0, degrees, 0.0, 0.0)
    scores = weights * (y**2 - second) / (2 * point * weights.sum())

    def again(many: Floats) -> Floats:
        total = many.sum(axis=1)
        return spread * np.sqrt(np.maximum(many @ y**2 / total - (many @ y / total) ** 2, 0.0))

    return _around(point, _variance(sample, read, point, scores, again, (number - 1) / number), degrees, level)


def weighted_correlation(
    sample: Sample,
    values: Any,
    others: Any,
    *,
    fisher: bool = False,
    within: Any = None,
    missing: Missing = "error",
    level: float = 0.95,
) -> SurveyEstimate:
    """Estimate the product-moment correlation in a population, or in a group of it.

    Its interval is that of Fisher's z = atanh(r), turned back. With u and w the variables standardized by weights, the
    influence on z is (u w - r (u^2 + w^2) / 2) / ((1 - r^2) W); (n - 1) / n as in `weighted_sd`.

    Parameters
    ----------
    sample, values, within, missing, level
        As in `weighted_mean`.
    others
        The second variable.
    fisher
        Whether to return everything on the scale of z, on which it is combined over released datasets.
    """
    read = _read(sample, [values, others], within, missing, least=2)
    weights, total, number = read.weights, read.weights.sum(), read.number
    centred = read.columns - (read.columns @ weights / total)[:, None]
    spreads = np.sqrt(centred**2 @ weights / total)
    if (spreads <= _ROUNDING * np.abs(read.columns).max(axis=1)).any():
        problem = "it is constant over the records included"
        raise InputError("values" if spreads[0] <= spreads[1] else "others", problem, "A constant has no correlation")
    u, w = centred / spreads[:, None]
    r = float(np.clip(weights @ (u * w) / total, -1 + 1e-15, 1 - 1e-15))
    rest = 1 - r**2
    scores = weights * (u * w - r * (u**2 + w**2) / 2) / (rest * total)

    def again(many: Floats) -> Floats:
        one, other, three, four, five = (many @ part / many.sum(axis=1) for part in (u, w, u * u, w * w, u * w))
        found = (five - one * other) / np.sqrt((three - one**2) * (four - other**2))
        return np.arctanh(np.clip(found, -1 + 1e-15, 1 - 1e-15))

    z, degrees = np.arctanh(r), sample.degrees_within(read.rows)
    # A correlation of 1 has variance 0, but rounding errors are large on this scale.
    exact = rest <= _ROUNDING
    variance = 0.0 if exact else _variance(sample, read, z, scores, again, (number - 1) / number)
    found = _around(z, variance, degrees, level)
    if fisher:
        return found
    return SurveyEstimate(r, float(variance * rest**2), degrees, *map(float, np.tanh([found.low, found.high])))


def weighted_share(
    sample: Sample, hits: Any, *, within: Any = None, missing: Missing = "error", level: float = 0.95
) -> SurveyEstimate:
    """Estimate the share of a population, or of a group of it, with a property, for example `data["region"] == "N"`.

    The Korn-Graubard interval: the exact binomial interval at the effective sample size. It stays between 0 and 1, and
    has positive width at shares of 0 and 1.

    Parameters
    ----------
    sample, within, missing, level
        As in `weighted_mean`.
    hits
        True (or 1) for the records with the property.

    References
    ----------
    Korn and Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive Counts (1998).
    """
    read = _read(sample, [hits], within, missing)
    y, weights = read.columns[0], read.weights
    if not np.isin(y, (0.0, 1.0)).all():
        raise InputError("hits", "it has values other than true and false", "Compare a variable with one of its levels")
    point = weights @ y / weights.sum()
    variance = _variance(
        sample, read, point, weights * (y - point) / weights.sum(), lambda many: many @ y / many.sum(axis=1)
    )
    degrees = sample.degrees_within(read.rows)
    low, high = _share_ends(np.array([point]), np.array([variance]), read, degrees, level)
    return SurveyEstimate(float(point), float(variance), degrees, float(low[0]), float(high[0]))


def weighted_table(sample: Sample, rows: Any, columns: Any, *, within: Any = None, level: float = 0.95) -> pd.DataFrame:
    """Estimate the shares of a population in the cells of a two-way table.

    Parameters
    ----------
    sample, within, level
        As in `weighted_mean`.
    rows, columns
        Two categories of every record. A missing value is a category of its own.

    Returns
    -------
    pandas.DataFrame
        One row per cell: `row`, `column`, `share`, `variance`, `degrees`, `low`, `high`, as in `weighted_share`.
    """
    (row, row_levels), (column, column_levels) = _levels(sample, rows, "rows"), _levels(sample, columns, "columns")
    cells = len(row_levels) * len(column_levels)
    if cells > MOST_CELLS:
        raise InputError("rows", f"there would be {cells:,} cells, above {MOST_CELLS:,}", "Combine categories")
    code = row * len(column_levels) + column
    read = _read(sample, [code], within, "error")
    code, weights = code[read.rows], read.weights
    total = weights.sum()
    points = np.bincount(code, weights, cells) / total
    if sample.replicates is None:
        # Cell by cell, to save memory.
        places = range(cells)
        variances = np.array(
            [_variance(sample, read, 0.0, weights * ((code == k) - points[k]) / total, None) for k in places]
        )
    else:
        again = _cell_shares(code, cells)
        variances = replicated(sample, read.rows, points, again)
    degrees = sample.degrees_within(read.rows)
    low, high = _share_ends(points, variances, read, degrees, level)
    named = {"row": np.repeat(row_levels, len(column_levels)), "column": np.tile(column_levels, len(row_levels))}
    found = {"share": points, "variance": variances, "degrees": degrees, "low": low, "high": high}
    return pd.DataFrame(named | found)


def weighted_regression(
    sample: Sample,
    outcome: Any,
    design: Any,
    *,
    family: Family = "linear",
    within: Any = None,
    missing: Missing = "error",
    level: float = 0.95,
) -> SurveyEstimate:
    """Estimate the regression coefficients of the population, or of a group of it.

    The variance is the design-based (sandwich) estimator: with X the design matrix, W the weights, e the residuals and
    V the variance function at the fitted means (1 for "linear", m (1 - m) for "logit", m for "poisson"), the influence
    of a record is (X' W V X)^-1 x e. There are d + 1 - k degrees of freedom, with d those of the sample and k
    coefficients.

    Parameters
    ----------
    sample, within, missing, level
        As in `weighted_mean`.
    outcome
        A number for every record.
    design
        (records, coefficients), including a column of ones for the intercept.
    family
        "linear", "logit" (an outcome of 0 and 1), or "poisson" (log link).

    References
    ----------
    Binder, On the Variances of Asymptotically Normal Estimators from Complex Surveys (1983).
    """
    matrix = as_numbers("design", design)
    if matrix.ndim != 2:
        raise InputError("design", f"it has {matrix.ndim} dimensions", "Give a matrix of records by coefficients")
    terms = matrix.shape[1]
    read = _read(sample, [outcome, *matrix.T], within, missing, least=terms + 1)
    y, x, weights = read.columns[0], read.columns[1:].T, read.weights
    _check_rank(x, weights)
    check_choice("family", family, get_args(Family))
    point = _fit_family(y, x, weights, family)
    if not np.isfinite(point).all():
        problem = "the fit does not converge: terms predict the outcome perfectly, or have too large a scale"
        raise InputError("design", problem, "Remove such terms, or rescale them")
    means, spread = _mean_and_spread(x @ point, family)
    cross = (x * (weights * spread)[:, None]).T @ x
    scores = np.linalg.solve(cross, (x * (weights * (y - means))[:, None]).T).T

    def again(many: Floats) -> Floats:
        return np.stack([_fit_family(y, x, weights, family, point) for weights in many])

    variance = _variance(sample, read, point, scores, again)
    degrees = max(sample.degrees_within(read.rows) + 1 - terms, 1.0)
    return _around(point, variance, degrees, level)


def _variance(
    sample: Sample,
    read: _Read,
    point: Any,
    scores: Floats,
    again: Callable[[Floats], Floats] | None,
    shrink: float = 1.0,
) -> Any:
    """Variance from replicates if there are any, else linearized from scores (0 for records left out)."""
    if sample.replicates is not None and again is not None:
        return replicated(sample, read.rows, point, again)
    whole = np.zeros((sample.records, *scores.shape[1:]))
    whole[read.rows] = scores
    return linearised(sample, whole) * shrink


def _read(sample: Sample, columns: Sequence[Any], within: Any, missing: Missing, least: int = 1) -> _Read:
    check_choice("missing", missing, ("error", "keep"))
    values = np.stack([_numbers(sample, column) for column in columns])
    rows = np.ones(sample.records, dtype=bool) if within is None else _mask(sample, within)
    absent = np.asarray(np.isnan(values).any(axis=0))
    lost = int((absent & rows).sum())
    if lost and missing == "error":
        remedy = "Impute them, or use missing='keep' to leave them out of the estimate"
        raise InputError("values", f"{lost:,} records have a missing value", remedy)
    rows = rows & ~absent
    number = int((sample.weights[rows] > 0).sum())
    if number < least:
        problem = f"{number} records have a value and a weight, but {least} are needed"
        raise InputError("within" if within is not None else "values", problem, "Use more records, or a larger group")
    return _Read(values[:, rows], sample.weights[rows], rows)


def _numbers(sample: Sample, column: Any) -> Floats:
    series = pd.Series(column)
    numeric = pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c"
    if not numeric:
        raise InputError("values", "they are not numbers", "Give numbers, or true and false")
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    if len(values) != sample.records:
        problem = f"there are {len(values):,} for {sample.records:,} records"
        raise InputError("values", problem, "Give one per record of the sample; select a group by `within`")
    if np.isinf(values).any():
        raise InputError(
            "values", f"row {int(np.isinf(values).argmax()) + 1} is infinite", "Correct or remove the value"
        )
    return values


def _mask(sample: Sample, within: Any) -> NDArray[np.bool_]:
    series = pd.Series(within)
    if not pd.api.types.is_bool_dtype(series.dtype) or len(series) != sample.records or series.isna().any():
        problem = "it is not true or false for every record"
        raise InputError("within", problem, "Compare a variable with a value, for example data['region'] == 'N'")
    return series.to_numpy(dtype=bool)


def _levels(sample: Sample, column: Any, argument: str) -> tuple[NDArray[np.int64], NDArray[np.object_]]:
    held = pd.Categorical(pd.Series(column))
    if len(held) != sample.records:
        problem = f"there are {len(held):,} for {sample.records:,} records"
        raise InputError(argument, problem, "Give one per record of the sample; select a group by `within`")
    levels = list(held.categories) + (["missing"] if (held.codes < 0).any() else [])
    code = np.where(held.codes < 0, len(held.categories), held.codes).astype(np.int64)
    named = np.empty(len(levels), dtype=object)
    named[:] = levels
    return code, named


def _cell_shares(code: NDArray[np.int64], cells: int) -> Callable[[Floats], Floats]:
    def again(many: Floats) -> Floats:
        return np.stack([np.bincount(code, weights, cells) / weights.sum() for weights in many])

    return again


def _share_error(sample: Sample, read: _Read, below: NDArray[np.bool_], share: float) -> float:
    """Standard error of the share of the population below a quantile, scaled from the observed share to `share`."""
    weights, number = read.weights, read.number
    total = weights.sum()
    seen = float(weights @ below / total)
    if not _ROUNDING < seen < 1 - _ROUNDING:
        return float(np.sqrt(share * (1 - share) * (weights**2).sum()) / total)
    hits = below.astype(np.float64)
    scores = weights * (hits - seen) / total
    variance = _variance(sample, read, seen, scores, lambda many: many @ hits / many.sum(axis=1))
    return float(np.sqrt(variance * share * (1 - share) / (seen * (1 - seen)) * (number - 1) / number))


def _share_ends(points: Floats, variances: Floats, read: _Read, degrees: float, level: float) -> tuple[Floats, Floats]:
    _check_level(level)
    tail = (1 - level) / 2
    weights = read.weights
    plain = float(weights.sum() ** 2 / (weights**2).sum())
    edge = (points <= _ROUNDING) | (points >= 1 - _ROUNDING)
    # A share that the design fixes, for example that of a stratum, has no variance.
    fixed = ~edge & (variances <= _ROUNDING**2)
    size = np.full(len(points), plain)
    np.divide(points * (1 - points), variances, out=size, where=~edge & ~fixed)
    few = stdtrit(max(read.number - 1.0, 1.0), 1 - tail) / stdtrit(degrees, 1 - tail)
    size = size * few**2
    hits = np.clip(points, 0.0, 1.0) * size
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-300), np.maximum(size - hits, 0.0) + 1, tail), 0.0)
    rest = size - hits
    high = np.where(rest > 0, betaincinv(hits + 1, np.maximum(rest, 1e-300), 1 - tail), 1.0)
    return np.where(fixed, points, low), np.where(fixed, points, high)


def _linear(values: Floats, weights: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted values, linear between weight midpoints."""
    if len(values) == 1:
        return np.full(len(shares), values[0])
    middles = np.cumsum(weights) - weights / 2 - weights[0] / 2
    return np.interp(shares, middles / middles[-1], values)


def _step(values: Floats, weights: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted values where their distribution function reaches the shares."""
    last = np.append(values[1:] != values[:-1], True)
    values, reached = values[last], np.cumsum(weights)[last]
    slack = _ROUNDING * reached[-1] * len(weights)
    wanted = shares * reached[-1]
    places = np.minimum(np.searchsorted(reached, wanted - slack), len(values) - 1)
    exact = np.abs(reached[places] - wanted) <= slack
    after = np.minimum(places + 1, len(values) - 1)
    return np.where(exact, (values[places] + values[after]) / 2, values[places])


def _fit_family(y: Floats, x: Floats, weights: Floats, family: Family, start: Floats | None = None) -> Floats:
    """Solve the weighted score equations, by Newton steps if necessary; NaN without convergence."""
    if family == "linear":
        return _solve((x * weights[:, None]).T @ x, x.T @ (weights * y))
    if start is None:
        # The usual starting values: means near the outcomes.
        near = np.log(y + 0.5) - (np.log(1.5 - y) if family == "logit" else 0.0)
        start = _solve((x * weights[:, None]).T @ x, x.T @ (weights * near))
    point = start
    for _ in range(_MOST_STEPS):
        means, spread = _mean_and_spread(x @ point, family)
        step = _solve((x * (weights * spread)[:, None]).T @ x, x.T @ (weights * (y - means)))
        point = point + step
        if not np.isfinite(point).all() or np.abs(x @ point).max() > _FAR_OUT:
            break
        if np.abs(step).max() <= 1e-9 * max(np.abs(point).max(), 1.0):
            return point
    return np.full(len(point), np.nan)


def _mean_and_spread(linear: Floats, family: Family) -> tuple[Floats, Floats]:
    """Mean and variance function at a linear predictor."""
    if family == "linear":
        return linear, np.ones_like(linear)
    if family == "logit":
        means = expit(linear)
        return means, means * (1 - means)
    means = np.exp(linear)
    return means, means


def _solve(cross: Floats, right: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(cross, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(len(right), np.nan)


def _check_rank(design: Floats, weights: Floats) -> None:
    heavy = design * np.sqrt(weights)[:, None]
    sizes = np.sqrt((heavy**2).sum(axis=0))
    if (sizes == 0).any() or np.linalg.eigvalsh((heavy / sizes).T @ (heavy / sizes))[0] < _SINGULAR:
        problem = "its columns are zero or collinear over the records included"
        raise InputError("design", problem, "Remove redundant columns")


def _check_level(level: float) -> None:
    if not 0 < check_number("level", level) < 1:
        raise InputError("level", "it must be a number between 0 and 1", "Write 0.95 for 95%")


def _around(point: Any, variance: Any, degrees: float, level: float) -> SurveyEstimate:
    _check_level(level)
    reach = float(stdtrit(degrees, (1 + level) / 2)) * np.sqrt(variance)
    parts = (point, variance, point - reach, point + reach)
    point, variance, low, high = (float(part) if np.ndim(part) == 0 else part for part in parts)
    return SurveyEstimate(point, variance, degrees, low, high)
