"""Profiles of risk by hand; groups and lists tell ranges, never values."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from molehill import InputError, confidential_risk
from molehill.risk.intruder import Intruder
from molehill.risk.profile import (
    count_bins,
    describe_groups,
    pattern_groups,
    profile_release,
    profile_risk,
    range_ends,
    size_groups,
    top_records,
    value_range,
)
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table

SURVEY = Intruder(known=["gender", "age", "region"], sensitive="income", radius=0.2)
ANYONE = Intruder(known=[], sensitive="pay", radius=0.1)


def test_distribution_and_thresholds_by_hand():
    data = pd.DataFrame({"pay": [10.0, 10.0, 10.0, 10.0, 99.0]})
    profile = profile_risk(confidential_risk(data, replace(ANYONE, count_self=True)), data)
    values = dict(zip(profile.distribution["measure"], profile.distribution["value"], strict=True))
    assert values["mean"] == pytest.approx((4 * 0.2 + 0.8) / 5)
    assert (values["minimum"], values["median"], values["maximum"]) == (0.2, 0.2, 0.8)
    # Above means above: the record at 0.8 is not.
    assert profile.above["records"].tolist() == [1, 0, 0]
    assert profile.histogram["records"].sum() == 5


def test_bins_include_their_last_end():
    bins = count_bins(np.array([0.0, 0.5, 1.0]), bins=2)
    assert bins["records"].tolist() == [1, 2]


def test_patterns_are_ranked_and_values_are_ranges_only():
    survey = consumer_survey()
    result = confidential_risk(survey, SURVEY)
    patterns = profile_risk(result, survey).patterns
    means = patterns["measure"]["mean risk"]
    assert means.is_monotonic_decreasing
    assert len(patterns) == 10
    by_hand = pd.Series(result.risk).groupby([survey[name] for name in SURVEY.known], observed=True).mean()
    assert means.iloc[0] == pytest.approx(by_hand.max(), abs=1e-12)
    incomes = {f"{value:,}" for value in survey["income"] if value % 1000}
    shown = " ".join(patterns["measure"]["income of the riskiest tenth"])
    assert not any(word in incomes for word in shown.split())


def test_ranges_hold_their_values_and_never_close_on_one():
    rng = np.random.default_rng(5)
    values = np.r_[rng.lognormal(11, 1, 500), -rng.lognormal(8, 1, 20), 0.0, 20_000.0]
    ends = range_ends(values)
    for value in values:
        low, high = (float(end.replace(",", "")) for end in value_range(np.array([value]), ends).split(" to "))
        assert low <= value < high
    assert value_range(np.array([0.0]), range_ends(np.zeros(3))) == "0 to 1"
    assert value_range(np.array([-30.0, 7.0]), range_ends(np.array([-30.0, 7.0]))) == "-50 to 10"


def test_records_left_out_do_not_count():
    data = pd.DataFrame({"pay": [1.0, 1.0, np.nan]})
    result = confidential_risk(data, replace(ANYONE, missing_values="keep"))
    profile = profile_risk(result, data)
    assert profile.distribution["value"].iloc[0] == 0.0
    assert profile.policies.to_dict("records") == [{"policy": "missing sensitive value", "records": 1}]


def test_another_table_is_refused():
    data = pd.DataFrame({"pay": [1.0, 2.0]})
    result = confidential_risk(data, ANYONE)
    with pytest.raises(InputError, match="data: it has another number of records"):
        profile_risk(result, data.iloc[:1])


def test_categorical_sensitive_columns_are_profiled_without_values():
    data = pd.DataFrame({"town": list("AABB"), "job": list("xxyz")})
    profile = profile_risk(confidential_risk(data, Intruder(known="town", sensitive="job")), data)
    assert list(profile.patterns["measure"]) == ["records", "mean risk", "highest risk"]


DATA = pd.DataFrame(
    {"town": ["A", "A", "A", "B", "B"], "pay": [123.0, 131.0, 4567.0, 77.0, -321.0], "debt": [1.0, 2.0, 3.0, 4.0, 5.0]}
)


def risk(**changed):
    return confidential_risk(DATA, replace(ANYONE, **{"known": "town", **changed}))


def test_profile_by_hand():
    by_dataset = np.array([[0.0, 0.6, 1.0, 0.4, np.nan], [0.2, 0.6, 1.0, 0.8, np.nan]])
    figures = profile_release(by_dataset)
    # Means 0.1, 0.6, 1.0, 0.6.
    expected = {
        "mean": 2.3 / 4,
        "q25": 0.475,
        "median": 0.6,
        "q75": 0.7,
        "q99": 0.6 + 0.97 * 0.4,
        "largest": 1.0,
        "above_50": 3,
        "above_80": 1,
        "above_95": 1,
    }
    assert {name: figure.value for name, figure in figures.items()} == pytest.approx(expected)
    # Table means 0.5 and 0.65: standard error 0.075, t quantile with one degree 12.706, cut at 0 and 1.
    assert (figures["mean"].low, figures["mean"].high) == (0.0, 1.0)
    assert (figures["largest"].low, figures["largest"].high) == (1.0, 1.0)


def test_groups_by_hand():
    by_dataset = np.array([[0.0, 0.5, 1.0, 0.25, 0.5], [0.0, 0.5, 0.5, 0.25, 0.5]])
    found = describe_groups(pattern_groups(risk()), {"risk_mean": by_dataset})
    assert found.columns.tolist() == ["column", "by", "group", "records", "measure", "value", "low", "high"]
    assert found["group"].tolist() == ["town A", "town B"]
    assert found["records"].tolist() == [3, 2]
    assert found["value"].tolist() == pytest.approx([2.5 / 6, 0.375])
    assert found[["low", "high"]].iloc[1].tolist() == pytest.approx([0.375, 0.375])
    (sizes,) = size_groups(risk(), Table(DATA))
    assert (sizes.by, sizes.column) == ("size", "pay")
    by_size = describe_groups(sizes, {"risk_mean": by_dataset})
    assert by_size["group"].tolist() == ["-500 to -200", "50 to 100", "100 to 200", "2,000 to 5,000"]
    assert by_size["records"].tolist() == [1, 1, 2, 1]
    assert by_size["value"].tolist() == pytest.approx([0.5, 0.25, 0.25, 0.75])


def test_no_known_column_is_one_group():
    assert pattern_groups(risk(known=[])).names == ["all records"]


def test_a_record_that_takes_no_part_is_in_no_group():
    by_dataset = np.array([[0.0, 0.5, 1.0, 0.25, np.nan]])
    found = describe_groups(pattern_groups(risk()), {"risk_mean": by_dataset})
    assert found["records"].tolist() == [3, 1]


def test_top_lists_by_hand():
    confidential = risk()
    release = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = top_records(confidential, Table(DATA), {"confidential": confidential.risk, "ours": release}, number=2)
    assert found.columns.tolist() == ["list", "column", "rank", "range", "scheme", "risk"]
    # Confidential risks 1/2, 1/2, 1, 1, 1.
    assert found[found["scheme"] == "ours"].drop(columns="scheme").to_numpy().tolist() == [
        ["riskiest", "", 1, "2,000 to 5,000", 0.3],
        ["riskiest", "", 2, "50 to 100", 0.4],
        ["largest", "pay", 1, "2,000 to 5,000", 0.3],
        ["largest", "pay", 2, "100 to 200", 0.2],
    ]
    assert found["risk"].iloc[0] == 1.0


def test_several_columns_and_none_that_is_numeric():
    both = risk(sensitive=["pay", "debt"])
    found = top_records(both, Table(DATA), {"ours": both.risk}, number=1)
    assert found[["list", "column"]].agg(" ".join, axis=1).tolist() == ["riskiest ", "largest pay", "largest debt"]
    assert found["range"].iloc[1] == "pay 2,000 to 5,000; debt 2 to 5"
    exact = confidential_risk(DATA, Intruder(known=[], sensitive="town"))
    assert top_records(exact, Table(DATA), {"ours": exact.risk}, number=1).to_numpy().tolist() == [
        ["riskiest", "", 1, "-", "ours", pytest.approx(3 / 4)]
    ]
    assert size_groups(exact, Table(DATA)) == []
