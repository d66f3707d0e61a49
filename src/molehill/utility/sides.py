"""Confidential and released tables side by side, whole or group by group, as the measures of utility read them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError, check_choice
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.schema import Missing, column_numbers
from molehill.tables.table import Table, as_table, as_tables, find_columns

GroupColumns = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Side:
    """Some columns of one table, or of one group of it, and what to call that in an error."""

    argument: str
    where: str
    frame: pd.DataFrame

    def refuse(self, problem: str, remedy: str) -> InputError:
        """Make the error that says where it is."""
        return InputError(self.argument, f"{self.where}{problem}", remedy)


@dataclass(frozen=True, eq=False)
class Part:
    """One group (or all) of the confidential table and of every released one; `group` is its name in words."""

    group: str
    confidential: Side
    released: tuple[Side, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """All of them, the confidential one first."""
        return (self.confidential, *self.released)


def read_parts(
    data: Any, released: Any, columns: Iterable[str], *, groups: GroupColumns, missing: Missing, argument: str
) -> list[Part]:
    """Read the columns that are needed, and split the records into groups if there are any.

    A group is a pattern of the confidential table's group columns, a missing value being a value of its own; the
    records of a released table are sorted into groups by its own columns. Every group must occur in every table.
    """
    check_choice("missing", missing, ("error", "keep"))
    names = list(dict.fromkeys(columns))
    table, others = as_table(data), as_tables(released)
    find_columns(table, names, argument)
    by = [] if groups is None else find_columns(table, groups, "groups")
    for other in others:
        find_columns(other, [*names, *(name for name in by if name not in names)], "released")
    called = ["" if len(others) == 1 else f"in table {number}, " for number in range(1, len(others) + 1)]
    if not by:
        sides = [
            Side("released", where, _pick(other, names, None)) for where, other in zip(called, others, strict=True)
        ]
        return [Part("", Side("data", "", _pick(table, names, None)), tuple(sides))]

    patterns = learn_patterns(table, by)
    codes = [match_patterns(patterns, other) for other in others]
    labels = patterns.labels().agg(", ".join, axis=1)
    parts = []
    for number, pattern in enumerate(np.argsort(labels.to_numpy(dtype=object), kind="stable"), 1):
        # In errors a group is a number: its label is a value of the table.
        group = f"group {number} of {', '.join(map(repr, by))}"
        own = Side("data", f"in {group}, ", _pick(table, names, patterns.codes == pattern))
        sides = []
        for where, other, code in zip(called, others, codes, strict=True):
            rows = code == pattern
            if not rows.any():
                raise InputError("released", f"{where}there is no record of {group}", "Use coarser groups")
            sides.append(Side("released", f"{where}in {group}, ", _pick(other, names, rows)))
        parts.append(Part(labels[pattern], own, tuple(sides)))
    return parts


def read_numbers(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> Floats:
    """Give numeric columns, (columns, records), of the records that have them all; at least so many records."""
    table = Table(side.frame)
    values = np.stack([column_numbers(table, name, side.argument) for name in columns])
    for name, numbers in zip(columns, values, strict=True):
        if np.isinf(numbers).any():
            raise side.refuse(f"column {name!r} holds an infinite value", "Correct or remove the record")
    present = np.asarray(~np.isnan(values).any(axis=0))
    if not present.all():
        values = values[:, _take_part(side, columns, present, missing)]
    _check_number(side, values.shape[1], least)
    return values


def read_complete(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> pd.DataFrame:
    """Give columns of any kind, of the records that have them all; at least so many records."""
    frame = side.frame[list(columns)]
    present = np.asarray(frame.notna().to_numpy().all(axis=1))
    if not present.all():
        frame = frame[_take_part(side, columns, present, missing)].reset_index(drop=True)
    _check_number(side, len(frame), least)
    return frame


def _pick(table: Table, names: list[str], rows: Booleans | None) -> pd.DataFrame:
    frame = table.frame[names]
    return frame if rows is None else frame[rows].reset_index(drop=True)


def _take_part(side: Side, columns: Sequence[str], present: Booleans, missing: Missing) -> Booleans:
    if missing == "error":
        named = " or ".join(map(repr, columns))
        raise side.refuse(
            f"{int((~present).sum()):,} records have no value of {named}",
            "Impute or remove them, or choose missing='keep' to leave them out",
        )
    return present


def _check_number(side: Side, records: int, least: int) -> None:
    if records < least:
        problem = f"there are {records} records with a value where {least} are needed"
        raise side.refuse(problem, "Use more records, or coarser groups")
