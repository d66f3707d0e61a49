"""Charts of estimates with confidence intervals, released and confidential."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from molehill.charts.style import (
    CONFIDENTIAL,
    Look,
    by_scheme,
    dress,
    evaluation_looks,
    have_ends,
    is_shown,
    number_axis,
    tell_numbers,
    title_panel,
)
from molehill.errors import InputError, nearest
from molehill.tables.labels import short_label
from molehill.utility.densities import round_step

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

MOST_PANELS = 12
_BAND = "#d9d9d9"


def estimate_intervals(
    evaluation: "Evaluation", *, analyses: Sequence[str] | None = None, groups: bool = False, columns: int = 2
) -> alt.TopLevelMixin:
    """Draw estimates with confidence intervals by method, one panel per analysis, over the confidential interval.

    Numbers are rounded to what is visible in the panel, so that a confidential median is not a record's value. Data:
    `Evaluation.utility`, the measure "estimate".

    Parameters
    ----------
    evaluation
        Of `molehill.evaluate`.
    analyses
        Names of analyses, for example "mean of income"; by default all, up to 12 panels.
    groups
        Whether to draw estimates within groups too.
    columns
        Number of panels per row.
    """
    rows = evaluation.utility
    rows = rows[(rows["measure"] == "estimate") & np.isfinite(rows["value"].astype(float))]
    if not groups:
        rows = rows[rows["group"] == ""]
    known = list(rows.loc[rows["scheme"] == CONFIDENTIAL, "of"].unique())
    if not known:
        raise InputError("evaluation", "it has no estimates", "Give analyses to `evaluate`")
    for name in analyses or ():
        if name not in known:
            raise InputError("analyses", f"there is no analysis {name!r}", nearest(name, known))
    parts = [
        part
        for name in (known if analyses is None else analyses)
        for _, part in rows[rows["of"] == name].groupby(["column", "group"], sort=False)
        if CONFIDENTIAL in set(part["scheme"])
    ]
    looks = evaluation_looks(evaluation, evaluation.schemes)
    drawn = [_panel(part, looks) for part in parts[:MOST_PANELS]]
    left = len(parts) - len(drawn)
    subtitle = ["Black line and grey band: confidential data, with 95% interval. Points and bars: releases."]
    subtitle += [f"{left} more estimates are not shown."] if left > 0 else []
    return dress(
        alt.concat(*(panel for panel, _ in drawn), columns=columns, spacing=28),
        "Estimates from the released datasets",
        subtitle=subtitle,
        description="Estimates with 95% intervals, by method. " + " ".join(text for _, text in drawn),
        shown=looks.values(),
    )


def _panel(rows: pd.DataFrame, looks: Mapping[str, Look]) -> tuple[Any, str]:
    """The panel of one estimate, and its description."""
    numbers = rows.set_index("scheme")[["value", "low", "high"]].astype(float).replace([np.inf, -np.inf], np.nan)
    low, high = float(np.nanmin(numbers.to_numpy())), float(np.nanmax(numbers.to_numpy()))
    span = (high - low) or abs(high) or 1.0
    step = round_step(span)
    decimals = max(0, int(-np.floor(np.log10(step))))
    numbers = ((numbers / step).round() * step).round(decimals)
    confidential = numbers.loc[[CONFIDENTIAL]].reset_index(drop=True)
    released = numbers.loc[[name for name in looks if name in numbers.index]].reset_index()
    released["scheme"] = released["scheme"].map({name: look.label for name, look in looks.items()})

    domain = [round(end / step) * step for end in (low - 0.05 * span, high + 0.05 * span)]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    along = alt.X("value:Q", scale=scale, axis=number_axis(None, ticks=5))
    labels = [look.label for look in looks.values()]
    place = alt.Y("scheme:N", title=None, scale=alt.Scale(domain=labels), axis=alt.Axis(labelLimit=190))
    colour, shape = (by_scheme(looks.values(), kind) for kind in ("color", "shape"))
    tooltip = [alt.Tooltip("scheme:N")]
    tooltip += tell_numbers({"value": "estimate", "low": "from", "high": "to"}, f",.{decimals}f")
    base = alt.Chart(released).transform_filter(is_shown())
    bars = base.transform_filter(have_ends("low", "high")).mark_rule(strokeWidth=2.5)
    points = base.mark_point(filled=True, size=90, opacity=1, stroke="white", strokeWidth=1)
    own = alt.Chart(confidential)
    layers = [
        own.mark_rule(color="black", strokeWidth=1.5).encode(x=along),
        bars.encode(x=alt.X("low:Q", title=None), x2="high:Q", y=place, color=colour),
        points.encode(x=along, y=place, color=colour, shape=shape, tooltip=tooltip),
    ]
    if confidential[["low", "high"]].notna().all(axis=None):
        band = own.mark_rect(color=_BAND, opacity=0.7)
        layers.insert(0, band.encode(x=alt.X("low:Q", title=None, scale=scale), x2="high:Q"))
    title = short_label(f"{rows['name'].iloc[0]}", 48)
    shown = [f"confidential {confidential['value'].iloc[0]:,.{decimals}f}"]
    shown += [f"{row.scheme} {row.value:,.{decimals}f}" for row in released.itertuples()]
    panel = alt.layer(*layers).properties(title=title_panel(title), width=235, height=max(26 * len(labels), 60))
    return panel, f"{title}: {', '.join(shown)}."
