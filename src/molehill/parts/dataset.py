"""A table that lies in parts: Parquet files in a folder, which are one table together.

The order is fixed: parts by their path, and the rows of each as they stand. A record's place in that order is its
identity, from 0 up.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from molehill.arrays import FrozenDict
from molehill.errors import InputError, nearest
from molehill.files import folder_written_whole
from molehill.tables.table import Table, check_unique, series_from_arrow

# What Hive calls the folder of a missing value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_UNREADABLE = (pa.ArrowException, OSError, UnicodeError, ValueError, OverflowError)
# Records that are read at once, if nobody says how many.
BATCH = 250_000


@dataclass(frozen=True)
class Part:
    """One file of a dataset: where it lies, how many records it has, and what its folders say of all of them."""

    path: Path
    records: int
    folders: Mapping[str, str | int | None] = field(default_factory=FrozenDict)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table in parts. Printed, it shows its size, never a value.

    Attributes
    ----------
    parts
        The files, in the order of the records.
    schema
        Names and types of the columns of all parts, those of the folders last.
    column_labels, value_labels
        As in `Table`; those of the first part.
    argument
        What to call it in errors.
    """

    parts: tuple[Part, ...]
    schema: pa.Schema
    column_labels: Mapping[str, str]
    value_labels: Mapping[str, Mapping[float | str, str]]
    argument: str = "data"

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(part.records for part in self.parts)

    def __repr__(self) -> str:
        return f"Dataset({self.records:,} records in {len(self.parts):,} parts; {len(self.schema):,} columns)"


def open_dataset(source: Any, *, argument: str = "data") -> Dataset:
    """Look at Parquet files that are one table together; no record is read.

    Folders may lie in folders, and one called `region=North` says what the column `region` is for all records in it, as
    Hive and Spark write them. Files and folders whose name begins with a full stop or an underscore are left out.

    Parameters
    ----------
    source
        A folder, a Parquet file, or a list of Parquet files; their order is that of the records.
    argument
        What to call it in errors.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_dataset([pa.table({"pay": [1, 2]}), pa.table({"pay": [3]})], Path(folder) / "pay")
    ...     open_dataset(Path(folder) / "pay")
    Dataset(3 records in 2 parts; 1 columns)
    """
    if isinstance(source, Dataset):
        return source
    paths, folders = _find_files(source, argument)
    said = _settle_folders(folders, argument)
    parts, types, notes = [], {}, None
    for number, (path, own) in enumerate(zip(paths, said, strict=True), 1):
        records, schema = _look_at(path, number, argument)
        both = [name for name in own if name in schema.names]
        if both:
            problem = f"{both[0]!r} is a column of {_called(path, number)} and the name of its folder as well"
            raise InputError(argument, problem, "Leave it out of the file, or rename the folders")
        types = _join_types(types, schema, path, number, argument)
        notes = schema.metadata if notes is None else notes
        parts.append(Part(path, records, FrozenDict(own)))
    if not sum(part.records for part in parts):
        raise InputError(argument, "it has no records", "Give a dataset with at least one record")
    types |= {name: pa.int64() if _are_whole(said, name) else pa.string() for name in said[0]}
    labels = json.loads((notes or {}).get(b"molehill", b"{}"))
    values = {name: dict(pairs) for name, pairs in labels.get("value_labels", {}).items()}
    return Dataset(tuple(parts), pa.schema(list(types.items())), labels.get("column_labels", {}), values, argument)


