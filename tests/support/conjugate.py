"""Posteriors that are known, without chains: draws of a closed form, of a grid, or any others that a test gives."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

from molehill.models import normal_linear
from molehill.surveys.design import SurveyDesign
from molehill.synthesis.fitting import _count_records, _learn_by_name
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.diagnostics import trust_independent
from molehill.synthesis.sandwich import correct_draws
from molehill.synthesis.survey_fit import read_survey
from molehill.synthesis.synthesizer import Composite, Learned, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table


def shop(records=150, seed=3):
    """A category, and an amount that one of its levels raises."""
    random = np.random.default_rng(seed)
    kind = random.choice(["a", "b", "c"], records, p=[0.6, 0.35, 0.05])
    pay = np.exp(7 + 0.5 * (kind == "b") + 0.4 * random.normal(size=records))
    return pd.DataFrame({"town": random.choice(["N", "S"], records), "kind": kind, "pay": pay})


def kinds(records=300, seed=3):
    """A category of which one level is rare: that of the first two records."""
    random = np.random.default_rng(seed)
    town, sex = random.choice(["N", "S", "W"], records), random.choice(["f", "m"], records)
    kind = np.where(random.random(records) < 0.3 + 0.4 * (town == "N"), "a", random.choice(["b", "c"], records))
    kind[:2] = "d"
    return pd.DataFrame({"town": town, "sex": sex, "kind": kind})


def level(age, y=None):
    """A normal of known spread: the pseudo posterior of its mean is normal, with a record and without it."""
    mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    with numpyro.plate("records", len(age)):
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)


def normal(values, weights):
    """Mean and standard deviation of the pseudo posterior."""
    precision = weights.sum() + 1 / 100
    return (weights @ values) / precision, precision**-0.5


def conjugate(values, weights, draws=4000, seed=0):
    """The level of some values, from exact, independent draws."""
    frame = pd.DataFrame({"age": np.zeros(len(values)), "y": values})
    found = np.random.default_rng(seed).normal(*normal(values, weights), (2, draws // 2))
    return posterior_of(Synthesizer(level, "y"), frame, {"mean": found}, weights)


def posterior_of(
    synthesizer: Synthesizer,
    frame: pd.DataFrame,
    draws: Mapping[str, Any],
    weights: Any = None,
    *,
    survey: SurveyDesign | None = None,
    sandwich: bool = True,
) -> Posterior:
    """A posterior with given draws, (chains, draws, ...) by site: nothing is fitted.

    Under a survey the draws are brought to its design, as those of a fit would be.
    """
    table, read = Table(frame), read_survey(survey, Table(frame), sandwich=sandwich)
    risk = np.ones(len(frame)) if weights is None else np.asarray(weights, dtype=np.float64)
    powers = risk if read is None else risk * read.times
    learned = _learn_by_name(synthesizer, table) if synthesizer.learn is None else synthesizer.learn(table, powers)
    powers = _count_records(powers, table, synthesizer, learned)
    correction = None
    if read is not None:
        with jax.enable_x64(new_val=True):
            draws, correction = correct_draws(synthesizer, learned, draws, np.where(powers > 0, risk, 0.0), read)
    trusted = trust_independent({name: values[:1] for name, values in draws.items()}, {})
    return Posterior(synthesizer, table, powers, learned, draws, trusted, 0.0, survey=read, correction=correction)


def draws_around(seed: int = 0, number: int = 400, **sites: Any) -> dict[str, Any]:
    """Independent draws of sites, within a tenth of given values."""
    random = np.random.default_rng(seed)
    return {
        name: value * (1 + 0.1 * random.uniform(-1, 1, (2, number // 2, *np.shape(value))))
        for name, value in sites.items()
    }


def joined(synthesizer: SequentialSynthesizer | Composite, parts: Mapping[str, Posterior]) -> Posterior:
    """The posterior of a chain, or of a column with parts, from those of its parts."""
    one = next(iter(parts.values()))
    draws = {f"{name}.{site}": values for name, part in parts.items() for site, values in part.draws.items()}
    counted = np.max([part.weights for part in parts.values()], axis=0)
    return Posterior(synthesizer, one.table, counted, Learned({}), draws, one.diagnostics, 0.0, parts)


def levels_on_a_grid(counts, number=3000, seed=0):
    """The two coefficients of `multinomial` without predictors, for three levels that occur so often.

    Points of a grid with their probabilities, (points, 2) and (points,), and so many draws of them, (2, draws, 1, 2):
    a posterior of the points alone, of which every mean is known.
    """
    axis = np.arange(-6.0, 6.0, 0.05)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    prior = -0.5 * (points**2).sum(axis=1) / 2.5**2
    logs = prior + points @ counts[1:] - sum(counts) * np.log1p(np.exp(points).sum(axis=1))
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    drawn = np.random.default_rng(seed).choice(len(points), (2, number // 2), p=chances)
    return points, chances, points[drawn][:, :, None, :]


@cache
def pay_by_town() -> tuple[pd.DataFrame, Posterior]:
    """Forty people of two towns, and 2000 independent draws of a regression of their pay."""
    random, town = np.random.default_rng(4), np.repeat(["A", "B"], 20)
    frame = pd.DataFrame({"town": town, "pay": 100 + 30 * (town == "B") + random.normal(0, 15, 40)})
    synthesizer = normal_linear("pay", "town")
    assert synthesizer.learn is not None
    inputs = synthesizer.learn(Table(frame), np.ones(40)).inputs
    design, outcome = inputs["design"], inputs["outcome"]
    centre = np.linalg.lstsq(design, outcome, rcond=None)[0]
    sigma = np.sqrt(((outcome - design @ centre) ** 2).sum() / random.chisquare(38, (2, 1000)))
    spread = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    beta = centre + sigma[..., None] * (random.normal(size=(2, 1000, 2)) @ spread.T)
    return frame, posterior_of(synthesizer, frame, {"beta": beta, "sigma": sigma})
