"""Figures: a tidy table in, a chart out. Each pairs with the function that makes its table."""

import io
import json
from collections.abc import Mapping
from pathlib import Path

import altair as alt
import pandas as pd
import vl_convert

from molehill.errors import InputError
from molehill.files import written_whole

# Okabe and Ito's colours: told apart by people with any colour vision, and in grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
FORMATS = (".html", ".png", ".svg")


def risk_histogram(bins: Mapping[str, pd.DataFrame]) -> alt.TopLevelMixin:
    """Draw how risk is spread over the records, one panel a scheme.

    Parameters
    ----------
    bins
        For every scheme by name, the table of `molehill.profile.count_bins`.
    """
    table = pd.concat([part.assign(scheme=name) for name, part in bins.items()], ignore_index=True)
    description = "Number of records by identification risk. " + "; ".join(
        f"{name}: most records between {part['low'].iloc[fullest]:.2f} and {part['high'].iloc[fullest]:.2f}"
        for name, part, fullest in ((name, part, int(part["records"].argmax())) for name, part in bins.items())
    )
    bars = (
        alt.Chart(table)
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "low:Q",
                title="identification risk of the record",
                bin="binned",
                scale=alt.Scale(domain=[0, 1]),
            ),
            x2="high:Q",
            y=alt.Y("records:Q", title="records"),
            color=alt.Color(
                "scheme:N", legend=None, sort=list(bins), scale=alt.Scale(range=list(COLOURS[: len(bins)]))
            ),
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".2f"),
                alt.Tooltip("high:Q", title="to", format=".2f"),
                alt.Tooltip("records:Q", format=","),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width=460, height=190, description=description)
    )
    return bars.facet(
        row=alt.Row(
            "scheme:N",
            title=None,
            sort=list(bins),
            header=alt.Header(labelFontSize=13, labelOrient="top", labelAnchor="start"),
        )
    )


def save_figure(figure: alt.TopLevelMixin, path: str | Path) -> None:
    """Write a figure as .svg, .png or as one self-contained .html file that needs no network."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(
            "figure", f"{ending or 'no ending'!r} is not a format", f"End the name in {', '.join(FORMATS)}"
        )
    text, picture = io.StringIO(), io.BytesIO()
    if ending == ".png":
        figure.save(picture, format="png", ppi=144)
    elif ending == ".svg":
        figure.save(text, format="svg")
    else:
        text.write(_page(figure))
    content = picture.getvalue() or text.getvalue().encode()
    with written_whole(path, private=True, argument="figure") as temporary:
        temporary.write_bytes(content)


def _page(figure: alt.TopLevelMixin) -> str:
    """One HTML page with the drawing library inside; text from data cannot end the script that it stands in."""
    specification = json.dumps(figure.to_dict(context={"pre_transform": False})).replace("<", "\\u003c")
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    # The library's own stub leaves out that the snippet is optional.
    library = vl_convert.javascript_bundle(vl_version=version)  # pyright: ignore[reportCallIssue]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Molehill</title></head>\n<body>\n'
        f'<div id="figure"></div>\n<script type="module">{library}\n'
        f'vegaEmbed("#figure", {specification}, {{"actions": false}});</script>\n</body>\n</html>\n'
    )
