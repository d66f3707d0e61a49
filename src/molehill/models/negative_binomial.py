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
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import betainc

from molehill.models.amounts import Support
from molehill.models.counts import check_count_support, draw_truncated_count, largest_count, learn_counts, start_counts
from molehill.synthesis.design import WIDEST_CORRELATED, spread_rows
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Draw, Inputs, Prediction, Synthesizer
from molehill.tables.schema import Kind


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
        What the model conditions on: see `molehill.synthesis.design.learn_design`.
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
        name="negative_binomial",
        words="a negative binomial regression",
        predict=partial(_predict, column=column, support=support),
        learn=partial(
            learn_counts,
            column,
            predictors,
            support=support,
            breaks=breaks,
            kinds=kinds,
            widest=WIDEST_CORRELATED,
        ),
        start=_start,
        functionals=_functionals,
        engine=partial(model_engine, accept=0.95, moved=_moved_model, move=_moved_sites),
    )


def _model(design: Any, outcome: Any = None) -> None:
    factor = _prior_factor(design.shape[1])
    beta = numpyro.sample("beta", dist.MultivariateNormal(jnp.zeros(design.shape[1]), scale_tril=factor))
    _observe(design, outcome, beta)


def _moved_model(design: Any, outcome: Any = None) -> None:
    """The same model in the coordinates z: beta itself where the data rule, its prior where they say little of it.

    With F the factor of D Omega D, X the design and R R' = I + F' X' X F, it is beta = F R'^-1 z. A coefficient and its
    D form a funnel, which neither beta nor F^-1 beta alone gets into and out of.
    """
    size = design.shape[1]
    factor = _prior_factor(size)
    root = _moving_root(design, factor)
    z = numpyro.sample("z", dist.MultivariateNormal(jnp.zeros(size), covariance_matrix=root.T @ root))
    beta = numpyro.deterministic("beta", factor @ solve_triangular(root.T, z, lower=False))
    _observe(design, outcome, beta)


def _moved_sites(sites: Draw, inputs: Inputs) -> dict[str, jax.Array]:
    """Sites of the model as those of the moved one."""
    factor = jnp.diag(sites["D"]) @ sites.get("Omega_cholesky", jnp.eye(len(sites["D"])))
    z = _moving_root(inputs["design"], factor).T @ solve_triangular(factor, sites["beta"], lower=True)
    return {name: value for name, value in sites.items() if name != "beta"} | {"z": z}


def _moving_root(design: Any, factor: Any) -> jax.Array:
    return jnp.linalg.cholesky(jnp.eye(design.shape[1]) + factor.T @ (design.T @ design) @ factor)


def _prior_factor(size: int) -> jax.Array:
    spread = numpyro.sample("D", dist.FoldedDistribution(dist.StudentT(3.0)).expand([size]).to_event(1))
    factor = jnp.diag(spread)
    if size > 1:
        factor @= numpyro.sample("Omega_cholesky", dist.LKJCholesky(size, 6.0))
    return factor


def _observe(design: Any, outcome: Any, beta: Any) -> None:
    inverse = numpyro.sample("inverse_phi", dist.HalfCauchy(5.0))
    numpyro.deterministic("phi", 1.0 / inverse)
    with numpyro.plate("records", design.shape[0]):
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
