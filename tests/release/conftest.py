import pytest

from drawing import sketched  # noqa: F401


@pytest.fixture(autouse=True, scope="session")
def without_drawings(sketched):  # noqa: F811
    """Figures are not drawn here: most of the time of a report. A test that is about them draws anew."""
    return sketched
