"""The paper's studies: the simulation of section 2.4 and supplement section 6, and the application of the others."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans
from molehill.baselines import topcode
from molehill.errors import InputError
from molehill.reproduction.paper import APPLICATION_TOP, SIMULATION_DATA, SIMULATION_TABLES
from molehill.reproduction.replicates import (
    PaperScheme,
    Study,
    Survey,
    estimate_tables,
    measure_data,
    run_schemes,
)
from molehill.reproduction.results import DATA, UNWEIGHTED, Results, estimates_table, run_spread
from molehill.reproduction.stages import Arrays
from molehill.risk.identification import release_risk
from molehill.risk.intruder import View
from molehill.tables.populations import consumer_survey, nb_mixture
from molehill.tables.schema import column_numbers
from molehill.tables.table import as_table, find_columns
from molehill.utility.distances import ecdf_distances

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


def read_counts(data: object = None, *, seed: int) -> pd.DataFrame:
    """Give the counts; without data, drawn as in the paper."""
    column = COUNTS.sensitive
    frame = nb_mixture(COUNT_RECORDS, seed) if data is None else as_table(data).frame
    if column not in frame:
        raise InputError("data", f"it has no column {column!r}", "Give a table of counts with that one column")
    numbers = column_numbers(as_table(frame), column)
    if np.isnan(numbers).any() or (numbers < 0).any() or (numbers != np.rint(numbers)).any():
        raise InputError("data", f"{column!r} must hold whole numbers from 0 up", "Give counts, none of them missing")
    return pd.DataFrame({column: numbers.astype(np.int64)})


def run_simulation(
    data: pd.DataFrame,
    folder: Path,
    *,
    seed: int = 1,
    replicates: int = 100,
    refits: int = 3,
    workers: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """Fit all schemes, refit them with other seeds, and measure the replicates of each.

    Parameters
    ----------
    data
        As of `read_counts`.
    folder
        Of the study, as of `molehill.reproduction.stages.open_folder`.
    seed
        The same data, sizes and seed give the same results.
    replicates, refits
        Replicates of the first fit of a scheme (of the others a fifth as many), and fits of a scheme.
    workers
        Processes; by default as many as there are cores.
    tell
        Called with every stage that is done.
    """
    radii = tuple(sorted(MARGINALS))
    study = Study(COUNTS, "negative_binomial", ("mean", "median"), radii, step=0.2, seed=seed)
    view = study.look(data)
    numbers = [replicates, *[max(replicates // 5, 4)] * (refits - 1)]
    workers = workers or os.cpu_count() or 1
    fits = run_schemes(view, study, COUNT_SCHEMES, folder, replicates=numbers, workers=workers, tell=tell)
    confidential = measure_data(view, study)
    away = abs(float(confidential["pooled/mean"][0, 0, 0]) - SIMULATION_DATA["mean"].value)
    printed_on = len(data) == COUNT_RECORDS and away < 0.005
    return Results(study, view, confidential, {one.name: one for one in COUNT_SCHEMES}, fits, printed_on)


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
CE_COLUMNS = {"Age", "Urban", "Tenure", "Educ", "Expenditure", "Marital", "Income"}
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


def read_survey(data: Any = None, survey: Survey | None = None) -> tuple[pd.DataFrame, Survey]:
    """Give the table with its predictors as categories, and the parts of its columns.

    Without data it is the built-in survey. The public sample of the Consumer Expenditure Survey is known by its
    columns, and its ages are grouped. Of any other table the parts must be given.
    """
    frame = (consumer_survey() if data is None else as_table(data).frame).copy()
    if survey is None and data is not None and set(frame.columns) != CE_COLUMNS:
        problem = "its columns are neither those of the built-in survey nor those of the CE sample"
        raise InputError("data", problem, "Say --sensitive, --known, --predictors, --regressors and --term")
    chosen = survey or (BUILT_IN_SURVEY if data is None else CE_SAMPLE)
    names = dict.fromkeys([chosen.sensitive, *chosen.known, *chosen.predictors, *chosen.regressors])
    find_columns(as_table(frame), list(names), "data")
    if chosen is CE_SAMPLE:
        frame["Age"] = pd.cut(frame["Age"], [-np.inf, 25, 35, 50, 65, np.inf], right=False, labels=list(_AGES))
    for name in names:
        if name != chosen.sensitive and frame[name].dtype != "category":
            frame[name] = pd.Categorical(frame[name].astype(str))
    column, level = chosen.term
    if level not in set(frame[column].astype(str)):
        raise InputError("term", f"{column!r} has no such level", "Write COLUMN=LEVEL as the table has it")
    return frame[list(names)], chosen


def run_application(
    data: pd.DataFrame,
    survey: Survey,
    folder: Path,
    *,
    seed: int = 1,
    replicates: int = 20,
    refits: int = 2,
    workers: int = 1,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """Fit all schemes to a survey, topcode it, and measure the replicates of each.

    Parameters
    ----------
    data, survey
        As of `read_survey`.
    folder
        Of the study, as of `molehill.reproduction.stages.open_folder`.
    seed, replicates, refits, workers, tell
        As in `run_simulation`; all fits have the same number of replicates, and each uses all cores by itself.
    """
    estimates = ("mean", "median", "90% quantile", "coefficient")
    study = Study(survey, "semicontinuous", estimates, (RADIUS,), step=STEP, seed=seed)
    view = study.look(data)
    numbers = [replicates] * refits
    fits = run_schemes(view, study, SURVEY_SCHEMES, folder, replicates=numbers, workers=workers, tell=tell)
    fits[TOPCODING] = [_measure_topcoding(view, study)]
    schemes = {one.name: one for one in (*SURVEY_SCHEMES, PaperScheme(TOPCODING, 0, RADIUS, tables=(1,)))}
    return Results(study, view, measure_data(view, study), schemes, fits, printed_on=False)


def top_table(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 3: risk of the ten riskiest and of the ten largest records; values as ranges."""
    parts = []
    for name, records in ten_records(results).items():
        ranges = pd.cut(results.view.values[records, 0], [*_RANGES.values(), np.inf], right=False, labels=list(_RANGES))
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
    by = {"riskiest": results.risks(DATA, RADIUS)[0], "largest": results.view.values[:, 0]}
    return {name: np.argsort(-numbers, kind="stable")[:10] for name, numbers in by.items()}


def topcoded(results: Results) -> Booleans:
    """Which records topcoding replaces."""
    values = results.view.values[:, 0]
    return values > np.quantile(values, TOPCODED_ABOVE / 100)


def _measure_topcoding(view: View, study: Study) -> Arrays:
    """Measure the topcoded table, which has no randomness in it: one replicate of one table."""
    data, column = view.table.frame, study.survey.sensitive
    table = topcode(data, column, percentile=TOPCODED_ABOVE, replacement="threshold")
    risk = release_risk(view, table).realised
    found = {f"risk/{RADIUS}": risk[None], f"expected/{RADIUS}": risk, f"expected_error/{RADIUS}": np.zeros(len(risk))}
    distances = ecdf_distances(data, table, column)
    found |= {name: np.array([distances.value(name)]) for name in ("U_m", "U_a")}
    for name in study.estimates:
        points, variances, _ = estimate_tables(data, study.survey, name, table[column].to_numpy(np.float64)[None])
        reach = 1.96 * np.sqrt(variances)
        found[f"combined/{name}"] = np.column_stack([points, points - reach, points + reach])[None]
    return found
