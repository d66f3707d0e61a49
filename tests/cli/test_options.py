"""Settings on the command line: each named once, lists of names with commas between."""

from typing import get_args

import pytest

from molehill.cli.options import NAMES, read_given
from molehill.errors import InputError
from molehill.plan.settings import Names, Settings


def test_the_lists_of_names_are_those_of_the_settings():
    listed = {
        name
        for name, field in Settings.model_fields.items()
        if field.annotation == Names or Names in get_args(field.annotation)
    }
    # Rules and formulas have commas of their own.
    assert set(NAMES) == listed - {"release_criteria", "regressions", "constraints"}


@pytest.mark.parametrize("name", NAMES)
def test_names_may_have_commas_between(name):
    assert read_given([f"{name}=Age,Urban"]) == {name: ["Age", "Urban"]}
    assert read_given([f"{name} = Age , Urban "]) == {name: ["Age", "Urban"]}
    assert read_given([f"{name}=['Age', 'Urban']"]) == {name: ["Age", "Urban"]}
    assert read_given([f"{name}=Age"]) == {name: ["Age"]}


@pytest.mark.parametrize("quoted", ['"age, in years"', "'age, in years'", '"""age, in years"""'])
def test_a_name_in_quotes_is_taken_whole(quoted):
    given = read_given([f"known={quoted}"])
    assert given == {"known": "age, in years"}
    assert Settings(synthesize="pay", **given).known == ("age, in years",)


@pytest.mark.parametrize("name", ["2020", "true", "1.5", "2020-01-01", "inf"])
def test_a_column_may_be_called_like_a_number(name):
    assert read_given([f"known={name}"]) == {"known": [name]}
    assert read_given([f"known={name},age"]) == {"known": [name, "age"]}


def test_rules_formulas_and_other_settings_are_not_split():
    given = read_given(
        ["release_criteria=U_m <= 0.03", "regressions=pay ~ poly(age, 2)", "data=a,b.csv", "risk_order=1"]
    )
    assert given == {
        "release_criteria": "U_m <= 0.03",
        "regressions": "pay ~ poly(age, 2)",
        "data": "a,b.csv",
        "risk_order": 1,
    }


def test_nothing_between_commas_is_refused_by_the_settings():
    with pytest.raises(InputError, match="'known' must be a list of column names"):
        Settings(synthesize="pay", **read_given(["known=age,,town"]))


@pytest.mark.parametrize(
    "given", [["risk_order=1", "risk_order=2"], ["known=age", " known =age"], ["seed=1", "risk_order=1", "seed=1"]]
)
def test_a_setting_is_given_once(given):
    with pytest.raises(InputError, match=r"set: '(risk_order|known|seed)' is given more than once. Give it once"):
        read_given(given)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[" * 5000 + "]" * 5000, "nested too deeply"),
        ("9" * 100_000, "a number with too many digits"),
        ("[1, " + "9" * 100_000 + "]", "a number with too many digits"),
    ],
)
@pytest.mark.parametrize("name", ["risk_order", "known"])
def test_a_hostile_value_is_refused_for_its_true_reason(name, value, words):
    if name == "known" and value.isdigit():
        pytest.skip("that could be the name of a column")
    with pytest.raises(InputError, match=f"set: '{name}' (has|is) {words}") as caught:
        read_given([f"{name}={value}"])
    assert len(str(caught.value)) < 300
    assert caught.value.__context__ is None


def test_a_value_cannot_bring_other_settings_along():
    assert read_given(["risk_order=1\nseed=5"]) == {"risk_order": "1\nseed=5"}
