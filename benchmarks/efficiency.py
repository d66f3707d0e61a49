"""The default release beside the paper's schemes and what else there is, judged by vectors of risk and of utility.

Run `python benchmarks/efficiency.py --data survey --replicates 3`. For every replicate it makes the release that the
default settings make, the paper's Pairwise and Marginal (`scheme = "paper"`: posterior membership, 10 components), and
topcoding, noise and swapping; for "ce" and "nist" (which need ../shared/data) synthpop's tables stand beside them. All
have the same, independent noise, and are measured by one call of `evaluate`, with cover by others. Replicates of
"survey" and "counts" are new samples of the population; those of "ce" and "nist" new random numbers on the same file.
`--keep FILE` adds every replicate to a file, so that runs can be joined. `--coverage 100` draws so many samples of the
survey and counts how often 95% intervals of the declared regression, by the combining rule, hold what is true of the
population: for the collected values, and for forests of the default's parts with every record counting fully and with
the paper's weights.

A loss is what a utility has beyond its null: U_m beyond that of a fresh sample; U_m of the pooled tables beyond that of
one sample against its population (the pooled tables being as good as that); the three-way disagreement beyond that of a
sample of the records with replacement. A loss below twice its error is none.
"""

import argparse
import itertools
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import (
    EvaluationOptions,
    InputError,
    Settings,
    confidential_risk,
    evaluate,
    read_table,
    risk_weights,
    synthesize,
)
from molehill.models import forest
from molehill.plan.plan import complete_settings
from molehill.plan.suggest import suggest_settings
from molehill.sdc_methods import BASELINES
from molehill.synthesis.fitting import draw, fit
from molehill.tables.cells import declare_missing
from molehill.tables.populations import consumer_survey, nb_mixture
from molehill.tables.table import as_table
from molehill.utility import estimate, mean, median, quantile, regression, sd

SHARED = Path(__file__).parents[2] / "shared" / "data"
RISKS = (
    *("expected_mean", "expected_q99", "expected_largest", "isolated_mean", "combined_mean", "matches_true"),
    *("matches_expected", "risk_mean", "risk_largest"),
)
UTILITIES = ("U_m", "U_m_combined", "agreement", "pmse_ratio", "overlap", "spread_ratio")
BINS = 15


@dataclass(frozen=True)
class Case:
    """A table and the settings that it is released by; and tables of others."""

    data: Any
    settings: Settings
    others: dict[str, list[Any]]


def read_case(name: str, replicate: int) -> Case:
    how: dict[str, Any] = {"seed": replicate + 1, "compare": (), "expected_risk_draws": 200, "shuffle": False}
    if name == "counts":
        settings = Settings(synthesize="outcome", known=(), radius=0.15, lower=0, upper=10_000, **how)
        return Case(nb_mixture(1000, seed=replicate + 1), settings, {})
    if name == "survey":
        survey = consumer_survey(seed=2017 + replicate)
        kept = [column for column in survey.columns if column != "income"]
        how |= {"lower": -100_000.0, "upper": 2_000_000.0, "regressions": ("income ~ region + urban + earner",)}
        return Case(survey, Settings(synthesize="income", keep=kept, known=("gender", "age", "region"), **how), {})
    table = read_table(SHARED / f"{'ce_sample' if name == 'ce' else 'nist_ma'}.csv")
    found = suggest_settings(table).settings
    table = declare_missing(table, found.missing_codes)
    settings = found.but(undecided=(), drop=(*found.drop, *found.undecided), data=None, missing_codes={}, **how)
    column = settings.synthesize[0]
    if name == "ce":
        made = pd.read_csv(SHARED / "ce_synthpop_income.csv")
        values = [made[one] for one in made.columns]
    else:
        values = [pd.read_csv(path)[column] for path in sorted((SHARED / "nist_ma_synthpop").glob("*.csv"))]
    frame = table.frame
    others = [frame.assign(**{column: pd.to_numeric(one, errors="coerce").to_numpy()}) for one in values]
    return Case(table, settings, {"synthpop": others})


