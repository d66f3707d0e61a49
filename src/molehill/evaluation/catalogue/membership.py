"""Measures of the strongest intruder, who knows everybody else: who was in the data, and what is true of a person.

Told of the first release whose posterior is known, in internal reports only.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene
from molehill.evaluation.scenery.attribute import SPREAD, AttributeRisk
from molehill.evaluation.scenery.membership import Membership
from molehill.tables.intervals import Figure

MEMBERSHIP, ATTRIBUTE_RISK = "Membership", "A value guessed by who knows everybody else"
# What guesses are, in words.
_AMONG = {
    "levels": "its levels",
    "near": f"guesses within {SPREAD:.0%} of it",
    "quantiles": "quantiles of the column",
    "given": "the guesses",
}


def _of_members(tell: Callable[[Membership], Figure]) -> Callable[[Scene], Iterable[Value]]:
    """A figure of the advantage, told of as many tables as the release has; nothing where it is not known."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = None if scene.membership is None else tell(scene.membership)
        if found is None or scene.membership is None or np.isnan(found.value):
            return []
        return [Value(found, at=float(scene.membership.datasets))]

    return compute


def _of_values(tell: Callable[[AttributeRisk], Figure]) -> Callable[[Scene], Iterable[Value]]:
    """A figure of the attribute risk, by column and by what the guesses are."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = [(one, tell(one)) for one in scene.attributes]
        return [Value(figure, one.column, _AMONG[one.among]) for one, figure in found if not np.isnan(figure.value)]

    return compute


def _alone(value: float) -> Figure:
    return Figure(value, np.nan, np.nan)


def _guessed(id_: str, words: str, tell: Callable[[AttributeRisk], Figure], *, baseline: bool = False) -> Measure:
    compute, better = _of_values(tell), "" if baseline else "lower"
    return Measure(id_, words, "risk", ATTRIBUTE_RISK, "share", compute, better, part_of="attribute_risk")


def _unsure(*, riskiest: bool) -> Callable[[Membership], Figure]:
    return lambda found: Figure(found.unsure(riskiest=riskiest), np.nan, np.nan)


def _measure(id_: str, words: str, tell: Callable[[Membership], Figure]) -> Measure:
    return Measure(id_, words, "risk", MEMBERSHIP, "share", _of_members(tell), part_of="membership")


MEMBERSHIP_MEASURES: Sequence[Measure] = (
    _measure(
        "advantage_random",
        "advantage of who knows all others and the model, {at} tables, mean over records chosen at random (0: a coin)",
        lambda found: found.mean(),
    ),
    _measure(
        "advantage_random_largest",
        "the largest of these",
        lambda found: found.largest(),
    ),
    _measure(
        "advantage_riskiest",
        "advantage of who knows all others and the model, {at} tables, mean over the riskiest records",
        lambda found: found.mean(riskiest=True),
    ),
    _measure(
        "advantage_riskiest_largest",
        "the largest of the riskiest",
        lambda found: found.largest(riskiest=True),
    ),
    _measure(
        "advantage_unsure",
        "share of the random records whose advantage only a fit without them could tell",
        _unsure(riskiest=False),
    ),
    _measure(
        "advantage_riskiest_unsure",
        "share of the riskiest records whose advantage only a fit without them could tell",
        _unsure(riskiest=True),
    ),
)

ATTRIBUTE_RISK_MEASURES: Sequence[Measure] = (
    _guessed(
        "attribute_risk",
        "probability of the true value among {of}, mean over records chosen at random",
        lambda found: found.mean(),
    ),
    _guessed(
        "attribute_risk_baseline",
        "the same without the release, among {of}",
        lambda found: _alone(found.baseline()),
        baseline=True,
    ),
    _guessed(
        "attribute_risk_largest",
        "the largest of these, among {of}",
        lambda found: found.largest(),
    ),
    _guessed(
        "attribute_risk_likeliest",
        "how often the true value is the likeliest among {of}",
        lambda found: found.likeliest(),
    ),
    _guessed(
        "attribute_risk_riskiest",
        "probability of the true value among {of}, mean over the riskiest records",
        lambda found: found.mean(riskiest=True),
    ),
    _guessed(
        "attribute_risk_riskiest_largest",
        "the largest of the riskiest, among {of}",
        lambda found: found.largest(riskiest=True),
    ),
    _guessed(
        "attribute_risk_unsure",
        "share of the random records, among {of}, of which the draws cannot say it",
        lambda found: _alone(found.unsure()),
    ),
)
