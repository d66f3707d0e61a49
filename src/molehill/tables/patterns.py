"""Patterns (equivalence classes): combinations of key-variable values; missing is a value of its own.

They are learned from the confidential data and looked up in released datasets, so that a combination has the same
number everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionArray

from molehill.errors import InputError
from molehill.tables.schema import column_numbers, cut_into_groups, group_labels
from molehill.tables.table import Table

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Coding:
    """The distinct values or bins of one variable; the last code is for missing."""

    name: str
    values: pd.Index
    breaks: tuple[float, ...]

    @property
    def number(self) -> int:
        """Number of codes, including the one for missing."""
        return len(self.values) + 1


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of a dataset.

    `codes` is the pattern of every record, `number` the number of patterns. `keys[j]` lists the combinations of the
    first `j + 1` variables that occur, each as (combination of the previous variables) * (number of codes of variable
    j) + code.
    """

    codings: tuple[Coding, ...]
    keys: tuple[NDArray[np.int64], ...]
    codes: Codes
    columns: tuple[ExtensionArray, ...]

    @property
    def number(self) -> int:
        """Number of patterns."""
        return len(self.keys[-1]) if self.keys else 1

    def labels(self) -> pd.DataFrame:
        """Values of every pattern as text, one row per pattern."""
        words, rest = {}, np.arange(self.number)
        for coding, keys in zip(reversed(self.codings), reversed(self.keys), strict=True):
            rest, code = np.divmod(keys[rest], coding.number)
            names = group_labels(coding.breaks) if coding.breaks else [str(value) for value in coding.values]
            words[coding.name] = np.array([*names, "missing"], dtype=object)[code]
        return pd.DataFrame({coding.name: words[coding.name] for coding in self.codings}, index=range(self.number))


def learn_patterns(
    table: Table, columns: Sequence[str], breaks: Mapping[str, Sequence[float]] | None = None
) -> Patterns:
    """Learn the patterns of a dataset; without variables there is a single one."""
    codes, number = np.zeros(len(table.frame), dtype=np.int32), 1
    codings, all_keys = [], []
    for name in columns:
        coding, column = _learn_column(table, name, tuple((breaks or {}).get(name, ())))
        codes, keys = _join(codes, number, column, coding.number)
        number = len(keys)
        codings.append(coding)
        all_keys.append(keys)
    arrays = tuple(table.frame[name].array for name in columns)
    return Patterns(tuple(codings), tuple(all_keys), codes, arrays)


def match_patterns(patterns: Patterns, table: Table, argument: str = "released", *, whole: bool = True) -> Codes:
    """Look up the pattern of every record of another dataset; -1 for unknown patterns.

    A variable without any known value is an error, unless the dataset is a chunk (`whole` is False).
    """
    columns = [table.frame[coding.name].array for coding in patterns.codings]
    codes, known, alike = np.zeros(len(table.frame), dtype=np.int64), np.ones(len(table.frame), dtype=bool), 0
    if len(table.frame) == len(patterns.codes):
        alike = len([*takewhile(bool, map(_same_values, columns, patterns.columns))])
        if alike == len(columns):
            return patterns.codes
        # Leading variables that are equal need not be looked up.
        codes = patterns.codes
        for place in reversed(range(alike, len(columns))):
            codes = patterns.keys[place][codes] // patterns.codings[place].number
    for coding, keys in zip(patterns.codings[alike:], patterns.keys[alike:], strict=True):
        column_codes = _match_column(coding, table, argument)
        if whole and (column_codes < 0).all():
            raise coded_otherwise(coding.name, argument)
        combined = codes * coding.number + column_codes
        codes = np.minimum(np.searchsorted(keys, combined), len(keys) - 1)
        known &= (column_codes >= 0) & (keys[codes] == combined)
    return np.where(known, codes, -1).astype(patterns.codes.dtype)


def occurs(patterns: Patterns, table: Table) -> dict[str, bool]:
    """Whether each variable has any known value, or missing, in another dataset."""
    codings = [coding for coding in patterns.codings if coding.name in table.frame]
    return {coding.name: bool((_match_column(coding, table, "released") >= 0).any()) for coding in codings}


def coded_otherwise(name: str, argument: str) -> InputError:
    """Error for a variable without any value that occurs in the confidential data."""
    problem = f"no value of variable {name!r} occurs in the confidential data"
    return InputError(argument, problem, "Use the labels or numbers of the confidential data")


def _join(codes: Codes, number: int, column: np.ndarray, levels: int) -> tuple[Codes, NDArray[np.int64]]:
    """Combine codes with another variable: new dense codes, and the combination of each."""
    if number * levels <= max(4 * len(codes), 2**16):
        seen = np.zeros(number * levels, dtype=bool)
        # A single type, to compile only once.
        _fold(codes, column.astype(np.int64), levels, seen)
        _renumber(codes, np.cumsum(seen, dtype=codes.dtype) - 1)
        return codes, np.flatnonzero(seen)
    # With too many possible combinations, those that occur are hashed.
    combined = codes * np.int64(levels) + np.where(column < 0, levels - 1, column)
    joined, keys = pd.factorize(combined, sort=True)
    return joined.astype(codes.dtype), np.asarray(keys)


def _learn_column(table: Table, name: str, breaks: tuple[float, ...]) -> tuple[Coding, np.ndarray]:
    column = table.frame[name]
    if breaks:
        values = pd.RangeIndex(len(breaks) + 1)
        codes = cut_into_groups(column_numbers(table, name), breaks, name)
    elif isinstance(column.dtype, pd.CategoricalDtype):
        values, codes = column.array.categories, column.array.codes
    else:
        codes, values = pd.factorize(column)
        values = pd.Index(values)
    return Coding(name, values, breaks), codes


def _match_column(coding: Coding, table: Table, argument: str) -> NDArray[np.int64]:
    """Codes of a variable of another dataset; -1 for unknown values."""
    column = table.frame[coding.name]
    if coding.breaks:
        codes = cut_into_groups(column_numbers(table, coding.name, argument), coding.breaks, coding.name)
        return np.where(codes < 0, len(coding.values), codes)
    if isinstance(column.dtype, pd.CategoricalDtype):
        translated = np.append(coding.values.get_indexer(column.cat.categories), len(coding.values))
        return translated[column.array.codes]
    codes = coding.values.get_indexer(pd.Index(column))
    return np.where(column.isna().to_numpy(), len(coding.values), codes)


def _same_values(one: ExtensionArray, other: ExtensionArray) -> bool:
    """Whether two variables are equal, if that is cheap to check; else False."""
    if one.dtype is not other.dtype and one.dtype != other.dtype:
        return False
    if isinstance(one, pd.Categorical) and isinstance(other, pd.Categorical):
        return one.categories.equals(other.categories) and bool((one.codes == other.codes).all())
    return pd.Series(one).equals(pd.Series(other))


@njit(nogil=True, cache=True, error_model="numpy")
def _fold(codes: Codes, column: np.ndarray, number: int, seen: np.ndarray) -> None:
    """Combine codes (-1 is missing, the last of `number`) with `codes`, and mark the combinations that occur."""
    for i in range(len(codes)):
        code = column[i] if column[i] >= 0 else number - 1
        codes[i] = codes[i] * number + code
        seen[codes[i]] = True


@njit(nogil=True, cache=True, error_model="numpy")
def _renumber(codes: Codes, numbers: np.ndarray) -> None:
    """Replace every code by its new number, in place."""
    for i in range(len(codes)):
        codes[i] = numbers[codes[i]]
