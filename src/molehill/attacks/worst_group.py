"""The worst of many groups of people: one that has its true values more often than others do, beyond chance.

A mean over all people hides the thirty of a region whose values were never changed.
"""

from collections.abc import Iterable

import numpy as np

from molehill.arrays import Booleans, Integers
from molehill.attacks.rates import NOTHING, excess, rate_of
from molehill.tables.intervals import Figure

# Of smaller groups nothing is said; how often some group of a release that treats all alike is taken for worse.
_LEAST, _ALARM = 10, 0.01


def worst_group(close: Booleans, by_chance: Booleans, groups: Iterable[tuple[str, Integers]]) -> tuple[Figure, str]:
    """Give the group of people who have their true values the most often, beyond chance, and which groups these are.

    Of people of a group, with o the share of the released values that are close to the true one, and e that share if
    the released values of other people were taken, it is `(o - e) / (1 - e)`. The level of its interval is divided by
    the number of the groups.

    Parameters
    ----------
    close, by_chance
        (datasets, people): whether the released value is close to the true one; (draws, people): whether that of
        somebody else is, like in what is released unchanged.
    groups
        By name, the group of each of the people.

    Examples
    --------
    >>> close, chance = np.zeros((1, 200), dtype=bool), np.zeros((1, 200), dtype=bool)
    >>> close[0, :20] = True
    >>> figure, name = worst_group(close, chance, [("region", np.arange(200) // 20)])
    >>> figure.value, figure.low > 0.5, name
    (1.0, True, 'region')
    """
    listed = [
        (name, codes == level) for name, codes in groups for level in np.flatnonzero(np.bincount(codes) >= _LEAST)
    ]
    worst, where = NOTHING, ""
    for name, members in listed:
        level = 1 - _ALARM / len(listed)
        rates = [rate_of(one[:, members].astype(np.float64), level=level) for one in (close, by_chance)]
        figure = excess(*rates)
        if not figure.low <= worst.low:
            worst, where = figure, name
    return worst, where
