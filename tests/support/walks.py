"""A sampler of ten lines, and runs of it: what the tests of sampling share."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from molehill.synthesis.sampling.chains import Engine, Run, Sweep, sample

CENTRE = np.array([1.5, -2.0, 0.0])


class Walker(NamedTuple):
    place: jax.Array
    key: jax.Array


def walk_engine(name: str = "walk", warmup: int = 20, draws: int = 40) -> Engine:
    """A random walk on N(centre, 1): ten lines, a typed key in its state."""

    def begin(key, inputs):
        return Walker(jnp.zeros_like(inputs["centre"]), key)

    def sweep(state, inputs):
        key, key_step, key_accept = jax.random.split(state.key, 3)
        new = state.place + 1.2 * jax.random.normal(key_step, state.place.shape)
        gain = 0.5 * (jnp.sum((state.place - inputs["centre"]) ** 2) - jnp.sum((new - inputs["centre"]) ** 2))
        accepted = jnp.log(jax.random.uniform(key_accept)) < gain
        place = jnp.where(accepted, new, state.place)
        told = Sweep({"place": place}, {"place": place}, jnp.minimum(1.0, jnp.exp(gain)), gain < -1000, 1)
        return Walker(place, key), told

    return Engine(name, begin, sweep, warmup, draws)


def walk(seed: int = 1, centre=CENTRE, **settings: Any) -> Run:
    lengths = {name: settings.pop(name) for name in ("name", "warmup", "draws") if name in settings}
    return sample(walk_engine(**lengths), {"centre": centre}, seed=seed, progress=False, **settings)


def same(one: Run, other: Run) -> bool:
    """Whether two runs are the same, byte for byte."""
    pairs = [(one.accept, other.accept), (one.divergent, other.divergent)]
    for mine, theirs in ((one.draws, other.draws), (one.functionals, other.functionals)):
        assert mine.keys() == theirs.keys()
        pairs += [(mine[name], theirs[name]) for name in mine]
    equal = [a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs]
    return all(equal) and one.gradients == other.gradients
