"""The simulation of section 2.4 and supplement section 6: counts, radii .30 to .15, orders 1 to 4, 1 to 30 tables."""

from itertools import pairwise
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from molehill import nb_mixture, read_table
from molehill.charts import densities
from studies.paper.claims import Claim, bias, distance, least
from studies.paper.page import (
    Charts,
    draw_distances,
    draw_estimates,
    draw_moles,
    draw_rows,
    draw_violins,
    draw_weights,
    write_study,
)
from studies.paper.printed import SIMULATION_DATA, SIMULATION_ECDF, SIMULATION_TABLES
from studies.paper.replicates import TABLES, Floats, PaperScheme, Study, Survey, measure_data, run_schemes
from studies.paper.results import (
    DATA,
    UNWEIGHTED,
    Results,
    ecdf_table,
    estimates_table,
    fits_table,
    rises_table,
    risk_table,
)

COUNTS = Survey("outcome")
COUNT_RECORDS = 1000
MARGINALS = {0.30: "Marginal r=.30", 0.25: "Marginal r=.25", 0.20: "Marginal r=.20", 0.15: "Marginal r=.15"}
# Table 6 is of these two, at these numbers of tables.
BY_TABLES = (UNWEIGHTED, MARGINALS[0.20])
NUMBERS = (1, 5, 10, 20, 30)
COUNT_SCHEMES = (
    PaperScheme(UNWEIGHTED, 0, 0.15, tables=NUMBERS),
    PaperScheme(MARGINALS[0.30], 1, 0.30),
    PaperScheme(MARGINALS[0.25], 1, 0.25),
    PaperScheme(MARGINALS[0.20], 1, 0.20, tables=NUMBERS),
    PaperScheme(MARGINALS[0.15], 1, 0.15),
    PaperScheme("Pairwise r=.15", 2, 0.15),
    PaperScheme("3-way r=.15", 3, 0.15),
    PaperScheme("4-way r=.15", 4, 0.15),
)


def read_counts(file: Path | None = None, *, seed: int = 1) -> pd.DataFrame:
    """Give the counts of a file; without one, drawn as in the paper."""
    frame = nb_mixture(COUNT_RECORDS, seed) if file is None else read_table(file).frame
    return frame[[COUNTS.sensitive]].astype(np.int64)


