"""Targets of a search: rules such as "maximum realised <= 0.5", read from text, and whether a point meets them.

A rule on the expected risk is judged beyond its Monte Carlo error. A rule on the realised risk of the L released tables
is judged by the chance that L fresh tables would break it, or by how few records would have to be drawn anew.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from molehill.errors import InputError
from molehill.moles import moles

Floats = NDArray[np.float64]
Measure = Literal["maximum", "quantile", "mean", "moles", "U_m", "overlap"]
Basis = Literal["realised", "expected", ""]

EXAMPLES = (
    "maximum realised <= 0.5",
    "99% expected <= 0.4",
    "mean expected <= 0.15",
    "moles 0.1 <= 0",
    "U_m <= 0.03",
    "overlap >= 0.6",
    "overlap of mean of income >= 0.6",
)
# One-sided 95%: an expected risk meets its bound by so many standard errors.
MARGIN = 1.645
_TEXT = re.compile(r"^\s*(?P<what>.*?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<bound>\S+)\s*$")


@dataclass(frozen=True)
class Target:
    """One rule that a release shall keep.

    Attributes
    ----------
    measure
        "maximum", "quantile" or "mean" of the records' risk, number of "moles", "U_m", or interval "overlap".
    bound
        The most that it may be; for the overlap the least.
    basis
        Of a risk: "realised" over the released tables, or "expected".
    share
        Of a quantile: 0.99 for "99%".
    step
        Of moles: the smallest rise that counts.
    analysis
        Of an overlap: the analysis, such as "mean of income"; without one, the smallest overlap of all.

    Examples
    --------
    >>> read_target("99% expected <= 0.4")
    Target(measure='quantile', bound=0.4, basis='expected', share=0.99, step=0.0, analysis='')
    """

    measure: Measure
    bound: float
    basis: Basis = ""
    share: float = 1.0
    step: float = 0.0
    analysis: str = ""

    def __str__(self) -> str:
        words = {"quantile": f"{100 * self.share:g}%", "moles": f"moles {self.step:g}"}.get(self.measure, self.measure)
        of = f" of {self.analysis}" if self.analysis else ""
        basis = f" {self.basis}" if self.basis else ""
        return f"{words}{of}{basis} {'>=' if self.measure == 'overlap' else '<='} {self.bound:g}"

    @property
    def is_risk(self) -> bool:
        """Whether it is about the risk of records, and not about moles or utility."""
        return self.basis != ""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of one point.

    Attributes
    ----------
    blocks, runs
        (blocks, records) and (runs, records): as in `molehill.expected.ExpectedRisk`.
    coverage
        One per record: its risk in a table in which its own value is close.
    distances
        U_m of every table that was looked at.
    overlaps
        Interval overlap by analysis.
    """

    blocks: Floats
    runs: Floats
    coverage: Floats
    distances: Floats
    overlaps: dict[str, float]

    @property
    def risk(self) -> Floats:
        """Expected risk of every record."""
        return self.blocks.mean(axis=0)

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

    target: Target
    value: float
    error: float
    chance: float
    met: bool
    gap: float
    records: float = np.nan


def read_target(text: str) -> Target:
    """Read one target; see `EXAMPLES` for what can be said."""
    (target,) = read_targets([text])
    return target


def read_targets(targets: "str | Target | Sequence[str | Target]") -> tuple[Target, ...]:
    """Read targets, and tell every problem in them at once.

    Examples
    --------
    >>> [str(target) for target in read_targets(["maximum realised <= 0.5", "U_m <= 0.03"])]
    ['maximum realised <= 0.5', 'U_m <= 0.03']
    """
    given = [targets] if isinstance(targets, str | Target) else list(targets)
    if not given:
        raise InputError("targets", "there is none", f"Write for instance {EXAMPLES[0]!r}")
    read, problems = [], []
    for entry in given:
        found = entry if isinstance(entry, Target) else _parse(entry)
        if isinstance(found, str):
            problems.append(f"{entry!r}: {found}")
            continue
        problem = _find_problem(found)
        problems += [f"{str(found)!r}: {problem}"] if problem else []
        read.append(found)
    if not problems and len(set(read)) < len(read):
        problems.append("one is given twice: leave one of the two out")
    if problems:
        told = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
        raise InputError("targets", told, f"Write them like {', '.join(map(repr, EXAMPLES[:-1]))}")
    return tuple(read)


