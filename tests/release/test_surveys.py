"""A sample of a survey through the whole door: the weight in the fit, in the estimates and in the release."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import said_in_words
from molehill import InputError, Settings, synthesize
from molehill.evaluation.telling import find_figure, list_figures
from molehill.evaluation.verdict import judge
from molehill.release.making import prepare
from molehill.release.release import _write_tables, make_dossier
from molehill.release.search import points
from molehill.release.search.search import search
from molehill.report.methods import methods_note
from molehill.tables.populations import consumer_survey
from molehill.utility import ecdf_distances

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
    synthesize=["income"],
    keep=KEPT,
    known=["gender", "region"],
    lower={"income": -1e5},
    upper={"income": 2e6},
    survey_design={"weight": "weight", "stratum": "area"},
    min_leaf_size=50,
    method="risk_weighted",
    weight_shift=1.0,
    compare=[],
    datasets=5,
    expected_risk_draws=40,
    attacks="none",
    seed=2,
)
FEW = SETTINGS.but(expected_risk_draws=0)


@pytest.fixture(scope="module")
def release():
    return synthesize(SAMPLE, SETTINGS, progress=False)


@pytest.fixture(scope="module")
def saved(release, tmp_path_factory):
    with said_in_words():
        return release.save(tmp_path_factory.mktemp("survey") / "out", release_anyway=True)


def publish(release: Any, folder: Path) -> str:
    """Write the tables, and the methods note, which is given; without the reports, which take longer than all else."""
    (folder / "release").mkdir(parents=True)
    _write_tables(release, folder / "release")
    note = methods_note(make_dossier(release))
    (folder / "release" / "methods.md").write_text(note, encoding="utf-8")
    return note


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
    assert "`weight` is its weight: how many of the population a record stands for" in note
    assert "But for the survey weight, every record counts the same" in note
    assert "strata are `area`" in note
    for line in ("svydesign(ids = ~1, weights = ~weight", "strata = ~area", "svyset [pweight = weight], strata(area)"):
        assert line in note
    assert "proc surveymeans data=one mean; var income; weight weight; strata area;" in note
    made = estimate_of(release, release.scheme)
    assert run_note(saved) == pytest.approx((made["value"], made["low"], made["high"]), rel=2e-3)


def run_note(folder: Path) -> tuple[float, ...]:
    """Run the Python code of a methods note where its tables are."""
    note = (folder / "release" / "methods.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", note, re.DOTALL)
    assert code is not None
    said = io.StringIO()
    # In a namespace of its own, as of a new program; tests/cli/test_real_files.py runs one in a process of its own.
    with contextlib.chdir(folder / "release"), contextlib.redirect_stdout(said):
        exec(code[1], {"__name__": "__main__"})  # noqa: S102
    return tuple(map(float, said.getvalue().strip("[]\n ").split()))


@pytest.mark.parametrize(
    ("sample", "survey", "words"),
    [
        # Clusters, one of them alone in its stratum.
        (
            SAMPLE.assign(psu=np.arange(RECORDS) // 20, area=np.where(np.arange(RECORDS) < 20, "one", SAMPLE["area"])),
            {"weight": "weight", "stratum": "area", "cluster": "psu", "single": "adjust"},
            ['options(survey.lonely.psu = "adjust")', "ids = ~psu", "singleunit(centered)"],
        ),
        pytest.param(
            SAMPLE.assign(psu=np.arange(RECORDS) // 20, area=np.where(np.arange(RECORDS) < 20, "one", SAMPLE["area"])),
            {"weight": "weight", "stratum": "area", "cluster": "psu", "single": "certainty"},
            ['options(survey.lonely.psu = "certainty")', "svyset psu [pweight = weight], strata(area)"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_code_of_the_note_has_the_variance_of_the_design(sample, survey, words, tmp_path):
    settings = FEW.but(keep=[*KEPT, "psu"], survey_design=survey, datasets=3, predictors=["earner", "weight"])
    made = synthesize(sample, settings, progress=False)
    note = publish(made, tmp_path / "out")
    found = estimate_of(made, made.scheme)
    # The degrees of freedom of few clusters are not in the rule of the note.
    point, low, _ = run_note(tmp_path / "out")
    assert point == pytest.approx(found["value"], rel=1e-6)
    assert point - low == pytest.approx(found["value"] - found["low"], rel=0.06)
    assert all(line in note for line in words)


def test_what_no_program_could_take_is_told_in_words():
    few = SAMPLE.iloc[::5].reset_index(drop=True)
    replicates = {f"r{number}": few["weight"] * (1 + 0.1 * np.sin(np.arange(100) + number)) for number in range(6)}
    odd = few.assign(**replicates).rename(columns={"weight": 'a "weight"'})
    kept = [name if name != "weight" else 'a "weight"' for name in KEPT]
    for survey, more in (
        ({"weight": 'a "weight"'}, []),
        ({"weight": 'a "weight"', "replicates": [*replicates], "method": "brr"}, [*replicates]),
    ):
        dropped = [name for name in replicates if name not in more]
        settings = FEW.but(keep=[*kept, *more], drop=dropped, survey_design=survey, datasets=2)
        note = methods_note(make_dossier(synthesize(odd, settings, progress=False)))
        assert "how many of the population a record stands for" in note
        assert "```" not in note
        assert ("replicate weights `r0` to `r5` (brr)" in note) == bool(more)


def test_the_report_tells_the_design(saved):
    page = (saved / "internal" / "report.html").read_text(encoding="utf-8")
    assert "A sample by" in page
    assert "Uncertainty of the fit under the design" in page
    assert "mean of income, without survey weights" in page
    public = (saved / "release" / "report.html").read_text(encoding="utf-8")
    assert "without survey weights" not in public
    assert "In the population" not in public


def test_a_weight_that_is_drawn_too_comes_first_and_counts_nothing_itself(tmp_path):
    settings = FEW.but(
        synthesize=["weight", "income"],
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
    publish(made, tmp_path / "out")
    assert run_note(tmp_path / "out")[0] == pytest.approx(found["value"], rel=1e-6)
    assert {row["column"] for row in list_figures(made.evaluation.utility, made.scheme, "estimate")} == {"income"}


def test_who_is_drawn_from_the_population_needs_no_weight(tmp_path):
    settings = FEW.but(
        synthesize=["gender", "age", "region", "earner", "income"],
        keep=[],
        drop=["weight", "area"],
        known=["gender"],
        fully_synthetic_records=800,
        datasets=3,
        method="auto",
        weight_shift=0.0,
        risk_order=2,
    )
    assert settings.weighs == "weights"
    made = synthesize(SAMPLE, settings, progress=False)
    own, found = (estimate_of(made, scheme) for scheme in ("confidential", made.scheme))
    # Plain estimates of the new people are those of the population, and no surer than the sample.
    assert own["low"] < found["value"] < own["high"]
    assert found["high"] - found["low"] > 0.9 * (own["high"] - own["low"])
    assert not {"weight", "area"} & set(made.datasets[0])
    # Who is drawn from the population is not blamed for not being like the sample.
    assert "U_m" not in judge(made.evaluation, made.scheme).sentence
    spread = find_figure(made.evaluation.utility, made.scheme, "spread_ratio", "income")
    assert spread is not None
    plain_spread = pd.concat([one["income"] for one in made.datasets]).std() / SAMPLE["income"].std()
    assert spread.value > 1.2 * plain_spread
    gap = find_figure(made.evaluation.utility, made.scheme, "U_m", "income")
    assert gap is not None
    plain = ecdf_distances(SAMPLE, made.datasets, "income").value("U_m")
    assert gap.value < plain / 2
    note = publish(made, tmp_path / "out")
    assert run_note(tmp_path / "out")[0] == pytest.approx(found["value"], rel=1e-6)
    assert "no weights are needed" in note
    # 800 people for each of the 500, times how uneven the weights are.
    times = np.ceil(10 * RECORDS * (SAMPLE["weight"] ** 2).sum() / SAMPLE["weight"].sum() ** 2) / 10
    assert f"*T* = {times * 1.6:.10g} *v*" in note


def test_rules_on_the_population_need_its_size(monkeypatch):
    rule = SETTINGS.but(release_criteria="maximum population <= 0.2", method="auto", weight_shift=0.0)
    with pytest.raises(InputError, match="there is no survey weight"):
        synthesize(SAMPLE, rule.but(survey_design=None), progress=False)
    light = SAMPLE.assign(weight=SAMPLE["weight"] / SAMPLE["weight"].mean())
    with pytest.raises(InputError, match="adds up to the records alone"):
        synthesize(light, rule, progress=False)
    # Weights of about 100: a rule of 0.2 is kept by anything, and one of 0.001 by nothing.
    monkeypatch.setattr(points, "CONFIRMED_WITH", 200)
    monkeypatch.setattr(points, "LOOKED_AT", 20)
    few = SAMPLE.iloc[::5].reset_index(drop=True)
    for bound, met in ((0.2, True), (0.001, False)):
        asked = rule.but(
            max_fits=2, search_draws=40, release_criteria=f"maximum population <= {bound}", min_leaf_size="auto"
        )
        assert search(prepare(few, asked), checkpoint=None, progress=False).met == met
