"""What a release tells the strongest intruder of one value of a person: Hornby and Hu's attribute risk.

The intruder knows all other records, everything of this one but a value, the model, and some guesses of which one is
true, each as likely as the others. The release then makes some likelier: the risk is the probability that is given to
the truth, on average over releases. One over the number of guesses is what the intruder had before; 1 is certain. As
for membership the intruder is told more than the tables, the parameters of each of them: see
`molehill.synthesis.sampling.guessing`, and for a forest `molehill.models.forests.guesses`.

Guesses of a number are, as Hornby and Hu have them, evenly spaced around the truth, or quantiles of the column; those
of a category are its levels. The true value is always among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from molehill.arrays import Booleans, Floats, Integers, derive_seed, freeze
from molehill.attacks.worst_case.records import (
    LARGEST_SHAPE,
    REPEATS,
    Asked,
    add_up_releases,
    ask,
    resample_draws,
    resample_releases,
)
from molehill.errors import InputError, check_number, check_whole, is_whole, nearest
from molehill.tables.intervals import Figure
from molehill.tables.resolution import holds_dates, round_to_unit
from molehill.tables.schema import column_numbers

if TYPE_CHECKING:
    # It needs JAX, which whoever has a posterior has loaded; to evaluate other people's files must not wait for it.
    from molehill.synthesis.posterior import Posterior

Among = Literal["levels", "near", "quantiles", "given"]
# Releases that a forest simulates: all guesses are looked at in each.
SIMULATED = 100
# Guesses of a number, levels of a category at most, and how far from the truth guesses lie, as a share of it.
GUESSES, MOST_LEVELS, SPREAD = 11, 50, 0.1


@dataclass(frozen=True, eq=False, repr=False)
class AttributeRisk:
    """What a release tells of a column of some records to who knows all else.

    Attributes
    ----------
    asked
        Who is asked about.
    column
        What is guessed.
    among
        What the guesses are: "levels", "near" the truth, "quantiles" of the column, or "given".
    guesses
        One per record: how many guesses there are that differ; 0 where the value is missing.
    probability
        One per record: what is given to the true value, the mean over releases. NaN where there is nothing to guess,
        and where the draws cannot say it.
    first
        One per record: the share of the releases in which the true value is given most; of equals a part.
    rank
        One per record: the mean place of the true value, 1 for the likeliest; of equals the middle.
    repeats, first_repeats
        (repeats, records): the first two from resampled draws, for the intervals.
    pareto
        One per record: the shape of its largest weights, the largest over guesses and over the parts of the model.
    datasets
        Tables of a release.
    """

    asked: Asked
    column: str
    among: Among
    guesses: Integers
    probability: Floats
    first: Floats
    rank: Floats
    repeats: Floats
    first_repeats: Floats
    pareto: Floats
    datasets: int

    def __repr__(self) -> str:
        tables = "1 table" if self.datasets == 1 else f"{self.datasets} tables"
        mean, baseline = self.mean().value, self.baseline()
        return f"AttributeRisk({self.column!r}, {tables}, mean {mean:.3f}, {baseline:.3f} without the release)"

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of every probability."""
        return self.repeats.std(axis=0, ddof=1)

    def mean(self, *, riskiest: bool = False) -> Figure:
        """Mean probability over the records chosen at random, an estimate of that over all; or over the riskiest."""
        return self.asked.mean(self.probability, self.repeats, riskiest=riskiest)

    def largest(self, *, riskiest: bool = False) -> Figure:
        """The largest probability over the records chosen at random, or over the riskiest."""
        return self.asked.largest(self.probability, self.repeats, riskiest=riskiest)

    def likeliest(self, *, riskiest: bool = False) -> Figure:
        """How often the true value is given most, of the records chosen at random or of the riskiest."""
        return self.asked.mean(self.first, self.first_repeats, riskiest=riskiest)

    def baseline(self, *, riskiest: bool = False) -> float:
        """What is given to the true value without the release, of the same records."""
        which = (self.asked.riskiest if riskiest else self.asked.chosen) & ~np.isnan(self.probability)
        return float((1 / self.guesses[which]).mean()) if which.any() else np.nan

    def unsure(self, *, riskiest: bool = False) -> float:
        """Share of these records, of those with a value to guess, of which the draws cannot say it."""
        which = (self.asked.riskiest if riskiest else self.asked.chosen) & (self.guesses > 1)
        return float(np.isnan(self.probability[which]).mean()) if which.any() else np.nan


