"""Delimited text files: detection of encoding, separator and quotes, reading and writing."""

import codecs
import csv as plain_csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import csv

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.cells import check_digits, check_header, settle, settle_dates, write_dates
from molehill.tables.formats.given import Given
from molehill.tables.table import Dialect, Table, check_unique, check_width, from_arrow, tidy_name, to_arrow

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute
SEPARATORS = (",", ";", "\t", "|")
_MISSING_TEXT = ("", "NA", "NaN", "nan", "NULL", "null", ".")
_PAGE = 2**16
_LOOKED_AT = 200
_BLOCK = 2**22
_ROWS_AT_ONCE = 100_000
# First characters of spreadsheet formulas, in both widths of East Asian characters.
_FORMULA = "=+\\-@\t\r\n＝＋－＠"  # noqa: RUF001
_RUNS = rf"^('*[{_FORMULA}])"
_MADE_INERT = rf"^'('*[{_FORMULA}])"
# Quoted numbers that contain the separator.
_NUMBER = "[+-]?[0-9][0-9.,' \u00a0\u2009\u202f\u2019]*(?:[eE][+-]?[0-9]+)?"
_QUOTED_NUMBER = re.compile(f'"{_NUMBER}"')
# Letters in UTF-8, which in Windows-1252 would be an accented capital followed by a symbol.
_LETTER = re.compile(rb"[\xc3-\xc5\xce-\xd1][\x80-\xbf]")
_OTHER_FILES = {
    b"PK\x03\x04": "a zip archive, perhaps an Excel workbook",
    b"PK\x05\x06": "an empty zip archive",
    b"\x1f\x8b": "compressed by gzip",
    b"BZh": "compressed by bzip2",
    b"\xfd7zXZ": "compressed by xz",
    b"7z\xbc\xaf": "a 7z archive",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook, or another file of Microsoft Office",
    b"%PDF": "a PDF",
    b"$FL2": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"SQLite format 3": "a database",
}


def read_csv(source: Path, given: Given) -> Table:
    """Read a text file by the rules of `molehill.read_table`."""
    encoding = given.encoding or _find_encoding(source)
    try:
        return _read_encoded(source, given, encoding)
    except (UnicodeError, pa.ArrowInvalid) as error:
        problem, is_other = _csv_problem(error), _not_utf8(error)
    if is_other:
        problem = _encoding_problem(source, encoding)
    # Not chained: Arrow's message quotes the row.
    if given.encoding or not is_other or not _is_windows(source):
        raise problem from None
    try:
        return _read_encoded(source, given, "cp1252")
    except UnicodeError:
        raise problem from None
    except pa.ArrowInvalid as error:
        raise _csv_problem(error) from None


def _not_utf8(error: Exception) -> bool:
    return isinstance(error, UnicodeError) or "invalid UTF8" in str(error)


def _csv_problem(error: Exception) -> InputError:
    if row := re.search(r"Row #(\d+): Expected", str(error)):
        problem = f"row {row[1]} (the header is row 1) has more or fewer values than the header has names"
        return InputError("path", problem, "Correct the row, or give the separator")
    if "straddling" in str(error):
        problem = f"a record is longer than {_BLOCK >> 20} MB, perhaps because of an unclosed quote"
        return InputError("path", problem, "Correct the file")
    problem = "the file has no records" if "Empty CSV" in str(error) else "the file cannot be read as text in columns"
    return InputError("path", problem, "The file must have a header and records with one separator")


# Detection of encoding, separator and quotes.


def _find_encoding(source: Path) -> str:
    """Encoding by the first bytes; an error for files of other kinds."""
    with source.open("rb") as file:
        start = file.read(512)
    for magic, kind in _OTHER_FILES.items():
        if start.startswith(magic):
            problem = f"the file is not text: it is {kind}"
            raise InputError("path", problem, "Rename it with the right ending, or unpack it")
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # UTF-16 without byte order mark: Latin letters have a zero byte.
    if len(start) >= 4 and start[1] == start[3] == 0 and start[0] and start[2]:
        return "utf-16-le"
    if len(start) >= 4 and start[0] == start[2] == 0 and start[1] and start[3]:
        return "utf-16-be"
    return "utf-8"


def _encoding_problem(source: Path, encoding: str) -> InputError:
    """Error with the first line that is not in the encoding of a file."""
    content = source.read_bytes()
    place = _find_damage(content, encoding)
    line = "" if place is None else f" from line {_line_of(content, place):,} on"
    problem = f"the file contains bytes that are not {encoding}{line}"
    if encoding == "utf-8" and (letter := _LETTER.search(content)):
        problem += f", and UTF-8 letters from line {_line_of(content, letter.start()):,} on: it has two encodings"
        return InputError("encoding", problem, "Save it in one encoding, or give the encoding of all lines")
    return InputError("encoding", problem, "Give its encoding, for example latin-1, cp1252 or utf-16")


