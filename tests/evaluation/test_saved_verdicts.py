"""Recommendations on a saved evaluation of which one figure is altered: no rating without a word of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from few_figures import FINE, NAN, evaluation
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import read_evaluation
from molehill.evaluation.scorecard import RULES, describe_rules, judge_rule, list_rules, read_bounds, set_rules
from molehill.evaluation.verdict import judge

_FAMILY = {one.id: one.family for one in MEASURES}
_OF_A_PERSON = ("identity", "attribute", "membership")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "evaluation"
    evaluation(mine=FINE).save(folder, ending="parquet")
    return read_evaluation(folder)


def altered(saved, measure, rows):
    """The evaluation with these figures of a measure, each a column and its ends, in place of those that it has."""
    name = _FAMILY[measure]
    frame = getattr(saved, name)
    made = [
        {**dict.fromkeys(frame.columns, ""), "scheme": "mine", "measure": measure, "name": measure, "at": NAN}
        | {"column": column, "of": f"of {column}", "value": value, "low": low, "high": high}
        for column, value, low, high in rows
    ]
    left = frame[(frame["measure"] != measure) | (frame["scheme"] != "mine")]
    return replace(saved, **{name: pd.concat([left, pd.DataFrame(made)], ignore_index=True)})


def bad_value(rule, colour):
    """A value that has this colour by a rule, and one that is green."""
    bound = rule.amber if colour == "amber" else rule.red
    return bound - 1e-6 if rule.side == "below" else bound + 1e-6, 1.0 if rule.take == "ratio" else _good(rule)


def _good(rule):
    return 1.0 if rule.side == "below" else min(rule.null or 0.0, rule.amber)


# How figures come: with an interval, without one, and of several columns, the worst neither first nor last.
SHAPES = {
    "interval": lambda bad, _: [("income", bad, bad - 1e-7, bad + 1e-7)],
    "no interval": lambda bad, _: [("income", bad, NAN, NAN)],
    "several": lambda bad, good: [("age", good, NAN, NAN), ("income", bad, NAN, NAN), ("wealth", good, NAN, NAN)],
}


@pytest.fixture(scope="module")
def sentence(saved):
    return judge(saved).sentence


def check(given, rule, colour, before):
    """That a rule has this colour, is named where it was not before, and has the consequence that it must have."""
    [(rated, _)] = judge_rule(given, "mine", rule)
    assert rated == colour
    verdict = judge(given)
    # Something new is named, as a reason or as a point.
    assert verdict.sentence != before
    named = verdict.sentence.partition(", because ")[2] or verdict.sentence.partition("Points for the board: ")[2]
    assert named
    if colour == "red":
        stops = rule.family in _OF_A_PERSON or rule.measure in ("spread_ratio", "tail_ratio", "reach_ratio")
        assert verdict.decision == ("do not release" if stops else "board decision needed")
    elif rule.measure != "overlap":
        assert verdict.decision == "no objection"


@pytest.mark.parametrize(
    ("colour", "shape"), [("amber", "interval"), ("amber", "several"), ("red", "interval"), ("red", "no interval")]
)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.measure)
def test_every_rating_is_named_and_has_its_consequence(saved, sentence, rule, colour, shape):
    if np.isinf(rule.red) and colour == "red":
        pytest.skip("this measure is never red")
    if rule.take == "mean" and shape == "several":
        pytest.skip("a mean over estimates")
    rows = SHAPES[shape](*bad_value(rule, colour))
    check(altered(saved, rule.measure, rows), rule, colour, sentence)


@pytest.mark.parametrize("colour", ["amber", "red"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.measure)
def test_so_it_is_by_thresholds_of_the_agency(saved, rule, colour):
    # Twice as strict, and so that a figure that was green is rated.
    strict = {"amber": rule.amber * (1.5 if rule.side == "below" else 0.9)}
    strict |= {"red": rule.red * (1.5 if rule.side == "below" else 0.9)} if np.isfinite(rule.red) else {"red": "never"}
    rules = set_rules(read_bounds({rule.measure: strict}), MEASURES)
    [own] = [one for one in rules if one.measure == rule.measure]
    if np.isinf(own.red) and colour == "red":
        pytest.skip("this measure is never red")
    stricter = replace(saved, rules=describe_rules(rules))
    rows = SHAPES["interval"](*bad_value(own, colour))
    check(altered(stricter, rule.measure, rows), own, colour, judge(stricter).sentence)
    off = replace(saved, rules=describe_rules(set_rules(read_bounds({rule.measure: "off"}), MEASURES)))
    unasked = judge(altered(off, rule.measure, rows))
    # What the distribution and the estimates lose has limits that no agency sets.
    assert unasked.decision == "no objection"


@pytest.mark.parametrize("rule", [one for one in RULES if one.null is not None], ids=lambda rule: rule.measure)
def test_what_is_within_its_error_of_no_evidence_is_neither_rated_nor_a_reason(saved, rule):
    bad = rule.amber + 0.05
    given = altered(saved, rule.measure, [("income", bad, rule.null - 0.1, bad + 0.3)])
    assert [colour for colour, _ in judge_rule(given, "mine", rule)] == ["green"]
    assert " is amber" not in judge(given).sentence
    assert "because" not in judge(given).sentence
    assert "Points" not in judge(given).sentence


@pytest.mark.parametrize("rule", [one for one in RULES if one.unless], ids=lambda rule: rule.measure)
def test_a_measure_is_asked_until_one_that_says_more_is_there_and_asked(saved, rule):
    worst = "red" if np.isfinite(rule.red) else "amber"
    bad, _ = bad_value(rule, worst)

    def rated(given):
        [own] = [one for one in list_rules(given) if one.measure == rule.measure]
        colours = [colour for colour, _ in judge_rule(given, "mine", own)]
        assert (judge(given).decision == "do not release") == (colours == ["red"])
        assert ("is amber" in judge(given).sentence) == (colours == ["amber"])
        return colours

    given = altered(saved, rule.measure, [("income", bad, NAN, NAN)])
    assert rated(given) == [worst]
    better = altered(given, rule.unless, [("income", 0.0, NAN, NAN)])
    assert rated(better) == []
    off = describe_rules(set_rules(read_bounds({rule.unless: "off"}), MEASURES))
    assert rated(replace(better, rules=off)) == [worst]
    # What could not be computed says nothing.
    unknown = altered(given, rule.unless, [("income", NAN, NAN, NAN)])
    assert rated(unknown) == [worst]
    assert [one.measure for one in list_rules(unknown)] == [one.measure for one in RULES]


def test_of_several_bad_figures_each_column_is_named_where_the_measure_is_of_columns(saved):
    rows = [("age", 0.3, NAN, NAN), ("income", 0.25, NAN, NAN)]
    sentence = judge(altered(saved, "attribution_gain", rows)).sentence
    assert "30.0% more" in sentence
    assert "25.0% more" in sentence
