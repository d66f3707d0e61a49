"""Hundreds of levels or of predictors: the design is narrowed, the fit says so and ends."""

import numpy as np
import pandas as pd
import pytest

from molehill.models import multinomial, negative_binomial, normal_linear, poisson, tdp_mixture
from molehill.synthesis.fitting import draw
from molehill.tables.table import Table
from people import quick_fit

RECORDS = 2000


def wide(levels: int = 0, predictors: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(1)
    numbers = random.normal(size=(RECORDS, predictors + 1))
    frame = pd.DataFrame(numbers[:, :-1], columns=[f"x{i}" for i in range(predictors)])
    if levels:
        frame["place"] = [f"p{place}" for place in random.integers(0, levels, RECORDS)]
    pay = np.exp(8 + 0.3 * numbers[:, 0] + random.normal(0, 0.6, RECORDS)).round()
    count = random.poisson(np.exp(0.5 + 0.3 * numbers[:, 0]))
    return frame.assign(pay=pay, count=count, poor=np.where(pay < 2000, "yes", "no"))


def predictors_of(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if name not in ("pay", "count", "poor")]


@pytest.mark.parametrize(
    ("make", "column", "width"),
    [
        (tdp_mixture, "pay", 120),
        (negative_binomial, "count", 120),
        (normal_linear, "pay", 400),
        (poisson, "count", 400),
        (multinomial, "poor", 400),
    ],
)
def test_of_five_hundred_predictors_every_model_keeps_what_it_can_bear(make, column, width):
    frame = wide(predictors=500)
    learned = make(column, predictors_of(frame)).learn(Table(frame), np.ones(len(frame)))
    assert learned.inputs["design"].shape == (RECORDS, width)
    facts = learned.facts["design"]
    assert len(facts["left_out"]) == 501 - width
    assert "x0" in facts["names"]
    assert learned.again is not None
    np.testing.assert_array_equal(learned.again(Table(frame))["design"], learned.inputs["design"])


@pytest.mark.slow
@pytest.mark.parametrize("many", [{"levels": 300}, {"predictors": 500}])
def test_a_fit_of_very_many_columns_ends(many):
    frame = wide(**many)
    posterior = quick_fit(tdp_mixture("pay", predictors_of(frame)), frame, warmup=20, draws=20, patience=0)
    facts = posterior.learned.facts["design"]
    assert len(facts["names"]) <= 120
    assert facts["pooled"].keys() == ({"place"} if "levels" in many else set())
    released = draw(posterior, datasets=1, seed=1, unconverged="allow")[0]
    assert (released["pay"] == released["pay"].round()).all()
