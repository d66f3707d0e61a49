"""The measures that ship, a file a family: each holds what is computed, and everything that is to be known of it."""

from collections.abc import Sequence

from molehill.evaluation.catalogue.article29 import ARTICLE_29_MEASURES
from molehill.evaluation.catalogue.attribute import ATTRIBUTE_MEASURES
from molehill.evaluation.catalogue.dependence import DEPENDENCE_MEASURES
from molehill.evaluation.catalogue.distributions import DISTRIBUTION_MEASURES
from molehill.evaluation.catalogue.estimates import ESTIMATE_MEASURES
from molehill.evaluation.catalogue.identity import IDENTITY_MEASURES
from molehill.evaluation.catalogue.membership import MEMBERSHIP_MEASURES
from molehill.evaluation.catalogue.plausibility import PLAUSIBILITY_MEASURES
from molehill.evaluation.catalogue.relations import RELATION_MEASURES
from molehill.evaluation.measure import Measure

MEASURES: Sequence[Measure] = (
    *IDENTITY_MEASURES,
    *ATTRIBUTE_MEASURES,
    *DEPENDENCE_MEASURES,
    *ARTICLE_29_MEASURES,
    *MEMBERSHIP_MEASURES,
    *ESTIMATE_MEASURES,
    *DISTRIBUTION_MEASURES,
    *RELATION_MEASURES,
    *PLAUSIBILITY_MEASURES,
)
# The attack simulations and plausibility checks, which settings can leave out.
ATTACK_MEASURES: Sequence[Measure] = tuple(one for one in MEASURES if one.is_attack)

__all__ = ["ATTACK_MEASURES", "MEASURES"]
