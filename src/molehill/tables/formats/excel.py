"""Excel workbooks: one sheet is one dataset, with the names of columns in its first row."""

import datetime
import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import python_calamine
import xlsxwriter

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.cells import check_header, settle_dates
from molehill.tables.formats.given import Given
from molehill.tables.table import (
    Table,
    check_memory,
    check_unique,
    series_from_arrow,
    show_names,
    tidy_name,
    to_arrow,
    whole_if_whole,
)

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute
_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_575, 16_384, 32_767
_FIRST_DAY = datetime.datetime(1900, 3, 1)  # Excel believes that there was a 29 February 1900.
_LOOKED_AT = 200
_PAGE, _PLACE_BYTES = 2**20, 40
_ROW = re.compile(rb"<(?:\w+:)?row\b(?:[^>]*?\sr=[\"'](\d+)[\"'])?")
_CELL = re.compile(rb"<(?:\w+:)?c\b[^>]*?\sr=[\"']([A-Z]{1,8})\d")
_OFFICE = b"\xd0\xcf\x11\xe0"


def read_excel(source: Path, given: Given) -> Table:
    """Read a sheet of a workbook by the rules of `molehill.read_table`."""
    _check_size(source)
    try:
        with python_calamine.CalamineWorkbook.from_path(source) as workbook:
            rows = _choose_sheet(workbook, given.sheet)
    except InputError:
        raise
    except python_calamine.PasswordError:
        raise InputError("path", "the workbook is encrypted", "Save it without a password") from None
    except (python_calamine.CalamineError, OSError, ValueError):
        # Not chained: the message may quote a cell.
        raise InputError("path", "the file is damaged, or no Excel workbook", "Save it again, or as .csv") from None
    names, records = _split(rows)
    columns = {name: _column(values) for name, values in zip(names, zip(*records, strict=True), strict=True)}
    return Table(pd.DataFrame(columns))


def _check_size(source: Path) -> None:
    with source.open("rb") as file:
        office = file.read(4) == _OFFICE
    if office and source.suffix.lower() != ".xls":
        # Encrypted workbooks are wrapped into the old file format.
        problem = "the workbook is encrypted, or in the old format with a new ending"
        raise InputError("path", problem, "Save it without a password, or rename it to .xls")
    size = 4 * source.stat().st_size
    try:
        with zipfile.ZipFile(source) as archive:
            size = sum(part.file_size for part in archive.infolist())
            # A cell takes about ten bytes unpacked, and a hundred in memory.
            check_memory(10 * size, "path")
            for part in archive.infolist():
                if part.filename.lower().endswith(".xml"):
                    with archive.open(part) as sheet:
                        _check_extent(sheet)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        # Not an archive, or a damaged one, which the reader reports.
        check_memory(10 * size, "path")


def _check_extent(sheet: IO[bytes]) -> None:
    """Raise an error for a sheet with too many rows or columns, or an extent that does not fit into memory.

    The declared extent may be wrong, so the cells are examined.
    """
    rows, last, widest, rest = 0, 0, 0, b""
    while page := sheet.read(_PAGE):
        page, rest = rest + page, b""
        cut = page.rfind(b"<")
        if cut > 0 and len(page) - cut < _LONGEST:
            page, rest = page[:cut], page[cut:]
        found = _ROW.findall(page)
        rows += len(found)
        last = max([last, rows, *(int(number[:12]) for number in found if number)])
        widest = max([widest, *map(_column_number, set(_CELL.findall(page)))])
        if last > _MOST_ROWS + 1 or widest > _MOST_COLUMNS:
            problem = f"it unpacks to more than the {_MOST_ROWS + 1:,} rows or {_MOST_COLUMNS:,} columns of a sheet"
            raise InputError("path", problem, "Save it again, or as .csv")
        # The reader allocates every cell of the extent.
        check_memory(_PLACE_BYTES * last * widest, "path")


def _column_number(letters: bytes) -> int:
    """Number of a column by its letters.

    Examples
    --------
    >>> _column_number(b"A"), _column_number(b"Z"), _column_number(b"AA"), _column_number(b"XFD")
    (1, 26, 27, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _choose_sheet(workbook: python_calamine.CalamineWorkbook, wanted: str | None) -> list[list[Any]]:
    names = workbook.sheet_names
    if wanted is not None:
        if wanted not in names:
            raise InputError("sheet", f"there is no sheet {wanted!r}", f"The sheets are {show_names(names)}")
        return workbook.get_sheet_by_name(wanted).to_python()
    filled = {name: workbook.get_sheet_by_name(name) for name in names}
    filled = {name: sheet for name, sheet in filled.items() if sheet.height}
    if not filled:
        raise InputError("path", "the workbook has no records", "It needs a header and records")
    if len(filled) > 1:
        problem = f"the workbook has several sheets: {show_names(filled)}"
        raise InputError("sheet", problem, "Give the name of one")
    return next(iter(filled.values())).to_python()


def _split(rows: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Names and records, without empty rows and columns."""
    filled = [row for row in rows if any(cell != "" for cell in row)]
    if len(filled) < 2:
        raise InputError("path", "the sheet has no records", "It needs a header and records")
    used = [number for number in range(len(filled[0])) if any(row[number] != "" for row in filled)]
    header, *first = [[_as_text(row[number]) for number in used] for row in filled[:_LOOKED_AT]]
    check_header(header, first)
    names = [tidy_name(name) for name in header]
    nameless = [str(number + 1) for number, name in zip(used, names, strict=True) if not name]
    if nameless:
        problem = f"columns without a name in the first row have values: number {', '.join(nameless[:10])}"
        raise InputError("path", problem, "Put one row of names at the top of the sheet")
    check_unique(names, "path")
    return names, [[row[number] for number in used] for row in filled[1:]]


