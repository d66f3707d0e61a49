"""Figures: a tidy table in, a chart out. Each pairs with the function that makes its table.

The chart is an Altair one: `save_figure` writes it, `draw_svg` and `specify` give it to a page. Schemes look the same
in all of them (`scheme_looks`), and a chart that shows several has a parameter `shown`, the labels of those to draw.
`risk_scatter` and `weights_scatter` show records and are for the agency alone; the others hold aggregates.
"""

from molehill.charts.risk import radius_lines, risk_histogram, risk_scatter, risk_violins, weights_scatter
from molehill.charts.style import COLOURS, Look, draw_png, draw_svg, save_figure, scheme_looks, specify
from molehill.charts.utility import estimate_intervals, risk_utility_map, search_map
from molehill.charts.values import densities, ecdfs

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
