"""Edit rules between variables: structural missingness (skip patterns), constraints, and the values they allow."""

from molehill.rules.constraints import Constraint, count_broken
from molehill.rules.contradictions import find_contradictions
from molehill.rules.emptiness import EmptyWhere, find_emptiness, may_be_empty, must_be_empty
from molehill.rules.reading import read_constraints
from molehill.rules.support import Support, support_of

__all__ = [
    "Constraint",
    "EmptyWhere",
    "Support",
    "count_broken",
    "find_contradictions",
    "find_emptiness",
    "may_be_empty",
    "must_be_empty",
    "read_constraints",
    "support_of",
]
