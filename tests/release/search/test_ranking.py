"""Which point is the best, of points whose figures are given."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from molehill.release.search.ranking import decide_points, rank_points


def point(number, *, risk=0.1, error=0.001, distance=0.01, lost=0.0, overlap=0.9, told=1.0, **more) -> Any:
    met, converged, gap = more.get("met", True), more.get("converged", True), more.get("gap", 0.0)
    figures = {"told": (told, 0.0)}
    shown = {"mean of pay": overlap}
    measured = SimpleNamespace(mean=(risk, error), lost=np.array([lost, lost]), overlaps=shown, figures=figures)
    about = {"met": met, "usable": met and converged, "gap": gap, "distance": distance, "distance_error": 0.001}
    return SimpleNamespace(number=number, measured=measured, **about)


def bench_of(*points, rules_risk=False) -> Any:
    """A fresh sample has U_m 0.02, and its pairs differ by 0.05."""
    bench: Any = SimpleNamespace(points=list(points), rules_risk=rules_risk, fresh=0.02, fresh_agreement=950.0)
    bench.loss = lambda one: max(one.distance, 0.02)
    return bench


def ranked(*points, rules_risk=False) -> list[int]:
    return [one.number for one in rank_points(bench_of(*points, rules_risk=rules_risk))]


def decided(*points, rules_risk=False) -> list[tuple[bool, str]]:
    bench = bench_of(*points, rules_risk=rules_risk)
    frame = decide_points(bench, rank_points(bench)[0])
    return list(zip(frame["keeps_as_much"], frame["decided_by"], strict=True))


@pytest.mark.parametrize(
    ("less", "kept"),
    [
        ({"lost": 0.004}, True),
        ({"lost": 0.006}, False),
        ({"distance": 0.0225}, True),
        ({"distance": 0.024}, False),
        ({"overlap": 0.76}, True),
        ({"overlap": 0.74}, False),
        ({"told": 2.4}, True),
        ({"told": 2.6}, False),
    ],
)
def test_without_a_rule_the_safest_of_those_that_keep_as_much_is_best(less, kept):
    """A tenth of what a fresh sample differs by is no loss, or twice the error; nor is 0.15 of an overlap."""
    assert ranked(point(0, risk=0.2), point(1, risk=0.1, **less))[0] == (1 if kept else 0)


def test_of_those_that_are_as_safe_the_first_distorts_least():
    # Twice the error of the difference is 0.0028.
    assert ranked(point(0, risk=0.1025), point(1, risk=0.1)) == [0, 1]
    assert ranked(point(0, risk=0.1035), point(1, risk=0.1)) == [1, 0]
    assert ranked(point(0, risk=0.15), point(1, risk=0.1025), point(2, risk=0.1)) == [1, 2, 0]


def test_under_a_rule_what_loses_least_is_best_and_of_those_alike_the_least_risky():
    near, far = point(0, risk=0.2, distance=0.03), point(1, risk=0.1, distance=0.04)
    assert ranked(far, near, rules_risk=True) == [0, 1]
    # Both are nearer than a fresh sample: nothing is lost.
    assert ranked(point(0, risk=0.2, distance=0.005), point(1, risk=0.1, distance=0.019), rules_risk=True) == [1, 0]


def test_what_has_not_converged_comes_last_and_without_any_that_meets_the_closest_first():
    assert ranked(point(0, risk=0.1, converged=False), point(1, risk=0.3), rules_risk=True) == [1, 0]
    missed = [point(0, met=False, gap=0.3), point(1, met=False, gap=0.1)]
    assert ranked(*missed, rules_risk=True) == [1, 0]


def test_every_point_has_the_criterion_that_decided():
    """The safest of all keeps less in what users compute: the demo's sixth candidate was said to keep as much."""
    points = [point(0, risk=0.0249), point(1, risk=0.0245, overlap=0.609), point(2, risk=0.03)]
    points += [point(3, risk=0.01, lost=0.1, distance=0.1, told=9.0), point(4, risk=0.0251), point(5, converged=False)]
    assert decided(*points) == [
        (True, "chosen"),
        (False, "overlap"),
        (True, "risk"),
        (False, "agreement, distance, classifier"),
        (True, "order"),
        (True, "convergence"),
    ]
    bench = bench_of(*points)
    why = decide_points(bench, points[0])["decided_why"]
    assert why[1] == "smallest interval overlap 0.609, 0.750 needed"
    assert why[2] == "mean expected risk 0.0300, 0.0249 for the chosen one"


def test_under_a_rule_the_distance_decides_and_then_the_risk():
    points = [point(0, risk=0.2, distance=0.03), point(1, risk=0.1, distance=0.04), point(2, met=False, gap=0.1)]
    points += [point(3, risk=0.3, distance=0.0305)]
    assert [ids for _, ids in decided(*points, rules_risk=True)] == ["chosen", "distance", "targets", "risk"]
    assert [ids for _, ids in decided(point(0, met=False, gap=0.3), point(1, met=False, gap=0.1))] == [
        "targets",
        "closest",
    ]


def test_what_ranks_above_the_chosen_one_had_no_luck_in_its_draws():
    points = [point(0, risk=0.1), point(1, risk=0.3)]
    bench = bench_of(*points, rules_risk=True)
    assert list(decide_points(bench, points[1])["decided_by"]) == ["draws", "chosen"]
