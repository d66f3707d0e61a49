"""Tables, and the files they come from: CSV, Parquet, Stata, SPSS and SAS."""

import codecs
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyreadstat
from pyarrow import csv, parquet

from molehill.errors import InputError
from molehill.files import written_whole

# Arrow makes these functions while it is imported: type checkers do not see them.
pc: Any = pyarrow.compute
_ENDINGS = (".csv", ".parquet", ".dta", ".sav", ".sas7bdat", ".xpt")
_MISSING_TEXT = ("", "NA", "NaN", "nan", "NULL", "null", ".")
_NAME_RULES = {
    ".dta": (r"[^\W\d]\w{,31}", "letters, digits and _, no digit first, at most 32 characters, 64 bytes"),
    ".sav": (r"[^\W\d_]([\w.$#@]*[\w$#@])?", "letters, digits and _.$#@, a letter first, at most 64 bytes"),
    ".xpt": (
        r"[A-Za-z_][A-Za-z0-9_]{,31}",
        "letters A to Z, digits and _, no digit first, at most 32 characters",
    ),
}


@dataclass(frozen=True, eq=False)
class Table:
    """A frame with what its file said about the columns.

    The frame holds codes; the labels lie beside it, so that 1 stays 1 and is still known as "employed".

    Attributes
    ----------
    frame
        The records.
    column_labels
        What a column is called in words, for the columns that have such a label.
    value_labels
        For a column of codes: what each code means.
    """

    frame: pd.DataFrame
    column_labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)


def as_table(data: object, *, argument: str = "data") -> Table:
    """Take what the caller has as a table: a `Table`, or a frame of pandas, Polars or Arrow.

    Only names and shape are looked at, never the values, so that it costs little to call it often.
    Records are numbered from 0; an index that says otherwise is left behind.

    Parameters
    ----------
    data
        A `Table`, or any frame in memory that Narwhals knows.
    argument
        What to call the table in errors.

    Examples
    --------
    >>> as_table(pd.DataFrame({"age": [31, 54]})).frame.shape
    (2, 1)
    """
    if isinstance(data, Table):
        table = data
    elif isinstance(data, pd.DataFrame):
        table = Table(data)
    elif isinstance(data, str | Path):
        raise InputError(argument, "it is a path, not a table", f"Read it first: read_table({str(data)!r})")
    else:
        unknown: Any = data
        try:
            native = narwhals.from_native(unknown, eager_only=True)
        except TypeError as error:
            raise InputError(
                argument,
                f"it is of type {type(data).__name__}, not a table",
                "Give a Table, or a frame of pandas, Polars or Arrow that is in memory (collect a lazy one)",
            ) from error
        table = Table(_frame(native.to_arrow(), argument))
    _check_shape(table.frame, argument)
    index = table.frame.index
    if not (isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1):
        table = replace(table, frame=table.frame.reset_index(drop=True))
    return table


def read_table(path: str | Path, *, encoding: str | None = None) -> Table:
    r"""Read a table from a file; its ending says how: .csv, .parquet, .dta, .sav, .sas7bdat or .xpt.

    Whole numbers with missing values come as pandas' Int64, also from the packages that store every
    number with a fraction. Codes stay codes; their labels are in `value_labels`. What users of SPSS, Stata
    or SAS declared missing arrives as missing, and so does empty text from these three, which have no
    other missing text.

    A CSV file has commas and a header. Unquoted, nothing, NA, NaN, nan, NULL, null and . are missing.
    A column of numbers becomes numbers, except that it stays text if a value starts with 0 and a digit
    (007 is a code), if a whole number needs more than 64 bits, or if its first value is quoted. In a file
    that quotes everything quotes say nothing: numbers are numbers then, and an empty one is missing.

    Parameters
    ----------
    path
        The file.
    encoding
        How text is encoded, if the file does not say. CSV files are taken as UTF-8; Parquet always is.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "people.csv").write_text('region,income\n"01",3000\n"NA",\n')
    ...     read_table(Path(folder) / "people.csv").frame
      region  income
    0     01    3000
    1     NA    <NA>
    """
    source, ending = Path(path), _ending(path)
    try:
        source.open("rb").close()
        codecs.lookup(encoding or "utf-8")
    except OSError as error:
        problem = f"{str(source)!r} cannot be opened ({error.strerror})"
        raise InputError("path", problem, "Check its name and the right to read it") from error
    except LookupError as error:
        raise InputError(
            "encoding", f"{encoding!r} is unknown", "utf-8, latin-1, cp1252, utf-16 are"
        ) from error
    match ending:
        case ".csv":
            table = Table(_read_csv(source, encoding))
        case ".parquet":
            table = _read_parquet(source)
        case _:
            table = _read_package(source, ending, encoding)
    return as_table(table, argument="path")


