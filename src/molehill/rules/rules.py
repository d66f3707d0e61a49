"""All edit rules of a dataset: structural missingness and constraints."""

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
    """The edit rules of a sequentially synthesized dataset.

    Attributes
    ----------
    empty
        Structural missingness.
    constraints
        Constraints that every record must meet.
    limits, levels, units
        Of the synthesized variables: value ranges, levels of categories, and units of numbers.
    """

    empty: tuple[EmptyWhere, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.empty or self.constraints)

    def empties(self, column: str) -> bool:
        """Whether a variable has structural missingness."""
        return any(rule.column == column and rule.by is not None for rule in self.empty)

    def empty_in(self, column: str, frame: pd.DataFrame) -> Booleans:
        """Where a variable must be missing, given the variables drawn so far."""
        return must_be_empty(self.empty, column, frame)

    def support(self, column: str, drawn: pd.DataFrame, later: Sequence[str]) -> Support | None:
        """Support of the next variable given those drawn so far; None if no constraint involves it."""
        if not any(column in one.columns for one in self.constraints):
            return None
        never = {rule.column for rule in self.empty if rule.by is None}
        maybe = {name: True for name in later if self.empty and name not in never}
        return support_of(
            self.constraints, column, drawn, later, self.limits, self.levels, units=self.units, may_be_empty=maybe
        )

    def broken(self, frame: pd.DataFrame) -> Booleans:
        """Which records fail a constraint that involves a synthesized variable."""
        broken = np.zeros(len(frame), dtype=bool)
        for one in self.constraints:
            if set(one.columns) & {*self.limits, *self.levels}:
                broken |= ~one.holds(frame)
        return broken
