"""The intruder model: key variables, sensitive variables and radius, and the data grouped accordingly.

`Intruder.view` checks, types and groups the confidential data once. Every risk measure takes the resulting `View`;
`read_released` reads released datasets by the patterns and kinds of that view.
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
# Minimum radius for dates, in days, unless one is given.
CLOSE_DAYS = 30.0
# Standard errors of a count, beyond which it is larger than another one by no chance.
_BY_CHANCE = 4.0
# The risk is a mean over all subsets of the variables that may be known: 2 to the power of this at most.
_MOST_UNSURE = 8
CHOICES = {
    "small_patterns": ("maximum_risk", "marginal", "error"),
    "missing_values": ("error", "keep"),
}


@dataclass(frozen=True)
class Intruder:
    """What an intruder knows: the key variables, and the sensitive variables up to a radius.

    Attributes
    ----------
    known
        Key variables (quasi-identifiers), one name or several. An empty list puts all records into one pattern.
    sensitive
        Sensitive variables. Numeric ones are compared within a radius, categorical ones exactly.
    radius
        Relative radius, from 0 to 1, of the closed ball `y - reach <= y_h <= y + reach` with
        `reach = max(radius * |y|, min_radius)`; one number or one per variable by name.
    min_radius
        Smallest radius, in the units of the variable; `radius=0, min_radius=5000` is an absolute radius. For dates
        it is in days, by default 30; a relative radius does not apply to them.
    breaks
        Bins of numeric key variables, by name, left-closed: `{"age": [25, 35, 50, 65]}`.
    kinds
        Kinds of variables, where the inferred kind is wrong: `{"grade": "categorical"}`.
    count_self
        Whether a record counts as its own close neighbour, as in the paper. A record with no close neighbour in a
        pattern of M then has risk (M - 1) / M instead of 1, so that the smallest patterns are protected least.
    small_patterns
        Treatment of patterns too small for order k (sample uniques; fewer than k records, or k if a record does not
        count itself): "maximum_risk" (risk 1, weight 0), "marginal" (order 1 instead; a sample unique still has risk
        1), or "error".
    missing_values
        Missing sensitive values: "error", or "keep" (the record is left out, its risk is NaN). A missing value of a
        key variable is a category of its own.
    knowledge_probability
        By name, the probability (above 0, up to 1) that the intruder knows a sensitive variable; 1 by default. The
        risk is then the mean over the sets of variables the intruder may know, weighted by their probabilities.

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
                "count_self", "it must be True or False", "Use True to count a record itself, as the paper does"
            )
        for name in ("known", "sensitive"):
            object.__setattr__(self, name, check_names(name, getattr(self, name)))
        for name in ("breaks", "kinds"):
            given = getattr(self, name)
            if not isinstance(given, Mapping | None):
                problem = f"it is of type {type(given).__name__}, expected {name} by variable name"
                example = {"breaks": "{'age': [25, 45]}", "kinds": "{'grade': 'categorical'}"}[name]
                raise InputError(name, problem, f"Write for example {name}={example}")
            # Breaks are checked against the data by `view`.
            entries = {column: _fixed(entry) if name == "breaks" else entry for column, entry in (given or {}).items()}
            object.__setattr__(self, name, FrozenDict(entries))
        for name in ("radius", "min_radius"):
            given = getattr(self, name)
            object.__setattr__(self, name, FrozenDict(given) if isinstance(given, Mapping) else given)
        object.__setattr__(
            self, "knowledge_probability", FrozenDict(_check_likely(self.knowledge_probability, self.sensitive))
        )

    def view(self, data: Any, *, schema: Schema | None = None) -> "View":
        """Check, type and group the confidential data. A view of another intruder is reused as far as possible.

        Parameters
        ----------
        data
            The confidential data, or a view of it.
        schema
            For a chunk of a larger dataset that holds whole patterns: what `decide` returned for the larger one.
        """
        if not isinstance(data, View):
            return _see(self, as_table(data), None, schema)
        if data.intruder == self:
            return data
        alike = (self.known, self.breaks) == (data.intruder.known, data.intruder.breaks)
        return _see(self, data.table, data.patterns if alike else None, None if data.whole else data.schema)

    def decide(self, data: Any) -> Schema:
        """Infer role and kind of the key and sensitive variables, and check all arguments that concern them."""
        table = as_table(data)
        known = find_columns(table, self.known, "known")
        sensitive = find_columns(table, self.sensitive, "sensitive")
        if not sensitive:
            raise InputError("sensitive", "no variable is named", "Name at least one sensitive variable")
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
    """Check the probabilities by variable; return those below 1."""
    if not isinstance(given, Mapping | None):
        problem = f"it is of type {type(given).__name__}, expected probabilities by variable name"
        raise InputError("knowledge_probability", problem, "Write for example knowledge_probability={'rent': 0.3}")
    for name, chance in (given or {}).items():
        if name not in sensitive:
            raise InputError(
                "knowledge_probability", f"{name!r} is not a sensitive variable", nearest(f"{name}", sensitive)
            )
        if isinstance(chance, bool) or not isinstance(chance, Real) or not 0 < float(chance) <= 1:
            raise InputError(
                "knowledge_probability", f"the value for {name!r} is no probability", "Use a number above 0, up to 1"
            )
    unsure = {name: float(chance) for name, chance in (given or {}).items() if chance < 1}
    if len(unsure) > _MOST_UNSURE:
        problem = f"{len(unsure)} variables give {2 ** len(unsure):,} sets that the intruder may know"
        raise InputError("knowledge_probability", problem, f"Name at most {_MOST_UNSURE}")
    return unsure


