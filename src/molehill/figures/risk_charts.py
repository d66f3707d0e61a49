"""Figures of risk that hold aggregates only: how it is spread over the records, and how it hangs on the radius."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arguments import check_choice
from molehill.errors import InputError
from molehill.figures.smoothing import smooth_density, usual_bandwidth
from molehill.figures.style import (
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    is_shown,
    scheme_legend,
    scheme_looks,
    short_label,
)

if TYPE_CHECKING:
    from molehill.evaluation import Evaluation

Floats = NDArray[np.float64]
Measure = Literal["realised", "expected"]

RISK_AXIS = "identification risk of the record"
_WIDTH = 480
_GRID = np.linspace(0.0, 1.0, 101)
_NARROWEST, _WIDEST = 0.012, 0.05
# Of a violin and of the mark of its mean, where the violins lie 1 apart.
_HALF_WIDTH, _HALF_MARK = 0.38, 0.44
_RADIUS = re.compile(r"mean risk, intruder radius (.+)", re.DOTALL)


def risk_histogram(bins: Mapping[str, pd.DataFrame]) -> alt.TopLevelMixin:
    """Draw how risk is spread over the records, one panel a scheme.

    Parameters
    ----------
    bins
        For every scheme by name, the table of `molehill.profile.count_bins`.
    """
    looks = scheme_looks(bins)
    table = pd.concat([part.assign(scheme=looks[name].label) for name, part in bins.items()], ignore_index=True)
    fullest = {name: part[["low", "high"]].iloc[int(part["records"].argmax())] for name, part in bins.items()}
    description = "Number of records by identification risk. " + "; ".join(
        f"{looks[name].label}: most records between {most['low']:.2f} and {most['high']:.2f}"
        for name, most in fullest.items()
    )
    bars = (
        alt.Chart(table)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", title=RISK_AXIS, bin="binned", scale=alt.Scale(domain=[0, 1])),
            x2="high:Q",
            y=alt.Y("records:Q", title="records"),
            color=by_scheme(looks.values(), "color"),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".2f"),
                alt.Tooltip("high:Q", title="to", format=".2f"),
                alt.Tooltip("records:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width=460, height=190)
    )
    header = alt.Header(labelFontSize=13, labelOrient="top", labelAnchor="start")
    order = [look.label for look in looks.values()]
    panels = bars.facet(row=alt.Row("scheme:N", title=None, sort=order, header=header))
    return dress(panels, "Identification risk of the records", description=description)


def risk_violins(evaluation: "Evaluation", *, measure: Measure = "realised") -> alt.TopLevelMixin:
    """Draw how risk is spread over the records under every scheme, with the mean marked.

    The figure holds densities on a grid, quartiles and means, and no risk of a record. Every violin has the same
    greatest width. Its table is `Evaluation.risk`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    measure
        Risk in the released tables, "realised", or over what a scheme could have drawn, "expected": the latter for the
        schemes that it is known of, beside the confidential table.
    """
    check_choice("measure", measure, ("realised", "expected"))
    risks = risks_by_scheme(evaluation, measure)
    looks = {name: look for name, look in evaluation_looks(evaluation).items() if name in risks}
    labels = [look.label for look in looks.values()]
    outlines = [_outline(risk, place).assign(scheme=labels[place]) for place, risk in enumerate(risks.values())]
    marks = pd.DataFrame([_mark(risk, place) for place, risk in enumerate(risks.values())]).assign(scheme=labels)

    domain = alt.Scale(domain=[-0.55, len(risks) - 0.45], reverse=True, nice=False)
    # The names lie in a parameter: no text from data is ever part of an expression.
    names = alt.Axis(
        values=list(range(len(risks))), labelExpr="names[datum.value]", grid=False, ticks=False, labelPadding=8
    )
    rows = alt.Y("above:Q", title=None, scale=domain, axis=names)
    tooltip: list[Any] = [alt.Tooltip("scheme:N")] + [
        alt.Tooltip(f"{field}:Q", title=title, format=".3f")
        for field, title in {"mean": "mean", "quarter": "25%", "median": "median", "three": "75%"}.items()
    ]
    violins = alt.Chart(pd.concat(outlines, ignore_index=True)).transform_filter(is_shown())
    violins = violins.mark_area(fillOpacity=0.65).encode(
        x=risk_axis(alt.X, "risk", RISK_AXIS), y=rows, y2="below:Q", color=by_scheme(looks.values(), "color")
    )
    base = alt.Chart(marks).transform_filter(is_shown())
    middle = base.mark_rule(strokeWidth=5, color="#333333").encode(x="quarter:Q", x2="three:Q", y="place:Q")
    median = base.mark_point(filled=True, color="white", size=22, opacity=1).encode(x="median:Q", y="place:Q")
    mean = base.mark_rule(strokeWidth=2, color="black").encode(x="mean:Q", y="top:Q", y2="bottom:Q", tooltip=tooltip)
    told = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), y="place:Q", text="told:N")
    around = base.mark_rule(strokeWidth=9, color="white").encode(x="quarter:Q", x2="three:Q", y="place:Q")
    layers = alt.layer(violins, around, middle.encode(tooltip=tooltip), median.encode(tooltip=tooltip), mean, told)
    layers = layers.properties(width=_WIDTH, height=64 * len(risks)).add_params(alt.param(name="names", value=labels))
    description = f"Distribution of the {measure} identification risk over the records, by scheme. " + "; ".join(
        f"{row.scheme}: mean {row.mean:.3f}, half of the records between {row.quarter:.2f} and {row.three:.2f}"
        for row in marks.itertuples()
    )
    return dress(
        layers,
        f"{measure.capitalize()} identification risk of the records",
        subtitle=["Black line: mean. Dark bar: the middle half of the records, their median in white."],
        description=description,
        shown=looks.values(),
    )


def radius_lines(evaluation: "Evaluation", *, radius: float | None = None) -> alt.TopLevelMixin:
    """Draw the mean risk of every scheme by the radius that the intruder takes for close.

    Its table is `Evaluation.risk`, the measures "mean risk, intruder radius ...".

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    radius
        The agency's own radius, given to `evaluate`: adds the "mean risk" under it, and marks it. If columns have radii
        of their own, leave it out.
    """
    table = _risk_by_radius(evaluation, radius)
    looks = {name: look for name, look in evaluation_looks(evaluation).items() if name in set(table["name"])}
    labels = {name: look.label for name, look in looks.items()}
    table = table.assign(scheme=table["name"].map(labels)).drop(columns="name").round(4)
    along: Any = alt.X("radius:Q", title="intruder's radius, as a share of the value", axis=alt.Axis(tickCount=6))
    if not pd.api.types.is_numeric_dtype(table["radius"]):
        along = alt.X("radius:N", title="intruder's radius", sort=None, axis=alt.Axis(labelAngle=0, labelLimit=180))
    up = alt.Y("value:Q", title="mean identification risk", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    legend = scheme_legend(looks.values(), lines=False)
    colour, shape, dash = (by_scheme(looks.values(), kind, legend=legend) for kind in ("color", "shape", "strokeDash"))
    base = alt.Chart(table).transform_filter(is_shown())
    lines = base.mark_line(strokeWidth=2).encode(x=along, y=up, color=colour, strokeDash=dash)
    tooltip = [
        alt.Tooltip("scheme:N"),
        alt.Tooltip(along.shorthand, title="intruder's radius"),
        alt.Tooltip("value:Q", title="mean risk", format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]
    points = base.mark_point(filled=True, size=70, opacity=1)
    points = points.encode(x=along, y=up, color=colour, shape=shape, tooltip=tooltip)
    ends = base.transform_filter("isValid(datum.low) && isValid(datum.high)").mark_rule(strokeWidth=1)
    layers = [ends.encode(x=along, y=alt.Y("low:Q"), y2="high:Q", color=colour), lines, points]
    subtitle = ["Bars: 95% intervals over the released tables."] if table["low"].notna().any() else []
    if radius is not None:
        own = alt.Chart(pd.DataFrame({"radius": [radius]})).mark_rule(color="#777777", strokeDash=[3, 3])
        layers.insert(0, own.encode(x=along))
        subtitle.append(f"Dashed: the agency's radius, {radius:g}.")
    description = "Mean identification risk by the intruder's radius. " + "; ".join(
        f"{scheme}: " + ", ".join(f"{row.value:.3f} at {row.radius}" for row in rows.itertuples())
        for scheme, rows in table.groupby("scheme", sort=False)
    )
    return dress(
        alt.layer(*layers).properties(width=480, height=300),
        "Mean risk by the intruder's radius",
        subtitle=[" ".join(subtitle)] if subtitle else [],
        description=description,
        shown=looks.values(),
    )


def evaluation_looks(evaluation: "Evaluation") -> dict[str, Look]:
    """Looks of the confidential table and of every release of an evaluation."""
    return scheme_looks([CONFIDENTIAL, *evaluation.schemes])


def risks_by_scheme(evaluation: "Evaluation", measure: Measure) -> dict[str, Floats]:
    """Risks of the records by scheme, without the schemes that have none; what the confidential table says is both."""
    risks = {}
    for name in (CONFIDENTIAL, *evaluation.schemes):
        rows = evaluation.records[evaluation.records["scheme"] == name]
        field = "risk" if measure == "realised" or name == CONFIDENTIAL else "expected_risk"
        risk = rows[field].to_numpy(dtype=np.float64)
        risk = risk[~np.isnan(risk)]
        if len(risk):
            risks[name] = risk
    if not set(risks) - {CONFIDENTIAL}:
        problem = f"the {measure} risk of no release is known"
        raise InputError("evaluation", problem, "Give posteriors to evaluate, or choose measure='realised'")
    return risks


def risk_axis(channel: Any, field: str, title: str) -> Any:
    """Encode a risk from 0 to 1."""
    return channel(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5))


def _outline(risk: Floats, place: int) -> pd.DataFrame:
    bandwidth = min(max(usual_bandwidth(risk), _NARROWEST), _WIDEST)
    density = smooth_density(risk, _GRID, bandwidth, bounds=(0.0, 1.0))
    half = _HALF_WIDTH * density / density.max()
    drawn = half > 0.001
    outline = {"risk": _GRID[drawn], "above": place - half[drawn], "below": place + half[drawn]}
    return pd.DataFrame(outline).round(3)


def _mark(risk: Floats, place: int) -> dict[str, Any]:
    quarter, median, three = (round(float(value), 3) for value in np.quantile(risk, [0.25, 0.5, 0.75]))
    mean = round(float(risk.mean()), 4)
    middle = {"mean": mean, "quarter": quarter, "median": median, "three": three}
    ends = {"place": place, "top": place - _HALF_MARK, "bottom": place + _HALF_MARK}
    return {**middle, **ends, "told": f"mean {risk.mean():.3f}"}


def _risk_by_radius(evaluation: "Evaluation", radius: float | None) -> pd.DataFrame:
    """Columns name, radius (numbers, or text where columns have their own), value, low, high."""
    rows = evaluation.risk
    told = rows["measure"].str.extract(_RADIUS, expand=False)
    if told.isna().all():
        raise InputError("evaluation", "it holds no other radius than the agency's", "Give radii to evaluate")
    found = rows[told.notna()].assign(radius=told.dropna())
    found["radius"] = pd.to_numeric(found["radius"], errors="coerce").where(
        lambda numbers: numbers.notna(), found["radius"]
    )
    if all(isinstance(value, float) for value in found["radius"]):
        found["radius"] = found["radius"].astype(float)
        if radius is not None:
            found = pd.concat([found, rows[rows["measure"] == "mean risk"].assign(radius=float(radius))])
        found = found.sort_values("radius", kind="stable")
    elif radius is not None:
        raise InputError("radius", "the columns have radii of their own", "Leave it out")
    else:
        found["radius"] = [short_label(f"{value}") for value in found["radius"]]
    return found.rename(columns={"scheme": "name"})[["name", "radius", "value", "low", "high"]].reset_index(drop=True)
