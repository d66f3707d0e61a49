"""Folders of Parquet files: which files, in which order, of which types; and what is refused."""

import stat

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from molehill import InputError, Intruder, Table, write_table
from molehill.larger_than_memory.files import ParquetFiles, open_files, write_files
from molehill.larger_than_memory.risk import measure_confidential


def put(folder, name, **columns):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def read(files: ParquetFiles) -> pd.DataFrame:
    """All records, as the engine reads them."""
    with duckdb.connect() as connection:
        cells = connection.sql(files.select(files.schema.names)).to_arrow_table()
    assert cells["position"].to_pylist() == list(range(files.records))
    return cells.drop_columns("position").rename_columns(files.schema.names).to_pandas()


def test_the_order_is_that_of_the_paths_and_of_their_rows(tmp_path):
    put(tmp_path, "b.parquet", x=[5, 6])
    put(tmp_path, "a/z.parquet", x=[1, 2])
    put(tmp_path, "a/é.parquet", x=[3, 4])
    put(tmp_path, "empty.parquet", x=pa.array([], pa.int64()))
    for hidden in (
        "_SUCCESS",
        ".x.parquet.crc",
        "note.txt",
        "_tmp/0.parquet",
        ".hidden/0.parquet",
        "_meta.parquet",
    ):
        (tmp_path / hidden).parent.mkdir(exist_ok=True)
        (tmp_path / hidden).write_bytes(b"not Parquet")
    files = open_files(tmp_path)
    assert (files.records, len(files.paths)) == (6, 4)
    assert read(files)["x"].tolist() == [1, 2, 3, 4, 5, 6]
    listed = open_files([tmp_path / "b.parquet", f"{tmp_path / 'a' / 'z.parquet'}"])
    assert read(listed)["x"].tolist() == [5, 6, 1, 2]
    assert open_files(listed) is listed
    assert "5" not in repr(listed)


def test_folders_tell_columns(tmp_path):
    put(tmp_path, "region=S%20%2F%20%C3%BC/year=2020/0.parquet", x=[3.0])
    put(tmp_path, "region=North/year=2019/0.parquet", x=[1.0, 2.0])
    put(tmp_path, "region=__HIVE_DEFAULT_PARTITION__/year=2020/0.parquet", x=[4.0])
    frame = read(open_files(tmp_path))
    assert frame["region"].tolist()[:3] == ["North", "North", "S / ü"]
    assert frame["region"].isna().tolist() == [False, False, False, True]
    assert frame["year"].tolist() == ["2019", "2019", "2020", "2020"]
    assert frame.columns.tolist() == ["x", "region", "year"]
    # A folder above says nothing, unless the file has the column as well: which of the two is meant?
    assert open_files(tmp_path / "region=North").schema.names == ["x", "year"]
    assert read(open_files(tmp_path / "region=North" / "year=2019"))["x"].tolist() == [1.0, 2.0]


def test_codes_with_zeros_in_the_names_of_folders_stay_text(tmp_path):
    put(tmp_path, "code=007/0.parquet", x=[1])
    put(tmp_path, "code=12/0.parquet", x=[1])
    assert read(open_files(tmp_path))["code"].tolist() == ["007", "12"]


def test_folders_and_columns_may_have_any_name(tmp_path):
    names = ["it's", 'a "name"', "position", "c0", "select", "a b", "chunk", "ü"]
    folder = tmp_path / "d[1] * it's ?"
    put(folder, "x.parquet", **{name: [number] for number, name in enumerate(names)})
    files = open_files(folder)
    assert read(files).iloc[0].tolist() == list(range(len(names)))
    with pytest.raises(InputError, match="several columns are called 'x'"):
        open_files(put(tmp_path, "two.parquet", x=[1], X=[2]))


def test_what_is_no_number_is_missing_whatever_the_file_says_of_itself(tmp_path):
    # Arrow writes 0 as the smallest and the largest of these, which DuckDB would believe.
    put(tmp_path, "a.parquet", x=np.array([0.0, np.nan, 0.0]))
    put(tmp_path, "b.parquet", x=np.array([np.nan, np.nan, 7.0]))
    assert read(open_files(tmp_path))["x"].isna().tolist() == [False, True, False, True, True, False]
    with pytest.raises(InputError, match="3 records have a missing sensitive value, the first in row 2"):
        measure_confidential(tmp_path, Intruder([], "x", radius=0.1))


