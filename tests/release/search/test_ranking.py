"""Which point is the best, of points whose figures are given."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from molehill.release.search.ranking import rank_points


def point(number, *, risk=0.1, error=0.001, distance=0.01, lost=0.0, overlap=0.9, told=1.0, **more):
    met, converged, gap = more.get("met", True), more.get("converged", True), more.get("gap", 0.0)
    figures = {"told": (told, 0.0)}
    shown = {"mean of pay": overlap}
    measured = SimpleNamespace(mean=(risk, error), lost=np.array([lost, lost]), overlaps=shown, figures=figures)
    about = {"met": met, "usable": met and converged, "gap": gap, "distance": distance, "distance_error": 0.001}
    return SimpleNamespace(number=number, measured=measured, **about)


def ranked(*points, rules_risk=False) -> list[int]:
    """A fresh sample has U_m 0.02, and its pairs differ by 0.05."""
    bench: Any = SimpleNamespace(points=list(points), rules_risk=rules_risk, fresh=0.02, fresh_agreement=950.0)
    bench.loss = lambda one: max(one.distance, 0.02)
    return [one.number for one in rank_points(bench)]


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
