"""Small tables, models of them, and quick fits: what the tests of synthesis and of models share."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.synthesis.fitting import _learn_by_name, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.synthesizer import Synthesizer
from molehill.tables.table import Table

COUNT = 120


def people(count: int = COUNT) -> pd.DataFrame:
    random = np.random.default_rng(21)
    age = random.normal(0, 1, count)
    sign = random.choice([-1, 0, 1], count, p=[0.03, 0.1, 0.87])
    return pd.DataFrame(
        {
            "region": random.choice(["N", "S", "W"], count),
            "wage": np.exp(2 + 0.5 * age + random.normal(0, 0.6, count)),
            "age": age,
            "children": random.poisson(np.exp(0.5 + 0.2 * age)),
            "job": pd.Categorical(
                random.choice(["low", "mid", "top"], count), ["top", "none", "mid", "low"], ordered=True
            ),
            "income": (sign * np.exp(random.normal(8, 1, count))).round(),
            "pay": 2 * age + random.normal(0, 1, count),
        }
    )


PEOPLE, HOUSEHOLDS = people(), people(600)
WEIGHTS = np.random.default_rng(3).uniform(0, 1, COUNT)


def wages(age, pay=None):
    """The user's own model of the style guide."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", len(age)):
        numpyro.sample("pay", dist.Normal(slope * age, 1), obs=pay)


WAGES = Synthesizer(wages, sensitive=("pay",))


def quick_fit(synthesizer, data, weights=None, *, seed=1, warmup=100, draws=100, **settings) -> Posterior:
    """A fit that is too short to have converged, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(synthesizer, data, weights, seed=seed, warmup=warmup, draws=draws, progress=False, **settings)


@cache
def user_fit() -> Posterior:
    return fit(WAGES, PEOPLE, WEIGHTS, seed=4, warmup=300, draws=1500, progress=False)


def made_posterior(synthesizer: Synthesizer, frame: pd.DataFrame, **sites: Any) -> Posterior:
    """A posterior with given draws, without a fit."""
    learned = _learn_by_name(synthesizer, Table(frame))
    draws = {name: np.broadcast_to(value, (2, 10, *np.shape(value))) for name, value in sites.items()}
    return Posterior(synthesizer, Table(frame), np.ones(len(frame)), learned, draws, user_fit().diagnostics, 0.0)


def refusal(call: Any, argument: str) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    return str(caught.value)
