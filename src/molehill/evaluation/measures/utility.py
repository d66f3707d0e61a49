"""Every measure of utility that ships."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from molehill.evaluation.measure import Coarse, Measure, Unit, Value
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.tables.intervals import Figure
from molehill.tables.schema import Schema
from molehill.utility import Analysis, mean, median, quantile, sd
from molehill.utility.comparison import overlap_by_chance

ESTIMATES = "Estimates"
OVERLAPS = "Interval overlap"
WIDTHS = "Width ratio of the intervals"
BIASES = "Relative bias"
DISTANCES = "Distances of the tables"
CLASSIFIER = "Told apart by a classifier"
RELATIONS = "Relations between columns"


def default_analyses(schema: Schema, columns: Sequence[str] | None = None) -> list[Analysis]:
    """Mean, median, 90% quantile and standard deviation of every numeric column: the sensitive ones, or others."""
    return [
        analysis
        for column in (schema.having("sensitive") if columns is None else columns)
        if schema[column].kind not in ("categorical", "date")
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


def _overlaps_by_chance(scene: Scene) -> Iterable[Value]:
    """The least that correct releases would show; each estimate of many is allowed less."""
    rows = scene.estimates if scene.is_release else scene.estimates.iloc[:0]
    found = []
    for row in rows.to_dict("records"):
        ends = (row[f"{of}{end}"] for of in ("confidential", "released") for end in ("_low", "_high"))
        least = overlap_by_chance(*ends, tables=len(scene.readings), estimates=len(rows))
        found.append(Value(Figure(1.0, least, 1.0), row["column"], row["analysis"], group=row["group"]))
    return found


def _distance(id_: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        rows = scene.compared.distances
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


def _agreement(id_: str, words: str, better: Literal["higher", ""] = "higher") -> Measure:
    """A mean over marginals: kept inside, for a fresh sample's tells how the confidential values are spread."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.compared.agreement
        if found is None:
            return []
        rows = found.summary
        return [
            Value(fixed_ends(Figure(float(row["value"]), float(row["low"]), float(row["high"]))))
            for row in rows[rows["measure"] == id_].to_dict("records")
        ]

    return Measure(id_, words, "utility", RELATIONS, "number", compute, better)


def _apart(
    id_: str,
    words: str,
    block: str = DISTANCES,
    better: Literal["lower", ""] = "lower",
    unit: Unit = "number",
    coarse: Coarse = "",
    reveals: str = "",
) -> Measure:
    about: dict[str, Any] = {"public": bool(reveals), "coarse": coarse, "reveals": reveals}
    return Measure(id_, words, "utility", block, unit, _distance(id_), better, **about)


# With the estimates of the release, which anybody computes from the tables, the width of an interval, a bias or an
# exact overlap would give the confidential estimate; two distances in two units its standard deviation; and the score
# of a classifier how far the means lie apart. They stay inside, or are told in ranges as wide as the sampling error.
UTILITY_MEASURES: Sequence[Measure] = (
    Measure(
        "estimate",
        "{of}",
        "utility",
        ESTIMATES,
        "number",
        _compared("released"),
        "",
        public=True,
        release_only=True,
        coarse="exact",
        reveals="nothing that is not in the tables: anybody computes it from them",
    ),
    Measure(
        "overlap",
        "interval overlap of {of}",
        "utility",
        OVERLAPS,
        "share",
        _compared("overlap"),
        "higher",
        public=True,
        coarse="half",
        reveals="whether the confidential estimate lies within about two standard errors of the released one, or not; "
        "of standard deviations nothing, for a single extreme value may decide it",
    ),
    Measure(
        "overlap_benchmark",
        "the same of correct releases: {of}",
        "utility",
        OVERLAPS,
        "share",
        _overlaps_by_chance,
        "",
    ),
    Measure("width_ratio", "width ratio of {of}", "utility", WIDTHS, "ratio", _compared("width_ratio"), ""),
    Measure("relative_bias", "relative bias of {of}", "utility", BIASES, "percent", _compared("relative_bias"), ""),
    _apart(
        "U_m",
        "U_m",
        coarse="up",
        reveals="a band around the released distribution function in which the confidential one lies, never narrower "
        "than 10 records",
    ),
    _apart("U_a", "U_a"),
    _apart(
        "U_m_benchmark",
        "U_m of a fresh sample",
        DISTANCES,
        "",
        coarse="exact",
        reveals="nothing: it follows from the number of records",
    ),
    _apart("U_a_benchmark", "U_a of a fresh sample", better=""),
    _apart("wasserstein", "Wasserstein distance"),
    _apart("wasserstein_sd", "Wasserstein distance in sd"),
    _apart(
        "variation",
        "total variation",
        unit="share",
        coarse="up",
        reveals="how many records at most would have to change their cell, never fewer than 10",
    ),
    _apart(
        "difference",
        "largest difference",
        unit="share",
        coarse="up",
        reveals="a band around the released share of every cell, never narrower than 10 records",
    ),
    _apart("pmse", "pMSE, {of}", CLASSIFIER),
    _apart("pmse_expected", "pMSE expected, {of}", CLASSIFIER, ""),
    _apart(
        "pmse_ratio",
        "pMSE ratio, {of}",
        CLASSIFIER,
        coarse="ratio",
        reveals="whether released records can be told from confidential ones: hardly, somewhat, or easily",
    ),
    _agreement("agreement_2", "agreement of pairs of columns, of 1000"),
    _agreement("agreement_2_benchmark", "agreement of pairs, fresh sample", ""),
    _agreement("agreement_3", "agreement of triples of columns, of 1000"),
    _agreement("agreement_3_benchmark", "agreement of triples, fresh sample", ""),
)
