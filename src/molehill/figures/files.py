"""Figures as files: .svg, .png, or one page of HTML that needs no network."""

import json
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from molehill.errors import InputError
from molehill.files import written_whole

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
