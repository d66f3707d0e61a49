"""A measure of one's own, from outside the package: one function and one `Measure`, known everywhere by its fields."""

import numpy as np
import pandas as pd

from molehill import Intruder, Measure, evaluate
from molehill.charts.maps import list_choices, measure_map
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.measure import Threshold
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import score
from molehill.evaluation.verdict import judge
from molehill.tables.intervals import mean_over_tables


def kept_values(context):
    """The share of records whose value is still the true one, in every dataset."""
    if not context.is_release:
        return []
    (name,) = context.view.intruder.sensitive
    true = context.view.table.frame[name]
    return mean_over_tables(np.array([float((table.frame[name] == true).mean()) for table in context.tables]))


MINE = Measure(
    "kept_values",
    "share of values that are still the true ones",
    "risk",
    "Changes",
    "share",
    kept_values,
    explanation="as often an intruder is right who takes released values for true ones",
    threshold=Threshold("attribute", 0.2, 0.5, "values that are still the true ones"),
)
# Fewer of the others, so that the test is quick.
FEW = ("risk_mean", "matches_true", "U_m", "U_m_benchmark", "estimate", "overlap")
TAKEN = (*(one for one in MEASURES if one.id in FEW), MINE)

random = np.random.default_rng(1)
PEOPLE = pd.DataFrame({"town": random.choice(["A", "B"], 80), "visits": random.poisson(3, 80).astype(float)})


def test_it_is_rated_and_stands_in_the_recommendation():
    half = PEOPLE.assign(visits=np.where(np.arange(80) % 2, PEOPLE["visits"], -1.0))
    intruder = Intruder(known="town", sensitive="visits", min_radius=0.5)
    found = evaluate(PEOPLE, {"half": [half], "same": [PEOPLE]}, intruder, EvaluationOptions(measures=TAKEN))
    (value,) = found.risk.query("measure == 'kept_values' and scheme == 'half'")["value"]
    assert value == 0.5
    (attribute,) = [one for one in score(found, "same") if one.family == "attribute"]
    assert attribute.why == "Red: values that are still the true ones: 1 (red from 0.5)."
    assert "values that are still the true ones" in judge(found, "same").sentence
    # An agency sets other thresholds as for any measure.
    other = EvaluationOptions(measures=TAKEN, thresholds={"kept_values": {"amber": 0.6, "red": 0.9}})
    (attribute,) = [
        one for one in score(evaluate(PEOPLE, {"half": [half]}, intruder, other)) if one.family == "attribute"
    ]
    assert attribute.colour == "green"
    # Charts lay schemes out by it.
    assert "kept_values" in {choice.which.measure for choice in list_choices(found)}
    assert measure_map(found, "risk_mean", "kept_values") is not None
