"""Targets: rules read from text, told again, and every problem at once."""

import pytest

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.criteria import EXAMPLES, Criterion, impossible, read_criteria


def test_targets_are_read_and_told_again():
    texts = ["maximum realised <= 0.5", "99% expected <= 0.4", "mean expected <= 0.15", "moles 0.1 <= 0"]
    texts += ["U_m <= 0.03", "overlap >= 0.6", "overlap of mean of income >= 0.6", "97.5% realised <= 0.3"]
    texts += ["maximum pick <= 0.2", "99% pick <= 0.1", "mean pick <= 0.01", "right picks <= 0.01"]
    assert [str(target) for target in read_criteria(texts)] == texts
    assert read_criteria("  99%   expected<=40% ")[0] == Criterion("expected_mean", "99%", 0.4)
    assert read_criteria("99% pick <= 0.1")[0] == Criterion("matches_expected", "99%", 0.1)
    assert read_criteria("moles <= 0")[0].statistic == "0.2"


def test_every_target_is_told_like_the_measure_that_it_is_about():
    ids = {measure.id: measure for measure in MEASURES}
    told = {text: read_criteria(text)[0].measure for text in EXAMPLES}
    assert set(told.values()) <= set(ids)
    # T / c, in one table after the other, and not of the intruder who pools them.
    assert told["right picks <= 0.01"] == told["maximum pick <= 0.2"] == "matches_expected"
    assert (told["unique matches <= 0.001"], told["pooled mean <= 0.2"]) == ("matches_true", "combined_mean")


def test_what_asks_for_something_to_be_kept_is_no_rule_on_risk():
    assert [target.is_utility for target in read_criteria(["U_m <= 0.1", "overlap >= 0.1", "maximum pick <= 0.1"])] == [
        True,
        True,
        False,
    ]
    assert read_criteria("maximum pick <= 0.1")[0].is_of_records


def test_every_problem_of_the_targets_is_told_at_once():
    bad = ["maximum <= 0.5", "mean expected >= 0.1", "99 expected <= 0.1", "U_m <= x", "overlap <= 0.5", "nothing"]
    bad += ["mean expected <= 1.5", "moles 2 <= 0", "0% expected <= 0.1", "mean realised <= -1"]
    with pytest.raises(InputError, match="10 problems") as caught:
        read_criteria(bad)
    for text in bad[:6]:
        assert repr(text) in str(caught.value)
    remedies = ["maximum expected <= 0.5, or maximum realised", "or maximum pick", "sign must be <=", "sign must be >="]
    for remedy in [*remedies, "write 20%"]:
        assert remedy in str(caught.value)
    with pytest.raises(InputError, match="there is none"):
        read_criteria([])
    with pytest.raises(InputError, match="given twice"):
        read_criteria(["U_m <= 0.1", "U_m <= 0.1"])


def test_zero_is_impossible_and_one_is_not():
    assert len(impossible(read_criteria(["maximum realised <= 0", "mean expected <= 0", "99% expected <= 0"]))) == 3
    assert len(impossible(read_criteria(["U_m <= 0", "overlap >= 1"]))) == 2
    picks = ["maximum pick <= 0", "99% pick <= 0", "mean pick <= 0", "right picks <= 0", "unique matches <= 0"]
    assert len(impossible(read_criteria(picks))) == 5
    # With a small radius most records may never be close: it must be looked at.
    assert not impossible(read_criteria(["50% realised <= 0", "maximum realised <= 1", "moles 0.1 <= 0"]))
