"""Measures of the shape of a column: whether spread, tails and extremes are those of the data, and where values heap.

An interval that is wide enough to hold everything overlaps well; these cannot be fooled by it. With the released tables
each would give a number of the confidential one, so that none is public.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from molehill.arrays import Floats
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.scene import Scene
from molehill.evaluation.scenery.curves import values_of
from molehill.tables.intervals import Figure, jackknife, mean_over_tables

SHAPE = "Spread, tails and extremes"
HEAPS = "Zeros, losses and heaping"
_TAILS = (0.01, 0.99)
_MOST_FREQUENT = 10


def spread_ratio(released: Floats, confidential: Floats) -> float:
    """Standard deviation of released values over that of the confidential ones."""
    return _over(np.std(released), np.std(confidential))


def tail_ratio(released: Floats, confidential: Floats) -> float:
    """Distance from the 1% to the 99% quantile, over that of the confidential values."""
    return _over(np.ptp(np.quantile(released, _TAILS)), np.ptp(np.quantile(confidential, _TAILS)))


def reach_ratio(released: Floats, confidential: Floats) -> float:
    """How far the largest value lies above the confidential median, over what it is in the confidential table.

    Examples
    --------
    >>> reach_ratio(np.array([1.0, 7.0]), np.array([0.0, 1.0, 3.0]))
    3.0
    """
    middle = np.median(confidential)
    return _over(np.max(released) - middle, np.max(confidential) - middle)


def heaped_share(values: Floats, unit: float) -> float:
    """Share of the values other than zero that are multiples of a unit.

    Examples
    --------
    >>> heaped_share(np.array([0.0, 100.0, 250.0, 300.0, 1.5]), 100.0)
    0.5
    """
    times = values[values != 0] / unit
    # Within what dividing decimal numbers loses.
    return float(np.mean(np.abs(times - np.round(times)) < 1e-9 * np.maximum(np.abs(times), 1))) if len(times) else 0.0


def repeated_share(values: Floats) -> float:
    """Share of the values that are one of the ten most frequent ones, each of which occurs more than once."""
    counts = np.sort(np.unique(values, return_counts=True)[1])[-_MOST_FREQUENT:]
    return float(counts[counts > 1].sum() / len(values))


def _over(one: Any, other: Any) -> float:
    return float(one / other) if other else np.nan


def _columns(scene: Scene) -> Iterator[tuple[str, Floats, list[Floats]]]:
    """Every numeric column that has values on both sides: its name, the confidential values, and those released."""
    scene = scene.compared
    for column in scene.view.numeric:
        own, released = scene.view.column(column), values_of(scene, column)
        own = own[~np.isnan(own)]
        if len(own) and all(len(one) for one in released):
            yield column, own, released


def _compared(ratio: Callable[[Floats, Floats], float]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        if not scene.is_release:
            return []
        found = ((column, np.array([ratio(one, own) for one in tables])) for column, own, tables in _columns(scene))
        return [Value(mean_over_tables(values, least=0.0), column) for column, values in found]

    return compute


def _extremes(scene: Scene) -> Iterable[Value]:
    """Of all tables the one that reaches furthest: a single absurd value must not be averaged away."""
    if not scene.is_release:
        return []
    return [
        Value(Figure(max(reach_ratio(side * one, side * own) for one in tables), np.nan, np.nan), column, of)
        for column, own, tables in _columns(scene)
        for of, side in (("largest", 1.0), ("smallest", -1.0))
    ]


def _fresh(name: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        ranges = scene.compared.fresh_ranges if scene.is_release else {}
        found = ((column, *getattr(one, name)) for column, one in ranges.items())
        return [Value(Figure(1.0, low, high), column) for column, low, high in found if not np.isnan(low)]

    return compute


def _fresh_extremes(scene: Scene) -> Iterable[Value]:
    ends = {of: _fresh(of)(scene) for of in ("largest", "smallest")}
    return [Value(one.figure, one.column, of) for of, values in ends.items() for one in values]


def _pooled_gap(scene: Scene) -> Iterable[Value]:
    return [Value(_gap_of(own, tables), column) for column, own, tables in _columns(scene) if scene.is_release]


def _gap_of(own: Floats, tables: list[Floats]) -> Figure:
    """Greatest gap between the distribution functions of the confidential values and of all tables together."""
    places = np.sort(np.concatenate([own, *tables]))
    below = np.stack([np.searchsorted(np.sort(one), places, side="right") for one in tables])
    confidential = np.searchsorted(np.sort(own), places, side="right") / len(own)
    sizes = np.array([len(one) for one in tables])
    value = float(np.abs(below.sum(axis=0) / sizes.sum() - confidential).max())
    if len(tables) == 1:
        return Figure(value, np.nan, np.nan)
    left = (below.sum(axis=0) - below) / (sizes.sum() - sizes)[:, None]
    return jackknife(value, np.abs(left - confidential).max(axis=1), len(tables), least=0.0, most=1.0)


def _shared(share: Callable[[Floats], float]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = ((column, np.array([share(one) for one in tables])) for column, _, tables in _columns(scene))
        return [Value(mean_over_tables(values, least=0.0, most=1.0), column) for column, values in found]

    return compute


def _heaped(scene: Scene) -> Iterable[Value]:
    values = []
    for column, own, tables in _columns(scene):
        sizes = np.abs(own[own != 0])
        size = 10.0 ** np.floor(np.log10(np.median(sizes))) if len(sizes) else 1.0
        for unit in (size / 100, size / 10, size):
            shares = np.array([heaped_share(one, unit) for one in tables])
            values.append(Value(mean_over_tables(shares, least=0.0, most=1.0), column, at=float(f"{unit:.6g}")))
    return values


def _measure(id_: str, words: str, block: str, unit: Unit, compute: Callable[[Scene], Iterable[Value]]) -> Measure:
    return Measure(id_, words, "utility", block, unit, compute, "")


SHAPE_MEASURES: Sequence[Measure] = (
    Measure("U_m_combined", "U_m, tables pooled", "utility", "Distances of the tables", "number", _pooled_gap),
    _measure("spread_ratio", "standard deviation, over the confidential one", SHAPE, "ratio", _compared(spread_ratio)),
    _measure("tail_ratio", "1% to 99% quantile, over the confidential one", SHAPE, "ratio", _compared(tail_ratio)),
    _measure("reach_ratio", "reach of the {of} value, over the confidential one", SHAPE, "ratio", _extremes),
    _measure(
        "spread_ratio_benchmark", "the same of correct releases: standard deviation", SHAPE, "ratio", _fresh("spread")
    ),
    _measure(
        "tail_ratio_benchmark", "the same of correct releases: 1% to 99% quantile", SHAPE, "ratio", _fresh("tails")
    ),
    _measure(
        "reach_ratio_benchmark",
        "the same of correct releases: reach of the {of} value",
        SHAPE,
        "ratio",
        _fresh_extremes,
    ),
    _measure("zeros", "zeros", HEAPS, "share", _shared(lambda values: float(np.mean(values == 0)))),
    _measure("losses", "negative values", HEAPS, "share", _shared(lambda values: float(np.mean(values < 0)))),
    _measure("repeated", "values among the ten most frequent", HEAPS, "share", _shared(repeated_share)),
    _measure("heaped", "multiples of {at}", HEAPS, "share", _heaped),
)
