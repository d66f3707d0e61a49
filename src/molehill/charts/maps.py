"""Maps: what schemes, and the points of a search, give away against what they lose."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.charts.style import (
    COLOURS,
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    evaluation_looks,
    four_digits,
    have_ends,
    is_shown,
    number_axis,
    scheme_legend,
    scheme_looks,
    tell_numbers,
    title_panel,
)
from molehill.errors import InputError, nearest
from molehill.tables.labels import short_label

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

# By the id of the measure: what it would be for a fresh sample, and what the axis adds to its short name.
_FRESH = {"U_m": "U_m_fresh", "U_a": "U_a_fresh"}
_SAYS = {
    "U_m": ", greatest gap between distribution functions",
    "U_a": ", mean squared gap between distribution functions",
}
_CORNER = {"lower": ("Lower", "left"), "higher": ("Upper", "right")}
_ENDS = ["value", "low", "high"]
# Of a point: where it lies and how far its bars reach, to the right and upwards.
_ACROSS, _UP = ["across", "left", "right"], ["up", "bottom", "top"]
_KEEPS, _MISSES = Look("keeps the targets", COLOURS[0], "circle"), Look("misses a target", "#8a8f98", "diamond")
# Where there is no rule to keep.
_AS_MUCH, _LESS = replace(_KEEPS, label="keeps as much as the best"), replace(_MISSES, label="keeps less")
_WHOLE, _HALF = (460, 320), (310, 290)


def risk_utility_map(
    evaluation: "Evaluation",
    *,
    utility: str = "U_m",
    risk: str = "risk_mean",
    column: str | None = None,
    of: str | None = None,
) -> alt.TopLevelMixin:
    """Draw what every scheme gives away against what it loses.

    Its tables are `Evaluation.risk` and `Evaluation.utility`.

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    utility, risk
        Ids of measures in the two tables, as in `Evaluation.measures`.
    column, of
        Whose utility, and of which analysis or classifier; by default the first that has the measure.
    """
    losses = _by_scheme(evaluation.utility, utility, "utility", column=column, of=of)
    risks = _by_scheme(evaluation.risk, risk, "risk")
    both = [name for name in evaluation.schemes if name in losses.index and name in risks.index]
    looks = evaluation_looks(evaluation, both)
    numbers = np.column_stack([frame.loc[list(looks), _ENDS].to_numpy(dtype=float) for frame in (losses, risks)])
    table = pd.DataFrame(four_digits(numbers), columns=[*_ACROSS, *_UP])
    table["scheme"] = [look.label for look in looks.values()]

    column = f"{losses['column'].iloc[0]}"
    rows = evaluation.utility
    fresh = rows[(rows["measure"] == _FRESH.get(utility)) & (rows["column"] == column) & (rows["group"] == "")]
    lines = (float(fresh["value"].median()), float(risks["value"].get(CONFIDENTIAL, np.nan)))
    reach = (_reach(table[_ACROSS], 0.0, lines[0]), _reach(table[_UP], 0.0, lines[1]))
    name, told, risky = (short_label(f"{text}") for text in (column, losses["name"].iloc[0], risks["name"].iloc[0]))
    base = alt.Chart(table).transform_filter(is_shown())
    titles = (f"{told}{_SAYS.get(utility, '')} ({name})", risky)
    layers = _draw_lines(lines, reach[0], _WHOLE)
    layers += _draw_points(base, looks.values(), reach, titles, [alt.Tooltip("scheme:N")])
    bars = table[["left", "bottom"]].notna().any(axis=None)
    subtitle = ["Bars: 95% intervals over the released tables."] if bars else []
    better = dict(zip(evaluation.measures["id"], evaluation.measures["better"], strict=True))
    if better.get(risk) in _CORNER and better.get(utility) in _CORNER:
        corner = f"{_CORNER[better[risk]][0]} {_CORNER[better[utility]][1]}"
        subtitle.append(f"{corner}: safer, and closer to the confidential table.")
    return dress(
        alt.layer(*layers).properties(width=_WHOLE[0], height=_WHOLE[1]),
        "Risk and utility of the schemes",
        subtitle=subtitle,
        description=f"{risky} against {told} of {name}, by scheme. "
        + "; ".join(f"{row.scheme}: {risky} {row.up:.3g}, {told} {row.across:.3g}" for row in table.itertuples()),
        shown=looks.values(),
    )


def search_map(
    points: pd.DataFrame, baselines: pd.DataFrame, *, fresh: float, chosen: int, column: str, rule: bool = True
) -> alt.TopLevelMixin:
    """Draw every point of a search, risk against utility, beside topcoding and noise; and the points alone, closer.

    Points have their number beside them, from 1 on, and a ring marks the chosen one.

    Parameters
    ----------
    points, baselines, fresh
        Of `molehill.report.dossier.Searched`.
    chosen
        Place of the chosen point, or of the closest one, from 0 on.
    column
        The sensitive column.
    rule
        Whether points were judged by targets, or by whether they keep as much as the best.
    """
    others = baselines[baselines["scheme"] != CONFIDENTIAL]
    own = baselines.loc[baselines["scheme"] == CONFIDENTIAL, "risk"]
    ways = scheme_looks(others["scheme"])
    kept, lost = (_KEEPS, _MISSES) if rule else (_AS_MUCH, _LESS)
    looks = [kept, lost, *ways.values()]
    tried = _list_points(points, chosen)
    tried["scheme"] = np.where(points["met"].astype(bool), kept.label, lost.label)
    others = pd.DataFrame(
        four_digits(others[["U_m", "U_m_low", "U_m_high", "risk", "risk_low", "risk_high"]].to_numpy(dtype=float)),
        columns=[*_ACROSS, *_UP],
    ).assign(scheme=[look.label for look in ways.values()], number="", chosen=False)
    everything = pd.concat([tried, others.assign(told=others["scheme"])], ignore_index=True)
    lines = (fresh, float(own.median()))
    # Where all are drawn the points lie close together, so that only the chosen one has its number.
    everything["number"] = everything["number"].where(everything["chosen"], "")
    whole = (_reach(everything[_ACROSS], 0.0, lines[0]), _reach(everything[_UP], 0.0, lines[1]))
    panels = [_search_panel(everything, looks, lines, whole, "all, with what agencies do today", column)]
    if len(tried) > 1:
        close = (_reach(tried[_ACROSS]), _reach(tried[_UP]))
        inside = (fresh if close[0][0] < fresh < close[0][1] else np.nan, np.nan)
        panels.append(_search_panel(tried, looks, inside, close, "the points alone, closer", column))
    marked = "chosen" if points["met"].iloc[chosen] else "closest"
    return dress(
        alt.hconcat(*panels, spacing=30).resolve_scale(color="shared", shape="shared"),
        "Every point that was tried",
        subtitle=[f"Numbers: points of the table. Ring: the {marked} one. Bars: 95% intervals. Lower left is better."],
        description=f"Mean risk against U_m of {short_label(column)} for every point of the search. "
        + "; ".join(
            f"{row.told} ({f'{row.scheme}, {marked}' if row.chosen else row.scheme}): "
            f"mean risk {row.up:.3g}, U_m {row.across:.3g}"
            for row in everything.itertuples()
        ),
    )


def _by_scheme(
    frame: pd.DataFrame, measure: str, argument: str, *, column: str | None = None, of: str | None = None
) -> pd.DataFrame:
    """Rows of one measure of all records, one a scheme: of one column, and of one analysis if there are several."""
    found = frame[(frame["measure"] == measure) & (frame["group"] == "") & np.isfinite(frame["value"].astype(float))]
    if found.empty:
        raise InputError(argument, f"there is no measure {measure!r}", nearest(measure, frame["measure"].unique()))
    for field, given in {"column": column, "of": of}.items():
        known = found[field].unique()
        if given is not None and given not in known:
            raise InputError(field, f"there is no {measure!r} of {given!r}", nearest(given, known))
        found = found[found[field] == (known[0] if given is None else given)]
    return found.drop_duplicates("scheme").set_index("scheme")


def _list_points(points: pd.DataFrame, chosen: int) -> pd.DataFrame:
    """Where the points of a search lie, how far their bars reach, and how they are told."""
    distance, risk = points["U_m"], points["mean_expected_risk"]
    wide, tall = 1.96 * points["U_m_error"], 1.96 * points["mean_expected_risk_error"]
    numbers = np.column_stack([distance, distance - wide, distance + wide, risk, risk - tall, risk + tall])
    table = pd.DataFrame(four_digits(numbers), columns=[*_ACROSS, *_UP])
    table["number"] = [f"{number + 1}" for number in points["point"]]
    table["chosen"] = np.arange(len(points)) == chosen
    table["told"] = [
        f"{number}: {short_label(name, 60)}" for number, name in zip(table["number"], points["scheme"], strict=True)
    ]
    return table


def _search_panel(
    table: pd.DataFrame,
    looks: Sequence[Look],
    lines: tuple[float, float],
    reach: tuple[Any, Any],
    title: str,
    column: str,
) -> Any:
    base = alt.Chart(table)
    titles = (f"U_m of {short_label(column, 24)}", "mean risk of a record")
    tooltip = [alt.Tooltip("told:N", title="point"), alt.Tooltip("scheme:N", title="state")]
    ring = base.transform_filter("datum.chosen").mark_point(
        filled=False, size=320, color="black", strokeWidth=2, opacity=1, shape="circle"
    )
    number = base.mark_text(align="left", baseline="bottom", dx=8, dy=-6)
    layers = [
        *_draw_lines(lines, reach[0], _HALF),
        # Below the point, which can then still be pointed at.
        ring.encode(x="across:Q", y="up:Q"),
        *_draw_points(base, looks, reach, titles, tooltip),
        number.encode(x="across:Q", y="up:Q", text="number:N"),
    ]
    return alt.layer(*layers).properties(title=title_panel(title), width=_HALF[0], height=_HALF[1])


def _draw_points(
    base: alt.Chart, looks: Iterable[Look], reach: tuple[Any, Any], titles: tuple[str, str], tooltip: list[Any]
) -> list[alt.Chart]:
    """Draw points with their bars, as far as they have any, and the legend."""
    scales = [alt.Scale(domain=list(ends), nice=False, zero=False) for ends in reach]
    x = alt.X("across:Q", scale=scales[0], axis=number_axis(titles[0], ticks=6))
    y = alt.Y("up:Q", scale=scales[1], axis=number_axis(titles[1], ticks=6))
    looks = list(looks)
    legend = scheme_legend(looks, lines=False)
    colour, shape = (by_scheme(looks, kind, legend=legend) for kind in ("color", "shape"))
    wide = base.transform_filter(have_ends("left", "right")).mark_rule(strokeWidth=1.5)
    tall = base.transform_filter(have_ends("bottom", "top")).mark_rule(strokeWidth=1.5)
    told = tell_numbers(dict(zip(("across", "up"), titles, strict=True)), ".3~g")
    return [
        wide.encode(x="left:Q", x2="right:Q", y=y, color=colour),
        tall.encode(x=x, y="bottom:Q", y2="top:Q", color=colour),
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=x, y=y, color=colour, shape=shape, tooltip=[*tooltip, *told]
        ),
    ]


def _draw_lines(lines: tuple[float, float], ends: tuple[float, float], size: tuple[int, int]) -> list[alt.Chart]:
    """Draw the loss of a fresh sample and the risk of the confidential table as dashed lines, where they are known."""
    across, up = lines
    # Their names lie on the wider side of the upright line, where there is room and nothing is crossed.
    side, place, away = ("right", 4, -5) if across > sum(ends) / 2 else ("left", size[0] - 4, 5)
    layers = []
    if np.isfinite(across):
        fresh = alt.Chart(pd.DataFrame({"across": [across], "told": ["fresh sample"]}))
        text = fresh.mark_text(align=side, baseline="bottom", dx=away, fontStyle="italic")
        layers += [fresh.mark_rule(strokeDash=[2, 3]).encode(x="across:Q")]
        layers += [text.encode(x="across:Q", y=alt.value(size[1] - 4), text="told:N")]
    if np.isfinite(up):
        own = alt.Chart(pd.DataFrame({"up": [up], "told": ["confidential table"]}))
        text = own.mark_text(align="left" if side == "right" else "right", baseline="bottom", dy=-3, fontStyle="italic")
        layers += [own.mark_rule(strokeDash=[2, 3]).encode(y="up:Q")]
        layers += [text.encode(x=alt.value(place), y="up:Q", text="told:N")]
    return layers


def _reach(values: pd.DataFrame | Floats, *also: float) -> tuple[float, float]:
    """Ends of an axis that shows all of this and a little more; it begins at 0 where that is the least."""
    everything = np.append(np.asarray(values, dtype=float), also)
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    margin = 0.1 * ((high - low) or abs(high) or 1.0)
    return (low - margin if low else 0.0, high + margin)
