"""Before anything runs on JAX: chains on every core, and code that was compiled once is not compiled again."""

import jax
import pytest

from molehill.runtime import prepare_jax

prepare_jax()


@pytest.fixture(autouse=True)
def double_precision():
    """What a fit runs in."""
    with jax.enable_x64(new_val=True):
        yield
