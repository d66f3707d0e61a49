"""Files come back as they were written, and what cannot be read says why without showing a value."""

import datetime
import json
import traceback
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.formats.formats import FORMATS, Format, read_table, released_ending, write_table
from molehill.tables.table import Table
from properties import examples
from written_tables import WORDS, labelled_table, problem_of, written_and_read

# Every format.


@pytest.mark.parametrize("ending", ["parquet", "dta", "sav"])
def test_values_labels_and_order_come_back(tmp_path, ending):
    table = labelled_table()
    back = written_and_read(table, tmp_path / f"t.{ending}")
    pd.testing.assert_frame_equal(back.frame, table.frame)
    assert back.column_labels == table.column_labels
    assert back.value_labels == table.value_labels


def test_sas_transport_files_keep_values_and_column_labels(tmp_path):
    table = labelled_table()
    back = written_and_read(table, tmp_path / "t.xpt")
    pd.testing.assert_frame_equal(back.frame, table.frame)
    assert back.column_labels == table.column_labels
    assert back.value_labels == {}


@pytest.mark.parametrize("ending", ["csv", "parquet", "dta", "sav", "xpt"])
def test_every_pandas_type_can_be_written(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "text": pd.Categorical(["b", None, "a"], categories=["b", "a", "z"]),
            "codes": pd.Categorical([3, None, 1]),
            "truth": [True, False, True],
            "gaps": pd.array([True, None, False], dtype="boolean"),
            "single": np.array([1, 2, 3], dtype="float32"),
            "small": pd.array([1, None, 3], dtype="Int8"),
            "object": pd.Series(["x", None, "y"], dtype=object),
            "never": [np.nan] * 3,
            "nothing": pd.array([None] * 3, dtype="Int64"),
            "arrow": pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        }
    )
    back = written_and_read(frame, tmp_path / f"t.{ending}").frame
    assert back["text"].astype(object).where(back["text"].notna(), None).tolist() == ["b", None, "a"]
    assert back["codes"].isna().tolist() == [False, True, False]
    assert back["codes"].dropna().tolist() == [3, 1]
    assert back["truth"].tolist() == (["True", "False", "True"] if ending == "csv" else [1, 0, 1])
    assert back["gaps"].isna().tolist() == [False, True, False]
    assert back["single"].tolist() == [1, 2, 3]
    assert str(back["small"].dtype) == str(back["arrow"].dtype) == "Int64"
    assert back["object"].dropna().tolist() == ["x", "y"]
    assert back["never"].isna().all()
    assert back["nothing"].isna().all()


