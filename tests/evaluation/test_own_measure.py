"""A measure of one's own, from outside the package: one function and one `Measure`, known everywhere by its fields."""

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import drawing
from molehill import Intruder, Measure, Settings, evaluate, synthesize
from molehill.charts.maps import list_choices, measure_map
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.criteria import Criterion, check_criteria, read_criteria
from molehill.evaluation.measure import Threshold
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import score
from molehill.evaluation.verdict import judge
from molehill.studio import comparing
from molehill.tables.intervals import mean_over_tables
from sketches import sketch


def kept_values(context):
    """The share of records whose value is still the true one, in every dataset."""
    if not context.is_release:
        return []
    (name,) = context.view.intruder.sensitive
    true = context.view.table.frame[name]
    return mean_over_tables(np.array([float((table.frame[name] == true).mean()) for table in context.tables]))


MINE = Measure(
    "kept_values",
    "share of values that are still the true ones",
    "risk",
    "Changes",
    "share",
    kept_values,
    explanation="as often an intruder is right who takes released values for true ones",
    threshold=Threshold("attribute", 0.2, 0.5, "values that are still the true ones"),
)
# Fewer of the others, so that the test is quick.
FEW = ("risk_mean", "matches_true", "U_m", "U_m_benchmark", "estimate", "overlap")
TAKEN = (*(one for one in MEASURES if one.id in FEW), MINE)

random = np.random.default_rng(1)
PEOPLE = pd.DataFrame({"town": random.choice(["A", "B"], 80), "visits": random.poisson(3, 80).astype(float)})
SETTINGS = Settings(
    synthesize=["visits"],
    keep=["town"],
    known=["town"],
    synthesizer="forest",
    min_leaf_size=5,
    lower=0,
    upper=100,
    datasets=2,
    compare=[],
    expected_risk_draws=0,
    attacks="none",
    kinds={"visits": "count"},
    search_draws=40,
    max_fits=1,
    seed=3,
    release_criteria=["kept_values <= 0.6", "mean expected <= 0.9"],
)


def test_it_is_rated_and_stands_in_the_recommendation():
    half = PEOPLE.assign(visits=np.where(np.arange(80) % 2, PEOPLE["visits"], -1.0))
    intruder = Intruder(known="town", sensitive="visits", min_radius=0.5)
    found = evaluate(PEOPLE, {"half": [half], "same": [PEOPLE]}, intruder, EvaluationOptions(measures=TAKEN))
    (value,) = found.risk.query("measure == 'kept_values' and scheme == 'half'")["value"]
    assert value == 0.5
    (attribute,) = [one for one in score(found, "same") if one.family == "attribute"]
    assert attribute.why == "Red: values that are still the true ones: 1 (red from 0.5)."
    assert "values that are still the true ones" in judge(found, "same").sentence
    # An agency sets other thresholds as for any measure.
    other = EvaluationOptions(measures=TAKEN, thresholds={"kept_values": {"amber": 0.6, "red": 0.9}})
    (attribute,) = [
        one for one in score(evaluate(PEOPLE, {"half": [half]}, intruder, other)) if one.family == "attribute"
    ]
    assert attribute.colour == "green"
    # Charts lay schemes out by it.
    assert "kept_values" in {choice.which.measure for choice in list_choices(found)}
    assert measure_map(found, "risk_mean", "kept_values") is not None


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Any:
    folder = tmp_path_factory.mktemp("own") / "out"
    release = synthesize(PEOPLE, SETTINGS, measures=TAKEN, progress=False)
    with drawing(sketch):
        release.save(folder)
    return folder, release


def test_a_search_keeps_it_as_a_release_criterion(released):
    _, release = released
    first = release.search.candidates.iloc[0]
    assert release.search.targets[0] == Criterion("kept_values", "", 0.6)
    assert 0 < first["target_1_value"] < 0.6
    assert first["target_1_met"]
    assert "kept_values <= 0.6" in release.search.verdict


def test_what_no_release_keeps_is_said_in_its_words():
    strict = SETTINGS.but(release_criteria=["kept_values <= 0.001"])
    release = synthesize(PEOPLE, strict, measures=TAKEN, progress=False)
    assert release.search is not None
    assert not release.search.met
    assert "keeps kept_values <= 0.001" in release.search.verdict


def test_report_and_studio_show_it(released):
    folder, release = released
    page = (folder / "internal" / "report.html").read_text(encoding="utf-8")
    for words in (MINE.label, MINE.explanation, "values that are still the true ones: amber from 0.2, red from 0.5"):
        assert words in re.sub(r"\s+", " ", page)
    assert "kept_values" not in (folder / "release" / "report.html").read_text(encoding="utf-8")
    told = comparing.tell_result(SimpleNamespace(out=folder))  # pyright: ignore[reportArgumentType]
    (attribute,) = [one for one in told["scores"] if one.family == "attribute"]
    assert "values that are still the true ones" in " ".join(attribute.rules)
    (rule, _) = comparing.list_rules(release.settings)
    assert (rule["words"], rule["bound"], rule["higher"]) == ("kept_values", 0.6, False)


def test_what_is_not_measured_is_no_criterion():
    criteria = read_criteria("kept_values <= 0.6")
    check_criteria(criteria, TAKEN)
    with pytest.raises(InputError, match="there is no measure 'kept_values'"):
        check_criteria(criteria, MEASURES)
    with pytest.raises(InputError, match="less is better"):
        check_criteria(read_criteria("kept_values >= 0.6"), TAKEN)
