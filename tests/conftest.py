import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Before NumPy is loaded: one thread for linear algebra, or idle ones would spin on the core of the other worker.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

SHARED = Path(__file__).parents[2] / "shared" / "data"

# How fast a machine is must not matter: no deadlines. The examples of `make test` are the same everywhere; those of
# `make test-slow` are new every time, and ten times as many (`examples` in tests/support/properties.py).
_ANY_SPEED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("repeated", deadline=None, derandomize=True, database=None, suppress_health_check=_ANY_SPEED)
settings.register_profile("thorough", deadline=None, print_blob=True, suppress_health_check=_ANY_SPEED)
settings.load_profile("repeated")
# Hypothesis takes constants of all our modules that are loaded: examples would depend on what was imported before.
providers.is_local_module_file = lambda _: False  # pyright: ignore[reportPrivateImportUsage, reportAttributeAccessIssue]


# What a system must have for the tests that carry a marker, and whether it has it.
_SYSTEMS = {"posix": (os.name == "posix", "POSIX"), "linux": (sys.platform == "linux", "Linux")}


def pytest_collection_modifyitems(items):
    """Skip what needs another system, saying so."""
    for item in items:
        for marker, (is_here, name) in _SYSTEMS.items():
            if not is_here and item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=f"this system is not {name}"))


def pytest_collection_finish():
    """Leave what was imported out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def shared():
    """The folder of reference data beside the project, where it is present."""
    if not SHARED.is_dir():
        pytest.skip("the reference data in ../shared/data are not here")
    return SHARED
