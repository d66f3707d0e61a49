"""Numbers put in order within compiled functions, as NumPy does; and that no such function sorts in another way."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molehill
from molehill.sorting import count_below, count_up_to, order_of
from processes import run_python
from properties import examples

# What Numba makes of loops that it names alike.
SHARED = {"sort", "argsort", "searchsorted", "unique", "median", "percentile", "quantile", "partition", "argpartition"}


@given(st.lists(st.floats(allow_nan=False), max_size=40), st.integers(0, 700), st.integers(0, 2**32 - 1))
@examples(40)
def test_the_order_is_that_of_a_stable_sort(special, size, seed):
    rng = np.random.default_rng(seed)
    points = np.concatenate([special, rng.normal(0, 10.0 ** rng.integers(-300, 300), size).round(2)])
    # Two zeros are one number, of which radix puts the negative one first.
    points = points + 0.0
    for some in (points, points[: len(special)], np.full(size, 3.5), np.sort(points)[::-1].copy()):
        assert order_of(some).tolist() == np.argsort(some, kind="stable").tolist()


@given(st.lists(st.integers(-5, 5), max_size=30), st.integers(-7, 7))
@examples(40)
def test_places_among_ordered_numbers(numbers, value):
    ordered = np.sort(np.array(numbers, dtype=float))
    assert count_below(ordered, value) == np.searchsorted(ordered, value, side="left")
    assert count_up_to(ordered, value) == np.searchsorted(ordered, value, side="right")


def compiled_calls(tree):
    """Names of what compiled functions call."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            ways = " ".join(map(ast.unparse, function.decorator_list))
            calls = (
                [one for one in ast.walk(function) if isinstance(one, ast.Call)]
                if "compiled" in ways or "jit" in ways
                else []
            )
            yield from ((function.name, ast.unparse(one.func).rpartition(".")[2]) for one in calls)


def test_no_compiled_function_sorts_by_what_numba_makes():
    paths = list(Path(molehill.__file__).parent.rglob("*.py"))
    found = [
        (path.name, *call) for path in paths for call in compiled_calls(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert ("kernels.py", "sort_lines", "order_of") in found
    assert [one for one in found if one[2] in SHARED] == []


@pytest.mark.slow
def test_what_is_compiled_in_different_processes_still_sorts(tmp_path):
    """Compiled each in a process of its own, with one cache, and then used together: this is where Numba's own fail."""
    kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    begin = "import numpy as np\n"
    lines = "from molehill.risk.kernels import sort_lines\nx = np.random.default_rng(1).random((1, 60))\n"
    lines += "sort_lines(x, np.array([0, 60]))\nassert (np.diff(x) >= 0).all()\n"
    trees = """
from molehill.models import forest
from molehill.synthesis.fitting import fit
import pandas as pd
data = pd.DataFrame({"a": np.arange(200) % 7, "b": 1000.0 + np.arange(200) % 31})
fit(forest("b", ["a"], lower=0), data, seed=1, progress=False)
"""
    for program in (begin + lines, begin + trees, begin + trees + lines, begin + lines + trees):
        ended = run_python(program, **kept)
        assert ended.returncode == 0, ended.stderr
