"""Releases that are safe by construction, of many kinds of data, and the recommendations that they get.

Run `python benchmarks/safe_releases.py --releases 300`. Every release is of another world: 60 to 20,000 records; one to
three synthesized variables (amounts with light and heavy tails, with zeros, heaped or negative; counts, scores, dates,
categories with frequent and rare levels, and some that a variable released unchanged predicts); key variables that
leave many alike or nobody; 1 to 20 datasets; with and without people who were not used, and a survey's weights. The
values are drawn from the true model, given what is released unchanged, and so never from a person's own value; every
eighth release is of new people. Reasons are counted by what they say, numbers aside.
"""

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from molehill import EvaluationOptions, Intruder, evaluate
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import Remark, judge, list_findings
from molehill.surveys import SurveyDesign

Draw = Callable[[pd.DataFrame, np.ndarray, np.random.Generator], np.ndarray]
RECORDS, RECORD_SHARES = [60, 100, 200, 400, 800, 1_500, 3_000, 8_000, 20_000], [12, 13, 15, 20, 20, 10, 6, 3, 1]
DATASETS, DATASET_SHARES = [1, 2, 5, 20], [30, 15, 30, 25]
# Key variables, from few groups to many people who are alone in them.
KEYS = {
    "one": ["sex"],
    "few": ["sex", "group", "region"],
    "grouped": ["sex", "age"],
    "years": ["sex", "age", "region"],
    "many": ["sex", "age", "district", "occupation"],
}
KEY_SHARES = [15, 35, 10, 20, 20]
# What the recommendation goes by; all else would take most of the time.
THRESHOLDS = [(one.id, one.threshold) for one in MEASURES if one.threshold is not None]
DECIDING = {
    *(name for id_, threshold in THRESHOLDS for name in (id_, threshold.benchmark, threshold.unless)),
    *("risk_mean", "risk_baseline", "risk_benchmark", "combined_mean", "combined_benchmark", "sample_uniques"),
    *("risk_above_80", "risk_above_80_benchmark", "estimated_above_80", "estimated_above_80_benchmark"),
    *("U_m", "U_m_benchmark", "uniques_by_weight", "weight_mean"),
}
NEED_CONTROL = ("singling_out", "linkability", "inference")


def people(random: np.random.Generator, number: int) -> pd.DataFrame:
    age = random.integers(18, 90, number)
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], number),
            "age": age,
            "group": np.array(["under 30", "30-44", "45-64", "65 and over"])[
                np.searchsorted([30, 45, 65], age, "right")
            ],
            "region": random.choice(["north", "east", "south", "west"], number, p=[0.4, 0.3, 0.2, 0.1]),
            "district": np.char.add("d", random.integers(0, 20, number).astype(str)),
            "occupation": np.char.add("o", np.minimum(random.geometric(0.12, number), 40).astype(str)),
            "education": random.choice(["none", "school", "college", "degree"], number, p=[0.14, 0.46, 0.25, 0.15]),
            "hours": np.clip(random.normal(36, 10, number), 5, 70).round(),
            "works": np.where(random.random(number) < 0.7, "yes", "no"),
            "spending": np.exp(9 + 0.8 * random.normal(size=number)).round(),
        }
    )


def effect(frame: pd.DataFrame) -> np.ndarray:
    by = {"none": -0.4, "school": -0.1, "college": 0.15, "degree": 0.5}
    middle_aged = frame["group"].isin(["30-44", "45-64"]).to_numpy()
    own = frame["education"].map(by).to_numpy() + 0.012 * (frame["hours"].to_numpy() - 36)
    return own + 0.2 * (frame["sex"] == "m").to_numpy() + 0.3 * middle_aged


def amounts(spread: float) -> Draw:
    return lambda _, e, random: np.exp(10 + e + spread * random.normal(size=len(e))).round()


