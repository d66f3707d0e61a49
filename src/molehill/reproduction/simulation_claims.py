"""The paper's conclusions on its simulation study."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from molehill.parts import Floats
from molehill.reproduction.claims import Claim, distance, largest_risk, length, mean_risk, point, risk_iqr, truth
from molehill.reproduction.results import UNWEIGHTED, Results, chance_rises, count_rises, spread


def _weights(results: Results, scheme: str) -> Floats:
    return results.schemes[scheme][0]["weights"]


def _weights_rise(results: Results) -> Floats:
    orders = [_weights(results, f"{name} r=.15") for name in ("Marginal", "Pairwise", "3-way", "4-way")]
    # Differences of the size of rounding are none.
    return np.array([min(float((b - a).min()) for a, b in pairwise(orders)) + 1e-12])


MARGINALS = {0.30: "Marginal r=.30", 0.25: "Marginal r=.25", 0.20: "Marginal r=.20", 0.15: "Marginal r=.15"}
_M, _P = "Marginal r=.15", "Pairwise r=.15"


def _least(parts: Sequence[Floats]) -> Floats:
    """The part with the smallest mean in units of its noise: a claim that speaks of several is as good as that one."""
    return min(parts, key=lambda part: part.mean() / max(spread(part), 1e-15))


SIMULATION_CLAIMS = (
    Claim(
        "synthesis protects",
        "2.4.2",
        "Even without weights, synthesis lowers the mean risk far below that of the data, at every radius.",
        "mean risk of the data less that of Synthesizer; the radius where it is least sure",
        lambda r: _least([r.confidential[f"risk/{x}"].mean() - mean_risk(r, UNWEIGHTED, x) for x in MARGINALS]),
        "violins-r15",
    ),
    Claim(
        "Marginal protects more",
        "2.4.2",
        "At r = .30, .25 and .20, Marginal lowers the mean risk below that of Synthesizer.",
        "mean risk of Synthesizer less that of Marginal; the radius where it is least sure",
        lambda r: _least([mean_risk(r, UNWEIGHTED, x) - mean_risk(r, MARGINALS[x], x) for x in (0.3, 0.25, 0.2)]),
        "violins-r20",
    ),
    Claim(
        "Marginal slightly riskier at .15",
        "S6",
        "At r = .15, Marginal has a slightly higher mean risk than Synthesizer.",
        "mean risk of Marginal less that of Synthesizer, r = .15",
        lambda r: mean_risk(r, _M) - mean_risk(r, UNWEIGHTED, 0.15),
        "violins-r15",
    ),
    Claim(
        "smaller radius, higher risk",
        "2.4.3",
        "Smaller radii tend to give higher risk under Marginal.",
        "mean risk of Marginal at r = .15 less at r = .30",
        lambda r: mean_risk(r, _M) - mean_risk(r, MARGINALS[0.3]),
        "violins-marginal",
    ),
    Claim(
        "largest risk rises as r falls",
        "2.4.3",
        "Smaller radii give longer tails of risk under Marginal.",
        "largest risk under Marginal at r = .15 less at r = .30",
        lambda r: largest_risk(r, _M) - largest_risk(r, MARGINALS[0.3]),
        "violins-marginal",
    ),
    Claim(
        "weights cost utility",
        "2.4.3",
        "Synthesizer keeps the distribution better than Marginal at every radius.",
        "U_m of Marginal less that of Synthesizer; the radius where it is least sure",
        lambda r: _least([distance(r, name) - distance(r, UNWEIGHTED) for name in MARGINALS.values()]),
        "estimates",
    ),
    Claim(
        "Marginal shifts the mean up",
        "2.4.3",
        "Marginal moves the mean above that of the data.",
        "mean under Marginal, r = .20, less the mean of the data",
        lambda r: point(r, MARGINALS[0.2], "mean") - truth(r, "mean"),
        "estimates",
    ),
    Claim(
        "mean improves as r falls",
        "2.4.3",
        "The mean under Marginal comes closer to that of the data as the radius falls.",
        "distance of the mean from the data's at r = .30 less at r = .15",
        lambda r: (
            np.abs(point(r, MARGINALS[0.3], "mean") - truth(r, "mean"))
            - np.abs(point(r, _M, "mean") - truth(r, "mean"))
        ),
        "estimates",
    ),
    Claim(
        "U_m at .15 below .20 and .25",
        "2.4.3",
        "Marginal at r = .15 has a smaller U_m than at r = .20 and .25.",
        "U_m at r = .20, .25 less at r = .15; the less sure of the two",
        lambda r: _least([distance(r, MARGINALS[x]) - distance(r, _M) for x in (0.2, 0.25)]),
        "ecdf",
    ),
    Claim(
        "U_m smallest at .30",
        "2.4.3",
        "Among the four radii, r = .30 has the smallest U_m.",
        "U_m at the other radii less at r = .30; the least sure of the three",
        lambda r: _least([distance(r, MARGINALS[x]) - distance(r, MARGINALS[0.3]) for x in (0.25, 0.2, 0.15)]),
        "ecdf",
    ),
    Claim(
        "little depends on r",
        "2.4.3",
        "Risk and utility hardly depend on the radius in this neighbourhood.",
        "0.02 less the difference of U_m at r = .30 and .15",
        lambda r: 0.02 - np.abs(distance(r, MARGINALS[0.3]) - distance(r, _M)),
        "ecdf",
    ),
    Claim(
        "one table: interval too short",
        "2.4.4",
        "With one table the interval of the mean is shorter than with twenty.",
        "length at L = 20 less at L = 1; the less sure of Synthesizer and Marginal",
        lambda r: _least([length(r, s, "mean", 20) - length(r, s, "mean", 1) for s in (UNWEIGHTED, MARGINALS[0.2])]),
        "lengths",
    ),
    Claim(
        "five tables: interval too short",
        "2.4.4",
        "With five tables the interval of the mean is still shorter than with twenty.",
        "length at L = 20 less at L = 5; the less sure of Synthesizer and Marginal",
        lambda r: _least([length(r, s, "mean", 20) - length(r, s, "mean", 5) for s in (UNWEIGHTED, MARGINALS[0.2])]),
        "lengths",
    ),
    Claim(
        "stable past ten tables",
        "2.4.4",
        "Past ten tables the intervals hardly change.",
        "a tenth of the mean length at L = 20, less the change of the length from L = 20 to 30, of Synthesizer",
        lambda r: (
            0.1 * length(r, UNWEIGHTED, "mean", 20).mean()
            - np.abs(length(r, UNWEIGHTED, "mean", 30) - length(r, UNWEIGHTED, "mean", 20))
        ),
        "lengths",
    ),
    Claim(
        "whack-a-mole",
        "2.4.2",
        "Under Marginal at r = .15 the risk of some records rises against Synthesizer.",
        "records that rise by more than 0.2, less as many as between two runs of Synthesizer",
        lambda r: count_rises(r, _M) - chance_rises(r, 0.15),
        "moles-marginal",
    ),
    Claim(
        "more moles at small radii",
        "2.4.2",
        "The whack-a-mole grows as the radius falls.",
        "rises of more than 0.2 under Marginal at r = .15 less at r = .30",
        lambda r: count_rises(r, _M) - count_rises(r, MARGINALS[0.3]),
        "moles-marginal",
    ),
    Claim(
        "more moles at small radii, beyond chance",
        "2.4.2",
        "The whack-a-mole grows as the radius falls, and not only because chance alone gives more rises there.",
        "the same, each count less that between two runs of Synthesizer at its radius",
        lambda r: (
            (count_rises(r, _M) - chance_rises(r, 0.15)) - (count_rises(r, MARGINALS[0.3]) - chance_rises(r, 0.3))
        ),
        "moles-marginal",
    ),
    Claim(
        "Pairwise: fewer moles",
        "S6",
        "Pairwise has fewer records with a rise in risk than Marginal.",
        "rises of more than 0.2 under Marginal less under Pairwise",
        lambda r: count_rises(r, _M) - count_rises(r, _P),
        "moles-pairwise",
    ),
    Claim(
        "Pairwise: lower risk",
        "S6",
        "Pairwise has a lower mean risk than Marginal at r = .15.",
        "mean risk of Marginal less that of Pairwise",
        lambda r: mean_risk(r, _M) - mean_risk(r, _P),
        "violins-r15",
    ),
    Claim(
        "Pairwise compresses",
        "S6",
        "Pairwise compresses the risks of the records.",
        "interquartile range of risk under Marginal less under Pairwise",
        lambda r: risk_iqr(r, _M) - risk_iqr(r, _P),
        "violins-r15",
    ),
    Claim(
        "Pairwise: better utility",
        "S6",
        "Pairwise keeps the distribution notably better than Marginal.",
        "U_m of Marginal less that of Pairwise",
        lambda r: distance(r, _M) - distance(r, _P),
        "ecdf",
    ),
    Claim(
        "Pairwise beats no weights",
        "S6",
        "In table S2, Pairwise has a smaller U_m than even Synthesizer.",
        "U_m of Synthesizer less that of Pairwise",
        lambda r: distance(r, UNWEIGHTED) - distance(r, _P),
        "ecdf",
    ),
    Claim(
        "three- and four-way bring little",
        "3.2.1",
        "Three- and four-way weights bring hardly fewer rises than pairwise ones.",
        "ten records, less the rises under Pairwise above those under 4-way",
        lambda r: 10.0 - (count_rises(r, _P) - count_rises(r, "4-way r=.15")),
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
