"""What chance shows: risks, matches and estimates of releases whose values are somebody else's, or one more draw."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.evaluation.attack_data import alike
from molehill.evaluation.context import Context
from molehill.evaluation.measure import shared
from molehill.risk.attacks import PooledRisk, guess_values, pooled_mean
from molehill.risk.identification import risk_by_chance
from molehill.risk.intruder import Reading, View
from molehill.risk.profile import ABOVE, LEAST_TABLES, estimate_above
from molehill.tables.intervals import Figure

# A record is at high risk from here on; and standard errors from the middle to the ends of 99 of 100 cases.
HIGH, _CASES, _REACH = ABOVE["above_80"], 0.99, 2.576
# Datasets that are compared with what all others combined give, and releases that are simulated.
_COMBINED, _SIMULATED = 3, 5


def close_by_kept(context: Context, view: View) -> Floats | None:
    """(datasets, records): how often values of records that kept variables predict alike are close to the own."""
    groups, anybody = alike(context), view.without_known
    if not context.is_linked or not groups:
        return None
    columns = [(anybody.alone(column), groups.get(column)) for column in view.intruder.sensitive]
    return np.prod([guess_values(own, context.readings, alike=one).without for own, one in columns], axis=0)


@shared
def ways_of_chance(context: Context) -> dict[str, tuple[Floats, Floats]]:
    """How likely released values are close by chance, in several ways, and the risk: `risk_by_chance`; or nothing.

    Nothing where no record is a person's own, or where it is not sure what the intruder knows.
    """
    if not context.is_linked or context.view.intruder.knowledge_probability:
        return {}
    return risk_by_chance(context.view, context.readings, alike=close_by_kept(context, context.view))


def mean_by_chance(context: Context, rows: Booleans, ways: Sequence[str] = ("pattern", "anybody")) -> Figure:
    """Mean risk of some records by chance, and the ends between which it lies in 99 of 100 cases.

    The largest of what values of the pattern, of anybody, and others as asked for, would show.
    """
    # Here, because most commands do without, and should not wait for it to load.
    from scipy.stats import binom  # noqa: PLC0415

    found = [ways_of_chance(context)[way] for way in ways]
    chance, risk = max(found, key=lambda one: float((one[0] * one[1])[:, rows].mean()))
    chance, risk = chance[:, rows], risk[:, rows]
    mean, share = float((chance * risk).mean()), float(chance.mean())
    if not share > 0:
        return Figure(mean, mean, mean)
    # Of few records one that is found decides.
    ends = binom.ppf([(1 - _CASES) / 2, (1 + _CASES) / 2], chance.size, share) / chance.size
    return Figure(mean, *(float(end) * mean / share for end in ends))


@shared
def high_by_chance(context: Context) -> Figure:
    """How many records have a high risk by chance: the expected one from three datasets on, the realised one below.

    The largest number that one of the ways shows, and the ends between which it lies in 99 of 100 cases. What predicts
    a value is known from a fit to it, so that a tenth more is no surprise.
    """
    few, part, numbers = len(context.readings) < LEAST_TABLES, context.view.part, []
    random = np.random.default_rng(derive_seed(context.options.seed, "high by chance"))
    for chance, risk in ways_of_chance(context).values():
        if few:
            numbers.append(float(((risk.mean(axis=0) > HIGH) * chance.prod(axis=0))[part].sum()))
            continue
        # The estimate is rough for few datasets: what it makes of values that are close by chance.
        close = [(random.random(chance.shape) < chance.mean(axis=0)) & part for _ in range(_SIMULATED)]
        confidential = context.confidential.risk
        made = [estimate_above(np.where(one, risk, 0.0), one, confidential, HIGH) for one in close]
        numbers.append(float(np.mean(made)))
    expected = max(numbers)
    reach = _REACH * np.sqrt(1.1 * expected)
    return Figure(expected, max(0.9 * expected - reach, 0.0), 1.1 * expected + reach)


def combined_by_chance(context: Context, combined: PooledRisk) -> Figure:
    """Mean risk with all datasets combined, if a person's true value were one more draw; of two datasets at least.

    Each of the first few datasets is left out, and its values take the place of the true ones: what variables that are
    released unchanged tell of a true value, they tell of a drawn one as well.
    """
    gains = []
    for place, reading in enumerate(context.readings[:_COMBINED]):
        others = context.readings[:place] + context.readings[place + 1 :]
        true, drawn = (pooled_mean(view, others).value for view in (context.view, as_truth(context.view, reading)))
        gains.append(true - drawn)
    value = combined.mean.value - float(np.mean(gains))
    # Of so many records, true ones and drawn ones.
    variance = value * (1 - value) * (1 + 1 / len(gains)) / context.view.part.sum()
    reach = _REACH * float(np.sqrt(max(variance, 0.0)))
    return Figure(value, value - reach, value + reach)


def as_truth(view: View, reading: Reading) -> View:
    """Take the released values of every person for the true ones."""
    cells = reading.own_cells
    return replace(view, values=reading.own_values, cells=cells, part=view.part & (cells >= 0))
