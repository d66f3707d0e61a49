"""Datasets, and the files they come from: CSV, Excel, Parquet, Stata, SPSS and SAS, all listed in `FORMATS`."""

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
        The ending that a release of such a dataset has if it cannot be written.
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
    r"""Read a dataset from a file; its ending says how: .csv, .tsv, .xlsx, .parquet, .dta, .sav, ... (see `FORMATS`).

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
    """Write a dataset to a file; its ending says how: .csv, .tsv, .xlsx, .parquet, .dta, .sav or .xpt (see `FORMATS`).

    The file appears whole or not at all. Reading it back gives the same values, except that: text files hold no
    labels, and true/false as text; Excel holds no labels, 15 digits, and no difference between empty and missing text;
    Stata, SPSS and SAS hold true/false as 1 and 0, categories
    as their values, and no difference between empty and missing text; SPSS and SAS drop spaces at the end
    of text. Labels longer than the format allows are cut. Stata has value labels for whole numbers only,
    SAS transport files have none. Parquet keeps everything, categories if they are text.

    A text file is written in the dialect that the dataset was read in. What a spreadsheet would run as a formula is
    text in Excel, and begins with an apostrophe in text files, which `read_table` takes away. Categories that no record
    has are not written, and their order is the alphabet's unless they are ordered.

    Parameters
    ----------
    data
        The dataset: anything that `as_table` takes.
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
    """Say how the file of a released dataset ends: like that of the confidential one, where such files can be written.

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
        problem = f"{Path(path).name!r} does not end like a dataset"
        raise InputError("path", problem, f"The endings known are {', '.join(FORMATS)}")
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
