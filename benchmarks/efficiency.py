"""Schemes at matched risk: what is lost beyond a fresh sample, ours against the paper's, and the rule of one half.

Run `python benchmarks/efficiency.py --data ce --replicates 3`. For every replicate it fits the unweighted synthesizer
and the paper's Pairwise and Marginal (posterior membership), and looks for the point of ours that loses least with a
mean and a 99% quantile of the expected risk no higher than theirs. Replicates of "survey" and "counts" are new samples
of the population; those of "ce" (which needs ../shared/data) are new random numbers on the same sample. `--rule`
searches for "maximum realised <= 0.5" over 20 tables instead; `--intruder` puts the schemes, topcoding, noise and
synthpop's tables beside each other. `--keep FILE` adds every replicate to a file, so that runs can be joined.
"""

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import Settings, baselines, draw, evaluate, fit, search
from molehill.charts import risk_utility_map, save_chart
from molehill.models import negative_binomial, semicontinuous, tdp_mixture
from molehill.release.making import choose_synthesizer, prepare
from molehill.release.schemes import Scheme, along_path, has_membership, with_membership
from molehill.release.search.points import Bench, Point, fit_scheme, measure_point, open_bench
from molehill.tables.intervals import mean_over_tables
from molehill.tables.populations import consumer_survey, nb_mixture

SHARED = Path(__file__).parents[2] / "shared" / "data"
SHARES = (0.3, 0.45, 0.6)
MATCHED = ("mean expected <= 1", "99% expected <= 1")
INTRUDER = (
    *("risk_mean", "risk_q99", "risk_largest", "risk_above_50", "pooled_picks", "matches_true", "guess_right"),
    *("guess_right_without", "U_m", "U_m_fresh"),
)


@dataclass(frozen=True)
class Case:
    """A table, how it is measured, and the synthesizers to compare: the first is that of the paper's schemes."""

    data: pd.DataFrame
    settings: Settings
    synthesizers: dict[str, Any]


def read_case(name: str, replicate: int) -> Case:
    how: dict[str, Any] = {"targets": MATCHED, "small_patterns": "marginal", "seed": replicate}
    if name == "counts":
        settings = Settings(replace="outcome", known=(), predictors=(), radius=0.15, **how)
        ways = {
            "": negative_binomial("outcome", []),
            "mixture": tdp_mixture("outcome", [], transform="signed"),
        }
        return Case(nb_mixture(1000, seed=replicate + 1), settings, ways)
    if name == "survey":
        survey = consumer_survey(seed=2017 + replicate)
        predictors = [column for column in survey.columns if column != "income"]
        ends: dict[str, Any] = {"lower": -100_000.0, "upper": 2_000_000.0}
        settings = Settings(replace="income", keep=predictors, known=("gender", "age", "region"), **ends, **how)
        return Case(survey, settings, {"": semicontinuous("income", predictors, **ends)})
    breaks = {"Age": (25, 35, 50, 65)}
    known, predictors = ("Age", "Urban", "Marital"), ("Age", "Urban", "Tenure", "Educ", "Marital")
    settings = Settings(replace="Income", keep=predictors, known=known, predictors=predictors, breaks=breaks, **how)
    return Case(read_ce(), settings, {"": tdp_mixture("Income", predictors, breaks=breaks)})


def read_ce() -> pd.DataFrame:
    categorical = ["Urban", "Tenure", "Educ", "Marital"]
    sample = pd.read_csv(SHARED / "ce_sample.csv").astype({"Income": float} | dict.fromkeys(categorical, str))
    return sample[sample["Income"] > 0].drop(columns="Expenditure").reset_index(drop=True)


def open_case(case: Case, synthesizer: Any) -> Bench:
    job = prepare(case.data, case.settings, synthesizer=synthesizer, analyses=[])
    return open_bench(job, checkpoint=None, progress=False)


