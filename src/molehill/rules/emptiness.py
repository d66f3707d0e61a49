"""Structural missingness (skip patterns): where a variable is missing because of the value of another one.

"Not applicable" follows from other variables: children have no income. Such rules are found in the confidential data,
so that released records are missing where they must be. A rule involves one other variable: a number below or above a
threshold, or some levels of a category, including missing. Other missing values are random, and left to a model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError
from molehill.rules.constraints import Key, as_numbers, key_of, quote_key, quote_name
from molehill.tables.labels import short_label
from molehill.tables.schema import infer_kind
from molehill.tables.table import Table, find_columns

# Minimum number of records of a rule, and of each of its levels.
LEAST = 20
# Log probability that LEAST records are all missing by chance, each with probability 1/2.
_CHANCE = LEAST * math.log(0.5)
# With at least this share missing among the other records, missingness is common rather than structural.
_COMMON = 0.5
# Maximum number of significant digits of a threshold on a synthesized variable: more would disclose a value.
_FIGURES = 2


@dataclass(frozen=True)
class EmptyWhere:
    """A rule of structural missingness, without exception in the confidential data.

    Thresholds and levels come from the confidential data: they are used for drawing, and not published by default.

    Attributes
    ----------
    column
        The variable that is missing.
    by
        The variable that determines it; None if `column` is never missing.
    below, above
        It is missing where `by` is below, or above, this number; None without such a threshold.
    levels
        It is missing where `by` has one of these levels.
    absent
        It is missing where `by` is missing.
    records
        Number of confidential records that the rule covers.
    exact
        Whether the variable is missing only where its rules require it.

    Examples
    --------
    >>> print(EmptyWhere("income", "age", below=15, records=120))
    income is empty where age < 15
    >>> print(EmptyWhere("income", None, exact=True))
    income is never empty
    """

    column: str
    by: str | None
    below: float | None = None
    above: float | None = None
    levels: tuple[Key, ...] = ()
    absent: bool = False
    records: int = 0
    exact: bool = False

    def holds(self, frame: pd.DataFrame) -> Booleans:
        """Whether the variable must be missing in each record; the frame must have `by`."""
        holds = np.zeros(len(frame), dtype=bool)
        if self.by is None:
            return holds
        if self.by not in frame.columns:
            problem = f"it lacks the variable {self.by!r}, which determines where {self.column!r} is missing"
            raise InputError("frame", problem, "Draw this variable first")
        column = frame[self.by]
        if self.absent:
            holds |= column.isna().to_numpy()
        if self.below is not None:
            holds |= as_numbers(column, self.by) < self.below
        if self.above is not None:
            holds |= as_numbers(column, self.by) > self.above
        if self.levels:
            codes, keys = _levels_of(column)
            holds |= np.append(np.isin(keys, np.array(self.levels, dtype=object)), False)[codes]
        return holds

    def __str__(self) -> str:
        name = short_label(quote_name(self.column))
        if self.by is None:
            return f"{name} is never empty"
        by, shown = short_label(quote_name(self.by)), []
        if self.below is not None:
            shown.append(f"{by} < {_write(self.below)}")
        if self.above is not None:
            shown.append(f"{by} > {_write(self.above)}")
        if self.levels:
            listed = [short_label(quote_key(level)) for level in self.levels]
            shown.append(f"{by} = {listed[0]}" if len(listed) == 1 else f"{by} in ({', '.join(listed)})")
        if self.absent:
            shown.append(f"{by} is empty")
        return f"{name} is empty where {' or '.join(shown)}"


def must_be_empty(rules: Sequence[EmptyWhere], column: str, frame: pd.DataFrame) -> Booleans:
    """Whether the rules require a variable to be missing, for every record of a frame with the variables involved.

    Examples
    --------
    >>> rules = [EmptyWhere("income", "age", below=15), EmptyWhere("income", "home", levels=("prison",))]
    >>> must_be_empty(rules, "income", pd.DataFrame({"age": [8, 40, 41], "home": ["own", "prison", "own"]})).tolist()
    [True, True, False]
    """
    empty = np.zeros(len(frame), dtype=bool)
    for rule in rules:
        if rule.column == column:
            empty |= rule.holds(frame)
    return empty


def may_be_empty(rules: Sequence[EmptyWhere], column: str) -> bool:
    """Whether a variable can also be missing where no rule requires it."""
    return not any(rule.exact for rule in rules if rule.column == column)


def find_emptiness(table: Table, columns: Sequence[str], given: Sequence[str]) -> tuple[EmptyWhere, ...]:
    """Find the rules of structural missingness.

    A rule refers to an unchanged variable, or to a synthesized one that is drawn before. The rule that covers most
    records comes first, then each that covers at least `LEAST` additional ones.

    A rule must be as unlikely by chance as `LEAST` missing records in a row with probability 1/2: share ** records <=
    0.5 ** LEAST, with the share of missing values among the other records; for a threshold also among as many records
    just beyond it (the oldest may all be out of work, but so are nearly all who are a little younger). Each level of a
    category must pass this test. If half of the records outside all rules are missing as well, there is no rule.

    A threshold is the first value at which the variable is not always missing. On a synthesized variable, where this
    would be a confidential value, it is a number with one or two digits that separates the same records, or there is no
    rule.

    Parameters
    ----------
    table
        The confidential data.
    columns
        The synthesized variables, in synthesis order.
    given
        The unchanged variables.

    Returns
    -------
    tuple
        Rules by variable, in the order of `columns`. A variable that is never missing has one rule that says so; one
        without any rule is missing at random, or always.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [*range(10, 20)] * 10})
    >>> people["income"] = (100.0 * people["age"]).where(people["age"] >= 15)
    >>> [str(rule) for rule in find_emptiness(Table(people), ["income"], ["age"])]
    ['income is empty where age < 15']
    """
    replaced, kept = find_columns(table, columns, "columns"), find_columns(table, given, "given")
    both = [name for name in replaced if name in kept]
    if both:
        raise InputError("given", f"{both[0]!r} is also synthesized", "Name it in one of the two lists only")
    found: list[EmptyWhere] = []
    for place, column in enumerate(replaced):
        found += _rules_of(table, column, kept, replaced[:place])
    return tuple(found)


def _rules_of(table: Table, column: str, kept: Sequence[str], before: Sequence[str]) -> list[EmptyWhere]:
    empty = table.frame[column].isna().to_numpy()
    if not empty.any():
        return [EmptyWhere(column, None, exact=True)]
    chosen: list[tuple[EmptyWhere, Booleans]] = []
    covered = np.zeros(len(empty), dtype=bool)
    while (empty & ~covered).any() and not empty.all():
        proposed = []
        for by in (*kept, *before):
            for rule in _propose(table.frame, column, by, ~covered, fixed=by in kept, counted=_is_number(table, by)):
                holds = rule.holds(table.frame)
                proposed.append((int((holds & ~covered).sum()), rule, holds))
        # The first of several that cover equally many: unchanged variables come before synthesized ones.
        best = max(proposed, key=lambda each: each[0], default=(0, None, covered))
        if best[0] < LEAST or best[1] is None:
            break
        chosen.append((replace(best[1], records=int(best[2].sum())), best[2]))
        covered = covered | best[2]
    if not chosen or empty[~covered].mean() >= _COMMON:
        return []
    rules = _without_redundant(chosen)
    return [replace(rule, exact=not (empty & ~covered).any()) for rule in rules]


def _is_number(table: Table, name: str) -> bool:
    """Whether a variable is used by thresholds only; others by their levels first."""
    dtype = table.frame[name].dtype
    return dtype.kind in "iuf" and infer_kind(table, name)[0] != "categorical"


def _without_redundant(chosen: Sequence[tuple[EmptyWhere, Booleans]]) -> list[EmptyWhere]:
    """Drop rules whose records are covered by the others."""
    left = list(chosen)
    for entry in chosen:
        others = [holds for rule, holds in left if rule is not entry[0]]
        if others and not (entry[1] & ~np.logical_or.reduce(others)).any():
            left = [other for other in left if other[0] is not entry[0]]
    return [rule for rule, _ in left]


def _propose(
    frame: pd.DataFrame, column: str, by: str, rest: Booleans, *, fixed: bool, counted: bool
) -> list[EmptyWhere]:
    """Candidate rules of one other variable, for the records that no rule covers yet (`rest`)."""
    empty = frame[column].isna().to_numpy()
    proposed: list[EmptyWhere] = []
    # Levels are preferred to thresholds for categories.
    if not counted and pd.api.types.infer_dtype(frame[by], skipna=True) != "mixed":
        proposed += _propose_levels(column, by, frame[by], empty, rest)
    if frame[by].dtype.kind in "iuf":
        values = as_numbers(frame[by], by)
        below, above = (_threshold(sign * values[rest], empty[rest], fixed=fixed) for sign in (1, -1))
        proposed += [EmptyWhere(column, by, below=below)] if below is not None else []
        proposed += [EmptyWhere(column, by, above=-above)] if above is not None else []
    absent = frame[by].isna().to_numpy()
    if counted and empty[absent].all() and _is_no_chance(absent & rest, empty, rest):
        proposed.append(EmptyWhere(column, by, absent=True))
    return proposed


def _propose_levels(column: str, by: str, values: pd.Series, empty: Booleans, rest: Booleans) -> list[EmptyWhere]:
    codes, keys = _levels_of(values)
    # Missing is the last level.
    codes = np.where(codes < 0, len(keys), codes)
    number = np.bincount(codes[rest], minlength=len(keys) + 1)
    filled = np.bincount(codes[~empty], minlength=len(keys) + 1)
    always = (number >= LEAST) & (filled == 0)
    left = rest & ~always[codes]
    share = float(empty[left].mean()) if left.any() else 1.0
    sure = [level for level in np.flatnonzero(always) if _as_unlikely(share, int(number[level]))]
    levels = tuple(sorted((keys[level] for level in sure if level < len(keys)), key=lambda key: (str(type(key)), key)))
    return [EmptyWhere(column, by, levels=levels, absent=len(keys) in sure)] if sure else []


def _threshold(values: Floats, empty: Booleans, *, fixed: bool) -> float | None:
    """The value below which all records are missing, if they are too many to be so by chance."""
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    values, empty = values[present][order], empty[present][order]
    if empty.all() or not len(values):
        return None
    first = values[~empty][0]
    number = int(np.searchsorted(values, first))
    if number < LEAST:
        return None
    beyond = values <= values[min(2 * number, len(values)) - 1]
    shares = [empty[number:].mean(), empty[beyond][number:].mean()]
    if not all(_as_unlikely(float(share), number) for share in shares):
        return None
    return float(first) if fixed else _roundest(float(values[number - 1]), float(first))


def _is_no_chance(holds: Booleans, empty: Booleans, rest: Booleans) -> bool:
    number, left = int(holds.sum()), rest & ~holds
    return number >= LEAST and bool(left.any()) and _as_unlikely(float(empty[left].mean()), number)


def _as_unlikely(share: float, records: int) -> bool:
    return share == 0 or records * math.log(share) <= _CHANCE


def _roundest(low: float, high: float) -> float | None:
    """The number with the fewest digits above `low` and at most `high`; None if it has too many."""
    largest = max(abs(low), abs(high))
    if not math.isfinite(largest):
        return None
    if low < 0 <= high:
        return 0.0
    for figures in range(1, _FIGURES + 1):
        unit = 10.0 ** (math.floor(math.log10(largest)) - figures + 1)
        number = float(f"{math.floor(high / unit) * unit:.{figures}g}")
        if low < number <= high:
            return number
    return None


def _levels_of(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Code a variable by its keys; -1 is missing."""
    codes, values = pd.factorize(column)
    keys = np.empty(len(values), dtype=object)
    keys[:] = [key_of(value) for value in values]
    return np.asarray(codes), keys


def _write(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
