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
    assert settings.synthesize == ("diagnosis", "income")
    assert settings.drop == ("person_id", "surname")
    assert settings.undecided == ()
    assert settings.keep == ("age", "sex", "region", "children")
    assert settings.known == ("age", "sex", "region", "children")
    assert set(suggested.reasons) == set(PEOPLE.columns)
    assert "PROPOSALS" in suggested.reasons["income"]
    assert "health" in suggested.reasons["diagnosis"]
    assert settings.of_column("upper", "income") > PEOPLE["income"].max()
    assert settings.breaks["age"] == (25, 35, 50, 65)


def test_what_is_suggested_runs_once_everything_is_decided(tmp_path):
    # One level is pooled, and no level but one has enough records.
    diagnosis, disease = (np.where(np.arange(N) == 7, "rare", usual) for usual in (PEOPLE["diagnosis"], "none"))
    people = PEOPLE.assign(diagnosis=diagnosis, disease=disease)
    suggested = suggest_settings(people, path="people.csv")
    write_settings(suggested.settings, tmp_path / "s.toml", notes=suggested.notes, reasons=suggested.reasons)
    text = (tmp_path / "s.toml").read_text()
    assert 'diagnosis = "synthesize" # looks sensitive: health; categorical (text)' in text
    told = 'disease = "undecided" # looks sensitive: health; categorical (text), fewer than two levels with 5 records'
    assert told in text
    assert 'write "synthesize", "drop" or "keep"' in text
    assert 'person_id = "drop" # may name people: numbers that count up' in text
    settings = read_settings(tmp_path / "s.toml")
    assert settings == suggested.settings
    with pytest.raises(InputError, match="it is not said what becomes of 'disease'"):
        plan_settings(people, settings)
    (tmp_path / "s.toml").write_text(text.replace('disease = "undecided"', 'disease = "drop"'))
    assert plan_settings(people, read_settings(tmp_path / "s.toml")).patterns > 1


def test_real_files(shared):
    files = ("ce_sample.csv", "nist_ma.csv", "households/eusilc.csv")
    found = [suggest_settings(read_table(shared / file)) for file in files]
    together = ["records belong together" in one.notes.get("columns", "") for one in found]
    assert together == [False, False, True]
    sample, people, persons = (one.settings for one in found)
    assert {*sample.synthesize} == {"Income", "Expenditure"}
    assert sample.known == ("Age", "Urban", "Marital", "Educ", "Tenure")
    assert sample.undecided == ()
    # Hardly anybody has these: the release would be about the few who do.
    assert {"DVET", "DEYE"} == {*people.drop}
    sensitive, observed = {"PINCP", "POVPIP", "DPHY", "DREM", "DEAR"}, {*people.synthesize}
    assert sensitive <= observed
    # With these too many people would be alone.
    assert {"RAC1P", "NPF", "OWN_RENT", "EDU", "INDP_CAT"} == observed - sensitive
    assert people.kinds == {"EDU": "categorical", "INDP_CAT": "categorical"}
    assert people.undecided == ()
    assert {"AGEP", "SEX", "PUMA", "MSP", "HISP", "NOC"} <= {*people.known}
    assert (sample.grouped, people.grouped, persons.grouped) == (("Age",), ("AGEP",), ("age",))
    assert {*persons.drop} == {"db030", "rb030", "rb050"}
    assert persons.survey_design == SurveyDesign("db090")
    assert {name for name in persons.synthesize if name[:2] in ("py", "hy")} == {
        *(f"py{code}n" for code in ("010", "050", "090", "100", "110", "120", "130", "140")),
        *(f"hy{code}n" for code in ("040", "050", "070", "080", "090", "110", "130", "145")),
    }
    assert set(persons.derived) == {"eqIncome"}
    assert persons.missing_codes == {}
    assert {"age", "rb090", "db040", "pb220a", "hsize"} <= {*persons.known}
    assert "pl030" in persons.synthesize


def affairs() -> pd.DataFrame:
    n = 601
    return pd.DataFrame(
        {
            "sex": RNG.choice(["male", "female"], n),
            "age": RNG.choice([17.5, 22, 27, 32, 37, 42, 47, 52, 57], n),
            "ym": RNG.choice([0.125, 0.417, 0.75, 1.5, 4, 7, 10, 15], n),
            "child": RNG.choice(["yes", "no"], n),
            "religious": RNG.integers(1, 6, n),
            "education": RNG.choice([9, 12, 14, 16, 17, 18, 20], n),
            "occupation": RNG.integers(1, 8, n),
            "rate": RNG.integers(1, 6, n),
            "nbaffairs": RNG.choice([0, 1, 2, 3, 7, 12], n, p=[0.75, 0.06, 0.03, 0.03, 0.06, 0.07]),
        }
    )


