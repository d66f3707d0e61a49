"""Normal linear regression, on the values themselves or on their logarithms.

The outcome is standardized for the priors, and transformed back when predicting:

    y = centre + scale * (x beta + sigma e),  e ~ N(0, 1),  beta ~ N(0, prior_scale^2),  sigma ~ half-t(3, 0, 1)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr, ndtr, ndtri
from jax.scipy.stats import norm

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice
from molehill.models.amounts import check_support, learn_amount, observe_amount
from molehill.synthesis.design import learn_design, spread_rows
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Learned, Prediction, Synthesizer
from molehill.synthesis.transforms import TRANSFORMS, Support, Transform, restore, transformed_support
from molehill.tables.schema import Kind
from molehill.tables.table import Table


def normal_linear(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    transform: Transform = "identity",
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    prior_scale: float = 2.5,
) -> Synthesizer:
    """Synthesize a numeric variable by a normal linear regression.

    Parameters
    ----------
    column
        The sensitive variable.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`.
    transform
        "identity", "log" for positive values, or "signed": sign(y) log(1 + |y|).
    lower, upper
        Value range in the units of the data, for example from a codebook; never the confidential extremes. Values are
        drawn from the predictive distribution truncated to it.
    prior_scale
        Prior standard deviation of every coefficient, on the standardized scale.

    Examples
    --------
    >>> normal_linear("income", "age + region", transform="log", upper=1_000_000).sensitive
    ('income',)
    """
    check_choice("transform", transform, TRANSFORMS)
    support = check_support(lower, upper)
    transformed_support(support, transform)
    if isinstance(prior_scale, bool) or not 0 < prior_scale < np.inf:
        raise InputError("prior_scale", "it must be a positive number", "Use, for example, 2.5")

    def learn(table: Table, weights: Floats) -> Learned:
        outcome, counted, facts = learn_amount(table, weights, column, transform, support)
        design = learn_design(
            table, predictors, sensitive=column, breaks=breaks, kinds=kinds, outcome=np.where(counted, outcome, np.nan)
        )
        inputs = {"design": design.matrix, "outcome": outcome, "centre": facts["centre"], "scale": facts["scale"]}
        return Learned(
            inputs,
            {**facts, "design": design.facts},
            again=design.again,
            observed=partial(observe_amount, facts=facts),
        )

    return Synthesizer(
        model=partial(_model, prior_scale=prior_scale),
        sensitive=(column,),
        name="normal_linear",
        words="a normal linear regression",
        predict=partial(_predict, column=column, transform=transform, support=support),
        learn=learn,
        start=partial(_start, prior_scale=prior_scale),
        functionals=_functionals,
        engine=partial(model_engine, collapse=_collapse),
    )


def _model(design: Any, outcome: Any = None, centre: Any = 0.0, scale: Any = 1.0, *, prior_scale: float = 2.5) -> None:
    del centre, scale  # Used by predictions only.
    beta = numpyro.sample("beta", dist.Normal(0.0, prior_scale).expand([design.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.FoldedDistribution(dist.StudentT(3.0)))
    with numpyro.plate("records", design.shape[0]):
        numpyro.sample("outcome", dist.Normal(design @ beta, sigma), obs=outcome)


def _predict(
    key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, transform: Transform, support: Support
) -> Prediction:
    mean = inputs["design"] @ draw["beta"]
    low, high = ((end - inputs["centre"]) / inputs["scale"] for end in transformed_support(support, transform))
    noise, outside = draw_truncated_normal(key, (low - mean) / draw["sigma"], (high - mean) / draw["sigma"])
    values = restore(inputs["centre"] + inputs["scale"] * (mean + draw["sigma"] * noise), transform)
    # Rounding errors must not leave the support.
    return Prediction({column: jnp.clip(values, *support)}, jnp.mean(outside))


def _start(key: jax.Array, inputs: Inputs, weights: jax.Array, *, prior_scale: float) -> dict[str, jax.Array]:
    """Weighted least squares under the prior, jittered."""
    design, outcome = jnp.asarray(inputs["design"]), jnp.asarray(inputs["outcome"])
    weighted = design * weights[:, None]
    precision = design.T @ weighted + jnp.eye(design.shape[1]) / prior_scale**2
    beta = jnp.linalg.solve(precision, weighted.T @ outcome)
    squares = jnp.sum(weights * (outcome - design @ beta) ** 2)
    sigma = jnp.sqrt((squares + 1.0) / (jnp.sum(weights) + 1.0))
    jitter = 0.05 * jax.random.normal(key, (design.shape[1] + 1,))
    return {"beta": beta + jitter[1:], "sigma": sigma * jnp.exp(jitter[0])}


def _collapse(data: Data) -> Data:
    """Sufficient pseudo-records, one more than the design has columns.

    The likelihood depends on the records through their number and cross products, which a weighted QR decomposition
    preserves. All rows have the same weight, and the sum of weights is unchanged.
    """
    weights = np.asarray(data.weights, dtype=np.float64)
    both = np.column_stack([np.asarray(data.inputs[name]) for name in ("design", "outcome")])
    rows: Any = np.linalg.qr(both * np.sqrt(weights)[:, None], mode="r")
    each = weights.sum() / len(rows)
    design, outcome = rows[:, :-1] / np.sqrt(each), rows[:, -1] / np.sqrt(each)
    return Data({**data.inputs, "design": design, "outcome": outcome}, np.full(len(rows), each))


def _functionals(
    draw: Draw, inputs: Inputs, weights: jax.Array, *, likelihood: jax.Array | None = None
) -> dict[str, jax.Array]:
    design = inputs["design"]
    if likelihood is None:
        each = norm.logpdf(inputs["outcome"], design @ draw["beta"], draw["sigma"])
        likelihood = jnp.sum(jnp.where(weights > 0, weights * each, 0.0))
    watched = design[spread_rows(design.shape[0])] @ draw["beta"]
    return {
        "predictive_mean": watched,
        "predictive_variance": jnp.full_like(watched, draw["sigma"] ** 2),
        "weighted_loglik": likelihood[None],
    }


def draw_truncated_normal(key: jax.Array, low: jax.Array, high: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Draw standard normal values between `low` and `high` (which may be infinite); also return the truncated mass."""
    share = jax.random.uniform(key, low.shape, low.dtype, minval=jnp.finfo(low.dtype).tiny)
    return truncated_normal(share, low, high), ndtr(low) + ndtr(-high)


def truncated_normal(share: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Quantile function of the standard normal distribution truncated to `low` and `high`.

    Computed in the lower tail, into which an interval above zero is mirrored (`share` is then an upper tail
    probability); where that underflows, by inverting the log of the distribution function.
    """
    mirrored = low > 0
    left, right = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    tiny = jnp.finfo(left.dtype).tiny
    below, upto = ndtr(left), ndtr(right)
    drawn = ndtri(jnp.maximum(below + share * (upto - below), tiny))
    # Newton steps for underflowing probabilities: the slope of log_ndtr is -x - 1/x up to terms in x^-3.
    deep = jnp.where(upto < tiny * 1e10, right, -40.0)
    ratio = jnp.exp(log_ndtr(jnp.minimum(left, deep)) - log_ndtr(deep))
    target = log_ndtr(deep) + jnp.log(share + (1 - share) * ratio)
    far = -jnp.sqrt(-2.0 * target)
    for _ in range(4):
        far += (log_ndtr(far) - target) / (far + 1.0 / far)
    drawn = jnp.clip(jnp.where(upto < tiny * 1e10, far, drawn), left, right)
    return jnp.where(mirrored, -drawn, drawn)
