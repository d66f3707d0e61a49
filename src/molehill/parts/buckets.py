"""Records shuffled by their pattern: every pattern lies whole in one of some buckets, in the order of the dataset.

Buckets are private files in a temporary folder. Whoever measures one is told its path, and leaves what was found
beside it, so that it makes no difference where that happens.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from molehill.arrays import Integers
from molehill.errors import InputError, check_number, check_whole
from molehill.parts.dataset import Dataset, read_batches, to_frame
from molehill.runtime import available_memory
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

# Bytes at once for a cell that is read, and for a record that is measured, in each table.
_CELL_BYTES, _RECORD_BYTES = 48, 200
# Some files are open for each; systems allow a thousand.
_MOST_BUCKETS = 256
# Buckets are made smaller than they may be, because patterns are of different sizes.
_SPARE = 4
_LEAST_BATCH, _MOST_BATCH = 1_000, 1_000_000
_UNTOLD_MEMORY = 4 * 2**30


@dataclass(frozen=True)
class Sizes:
    """How much is held at once: bytes in all, records of a batch, and how many buckets that takes."""

    memory: int
    batch: int
    buckets: int
    record: int


def choose_sizes(records: int, columns: int, *, tables: int = 1, memory: Any = None, buckets: Any = None) -> Sizes:
    """Choose batches and buckets for so many records, columns and tables.

    Parameters
    ----------
    records, columns, tables
        How many there are; tables are the confidential one and the released ones.
    memory
        Bytes that may be held at once; by default half of what is free.
    buckets
        How many, for who knows better.

    Examples
    --------
    >>> choose_sizes(100_000_000, 4, memory=2**30).buckets
    147
    """
    free = available_memory()
    bound = (
        (_UNTOLD_MEMORY if free is None else free // 2) if memory is None else check_number("memory", memory, above=0)
    )
    record = tables * (_RECORD_BYTES + _CELL_BYTES * columns)
    needed = -(-_SPARE * records * record // max(int(bound), 1))
    number = min(max(needed, 1), _MOST_BUCKETS) if buckets is None else check_whole("buckets", buckets, 1)
    batch = min(max(int(bound) // (2 * _SPARE * record), _LEAST_BATCH), _MOST_BATCH)
    return Sizes(int(bound), batch, number, record)


def check_buckets(counts: Integers, sizes: Sizes) -> None:
    """Refuse buckets of which one cannot be held: then a single pattern is too large."""
    largest = int(counts.max())
    if largest * sizes.record > sizes.memory and largest > _LEAST_BATCH:
        needed = largest * sizes.record / 2**30
        problem = f"the {largest:,} records of the largest patterns need about {needed:,.2f} GiB at once"
        raise InputError("memory", problem, "Allow more memory, or let the intruder know more columns, or finer ones")


@contextmanager
def temporary_folder(folder: str | Path | None, out: str | Path | None = None) -> Iterator[Path]:
    """Give a private folder that is gone when the block ends, however it ends.

    It lies in `folder`, or else beside `out`, or else where the system keeps what is temporary.
    """
    near = folder if folder is not None else None if out is None else Path(out).absolute().parent
    if near is not None and not Path(near).is_dir():
        problem = f"there is no folder {str(near)!r}"
        raise InputError("folder" if folder is not None else "out", problem, "Make the folder first")
    # Only its owner may enter (mode 0700).
    made = Path(tempfile.mkdtemp(prefix=".molehill-parts-", dir=near))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def bucket_of(
    table: pa.Table, known: Sequence[str], breaks: Mapping[str, Sequence[float]], buckets: int
) -> NDArray[np.int64]:
    """Give the bucket of every record, by a hash of its pattern: equal values have equal ones, in any type of numbers.

    Examples
    --------
    >>> towns = pa.table({"town": ["A", "B", None, "A"]})
    >>> found = bucket_of(towns, ["town"], {}, 1000)
    >>> bool(found[0] == found[3]), len(set(found.tolist()))
    (True, 3)
    """
    code = np.zeros(len(table), dtype=np.uint64)
    for name in known:
        code = _mix(code * np.uint64(31) + _hash_column(table, name, breaks.get(name)))
    return ((code >> np.uint64(20)) % np.uint64(buckets)).astype(np.int64)


def _hash_column(table: pa.Table, name: str, breaks: Sequence[float] | None) -> NDArray[np.uint64]:
    column = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind):
        # A day and its first moment are equal.
        unit = pa.duration("us") if pa.types.is_duration(kind) else pa.timestamp("us", getattr(kind, "tz", None))
        column = column.cast(unit, safe=False).view(pa.int64())
        kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        gone = np.isnan(numbers)
        if breaks is not None:
            numbers = np.searchsorted(np.asarray(breaks, dtype=np.float64), numbers, side="right").astype(np.float64)
        # Zero has two signs.
        codes = _mix((numbers + 0.0).view(np.uint64))
    else:
        coded = column.dictionary_encode()
        gone = column.is_null().to_numpy(zero_copy_only=False)
        values = np.array([f"{value}" for value in coded.dictionary.to_pylist()] or [""], dtype=object)
        places = coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        codes = pd.util.hash_array(values, categorize=False)[places]
    codes[gone] = np.uint64(1)
    return codes


def _mix(code: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The end of splitmix64: every bit depends on all."""
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def shuffle(
    dataset: Dataset,
    folder: Path,
    called: str,
    columns: Sequence[str],
    known: Sequence[str],
    breaks: Mapping[str, Sequence[float]],
    sizes: Sizes,
) -> NDArray[np.int64]:
    """Write every record to the file of its bucket, with its place in the dataset; give the records of every bucket.

    Parameters
    ----------
    dataset
        What to shuffle.
    folder, called
        A folder for every bucket is in the first; the file there is called by the second.
    columns, known, breaks
        The columns to take along, and what makes the patterns.
    sizes
        Of batches, and how many buckets.
    """
    counts, place = np.zeros(sizes.buckets, dtype=np.int64), 0
    with ExitStack() as open_files:
        writers: dict[int, Any] = {}
        for batch in read_batches(dataset, columns, records=sizes.batch):
            plain = _plain(batch, place)
            codes = bucket_of(batch, known, breaks, sizes.buckets)
            order, found = np.argsort(codes, kind="stable"), np.bincount(codes, minlength=sizes.buckets)
            sorted_, start = plain.take(pa.array(order)), 0
            for bucket in np.flatnonzero(found).tolist():
                piece = _coded(sorted_.slice(start, int(found[bucket])))
                if bucket not in writers:
                    path = bucket_path(folder, bucket, called)
                    path.parent.mkdir(mode=0o700, exist_ok=True)
                    sink = open_files.enter_context(pa.OSFile(str(path), "wb"))
                    writers[bucket] = open_files.enter_context(pa.ipc.new_stream(sink, piece.schema))
                writers[bucket].write_table(piece)
                start += int(found[bucket])
            counts += found
            place += len(batch)
    return counts


