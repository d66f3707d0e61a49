"""Surveys: estimates and variances under a sampling design, and population uniqueness.

`SurveyDesign` names the design variables, and `read` makes a `Sample` of them. Estimates of a sample have design-based
variances; `population_risk` and `weighted_distances` use its weights; `detect_design` proposes a design.
"""

from molehill.surveys.design import Sample, SurveyDesign
from molehill.surveys.distances import WeightedDistances, weighted_distances, weighted_ecdf
from molehill.surveys.estimates import (
    SurveyEstimate,
    weighted_correlation,
    weighted_mean,
    weighted_quantile,
    weighted_regression,
    weighted_sd,
    weighted_share,
    weighted_table,
    weighted_total,
)
from molehill.surveys.rarity import PopulationRisk, population_risk
from molehill.surveys.recognising import Recognised, detect_design
from molehill.surveys.variances import bootstrap

__all__ = [
    "PopulationRisk",
    "Recognised",
    "Sample",
    "SurveyDesign",
    "SurveyEstimate",
    "WeightedDistances",
    "bootstrap",
    "detect_design",
    "population_risk",
    "weighted_correlation",
    "weighted_distances",
    "weighted_ecdf",
    "weighted_mean",
    "weighted_quantile",
    "weighted_regression",
    "weighted_sd",
    "weighted_share",
    "weighted_table",
    "weighted_total",
]
