"""Measures by the three criteria of the Article 29 Working Party: inference, linkability and singling out.

No rate stands alone. Beside it is that of who uses nothing but the spread of the released values, and, where people are
known who were not used, that of the same attack on them. Only what goes beyond these is owed to the release.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from molehill.attacks.rates import Attack
from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene
from molehill.evaluation.scenery.attacking import Tried
from molehill.tables.intervals import Figure

INFERENCE = "Inference: a secret from the released record most like a person"
LINKABILITY = "Linkability: two files on the same people by way of the release"
SINGLING_OUT = "Singling out: what is true of one person alone"

Tries = Callable[[Scene], list[tuple[Value, Tried]]]


def figures_of(id_: str, block: str, words: str, tries: Tries, *, rate: bool = True) -> list[Measure]:
    """Give the measures of an attack: how often it succeeds, its baseline, its control, and its risk."""

    def compute(choose: Callable[[Tried], Figure | None]) -> Callable[[Scene], Iterable[Value]]:
        def values(scene: Scene) -> Iterable[Value]:
            found = [(value, choose(tried)) for value, tried in tries(scene)]
            told = [(value, figure) for value, figure in found if figure is not None and not np.isnan(figure.value)]
            return [value._replace(figure=figure) for value, figure in told]

        return values

    def held(choose: Callable[[Attack], Figure]) -> Callable[[Tried], Figure | None]:
        return lambda tried: None if tried.held is None else choose(tried.held)

    about: dict[str, Any] = {"of_anybody": True, "part_of": id_}
    own = Measure(id_, f"{words}: succeeds", "risk", block, "share", compute(lambda tried: tried.attack.rate), **about)
    anew = compute(lambda tried: tried.held.rate if tried.anew and tried.held is not None else None)
    others: list[tuple[str, str, Callable[[Scene], Iterable[Value]], Literal["lower", ""]]] = [
        ("baseline", f"{words}: by chance", compute(lambda tried: tried.attack.baseline), ""),
        ("half", f"{words}: fitted to half of the people, on these", anew, ""),
        ("control", f"{words}: on people who were not used", compute(held(lambda one: one.control)), ""),
        ("risk", f"{words}: risk beyond these", compute(held(lambda one: one.risk)), "lower"),
    ]
    told = [
        Measure(f"{id_}_{end}", text, "risk", block, "share", one, side, **about) for end, text, one, side in others
    ]
    return [own, *told] if rate else told


def _inference(scene: Scene) -> list[tuple[Value, Tried]]:
    return [(Value(tried.attack.rate, column), tried) for column, tried in scene.attacks.inference.items()]


def _linkability(scene: Scene) -> list[tuple[Value, Tried]]:
    tried = scene.attacks.linkability
    return [] if tried is None else [(Value(tried.attack.rate), tried)]


def _singling_out(scene: Scene) -> list[tuple[Value, Tried]]:
    found = scene.attacks.singling_out.items()
    return [(Value(tried.attack.rate, at=float(size)), tried) for size, tried in found if tried.attack.attacks]


CRITERIA_MEASURES: Sequence[Measure] = (
    *figures_of("inference", INFERENCE, "guess", _inference),
    *figures_of("linkability", LINKABILITY, "link", _linkability),
    *figures_of("singling_out", SINGLING_OUT, "claim of {at} column(s)", _singling_out),
)
