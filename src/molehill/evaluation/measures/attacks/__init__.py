"""Measures by the attacks and checks of `molehill.attacks`: none of them is public."""

from collections.abc import Sequence

from molehill.evaluation.measure import Measure
from molehill.evaluation.measures.attacks.attributes import ATTRIBUTE_MEASURES
from molehill.evaluation.measures.attacks.closeness import CLOSENESS_MEASURES
from molehill.evaluation.measures.attacks.consistency import CONSISTENCY_MEASURES
from molehill.evaluation.measures.attacks.criteria import CRITERIA_MEASURES
from molehill.evaluation.measures.attacks.digits import DIGIT_MEASURES
from molehill.evaluation.measures.attacks.identity import IDENTITY_MEASURES
from molehill.evaluation.measures.attacks.predictions import PREDICTION_MEASURES

ATTACK_MEASURES: Sequence[Measure] = (
    *IDENTITY_MEASURES,
    *ATTRIBUTE_MEASURES,
    *CRITERIA_MEASURES,
    *CLOSENESS_MEASURES,
    *PREDICTION_MEASURES,
    *DIGIT_MEASURES,
    *CONSISTENCY_MEASURES,
)
