"""Truncated normal values: amounts drawn within a public support."""

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtr, ndtri


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