def compare(case: Case) -> list[dict[str, Any]]:
    """Measure the paper's schemes and ours, all with the same noise; one row a point."""
    rows = []
    for way, synthesizer in case.synthesizers.items():
        bench = open_case(case, synthesizer)
        plain = fit_scheme(bench, Scheme())
        assert plain is not None
        points = [(measure_point(bench, plain, 0.0), "")]
        mixture = has_membership(plain.posterior)
        if mixture:
            points.append((measure_point(bench, plain, 1.0), ""))
            points += [(measure_point(bench, plain, share), "") for share in SHARES]
        if not way:
            schemes = [Scheme(2), Scheme(1)]
            if not mixture:
                schemes += [along_path(2, 0.5), along_path(2, 0.75), along_path(1, 0.5)]
                schemes += [Scheme(3), Scheme(2, scale=1.5)]
            for scheme in schemes:
                fitted = fit_scheme(bench, scheme, start=plain)
                assert fitted is not None
                points.append((measure_point(bench, fitted, 0.0), ""))
        rows += [tell_point(bench, point, way, noise) for point, noise in points]
    return rows


def tell_point(bench: Bench, point: Point, way: str, noise: str) -> dict[str, Any]:
    mean, high = point.judgements
    # Ours is chosen by every other table and judged by the rest: the least of several noisy numbers flatters itself.
    chosen_by, judged_by = point.measured.distances[::2], point.measured.distances[1::2]
    standard = point.fitted.scheme in (Scheme(1), Scheme(2)) and (point.by_prior is None or not point.by_prior.any())
    return {
        "scheme": (f"{way}: {point}" if way else str(point)) + noise,
        "paper": {1: "marginal", 2: "pairwise"}[point.fitted.scheme.order] if standard and not way else "",
        "mean": mean.value,
        "mean error": mean.error,
        "q99": high.value,
        "q99 error": high.error,
        "U_m": point.distance,
        "U_m_error": point.distance_error,
        "chosen by": float(chosen_by.mean()),
        "excess": float(judged_by.mean()) - bench.fresh,
        "fresh": bench.fresh,
        "converged": point.fitted.converged,
        "warm": point.fitted.warm,
        "seconds": point.fitted.seconds,
    }


