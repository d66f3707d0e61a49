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
from itertools import pairwise

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.reproduction.results import DATA, UNWEIGHTED, Results, run_spread
from molehill.reproduction.studies import MARGINALS, RADIUS, TOPCODING, ten_records, topcoded

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


def _distance(results: Results, scheme: str) -> Floats:
    """U_m, by replicate."""
    return results.runs(scheme, "U_m")


def _bias(results: Results, scheme: str, name: str) -> Floats:
    """An estimate less that of the confidential table, by replicate."""
    return results.estimate(scheme, name)[:, 0] - _truth(results, name)


def _truth(results: Results, name: str) -> float:
    return float(results.estimate(DATA, name, way="combined")[0, 0])


def _longer(results: Results, more: int, fewer: int) -> Floats:
    """How much longer the paper's pooled interval of the mean is with more tables; the less sure of two schemes."""
    return _least(
        [_length(results, name, more) - _length(results, name, fewer) for name in (UNWEIGHTED, MARGINALS[0.20])]
    )


def _length(results: Results, scheme: str, tables: int) -> Floats:
    _, low, high = results.estimate(scheme, "mean", tables=tables).T
    return high - low


def _weights_rise(results: Results) -> Floats:
    orders = [results.fits[f"{name} r=.15"][0]["weights"] for name in ("Marginal", "Pairwise", "3-way", "4-way")]
    # Differences of the size of rounding are none.
    return np.array([min(float((b - a).min()) for a, b in pairwise(orders)) + 1e-12])


def _least(parts: Sequence[Floats]) -> Floats:
    """The part with the smallest mean in units of its noise: a claim that speaks of several is as good as that one."""
    return min(parts, key=lambda part: part.mean() / max(run_spread(part), 1e-15))


_M, _P = MARGINALS[0.15], "Pairwise r=.15"

