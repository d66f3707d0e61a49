"""Charts of the sensitive values: densities and distribution functions without tails, and weights against values."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from molehill.arrays import Floats
from molehill.charts.style import (
    COLOURS,
    CONFIDENTIAL,
    MOST_POINTS,
    Look,
    by_scheme,
    dress,
    is_shown,
    number_axis,
    panel_by_scheme,
    scheme_legend,
    scheme_looks,
    share_axis,
)
from molehill.errors import InputError
from molehill.tables.labels import short_label
from molehill.tables.schema import Missing
from molehill.utility.densities import masked_grid, masked_share, share_below, smooth_density, usual_bandwidth
from molehill.utility.sides import read_numbers, read_parts

_WIDTH = 480
_POINTS = 160
# Initial grid of weights and values: cells along both axes.
_CELLS = (160, 100)


def densities(
    data: Any,
    released: Mapping[str, Any],
    column: str,
    *,
    schemes: Iterable[str] | None = None,
    missing: Missing = "error",
) -> alt.TopLevelMixin:
    """Draw the density of a numeric variable in the confidential data and by method.

    All curves have Silverman's bandwidth of the confidential data; the datasets of a method are combined. The chart
    ends at round numbers inside the 0.5% and 99.5% quantiles of the confidential values (further inside if that is
    fewer than five records), and contains the curves on a grid.

    Parameters
    ----------
    data
        The confidential data.
    released
        By method, one released dataset or a sequence of them.
    column
        A numeric variable.
    schemes
        Names of all methods of a report, for the same looks in all charts.
    missing
        Missing values: "error", or "keep" (the record is left out).
    """

    def draw(values: dict[str, Floats], grid: Floats) -> dict[str, Floats]:
        bandwidth = usual_bandwidth(values[CONFIDENTIAL], grid)
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
    """Draw the distribution function of a numeric variable in the confidential data and by method.

    The largest vertical difference to the confidential curve is U_m, if it lies inside the chart. Parameters and grid
    as in `densities`.
    """

    def draw(values: dict[str, Floats], grid: Floats) -> dict[str, Floats]:
        return {name: share_below(own, grid) for name, own in values.items()}

    name = short_label(column)
    return _draw_curves(
        _read(data, released, column, missing),
        draw,
        _looks(released, schemes),
        title=f"Distribution of {name}",
        axes=(name, alt.Axis(title="share of records at or below", format="%", tickCount=5)),
    )


def weights_scatter(
    weights: ArrayLike | Mapping[str, ArrayLike], values: ArrayLike, *, column: str = "sensitive value"
) -> alt.TopLevelMixin:
    """Draw risk weights against sensitive values; for internal use only.

    Records are counted in the cells of a fine grid, at most 2,000 of them non-empty. A point is a cell, darker for more
    records; the chart contains no value.

    Parameters
    ----------
    weights
        One from 0 to 1 per record, as from `risk_weights`; or several of these by name, one panel each.
    values
        One per record; records with a missing value are left out.
    column
        Title of the axis.
    """
    panels = dict(weights) if isinstance(weights, Mapping) else {"": weights}
    numbers = np.asarray(values, dtype=np.float64)
    for one in panels.values():
        if np.shape(np.asarray(one)) != numbers.shape or numbers.ndim != 1:
            raise InputError("weights", "their number differs from that of the values", "Give one weight per record")
    present = np.isfinite(numbers)
    if not present.any():
        raise InputError("values", "all are missing", "Give one value per record")
    numbers = numbers[present]
    up = {label: np.asarray(one, dtype=np.float64)[present] for label, one in panels.items()}
    looks = scheme_looks(panels)
    bend = _bend(numbers)
    parts = [_count_cells(numbers, one, bend).assign(scheme=looks[label].label) for label, one in up.items()]
    cells = pd.concat(parts, ignore_index=True)
    name = short_label(column)
    chart: Any = _draw_cells(cells, _value_axis(numbers, bend, name))
    if isinstance(weights, Mapping):
        chart = chart.facet(row=panel_by_scheme(looks.values()))
    largest = numbers >= np.quantile(numbers, 0.9)
    return dress(
        chart,
        f"Weights against {name}",
        subtitle=["Darker points: more records. Values are rounded to about a hundredth of the axis."],
        description=f"Weights of the records against {name}. "
        + "; ".join(
            f"{looks[label].label + ': ' if label else ''}mean weight {one.mean():.2f}, "
            f"{one[largest].mean():.2f} in the highest tenth of {name}"
            for label, one in up.items()
        ),
    )


def _looks(released: Mapping[str, Any], schemes: Iterable[str] | None) -> dict[str, Look]:
    looks = scheme_looks([CONFIDENTIAL, *(schemes or ()), *released])
    return {name: looks[name] for name in (CONFIDENTIAL, *released)}


def _read(data: Any, released: Mapping[str, Any], column: str, missing: Missing) -> dict[str, Floats]:
    """Values of the confidential data and, by method, of all datasets combined."""
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
    top = float(curves[CONFIDENTIAL].max())
    # Four visible digits.
    digits = int(3 - np.floor(np.log10(max(curve.max() for curve in curves.values()))))
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
    base = alt.Chart(table).transform_filter(is_shown())
    # Wide and pale, to be visible under a curve that agrees with it.
    below = base.transform_filter(f"datum.scheme == '{CONFIDENTIAL}'").mark_line(strokeWidth=5, opacity=0.35)
    lines = base.transform_filter(f"datum.scheme != '{CONFIDENTIAL}'").mark_line(strokeWidth=2)
    gaps = {name: float(np.abs(curve - curves[CONFIDENTIAL]).max()) for name, curve in curves.items()}
    tails = f"The highest and lowest {masked_share(len(values[CONFIDENTIAL])):.1%} of its values are left out."
    return dress(
        alt.layer(below.encode(**encoded), lines.encode(**encoded)).properties(width=_WIDTH, height=280),
        title,
        subtitle=[f"Wide grey line: confidential data. {tails}"],
        description=f"{title}, one curve per method. Largest difference to the confidential curve, of its height: "
        + "; ".join(f"{looks[name].label} {gap / top:.1%}" for name, gap in gaps.items() if name != CONFIDENTIAL),
        shown=looks.values(),
    )


def _draw_cells(cells: pd.DataFrame, along: alt.X) -> alt.Chart:
    most = int(cells["records"].max())
    # A cell of one record must be visible.
    shades = alt.Scale(type="sqrt", domain=[1, max(most, 2)], range=["#9cc7e3", COLOURS[0], "#001a2b"])
    values = sorted({1, max(most // 2, 1), most})
    # Symbols instead of a gradient, whose number would change the bytes of every drawing.
    legend = alt.Legend(type="symbol", title="records", values=values, format=",d")
    points = alt.Chart(cells).mark_point(filled=True, opacity=1, size=14)
    points = points.encode(
        x=along,
        y=share_axis(alt.Y, "weight", "weight"),
        color=alt.Color("records:Q", scale=shades, legend=legend),
        tooltip=[alt.Tooltip("weight:Q", format=".2f"), alt.Tooltip("records:Q", format=",")],
    )
    return points.properties(width=_WIDTH, height=260)


def _bend(values: Floats) -> float:
    """Where the axis of a long-tailed variable changes from linear to logarithmic; 0 for a linear axis."""
    quarter, three = np.quantile(values, [0.25, 0.75])
    sizes = np.abs(values[values != 0])
    if not len(sizes) or np.ptp(values) <= 12 * (three - quarter):
        return 0.0
    return float(10.0 ** np.floor(np.log10(np.median(sizes)) - 0.5))


def _value_axis(values: Floats, bend: float, title: str) -> alt.X:
    if not bend:
        return alt.X("value:Q", scale=alt.Scale(zero=False, nice=False, padding=8), axis=number_axis(title, ticks=8))
    powers = bend * 10.0 ** np.arange(np.ceil(np.log10(np.abs(values).max() / bend)) + 1)
    ticks = [*(-powers[::-1] if values.min() < 0 else []), 0.0, *powers]
    ticks = [tick for tick in ticks if values.min() <= tick <= values.max() or tick == 0]
    scale = alt.Scale(type="symlog", constant=bend, nice=False, zero=bool(values.min() >= 0))
    return alt.X("value:Q", scale=scale, axis=number_axis(f"{title} (logarithmic scale)", ticks))


def _count_cells(values: Floats, weights: Floats, bend: float) -> pd.DataFrame:
    """Columns value, weight, records: centres of the non-empty cells of a grid of round numbers."""
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
