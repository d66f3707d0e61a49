"""Whose eyes: a table is read, typed and patterned once, and what was seen is used again where it is the same."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill import InputError, confidential_risk, match_rates, release_risk
from molehill.risk.attacks import guess_values, pooled_risk
from molehill.risk.intruder import Intruder, as_view, read_released
from molehill.tables import schema
from molehill.tables.patterns import learn_patterns

DATA = pd.DataFrame(
    {
        "id": [5, 6, 7, 8],
        "town": ["A", "A", "B", "B"],
        "pay": [100.0, 105.0, 300.0, 50.5],
        "debt": [1.5, 2.5, 9.5, 9.0],
        "job": ["x", "y", "x", "x"],
    }
)
BOTH = Intruder(known="town", sensitive=["pay", "debt"], radius={"pay": 0.1, "debt": 0.2}, min_radius=0.5)


@pytest.fixture
def patterned(monkeypatch):
    """The columns of every call that learns patterns."""
    calls = []

    def learn(table, columns, breaks=None):
        calls.append(list(columns))
        return learn_patterns(table, columns, breaks)

    monkeypatch.setattr("molehill.risk.intruder.learn_patterns", learn)
    return calls


def test_names_may_be_given_alone_and_nothing_is_shared():
    breaks: dict[str, Any] = {"age": [25]}
    one = Intruder(known="age", sensitive="pay", breaks=breaks)
    breaks["age"] = [30]
    assert (one.known, one.sensitive, one.breaks) == (("age",), ("pay",), {"age": (25,)})
    assert one == Intruder(known=["age"], sensitive=["pay"], breaks={"age": [25]})


def test_an_intruder_is_one_value_that_cannot_be_changed_and_can_be_a_key():
    given: Any = {
        "breaks": {"age": [25, 35]},
        "kinds": {"pay": "continuous"},
        "radius": {"pay": 0.1},
        "min_radius": {"pay": 5},
    }
    one = Intruder("age", "pay", **given)
    given["breaks"]["age"].append(50)
    given["radius"]["pay"] = 0.5
    assert (one.breaks, one.radius) == ({"age": (25, 35)}, {"pay": 0.1})
    for name in given:
        with pytest.raises(TypeError, match="cannot be changed"):
            getattr(one, name)["x"] = 1
    names: Any = np.array(["age"])
    alike = Intruder(names, ["pay"], **given | {"breaks": {"age": np.array([25, 35])}, "radius": {"pay": 0.1}})
    assert one == alike
    assert {one: "found"}[alike] == "found"
    assert hash(BOTH) != hash(replace(BOTH, radius=0.1))
    for back in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), replace(one)):  # noqa: S301 (made here)
        assert back == one
        assert hash(back) == hash(one)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"known": None}, "known: it is of type NoneType, not names of variables"),
        ({"known": 3}, "known: it is of type int, not names of variables"),
        ({"known": ["town", 3]}, "known: a variable's name must be text, not int"),
        ({"sensitive": None}, "sensitive: it is of type NoneType"),
        ({"sensitive": DATA}, "sensitive: it is of type DataFrame, not names of variables"),
        ({"kinds": "x"}, "kinds: it is of type str, expected kinds by variable name"),
        ({"kinds": ["pay"]}, "kinds: it is of type list"),
        ({"breaks": [1]}, "breaks: it is of type list, expected breaks by variable name"),
        ({"breaks": 3}, "breaks: it is of type int"),
        ({"missing_values": None}, "missing_values: it is of type NoneType, not text"),
    ],
)
def test_what_cannot_be_an_intruder_is_named_at_once(change: Any, words):
    with pytest.raises(InputError, match=words):
        replace(BOTH, **change)


@pytest.mark.parametrize("ends", [25, "25", None, [[1]], ["x"], [30, 20], [], np.array(3.0)])
def test_breaks_that_are_none_are_named_when_the_table_is_looked_at(ends: Any):
    numbers = DATA.assign(age=[20, 30, 40, 50])
    with pytest.raises(InputError, match="breaks: those of 'age' are not a list of increasing, finite numbers"):
        Intruder("age", "pay", 0.1, breaks={"age": ends}).view(numbers)


def test_nothing_said_of_breaks_and_kinds_is_nothing():
    nothing: Any = None
    assert replace(BOTH, breaks=nothing, kinds=nothing) == BOTH


def test_what_was_looked_at_is_what_the_measures_take(patterned, monkeypatch):
    typed = []
    monkeypatch.setattr(schema, "_look_at", lambda _, name: typed.append(name) or ("categorical", "told"))
    neighbour = Intruder(known="town", sensitive="pay", radius=0.1, kinds={"pay": "continuous"})
    view = neighbour.view(DATA)
    assert neighbour.view(view) is as_view(view, None) is view
    for measure in (release_risk, match_rates, pooled_risk, guess_values):
        measure(view, [DATA, DATA])
    confidential_risk(view, order=2)
    confidential_risk(view, neighbour)
    assert patterned == [["town"]]
    assert typed == ["town"]
    assert repr(view) == "View(4 records in 2 patterns)"


def test_another_intruder_with_the_same_known_columns_sees_the_same_patterns(patterned):
    view = BOTH.view(DATA)
    other = replace(BOTH, sensitive="job", radius=None, min_radius=0.0).view(view)
    assert other.patterns is view.patterns
    # Only the categorical sensitive column makes cells of its own.
    assert patterned == [["town"], ["town", "job"]]
    assert confidential_risk(other).risk.tolist() == confidential_risk(DATA, other.intruder).risk.tolist()
    assert replace(BOTH, known=[]).view(view).patterns.number == 1
    assert patterned[-1] == []


def test_the_same_table_at_another_radius():
    view = BOTH.view(DATA)
    for radius in (0.3, {"pay": 0.01, "debt": 0.9}):
        changed = replace(BOTH, radius=radius)
        assert view.at(radius).intruder == changed
        expected, found = confidential_risk(DATA, changed), confidential_risk(view.at(radius))
        assert (found.within == expected.within).all()
    with pytest.raises(InputError, match="radius: it is 20, but must lie between 0 and 1"):
        view.at(20)


@pytest.mark.parametrize("column", ["pay", "debt", "job"])
def test_one_column_alone(column):
    view = replace(BOTH, sensitive=["pay", "debt", "job"], min_radius={"pay": 5.0, "debt": 0.0}).view(DATA)
    alone = view.alone(column)
    assert alone.intruder.sensitive == (column,)
    assert alone.alone(column) is alone
    assert alone.patterns is view.patterns
    radius, floor = {"pay": (0.1, 5.0), "debt": (0.2, 0.0), "job": (None, 0.0)}[column]
    kinds: Any = {column: view.schema[column].kind}
    plain = Intruder(known="town", sensitive=column, radius=radius, min_radius=floor, kinds=kinds)
    assert (confidential_risk(alone).risk == confidential_risk(DATA, plain).risk).all()


def test_of_several_columns_a_gap_is_close_to_nothing_but_a_gap():
    gaps = DATA.assign(debt=[1.5, np.nan, 9.5, 9.0])
    view = replace(BOTH, missing_values="keep").view(gaps)
    np.testing.assert_array_equal(view.column("pay"), [100.0, 105.0, 300.0, 50.5])
    np.testing.assert_array_equal(view.column("debt"), [1.5, np.nan, 9.5, 9.0])
    assert view.size.tolist() == [2, 2, 2, 2]
    # The first two are in one town, with like pay: the one without a debt is told by that.
    assert confidential_risk(view).risk.tolist()[:2] == [1.0, 1.0]
    both = replace(BOTH, missing_values="keep").view(DATA.assign(debt=[np.nan, np.nan, 9.5, 9.0]))
    assert confidential_risk(both).risk.tolist()[:2] == [0.0, 0.0]


def test_columns_are_missing_where_a_record_takes_no_part():
    view = replace(BOTH, missing_values="keep").view(
        DATA.assign(pay=[100, np.nan, 300, 50.5], debt=[1.5, np.nan, 9.5, 9.0])
    )
    np.testing.assert_array_equal(view.column("pay"), [100.0, np.nan, 300.0, 50.5])
    assert view.size.tolist() == [1, 1, 2, 2]


def test_tables_that_were_read_are_taken_or_read_again_with_the_same_records_linked():
    view = BOTH.view(DATA)
    released = DATA.assign(pay=[101.0, 400.0, 290.0, 51.0]).iloc[[3, 0, 2, 1]]
    readings = read_released(view, released, "id")
    assert read_released(view, readings) == readings
    assert read_released(view.at(0.3), readings) == readings
    for other in (
        view.alone("debt"),
        replace(BOTH, known=[]).view(DATA),
        replace(BOTH, missing_values="keep").view(view),
    ):
        (again,) = read_released(other, readings)
        assert again is not readings[0]
        assert again.view is other
        assert again.rows is readings[0].rows
        expected = release_risk(DATA, released, other.intruder, id_column="id")
        assert (release_risk(other, readings).realised == expected.realised).all()
