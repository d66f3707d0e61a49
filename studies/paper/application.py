"""The application of sections 2.3 and 3.2 and supplement section 7: incomes of a survey."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill import consumer_survey, read_table, release_risk
from molehill.sdc_methods import topcode
from molehill.utility import ecdf_distances
from studies.paper.claims import Claim, bias, distance, truth
from studies.paper.page import (
    Charts,
    draw_distances,
    draw_estimates,
    draw_moles,
    draw_violins,
    draw_weights,
    write_study,
)
from studies.paper.printed import APPLICATION_ECDF, APPLICATION_ESTIMATES, APPLICATION_RISK_IQR, APPLICATION_TOP
from studies.paper.replicates import TABLES, PaperScheme, Study, Survey, estimate_tables, measure_data, run_schemes
from studies.paper.results import (
    DATA,
    UNWEIGHTED,
    Results,
    ecdf_table,
    estimates_table,
    fits_table,
    rises_table,
    risk_table,
    run_spread,
)
from studies.paper.stages import Arrays

RADIUS = 0.2
# The paper marks rises of a quarter here, and topcodes about 6% of the records.
STEP = 0.25
TOPCODED_ABOVE = 94.0
TOPCODING = "Topcoding"
SURVEY_SCHEMES = (
    PaperScheme(UNWEIGHTED, 0, RADIUS),
    PaperScheme("Marginal", 1, RADIUS),
    PaperScheme("Pairwise", 2, RADIUS),
    PaperScheme("Pairwise c=1.5", 2, RADIUS, scale=1.5),
    PaperScheme("Pairwise g=.1", 2, RADIUS, shift=0.1),
)
_RANGES = {
    "loss": -np.inf,
    "0 to 1K": 0.0,
    "1K to 10K": 1e3,
    "10K to 50K": 10e3,
    "50K to 100K": 50e3,
    "100K to 1000K": 100e3,
    "1000K or more": 1000e3,
}
BUILT_IN_SURVEY = Survey(
    "income",
    ("gender", "age", "region"),
    ("gender", "age", "education", "region", "urban", "marital", "urban_type", "cbsa", "family_size", "earner"),
    ("region", "urban", "earner"),
    ("earner", "not an earner"),
    -100_000.0,
    2_000_000.0,
)
# The public sample has no column of earners: most people of 65 or over earn no wage, and theirs is the coefficient.
CE_SAMPLE = Survey(
    "Income",
    ("Age", "Urban", "Marital"),
    ("Age", "Urban", "Tenure", "Educ", "Marital"),
    ("Age", "Urban", "Marital"),
    ("Age", "65 and over"),
    -100_000.0,
    2_000_000.0,
)
_AGES = ("under 25", "25-34", "35-49", "50-64", "65 and over")


def read_survey(file: Path | None = None) -> tuple[pd.DataFrame, Survey]:
    """Give the CE sample of a file, or the built-in survey, with categories as predictors, and which column is what."""
    frame, survey = (consumer_survey(), BUILT_IN_SURVEY) if file is None else (read_table(file).frame, CE_SAMPLE)
    names = list(dict.fromkeys([survey.sensitive, *survey.known, *survey.predictors, *survey.regressors]))
    frame = frame[names].copy()
    if survey is CE_SAMPLE:
        frame["Age"] = pd.cut(frame["Age"], [-np.inf, 25, 35, 50, 65, np.inf], right=False, labels=list(_AGES))
    for name in names[1:]:
        if frame[name].dtype != "category":
            frame[name] = pd.Categorical(frame[name].astype(str))
    return frame, survey


def run_application(
    data: pd.DataFrame, survey: Survey, folder: Path, *, seed: int = 1, replicates: int = 20, refits: int = 2
) -> Results:
    """Fit all schemes to a survey, topcode it, and measure the replicates of each.

    Parameters
    ----------
    data, survey
        As of `read_survey`.
    folder
        Of the study.
    seed, replicates, refits
        As in `run_simulation`; all fits have the same number of replicates, and each uses all cores by itself.
    """
    estimates = ("mean", "median", "90% quantile", "coefficient")
    study = Study(survey, "semicontinuous", estimates, (RADIUS,), step=STEP, seed=seed)
    fits = run_schemes(data, study, SURVEY_SCHEMES, folder, replicates=[replicates] * refits, workers=1)
    fits[TOPCODING] = [_measure_topcoding(data, study)]
    schemes = {one.name: one for one in (*SURVEY_SCHEMES, PaperScheme(TOPCODING, 0, RADIUS, tables=(1,)))}
    return Results(study, data, measure_data(data, study), schemes, fits, printed_on=False)


def top_table(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 3: risk of the ten riskiest and of the ten largest records; values as ranges."""
    parts = []
    for name, records in ten_records(results).items():
        ranges = pd.cut(results.values[records], [*_RANGES.values(), np.inf], right=False, labels=list(_RANGES))
        part = pd.DataFrame({"list": name, "rank": np.arange(1, len(records) + 1), "range": ranges.astype(str)})
        part[DATA] = results.risks(DATA, RADIUS)[0, records]
        for scheme in schemes:
            arrays = results.fits[scheme][0]
            part[f"{scheme}, one run"] = arrays[f"risk/{RADIUS}"][0, records].astype(np.float64)
            part[f"{scheme}, expected"] = arrays[f"expected/{RADIUS}"][records]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def top_means(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 3 in short: the mean risk of the ten, the paper's and ours."""
    rows = []
    for name, records in ten_records(results).items():
        for scheme in (DATA, *schemes):
            of_ten = results.risks(scheme, RADIUS)[:, records].mean(axis=1)
            row = {"list": name, "scheme": scheme, "paper": APPLICATION_TOP[name].get(scheme, np.nan)}
            rows.append(row | {"ours": float(of_ten.mean()), "spread": run_spread(of_ten)})
    return pd.DataFrame(rows)


def ten_records(results: Results) -> dict[str, np.ndarray]:
    """Places of the ten riskiest records, and of the ten with the largest values."""
    by = {"riskiest": results.risks(DATA, RADIUS)[0], "largest": results.values}
    return {name: np.argsort(-numbers, kind="stable")[:10] for name, numbers in by.items()}


def topcoded(results: Results) -> NDArray[np.bool_]:
    """Which records topcoding replaces."""
    values = results.values
    return values > np.quantile(values, TOPCODED_ABOVE / 100)


def _measure_topcoding(data: pd.DataFrame, study: Study) -> Arrays:
    """Measure the topcoded table, which has no randomness in it: one replicate of one table."""
    column = study.survey.sensitive
    table = topcode(data, column, percentile=TOPCODED_ABOVE, replacement="threshold")
    risk = release_risk(data, table, study.intruder(RADIUS)).realised
    found = {f"risk/{RADIUS}": risk[None], f"expected/{RADIUS}": risk, f"expected_error/{RADIUS}": np.zeros(len(risk))}
    distances = ecdf_distances(data, table, column)
    found |= {name: np.array([distances.value(name)]) for name in ("U_m", "U_a")}
    for name in study.estimates:
        points, variances, _ = estimate_tables(data, study.survey, name, table[column].to_numpy(np.float64)[None])
        reach = 1.96 * np.sqrt(variances)
        found[f"combined/{name}"] = np.column_stack([points, points - reach, points + reach])[None]
    return found


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
        lambda r: distance(r, _MARGINAL) - distance(r, UNWEIGHTED),
        "ecdf",
    ),
    Claim(
        "Marginal lowers the 90% quantile",
        "2.3.1",
        "Marginal pulls the 90% quantile below that of the data.",
        "the data's 90% quantile less that under Marginal",
        lambda r: -bias(r, _MARGINAL, "90% quantile"),
        "estimates",
    ),
    Claim(
        "Marginal raises the median",
        "2.3.1",
        "Marginal pushes the median above that of the data.",
        "the median under Marginal less that of the data",
        lambda r: bias(r, _MARGINAL, "median"),
        "estimates",
    ),
    Claim(
        "Marginal raises the mean",
        "2.3.1",
        "Marginal pushes the mean above that of the data.",
        "the mean under Marginal less that of the data",
        lambda r: bias(r, _MARGINAL, "mean"),
        "estimates",
    ),
    Claim(
        "Marginal weakens the coefficient",
        "2.3.1",
        "Marginal pulls the regression coefficient towards zero.",
        "size of the data's coefficient less that under Marginal",
        lambda r: abs(truth(r, "coefficient")) - np.abs(r.estimate(_MARGINAL, "coefficient")[:, 0]),
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
        lambda r: distance(r, _MARGINAL) - 2 * distance(r, _PAIRWISE),
        "ecdf",
    ),
    Claim(
        "scaling helps utility",
        "S7.2",
        "A scale of 1.5 improves utility over a scale of 1 (table S3 itself prints the opposite).",
        "U_m of Pairwise less that of Pairwise with c = 1.5",
        lambda r: distance(r, _PAIRWISE) - distance(r, _SCALED),
        "ecdf",
    ),
    Claim(
        "shifting helps utility",
        "S7.2",
        "A shift of 0.1 improves utility.",
        "U_m of Pairwise less that of Pairwise with g = 0.1",
        lambda r: distance(r, _PAIRWISE) - distance(r, _SHIFTED),
        "ecdf",
    ),
    Claim(
        "shifting helps more than scaling",
        "S7.2",
        "A shift of 0.1 improves utility more than a scale of 1.5.",
        "U_m of Pairwise with c = 1.5 less that with g = 0.1",
        lambda r: distance(r, _SCALED) - distance(r, _SHIFTED),
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
_APPLIED = (UNWEIGHTED, _MARGINAL, _PAIRWISE)
_ADJUSTED = (_PAIRWISE, _SCALED, _SHIFTED)
APPLICATION_PAGE = """\
## The application (sections 2.3 and 3.2, supplement section 7), on {which}

    {command}

{results.records:,} records, sensitive `{results.study.survey.sensitive}`, known {known} ({alone} records are \
alone in their pattern), radius 0.2. {replicates} replicates of 20 tables from each of {fits} fit(s) of every scheme. \
The paper's sample of 6,208 consumer units is confidential, so its numbers stand beside ours for their pattern, not to \
agree. Incomes are synthesized by the semicontinuous model: sign, then a mixture of regressions of the logarithm.

{warning}{how_to_read}
{claims}
### Tables 7, S1 and S3: distance of the empirical distributions

{table[ecdf]:6}
{chart[ecdf]}

### Tables 2 and 3: the ten riskiest and the ten largest records

Values are told as ranges. `one run` is the realised risk of 20 tables, as in the paper; `expected` is the mean over \
all our tables. Topcoding puts the values above the {topcoded:g}% quantile to that quantile.

{table[top_means]:4}
{table[top]:3}
### Table 4, figures 10 and S6: estimates

The coefficient is that of `{results.study.survey.term[0]}` = {results.study.survey.term[1]} in a linear \
regression on {regressors}, by the combining rule; the others have the paper's pooled intervals.

{table[estimates]:0}
{chart[estimates]}

### Figures 2, 8 and S7: risk

{table[risk]:4}
{chart[violins]}

{chart[violins-adjusted]}

### Figures 3 and 9: the whack-a-mole, with what chance alone gives

{rises}

{table[rises]:3}
{chart[moles-marginal]}

{chart[moles-pairwise]}

### Figure S5: weights

{chart[weights]}

{chart[weights-adjusted]}

### Fits

{table[fits]:3}"""


def write_application(results: Results, folder: Path, command: str, name: str) -> None:
    """Write the application: tables, charts and page; `name` says which survey it is."""
    shown = [*_APPLIED, TOPCODING]
    printed = {(scheme, TABLES): estimates for scheme, estimates in APPLICATION_ESTIMATES.items()}
    tables = {
        "ecdf": ecdf_table(results, APPLICATION_ECDF),
        "estimates": estimates_table(results, printed),
        "risk": risk_table(results, APPLICATION_RISK_IQR),
        "rises": rises_table(results, [*_APPLIED[1:], *_ADJUSTED[1:]]),
        "top": top_table(results, shown),
        "top_means": top_means(results, shown),
        "fits": fits_table(results),
    }
    charts: Charts = {
        "ecdf": draw_distances(tables["ecdf"]),
        "estimates": draw_estimates(results),
        "violins": draw_violins(results, shown),
        "violins-adjusted": draw_violins(results, [UNWEIGHTED, *_ADJUSTED]),
        "moles-marginal": draw_moles(results, "Marginal"),
        "moles-pairwise": draw_moles(results, "Pairwise"),
        # A chart holds at most 5,000 points: two panels each.
        "weights": draw_weights(results, ("Marginal", "Pairwise")),
        "weights-adjusted": draw_weights(results, _ADJUSTED[1:]),
    }
    survey, which = results.study.survey, f"the {name.replace('-', ' ')}"
    words = {
        "which": which,
        "command": command,
        "known": ", ".join(survey.known),
        "alone": int((results.data.groupby(list(survey.known), observed=True).size() == 1).sum()),
        "warning": _tell_convergence(tables["fits"]),
        "topcoded": TOPCODED_ABOVE,
        "regressors": ", ".join(survey.regressors),
    }
    title = f"The application, on {which}"
    write_study(folder, name, title, results, APPLICATION_CLAIMS, tables, charts, APPLICATION_PAGE, words)


def _tell_convergence(fits: pd.DataFrame) -> str:
    """Which fits cannot be trusted."""
    worst = fits[~fits["converged"]]
    if worst.empty:
        return "All fits converged.\n\n"
    told = ", ".join(f"{row.scheme} (fit {row.fit}, R-hat {row.rhat:.3f})" for row in worst.itertuples())
    return (
        "These fits did not meet the library's limits of convergence, and are shown all the same; what is compared "
        f"with them is known less well than its error says: {told}.\n\n"
    )
