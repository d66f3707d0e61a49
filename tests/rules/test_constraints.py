"""Constraints are read as they are written, hold where they should, and every problem in them is told."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.rules.constraints import count_broken, quote_key, quote_name
from molehill.rules.reading import read_constraints
from molehill.tables.cells import declare_missing
from molehill.tables.formats.formats import read_table
from molehill.tables.table import Table
from properties import examples


@pytest.fixture
def people():
    return pd.DataFrame(
        {
            "age": pd.array([8, 40, 41, None], dtype="Int64"),
            "income": [np.nan, 900.5, 2000.0, 300.0],
            "rent": [np.nan, 1000.0, 500.0, 300.0],
            "home": ["own", "rent", None, "rent"],
            "region": pd.Categorical(["n", "s", "s", "n"], categories=["n", "s", "w"]),
            "works": [False, True, True, False],
            "born": pd.to_datetime(pd.Series(["2015-03-01", "1983-01-01", None, "1950-07-01"])),
            "died": pd.to_datetime(pd.Series([None, "1982-01-01", "2020-01-01", "2020-01-01"])),
        }
    )


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("rent <= income", [1, 0, 1, 1]),
        ("rent < income", [1, 0, 1, 0]),
        ("income > rent", [1, 0, 1, 0]),
        ("rent = income", [1, 0, 0, 1]),
        ("rent != income", [1, 1, 1, 0]),
        ("age < 15", [1, 0, 0, 1]),
        ("15 > age", [1, 0, 0, 1]),
        ("-age <= -40", [0, 1, 1, 1]),
        ("age + 1 = 42", [0, 0, 1, 1]),
        ("income + rent - 2 * 1", None),
        ("income + rent >= 1.9005e3", [1, 1, 1, 0]),
        ("income - rent = 1.5e3", [1, 0, 1, 0]),
        ("income-rent=1500", [1, 0, 1, 0]),
        ("age < 15 -> home = 'own'", [1, 1, 1, 1]),
        ("age < 15 -> home = 'rent'", [0, 1, 1, 1]),
        # Of the age that is missing no condition is true; of the home that is missing no conclusion is false.
        ("age >= 0 -> home = 'rent'", [0, 1, 1, 1]),
        ("home = 'rent' and age > 30 -> income > 1000", [1, 0, 1, 1]),
        ("age > 30 -> income > 1000 and rent > 600", [1, 0, 0, 1]),
        ("age in (8, 40)", [1, 1, 0, 1]),
        ("age not in (8, 40)", [0, 0, 1, 1]),
        ("home in ('rent', \"other\")", [0, 1, 1, 1]),
        ("'rent' != home", [1, 0, 1, 0]),
        ("region = 's'", [0, 1, 1, 0]),
        ("region != 'w'", [1, 1, 1, 1]),
        ("works = 'True'", [0, 1, 1, 0]),
        ("age < 15 -> income is empty", [1, 1, 1, 1]),
        ("income is not empty", [0, 1, 1, 1]),
        ("home is empty -> region = 'n'", [1, 1, 0, 1]),
        ("born <= died", [1, 0, 1, 1]),
    ],
)
def test_where_a_constraint_holds(people, text, holds):
    if holds is None:
        with pytest.raises(InputError, match=r"the character '\*' is not allowed"):
            read_constraints(text, people)
        return
    (read,) = read_constraints([text], people)
    assert read.holds(people).tolist() == [bool(each) for each in holds]
    assert count_broken([read], people) == {text: holds.count(0)}
    # A column that is not drawn yet breaks nothing.
    assert read.holds(people.drop(columns=list(read.columns))).all()
    assert pickle.loads(pickle.dumps(read)) == read  # noqa: S301


def test_columns_of_a_constraint_are_in_its_order():
    frame = pd.DataFrame({"a": [1.0], "b": [1.0], "c": ["x"]})
    (read,) = read_constraints("b > 0 and a > 0 -> c = 'x' and a < 9", frame)
    assert read.columns == ("b", "a", "c")
    assert str(read) == read.text


def test_fixed_combinations_are_those_of_several_records():
    frame = pd.DataFrame({"region": ["n"] * 6 + ["s"] * 4, "state": [1, 1, 1, 2, 2, 2, 3, 3, 3, 1]})
    (three,) = read_constraints("(region, state) fixed", frame)
    (two,) = read_constraints("(region, state) fixed", frame, least=1)
    assert three.holds(frame).tolist() == [True] * 9 + [False]
    assert two.holds(frame).all()
    assert three.holds(pd.DataFrame({"region": ["s", "n", None, "x"], "state": [2, 2, 3, 1.0]})).tolist() == [
        False,
        True,
        True,
        False,
    ]
    # The combinations are confidential: they are not shown.
    assert "combinations" not in repr(three)
    with pytest.raises(InputError, match="no combination of these variables occurs in 7 records"):
        read_constraints("(region, state) fixed", frame, least=7)


def test_text_of_two_columns_is_compared():
    frame = pd.DataFrame({"a": ["x", "y", None], "b": pd.Categorical(["x", "x", "z"])})
    same, other = read_constraints(["a = b -> a = 'x'", "a != b -> b = 'x'"], frame)
    assert same.holds(frame).all()
    (plain,) = read_constraints("b = a", frame)
    assert plain.holds(frame).tolist() == [True, False, True]
    assert other.holds(frame).all()


def test_a_value_label_stands_for_its_number():
    table = Table(pd.DataFrame({"status": [1, 2, 2]}), value_labels={"status": {1: "single", 2: "<married>"}})
    (read,) = read_constraints("status = '<married>'", table)
    assert read.holds(table.frame).tolist() == [False, True, True]
    with pytest.raises(InputError, match="'status' is numeric, and the text in quotes is none of its value labels"):
        read_constraints("status = 'divorced'", table)


def test_sums_are_equal_but_for_rounding():
    frame = pd.DataFrame({"a": [0.1, 1e9 + 0.1], "b": [0.2, 0.2], "c": [0.3, 1e9 + 0.3]})
    (read,) = read_constraints("a + b = c", frame)
    assert read.holds(frame).all()
    assert not read.holds(frame.assign(c=frame["c"] + [1e-9, 0.01])).any()
    (less,) = read_constraints("a + b < c", frame)
    assert not less.holds(frame).any()


def test_the_file_of_nist(shared):
    table = read_table(shared / "nist_ma.csv")
    table = declare_missing(table, {name: ["N"] for name in ("MSP", "PINCP", "EDU", "INDP_CAT")})
    declared = ["AGEP < 15 -> PINCP is empty", "PINCP is not empty -> AGEP >= 15", "MSP = 1 -> AGEP >= 18", "EDU <= 9"]
    frame = table.frame
    assert count_broken(read_constraints(declared, table), table) == {
        declared[0]: 0,
        declared[1]: 0,
        declared[2]: int(((frame["MSP"] == 1) & (frame["AGEP"] < 18)).sum()),
        declared[3]: int((frame["EDU"] > 9).sum()),
    }
    (fixed,) = read_constraints("(HOUSING_TYPE, OWN_RENT) fixed", table)
    sizes = frame.groupby(["HOUSING_TYPE", "OWN_RENT"])["AGEP"].transform("size")
    np.testing.assert_array_equal(fixed.holds(frame), sizes >= 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty: remove it"),
        (" \n ", "it is empty: remove it"),
        ("agee < 15", "there is no variable 'agee': Did you mean 'age'? The names are"),
        ("`Rent ` <= income", "there is no variable 'Rent ': Did you mean 'rent'?"),
        ("(age, regoin) fixed", "Did you mean 'region'?"),
        ("age << 15", "it has '<' where the name of a variable is expected"),
        ("age == 15", "write = instead of =="),
        ("age <> 15", "write != instead of <>"),
        ("age < 15 or age > 20", "it has 'or' where 'and', '->' or the end is expected"),
        ("age < ", "it ends where the name of a variable is expected"),
        ("age", "it ends where a comparison, 'in' or 'is' is expected"),
        ("0 <= age <= 15", "it chains comparisons: join them by 'and'"),
        ("age < 3 -> age < 4 -> age < 5", "it has more than one ->"),
        ("-> age < 4", "it has '->' where the name of a variable is expected"),
        ("age < 3 ->", "it ends where the name of a variable is expected"),
        ("age < 3; import os", "the character ';' is not allowed"),
        ("__import__('os')", "there is no variable '__import__'"),
        ("age < $3", "the character '$' is not allowed"),
        ("age < 3 000", "it has '000' where 'and', '->' or the end is expected"),
        ("age < 1.000.000", "a number is invalid"),
        ("age < 1" + "0" * 40, "a number has more than 30 digits"),
        ("age < 15x", "a number is invalid"),
        ("home = 'own", "a ' is not closed"),
        ('home = "own', 'a " is not closed'),
        ("`home = 'own'", "a ` is not closed"),
        ("home < 'own'", "text has no order: use = or != instead of <"),
        ("home < age", "'home' is text, which has no order"),
        ("home = age", "'home' is text, and 'age' is numbers: they cannot be compared"),
        ("home + age = 3", "'home' is text, and cannot be added"),
        ("age + 'x' = 3", "text in quotes cannot be added"),
        ("'a' = 'b'", "it compares two texts, and no variable"),
        ("home = 3", "'home' is text: put 3 in quotes"),
        ("home in ('own', 3)", "'home' is text: put 3 in quotes"),
        ("home = home", "it compares a variable with itself"),
        ("home = 'castle'", "no record has this text in home: write it as it is in the data"),
        ("works = 1", "'works' is text: put 1 in quotes"),
        ("works = 'yes'", "write it as it is in the data, 'True' or 'False'"),
        ("age = 'own'", "'age' is numeric, and the text in quotes is no number"),
        ("age - age < 3", "the variables cancel out"),
        ("3 < 4", "it names no variable"),
        ("age + rent is empty", "'is' needs a single variable"),
        ("age is nothing", "it has 'nothing' where 'empty' is expected"),
        ("age not < 3", "it has '<' where 'in' is expected"),
        ("age in 3", "it has '3' where '(' is expected"),
        ("age in ()", "it has ')' where a number or a text in quotes is expected"),
        ("born < 3", "'born' is a date, which can be compared with dates only"),
        ("born < age", "'born' is a date, which can be compared with dates only"),
        ("born = '2020-01-01'", "'born' is a date, which can be compared with dates only"),
        ("(age) fixed", "fixed needs two or more different variables"),
        ("(age, age) fixed", "fixed needs two or more different variables"),
        ("(age, home)", "it ends where 'fixed' is expected"),
        ("(born, home) fixed", "'born' is a date"),
        ("age < 3 -> (age, home) fixed", "it has '(' where the name of a variable is expected"),
        ("age < 3" + " and age < 3" * 300, "it is longer than 2,000 characters"),
    ],
)
def test_a_problem_is_told(people, text, problem):
    with pytest.raises(InputError) as told:
        read_constraints([text], people)
    assert problem in str(told.value)
    assert str(told.value).startswith("constraints: '") or str(told.value).startswith('constraints: "')


def test_every_problem_is_told_at_once(people):
    declared = ["agee < 15", "rent <= income", "home < 3", "income >= rent", "age < 3", "age > 5"]
    with pytest.raises(InputError) as told:
        read_constraints(declared, people)
    assert str(told.value).startswith("constraints: 4 problems: 'agee < 15': there is no variable")
    assert "'income >= rent' is equivalent to 'rent <= income': remove one of the two" in str(told.value)
    assert "'age < 3' and 'age > 5' contradict each other" in str(told.value)
    assert str(told.value).endswith("Correct all of them.")


@pytest.mark.parametrize("twice", ["rent<=income", "income >= rent", "0 >= rent - income"])
def test_the_same_constraint_twice(people, twice):
    with pytest.raises(InputError, match="is equivalent to 'rent <= income'"):
        read_constraints(["rent <= income", twice], people)


def test_what_is_no_text(people):
    for wrong in (3, [3], None, people):
        with pytest.raises(InputError, match="constraints: they are not texts"):
            read_constraints(wrong, people)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="least: it must be a whole number from 1 up"):
        read_constraints("(age, home) fixed", people, least=0)
    assert read_constraints([], people) == ()


def test_values_that_nobody_can_compare():
    frame = pd.DataFrame({"a": [[1], [2]], "b": [1, 2]})
    with pytest.raises(InputError, match="'a' has values of several types"):
        read_constraints("a = 'x'", frame)


def test_a_level_of_the_table_is_never_told(people):
    people["home"] = ["secret"] * 4
    with pytest.raises(InputError) as told:
        read_constraints(["home = 'sacret'", "(home, age) fixed", "home = age"], people)
    assert "secret" not in str(told.value)


ODD = ["<script>", "it's", 'say "so"', "two\nlines", "税", "rent (net)", "in", "a`b", "``", "é.ø", "-> and", " "]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("level", [*ODD, ""])
def test_odd_names_and_levels(name, level):
    frame = pd.DataFrame({name: [level, "other"], "n": [1, 2]})
    text = f"n = 1 -> {quote_name(name)} = {quote_key(level)}"
    (read,) = read_constraints([text], frame)
    assert set(read.columns) == {"n", name}
    assert read.holds(frame).all()
    assert read.holds(frame.assign(n=1)).tolist() == [True, False]
    assert "\n" not in str(read)


@examples(100)
@given(st.text(st.sampled_from("ab 1.'\"`<=>!+-(),inotfixedsmpy→\n"), max_size=30))
def test_any_text_is_read_or_refused(text):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "i": [1, 2]})
    try:
        declared = read_constraints([text], frame)
    except InputError:
        declared = ()
    for constraint in declared:
        assert constraint.holds(frame).shape == (2,)
