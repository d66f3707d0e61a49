"""Evaluation: our own tables beside synthpop's and topcoding, its time against one fit, and the bootstrap's speed.

Run `python benchmarks/evaluation.py`. It uses the CE sample and synthpop's tables in ../shared/data where they are.
"""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import baselines, confidential_risk, draw, evaluate, fit, risk_weights
from molehill.models import semicontinuous
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.tables.populations import consumer_survey
from molehill.utility import estimate, mean, median, quantile

SHARED = Path(__file__).parents[2] / "shared" / "data"
ROWS = (
    "mean risk",
    "99% quantile of risk",
    "records with risk above 0.5",
    "mean expected risk",
    "mean risk, tables pooled",
    "share of right picks, tables pooled",
    "true match rate",
    "guesses within the radius",
    "guesses within the radius, without the record",
    "interval overlap of mean of Income",
    "interval overlap of sd of Income",
    "U_m",
    "U_m of a fresh sample",
    "pMSE ratio, logistic",
)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Give what a call returns, and its seconds."""
    begun = time.perf_counter()
    return call(), time.perf_counter() - begun


def side_by_side() -> None:
    """Our own tables of the CE sample beside synthpop's and topcoding, and evaluation against one fit."""
    categorical = ["Urban", "Tenure", "Educ", "Marital"]
    sample = pd.read_csv(SHARED / "ce_sample.csv").astype({"Income": float} | dict.fromkeys(categorical, str))
    synthetic = pd.read_csv(SHARED / "ce_synthpop_income.csv").astype(float)
    settings: dict[str, Any] = {"known": ["Age", "Urban", "Marital"], "sensitive": "Income", "radius": 0.2}
    settings["breaks"] = {"Age": [25, 35, 50, 65]}
    model = semicontinuous("Income", ["Age", *categorical], breaks=settings["breaks"], lower=-1e5, upper=2e6)
    risk = confidential_risk(sample, **settings, order=2, small_patterns="marginal")
    posteriors, releases = {}, {}
    for name, weights in (("pairwise", risk_weights(risk)), ("unweighted", None)):
        patience = 2 if name == "pairwise" else 0
        start = posteriors.get("pairwise")
        how: dict[str, Any] = {"seed": len(releases), "patience": patience, "start_from": start, "progress": False}
        posteriors[name], seconds = timed(lambda: fit(model, sample, weights, **how))  # noqa: B023 (called at once)
        highest = posteriors[name].diagnostics.table["rhat"].max()
        print(f"{posteriors[name]}: {name}, {seconds:.1f} s, largest R-hat {highest:.3f}")
        releases[name] = draw(posteriors[name], datasets=20, seed=10 + len(releases), unconverged="allow")
        if name == "pairwise":
            _, evaluating = timed(lambda: evaluate(sample, releases["pairwise"], **settings))
            print(
                f"evaluating its 20 tables, every default measure: {evaluating:.1f} s, {evaluating / seconds:.2f} fits"
            )
    releases["synthpop"] = [sample.assign(Income=synthetic[name]) for name in synthetic]
    releases["topcoded"] = baselines.topcode(sample, "Income", percentile=97.5)
    evaluation = evaluate(
        sample, releases, posteriors=posteriors, reference="unweighted", unconverged="allow", **settings
    )
    figures = pd.concat([evaluation.risk, evaluation.utility]).drop_duplicates(["scheme", "measure"])
    schemes = ["confidential", *evaluation.schemes]
    print(f"\n| measure | {' | '.join(schemes)} |\n|{'---|' * (len(schemes) + 1)}")
    for measure in ROWS:
        rows = figures[figures["measure"] == measure]
        ends = rows[["value", "low", "high"]].to_numpy(float).tolist()
        found = dict(zip(rows["scheme"], ends, strict=True))
        cells = [_told(*found[name]) if name in found else "" for name in schemes]
        print(f"| {measure} | {' | '.join(cells)} |")


def _told(value: float, low: float, high: float) -> str:
    def number(x: float) -> str:
        return f"{x:,.0f}" if abs(x) >= 20 else f"{x:.4f}"

    return number(value) + ("" if np.isnan(low) else f" [{number(low)}, {number(high)}]")


def bootstrap() -> None:
    """The paper's pooled bootstrap of mean, median and a quantile over 20 tables against a loop."""
    data = consumer_survey()
    random = np.random.default_rng(1)
    tables = [data.assign(income=random.permutation(data["income"])) for _ in range(20)]
    analyses = [mean("income"), median("income"), quantile("income", 0.9)]
    _, ours = timed(lambda: estimate(data, tables, analyses, interval="bootstrap"))

    def loop() -> None:
        for table in [data, *tables]:
            values = table["income"].to_numpy(float)
            for _ in range(1000):
                drawn = random.choice(values, len(values))
                _ = drawn.mean(), np.median(drawn), np.quantile(drawn, 0.9)

    _, naive = timed(loop)
    print(f"\nbootstrap, 1,000 replicates, 21 tables of {len(data):,}: {ours:.2f} s")
    print(f"the same in a loop: {naive:.1f} s, {naive / ours:.0f} times as long")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    bootstrap()
    if SHARED.is_dir():
        side_by_side()