def _fixed(given: Any) -> Any:
    """Convert a list or array to a tuple of plain numbers."""
    plain = given.tolist() if hasattr(given, "tolist") else given
    listed = isinstance(plain, Iterable) and not isinstance(plain, str | Mapping)
    return tuple(map(_fixed, plain)) if listed else plain


@dataclass(frozen=True, eq=False)
class View:
    """The confidential data grouped by what an intruder knows.

    Attributes
    ----------
    intruder, table, schema
        The intruder, the data, and role and kind of the key and sensitive variables.
    patterns, by_cell, pattern_of_cell
        Patterns of the key variables; cells (patterns of the key and the categorical sensitive variables); and the
        pattern that each cell belongs to.
    cells
        Cell of every record, -1 for one that is left out.
    numeric, values
        Names of the numeric sensitive variables, and their values, (records, variables).
    part
        Which records are included: those with a sensitive value; with several variables and missing values allowed,
        those with at least one. A missing value is close only to another missing value.
    radius, min_radius
        For every numeric sensitive variable.
    whole
        False for a chunk of a larger dataset, which holds some of its patterns, each complete.
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
        """Number of records."""
        return len(self.part)

    @property
    def complete(self) -> bool:
        """Whether a record is included only if none of its sensitive values is missing."""
        return self.intruder.missing_values == "error" or len(self.intruder.sensitive) == 1

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Records in every record's pattern."""
        return self.sizes[self.patterns.codes]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Included records of every pattern."""
        codes = self.patterns.codes
        return np.bincount(codes if self.part.all() else codes[self.part], minlength=self.patterns.number)

    def column(self, name: str) -> Floats:
        """Give the values of a numeric sensitive variable, NaN where missing."""
        # With several variables, an included record may have missing values.
        values = self.values[:, self.numeric.index(name)] if self.complete else column_numbers(self.table, name)
        return np.where(self.part, values, np.nan)

    def at(self, radius: Radius) -> "View":
        """The same data for an intruder with another radius."""
        dates = frozenset(name for name in self.numeric if self.schema[name].kind == "date")
        relative, least = _check_radius(radius, self.intruder.min_radius, self.numeric, dates)
        return replace(self, intruder=replace(self.intruder, radius=radius), radius=relative, min_radius=least)

    @cached_property
    def without_known(self) -> "View":
        """The same data for an intruder who knows no key variable: every record may be anybody's."""
        return replace(self.intruder, known=(), breaks={}).view(self)

    def alone(self, *columns: str) -> "View":
        """The same data for an intruder whose sensitive variables are only these."""
        if self.intruder.sensitive == columns and not self.intruder.knowledge_probability:
            return self
        own, kinds = self.intruder, {name: self.schema[name].kind for name in columns}
        only: dict[str, Any] = {"knowledge_probability": {}}
        for name, nothing in (("radius", None), ("min_radius", 0.0)):
            given = getattr(own, name)
            by_name = isinstance(given, Mapping)
            chosen = {name: given[name] for name in columns if name in given} if by_name else given
            only[name] = (chosen or nothing) if by_name else chosen
        return replace(own, sensitive=columns, kinds={**own.kinds, **kinds}, **only).view(self)

    @cached_property
    def may_know(self) -> "list[tuple[float, View | None]]":
        """The sets of sensitive variables the intruder may know, with their probabilities; None is the empty set."""
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
    """A released dataset read like the confidential data, with the row of every confidential record in it.

    `rows` holds -1 for a confidential record that is not in the dataset, and is None if the rows correspond.
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
        """Give the values of a numeric sensitive variable, NaN where missing."""
        place = self.view.numeric.index(name)
        values = self.values[:, place] if self.view.complete else column_numbers(self.table, name, "released")
        return np.where(self.part, values, np.nan)

    @cached_property
    def own_cells(self) -> Integers:
        """Cell of the released counterpart of every confidential record, -1 if there is none."""
        return self.cells if self.rows is None else np.append(self.cells, -1)[self.rows]

    @cached_property
    def own_values(self) -> Floats:
        """Values of the released counterpart of every confidential record."""
        if self.rows is None:
            return self.values
        return np.concatenate([self.values, np.zeros((1, self.values.shape[1]))])[self.rows]


def as_view(data: Any, intruder: Intruder | None) -> View:
    """Group the data by the key variables of an intruder; a view is returned as it is if no intruder is given."""
    if intruder is None and isinstance(data, View):
        return data
    if not isinstance(intruder, Intruder):
        problem = "it is not an Intruder"
        raise InputError("intruder", problem, "Write Intruder(known=['age'], sensitive='income', radius=0.2)")
    return intruder.view(data)


def read_released(view: View, released: Any, id_column: str | None = None, *, linked: bool = True) -> list[Reading]:
    """Read released datasets by the patterns and kinds of the confidential data.

    Datasets that were already read for an equivalent view are reused.

    Parameters
    ----------
    view
        The confidential data.
    released
        One released dataset, or a sequence of them.
    key
        Variable that identifies a record in all datasets; without it records are linked by position.
    linked
        Whether released records correspond to confidential ones; False for fully synthetic data.
    """
    if isinstance(released, list) and released and all(isinstance(one, Reading) for one in released):
        return [one if _alike(one.view, view) else _read(view, one.table, one.rows) for one in released]
    nobody = None if linked else np.full(view.records, -1)
    tables = as_tables(released)
    return [_read(view, table, _link_records(view, table, id_column) if linked else nobody) for table in tables]


def read_part(view: View, table: Table, rows: NDArray[np.intp]) -> Reading:
    """Read the records of a released dataset that belong to the patterns of a view of a chunk.

    `rows` gives the row of the released counterpart of every confidential record, -1 if it is in another chunk.
    """
    return _read(view, table, rows)


def _alike(one: View, other: View) -> bool:
    """Whether two views read a released dataset in the same way. They may differ in the radius."""
    return (
        one.by_cell is other.by_cell
        and one.numeric == other.numeric
        and one.intruder.missing_values == other.intruder.missing_values
    )


def _settle_reach(intruder: Intruder, schema: Schema) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return the numeric sensitive variables with the relative and the minimum radius of each."""
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
    """Row of the released dataset for every confidential record (-1: none); None means the same row."""
    if key is None:
        if len(table.frame) != view.records:
            raise InputError(
                "released",
                f"it has {len(table.frame):,} records, the confidential data {view.records:,}",
                "Name the variable that identifies a record as `id_column` (--id); or, for fully synthetic data, "
                "fully_synthetic=True (--fully-synthetic)",
            )
        return None
    find_columns(view.table, key, "id_column")
    find_columns(table, key, "id_column")
    ours, theirs = pd.Index(view.table.frame[key]), pd.Index(table.frame[key])
    for index, name in ((ours, "the confidential data"), (theirs, "a released dataset")):
        if not index.is_unique or index.hasnans:
            raise InputError(
                "id_column",
                f"variable {key!r} of {name} has repeated or missing values",
                "Use a variable with unique values",
            )
    return theirs.get_indexer(ours)


