"""Constraints (edit rules): their claims, and in which records they are met.

A constraint has a conclusion, and possibly a condition, each a list of claims. A claim compares a sum of variables with
a number, or a variable with levels or another variable, or states that a variable is missing or that a combination of
values occurs. A comparison with a missing value is neither true nor false; a constraint fails only where its condition
is true and its conclusion is false.

Claims are evaluated on a `Spot` per variable: its value in every record or, during drawing, the values still possible.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError
from molehill.tables.labels import short_label
from molehill.tables.resolution import days_of, holds_dates
from molehill.tables.table import as_table

# A level in constraints: a number, or text.
Key = float | str
# Relative tolerance of equality of sums, for rounding errors.
CLOSE = 32 * np.finfo(np.float64).eps

KEYWORDS = frozenset({"and", "empty", "fixed", "in", "is", "not"})
_PLAIN = re.compile(r"[^\W\d][\w.]*")
_LONGEST = 200


@dataclass(frozen=True)
class Sum:
    """A linear combination of variables compared with a number: `rent - income <= 0`."""

    terms: tuple[tuple[str, int], ...]
    sign: Literal["<", "<=", "=", "!="]
    bound: Fraction

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables of the sum."""
        return tuple(name for name, _ in self.terms)


@dataclass(frozen=True)
class Levels:
    """A variable has one of some levels, or none of them (`among` is False)."""

    column: str
    levels: frozenset[Key]
    among: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The one variable."""
        return (self.column,)


@dataclass(frozen=True)
class Same:
    """Two text variables are equal, or differ (`equal` is False)."""

    columns: tuple[str, str]
    equal: bool = True


@dataclass(frozen=True)
class Empty:
    """A variable is missing, or is not (`empty` is False)."""

    column: str
    empty: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The one variable."""
        return (self.column,)


@dataclass(frozen=True)
class Fixed:
    """Variables have one of the combinations that occur in the confidential data; printed, it does not show them."""

    columns: tuple[str, ...]
    combinations: tuple[tuple[Key, ...], ...] = field(repr=False)


Claim = Sum | Levels | Same | Empty | Fixed


