"""An evaluation where it is looked at first: a verdict, the schemes side by side, and the data, in text and notebooks.

It shows no more of the confidential table than the internal report does.
"""

from base64 import b64encode
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.telling import Teller, as_figure, cut_measure, cut_name
from molehill.evaluation.verdict import SIDE_BY_SIDE, Verdict

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import Evaluation

_COLOURS = {"no objection": "#0b6b3a", "board decision needed": "#8a3b00", "do not release": "#a01c1c"}


def side_by_side(evaluation: "Evaluation") -> pd.DataFrame:
    """Set the schemes beside each other in what matters most: one row a measure, one column a scheme, in words."""
    both = pd.concat([evaluation.risk, evaluation.utility], ignore_index=True)
    both = both[both["measure"].isin(SIDE_BY_SIDE) & (both["group"] == "") & both["value"].notna()]
    order = {name: place for place, name in enumerate(SIDE_BY_SIDE)}
    both = both.sort_values("measure", key=lambda ids: ids.map(order), kind="stable")
    units = dict(zip(evaluation.measures["id"], evaluation.measures["unit"], strict=True))
    teller = Teller("internal", len(evaluation.records))
    # The same measure of several columns, whose words do not say which.
    alike = both.groupby("name")["column"].transform("nunique") > 1
    both = both.assign(name=both["name"].where(~alike, both["name"] + ", " + both["column"]))
    rows: dict[str, dict[str, str]] = {}
    for row in both.to_dict("records"):
        told = teller.figure(units[row["measure"]], as_figure(row)).text
        rows.setdefault(cut_measure(row["name"]), {})[cut_name(row["scheme"])] = told
    schemes = [cut_name(name) for name in (CONFIDENTIAL, *evaluation.schemes)]
    return pd.DataFrame.from_dict(rows, orient="index").reindex(columns=schemes).fillna("")


def show_html(evaluation: "Evaluation", scheme: str, verdict: Verdict) -> str:
    """Show a verdict, the schemes side by side and every sensitive column, as a piece of HTML for a notebook."""
    table = side_by_side(evaluation).to_html(escape=True, border=0)
    colour = _COLOURS[verdict.decision]
    figures = "".join(_draw(figure) for figure in _list_figures(evaluation, scheme))
    return (
        f'<div><p style="border-left: 6px solid {colour}; padding: 0.4em 0.8em; max-width: 60em">'
        f"{escape(verdict.sentence)}</p>{table}<div>{figures}</div></div>"
    )


def _list_figures(evaluation: "Evaluation", scheme: str) -> Iterator[Any]:
    # Drawing loads slowly, and to evaluate need not wait for it.
    from molehill.charts.shapes import level_shares, shape_curve  # noqa: PLC0415

    shapes = evaluation.shapes
    for column in shapes["column"].unique():
        if "level" in set(shapes.loc[shapes["column"] == column, "curve"]):
            yield level_shares(evaluation, f"{column}", scheme)
            continue
        yield shape_curve(evaluation, f"{column}", scheme, curve="density")
        yield shape_curve(evaluation, f"{column}", scheme, curve="below")


def _draw(figure: Any) -> str:
    from molehill.charts.files import draw_svg, specify  # noqa: PLC0415

    specification = specify(figure)
    content = b64encode(draw_svg(specification).encode()).decode()
    told = escape(f"{specification['description']}")
    return f'<img style="display: inline-block; margin: 0.5em" alt="{told}" src="data:image/svg+xml;base64,{content}">'
