import numpy as np
import pandas as pd
import pytest

from molehill import InputError, confidential_risk
from molehill.risk.profile import count_bins, profile_risk, range_ends, value_range
from molehill.tables.populations import consumer_survey

SURVEY = {"known": ["gender", "age", "region"], "sensitive": "income", "radius": 0.2}


def test_distribution_and_thresholds_by_hand():
    data = pd.DataFrame({"pay": [10.0, 10.0, 10.0, 10.0, 99.0]})
    profile = profile_risk(confidential_risk(data, known=[], sensitive="pay", radius=0.1), data)
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
    result = confidential_risk(survey, **SURVEY)
    patterns = profile_risk(result, survey).patterns
    means = patterns["measure"]["mean risk"]
    assert means.is_monotonic_decreasing
    assert len(patterns) == 10
    by_hand = pd.Series(result.risk).groupby([survey[name] for name in SURVEY["known"]], observed=True).mean()
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
    result = confidential_risk(data, known=[], sensitive="pay", radius=0.1, missing="keep")
    profile = profile_risk(result, data)
    assert profile.distribution["value"].iloc[0] == 0.0
    assert profile.policies.to_dict("records") == [{"policy": "missing sensitive value", "records": 1}]


def test_another_table_is_refused():
    data = pd.DataFrame({"pay": [1.0, 2.0]})
    result = confidential_risk(data, known=[], sensitive="pay", radius=0.1)
    with pytest.raises(InputError, match="data: it is not the table"):
        profile_risk(result, data.iloc[:1])


def test_categorical_sensitive_columns_are_profiled_without_values():
    data = pd.DataFrame({"town": list("AABB"), "job": list("xxyz")})
    profile = profile_risk(confidential_risk(data, known="town", sensitive="job", radius=None), data)
    assert list(profile.patterns["measure"]) == ["records", "mean risk", "highest risk"]
