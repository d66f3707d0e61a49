"""Plausibility: records that nobody could be, small cells that are kept, values that nobody would write."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from molehill.attacks.consistency import (
    CellCheck,
    DateCheck,
    HeapCheck,
    PairCheck,
    RangeCheck,
    RuleCheck,
    check_cells,
    check_dates,
    check_heaps,
    check_pairs,
    check_ranges,
    check_rules,
)
from molehill.evaluation.attack_data import (
    BEYOND_CONTROL,
    MOST_COLUMNS,
    TABLES,
    data,
    is_date,
    kept,
    known,
    numbers,
    released,
    sensitive,
)
from molehill.evaluation.context import Context, alone, fixed_ends
from molehill.evaluation.measure import Block, Measure, Threshold, Value, shared, utility_measure
from molehill.tables.intervals import Figure

PLAUSIBILITY = Block(
    "Consistency: records that nobody could be",
    "Pairs of values that nobody has; some are only rare, so that a fresh sample would have them, too. Small cells "
    "that are those of the data; values, and dates, that are less round than people's own; rules that are broken.",
    attack=True,
)
_ANY_RULE = "any rule"


def _looked_at(context: Context) -> tuple[list[str], list[str]]:
    """The variables whose pairs are looked at, and of these those that are kept."""
    columns = [*sensitive(context), *known(context)][:MOST_COLUMNS]
    return columns, [name for name in columns if name in kept(context)]


@shared
def pairs(context: Context) -> PairCheck | None:
    """Pairs of values that nobody in the data has, of all pairs of variables together."""
    columns, same = _looked_at(context)
    if len(columns) < 2:
        return None
    return check_pairs(data(context), released(context)[:TABLES], columns, kept=same)[0]


@shared
def cells(context: Context) -> CellCheck | None:
    """Small cells of two variables, and how many of them the release has as they are; not of kept ones alone."""
    columns, same = _looked_at(context)
    if len(columns) < 2:
        return None
    return check_cells(data(context), released(context)[:TABLES], columns, kept=same)


@shared
def ranges(context: Context) -> list[RangeCheck]:
    """Values of sensitive numbers beyond the range of the data, and at its ends."""
    names = numbers(context)
    return check_ranges(data(context), released(context), names) if names else []


@shared
def heaps(context: Context) -> list[HeapCheck]:
    """How round the values of sensitive numbers are."""
    table, names = context.view.table, [name for name in numbers(context) if not is_date(context, name)]
    return check_heaps(table, context.tables or [table], names) if names else []


@shared
def dates(context: Context) -> list[DateCheck]:
    """The days that sensitive dates fall on."""
    table, names = context.view.table, [name for name in numbers(context) if is_date(context, name)]
    return check_dates(table, context.tables or [table], names) if names else []


@shared
def rules(context: Context) -> list[RuleCheck]:
    """Records that break an edit rule or a skip pattern, where these are declared."""
    table, declared = context.view.table, context.options.edit_rules
    return [] if declared is None else check_rules(table, context.tables or [table], declared)


def _pairs(choose: Callable[[PairCheck], Figure]) -> Callable[[Context], Iterable[Value]]:
    def compute(context: Context) -> Iterable[Value]:
        found = pairs(context) if context.is_release else None
        return [] if found is None else [Value(fixed_ends(choose(found)))]

    return compute


def _ratio(found: PairCheck) -> Figure:
    """New pairs over the most that a fresh sample would have; that is one at least, so that a stray one is no alarm."""
    most = max(found.expected.high, found.expected.value, 1.0)
    return Figure(*(end / most for end in found.new))


def _ranges(choose: Callable[[RangeCheck], Figure], *, always: bool = False) -> Callable[[Context], Iterable[Value]]:
    def compute(context: Context) -> Iterable[Value]:
        found = ranges(context) if context.is_release or always else []
        return [Value(fixed_ends(choose(one)), one.column) for one in found]

    return compute


def _cells(choose: Callable[[CellCheck], Figure], *, always: bool = False) -> Callable[[Context], Iterable[Value]]:
    def compute(context: Context) -> Iterable[Value]:
        found = cells(context) if context.is_release or always else None
        figure = None if found is None else choose(found)
        return [] if figure is None or np.isnan(figure.value) else [Value(fixed_ends(figure))]

    return compute


def _heaps(context: Context) -> Iterable[Value]:
    """Of every number that heaps, the share of values in the unit at which it does."""
    found = [(one, one.heap) for one in heaps(context)]
    return [
        Value(fixed_ends(one.heaped[place]), one.column, at=one.at[place]) for one, place in found if place is not None
    ]


def _heap_gaps(context: Context) -> Iterable[Value]:
    found = [(one, one.heap) for one in heaps(context) if context.is_release]
    return [
        Value(_distance(one.heaped[place], one.heaped_original[place]), one.column, at=one.at[place])
        for one, place in found
        if place is not None
    ]


def _off(context: Context) -> Iterable[Value]:
    """Values that are no multiple of the unit of the data, and dates with a time of day where none has any."""
    checks: list[HeapCheck | DateCheck] = []
    if context.is_release:
        checks = [*(one for one in heaps(context) if one.unit), *dates(context)]
    return [Value(fixed_ends(one.off), one.column) for one in checks]


def _days(context: Context) -> Iterable[Value]:
    return [
        Value(fixed_ends(figure), found.column, of=day)
        for found in dates(context)
        for day, figure in zip(found.on, found.heaped, strict=True)
    ]


def _day_gaps(context: Context) -> Iterable[Value]:
    for found in dates(context) if context.is_release else ():
        gaps = [_distance(one, own) for one, own in zip(found.heaped, found.heaped_original, strict=True)]
        if gaps:
            yield Value(max(gaps), found.column)


def _distance(figure: Figure, original: float) -> Figure:
    return alone(abs(figure.value - original))


def _failures(context: Context) -> Iterable[Value]:
    return [Value(fixed_ends(one.broken), of=one.rule or _ANY_RULE) for one in rules(context)]


def _more_failures(context: Context) -> Iterable[Value]:
    found = rules(context) if context.is_release else []
    return [Value(fixed_ends(one.more)) for one in found if not one.rule]


def _measure(
    id_: str,
    label: str,
    explanation: str,
    compute: Callable[[Context], Iterable[Value]],
    part_of: str,
    **about: Any,
) -> Measure:
    about = {"unit": "share", "better": "", **about}
    return utility_measure(id_, label, PLAUSIBILITY, compute, explanation, part_of=part_of, **about)


PLAUSIBILITY_MEASURES: Sequence[Measure] = (
    _measure(
        "new_pairs",
        "records with a pair of values that nobody has",
        "two values that never occur together in the data",
        _pairs(lambda found: found.new),
        "new_pairs",
        unit="expectation",
        better="lower",
    ),
    _measure(
        "new_pairs_benchmark",
        "such records in a fresh sample",
        "as many would be rare, and not impossible (Good and Turing)",
        _pairs(lambda one: one.expected),
        "new_pairs",
        unit="expectation",
        reference="Good (1953)",
    ),
    _measure(
        "new_pairs_ratio",
        "the one over the most of the other",
        "over the upper end of what a fresh sample would have; far above 1, some are impossible",
        _pairs(_ratio),
        "new_pairs",
        unit="ratio",
        better="lower",
        threshold=Threshold("consistency", 1.5, 5.0, "pairs of values that nobody has, over those of a fresh sample"),
    ),
    _measure(
        "beyond_range",
        "values beyond the range of the data",
        "below the least or above the largest of the data",
        _ranges(lambda one: alone(one.below.value + one.above.value)),
        "ranges",
        unit="expectation",
        better="lower",
    ),
    _measure(
        "beyond_range_benchmark",
        "such values in a fresh sample, expected",
        "one of n + 1 lies beyond n others, on either side",
        _ranges(lambda found: alone(2 * found.expected)),
        "ranges",
        unit="expectation",
    ),
    _measure(
        "at_ends",
        "values at the ends of the range",
        "the least and the largest of the data: cut off there, if many",
        _ranges(lambda one: one.at_ends, always=True),
        "ranges",
    ),
    _measure(
        "small_cells",
        "cells of one or two records",
        "in all two-way tables; a fresh sample has as many as the data",
        _cells(lambda one: one.number, always=True),
        "small_cells",
        unit="expectation",
    ),
    _measure(
        "small_cells_kept",
        "of those of the data, found again",
        "as many records in the data and in the release",
        _cells(lambda one: one.kept),
        "small_cells",
    ),
    _measure(
        "small_cells_benchmark",
        "in a fresh sample, expected",
        "two halves of the data have so many in common",
        _cells(lambda one: one.fresh),
        "small_cells",
    ),
    _measure(
        "small_cells_gain",
        "small cells that are kept, beyond these",
        "of what a fresh sample leaves, the share that the release has",
        _cells(lambda one: one.gain),
        "small_cells",
        better="lower",
        threshold=Threshold("consistency", *BEYOND_CONTROL, "cells of one or two, found again beyond chance", null=0.0),
    ),
    # What shows that values were made warns: whoever publishes them says so anyway.
    _measure(
        "excess_digits",
        "values written more finely than any collected",
        "no confidential value is written so finely",
        _off,
        "heaps",
        better="lower",
        threshold=Threshold("consistency", 0.01, words="values written as nobody's are"),
    ),
    _measure(
        "round_values",
        "values that are multiples of {at}",
        "people tell amounts in round numbers; far fewer show that values were made",
        _heaps,
        "heaps",
    ),
    _measure(
        "round_gap",
        "distance of multiples of {at} from those of the data",
        "in either direction",
        _heap_gaps,
        "heaps",
        better="lower",
        threshold=Threshold("consistency", 0.1, words="share of round values, from that of the data"),
    ),
    _measure(
        "dates",
        "dates that are {of}",
        "days that confidential dates fall on more, or less, often than by chance",
        _days,
        "dates",
    ),
    _measure(
        "dates_gap",
        "the furthest of these from those of the data",
        "of the day that is furthest off",
        _day_gaps,
        "dates",
        better="lower",
        threshold=Threshold("consistency", 0.05, words="share of dates on a day, from that of the data"),
    ),
    _measure(
        "edit_failures",
        "records that break {of}",
        "a constraint, or a value where the column must be empty",
        _failures,
        "rules",
        unit="expectation",
    ),
    _measure(
        "edit_failures_excess",
        "share that breaks a rule, beyond that of the data",
        "share of the released records less that of the confidential ones",
        _more_failures,
        "rules",
        better="lower",
        threshold=Threshold("consistency", 0.001, 0.01, "records that break a rule, beyond the confidential ones"),
    ),
)
