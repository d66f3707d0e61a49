"""Figures of the sensitive values, confidential and released: densities and distribution functions, without tails."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.charts.smoothing import masked_grid, masked_share, smooth_density, usual_bandwidth
from molehill.charts.style import (
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
from molehill.utility.sides import Missing, read_numbers, read_parts

Floats = NDArray[np.float64]

_POINTS = 160


def densities(
    data: Any,
    released: Mapping[str, Any],
    column: str,
    *,
    schemes: Iterable[str] | None = None,
    missing: Missing = "error",
) -> alt.TopLevelMixin:
    """Draw the density of a numeric column in the confidential table and under every scheme.

    All curves have the same bandwidth, which is the confidential table's. The tables of a scheme are taken together.
    The figure ends at round numbers inside the 0.5% and 99.5% quantiles of the confidential values (further inside
    where that is fewer than five records), and holds the curves on a grid.

    Parameters
    ----------
    data
        The confidential table.
    released
        By name of the scheme, one released table or a sequence of them.
    column
        A numeric column.
    schemes
        Names of all schemes of a report, if some are not drawn here: so each looks as it does elsewhere.
    missing
        "keep" leaves the records without a value out; "error" refuses them.
    """

    def draw(values: dict[str, Floats], grid: Floats) -> dict[str, Floats]:
        bandwidth = usual_bandwidth(values[CONFIDENTIAL])
        return {name: smooth_density(own, grid, bandwidth) for name, own in values.items()}

    name = short_label(column)
    return _draw_curves(
        _read(data, released, column, missing),
        draw,
        _looks(released, schemes),
        title=f"Density of {name}",
        axes=(name, alt.Axis(title="density", labels=False, ticks=False)),
    )


def ecdfs(
    data: Any,
    released: Mapping[str, Any],
    column: str,
    *,
    schemes: Iterable[str] | None = None,
    missing: Missing = "error",
) -> alt.TopLevelMixin:
    """Draw which share of the records lies at or below each value, in the confidential table and under every scheme.

    The greatest vertical gap to the confidential curve is U_m (where it lies inside the figure). Parameters, grid and
    ends are those of `densities`. Its table is that of `molehill.utility.ecdf_distances`.
    """

    def draw(values: dict[str, Floats], grid: Floats) -> dict[str, Floats]:
        return {name: np.searchsorted(np.sort(own), grid, side="right") / len(own) for name, own in values.items()}

    name = short_label(column)
    return _draw_curves(
        _read(data, released, column, missing),
        draw,
        _looks(released, schemes),
        title=f"Distribution of {name}",
        axes=(name, alt.Axis(title="share of records at or below", format="%")),
    )


def _looks(released: Mapping[str, Any], schemes: Iterable[str] | None) -> dict[str, Look]:
    looks = scheme_looks([CONFIDENTIAL, *(schemes or ()), *released])
    return {name: looks[name] for name in (CONFIDENTIAL, *released)}


def _read(data: Any, released: Mapping[str, Any], column: str, missing: Missing) -> dict[str, Floats]:
    """Values of the confidential table and of the tables of every scheme taken together."""
    values = {}
    for name, tables in released.items():
        part = read_parts(data, tables, [column], groups=None, missing=missing, argument="column")[0]
        values.setdefault(CONFIDENTIAL, read_numbers(part.confidential, [column], missing)[0])
        values[name] = np.concatenate([read_numbers(side, [column], missing)[0] for side in part.released])
    return values


def _draw_curves(
    values: dict[str, Floats],
    draw: Callable[[dict[str, Floats], Floats], dict[str, Floats]],
    looks: Mapping[str, Look],
    *,
    title: str,
    axes: tuple[str, alt.Axis],
) -> alt.TopLevelMixin:
    grid = masked_grid(values[CONFIDENTIAL], _POINTS)
    curves = draw(values, grid)
    scale = max(curve.max() for curve in curves.values())
    # Four digits of what can be seen: more would only make the file larger.
    digits = int(3 - np.floor(np.log10(scale)))
    frames = [
        pd.DataFrame({"scheme": looks[name].label, "value": grid, "share": curve.round(digits)})
        for name, curve in curves.items()
    ]
    table = pd.concat(frames, ignore_index=True)
    table["value"] = [float(f"{value:.5g}") for value in table["value"]]
    legend = scheme_legend(looks.values(), lines=True)
    encoded = {
        "x": alt.X("value:Q", scale=alt.Scale(zero=False, nice=False), axis=number_axis(axes[0], ticks=8)),
        "y": alt.Y("share:Q", axis=axes[1], scale=alt.Scale(zero=True)),
        "color": by_scheme(looks.values(), "color", legend=legend),
        "strokeDash": by_scheme(looks.values(), "strokeDash", legend=legend),
    }
    # Wide and pale, so that it is seen under a curve that agrees with it.
    base = alt.Chart(table).transform_filter(is_shown())
    below = base.transform_filter(f"datum.scheme == '{CONFIDENTIAL}'").mark_line(strokeWidth=5, opacity=0.35)
    lines = base.transform_filter(f"datum.scheme != '{CONFIDENTIAL}'").mark_line(strokeWidth=2)
    layers = alt.layer(below.encode(**encoded), lines.encode(**encoded))
    gaps = {name: float(np.abs(curve - curves[CONFIDENTIAL]).max()) for name, curve in curves.items()}
    top = float(curves[CONFIDENTIAL].max())
    description = (
        f"{title}, a curve for each scheme. Greatest gap to the confidential curve, of its height: "
        + "; ".join(f"{looks[name].label} {gap / top:.1%}" for name, gap in gaps.items() if name != CONFIDENTIAL)
    )
    share = masked_share(len(values[CONFIDENTIAL]))
    tails = f"The highest and lowest {share:.1%} of its values are left out."
    return dress(
        layers.properties(width=480, height=280),
        title,
        subtitle=[f"Wide grey line: the confidential table. {tails}"],
        description=description,
        shown=looks.values(),
    )