SIMULATION_CLAIMS = (
    Claim(
        "synthesis protects",
        "2.4.2",
        "Even without weights, synthesis lowers the mean risk far below that of the data, at every radius.",
        "mean risk of the data less that of Synthesizer; the radius where it is least sure",
        lambda r: _least([r.risk(DATA, "mean", x) - r.risk(UNWEIGHTED, "mean", x) for x in MARGINALS]),
        "violins-r15",
    ),
    Claim(
        "Marginal protects more",
        "2.4.2",
        "At r = .30, .25 and .20, Marginal lowers the mean risk below that of Synthesizer.",
        "mean risk of Synthesizer less that of Marginal; the radius where it is least sure",
        lambda r: _least([r.risk(UNWEIGHTED, "mean", x) - r.risk(MARGINALS[x], "mean", x) for x in (0.3, 0.25, 0.2)]),
        "violins-r20",
    ),
    Claim(
        "Marginal slightly riskier at .15",
        "S6",
        "At r = .15, Marginal has a slightly higher mean risk than Synthesizer.",
        "mean risk of Marginal less that of Synthesizer, r = .15",
        lambda r: r.risk(_M) - r.risk(UNWEIGHTED, "mean", 0.15),
        "violins-r15",
    ),
    Claim(
        "smaller radius, higher risk",
        "2.4.3",
        "Smaller radii tend to give higher risk under Marginal.",
        "mean risk of Marginal at r = .15 less at r = .30",
        lambda r: r.risk(_M) - r.risk(MARGINALS[0.30]),
        "violins-marginal",
    ),
    Claim(
        "largest risk rises as r falls",
        "2.4.3",
        "Smaller radii give longer tails of risk under Marginal.",
        "largest risk under Marginal at r = .15 less at r = .30",
        lambda r: r.risk(_M, "largest") - r.risk(MARGINALS[0.30], "largest"),
        "violins-marginal",
    ),
    Claim(
        "weights cost utility",
        "2.4.3",
        "Synthesizer keeps the distribution better than Marginal at every radius.",
        "U_m of Marginal less that of Synthesizer; the radius where it is least sure",
        lambda r: _least([_distance(r, name) - _distance(r, UNWEIGHTED) for name in MARGINALS.values()]),
        "estimates",
    ),
    Claim(
        "Marginal shifts the mean up",
        "2.4.3",
        "Marginal moves the mean above that of the data.",
        "mean under Marginal, r = .20, less the mean of the data",
        lambda r: _bias(r, MARGINALS[0.20], "mean"),
        "estimates",
    ),
    Claim(
        "mean improves as r falls",
        "2.4.3",
        "The mean under Marginal comes closer to that of the data as the radius falls.",
        "distance of the mean from the data's at r = .30 less at r = .15",
        lambda r: np.abs(_bias(r, MARGINALS[0.30], "mean")) - np.abs(_bias(r, _M, "mean")),
        "estimates",
    ),
    Claim(
        "U_m at .15 below .20 and .25",
        "2.4.3",
        "Marginal at r = .15 has a smaller U_m than at r = .20 and .25.",
        "U_m at r = .20, .25 less at r = .15; the less sure of the two",
        lambda r: _least([_distance(r, MARGINALS[x]) - _distance(r, _M) for x in (0.2, 0.25)]),
        "ecdf",
    ),
    Claim(
        "U_m smallest at .30",
        "2.4.3",
        "Among the four radii, r = .30 has the smallest U_m.",
        "U_m at the other radii less at r = .30; the least sure of the three",
        lambda r: _least([_distance(r, MARGINALS[x]) - _distance(r, MARGINALS[0.30]) for x in (0.25, 0.2, 0.15)]),
        "ecdf",
    ),
    Claim(
        "little depends on r",
        "2.4.3",
        "Risk and utility hardly depend on the radius in this neighbourhood.",
        "0.02 less the difference of U_m at r = .30 and .15",
        lambda r: 0.02 - np.abs(_distance(r, MARGINALS[0.30]) - _distance(r, _M)),
        "ecdf",
    ),
    Claim(
        "one table: interval too short",
        "2.4.4",
        "With one table the interval of the mean is shorter than with twenty.",
        "length at L = 20 less at L = 1; the less sure of Synthesizer and Marginal",
        lambda r: _longer(r, 20, 1),
        "lengths",
    ),
    Claim(
        "five tables: interval too short",
        "2.4.4",
        "With five tables the interval of the mean is still shorter than with twenty.",
        "length at L = 20 less at L = 5; the less sure of Synthesizer and Marginal",
        lambda r: _longer(r, 20, 5),
        "lengths",
    ),
    Claim(
        "stable past ten tables",
        "2.4.4",
        "Past ten tables the intervals hardly change.",
        "a tenth of the mean length at L = 20, less the change of the length from L = 20 to 30, of Synthesizer",
        lambda r: (
            0.1 * _length(r, UNWEIGHTED, 20).mean() - np.abs(_length(r, UNWEIGHTED, 30) - _length(r, UNWEIGHTED, 20))
        ),
        "lengths",
    ),
    Claim(
        "whack-a-mole",
        "2.4.2",
        "Under Marginal at r = .15 the risk of some records rises against Synthesizer.",
        "records that rise by more than 0.2, less as many as between two runs of Synthesizer",
        lambda r: r.rises(_M) - r.chance_rises(0.15),
        "moles-marginal",
    ),
    Claim(
        "more moles at small radii",
        "2.4.2",
        "The whack-a-mole grows as the radius falls.",
        "rises of more than 0.2 under Marginal at r = .15 less at r = .30",
        lambda r: r.rises(_M) - r.rises(MARGINALS[0.30]),
        "moles-marginal",
    ),
    Claim(
        "more moles at small radii, beyond chance",
        "2.4.2",
        "The whack-a-mole grows as the radius falls, and not only because chance alone gives more rises there.",
        "the same, each count less that between two runs of Synthesizer at its radius",
        lambda r: (r.rises(_M) - r.chance_rises(0.15)) - (r.rises(MARGINALS[0.30]) - r.chance_rises(0.3)),
        "moles-marginal",
    ),
    Claim(
        "Pairwise: fewer moles",
        "S6",
        "Pairwise has fewer records with a rise in risk than Marginal.",
        "rises of more than 0.2 under Marginal less under Pairwise",
        lambda r: r.rises(_M) - r.rises(_P),
        "moles-pairwise",
    ),
    Claim(
        "Pairwise: lower risk",
        "S6",
        "Pairwise has a lower mean risk than Marginal at r = .15.",
        "mean risk of Marginal less that of Pairwise",
        lambda r: r.risk(_M) - r.risk(_P),
        "violins-r15",
    ),
    Claim(
        "Pairwise compresses",
        "S6",
        "Pairwise compresses the risks of the records.",
        "interquartile range of risk under Marginal less under Pairwise",
        lambda r: r.risk(_M, "interquartile range") - r.risk(_P, "interquartile range"),
        "violins-r15",
    ),
    Claim(
        "Pairwise: better utility",
        "S6",
        "Pairwise keeps the distribution notably better than Marginal.",
        "U_m of Marginal less that of Pairwise",
        lambda r: _distance(r, _M) - _distance(r, _P),
        "ecdf",
    ),
    Claim(
        "Pairwise beats no weights",
        "S6",
        "In table S2, Pairwise has a smaller U_m than even Synthesizer.",
        "U_m of Synthesizer less that of Pairwise",
        lambda r: _distance(r, UNWEIGHTED) - _distance(r, _P),
        "ecdf",
    ),
    Claim(
        "three- and four-way bring little",
        "3.2.1",
        "Three- and four-way weights bring hardly fewer rises than pairwise ones.",
        "ten records, less the rises under Pairwise above those under 4-way",
        lambda r: 10.0 - (r.rises(_P) - r.rises("4-way r=.15")),
        "ecdf",
    ),
    Claim(
        "weights rise with the order",
        "3.1",
        "The more records are tied together, the less each is weighted down (ours: the paper shows it for pairs).",
        "smallest change of any weight from order 1 to 2, 2 to 3, 3 to 4 (rounding of 1e-12 allowed)",
        _weights_rise,
        "weights",
    ),
)


