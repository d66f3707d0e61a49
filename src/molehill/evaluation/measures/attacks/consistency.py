"""Measures of consistency: released records that nobody could be, and values where no confidential one lies."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.consistency import PairCheck, RangeCheck
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.tables.intervals import Figure

CONSISTENCY = "Consistency: records that nobody could be"


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
        "new_pairs_fresh",
        "such records in a fresh sample",
        "expectation",
        _pairs(lambda one: one.expected),
        "new_pairs",
    ),
    _measure("new_pairs_ratio", "the one over the most of the other", "ratio", _pairs(_ratio), "new_pairs", "lower"),
    _measure("beyond_range", "values beyond the range of the data", "expectation", _ranges(_beyond), "ranges", "lower"),
    _measure(
        "beyond_range_fresh",
        "such values in a fresh sample, expected",
        "expectation",
        _ranges(lambda found: Figure(2 * found.expected, np.nan, np.nan)),
        "ranges",
    ),
    _measure(
        "at_ends", "values at the ends of the range", "share", _ranges(lambda one: one.at_ends, always=True), "ranges"
    ),
)
