"""Repeated values: what a person's row has in more of the released datasets than its predictive distribution explains.

Datasets that hold the same people, row by row, are compared. A value that a row has again and again, and other rows
have not, was not drawn anew each time.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.attacks.rates import NOTHING, exact
from molehill.tables.intervals import Figure

# A value belongs to so many records at least, if it was drawn from a distribution that several share.
FEWEST = 5
# Datasets that have the value at least, and how unlikely that must be: of each search, the one that tells more counts.
SEARCHES = ((2, 0.05), (3, 0.01))
# Of the intervals: a claim or two that are right by luck are no evidence.
LEVEL = 0.99


@dataclass(frozen=True, eq=False, repr=False)
class Repeats:
    """Claims of an intruder who searches the rows of all datasets for repeated values.

    Attributes
    ----------
    records
        Of whom a value was claimed.
    right
        Share of the claims that are the confidential value.
    control
        Share that would be, if every claim were of another record of the same pattern.
    risk
        `(right - control) / (1 - control)`.
    unique
        Share of the claims that are right, and whose value nobody else of the pattern has.
    """

    records: Integers
    right: Figure
    control: float
    risk: Figure
    unique: Figure

    def __repr__(self) -> str:
        return f"Repeats({len(self.records)} claims, {self.right.value:.3f} right, {self.control:.3f} by chance)"


def repeated_values(truth: Integers, released: Integers, patterns: Integers) -> Repeats | None:
    """Search the rows of released datasets for repeated values, and count how many are the confidential ones.

    With `r` the datasets in which a row has a value, and `s` those in which the four rows have it that have it most
    often otherwise, the value is claimed where `r` of `r + s` are too many for a value that five rows share: where a
    binomial of `r + s` trials with probability 1/5 reaches `r` with a probability below 5% (1% where three datasets at
    least must have the value). A row has one claim at most, of the value that it has most often. Zeros, heaped and
    round values, and counts of few values are drawn for many rows, and are not claimed.

    Parameters
    ----------
    truth
        One code per record, -1 for one that takes no part. Values that are close enough to count as the same have the
        same code.
    released
        (datasets, records): codes of the released values, -1 where there is none.
    patterns
        One per record.

    Returns
    -------
    Repeats
        None where there is one dataset, or no claim.

    Examples
    --------
    >>> released = np.array([[7, 1, 2, 3], [7, 2, 4, 5], [7, 6, 5, 4], [7, 3, 6, 1]])
    >>> repeated_values(np.array([7, 8, 9, 0]), released, np.zeros(4, dtype=int))
    Repeats(1 claims, 1.000 right, 0.000 by chance)
    """
    if len(released) < 2:
        return None
    patterns = patterns.astype(np.int64)
    rows, codes, counts, others = _count_repeats(released, truth >= 0)
    # The probability that so many of them are in one of five rows.
    chance = betainc(counts, others + 1.0, 1 / FEWEST)
    found = [_judge(truth, patterns, rows[one], codes[one], counts[one]) for one in _search(counts, chance)]
    return max((one for one in found if one is not None), key=lambda one: one.risk.low, default=None)


def _search(counts: Integers, chance: Floats) -> list[Booleans]:
    return [(counts >= fewest) & (chance < level) for fewest, level in SEARCHES]


def _count_repeats(released: Integers, part: Booleans) -> tuple[Integers, Integers, Integers, Integers]:
    """Row, code and number of datasets of every value of every row, and of the four other rows that have it most."""
    datasets, number = released.shape
    wide = int(released.max(initial=0)) + 2
    keys = np.sort((np.arange(number) * wide + released + 1).ravel())
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    counts = np.diff(np.r_[starts, len(keys)])
    rows, codes = keys[starts] // wide, keys[starts] % wide - 1
    here = (codes >= 0) & part[rows]
    rows, codes, counts = rows[here], codes[here], counts[here]
    # By value, the most frequent first.
    order = np.argsort(codes * (datasets + 1) + (datasets - counts), kind="stable")
    rows, codes, counts = rows[order], codes[order], counts[order]
    first = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else np.zeros(0, dtype=np.int64)
    ends = np.r_[first[1:], len(codes)]
    group = np.repeat(np.arange(len(first)), ends - first)
    total = np.r_[0, np.cumsum(counts)]
    most = [total[np.minimum(first + size, ends)] - total[first] for size in (FEWEST - 1, FEWEST)]
    among = np.arange(len(codes)) - first[group] < FEWEST
    return rows, codes, counts, np.where(among, most[1][group] - counts, most[0][group])


def _judge(truth: Integers, patterns: Integers, rows: Integers, codes: Integers, counts: Integers) -> Repeats | None:
    """Count how many claims are right, the most frequent value of every row alone."""
    if not len(rows):
        return None
    order = np.lexsort((codes, -counts, rows))
    rows, codes = rows[order], codes[order]
    single = np.r_[True, rows[1:] != rows[:-1]]
    rows, codes = rows[single], codes[single]
    right = truth[rows] == codes
    have, size = _count_alike(truth, patterns, rows, codes)
    # Who is alone in the pattern is compared with everybody.
    anybody = _count_alike(truth, np.zeros_like(patterns), rows, codes)
    others = np.where(size > 1, have - right, anybody[0] - right) / np.maximum(
        np.where(size > 1, size, anybody[1]) - 1, 1
    )
    control = float(others.mean())
    rate = exact(int(right.sum()), len(right), level=LEVEL)
    unique = exact(int((right & (have == 1)).sum()), len(right), level=LEVEL)
    risk = Figure(*((end - control) / (1 - control) for end in rate)) if control < 1 else NOTHING
    return Repeats(freeze(rows), rate, control, risk, unique) if control < 1 else None


def _count_alike(truth: Integers, patterns: Integers, rows: Integers, codes: Integers) -> tuple[Integers, Integers]:
    """Count the confidential records with the pattern of each row: those that have a value, and all of them."""
    wide = int(max(truth.max(initial=0), codes.max(initial=0))) + 1
    part = truth >= 0
    keys = np.sort(patterns[part] * wide + truth[part])
    wanted = patterns[rows] * wide + codes
    have = np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)
    return have, np.bincount(patterns[part], minlength=int(patterns.max(initial=0)) + 1)[patterns[rows]]


def code_values(truth: Floats, released: Floats) -> tuple[Integers, Integers]:
    """Give equal values equal codes from 0 up, and missing ones -1.

    Examples
    --------
    >>> code_values(np.array([2.0, np.nan]), np.array([[1.0, 2.0]]))
    (array([ 1, -1]), array([[0, 1]]))
    """
    both = np.concatenate([truth[None], released])
    codes = np.unique(both, return_inverse=True)[1].reshape(both.shape)
    codes = np.where(np.isnan(both), -1, codes)
    return codes[0], codes[1:]
