"""The measures that ship: each a `Measure` of what one release gives away or keeps."""

from collections.abc import Sequence

from molehill.evaluation.measure import Measure
from molehill.evaluation.measures.attributes import ATTRIBUTE_MEASURES
from molehill.evaluation.measures.closeness import CLOSENESS_MEASURES
from molehill.evaluation.measures.consistency import CONSISTENCY_MEASURES
from molehill.evaluation.measures.criteria import CRITERIA_MEASURES
from molehill.evaluation.measures.identity import IDENTITY_MEASURES
from molehill.evaluation.measures.new_people import NEW_PEOPLE_MEASURES
from molehill.evaluation.measures.risk import RISK_MEASURES
from molehill.evaluation.measures.shapes import SHAPE_MEASURES
from molehill.evaluation.measures.standing_out import STANDING_OUT_MEASURES
from molehill.evaluation.measures.surveys import SURVEY_MEASURES
from molehill.evaluation.measures.utility import UTILITY_MEASURES

# The attacks and checks of `molehill.attacks`.
ATTACK_MEASURES: Sequence[Measure] = (
    *IDENTITY_MEASURES,
    *ATTRIBUTE_MEASURES,
    *CRITERIA_MEASURES,
    *CLOSENESS_MEASURES,
    *CONSISTENCY_MEASURES,
)
MEASURES: Sequence[Measure] = (
    *RISK_MEASURES,
    *STANDING_OUT_MEASURES,
    *NEW_PEOPLE_MEASURES,
    *UTILITY_MEASURES,
    *SHAPE_MEASURES,
    *SURVEY_MEASURES,
    *ATTACK_MEASURES,
)
