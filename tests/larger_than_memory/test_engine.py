"""Sums and quantiles of pieces are NumPy's of the whole, to the last bit."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.parts.buckets import bucket_of, choose_sizes
from molehill.parts.counts import count_values, median, quantiles, sum_in_order, walk_together
from properties import examples


@pytest.mark.parametrize("number", [1, 7, 8, 129, 1000, 65_536, 65_537, 300_001])
def test_a_sum_in_pieces_is_the_sum(number):
    random = np.random.default_rng(number)
    values = random.lognormal(0, 5, number) * random.choice([-1, 1], number)
    for pieces in (1, 2, 13):
        assert sum_in_order(np.array_split(values, pieces), number) == values.sum()


@examples(25)
@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=40), st.integers(1, 5))
def test_quantiles_of_pieces_are_those_of_the_whole(tmp_path_factory, values, pieces):
    folder, shares = tmp_path_factory.mktemp("counts"), [0.0, 0.1, 0.25, 0.5, 0.99, 1.0]
    finite = np.array(values)[np.isfinite(values)]
    finite = finite if len(finite) else np.zeros(1)
    paths = [folder / f"{number}.npy" for number in range(pieces)]
    for piece, path in zip(np.array_split(finite, pieces), paths, strict=True):
        count_values(piece, path)
    assert quantiles(paths, shares) == np.quantile(finite, shares).tolist()
    assert median(paths) == np.median(finite)
    assert np.isnan(median([]))


@pytest.mark.parametrize("most", [1, 5, 1000])
def test_walking_meets_every_value_once_and_never_many_at_a_time(tmp_path, most):
    random = np.random.default_rng(0)
    sides = [random.integers(-20, 20, 300).astype(float), random.integers(0, 60, 200).astype(float)]
    files = []
    for side, values in enumerate(sides):
        files.append([tmp_path / f"{side}-{piece}.npy" for piece in range(3)])
        for piece, path in zip(np.array_split(values, 3), files[-1], strict=True):
            count_values(piece, path)
    walked = list(walk_together(*files, most=most))
    values = np.concatenate([stretch[0] for stretch in walked])
    assert (np.diff(values) > 0).all()
    for side in (0, 1):
        again = np.repeat(values, np.concatenate([(here, there)[side] for _, here, there in walked]))
        np.testing.assert_array_equal(again, np.sort(sides[side]))
    assert max(len(stretch[0]) for stretch in walked) <= 8 * most


def test_sizes_follow_records_columns_tables_and_memory():
    one = choose_sizes(10_000_000, 4, memory=2**30)
    assert one.buckets * (2**30 // one.record) >= 4 * 10_000_000
    assert choose_sizes(10_000_000, 4, tables=6, memory=2**30).buckets > 5 * one.buckets
    assert choose_sizes(100, 4).buckets == 1
    assert choose_sizes(10**12, 4, memory=1).buckets == 256
    assert choose_sizes(100, 4, buckets=9).buckets == 9


def test_equal_values_are_in_one_bucket_whatever_their_type():
    def of(column, **how):
        return bucket_of(pa.table({"x": column}), ["x"], how.get("breaks", {}), 10**6).tolist()

    assert of(pa.array([1, 0, None])) == of(pa.array([1.0, -0.0, np.nan])) == of(pa.array([1, 0, None], pa.uint8()))
    assert of(pa.array(["a", "b"])) == of(pa.array(["a", "b"]).dictionary_encode()) != of(pa.array(["a", "a"]))
    days = [dt.date(2020, 1, 1), None]
    moments = pa.array([dt.datetime(2020, 1, 1), None], pa.timestamp("ns"))
    assert of(pa.array(days, pa.date32())) == of(moments)
    cut = of(pa.array([1.0, 29.9, 30.0, 99.0, np.nan]), breaks={"x": [30.0]})
    assert cut[0] == cut[1] != cut[2] == cut[3] != cut[4]
