"""A dataset in memory: a frame with the metadata of its file."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals
import numpy as np
import pandas as pd
import pyarrow as pa

from molehill.errors import InputError, nearest
from molehill.runtime import available_memory

# Control characters, line separators, writing directions and half characters.
MOST_COLUMNS = 10_000
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS = re.compile(r"\s*[\t\n\v\f\r]\s*")
_SHOWN = 20
# Bytes per cell that is read, and per record that is processed.
_CELL_BYTES, _RECORD_BYTES = 48, 200
_WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", ".": "point", "'": "apostrophe", "": "none"}


@dataclass(frozen=True)
class Dialect:
    """Format of a text file, detected when reading; a dataset is written in the dialect of its file.

    Attributes
    ----------
    separator
        Separator of cells: comma, semicolon, tab or bar.
    decimal
        Decimal mark, point or comma.
    thousands
        Thousands separator, empty for none.
    encoding
        Python's name of the encoding; "utf-8-sig" is UTF-8 with a byte order mark.
    quote
        Quote character.
    dates
        Format of every column of dates, for example "%d.%m.%Y"; `%-d` is without leading zero.
    grouped
        Columns with thousands separators.

    Examples
    --------
    >>> print(Dialect(separator=";", decimal=",", encoding="cp1252"))
    separator semicolon, decimal comma, thousands none, encoding cp1252
    """

    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    quote: str = '"'
    dates: Mapping[str, str] = field(default_factory=dict)
    grouped: tuple[str, ...] = ()

    def __str__(self) -> str:
        marks = {name: getattr(self, name) for name in ("separator", "decimal", "thousands")}
        shown = [f"{name} {_WORDS.get(mark, 'space' if mark.isspace() else mark)}" for name, mark in marks.items()]
        return ", ".join([*shown, f"encoding {self.encoding}", *(["quotes '"] if self.quote == "'" else [])])


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A frame with the metadata of its file.

    The frame holds codes; labels are kept beside it, so that 1 stays 1 and is labelled "employed". Printing it shows
    its size and the names of its columns, never a value.

    Attributes
    ----------
    frame
        The records.
    column_labels
        Labels of columns.
    value_labels
        Labels of codes, by column.
    dialect
        Format of its text file; None for other files, and for data from memory.
    source
        SHA-256 of the file that it was read from; empty if it came from memory.

    Examples
    --------
    >>> Table(pd.DataFrame({"age": [31, 54], "pay": [2800, 3100]}))
    Table(2 records; 2 columns: 'age', 'pay')
    """

    frame: pd.DataFrame
    column_labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)
    dialect: Dialect | None = None
    source: str = ""
    # A cache, that grows: what `infer_kind` found, so that a column is looked at once.
    seen_kinds: dict[str, Any] = field(default_factory=dict, init=False)

    @cached_property
    def column_hashes(self) -> dict[str, str]:
        """The SHA-256 of every variable: of its type, its labels, and its cells by the hashes of pandas."""
        return {name: _hash_column(self, name) for name in self.frame.columns}

    @property
    def content_hash(self) -> str:
        """The SHA-256 of the content: names, types, labels and cells of the variables, in their order."""
        digests = [[f"{name}", found] for name, found in self.column_hashes.items()]
        return hashlib.sha256(repr([len(self.frame), digests]).encode(errors="surrogatepass")).hexdigest()

    def __repr__(self) -> str:
        rows, width = self.frame.shape
        of = f"{rows:,} record{'' if rows == 1 else 's'}; {width:,} column{'' if width == 1 else 's'}"
        return f"Table({of}: {show_names(self.frame.columns)})"


