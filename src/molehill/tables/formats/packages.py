"""Files of Stata, SPSS and SAS, with codes as values and labels beside them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.formats.given import Given
from molehill.tables.table import (
    Table,
    check_memory,
    check_unique,
    plain_code,
    series_from_arrow,
    to_arrow,
    whole_if_whole,
)


def read_package(read: Callable[..., tuple[Any, Any]], source: Path, given: Given) -> Table:
    """Read a Stata, SPSS or SAS file."""
    try:
        # On request, pyreadstat reports the codes that SPSS declares missing.
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
        # Not chained: the message may quote a value.
        ending = source.suffix.lower()
        problem = f"the file is damaged, is not a {ending} file, or has an unknown encoding"
        raise InputError("path", problem, "Write it again, or give its encoding") from None
    frame = pd.DataFrame({name: _as_stored(frame[name]) for name in frame.columns})
    columns = {name: label for name, label in notes.column_names_to_labels.items() if label}
    values = {}
    for name, codes in notes.variable_value_labels.items():
        # A text label of a numeric variable names a missing value of Stata or SAS. No record has a code that is
        # missing, so its label is not published.
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
class Package:
    """Limits of the files of a statistical package, and the function that writes them.

    Attributes
    ----------
    write
        The function of pyreadstat.
    names, rule
        Pattern of allowed names, and its description.
    cases
        Whether names can differ in case only.
    largest
        The largest number.
    label
        Maximum length of a label, if pyreadstat does not truncate it.
    codes
        Types of values that can have labels.
    """

    write: Callable[..., None]
    names: str
    rule: str
    cases: bool = False
    largest: float = 8.9e307
    label: int | None = None
    codes: tuple[type, ...] = ()


STATA = Package(
    pyreadstat.write_dta,
    names=r"[^\W\d]\w{,31}",
    rule="letters, digits and _, no digit first, at most 32 characters, 64 bytes",
    cases=True,
    label=80,
    codes=(int,),
)
SPSS = Package(
    pyreadstat.write_sav,
    names=r"[^\W\d_]([\w.$#@]*[\w$#@])?",
    rule="letters, digits and _.$#@, a letter first, at most 64 bytes",
    codes=(int, float, str),
)
SAS = Package(
    pyreadstat.write_xport,
    names=r"[A-Za-z_][A-Za-z0-9_]{,31}",
    rule="letters A to Z, digits and _, no digit first, at most 32 characters",
    largest=7.2e75,
)


# Positions of the time stamp of a file, and the text that replaces it, so that bytes do not depend on the day.
_WRITTEN = {".dta": (122,), ".sav": (92,), ".xpt": (144, 160, 464, 480)}
_NO_DAY = {".dta": b"01 Jan 1980 00:00", ".sav": b"01 Jan 8000:00:00", ".xpt": b"01JAN80:00:00:00"}


def write_package(package: Package, table: Table, path: Path, *, private: bool) -> None:
    """Write a Stata, SPSS or SAS transport file, after checking what it can hold."""
    names, ending = list(table.frame.columns), path.suffix.lower()
    wrong = [name for name in names if not re.fullmatch(package.names, name) or len(name.encode()) > 64]
    if wrong:
        problem = f"{ending} does not allow the names {', '.join(repr(name) for name in wrong)}"
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
        # Stata reserves the highest 32-bit numbers for missing values.
        column = column.astype("Int32" if kind == "integer" and top <= 2_147_483_620 else "float64")
    elif kind == "datetime64":
        # pyreadstat writes only microseconds correctly.
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
