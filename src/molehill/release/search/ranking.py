"""Which point of a search is the best: under a rule on risk what loses least, without one the safest that keeps most.

What is as near as a fresh sample loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from molehill.release.search.points import Bench, Point

# What is no loss: a share of what a fresh sample would show; of overlaps, which are noisy, more.
TENTH, LEAST_OVERLAP_LOST, ENOUGH_OVERLAP = 0.1, 0.15, 0.9
# A classifier that tells released records so much better than chance, or a quarter better than those of the best.
TOLD, TOLD_LOST = 2.5, 0.25


def rank_points(bench: Bench) -> list[Point]:
    """The best first; where none meets the targets, the closest first.

    Fits that have not converged come after those that have.
    """
    met = [point for point in bench.points if point.met]
    if not met:
        return sorted(bench.points, key=lambda point: (point.gap, point.number))
    usable, doubtful = [p for p in met if p.usable], [p for p in met if not p.usable]
    rank = _rank_under_rule if bench.rules_risk else _rank_safest
    return rank(bench, usable) + rank(bench, doubtful)


def _rank_under_rule(bench: Bench, met: Sequence[Point]) -> list[Point]:
    """Of those that lose as little as the least, within its error, the least risky first; then the others."""
    if not met:
        return []
    enough = _enough_under_rule(bench, met)
    alike = {p.number for p in met if bench.loss(p) <= enough}
    first = sorted((p for p in met if p.number in alike), key=lambda p: (p.measured.mean[0], p.number))
    return first + sorted((p for p in met if p.number not in alike), key=lambda p: (p.distance, p.number))


def _enough_under_rule(bench: Bench, met: Sequence[Point]) -> float:
    """The loss of the one that loses least, and its error."""
    least = min(met, key=lambda point: (bench.loss(point), point.number))
    return bench.loss(least) + least.distance_error


def _rank_safest(bench: Bench, met: Sequence[Point]) -> list[Point]:
    """Of those that keep as much as the best the least risky first; then the others.

    Of those that are as safe, within error, the first that was tried: it distorts least.
    """
    left = [point for point in met if not list_losses(bench, point, met)]
    ranked: list[Point] = []
    while left:
        safest = min(left, key=lambda point: point.measured.mean)
        ranked.append(next(point for point in left if _is_as_safe(point, safest)))
        left.remove(ranked[-1])
    return ranked + [point for point in met if point not in ranked]


def _is_as_safe(point: Point, other: Point) -> bool:
    (risk, error), (least, its) = point.measured.mean, other.measured.mean
    return risk - least <= 2 * np.hypot(error, its)


@dataclass(frozen=True)
class Loss:
    """What a candidate keeps less of than the best do: its figure, and the one that would have been enough."""

    criterion: Literal["agreement", "distance", "overlap", "classifier"]
    value: float
    enough: float

    def __str__(self) -> str:
        words, digits = _LOSSES[self.criterion]
        return f"{words} {self.value:.{digits}f}, {self.enough:.{digits}f} needed"


_STATES = {
    "chosen": "chosen",
    "closest": "closest to the targets",
    "targets": "misses a target",
    "convergence": "its fit has not converged",
    "draws": "no release that was drawn of it kept the targets on realised risk",
}
# Of every criterion what is compared, and how finely.
_LOSSES = {
    "agreement": ("pairs of columns lie farther apart by", 4),
    "distance": ("U_m", 4),
    "overlap": ("smallest interval overlap", 3),
    "classifier": ("pMSE ratio", 2),
}


def list_losses(bench: Bench, point: Point, points: Sequence[Point]) -> list[Loss]:
    """List in what a point keeps less than the best: pairs of columns, the distribution, what users compute.

    A tenth of what a fresh sample would differ by, or twice the error, is no loss.
    """
    lost = [float(one.measured.lost.mean()) for one in points]
    nearest = min(points, key=lambda one: one.distance)
    error = max(2 * float(np.hypot(point.distance_error, nearest.distance_error)), TENTH * bench.fresh)
    overlaps = [min(one.measured.overlaps.values(), default=1.0) for one in points]
    told = [_told(one) for one in points]
    losses = [
        Loss("agreement", float(point.measured.lost.mean()), min(lost) + TENTH * (1 - bench.fresh_agreement / 1000)),
        Loss("distance", bench.loss(point), bench.loss(nearest) + error),
        Loss("classifier", _told(point), max(TOLD, (1 + TOLD_LOST) * min(told))),
    ]
    needed = min(max(overlaps) - LEAST_OVERLAP_LOST, ENOUGH_OVERLAP)
    overlap = Loss("overlap", min(point.measured.overlaps.values(), default=1.0), needed)
    return [one for one in losses if not one.value <= one.enough] + [overlap] * (overlap.value < overlap.enough)


def _told(point: Point) -> float:
    return point.measured.figures.get("told", (0.0, 0.0))[0]


def decide_points(bench: Bench, chosen: Point) -> pd.DataFrame:
    """Say of every point by which criterion it was chosen or not.

    Returns
    -------
    pandas.DataFrame
        One row a point: keeps_as_much, whether it keeps as much as the best; decided_by, the criteria, with commas
        between: "chosen", "closest", "targets", "convergence", "draws" (no release of it kept the realised targets),
        "agreement", "distance", "overlap", "classifier", "risk", "order"; and decided_why, the same in words.
    """
    ranked = [point.number for point in rank_points(bench)]
    better = ranked[: ranked.index(chosen.number)] if chosen.met else []
    rows = []
    for point in bench.points:
        alike = [one for one in bench.points if one.met and one.usable >= point.usable] or bench.points
        losses = list_losses(bench, point, alike)
        ids, why = _decide_point(bench, point, chosen, losses, unlucky=point.number in better)
        rows.append({"keeps_as_much": not losses, "decided_by": ", ".join(ids), "decided_why": why})
    return pd.DataFrame(rows)


def _decide_point(
    bench: Bench, point: Point, chosen: Point, losses: Sequence[Loss], *, unlucky: bool
) -> tuple[list[str], str]:
    """By which criteria a point was chosen or not, and in words, the first that applies."""
    is_chosen = point.number == chosen.number
    states = {
        "chosen": is_chosen and point.met,
        "closest": is_chosen,
        "targets": not point.met,
        "convergence": not point.usable,
        "draws": unlucky,
    }
    state = next((name for name, holds in states.items() if holds), "")
    if state:
        return [state], _STATES[state]
    if bench.rules_risk:
        enough = _enough_under_rule(bench, [one for one in bench.points if one.usable])
        losses = [Loss("distance", bench.loss(point), enough)] if bench.loss(point) > enough else []
    if losses:
        return [one.criterion for one in losses], "; ".join(map(str, losses))
    risk, least = point.measured.mean[0], chosen.measured.mean[0]
    if not bench.rules_risk and _is_as_safe(point, chosen):
        return ["order"], f"mean expected risk {risk:.4f} is that of the chosen one within error; it distorts more"
    return ["risk"], f"mean expected risk {risk:.4f}, {least:.4f} for the chosen one"
