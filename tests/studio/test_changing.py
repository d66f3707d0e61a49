"""What is clicked becomes settings: every change by itself, what goes with it, and what is refused."""

from datetime import date

import numpy as np
import pandas as pd
import pytest

from molehill import Settings
from molehill.errors import InputError
from molehill.plan.columns import look_at_columns
from molehill.studio.changing import APART, CHANGES, choices_of, control_of, tell_bounds
from molehill.studio.looking import Looked
from molehill.tables.table import Table

FRAME = pd.DataFrame(
    {
        "person": [f"P{number}" for number in range(60)],
        "town": ["A", "B", "C"] * 20,
        "age": np.arange(60) + 18,
        "pay": np.linspace(900.5, 5000, 60),
        "rent": [np.nan, *np.linspace(200.5, 900, 59)],
    }
)
LOOKED = Looked(Table(FRAME), look_at_columns(Table(FRAME)))
SETTINGS = Settings(
    synthesize=["pay"],
    keep=["town", "age"],
    drop=["person"],
    undecided=["rent"],
    known=["town", "age"],
    breaks={"age": (30.0, 50.0)},
    lower={"pay": 0.0},
    upper={"pay": 10_000.0},
)


def change(action, settings: Settings = SETTINGS, /, **fields):
    return CHANGES[action](settings, LOOKED, fields)


def test_a_replaced_amount_gets_limits_and_a_way_with_gaps():
    made = change("fate", column="rent", value="synthesize")
    assert made.synthesize == ("pay", "rent")
    assert made.undecided == ()
    assert (made.lower, made.upper) == ({"pay": 0.0, "rent": 0.0}, {"pay": 10_000.0, "rent": 2000.0})
    assert made.missing_values == "model"


def test_what_is_no_longer_replaced_loses_what_only_that_needs():
    both = change("fate", column="rent", value="synthesize").but(
        radius={"pay": 0.1, "rent": 0.2}, knowledge_probability={"rent": 0.5}
    )
    made = change("fate", both, column="rent", value="drop")
    assert (made.synthesize, made.drop) == (("pay",), ("person", "rent"))
    assert (made.lower, made.upper) == ({"pay": 0.0}, {"pay": 10_000.0})
    assert (made.radius, made.knowledge_probability) == ({"pay": 0.1}, {})


def test_a_dropped_column_is_not_known_any_more():
    made = change("fate", SETTINGS.but(preserve=["age"]), column="age", value="drop")
    assert (made.known, made.breaks, made.preserve) == (("town",), {}, ())


def test_kept_columns_stay_in_the_order_of_the_file():
    made = change("fate", column="person", value="keep")
    assert made.keep == ("person", "town", "age")
    assert change("accept", made, column="person", value=True).accept_identifying == ("person",)
    assert (
        change("accept", made.but(accept_identifying=["person"]), column="person", value=False).accept_identifying == ()
    )


def test_the_last_replaced_column_must_stay():
    with pytest.raises(InputError, match="no column would be replaced"):
        change("fate", column="pay", value="keep")


@pytest.mark.parametrize("fields", [{"column": "pya", "value": "keep"}, {"column": "pay", "value": "eat"}, {}])
def test_a_column_or_fate_that_is_none_is_refused(fields):
    with pytest.raises(InputError):
        change("fate", **fields)


def test_a_category_has_no_limits():
    made = change("kind", column="pay", value="categorical")
    assert (made.kinds, made.lower, made.upper) == ({"pay": "categorical"}, {}, {})
    back = change("kind", made, column="pay", value="")
    assert (back.kinds, back.lower, back.upper) == ({}, {"pay": 0.0}, {"pay": 10_000.0})
    with pytest.raises(InputError, match="kinds"):
        change("kind", column="pay", value="colour")


def test_limits_are_numbers_or_dates_and_may_be_left_out():
    for text in ("1250000", "1 250 000", "1,250,000", "1250000.0", "1,250,000.0", "1.25e6"):
        assert change("limit", column="pay", end="upper", value=text).upper == {"pay": 1_250_000.0}
    assert change("limit", column="pay", end="lower", value="1990-12-31").lower == {"pay": date(1990, 12, 31)}
    assert change("limit", column="pay", end="lower", value=" ").lower is None
    # A number for all columns becomes one for each.
    assert change("limit", SETTINGS.but(lower=0.0), column="pay", end="lower", value="5").lower == {"pay": 5.0}
    # What could be meant in two ways is refused.
    for value in ("many", "inf", "nan", "1,5", "250,000", "1.250.000"):
        with pytest.raises(InputError):
            change("limit", column="pay", end="lower", value=value)


