"""Tables, and the files they come from: CSV, Parquet, Stata, SPSS and SAS."""

import codecs
import json
import re
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from molehill.csv_files import read_csv, write_csv
from molehill.errors import InputError
from molehill.files import written_whole
from molehill.frames import Table, as_table, from_arrow, plain_code, to_arrow
from molehill.package_files import read_package, write_package

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
