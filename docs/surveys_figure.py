"""Draw docs/images/survey_coverage.svg from the results of benchmarks/surveys.py.

python docs/surveys_figure.py survey_coverage.jsonl
"""

import re
import sys
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from molehill.charts import COLOURS, save_chart
from surveys import WAYS, read_results, summarise  # pyright: ignore[reportMissingImports]

PICTURE = Path(__file__).parent / "images" / "survey_coverage.svg"
LEVEL = 0.95
# What lies below is drawn at the edge: by how much an interval misses does not matter there.
LEAST = 0.5


def tabulate_coverage(results: pd.DataFrame) -> pd.DataFrame:
    """Give coverage by way and estimate, and two Monte Carlo errors to either side of what it should be."""
    found = summarise(results)
    reach = 2 * np.sqrt(LEVEL * (1 - LEVEL) / found["samples"])
    inside = (found["coverage"] - LEVEL).abs() <= reach
    told = np.where(inside, "within Monte Carlo error of 95%", np.where(found["coverage"] < LEVEL, "below", "above"))
    ends = {"low": LEVEL - reach, "high": np.minimum(LEVEL + reach, 1.0)}
    return found.assign(
        shown=found["coverage"].clip(LEAST), label=found["coverage"].map("{:.2f}".format), told=told, **ends
    )


def draw_coverage(found: pd.DataFrame) -> alt.TopLevelMixin:
    """Draw one panel an estimate, one row a way."""
    ways = [way for way in WAYS if way in set(found["way"])]
    scale = alt.Scale(domain=[LEAST, 1.0], zero=False)
    ticks = alt.Axis(format=".0%", values=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    x = alt.X("shown:Q", title="samples whose interval holds the truth", scale=scale, axis=ticks)
    axis = alt.Axis(labelLimit=300, labelPadding=10, domain=False, ticks=False, grid=True)
    said = ["within Monte Carlo error of 95%", "above", "below"]
    colour = alt.Color(
        "told:N",
        title=None,
        scale=alt.Scale(domain=said, range=[COLOURS[0], COLOURS[1], COLOURS[4]]),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape("told:N", title=None, scale=alt.Scale(domain=said, range=["circle", "triangle-up", "square"]))
    panels = []
    for place, name in enumerate(dict.fromkeys(found["estimate"])):
        own = found[found["estimate"] == name]
        labels = axis if place % 3 == 0 else alt.Axis(labels=False, domain=False, ticks=False, grid=True)
        y = alt.Y("way:N", sort=ways, title=None, axis=labels)
        band = alt.Chart(own.iloc[:1]).mark_rect(color="#e3e3e3").encode(alt.X("low:Q", scale=scale), alt.X2("high:Q"))
        line = (
            alt.Chart(pd.DataFrame({"level": [LEVEL]})).mark_rule(color="#777777").encode(alt.X("level:Q", scale=scale))
        )
        base = alt.Chart(own).encode(x, y)
        points = base.mark_point(filled=True, size=55, opacity=1).encode(colour, shape)
        # A point at the edge says how far beyond it is.
        far = base.transform_filter(f"datum.coverage < {LEAST}").mark_text(align="left", dx=8, fontSize=10)
        layers = alt.layer(band, line, points, far.encode(alt.Text("label:N")))
        panels.append(layers.properties(width=210, height=18 * len(ways), title=alt.Title(name, fontSize=13)))
    description = "Coverage of 95% intervals by way to fit and estimate, with the 95% line and its Monte Carlo error."
    whole = alt.concat(*panels, columns=3, spacing=18).properties(description=description, background="white")
    return whole.configure_view(stroke="#dddddd")


def main() -> None:
    """Draw what the file holds, with tenths of a pixel."""
    found = tabulate_coverage(read_results(Path(sys.argv[1])))
    save_chart(draw_coverage(found), PICTURE)
    PICTURE.write_text(re.sub(r"\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}", PICTURE.read_text()))


if __name__ == "__main__":
    main()
