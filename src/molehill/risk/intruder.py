"""Whose eyes: what an intruder knows and takes for close, and tables as that intruder sees them.

`Intruder.look` reads, types and patterns a confidential table once. Every measure of risk takes the `View` that it
gives, and `read_released` reads released tables by what was learned there: patterns and kinds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Booleans, Floats, FrozenDict, Integers
from molehill.errors import InputError, check_choice, check_names, nearest
from molehill.tables.patterns import Patterns, learn_patterns, match_patterns
from molehill.tables.schema import Kind, Missing, Schema, column_numbers, infer_schema, refuse_infinite
from molehill.tables.table import Table, as_table, as_tables, find_columns, with_columns

SmallPatterns = Literal["maximum_risk", "marginal", "error"]
Radius = float | Mapping[str, float] | None
Floor = float | Mapping[str, float]
# Dates that differ by so many days are close, unless a floor says it.
CLOSE_DAYS = 30.0
# Each column that may be known or not doubles the sets of columns that the risk is a mean over.
_MOST_UNSURE = 8
CHOICES = {
    "small_patterns": ("maximum_risk", "marginal", "error"),
    "missing_values": ("error", "keep"),
}


@dataclass(frozen=True)
class Intruder:
    """An intruder who knows some columns of a person, and the sensitive ones up to a radius.

    Attributes
    ----------
    known
        Columns that the intruder knows, one name or several; none (an empty list) means one pattern for all.
    sensitive
        Columns that are to be protected. Numeric ones are compared by a ball, categorical ones exactly.
    radius
        Relative radius, from 0 to 1, of the closed ball `y - reach <= y_h <= y + reach` with
        `reach = max(radius * |y|, min_radius)`; one number or one per column by name.
    min_radius
        Smallest radius, in the units of the variable; `radius=0, min_radius=5000` is an absolute radius. Of dates it is
        in days, and 30 where nothing is said: a share of a date means nothing.
    breaks
        Groups for numeric known columns, by name: `{"age": [25, 35, 50, 65]}`, left-closed.
    kinds
        Kinds of columns, where the inferred one is not right: `{"grade": "categorical"}`.
    count_self
        Whether a record counts as its own close neighbour, as in the paper. A record far from all others of its
        pattern of M then has risk (M - 1) / M instead of 1: the smallest patterns are protected least.
    small_patterns
        A pattern too small for the order k of the risk: a sample unique, or fewer than k records; also k if a record
        does not count itself. "maximum_risk" (risk 1, weight 0), "marginal" (order 1 there; a sample unique has risk 1
        all the same), or "error".
    missing_values
        A missing sensitive value: "error", or "keep": the record takes no part, its risk is NaN. A missing known
        value is a category of its own.
    knowledge_probability
        How likely the intruder knows a sensitive column, above 0 and up to 1, by name; all others for sure. The risk is
        then the mean over what the intruder may know, each set of columns by its chance.

    Examples
    --------
    >>> Intruder(known=["gender", "age"], sensitive="income", radius=0.2).sensitive
    ('income',)
    """

    known: Sequence[str] | str
    sensitive: Sequence[str] | str
    radius: Radius = None
    min_radius: Floor = 0.0
    breaks: Mapping[str, Sequence[float]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    count_self: bool = False
    small_patterns: SmallPatterns = "maximum_risk"
    missing_values: Missing = "error"
    knowledge_probability: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if not isinstance(self.count_self, bool):
            raise InputError(
                "count_self", "it must be True or False", "Give True to count a record itself, as the paper"
            )
        for name in ("known", "sensitive"):
            object.__setattr__(self, name, check_names(name, getattr(self, name)))
        for name in ("breaks", "kinds"):
            given = getattr(self, name)
            if not isinstance(given, Mapping | None):
                problem = f"it is of type {type(given).__name__}, not {name} by the name of their column"
                example = {"breaks": "{'age': [25, 45]}", "kinds": "{'grade': 'categorical'}"}[name]
                raise InputError(name, problem, f"Write for instance {name}={example}")
            # What is no list of breaks is told when there is a table to say it of.
            entries = {column: _fixed(entry) if name == "breaks" else entry for column, entry in (given or {}).items()}
            object.__setattr__(self, name, FrozenDict(entries))
        for name in ("radius", "min_radius"):
            given = getattr(self, name)
            object.__setattr__(self, name, FrozenDict(given) if isinstance(given, Mapping) else given)
        object.__setattr__(
            self, "knowledge_probability", FrozenDict(_check_likely(self.knowledge_probability, self.sensitive))
        )

    def view(self, data: Any, *, schema: Schema | None = None) -> "View":
        """Read, type and pattern a confidential table; every argument that concerns it is checked before any work.

        What another intruder saw is looked at anew, as far as need be: the patterns of the same known columns are
        found once.

        Parameters
        ----------
        data
            The table.
        schema
            What `decide` said of a larger table, some of whose patterns these are, whole: nothing is decided anew, and
            what that table was checked for is not checked again.
        """
        if not isinstance(data, View):
            return _see(self, as_table(data), None, schema)
        if data.intruder == self:
            return data
        alike = (self.known, self.breaks) == (data.intruder.known, data.intruder.breaks)
        return _see(self, data.table, data.patterns if alike else None, None if data.whole else data.schema)

    def decide(self, data: Any) -> Schema:
        """Settle role and kind of the columns that matter; all that concerns arguments and kinds is checked."""
        table = as_table(data)
        known = find_columns(table, self.known, "known")
        sensitive = find_columns(table, self.sensitive, "sensitive")
        if not sensitive:
            raise InputError("sensitive", "no column is named", "Name the columns to protect")
        schema = infer_schema(
            table,
            known=known,
            sensitive=sensitive,
            kinds=self.kinds,
            breaks=self.breaks,
            missing=self.missing_values,
            columns=[*known, *sensitive],
        )
        _settle_reach(self, schema)
        return schema


def _check_likely(given: Any, sensitive: Sequence[str]) -> dict[str, float]:
    """Accept chances by column; what is sure need not be said."""
    if not isinstance(given, Mapping | None):
        problem = f"it is of type {type(given).__name__}, not chances by the name of their column"
        raise InputError("knowledge_probability", problem, "Write for instance knowledge_probability={'rent': 0.3}")
    for name, chance in (given or {}).items():
        if name not in sensitive:
            raise InputError(
                "knowledge_probability", f"{name!r} is not a sensitive column", nearest(f"{name}", sensitive)
            )
        if isinstance(chance, bool) or not isinstance(chance, Real) or not 0 < float(chance) <= 1:
            raise InputError(
                "knowledge_probability", f"that of {name!r} is no chance", "Give a number above 0, up to 1"
            )
    unsure = {name: float(chance) for name, chance in (given or {}).items() if chance < 1}
    if len(unsure) > _MOST_UNSURE:
        problem = f"{len(unsure)} columns make {2 ** len(unsure):,} sets that may be known"
        raise InputError("knowledge_probability", problem, f"Name at most {_MOST_UNSURE}")
    return unsure


def _fixed(given: Any) -> Any:
    """Give a list or an array as a tuple, in plain numbers."""
    plain = given.tolist() if hasattr(given, "tolist") else given
    listed = isinstance(plain, Iterable) and not isinstance(plain, str | Mapping)
    return tuple(map(_fixed, plain)) if listed else plain


@dataclass(frozen=True, eq=False)
class View:
    """A confidential table as an intruder sees it.

    Attributes
    ----------
    intruder, table, schema
        Whose eyes, the table, and role and kind of the columns that matter.
    patterns, by_cell, pattern_of_cell
        Patterns of the known columns; cells, which are patterns of these and the categorical sensitive columns; and
        the pattern that each cell is in.
    cells
        Cell of every record, -1 for one that takes no part.
    numeric, values
        Names of the numeric sensitive columns, and their values, (records, columns).
    part
        Which records take part: those with their sensitive value; of several, where missing ones are allowed, those
        with any. A missing value is close to nothing but another one.
    radius, min_radius
        For every numeric sensitive column.
    whole
        Whether it is all of the table; else only some of its patterns are here, each whole.
    """

    intruder: Intruder
    table: Table
    schema: Schema
    patterns: Patterns
    by_cell: Patterns
    pattern_of_cell: Integers
    cells: Integers
    numeric: tuple[str, ...]
    values: Floats
    part: Booleans
    radius: Floats
    min_radius: Floats
    whole: bool = True

    def __repr__(self) -> str:
        return f"View({self.records:,} records in {self.patterns.number:,} patterns)"

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.part)

    @property
    def complete(self) -> bool:
        """Whether a record takes part only with all its sensitive values."""
        return self.intruder.missing_values == "error" or len(self.intruder.sensitive) == 1

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Records in every record's pattern."""
        return self.sizes[self.patterns.codes]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records in every pattern, of those that take part."""
        codes = self.patterns.codes
        return np.bincount(codes if self.part.all() else codes[self.part], minlength=self.patterns.number)

    def column(self, name: str) -> Floats:
        """Give the values of a numeric sensitive column, NaN where missing."""
        # Of several columns some may be missing in a record that takes part.
        values = self.values[:, self.numeric.index(name)] if self.complete else column_numbers(self.table, name)
        return np.where(self.part, values, np.nan)

    def at(self, radius: Radius) -> "View":
        """The same table to an intruder with another radius."""
        dates = frozenset(name for name in self.numeric if self.schema[name].kind == "date")
        relative, least = _check_radius(radius, self.intruder.min_radius, self.numeric, dates)
        return replace(self, intruder=replace(self.intruder, radius=radius), radius=relative, min_radius=least)

    def alone(self, *columns: str) -> "View":
        """The same table to an intruder who asks for one, or some, of the sensitive columns alone."""
        if self.intruder.sensitive == columns and not self.intruder.knowledge_probability:
            return self
        own, kinds = self.intruder, {name: self.schema[name].kind for name in columns}
        only: dict[str, Any] = {"knowledge_probability": {}}
        for name, nothing in (("radius", None), ("min_radius", 0.0)):
            given = getattr(own, name)
            by_name = isinstance(given, Mapping)
            told = {column: given[column] for column in columns if column in given} if by_name else given
            only[name] = (told or nothing) if by_name else told
        return replace(own, sensitive=columns, kinds={**own.kinds, **kinds}, **only).view(self)

    @cached_property
    def may_know(self) -> "list[tuple[float, View | None]]":
        """The sets of sensitive columns that the intruder may know, each with its chance; None for none of them."""
        unsure = list(self.intruder.knowledge_probability)
        found = []
        for known in product((True, False), repeat=len(unsure)):
            chances = [self.intruder.knowledge_probability[name] for name in unsure]
            chance = float(np.prod([p if here else 1 - p for p, here in zip(chances, known, strict=True)]))
            left = {name for name, here in zip(unsure, known, strict=True) if not here}
            columns = [name for name in self.intruder.sensitive if name not in left]
            found.append((chance, self.alone(*columns) if columns else None))
        return found


@dataclass(frozen=True, eq=False)
class Reading:
    """A released table read like the confidential one, with the released record of every confidential one.

    `view` is what it was read by. `rows` is the row of every confidential record in the table, -1 if it has none, and
    None where it is the same row.
    """

    view: View
    table: Table
    values: Floats
    part: Booleans
    patterns: Integers
    cells: Integers
    size: NDArray[np.int64]
    rows: NDArray[np.intp] | None

    def column(self, name: str) -> Floats:
        """Give the values of a numeric sensitive column, NaN where missing."""
        place = self.view.numeric.index(name)
        values = self.values[:, place] if self.view.complete else column_numbers(self.table, name, "released")
        return np.where(self.part, values, np.nan)

    @cached_property
    def own_cells(self) -> Integers:
        """The cell of every confidential record's own released one, -1 if there is none."""
        # Who has none is given a last one, which is of no cell.
        return self.cells if self.rows is None else np.append(self.cells, -1)[self.rows]

    @cached_property
    def own_values(self) -> Floats:
        """The values of every confidential record's own released one."""
        if self.rows is None:
            return self.values
        return np.concatenate([self.values, np.zeros((1, self.values.shape[1]))])[self.rows]


