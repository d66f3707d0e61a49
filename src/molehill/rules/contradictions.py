"""Contradictory constraints, found by trying records, before anything is fitted.

Records tried are those of the dataset, then records drawn variable by variable within the supports that the constraints
allow, then records that start from a solution of the linear constraints.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp

from molehill.arrays import Booleans, Floats
from molehill.rules.constraints import Constraint, Empty, Key, Levels, Sum
from molehill.rules.support import Support, support_of
from molehill.tables.table import as_table

# Number of confidential records tried, of records drawn at a time, and of draws, each in another order of the
# variables.
_SEEN, _DRAWN, _TIMES = 5_000, 100, 4
# Solutions of the linear constraints tried per draw.
_SOLVED = 10


def find_contradictions(
    constraints: Sequence[Constraint],
    data: Any,
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    levels: Mapping[str, Sequence[Key]] | None = None,
    units: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """Name constraints and value ranges that no record with values can meet together.

    A conditional constraint must be possible where its condition is true, unless that is never the case. Every
    contradiction is found; constraints reported are met by none of the records tried.

    Parameters
    ----------
    constraints
        The constraints.
    data
        The confidential data.
    limits
        Value ranges of numbers.
    levels
        Levels of text variables.
    units
        Units of numbers: `x > 3` and `x < 4` are contradictory for whole numbers.

    Examples
    --------
    >>> data = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
    >>> less = Constraint("a < b", (), (Sum((("a", 1), ("b", -1)), "<", Fraction(0)),))
    >>> more = Constraint("a > b", (), (Sum((("a", -1), ("b", 1)), "<", Fraction(0)),))
    >>> print(*find_contradictions([less, more], data))
    'a < b' and 'a > b' contradict each other
    """
    rules = {repr(each.text): each for each in constraints}
    used = list(dict.fromkeys(name for each in constraints for name in each.columns))
    bounds = {
        f"the value range of {name!r}": _bound(name, *(limits or {})[name]) for name in used if name in (limits or {})
    }
    tried = _Tried(as_table(data).frame[used], levels or {}, units or {})
    everywhere = bounds | {name: each for name, each in rules.items() if not each.condition}
    found = []
    while not tried.possible(everywhere):
        core = tried.smallest(everywhere)
        found.append(_say(core))
        del everywhere[core[-1]]
    conditional = {name: each for name, each in rules.items() if each.condition}
    tried.draw(list((everywhere | conditional).values()))
    for name, each in conditional.items():
        others = everywhere | {other: one for other, one in conditional.items() if other != name}
        where = Constraint("", (), _as_true(each))
        own = {name: Constraint(each.text, (), (*where.conclusion, *each.conclusion))}
        if not tried.possible(others | own) and tried.possible(others | {name: where}):
            found.append(_say((*tried.smallest(others, own), name), " where the condition of the last is true"))
            # A contradictory pair is reported once.
            conditional = {other: one for other, one in conditional.items() if other != name}
    if not found and not tried.possible(everywhere | conditional):
        found.append(_say(tried.smallest(everywhere | conditional)))
    return tuple(found)


def _say(names: Sequence[str], where: str = "") -> str:
    if len(names) == 1:
        return f"{names[0]} contradicts itself"
    return f"{', '.join(names[:-1])} and {names[-1]} contradict each other{where}"


def _bound(name: str, lower: float, upper: float) -> Constraint:
    ends = ((-1, -lower), (1, upper))
    return Constraint(
        "", (), tuple(Sum(((name, s),), "<=", Fraction(str(end))) for s, end in ends if abs(end) < np.inf)
    )


def _as_true(rule: Constraint) -> tuple[Any, ...]:
    """The claims of the condition, and that its variables are not missing, since comparisons with missing are false."""
    names = dict.fromkeys(name for one in rule.condition if not isinstance(one, Empty) for name in one.columns)
    return (*rule.condition, *(Empty(name, empty=False) for name in names))


class _Tried:
    """The records tried: confidential and drawn ones."""

    def __init__(self, frame: pd.DataFrame, levels: Mapping[str, Sequence[Key]], units: Mapping[str, float]) -> None:
        # With a cache of the records that meet each rule.
        self._tried: list[tuple[pd.DataFrame, dict[Constraint, Booleans]]] = [
            (frame.iloc[:: -(-len(frame) // _SEEN)], {})
        ]
        # A variable that is always missing has no levels: use any.
        self._levels = {name: given or ("",) for name, given in levels.items()}
        self._units = units

    def smallest(
        self, rules: Mapping[str, Constraint], always: Mapping[str, Constraint] | None = None
    ) -> tuple[str, ...]:
        """A minimal contradictory subset of the rules, given those that always apply."""
        core = dict(rules)
        for name in reversed(list(rules)):
            rest = {other: each for other, each in core.items() if other != name}
            if not self.possible(rest | dict(always or {})):
                core = rest
        return tuple(core)

    def possible(self, rules: Mapping[str, Constraint]) -> bool:
        """Whether a record meets all rules."""
        asked = list(rules.values())
        return (
            not asked
            or any(np.logical_and.reduce([_kept(each, *one) for each in asked]).any() for one in self._tried)
            or self.draw(asked)
        )

    def draw(self, rules: Sequence[Constraint]) -> bool:
        """Draw records, keep those that meet all rules, and return whether there are any."""
        random = np.random.default_rng(0)
        for time in range(_TIMES if rules else 0):
            # Drawing variable by variable misses solutions of several equations.
            frame = self._draw(rules, random, _solve(rules, self._units, random) if time > 0 else {})
            kept = np.logical_and.reduce([each.holds(frame) for each in rules])
            if kept.any():
                self._tried.append((frame[kept], {}))
                return True
        return False

    def _draw(
        self, rules: Sequence[Constraint], random: np.random.Generator, solved: Mapping[str, Floats]
    ) -> pd.DataFrame:
        names = list(dict.fromkeys(name for each in rules for name in each.columns))
        names = [names[place] for place in random.permutation(len(names))]
        claims = [one for each in rules for one in (*each.condition, *each.conclusion)]
        maybe = {one.column: True for one in claims if isinstance(one, Empty)}
        frame, alive = pd.DataFrame(index=range(_DRAWN)), np.ones(_DRAWN, dtype=bool)
        for place, name in enumerate(names):
            left = support_of(
                rules, name, frame, names[place + 1 :], {}, self._levels, units=self._units, may_be_empty=maybe
            )
            alive &= ~left.impossible
            if not alive.any():
                break
            if name in self._levels:
                values = _pick_level(left, self._levels[name], random)
            else:
                unit = self._units.get(name, 0.0)
                values = _pick_number(left, claims, unit, random)
                if name in solved:
                    first = np.clip(solved[name], left.lower[: len(solved[name])], left.upper[: len(solved[name])])
                    values[: len(first)] = np.where(np.isnan(left.fixed[: len(first)]), first, values[: len(first)])
                alive &= np.isclose(values, np.rint(values / unit) * unit) if unit else True
            frame[name] = pd.Series(values).mask(left.empty)
        return frame[alive]


def _kept(rule: Constraint, frame: pd.DataFrame, known: dict[Constraint, Booleans]) -> Booleans:
    """Which records meet a rule without missing values, except in variables that the rule tests for missingness."""
    if rule not in known:
        claims = (*rule.condition, *rule.conclusion)
        names = set(rule.columns) - {one.column for one in claims if isinstance(one, Empty)}
        known[rule] = rule.holds(frame) & frame.reindex(columns=list(names)).notna().all(axis=1).to_numpy()
    return known[rule]


def _pick_level(support: Support, levels: Sequence[Key], random: np.random.Generator) -> np.ndarray:
    allowed = np.asarray(support.allowed)
    return np.array(levels, dtype=object)[(allowed * random.uniform(size=allowed.shape)).argmax(axis=1)]


def _pick_number(support: Support, claims: Sequence[Any], unit: float, random: np.random.Generator) -> Floats:
    """Pick a bound, a number named by the rules or one beside it, or any number between the bounds."""
    name, size = support.column, len(support.lower)
    listed = [float(level) for one in claims if isinstance(one, Levels) and one.column == name for level in one.levels]
    named = [float(one.bound / one.terms[0][1]) for one in claims if isinstance(one, Sum) and one.columns == (name,)]
    step = unit or 1.0
    marks = np.array([0.0, *listed, *(number + by for number in (*listed, *named) for by in (-step, 0.0, step))])
    reach = 10 * max([1.0, *np.abs(marks), *(abs(float(one.bound)) for one in claims if isinstance(one, Sum))])
    low = np.where(np.isfinite(support.lower), support.lower, np.minimum(support.upper, reach) - 2 * reach)
    high = np.where(np.isfinite(support.upper), support.upper, np.maximum(low, -reach) + 2 * reach)
    inside = (marks >= low[:, None]) & (marks <= high[:, None])
    mark = marks[(inside * random.uniform(size=inside.shape)).argmax(axis=1)]
    between = random.uniform(np.minimum(low, high), high)
    between = np.clip(np.rint(between / unit) * unit, low, high) if unit else between
    mark = np.where(inside.any(axis=1), mark, between)
    picked = np.choose(random.integers(0, 5, size), [low, high, mark, mark, between])
    return np.where(np.isnan(support.fixed), picked, support.fixed)


def _solve(rules: Sequence[Constraint], units: Mapping[str, float], random: np.random.Generator) -> dict[str, Floats]:
    """Solve the unconditional linear constraints with random objectives, and random choices from lists of numbers."""
    claims = [one for each in rules if not each.condition for one in each.conclusion]
    sums = [one for one in claims if isinstance(one, Sum) and one.sign != "!="]
    names = list(dict.fromkeys(name for one in sums for name in one.columns))
    if not sums:
        return {}
    step = np.array([units.get(name, 0.0) or 1.0 for name in names])
    matrix, low, high = np.zeros((len(sums), len(names))), np.full(len(sums), -np.inf), np.zeros(len(sums))
    for row, one in enumerate(sums):
        for name, times in one.terms:
            matrix[row, names.index(name)] = times * step[names.index(name)]
        whole = all(name in units for name in one.columns)
        least = min(abs(matrix[row][matrix[row] != 0])) if whole else 1e-6 * max(1.0, abs(float(one.bound)))
        high[row] = float(one.bound) - (least if one.sign == "<" else 0.0)
        low[row] = high[row] if one.sign == "=" else -np.inf
    listed = {
        one.column: sorted(map(float, one.levels))
        for one in claims
        if isinstance(one, Levels) and one.among and one.column in names
    }
    reach = 100 * max(1.0, *np.abs(high), *(abs(number) for numbers in listed.values() for number in numbers))
    found = []
    for _ in range(_SOLVED):
        ends = np.stack([np.full(len(names), -reach), np.full(len(names), reach)]) / step
        for name, numbers in listed.items():
            ends[:, names.index(name)] = random.choice(numbers) / step[names.index(name)]
        solution = milp(
            random.normal(size=len(names)),
            constraints=LinearConstraint(matrix, low, high),  # pyright: ignore[reportArgumentType]
            bounds=Bounds(*ends),
            integrality=[name in units for name in names],
        )
        if solution.x is not None:
            found.append(np.round(solution.x * step, 9))
    return dict(zip(names, np.transpose(found), strict=True)) if found else {}
