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

from molehill import EvaluationOptions, Intruder, confidential_risk, draw, evaluate, fit, risk_weights, sdc_methods
from molehill.models import semicontinuous
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.tables.populations import consumer_survey
from molehill.utility import estimate, mean, median, quantile

SHARED = Path(__file__).parents[2] / "shared" / "data"
# Measures by their ids, and what they are of.
ROWS = (
    ("risk_mean", ""),
    ("risk_q99", ""),
    ("risk_above_50", ""),
    ("expected_mean", ""),
    ("combined_mean", ""),
    ("combined_match_rate", ""),
    ("matches_true", ""),
    ("attribution_correct", ""),
    ("attribution_leave_one_out", ""),
    ("overlap", "mean of Income"),
    ("overlap", "sd of Income"),
    ("U_m", ""),
    ("U_m_benchmark", ""),
    ("pmse_ratio", "logistic"),
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
    breaks = {"Age": [25, 35, 50, 65]}
    model = semicontinuous("Income", ["Age", *categorical], breaks=breaks, lower=-1e5, upper=2e6)
    known = ["Age", "Urban", "Marital"]
    view = Intruder(known, "Income", radius=0.2, breaks=breaks, small_patterns="marginal").view(sample)
    risk = confidential_risk(view, order=2)
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
            _, evaluating = timed(lambda: evaluate(view, releases["pairwise"]))
            print(
                f"evaluating its 20 tables, every default measure: {evaluating:.1f} s, {evaluating / seconds:.2f} fits"
            )
    releases["synthpop"] = [sample.assign(Income=synthetic[name]) for name in synthetic]
    releases["topcoded"] = sdc_methods.topcode(sample, "Income", percentile=97.5)
    evaluation = evaluate(
        view, releases, options=EvaluationOptions(posteriors=posteriors, reference="unweighted", unconverged="allow")
    )
    figures = pd.concat([evaluation.risk, evaluation.utility])
    schemes = ["confidential", *evaluation.schemes]
    print(f"\n| measure | {' | '.join(schemes)} |\n|{'---|' * (len(schemes) + 1)}")
    for measure, of in ROWS:
        rows = figures[(figures["measure"] == measure) & (figures["of"] == of)]
        ends = rows[["value", "low", "high"]].to_numpy(float).tolist()
        found = dict(zip(rows["scheme"], ends, strict=True))
        cells = [_told(*found[name]) if name in found else "" for name in schemes]
        print(f"| {rows['name'].iloc[0]} | {' | '.join(cells)} |")


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
