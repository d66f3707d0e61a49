"""Copies: records of the confidential data that a release has as they are, in any order or for the same person.

One synthesized value that is a true one is no copy: it may be drawn from other people's values. What is compared are
whole records, and the joint values of several synthesized variables, which hardly ever come together by chance.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from molehill.arrays import Booleans, Floats, Integers
from molehill.attacks.rates import excess, rate_of, wilson
from molehill.attacks.single_variables import is_rare
from molehill.attacks.worst_dataset import copied_records
from molehill.tables.intervals import Figure

# A value that a larger share of the records has is not a person's own.
_OWN = 0.002
# Drawings for what chance shows.
_DRAWINGS = 3
# Of the interval of a copy of the own value.
_LEVEL = 0.99


def copied_anywhere(
    cells: Integers, values: Floats, released: Sequence[tuple[Integers, Floats]], patterns: Integers, *, seed: int
) -> dict[str, Figure]:
    """Say how many released records are confidential ones, wherever they stand, beyond what chance shows.

    "records" are the same in all key and synthesized variables; chance is to draw whole records of the pattern, with
    replacement. "values" are the same in all synthesized numbers, at least two, without values that many have; chance
    is to draw each of them by itself, from the records of the pattern. Of each the dataset with the most copies counts.

    Parameters
    ----------
    cells, values, released
        As in `molehill.attacks.worst_dataset.copied_records`.
    patterns
        The pattern of every confidential record.
    seed
        Of what is drawn.

    Examples
    --------
    >>> values = np.arange(100.0)[:, None]
    >>> one = np.zeros(100, dtype=int)
    >>> copied_anywhere(one, values, [(one, values[::-1])], one, seed=1)["records"].value
    1.0
    """
    random = np.random.default_rng(seed)
    order = np.argsort(patterns, kind="stable")
    sizes = np.bincount(patterns)
    starts = np.cumsum(sizes) - sizes

    def draw() -> Integers:
        return order[starts[patterns] + (random.random(len(patterns)) * sizes[patterns]).astype(np.int64)]

    drawn = [draw() for _ in range(_DRAWINGS)]
    found = {}
    if values.shape[1]:
        found["records"] = _compare(cells, values, released, [(cells[rows], values[rows]) for rows in drawn])
    if values.shape[1] > 1:
        everyone = np.where(_is_frequent(values).all(axis=1), -1, 0)
        own = [(np.zeros(len(one), dtype=np.int64), one) for _, one in released]
        apart = [np.column_stack([one[draw()] for one in values.T]) for _ in range(_DRAWINGS)]
        by_chance = [(np.zeros(len(one), dtype=np.int64), one) for one in apart]
        found["values"] = _compare(everyone, values, own, by_chance)
    return found


def _is_frequent(values: Floats) -> Booleans:
    """Say of every value whether many records have it."""
    return np.column_stack([~is_rare(one) for one in values.T])


def _compare(
    cells: Integers,
    values: Floats,
    released: Sequence[tuple[Integers, Floats]],
    by_chance: Sequence[tuple[Integers, Floats]],
) -> Figure:
    number = max(int((cells >= 0).sum()), 1)
    rate, chance = (copied_records(cells, values, some) for some in (released, by_chance))
    return excess(wilson(float(rate.max()) * number, number), wilson(float(chance.mean()) * number, number))


def copied_own(truth: Floats, released: Floats, patterns: Integers) -> Figure:
    """Say how many people have their true value, one that few have, in their own released record, beyond chance.

    Chance is the larger of two: that the released value is another record's of the pattern (of anybody, for who is
    alone in it); and that a record has a value in one dataset that it has in another one, and that is not the true one.

    Parameters
    ----------
    truth, released
        One per record, and (datasets, records); NaN where missing.
    patterns
        One per record.

    Examples
    --------
    >>> truth = np.arange(1000.0)
    >>> released = np.where(truth < 200, truth, truth + 0.5)[None]
    >>> round(copied_own(truth, released, np.zeros(1000, dtype=int)).value, 3)
    0.2
    """
    levels, codes = np.unique(np.concatenate([truth, *released]), return_inverse=True)
    own, *made = codes.reshape(len(released) + 1, -1)
    rare = (np.bincount(own)[own] <= max(_OWN * len(truth), 1)) & ~np.isnan(truth)
    hits = (np.stack(made) == own) & rare
    chances = []
    for groups in (patterns.astype(np.int64), np.zeros(len(truth), dtype=np.int64)):
        wide, others = len(levels), np.bincount(groups)[groups] - 1
        have = [_count_in(groups * wide + one, groups * wide + own) for one in made]
        shares = (np.stack(have) - hits) / np.maximum(others, 1)
        chances.append(np.where(rare, shares, 0.0))
    alone = np.bincount(patterns)[patterns] == 1
    chance = float(np.where(alone, chances[1], chances[0]).mean())
    again = [(one == two) & (one != own) & rare for one, two in pairwise(made)]
    chance = max(chance, float(np.mean(again))) if again else chance
    return excess(rate_of(hits.astype(np.float64), level=_LEVEL), Figure(chance, chance, chance))


def _count_in(codes: Integers, wanted: Integers) -> Integers:
    """How many of some codes are each of those wanted."""
    ordered = np.sort(codes)
    return np.searchsorted(ordered, wanted, side="right") - np.searchsorted(ordered, wanted)


def copied_together(truth: Floats, released: Floats, patterns: Integers) -> Figure:
    """Say how many people have two true values at least in their own released record, beyond what chance shows.

    Values that many have do not count. Chance is the larger of two: that the released values are another record's of
    the pattern; and that a record has two values in one dataset, no true ones, that it has in another one, as a true
    value is like one more draw.

    Parameters
    ----------
    truth, released
        (records, variables), at least two variables, and (datasets, records, variables); NaN where missing.
    patterns
        One per record.

    Examples
    --------
    >>> truth = np.arange(60.0).reshape(30, 2)
    >>> released = np.stack([truth + 0.5, truth + 0.7])
    >>> released[0, :3], released[1, 3:6] = truth[:3], truth[3:6]
    >>> round(copied_together(truth, released, np.zeros(30, dtype=int)).value, 3)
    0.1
    """
    usable = ~_is_frequent(truth)
    held = rate_of(_agree(truth, released, usable))
    order = np.lexsort((np.arange(len(patterns)), patterns))
    other = np.empty_like(order)
    # The next one of the same pattern, or of the next one.
    other[order] = np.roll(order, -1)
    chances = [_agree(truth, released[:, other], usable).mean()]
    if len(released) > 1:
        drawn = [(one, two, ~_is_frequent(one) & (one != truth)) for one, two in pairwise(released)]
        chances.append(np.mean([_agree(one, two[None], rare).mean() for one, two, rare in drawn]))
    chance = float(max(chances))
    return excess(held, Figure(chance, chance, chance))


def _agree(truth: Floats, released: Floats, rare: Booleans) -> Floats:
    """Say of every dataset and record whether two rare values are the same."""
    return (((released == truth) & rare).sum(axis=2) >= 2).astype(np.float64)
