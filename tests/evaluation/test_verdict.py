"""Verdicts on evaluations of a few numbers, worked out by hand."""

from dataclasses import replace

import pandas as pd
import pytest

from few_figures import FINE, NAN, evaluation
from molehill.evaluation.scorecard import RULES, score
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import decide, judge, list_findings, remark_shape


def test_there_is_no_objection_to_a_release_without_a_flaw():
    verdict = judge(evaluation(mine=FINE))
    assert verdict.decision == "no objection"
    assert verdict.sentence == (
        "No objection: the true match rate is 0.2%, the intervals of 1 estimates overlap by 0.90 on average and the "
        "mean identification risk is 0.120 (0.870 for the confidential data)."
    )


def test_match_rates_come_before_identification_risk():
    both = {"matches_true": (0.002, NAN, NAN), "combined_match_rate": (0.008, NAN, NAN)}
    own = evaluation(mine={**FINE, **both})
    before = own.risk[own.risk["measure"].isin(both)].assign(scheme="confidential", value=[0.14, 0.33])
    sentence = judge(replace(own, risk=pd.concat([own.risk, before], ignore_index=True))).sentence
    assert sentence.startswith(
        "No objection: the true match rate is 0.2% (14.0% for the confidential data), the match rate with all datasets "
        "combined is 0.8% (33.0% for the confidential data), the intervals"
    )
    assert sentence.endswith("the mean identification risk is 0.120 (0.870 for the confidential data).")


@pytest.mark.parametrize(
    ("measure", "value", "decision", "words"),
    [
        ("spread_ratio", 1.3, "no objection", "the standard deviation of income is 1.30 times the confidential one"),
        ("spread_ratio", 2.1, "do not release", "is 2.10 times"),
        ("spread_ratio", 0.3, "do not release", "is 0.30 times"),
        ("reach_ratio", 5.0, "no objection", "the largest income lies 5 times as far out"),
        ("reach_ratio", 19_000.0, "do not release", "lies 19,000 times as far out"),
        ("risk_mean", 0.5, "do not release", "most of the risk is left: 0.500 of 0.870 before"),
        ("combined_mean", 0.23, "board decision needed", "raises the mean risk from 0.120 to 0.230"),
        ("isolated_mean", 0.3, "no objection", "the mean risk of the most isolated 1% is 0.300"),
        ("largest_mean", 0.772, "do not release", "the mean risk of the largest 1% is 0.772"),
        ("overlap", 0.3, "board decision needed", "1 of 1 estimates overlap by less than 0.5 (mean of income)"),
        ("U_m", 0.05, "board decision needed", "3.1 times what a fresh sample would show"),
        ("pmse_ratio", 4.0, "no objection", "a classifier tells released records"),
    ],
)
def test_what_is_wrong_with_a_release_is_in_the_sentence(measure, value, decision, words):
    # Overlap 0.57 of an interval that holds everything is no excuse.
    verdict = judge(evaluation(mine={**FINE, "overlap": (0.57, NAN, NAN), measure: (value, NAN, NAN)}))
    assert verdict.decision == decision
    assert words in verdict.sentence


def test_what_no_release_can_take_away_stops_none():
    near = {**FINE, "risk_mean": (0.5, NAN, NAN)}
    assert judge(evaluation(mine={**near, "risk_baseline": (0.45, NAN, NAN)})).decision == "no objection"
    assert judge(evaluation(mine={**near, "risk_baseline": (0.10, NAN, NAN)})).decision == "do not release"


def test_where_there_was_hardly_any_risk_most_of_it_may_be_left():
    def left(value):
        return evaluation(confidential={"risk_mean": (0.05, NAN, NAN)}, mine={**FINE, "risk_mean": (value, NAN, NAN)})

    assert judge(left(0.05)).decision == "no objection"
    assert "most of the risk is left: 0.060 of 0.050" in judge(left(0.06)).sentence


def test_records_at_high_risk_by_luck_are_no_reason_however_few_tables_are_published():
    few = {**FINE, "risk_above_80": (3.0, NAN, NAN)}
    assert judge(evaluation(mine=few)).decision == "board decision needed"
    assert judge(evaluation(mine={**few, "estimated_above_80": (0.3, NAN, NAN)})).decision == "no objection"
    sure = judge(evaluation(mine={**few, "estimated_above_80": (2.6, NAN, NAN)}))
    assert sure.decision == "board decision needed"
    assert "records with an expected risk above 0.8, estimated from the tables: 2.6" in sure.sentence
    assert judge(evaluation(mine={**few, "expected_above_80": (0.0, NAN, NAN)})).decision == "no objection"


