"""Huge, hostile and broken files are refused for their true reason, before the memory is full."""

import os
import socket
import traceback
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from molehill.errors import InputError
from molehill.runtime import available_memory
from molehill.tables.formats.formats import FORMATS, read_table, write_table
from molehill.tables.schema import infer_kind
from molehill.tables.table import Table, as_table
from properties import examples
from written_tables import problem_of, written_and_read


def refused(folder, content, name="t.csv"):
    (folder / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(folder / name)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    assert "\x1b" not in str(caught.value)
    return str(caught.value)


# What is no file.


@pytest.mark.posix
def test_pipes_devices_and_sockets_are_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.parquet").mkdir()
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.sav")
        for name in ("pipe.csv", "zero.csv", "socket.sav"):
            assert "a device, a pipe or a socket" in problem_of(lambda name=name: read_table(tmp_path / name))
    assert "it is a folder" in problem_of(lambda: read_table(tmp_path / "folder.parquet"))


def test_paths_that_cannot_be(tmp_path):
    assert r"a\x00b.csv' is not a valid file name" in problem_of(lambda: read_table(tmp_path / "a\0b.csv"))
    assert "cannot be opened" in problem_of(lambda: read_table(tmp_path / ("x" * 5000 + ".csv")))
    problem = problem_of(lambda: read_table(tmp_path / "\x1b[31mred.csv"))
    assert "\x1b" not in problem
    assert problem_of(lambda: write_table(pd.DataFrame({"a": [1]}), "\x1b.red")).count("\x1b") == 0


@pytest.mark.parametrize("ending", FORMATS)
def test_empty_files_have_no_records(tmp_path, ending):
    assert "the file is empty" in refused(tmp_path, b"", f"t{ending}")


# Text that is no table.


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b", "no records"),
        (b"a,b\n", "no records"),
        (b"\n\n\n", "no records"),
        (b"a;b\n1;2\nsecret;2;3\n", "row 3 (the header is row 1)"),
        (b"a,b,a\n1,2,3\n", "several columns are called 'a'"),
        (b"a\x1b[2J,b\n1,2\n", r"have control characters: 'a\x1b[2J'"),
        (b"a\x00,b\n1,2\n", r"have control characters: 'a\x00'"),
        ("a\u202e,b\n1,2\n".encode(), r"have control characters: 'a\u202e'"),
        (b"a,b\n1," + b"7" * 100_000 + b"\n", "'b' has a number of more than 1,000 digits in row 1"),
        (b"a,b\n" + b'1,"' + b"secret " * 2_000_000 + b'"\n', "a record is longer than 4 MB"),
        (b"PAR1 and so on", "it is a Parquet file"),
        (b"\x1f\x8b\x08 and so on", "compressed by gzip"),
        (b"%PDF-1.4", "it is a PDF"),
        (b"\x80\x81\x82\n\x83\n", "bytes that are not utf-8"),
    ],
)
def test_text_that_is_no_table_says_why(tmp_path, content, words):
    assert words in refused(tmp_path, content)


def test_a_zip_called_csv_is_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv", "w") as archive:
        archive.writestr("secret.csv", "a,b\n1,2\n")
    assert "zip archive" in refused(tmp_path, (tmp_path / "t.csv").read_bytes())


def test_numbers_without_end_are_no_numbers(tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f"{number},x\n" for number in range(100, 130)) + "9" * 30 + ",x\n"
    )
    assert "row 31" in problem_of(lambda: infer_kind(read_table(tmp_path / "t.csv"), "a"))
    frame = pd.DataFrame({"a": pd.Series([10**5000, 1], dtype=object)})
    assert problem_of(lambda: infer_kind(as_table(frame), "a")).startswith("data: the variable 'a'")


def test_many_names_twice_are_told_soon(tmp_path):
    problem = refused(
        tmp_path, b",".join(b"c%d" % (number % 4_000) for number in range(8_000)) + b"\n" + b"1," * 7_999 + b"1\n"
    )
    assert "and 3,980 more" in problem


