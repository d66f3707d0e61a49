"""Settings to begin with: a fate for every column, with reasons, that run only once everything is decided."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.plan import plan_settings
from molehill.plan.settings import read_settings, write_settings
from molehill.plan.suggest import suggest_settings
from molehill.tables.formats import read_table
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