def test_all_that_looks_sensitive_is_replaced_and_not_one_column_of_it():
    suggested = suggest_settings(affairs())
    assert {"ym", "nbaffairs", "religious"} <= {*suggested.settings.synthesize}
    assert {"age", "sex", "child"} <= {*suggested.settings.known}
    # What would make too many people unique is synthesized, with the reason.
    assert "occupation" in suggested.settings.synthesize
    assert "would be alone with their key variables" in suggested.reasons["occupation"]
    plan_settings(affairs(), suggested.settings)


def test_a_sensitive_category_that_hardly_anybody_has_is_dropped():
    sick = np.where(np.arange(N) < 6, "yes", "no")
    suggested = suggest_settings(PEOPLE.assign(diabetes_diagnosis=sick))
    # Six of three hundred are two in a hundred.
    assert "diabetes_diagnosis" in suggested.settings.drop
    reason = suggested.reasons["diabetes_diagnosis"]
    assert "98.0% of the records are alike in it, and it tells of the other 6 only" in reason
    assert 'write "synthesize"' in reason
    more = PEOPLE.assign(diabetes_diagnosis=np.where(np.arange(N) < 7, "yes", "no"))
    assert "diabetes_diagnosis" in suggest_settings(more).settings.synthesize


def test_an_amount_that_few_people_have_is_dropped_and_left_out_of_sums():
    n = 600
    pay, few = RNG.lognormal(9, 1, n).round(2), np.where(np.arange(n) < 19, RNG.lognormal(8, 1, n).round(2), 0)
    people = pd.DataFrame({"sex": RNG.choice(["f", "m"], n), "pay": pay, "bonus": few, "income": few + pay})
    people = people.assign(tips=RNG.lognormal(5, 1, n).round(2))
    people["income"] += people["tips"]
    suggested = suggest_settings(people)
    assert suggested.settings.drop == ("bonus",)
    reason = suggested.reasons["bonus"]
    assert "19 records have an amount other than 0, too few to learn synthetic amounts from" in reason
    assert "add it to a similar variable in the file" in reason
    assert 'write "synthesize"' in reason
    assert suggested.settings.derived["income"] in ("pay + tips", "tips + pay")
    reason = suggested.reasons["income"]
    assert "computed without bonus, which few have; what was collected includes that, and differs for 3.2%" in reason
    plan_settings(people, suggested.settings)
    # With one more it is synthesized.
    people.loc[n - 1, ["bonus", "income"]] += 1000.0
    assert "bonus" in suggest_settings(people).settings.synthesize


def test_an_amount_that_changes_what_many_have_is_synthesized_although_few_have_it():
    n = 600
    home, random = np.arange(n) // 3, np.random.default_rng(8)
    pay, few = random.lognormal(9, 1, n).round(2), np.where(np.arange(n) % 40 == 7, 900.5, 0)
    # Fifteen people have it, and thirty others live with one of them.
    total = pd.Series(pay + few).groupby(home).transform("sum").round(2)
    region, sex = random.choice(["N", "S"], n)[home], random.choice(["f", "m"], n)
    people = pd.DataFrame({"home": home + 1, "region": region, "sex": sex, "pay": pay, "bonus": few, "income": total})
    settings = suggest_settings(people).settings
    assert settings.derived["income"] in ("sum(pay + bonus) by home", "sum(bonus + pay) by home")
    assert "bonus" in settings.synthesize


def test_more_amounts_than_are_sensible_are_left_open_with_what_to_write():
    frame = pd.DataFrame({f"x{place}": RNG.lognormal(5, 1, N).round(2) for place in range(22)})
    suggested = suggest_settings(frame.assign(sex=PEOPLE["sex"]))
    assert len(suggested.settings.synthesize) == 20
    for name in suggested.settings.undecided:
        written = suggested.reasons[name].partition("write ")[2].partition(" (limits")[0]
        assert written.startswith('{ release = "synthesize", lower = 0, upper = ')
    assert len(suggested.settings.undecided) == 2


def test_a_second_weight_and_one_without_a_name_are_never_kept_silently():
    weight = np.repeat(RNG.uniform(200, 900, 15), 20)
    frame = PEOPLE.assign(rb050=weight, again=weight, db090=weight * 1.01)
    found = suggest_settings(frame)
    assert found.settings.survey_design == SurveyDesign("rb050")
    assert "again" in found.settings.drop
    assert found.reasons["again"] == "the same as the survey's weight 'rb050'"
    assert found.settings.undecided == ("db090",)
    unnamed = suggest_settings(PEOPLE.assign(v7=weight))
    assert unnamed.settings.survey_design is None
    assert unnamed.settings.undecided == ("v7",)
    assert "may be the survey's weight: groups of records share a value" in unnamed.reasons["v7"]


