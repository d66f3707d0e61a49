"""The paper's synthesizer of a skewed amount: a truncated Dirichlet process (TDP) mixture of normal regressions.

    y_i | z_i = k ~ N(x_i beta_k, sigma_k^2),  z_i ~ pi,  pi ~ Dirichlet(gamma / K, ...),  gamma ~ Gamma(1, 1)
    beta_k ~ MVN(0, D Omega D),  Omega ~ LKJ(1),  D and sigma_k half-normal(0, 1) or, as in the paper, half-t(3, 0, 1)

The amount is transformed and standardized first, so that these priors are weakly informative and small weights shrink
towards the mean of the data. z is marginalized when fitting: a record's weight is the power of the whole sum. Hu,
Savitsky and Williams, supplement, section 1.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import log_ndtr, logsumexp, ndtr
from jax.scipy.stats import norm

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice, is_whole
from molehill.models.amounts import check_support, learn_amount, observe_amount
from molehill.models.linear import draw_truncated_normal
from molehill.models.tdp_engine import Priors, tdp_engine
from molehill.synthesis.design import WIDEST_CORRELATED, learn_design, spread_rows
from molehill.synthesis.sampling.chains import Engine
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Learned, Prediction, Synthesizer
from molehill.synthesis.transforms import (
    TRANSFORMS,
    Support,
    Transform,
    apply_transform,
    restore,
    transformed_support,
)
from molehill.tables.schema import Kind
from molehill.tables.table import Table

# Numbers of components that "auto" tries.
LADDER = (10, 5, 4, 3, 2)
# Records at which the predictive distribution is monitored, and relative radius of the monitored share of close values.
MANY_ROWS, CLOSE = 200, 0.2
# Tail probabilities of the quantiles beyond which the predictive mass is monitored.
TAILS = (0.001, 0.01)
# Modes of the posterior count as equivalent if predictive means differ by at most 0.05 standard deviations, variances
# by a tenth, shares of all records by 0.5 percentage points, and log tail probabilities by 0.25.
TOLERANCES = {
    "predictive_mean": 0.05,
    "predictive_variance": 0.1,
    "distribution": 0.005,
    "share_close": 0.005,
    "tails": 0.25,
    "weighted_loglik": np.inf,
}

Membership = Literal["posterior", "prior"]


def tdp_mixture(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    components: int | Literal["auto"] = "auto",
    component_draw: Membership = "prior",
    transform: Transform = "log",
    priors: Priors = "weak",
    standardize: bool = True,
    least_sigma: float | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Synthesizer:
    """Synthesize an amount by a mixture of regressions.

    Parameters
    ----------
    column
        The sensitive variable.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`.
    components
        K; "auto" for the largest of 10, 5, 4, 3 and 2 whose chains converge.
    component_draw
        "prior" draws a record's component from pi, so that the new value depends on the confidential one through the
        parameters only; "posterior", as in the paper, draws it given the confidential value: higher risk, no more
        utility.
    transform
        "log" or "root" (the sixth) for positive amounts, "identity", or "signed": sign(y) log(1 + |y|).
    priors
        "weak", half-normal(0, 1) for sigma and D on the standardized scale, or "paper", half-t(3, 0, 1), with which
        nearly empty components can release implausible values if weights are small.
    standardize
        Whether to standardize the outcome by its weighted moments; if not, as in the paper's supplement, small weights
        shrink towards one dollar.
    least_sigma
        Minimum standard deviation of a component on the standardized scale; by default 0.1 with "weak" priors, 0 with
        "paper". Without it a component can collapse onto a round amount that many records report, where the likelihood
        is unbounded.
    lower, upper
        Value range in the units of the data, for example from a codebook; never the confidential extremes. Values are
        drawn from the predictive distribution truncated to it.

    Examples
    --------
    >>> tdp_mixture("income", ["age", "education"], component_draw="prior", upper=2_000_000).sensitive
    ('income',)
    """
    check_choice("component_draw", component_draw, ("posterior", "prior"))
    check_choice("transform", transform, TRANSFORMS)
    check_choice("priors", priors, ("weak", "paper"))
    support = check_support(lower, upper)
    if components != "auto" and not is_whole(components, 1):
        raise InputError("components", "it must be a whole number, 1 or larger, or 'auto'", "Omit it for 'auto'")
    least = least_sigma if least_sigma is not None else 0.1 if priors == "weak" else 0.0
    if isinstance(least, bool) or not 0 <= least < 1:
        raise InputError("least_sigma", "it must be from 0 to below 1", "Use, for example, 0.1")
    shape: dict[str, Any] = {"priors": priors, "least_sigma": float(least)}

    def learn(table: Table, weights: Floats) -> Learned:
        outcome, counted, facts = learn_amount(table, weights, column, transform, support, standardize=standardize)
        design = learn_design(
            table,
            predictors,
            sensitive=column,
            breaks=breaks,
            kinds=kinds,
            outcome=np.where(counted, outcome, np.nan),
            widest=WIDEST_CORRELATED,
        )
        inputs = {
            "design": design.matrix,
            "outcome": outcome,
            "present": table.frame[column].notna().to_numpy(),
            "centre": facts["centre"],
            "scale": facts["scale"],
            "tail_ends": np.quantile(outcome[counted], [*TAILS, *(1 - share for share in TAILS)]),
        }
        return Learned(
            inputs,
            {**facts, "design": design.facts},
            again=design.again,
            observed=partial(observe_amount, facts=facts),
        )

    made: Synthesizer | None = None
    for number in LADDER[::-1] if components == "auto" else (components,):
        own = {**shape, "components": number}
        made = Synthesizer(
            model=partial(mixture_model, **own),
            sensitive=(column,),
            name="tdp_mixture",
            words="a mixture of regressions",
            options={"component_draw": component_draw},
            predict=partial(predict_mixture, column=column, transform=transform, support=support),
            learn=learn,
            functionals=partial(mixture_functionals, transform=transform),
            engine=partial(mixture_engine, transform=transform, **own),
            tolerances=TOLERANCES,
            variant=f"{number} component{'s' if number > 1 else ''}",
            simpler=made,
            identified=False,
        )
    assert made is not None
    return made


def mixture_model(
    design: Any,
    outcome: Any = None,
    present: Any = None,
    centre: Any = 0.0,
    scale: Any = 1.0,
    tail_ends: Any = None,
    *,
    components: int = 10,
    priors: Priors = "weak",
    least_sigma: float = 0.1,
) -> None:
    """The NumPyro model, with z marginalized."""
    del present, centre, scale, tail_ends  # Used by predictions and functionals only.
    size = design.shape[1]
    gamma = numpyro.sample("gamma", dist.Gamma(1.0, 1.0))
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.full(components, gamma / components)))
    tau: Any = numpyro.sample("tau", _upper_half(0.0, priors).expand([size]).to_event(1))
    omega = numpyro.sample("omega", dist.LKJCholesky(size, 1.0)) if size > 1 else jnp.ones((1, 1))
    with numpyro.plate("components", components):
        beta: Any = numpyro.sample("beta", dist.MultivariateNormal(jnp.zeros(size), scale_tril=tau[:, None] * omega))
        sigma = numpyro.sample("sigma", _upper_half(least_sigma, priors))
    with numpyro.plate("records", design.shape[0]):
        mixture = dist.MixtureSameFamily(dist.CategoricalProbs(pi), dist.Normal(design @ beta.T, sigma))
        numpyro.sample("outcome", mixture, obs=outcome)


def _upper_half(least: float, priors: Priors) -> dist.Distribution:
    """The upper half of a normal or a t(3) of scale 1 around `least`."""
    whole = dist.Normal(least, 1.0) if priors == "weak" else dist.StudentT(3.0, least, 1.0)
    return dist.TruncatedDistribution(whole, low=least)


def mixture_engine(
    synthesizer: Synthesizer,
    data: Data,
    *,
    components: int,
    priors: Priors,
    least_sigma: float,
    transform: Transform,
    **lengths: int,
) -> Engine:
    """The specialized sampler; `engine="nuts"` uses NUTS instead."""
    del synthesizer
    # Started from another posterior, only the step size needs tuning.
    lengths = {"warmup": 100 if data.start else 200} | lengths

    def report(sites: Draw, inputs: Inputs, likelihood: jax.Array) -> dict[str, jax.Array]:
        return mixture_functionals(sites, inputs, inputs["weights"], transform=transform, likelihood=likelihood)

    return tdp_engine(report, components=components, priors=priors, least_sigma=least_sigma, **lengths)


def mixture_functionals(
    draw: Draw,
    inputs: Inputs,
    weights: jax.Array,
    *,
    transform: Transform = "log",
    likelihood: jax.Array | None = None,
) -> dict[str, jax.Array]:
    """Label-invariant functionals on which released datasets depend, and the weighted log-likelihood.

    Predictive mean and variance at evenly spaced records; the predictive distribution averaged over many records, at
    the values of these; its mass in the tails; and the share of new values close to the confidential ones.
    """
    records = inputs["design"].shape[0]
    rows, many = spread_rows(records), spread_rows(records, MANY_ROWS)
    mean, variance = mixture_moments(draw, inputs["design"][rows])
    if likelihood is None:
        each = logsumexp(_component_logs(draw, inputs), axis=1)
        likelihood = jnp.sum(jnp.where(weights > 0, weights * each, 0.0))
    centres = inputs["design"][many] @ draw["beta"].T

    def below(ends: jax.Array) -> jax.Array:
        return ndtr((ends[..., None] - centres) / draw["sigma"]) @ draw["pi"]

    counted = weights[many] > 0
    value = restore(inputs["centre"] + inputs["scale"] * inputs["outcome"][many], transform)
    ends = [apply_transform(value + side * CLOSE * jnp.abs(value), transform) for side in (-1, 1)]
    low, high = (below((end - inputs["centre"]) / inputs["scale"]) for end in ends)
    sides = zip(inputs["tail_ends"], [1.0] * len(TAILS) + [-1.0] * len(TAILS), strict=True)
    beyond = [(ndtr(side * (end - centres) / draw["sigma"]) @ draw["pi"]).mean() for end, side in sides]
    return {
        "predictive_mean": mean,
        "predictive_variance": variance,
        "distribution": below(inputs["outcome"][rows][:, None]).mean(axis=1),
        "tails": jnp.log(jnp.maximum(jnp.stack(beyond), 1e-12)),
        "share_close": (jnp.sum(jnp.where(counted, high - low, 0.0)) / jnp.maximum(counted.sum(), 1))[None],
        "weighted_loglik": likelihood[None],
    }


def mixture_moments(draw: Draw, design: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of the mixture at the rows of a design, on the standardized scale."""
    centres = design @ draw["beta"].T
    mean = centres @ draw["pi"]
    return mean, (centres**2 + draw["sigma"] ** 2) @ draw["pi"] - mean**2


def _component_logs(draw: Draw, inputs: Inputs) -> jax.Array:
    """Log of pi_k N(y_i; x_i beta_k, sigma_k), (records, components)."""
    logs = norm.logpdf(inputs["outcome"][:, None], inputs["design"] @ draw["beta"].T, draw["sigma"])
    return jnp.log(jnp.maximum(draw["pi"], jnp.finfo(logs.dtype).tiny)) + logs


def predict_mixture(
    key: jax.Array,
    draw: Draw,
    inputs: Inputs,
    *,
    column: str,
    transform: Transform,
    support: Support,
    component_draw: Membership,
) -> Prediction:
    """Draw each record's component, then its value from that component, within the support.

    The component of a record without a value is drawn from pi.
    """
    key_component, key_value = jax.random.split(key)
    centres = inputs["design"] @ draw["beta"].T
    prior = jnp.log(jnp.maximum(draw["pi"], jnp.finfo(centres.dtype).tiny))
    logs = jnp.broadcast_to(prior, centres.shape)
    if component_draw == "posterior":
        logs = jnp.where(inputs["present"][:, None], _component_logs(draw, inputs), logs)
    low, high = ((end - inputs["centre"]) / inputs["scale"] for end in transformed_support(support, transform))
    below, above = (low - centres) / draw["sigma"], (high - centres) / draw["sigma"]
    shares = jax.nn.softmax(logs, axis=1)
    inside = log_mass_between(below, above)
    outside = jnp.sum(shares * -jnp.expm1(inside), axis=1)
    component = jax.random.categorical(key_component, logs + inside, axis=1)
    rows = jnp.arange(len(component))
    centre, below, above = (of_all[rows, component] for of_all in (centres, below, above))
    drawn, _ = draw_truncated_normal(key_value, below, above)
    values = centre + draw["sigma"][component] * drawn
    restored = restore(inputs["centre"] + inputs["scale"] * values, transform)
    # Rounding errors must not leave the support.
    return Prediction({column: jnp.clip(restored, *support)}, jnp.mean(outside))


def log_mass_between(low: jax.Array, high: jax.Array) -> jax.Array:
    """Log of the standard normal mass between two ends, accurate in either tail."""
    mirrored = low > 0
    left, right = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    upto = log_ndtr(right)
    ratio = jnp.exp(jnp.where(jnp.isneginf(left), -jnp.inf, log_ndtr(jnp.maximum(left, -1e150)) - upto))
    return upto + jnp.log1p(-jnp.minimum(ratio, 1 - np.finfo(np.float64).eps))