def attribute_risk(
    posterior: "Posterior",
    column: str | None = None,
    *,
    datasets: int,
    seed: int,
    guesses: int | Sequence[Any] | Floats = GUESSES,
    spread: float | None = SPREAD,
    riskiest: Floats | None = None,
    number: int = 50,
    rows: Integers | None = None,
) -> AttributeRisk:
    """Say how likely the strongest intruder holds the true value of a person, of some guesses.

    Parameters
    ----------
    posterior
        From `fit`. Not one whose tables look at a person's old value by themselves (posterior membership), nor one
        whose uncertainty was brought to a survey's design.
    column
        The replaced column that is guessed; it may be left out if there is but one. All else of the person is known.
    datasets
        Tables of the release.
    seed
        The same posterior and seed give the same result.
    guesses
        How many guesses of a number there are; or the guesses themselves, to which the true value is added.
    spread
        Guesses of a number lie evenly from the true value times 1 - spread to 1 + spread; None for quantiles of the
        column. In either case in the unit of the column, so that there may be fewer that differ.
    riskiest
        The risk of every record, by which the riskiest are found; NaN for those that have none.
    number
        How many records are chosen at random, and how many of the riskiest.
    rows
        The records to ask about, in the place of those that would be chosen at random.
    """
    check_whole("datasets", datasets, 1)
    own = list(posterior.synthesizer.sensitive)
    if column is None and len(own) > 1:
        raise InputError("column", f"{len(own)} columns are replaced", f"Name one of {', '.join(own)}")
    target = own[0] if column is None else column
    if target not in own:
        raise InputError("column", f"{target!r} is not replaced", nearest(str(target), own))
    random = np.random.default_rng(derive_seed(seed, "attribute", target))
    asked = ask(random, len(posterior.table.frame), riskiest=riskiest, number=number, rows=rows)
    values, possible = _list_guesses(posterior, target, asked.records, guesses, spread)
    kept = possible[:, 0]
    seeded = derive_seed(seed, "guesses")
    about = (asked.records[kept], target, values[kept])
    found = posterior.guesses(*about, datasets=datasets, releases=SIMULATED, seed=seeded) if kept.any() else []
    possible[kept] &= np.all([one.possible for one in found], axis=0) if found else True
    pareto = np.full(len(kept), -np.inf)
    if found:
        shapes = np.max([one.pareto for one in found], axis=0)
        pareto[kept] = np.where(possible[kept], shapes, -np.inf).max(axis=1)
    by_draw = [one.by_draw for one in found if one.by_draw is not None]
    simulated = [one.releases for one in found if one.releases is not None]
    different = possible.sum(axis=1)
    told = (different > 1) & (pareto <= LARGEST_SHAPE)

    def over_releases(by_draw: list[Floats], simulated: list[Floats]) -> Floats:
        """Probability, share in the first place and rank of the truth, (3, records); NaN where nothing is told."""
        means = np.full((3, len(kept)), np.nan)
        if found:
            logs = add_up_releases(random, by_draw, simulated, datasets)
            means[:, kept] = _judge(np.where(possible[kept], logs, -np.inf))
        return np.where(told, means, np.nan)

    probability, first, rank = over_releases(by_draw, simulated)
    repeats = np.stack(
        [
            over_releases(
                [resample_draws(random, one) for one in by_draw], [resample_releases(random, one) for one in simulated]
            )
            for _ in range(REPEATS)
        ]
    )
    among: Among = "given" if not isinstance(guesses, Integral) else "near" if spread is not None else "quantiles"
    among = "levels" if target in posterior.levels and among != "given" else among
    return AttributeRisk(
        asked,
        target,
        among,
        freeze(different),
        freeze(probability),
        freeze(first),
        freeze(rank),
        freeze(repeats[:, 0]),
        freeze(repeats[:, 1]),
        freeze(pareto),
        datasets,
    )


