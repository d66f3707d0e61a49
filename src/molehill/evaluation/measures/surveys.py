"""Measures of a sample of a survey: weighted distances, what plain estimates would say, and rarity in the population.

A release is judged by weighted estimates where the weights are known. What somebody finds who ignores them stands
beside, for it may differ. The paper's intruder knows that a person is in the sample. One who does not must find the
person in the population: a record that is alone in the sample is rarely alone there.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.measures.utility import DISTANCES, ESTIMATES
from molehill.evaluation.scene import Scene, fixed_ends
from molehill.risk.identification import release_risk
from molehill.risk.profile import profile_release
from molehill.surveys.rarity import PopulationRisk
from molehill.tables.intervals import Figure

POPULATION = "In the population"
WEIGHT = "If the intruder knows the survey weight"


def _unweighted(scene: Scene) -> Iterable[Value]:
    """Estimates of the tables as they are; of the confidential table those beside the first release."""
    own = not scene.is_release
    found = scene if scene.is_release else scene.beside
    rows = [] if found is None else found.unweighted.to_dict("records")
    side = "confidential" if own else "released"
    return [
        Value(
            Figure(*(row[f"{side}{end}"] for end in ("", "_low", "_high"))),
            row["column"],
            row["analysis"],
            group=row["group"],
        )
        for row in rows
    ]


def _weighted(id_: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        rows = scene.weighted_distances
        return [
            Value(fixed_ends(Figure(float(row["value"]), float(row["low"]), float(row["high"]))), f"{row['column']}")
            for row in rows[rows["measure"] == id_].to_dict("records")
        ]

    return compute


def _of_population(tell: Callable[[PopulationRisk], float]) -> Callable[[Scene], Iterable[Value]]:
    """What the known columns tell of the population, which is the same whatever is released."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = None if scene.is_release else scene.population
        return [] if found is None else [Value(Figure(tell(found), np.nan, np.nan))]

    return compute


def _not_knowing(key: str) -> Callable[[Scene], Iterable[Value]]:
    """Risk from an intruder who does not know who is in the sample: times the chance that a double in the sample is."""

    def compute(scene: Scene) -> Iterable[Value]:
        if scene.population is None:
            return []
        blocks = scene.by_dataset if scene.expected is None else scene.expected.blocks
        return [Value(profile_release(blocks * scene.population.in_sample)[key])]

    return compute


def _knowing_weight(key: str) -> Callable[[Scene], Iterable[Value]]:
    def compute(scene: Scene) -> Iterable[Value]:
        view = scene.knowing_weight
        if view is None or not scene.is_linked or not scene.is_release:
            return []
        return [Value(profile_release(release_risk(view, scene.tables).by_dataset)[key])]

    return compute


def _alone_by_weight(scene: Scene) -> Iterable[Value]:
    view = scene.knowing_weight
    alone = 0 if view is None else int((view.size[view.part] == 1).sum())
    return [] if view is None or scene.is_release else [Value(Figure(float(alone), np.nan, np.nan))]


SURVEY_MEASURES: Sequence[Measure] = (
    Measure(
        "sample_uniques",
        "records alone in their pattern in the sample",
        "risk",
        POPULATION,
        "count",
        _of_population(lambda found: float((found.sample_frequency == 1).sum())),
        "",
    ),
    Measure(
        "population_uniques",
        "of these expected to be alone in the population",
        "risk",
        POPULATION,
        "expectation",
        _of_population(lambda found: found.expected_uniques),
        "",
    ),
    Measure(
        "population_smallest",
        "people in the population of the rarest pattern, as the weights say",
        "risk",
        POPULATION,
        "number",
        _of_population(lambda found: float(found.population_frequency.min())),
        "",
    ),
    Measure(
        "population_matches",
        "right matches expected if every record is looked for in the population",
        "risk",
        POPULATION,
        "expectation",
        _of_population(lambda found: found.expected_matches),
        "",
    ),
    Measure(
        "population_mean",
        "mean risk if the intruder does not know who is in the sample",
        "risk",
        POPULATION,
        "share",
        _not_knowing("mean"),
    ),
    Measure(
        "population_largest",
        "largest risk if the intruder does not know who is in the sample",
        "risk",
        POPULATION,
        "share",
        _not_knowing("largest"),
    ),
    Measure(
        "uniques_by_weight",
        "records alone in their pattern if it has the weight",
        "risk",
        WEIGHT,
        "count",
        _alone_by_weight,
        "",
    ),
    Measure("weight_mean", "mean risk", "risk", WEIGHT, "share", _knowing_weight("mean")),
    Measure("weight_largest", "largest risk", "risk", WEIGHT, "share", _knowing_weight("largest")),
    Measure("estimate_unweighted", "{of}, without survey weights", "utility", ESTIMATES, "number", _unweighted, ""),
    Measure("U_m_weighted", "U_m, by survey weights", "utility", DISTANCES, "number", _weighted("U_m")),
    Measure("U_a_weighted", "U_a, by survey weights", "utility", DISTANCES, "number", _weighted("U_a")),
    Measure(
        "U_m_weighted_benchmark",
        "U_m, by survey weights, of a fresh sample",
        "utility",
        DISTANCES,
        "number",
        _weighted("U_m_benchmark"),
        "",
    ),
    Measure(
        "variation_weighted",
        "total variation, by survey weights",
        "utility",
        DISTANCES,
        "share",
        _weighted("variation"),
    ),
)
