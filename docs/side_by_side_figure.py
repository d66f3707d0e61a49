"""Draw docs/images/side_by_side.svg from the figures that benchmarks/side_by_side.py keeps.

python docs/side_by_side_figure.py side_by_side.csv
"""

import re
import sys
from pathlib import Path

import altair as alt
import pandas as pd

from molehill.charts import COLOURS, save_chart

PICTURE = Path(__file__).parent / "images" / "side_by_side.svg"
DATA = {"ce": "CE sample, income", "nist": "nist_ma, five columns"}
RISKS = {
    "isolated_mean": "mean risk of the most isolated 1%",
    "attribution_gain": "right guesses owed to the own record",
    "singling_out": "singled out by three columns",
}
UTILITY, THREE = "agreement_3", 3.0
SCHEMES = {
    "Molehill": "circle",
    "synthpop": "square",
    "topcoding": "diamond",
    "noise": "cross",
    "swapping": "triangle-up",
}
BOUNDS = [0.0, 1.0]


def pair_figures(table: pd.DataFrame) -> pd.DataFrame:
    """Set every risk beside the agreement of triples: one row a data set, risk and scheme."""
    table = table[table["scheme"].isin(list(SCHEMES)) & ~table["halves"]]
    kept = table[table["measure"] == UTILITY].set_index(["data", "scheme"])[["value", "other"]]
    kept = kept.rename(columns={"value": "agreement", "other": "fresh"})
    risks = table[table["measure"].isin(list(RISKS)) & (table["at"].isna() | (table["at"] == THREE))]
    return risks.join(kept, on=["data", "scheme"])


def draw(found: pd.DataFrame) -> alt.TopLevelMixin:
    """Draw one panel a data set and risk, and a point with its interval for every scheme."""
    names, shapes = list(SCHEMES), list(SCHEMES.values())
    colour = alt.Color("scheme:N", title=None, scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])))
    colour = colour.legend(orient="top")
    shape = alt.Shape("scheme:N", title=None, scale=alt.Scale(domain=names, range=shapes))
    rows = []
    for data, title in DATA.items():
        own = found[found["data"] == data]
        ends = [float(own["agreement"].min()) - 15, 1010.0]
        panels = []
        for place, (measure, words) in enumerate(RISKS.items()):
            some = own[own["measure"] == measure]
            scale = alt.Scale(domain=ends, nice=False, zero=False)
            x = alt.X("agreement:Q", title="agreement of triples, of 1,000", scale=scale)
            y = alt.Y("value:Q", title=words, scale=alt.Scale(domain=BOUNDS, clamp=True))
            base = alt.Chart(some).encode(x, y)
            line = alt.Chart(some.iloc[:1]).mark_rule(color="#777777", strokeDash=[4, 3])
            bars = base.mark_rule().encode(colour, alt.Y("low:Q"), alt.Y2("high:Q"))
            points = base.mark_point(filled=True, size=90, opacity=1).encode(colour, shape)
            told = alt.Title(title if place == 0 else "", anchor="start", fontSize=13)
            panels.append(
                alt.layer(line.encode(alt.X("fresh:Q", scale=scale)), bars, points).properties(
                    width=220, height=210, title=told
                )
            )
        rows.append(alt.hconcat(*panels, spacing=18))
    description = (
        "Risk against utility of five schemes, on two data sets: to the right more of the table is kept, further down "
        "less is given away. The dashed line is what a fresh sample would keep."
    )
    whole = alt.vconcat(*rows, spacing=18).properties(description=description, background="white")
    return whole.configure_view(stroke="#dddddd")


def main() -> None:
    """Draw what the file holds, with tenths of a pixel."""
    save_chart(draw(pair_figures(pd.read_csv(sys.argv[1]))), PICTURE)
    PICTURE.write_text(re.sub(r"\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}", PICTURE.read_text()))


if __name__ == "__main__":
    main()
