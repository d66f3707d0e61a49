from typing import Any

import numpy as np
import pandas as pd
import pytest
from formulaic import Formula

from molehill import InputError
from molehill.utility.analyses import read_formula, refuse_wide


def test_columns_get_neutral_names_and_their_own_again():
    read = read_formula("`log` ~ `family size`*C(class) + I(age**2) - 1")
    assert read.text == "column_0_ ~ column_1_*C(column_2_) + I(column_3_**2) - 1"
    assert read.columns == ("log", "family size", "class", "age")
    assert read.restore("column_1_:C(column_2_)[T.b]") == "family size:C(class)[b]"


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("income ~ __import__('os')", "'__import__' is not allowed"),
        ("income ~ np.log(age)", "the character '.' is not allowed"),
        ("income ~ {age}", "the character '{' is not allowed"),
        ("income ~ age[0]", "the character '\\[' is not allowed"),
        ("income ~ eval(age)", "'eval' is not allowed"),
        ("income", "it must have the form"),
        ("~ age", "it must have the form"),
        ("income + age ~ region", "it must have the form"),
        ("income ~ age ~ region", "it must have the form"),
        (3, "it is of type int"),
    ],
)
def test_what_is_not_a_plain_formula_is_refused(formula, message):
    with pytest.raises(InputError, match=f"formula: .*{message}"):
        read_formula(formula)


@pytest.mark.parametrize(
    ("predictors", "message"),
    [
        ("(a+b+c+d)**30", "the power '30' is not a whole number from 1 to 20"),
        ("(a+b+c+d)**15", "expanded it has more than 1,000 terms"),
        ("((a+b+c+d)^4)^4", "expanded it has more than 1,000 terms"),
        ("a**999999999", "the power '999999999' is not a whole"),
        ("a**b", "the power 'column_2_' is not a whole"),
        ("a**2**2", "the power 'of a power' is not a whole"),
        ("a*b*c*d*e*f*g*h*i*j*k", "more than 1,000 terms"),
        ("(a+b+c+d)*(a+b+c+d)*(a+b+c+d)*(a+b+c+d)*(a+b+c+d)*" + "*".join("efghijk"), "more than 1,000 terms"),
        (":".join(["(a+b)"] * 12 + list("cdefghijkl")), ""),
        ("I(a**999999999)", "a power above 20"),
        ("I(9**9**9**9)", "a power above 20"),
        ("I(((9**9)**9)**9)", "a number in it is too large"),
        ("I(" + "*".join(["9999999999"] * 9) + ")", "a number in it is too large"),
        ("I((0-9)**0.5)", "a number in it is too large"),
        ("poly(a, 99999)", "'poly' has a number above 30"),
        ("bs(a, 15*15)", "'bs' has a number above 30"),
        ("(" * 400 + "a" + ")" * 400, "more than 50 deep"),
        ("a + " * 600 + "a", "longer than 2,000 characters"),
        ("(a", "the formula cannot be read"),
        ("a b", "the formula cannot be read"),
    ],
)
def test_what_would_never_end_is_refused_before_it_is_multiplied_out(predictors, message):
    if not message:
        assert len(read_formula(f"income ~ {predictors}").terms) == 3
        return
    with pytest.raises(InputError) as caught:
        read_formula(f"income ~ {predictors}")
    assert caught.value.argument == "formula"
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "predictors",
    [
        "a + b:c - 1",
        "0 + a*b*c",
        "a/(b + c) - b",
        "(a + b + c)**3 - a:b",
        "a*b - a + -c",
        "(a + b)^2*C(c) + log(a*2 + 1) + poly(b, 2)",
        "a + I(a**2) + I(-a**2 + (b - 1)/2)",
        "a + 1 + b*a",
    ],
)
def test_terms_are_those_of_formulaic(predictors):
    by_formulaic: Any = Formula
    read = read_formula(f"income ~ {predictors}")
    theirs = {
        frozenset(factor.expr.replace(" ", "") for factor in term.factors) for term in by_formulaic(read.text).rhs
    }
    assert {term or frozenset("1") for term in read.terms} | {frozenset("1")} == theirs | {frozenset("1")}


def test_categories_that_make_too_many_coefficients_are_refused_before_they_are_made():
    names = np.arange(2_000)
    people = pd.DataFrame({"pay": names % 7, "job": names % 41, "town": (names // 41).astype(str), "age": names})
    with pytest.raises(InputError, match="formula: it has more than 1,000 coefficients"):
        refuse_wide(people, read_formula("pay ~ C(job)*town"))
    # Forty by forty-eight, without their products; and numbers have one each.
    refuse_wide(people, read_formula("pay ~ C(job) + town + job*age + job*town"))
