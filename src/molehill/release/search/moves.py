"""What a search tries, and in which order: from what distorts least on, until a point is good enough.

Conditioning on less comes before all: see `molehill.plan.plan.complete_settings`. Then forests that tell fewer records
apart, one by one; or of a mixture membership, where settings ask for the paper's, which needs no new fit (the number of
components is found by every fit itself); then weights along a path of strength, by bisection; then feedback to single
records. `molehill.release.schemes` says what each is. Without a rule on risk all parts of a forest are tried, and
nothing else. Before the search stops for a point, that is confirmed with fresh draws.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from molehill.errors import InputError
from molehill.release.schemes import FEEDBACK, Scheme, along_path, weigh_down, with_prior_membership
from molehill.release.search.points import (
    Bench,
    Fitted,
    Point,
    confirm_point,
    find_breaking,
    fit_scheme,
    measure_point,
    try_several,
)
from molehill.release.search.ranking import rank_points


def try_moves(bench: Bench) -> Iterator[Point]:
    """Try moves, the least distorting first, and give every point as it is measured."""
    fits, seconds = bench.settings.max_fits, bench.settings.max_seconds or np.inf

    def left() -> int:
        return fits - len(bench.fits) if bench.spent < seconds else 0

    settings = bench.settings
    fixed = settings.method != "auto"
    if bench.job.leaves:
        yield from _part_less(bench, left)
        # Weights lower a risk that is too high, and nothing else.
        missed = [point for point in bench.points if not _risks_met(point)]
        if missed and not any(point.usable for point in bench.points):
            yield from _weigh(bench, min(missed, key=lambda point: point.gap).fitted, left)
        return
    plain = fit_scheme(
        bench, Scheme(settings.risk_order, settings.weight_scale, settings.weight_shift) if fixed else Scheme()
    )
    if plain is None:
        raise InputError("weight_scale", "every record has weight 0", "Use a larger scale or shift, or a higher order")
    # What settings fix is a search with one point.
    points = [measure_point(bench, plain)] if fixed else _memberships(bench, plain)
    yield from points
    if not fixed and not _good_enough(bench):
        yield from _weigh(bench, plain, left)


def _part_less(bench: Bench, left: Callable[[], int]) -> Iterator[Point]:
    """Measure forests that tell fewer and fewer records apart; with a rule on risk, until it is kept."""
    points = try_several(bench, [Scheme(leaf=leaf) for leaf in bench.job.leaves[: max(left(), 1)]])
    for point in points:
        if point is None:
            return
        yield point
        settled = bench.rules_risk and _settles(point) and _settles(confirm_point(bench, point))
        if settled or left() < 1:
            return


def _weigh(bench: Bench, plain: Fitted, left: Callable[[], int]) -> Iterator[Point]:
    """Weight records down, along the path of strength and then one by one, by one order of risk after the other."""
    settings = bench.settings
    for order in [settings.risk_order, *(order for order in (1, 2) if order != settings.risk_order)]:
        for tries in (partial(_follow_path, order=order, plain=plain), _feed_back):
            if _good_enough(bench) or left() < 1:
                return
            # Half of what is left is kept for what comes after.
            kept = left() // 2
            yield from tries(bench, left=lambda kept=kept: left() - kept)


def _memberships(bench: Bench, fitted: Fitted) -> Iterator[Point]:
    """Measure a fit and, if components are drawn given the true values and that is not enough, without these."""
    given = measure_point(bench, fitted)
    yield given
    free = with_prior_membership(fitted.posterior)
    if free is not None and not _settles(given):
        yield measure_point(bench, fitted, free)


def _follow_path(bench: Bench, left: Callable[[], int], *, order: int, plain: Fitted) -> Iterator[Point]:
    """Find by bisection the least strength of the weights that meets the targets."""
    fails, meets, strength, nearest = 0.0, None, 0.5, plain
    while left() > 0 and (meets is None or meets - fails > 0.1):
        fitted = fit_scheme(bench, along_path(order, strength, plain.scheme.leaf), start=nearest)
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
    stuck, view = 0, bench.job.view
    while near is not None and left() > 0 and stuck < 2:
        breaking = find_breaking(bench, near)
        if not breaking.any():
            return
        weights = weigh_down(near.fitted.weights, breaking, view, step)
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
    return all(verdict.met for verdict in point.judgements if not verdict.target.is_utility)


def _settles(point: Point) -> bool:
    """Whether nothing stronger is needed: the targets of risk are met, by a fit that has converged."""
    return point.fitted.converged and _risks_met(point)


def _good_enough(bench: Bench) -> bool:
    """Whether a confirmed point meets the targets and none nearer to the data can be expected, beyond the error of U_m.

    The first point is as near as it gets, and a fresh sample is near enough.
    """
    while (best := rank_points(bench)[0]).usable:
        first = bench.points[0]
        if bench.loss(best) - bench.loss(first) > 2 * np.hypot(best.distance_error, first.distance_error):
            return False
        # What is not confirmed is not met any more, and another is the best.
        if confirm_point(bench, best).usable:
            return True
    return False