def write_table(data: object, path: str | Path) -> None:
    """Write a table to a file; its ending says how: .csv, .parquet, .dta, .sav or .xpt.

    The file appears whole or not at all. Reading it back gives the same values, except that: CSV holds no
    labels, and dates and true/false as text; Stata, SPSS and SAS hold true/false as 1 and 0, categories
    as their values, and no difference between empty and missing text; SPSS and SAS drop spaces at the end
    of text. Labels longer than the format allows are cut. Stata has value labels for whole numbers only,
    SAS transport files have none. Parquet keeps everything, categories if they are text.

    Parameters
    ----------
    data
        The table: anything that `as_table` takes.
    path
        The file. An existing one is replaced.
    """
    ending = _ending(path)
    table = as_table(data)
    match ending:
        case ".csv":
            _write_csv(table.frame, path)
        case ".parquet":
            _write_parquet(table, path)
        case ".sas7bdat":
            raise InputError("path", "only SAS can write .sas7bdat", "Write .xpt, which SAS can read")
        case _:
            _write_package(table, path, ending)


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        problem = f"{Path(path).name!r} does not end like a table"
        raise InputError("path", problem, f"The endings known are {', '.join(_ENDINGS)}")
    return ending


def _check_shape(frame: pd.DataFrame, argument: str) -> None:
    if not all(isinstance(name, str) for name in frame.columns):
        problem = "some columns have names that are not text"
        raise InputError(argument, problem, "Rename them, for instance by data.columns.astype(str)")
    _check_unique(list(frame.columns), argument)
    if not len(frame.columns):
        raise InputError(argument, "it has no columns", "Give a table with columns")
    if not len(frame):
        raise InputError(argument, "it has no records", "Give a table with at least one record")


def _check_unique(names: Sequence[str], argument: str) -> None:
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    if twice:
        called = ", ".join(repr(name) for name in sorted(twice))
        raise InputError(argument, f"several columns are called {called}", "Give each column its own name")


def _frame(arrow: pa.Table, argument: str) -> pd.DataFrame:
    _check_unique(arrow.column_names, argument)
    return pd.DataFrame({name: _series(arrow[name]) for name in arrow.column_names})


def _series(column: pa.ChunkedArray) -> pd.Series:
    # Left to itself, Arrow makes whole numbers with gaps into fractions, and true/false into objects.
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64()).to_pandas()
    if column.null_count and pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    if column.null_count and pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return column.to_pandas(date_as_object=False)


def _arrow(frame: pd.DataFrame) -> pa.Table:
    columns = {}
    for name in frame.columns:
        try:
            columns[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, UnicodeError, OverflowError, TypeError):
            # Not chained: Arrow's own words quote a value.
            problem = f"the column {name!r} mixes kinds of values, or holds text that is not Unicode"
            raise InputError("data", problem, "Make it all text or all numbers") from None
    return pa.table(columns)


def _read_parquet(source: Path) -> Table:
    try:
        # From a path, Arrow would make a folder called year=2020 a column.
        with source.open("rb") as file:
            arrow = parquet.read_table(file)
        labels = json.loads((arrow.schema.metadata or {}).get(b"molehill", b"{}"))
        # Without pandas' own notes an index that has a name comes back as the column that it is.
        arrow = arrow.replace_schema_metadata(None)
        unnamed = [name for name in arrow.column_names if re.fullmatch(r"__index_level_\d+__", name)]
        frame = _frame(arrow.drop_columns(unnamed), "path")
    except (pa.ArrowException, OSError, UnicodeError, json.JSONDecodeError):
        raise InputError("path", "the file is damaged, or not Parquet", "Write it anew") from None
    values = {name: dict(pairs) for name, pairs in labels.get("value_labels", {}).items()}
    return Table(frame, labels.get("column_labels", {}), values)


def _write_parquet(table: Table, path: str | Path) -> None:
    # Pairs, because the keys of a JSON object would turn the code 1 into the text "1".
    values = {name: [(_code(c), codes[c]) for c in codes] for name, codes in table.value_labels.items()}
    labels = json.dumps({"column_labels": dict(table.column_labels), "value_labels": values})
    arrow = _arrow(table.frame).replace_schema_metadata({"molehill": labels})
    with written_whole(path) as temporary:
        parquet.write_table(arrow, temporary)


def _code(code: float | str) -> float | str:
    if isinstance(code, str):
        return code
    return int(code) if float(code).is_integer() else float(code)


def _read_csv(source: Path, encoding: str | None) -> pd.DataFrame:
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
    _check_unique(names, "path")
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
    return _frame(pa.table(columns, names=names), "path")


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