def test_long_lists_and_exact_dates_are_left_open_or_dropped():
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N * 12) % 80, unit="D")
    frame = pd.concat([PEOPLE] * 12, ignore_index=True)[["age", "sex", "income"]]
    towns = [f"T{number}" for number in RNG.integers(0, 300, N * 12)]
    found = suggest_settings(frame.assign(v1=towns, gemeinde=towns, employer=towns, visit=days))
    assert {*found.settings.drop} >= {"gemeinde", "employer"}
    assert {*found.settings.undecided} == {"v1", "visit"}
    assert 'write "drop"' in found.reasons["v1"]
    assert "80 exact dates" in found.reasons["visit"]


def test_a_radius_of_a_logarithm_is_told():
    wages = RNG.lognormal(2, 0.5, N)
    told = suggest_settings(PEOPLE.assign(wage=np.log(wages), lwage=np.log(wages).round(2), pay=wages.round(2)))
    assert "looks like a logarithm" in told.reasons["wage"]
    assert "looks like a logarithm" in told.reasons["lwage"]
    assert "logarithm" not in told.reasons["pay"] + told.reasons["income"]
    assert "radius = 0.0, min_radius = 0.182" in told.notes["radius"]


def test_every_missing_code_has_its_evidence():
    ages = np.where(np.arange(N) < 9, -1, PEOPLE["age"] - 18)
    hours = np.where(np.arange(N) < 5, -9, RNG.integers(0, 60, N))
    found = suggest_settings(PEOPLE.assign(age=ages, hours=hours))
    assert found.settings.missing_codes == {"hours": (-9,)}
    assert "hours: -9 is taken as missing (in 5 records, below 0 and separated" in found.notes["columns"]


def test_the_survey_of_the_demo_needs_no_decision():
    survey = consumer_survey(n=3000, seed=1)
    settings = suggest_settings(survey).settings
    assert settings.undecided == ()
    assert {"gender", "age", "region"} <= {*settings.known}
    plan_settings(survey, settings)


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
    replaced = kept.but(keep=suggested.settings.keep, synthesize="odd", drop=(*drop, "income"), lower=None, upper=None)
    known = kept.but(known=("odd",))
    quiet = kept.but(predictors=("age",))
    for settings in (kept, replaced, known, quiet):
        with pytest.raises(InputError, match=r"variable 'odd'.*drop"):
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
    assert suggested.settings.undecided == ("hours",)
    assert "but for 1 cell in row 7" in suggested.reasons["hours"]
    assert "missing_codes" in suggested.reasons["hours"]
    assert "1200" not in str(suggested.reasons)
    dropped = suggested.settings.but(undecided=(), drop=(*suggested.settings.drop, "hours"))
    assert "but for 1 cell in row 7" in str(plan_settings(people, dropped))
    kept = suggested.settings.but(undecided=(), keep=(*suggested.settings.keep, "hours"))
    with pytest.raises(InputError, match=r"in row 7 .*drop the column"):
        plan_settings(people, kept)
    plan_settings(people, kept.but(missing_codes={"hours": ["about 1200"]}))
    # As a list of codes it is judged like any text.
    codes = kept.but(kinds={"hours": "categorical"}, predictors=("age",))
    with pytest.raises(InputError, match="'hours' may name people"):
        plan_settings(people, codes)
    plan_settings(people, codes.but(accept_identifying=("hours",)))


def test_a_design_is_recognised_and_its_columns_are_kept():
    survey = consumer_survey(600, seed=1)
    rng = np.random.default_rng(1)
    survey = survey.assign(pwgtp=rng.uniform(20, 400, 600).round(3), stratum=np.repeat(np.arange(1, 11), 60))
    found = suggest_settings(survey)
    assert found.settings.survey_design == SurveyDesign(weight="pwgtp", stratum="stratum")
    assert {"pwgtp", "stratum"} <= {*found.settings.keep}
    assert "confirm it" in found.notes["survey_design"]
    assert found.reasons["pwgtp"].startswith("the survey's weight")
    assert "pwgtp" not in found.settings.known
    alone = survey.assign(stratum=np.append(np.repeat(np.arange(1, 11), 60)[:-1], 11))
    assert suggest_settings(alone).settings.survey_design == SurveyDesign(
        weight="pwgtp", stratum="stratum", single="adjust"
    )
    assert suggest_settings(consumer_survey(600, seed=1)).settings.survey_design is None
