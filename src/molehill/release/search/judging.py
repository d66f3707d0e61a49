"""Whether a point of a search meets its targets.

A rule on the expected risk, or on the expected chance to be picked, is judged beyond its Monte Carlo error. A rule on
the realised risk of the L released tables is judged by the chance that L fresh tables would break it, or by how few
records would have to be drawn anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, norm

from molehill.arrays import Booleans, Floats
from molehill.evaluation.criteria import Criterion
from molehill.risk.moles import moles

# One-sided 95%: an expected risk meets its bound by so many standard errors.
MARGIN = 1.645


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of one point.

    Attributes
    ----------
    blocks, runs
        (blocks, records) and (runs, records): as in `molehill.risk.expected.ExpectedRisk`.
    coverage
        One per record: its risk in a table in which its own value is close.
    distances
        U_m of every table that was looked at.
    overlaps
        Interval overlap by analysis.
    figures
        By the id of a measure, with its statistic if it has one, a figure and its standard error.
    isolated
        Which records are the most isolated 1% of the confidential table.
    agreement
        How well the pairs of columns agree in every table that was looked at, of 1000.
    lost
        One per pair of columns: by how much it lies farther apart than in two samples of one population, 0 if it does
        not.
    picks
        (blocks, records): the expected chance to be picked; no blocks if no target is about it.
    """

    blocks: Floats
    runs: Floats
    coverage: Floats
    distances: Floats
    overlaps: dict[str, float]
    figures: dict[str, tuple[float, float]]
    isolated: Booleans
    agreement: Floats
    lost: Floats
    picks: Floats

    @property
    def risk(self) -> Floats:
        """Expected risk of every record."""
        return self.blocks.mean(axis=0)

    @property
    def mean(self) -> tuple[float, float]:
        """Mean of the expected risk of the records, and its standard error."""
        by_block = self.blocks[:, ~np.isnan(self.blocks).any(axis=0)].mean(axis=1)
        return float(by_block.mean()), float(by_block.std(ddof=1) / np.sqrt(len(by_block)))

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of the expected risk of every record."""
        return self.blocks.std(axis=0, ddof=1) / np.sqrt(len(self.blocks))


@dataclass(frozen=True)
class Judgement:
    """How a point stands to one target: the figure, its error, the chance that a release breaks it, the verdict.

    `gap` is 0 if the target is met and grows with the distance from it. `records` is how many records are expected to
    break a realised maximum in a release.
    """

    target: Criterion
    value: float
    error: float
    chance: float
    met: bool
    gap: float
    records: float = np.nan


def judge(
    target: Criterion,
    measured: Measured,
    *,
    tables: int,
    chance: float,
    redraw: float = 0.0,
    reference: tuple[Floats, Floats] | None = None,
    in_sample: Floats | float = 1.0,
    margin: float = MARGIN,
) -> Judgement:
    """Judge a measured point by a target.

    Parameters
    ----------
    target, measured
        The rule, and the point.
    tables
        How many tables a release has.
    chance
        Of a realised target, the largest chance of breaking it that still counts as meeting it.
    redraw
        A realised maximum also counts as met if no record's expected risk is above the bound and no larger share of the
        records than this (or one record, if that is more) is expected to pass it by bad luck: those can be drawn anew.
    reference
        Of moles: expected risk and error of every record under the unweighted synthesizer.
    in_sample
        Of a risk in the population: the chance of every record's person to be in the sample.
    margin
        By how many standard errors what is expected, or U_m, must meet its bound.
    """
    if target.measure == "overlap":
        value = min(value for name, value in measured.overlaps.items() if target.statistic in ("", name))
        return Judgement(target, value, np.nan, np.nan, value >= target.bound, max(target.bound - value, 0.0))
    if target.measure == "moles":
        number = 0
        if reference is not None:
            number = moles(measured.risk, measured.error, *reference, step=float(target.statistic)).number
        over = max(number - target.bound, 0.0)
        return Judgement(target, float(number), np.nan, np.nan, over == 0, over / len(measured.risk))
    if (target.measure, target.statistic) == ("U_m", ""):
        value = float(measured.distances.mean())
        error = float(measured.distances.std(ddof=1) / np.sqrt(len(measured.distances)))
        return _beyond_error(target, value, error, margin)
    if target.is_realised:
        return _judge_realised(target, measured, tables, chance, redraw=redraw, margin=margin)
    if target.is_of_records or target.measure == "isolated_mean":
        blocks = measured.picks if target.measure == "matches_expected" else measured.blocks
        blocks = blocks * in_sample if target.measure == "population_mean" else blocks
        blocks = blocks[:, measured.isolated] if target.measure == "isolated_mean" else blocks
        return _beyond_error(target, *expected_figure(target, blocks), margin)
    return _beyond_error(target, *measured.figures[target.quantity], margin)


def expected_figure(target: Criterion, blocks: Floats) -> tuple[float, float]:
    """Give the mean, a quantile or the maximum of what is expected of the records, without their noise, and its error.

    The largest of many noisy numbers is too large. The blocks are cut into two halves: the record that is the largest
    in one half has, in the other half, a risk without that luck, which is a little too small. With normal risks and
    noise the first is too large by half of what the second is too small by (the halves have twice the noise), so that
    two thirds of the first and a third of the second are right to second order.
    """
    part = ~np.isnan(blocks).any(axis=0)
    blocks = blocks[:, part]
    means = blocks.mean(axis=0)
    if target.statistic in ("", "mean"):
        by_block = blocks.mean(axis=1)
        return float(means.mean()), float(by_block.std(ddof=1) / np.sqrt(len(by_block)))
    share = target.share or 1.0
    naive = float(np.quantile(means, share))
    halves = blocks[0::2].mean(axis=0), blocks[1::2].mean(axis=0)
    crossed = np.mean([other[_band(one, share)].mean() for one, other in (halves, halves[::-1])])
    by_block = blocks[:, _band(means, share)].mean(axis=1)
    return float((2 * naive + crossed) / 3), float(by_block.std(ddof=1) / np.sqrt(len(by_block)))


def record_figure(target: Criterion, by_run: Floats) -> Floats:
    """Give the mean, a quantile or the maximum over the records, of every row."""
    part = ~np.isnan(by_run).any(axis=0)
    if target.statistic == "mean":
        return by_run[:, part].mean(axis=1)
    return np.quantile(by_run[:, part], target.share or 1.0, axis=1)


def breaking_by_record(risk: Floats, coverage: Floats, bound: float, tables: int) -> Floats:
    """Give the chance of every record that its realised risk over so many tables passes a bound.

    In each table the record's value is close with chance q = risk / coverage, and its risk is then the coverage: the
    realised risk passes the bound if it is close in more than bound x tables / coverage of them.

    Examples
    --------
    >>> breaking_by_record(np.array([0.5]), np.array([1.0]), 0.5, 2)
    array([0.25])
    """
    risk, coverage = np.nan_to_num(risk), np.nan_to_num(coverage)
    close = np.clip(np.divide(risk, coverage, out=np.zeros_like(risk), where=coverage > 0), 0.0, 1.0)
    needed = np.divide(bound * tables, coverage, out=np.full_like(risk, np.inf), where=coverage > 0)
    # A hair of rounding must not turn "more than 10" into "10 or more".
    return binom.sf(np.floor(needed + 1e-9), tables, close)


def breaking_chance(by_record: Floats) -> float:
    """Give the chance that at least one record breaks the target, records being independent given the parameters."""
    return float(-np.expm1(np.log1p(-np.minimum(by_record, 1 - 1e-15)).sum()))


def count_breaks(targets: Sequence[Criterion], runs: Floats) -> tuple[float, float, float]:
    """Give the share of independent runs that break a realised target, with its 95% interval; NaN if there is none.

    Examples
    --------
    >>> from molehill.evaluation.criteria import read_criteria
    >>> runs = np.array([[0.2, 0.6], [0.1, 0.5], [0.0, 0.4], [0.1, 0.2]])
    >>> [round(end, 3) for end in count_breaks(read_criteria("maximum realised <= 0.5"), runs)]
    [0.25, 0.006, 0.806]
    """
    realised = [target for target in targets if target.is_realised]
    if not realised:
        return np.nan, np.nan, np.nan
    if all(target.bound >= 1 for target in realised):
        return 0.0, 0.0, 0.0
    broken = np.zeros(len(runs), dtype=bool)
    for target in realised:
        broken |= record_figure(target, runs) > target.bound + 1e-12
    number, all_runs = int(broken.sum()), len(broken)
    low = float(beta.ppf(0.025, number, all_runs - number + 1)) if number else 0.0
    high = float(beta.ppf(0.975, number + 1, all_runs - number)) if number < all_runs else 1.0
    return number / all_runs, low, high


def breaking_records(
    target: Criterion,
    measured: Measured,
    *,
    tables: int,
    reference: tuple[Floats, Floats] | None = None,
    in_sample: Floats | float = 1.0,
) -> Booleans:
    """Say which records stand in the way of a target."""
    risk = np.nan_to_num(measured.risk) * (in_sample if target.measure == "population_mean" else 1.0)
    if target.measure == "moles" and reference is not None:
        step = float(target.statistic)
        return np.asarray(moles(risk, np.nan_to_num(measured.error), *reference, step=step).records)
    if target.measure == "isolated_mean":
        return measured.isolated & (risk > target.bound)
    if not target.is_of_records:
        return np.zeros(len(risk), dtype=bool)
    if target.measure == "matches_expected":
        return np.nan_to_num(measured.picks.mean(axis=0)) > target.bound
    if target.is_realised and target.statistic == "maximum":
        by_record = breaking_by_record(risk, measured.coverage, target.bound, tables)
        # Those that together make up nine tenths of the breaks to be expected.
        ranked = np.argsort(-by_record, kind="stable")
        before = np.cumsum(by_record[ranked]) - by_record[ranked]
        found = np.zeros(len(risk), dtype=bool)
        found[ranked[before < 0.9 * by_record.sum()]] = True
        return found
    return risk > target.bound


def _judge_realised(
    target: Criterion, measured: Measured, tables: int, chance: float, *, redraw: float, margin: float
) -> Judgement:
    figures = record_figure(target, measured.runs)
    value, spread = float(figures.mean()), float(figures.std(ddof=1))
    records, lucky = np.nan, False
    if target.bound >= 1:
        breaking = 0.0
    elif target.statistic == "maximum":
        by_record = breaking_by_record(measured.risk, measured.coverage, target.bound, tables)
        breaking, records = breaking_chance(by_record), float(by_record.sum())
        largest, error = expected_figure(target, measured.blocks)
        few = redraw > 0 and records <= max(redraw * len(by_record), 1.0)
        lucky = few and largest + margin * error <= target.bound
    else:
        breaking = float(norm.sf((target.bound - value) / max(spread * np.sqrt(1 + 1 / len(figures)), 1e-12)))
    met = breaking <= chance or lucky
    gap = 0.0 if met else (breaking - chance) * 0.1 + max(value - target.bound, 0.0)
    return Judgement(target, value, spread / np.sqrt(len(figures)), breaking, met, gap, records)


def _band(risks: Floats, share: float) -> NDArray[np.intp]:
    """The records around a quantile: for the maximum the one that has it."""
    order = np.argsort(risks, kind="stable")
    place = share * (len(order) - 1)
    half = 0 if share >= 1 else 0.002 * len(order)
    low, high = int(np.floor(place - half)), int(np.ceil(place + half))
    return order[max(low, 0) : min(high, len(order) - 1) + 1]


def _beyond_error(target: Criterion, value: float, error: float, margin: float) -> Judgement:
    over = value + margin * error - target.bound if target.sign == "<=" else target.bound - value + margin * error
    # No risk, no chance and no distance is above 1.
    met = over <= 0 or (target.sign == "<=" and target.is_share and target.bound >= 1)
    return Judgement(target, value, error, np.nan, met, 0.0 if met else over)
