"""How long a run takes is counted by what it will do; the machine itself is measured once."""

import numpy as np
import pandas as pd
import pytest

from molehill import Settings
from molehill.plan import cost
from molehill.plan.plan import complete_settings
from molehill.release.making import prepare
from molehill.tables.populations import consumer_survey
from molehill.tables.table import as_table

SURVEY = consumer_survey(2000)
KEPT = [name for name in SURVEY if name != "income"]
SETTINGS = Settings(synthesize="income", keep=KEPT, known=("gender", "age"), lower=0.0, upper=2e6, preserve=("age",))


@pytest.fixture(autouse=True)
def _ours(monkeypatch):
    monkeypatch.setattr(cost, "slowness", lambda: 1.0)


def seconds(people: pd.DataFrame = SURVEY, **changes) -> float:
    table = as_table(people)
    return cost.estimate_seconds(complete_settings(SETTINGS.but(**changes), table), table)


@pytest.mark.parametrize(
    "less",
    [
        {"datasets": 5},
        {"min_leaf_size": 30},
        {"max_fits": 2},
        {"compare": ()},
        {"expected_risk_draws": 40},
        {"attacks": "none"},
    ],
)
def test_less_to_do_takes_less_time(less):
    assert seconds(**less) < seconds()


def test_more_records_variables_and_rules_take_more_time():
    many = pd.concat([SURVEY] * 5, ignore_index=True)
    assert seconds(many) > 2 * seconds()
    several = {"synthesize": ("income", "education"), "keep": [name for name in KEPT if name != "education"]}
    assert seconds(**several) > seconds()
    assert seconds(release_criteria="mean expected <= 0.1") > seconds()


def test_what_a_search_tries_is_what_is_counted():
    job = prepare(SURVEY, SETTINGS.but(seed=1))
    assert cost.candidate_leaves(job.settings, 2000) == job.leaves == (10.0, 25.0, 50.0, 100.0, 200.0)


def test_a_machine_that_is_slower_takes_as_much_longer(monkeypatch):
    quick = seconds()
    monkeypatch.setattr(cost, "slowness", lambda: 3.0)
    assert np.isclose(seconds(), 3 * quick)