def read_batches(dataset: Dataset, columns: Sequence[str], *, records: int = BATCH) -> Iterator[pa.Table]:
    """Read some columns of a dataset in batches of at most so many records, in its order; each of the same types.

    Parameters
    ----------
    dataset
        As `open_dataset` gives it.
    columns
        The names of the columns.
    records
        How many records to hold at once.
    """
    for name in columns:
        if name not in dataset.schema.names:
            problem = f"there is no column {name!r}"
            raise InputError(dataset.argument, problem, nearest(f"{name}", dataset.schema.names))
    schema = pa.schema([dataset.schema.field(name) for name in columns])
    for number, part in enumerate(dataset.parts, 1):
        read = 0
        for batch in _read_part(part, columns, records, number, dataset.argument):
            arrays = [
                pa.repeat(pa.scalar(part.folders[entry.name], entry.type), len(batch))
                if entry.name in part.folders
                else _cast(batch[entry.name], entry.type)
                for entry in schema
            ]
            read += len(batch)
            yield pa.table(arrays, schema=schema)
        if read != part.records:
            problem = f"{_called(part.path, number)} has changed since it was opened"
            raise InputError(dataset.argument, problem, "Open it again, when nothing writes to it any more")


def write_dataset(tables: Iterable[pa.Table], folder: str | Path, *, private: bool = False) -> None:
    """Write tables as the parts of a dataset, one after the other as they come; the folder appears whole or not at all.

    Parameters
    ----------
    tables
        One for every part, with the same columns; those without a record are left out.
    folder
        Where it shall be; one that is there is replaced.
    private
        Readable by its owner only (folder 0700, files 0600): for anything at the level of records.
    """
    with folder_written_whole(folder, private=private) as temporary:
        number = 0
        for table in tables:
            if len(table):
                path = temporary / f"part-{number:05}.parquet"
                path.touch(mode=0o600 if private else 0o666)
                parquet.write_table(table, path)
                number += 1


def as_whole(dataset: Dataset) -> Table:
    """Read all of a dataset into memory, as a table: for one that fits."""
    whole = pa.concat_tables(read_batches(dataset, dataset.schema.names)).unify_dictionaries()
    return Table(to_frame(whole, frozenset()), dataset.column_labels, dataset.value_labels)


def to_frame(table: pa.Table, gaps: frozenset[str]) -> pd.DataFrame:
    """Turn some records into a frame; of the columns in `gaps` others, somewhere else, are missing."""
    return pd.DataFrame({name: series_from_arrow(table[name], gaps=name in gaps) for name in table.column_names})


def _find_files(source: Any, argument: str) -> tuple[list[Path], list[tuple[str, ...]]]:
    """The files in order, and the folders in which each lies."""
    if isinstance(source, str | Path):
        root = Path(source)
        if root.is_dir():
            found = sorted((path.relative_to(root).parts, path) for path in root.rglob("*") if _is_part(path, root))
            if not found:
                problem = f"the folder {root.name!r} holds no .parquet file"
                raise InputError(argument, problem, "Give a folder of Parquet files")
            return [path for _, path in found], [names[:-1] for names, _ in found]
        given: list[Any] = [root]
    else:
        given = list(source) if isinstance(source, Iterable) else [source]
    for one in given:
        if not isinstance(one, str | Path):
            problem = f"it is of type {type(one).__name__}, not a path"
            raise InputError(argument, problem, "Give a folder of Parquet files, or a list of such files")
    paths = [Path(one) for one in given]
    if not paths:
        raise InputError(argument, "it names no file", "Give a folder of Parquet files, or a list of such files")
    for path in paths:
        if path.suffix.lower() != ".parquet":
            remedy = "Write it as Parquet first: molehill.write_table"
            raise InputError(argument, f"{path.name!r} is no .parquet file, nor a folder of them", remedy)
        if not path.is_file():
            raise InputError(argument, f"there is no file {path.name!r}", "Check the path")
    return paths, [()] * len(paths)


def _is_part(path: Path, root: Path) -> bool:
    hidden = any(name.startswith(("_", ".")) for name in path.relative_to(root).parts)
    return not hidden and path.suffix.lower() == ".parquet" and path.is_file()


def _called(path: Path, number: int) -> str:
    # Folders may be called by the values of a column; the name of a file is not.
    return f"part {number} ({path.name!r})"


