"""An evaluation of a sample of a survey: weighted figures beside plain ones, and rarity in the population."""

import numpy as np
import pandas as pd
import pytest

from molehill import EvaluationOptions, InputError, Intruder, evaluate
from molehill.evaluation.catalogue import MEASURES
from molehill.risk.identification import release_risk
from molehill.surveys import SurveyDesign, population_risk, weighted_mean
from molehill.tables.populations import consumer_survey

OWN = consumer_survey(400, seed=3).assign(weight=np.random.default_rng(5).uniform(10, 90, 400))
RELEASED = [OWN.assign(income=np.random.default_rng(seed).permutation(OWN["income"])) for seed in (1, 2, 3)]
INTRUDER = Intruder(known=["gender", "region"], sensitive="income", radius=0.2)
DESIGN = SurveyDesign(weight="weight")
SURVEY_MEASURES = [measure for measure in MEASURES if "survey design" in (measure.needs or ())]
IDS = {measure.id for measure in SURVEY_MEASURES}


@pytest.fixture(scope="module")
def found():
    return evaluate(OWN, RELEASED, INTRUDER, EvaluationOptions(survey=DESIGN))


def value_of(frame: pd.DataFrame, scheme: str, measure: str, of: str = "") -> float:
    rows = frame[(frame["scheme"] == scheme) & (frame["measure"] == measure) & (frame["of"] == of)]
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def test_estimates_are_weighted_and_plain_ones_stand_beside(found):
    name = "mean of income"
    weighted = weighted_mean(DESIGN.read(OWN), OWN["income"]).point
    assert value_of(found.utility, "confidential", "estimate", name) == pytest.approx(weighted)
    plain = value_of(found.utility, "confidential", "estimate_unweighted", name)
    assert plain == pytest.approx(OWN["income"].mean())
    assert value_of(found.utility, "released", "estimate_unweighted", name) == pytest.approx(plain)
    # A permutation keeps what is plain, and loses what goes with the weight.
    assert value_of(found.utility, "released", "U_m") == 0
    assert value_of(found.utility, "released", "U_m_weighted") > 0


def test_rarity_is_that_of_the_patterns_in_the_population(found):
    rare = population_risk(OWN, INTRUDER.known, OWN["weight"])
    assert value_of(found.risk, "confidential", "population_matches") == pytest.approx(rare.expected_matches)
    assert value_of(found.risk, "confidential", "population_uniques") == pytest.approx(rare.expected_uniques)
    risk = release_risk(INTRUDER.view(OWN), RELEASED).by_dataset
    mean = (risk * rare.in_sample).mean()
    assert value_of(found.risk, "released", "population_mean") == pytest.approx(mean)
    assert mean < value_of(found.risk, "released", "risk_mean")


def test_a_weight_that_is_published_is_one_known_column_more(found):
    knowing = Intruder(known=["gender", "region", "weight"], sensitive="income", radius=0.2)
    mean = release_risk(knowing.view(OWN), RELEASED).by_dataset.mean()
    assert value_of(found.risk, "released", "weight_mean") == pytest.approx(mean)
    # Hardly two records have the same.
    assert value_of(found.risk, "confidential", "uniques_by_weight") > 390


@pytest.mark.parametrize("way", ["hidden", "replaced", "known"])
def test_a_weight_that_is_not_published_as_collected_is_not_asked_for(way):
    released = (
        [one.assign(weight=OWN["weight"][::-1].to_numpy()) for one in RELEASED] if way == "replaced" else RELEASED
    )
    known = ["gender", "weight"] if way == "known" else ["gender"]
    intruder = Intruder(known=known, sensitive="income", radius=0.2, breaks={"weight": [50]} if way == "known" else {})
    hidden = ["weight"] if way == "hidden" else []
    found = evaluate(
        OWN, released, intruder, EvaluationOptions(survey=DESIGN, hidden=hidden, analyses=[], propensity_methods=[])
    )
    assert not {"weight_mean", "weight_largest", "uniques_by_weight"} & set(found.risk["measure"])


def test_weights_that_add_up_to_the_records_tell_nothing_of_a_population():
    own = OWN.assign(weight=OWN["weight"] / OWN["weight"].mean())
    found = evaluate(own, [own], INTRUDER, EvaluationOptions(survey=DESIGN, analyses=[], propensity_methods=[]))
    assert not any(name.startswith("population") for name in found.risk["measure"])


def test_without_a_design_nothing_of_it_is_told():
    found = evaluate(OWN, RELEASED, INTRUDER, EvaluationOptions(propensity_methods=[]))
    assert not IDS & {*found.risk["measure"], *found.utility["measure"]}


def test_a_design_that_the_table_does_not_have_is_refused_before_any_work():
    with pytest.raises(InputError, match="weight"):
        evaluate(OWN, RELEASED, INTRUDER, EvaluationOptions(survey=SurveyDesign(weight="wait")))


def test_nothing_of_it_is_public():
    assert not any(measure.public for measure in SURVEY_MEASURES)
