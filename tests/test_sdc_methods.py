from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from agreement import assert_agrees, assert_mean, assert_spread
from molehill import InputError, Table, release_risk
from molehill.risk.intruder import Intruder
from molehill.sdc_methods import BASELINES, add_noise, microaggregate, multiply_noise, swap_ranks, topcode
from molehill.tables.populations import consumer_survey

METHODS = [
    lambda data: topcode(data, "pay", percentile=60),
    lambda data: add_noise(data, "pay", seed=1),
    lambda data: multiply_noise(data, "pay", seed=1),
    lambda data: swap_ranks(data, "pay", window=0.5, seed=1),
    lambda data: microaggregate(data, "pay", size=2),
]


def frame(*pay):
    return pd.DataFrame({"pay": pay})


def test_topcoding_by_hand():
    data = frame(10.0, 200.0, 30.0, 100.0, 20.0)
    assert topcode(data, "pay", value=50)["pay"].tolist() == [10.0, 150.0, 30.0, 150.0, 20.0]
    assert topcode(data, "pay", value=100, replacement="threshold")["pay"].tolist() == [10.0, 100.0, 30.0, 100.0, 20.0]
    # The 60% quantile of 10, 20, 30, 100, 200 is 30 + 0.4 * 70 = 58.
    assert topcode(data, "pay", percentile=60)["pay"].tolist() == [10.0, 150.0, 30.0, 150.0, 20.0]
    assert topcode(data, "pay", percentile=60, replacement="threshold")["pay"].max() == pytest.approx(58)
    assert data["pay"].tolist() == [10.0, 200.0, 30.0, 100.0, 20.0]


def test_losses_are_coded_from_below():
    data = frame(-80.0, -40.0, 0.0, 5.0, 90.0, 100.0)
    coded = topcode(data, "pay", value=50, bottom_value=-30)
    assert coded["pay"].tolist() == [-60.0, -60.0, 0.0, 5.0, 95.0, 95.0]
    assert topcode(data, "pay", percentile=70, bottom_percentile=30)["pay"].tolist() == coded["pay"].tolist()


def test_topcoding_keeps_the_mean_and_about_the_share_that_it_should():
    survey = consumer_survey()
    coded = topcode(survey, "income")
    assert coded["income"].mean() == pytest.approx(survey["income"].mean(), rel=1e-6)
    assert (coded["income"] != survey["income"]).mean() == pytest.approx(0.025, abs=0.001)


def test_topcoding_protects_the_topcoded_and_nobody_else():
    """As the paper says: risk 0 for those, and full risk for an isolated record below the threshold."""
    data = pd.DataFrame({"pay": [10.0, 11.0, 12.0, 100.0, 1000.0, 5000.0], "town": "A"})
    released = topcode(data, "pay", value=500)
    risk = release_risk(data, released, Intruder(known="town", sensitive="pay", radius=0.2)).realised
    assert risk[4:].tolist() == [0.0, 0.0]
    assert risk[3] == 1.0
    survey = consumer_survey()
    view = Intruder(known=["gender", "age", "region"], sensitive="income", radius=0.2).view(survey)
    coded = topcode(survey, "income")
    before, after = (release_risk(view, table).realised for table in (survey, coded))
    changed = (coded["income"] != survey["income"]).to_numpy()
    far = changed & (np.abs(coded["income"] - survey["income"]) > 0.2 * survey["income"]).to_numpy()
    assert far.sum() > 50
    assert (after[far] == 0).all()
    isolated = ~changed & (before > 0.95)
    assert isolated.sum() > 5
    assert (after[isolated] > 0.95).all()


def test_added_noise_has_its_scale_and_no_bias():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"pay": rng.normal(50, 20, 20_000), "age": rng.normal(40, 1, 20_000)})
    noisy = add_noise(data, ["pay", "age"], scale=0.3, seed=5)
    noise = (noisy - data) / data.std()
    assert_spread(noise, 0.3, detects=0.05)
    assert_mean(noise, 0.0, detects=0.03)
    assert_agrees(np.corrcoef(noise["pay"], noise["age"])[0, 1], 0.0, 1 / np.sqrt(20_000), detects=0.1)


