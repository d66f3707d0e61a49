"""Figures of risk that hold aggregates only: how it is spread over the records, and how it hangs on the radius."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from molehill.charts.smoothing import smooth_density, usual_bandwidth
from molehill.charts.style import (
    COLOURS,
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    is_shown,
    number_axis,
    scheme_legend,
    scheme_looks,
    short_label,
)
from molehill.errors import InputError, check_choice, nearest
from molehill.risk.moles import moles

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

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


if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation


MOST_POINTS = 2000
_RISING = COLOURS[4]
# Cells of the grid that weights and values are counted in, at first: along and up.
_CELLS = (160, 100)


def risk_scatter(
    evaluation: "Evaluation", scheme: str, reference: str, *, measure: Measure | None = None, step: float = 0.2
) -> alt.TopLevelMixin:
    """Draw every record's risk under one scheme against its risk under another, with the rises marked.

    At the level of records, so for the internal edition only. At most 2,000 records are drawn, taken at random, and
    with them all that are marked. Its table is `Evaluation.records`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    scheme, reference
        Names of releases, or "confidential": upwards and to the right.
    measure
        "expected" risk, where a marked record is a mole: it rises by more than `step` beyond Monte Carlo error. Or
        "realised", where a marked record rises by more than `step`, be it by chance. By default expected if known.
    step
        Smallest rise that is marked.
    """
    names = ("confidential", *evaluation.schemes)
    for argument, name in (("scheme", scheme), ("reference", reference)):
        if name not in names:
            raise InputError(argument, f"there is no scheme {name!r}", nearest(f"{name}", names))
    if measure is not None:
        check_choice("measure", measure, ("realised", "expected"))
    table, measure = _pair(evaluation, scheme, reference, measure, step)
    marked = table[table["marked"]]
    rest = table[~table["marked"]]
    thinned = rest.sample(MOST_POINTS, random_state=0).sort_index() if len(rest) > MOST_POINTS else rest

    looks = evaluation_looks(evaluation)
    own, other = looks[scheme].label, looks[reference].label
    axes = {"x": risk_axis(alt.X, "across", f"{measure} risk, {other}")}
    axes["y"] = risk_axis(alt.Y, "up", f"{measure} risk, {own}")
    tooltip = [
        alt.Tooltip(f"{field}:Q", title=label, format=".2f") for field, label in (("across", other), ("up", own))
    ]
    points = alt.Chart(thinned[["across", "up"]].round(3)).mark_point(
        size=16, filled=True, opacity=0.4, color="#777777"
    )
    rising = alt.Chart(marked[["record", "across", "up"]].round(3))
    rising = rising.mark_point(shape="triangle-up", size=48, color=_RISING, opacity=0.9, strokeWidth=1.6)
    equal = alt.Chart(pd.DataFrame({"across": [0.0, 1.0], "up": [0.0, 1.0]}))
    line = equal.mark_line(color="black", strokeDash=[5, 3], strokeWidth=1.5).encode(**axes)
    layers = [points.encode(**axes, tooltip=tooltip), line]
    if len(marked):
        layers.append(rising.encode(**axes, tooltip=[alt.Tooltip("record:Q"), *tooltip]))

    what = "moles: records whose expected risk rises" if measure == "expected" else "records whose risk rises"
    told = [f"Triangles: {len(marked):,} of {len(table):,} {what} by more than {step:g}."]
    told += _tell_chance(evaluation, scheme, reference, step) if measure == "realised" else []
    few = f" Of the others {len(thinned):,} are drawn." if len(thinned) < len(rest) else ""
    higher, lower = int((table["up"] > table["across"]).sum()), int((table["up"] < table["across"]).sum())
    return dress(
        alt.layer(*layers).properties(width=400, height=400),
        f"Risk of the records: {own} against {other}",
        subtitle=[*told, f"Dashed: the same risk under both.{few}"],
        description=(
            f"Scatter of the {measure} identification risk of each record under {own}, upwards, against {other}, "
            f"to the right. {' '.join(told)} {higher:,} records lie above the line of equal risk, {lower:,} below it."
        ),
    )


def weights_scatter(
    weights: ArrayLike | Mapping[str, ArrayLike], values: ArrayLike, *, column: str = "sensitive value"
) -> alt.TopLevelMixin:
    """Draw the weights of the records against their sensitive values.

    For the internal edition only. The records are counted in the cells of a fine grid, at most 2,000 of them filled;
    a point is a cell, the larger the more records it holds. So every record counts, and no value is in the figure.

    Parameters
    ----------
    weights
        One from 0 to 1 per record, as of `risk_weights`; or several of these by name, each for a panel.
    values
        One per record. A record without a value is left out.
    column
        What the values are, for the axis.
    """
    panels = dict(weights) if isinstance(weights, Mapping) else {"": weights}
    numbers = np.asarray(values, dtype=np.float64)
    for one in panels.values():
        if np.shape(np.asarray(one)) != numbers.shape or numbers.ndim != 1:
            raise InputError("weights", "they are not of the length of the values", "Give one weight per record")
    present = np.isfinite(numbers)
    if not present.any():
        raise InputError("values", "there is none", "Give one value per record")
    looks = scheme_looks(panels)
    name = short_label(column)
    numbers = numbers[present]
    up = {label: np.asarray(one, dtype=np.float64)[present] for label, one in panels.items()}
    bend = _bend(numbers)
    cells = pd.concat(
        [_count_cells(numbers, one, bend).assign(scheme=looks[label].label) for label, one in up.items()],
        ignore_index=True,
    )
    most = int(cells["records"].max())
    area = alt.Scale(domain=[0, most], range=[0, min(18 * most, 500)])
    legend = alt.Legend(title="records", values=sorted({1, max(most // 2, 1), most}), format=",d")
    size = alt.Size("records:Q", scale=area, legend=legend)
    points = alt.Chart(cells).mark_point(filled=True, opacity=0.55, color=COLOURS[0])
    points = points.encode(
        x=_value_axis(numbers, bend, name),
        y=alt.Y("weight:Q", title="weight", scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5)),
        size=size,
        tooltip=[alt.Tooltip("weight:Q", format=".2f"), alt.Tooltip("records:Q", format=",")],
    )
    points = points.properties(width=480, height=260)
    if isinstance(weights, Mapping):
        header = alt.Header(labelOrient="top", labelAnchor="start", labelFontSize=13)
        order = [look.label for look in looks.values()]
        points = points.facet(row=alt.Row("scheme:N", title=None, sort=order, header=header))
    description = f"Weights of the records against {name}. " + "; ".join(
        f"{looks[label].label + ': ' if label else ''}mean weight {one.mean():.2f}, "
        f"{one[numbers >= np.quantile(numbers, 0.9)].mean():.2f} in the highest tenth of {name}"
        for label, one in up.items()
    )
    return dress(
        points,
        f"Weights against {name}",
        subtitle=["Larger points: more records. Values are told to about a hundredth of the scale."],
        description=description,
    )


def _pair(
    evaluation: "Evaluation", scheme: str, reference: str, measure: Measure | None, step: float
) -> tuple[pd.DataFrame, Measure]:
    """Columns record, across, up, marked; and the measure, chosen if it was not."""
    own, other = (evaluation.records.query("scheme == @name") for name in (scheme, reference))
    known = all(side["expected_risk"].notna().any() for side in (own, other))
    if measure == "expected" and not known:
        problem = "the expected risk of one of the two is not known"
        raise InputError("measure", problem, "Give its posterior to evaluate, or choose 'realised'")
    if measure is None:
        measure = "expected" if known else "realised"
    field = "expected_risk" if measure == "expected" else "risk"
    up, across = (side[field].to_numpy(dtype=np.float64) for side in (own, other))
    if measure == "expected":
        errors = [side["expected_error"].to_numpy(dtype=np.float64) for side in (own, other)]
        marked = moles(up, errors[0], across, errors[1], step=step).records
    else:
        marked = up - across > step
    table = pd.DataFrame({"record": own["record"].to_numpy(), "across": across, "up": up, "marked": marked})
    return table.dropna().reset_index(drop=True), measure


def _tell_chance(evaluation: "Evaluation", scheme: str, reference: str, step: float) -> list[str]:
    """How many would rise by chance alone, if the evaluation compared these two with this step."""
    words = f"records whose risk rises by more than {step:g}"
    rows = evaluation.risk
    compared = set(rows.loc[rows["measure"] == words, "scheme"])
    null = rows[(rows["scheme"] == scheme) & (rows["measure"] == f"{words}, by chance alone")]
    if [name for name in evaluation.schemes if name not in compared] != [reference] or null.empty:
        return []
    value, low, high = (float(null[field].iloc[0]) for field in ("value", "low", "high"))
    return [f"By chance alone there would be {value:,.0f} (95%: {low:,.0f} to {high:,.0f})."]


def _bend(values: Floats) -> float:
    """Where an axis turns from linear to logarithmic, so that a long tail leaves the rest room; 0 for nowhere."""
    quarter, three = np.quantile(values, [0.25, 0.75])
    sizes = np.abs(values[values != 0])
    if not len(sizes) or np.ptp(values) <= 12 * (three - quarter):
        return 0.0
    return float(10.0 ** np.floor(np.log10(np.median(sizes)) - 0.5))


def _value_axis(values: Floats, bend: float, title: str) -> alt.X:
    if not bend:
        return alt.X("value:Q", scale=alt.Scale(zero=False), axis=number_axis(title))
    powers = bend * 10.0 ** np.arange(np.ceil(np.log10(np.abs(values).max() / bend)) + 1)
    ticks = [*(-powers[::-1] if values.min() < 0 else []), 0.0, *powers]
    ticks = [tick for tick in ticks if values.min() <= tick <= values.max() or tick == 0]
    scale = alt.Scale(type="symlog", constant=bend, nice=False, zero=bool(values.min() >= 0))
    return alt.X("value:Q", scale=scale, axis=number_axis(f"{title} (logarithmic scale)", ticks))


def _count_cells(values: Floats, weights: Floats, bend: float) -> pd.DataFrame:
    """Columns value, weight, records: centres of the filled cells of a grid, which lies on round places."""
    places = np.sign(values) * np.log1p(np.abs(values) / bend) if bend else values
    fineness = 1.0
    while True:
        steps = np.array([np.ptp(places) / _CELLS[0] or 1.0, 1 / _CELLS[1]]) / fineness
        cells, counts = np.unique(np.rint(np.column_stack([places, weights]) / steps), axis=0, return_counts=True)
        if len(cells) <= MOST_POINTS:
            break
        fineness *= 0.8
    along, up = (cells * steps).T
    value = np.sign(along) * bend * np.expm1(np.abs(along)) if bend else along
    digits = np.array([float(f"{number:.3g}") for number in value])
    return pd.DataFrame({"value": digits, "weight": up.round(3), "records": counts})
