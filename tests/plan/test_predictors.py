"""What becomes of predictors, and the unit of new values: told by the plan as the models will do it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.plan.plan import plan_settings
from molehill.plan.predictors import sketch_predictors
from molehill.plan.settings import Settings
from molehill.release.making import choose_synthesizer
from molehill.synthesis.synthesizer import Composite
from molehill.tables.table import as_table

RNG = np.random.default_rng(8)
N = 240
ABSENT = np.arange(N) % 20 == 3
WIDE = {f"q{number}": RNG.normal(size=N) for number in range(60)}
PEOPLE = pd.DataFrame(
    {
        # 60 levels of 4 records each: none has enough records to stay.
        "job": [f"job {number % 60:02}" for number in range(N)],
        "sex": pd.Series(["f", "m"] * (N // 2)).mask(ABSENT),
        "age": pd.Series(RNG.integers(18, 90, N)).astype("Int64").mask(ABSENT),
        **WIDE,
    }
)
SIZE = np.exp(7 + WIDE["q7"] + RNG.normal(0, 0.3, N)).round(1)
OUTCOMES = {
    "tdp_mixture": SIZE,
    "normal_linear": SIZE,
    "semicontinuous": np.where(WIDE["q9"] < 0, 0.0, SIZE),
    "negative_binomial": RNG.poisson(np.exp(1 + WIDE["q5"])),
    "poisson": RNG.poisson(np.exp(1 + WIDE["q5"])),
    "multinomial": np.where(WIDE["q3"] < 0, "no", "yes"),
}


def settings_of(model, **changes):
    limits = {} if model == "multinomial" else {"lower": 0.0, "upper": 1e6}
    given = {
        "synthesize": "y",
        "keep": tuple(PEOPLE.columns),
        "known": ["sex"],
        "synthesizer": model,
        **limits,
        **changes,
    }
    return Settings(**given).but(predictors=tuple(PEOPLE.columns))


@pytest.mark.parametrize("model", OUTCOMES)
def test_the_plan_tells_what_the_model_will_learn(model):
    table, settings = as_table(PEOPLE.assign(y=OUTCOMES[model])), settings_of(model)
    sketches = sketch_predictors(table, settings, {"y": model})
    synthesizer: Any = choose_synthesizer(settings.intruder.view(table), settings)
    parts: Any = synthesizer.parts(table).values() if isinstance(synthesizer, Composite) else [synthesizer]
    learned = [part.learn(table, np.ones(N)).facts["design"] for part in parts]
    assert len(learned) == len(sketches)
    for design, sketch in zip(learned, sketches, strict=True):
        assert 0 < len(sketch.left_out) < 60
        for field in ("left_out", "pooled", "missing", "levels", "terms"):
            assert design[field] == getattr(sketch, field), field
        assert abs(len(design["names"]) - sketch.width) <= 1


def test_the_plan_shows_what_is_pooled_filled_in_left_out_and_rounded():
    people = PEOPLE.drop(columns=list(WIDE)).assign(q7=WIDE["q7"], y=SIZE)
    settings = Settings(
        synthesize="y",
        keep=["job", "sex", "age", "q7"],
        known=["sex"],
        lower=0.0,
        upper=1e6,
        accept_identifying=["job"],
    ).but(predictors=("job", "sex", "age", "q7"))
    told = plan_settings(people, settings).columns.set_index("column")["handling"]
    absent = int(ABSENT.sum())
    assert told["job"] == "60 rare levels are one level of the model"
    assert told["sex"] == f"{absent} missing: a level of their own"
    assert told["age"] == f"{absent} missing: the mean stands for them, an indicator tells where"
    assert told["q7"] == ""
    assert told["y"] == "written as multiples of 0.1"
    page = str(plan_settings(people, settings))
    assert all(words in page for words in told)
    wide = plan_settings(PEOPLE.assign(y=SIZE), settings_of("tdp_mixture", accept_identifying=["job"]))
    out = wide.columns.set_index("column")["handling"].str.contains("left out of the model")
    assert 5 < out.sum() < 40
    assert not out["q7"]


def test_a_replaced_column_is_a_predictor_of_the_next():
    table = as_table(PEOPLE[["sex", "q7"]].assign(y=SIZE, z=OUTCOMES["poisson"]))
    settings = Settings(synthesize=["y", "z"], keep=["sex", "q7"], known=["sex"], predictors=["sex", "q7"])
    first, second = sketch_predictors(table, settings, {"y": "normal_linear", "z": "poisson"})
    assert first.terms == ((), ("sex",), ("q7",))
    assert second.terms == ((), ("sex",), ("q7",), ("y",))


def test_missing_values_of_the_replaced_column_and_whole_numbers_are_told():
    pay = pd.Series(RNG.integers(10, 90, N) * 100).astype("Int64").mask(ABSENT)
    people = PEOPLE[["sex"]].assign(y=pay)
    settings = Settings(synthesize="y", keep=["sex"], known=["sex"], lower=0.0, upper=1e5, missing_values="keep")
    told = plan_settings(people, settings).columns.set_index("column").T["y"].to_dict()
    assert told["handling"] == "written as multiples of 100; missing values stay missing"
    assert told["remark"] == f"{ABSENT.sum()} missing"
    # Where it is modelled, no table shows how many are missing: the count stays inside.
    told = plan_settings(people, settings.but(missing_values="model")).columns.set_index("column").T["y"].to_dict()
    assert told["handling"] == "written as multiples of 100; which are missing is modelled too"
    assert told["remark"] == f"{ABSENT.sum()} missing"


def test_of_a_replaced_predictor_the_counts_stay_inside():
    people = PEOPLE[["sex", "q7"]].assign(y=pd.Series(SIZE).mask(ABSENT), z=OUTCOMES["poisson"])
    settings = Settings(
        synthesize=["y", "z"], keep=["sex", "q7"], known=["sex"], lower=0.0, upper=1e6, missing_values="model"
    )
    told = plan_settings(people, settings).columns.set_index("column").T["y"].to_dict()
    assert str(ABSENT.sum()) not in told["handling"]
    assert f"{ABSENT.sum()} missing: the mean stands for them" in told["remark"]
