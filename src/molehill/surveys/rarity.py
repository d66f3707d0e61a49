"""How rare a record is in the population: frequencies of patterns from the weights, and the risk that follows.

A record that is alone in the sample may have many doubles outside. The weights say how many: the sum of the weights of
a pattern estimates how often it occurs in the population.
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

# From so many records of a pattern on, or where p is 1/2 or more, so many terms of the series are exact.
_MANY, _TERMS = 30, 60


@dataclass(frozen=True, eq=False, repr=False)
class PopulationRisk:
    """How rare records are in the population.

    Attributes
    ----------
    sample_frequency
        The records of the sample in the pattern of each record, f.
    population_frequency
        The estimate of the same in the population, F: the sum of the weights of the pattern, f at least.
    risk
        The chance to pick the right one of those in the population with the pattern: the mean of 1 / F given f.
    in_sample
        The chance that the person is in the sample, to who knows the pattern alone: f times the risk; but no less than
        1 over the weight, the chance to be drawn by design, which is 1 for who was sure to be.
    """

    sample_frequency: Integers
    population_frequency: Floats
    risk: Floats
    in_sample: Floats

    @property
    def expected_matches(self) -> float:
        """How many records an intruder would be expected to find who picks one double in the population for each."""
        return float(self.risk.sum())

    @property
    def expected_uniques(self) -> float:
        """How many records of the sample are expected to be unique in the population."""
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
    """Say how rare each record is in the population, by what an intruder knows of it.

    Given that a pattern occurs f times in the sample, its number F in the population has, after Benedetti and
    Franconi, a negative binomial distribution with p = f / (sum of the weights of the pattern): F is the number of
    units until f of them were drawn. The risk is the mean of 1 / F; a record that is alone in the sample is unique in
    the population with probability p. These are the definitions of R's sdcMicro, whose default approximates the mean
    from f = 3 on, by p / (f - (1 - p)); here it is exact.

    Parameters
    ----------
    data
        The confidential data.
    known
        The variables that an intruder knows. A missing value is a value of its own.
    weights
        The design weight of every record, `Sample.weights` for example; they must add up to the population.
    breaks
        Groups for numeric key variables, by name.

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
        raise InputError("known", "it names no variable", "Name what an intruder knows")
    heavy = as_numbers("weights", weights)
    if heavy.shape != (len(table.frame),) or not np.isfinite(heavy).all() or (heavy < 0).any():
        problem = "they are not one finite number from 0 up for every record"
        raise InputError("weights", problem, "Give the design weights, Sample.weights for example")
    if heavy.sum() < len(heavy) * (1 - 1e-9):
        problem = "they add up to less than the number of records"
        raise InputError("weights", problem, "Multiply them so that they add up to the population")
    codes = learn_patterns(table, names, breaks).codes
    frequency = np.bincount(codes)
    # Those in the sample are in the population, whatever calibration made of their weights.
    population = np.maximum(np.bincount(codes, heavy), frequency)
    risk = mean_inverse(frequency, population)
    by_design = np.where(heavy > 0, 1 / np.maximum(heavy, 1.0), 0.0)
    inside = np.maximum((frequency * risk)[codes], by_design)
    return PopulationRisk(freeze(frequency[codes]), freeze(population[codes]), freeze(risk[codes]), freeze(inside))


def mean_inverse(frequency: Any, population: Any) -> Floats:
    """Give the mean of 1 / F for patterns that occur f times in a sample, with p = f / (estimate of F).

    With q = 1 - p it is R_f = p^f / f 2F1(f, f; f + 1; q):

    - f = 1: p / q log(1 / p);
    - f = 2: p / q - (p / q)^2 log(1 / p);
    - f = 3: p / (2 q) - (p / q)^2 + (p / q)^3 log(1 / p);
    - and so on by R_{f+1} = p / q (1 / f - R_f), which is stable for p below 1/2.

    Elsewhere, and from f = 30 on, the series p / f (1 + 1 / (f + 1) q + 1 2 / ((f + 1) (f + 2)) q^2 + ...) needs few
    terms. SciPy's 2F1 is infinite for some p at f = 100.

    A pattern that does not occur in the sample has no such mean.

    Examples
    --------
    >>> mean_inverse([1, 2], [1.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    f, total = np.atleast_1d(frequency).astype(np.float64), np.atleast_1d(population).astype(np.float64)
    if (f < 1).any() or (total < f).any():
        problem = "a pattern has no record in the sample, or fewer in the population than there"
        raise InputError("frequency", problem, "Give patterns that occur")
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