def _find_damage(content: bytes, encoding: str) -> int | None:
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start
    return None


def _line_of(content: bytes, place: int) -> int:
    ending = b"\n" if b"\n" in content else b"\r"
    return content.count(ending, 0, place) + 1


def _is_windows(source: Path) -> bool:
    """Whether a file that is not UTF-8 is probably Windows-1252."""
    content = source.read_bytes()
    text = content.decode("utf-8", errors="replace")
    damaged = text.count("\ufffd")
    return not _LETTER.search(content) and damaged >= sum(not one.isascii() for one in text) - damaged


def _first_page(source: Path, encoding: str) -> str:
    with source.open(encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="") as file:
        page = file.read(_PAGE)
        # A header can be longer than a page.
        while "\n" not in page[1:] and "\r" not in page[1:] and len(page) < 64 * _PAGE and (more := file.read(_PAGE)):
            page += more
    return page.lstrip("\r\n")


def _records(page: str, separator: str, quote: str) -> list[list[str]]:
    """The first records of a page, without the last of a full page, which may be truncated."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", page)
    try:
        reader = plain_csv.reader(iter(lines), delimiter=separator, quotechar=quote)
        found = list(islice((record for record in reader if record), _LOOKED_AT + 1))
    except plain_csv.Error:
        return []
    return found[:-1] if len(found) > 1 and len(page) >= _PAGE else found


def _header_and_rest(page: str, separator: str, quote: str) -> tuple[list[str], list[list[str]]]:
    header, *rest = _records(page, separator, quote) or [[""]]
    return header, rest


def _find_separator(page: str, ending: str, quote: str) -> str:
    """The separator that splits most records like the header; of several, the one with most names."""
    best, choice = (-1.0, 0, 0), None
    for separator in SEPARATORS:
        header, rest = _header_and_rest(page, separator, quote)
        if len(header) > 1:
            like = sum(len(record) == len(header) for record in rest) / max(len(rest), 1)
            numbers = sum(re.fullmatch(_NUMBER, cell.strip()) is not None for record in rest for cell in record)
            if (like, len(header), numbers) > best:
                best, choice = (like, len(header), numbers), separator
    if choice is None:
        # With a single column, a comma in its numbers is a decimal mark.
        _, rest = _header_and_rest(page, "\x1f", quote)
        numbers = bool(rest) and all(re.fullmatch(r"\s*[+-]?[\d.' ]*,\d+\s*|\s*[+-]?\d+\s*", row[0]) for row in rest)
        choice = ";" if numbers and any("," in row[0] for row in rest) else ","
    return "\t" if ending == ".tsv" and "\t" in page.split("\n", 1)[0] else choice


def _find_quote(page: str) -> str:
    """Quote character: single quotes if every name of the header has them."""
    header = re.split(r"[\r\n]", page, maxsplit=1)[0]
    for separator in SEPARATORS:
        names = header.split(separator)
        if all(len(name) > 1 and name[0] == name[-1] == "'" for name in names):
            return "'"
    return '"'


def _quoted(page: str, separator: str, quote: str, width: int) -> tuple[bool, list[bool]]:
    """Whether all names, and the first value of each column, are in unnecessary quotes."""
    # Arrow does not report quotes.
    names, values = [], {}
    column, in_header = 0, True
    cut = re.escape(separator)
    cell = rf"({quote}[^{quote}]*(?:{quote * 2}[^{quote}]*)*{quote}[^{cut}\r\n]*|[^{cut}\r\n]*)({cut}|\r\n?|\n|$)"
    for value, end in re.findall(cell, page):
        if in_header:
            names.append(value.startswith(quote))
        elif value not in _MISSING_TEXT and not (separator in value and _QUOTED_NUMBER.fullmatch(value)):
            values.setdefault(column, value.startswith(quote))
        column, in_header = (column + 1, in_header) if end == separator else (0, False)
    return all(names), [values.get(column, False) for column in range(width)]


# Reading.


def _read_encoded(source: Path, given: Given, encoding: str) -> Table:
    page = _first_page(source, encoding)
    quote = _find_quote(page)
    separator = given.separator or _find_separator(page, source.suffix.lower(), quote)
    # Before any error that shows a name.
    header, rest = _header_and_rest(page, separator, quote)
    check_width(len(header), "path")
    check_header(header, rest)
    dialect = Dialect(separator=separator, encoding=encoding, quote=quote)
    arrow = _read_text(source, dialect)
    named, quoted = _quoted(page, separator, quote, arrow.num_columns)
    everything = named and all(quoted) and not any(column.null_count for column in arrow.columns)
    if len(arrow) and "\n" in (arrow.columns[-1][-1].as_py() or "") and source.read_bytes().count(b'"') % 2:
        problem = "a quote is never closed, so that the following records are lost"
        raise InputError("path", problem, "Close the quote")
    text = {name: _cells(arrow[name], blank=everything) for name in arrow.column_names}
    for name, column in text.items():
        check_digits(column, name)
    # Quoted numbers are codes, quoted dates are dates.
    codes = {name: text[name] for name, by_quotes in zip(text, quoted, strict=True) if by_quotes and not everything}
    bare = {name: column for name, column in text.items() if name not in codes}
    settled = settle(bare, decimal=given.decimal, thousands=given.thousands, separator=separator)
    dates = settle_dates(codes)
    done = {**settled.columns, **dates.columns}
    columns = [_as_text(arrow[name]) if done[name] is text[name] else done[name] for name in text]
    frame = from_arrow(pa.table(columns, names=list(text)), "path")
    found = {"decimal": settled.decimal, "thousands": settled.thousands, "grouped": settled.grouped}
    return Table(frame, dialect=replace(dialect, dates={**settled.dates, **dates.dates}, **found))


def _read_text(source: Path, dialect: Dialect) -> pa.Table:
    """Read all columns as text, with nulls for unquoted empty cells and words for missing."""
    # Closed at once: it reads ahead in its own thread.
    with _csv_reader(source, dialect, ()) as reader:
        names = reader.schema.names
    tidy = [_inert_back(tidy_name(name)) for name in names]
    check_unique(tidy, "path")
    check_unique(names, "path")
    return _csv_reader(source, dialect, names).read_all().rename_columns(tidy)


def _csv_reader(source: Path, dialect: Dialect, names: Sequence[str]) -> csv.CSVStreamingReader:
    encoding = "utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding
    # A single thread, so that errors have row numbers.
    return csv.open_csv(
        source,
        csv.ReadOptions(use_threads=False, encoding=encoding, block_size=_BLOCK),
        csv.ParseOptions(delimiter=dialect.separator, quote_char=dialect.quote, newlines_in_values=True),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=_MISSING_TEXT,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _cells(column: pa.ChunkedArray, *, blank: bool) -> pa.ChunkedArray:
    """The cells of a column; if the whole file is quoted, empty cells are null."""
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column) if blank else column


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text without the apostrophes of `write_csv`; all-null columns become floats."""
    if column.null_count == len(column):
        return column.cast(pa.float64())
    if not pc.any(pc.starts_with(column, "'")).as_py():
        return column
    if _needs_quotes(column, f"^'+{_NUMBER}$"):
        column = pc.utf8_slice_codeunits(column, 1)
    return pc.replace_substring_regex(column, _MADE_INERT, r"\1")