def test_types_that_fit_are_joined_and_others_refused(tmp_path):
    coded = pa.array(["a"]).dictionary_encode()
    put(tmp_path, "1.parquet", n=pa.array([1], pa.int32()), t=coded, e=pa.nulls(1))
    put(tmp_path, "2.parquet", n=pa.array([2.5]), t=pa.array(["b"]), e=pa.array(["x"]))
    frame = read(open_files(tmp_path))
    assert (frame["n"].tolist(), frame["t"].tolist(), frame["e"].tolist()[1]) == ([1.0, 2.5], ["a", "b"], "x")
    put(tmp_path, "secret=9/3.parquet", n=["text"], t=["b"], e=["x"])
    with pytest.raises(InputError, match=r"file 3 \('3.parquet'\) alone has a column 'secret'"):
        open_files(tmp_path)
    given = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(InputError, match=r"file 3 \('3.parquet'\) has another type of values in a column") as refused:
        open_files(given)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"x": [1]}, r"file 2 \('b.parquet'\) has no column 'y'"),
        ({"x": [1], "y": [1], "z": [1]}, r"file 2 \('b.parquet'\) alone has a column 'z'"),
    ],
)
def test_other_columns_are_refused(tmp_path, columns, problem):
    put(tmp_path, "a.parquet", x=[1], y=[1])
    put(tmp_path, "b.parquet", **columns)
    with pytest.raises(InputError, match=problem):
        open_files(tmp_path)


def test_a_column_that_is_also_a_folder_is_refused(tmp_path):
    put(tmp_path, "x=1/a.parquet", x=[1])
    with pytest.raises(InputError, match="several columns are called 'x'"):
        open_files(tmp_path)


def test_nothing_half_written_and_nothing_else_is_taken_for_a_dataset(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        open_files(tmp_path)
    path = put(tmp_path, "a.parquet", x=pa.array([], pa.int64()))
    with pytest.raises(InputError, match="it has no records"):
        open_files(tmp_path)
    put(tmp_path, "a.parquet", x=list(range(10_000)))
    whole = path.read_bytes()
    for content in (b"", whole[:-10], b"x,y\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"file 1 \('a.parquet'\) is damaged, only half written, or not Parquet"):
            open_files(tmp_path)
    # Good at its end and bad within: found while it is read.
    path.write_bytes(whole[:100] + bytes(len(whole) // 2) + whole[100 + len(whole) // 2 :])
    eyes = Intruder([], "x", radius=0.1)
    with pytest.raises(InputError, match="data: the engine could not read or write it"):
        measure_confidential(tmp_path, eyes)
    for wrong in ([], 7, [7], tmp_path / "none.parquet", [tmp_path / "people.csv"]):
        with pytest.raises(InputError, match="data: "):
            open_files(wrong)


def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path):
    files = open_files(put(tmp_path, "a.parquet", x=[1, 2]))
    put(tmp_path, "a.parquet", x=[1, 2, 3])
    with pytest.raises(InputError, match="has changed since it was opened"):
        measure_confidential(files, Intruder([], "x", radius=0.1))


def test_labels_come_along_and_an_index_without_a_name_does_not(tmp_path):
    table = Table(pd.DataFrame({"job": [1, 2]}), {"job": "Employment"}, {"job": {1: "yes", 2: "no"}})
    write_table(table, tmp_path / "a.parquet")
    assert open_files(tmp_path).value_labels == table.value_labels
    pd.DataFrame({"x": [1]}, index=["p"]).to_parquet(tmp_path / "a.parquet")
    assert open_files(tmp_path).schema.names == ["x"]


def test_a_dataset_is_written_whole_or_not_at_all(tmp_path):
    out = tmp_path / "out"
    write_files([pa.table({"x": [1]})], out)

    def breaking():
        yield pa.table({"x": [2]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files(breaking(), out, private=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert read(open_files(out))["x"].tolist() == [1]


@pytest.mark.posix
def test_a_private_dataset_is_for_its_owner_only(tmp_path):
    out = tmp_path / "out"
    write_files([pa.table({"x": [1]})], out)
    assert stat.S_IMODE((out / "part-00000.parquet").stat().st_mode) & 0o400
    write_files([pa.table({"x": [1]})], out, private=True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert stat.S_IMODE((out / "part-00000.parquet").stat().st_mode) == 0o600
