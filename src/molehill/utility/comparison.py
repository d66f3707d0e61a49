"""Comparison of estimates and their confidence intervals between confidential and released data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice, check_whole
from molehill.surveys.design import Sample, SurveyDesign
from molehill.surveys.estimates import weighted_correlation, weighted_mean, weighted_quantile, weighted_sd
from molehill.surveys.variances import bootstrap
from molehill.tables.intervals import jackknife
from molehill.tables.schema import Missing
from molehill.utility import resampling
from molehill.utility.analyses import (
    Analysis,
    read_formula,
)
from molehill.utility.estimates import (
    Estimate,
    Rule,
    around,
    check_level,
    combine,
    correlation_and_variance,
    mean_and_variance,
    quantile_and_variance,
    quantile_degrees,
    sd_and_variance,
)
from molehill.utility.regressions import fit_regression
from molehill.utility.sides import GroupColumns, Part, Side, read_numbers, read_parts, read_whole

Interval = Literal["combined", "bootstrap"]

# Measures of a released interval against the confidential one, with their possible range.
_MEASURES = {"overlap": (0.0, 1.0), "width_ratio": (0.0, np.inf), "relative_bias": (-np.inf, np.inf)}
# Minimum number of datasets for the jackknife.
_LEAST_TABLES = 3
# Probability that all estimates of a correct release overlap by as much as chance lets them.
_LEVEL = 0.98
_LEAST_OVERLAP = 1e-6


class _Estimated(NamedTuple):
    """An estimate from the confidential data, from all released datasets, and leaving each of these out (arrays)."""

    name: str
    own: Estimate
    other: Estimate
    rest: Estimate


def estimate(
    data: Any,
    released: Any,
    analyses: Analysis | Sequence[Analysis],
    *,
    interval: Interval = "combined",
    rule: Rule = "partial",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    groups: GroupColumns = None,
    missing: Missing = "error",
    size: float = 1.0,
    design: SurveyDesign | None = None,
    hidden: Sequence[str] = (),
) -> pd.DataFrame:
    """Compare estimates and confidence intervals between confidential and released data.

    Parameters
    ----------
    data
        The confidential data.
    released
        One released dataset, or a sequence of them.
    analyses
        One or several estimates: `mean("income")`, `quantile("income", 0.9)`, `regression("income ~ age")`.
    interval
        "combined": estimates and variances are combined over the released datasets by `combine`. "bootstrap", as in
        the paper: every dataset is resampled `replicates` times, the values of all released datasets are pooled, and
        the interval is their mean and quantiles; regressions are combined in either case.
    rule
        Combining rule, "partial" or "full", see `combine`.
    level
        Confidence level.
    replicates, seed
        Of the bootstrap.
    groups
        Variables that define groups; estimates are computed within each group.
    missing
        Missing values: "error", or "keep" (the record is left out of the estimate).
    size
        For fully synthetic data, the number of released records per confidential record, see `combine`.
    design
        Survey design of the confidential data: estimates are then those of `molehill.surveys`, with variances from
        linearization, replicate weights or, for "bootstrap", resampled clusters within strata. Of a released dataset,
        the design variables it contains are used; without the weight it is analysed unweighted.
    hidden
        Variables of the released datasets that users will not have, for example a stratum that is not released.

    Returns
    -------
    pandas.DataFrame
        One row per analysis (and coefficient, and group): `analysis`, `column`, `confidential`, `confidential_low`,
        `confidential_high`, `released`, `released_low`, `released_high`; `overlap` of the two intervals (see
        `interval_overlap`); `width_ratio`, released over confidential; `relative_bias`, the difference of the points
        over the absolute confidential one. The last two are missing where they would divide by zero. Each of the three
        has `_low` and `_high`, a jackknife interval over the datasets (Student's t); missing for fewer than three.

    References
    ----------
    Hu, Savitsky and Williams, Risk-Efficient Bayesian Data Synthesis for Privacy Protection, section 2.3. Karr, Kohnen,
    Oganian, Reiter and Sanil, A Framework for Evaluating the Utility of Data Altered to Protect Confidentiality (2006).

    Examples
    --------
    >>> from molehill.utility import mean
    >>> data = pd.DataFrame({"pay": [10.0, 12.0, 14.0, 16.0, 18.0]})
    >>> found = estimate(data, data + 1.0, mean("pay"))
    >>> found[["analysis", "confidential", "released", "overlap", "width_ratio"]].round(3)
          analysis  confidential  released  overlap  width_ratio
    0  mean of pay          14.0      15.0    0.873          1.0
    """
    check_choice("interval", interval, ("combined", "bootstrap"))
    check_choice("rule", rule, ("partial", "full"))
    check_level(level)
    check_whole("replicates", replicates, 2)
    check_whole("seed", seed, 0)
    several = _read_analyses(analyses)
    columns = [name for analysis in several for name in _columns_of(analysis)]
    about: dict[str, Any] = {"groups": groups, "missing": missing, "design": design, "hidden": hidden}
    parts = read_parts(data, released, columns, argument="analyses", **about)
    if design is not None and interval == "bootstrap":
        parts = _resample_designs(parts, replicates, seed)
    combining = _Combining(rule, level, size)
    rows = []
    for place, part in enumerate(parts):
        for number, analysis in enumerate(several):
            if analysis.kind == "regression":
                found = _combine_regression(analysis, part, combining, missing)
            elif interval == "combined" or design is not None:
                found = [_combine_summary(analysis, part, combining, missing)]
            else:
                generators = [np.random.default_rng([seed, place, number, i]) for i in range(len(part.sides))]
                values = [
                    _resample(analysis, side, missing, replicates, generator)
                    for side, generator in zip(part.sides, generators, strict=True)
                ]
                found = [_pool_summary(analysis, values, level)]
            rows += [_compare(part.group, analysis.column, one, len(part.sides) - 1, level) for one in found]
    frame = pd.DataFrame(rows)
    return frame if groups is not None else frame.drop(columns="group")


def interval_overlap(low: Any, high: Any, other_low: Any, other_high: Any) -> Any:
    """Confidence-interval overlap (Karr et al.), from 0 to 1.

    The mean of the shared length as a share of the first and of the second interval; 0 for disjoint intervals. An
    interval of width 0 counts as fully shared if it lies within the other.

    Examples
    --------
    >>> interval_overlap(0.0, 4.0, 2.0, 10.0)
    0.375
    """
    low, high, other_low, other_high = (np.asarray(end, dtype=np.float64) for end in (low, high, other_low, other_high))
    start, end = np.maximum(low, other_low), np.minimum(high, other_high)
    shares = []
    for width in (high - low, other_high - other_low):
        share = np.divide(end - start, width, out=np.ones_like(end), where=width > 0)
        shares.append(np.where(end >= start, share, 0.0))
    mean_share = (shares[0] + shares[1]) / 2
    return float(mean_share) if mean_share.ndim == 0 else mean_share


def overlap_by_chance(
    low: float, high: float, other_low: float, other_high: float, *, tables: int, estimates: int = 1
) -> float:
    """Give the overlap that the least of so many estimates of a correct release falls below in 2 of 100 cases.

    Never 0: of intervals that do not meet chance is no explanation.

    Values drawn from the true model are a fresh sample: the confidential estimate, with the standard error s, and the
    mean of L released ones are each off by chance, and their difference has the standard error `s sqrt(1 + 1 / L)`. The
    wider of the two intervals says what s is, since that of few, or heavy-tailed, values is often too short.

    Parameters
    ----------
    low, high, other_low, other_high
        The confidential 95% interval and the released one.
    tables, estimates
        How many datasets there are, and estimates, of which the one that overlaps least is judged.

    Examples
    --------
    >>> [round(overlap_by_chance(-1.0, 1.0, -1.0, 1.0, tables=tables), 3) for tables in (1, 20)]
    [0.161, 0.392]
    """
    reach, other = (high - low) / 2, (other_high - other_low) / 2
    away = ndtri(1 - (1 - _LEVEL ** (1 / estimates)) / 2) / ndtri(0.975)
    away *= max(reach, other) * np.sqrt(1 + 1 / tables)
    return max(interval_overlap(-reach, reach, away - other, away + other), _LEAST_OVERLAP)


def _read_analyses(analyses: Analysis | Sequence[Analysis]) -> list[Analysis]:
    several = [analyses] if isinstance(analyses, Analysis) else list(analyses)
    if not several or not all(isinstance(analysis, Analysis) for analysis in several):
        raise InputError("analyses", "it must be one or more analyses", "For example [mean('income')]")
    return several


def _columns_of(analysis: Analysis) -> tuple[str, ...]:
    if analysis.kind == "regression":
        return read_formula(analysis.formula).columns
    return (analysis.column, analysis.other) if analysis.other else (analysis.column,)


def _read_summary(analysis: Analysis, side: Side, missing: Missing) -> Floats:
    columns = _columns_of(analysis)
    values = read_numbers(side, columns, missing, least=2 if len(columns) == 1 else 4)
    if analysis.kind == "correlation":
        for name, numbers in zip(columns, values, strict=True):
            if np.ptp(numbers) == 0:
                problem = f"variable {name!r} is the same for every record"
                raise side.refuse(problem, "A constant has no correlation: remove the analysis")
    return values


def _summarise(analysis: Analysis, values: Floats) -> tuple[Floats, Floats, float]:
    """The estimate, its variance and degrees of freedom; a correlation on Fisher's scale."""
    if analysis.kind == "mean":
        return *mean_and_variance(values[0]), values.shape[1] - 1
    if analysis.kind == "quantile":
        degrees = quantile_degrees(values.shape[1], analysis.share)
        return *quantile_and_variance(values[0], analysis.share), degrees
    if analysis.kind == "sd":
        return *sd_and_variance(values[0]), np.inf
    return *correlation_and_variance(values[0], values[1]), np.inf


def _estimate_side(analysis: Analysis, side: Side, missing: Missing) -> tuple[Any, Any, float]:
    """Estimate from one dataset, its variance and degrees of freedom, under its survey design if there is one."""
    if side.sample is None:
        return _summarise(analysis, _read_summary(analysis, side, missing))
    columns = _columns_of(analysis)
    values, rows = read_whole(side, columns, missing, least=2 if len(columns) == 1 else 4)
    # Missing values were checked: records without a value are outside the group.
    how: dict[str, Any] = {"within": rows, "missing": "keep"}
    try:
        if analysis.kind == "mean":
            found = weighted_mean(side.sample, values[0], **how)
        elif analysis.kind == "quantile":
            found = weighted_quantile(side.sample, values[0], analysis.share, **how)
        elif analysis.kind == "sd":
            found = weighted_sd(side.sample, values[0], **how)
        else:
            found = weighted_correlation(side.sample, values[0], values[1], fisher=True, **how)
    except InputError as error:
        raise side.refuse(
            f"{analysis.kind} of {' and '.join(map(repr, columns))}: {error.problem}", error.remedy
        ) from None
    return found.point, found.variance, found.degrees


def _resample_designs(parts: Sequence[Part], replicates: int, seed: int) -> list[Part]:
    """Add bootstrap replicate weights to every sample, once for all groups."""
    made: dict[int, Sample] = {}

    def resampled(side: Side) -> Side:
        if side.sample is None or side.sample.replicates is not None:
            return side
        key = id(side.sample)
        if key not in made:
            made[key] = bootstrap(side.sample, replicates=replicates, seed=seed)
        return replace(side, sample=made[key])

    return [
        replace(part, confidential=resampled(part.confidential), released=tuple(map(resampled, part.released)))
        for part in parts
    ]


class _Combining(NamedTuple):
    """Arguments of `combine`."""

    rule: Rule
    level: float
    size: float


def _combine_summary(analysis: Analysis, part: Part, how: _Combining, missing: Missing) -> _Estimated:
    found = [_estimate_side(analysis, side, missing) for side in part.sides]
    points, variances, degrees = (np.array(column, dtype=np.float64) for column in zip(*found, strict=True))
    one = _combine(analysis.name, points, variances, degrees, how)
    if analysis.kind == "correlation":
        return _Estimated(one.name, *map(_from_fisher, one[1:]))
    return one


def _combine(name: str, points: Floats, variances: Floats, degrees: Floats, how: _Combining) -> _Estimated:
    """Combine one estimate over all datasets, and leaving each out; the first entry is the confidential one."""
    settings: dict[str, Any] = {**how._asdict(), "degrees": degrees[1:].min()}
    own = around(points[0], variances[0], degrees[0], how.level)
    other = combine(points[1:], variances[1:], **settings)
    tables = len(points) - 1
    if tables < _LEAST_TABLES:
        nothing = np.empty(0)
        return _Estimated(name, own, other, Estimate(nothing, nothing, nothing))
    rest = np.array([np.delete(np.arange(1, tables + 1), i) for i in range(tables)]).T
    return _Estimated(name, own, other, combine(points[rest], variances[rest], **settings))


def _from_fisher(found: Estimate) -> Estimate:
    return Estimate(*(np.tanh(end) for end in (found.point, found.low, found.high)))


def _combine_regression(analysis: Analysis, part: Part, how: _Combining, missing: Missing) -> list[_Estimated]:
    fits = fit_regression(analysis, part, missing)
    return [
        _combine(f"{name} in {analysis.name}", fits.points[:, i], fits.variances[:, i], fits.degrees, how)
        for i, name in enumerate(fits.names)
    ]


def _resample(
    analysis: Analysis, side: Side, missing: Missing, replicates: int, generator: np.random.Generator
) -> Floats:
    values = _read_summary(analysis, side, missing)
    if analysis.kind == "mean":
        return resampling.resample_means(values[0], replicates, generator)
    if analysis.kind == "quantile":
        return resampling.resample_quantiles(values[0], analysis.share, replicates, generator)
    if analysis.kind == "sd":
        return resampling.resample_sds(values[0], replicates, generator)
    found = resampling.resample_correlations(values[0], values[1], replicates, generator)
    if np.isnan(found).any():
        raise side.refuse("a resample is constant, without a correlation", "Use interval='combined', or more records")
    return found


def _pool_summary(analysis: Analysis, values: Sequence[Floats], level: float) -> _Estimated:
    tables = len(values) - 1
    rest = [
        _pool([*values[1 : i + 1], *values[i + 2 :]], level) for i in range(tables if tables >= _LEAST_TABLES else 0)
    ]
    ends = [np.array([getattr(one, end) for one in rest]) for end in ("point", "low", "high")]
    return _Estimated(analysis.name, _pool(values[:1], level), _pool(values[1:], level), Estimate(*ends))


def _pool(values: Sequence[Floats], level: float) -> Estimate:
    pooled = np.concatenate(values)
    low, high = np.quantile(pooled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(pooled.mean()), float(low), float(high))


def _compare(group: str, column: str, found: _Estimated, tables: int, level: float) -> dict[str, Any]:
    own, other = found.own, found.other
    row = {"group": group, "analysis": found.name, "column": column}
    for side, one in (("confidential", own), ("released", other)):
        row |= {side: float(one.point), f"{side}_low": float(one.low), f"{side}_high": float(one.high)}
    values, rest = _compare_intervals(own, other), _compare_intervals(own, found.rest)
    for name, (least, most) in _MEASURES.items():
        figure = jackknife(float(values[name]), rest[name], tables, level=level, least=least, most=most)
        row |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    return row


def _compare_intervals(own: Estimate, other: Estimate) -> dict[str, Any]:
    width, size = own.high - own.low, abs(own.point)
    return {
        "overlap": interval_overlap(own.low, own.high, other.low, other.high),
        "width_ratio": (other.high - other.low) / (width if width > 0 else np.nan),
        "relative_bias": (other.point - own.point) / (size if size > 0 else np.nan),
    }
