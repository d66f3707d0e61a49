"""Utility: what users of released data compute, and how far distributions differ from the confidential data.

`estimate` compares the results of analyses and their confidence intervals. `ecdf_distances`, `wasserstein`,
`propensity`, `table_difference` and `agreement` compare the datasets themselves.
"""

from molehill.utility.analyses import Analysis, correlation, mean, median, quantile, regression, sd
from molehill.utility.comparison import estimate, interval_overlap
from molehill.utility.distances import Distances, ecdf_distances, propensity, table_difference, wasserstein
from molehill.utility.estimates import (
    Estimate,
    combine,
    mean_and_variance,
    quantile_and_variance,
    quantile_degrees,
)
from molehill.utility.marginals import Agreement, agreement, fresh_agreement
from molehill.utility.resampling import resample_means, resample_quantiles

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
    "mean_and_variance",
    "median",
    "propensity",
    "quantile",
    "quantile_and_variance",
    "quantile_degrees",
    "regression",
    "resample_means",
    "resample_quantiles",
    "sd",
    "table_difference",
    "wasserstein",
]
