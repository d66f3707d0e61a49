"""Functions of single variables: a true value that one variable beside it discloses, alone or within a group.

A synthesized variable protects nobody if another one is a code of it: the same values under another name, their rank,
bands of them, the amount in another currency, the order of the rows; or the value of a partner or of an earlier year,
which another record of the same household or person has.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, Integers
from molehill.attacks.reconstruction import frequent_others, typical_others
from molehill.tables.patterns import Patterns, match_patterns
from molehill.tables.resolution import column_unit, holds_dates
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

# Records on average that make a variable, or two together, one of groups of records, such as a household: from, to.
UNIT = (1.2, 10.0)
_LARGEST = 20
# Rows further on is no member of the same household any more.
_AWAY = 6
# Of fewer other records of a group nothing is learned; a number of many values is cut into bands of so many records.
_OTHERS, _BAND = 5, 20
# Other variables with fewer levels show that records belong together, by so many pairs that nearly all agree.
_FEW, _PAIRS, _NEARLY_ALL = 30, 12, 0.95
# A value that a larger share of the records has is no sign of a person.
_RARE = 0.02
# True values elsewhere are so many times as many as by chance; of numbers, so many last digits may be zeros.
_OFTEN, _DIGITS = 3, 6
# Variables at most: of whose functions within groups are tried, that make the groups, and every two of which may be
# units.
SOURCES, _GROUPS, _PAIRED = 40, 5, 8
# Datasets in which another record of the unit may have a person's value.
_TABLES = 5
# What the place of a row in the file is called.
ORDER = "the order of the rows"


@dataclass(frozen=True, eq=False)
class Beside:
    """What stands beside a synthesized variable, record by record.

    Attributes
    ----------
    alike
        Variables, by name, by values that may be those of the synthesized one: numbers, or its levels by number; NaN
        elsewhere.
    own
        The synthesized variable itself, as released: other records may have a person's true value.
    numbers
        Variables as numbers, text by the order of its labels; and whether few records that share a value share others.
    groups
        Groups of many records, the whole file first.
    units
        Groups of few records, such as households.
    near
        For every record the one before it and the one after it, in the file and in its unit.
    kept, unit
        Variables released unchanged, and what the synthesized one is a multiple of; 0 of a category.
    between
        For every record two of other units, some rows before it and as many after it.
    """

    alike: Sequence[tuple[str, Floats]]
    own: Sequence[tuple[str, Floats]]
    numbers: Sequence[tuple[str, Floats, bool]]
    groups: Sequence[tuple[str, Integers]]
    units: Sequence[Integers]
    near: Sequence[Integers]
    kept: Sequence[tuple[str, Floats]]
    unit: float
    between: Sequence[tuple[Integers, Integers]]


def look_beside(
    table: Table,
    tables: Sequence[Table],
    column: str,
    kept: Sequence[str],
    *,
    beside: Sequence[str] = (),
    patterns: Integers | None = None,
    places: Sequence[Integers] = (),
    levels: Patterns | None = None,
) -> Beside:
    """Gather what stands beside a synthesized variable.

    Parameters
    ----------
    table, tables, column
        The confidential table, the released ones, record by record, and the synthesized variable.
    kept, beside
        Variables released unchanged, and other ones of the released tables.
    patterns
        The pattern of the key variables of every record.
    places
        Where every record stands in each of the released files; none where they are put in random order.
    levels
        Of a category, its levels.
    """
    named = [(table, name) for name in kept]
    named += [(one, name) for name in beside for one in tables if name != column and name in one.frame]
    numbers = [(name, as_numbers(one, name)) for one, name in named]
    alike = [*numbers] if levels is None else [(name, _as_levels(one, name, levels)) for one, name in named]
    own = [as_numbers(one, column) if levels is None else _as_levels(one, column, levels) for one in tables[:_TABLES]]
    # Where rows stand in another order, those at the same place may still have like values, as of two sorted files.
    moved = [(place, one) for place, one in zip(places, own, strict=False) if (np.diff(place) != 1).any()]
    alike += [(ORDER, one[np.argsort(place)]) for place, one in moved]
    # Nor need a row be the person's own: all may be the same number of rows away, or in the opposite order.
    truth = as_numbers(table, column) if levels is None else levels.codes.astype(np.float64)
    alike += [
        (ORDER, shifted) for place, one in zip(places, own, strict=False) for shifted in _shift(truth, one, place)
    ]
    everyone = np.zeros(len(table.frame), dtype=np.int64)
    coded = {name: pd.factorize(table.frame[name], use_na_sentinel=False)[0].astype(np.int64) for name in kept}
    coded = {name: coded[name] for name in sorted(coded, key=lambda name: -int(coded[name].max(initial=0)))}
    usual = {name: one for name, one in coded.items() if one.any() and len(one) / (one.max() + 1) > UNIT[1]}
    codes = [*coded.values()]
    pairs = (a * (b.max() + 1) + b for a, b in combinations([*usual.values()][:_PAIRED], 2))
    units = [one for one in (*codes, *(np.unique(both, return_inverse=True)[1] for both in pairs)) if _is_unit(one)]
    once = list({place.tobytes(): place for place in places}.values())
    orders = [np.argsort(place) for place in once]
    near = [_move(order, shift) for order in orders for shift in (1, -1)]
    near += [other for unit in units for other in _list_members(unit)]
    between = [(_move(order, _AWAY), _move(order, -_AWAY)) for order in orders]
    by_key = [] if patterns is None else [(" within patterns", patterns.astype(np.int64))]
    groups = [("", everyone), *by_key, *((f" within {name}", usual[name]) for name in [*usual][:_GROUPS])]
    few = [one for one in codes if one.any() and one.max() < _FEW]
    # Where a record stands comes first: of very many variables not all are tried.
    looked = [*((ORDER, place.astype(np.float64)) for place in once), *numbers][:SOURCES]
    units_named = [(name, one, _names_units(one, few)) for name, one in looked]
    unit = column_unit(table.frame[column]) if levels is None else 0.0
    of_column = [(column, one) for one in own]
    return Beside(alike, of_column, units_named, groups, units, near, numbers[: len(kept)], unit, between)


def as_numbers(table: Table, name: str) -> Floats:
    """Give a variable as numbers, text by the order of its labels; NaN where it is missing."""
    column = table.frame[name]
    if (pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c") or holds_dates(column):
        values = column_numbers(table, name)
        return np.where(np.isfinite(values), values, np.nan)
    codes = pd.factorize(column.astype("string"), sort=True)[0].astype(np.float64)
    return np.where(codes < 0, np.nan, codes)


def _as_levels(table: Table, name: str, levels: Patterns) -> Floats:
    renamed = Table(pd.DataFrame({levels.codings[0].name: table.frame[name]}))
    found = match_patterns(levels, renamed, whole=False).astype(np.float64)
    return np.where(found < 0, np.nan, found)


def _shift(truth: Floats, released: Floats, place: Integers) -> Iterator[Floats]:
    """Give every record the released value some rows on, in the order of the file and in the opposite one.

    By so many rows that true and released values are correlated most; not by none.
    """
    order = np.argsort(place)
    wanted, told = (pd.Series(one[order]).rank().to_numpy() for one in (truth, released))
    wanted, told = (np.nan_to_num(one - np.nanmean(one)) for one in (wanted, told))
    for turned in (order, order[::-1]):
        other = told if turned is order else told[::-1]
        products = np.fft.irfft(np.conj(np.fft.rfft(wanted)) * np.fft.rfft(other), len(order))
        products[0] = -np.inf if turned is order else products[0]
        found = np.empty(len(order))
        found[order] = released[np.roll(turned, -int(np.argmax(products)))]
        yield found


def is_rare(values: Floats) -> Booleans:
    """Say of every value whether few records have it, so that it may be a sign of a person."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return counts[places] <= max(_RARE * len(values), 1)


