"""Weights, on the potential itself."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpyro.infer.util import potential_energy
from scipy import stats

from molehill.errors import InputError
from molehill.synthesis.synthesizer import Synthesizer
from molehill.synthesis.weighting import weight_likelihood
from people import PEOPLE, quick_fit
from properties import examples


def regression(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    sigma = numpyro.sample("sigma", dist.HalfNormal(3))
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Normal(mean * x, sigma), obs=y)


def shares(x, y):
    """A likelihood that is 0 where y is, and not a number below."""
    shape = numpyro.sample("mean", dist.LogNormal(0.5, 0.1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(3))
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Gamma(1 + shape + x**2, sigma), obs=y)


X, Y = np.array([0.5, -1.0, 2.0, 3.5, 1.0]), np.array([0.4, 1.9, 1.2, 4.0, 0.7])
PLACE = {"mean": 0.3, "sigma": -0.2}


@cache
def compiled(model, checked) -> Any:
    """The potential, without weights where they are None, and its gradient: compiled once for every shape.

    It depends on whether NumPyro checks values at the time.
    """
    del checked

    def value(place, weights, x, y):
        return potential_energy(model if weights is None else weight_likelihood(model, weights), (x, y), {}, place)

    return jax.jit(jax.value_and_grad(value))


def both_of(weights, x, y, model, place) -> Any:
    with jax.enable_x64(True):
        given = None if weights is None else jnp.asarray(np.array(weights, dtype=np.float64))
        place = {name: jnp.asarray(value, dtype=jnp.float64) for name, value in place.items()}
        return compiled(model, dist.Distribution._validate_args)(place, given, jnp.asarray(x), jnp.asarray(y))


def potential(weights, x=X, y=Y, model=regression, place=None) -> float:
    return float(both_of(weights, x, y, model, place or PLACE)[0])


def slope_of(weights, y, model) -> dict[str, Any]:
    return both_of(weights, X, y, model, PLACE)[1]


def by_hand(weights, x=X, y=Y, mean=0.3, log_sigma=-0.2) -> float:
    """Of `regression`: minus the log of prior, Jacobian and weighted likelihood."""
    sigma = np.exp(log_sigma)
    prior = stats.norm.logpdf(mean, 0, 2) + stats.halfnorm.logpdf(sigma, scale=3) + log_sigma
    return -(prior + np.dot(weights, stats.norm.logpdf(y, mean * x, sigma)))


def close(value: float):
    return pytest.approx(value, rel=1e-12, abs=0)


@pytest.mark.parametrize("model", [regression, shares])
def test_weight_2_is_the_record_twice(model):
    twice = [0, 1, 2, 2, 3, 4]
    assert potential([1, 1, 2.0, 1, 1], model=model) == close(potential(None, X[twice], Y[twice], model))


@pytest.mark.parametrize("model", [regression, shares])
@pytest.mark.parametrize("value", [1.2, 0.0, -1.0, np.nan, np.inf, 1e300])
def test_weight_0_is_the_record_left_out(model, value):
    kept, y = [0, 1, 3, 4], Y.copy()
    y[2] = value
    weights = np.array([1.0, 1, 0, 1, 1])
    assert potential(weights, y=y, model=model) == close(potential(None, X[kept], Y[kept], model))
    for gradient, plain in zip(slope_of(weights, y, model).values(), slope_of(weights, Y, model).values(), strict=True):
        assert float(gradient) == close(float(plain))


def test_the_records_left_out_would_have_mattered():
    y = Y.copy()
    with numpyro.validation_enabled(False):
        y[2] = 0.0
        assert potential(np.ones(5), y=y, model=shares) == np.inf
        y[2] = np.nan
        assert np.isnan(potential(np.ones(5), y=y))


@pytest.mark.parametrize("model", [regression, shares])
def test_all_weights_1_is_the_plain_potential(model):
    assert potential(np.ones(5), model=model) == close(potential(None, model=model))


def test_the_prior_is_untouched():
    nothing = potential(np.zeros(5))
    assert nothing == close(by_hand(np.zeros(5)))
    one, other = np.array([0.2, 0, 1, 0.7, 0]), np.array([0.5, 1, 0, 0.1, 3])
    total = potential(one) + potential(other) - nothing
    assert potential(one + other) == close(total)
    assert potential(3 * one) - nothing == pytest.approx(3 * (potential(one) - nothing), rel=1e-12)


@examples(25)
@given(
    weights=st.lists(st.floats(0, 5), min_size=5, max_size=5),
    mean=st.floats(-3, 3),
    log_sigma=st.floats(-2, 2),
)
def test_any_weights_anywhere_against_a_transcription(weights, mean, log_sigma):
    value = potential(weights, place={"mean": mean, "sigma": log_sigma})
    assert value == pytest.approx(by_hand(weights, mean=mean, log_sigma=log_sigma), rel=1e-12, abs=1e-12)


def test_a_factor_with_one_term_per_record_is_weighted():
    def model(x, y):
        mean, sigma = numpyro.sample("mean", dist.Normal(0, 2)), numpyro.sample("sigma", dist.HalfNormal(3))
        numpyro.factor("y", dist.Normal(mean * x, sigma).log_prob(y))

    weights = np.array([0.2, 0, 1, 0.7, 2])
    assert potential(weights, model=model) == close(by_hand(weights))
    y = Y.copy()
    y[1] = np.nan
    with numpyro.validation_enabled(False):
        assert potential(weights, y=y, model=model) == close(by_hand(weights, y=np.nan_to_num(y)))


def test_a_scale_within_the_model_is_kept():
    def model(x, y):
        with numpyro.handlers.scale(scale=0.5):
            regression(x, y)

    weights = np.array([0.2, 0, 1, 0.7, 2])
    assert potential(weights, model=model) == close(0.5 * by_hand(weights))


def in_one_event(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    numpyro.sample("wealth", dist.Normal(mean * x, 1).to_event(1), obs=y)


def without_plate(x, y):
    del x
    numpyro.sample("wealth", dist.Normal(numpyro.sample("mean", dist.Normal(0, 2)), 1), obs=y)


def in_two_plates(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    with numpyro.plate("records", len(x)), numpyro.plate("sides", 2):
        numpyro.sample("wealth", dist.Normal(mean * x, 1), obs=jnp.stack([y, y]))


def with_factor(x, y):
    regression(x, y)
    numpyro.factor("wealth", jnp.asarray(-1.0))


@pytest.mark.parametrize("model", [in_one_event, without_plate, in_two_plates, with_factor])
def test_a_likelihood_that_is_not_one_term_per_record_is_refused(model):
    with pytest.raises(InputError, match=r"model: the observed site 'wealth' .* plate over the records") as caught:
        potential(np.ones(5), model=model)
    assert "(5,)" in str(caught.value)
    assert ".to_event" in str(caught.value)


@pytest.mark.parametrize("number", [1, 4, 6])
def test_another_number_of_weights_is_refused(number):
    with pytest.raises(InputError, match=rf"'y' has terms of shape \(5,\), not one per record \({number},\)"):
        potential(np.ones(number))


def test_a_fit_refuses_such_a_model_before_it_samples():
    def model(age, pay=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        numpyro.sample("pay", dist.Normal(slope * age, 1).to_event(1), obs=pay)

    with pytest.raises(InputError, match="'pay' has terms of shape"):
        quick_fit(Synthesizer(model, ("pay",)), PEOPLE)
