"""Charts that are drawn once in a process, or not at all, for tests that read what a page says in words."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import vl_convert

from molehill.report.page.pictures import Picture, list_pictures
from processes import SUPPORT
from sketches import WITHOUT_LIBRARY, sketch

_WHOLE = vl_convert.vegalite_to_svg
# Where a page takes its figures from.
_LISTING = "molehill.report.page.page.list_pictures"


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


@pytest.fixture(scope="module", autouse=True)
def without_drawings() -> Iterator[None]:
    """Every chart of the file is a sketch, for tests of what becomes of a release: drawing is most of a report's time.

    Tests of reports and charts draw truly.
    """
    with drawing(sketch):
        yield


@pytest.fixture(scope="module")
def with_few_figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Reports of this process, and of those that it begins, have the figures of the public edition alone, sketched."""
    folder = tmp_path_factory.mktemp("start")
    # Python imports a module of this name as it starts.
    (folder / "sitecustomize.py").write_text("import sketches; sketches.sketch_few_figures()", encoding="utf-8")
    listing = showing(lambda dossier, shown, _: list_pictures(dossier, shown, "public"))
    with drawing(sketch), listing, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), SUPPORT]), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module")
def without_library(with_few_figures: None) -> Iterator[None]:  # noqa: ARG001
    """These reports lack the script that draws in a browser, which takes seconds to get ready in every process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("molehill.report.page.page.drawing_library", lambda: "")
        patch.setenv(WITHOUT_LIBRARY, "1")
        yield


def _list_public(dossier: Any, shown: Any, edition: Any) -> list[Picture]:
    return [] if edition == "internal" else list_pictures(dossier, shown, edition)


@contextmanager
def showing(listing: Any) -> Iterator[None]:
    """Pages with the figures that a function lists from a dossier, what is shown of it, and the edition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_LISTING, listing)
        yield


@contextmanager
def said_in_words() -> Iterator[None]:
    with showing(_list_public):
        yield


@pytest.fixture
def in_words() -> Iterator[None]:
    """The internal edition without its figures, most of its time, for tests of what it says; the public one has all."""
    with said_in_words():
        yield


@contextmanager
def all_figures(draw: Any = _WHOLE) -> Iterator[None]:
    """Pages with all their figures, drawn anew: a drawing that is another every time must be seen. Or sketched."""
    with drawing(draw), showing(list_pictures):
        yield