def _is_unit(codes: Integers) -> bool:
    sizes = np.bincount(codes)
    return UNIT[0] <= len(codes) / len(sizes) <= UNIT[1] and sizes.max(initial=0) <= _LARGEST


def _names_units(values: Floats, others: Sequence[Integers]) -> bool:
    """Whether records that share a value which few have share another variable as well, as those of a household do."""
    codes, levels = pd.factorize(values)
    order = np.argsort(codes, kind="stable")
    first, second = order[:-1], order[1:]
    sizes = np.bincount(codes[codes >= 0], minlength=len(levels) + 1)
    pairs = (codes[first] == codes[second]) & (codes[first] >= 0) & (sizes[codes[first]] <= _LARGEST)
    first, second = first[pairs], second[pairs]
    for other in others:
        chance = float(((np.bincount(other) / len(other)) ** 2).sum())
        if len(first) * (1 - chance) >= _PAIRS and (other[first] == other[second]).mean() >= _NEARLY_ALL:
            return True
    return False


def _move(order: Integers, rows: int) -> Integers:
    """Give every record the one that stands so many rows before it; the last stand before the first."""
    found = np.empty_like(order)
    found[order] = np.roll(order, rows)
    return found


def _list_members(unit: Integers) -> Iterator[Integers]:
    """Give every record the next one of its unit, and the one before it; the first and the last go together."""
    order = np.argsort(unit, kind="stable")
    following, of = np.roll(order, -1), unit[order]
    following[np.append(of[1:] != of[:-1], True)] = order[np.append(True, of[1:] != of[:-1])]
    for here, there in ((order, following), (following, order)):
        found = np.empty_like(order)
        found[here] = there
        yield found


