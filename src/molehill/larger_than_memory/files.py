"""Folders of Parquet files that are one dataset, as DuckDB reads them.

The order is fixed: files by their path, and the rows of each as they stand. A record's place in that order, from 0, is
its position.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from molehill.errors import InputError
from molehill.files import folder_written_whole
from molehill.tables.table import check_unique

_UNREADABLE = (pa.ArrowException, OSError, UnicodeError, ValueError, OverflowError)
_GIVE = "Give a folder of Parquet files, or a list of such files"


@dataclass(frozen=True, eq=False, repr=False)
class ParquetFiles:
    """A dataset in Parquet files. Printed, it shows its size, never a value.

    Attributes
    ----------
    paths
        The files, in the order of the records.
    records
        How many records they have together.
    schema
        Names and types of the columns.
    stated
        Those that folders state (`region=North`): categories, and the last.
    value_labels
        As in `Table`; those of the first file.
    argument
        What to call it in errors.
    """

    paths: tuple[Path, ...]
    records: int
    schema: pa.Schema
    stated: tuple[str, ...]
    value_labels: Mapping[str, Mapping[float | str, str]]
    argument: str = "data"

    def __repr__(self) -> str:
        size = f"{self.records:,} records in {len(self.paths):,} files; {len(self.schema):,} columns"
        return f"ParquetFiles({size})"

    def kind_of(self, name: str) -> str:
        """Say whether a column is of "numbers", "dates", "text", "categories", or "others"."""
        of = self.schema.field(name).type
        if pa.types.is_dictionary(of):
            return "categories"
        if any(fits(of) for fits in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)):
            return "numbers"
        if pa.types.is_date(of) or pa.types.is_timestamp(of):
            return "dates"
        return "text" if pa.types.is_string(of) or pa.types.is_large_string(of) else "others"

    def select(self, columns: Sequence[str]) -> str:
        """Write the query for position and cells (c0, c1, ...) of every record; NaN is missing, as in memory."""
        cells = (f"{self._cell(name)} AS c{place}" for place, name in enumerate(columns))
        # Text: 007 is no number.
        options = f"union_by_name=true, hive_partitioning={bool(self.stated)}, hive_types_autocast=false"
        return f"SELECT {', '.join(['row_number() OVER () - 1 AS position', *cells])} FROM {scan(self.paths, options)}"

    def _cell(self, name: str) -> str:
        column, of = quote(name, '"'), self.schema.field(name).type
        if pa.types.is_floating(of):
            return f"nullif({column}, 'nan')"
        return f"CAST({column} AS DOUBLE)" if pa.types.is_decimal(of) or pa.types.is_null(of) else column

    def numbers(self, name: str) -> str:
        """Write the query for the numbers of a column, dates as days: position and x, without what is missing."""
        dates = self.kind_of(name) == "dates"
        number = "epoch_us(CAST(c0 AS TIMESTAMP)) / 86400000000.0" if dates else "CAST(c0 AS DOUBLE)"
        return f"SELECT position, {number} AS x FROM ({self.select([name])}) WHERE c0 IS NOT NULL"


def quote(text: str, mark: str = "'") -> str:
    """Write text, or with double quotes a name, as SQL has it."""
    return mark + text.replace(mark, 2 * mark) + mark


def scan(paths: Iterable[Path], options: str = "hive_partitioning=false") -> str:
    """Write how DuckDB reads Parquet files, which may have any names."""
    listed = ", ".join(quote(re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))) for path in paths)
    # Files of Arrow do not say whether numbers are NaN: else DuckDB takes it that none is, and finds other ones.
    return f"read_parquet([{listed}], can_have_nan=true, {options})"


def open_files(source: Any, *, argument: str = "data") -> ParquetFiles:
    """Look at Parquet files that are one dataset together; no record is read.

    Folders may lie in folders, and one called `region=North` states the column `region` of all records in it, as Hive
    and Spark write them. Files and folders whose name begins with a full stop or an underscore are left out.

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
    ...     write_files([pa.table({"pay": [1, 2]}), pa.table({"pay": [3]})], Path(folder) / "pay")
    ...     open_files(Path(folder) / "pay")
    ParquetFiles(3 records in 2 files; 1 columns)
    """
    if isinstance(source, ParquetFiles):
        return source
    paths, folders = _find_files(source, argument)
    records, schema, coded, notes = 0, pa.schema([]), None, {}
    for number, (path, stated) in enumerate(zip(paths, folders, strict=True), 1):
        # Folders may be called by the values of a column; the name of a file is not.
        called = f"file {number} ({path.name!r})"
        rows, found = _look_at(path, called, argument)
        notes = notes or found.metadata or {}
        found = pa.schema([*found, *((name, pa.dictionary(pa.int32(), pa.string())) for name in stated)])
        # The engine takes a folder's word above the file's, and small letters for capital ones.
        above = {part.partition("=")[0] for part in path.absolute().parts[:-1] if "=" in part}
        check_unique([name.lower() for name in (*found.names, *above - {*stated})], argument)
        records, schema = records + rows, _join(schema if schema.names else found, found, called, argument)
        codes = {entry.name for entry in found if pa.types.is_dictionary(entry.type)}
        coded = codes if coded is None else coded & codes
    if not records:
        raise InputError(argument, "it has no records", "Give a dataset with at least one record")
    types = {
        entry.name: pa.dictionary(pa.int32(), entry.type) if entry.name in coded else entry.type for entry in schema
    }
    labels = json.loads(notes.get(b"molehill", b"{}")).get("value_labels", {})
    values = {name: dict(pairs) for name, pairs in labels.items()}
    return ParquetFiles(tuple(paths), records, pa.schema(list(types.items())), tuple(folders[0]), values, argument)


def write_files(tables: Iterable[pa.Table], folder: str | Path, *, private: bool = False) -> None:
    """Write tables as the files of a dataset, one after the other; the folder appears whole or not at all.

    Parameters
    ----------
    tables
        One for every file, with the same columns.
    folder
        Where it shall be; one that is there is replaced.
    private
        Readable by its owner only (folder 0700, files 0600): for anything at the level of records.
    """
    with folder_written_whole(folder, private=private) as temporary:
        for number, table in enumerate(tables):
            path = temporary / f"part-{number:05}.parquet"
            path.touch(mode=0o600 if private else 0o666)
            parquet.write_table(table, path)


def _find_files(source: Any, argument: str) -> tuple[list[Path], list[list[str]]]:
    """The files in order, and the columns that the folders of each state."""
    if isinstance(source, str | Path) and Path(source).is_dir():
        root = Path(source)
        found = sorted((path.relative_to(root).parts, path) for path in root.rglob("*") if path.is_file())
        found = [(names, path) for names, path in found if not any(name.startswith(("_", ".")) for name in names)]
        found = [(names, path) for names, path in found if path.suffix.lower() == ".parquet"]
        if not found:
            raise InputError(argument, f"the folder {root.name!r} holds no .parquet file", _GIVE)
        return [path for _, path in found], [
            [part.partition("=")[0] for part in names[:-1] if "=" in part] for names, _ in found
        ]
    given = list(source) if isinstance(source, Iterable) and not isinstance(source, str) else [source]
    if not given:
        raise InputError(argument, "it names no file", _GIVE)
    for one in given:
        if not isinstance(one, str | Path):
            raise InputError(argument, f"it is of type {type(one).__name__}, not a path", _GIVE)
        if Path(one).suffix.lower() != ".parquet":
            remedy = "Write it as Parquet first: molehill.write_table"
            raise InputError(argument, f"{Path(one).name!r} is no .parquet file, nor a folder of them", remedy)
        if not Path(one).is_file():
            raise InputError(argument, f"there is no file {Path(one).name!r}", "Check the path")
    return [Path(one) for one in given], [[] for _ in given]


def _look_at(path: Path, called: str, argument: str) -> tuple[int, pa.Schema]:
    try:
        with parquet.ParquetFile(path) as file:
            records, schema = file.metadata.num_rows, file.schema_arrow
    except _UNREADABLE:
        problem = f"{called} is damaged, only half written, or not Parquet"
        raise InputError(argument, problem, "Write it anew, or take it out of the folder") from None
    # Without pandas' own notes an index that has no name is nothing.
    kept = [entry for entry in schema if not re.fullmatch(r"__index_level_\d+__", entry.name)]
    return records, pa.schema(kept, schema.metadata)


def _join(schema: pa.Schema, found: pa.Schema, called: str, argument: str) -> pa.Schema:
    """The columns of files, which must be the same, in types that hold the values of all."""
    for odd in sorted({*schema.names} ^ {*found.names}):
        what = "has no column" if odd in schema.names else "alone has a column"
        raise InputError(argument, f"{called} {what} {odd!r}", "Give files with the same columns, in folders as deep")
    plain = [
        pa.schema([(one.name, getattr(one.type, "value_type", one.type)) for one in fields])
        for fields in (schema, found)
    ]
    try:
        return pa.unify_schemas(plain, promote_options="permissive")
    except pa.ArrowException:
        problem = f"{called} has another type of values in a column than the files before"
        raise InputError(argument, problem, "Write every column with one type in all files") from None
