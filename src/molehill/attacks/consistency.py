"""Consistency: released records that nobody could be, and what gives away how a release was made.

A man who gave birth is no secret, but who sees him trusts no other record. Each check says how often a fresh sample of
the same population would fail it, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import comb

from molehill.arrays import Floats, Integers
from molehill.attacks.identity import Breaks
from molehill.attacks.neighbours import read_tables
from molehill.attacks.rates import excess, wilson
from molehill.errors import InputError, check_names, check_whole
from molehill.rules.rules import Rules
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.patterns import learn_patterns, match_patterns
from molehill.tables.resolution import column_unit, days_of, holds_dates
from molehill.tables.schema import column_numbers, cut_into_groups, is_number
from molehill.tables.table import Table, as_table, as_tables

# Of multiples of a unit; numbers that are kept in single precision are written less exactly.
_TOLERANCE, _SINGLE = 1e-9, 1e-6
# Cells of so many records are small.
_SMALL = (1, 2)
# Records that must have a kept value for its cells to be counted, and people in small cells for a gain to be told.
_LEAST_HAVING, _LEAST_PEOPLE = 20, 10
# By how much more often than by chance values are round, or dates fall on a day, before it is called a heap.
_HEAP, _DAY_HEAP = 0.1, 0.05
_ERRORS = 4.0
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_FIRST, _MONTHS_A_DAY = "the first of a month", 12 / 365.2425


@dataclass(frozen=True)
class PairCheck:
    """The cells of two columns, or of all pairs together; numbers of records in a table, means over the tables.

    Attributes
    ----------
    columns
        The two columns; empty for all pairs together, each record counted once.
    new
        Released records in cells that never occur in the confidential table.
    expected
        As many records of a fresh sample of the same size, estimated.
    small, small_original
        Records in cells of fewer than `few` records, in a released table and in the confidential one.
    """

    columns: tuple[str, ...]
    new: Figure
    expected: Figure
    small: Figure
    small_original: int


def check_pairs(
    data: Any,
    released: Any,
    columns: Sequence[str] | str,
    *,
    kept: Sequence[str] | str = (),
    breaks: Breaks = None,
    groups: int = 10,
    few: int = 5,
) -> list[PairCheck]:
    """Count the released records with combinations of two values that nobody in the data has; all pairs come first.

    A reader finds a child with an industry, or a widow of 12. Some new combinations are only rare: a fresh sample of m
    people would have some, too. Leaving each of the n confidential records out in turn, those that are then the first
    of their cell estimate how many: with f cells of one record, `m f / n`, Good's and Turing's estimate, with the
    standard error `m sqrt(f + 2 f2) / n` of f2 cells of two. Far more than that in a release are impossible
    combinations.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them.
    columns
        At least two.
    kept
        Columns that are published as they are: pairs of these alone can hold nothing new, and are left out.
    breaks
        Groups of numeric columns. Others are cut at quantiles of the confidential table.
    groups
        How many such groups.
    few
        Cells of fewer records are small.

    References
    ----------
    Good, The Population Frequencies of Species and the Estimation of Population Parameters (1953).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": ["young", "young", "old", "old"], "job": ["no", "no", "no", "yes"]})
    >>> released = data.assign(job=["yes", "no", "no", "yes"])
    >>> everything, pair = check_pairs(data, released, ["age", "job"])
    >>> pair.columns, pair.new.value, pair.expected.value
    (('age', 'job'), 1.0, 2.0)
    """
    check_whole("few", few, 1)
    still = set(check_names("kept", kept))
    table, tables, joined = _join_pairs(data, released, columns, breaks, groups)
    sizes, records = np.array([len(one.frame) for one in tables]), len(table.frame)
    marks = [np.zeros((4, size), dtype=bool) for size in (records, *sizes)]
    pairs = []
    for names, cells, _ in joined:
        if still.issuperset(names):
            continue
        found = _count_cells(cells, few)
        marks = [mark | own for mark, own in zip(marks, found, strict=True)]
        pairs.append(_pair_check(names, found, sizes, records))
    return [_pair_check((), marks, sizes, records), *pairs]


def _join_pairs(
    data: Any, released: Any, columns: Sequence[str] | str, breaks: Breaks, groups: int
) -> tuple[Table, list[Table], Iterator[tuple[tuple[str, str], list[Integers], int]]]:
    """Read the tables, and number the cells of every two columns in all of them, the confidential one first.

    A cell has the number of the first column's value times a width, with which it comes, and of the second's.
    """
    check_whole("groups", groups, 2)
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    if len(names) < 2:
        raise InputError("columns", "one makes no pair", "Name at least two")
    unknown = [name for name in breaks or {} if name not in names]
    if unknown:
        raise InputError("breaks", f"{unknown[0]!r} is not among the columns", "Leave it out")
    coded = {name: _code(table, tables, name, (breaks or {}).get(name), groups) for name in names}

    def join() -> Iterator[tuple[tuple[str, str], list[Integers], int]]:
        for first, second in combinations(names, 2):
            width = max(int(codes.max(initial=0)) for codes in coded[second]) + 1
            both = zip(coded[first], coded[second], strict=True)
            yield (first, second), [here.astype(np.int64) * width + there for here, there in both], width

    return table, tables, join()


def _code(
    table: Table, tables: Sequence[Table], name: str, breaks: Sequence[float] | None, groups: int
) -> list[Integers]:
    """Number the values of a column in all tables, the confidential one first."""
    everything = [table, *tables]
    if breaks is None and is_number(table, name):
        values = column_numbers(table, name)
        inner = np.arange(1, groups) / groups
        present = values[~np.isnan(values)]
        breaks = np.unique(np.quantile(present, inner, method="inverted_cdf")).tolist() if len(present) else [0.0]
    if breaks is not None:
        return [
            cut_into_groups(column_numbers(one, name, "data" if one is table else "released"), breaks, name) + 1
            for one in everything
        ]
    levels = learn_patterns(table, [name])
    # A level that nobody has makes a new cell with whatever else.
    return [np.asarray(levels.codes) + 1, *(np.asarray(match_patterns(levels, one)) + 1 for one in tables)]


def _count_cells(joined: Sequence[Integers], few: int) -> list[np.ndarray]:
    """Mark, for every table, the confidential one first, who is in a new, single, double or small cell."""
    number = max(int(one.max()) for one in joined) + 1
    own = np.bincount(joined[0], minlength=number)
    found = [np.stack([own[joined[0]] == 0, own[joined[0]] == 1, own[joined[0]] == 2, own[joined[0]] < few])]
    for one in joined[1:]:
        new, small = own[one] == 0, np.bincount(one, minlength=number)[one] < few
        found.append(np.stack([new, np.zeros_like(new), np.zeros_like(new), small]))
    return found


def _pair_check(columns: tuple[str, ...], found: Sequence[np.ndarray], sizes: Integers, records: int) -> PairCheck:
    single, double, small = (int(found[0][row].sum()) for row in (1, 2, 3))
    size = float(sizes.mean())
    error = float(size * np.sqrt(single + double) / records)
    expected = size * single / records
    figure = Figure(expected, max(expected - 1.96 * error, 0.0), min(expected + 1.96 * error, size))
    counts = np.array([[own[0].sum(), own[3].sum()] for own in found[1:]], dtype=np.float64)
    new, few = (mean_over_tables(count, least=0.0, most=float(sizes.max())) for count in counts.T)
    return PairCheck(columns, new, figure, few, small)


@dataclass(frozen=True)
class CellCheck:
    """The cells of one or two records in the two-way tables of some columns, all such tables together.

    Attributes
    ----------
    original
        As many in the confidential table. A fresh sample of the same size has as many, on average.
    number
        As many in a released table, mean over the tables.
    kept
        Of those of the confidential table, the share that are cells of as many records in a released one.
    fresh
        The same share between two halves of the confidential table, expected over all ways to halve it.
    gain
        `(kept - fresh) / (1 - fresh)`; NaN if fewer than ten people are in such cells.
    """

    original: int
    number: Figure
    kept: Figure
    fresh: Figure
    gain: Figure


def check_cells(
    data: Any,
    released: Any,
    columns: Sequence[str] | str,
    *,
    kept: Sequence[str] | str = (),
    breaks: Breaks = None,
    groups: int = 10,
) -> CellCheck | None:
    """Count the cells of one and two records, and how many of them a release has as they are.

    Small cells are what an agency suppresses in the tables it publishes. A release has small cells as well, but they
    should be as new as those of a fresh sample. What that is, halves of the data tell: of f_c cells of c records, about
    `sum_c f_c C(c, k) 2^-c` have k in the first half, and `f_2k C(2k, k) 4^-k` of these have k in the second as well.
    The ratio, k being 1 and 2, is the share that samples of half the size find again.

    Parameters
    ----------
    data, released, columns, breaks, groups
        As in `check_pairs`.
    kept
        Columns that are published as they are: pairs of these alone are left out, and None is given if no other is
        left. Of a pair with one of them, only its values that 20 records have are counted.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"age": ["young", "young", "old", "old"], "job": ["no", "no", "no", "yes"]})
    >>> found = check_cells(data, data.assign(job=["no", "no", "yes", "yes"]), ["age", "job"])
    >>> found.original, found.number.value, round(found.kept.value, 3)
    (3, 2.0, 0.333)
    """
    still = set(check_names("kept", kept))
    table, tables, joined = _join_pairs(data, released, columns, breaks, groups)
    records = len(table.frame)
    people, pairs = np.zeros(records, dtype=bool), 0
    # By number of records in a cell: how many cells there are.
    sizes = np.zeros(2 * _SMALL[-1] + 1)
    first = 0.0
    counts, again = np.zeros(len(tables)), np.zeros(len(tables))
    for names, cells, width in joined:
        if still.issuperset(names):
            continue
        pairs += 1
        number = max(int(one.max(initial=0)) for one in cells) + 1
        counted = _counted_cells(cells[0], number, width, [name in still for name in names])
        own, *others = (np.where(counted, np.bincount(one, minlength=number), 0) for one in cells)
        people |= np.isin(own[cells[0]], _SMALL)
        sizes += np.bincount(own[own < len(sizes)], minlength=len(sizes))
        first += sum(float((comb(own, size) * 0.5**own)[own >= size].sum()) for size in _SMALL)
        for place, other in enumerate(others):
            counts[place] += np.isin(other, _SMALL).sum()
            again[place] += sum(int(((own == size) & (other == size)).sum()) for size in _SMALL)
    if not pairs:
        return None
    both = sum(float(sizes[2 * size] * comb(2 * size, size) * 0.25**size) for size in _SMALL)
    original = int(sizes[list(_SMALL)].sum())
    # One person may be in small cells of several tables: people are the sample.
    each = people.sum() / max(original, 1)
    found = wilson(again.mean() * each, original * each)
    fresh = wilson(both * each, first * each)
    nothing = Figure(np.nan, np.nan, np.nan)
    gain = excess(found, fresh) if people.sum() >= _LEAST_PEOPLE else nothing
    return CellCheck(original, mean_over_tables(counts, least=0.0), found, fresh, gain)


def _counted_cells(own: Integers, number: int, width: int, kept: Sequence[bool]) -> np.ndarray:
    """Which cells are counted: of a kept column only those of values that many have.

    How many have a kept value is the same in every table, and in no fresh sample. Where that are few, small cells come
    back by themselves; where they are many, it makes no difference.
    """
    if not any(kept):
        return np.ones(number, dtype=bool)
    value = np.arange(number) // width if kept[0] else np.arange(number) % width
    have = np.bincount(own // width if kept[0] else own % width, minlength=int(value.max(initial=0)) + 1)
    return have[value] >= _LEAST_HAVING


@dataclass(frozen=True)
class RangeCheck:
    """Released values of a number or a date beyond those of the data; means over the tables.

    Attributes
    ----------
    column
        The column.
    below, above
        Released records below the least and above the largest confidential value.
    expected
        As many on either side in a fresh sample of the same size, at most.
    at_ends
        Share of the released records that have the least or the largest confidential value itself.
    at_ends_original
        The same share of the confidential records.
    """

    column: str
    below: Figure
    above: Figure
    expected: float
    at_ends: Figure
    at_ends_original: float


def check_ranges(data: Any, released: Any, columns: Sequence[str] | str) -> list[RangeCheck]:
    """Count the released values, dates among them, beyond the range of the data, and those at its ends.

    Values far beyond show that nobody looked, and a pile at an end shows where values were cut, which gives the least
    or largest confidential value away. In a fresh sample of m records, next to n, `m / (n + 1)` lie beyond on either
    side if no two are the same, and fewer otherwise.

    Parameters
    ----------
    data, released
        The confidential table, and one released table or a sequence of them.
    columns
        Columns of numbers or dates.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"pay": [10.5, 20.5, 30.5]})
    >>> (found,) = check_ranges(data, pd.DataFrame({"pay": [9.0, 10.5, 40.0]}), "pay")
    >>> found.below.value, found.above.value, found.expected, round(found.at_ends.value, 3)
    (1.0, 1.0, 0.75, 0.333)
    """
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    checks = []
    for name in names:
        own = _present(table, name, "data")
        if not len(own):
            raise InputError("columns", f"{name!r} has no values", "Leave it out")
        low, high = own.min(), own.max()
        told = [_present(one, name, "released") for one in tables]
        counts = np.array([[(one < low).sum(), (one > high).sum(), np.isin(one, (low, high)).sum()] for one in told])
        sizes = np.array([len(one) for one in told])
        below, above = (mean_over_tables(count.astype(np.float64), least=0.0) for count in counts.T[:2])
        at_ends = mean_over_tables(counts[:, 2] / np.maximum(sizes, 1), least=0.0, most=1.0)
        expected = float(sizes.mean() / (len(own) + 1))
        checks.append(RangeCheck(name, below, above, expected, at_ends, float(np.isin(own, (low, high)).mean())))
    return checks


@dataclass(frozen=True)
class HeapCheck:
    """How round the values of a number are; shares, means over the tables.

    Attributes
    ----------
    column
        The column.
    unit
        The unit that all confidential values are written in, 0 for none.
    off
        Released values that are no multiple of it: nobody's could be written so.
    at
        Coarser units: 10, 100 and 1,000 times the unit.
    heaped, heaped_original
        Released and confidential values that are multiples of each.
    """

    column: str
    unit: float
    off: Figure
    at: tuple[float, ...]
    heaped: tuple[Figure, ...]
    heaped_original: tuple[float, ...]

    @property
    def heap(self) -> int | None:
        """The coarsest of these that people heap at, beyond one value in 10, 100 or 1,000; None for no heap."""
        shares = enumerate(zip(self.heaped_original, self.at, strict=True))
        return max((place for place, (share, unit) in shares if share - self.unit / unit > _HEAP), default=None)


def check_heaps(data: Any, released: Any, columns: Sequence[str] | str) -> list[HeapCheck]:
    """Compare how round released values are with how round people's own are.

    People tell their income in thousands. A release whose values are not heaped shows at a glance which records are
    synthetic, and one that keeps some of them tells which were kept. Zeros count nowhere.

    Parameters
    ----------
    data, released, columns
        As in `check_ranges`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"pay": [1000, 2000, 2500, 1210]})
    >>> (found,) = check_heaps(data, pd.DataFrame({"pay": [1000.0, 2013.7, 2500.0, 1210.0]}), "pay")
    >>> found.unit, found.off.value, found.at[1], found.heaped[1].value, found.heaped_original[1]
    (10.0, 0.25, 1000.0, 0.25, 0.5)
    """
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    checks = []
    for name in names:
        own = _present(table, name, "data")
        unit = column_unit(table.frame[name])
        at = tuple(unit * step for step in (10, 100, 1_000)) if unit else ()
        told = [_present(one, name, "released") for one in tables]
        exact = [_exactness(one, name) for one in tables]
        off = [
            1 - _share_multiples(one, unit, how) if unit and one.any() else 0.0
            for one, how in zip(told, exact, strict=True)
        ]
        heaped = [
            np.array([_share_multiples(one, step, how) for one, how in zip(told, exact, strict=True)]) for step in at
        ]
        checks.append(
            HeapCheck(
                name,
                unit,
                mean_over_tables(np.array(off), least=0.0, most=1.0),
                at,
                tuple(mean_over_tables(shares, least=0.0, most=1.0) for shares in heaped),
                tuple(_share_multiples(own, step, _exactness(table, name)) for step in at),
            )
        )
    return checks


def _present(table: Table, name: str, argument: str) -> Floats:
    values = column_numbers(table, name, argument)
    return values[~np.isnan(values)]


def _exactness(table: Table, name: str) -> float:
    """How far from a multiple a value of a column may be, relative to its size."""
    dtype: Any = table.frame[name].dtype
    return _SINGLE if getattr(dtype, "numpy_dtype", dtype) == np.float32 else _TOLERANCE


def _share_multiples(values: Floats, unit: float, tolerance: float = _TOLERANCE) -> float:
    """Share of the values other than 0 that are multiples of a unit, but for floating error; 0 if there is none."""
    times = values[values != 0] / unit
    if not len(times):
        return 0.0
    return float((np.abs(times - np.rint(times)) <= tolerance * np.maximum(np.abs(times), 1.0)).mean())


@dataclass(frozen=True)
class DateCheck:
    """On which days dates fall; shares, means over the tables.

    Attributes
    ----------
    column
        The column.
    off
        Released dates with a time of day, where no confidential one has any.
    on
        The days that confidential dates fall on more, or less, often than by chance: the first of a month, Mondays.
    heaped, heaped_original
        Released and confidential dates that fall on each.
    """

    column: str
    off: Figure
    on: tuple[str, ...]
    heaped: tuple[Figure, ...]
    heaped_original: tuple[float, ...]


def check_dates(data: Any, released: Any, columns: Sequence[str] | str) -> list[DateCheck]:
    """Compare the days that released dates fall on with those of the confidential ones.

    Offices are closed on Sundays, and who has forgotten the day writes the first of the month. Dates that do neither
    were drawn, and one with a time of day was not written by anybody. A day counts as a heap, or as a hole, if its
    share lies more than .05 and four standard errors from that of dates drawn from the calendar. `check_ranges` tells
    of dates beyond those collected.

    Parameters
    ----------
    data, released
        As in `check_ranges`.
    columns
        Columns of dates.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"when": pd.to_datetime(["2001-01-01", "2001-02-01", "2001-03-01", "2001-04-02"] * 50)})
    >>> (found,) = check_dates(data, data + pd.Timedelta(days=1), "when")
    >>> found.on[0], found.heaped[0].value, found.heaped_original[0]
    ('the first of a month', 0.0, 0.75)
    """
    names, table, tables, _ = read_tables(data, released, None, columns, "columns")
    checks = []
    for name in names:
        for one in (table, *tables):
            if not holds_dates(one.frame[name]):
                raise InputError("columns", f"{name!r} has no dates", "Leave it out")
        own, *told = (days_of(one.frame[name].dropna()) for one in (table, *tables))
        if not len(own):
            raise InputError("columns", f"{name!r} has no values", "Leave it out")
        original = _share_days(own)
        chance = np.array([_MONTHS_A_DAY, *(1 / len(_DAYS),) * len(_DAYS)])
        least = np.maximum(_ERRORS * np.sqrt(chance * (1 - chance) / len(own)), _DAY_HEAP)
        heaps = np.flatnonzero(np.abs(original - chance) > least)
        shares = np.array([_share_days(one) for one in told])
        timed = np.array([float((one % 1 != 0).mean()) if len(one) and not (own % 1).any() else 0.0 for one in told])
        checks.append(
            DateCheck(
                name,
                mean_over_tables(timed, least=0.0, most=1.0),
                tuple((_FIRST, *_DAYS)[place] for place in heaps),
                tuple(mean_over_tables(shares[:, place], least=0.0, most=1.0) for place in heaps),
                tuple(original[heaps].tolist()),
            )
        )
    return checks


def _share_days(days: Floats) -> Floats:
    """Shares of dates on the first of a month, and on every day of the week from Monday on."""
    whole = np.floor(days).astype(np.int64)
    first = whole == whole.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    # The first day of 1970 was a Thursday.
    weekdays = np.bincount((whole + 3) % len(_DAYS), minlength=len(_DAYS))
    return np.append(first.sum(), weekdays) / max(len(days), 1)


@dataclass(frozen=True)
class RuleCheck:
    """How many records break a rule; `rule` is empty for all rules together, each record counted once.

    `broken` is of the released tables, a mean over them, and `broken_original` of the confidential one; `more` is the
    share of the released records that break it less that of the confidential ones.
    """

    rule: str
    broken: Figure
    broken_original: int
    more: Figure


def check_rules(data: Any, released: Any, rules: Rules) -> list[RuleCheck]:
    """Count the records that break rules: constraints, and columns filled where they must be empty. All come first.

    A rule about a column that a release does not have is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from molehill.rules import read_constraints
    >>> data = pd.DataFrame({"rent": [3, 4, 5], "pay": [5, 5, 4]})
    >>> rules = Rules(constraints=read_constraints("rent <= pay", data))
    >>> everything, only = check_rules(data, data.assign(pay=[2, 3, 9]), rules)
    >>> only.rule, only.broken.value, only.broken_original, round(only.more.value, 3)
    ('rent <= pay', 2.0, 1, 0.333)
    """
    table, tables = as_table(data), as_tables(released)
    there = set.intersection(*(set(one.frame.columns) for one in (table, *tables)))
    breaks: dict[str, list[np.ndarray]] = {}
    for one in rules.constraints:
        if there.issuperset(one.columns):
            breaks[f"{one}"] = [~one.holds(each.frame) for each in (table, *tables)]
    for one in rules.empty:
        if one.by is not None and {one.by, one.column} <= there:
            frames = [each.frame for each in (table, *tables)]
            breaks[f"{one}"] = [one.holds(frame) & frame[one.column].notna().to_numpy() for frame in frames]
    if not breaks:
        return []
    everything = [np.any(marks, axis=0) for marks in zip(*breaks.values(), strict=True)]
    return [_rule_check(name, marks) for name, marks in {"": everything, **breaks}.items()]


def _rule_check(rule: str, marks: Sequence[np.ndarray]) -> RuleCheck:
    own, *told = marks
    counts = np.array([float(one.sum()) for one in told])
    sizes = np.array([len(one) for one in told])
    return RuleCheck(
        rule,
        mean_over_tables(counts, least=0.0, most=float(sizes.max())),
        int(own.sum()),
        mean_over_tables(counts / np.maximum(sizes, 1) - own.mean(), most=1.0),
    )
