"""Tables of new people: how much of the people they show, what they keep, and whether intervals hold the truth.

Run `python benchmarks/new_people.py` for the built-in survey, all of whose columns are drawn: for parts of a forest
from few records to many, whether tables lie nearer to those who were in the data, and how columns go together.
`--data nist` does it for `nist_ma.csv` (which needs ../shared/data).
`--coverage 100` draws so many samples of 2,000 people from a population of 100,000 like the survey, makes tables of
half, once and three times as many new people of each, and counts how often 95% intervals hold the truth.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import Settings, confidential_risk, read_table
from molehill.plan.suggest import suggest_settings
from molehill.release.making import fit_quietly, prepare
from molehill.release.measuring import hold_out
from molehill.release.search.new_people import find_parts
from molehill.synthesis.fitting import draw
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table, as_table
from molehill.utility import agreement, combine
from molehill.utility.estimates import mean_and_variance, quantile_and_variance

SHARED = Path(__file__).parents[2] / "shared" / "data"
LEAVES = (10.0, 30.0, 100.0, 300.0, 1000.0)
TABLES = 5


def read_case(name: str) -> tuple[Table, Settings]:
    if name == "survey":
        table, known = as_table(consumer_survey(seed=2017)), ["gender", "age", "region"]
        limits: dict[str, Any] = {"lower": {"income": -100_000.0}, "upper": {"income": 2_000_000.0}}
    else:
        whole = read_table(SHARED / "nist_ma.csv")
        found = suggest_settings(whole).settings
        frame = whole.frame.drop(columns="PWGTP")
        table, known = Table(frame), [one for one in found.known if one in frame]
        numbers = [f"{one}" for one in frame if pd.api.types.is_numeric_dtype(frame[one]) and frame[one].nunique() > 20]
        # From the code book of the American Community Survey.
        ends = {"AGEP": (0, 99), "PINCP": (-20_000, 5_000_000), "POVPIP": (0, 501), "DENSITY": (0, 1e5)}
        chosen = {one: ends.get(one, (0.0, 1e6)) for one in numbers}
        limits = {"lower": {one: float(low) for one, (low, _) in chosen.items()}}
        limits["upper"] = {one: float(high) for one, (_, high) in chosen.items()}
        limits |= {"missing_values": "model", "missing_codes": found.missing_codes}
    columns = list(table.frame.columns)
    return table, Settings(synthesize=columns, known=known, fully_synthetic_records=len(table.frame), seed=1, **limits)


def measure_parts(name: str) -> None:
    table, settings = read_case(name)
    print(
        "| least part | nearer to who was in it | isolated 1% | released records nearer | pairs | triples | seconds |"
    )
    print("|---|---|---|---|---|---|---|")
    job = prepare(table, settings)
    pairs: dict[str, Any] = {"columns": settings.synthesize}
    chosen, fresh = find_parts(job, progress=False).settings.min_leaf_size, {}
    for leaf in dict.fromkeys((*LEAVES, chosen)):
        begun = time.perf_counter()
        own = prepare(table, settings.but(min_leaf_size=leaf))
        posterior = fit_quietly(own.model, own.table, np.ones(own.view.records), seed=1, progress=False)
        tables = draw(posterior, datasets=TABLES, seed=1, records=settings.fully_synthetic_records)
        seconds = time.perf_counter() - begun
        held = hold_out(own, posterior, "parts")[0]
        kept = agreement(own.table, tables, settings.synthesize, **pairs)
        told = held.members(), held.members(isolated(own)), held.share()
        shares = [f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in told]
        fresh = {k: round(kept.value(f"agreement_{k}_benchmark"), 1) for k in (2, 3)}
        ways = [f"{kept.value(f'agreement_{k}'):.1f}" for k in (2, 3)]
        mark = " (chosen)" if leaf == chosen else ""
        print(f"| {leaf:g}{mark} | {' | '.join([*shares, *ways])} | {seconds:.0f} |", flush=True)
    print("a fresh sample:", fresh)


def isolated(job: Any) -> np.ndarray:
    risk = confidential_risk(job.view).risk
    return risk >= np.nanquantile(risk, 0.99)


def measure_coverage(samples: int) -> None:
    population = consumer_survey(n=100_000, seed=99)[["age", "education", "earner", "income"]]
    truth = estimate_all(population)[0]
    hits: dict[tuple[float, str], list[bool]] = {}
    widths: dict[tuple[float, str], list[float]] = {}
    for number in range(samples):
        sample = population.sample(2_000, random_state=number).reset_index(drop=True)
        limits: dict[str, Any] = {"lower": {"income": -100_000.0}, "upper": {"income": 2_000_000.0}}
        settings = Settings(
            synthesize=list(sample), known=["age"], fully_synthetic_records=2_000, seed=number, **limits
        )
        job = find_parts(prepare(sample, settings), progress=False)
        posterior = fit_quietly(job.model, job.table, np.ones(len(sample)), seed=number, progress=False)
        own = estimate_all(sample)
        for share in (0.5, 1.0, 3.0):
            tables = draw(posterior, datasets=10, seed=number, records=int(2_000 * share))
            found = [estimate_all(as_table(one).frame) for one in tables]
            for name, true in truth.items():
                one = combine([each[0][name] for each in found], [each[1][name] for each in found], size=share)
                hits.setdefault((share, name), []).append(bool(one.low <= true <= one.high))
                usual = 2 * 1.96 * np.sqrt(own[1][name])
                widths.setdefault((share, name), []).append((one.high - one.low) / usual)
    error = np.sqrt(0.95 * 0.05 / samples)
    print(f"| new people for each one asked | estimate | hold the truth (± {2 * error:.3f}) | width |")
    print("|---|---|---|---|")
    for (share, name), held in hits.items():
        print(f"| {share:g} | {name} | {np.mean(held):.3f} | {np.mean(widths[share, name]):.2f} |")


def estimate_all(frame: pd.DataFrame) -> tuple[dict[str, float], dict[str, float]]:
    """Points and variances of what users would compute."""
    income, earner = frame["income"].to_numpy(float), (frame["earner"] == "earner").to_numpy()
    old = (frame["age"] == "65 and over").to_numpy()
    found = {
        "mean income": mean_and_variance(income),
        "median income": quantile_and_variance(income, 0.5),
        "share of earners": mean_and_variance(earner.astype(float)),
        "mean income of earners": mean_and_variance(income[earner]),
        "share of earners of 65 and over": mean_and_variance(earner[old].astype(float)),
    }
    points, variances = ({name: float(one[place]) for name, one in found.items()} for place in (0, 1))
    return points, variances


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("survey", "nist"), default="survey")
    parser.add_argument("--coverage", type=int, default=0)
    given = parser.parse_args()
    if given.coverage:
        measure_coverage(given.coverage)
    else:
        measure_parts(given.data)
