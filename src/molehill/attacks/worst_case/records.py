"""Some records of a posterior that the strongest intruder is asked about, and figures over them with their intervals.

Half of them are chosen at random, and speak for all; the others are the riskiest. What draws show of a record is known
up to chance: it is worked out again from resampled draws, in blocks of neighbours, and the figures move with it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from molehill.arrays import Booleans, Floats, Integers, freeze
from molehill.errors import InputError, check_whole
from molehill.tables.intervals import Figure

# Releases that are made of draws, those that a forest simulates, and how often all is repeated for the intervals.
RELEASES, SIMULATED, REPEATS = 1000, 200, 20
# Neighbours in the chains are resampled together, in so many blocks.
_BLOCKS = 20
# Weights whose largest fall off more slowly than this say nothing of another fit.
LARGEST_SHAPE = 0.7


@dataclass(frozen=True, eq=False)
class Asked:
    """The records that are asked about.

    Attributes
    ----------
    records
        Their numbers, from 0 on, in that order.
    chosen, riskiest
        Which of them were chosen at random, and which are those of the highest risk.
    share
        Share of all records that were chosen at random.
    """

    records: Integers
    chosen: Booleans
    riskiest: Booleans
    share: float

    def mean(self, values: Floats, repeats: Floats, *, riskiest: bool) -> Figure:
        """Mean over the records chosen at random of which it can be told, or over such of the riskiest.

        Parameters
        ----------
        values
            One per record, NaN where there is none.
        repeats
            (repeats, records): the same from resampled draws.
        riskiest
            Whose.
        """
        which = self._told(values, riskiest=riskiest)
        if not which.any():
            return Figure(np.nan, np.nan, np.nan)
        own, number = values[which], int(which.sum())
        chance = 0.0 if riskiest or number < 2 else own.var(ddof=1) / number * (1 - self.share)
        return _figure(float(own.mean()), repeats[:, which].mean(axis=1), chance)

    def largest(self, values: Floats, repeats: Floats, *, riskiest: bool) -> Figure:
        """The largest over the records chosen at random, or over the riskiest."""
        which = self._told(values, riskiest=riskiest)
        if not which.any():
            return Figure(np.nan, np.nan, np.nan)
        return _figure(float(values[which].max()), repeats[:, which].max(axis=1))

    def share_of(self, those: Booleans, *, riskiest: bool) -> float:
        """Share of the records at random, or of the riskiest, that are among those; NaN where there are none."""
        which = self.riskiest if riskiest else self.chosen
        return float(those[which].mean()) if which.any() else np.nan

    def _told(self, values: Floats, *, riskiest: bool) -> Booleans:
        return (self.riskiest if riskiest else self.chosen) & ~np.isnan(values)


def _figure(value: float, repeats: Floats, chance: float = 0.0) -> Figure:
    margin = stdtrit(len(repeats) - 1, 0.975) * np.sqrt(repeats.var(ddof=1) + chance)
    return Figure(value, max(value - margin, 0.0), min(value + margin, 1.0))


def ask(
    random: np.random.Generator, records: int, *, riskiest: Floats | None, number: int, rows: Integers | None
) -> Asked:
    """Choose whom to ask about.

    Parameters
    ----------
    random
        Chooses.
    records
        How many there are.
    riskiest
        The risk of every record, by which the riskiest are found; NaN for those that have none.
    number
        How many are chosen at random, and how many of the riskiest.
    rows
        The records to ask about, in the place of those that would be chosen at random.
    """
    check_whole("number", number, 1)
    chosen = random.choice(records, min(number, records), replace=False) if rows is None else np.asarray(rows)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= records:
        raise InputError("rows", f"some are none of the {records:,} records, or there are none", "Count from 0")
    top = np.empty(0, dtype=np.int64) if riskiest is None else _find_riskiest(random, riskiest, records, number)
    asked = np.union1d(chosen, top)
    both = (freeze(np.isin(asked, chosen)), freeze(np.isin(asked, top)))
    return Asked(freeze(asked), *both, len(chosen) / records)


def _find_riskiest(random: np.random.Generator, risk: Floats, records: int, number: int) -> Integers:
    """The records of the highest risk; of those that have the same, some by chance."""
    risk = np.asarray(risk, dtype=np.float64)
    if risk.shape != (records,):
        raise InputError("riskiest", f"it has shape {risk.shape}", f"Give one for each of the {records:,} records")
    order = np.lexsort((random.random(records), -np.nan_to_num(risk, nan=-np.inf)))
    return order[: min(number, int((~np.isnan(risk)).sum()))]


def add_up_releases(
    random: np.random.Generator, by_draw: list[Floats], simulated: list[Floats], datasets: int
) -> Floats:
    """Add up logarithms of ratios over the tables of a release and over the parts of a model, for many releases.

    Parameters
    ----------
    random
        Chooses the draws of every release.
    by_draw
        Of every part that has parameters, (draws, ...): parts have draws of their own, and so have the tables.
    simulated
        Of every part whose releases are simulated as a whole, (releases, ...).
    datasets
        Tables of a release.

    Returns
    -------
    array
        (releases, ...)
    """
    number = max([len(one) for one in by_draw] + [RELEASES if by_draw else SIMULATED])
    logs = np.zeros((number, *(by_draw + simulated)[0].shape[1:]))
    for found in simulated:
        logs += found[_every(random, len(found), number)]
    for found in by_draw:
        # How often every release has every draw: the sums are one product.
        taken = np.zeros((number, len(found)))
        for _ in range(datasets):
            taken[np.arange(number), _every(random, len(found), number)] += 1
        logs += (taken @ found.reshape(len(found), -1)).reshape(logs.shape)
    return logs


def _every(random: np.random.Generator, length: int, number: int) -> Integers:
    """So many places in an order by chance, each as often as any other, or once more."""
    turns = [random.permutation(length) for _ in range(-(-number // length))]
    return np.concatenate(turns)[:number]


def resample_draws(random: np.random.Generator, by_draw: Floats) -> Floats:
    """Draws as they could have been drawn as well, in blocks of neighbours: logarithms of ratios of mean 1."""
    blocks = np.array_split(np.arange(len(by_draw)), min(_BLOCKS, len(by_draw)))
    taken = np.concatenate([blocks[place] for place in random.integers(0, len(blocks), len(blocks))])
    found = by_draw[taken]
    # The factor that the ratio is known up to is that of these draws.
    return found - np.log(np.exp(found).mean(axis=0))


def resample_releases(random: np.random.Generator, simulated: Floats) -> Floats:
    """Simulated releases as they could have been drawn as well."""
    return simulated[random.integers(0, len(simulated), len(simulated))]
