"""The schema of a dataset: role and kind of every variable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.errors import InputError, nearest
from molehill.tables.cells import FEW, REPEATS, numbers_as_text, stray_cells
from molehill.tables.labels import align_rows
from molehill.tables.resolution import days_of, holds_dates
from molehill.tables.table import Table, as_table, find_columns

Role = Literal["known", "sensitive", "predictor", "carried"]
Kind = Literal["categorical", "count", "continuous", "semicontinuous", "date"]
Missing = Literal["error", "keep"]

# Maximum number of records used to infer a kind.
LOOKED_AT = 10_000
# With more distinct dates, a variable is not categorical.
_FEW_DATES = 50
_AMOUNT = 10_000
_ZERO_SHARE = 0.005


@dataclass(frozen=True)
class Column:
    """Role and kind of one variable.

    Attributes
    ----------
    name
        Its name.
    roles
        Its roles; a variable can be both key variable and predictor, and is "carried" without any.
    kind
        Kind of its values.
    reason
        Reason for the kind, without values.
    breaks
        Lower bounds of its bins, if it is binned.
    missing
        Treatment of missing values: "error", "keep", or "category".
    """

    name: str
    roles: tuple[Role, ...]
    kind: Kind
    reason: str
    breaks: tuple[float, ...] = ()
    missing: Missing | Literal["category"] = "keep"


@dataclass(frozen=True)
class Schema:
    """The variables of a dataset in order; printing it shows roles and kinds with reasons."""

    columns: tuple[Column, ...]

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        names = [column.name for column in self.columns]
        raise InputError("name", f"there is no variable {name!r}", nearest(str(name), names))

    def having(self, role: Role) -> tuple[str, ...]:
        """Names of the variables with a role, in order."""
        return tuple(column.name for column in self.columns if role in column.roles)

    def __str__(self) -> str:
        rows = [("variable", "roles", "kind", "missing", "groups", "reason")]
        for column in self.columns:
            groups = "; ".join(group_labels(column.breaks)) if column.breaks else "-"
            roles = ", ".join(column.roles)
            rows.append((column.name, roles, column.kind, column.missing, groups, column.reason))
        return "\n".join(align_rows(rows))


def infer_schema(
    data: object,
    *,
    known: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    predictors: str | Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    missing: Missing = "error",
    columns: Sequence[str] | None = None,
) -> Schema:
    """Determine role and kind of every variable, with reasons.

    Roles are as given; a variable without one is carried. Kinds are as given in `kinds`, or inferred by `infer_kind`.
    Missing is a category of its own in key variables and predictors.

    Parameters
    ----------
    data
        The dataset: anything that `as_table` takes.
    known
        Key variables, one name or several.
    sensitive
        Sensitive variables, which cannot have another role.
    predictors
        Predictors of the model.
    kinds
        Kinds of variables, where the inferred kind is wrong.
    breaks
        Bins of numeric key variables or predictors, left-closed.
    missing
        Missing sensitive values: "error", or "keep".
    columns
        The variables to describe; all by default.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [31, 54, 47], "region": ["N", "S", "S"], "wage": [9.5, 20.1, 14.25]})
    >>> print(infer_schema(people, known=["age", "region"], sensitive="wage", breaks={"age": [40]}))
    variable  roles      kind         missing   groups                 reason
    age       known      count        category  under 40; 40 and over  whole numbers, not negative, below 10,000
    region    known      categorical  category  -                      text
    wage      sensitive  continuous   error     -                      numbers with fractions
    """
    table = as_table(data)
    role_names: dict[Role, list[str]] = {
        "known": find_columns(table, known, "known"),
        "sensitive": find_columns(table, sensitive, "sensitive"),
        "predictor": find_columns(table, predictors, "predictors"),
    }
    for role in ("known", "predictor"):
        both = [name for name in role_names["sensitive"] if name in role_names[role]]
        if both:
            problem = f"{both[0]!r} is also {'known' if role == 'known' else 'a predictor'}"
            raise InputError("sensitive", problem, "Give it only one of the two roles")
    if missing not in ("error", "keep"):
        raise InputError("missing", f"{missing!r} is not a choice", "Use 'error' or 'keep'")
    given_kinds = _given_kinds(table, kinds or {})
    given_breaks = _given_breaks(table, breaks or {}, [*role_names["known"], *role_names["predictor"]])
    described = []
    for name in table.frame.columns if columns is None else columns:
        roles: list[Role] = [role for role, names in role_names.items() if name in names] or ["carried"]
        _check_role(table, name, roles)
        given = given_kinds.get(name)
        look = _carried_kind if "carried" in roles else infer_kind
        kind, reason = (given, "given by the caller") if given else look(table, name)
        column = table.frame[name]
        # Synthesized dates, and predictors with many dates, are numbers of days; others are categories.
        by_size = holds_dates(column) if "sensitive" in roles else "predictor" in roles and has_many_dates(column)
        if by_size and not given:
            kind, reason = "date", "dates, as days"
        policy = missing if "sensitive" in roles else "keep" if "carried" in roles else "category"
        described.append(Column(name, tuple(roles), kind, reason, given_breaks.get(name, ()), policy))
    return Schema(tuple(described))


def _check_role(table: Table, name: str, roles: Sequence[Role]) -> None:
    """Raise an error for a sensitive variable with stray cells, or of numbers written as text."""
    if "sensitive" in roles and not holds_dates(table.frame[name]):
        _check_cells(table, name)
        if numbers_as_text(table, name):
            raise numbers_in_text(name)


def numbers_in_text(name: str) -> InputError:
    """Error for a sensitive variable of numbers written as text."""
    problem = f"{name!r} holds numbers that are written as text"
    return InputError("sensitive", problem, f"Declare them numbers: missing_codes={{{name!r}: []}}")


def infer_kind(table: Table, name: str) -> tuple[Kind, str]:
    """Infer the kind of a variable from its values, with a reason.

    The first rule that applies decides:

    - text, categories, Booleans, dates, or all missing: categorical; but text of which at least four of five cells are
      numbers is an error that names the other cells, see `stray_cells`;
    - numbers that all have value labels: categorical;
    - whole numbers, at most 10 distinct ones, each five times or more on average: categorical;
    - whole numbers, none negative, all below 10,000: count;
    - other numbers are amounts: semicontinuous if at least 0.5% of them are exactly zero, or if they have
      both signs (numbers with fractions: both signs and a zero), and continuous otherwise.

    Minimum, maximum and integrality use every record; the numbers of distinct values and zeros at most 10,000 evenly
    spaced records with a value.
    """
    if name not in table.seen_kinds:
        table.seen_kinds[name] = _look_at(table, name)
    return table.seen_kinds[name]


def is_number(table: Table, name: str) -> bool:
    """Whether a variable is numeric by `infer_kind`, or holds many dates."""
    return infer_kind(table, name)[0] != "categorical" or has_many_dates(table.frame[name])


def _carried_kind(table: Table, name: str) -> tuple[Kind, str]:
    """Kind of a carried variable: where `infer_kind` raises an error, the reason is its problem."""
    try:
        return infer_kind(table, name)
    except InputError as error:
        return "categorical", error.problem


def _look_at(table: Table, name: str) -> tuple[Kind, str]:
    column = table.frame[name]
    if (reason := _reason_not_numeric(column)) is not None:
        if reason in ("text", "categories"):
            _check_cells(table, name)
        return "categorical", reason
    values = column_numbers(table, name)
    absent = np.isnan(values)
    values = values[~absent] if absent.any() else values
    if not len(values):
        return "categorical", "every value is missing"
    # Labels of text codes do not apply to numbers.
    codes = [code for code in table.value_labels.get(name, {}) if not isinstance(code, str)]
    if codes and np.isin(values, np.array(codes, dtype=np.float64)).all():
        return "categorical", "value labels name every value"
    return _kind_of_all(values)


def _kind_of_all(values: Floats) -> tuple[Kind, str]:
    looked_at = values
    if len(values) > LOOKED_AT:
        looked_at = values[np.linspace(0, len(values) - 1, LOOKED_AT).astype(np.int64)]
    # A fraction is mostly found at once; only to be sure that there is none takes every record.
    whole = all((part == np.floor(part)).all() for part in (looked_at, values))
    return kind_of_numbers(looked_at, len(values), (values.min(), values.max()), whole=whole)


def kind_of_numbers(looked_at: Floats, records: int, ends: tuple[float, float], *, whole: bool) -> tuple[Kind, str]:
    """Tell the kind of so many numbers: of some of them, of the smallest and the largest, and whether all are whole."""
    zeros = float(np.mean(looked_at == 0))
    # A hundred values are usually enough to see that there are many.
    different = len(np.unique(looked_at[:100]))
    different = len(np.unique(looked_at)) if different <= FEW else different
    least, most = ends
    both_signs = bool(least < 0 < most)
    if not whole:
        return _amount("numbers with fractions", zeros, both_signs=both_signs and zeros > 0)
    if different <= FEW and len(looked_at) >= REPEATS * different:
        seen = "" if len(looked_at) == records else f" in {LOOKED_AT:,} records looked at"
        return (
            "categorical",
            f"whole numbers, {different} different {'one' if different == 1 else 'ones'}{seen}",
        )
    if least >= 0 and most < _AMOUNT:
        return "count", "whole numbers, not negative, below 10,000"
    size = "some negative" if least < 0 else "reaching 10,000"
    return _amount(f"whole numbers, {size}", zeros, both_signs=both_signs)


def _amount(what: str, zeros: float, *, both_signs: bool) -> tuple[Kind, str]:
    if zeros >= _ZERO_SHARE:
        return "semicontinuous", f"{what}, zero in at least 0.5% of the records"
    if both_signs:
        return "semicontinuous", f"{what}, of both signs"
    return "continuous", what


def _check_cells(table: Table, name: str) -> None:
    """Raise an error for numbers with stray cells, or for values of mixed types."""
    stray = stray_cells(table, name)
    if stray.rows:
        raise stray_among(name, stray.others, len(stray.rows), stray.rows[:5])
    column = table.frame[name]
    if column.dtype != object:
        return
    held = pd.api.types.infer_dtype(column, skipna=True)
    if held in ("integer", "floating", "decimal", "mixed-integer-float", "complex"):
        problem = f"the variable {name!r} holds numbers as objects"
        raise InputError("data", problem, "Convert it to numbers, for example by pandas.to_numeric")
    if held not in ("string", "empty", "boolean", "time"):
        problem = f"the variable {name!r} holds values of several types"
        raise InputError("data", problem, "Make them all text, all numbers, all dates or all Booleans, or drop it")


def stray_among(name: str, others: str, number: int, rows: Sequence[int]) -> InputError:
    """Error for a variable of numbers or dates with some other cells, in the given rows."""
    shown = ", ".join(map(str, rows)) + (" and more" if number > len(rows) else "")
    cells = f"{number:,} cell{'' if number == 1 else 's'}"
    where = f"in row{'' if number == 1 else 's'} {shown} (the first record is row 1)"
    remedy = (
        f"Declare these cells missing by missing_codes (risk and evaluate: --missing-codes {name}=CODE), or "
        "correct them; a list of codes is categorical by kinds"
    )
    return InputError("data", f"the variable {name!r} holds {others}, but for {cells} {where}", remedy)


def _reason_not_numeric(column: pd.Series) -> str | None:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "categories"
    if pd.api.types.is_bool_dtype(column.dtype):
        return "true or false"
    if pd.api.types.is_numeric_dtype(column.dtype):
        return None
    if column.isna().all():
        return "every value is missing"
    if holds_dates(column):
        return "dates, many different ones" if has_many_dates(column) else "dates, compared as they are"
    return "text"


def has_many_dates(column: pd.Series) -> bool:
    """Whether a variable holds too many distinct dates to be categorical."""
    return holds_dates(column) and column.nunique() > _FEW_DATES


def group_labels(breaks: Sequence[float]) -> list[str]:
    """Labels of bins.

    Examples
    --------
    >>> group_labels([25, 35])
    ['under 25', '25 to under 35', '35 and over']
    """
    ends = [str(int(end)) if float(end).is_integer() else str(float(end)) for end in breaks]
    between = [f"{low} to under {high}" for low, high in pairwise(ends)]
    return [f"under {ends[0]}", *between, f"{ends[-1]} and over"]


def cut_into_groups(values: np.ndarray, breaks: Sequence[float], name: str) -> NDArray[np.int64]:
    """Bin number of every value: 0 below the first break, -1 where missing.

    Bins are left-closed. `name` is the variable in errors.

    Examples
    --------
    >>> cut_into_groups(np.array([24.9, 25, np.nan, 70]), [25, 35], "age")
    array([ 0,  1, -1,  2])
    """
    ends = _check_breaks(breaks, name)
    refuse_infinite(values, name)
    return np.where(np.isnan(values), -1, np.searchsorted(ends, values, side="right"))


def _check_breaks(breaks: Sequence[float], name: str) -> tuple[float, ...]:
    """Check that breaks are finite and strictly increasing, and at least one."""
    try:
        ends = np.array(breaks, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.array([])
    if ends.ndim != 1 or not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
        problem = f"those of {name!r} are not a list of increasing, finite numbers"
        raise InputError("breaks", problem, f"For example breaks={{{name!r}: [25, 45, 65]}}")
    return tuple(ends.tolist())


def _given_breaks(
    table: Table, breaks: Mapping[str, Sequence[float]], usable: Sequence[str]
) -> dict[str, tuple[float, ...]]:
    for name in find_columns(table, list(breaks), "breaks"):
        if name not in usable:
            problem = f"{name!r} is neither known nor a predictor"
            raise InputError("breaks", problem, "Remove it, or name the variable in known or predictors")
        if _reason_not_numeric(table.frame[name]) is not None:
            raise InputError("breaks", f"{name!r} is not numeric", "Use breaks for numeric variables only")
    return {name: _check_breaks(ends, name) for name, ends in breaks.items()}


def _given_kinds(table: Table, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    for name in find_columns(table, list(kinds), "kinds"):
        if kinds[name] not in get_args(Kind):
            problem = f"{kinds[name]!r} for {name!r} is not a kind"
            raise InputError("kinds", problem, f"The kinds are {', '.join(get_args(Kind))}")
        if (kinds[name] == "date") != holds_dates(table.frame[name]) and kinds[name] != "categorical":
            what = "holds no dates" if kinds[name] == "date" else f"holds dates, so that it cannot be {kinds[name]}"
            raise InputError("kinds", f"{name!r} {what}", "Remove its kind: dates are detected")
        numeric = kinds[name] == "date" or _reason_not_numeric(table.frame[name]) is None
        if kinds[name] != "categorical" and not numeric:
            problem = f"{name!r} is not numeric, so that it cannot be {kinds[name]}"
            raise InputError("kinds", problem, "Convert it to numbers, or declare it categorical")
    return dict(kinds)


def column_numbers(table: Table, name: str, argument: str = "data") -> Floats:
    """Values of a numeric variable, dates as days, NaN where missing."""
    column = table.frame[name]
    # The usual case first, for speed.
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy().astype(np.float64, copy=False)
    if holds_dates(column):
        return days_of(column)
    if not pd.api.types.is_numeric_dtype(column.dtype) or column.dtype.kind == "c":
        raise InputError(argument, f"the variable {name!r} is not numeric", "Convert it to numbers")
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def refuse_infinite(values: Floats, name: str, argument: str = "data") -> None:
    """Raise an error if a number is infinite, with its row."""
    rows = np.flatnonzero(np.isinf(values))
    if len(rows):
        raise infinite_in(name, int(rows[0]), argument)


def infinite_in(name: str, row: int, argument: str = "data") -> InputError:
    """Error for an infinite number in a row, counted from 0."""
    problem = f"the variable {name!r} is infinite in row {row + 1}"
    return InputError(argument, problem, "Correct it, or make it missing")
