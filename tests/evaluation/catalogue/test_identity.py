"""The measures of risk that ship: what each is called, and what may be published of it."""

import numpy as np

from molehill.evaluation.catalogue.attribute import ATTRIBUTE_MEASURES
from molehill.evaluation.catalogue.identity import IDENTITY_MEASURES, other_radii
from molehill.evaluation.measure import FEW, Value
from molehill.tables.intervals import Figure

BLOCKS = (
    *("Risk of the records", "Expected risk of the records", "Every column by itself", "Matches", "Rises and moles"),
    *("An intruder who pools the tables", "Sensitivity to the radius", "Guessing the value"),
)
RISK_MEASURES = [measure for measure in (*IDENTITY_MEASURES, *ATTRIBUTE_MEASURES) if measure.title in BLOCKS]
MEASURES = {measure.id: measure for measure in RISK_MEASURES}
NUMBER = Figure(0.5, np.nan, np.nan)


def test_every_measure_has_an_id_of_its_own():
    assert len(MEASURES) == len(RISK_MEASURES)
    assert all(measure.family == "risk" for measure in RISK_MEASURES)


def test_names_in_words():
    assert MEASURES["risk_q99"].name(Value(NUMBER)) == "99% quantile of risk"
    assert MEASURES["expected_largest"].name(Value(NUMBER)) == "largest expected risk"
    assert MEASURES["radius_mean"].name(Value(NUMBER, at=0.3)) == "mean risk, intruder radius 0.3"
    assert MEASURES["radius_mean"].name(Value(NUMBER, of="0.1 of pay")) == "mean risk, intruder radius 0.1 of pay"
    assert MEASURES["attribution_gain"].name(Value(NUMBER)) == (
        "right guesses of the value, gain over without the record"
    )


def test_what_rests_on_a_few_records_or_another_radius_stays_inside():
    assert {name for name, measure in MEASURES.items() if not measure.public} == {
        # Wrong ones among the unique matches, which may be few.
        *("risk_largest", "expected_largest", "radius_mean", "radius_above_50", "matches_false"),
        *("radius_left", "radius_matches", "matches_gain", "estimated_above_80"),
        *("risk_above_80_benchmark", "estimated_above_80_benchmark", "risk_benchmark", "combined_benchmark"),
        # How close people are to each other within their pattern, which nothing else that is published tells.
        *("risk_baseline", "risk_excess", "single_variable_mean", "single_variable_baseline"),
    }
    # Of a quantile there must be enough records beyond it, on the shorter side.
    least = {name: MEASURES[f"risk_{name}"].least_records for name in ("mean", "q25", "median", "q75", "q99")}
    assert least == {"mean": 0, "q25": 4 * FEW, "median": 2 * FEW, "q75": 4 * FEW, "q99": 100 * FEW}


def test_other_radii():
    assert other_radii(0.2) == [0.1, 0.3, 0.4]
    assert other_radii(1.0) == [0.5]
    assert other_radii(None) == []
    assert other_radii({"pay": 0.5, "debt": 1.0}) == [
        {"pay": 0.25, "debt": 0.5},
        {"pay": 0.75, "debt": 1.0},
        {"pay": 1.0, "debt": 1.0},
    ]
