"""Charts as files: Vega-Lite specification, SVG, PNG, and self-contained HTML."""

import json
import re
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from molehill.errors import InputError
from molehill.files import written_whole

FORMATS = (".html", ".png", ".svg")
# Of a .png: about two pixels per chart pixel, for print.
_PIXELS_PER_INCH = 144
_BUNDLE = (
    "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle(vl_version=sys.argv[1]).encode())"
)
_GRADIENT = re.compile(r"gradient_\d+")


def save_chart(chart: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a chart as .svg, .png or self-contained .html."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError("chart", f"{ending or 'no ending'!r} is not a format", f"End the name in {', '.join(FORMATS)}")
    drawn = {".html": _page, ".png": draw_png, ".svg": draw_svg}[ending](chart)
    content = drawn if isinstance(drawn, bytes) else drawn.encode()
    with written_whole(path, private=True, argument="chart") as temporary:
        temporary.write_bytes(content)


def specify(chart: alt.TopLevelMixin, *, validate: bool = True) -> dict[str, Any]:
    """The chart's Vega-Lite specification with its data, by default validated against the schema."""
    return chart.to_dict(context={"pre_transform": False}, validate=validate)


def draw_svg(chart: alt.TopLevelMixin | dict[str, Any]) -> str:
    """Draw a chart, or its specification, as SVG, with its description as text alternative."""
    specification = chart if isinstance(chart, dict) else specify(chart)
    svg = _number_gradients(vl_convert.vegalite_to_svg(specification, vl_version=vega_lite_version()))
    description = specification.get("description", "")
    if not description:
        return svg
    opening, rest = svg.removeprefix("<svg ").split(">", maxsplit=1)
    label = escape(description)
    return f'<svg role="img" aria-label="{label}" {opening}><title>{label}</title>{rest}'


def _number_gradients(svg: str) -> str:
    """Number gradients from 0: the library counts all gradients of the process."""
    found = {name: f"gradient_{place}" for place, name in enumerate(dict.fromkeys(_GRADIENT.findall(svg)))}
    return _GRADIENT.sub(lambda match: found[match[0]], svg)


def draw_png(chart: alt.TopLevelMixin | dict[str, Any]) -> bytes:
    """Draw a chart, or its specification, as PNG."""
    specification = chart if isinstance(chart, dict) else specify(chart)
    return vl_convert.vegalite_to_png(specification, vl_version=vega_lite_version(), ppi=_PIXELS_PER_INCH)


def vega_lite_version() -> str:
    """Version of Vega-Lite of the specifications."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


@cache
def drawing_library() -> str:
    """The script that draws charts in a page."""
    # Made in another process: the library holds the interpreter for more than a second, and no progress could be shown.
    command = [sys.executable, "-c", _BUNDLE, vega_lite_version()]
    made = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if made.returncode == 0:
        return made.stdout.decode()
    # In the library's stub the optional argument `snippet` is required.
    return vl_convert.javascript_bundle(vl_version=vega_lite_version())  # pyright: ignore[reportCallIssue]


def _page(chart: alt.TopLevelMixin) -> str:
    """A self-contained HTML page; text from data cannot end its script element."""
    specification = json.dumps(specify(chart)).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Molehill</title></head>\n<body>\n'
        f'<div id="chart"></div>\n<script type="module">{drawing_library()}\n'
        f'vegaEmbed("#chart", {specification}, {{"actions": false}});</script>\n</body>\n</html>\n'
    )