def test_line_breaks_in_names_become_blanks(tmp_path):
    (tmp_path / "t.csv").write_text('"Income\r\n(EUR)","b\t"\n1,2\n')
    assert read_table(tmp_path / "t.csv").frame.columns.tolist() == ["Income (EUR)", "b"]
    (tmp_path / "t.csv").write_text('"a\nb","a b"\n1,2\n')
    assert "called 'a b'" in problem_of(lambda: read_table(tmp_path / "t.csv"))
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a\nb": [1]}), path)
    assert read_table(path).frame.columns.tolist() == ["a b"]


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\x07", "a\x9b", "a\u2066"])
def test_names_with_control_characters_are_refused_everywhere(tmp_path, name):
    problem = problem_of(lambda: as_table(pd.DataFrame({name: [1]}, dtype=object)))
    assert "control characters" in problem
    assert name not in problem
    parquet.write_table(pa.table({name: [1]}), tmp_path / "t.parquet")
    assert "control characters" in problem_of(lambda: read_table(tmp_path / "t.parquet"))


# More than the memory.


def test_the_memory_of_the_machine_is_known():
    free = available_memory()
    assert free is not None
    assert 2**20 < free < 2**50


def test_a_small_parquet_of_very_many_records_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    part = pa.table({"a": pa.repeat(pa.scalar(1, pa.int8()), 1_000_000), "b": pa.nulls(1_000_000, pa.string())})
    with parquet.ParquetWriter(path, part.schema) as writer:
        for _ in range(100):
            writer.write_table(part)
    assert path.stat().st_size < 3_000_000
    monkeypatch.setattr("molehill.tables.table.available_memory", lambda: 20 * 10**9)
    monkeypatch.setattr(parquet, "read_table", lambda *_: pytest.fail("it was read"))
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("path: it has 100,000,000 records of 2 columns, which need about ")
    assert "GB of memory, and 20.0 GB are free" in problem


@pytest.mark.parametrize("ending", [ending for ending in FORMATS if FORMATS[ending].write])
def test_every_format_minds_the_memory(tmp_path, monkeypatch, ending):
    path = tmp_path / f"t{ending}"
    write_table(pd.DataFrame({"a": np.arange(5000), "b": "some text"}), path)
    assert len(read_table(path).frame) == 5000
    monkeypatch.setattr("molehill.tables.table.available_memory", lambda: 20_000)
    assert "GB of memory" in problem_of(lambda: read_table(path))
    monkeypatch.setattr("molehill.tables.table.available_memory", lambda: None)
    assert len(read_table(path).frame) == 5000


# Formulas.

STARTS = "=+-@\t\r\n'＝＋－＠"  # noqa: RUF001
FORMULAS = st.tuples(st.text("'", max_size=2), st.sampled_from(STARTS), st.text(max_size=6)).map("".join)
CELLS = st.none() | FORMULAS | st.text(max_size=6) | st.sampled_from(["1,5", "-1,5", "1.234", "'1,5", "-", "=1+1", "'"])
CELLS = CELLS.filter(
    lambda text: text is None or text.isprintable() or not any("\ud800" <= c <= "\udfff" for c in text)
)


FEW_CELLS, ENDINGS = st.lists(CELLS, min_size=1, max_size=6), st.sampled_from(["csv", "tsv"])


@examples(60)
@given(cells=FEW_CELLS, ending=ENDINGS)
def test_text_like_formulas_is_inert_and_comes_back(tmp_path_factory, cells, ending):
    check_inert(tmp_path_factory.getbasetemp() / f"formulas.{ending}", cells, ending)


def check_inert(path, cells, ending):
    frame = pd.DataFrame({"t": pd.array(cells, dtype="str"), "level": pd.Categorical(cells), "n": -1.5})
    back = written_and_read(frame, path).frame
    if frame["t"].notna().any():
        pd.testing.assert_series_equal(back["t"], frame["t"])
        assert back["level"].tolist() == frame["t"].tolist() or frame["t"].isna().any()
    assert back["n"].tolist() == frame["n"].tolist()
    # Every cell as another program would read it: none of the text begins with what a spreadsheet runs.
    plain = pd.read_csv(
        path, sep="\t" if ending == "tsv" else ",", dtype=str, keep_default_na=False, lineterminator="\n"
    )
    assert not plain["t"].str.match(r"[=+\-@\t\r\n＝＋－＠]").any()  # noqa: RUF001
    assert set(plain["n"]) == {"-1.5"}