def _judge(logs: Floats) -> Floats:
    """Means over releases of the probability of the first guess, of whether it is the likeliest, and of its rank.

    `logs` (releases, records, guesses) are those of the chances of the guesses, up to a factor; the first is the truth.
    """
    chances = np.exp(logs - logs.max(axis=2, keepdims=True))
    chances /= chances.sum(axis=2, keepdims=True)
    own = chances[:, :, :1]
    # But for rounding: guesses that the model cannot tell apart are equals.
    above, same = (chances > own * (1 + 1e-9)).sum(axis=2), (np.abs(chances - own) <= own * 1e-9).sum(axis=2)
    return np.stack([own[:, :, 0], np.where(above == 0, 1 / same, 0.0), 1 + above + (same - 1) / 2]).mean(axis=1)


def _list_guesses(
    posterior: "Posterior", column: str, rows: Integers, guesses: int | Sequence[Any] | Floats, spread: float | None
) -> tuple[Any, Booleans]:
    """Guesses of every record, (rows, guesses), the truth first, and which of them are there and not there before."""
    frame, levels = posterior.table.frame, posterior.levels.get(column)
    given = None if isinstance(guesses, Integral) else list(guesses)  # pyright: ignore[reportArgumentType]
    if given is None and not is_whole(guesses, 2):
        raise InputError("guesses", "it must be a whole number from 2 up, or guesses", f"{GUESSES} is the default")
    number = int(guesses) if isinstance(guesses, Integral) else 0
    if levels is not None:
        return _list_levels(frame[column], levels, rows, given)
    if holds_dates(frame[column]):
        raise InputError("column", f"{column!r} holds dates, which cannot be guessed yet", "Choose another column")
    numbers = column_numbers(posterior.table, column)
    truth, unit = numbers[rows], posterior.units.get(column, 0.0)
    if given is not None:
        others = np.broadcast_to(np.asarray(given, dtype=np.float64), (len(rows), len(given))).copy()
    elif spread is not None:
        check_number("spread", spread)
        if not spread > 0:
            raise InputError("spread", "it is not above 0", f"{SPREAD:g} is the default, None for quantiles")
        others = round_to_unit(truth[:, None] * (1 + np.linspace(-spread, spread, int(number))), unit)
    else:
        present = numbers[~np.isnan(numbers)]
        grid = round_to_unit(np.quantile(present, (np.arange(number) + 0.5) / number), unit)
        others = np.broadcast_to(grid, (len(rows), number)).copy()
    if given is None:
        # The truth takes the place of the guess that is nearest to it.
        near = np.argmin(np.nan_to_num(np.abs(others - truth[:, None])), axis=1)
        others[np.arange(len(rows)), near] = truth
    values = np.column_stack([truth, others])
    return values, _find_new(values)


def _find_new(values: Floats) -> Booleans:
    """Which guesses are numbers that no guess before them is."""
    new = ~np.isnan(values)
    for place in range(1, values.shape[1]):
        new[:, place] &= ~(values[:, :place] == values[:, place : place + 1]).any(axis=1) & new[:, 0]
    return new


def _list_levels(column: Any, levels: Sequence[Any], rows: Integers, given: list[Any] | None) -> tuple[Any, Booleans]:
    there = column.notna().to_numpy()
    counts = column[there].value_counts()
    by_number = sorted(levels, key=lambda level: -int(counts.get(level, 0)))
    listed = by_number[:MOST_LEVELS] if given is None else given
    for level in listed:
        if level not in levels:
            raise InputError("guesses", f"one is no level of {column.name!r}", "Give levels of the column")
    # A gap is told by `there`; compared with anything, that of pandas is neither so nor not so.
    own = np.where(there[rows], column.iloc[rows].to_numpy(dtype=object), None)
    values = np.empty((len(rows), len(listed) + 1), dtype=object)
    values[:, 0], values[:, 1:] = own, np.array(listed, dtype=object)
    new = np.ones(values.shape, dtype=bool)
    new[:, 1:] = values[:, 1:] != values[:, :1]
    return values, new & there[rows][:, None]
