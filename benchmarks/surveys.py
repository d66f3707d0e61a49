"""Informative designs: how often 95% intervals from synthetic tables of a survey hold the truth of its population.

A population of a million like the built-in survey. A sample has 2,000 people, drawn in proportion to a size that goes
with income whatever the predictors are. Of every sample and every way to fit, estimates under the design are compared
with those of the population:

    python benchmarks/surveys.py --samples 200 --out coverage.jsonl
    python benchmarks/surveys.py --samples 40 --ways "weight unknown" "given weight, weighted" --leaf 30
    python benchmarks/surveys.py --samples 200 --outcome pay --ways "normal, weighted" "normal, given weight"

Results are added to the file, one line for a sample and a way, and what is there is not done again (other settings need
another file); `--show` prints the table of the file and does nothing else. With `--outcome pay`, the income of the
population is log-normal given predictors, so that `normal_linear` is the right model. `docs/surveys_figure.py` draws a
figure of the file.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill import SequentialSynthesizer, draw, fit
from molehill.models import forest, normal_linear
from molehill.surveys import SurveyDesign, weighted_mean, weighted_quantile, weighted_regression
from molehill.tables.populations import consumer_survey
from molehill.utility import combine

PEOPLE, ASKED = 1_000_000, 2_000
PREDICTORS = ["region", "earner", "age", "education", "urban"]
LIMITS: dict[str, Any] = {"lower": -100_000, "upper": 2_000_000}
WEIGHTS: dict[str, Any] = {"lower": 1, "upper": 100_000}
DESIGN = SurveyDesign(weight="weight")
Estimates = dict[str, dict[str, float]]


# The population and its samples.


def make_population(outcome: str) -> pd.DataFrame:
    """Make the population, with the chance of everybody to be drawn."""
    random = np.random.default_rng(19)
    people = consumer_survey(PEOPLE, seed=19)[[*PREDICTORS, "income"]]
    noise = np.exp(0.5 * random.standard_normal(PEOPLE))
    if outcome == "income":
        # The bound keeps the largest chance at about a twentieth.
        size = noise * (20_000 + people["income"].clip(0, 300_000))
    else:
        people["income"] = make_pay(people, random)
        size = noise * people["income"] ** 0.6
    chance = ASKED * size / size.sum()
    assert chance.max() < 1
    return people.assign(chance=chance)


def make_pay(people: pd.DataFrame, random: np.random.Generator) -> pd.Series:
    """Draw log-normal incomes whose logarithms are linear in levels of the predictors."""
    positive = people[people["income"] > 1_000]
    logs: pd.Series = positive["income"].map(np.log)
    centre = logs.mean()
    mean = np.full(len(people), centre)
    for name in PREDICTORS:
        effect = logs.groupby(positive[name], observed=True).mean() - centre
        mean += people[name].map(effect).astype(float).to_numpy()
    return pd.Series(np.round(np.exp(mean + 0.7 * random.standard_normal(len(people))), 2), index=people.index)


def draw_sample(population: pd.DataFrame, number: int) -> pd.DataFrame:
    """Draw in proportion to size, without replacement: systematically through the people in random order."""
    random = np.random.default_rng([19, number])
    order = random.permutation(len(population))
    upto = np.cumsum(population["chance"].to_numpy()[order])
    drawn = order[np.searchsorted(upto, random.random() + np.arange(ASKED) * upto[-1] / ASKED)]
    sample = population.iloc[drawn].reset_index(drop=True)
    return sample.assign(weight=1 / sample["chance"]).drop(columns="chance")


# Ways to fit: from a sample and a least mass of a part to a posterior.


def fit_income(
    *, given: bool = False, weighted: bool = False, log: bool = False, normal: bool = False
) -> Callable[..., Any]:
    """Replace income alone, the weight being a predictor (`given`) or in the likelihood (`weighted`), or both."""

    def fit_to(sample: pd.DataFrame, leaf: float, seed: int) -> Any:
        weight = ["log_weight" if log else "weight"] if given else []
        table = sample.assign(log_weight=np.log(sample["weight"]))
        if normal:
            model: Any = normal_linear("income", PREDICTORS + weight, transform="log", lower=1, upper=10_000_000)
        else:
            model = forest("income", PREDICTORS + weight, min_leaf_size=leaf, **LIMITS)
        return fit(model, table, survey=DESIGN if weighted else None, seed=seed, progress=False)

    return fit_to


def fit_chain(*columns: str, given: Sequence[str] = PREDICTORS, weighted: bool = False) -> Callable[..., Any]:
    """Replace columns in this order; the design weight is in the likelihood of those that are drawn given it."""

    def fit_to(sample: pd.DataFrame, leaf: float, seed: int) -> Any:
        survey = DESIGN if weighted else None
        return fit(chain(columns, given, leaf), sample, survey=survey, seed=seed, progress=False)

    return fit_to


def chain(columns: Sequence[str], given: Sequence[str], leaf: float) -> SequentialSynthesizer:
    ends = {"income": LIMITS, "weight": WEIGHTS}
    before = [[*given, *columns[:place]] for place in range(len(columns))]
    return SequentialSynthesizer(
        tuple(
            forest(name, own, min_leaf_size=leaf, **ends.get(name, {}))
            for name, own in zip(columns, before, strict=True)
        )
    )


@dataclass(frozen=True)
class Way:
    """How tables are made of a sample (None: it is the table), and whether estimates know the weights of a table.

    `people` is for tables of new people: how many were asked, by "count" or by Kish's effective size ("kish").
    """

    fit: Callable[..., Any] | None
    weighted: bool = True
    people: str = ""


WITHOUT, PEOPLE_OF = fit_income(), [*PREDICTORS, "income"]
SURVEYED = fit_chain(*PEOPLE_OF, given=(), weighted=True)
SAMPLED = ["weight", *PREDICTORS, "income"]
WAYS: Mapping[str, Way] = {
    "confidential, plain": Way(None, weighted=False),
    "confidential": Way(None),
    "weight unknown, plain": Way(WITHOUT, weighted=False),
    "weight unknown": Way(WITHOUT),
    "given weight": Way(fit_income(given=True)),
    "weighted": Way(fit_income(weighted=True)),
    "given weight, weighted": Way(fit_income(given=True, weighted=True)),
    "income, then weight": Way(fit_chain("income", "weight")),
    "weight, then income": Way(fit_chain("weight", "income")),
    "weight, then income weighted": Way(fit_chain("weight", "income", weighted=True)),
    "new people, weighted": Way(SURVEYED, weighted=False, people="count"),
    "new people, weighted, Kish": Way(SURVEYED, weighted=False, people="kish"),
    "new people with weights": Way(fit_chain(*SAMPLED, given=()), people="count"),
    "new people with weights, weighted": Way(fit_chain(*SAMPLED, given=(), weighted=True), people="count"),
    "given log weight": Way(fit_income(given=True, log=True)),
    "normal, weight unknown": Way(fit_income(normal=True)),
    "normal, given weight": Way(fit_income(normal=True, given=True, log=True)),
    "normal, weighted": Way(fit_income(normal=True, weighted=True)),
    "normal, given weight, weighted": Way(fit_income(normal=True, given=True, log=True, weighted=True)),
}
# The normal model is right for pay alone, and trees part a number and its logarithm alike.
EXTRA = tuple(name for name in WAYS if "normal" in name or "log" in name)


# Estimates.


def estimate(table: pd.DataFrame, *, weighted: bool) -> Estimates:
    """Estimate what users would; plain estimates are those of equal weights."""
    sample = SurveyDesign(weight="weight").read(table if weighted else table.assign(weight=1.0))
    found = {
        "mean": weighted_mean(sample, table["income"]),
        "median": weighted_quantile(sample, table["income"], 0.5),
        "90% quantile": weighted_quantile(sample, table["income"], 0.9),
        "mean in the west": weighted_mean(sample, table["income"], within=table["region"] == "west"),
    }
    parts = ("point", "variance", "degrees", "low", "high")
    made = {name: {part: float(getattr(one, part)) for part in parts} for name, one in found.items()}
    regression = weighted_regression(sample, table["income"], regressors(table))
    for place, name in ((1, "coefficient of earner"), (3, "coefficient of south")):
        values = {part: getattr(regression, part) for part in parts}
        made[name] = {part: float(np.broadcast_to(value, 5)[place]) for part, value in values.items()}
    return made


def regressors(table: pd.DataFrame) -> np.ndarray:
    dummies = [table["region"] == level for level in ("midwest", "south", "west")]
    return np.column_stack([np.ones(len(table)), table["earner"] == "earner", *dummies]).astype(float)


def find_truth(population: pd.DataFrame) -> dict[str, float]:
    income = population["income"].to_numpy(float)
    slopes = np.linalg.lstsq(regressors(population), income, rcond=None)[0]
    return {
        "mean": income.mean(),
        "median": np.quantile(income, 0.5),
        "90% quantile": np.quantile(income, 0.9),
        "mean in the west": income[population["region"] == "west"].mean(),
        "coefficient of earner": slopes[1],
        "coefficient of south": slopes[3],
    }


def join(found: list[Estimates], size: float) -> Estimates:
    """Combine the estimates of tables, as `molehill.utility` does: v within, b between."""
    joined = {}
    for name in found[0]:
        points, variances, degrees = ([one[name][part] for one in found] for part in ("point", "variance", "degrees"))
        one = combine(points, variances, degrees=min(degrees), size=size)
        spread = float(np.var(points, ddof=1)) if len(points) > 1 else 0.0
        joined[name] = {"point": one.point, "low": one.low, "high": one.high}
        joined[name] |= {"variance": size * float(np.mean(variances)), "between": spread / len(points)}
    return joined


def run_way(way: Way, sample: pd.DataFrame, tables: dict[Any, Any], given: argparse.Namespace, seed: int) -> Estimates:
    """Estimate from one sample; tables that two ways share are made once."""
    if way.fit is None:
        found = estimate(sample, weighted=way.weighted)
        return {name: {**one, "between": 0.0} for name, one in found.items()}
    if way.fit not in tables:
        posterior = way.fit(sample, given.leaf, seed)
        people = {"records": len(sample)} if way.people else {}
        tables[way.fit] = draw(posterior, datasets=given.tables, seed=seed, unconverged="allow", **people)
    size = 1.0
    if way.people == "kish":
        size = len(sample) * float((sample["weight"] ** 2).sum() / sample["weight"].sum() ** 2)
    return join([estimate(table, weighted=way.weighted) for table in tables[way.fit]], size)


# What was found.


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Give one row for every way and estimate."""
    results = results.assign(
        hit=(results["low"] <= results["truth"]) & (results["truth"] <= results["high"]),
        width=results["high"] - results["low"],
        off=results["point"] - results["truth"],
    )
    own = results[results["way"] == "confidential"].groupby("estimate")["width"].mean()
    rows = []
    for (way, name), part in results.groupby(["way", "estimate"], sort=False):
        samples, coverage, varied = len(part), part["hit"].mean(), part["point"].var()
        rows.append(
            {
                "way": way,
                "estimate": name,
                "samples": samples,
                "coverage": coverage,
                "error": float(np.sqrt(coverage * (1 - coverage) / samples)),
                "bias": part["off"].mean() / abs(part["truth"].iloc[0]),
                # In standard errors of the estimate: what a bias does to coverage.
                "shift": part["off"].mean() / np.sqrt(varied),
                "width": part["width"].mean() / own.get(name, np.nan),
                "v over truth": (part["variance"] + part["between"]).mean() / varied,
                "b over v": part["between"].mean() / part["variance"].mean(),
            }
        )
    return pd.DataFrame(rows)