def as_table(data: object, *, argument: str = "data") -> Table:
    """Convert to a `Table` from a `Table`, or a frame of pandas, Polars or Arrow.

    Only names and shape are checked, so that it is cheap. A row index is dropped.

    Parameters
    ----------
    data
        A `Table`, or any frame in memory that Narwhals supports.
    argument
        Name of the argument in errors.

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
        raise InputError(argument, "it is a path, not a dataset", f"Read the file first: read_table({str(data)!r})")
    else:
        unknown: Any = data
        try:
            native = narwhals.from_native(unknown, eager_only=True)
        except TypeError:
            raise InputError(
                argument,
                f"it is of type {type(data).__name__}, not a dataset",
                "Give a Table, or a frame of pandas, Polars or Arrow that is in memory (collect a lazy one)",
            ) from None
        table = Table(from_arrow(native.to_arrow(), argument))
    _check_shape(table.frame, argument)
    index = table.frame.index
    if not (isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1):
        table = replace(table, frame=table.frame.reset_index(drop=True))
    return table


def _hash_column(table: Table, name: str) -> str:
    column: Any = table.frame[name]
    about = [str(column.dtype), table.column_labels.get(name), table.value_labels.get(name)]
    if isinstance(column.dtype, pd.CategoricalDtype):
        about.append(list(column.cat.categories))
        column = column.cat.codes
    elif pd.api.types.is_object_dtype(column.dtype):
        # Cells of any kind, which pandas cannot always hash.
        column = pd.Series([repr(cell) for cell in column], dtype=object)
    cells = pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes()
    return hashlib.sha256(repr(about).encode(errors="surrogatepass") + b"\0" + cells).hexdigest()


def with_columns(table: Table, columns: Mapping[str, Any]) -> Table:
    """Give the dataset with other values in some columns; what is known of the kinds of the others is kept.

    Examples
    --------
    >>> with_columns(Table(pd.DataFrame({"age": [31, 54], "pay": [2800, 3100]})), {"pay": [1, 2]}).frame["pay"].tolist()
    [1, 2]
    """
    made = replace(table, frame=table.frame.assign(**columns), source="")
    made.seen_kinds.update({name: kind for name, kind in table.seen_kinds.items() if name not in columns})
    return made


def as_tables(released: Any) -> list[Table]:
    """Convert one released dataset, or a sequence of them, to a list."""
    tables = list(released) if isinstance(released, list | tuple) else [released]
    if not tables:
        raise InputError("released", "it contains no dataset", "Give one dataset or a sequence of datasets")
    return [as_table(table, argument="released") for table in tables]


def _check_shape(frame: pd.DataFrame, argument: str) -> None:
    # A shortcut for text names: this is called for every dataset of a release.
    text = isinstance(frame.columns.dtype, pd.StringDtype) and not frame.columns.hasnans
    if not text and not all(isinstance(name, str) for name in frame.columns):
        problem = "some columns have names that are not text"
        raise InputError(argument, problem, "Rename them, for example by data.columns.astype(str)")
    if not frame.columns.is_unique:
        check_unique(list(frame.columns), argument)
    if not len(frame.columns):
        raise InputError(argument, "it has no columns", "Give a dataset with columns")
    check_width(len(frame.columns), argument)
    if not len(frame):
        raise InputError(argument, "it has no records", "Give a dataset with at least one record")
    # Line breaks in names are accepted; other control characters are not.
    hidden = [name for name in frame.columns if _CONTROLS.search(name) and _CONTROLS.search(_BREAKS.sub(" ", name))]
    if hidden:
        problem = f"the names of some columns have control characters: {show_names(hidden)}"
        raise InputError(argument, problem, "Rename them")


def check_width(columns: int, argument: str) -> None:
    """Raise an error for too many columns."""
    if columns > MOST_COLUMNS:
        problem = f"it has {columns:,} columns, more than {MOST_COLUMNS:,}"
        raise InputError(argument, problem, "Remove columns that are not released, or reshape repeated ones into rows")


def check_memory(size: int, argument: str, records: int = 0, columns: int = 0) -> None:
    """Raise an error if a dataset needs more memory than there is, before it is read.

    Parameters
    ----------
    size
        Size of its values in bytes.
    argument
        Name of the argument in errors.
    records, columns
        Their numbers, if known.
    """
    needed, free = memory_needed(size, records, columns), available_memory()
    if free is not None and needed > free:
        what = f"it has {records:,} records of {columns:,} columns, which need" if records else "it needs"
        problem = f"{what} about {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free"
        raise InputError(argument, problem, "Use fewer records or columns, or a larger machine")


def memory_needed(size: int, records: int, columns: int) -> int:
    """Approximate memory in bytes needed to process a dataset."""
    return size + records * (_RECORD_BYTES + _CELL_BYTES * columns)


def tidy_name(name: str) -> str:
    """The name of a column with line breaks, as in spreadsheet headers, replaced by spaces."""
    return _BREAKS.sub(" ", name).strip() if _BREAKS.search(name) else name


def check_unique(names: Sequence[str], argument: str) -> None:
    """Raise an error for repeated names."""
    if len(set(names)) < len(names):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        raise InputError(argument, f"several columns are called {show_names(twice)}", "Give each column its own name")


def show_names(names: Iterable[str]) -> str:
    """Names as Python literals, which shows control characters; at most 20."""
    listed = list(names)
    more = f" and {len(listed) - _SHOWN:,} more" if len(listed) > _SHOWN else ""
    return ", ".join(repr(str(name)) for name in listed[:_SHOWN]) + more


def find_columns(table: Table, names: str | Sequence[str], argument: str) -> list[str]:
    """Check that a dataset has one or several columns, each named once; `argument` is named in errors."""
    several = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    columns = table.frame.columns
    for name in several:
        if not isinstance(name, str):
            problem = f"a variable's name must be text, not {type(name).__name__}"
            raise InputError(argument, problem, "Give one name, or a list of names")
        if name not in columns:
            problem = f"there is no variable {name!r}" if name else "a name is empty"
            raise InputError(argument, problem, nearest(name, columns))
        if several.count(name) > 1:
            raise InputError(argument, f"{name!r} is named more than once", "Name it once")
    return several


def from_arrow(arrow: pa.Table, argument: str) -> pd.DataFrame:
    """Convert an Arrow table to a frame, with nullable integers and Booleans beside missing values."""
    check_unique(arrow.column_names, argument)
    return pd.DataFrame({name: series_from_arrow(arrow[name]) for name in arrow.column_names})


def series_from_arrow(column: pa.ChunkedArray, *, gaps: bool = False) -> pd.Series:
    """Convert an Arrow column to pandas, to a nullable type if it has missing values or with `gaps`."""
    # By default, Arrow converts integers with nulls to floats, and Booleans to objects.
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64()).to_pandas()
    gaps = gaps or bool(column.null_count)
    if gaps and pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    if gaps and kind == pa.uint64():
        return column.cast(pa.float64(), safe=False).to_pandas()
    if gaps and pa.types.is_integer(kind):
        return column.cast(pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
        # Categories of Polars, which PyArrow before 23 does not convert.
        column = column.cast(pa.dictionary(pa.int64(), kind.value_type, kind.ordered))
    return column.to_pandas(date_as_object=False)


def to_arrow(frame: pd.DataFrame) -> pa.Table:
    """Convert a frame to an Arrow table."""
    columns = {}
    for name in frame.columns:
        try:
            columns[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, UnicodeError, OverflowError, TypeError, ValueError, AttributeError):
            # Not chained: Arrow's message quotes a value.
            problem = f"the column {name!r} has values of several types, or text that is not Unicode"
            raise InputError("data", problem, "Make it all text or all numbers") from None
    return pa.table(columns)


def whole_if_whole(column: pd.Series) -> pd.Series:
    """Convert floats to integers if none has a fraction: some files store every number as a float."""
    if column.dtype == np.float64 and column.notna().any():
        present = column.dropna().to_numpy()
        if (np.abs(present) < 2**53).all() and (present == np.floor(present)).all():
            return column.astype("int64" if len(present) == len(column) else "Int64")
    return column


def plain_code(code: float | str) -> float | str:
    """The code of a value label as text, integer or float."""
    if isinstance(code, str):
        return code
    return int(code) if float(code).is_integer() else float(code)