def as_view(data: Any, intruder: Intruder | None) -> View:
    """See a table as an intruder does; what was looked at already says itself who looked."""
    if intruder is None and isinstance(data, View):
        return data
    if not isinstance(intruder, Intruder):
        problem = "it is not an Intruder"
        raise InputError("intruder", problem, "Write Intruder(known=['age'], sensitive='income', radius=0.2)")
    return intruder.view(data)


def read_released(view: View, released: Any, id_column: str | None = None, *, linked: bool = True) -> list[Reading]:
    """Read released tables by what was learned from the confidential one.

    Tables that were read already are taken as they are, if what they were read by cuts the confidential table into the
    same cells, and read again, with the same records linked, if not.

    Parameters
    ----------
    view
        The confidential table.
    released
        One released table, or a sequence of them.
    key
        Column that names the record, in all tables; without it records are linked by position.
    linked
        Whether released records are those of people at all: of new people none is.
    """
    if isinstance(released, list) and released and all(isinstance(one, Reading) for one in released):
        return [one if _alike(one.view, view) else _read(view, one.table, one.rows) for one in released]
    nobody = None if linked else np.full(view.records, -1)
    tables = as_tables(released)
    return [_read(view, table, _link_records(view, table, id_column) if linked else nobody) for table in tables]


