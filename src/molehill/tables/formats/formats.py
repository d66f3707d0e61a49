"""Tables, and the files they come from: CSV, Excel, Parquet, Stata, SPSS and SAS, all listed in `FORMATS`."""

import codecs
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat
from pyarrow import parquet

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.formats.csv import Given, read_csv, write_csv
from molehill.tables.formats.excel import read_excel, whole_if_whole, write_excel
from molehill.tables.table import (
    Table,
    as_table,
    check_memory,
    check_unique,
    from_arrow,
    plain_code,
    series_from_arrow,
    tidy_name,
    to_arrow,
)

_TEXT = ("encoding", "separator", "decimal", "thousands")
_THOUSANDS = ("", ",", ".", " ", "'", "\u2019", "\u00a0", "\u2009", "\u202f")


@dataclass(frozen=True)
class Format:
    """How the files with one ending are read and written. To add a format is to add one of these to `FORMATS`.

    Attributes
    ----------
    read
        `read(path, given) -> Table`. The file is one and can be opened; of what is `Given`, fields that `options` does
        not name are None. A file that does not fit raises an `InputError` that shows none of its values.
    write
        `write(table, path, *, private) -> None`. What the format cannot hold is refused with an `InputError`
        about "data". The file is written by `written_whole`, which takes `private`. None if it cannot be written.
    reason
        Why it cannot be written.
    options
        What callers may say about such a file: fields of `Given`.
    instead
        The ending that a release of such a table has if it cannot be written.
    """

    read: Callable[[Path, Given], Table]
    write: Callable[..., None] | None
    reason: str = "the format can only be read"
    options: tuple[str, ...] = ("encoding",)
    instead: str = ".csv"


def read_table(
    path: str | Path,
    *,
    encoding: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
) -> Table:
    r"""Read a table from a file; its ending says how: .csv, .tsv, .xlsx, .parquet, .dta, .sav, ... (see `FORMATS`).

    Whole numbers with missing values come as pandas' Int64, also from the packages that store every
    number with a fraction. Codes stay codes; their labels are in `value_labels`. What users of SPSS, Stata
    or SAS declared missing arrives as missing, without the labels of such codes, and so does empty text from these
    three and from Excel, which have no other missing text.

    A text file has a header. Its separator, decimal mark, thousands mark and encoding are found out, and are in
    `Table.dialect`. Unquoted, nothing, NA, NaN, nan, NULL, null and . are missing.
    A column of numbers becomes numbers, except that it stays text if a value starts with 0 and a digit
    (007 is a code), if a whole number needs more than 64 bits, or if its first value is in quotes that it does not
    need. In a file that quotes everything, the header too, quotes say nothing: numbers are numbers then, and an empty
    one is missing. A column of dates becomes dates: 1980-12-31, 31.12.1980, and 31/12/1980 if some day is above 12.

    Parameters
    ----------
    path
        The file.
    encoding
        How text is encoded. If it is not given: UTF-16 if the file begins so, UTF-8 if it is that, else Windows-1252.
    separator, decimal, thousands
        Of a text file: what divides cells, the decimal mark, and the mark between thousands ("" for none).
    sheet
        Of an Excel workbook: which sheet, if several are filled.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "people.csv").write_text('region;income\n"01";3000,50\n"NA";\n')
    ...     table = read_table(Path(folder) / "people.csv")
    >>> table.frame
      region  income
    0     01  3000.5
    1     NA     NaN
    >>> print(table.dialect)
    separator semicolon, decimal comma, thousands none, encoding utf-8
    """
    source, known = Path(path), _format(path)
    given = _check_given(Given(encoding, separator, decimal, thousands, sheet), known, source.suffix.lower())
    _check_file(source)
    table = known.read(source, given)
    names = [tidy_name(name) for name in table.frame.columns]
    if names != list(table.frame.columns):
        check_unique(names, "path")
        labels = {tidy_name(name): label for name, label in table.column_labels.items()}
        values = {tidy_name(name): codes for name, codes in table.value_labels.items()}
        table = replace(table, frame=table.frame.set_axis(names, axis=1), column_labels=labels, value_labels=values)
    return as_table(table, argument="path")


