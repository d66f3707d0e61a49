"""What the engine finds of all records: exact sums, NumPy's quantiles, and nothing that its errors would show."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill import InputError
from molehill.larger_than_memory.engine import find_quantiles, open_workspace, sum_exactly
from properties import examples


@pytest.mark.parametrize("number", [1, 7, 1000, 300_001])
def test_sums_are_rounded_once(number):
    random = np.random.default_rng(number)
    values = random.lognormal(0, 5, number) * random.choice([-1, 1], number)
    for order in (values, values[::-1]):
        with duckdb.connect() as connection:
            connection.register("numbers", pa.table({"x": order}))
            assert sum_exactly(connection, "SELECT x FROM numbers") == math.fsum(values)


@examples(25)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=40))
def test_quantiles_are_those_of_numpy(values):
    shares = [0.0, 0.1, 0.25, 0.5, 0.99, 1.0]
    with duckdb.connect() as connection:
        connection.register("numbers", pa.table({"x": pa.array(values, pa.float64())}))
        found = find_quantiles(connection, "SELECT x FROM numbers", shares)
    np.testing.assert_array_equal(found, np.quantile(values, shares) if values else np.full(len(shares), np.nan))


def test_an_error_of_the_engine_quotes_no_value(tmp_path):
    with (
        open_workspace(None, tmp_path) as work,
        pytest.raises(InputError, match="released: the engine could not read or write it") as refused,
        work.engine("released") as connection,
    ):
        connection.execute("SELECT CAST('a secret' AS INTEGER)").fetchall()
    assert "secret" not in f"{refused.value}"
    assert refused.value.__cause__ is None
    assert not list(tmp_path.iterdir())


def test_more_is_spilled_to_disk_than_may_be_held(tmp_path):
    with open_workspace(2**20, tmp_path) as work, work.engine() as connection:
        # 160 MB of numbers, where 128 MiB may be held.
        query = "SELECT random() AS x FROM range(20_000_000) ORDER BY x"
        connection.execute(f"CREATE TEMP TABLE sorted AS {query}")
        assert connection.execute("SELECT count(*) FROM sorted").fetchall() == [(20_000_000,)]
        assert (work.folder / "spilled").is_dir()


def test_memory_and_folder_are_checked(tmp_path):
    for memory, folder, problem in ((0, None, "must be above 0"), (None, tmp_path / "none", "there is no folder")):
        with pytest.raises(InputError, match=problem), open_workspace(memory, folder):
            pass