def bucket_path(folder: Path, bucket: int, called: str) -> Path:
    """Where the records of a bucket are."""
    return folder / f"{bucket:04}" / f"{called}.arrow"


def load_bucket(
    path: Path, columns: Sequence[str], gaps: frozenset[str], dataset_schema: pa.Schema
) -> tuple[Table, NDArray[np.int64]]:
    """Read a bucket: its records as a table, and the place of each in the dataset, which rises."""
    if not path.parent.is_dir():
        problem = "a worker does not see the folder that the records were laid into"
        raise InputError("folder", problem, "Use one that all machines share: beside --out, or where TMPDIR says")
    if path.exists():
        with pa.OSFile(str(path), "rb") as file:
            found = pa.ipc.open_stream(file).read_all().unify_dictionaries()
    else:
        types = [dataset_schema.field(name).type for name in columns]
        found = pa.table([pa.array([], pa.int64()), *(pa.array([], type_) for type_ in types)], names=_numbers(columns))
    places = found.column(0).to_numpy()
    records = found.remove_column(0).rename_columns(list(columns))
    return Table(to_frame(records, gaps)), places


def _numbers(columns: Sequence[str]) -> list[str]:
    # By numbers: a column may be called by any name.
    return [f"{number}" for number in range(len(columns) + 1)]


def _plain(batch: pa.Table, place: int) -> pa.Table:
    arrays = [pa.chunked_array([pa.array(np.arange(place, place + len(batch)))])]
    for column in batch.columns:
        coded = pa.types.is_dictionary(column.type)
        arrays.append(column.cast(column.type.value_type) if coded else column)
    return pa.table(arrays, names=_numbers(batch.column_names))


def _coded(piece: pa.Table) -> pa.Table:
    """The same with text as codes: here, so that only what is in the piece is listed."""
    arrays = []
    for column in piece.columns:
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        arrays.append(column.combine_chunks().dictionary_encode() if text else column)
    return pa.table(arrays, names=piece.column_names)


def numbers_of(batch: pa.Table, name: str, argument: str) -> NDArray[np.float64]:
    """Give a column of a batch as numbers, dates as days, NaN where missing; an error if it is neither."""
    return column_numbers(Table(to_frame(batch.select([name]), frozenset())), name, argument)
