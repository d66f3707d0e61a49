"""The profile of a release by hand; groups and lists tell ranges, never values."""

import numpy as np
import pandas as pd
import pytest

from molehill.risk.identification import confidential_risk
from molehill.risk.profile import describe_groups, pattern_groups, profile_release, size_groups, top_records
from molehill.tables.table import Table

DATA = pd.DataFrame(
    {"town": ["A", "A", "A", "B", "B"], "pay": [123.0, 131.0, 4567.0, 77.0, -321.0], "debt": [1.0, 2.0, 3.0, 4.0, 5.0]}
)


def risk(**changed):
    return confidential_risk(DATA, **{"known": "town", "sensitive": "pay", "radius": 0.1, **changed})


def test_profile_by_hand():
    by_table = np.array([[0.0, 0.6, 1.0, 0.4, np.nan], [0.2, 0.6, 1.0, 0.8, np.nan]])
    figures = profile_release(by_table)
    # Means 0.1, 0.6, 1.0, 0.6.
    expected = {
        "mean risk": 2.3 / 4,
        "25% quantile of risk": 0.475,
        "median risk": 0.6,
        "75% quantile of risk": 0.7,
        "99% quantile of risk": 0.6 + 0.97 * 0.4,
        "largest risk": 1.0,
        "records with risk above 0.5": 3,
        "records with risk above 0.8": 1,
        "records with risk above 0.95": 1,
    }
    assert {name: figure.value for name, figure in figures.items()} == pytest.approx(expected)
    # Table means 0.5 and 0.65: standard error 0.075, t quantile with one degree 12.706, cut at 0 and 1.
    assert (figures["mean risk"].low, figures["mean risk"].high) == (0.0, 1.0)
    assert (figures["largest risk"].low, figures["largest risk"].high) == (1.0, 1.0)
    assert list(profile_release(by_table, "expected risk"))[:2] == [
        "mean expected risk",
        "25% quantile of expected risk",
    ]


def test_groups_by_hand():
    by_table = np.array([[0.0, 0.5, 1.0, 0.25, 0.5], [0.0, 0.5, 0.5, 0.25, 0.5]])
    found = describe_groups(pattern_groups(risk()), {"mean risk": by_table})
    assert found.columns.tolist() == ["column", "by", "group", "records", "measure", "value", "low", "high"]
    assert found["group"].tolist() == ["town A", "town B"]
    assert found["records"].tolist() == [3, 2]
    assert found["value"].tolist() == pytest.approx([2.5 / 6, 0.375])
    assert found[["low", "high"]].iloc[1].tolist() == pytest.approx([0.375, 0.375])
    (sizes,) = size_groups(risk(), Table(DATA))
    assert sizes.by == "size of pay"
    by_size = describe_groups(sizes, {"mean risk": by_table})
    assert by_size["group"].tolist() == ["-500 to -200", "50 to 100", "100 to 200", "2,000 to 5,000"]
    assert by_size["records"].tolist() == [1, 1, 2, 1]
    assert by_size["value"].tolist() == pytest.approx([0.5, 0.25, 0.25, 0.75])


def test_no_known_column_is_one_group():
    assert pattern_groups(risk(known=[])).names == ["all records"]


def test_a_record_that_takes_no_part_is_in_no_group():
    by_table = np.array([[0.0, 0.5, 1.0, 0.25, np.nan]])
    found = describe_groups(pattern_groups(risk()), {"mean risk": by_table})
    assert found["records"].tolist() == [3, 1]


def test_top_lists_by_hand():
    confidential = risk()
    release = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    found = top_records(confidential, Table(DATA), {"confidential": confidential.risk, "ours": release}, number=2)
    assert found.columns.tolist() == ["list", "rank", "range", "scheme", "risk"]
    # Confidential risks 1/3, 1/3, 2/3, 1/2, 1/2.
    assert found[found["scheme"] == "ours"].drop(columns="scheme").to_numpy().tolist() == [
        ["riskiest", 1, "2,000 to 5,000", 0.3],
        ["riskiest", 2, "50 to 100", 0.4],
        ["largest pay", 1, "2,000 to 5,000", 0.3],
        ["largest pay", 2, "100 to 200", 0.2],
    ]
    assert found["risk"].iloc[0] == pytest.approx(2 / 3)


def test_several_columns_and_none_that_is_numeric():
    both = risk(sensitive=["pay", "debt"])
    found = top_records(both, Table(DATA), {"ours": both.risk}, number=1)
    assert found["list"].tolist() == ["riskiest", "largest pay", "largest debt"]
    assert found["range"].iloc[1] == "pay 2,000 to 5,000; debt 2 to 5"
    exact = confidential_risk(DATA, known=[], sensitive="town", radius=None)
    assert top_records(exact, Table(DATA), {"ours": exact.risk}, number=1).to_numpy().tolist() == [
        ["riskiest", 1, "-", "ours", pytest.approx(3 / 5)]
    ]
    assert size_groups(exact, Table(DATA)) == []