_MARGINAL, _PAIRWISE, _SCALED, _SHIFTED = "Marginal", "Pairwise", "Pairwise c=1.5", "Pairwise g=.1"


def _kept(results: Results) -> np.ndarray:
    """The hundred riskiest of the records that topcoding leaves as they are."""
    risk = np.where(topcoded(results), -1.0, results.risks(DATA, RADIUS)[0])
    return np.argsort(-risk, kind="stable")[:100]


APPLICATION_CLAIMS = (
    Claim(
        "synthesis protects",
        "2.3.1",
        "Even without weights, synthesis lowers the mean risk far below that of the data.",
        "mean risk of the data less that of Synthesizer",
        lambda r: r.risk(DATA, "mean", RADIUS) - r.risk(UNWEIGHTED),
        "violins",
    ),
    Claim(
        "Marginal protects more",
        "2.3.1",
        "Marginal lowers the mean risk below that of Synthesizer.",
        "mean risk of Synthesizer less that of Marginal",
        lambda r: r.risk(UNWEIGHTED) - r.risk(_MARGINAL),
        "violins",
    ),
    Claim(
        "the riskiest are safe",
        "2.3.1",
        "The ten riskiest records have nearly no risk under Marginal.",
        "0.05 less the mean risk of the ten riskiest records under Marginal",
        lambda r: 0.05 - r.risks(_MARGINAL)[:, ten_records(r)["riskiest"]].mean(axis=1),
        "violins",
    ),
    Claim(
        "topcoding protects the topcoded",
        "2.3.1",
        "Topcoding leaves nearly no risk to the ten largest incomes.",
        "0.1 less the mean risk of the ten largest incomes under topcoding",
        lambda r: 0.1 - r.risks(TOPCODING)[:, ten_records(r)["largest"]].mean(axis=1),
        "violins",
    ),
    Claim(
        "topcoding exposes the others",
        "2.3.1",
        "Isolated records that are not topcoded keep their full risk.",
        "mean risk under topcoding of the hundred riskiest records that are not topcoded, less 0.9",
        lambda r: r.risks(TOPCODING)[:, _kept(r)].mean(axis=1) - 0.9,
        "violins",
    ),
    Claim(
        "weights cost utility",
        "2.3.1",
        "Synthesizer keeps the distribution better than Marginal.",
        "U_m of Marginal less that of Synthesizer",
        lambda r: _distance(r, _MARGINAL) - _distance(r, UNWEIGHTED),
        "ecdf",
    ),
    Claim(
        "Marginal lowers the 90% quantile",
        "2.3.1",
        "Marginal pulls the 90% quantile below that of the data.",
        "the data's 90% quantile less that under Marginal",
        lambda r: -_bias(r, _MARGINAL, "90% quantile"),
        "estimates",
    ),
    Claim(
        "Marginal raises the median",
        "2.3.1",
        "Marginal pushes the median above that of the data.",
        "the median under Marginal less that of the data",
        lambda r: _bias(r, _MARGINAL, "median"),
        "estimates",
    ),
    Claim(
        "Marginal raises the mean",
        "2.3.1",
        "Marginal pushes the mean above that of the data.",
        "the mean under Marginal less that of the data",
        lambda r: _bias(r, _MARGINAL, "mean"),
        "estimates",
    ),
    Claim(
        "Marginal weakens the coefficient",
        "2.3.1",
        "Marginal pulls the regression coefficient towards zero.",
        "size of the data's coefficient less that under Marginal",
        lambda r: abs(_truth(r, "coefficient")) - np.abs(r.estimate(_MARGINAL, "coefficient")[:, 0]),
        "estimates",
    ),
    Claim(
        "whack-a-mole",
        "2.3.2",
        "Under Marginal the risk of some records rises against Synthesizer.",
        "records that rise by more than 0.25, less as many as between two runs of Synthesizer",
        lambda r: r.rises(_MARGINAL) - r.chance_rises(RADIUS),
        "moles-marginal",
    ),
    Claim(
        "Pairwise: fewer moles",
        "3.2.1",
        "Pairwise has fewer records with a rise in risk than Marginal.",
        "rises of more than 0.25 under Marginal less under Pairwise",
        lambda r: r.rises(_MARGINAL) - r.rises(_PAIRWISE),
        "moles-pairwise",
    ),
    Claim(
        "Pairwise: same mean risk",
        "3.2.1",
        "Marginal and Pairwise have about the same mean risk.",
        "0.02 less the difference of their mean risks",
        lambda r: 0.02 - np.abs(r.risk(_MARGINAL) - r.risk(_PAIRWISE)),
        "violins",
    ),
    Claim(
        "Pairwise compresses",
        "3.2.1",
        "Pairwise has the smaller interquartile range of risk.",
        "interquartile range of risk under Marginal less under Pairwise",
        lambda r: r.risk(_MARGINAL, "interquartile range") - r.risk(_PAIRWISE, "interquartile range"),
        "violins",
    ),
    Claim(
        "Pairwise: shorter tail",
        "3.2.1",
        "Pairwise has a lower largest risk than Marginal.",
        "largest risk under Marginal less under Pairwise",
        lambda r: r.risk(_MARGINAL, "largest") - r.risk(_PAIRWISE, "largest"),
        "violins",
    ),
    Claim(
        "Pairwise: fewer above one half",
        "3.2.1",
        "Fewer records are above a risk of 0.5 under Pairwise than under Marginal.",
        "records above 0.5 under Marginal less under Pairwise",
        lambda r: r.risk(_MARGINAL, "records above 0.5") - r.risk(_PAIRWISE, "records above 0.5"),
        "violins",
    ),
    Claim(
        "Pairwise twice as good",
        "3.2.2",
        "Pairwise is twice as close to the data as Marginal.",
        "U_m of Marginal less twice that of Pairwise",
        lambda r: _distance(r, _MARGINAL) - 2 * _distance(r, _PAIRWISE),
        "ecdf",
    ),
    Claim(
        "scaling helps utility",
        "S7.2",
        "A scale of 1.5 improves utility over a scale of 1 (table S3 itself prints the opposite).",
        "U_m of Pairwise less that of Pairwise with c = 1.5",
        lambda r: _distance(r, _PAIRWISE) - _distance(r, _SCALED),
        "ecdf",
    ),
    Claim(
        "shifting helps utility",
        "S7.2",
        "A shift of 0.1 improves utility.",
        "U_m of Pairwise less that of Pairwise with g = 0.1",
        lambda r: _distance(r, _PAIRWISE) - _distance(r, _SHIFTED),
        "ecdf",
    ),
    Claim(
        "shifting helps more than scaling",
        "S7.2",
        "A shift of 0.1 improves utility more than a scale of 1.5.",
        "U_m of Pairwise with c = 1.5 less that with g = 0.1",
        lambda r: _distance(r, _SCALED) - _distance(r, _SHIFTED),
        "ecdf",
    ),
    Claim(
        "scaling costs risk",
        "S7.2",
        "A scale of 1.5 raises the mean risk slightly.",
        "mean risk of Pairwise with c = 1.5 less that of Pairwise",
        lambda r: r.risk(_SCALED) - r.risk(_PAIRWISE),
        "violins-adjusted",
    ),
    Claim(
        "shifting lengthens the tail",
        "S7.2",
        "A shift of 0.1 gives a higher largest risk.",
        "largest risk with g = 0.1 less that of Pairwise",
        lambda r: r.risk(_SHIFTED, "largest") - r.risk(_PAIRWISE, "largest"),
        "violins-adjusted",
    ),
)