def _check_given(given: Given, known: Format, ending: str) -> Given:
    """Refuse what cannot be, and what a file of this kind does not have; a needless encoding is left out."""
    for name in (each.name for each in fields(given) if getattr(given, each.name) is not None):
        if name not in known.options and name != "encoding":
            raise InputError(name, f"a {ending} file has none", "Leave it out")
    try:
        codecs.lookup(given.encoding or "utf-8")
    except LookupError:
        raise InputError("encoding", f"{given.encoding!r} is unknown", "utf-8, latin-1, cp1252, utf-16 are") from None
    if given.separator is not None and not re.fullmatch(r"[^\w\r\n\"'.\0]", given.separator):
        raise InputError("separator", f"{given.separator!r} is none", "Give one character: ',', ';', '|' or a tab")
    if given.decimal not in (None, ".", ","):
        raise InputError("decimal", f"{given.decimal!r} is no decimal mark", "Give '.' or ','")
    if given.thousands not in (None, *_THOUSANDS) or (given.thousands and given.thousands == given.decimal):
        problem = f"{given.thousands!r} is no mark between thousands, or it is the decimal mark"
        raise InputError("thousands", problem, "Give ',', '.', a blank, an apostrophe, or '' for none")
    return given if "encoding" in known.options else replace(given, encoding=None)


def _check_file(source: Path) -> None:
    """Refuse what is not a file with something in it, before anything waits for it or fills the memory."""
    try:
        found = os.stat(source)  # noqa: PTH116
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
            raise InputError("path", f"{str(source)!r} cannot be opened: it is {kind}", "Give a file")
        source.open("rb").close()
    except OSError as error:
        problem = f"{str(source)!r} cannot be opened ({error.strerror})"
        raise InputError("path", problem, "Check its name and the right to read it") from None
    except InputError:
        raise
    except ValueError:
        problem = f"{str(source)!r} cannot be the name of a file"
        raise InputError("path", problem, "Leave out the character that no name can have") from None
    if not found.st_size:
        raise InputError("path", "the file is empty, it has no records", "Give a file with a header and records")
    # The text, its columns, and the frame lie in memory at once.
    check_memory(4 * found.st_size, "path")


def write_table(data: object, path: str | Path, *, private: bool = False) -> None:
    """Write a table to a file; its ending says how: .csv, .tsv, .xlsx, .parquet, .dta, .sav or .xpt (see `FORMATS`).

    The file appears whole or not at all. Reading it back gives the same values, except that: text files hold no
    labels, and true/false as text; Excel holds no labels, 15 digits, and no difference between empty and missing text;
    Stata, SPSS and SAS hold true/false as 1 and 0, categories
    as their values, and no difference between empty and missing text; SPSS and SAS drop spaces at the end
    of text. Labels longer than the format allows are cut. Stata has value labels for whole numbers only,
    SAS transport files have none. Parquet keeps everything, categories if they are text.

    A text file is written in the dialect that the table was read in. What a spreadsheet would run as a formula is text
    in Excel, and begins with an apostrophe in text files, which `read_table` takes away. Categories that no record
    has are not written, and their order is the alphabet's unless they are ordered.

    Parameters
    ----------
    data
        The table: anything that `as_table` takes.
    path
        The file. An existing one is replaced.
    private
        Readable by its owner only: for anything at the level of records that is not to be published.
    """
    known = _format(path)
    if known.write is None:
        raise InputError("path", known.reason, f"Write {', '.join(e for e in FORMATS if FORMATS[e].write)}")
    table = as_table(data)
    known.write(replace(table, frame=_with_plain_categories(table.frame)), Path(path), private=private)


