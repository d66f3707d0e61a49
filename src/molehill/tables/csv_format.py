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
from molehill.tables.table import check_unique, from_arrow, to_arrow

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute
_MISSING_TEXT = ("", "NA", "NaN", "nan", "NULL", "null", ".")


def read_csv(source: Path, encoding: str | None) -> pd.DataFrame:
    """Read a CSV file by the rules of `molehill.read_table`."""
    with source.open("rb") as file:
        utf16 = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        if utf16 and encoding is None:
            raise UnicodeError
        return _csv_frame(source, encoding or "utf8")
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
    quoted = _first_quoted(source, encoding, len(names))
    everything = all(quoted) and not any(column.null_count for column in arrow.columns)
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


def _first_quoted(source: Path, encoding: str, width: int) -> list[bool]:
    """Tell of each column whether its first value is in quotes, which Arrow does not; one page is enough."""
    with source.open(encoding="utf-8-sig" if encoding == "utf8" else encoding, newline="") as file:
        page = file.read(2**16).lstrip("\r\n")
    quoted: dict[int, bool] = {}
    column, in_header = 0, True
    for value, end in re.findall(r'("[^"]*(?:""[^"]*)*"[^,\r\n]*|[^,\r\n]*)(,|\r\n?|\n|$)', page):
        if not in_header and value not in _MISSING_TEXT:
            quoted.setdefault(column, value.startswith('"'))
        column, in_header = (column + 1, in_header) if end == "," else (0, False)
    return [quoted.get(column, False) for column in range(width)]


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


def write_csv(frame: pd.DataFrame, path: str | Path, *, private: bool) -> None:
    """Write a frame as UTF-8 text with commas, such that `read_csv` gives it back."""
    arrow = to_arrow(frame)
    for column in arrow.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            problem = f"the column {column.name!r} holds values that cannot be written as text"
            raise InputError("data", problem, "Leave it out, or write .parquet")
    # An empty line would not count as a record.
    missing = "" if len(arrow.column_names) > 1 else "NA"
    header = _csv_text(pa.array(arrow.column_names), missing).to_pylist()
    with written_whole(path, private=private) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(header) + "\n")
        for part in arrow.to_batches(max_chunksize=100_000):
            columns = [_csv_text(column, missing) for column in part.columns]
            file.write("\n".join([*pc.binary_join_element_wise(*columns, ",").to_pylist(), ""]))


def _csv_text(column: pa.Array, missing: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    truth = pa.types.is_boolean(column.type)
    text = pc.if_else(column, "True", "False") if truth else column.cast(pa.string())
    if pa.types.is_floating(column.type):
        whole = pc.match_substring_regex(text, r"^-?\d+$")
        text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Bare only what cannot be taken for a number or a missing value.
        word = pc.match_substring_regex(text, r'^\p{L}[^",\r\n]*$')
        number = pc.is_in(pc.utf8_lower(text), pa.array(["na", "nan", "null", "inf", "infinity"]))
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
        text = pc.if_else(pc.and_not(word, number), text, quoted)
    return pc.fill_null(text, missing)
