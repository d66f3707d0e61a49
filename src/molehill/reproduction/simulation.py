"""The paper's simulation study: section 2.4 and section 6 of the supplement."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.frames import as_table
from molehill.reproduction.paper import SIMULATION_DATA, SIMULATION_TABLES, Interval
from molehill.reproduction.replicates import Scheme, Study, bootstrap_like_r, measure_data, plan_stage
from molehill.reproduction.results import UNWEIGHTED, Results, estimates_table
from molehill.reproduction.stages import Tell, run_stages
from molehill.schema import column_numbers
from molehill.simulation import nb_mixture

COLUMN, EVERYONE = "outcome", "everyone"
RECORDS = 1000
# Table 6 is of these two.
BY_TABLES = (UNWEIGHTED, "Marginal r=.20")
NUMBERS = (1, 5, 10, 20, 30)
RADII = (0.30, 0.25, 0.20, 0.15)
SCHEMES = (
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
        for scheme in SCHEMES:
            numbers = NUMBERS if scheme.name in BY_TABLES else (20,)
            number = replicates if refit == 0 else max(replicates // 5, 4)
            stages.append(plan_stage(data, study, scheme, refit=refit, replicates=number, tables=numbers))
            places.append(scheme.name)
    found = run_stages(stages, folder, workers=workers or os.cpu_count() or 1, tell=tell)
    fits = {scheme.name: [] for scheme in SCHEMES}
    for stage, name in zip(stages, places, strict=True):
        fits[name].append(found[stage.name])
    radius = {scheme.name: scheme.radius for scheme in SCHEMES}
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