def released_ending(path: str | Path | None) -> str:
    """Say how the file of a released table ends: like that of the confidential one, where such files can be written.

    Examples
    --------
    >>> released_ending("people.sav"), released_ending("people.xls"), released_ending(None)
    ('.sav', '.xlsx', '.csv')
    """
    ending = Path(path or "").suffix.lower()
    known = FORMATS.get(ending, FORMATS[".csv"])
    return known.instead if known.write is None or ending not in FORMATS else ending


def _with_plain_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Leave out levels that no record has, and sort the others: the order in which they appeared would tell of rows."""
    changed = {}
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            column = frame[name].cat.remove_unused_categories()
            if not column.cat.ordered:
                levels = column.cat.categories
                sortable = pd.api.types.infer_dtype(levels) not in ("mixed", "mixed-integer")
                column = column.cat.reorder_categories(sorted(levels, key=None if sortable else repr))
            changed[name] = column
    return frame.assign(**changed) if changed else frame


def _format(path: str | Path) -> Format:
    known = FORMATS.get(Path(path).suffix.lower())
    if known is None:
        problem = f"{Path(path).name!r} does not end like a table"
        raise InputError("path", problem, f"The endings known are {', '.join(FORMATS)}")
    return known


def _read_parquet(source: Path, _given: Given) -> Table:
    try:
        # From a path, Arrow would make a folder called year=2020 a column.
        with source.open("rb") as file:
            notes = parquet.read_metadata(file)
            groups = [notes.row_group(number) for number in range(notes.num_row_groups)]
            check_memory(2 * sum(group.total_byte_size for group in groups), "path", notes.num_rows, notes.num_columns)
            file.seek(0)
            arrow = parquet.read_table(file)
        labels = json.loads((arrow.schema.metadata or {}).get(b"molehill", b"{}"))
        # Without pandas' own notes an index that has a name comes back as the column that it is.
        arrow = arrow.replace_schema_metadata(None)
        unnamed = [name for name in arrow.column_names if re.fullmatch(r"__index_level_\d+__", name)]
        frame = from_arrow(arrow.drop_columns(unnamed), "path")
        values = {name: dict(pairs) for name, pairs in labels.get("value_labels", {}).items()}
        return Table(frame, labels.get("column_labels", {}), values)
    except InputError:
        raise
    except (pa.ArrowException, OSError, UnicodeError, ValueError, AttributeError, TypeError, OverflowError):
        raise InputError("path", "the file is damaged, or not Parquet", "Write it anew") from None


def _write_parquet(table: Table, path: Path, *, private: bool) -> None:
    # Pairs, because the keys of a JSON object would turn the code 1 into the text "1".
    values = {name: [(plain_code(c), codes[c]) for c in codes] for name, codes in table.value_labels.items()}
    labels = json.dumps({"column_labels": dict(table.column_labels), "value_labels": values})
    arrow = to_arrow(table.frame).replace_schema_metadata({"molehill": labels})
    with written_whole(path, private=private) as temporary:
        parquet.write_table(arrow, temporary)


def _read_package(read: Callable[..., tuple[Any, Any]], source: Path, given: Given) -> Table:
    """Read a Stata, SPSS or SAS file: codes as values, labels beside them."""
    try:
        # Only asked for does pyreadstat tell which codes SPSS takes for missing.
        asked = {"user_missing": True} if read is pyreadstat.read_sav else {}
        _, notes = read(str(source), encoding=given.encoding, metadataonly=True, **asked)
        absent = notes.missing_ranges or {}
        widths = notes.variable_storage_width or {}
        rows, width = notes.number_rows or 0, sum(max(each, 8) for each in widths.values())
        check_memory(rows * width, "path", rows, len(widths))
        frame, notes = read(str(source), encoding=given.encoding, dates_as_pandas_datetime=True)
    except InputError:
        raise
    except (
        pyreadstat.ReadstatError,
        pyreadstat.PyreadstatError,
        ValueError,
        LookupError,
        OverflowError,
    ):
        # Not chained: it may quote a value.
        ending = source.suffix.lower()
        problem = f"the file is damaged, is not a {ending} file, or is encoded in a way that it does not say"
        raise InputError("path", problem, "Write it anew, or give its encoding") from None
    frame = pd.DataFrame({name: _as_stored(frame[name]) for name in frame.columns})
    columns = {name: label for name, label in notes.column_names_to_labels.items() if label}
    values = {}
    for name, codes in notes.variable_value_labels.items():
        # A label of text beside numbers names one of Stata's or SAS's kinds of missing value. No record has a code that
        # is missing, so that its label would say why somebody gave no answer, of nobody.
        fits = str if isinstance(frame[name].dtype, pd.StringDtype) else int | float
        held = {code: label for code, label in codes.items() if isinstance(code, fits)}
        ranges = absent.get(name, ())
        values[name] = {
            plain_code(code): label
            for code, label in held.items()
            if not any(ends["lo"] <= code <= ends["hi"] for ends in ranges)
        }
    return Table(frame, columns, {name: codes for name, codes in values.items() if codes})


def _as_stored(column: pd.Series) -> pd.Series:
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in ("integer", "empty"):
        column = column.astype("float64")
    if isinstance(column.dtype, pd.StringDtype):
        return column.mask(column == "")
    return whole_if_whole(column)


@dataclass(frozen=True)
class _Package:
    """What the files of a statistical package can hold, and what writes them.

    Attributes
    ----------
    write
        The function of pyreadstat.
    names, rule
        The pattern of the names that columns may have, and the same in words.
    cases
        Whether names may differ in case only.
    largest
        The largest number.
    label
        The longest label of a column, if pyreadstat does not cut it itself.
    codes
        The types of the values that may have labels.
    """

    write: Callable[..., None]
    names: str
    rule: str
    cases: bool = False
    largest: float = 8.9e307
    label: int | None = None
    codes: tuple[type, ...] = ()


_STATA = _Package(
    pyreadstat.write_dta,
    names=r"[^\W\d]\w{,31}",
    rule="letters, digits and _, no digit first, at most 32 characters, 64 bytes",
    cases=True,
    label=80,
    codes=(int,),
)
_SPSS = _Package(
    pyreadstat.write_sav,
    names=r"[^\W\d_]([\w.$#@]*[\w$#@])?",
    rule="letters, digits and _.$#@, a letter first, at most 64 bytes",
    codes=(int, float, str),
)
_SAS = _Package(
    pyreadstat.write_xport,
    names=r"[A-Za-z_][A-Za-z0-9_]{,31}",
    rule="letters A to Z, digits and _, no digit first, at most 32 characters",
    largest=7.2e75,
)


# Where a file says when it was written, and what it says instead: the same table is the same bytes on any day.
_WRITTEN = {".dta": (122,), ".sav": (92,), ".xpt": (144, 160, 464, 480)}
_NO_DAY = {".dta": b"01 Jan 1980 00:00", ".sav": b"01 Jan 8000:00:00", ".xpt": b"01JAN80:00:00:00"}


def _write_package(package: _Package, table: Table, path: Path, *, private: bool) -> None:
    """Write a Stata, SPSS or SAS transport file, refusing before the first byte what it cannot hold."""
    names, ending = list(table.frame.columns), path.suffix.lower()
    wrong = [name for name in names if not re.fullmatch(package.names, name) or len(name.encode()) > 64]
    if wrong:
        problem = f"{ending} cannot have columns called {', '.join(repr(name) for name in wrong)}"
        raise InputError("data", problem, f"Rename them: {package.rule}")
    if not package.cases:
        check_unique([name.lower() for name in names], "data")
    frame = pd.DataFrame({name: _for_package(table.frame[name], name, package.largest) for name in names})
    labels: dict[str, Any] = {"column_labels": {n: label[: package.label] for n, label in table.column_labels.items()}}
    if package.codes:
        given = {name: table.value_labels[name] for name in names if name in table.value_labels}
        fitting = {name: _fitting_labels(frame[name], given[name], package.codes) for name in given}
        labels["variable_value_labels"] = fitting
    with written_whole(path, private=private) as temporary:
        try:
            package.write(frame, str(temporary), **labels)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            problem = f"it has a name, a label or a value that {ending} cannot hold"
            raise InputError("data", problem, "Change it, or write .parquet") from None
        with temporary.open("r+b") as file:
            for place in _WRITTEN[ending]:
                file.seek(place)
                file.write(_NO_DAY[ending])


def _for_package(column: pd.Series, name: str, largest: float) -> pd.Series:
    arrow = to_arrow(column.to_frame())[name]
    column = series_from_arrow(arrow.cast(arrow.type.value_type) if pa.types.is_dictionary(arrow.type) else arrow)
    present, kind = column.dropna(), pd.api.types.infer_dtype(column, skipna=True)
    problem = None
    if kind == "boolean":
        return column.astype("Int32")
    if kind in ("integer", "floating"):
        top = max(abs(float(present.min())), abs(float(present.max()))) if len(present) else 0.0
        if top > largest:
            problem = "an infinite or too large number"
        if kind == "integer" and top >= 2**53:
            problem = "whole numbers of more than 15 digits"
        # Stata keeps the highest 32-bit numbers for its kinds of missing value.
        column = column.astype("Int32" if kind == "integer" and top <= 2_147_483_620 else "float64")
    elif kind == "datetime64":
        # A finer or coarser clock than microseconds is written wrongly by pyreadstat.
        column = column.dt.tz_localize(None).astype("datetime64[us]")
        if len(present) and (column.dropna() == column.dropna().dt.normalize()).all():
            column = column.dt.date.astype(object).where(column.notna(), None)
    elif kind not in ("string", "empty", "time"):
        problem = "values that are neither numbers nor text nor dates"
    if problem:
        raise InputError("data", f"the column {name!r} has {problem}", "Change it, or write .parquet")
    return column


def _fitting_labels(
    column: pd.Series, codes: Mapping[float | str, str], allowed: tuple[type, ...]
) -> dict[float | str, str]:
    held: tuple[type, ...] = ()
    if isinstance(column.dtype, pd.StringDtype):
        held = (str,)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        held = (int,) if pd.api.types.is_integer_dtype(column.dtype) else (int, float)
    plain = {plain_code(code): label for code, label in codes.items()}
    return {code: label for code, label in plain.items() if isinstance(code, held) and isinstance(code, allowed)}


# In the order in which errors list the endings.
FORMATS: dict[str, Format] = {
    ".csv": Format(read_csv, write_csv, options=_TEXT),
    ".tsv": Format(read_csv, write_csv, options=_TEXT),
    ".xlsx": Format(read_excel, write_excel, options=("sheet",)),
    ".xlsm": Format(read_excel, None, "a workbook with programs is not written", ("sheet",), ".xlsx"),
    ".xls": Format(read_excel, None, "workbooks are written as .xlsx", ("sheet",), ".xlsx"),
    ".parquet": Format(_read_parquet, _write_parquet, options=()),
    ".dta": Format(
        lambda path, given: _read_package(pyreadstat.read_dta, path, given), partial(_write_package, _STATA)
    ),
    ".sav": Format(lambda path, given: _read_package(pyreadstat.read_sav, path, given), partial(_write_package, _SPSS)),
    ".sas7bdat": Format(
        lambda path, given: _read_package(pyreadstat.read_sas7bdat, path, given),
        None,
        "only SAS can write .sas7bdat, and it can read .xpt",
    ),
    ".xpt": Format(
        lambda path, given: _read_package(pyreadstat.read_xport, path, given), partial(_write_package, _SAS)
    ),
}
