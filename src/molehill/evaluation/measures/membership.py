"""Whether a release shows that a person was in the data: the advantage of the strongest attacker, record by record.

The attacker knows everything but whether a record's values took part in the fit: all other records, and the values and
the kept columns of this one. A threshold on what the release shows then says "took part" or not. The advantage is the
share of the members who are found less the share of the others who are taken for members, at the best threshold. That
is the total variation between what is released with the record and without it,

    advantage = mean of max(0, 1 - r),   r = how much likelier the release is without the record, over releases with it

0 is a coin, 1 is certain. With a model that has parameters the attacker sees those that every table was drawn from,
more than the tables tell, so that no attack on the values does better; r is the product over the tables, each from a
draw of its own, and the advantage of L tables is at most 1 - (1 - that of one)^L. With a forest the attacker sees the
values, and of each the tree that it was drawn from: see `molehill.models.forests.without`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from molehill.arrays import Booleans, Floats, Integers, freeze, named_seed
from molehill.errors import InputError, check_whole
from molehill.evaluation.measure import Measure, Value
from molehill.evaluation.scene import Scene
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    # It needs JAX, which whoever has a posterior has loaded; to evaluate other people's files must not wait for it.
    from molehill.synthesis.posterior import Posterior
    from molehill.synthesis.sampling.removal import Removal

MEMBERSHIP = "Membership"
# Releases that are made of draws, those that a forest simulates, and how often all is repeated for the intervals.
RELEASES, SIMULATED, REPEATS = 1000, 200, 20
# Neighbours in the chains are resampled together, in so many blocks.
_BLOCKS = 20
# Weights whose largest fall off more slowly than this say nothing of a fit without the record.
_LARGEST_SHAPE = 0.7


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """What a release shows of some records having been in the data.

    Attributes
    ----------
    records
        Who is asked about, from 0 on.
    chosen, riskiest
        Which of them were chosen at random, and which are those of the highest risk.
    advantage
        One per record; NaN where the draws cannot say it and only a fit without the record could.
    repeats
        (repeats, records): the same from resampled draws, for the intervals.
    pareto
        One per record: the shape of its largest weights, the largest over the parts of the model.
    datasets
        Tables of a release.
    share
        Share of all records that were chosen at random.
    """

    records: Integers
    chosen: Booleans
    riskiest: Booleans
    advantage: Floats
    repeats: Floats
    pareto: Floats
    datasets: int
    share: float

    def __repr__(self) -> str:
        tables = "1 table" if self.datasets == 1 else f"{self.datasets} tables"
        unsure = int(np.isnan(self.advantage).sum())
        told = f", {unsure} of {len(self.records)} need a fit" if unsure else ""
        return f"Membership({tables}, mean {self.mean().value:.3f}, largest {self.largest().value:.3f}{told})"

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of every advantage."""
        return self.repeats.std(axis=0, ddof=1)

    def mean(self, *, riskiest: bool = False) -> Figure:
        """Mean advantage over the records chosen at random, an estimate of that over all; or over the riskiest."""
        which = self._told(self.riskiest if riskiest else self.chosen)
        if not which.any():
            return Figure(np.nan, np.nan, np.nan)
        own, number = self.advantage[which], int(which.sum())
        chance = 0.0 if riskiest or number < 2 else own.var(ddof=1) / number * (1 - self.share)
        return _figure(float(own.mean()), self.repeats[:, which].mean(axis=1), chance)

    def largest(self, *, riskiest: bool = False) -> Figure:
        """The largest advantage over the records chosen at random, or over the riskiest."""
        which = self._told(self.riskiest if riskiest else self.chosen)
        if not which.any():
            return Figure(np.nan, np.nan, np.nan)
        return _figure(float(self.advantage[which].max()), self.repeats[:, which].max(axis=1))

    def unsure(self, *, riskiest: bool = False) -> float:
        """Share of these records of which the draws cannot say it."""
        which = self.riskiest if riskiest else self.chosen
        return float(np.isnan(self.advantage[which]).mean()) if which.any() else np.nan

    def _told(self, which: Booleans) -> Booleans:
        return which & ~np.isnan(self.advantage)


def _figure(value: float, repeats: Floats, chance: float = 0.0) -> Figure:
    margin = stdtrit(len(repeats) - 1, 0.975) * np.sqrt(repeats.var(ddof=1) + chance)
    return Figure(value, max(value - margin, 0.0), min(value + margin, 1.0))