@dataclass(frozen=True)
class Constraint:
    """An edit rule: where the condition is true, the conclusion must not be false.

    Attributes
    ----------
    text
        The constraint as declared.
    condition
        Claims that must all be true for the conclusion to apply; empty if it always applies.
    conclusion
        Claims none of which may be false.
    """

    text: str
    condition: tuple[Claim, ...]
    conclusion: tuple[Claim, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables involved."""
        claims = (*self.condition, *self.conclusion)
        return tuple(dict.fromkeys(name for claim in claims for name in claim.columns))

    def holds(self, frame: pd.DataFrame) -> Booleans:
        """Whether each record meets it; variables that the frame lacks count as unknown."""
        return ~self.broken({name: spot_of(frame, name) for name in self.columns})

    def broken(self, spots: Mapping[str, "Spot"]) -> Booleans:
        """Whether each record fails it, whatever the values still unknown."""
        asked = all_of([tell(claim, spots)[0] for claim in self.condition], spots)
        return asked & any_of([tell(claim, spots)[1] for claim in self.conclusion], spots)

    def __str__(self) -> str:
        return short_label(self.text, _LONGEST)


def count_broken(constraints: Iterable[Constraint], data: object) -> dict[str, int]:
    """Count the records that fail each constraint, by its text.

    Examples
    --------
    >>> rent = Constraint("rent <= income", (), (Sum((("rent", 1), ("income", -1)), "<=", Fraction(0)),))
    >>> count_broken([rent], pd.DataFrame({"rent": [3, 9, 4], "income": [5, 5, None]}))
    {'rent <= income': 1}
    """
    frame = as_table(data).frame
    return {constraint.text: int((~constraint.holds(frame)).sum()) for constraint in constraints}


def negate(claim: Claim) -> Claim | None:
    """The negation of a claim; None for combinations."""
    if isinstance(claim, Sum):
        if claim.sign in ("=", "!="):
            return replace(claim, sign="!=" if claim.sign == "=" else "=")
        turned = tuple((name, -times) for name, times in claim.terms)
        return Sum(turned, "<=" if claim.sign == "<" else "<", -claim.bound)
    if isinstance(claim, Levels):
        return replace(claim, among=not claim.among)
    if isinstance(claim, Same):
        return replace(claim, equal=not claim.equal)
    return replace(claim, empty=not claim.empty) if isinstance(claim, Empty) else None


# Knowledge of a variable.


@dataclass(frozen=True, eq=False)
class Spot:
    """What is known of a variable in every record.

    Attributes
    ----------
    low, high
        Bounds of a number, equal if its value is known.
    codes
        Known text: index into `values`, -1 if missing.
    allowed
        Unknown category: possible `values`, (records, levels).
    values
        Levels of a category.
    filled, empty
        Whether it is certainly present, or certainly missing.
    drawn
        Whether it is known.
    """

    filled: Booleans
    empty: Booleans
    low: Floats
    high: Floats
    values: tuple[Key, ...] = ()
    codes: np.ndarray | None = None
    allowed: np.ndarray | None = None
    drawn: bool = True


def spot_of(frame: pd.DataFrame, name: str) -> Spot:
    """Knowledge of a variable from a frame; nothing if the frame lacks it."""
    if name not in frame.columns:
        return open_spot(len(frame))
    column, nothing = frame[name], np.zeros(len(frame))
    empty = column.isna().to_numpy()
    if holds_numbers(column) or holds_dates(column):
        # A missing value needs some number.
        numbers = np.where(empty, 0.0, as_numbers(column, name))
        return Spot(~empty, empty, numbers, numbers)
    codes, values = pd.factorize(column)
    return Spot(~empty, empty, nothing, nothing, tuple(map(key_of, values)), np.asarray(codes))


def open_spot(records: int, limits: tuple[float, float] = (-np.inf, np.inf), filled: Booleans | None = None) -> Spot:
    """Knowledge of a number still to be drawn; it may be missing unless `filled`."""
    nowhere = np.zeros(records, dtype=bool)
    low, high = (np.full(records, end, dtype=np.float64) for end in limits)
    return Spot(nowhere if filled is None else filled, nowhere, low, high, drawn=False)


def ends_of(spot: Spot) -> tuple[Floats, Floats]:
    """Bounds of a number, or of the possible levels of a category of numbers."""
    if spot.allowed is None or not spot.values or isinstance(spot.values[0], str):
        return spot.low, spot.high
    values = np.array(spot.values, dtype=np.float64)
    low = np.where(spot.allowed, values, np.inf).min(axis=1)
    return low, np.where(spot.allowed, values, -np.inf).max(axis=1)


def range_of(
    terms: Sequence[tuple[str, int]], spots: Mapping[str, Spot], bound: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Bounds of a sum, with the rounding tolerance of each."""
    size = len(next(iter(spots.values())).filled)
    least, largest = np.zeros(size), np.zeros(size)
    off_least, off_largest = np.full(size, abs(bound)), np.full(size, abs(bound))
    with np.errstate(invalid="ignore", over="ignore"):
        for name, times in terms:
            low, high = ends_of(spots[name])
            low, high = (times * low, times * high) if times > 0 else (times * high, times * low)
            least, largest = least + low, largest + high
            off_least, off_largest = off_least + np.abs(low), off_largest + np.abs(high)
        # Infinite bounds have no rounding error.
        off_least, off_largest = (np.where(np.isfinite(off), CLOSE * off, 0.0) for off in (off_least, off_largest))
    return least, largest, off_least, off_largest


def all_of(parts: Sequence[Booleans], spots: Mapping[str, Spot]) -> Booleans:
    """Where all parts are true; everywhere without parts."""
    return np.logical_and.reduce(parts) if parts else np.ones(len(next(iter(spots.values())).filled), dtype=bool)


def any_of(parts: Sequence[Booleans], spots: Mapping[str, Spot]) -> Booleans:
    """Where any part is true; nowhere without parts."""
    return np.logical_or.reduce(parts) if parts else np.zeros(len(next(iter(spots.values())).filled), dtype=bool)


# Evaluation of claims.


def tell(claim: Claim, spots: Mapping[str, Spot]) -> tuple[Booleans, Booleans]:
    """Where a claim is certainly true, and where certainly false; elsewhere it is unknown, or a value is missing."""
    if isinstance(claim, Empty):
        spot = spots[claim.column]
        return (spot.empty, spot.filled) if claim.empty else (spot.filled, spot.empty)
    if isinstance(claim, Sum):
        true, false = _tell_sum(claim, spots)
    elif isinstance(claim, Levels):
        true, false = _tell_levels(claim, spots[claim.column])
    elif isinstance(claim, Same):
        true, false = _tell_same(claim, spots)
    else:
        true, false = _tell_fixed(claim, spots)
    filled = all_of([spots[name].filled for name in claim.columns], spots)
    return true & filled, false & filled


def _tell_sum(claim: Sum, spots: Mapping[str, Spot]) -> tuple[Booleans, Booleans]:
    for name in claim.columns:
        if spots[name].codes is not None:
            raise InputError(
                "frame", f"the variable {name!r} holds text where {claim.sign} needs numbers", "Correct it"
            )
    bound = float(claim.bound)
    least, largest, off_least, off_largest = range_of(claim.terms, spots, bound)
    if claim.sign == "<":
        return largest < bound - off_largest, least >= bound - off_least
    if claim.sign == "<=":
        return largest <= bound + off_largest, least > bound + off_least
    same = (least >= bound - off_least) & (largest <= bound + off_largest)
    apart = (least > bound + off_least) | (largest < bound - off_largest)
    return (same, apart) if claim.sign == "=" else (apart, same)


def _tell_levels(claim: Levels, spot: Spot) -> tuple[Booleans, Booleans]:
    inside = level_mask(spot.values, claim.levels)
    if spot.codes is not None:
        within = np.append(inside, False)[spot.codes]
        outside = ~within
    elif spot.allowed is not None:
        within, outside = (~np.asarray((spot.allowed & side).any(axis=1)) for side in (~inside, inside))
    else:
        numbers = np.array(sorted(level for level in claim.levels if not isinstance(level, str)), dtype=np.float64)
        if not len(numbers):
            # Unknown text without given levels.
            within = outside = np.zeros(len(spot.filled), dtype=bool)
        else:
            within = (spot.low == spot.high) & np.isin(spot.low, numbers)
            outside = np.searchsorted(numbers, spot.low) >= np.searchsorted(numbers, spot.high, side="right")
    return (within, outside) if claim.among else (outside, within)


def level_mask(values: Sequence[Key], levels: Collection[Key]) -> Booleans:
    """Which of the values are among some levels."""
    return np.array([value in levels for value in values], dtype=bool)


def _tell_same(claim: Same, spots: Mapping[str, Spot]) -> tuple[Booleans, Booleans]:
    one, other = (spots[name] for name in claim.columns)
    if one.codes is None or other.codes is None:
        nowhere = np.zeros(len(one.filled), dtype=bool)
        return nowhere, nowhere
    places = {value: place for place, value in enumerate(one.values)}
    translated = np.array([*(places.get(value, -2) for value in other.values), -1])
    same = one.codes == translated[other.codes]
    return (same, ~same) if claim.equal else (~same, same)


def _tell_fixed(claim: Fixed, spots: Mapping[str, Spot]) -> tuple[Booleans, Booleans]:
    matched = match_combinations(claim, spots)
    some = np.asarray(matched.fits.any(axis=1))[matched.groups]
    whole = len(matched.drawn) == len(claim.columns)
    return some & whole, ~some


@dataclass(frozen=True, eq=False)
class Matched:
    """Combinations compatible with the drawn variables: `fits` is (groups of equal records, combinations)."""

    drawn: tuple[str, ...]
    groups: np.ndarray
    fits: np.ndarray


def match_combinations(claim: Fixed, spots: Mapping[str, Spot]) -> Matched:
    """Find the combinations compatible with the drawn variables."""
    drawn = tuple(name for name in claim.columns if spots[name].drawn)
    size = len(spots[claim.columns[0]].filled)
    codes, combined = np.zeros(size, dtype=np.int64), np.zeros(len(claim.combinations), dtype=np.int64)
    for name in drawn:
        place = claim.columns.index(name)
        places = {key: number for number, key in enumerate(dict.fromkeys(row[place] for row in claim.combinations))}
        own = _codes_among(spots[name], places)
        # Recoded after every variable, so that codes stay small.
        _, joined = np.unique(
            np.append(
                codes * (len(places) + 1) + own,
                combined * (len(places) + 1) + np.array([places[row[place]] for row in claim.combinations], dtype=int),
            ),
            return_inverse=True,
        )
        codes, combined = joined[:size], joined[size:]
    found, groups = np.unique(codes, return_inverse=True)
    return Matched(drawn, groups, found[:, None] == combined[None, :])


def _codes_among(spot: Spot, places: Mapping[Key, int]) -> np.ndarray:
    """Codes of a drawn variable's values by `places`; unknown values get the next code."""
    if spot.codes is not None:
        return np.array([*(places.get(value, len(places)) for value in spot.values), len(places)])[spot.codes]
    found, inverse = np.unique(spot.low, return_inverse=True)
    return np.array([places.get(float(value), len(places)) for value in found])[inverse]


# Values and names.


def key_of(value: Any) -> Key:
    """A value as constraints represent it: a float, or text."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return float(value) if number else str(value)


def holds_numbers(column: pd.Series) -> bool:
    """Whether a variable is numeric, also as a category; Booleans are not."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if dtype.kind == "O":
        return pd.api.types.infer_dtype(column, skipna=True) in ("integer", "floating", "mixed-integer-float")
    return pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) and dtype.kind != "c"


