"""Attacks that look at all datasets of a person: how often safe releases are rated amber or red, and leaking ones.

Run `python benchmarks/all_datasets.py`. Safe releases are made in eight ways from small populations with heaped values,
zeros and a kept variable that tells more or less of the income; leaking ones are made of these. `--releases` says how
many of each way, `--forest` adds releases of Molehill's own forest. Nothing is read.
"""

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

os.environ.setdefault("MOLEHILL_CORES", "1")

import numpy as np
import pandas as pd

from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import Evaluation, evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import judge_rule, list_rules
from molehill.models import forest
from molehill.risk.intruder import Intruder
from molehill.synthesis.fitting import draw, fit

_FOLLOWED = ("worst", "repeats", "copies", "avoided", "turned_back")
WANTED = [*(one.id for one in MEASURES if one.part_of in _FOLLOWED), "radius_left", "radius_matches"]
RADIUS = 0.2


@dataclass(frozen=True)
class Population:
    """People of towns, with a kept score that tells something of their income, which is heaped and may be zero."""

    town: Any
    score: Any
    place: Any
    spread: float
    zeros: float
    heaped: bool
    pay: Any

    @property
    def frame(self) -> pd.DataFrame:
        """What is confidential."""
        return pd.DataFrame({"town": [f"town {one}" for one in self.town], "score": self.score, "pay": self.pay})


def draw_population(random: np.random.Generator) -> Population:
    """Draw 200 to 1,000 people; the score tells up to 80% of the variance of the logarithm of the income."""
    number = int(random.choice([200, 400, 1000]))
    town, score = random.integers(random.choice([4, 12, 40]), size=number), random.normal(size=number)
    told = random.choice([0.0, 0.3, 0.6, 0.8])
    place = 10 + 0.3 * random.normal(size=40)[town] + 0.8 * np.sqrt(told) * score
    spread, zeros, heaped = 0.8 * np.sqrt(1 - told), float(random.choice([0.0, 0.2])), bool(random.random() < 0.7)
    some = Population(town, score, place, spread, zeros, heaped, None)
    return Population(town, score, place, spread, zeros, heaped, draw_pay(some, random))


def draw_pay(people: Population, random: np.random.Generator, place: Any = None) -> Any:
    """Draw incomes from the true distribution, by default of everybody's own score and town."""
    number = len(people.town)
    pay = np.exp((people.place if place is None else place) + people.spread * random.normal(size=number))
    if people.heaped:
        coin = random.random(number)
        pay = np.where(coin < 0.5, np.round(pay, -3), np.where(coin < 0.8, np.round(pay, -2), np.round(pay)))
    return np.where(random.random(number) < people.zeros, 0.0, pay)


