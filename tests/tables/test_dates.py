"""Dates as days and back, and as a column that is replaced."""

import re
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from drawing import in_words  # noqa: F401
from molehill import InputError, Intruder, Settings, confidential_risk, synthesize
from molehill.plan.settings import format_settings
from molehill.tables.resolution import dates_like, days_of, holds_dates

WHEN = ["1958-03-01", "1970-01-01", None, "2001-12-31"]
COLUMNS = {
    "nanoseconds": pd.Series(pd.to_datetime(WHEN)).astype("datetime64[ns]"),
    "seconds": pd.Series(pd.to_datetime(WHEN)).astype("datetime64[s]"),
    "zoned": pd.Series(pd.to_datetime(WHEN)).dt.tz_localize("Europe/Berlin"),
    "objects": pd.Series([None if day is None else date.fromisoformat(day) for day in WHEN], dtype=object),
    "times": pd.Series([None if day is None else datetime.fromisoformat(day) for day in WHEN], dtype=object),
}


@pytest.mark.parametrize("name", list(COLUMNS))
def test_days_go_there_and_back(name):
    column = COLUMNS[name]
    assert holds_dates(column)
    days = days_of(column)
    np.testing.assert_array_equal(days, [-4324.0, 0.0, np.nan, 11687.0])
    back = dates_like(days, column)
    assert back.dtype == column.dtype
    if name == "times":
        assert [one if pd.isna(one) else str(one)[:10] for one in back] == WHEN
    else:
        pd.testing.assert_series_equal(back, column)


def patients(records=300):
    random = np.random.default_rng(2)
    born = pd.Timestamp("1960-01-01") + pd.to_timedelta(random.integers(0, 12_000, records), unit="D")
    seen = born + pd.to_timedelta(random.integers(7_000, 9_000, records), unit="D")
    sex = random.choice(["f", "m"], records)
    return pd.DataFrame({"sex": sex, "born": born, "seen": seen, "cost": random.lognormal(5, 1, records).round(2)})


def settings(**changes):
    given = {
        "synthesize": ["born", "seen", "cost"],
        "keep": ["sex"],
        "known": ["sex"],
        "lower": {"born": date(1950, 1, 1), "seen": date(1970, 1, 1), "cost": 0},
        "upper": {"born": date(2000, 1, 1), "seen": "2030-01-01", "cost": 100_000},
        "constraints": ["born < seen"],
        "datasets": 3,
        "compare": (),
        "attacks": "none",
        "expected_risk_draws": 0,
        "seed": 4,
    }
    return Settings(**{**given, **changes})


@pytest.fixture(scope="module")
def release():
    return synthesize(patients(), settings(min_leaf_size=20), progress=False)


def test_dates_are_replaced_within_their_limits_and_rules(release):
    data = patients()
    for table in release.datasets:
        assert table.dtypes.equals(data.dtypes)
        assert (table["born"] < table["seen"]).all()
        assert table["born"].between("1950-01-01", "2000-01-01").all()
        assert (table["born"].dt.normalize() == table["born"]).all()
        assert not table["born"].isin(data["born"]).all()
    # They go together as they did: who was born late is seen late.
    pooled = pd.concat(release.datasets)
    assert np.corrcoef(days_of(pooled["born"]), days_of(pooled["seen"]))[0, 1] > 0.8


@pytest.mark.usefixtures("in_words")
def test_a_release_of_dates_is_told_and_saved(release, tmp_path):
    folder = release.save(tmp_path / "out", release_anyway=True)
    plan = str(release.plan)
    assert "1950-01-01 to 2000-01-01" in plan
    inside = (folder / "internal" / "settings.toml").read_text(encoding="utf-8")
    assert "1950-01-01" in inside
    first = pd.read_csv(folder / "release" / "synthetic_01.csv")
    assert first["born"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()
    years = release.evaluation.shapes.query("column == 'born' and curve == 'density'")["at"]
    assert years.between(1940, 2010).all()
    assert not len(release.evaluation.shapes.query("column == 'born' and curve == 'above'"))
    page = (folder / "internal" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"within the radius .*30 days of born", page)


def test_settings_with_dates_can_be_written_and_read_again(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(format_settings(settings()), encoding="utf-8")
    from molehill.plan.settings import read_settings  # noqa: PLC0415

    assert read_settings(path) == settings()
    assert Settings.model_validate_json(settings().model_dump_json()) == settings()


def test_dates_are_close_within_days():
    born = pd.to_datetime(["2000-01-01", "2000-01-20", "2000-03-15", "2000-04-10"])
    data = pd.DataFrame({"sex": ["f"] * 4, "born": born})
    usual = confidential_risk(data, Intruder(known="sex", sensitive="born"))
    np.testing.assert_allclose(usual.risk, [2 / 3, 2 / 3, 2 / 3, 2 / 3])
    wide = confidential_risk(data, Intruder(known="sex", sensitive="born", min_radius=60))
    np.testing.assert_allclose(wide.risk, [2 / 3, 1 / 3, 1 / 3, 2 / 3])
    with pytest.raises(InputError, match="a relative radius does not apply"):
        confidential_risk(data, Intruder(known="sex", sensitive="born", radius={"born": 0.2}))


def test_a_date_without_limits_is_refused():
    with pytest.raises(InputError, match="'born' is a date and has no lower"):
        synthesize(patients(), settings(lower={"seen": date(1970, 1, 1), "cost": 0}), progress=False)
    with pytest.raises(InputError, match="'lower' must be"):
        settings(lower={"born": "long ago", "seen": 0, "cost": 0})


def test_many_dates_that_are_kept_are_conditioned_on_as_numbers():
    data = patients()
    own = {"lower": {"cost": 0}, "upper": {"cost": 100_000}, "constraints": ()}
    kept = {
        "synthesize": ["cost"],
        "keep": ["sex", "born", "seen"],
        "accept_identifying": ["born", "seen"],
        "predictors": ["born"],
    }
    found = synthesize(data, settings(**kept, min_leaf_size=20, **own), progress=False)
    pd.testing.assert_series_equal(
        found.datasets[0]["born"].sort_values(ignore_index=True), data["born"].sort_values(ignore_index=True)
    )
