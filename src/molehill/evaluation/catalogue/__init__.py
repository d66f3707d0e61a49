"""The measures that ship: each a `Measure` of what one release gives away or keeps."""

from collections.abc import Sequence

from molehill.evaluation.measure import Measure
from molehill.evaluation.measures.all_datasets import ALL_DATASETS_MEASURES
from molehill.evaluation.measures.attacks import ATTACK_MEASURES
from molehill.evaluation.measures.new_people import NEW_PEOPLE_MEASURES
from molehill.evaluation.measures.risk import RISK_MEASURES
from molehill.evaluation.measures.shapes import SHAPE_MEASURES
from molehill.evaluation.measures.standing_out import STANDING_OUT_MEASURES
from molehill.evaluation.measures.strongest import ATTRIBUTE_RISK_MEASURES, MEMBERSHIP_MEASURES
from molehill.evaluation.measures.surveys import SURVEY_MEASURES
from molehill.evaluation.measures.utility import UTILITY_MEASURES

MEASURES: Sequence[Measure] = (
    *RISK_MEASURES,
    *STANDING_OUT_MEASURES,
    *NEW_PEOPLE_MEASURES,
    *MEMBERSHIP_MEASURES,
    *ATTRIBUTE_RISK_MEASURES,
    *UTILITY_MEASURES,
    *SHAPE_MEASURES,
    *SURVEY_MEASURES,
    *ATTACK_MEASURES,
    *ALL_DATASETS_MEASURES,
)

__all__ = ["ATTACK_MEASURES", "MEASURES"]