def run_simulation(
    data: pd.DataFrame, folder: Path, *, seed: int = 1, replicates: int = 100, refits: int = 3, workers: int = 1
) -> Results:
    """Fit all schemes, refit them with other seeds, and measure the replicates of each.

    Parameters
    ----------
    data
        As of `read_counts`.
    folder
        Of the study.
    seed
        The same data, sizes and seed give the same results.
    replicates, refits
        Replicates of the first fit of a scheme (of the others a fifth as many), and fits of a scheme.
    workers
        Processes.
    """
    study = Study(COUNTS, "negative_binomial", ("mean", "median"), tuple(sorted(MARGINALS)), step=0.2, seed=seed)
    numbers = [replicates, *[max(replicates // 5, 4)] * (refits - 1)]
    fits = run_schemes(data, study, COUNT_SCHEMES, folder, replicates=numbers, workers=workers)
    confidential = measure_data(data, study)
    away = abs(float(confidential["pooled/mean"][0, 0, 0]) - SIMULATION_DATA["mean"][0])
    printed_on = len(data) == COUNT_RECORDS and away < 0.005
    return Results(study, data, confidential, {one.name: one for one in COUNT_SCHEMES}, fits, printed_on)


def data_row(results: Results) -> pd.DataFrame:
    """Table 6, first row: the data bootstrapped with the random numbers of the paper's own program."""
    return pd.DataFrame(
        [
            {"statistic": name, "number": what, "paper": theirs, "ours": ours}
            for name, paper in SIMULATION_DATA.items()
            for what, theirs, ours in zip(
                ("estimate", "low", "high"), paper, results.estimate(DATA, name)[0], strict=True
            )
        ]
    )


def length_table(results: Results) -> pd.DataFrame:
    """Table 6: estimates and lengths of intervals by the number of tables."""
    table = estimates_table(results, SIMULATION_TABLES, [(name, n) for name in BY_TABLES for n in NUMBERS[::-1]])
    table["paper_length"] = table["paper_high"] - table["paper_low"]
    away = (table["paper_length"] - table["pooled_length"]) / table["pooled_length_spread"]
    return table.assign(paper_away_in_spreads=away if results.printed_on else np.nan)


def _longer(results: Results, more: int, fewer: int) -> Floats:
    """How much longer the paper's pooled interval of the mean is with more tables; the less sure of two schemes."""
    return least(
        [_length(results, name, more) - _length(results, name, fewer) for name in (UNWEIGHTED, MARGINALS[0.20])]
    )


def _length(results: Results, scheme: str, tables: int) -> Floats:
    _, low, high = results.estimate(scheme, "mean", tables=tables).T
    return high - low


def _weights_rise(results: Results) -> Floats:
    orders = [results.fits[f"{name} r=.15"][0]["weights"] for name in ("Marginal", "Pairwise", "3-way", "4-way")]
    # Differences of the size of rounding are none.
    return np.array([min(float((b - a).min()) for a, b in pairwise(orders)) + 1e-12])


_M, _P = MARGINALS[0.15], "Pairwise r=.15"

SIMULATION_CLAIMS = (
    Claim(
        "synthesis protects",
        "2.4.2",
        "Even without weights, synthesis lowers the mean risk far below that of the data, at every radius.",
        "mean risk of the data less that of Synthesizer; the radius where it is least sure",
        lambda r: least([r.risk(DATA, "mean", x) - r.risk(UNWEIGHTED, "mean", x) for x in MARGINALS]),
        "violins-r15",
    ),
    Claim(
        "Marginal protects more",
        "2.4.2",
        "At r = .30, .25 and .20, Marginal lowers the mean risk below that of Synthesizer.",
        "mean risk of Synthesizer less that of Marginal; the radius where it is least sure",
        lambda r: least([r.risk(UNWEIGHTED, "mean", x) - r.risk(MARGINALS[x], "mean", x) for x in (0.3, 0.25, 0.2)]),
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
        lambda r: least([distance(r, name) - distance(r, UNWEIGHTED) for name in MARGINALS.values()]),
        "estimates",
    ),
    Claim(
        "Marginal shifts the mean up",
        "2.4.3",
        "Marginal moves the mean above that of the data.",
        "mean under Marginal, r = .20, less the mean of the data",
        lambda r: bias(r, MARGINALS[0.20], "mean"),
        "estimates",
    ),
    Claim(
        "mean improves as r falls",
        "2.4.3",
        "The mean under Marginal comes closer to that of the data as the radius falls.",
        "distance of the mean from the data's at r = .30 less at r = .15",
        lambda r: np.abs(bias(r, MARGINALS[0.30], "mean")) - np.abs(bias(r, _M, "mean")),
        "estimates",
    ),
    Claim(
        "U_m at .15 below .20 and .25",
        "2.4.3",
        "Marginal at r = .15 has a smaller U_m than at r = .20 and .25.",
        "U_m at r = .20, .25 less at r = .15; the less sure of the two",
        lambda r: least([distance(r, MARGINALS[x]) - distance(r, _M) for x in (0.2, 0.25)]),
        "ecdf",
    ),
    Claim(
        "U_m smallest at .30",
        "2.4.3",
        "Among the four radii, r = .30 has the smallest U_m.",
        "U_m at the other radii less at r = .30; the least sure of the three",
        lambda r: least([distance(r, MARGINALS[x]) - distance(r, MARGINALS[0.30]) for x in (0.25, 0.2, 0.15)]),
        "ecdf",
    ),
    Claim(
        "little depends on r",
        "2.4.3",
        "Risk and utility hardly depend on the radius in this neighbourhood.",
        "0.02 less the difference of U_m at r = .30 and .15",
        lambda r: 0.02 - np.abs(distance(r, MARGINALS[0.30]) - distance(r, _M)),
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


_ORDERS = (_M, _P, "3-way r=.15", "4-way r=.15")
SIMULATION_PAGE = """\
## The simulation study (section 2.4, supplement section 6), on {which}

    {command}

{results.records:,} counts; {replicates} replicates of the first fit of every scheme, and {fits} fit(s) in all. \
The intruder knows nothing but the outcome: all records are in one pattern.

{warning}{how_to_read}
{claims}
### Figure 4: the data

{chart[data]}

### Tables 5 and S2: distance of the empirical distributions

{table[ecdf]:5}
The three- and four-way rows are ours: the paper mentions these weights and prints no number.

{chart[ecdf]}

### Table 6, first row: the data

Bootstrapped with the random numbers that R gives the authors' program.

{table[data]:2}
### Table 6: estimates and intervals by the number of tables L

`pooled` is the paper's interval: the bootstrap values of all tables together. It holds the noise between the tables \
whole and so grows with L. `combined` is the rule for partially synthetic data, which divides that noise by L: it \
shrinks with L, and is the library's default.

{table[lengths]:2}
{chart[lengths]}

### Figures 7 and S4: estimates with the paper's intervals

{table[estimates]:2}
{chart[estimates]}

### Figures 5a, 6 and S2: risk

{table[risk]:4}
{chart[violins-r30]}

{chart[violins-r25]}

{chart[violins-r20]}

{chart[violins-r15]}

{chart[violins-marginal]}

### Figures 5b and S3: the whack-a-mole, with what chance alone gives

{rises}

{table[rises]:3}
{chart[moles-marginal]}

{chart[moles-pairwise]}

### Weights by order

{chart[weights]}

### Fits

{table[fits]:3}"""


def write_simulation(results: Results, folder: Path, command: str) -> None:
    """Write the simulation study: tables, charts and page."""
    tables = {
        "ecdf": ecdf_table(results, SIMULATION_ECDF),
        "data": data_row(results),
        "lengths": length_table(results),
        "estimates": estimates_table(results, {**SIMULATION_TABLES, (DATA, TABLES): SIMULATION_DATA}),
        "risk": risk_table(results, {}),
        "rises": rises_table(results, [name for name in results.fits if name != UNWEIGHTED]),
        "fits": fits_table(results),
    }
    charts: Charts = {
        "data": _draw_counts(results),
        "ecdf": draw_distances(tables["ecdf"]),
        "lengths": _draw_lengths(tables["lengths"]),
        "estimates": draw_estimates(results),
        "violins-r30": draw_violins(results, [UNWEIGHTED, MARGINALS[0.30]], 0.30),
        "violins-r25": draw_violins(results, [UNWEIGHTED, MARGINALS[0.25]], 0.25),
        "violins-r20": draw_violins(results, [UNWEIGHTED, MARGINALS[0.20]], 0.20),
        "violins-r15": draw_violins(results, [UNWEIGHTED, *_ORDERS], 0.15),
        "violins-marginal": draw_violins(results, list(MARGINALS.values())),
        "moles-marginal": draw_moles(results, "Marginal r=.15"),
        "moles-pairwise": draw_moles(results, "Pairwise r=.15"),
        "weights": draw_weights(results, _ORDERS),
    }
    own = results.printed_on
    which = "the paper's own data" if own else "data drawn with the paper's parameters"
    warning = "" if own else "These are not the data of which the paper prints numbers.\n\n"
    words = {"which": which, "command": command, "warning": warning}
    title = f"The simulation study, on {which}"
    write_study(folder, "simulation", title, results, SIMULATION_CLAIMS, tables, charts, SIMULATION_PAGE, words)


def _draw_counts(results: Results) -> alt.TopLevelMixin:
    """Density of the counts, beside that of another sample of the population that the paper says they come from."""
    another = nb_mixture(len(results.data), results.study.seed + 1)
    released = {"another sample of the same mixture": another}
    return densities(results.data, released, results.study.survey.sensitive)


def _draw_lengths(table: pd.DataFrame) -> alt.TopLevelMixin:
    """Table 6: length of the pooled interval of the mean by the number of tables."""
    rows = table[table["estimate"] == "mean"]
    lengths = {"paper": rows["paper_length"], "ours": rows["pooled_length"], "spread": rows["pooled_length_spread"]}
    rows = rows.assign(row=rows["scheme"] + ", L = " + rows["tables"].astype(str), **lengths)
    return draw_rows(rows, "length of the 95% interval of the mean", "Interval length by number of tables")
