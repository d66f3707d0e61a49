"""A measure is a value with its words and rules; one of the user's own is passed beside those that ship."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate, read_evaluation
from molehill.evaluation.measure import FACTS, Measure, Value
from molehill.evaluation.options import EvaluationOptions
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
    found = evaluate(DATA, {"ours": RELEASED}, NEIGHBOUR, EvaluationOptions(measures=(*MEASURES, MINE)))
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
    found = evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=[MINE]))
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


def test_a_public_measure_says_what_it_gives_away():
    about = ("share", "a share", "utility", "Shares", "share", lambda _: [])
    with pytest.raises(InputError, match="'share' is public and does not say what it gives away"):
        Measure(*about, public=True)
    assert Measure(*about, public=True, reveals="how often").public
    for measure in MEASURES:
        assert measure.public <= bool(measure.reveals), measure.id


def test_what_would_give_a_confidential_estimate_away_stays_inside():
    inside = {measure.id for measure in MEASURES if measure.family == "utility" and not measure.public}
    # With the estimates and distributions of the tables, which anybody has, each would give one of the confidential.
    assert inside == {
        *("overlap_benchmark", "width_ratio", "relative_bias", "wasserstein", "wasserstein_sd"),
        *("U_a", "U_a_benchmark", "pmse", "pmse_expected"),
        *("agreement_2", "agreement_2_benchmark", "agreement_3", "agreement_3_benchmark"),
        *(
            "U_m_combined",
            "spread_ratio",
            "tail_ratio",
            "reach_ratio",
            "spread_ratio_benchmark",
            "tail_ratio_benchmark",
            "reach_ratio_benchmark",
            "zeros",
            "losses",
            "repeated",
            "heaped",
        ),
        *("U_m_weighted", "U_a_weighted", "U_m_weighted_benchmark", "variation_weighted", "estimate_unweighted"),
        *("new_pairs", "new_pairs_benchmark", "new_pairs_ratio", "beyond_range", "beyond_range_benchmark", "at_ends"),
        *("small_cells", "small_cells_kept", "small_cells_benchmark", "small_cells_gain"),
        *("excess_digits", "round_values", "round_gap", "dates", "dates_gap", "edit_failures", "edit_failures_excess"),
    }
    coarse = {measure.id: measure.coarse for measure in MEASURES if measure.coarse and measure.coarse != "exact"}
    assert coarse == {
        "overlap": "half",
        "pmse_ratio": "ratio",
        **dict.fromkeys(("U_m", "variation", "difference"), "up"),
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": "largest change"}, "id: it is not a plain word"),
        ({"id": ""}, "id: it is not a plain word"),
        ({"id": "1st"}, "id: it is not a plain word"),
        ({"id": "a\x1b[31m"}, "id: it is not a plain word"),
        ({"id": None}, "id: it is not a plain word"),
        ({"label": 3}, "label: it is not text"),
        ({"explanation": None}, "explanation: it is not text"),
        ({"needs": ["luck"]}, "needs: 'luck' is not a choice"),
        ({"threshold": (0.1, 0.2)}, "threshold: it is not a Threshold"),
        ({"block": None}, "block: it is not text"),
        ({"family": "risks"}, "family: 'risks' is not a choice"),
        ({"unit": "dollars"}, "unit: 'dollars' is not a choice"),
        ({"unit": None}, "unit: it is of type NoneType"),
        ({"better": "smaller"}, "better: 'smaller' is not a choice"),
        ({"compute": 3}, "compute: it is not a function"),
        # A text would count as true, and publish what was not meant to be.
        ({"public": "no"}, "public: it is not True or False"),
        ({"release_only": 1}, "release_only: it is not True or False"),
        ({"least_records": -1}, "least_records: it must be a whole number from 0 up"),
    ],
)
def test_a_measure_is_checked_when_it_is_made(change: Any, words):
    with pytest.raises(InputError, match=words):
        replace(MINE, **change)


def test_two_measures_with_one_id_are_refused():
    with pytest.raises(InputError, match=r"measures: two are called 'largest_change'. Give each an id of its own"):
        evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=[MINE, replace(MINE, label="again")]))
    with pytest.raises(InputError, match="measures: two are called 'risk_mean'"):
        evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=(*MEASURES, replace(MINE, id="risk_mean"))))


@pytest.mark.parametrize("measures", [[largest_change], "risk_mean", 3, [MINE, "risk_mean"]])
def test_what_is_no_measure_is_refused(measures: Any):
    with pytest.raises(InputError, match=r"measures: (it is|one is) of type \w+, not a Measure"):
        evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=measures))


def test_one_measure_may_be_given_alone():
    alone: Any = MINE
    assert evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=alone)).risk["measure"].unique().tolist() == [
        "largest_change"
    ]


@pytest.mark.parametrize(
    "given",
    [
        None,
        0.1244,
        (0.1244, 0.0, 1.0),
        [(0.1244, 0.0, 1.0)],
        [0.1244],
        "0.1244",
        {"a": 0.1244},
        [Value(0.1244)],  # pyright: ignore[reportArgumentType]
        [None],
        Figure("0.1244", 0.0, 1.0),  # pyright: ignore[reportArgumentType]
        Figure(None, 0.0, 1.0),  # pyright: ignore[reportArgumentType]
        [Value(Figure(0.1244, 0.0, 1.0), at="0.1244")],  # pyright: ignore[reportArgumentType]
        [Value(Figure(0.1244, 0.0, 1.0), of=0.1244)],  # pyright: ignore[reportArgumentType]
    ],
)
def test_what_a_measure_gives_is_checked_and_the_measure_named(given: Any):
    with pytest.raises(InputError, match=r"measures: 'largest_change' gave .* Give a Figure, or a list of") as caught:
        evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=[replace(MINE, compute=lambda _: given)]))
    assert "1244" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "given",
    [
        Figure(0.5, 0.0, 1.0),
        Figure(np.float64(0.5), np.nan, np.int64(1)),  # pyright: ignore[reportArgumentType]
        Value(Figure(0.5, 0.0, 1.0), of="x", at=0.5),
        (Value(Figure(0.5, 0.0, 1.0)),),
        iter([Value(Figure(0.5, 0.0, 1.0))]),
    ],
)
def test_a_figure_a_value_or_some_values_are_taken(given: Any):
    measure = replace(MINE, compute=lambda scene: given if scene.is_release else [])
    assert evaluate(DATA, RELEASED, NEIGHBOUR, EvaluationOptions(measures=[measure])).risk["value"].tolist() == [0.5]