def compare(case: Case) -> list[dict[str, Any]]:
    """Make and measure every release; one row a scheme."""
    own = case.settings
    paper: dict[str, Any] = {"method": "paper", "regressions": own.regressions}
    asked = {"default": own, "pairwise": own.but(**paper, risk_order=2), "marginal": own.but(**paper, risk_order=1)}
    tables, posteriors, seconds, row_of = {}, {}, {}, {}
    for name, settings in asked.items():
        begun = time.perf_counter()
        try:
            release = synthesize(case.data, settings, progress=False)
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            continue
        tables[name], posteriors[name] = release.datasets, release.posterior
        seconds[name] = time.perf_counter() - begun
        row_of[name] = {
            "predictors": ", ".join(release.settings.predictors or ()),
            "variant": release.posterior.variant,
        }
    table, column = as_table(case.data), own.synthesize[0]
    frame = table.frame.drop(columns=list(own.drop))
    # Only what is declared is promised, and looked at; where nothing is, every kept column counts.
    promised = complete_settings(own, table).predictors or own.keep
    for name, make in BASELINES.items():
        tables[name] = [make(frame, [column], seed) for seed in range(20)]
    tables |= {name: [one.drop(columns=list(own.drop)) for one in made] for name, made in case.others.items()}
    view = own.intruder.view(frame)
    found = evaluate(
        view,
        tables,
        options=EvaluationOptions(
            posteriors=posteriors,
            related=promised,
            analyses=[regression(formula) for formula in own.regressions] or None,
            datasets=200,
            seed=1,
        ),
    )
    figures = pd.concat([found.risk, found.utility])
    rows = []
    null = np.array(
        [
            disagreement(frame[[column, *promised]], frame.sample(frac=1, replace=True, random_state=n), column)
            for n in range(10)
        ]
    )
    for name, made in tables.items():
        own_rows = figures[figures["scheme"] == name]
        row = {"scheme": name, "seconds": seconds.get(name, np.nan), **row_of.get(name, {})}
        for measure in (*RISKS, *UTILITIES, "U_m_benchmark"):
            some = own_rows[own_rows["measure"] == measure]
            if len(some):
                worst = some["value"].idxmin() if measure == "overlap" else some["value"].idxmax()
                row[measure] = float(some.loc[worst, "value"])
                row[f"{measure} error"] = float((some.loc[worst, "high"] - some.loc[worst, "low"]) / 4)
        far = np.array([disagreement(frame[[column, *promised]], as_table(one).frame, column) for one in made])
        row |= {"agreement": 1000 * (1 - far.mean()), "agreement error": 1000 * far.std() / np.sqrt(len(far))}
        row |= {"fresh agreement": 1000 * (1 - null.mean()), "fresh U_m_pooled": 0.8687 / np.sqrt(len(frame))}
        rows.append(row)
    return rows


def disagreement(confidential: pd.DataFrame, released: pd.DataFrame, column: str) -> float:
    """Mean total variation distance of all three-way tables that hold the replaced column, numbers in bins."""
    codes = {}
    for name in confidential.columns:
        both = pd.concat([confidential[name], released[name]], ignore_index=True)
        if pd.api.types.is_numeric_dtype(both) and confidential[name].nunique() > BINS:
            ends = np.unique(confidential[name].quantile(np.arange(1, BINS) / BINS).dropna())
            codes[name] = np.where(both.isna(), -1, np.searchsorted(ends, both.to_numpy(float), side="right")) + 1
        else:
            codes[name] = pd.factorize(both.astype(str))[0]
    size, distances = len(confidential), []
    for pair in itertools.combinations([name for name in codes if name != column], min(2, len(codes) - 1)):
        cells = np.zeros(size + len(released), dtype=np.int64)
        for name in (column, *pair):
            cells = cells * (codes[name].max() + 1) + codes[name]
        joined = np.unique(cells, return_inverse=True)[1]
        first, second = np.bincount(joined[:size], minlength=joined.max() + 1), np.bincount(joined[size:])
        second = np.pad(second, (0, len(first) - len(second)))
        distances.append(0.5 * np.abs(first / size - second / len(released)).sum())
    return float(np.mean(distances))