@pytest.mark.parametrize("ending", ["parquet", "dta", "sav", "xpt"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_and_dates_come_back(tmp_path, ending, unit):
    moments = pd.to_datetime(pd.Series(["2020-02-29 13:14:15", None, "1931-05-01 00:00:01"]))
    days = pd.to_datetime(pd.Series(["2020-02-29", None, "1931-05-01"]))
    frame = pd.DataFrame({"moment": moments, "day": days}).astype("datetime64[us]")
    given: Any = frame.assign(never=pd.Series([pd.NaT] * 3, dtype="datetime64[us]"))
    back: Any = written_and_read(given.astype(f"datetime64[{unit}]"), tmp_path / f"t.{ending}").frame
    assert back.pop("never").isna().all()
    assert {dtype.kind for dtype in back.dtypes} == {"M"}
    pd.testing.assert_frame_equal(back.astype("datetime64[us]"), frame)


@pytest.mark.parametrize(("ending", "read"), [("dta", pyreadstat.read_dta), ("sav", pyreadstat.read_sav)])
def test_days_are_written_as_dates_and_not_as_moments(tmp_path, ending, read):
    write_table(pd.DataFrame({"day": pd.to_datetime(["2020-02-29", "1931-05-01"])}), tmp_path / f"t.{ending}")
    frame, _ = read(str(tmp_path / f"t.{ending}"))
    assert frame["day"].tolist() == [datetime.date(2020, 2, 29), datetime.date(1931, 5, 1)]


def test_an_existing_file_is_replaced_and_kept_if_writing_fails(tmp_path):
    path = tmp_path / "t.csv"
    write_table(pd.DataFrame({"a": [1]}), path)
    with pytest.raises(InputError, match="'a' has values of several types") as caught:
        write_table(pd.DataFrame({"a": [2, "hidden"]}, dtype=object), path)
    assert "tried to convert" not in "".join(traceback.format_exception(caught.value))
    assert "not Unicode" in problem_of(lambda: write_table(pd.DataFrame({"a": ["\ud800"]}, dtype=object), path))
    assert read_table(path).frame["a"].tolist() == [1]
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


# Files that cannot be read or written.


@pytest.mark.parametrize("call", [read_table, lambda path: write_table(pd.DataFrame({"a": [1]}), path)])
def test_unknown_endings_list_the_known_ones(tmp_path, call):
    known = ".csv, .tsv, .xlsx, .xlsm, .xls, .parquet, .dta, .sav, .sas7bdat, .xpt"
    assert known in problem_of(lambda: call(tmp_path / "t.docx"))


@pytest.mark.parametrize("ending", ["csv", "parquet", "dta", "sav", "sas7bdat", "xpt"])
def test_missing_folders_and_damaged_files_are_refused(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    assert problem_of(lambda: read_table(path)).startswith("path: ")
    path.mkdir()
    assert "cannot be opened" in problem_of(lambda: read_table(path))
    path.rmdir()
    path.write_bytes(b"")
    assert problem_of(lambda: read_table(path)).startswith("path: ")
    if ending != "csv":
        path.write_bytes(b"PAR1 <stata_dta>$FL2 secret" * 50)
        assert "damaged" in problem_of(lambda: read_table(path))


@pytest.mark.parametrize("ending", ["parquet", "dta", "sav", "xpt"])
def test_half_a_file_is_refused(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    write_table(labelled_table(), path)
    path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2])
    assert "damaged" in problem_of(lambda: read_table(path))


def test_sas_files_go_to_their_reader_and_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "T.SAS7BDAT"
    path.write_bytes(b"anything")
    notes = pyreadstat.metadata_container(column_names_to_labels={"a": "label", "b": None})
    seen = []

    def read(name, encoding, dates_as_pandas_datetime=None, metadataonly=False):
        if not metadataonly:
            seen.append((name, encoding, dates_as_pandas_datetime))
        return pd.DataFrame({"a": [1.0, np.nan], "b": ["", "x"]}), notes

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read)
    back = read_table(path, encoding="latin-1")
    assert seen == [(str(path), "latin-1", True)]
    assert str(back.frame["a"].dtype) == "Int64"
    assert back.frame["b"].isna().tolist() == [True, False]
    assert back.column_labels == {"a": "label"}
    assert ".xpt" in problem_of(lambda: write_table(pd.DataFrame({"a": [1]}), path))


# Parquet.


@examples(40)
@given(
    rows=st.lists(st.tuples(WORDS, st.floats(), st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=5),
    labels=st.dictionaries(WORDS.filter(bool) | st.integers(-9, 9) | st.just(0.5), st.text(max_size=5)),
    label=WORDS.filter(bool),
)
def test_any_table_survives_parquet(tmp_path_factory, rows, labels, label):
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    text, numbers, whole = zip(*rows, strict=True)
    frame = pd.DataFrame(
        {
            "text": pd.array(list(text), dtype="str"),
            "category": pd.Categorical(
                list(text), ordered=True, categories=sorted({"unused", *(t for t in text if t is not None)})
            ),
            "numbers": pd.array(list(numbers), dtype="float64"),
            "whole": pd.array(list(whole), dtype="Int64" if None in whole else "int64"),
        }
    )
    table = Table(frame, {"text": label}, {"whole": labels})
    back = written_and_read(table, path)
    # The level that no record has is not written.
    expected = frame.assign(category=frame["category"].cat.remove_unused_categories())
    if not len(expected["category"].cat.categories):
        # Of no level at all nobody can tell that it is text.
        assert back.frame["category"].isna().all()
        expected["category"] = back.frame["category"]
    pd.testing.assert_frame_equal(back.frame, expected, check_exact=True)
    assert back.column_labels == table.column_labels
    assert back.value_labels == table.value_labels
    assert [type(code) for code in back.value_labels["whole"]] == [type(code) for code in labels]


def test_parquet_labels_of_numpy_codes_can_be_written(tmp_path):
    labels: Any = {"a": {np.int64(1): "one", np.float64(0.5): "half"}}
    table = Table(pd.DataFrame({"a": [1]}), {}, labels)
    assert written_and_read(table, tmp_path / "t.parquet").value_labels == {"a": {1: "one", 0.5: "half"}}


def test_parquet_from_pandas_and_polars_is_read(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2]}, index=[5, 6]).to_parquet(path)
    assert read_table(path).frame.columns.tolist() == ["a"]
    pd.DataFrame({"id": [5, 9, 6], "a": [1, 2, 3]}).set_index("id").to_parquet(path)
    assert sorted(read_table(path).frame.columns) == ["a", "id"]
    pl.DataFrame({"a": [1, None], "b": ["x", None], "d": [datetime.date(2020, 1, 2), None]}).write_parquet(path)
    frame = read_table(path).frame
    assert [str(dtype)[:10] for dtype in frame.dtypes] == ["Int64", "str", "datetime64"]


