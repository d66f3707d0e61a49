"""Poisson regression for counts.

    y ~ Poisson(exp(x beta)),  beta_0 ~ N(0, 5^2),  the other beta ~ N(0, 1)

Numeric predictors have standard deviation 1, so that a coefficient of 1 multiplies the mean by 2.7.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import gammainc, gammaincc

from molehill.models.amounts import Support
from molehill.models.counts import check_count_support, draw_truncated_count, largest_count, learn_counts, start_counts
from molehill.synthesis.design import spread_rows
from molehill.synthesis.synthesizer import Draw, Inputs, Prediction, Synthesizer
from molehill.tables.schema import Kind


def poisson(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Synthesizer:
    """Replace a column of counts by draws from a Poisson regression with logarithmic link.

    Parameters
    ----------
    column
        The sensitive column: whole numbers from 0 up.
    predictors, breaks, kinds
        What the model conditions on: see `molehill.synthesis.design.learn_design`.
    lower, upper
        The smallest and the largest count that may appear, for instance from a codebook; never the confidential
        extremes. Counts are drawn from the predictive distribution truncated to them.

    Examples
    --------
    >>> poisson("children", ["age", "region"], upper=20).sensitive
    ('children',)
    """
    support = check_count_support(lower, upper)
    return Synthesizer(
        model=_model,
        sensitive=(column,),
        name="poisson",
        words="a Poisson regression",
        predict=partial(_predict, column=column, support=support),
        learn=partial(learn_counts, column, predictors, support=support, breaks=breaks, kinds=kinds),
        start=_start,
        functionals=_functionals,
    )


def _model(design: Any, outcome: Any = None) -> None:
    scale = jnp.ones(design.shape[1]).at[0].set(5.0)
    beta = numpyro.sample("beta", dist.Normal(0.0, scale).to_event(1))
    with numpyro.plate("records", design.shape[0]):
        numpyro.sample("outcome", dist.Poisson(jnp.exp(design @ beta)), obs=outcome)


def _predict(key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, support: Support) -> Prediction:
    rate = largest_count(jnp.exp(inputs["design"] @ draw["beta"]))

    def sample(key: jax.Array) -> jax.Array:
        return jax.random.poisson(key, rate).astype(rate.dtype)

    def tail(count: Any, above: Any) -> jax.Array:
        return jnp.where(above, gammainc(count + 1.0, rate), gammaincc(count + 1.0, rate))

    values, outside = draw_truncated_count(key, sample, tail, support)
    return Prediction({column: values}, outside)


def _start(key: jax.Array, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    return {"beta": start_counts(key, inputs, weights)}


def _functionals(draw: Draw, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    mean = jnp.exp(inputs["design"] @ draw["beta"])
    each = dist.Poisson(mean).log_prob(jnp.asarray(inputs["outcome"]))
    watched = mean[spread_rows(mean.shape[0])]
    return {
        "predictive_mean": watched,
        "predictive_variance": watched,
        "weighted_loglik": jnp.sum(jnp.where(weights > 0, weights * each, 0.0))[None],
    }
