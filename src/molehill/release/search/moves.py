"""What a search tries, and in which order: from what distorts least on, until a point is good enough.

First membership, which needs no new fit; then weights along a path of strength, by bisection; then feedback to single
records. `molehill.release.schemes` says what each is.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from molehill.release.schemes import FEEDBACK, Scheme, along_path, has_membership, weigh_down
from molehill.release.search.points import (
    Bench,
    Fitted,
    Point,
    find_breaking,
    fit_scheme,
    judge_measured,
    measure_point,
    mix_measured,
)


def try_moves(bench: Bench) -> Iterator[Point]:
    """Try moves, the least distorting first, and give every point as it is measured."""
    fits, seconds = bench.settings.fits, bench.settings.seconds or np.inf

    def left() -> int:
        return fits - len(bench.fits) if bench.spent < seconds else 0

    plain = fit_scheme(bench, Scheme())
    assert plain is not None
    yield from _memberships(bench, plain)
    if _good_enough(bench):
        return
    for order in [bench.settings.order, *(order for order in (1, 2) if order != bench.settings.order)]:
        for tries in (partial(_follow_path, order=order, plain=plain), _feed_back):
            if _good_enough(bench) or left() < 1:
                return
            # Half of what is left is kept for what comes after.
            kept = left() // 2
            yield from tries(bench, left=lambda kept=kept: left() - kept)


def _memberships(bench: Bench, fitted: Fitted) -> Iterator[Point]:
    """Measure a fit with posterior membership and, if that is not enough, with ever more of the prior one."""
    given = measure_point(bench, fitted, 0.0)
    yield given
    if _settles(given) or not has_membership(fitted.posterior):
        return
    free = measure_point(bench, fitted, 1.0)
    yield free
    if not _settles(free):
        return
    codes = bench.job.view.patterns.codes
    breaking = find_breaking(bench, given)
    tried: list[Any] = [np.isin(codes, np.unique(codes[breaking])).astype(np.float64)]
    for by_prior in chain(tried, np.arange(0.1, 1.0, 0.1).round(1)):
        # What cannot do is seen from the two points that are known, without drawing a table.
        foreseen = mix_measured(given.measured, free.measured, by_prior)
        share = np.broadcast_to(by_prior, codes.shape)
        judged = judge_measured(bench, foreseen, np.array(share, dtype=np.float64))
        if np.mean(by_prior) < 1 and all(verdict.met for verdict in judged if verdict.target.is_risk):
            point = measure_point(bench, fitted, by_prior)
            yield point
            if _settles(point) and by_prior is not tried[0]:
                return


def _follow_path(bench: Bench, left: Callable[[], int], *, order: int, plain: Fitted) -> Iterator[Point]:
    """Find by bisection the least strength of the weights that meets the targets."""
    fails, meets, strength, nearest = 0.0, None, 0.5, plain
    while left() > 0 and (meets is None or meets - fails > 0.1):
        fitted = fit_scheme(bench, along_path(order, strength), start=nearest)
        if fitted is None:
            meets = strength if meets is None else meets
        else:
            nearest = fitted
            points = list(_memberships(bench, fitted))
            yield from points
            if any(map(_settles, points)):
                meets = strength
            else:
                fails = strength
        if meets is None and fails >= 1.75:
            return
        strength = (fails + meets) / 2 if meets is not None else fails + (0.5 if fails < 1 else 0.25)


def _feed_back(bench: Bench, left: Callable[[], int]) -> Iterator[Point]:
    """From the best near miss on, weight down the records that break the targets, round by round.

    Once that does it, the same is tried in smaller steps, which distort less.
    """
    step = FEEDBACK
    while left() > 0 and step > FEEDBACK / 8 and not _good_enough(bench):
        points = list(_feed_rounds(bench, _near_miss(bench), step, left))
        yield from points
        if not any(map(_settles, points)):
            return
        step /= 2


def _feed_rounds(bench: Bench, near: Point | None, step: float, left: Callable[[], int]) -> Iterator[Point]:
    stuck = 0
    while near is not None and left() > 0 and stuck < 2:
        breaking = find_breaking(bench, near)
        if not breaking.any():
            return
        weights = weigh_down(
            near.fitted.weights,
            breaking,
            bench.job.view.patterns.codes,
            bench.values,
            radius=float(bench.job.view.radius[0]),
            floor=float(bench.job.view.floor[0]),
            step=step,
        )
        scheme = replace(near.fitted.scheme, rounds=near.fitted.scheme.rounds + 1, step=step)
        fitted = fit_scheme(bench, scheme, weights, near.fitted)
        if fitted is None:
            return
        points = list(_memberships(bench, fitted))
        yield from points
        if any(map(_settles, points)):
            return
        best = min(points, key=lambda point: point.gap)
        stuck = 0 if best.gap < near.gap else stuck + 1
        near = best


def _near_miss(bench: Bench) -> Point | None:
    """The point closest to the targets of those that would be worth it: no met point is nearer to the data."""
    best = min((bench.loss(point) for point in bench.points if point.usable), default=np.inf)
    missed = [
        point
        for point in bench.points
        if not _risks_met(point) and bench.loss(point) < best and point.fitted.scheme.rounds == 0
    ]
    return min(missed, key=lambda point: point.gap, default=None)


def _risks_met(point: Point) -> bool:
    """Whether the targets that moves can reach by lowering risk are met."""
    return all(verdict.met for verdict in point.judgements if verdict.target.subject not in ("U_m", "overlap"))


def _settles(point: Point) -> bool:
    """Whether nothing stronger is needed: the targets of risk are met, by a fit that has converged."""
    return point.fitted.converged and _risks_met(point)


def _good_enough(bench: Bench) -> bool:
    """Whether a point meets the targets and none nearer to the data can be expected, beyond the error of U_m.

    The unweighted synthesizer with posterior membership is as near as it gets, and a fresh sample is near enough.
    """
    usable = [point for point in bench.points if point.usable]
    if not usable:
        return False
    best, first = min(usable, key=lambda point: point.distance), bench.points[0]
    return bench.loss(best) - bench.loss(first) <= 2 * np.hypot(best.distance_error, first.distance_error)
