"""A table in memory: a frame with what its file said about the columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals
import pandas as pd
import pyarrow as pa

from molehill.errors import InputError


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
    # What `infer_kind` found, so that a column is looked at once.
    kinds: dict[str, Any] = field(default_factory=dict, init=False, repr=False)


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
        table = Table(from_arrow(native.to_arrow(), argument))
    _check_shape(table.frame, argument)
    index = table.frame.index
    if not (isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1):
        table = replace(table, frame=table.frame.reset_index(drop=True))
    return table


def as_tables(released: Any) -> list[Table]:
    """Take one released table or a sequence of them."""
    tables = list(released) if isinstance(released, list | tuple) else [released]
    if not tables:
        raise InputError("released", "it holds no table", "Give one table or a sequence of tables")
    return [as_table(table, argument="released") for table in tables]


def _check_shape(frame: pd.DataFrame, argument: str) -> None:
    # A column of text names needs no look at each: this is called for every table of a release.
    text = isinstance(frame.columns.dtype, pd.StringDtype) and not frame.columns.hasnans
    if not text and not all(isinstance(name, str) for name in frame.columns):
        problem = "some columns have names that are not text"
        raise InputError(argument, problem, "Rename them, for instance by data.columns.astype(str)")
    if not frame.columns.is_unique:
        check_unique(list(frame.columns), argument)
    if not len(frame.columns):
        raise InputError(argument, "it has no columns", "Give a table with columns")
    if not len(frame):
        raise InputError(argument, "it has no records", "Give a table with at least one record")


def check_unique(names: Sequence[str], argument: str) -> None:
    """Refuse a name that stands more than once."""
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    if twice:
        called = ", ".join(repr(name) for name in sorted(twice))
        raise InputError(argument, f"several columns are called {called}", "Give each column its own name")


def from_arrow(arrow: pa.Table, argument: str) -> pd.DataFrame:
    """Turn an Arrow table into a frame, whole numbers and true/false staying so beside missing values."""
    check_unique(arrow.column_names, argument)
    return pd.DataFrame({name: series_from_arrow(arrow[name]) for name in arrow.column_names})


def series_from_arrow(column: pa.ChunkedArray) -> pd.Series:
    """Turn one Arrow column into a pandas one."""
    # Left to itself, Arrow makes whole numbers with gaps into fractions, and true/false into objects.
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64()).to_pandas()
    if column.null_count and pa.types.is_boolean(kind):
        return column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get)
    if column.null_count and pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return column.to_pandas(date_as_object=False)


def to_arrow(frame: pd.DataFrame) -> pa.Table:
    """Turn a frame into an Arrow table, or say which column cannot be."""
    columns = {}
    for name in frame.columns:
        try:
            columns[name] = pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, UnicodeError, OverflowError, TypeError):
            # Not chained: Arrow's own words quote a value.
            problem = f"the column {name!r} mixes kinds of values, or holds text that is not Unicode"
            raise InputError("data", problem, "Make it all text or all numbers") from None
    return pa.table(columns)


def plain_code(code: float | str) -> float | str:
    """Give the code of a value label as text, as a whole number where it is one, or as it is."""
    if isinstance(code, str):
        return code
    return int(code) if float(code).is_integer() else float(code)
