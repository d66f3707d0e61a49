"""Measures of consistency: records that nobody could be, small cells that are kept, values that nobody would write."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.consistency import CellCheck, DateCheck, HeapCheck, PairCheck, RangeCheck, RuleCheck
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.tables.intervals import Figure

CONSISTENCY = "Consistency: records that nobody could be"
_ANY_RULE = "any rule"


def _pairs(choose: Callable[[PairCheck], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.pairs if scene.is_release else None
        return [] if found is None else [Value(fixed_ends(choose(found)))]

    return compute


def _ratio(found: PairCheck) -> Figure:
    """New pairs over the most that a fresh sample would have; that is one at least, so that a stray one is no alarm."""
    most = max(found.expected.high, found.expected.value, 1.0)
    return Figure(*(end / most for end in found.new))


def _ranges(choose: Callable[[RangeCheck], Figure], *, always: bool = False) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.ranges if scene.is_release or always else []
        return [Value(fixed_ends(choose(one)), one.column) for one in found]

    return compute


def _beyond(found: RangeCheck) -> Figure:
    return Figure(found.below.value + found.above.value, np.nan, np.nan)


def _cells(choose: Callable[[CellCheck], Figure], *, always: bool = False) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.cells if scene.is_release or always else None
        figure = None if found is None else choose(found)
        return [] if figure is None or np.isnan(figure.value) else [Value(fixed_ends(figure))]

    return compute


def _heaps(scene: Scene) -> Iterable[Value]:
    """Of every number that heaps, the share of values in the unit at which it does."""
    found = [(one, one.heap) for one in scene.attacks.heaps]
    return [
        Value(fixed_ends(one.heaped[place]), one.column, at=one.at[place]) for one, place in found if place is not None
    ]


def _heap_gaps(scene: Scene) -> Iterable[Value]:
    found = [(one, one.heap) for one in scene.attacks.heaps if scene.is_release]
    return [
        Value(_distance(one.heaped[place], one.heaped_original[place]), one.column, at=one.at[place])
        for one, place in found
        if place is not None
    ]


def _off(scene: Scene) -> Iterable[Value]:
    """Values that are no multiple of the unit of the data, and dates with a time of day where none has any."""
    checks: list[HeapCheck | DateCheck] = []
    if scene.is_release:
        checks = [*(one for one in scene.attacks.heaps if one.unit), *scene.attacks.dates]
    return [Value(fixed_ends(one.off), one.column) for one in checks]


def _days(scene: Scene) -> Iterable[Value]:
    return [
        Value(fixed_ends(figure), found.column, of=day)
        for found in scene.attacks.dates
        for day, figure in zip(found.on, found.heaped, strict=True)
    ]


def _day_gaps(scene: Scene) -> Iterable[Value]:
    values = []
    for found in scene.attacks.dates if scene.is_release else ():
        gaps = [_distance(one, own) for one, own in zip(found.heaped, found.heaped_original, strict=True)]
        values += [Value(max(gaps), found.column)] if gaps else []
    return values


def _distance(figure: Figure, original: float) -> Figure:
    return Figure(abs(figure.value - original), np.nan, np.nan)


def _rules(scene: Scene) -> Iterable[Value]:
    return [Value(fixed_ends(one.broken), of=one.rule or _ANY_RULE) for one in scene.attacks.rules]


def _more_broken(scene: Scene) -> Iterable[Value]:
    found: list[RuleCheck] = scene.attacks.rules if scene.is_release else []
    return [Value(fixed_ends(one.more)) for one in found if not one.rule]


def _measure(
    id_: str,
    words: str,
    unit: Unit,
    compute: Callable[[Scene], Iterable[Value]],
    part_of: str,
    better: Literal["lower", ""] = "",
) -> Measure:
    return Measure(id_, words, "utility", CONSISTENCY, unit, compute, better, part_of=part_of)


CONSISTENCY_MEASURES: Sequence[Measure] = (
    _measure(
        "new_pairs",
        "records with a pair of values that nobody has",
        "expectation",
        _pairs(lambda found: found.new),
        "new_pairs",
        "lower",
    ),
    _measure(
        "new_pairs_benchmark",
        "such records in a fresh sample",
        "expectation",
        _pairs(lambda one: one.expected),
        "new_pairs",
    ),
    _measure("new_pairs_ratio", "the one over the most of the other", "ratio", _pairs(_ratio), "new_pairs", "lower"),
    _measure("beyond_range", "values beyond the range of the data", "expectation", _ranges(_beyond), "ranges", "lower"),
    _measure(
        "beyond_range_benchmark",
        "such values in a fresh sample, expected",
        "expectation",
        _ranges(lambda found: Figure(2 * found.expected, np.nan, np.nan)),
        "ranges",
    ),
    _measure(
        "at_ends", "values at the ends of the range", "share", _ranges(lambda one: one.at_ends, always=True), "ranges"
    ),
    _measure(
        "small_cells",
        "cells of one or two records",
        "expectation",
        _cells(lambda one: one.number, always=True),
        "small_cells",
    ),
    _measure(
        "small_cells_kept", "of those of the data, found again", "share", _cells(lambda one: one.kept), "small_cells"
    ),
    _measure(
        "small_cells_benchmark", "in a fresh sample, expected", "share", _cells(lambda one: one.fresh), "small_cells"
    ),
    _measure(
        "small_cells_gain",
        "small cells that are kept, beyond these",
        "share",
        _cells(lambda one: one.gain),
        "small_cells",
        "lower",
    ),
    _measure("excess_digits", "values written more finely than any collected", "share", _off, "heaps", "lower"),
    _measure("round_values", "values that are multiples of {at}", "share", _heaps, "heaps"),
    _measure(
        "round_gap", "distance of multiples of {at} from those of the data", "share", _heap_gaps, "heaps", "lower"
    ),
    _measure("dates", "dates that are {of}", "share", _days, "dates"),
    _measure("dates_gap", "the furthest of these from those of the data", "share", _day_gaps, "dates", "lower"),
    _measure("edit_failures", "records that break {of}", "expectation", _rules, "rules"),
    _measure(
        "edit_failures_excess",
        "share that breaks a rule, beyond that of the data",
        "share",
        _more_broken,
        "rules",
        "lower",
    ),
)
