"""Releases of known character, and the recommendation that each gets.

Run `python benchmarks/gallery.py` for all releases: safe by construction, leaking in one of twenty-six ways at three
strengths, and useless. `--write docs/gallery.md` puts the table into that page. Only simulated data, of
1,200 records, are used; a release takes a few seconds. `benchmarks/safe_releases.py` has many more safe ones.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill import EvaluationOptions, Intruder, Settings, evaluate
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import Verdict, judge, list_findings
from molehill.release.making import fit_quietly, prepare
from molehill.sdc_methods import swap_ranks
from molehill.synthesis.fitting import draw
from molehill.tables.table import as_table

RECORDS, DATASETS = 1_200, 10
KEYS = ["sex", "age", "region"]
Strength = Literal["weak", "medium", "full"]
STRENGTHS: tuple[Strength, ...] = ("weak", "medium", "full")
Draw = Callable[[np.random.Generator], np.ndarray]
# The page that has the table, between these lines.
BEGIN, END = "<!-- table: python benchmarks/gallery.py --write -->", "<!-- end of the table -->"


@dataclass(frozen=True, eq=False)
class World:
    """Confidential data of which the true model is known: `draw` gives new values for the same records."""

    data: pd.DataFrame
    column: str
    draw: Draw
    more: Callable[[np.random.Generator, int], pd.DataFrame]
    beside: tuple[str, ...] = ()
    """Other variables that are synthesized as well."""

    def intruder(self) -> Intruder:
        """Give an intruder who knows sex, age and region."""
        columns = [self.column, *self.beside]
        numeric = any(pd.api.types.is_numeric_dtype(self.data[name]) for name in columns)
        return Intruder(known=KEYS, sensitive=columns, radius=0.2 if numeric else None)

    def safe(self, random: np.random.Generator, datasets: int = DATASETS) -> list[pd.DataFrame]:
        """Draw datasets from the true model."""
        return [self.data.assign(**{self.column: self.draw(random)}) for _ in range(datasets)]


@dataclass(frozen=True, eq=False)
class Release:
    """One of the gallery: what it is like, and what it must get."""

    kind: Literal["safe", "leak", "useless"]
    character: str
    strength: str
    world: World
    datasets: Sequence[pd.DataFrame]
    linked: bool = True


# Worlds


def people(random: np.random.Generator, number: int) -> pd.DataFrame:
    """Key variables, and two others that are released unchanged."""
    return pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], number),
            "age": random.choice(["under 30", "30-44", "45-64", "65 and over"], number, p=[0.2, 0.25, 0.35, 0.2]),
            "region": random.choice(["north", "east", "south", "west"], number, p=[0.4, 0.3, 0.2, 0.1]),
            "education": random.choice(["none", "school", "college", "degree"], number, p=[0.14, 0.46, 0.25, 0.15]),
            "hours": np.clip(random.normal(36, 10, number), 5, 70).round(),
        }
    )


def effect(frame: pd.DataFrame) -> np.ndarray:
    by = {"none": -0.4, "school": -0.1, "college": 0.15, "degree": 0.5}
    return (
        frame["education"].map(by).to_numpy()
        + 0.2 * (frame["sex"] == "m").to_numpy()
        + 0.3 * frame["age"].isin(["30-44", "45-64"]).to_numpy()
        + 0.012 * (frame["hours"].to_numpy() - 36)
    )


def lognormal(frame: pd.DataFrame, random: np.random.Generator, spread: float = 0.6) -> np.ndarray:
    return np.exp(10 + effect(frame) + spread * random.normal(size=len(frame))).round()


def heavy(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    return lognormal(frame, random, 2.0)


def explained(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    """Amounts of which the other variables explain nine tenths."""
    return np.exp(10 + 3 * effect(frame) + 0.3 * random.normal(size=len(frame))).round()


def counts(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    """The paper's simulation, with a mean that depends on the person."""
    size = np.where(random.random(len(frame)) < 0.7, 20.0, 5.0)
    mean = 100 * np.exp(0.3 * effect(frame))
    return random.negative_binomial(size, size / (size + mean)).astype(np.float64)


