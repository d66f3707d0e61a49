"""Files come back as they were written, and what cannot be read says why without showing a value."""

import datetime
import json
import traceback
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from molehill.errors import InputError
from molehill.tables import formats as table_module
from molehill.tables.formats import read_table, write_table
from molehill.tables.table import Table, as_table

NASTY = [
    "007",
    "NA",
    "",
    "1.5",
    '=cmd|" /C calc"!A0',
    "<b>Größe</b>, 日本\n'\"",
    None,
    "nan",
    " 1 ",
    "inf",
    "0x1F",
]


def labelled_table():
    frame = pd.DataFrame(
        {
            "zone": ["Å", "日本\n語", None, '=1+"2"'],
            "status": pd.array([1, 2, None, 2], dtype="Int64"),
            "age": np.array([31, 54, 31, 2**40]),
            "income": [0.1 + 0.2, np.nan, -1e30, 7.0],
        }
    )
    return Table(
        frame,
        column_labels={"zone": 'Région <b>"x"</b>', "age": "年齢"},
        value_labels={"status": {1: "=employed", 2: "sans\nemploi"}},
    )


def written_and_read(data, path):
    write_table(data, path)
    return read_table(path)


def problem_of(call):
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


def written_text(folder, text, encoding="utf-8"):
    path = folder / "given.csv"
    path.write_bytes(text.encode(encoding))
    return path


# What counts as a table.


def test_frames_of_pandas_polars_and_arrow_are_tables():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    for data in (
        frame,
        pl.DataFrame({"a": [1, 2], "b": ["x", None]}),
        pa.table({"a": [1, 2], "b": ["x", None]}),
    ):
        pd.testing.assert_frame_equal(as_table(data).frame, frame)


def test_a_table_is_taken_as_it_is():
    table = labelled_table()
    assert as_table(table) is table


def test_polars_whole_numbers_and_truth_with_gaps_keep_their_type():
    data = pl.DataFrame({"n": [1, None], "t": [True, None], "c": pl.Series(["x", None], dtype=pl.Categorical)})
    assert as_table(data).frame.dtypes.astype(str).tolist() == ["Int64", "boolean", "category"]


def test_an_index_is_left_behind():
    frame = pd.DataFrame({"a": [1, 2, 3]}).iloc[[2, 0]]
    assert as_table(frame).frame.index.tolist() == [0, 1]
    assert as_table(frame).frame["a"].tolist() == [3, 1]


@pytest.mark.parametrize("data", [None, [1, 2], {"a": [1]}, np.zeros((2, 2)), pd.Series([1]), pl.LazyFrame({"a": [1]})])
def test_what_is_not_a_table_is_told_what_is(data):
    assert "Give a Table, or a frame of pandas, Polars or Arrow" in problem_of(lambda: as_table(data))


def test_a_path_is_told_to_be_read_first():
    problem = problem_of(lambda: as_table("people.csv", argument="released"))
    assert problem.startswith("released: ")
    assert "read_table('people.csv')" in problem


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame([[1, 2, 3]], columns=["b", "a", "b"]), "called 'b'"),
        (pd.DataFrame([[1, 2]]), "not text"),
        (pd.DataFrame(index=[0, 1]), "no columns"),
        (pd.DataFrame({"a": []}), "no records"),
    ],
)
def test_frames_that_cannot_be_used_are_refused(frame, words):
    assert words in problem_of(lambda: as_table(frame))
    assert words in problem_of(lambda: as_table(Table(frame)))


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


def test_csv_keeps_values_and_order(tmp_path):
    table = labelled_table()
    back = written_and_read(table, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(back.frame, table.frame)


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
    with pytest.raises(InputError, match="'a' mixes kinds") as caught:
        write_table(pd.DataFrame({"a": [2, "hidden"]}, dtype=object), path)
    assert "tried to convert" not in "".join(traceback.format_exception(caught.value))
    assert "not Unicode" in problem_of(lambda: write_table(pd.DataFrame({"a": ["\ud800"]}, dtype=object), path))
    assert read_table(path).frame["a"].tolist() == [1]
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


# Files that cannot be read or written.


@pytest.mark.parametrize("call", [read_table, lambda path: write_table(pd.DataFrame({"a": [1]}), path)])
def test_unknown_endings_list_the_known_ones(tmp_path, call):
    assert ".csv, .parquet, .dta, .sav, .sas7bdat, .xpt" in problem_of(lambda: call(tmp_path / "t.xlsx"))


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

    def read(name, encoding, dates_as_pandas_datetime):
        seen.append((name, encoding, dates_as_pandas_datetime))
        return pd.DataFrame({"a": [1.0, np.nan], "b": ["", "x"]}), notes

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read)
    back = read_table(path, encoding="latin-1")
    assert seen == [(str(path), "latin-1", True)]
    assert str(back.frame["a"].dtype) == "Int64"
    assert back.frame["b"].isna().tolist() == [True, False]
    assert back.column_labels == {"a": "label"}
    assert ".xpt" in problem_of(lambda: write_table(pd.DataFrame({"a": [1]}), path))