def match(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each scheme of the paper, the point of ours that loses least with no more risk of either kind.

    Risks are compared up to one standard error of their difference.
    """
    found = []
    for theirs in (row for row in rows if row["paper"]):

        def as_safe(row: dict[str, Any], theirs: dict[str, Any] = theirs) -> bool:
            slack = {name: np.hypot(row[f"{name} error"], theirs[f"{name} error"]) for name in ("mean", "q99")}
            return all(row[name] <= theirs[name] + slack[name] for name in slack)

        ours = [row for row in rows if not row["paper"] and as_safe(row)]
        if not ours:
            found.append({"against": theirs["paper"], "ours": "none", "ratio": np.nan, "theirs": theirs["excess"]})
            continue
        best = min(ours, key=lambda row: row["chosen by"])
        found.append(
            {
                "against": theirs["paper"],
                "ours": best["scheme"],
                "ratio": best["excess"] / theirs["excess"],
                "excess": best["excess"],
                "theirs": theirs["excess"],
                "mean": best["mean"],
                "their mean": theirs["mean"],
                "q99": best["q99"],
                "their q99": theirs["q99"],
            }
        )
    return found


def print_table(frame: pd.DataFrame) -> None:
    """Print a frame as documents take it."""
    print("| scheme | " + " | ".join(map(str, frame.columns)) + " |\n|" + "---|" * (len(frame.columns) + 1))
    for name, row in frame.iterrows():
        print(f"| {name} | " + " | ".join(f"{value:.4g}" for value in row) + " |")


def print_matched(replicates: list[list[dict[str, Any]]]) -> None:
    points = pd.concat([pd.DataFrame(rows) for rows in replicates])
    numbers = ["mean", "q99", "U_m", "excess", "fresh", "seconds"]
    print_table(points.groupby("scheme", sort=False)[[*numbers, "converged"]].mean())
    matched = pd.DataFrame([row for rows in replicates for row in match(rows)])
    for against, rows in matched.groupby("against", sort=False):
        ratios = rows["ratio"].dropna().to_numpy(dtype=float)
        if not len(ratios):
            print(f"\nAgainst {against}: no point of ours has as little risk")
            continue
        value, low, high = mean_over_tables(ratios)
        # The ratio of the mean losses, which one replicate with little loss does not decide.
        pooled = rows["excess"].mean() / rows["theirs"].mean()
        print(
            f"\nAgainst {against}: ratio of losses beyond a fresh sample, pooled {pooled:.2f}; mean of {len(ratios)} "
            f"replicates {value:.2f} (95% interval {low:.2f} to {high:.2f}); ours: {', '.join(rows['ours'].unique())}"
        )


def keep_rule(name: str, replicate: int, redraw: float) -> None:
    """Search for the rule of one half, and print the answer."""
    case, begun = read_case(name, replicate), time.perf_counter()
    settings = case.settings.but(targets="maximum realised <= 0.5", fits=6, redraw=redraw)
    found = search(case.data, settings, progress=False, tell=print)
    print(found.verdict)
    if found.chosen is not None:
        print(f"U_m is {found.chosen['U_m'] / found.points.iloc[0]['U_m']:.2f} times that of the unweighted")
    costs = json.dumps({key: round(value, 1) for key, value in found.cost.items()})
    print(costs, f"{time.perf_counter() - begun:.0f} s")


def show_intruder(name: str, figure: Path | None) -> None:
    """What the schemes give an intruder, beside topcoding, noise and synthpop's tables, in a table and on a map."""
    case = read_case(name, 0)
    bench = open_case(case, case.synthesizers[""])
    plain = fit_scheme(bench, Scheme())
    assert plain is not None
    pairwise = fit_scheme(bench, Scheme(2), start=plain)
    assert pairwise is not None
    ones = np.ones(len(case.data))
    how: dict[str, Any] = {"datasets": 20, "unconverged": "allow"}
    releases: dict[str, Any] = {
        "unweighted, posterior": draw(with_membership(plain.posterior, 0 * ones), seed=1, **how),
        "unweighted, prior": draw(with_membership(plain.posterior, ones), seed=2, **how),
        "pairwise, posterior": draw(with_membership(pairwise.posterior, 0 * ones), seed=3, **how),
        "pairwise, prior": draw(with_membership(pairwise.posterior, ones), seed=4, **how),
    }
    simple = choose_synthesizer(bench.job.view, bench.settings.but(components=2, synthesizer="auto"))
    releases["2 components"] = draw(fit(simple, case.data, seed=6, progress=False), seed=6, **how)
    column = case.settings.column
    releases["topcoding"] = baselines.topcode(case.data, column)
    releases["noise, 10% of the sd"] = [baselines.add_noise(case.data, column, seed=number) for number in range(20)]
    if name == "ce":
        positive = (pd.read_csv(SHARED / "ce_sample.csv")["Income"] > 0).to_numpy()
        synthetic = pd.read_csv(SHARED / "ce_synthpop_income.csv").astype(float)[positive].reset_index(drop=True)
        releases["synthpop"] = [case.data.assign(Income=synthetic[name]) for name in synthetic.columns]
    found = evaluate(bench.job.view, releases, propensity_methods=(), analyses=[])
    figures = pd.concat([found.risk, found.utility])
    figures = figures[figures["measure"].isin(INTRUDER) & (figures["scheme"] != "confidential")]
    table = figures.pivot_table(index="scheme", columns="measure", values="value", sort=False)
    names = dict(zip(figures["measure"], figures["name"], strict=True))
    print_table(table[[name for name in INTRUDER if name in table]].rename(columns=names))
    if figure is not None:
        save_chart(risk_utility_map(found), figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("survey", "ce", "counts"), default="counts")
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first replicate")
    parser.add_argument("--keep", type=Path, help="file that every replicate is added to, and that is summarised")
    parser.add_argument("--rule", action="store_true", help="search for the rule of one half instead")
    parser.add_argument("--redraw", type=float, default=0.001, help="with --rule: share of records drawn anew at most")
    parser.add_argument("--intruder", action="store_true", help="compare what an intruder gets instead")
    parser.add_argument("--figure", type=Path, help="with --intruder: file for the map of risk against utility")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.rule:
        keep_rule(given.data, given.first, given.redraw)
        return
    if given.intruder:
        show_intruder(given.data, given.figure)
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
        print_matched(replicates)


if __name__ == "__main__":
    main()
