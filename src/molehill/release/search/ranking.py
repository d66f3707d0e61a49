"""Which point of a search is the best: under a rule on risk what loses least, without one the safest that keeps most.

What is as near as a fresh sample loses nothing.
"""

from collections.abc import Sequence

import numpy as np

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
    least = min(met, key=lambda point: (bench.loss(point), point.number))
    alike = {p.number for p in met if bench.loss(p) - bench.loss(least) <= least.distance_error}
    first = sorted((p for p in met if p.number in alike), key=lambda p: (p.measured.mean[0], p.number))
    return first + sorted((p for p in met if p.number not in alike), key=lambda p: (p.distance, p.number))


def _rank_safest(bench: Bench, met: Sequence[Point]) -> list[Point]:
    """Of those that keep as much as the best the least risky first; then the others.

    Of those that are as safe, within error, the first that was tried: it distorts least.
    """
    left = [point for point in met if _keeps_as_much(bench, point, met)]
    ranked: list[Point] = []
    while left:
        safest = min(left, key=lambda point: point.measured.mean)
        ranked.append(next(point for point in left if _is_as_safe(point, safest)))
        left.remove(ranked[-1])
    return ranked + [point for point in met if point not in ranked]


def _is_as_safe(point: Point, other: Point) -> bool:
    (risk, error), (least, its) = point.measured.mean, other.measured.mean
    return risk - least <= 2 * np.hypot(error, its)


def _keeps_as_much(bench: Bench, point: Point, points: Sequence[Point]) -> bool:
    """Whether a point keeps as much as any other: pairs of columns, the distribution, what users compute, all at once.

    A tenth of what a fresh sample would differ by, or twice the error, is no loss.
    """
    lost = [float(one.measured.lost.mean()) for one in points]
    agrees = float(point.measured.lost.mean()) <= min(lost) + TENTH * (1 - bench.fresh_agreement / 1000)
    nearest = min(points, key=lambda one: one.distance)
    error = 2 * np.hypot(point.distance_error, nearest.distance_error)
    near = bench.loss(point) - bench.loss(nearest) <= max(error, TENTH * bench.fresh)
    overlaps = [min(one.measured.overlaps.values(), default=1.0) for one in points]
    overlap = min(point.measured.overlaps.values(), default=1.0)
    told = [one.measured.figures.get("told", (0.0, 0.0))[0] for one in points]
    hidden = point.measured.figures.get("told", (0.0, 0.0))[0] <= max(TOLD, (1 + TOLD_LOST) * min(told))
    return agrees and near and hidden and overlap >= min(max(overlaps) - LEAST_OVERLAP_LOST, ENOUGH_OVERLAP)
