"""Charts that are drawn once in a process, for tests that read what a page says in words."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import vl_convert

_WHOLE = vl_convert.vegalite_to_svg


@cache
def _draw(text: str, **named: Any) -> str:
    return _WHOLE(json.loads(text), **named)


def _draw_once(specification: Any, **named: Any) -> str:
    return _draw(json.dumps(specification), **named)


@contextmanager
def drawing(draw: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", draw)
        yield


@pytest.fixture
def drawn_once() -> Iterator[None]:
    """A specification that was drawn before in this process is not drawn again, byte for byte the same one."""
    with drawing(_draw_once):
        yield


def drawn_anew() -> Any:
    """Draw for pages that are compared with each other: a drawing that is another every time must be seen."""
    return drawing(_WHOLE)