def impossible(targets: Sequence[Target]) -> list[str]:
    """Say which targets no synthesizer can meet, and why, without looking at the data."""
    reasons = []
    for target in targets:
        if target.measure in ("maximum", "mean") and target.bound <= 0:
            reasons.append(
                f"{target}: every released value can fall near the true one by chance, so that no risk is 0; "
                "ask for a small risk above 0"
            )
        elif target.measure == "quantile" and target.basis == "expected" and target.bound <= 0:
            reasons.append(f"{target}: the expected risk of every record is above 0; ask for a bound above 0")
        elif target.measure == "U_m" and target.bound <= 0:
            reasons.append(f"{target}: only the confidential table itself has 0; ask for more than the noise floor")
        elif target.measure == "overlap" and target.bound >= 1:
            reasons.append(f"{target}: only the confidential table itself has 1; ask for less")
    return reasons


def judge(
    target: Target,
    measured: Measured,
    *,
    tables: int,
    chance: float,
    redraw: float = 0.0,
    reference: tuple[Floats, Floats] | None = None,
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
    margin
        By how many standard errors an expected risk or U_m must meet its bound.
    """
    if target.measure == "overlap":
        of = [value for name, value in measured.overlaps.items() if target.analysis in ("", name)]
        value = min(of)
        return Judgement(target, value, np.nan, np.nan, value >= target.bound, max(target.bound - value, 0.0))
    if target.measure == "moles":
        number = 0
        if reference is not None:
            number = moles(measured.risk, measured.error, *reference, step=target.step).number
        over = max(number - target.bound, 0.0)
        return Judgement(target, float(number), np.nan, np.nan, over == 0, over / len(measured.risk))
    if target.measure == "U_m":
        value = float(measured.distances.mean())
        error = float(measured.distances.std(ddof=1) / np.sqrt(len(measured.distances)))
        return _beyond_error(target, value, error, margin)
    if target.basis == "expected":
        return _beyond_error(target, *expected_figure(target, measured.blocks), margin)
    return _judge_realised(target, measured, tables, chance, redraw=redraw, margin=margin)


def expected_figure(target: Target, blocks: Floats) -> tuple[float, float]:
    """Give the mean, a quantile or the maximum of the expected risks, corrected for their noise, and its error.

    The largest of many noisy numbers is too large. The blocks are cut into two halves: the record that is the largest
    in one half has, in the other half, a risk without that luck, which is a little too small. With normal risks and
    noise the first is too large by half of what the second is too small by (the halves have twice the noise), so that
    two thirds of the first and a third of the second are right to second order.
    """
    part = ~np.isnan(blocks).any(axis=0)
    blocks = blocks[:, part]
    means = blocks.mean(axis=0)
    if target.measure == "mean":
        by_block = blocks.mean(axis=1)
        return float(means.mean()), float(by_block.std(ddof=1) / np.sqrt(len(by_block)))
    naive = float(np.quantile(means, target.share))
    halves = blocks[0::2].mean(axis=0), blocks[1::2].mean(axis=0)
    crossed = np.mean([other[_band(one, target.share)].mean() for one, other in (halves, halves[::-1])])
    by_block = blocks[:, _band(means, target.share)].mean(axis=1)
    return float((2 * naive + crossed) / 3), float(by_block.std(ddof=1) / np.sqrt(len(by_block)))


def record_figure(target: Target, by_run: Floats) -> Floats:
    """Give the mean, a quantile or the maximum over the records, of every row."""
    part = ~np.isnan(by_run).any(axis=0)
    if target.measure == "mean":
        return by_run[:, part].mean(axis=1)
    return np.quantile(by_run[:, part], target.share, axis=1)


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


def breaking_records(
    target: Target, measured: Measured, *, tables: int, reference: tuple[Floats, Floats] | None = None
) -> NDArray[np.bool_]:
    """Say which records stand in the way of a target."""
    risk = np.nan_to_num(measured.risk)
    if target.measure == "moles" and reference is not None:
        return np.asarray(moles(risk, np.nan_to_num(measured.error), *reference, step=target.step).records)
    if not target.is_risk:
        return np.zeros(len(risk), dtype=bool)
    if target.basis == "realised" and target.measure == "maximum":
        by_record = breaking_by_record(risk, measured.coverage, target.bound, tables)
        # Those that together make up nine tenths of the breaks to be expected.
        ranked = np.argsort(-by_record, kind="stable")
        before = np.cumsum(by_record[ranked]) - by_record[ranked]
        found = np.zeros(len(risk), dtype=bool)
        found[ranked[before < 0.9 * by_record.sum()]] = True
        return found
    return risk > target.bound


def _judge_realised(
    target: Target, measured: Measured, tables: int, chance: float, *, redraw: float, margin: float
) -> Judgement:
    figures = record_figure(target, measured.runs)
    value, spread = float(figures.mean()), float(figures.std(ddof=1))
    records, lucky = np.nan, False
    if target.bound >= 1:
        breaking = 0.0
    elif target.measure == "maximum":
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


def _beyond_error(target: Target, value: float, error: float, margin: float) -> Judgement:
    over = value + margin * error - target.bound
    # No risk and no distance is above 1.
    met = over <= 0 or target.bound >= 1
    return Judgement(target, value, error, np.nan, met, 0.0 if met else over)


def _parse(text: str) -> Target | str:
    """Give the target, or what is wrong with the text and how to write it."""
    match = _TEXT.match(text)
    if match is None:
        return f"it has no <= or >=: write for instance {EXAMPLES[0]!r}"
    what, sign, number = " ".join(match["what"].split()), match["sign"], match["bound"]
    try:
        bound = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        return "what follows the sign is not a number: write one such as 0.5"
    wanted = ">=" if what.startswith("overlap") else "<="
    if sign != wanted:
        return f"the sign must be {wanted}"
    first, _, rest = what.partition(" ")
    if first == "U_m" and not rest:
        return Target("U_m", bound)
    if first == "overlap":
        return Target("overlap", bound, analysis=rest.removeprefix("of ").strip())
    return _parse_moles(rest, bound) if first == "moles" else _parse_risk(first, rest, bound)


def _parse_moles(rest: str, bound: float) -> Target | str:
    try:
        return Target("moles", bound, step=float(rest or "0.2"))
    except ValueError:
        return "after moles comes the smallest rise that counts: write 'moles 0.1 <= 0'"


def _parse_risk(first: str, basis: str, bound: float) -> Target | str:
    share = first.removesuffix("%")
    quantile = first.endswith("%") and share.replace(".", "", 1).isdigit()
    if not quantile and first not in ("maximum", "mean"):
        return "it begins with none of maximum, mean, a quantile such as 99%, moles, U_m and overlap"
    if basis not in ("realised", "expected"):
        return f"say of which risk: {first} expected <= {bound:g}, or {first} realised <= {bound:g}"
    if quantile:
        return Target("quantile", bound, basis, share=float(share) / 100)
    return Target(first, bound, basis)  # pyright: ignore[reportArgumentType]


def _find_problem(target: Target) -> str:
    if not np.isfinite(target.bound) or target.bound < 0:
        return "the bound must be a number from 0 up"
    if target.measure != "moles" and target.bound > 1:
        return "the bound is above 1, which nothing passes: write 20% as 0.2"
    if target.measure == "quantile" and not 0 < target.share < 1:
        return "a quantile lies between 0% and 100%: write 99%, or maximum"
    if target.measure == "moles" and not 0 < target.step < 1:
        return "the step must be between 0 and 1: write 'moles 0.1 <= 0'"
    return ""