def test_the_folder_of_a_parquet_file_adds_no_column(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert written_and_read(pd.DataFrame({"a": [1]}), folder / "t.parquet").frame.columns.tolist() == ["a"]


def test_parquet_with_broken_labels_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1]}).replace_schema_metadata({"molehill": "{not json"}), path)
    assert "damaged" in problem_of(lambda: read_table(path))
    parquet.write_table(pa.table({"a": [1]}).replace_schema_metadata({"molehill": json.dumps({})}), path)
    assert read_table(path).value_labels == {}


# Stata, SPSS, SAS.


def test_spss_labels_of_text_and_fractions_come_back(tmp_path):
    labels = {"s": {"x" * 12: "long", "y": "short"}, "f": {1.5: "one and a half", 2: "two"}}
    table = Table(pd.DataFrame({"s": ["x" * 12, "y"], "f": [1.5, 2.0]}), {}, labels)
    assert written_and_read(table, tmp_path / "t.sav").value_labels == labels


def test_stata_leaves_out_the_labels_that_it_cannot_have(tmp_path):
    frame = pd.DataFrame({"s": ["x"], "f": [1.5], "d": pd.to_datetime(["2020-01-01"])})
    labels = {"s": {"x": "ex"}, "f": {1.5: "half", 2: "two"}, "d": {1: "one"}, "gone": {1: "one"}}
    assert written_and_read(Table(frame, {}, labels), tmp_path / "t.dta").value_labels == {"f": {2: "two"}}


def test_stata_and_spss_labels_that_are_too_long_are_cut(tmp_path):
    table = Table(pd.DataFrame({"a": [1]}), {"a": "日" * 300}, {"a": {1: "日" * 300}})
    assert written_and_read(table, tmp_path / "t.dta").column_labels == {"a": "日" * 80}
    back = written_and_read(table, tmp_path / "t.sav")
    assert back.column_labels == {"a": "日" * 85}
    assert back.value_labels == {"a": {1: "日" * 40}}


def test_declared_missing_values_arrive_as_missing(tmp_path):
    frame: Any = pd.DataFrame({"a": [1.0, -9.0, 2.0]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "t.sav"),
        missing_ranges={"a": [-9]},
        variable_value_labels={"a": {-9: "refused"}},
    )
    back = read_table(tmp_path / "t.sav")
    assert back.frame["a"].isna().tolist() == [False, True, False]
    assert back.value_labels == {}
    tagged: Any = pd.DataFrame({"a": [1, "a", 2]}, dtype=object)
    labels: Any = {"a": {1: "one", "a": "refused"}}
    pyreadstat.write_dta(
        tagged, str(tmp_path / "t.dta"), missing_user_values={"a": ["a"]}, variable_value_labels=labels
    )
    back = read_table(tmp_path / "t.dta")
    assert back.frame["a"].isna().tolist() == [False, True, False]
    assert str(back.frame["a"].dtype) == "Int64"
    assert back.value_labels == {"a": {1: "one"}}


REASON = "did not answer, in prison"


