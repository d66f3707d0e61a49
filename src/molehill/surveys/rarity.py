"""Population uniqueness: population frequencies of patterns estimated from survey weights, and the resulting risk.

A sample unique may have many counterparts in the population. The sum of the weights of a pattern estimates its
population frequency.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from molehill.arrays import Floats, Integers, freeze
from molehill.errors import InputError
from molehill.surveys.design import as_numbers
from molehill.tables.patterns import learn_patterns
from molehill.tables.table import as_table, find_columns

# With at least this many records of a pattern, or p of 1/2 or more, this many terms of the series are exact.
_MANY, _TERMS = 30, 60


@dataclass(frozen=True, eq=False, repr=False)
class PopulationRisk:
    """Population frequencies and individual risk of every record.

    Attributes
    ----------
    sample_frequency
        Number of sample records in the record's pattern, f.
    population_frequency
        Estimated number of population units in the pattern, F: the sum of the weights, at least f.
    risk
        Individual risk: the mean of 1 / F given f, the probability of picking the right unit of the population.
    in_sample
        Probability that the person is in the sample, for an intruder who knows the pattern only: f times the risk, but
        at least 1 over the weight, the inclusion probability.
    """

    sample_frequency: Integers
    population_frequency: Floats
    risk: Floats
    in_sample: Floats

    @property
    def expected_matches(self) -> float:
        """Expected number of correct matches if the intruder picks one population unit of the pattern per record."""
        return float(self.risk.sum())

    @property
    def expected_uniques(self) -> float:
        """Expected number of sample records that are population uniques."""
        alone = self.sample_frequency == 1
        return float((1 / self.population_frequency[alone]).sum())

    def __repr__(self) -> str:
        alone = int((self.sample_frequency == 1).sum())
        return (
            f"PopulationRisk({len(self.risk):,} records, {alone:,} unique in the sample, "
            f"{self.expected_uniques:,.1f} expected to be unique in the population, "
            f"{self.expected_matches:,.1f} expected matches)"
        )


def population_risk(
    data: Any, known: str | Sequence[str], weights: Any, *, breaks: Mapping[str, Sequence[float]] | None = None
) -> PopulationRisk:
    """Estimate the individual risk of every record from survey weights (Benedetti and Franconi).

    Given f records of a pattern in the sample, its population frequency F has a negative binomial distribution with
    p = f / (sum of the weights of the pattern). The risk is the mean of 1 / F; a sample unique is a population unique
    with probability p. These are the definitions of R's sdcMicro, whose default approximates the mean for f >= 3 by
    p / (f - (1 - p)); here it is exact.

    Parameters
    ----------
    data
        The confidential data.
    known
        The key variables. A missing value is a category of its own.
    weights
        The survey weight of every record, for example `Sample.weights`; they must add up to the population.
    breaks
        Bins of numeric key variables, by name.

    References
    ----------
    Benedetti and Franconi, Statistical and Technological Solutions for Controlled Data Dissemination (1998). Polettini,
    Some Remarks on the Individual Risk Methodology (2003).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"town": ["A", "B", "B"]})
    >>> population_risk(table, "town", [50.0, 20.0, 30.0]).risk.round(4).tolist()
    [0.0798, 0.0361, 0.0361]
    """
    table = as_table(data)
    names = find_columns(table, known, "known")
    if not names:
        raise InputError("known", "no variable is named", "Name the key variables")
    heavy = as_numbers("weights", weights)
    if heavy.shape != (len(table.frame),) or not np.isfinite(heavy).all() or (heavy < 0).any():
        problem = "they must be one finite number, 0 or larger, per record"
        raise InputError("weights", problem, "Give the survey weights, for example Sample.weights")
    if heavy.sum() < len(heavy) * (1 - 1e-9):
        problem = "they add up to less than the number of records"
        raise InputError("weights", problem, "Scale them so that they add up to the population")
    codes = learn_patterns(table, names, breaks).codes
    frequency = np.bincount(codes)
    # A population frequency is at least the sample frequency, even if calibrated weights are below 1.
    population = np.maximum(np.bincount(codes, heavy), frequency)
    risk = mean_inverse(frequency, population)
    by_design = np.where(heavy > 0, 1 / np.maximum(heavy, 1.0), 0.0)
    inside = np.maximum((frequency * risk)[codes], by_design)
    return PopulationRisk(freeze(frequency[codes]), freeze(population[codes]), freeze(risk[codes]), freeze(inside))


def mean_inverse(frequency: Any, population: Any) -> Floats:
    """The mean of 1 / F for patterns that occur f times in the sample, with p = f / (estimate of F).

    With q = 1 - p it is R_f = p^f / f 2F1(f, f; f + 1; q):

    - f = 1: p / q log(1 / p);
    - f = 2: p / q - (p / q)^2 log(1 / p);
    - f = 3: p / (2 q) - (p / q)^2 + (p / q)^3 log(1 / p);
    - and so on by R_{f+1} = p / q (1 / f - R_f), which is stable for p below 1/2.

    Elsewhere, and from f = 30 on, the series p / f (1 + 1 / (f + 1) q + 1 2 / ((f + 1) (f + 2)) q^2 + ...) needs few
    terms. SciPy's 2F1 is infinite for some p at f = 100.

    Examples
    --------
    >>> mean_inverse([1, 2], [1.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    f, total = np.atleast_1d(frequency).astype(np.float64), np.atleast_1d(population).astype(np.float64)
    if (f < 1).any() or (total < f).any():
        problem = "a sample frequency is below 1, or above the population frequency"
        raise InputError("frequency", problem, "Give patterns that occur in the sample")
    p = f / total
    q = 1 - p
    term = p / f
    found = term.copy()
    for n in range(1, _TERMS):
        term = term * q * n / (f + n)
        found += term
    by_steps = (p < 0.5) & (f < _MANY)
    few, ratio = f[by_steps], p[by_steps] / q[by_steps]
    step = -ratio * np.log(p[by_steps])
    mean = step.copy()
    for n in range(1, int(few.max(initial=1.0))):
        step = ratio * (1 / n - step)
        mean = np.where(few == n + 1, step, mean)
    found[by_steps] = mean
    return found
