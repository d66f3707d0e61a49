"""Utility: whether a user of the released tables finds what one of the confidential table finds.

`estimate` compares the results of analyses, interval by interval. `ecdf_distances`, `wasserstein`, `propensity`,
`table_difference` and `agreement` compare the tables themselves.
"""

from molehill.utility.analyses import Analysis, correlation, mean, median, quantile, regression, sd
from molehill.utility.comparison import estimate, interval_overlap
from molehill.utility.distances import Distances, ecdf_distances, propensity, table_difference, wasserstein
from molehill.utility.estimates import Estimate, combine
from molehill.utility.marginals import Agreement, agreement, fresh_agreement

__all__ = [
    "Agreement",
    "Analysis",
    "Distances",
    "Estimate",
    "agreement",
    "combine",
    "correlation",
    "ecdf_distances",
    "estimate",
    "fresh_agreement",
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
