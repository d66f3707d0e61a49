"""Released values that end like the true ones: by hand, and where there is nothing to find."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate
from molehill.attacks.digits import shared_digits
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import score
from molehill.evaluation.verdict import judge
from molehill.risk.intruder import Intruder


def amounts(random, number):
    return random.lognormal(10.5, 0.6, number).round()


def test_endings_are_counted_by_hand():
    truth = np.arange(20_000, 20_100).astype(np.float64)
    released = truth.copy()
    released[:10] += 3_000
    released[10:20] += 300
    released[20:] += 1
    hundred, thousand, ten_thousand = shared_digits(truth, released[None], 1.0)
    assert (hundred.step, thousand.step, ten_thousand.step) == (100, 1_000, 10_000)
    assert (hundred.rate.value, thousand.rate.value, ten_thousand.rate.value) == (0.2, 0.1, 0)
    # Every ending of two digits is that of one person in a hundred.
    assert hundred.baseline.value == pytest.approx(0.01)
    assert shared_digits(truth[:40], released[None, :40], 1.0) == []
    assert shared_digits(truth, released[None], 0.0) == []


def test_round_amounts_and_copies_show_nothing():
    random = np.random.default_rng(1)
    truth = np.where(random.random(2_000) < 0.5, 1_000 * random.integers(10, 90, 2_000), amounts(random, 2_000))
    released = np.where(random.random(2_000) < 0.5, 1_000.0 * random.integers(10, 90, 2_000), amounts(random, 2_000))
    assert all(not one.gain.low > 0 for one in shared_digits(truth, released[None], 1.0))
    assert all(one.rate.value == 0 for one in shared_digits(truth, truth[None], 1.0))


def test_values_of_a_model_end_like_the_true_ones_as_often_as_chance_has_it():
    random = np.random.default_rng(2)
    alarms = 0
    for _ in range(400):
        found = shared_digits(amounts(random, 300), np.array([amounts(random, 300) for _ in range(3)]), 1.0)
        alarms += found[0].gain.low > 0
    assert_rate(alarms, 400, 0.025, detects=0.1)


def test_a_release_that_keeps_the_last_digits_is_not_recommended():
    random = np.random.default_rng(3)
    data = pd.DataFrame({"sex": random.choice(["f", "m"], 400), "income": amounts(random, 400)})
    new = [amounts(random, 400) for _ in range(5)]
    released = [data.assign(income=1_000 * (one // 1_000) + data["income"] % 1_000) for one in new]
    intruder = Intruder(known="sex", sensitive="income", radius=0.2)
    found = evaluate(
        data,
        released,
        intruder,
        EvaluationOptions(measures=[one for one in MEASURES if one.part_of == "digits"], analyses=[], progress=False),
    )
    [rated] = [one for one in score(found) if one.family == "identity"]
    assert rated.colour == "red"
    assert "by a multiple of" in rated.why
    assert judge(found).decision == "do not release"
