"""Ours, synthpop's tables, topcoding, noise and swapping side by side: one intruder, every attack, a scorecard.

Run `python benchmarks/side_by_side.py --data ce` and `--data nist` (they need ../shared/data). Each prints a Markdown
table. All schemes have as many tables (20 and 10, as synthpop's), replace the same columns as far as they can, and keep
all others: topcoding, noise and swapping change numbers alone, and leave categories as collected.

What needs nobody else is measured on all records. What an attack gives beyond a control is measured on halves: every
scheme is made anew of a random half of the records, and the other half is the control. synthpop's tables were made of
all records by somebody else, so that there is no control for them. `--keep FILE` saves the figures, which
`docs/side_by_side_figure.py` draws.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import Settings, evaluate, read_table, synthesize
from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import COLOURS, score
from molehill.plan.plan import find_rules
from molehill.sdc_methods import BASELINES
from molehill.tables.cells import declare_missing
from molehill.tables.table import Table

SHARED = Path(__file__).parents[2] / "shared" / "data"
OURS, OTHERS, CHANGED = "Molehill", "synthpop", ("topcoding", "noise", "swapping")
# Families of the scorecard that are judged beside the other half alone.
HALVES = ("singling out", "linkability", "inference", "membership")


@dataclass(frozen=True)
class Case:
    """A table, how it is released and by whom it is attacked, and the tables of others."""

    data: Table
    settings: Settings
    others: Sequence[pd.DataFrame]


@dataclass(frozen=True)
class Row:
    """A row of the table: words, the id of the measure and of one beside it, which of several figures counts."""

    words: str
    measure: str
    take: str = ""
    at: float | None = None
    halves: bool = False
    beside: str = ""


def attack_rows(words: str, name: str, take: str = "", at: float | None = None) -> list[Row]:
    """Rows of an attack: rate and baseline on all records, then rate, control and risk on halves."""
    return [
        Row(f"{words}: rate; by chance", name, take, at, beside=f"{name}_baseline"),
        Row("of a half: rate; control", name, take, at, halves=True, beside=f"{name}_control"),
        Row("of a half: **risk**", f"{name}_risk", take, at, halves=True),
    ]


def list_rows(sensitive: Sequence[str]) -> dict[str, list[Row]]:
    """Give the rows by family; of several sensitive columns attacks are told for each, checks of the worst."""
    guessed = [row for name in sensitive for row in attack_rows(f"secret {name}", "inference", name)]
    largest, least = ("largest", "least") if len(sensitive) > 1 else ("", "")
    return {
        "identity": [
            Row("matched uniquely and rightly", "matches_true"),
            Row("mean risk; of tables that tell nothing beyond the pattern", "risk_mean", beside="risk_baseline"),
            Row("mean risk of the most isolated 1%", "isolated_mean"),
            Row("alone in the known columns, released as such (repU)", "replicated_uniques"),
        ],
        "attribute": [
            Row(f"right guesses owed to the own record{', largest' if largest else ''}", "attribution_gain", largest),
            Row(
                f"given away and right (DiSCO){', largest' if largest else ''}; by chance",
                "disclosive",
                largest,
                beside="disclosive_baseline",
            ),
            Row("of a half: **risk**", "disclosive_risk", largest, halves=True),
        ],
        "singling out": [
            *attack_rows("one column", "singling_out", at=1.0),
            *attack_rows("three columns", "singling_out", at=3.0),
        ],
        "linkability": attack_rows("known to sensitive", "linkability"),
        "inference": guessed,
        "membership": [
            Row("of a half: nearer to who was used (half: no sign)", "closest_records", halves=True),
            Row("advantage of who knows everybody else and the fitted model", "advantage_random"),
        ],
        "unchanged_inference": [
            Row("of a kept column, owed to the own record, largest", "unchanged_inference_gain", "largest")
        ],
        "consistency": [
            Row("records with a pair that nobody has; in a fresh sample", "new_pairs", beside="new_pairs_benchmark"),
            Row(
                "cells of one or two found again; in a fresh sample", "small_cells_kept", beside="small_cells_benchmark"
            ),
            Row(f"distance in round values{', largest' if largest else ''}", "round_gap", largest),
            Row(f"written more finely than any{', largest' if largest else ''}", "excess_digits", largest),
            Row("values beyond the range, all columns", "beyond_range", "sum"),
            Row("records that break a rule", "edit_failures", "any rule"),
        ],
        "utility": [
            Row(f"U_m, tables pooled{', largest' if largest else ''}", "U_m_combined", largest),
            Row("overlap of intervals, mean", "overlap", "mean"),
            Row(f"the worst{', of all columns' if least else ''}", "overlap", "least"),
            Row("agreement of pairs; in a fresh sample", "agreement_2", beside="agreement_2_benchmark"),
            Row("agreement of triples; in a fresh sample", "agreement_3", beside="agreement_3_benchmark"),
        ],
    }


def read_case(name: str, shared: Path, seed: int) -> Case:
    """Read a table with the settings by which it is released; whatever is not replaced is kept."""
    how: dict[str, Any] = {"seed": seed, "compare": (), "attacks": "none", "shuffle": False, "radius": 0.2}
    if name == "ce":
        table = read_table(shared / "ce_sample.csv")
        made = pd.read_csv(shared / "ce_synthpop_income.csv")
        others = [table.frame.assign(Income=made[one].to_numpy()) for one in made.columns]
        settings = Settings(
            synthesize="Income",
            keep=[column for column in table.frame.columns if column != "Income"],
            known=("Age", "Urban", "Marital"),
            breaks={"Age": (25.0, 35.0, 50.0, 65.0)},
            lower=-200_000.0,
            upper=2_000_000.0,
            datasets=len(others),
            **how,
        )
        return Case(table, settings, others)
    categories, numbers = ("MSP", "EDU", "INDP_CAT"), ("PINCP", "POVPIP")
    table = read_table(shared / "nist_ma.csv")
    codes = {column: ("N",) for column in table.frame.columns if (table.frame[column].astype(str) == "N").any()}
    table = declare_missing(table, codes)
    others = []
    for path in sorted((shared / "nist_ma_synthpop").glob("*.csv")):
        cells = pd.read_csv(path, dtype=str, keep_default_na=False)
        new = {column: pd.to_numeric(cells[column], errors="coerce") for column in (*categories, *numbers)}
        others.append(table.frame.assign(**{one: made.astype(table.frame[one].dtype) for one, made in new.items()}))
    settings = Settings(
        synthesize=(*categories, *numbers),
        keep=[column for column in table.frame.columns if column not in (*categories, *numbers)],
        known=("PUMA", "AGEP", "SEX", "RAC1P"),
        breaks={"AGEP": (15.0, 25.0, 35.0, 50.0, 65.0)},
        kinds=dict.fromkeys(categories, "categorical"),
        missing_values="model",
        lower={"PINCP": -20_000.0, "POVPIP": 0.0},
        upper={"PINCP": 2_000_000.0, "POVPIP": 501.0},
        datasets=len(others),
        **how,
    )
    return Case(table, settings, others)


def make_schemes(table: Table, settings: Settings) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Make our release, and what agencies do today, of a table."""
    release = synthesize(table, settings, progress=False)
    schema = settings.intruder.view(table).schema
    numbers = [name for name in settings.synthesize if schema[name].kind != "categorical"]
    tables: dict[str, list[Any]] = {OURS: list(release.datasets)}
    for name in CHANGED:
        seeds = range(settings.datasets)
        tables[name] = [BASELINES[name](table.frame, numbers, 1_000 * (settings.seed or 0) + one) for one in seeds]
    return tables, {OURS: release.posterior}