def zeros(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    paid = random.random(len(frame)) < 0.75 + 0.2 * np.tanh(effect(frame))
    return np.where(paid, lognormal(frame, random, 0.8), 0.0)


def heaped(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    exact = lognormal(frame, random)
    return np.where(random.random(len(frame)) < 0.6, 1_000 * np.maximum(np.rint(exact / 1_000), 1), exact)


def scores(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    return np.clip(500 + 60 * effect(frame) + 90 * random.normal(size=len(frame)), 200, 800).round()


def occupations(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    levels = np.array(["office", "trade", "care", "plant", "farm", "other"])
    tilt = np.outer(effect(frame), [1.2, 0.3, 0.2, -0.8, -0.6, 0.0])
    chances = np.exp(tilt) * [0.3, 0.2, 0.2, 0.15, 0.05, 0.1]
    total = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
    return levels[np.minimum((random.random(len(frame))[:, None] > total).sum(axis=1), 5)]


MODELS: dict[str, tuple[str, Callable[[pd.DataFrame, np.random.Generator], np.ndarray]]] = {
    "lognormal income": ("income", lognormal),
    "heavy-tailed income (sigma 2)": ("income", heavy),
    "counts": ("visits", counts),
    "income with zeros": ("income", zeros),
    "heaped income": ("income", heaped),
    "test score": ("score", scores),
    "category of six levels": ("job", occupations),
    "income that the others explain": ("income", explained),
}


def make_world(name: str, random: np.random.Generator, number: int = RECORDS) -> World:
    column, model = MODELS[name]
    frame = people(random, number)

    def more(generator: np.random.Generator, size: int) -> pd.DataFrame:
        new = people(generator, size)
        return new.assign(**{column: model(new, generator)})

    return World(
        frame.assign(**{column: model(frame, random)}), column, lambda generator: model(frame, generator), more
    )


# Safe by construction


def from_patterns(world: World, random: np.random.Generator) -> np.ndarray:
    """Values of the pattern, with replacement."""
    found = world.data[world.column].to_numpy(copy=True)
    for rows in world.data.groupby(KEYS).indices.values():
        found[rows] = random.choice(found[rows], len(rows))
    return found


def from_regression(world: World, random: np.random.Generator) -> np.ndarray:
    """A fitted log-normal regression, with parameters drawn from their posterior."""
    inputs = pd.get_dummies(world.data.drop(columns=world.column), drop_first=True, dtype=float)
    x = np.column_stack([np.ones(len(inputs)), inputs])
    target = np.log(world.data[world.column].to_numpy())
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ target
    free = len(x) - x.shape[1]
    variance = ((target - x @ slopes) ** 2).sum() / random.chisquare(free)
    slopes = random.multivariate_normal(slopes, variance * inverse)
    return np.exp(x @ slopes + np.sqrt(variance) * random.normal(size=len(x))).round()


def by_forest(world: World, datasets: int, seed: int, *, everything: bool = False, **given: Any) -> list[pd.DataFrame]:
    """The default forest of Molehill; of every variable, for as many new people, if asked for."""
    names = [name for name in world.data if name != world.column]
    limits: dict[str, Any] = {}
    numeric = [one for one in world.data if pd.api.types.is_numeric_dtype(world.data[one])]
    replaced = list(world.data) if everything else [world.column]
    limits = {"lower": {one: 0.0 for one in numeric if one in replaced}}
    limits["upper"] = {one: 2.0 * float(world.data[one].max()) for one in numeric if one in replaced}
    how: dict[str, Any] = {"keep": [] if everything else names, "known": KEYS, "seed": seed, **limits, **given}
    if world.column in numeric:
        how["radius"] = 0.2
    how |= {"fully_synthetic_records": len(world.data)} if everything else {"predictors": names}
    job = prepare(world.data, Settings(synthesize=replaced, **how))
    posterior = fit_quietly(job.model, job.table, np.ones(len(world.data)), seed=seed, progress=False)
    more: dict[str, Any] = {"records": len(world.data)} if everything else {}
    return [as_table(one).frame for one in draw(posterior, datasets=datasets, seed=seed, **more)]


def each(world: World, values: Iterator[np.ndarray] | Sequence[np.ndarray]) -> list[pd.DataFrame]:
    return [world.data.assign(**{world.column: one}) for one in values]


def list_safe(seed: int = 1) -> Iterator[Release]:
    for number, name in enumerate(MODELS):
        random = np.random.default_rng([seed, number])
        world = make_world(name, random)
        yield Release("safe", f"draws from the true model: {name}", "", world, world.safe(random))
        if name in ("lognormal income", "category of six levels"):
            drawn = [from_patterns(world, random) for _ in range(DATASETS)]
            yield Release("safe", f"values of the pattern, drawn again: {name}", "", world, each(world, drawn))
        if name in ("lognormal income", "income with zeros", "category of six levels"):
            yield Release("safe", f"Molehill's forest: {name}", "", world, by_forest(world, DATASETS, seed))
        if name == "lognormal income":
            yield Release("safe", "draws from the true model, one dataset", "", world, world.safe(random, 1))
            drawn = [from_regression(world, random) for _ in range(DATASETS)]
            yield Release("safe", "a fitted regression", "", world, each(world, drawn))
            fresh = [world.more(random, RECORDS) for _ in range(DATASETS)]
            yield Release("safe", "fully synthetic, from the true model", "", world, fresh, linked=False)
            made = by_forest(world, DATASETS, seed, everything=True)
            yield Release("safe", "fully synthetic, by Molehill's forest", "", world, made, linked=False)


# Leaks: each gives the datasets of one strength, from 0 (weak) to 2 (full)


def pick(shares: tuple[Any, Any, Any], strength: Strength) -> Any:
    return shares[STRENGTHS.index(strength)]


def put_back(world: World, made: Sequence[pd.DataFrame], rows: Sequence[np.ndarray]) -> list[pd.DataFrame]:
    """Give each dataset the true values of some records."""
    found = []
    for one, own in zip(made, rows, strict=True):
        values = one[world.column].to_numpy(copy=True)
        values[own] = world.data[world.column].to_numpy()[own]
        found.append(one.assign(**{world.column: values}))
    return found


def copies(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    rows = random.choice(RECORDS, int(RECORDS * pick((0.01, 0.04, 0.2), strength)), replace=False)
    return put_back(world, world.safe(random), [rows] * DATASETS)


def one_is_the_original(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    made, rows = world.safe(random, 20), [np.empty(0, dtype=np.int64)] * 19
    own = random.choice(RECORDS, int(RECORDS * pick((0.2, 0.5, 1.0), strength)), replace=False)
    return put_back(world, made, [*rows, own])


def spread_over_datasets(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    rows = random.choice(RECORDS, int(RECORDS * pick((0.015, 0.03, 0.06), strength)), replace=False)
    half = [random.permutation(20) < 10 for _ in rows]
    return put_back(world, world.safe(random, 20), [rows[[one[place] for one in half]] for place in range(20)])


def subgroup(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    own = np.flatnonzero(world.data["education"] == "none")
    rows = own[: int(len(own) * pick((0.1, 0.3, 1.0), strength))]
    return put_back(world, world.safe(random), [rows] * DATASETS)


def little_noise(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    spread, true = pick((0.4, 0.15, 0.03), strength), world.data[world.column].to_numpy()
    return each(world, [(true * np.exp(spread * random.normal(size=RECORDS))).round() for _ in range(DATASETS)])


def fixed_ratio(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """Every value swapped with a partner about 25.5% away, for a share of the records."""
    true = world.data[world.column].to_numpy()
    share, made = pick((0.1, 0.4, 1.0), strength), []
    for one in world.safe(random):
        values = one[world.column].to_numpy(copy=True)
        left = dict.fromkeys(random.permutation(RECORDS).tolist())
        order = np.argsort(true)
        for row in list(left):
            if row not in left:
                continue
            place = np.searchsorted(true[order], 1.255 * true[row])
            near = [int(other) for other in order[place : place + 12] if other in left and other != row]
            if near and abs(true[near[0]] / true[row] / 1.265 - 1) < 0.03:
                values[[row, near[0]]] = true[[near[0], row]] if random.random() < share else values[[row, near[0]]]
                del left[near[0]], left[row]
        made.append(one.assign(**{world.column: values}))
    return made


def fixed_factor(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """Multiplied by a factor, or divided by it: near the factor, or at it."""
    spread, true = pick((0.3, 0.1, 0.0), strength), world.data[world.column].to_numpy()
    factors = [
        np.exp(random.choice([-1, 1], RECORDS) * 0.3 + spread * random.normal(size=RECORDS)) for _ in range(DATASETS)
    ]
    return each(world, [(true * one).round() for one in factors])


def make_total(random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """A total whose components are released unchanged: with a large error, with one missing, and exactly."""
    frame = people(random, RECORDS)
    parts = pd.DataFrame(
        {f"part {n}": lognormal(frame, random, 0.8) * (random.random(RECORDS) < 0.7) for n in range(3)}
    )
    total = parts.sum(axis=1) + 1_000
    total = total * np.exp(0.25 * random.normal(size=RECORDS)) if strength == "weak" else total
    kept = parts if strength != "medium" else parts[["part 0", "part 1"]]
    data = pd.concat([frame, kept], axis=1).assign(income=total.round())
    world = World(data, "income", lambda _: data["income"].to_numpy(), lambda _, __: data)
    return world, [swap_ranks(data, "income", window=0.3, seed=seed) for seed in range(DATASETS)]


def largest(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    rows = np.argsort(-world.data[world.column].to_numpy())[: pick((2, 6, 12), strength)]
    return put_back(world, world.safe(random), [rows] * DATASETS)


def rare_level(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """A level that few people have, released for them and for nobody else."""
    rows = random.choice(RECORDS, pick((8, 3, 1), strength), replace=False)
    jobs = world.data[world.column].to_numpy(copy=True)
    jobs[rows] = "lighthouse keeper"
    rare = World(world.data.assign(**{world.column: jobs}), world.column, world.draw, world.more)
    return rare, put_back(rare, rare.safe(random), [rows] * DATASETS)


def overfitted(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """A value of one of the nearest records, the own one among them, of the same education."""
    size, data = pick((12, 4, 1), strength), world.data
    order = np.lexsort(
        (random.random(RECORDS), data["hours"], data["sex"], data["age"], data["region"], data["education"])
    )
    true, made = data[world.column].to_numpy()[order], []
    for _ in range(DATASETS):
        near = np.arange(RECORDS) + random.integers(0, size + 1, RECORDS) * random.choice([-1, 1], RECORDS)
        values = np.empty(RECORDS)
        values[order] = true[np.clip(near, 0, RECORDS - 1)]
        made.append(values)
    return each(world, made)


def same_ranks(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """New values in the order of the true ones, or nearly."""
    error, true = pick((0.5, 0.15, 0.0), strength), world.data[world.column].to_numpy()
    made = []
    for one in world.safe(random):
        score_ = np.log(true + 1) + error * np.log(true + 1).std() * random.normal(size=RECORDS)
        values = np.empty(RECORDS)
        values[np.argsort(score_)] = np.sort(one[world.column].to_numpy())
        made.append(values)
    return each(world, made)


def digits(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """New values that end like the true ones: in the last two digits, in the last three of half of them, or of all."""
    unit, share = pick((100, 1_000, 1_000), strength), pick((1.0, 0.5, 1.0), strength)
    true, made = world.data[world.column].to_numpy(), []
    for one in world.safe(random):
        values = one[world.column].to_numpy()
        ends = np.floor(values / unit) * unit + true % unit
        made.append(np.where(random.random(RECORDS) < share, ends, values))
    return each(world, made)


def keep(world: World, made: Sequence[pd.DataFrame], **values: Any) -> tuple[World, list[pd.DataFrame]]:
    """Release other variables unchanged, too."""
    return replace(world, data=world.data.assign(**values)), [one.assign(**values) for one in made]


def synthesize_too(
    world: World, random: np.random.Generator, made: Sequence[pd.DataFrame], *names: str
) -> tuple[World, list[pd.DataFrame]]:
    """Synthesize other amounts, from the true model."""
    draws = [{name: lognormal(world.data, random) for name in names} for _ in range(1 + len(made))]
    released = [one.assign(**own) for one, own in zip(made, draws[1:], strict=True)]
    return replace(world, data=world.data.assign(**draws[0]), beside=names), released


def another_variable(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """True values under the name of another synthesized variable."""
    share = pick((0.1, 0.4, 1.0), strength)
    world, made = synthesize_too(world, random, world.safe(random), "wealth")
    true = world.data["income"]
    return world, [one.assign(wealth=one["wealth"].mask(random.random(RECORDS) < share, true)) for one in made]


def bands(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    number = pick((5, 20, 80), strength)
    return keep(world, world.safe(random), code=np.floor(world.data["income"].rank(pct=True) * number * 0.999))


def encoded(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """Rounded amounts by numbers in no order."""
    rounded = (world.data["income"] / pick((20_000, 5_000, 100), strength)).round()
    return keep(world, world.safe(random), code=(rounded * 7_919) % 100_003)


def exchanged(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """The amount in the money of 60 countries, with an error."""
    country, rates = random.integers(0, 60, RECORDS), np.exp(2 * random.normal(size=60))
    error = np.exp(pick((0.5, 0.15, 0.0), strength) * random.normal(size=RECORDS))
    local = (world.data["income"] * rates[country] * error).round(2)
    return keep(world, world.safe(random), country=np.array([f"c{one}" for one in country]), local=local)


def row_order(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """Rows in the order of the true values, or nearly."""
    score_ = np.log(world.data["income"]) + pick((0.5, 0.15, 0.0), strength) * random.normal(size=RECORDS)
    order = np.argsort(score_.to_numpy())
    made = [one.iloc[order].reset_index(drop=True) for one in world.safe(random)]
    return replace(world, data=world.data.iloc[order].reset_index(drop=True)), made


def partners(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """The income of the partner, in couples that two variables together number."""
    home = random.permutation(np.arange(RECORDS) // 2)
    members = np.argsort(home).reshape(-1, 2)
    partner = np.empty(RECORDS)
    partner[members] = world.data["income"].to_numpy()[members[:, ::-1]]
    told = random.random(RECORDS) < pick((0.1, 0.4, 1.0), strength)
    codes = {"block": home // 30, "flat": home % 30}
    return keep(world, world.safe(random), **codes, partner=np.where(told, partner, lognormal(world.data, random)))


def level_kept(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """The level of a category that few people have is not redrawn, beside another synthesized variable."""
    world, made = synthesize_too(world, random, world.safe(random), "income")
    rows = np.flatnonzero((world.data["job"] == "farm") & (random.random(RECORDS) < pick((0.3, 0.6, 1.0), strength)))
    return world, put_back(world, made, [rows] * DATASETS)


def jointly(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """Three true values of some people in each dataset, of others in each."""
    world, made = synthesize_too(world, random, world.safe(random), "wealth", "rent")
    rows = [random.random(RECORDS) < pick((0.01, 0.02, 0.04), strength) for _ in made]
    names = [world.column, *world.beside]
    return world, [
        one.assign(**{name: one[name].mask(own, world.data[name]) for name in names})
        for one, own in zip(made, rows, strict=True)
    ]


def another_order(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """The confidential records, or a share of them, in another order."""
    share, made = pick((0.3, 0.6, 1.0), strength), []
    for one in world.safe(random):
        mixed = one.assign(income=one["income"].mask(random.random(RECORDS) < share, world.data["income"]))
        made.append(mixed.iloc[random.permutation(RECORDS)].reset_index(drop=True))
    return made


def exchanged_levels(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """Each level exchanged for the next one, for a share of the people."""
    levels = sorted(world.data["job"].unique())
    others = world.data["job"].map(dict(zip(levels, [*levels[1:], levels[0]], strict=True)))
    share = pick((0.3, 0.6, 1.0), strength)
    return [one.assign(job=one["job"].mask(random.random(RECORDS) < share, others)) for one in world.safe(random)]


def few_receive(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """Amounts that one in 16 has, drawn anew; a share of the datasets has them for the same people."""
    paid, share = random.random(RECORDS) < 0.06, pick((0.3, 0.6, 1.0), strength)
    made = []
    for one in world.safe(random):
        own = random.permutation(paid) if random.random() >= share else paid
        made.append(one.assign(income=np.where(own, one["income"], 0.0)))
    return replace(world, data=world.data.assign(income=np.where(paid, world.data["income"], 0.0))), made


def noise_in_many(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """Twelve amounts in one dataset, moved in rank by noise of three, one and a half, one of their deviations."""
    names = [f"amount {number}" for number in range(11)]
    world, _ = synthesize_too(world, random, world.safe(random, 1), *names)
    made = world.data.copy()
    for name in (world.column, *names):
        logs = np.log(world.data[name])
        noise = pick((3.0, 1.5, 1.0), strength) * logs.std() * random.normal(size=RECORDS)
        made[name] = np.sort(world.data[name])[np.argsort(np.argsort(logs + noise))]
    return world, [made]


def one_town(world: World, random: np.random.Generator, strength: Strength) -> tuple[World, list[pd.DataFrame]]:
    """People of one of 30 towns, of whom a share has the true values with 2% of noise."""
    town, share = random.integers(0, 30, RECORDS), pick((0.3, 0.6, 1.0), strength)
    world, made = keep(world, world.safe(random), town=np.array([f"t{one}" for one in town]))
    rows = (town == 3) & (random.random(RECORDS) < share)
    near = [(world.data["income"] * np.exp(0.02 * random.normal(size=RECORDS))).round() for _ in made]
    return world, [one.assign(income=one["income"].mask(rows, own)) for one, own in zip(made, near, strict=True)]


def rows_away(world: World, random: np.random.Generator, strength: Strength) -> list[pd.DataFrame]:
    """The values of the record some rows before, other ones in each dataset, of a share of the people."""
    share, true = pick((0.3, 0.6, 1.0), strength), world.data["income"].to_numpy()
    return [
        one.assign(income=one["income"].mask(random.random(RECORDS) < share, pd.Series(np.roll(true, 7 + 5 * place))))
        for place, one in enumerate(world.safe(random))
    ]


LEAKS: dict[str, tuple[str, Callable[..., Any]]] = {
    "1 values of some people, in every dataset": ("lognormal income", copies),
    "2 one of 20 datasets is the confidential one": ("lognormal income", one_is_the_original),
    "3 values of some people, each in half of 20 datasets": ("lognormal income", spread_over_datasets),
    "4 values of a subgroup, in every dataset": ("lognormal income", subgroup),
    "5 too little noise": ("lognormal income", little_noise),
    "6a swapped with a partner 26.5% away": ("lognormal income", fixed_ratio),
    "6b multiplied or divided by one factor": ("lognormal income", fixed_factor),
    "7 a total whose components are released unchanged": ("", make_total),
    "8 the largest 12 values": ("lognormal income", largest),
    "9 a level that one person has": ("category of six levels", rare_level),
    "10 overfitted: values of the nearest records": ("lognormal income", overfitted),
    "11 new values in the order of the true ones": ("lognormal income", same_ranks),
    "12 new values that end in the digits of the true ones": ("lognormal income", digits),
    "13 true values under the name of another synthesized variable": ("lognormal income", another_variable),
    "14 bands of the values, released unchanged": ("lognormal income", bands),
    "15 rounded values by numbers in no order, released unchanged": ("lognormal income", encoded),
    "16 the amount in the money of 60 countries, released unchanged": ("lognormal income", exchanged),
    "17 rows in the order of the true values": ("lognormal income", row_order),
    "18 the income of the partner, released unchanged": ("lognormal income", partners),
    "19 a level that is not redrawn, beside another variable": ("category of six levels", level_kept),
    "20 three true values of some people in each dataset": ("lognormal income", jointly),
    "21 the confidential records in another order": ("lognormal income", another_order),
    "22 each level exchanged for another one": ("category of six levels", exchanged_levels),
    "23 few people have an amount, and the same ones have it": ("lognormal income", few_receive),
    "24 twelve amounts with much noise": ("lognormal income", noise_in_many),
    "25 the people of one town": ("lognormal income", one_town),
    "26 values of a record some rows away": ("lognormal income", rows_away),
}


def make_leak(character: str, strength: Strength, seed: int = 1) -> Release:
    name, leak = LEAKS[character]
    random = np.random.default_rng([seed, 100 + list(LEAKS).index(character), STRENGTHS.index(strength)])
    if leak is make_total:
        world, made = make_total(random, strength)
    else:
        world = make_world(name, random)
        made = leak(world, random, strength)
        world, made = made if isinstance(made, tuple) else (world, made)
    return Release("leak", character, strength, world, made)


def list_leaks() -> Iterator[Release]:
    for character in LEAKS:
        for strength in STRENGTHS:
            yield make_leak(character, strength)


def list_useless(seed: int = 1) -> Iterator[Release]:
    random = np.random.default_rng([seed, 200])
    world = make_world("lognormal income", random)
    true = world.data["income"].to_numpy()
    made = {
        "all values the same": [np.full(RECORDS, true.mean().round())] * DATASETS,
        "independent of everything": [random.uniform(0, 2 * true.mean(), RECORDS).round() for _ in range(DATASETS)],
        "twice as large": [2 * one["income"].to_numpy() for one in world.safe(random)],
    }
    for character, values in made.items():
        yield Release("useless", character, "", world, each(world, values))


# Recommendations


def recommend(release: Release) -> tuple[Verdict, str]:
    """Evaluate a release as anybody would, and name the measures that decided."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(
            release.world.data,
            list(release.datasets),
            release.world.intruder(),
            EvaluationOptions(fully_synthetic=not release.linked, progress=False),
        )
    verdict = judge(found)
    remarks = list_findings(found, found.schemes[0], Teller("internal", len(release.world.data)))
    worst = {"do not release": "stop", "board decision needed": "decide", "no objection": "point"}[verdict.decision]
    return verdict, "; ".join(one.because for one in remarks if one.weight == worst)


def must(release: Release, decision: str) -> str:
    """Say whether a recommendation is one that the release must not get."""
    if release.kind == "safe":
        return "refused" if decision == "do not release" else ""
    full = release.kind == "useless" or release.strength == "full"
    return "missed" if full and decision == "no objection" else ""


def show_all(path: Path | None) -> None:
    lines = ["| release | strength | recommendation | because |", "|---|---|---|---|"]
    print("\n".join(lines))
    wrong, begun = [], time.perf_counter()
    for release in [*list_safe(), *list_leaks(), *list_useless()]:
        verdict, why = recommend(release)
        fault = must(release, verdict.decision)
        mark = f" **({fault})**" if fault else ""
        lines.append(f"| {release.kind}: {release.character} | {release.strength} | {verdict.decision}{mark} | {why} |")
        wrong += [f"{release.character}: {fault}"] if fault else []
        print(lines[-1][:400], flush=True)
    print(f"{len(lines) - 2} releases, {time.perf_counter() - begun:.0f} s; wrong: {wrong or 'none'}")
    if path is not None:
        text = path.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        path.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="the page that has the table")
    show_all(parser.parse_args().write)