def read_part(view: View, table: Table, rows: NDArray[np.intp]) -> Reading:
    """Read some records of a released table: all those whose pattern may be one of the view, which is no whole table.

    `rows` says where every confidential record's own released one is, -1 where it is elsewhere.
    """
    return _read(view, table, rows)


def _alike(one: View, other: View) -> bool:
    """Whether two views read a released table in the same way; the radius does not matter."""
    return (
        one.by_cell is other.by_cell
        and one.numeric == other.numeric
        and one.intruder.missing_values == other.intruder.missing_values
    )


def _settle_reach(intruder: Intruder, schema: Schema) -> tuple[tuple[str, ...], Floats, Floats]:
    """Give the numeric sensitive columns, and the relative radius and the floor of each."""
    numeric = tuple(name for name in intruder.sensitive if schema[name].kind != "categorical")
    dates = frozenset(name for name in numeric if schema[name].kind == "date")
    return numeric, *_check_radius(intruder.radius, intruder.min_radius, numeric, dates)


def _see(intruder: Intruder, table: Table, patterns: Patterns | None, larger: Schema | None = None) -> View:
    known, sensitive = list(intruder.known), list(intruder.sensitive)
    own = intruder.decide(table) if larger is None else larger
    schema = Schema(tuple(own[name] for name in (*known, *sensitive)))
    numeric, relative, least = _settle_reach(intruder, schema)
    exact = [name for name in sensitive if name not in numeric]

    patterns = patterns or learn_patterns(table, known, intruder.breaks)
    several = intruder.missing_values != "error" and len(sensitive) > 1
    exact_cells = [*exact, *(_gap(name) for name in numeric if several)]
    marked = _mark_gaps(table, numeric) if several else table
    by_cell = learn_patterns(marked, [*known, *exact_cells], intruder.breaks) if exact_cells else patterns
    pattern_of_cell = np.arange(patterns.number)
    if exact_cells:
        pattern_of_cell = np.zeros(by_cell.number, dtype=np.int64)
        pattern_of_cell[by_cell.codes] = patterns.codes
    values, part = _read_sensitive(table, numeric, exact, intruder.missing_values, "data", whole=larger is None)
    cells = by_cell.codes if part.all() else np.where(part, by_cell.codes, -1)
    places = (patterns, by_cell, pattern_of_cell, cells)
    return View(intruder, table, schema, *places, numeric, values, part, relative, least, larger is None)


