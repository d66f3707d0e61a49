"""Verdicts on evaluations of a few numbers, worked out by hand."""

import pandas as pd
import pytest

from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import COLUMNS, describe_measures
from molehill.evaluation.measures import MEASURES
from molehill.evaluation.telling import Teller
from molehill.evaluation.verdict import judge, list_findings

NAN = float("nan")
FINE = {
    "risk_mean": (0.12, 0.11, 0.13),
    "pooled_mean": (0.13, 0.12, 0.14),
    "matches_true": (0.002, 0.001, 0.003),
    "isolated_mean": (0.05, 0.04, 0.06),
    "largest_mean": (0.04, 0.03, 0.05),
    "U_m": (0.02, 0.018, 0.022),
    "U_m_fresh": (0.016, NAN, NAN),
    "pmse_ratio": (1.2, 1.0, 1.4),
    "overlap": (0.9, NAN, NAN),
    "spread_ratio": (0.97, 0.95, 0.99),
    "reach_ratio": (1.5, NAN, NAN),
}


def evaluation(**schemes):
    """An evaluation of a confidential table with mean risk 0.87, and of schemes by their measures."""
    about = describe_measures(MEASURES).set_index("id")
    rows = {"risk": [], "utility": []}
    for scheme, measures in {"confidential": {"risk_mean": (0.87, NAN, NAN)}, **schemes}.items():
        for name, ends in measures.items():
            of = {"overlap": "mean of income", "pmse_ratio": "logistic", "reach_ratio": "largest"}.get(name, "")
            row = (scheme, "income", name, of, NAN, "", about["words"][name], *ends)
            rows[about["family"][name]].append(row)
    frames = {name: pd.DataFrame(found, columns=COLUMNS) for name, found in rows.items()}
    nothing = pd.DataFrame()
    return Evaluation(**frames, groups=nothing, top=nothing, records=nothing)


def test_a_release_without_a_flaw_is_published_with_its_numbers():
    verdict = judge(evaluation(mine=FINE))
    assert verdict.decision == "publish"
    assert verdict.sentence == (
        "Publish: the expected risk of a record is 0.120, 0.870 before, 0.2% of the records are matched uniquely and "
        "rightly and the intervals of 1 estimates overlap by 0.90 on average."
    )


@pytest.mark.parametrize(
    ("measure", "value", "decision", "words"),
    [
        ("spread_ratio", 1.3, "decide", "the standard deviation of income is 1.30 times the confidential one"),
        ("spread_ratio", 2.1, "do not publish", "is 2.10 times"),
        ("spread_ratio", 0.3, "do not publish", "is 0.30 times"),
        ("reach_ratio", 5.0, "decide", "the largest income lies 5 times as far out"),
        ("reach_ratio", 19_000.0, "do not publish", "lies 19,000 times as far out"),
        ("risk_mean", 0.5, "do not publish", "most of the risk is left: 0.500 of 0.870 before"),
        ("pooled_mean", 0.23, "decide", "raises the mean risk from 0.120 to 0.230"),
        ("isolated_mean", 0.3, "decide", "the mean risk of the most isolated 1% is 0.300"),
        ("largest_mean", 0.772, "do not publish", "the mean risk of the largest 1% is 0.772"),
        ("overlap", 0.3, "decide", "1 of 1 estimates overlap by less than 0.5 (mean of income)"),
        ("U_m", 0.05, "decide", "3.1 times what a fresh sample would show"),
        ("pmse_ratio", 4.0, "decide", "a classifier tells released records"),
    ],
)
def test_what_is_wrong_with_a_release_is_in_the_sentence(measure, value, decision, words):
    # Overlap 0.57 of an interval that holds everything is no excuse.
    verdict = judge(evaluation(mine={**FINE, "overlap": (0.57, NAN, NAN), measure: (value, NAN, NAN)}))
    assert verdict.decision == decision
    assert words in verdict.sentence


def test_what_no_release_can_take_away_stops_none():
    near = {**FINE, "risk_mean": (0.5, NAN, NAN)}
    assert judge(evaluation(mine={**near, "risk_floor": (0.45, NAN, NAN)})).decision == "publish"
    assert judge(evaluation(mine={**near, "risk_floor": (0.10, NAN, NAN)})).decision == "do not publish"


def test_who_is_beaten_is_told_by_how_much_and_for_whom_it_helped():
    better = {**FINE, "risk_mean": (0.10, 0.095, 0.105), "U_m": (0.017, 0.016, 0.0175)}
    safer = {**better, "isolated_mean": (0.08, 0.07, 0.09)}
    verdict = judge(evaluation(pairwise=FINE, unweighted=safer))
    assert verdict.decision == "decide"
    assert verdict.sentence == (
        "Decide, because the scheme unweighted is better in mean risk (0.1 against 0.12) and U_m (0.017 against 0.02), "
        "and in nothing clearly worse; this release is safer for the most isolated 1% (0.050 against 0.080)."
    )
    verdict = judge(evaluation(pairwise=FINE, unweighted=better))
    assert verdict.decision == "do not publish"
    assert verdict.sentence.endswith("and in nothing clearly worse, for anybody.")


@pytest.mark.parametrize(
    "worse",
    [
        {"matches_true": (0.01, 0.009, 0.011)},
        {"pooled_mean": (0.3, 0.28, 0.32)},
        {"pmse_ratio": (2.5, 2.2, 2.8)},
        {"overlap": (0.7, NAN, NAN)},
    ],
)
def test_one_clear_loss_in_the_vector_saves_a_release(worse):
    better = {**FINE, "risk_mean": (0.10, 0.095, 0.105), **worse}
    assert judge(evaluation(mine=FINE, other=better)).decision == "publish"


def test_what_lies_within_its_error_beats_nobody():
    near = {**FINE, "risk_mean": (0.115, 0.105, 0.125), "overlap": (0.94, NAN, NAN)}
    assert judge(evaluation(mine=FINE, other=near)).decision == "publish"


def test_an_ignored_comparison_and_the_public_edition_tell_nothing_of_who_is_better():
    both = evaluation(mine=FINE, other={**FINE, "risk_mean": (0.05, 0.04, 0.06)})
    assert [found.weight for found in list_findings(both, "mine", Teller("internal", 900))] == ["stop"]
    assert list_findings(both, "mine", Teller("internal", 900), {"other"}) == []
    assert list_findings(both, "mine", Teller("public", 900)) == []


def test_only_three_reasons_stand_in_the_sentence():
    bad = {**FINE, "pooled_mean": (0.23, NAN, NAN), "overlap": (0.3, NAN, NAN), "U_m": (0.05, NAN, NAN)}
    verdict = judge(evaluation(mine={**bad, "pmse_ratio": (4.0, NAN, NAN), "spread_ratio": (3.0, NAN, NAN)}))
    assert verdict.sentence.startswith("Do not publish, because the standard deviation")
    assert verdict.sentence.endswith("; and 2 further points.")