def test_labels_of_missing_values_do_not_reach_what_is_written(tmp_path):
    # SPSS: a range, a value apart and a text; one within the range has no label, one outside keeps its own.
    frame: Any = pd.DataFrame(
        {"a": [1.0, 2.0, 8.0, 9.0, -1.0], "s": ["x", "y", "R", "x", "y"], "b": [1.0, 9.0, 1, 1, 1]}
    )
    labels: Any = {"a": {1: "yes", 9: REASON, -1: REASON, 10: "ten"}, "s": {"R": REASON, "x": "ex"}, "b": {9: "nine"}}
    declared: Any = {"a": [{"lo": 8, "hi": 9}, -1], "s": ["R"]}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), missing_ranges=declared, variable_value_labels=labels)
    spss = read_table(tmp_path / "t.sav")
    assert spss.frame["a"].isna().tolist() == [False, False, True, True, True]
    assert spss.frame["s"].isna().tolist() == [False, False, True, False, False]
    assert spss.value_labels == {"a": {1: "yes", 10: "ten"}, "s": {"x": "ex"}, "b": {9: "nine"}}
    # Stata: missing values of different letters, beside a plain one.
    tagged: Any = pd.DataFrame({"a": [1, 2, "a", "z", None], "b": [3, 4, 5, 6, 7]}, dtype=object)
    kinds: Any = {"a": {1: "yes", 2: "no", "a": REASON, "z": REASON}}
    pyreadstat.write_dta(
        tagged, str(tmp_path / "t.dta"), missing_user_values={"a": ["a", "z"]}, variable_value_labels=kinds
    )
    stata = read_table(tmp_path / "t.dta")
    assert stata.frame["a"].tolist()[:2] == [1, 2]
    assert stata.frame["a"].isna().tolist() == [False, False, True, True, True]
    assert stata.value_labels == {"a": {1: "yes", 2: "no"}}
    for table in (spss, stata):
        for ending in (".sav", ".dta", ".parquet"):
            write_table(table, tmp_path / f"out{ending}")
            assert REASON.encode() not in (tmp_path / f"out{ending}").read_bytes()


@pytest.mark.parametrize("tag", [b".", b"A", b"Z", b"_"])
def test_every_missing_value_of_sas_is_missing(tmp_path, tag):
    write_table(pd.DataFrame({"a": [1.5, None, 2.5]}), tmp_path / "t.xpt")
    written = (tmp_path / "t.xpt").read_bytes()
    plain = b"." + bytes(7)
    assert written.count(plain) == 1
    (tmp_path / "t.xpt").write_bytes(written.replace(plain, tag + bytes(7)))
    assert read_table(tmp_path / "t.xpt").frame["a"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        ("a.xls", ".xlsx"),
        ("a.XLSM", ".xlsx"),
        ("a.xlsx", ".xlsx"),
        ("a.sas7bdat", ".csv"),
        ("a.tsv", ".tsv"),
        ("a", ".csv"),
    ],
)
def test_a_release_has_the_format_of_its_table_or_the_next_of_kin(path, ending):
    assert released_ending(path) == ending
    assert FORMATS[ending].write is not None


@pytest.mark.parametrize(
    ("ending", "bad", "fine"),
    [
        ("dta", ["a b", "a.b", "1a", "a-b", "x" * 33, "é" * 33, ""], ["_a", "日本", "x" * 32]),
        ("sav", ["a b", "_a", "1a", "a-b", "a.", "x" * 65, "é" * 33], ["a.b", "a$", "日本", "x" * 64]),
        ("xpt", ["a b", "a.b", "1a", "é", "x" * 33], ["_a", "x" * 32]),
    ],
)
def test_names_that_a_format_cannot_have_are_named_with_the_limit(tmp_path, ending, bad, fine):
    for name in bad:
        with pytest.raises(InputError) as caught:
            write_table(pd.DataFrame({"fine": [1], name: [1]}), tmp_path / f"t.{ending}")
        problem = str(caught.value)
        assert f"{name!r}. Rename them: letters" in problem
        assert "at most" in problem
    assert not list(tmp_path.iterdir())
    frame = pd.DataFrame({name: [1] for name in fine})
    assert written_and_read(frame, tmp_path / f"t.{ending}").frame.columns.tolist() == fine


@pytest.mark.parametrize(("ending", "name"), [("dta", "if"), ("sav", "ALL")])
def test_reserved_words_are_refused(tmp_path, ending, name):
    assert f".{ending} cannot" in problem_of(lambda: write_table(pd.DataFrame({name: [1]}), tmp_path / f"t.{ending}"))


