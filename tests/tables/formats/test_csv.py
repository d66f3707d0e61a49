"""CSV: what is a number, what is text and what is missing; and that nothing of it is lost on the way."""

import traceback
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.tables.formats.formats import read_table, write_table
from properties import examples
from written_tables import NASTY, WORDS, dialect_of, labelled_table, problem_of, written_and_read


def written_text(folder, text, encoding="utf-8"):
    path = folder / "given.csv"
    path.write_bytes(text.encode(encoding))
    return path


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
    assert frame.columns.tolist() == ["a b", "c", "d"]
    assert frame["a b"].dropna().tolist() == ["5"]
    assert frame["d"].tolist() == ["x,\n", "3"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_byte_order_marks_and_empty_lines(tmp_path, newline):
    path = written_text(tmp_path, "\ufeff" + newline.join(["a,b", "1,é", "", '2,"x', 'y"', ""]))
    frame = read_table(path).frame
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == ["é", f"x{newline}y"]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "cp1252"),
        ("cp1252", "cp1252"),
    ],
)
def test_encodings_are_found_out_and_shown(tmp_path, encoding, found):
    path = written_text(tmp_path, "a,b\n1,é\n2,zażółć\n" if encoding.startswith("utf") else "a,b\n1,é\n2,x\n", encoding)
    table = read_table(path)
    assert table.frame["b"].tolist()[0] == "é"
    assert dialect_of(table).encoding == found
    assert read_table(path, encoding=encoding).frame.equals(table.frame)


def test_encodings_are_found_in_the_header_and_beyond_the_first_page(tmp_path):
    path = tmp_path / "t.csv"
    for content in ("é,b\n1,2\n".encode("latin-1"), b"a,b\n" + b"1,x\n" * 2_000_000 + b"1,\xe9\n"):
        path.write_bytes(content)
        assert dialect_of(read_table(path)).encoding == "cp1252"
        assert problem_of(lambda: read_table(path, encoding="utf-8")).startswith("encoding: ")


@pytest.mark.parametrize("content", [b"a,b\n1,\x81\n", "a,b\n1,éèà\n".encode() + b"2,\xe9\n"])
def test_bytes_that_fit_no_encoding_and_damaged_utf_8_are_refused(tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("encoding: the file contains bytes that are not utf-8")


TURNING = "from line {} on, and UTF-8 letters from line {} on: it has two encodings"
FEW, MANY = "1,Élise\n", "2,Zoë\n3,secret\n" * 40
TWO = {
    "UTF-8 first": (FEW.encode() + MANY.encode("latin-1"), (3, 2)),
    "UTF-8 later": (MANY.encode("latin-1") + FEW.encode(), (2, 82)),
    "in one line": (MANY.encode("latin-1") + "4,é".encode() + b"\xe9\n", (2, 82)),
}


@pytest.mark.parametrize(("content", "lines"), TWO.values(), ids=TWO.keys())
def test_a_file_of_two_encodings_is_refused_with_the_line_unless_one_is_said(tmp_path, content, lines):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + content)
    problem = problem_of(lambda: read_table(path))
    assert problem.startswith("encoding: the file contains bytes that are not utf-8 " + TURNING.format(*lines))
    assert "secret" not in problem
    assert len(read_table(path, encoding="cp1252").frame) == 81
    # Signs after capitals are no letters of UTF-8.
    path.write_bytes("a,b\n1,«CAFÉ»\n2,À la carte\n3,NÃO\n4,AÏE…\n".encode("cp1252"))
    assert dialect_of(read_table(path)).encoding == "cp1252"


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
    assert back["at"].tolist() == frame["at"].tolist()


@pytest.mark.parametrize("value", [["x", "y"], {"x": 1}, b"x"])
def test_csv_cannot_hold_lists(tmp_path, value):
    frame = pd.DataFrame({"l": [value, None]})
    assert "'l' has" in problem_of(lambda: write_table(frame, tmp_path / "t.csv"))


