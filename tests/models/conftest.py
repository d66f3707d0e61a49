"""Before anything runs on JAX: chains on every core, and code that was compiled once is not compiled again."""

from molehill.machine import prepare_jax

prepare_jax()