@pytest.mark.parametrize("ending", ["sav", "xpt"])
def test_names_that_differ_in_case_only_are_refused(tmp_path, ending):
    frame = pd.DataFrame({"Age": [1], "age": [2]})
    assert "called 'age'" in problem_of(lambda: write_table(frame, tmp_path / f"t.{ending}"))


@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, 2**53 + 1, [1], b"x"])
def test_values_that_packages_cannot_have_are_refused(tmp_path, ending, value):
    frame = pd.DataFrame({"fine": [1], "bad": pd.Series([value])})
    assert "'bad' has" in problem_of(lambda: write_table(frame, tmp_path / f"t.{ending}"))


def test_numbers_too_large_for_sas_are_refused(tmp_path):
    frame = pd.DataFrame({"a": [1e76]})
    assert "'a' has" in problem_of(lambda: write_table(frame, tmp_path / "t.xpt"))
    assert written_and_read(frame, tmp_path / "t.dta").frame["a"].tolist() == [1e76]


@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
def test_whole_numbers_at_the_edge_of_32_bits_survive(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "edge": [2**31 - 1, 0, 1],
            "a": [2**31 - 1, -(2**31), 0],
            "b": pd.array([2**53 - 1, None, 1 - 2**53], dtype="Int64"),
        }
    )
    pd.testing.assert_frame_equal(written_and_read(frame, tmp_path / f"t.{ending}").frame, frame)


@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
def test_times_of_day_come_back(tmp_path, ending):
    frame = pd.DataFrame({"at": [datetime.time(1, 2, 3), datetime.time(23, 0)]})
    assert written_and_read(frame, tmp_path / f"t.{ending}").frame["at"].tolist() == frame["at"].tolist()


def test_the_frame_given_is_left_alone(tmp_path):
    table = labelled_table()
    before = table.frame.copy(deep=True)
    for ending in ("csv", "parquet", "dta", "sav", "xpt"):
        write_table(table, tmp_path / f"t.{ending}")
    pd.testing.assert_frame_equal(table.frame, before)


def test_endings_are_all_tried_here():
    assert list(FORMATS) == [
        ".csv",
        ".tsv",
        ".xlsx",
        ".xlsm",
        ".xls",
        ".parquet",
        ".dta",
        ".sav",
        ".sas7bdat",
        ".xpt",
    ]


def test_a_format_is_added_in_one_place(tmp_path, monkeypatch):
    """Records of one column, a line each; nothing else of the package is touched."""

    def read(path, given):
        name, *lines = path.read_text(given.encoding or "utf-8").splitlines()
        return Table(pd.DataFrame({name: lines}), {name: "read from lines"})

    def write(table, path, *, private):
        if len(table.frame.columns) > 1:
            raise InputError("data", "lines hold one column", "Leave the others out")
        with written_whole(path, private=private) as temporary:
            temporary.write_text("\n".join([*table.frame.columns, *table.frame.iloc[:, 0].astype(str)]))

    monkeypatch.setitem(FORMATS, ".lines", Format(read, write))
    back = written_and_read(pl.DataFrame({"town": ["A", "Å"]}), tmp_path / "T.LINES")
    assert back.frame["town"].tolist() == ["A", "Å"]
    assert back.column_labels == {"town": "read from lines"}
    assert "lines hold one column" in problem_of(lambda: write_table(labelled_table(), tmp_path / "t.lines"))
    assert ".xpt, .lines" in problem_of(lambda: read_table(tmp_path / "t.docx"))
    monkeypatch.setitem(FORMATS, ".lines", Format(read, None, "lines are for reading"))
    assert "path: lines are for reading. Write .csv" in problem_of(lambda: write_table(back, tmp_path / "t.lines"))


@pytest.mark.parametrize("table", [labelled_table(), Table(pd.DataFrame({"a": [1.5, 2.5], "b": ["x", ""]}))])
@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
def test_a_file_does_not_say_when_it_was_written(tmp_path, ending, table):
    path = tmp_path / f"t.{ending}"
    write_table(table, path)
    read = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav, "xpt": pyreadstat.read_xport}[ending]
    frame, about = read(str(path))
    assert len(frame) == len(table.frame)
    assert {about.creation_time.year, about.modification_time.year} == {1980}
    now = datetime.datetime.now()
    assert now.strftime("%d%b%y").upper().encode() not in path.read_bytes()
    assert now.strftime("%d %b %y").encode() not in path.read_bytes()