def measure_coverage(samples: int) -> None:
    """Count how often intervals hold the truth, by estimate and scheme."""
    formula, income = "income ~ region + urban + earner", "income"
    analyses = [mean(income), median(income), quantile(income, 0.9), sd(income), regression(formula)]
    population = consumer_survey(n=400_000, seed=1)
    truth = estimate(population, population, analyses).set_index("analysis")["confidential"]
    first = read_case("survey", 0)
    leaf = synthesize(first.data, first.settings, progress=False).search
    parts = float(leaf.chosen["leaf"]) if leaf is not None else 30.0
    hits: dict[str, list[np.ndarray]] = {}
    for number in range(samples):
        sample = consumer_survey(seed=50_000 + number)
        view = first.settings.intruder.view(sample)
        model = forest(income, ["region", "urban", "earner"], min_leaf_size=parts, lower=-1e5, upper=2e6)
        risks = {order: confidential_risk(view, order=order) for order in (1, 2)}
        weights = {
            "default": np.ones(len(sample)),
            "pairwise": risk_weights(risks[2]),
            "marginal": risk_weights(risks[1]),
        }
        for name, given in weights.items():
            tables = draw(fit(model, sample, given, seed=number, progress=False), datasets=20, seed=number)
            found = estimate(sample, tables, analyses).set_index("analysis").loc[truth.index]
            hits.setdefault(name, []).append(_holds(found, "released", truth))
            if name == "default":
                hits.setdefault("collected", []).append(_holds(found, "confidential", truth))
    shown = pd.DataFrame({name: np.mean(held, axis=0) for name, held in hits.items()}, index=truth.index)
    print(f"parts of {parts:g}, {samples} samples of {len(first.data):,}; error {np.sqrt(0.0475 / samples):.3f}")
    print(shown.round(3).to_string())


def _holds(found: pd.DataFrame, side: str, truth: pd.Series) -> np.ndarray:
    return ((found[f"{side}_low"] <= truth) & (found[f"{side}_high"] >= truth)).to_numpy(dtype=np.float64)


def tell(replicates: list[list[dict[str, Any]]]) -> None:
    """Print the means over the replicates, and the ratio of every loss to that of the paper's schemes."""
    frame = pd.DataFrame([row for rows in replicates for row in rows])
    means: Any = frame.groupby("scheme", sort=False).mean(numeric_only=True)
    shown = [name for name in ("seconds", *RISKS, *UTILITIES) if name in means]
    with pd.option_context("display.width", 250, "display.max_columns", 40, "display.float_format", "{:.4f}".format):
        print(means[shown].T.to_string())
    number = len(replicates)
    nulls = {"U_m": "U_m_benchmark", "U_m_combined": "fresh U_m_pooled", "agreement": "fresh agreement"}
    told = ", ".join(f"{name} {float(means[null].max()):.4f}" for name, null in nulls.items())
    print(f"\n{number} replicate(s). Nulls: {told}")
    for theirs in ("pairwise", "marginal"):
        if {"default", theirs} <= {*means.index}:
            ours, other = (means.loc[name].to_dict() for name in ("default", theirs))
            riskier = [name for name in RISKS if name in ours and ours[name] > other[name] * 1.02 + 1e-4]
            print(f"\nAgainst {theirs}: riskier in {', '.join(riskier) or 'nothing'}")
            for name, null in nulls.items():
                sign = -1 if name == "agreement" else 1
                losses = [max(sign * (float(row[name]) - float(row[null])), 0.0) for row in (ours, other)]
                error = 2 * ours[f"{name} error"] / np.sqrt(number)
                told = (
                    "none" if losses[0] <= error else f"{losses[0] / losses[1]:.2f}" if losses[1] else "theirs is none"
                )
                print(f"  ratio of the losses in {name}: {told} ({losses[0]:.4f} against {losses[1]:.4f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("survey", "ce", "nist", "counts"), default="counts")
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    parser.add_argument("--keep", type=Path, help="file that every replicate is added to, and that is summarised")
    parser.add_argument("--coverage", type=int, default=0, help="samples to count intervals over that hold the truth")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.coverage:
        measure_coverage(given.coverage)
        return
    replicates = []
    if given.keep is not None and given.keep.exists():
        replicates = [json.loads(line) for line in given.keep.read_text(encoding="utf-8").splitlines()]
    for replicate in range(given.first, given.first + given.replicates):
        replicates.append(compare(read_case(given.data, replicate)))
        if given.keep is not None:
            with given.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(replicates[-1]) + "\n")
    if replicates:
        tell(replicates)


if __name__ == "__main__":
    main()
