"""Charts: a tidy dataset in, a picture out. Each pairs with the function that makes its dataset.

A chart is an Altair one: `save_chart` writes it, `draw_svg`, `draw_png` and `specify` give it to a page. Schemes look
the same in all of them (`scheme_looks`), and a chart that shows several has a parameter `shown`, the labels of those to
draw. `risk_scatter` and `weights_scatter` show records, and `shape_curve`, `group_spread` and `level_shares`
the confidential values on round numbers: they are for the agency alone. The others hold aggregates.
"""

from molehill.charts.estimates import estimate_intervals
from molehill.charts.files import draw_png, draw_svg, save_chart, specify
from molehill.charts.maps import Which, measure_map, risk_utility_map, search_map
from molehill.charts.risk import radius_lines, risk_histogram, risk_scatter, risk_violins
from molehill.charts.shapes import group_spread, level_shares, shape_curve
from molehill.charts.style import COLOURS, Look, scheme_looks
from molehill.charts.values import densities, ecdfs, weights_scatter

__all__ = [
    "COLOURS",
    "Look",
    "Which",
    "densities",
    "draw_png",
    "draw_svg",
    "ecdfs",
    "estimate_intervals",
    "group_spread",
    "level_shares",
    "measure_map",
    "radius_lines",
    "risk_histogram",
    "risk_scatter",
    "risk_utility_map",
    "risk_violins",
    "save_chart",
    "scheme_looks",
    "search_map",
    "shape_curve",
    "specify",
    "weights_scatter",
]