def test_an_estimate_that_chance_explains_is_a_point_and_no_reason():
    low = {**FINE, "overlap": (0.3, NAN, NAN)}
    verdict = judge(evaluation(mine={**low, "overlap_benchmark": (1.0, 0.2, 1.0)}))
    assert verdict.decision == "no objection"
    assert "Points for the board: 1 of 1 estimates overlap by less than 0.5 (mean of income), as" in verdict.sentence
    verdict = judge(evaluation(mine={**low, "overlap_benchmark": (1.0, 0.35, 1.0)}))
    assert verdict.decision == "board decision needed"
    assert "by chance" not in verdict.sentence


def test_records_at_high_risk_in_one_dataset_are_a_reason_beyond_chance_alone():
    def decide(number):
        one = {"risk_above_80": (number, NAN, NAN), "risk_above_80_benchmark": (110.2, 85.0, 138.0)}
        return judge(evaluation(mine={**FINE, **one}))

    assert decide(119.0).decision == "no objection"
    assert "records with a risk above 0.8: 119, 85 to 138 by chance" in decide(119.0).sentence
    assert decide(139.0).decision == "board decision needed"


def test_what_pooling_gives_of_drawn_values_as_well_is_a_point():
    rising = {**FINE, "combined_mean": (0.3, NAN, NAN)}
    assert judge(evaluation(mine={**rising, "combined_benchmark": (0.2, NAN, NAN)})).decision == "board decision needed"
    verdict = judge(evaluation(mine={**rising, "combined_benchmark": (0.28, NAN, NAN)}))
    assert verdict.decision == "no objection"
    assert "from 0.120 to 0.300, and that of drawn values in their place to 0.280" in verdict.sentence


def test_who_is_beaten_is_told_by_how_much_and_for_whom_it_helped():
    better = {**FINE, "risk_mean": (0.10, 0.095, 0.105), "U_m": (0.017, 0.016, 0.0175)}
    safer = {**better, "isolated_mean": (0.08, 0.07, 0.09)}
    verdict = judge(evaluation(pairwise=FINE, unweighted=safer))
    assert verdict.decision == "board decision needed"
    assert verdict.sentence == (
        "Board decision needed, because the scheme unweighted is better in mean risk (0.1 against 0.12) and U_m "
        "(0.017 against 0.02), and in nothing clearly worse; this release is safer for the most isolated 1% (0.050 "
        "against 0.080)."
    )
    verdict = judge(evaluation(pairwise=FINE, unweighted=better))
    assert verdict.decision == "do not release"
    assert verdict.sentence.endswith("and in nothing clearly worse, for anybody.")


@pytest.mark.parametrize(
    "worse",
    [
        {"matches_true": (0.01, 0.009, 0.011)},
        {"combined_mean": (0.3, 0.28, 0.32)},
        {"pmse_ratio": (2.5, 2.2, 2.8)},
        {"overlap": (0.7, NAN, NAN)},
    ],
)
def test_one_clear_loss_in_the_vector_saves_a_release(worse):
    better = {**FINE, "risk_mean": (0.10, 0.095, 0.105), **worse}
    assert judge(evaluation(mine=FINE, other=better)).decision == "no objection"


def test_what_lies_within_its_error_beats_nobody():
    near = {**FINE, "risk_mean": (0.115, 0.105, 0.125), "overlap": (0.94, NAN, NAN)}
    assert judge(evaluation(mine=FINE, other=near)).decision == "no objection"


def test_an_ignored_comparison_and_the_public_edition_tell_nothing_of_who_is_better():
    both = evaluation(mine=FINE, other={**FINE, "risk_mean": (0.05, 0.04, 0.06)})
    assert [found.weight for found in list_findings(both, "mine", Teller("internal", 900))] == ["stop"]
    assert list_findings(both, "mine", Teller("internal", 900), {"other"}) == []
    assert list_findings(both, "mine", Teller("public", 900)) == []