def levels(*shares: float) -> Draw:
    def draw(_: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
        chances = np.exp(np.outer(e, np.linspace(1.0, -1.0, len(shares)))) * shares
        upto = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        return np.char.add("level ", (random.random(len(e))[:, None] > upto[:, :-1]).sum(axis=1).astype(str))

    return draw


def heaped(frame: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
    exact = amounts(0.6)(frame, e, random)
    return np.where(random.random(len(e)) < 0.6, 1_000 * np.maximum(np.rint(exact / 1_000), 1), exact)


def wages(frame: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
    paid = (frame["works"] == "yes").to_numpy() & (random.random(len(e)) < 0.98)
    return np.where(paid, amounts(0.6)(frame, e, random), 0.0)


def with_zeros(frame: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return np.where(random.random(len(e)) < 0.75 + 0.2 * np.tanh(e), amounts(0.8)(frame, e, random), 0.0)


def overdispersed(_: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
    size, mean = np.where(random.random(len(e)) < 0.7, 20.0, 5.0), 100 * np.exp(0.3 * e)
    return random.negative_binomial(size, size / (size + mean)).astype(np.float64)


def predicted_by_spending(frame: pd.DataFrame, _: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Explained by 90% on the logarithm."""
    return np.exp(1 + 0.95 * np.log(frame["spending"].to_numpy()) + 0.25 * random.normal(size=len(frame))).round()


def status(frame: pd.DataFrame, _: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """For 60% what `works` says."""
    others = random.choice(["employed", "unemployed", "retired", "other"], len(frame), p=[0.3, 0.2, 0.3, 0.2])
    return np.where(random.random(len(frame)) < 0.6, np.where(frame["works"] == "yes", "employed", "other"), others)


def days(_: pd.DataFrame, e: np.ndarray, random: np.random.Generator) -> np.ndarray:
    after = np.clip(1_500 + 450 * e + 600 * random.normal(size=len(e)), 0, 3_650).astype("timedelta64[D]")
    return (np.datetime64("2010-01-01") + after).astype("datetime64[ns]")


MODELS: dict[str, Draw] = {
    "income": amounts(0.6),
    "fortune": amounts(2.0),
    "return": lambda _, e, random: (1_000 * (e + random.standard_t(3, len(e)))).round(),
    "loss": lambda _, e, random: (1_000 * np.exp(e) * (1 + random.pareto(1.5, len(e)))).round(),
    "balance": lambda _, e, random: (20_000 * (e + 0.8 * random.normal(size=len(e)))).round(),
    "pension": with_zeros,
    "wage": wages,
    "rent": heaped,
    "visits": overdispersed,
    "children": lambda _, e, random: random.poisson(0.7 * np.exp(e)).astype(np.float64),
    "score": lambda _, e, random: np.clip(500 + 60 * e + 90 * random.normal(size=len(e)), 200, 800).round(),
    "opinion": lambda _, e, random: np.clip(np.rint(3 + e + random.normal(size=len(e))), 1, 5),
    "schooling": lambda _, e, random: np.clip(np.rint(10 + 8 * np.tanh(e) + 3 * random.normal(size=len(e))), 0, 25),
    "member": levels(0.5, 0.5),
    "ill": levels(0.98, 0.02),
    "job": levels(0.3, 0.2, 0.2, 0.15, 0.05, 0.1),
    "origin": levels(0.5, 0.25, 0.15, 0.06, 0.02, 0.01, 0.005, 0.003, 0.002),
    "admitted": days,
    "debts": predicted_by_spending,
    "status": status,
}


def choose(random: np.random.Generator, several: Any, shares: Any) -> Any:
    return several[random.choice(len(several), p=np.array(shares) / sum(shares))]


def recommend(place: int) -> tuple[str, str, list[Remark]]:
    """Make a release, and evaluate it as anybody would: what it is, the recommendation, and what stands out."""
    random = np.random.default_rng([331, place])
    number, datasets = choose(random, RECORDS, RECORD_SHARES), choose(random, DATASETS, DATASET_SHARES)
    kind, control, weighted = choose(random, [*KEYS], KEY_SHARES), random.random() < 0.2, random.random() < 0.12
    others = [name for name in MODELS if name != [*MODELS][place % len(MODELS)]]
    names = [
        [*MODELS][place % len(MODELS)],
        *random.choice(others, choose(random, [0, 1, 2], [65, 20, 15]), replace=False),
    ]
    new_people = place % 8 == 7
    unused = [name for name in ("age", "district", "occupation") if name not in KEYS[kind]]
    unused += [] if "debts" in names else ["spending"]

    def kept(size: int) -> pd.DataFrame:
        frame = people(random, size)
        return frame.assign(weight=(50 * np.exp(0.4 * random.normal(size=size))).round(2)) if weighted else frame

    def fill(frame: pd.DataFrame) -> pd.DataFrame:
        values = {name: MODELS[name](frame, effect(frame), random) for name in names}
        return frame.assign(**values).drop(columns=unused)

    own = kept(number)
    data, released = fill(own), [fill(kept(number) if new_people else own) for _ in range(datasets)]
    sized = any(data[name].dtype.kind in "fM" for name in names)
    breaks: dict[str, Any] = {"breaks": {"age": [30, 45, 65]}} if kind == "grouped" else {}
    intruder = Intruder(known=KEYS[kind], sensitive=names, radius=0.2 if sized else None, **breaks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = EvaluationOptions(
            fully_synthetic=new_people,
            control=fill(kept(max(number // 2, 30))) if control else None,
            survey=SurveyDesign(weight="weight") if weighted else None,
            skip=() if control else NEED_CONTROL,
            measures=[one for one in MEASURES if one.id in DECIDING],
            progress=False,
        )
        found = evaluate(data, released, intruder, options)
    about = f"{number} records, {datasets} datasets, keys: {kind}{', control' * control}{', new people' * new_people}"
    remarks = list_findings(found, found.schemes[0], Teller("internal", number))
    return f"{', '.join(names)}; {about}", judge(found).decision, remarks


def count(first: int, last: int) -> None:
    decisions: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for place in range(first, last):
        about, decision, remarks = recommend(place)
        decisions[decision] += 1
        named = [one for one in remarks if one.weight in ("stop", "decide")]
        print(f"{place}: {about}: {decision}: {'; '.join(one.because for one in named)}", flush=True)
        short = (re.sub(r"\([^)]*\)|: .*", "", one.because.partition(" is red: ")[2] or one.because) for one in named)
        reasons.update({re.sub(r"\d[\d.,]*", "#", one).strip() for one in short})
    total = sum(decisions.values())
    for decision, times in decisions.most_common():
        print(f"{decision}: {times} of {total} ({times / total:.1%})")
    for reason, times in reasons.most_common():
        print(f"  {times}: {reason}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=300, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    given = parser.parse_args()
    count(given.first, given.first + given.releases)