def test_unknown_encodings_are_refused(tmp_path):
    path = written_text(tmp_path, "a\n1\n")
    assert problem_of(lambda: read_table(path, encoding="klingon")).startswith("encoding: 'klingon'")


# CSV.


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["1", "-2"], "int64", [1, -2]),
        (["9223372036854775807", "1"], "int64", [2**63 - 1, 1]),
        (["1", ""], "Int64", [1, None]),
        (["1", " 2"], "int64", [1, 2]),
        (["1", "2.5"], "float64", [1.0, 2.5]),
        (["1.0", "2"], "float64", [1.0, 2.0]),
        (["1e3", "inf"], "float64", [1000.0, np.inf]),
        (["0.5", "-0.25"], "float64", [0.5, -0.25]),
        (["0", "10"], "int64", [0, 10]),
        (["007", "12"], "str", ["007", "12"]),
        (["-01", "2"], "str", ["-01", "2"]),
        (["0x1F", "2"], "str", ["0x1F", "2"]),
        (["12345678901234567890", "2"], "str", ["12345678901234567890", "2"]),
        (["1", "x"], "str", ["1", "x"]),
        (["NA", "x"], "str", [None, "x"]),
        (['"NA"', "x"], "str", ["NA", "x"]),
        (['""', "x"], "str", ["", "x"]),
        (['"12"', '"13"'], "str", ["12", "13"]),
        (["NaN", "."], "float64", [None, None]),
        (["nan", "NULL", "null", "NA", "", ".", "3"], "Int64", [None] * 6 + [3]),
    ],
)
def test_csv_columns_are_numbers_only_if_they_are(tmp_path, cells, dtype, values):
    path = written_text(tmp_path, "a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    column = read_table(path).frame["a"]
    assert str(column.dtype) == dtype
    assert column.astype(object).where(column.notna(), None).tolist() == values


def test_a_file_that_quotes_everything_has_numbers_all_the_same(tmp_path):
    path = written_text(tmp_path, '"a","b","c"\n"1","x","0.5"\n"","","7"\n')
    frame = read_table(path).frame
    assert frame.dtypes.astype(str).tolist() == ["Int64", "str", "float64"]
    assert frame["b"].tolist() == ["x", ""]


def test_quotes_are_judged_by_the_first_value_that_is_there(tmp_path):
    path = written_text(tmp_path, '\n"a\nb",c,d\n,1,"x,\n"\n"5",2,"3"\n')
    frame = read_table(path).frame
    assert frame.columns.tolist() == ["a\nb", "c", "d"]
    assert frame["a\nb"].dropna().tolist() == ["5"]
    assert frame["d"].tolist() == ["x,\n", "3"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_byte_order_marks_and_empty_lines(tmp_path, newline):
    path = written_text(tmp_path, "\ufeff" + newline.join(["a,b", "1,é", "", '2,"x', 'y"', ""]))
    frame = read_table(path).frame
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == ["é", f"x{newline}y"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_encodings_must_be_given_if_not_utf_8(tmp_path, encoding):
    path = written_text(tmp_path, "a,b\n1,é\n", encoding)
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("encoding: ")
    assert encoding in problem
    assert read_table(path, encoding=encoding).frame["b"].tolist() == ["é"]


def test_encodings_are_checked_in_the_header_and_beyond_the_first_page(tmp_path):
    path = tmp_path / "t.csv"
    for content in ("é,b\n1,2\n".encode("latin-1"), b"a,b\n" + b"1,x\n" * 2_000_000 + b"1,\xe9\n"):
        path.write_bytes(content)
        assert problem_of(lambda: read_table(path)).startswith("encoding: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no records"),
        ("\n\n", "no records"),
        ("a,b\n", "no records"),
        ("a,b,a\n1,2,3\n", "called 'a'"),
        ("a,b\n1,2\nsecret,2,3\n", "row 3 (the header is row 1)"),
        ("a,b\nsecret\n", "row 2 "),
        ('a,b\n1,"secret\n2,3\n4,5\n', "never closed"),
    ],
)
def test_csv_files_that_do_not_fit_say_where_and_show_nothing(tmp_path, text, words):
    path = written_text(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_table(path)
    assert words in str(caught.value)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_csv_text_is_told_from_numbers_and_missing_values(tmp_path):
    frame = pd.DataFrame({"n": range(len(NASTY)), "nasty": pd.array(NASTY, dtype="str")})
    back = written_and_read(frame, tmp_path / "t.csv").frame
    pd.testing.assert_frame_equal(back, frame)
    for text in NASTY:
        frame = pd.DataFrame({"n": [1.5, 2.0], "nasty": pd.array([text, text], dtype="str")})
        back = written_and_read(frame, tmp_path / "t.csv").frame
        pd.testing.assert_frame_equal(back, frame, check_dtype=text is not None)


def test_a_missing_value_shows_that_quotes_mean_something(tmp_path):
    frame = pd.DataFrame({"a": ["1", None], "b": ["2", "3"]})
    pd.testing.assert_frame_equal(written_and_read(frame, tmp_path / "t.csv").frame, frame)


def test_csv_of_one_column_keeps_missing_records(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3, None], dtype="Int64")})
    pd.testing.assert_frame_equal(written_and_read(frame, tmp_path / "t.csv").frame, frame)


