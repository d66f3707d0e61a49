from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).parents[2] / "shared" / "data"

# How fast a machine is must not matter: no deadlines. The examples of `make test` are the same everywhere; those of
# `make test-slow` are new every time, and ten times as many (`examples` in tests/support/properties.py).
_ANY_SPEED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("repeated", deadline=None, derandomize=True, database=None, suppress_health_check=_ANY_SPEED)
settings.register_profile("thorough", deadline=None, print_blob=True, suppress_health_check=_ANY_SPEED)
settings.load_profile("repeated")


@pytest.fixture
def shared():
    """The folder of reference data beside the project, where it is present."""
    if not SHARED.is_dir():
        pytest.skip("the reference data in ../shared/data are not here")
    return SHARED
