import numpy as np
import pandas as pd
import pytest

from molehill import InputError, Table
from molehill.rules.formulas import check_formula, derive, quote_part, read_formula_of

FRAME = pd.DataFrame(
    {
        "a": [1.5, -2.0, 0.0, np.nan],
        "b": [2.0, 4.0, 0.0, 3.0],
        "c (net)": [1.0, 2.0, 3.0, 4.0],
        "home": ["x", "x", "y", "y"],
        "sum": [1, 2, 3, 4],
    }
)
NAN = np.nan


def compute(text: str) -> list[float]:
    return read_formula_of("y", text).values(Table(FRAME)).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b - a - 1", [-0.5, 5.0, -1.0, NAN]),
        ("b - (a - 1)", [1.5, 7.0, 1.0, NAN]),
        ("2 * b / 4 + 1e1", [11.0, 12.0, 10.0, 11.5]),
        ("-a * -b", [3.0, -8.0, 0.0, NAN]),
        ("`c (net)` / b", [0.5, 0.5, NAN, 4 / 3]),
        ("log(a)", [np.log(1.5), NAN, NAN, NAN]),
        ("exp(b) - sqrt(b)", [np.exp(2) - np.sqrt(2), np.exp(4) - 2, 1.0, np.exp(3) - np.sqrt(3)]),
        ("min(a, b, 1) + max(a, 0)", [2.5, -2.0, 0.0, NAN]),
        ("coalesce(a, b, 0) + abs(coalesce(a, 7))", [3.0, 0.0, 0.0, 10.0]),
        ("sum(a + b) by home", [5.5, 5.5, 0.0, 0.0]),
        ("count() by home * mean(b) by home", [6.0, 6.0, 3.0, 3.0]),
        ("max(b) by home - min(b) by home", [2.0, 2.0, 3.0, 3.0]),
        ("sum + 1", [2.0, 3.0, 4.0, 5.0]),
        ("exp(1000 * b)", [NAN, NAN, 1.0, NAN]),
    ],
)
def test_formulas_give_what_arithmetic_gives(text, expected):
    np.testing.assert_allclose(compute(text), expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a **2", "it has '*'"),
        ("a +", "it ends where"),
        ("(a", "it ends where '\\)'"),
        ("a b", "it has 'b' where"),
        ("3 + 4", "names no variable"),
        ("", "it ends"),
        ("a; b", "the character ';'"),
        ("__import__('os')", "the character '_'|the character \"'\""),
        ("log(a, b)", "log needs one argument"),
        ("sum(a)", "sum needs 'by'"),
        ("sum(a) by", "it ends where the variable"),
        ("(" * 41 + "a" + ")" * 41, "nested more than 40"),
        ("+".join("a" * 300), "more than 500"),
        ("a" + " " * 5000, "longer than 5,000"),
    ],
)
def test_what_is_no_formula_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        read_formula_of("y", text)


def test_formula_names_its_parts_and_units():
    formula = read_formula_of("y", "(sum(a + b) by home - b) / `c (net)`")
    assert (formula.parts, formula.units) == (("a", "b", "c (net)"), ("home",))
    assert [quote_part(name) for name in ("a", "c (net)", "d`e")] == ["a", "`c (net)`", "`d``e`"]


@pytest.mark.parametrize(("text", "words"), [("a + d", "no variable 'd'"), ("a + home", "'home' is not numeric")])
def test_parts_must_be_numbers_of_the_table(text, words):
    with pytest.raises(InputError, match=words):
        check_formula(read_formula_of("y", text), Table(FRAME), "y")


def test_derived_values_are_written_as_those_of_the_file():
    before = Table(pd.DataFrame({"rate": [0.33, 1.25, 2.0], "whole": [1, 2, 3], "a": [1, 5, 2], "b": [3, 4, 1]}))
    formulas = {"rate": read_formula_of("rate", "a / b"), "whole": read_formula_of("whole", "a + b")}
    drawn = Table(before.frame.assign(a=[2, 7, 1], b=[3, 0, 4]))
    made = derive(drawn, formulas, before).frame
    assert made["rate"].tolist()[::2] == [0.67, 0.25]
    assert np.isnan(made["rate"].tolist()[1])
    assert made["whole"].tolist() == [5, 7, 5]
    assert made["whole"].dtype == np.int64
    assert list(made.columns) == list(before.frame.columns)
