"""Settings to begin with: a fate for every column, with reasons, that run only once everything is decided."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.plan import plan_settings
from molehill.plan.settings import read_settings, write_settings
from molehill.plan.suggest import suggest_settings
from molehill.release.making import prepare
from molehill.surveys import SurveyDesign
from molehill.tables.formats.formats import read_table
from molehill.tables.populations import consumer_survey

RNG = np.random.default_rng(3)
N = 300
PEOPLE = pd.DataFrame(
    {
        "person_id": np.arange(N) + 1,
        "surname": [f"Name{number}" for number in range(N)],
        "age": RNG.integers(18, 90, N),
        "sex": RNG.choice(["f", "m"], N),
        "region": RNG.choice(["N", "S"], N),
        "diagnosis": RNG.choice(["a", "b"], N),
        "children": RNG.integers(0, 4, N),
        "income": np.exp(RNG.normal(10, 0.8, N)).round(2),
    }
)


def test_every_column_gets_a_fate_and_a_reason():
    suggested = suggest_settings(PEOPLE)
    settings = suggested.settings
    assert settings.replace == ("income",)
    assert settings.drop == ("person_id", "surname")
    assert settings.decide == ("diagnosis",)
    assert settings.keep == ("age", "sex", "region", "children")
    assert settings.known == ("age", "sex", "region")
    assert set(suggested.reasons) == set(PEOPLE.columns)
    assert "PROPOSALS" in suggested.reasons["income"]
    assert "health" in suggested.reasons["diagnosis"]
    assert settings.of_column("upper", "income") > PEOPLE["income"].max()
    assert settings.breaks["age"] == (25, 35, 50, 65)
    assert "With 'children' as well" in suggested.notes["known"]


def test_what_is_suggested_runs_once_everything_is_decided(tmp_path):
    suggested = suggest_settings(PEOPLE, path="people.csv")
    write_settings(suggested.settings, tmp_path / "s.toml", notes=suggested.notes, reasons=suggested.reasons)
    text = (tmp_path / "s.toml").read_text()
    assert 'diagnosis = "decide" # looks sensitive: health' in text
    assert 'person_id = "drop" # may name people: numbers that count up' in text
    settings = read_settings(tmp_path / "s.toml")
    assert settings == suggested.settings
    with pytest.raises(InputError, match="it is not said what becomes of 'diagnosis'"):
        plan_settings(PEOPLE, settings)
    (tmp_path / "s.toml").write_text(text.replace('diagnosis = "decide"', 'diagnosis = "drop"'))
    assert plan_settings(PEOPLE, read_settings(tmp_path / "s.toml")).patterns > 1


def test_real_files(shared):
    sample = suggest_settings(read_table(shared / "ce_sample.csv")).settings
    assert sample.replace == ("Income",)
    assert sample.known == ("Age", "Urban", "Marital")
    assert sample.decide == ("Expenditure",)


def test_the_survey_of_the_demo_needs_no_decision():
    survey = consumer_survey(n=3000, seed=1)
    assert plan_settings(survey, suggest_settings(survey).settings).columns["fate"].tolist().count("keep") == 10


def test_a_table_with_nothing_to_protect_is_told():
    with pytest.raises(InputError, match="no column varies"):
        suggest_settings(pd.DataFrame({"a": ["x"] * 30}))


MIXED = {
    "lists": [[1, 2]] * N,
    "objects": [(1, "x", None, 2.5)[number % 4] for number in range(N)],
    "bytes": [b"ab"] * N,
    "complex": [1j] * N,
}


@pytest.mark.parametrize("name", MIXED)
def test_a_column_that_nobody_can_compare_is_dropped_and_only_its_use_is_refused(name):
    people = PEOPLE.drop(columns=["diagnosis"]).assign(odd=pd.Series(MIXED[name]))
    suggested = suggest_settings(people)
    assert "odd" in suggested.settings.drop
    assert "numbers" in suggested.reasons["odd"] or "numeric" in suggested.reasons["odd"]
    told = plan_settings(people, suggested.settings)
    assert told.columns.set_index("column").loc["odd", "fate"] == "drop"
    prepare(people, suggested.settings)
    drop = tuple(name for name in suggested.settings.drop if name != "odd")
    kept = suggested.settings.but(drop=drop, keep=(*suggested.settings.keep, "odd"))
    replaced = kept.but(keep=suggested.settings.keep, replace="odd", drop=(*drop, "income"), lower=None, upper=None)
    known = kept.but(known=("odd",))
    quiet = kept.but(predictors=("age",))
    for settings in (kept, replaced, known, quiet):
        with pytest.raises(InputError, match=r"column 'odd'.*drop the column"):
            plan_settings(people, settings)
    with pytest.raises(InputError, match="'odd'"):
        plan_settings(people, quiet.but(kinds={"odd": "categorical"}, predictors=("age",)))
    with pytest.raises(InputError, match="'odd'"):
        plan_settings(people, suggested.settings.but(predictors=("odd",)))


def test_numbers_but_for_some_cells_are_left_to_be_decided():
    pay = [f"{value:.2f}" for value in RNG.normal(3000, 400, N)]
    pay[6] = "about 1200"
    people = PEOPLE.drop(columns=["diagnosis"]).assign(hours=pay)
    suggested = suggest_settings(people)
    assert suggested.settings.decide == ("hours",)
    assert "but for 1 cell in row 7" in suggested.reasons["hours"]
    assert "missing_codes" in suggested.reasons["hours"]
    assert "1200" not in str(suggested.reasons)
    dropped = suggested.settings.but(decide=(), drop=(*suggested.settings.drop, "hours"))
    assert "but for 1 cell in row 7" in str(plan_settings(people, dropped))
    kept = suggested.settings.but(decide=(), keep=(*suggested.settings.keep, "hours"))
    with pytest.raises(InputError, match=r"in row 7 .*drop the column"):
        plan_settings(people, kept)
    plan_settings(people, kept.but(missing_codes={"hours": ["about 1200"]}))
    # As a list of codes it is judged like any text.
    codes = kept.but(kinds={"hours": "categorical"}, predictors=("age",))
    with pytest.raises(InputError, match="'hours' may name people"):
        plan_settings(people, codes)
    plan_settings(people, codes.but(accept=("hours",)))


def test_a_design_is_recognised_and_its_columns_are_kept():
    survey = consumer_survey(600, seed=1)
    rng = np.random.default_rng(1)
    survey = survey.assign(pwgtp=rng.uniform(20, 400, 600).round(3), stratum=np.repeat(np.arange(1, 11), 60))
    found = suggest_settings(survey)
    assert found.settings.survey == SurveyDesign(weight="pwgtp", stratum="stratum")
    assert {"pwgtp", "stratum"} <= {*found.settings.keep}
    assert "confirm it" in found.notes["survey"]
    assert found.reasons["pwgtp"].startswith("the survey's weight")
    assert "pwgtp" not in found.settings.known
    alone = survey.assign(stratum=np.append(np.repeat(np.arange(1, 11), 60)[:-1], 11))
    assert suggest_settings(alone).settings.survey == SurveyDesign(weight="pwgtp", stratum="stratum", single="adjust")
    assert suggest_settings(consumer_survey(600, seed=1)).settings.survey is None
