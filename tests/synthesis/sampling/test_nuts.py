"""NUTS finds known moments, and keeps its tuning after the warm-up."""

from typing import Any

import jax
import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from molehill.synthesis.sampling.chains import Run, sample
from molehill.synthesis.sampling.nuts import nuts_engine

STATS: Any = array_stats
RNG = np.random.default_rng(5)
ROOT = RNG.normal(size=(5, 5)) / 2 + np.diag([0.1, 0.5, 1.0, 2.0, 10.0])
NORMAL = {"mean": np.array([0.0, 1.0, -3.0, 10.0, 100.0]), "precision": np.linalg.inv(ROOT @ ROOT.T)}


@pytest.fixture(scope="module")
def nuts_run() -> Run:
    def log_density(position, inputs):
        away = position - inputs["mean"]
        return -0.5 * away @ inputs["precision"] @ away

    def start(key, inputs):
        return inputs["mean"] + jax.random.normal(key, inputs["mean"].shape)

    def report(position, inputs):
        del inputs
        return {"x": position}, {"x": position}

    engine = nuts_engine(log_density, start, report, warmup=400, draws=2000)
    return sample(engine, NORMAL, seed=3, progress=False)


def distance(values: np.ndarray, truth) -> np.ndarray:
    """Errors of means, in Monte Carlo standard errors."""
    return np.abs(values.mean(axis=(0, 1)) - truth) / STATS.mcse(values, chain_axis=0, draw_axis=1)


def test_nuts_finds_the_moments_of_a_correlated_normal(nuts_run):
    x, covariance = nuts_run.draws["x"], ROOT @ ROOT.T
    assert (distance(x, NORMAL["mean"]) < 4).all()
    away = x - NORMAL["mean"]
    products = (away[..., :, None] * away[..., None, :]).reshape(*x.shape[:2], 25)
    assert (distance(products, covariance.ravel()) < 4).all()
    assert nuts_run.divergent.mean() < 0.01
    # Tuned for 0.8, and above it on correlated targets, as BlackJAX's own adaptation is.
    assert 0.75 < nuts_run.accept.mean() < 0.97
    assert nuts_run.gradients >= x.shape[0] * x.shape[1]


def test_nuts_keeps_its_tuning_after_the_warm_up(nuts_run):
    # Halves of the run accept alike: the step size no longer moves.
    half = nuts_run.accept.shape[1] // 2
    first, second = nuts_run.accept[:, :half].mean(axis=1), nuts_run.accept[:, half:].mean(axis=1)
    assert np.abs(first - second).max() < 0.05
