"""Charts of the distribution of a variable, confidential and released: curves, tails, quantiles by group, levels.

Data: `Evaluation.shapes`, whose curves lie on round numbers. For internal use only.
"""

from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from molehill.charts.style import (
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    evaluation_looks,
    is_shown,
    number_axis,
    scheme_legend,
)
from molehill.errors import InputError, check_choice
from molehill.tables.labels import short_label

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

CurveKind = Literal["density", "below", "above", "beneath"]
_TITLES = {
    "density": "Density of {}",
    "below": "Distribution of {}",
    "above": "Upper tail of {}",
    "beneath": "Lower tail of {}",
}
_AXES = {
    "density": "density",
    "below": "share at or below",
    "above": "share above (logarithmic)",
    "beneath": "share below (logarithmic)",
}
# Two fit side by side on paper, three on a screen.
_WIDTH, _HEIGHT, _PANEL = 250, 190, (120, 80)
_BAR = 11
_QUANTILES = {1: "lowest", 5: "low", 25: "quarter", 50: "median", 75: "upper", 95: "high", 99: "highest"}


def shape_curve(
    evaluation: "Evaluation", column: str, scheme: str, *, curve: CurveKind, by: str = ""
) -> alt.TopLevelMixin:
    """Draw a curve of a numeric variable in the confidential data and in a release, whose datasets are combined.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    column, scheme
        The variable and the release.
    curve
        "density", "below" (distribution function), "above" or "beneath" (upper or lower tail on logarithmic axes).
    by
        A key variable, for one panel per level.
    """
    check_choice("curve", curve, tuple(_TITLES))
    looks = evaluation_looks(evaluation, (CONFIDENTIAL, scheme))
    rows = _rows(evaluation, column, looks, curve, by)
    tail = curve in ("above", "beneath")
    rows = rows[rows["value"] > 0] if tail else rows
    name = short_label(column)
    encoded: dict[str, Any] = {"x": _along(curve, name, rows, small=bool(by)), "y": _up(curve, rows, small=bool(by))}
    legend = scheme_legend(looks.values(), lines=True)
    encoded["color"] = by_scheme(looks.values(), "color", legend=legend)
    base = alt.Chart(rows).transform_filter(is_shown())
    # Wide and pale, to be visible under a curve that agrees with it.
    below = base.transform_filter(f"datum.scheme == '{CONFIDENTIAL}'").mark_line(strokeWidth=5, opacity=0.35)
    above = base.transform_filter(f"datum.scheme != '{CONFIDENTIAL}'").mark_line(strokeWidth=2)
    chart: Any = alt.layer(below.encode(**encoded), above.encode(**encoded), data=rows)
    if by:
        header = alt.Header(title=None, labelFontSize=11)
        chart = chart.properties(width=_PANEL[0], height=_PANEL[1])
        chart = chart.facet(facet=alt.Facet("group:N", header=header, sort=None), columns=2)
    else:
        chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    title = _TITLES[curve].format(name) + (f" by {short_label(by)}" if by else "")
    return dress(
        chart,
        title,
        subtitle=["Wide grey line: confidential data."],
        description=f"{title}: confidential data and {looks[scheme].label}. {_describe_gap(rows, looks[scheme])}",
        shown=looks.values(),
    )


def group_spread(evaluation: "Evaluation", column: str, scheme: str) -> alt.TopLevelMixin:
    """Draw quantiles of a variable by group: median, interquartile range, and 1% to 99% quantile."""
    looks = evaluation_looks(evaluation, (CONFIDENTIAL, scheme))
    rows = _rows(evaluation, column, looks, "quantile", None)
    rows = rows.assign(
        place=[
            f"{short_label(b, 18)} {short_label(g, 18)}" if b else "all records"
            for b, g in zip(rows["by"], rows["group"], strict=True)
        ]
    )
    wide = rows.pivot_table(index=["place", "scheme"], columns="at", values="value", sort=False).reset_index()
    wide.columns = [name if isinstance(name, str) else _QUANTILES[round(100 * name)] for name in wide.columns]
    order = list(dict.fromkeys(rows["place"]))
    place = alt.Y("place:N", title=None, sort=order, axis=alt.Axis(labelLimit=150))
    beside = alt.YOffset("scheme:N", sort=[look.label for look in looks.values()])
    spread = float(rows["value"].abs().max())
    constant = float(10.0 ** np.floor(np.log10(max(wide["median"].abs().median(), 1e-9)) - 0.5))
    long = spread > 4 * max(float(wide["upper"].abs().median()), 1e-9)
    scale = alt.Scale(type="symlog", constant=constant) if long else alt.Scale(zero=False)
    name = short_label(column)
    along = {"scale": scale, "axis": number_axis(f"{name} (logarithmic scale)" if long else name, ticks=5)}
    colour = by_scheme(looks.values(), "color", legend=scheme_legend(looks.values(), lines=True))
    base = alt.Chart(wide).transform_filter(is_shown()).encode(y=place, yOffset=beside, color=colour)
    tooltip = [alt.Tooltip("place:N", title="group"), alt.Tooltip("scheme:N")]
    tooltip += [alt.Tooltip(f"{field}:Q", title=f"{share}%", format=",") for share, field in _QUANTILES.items()]
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("lowest:Q", **along), x2="highest:Q", tooltip=tooltip),
        base.mark_rule(strokeWidth=6, opacity=0.7).encode(x=alt.X("quarter:Q", **along), x2="upper:Q", tooltip=tooltip),
        base.mark_tick(thickness=2, size=_BAR, color="white").encode(
            x=alt.X("median:Q", **along), color=alt.value("white"), tooltip=tooltip
        ),
    ]
    chart = alt.layer(*layers).properties(width=_WIDTH - 70, height=alt.Step(_BAR))
    return dress(
        chart,
        f"{name} by group",
        subtitle=["Thin: 1% to 99% quantile. Thick: interquartile range. White: median."],
        description=f"Quantiles of {name} by group, to three digits. Medians: {_describe_medians(wide)}",
        shown=looks.values(),
    )


