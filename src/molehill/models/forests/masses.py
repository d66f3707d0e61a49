"""Bayesian-bootstrap weights of the records, with the variance of the survey design.

Without a survey a record of risk weight a_i has the bootstrap weight Gamma(a_i). With survey weights d_i that sum to
the number of records, Gamma(a_i d_i) is the uncorrected pseudo posterior, whose variance ignores the design. With
variance correction, a record has the weight d_i m_u g_i:

- m_u belongs to its first-stage unit (cluster, or the record itself). In a stratum with n_h units and sampling fraction
  f_h, they are n_h times Dirichlet(c_h, ..., c_h) with c_h = (n_h - 2 + f_h) / ((1 - f_h) n_h): the weighted mean then
  has exactly the variance of `molehill.surveys.variances.linearised`. With n_h = 2 and f_h = 0, one of the two units,
  chosen at random, counts twice. A single unit has Gamma with mean 1 and variance 1 - f_h ("adjust"), or 1;
- g_i belongs to the record and has mean a_i and such a variance that a_i (1 - a_i) d_i^2 is added to the variance from
  the unit: the additional uncertainty due to the risk weight.
"""

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.surveys.design import Sample
from molehill.synthesis.survey_fit import Survey

# A shape so small that one unit has the whole weight of its stratum.
LEAST_SHAPE = 1e-6


def draw_masses(random: np.random.Generator, weights: Floats, survey: Survey | None = None) -> Floats:
    """Draw the bootstrap weights of all records, given their risk weights and the survey design.

    Examples
    --------
    >>> draw_masses(np.random.default_rng(1), np.array([1.0, 0.0])).round(3)
    array([1.073, 0.   ])
    """
    if survey is None:
        return random.standard_gamma(weights)
    if not survey.sandwich:
        return random.standard_gamma(weights * survey.times)
    sample = survey.sample
    units = draw_units(random, sample)
    thinned = (weights > 0) & (weights < 1)
    own = weights.copy()
    # The mean square of the units' weights, by which the records' variances are multiplied.
    squares = np.where(find_certain(sample), 1.0, 2 - sample.fractions)[sample.stratum_of][sample.cluster]
    spread = (1 - weights[thinned]) / squares[thinned]
    own[thinned] = random.standard_gamma(weights[thinned] / spread) * spread
    return survey.times * units[survey.sample.cluster] * own


def find_certain(sample: Sample) -> Booleans:
    """Strata whose units were drawn with certainty, so that their weights do not vary."""
    alone = np.bincount(sample.stratum_of) == 1
    return (sample.fractions >= 1) | (alone & (sample.single != "adjust"))


def draw_units(random: np.random.Generator, sample: Sample) -> Floats:
    """Draw the weights of all first-stage units, with mean 1 by stratum and the variance of the design."""
    stratum, drawn = sample.stratum_of, np.bincount(sample.stratum_of)
    certain = find_certain(sample)
    alone = (drawn == 1) & ~certain
    remain = np.where(certain, 1.0, 1 - sample.fractions)
    shape = np.where(alone, 1 / remain, np.maximum((drawn - 1 - remain) / (remain * drawn), LEAST_SHAPE))
    # On the log scale, because a Gamma with a small shape underflows.
    logs = np.log(random.standard_gamma(shape[stratum] + 1)) + np.log(1 - random.random(len(stratum))) / shape[stratum]
    most = np.full(len(drawn), -np.inf)
    np.maximum.at(most, stratum, logs)
    most[alone] = 0.0
    masses = np.exp(logs - most[stratum])
    sums = np.where(alone, shape, np.bincount(stratum, masses))
    return np.where(certain[stratum], 1.0, masses * (drawn / sums)[stratum])