def measure(case: Case, seed: int) -> tuple[Evaluation, Evaluation]:
    """Measure all schemes on all records, and those that can be made anew on a half, the other being the control."""
    table, settings = case.data, case.settings
    begun = time.perf_counter()
    tables, posteriors = make_schemes(table, settings)
    made = {OURS: tables[OURS], OTHERS: list(case.others), **{name: tables[name] for name in CHANGED}}
    about: dict[str, Any] = {"datasets": 100, "seed": seed, "unconverged": "allow"}
    view = settings.intruder.view(table)
    whole = evaluate(
        view, made, options=EvaluationOptions(posteriors=posteriors, edit_rules=_rules(table, settings), **about)
    )
    print(f"all records: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    chosen = np.random.default_rng(seed).permutation(len(table.frame)) < len(table.frame) // 2
    inside, outside = (replace(table, frame=table.frame[side].reset_index(drop=True)) for side in (chosen, ~chosen))
    tables, _ = make_schemes(inside, settings)
    view = settings.intruder.view(inside)
    halves = evaluate(
        view, tables, options=EvaluationOptions(control=outside, edit_rules=_rules(inside, settings), **about)
    )
    print(f"with halves: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return whole, halves


def _rules(table: Table, settings: Settings) -> Any:
    schema = settings.intruder.view(table).schema
    return find_rules(table, settings, {name: schema[name].kind for name in settings.synthesize})


def choose(evaluation: Evaluation, scheme: str, row: Row) -> tuple[float, float, float] | None:
    """Give the figure of a row with its interval; None where there is none."""
    figures = pd.concat([evaluation.risk, evaluation.utility], ignore_index=True)
    figures = figures[
        (figures["scheme"] == scheme)
        & (figures["measure"] == row.measure)
        & (figures["group"] == "")
        & figures["value"].notna()
    ]
    figures = figures if row.at is None else figures[figures["at"] == row.at]
    if row.take and row.take not in ("largest", "least", "mean", "sum"):
        figures = figures[(figures["column"] == row.take) | (figures["of"] == row.take)]
    if figures.empty:
        return None
    values = figures[["value", "low", "high"]].to_numpy(dtype=float)
    if row.take in ("mean", "sum"):
        return (float(values[:, 0].mean() if row.take == "mean" else values[:, 0].sum()), np.nan, np.nan)
    place = int(values[:, 0].argmin() if row.take == "least" else values[:, 0].argmax())
    value, low, high = values[place].tolist()
    return value, low, high


def tell(row: Mapping[Any, Any]) -> str:
    """Write a figure as the pages of the documentation do, with what stands beside it."""
    if np.isnan(row["value"]):
        return "no control" if row["halves"] and row["scheme"] == OTHERS else ""
    told = _number(row["value"])
    # Tables that are all the same have no interval.
    if row["high"] - row["low"] > 1e-9:
        told += f" [{_number(row['low'])}, {_number(row['high'])}]"
    return told if np.isnan(row["other"]) else f"{told}; {_number(row['other'])}"


def _number(value: float) -> str:
    if abs(value) >= 9.995:
        return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"
    if abs(value) < 0.00005 or value in (0.0, 1.0):
        return f"{abs(value):.0f}"
    digits = 2 if abs(value) >= 0.9995 else 3 if abs(value) >= 0.00995 else 4
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.{digits}f}"


def tabulate(whole: Evaluation, halves: Evaluation, sensitive: Sequence[str]) -> pd.DataFrame:
    """Give one row a figure and scheme, with its interval and what stands beside it."""
    schemes, found = (CONFIDENTIAL, *whole.schemes), []
    for family, rows in list_rows(sensitive).items():
        for place, row in enumerate(rows):
            for scheme in schemes:
                evaluation = halves if row.halves else whole
                nothing = (np.nan, np.nan, np.nan)
                figure = choose(evaluation, scheme, row) or nothing
                beside = (row.beside and choose(evaluation, scheme, replace(row, measure=row.beside))) or nothing
                about = (family, place, row.words, row.measure, row.take, row.at, row.halves, scheme)
                found.append((*about, *figure, beside[0]))
    names = ["family", "place", "words", "measure", "take", "at", "halves", "scheme", "value", "low", "high", "other"]
    return pd.DataFrame(found, columns=names)


def show(table: pd.DataFrame, colours: Mapping[str, Mapping[str, str]]) -> None:
    """Print the figures and the colours as Markdown."""
    schemes = list(dict.fromkeys(table["scheme"]))
    print(f"| | | {' | '.join(name.replace(CONFIDENTIAL, 'the data themselves') for name in schemes)} |")
    print(f"|{'---|' * (len(schemes) + 2)}")
    before = ""
    for (family, _, words), rows in table.groupby(["family", "place", "words"], sort=False):
        cells = [tell(row) for row in rows.to_dict("records")]
        if any(cells):
            print(f"| {'' if family == before else family} | {words} | {' | '.join(cells)} |")
            before = family
    print(f"\n| scorecard | {' | '.join(name for name in schemes if name != CONFIDENTIAL)} |")
    print(f"|{'---|' * len(schemes)}")
    for family, own in colours.items():
        print(f"| {family} | {' | '.join(own[name] for name in schemes if name != CONFIDENTIAL)} |")


def colour(whole: Evaluation, halves: Evaluation) -> dict[str, dict[str, str]]:
    """Give the colours of all schemes by family: of what needs a control the worse of those of all and of the half."""
    colours: dict[str, dict[str, str]] = {}
    for scheme in whole.schemes:
        own = {one.family: one for one in score(whole, scheme)}
        if scheme in halves.schemes:
            held = {one.family: one for one in score(halves, scheme) if one.family in HALVES}
            own |= {
                name: max(own[name], one, key=lambda each: COLOURS.index(each.colour)) for name, one in held.items()
            }
        for family, one in own.items():
            colours.setdefault(family, {})[scheme] = one.colour
            print(f"{scheme}, {family}: {one.why}", file=sys.stderr)
    return colours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("ce", "nist"), default="ce")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file that the figures are added to, as CSV")
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of reference data")
    given = parser.parse_args()
    if not given.shared.is_dir():
        sys.exit("the reference data in ../shared/data are not here")
    case = read_case(given.data, given.shared, given.seed)
    whole, halves = measure(case, given.seed)
    table = tabulate(whole, halves, case.settings.synthesize)
    show(table, colour(whole, halves))
    if given.keep is not None:
        there = given.keep.exists()
        table.assign(data=given.data).to_csv(given.keep, mode="a", header=not there, index=False)


if __name__ == "__main__":
    main()
