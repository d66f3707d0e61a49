"""Charts: functions from tidy data frames to Altair charts, each named after the data it shows.

`save_chart` writes a chart; `draw_svg`, `draw_png` and `specify` prepare it for a page. Methods look the same in all
charts (`scheme_looks`), and a chart of several methods has a parameter `shown`, the labels of those to draw.
`risk_scatter` and `weights_scatter` show records, and `shape_curve`, `group_spread` and `level_shares` confidential
values on round numbers: they are for internal use only. The others show aggregates.
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
