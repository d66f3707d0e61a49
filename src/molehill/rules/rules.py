"""What every released record keeps to: where variables are empty, and constraints between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans
from molehill.rules.constraints import Constraint
from molehill.rules.emptiness import EmptyWhere, must_be_empty
from molehill.rules.support import Support, support_of


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules of a dataset whose variables are drawn one after the other.

    Attributes
    ----------
    empty
        Where a variable has no value because of another one.
    constraints
        What must be so in every record.
    limits, levels, units
        Of the synthesized variables: public limits of numbers, levels of categories, and the unit that numbers are
        written in.
    """

    empty: tuple[EmptyWhere, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.empty or self.constraints)

    def empties(self, column: str) -> bool:
        """Whether a rule says where a variable is empty."""
        return any(rule.column == column and rule.by is not None for rule in self.empty)

    def empty_in(self, column: str, frame: pd.DataFrame) -> Booleans:
        """Where a variable must be empty, given the others as far as they are drawn."""
        return must_be_empty(self.empty, column, frame)

    def support(self, column: str, drawn: pd.DataFrame, later: Sequence[str]) -> Support | None:
        """Where the next variable may lie, given what is drawn; None where no constraint speaks of it."""
        if not any(column in one.columns for one in self.constraints):
            return None
        never = {rule.column for rule in self.empty if rule.by is None}
        maybe = {name: True for name in later if self.empty and name not in never}
        return support_of(
            self.constraints, column, drawn, later, self.limits, self.levels, units=self.units, may_be_empty=maybe
        )

    def broken(self, frame: pd.DataFrame) -> Booleans:
        """Which records break a constraint; one that the unchanged variables alone decide is nobody's fault here."""
        broken = np.zeros(len(frame), dtype=bool)
        for one in self.constraints:
            if set(one.columns) & {*self.limits, *self.levels}:
                broken |= ~one.holds(frame)
        return broken
