"""Small tables, models of them, and quick fits: what the tests of synthesis and of models share.

JAX compiles a program for every model, shape of table and length of the warm-up. Tests whose subject is none of these
use `PEOPLE`, the predictor "region" and a warm-up of `WARMUP`, so that few programs are compiled.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.synthesis.fitting import _learn_by_name, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling import chains
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning, Diagnostics, trust_independent
from molehill.synthesis.synthesizer import Synthesizer
from molehill.tables.table import Table

COUNT = 120
WARMUP = 100


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


_COMPILE = chains._compile
_COMPILED: dict[Any, Any] = {}


def _compile_once(engine: Any, inputs: Any, length: int, mesh: Any = None) -> Any:
    """Compile, or take what was compiled of an equal engine for data of the same form.

    The name of an engine says all that decides its draws beside the data, a checksum of captured arrays among it.
    """
    if mesh is not None:
        return _COMPILE(engine, inputs, length, mesh)
    leaves, structure = jax.tree.flatten(jax.tree.map(jnp.asarray, inputs))
    form = tuple((leaf.shape, str(leaf.dtype), leaf.weak_type) for leaf in leaves)
    key = (engine.name, engine.warmup, length, structure, form)
    if key not in _COMPILED:
        _COMPILED[key] = _COMPILE(engine, inputs, length)
        return _COMPILED[key]
    here = jax.device_put(jax.tree.unflatten(structure, leaves), jax.devices("cpu")[0])
    return replace(_COMPILED[key], inputs=here)


def shared_programs() -> list[bytes]:
    """What was compiled so far of fits that share programs, as it is written to the compile cache."""
    client = jax.devices("cpu")[0].client
    moves = [made.move.runtime_executable() for made in _COMPILED.values()]
    return [client.serialize_executable(executable) for executable in moves]


@contextmanager
def programs_shared() -> Iterator[None]:
    """Within it, fits of the same model to data of the same form are traced and compiled once in a process.

    A test that has put something in the place of the compiler keeps it.
    """
    if chains._compile is not _COMPILE:
        yield
        return
    with patch.object(chains, "_compile", _compile_once):
        yield


def quick_fit(
    synthesizer, data, weights=None, *, seed=1, warmup=WARMUP, draws=100, patience=0, **settings
) -> Posterior:
    """A fit that is too short to have converged, without the warning."""
    with warnings.catch_warnings(), programs_shared():
        warnings.simplefilter("ignore", ConvergenceWarning)
        lengths: dict[str, Any] = {"warmup": warmup, "draws": draws, "patience": patience}
        return fit(synthesizer, data, weights, seed=seed, progress=False, **lengths, **settings)


@cache
def user_fit() -> Posterior:
    """A fit of the user's model that has converged."""
    with programs_shared():
        return fit(WAGES, PEOPLE, WEIGHTS, seed=4, warmup=WARMUP, draws=1500, progress=False)


@cache
def plain_fit() -> Posterior:
    """A quick fit of the user's model, by the seed and the lengths of `quick_fit`."""
    return quick_fit(WAGES, PEOPLE, WEIGHTS)


def trusted(number: int = 3000) -> Diagnostics:
    """What is told of so many independent draws."""
    return trust_independent({"made": np.arange(float(number))[None, :, None]}, {"sampling": 0.0})


def made_posterior(synthesizer: Synthesizer, frame: pd.DataFrame, weights: Any = None, **sites: Any) -> Posterior:
    """A posterior with given draws, without a fit."""
    table, counted = Table(frame), np.ones(len(frame)) if weights is None else weights
    learned = _learn_by_name(synthesizer, table) if synthesizer.learn is None else synthesizer.learn(table, counted)
    draws = {name: np.broadcast_to(value, (2, 10, *np.shape(value))) for name, value in sites.items()}
    return Posterior(synthesizer, table, counted, learned, draws, trusted(), 0.0)


def refusal(call: Any, argument: str) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    return str(caught.value)
