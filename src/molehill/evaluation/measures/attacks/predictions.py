"""Measures of prediction: a synthesized variable of a person, from the variables of the person released unchanged."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from molehill.attacks.prediction import Prediction
from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene
from molehill.evaluation.telling import cut_name
from molehill.tables.intervals import Figure

DEPENDENCE = "What the released values of a person say of the true one"
PREDICTION = "Synthesized values predicted from other released variables"


def _predicted(choose: Callable[[Prediction], Figure]) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        found = [(one.column, choose(one)) for one in scene.attacks.predictions]
        return [Value(figure, column) for column, figure in found if not np.isnan(figure.value)]

    return compute


def _gain(id_: str, words: str, choose: Callable[[Prediction], tuple[Figure, str]]) -> Measure:
    """A gain, with what alone predicts as well."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = [(one.column, *choose(one)) for one in scene.attacks.predictions]
        return [
            Value(figure, column, of=f" (by {cut_name(by)} alone)" if by and figure.low > 0 else "")
            for column, figure, by in found
            if not np.isnan(figure.value)
        ]

    return Measure(id_, words, "risk", PREDICTION, "share", compute, "lower", part_of="prediction")


def _measure(id_: str, words: str, choose: Callable[[Prediction], Figure], better: Literal["lower", ""]) -> Measure:
    return Measure(id_, words, "risk", PREDICTION, "share", _predicted(choose), better, part_of="prediction")


def _worst_group(scene: Scene) -> Iterable[Value]:
    found = scene.attacks.worst_group.items()
    return [Value(figure, column, of=f" of {cut_name(where)}") for column, (figure, where) in found]


def _linked_by_values(scene: Scene) -> Iterable[Value]:
    found = scene.attacks.linked_by_values
    return [] if found is None or np.isnan(found.value) else [Value(found)]


PREDICTION_MEASURES: Sequence[Measure] = (
    _measure("predicted", "predicted right", lambda one: one.rate, "lower"),
    _measure("predicted_baseline", "predicted right from the key variables", lambda one: one.baseline, ""),
    _gain("predicted_gain", "predicted right{of}, gain over the key variables", lambda one: (one.risk, one.by)),
    _measure("predicted_fine", "predicted within 1% of the true value", lambda one: one.fine, "lower"),
    _measure(
        "predicted_fine_baseline",
        "predicted within 1% from the key variables",
        lambda one: one.fine_baseline,
        "",
    ),
    _gain(
        "predicted_fine_gain",
        "predicted within 1%{of}, gain over the key variables",
        lambda one: (one.fine_risk, one.fine_by),
    ),
    _measure(
        "level_gain",
        "people of the level of a category that is redrawn least: have it again, gain over predictions",
        lambda one: one.level,
        "lower",
    ),
    Measure(
        "linked_by_values_gain",
        "people whose own record fits their true values best of all of the pattern, gain over chance",
        "risk",
        DEPENDENCE,
        "share",
        _linked_by_values,
        part_of="linked_by_values",
    ),
    Measure(
        "worst_group_gain",
        "people of a level{of} who have their true value, gain over chance: the level with the most",
        "risk",
        DEPENDENCE,
        "share",
        _worst_group,
        part_of="worst_group",
    ),
    Measure(
        "dependence_gain",
        "uncertainty of the true value removed by the released ones of the person, beyond chance",
        "risk",
        DEPENDENCE,
        "share",
        lambda scene: [Value(figure, column) for column, figure in scene.attacks.dependence.items()],
        part_of="dependence",
    ),
)
