"""What an error carries: its words, and nothing of what a library said, which may quote a value."""

import ast
import contextlib
import copy
import pickle
import traceback
from pathlib import Path

import pandas as pd
import pytest

from molehill.errors import InputError, check_choice, check_names
from molehill.synthesis.fitting import NothingCountsError

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


def pickled(error: InputError) -> InputError:
    return pickle.loads(pickle.dumps(error))  # noqa: S301 (made here)


@pytest.mark.parametrize("kind", [InputError, NothingCountsError])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_an_error_survives_pickle_and_copy_whole(kind, again):
    error = kind("radius", "it is 20, above 1", "For 20 percent write 0.2")
    error.add_note("in the second table")
    back = again(error)
    assert type(back) is kind
    assert str(back) == str(error) == "radius: it is 20, above 1. For 20 percent write 0.2."
    assert (back.argument, back.problem, back.remedy) == ("radius", "it is 20, above 1", "For 20 percent write 0.2")
    assert back.__notes__ == ["in the second table"]


def test_what_is_no_text_is_told_by_its_type_and_never_shown():
    for given in (pd.DataFrame({"pay": [4711.5, 3.0]}), pd.Series([4711.5, 3.0]), ["4711.5"], 4711.5, None):
        with pytest.raises(InputError, match=f"rule: it is of type {type(given).__name__}, not text") as caught:
            check_choice("rule", given, ("partial", "full"))  # pyright: ignore[reportArgumentType]
        assert "4711" not in str(caught.value)
    with pytest.raises(InputError, match=r"rule: 'both' is not a choice\. Choose one of 'partial', 'full'"):
        check_choice("rule", "both", ("partial", "full"))
    for names in (None, 4711, pd.DataFrame({"pay": [4711.5]}), [4711.5]):
        with pytest.raises(InputError, match=r"known: (it is of type|a variable's name must be text)") as caught:
            check_names("known", names)
        assert "4711" not in str(caught.value)


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
