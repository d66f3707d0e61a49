import numpy as np
import pandas as pd
import pytest

from molehill import InputError, Settings, Table
from molehill.plan.derivable import find_derivable, find_ties, refuse_derivable
from molehill.plan.plan import plan_settings
from molehill.plan.suggest import suggest_settings
from molehill.tables.populations import consumer_survey

N = 800


def people() -> pd.DataFrame:
    random = np.random.default_rng(3)
    age = random.integers(20, 65, N)
    household = np.repeat(np.arange(N // 2), random.integers(1, 4, N // 2))[:N]
    household = np.r_[household, household.max() + 1 + np.arange(N - len(household))]
    born = pd.Timestamp("1955-01-01") + pd.to_timedelta(random.integers(0, 18_000, N), unit="D")
    return pd.DataFrame(
        {
            "household": household + 1000,
            "size": np.bincount(household)[household],
            "housing": random.lognormal(5, 1, household.max() + 1).round(2)[household],
            "age": age,
            "experience": np.clip(age - random.integers(18, 30, N), 0, None),
            "sex": random.integers(1, 3, N),
            "region": random.choice(list("abcdef"), N),
            "born": born,
            "hours": random.integers(10, 60, N),
            "wage": random.lognormal(2.5, 0.5, N).round(2),
            "rent": random.lognormal(6.5, 0.4, N).round(2),
            "bonus": np.where(random.random(N) < 0.7, 0, random.lognormal(5, 1, N).round()),
            "gift": np.where(random.random(N) < 0.3, np.nan, random.lognormal(4, 1, N).round()),
        }
    )


PEOPLE = people()


def settings_for(frame: pd.DataFrame, *names: str, **given) -> Settings:
    gone = {*names, *given.get("drop", ()), *given.get("derived", ())}
    return Settings(synthesize=names, keep=[name for name in frame if name not in gone], known=[], **given)


def find(values, **given) -> str:
    frame = PEOPLE.assign(y=values)
    return "; ".join(map(str, find_derivable(Table(frame), settings_for(frame, "y", **given))))


def broken(values) -> np.ndarray:
    """The same, but for a few records in which anything stands."""
    random = np.random.default_rng(4)
    return np.where(random.random(N) < 0.04, random.integers(0, 20, N), values)


def within(values) -> pd.Series:
    return pd.Series(values).groupby(PEOPLE["household"]).transform("sum")


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (PEOPLE["rent"], "y = rent, for 100%"),
        (PEOPLE["age"] - PEOPLE["experience"] - 6, "y = age - experience - 6, for 100%"),
        (broken(PEOPLE["age"] - PEOPLE["experience"] - 6), "y = age - experience - 6, for 9"),
        (PEOPLE["wage"] * 100 + PEOPLE["rent"] + PEOPLE["bonus"], "y = 100 * wage + rent + bonus, for 100%"),
        ((PEOPLE["rent"] * 0.81).round(2), "y = 0.81 * rent, for 100%"),
        ((PEOPLE["rent"] / 12).round(), "y = rent / 12, for 100%"),
        (2017 - PEOPLE["age"], "y = 2017 - age, for 100%"),
        (PEOPLE["rent"] / PEOPLE["hours"], "y = rent / hours, for 100%"),
        ((PEOPLE["wage"] * PEOPLE["hours"]).round(2), "y = hours * wage, for 100%"),
        ((PEOPLE["rent"] + PEOPLE["bonus"]) / PEOPLE["size"], "y = (rent + bonus) / size, for 100%"),
        (np.log(PEOPLE["wage"] + PEOPLE["rent"]), "y = log(wage + rent), for 100%"),
        (np.exp(PEOPLE["age"] / 10), "y = exp(age / 10), for 100%"),
        (PEOPLE["rent"] + PEOPLE["gift"], "y = rent + gift, for 100%"),
        (PEOPLE["rent"] + PEOPLE["gift"].fillna(0), "y = coalesce(rent, 0) + coalesce(gift, 0), for 100%"),
        (within(PEOPLE["rent"]), "y = sum(rent) by household, for 100%"),
        (
            (within(PEOPLE["rent"] + PEOPLE["bonus"]) + PEOPLE["housing"]) / PEOPLE["size"],
            "y = (sum(rent + bonus) by household + housing) / size, for 100%",
        ),
        (pd.cut(PEOPLE["age"], [0, 30, 40, 50, 70]).astype(str), "y follows from age: predicted exactly for 100%"),
        (
            PEOPLE["sex"] * 10 + PEOPLE["region"].map({"a": 1, "b": 1, "c": 2, "d": 2, "e": 5, "f": 5}),
            "y follows from region and sex: predicted exactly for 100%",
        ),
        (
            np.floor((pd.Timestamp("2017-06-01") - PEOPLE["born"]).dt.days / 365.25),
            "y follows from born: predicted within the radius for 100%",
        ),
        (
            PEOPLE["rent"] * 12 * np.random.default_rng(5).uniform(0.92, 1.08, N),
            "y follows from rent: predicted within the radius for",
        ),
    ],
    ids=range(20),
)
def test_what_follows_from_kept_variables_is_found(values, found):
    assert found in find(values)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(6).lognormal(8, 0.8, N).round(),
        (PEOPLE["rent"] * np.random.default_rng(7).lognormal(0, 0.3, N)).round(),
        np.where(np.random.default_rng(8).random(N) < 0.005, 1, 0),
        np.where(np.random.default_rng(8).random(N) < 0.005, "yes", "no"),
        np.where(PEOPLE["bonus"] > 0, np.random.default_rng(9).lognormal(8, 1, N).round(), 0),
        np.random.default_rng(10).choice([8, 10, 12, 12, 12, 16], N),
        np.random.default_rng(12).integers(1990, 2010, N),
        pd.Series(np.random.default_rng(11).choice(["x", "y", "z"], N)).mask(PEOPLE["age"] < 25),
    ],
    ids=[
        "noise",
        "correlated",
        "nearly constant",
        "nearly constant text",
        "zero by another",
        "few",
        "all close",
        "skipped",
    ],
)
def test_what_does_not_follow_is_not_found(values):
    assert find(values) == ""


