"""Measures of attributes: what the released records with a person's known values tell of the sensitive ones.

A number is looked up in groups: cut at round numbers near the fifths of the confidential values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.attribute import Attribution, Disclosure
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.measures.attacks.criteria import figures_of
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.evaluation.scenery.attacking import Tried
from molehill.tables.intervals import Figure

DISCLOSED = "Looking people up by the known columns"


def _diversity(scene: Scene) -> Iterable[Value]:
    return [Value(fixed_ends(figure), column) for column, figure in scene.attacks.diversity.items()]


def _disclosed(choose: Callable[[Disclosure], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        return [Value(choose(found), column) for column, (found, _) in scene.attacks.disclosure.items()]

    return compute


def _attributed(choose: Callable[[Attribution], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = {column: choose(one) for column, one in scene.attacks.attribution.items()}
        return [Value(figure, column) for column, figure in found.items() if not np.isnan(figure.value)]

    return compute


def _tried(scene: Scene) -> list[tuple[Value, Tried]]:
    return [(Value(tried.attack.rate, column), tried) for column, (_, tried) in scene.attacks.disclosure.items()]


def _about(
    id_: str,
    words: str,
    compute: Callable[[Scene], Iterable[Value]],
    part_of: str,
    better: Literal["lower", "higher", ""] = "",
    unit: Unit = "share",
) -> Measure:
    return Measure(id_, words, "risk", DISCLOSED, unit, compute, better, of_anybody=True, part_of=part_of)


ATTRIBUTE_MEASURES: Sequence[Measure] = (
    _about("l_diversity", "fewest different values in a pattern (l)", _diversity, "", "higher", "number"),
    _about(
        "disclosive_original",
        "the data give the value away (Dorig)",
        _disclosed(lambda found: found.original),
        "disclosive",
    ),
    _about(
        "disclosive",
        "the release does, and rightly (DiSCO)",
        _disclosed(lambda found: found.correct),
        "disclosive",
        "lower",
    ),
    *figures_of("disclosive", DISCLOSED, "DiSCO", _tried, rate=False),
    _about(
        "attribution",
        "true, of what the release is sure of (TCAP)",
        _attributed(lambda found: found.targeted),
        "attribution",
        "lower",
    ),
    _about("attribution_baseline", "TCAP: by chance", _attributed(lambda found: found.baseline), "attribution"),
)