def _needs_quotes(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all cells are numbers by a pattern, and some contain a comma."""
    return bool(
        pc.all(pc.match_substring_regex(column, pattern)).as_py() and pc.any(pc.match_substring(column, ",")).as_py()
    )


def _inert_back(name: str) -> str:
    return re.sub(_MADE_INERT, r"\1", name)


# Writing.


def write_csv(table: Table, path: Path, *, private: bool) -> None:
    """Write a dataset in its dialect so that `read_csv` restores it: text in quotes, all else without.

    Without a dialect, UTF-8 with commas, or tabs in a .tsv file. Text that a spreadsheet would run as a formula gets a
    leading apostrophe, which `read_csv` removes.
    """
    dialect = replace(table.dialect or Dialect(), quote='"')
    dialect = replace(dialect, separator="\t") if path.suffix.lower() == ".tsv" else dialect
    arrow = to_arrow(table.frame)
    columns = [_as_written(arrow[name], name, dialect) for name in arrow.column_names]
    # Unquoted names show `read_csv` that quoted values are text; Arrow would quote them.
    header = dialect.separator.join(_name_as_written(name) for name in arrow.column_names)
    with written_whole(path, private=private) as temporary:
        try:
            # A Python file, whose errors describe a full disk properly.
            with temporary.open("w", encoding=dialect.encoding, newline="") as file:
                file.write(f"{header}\n")
                for text in _lines(columns, dialect.separator):
                    file.write(text)
        except UnicodeEncodeError:
            problem = f"it has characters that do not exist in the encoding of its file, {dialect.encoding}"
            raise InputError("data", problem, "Write .parquet, or use a dataset without dialect") from None


def _lines(columns: Sequence[pa.ChunkedArray], separator: str) -> Iterator[str]:
    # A line with a single missing value would be empty, and not count as a record.
    missing = "NA" if len(columns) == 1 else ""
    for start in range(0, len(columns[0]), _ROWS_AT_ONCE):
        parts = [column.slice(start, _ROWS_AT_ONCE).combine_chunks() for column in columns]
        parts = [part.cast(pa.large_string()).fill_null(missing) for part in parts]
        lines = pc.binary_join_element_wise(*parts, pa.scalar(separator, pa.large_string()))
        yield "\n".join(lines.to_pylist()) + "\n"


def _name_as_written(name: str) -> str:
    inert = re.sub(_RUNS, r"'\1", name)
    if re.fullmatch(r'\w[^"\r\n]*', inert) and not any(separator in inert for separator in SEPARATORS):
        return inert
    return '"' + inert.replace('"', '""') + '"'


def _as_written(column: pa.ChunkedArray, name: str, dialect: Dialect) -> pa.ChunkedArray:
    """Cells of a column as text, quoted if they are text, null where missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_boolean(kind):
        return pc.if_else(column, '"True"', '"False"')
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _with_quotes(write_dates(column, dialect.dates.get(name)), dialect)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return _numbers_as_written(column, name, dialect)
    if pa.types.is_null(kind) or pa.types.is_time(kind):
        return column.cast(pa.string())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        problem = f"the column {name!r} has values that cannot be written as text"
        raise InputError("data", problem, "Remove it, or write .parquet")
    return _text_as_written(column.cast(pa.large_string()))


def _text_as_written(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Each distinct text once.
    coded: Any = pa.chunked_array([column.combine_chunks()]).chunk(0).dictionary_encode()
    text = pc.replace_substring_regex(coded.dictionary, _RUNS, r"'\1")
    quote, apostrophe, nothing = (pa.scalar(mark, pa.large_string()) for mark in ('"', "'", ""))
    if _needs_quotes(text, f"^'*{_NUMBER}$"):
        # Otherwise they would be read as numbers.
        text = pc.binary_join_element_wise(apostrophe, text, nothing)
    text = pc.binary_join_element_wise(quote, pc.replace_substring(text, '"', '""'), quote, nothing)
    return pa.chunked_array([text.take(coded.indices)])


def _numbers_as_written(column: pa.ChunkedArray, name: str, dialect: Dialect) -> pa.ChunkedArray:
    column = column.cast(pa.float32()) if pa.types.is_float16(column.type) else column
    text = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        # Arrow writes 2.0 as 2, which would be read as integers.
        whole = all(pc.all(pc.match_substring_regex(part, r"^-?\d+$")).as_py() for part in (text[:100], text))
        text = pc.binary_join_element_wise(text, ".0", "") if whole else text
    if name in dialect.grouped and dialect.thousands:
        grouped = _translated(_with_thousands(text), dialect)
        read = settle({name: grouped}, separator=dialect.separator).columns[name]
        # Separators are omitted if they would be ambiguous without the other columns.
        if read is not grouped and read.cast(pa.float64()).equals(column.cast(pa.float64())):
            return _with_quotes(grouped, dialect)
    if dialect.decimal == ".":
        return text
    if dialect.separator != ";":
        # One more digit where three decimals would look like thousands.
        unsure = pc.all(pc.match_substring_regex(text, r"^-?([1-9]\d{0,2}\.\d{3}|\d{1,3})$")).as_py()
        text = pc.replace_substring_regex(text, r"(\.\d{3})$", r"\10") if unsure else text
    return _with_quotes(_translated(text, replace(dialect, thousands="")), dialect)


def _with_thousands(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Insert commas between thousands."""

    def grouped(number: str | None) -> str | None:
        parts = re.fullmatch(r"(-?)(\d+)(\.\d+)?", number or "")
        return f"{parts[1]}{int(parts[2]):,}{parts[3] or ''}" if parts else number

    return pa.chunked_array([pa.array([grouped(number) for number in text.to_pylist()], pa.string())])


def _translated(text: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Replace decimal point and commas by the marks of a dialect."""
    if dialect.thousands:
        text = pc.replace_substring(text, ",", "\0")
    if dialect.decimal == ",":
        text = pc.replace_substring(text, ".", ",")
    return pc.replace_substring(text, "\0", dialect.thousands) if dialect.thousands else text


def _with_quotes(text: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Quote the cells that contain the separator."""
    wrapped = pc.binary_join_element_wise('"', text, '"', "")
    return pc.if_else(pc.match_substring(text, dialect.separator), wrapped, text)
