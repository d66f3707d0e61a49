"""The random numbers that records are drawn with: independent of each other, or spread evenly over records alike.

A table of independent draws misses what its model says by chance, as any sample does. *Balanced* numbers take most of
that chance away and touch no record's own distribution: each number by itself is uniform, and so is the risk of each
record what it was. Only together they are more even than chance. Nothing but predictions decides which records are
taken together, and which of them gets which number is random.
"""

from typing import Literal, get_args

import jax
import jax.numpy as jnp

Noise = Literal["independent", "balanced"]
NOISES = get_args(Noise)
# Records taken together. More of them are less alike; fewer leave more to chance, and would say more of each other.
BLOCK = 32


def balanced_uniforms(key: jax.Array, *by: jax.Array) -> jax.Array:
    """Draw one number from 0 to 1 for every record, evenly among neighbours.

    Records are sorted by the last of `by`, ties by the one before it, and so on, at last at random. Of a block of 32
    neighbours (the last block has fewer) one gets a number from each 32nd part of 0 to 1, in random order.

    Examples
    --------
    >>> numbers = balanced_uniforms(jax.random.key(1), jnp.arange(32.0))
    >>> [int(part) for part in jnp.sort(jnp.floor(32 * numbers))] == list(range(32))
    True
    """
    records = by[0].shape[0]
    for_ties, for_places, for_numbers = (jax.random.uniform(own, (records,)) for own in jax.random.split(key, 3))
    neighbours, place = jnp.lexsort((for_ties, *by)), jnp.arange(records)
    block = place // BLOCK
    # Sorted by the block and then at random: every block's places, shuffled.
    shuffled = jnp.argsort(block + for_places)
    part = jnp.zeros_like(place).at[shuffled].set(place) - block * BLOCK
    numbers = (part + for_numbers) / jnp.minimum(BLOCK, records - block * BLOCK)
    return jnp.zeros_like(numbers).at[neighbours].set(numbers)
