"""Key variables that init proposes: who is alone with them is counted by hand, before and after."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from molehill.plan.columns import look_at_columns
from molehill.plan.key_variables import MOST_ALONE, choose_key_variables
from molehill.plan.plan import pattern_sizes, plan_settings, take_table
from molehill.plan.pooling import pool_levels
from molehill.plan.settings import Settings
from molehill.plan.suggest import suggest_settings
from molehill.release.making import prepare
from molehill.tables.table import Table

N = 1000
RNG = np.random.default_rng(11)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "sex": RNG.choice(["f", "m"], N),
        "region": RNG.choice(["N", "S", "E", "W"], N),
        "marital": RNG.choice(["single", "married", "widowed"], N, p=[0.5, 0.4, 0.1]),
        "education": RNG.choice([f"level {place}" for place in range(8)], N),
        "occupation": RNG.choice([f"job {place}" for place in range(12)], N),
        "pay": RNG.lognormal(8, 0.6, N).round(2),
    }
)
OBSERVED = ["age", "sex", "region", "marital", "education", "occupation"]


def alone(people: pd.DataFrame, settings: Settings) -> float:
    table = pool_levels(take_table(people, settings), settings)[0]
    return float((pattern_sizes(table, settings.known, settings.number_breaks) == 1).mean())


def choose(people: pd.DataFrame, **how):
    settings = Settings(synthesize=["pay"], keep=[name for name in people if name != "pay"], known=())
    table = Table(people)
    kept = [found for found in look_at_columns(table) if found.name in settings.keep]
    return choose_key_variables(table, settings, kept, **how)


def test_few_people_are_alone_with_what_is_proposed():
    suggested = suggest_settings(PEOPLE)
    settings = suggested.settings
    assert float((PEOPLE.groupby(OBSERVED)["pay"].transform("size") == 1).mean()) > 0.9
    assert alone(PEOPLE, settings) <= MOST_ALONE
    # All that can be observed is a key variable or synthesized.
    assert {*OBSERVED} == {*settings.known} | {*settings.synthesize} - {"pay"}
    assert settings.grouped == ("age",)
    assert settings.known[:3] == ("age", "sex", "region")
    assert "of the records would be alone with their key variables, above 5%" in suggested.reasons["occupation"]
    assert "released in groups" in suggested.reasons["age"]
    plan_settings(PEOPLE, settings)


def test_the_next_variable_would_leave_too_many_alone():
    keys = choose(PEOPLE)
    settings = Settings(
        synthesize=["pay"], known=keys.known, keep=OBSERVED, breaks=keys.breaks, grouped=tuple(keys.breaks)
    )
    for name in keys.synthesize:
        assert alone(PEOPLE, settings.but(known=(*keys.known, name))) > MOST_ALONE


def test_what_tells_few_people_apart_stays_as_it_is():
    people = pd.concat([PEOPLE[["sex", "region", "pay"]]] * 3, ignore_index=True).assign(
        age=np.tile(np.arange(18, 88), 43)[: 3 * N], pay=RNG.lognormal(8, 0.6, 3 * N).round(2)
    )
    keys = choose(people)
    assert (keys.breaks, keys.pooled, keys.synthesize) == ({}, {}, ())
    assert keys.known == ("age", "sex", "region")


def test_the_note_counts_records_before_and_after():
    note = choose(PEOPLE).note
    by_hand = PEOPLE.groupby(OBSERVED)["pay"].transform("size")
    assert f"1 (alone)  {int((by_hand == 1).sum()):>10,}".split() == note.splitlines()[2].split()[:3]
    counts = [line.split("->") for line in note.splitlines()[2:]]
    for side in (0, 1):
        cells = [line[side].split("(")[-2].split()[-1] for line in counts]
        assert sum(int(cell.replace(",", "")) for cell in cells) == N


def test_rare_levels_are_pooled_before_a_variable_is_synthesized():
    origin = np.where(np.arange(N) < 60, [f"place {place // 6}" for place in range(N)], "here")
    origin[60:200] = "near"
    people = pd.DataFrame(
        {
            "sex": PEOPLE["sex"],
            "region": np.arange(N) % 5,
            "nationality": origin,
            "household_size": np.where(np.arange(N) % 97 == 0, 9, np.arange(N) % 4 + 1),
            "pay": PEOPLE["pay"],
        }
    )
    keys = choose(people)
    assert "nationality" in keys.pooled
    assert "nationality" in keys.known


def test_people_are_counted_and_not_their_records():
    # Eight records of everybody: no record is alone, and nearly everybody is.
    people = PEOPLE.iloc[:200]
    panel = pd.concat([people.assign(person=np.arange(200), year=year) for year in range(8)], ignore_index=True)
    names = ["sex", "region", "marital", "education", "occupation"]
    assert (pattern_sizes(Table(panel), names, {}) >= 8).all()
    assert (pattern_sizes(Table(panel), names, {}, ["person"]) == 1).mean() > 0.5
    keys = choose(panel.drop(columns="person"))
    by_person = choose(panel, units=["person"])
    assert 'values of "person"' in by_person.note
    assert {*by_person.synthesize} > {*keys.synthesize} - {"person"}


def test_who_has_no_unit_is_one_of_their_own():
    table = Table(pd.DataFrame({"home": [1.0, 1.0, None, None], "town": ["A"] * 4}))
    assert pattern_sizes(table, ["town"], {}, ["home"]).tolist() == [3] * 4


def test_strata_stay_key_variables():
    keys = choose(PEOPLE.assign(region=RNG.integers(0, 40, N)), fixed=["region"])
    assert "region" in keys.known
    assert "region" not in keys.synthesize


def test_parts_of_a_formula_are_not_put_in_groups():
    people = PEOPLE.assign(taxed=PEOPLE["pay"] / PEOPLE["age"])
    settings = Settings(synthesize=["pay"], keep=OBSERVED, known=(), derived={"taxed": "pay / age"})
    kept = [found for found in look_at_columns(Table(people)) if found.name in OBSERVED]
    keys = choose_key_variables(Table(people), settings, kept)
    assert "age" not in keys.breaks


def test_what_a_kept_weight_discloses_stays_a_key_variable():
    # The weight says where somebody lives, and how many live there.
    region, size = RNG.integers(0, 6, N), RNG.integers(1, 7, N)
    people = PEOPLE.assign(region=[f"r{place}" for place in region], household_size=size)
    people["rb050"] = 150.25 + 10.5 * region + 100.125 * size
    settings = suggest_settings(people).settings
    assert settings.survey_design is not None
    assert {"region", "household_size"} <= {*settings.known}
    assert alone(people, settings) <= MOST_ALONE
    prepare(people, settings)


def test_codes_are_synthesized_as_categories():
    people = PEOPLE.assign(occupation=np.random.default_rng(1).integers(1, 18, N))
    settings = suggest_settings(people).settings
    assert settings.kinds == {"occupation": "categorical"}
    assert isinstance(settings.lower, dict)
    assert "occupation" not in settings.lower


@pytest.mark.parametrize("dated", [False, True])
def test_kinds_that_cannot_be_grouped(dated):
    people = PEOPLE.assign(region=PEOPLE["region"].astype("category"))
    table = Table(people)
    kept = [found for found in look_at_columns(table) if found.name in OBSERVED]
    kept = [replace(found, dates=True) if dated and found.name == "age" else found for found in kept]
    settings = Settings(synthesize=["pay"], keep=OBSERVED, known=())
    assert ("age" in choose_key_variables(table, settings, kept).breaks) is not dated
