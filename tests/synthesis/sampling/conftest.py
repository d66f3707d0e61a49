"""Fixtures that the tests of sampling share."""

import pytest

from molehill.synthesis.sampling import chains
from molehill.synthesis.sampling.chains import Run
from walks import walk


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Chunks of ten sweeps: a walk has six of them, the first two warm-up."""
    monkeypatch.setattr(chains, "LONGEST_CHUNK", 10)


@pytest.fixture(scope="session")
def plain() -> Run:
    """A walk that nothing interrupted."""
    return walk()
