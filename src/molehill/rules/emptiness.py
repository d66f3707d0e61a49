"""Structural emptiness: where a variable has no value because another one says so.

"Not applicable" is a missing value that follows from other variables: children have no income. Such rules are found in
the confidential data, so that a released record is empty where it must be. A rule is about one other variable: a number
below or above a threshold, or some levels of a category, its own emptiness among them. What emptiness the rules of a
variable leave over is random, and for a model to draw.
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

# A rule must cover so many records; so must each of its levels.
LEAST = 20
# Records that are empty by chance, each with probability one half, are all so with less than this.
_CHANCE = LEAST * math.log(0.5)
# From this share on of the records that rules leave over, emptiness is simply common, and its rules are not the reason.
_COMMON = 0.5
# A threshold on a variable that is replaced has no more figures: a longer one would be the value of one record.
_FIGURES = 2


@dataclass(frozen=True)
class EmptyWhere:
    """Where a variable is empty, without exception in the confidential data.

    Threshold and levels are of the confidential data: they are for the drawing, and public only if a person says so.

    Attributes
    ----------
    column
        The variable that is empty.
    by
        The variable that decides it; None if the variable is never empty.
    below, above
        It is empty where the number of `by` is below, or above, this one; None if the rule has no such threshold.
    levels
        It is empty where `by` is one of these.
    absent
        It is empty where `by` is empty itself.
    records
        How many confidential records the rule covers.
    exact
        Whether the variable is empty nowhere else than where its rules say. All its rules agree on it.

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
        """Whether the variable must be empty in each record; the frame must have `by`."""
        holds = np.zeros(len(frame), dtype=bool)
        if self.by is None:
            return holds
        if self.by not in frame.columns:
            problem = f"it lacks the variable {self.by!r}, which decides where {self.column!r} is empty"
            raise InputError("frame", problem, "Draw that variable first")
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
        by, told = short_label(quote_name(self.by)), []
        if self.below is not None:
            told.append(f"{by} < {_write(self.below)}")
        if self.above is not None:
            told.append(f"{by} > {_write(self.above)}")
        if self.levels:
            listed = [short_label(quote_key(level)) for level in self.levels]
            told.append(f"{by} = {listed[0]}" if len(listed) == 1 else f"{by} in ({', '.join(listed)})")
        if self.absent:
            told.append(f"{by} is empty")
        return f"{name} is empty where {' or '.join(told)}"


def must_be_empty(rules: Sequence[EmptyWhere], column: str, frame: pd.DataFrame) -> Booleans:
    """Whether the rules of a variable say that it is empty, for each record of a frame that has what they speak of.

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
    """Whether a variable may also be empty where no rule says that it must."""
    return not any(rule.exact for rule in rules if rule.column == column)


def find_emptiness(table: Table, columns: Sequence[str], given: Sequence[str]) -> tuple[EmptyWhere, ...]:
    """Find the rules by which variables are empty.

    A rule of a variable speaks of a unchanged variable, or of a replaced one that is drawn before it. The rule that
    covers most records comes first, then each that covers at least `LEAST` further ones.

    That a rule holds by chance must be as unlikely as that `LEAST` records are all empty where every second one is:
    share ** records <= 0.5 ** LEAST, with the share of empty records among those that the condition leaves over; for a
    threshold also among as many records next beyond it (the oldest may all be out of work, but so are nearly all that
    are a little younger). Each level of a category must pass alone. If half of the records that all rules leave over
    are empty as well, emptiness is simply common, and there is no rule.

    A threshold is the first value at which the variable is not always empty. On a synthesized variable, where that
    would be a confidential value, it is a number of one or two figures between the two values that it parts, or there
    is no rule.

    Parameters
    ----------
    table
        The confidential data.
    columns
        The synthesized variables, in the order in which they are drawn.
    given
        The unchanged variables.

    Returns
    -------
    tuple
        Rules by variable, in the order of `columns`. A variable that is never empty has one rule that says so. One
        without any rule is empty at random, or always.

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
        raise InputError("given", f"{both[0]!r} is also drawn", "Give each variable in one of the two lists")
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
        # The first of several that cover as much: unchanged variables come before replaced ones.
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
    """Whether a variable is read by thresholds alone; codes of categories, and all else, by their levels first."""
    dtype = table.frame[name].dtype
    return dtype.kind in "iuf" and infer_kind(table, name)[0] != "categorical"


def _without_redundant(chosen: Sequence[tuple[EmptyWhere, Booleans]]) -> list[EmptyWhere]:
    """Drop a rule if the others cover all its records."""
    left = list(chosen)
    for entry in chosen:
        others = [holds for rule, holds in left if rule is not entry[0]]
        if others and not (entry[1] & ~np.logical_or.reduce(others)).any():
            left = [other for other in left if other[0] is not entry[0]]
    return [rule for rule, _ in left]


def _propose(
    frame: pd.DataFrame, column: str, by: str, rest: Booleans, *, fixed: bool, counted: bool
) -> list[EmptyWhere]:
    """Give the rules that one other variable makes for the records that no rule covers yet (`rest`)."""
    empty = frame[column].isna().to_numpy()
    proposed: list[EmptyWhere] = []
    # Of what covers as much, codes of categories are told by their levels.
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
    """Give the value below which all records are empty, if so many are that it is no chance."""
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
    """Give the number of fewest figures that is above `low` and at most `high`, None if it has too many."""
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
