"""Measures of those who stand out: small patterns, the most isolated records, and the largest amounts.

A mean over all records is mostly about typical ones. Whom weights are for is seen here.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.evaluation.measure import FEW, Measure, Value
from molehill.evaluation.scene import Scene
from molehill.risk.intruder import View
from molehill.tables.intervals import Figure, mean_over_tables

STANDING_OUT = "Those who stand out"
SMALL = 5
_SHARE = 0.01


def find_isolated(risk: Floats) -> Booleans:
    """Say which records are the most isolated 1%, and all that are as isolated, by their confidential risk."""
    return risk >= np.nanquantile(risk, 1 - _SHARE)


def _isolated(scene: Scene) -> list[tuple[str, Booleans]]:
    return [("", find_isolated(scene.confidential.risk))]


def find_largest(view: View) -> list[tuple[str, Booleans]]:
    """Say of every amount which records have the largest 1% of its values."""
    amounts = [column for column in view.numeric if view.schema[column].kind != "date"]
    sizes = {column: np.abs(view.column(column)) for column in amounts}
    return [(column, size >= np.nanquantile(size, 1 - _SHARE)) for column, size in sizes.items()]


def _mean_of(choose: Callable[[Scene], list[tuple[str, Booleans]]]) -> Callable[[Scene], Iterable[Value]]:
    """Mean risk of some records; expected where the model is known, else in the tables, whose mean estimates that."""

    def compute(scene: Scene) -> Iterable[Value]:
        by_dataset = scene.by_dataset if scene.expected is None else scene.expected.blocks
        values = []
        for column, chosen in choose(scene):
            own = by_dataset[:, chosen & ~np.isnan(by_dataset).any(axis=0)]
            if own.shape[1]:
                values.append(Value(mean_over_tables(own.mean(axis=1), least=0.0, most=1.0), column))
        return values

    return compute


def _by_chance(choose: Callable[[Scene], list[tuple[str, Booleans]]]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = choose(scene) if scene.risk_by_chance else []
        rows = [(column, chosen & scene.view.part) for column, chosen in found]
        return [
            Value(scene.mean_by_chance(chosen, [*scene.risk_by_chance]), column)
            for column, chosen in rows
            if chosen.any()
        ]

    return compute


def _smallest(scene: Scene) -> Figure:
    # Those without a sensitive value take no part, and may have patterns of their own.
    return Figure(float(scene.view.size[scene.view.part].min()), np.nan, np.nan)


def _in_small(scene: Scene) -> Figure:
    return Figure(float((scene.view.size[scene.view.part] < SMALL).sum()), np.nan, np.nan)


STANDING_OUT_MEASURES: Sequence[Measure] = (
    Measure(
        "isolated_mean",
        "mean expected risk of the most isolated 1%",
        "risk",
        STANDING_OUT,
        "share",
        _mean_of(_isolated),
        public=True,
        least_records=100 * FEW,
        reveals="the identification risk, on average, of the records that stand out most; not who they are",
    ),
    Measure(
        "largest_mean",
        "mean expected risk of the largest 1% of the amounts",
        "risk",
        STANDING_OUT,
        "share",
        _mean_of(lambda scene: find_largest(scene.view)),
        public=True,
        least_records=100 * FEW,
        reveals="the identification risk, on average, of the records with the largest values; not who they are",
    ),
    *(
        Measure(
            f"{name}_benchmark", f"the same by chance: {words}", "risk", STANDING_OUT, "share", _by_chance(choose), ""
        )
        for name, words, choose in (
            ("isolated_mean", "the most isolated 1%", _isolated),
            ("largest_mean", "the largest 1%", lambda scene: find_largest(scene.view)),
        )
    ),
    Measure("smallest_pattern", "records in the smallest pattern (k)", "risk", STANDING_OUT, "number", _smallest, ""),
    Measure(
        "in_small_patterns",
        f"records in patterns of fewer than {SMALL}",
        "risk",
        STANDING_OUT,
        "count",
        _in_small,
        "",
        public=True,
        reveals="how many records share their known values with few others, which columns that are kept show",
    ),
)
