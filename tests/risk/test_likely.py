"""An intruder who knows some columns for sure and others perhaps: the mean over what may be known."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError, Intruder, confidential_risk, release_risk
from molehill.risk.identification import risk_floor

rng = np.random.default_rng(6)
PEOPLE = pd.DataFrame(
    {
        "town": rng.choice(list("ABC"), 80),
        "pay": rng.lognormal(8, 0.6, 80).round(),
        "rent": rng.lognormal(6, 0.6, 80).round(),
        "job": rng.choice(list("xyz"), 80),
    }
)
PEOPLE.loc[0, "town"] = "Z"
RELEASED = [PEOPLE.assign(pay=rng.permutation(PEOPLE["pay"]), rent=PEOPLE["rent"] * 1.05) for _ in range(3)]
COLUMNS = ["pay", "rent", "job"]


def seen(columns, **more):
    numbers = {"radius": {name: 0.2 for name in columns if name != "job"}} if {*columns} - {"job"} else {}
    return Intruder(known="town", sensitive=columns, **numbers, **more)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_risk_is_the_mean_over_what_may_be_known(order):
    found = confidential_risk(PEOPLE, seen(COLUMNS, knowledge_probability={"rent": 0.3, "job": 0.6}), order=order).risk
    parts = {("pay", "rent", "job"): 0.18, ("pay", "rent"): 0.12, ("pay", "job"): 0.42, ("pay",): 0.28}
    mean = sum(
        chance * confidential_risk(PEOPLE, seen(list(names)), order=order).risk for names, chance in parts.items()
    )
    np.testing.assert_allclose(found, mean)


def test_of_a_release_and_of_the_floor_it_is_the_same():
    intruder = seen(COLUMNS, knowledge_probability={"rent": 0.3})
    parts = {("pay", "rent", "job"): 0.3, ("pay", "job"): 0.7}
    for measure in (lambda who: release_risk(PEOPLE, RELEASED, who).by_dataset, lambda who: risk_floor(PEOPLE, who)):
        mean = sum(chance * measure(seen(list(names))) for names, chance in parts.items())
        np.testing.assert_allclose(measure(intruder), mean)


def test_who_may_know_nothing_sensitive_finds_only_who_is_alone():
    whole = confidential_risk(PEOPLE, seen(["pay"])).risk
    found = confidential_risk(PEOPLE, seen(["pay"], knowledge_probability={"pay": 0.25})).risk
    np.testing.assert_allclose(found[1:], 0.25 * whole[1:])
    assert found[0] == whole[0] == 1.0
    released = release_risk(PEOPLE, RELEASED, seen(["rent"], knowledge_probability={"rent": 0.25})).by_dataset
    assert (released[:, 0] == 1.0).all()
    np.testing.assert_allclose(released[:, 1:], 0.25 * release_risk(PEOPLE, RELEASED, seen(["rent"])).by_dataset[:, 1:])


def test_what_is_sure_need_not_be_said_and_no_chance_is_refused():
    assert seen(COLUMNS, knowledge_probability={"rent": 1}) == seen(COLUMNS)
    with pytest.raises(InputError, match="'rant' is not a sensitive variable"):
        seen(COLUMNS, knowledge_probability={"rant": 0.5})
    for chance in (0, -0.1, 1.5, True, "often", np.nan):
        with pytest.raises(InputError, match="the value for 'rent' is no probability"):
            seen(COLUMNS, knowledge_probability={"rent": chance})
    with pytest.raises(InputError, match="expected probabilities by variable name"):
        seen(COLUMNS, knowledge_probability=0.5)
    many = [f"c{place}" for place in range(9)]
    with pytest.raises(InputError, match="512 sets"):
        Intruder(known=(), sensitive=many, radius=0.1, knowledge_probability=dict.fromkeys(many, 0.5))


def test_who_lacks_a_value_is_not_found_by_it():
    gaps = PEOPLE.copy()
    gaps.loc[[3, 5], "rent"] = np.nan
    gaps.loc[5, "pay"] = np.nan
    how = {"missing_values": "keep"}
    found = confidential_risk(gaps, seen(["pay", "rent"], knowledge_probability={"pay": 0.5}, **how)).risk
    both, rent = (confidential_risk(gaps, seen(list(names), **how)).risk for names in (["pay", "rent"], ["rent"]))
    assert np.isnan(found[5])
    assert found[3] == pytest.approx(0.5 * both[3])
    assert np.isnan(rent[3])
