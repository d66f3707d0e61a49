"""A model whose pseudo posterior is known: a normal of known spread, with a mean that is normal before and after."""

from dataclasses import replace

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

from molehill.synthesis.synthesizer import Synthesizer
from people import made_posterior, trusted


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
    """A posterior with exact, independent draws in the place of those of chains."""
    frame = pd.DataFrame({"age": np.zeros(len(values)), "y": values})
    posterior = made_posterior(Synthesizer(level, "y"), frame, weights)
    made = np.random.default_rng(seed).normal(*normal(values, weights), (2, draws // 2))
    return replace(posterior, draws={"mean": made}, diagnostics=trusted(draws))