def test_multiplied_noise_stays_between_its_bounds_and_away_from_1():
    data = pd.DataFrame({"pay": np.r_[np.linspace(-50, -1, 500), np.linspace(1, 1000, 19_500)]})
    factor = (multiply_noise(data, "pay", least=0.05, most=0.2, seed=3) / data)["pay"]
    assert factor.sub(1).abs().between(0.05 - 1e-12, 0.2 + 1e-12).all()
    assert_mean(factor, 1.0, detects=0.01)
    assert_mean(factor.sub(1).abs(), 0.125, detects=0.005)


def test_swapped_values_stay_near_their_rank():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"pay": rng.lognormal(size=1000), "age": rng.normal(size=1000)})
    swapped = swap_ranks(data, ["pay", "age"], window=0.1, seed=2)
    for name in data:
        assert sorted(swapped[name]) == sorted(data[name])
        ranks, new = data[name].rank().to_numpy(int) - 1, swapped[name].rank().to_numpy(int) - 1
        distance = np.abs(ranks - new)
        assert distance.max() <= 100
        assert (distance > 0).mean() > 0.95
        # Swapping is mutual: who has my value has given me theirs.
        taken = dict(zip(ranks, new, strict=True))
        assert all(taken[taken[rank]] == rank for rank in ranks)
    assert not (swapped["pay"].rank() == swapped["age"].rank()).all()


def test_microaggregation_by_hand():
    data = frame(9.0, 1.0, 2.0, 10.0, 3.0, 20.0, 8.0)
    assert microaggregate(data, "pay")["pay"].tolist() == pytest.approx([11.75, 2, 2, 11.75, 2, 11.75, 11.75])
    assert microaggregate(data, "pay", size=4)["pay"].tolist() == pytest.approx([53 / 7] * 7)


def test_microaggregation_of_several_columns_by_hand():
    """Two clumps of three, far apart: the groups are the clumps."""
    data = pd.DataFrame({"pay": [0.0, 100.0, 1.0, 101.0, 2.0, 102.0], "age": [10.0, 50.0, 11.0, 52.0, 12.0, 54.0]})
    averaged = microaggregate(data, ["pay", "age"])
    assert averaged["pay"].tolist() == [1.0, 101.0, 1.0, 101.0, 1.0, 101.0]
    assert averaged["age"].tolist() == [11.0, 52.0, 11.0, 52.0, 11.0, 52.0]
    rng = np.random.default_rng(6)
    many = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    sizes = microaggregate(many, list("abc"), size=4).value_counts()
    assert sizes.between(4, 7).all()
    assert sizes.sum() == 100


@pytest.mark.parametrize("method", METHODS)
def test_tables_come_back_as_they_went_in(method):
    data = pd.DataFrame(
        {"town": list("ABCDEF"), "pay": [1000, 1500, 2200, 3700, 5100, 6900], "age": range(6)}, index=list("uvwxyz")
    )
    released = method(data)
    assert released.columns.tolist() == ["town", "pay", "age"]
    assert released.index.tolist() == list("uvwxyz")
    assert released.dtypes.tolist() == data.dtypes.tolist()
    assert released[["town", "age"]].equals(data[["town", "age"]])
    assert not released["pay"].equals(data["pay"])
    assert data["pay"].iloc[0] == 1000
    plain = released["pay"].tolist()
    labelled = method(Table(data, {"pay": "Pay"}))
    assert isinstance(labelled, Table)
    assert labelled.column_labels == {"pay": "Pay"}
    assert labelled.frame["pay"].tolist() == plain
    for kind in (pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)):
        native = kind(data)
        again = method(native)
        assert type(again) is type(native)
        assert again.schema == native.schema
        assert again["pay"].to_pylist() == plain if isinstance(again, pa.Table) else again["pay"].to_list() == plain


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_stay_missing(method):
    data = pd.DataFrame({"pay": pd.array([1000, None, 2200, 3700, 5100], dtype="Int64")})
    released = method(data)
    assert released["pay"].isna().tolist() == [False, True, False, False, False]
    assert released["pay"].dtype == "Int64"
    polars = method(pl.DataFrame({"pay": [1000.0, None, 2200.0, 3700.0, 5100.0]}))
    assert polars["pay"].null_count() == 1