def _column(cells: Iterable[Any]) -> pd.Series:
    values = [None if isinstance(cell, str) and not cell.strip() else cell for cell in cells]
    kinds = {_kind(value) for value in values if value is not None}
    if not kinds:
        return pd.Series(np.full(len(values), np.nan))
    if kinds == {"number"}:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        return whole_if_whole(pd.Series(numbers))
    if kinds == {"truth"}:
        return pd.Series(values, dtype="boolean" if None in values else "bool")
    if kinds == {"date"}:
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object)).astype("datetime64[us]"))
    texts = [None if value is None else _as_text(value) for value in values]
    column = pa.chunked_array([pa.array(texts, pa.string())])
    return series_from_arrow(settle_dates({"": column}).columns[""] if kinds == {"text"} else column)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "date" if isinstance(value, datetime.date) else "text" if isinstance(value, str) else "other"


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def write_excel(table: Table, path: Path, *, private: bool) -> None:
    """Write a dataset as a workbook with one sheet, with text as text, so that no formula runs."""
    arrow = to_arrow(table.frame)
    if arrow.num_rows > _MOST_ROWS or arrow.num_columns > _MOST_COLUMNS:
        problem = f"a sheet has at most {_MOST_ROWS:,} records and {_MOST_COLUMNS:,} columns"
        raise InputError("data", problem, "Write .csv or .parquet")
    if "" in arrow.column_names:
        raise InputError("data", "a column has an empty name", "Rename it")
    columns = {name: _check_cells(arrow[name], name) for name in arrow.column_names}
    with (
        written_whole(path, private=private) as temporary,
        xlsxwriter.Workbook(temporary, {"in_memory": True}) as workbook,
    ):
        # The same dataset gives the same bytes.
        workbook.set_properties({"created": datetime.datetime(2000, 1, 1)})
        sheet = workbook.add_worksheet("table")
        forms = {only: workbook.add_format({"num_format": form}) for only, form in _FORMS.items()}
        for number, (name, column) in enumerate(columns.items()):
            sheet.write_string(0, number, name)
            _write_column(sheet, number, column, forms)


# Date formats, without time of day (True) and with it.
_FORMS = {True: "yyyy-mm-dd", False: "yyyy-mm-dd hh:mm:ss"}


def _write_column(sheet: Any, number: int, column: pa.ChunkedArray, forms: dict[bool, Any]) -> None:
    cells = column.to_pylist()
    if pa.types.is_timestamp(column.type):
        days = all(cell.time() == datetime.time() for cell in cells if cell is not None)
        for row, cell in enumerate(cells, start=1):
            if cell is not None:
                sheet.write_datetime(row, number, cell, forms[days])
        return
    text, truth = pa.types.is_string(column.type), pa.types.is_boolean(column.type)
    write = sheet.write_string if text else sheet.write_boolean if truth else sheet.write_number
    for row, cell in enumerate(cells, start=1):
        if cell is not None:
            write(row, number, cell)


def _check_cells(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """A column as text, Booleans, numbers or timestamps; an error for values that a sheet cannot hold."""
    column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    kind, problem = column.type, None
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        column = column.cast(pa.string())
        if (pc.max(pc.utf8_length(column)).as_py() or 0) > _LONGEST:
            problem = f"text of more than {_LONGEST:,} characters"
    elif pa.types.is_null(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
        if (first := pc.min(column).as_py()) is not None and first < _FIRST_DAY:
            problem = "dates before March 1900"
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
        problem = _number_problem(column, whole=pa.types.is_integer(kind))
    elif not pa.types.is_boolean(kind):
        problem = "values that are neither numbers nor text nor dates"
    if problem:
        raise InputError("data", f"the column {name!r} has {problem}", "Change it, or write .parquet")
    return column


def _number_problem(column: pa.ChunkedArray, *, whole: bool) -> str | None:
    largest = pc.max(pc.abs(column)).as_py() or 0.0
    if not np.isfinite(largest) or pc.any(pc.is_nan(column)).as_py():
        return "an infinite number"
    return "whole numbers of more than 15 digits" if whole and largest >= 2**53 else None
