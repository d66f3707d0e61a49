"""Datasets in parts: which files, in which order, of which types; and what is refused."""

import stat

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from molehill import InputError, Table, write_table
from molehill.parts.dataset import as_whole, open_dataset, read_batches, write_dataset


def put(folder, name, **columns):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


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
    dataset = open_dataset(tmp_path)
    assert (dataset.records, len(dataset.parts)) == (6, 4)
    assert as_whole(dataset).frame["x"].tolist() == [1, 2, 3, 4, 5, 6]
    assert [len(batch) for batch in read_batches(dataset, ["x"], records=1)] == [1] * 6
    listed = open_dataset([tmp_path / "b.parquet", f"{tmp_path / 'a' / 'z.parquet'}"])
    assert as_whole(listed).frame["x"].tolist() == [5, 6, 1, 2]
    assert open_dataset(listed) is listed
    assert "5" not in repr(listed)


def test_folders_tell_columns(tmp_path):
    put(tmp_path, "region=S%20%2F%20%C3%BC/year=2020/0.parquet", x=[3.0])
    put(tmp_path, "region=North/year=2019/0.parquet", x=[1.0, 2.0])
    put(tmp_path, "region=__HIVE_DEFAULT_PARTITION__/year=2020/0.parquet", x=[4.0])
    frame = as_whole(open_dataset(tmp_path)).frame
    assert frame["region"].tolist()[:3] == ["North", "North", "S / ü"]
    assert frame["region"].isna().tolist() == [False, False, False, True]
    assert frame["year"].tolist() == [2019, 2019, 2020, 2020]
    assert frame.columns.tolist() == ["x", "region", "year"]
    only = pa.concat_tables(read_batches(open_dataset(tmp_path), ["year"], records=1))
    assert only["year"].to_pylist() == [2019, 2019, 2020, 2020]
    # As pyarrow reads it itself, but for the order of the parts.
    assert frame["x"].sum() == parquet.read_table(tmp_path)["x"].to_pandas().sum()


def test_codes_with_zeros_in_the_names_of_folders_stay_text(tmp_path):
    put(tmp_path, "code=007/0.parquet", x=[1])
    put(tmp_path, "code=12/0.parquet", x=[1])
    assert as_whole(open_dataset(tmp_path)).frame["code"].tolist() == ["007", "12"]


def test_types_that_fit_are_joined_and_others_refused(tmp_path):
    coded = pa.array(["a"]).dictionary_encode()
    put(tmp_path, "1.parquet", n=pa.array([1], pa.int32()), t=coded, e=pa.nulls(1))
    put(tmp_path, "2.parquet", n=pa.array([2.5]), t=pa.array(["b"]), e=pa.array(["x"]))
    frame = as_whole(open_dataset(tmp_path)).frame
    assert (frame["n"].tolist(), frame["t"].tolist(), frame["e"].tolist()[1]) == ([1.0, 2.5], ["a", "b"], "x")
    put(tmp_path, "secret=9/3.parquet", n=["text"], t=["b"], e=["x"])
    with pytest.raises(InputError, match="folders that name different columns"):
        open_dataset(tmp_path)
    given = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(InputError, match=r"part 3 \('3.parquet'\) has another type of values in 'n'") as refused:
        open_dataset(given)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"x": [1]}, r"part 2 \('b.parquet'\) has no column 'y'"),
        ({"x": [1], "y": [1], "z": [1]}, r"part 2 \('b.parquet'\) alone has a column 'z'"),
    ],
)
def test_other_columns_are_refused(tmp_path, columns, problem):
    put(tmp_path, "a.parquet", x=[1], y=[1])
    put(tmp_path, "b.parquet", **columns)
    with pytest.raises(InputError, match=problem):
        open_dataset(tmp_path)


def test_a_column_that_is_also_a_folder_is_refused(tmp_path):
    put(tmp_path, "x=1/a.parquet", x=[1])
    with pytest.raises(InputError, match="'x' is a column of part 1"):
        open_dataset(tmp_path)


def test_nothing_half_written_and_nothing_else_is_taken_for_a_dataset(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.parquet file"):
        open_dataset(tmp_path)
    path = put(tmp_path, "a.parquet", x=pa.array([], pa.int64()))
    with pytest.raises(InputError, match="it has no records"):
        open_dataset(tmp_path)
    put(tmp_path, "a.parquet", x=list(range(10_000)))
    whole = path.read_bytes()
    for content in (b"", whole[:-10], b"x,y\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"part 1 \('a.parquet'\) is damaged, only half written, or not Parquet"):
            open_dataset(tmp_path)
    # Good at its end and bad within: found while it is read.
    path.write_bytes(whole[:100] + bytes(len(whole) // 2) + whole[100 + len(whole) // 2 :])
    with pytest.raises(InputError, match=r"part 1 \('a.parquet'\)"):
        as_whole(open_dataset(tmp_path))
    for wrong in ([], 7, [7], tmp_path / "none.parquet", [tmp_path / "people.csv"]):
        with pytest.raises(InputError, match="data: "):
            open_dataset(wrong)
    with pytest.raises(InputError, match=r"there is no (column|variable) 'y'"):
        list(read_batches(open_dataset(put(tmp_path / "good", "a.parquet", x=[1])), ["y"]))


def test_a_part_that_changes_while_it_is_read_is_refused(tmp_path):
    dataset = open_dataset(put(tmp_path, "a.parquet", x=[1, 2]))
    put(tmp_path, "a.parquet", x=[1, 2, 3])
    with pytest.raises(InputError, match="has changed since it was opened"):
        as_whole(dataset)


def test_labels_come_along_and_an_index_without_a_name_does_not(tmp_path):
    table = Table(pd.DataFrame({"job": [1, 2]}), {"job": "Employment"}, {"job": {1: "yes", 2: "no"}})
    write_table(table, tmp_path / "a.parquet")
    whole = as_whole(open_dataset(tmp_path))
    assert (whole.column_labels, whole.value_labels) == (table.column_labels, table.value_labels)
    pd.DataFrame({"x": [1]}, index=["p"]).to_parquet(tmp_path / "a.parquet")
    assert open_dataset(tmp_path).schema.names == ["x"]


def test_a_dataset_is_written_whole_or_not_at_all(tmp_path):
    out = tmp_path / "out"
    write_dataset([pa.table({"x": [1]})], out)

    def breaking():
        yield pa.table({"x": [2]})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(breaking(), out, private=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert as_whole(open_dataset(out)).frame["x"].tolist() == [1]
    write_dataset([pa.table({"x": [3]}), pa.table({"x": pa.array([], pa.int64())})], out, private=True)
    assert [path.name for path in out.iterdir()] == ["part-00000.parquet"]


@pytest.mark.posix
def test_a_private_dataset_is_for_its_owner_only(tmp_path):
    out = tmp_path / "out"
    write_dataset([pa.table({"x": [1]})], out)
    assert stat.S_IMODE((out / "part-00000.parquet").stat().st_mode) & 0o400
    write_dataset([pa.table({"x": [1]})], out, private=True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert stat.S_IMODE((out / "part-00000.parquet").stat().st_mode) == 0o600
