"""Utility: whether a user of the released tables finds what one of the confidential table finds.

`estimate` compares the results of analyses, interval by interval. `ecdf_distances`, `wasserstein`, `propensity` and
`table_difference` compare the tables themselves.
"""

from molehill.utility.analyses import Analysis, correlation, mean, median, quantile, regression, sd
from molehill.utility.comparison import estimate, interval_overlap
from molehill.utility.distances import Distances, ecdf_distances, propensity, table_difference, wasserstein
from molehill.utility.estimates import Estimate, combine

__all__ = [
    "Analysis",
    "Distances",
    "Estimate",
    "combine",
    "correlation",
    "ecdf_distances",
    "estimate",
    "interval_overlap",
    "mean",
    "median",
    "propensity",
    "quantile",
    "regression",
    "sd",
    "table_difference",
    "wasserstein",
]
