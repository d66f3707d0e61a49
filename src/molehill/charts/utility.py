"""Figures of utility: estimates with their intervals, and risk against utility."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.charts.label_places import label_columns
from molehill.charts.risk import evaluation_looks
from molehill.charts.smoothing import round_step
from molehill.charts.style import COLOURS, CONFIDENTIAL, Look, by_scheme, dress, is_shown, number_axis, short_label
from molehill.errors import InputError, nearest

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

MOST_PANELS = 12
_MAP_SIZE = (460, 320)
_BAND = "#d9d9d9"
_ENDS = ["value", "low", "high"]
# Distances: 0 is the confidential table itself.
_WORDS = {
    "U_m": "U_m, greatest gap between distribution functions",
    "U_a": "U_a, mean squared gap between distribution functions",
    "Wasserstein distance": "Wasserstein distance",
    "Wasserstein distance in sd": "Wasserstein distance, in standard deviations",
}


def estimate_intervals(
    evaluation: "Evaluation", *, analyses: Sequence[str] | None = None, columns: int = 2
) -> alt.TopLevelMixin:
    """Draw the estimates of every scheme with their intervals over the confidential table's, a panel an analysis.

    Numbers are rounded to what can be seen in the panel, so that a confidential median is not a record's value. Its
    table is `Evaluation.utility`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    analyses
        Names of measures, such as "mean of income". By default the first 12 that are not within groups.
    columns
        Panels side by side.
    """
    rows = evaluation.utility
    estimated = rows[(rows["scheme"] == CONFIDENTIAL) & np.isfinite(rows["value"].astype(float))]
    known = estimated["measure"].unique()
    if not len(known):
        raise InputError("evaluation", "it holds no estimates", "Give analyses to evaluate")
    for name in analyses or ():
        if name not in known:
            raise InputError("analyses", f"there is no analysis {name!r}", nearest(name, known))
    chosen = [name for name in known if ", within " not in name] if analyses is None else list(analyses)
    wanted = estimated[estimated["measure"].isin(chosen)].sort_values(
        "measure", key=lambda names: names.map(chosen.index), kind="stable"
    )
    looks = {name: look for name, look in evaluation_looks(evaluation).items() if name != CONFIDENTIAL}
    panels, told = [], []
    for row in wanted.head(MOST_PANELS).itertuples():
        own = rows[
            (rows["measure"] == row.measure) & (rows["column"] == row.column) & np.isfinite(rows["value"].astype(float))
        ]
        panel, words = _panel(own, looks)
        panels.append(panel)
        told.append(words)
    left = len(wanted) - len(panels)
    subtitle = ["Black line and grey band: the confidential table, with its 95% interval. Points and bars: releases."]
    subtitle += [f"{left} further estimates are not drawn."] if left > 0 else []
    return dress(
        alt.concat(*panels, columns=columns, spacing=28),
        "Estimates from the released tables",
        subtitle=subtitle,
        description="Estimates with 95% intervals, by scheme. " + " ".join(told),
        shown=looks.values(),
    )


def risk_utility_map(
    evaluation: "Evaluation", *, utility: str = "U_m", risk: str = "mean risk", column: str | None = None
) -> alt.TopLevelMixin:
    """Draw what every scheme gives away against what it loses.

    Its tables are `Evaluation.risk` and `Evaluation.utility`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluation.evaluate`.
    utility, risk
        Names of measures in the two tables.
    column
        Whose utility; by default the first column that has the measure.
    """
    risks = _measured(evaluation.risk, risk, "risk", None)
    losses = _measured(evaluation.utility, utility, "utility", column)
    both = [name for name in evaluation.schemes if name in risks.index and name in losses.index]
    looks = {name: look for name, look in evaluation_looks(evaluation).items() if name in both}
    numbers = np.column_stack([frame.loc[both, _ENDS].to_numpy(dtype=float) for frame in (losses, risks)])
    fields = ("across", "left", "right", "up", "bottom", "top")
    table = pd.DataFrame(four_digits(numbers), columns=fields).assign(scheme=[look.label for look in looks.values()])
    of = f"{losses['column'].iloc[0]}"
    lines = _reference_lines(evaluation, utility, risk, of)
    reach = (map_reach(numbers[:, :3], lines["across"]), map_reach(numbers[:, 3:], lines["up"]))
    table = table.join(label_columns(table, lines, reach, _MAP_SIZE, list(table["scheme"])))

    name = short_label(of)
    titles = (f"{_WORDS.get(utility, short_label(utility, 60))} ({name})", short_label(risk))
    layers = [*draw_reference(lines, _MAP_SIZE), *_draw_schemes(table, looks, reach, titles)]
    subtitle = ["Bars: 95% intervals over the released tables."] if np.isfinite(numbers[:, [1, 4]]).any() else []
    subtitle += ["Lower left: safer, and closer to the confidential table."] if utility in _WORDS else []
    told = short_label(utility)
    description = f"{titles[1]} against {told} of {name}, by scheme. " + "; ".join(
        f"{row.scheme}: {titles[1]} {row.up:.3g}, {told} {row.across:.3g}" for row in table.itertuples()
    )
    return dress(
        alt.layer(*layers).properties(width=_MAP_SIZE[0], height=_MAP_SIZE[1]),
        "Risk and utility of the schemes",
        subtitle=subtitle,
        description=description,
        shown=looks.values(),
    )


def _panel(rows: pd.DataFrame, looks: dict[str, Look]) -> tuple[Any, str]:
    """One analysis, and what it says in words."""
    numbers = rows.set_index("scheme")[_ENDS].astype(float).replace([np.inf, -np.inf], np.nan)
    everything = numbers.to_numpy()
    everything = everything[np.isfinite(everything)]
    span = float(np.ptp(everything)) or abs(float(everything[0])) or 1.0
    step = round_step(span)
    decimals = max(0, int(-np.floor(np.log10(step))))
    numbers = ((numbers / step).round() * step).round(decimals)
    confidential = numbers.loc[[CONFIDENTIAL]].reset_index(drop=True)
    released = numbers.loc[[name for name in looks if name in numbers.index]].reset_index()
    released["scheme"] = released["scheme"].map({name: look.label for name, look in looks.items()})

    domain = [float(everything.min() - 0.05 * span), float(everything.max() + 0.05 * span)]
    scale = alt.Scale(domain=[round(end / step) * step for end in domain], nice=False, zero=False)
    along = alt.X("value:Q", scale=scale, axis=number_axis(None, ticks=5))
    labels = [look.label for look in looks.values()]
    place = alt.Y("scheme:N", title=None, scale=alt.Scale(domain=labels), axis=alt.Axis(labelLimit=150))
    colour, shape = (by_scheme(looks.values(), kind) for kind in ("color", "shape"))
    pattern = f",.{decimals}f"
    tooltip: list[Any] = [alt.Tooltip("scheme:N")] + [
        alt.Tooltip(f"{field}:Q", title=title, format=pattern)
        for field, title in (("value", "estimate"), ("low", "from"), ("high", "to"))
    ]
    base = alt.Chart(released).transform_filter(is_shown())
    whole = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    own = alt.Chart(confidential)
    layers = [own.mark_rule(color="black", strokeWidth=1.5).encode(x=along)]
    if confidential[["low", "high"]].notna().all(axis=None):
        band = own.mark_rect(color=_BAND, opacity=0.7)
        layers.insert(0, band.encode(x=alt.X("low:Q", title=None, scale=scale), x2="high:Q"))
    layers += [
        whole.mark_rule(strokeWidth=2.5).encode(x=alt.X("low:Q", title=None), x2="high:Q", y=place, color=colour),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x=along, y=place, color=colour, shape=shape, tooltip=tooltip
        ),
    ]
    title = short_label(f"{rows['measure'].iloc[0]}", 48)
    size = {"width": 235, "height": max(26 * len(labels), 60)}
    heading = alt.TitleParams(title, anchor="start", fontSize=12, fontWeight="bold", offset=6)
    told = [f"confidential {confidential['value'].iloc[0]:,.{decimals}f}"]
    told += [f"{row.scheme} {row.value:,.{decimals}f}" for row in released.itertuples()]
    return alt.layer(*layers).properties(title=heading, **size), f"{title}: {', '.join(told)}."


def _measured(frame: pd.DataFrame, measure: str, argument: str, column: str | None) -> pd.DataFrame:
    """Rows of one measure and one column, by scheme."""
    found = frame[(frame["measure"] == measure) & (frame["scheme"] != CONFIDENTIAL)]
    if found.empty:
        raise InputError(argument, f"there is no measure {measure!r}", nearest(measure, frame["measure"].unique()))
    if column is not None and column not in set(found["column"]):
        raise InputError("column", f"there is no {measure!r} of {column!r}", nearest(column, found["column"].unique()))
    found = found[found["column"] == (found["column"].iloc[0] if column is None else column)]
    return found[np.isfinite(found["value"].astype(float))].set_index("scheme")


def _reference_lines(evaluation: "Evaluation", utility: str, risk: str, column: str) -> dict[str, float | None]:
    """The risk of the confidential table itself, and what the utility measure would be for a fresh sample."""
    risks, losses = evaluation.risk, evaluation.utility
    own = risks.loc[(risks["scheme"] == CONFIDENTIAL) & (risks["measure"] == risk), "value"]
    fresh = losses.loc[(losses["measure"] == f"{utility} of a fresh sample") & (losses["column"] == column), "value"]
    return {
        "up": float(own.iloc[0]) if len(own) else None,
        "across": float(fresh.median()) if len(fresh) else None,
    }


def map_reach(values: np.ndarray, line: float | None) -> tuple[float, float]:
    """From 0 (or below, where there are negative values) to a little above the highest end."""
    everything = np.append(values[np.isfinite(values)], [0.0] if line is None else [0.0, line])
    span = float(np.ptp(everything)) or 1.0
    low, high = float(everything.min()), float(everything.max())
    return (low - 0.06 * span if low < 0 else 0.0, high + 0.08 * span)


def four_digits(values: np.ndarray) -> np.ndarray:
    """Round numbers to what can be seen in a figure."""
    return np.vectorize(lambda value: float(f"{value:.4g}"), otypes=[float])(values)


def _draw_schemes(
    table: pd.DataFrame,
    looks: dict[str, Look],
    reach: tuple[tuple[float, float], tuple[float, float]],
    titles: tuple[str, str],
) -> list[alt.Chart]:
    scales = [alt.Scale(domain=list(ends), nice=False, zero=False) for ends in reach]
    x = alt.X("across:Q", scale=scales[0], axis=number_axis(titles[0], ticks=6))
    y = alt.Y("up:Q", scale=scales[1], axis=number_axis(titles[1], ticks=6))
    colour, shape = (by_scheme(looks.values(), kind) for kind in ("color", "shape"))
    base = alt.Chart(table).transform_filter(is_shown())
    wide = base.transform_filter("isValid(datum.left) && isValid(datum.right)").mark_rule(strokeWidth=1.5)
    tall = base.transform_filter("isValid(datum.bottom) && isValid(datum.top)").mark_rule(strokeWidth=1.5)
    leaders = base.transform_filter("datum.far").mark_rule(color="#999999", strokeWidth=0.8)
    text = base.mark_text(align="left", baseline="middle")
    tooltip = [
        alt.Tooltip("scheme:N"),
        alt.Tooltip("up:Q", title=titles[1], format=".3~g"),
        alt.Tooltip("across:Q", title=titles[0], format=".3~g"),
    ]
    return [
        leaders.encode(x=x, y=y, x2="leader:Q", y2="label_up:Q"),
        wide.encode(x="left:Q", x2="right:Q", y=y, color=colour),
        tall.encode(x=x, y="bottom:Q", y2="top:Q", color=colour),
        base.mark_point(filled=True, size=110, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
        text.encode(x="label_across:Q", y="label_up:Q", text="scheme:N"),
    ]


def draw_reference(lines: Mapping[str, float | None], size: tuple[int, int]) -> list[alt.Chart]:
    """Draw the risk of the confidential table and the loss of a fresh sample as dashed lines, where they are known."""
    layers = []
    if lines["up"] is not None:
        own = alt.Chart(pd.DataFrame({"up": [lines["up"]], "told": ["confidential table"]}))
        text = own.mark_text(align="right", baseline="bottom", dy=-3, fontStyle="italic")
        layers += [own.mark_rule(strokeDash=[2, 3]).encode(y="up:Q")]
        layers += [text.encode(x=alt.value(size[0] - 4), y="up:Q", text="told:N")]
    if lines["across"] is not None:
        fresh = alt.Chart(pd.DataFrame({"across": [lines["across"]], "told": ["fresh sample"]}))
        text = fresh.mark_text(align="left", baseline="bottom", dx=5, fontStyle="italic")
        layers += [fresh.mark_rule(strokeDash=[2, 3]).encode(x="across:Q")]
        layers += [text.encode(x="across:Q", y=alt.value(size[1] - 4), text="told:N")]
    return layers


Reach = tuple[tuple[float, float], tuple[float, float]]

_KEEPS, _MISSES, _BASELINE = "keeps the targets", "misses a target", "not synthesized"
_STATES = {_KEEPS: (COLOURS[0], "circle"), _MISSES: ("#8a8f98", "diamond"), _BASELINE: (COLOURS[1], "square")}
_SIZE = (310, 290)
_FIELDS = ("across", "left", "right", "up", "bottom", "top")


def search_map(
    points: pd.DataFrame, baselines: pd.DataFrame, *, floor: float, chosen: int, column: str
) -> alt.TopLevelMixin:
    """Draw every point of a search, risk against utility, beside topcoding and noise; and the points alone, closer.

    Points have their number as label, from 1 on, and a ring marks the chosen one.

    Parameters
    ----------
    points, baselines, floor
        Of `molehill.searched.Searched`.
    chosen
        Place of the chosen point, or of the closest one, from 0 on.
    column
        The sensitive column.
    """
    table = _gather(points, baselines, chosen)
    own = baselines.loc[baselines["scheme"] == CONFIDENTIAL, "risk"]
    lines = {"across": None if np.isnan(floor) else floor, "up": float(own.iloc[0]) if len(own) else None}
    numbers = table[list(_FIELDS)].to_numpy(dtype=float)
    whole = (map_reach(numbers[:, :3], lines["across"]), map_reach(numbers[:, 3:], lines["up"]))
    tried = table[table["state"] != _BASELINE].reset_index(drop=True)
    single = len(tried) == 1
    # Where the points lie close together, the panel of all of them names the chosen one only.
    shown = table["label"].where(table["chosen"] | (table["state"] == _BASELINE) | single, "")
    panels = [_search_panel(table, lines, whole, shown.tolist(), "all, with what agencies do today", column)]
    if not single:
        close = (_close(tried, _FIELDS[:3]), _close(tried, _FIELDS[3:]))
        inside = {"across": lines["across"], "up": None}
        if inside["across"] is not None and not close[0][0] < inside["across"] < close[0][1]:
            inside["across"] = None
        panels.append(_search_panel(tried, inside, close, tried["label"].tolist(), "the points alone, closer", column))
    description = f"Mean risk against U_m of {short_label(column)} for every point of the search. " + "; ".join(
        f"{row.label} ({row.state}{', marked' if row.chosen else ''}): mean risk {row.up:.3g}, U_m {row.across:.3g}"
        for row in table.itertuples()
    )
    marked = "chosen" if points["met"].iloc[chosen] else "closest"
    subtitle = [f"Numbers: points of the table. Ring: the {marked} one. Bars: 95% intervals. Lower left is better."]
    chart = alt.hconcat(*panels, spacing=30).resolve_scale(color="shared", shape="shared")
    return dress(chart, "Every point that was tried", subtitle=subtitle, description=description)


def _gather(points: pd.DataFrame, baselines: pd.DataFrame, chosen: int) -> pd.DataFrame:
    """All points and baselines in one table: where they lie, how far their bars reach, and how they are drawn."""
    risk, distance = points["mean_expected_risk"], points["U_m"]
    reach, wide = 1.96 * points["mean_expected_risk_error"], 1.96 * points["U_m_error"]
    tried = pd.DataFrame({"across": distance, "left": distance - wide, "right": distance + wide})
    tried = tried.assign(up=risk, bottom=risk - reach, top=risk + reach)
    tried["label"] = [f"{number + 1}" for number in points["point"]]
    tried["scheme"] = [f"{number + 1}: {name}" for number, name in zip(points["point"], points["scheme"], strict=True)]
    tried["state"] = np.where(points["met"].astype(bool), _KEEPS, _MISSES)
    tried["chosen"] = np.arange(len(points)) == chosen
    kept = baselines[baselines["scheme"] != CONFIDENTIAL]
    names = ["U_m", "U_m_low", "U_m_high", "risk", "risk_low", "risk_high"]
    others = kept[names].rename(columns=dict(zip(names, _FIELDS, strict=True)))
    names = kept["scheme"]
    others = others.assign(label=names.str.partition(",")[0], scheme=names, state=_BASELINE, chosen=False)
    table = pd.concat([tried, others], ignore_index=True)
    table[list(_FIELDS)] = four_digits(table[list(_FIELDS)].to_numpy(dtype=float))
    return table


def _close(table: pd.DataFrame, fields: Sequence[str]) -> tuple[float, float]:
    """From a little below the lowest end to a little above the highest."""
    values = table[list(fields)].to_numpy(dtype=float)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    span = (high - low) or abs(high) or 1.0
    return low - 0.12 * span, high + 0.12 * span


def _search_panel(
    table: pd.DataFrame, lines: dict[str, float | None], reach: Reach, labels: Sequence[str], title: str, column: str
) -> Any:
    drawn = table.join(label_columns(table, lines, reach, _SIZE, labels)).assign(shown_label=labels)
    drawn["far"] = drawn["far"] & (drawn["shown_label"] != "")
    scales = [alt.Scale(domain=list(ends), nice=False, zero=False) for ends in reach]
    x = alt.X("across:Q", scale=scales[0], axis=number_axis(f"U_m of {short_label(column, 24)}", ticks=5))
    y = alt.Y("up:Q", scale=scales[1], axis=number_axis("mean risk of a record", ticks=6))
    names = list(_STATES)
    legend = alt.Legend(orient="bottom", direction="horizontal", title=None, symbolOpacity=1, symbolStrokeWidth=0)
    colours, shapes = zip(*_STATES.values(), strict=True)
    colour = alt.Color("state:N", scale=alt.Scale(domain=names, range=colours), legend=legend, sort=None)
    shape = alt.Shape("state:N", scale=alt.Scale(domain=names, range=shapes), legend=legend, sort=None)
    tooltip = [
        alt.Tooltip("scheme:N"),
        alt.Tooltip("state:N"),
        alt.Tooltip("up:Q", title="mean risk", format=".3~g"),
        alt.Tooltip("across:Q", title="U_m", format=".3~g"),
    ]
    base = alt.Chart(drawn)
    wide = base.transform_filter("isValid(datum.left) && isValid(datum.right)").mark_rule(strokeWidth=1.2)
    tall = base.transform_filter("isValid(datum.bottom) && isValid(datum.top)").mark_rule(strokeWidth=1.2)
    leaders = base.transform_filter("datum.far").mark_rule(color="#999999", strokeWidth=0.8)
    ring = base.transform_filter("datum.chosen").mark_point(
        filled=False, size=320, color="black", strokeWidth=2, opacity=1, shape="circle"
    )
    text = base.mark_text(align="left", baseline="middle")
    layers = [
        *draw_reference(lines, _SIZE),
        leaders.encode(x=x, y=y, x2="leader:Q", y2="label_up:Q"),
        wide.encode(x="left:Q", x2="right:Q", y=y, color=colour),
        tall.encode(x=x, y="bottom:Q", y2="top:Q", color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
        ring.encode(x=x, y=y, tooltip=tooltip),
        text.encode(x="label_across:Q", y="label_up:Q", text="shown_label:N"),
    ]
    heading = alt.TitleParams(title, anchor="start", fontSize=12, fontWeight="bold", offset=6)
    return alt.layer(*layers).properties(title=heading, width=_SIZE[0], height=_SIZE[1])