def draw_donors(people: Population, random: np.random.Generator, size: int, *, own: bool) -> Any:
    """Draw incomes of donors who are alike, from groups of so many that are formed anew; with the own one, or not."""
    number = len(people.town)
    order = np.argsort(people.place + 0.2 * random.normal(size=number), kind="stable")
    rank = np.empty(number, dtype=int)
    rank[order] = np.arange(number)
    groups = max(number // size, 1)
    group = np.minimum(rank // size, groups - 1)
    start, end = group * size, np.where(group == groups - 1, number, (group + 1) * size)
    donor = start + np.floor(random.random(number) * (end - start - (not own))).astype(int)
    donor += (not own) & (donor >= rank)
    return people.pay[order[donor]]


def make_safe(way: str, people: Population, datasets: int, random: np.random.Generator) -> list[Any]:
    """Draw the incomes of a release that tells of nobody in particular."""
    made = []
    for _ in range(datasets):
        shift = 0.05 * random.normal()
        if way == "true model":
            made.append(draw_pay(people, random))
        elif way == "model, parameters drawn":
            made.append(draw_pay(people, random, people.place + shift))
        elif way == "model, not heaped":
            made.append(
                np.where(
                    people.pay == 0,
                    draw_pay(people, random),
                    np.exp(people.place + people.spread * random.normal(size=len(people.town))),
                )
            )
        elif way == "model, towns ignored":
            made.append(draw_pay(people, random, np.full(len(people.town), 10.0)))
        elif way == "donors, 50 with the own":
            made.append(draw_donors(people, random, 50, own=True))
        elif way == "donors, 25 without the own":
            made.append(draw_donors(people, random, 25, own=False))
        elif way == "donors, 10 without the own":
            made.append(draw_donors(people, random, 10, own=False))
        elif way == "donors, all":
            made.append(people.pay[random.integers(len(people.pay), size=len(people.pay))])
    return made


SAFE = (
    *("true model", "model, parameters drawn", "model, not heaped", "model, towns ignored"),
    *("donors, 50 with the own", "donors, 25 without the own", "donors, 10 without the own", "donors, all"),
)


def make_leak(way: str, people: Population, datasets: int, random: np.random.Generator) -> list[Any]:
    """Make a release that leaks of a safe one."""
    made = np.stack(make_safe("true model", people, datasets, random))
    LEAKS[way](made, people, random)
    return list(made)


def _shuffle_one(made: Any, people: Population, random: np.random.Generator) -> None:
    for town in np.unique(people.town):
        rows = np.flatnonzero(people.town == town)
        made[-1, rows] = people.pay[random.permutation(rows)]


def _copy(made: Any, people: Population, random: np.random.Generator, *, every: int = 1, noise: float = 0.0) -> None:
    for row in np.flatnonzero(random.random(len(people.pay)) < 0.06):
        chosen = random.choice(len(made), max(len(made) // every, 1), replace=False)
        made[chosen, row] = people.pay[row] * (1 + noise * random.normal(size=len(chosen)))


def _scale(made: Any, people: Population, random: np.random.Generator) -> None:
    number = len(people.pay)
    factor = np.where(random.random(number) < 0.5, 1.265, 1 / 1.265)
    made[:] = people.pay * factor * (1 + 0.01 * random.normal(size=number))


def _original(made: Any, people: Population, _: np.random.Generator) -> None:
    made[-1] = people.pay


def _copy_town(made: Any, people: Population, _: np.random.Generator) -> None:
    made[:, people.town == 0] = people.pay[people.town == 0]


def _bend(made: Any, people: Population, _: np.random.Generator) -> None:
    made[:] = 3 * people.pay**0.8


LEAKS: dict[str, Callable[[Any, Population, np.random.Generator], None]] = {
    "one dataset is the confidential one": _original,
    "one dataset is that, in another order": _shuffle_one,
    "6% copied into every second dataset": partial(_copy, every=2),
    "6% copied into all": _copy,
    "6% copied into all, noise of 0.3%": partial(_copy, noise=0.003),
    "a town copied into all": _copy_town,
    "times or by 1.265": _scale,
    "3 times the power 0.8": _bend,
}


def rate(people: Population, made: list[Any]) -> dict[str, str]:
    """Give the colour of every new rule that is not green."""
    frame = people.frame
    found: Evaluation = evaluate(
        frame,
        [frame.assign(pay=one) for one in made],
        Intruder(known=["town"], sensitive="pay", radius=RADIUS),
        EvaluationOptions(measures=[one for one in MEASURES if one.id in WANTED], progress=False),
    )
    rules = [rule for rule in list_rules(found) if rule.measure in WANTED]
    told = {rule.measure: colour for rule in rules for colour, _ in judge_rule(found, "released", rule)}
    return {name: colour for name, colour in told.items() if colour != "green"}


def draw_forest(people: Population, datasets: int, seed: int) -> list[Any]:
    """Draw from Molehill's own forest."""
    posterior = fit(forest("pay", ["town", "score"], lower=0), people.frame, seed=seed, progress=False)
    return [table["pay"].to_numpy() for table in draw(posterior, datasets=datasets, seed=seed)]


def tell(title: str, found: list[dict[str, str]]) -> None:
    red = sum("red" in one.values() for one in found)
    amber = sum("red" not in one.values() and bool(one) for one in found)
    counts = Counter(f"{name} {colour}" for one in found for name, colour in one.items())
    print(f"{title:40} {len(found):4}, red {red:3}, amber {amber:3}   {dict(counts) or ''}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=13)
    parser.add_argument("--forest", type=int, default=0, help="so many of Molehill's own")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    start = time.perf_counter()
    safe: list[dict[str, str]] = []
    for title in (*SAFE, *LEAKS):
        rated = []
        for number in range(given.releases):
            random = np.random.default_rng([given.seed, number, len(title), title in SAFE])
            own = draw_population(random)
            datasets = int(random.choice([1, 2, 5, 20] if title in SAFE else [5, 20]))
            rated.append(rate(own, (make_safe if title in SAFE else make_leak)(title, own, datasets, random)))
        tell(title, rated)
        safe += rated if title in SAFE else []
    if given.forest:
        rated = []
        for number in range(given.forest):
            random = np.random.default_rng([given.seed, number])
            own = draw_population(random)
            rated.append(rate(own, draw_forest(own, int(random.choice([1, 2, 5, 20])), number)))
        tell("Molehill's forest", rated)
        safe += rated
    tell("all that are safe", safe)
    print(f"{time.perf_counter() - start:.0f} s")
