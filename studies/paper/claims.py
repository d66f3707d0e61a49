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

from studies.paper.replicates import Floats
from studies.paper.results import DATA, Results, run_spread

# How many errors a margin must be away from 0.
ERRORS = 2.0


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
    # Each of these has one fit of every scheme.
    apart = [
        replace(results, fits={name: [fits[min(place, len(fits) - 1)]] for name, fits in results.fits.items()})
        for place in range(max(map(len, results.fits.values())))
    ]
    rows = []
    for claim in claims:
        values = claim.margin(results)
        number, error = float(values.mean()), run_spread(values)
        by_fit = [float(claim.margin(one).mean()) for one in apart]
        mean_error = max(error / np.sqrt(len(values)), run_spread(by_fit) / np.sqrt(len(by_fit)))
        row = {"claim": claim.name, "section": claim.section, "sentence": claim.sentence, "measure": claim.measure}
        row |= {"number": number, "error": error, "verdict": judge_margin(number, error), "mean_error": mean_error}
        average = {"holds": "true", "does not hold": "false", "within noise": "open"}[judge_margin(number, mean_error)]
        rows.append(row | {"on_average": average, "figure": claim.figure})
    return pd.DataFrame(rows)


def judge_margin(number: float, error: float) -> str:
    """Say whether a margin is positive beyond noise.

    Examples
    --------
    >>> judge_margin(3.0, 1.0), judge_margin(-3.0, 1.0), judge_margin(1.0, 1.0)
    ('holds', 'does not hold', 'within noise')
    """
    if number > ERRORS * error:
        return "holds"
    return "does not hold" if number < -ERRORS * error else "within noise"


def distance(results: Results, scheme: str) -> Floats:
    """U_m, by replicate."""
    return results.runs(scheme, "U_m")


def bias(results: Results, scheme: str, name: str) -> Floats:
    """An estimate less that of the confidential table, by replicate."""
    return results.estimate(scheme, name)[:, 0] - truth(results, name)


def truth(results: Results, name: str) -> float:
    """The estimate from the confidential table."""
    return float(results.estimate(DATA, name, way="combined")[0, 0])


def least(parts: Sequence[Floats]) -> Floats:
    """The part with the smallest mean in units of its noise: a claim that speaks of several is as good as that one."""
    return min(parts, key=lambda part: part.mean() / max(run_spread(part), 1e-15))
