"""How figures look: for every scheme its label, colour, shape and dash, and one style for all of them."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from molehill.errors import InputError
from molehill.files import written_whole

# Okabe and Ito's colours: told apart by people with any colour vision, and in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
CONFIDENTIAL = "confidential"

# Yellow is too pale for a line on paper, and black is the confidential table.
_SCHEME_COLOURS = COLOURS[:6]
# Seven of each beside six colours: two schemes look alike only when there are more than 42.
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "triangle-right", "triangle-left")
_DASHES = ((1, 0), (8, 3), (2, 2), (8, 3, 2, 3), (12, 3), (5, 2, 1, 2, 1, 2), (4, 4))
# Schemes that the library makes keep their looks whatever stands beside them.
_USUAL = ("unweighted", "marginal", "pairwise", "topcoding")

_LONGEST = 36
_INK = "#333333"
# A direction turned around by a name would turn what stands beside it as well.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True)
class Look:
    """How a scheme is drawn: alone its colour, its shape or its dash tells it from the others."""

    label: str
    colour: str
    shape: str
    dash: tuple[int, ...]


def scheme_looks(names: Iterable[str]) -> dict[str, Look]:
    """Give every scheme its look, the same in every figure that is made with the same names in the same order.

    The confidential table is black, and "unweighted", "marginal", "pairwise" and "topcoding" always look the same.
    The others take what is left, in the order of their names here. Labels are short, one line and all different.

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
            label = f"({number}) {short_label(name, _LONGEST - 4)}"
        taken.add(label)
        if name == CONFIDENTIAL:
            looks[name] = Look(label, "#000000", "cross", (1, 0))
            continue
        place = _USUAL.index(name) if name in _USUAL else next(others)
        colour = _SCHEME_COLOURS[place % len(_SCHEME_COLOURS)]
        looks[name] = Look(label, colour, _SHAPES[place % len(_SHAPES)], _DASHES[place % len(_DASHES)])
    return looks


def short_label(text: str, longest: int = _LONGEST) -> str:
    """Make a text fit to be drawn: one line, nothing invisible, and cut, with an ellipsis, where it is too long.

    Examples
    --------
    >>> short_label("two" + chr(10) + "lines")
    'two lines'
    >>> short_label("x" * 10_000, 5)
    'xxxx…'
    """
    # Far more than can be shown; the rest of a huge text need not be looked at.
    start = text[: 4 * longest]
    visible = "".join(
        " " if unicodedata.category(letter) in {"Cc", "Cs", "Co", "Zl", "Zp"} or letter in _TURNING else letter
        for letter in start
    )
    line = " ".join(visible.split())
    cut = len(line) > longest or len(text) > len(start)
    return (line[: longest - 1] + "…" if cut else line) or "(no name)"


def by_scheme(looks: Iterable[Look], kind: str, *, legend: alt.Legend | None = None) -> Any:
    """Encode the field `scheme`, which holds labels, by "color", "shape" or "strokeDash"."""
    looks = list(looks)
    values = {"color": "colour", "shape": "shape", "strokeDash": "dash"}[kind]
    channel = {"color": alt.Color, "shape": alt.Shape, "strokeDash": alt.StrokeDash}[kind]
    scale = alt.Scale(domain=[look.label for look in looks], range=[getattr(look, values) for look in looks])
    return channel("scheme:N", title=None, scale=scale, legend=legend, sort=None)


def scheme_legend(looks: Iterable[Look], *, lines: bool) -> alt.Legend:
    """Make the legend of a figure that tells the schemes by colour and dash of lines, or colour and shape of points."""
    many = max(len(look.label) for look in looks) <= 18
    # The outline of a point would be dashed as the line through it is.
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


def choose_schemes(looks: Iterable[Look]) -> alt.Parameter:
    """Make the parameter `shown`, the labels of the schemes that are drawn; a page may set it to choose schemes."""
    return alt.param(name="shown", value=[look.label for look in looks])


def number_axis(title: str | None, values: Sequence[float] | None = None, *, ticks: int | None = None) -> alt.Axis:
    """Make an axis of amounts, of which 50,000 is told as 50k."""
    # The axis's own way to shorten numbers gives all of them one unit, and 500 among millions is then 0M.
    told = "abs(datum.value) < 10000 ? format(datum.value, ',~g') : format(datum.value, '~s')"
    optional: dict[str, Any] = {
        name: given for name, given in (("values", values), ("tickCount", ticks)) if given is not None
    }
    return alt.Axis(title=title, labelExpr=told, **optional)


def is_shown() -> str:
    """Filter that leaves the schemes which `shown` names."""
    return "indexof(shown, datum.scheme) >= 0"


def dress(
    chart: Any, title: str, *, description: str, subtitle: Sequence[str] = (), shown: Iterable[Look] = ()
) -> alt.TopLevelMixin:
    """Give a chart its title, its text alternative, the schemes that it shows and the style of all figures."""
    looks = list(shown)
    if looks:
        chart = chart.add_params(choose_schemes(looks))
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
    # A label for every mark would only repeat the data to a screen reader, point after point.
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


FORMATS = (".html", ".png", ".svg")
# Of a .png: about two pixels for each of the figure's own, so that it is sharp in print.
_PIXELS_PER_INCH = 144


def save_figure(figure: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a figure as .svg, .png or as one self-contained .html file that needs no network."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            "figure", f"{ending or 'no ending'!r} is not a format", f"End the name in {', '.join(FORMATS)}"
        )
    if ending == ".png":
        content = draw_png(figure)
    else:
        content = (draw_svg(figure) if ending == ".svg" else _page(figure)).encode()
    with written_whole(path, private=True, argument="figure") as temporary:
        temporary.write_bytes(content)


def specify(figure: alt.TopLevelMixin) -> dict[str, Any]:
    """Give the figure's Vega-Lite specification, with its data inside."""
    return figure.to_dict(context={"pre_transform": False})


def draw_svg(figure: alt.TopLevelMixin | dict[str, Any]) -> str:
    """Draw a figure, or what `specify` gave of it, as SVG, with its description as the text alternative."""
    specification = figure if isinstance(figure, dict) else specify(figure)
    svg = vl_convert.vegalite_to_svg(specification, vl_version=_version())
    told = specification.get("description", "")
    if not told:
        return svg
    opening, rest = svg.removeprefix("<svg ").split(">", maxsplit=1)
    return f'<svg role="img" aria-label="{escape(told)}" {opening}><title>{escape(told)}</title>{rest}'


def draw_png(figure: alt.TopLevelMixin | dict[str, Any]) -> bytes:
    """Draw a figure, or what `specify` gave of it, as PNG."""
    specification = figure if isinstance(figure, dict) else specify(figure)
    return vl_convert.vegalite_to_png(specification, vl_version=_version(), ppi=_PIXELS_PER_INCH)


def _version() -> str:
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _page(figure: alt.TopLevelMixin) -> str:
    """One HTML page with the drawing library inside; text from data cannot end the script that it stands in."""
    specification = json.dumps(specify(figure)).replace("<", "\\u003c")
    # The library's own stub leaves out that the snippet is optional.
    library = vl_convert.javascript_bundle(vl_version=_version())  # pyright: ignore[reportCallIssue]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Molehill</title></head>\n<body>\n'
        f'<div id="figure"></div>\n<script type="module">{library}\n'
        f'vegaEmbed("#figure", {specification}, {{"actions": false}});</script>\n</body>\n</html>\n'
    )
