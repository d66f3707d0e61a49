"""The paper's simulation study: section 2.4 and section 6 of the supplement."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.baselines import topcode
from molehill.errors import InputError
from molehill.reproduction.paper import APPLICATION_TOP, SIMULATION_DATA, SIMULATION_TABLES, Interval
from molehill.reproduction.replicates import Scheme, Study, bootstrap_like_r, estimate_tables, measure_data, plan_stage
from molehill.reproduction.results import UNWEIGHTED, Results, estimates_table, spread
from molehill.reproduction.stages import Arrays, Tell, run_stages
from molehill.risk.identification import confidential_risk, release_risk
from molehill.tables.populations import consumer_survey, nb_mixture
from molehill.tables.schema import column_numbers, find_columns
from molehill.tables.table import as_table
from molehill.utility.distances import ecdf_distances

COLUMN, EVERYONE = "outcome", "everyone"
RECORDS = 1000
# Table 6 is of these two.
BY_TABLES = (UNWEIGHTED, "Marginal r=.20")
NUMBERS = (1, 5, 10, 20, 30)
RADII = (0.30, 0.25, 0.20, 0.15)
COUNT_SCHEMES = (
    Scheme(UNWEIGHTED, 0, 0.15),
    *(Scheme(f"Marginal r=.{round(100 * radius)}", 1, radius) for radius in RADII),
    Scheme("Pairwise r=.15", 2, 0.15),
    Scheme("3-way r=.15", 3, 0.15),
    Scheme("4-way r=.15", 4, 0.15),
)


def read_counts(data: object = None, *, seed: int) -> pd.DataFrame:
    """Give the counts with a column that is the same for all records; without data, drawn as in the paper."""
    frame = nb_mixture(RECORDS, seed) if data is None else as_table(data).frame
    if COLUMN not in frame:
        raise InputError("data", f"it has no column {COLUMN!r}", "Give a table of counts with that one column")
    numbers = column_numbers(as_table(frame), COLUMN)
    if np.isnan(numbers).any() or (numbers < 0).any() or (numbers != np.rint(numbers)).any():
        raise InputError("data", f"{COLUMN!r} must hold whole numbers from 0 up", "Give counts, none of them missing")
    return pd.DataFrame({COLUMN: numbers.astype(np.int64), EVERYONE: "all"})


def run_simulation(
    data: pd.DataFrame,
    folder: Path,
    *,
    seed: int = 1,
    replicates: int = 100,
    refits: int = 3,
    workers: int | None = None,
    tell: Tell | None = None,
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
    study = Study(
        COLUMN, (EVERYONE,), (), "negative_binomial", ("mean", "median"), tuple(sorted(RADII)), step=0.2, seed=seed
    )
    stages, places = [], []
    for refit in range(refits):
        for scheme in COUNT_SCHEMES:
            numbers = NUMBERS if scheme.name in BY_TABLES else (20,)
            number = replicates if refit == 0 else max(replicates // 5, 4)
            stages.append(plan_stage(data, study, scheme, refit=refit, replicates=number, tables=numbers))
            places.append(scheme.name)
    found = run_stages(stages, folder, workers=workers or os.cpu_count() or 1, tell=tell)
    fits = {scheme.name: [] for scheme in COUNT_SCHEMES}
    for stage, name in zip(stages, places, strict=True):
        fits[name].append(found[stage.name])
    radius = {scheme.name: scheme.radius for scheme in COUNT_SCHEMES}
    mean, _, _ = bootstrap_like_r(data[COLUMN].to_numpy(np.float64), np.mean)
    printed_on = len(data) == RECORDS and abs(mean - SIMULATION_DATA["mean"].point) < 0.005
    return Results(study, data, measure_data(data, study), fits, NUMBERS, radius, printed_on)


def data_row(results: Results) -> pd.DataFrame:
    """Table 6, first row: the data bootstrapped with the random numbers of the paper's own program."""
    values = results.data[COLUMN].to_numpy(np.float64)
    rows = []
    for name, statistic in (("mean", np.mean), ("median", np.median)):
        found, paper = bootstrap_like_r(values, statistic), SIMULATION_DATA[name]
        for ours, theirs, what in zip(found, paper, ("estimate", "low", "high"), strict=True):
            rows.append({"statistic": name, "number": what, "paper": theirs, "ours": ours})
    return pd.DataFrame(rows)


