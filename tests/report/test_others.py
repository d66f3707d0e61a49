"""A report on anybody's tables: the same page without what only a maker knows."""

import re

import numpy as np
import pandas as pd
import pytest

from drawing import without_drawings  # noqa: F401
from molehill import InputError
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.report.others import gather_evidence, report_tables
from molehill.risk.intruder import Intruder
from molehill.utility import mean, regression

RANDOM = np.random.default_rng(4)
PEOPLE = pd.DataFrame(
    {
        "town": RANDOM.choice(["A", "B"], 120),
        "home": RANDOM.choice(["own", "rent"], 120),
        "pay": np.round(RANDOM.lognormal(10, 1, 120)),
        "rent": np.round(RANDOM.lognormal(6, 1, 120)),
        "id": np.arange(120),
    }
)
EYES = Intruder(known=["town"], sensitive=["pay", "home"], radius=0.2, kinds={"home": "categorical"})


def others(seed):
    order = np.random.default_rng(seed).permutation(120)
    return PEOPLE.assign(pay=PEOPLE["pay"].to_numpy()[order], home=PEOPLE["home"].to_numpy()[order], rent=1).drop(
        columns="id"
    )


@pytest.fixture(scope="module")
def evidence():
    released = {"synthpop": [others(1), others(2)], "as it is": PEOPLE}
    analyses = [mean("pay"), regression("pay ~ town")]
    evaluation = evaluate(PEOPLE, released, EYES, EvaluationOptions(analyses=analyses, propensity_methods=()))
    return released, evaluation


def test_the_report_shows_every_replaced_column_and_the_regressions(evidence):
    released, evaluation = evidence
    html = report_tables(PEOPLE, released, evaluation, EYES)
    sections = re.findall(r'<section id="(\w+)"', html)
    assert "weights" not in sections
    assert "diagnostics" not in sections
    names = set(re.findall(r'data-figure="([^"]+)"', html))
    assert {"density-1", "below-1", "above-1", "groups-1", "levels-2"} <= names
    assert "town[B] in pay ~ town" in html
    assert "These tables were not made here" in html
    assert "How these values" not in html
    assert "<strong>" in html[html.index("<header>") : html.index("</header>")]


def test_what_became_of_every_column_is_found_in_the_tables(evidence):
    released, evaluation = evidence
    found = gather_evidence(PEOPLE, released, evaluation, EYES)
    fates = {row["column"]: row["fate"] for row in found.facts["columns"]}
    assert fates == {"town": "keep", "home": "synthesize", "pay": "synthesize", "rent": "change", "id": "drop"}
    assert found.settings.synthesize == ("pay", "home")
    assert found.weights["value_2"].tolist() == PEOPLE["home"].tolist()


def test_a_release_that_is_not_there_is_refused(evidence):
    released, evaluation = evidence
    with pytest.raises(InputError, match="there is no release 'mine'"):
        report_tables(PEOPLE, released, evaluation, EYES, scheme="mine")


@pytest.mark.slow
def test_tables_of_new_people_have_a_map_and_the_bounds_that_were_set():
    released = {"fresh": others(3)}
    evaluation = evaluate(
        PEOPLE,
        released,
        EYES,
        EvaluationOptions(fully_synthetic=True, propensity_methods=(), thresholds={"lookup_gain": {"amber": 0.0123}}),
    )
    assert not evaluation.is_linked
    html = report_tables(PEOPLE, released, evaluation, EYES)
    assert "two" in set(re.findall(r'data-figure="([^"]+)"', html))
    assert html.count(" selected>") == 2
    assert "amber from 0.0123, red from 0.2 (set by the agency; ours: amber from 0.05, red from 0.2)" in html
