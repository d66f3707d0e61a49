"""Measures of identity: how many share the known columns, who is alone in them, and what linking by them gives."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.identity import Linkage, Uniques
from molehill.evaluation.measure import Measure, Unit, Value
from molehill.evaluation.measures.attacks.criteria import figures_of
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.evaluation.scenery.attacking import Tried
from molehill.evaluation.telling import cut_name
from molehill.tables.intervals import Figure

PATTERNS = "Who share all known columns"
UNIQUES = "Who is alone in the known columns"
LINKS = "Linking by the known columns alone"
_LARGE, _CHANCE = "10 and more", "replicated_uniques_baseline"


def _sizes(scene: Scene) -> Iterable[Value]:
    return [
        Value(fixed_ends(figure), of=size) for size, figure in scene.attacks.pattern_sizes.items() if size != _LARGE
    ]


def _uniques(choose: Callable[[Uniques], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.uniques
        return [] if found is None else [Value(fixed_ends(choose(found)))]

    return compute


def _identifiers(scene: Scene) -> Iterable[Value]:
    found = scene.attacks.unchanged_uniques.items()
    return [Value(Figure(share, np.nan, np.nan), of=cut_name(name)) for name, share in found]


def _again(scene: Scene) -> list[tuple[Value, Tried]]:
    tried = scene.attacks.again
    return [] if tried is None else [(Value(tried.attack.rate), tried)]


def _links(choose: Callable[[Linkage], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = scene.attacks.linkage if scene.is_release else None
        return [] if found is None else [Value(choose(found))]

    return compute


def _alone(id_: str, words: str, choose: Callable[[Uniques], Figure], better: Literal["lower", ""] = "") -> Measure:
    about = {"of_anybody": True, "part_of": "replicated_uniques"}
    return Measure(id_, words, "risk", UNIQUES, "share", _uniques(choose), better, **about)


def _linked(id_: str, words: str, unit: Unit, choose: Callable[[Linkage], Figure]) -> Measure:
    return Measure(id_, words, "risk", LINKS, unit, _links(choose), part_of="linkage")


IDENTITY_MEASURES: Sequence[Measure] = (
    Measure("k_anonymity", "records in patterns of {of}", "risk", PATTERNS, "count", _sizes, "", of_anybody=True),
    _alone("uniques", "alone in the confidential table (UiO)", lambda found: found.original),
    _alone("uniques_released", "released records alone in their table (UiS)", lambda found: found.synthetic),
    _alone(
        "uniques_found", "alone in the data, and their known values are released (UiOiS)", lambda found: found.found
    ),
    _alone(
        "replicated_uniques", "alone in the data and in the release (repU)", lambda found: found.replicated, "lower"
    ),
    # Chance is what people who were not used show.
    *(one for one in figures_of("replicated_uniques", UNIQUES, "repU", _again, rate=False) if one.id != _CHANCE),
    Measure(
        "unchanged_uniques",
        "people who alone have their value of {of}",
        "risk",
        "Variables released unchanged that identify a record",
        "share",
        _identifiers,
        part_of="unchanged_uniques",
    ),
    _linked("linkage_expected", "right matches expected", "expectation", lambda found: found.expected),
    _linked("linkage_unique", "people with whom one released record agrees", "expectation", lambda found: found.unique),
    _linked("linkage_right", "of these the right one", "expectation", lambda found: found.right),
)
