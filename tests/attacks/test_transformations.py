"""Avoidance and what can be turned back: hand-computed, and without an alarm where values are drawn."""

import numpy as np
import pytest

from agreement import assert_rate_at_most
from molehill.attacks.transformations import avoided, in_radii, permute_within, turned_back

NAN = float("nan")


def ends(truth, radius=0.2):
    return truth - radius * np.abs(truth), truth + radius * np.abs(truth)


def test_a_radius_is_one_on_the_scale_of_radii():
    values = np.array([1000.0, 1.0, -50.0, 0.0])
    steps = in_radii(values * 1.01, 0.2, 0.0, 0.5) - in_radii(values, 0.2, 0.0, 0.5)
    # A hundredth of the value is a twentieth of the radius.
    assert steps[:3] == pytest.approx(np.log(1.01) / 0.2 * np.array([1, 1, -1]))
    assert steps[3] == 0
    assert in_radii(np.array([3.0, 6.0]), 0.0, 3.0, 1.0).tolist() == [1.0, 2.0]
    assert np.isfinite(in_radii(np.array([1e300, -1e-300]), 0.2, 0.0, 1e-300)).all()
    # Below floor / radius the radius is the floor; the scale has no gap there.
    scale = in_radii(np.linspace(1, 100, 500), 0.2, 5.0, 1.0)
    assert (np.diff(scale) > 0).all()
    assert np.diff(scale).max() < 1.01 * 99 / 499 / 5


def test_avoidance_by_hand():
    truth = np.array([100.0, 110.0, 105.0, 500.0])
    # Row 0 has a close value (105), row 1 an equal one, which is not counted, row 2 a far one.
    released = np.array([[105.0, 110.0, 500.0, 108.0]])
    found = avoided(truth, released, np.zeros(4, dtype=int), *ends(truth))
    # O = 1/4. Of three others: row 0 has 110 and 108; row 1 105 and 108; row 2 110 and 108, not 105; row 3 none.
    assert found.value == pytest.approx(1 - (1 / 4) / ((2 / 3 + 2 / 3 + 2 / 3 + 0) / 4))


def test_the_smaller_of_pattern_and_whole_is_what_is_expected():
    truth = np.array([100.0, 101.0, 500.0, 501.0])
    swapped = np.array([[500.0, 501.0, 100.0, 101.0]])
    # In the pattern nobody's value is close; in the whole one of three others' would be.
    patterns = np.array([0, 0, 1, 1])
    assert np.isnan(avoided(truth, swapped, patterns, *ends(truth)).value)
    assert avoided(truth, swapped, np.zeros(4, dtype=int), *ends(truth)).value == 1.0
    assert avoided(truth, swapped, np.full(4, 100, dtype=np.int8), *ends(truth)).value == 1.0
    # Who is alone in the pattern is compared with everybody, and missing values take no part.
    assert avoided(truth, swapped, np.arange(4), *ends(truth)).value == 1.0
    gone = np.array([100.0, 101.0, NAN, NAN])
    assert np.isnan(avoided(gone, np.full((2, 4), NAN), patterns, *ends(gone)).value)


def test_permuted_records_are_others_of_the_pattern():
    patterns = np.array([0, 0, 0, 1, 1, 2])
    for seed in range(20):
        given = permute_within((np.zeros(6, dtype=int), patterns), np.arange(6), np.random.default_rng(seed))
        assert (given != np.arange(6)).all()
        assert (patterns[given[:5]] == patterns[:5]).all()
    # Who does not take part is given to nobody.
    here = np.array([0, 2, 3, 4, 5])
    assert 1 not in permute_within((patterns,), here, np.random.default_rng(0))[here]
    # Of several groupings the last one counts in which a record is not alone.
    given = permute_within((np.zeros(6, dtype=int), patterns // 2, patterns), np.arange(6), np.random.default_rng(0))
    assert patterns[given].tolist()[3:5] == [1, 1]
    assert given[5] != 5


def people(random, number=300):
    score = random.normal(size=number)
    return score, np.exp(10 + 0.6 * score + 0.4 * random.normal(size=number))


def units(*values):
    return (in_radii(one, 0.2, 0.0, 1.0) for one in values)


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("factors", lambda pay, coin: pay * np.where(coin < 0.5, 1.265, 1 / 1.265)),
        ("map", lambda pay, _: 3 * pay**0.8),
        ("map", lambda pay, _: 1e9 / pay),
    ],
)
def test_what_is_moved_by_a_rule_is_turned_back(how, change):
    random = np.random.default_rng(4)
    _, pay = people(random)
    truth, released = units(pay, change(pay, random.random(300))[None])
    found = turned_back(truth, released, np.zeros(300, dtype=int), seed=1)[how]
    assert found.risk.value > 0.8
    assert found.risk.low > 0.7


@pytest.mark.parametrize("datasets", [1, 6])
def test_draws_from_the_model_are_not_turned_back_nor_avoid_the_truth(datasets):
    """However much the score tells: with several datasets, a true value is like one more draw."""
    turned, away, runs = 0, 0, 60
    for run in range(runs):
        random = np.random.default_rng(run)
        score, pay = people(random)
        # With one dataset no more can be told than that the score tells something.
        tells, spread = (0.6, 0.4) if datasets > 1 else (0.0, 0.7)
        made = np.exp(10 + tells * score + spread * random.normal(size=(datasets, 300)))
        truth, released = units(pay, made)
        patterns = random.integers(6, size=300)
        found = turned_back(truth, released, patterns, seed=run)
        turned += any(one.risk.low > 0 and one.risk.value > 0.1 for one in found.values())
        figure = avoided(pay, made, patterns, *ends(pay))
        away += figure.low > 0 and figure.value > 0.5
    assert_rate_at_most(turned, runs, 0.05, detects=0.4)
    assert_rate_at_most(away, runs, 0.05, detects=0.4)


def test_of_few_people_nothing_is_learned():
    random = np.random.default_rng(1)
    assert turned_back(random.random(30), random.random((2, 30)), np.zeros(30, dtype=int), seed=1) == {}
    assert turned_back(np.full(60, NAN), random.random((2, 60)), np.zeros(60, dtype=int), seed=1) == {}
