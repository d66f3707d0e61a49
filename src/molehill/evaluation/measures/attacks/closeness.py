"""Measures of what is near: the closest records of who was used and who was not, and kept columns from the others."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.closeness import Closeness
from molehill.attacks.reconstruction import Reconstruction
from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene
from molehill.tables.intervals import Figure

CLOSEST = "Closest records of who was used, and who was not (DCR)"
RECONSTRUCTION = "A kept column of who knows all the others"


def _closest(choose: Callable[[Closeness], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.closeness
        return [] if found is None else [Value(choose(found))]

    return compute


def _reconstructed(choose: Callable[[Reconstruction], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = [(one.column, choose(one)) for one in scene.attacks.reconstruction]
        return [Value(figure, column) for column, figure in found if not np.isnan(figure.value)]

    return compute


def _near(id_: str, words: str, choose: Callable[[Closeness], Figure], better: Literal["lower", ""]) -> Measure:
    about = {"of_anybody": True, "part_of": "closest_records"}
    return Measure(id_, words, "risk", CLOSEST, "share", _closest(choose), better, **about)


def _kept(id_: str, words: str, choose: Callable[[Reconstruction], Figure], better: Literal["lower", ""]) -> Measure:
    compute = _reconstructed(choose)
    return Measure(id_, words, "risk", RECONSTRUCTION, "share", compute, better, part_of="unchanged_inference")


def _gain(found: Reconstruction) -> Figure:
    # Without the own record a guess may fall below the most frequent value, which is no sign.
    others = max(found.without.value, found.baseline.value)
    return Figure(found.rate.value - others, np.nan, np.nan)


CLOSENESS_MEASURES: Sequence[Measure] = (
    _near(
        "closest_records", "released records nearer to who was used (half: no sign)", lambda one: one.nearer, "lower"
    ),
    _near("closest_copies", "released records that equal somebody who was used", lambda one: one.copies, "lower"),
    _near(
        "closest_copies_control",
        "released records that equal somebody who was not",
        lambda one: one.copies_held_out,
        "",
    ),
    _kept("unchanged_inference", "guessed right", lambda one: one.rate, "lower"),
    _kept(
        "unchanged_inference_leave_one_out", "guessed right without the person's record", lambda one: one.without, ""
    ),
    _kept("unchanged_inference_baseline", "guessed right by the most frequent value", lambda one: one.baseline, ""),
    _kept("unchanged_inference_gain", "gain over the better of these", _gain, "lower"),
    _kept("unchanged_inference_unique", "alone in all the other columns", lambda one: one.alone, ""),
)