def test_csv_is_plain_to_read(tmp_path):
    frame = pd.DataFrame({"id": [1, 2], "sex": ["f", None], "code": ["01", "x,y"], "pay": [2.0, np.nan]})
    write_table(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'id,sex,code,pay\n1,"f","01",2.0\n2,,"x,y",\n'


# Names with control characters are refused.
names = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=4)


@examples(50)
@given(
    rows=st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), WORDS, WORDS), min_size=1, max_size=5),
    header=st.lists(names, min_size=4, max_size=4, unique=True),
)
def test_any_table_survives_csv(tmp_path_factory, rows, header):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    columns = list(zip(*rows, strict=True))
    types: list[Any] = ["int64", "float64", "str", "str"]
    frame = pd.DataFrame({name: pd.array(list(c), dtype=t) for name, c, t in zip(header, columns, types, strict=True)})
    try:
        back = written_and_read(frame, path).frame
    except InputError as error:
        assume("looks like a record" not in str(error))
        raise
    for name in header:
        if frame[name].notna().any():
            pd.testing.assert_series_equal(back[name], frame[name], check_exact=True)
        assert back[name].isna().tolist() == frame[name].isna().tolist()


def test_csv_keeps_values_and_order(tmp_path):
    table = labelled_table()
    back = written_and_read(table, tmp_path / "t.csv")
    pd.testing.assert_frame_equal(back.frame, table.frame)


def test_long_tables_are_written_in_parts(tmp_path):
    frame = pd.DataFrame({"a": np.arange(250_001), "b": np.arange(250_001) / 3})
    pd.testing.assert_frame_equal(written_and_read(frame, tmp_path / "t.csv").frame, frame, check_exact=True)


def test_unknown_encodings_are_refused(tmp_path):
    path = written_text(tmp_path, "a\n1\n")
    assert problem_of(lambda: read_table(path, encoding="klingon")).startswith("encoding: 'klingon'")


# A file without a header.


def read_text(folder, text):
    (folder / "t.csv").write_text(text)
    return read_table(folder / "t.csv")


RECORDS = [
    f"{1000 + 37 * row},Person {row},{'fm'[row % 2]},{20 + row % 50},{1990 + row % 9}-0{1 + row % 9}-11"
    for row in range(60)
]


@pytest.mark.parametrize(
    "columns", [[0], [2], [3], [4], [0, 1], [1, 2, 3], [1, 4], [0, 1, 2, 3, 4], [2, 2], [1, 2, 1, 3]]
)
def test_a_first_line_that_is_a_record_is_refused_without_showing_it(tmp_path, columns):
    rows = [",".join(line.split(",")[column] for column in columns) for line in RECORDS]
    told = problem_of(lambda: read_text(tmp_path, "\n".join(rows)))
    assert "first line looks like a record" in told
    assert "line of names" in told
    assert not any(cell in told for cell in rows[0].split(",") if len(cell) > 1)
    header = ",".join(f"column_{number}" for number in range(len(columns)))
    assert len(read_text(tmp_path, "\n".join([header, *rows])).frame) == len(rows)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("2,5;3", "3,5;4"),
        ("1.234,50;x", "987,00;y"),
        ("ann@example.org;x", "bob@example.org;y"),
        ("-9;a;b;c", "3;d;e;f"),
        ("01234;a", "98765;b"),
    ],
)
def test_one_cell_that_is_no_name_is_enough(tmp_path, header, row):
    assert "looks like a record" in problem_of(lambda: read_text(tmp_path, "\n".join([header, row, row])))


@pytest.mark.parametrize(
    "text",
    [
        "country,2019,2021\nA,5,6\nB,7,8\n",
        "0,1,2,3\n5,6,7,8\n1,2,3,4\n",
        "place,2020-01-22,2020-01-23\nA,5,6\nB,7,8\n",
        "Red,Blue,id\nRed,,1\n,Blue,2\nRed,Blue,3\n",
        "id,sex,other,income\n1,f,other,5\n2,m,none,6\n",
        "id,1st,q1,income 2020\n1,f,other,5\n2,m,none,6\n",
    ],
)
def test_names_that_are_numbers_or_values_for_a_reason_stay(tmp_path, text):
    assert list(read_text(tmp_path, text).frame.columns) == text.split("\n", 1)[0].split(",")
