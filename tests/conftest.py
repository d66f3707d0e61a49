from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared():
    """The folder of reference data beside the project, where it is present."""
    if not SHARED.is_dir():
        pytest.skip("the reference data in ../shared/data are not here")
    return SHARED