def _settle_folders(folders: Sequence[tuple[str, ...]], argument: str) -> list[dict[str, str | int | None]]:
    """What the names of its folders say of each file: whole numbers if all are, else text."""
    said: list[dict[str, Any]] = []
    for names in folders:
        pairs = [name.partition("=") for name in names if "=" in name]
        told = {_decode(key): None if value == _NO_VALUE else _decode(value) for key, _, value in pairs}
        if said and list(told) != list(said[0]):
            problem = "its parts lie in folders that name different columns"
            raise InputError(argument, problem, "Let all lie as deep, such as region=North/year=2020/part.parquet")
        said.append(told)
    for name in said[0]:
        if _are_whole(said, name):
            said = [one | {name: None if one[name] is None else int(one[name])} for one in said]
    return said


def _decode(name: str) -> str:
    """Give the text that a folder is named by: Hive writes what a name must not have as %2F."""
    plain = re.sub(
        rb"%([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), name.encode("utf-8", "surrogateescape")
    )
    return plain.decode("utf-8", "replace")


def _are_whole(said: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [f"{one[name]}" for one in said if one[name] is not None]
    return bool(values) and all(re.fullmatch(r"-?(0|[1-9]\d{0,17})", value, re.ASCII) for value in values)


def _look_at(path: Path, number: int, argument: str) -> tuple[int, pa.Schema]:
    try:
        with parquet.ParquetFile(path) as file:
            records, schema = file.metadata.num_rows, file.schema_arrow
    except _UNREADABLE:
        raise _damaged(path, number, argument) from None
    check_unique(schema.names, argument)
    # Without pandas' own notes an index that has no name is nothing.
    kept = [entry for entry in schema if not re.fullmatch(r"__index_level_\d+__", entry.name)]
    return records, pa.schema(kept, schema.metadata)


def _damaged(path: Path, number: int, argument: str) -> InputError:
    problem = f"{_called(path, number)} is damaged, only half written, or not Parquet"
    return InputError(argument, problem, "Write it anew, or take it out of the folder")


def _join_types(
    types: dict[str, pa.DataType], schema: pa.Schema, path: Path, number: int, argument: str
) -> dict[str, pa.DataType]:
    """Types that fit all parts so far and this one, which must have the same columns."""
    if not types:
        return {entry.name: entry.type for entry in schema}
    for names, others, what in ((types, schema.names, "has no column"), (schema.names, types, "alone has a column")):
        odd = [name for name in names if name not in others]
        if odd:
            problem = f"{_called(path, number)} {what} {odd[0]!r}"
            raise InputError(argument, problem, "Give parts with the same columns")
    joined = {}
    for name, type_ in types.items():
        found = _common(type_, schema.field(name).type)
        if found is None:
            problem = f"{_called(path, number)} has another type of values in {name!r} than the parts before"
            raise InputError(argument, problem, "Write the column with one type in all parts")
        joined[name] = found
    return joined


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if one.equals(other) or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    coded = [pa.types.is_dictionary(type_) for type_ in (one, other)]
    if any(coded):
        values = _common(*(getattr(type_, "value_type", type_) for type_ in (one, other)))
        return pa.dictionary(pa.int32(), values) if values is not None and all(coded) else values
    fields = [pa.schema([pa.field("column", type_)]) for type_ in (one, other)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return column if column.type.equals(type_) else column.cast(type_, safe=False)


def _read_part(
    part: Part, columns: Sequence[str], records: int, number: int, argument: str
) -> Iterator[pa.RecordBatch]:
    own = [name for name in columns if name not in part.folders]
    if not own:
        # What the folders say needs no file: as many records of nothing.
        for first in range(0, part.records, records):
            yield pa.record_batch({"": pa.nulls(min(records, part.records - first))})
        return
    try:
        with parquet.ParquetFile(part.path, pre_buffer=False) as file:
            yield from file.iter_batches(records, columns=own)
    except _UNREADABLE:
        raise _damaged(part.path, number, argument) from None