def _read(view: View, table: Table, rows: NDArray[np.intp] | None) -> Reading:
    sensitive = view.schema.having("sensitive")
    if not table.frame.columns.equals(view.table.frame.columns):
        find_columns(table, [*view.schema.having("known"), *sensitive], "released")
    exact = [name for name in sensitive if name not in view.numeric]
    whole = view.whole
    values, part = _read_sensitive(table, view.numeric, exact, view.intruder.missing_values, "released", whole=whole)
    patterns = match_patterns(view.patterns, table, whole=whole)
    if view.complete:
        cells = match_patterns(view.by_cell, table, whole=whole) if exact else patterns
    else:
        cells = match_patterns(view.by_cell, _mark_gaps(table, view.numeric), whole=whole)
    size = view.size
    if patterns is not view.patterns.codes or not (part.all() and view.part.all()):
        patterns, cells = np.where(part, patterns, -1), np.where(part, cells, -1)
        size = np.bincount(patterns[patterns >= 0], minlength=view.patterns.number)[view.patterns.codes]
    return Reading(view, table, values, part, patterns, cells, size, rows)


def _link_records(view: View, table: Table, key: str | None) -> NDArray[np.intp] | None:
    """Row of the released table for every confidential record (-1: none); None means the same row."""
    if key is None:
        if len(table.frame) != view.records:
            raise InputError(
                "released",
                f"it has {len(table.frame):,} records where the confidential table has {view.records:,}",
                "Give the column that names the record as `id_column` (--id); or, for fully synthetic data, "
                "fully_synthetic=True (--fully-synthetic)",
            )
        return None
    find_columns(view.table, key, "id_column")
    find_columns(table, key, "id_column")
    ours, theirs = pd.Index(view.table.frame[key]), pd.Index(table.frame[key])
    for index, name in ((ours, "the confidential table"), (theirs, "a released table")):
        if not index.is_unique or index.hasnans:
            raise InputError(
                "id_column", f"column {key!r} of {name} has repeated or missing values", "Use a unique key"
            )
    return theirs.get_indexer(ours)


