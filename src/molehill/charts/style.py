"""Style of charts: label, colour, shape and dash of every method, and common chart properties."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from molehill.arrays import Floats
from molehill.tables.labels import LONGEST, short_label

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

# Okabe and Ito's palette, distinguishable with any colour vision and in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
# As in molehill.evaluation, which is slow to import.
CONFIDENTIAL = "confidential"
# Maximum number of points of a chart.
MOST_POINTS = 2000

# Yellow is too pale for a line on paper, and black is the confidential data.
_SCHEME_COLOURS = COLOURS[:6]
# Seven of each with six colours: up to 42 methods look different.
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left")
_DASHES = ((1, 0), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (5, 2, 1, 2, 1, 2), (4, 4))
# Built-in methods always look the same.
_USUAL = ("unweighted", "marginal", "pairwise", "topcoding")

_INK = "#333333"


@dataclass(frozen=True)
class Look:
    """How a method is drawn: colour, shape and dash each identify it."""

    label: str
    colour: str
    shape: str
    dash: tuple[int, ...] = (1, 0)


def scheme_looks(names: Iterable[str]) -> dict[str, Look]:
    """The looks of methods, the same in all charts with the same names in the same order.

    The confidential data are black, and "unweighted", "marginal", "pairwise" and "topcoding" always look the same. The
    others get the remaining looks in the order of their names. Labels are short and distinct.

    Examples
    --------
    >>> looks = scheme_looks(["confidential", "marginal", "mine"])
    >>> looks["marginal"].colour == scheme_looks(["marginal"])["marginal"].colour
    True
    >>> looks["mine"].shape
    'triangle-down'
    """
    names = list(dict.fromkeys(names))
    others = iter(range(len(_USUAL), len(_USUAL) + len(names)))
    looks: dict[str, Look] = {}
    taken: set[str] = set()
    for name in names:
        label, number = short_label(name), 1
        while label in taken:
            number += 1
            label = f"({number}) {short_label(name, LONGEST - 4)}"
        taken.add(label)
        if name == CONFIDENTIAL:
            looks[name] = Look(label, "#000000", "cross")
            continue
        place = _USUAL.index(name) if name in _USUAL else next(others)
        colour = _SCHEME_COLOURS[place % len(_SCHEME_COLOURS)]
        looks[name] = Look(label, colour, _SHAPES[place % len(_SHAPES)], _DASHES[place % len(_DASHES)])
    return looks


def evaluation_looks(evaluation: "Evaluation", names: Collection[str] | None = None) -> dict[str, Look]:
    """Looks of the confidential data and of the releases of an evaluation, or of the named ones."""
    looks = scheme_looks([CONFIDENTIAL, *evaluation.schemes])
    return {name: look for name, look in looks.items() if names is None or name in names}


def four_digits(values: Floats) -> Floats:
    """Round numbers to four significant digits."""
    return np.vectorize(lambda value: float(f"{value:.4g}"), otypes=[float])(values)


def by_scheme(looks: Iterable[Look], kind: str, *, legend: alt.Legend | None = None) -> Any:
    """Encode the field `scheme`, which holds labels, by "color", "shape" or "strokeDash"."""
    looks = list(looks)
    values = {"color": "colour", "shape": "shape", "strokeDash": "dash"}[kind]
    channel = {"color": alt.Color, "shape": alt.Shape, "strokeDash": alt.StrokeDash}[kind]
    scale = alt.Scale(domain=[look.label for look in looks], range=[getattr(look, values) for look in looks])
    return channel("scheme:N", title=None, scale=scale, legend=legend, sort=None)


def panel_by_scheme(looks: Iterable[Look]) -> alt.Row:
    """One panel per method of the field `scheme`, stacked."""
    header = alt.Header(labelFontSize=13, labelOrient="top", labelAnchor="start")
    return alt.Row("scheme:N", title=None, sort=[look.label for look in looks], header=header)


def scheme_legend(looks: Iterable[Look], *, lines: bool) -> alt.Legend:
    """Legend of methods, by colour and dash of lines or colour and shape of points."""
    many = max(len(look.label) for look in looks) <= 18
    # Otherwise the outline of a point would be dashed like its line.
    size, stroke = (500, 2) if lines else (90, 0)
    return alt.Legend(
        orient="bottom",
        direction="horizontal",
        columns=4 if many else 2,
        labelLimit=300,
        symbolOpacity=1,
        symbolSize=size,
        symbolStrokeWidth=stroke,
    )


def number_axis(
    title: str | Sequence[str] | None, values: Sequence[float] | None = None, *, ticks: int | None = None
) -> alt.Axis:
    """Axis of amounts, with 50,000 written as 50k."""
    # Vega's own abbreviation uses one unit for all numbers, so that 500 among millions would be 0M.
    label = "abs(datum.value) < 10000 ? format(datum.value, ',~g') : format(datum.value, '~s')"
    optional: dict[str, Any] = {
        name: given for name, given in (("values", values), ("tickCount", ticks)) if given is not None
    }
    return alt.Axis(title=title, labelExpr=label, **optional)


def share_axis(channel: Any, field: str, title: str) -> Any:
    """Encode a number from 0 to 1, such as a risk or a weight."""
    return channel(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5))


def tell_numbers(titles: Mapping[str, str], pattern: str) -> list[Any]:
    """Tooltips of numeric fields, with their titles."""
    return [alt.Tooltip(f"{field}:Q", title=title, format=pattern) for field, title in titles.items()]


def is_shown() -> str:
    """Filter for the methods named by `shown`."""
    return "indexof(shown, datum.scheme) >= 0"


def have_ends(low: str, high: str) -> str:
    """Filter for values with an interval."""
    return f"isValid(datum.{low}) && isValid(datum.{high})"


def dress(
    chart: Any, title: str, *, description: str, subtitle: Sequence[str] = (), shown: Iterable[Look] = ()
) -> alt.TopLevelMixin:
    """Add title, text alternative and common style to a chart.

    With `shown` it gets the parameter of that name, by which a page can select methods.
    """
    labels = [look.label for look in shown]
    if labels:
        chart = chart.add_params(alt.param(name="shown", value=labels))
    heading = alt.TitleParams(
        text=title,
        subtitle=list(subtitle),
        anchor="start",
        fontSize=15,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitleLineHeight=16,
        subtitlePadding=5,
        offset=12,
        limit=640,
    )
    # Without a label for every mark, which a screen reader would read point by point.
    return chart.properties(title=heading, description=description, background="white").configure(
        aria=False,
        font="Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif",
        padding=8,
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
            labelColor=_INK,
            titleColor=_INK,
            domainColor="#888888",
            tickColor="#888888",
            gridColor="#e6e6e6",
            labelLimit=260,
            labelFlush=False,
            titleLimit=460,
        ),
        header=alt.HeaderConfig(labelFontSize=12, labelColor=_INK, labelLimit=420),
        legend=alt.LegendConfig(labelFontSize=12, labelColor=_INK),
        text=alt.MarkConfig(fontSize=12, color=_INK),
        view=alt.ViewConfig(stroke=None),
    )


def title_panel(title: str) -> alt.TitleParams:
    """Title of one of several panels."""
    return alt.TitleParams(title, anchor="start", fontSize=12, fontWeight="bold", offset=6)