def test_csv_of_decimals_and_dates_can_be_read_again(tmp_path):
    frame = pd.DataFrame({"d": [Decimal("1.50"), Decimal(2)], "at": pd.to_datetime(["2020-01-02", "1931-05-01"])})
    back = written_and_read(frame, tmp_path / "t.csv").frame
    assert back["d"].tolist() == [1.5, 2.0]
    assert back["at"].str[:10].tolist() == ["2020-01-02", "1931-05-01"]


@pytest.mark.parametrize("value", [["x", "y"], {"x": 1}, b"x"])
def test_csv_cannot_hold_lists(tmp_path, value):
    frame = pd.DataFrame({"l": [value, None]})
    assert "'l' holds" in problem_of(lambda: write_table(frame, tmp_path / "t.csv"))


def test_csv_is_plain_to_read(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "sex": ["f", None], "code": ["01", "x,y"], "pay": [2.0, np.nan]})
    write_table(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'id,sex,code,pay\n1,f,"01",2.0\n2,,"x,y",\n'


words = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), max_size=6))
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), words, words), min_size=1, max_size=5),
    header=st.lists(names, min_size=4, max_size=4, unique=True),
)
def test_any_table_survives_csv(tmp_path_factory, rows, header):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    columns = list(zip(*rows, strict=True))
    types: list[Any] = ["int64", "float64", "str", "str"]
    frame = pd.DataFrame({name: pd.array(list(c), dtype=t) for name, c, t in zip(header, columns, types, strict=True)})
    back = written_and_read(frame, path).frame
    for name in header:
        if frame[name].notna().any():
            pd.testing.assert_series_equal(back[name], frame[name], check_exact=True)
        assert back[name].isna().tolist() == frame[name].isna().tolist()


# Parquet.


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(words, st.floats(), st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=5),
    labels=st.dictionaries(words.filter(bool) | st.integers(-9, 9) | st.just(0.5), st.text(max_size=5)),
    label=words.filter(bool),
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
    pd.testing.assert_frame_equal(back.frame, frame, check_exact=True)
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
    assert back.value_labels == {"a": {-9: "refused"}}
    tagged: Any = pd.DataFrame({"a": [1, "a", 2]}, dtype=object)
    labels: Any = {"a": {1: "one", "a": "refused"}}
    pyreadstat.write_dta(
        tagged, str(tmp_path / "t.dta"), missing_user_values={"a": ["a"]}, variable_value_labels=labels
    )
    back = read_table(tmp_path / "t.dta")
    assert back.frame["a"].isna().tolist() == [False, True, False]
    assert str(back.frame["a"].dtype) == "Int64"
    assert back.value_labels == {"a": {1: "one"}}


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
        assert f"called {name!r}. Rename them: letters" in problem
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


def test_long_tables_are_written_in_parts(tmp_path):
    frame = pd.DataFrame({"a": np.arange(250_001), "b": np.arange(250_001) / 3})
    pd.testing.assert_frame_equal(written_and_read(frame, tmp_path / "t.csv").frame, frame, check_exact=True)


def test_endings_are_all_tried_here():
    assert table_module._ENDINGS == (".csv", ".parquet", ".dta", ".sav", ".sas7bdat", ".xpt")