def find_rows(view: View, table: Table) -> NDArray[np.intp] | None:
    """Find the rows of records that stand in another order, by the variables that are released unchanged.

    None if they stand in the same one, or are not the same records. Who share all of these may be exchanged.
    """
    own, other = view.table.frame, table.frame
    names = [name for name in own if name in other and name not in view.schema.having("sensitive")]
    names = [name for name in names if not own[name].equals(other[name])]
    if not {*names} & {*view.schema.having("known")}:
        return None
    number, both = len(own), np.zeros(2 * len(own), dtype=np.int64)
    for name in names:
        try:
            codes = pd.factorize(pd.concat([own[name], other[name]], ignore_index=True), use_na_sentinel=False)[0]
        except TypeError:
            continue
        # Others are synthesized.
        before, after = (np.bincount(side, minlength=codes.max() + 1) for side in np.split(codes, 2))
        if np.array_equal(before, after):
            both = np.unique(both * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    ours, theirs = (np.argsort(side, kind="stable") for side in np.split(both, 2))
    if not both.any() or not np.array_equal(both[:number][ours], both[number:][theirs]):
        return None
    rows = np.empty(number, dtype=np.intp)
    rows[ours] = theirs
    return rows


def _gap(name: str) -> str:
    """What the mark of a column's missing values is called: as no column is."""
    return f"\0gap of {name}"


def _mark_gaps(table: Table, numeric: Sequence[str]) -> Table:
    """Add to a table where each numeric column is missing, so that a gap is close to nothing but a gap."""
    return with_columns(table, {_gap(name): table.frame[name].isna() for name in numeric})


def _read_sensitive(
    table: Table, numeric: Sequence[str], exact: Sequence[str], missing: Missing, argument: str, *, whole: bool
) -> tuple[Floats, Booleans]:
    """Numeric values, (records, columns), 0 where missing, and which records take part."""
    present, columns = [], []
    for name in numeric:
        values = column_numbers(table, name, argument)
        present.append(~np.isnan(values))
        if not np.isfinite(values).all():
            refuse_infinite(values, name, argument)
            values = np.nan_to_num(values)
        columns.append(values)
    present += [table.frame[name].notna().to_numpy() for name in exact]
    part = np.asarray(np.all(present, axis=0) if missing == "error" else np.any(present, axis=0))
    if whole and not part.all():
        rows = np.flatnonzero(~part)
        check_missing(len(part), len(rows), int(rows[0]), missing, argument)
    if len(columns) == 1:
        return columns[0].reshape(-1, 1), part
    return (np.column_stack(columns) if columns else np.empty((len(part), 0))), part


def check_missing(records: int, gaps: int, first: int, missing: Missing, argument: str) -> None:
    """Refuse a table with so many records that take no part, the first of them in that row, counted from 0."""
    # Of a released table that may have missing values, it is no mistake: what few people have may be drawn for nobody.
    if gaps == records and (missing == "error" or argument != "released"):
        raise InputError(argument, "no record has all its sensitive values", "Choose other sensitive columns")
    if missing == "error":
        raise InputError(
            argument,
            f"{gaps} records have a missing sensitive value, the first in row {first + 1}",
            "Impute or remove them, or choose missing_values='keep' to leave them out",
        )


def _check_radius(radius: Radius, floor: Floor, columns: Sequence[str], dates: frozenset[str]) -> tuple[Floats, Floats]:
    """Give the relative radius and the floor of every numeric sensitive column; a share of a date means nothing."""
    if radius is None and {*columns} - dates:
        raise InputError("radius", "the sensitive columns are numeric and need one", "Give it, such as 0.2 for 20%")
    named = [name for name in dates if isinstance(radius, Mapping) and radius.get(name)]
    if named:
        problem = f"{named[0]!r} holds dates, of which a share means nothing"
        raise InputError("radius", problem, f"Say how many days are close: min_radius={{{named[0]!r}: 30}}")
    if isinstance(radius, Mapping):
        radius = {**dict.fromkeys(dates, 0.0), **radius}
    relative = _per_column("radius", 0.0 if radius is None else radius, columns)
    floor = {**dict.fromkeys(dates, CLOSE_DAYS), **floor} if isinstance(floor, Mapping) and dates else floor
    least = _per_column("min_radius", floor, columns)
    dated = np.array([name in dates for name in columns], dtype=bool)
    relative[dated] = 0.0
    least[dated & (least == 0)] = CLOSE_DAYS
    if (relative > 1).any():
        raise InputError(
            "radius",
            "a relative radius above 1 would reach past zero",
            "For 20 percent write 0.2; for a radius in the units of the data write radius=0 and min_radius=20",
        )
    if ((relative == 0) & (least == 0)).any():
        raise InputError(
            "radius",
            "it is 0, so that no two different values would be close",
            "Give a radius such as 0.2, or a min_radius for a radius in the units of the data, "
            "or call the column categorical for exact matches only",
        )
    return relative, least


def _per_column(argument: str, given: float | Mapping[str, float], columns: Sequence[str]) -> Floats:
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
