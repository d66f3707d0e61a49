"""A measure is a value with its words and rules; one of the user's own is passed beside those that ship."""

import numpy as np
import pandas as pd
import pytest

from molehill.evaluation.evaluation import MEASURES, evaluate, read_evaluation
from molehill.evaluation.measure import FACTS, Measure, Value
from molehill.risk.intruder import Intruder
from molehill.tables.intervals import Figure, mean_over_tables

DATA = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
RELEASED = [DATA.assign(pay=[101.0, 110.0, 120.0, 890.0]), DATA.assign(pay=[100.0, 150.0, 120.0, 900.0])]
NEIGHBOUR = Intruder(known="town", sensitive="pay", radius=0.1)


def largest_change(scene):
    """In every table, of every numeric sensitive column; the confidential table does not change."""
    if not scene.is_release:
        return []
    return [
        Value(
            mean_over_tables(
                np.array([np.abs(table.frame[name] - scene.view.column(name)).max() for table in scene.tables])
            ),
            name,
            of=name,
        )
        for name in scene.view.numeric
    ]


MINE = Measure("largest_change", "largest change of {of}, at most", "risk", "Changes", "number", largest_change)


def test_a_measure_of_ones_own_is_one_more_in_the_list(tmp_path):
    plain = evaluate(DATA, {"ours": RELEASED}, NEIGHBOUR)
    found = evaluate(DATA, {"ours": RELEASED}, NEIGHBOUR, measures=(*MEASURES, MINE))
    (row,) = found.risk[found.risk["measure"] == "largest_change"].to_dict("records")
    assert (row["scheme"], row["column"], row["of"]) == ("ours", "pay", "pay")
    assert row["name"] == "largest change of pay, at most"
    assert row["value"] == pytest.approx((10 + 40) / 2)
    assert row["low"] < 25 < row["high"]
    assert "largest change of pay, at most" in str(found)
    # What it is, by its fields: not for the public unless it says so.
    facts = found.measures.set_index("id").loc["largest_change"]
    assert (facts["unit"], facts["block"], facts["better"], bool(facts["public"])) == (
        "number",
        "Changes",
        "lower",
        False,
    )
    # The others are what they were, and all of it is found again in the files.
    pd.testing.assert_frame_equal(found.risk[found.risk["measure"] != "largest_change"], plain.risk)
    found.save(tmp_path, ending="parquet")
    back = read_evaluation(tmp_path)
    assert not back.measures.set_index("id").loc["largest_change", "public"]
    assert str(back) == str(found)


def test_only_the_measures_that_are_asked_for_are_taken():
    found = evaluate(DATA, RELEASED, NEIGHBOUR, measures=[MINE])
    assert found.risk["measure"].unique().tolist() == ["largest_change"]
    assert found.utility.empty
    assert found.measures.columns.tolist() == FACTS


def test_every_measure_that_ships_has_an_id_of_its_own():
    ids = [measure.id for measure in MEASURES]
    assert len(set(ids)) == len(ids)


def test_a_name_is_its_words_with_what_the_value_is_about():
    measure = Measure("share", "share of {of} at {at}", "utility", "Shares", "share", lambda _: [])
    figure = Figure(0.5, np.nan, np.nan)
    assert measure.name(Value(figure, of="x", at=0.25)) == "share of x at 0.25"
    assert measure.name(Value(figure, of="x", at=0.25, group="A")) == "share of x at 0.25, within A"
    # Without a number, what it is of stands for it; what a value is of may hold braces itself.
    assert measure.name(Value(figure, of="{at}")) == "share of {at} at {at}"