def level_shares(evaluation: "Evaluation", column: str, scheme: str) -> alt.TopLevelMixin:
    """Draw the shares of the levels of a category, with differences in percentage points."""
    looks = evaluation_looks(evaluation, (CONFIDENTIAL, scheme))
    rows = _rows(evaluation, column, looks, "level", "")
    rows = rows.assign(level=[short_label(level, 30) for level in rows["level"]])
    wide = rows.pivot_table(index="level", columns="scheme", values="value", sort=False)
    gaps = wide[looks[scheme].label] - wide[CONFIDENTIAL]
    labels = pd.DataFrame(
        {"level": wide.index, "most": wide.max(axis=1), "label": [f"{100 * gap:+.1f}" for gap in gaps]}
    )
    place = alt.Y("level:N", title=None, sort=list(wide.index), axis=alt.Axis(labelLimit=150))
    share = alt.X("value:Q", title="share of records", axis=alt.Axis(format="%", tickCount=4))
    colour = by_scheme(looks.values(), "color", legend=scheme_legend(looks.values(), lines=False))
    beside = alt.YOffset("scheme:N", sort=[look.label for look in looks.values()])
    tooltip = [alt.Tooltip("level:N"), alt.Tooltip("scheme:N"), alt.Tooltip("value:Q", title="share", format=".1%")]
    bars = alt.Chart(rows).transform_filter(is_shown()).mark_bar(opacity=0.75)
    bars = bars.encode(x=share, y=place, yOffset=beside, color=colour, tooltip=tooltip)
    texts = alt.Chart(labels).mark_text(align="left", dx=6).encode(x=alt.X("most:Q"), y=place, text="label:N")
    name = short_label(column)
    return dress(
        alt.layer(bars, texts).properties(width=_WIDTH - 90, height=2.5 * _BAR * len(wide)),
        f"Levels of {name}",
        subtitle=["Numbers: released minus confidential share, in percentage points."],
        description=f"Shares of the levels of {name}; differences in percentage points: "
        + ", ".join(f"{row.level} {row.label}" for row in labels.itertuples()),
        shown=looks.values(),
    )


