"""The plan: no column without a fate, none with one that is not safe, and one page that says it all."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.models import BUILT_IN
from molehill.plan.plan import MODELS, complete_settings, plan_settings
from molehill.plan.settings import Settings
from molehill.tables.table import Table

RNG = np.random.default_rng(8)
N = 200
PEOPLE = pd.DataFrame(
    {
        "id": np.arange(1, N + 1),
        "sex": RNG.choice(["f", "m"], N),
        "town": np.repeat(["A", "B", "C", "D"], [120, 70, 9, 1]),
        "illness": RNG.choice(["none", "flu"], N),
        "pay": np.exp(RNG.normal(7, 0.5, N)).round(2),
    }
)
SETTINGS = Settings(
    synthesize=("pay",),
    keep=("sex", "town", "illness"),
    drop=("id",),
    known=("sex", "town"),
    lower=0.0,
    upper=3000.0,
)


def test_one_page_says_what_becomes_of_every_column(monkeypatch):
    plan = plan_settings(Table(PEOPLE, {"pay": "Monthly pay"}), SETTINGS)
    assert plan.columns["fate"].tolist() == ["drop", "keep", "keep", "keep", "synthesize"]
    assert plan.columns["model"].tolist() == ["", "", "", "", "forest"]
    assert plan.columns["label"].tolist()[-1] == "Monthly pay"
    sizes = PEOPLE.groupby(["sex", "town"]).size()
    assert plan.patterns == len(sizes)
    for size in (2, 3, 5, 10):
        assert plan.small[size] == (int((sizes < size).sum()), int(sizes[sizes < size].sum()))
    assert plan.outside == {"pay": int((PEOPLE["pay"] > 3000).sum())}
    page = str(plan)
    assert "1 replaced, 3 published as collected, 1 dropped" in page
    assert "looks sensitive (health), published as collected" in page
    assert "0 to 3,000" in page
    assert "The intruder knows sex, town" in page
    assert "Estimate: about" in page
    # No value of the table stands on it.
    assert not [value for value in PEOPLE["pay"] if f"{value}" in page]
    assert "MORE MEMORY" not in page
    monkeypatch.setattr("molehill.plan.plan.available_memory", lambda: 1000)
    assert "THAT IS MORE MEMORY THAN THE 0 MiB THAT ARE FREE" in str(plan)


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"drop": ()}, "columns", "'id'"),
        ({"keep": ("sex", "town"), "undecided": ("illness",)}, "columns", "'illness'"),
        ({"keep": ("sex", "town", "ilness")}, "keep", "Did you mean 'illness'"),
        ({"drop": ("id", "town"), "keep": ("sex", "illness")}, "known", "'town' is dropped"),
        ({"keep": ("id", "sex", "town", "illness"), "drop": ()}, "keep", "may name people"),
        ({"upper": None}, "columns", "no upper"),
        ({"upper": {"sex": 3.0}}, "columns", "no upper"),
        ({"upper": -1.0}, "lower", "that of 'pay' is not below its upper"),
        ({"lower": {"pay": 3000.0}}, "lower", "that of 'pay' is not below its upper"),
        ({"kinds": {"pay": "categorical"}}, "lower", "is a category"),
        ({"kinds": {"pay": "categorical"}, "lower": None, "upper": None}, "synthesize", "new values would be true"),
        (
            {"synthesize": ("sex",), "keep": ("town", "illness"), "drop": ("id", "pay"), "known": "town"},
            "lower",
            "categ",
        ),
    ],
)
def test_what_is_open_or_unsafe_is_refused(change, argument, words):
    with pytest.raises(InputError, match=words) as caught:
        plan_settings(PEOPLE, SETTINGS.but(**change))
    assert caught.value.argument == argument


def test_a_new_column_in_next_years_file_cannot_slip_out():
    with pytest.raises(InputError, match="it is not said what becomes of 'religion'"):
        plan_settings(PEOPLE.assign(religion="x"), SETTINGS)


def test_the_page_tells_bounds_that_are_not_ours():
    bounds = {"matches_true": {"amber": 0.02}, "closest_records": "off"}
    page = str(plan_settings(PEOPLE, SETTINGS.but(thresholds=bounds)))
    assert "Judged by bounds of yours: matches_true (amber 0.02), closest_records (off)." in page
    assert "bounds of yours" not in str(plan_settings(PEOPLE, SETTINGS))
    with pytest.raises(InputError, match=r"there is no measure 'U_n'. Did you mean 'U_m'"):
        plan_settings(PEOPLE, SETTINGS.but(thresholds={"U_n": {"amber": 0.1, "red": 0.2}}))


def test_models_are_those_of_the_kinds():
    assert {model.kind: name for name, model in BUILT_IN.items() if model.kind} | {"date": "normal_linear"} == MODELS


def test_a_name_of_a_column_moves_no_cursor():
    odd = "two\nlines"
    plan = plan_settings(PEOPLE.rename(columns={"illness": odd}), SETTINGS.but(keep=("sex", "town", odd)))
    assert "two\N{REPLACEMENT CHARACTER}lines" in str(plan)


def test_an_order_that_no_pattern_has_records_for_is_refused():
    people = pd.DataFrame({"town": ["A"] * 30 + ["B"] * 10, "pay": np.linspace(900.5, 5000, 40)})
    settings = Settings(
        synthesize="pay", keep=["town"], known=["town"], lower=0.0, upper=9e4, risk_order=30, small_patterns="marginal"
    )
    assert plan_settings(people, settings).patterns == 2
    with pytest.raises(InputError, match="order: it is 31, and no pattern has more than 30 records"):
        plan_settings(people, settings.but(risk_order=31))


def test_many_dates_that_may_name_people_are_no_predictor():
    people = pd.DataFrame({"town": ["A", "B"] * 60, "pay": np.linspace(900.5, 5000, 120)})
    people["moved"] = pd.date_range("2001-01-01", periods=120)
    call: dict[str, Any] = {
        "synthesize": "pay",
        "keep": ["town", "moved"],
        "known": "town",
        "accept_identifying": "moved",
    }
    settings = Settings(**call, lower=0.0, upper=20_000.0)
    assert complete_settings(settings, Table(people)).predictors == ("town",)
    assert complete_settings(settings.but(accept_identifying=()), Table(people)).predictors == ("town", "moved")
    told = plan_settings(people, settings).columns.set_index("column")["handling"]
    assert told["moved"] == "no predictor of the model"


@pytest.mark.parametrize(
    ("change", "predictors"),
    [
        ({}, ("sex", "town", "illness")),
        ({"regressions": ("pay ~ town",)}, ("town",)),
        ({"regressions": ("pay ~ town",), "preserve": ("sex",)}, ("sex", "town")),
        ({"regressions": ("town ~ pay",)}, ("town",)),
        ({"regressions": ("pay ~ 1",)}, ("sex", "town", "illness")),
        ({"preserve": ("illness",)}, ("illness",)),
        ({"regressions": ("pay ~ town",), "predictors": ("sex",)}, ("sex",)),
        ({"regressions": ("pay ~ town",), "method": "paper"}, ("sex", "town", "illness")),
    ],
)
def test_only_what_is_asked_for_is_conditioned_on(change, predictors):
    assert complete_settings(SETTINGS.but(**change), Table(PEOPLE)).predictors == predictors


def test_relations_must_be_columns():
    with pytest.raises(InputError, match=r"preserve: .*'twon'.* Did you mean 'town'"):
        complete_settings(SETTINGS.but(preserve=("twon",)), Table(PEOPLE))


def test_a_regression_that_would_never_end_is_refused_by_the_plan():
    with pytest.raises(InputError, match=r"regressions: of 'pay ~ sex\*\*999999999' the power"):
        plan_settings(PEOPLE, SETTINGS.but(regressions=("pay ~ town", "pay ~ sex**999999999")))


# Surveys.

SAMPLED = PEOPLE.assign(
    weight=RNG.uniform(5, 50, N), psu=np.arange(N) // 4, r1=RNG.uniform(5, 50, N), r2=RNG.uniform(5, 50, N)
)
OF_SURVEY = SETTINGS.but(
    keep=["sex", "town", "illness", "weight", "psu"], drop=["id", "r1", "r2"], survey_design="weight"
)


@pytest.mark.parametrize(
    ("changes", "predictors"),
    [
        ({}, ("sex", "town", "illness", "weight", "psu")),
        ({"survey_design": {"weight": "weight", "cluster": "psu"}}, ("sex", "town", "illness", "weight")),
        # A weight that models count by is no predictor; nor are replicates, ever.
        ({"survey_fit": "weights"}, ("sex", "town", "illness", "psu")),
        (
            {
                "survey_design": {"weight": "weight", "replicates": ["r1", "r2"], "method": "brr"},
                "keep": [*OF_SURVEY.keep, "r1", "r2"],
                "drop": ["id"],
            },
            ("sex", "town", "illness", "weight", "psu"),
        ),
        ({"survey_fit": "ignore"}, ("sex", "town", "illness", "psu")),
        # With relations the weight comes along: whoever weights needs it.
        ({"preserve": ["town"]}, ("town", "weight")),
        ({"preserve": ["town"], "survey_fit": "weights"}, ("town",)),
        (
            {"survey_design": {"weight": "weight", "stratum": "sex"}, "survey_fit": "weights", "preserve": ["town"]},
            ("sex", "town"),
        ),
        ({"predictors": ["illness"]}, ("illness",)),
    ],
)
def test_what_models_condition_on_of_a_design(changes, predictors):
    assert complete_settings(OF_SURVEY.but(**changes), Table(SAMPLED)).predictors == predictors


def test_the_page_tells_the_design_and_what_is_made_of_it():
    told = f"{plan_settings(SAMPLED, OF_SURVEY)}"
    assert "the survey's weight" in told
    assert "New values are drawn given 'weight', by models that count a record as often" in told
    heavy = plan_settings(SAMPLED, OF_SURVEY.but(survey_fit="weights"))
    assert "drawn from the population, with the spread of the design" in f"{heavy}"
    dropped = OF_SURVEY.but(keep=["sex", "town", "illness", "psu"], drop=["id", "weight", "r1", "r2"])
    assert "IS DROPPED" in f"{plan_settings(SAMPLED, dropped)}"
    light = SAMPLED.assign(weight=SAMPLED["weight"] / SAMPLED["weight"].mean())
    assert "not to a population" in f"{plan_settings(light, OF_SURVEY)}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"survey_design": "wait"}, "survey_design: .*'wait'"),
        (
            {"survey_design": {"weight": "weight", "stratum": "town"}},
            "survey_design: stratum: 1 strata .* have a single record",
        ),
        ({"survey_design": "sex"}, "survey_design: weight"),
        (
            {
                "synthesize": ["weight", "pay"],
                "keep": ["sex", "town", "illness", "psu"],
                "lower": {"pay": 0.0, "weight": 0.0},
                "upper": {"pay": 3000.0, "weight": 99.0},
            },
            "lower: 'weight' is the design weight",
        ),
    ],
)
def test_a_design_that_the_table_does_not_bear_is_refused(changes, words):
    with pytest.raises(InputError, match=words):
        plan_settings(SAMPLED, OF_SURVEY.but(**changes))
