"""A sample of a survey through the whole door: the weight in the fit, in the estimates and in the release."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill import InputError, Settings, synthesize
from molehill.evaluation.telling import find_figure, list_figures
from molehill.tables.populations import consumer_survey

RECORDS = 500


def draw_sample() -> pd.DataFrame:
    """Who earns more is asked more often, in two strata."""
    random = np.random.default_rng(4)
    survey = consumer_survey(RECORDS, seed=6)[["gender", "age", "region", "earner", "income"]]
    size = (20_000 + survey["income"].clip(0, 200_000)) * np.exp(0.3 * random.standard_normal(RECORDS))
    area = np.where(np.arange(RECORDS) < 200, "city", "land")
    return survey.assign(weight=(5e6 / size).round(2), area=area)


SAMPLE = draw_sample()
KEPT = ["gender", "age", "region", "earner", "weight", "area"]
SETTINGS = Settings(
    replace=["income"],
    keep=KEPT,
    known=["gender", "region"],
    lower={"income": -1e5},
    upper={"income": 2e6},
    survey={"weight": "weight", "stratum": "area"},
    leaf=50,
    scheme="weighted",
    shift=1.0,
    compare=[],
    datasets=5,
    expected_tables=40,
    seed=2,
)


@pytest.fixture(scope="module")
def release():
    return synthesize(SAMPLE, SETTINGS, progress=False)


@pytest.fixture(scope="module")
def saved(release, tmp_path_factory):
    return release.save(tmp_path_factory.mktemp("survey") / "out")


def estimate_of(release: Any, scheme: str, measure: str = "estimate", of: str = "mean of income") -> Any:
    rows = [row for row in list_figures(release.evaluation.utility, scheme, measure) if row["of"] == of]
    return rows[0]


def test_both_factors_of_the_fit_can_be_looked_at(release):
    posterior = release.posterior
    assert posterior.survey_weights.sum() == pytest.approx(RECORDS)
    assert posterior.survey_weights * SAMPLE["weight"].sum() == pytest.approx(SAMPLE["weight"].to_numpy() * RECORDS)
    assert posterior.weights == pytest.approx(posterior.risk_weights * posterior.survey_weights)
    assert (posterior.risk_weights == release.weights).all()
    assert posterior.correction.corrected


def test_weighted_estimates_come_out_and_plain_ones_stand_beside(release):
    own, made = (estimate_of(release, scheme) for scheme in ("confidential", release.scheme))
    assert own["low"] < made["value"] < own["high"]
    plain = estimate_of(release, "confidential", "estimate_unweighted")
    # The plain mean is that of who was asked more often, and far from that of the population.
    assert plain["value"] > own["high"]
    assert find_figure(release.evaluation.risk, release.scheme, "population_mean") is not None
    assert find_figure(release.evaluation.risk, release.scheme, "weight_mean") is not None


def test_the_note_says_how_to_weight_and_its_code_does(saved, release):
    note = (saved / "release" / "methods.md").read_text(encoding="utf-8")
    assert "`weight` says how many of the population a record stands for" in note
    assert "strata are `area`" in note
    for line in ("svydesign(ids = ~1, weights = ~weight", "strata = ~area", "svyset [pweight = weight], strata(area)"):
        assert line in note
    assert "proc surveymeans data=one mean; var income; weight weight; strata area;" in note
    code = re.search(r"```python\n(.*?)```", note, re.DOTALL)
    assert code is not None
    ended = subprocess.run(
        [sys.executable, "-c", code[1]], cwd=saved / "release", capture_output=True, text=True, check=True
    )
    point, low, high = map(float, ended.stdout.strip("[]\n ").split())
    made = estimate_of(release, release.scheme)
    assert (point, low, high) == pytest.approx((made["value"], made["low"], made["high"]), rel=2e-3)


def test_the_report_tells_the_design(saved):
    page = (saved / "internal" / "report.html").read_text(encoding="utf-8")
    assert "A sample by" in page
    assert "Uncertainty of the fit under the design" in page
    assert "mean of income, without survey weights" in page
    public = (saved / "release" / "report.html").read_text(encoding="utf-8")
    assert "without survey weights" not in public
    assert "In the population" not in public


def test_a_weight_that_is_drawn_too_comes_first_and_counts_nothing_itself():
    settings = SETTINGS.but(
        replace=["weight", "income"],
        keep=[name for name in KEPT if name != "weight"],
        lower={"income": -1e5, "weight": 1.0},
        upper={"income": 2e6, "weight": 500.0},
        datasets=3,
    )
    made = synthesize(SAMPLE, settings, progress=False)
    parts = made.posterior.parts
    assert parts["weight"].survey_weights is None
    assert parts["income"].survey_weights is not None
    assert not any(table["weight"].equals(SAMPLE["weight"]) for table in made.datasets)
    assert find_figure(made.evaluation.risk, made.scheme, "weight_mean") is None
    own, found = (estimate_of(made, scheme) for scheme in ("confidential", made.scheme))
    assert own["low"] < found["value"] < own["high"]
    assert {row["column"] for row in list_figures(made.evaluation.utility, made.scheme, "estimate")} == {"income"}


def test_who_is_drawn_from_the_population_needs_no_weight():
    settings = SETTINGS.but(
        replace=["gender", "age", "region", "earner", "income"],
        keep=[],
        drop=["weight", "area"],
        known=["gender"],
        records=800,
        datasets=3,
        scheme="auto",
        shift=0.0,
        order=2,
    )
    assert settings.weighs == "weights"
    made = synthesize(SAMPLE, settings, progress=False)
    own, found = (estimate_of(made, scheme) for scheme in ("confidential", made.scheme))
    # Plain estimates of the new people are those of the population.
    assert own["low"] < found["value"] < own["high"]
    assert not {"weight", "area"} & set(made.datasets[0])


def test_rules_on_the_population_need_its_size():
    rule = SETTINGS.but(targets="maximum population <= 0.2", scheme="auto", shift=0.0)
    with pytest.raises(InputError, match="there is no survey weight"):
        synthesize(SAMPLE, rule.but(survey=None), progress=False)
    light = SAMPLE.assign(weight=SAMPLE["weight"] / SAMPLE["weight"].mean())
    with pytest.raises(InputError, match="adds up to the records alone"):
        synthesize(light, rule, progress=False)
    made = synthesize(SAMPLE, rule.but(fits=2, search_tables=40), progress=False)
    assert made.search is not None
    assert made.search.met