def find_rows(view: View, reading: Reading) -> NDArray[np.intp] | None:
    """Find the rows of records that stand in another order, by the variables that are released unchanged.

    None if they stand in the same one, or are not the same records. Who share all of these may be exchanged. A variable
    whose values were swapped between people names nobody's row: variables are taken one after the other, the one with
    the most values first, as long as records that share the values of all of them are as many as in the data. Where the
    sensitive values of the same rows are close more often than chance explains, or as many others agree, an intruder
    goes by the rows.
    """
    own, other = view.table.frame, reading.table.frame
    names = [name for name in own if name in other and name not in view.schema.having("sensitive")]
    if all(own[name].equals(other[name]) for name in names):
        return None
    found: list[NDArray[np.int64]] = []
    for name in names:
        try:
            codes = pd.factorize(pd.concat([own[name], other[name]], ignore_index=True), use_na_sentinel=False)[0]
        except TypeError:
            continue
        # A variable with other values was synthesized.
        if _have_same(codes):
            found.append(codes.astype(np.int64))
    both = np.zeros(2 * len(own), dtype=np.int64)
    for codes in sorted(found, key=lambda one: -int(one.max())):
        joint = np.unique(both * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
        both = joint if _have_same(joint) else both
    if not both.any():
        return None
    ours, theirs = (np.argsort(side, kind="stable") for side in np.split(both, 2))
    rows = np.empty(len(own), dtype=np.intp)
    rows[ours] = theirs
    if (rows == np.arange(len(rows))).all():
        return None
    by_rows, by_values = (_count_close(view, replace(reading, rows=one)) for one in (None, rows))
    agreeing = [
        sum(int((one[: len(own)] == one[len(own) :][order]).sum()) for one in found) for order in (slice(None), rows)
    ]
    by_chance = _BY_CHANCE * np.sqrt(max(by_rows, by_values))
    return rows if agreeing[1] > agreeing[0] and by_rows - by_values <= by_chance else None


def _have_same(codes: Integers) -> bool:
    """Whether both halves have every code as often."""
    before, after = (np.bincount(side, minlength=int(codes.max(initial=0)) + 1) for side in np.split(codes, 2))
    return np.array_equal(before, after)


def _count_close(view: View, reading: Reading) -> int:
    """Count the released values that are close to the true ones of their record, over all sensitive variables."""
    reach = np.maximum(np.abs(view.values) * view.radius, view.min_radius)
    close = (np.abs(reading.own_values - view.values) <= reach).sum()
    return int(close) + int((reading.own_cells == view.cells).sum())


def _gap(name: str) -> str:
    """Name of the indicator of a variable's missing values; no real variable has such a name."""
    return f"\0gap of {name}"


def _mark_gaps(table: Table, numeric: Sequence[str]) -> Table:
    """Add indicators of missing numeric values, so that a missing value is close only to a missing value."""
    return with_columns(table, {_gap(name): table.frame[name].isna() for name in numeric})


def _read_sensitive(
    table: Table, numeric: Sequence[str], exact: Sequence[str], missing: Missing, argument: str, *, whole: bool
) -> tuple[Floats, Booleans]:
    """Numeric values, (records, variables), 0 where missing, and which records are included."""
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
    """Raise an error about `gaps` records with missing sensitive values; `first` is the row of the first, from 0."""
    # A released dataset may have only missing values by chance, where few confidential records have a value.
    if gaps == records and (missing == "error" or argument != "released"):
        raise InputError(argument, "no record has all its sensitive values", "Choose other sensitive variables")
    if missing == "error":
        raise InputError(
            argument,
            f"{gaps} records have a missing sensitive value, the first in row {first + 1}",
            "Impute or remove them, or use missing_values='keep' to leave them out",
        )


def _check_radius(radius: Radius, floor: Floor, columns: Sequence[str], dates: frozenset[str]) -> tuple[Floats, Floats]:
    """Return the relative and the minimum radius of every numeric sensitive variable."""
    if radius is None and {*columns} - dates:
        raise InputError("radius", "numeric sensitive variables need one", "Give it, for example 0.2 for 20%")
    named = [name for name in dates if isinstance(radius, Mapping) and radius.get(name)]
    if named:
        problem = f"{named[0]!r} holds dates, to which a relative radius does not apply"
        raise InputError("radius", problem, f"Give the radius in days: min_radius={{{named[0]!r}: 30}}")
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
            f"it is {relative.max():g}, but must lie between 0 and 1",
            "For 20% write radius = 0.2; for a radius in the units of the data write radius=0 and min_radius=20",
        )
    if ((relative == 0) & (least == 0)).any():
        raise InputError(
            "radius",
            "it is 0, so that only equal values would be close",
            "Give a radius such as 0.2, or a min_radius in the units of the data, "
            "or declare the variable categorical for exact matches",
        )
    return relative, least


def _per_column(argument: str, given: float | Mapping[str, float], columns: Sequence[str]) -> Floats:
    if isinstance(given, Mapping):
        for name in given:
            if name not in columns:
                raise InputError(argument, f"{name!r} is not a numeric sensitive variable", nearest(str(name), columns))
        lacking = [name for name in columns if name not in given]
        if lacking:
            raise InputError(
                argument, f"it has no value for {lacking[0]!r}", "Give one for every numeric sensitive variable"
            )
        numbers = [given[name] for name in columns]
    else:
        numbers = [given] * len(columns)
    for number in [given] if not isinstance(given, Mapping) else numbers:
        if isinstance(number, bool) or not isinstance(number, Real) or not np.isfinite(float(number)):
            problem = f"it is of type {type(number).__name__}, expected a finite number"
            raise InputError(argument, problem, "Give a number such as 0.2, or one for every variable by name")
        if number < 0:
            raise InputError(argument, "it is negative", "Give 0 or more")
    return np.array(numbers, dtype=np.float64)
