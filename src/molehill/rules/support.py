"""Supports: the values of the next variable for which constraints can be met.

Variables are drawn sequentially: some are known, one is next, others come later. What the constraints allow for undrawn
variables is an interval or a set of levels, narrowed until nothing changes (constraint propagation): where a condition
is true, its conclusion narrows its variables; where a conclusion is false, the only open claim of its condition must be
false. The last variable of a constraint is then restricted exactly, if the result is an interval or a set of levels;
earlier ones so that later ones have values left.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, freeze
from molehill.errors import InputError
from molehill.rules.constraints import (
    CLOSE,
    Claim,
    Constraint,
    Empty,
    Fixed,
    Key,
    Levels,
    Same,
    Spot,
    Sum,
    all_of,
    any_of,
    key_of,
    level_mask,
    match_combinations,
    negate,
    open_spot,
    range_of,
    spot_of,
    tell,
)

_TINY = np.finfo(np.float64).tiny
# Tolerance for bounds that are multiples of the unit.
_ROUNDING = 8 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Support:
    """Allowed values of a variable in every record.

    Attributes
    ----------
    column
        The variable.
    lower, upper
        Closed bounds of a number, multiples of its unit if it has one; infinite for a category.
    fixed
        The only allowed value (for a category its level code), NaN if there are several.
    allowed
        Allowed levels of a category, (records, levels); None for a number.
    empty, filled
        Where it must be missing, and where it must not.
    impossible
        Where no value meets the constraints: the record must be redrawn.
    """

    column: str
    lower: Floats
    upper: Floats
    fixed: Floats
    allowed: Booleans | None
    empty: Booleans
    filled: Booleans
    impossible: Booleans


def support_of(
    constraints: Sequence[Constraint],
    column: str,
    drawn: pd.DataFrame,
    later: Sequence[str] = (),
    limits: Mapping[str, tuple[float, float]] | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    *,
    units: Mapping[str, float] | None = None,
    may_be_empty: Mapping[str, Any] | None = None,
) -> Support:
    """Compute the support of the next variable in every record, given the variables drawn so far.

    Values are excluded only if no values of later variables could meet the constraints (except by a later variable
    being missing where `may_be_empty` does not allow it). Constraints not connected with the variable are ignored.

    Parameters
    ----------
    constraints
        The constraints.
    column
        The variable to draw next.
    drawn
        The unchanged variables, and those drawn so far.
    later
        The variables that will be drawn after this one.
    limits
        Value ranges of undrawn numbers.
    levels
        Levels of undrawn categories; missing may be a level of this variable.
    units
        Units of numbers. `x < y` becomes `x <= y - unit` if all its variables have one, otherwise the next float below.
    may_be_empty
        Later variables that may be missing, and in which records (an array, or True for all).

    Examples
    --------
    >>> from molehill.rules.reading import read_constraints
    >>> people = pd.DataFrame({"wages": [3.0, 2.0], "benefits": [1.0, 2.0], "total": [4.0, 4.0]})
    >>> declared = read_constraints("wages + benefits = total", people)
    >>> kept = pd.DataFrame({"total": [9.0, 5.0]})
    >>> first = support_of(declared, "wages", kept, ["benefits"], {"wages": (0, 100), "benefits": (0, 6)})
    >>> first.lower.tolist(), first.upper.tolist()
    ([3.0, 0.0], [9.0, 5.0])
    >>> support_of(declared, "benefits", kept.assign(wages=[4.0, 5.0])).fixed.tolist()
    [5.0, 0.0]
    """
    early = [name for name in (column, *later) if name in drawn.columns]
    if early:
        # This would be the confidential value.
        raise InputError("drawn", f"it contains {early[0]!r}, which is still to be drawn", "Remove this variable")
    steps = _units(units or {})
    asked = _joined(constraints, column, set(drawn.columns))
    own = [each for each in asked if column in each.columns]
    names = dict.fromkeys([column, *(name for each in asked for name in each.columns)])
    maybe = {name: np.broadcast_to(np.asarray(given), len(drawn)) for name, given in (may_be_empty or {}).items()}
    spots = {
        name: spot_of(drawn, name)
        if name in drawn.columns
        else _undrawn(name, column, later, len(drawn), limits or {}, levels or {}, maybe)
        for name in names
    }
    empty, filled = _emptiness(own, column, spots)
    _narrow_all(asked, spots, steps)
    impossible = any_of([each.broken(spots) for each in own], spots) | (empty & filled)
    empty, filled = empty & ~filled, filled & ~empty
    if column in (levels or {}):
        return _support_levels(column, (levels or {})[column], own, spots, empty, filled, impossible)
    own_limits = (limits or {}).get(column, (-np.inf, np.inf))
    return _support_number(column, spots[column], own_limits, steps.get(column, 0.0), empty, filled, impossible)


# Initial knowledge.


def _joined(constraints: Sequence[Constraint], column: str, drawn: set[Any]) -> list[Constraint]:
    """The constraints of a variable, and those connected with them by undrawn variables."""
    reached, before = {column}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {name for each in constraints if reached & set(each.columns) for name in each.columns} - drawn
    return [each for each in constraints if reached & set(each.columns)]


def _units(units: Mapping[str, float]) -> dict[str, float]:
    for name, unit in units.items():
        if not 0 <= unit < np.inf:
            raise InputError("units", f"that of {name!r} is not 0 or larger", "Give the step between its values")
    return {name: float(unit) for name, unit in units.items() if unit}


def _undrawn(
    name: str,
    column: str,
    later: Collection[str],
    records: int,
    limits: Mapping[str, tuple[float, float]],
    levels: Mapping[str, Sequence[Any]],
    may_be_empty: Mapping[str, Booleans],
) -> Spot:
    filled = np.zeros(records, dtype=bool)
    if name == column:
        filled = np.ones(records, dtype=bool)
    elif name in later:
        filled = ~may_be_empty[name].astype(bool) if name in may_be_empty else np.ones(records, dtype=bool)
    spot = open_spot(records, limits.get(name, (-np.inf, np.inf)), filled)
    if name not in levels:
        return spot
    values = _keys(levels[name])
    return replace(spot, values=values, allowed=np.ones((records, len(values)), dtype=bool))


def _keys(levels: Sequence[Any]) -> tuple[Key, ...]:
    return tuple(key_of(level) for level in levels if not pd.isna(level))


def _emptiness(constraints: Sequence[Constraint], column: str, spots: Mapping[str, Spot]) -> tuple[Booleans, Booleans]:
    """Where a variable must be missing, and where it must not: where the opposite fails a constraint."""
    with_value = open_spot(len(spots[column].filled), filled=spots[column].filled)
    without = replace(with_value, filled=with_value.empty, empty=with_value.filled, drawn=True)
    # A combination that does not occur is no reason to be missing.
    compared = _without_fixed(constraints)
    return (
        any_of([each.broken({**spots, column: with_value}) for each in compared], spots),
        any_of([each.broken({**spots, column: without}) for each in compared], spots),
    )


def _without_fixed(constraints: Sequence[Constraint]) -> list[Constraint]:
    return [each for each in constraints if not isinstance(each.conclusion[0], Fixed)]


# Propagation.


def _narrow_all(constraints: Sequence[Constraint], spots: dict[str, Spot], steps: Mapping[str, float]) -> None:
    """Propagate until nothing changes; each round carries a bound one variable further."""
    for _ in range(sum(not spot.drawn for spot in spots.values()) + 1):
        before = dict(spots)
        for constraint in constraints:
            _narrow_by(constraint, spots, steps)
        if all(spots[name] is before[name] for name in spots):
            return


def _narrow_by(constraint: Constraint, spots: dict[str, Spot], steps: Mapping[str, float]) -> None:
    asked = [tell(claim, spots)[0] for claim in constraint.condition]
    true = all_of(asked, spots)
    if true.any():
        for claim in constraint.conclusion:
            _narrow(claim, true, spots, steps)
    if not asked:
        return
    false = any_of([tell(claim, spots)[1] for claim in constraint.conclusion], spots)
    for place, claim in enumerate(constraint.condition):
        others = all_of(asked[:place] + asked[place + 1 :], spots)
        opposite = negate(claim)
        if opposite is not None and (false & others).any():
            _narrow(opposite, false & others, spots, steps)


def _narrow(claim: Claim, rows: Booleans, spots: dict[str, Spot], steps: Mapping[str, float]) -> None:
    """Narrow the undrawn variables of a claim, in the rows where it must not be false."""
    for name in claim.columns:
        if spots[name].drawn or isinstance(claim, Empty):
            continue
        others = [spots[other].filled for other in claim.columns if other != name]
        where = rows & all_of(others, spots)
        if not where.any():
            continue
        if isinstance(claim, Sum):
            narrowed = _within(spots[name], *_bounds_of(claim, name, spots, steps), where)
        elif isinstance(claim, Levels):
            narrowed = _among(claim, spots[name], where)
        elif isinstance(claim, Same):
            narrowed = _same(claim, name, spots, where)
        else:
            narrowed = _fitting(claim, name, spots, where)
        spots[name] = narrowed


def _bounds_of(claim: Sum, name: str, spots: Mapping[str, Spot], steps: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Bounds that a comparison implies for one of its variables, given the bounds of the others."""
    bound, times = float(claim.bound), dict(claim.terms)[name]
    others = [term for term in claim.terms if term[0] != name]
    least, largest, off_least, _ = range_of(others, spots, bound)
    nothing = np.full(len(least), np.inf)
    with np.errstate(invalid="ignore"):
        most, least_of_all = bound - least, bound - largest
    if claim.sign == "!=":
        return -nothing, nothing
    if claim.sign == "<":
        # Strictly below: by a step of the unit, or by twice the rounding tolerance.
        step = _step(claim, steps)
        most = most - (
            step or np.maximum(2 * (off_least + CLOSE * np.abs(np.where(np.isfinite(most), most, 0))), _TINY)
        )
    if claim.sign != "=":
        least_of_all = -nothing
    most, least_of_all = np.where(np.isnan(most), np.inf, most), np.where(np.isnan(least_of_all), -np.inf, least_of_all)
    return (least_of_all / times, most / times) if times > 0 else (most / times, least_of_all / times)


