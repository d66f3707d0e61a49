"""Constraints that cannot be kept together are named; what is said to clash truly does."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.rules.contradictions import find_contradictions
from molehill.rules.reading import _read, read_constraints
from molehill.tables.table import Table
from properties import examples

FRAME = pd.DataFrame(
    {
        **{name: [0.0, 1.0, 2.0, 3.0] for name in "abcxyz"},
        "r": ["p", "q", "p", "q"],
        "s": ["p", "q", "q", "p"],
        "t": ["p", "q", "u", "v"],
    }
)


def read_each(texts, frame=FRAME):
    return [read_constraints(text, frame)[0] for text in texts]


@pytest.mark.parametrize(
    ("texts", "clash"),
    [
        (["a < b", "b < a"], [0, 1]),
        (["a <= b", "c < 5", "b < a"], [0, 2]),
        (["x <= 3", "x >= 5"], [0, 1]),
        (["a < b", "b < c", "x < 1", "c < a"], [0, 1, 3]),
        (["a <= b - 1", "b <= a + 0.5"], [0, 1]),
        (["a = b", "a != b"], [0, 1]),
        (["a = 3", "a != 3"], [0, 1]),
        (["a >= 3", "a <= 3", "a != 3"], [0, 1, 2]),
        (["a = b + 0.3", "b = c + 0.1", "a = c + 0.5"], [0, 1, 2]),
        (["a in (1, 2)", "a > 2"], [0, 1]),
        (["a in (1, 2)", "a != 1", "a != 2"], [0, 1, 2]),
        (["a in (1, 2)", "a in (3, 4)"], [0, 1]),
        (["a in (1, 2)", "b > 5", "b < a"], [0, 1, 2]),
        (["x + y <= 3", "x >= 2", "y > 1"], [0, 1, 2]),
        (["x + y + z = 10", "x <= 3", "y <= 3", "z < 4"], [0, 1, 2, 3]),
        (["r = 'p'", "r = 'q'"], [0, 1]),
        (["r != 'p'", "r != 'q'"], [0, 1]),
        (["t in ('p', 'q')", "t in ('u', 'v')"], [0, 1]),
        (["r = s", "r = 'p'", "s = 'q'"], [0, 1, 2]),
        (["r = s", "r != s"], [0, 1]),
        (["r != s", "r = 'p'", "s = 'p'"], [0, 1, 2]),
        (["a is empty", "a is not empty"], [0, 1]),
        (["x <= 3", "a < 1 -> x >= 5"], [0, 1]),
        (["r = 'p'", "a < 1 -> r = 'q'"], [0, 1]),
        (["a < 1 -> a > 2"], [0]),
        (["a < 1 -> x < 3 and x > 5"], [0]),
        (["a < 1 -> r = 'p'", "a < 0.5 -> r = 'q'"], [0, 1]),
        (["a = 1 -> r = 'p'", "a = 1 -> r = 'q'"], [0, 1]),
        (["a > 3 -> a is empty"], [0]),
    ],
)
def test_the_clashing_ones_are_named(texts, clash):
    (found,) = find(read_each(texts) if len(texts) > 1 else _unread(texts))
    assert [place for place, text in enumerate(texts) if repr(text) in found] == clash
    with pytest.raises(InputError, match="contradict"):
        read_constraints(texts, FRAME)


def _unread(texts):
    # Alone it is refused when it is read: take it from there without that check.
    return [_read(text, Table(FRAME), 3) for text in texts]


def find(constraints, **about):
    return find_contradictions(
        constraints, FRAME, levels={name: tuple(FRAME[name].unique()) for name in "rst"}, **about
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["a <= b", "b <= a"],
        ["a < b", "b < c", "a < c"],
        ["x <= 3", "x >= 3"],
        ["a = b + 0.3", "b = c + 0.1", "a = c + 0.4"],
        ["a < 1 -> r = 'p'", "a >= 1 -> r = 'q'"],
        # Both conditions cannot hold in one record, and that is all it says.
        ["a > 0 -> r = 'p'", "b > 0 -> r = 'q'"],
        ["a >= 0", "b < 1 -> a is empty"],
        ["a < 5", "a > 9 -> b > 3"],
        ["x + y <= 3", "x >= 2", "y >= 1"],
        ["r != s", "s != t", "r != t"],
        ["t != 'p'", "t != 'q'"],
        # No record of the table keeps these.
        ["a + b = c + 40", "b in (7, 9)", "a in (4, 6) ", "x > 100 -> y in (200, 300)"],
        ["day > late", "none is empty"],
        ["a + b = c + 9", "a + c = b + 67", "x + y = z + 8", "y + z = x + 14", "x + z = y + 40", "z >= 5"],
    ],
)
def test_what_can_be_kept_is_not_refused(texts):
    data = FRAME.assign(day=pd.Timestamp("2020-01-01"), late=pd.Timestamp("2021-01-01"), none=None)
    assert len(read_constraints(texts, data)) == len(texts)


def test_limits_and_units():
    constraints = read_each(["a > 3", "a < 4"])
    assert find(constraints) == ()
    (found,) = find(constraints, units={"a": 1})
    assert found == "'a > 3' and 'a < 4' contradict each other"
    (found,) = find(read_each(["a > b + 7"]), limits={"a": (0, 5), "b": (-1, 9), "c": (3, 1)})
    assert found == "the value range of 'a', the value range of 'b' and 'a > b + 7' contradict each other"
    with pytest.raises(InputError, match="the value range of 'a' and 'a > 7' contradict each other"):
        read_constraints("a > 7", FRAME, limits={"a": (float("-inf"), 5)})
    (found,) = find(_unread(["a = 2.5"]), units={"a": 1})
    assert found == "'a = 2.5' contradicts itself"


def test_several_contradictions_are_told_at_once():
    found = find(read_each(["a < b", "b < a", "x < 1", "x > 2", "r = 'p'", "c > 0 -> r = 'q'"]))
    assert list(found) == [
        "'a < b' and 'b < a' contradict each other",
        "'x < 1' and 'x > 2' contradict each other",
        """"r = 'p'" and "c > 0 -> r = 'q'" contradict each other where the condition of the last is true""",
    ]


VALUES = range(4)
TERM = st.sampled_from(["a", "b", "c", "0", "1", "2", "3"])
SIGN = st.sampled_from(["<", "<=", ">", ">=", "=", "!="])


@st.composite
def comparisons(draw):
    left = draw(st.sampled_from("abc"))
    right = draw(TERM.filter(lambda term: term != left))
    plus = draw(st.sampled_from(["", " + 1", " - 1"]))
    return f"{left} {draw(SIGN)} {right}{plus}"


@examples(20)
@given(st.lists(comparisons(), min_size=1, max_size=6, unique=True))
def test_what_contradicts_is_found_and_nothing_else_is_named(texts):
    every = pd.DataFrame(list(product(VALUES, repeat=3)), columns=list("abc"))
    constraints = [constraint for text in texts for constraint in _unread([text])]
    limits, units = dict.fromkeys("abc", (0, 3)), dict.fromkeys("abc", 1.0)
    # No record of the table helps: all are drawn.
    found = find_contradictions(constraints, pd.DataFrame([dict.fromkeys("abc", np.nan)]), limits=limits, units=units)
    kept = np.logical_and.reduce([each.holds(every) for each in constraints])
    assert bool(found) == (not kept.any())
    for clash in found:
        core = [each for each in constraints if repr(each.text) in clash]
        assert not np.logical_and.reduce([each.holds(every) for each in core]).any()
