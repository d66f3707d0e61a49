"""Tables, and the files they come from: CSV, Parquet, Stata, SPSS and SAS."""

import codecs
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
from pyarrow import parquet

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.csv_format import read_csv, write_csv
from molehill.tables.table import Table, as_table, check_unique, from_arrow, plain_code, series_from_arrow, to_arrow

_ENDINGS = (".csv", ".parquet", ".dta", ".sav", ".sas7bdat", ".xpt")


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
        raise InputError("encoding", f"{encoding!r} is unknown", "utf-8, latin-1, cp1252, utf-16 are") from error
    match ending:
        case ".csv":
            table = Table(read_csv(source, encoding))
        case ".parquet":
            table = _read_parquet(source)
        case _:
            table = read_package(source, ending, encoding)
    return as_table(table, argument="path")


def write_table(data: object, path: str | Path, *, private: bool = False) -> None:
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
    private
        Readable by its owner only: for anything at the level of records that is not to be published.
    """
    ending = _ending(path)
    table = as_table(data)
    match ending:
        case ".csv":
            write_csv(table.frame, path, private=private)
        case ".parquet":
            _write_parquet(table, path, private=private)
        case ".sas7bdat":
            raise InputError("path", "only SAS can write .sas7bdat", "Write .xpt, which SAS can read")
        case _:
            write_package(table, path, ending, private=private)


def _ending(path: str | Path) -> str:
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        problem = f"{Path(path).name!r} does not end like a table"
        raise InputError("path", problem, f"The endings known are {', '.join(_ENDINGS)}")
    return ending


def _read_parquet(source: Path) -> Table:
    try:
        # From a path, Arrow would make a folder called year=2020 a column.
        with source.open("rb") as file:
            arrow = parquet.read_table(file)
        labels = json.loads((arrow.schema.metadata or {}).get(b"molehill", b"{}"))
        # Without pandas' own notes an index that has a name comes back as the column that it is.
        arrow = arrow.replace_schema_metadata(None)
        unnamed = [name for name in arrow.column_names if re.fullmatch(r"__index_level_\d+__", name)]
        frame = from_arrow(arrow.drop_columns(unnamed), "path")
    except (pa.ArrowException, OSError, UnicodeError, json.JSONDecodeError):
        raise InputError("path", "the file is damaged, or not Parquet", "Write it anew") from None
    values = {name: dict(pairs) for name, pairs in labels.get("value_labels", {}).items()}
    return Table(frame, labels.get("column_labels", {}), values)


def _write_parquet(table: Table, path: str | Path, *, private: bool) -> None:
    # Pairs, because the keys of a JSON object would turn the code 1 into the text "1".
    values = {name: [(plain_code(c), codes[c]) for c in codes] for name, codes in table.value_labels.items()}
    labels = json.dumps({"column_labels": dict(table.column_labels), "value_labels": values})
    arrow = to_arrow(table.frame).replace_schema_metadata({"molehill": labels})
    with written_whole(path, private=private) as temporary:
        parquet.write_table(arrow, temporary)


_NAME_RULES = {
    ".dta": (r"[^\W\d]\w{,31}", "letters, digits and _, no digit first, at most 32 characters, 64 bytes"),
    ".sav": (r"[^\W\d_]([\w.$#@]*[\w$#@])?", "letters, digits and _.$#@, a letter first, at most 64 bytes"),
    ".xpt": (
        r"[A-Za-z_][A-Za-z0-9_]{,31}",
        "letters A to Z, digits and _, no digit first, at most 32 characters",
    ),
}


def read_package(source: Path, ending: str, encoding: str | None) -> Table:
    """Read a Stata, SPSS or SAS file: codes as values, labels beside them."""
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
        values[name] = {plain_code(code): label for code, label in codes.items() if isinstance(code, fits)}
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


def write_package(table: Table, path: str | Path, ending: str, *, private: bool) -> None:
    """Write a Stata, SPSS or SAS transport file, refusing before the first byte what it cannot hold."""
    names = list(table.frame.columns)
    pattern, rule = _NAME_RULES[ending]
    wrong = [name for name in names if not re.fullmatch(pattern, name) or len(name.encode()) > 64]
    if wrong:
        problem = f"{ending} cannot have columns called {', '.join(repr(name) for name in wrong)}"
        raise InputError("data", problem, f"Rename them: {rule}")
    if ending != ".dta":
        check_unique([name.lower() for name in names], "data")
    # Any, because pyreadstat describes its arguments more narrowly than it takes them.
    frame: Any = pd.DataFrame({name: _for_package(table.frame[name], name, ending) for name in names})
    longest = 80 if ending == ".dta" else None
    columns: Any = {name: label[:longest] for name, label in table.column_labels.items()}
    labelled = [name for name in names if name in table.value_labels]
    values: Any = {name: _fitting_labels(frame[name], table.value_labels[name], ending) for name in labelled}
    with written_whole(path, private=private) as temporary:
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
    arrow = to_arrow(column.to_frame())[name]
    column = series_from_arrow(arrow.cast(arrow.type.value_type) if pa.types.is_dictionary(arrow.type) else arrow)
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


def _fitting_labels(column: pd.Series, codes: Mapping[float | str, str], ending: str) -> dict[float | str, str]:
    plain = {plain_code(code): label for code, label in codes.items()}
    if isinstance(column.dtype, pd.StringDtype):
        return {code: label for code, label in plain.items() if isinstance(code, str) and ending == ".sav"}
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return {}
    fits = int if ending == ".dta" or pd.api.types.is_integer_dtype(column.dtype) else int | float
    return {code: label for code, label in plain.items() if isinstance(code, fits)}
