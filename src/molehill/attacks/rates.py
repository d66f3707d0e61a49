"""How often an attack succeeds, how often where the release cannot have told, and what lies between.

No rate stands alone. Whoever guesses is right sometimes; only what goes beyond the success on people who were not in
the data is owed to the release.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from molehill.arrays import Floats
from molehill.tables.intervals import Figure
from molehill.tables.table import Table

NOTHING = Figure(np.nan, np.nan, np.nan)


@dataclass(frozen=True, eq=False)
class Trial:
    """Datasets beside the people that they were made from, and people like them who were not used: the control."""

    data: Table
    released: Sequence[Table]
    control: Table


@dataclass(frozen=True)
class Attack:
    """How often an attack succeeds, and how often it would have succeeded anyway.

    Attributes
    ----------
    rate
        Share of the attacks on people who were in the data that succeed.
    control
        The same attacks on people who were not. NaN without control records.
    baseline
        Attacks of an intruder who uses nothing but the spread of the released values.
    risk
        `(rate - control) / (1 - control)`: of what the control leaves to be won, the share that is won. It is negative
        if the control does better, by chance. NaN without control records.
    attacks, controls
        How many there were of each.
    """

    rate: Figure
    control: Figure
    baseline: Figure
    risk: Figure
    attacks: int
    controls: int

    @property
    def shows(self) -> bool:
        """Whether the attack is better than its control, beyond chance: the interval of the risk lies above 0."""
        return self.risk.low > 0


def wilson(successes: float, trials: float, *, level: float = 0.95) -> Figure:
    """Give a share with Wilson's score interval.

    The interval holds every share p from which the one found is no more than z standard errors away, with the standard
    error that p itself implies: it has width where all trials, or none, succeed.

    References
    ----------
    Wilson, Probable Inference, the Law of Succession, and Statistical Inference (1927).

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0, 10)], [round(end, 4) for end in wilson(5, 10)]
    ([0.0, 0.0, 0.2775], [0.5, 0.2366, 0.7634])
    """
    if trials <= 0:
        return NOTHING
    share, z = successes / trials, float(ndtri((1 + level) / 2))
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    reach = z / (1 + z**2 / trials) * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return Figure(
        float(share), float(max(min(middle - reach, share), 0.0)), float(min(max(middle + reach, share), 1.0))
    )


def exact(successes: int, trials: int, *, level: float = 0.95) -> Figure:
    """Give a share with Clopper and Pearson's interval, which never covers too seldom; wider than Wilson's.

    Examples
    --------
    >>> [round(end, 4) for end in exact(0, 10)], [round(end, 4) for end in exact(5, 10)]
    ([0.0, 0.0, 0.3085], [0.5, 0.1871, 0.8129])
    """
    if trials <= 0:
        return NOTHING
    tail = (1 - level) / 2
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    high = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Figure(successes / trials, low, high)


def rate_of(succeeded: Floats, *, level: float = 0.95) -> Figure:
    """Give the mean success of attacks on the same people in several tables, (tables, people), each from 0 to 1.

    People are the sample: a person's mean over the tables counts once. The interval is Wilson's with as many trials as
    would give that mean the variance that is found, no fewer than people and no more than attacks. Of one table of
    plain successes it is `wilson`.

    Examples
    --------
    >>> rate_of(np.array([[1.0, 0.0, 1.0, 0.0]])) == wilson(2, 4)
    True
    >>> rate_of(np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])) == wilson(4, 8)
    True
    """
    tables, people = succeeded.shape
    if not people:
        return NOTHING
    by_person = succeeded.mean(axis=0)
    share, variance = float(by_person.mean()), float(by_person.var())
    most = people * tables
    trials = min(max(share * (1 - share) / variance * people, people), most) if variance > 0 else most
    # Where nobody differs because all, or none, succeed, more tables of the same people tell nothing new.
    trials = people if share in (0.0, 1.0) else trials
    return wilson(share * trials, trials, level=level)


def excess(rate: Figure, control: Figure, *, correlation: float = 0.0) -> Figure:
    """Give the risk `(rate - control) / (1 - control)` with its interval.

    The distances of both shares to the ends of their own intervals are squared and added, each as far as it moves the
    risk; at risk 0 the interval is Newcombe's for a difference of two shares, so that it excludes 0 about as often as
    its level says.

    Parameters
    ----------
    rate, control
        The two shares, with their intervals.
    correlation
        Of the successes, where the same attack was tried on both sides.

    References
    ----------
    Newcombe, Interval Estimation for the Difference Between Independent Proportions (1998). Giomi, Boenisch, Wehmeyer
    and Tasnadi, A Unified Framework for Quantifying Privacy Risk in Synthetic Data (2023), for the risk.

    Examples
    --------
    >>> excess(wilson(80, 100), wilson(60, 100)).value
    0.5000000000000001
    >>> excess(wilson(60, 100), wilson(60, 100)).low < 0 < excess(wilson(80, 100), wilson(60, 100)).low
    True
    """
    left = 1 - control.value
    # A control that always succeeds leaves nothing to be won.
    if not left > 0 or np.isnan(rate.value):
        return NOTHING
    ratio = (1 - rate.value) / left
    risk = 1 - ratio
    low = _reach((rate.value - rate.low) / left, ratio * (control.high - control.value) / left, correlation)
    high = _reach((rate.high - rate.value) / left, ratio * (control.value - control.low) / left, correlation)
    return Figure(float(risk), float(risk - low), float(min(risk + high, 1.0)))


def _reach(one: float, other: float, correlation: float) -> float:
    return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))


def compare(succeeded: Floats, controlled: Floats | None, baseline: Figure) -> Attack:
    """Judge attacks, (tables, people), against those on control records, (tables, controls)."""
    rate = rate_of(succeeded)
    if controlled is None:
        return Attack(rate, NOTHING, baseline, NOTHING, succeeded.shape[1], 0)
    control = rate_of(controlled)
    return Attack(rate, control, baseline, excess(rate, control), succeeded.shape[1], controlled.shape[1])