def type_of(column: pd.Series) -> Literal["numbers", "dates", "text"]:
    """The type of a variable in comparisons."""
    return "numbers" if holds_numbers(column) else "dates" if holds_dates(column) else "text"


def as_numbers(column: pd.Series, name: str) -> Floats:
    """Values of a numeric variable, dates as days; NaN where missing."""
    if holds_dates(column):
        return days_of(column)
    if not holds_numbers(column):
        raise InputError("frame", f"the variable {name!r} is not numeric", "Convert it to numbers")
    plain = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    return plain.to_numpy(dtype=np.float64, na_value=np.nan)


def quote_name(name: str) -> str:
    """Name of a variable as written in a constraint: in backticks if it is not plain.

    Examples
    --------
    >>> quote_name("age"), quote_name("rent (net)"), quote_name("in")
    ('age', '`rent (net)`', '`in`')
    """
    plain = _PLAIN.fullmatch(name) is not None and name not in KEYWORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def quote_key(key: Key) -> str:
    """A level as written in a constraint: a number, or text in quotes.

    Examples
    --------
    >>> quote_key(3.0), quote_key("it's")
    ('3', "'it''s'")
    """
    if isinstance(key, str):
        return "'" + key.replace("'", "''") + "'"
    return str(int(key)) if float(key).is_integer() else repr(float(key))