def _step(claim: Sum, steps: Mapping[str, float]) -> float:
    """Step between the values of a sum if all its variables have units; otherwise 0."""
    units = [steps.get(name, 0.0) for name in claim.columns]
    if not all(units):
        return 0.0
    times = np.array([*units, float(claim.bound)]) / min(units)
    return min(units) if (np.abs(times - np.rint(times)) <= _ROUNDING * np.abs(times)).all() else 0.0


def _within(spot: Spot, low: Floats, high: Floats, where: Booleans) -> Spot:
    if spot.allowed is not None:
        values = np.array([np.nan if isinstance(value, str) else value for value in spot.values], dtype=np.float64)
        below, above = (
            end + sign * CLOSE * np.where(np.isfinite(end), np.abs(end), 0) for end, sign in ((low, -1), (high, 1))
        )
        inside = (values >= below[:, None]) & (values <= above[:, None])
        return _restrict(spot, inside, where)
    up, down = where & (low > spot.low), where & (high < spot.high)
    if not up.any() and not down.any():
        return spot
    return replace(spot, low=np.where(up, low, spot.low), high=np.where(down, high, spot.high))


def _restrict(spot: Spot, mask: Booleans, where: Booleans) -> Spot:
    """Allow only the levels of a mask, (levels) or (records, levels), in some records."""
    allowed = spot.allowed
    assert allowed is not None
    left = allowed & (mask | ~where[:, None])
    return spot if (left == allowed).all() else replace(spot, allowed=left)


