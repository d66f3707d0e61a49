"""What is decided of all records before chunks are measured: kinds of columns, and what files are refused for."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from molehill.errors import InputError
from molehill.larger_than_memory.files import ParquetFiles
from molehill.risk.intruder import Intruder, check_missing
from molehill.tables.cells import are_numbers, judge_cells
from molehill.tables.schema import (
    LOOKED_AT,
    Kind,
    Schema,
    column_numbers,
    infinite_in,
    kind_of_numbers,
    numbers_in_text,
    stray_among,
)
from molehill.tables.table import Table, find_columns, series_from_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Different dates that are looked at, and different texts: a column with more of these is none of numbers or codes.
_MOST_DATES, _MOST_TEXTS = 51, 1_000_000
_SHOWN = 5


def check_columns(files: ParquetFiles, intruder: Intruder) -> list[str]:
    """Give the known and sensitive columns, all of which the files must have."""
    if not isinstance(intruder, Intruder):
        problem = "it is not an Intruder"
        raise InputError("intruder", problem, "Write Intruder(known=['age'], sensitive='income', radius=0.2)")
    names = Table(pd.DataFrame(columns=files.schema.names))
    arguments = ("known", "sensitive") if files.argument == "data" else (files.argument,) * 2
    known, sensitive = map(find_columns, (names, names), (intruder.known, intruder.sensitive), arguments)
    return list(dict.fromkeys([*known, *sensitive]))


def numeric_names(intruder: Intruder, schema: Schema) -> list[str]:
    """Give the sensitive columns that are compared by size."""
    return [name for name in intruder.sensitive if schema[name].kind != "categorical"]


def decide(connection: "DuckDBPyConnection", files: ParquetFiles, intruder: Intruder, columns: list[str]) -> Schema:
    """Settle role and kind of the columns, as `Intruder.decide` does of a table in memory: of a small one like it."""
    frame, kinds = dict.fromkeys(files.schema.names, pd.Series([None], dtype=object)), {}
    for name in columns:
        kind = files.kind_of(name)
        if kind == "numbers":
            kinds[name], frame[name] = _find_kind(connection, files, name), pd.Series([0.0])
            continue
        if kind == "text" and (name in intruder.sensitive or name not in intruder.kinds):
            _check_text(connection, files, name, sensitive=name in intruder.sensitive)
        which, most = ("DISTINCT c0", _MOST_DATES) if kind == "dates" else ("c0", 1)
        query = f"SELECT {which} FROM ({files.select([name])}) WHERE c0 IS NOT NULL LIMIT {most}"
        found = connection.sql(query).to_arrow_table()["c0"]
        # What text it is was looked at.
        like = {"text": pd.Series(["a"], dtype=object), "categories": pd.Series(["a"], dtype="category")}
        frame[name] = like[kind][: len(found)] if kind in like else series_from_arrow(found, gaps=True)
    rows = range(max(map(len, frame.values())))
    table = Table(pd.DataFrame({name: column.reindex(rows) for name, column in frame.items()}))
    table.seen_kinds.update(kinds)
    return intruder.decide(table)


def check_values(connection: "DuckDBPyConnection", files: ParquetFiles, intruder: Intruder, schema: Schema) -> None:
    """Refuse columns that are no numbers, infinite values and missing ones, as of a table in memory."""
    for name in (*intruder.breaks, *numeric_names(intruder, schema)):
        none = series_from_arrow(pa.chunked_array([], files.schema.field(name).type))
        column_numbers(Table(pd.DataFrame({name: none})), name, files.argument)
        first = _ask(connection, f"SELECT min(position) FROM ({files.numbers(name)}) WHERE isinf(x)")[0]
        if first is not None:
            raise infinite_in(name, first, "data" if name in intruder.breaks else files.argument)
    sensitive = intruder.sensitive
    missing = f" {'OR' if intruder.missing_values == 'error' else 'AND'} ".join(
        f"c{place} IS NULL" for place in range(len(sensitive))
    )
    number, first = _ask(connection, f"SELECT count(*), min(position) FROM ({files.select(sensitive)}) WHERE {missing}")
    if number:
        check_missing(files.records, number, first, intruder.missing_values, files.argument)


def _ask(connection: "DuckDBPyConnection", query: str) -> tuple[Any, ...]:
    return connection.execute(query).fetchall()[0]


def _find_kind(connection: "DuckDBPyConnection", files: ParquetFiles, name: str) -> tuple[Kind, str]:
    """Tell the kind of a column of numbers, by evenly spaced ones, their ends, and whether all are whole."""
    codes = [f"{float(code)!r}" for code in files.value_labels.get(name, {}) if not isinstance(code, str)]
    labelled = f"bool_and(x IN ({', '.join(codes)}))" if codes else "false"
    figures = f"count(*), min(x), max(x), bool_and(x = floor(x)), {labelled}"
    number, least, most, whole, labelled = _ask(connection, f"SELECT {figures} FROM ({files.numbers(name)})")
    if not number or labelled:
        return "categorical", "value labels name every value" if number else "every value is missing"
    ranks = np.linspace(0, number - 1, min(LOOKED_AT, number)).astype(np.int64)
    ranked = f"SELECT x, row_number() OVER () - 1 AS rank FROM ({files.numbers(name)})"
    query = f"SELECT x FROM ({ranked}) WHERE rank IN (SELECT unnest(?))"
    looked_at = connection.execute(query, [np.unique(ranks).tolist()]).fetchall()
    return kind_of_numbers(np.array(looked_at)[:, 0], number, (least, most), whole=whole)


def _check_text(connection: "DuckDBPyConnection", files: ParquetFiles, name: str, *, sensitive: bool) -> None:
    """Refuse text that is numbers, or dates, but for some cells, and sensitive numbers that are written as text."""
    query = f"SELECT c0, count(*) FROM ({files.select([name])}) WHERE c0 IS NOT NULL GROUP BY c0"
    counted = connection.execute(f"{query} LIMIT {_MOST_TEXTS + 1}").fetchall()
    if len(counted) > _MOST_TEXTS:
        return
    texts = Counter[str]()
    for text, number in counted:
        texts[text.strip()] += number
    cells = list(texts)
    wrong, others = judge_cells(cells, np.array(list(texts.values())))
    if len(wrong):
        stray = {cells[index] for index in wrong}
        query = (
            f"SELECT position + 1 FROM ({files.select([name])}) WHERE list_contains(?, c0) ORDER BY 1 LIMIT {_SHOWN}"
        )
        found = connection.execute(query, [[text for text, _ in counted if text.strip() in stray]]).fetchall()
        raise stray_among(name, others, sum(texts[cell] for cell in stray), [row for (row,) in found])
    if sensitive and are_numbers(cells):
        raise numbers_in_text(name)