def membership(
    posterior: "Posterior",
    *,
    datasets: int,
    seed: int,
    riskiest: Floats | None = None,
    number: int = 50,
    rows: Integers | None = None,
) -> Membership:
    """Say how well the strongest attacker could tell from a release whether a person's values were in the data.

    Nothing is fitted again: draws with a record are weighted so that they are draws without it, and where their weights
    are too uneven the advantage is NaN. `molehill.synthesis.fitting.refit_without` fits again.

    Parameters
    ----------
    posterior
        From `fit`. Not one whose tables look at a person's old value by themselves (posterior membership), nor one that
        was corrected for a survey's design.
    datasets
        Tables of the release.
    seed
        The same posterior and seed give the same result.
    riskiest
        The risk of every record, by which the riskiest are found; NaN for those that have none.
    number
        How many records are chosen at random, and how many of the riskiest.
    rows
        The records to ask about, in the place of those that would be chosen at random.
    """
    check_whole("datasets", datasets, 1)
    check_whole("number", number, 1)
    records = len(posterior.table.frame)
    random = np.random.default_rng(named_seed(seed, "membership"))
    chosen = random.choice(records, min(number, records), replace=False) if rows is None else np.asarray(rows)
    if not len(chosen) or chosen.min() < 0 or chosen.max() >= records:
        raise InputError("rows", f"some are none of the {records:,} records, or there are none", "Count from 0")
    top = np.empty(0, dtype=np.int64) if riskiest is None else _find_riskiest(random, riskiest, records, number)
    asked = np.union1d(chosen, top)
    removals = posterior.removals(asked, datasets=datasets, releases=SIMULATED, seed=named_seed(seed, "removals"))
    pareto = np.max([one.pareto for one in removals], axis=0)
    advantage = np.where(pareto > _LARGEST_SHAPE, np.nan, _advantage(removals, datasets, random))
    repeats = [_advantage([_resample(one, random) for one in removals], datasets, random) for _ in range(REPEATS)]
    return Membership(
        freeze(asked),
        freeze(np.isin(asked, chosen)),
        freeze(np.isin(asked, top)),
        freeze(advantage),
        freeze(np.stack(repeats)),
        freeze(pareto),
        datasets,
        len(chosen) / records,
    )


def _find_riskiest(random: np.random.Generator, risk: Floats, records: int, number: int) -> Integers:
    """The records of the highest risk; of those that have the same, some by chance."""
    risk = np.asarray(risk, dtype=np.float64)
    if risk.shape != (records,):
        raise InputError("riskiest", f"it has shape {risk.shape}", f"Give one for each of the {records:,} records")
    order = np.lexsort((random.random(records), -np.nan_to_num(risk, nan=-np.inf)))
    return order[: min(number, int((~np.isnan(risk)).sum()))]


def _advantage(removals: "list[Removal]", datasets: int, random: np.random.Generator) -> Floats:
    """The mean over releases with the record of max(0, 1 - r), one per record."""
    releases = [one.releases for one in removals if one.releases is not None]
    draws = [one.by_draw for one in removals if one.by_draw is not None]
    number = max([len(one) for one in draws] + [RELEASES if draws else SIMULATED])
    logs = np.zeros((number, removals[0].pareto.size))
    for found in releases:
        logs += found[_every(random, len(found), number)]
    for found in draws:
        # Parts have draws of their own, and so have the tables of a release.
        for _ in range(datasets):
            logs += found[_every(random, len(found), number)]
    return -np.expm1(np.minimum(logs, 0.0)).mean(axis=0)


def _every(random: np.random.Generator, length: int, number: int) -> Integers:
    """So many places in an order by chance, each as often as any other, or once more."""
    turns = [random.permutation(length) for _ in range(-(-number // length))]
    return np.concatenate(turns)[:number]


def _resample(removal: "Removal", random: np.random.Generator) -> "Removal":
    """Draws, in blocks of neighbours, or releases as they could have been drawn as well."""
    if removal.releases is not None:
        found = removal.releases
        return type(removal)(None, found[random.integers(0, len(found), len(found))], removal.pareto)
    assert removal.by_draw is not None
    blocks = np.array_split(np.arange(len(removal.by_draw)), min(_BLOCKS, len(removal.by_draw)))
    taken = np.concatenate([blocks[place] for place in random.integers(0, len(blocks), len(blocks))])
    found = removal.by_draw[taken]
    # The factor that the ratio is known up to is that of these draws.
    return type(removal)(found - np.log(np.exp(found).mean(axis=0)), None, removal.pareto)


# What is told of it.


def _of_members(tell: Callable[[Membership], Figure]) -> Callable[[Scene], Iterable[Value]]:
    """A figure of the advantage, told of as many tables as the release has; nothing where it is not known."""

    def compute(scene: Scene) -> Iterable[Value]:
        found = None if scene.membership is None else tell(scene.membership)
        if found is None or scene.membership is None or np.isnan(found.value):
            return []
        return [Value(found, at=float(scene.membership.datasets))]

    return compute


def _unsure(*, riskiest: bool) -> Callable[[Membership], Figure]:
    return lambda found: Figure(found.unsure(riskiest=riskiest), np.nan, np.nan)


def _measure(id_: str, words: str, tell: Callable[[Membership], Figure]) -> Measure:
    return Measure(id_, words, "risk", MEMBERSHIP, "share", _of_members(tell))


MEMBERSHIP_MEASURES: Sequence[Measure] = (
    _measure(
        "advantage_random",
        "advantage of the strongest attacker on {at} tables, mean over records chosen at random (0: a coin)",
        lambda found: found.mean(),
    ),
    _measure(
        "advantage_random_largest",
        "the largest of these",
        lambda found: found.largest(),
    ),
    _measure(
        "advantage_riskiest",
        "advantage of the strongest attacker on {at} tables, mean over the riskiest records",
        lambda found: found.mean(riskiest=True),
    ),
    _measure(
        "advantage_riskiest_largest",
        "the largest of the riskiest",
        lambda found: found.largest(riskiest=True),
    ),
    _measure(
        "advantage_unsure",
        "share of the random records whose advantage only a fit without them could tell",
        _unsure(riskiest=False),
    ),
    _measure(
        "advantage_riskiest_unsure",
        "share of the riskiest records whose advantage only a fit without them could tell",
        _unsure(riskiest=True),
    ),
)
