"""Charts of risk: its distribution over the records, by radius, and between methods."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import pandas as pd
from arviz_stats.base.array import array_stats

from molehill.arrays import Floats
from molehill.charts.style import (
    COLOURS,
    CONFIDENTIAL,
    MOST_POINTS,
    by_scheme,
    dress,
    evaluation_looks,
    have_ends,
    is_shown,
    panel_by_scheme,
    scheme_legend,
    scheme_looks,
    share_axis,
    tell_numbers,
)
from molehill.errors import InputError, check_choice, nearest
from molehill.risk.moles import moles
from molehill.tables.labels import short_label
from molehill.utility.densities import smooth_density

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

RiskMeasure = Literal["realised", "expected"]

_RISK = "identification risk of the record"
_WIDTH = 480
_GRID = np.linspace(0.0, 1.0, 101)
_NARROWEST, _WIDEST = 0.012, 0.05
# Half widths of a violin and of the mark of its mean; violins are 1 apart.
_HALF_WIDTH, _HALF_MARK = 0.38, 0.44
_RISING = COLOURS[4]


def risk_histogram(bins: Mapping[str, pd.DataFrame]) -> alt.TopLevelMixin:
    """Draw histograms of risk, one panel per method.

    Parameters
    ----------
    bins
        By method, the result of `molehill.risk.profile.count_bins`.
    """
    looks = scheme_looks(bins)
    table = pd.concat([part.assign(scheme=looks[name].label) for name, part in bins.items()], ignore_index=True)
    fullest = {name: part[["low", "high"]].iloc[int(part["records"].argmax())] for name, part in bins.items()}
    tooltip = tell_numbers({"low": "from", "high": "to"}, ".2f")
    tooltip += [alt.Tooltip("records:Q", format=","), alt.Tooltip("share:Q", format=".1%")]
    bars = alt.Chart(table).mark_bar(stroke="white", strokeWidth=0.5)
    bars = bars.encode(
        x=alt.X("low:Q", title=_RISK, bin="binned", scale=alt.Scale(domain=[0, 1])),
        x2="high:Q",
        y=alt.Y("records:Q", title="records"),
        color=by_scheme(looks.values(), "color"),
        tooltip=tooltip,
    )
    return dress(
        bars.properties(width=460, height=190).facet(row=panel_by_scheme(looks.values())),
        "Identification risk of the records",
        description="Number of records by identification risk. "
        + "; ".join(
            f"{looks[name].label}: most records between {most['low']:.2f} and {most['high']:.2f}"
            for name, most in fullest.items()
        ),
    )


def risk_violins(evaluation: "Evaluation", *, measure: RiskMeasure = "realised") -> alt.TopLevelMixin:
    """Draw violins of the records' risk by method, with means.

    The chart contains densities on a grid, quartiles and means, and no risk of a record; all violins have the same
    maximum width. Data: `Evaluation.records`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    measure
        "realised" risk in the released datasets, or "expected" risk, for the methods for which it is known.
    """
    check_choice("measure", measure, ("realised", "expected"))
    risks = _risks_by_scheme(evaluation, measure)
    looks = evaluation_looks(evaluation, risks)
    labels = [look.label for look in looks.values()]
    outlines = [_outline(risk, place).assign(scheme=labels[place]) for place, risk in enumerate(risks.values())]
    marks = pd.DataFrame([_mark(risk, place) for place, risk in enumerate(risks.values())]).assign(scheme=labels)

    # Names are in a parameter: text from data must not be part of an expression.
    names = alt.Axis(
        values=list(range(len(risks))), labelExpr="names[datum.value]", grid=False, ticks=False, labelPadding=8
    )
    domain = alt.Scale(domain=[-0.55, len(risks) - 0.45], reverse=True, nice=False)
    rows = alt.Y("above:Q", title=None, scale=domain, axis=names)
    violins = alt.Chart(pd.concat(outlines, ignore_index=True)).transform_filter(is_shown())
    violins = violins.mark_area(fillOpacity=0.65).encode(
        x=share_axis(alt.X, "risk", _RISK), y=rows, y2="below:Q", color=by_scheme(looks.values(), "color")
    )
    layers = alt.layer(violins, *_draw_marks(alt.Chart(marks).transform_filter(is_shown())))
    layers = layers.properties(width=_WIDTH, height=64 * len(risks)).add_params(alt.param(name="names", value=labels))
    return dress(
        layers,
        f"{measure.capitalize()} identification risk of the records",
        subtitle=["Black line: mean. Dark bar: interquartile range, with the median in white."],
        description=f"Distribution of the {measure} identification risk over the records, by method. "
        + "; ".join(
            f"{row.scheme}: mean {row.mean:.3f}, interquartile range {row.quarter:.2f} to {row.three:.2f}"
            for row in marks.itertuples()
        ),
        shown=looks.values(),
    )


def radius_lines(evaluation: "Evaluation", *, radius: float | None = None) -> alt.TopLevelMixin:
    """Draw the mean risk of every method by the intruder's radius.

    Data: `Evaluation.risk`, the measure "radius_mean".

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    radius
        The assumed radius given to `evaluate`: adds its "risk_mean", and marks it. Omit it if variables have different
        radii.
    """
    table = _risk_by_radius(evaluation, radius)
    looks = evaluation_looks(evaluation, set(table["scheme"]))
    table["scheme"] = table["scheme"].map({name: look.label for name, look in looks.items()})
    along: Any = alt.X("radius:Q", title="intruder's radius, as a share of the value", axis=alt.Axis(tickCount=6))
    if not pd.api.types.is_numeric_dtype(table["radius"]):
        along = alt.X("radius:N", title="intruder's radius", sort=None, axis=alt.Axis(labelAngle=0, labelLimit=180))
    up = share_axis(alt.Y, "value", "mean identification risk")
    legend = scheme_legend(looks.values(), lines=False)
    colour, shape, dash = (by_scheme(looks.values(), kind, legend=legend) for kind in ("color", "shape", "strokeDash"))
    tooltip = [alt.Tooltip("scheme:N"), alt.Tooltip(along.shorthand, title="intruder's radius")]
    tooltip += tell_numbers({"value": "mean risk", "low": "from", "high": "to"}, ".3f")
    base = alt.Chart(table).transform_filter(is_shown())
    ends = base.transform_filter(have_ends("low", "high")).mark_rule(strokeWidth=1)
    lines = base.mark_line(strokeWidth=2).encode(x=along, y=up, color=colour, strokeDash=dash)
    points = base.mark_point(filled=True, size=70, opacity=1)
    points = points.encode(x=along, y=up, color=colour, shape=shape, tooltip=tooltip)
    layers = [ends.encode(x=along, y="low:Q", y2="high:Q", color=colour), lines, points]
    subtitle = ["Bars: 95% intervals over the released datasets."] if table["low"].notna().any() else []
    if radius is not None:
        own = alt.Chart(pd.DataFrame({"radius": [radius]})).mark_rule(color="#777777", strokeDash=[3, 3])
        layers.insert(0, own.encode(x=along))
        subtitle.append(f"Dashed: the assumed radius, {radius:g}.")
    return dress(
        alt.layer(*layers).properties(width=_WIDTH, height=300),
        "Mean risk by the intruder's radius",
        subtitle=[" ".join(subtitle)] if subtitle else [],
        description="Mean identification risk by the intruder's radius. "
        + "; ".join(
            f"{scheme}: " + ", ".join(f"{row.value:.3f} at {row.radius}" for row in rows.itertuples())
            for scheme, rows in table.groupby("scheme", sort=False)
        ),
        shown=looks.values(),
    )


def risk_scatter(
    evaluation: "Evaluation", scheme: str, reference: str, *, measure: RiskMeasure | None = None, step: float = 0.2
) -> alt.TopLevelMixin:
    """Draw every record's risk under one method against its risk under another, with increases marked.

    For internal use only: it shows records. At most 2,000 records are drawn at random, and all marked ones. Data:
    `Evaluation.records`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    scheme, reference
        Names of releases, or "confidential": vertical and horizontal axis.
    measure
        "expected" risk, where marked records are moles (an increase of more than `step` beyond Monte Carlo error), or
        "realised", where they increase by more than `step`, possibly by chance. By default expected if known.
    step
        Smallest increase marked.
    """
    looks = evaluation_looks(evaluation)
    for argument, name in (("scheme", scheme), ("reference", reference)):
        if name not in looks:
            raise InputError(argument, f"there is no method {name!r}", nearest(f"{name}", looks))
    if measure is not None:
        check_choice("measure", measure, ("realised", "expected"))
    table, measure = _pair(evaluation, scheme, reference, measure, step)
    rest = table[~table["marked"]]
    thinned = rest.sample(MOST_POINTS, random_state=0).sort_index() if len(rest) > MOST_POINTS else rest
    own, other = looks[scheme].label, looks[reference].label
    titles = {"across": f"{measure} risk, {other}", "up": f"{measure} risk, {own}"}
    what = "moles: records whose expected risk increases" if measure == "expected" else "records whose risk increases"
    notes = [f"Triangles: {table['marked'].sum():,} of {len(table):,} {what} by more than {step:g}."]
    notes += _describe_chance(evaluation, scheme, reference, step) if measure == "realised" else []
    few = f" Of the others {len(thinned):,} are shown." if len(thinned) < len(rest) else ""
    higher, lower = int((table["up"] > table["across"]).sum()), int((table["up"] < table["across"]).sum())
    return dress(
        alt.layer(*_draw_pairs(thinned, table[table["marked"]], titles)).properties(width=400, height=400),
        f"Risk of the records: {own} against {other}",
        subtitle=[*notes, f"Dashed: equal risk.{few}"],
        description=f"Scatter plot of the {measure} identification risk of each record under {own} (vertical) against "
        f"{other} (horizontal). {' '.join(notes)} {higher:,} records lie above the line of equal risk, {lower:,} below "
        "it.",
    )


def _risks_by_scheme(evaluation: "Evaluation", measure: RiskMeasure) -> dict[str, Floats]:
    """Risks of the records by method, for methods with known risk; the confidential risk counts as both."""
    risks = {}
    for name in (CONFIDENTIAL, *evaluation.schemes):
        field = "risk" if measure == "realised" or name == CONFIDENTIAL else "expected_risk"
        risk = evaluation.records.loc[evaluation.records["scheme"] == name, field].to_numpy(dtype=np.float64)
        risk = risk[~np.isnan(risk)]
        if len(risk):
            risks[name] = risk
    if not set(risks) - {CONFIDENTIAL}:
        problem = f"the {measure} risk of no release is known"
        raise InputError("evaluation", problem, "Give posteriors to `evaluate`, or use measure='realised'")
    return risks


def _outline(risk: Floats, place: int) -> pd.DataFrame:
    bandwidth = float(np.clip(array_stats.bw_silverman(risk), _NARROWEST, _WIDEST))
    density = smooth_density(risk, _GRID, bandwidth, bounds=(0.0, 1.0))
    half = _HALF_WIDTH * density / density.max()
    return pd.DataFrame({"risk": _GRID, "above": place - half, "below": place + half}).round(3)


def _mark(risk: Floats, place: int) -> dict[str, Any]:
    quarter, median, three = (round(float(value), 3) for value in np.quantile(risk, [0.25, 0.5, 0.75]))
    mean = round(float(risk.mean()), 4)
    middle = {"mean": mean, "quarter": quarter, "median": median, "three": three}
    ends = {"place": place, "top": place - _HALF_MARK, "bottom": place + _HALF_MARK}
    return {**middle, **ends, "label": f"mean {risk.mean():.3f}"}


def _draw_marks(base: alt.Chart) -> list[alt.Chart]:
    """Draw quartiles, median and mean over the violins, with the mean as text."""
    titles = {"mean": "mean", "quarter": "25%", "median": "median", "three": "75%"}
    tooltip = [alt.Tooltip("scheme:N"), *tell_numbers(titles, ".3f")]
    middle = {"x": "quarter:Q", "x2": "three:Q", "y": "place:Q"}
    median = base.mark_point(filled=True, color="white", size=22, opacity=1)
    mean = base.mark_rule(strokeWidth=2, color="black")
    return [
        base.mark_rule(strokeWidth=7, color="white").encode(**middle),
        base.mark_rule(strokeWidth=5, color="#333333").encode(**middle, tooltip=tooltip),
        median.encode(x="median:Q", y="place:Q", tooltip=tooltip),
        mean.encode(x="mean:Q", y="top:Q", y2="bottom:Q", tooltip=tooltip),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), y="place:Q", text="label:N"),
    ]


def _risk_by_radius(evaluation: "Evaluation", radius: float | None) -> pd.DataFrame:
    """Columns scheme, radius (numbers, or text if variables have different radii), value, low, high."""
    rows = evaluation.risk
    found = rows[rows["measure"] == "radius_mean"]
    if found.empty:
        raise InputError("evaluation", "it has only one radius", "Give radii to `evaluate`")
    if found["at"].notna().all():
        if radius is not None:
            found = pd.concat([found, rows[rows["measure"] == "risk_mean"].assign(at=float(radius))])
        found = found.assign(radius=found["at"].astype(float)).sort_values("radius", kind="stable")
    elif radius is None:
        radii = [short_label(of or f"{at:g}") for of, at in zip(found["of"], found["at"], strict=True)]
        found = found.assign(radius=radii)
    else:
        raise InputError("radius", "the variables have different radii", "Omit it")
    return found[["scheme", "radius", "value", "low", "high"]].reset_index(drop=True).round(4)


def _pair(
    evaluation: "Evaluation", scheme: str, reference: str, measure: RiskMeasure | None, step: float
) -> tuple[pd.DataFrame, RiskMeasure]:
    """Columns record, across, up, marked; and the measure used."""
    records = evaluation.records
    own, other = (records[records["scheme"] == name] for name in (scheme, reference))
    known = all(side["expected_risk"].notna().any() for side in (own, other))
    if measure == "expected" and not known:
        problem = "the expected risk of one of the two is not known"
        raise InputError("measure", problem, "Give its posterior to `evaluate`, or use 'realised'")
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


def _draw_pairs(plain: pd.DataFrame, marked: pd.DataFrame, titles: Mapping[str, str]) -> list[alt.Chart]:
    """Draw records as points, marked ones as triangles with their number, and the line of equal risk."""
    axes = {"x": share_axis(alt.X, "across", titles["across"]), "y": share_axis(alt.Y, "up", titles["up"])}
    tooltip = tell_numbers(titles, ".3f")
    points = alt.Chart(plain[["across", "up"]].round(3))
    points = points.mark_point(size=16, filled=True, opacity=0.4, color="#777777")
    equal = alt.Chart(pd.DataFrame({"across": [0.0, 1.0], "up": [0.0, 1.0]}))
    line = equal.mark_line(color="black", strokeDash=[5, 3], strokeWidth=1.5)
    layers = [points.encode(**axes, tooltip=tooltip), line.encode(**axes)]
    if len(marked):
        rising = alt.Chart(marked[["record", "across", "up"]].round(3))
        rising = rising.mark_point(shape="triangle-up", size=48, color=_RISING, opacity=0.9, strokeWidth=1.6)
        layers.append(rising.encode(**axes, tooltip=[alt.Tooltip("record:Q"), *tooltip]))
    return layers


def _describe_chance(evaluation: "Evaluation", scheme: str, reference: str, step: float) -> list[str]:
    """The number of increases expected by chance, if the evaluation compared these two with this step."""
    rows = evaluation.risk[evaluation.risk["at"] == step]
    compared = set(rows.loc[rows["measure"] == "increases", "scheme"])
    null = rows[(rows["scheme"] == scheme) & (rows["measure"] == "increases_by_chance")]
    if [name for name in evaluation.schemes if name not in compared] != [reference] or null.empty:
        return []
    value, low, high = (float(null[field].iloc[0]) for field in ("value", "low", "high"))
    return [f"Expected by chance: {value:,.0f} (95%: {low:,.0f} to {high:,.0f})."]