def length_table(results: Results) -> pd.DataFrame:
    """Table 6: estimates and lengths of intervals by the number of tables."""
    parts = []
    for number in NUMBERS[::-1]:
        printed = {name: SIMULATION_TABLES[name, number] for name in BY_TABLES} | {"Data": SIMULATION_DATA}
        part = estimates_table(results, printed, tables=number)
        parts.append(part[part["scheme"].isin(BY_TABLES)])
    table = pd.concat(parts, ignore_index=True)
    table["paper_length"] = table["paper_high"] - table["paper_low"]
    away = (table["paper_length"] - table["pooled_length"]) / table["pooled_length_spread"]
    table["paper_away_in_spreads"] = away if results.printed_on else np.nan
    order = {name: place for place, name in enumerate(BY_TABLES)}
    table["order"] = table["scheme"].map(order)
    return table.sort_values(["estimate", "order", "tables"], ascending=[True, True, False]).drop(columns="order")


def printed_estimates() -> dict[str, dict[str, Interval]]:
    """What the paper prints at twenty tables, by scheme."""
    return {name: SIMULATION_TABLES[name, 20] for name in BY_TABLES} | {"Data": SIMULATION_DATA}


RADIUS = 0.2
# The paper marks rises of a quarter here, and topcodes about 6% of the records.
STEP = 0.25
TOPCODED_ABOVE = 94.0
TOP = 10
TOPCODING = "Topcoding"
SURVEY_SCHEMES = (
    Scheme(UNWEIGHTED, 0, RADIUS),
    Scheme("Marginal", 1, RADIUS),
    Scheme("Pairwise", 2, RADIUS),
    Scheme("Pairwise c=1.5", 2, RADIUS, scale=1.5),
    Scheme("Pairwise g=.1", 2, RADIUS, shift=0.1),
)
_RANGES = (-np.inf, 0.0, 1e3, 10e3, 50e3, 100e3, 1000e3, np.inf)
_RANGE_NAMES = ("loss", "0 to 1K", "1K to 10K", "10K to 50K", "50K to 100K", "100K to 1000K", "1000K or more")


@dataclass(frozen=True)
class Survey:
    """Which columns of a table play which part.

    Attributes
    ----------
    sensitive, known, predictors
        As in `synthesize`.
    regressors, term
        Of the regression: its columns, and the column and level whose coefficient is told.
    lower, upper
        The public support of the sensitive column.
    """

    sensitive: str
    known: tuple[str, ...]
    predictors: tuple[str, ...]
    regressors: tuple[str, ...]
    term: tuple[str, str]
    lower: float | None = -100_000.0
    upper: float | None = 2_000_000.0


