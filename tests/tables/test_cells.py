"""What cells say: marks of numbers, forms of dates, cells that are no numbers, and codes for missing values."""

import datetime
import traceback
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.tables.cells import declare_missing, explain_missing_codes, find_missing_codes, means_missing, stray_cells
from molehill.tables.formats.formats import read_table, write_table
from molehill.tables.schema import infer_kind, infer_schema
from molehill.tables.table import Dialect, Table
from properties import examples
from written_tables import dialect_of, problem_of


def read_text(folder, text, name="t.csv", encoding="utf-8", **how: Any):
    (folder / name).write_bytes(text.encode(encoding))
    return read_table(folder / name, **how)


def lines(header, *columns):
    return "\n".join([header, *(";".join(row) for row in zip(*columns, strict=True))]) + "\n"


# Separators.


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found_out_and_written_again(tmp_path, separator):
    text = f"a{separator}b{separator}c\n1{separator}x{separator}2.5\n2{separator}y{separator}3.5\n"
    table = read_text(tmp_path, text)
    assert table.frame.to_numpy().tolist() == [[1, "x", 2.5], [2, "y", 3.5]]
    assert dialect_of(table).separator == separator
    write_table(table, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == text.replace("x", '"x"').replace("y", '"y"')
    assert read_table(tmp_path / "again.csv").frame.equals(table.frame)


def test_tsv_stays_tsv(tmp_path):
    table = read_text(tmp_path, "a, b\tc;d\n1,5\tx;y\n2,5\tz\n", "t.tsv")
    assert table.frame.columns.tolist() == ["a, b", "c;d"]
    assert table.frame["a, b"].tolist() == [1.5, 2.5]
    write_table(table, tmp_path / "again.tsv")
    assert read_table(tmp_path / "again.tsv").frame.equals(table.frame)
    assert "1,5\t" in (tmp_path / "again.tsv").read_text()
    write_table(pd.DataFrame({"a": [1], "b": [2]}), tmp_path / "plain.tsv")
    assert (tmp_path / "plain.tsv").read_text() == "a\tb\n1\t2\n"


def test_separators_within_quotes_and_names_do_not_mislead(tmp_path):
    frame = read_text(tmp_path, '"a,x,y";b\n"p,q,r";1\n"s";2\n').frame
    assert frame.columns.tolist() == ["a,x,y", "b"]
    frame = read_text(tmp_path, "name, first;pay\nM, H;1200,50\nK, L;900,10\n").frame
    assert frame.columns.tolist() == ["name, first", "pay"]
    assert frame["pay"].tolist() == [1200.5, 900.1]


def test_one_column_with_decimal_commas_and_one_with_text(tmp_path):
    table = read_text(tmp_path, "pay\n1200,50\n900,1\n7\n")
    assert table.frame["pay"].tolist() == [1200.5, 900.1, 7.0]
    assert "row 2" in problem_of(lambda: read_text(tmp_path, "a\nx,y\n"))


def test_single_quotes_are_quotes(tmp_path):
    table = read_text(tmp_path, "'a';'b'\n'x;y';'1'\n'z';'2'\n")
    assert table.frame.to_numpy().tolist() == [["x;y", 1], ["z", 2]]
    assert dialect_of(table).quote == "'"


# Decimal and thousands marks.


@pytest.mark.parametrize(
    ("cells", "values", "decimal", "thousands"),
    [
        (["12,5", "3"], [12.5, 3.0], ",", ""),
        (["1.234,56", "3"], [1234.56, 3.0], ",", "."),
        (["1,234.56", "3"], [1234.56, 3.0], ".", ","),
        (["1.234.567", "3"], [1234567, 3], ",", "."),
        (["1,234,567", "3"], [1234567, 3], ".", ","),
        (["1 234", "999"], [1234, 999], ".", " "),
        (["1 234,5", "999"], [1234.5, 999.0], ",", " "),
        (["1\u00a0234,5", "999"], [1234.5, 999.0], ",", "\u00a0"),
        (["1'234.5", "999"], [1234.5, 999.0], ".", "'"),
        (["1\u2019234", "999"], [1234, 999], ".", "\u2019"),
        (["-1.234,5", "+3,25", "1e3"], [-1234.5, 3.25, 1000.0], ",", "."),
        (["0,123", "1,5"], [0.123, 1.5], ",", ""),
        # Without evidence the point is the decimal mark; between semicolons the comma is.
        (["1.234", "5"], [1.234, 5.0], ".", ""),
        (["1,234", "5"], [1.234, 5.0], ",", ""),
        # Whole numbers below a thousand beside round ones above: no number with decimals ends in 0.
        (
            ["1.250", "2.300", "980", "1.900", "3.500", "2.010", "4.125"],
            [1250, 2300, 980, 1900, 3500, 2010, 4125],
            ",",
            ".",
        ),
        (
            ["1.250", "2.300", "0.980", "1.900", "3.500", "2.010", "4.125"],
            [1.25, 2.3, 0.98, 1.9, 3.5, 2.01, 4.125],
            ".",
            "",
        ),
    ],
)
def test_marks_are_settled_by_the_column(tmp_path, cells, values, decimal, thousands):
    table = read_text(tmp_path, lines("x;t", cells, ["z"] * len(cells)))
    assert table.frame["x"].tolist() == values
    assert dialect_of(table).decimal == decimal
    assert dialect_of(table).thousands == thousands


@pytest.mark.parametrize(
    ("other", "value"), [("12,5", 1234), ("12.5", 1.234), ("1.234,56", 1234), ("7", 1.234), ("x", 1.234)]
)
def test_a_column_that_could_be_either_follows_the_others(tmp_path, other, value):
    frame = read_text(tmp_path, lines("x;y", ["1.234", "2.345"], [other, other])).frame
    assert frame["x"].tolist()[0] == value


def test_codes_without_a_mark_have_no_say_in_the_decimal_mark(tmp_path):
    codes = [f"{number:09}" for number in (62_601_967, 837_071_641, 621_741_401, 5, 1234, 99)]
    table = read_text(tmp_path, lines("code;pay", codes, ["1995,90", "2819,58", "n/a", "3001,00", "12,5", "7"]))
    assert dialect_of(table).decimal == ","
    write_table(declare_missing(table, {"pay": ["n/a"]}), tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text().splitlines()[1].endswith(";1995,9")


def test_a_column_that_is_settled_late_tells_the_decimal_mark_if_no_other_has(tmp_path):
    pay, rate = ["1995,90", "n/a", "n/a", "12,5"], ["1.5", "2.25", "3.5", "0.5"]
    late = declare_missing(read_text(tmp_path, lines("pay;t", pay, ["x"] * 4)), {"pay": ["n/a"]})
    assert late.frame["pay"].tolist()[0] == 1995.9
    assert dialect_of(late).decimal == ","
    other = declare_missing(read_text(tmp_path, lines("pay;rate", pay, rate)), {"pay": ["n/a"]})
    assert dialect_of(other).decimal == "."


def test_thousands_in_a_file_with_commas_are_in_quotes(tmp_path):
    table = read_text(tmp_path, 'x,y,z\n"1,234",a,"1"\n999,b,"2"\n"12,345",c,"3"\n')
    assert table.frame["x"].tolist() == [1234, 999, 12345]
    assert table.frame["z"].tolist() == ["1", "2", "3"]
    assert dialect_of(table).thousands == ","
    write_table(table, tmp_path / "again.csv")
    assert '"1,234","a"' in (tmp_path / "again.csv").read_text()
    assert read_table(tmp_path / "again.csv").frame.equals(table.frame)


def test_arguments_override_what_is_found(tmp_path):
    text = "x;y\n1.234;1,5\n2.345;2,5\n"
    assert read_text(tmp_path, text).frame["x"].tolist() == [1234, 2345]
    assert read_text(tmp_path, text, thousands="").frame["x"].tolist() == [1.234, 2.345]
    frame = read_text(tmp_path, text, decimal=".").frame
    assert frame["x"].tolist() == [1.234, 2.345]
    assert frame["y"].tolist() == ["1,5", "2,5"]
    assert read_text(tmp_path, "x;y\n1.234;1\n", decimal=",").frame["x"].tolist() == [1234]
    assert read_text(tmp_path, "x;y\n1.234;1\n", separator=",").frame.columns.tolist() == ["x;y"]
    assert read_text(tmp_path, "x#y\n1#2\n", separator="#").frame.columns.tolist() == ["x", "y"]
    for name, value in [("separator", "ab"), ("separator", "x"), ("decimal", ";"), ("thousands", "x"), ("sheet", "A")]:
        assert problem_of(lambda name=name, value=value: read_text(tmp_path, text, **{name: value})).startswith(name)
    assert problem_of(lambda: read_text(tmp_path, text, decimal=",", thousands=",")).startswith("thousands")


def test_codes_and_mixed_columns_stay_text(tmp_path):
    frame = read_text(tmp_path, lines("a;b;c", ["01234", "99999"], ["12,5", "1.234.5"], ["12,5", "x"])).frame
    assert [str(dtype) for dtype in frame.dtypes] == ["str"] * 3


def test_a_dialect_is_told_in_words(tmp_path):
    table = read_text(tmp_path, "x;y\n1.234,5;a\n", encoding="utf-16")
    assert str(table.dialect) == "separator semicolon, decimal comma, thousands point, encoding utf-16"


NUMBERS = st.one_of(
    st.lists(st.none() | st.floats(allow_nan=False), min_size=2, max_size=6).map(
        lambda cells: pd.array(cells, dtype="Float64")
    ),
    st.lists(st.none() | st.integers(-(10**9), 10**9), min_size=2, max_size=6).map(
        lambda cells: pd.array(cells, dtype="Int64")
    ),
    st.lists(st.none() | st.integers(-(10**7), 10**7).map(lambda number: number / 1000), min_size=2, max_size=6).map(
        lambda cells: pd.array(cells, dtype="Float64")
    ),
)


def tells_decimals(text: str) -> bool:
    """Whether the point of a number, written as a comma, can only be a decimal one."""
    whole, _, fraction = text.lstrip("-").partition(".")
    return fraction != "0" and (len(fraction) != 3 or len(whole) > 3 or whole == "0")


def test_a_bare_thousand_tells_that_a_comma_is_no_mark_of_thousands(tmp_path):
    for separator, first in ((";", 1.001), ("\t", 1.001), (",", 1001.0)):
        cell = '"1,001"' if separator == "," else "1,001"
        text = f"x{separator}t\n{cell}{separator}a\n1250{separator}b\n"
        assert read_text(tmp_path, text).frame["x"].tolist() == [first, 1250.0]
    # Not where many thousands are round: people wrote some of them without their mark.
    cells = [*(f"{number},500" for number in range(1, 7)), "1250"]
    assert read_text(tmp_path, lines("x;t", cells, ["a"] * 7)).frame["x"].tolist()[0] == 1500.0


@examples(100)
@given(
    columns=st.lists(NUMBERS, min_size=1, max_size=3),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    mark=st.sampled_from(["", "other", " ", "'"]),
)
def test_numbers_come_back_in_every_dialect(tmp_path_factory, columns, separator, decimal, encoding, mark):
    path = tmp_path_factory.getbasetemp() / "dialect.csv"
    size = min(map(len, columns))
    frame = pd.DataFrame(
        {
            f"c{number}": column[:size].to_numpy(dtype=np.float64, na_value=np.nan)
            for number, column in enumerate(columns)
        }
    )
    frame = frame.assign(t="é")
    mark = ("." if decimal == "," else ",") if mark == "other" else mark
    dialect = Dialect(separator, decimal, mark, encoding, grouped=tuple(frame.columns) if mark else ())
    write_table(Table(frame, dialect=dialect), path)
    back = read_table(path, decimal=decimal)
    for name in frame.columns[:-1]:
        assert back.frame[name].astype(float).equals(frame[name])
    assert dialect_of(back).separator == separator
    # The same without a word, unless a file has no number that tells a decimal comma from thousands.
    texts = [repr(number) for name in frame.columns[:-1] for number in frame[name].dropna() if np.isfinite(number)]
    if (decimal, mark, separator) == (",", "", ",") and not any(map(tells_decimals, texts)):
        return
    assert [
        name for name in frame.columns[:-1] if not read_table(path).frame[name].astype(float).equals(frame[name])
    ] == []


# Dates.


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["1980-12-31", "2020-02-29"], "%Y-%m-%d"),
        (["1980/12/31", "2020/02/29"], "%Y/%m/%d"),
        (["31.12.1980", "29.02.2020"], "%d.%m.%Y"),
        (["31.12.1980", "1.2.2020"], "%-d.%-m.%Y"),
        (["01.02.1980", "02.03.2020"], "%d.%m.%Y"),
        (["31/12/1980", "01/02/2020"], "%d/%m/%Y"),
        (["12/31/1980", "01/02/2020"], "%m/%d/%Y"),
        (["31-12-1980", "01-02-2020"], "%d-%m-%Y"),
        (["1980-12-31 13:14", "2020-02-29 00:00"], "%Y-%m-%d %H:%M"),
        (["1980-12-31T13:14:15", "2020-02-29T00:00:00"], "%Y-%m-%dT%H:%M:%S"),
        (["31.12.1980 13:14:15", "29.02.2020 01:02:03"], "%d.%m.%Y %H:%M:%S"),
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_dates_are_dates_and_are_written_as_they_came(tmp_path, cells, form, quoted):
    column = [f'"{cell}"' for cell in cells] if quoted else cells
    table = read_text(tmp_path, lines("n;at", ["1", "2"], column) + "3;\n")
    assert table.frame["at"].dtype.kind == "M"
    assert table.frame["at"].isna().tolist() == [False, False, True]
    assert dialect_of(table).dates == {"at": form}
    write_table(table, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == lines("n;at", ["1", "2"], cells) + "3;\n"
    assert read_table(tmp_path / "again.csv").frame.equals(table.frame)
    for ending in ("xlsx", "parquet", "sav", "dta", "xpt"):
        write_table(table, tmp_path / f"t.{ending}")
        back: Any = read_table(tmp_path / f"t.{ending}").frame["at"]
        assert back.astype("datetime64[us]").equals(table.frame["at"].astype("datetime64[us]"))


@pytest.mark.parametrize(
    "cells",
    [
        ["01/02/1980", "03/04/1981"],
        ["31/12/1980", "12/31/1980"],
        ["31.12.80", "01.02.81"],
        ["31.02.1980", "01.02.1981"],
        ["1980-12-31", "31.12.1980"],
        ["1980-13-31", "1980-12-31"],
        ["1980-12-31", "unknown"],
    ],
)
def test_what_may_be_another_day_stays_text(tmp_path, cells):
    assert str(read_text(tmp_path, lines("a;b", cells, ["x", "y"])).frame["a"].dtype) == "str"


def test_days_that_a_form_cannot_tell_are_written_in_full(tmp_path):
    table = read_text(tmp_path, "a;b\n31.12.1980;1\n")
    later = Table(table.frame.assign(a=table.frame["a"] + pd.Timedelta("1h")), dialect=table.dialect)
    write_table(later, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a;b\n1980-12-31 01:00:00;1\n"


@examples(30)
@given(moments=st.lists(st.none() | st.datetimes(datetime.datetime(1000, 1, 1)), min_size=2, max_size=5))
def test_moments_come_back_from_text(tmp_path_factory, moments):
    path = tmp_path_factory.getbasetemp() / "moments.csv"
    frame = pd.DataFrame({"at": pd.array(moments, dtype="datetime64[us]"), "n": 1})
    write_table(frame, path)
    if frame["at"].notna().any():
        assert read_table(path).frame["at"].astype("datetime64[us]").equals(frame["at"])


# Stray cells.


def column(cells, **more: Any):
    return Table(pd.DataFrame({"c": cells, **more}))


AMOUNTS = [str(number * 97 + 800) for number in range(20)]


@pytest.mark.parametrize(
    "cells",
    [
        [*AMOUNTS, "n/a"],
        [*AMOUNTS, "n/a", "-", "?"],
        [*AMOUNTS, "0123"],
        [*AMOUNTS, "12345678901234567890"],
        [*[f"1.{cell[-3:]},50" for cell in AMOUNTS], "k.A."],
        [*[f"{cell}.5" for cell in AMOUNTS], "unknown", None],
        pd.Series([*map(int, AMOUNTS), "n/a"], dtype=object),
        pd.Categorical([*AMOUNTS, "n/a"]),
        pd.Series([*AMOUNTS, "n/a"], dtype="string"),
        [*["1", "2", "3"] * 10, "n/a"],
        [*[f"{day:02}.03.1980" for day in range(1, 21)], "n/a"],
    ],
)
def test_mostly_numbers_are_never_a_category(cells):
    table = column(cells)
    stray = stray_cells(table, "c")
    assert len(stray.rows) == len(stray.texts) >= 1
    assert min(stray.rows) > len(AMOUNTS)
    problem = problem_of(lambda: infer_kind(table, "c"))
    assert problem.startswith("data: the variable 'c' holds ")
    assert f"in row {stray.rows[0]} " in problem or f"in rows {stray.rows[0]}, " in problem
    assert "missing_codes" in problem
    assert not any(text in problem for text in ("n/a", "k.A.", "unknown", "12345678901234567890"))
    with pytest.raises(InputError):
        infer_schema(table, known="c")
    # Whatever the caller calls it: true values must not be drawn as levels.
    with pytest.raises(InputError):
        infer_schema(table, sensitive="c", kinds={"c": "categorical"})


@pytest.mark.parametrize(
    "cells",
    [
        ["north", "south", "east", "1"] * 5,
        ["01234", "12345", "99999", "80331", "n/a", *["04567"] * 10],
        [*["1", "2", "3", "4"] * 10, "5+"],
        ["A1", "B2", "C3"] * 5,
        [None, None],
        [""],
        ["12", "13", "14"],
        [True, False],
        pd.to_datetime(["2020-01-01"]),
    ],
)
def test_true_categories_have_no_stray_cells(cells):
    table = column(cells)
    assert stray_cells(table, "c").rows == ()
    assert infer_kind(table, "c")[0] == "categorical"


def test_numbers_written_as_text_cannot_be_sensitive():
    table = column(AMOUNTS)
    assert infer_kind(table, "c") == ("categorical", "text")
    with pytest.raises(InputError, match=r"missing_codes=\{'c': \[\]\}"):
        infer_schema(table, sensitive="c")
    assert infer_schema(declare_missing(table, {"c": []}), sensitive="c")["c"].kind == "count"
    postcodes = column([f"{number:05}" for number in range(90, 120)])
    assert infer_schema(postcodes, sensitive="c")["c"].kind == "categorical"


@pytest.mark.parametrize("values", [[1, 2.5, None], [10**30, 1], [1 + 2j], [[1], [2]], [b"x"], [1, "a"], [{"a": 1}]])
def test_objects_are_refused_with_the_remedy(values):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    assert problem_of(lambda: infer_schema(frame, known="c")).startswith("data: the variable 'c' holds ")


def test_many_dates_predict_as_days():
    days = pd.DataFrame({"d": pd.date_range("2000-01-01", periods=60), "y": range(60)})
    assert infer_kind(Table(days), "d") == ("categorical", "dates, many different ones")
    assert infer_schema(days, predictors="d")["d"].kind == "date"
    assert infer_schema(days, known="d").having("known") == ("d",)
    waves = days.assign(d=pd.to_datetime(["2000-01-01", "2000-02-01"] * 30))
    assert infer_schema(waves, predictors="d")["d"].kind == "categorical"


def test_stray_cells_show_no_texts_when_printed():
    assert "n/a" not in repr(stray_cells(column([*AMOUNTS, "n/a"]), "c"))


# Missing codes.


@pytest.mark.parametrize(
    "word", ["n/a", "NA", "N/A", "na", "-", ".", "?", "unknown", "Missing", "keine Angabe", "k.A.", " "]
)
def test_usual_words_mean_missing(word):
    assert means_missing(word)


@pytest.mark.parametrize("word", ["north", "0", "6+", "x", "no", "none of these"])
def test_other_words_do_not(word):
    assert not means_missing(word)


def test_codes_are_proposed_where_they_stand_apart():
    numbers = np.arange(40)
    frame = pd.DataFrame(
        {
            "text": [*map(str, numbers + 100), "n/a", "n/a", "?", "ca. 12"],
            "negative": [*numbers, -9, -9, -99, -99],
            "far": [*numbers, 999, 999, 9999, 9999],
            "near": [*numbers, 66, 66, 77, 77],
            "once": [*numbers, -9, 1, 2, 3],
            "signs": [*(numbers - 20), -99, -99, 3, 4],
            "labelled": [*numbers, -5, 500, 3, 98],
            "category": [*["a", "n/a"] * 20, "b", "c", "d", "e"],
            "truth": [True, False] * 22,
        }
    )
    labels: Any = {"labelled": {-5: "inapplicable", 500: "five hundred and more", 3: "don't know", 7: "seven"}}
    assert find_missing_codes(Table(frame, {}, labels)) == {
        "text": ("n/a", "?"),
        "negative": (-99, -9),
        "far": (999, 9999),
        "labelled": (-5, 3, 500),
        # What stands for nothing among the numbers does so among the categories.
        "category": ("n/a",),
    }


def test_minus_one_is_no_code_where_it_is_next_to_zero():
    numbers = np.arange(60)
    real: Any = {
        "age": [-1] * 9 + [*numbers],
        "experience": [-1] * 6 + [-2] * 3 + [*numbers],
        "truth": [-1] * 9 + [*(numbers % 2)],
    }
    assert find_missing_codes(Table(pd.DataFrame(real))) == {}
    coded: Any = {
        "adults": [-1] * 9 + [*(numbers + 16)],
        "answers": [-1] * 9 + [*(numbers % 5 + 1)],
        "pay": [-1] * 9 + [0] * 10 + [*(numbers[:50] * 20 + 900)],
        "several": [-9] * 3 + [-8] * 3 + [-1] * 3 + [*numbers],
    }
    found = explain_missing_codes(Table(pd.DataFrame(coded)))
    assert {name: (*codes,) for name, codes in found.items()} == {
        "adults": (-1,),
        "answers": (-1,),
        "pay": (-1,),
        "several": (-9, -8, -1),
    }
    assert found["adults"][-1] == "in 9 records, below 0 and separated from all other values"
    # A short list of answers follows the other columns; an age does not.
    both = find_missing_codes(Table(pd.DataFrame(real | coded)))
    assert both["truth"] == (-1,)
    assert not {"age", "experience"} & {*both}


def test_declared_codes_are_missing_and_the_column_is_numbers(tmp_path):
    pay = ["1.234,50", "k.A.", "99", "0,5", "1,25", "7"]
    days = ["31.12.1980", "-", "1.2.1981", "1.2.1981", "1.2.1981", "1.2.1981"]
    table = read_text(tmp_path, lines("pay;n;d", pay, ["1", "-9", "3", "4", "5", "6"], days))
    assert str(table.frame["pay"].dtype) == "str"
    assert dialect_of(table).decimal == ","
    done = declare_missing(table, {"pay": ["k.A.", 99], "n": ["-9"], "d": ["-"]})
    assert done.frame["pay"].tolist()[0] == 1234.5
    assert done.frame["pay"].isna().tolist() == [False, True, True, False, False, False]
    assert str(done.frame["n"].dtype) == "Int64"
    assert done.frame["n"].isna().tolist() == [False, True, False, False, False, False]
    assert done.frame["d"].dtype.kind == "M"
    assert dialect_of(done).dates == {"d": "%-d.%-m.%Y"}
    assert str(table.frame["pay"].dtype) == "str"
    write_table(done, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text().splitlines()[:4] == [
        "pay;n;d",
        "1.234,5;1;31.12.1980",
        ";;",
        ";3;1.2.1981",
    ]


def test_codes_of_other_kinds_of_columns():
    frame = pd.DataFrame(
        {
            "level": pd.Categorical(["a", "n/a", "b"]),
            "text": ["x", "unknown ", None],
            "float": [1.5, -9.0, 2.5],
            "day": pd.to_datetime(["1900-01-01", "1980-12-31", "1981-12-31"]),
            "numbers": pd.Categorical(["1", "n/a", "3"]),
        }
    )
    codes = {"level": "n/a", "text": ["unknown"], "float": [-9], "day": ["1900-01-01"], "numbers": ["n/a"]}
    done = declare_missing(Table(frame), codes).frame
    assert done.isna().to_numpy().T.tolist() == [
        [False, True, False],
        [False, True, True],
        [False, True, False],
        [True, False, False],
        [False, True, False],
    ]
    assert done["level"].cat.categories.tolist() == ["a", "b"]
    assert str(done["numbers"].dtype) == "Int64"
    assert problem_of(lambda: declare_missing(Table(frame), {"levle": []})).startswith(
        "missing_codes: there is no variable"
    )


def test_proposals_mend_what_is_refused(tmp_path):
    amounts = [str(1000 + 7 * number) for number in range(30)]
    table = read_text(tmp_path, lines("pay;t", [*amounts, "n/a", "?"], ["x"] * 32))
    assert "but for 2 cells" in problem_of(lambda: infer_kind(table, "pay"))
    assert infer_kind(declare_missing(table, find_missing_codes(table)), "pay")[0] == "count"


def test_declared_missing_values_have_no_labels(tmp_path):
    frame: Any = pd.DataFrame({"pay": [*range(100, 130), -9.0, -8.0]})
    labels: Any = {"pay": {-9: "refused", -8: "don't know"}}
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), missing_ranges={"pay": [-9]}, variable_value_labels=labels)
    table = read_table(tmp_path / "t.sav")
    assert table.frame["pay"].isna().sum() == 1
    # One was declared in the file, the other only labelled.
    assert find_missing_codes(table) == {"pay": (-8,)}
    done = declare_missing(table, {"pay": (-8,)})
    assert done.value_labels == {}
    assert done.frame["pay"].isna().sum() == 2
    assert infer_kind(done, "pay")[0] == "count"


def test_no_value_is_in_an_error_or_behind_it():
    table = column([*AMOUNTS, "hidden words"])
    with pytest.raises(InputError) as caught:
        infer_kind(table, "c")
    told = "".join(traceback.format_exception(caught.value)).split("infer_kind(table, ")[-1]
    assert "hidden" not in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