def test_the_order_of_the_file_is_no_evidence():
    frame = PEOPLE[["sex", "region", "bonus"]].assign(y=np.arange(N) // 3 + 100)
    assert find_derivable(Table(frame), settings_for(frame, "y")) == ()


def test_what_is_given_for_part_of_the_records_is_mentioned_and_stops_nothing():
    random = np.random.default_rng(14)
    values = PEOPLE["rent"] + np.where(random.random(N) < 0.35, random.lognormal(6, 1, N).round(2), 0)
    frame = PEOPLE.drop(columns=["household", "born", "gift"]).assign(y=values)
    settings = settings_for(frame, "y", lower=0.0, upper=1e6).but(known=["region"])
    [found] = find_derivable(Table(frame), settings)
    assert found.partly
    refuse_derivable([found], settings)
    told = str(plan_settings(frame, settings))
    assert "Some true values can be computed from what is released unchanged: y = rent, for 6" in told
    assert "Nothing runs before" not in told


def test_nothing_of_the_built_in_survey_follows_from_the_rest():
    survey = consumer_survey(800, seed=2)
    for name in survey:
        assert find_derivable(Table(survey), settings_for(survey, f"{name}")) == ()
    suggested = suggest_settings(survey).settings
    assert (suggested.derived, plan_settings(survey, suggested).derivable) == ({}, ())


def test_a_dropped_unit_counts_only_if_kept_variables_name_it():
    total = within(PEOPLE["rent"])
    assert "sum(rent) by household" in find(total, drop=["household"])
    frame = PEOPLE.assign(y=total).drop(columns="housing")
    assert find_derivable(Table(frame), settings_for(frame, "y", drop=["household"])) == ()


def test_no_fitted_number_and_no_value_is_told():
    values = 0.7183 * PEOPLE["rent"] + 0.3177 * PEOPLE["bonus"] + 413.37
    told = find(values)
    assert told == "y follows from rent and bonus: predicted within the radius for 100% of the records"


def test_a_small_table_shows_a_formula_and_no_net():
    frame = PEOPLE[["age", "experience", "rent"]].iloc[:40].assign(y=lambda own: own["age"] - own["experience"])
    assert "y = age - experience" in str(find_derivable(Table(frame), settings_for(frame, "y"))[0])
    frame["y"] = frame["rent"] * np.linspace(0.95, 1.05, 40)
    assert find_derivable(Table(frame), settings_for(frame, "y")) == ()


def test_ties_among_synthesized_variables_are_mentioned_once():
    frame = PEOPLE.assign(y=PEOPLE["rent"] + PEOPLE["bonus"])
    settings = settings_for(frame, "rent", "bonus", "y")
    assert [str(one) for one in find_ties(Table(frame), settings)] == ["rent = y - bonus, for 100% of the records"]
    limits = {"lower": dict.fromkeys(settings.synthesize, 0.0), "upper": dict.fromkeys(settings.synthesize, 1e6)}
    frame, known = frame.drop(columns=["household", "born"]), {"known": ["region"], "missing_values": "keep"}
    settings = settings_for(frame, *settings.synthesize, **limits).but(**known)
    assert "Synthetic values will not keep to this: rent = y - bonus" in str(plan_settings(frame, settings))
    stated = settings.but(constraints=["rent + bonus = y"])
    assert plan_settings(frame, stated).ties == ()


def test_what_is_found_stops_unless_it_is_accepted_by_name():
    frame = PEOPLE.assign(y=PEOPLE["rent"] * 12)
    settings = settings_for(frame, "y")
    found = find_derivable(Table(frame), settings)
    with pytest.raises(InputError, match=r"y = 12 \* rent.*synthesize parts of it \(rent\)"):
        refuse_derivable(found, settings)
    refuse_derivable(found, settings.but(accept_derivable="y"))


@pytest.mark.parametrize(
    ("derived", "changes", "words"),
    [
        ({"y": "rent * 12"}, {}, "'y' is computed from variables that are released unchanged"),
        ({"y": "rent + wage"}, {"drop": ["rent"]}, "computed from 'rent', which is neither replaced nor kept"),
        ({"y": "wage + nothing"}, {}, "no variable 'nothing'"),
        ({"y": "wage + region"}, {}, "'region' is not numeric"),
        ({"y": "sum(rent) by wage"}, {}, "released unchanged|do not belong together"),
        ({"y": "wage + rent"}, {"known": ["y"]}, "'y' is derived, so that no released record"),
        ({"y": "wage + rent"}, {"constraints": ["y > wage"]}, "they speak of 'y', which is derived"),
    ],
)
def test_formulas_that_would_release_true_values_are_refused(derived, changes, words):
    frame = PEOPLE.drop(columns=["gift", "household", "housing", "size", "born"]).assign(y=PEOPLE["rent"] * 12)
    settings = settings_for(frame, "wage", derived=derived, drop=changes.pop("drop", ()), lower=0.0, upper=1e6)
    with pytest.raises(InputError, match=words):
        plan_settings(frame, settings.but(**changes))


def test_a_derived_variable_is_searched_for_as_well():
    # The part that is synthesized is nothing for nearly everybody.
    rare = np.where(np.arange(N) % 200 == 0, 50.0, 0.0) + np.where(np.arange(N) % 400 == 0, 9.0, 0.0)
    frame = PEOPLE.assign(rare=rare, y=PEOPLE["rent"] + rare)
    settings = settings_for(frame, "rare", derived={"y": "rent + rare"})
    assert "y = rent, for 99.5%" in "; ".join(map(str, find_derivable(Table(frame), settings)))


def test_init_proposes_to_synthesize_the_parts_and_to_compute_the_rest():
    frame = PEOPLE[["age", "sex", "region", "size", "bonus", "rent"]].assign(
        income=(PEOPLE["rent"] * 30 + PEOPLE["bonus"]) / PEOPLE["size"]
    )
    found = suggest_settings(frame.rename(columns={"rent": "work", "bonus": "extra"}))
    settings = found.settings
    assert dict(settings.derived) == {"income": "(30 * work + extra) / size"}
    assert set(settings.synthesize) == {"work", "extra"}
    assert "size" in settings.keep
    assert [settings.of_column("lower", name) for name in ("work", "income")] == [0.0, None]
    assert "synthesized because income follows from it" in found.reasons["work"]


def test_settings_say_of_a_column_that_it_is_derived():
    columns = {"a": "synthesize", "b": "keep", "y": {"release": "derived", "formula": "a + b"}}
    given = Settings.model_validate({"columns": columns, "known": ["b"]})
    assert given.derived == {"y": "a + b"}
    accepted = {**columns, "a": {"release": "synthesize", "accept_derivable": True}}
    assert Settings.model_validate({"columns": accepted, "known": ["b"]}).accept_derivable == ("a",)
    for wrong in ({"release": "derived"}, {"release": "keep", "formula": "a"}, {"derivable": "yes"}):
        with pytest.raises(InputError, match="column 'y'"):
            Settings.model_validate({"columns": {**columns, "y": wrong}, "known": ["b"]})
    with pytest.raises(InputError, match="'y' has two fates"):
        given.but(keep=["b", "y"])


def test_a_factor_within_a_group_and_the_record_of_another_person_are_found_before_the_fit():
    random = np.random.default_rng(4)
    home = random.permutation(np.arange(600) // 2)
    pay = np.exp(random.normal(9, 0.7, 600)).round()
    partner = np.empty(600)
    members = np.argsort(home, kind="stable").reshape(-1, 2)
    partner[members] = pay[members[:, ::-1]]
    people = pd.DataFrame({"sex": random.choice(["f", "m"], 600), "pay": pay, "country": random.integers(0, 30, 600)})
    people["local"] = (pay * np.exp(2 * random.normal(size=30))[people["country"]]).round(2)
    for kept, parts in ((["country", "local"], ("local", "country")), (["partner"], ("partner",))):
        settings = Settings(synthesize=["pay"], keep=["sex", *kept], known=["sex"], radius=0.2)
        [found] = find_derivable(Table(people.assign(partner=partner)), settings)
        assert (found.parts, found.formula, found.partly) == (parts, "", False)
