"""Confidential and released data read together, whole or by group, for the utility measures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError, check_choice
from molehill.surveys.design import Sample, SurveyDesign
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.schema import Missing, column_numbers
from molehill.tables.table import Table, as_table, as_tables, find_columns

GroupColumns = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Side:
    """Some variables of one dataset, or of one group of it.

    Attributes
    ----------
    argument, where
        Its name in errors.
    frame
        The variables. With a survey design, of the whole dataset: a group is a domain, not a sample.
    sample
        The survey design as arrays, if there is one.
    rows
        With a design, the records of the group; None for all.
    """

    argument: str
    where: str
    frame: pd.DataFrame
    sample: Sample | None = None
    rows: Booleans | None = None

    @property
    def group(self) -> Booleans:
        """Which records of the frame are of the group."""
        return np.ones(len(self.frame), dtype=bool) if self.rows is None else self.rows

    @property
    def weights(self) -> Floats:
        """Survey weight of every record; 1 without a design."""
        return np.ones(len(self.frame)) if self.sample is None else self.sample.weights

    def refuse(self, problem: str, remedy: str) -> InputError:
        """Build an error that names the dataset and group."""
        return InputError(self.argument, f"{self.where}{problem}", remedy)


@dataclass(frozen=True, eq=False)
class Part:
    """One group (or all records) of the confidential data and of every released dataset; `group` is its label."""

    group: str
    confidential: Side
    released: tuple[Side, ...]

    @property
    def sides(self) -> tuple[Side, ...]:
        """All datasets, the confidential data first."""
        return (self.confidential, *self.released)


def read_parts(
    data: Any,
    released: Any,
    columns: Iterable[str],
    *,
    groups: GroupColumns,
    missing: Missing,
    argument: str,
    design: SurveyDesign | None = None,
    hidden: Sequence[str] = (),
) -> list[Part]:
    """Read the variables that are needed, and split the records into groups if requested.

    A group is a pattern of the confidential data's group variables; missing is a value of its own. Every group must
    occur in every dataset. With a survey design, a released dataset is read by the design variables that it contains
    unchanged and that are not hidden; without its weight it is read unweighted.
    """
    check_choice("missing", missing, ("error", "keep"))
    names = list(dict.fromkeys(columns))
    table, others = as_table(data), as_tables(released)
    samples = _read_samples(table, others, design, hidden)
    find_columns(table, names, argument)
    by = [] if groups is None else find_columns(table, groups, "groups")
    for other in others:
        find_columns(other, [*names, *(name for name in by if name not in names)], "released")
    called = ["" if len(others) == 1 else f"in table {number}, " for number in range(1, len(others) + 1)]
    if not by:
        sides = [
            Side("released", where, other.frame[names], sample)
            for where, other, sample in zip(called, others, samples[1:], strict=True)
        ]
        return [Part("", Side("data", "", table.frame[names], samples[0]), tuple(sides))]

    patterns = learn_patterns(table, by)
    codes = [match_patterns(patterns, other) for other in others]
    labels = patterns.labels().agg(", ".join, axis=1)
    parts = []
    for number, pattern in enumerate(np.argsort(labels.to_numpy(dtype=object), kind="stable"), 1):
        # Errors give the number of a group: its label is a value of the dataset.
        group = f"group {number} of {', '.join(map(repr, by))}"
        own = _cut("data", f"in {group}, ", table.frame[names], samples[0], patterns.codes == pattern)
        sides = []
        for where, other, sample, code in zip(called, others, samples[1:], codes, strict=True):
            rows = code == pattern
            if not rows.any():
                raise InputError("released", f"{where}no record belongs to {group}", "Use coarser groups")
            sides.append(_cut("released", f"{where}in {group}, ", other.frame[names], sample, rows))
        parts.append(Part(labels[pattern], own, tuple(sides)))
    return parts


def read_numbers(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> Floats:
    """Numeric variables, (variables, records), of the complete records; an error if fewer than `least`."""
    values, rows = read_whole(side, columns, missing, least=least)
    return values if rows.all() else values[:, rows]


def read_whole(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> tuple[Floats, Booleans]:
    """Numeric variables, (variables, records), of all records, and which records are complete and in the group.

    An error if fewer than `least` of these have a weight.
    """
    table = Table(side.frame)
    values = np.stack([column_numbers(table, name, side.argument) for name in columns])
    for name, numbers in zip(columns, values, strict=True):
        if np.isinf(numbers).any():
            raise side.refuse(f"variable {name!r} holds an infinite value", "Correct or remove the record")
    rows = _take_part(side, columns, np.asarray(~np.isnan(values).any(axis=0)), missing)
    _check_number(side, int((rows & (side.weights > 0)).sum()), least)
    return values, rows


def read_complete(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> pd.DataFrame:
    """Variables of any kind of the complete records; an error if fewer than `least`."""
    rows = find_complete(side, columns, missing, least=least)
    frame = side.frame[list(columns)]
    return frame if rows.all() else frame[rows].reset_index(drop=True)


def find_complete(side: Side, columns: Sequence[str], missing: Missing, *, least: int = 1) -> Booleans:
    """Which records are complete and in the group; an error if fewer than `least`."""
    present = np.asarray(side.frame[list(columns)].notna().to_numpy().all(axis=1))
    rows = _take_part(side, columns, present, missing)
    _check_number(side, int((rows & (side.weights > 0)).sum()), least)
    return rows


def _read_samples(
    table: Table, others: Sequence[Table], design: SurveyDesign | None, hidden: Sequence[str]
) -> list[Sample | None]:
    """Survey designs of all datasets, the confidential data first."""
    if design is None:
        return [None] * (1 + len(others))
    if not isinstance(design, SurveyDesign):
        problem = f"it is of type {type(design).__name__}, not a SurveyDesign"
        raise InputError("design", problem, "For example SurveyDesign(weight='weight')")
    own = design.read(table)
    samples: list[Sample | None] = [own]
    for other in others:
        shown = [name for _, name in design.columns if name in other.frame and name not in hidden]
        kept = [name for name in shown if other.frame[name].equals(table.frame[name])]
        # Synthesized strata and clusters are not used; a synthesized weight is.
        known = design.among([*kept, *(name for name in shown if name == design.weight)])
        try:
            # An unchanged design is not read again.
            same = known == design and design.weight in kept
            samples.append(own if same else None if known is None else known.read(other))
        except InputError as error:
            raise InputError("released", f"{error.argument}: {error.problem}", error.remedy) from None
    return samples


def _cut(argument: str, where: str, frame: pd.DataFrame, sample: Sample | None, rows: Booleans) -> Side:
    """One group of a dataset; with a survey design, the whole dataset with the group marked."""
    if sample is None:
        return Side(argument, where, frame[rows].reset_index(drop=True))
    return Side(argument, where, frame, sample, rows)


def _take_part(side: Side, columns: Sequence[str], present: Booleans, missing: Missing) -> Booleans:
    group = side.group
    lost = int((group & ~present).sum())
    if lost and missing == "error":
        named = " or ".join(map(repr, columns))
        raise side.refuse(
            f"{lost:,} records have a missing value of {named}",
            "Impute or remove them, or use missing='keep' to leave them out",
        )
    return group & present


def _check_number(side: Side, records: int, least: int) -> None:
    if records < least:
        problem = f"{records} records have a value, but {least} are needed"
        raise side.refuse(problem, "Use more records, or coarser groups")
