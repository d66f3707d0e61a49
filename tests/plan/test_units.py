"""Records that belong together: numbers of households and of persons over the years, and what only looks like them."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.columns import look_at_columns
from molehill.plan.plan import plan_settings
from molehill.plan.settings import Settings
from molehill.plan.suggest import suggest_settings
from molehill.surveys import SurveyDesign
from molehill.tables.formats.formats import read_table
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table

RNG = np.random.default_rng(7)
HOMES = 300


def households() -> pd.DataFrame:
    size = RNG.integers(1, 6, HOMES)
    home = np.repeat(np.arange(HOMES), size)
    people = len(home)
    return pd.DataFrame(
        {
            "hkey": [f"{number:08x}" for number in RNG.integers(0, 2**32, HOMES)[home]],
            "region": RNG.choice(list("NESW"), HOMES)[home],
            "size": size[home],
            "age": RNG.integers(0, 90, people),
            "sex": RNG.choice(["f", "m"], people),
            "hinc": RNG.lognormal(10, 1, HOMES).round()[home],
        }
    )


def panel() -> pd.DataFrame:
    person = np.repeat(np.sort(RNG.choice(12_000, 150, replace=False)), 8)
    return pd.DataFrame(
        {
            "nr": person,
            "year": np.tile(np.arange(1980, 1988), 150),
            "ethn": RNG.choice(["a", "b", "c"], 150).repeat(8),
            "married": RNG.choice(["yes", "no"], 1200),
            "wage": RNG.lognormal(2, 0.5, 1200).round(2),
        }
    )


def units(frame):
    return {found.name: found for found in look_at_columns(Table(frame)) if found.unit}


@pytest.mark.parametrize("shuffled", [False, True])
def test_households_and_panels_are_found_in_any_order(shuffled):
    homes, years = (one.sample(frac=1, random_state=1) if shuffled else one for one in (households(), panel()))
    found = units(homes.reset_index(drop=True))
    assert found["hkey"].identifying == "number of a unit with several records"
    assert f"{len(homes):,} records, {HOMES} values; 3 variables are constant within it" in found["hkey"].unit
    # The income of the household goes with it: an amount to replace, and no number to drop.
    assert found["hinc"].identifying == ""
    found = units(years.reset_index(drop=True))
    assert [*found] == ["nr"]
    assert "1,200 records, 150 values; 1 variable is constant within it (ethn)" in found["nr"].unit
    assert "1 variable is never the same within it (year)" in found["nr"].unit


def test_what_only_groups_its_neighbours_is_no_unit():
    n = 900
    age = np.sort(RNG.integers(0, 90, n))
    isco = RNG.integers(0, 200, n)
    frame = pd.DataFrame(
        {
            # Groups and years of birth never change within an age, nor does a major group within its occupations.
            "v1": age,
            "v2": age // 10,
            "v3": 2020 - age,
            "v4": [f"{code:03}" for code in isco],
            "v5": isco // 20,
            # A label for every code, and a region for every place: neither lies together.
            "v6": [f"label {RNG.permutation(200)[0]} {code}" for code in isco],
            "v7": RNG.integers(0, 60, n),
        }
    )
    assert units(frame) == {}
    assert units(consumer_survey(2000)) == {}


def test_no_chance_finding_in_categories_of_any_size():
    found = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        n = int(random.integers(100, 1500))
        levels = [2, 3, 8, 30, 60, 150, n // 3]
        frame = pd.DataFrame({f"v{level}": random.integers(0, level, n) for level in levels})
        found += len(units(frame.sort_values(frame.columns[seed % 7])))
    assert found == 0


def test_units_of_real_files(shared):
    # Others in test_suggest.py.
    found = suggest_settings(read_table(shared / "households" / "males.csv"))
    assert "nr" in found.settings.drop
    assert "records belong together" in found.notes["columns"]
    assert "nr" not in found.settings.known
    schools = suggest_settings(read_table(shared / "api_strat.csv"))
    assert "belong together" not in schools.notes.get("columns", "")


def test_a_unit_is_dropped_or_accepted_by_name_before_anything_runs():
    frame = panel()
    settings = Settings(
        synthesize=["wage"], keep=["nr", "year", "ethn", "married"], known=["ethn"], lower=0.0, upper=99.0
    )
    with pytest.raises(InputError, match=r"1,200 records, 150 values.* write|1,200 records, 150 values") as caught:
        plan_settings(frame, settings)
    assert 'nr = "drop"' in str(caught.value)
    assert 'nr = { release = "keep", accept_identifying = true }' in str(caught.value)
    # To replace a number of persons by other numbers decides nothing.
    replaced = settings.but(synthesize=["wage", "nr"], keep=settings.keep[1:], upper=99_999.0)
    with pytest.raises(InputError, match="records belong together"):
        plan_settings(frame, replaced)
    dropped = plan_settings(frame, settings.but(drop=["nr"], keep=settings.keep[1:]))
    assert "and is dropped" in dropped.together[0]
    assert "risk is measured per record, not per person or household" in str(dropped)
    accepted = plan_settings(frame, settings.but(accept_identifying=["nr"]))
    assert "and is published as collected" in accepted.together[0]
    # What is said to be of the design of a survey is decided as well.
    plan_settings(
        frame.assign(w=2.0), settings.but(keep=(*settings.keep, "w"), survey_design=SurveyDesign("w", cluster="nr"))
    )


def test_two_codes_that_name_a_household_together_are_found():
    random = np.random.default_rng(9)
    home = np.repeat(np.arange(200), random.integers(1, 5, 200))
    codes = {"block": home // 20, "flat": home % 20, "size": np.bincount(home)[home]}
    frame = pd.DataFrame({**codes, "region": random.choice(list("nesw"), 200)[home]})
    frame = frame.assign(sex=random.choice(["f", "m"], len(home)), wage=random.lognormal(10, 0.5, len(home)).round())
    frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    suggested = suggest_settings(frame)
    assert suggested.settings.drop == ("flat",)
    assert "together with 'block'" in suggested.reasons["flat"]
    # By chance, two codes make groups of few records as well.
    apart = frame.assign(flat=random.permutation(frame["flat"]))
    assert suggest_settings(apart).settings.drop == ()
