"""Normal linear regression, on the values themselves or on their logarithms.

The outcome is centred and scaled to standard deviation 1 before the priors see it, and brought back when predicting:

    y = centre + scale * (x beta + sigma e),  e ~ N(0, 1),  beta ~ N(0, prior_scale^2),  sigma ~ half-t(3, 0, 1)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr, ndtr, ndtri
from jax.scipy.stats import norm
from numpy.typing import NDArray

from molehill.arguments import check_choice
from molehill.design import learn_design, spread_rows
from molehill.errors import InputError
from molehill.frames import Table
from molehill.schema import Kind, column_numbers, find_columns
from molehill.synthesizer import Draw, Inputs, Learned, Prediction, Synthesizer

Transform = Literal["identity", "log"]
Support = tuple[float, float]


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
    """Replace a numeric column by draws from a normal linear regression.

    Parameters
    ----------
    column
        The sensitive column.
    predictors, breaks, kinds
        What the model conditions on: see `molehill.design.learn_design`.
    transform
        "identity", or "log" for positive values: the regression is then of their logarithms.
    lower, upper
        The public support in the units of the data, for instance from a codebook; never the confidential extremes.
        Values are drawn from the predictive distribution truncated to it.
    prior_scale
        The standard deviation of the prior of every coefficient, for an outcome of standard deviation 1.

    Examples
    --------
    >>> normal_linear("income", "age + region", transform="log", upper=1_000_000).sensitive
    ('income',)
    """
    check_choice("transform", transform, ("identity", "log"))
    support = check_support(lower, upper)
    if transform == "log" and support[1] <= 0:
        raise InputError("upper", "it is not positive, but logarithms are asked for", "Give a positive one, or none")
    if isinstance(prior_scale, bool) or not 0 < prior_scale < np.inf:
        raise InputError("prior_scale", "it must be a positive number", "2.5 is weakly informative")

    def learn(table: Table) -> Learned:
        outcome, facts = learn_amount(table, column, transform, support)
        design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=kinds)
        inputs = {"design": design.matrix, "outcome": outcome, "centre": facts["centre"], "scale": facts["scale"]}
        return Learned(inputs, {**facts, "design": design.facts})

    return Synthesizer(
        model=partial(_model, prior_scale=prior_scale),
        sensitive=(column,),
        predict=partial(_predict, column=column, transform=transform, support=support),
        learn=learn,
        start=partial(_start, prior_scale=prior_scale),
        functionals=_functionals,
    )


def _model(design: Any, outcome: Any = None, centre: Any = 0.0, scale: Any = 1.0, *, prior_scale: float = 2.5) -> None:
    del centre, scale  # Only predictions are in the units of the data.
    beta = numpyro.sample("beta", dist.Normal(0.0, prior_scale).expand([design.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.FoldedDistribution(dist.StudentT(3.0)))
    with numpyro.plate("records", design.shape[0]):
        numpyro.sample("outcome", dist.Normal(design @ beta, sigma), obs=outcome)


def _predict(
    key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, transform: Transform, support: Support
) -> Prediction:
    mean = inputs["design"] @ draw["beta"]
    low, high = (_standardised(end, inputs, transform) for end in support)
    noise, outside = draw_truncated_normal(key, (low - mean) / draw["sigma"], (high - mean) / draw["sigma"])
    values = inputs["centre"] + inputs["scale"] * (mean + draw["sigma"] * noise)
    values = jnp.exp(values) if transform == "log" else values
    # Rounding on the way back must not step over the support.
    return Prediction({column: jnp.clip(values, *support)}, jnp.mean(outside))


def _standardised(end: float, inputs: Inputs, transform: Transform) -> jax.Array:
    if transform == "log":
        end = np.log(end) if end > 0 else -np.inf
    return (end - inputs["centre"]) / inputs["scale"]


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


def _functionals(draw: Draw, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    mean = inputs["design"] @ draw["beta"]
    each = norm.logpdf(inputs["outcome"], mean, draw["sigma"])
    watched = mean[spread_rows(mean.shape[0])]
    return {
        "predictive_mean": watched,
        "predictive_variance": jnp.full_like(watched, draw["sigma"] ** 2),
        "weighted_loglik": jnp.sum(jnp.where(weights > 0, weights * each, 0.0))[None],
    }


def check_support(lower: float | None, upper: float | None) -> Support:
    """Accept ends of the public support, none of which need be given."""
    for argument, end in (("lower", lower), ("upper", upper)):
        if end is not None and (isinstance(end, bool | str) or np.isnan(end)):
            raise InputError(argument, "it must be a number", "Give a number in the units of the data, or None")
    low, high = -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)
    if low >= high:
        raise InputError("lower", "it is not below upper", "Give the smallest and the largest value that may appear")
    return low, high


def learn_amount(
    table: Table, column: str, transform: Transform, support: Support
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Give the transformed and standardised values of a numeric column, 0 where missing, and how they were made."""
    values = find_amounts(table, column)
    facts = {"column": column, "transform": transform, "support": support}
    facts["records_outside"] = int(((values < support[0]) | (values > support[1])).sum())
    if transform == "log":
        refused = np.flatnonzero(values <= 0)
        if len(refused):
            problem = f"{column!r} is not positive in {len(refused):,} record(s), first in record {refused[0]}"
            remedy = "Choose transform='identity', or a synthesizer for zeros and losses"
            raise InputError("transform", f"{problem} (counting from 0)", remedy)
        values = np.log(values)
    present = values[~np.isnan(values)]
    if present.min() == present.max():
        raise InputError("column", f"{column!r} is the same for every record", "Release it as it is")
    centre, scale = float(present.mean()), float(present.std())
    return np.nan_to_num((values - centre) / scale), {**facts, "centre": centre, "scale": scale}


def find_amounts(table: Table, column: str) -> NDArray[np.float64]:
    """Give the values of a numeric column that the table must have, NaN where missing, finite elsewhere."""
    find_columns(table, [column], "column")
    values = column_numbers(table, column)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        problem = f"the column {column!r} is infinite in record {infinite[0]} (counting from 0)"
        raise InputError("data", problem, "Correct it, or make it missing")
    if np.isnan(values).all():
        raise InputError("column", f"{column!r} is missing in every record", "Choose a column with values")
    return values


def draw_truncated_normal(key: jax.Array, low: jax.Array, high: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Draw standard normal values between `low` and `high` (which may be infinite), and give the mass cut off.

    By the inverse of the distribution function in the lower tail, into which an interval above zero is mirrored;
    where even that mass is too small for a floating number, by the inverse of its logarithm.
    """
    mirrored = low > 0
    left, right = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    tiny = jnp.finfo(left.dtype).tiny
    share = jax.random.uniform(key, left.shape, left.dtype, minval=tiny)
    below, upto = ndtr(left), ndtr(right)
    drawn = ndtri(jnp.maximum(below + share * (upto - below), tiny))
    # Beyond the floating range. There the slope of log_ndtr is -x - 1/x but for terms in x^-3, so that
    # Newton's steps gain six digits each.
    deep = jnp.where(upto < tiny * 1e10, right, -40.0)
    ratio = jnp.exp(log_ndtr(jnp.minimum(left, deep)) - log_ndtr(deep))
    target = log_ndtr(deep) + jnp.log(share + (1 - share) * ratio)
    far = -jnp.sqrt(-2.0 * target)
    for _ in range(4):
        far += (log_ndtr(far) - target) / (far + 1.0 / far)
    drawn = jnp.clip(jnp.where(upto < tiny * 1e10, far, drawn), left, right)
    return jnp.where(mirrored, -drawn, drawn), ndtr(low) + ndtr(-high)
