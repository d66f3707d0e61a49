"""Estimates: what users compute from a release, beside the same from the confidential data.

With the estimates of the release, which anybody computes from the datasets, the width of an interval, a bias or an
exact overlap would give the confidential estimate. They stay inside, or are told in ranges as wide as the sampling
error.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from molehill.evaluation.context import Context
from molehill.evaluation.measure import Block, CriterionWords, Measure, Threshold, Value, shared, utility_measure
from molehill.tables.intervals import Figure
from molehill.tables.schema import Schema
from molehill.utility import Analysis, estimate, mean, median, quantile, sd
from molehill.utility.comparison import overlap_by_chance

LOW_OVERLAP = 0.5

ESTIMATES = Block(
    "Estimates",
    "With 95% intervals, by the combining rule where there are several tables. Of a survey, weighted by what "
    "is published of its design, with the variances of that.",
)
OVERLAPS = Block(
    "Interval overlap",
    "1: the same interval as from the confidential table; 0: the two do not meet.",
    first=True,
)
WIDTHS = Block("Width ratio of the intervals", "Above 1: the release is less certain than the confidential table.")
BIASES = Block("Relative bias", "How far the estimate lies from the confidential one, as a share of that.")


def default_analyses(schema: Schema, columns: Sequence[str] | None = None) -> list[Analysis]:
    """Mean, median, 90% quantile and standard deviation of every numeric variable: the sensitive ones, or others."""
    return [
        analysis
        for column in (schema.having("sensitive") if columns is None else columns)
        if schema[column].kind not in ("categorical", "date")
        for analysis in (mean(column), median(column), quantile(column, 0.9), sd(column))
    ]


def analyses_of(context: Context) -> Sequence[Analysis]:
    """The analyses of the options, or those that are taken where none are named."""
    analyses: Any = context.options.analyses
    return default_analyses(context.view.schema) if analyses is None else analyses


@shared
def estimates(context: Context) -> pd.DataFrame:
    """What the analyses find, in the confidential data and in the release, with how the two compare."""
    if not analyses_of(context) or not context.is_release:
        return pd.DataFrame(columns=["analysis", "column", "group"])
    return _estimate(context, design=context.options.survey, hidden=context.options.hidden)


@shared
def unweighted_estimates(context: Context) -> pd.DataFrame:
    """What the analyses find in the datasets as they are, where estimates are weighted; else nothing."""
    if estimates(context).empty or context.options.survey is None:
        return estimates(context).iloc[:0]
    return _estimate(context)


def _estimate(context: Context, **about: Any) -> pd.DataFrame:
    options, view, tables = context.options, context.view, context.tables
    how: dict[str, Any] = {"interval": options.interval, "rule": options.rule, "seed": options.seed, **about}
    how["missing"] = view.intruder.missing_values
    if not context.is_linked:
        # Fully synthetic records may be more or fewer.
        how["size"] = float(np.mean([len(table.frame) for table in tables])) / view.records
        sample = context.sample
        if about and sample is not None and not any(sample.weight in one.frame for one in tables):
            # Drawn as if evenly, they are no surer than the sample, which tells less than as many even records.
            how["size"] *= view.records / sample.effective
    analyses = analyses_of(context)
    frames = [estimate(view.table, tables, analyses, **how).assign(group="")]
    if options.groups is not None:
        frames.append(estimate(view.table, tables, analyses, groups=options.groups, **how))
    return pd.concat(frames, ignore_index=True)


def _compared(field: str, frame: Callable[[Context], pd.DataFrame] = estimates) -> Callable[[Context], Iterable[Value]]:
    """How estimates compare, or the estimates themselves: of the confidential data those beside the first release."""

    def compute(context: Context) -> Iterable[Value]:
        name, of = field, context
        if not context.is_release:
            if field != "released" or context.beside is None:
                return []
            name, of = "confidential", context.beside
        return [
            Value(
                Figure(*(row[f"{name}{end}"] for end in ("", "_low", "_high"))),
                row["column"],
                row["analysis"],
                group=row["group"],
            )
            for row in frame(of).to_dict("records")
        ]

    return compute


def _overlaps_by_chance(context: Context) -> Iterable[Value]:
    """The least that correct releases would show; each estimate of many is allowed less."""
    rows, found = estimates(context).to_dict("records") if context.is_release else [], []
    for row in rows:
        ends = (row[f"{of}{end}"] for of in ("confidential", "released") for end in ("_low", "_high"))
        least = overlap_by_chance(*ends, tables=len(context.readings), estimates=len(rows))
        found.append(Value(Figure(1.0, least, 1.0), row["column"], row["analysis"], group=row["group"]))
    return found


ESTIMATE_MEASURES: Sequence[Measure] = (
    utility_measure(
        "estimate",
        "{of}",
        ESTIMATES,
        _compared("released"),
        better="",
        public=True,
        release_only=True,
        coarse="exact",
        reveals="nothing that is not in the tables: anybody computes it from them",
    ),
    utility_measure(
        "estimate_unweighted",
        "{of}, without survey weights",
        ESTIMATES,
        _compared("released", unweighted_estimates),
        better="",
        needs=("survey design",),
    ),
    utility_measure(
        "overlap",
        "interval overlap of {of}",
        OVERLAPS,
        _compared("overlap"),
        unit="share",
        better="higher",
        reference="Karr et al. (2006)",
        threshold=Threshold(
            "utility",
            LOW_OVERLAP,
            LOW_OVERLAP / 2,
            "mean overlap of the intervals of estimates",
            take="mean",
            benchmark="overlap_benchmark",
        ),
        criteria=(
            CriterionWords(
                "overlap",
                impossible="only the confidential table itself has 1; ask for less",
                offers=(("", 0.6, "how far the intervals of every estimate overlap, at least"),),
            ),
        ),
        public=True,
        coarse="half",
        reveals="whether the confidential estimate lies within about two standard errors of the released one, or not; "
        "of standard deviations nothing, for a single extreme value may decide it",
    ),
    utility_measure(
        "overlap_benchmark",
        "the same of correct releases: {of}",
        OVERLAPS,
        _overlaps_by_chance,
        "98 of 100 correct releases have all their overlaps in these intervals",
        unit="share",
        better="",
    ),
    utility_measure("width_ratio", "width ratio of {of}", WIDTHS, _compared("width_ratio"), unit="ratio", better=""),
    utility_measure(
        "relative_bias", "relative bias of {of}", BIASES, _compared("relative_bias"), unit="percent", better=""
    ),
)
