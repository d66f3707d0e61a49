"""Figures: a tidy table in, a chart out. Each pairs with the function that makes its table.

The chart is an Altair one: `save_figure` writes it, `draw_svg` and `specify` give it to a page. Schemes look the same
in all of them (`scheme_looks`), and a chart that shows several has a parameter `shown`, the labels of those to draw.
`risk_scatter` and `weights_scatter` show records and are for the agency alone; the others hold aggregates.
"""

from molehill.figures.files import draw_png, draw_svg, save_figure, specify
from molehill.figures.record_charts import risk_scatter, weights_scatter
from molehill.figures.risk_charts import radius_lines, risk_histogram, risk_violins
from molehill.figures.search_charts import search_map
from molehill.figures.style import COLOURS, Look, scheme_looks
from molehill.figures.utility_charts import estimate_intervals, risk_utility_map
from molehill.figures.value_charts import densities, ecdfs

__all__ = [
    "COLOURS",
    "Look",
    "densities",
    "draw_png",
    "draw_svg",
    "ecdfs",
    "estimate_intervals",
    "radius_lines",
    "risk_histogram",
    "risk_scatter",
    "risk_utility_map",
    "risk_violins",
    "save_figure",
    "scheme_looks",
    "search_map",
    "specify",
    "weights_scatter",
]
