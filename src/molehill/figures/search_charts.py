"""The figure of a search: every point that was tried, risk against utility, and which one was chosen."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.figures.label_places import label_columns
from molehill.figures.style import COLOURS, CONFIDENTIAL, dress, number_axis, short_label
from molehill.figures.utility_charts import draw_reference, four_digits, map_reach

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
    panels = [_panel(table, lines, whole, shown.tolist(), "all, with what agencies do today", column)]
    if not single:
        close = (_close(tried, _FIELDS[:3]), _close(tried, _FIELDS[3:]))
        inside = {"across": lines["across"], "up": None}
        if inside["across"] is not None and not close[0][0] < inside["across"] < close[0][1]:
            inside["across"] = None
        panels.append(_panel(tried, inside, close, tried["label"].tolist(), "the points alone, closer", column))
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


def _panel(
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
