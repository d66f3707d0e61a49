"""Draw docs/images/calibration.svg, and write the table of docs/calibration.md: some ten minutes on two cores.

.venv/bin/python docs/calibration_figure.py
"""

import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "synthesis"))

from test_calibration import (  # pyright: ignore[reportMissingImports]
    FALSE_ALARM,
    KEPT,
    REPLICATIONS,
    Calibration,
    allowed_chance,
    calibrate_all,
    envelope,
    uniformity,
)

from molehill import models
from molehill.charts import COLOURS, save_chart

PICTURE = Path(__file__).parent / "images" / "calibration.svg"
COLUMNS = 7
Parts = Mapping[str, Calibration]


def tabulate_curves(part: Calibration, tested: float) -> pd.DataFrame:
    """Give, by quantity and point, how far the share of ranks below it and its envelopes are from uniform."""
    points = np.arange(KEPT + 2)
    uniform = points / (KEPT + 1)
    bands = {}
    for name, chance in (("wide", tested), ("narrow", 0.05)):
        for side, counts in zip(("low", "high"), envelope(chance, REPLICATIONS), strict=True):
            bands[f"{name}_{side}"] = np.array([0, *counts, REPLICATIONS]) / REPLICATIONS - uniform
    curves = []
    for quantity, ranks in part.ranks.items():
        share = (ranks[:, None] < points).mean(axis=0) - uniform
        curves.append(pd.DataFrame({"quantity": quantity, "point": uniform, "share": share, **bands}))
    return pd.concat(curves, ignore_index=True).round(4)


def draw_part(title: str, part: Calibration, tested: float) -> alt.ConcatChart:
    """Draw one small panel a quantity: the curve, and the envelopes that it should stay in."""
    curves = tabulate_curves(part, tested)
    x = alt.X("point:Q", title=None, axis=alt.Axis(values=[0, 0.5, 1], grid=False, format="~g"))
    height = alt.Scale(domain=[-0.2, 0.2])
    axis = alt.Axis(values=[-0.1, 0, 0.1])
    panels = []
    for quantity in part.ranks:
        base = alt.Chart(curves[curves["quantity"] == quantity].drop(columns="quantity")).encode(x)
        layers = [
            base.mark_area(color=colour).encode(alt.Y(f"{name}_low:Q", scale=height), alt.Y2(f"{name}_high:Q"))
            for name, colour in (("wide", "#e8e8e8"), ("narrow", "#cfcfcf"))
        ]
        line = base.mark_line(color=COLOURS[0], strokeWidth=1.5)
        layers.append(line.encode(alt.Y("share:Q", title=None, axis=axis, scale=height)))
        panels.append(alt.layer(*layers).properties(width=92, height=60, title=alt.Title(quantity, fontSize=11)))
    heading = alt.Title(title, anchor="start", fontSize=14)
    return alt.concat(*panels, columns=COLUMNS, spacing=8).properties(title=heading)


def draw_all(results: Mapping[str, Parts]) -> alt.TopLevelMixin:
    """Draw every synthesizer, and each part of one that has parts."""
    rows = [
        draw_part(f"{name}, {part}" if part else name, calibration, allowed_chance(parts))
        for name, parts in results.items()
        for part, calibration in parts.items()
    ]
    description = "Share of ranks below a point minus the uniform share, by synthesizer and quantity, with envelopes."
    whole = alt.vconcat(*rows, spacing=14).properties(description=description, background="white")
    return whole.configure_view(stroke="#dddddd")


def write_row(name: str, parts: Parts, seconds: float) -> str:
    """Write one row of the table in docs/calibration.md."""
    chances = {
        f"{part} {quantity}".strip(): uniformity(ranks)
        for part, of in parts.items()
        for quantity, ranks in of.ranks.items()
    }
    least = min(chances, key=lambda quantity: chances[quantity])
    effective = min(float(np.median(sizes)) for of in parts.values() for sizes in of.effective.values())
    divergent = max(of.divergent for of in parts.values())
    cells = [f"`{name}`", len(chances), f"{chances[least]:.3f} ({least})", f"{allowed_chance(parts):.5f}"]
    cells += [f"{effective:.0f}", f"{divergent:.2%}", f"{seconds:.0f}"]
    return "| " + " | ".join(map(str, cells)) + " |\n"


def write_picture(results: Mapping[str, Parts], path: Path) -> None:
    """Write the figure, with tenths of a pixel: half the size."""
    save_chart(draw_all(results), path)
    path.write_text(re.sub(r"\d+\.\d\d+", lambda number: f"{float(number[0]):.1f}", path.read_text()))


def main() -> None:
    """Calibrate every synthesizer, and write figure and table."""
    results = {}
    sys.stdout.write(f"{REPLICATIONS} replications, family-wise false alarm rate {FALSE_ALARM:.0%}\n")
    for name in models.__all__:
        begun = time.perf_counter()
        results[name] = calibrate_all(name)
        sys.stdout.write(write_row(name, results[name], time.perf_counter() - begun))
        sys.stdout.flush()
    write_picture(results, PICTURE)


if __name__ == "__main__":
    main()