def test_names_like_formulas_are_inert_and_come_back(tmp_path):
    frame = pd.DataFrame({"=cmd()": [1], "-x": [2], "'=y": [3], "@": [4]})
    back = written_and_read(frame, tmp_path / "t.csv")
    assert back.frame.columns.tolist() == list(frame.columns)
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == '"\'=cmd()","\'-x","\'\'=y","\'@"'


# What a table shows without being asked.


def test_a_table_shows_its_shape_and_names_only():
    table = Table(
        pd.DataFrame({"name": ["secret"] * 3, "b": [987654] * 3}), {"name": "label"}, {"b": {987654: "secret"}}
    )
    for shown in (repr(table), str(table), f"{table}", f"{[table]}"):
        assert "Table(3 records; 2 columns: 'name', 'b')" in shown
        assert "secret" not in shown
        assert "987654" not in shown
    many = repr(Table(pd.DataFrame({f"c{number}": [1] for number in range(30)})))
    assert many.startswith("Table(1 record; 30 columns: 'c0'")
    assert many.endswith("and 10 more)")


@pytest.mark.parametrize("ending", [ending for ending in FORMATS if FORMATS[ending].write])
def test_levels_that_no_record_has_are_not_written(tmp_path, ending):
    levels = ["zeta", "alpha", "secret", "beta"]
    frame = pd.DataFrame(
        {
            "level": pd.Categorical(["zeta", "alpha", "beta"], categories=levels),
            "ordered": pd.Categorical(["zeta", "alpha", "beta"], categories=levels, ordered=True),
            "codes": pd.Categorical([3, 1, 2], categories=[3, 9, 1, 2]),
        }
    )
    path = tmp_path / f"t{ending}"
    write_table(frame, path)
    assert b"secret" not in path.read_bytes()
    back = read_table(path).frame
    assert back["level"].astype(object).tolist() == ["zeta", "alpha", "beta"]
    assert frame["level"].cat.categories.tolist() == levels
    if ending == ".parquet":
        assert back["level"].cat.categories.tolist() == ["alpha", "beta", "zeta"]
        assert back["ordered"].cat.categories.tolist() == ["zeta", "alpha", "beta"]
        stored = parquet.read_table(path)["level"].chunk(0).dictionary.to_pylist()
        assert stored == ["alpha", "beta", "zeta"]


def test_levels_of_other_programs_lose_their_order_of_appearance(tmp_path):
    arrow = pa.table({"c": pa.array(["z", "a", "z"]).dictionary_encode()})
    write_table(arrow, tmp_path / "t.parquet")
    assert parquet.read_table(tmp_path / "t.parquet")["c"].chunk(0).dictionary.to_pylist() == ["a", "z"]


WIDE = [f"c{number}" for number in range(10_001)]


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_more_columns_than_anybody_decides_on_are_refused_before_they_are_read(tmp_path, monkeypatch, kind):
    def refuse(*_, **__):
        raise AssertionError("the values were read")

    frame = pd.DataFrame(np.ones((2, len(WIDE))), columns=WIDE)
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text(",".join(WIDE) + "\n" + ",".join("1" * len(WIDE)) + "\n", encoding="utf-8")
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pandas(frame), path)
    monkeypatch.setattr("molehill.tables.formats.csv.csv.open_csv", refuse)
    monkeypatch.setattr("molehill.tables.formats.parquet.parquet.read_table", refuse)
    problem = problem_of(lambda: as_table(frame) if kind == "frame" else read_table(path))
    assert problem.startswith(f"{'data' if kind == 'frame' else 'path'}: it has 10,001 columns, more than 10,000")