BUILT_IN = Survey(
    "income",
    ("gender", "age", "region"),
    (
        *("gender", "age", "education", "region", "urban", "marital", "urban_type", "cbsa", "family_size"),
        "earner",
    ),
    ("region", "urban", "earner"),
    ("earner", "not an earner"),
)
# The public sample has no column of earners: most people of 65 or over earn no wage, and theirs is the coefficient.
CE_COLUMNS = {"Age", "Urban", "Tenure", "Educ", "Expenditure", "Marital", "Income"}
CE_SAMPLE = Survey(
    "Income",
    ("Age", "Urban", "Marital"),
    ("Age", "Urban", "Tenure", "Educ", "Marital"),
    ("Age", "Urban", "Marital"),
    ("Age", "65 and over"),
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
    chosen = survey or (BUILT_IN if data is None else CE_SAMPLE)
    names = dict.fromkeys([chosen.sensitive, *chosen.known, *chosen.predictors, *chosen.regressors])
    find_columns(as_table(frame), list(names), "data")
    if survey is None and data is not None:
        frame["Age"] = pd.cut(frame["Age"], [-np.inf, 25, 35, 50, 65, np.inf], right=False, labels=list(_AGES))
    for name in names:
        if name != chosen.sensitive:
            frame[name] = pd.Categorical(frame[name].astype(str)) if frame[name].dtype != "category" else frame[name]
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
    tell: Tell | None = None,
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
    study = Study(
        survey.sensitive,
        survey.known,
        survey.predictors,
        "semicontinuous",
        ("mean", "median", "90% quantile", "coefficient"),
        (RADIUS,),
        step=STEP,
        seed=seed,
        lower=survey.lower,
        upper=survey.upper,
        regressors=survey.regressors,
        term=survey.term,
    )
    stages = [
        plan_stage(data, study, scheme, refit=refit, replicates=replicates)
        for refit in range(refits)
        for scheme in SURVEY_SCHEMES
    ]
    found = run_stages(stages, folder, workers=workers, tell=tell)
    fits: dict[str, list[Arrays]] = {scheme.name: [] for scheme in SURVEY_SCHEMES}
    for number, stage in enumerate(stages):
        fits[SURVEY_SCHEMES[number % len(SURVEY_SCHEMES)].name].append(found[stage.name])
    fits[TOPCODING] = [_measure_topcoding(data, study)]
    return Results(study, data, measure_data(data, study), fits, (20,), dict.fromkeys(fits, RADIUS), printed_on=False)


def top_table(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 3: risk of the ten riskiest and of the ten largest records; values as ranges."""
    values = results.data[results.study.column].to_numpy(np.float64)
    ranges = pd.cut(values, list(_RANGES), right=False, labels=list(_RANGE_NAMES)).astype(str)
    own = results.confidential[f"risk/{RADIUS}"]
    rows = []
    for name, records in top_records(results).items():
        for rank, record in enumerate(records, 1):
            row = {"list": name, "rank": rank, "range": ranges[record], "Data": own[record]}
            for scheme in schemes:
                arrays = results.schemes[scheme][0]
                row[f"{scheme}, one run"] = float(arrays[f"risk/{RADIUS}"][0, record])
                row[f"{scheme}, expected"] = float(arrays[f"expected/{RADIUS}"][record])
            rows.append(row)
    return pd.DataFrame(rows)


def top_means(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Tables 2 and 3 in short: the mean risk of the ten, the paper's and ours."""
    rows = []
    for name, records in top_records(results).items():
        for scheme in ("Data", *schemes):
            risk = results.confidential[f"risk/{RADIUS}"][None] if scheme == "Data" else results.risks(scheme)
            of_ten = risk[:, records].mean(axis=1)
            row = {"list": name, "scheme": scheme, "paper": APPLICATION_TOP[name].get(scheme, np.nan)}
            rows.append(row | {"ours": float(of_ten.mean()), "spread": spread(of_ten)})
    return pd.DataFrame(rows)


def top_records(results: Results) -> dict[str, np.ndarray]:
    """Places of the ten riskiest records, and of the ten with the largest values."""
    values = results.data[results.study.column].to_numpy(np.float64)
    risk = results.confidential[f"risk/{RADIUS}"]
    return {
        "riskiest": np.argsort(-risk, kind="stable")[:TOP],
        "largest": np.argsort(-values, kind="stable")[:TOP],
    }


def topcoded(results: Results) -> np.ndarray:
    """Which records topcoding replaces."""
    values = results.data[results.study.column].to_numpy(np.float64)
    return values > np.quantile(values, TOPCODED_ABOVE / 100)


def _measure_topcoding(data: pd.DataFrame, study: Study) -> Arrays:
    """Measure the topcoded table, which has no randomness in it: one replicate of one table."""
    table = topcode(data, study.column, percentile=TOPCODED_ABOVE, replacement="threshold")
    risk = release_risk(data, table, known=study.known, sensitive=study.column, radius=RADIUS).realised
    distances = ecdf_distances(data, table, study.column)
    found: dict[str, np.ndarray] = {
        f"risk/{RADIUS}": risk[None],
        f"expected/{RADIUS}": risk,
        f"expected_error/{RADIUS}": np.zeros(len(risk)),
    }
    found |= {name: np.array([distances.value(name)]) for name in ("U_m", "U_a")}
    values = table[study.column].to_numpy(np.float64)[None]
    for name in study.estimates:
        points, variances, _ = estimate_tables(data, study, name, values)
        reach = 1.96 * np.sqrt(variances)
        found[f"combined/{name}"] = np.column_stack([points, points - reach, points + reach])[None]
    return found


def protected_alone(results: Results) -> int:
    """How many records are alone in their pattern."""
    risk = confidential_risk(
        results.data, known=results.study.known, sensitive=results.study.column, radius=RADIUS, singletons="protect"
    )
    return int(risk.policies["alone in the pattern"])