def guess_by_single(
    every: Floats, told: Floats, beside: Beside, rows: Integers, *, exact: bool
) -> Iterator[tuple[str, Floats]]:
    """Guess true values by functions of single variables: of which one, and the guess, NaN where there is none.

    The functions are: the value of the variable itself, or of the record before or after, or of another one where that
    is the true value and no frequent one (an intruder knows which record of the unit it is); the released values
    in the order of the variable, within groups; what other records with the same value, or a similar one, have; and
    the variable times a factor, or plus an amount, which is learned from the other records of a group.

    Parameters
    ----------
    every
        True values.
    told, rows
        (datasets, records): the released values of these rows of the table, which guesses are made for.
    beside
        What stands beside, of all rows.
    exact
        Whether values are levels of a category.
    """
    yield from ((name, values[rows]) for name, values in beside.alike)
    for name, values in (*beside.alike, *beside.own):
        yield from ((name, np.where(other[rows] == rows, np.nan, values[other[rows]])) for other in beside.near)
    truth = every[rows]
    for one, other in ((every[before[rows]], every[after[rows]]) for before, after in beside.between):
        yield ORDER, np.where(one == other, one, np.nan) if exact else (one + other) / 2
    yield from _find_in_units(beside, rows, truth)
    yield from find_anywhere(truth, beside.kept, beside.unit)
    others: Any = frequent_others if exact else typical_others
    ordered = [] if exact else [(within, _sort_within(told, group[rows])) for within, group in beside.groups]
    for name, values, unit in beside.numbers:
        own = values[rows]
        # Who share a household have the same income, which tells nothing of others.
        same = _learn(others, truth, pd.factorize(own)[0].astype(np.int64), _OTHERS if unit else 1)
        yield name, same
        if not unit and _is_code(same, truth):
            yield name, truth
        yield name, _learn(others, truth, _cut(own))
    for name, own in [] if exact else [(name, values[rows]) for name, values, _ in beside.numbers]:
        for within, group in ordered:
            told_by = f"{name}{within}"
            rank = _rank_within(own, group.codes)
            yield from ((told_by, _take(one, group)) for one in (rank, 1 - rank))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = truth / own
            yield told_by, own * _learn(others, np.where(np.isfinite(ratio), ratio, np.nan), group.codes)
            yield told_by, own + _learn(others, truth - own, group.codes)


