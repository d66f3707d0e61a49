"""Within its support a column keeps the constraints, and nothing that could keep them is left out."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.rules.constraints import Empty, Levels, Sum, negate
from molehill.rules.contradictions import find_contradictions
from molehill.rules.reading import _read, read_constraints
from molehill.rules.support import support_of
from molehill.tables.table import Table
from properties import examples

SURVEY = pd.DataFrame(
    {
        "age": [8.0, 40.0, 30.0, 60.0],
        "income": [0.0, 900.0, 800.0, 100.0],
        "rent": [0.0, 300.0, 100.0, 50.0],
        "wages": [0.0, 500.0, 800.0, 0.0],
        "benefits": [0.0, 400.0, 0.0, 100.0],
        "spouse": [0.0, 700.0, 0.0, 0.0],
        "marital": ["single", "married", "single", "widowed"],
    }
)


def read(*texts):
    return read_constraints(texts, SURVEY)


def unresolved(constraints, columns, categories):
    """Give the constraints that drawing within the support does not keep by construction."""
    left = []
    for constraint in constraints:
        of_it = [name for name in columns if name in constraint.columns]
        if of_it and of_it[-1] not in categories and not is_interval(constraint, of_it[-1]):
            left.append(constraint)
    return left


def is_interval(constraint, last):
    """Whether a constraint leaves an interval to its last column, a number."""
    asked, claimed = (
        [claim for claim in claims if last in claim.columns and not isinstance(claim, Empty)]
        for claims in (constraint.condition, constraint.conclusion)
    )
    if not asked:
        return all(leaves_interval(claim) for claim in claimed)
    return len(asked) == 1 and not claimed and leaves_interval(negate(asked[0]))


def leaves_interval(claim):
    if isinstance(claim, Sum):
        return claim.sign != "!="
    return isinstance(claim, Levels) and claim.among and len(claim.levels) == 1


def ends(support):
    return list(zip(support.lower.tolist(), support.upper.tolist(), strict=True))


def test_an_ordering_bounds_each_by_the_other():
    declared, nan = read("rent <= income"), np.nan
    first = support_of(declared, "rent", pd.DataFrame({"income": [5.0, nan]}), (), {"rent": (0, 9)})
    assert ends(first) == [(0, 5), (0, 9)]
    # The other way round, the income that comes later must still find room.
    first = support_of(declared, "rent", pd.DataFrame(index=range(1)), ["income"], {"income": (0, 7)})
    assert ends(first) == [(-np.inf, 7)]
    then = support_of(declared, "income", pd.DataFrame({"rent": [5.0]}), (), {"income": (0, 7)})
    assert ends(then) == [(5, 7)]
    assert not then.impossible.any()
    assert support_of(declared, "income", pd.DataFrame({"rent": [8.0]}), (), {"income": (0, 7)}).impossible.all()


def test_a_limit_is_kept_where_rounding_puts_a_sum_beyond_it():
    declared = read("income = wages + benefits")
    drawn = pd.DataFrame({"wages": [0.1], "benefits": [0.2]})
    assert 0.1 + 0.2 > 0.3
    support = support_of(declared, "income", drawn, (), {"income": (0, 0.3)})
    assert support.fixed.tolist() == [0.3]
    assert ends(support) == [(0.3, 0.3)]
    assert not support.impossible.any()
    assert declared[0].holds(drawn.assign(income=support.fixed)).all()


def test_strictly_less_is_a_unit_less():
    declared, income = read("rent < income"), pd.DataFrame({"income": [5.0, 5.5]})
    assert support_of(declared, "rent", income, units={"rent": 1, "income": 1}).upper.tolist() == [4, 4]
    # Where only the column has a unit, it is the largest multiple below.
    assert support_of(declared, "rent", income, units={"rent": 1}).upper.tolist() == [4, 5]
    upper = support_of(declared, "rent", income).upper
    assert (upper < [5, 5.5]).all()
    np.testing.assert_allclose(upper, [5, 5.5], rtol=1e-13)
    positive = support_of(read("rent > 0"), "rent", income)
    assert 0 < positive.lower[0] < 1e-300
    assert support_of(read("rent > 0"), "rent", income, units={"rent": 100}).lower[0] == 100


def test_ends_are_written_in_the_unit():
    declared, income = read("rent <= income"), pd.DataFrame({"income": [0.1 + 0.2, 0.349]})
    upper = support_of(declared, "rent", income, units={"rent": 0.1}).upper
    assert upper.tolist() == [0.3, 0.3]
    none = support_of(declared, "rent", income, limits={"rent": (0.31, 1)}, units={"rent": 0.1})
    assert none.impossible.all()


def test_the_last_column_of_a_sum_is_determined():
    declared = read("wages + benefits = income")
    kept = pd.DataFrame({"income": [900.0, 100.0, np.nan]})
    limits = {"wages": (0, 5000), "benefits": (0, 600)}
    first = support_of(declared, "wages", kept, ["benefits"], limits)
    assert ends(first) == [(300, 900), (0, 100), (0, 5000)]
    last = support_of(declared, "benefits", kept.assign(wages=[300.0, 40.0, 1.0]), (), limits)
    np.testing.assert_array_equal(last.fixed, [600, 60, np.nan])
    assert ends(last) == [(600, 600), (60, 60), (0, 600)]
    off = support_of(declared, "benefits", kept.assign(wages=[0.0, 200.0, 1.0]), (), limits)
    assert off.impossible.tolist() == [True, True, False]
    rounded = support_of(
        declared, "benefits", pd.DataFrame({"income": [0.3], "wages": [0.1]}), (), limits, units={"benefits": 0.1}
    )
    assert rounded.fixed.tolist() == [0.2]
    # With a later column that may be empty nothing is left to make room for.
    free = support_of(declared, "wages", kept, ["benefits"], limits, may_be_empty={"benefits": [True, False, False]})
    assert ends(free) == [(0, 5000), (0, 100), (0, 5000)]


def test_three_columns_to_come_share_a_sum():
    declared = read("wages + benefits + rent = income")
    limits = {"wages": (0, 50), "benefits": (0, 30), "rent": (10, 20)}
    kept = pd.DataFrame({"income": [100.0, 12.0, 101.0]})
    first = support_of(declared, "wages", kept, ["benefits", "rent"], limits)
    assert ends(first)[:2] == [(50, 50), (0, 2)]
    assert first.impossible.tolist() == [False, False, True]


def test_a_bound_is_carried_through_columns_to_come():
    declared = read("rent <= wages", "wages <= income", "income <= spouse")
    drawn = pd.DataFrame({"rent": [5.0]})
    support = support_of(declared, "spouse", drawn, ["wages", "income"], {"spouse": (0, 9)})
    assert ends(support) == [(5, 9)]
    strict = read("rent < wages", "wages < income")
    units = dict.fromkeys(SURVEY.columns[:-1], 1.0)
    assert support_of(strict, "income", drawn, ["wages"], units=units).lower.tolist() == [7]


def test_a_condition_that_is_true_asks_for_its_conclusion():
    declared = read("age < 15 -> marital = 'single'", "spouse > 0 -> marital = 'married'")
    levels = {"marital": ["single", "married", "widowed"]}
    drawn = pd.DataFrame({"age": [8.0, 40.0, 40.0, np.nan, 8.0], "spouse": [0.0, 5.0, 0.0, 5.0, 5.0]})
    support = support_of(declared, "marital", drawn, levels=levels)
    assert support.allowed is not None
    assert support.allowed.tolist() == [
        [True, False, False],
        [False, True, False],
        [True, True, True],
        [False, True, False],
        [False, False, False],
    ]
    np.testing.assert_array_equal(support.fixed, [0, 1, np.nan, 1, np.nan])
    assert support.impossible.tolist() == [False, False, False, False, True]


def test_a_conclusion_that_is_false_excludes_the_condition():
    declared = read("age < 15 -> marital = 'single'", "spouse > 0 -> marital = 'married'")
    support = support_of(declared, "age", pd.DataFrame({"marital": ["single", "widowed", None]}), (), {"age": (0, 99)})
    assert ends(support) == [(0, 99), (15, 99), (0, 99)]
    # A child will be single, so that it has no income of a spouse, although its status comes later.
    ages, levels = pd.DataFrame({"age": [8.0, 40.0]}), {"marital": ["single", "married", "widowed"]}
    spouse = support_of(declared, "spouse", ages, ["marital"], {"spouse": (0, 500)}, levels)
    assert ends(spouse) == [(0, 0), (0, 500)]
    maybe = support_of(
        declared, "spouse", ages, ["marital"], {"spouse": (0, 500)}, levels, may_be_empty={"marital": True}
    )
    assert ends(maybe) == [(0, 500), (0, 500)]


def test_a_category_whose_condition_and_conclusion_meet():
    frame = pd.DataFrame({"n": [1, 2, 3, 4], "r": ["a", "b", "a", "b"]})
    declared = read_constraints(["n > 1 -> n <= 2", "n != 2 -> r = 'a'"], frame)
    support = support_of(declared, "n", pd.DataFrame({"r": ["a", "b"]}), levels={"n": [1, 2, 3, np.nan]})
    assert support.allowed is not None
    assert support.allowed.tolist() == [[True, True, False, True], [False, True, False, True]]


def test_fixed_combinations_allow_what_occurs():
    frame = pd.DataFrame(list(product("ab", "xy")) * 3, columns=["r", "s"])
    frame["t"] = np.where((frame["r"] == "a") == (frame["s"] == "x"), "odd", "even")
    frame = frame[~((frame["r"] == "b") & (frame["s"] == "y"))].reset_index(drop=True)
    declared = read_constraints("(r, s, t) fixed", frame)
    levels = {"s": ["x", "y"], "t": ["odd", "even"]}
    kept = pd.DataFrame({"r": ["a", "b", None, "z"]})
    support = support_of(declared, "s", kept, ["t"], levels=levels)
    assert support.allowed is not None
    assert support.allowed.tolist() == [[True, True], [True, False], [True, True], [False, False]]
    assert support.impossible.tolist() == [False, False, False, True]
    last = support_of(declared, "t", kept.assign(s=["y", "x", "x", "x"]), levels=levels)
    assert last.allowed is not None
    assert last.allowed.tolist() == [[False, True], [False, True], [True, True], [False, False]]
    # Of a number without levels only the ends are known.
    numbers = pd.DataFrame({"r": ["a"] * 6 + ["b"] * 3, "n": [1] * 3 + [4] * 3 + [2] * 3})
    of_numbers = read_constraints("(r, n) fixed", numbers)
    assert ends(support_of(of_numbers, "n", pd.DataFrame({"r": ["a", "b"]}))) == [(1, 4), (2, 2)]


def test_text_that_must_be_equal():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]})
    drawn = pd.DataFrame({"a": ["x", "z", None]})
    for text, wanted in (("a = b", [[1, 0], [0, 0], [1, 1]]), ("a != b", [[0, 1], [1, 1], [1, 1]])):
        support = support_of(read_constraints(text, frame), "b", drawn, levels={"b": ["x", "y"]})
        assert support.allowed is not None
        assert support.allowed.astype(int).tolist() == wanted


def test_where_it_must_be_empty_and_where_it_must_not():
    declared = read("age < 15 -> income is empty", "age >= 15 -> income is not empty", "income >= 10")
    support = support_of(declared, "income", pd.DataFrame({"age": [8.0, 40.0, np.nan]}), (), {"income": (0, 99)})
    assert support.empty.tolist() == [True, False, False]
    assert support.filled.tolist() == [False, True, False]
    assert not support.impossible.any()
    assert ends(support)[1:] == [(10, 99), (10, 99)]
    # And what its emptiness would ask of another, that is so or is not.
    declared = read("income is empty -> age < 15", "income is not empty -> rent > 0")
    drawn = pd.DataFrame({"age": [8.0, 40.0, 40.0], "rent": [0.0, 5.0, 0.0]})
    support = support_of(declared, "income", drawn)
    assert support.empty.tolist() == [True, False, False]
    assert support.filled.tolist() == [False, True, False]
    assert support.impossible.tolist() == [False, False, True]


def test_lists_of_numbers():
    declared = read("age in (20, 30, 40)")
    support = support_of(declared, "age", pd.DataFrame(index=range(1)), (), {"age": (25, 35)})
    assert support.fixed.tolist() == [30]


def test_results_are_frozen_and_bad_input_is_told():
    support = support_of(read("rent <= income"), "rent", pd.DataFrame({"income": [5.0]}))
    with pytest.raises(ValueError, match="read-only"):
        support.lower[0] = 1
    with pytest.raises(InputError, match="drawn: it contains 'rent', which is still to be drawn"):
        support_of(read("rent <= income"), "rent", SURVEY)
    with pytest.raises(InputError, match="units: that of 'rent' is not 0 or larger"):
        support_of(read("rent <= income"), "rent", SURVEY[["income"]], units={"rent": -1})
    with pytest.raises(InputError, match="frame: the variable 'income' holds text"):
        support_of(read("rent <= income"), "rent", pd.DataFrame({"income": ["x"]}))
    assert not support_of(read("rent <= income"), "rent", SURVEY[["income"]].head(0)).impossible.any()


# Random declarations.

LEVELS: tuple[Any, ...] = ("p", "q", "u")
NUMBERS: tuple[str, ...] = ("a", "b", "c", "d")
TEXTS: tuple[str, ...] = ("r", "s")
COLUMNS = (*NUMBERS, *TEXTS)
SMALL = Table(
    pd.DataFrame(
        {
            **{name: np.tile([0.0, 1.0, 2.0, 3.0], 3) for name in NUMBERS},
            "r": np.tile(["p", "q", "u"], 4),
            "s": ["p", "q", "q", "q", "p", "u", "p", "q", "q", "u", "q", "u"],
        }
    )
)
LIMITS: dict[str, tuple[float, float]] = dict.fromkeys(NUMBERS, (0.0, 3.0))
WHOLE: dict[str, float] = dict.fromkeys(NUMBERS, 1.0)


@st.composite
def claims(draw):
    kind = draw(st.sampled_from(["sum", "sum", "sum", "list", "level", "level", "same", "empty"]))
    if kind == "sum":
        columns = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3, unique=True))
        signs = draw(st.lists(st.sampled_from(["+", "-"]), min_size=len(columns), max_size=len(columns)))
        left = " ".join(f"{sign} {name}" for sign, name in zip(signs, columns, strict=True)).removeprefix("+ ")
        sign = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<=", "!="]))
        return f"{left} {sign} {draw(st.sampled_from(['0', '1', '2', '3', '1.5']))}"
    if kind == "list":
        return f"{draw(st.sampled_from(NUMBERS))} {draw(st.sampled_from(['in', 'not in']))} (0, 2)"
    if kind == "level":
        name, level = draw(st.sampled_from(TEXTS)), draw(st.sampled_from(LEVELS))
        return f"{name} {draw(st.sampled_from(['=', '!=']))} '{level}'"
    if kind == "same":
        return f"r {draw(st.sampled_from(['=', '!=']))} s"
    return f"{draw(st.sampled_from(COLUMNS))} is {draw(st.sampled_from(['', 'not ']))}empty"


@st.composite
def declarations(draw):
    if draw(st.integers(0, 9)) == 0:
        return "(r, s) fixed"
    conclusion = " and ".join(draw(st.lists(claims(), min_size=1, max_size=2)))
    if draw(st.booleans()):
        return conclusion
    return f"{' and '.join(draw(st.lists(claims(), min_size=1, max_size=2)))} -> {conclusion}"


@st.composite
def plans(draw):
    """Declarations, an order of drawing, and how many columns are kept."""
    texts = draw(st.lists(declarations(), min_size=1, max_size=4, unique=True))
    # Contradictory ones too: then records are impossible, and no others are wrong.
    constraints = [_read(text, SMALL, 1) for text in texts]
    order = draw(st.permutations(COLUMNS))
    return constraints, order[: draw(st.integers(0, 4))], order, draw(st.integers(0, 10**6))


def levels_of(columns):
    return {name: LEVELS for name in columns if name in TEXTS}


def draw_within(support, rng, unit):
    """Draw uniformly within a support; some are empty that need not have a value."""
    size = len(support.impossible)
    if support.allowed is not None:
        scores = np.where(support.allowed, rng.random(support.allowed.shape), -1)
        values = np.array(LEVELS, dtype=object)[scores.argmax(axis=1)]
    else:
        low = np.where(np.isfinite(support.lower), support.lower, np.minimum(support.upper, 0) - 9)
        high = np.where(np.isfinite(support.upper), support.upper, low + 9)
        values = rng.uniform(np.minimum(low, high), high)
        if unit:
            values = np.clip(np.rint(values / unit) * unit, low, high)
        values = np.where(np.isnan(support.fixed), values, support.fixed).astype(object)
    empty = support.empty | (~support.filled & (rng.random(size) < 0.1))
    values[empty] = None
    column = pd.Series(values)
    return column if support.allowed is not None else column.astype(float)


UNITS = st.sampled_from([0.0, 1.0, 0.5])


@examples(40)
@given(plans(), UNITS, st.booleans())
def test_constraints_are_kept_by_construction(plan, unit, limited):
    constraints, kept, order, seed = plan
    rng = np.random.default_rng(seed)
    frame = SMALL.frame[kept].sample(12, replace=True, random_state=seed).reset_index(drop=True)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    replaced = [name for name in order if name not in kept]
    possible, units = np.ones(len(frame), dtype=bool), {name: unit * WHOLE[name] for name in NUMBERS}
    for place, name in enumerate(replaced):
        later = replaced[place + 1 :]
        limits = LIMITS if limited else {}
        support = support_of(constraints, name, frame, later, limits, levels_of([name, *later]), units=units)
        possible &= ~support.impossible
        frame = frame.assign(**{name: draw_within(support, rng, unit)})
        has = frame[name].notna().to_numpy() & possible
        if limited and name in NUMBERS:
            assert frame[name][has].between(0, 3).all()
    left = unresolved(constraints, replaced, TEXTS)
    for constraint in constraints:
        if constraint not in left and set(constraint.columns) & set(replaced):
            assert (constraint.holds(frame) | ~possible).all(), constraint.text


@examples(60)
@given(plans(), st.integers(1, 2))
def test_no_value_is_excluded_that_can_be_completed(plan, later_ones):
    constraints, _, order, seed = plan
    column, later = order[-1 - later_ones], list(order[-later_ones:])
    frame = SMALL.frame[order[: -1 - later_ones]].sample(4, random_state=seed).reset_index(drop=True)
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.1)
    support = support_of(constraints, column, frame, later, LIMITS, levels_of([column, *later]), units=WHOLE)
    asked = [each for each in constraints if {column, *later} & set(each.columns)]
    domain = {name: LEVELS if name in TEXTS else (0.0, 1.0, 2.0, 3.0) for name in COLUMNS}
    values = pd.DataFrame(list(product(*(domain[name] for name in (column, *later)))), columns=[column, *later])
    every = frame.reset_index().merge(values, how="cross")
    good = every[np.logical_and.reduce([np.ones(len(every), dtype=bool), *(each.holds(every) for each in asked)])]
    for record, value in zip(good["index"], good[column], strict=True):
        assert not support.impossible[record]
        assert not support.empty[record]
        if support.allowed is not None:
            assert support.allowed[record, LEVELS.index(value)]
        else:
            assert support.lower[record] <= value <= support.upper[record]


@examples(60)
@given(plans())
def test_the_last_column_is_bound_exactly(plan):
    constraints, _, order, seed = plan
    column = order[-1]
    domain: tuple[Any, ...] = LEVELS if column in TEXTS else (0.0, 1.0, 2.0, 3.0)
    constraints = [each for each in constraints if each not in unresolved(constraints, [column], TEXTS)]
    frame = SMALL.frame[order[:-1]].sample(6, random_state=seed).reset_index(drop=True)
    support = support_of(constraints, column, frame, (), LIMITS, levels_of([column]), units=WHOLE)
    asked = [each for each in constraints if column in each.columns]
    for place, value in enumerate(domain):
        tried = frame.assign(**{column: value})
        kept = np.logical_and.reduce([np.ones(6, dtype=bool), *(each.holds(tried) for each in asked)])
        if support.allowed is not None:
            inside = support.allowed[:, place]
        else:
            inside = (support.lower <= value) & (value <= support.upper)
        np.testing.assert_array_equal(inside & ~support.impossible & ~support.empty, kept)


@st.composite
def orderings(draw):
    one, other = draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2, unique=True))
    right = draw(st.sampled_from([other, other, "1", "2"]))
    return f"{one} {draw(st.sampled_from(['<', '<=', '>', '>=', '=']))} {right}{draw(st.sampled_from(['', ' + 1']))}"


@examples(40)
@given(st.lists(orderings(), min_size=1, max_size=5, unique=True), st.permutations(NUMBERS), st.booleans())
def test_orderings_that_do_not_contradict_never_end_in_nothing(texts, order, whole):
    constraints = [_read(text, SMALL, 1) for text in texts]
    units = WHOLE if whole else {}
    assume(not find_contradictions(constraints, SMALL.frame, limits=LIMITS, units=units))
    rng, frame = np.random.default_rng(len(texts)), pd.DataFrame(index=range(5))
    for place, name in enumerate(order):
        support = support_of(constraints, name, frame, order[place + 1 :], LIMITS, units=units)
        assert not support.impossible.any()
        values = rng.uniform(support.lower, support.upper)
        frame = frame.assign(**{name: np.rint(values) if whole else values})
    for constraint in constraints:
        assert constraint.holds(frame).all()
