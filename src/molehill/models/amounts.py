"""Amounts: transformed and standardised for a model, and drawn within a public support."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr, ndtri

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError
from molehill.synthesis.synthesizer import Observed
from molehill.synthesis.transforms import POSITIVE, Support, Transform, apply_transform
from molehill.tables.schema import column_numbers, refuse_infinite
from molehill.tables.table import Table, find_columns


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
    table: Table, weights: Floats, column: str, transform: Transform, support: Support, *, standardise: bool = True
) -> tuple[Floats, Booleans, dict[str, Any]]:
    """Transform and standardise a numeric column, by its weighted moments: a record of weight 0 has no part in them.

    Returns
    -------
    outcome
        The standardised values, 0 where there is none.
    counted
        Which records have a value and a weight; if none of those with a value has one, all of these.
    facts
        How the values were made: centre and scale among it.
    """
    values = find_amounts(table, column)
    present = ~np.isnan(values)
    chosen = values[present]
    facts = {"column": column, "transform": transform, "support": support}
    facts["records_outside"] = int(((chosen < support[0]) | (chosen > support[1])).sum())
    if transform in POSITIVE and (chosen <= 0).any():
        first = int(np.flatnonzero(present & (values <= 0))[0])
        problem = f"{column!r} is not positive in {int((chosen <= 0).sum()):,} record(s), the first in row {first + 1}"
        raise InputError("transform", problem, "Choose 'identity' or 'signed', or the semicontinuous synthesizer")
    moved = apply_transform(chosen, transform)
    if len(moved) > 1 and moved.min() == moved.max():
        raise InputError("column", f"{column!r} is the same for every record", "Release it as it is")
    counts = weights[present] if weights[present].any() else np.ones(len(moved))
    centre, scale = 0.0, 1.0
    if standardise:
        centre = float(np.average(moved, weights=counts))
        scale = float(np.sqrt(np.average((moved - centre) ** 2, weights=counts))) or 1.0
    outcome, counted = np.zeros(len(values)), np.zeros(len(values), dtype=bool)
    outcome[present], counted[present] = (moved - centre) / scale, counts > 0
    return outcome, counted, {**facts, "centre": centre, "scale": scale}


def observe_amount(table: Table, *, facts: Mapping[str, Any]) -> Observed:
    """Other values of an amount, transformed and standardised as those that were learned from."""
    values = column_numbers(table, facts["column"])
    there = values > 0 if facts["transform"] in POSITIVE else ~np.isnan(values)
    outcome = np.zeros(len(values))
    outcome[there] = (apply_transform(values[there], facts["transform"]) - facts["centre"]) / facts["scale"]
    return Observed({"outcome": outcome}, there)


def find_amounts(table: Table, column: str) -> Floats:
    """Give the values of a numeric column that the table must have, NaN where missing, finite elsewhere."""
    find_columns(table, [column], "column")
    values = column_numbers(table, column)
    refuse_infinite(values, column)
    if np.isnan(values).all():
        raise InputError("column", f"{column!r} is missing in every record", "Choose a column with values")
    return values


def draw_truncated_normal(key: jax.Array, low: jax.Array, high: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Draw standard normal values between `low` and `high` (which may be infinite), and give the mass cut off."""
    share = jax.random.uniform(key, low.shape, low.dtype, minval=jnp.finfo(low.dtype).tiny)
    return truncated_normal(share, low, high), ndtr(low) + ndtr(-high)


def truncated_normal(share: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """Give the standard normal value, between `low` and `high`, that a share of the mass between them lies below.

    By the inverse of the distribution function in the lower tail, into which an interval above zero is mirrored (the
    share then lies above the value); where even that mass is too small for a floating number, by the inverse of its
    logarithm.
    """
    mirrored = low > 0
    left, right = jnp.where(mirrored, -high, low), jnp.where(mirrored, -low, high)
    tiny = jnp.finfo(left.dtype).tiny
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
    return jnp.where(mirrored, -drawn, drawn)