def _write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    arrow = _arrow(frame)
    for column in arrow.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            problem = f"the column {column.name!r} holds values that cannot be written as text"
            raise InputError("data", problem, "Leave it out, or write .parquet")
    # An empty line would not count as a record.
    missing = "" if len(arrow.column_names) > 1 else "NA"
    header = _csv_text(pa.array(arrow.column_names), missing).to_pylist()
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
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


def _read_package(source: Path, ending: str, encoding: str | None) -> Table:
    read = {
        ".dta": pyreadstat.read_dta,
        ".sav": pyreadstat.read_sav,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }[ending]
    try:
        frame, notes = read(str(source), encoding=encoding, dates_as_pandas_datetime=True)
    except (
        pyreadstat.ReadstatError,
        pyreadstat.PyreadstatError,
        ValueError,
        LookupError,
        OverflowError,
    ) as error:
        problem = f"the file is damaged, is not a {ending} file, or is encoded in a way that it does not say"
        raise InputError("path", problem, "Write it anew, or give its encoding") from error
    frame = pd.DataFrame({name: _as_stored(frame[name]) for name in frame.columns})
    columns = {name: label for name, label in notes.column_names_to_labels.items() if label}
    values = {}
    for name, codes in notes.variable_value_labels.items():
        # A label of text beside numbers names one of Stata's or SAS's kinds of missing value.
        fits = str if isinstance(frame[name].dtype, pd.StringDtype) else int | float
        values[name] = {_code(code): label for code, label in codes.items() if isinstance(code, fits)}
    return Table(frame, columns, {name: codes for name, codes in values.items() if codes})


def _as_stored(column: pd.Series) -> pd.Series:
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in ("integer", "empty"):
        column = column.astype("float64")
    if isinstance(column.dtype, pd.StringDtype):
        return column.mask(column == "")
    if column.dtype == np.float64 and column.notna().any():
        present = column.dropna().to_numpy()
        if (np.abs(present) < 2**53).all() and (present == np.floor(present)).all():
            return column.astype("int64" if len(present) == len(column) else "Int64")
    return column


def _write_package(table: Table, path: str | Path, ending: str) -> None:
    names = list(table.frame.columns)
    pattern, rule = _NAME_RULES[ending]
    wrong = [name for name in names if not re.fullmatch(pattern, name) or len(name.encode()) > 64]
    if wrong:
        problem = f"{ending} cannot have columns called {', '.join(repr(name) for name in wrong)}"
        raise InputError("data", problem, f"Rename them: {rule}")
    if ending != ".dta":
        _check_unique([name.lower() for name in names], "data")
    # Any, because pyreadstat describes its arguments more narrowly than it takes them.
    frame: Any = pd.DataFrame({name: _for_package(table.frame[name], name, ending) for name in names})
    longest = 80 if ending == ".dta" else None
    columns: Any = {name: label[:longest] for name, label in table.column_labels.items()}
    labelled = [name for name in names if name in table.value_labels]
    values: Any = {name: _fitting_labels(frame[name], table.value_labels[name], ending) for name in labelled}
    with written_whole(path) as temporary:
        try:
            if ending == ".xpt":
                pyreadstat.write_xport(frame, str(temporary), column_labels=columns)
            else:
                write = pyreadstat.write_dta if ending == ".dta" else pyreadstat.write_sav
                write(frame, str(temporary), column_labels=columns, variable_value_labels=values)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            problem = f"it has a name, a label or a value that {ending} cannot hold"
            raise InputError("data", problem, "Change it, or write .parquet") from error


def _for_package(column: pd.Series, name: str, ending: str) -> pd.Series:
    arrow = _arrow(column.to_frame())[name]
    column = _series(arrow.cast(arrow.type.value_type) if pa.types.is_dictionary(arrow.type) else arrow)
    present, kind = column.dropna(), pd.api.types.infer_dtype(column, skipna=True)
    problem = None
    if kind == "boolean":
        return column.astype("Int32")
    if kind in ("integer", "floating"):
        top = max(abs(float(present.min())), abs(float(present.max()))) if len(present) else 0.0
        if top > (7.2e75 if ending == ".xpt" else 8.9e307):
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
    column: pd.Series, codes: Mapping[float | str, str], ending: str
) -> dict[float | str, str]:
    plain = {_code(code): label for code, label in codes.items()}
    if isinstance(column.dtype, pd.StringDtype):
        return {code: label for code, label in plain.items() if isinstance(code, str) and ending == ".sav"}
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return {}
    fits = int if ending == ".dta" or pd.api.types.is_integer_dtype(column.dtype) else int | float
    return {code: label for code, label in plain.items() if isinstance(code, fits)}
