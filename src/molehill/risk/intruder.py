"""Tables read for comparison: patterns, cells and values as arrays.

The confidential side is read once, and what was learned from it (patterns, kinds) reads every released table alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.errors import InputError, check_choice, nearest
from molehill.risk.balls import Floats, Integers
from molehill.tables.patterns import Patterns, learn_patterns, match_patterns
from molehill.tables.schema import Kind, Schema, column_numbers, find_columns, infer_schema
from molehill.tables.table import Table, as_table

Missing = Literal["error", "keep"]
Radius = float | Mapping[str, float] | None
Floor = float | Mapping[str, float]
Breaks = Mapping[str, Sequence[float]] | None
Kinds = Mapping[str, Kind] | None


@dataclass(frozen=True, eq=False)
class Confidential:
    """The confidential side of a comparison.

    Attributes
    ----------
    table, schema
        The table, and role and kind of the columns that matter.
    patterns, by_cell, pattern_of_cell
        Patterns of the known columns; cells, which are patterns of these and the categorical sensitive columns; and
        the pattern that each cell is in.
    cells
        Cell of every record, -1 for one that takes no part.
    numeric, values
        Names of the numeric sensitive columns, and their values, (records, columns).
    part
        Which records have all their sensitive values.
    radius, floor
        For every numeric sensitive column.
    """

    table: Table
    schema: Schema
    patterns: Patterns
    by_cell: Patterns
    pattern_of_cell: Integers
    cells: Integers
    numeric: tuple[str, ...]
    values: Floats
    part: NDArray[np.bool_]
    radius: Floats
    floor: Floats

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.part)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Records in every record's pattern."""
        return self.sizes[self.patterns.codes]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records in every pattern, of those that take part."""
        codes = self.patterns.codes
        return np.bincount(codes if self.part.all() else codes[self.part], minlength=self.patterns.number)


@dataclass(frozen=True, eq=False)
class Released:
    """A released table read like the confidential one, with the released record of every confidential one."""

    values: Floats
    cells: Integers
    size: NDArray[np.int64]
    own_cells: Integers
    own_values: Floats


def read_confidential(
    data: Any,
    known: str | Sequence[str],
    sensitive: str | Sequence[str],
    radius: Radius,
    floor: Floor,
    missing: Missing,
    breaks: Breaks,
    kinds: Kinds,
) -> Confidential:
    """Read the confidential table, and check every argument that concerns it, before any work."""
    check_choice("missing", missing, ("error", "keep"))
    table = as_table(data)
    known = find_columns(table, known, "known")
    sensitive = find_columns(table, sensitive, "sensitive")
    if not sensitive:
        raise InputError("sensitive", "no column is named", "Name the columns to protect")
    schema = infer_schema(
        table,
        known=known,
        sensitive=sensitive,
        kinds=kinds,
        breaks=breaks,
        missing=missing,
        columns=[*known, *sensitive],
    )
    numeric = tuple(name for name in sensitive if schema[name].kind != "categorical")
    exact = [name for name in sensitive if name not in numeric]
    relative, least = check_radius(radius, floor, numeric)

    patterns = learn_patterns(table, known, breaks)
    by_cell = learn_patterns(table, [*known, *exact], breaks) if exact else patterns
    pattern_of_cell = np.arange(patterns.number)
    if exact:
        pattern_of_cell = np.zeros(by_cell.number, dtype=np.int64)
        pattern_of_cell[by_cell.codes] = patterns.codes
    values, part = _read_sensitive(table, numeric, exact, missing, "data")
    cells = by_cell.codes if part.all() else np.where(part, by_cell.codes, -1)
    return Confidential(
        table, schema, patterns, by_cell, pattern_of_cell, cells, numeric, values, part, relative, least
    )


def read_released(side: Confidential, table: Table, key: str | None, missing: Missing) -> Released:
    """Read a released table by what was learned from the confidential one."""
    sensitive = side.schema.having("sensitive")
    if not table.frame.columns.equals(side.table.frame.columns):
        find_columns(table, [*side.schema.having("known"), *sensitive], "released")
    links = _link_records(side, table, key)
    exact = [name for name in sensitive if name not in side.numeric]
    values, part = _read_sensitive(table, side.numeric, exact, missing, "released")
    patterns = match_patterns(side.patterns, table)
    cells = match_patterns(side.by_cell, table) if exact else patterns
    size = side.size
    if patterns is not side.patterns.codes or not (part.all() and side.part.all()):
        patterns, cells = np.where(part, patterns, -1), np.where(part, cells, -1)
        size = np.bincount(patterns[patterns >= 0], minlength=side.patterns.number)[side.patterns.codes]
    if links is None:
        return Released(values, cells, size, cells, values)
    return Released(values, cells, size, np.where(links >= 0, cells[links], -1), values[links])


def as_tables(released: Any) -> list[Table]:
    """Take one released table or a sequence of them."""
    tables = list(released) if isinstance(released, list | tuple) else [released]
    if not tables:
        raise InputError("released", "it holds no table", "Give one table or a sequence of tables")
    return [as_table(table, argument="released") for table in tables]


def _link_records(side: Confidential, table: Table, key: str | None) -> NDArray[np.intp] | None:
    """Row of the released table for every confidential record (-1: none); None means the same row."""
    if key is None:
        if len(table.frame) != side.records:
            raise InputError(
                "released",
                f"it has {len(table.frame):,} records where the confidential table has {side.records:,}",
                "Give the column that names the record as `key`",
            )
        return None
    find_columns(side.table, key, "key")
    find_columns(table, key, "key")
    ours, theirs = pd.Index(side.table.frame[key]), pd.Index(table.frame[key])
    for index, name in ((ours, "the confidential table"), (theirs, "a released table")):
        if not index.is_unique or index.hasnans:
            raise InputError("key", f"column {key!r} of {name} has repeated or missing values", "Use a unique key")
    return theirs.get_indexer(ours)


def _read_sensitive(
    table: Table, numeric: Sequence[str], exact: Sequence[str], missing: Missing, argument: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Numeric values, (records, columns), and which records have all their sensitive values."""
    part = np.ones(len(table.frame), dtype=bool)
    columns = []
    for name in numeric:
        values = column_numbers(table, name, argument)
        if not np.isfinite(values).all():
            _refuse_infinite(values, name, argument)
            part &= ~np.isnan(values)
            values = np.nan_to_num(values)
        columns.append(values)
    for name in exact:
        part &= table.frame[name].notna().to_numpy()
    if not part.all():
        _check_missing(part, missing, argument)
    if len(columns) == 1:
        return columns[0].reshape(-1, 1), part
    return (np.column_stack(columns) if columns else np.empty((len(part), 0))), part


