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

It is an upper bound only of a model of which nothing but its parameters was learned from the records. Centre and scale,
how trees part and where bins end are held to be what they are, with and without the record. A record that decides what
values a forest can release at all, such as the last one that makes a value shared by enough, has the advantage 1.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from molehill.arrays import Floats, Integers, derive_seed, freeze
from molehill.attacks.worst_case.records import (
    LARGEST_SHAPE,
    REPEATS,
    SIMULATED,
    Asked,
    add_up_releases,
    ask,
    resample_draws,
    resample_releases,
)
from molehill.errors import check_whole
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    # It needs JAX, which whoever has a posterior has loaded; to evaluate other people's files must not wait for it.
    from molehill.synthesis.posterior import Posterior


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """What a release shows of some records having been in the data.

    Attributes
    ----------
    asked
        Who is asked about.
    advantage
        One per record; NaN where the draws cannot say it and only a fit without the record could.
    repeats
        (repeats, records): the same from resampled draws, for the intervals.
    pareto
        One per record: the shape of its largest weights, the largest over the parts of the model.
    datasets
        Tables of a release.
    """

    asked: Asked
    advantage: Floats
    repeats: Floats
    pareto: Floats
    datasets: int

    def __repr__(self) -> str:
        tables = "1 table" if self.datasets == 1 else f"{self.datasets} tables"
        unsure = int(np.isnan(self.advantage).sum())
        told = f", {unsure} of {len(self.advantage)} need a fit" if unsure else ""
        return f"Membership({tables}, mean {self.mean().value:.3f}, largest {self.largest().value:.3f}{told})"

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of every advantage."""
        return self.repeats.std(axis=0, ddof=1)

    def mean(self, *, riskiest: bool = False) -> Figure:
        """Mean advantage over the records chosen at random, an estimate of that over all; or over the riskiest."""
        return self.asked.mean(self.advantage, self.repeats, riskiest=riskiest)

    def largest(self, *, riskiest: bool = False) -> Figure:
        """The largest advantage over the records chosen at random, or over the riskiest."""
        return self.asked.largest(self.advantage, self.repeats, riskiest=riskiest)

    def unsure(self, *, riskiest: bool = False) -> float:
        """Share of these records of which the draws cannot say it."""
        return self.asked.share_of(np.isnan(self.advantage), riskiest=riskiest)


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
        From `fit`. Not one whose tables look at a person's old value by themselves (posterior membership), nor a forest
        that was corrected for a survey's design in which records vary together.
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
    random = np.random.default_rng(derive_seed(seed, "membership"))
    asked = ask(random, len(posterior.table.frame), riskiest=riskiest, number=number, rows=rows)
    seeded = derive_seed(seed, "removals")
    removals = posterior.removals(asked.records, datasets=datasets, releases=SIMULATED, seed=seeded)
    pareto = np.max([one.pareto for one in removals], axis=0)
    by_draw = [one.by_draw for one in removals if one.by_draw is not None]
    simulated = [one.releases for one in removals if one.releases is not None]
    advantage = np.where(pareto > LARGEST_SHAPE, np.nan, _advantage(random, by_draw, simulated, datasets))
    repeats = [
        _advantage(
            random,
            [resample_draws(random, one) for one in by_draw],
            [resample_releases(random, one) for one in simulated],
            datasets,
        )
        for _ in range(REPEATS)
    ]
    return Membership(asked, freeze(advantage), freeze(np.stack(repeats)), freeze(pareto), datasets)


def _advantage(random: np.random.Generator, by_draw: list[Floats], simulated: list[Floats], datasets: int) -> Floats:
    """The mean over releases with the record of max(0, 1 - r), one per record."""
    logs = add_up_releases(random, by_draw, simulated, datasets)
    return -np.expm1(np.minimum(logs, 0.0)).mean(axis=0)
