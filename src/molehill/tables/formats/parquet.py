"""Parquet files: the dataset with all its labels."""

import json
import re
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.formats.given import Given
from molehill.tables.table import Table, check_memory, check_width, from_arrow, plain_code, to_arrow


def read_parquet(source: Path, _given: Given) -> Table:
    """Read a Parquet file, with the labels written by `write_parquet`."""
    try:
        # From a path, Arrow would turn a folder named year=2020 into a column.
        with source.open("rb") as file:
            notes = parquet.read_metadata(file)
            check_width(notes.num_columns, "path")
            groups = [notes.row_group(number) for number in range(notes.num_row_groups)]
            check_memory(2 * sum(group.total_byte_size for group in groups), "path", notes.num_rows, notes.num_columns)
            file.seek(0)
            arrow = parquet.read_table(file)
        labels = json.loads((arrow.schema.metadata or {}).get(b"molehill", b"{}"))
        # Without pandas metadata a named index is read as a column.
        arrow = arrow.replace_schema_metadata(None)
        unnamed = [name for name in arrow.column_names if re.fullmatch(r"__index_level_\d+__", name)]
        frame = from_arrow(arrow.drop_columns(unnamed), "path")
        values = {name: dict(pairs) for name, pairs in labels.get("value_labels", {}).items()}
        return Table(frame, labels.get("column_labels", {}), values)
    except InputError:
        raise
    except (pa.ArrowException, OSError, UnicodeError, ValueError, AttributeError, TypeError, OverflowError):
        raise InputError("path", "the file is damaged, or not Parquet", "Write it again") from None


def write_parquet(table: Table, path: Path, *, private: bool) -> None:
    """Write a dataset with its labels."""
    # Pairs, because keys of JSON objects are text.
    values = {name: [(plain_code(c), codes[c]) for c in codes] for name, codes in table.value_labels.items()}
    labels = json.dumps({"column_labels": dict(table.column_labels), "value_labels": values})
    arrow = to_arrow(table.frame).replace_schema_metadata({"molehill": labels})
    with written_whole(path, private=private) as temporary:
        parquet.write_table(arrow, temporary)
