"""Files of statistical packages: Stata, SPSS and SAS, with their labels."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.frames import Table, check_unique, plain_code, series_from_arrow, to_arrow

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
