"""Reading and writing datasets: CSV, Excel, Parquet, Stata, SPSS and SAS, all listed in `FORMATS`."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyreadstat

from molehill.errors import InputError
from molehill.files import hash_file
from molehill.tables.formats.csv import read_csv, write_csv
from molehill.tables.formats.excel import read_excel, write_excel
from molehill.tables.formats.given import Given, check_given
from molehill.tables.formats.packages import SAS, SPSS, STATA, read_package, write_package
from molehill.tables.formats.parquet import read_parquet, write_parquet
from molehill.tables.table import Table, as_table, check_memory, check_unique, tidy_name

_TEXT = ("encoding", "separator", "decimal", "thousands")


@dataclass(frozen=True)
class Format:
    """A file format. A new format is an entry of `FORMATS`.

    Attributes
    ----------
    read
        `read(path, given) -> Table`. Fields of `given` that are not in `options` are None. Invalid files raise an
        `InputError` without values.
    write
        `write(table, path, *, private) -> None`, by `written_whole`; raises an `InputError` about "data" for what the
        format cannot hold. None if the format cannot be written.
    reason
        Why it cannot be written.
    options
        Fields of `Given` that apply.
    instead
        Ending of a release, if the format cannot be written.
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
    r"""Read a dataset from a file, in the format of its ending: .csv, .tsv, .xlsx, .parquet, .dta, .sav and others.

    Integers with missing values have pandas' type Int64. Codes stay codes, with labels in `value_labels`. Values
    declared missing in SPSS, Stata or SAS are missing, without labels, and so is empty text in these formats and Excel.

    A text file needs a header. Its separator, decimal mark, thousands separator and encoding are detected, see
    `Table.dialect`. Unquoted empty cells, NA, NaN, nan, NULL, null and . are missing. A column of numbers stays text if
    a value has a leading zero (007 is a code), if an integer needs more than 64 bits, or if its first value is in
    unnecessary quotes, unless the whole file including the header is quoted. Columns of dates become dates: 1980-12-31,
    31.12.1980, and 31/12/1980 if some day is above 12.

    Parameters
    ----------
    path
        The file.
    encoding
        Text encoding; detected if omitted (UTF-16, UTF-8 or Windows-1252).
    separator, decimal, thousands
        Of a text file: separator, decimal mark, and thousands separator ("" for none); detected if omitted.
    sheet
        Sheet of an Excel workbook, if several are filled.

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
    given = check_given(Given(encoding, separator, decimal, thousands, sheet), known.options, source.suffix.lower())
    _check_file(source)
    table = replace(known.read(source, given), source=hash_file(source.resolve()))
    names = [tidy_name(name) for name in table.frame.columns]
    if names != list(table.frame.columns):
        check_unique(names, "path")
        labels = {tidy_name(name): label for name, label in table.column_labels.items()}
        values = {tidy_name(name): codes for name, codes in table.value_labels.items()}
        table = replace(table, frame=table.frame.set_axis(names, axis=1), column_labels=labels, value_labels=values)
    return as_table(table, argument="path")


def _check_file(source: Path) -> None:
    """Check that a path is a file that can be read and is not empty."""
    try:
        found = os.stat(source)  # noqa: PTH116
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
            raise InputError("path", f"{str(source)!r} cannot be opened: it is {kind}", "Give the path of a file")
        source.open("rb").close()
    except OSError as error:
        problem = f"{str(source)!r} cannot be opened ({error.strerror})"
        raise InputError("path", problem, "Check its name and permissions") from None
    except InputError:
        raise
    except ValueError:
        problem = f"{str(source)!r} is not a valid file name"
        raise InputError("path", problem, "Remove invalid characters") from None
    if not found.st_size:
        raise InputError("path", "the file is empty, it has no records", "Give a file with a header and records")
    # Text, columns and frame are in memory at the same time.
    check_memory(4 * found.st_size, "path")


def write_table(data: object, path: str | Path, *, private: bool = False) -> None:
    """Write a dataset to a file, in the format of its ending: .csv, .tsv, .xlsx, .parquet, .dta, .sav or .xpt.

    The file is written atomically. Reading it restores the values, except that text files and Excel have no labels;
    text files hold Booleans as text; Excel holds 15 digits; Stata, SPSS and SAS hold Booleans as 1 and 0 and categories
    as their values; Excel, Stata, SPSS and SAS do not distinguish empty from missing text; SPSS and SAS drop trailing
    spaces; labels are truncated to the limits of the format. Stata has value labels for integers only, SAS transport
    files have none. Parquet keeps everything, categories if they are text.

    A text file is written in the dialect of the file the dataset was read from. Text that a spreadsheet would run as a
    formula stays text in Excel, and gets a leading apostrophe in text files, which `read_table` removes. Unused
    categories are not written, and unordered categories are sorted.

    Parameters
    ----------
    data
        The dataset: anything that `as_table` takes.
    path
        The file. An existing one is replaced.
    private
        Readable by its owner only, for record-level content that is not published.
    """
    known = _format(path)
    if known.write is None:
        raise InputError("path", known.reason, f"Write {', '.join(e for e in FORMATS if FORMATS[e].write)}")
    table = as_table(data)
    known.write(replace(table, frame=_with_plain_categories(table.frame)), Path(path), private=private)


def released_ending(path: str | Path | None) -> str:
    """Ending of the files of a release: that of the confidential file, if such files can be written.

    Examples
    --------
    >>> released_ending("people.sav"), released_ending("people.xls"), released_ending(None)
    ('.sav', '.xlsx', '.csv')
    """
    ending = Path(path or "").suffix.lower()
    known = FORMATS.get(ending, FORMATS[".csv"])
    return known.instead if known.write is None or ending not in FORMATS else ending


def _with_plain_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Remove unused levels, and sort unordered ones: their order of appearance would disclose the order of rows."""
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
        problem = f"{Path(path).name!r} has an unknown ending"
        raise InputError("path", problem, f"Use one of {', '.join(FORMATS)}")
    return known


# In the order in which errors list the endings.
FORMATS: dict[str, Format] = {
    ".csv": Format(read_csv, write_csv, options=_TEXT),
    ".tsv": Format(read_csv, write_csv, options=_TEXT),
    ".xlsx": Format(read_excel, write_excel, options=("sheet",)),
    ".xlsm": Format(read_excel, None, "a workbook with programs is not written", ("sheet",), ".xlsx"),
    ".xls": Format(read_excel, None, "workbooks are written as .xlsx", ("sheet",), ".xlsx"),
    ".parquet": Format(read_parquet, write_parquet, options=()),
    ".dta": Format(lambda path, given: read_package(pyreadstat.read_dta, path, given), partial(write_package, STATA)),
    ".sav": Format(lambda path, given: read_package(pyreadstat.read_sav, path, given), partial(write_package, SPSS)),
    ".sas7bdat": Format(
        lambda path, given: read_package(pyreadstat.read_sas7bdat, path, given),
        None,
        "only SAS can write .sas7bdat, and it can read .xpt",
    ),
    ".xpt": Format(lambda path, given: read_package(pyreadstat.read_xport, path, given), partial(write_package, SAS)),
}