def _find_in_units(beside: Beside, rows: Integers, truth: Floats) -> Iterator[tuple[str, Floats]]:
    """Give the true value where another record of the unit has it, and few records of the file have."""
    levels, codes = np.unique(truth, return_inverse=True)
    rare = is_rare(truth)
    for name, values in (*beside.alike, *beside.own):
        at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
        same = levels[at] == values
        # Of most variables hardly any value is one of the other.
        if same.mean() < _RARE:
            continue
        for unit in beside.units:
            # Which levels the records of a unit have, and how often.
            held, times = np.unique(unit[same] * len(levels) + at[same], return_counts=True)
            wanted = unit[rows] * len(levels) + codes
            place = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
            others = np.where(held[place] == wanted, times[place], 0) - (values[rows] == truth)
            yield name, np.where(rare & (others > 0), truth, np.nan)


def find_anywhere(truth: Floats, kept: Iterable[tuple[str, Floats]], unit: float) -> Iterator[tuple[str, Floats]]:
    """Give the true value where any record has it in a variable released unchanged, if that is no chance.

    Whoever knows the couples reads the income of a person off the record of the partner. By chance as many records have
    a value that is next to the true one, and as round, in the unit of the data.
    """
    if not unit:
        return
    whole = np.rint(truth / unit)
    step = np.ones(len(whole))
    for _ in range(_DIGITS):
        step = np.where((whole != 0) & (whole % (10 * step) == 0), 10 * step, step)
    rare = is_rare(truth)
    for name, values in kept:
        own = np.unique(np.rint(values[~np.isnan(values)] / unit))
        found = rare & np.isin(whole, own)
        chance = max(float((rare & np.isin(whole + shift * step, own)).mean()) for shift in (-2, -1, 1, 2))
        if found.mean() > _OFTEN * chance and found.mean() > _RARE:
            yield name, np.where(found, truth, np.nan)


def _is_code(guess: Floats, truth: Floats) -> bool:
    """Whether all who share the value of a variable share the true value, one that few have: it is a code of it."""
    asked = ~np.isnan(guess) & is_rare(truth)
    return bool(asked.sum() >= 2 * _PAIRS and (guess[asked] == truth[asked]).mean() >= _NEARLY_ALL)


def _cut(values: Floats) -> Integers:
    """Cut values into bands of similar ones; -1 is a missing one."""
    rank = pd.Series(values).rank(method="min").to_numpy()
    return np.where(np.isnan(rank), -1, np.nan_to_num(rank) // _BAND).astype(np.int64)


def _learn(others: Any, values: Floats, groups: Integers, least: int = _OTHERS) -> Floats:
    """Give what the other records of the group have, of groups with enough of them."""
    of = np.where(np.isnan(values), -1, groups)
    sizes = np.bincount(of[of >= 0], minlength=int(groups.max(initial=0)) + 1)
    found = others(np.nan_to_num(values), of, np.arange(len(values)), np.maximum(groups, 0))
    return np.where((groups >= 0) & (sizes[groups] > least), found, np.nan)


def _rank_within(values: Floats, groups: Integers) -> Floats:
    """Give the rank within the group, from 0 to 1; equal values have the same."""
    by = pd.Series(values).groupby(groups)
    return ((by.rank() - 0.5) / by.transform("count")).to_numpy()


class _Sorted(NamedTuple):
    """The released values of all datasets, sorted within groups: where each group begins, and its size."""

    codes: Integers
    values: Floats
    starts: Integers
    sizes: Integers


def _sort_within(told: Floats, codes: Integers) -> _Sorted:
    of, values = np.tile(codes, len(told)), told.ravel()
    sizes = np.bincount(of)
    return _Sorted(codes, values[np.lexsort((values, of))], np.cumsum(sizes) - sizes, sizes)


def _take(rank: Floats, group: _Sorted) -> Floats:
    """Take the released value of the same rank in the group."""
    size = group.sizes[group.codes]
    at = np.clip((np.nan_to_num(rank) * size).astype(np.int64), 0, size - 1)
    return np.where(np.isnan(rank), np.nan, group.values[group.starts[group.codes] + at])
