"""What a column looks like: names of people in many shapes, what an intruder may have, what is sensitive."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.columns import look_at_columns, order_tells, propose_limits
from molehill.plan.plan import plan_settings
from molehill.plan.settings import Settings
from molehill.plan.suggest import suggest_settings
from molehill.tables.table import Table

RNG = np.random.default_rng(5)
N = 400
FIRST = ["Ann", "Bob", "Cleo", "Dirk", "Élise", "Fatima", "Goran", "Hui", "Ines", "Jörg"]


def luhn(stem: int) -> int:
    digits = [int(digit) for digit in f"{stem}0"][::-1]
    total = sum(digits[::2]) + sum(2 * digit - 9 * (digit > 4) for digit in digits[1::2])
    return 10 * stem + (10 - total % 10) % 10


IDENTIFYING = {
    "counted": (np.arange(10_001, 10_001 + N), "count up"),
    "shuffled_count": (RNG.permutation(N) + 7, "count up"),
    "pid": ([f"P-{number:06}" for number in RNG.permutation(10**6)[:N]], "number"),
    "number": (RNG.integers(10**8, 10**9, N), "same length"),
    "card": ([luhn(int(stem)) for stem in RNG.integers(10**4, 10**9, N)], "differ"),
    "contact": ([f"p{number}@example.org" for number in range(N)], "e-mail"),
    "reachable": ([f"+49 30 {number}" for number in RNG.integers(10**6, 10**7, N)], "telephone"),
    "Nachname": ([f"{RNG.choice(FIRST)}son{number % 200}" for number in range(N)], "name"),
    "who": ([f"{RNG.choice(FIRST)} {RNG.choice(FIRST)}{'abcdefghij'[number % 10]}o" for number in range(N)], "names"),
    "birth_date": (pd.Timestamp("1950-01-01") + pd.to_timedelta(RNG.integers(0, 20_000, N), unit="D"), "dates"),
    "postcode": ([f"{number:05}" for number in RNG.integers(1, 99_999, N)], "few people"),
    "remarks": ([f"called {number} times about the roof and the rain" for number in RNG.permutation(N)], "free text"),
    # The number of a person behind that of the household.
    "v1": (RNG.permutation(np.arange(1, 201).repeat(2) * 100 + np.tile([1, 2], 200)), "differ"),
    "v2": (RNG.integers(0, 10**7, N), "as evenly as numbers of persons"),
    "v3": (np.cumsum(RNG.geometric(0.01, N)) + 12, "differ"),
    "hash": ([f"{number:016x}" for number in RNG.integers(0, 2**62, N)], "differ"),
    "lat": (RNG.uniform(40, 50, N), "few people"),
    # As numbers: a day as it is written, one counted from 1960, a year of few people, and numbers to call.
    "date of birth": (RNG.integers(1940, 2000, N) * 10_000 + RNG.integers(1, 13, N) * 100 + 11, "a date of birth"),
    "birthdate": (RNG.integers(-7_000, 14_000, N), "a date of birth"),
    "phone": (RNG.integers(3_000_000, 3_000_700, N), "an address for messages"),
    "hid": (RNG.integers(1, 900, N), "a person's number"),
    "serial_id": (10 * RNG.permutation(9 * N)[:N] + 1_000, "a person's number"),
}
PLAIN = {
    "sex": RNG.choice(["f", "m"], N),
    "age": RNG.integers(0, 99, N),
    "income": np.exp(RNG.normal(10, 1, N)),
    "profits": np.exp(RNG.normal(12, 1, N)).round(),
    "v4": RNG.normal(40_000, 9_000, N).round(),
    "euros": RNG.integers(0, 10**7, N),
    "region": RNG.choice(["N", "S", "E", "W"], N),
    "grade": RNG.integers(1, 6, N),
    "idle": RNG.choice(["yes", "no"], N),
    "since": RNG.integers(1990, 2020, N),
    # Measured, whatever else the name says.
    "birth_weight": RNG.normal(3_300, 500, N).round(-1),
    "birthweight_kg": RNG.normal(3.3, 0.5, N).round(3),
    "minutes_phone": RNG.gamma(2, 300, N).round(),
    "serum_id_level": RNG.normal(180, 40, N).round(1),
    "id_level": RNG.normal(800, 200, N).round(),
    "city_noise": RNG.normal(60, 8, N).round(2),
    "firm_profit": RNG.normal(1e5, 1e4, N).round(2),
}


@pytest.mark.parametrize("name", IDENTIFYING)
def test_what_names_people_is_seen(name):
    values, reason = IDENTIFYING[name]
    (found,) = look_at_columns(Table(pd.DataFrame({name: values})))
    assert reason in found.identifying


@pytest.mark.parametrize("name", PLAIN)
def test_what_describes_people_is_not_taken_for_a_name(name):
    (found,) = look_at_columns(Table(pd.DataFrame({name: PLAIN[name]})))
    assert found.identifying == ""


@pytest.mark.parametrize("different", [5, 180])
@pytest.mark.parametrize(
    "name",
    [
        "Naam",
        "Name",
        "name_2",
        "surname",
        "FirstName",
        "full name",
        "Voornaam",
        "Achternaam partner",
        "respondent",
        "initials",
        "Nom de famille",
        "prénom",
        "Nombre completo",
        "nome e cognome",
        "Familienname",
        "Name der Mutter",
        "patient_name",
    ],
)
def test_names_of_people_may_repeat(name, different):
    texts = [f"{FIRST[number % 10]}{chr(97 + number // 10)}" for number in range(different)]
    frame = pd.DataFrame({name: (texts * N)[:N]})
    assert look_at_columns(Table(frame))[0].identifying == "names of people"
    by_label = Table(frame.set_axis(["v1"], axis=1), {"v1": name})
    assert look_at_columns(by_label)[0].identifying == "names of people"


@pytest.mark.parametrize(
    "name",
    ["region_name", "product name", "respondent_type", "initial_status", "nombre_hijos", "name_of_bank", "nomad"],
)
def test_names_of_other_things_are_kept(name):
    frame = pd.DataFrame({name: [f"a{number % 12}" for number in range(N)]})
    assert look_at_columns(Table(frame))[0].identifying == ""
    few = pd.DataFrame({"name": [f"a{number % 4}" for number in range(N)]})
    assert look_at_columns(Table(few))[0].identifying == ""


def test_the_name_of_a_place_is_a_place():
    frame = pd.DataFrame({"city_name": [f"a{number % 100}" for number in range(N)]})
    assert look_at_columns(Table(frame))[0].identifying == "places with few people"


def test_an_infinite_value_is_no_number_of_a_person():
    values = np.concatenate([[np.inf, -np.inf], RNG.integers(10**8, 10**9, N)])
    (found,) = look_at_columns(Table(pd.DataFrame({"wage": values})))
    assert found.identifying == "nearly all values differ, of the same length"
    (found,) = look_at_columns(Table(pd.DataFrame({"wage": [np.inf, -np.inf] * 20})))
    assert found.identifying == ""


def test_a_column_without_a_name_is_told_by_its_place():
    with pytest.raises(InputError, match="column 2 has no name"):
        look_at_columns(Table(pd.DataFrame({"a": ["x"] * 30, "": ["y"] * 30})))


@pytest.mark.parametrize(
    ("name", "label", "knowable", "sensitive"),
    [
        ("AGEP", "", "age", ""),
        ("Alter", "", "age", ""),
        ("v12", "Geschlecht der Person", "sex", ""),
        *((place, "", "place", "") for place in ("Bundesland", "Provincie", "Provinz", "province", "Canton")),
        *((place, "", "place", "") for place in ("Département", "departamento", "Landkreis", "gewest", "prefecture")),
        ("estado_civil", "", "marital status", ""),
        ("householdSize", "", "household", ""),
        ("nationalité", "", "origin", ""),
        ("Nationality", "", "origin", ""),
        ("diagnosis_code", "", "", "health"),
        ("x7", "Monatliches Einkommen", "", "money"),
        ("voted", "", "", ""),
        ("vote", "", "", "opinion"),
        ("religion", "", "", "opinion"),
        ("wage", "", "", "money"),
        ("colour", "", "", ""),
    ],
)
def test_names_and_labels_tell_in_several_languages(name, label, knowable, sensitive):
    frame = pd.DataFrame({name: RNG.choice(["a", "b", "c"], N)})
    (found,) = look_at_columns(Table(frame, {name: label} if label else {}))
    assert (found.knowable, found.sensitive) == (knowable, sensitive)


def test_an_order_that_tells_is_seen_and_a_random_one_is_not():
    income = np.exp(RNG.normal(10, 1, 600))
    blocks = np.repeat(["a", "b", "c"], 200)
    frame = pd.DataFrame({"sorted": np.sort(income), "random": income, "blocks": blocks, "fallen": -np.sort(income)})
    assert order_tells(Table(frame), frame.columns) == ("sorted", "blocks", "fallen")
    # Nearly sorted, as by a key that goes with it.
    near = pd.DataFrame({"near": np.sort(income)[np.argsort(np.arange(600) + RNG.normal(0, 100, 600))]})
    assert order_tells(Table(near), near.columns) == ("near",)
    chance = [order_tells(Table(pd.DataFrame({"x": RNG.normal(size=300)})), ["x"]) for _ in range(100)]
    assert chance.count(("x",)) == 0


def test_proposed_limits_hold_the_values_and_tell_their_magnitude_only():
    for _ in range(200):
        values = RNG.normal(0, 10.0 ** RNG.uniform(-3, 7), 20)
        low, high = propose_limits(values)
        assert low <= values.min()
        assert values.max() <= high
        for end in (low, high):
            assert f"{abs(end):.0e}"[0] in "0125"
    assert propose_limits(np.array([0.0, 61_234.0])) == propose_limits(np.array([3.0, 66_000.0]))


@pytest.mark.parametrize(("name", "told"), [("x", True), ("gps_e", True), ("share", False), ("points", False)])
def test_coordinates_are_seen_whatever_they_are_called(name, told):
    random = np.random.default_rng(4)
    values = {"share": random.random(200).round(5), "points": random.uniform(0, 90, 200).round(1)}
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], 200), "wage": random.lognormal(9, 0.5, 200).round()})
    frame[name] = values.get(name, random.uniform(47, 49, 200).round(5))
    suggested = suggest_settings(frame)
    assert (name in suggested.settings.undecided) == told
    assert ("as coordinates do" in suggested.reasons[name]) == told
    kept = Settings(synthesize=["wage"], keep=["sex", name], known=["sex"], lower=0.0, upper=1e6)
    # Released unchanged, a share that nearly nobody has in common names its person as well.
    named = told or name == "share"
    assert ("SINGLE VALUES SAY NEARLY WHO A PERSON IS" in str(plan_settings(frame, kept))) == named
