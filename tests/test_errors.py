"""What an error carries: its words, and nothing of what a library said, which may quote a value."""

import ast
import contextlib
import pickle
import traceback
from pathlib import Path

import pytest

from molehill.errors import InputError

SOURCE = Path(__file__).parents[1] / "src"
HIDDEN = "4711 and a name"


def raised(*, cut: bool = True) -> InputError:
    def convert() -> None:
        try:
            int(HIDDEN)
        except ValueError:
            if cut:
                raise InputError("data", "a cell is no number", "Correct it") from None
            raise InputError("data", "a cell is no number", "Correct it")  # noqa: B904

    with pytest.raises(InputError) as caught:
        convert()
    return caught.value


@pytest.mark.parametrize("cut", [True, False])
def test_an_error_has_no_context_and_shows_none(cut):
    error = raised(cut=cut)
    assert error.__context__ is None
    assert error.__cause__ is None
    assert HIDDEN not in "".join(traceback.format_exception(error))


def test_an_error_passes_through_whatever_sets_contexts():
    def pass_through() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: (_ for _ in ()).throw(InputError("data", "it is wrong", "Correct it")))
            raise ValueError(HIDDEN)

    with pytest.raises(InputError) as caught:
        pass_through()
    assert caught.value.__context__ is None


def test_an_error_comes_through_another_process():
    again = pickle.loads(pickle.dumps(raised()))  # noqa: S301
    assert (str(again), again.argument) == (str(raised()), "data")


def uncut(tree: ast.AST) -> list[int]:
    """Lines where an error is raised while another is handled, without the chain being cut."""
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    raises = [node for handler in handlers for node in ast.walk(handler) if isinstance(node, ast.Raise) and node.exc]
    return [node.lineno for node in raises if node.cause is None or ast.unparse(node.cause) != "None"]


def test_the_source_cuts_the_chain_wherever_an_error_becomes_another():
    sources = sorted(SOURCE.rglob("*.py"))
    assert len(sources) > 50
    found = {path.name: uncut(ast.parse(path.read_text(encoding="utf-8"))) for path in sources}
    assert {name: lines for name, lines in found.items() if lines} == {}
    for bad in ("raise E()", "raise E() from error", "if x:\n        raise E"):
        assert uncut(ast.parse(f"try:\n    f()\nexcept ValueError as error:\n    {bad}"))
    assert not uncut(ast.parse("try:\n    f()\nexcept ValueError:\n    raise\nexcept E:\n    raise E() from None"))