def _among(claim: Levels, spot: Spot, where: Booleans) -> Spot:
    mask = level_mask(spot.values, claim.levels)
    if spot.allowed is not None:
        return _restrict(spot, mask if claim.among else ~mask, where)
    numbers = np.array(sorted(level for level in claim.levels if not isinstance(level, str)), dtype=np.float64)
    if not claim.among or not len(numbers):
        return spot
    # The first and the last listed number within the bounds so far.
    first, last = np.searchsorted(numbers, spot.low), np.searchsorted(numbers, spot.high, side="right") - 1
    # Where there is none, the claim itself is false.
    some = first <= last
    return _within(spot, numbers[np.where(some, first, 0)], numbers[np.where(some, last, 0)], where & some)


def _same(claim: Same, name: str, spots: Mapping[str, Spot], where: Booleans) -> Spot:
    spot = spots[name]
    (other,) = (spots[each] for each in claim.columns if each != name)
    if spot.allowed is None or other.codes is None:
        return spot
    equal = np.array([[value == mine for mine in spot.values] for value in other.values] + [[False] * len(spot.values)])
    mask = equal[other.codes]
    return _restrict(spot, mask if claim.equal else ~mask, where)


def _fitting(claim: Fixed, name: str, spots: Mapping[str, Spot], where: Booleans) -> Spot:
    """Allow the values that occur together with the drawn variables."""
    spot, place = spots[name], claim.columns.index(name)
    matched = match_combinations(claim, spots)
    if spot.allowed is None:
        numbers = np.array(
            [row[place] if not isinstance(row[place], str) else np.nan for row in claim.combinations], dtype=np.float64
        )
        if np.isnan(numbers).any():
            return spot
        low = np.where(matched.fits, numbers, np.inf).min(axis=1)[matched.groups]
        high = np.where(matched.fits, numbers, -np.inf).max(axis=1)[matched.groups]
        return _within(spot, low, high, where & (low <= high))
    has = np.array([[row[place] == value for value in spot.values] for row in claim.combinations], dtype=bool)
    return _restrict(spot, (matched.fits.astype(np.float64) @ has.astype(np.float64) > 0)[matched.groups], where)


