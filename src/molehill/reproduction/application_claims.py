"""The paper's conclusions on its application, judged on another survey: its own sample is confidential."""

import numpy as np

from molehill.parts import Floats
from molehill.reproduction.application import RADIUS, TOPCODING, top_records, topcoded
from molehill.reproduction.claims import Claim, distance, largest_risk, mean_risk, point, risk_iqr, truth
from molehill.reproduction.results import UNWEIGHTED, Results, chance_rises, count_rises

_M, _P, _C, _G = "Marginal", "Pairwise", "Pairwise c=1.5", "Pairwise g=.1"


def _above_half(results: Results, scheme: str) -> Floats:
    return (results.risks(scheme) > 0.5).sum(axis=1).astype(np.float64)


def _kept(results: Results) -> np.ndarray:
    """The hundred riskiest of the records that topcoding leaves as they are."""
    risk = np.where(topcoded(results), -1.0, results.confidential[f"risk/{RADIUS}"])
    return np.argsort(-risk, kind="stable")[:100]


APPLICATION_CLAIMS = (
    Claim(
        "synthesis protects",
        "2.3.1",
        "Even without weights, synthesis lowers the mean risk far below that of the data.",
        "mean risk of the data less that of Synthesizer",
        lambda r: r.confidential[f"risk/{RADIUS}"].mean() - mean_risk(r, UNWEIGHTED),
        "violins",
    ),
    Claim(
        "Marginal protects more",
        "2.3.1",
        "Marginal lowers the mean risk below that of Synthesizer.",
        "mean risk of Synthesizer less that of Marginal",
        lambda r: mean_risk(r, UNWEIGHTED) - mean_risk(r, _M),
        "violins",
    ),
    Claim(
        "the riskiest are safe",
        "2.3.1",
        "The ten riskiest records have nearly no risk under Marginal.",
        "0.05 less the mean risk of the ten riskiest records under Marginal",
        lambda r: 0.05 - r.risks(_M)[:, top_records(r)["riskiest"]].mean(axis=1),
        "violins",
    ),
    Claim(
        "topcoding protects the topcoded",
        "2.3.1",
        "Topcoding leaves nearly no risk to the ten largest incomes.",
        "0.1 less the mean risk of the ten largest incomes under topcoding",
        lambda r: 0.1 - r.risks(TOPCODING)[:, top_records(r)["largest"]].mean(axis=1),
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
        lambda r: distance(r, _M) - distance(r, UNWEIGHTED),
        "ecdf",
    ),
    Claim(
        "Marginal lowers the 90% quantile",
        "2.3.1",
        "Marginal pulls the 90% quantile below that of the data.",
        "the data's 90% quantile less that under Marginal",
        lambda r: truth(r, "90% quantile") - point(r, _M, "90% quantile"),
        "estimates",
    ),
    Claim(
        "Marginal raises the median",
        "2.3.1",
        "Marginal pushes the median above that of the data.",
        "the median under Marginal less that of the data",
        lambda r: point(r, _M, "median") - truth(r, "median"),
        "estimates",
    ),
    Claim(
        "Marginal raises the mean",
        "2.3.1",
        "Marginal pushes the mean above that of the data.",
        "the mean under Marginal less that of the data",
        lambda r: point(r, _M, "mean") - truth(r, "mean"),
        "estimates",
    ),
    Claim(
        "Marginal weakens the coefficient",
        "2.3.1",
        "Marginal pulls the regression coefficient towards zero.",
        "size of the data's coefficient less that under Marginal",
        lambda r: abs(truth(r, "coefficient")) - np.abs(point(r, _M, "coefficient")),
        "estimates",
    ),
    Claim(
        "whack-a-mole",
        "2.3.2",
        "Under Marginal the risk of some records rises against Synthesizer.",
        "records that rise by more than 0.25, less as many as between two runs of Synthesizer",
        lambda r: count_rises(r, _M) - chance_rises(r, RADIUS),
        "moles-marginal",
    ),
    Claim(
        "Pairwise: fewer moles",
        "3.2.1",
        "Pairwise has fewer records with a rise in risk than Marginal.",
        "rises of more than 0.25 under Marginal less under Pairwise",
        lambda r: count_rises(r, _M) - count_rises(r, _P),
        "moles-pairwise",
    ),
    Claim(
        "Pairwise: same mean risk",
        "3.2.1",
        "Marginal and Pairwise have about the same mean risk.",
        "0.02 less the difference of their mean risks",
        lambda r: 0.02 - np.abs(mean_risk(r, _M) - mean_risk(r, _P)),
        "violins",
    ),
    Claim(
        "Pairwise compresses",
        "3.2.1",
        "Pairwise has the smaller interquartile range of risk.",
        "interquartile range of risk under Marginal less under Pairwise",
        lambda r: risk_iqr(r, _M) - risk_iqr(r, _P),
        "violins",
    ),
    Claim(
        "Pairwise: shorter tail",
        "3.2.1",
        "Pairwise has a lower largest risk than Marginal.",
        "largest risk under Marginal less under Pairwise",
        lambda r: largest_risk(r, _M) - largest_risk(r, _P),
        "violins",
    ),
    Claim(
        "Pairwise: fewer above one half",
        "3.2.1",
        "Fewer records are above a risk of 0.5 under Pairwise than under Marginal.",
        "records above 0.5 under Marginal less under Pairwise",
        lambda r: _above_half(r, _M) - _above_half(r, _P),
        "violins",
    ),
    Claim(
        "Pairwise twice as good",
        "3.2.2",
        "Pairwise is twice as close to the data as Marginal.",
        "U_m of Marginal less twice that of Pairwise",
        lambda r: distance(r, _M) - 2 * distance(r, _P),
        "ecdf",
    ),
    Claim(
        "scaling helps utility",
        "S7.2",
        "A scale of 1.5 improves utility over a scale of 1 (table S3 itself prints the opposite).",
        "U_m of Pairwise less that of Pairwise with c = 1.5",
        lambda r: distance(r, _P) - distance(r, _C),
        "ecdf",
    ),
    Claim(
        "shifting helps utility",
        "S7.2",
        "A shift of 0.1 improves utility.",
        "U_m of Pairwise less that of Pairwise with g = 0.1",
        lambda r: distance(r, _P) - distance(r, _G),
        "ecdf",
    ),
    Claim(
        "shifting helps more than scaling",
        "S7.2",
        "A shift of 0.1 improves utility more than a scale of 1.5.",
        "U_m of Pairwise with c = 1.5 less that with g = 0.1",
        lambda r: distance(r, _C) - distance(r, _G),
        "ecdf",
    ),
    Claim(
        "scaling costs risk",
        "S7.2",
        "A scale of 1.5 raises the mean risk slightly.",
        "mean risk of Pairwise with c = 1.5 less that of Pairwise",
        lambda r: mean_risk(r, _C) - mean_risk(r, _P),
        "violins-adjusted",
    ),
    Claim(
        "shifting lengthens the tail",
        "S7.2",
        "A shift of 0.1 gives a higher largest risk.",
        "largest risk with g = 0.1 less that of Pairwise",
        lambda r: largest_risk(r, _G) - largest_risk(r, _P),
        "violins-adjusted",
    ),
)