def test_codes_are_numbers_where_they_look_so():
    assert change("codes", column="age", value="-9, 99 ,n/a").missing_codes == {"age": (-9.0, 99.0, "n/a")}
    assert change("codes", SETTINGS.but(missing_codes={"age": [-9]}), column="age", value="").missing_codes == {}


def test_what_the_file_has_no_more_can_be_forgotten():
    old = SETTINGS.but(keep=["town", "age", "gone"], known=["town", "gone"], breaks={"gone": (1.0,)}, preserve=["gone"])
    made = change("forget", old, column="gone")
    assert made == SETTINGS.but(known=["town"], breaks={}, preserve=[])
    with pytest.raises(InputError, match="the file has it"):
        change("forget", old, column="town")
    with pytest.raises(InputError, match="no column would be replaced"):
        change("forget", SETTINGS.but(synthesize=["gone"], keep=["town", "age", "pay"]), column="gone")


def test_who_has_new_people_no_more_knows_nothing_that_is_replaced():
    new = Settings(
        synthesize=["town", "pay"], drop=["person", "age", "rent"], known=["town"], fully_synthetic_records=100
    )
    assert change("set", new, name="fully_synthetic_records", value="").known == ()


def test_what_is_likely_known_and_the_order_of_levels():
    made = change("likely", column="pay", value="0.3")
    assert made.knowledge_probability == {"pay": 0.3}
    assert change("likely", made, column="pay", value="").knowledge_probability == {}
    towns = change("fate", column="town", value="synthesize")
    made = change("levels", towns, column="town", value="C\nA\nB")
    assert (made.levels, made.kinds) == ({"town": ("C", "A", "B")}, {"town": "categorical"})
    assert change("levels", made, column="town", value="") == towns
    assert change("levels", column="age", value="18\n19").levels == {"age": (18.0, 19.0)}
    with pytest.raises(InputError):
        change("levels", column="age", value="young\nold")


def test_columns_are_drawn_in_the_order_that_is_dragged():
    several = SETTINGS.but(synthesize=["pay", "rent", "age"], undecided=[], keep=["town"], known=["town"], breaks={})
    assert change("order", several, column="age", before="pay").synthesize == ("age", "pay", "rent")
    assert change("order", several, column="pay", before="").synthesize == ("rent", "age", "pay")
    assert change("order", several, column="rent", way="up").synthesize == ("rent", "pay", "age")
    assert change("order", several, column="rent", way="down").synthesize == ("pay", "age", "rent")
    assert change("order", several, column="pay", way="up").synthesize == several.synthesize
    assert change("take-order", several, order=["age", "rent", "pay"]).synthesize == ("age", "rent", "pay")
    with pytest.raises(InputError, match="not replaced"):
        change("order", several, column="town", way="up")


def test_known_columns_and_their_groups():
    made = change("known", column="age", value=False)
    assert (made.known, made.breaks) == (("town",), {})
    assert change("known", made, column="age", value=True).known == ("town", "age")
    assert change("breaks", column="age", value="25; 40; 60").breaks == {"age": (25.0, 40.0, 60.0)}
    assert change("breaks", column="age", value="").breaks == {}
    for value in ("young", "25,5; 35,5"):
        with pytest.raises(InputError, match="decimal point"):
            change("breaks", column="age", value=value)
    assert change("known", SETTINGS.but(known=["town", "gone"]), column="gone", value=False).known == ("town",)


def test_a_variable_is_released_in_its_groups():
    made = change("grouped", column="age", value=True)
    assert made.grouped == ("age",)
    # It can be released so, though the intruder does not know it; and not without groups.
    assert change("known", made, column="age", value=False).breaks == {"age": (30.0, 50.0)}
    assert change("grouped", made, column="age", value=False).grouped == ()
    for action, value in (("breaks", ""), ("fate", "drop"), ("fate", "synthesize")):
        assert (change(action, made, column="age", value=value).grouped, made.grouped) == ((), ("age",))


