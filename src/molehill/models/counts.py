"""Counts: taken from a table, started from, and drawn within a public support, whatever regression predicts them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.models.amounts import Support, check_support, find_amounts
from molehill.synthesis.design import learn_design
from molehill.synthesis.synthesizer import Inputs, Learned
from molehill.tables.schema import Kind
from molehill.tables.table import Table

ROUNDS = 30


def check_count_support(lower: float | None, upper: float | None) -> Support:
    """Accept ends of a support, and give the smallest and the largest whole number from 0 up within them."""
    low, high = check_support(lower, upper)
    low, high = max(np.ceil(low), 0.0), np.floor(high)
    if low >= high:
        raise InputError("upper", "fewer than two counts lie within the support", "Give a larger one")
    return float(low), float(high)


def learn_counts(
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
    """Give the design and the counts, 0 where missing; anything but whole numbers from 0 up is an error."""
    values = find_amounts(table, column)
    present = ~np.isnan(values)
    refused = np.flatnonzero(present & ((values < 0) | (values != np.floor(values))))
    if len(refused):
        where = f"{len(refused):,} record(s), the first in row {refused[0] + 1}"
        problem = f"{column!r} is not a whole number from 0 up in {where}"
        raise InputError("column", problem, "Choose a synthesizer for amounts")
    # Whole numbers from 0 up have a logarithm once one is added; a missing one stays missing, and what counts for
    # nothing must not choose predictors.
    logs = np.where((weights > 0) | ~weights.any(), np.log1p(values), np.nan)
    design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=kinds, outcome=logs, widest=widest)
    outcome: Floats = np.where(present, values, 0.0)
    outside = int(((values < support[0]) | (values > support[1])).sum())
    facts = {"column": column, "support": support, "records_outside": outside, "design": design.facts}
    return Learned({"design": design.matrix, "outcome": outcome}, facts, again=design.again)


def start_counts(key: jax.Array, inputs: Inputs, weights: jax.Array) -> jax.Array:
    """Start coefficients at the logarithm of the weighted mean and zeros, jittered."""
    # One count among the weights keeps the logarithm finite where all counts are 0, or all weights.
    mean = (jnp.sum(weights * inputs["outcome"]) + 1.0) / (jnp.sum(weights) + 1.0)
    size = inputs["design"].shape[1]
    return jnp.zeros(size).at[0].set(jnp.log(mean)) + 0.05 * jax.random.normal(key, (size,))


def largest_count(rate: jax.Array) -> jax.Array:
    """Keep a rate within the whole numbers that a floating number can tell apart."""
    return jnp.minimum(rate, 2.0 ** jnp.finfo(rate.dtype).nmant)


def draw_truncated_count(
    key: jax.Array,
    sample: Callable[[jax.Array], jax.Array],
    tail: Callable[..., jax.Array],
    support: Support,
) -> tuple[jax.Array, jax.Array | float]:
    """Draw one count per record within a support, and give the mean share of the mass that was cut off.

    Exact: whole rounds of draws, of which each record keeps its first within the support; a record that had none, its
    support being improbable, gets the inverse of the truncated distribution function, in the tail where that is small.
    Where even that is too small for a floating number, the nearest end of the support is taken.

    Parameters
    ----------
    key
        The random key.
    sample
        `(key) -> counts`: one draw per record, not truncated.
    tail
        `(count, above) -> probability` of at most the count, or where `above` is true, of more than it.
    support
        The smallest and the largest count, whole numbers as floats; the largest may be infinite.
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
    """Give the mass below and above the support, and that from its low end upwards and up to its high end."""
    low, high = support
    # All in one call: it takes long to compile. What an open end would give is known.
    ends = jnp.array([low - 1, high, low - 1, high] if high < np.inf else [low - 1] * 4)
    masses = tail(jnp.maximum(ends, 0.0)[:, None], above=jnp.array([False, True, True, False])[:, None])
    opened = np.array([low <= 0, high == np.inf, low <= 0, high == np.inf])[:, None]
    return jnp.where(opened, jnp.array([0.0, 0.0, 1.0, 1.0])[:, None], masses)


def _invert(
    target: jax.Array, tail: Callable[..., jax.Array], upper: jax.Array, support: Support, wanted: jax.Array
) -> jax.Array:
    """Find, where wanted, the smallest count whose lower (or upper) tail passes the target, by doubling and halving."""
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