# The resulting support.


def _support_number(
    column: str,
    spot: Spot,
    limits: tuple[float, float],
    unit: float,
    empty: Booleans,
    filled: Booleans,
    impossible: Booleans,
) -> Support:
    low, high = spot.low, spot.high
    off = CLOSE * np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        # Two equations for the same value may differ by rounding; value ranges are kept exactly.
        one = np.isfinite(off) & (np.abs(high - low) <= off)
    value = np.where(one, np.clip(low, *limits), np.nan)
    if unit:
        low, high, value = _up(low, unit), _down(high, unit), _onto(value, unit)
    low, high = np.where(one, value, low), np.where(one, value, high)
    fixed = np.where(low == high, low, np.nan)
    return _frozen(column, low, high, fixed, None, empty, filled, impossible | (low > high))


def _up(ends: Floats, unit: float) -> Floats:
    finite = np.isfinite(ends)
    times = np.where(finite, ends, 0.0) / unit
    return np.where(finite, _as_written(np.ceil(times - _ROUNDING * np.abs(times)), unit), ends)


def _down(ends: Floats, unit: float) -> Floats:
    return -_up(-ends, unit)


def _onto(values: Floats, unit: float) -> Floats:
    """Round values to the unit if they are multiples of it up to rounding errors."""
    nearest = _as_written(np.rint(values / unit), unit)
    return np.where(np.abs(nearest - values) <= CLOSE * np.maximum(np.abs(values), unit), nearest, values)


def _as_written(times: Floats, unit: float) -> Floats:
    """Multiply by a unit and round to its decimals: 3 * 0.1 is not 0.3."""
    decimals = max(0, -int(np.floor(np.log10(unit) + 1e-9)))
    return np.round(times * unit, decimals)


def _support_levels(
    column: str,
    levels: Sequence[Any],
    constraints: Sequence[Constraint],
    spots: Mapping[str, Spot],
    empty: Booleans,
    filled: Booleans,
    impossible: Booleans,
) -> Support:
    spot = spots[column]
    assert spot.allowed is not None
    records = len(spot.filled)
    allowed = np.zeros((records, len(levels)), dtype=bool)
    allowed[:, [not pd.isna(level) for level in levels]] = spot.allowed & ~impossible[:, None]
    compared = _without_fixed(constraints)
    for place, level in enumerate(levels):
        if pd.isna(level):
            allowed[:, place] = ~filled & ~(impossible & ~empty)
            continue
        # Every level is tried, which decides conditions and conclusions that both involve the variable.
        tried = {**spots, column: _at(key_of(level), records)} if compared else spots
        for each in compared:
            allowed[:, place] &= ~each.broken(tried)
    none = ~allowed.any(axis=1)
    fixed = np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), np.nan)
    infinite = np.full(records, np.inf)
    return _frozen(column, -infinite, infinite, fixed, allowed, empty, filled, impossible | none)


def _at(key: Key, records: int) -> Spot:
    everywhere, zeros = np.ones(records, dtype=bool), np.zeros(records)
    if isinstance(key, str):
        return Spot(everywhere, ~everywhere, zeros, zeros, (key,), np.zeros(records, dtype=np.int64))
    return Spot(everywhere, ~everywhere, zeros + key, zeros + key)


def _frozen(
    column: str,
    lower: Floats,
    upper: Floats,
    fixed: Floats,
    allowed: Booleans | None,
    empty: Booleans,
    filled: Booleans,
    impossible: Booleans,
) -> Support:
    return Support(
        column,
        freeze(lower),
        freeze(upper),
        freeze(fixed),
        None if allowed is None else freeze(allowed),
        freeze(empty),
        freeze(filled),
        freeze(impossible & ~empty),
    )
