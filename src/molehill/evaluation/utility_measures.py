"""Every measure of utility that ships."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.tables.intervals import Figure
from molehill.tables.schema import Schema
from molehill.utility import Analysis, mean, median, quantile, sd

ESTIMATES = "Estimates"
OVERLAPS = "Interval overlap"
WIDTHS = "Width ratio of the intervals"
BIASES = "Relative bias"
DISTANCES = "Distances of the tables"
CLASSIFIER = "Told apart by a classifier"


def default_analyses(schema: Schema) -> list[Analysis]:
    """Mean, median, 90% quantile and standard deviation of every numeric sensitive column."""
    return [
        analysis
        for column in schema.having("sensitive")
        if schema[column].kind != "categorical"
        for analysis in (mean(column), median(column), quantile(column, 0.9), sd(column))
    ]


def _compared(field: str) -> Callable[[Scene], Iterable[Value]]:
    """How estimates compare, or the estimates themselves: of the confidential table those beside the first release."""

    def compute(scene: Scene) -> Iterable[Value]:
        name, rows = field, scene.estimates
        if not scene.is_release:
            if field != "released" or scene.beside is None:
                return []
            name, rows = "confidential", scene.beside.estimates
        return [
            Value(
                Figure(*(row[f"{name}{end}"] for end in ("", "_low", "_high"))),
                row["column"],
                row["analysis"],
                group=row["group"],
            )
            for row in rows.to_dict("records")
        ]

    return compute


def _distance(id_: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        rows = scene.distances
        return [
            Value(
                fixed_ends(Figure(float(row["value"]), float(row["low"]), float(row["high"]))),
                f"{row['column']}",
                row["of"],
                group=f"{row['group']}",
            )
            for row in rows[rows["measure"] == id_].to_dict("records")
        ]

    return compute


def _apart(
    id_: str, words: str, block: str = DISTANCES, better: Literal["lower", ""] = "lower", unit: Unit = "number"
) -> Measure:
    return Measure(id_, words, "utility", block, unit, _distance(id_), better, public=True)


UTILITY_MEASURES: Sequence[Measure] = (
    Measure(
        "estimate", "{of}", "utility", ESTIMATES, "number", _compared("released"), "", public=True, release_only=True
    ),
    Measure(
        "overlap", "interval overlap of {of}", "utility", OVERLAPS, "share", _compared("overlap"), "higher", public=True
    ),
    Measure(
        "width_ratio", "width ratio of {of}", "utility", WIDTHS, "ratio", _compared("width_ratio"), "", public=True
    ),
    Measure(
        "relative_bias",
        "relative bias of {of}",
        "utility",
        BIASES,
        "percent",
        _compared("relative_bias"),
        "",
        public=True,
    ),
    _apart("U_m", "U_m"),
    _apart("U_a", "U_a"),
    _apart("U_m_fresh", "U_m of a fresh sample", better=""),
    _apart("U_a_fresh", "U_a of a fresh sample", better=""),
    _apart("wasserstein", "Wasserstein distance"),
    _apart("wasserstein_sd", "Wasserstein distance in sd"),
    _apart("variation", "total variation", unit="share"),
    _apart("difference", "largest difference", unit="share"),
    _apart("pmse", "pMSE, {of}", CLASSIFIER),
    _apart("pmse_expected", "pMSE expected, {of}", CLASSIFIER, ""),
    _apart("pmse_ratio", "pMSE ratio, {of}", CLASSIFIER),
)
