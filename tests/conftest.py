import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import vl_convert

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def shared():
    """The folder of reference data beside the project, where it is present."""
    if not SHARED.is_dir():
        pytest.skip("the reference data in ../shared/data are not here")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def drawn_once():
    """What was drawn once in this process is not drawn again: most tests of pages change a number that no chart shows.

    Every other specification is drawn; what is kept is by its text, byte for byte.
    """
    whole = vl_convert.vegalite_to_svg

    @cache
    def draw(text: str, **named: Any) -> str:
        return whole(json.loads(text), **named)

    def draw_once(specification: Any, **named: Any) -> str:
        return draw(json.dumps(specification), **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", draw_once)
        yield
