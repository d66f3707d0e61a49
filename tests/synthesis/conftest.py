"""Before anything runs on JAX: chains on every core, and code that was compiled once is not compiled again."""

from molehill.runtime import prepare_jax

prepare_jax()