def _refuse_infinite(values: Floats, name: str, argument: str) -> None:
    rows = np.flatnonzero(np.isinf(values))
    if len(rows):
        problem = f"column {name!r} is infinite in row {rows[0] + 1}"
        raise InputError(argument, problem, "Correct or remove the record")


def _check_missing(part: NDArray[np.bool_], missing: Missing, argument: str) -> None:
    if not part.any():
        raise InputError(argument, "no record has all its sensitive values", "Choose other sensitive columns")
    if missing == "error":
        rows = np.flatnonzero(~part)
        raise InputError(
            argument,
            f"{len(rows)} records have a missing sensitive value, the first in row {rows[0] + 1}",
            "Impute or remove them, or choose missing='keep' to leave them out",
        )


def check_radius(
    radius: float | Mapping[str, float] | None, floor: float | Mapping[str, float], columns: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the relative radius and the floor of every numeric sensitive column."""
    if radius is None and columns:
        raise InputError("radius", "the sensitive columns are numeric and need one", "Give it, such as 0.2 for 20%")
    relative = _per_column("radius", 0.0 if radius is None else radius, columns)
    least = _per_column("floor", floor, columns)
    if (relative > 1).any():
        raise InputError(
            "radius",
            "a relative radius above 1 would reach past zero",
            "For 20 percent write 0.2; for a radius in the units of the data write radius=0 and floor=20",
        )
    if ((relative == 0) & (least == 0)).any():
        raise InputError(
            "radius",
            "it is 0, so that no two different values would be close",
            "Give a radius such as 0.2, or a floor for a radius in the units of the data, "
            "or call the column categorical for exact matches only",
        )
    return relative, least


def _per_column(argument: str, given: float | Mapping[str, float], columns: Sequence[str]) -> NDArray[np.float64]:
    if isinstance(given, Mapping):
        for name in given:
            if name not in columns:
                raise InputError(argument, f"{name!r} is not a numeric sensitive column", nearest(str(name), columns))
        lacking = [name for name in columns if name not in given]
        if lacking:
            raise InputError(
                argument, f"it says nothing of {lacking[0]!r}", "Give one for every numeric sensitive column"
            )
        numbers = [given[name] for name in columns]
    else:
        numbers = [given] * len(columns)
    for number in [given] if not isinstance(given, Mapping) else numbers:
        if isinstance(number, bool) or not isinstance(number, Real) or not np.isfinite(float(number)):
            raise InputError(argument, "it must be a finite number", "Give a number, or one for every column by name")
        if number < 0:
            raise InputError(argument, "it is negative", "Give a number from 0 up")
    return np.array(numbers, dtype=np.float64)