def pair_matrix(evaluation: "Evaluation", scheme: str) -> alt.TopLevelMixin:
    """Draw the distance of every two-way marginal relative to the sampling benchmark: 1 is no loss.

    Parameters
    ----------
    evaluation, scheme
        Of `molehill.evaluate`, and the release.
    """
    shapes = evaluation.shapes
    rows = shapes[(shapes["curve"] == "pair") & (shapes["scheme"] == scheme)]
    if rows.empty:
        raise InputError(
            "scheme", f"{scheme!r} has no pairs of variables", "Give a release whose variables were compared"
        )
    # Two samples differ by sqrt(2) times the difference of a sample from its population.
    ratio = rows["value"] / (np.sqrt(2) * rows["at"]).where(rows["at"] > 0)
    pairs = pd.DataFrame(
        {
            "column": [short_label(name, 18) for name in rows["column"]],
            "other": [short_label(name, 18) for name in rows["by"]],
            "ratio": ratio.round(3),
            "distance": rows["value"],
            "fresh": rows["at"],
        }
    )
    # In the order of the variables.
    order = [short_label(name, 18) for name in dict.fromkeys([*shapes["column"], *rows["by"]])]
    across, down = ([name for name in order if name in set(pairs[axis])] for axis in ("other", "column"))
    axis: dict[str, Any] = {"title": None, "axis": alt.Axis(labelLimit=120, labelAngle=-60)}
    place = {
        "x": alt.X("other:N", sort=across, **axis),
        "y": alt.Y("column:N", sort=down, title=None, axis=alt.Axis(labelLimit=120)),
    }
    colour = alt.Color(
        "ratio:Q",
        title="distance relative to the sampling benchmark",
        scale=alt.Scale(domain=[0.5, 1, 2, 4], range=["#ffffff", "#f0ede8", "#fdae6b", "#a63603"], clamp=True),
        legend=alt.Legend(orient="bottom", gradientLength=220, titleLimit=420, values=[0.5, 1, 2, 4], format="~g"),
    )
    tooltip = [alt.Tooltip("column:N"), alt.Tooltip("other:N", title="and")]
    tooltip += [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("ratio", "distance", "fresh")]
    base = alt.Chart(pairs).encode(**place)
    cells = base.mark_rect(stroke="white").encode(color=colour, tooltip=tooltip)
    layers = [cells]
    step = 34 if len(across) <= 12 else 22
    if len(across) <= 12:
        dark = alt.condition("datum.ratio > 3", alt.value("white"), alt.value("#222222"))
        text = alt.Text("ratio:Q", format=".1f")
        layers.append(base.mark_text(fontSize=11).encode(text=text, color=dark, tooltip=tooltip))
    worst = pairs.sort_values("ratio", ascending=False).head(3)
    named = "; ".join(f"{row.column} and {row.other} {row.ratio:.2f}" for row in worst.itertuples())
    return dress(
        alt.layer(*layers).properties(width=alt.Step(step), height=alt.Step(step)),
        "Pairs of variables",
        subtitle=[
            "Distance of two-way marginals from the confidential data,",
            "relative to the sampling benchmark (1).",
        ],
        description=f"Distance of pairs of variables relative to the sampling benchmark. Largest: {named}.",
    )


def _rows(evaluation: "Evaluation", column: str, looks: dict[str, Look], curve: str, by: str | None) -> pd.DataFrame:
    shapes = evaluation.shapes
    chosen = (shapes["column"] == column) & (shapes["curve"] == curve) & shapes["scheme"].isin(list(looks))
    rows = shapes[chosen if by is None else chosen & (shapes["by"] == by)]
    if rows.empty:
        raise InputError("column", f"{column!r} has no such curve", "Use a synthesized variable of that kind")
    labels = {name: look.label for name, look in looks.items()}
    texts = {name: [short_label(text, 30) if text else "" for text in rows[name]] for name in ("by", "group", "level")}
    return rows[["at", "value"]].assign(scheme=rows["scheme"].map(labels), **texts).reset_index(drop=True)


def _along(curve: str, name: str, rows: pd.DataFrame, *, small: bool) -> alt.X:
    if curve in ("above", "beneath"):
        title = f"{'minus ' if curve == 'beneath' else ''}{name} (logarithmic)"
        values = _marks(rows["at"], (1,) if small else (1, 2, 5))
        return alt.X("at:Q", scale=alt.Scale(type="log", nice=False), axis=number_axis(title, values))
    return alt.X("at:Q", scale=alt.Scale(zero=False, nice=False), axis=number_axis(name, ticks=3 if small else 5))


def _marks(values: pd.Series, steps: tuple[int, ...]) -> list[float]:
    """Round numbers as ticks of a logarithmic axis, fewer on a long one."""
    low, high = float(values.min()), float(values.max())
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    marks = [step * 10.0**power for power in powers for step in (steps if len(powers) <= 4 else (1,))]
    return [float(f"{mark:.1g}") for mark in marks if low * 0.999 <= mark <= high * 1.001]


def _up(curve: str, rows: pd.DataFrame, *, small: bool) -> alt.Y:
    # The title of a small panel would overlap with the next panel.
    title = None if small else _AXES[curve]
    if curve == "density":
        return alt.Y("value:Q", axis=alt.Axis(title=title, labels=False, ticks=False), scale=alt.Scale(zero=True))
    if curve == "below":
        return alt.Y("value:Q", axis=alt.Axis(title=title, format="%", tickCount=5))
    label = "datum.value >= 0.01 ? format(datum.value, '.0%') : format(datum.value, '~%')"
    axis = alt.Axis(title=title, labelExpr=label, values=_marks(rows["value"], (1,)))
    return alt.Y("value:Q", axis=axis, scale=alt.Scale(type="log"))


def _describe_gap(rows: pd.DataFrame, look: Look) -> str:
    wide = rows.pivot_table(index=["group", "at"], columns="scheme", values="value").dropna()
    if look.label not in wide or CONFIDENTIAL not in wide or wide.empty:
        return ""
    gap, top = (wide[look.label] - wide[CONFIDENTIAL]).abs().max(), wide[CONFIDENTIAL].max()
    return f"Largest difference, of the height of the confidential curve: {gap / top:.1%}." if top else ""


def _describe_medians(wide: pd.DataFrame) -> str:
    return "; ".join(f"{row.place}, {row.scheme} {row.median:,.4g}" for row in wide.itertuples())
