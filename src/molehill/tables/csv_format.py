"""CSV files: every column is read as text and then settled on its own, so that nothing is guessed wrongly."""

import codecs
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute
from pyarrow import csv

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.table import Table, check_unique, from_arrow, to_arrow

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute
_MISSING_TEXT = ("", "NA", "NaN", "nan", "NULL", "null", ".")


def read_csv(source: Path, encoding: str | None) -> Table:
    """Read a CSV file by the rules of `molehill.read_table`."""
    with source.open("rb") as file:
        utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        if utf16 and encoding is None:
            raise UnicodeError
        return Table(_csv_frame(source, encoding or "utf8"))
    except (UnicodeError, pa.ArrowInvalid) as error:
        # Not chained: Arrow quotes the row that it stumbled over.
        raise _csv_problem(error, encoding or "utf-8") from None


def _csv_problem(error: Exception, encoding: str) -> InputError:
    if row := re.search(r"Row #(\d+): Expected", str(error)):
        problem = f"row {row[1]} (the header is row 1) has more or fewer values than the header has names"
    elif isinstance(error, UnicodeError) or "invalid UTF8" in str(error):
        problem = f"the file holds bytes that are not {encoding}"
        return InputError("encoding", problem, "Say how it is encoded: latin-1, cp1252 or utf-16")
    else:
        problem = "the file has no records" if "Empty CSV" in str(error) else "the file cannot be read as CSV"
    return InputError("path", problem, "Give a header and records, separated by commas")


def _csv_frame(source: Path, encoding: str) -> pd.DataFrame:
    names = _csv_reader(source, encoding, ()).schema.names
    check_unique(names, "path")
    arrow = _csv_reader(source, encoding, names).read_all()
    header, quoted = _quoted(source, encoding, len(names))
    everything = header and all(quoted) and not any(column.null_count for column in arrow.columns)
    if len(arrow) and "\n" in (arrow.columns[-1][-1].as_py() or "") and source.read_bytes().count(b'"') % 2:
        problem = "a quote is opened and never closed, which swallows the records after it"
        raise InputError("path", problem, "Close the quote")
    columns = [
        column if by_quotes and not everything else _numbers_or_text(column, everything=everything)
        for column, by_quotes in zip(arrow.columns, quoted, strict=True)
    ]
    return from_arrow(pa.table(columns, names=names), "path")


def _csv_reader(source: Path, encoding: str, names: Sequence[str]) -> csv.CSVStreamingReader:
    # A single thread, for only then Arrow knows the number of a row that does not fit.
    return csv.open_csv(
        source,
        csv.ReadOptions(use_threads=False, encoding=encoding, block_size=2**22),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=_MISSING_TEXT,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _quoted(source: Path, encoding: str, width: int) -> tuple[bool, list[bool]]:
    """Tell whether all names, and of each column whether its first value, are in quotes; one page is enough."""
    # Arrow does not tell.
    with source.open(encoding="utf-8-sig" if encoding == "utf8" else encoding, newline="") as file:
        page = file.read(2**16).lstrip("\r\n")
    names, values = [], {}
    column, in_header = 0, True
    for value, end in re.findall(r'("[^"]*(?:""[^"]*)*"[^,\r\n]*|[^,\r\n]*)(,|\r\n?|\n|$)', page):
        if in_header:
            names.append(value.startswith('"'))
        elif value not in _MISSING_TEXT:
            values.setdefault(column, value.startswith('"'))
        column, in_header = (column + 1, in_header) if end == "," else (0, False)
    return all(names), [values.get(column, False) for column in range(width)]


def _numbers_or_text(column: pa.ChunkedArray, *, everything: bool) -> pa.ChunkedArray:
    bare = pc.ascii_trim_whitespace(column)
    if everything:
        bare = pc.if_else(pc.equal(bare, ""), pa.scalar(None, pa.string()), bare)
    if bare.null_count == len(bare):
        return column if everything else column.cast(pa.float64())
    # Arrow would also take 0x1F as a number.
    not_numbers = {pa.int64(): r"^[+-]?0[0-9xX]", pa.float64(): r"^[+-]?(0[0-9xX]|\d{19,}$)"}
    for kind, pattern in not_numbers.items():
        if not pc.any(pc.match_substring_regex(bare, pattern)).as_py():
            try:
                return bare.cast(kind)
            except pa.ArrowInvalid:
                continue
    return column


def write_csv(table: Table, path: Path, *, private: bool) -> None:
    """Write a table as UTF-8 text with commas, such that `read_csv` gives it back: text in quotes, all else bare."""
    arrow = to_arrow(table.frame)
    columns = [_as_written(arrow[name], name) for name in arrow.column_names]
    # Arrow would quote every name; a bare one tells `read_csv` that the quotes of the values mean text.
    doubled = [name.replace('"', '""') for name in arrow.column_names]
    header = ",".join(name if re.fullmatch(r'\w[^",\r\n]*', name) else f'"{name}"' for name in doubled)
    with written_whole(path, private=private) as temporary:
        # A file of Python's own, for its errors tell a full disk in the system's words.
        with temporary.open("wb") as file:
            file.write(f"{header}\n".encode())
            csv.write_csv(pa.table(columns, arrow.column_names), file, csv.WriteOptions(include_header=False))
        if len(columns) == 1:
            # Arrow leaves the line of a missing value empty, which would not count as a record.
            text = temporary.read_bytes()
            temporary.write_bytes(re.sub(rb'("[^"]*")|^\n', lambda m: m[1] or b"NA\n", text, flags=re.MULTILINE))


def _as_written(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or isinstance(kind, pa.BaseExtensionType):
        problem = f"the column {name!r} holds values that cannot be written as text"
        raise InputError("data", problem, "Leave it out, or write .parquet")
    if pa.types.is_boolean(kind):
        return pc.if_else(column, "True", "False")
    if pa.types.is_string_view(kind):
        # The one kind of text that Arrow does not write.
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        # Arrow writes 2.0 as 2: a column of nothing else would be read as whole numbers.
        whole = pc.all(pc.match_substring_regex(column.cast(pa.string()), r"^-?\d+$")).as_py()
        return column.cast(pa.float64()).cast(pa.decimal128(38, 1)) if whole else column
    return column
