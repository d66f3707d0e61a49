"""Distributions: how far those of the release lie from the confidential ones, and whether they can be told apart.

Distances of distribution functions and of two-way tables, a classifier, and the shape of a variable: whether spread,
tails and extremes are those of the data, and where values heap. An interval that is wide enough to hold everything
overlaps well; these cannot be fooled by it. With the released datasets most would give a number of the confidential
one, so that they stay inside, or are told in ranges as wide as the sampling error.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.evaluation.catalogue.relations import MOST_LEVELS as FEW_LEVELS
from molehill.evaluation.context import Context, alone, fixed_ends
from molehill.evaluation.curves import values_of
from molehill.evaluation.measure import (
    Block,
    Coarse,
    CriterionWords,
    Measure,
    Threshold,
    Unit,
    Value,
    shared,
    utility_measure,
)
from molehill.evaluation.options import CLASSIFIERS
from molehill.tables.intervals import Figure, jackknife, mean_over_tables
from molehill.tables.schema import is_number
from molehill.utility import Distances, ecdf_distances, propensity, table_difference, wasserstein
from molehill.utility.distances import MOST_LEVELS, MOST_TERMS
from molehill.utility.tails import FreshRange, fresh_range

Compute = Callable[[Context], Iterable[Value]]

# Shuffles for what a fresh sample would show, over all datasets of a release.
PERMUTATIONS = 20
# Of fewer records a classifier says nothing.
LEAST_RECORDS = 50
# Indicators of related variables that the classifier sees at most; their products with each other make many more.
_MOST_INDICATORS = 30
# A classifier sees records that are complete: a variable with which fewer than this share would be is left out.
_LEAST_COMPLETE = 0.2
_TAILS = (0.01, 0.99)
_MOST_FREQUENT = 10

DISTANCES = Block(
    "Distances of the tables",
    "U_m and U_a: largest and mean squared difference of the distribution functions; beside them what a fresh "
    "sample of the same people would show.",
)
SHAPE = Block(
    "Spread, tails and extremes",
    "Released over confidential: near 1 is right. Far from 1, no interval can make up for it.",
    first=True,
)
HEAPS = Block(
    "Zeros, losses and heaping",
    "Real values heap on round numbers; a model's rarely do, which tells that they are made.",
)
CLASSIFIER = Block(
    "Told apart by a classifier",
    "A ratio near 1: released records are as hard to tell as those of a fresh sample.",
)


# Distances.
@shared
def distances(context: Context) -> pd.DataFrame:
    """How far the datasets themselves lie apart: column, measure, of, group, value, low, high.

    Distances of every numeric sensitive variable; two-way tables of every categorical one with each related variable of
    few levels; and, from 50 records up, how well a classifier tells released records by the sensitive and related
    variables. Where the key variables were kept as they are, that is compared with shuffling each pair of a
    confidential and a released record.
    """
    frames = (
        [*_numeric_distances(context), *_table_distances(context), *tell_apart(context)] if context.is_release else []
    )
    return _join(frames)


@shared
def weighted_distances(context: Context) -> pd.DataFrame:
    """How far weighted distributions and two-way tables lie apart, as in `distances`; empty without a design."""
    options, table = context.options, context.view.table
    if not context.is_release or options.survey is None:
        return _join([])
    how: dict[str, Any] = {"design": options.survey, "hidden": options.hidden}
    missing = context.view.intruder.missing_values
    frames = [
        ecdf_distances(table, context.tables, column, missing=missing, **how).summary for column in context.view.numeric
    ]
    return _join([*frames, *_table_distances(context, **how)])


def _join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if not frames:
        return pd.DataFrame(columns=["column", "measure", "of", "group", "value", "low", "high"])
    return pd.concat(
        [frame.assign(**dict.fromkeys({"of", "group"} - set(frame), "")) for frame in frames], ignore_index=True
    )


def _numeric_distances(context: Context) -> list[pd.DataFrame]:
    groups = context.options.groups
    groupings = [{}] if groups is None else [{}, {"groups": groups}]
    how: dict[str, Any] = {"missing": context.view.intruder.missing_values}
    return [
        measure(context.view.table, context.tables, column, **how, **grouping).summary
        for column in context.view.numeric
        for measure in (ecdf_distances, wasserstein)
        for grouping in groupings
    ]


def _table_distances(context: Context, **how: Any) -> list[pd.DataFrame]:
    """Distances of two-way tables of a sensitive category and a related variable of few levels."""
    frame, schema = context.view.table.frame, context.view.schema
    sensitive, related = schema.having("sensitive"), context.related
    few = [name for name in (*related, *sensitive) if frame[name].nunique(dropna=False) <= FEW_LEVELS]
    exact = [name for name in sensitive if name not in context.view.numeric and name in few]
    pairs = [(name, other) for name in exact for other in few if other in related]
    return [table_difference(context.view.table, context.tables, pairs, **how).summary] if pairs else []


# A classifier.
def tell_apart(context: Context) -> list[pd.DataFrame]:
    """How well classifiers tell released records from confidential ones."""
    table, sensitive = context.view.table, context.view.schema.having("sensitive")
    columns = _complete_enough(context, [*sensitive, *_seen_by_classifier(context)])
    if not {*columns} & {*sensitive}:
        return []
    if len(table.frame) < LEAST_RECORDS or all(table.frame[name].nunique(dropna=False) < 2 for name in columns):
        return []
    widths = [_indicators(context, name) for name in columns]
    # What is not looked at cannot make them differ; the sensitive ones come first.
    columns = [name for name, wide in zip(columns, np.cumsum(widths), strict=True) if wide <= MOST_TERMS]
    widths, same = widths[: len(columns)], _kept_as_they_are(context, columns)
    # With the products of any two variables, and the squares of numbers; of many variables these would be thousands.
    squares = sum(is_number(table, name) for name in columns)
    terms = sum(widths) + squares + (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2
    methods: Any = context.options.propensity_methods
    found: dict[str, Distances] = {
        method: propensity(
            table,
            context.tables,
            columns,
            method=method,
            # What a logistic regression tells by chance is known by a formula, of pairs, too.
            permutations=PERMUTATIONS if method == "tree" else None,
            interactions=terms <= MOST_TERMS,
            pairs=same,
            seed=context.options.seed,
            missing="error" if same else "keep",
        )
        for method in methods
    }
    return [one.summary.assign(of=CLASSIFIERS[method]) for method, one in found.items()]


def _seen_by_classifier(context: Context) -> list[str]:
    chosen, indicators = [], 0
    for name in context.related:
        indicators += _indicators(context, name)
        if indicators > _MOST_INDICATORS:
            break
        chosen.append(name)
    return chosen


def _complete_enough(context: Context, columns: Sequence[str]) -> list[str]:
    """The variables without those with which hardly any record of some dataset would be complete."""
    frames = [table.frame for table in (context.view.table, *context.tables)]
    complete, chosen = [np.ones(len(frame), dtype=bool) for frame in frames], []
    for name in columns:
        left = [so_far & frame[name].notna() for so_far, frame in zip(complete, frames, strict=True)]
        if all(some.sum() >= max(_LEAST_COMPLETE * len(some), 2) for some in left):
            complete, chosen = left, [*chosen, name]
    return chosen


def _indicators(context: Context, name: str) -> int:
    """How many columns a classifier sees of a variable."""
    if is_number(context.view.table, name):
        return 1
    levels = {level for table in (context.view.table, *context.tables) for level in table.frame[name].unique()}
    return min(len(levels) - 1, MOST_LEVELS)


def _kept_as_they_are(context: Context, columns: Sequence[str]) -> bool:
    """Whether every dataset has the known values of the confidential one, record by record, and none is missing."""
    frame, same = context.view.table.frame, [*{*context.view.schema.having("known"), *context.related}]
    return not frame[list(columns)].isna().any(axis=None) and all(
        len(other.frame) == len(frame)
        and other.frame[same].equals(frame[same])
        and not other.frame[list(columns)].isna().any(axis=None)
        for other in context.tables
    )


def _apart(
    id_: str,
    label: str,
    explanation: str = "",
    block: Block = DISTANCES,
    better: Literal["lower", ""] = "lower",
    unit: Unit = "number",
    coarse: Coarse = "",
    reveals: str = "",
    **about: Any,
) -> Measure:
    def compute(context: Context) -> Iterable[Value]:
        return _find(distances(context.compared), id_)

    about |= {"public": bool(reveals), "coarse": coarse, "reveals": reveals}
    return utility_measure(id_, label, block, compute, explanation, unit=unit, better=better, **about)


_OF_POPULATION = "of the distribution functions of the population, as the weights have it"


def _weighted(
    id_: str, label: str, explanation: str, better: Literal["lower", ""] = "lower", unit: Unit = "number"
) -> Measure:
    of = id_.replace("_weighted", "")
    return utility_measure(
        id_,
        label,
        DISTANCES,
        lambda context: _find(weighted_distances(context), of),
        explanation,
        unit=unit,
        better=better,
        needs=("survey design",),
    )


def _find(rows: pd.DataFrame, id_: str) -> list[Value]:
    return [
        Value(
            fixed_ends(Figure(float(row["value"]), float(row["low"]), float(row["high"]))),
            f"{row['column']}",
            row["of"],
            group=f"{row['group']}",
        )
        for row in rows[rows["measure"] == id_].to_dict("records")
    ]


_DISTANCE_MEASURES = (
    _apart(
        "U_m",
        "U_m",
        "largest gap of the distribution functions, one table at a time",
        criteria=(
            CriterionWords(
                "U_m",
                impossible="only the confidential table itself has 0; ask for what a fresh sample shows",
                is_share=True,
                offers=(("", 0.03, "the largest gap between the distributions"),),
            ),
        ),
        coarse="up",
        reveals="a band around the released distribution function in which the confidential one lies, never narrower "
        "than 10 records",
    ),
    _apart("U_a", "U_a", "mean squared gap of the distribution functions"),
    _apart(
        "U_m_benchmark",
        "U_m of a fresh sample",
        "what another sample of the same people would show",
        better="",
        coarse="exact",
        reveals="nothing: it follows from the number of records",
    ),
    _apart("U_a_benchmark", "U_a of a fresh sample", "what another sample of the same people would show", better=""),
    _apart(
        "wasserstein",
        "Wasserstein distance",
        "how far values must be moved on average to agree, in their units",
    ),
    _apart("wasserstein_sd", "Wasserstein distance in sd", "the same in standard deviations"),
    _apart(
        "variation",
        "total variation",
        "share of the records that would have to change their cell",
        unit="share",
        coarse="up",
        reveals="how many records at most would have to change their cell, never fewer than 10",
    ),
    _apart(
        "difference",
        "largest difference",
        "of the share of any cell",
        unit="share",
        coarse="up",
        reveals="a band around the released share of every cell, never narrower than 10 records",
    ),
    _apart("pmse", "pMSE, {of}", "how well a classifier tells released from confidential records", CLASSIFIER),
    _apart("pmse_expected", "pMSE expected, {of}", "what it would be if they could not be told", CLASSIFIER, ""),
    _apart(
        "pmse_ratio",
        "pMSE ratio, {of}",
        "the one over the other: near 1, they cannot be told",
        CLASSIFIER,
        coarse="ratio",
        reveals="whether released records can be told from confidential ones: hardly, somewhat, or easily",
        threshold=Threshold("utility", 3.0, 10.0, "how well a classifier tells released records, over chance"),
    ),
    _weighted("U_m_weighted", "U_m, by survey weights", _OF_POPULATION),
    _weighted("U_a_weighted", "U_a, by survey weights", _OF_POPULATION),
    _weighted(
        "U_m_weighted_benchmark",
        "U_m, by survey weights, of a fresh sample",
        "what another sample would show that tells as much of a mean",
        "",
    ),
    _weighted(
        "variation_weighted",
        "total variation, by survey weights",
        "share of the population that would have to change its cell",
        unit="share",
    ),
)


# Shapes.
def spread_ratio(released: Floats, confidential: Floats) -> float:
    """Standard deviation of released values over that of the confidential ones."""
    return _over(np.std(released), np.std(confidential))


def tail_ratio(released: Floats, confidential: Floats) -> float:
    """Distance from the 1% to the 99% quantile, over that of the confidential values."""
    return _over(np.ptp(np.quantile(released, _TAILS)), np.ptp(np.quantile(confidential, _TAILS)))


def reach_ratio(released: Floats, confidential: Floats) -> float:
    """How far the largest value lies above the confidential median, over what it is in the confidential table.

    Examples
    --------
    >>> reach_ratio(np.array([1.0, 7.0]), np.array([0.0, 1.0, 3.0]))
    3.0
    """
    middle = np.median(confidential)
    return _over(np.max(released) - middle, np.max(confidential) - middle)


def heaped_share(values: Floats, unit: float) -> float:
    """Share of the values other than zero that are multiples of a unit.

    Examples
    --------
    >>> heaped_share(np.array([0.0, 100.0, 250.0, 300.0, 1.5]), 100.0)
    0.5
    """
    times = values[values != 0] / unit
    # Within what dividing decimal numbers loses.
    return float(np.mean(np.abs(times - np.round(times)) < 1e-9 * np.maximum(np.abs(times), 1))) if len(times) else 0.0


def repeated_share(values: Floats) -> float:
    """Share of the values that are one of the ten most frequent ones, each of which occurs more than once."""
    counts = np.sort(np.unique(values, return_counts=True)[1])[-_MOST_FREQUENT:]
    return float(counts[counts > 1].sum() / len(values))


def _over(one: Any, other: Any) -> float:
    return float(one / other) if other else np.nan


@shared
def _columns(context: Context) -> list[tuple[str, Floats, list[Floats]]]:
    """Every numeric variable that has values on both sides: its name, the confidential values, and those released."""
    compared, found = context.compared, []
    for column in compared.view.numeric:
        own, released = compared.view.column(column), values_of(compared, column)
        own = own[~np.isnan(own)]
        if len(own) and all(len(one) for one in released):
            found.append((column, own, released))
    return found


@shared
def fresh_ranges(context: Context) -> dict[str, FreshRange]:
    """By numeric variable, where spread, tails and extremes of correct releases of as many datasets would lie."""
    found = {}
    for column in context.view.numeric if context.is_release else ():
        own = context.view.column(column)
        own = own[~np.isnan(own)]
        sizes = [int((~np.isnan(reading.column(column))).sum()) for reading in context.readings]
        if len(own) and min(sizes):
            found[column] = fresh_range(own, len(sizes), round(sum(sizes) / len(sizes)))
    return found


def _compared(ratio: Callable[[Floats, Floats], float]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        for column, own, tables in _columns(context) if context.is_release else ():
            yield Value(mean_over_tables(np.array([ratio(one, own) for one in tables]), least=0.0), column)

    return compute


def _extremes(context: Context) -> Iterable[Value]:
    """Of all datasets the one that reaches furthest: a single absurd value must not be averaged away."""
    return [
        Value(alone(max(reach_ratio(side * one, side * own) for one in tables)), column, of)
        for column, own, tables in (_columns(context) if context.is_release else ())
        for of, side in (("largest", 1.0), ("smallest", -1.0))
    ]


def _fresh(name: Literal["spread", "tails", "largest", "smallest"], of: str = "") -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        ranges = fresh_ranges(context.compared) if context.is_release else {}
        found = ((column, *getattr(one, name)) for column, one in ranges.items())
        return [Value(Figure(1.0, low, high), column, of) for column, low, high in found if not np.isnan(low)]

    return compute


def _fresh_extremes(context: Context) -> Iterable[Value]:
    return [value for of in ("largest", "smallest") for value in _fresh(of, of)(context)]


def _combined_gap(context: Context) -> Iterable[Value]:
    """Greatest gap between the distribution functions of the confidential values and of all datasets together."""
    for column, own, tables in _columns(context) if context.is_release else ():
        places = np.sort(np.concatenate([own, *tables]))
        below = np.stack([np.searchsorted(np.sort(one), places, side="right") for one in tables])
        confidential = np.searchsorted(np.sort(own), places, side="right") / len(own)
        sizes = np.array([len(one) for one in tables])
        figure = alone(np.abs(below.sum(axis=0) / sizes.sum() - confidential).max())
        if len(tables) > 1:
            left = (below.sum(axis=0) - below) / (sizes.sum() - sizes)[:, None]
            gaps = np.abs(left - confidential).max(axis=1)
            figure = jackknife(figure.value, gaps, len(tables), least=0.0, most=1.0)
        yield Value(figure, column)


def _shared(share: Callable[[Floats], float]) -> Compute:
    def compute(context: Context) -> Iterable[Value]:
        for column, _, tables in _columns(context):
            shares = np.array([share(one) for one in tables])
            yield Value(mean_over_tables(shares, least=0.0, most=1.0), column)

    return compute


def _heaped(context: Context) -> Iterable[Value]:
    for column, own, tables in _columns(context):
        sizes = np.abs(own[own != 0])
        size = 10.0 ** np.floor(np.log10(np.median(sizes))) if len(sizes) else 1.0
        for unit in (size / 100, size / 10, size):
            shares = np.array([heaped_share(one, unit) for one in tables])
            yield Value(mean_over_tables(shares, least=0.0, most=1.0), column, at=float(f"{unit:.6g}"))


def _ratio(id_: str, label: str, explanation: str, compute: Compute, threshold: Threshold | None = None) -> Measure:
    return utility_measure(id_, label, SHAPE, compute, explanation, unit="ratio", better="", threshold=threshold)


def _share(id_: str, label: str, explanation: str, compute: Compute) -> Measure:
    return utility_measure(id_, label, HEAPS, compute, explanation, unit="share", better="")


_CORRECT = "98 of 100 correct releases of this variable would lie in the interval"
# Ratios are rated in either direction: beyond the first bound to be decided on, beyond the second absurd.
_SHAPE_MEASURES = (
    utility_measure(
        "U_m_combined",
        "U_m, tables pooled",
        DISTANCES,
        _combined_gap,
        "the same with all tables together, as users combine them",
    ),
    _ratio(
        "spread_ratio",
        "standard deviation, over the confidential one",
        "1: the values vary as much as the collected ones",
        _compared(spread_ratio),
        Threshold(
            "utility",
            1.25,
            2.0,
            "standard deviation over the confidential",
            take="ratio",
            benchmark="spread_ratio_benchmark",
        ),
    ),
    _ratio(
        "tail_ratio",
        "1% to 99% quantile, over the confidential one",
        "1: the tails reach as far",
        _compared(tail_ratio),
        Threshold(
            "utility",
            1.25,
            1.75,
            "reach of the tails over the confidential",
            take="ratio",
            benchmark="tail_ratio_benchmark",
        ),
    ),
    _ratio(
        "reach_ratio",
        "reach of the {of} value, over the confidential one",
        "how far out the extreme of any table lies; far above 1 is absurd",
        _extremes,
        Threshold(
            "consistency",
            4.0,
            10.0,
            "how far out the extremes lie, over those collected",
            benchmark="reach_ratio_benchmark",
        ),
    ),
    _ratio("spread_ratio_benchmark", "the same of correct releases: standard deviation", _CORRECT, _fresh("spread")),
    _ratio("tail_ratio_benchmark", "the same of correct releases: 1% to 99% quantile", _CORRECT, _fresh("tails")),
    _ratio("reach_ratio_benchmark", "the same of correct releases: reach of the {of} value", _CORRECT, _fresh_extremes),
    _share("zeros", "zeros", "share of the values", _shared(lambda values: float(np.mean(values == 0)))),
    _share("losses", "negative values", "share of the values", _shared(lambda values: float(np.mean(values < 0)))),
    _share(
        "repeated",
        "values among the ten most frequent",
        "of the table's own ten most frequent values",
        _shared(repeated_share),
    ),
    _share("heaped", "multiples of {at}", "share of the values that are not zero", _heaped),
)

DISTRIBUTION_MEASURES: Sequence[Measure] = (*_DISTANCE_MEASURES, *_SHAPE_MEASURES)
