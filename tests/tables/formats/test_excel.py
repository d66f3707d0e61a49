"""Excel: one sheet is one table, text stays text, dates stay dates, and no formula runs."""

import datetime
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st

from molehill.tables.formats.formats import read_table, write_table
from molehill.tables.table import Table
from properties import examples
from written_tables import problem_of, written_and_read


def workbook(path, sheets):
    with xlsxwriter.Workbook(path, {"default_date_format": "dd.mm.yyyy"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for place, cell in enumerate(row):
                    (sheet.write_string if isinstance(cell, str) else sheet.write)(number, place, cell)
    return path


def test_values_come_back(tmp_path):
    frame = pd.DataFrame(
        {
            "text": ["007", "=1+1", None],
            "whole": pd.array([1, None, -3], dtype="Int64"),
            "part": [0.25, np.nan, -1e30],
            "day": pd.to_datetime(["1980-12-31", "NaT", "2020-02-29"]).astype("datetime64[us]"),
            "moment": pd.to_datetime(["1980-12-31 13:14:15", "NaT", "2020-02-29 00:00:00"]).astype("datetime64[us]"),
            "truth": [True, False, True],
            "gaps": pd.array([True, None, False], dtype="boolean"),
            "level": pd.Categorical(["b", "a", None]),
        }
    )
    back = written_and_read(frame, tmp_path / "t.xlsx")
    pd.testing.assert_frame_equal(back.frame, frame.assign(level=pd.array(["b", "a", None], dtype="str")))
    assert back.dialect is None


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("one.xlsx", "two.xlsx"):
        write_table(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), tmp_path / name)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()


def test_several_sheets_need_a_name(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"people": [["a"], [1]], "empty": [], "notes": [["b"], ["x"]]})
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("sheet: ")
    assert "'people', 'notes'" in problem
    assert read_table(path, sheet="notes").frame["b"].tolist() == ["x"]
    assert "'people', 'empty', 'notes'" in problem_of(lambda: read_table(path, sheet="people "))
    assert "no records" in problem_of(lambda: read_table(path, sheet="empty"))
    alone = workbook(tmp_path / "one.xlsx", {"empty": [], "people": [["a"], [1]]})
    assert read_table(alone).frame["a"].tolist() == [1]
    assert problem_of(lambda: read_table(alone, separator=";")).startswith("separator: a .xlsx file has none")


def test_cells_are_what_they_are(tmp_path):
    day = datetime.date(1980, 12, 31)
    rows: Any = [
        ["Pay\n(EUR)", "code", "born", "mixed", "years", 2020, "late", "blank"],
        [1200.0, "01", day, 5, 3.5, 1, "31.12.1980", ""],
        [],
        [" ", "02", day, "n/a", 4, 2, "1.2.1981", "  "],
    ]
    frame = read_table(workbook(tmp_path / "t.xlsx", {"S": rows})).frame
    assert frame.columns.tolist() == ["Pay (EUR)", "code", "born", "mixed", "years", "2020", "late", "blank"]
    assert [str(dtype)[:10] for dtype in frame.dtypes] == [
        "Int64",
        "str",
        "datetime64",
        "str",
        "float64",
        "int64",
        "datetime64",
        "float64",
    ]
    assert frame["mixed"].tolist() == ["5", "n/a"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "no records"),
        ([["a", "b"]], "no records"),
        ([["a", "a"], [1, 2]], "several columns are called 'a'"),
        ([["Table 1", ""], ["a", "b"], [1, 2]], "without a name in the first row have values: number 2"),
        ([["a\x1b[31m", "b"], [1, 2]], r"'a\x1b[31m'"),
    ],
)
def test_sheets_that_are_no_tables_say_why(tmp_path, rows, words):
    assert words in problem_of(lambda: read_table(workbook(tmp_path / "t.xlsx", {"S": rows})))


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04 and so on", b"<html><table></table></html>"])
@pytest.mark.parametrize("ending", ["xlsx", "xls", "xlsm"])
def test_other_files_are_refused(tmp_path, content, ending):
    (tmp_path / f"t.{ending}").write_bytes(content)
    assert "damaged, or no Excel workbook" in problem_of(lambda: read_table(tmp_path / f"t.{ending}"))


def test_half_a_workbook_and_an_encrypted_one_are_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"S": [["a"], ["secret"]]})
    path.write_bytes(path.read_bytes()[:1500])
    assert "damaged" in problem_of(lambda: read_table(path))
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 2000)
    assert "encrypted" in problem_of(lambda: read_table(path))