def test_radius_and_floor_of_all_columns_or_of_one():
    assert change("reach", setting="radius", value="0.35").radius == 0.35
    assert change("reach", setting="min_radius", value="100").min_radius == 100.0
    assert change("reach", setting="radius", column="pay", value="0.1").radius == {"pay": 0.1}
    # A category has none, and one that is emptied has what all have.
    several = SETTINGS.but(synthesize=["pay", "town", "rent"], keep=["age"], undecided=[], known=["age"])
    made = change("reach", several, setting="radius", column="pay", value="0.1")
    assert made.radius == {"pay": 0.1, "rent": 0.2}
    assert change("reach", made, setting="radius", column="pay", value="").radius == 0.2
    one = SETTINGS.but(radius={"pay": 0.1})
    assert change("fate", one, column="rent", value="synthesize").radius == {"pay": 0.1, "rent": 0.2}
    for value in ("2", "-1", "wide", "nan"):
        with pytest.raises(InputError):
            change("reach", setting="radius", value=value)
    with pytest.raises(InputError, match="setting"):
        change("reach", setting="seed", value="1")


def test_rules_are_added_changed_and_taken_away():
    made = change("add-target", words="mean expected", value="0.2")
    made = change("add-target", made, words="overlap", value="0.6")
    assert made.release_criteria == ("mean expected <= 0.2", "overlap >= 0.6")
    assert change("add-target", made, words="mean expected", value="0.1").release_criteria[-1] == "mean expected <= 0.1"
    assert change("drop-target", made, value="overlap >= 0.6").release_criteria == ("mean expected <= 0.2",)
    assert change("targets", value="U_m <= 0.03\n\n").release_criteria == ("U_m <= 0.03",)
    for fields in ({"words": "mean luck", "value": "1"}, {"words": "mean expected", "value": "low"}):
        with pytest.raises(InputError):
            change("add-target", **fields)


def test_a_design_is_named_and_taken_back():
    made = change("survey", weight="age", stratum="town")
    assert made.survey_design is not None
    assert (made.survey_design.weight, made.survey_design.stratum) == ("age", "town")
    assert change("survey", made, weight="").survey_design is None


def test_bounds_of_the_scorecard_are_lines_of_a_settings_file():
    text = 'matches_true = { amber = 0.02, red = 0.1 }\nclosest_records = "off"'
    made = change("bounds", value=text)
    assert {*made.thresholds} == {"matches_true", "closest_records"}
    assert change("bounds", value=tell_bounds(made)).thresholds == made.thresholds
    assert change("bounds", made, value="").thresholds == {}
    for wrong in ("matches_true", "matches_true = { amber = 'x' }", "matches_tru = { amber = 0.1 }"):
        with pytest.raises(InputError):
            change("bounds", value=wrong)


def test_any_other_setting_is_taken_as_it_stands_in_its_control():
    made = change("set", name="datasets", value="5")
    assert made.datasets == 5
    assert change("set", made, name="datasets", value="").datasets == 20
    assert change("set", name="min_leaf_size", value="auto").min_leaf_size == "auto"
    assert change("set", name="min_leaf_size", value="40").min_leaf_size == 40.0
    assert change("set", name="shuffle", value=False).shuffle is False
    assert change("set", name="regressions", value="pay ~ town\n").regressions == ("pay ~ town",)
    assert change("set", name="seed", value="7").seed == 7
    assert change("set", name="risk_order", value="1").method == "risk_weighted"
    paper = change("set", name="method", value="paper")
    assert (paper.components, paper.count_self) == (10, True)
    assert change("set", paper, name="method", value="auto").components == "auto"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("datasets", "x"),
        ("datasets", "0"),
        ("max_failure_probability", "2"),
        ("method", "custom"),
        ("synthesizer", "magic"),
        ("seed", "-1"),
    ],
)
def test_a_value_that_a_setting_cannot_have_is_refused(name, value):
    with pytest.raises(InputError):
        change("set", name=name, value=value)


@pytest.mark.parametrize("name", ["data", "synthesize", "scheduler", "__class__", "nothing"])
def test_some_settings_are_not_changed_by_a_form(name):
    with pytest.raises(InputError, match="no such setting"):
        change("set", name=name, value="/etc/passwd")


def test_every_setting_has_a_control_that_can_set_its_default():
    for name, field in Settings.model_fields.items():
        if name in APART:
            continue
        default = field.get_default()
        value = "\n".join(default) if isinstance(default, tuple) else default
        text = value if isinstance(value, bool) else "" if value is None else f"{value}"
        assert getattr(change("set", name=name, value=text), name) == default
        assert control_of(name) != "choice" or default in choices_of(name)