@pytest.mark.parametrize("method", [METHODS[0], METHODS[4]])
def test_missing_values_change_nothing_for_the_others(method):
    data = frame(1000.0, np.nan, 2200.0, 3700.0, 5100.0)
    assert method(data)["pay"].dropna().tolist() == method(data.dropna())["pay"].tolist()


@pytest.mark.parametrize("method", METHODS[1:4])
def test_random_methods_repeat_with_their_seed(method):
    data = frame(*range(100))
    assert method(data).equals(method(data))
    assert not add_noise(data, "pay", seed=1).equals(add_noise(data, "pay", seed=2))


WRONG: Any = {"replacement": "mode"}
FEW = frame(1.0, 2.0, 3.0, 90.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: topcode(FEW, "pya"), "column: there is no variable 'pya'. Did you mean 'pay'"),
        (lambda: topcode(FEW, "pay", value=50), "value: a single value lies above it"),
        (lambda: topcode(FEW, "pay"), "percentile: a single value lies above it"),
        (lambda: topcode(FEW, "pay", value=90), "value: no value lies above it"),
        (lambda: topcode(frame(1.0, 1.0), "pay"), "percentile: no value lies above it"),
        (lambda: topcode(FEW, "pay", value=1, percentile=9), "value: percentile is given as well"),
        (lambda: topcode(FEW, "pay", percentile=100), "percentile: it must be below 100"),
        (lambda: topcode(FEW, "pay", percentile=0), "percentile: it must be above 0"),
        (lambda: topcode(FEW, "pay", value=np.nan), "value: it is of type float, expected a finite number"),
        (lambda: topcode(FEW, "pay", value=2.5, bottom_value=3), "bottom_value: it lies above the other threshold"),
        (lambda: topcode(FEW, "pay", value=2.5, bottom_value=1), "bottom_value: no value lies below it"),
        (lambda: topcode(FEW, "pay", value=2, **WRONG), "replacement: 'mode' is not a choice"),
        (lambda: topcode(FEW[:1], "pay"), "data: 1 records have a value, but 2 are needed"),
        (lambda: topcode(frame("a", "b"), "pay"), "data: the variable 'pay' is not numeric"),
        (lambda: topcode(frame(1.0, np.inf), "pay"), "data: the variable 'pay' is infinite in row 2"),
        (lambda: add_noise(FEW, "pay", scale=0, seed=1), "scale: it must be above 0"),
        (lambda: add_noise(FEW, [], seed=1), "columns: no variable is named"),
        (lambda: add_noise(frame(1.0, 1.0), "pay", seed=1), "data: variable 'pay' is the same for every record"),
        (lambda: add_noise(FEW, "pay", seed=-1), "seed: it must be a whole number from 0 up"),
        (lambda: multiply_noise(FEW, "pay", least=0.3, most=0.2, seed=1), "most: it must be at least `least`"),
        (lambda: multiply_noise(FEW, "pay", least=-0.1, seed=1), "least: it is negative"),
        (lambda: swap_ranks(FEW, "pay", window=5, seed=1), "window: it is above 1"),
        (lambda: swap_ranks(frame(2.0, 2.0), "pay", seed=1), "data: variable 'pay' is the same"),
        (lambda: microaggregate(FEW, "pay", size=1), "size: it must be a whole number from 2 up"),
        (lambda: microaggregate(FEW, "pay", size=5), "size: there are 4 records for groups of 5"),
        (lambda: microaggregate(FEW, ["pay", "age"]), "columns: there is no variable 'age'"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("name", BASELINES)
def test_what_settings_name_changes_the_columns_named_and_no_other(name):
    rng = np.random.default_rng(7)
    data = pd.DataFrame({"pay": rng.lognormal(size=90), "debt": rng.lognormal(size=90), "town": list("ABC") * 30})
    changed = BASELINES[name](data, ["pay", "debt"], 5)
    assert changed["town"].equals(data["town"])
    assert all((changed[column] != data[column]).any() for column in ("pay", "debt"))
    pd.testing.assert_frame_equal(changed, BASELINES[name](data, ["pay", "debt"], 5))
