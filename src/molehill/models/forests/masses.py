"""Masses of records: a draw of the pseudo posterior of their distribution, with the variance of the survey's design.

Without a survey a record of weight a_i has the mass Gamma(a_i). With design weights d_i that sum to the number of
records, Gamma(a_i d_i) would be the plain pseudo posterior: it has the variance of as many equal records, whatever the
design. With the correction a record has the mass d_i m_u g_i:

- m_u belongs to its unit of the first stage (its cluster, or itself). In a stratum of n_h units of which the fraction
  f_h was drawn, these are n_h times Dirichlet(c_h, ..., c_h) with c_h = (n_h - 2 + f_h) / ((1 - f_h) n_h): the weighted
  mean of the masses then has just the variance of `molehill.surveys.variances.linearised`. With n_h = 2 and f_h = 0
  that is one of the two, by chance, twice. A single unit has Gamma with mean 1 and variance 1 - f_h ("adjust"), or 1;
- g_i belongs to the record, has the mean a_i and such a variance that the record has a_i (1 - a_i) d_i^2 more than its
  unit gives it: so much less sure the risk weight makes it, survey or not.
"""

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.surveys.design import Sample
from molehill.synthesis.survey_fit import Survey

# So small a shape that all mass of a stratum lies on one of its units.
LEAST_SHAPE = 1e-6


def draw_masses(random: np.random.Generator, weights: Floats, survey: Survey | None = None) -> Floats:
    """Draw the masses of all records once, by their risk weights and the survey that they are from.

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
    # The variance of what a unit's mass is multiplied by has to allow for the mean square of that.
    squares = np.where(find_certain(sample), 1.0, 2 - sample.fractions)[sample.stratum_of][sample.cluster]
    spread = (1 - weights[thinned]) / squares[thinned]
    own[thinned] = random.standard_gamma(weights[thinned] / spread) * spread
    return survey.times * units[survey.sample.cluster] * own


def find_certain(sample: Sample) -> Booleans:
    """Say of which strata the units were sure to be drawn: their masses do not vary."""
    alone = np.bincount(sample.stratum_of) == 1
    return (sample.fractions >= 1) | (alone & (sample.single != "adjust"))


def draw_units(random: np.random.Generator, sample: Sample) -> Floats:
    """Draw the masses of all units of the first stage: of mean 1, by strata, with the variance of the design."""
    stratum, drawn = sample.stratum_of, np.bincount(sample.stratum_of)
    certain = find_certain(sample)
    alone = (drawn == 1) & ~certain
    remain = np.where(certain, 1.0, 1 - sample.fractions)
    shape = np.where(alone, 1 / remain, np.maximum((drawn - 1 - remain) / (remain * drawn), LEAST_SHAPE))
    # The logarithm of a Gamma, since that of a small shape is too small for a floating number.
    logs = np.log(random.standard_gamma(shape[stratum] + 1)) + np.log(1 - random.random(len(stratum))) / shape[stratum]
    most = np.full(len(drawn), -np.inf)
    np.maximum.at(most, stratum, logs)
    most[alone] = 0.0
    masses = np.exp(logs - most[stratum])
    sums = np.where(alone, shape, np.bincount(stratum, masses))
    return np.where(certain[stratum], 1.0, masses * (drawn / sums)[stratum])
