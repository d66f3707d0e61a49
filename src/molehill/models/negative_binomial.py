"""Negative binomial regression: the synthesizer of the paper's simulation study, with its authors' priors.

y ~ NB(mean exp(x beta), size phi),  so that the variance is mean + mean^2 / phi
beta ~ N(0, diag(D) Omega diag(D)),  D ~ half-t(3, 0, 1),  Omega ~ LKJ(6),  1/phi ~ half-Cauchy(0, 5)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import betainc

from molehill.design import spread_rows
from molehill.models.amounts import Support
from molehill.models.poisson import (
    check_count_support,
    draw_truncated_count,
    largest_count,
    learn_counts,
    start_counts,
)
from molehill.schema import Kind
from molehill.synthesizer import Draw, Inputs, Prediction, Synthesizer


def negative_binomial(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Synthesizer:
    """Replace a column of counts by draws from a negative binomial regression with logarithmic link.

    Its draws have the sites `beta`, `phi`, `inverse_phi`, `D`, and with predictors `Omega_cholesky`.

    Parameters
    ----------
    column
        The sensitive column: whole numbers from 0 up.
    predictors, breaks, kinds
        What the model conditions on: see `molehill.design.learn_design`.
    lower, upper
        The smallest and the largest count that may appear, for instance from a codebook; never the confidential
        extremes. Counts are drawn from the predictive distribution truncated to them.

    References
    ----------
    Hu, Savitsky and Williams, Risk-efficient Bayesian data synthesis for privacy protection.

    Examples
    --------
    >>> negative_binomial("employees", "region + industry").sensitive
    ('employees',)
    """
    support = check_count_support(lower, upper)
    return Synthesizer(
        model=_model,
        sensitive=(column,),
        predict=partial(_predict, column=column, support=support),
        learn=partial(learn_counts, column, predictors, support=support, breaks=breaks, kinds=kinds),
        start=_start,
        functionals=_functionals,
    )


def _model(design: Any, outcome: Any = None) -> None:
    count, size = design.shape
    spread = numpyro.sample("D", dist.FoldedDistribution(dist.StudentT(3.0)).expand([size]).to_event(1))
    factor = jnp.diag(spread)
    if size > 1:
        factor @= numpyro.sample("Omega_cholesky", dist.LKJCholesky(size, 6.0))
    beta = numpyro.sample("beta", dist.MultivariateNormal(jnp.zeros(size), scale_tril=factor))
    inverse = numpyro.sample("inverse_phi", dist.HalfCauchy(5.0))
    numpyro.deterministic("phi", 1.0 / inverse)
    with numpyro.plate("records", count):
        numpyro.sample("outcome", _counts(design @ beta, inverse), obs=outcome)


def _counts(predictor: Any, inverse: Any) -> dist.Distribution:
    return dist.NegativeBinomialLogits(1.0 / inverse, predictor + jnp.log(inverse))


def _predict(key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, support: Support) -> Prediction:
    predictor, inverse = inputs["design"] @ draw["beta"], draw["inverse_phi"]
    phi, logit = 1.0 / inverse, predictor + jnp.log(inverse)
    success, failure = jax.nn.sigmoid(-logit), jax.nn.sigmoid(logit)

    def sample(key: jax.Array) -> jax.Array:
        of_rate, of_count = jax.random.split(key)
        rate = largest_count(jax.random.gamma(of_rate, phi, predictor.shape) * largest_count(jnp.exp(logit)))
        return jax.random.poisson(of_count, rate).astype(rate.dtype)

    def tail(count: Any, above: Any) -> jax.Array:
        more = count + 1.0
        first, second = jnp.where(above, more, phi), jnp.where(above, phi, more)
        return betainc(first, second, jnp.where(above, failure, success))

    values, outside = draw_truncated_count(key, sample, tail, support)
    return Prediction({column: values}, outside)


def _start(key: jax.Array, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    """The weighted mean and the dispersion of the weighted variance, jittered."""
    of_beta, of_phi = jax.random.split(key)
    total, outcome = jnp.sum(weights) + 1.0, inputs["outcome"]
    mean = (jnp.sum(weights * outcome) + 1.0) / total
    excess = jnp.sum(weights * (outcome - mean) ** 2) / total - mean
    inverse = jnp.clip(excess / mean**2, 0.01, 10.0) * jnp.exp(0.05 * jax.random.normal(of_phi))
    size = inputs["design"].shape[1]
    values = {"beta": start_counts(of_beta, inputs, weights), "inverse_phi": inverse, "D": jnp.ones(size)}
    return values if size == 1 else {**values, "Omega_cholesky": jnp.eye(size)}


def _functionals(draw: Draw, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    predictor = inputs["design"] @ draw["beta"]
    each = _counts(predictor, draw["inverse_phi"]).log_prob(jnp.asarray(inputs["outcome"]))
    mean = jnp.exp(predictor[spread_rows(predictor.shape[0])])
    return {
        "predictive_mean": mean,
        "predictive_variance": mean + mean**2 * draw["inverse_phi"],
        "weighted_loglik": jnp.sum(jnp.where(weights > 0, weights * each, 0.0))[None],
    }
