"""Digits: whether released values end in the digits of the true ones, by which a person can be found.

The last digits of an exact amount are as good as a number of the person: an intruder who has the amounts of a few
people, such as an employer, finds them whatever the leading digits say.
"""

from dataclasses import dataclass

import numpy as np

from molehill.arrays import Floats
from molehill.attacks.rates import excess, rate_of
from molehill.tables.intervals import Figure

# Steps of the last digits that are compared, in units of the data; a round ending, which more have, finds nobody.
_STEPS, _ROUND = (100, 1_000, 10_000), 0.02
_LEAST = 50


@dataclass(frozen=True)
class Digits:
    """How often released values end like the true ones.

    Attributes
    ----------
    step
        Values are compared by what is left of a division by it: 1,000 for the last three digits of whole numbers.
    rate
        Share of the released values that end like the true value, and differ from it; of people whose ending few have.
    baseline
        The same if the released values were anybody's.
    gain
        `(rate - baseline) / (1 - baseline)`.
    """

    step: float
    rate: Figure
    baseline: Figure
    gain: Figure


def shared_digits(truth: Floats, released: Floats, unit: float) -> list[Digits]:
    """Compare the last digits of true values, and of released ones, (datasets, records), in a unit of the data.

    Endings that more than 2% of the people have, such as round numbers, are left out. Without a unit, or with fewer
    than 50 people left, there is nothing to compare.

    Examples
    --------
    >>> truth = np.arange(100) * 1_013.0
    >>> [round(one.rate.value, 2) for one in shared_digits(truth, truth[None] + 5_000, 1.0)]
    [1.0, 1.0, 0.0]
    """
    usable = np.isfinite(truth) & np.isfinite(released).all(axis=0)
    truth, released = truth[usable], released[:, usable]
    if not unit or len(truth) < _LEAST:
        return []
    own, made = np.rint(truth / unit), np.rint(released / unit)
    found = []
    for step in _STEPS:
        ending, ended = np.mod(own, step), np.mod(made, step)
        endings, place, counts = np.unique(ending, return_inverse=True, return_counts=True)
        asked = counts[place] <= max(_ROUND * len(own), 1)
        # Where all values are smaller, they have no other digits than the last.
        if asked.sum() < _LEAST or np.mean(np.abs(own) >= step) < 0.5:
            continue
        same = (ended == ending) & (made != own)
        at = np.minimum(np.searchsorted(endings, ended), len(endings) - 1)
        frequency = np.bincount(at[endings[at] == ended].ravel(), minlength=len(endings)) / made.size
        chance = float(frequency[place[asked]].mean())
        rate, baseline = rate_of(same[:, asked].astype(np.float64)), Figure(chance, chance, chance)
        found.append(Digits(step * unit, rate, baseline, excess(rate, baseline)))
    return found
