"""A model whose pseudo posterior is known: a normal of known spread, with a mean that is normal before and after."""

from dataclasses import replace

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd

from molehill.synthesis.fitting import fit
from molehill.synthesis.synthesizer import Synthesizer


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
    fitted = fit(Synthesizer(level, "y"), frame, weights, seed=1, draws=200, patience=0, effective=10, progress=False)
    return replace(
        fitted, draws={"mean": np.random.default_rng(seed).normal(*normal(values, weights), (2, draws // 2))}
    )
