"""Counts: Poisson and negative binomial regressions with log link, drawn within a value range.

Poisson:

    y ~ Poisson(exp(x beta)),  beta_0 ~ N(0, 5^2),  the other beta ~ N(0, 1)

Negative binomial, the synthesizer of the paper's simulation study, with its priors:

    y ~ NB(mean exp(x beta), size phi),  so that the variance is mean + mean^2 / phi
    beta ~ N(0, diag(D) Omega diag(D)),  D ~ half-t(3, 0, 1),  Omega ~ LKJ(6),  1/phi ~ half-Cauchy(0, 5)
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import betainc, gammainc, gammaincc

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.models.amounts import check_support, find_amounts
from molehill.synthesis.collapsing import collapse_records
from molehill.synthesis.design import WIDEST_CORRELATED, learn_design, spread_rows
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Learned, Observed, Prediction, Synthesizer
from molehill.synthesis.transforms import Support
from molehill.synthesis.weighting import who_counts
from molehill.tables.schema import Kind, column_numbers
from molehill.tables.table import Table

ROUNDS = 30


def poisson(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Synthesizer:
    """Synthesize counts by a Poisson regression with log link.

    Parameters
    ----------
    column
        The sensitive variable: whole numbers, 0 or larger.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`.
    lower, upper
        Value range, for example from a codebook; never the confidential extremes. Counts are drawn from the predictive
        distribution truncated to it.

    Examples
    --------
    >>> poisson("children", ["age", "region"], upper=20).sensitive
    ('children',)
    """
    support = _check_count_support(lower, upper)
    return Synthesizer(
        model=_poisson_model,
        sensitive=(column,),
        name="poisson",
        words="a Poisson regression",
        predict=partial(_predict_poisson, column=column, support=support),
        learn=partial(_learn_counts, column, predictors, support=support, breaks=breaks, kinds=kinds),
        start=_start_poisson,
        functionals=_poisson_functionals,
        engine=partial(model_engine, collapse=collapse_records),
    )


def negative_binomial(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Synthesizer:
    """Synthesize counts by a negative binomial regression with log link.

    Its draws have the sites `beta`, `phi`, `inverse_phi`, `D`, and with predictors `Omega_cholesky`.

    Parameters
    ----------
    column
        The sensitive variable: whole numbers, 0 or larger.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`.
    lower, upper
        Value range, for example from a codebook; never the confidential extremes. Counts are drawn from the predictive
        distribution truncated to it.

    References
    ----------
    Hu, Savitsky and Williams, Risk-efficient Bayesian data synthesis for privacy protection.

    Examples
    --------
    >>> negative_binomial("employees", "region + industry").sensitive
    ('employees',)
    """
    support = _check_count_support(lower, upper)
    return Synthesizer(
        model=_negative_binomial_model,
        sensitive=(column,),
        name="negative_binomial",
        words="a negative binomial regression",
        predict=partial(_predict_negative_binomial, column=column, support=support),
        learn=partial(
            _learn_counts,
            column,
            predictors,
            support=support,
            breaks=breaks,
            kinds=kinds,
            widest=WIDEST_CORRELATED,
        ),
        start=_start_negative_binomial,
        functionals=_negative_binomial_functionals,
        engine=partial(model_engine, accept=0.95, moved=_moved_model, move=_moved_sites, collapse=_collapse),
    )


# Poisson.


def _poisson_model(design: Any, outcome: Any = None) -> None:
    scale = jnp.ones(design.shape[1]).at[0].set(5.0)
    beta = numpyro.sample("beta", dist.Normal(0.0, scale).to_event(1))
    with numpyro.plate("records", design.shape[0]):
        numpyro.sample("outcome", dist.Poisson(jnp.exp(design @ beta)), obs=outcome)


def _predict_poisson(key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, support: Support) -> Prediction:
    rate = _largest_count(jnp.exp(inputs["design"] @ draw["beta"]))

    def sample(key: jax.Array) -> jax.Array:
        return jax.random.poisson(key, rate).astype(rate.dtype)

    def tail(count: Any, above: Any) -> jax.Array:
        return jnp.where(above, gammainc(count + 1.0, rate), gammaincc(count + 1.0, rate))

    values, outside = _draw_truncated_count(key, sample, tail, support)
    return Prediction({column: values}, outside)


def _start_poisson(key: jax.Array, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    return {"beta": _start_counts(key, inputs, weights)}


def _poisson_functionals(
    draw: Draw, inputs: Inputs, weights: jax.Array, *, likelihood: jax.Array | None = None
) -> dict[str, jax.Array]:
    design = inputs["design"]
    if likelihood is None:
        each = dist.Poisson(jnp.exp(design @ draw["beta"])).log_prob(jnp.asarray(inputs["outcome"]))
        likelihood = jnp.sum(jnp.where(weights > 0, weights * each, 0.0))
    watched = jnp.exp(design[spread_rows(design.shape[0])] @ draw["beta"])
    return {"predictive_mean": watched, "predictive_variance": watched, "weighted_loglik": likelihood[None]}


# Negative binomial.


def _negative_binomial_model(design: Any, outcome: Any = None) -> None:
    factor = _prior_factor(design.shape[1])
    beta = numpyro.sample("beta", dist.MultivariateNormal(jnp.zeros(design.shape[1]), scale_tril=factor))
    _observe(design, outcome, beta)


def _moved_model(design: Any, outcome: Any, gram: Any) -> None:
    """The same model in partially non-centred coordinates z.

    With F the factor of D Omega D, X the design and R R' = I + F' X' X F, beta = F R'^-1 z: centred where the data are
    informative, non-centred where the prior dominates, which removes the funnel between a coefficient and its D. X' X
    (`gram`) is computed once.
    """
    size = design.shape[1]
    factor = _prior_factor(size)
    root = _moving_root(gram, factor)
    z = numpyro.sample("z", dist.MultivariateNormal(jnp.zeros(size), covariance_matrix=root.T @ root))
    beta = numpyro.deterministic("beta", factor @ solve_triangular(root.T, z, lower=False))
    _observe(design, outcome, beta)


def _moved_sites(sites: Draw, inputs: Inputs) -> dict[str, jax.Array]:
    """Sites of the model in the coordinates of the moved model."""
    factor = jnp.diag(sites["D"]) @ sites.get("Omega_cholesky", jnp.eye(len(sites["D"])))
    z = _moving_root(inputs["gram"], factor).T @ solve_triangular(factor, sites["beta"], lower=True)
    return {name: value for name, value in sites.items() if name != "beta"} | {"z": z}


def _moving_root(gram: Any, factor: Any) -> jax.Array:
    return jnp.linalg.cholesky(jnp.eye(len(gram)) + factor.T @ gram @ factor)


def _collapse(data: Data) -> Data:
    """Collapse the records, and add the cross products of the whole design."""
    few, design = collapse_records(data), np.asarray(data.inputs["design"])
    return few._replace(inputs={**few.inputs, "gram": design.T @ design})


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
        numpyro.sample("outcome", _negative_binomial(design @ beta, inverse), obs=outcome)


def _negative_binomial(predictor: Any, inverse: Any) -> dist.Distribution:
    return dist.NegativeBinomialLogits(1.0 / inverse, predictor + jnp.log(inverse))


def _predict_negative_binomial(
    key: jax.Array, draw: Draw, inputs: Inputs, *, column: str, support: Support
) -> Prediction:
    predictor, inverse = inputs["design"] @ draw["beta"], draw["inverse_phi"]
    phi, logit = 1.0 / inverse, predictor + jnp.log(inverse)
    success, failure = jax.nn.sigmoid(-logit), jax.nn.sigmoid(logit)

    def sample(key: jax.Array) -> jax.Array:
        of_rate, of_count = jax.random.split(key)
        rate = _largest_count(jax.random.gamma(of_rate, phi, predictor.shape) * _largest_count(jnp.exp(logit)))
        return jax.random.poisson(of_count, rate).astype(rate.dtype)

    def tail(count: Any, above: Any) -> jax.Array:
        more = count + 1.0
        first, second = jnp.where(above, more, phi), jnp.where(above, phi, more)
        return betainc(first, second, jnp.where(above, failure, success))

    values, outside = _draw_truncated_count(key, sample, tail, support)
    return Prediction({column: values}, outside)


def _start_negative_binomial(key: jax.Array, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    """The weighted mean and the dispersion of the weighted variance, jittered."""
    of_beta, of_phi = jax.random.split(key)
    total, outcome = jnp.sum(weights) + 1.0, inputs["outcome"]
    mean = (jnp.sum(weights * outcome) + 1.0) / total
    excess = jnp.sum(weights * (outcome - mean) ** 2) / total - mean
    inverse = jnp.clip(excess / mean**2, 0.01, 10.0) * jnp.exp(0.05 * jax.random.normal(of_phi))
    size = inputs["design"].shape[1]
    values = {"beta": _start_counts(of_beta, inputs, weights), "inverse_phi": inverse, "D": jnp.ones(size)}
    return values if size == 1 else {**values, "Omega_cholesky": jnp.eye(size)}


def _negative_binomial_functionals(
    draw: Draw, inputs: Inputs, weights: jax.Array, *, likelihood: jax.Array | None = None
) -> dict[str, jax.Array]:
    design, inverse = inputs["design"], draw["inverse_phi"]
    if likelihood is None:
        each = _negative_binomial(design @ draw["beta"], inverse).log_prob(jnp.asarray(inputs["outcome"]))
        likelihood = jnp.sum(jnp.where(weights > 0, weights * each, 0.0))
    mean = jnp.exp(design[spread_rows(design.shape[0])] @ draw["beta"])
    return {
        "predictive_mean": mean,
        "predictive_variance": mean + mean**2 * inverse,
        "weighted_loglik": likelihood[None],
    }


# Both models.


def _check_count_support(lower: float | None, upper: float | None) -> Support:
    """Check a value range of counts, and round it to whole numbers."""
    low, high = check_support(lower, upper)
    low, high = max(np.ceil(low), 0.0), np.floor(high)
    if low >= high:
        raise InputError("upper", "the value range contains fewer than two counts", "Use a larger value")
    return float(low), float(high)


def _learn_counts(
    column: str,
    predictors: str | Sequence[str] | None,
    table: Table,
    weights: Floats,
    *,
    support: Support,
    breaks: Mapping[str, Sequence[float]] | None,
    kinds: Mapping[str, Kind] | None,
    widest: int | None = None,
) -> Learned:
    """Learn the design and the counts, 0 where missing; other values than whole numbers from 0 are an error."""
    values = find_amounts(table, column)
    present = ~np.isnan(values)
    refused = np.flatnonzero(present & ((values < 0) | (values != np.floor(values))))
    if len(refused):
        where = f"{len(refused):,} record(s), the first in row {refused[0] + 1}"
        problem = f"{column!r} is not a whole number, 0 or larger, in {where}"
        raise InputError("column", problem, "Use a synthesizer for amounts")
    # The outcome that selects predictors: log(1 + y), without records of weight 0.
    logs = np.where(who_counts(weights), np.log1p(values), np.nan)
    design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=kinds, outcome=logs, widest=widest)
    outcome: Floats = np.where(present, values, 0.0)
    outside = int(((values < support[0]) | (values > support[1])).sum())
    facts = {"column": column, "support": support, "records_outside": outside, "design": design.facts}
    return Learned(
        {"design": design.matrix, "outcome": outcome},
        facts,
        again=design.again,
        observed=partial(_observe_counts, column=column),
    )


def _observe_counts(table: Table, *, column: str) -> Observed:
    values = column_numbers(table, column)
    there = (values >= 0) & (values == np.floor(values))
    return Observed({"outcome": np.where(there, values, 0.0)}, there)


def _start_counts(key: jax.Array, inputs: Inputs, weights: jax.Array) -> jax.Array:
    """Starting coefficients: the log of the weighted mean, and zeros, jittered."""
    # One is added so that the logarithm is finite if all counts or weights are 0.
    mean = (jnp.sum(weights * inputs["outcome"]) + 1.0) / (jnp.sum(weights) + 1.0)
    size = inputs["design"].shape[1]
    return jnp.zeros(size).at[0].set(jnp.log(mean)) + 0.05 * jax.random.normal(key, (size,))


def _largest_count(rate: jax.Array) -> jax.Array:
    """Limit a rate to the integers that are exact in floating point."""
    return jnp.minimum(rate, 2.0 ** jnp.finfo(rate.dtype).nmant)


def _draw_truncated_count(
    key: jax.Array,
    sample: Callable[[jax.Array], jax.Array],
    tail: Callable[..., jax.Array],
    support: Support,
) -> tuple[jax.Array, jax.Array | float]:
    """Draw one count per record within a support; also return the mean probability of the truncated values.

    Exact rejection sampling for some rounds; a record that was always rejected gets the inverse of the truncated
    distribution function, computed in the smaller tail. If even that underflows, it gets the nearest end of the
    support.

    Parameters
    ----------
    key
        The random key.
    sample
        `(key) -> counts`: one draw per record, not truncated.
    tail
        `(count, above) -> probability` of at most the count or, where `above` is true, of more than it.
    support
        The smallest and the largest count as floats; the largest may be infinite.
    """
    low, high = support
    if low <= 0 and high == np.inf:
        return sample(key), 0.0
    one_round, for_inverse = jax.random.split(key)
    below, above, from_low, up_to_high = _masses(tail, support)

    def again(state: tuple[Any, ...]) -> tuple[Any, ...]:
        turn, values, waiting = state
        drawn = sample(jax.random.fold_in(one_round, turn))
        return turn + 1, jnp.where(waiting, drawn, values), waiting & ((drawn < low) | (drawn > high))

    state = (0, jnp.full_like(below, low), jnp.ones(below.shape, bool))
    _, values, waiting = jax.lax.while_loop(lambda state: state[2].any() & (state[0] < ROUNDS), again, state)
    upper = below > 0.5
    share = jax.random.uniform(for_inverse, below.shape, below.dtype)
    target = jnp.where(upper, above + share * (from_low - above), below + share * (up_to_high - below))
    found = _invert(target, tail, upper, support, waiting)
    return jnp.where(waiting, found, values), jnp.mean(below + above)


def _masses(tail: Callable[..., jax.Array], support: Support) -> jax.Array:
    """Probabilities below and above the support, from its low end upwards, and up to its high end."""
    low, high = support
    # In one call, which compiles once.
    ends = jnp.array([low - 1, high, low - 1, high] if high < np.inf else [low - 1] * 4)
    masses = tail(jnp.maximum(ends, 0.0)[:, None], above=jnp.array([False, True, True, False])[:, None])
    opened = np.array([low <= 0, high == np.inf, low <= 0, high == np.inf])[:, None]
    return jnp.where(opened, jnp.array([0.0, 0.0, 1.0, 1.0])[:, None], masses)


def _invert(
    target: jax.Array, tail: Callable[..., jax.Array], upper: jax.Array, support: Support, wanted: jax.Array
) -> jax.Array:
    """Smallest count whose lower (or upper) tail probability passes the target, by bisection, where wanted."""
    low, last = support[0], min(support[1], 2.0**52)

    def narrow(state: tuple[Any, ...]) -> tuple[Any, ...]:
        under, least, bounded = state
        probe = jnp.where(bounded, jnp.floor((under + least) / 2), least)
        size = tail(probe, above=upper)
        passed = jnp.where(upper, size <= target, size > target) | (probe >= last)
        doubled = jnp.minimum(low + 2 * (least - low) + 1, last)
        open_ = ~bounded | (least - under > 1)
        under = jnp.where(open_ & ~passed, probe, under)
        least = jnp.where(open_ & passed, probe, jnp.where(bounded, least, doubled))
        return under, least, bounded | passed

    def unfinished(state: tuple[Any, ...]) -> jax.Array:
        under, least, bounded = state
        return (wanted & (~bounded | (least - under > 1))).any()

    ends = jnp.full_like(target, low - 1.0), jnp.full_like(target, low), jnp.zeros(wanted.shape, bool)
    return jax.lax.while_loop(unfinished, narrow, ends)[1]
