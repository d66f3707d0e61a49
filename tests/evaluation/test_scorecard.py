"""The scorecard: colours by hand, and bounds that an agency sets in place of ours."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from few_figures import FINE, NAN, evaluation
from molehill import Intruder, evaluate
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import read_evaluation
from molehill.evaluation.measure import Measure
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import RULES, list_rules, read_bounds, score, set_rules
from molehill.tables.intervals import Figure


def of_family(given, family):
    return next(one for one in score(given) if one.family == family)


def set_bounds(**bounds):
    return {rule.measure: rule for rule in set_rules(read_bounds(bounds), MEASURES)}


def test_without_bounds_the_rules_are_ours():
    assert set_rules(read_bounds({}), MEASURES) == tuple(RULES)
    assert list_rules(evaluation(mine=FINE)) == tuple(RULES)
    # What says the same as ours is no change.
    same = {rule.measure: {"amber": rule.amber} for rule in RULES}
    assert set_rules(read_bounds(same), MEASURES) == tuple(RULES)


def test_what_is_not_named_keeps_its_bound_and_what_is_named_is_marked():
    rule = set_bounds(matches_true={"red": 0.1})["matches_true"]
    assert (rule.amber, rule.red) == (0.01, 0.1)
    assert f"{rule}".endswith("(set by the agency; ours: amber from 0.01, red from 0.05)")
    assert set_bounds(advantage_random={"amber": 0.7})["advantage_random"].red == np.inf
    assert set_bounds(overlap={"red": "never"})["overlap"].red == -np.inf


@pytest.mark.parametrize(
    ("bounds", "colour", "words"),
    [
        ({}, "amber", "0.03 (amber from 0.01)"),
        ({"matches_true": {"amber": 0.02}}, "amber", "(amber from 0.02, set by the agency; ours: amber from 0.01, red"),
        ({"matches_true": {"red": 0.03}}, "red", "0.03 (red from 0.03, set by the agency; ours:"),
        ({"matches_true": {"amber": 0.04}}, "green", "0.03 (amber from 0.04, set by the agency; ours:"),
        ({"matches_true": "off"}, "green", "mean risk of the most isolated 1%: 0.05 (amber from 0.2)"),
        ({"matches_true": {"red": "never", "amber": 0.0}}, "amber", "(amber from 0, set by the agency"),
    ],
)
def test_the_colour_follows_the_bound_and_says_whose_it_is(bounds, colour, words):
    own = of_family(evaluation(bounds, mine={**FINE, "matches_true": (0.03, NAN, NAN)}), "identity")
    assert own.colour == colour
    assert words in own.why
    off = [rule for rule in own.rules if "not asked" in rule]
    assert len(off) == (bounds.get("matches_true") == "off")


def test_a_family_whose_rules_are_all_turned_off_is_not_judged():
    ids = [rule.measure for rule in RULES if rule.family == "identity"]
    own = of_family(evaluation(dict.fromkeys(ids, "off"), mine=FINE), "identity")
    assert (own.colour, own.why) == ("not judged", "Not judged: the agency turned its rules off.")


def test_a_measure_without_a_rule_of_ours_gets_one_in_the_nearest_family():
    rules = set_bounds(
        combined_match_rate={"amber": 0.1, "red": 0.3},
        attribution={"amber": 0.8, "red": 0.9},
        closer_to_participants={"amber": 0.55, "red": 0.6},
        U_m={"amber": 0.03, "red": 0.05},
        advantage_riskiest={"amber": 0.5, "red": "never", "family": "identity"},
    )
    families = [
        rules[name].family
        for name in ("combined_match_rate", "attribution", "closer_to_participants", "U_m", "advantage_riskiest")
    ]
    assert families == ["identity", "attribute", "membership", "utility", "identity"]
    own = of_family(evaluation({"U_m": {"amber": 0.01, "red": 0.02}}, mine=FINE), "utility")
    assert own.colour == "red"
    assert "U_m (distances of the tables): 0.02 (red from 0.02, set by the agency; ours: none)" in own.why


def test_of_what_is_better_the_higher_the_lowest_counts():
    given = evaluation({"agreement_2": {"amber": 900, "red": 500}}, mine={**FINE, "agreement_2": (700, NAN, NAN)})
    low = given.utility[given.utility["measure"] == "agreement_2"].assign(column="age", value=400.0)
    assert of_family(given, "utility").colour == "amber"
    both = replace(given, utility=pd.concat([given.utility, low], ignore_index=True))
    assert "age: 400 (red below 500" in of_family(both, "utility").why


@pytest.mark.parametrize(("own", "told"), [((0.05, 0.04, 0.06), True), ((0.4, 0.3, 0.5), False), (None, False)])
def test_a_green_that_the_confidential_table_would_have_too_says_so(own, told):
    given = evaluation(mine={**FINE, "inference_risk": (0.02, 0.01, 0.03)})
    if own is not None:
        row = given.risk[given.risk["measure"] == "inference_risk"].assign(scheme="confidential")
        row = row.assign(**dict(zip(("value", "low", "high"), own, strict=True)))
        given = replace(given, risk=pd.concat([given.risk, row], ignore_index=True))
    found = of_family(given, "inference")
    assert found.colour == "green"
    assert ("So would the confidential table itself be" in found.why) == told


def test_uniques_are_asked_by_the_risk_beyond_the_control_where_there_is_one():
    alone = {"replicated_uniques": (0.04, NAN, NAN)}
    beyond = {"replicated_uniques_risk": (0.004, -0.01, 0.02)}
    # Without a control the share of a correct release is not known: it warns, however large it is.
    for share in (0.04, 0.6):
        one = of_family(evaluation(mine={**FINE, "replicated_uniques": (share, NAN, NAN)}), "identity")
        assert one.colour == "amber"
        assert "only a control file tells how many" in one.why
    assert of_family(evaluation(mine={**FINE, **alone, **beyond}), "identity").colour == "green"
    # What the agency set is asked all the same.
    own = {"replicated_uniques": {"amber": 0.03}}
    assert of_family(evaluation(own, mine={**FINE, **alone, **beyond}), "identity").colour == "amber"


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"matches_tru": {"amber": 0.1}}, "Did you mean 'matches_true'"),
        ({"matches_tru": "off"}, "no rule of ours"),
        ({"U_m": {"amber": 0.1}}, "both amber and red are needed"),
        ({"matches_trie": {"amber": 0.1, "red": 0.2}}, "there is no measure 'matches_trie'. Did you mean"),
        ({"matches_true": {"amber": 0.1}}, "red of 'matches_true' does not lie above amber, though lower is better"),
        ({"matches_true": {"amber": 0.05}}, "does not lie above amber"),
        ({"overlap": {"red": 0.7}}, "red of 'overlap' does not lie below amber, though higher is better"),
        ({"agreement_2": {"amber": 500, "red": 900}}, "does not lie below amber"),
        ({"matches_true": {"amber": np.nan}}, "amber of 'matches_true' is not a number from 0 up"),
        ({"matches_true": {"red": np.inf}}, 'Give a number such as 0.05, or "never"'),
        ({"matches_true": {"amber": "never"}}, "is not a number"),
        ({"matches_true": {"amber": -0.1}}, "is not a number from 0 up"),
        ({"matches_true": {"amber": True}}, "is not a number"),
        ({"matches_true": {"amber": 2, "red": 10}}, "is a share"),
        ({"matches_true": {"ambr": 0.1}}, "has no 'ambr'. Did you mean 'amber'"),
        ({"matches_true": {}}, 'neither a table of amber and red nor "off"'),
        ({"matches_true": 0.1}, 'neither a table of amber and red nor "off"'),
        ({"matches_true": {"family": "identity"}}, "Leave its family out"),
        ({"U_m": {"amber": 0.1, "red": 0.2, "family": "utilty"}}, "Did you mean 'utility'"),
        (["matches_true"], "not a table of bounds"),
    ],
)
def test_bounds_that_cannot_be_are_refused_before_anything_is_measured(bounds, words):
    with pytest.raises(InputError) as raised:
        evaluate(None, None, options=EvaluationOptions(thresholds=bounds))
    assert raised.value.argument == "thresholds"
    assert words in str(raised.value)


def test_the_rules_are_kept_with_the_evaluation(tmp_path):
    data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    mine = Measure("mine", "a measure of one's own", "risk", "Own", "share", lambda _: Figure(0.4, NAN, NAN))
    found = evaluate(
        data,
        {"one": data},
        Intruder(known="town", sensitive="pay", radius=0.1),
        EvaluationOptions(
            measures=(*MEASURES, mine),
            skip=("matches_unique", "singling_out"),
            thresholds={
                "mine": {"amber": 0.3, "red": "never"},
                "membership_distance": "off",
                "singling_out_risk": {"red": 0.5},
            },
        ),
    )
    assert (
        "identity: a measure of one's own (own): amber from 0.3, never red (set by the agency; ours: none)"
        in f"{found}"
    )
    assert len([rule for rule in list_rules(found) if rule.ours]) == 3
    found.save(tmp_path, ending="parquet")
    again = read_evaluation(tmp_path)
    assert list_rules(again) == list_rules(found)
    assert score(again) == score(found)
    # What an earlier version wrote has no rules.
    (tmp_path / "rules.parquet").unlink()
    assert list_rules(read_evaluation(tmp_path)) == tuple(RULES)


def test_a_rule_is_asked_again_where_what_is_asked_in_its_place_is_off():
    figures = {**FINE, "replicated_uniques": (0.5, NAN, NAN), "replicated_uniques_risk": (0.0, -0.1, 0.1)}
    assert of_family(evaluation(mine=figures), "identity").colour == "green"
    off = {"replicated_uniques_risk": "off"}
    assert of_family(evaluation(off, mine=figures), "identity").colour == "amber"


def test_a_figure_without_an_interval_counts_by_itself_and_none_counts_for_nothing():
    known = {**FINE, "disclosive_risk": (0.4, NAN, NAN)}
    assert of_family(evaluation(mine=known), "attribute").colour == "red"
    unknown = {**FINE, "disclosive_risk": (NAN, NAN, NAN)}
    assert of_family(evaluation(mine=unknown), "attribute").colour == "not judged"


def test_membership_that_could_not_be_told_warns_and_the_closest_record_alone_proves_little():
    figures = {**FINE, "advantage_random": (0.1, 0.05, 0.15), "advantage_unsure": (0.6, NAN, NAN)}
    assert of_family(evaluation(mine=figures), "membership").colour == "amber"
    nearest = of_family(evaluation(mine={**FINE, "closest_records": (0.51, 0.48, 0.54)}), "membership")
    assert (nearest.colour, "proves little" in nearest.why) == ("green", True)
    told = {**figures, "advantage_unsure": (0.0, NAN, NAN), "closest_records": (0.51, 0.48, 0.54)}
    assert "proves little" not in of_family(evaluation(mine=told), "membership").why