def test_a_broken_sheet_within_a_good_archive_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"S": [["a"], ["secret"]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for broken in ("xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/sharedStrings.xml"):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content[: len(content) // 2] + b"<<" if name == broken else content)
        assert problem_of(lambda: read_table(path)).startswith("path: ")


def test_a_workbook_that_unpacks_to_more_than_the_memory_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", {"S": [["a"], [1]]})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/large.xml", "w") as part:
        for _ in range(8):
            part.write(b"\0" * 2**20)
    assert read_table(path).frame["a"].tolist() == [1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("molehill.tables.table.available_memory", lambda: 2**26)
        assert "GB of memory" in problem_of(lambda: read_table(path))


@pytest.mark.parametrize(
    "value", [np.inf, 2**53 + 1, [1], b"x", "x" * 40_000, pd.Timestamp("1850-01-01"), pd.Timedelta("1h")]
)
def test_what_a_sheet_cannot_hold_is_refused(tmp_path, value):
    frame = pd.DataFrame({"fine": [1], "bad": pd.Series([value])})
    assert "'bad' has" in problem_of(lambda: write_table(frame, tmp_path / "t.xlsx"))
    assert "empty name" in problem_of(lambda: write_table(pd.DataFrame({"": [1]}), tmp_path / "t.xlsx"))
    assert not list(tmp_path.iterdir())


def test_old_workbooks_and_those_with_programs_are_not_written(tmp_path):
    for ending in ("xls", "xlsm"):
        assert ".xlsx" in problem_of(
            lambda ending=ending: write_table(pd.DataFrame({"a": [1]}), tmp_path / f"t.{ending}")
        )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(
    lambda text: text.strip() and "\r" not in text
)
FORMULAS = st.tuples(st.sampled_from("=+-@\t\n'"), TEXTS).map("".join)


@examples(50)
@given(
    texts=st.lists(
        TEXTS | FORMULAS | st.sampled_from(["https://x.y", "_x0041_", "mailto:x", "{=1}"]), min_size=1, max_size=5
    )
)
def test_text_is_text_and_never_a_formula(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "any.xlsx"
    frame = pd.DataFrame({"=name": [f"x{text}" for text in texts], "t": texts, "n": range(len(texts))})
    back = written_and_read(Table(frame), path)
    assert back.frame["=name"].tolist() == frame["=name"].tolist()
    assert back.frame["t"].tolist() == texts
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
        assert b"<f>" not in sheet
        assert b"hyperlink" not in sheet


def test_a_sheet_that_begins_with_a_record_is_refused(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as workbook:
        sheet = workbook.add_worksheet()
        for row in range(30):
            sheet.write_row(row, 0, [f"Person {row}", 40_000.5 + row, "fm"[row % 2]])
    told = problem_of(lambda: read_table(tmp_path / "t.xlsx"))
    assert "first line looks like a record" in told
    assert "Person" not in told


SHEET = (
    '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    "<sheetData>{}</sheetData></worksheet>"
)
ROW = '<row r="{0}"><c r="{1}{0}" t="inlineStr"><is><t>a{0}</t></is></c></row>'
ROWS = "more than the 1,048,576 rows or 16,384 columns of a sheet"
EXTENTS = {
    "a row too far down": (ROW.format(1, "A") + ROW.format(1_048_577, "A"), ROWS),
    "a column too far right": (ROW.format(1, "A") + ROW.format(2, "XFE"), ROWS),
    "a number without end": (ROW.format(1, "A") + ROW.format("9" * 5000, "A"), ROWS),
    "too many rows without numbers": ("<row/>" * 1_048_577, ROWS),
    "corners of the largest sheet": (ROW.format(1, "A") + ROW.format(1_048_576, "XFD"), "it needs about 687.2 GB"),
}


@pytest.mark.parametrize(("rows", "message"), EXTENTS.values(), ids=EXTENTS.keys())
def test_what_unpacks_to_more_than_a_sheet_is_refused_before_it_is_read(tmp_path, monkeypatch, rows, message):
    plain, path = workbook(tmp_path / "plain.xlsx", {"t": [["a"], [1]]}), tmp_path / "t.xlsx"
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for part in source.infolist():
            is_sheet = part.filename == "xl/worksheets/sheet1.xml"
            made.writestr(part.filename, SHEET.format(rows).encode() if is_sheet else source.read(part))
    monkeypatch.setattr("python_calamine.CalamineWorkbook", None)
    monkeypatch.setattr("molehill.tables.table.available_memory", lambda: 16e9)
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("path: ")
    assert message in problem
