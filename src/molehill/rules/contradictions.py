"""Constraints that cannot all be kept, found before anything is drawn.

Orderings and bounds are differences of two columns: `x - y <= c`. They can all hold if no cycle of them adds up to less
than nothing, which shortest paths between columns tell (Bellman, Ford, Floyd, Warshall), in exact fractions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from molehill.rules.constraints import (
    Claim,
    Constraint,
    Empty,
    Key,
    Levels,
    Same,
    Sum,
    negate,
)

# A distance: how much, and below zero if it is strictly less than that. The node of a bound is the number zero.
_Distance = tuple[Fraction, int]
_ZERO = None
_Node = str | None
_NOTHING: _Distance = (Fraction(0), 0)


@dataclass(frozen=True)
class Contradiction:
    """Constraints that cannot be kept together.

    Attributes
    ----------
    texts
        The constraints, as they were declared.
    limits
        The columns whose limits have a part in it.
    under
        The constraint, one of these, under whose condition they clash; None if they do so everywhere.
    """

    texts: tuple[str, ...]
    limits: tuple[str, ...] = ()
    under: str | None = None

    def __str__(self) -> str:
        shown = [*(f"the limits of {name!r}" for name in self.limits), *map(repr, self.texts)]
        if len(shown) == 1:
            return f"{shown[0]} contradicts itself"
        where = f" where the condition of {self.under!r} is true" if self.under is not None else ""
        return f"{', '.join(shown[:-1])} and {shown[-1]} contradict each other{where}"


@dataclass(frozen=True)
class _Entry:
    """A constraint, or the limits of a column, that holds everywhere."""

    name: str
    claims: tuple[Claim, ...]
    limits: bool = False


def _contradiction(core: Sequence[_Entry], under: str | None = None) -> Contradiction:
    texts = tuple(entry.name for entry in core if not entry.limits)
    return Contradiction(texts, tuple(entry.name for entry in core if entry.limits), under)


def find_contradictions(
    constraints: Sequence[Constraint],
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
    levels: Mapping[str, Sequence[Key]] | None = None,
    units: Mapping[str, float] | None = None,
) -> tuple[Contradiction, ...]:
    """Find constraints that no record with values can keep together, and name those that clash.

    Decided exactly: bounds, orderings and differences of two columns (cycles too), each also as an equation or an
    inequation; levels of categories, and equality of columns of text; that a column is empty and is not. An implication
    contradicts if its conclusion clashes with what holds everywhere, or if where its condition is true it clashes
    with that, with its own condition, or with the conclusions of implications whose conditions are true there as well.
    With units, numbers are multiples of them: `x > 3` and `x < 4` clash for whole numbers.

    Not decided, so that a contradiction may go unnoticed: sums of more than two columns, or of two with the same sign,
    are compared with the bounds of each column only; lists of numbers with bounds only; several columns of text that
    must all differ; implications that clash only in a chain through a third, unless conditions imply each other; and
    fixed combinations. Records in which these leave nothing are flagged while drawing.

    Parameters
    ----------
    constraints
        The constraints.
    limits
        Public limits of numbers, lower and upper.
    levels
        The levels that a category has, where they are known.
    units
        The unit that a number is written in, 0 or left out for none.

    Examples
    --------
    >>> less = Constraint("a < b", (), (Sum((("a", 1), ("b", -1)), "<", Fraction(0)),))
    >>> more = Constraint("a > b", (), (Sum((("a", -1), ("b", 1)), "<", Fraction(0)),))
    >>> print(*find_contradictions([less, more]))
    'a < b' and 'a > b' contradict each other
    """
    told = _Told(dict(levels or {}), {name: Fraction(str(unit)) for name, unit in (units or {}).items() if unit})
    used = {name for constraint in constraints for name in constraint.columns}
    entries = [_limits_entry(name, *ends) for name, ends in (limits or {}).items() if name in used]
    entries += [_Entry(each.text, each.conclusion) for each in constraints if not each.condition]
    found = []
    while not _possible(_claims(entries), told):
        core = _core(entries, (), told)
        found.append(_contradiction(core))
        entries = [entry for entry in entries if entry is not core[-1]]
    implications = [each for each in constraints if each.condition]
    found += filter(None, (_clash_of(each, implications, entries, told) for each in implications))
    # Two implications that clash with each other are found from either.
    return tuple({frozenset((*each.texts, *each.limits)): each for each in reversed(found)}.values())[::-1]


@dataclass(frozen=True)
class _Told:
    levels: Mapping[str, Sequence[Key]]
    units: Mapping[str, Fraction]


def _limits_entry(name: str, lower: float, upper: float) -> _Entry:
    claims: list[Claim] = []
    if abs(lower) != float("inf"):
        claims.append(Sum(((name, -1),), "<=", -Fraction(str(lower))))
    if abs(upper) != float("inf"):
        claims.append(Sum(((name, 1),), "<=", Fraction(str(upper))))
    return _Entry(name, tuple(claims), limits=True)


def _claims(entries: Iterable[_Entry]) -> list[Claim]:
    return [claim for entry in entries for claim in entry.claims]


def _core(entries: Sequence[_Entry], always: Sequence[Claim], told: _Told) -> list[_Entry]:
    """Leave out every entry without which the others still clash."""
    core = list(entries)
    for entry in reversed(entries):
        rest = [other for other in core if other is not entry]
        if not _possible([*_claims(rest), *always], told):
            core = rest
    return core


def _clash_of(
    constraint: Constraint, implications: Sequence[Constraint], entries: Sequence[_Entry], told: _Told
) -> Contradiction | None:
    """Say what the conclusion of an implication clashes with."""
    own = _Entry(constraint.text, constraint.conclusion)
    if not _possible([*_claims(entries), *own.claims], told):
        return _contradiction([*_core(entries, own.claims, told), own])
    where = _as_true(constraint.condition)
    if not _possible([*_claims(entries), *where], told):
        # The condition is true nowhere.
        return None
    implied = [
        _Entry(other.text, other.conclusion)
        for other in implications
        if other is not constraint and all(_implies(where, claim, told) for claim in _as_true(other.condition))
    ]
    if _possible([*_claims(entries), *_claims(implied), *where, *own.claims], told):
        return None
    return _contradiction([*_core([*entries, *implied], [*where, *own.claims], told), own], under=constraint.text)


def _as_true(claims: Sequence[Claim]) -> list[Claim]:
    """Give what is so where claims are true: of a missing value none is, so that the columns are not empty."""
    names = dict.fromkeys(name for claim in claims if not isinstance(claim, Empty) for name in claim.columns)
    return [*claims, *(Empty(name, empty=False) for name in names)]


def _implies(claims: Sequence[Claim], claim: Claim, told: _Told) -> bool:
    opposite = negate(claim)
    return claim in claims or (opposite is not None and not _possible([*claims, opposite], told))


# Whether claims can all be true.


def _possible(claims: Sequence[Claim], told: _Told) -> bool:
    empty = {claim.column for claim in claims if isinstance(claim, Empty) and claim.empty}
    if empty & {claim.column for claim in claims if isinstance(claim, Empty) and not claim.empty}:
        return False
    # Nothing is claimed of a value that is missing.
    left = [claim for claim in claims if not empty & set(claim.columns)]
    sums = [claim for claim in left if isinstance(claim, Sum)]
    listed = [claim for claim in left if isinstance(claim, Levels)]
    numbers = [claim for claim in listed if not _is_text(claim)]
    texts = [claim for claim in listed if _is_text(claim)]
    same = [claim for claim in left if isinstance(claim, Same)]
    return _possible_numbers(sums, numbers, told) and _possible_texts(texts, same, told)


def _is_text(claim: Levels) -> bool:
    return any(isinstance(level, str) for level in claim.levels)


def _possible_numbers(sums: Sequence[Sum], listed: Sequence[Levels], told: _Told) -> bool:
    allowed = _allowed_numbers(sums, listed)
    distances = _shortest(
        [
            *(edge for claim in sums for edge in _edges(claim, told)),
            *(edge for name, values in allowed.items() if values for edge in _around(name, values)),
        ]
    )
    if distances is None or not all(allowed.values()):
        return False
    bounds = {name: (_least(distances, name), distances.get((_ZERO, name))) for name in _names(sums)}
    return all(
        any(_inside(value, _least(distances, name), distances.get((_ZERO, name))) for value in values)
        for name, values in allowed.items()
    ) and all(_possible_sum(claim, distances, bounds, told) for claim in sums)


def _names(sums: Sequence[Sum]) -> set[str]:
    return {name for claim in sums for name in claim.columns}


def _least(distances: Mapping[tuple[_Node, _Node], _Distance], name: str) -> _Distance | None:
    """Give the lower bound of a column, above which it is strictly if the second number is above zero."""
    found = distances.get((name, _ZERO))
    return None if found is None else (-found[0], -found[1])


def _allowed_numbers(sums: Sequence[Sum], listed: Sequence[Levels]) -> dict[str, list[Fraction]]:
    """Give the numbers that lists leave to a column, less those that it must not be."""
    allowed: dict[str, list[Fraction]] = {}
    for claim in listed:
        if claim.among:
            values = [Fraction(str(level)) for level in claim.levels]
            allowed[claim.column] = [value for value in values if value in allowed.get(claim.column, values)]
    for claim in listed:
        if not claim.among and claim.column in allowed:
            out = {Fraction(str(level)) for level in claim.levels}
            allowed[claim.column] = [value for value in allowed[claim.column] if value not in out]
    for claim in sums:
        name = claim.columns[0]
        if claim.sign == "!=" and len(claim.terms) == 1 and name in allowed:
            out = claim.bound / claim.terms[0][1]
            allowed[name] = [value for value in allowed[name] if value != out]
    return allowed


def _around(name: str, values: Sequence[Fraction]) -> list[tuple[_Node, _Node, _Distance]]:
    return [(_ZERO, name, (max(values), 0)), (name, _ZERO, (-min(values), 0))]


def _inside(value: Fraction, low: _Distance | None, high: _Distance | None) -> bool:
    return (low is None or low <= (value, 0)) and (high is None or (value, 0) <= high)


def _as_difference(claim: Sum) -> tuple[_Node, _Node, int] | None:
    """Give (from, to, times) if the claim bounds times * (to - from), None if it is another sum."""
    if len(claim.terms) == 1:
        ((name, times),) = claim.terms
        return (_ZERO, name, times) if times > 0 else (name, _ZERO, -times)
    if len(claim.terms) == 2:
        (one, times), (other, minus) = claim.terms
        if times == -minus:
            return (other, one, times) if times > 0 else (one, other, -times)
    return None


def _edges(claim: Sum, told: _Told) -> list[tuple[_Node, _Node, _Distance]]:
    difference = _as_difference(claim)
    if difference is None or claim.sign == "!=":
        return []
    start, end, times = difference
    bound, strict = _tighten(claim, claim.bound, strict=claim.sign == "<", told=told)
    edges = [(start, end, (bound / times, -strict))]
    if claim.sign == "=":
        opposite, _ = _tighten(claim, -claim.bound, strict=False, told=told)
        edges.append((end, start, (opposite / times, 0)))
    return edges


def _tighten(claim: Sum, bound: Fraction, *, strict: bool, told: _Told) -> tuple[Fraction, int]:
    """Bring a bound onto the multiples that the sum can have, if all its columns have units."""
    units = [told.units.get(name) for name in claim.columns]
    steps = [abs(times) * unit for (_, times), unit in zip(claim.terms, units, strict=True) if unit]
    if len(steps) < len(claim.terms) or any(step % min(steps) for step in steps):
        return bound, int(strict)
    step = min(steps)
    times = bound // step
    return (times - (1 if strict and times * step == bound else 0)) * step, 0


def _shortest(edges: Sequence[tuple[_Node, _Node, _Distance]]) -> dict[tuple[_Node, _Node], _Distance] | None:
    """Give the shortest distance between nodes that are joined, None if a cycle is shorter than nothing."""
    distances: dict[tuple[_Node, _Node], _Distance] = {}
    for start, end, distance in edges:
        distances[start, end] = min(distance, distances.get((start, end), distance))
    nodes = list(dict.fromkeys(node for edge in edges for node in edge[:2]))
    for middle in nodes:
        into = [(start, distances[start, middle]) for start in nodes if (start, middle) in distances]
        out = [(end, distances[middle, end]) for end in nodes if (middle, end) in distances]
        for (start, first), (end, second) in product(into, out):
            through = (first[0] + second[0], first[1] + second[1])
            distances[start, end] = min(through, distances.get((start, end), through))
        if any(distances.get((node, node), _NOTHING) < _NOTHING for node in nodes):
            return None
    return distances


def _possible_sum(
    claim: Sum,
    distances: Mapping[tuple[_Node, _Node], _Distance],
    bounds: Mapping[str, tuple[_Distance | None, _Distance | None]],
    told: _Told,
) -> bool:
    """Whether a sum that is no edge can keep its bound: an inequation, or a sum of several columns."""
    difference = _as_difference(claim)
    if difference is not None:
        if claim.sign != "!=":
            return True
        start, end, times = difference
        apart = claim.bound / times
        return not (distances.get((start, end)) == (apart, 0) and distances.get((end, start)) == (-apart, 0))
    least, largest = _ends(claim, bounds), _ends(Sum(tuple((n, -t) for n, t in claim.terms), "<", Fraction(0)), bounds)
    bound, strict = _tighten(claim, claim.bound, strict=claim.sign == "<", told=told)
    if claim.sign == "!=":
        fixed = (claim.bound, 0)
        return not (least == fixed and largest == (-claim.bound, 0))
    if least is not None and least > (bound, -strict):
        return False
    return claim.sign != "=" or largest is None or largest <= (-claim.bound, 0)


def _ends(claim: Sum, bounds: Mapping[str, tuple[_Distance | None, _Distance | None]]) -> _Distance | None:
    """Give the least that a sum can be by the bounds of its columns; None if nothing bounds it."""
    total = _NOTHING
    for name, times in claim.terms:
        low, high = bounds[name]
        if times > 0 and low is not None:
            total = (total[0] + times * low[0], total[1] + low[1])
        elif times < 0 and high is not None:
            total = (total[0] + times * high[0], total[1] - high[1])
        else:
            return None
    return total


def _possible_texts(listed: Sequence[Levels], same: Sequence[Same], told: _Told) -> bool:
    groups = _groups([claim.columns for claim in same if claim.equal])
    names = {name for claim in (*listed, *same) for name in claim.columns}
    left: dict[str, set[Key] | None] = {}
    out: dict[str, set[Key]] = {}
    for name in names:
        group = groups.get(name, name)
        levels = told.levels.get(name)
        sets = [set(levels)] if levels is not None else []
        sets += [set(claim.levels) for claim in listed if claim.column == name and claim.among]
        for each in sets:
            before = left.get(group)
            left[group] = each if before is None else before & each
        out.setdefault(group, set()).update(
            *(claim.levels for claim in listed if claim.column == name and not claim.among)
        )
    remaining = {group: each - out[group] for group, each in left.items() if each is not None}
    if not all(remaining.values()):
        return False
    for claim in same:
        if not claim.equal:
            one, other = (groups.get(name, name) for name in claim.columns)
            only = remaining.get(one)
            if one == other or (only is not None and len(only) == 1 and only == remaining.get(other)):
                return False
    return True


def _groups(pairs: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Name, for every column that equals another, one that stands for all that are equal."""
    names: dict[str, str] = {}
    for one, other in pairs:
        old, new = names.get(one, one), names.get(other, other)
        names.update({one: new, other: new} | {name: new for name, group in names.items() if group == old})
    return names
