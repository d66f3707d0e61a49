"""Measures of digits: released values that end like the true ones, though they differ."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from molehill.attacks.digits import Digits
from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.tables.intervals import Figure

DIGITS = "Last digits of released and true values"


def _shared(choose: Callable[[Digits], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.digits.items()
        return [Value(fixed_ends(choose(one)), column, at=one.step) for column, several in found for one in several]

    return compute


def _measure(id_: str, words: str, choose: Callable[[Digits], Figure], better: Literal["lower", ""]) -> Measure:
    return Measure(id_, words, "risk", DIGITS, "share", _shared(choose), better, part_of="digits")


DIGIT_MEASURES: Sequence[Measure] = (
    _measure("digits", "released values that differ from the true one by a multiple of {at}", lambda one: one.rate, ""),
    _measure("digits_baseline", "by chance, a multiple of {at}", lambda one: one.baseline, ""),
    _measure("digits_gain", "gain over chance, a multiple of {at}", lambda one: one.gain, "lower"),
)