def test_every_reason_and_every_point_is_named():
    bad = {**FINE, "combined_mean": (0.23, NAN, NAN), "overlap": (0.3, NAN, NAN), "U_m": (0.05, NAN, NAN)}
    verdict = judge(evaluation(mine={**bad, "pmse_ratio": (4.0, NAN, NAN), "spread_ratio": (3.0, NAN, NAN)}))
    assert verdict.sentence.startswith("Do not release, because the standard deviation of income is 3.00 times")
    reasons, _, points = verdict.sentence.partition(" Points for the board: ")
    assert all(words in reasons for words in ("raises the mean risk", "overlap by less than 0.5", "(U_m)"))
    assert points.startswith("a classifier tells released records")


@pytest.mark.parametrize(
    ("measure", "value", "bounds", "decision"),
    [
        ("isolated_mean", 0.3, {"amber": 0.35}, "no objection"),
        ("isolated_mean", 0.3, {"red": 0.25}, "do not release"),
        ("largest_mean", 0.772, {"red": "never"}, "no objection"),
        ("largest_mean", 0.772, "off", "no objection"),
        ("spread_ratio", 0.3, {"amber": 4.0, "red": 5.0}, "no objection"),
        ("reach_ratio", 5.0, {"amber": 2.0, "red": 4.5}, "do not release"),
        ("overlap", 0.57, {"amber": 0.6}, "board decision needed"),
        ("pmse_ratio", 4.0, "off", "no objection"),
        ("matches_true", 0.08, {"amber": 0.1, "red": 0.2}, "no objection"),
        ("matches_true", 0.002, {"amber": 0.0005, "red": 0.001}, "do not release"),
        # Not rated without the agency.
        ("U_m", 0.02, {"amber": 0.01, "red": 0.015}, "board decision needed"),
        ("U_m", 0.02, {"amber": 0.01, "red": 0.03}, "no objection"),
    ],
)
def test_the_verdict_goes_by_the_bounds_of_the_scorecard(measure, value, bounds, decision):
    given = evaluation({measure: bounds}, mine={**FINE, measure: (value, NAN, NAN)})
    teller = Teller("internal", 900)
    findings = list_findings(given, "mine", teller)
    assert decide(given, "mine", findings, teller).decision == decision
    notes = [one.text for one in findings if one.section == "scorecard"]
    done = "turned 1 rule off" if bounds == "off" else "set 1 bound of its own"
    assert notes[-1] == f"The agency {done}: scorecard and recommendation go by that."


@pytest.mark.parametrize("bounds", [{"red": 0.25}, "off"])
def test_the_public_edition_tells_nothing_of_bounds(bounds):
    given = evaluation({"isolated_mean": bounds}, mine={**FINE, "isolated_mean": (0.3, NAN, NAN)})
    assert not [one for one in list_findings(given, "mine", Teller("public", 900)) if one.section == "scorecard"]


@pytest.mark.parametrize("measure", ["spread_ratio", "tail_ratio", "reach_ratio"])
def test_what_correct_releases_of_the_variable_show_is_no_point(measure):
    figures = {**FINE, measure: (12.0, NAN, NAN)}
    assert judge(evaluation(mine=figures)).decision == "do not release"
    heavy = evaluation(mine={**figures, f"{measure}_benchmark": (1.0, 0.5, 40.0)})
    assert judge(heavy).decision == "no objection"
    assert not list(remark_shape(heavy, "mine", RULES))
    [rated] = [one for one in score(heavy, "mine") if "12 (correct releases show 0.5 to 40)" in one.why]
    assert rated.colour == "green"
    light = evaluation(mine={**figures, f"{measure}_benchmark": (1.0, 0.9, 1.1)})
    assert judge(light).decision == "do not release"
    # A bound that the agency set holds as it is.
    own = evaluation({measure: {"amber": 5.0, "red": 11.0}}, mine={**figures, f"{measure}_benchmark": (1.0, 0.5, 40.0)})
    assert judge(own).decision == "do not release"


def test_absurd_shapes_can_be_asked_by_our_bounds_whatever_the_agency_set():
    given = evaluation({"spread_ratio": "off"}, mine={**FINE, "spread_ratio": (3.0, NAN, NAN)})
    assert not list(remark_shape(given, "mine"))
    assert [one.weight for one in remark_shape(given, "mine", RULES)] == ["stop"]