def show(results: pd.DataFrame) -> None:
    """Print the table: within Monte Carlo error is within two errors of .95, at a coverage of .95."""
    found = summarise(results)
    error = np.sqrt(0.95 * 0.05 / found["samples"].min())
    print(f"coverage within Monte Carlo error: {0.95 - 2 * error:.3f} to {min(0.95 + 2 * error, 1.0):.3f}\n")
    print("| way | estimate | coverage | bias | bias in errors | width | T over true variance | (b / L) over v |")
    print("|---|---|---|---|---|---|---|---|")
    for row in found.to_dict("records"):
        figures = f"{row['coverage']:.3f} ± {row['error']:.3f} | {row['bias']:+.1%} | {row['shift']:+.2f}"
        figures += f" | {row['width']:.2f} | {row['v over truth']:.2f} | {row['b over v']:.3f}"
        print(f"| {row['way']} | {row['estimate']} | {figures} |")


def read_results(path: Path) -> pd.DataFrame:
    """Read a file of results: a row for every sample, way and estimate."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(line)
        about = {"sample": one["sample"], "way": one["way"]}
        rows += [about | {"estimate": name, **parts} for name, parts in one["estimates"].items()]
    return pd.DataFrame(rows, columns=None if rows else ["sample", "way"])


def run(given: argparse.Namespace) -> None:
    """Add to the file what it does not hold yet."""
    population = make_population(given.outcome)
    truth = find_truth(population)
    before = read_results(given.out)
    done = set(zip(before["sample"], before["way"], strict=True))
    # Without its intervals, no width can be compared.
    ways = list(dict.fromkeys(["confidential", *given.ways]))
    for number in range(given.first, given.first + given.samples):
        sample, tables = draw_sample(population, number), {}
        for name in (name for name in ways if (number, name) not in done):
            found = run_way(WAYS[name], sample, tables, given, number)
            told = {one: {**parts, "truth": float(truth[one])} for one, parts in found.items()}
            with given.out.open("a") as file:
                file.write(json.dumps({"sample": number, "way": name, "estimates": told}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first sample")
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--leaf", type=float, default=100.0)
    parser.add_argument("--outcome", choices=("income", "pay"), default="income")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[name for name in WAYS if name not in EXTRA])
    parser.add_argument("--out", type=Path, default=Path("survey_coverage.jsonl"))
    parser.add_argument("--show", action="store_true", help="print what the file holds")
    given = parser.parse_args()
    if not given.show:
        run(given)
    show(read_results(given.out))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
