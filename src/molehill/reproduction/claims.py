"""The paper's conclusions, one by one: what each says, the measure behind it, and whether it holds beyond noise.

Every claim is turned into a margin: a number for each replicate that is positive when the claim is true of it. With m
the mean of the margin over all replicates and s its standard deviation, which is the noise of one published run:

    holds           m > 2 s
    does not hold   m < -2 s
    within noise    otherwise: a second run of the same program could well have shown the opposite

Beside it stands what is true on average, over many runs: m is also compared with its own standard error, the larger of
s over the root of the number of replicates and the spread of the fits' means over the root of their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from molehill.parts import Floats
from molehill.reproduction.results import Results, spread

NOISE = 2.0


@dataclass(frozen=True)
class Claim:
    """One conclusion of the paper.

    Attributes
    ----------
    name, section
        A short name, and where the paper says it ("S" for the supplement).
    sentence
        What it says, in our words.
    measure
        The margin, in words.
    margin
        Results to one number per replicate, positive where the claim is true.
    figure
        Ending of the name of the figure behind it.
    """

    name: str
    section: str
    sentence: str
    measure: str
    margin: Callable[[Results], Floats]
    figure: str


def judge_claims(claims: Sequence[Claim], results: Results) -> pd.DataFrame:
    """Judge every claim: its margin with its error, and the verdict."""
    rows = []
    for claim in claims:
        values = np.atleast_1d(claim.margin(results)).astype(np.float64)
        number, error = float(values.mean()), spread(values)
        by_fit = np.array([float(np.mean(claim.margin(one))) for one in _one_fit_each(results)])
        mean_error = max(error / np.sqrt(len(values)), spread(by_fit) / np.sqrt(len(by_fit)))
        row = {"claim": claim.name, "section": claim.section, "sentence": claim.sentence, "measure": claim.measure}
        row |= {"number": number, "error": error, "verdict": verdict(number, error), "mean_error": mean_error}
        average = {"holds": "true", "does not hold": "false", "within noise": "open"}[verdict(number, mean_error)]
        rows.append(row | {"on_average": average, "figure": claim.figure})
    return pd.DataFrame(rows)


def _one_fit_each(results: Results) -> list[Results]:
    most = max(map(len, results.schemes.values()))
    return [
        replace(results, schemes={name: [fits[min(place, len(fits) - 1)]] for name, fits in results.schemes.items()})
        for place in range(most)
    ]


def verdict(number: float, error: float) -> str:
    """Say whether a margin is positive beyond noise.

    Examples
    --------
    >>> verdict(3.0, 1.0), verdict(-3.0, 1.0), verdict(1.0, 1.0)
    ('holds', 'does not hold', 'within noise')
    """
    if number > NOISE * error:
        return "holds"
    return "does not hold" if number < -NOISE * error else "within noise"


def mean_risk(results: Results, scheme: str, radius: float | None = None) -> Floats:
    """Mean risk of the records, by replicate."""
    return results.risks(scheme, radius).mean(axis=1)


def risk_iqr(results: Results, scheme: str) -> Floats:
    """Interquartile range of the records' risk, by replicate."""
    quarter, three = np.quantile(results.risks(scheme), [0.25, 0.75], axis=1)
    return three - quarter


def largest_risk(results: Results, scheme: str) -> Floats:
    """Risk of the riskiest record, by replicate."""
    return results.risks(scheme).max(axis=1)


def distance(results: Results, scheme: str) -> Floats:
    """U_m, by replicate."""
    return results.runs(scheme, lambda arrays: arrays["U_m"])


def point(results: Results, scheme: str, name: str) -> Floats:
    """An estimate, by replicate."""
    return results.estimate(scheme, name)[:, 0]


def length(results: Results, scheme: str, name: str, tables: int) -> Floats:
    """Length of the paper's pooled interval, by replicate."""
    found = results.estimate(scheme, name, tables=tables)
    return found[:, 2] - found[:, 1]


def truth(results: Results, name: str) -> float:
    """The estimate of the confidential table."""
    return float(results.confidential[f"combined/{name}"][0])
