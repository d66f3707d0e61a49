"""Schemes: ways to make tables, and what can be changed of them to lower the risk, from the least distorting on.

*Parts*: a forest that tells fewer records apart carries less of a person, and less of the relations between columns.
*Membership* needs no new fit. A mixture can draw a record's component given its true value ("posterior", as the paper
does) or not ("prior").
*Weights* along a path of strength: from 1 for every record to those of the paper, and on to 0.
*Feedback*: only the records that break a target, and those that shape their predictions, are weighted down further.
"""

from dataclasses import dataclass

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.risk.balls import bounds, group, sort_cells
from molehill.risk.identification import ConfidentialRisk, risk_weights
from molehill.risk.intruder import View
from molehill.synthesis.posterior import Posterior

# How much of its weight a record loses in a round of feedback, at first.
FEEDBACK = 0.5


@dataclass(frozen=True)
class Scheme:
    """A way to make tables: how the weights of its fit come from risk.

    Attributes
    ----------
    order, scale, shift
        As in `confidential_risk` and `risk_weights`; order 0 is no weighting.
    rounds, step
        Rounds of feedback after that, and how much of its weight a record loses in each.
    leaf
        Of a forest the least number of records that it tells apart; 0 as settings say.
    """

    order: int = 0
    scale: float = 1.0
    shift: float = 0.0
    rounds: int = 0
    step: float = FEEDBACK
    leaf: float = 0.0

    @property
    def seed_key(self) -> str:
        """What seeds are derived from. Its words are fixed: another wording would change the bytes of every release."""
        key = {0: "unweighted", 1: "marginal", 2: "pairwise"}.get(self.order, f"order {self.order}")
        if self.order:
            key += f", scale {self.scale:g}" if self.scale != 1 else ""
            key += f", shift {self.shift:g}" if self.shift != 0 else ""
        if self.rounds:
            key += f", {self.rounds} round{'s' if self.rounds > 1 else ''} of feedback by {self.step:.0%}"
        return f"{key}, parts of {self.leaf:g}" if self.leaf else key

    def __str__(self) -> str:
        if self.order == 0:
            words = "unweighted"
        else:
            words = {1: "marginal", 2: "pairwise"}.get(self.order, f"order {self.order}")
            words += f", scale {self.scale:g}" if self.scale != 1 else ""
            words += f", shift {self.shift:g}" if self.shift != 0 else ""
        if self.rounds:
            words += f", {self.rounds} round{'s' if self.rounds > 1 else ''} of feedback by {self.step:.0%}"
        return f"{words}, minimum leaf size {self.leaf:g}" if self.leaf else words


def along_path(order: int, strength: float, leaf: float = 0.0) -> Scheme:
    """Give the scheme of a strength: 0 is unweighted, 1 the paper's weights, 2 nothing but zeros.

    Up to 1 the shift falls from 1 to 0, which lowers the riskiest records first; from 1 on the scale falls.

    Examples
    --------
    >>> str(along_path(2, 0.75)), str(along_path(1, 1.5))
    ('pairwise, shift 0.25', 'marginal, scale 0.5')
    """
    if strength <= 0:
        return Scheme(leaf=leaf)
    scale, shift = round(min(1.0, 2.0 - strength), 6), round(max(0.0, 1.0 - strength), 6)
    return Scheme(order, scale=scale, shift=shift, leaf=leaf)


def weigh(scheme: Scheme, risk: ConfidentialRisk | None, records: int) -> Floats:
    """Give the weights of a scheme without its feedback."""
    if scheme.order == 0 or risk is None:
        return np.ones(records)
    return np.array(risk_weights(risk, scale=scheme.scale, shift=scheme.shift))


def weigh_down(weights: Floats, breaking: Booleans, view: View, step: float = FEEDBACK) -> Floats:
    """Lower the weights of the records that break a target and of those that shape their predictions.

    Those are the records of the same pattern within the box of one that breaks it: close in every sensitive column.

    Examples
    --------
    >>> import pandas as pd
    >>> from molehill import Intruder
    >>> people = pd.DataFrame({"town": ["A"] * 3, "pay": [10.0, 11.0, 20.0]})
    >>> view = Intruder(known="town", sensitive="pay", radius=0.2).view(people)
    >>> weigh_down(np.ones(3), np.array([True, False, False]), view)
    array([0.5, 0.5, 1. ])
    """
    shaping, values = breaking.copy(), view.values
    low, high = bounds(values, view.radius, view.min_radius)
    grouped = sort_cells(values, group(view.cells, view.by_cell.number))
    for one in np.flatnonzero(breaking & (view.cells >= 0)):
        members = grouped.records[slice(*grouped.starts[view.cells[one] :][:2])]
        if values.shape[1]:
            first = np.searchsorted(values[members, 0], low[one, 0], side="left")
            last = np.searchsorted(values[members, 0], high[one, 0], side="right")
            members = members[first:last]
        close = (values[members] >= low[one]) & (values[members] <= high[one])
        shaping[members[close.all(axis=1)]] = True
    return np.where(shaping, (1 - step) * weights, weights)


def with_prior_membership(posterior: Posterior) -> Posterior | None:
    """Give the same fit with components drawn without the record's value; None if that is how they are drawn."""
    return (
        posterior.drawing_by(component_draw="prior") if posterior.options.get("component_draw") == "posterior" else None
    )
