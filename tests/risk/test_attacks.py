"""Intruders who pool the tables, or guess a value from them: by hand, and against plain transcriptions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_mean, spread_error, standard_error
from molehill import InputError
from molehill.risk.attacks import guess_values, middle, most_frequent, pooled_risk
from molehill.risk.identification import release_risk
from molehill.risk.intruder import Intruder

NEIGHBOUR = Intruder(known="town", sensitive="pay", radius=0.1)
NEAR = replace(NEIGHBOUR, radius=0.05)
CLERK = Intruder(known="town", sensitive="job")
DATA = pd.DataFrame({"town": ["A"] * 3 + ["B"], "pay": [100.0, 110.0, 900.0, 50.0]})


def tables(*columns):
    return [DATA.assign(pay=list(map(float, column))) for column in columns]


def test_noise_that_differs_from_table_to_table_averages_out():
    # Each table hides two of three; the medians are 100, 110, 900, so that pooling finds all.
    released = tables((100, 300, 100, 70), (500, 110, 900, 51), (90, 104, 950, 48))
    found = pooled_risk(DATA, released, NEAR)
    assert found.risk.tolist() == [1.0] * 4
    by_paper = pooled_risk(DATA, released, replace(NEAR, count_self=True))
    assert by_paper.risk == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1.0])
    assert by_paper.mean.value == pytest.approx(0.75)
    apart = release_risk(DATA, released, NEAR)
    assert found.mean.value > apart.realised.mean()


def test_one_table_pooled_is_that_table():
    released = tables((104, 300, 890, 50))
    found = pooled_risk(DATA, released, NEAR)
    assert found.risk == pytest.approx(release_risk(DATA, released, NEAR).realised)
    assert np.isnan(found.mean.low)
    # Alone within 5% of 100 is the first record, of 110 nobody, of 900 the third, of 50 the fourth.
    assert found.right_picks.value == pytest.approx(3 / 4)


def test_chances_are_added_over_the_tables():
    # Around 100 +- 10: tables 1 and 2 hold the first two records each, table 3 the second alone. Chances 1/2 + 1/2
    # against 1/2 + 1/2 + 1: the second is picked, wrongly for the first. Around 110 +- 11 the same two, in table 3 the
    # second alone: rightly. 900 is never near: no pick. 50 is close once: picked.
    released = tables((105, 100, 500, 0), (102, 108, 500, 0), (300, 109, 500, 50))
    found = pooled_risk(DATA, released, NEIGHBOUR)
    assert found.right_picks.value == pytest.approx((0 + 1 + 0 + 1) / 4)
    assert found.targets == 4


def test_a_tie_is_broken_at_random():
    found = pooled_risk(DATA, tables((105, 100, 500, 0), (105, 100, 500, 0)), NEIGHBOUR)
    assert found.right_picks.value == pytest.approx((0.5 + 0.5) / 4)


@pytest.mark.parametrize("changed", [False, True])
def test_picks_against_a_plain_loop(changed):
    random = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "town": random.choice(["A", "B", "C"], 60),
            "job": random.choice(["x", "y"], 60),
            "pay": random.lognormal(3, 0.5, 60),
        }
    )
    released = []
    for _ in range(4):
        table = data.assign(pay=data["pay"] * np.exp(random.normal(0, 0.2, 60)), job=random.permutation(data["job"]))
        # Another maker may change the known columns, too.
        released.append(table.assign(town=np.where(random.random(60) < 0.2, "A", table["town"])) if changed else table)
    found = pooled_risk(data, released, Intruder(known="town", sensitive=["pay", "job"], radius=0.2))
    right = 0.0
    for i in range(60):
        score = np.zeros(60)
        for table in released:
            close = (
                (table["town"] == data["town"][i])
                & (table["job"] == data["job"][i])
                & (abs(table["pay"] - data["pay"][i]) <= 0.2 * data["pay"][i])
            ).to_numpy()
            score += close / max(close.sum(), 1)
        best = np.isclose(score, score.max()) & (score > 0)
        right += best[i] / max(best.sum(), 1)
    assert found.right_picks.value == pytest.approx(right / 60)


def test_large_tables_are_sampled_evenly(monkeypatch):
    random = np.random.default_rng(6)
    data = pd.DataFrame({"town": "A", "pay": random.lognormal(3, 0.5, 300)})
    released = [data.assign(pay=data["pay"] * np.exp(random.normal(0, 0.1, 300))) for _ in range(3)]
    everything = pooled_risk(data, released, NEIGHBOUR)
    monkeypatch.setattr("molehill.risk.attacks._MOST_COMPARISONS", 300 * 300)
    some = pooled_risk(data, released, NEIGHBOUR)
    assert (everything.targets, some.targets) == (300, 100)
    share = everything.right_picks.value
    assert_agrees(some.right_picks.value, share, np.sqrt(share * (1 - share) / 100), detects=0.2)


def test_records_are_followed_by_their_key():
    keyed = DATA.assign(id=[7, 8, 9, 10])
    released = [keyed.assign(pay=pay).iloc[order] for pay, order in (([101, 111, 905, 51], [3, 1, 0, 2]),) * 2]
    found = pooled_risk(keyed, released, NEAR, key="id")
    assert found.risk.tolist() == [1.0] * 4
    # Who is in one table only counts there; who is in none is not found.
    fewer = [released[0], released[1][released[1]["id"] != 9].copy()]
    assert pooled_risk(keyed, fewer, NEAR, key="id").risk[2] == 1.0
    none = [table[table["id"] != 9] for table in released]
    found = pooled_risk(keyed, none, NEAR, key="id")
    assert found.risk == pytest.approx([1.0, 1.0, 0.0, 1.0])


def test_a_record_without_a_value_is_not_pooled():
    data = DATA.assign(pay=[100.0, np.nan, 900.0, 50.0])
    found = pooled_risk(data, [data, data], replace(NEIGHBOUR, missing_values="keep"))
    assert np.isnan(found.risk[1])
    assert found.risk[[0, 2]].tolist() == [1.0, 1.0]
    assert found.right_picks.value == 1
    assert (found.mean.value, found.targets) == (1.0, 3)


def test_the_most_frequent_and_the_middle():
    codes = np.array([[1, 5, -1, 3], [1, 4, -1, -1], [2, 4, -1, -1], [2, 5, -1, -1]])
    assert most_frequent(codes).tolist() == [1, 4, -1, 3]
    values = np.array([[1.0, 9.0, 7.0], [5.0, 9.0, 7.0], [3.0, 2.0, 7.0], [4.0, 9.0, 7.0]])
    present = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)
    assert middle(values, present).tolist() == [3.5, 5.5, 0.0]
    assert middle(values, np.ones((4, 3), dtype=bool)).tolist() == [3.5, 9.0, 7.0]


PAY = pd.DataFrame({"town": ["A"] * 4 + ["B"], "pay": [100.0, 110.0, 120.0, 900.0, 0.0]})


def values(gain):
    """With the record, without it, and the gain."""
    return [gain.own.value, gain.without.value, gain.gain.value]


def test_one_table_by_hand():
    released = PAY.assign(pay=[105.0, 300.0, 125.0, 890.0, 10.0])
    found: Any = guess_values(PAY, released, NEIGHBOUR)
    # Own values are within 10% for the records 1, 3 and 4.
    assert found.own.tolist() == [[1, 0, 1, 1, 0]]
    # Of the others of town A, 105 is right for the second, one of three; of B there is no other, and none of all is 0.
    assert found.without == pytest.approx(np.array([[0, 1 / 3, 0, 0, 0]]))
    assert values(found.right) == pytest.approx([3 / 5, 1 / 15, 3 / 5 - 1 / 15])
    # Errors .05, 1 (190/110, cut), 5/120, 10/900, and 1 for a wrong guess of zero.
    own = (0.05 + 1 + 5 / 120 + 10 / 900 + 1) / 5
    # The means over the others: 1 (cut), .25, 1; 5/110, 15/110, 1; 15/120, 1, 1; 795/900, 600/900, 775/900; 1.
    without = (2.25 / 3 + (20 / 110 + 1) / 3 + (2 + 15 / 120) / 3 + 2170 / 900 / 3 + 1) / 5
    assert values(found.error) == pytest.approx([own, without, without - own])
    assert found.pooled is None
    assert np.isnan([found.right.own.low, found.right.gain.high, found.error.without.low]).all()
    assert repr(found) == "Guesses(pay: 60.0% correct, 6.7% without)"


def test_a_right_guess_of_zero_has_no_error():
    found: Any = guess_values(PAY, PAY, NEIGHBOUR)
    assert found.error.own.value == 0
    assert found.right.own.value == 1


def test_several_tables_are_averaged_and_pooled():
    released = [PAY.assign(pay=[pay, 0.0, 0.0, 0.0, 0.0]) for pay in (100.0, 104.0, 500.0)]
    found: Any = guess_values(PAY, released, NEIGHBOUR)
    # The first record is within the radius in two tables of three, and its median is; the fifth always is.
    assert found.right.own.value == pytest.approx((2 / 3 + 1) / 5)
    # The medians are 104 and 0: of the others one in three is right for the second, three in four for the fifth.
    without = (1 / 3 + 3 / 4) / 5
    assert values(found.pooled) == pytest.approx([2 / 5, without, 2 / 5 - without])
    _, low, high = found.right.own
    assert 0 <= low < (2 / 3 + 1) / 5 < high <= 1


def test_a_categorical_column_by_hand():
    data = pd.DataFrame({"town": ["A"] * 4 + ["B"] * 2, "job": ["x", "x", "y", "z", "x", "y"]})
    released = data.assign(job=["x", "y", "y", "new", "y", "y"])
    found: Any = guess_values(data, released, CLERK)
    assert found.own.tolist() == [[1, 0, 1, 0, 0, 1]]
    # Others of A: none of y, y, new is x; one of x, y, new; one of x, y, new is y; none is z. Of B: y is not x; y is y.
    assert found.without == pytest.approx(np.array([[0, 1 / 3, 1 / 3, 0, 0, 1]]))
    assert values(found.right) == pytest.approx([3 / 6, 5 / 18, 4 / 18])
    assert found.error is None
    pooled: Any = guess_values(data, [released, data, data], CLERK)
    assert pooled.pooled.own.value == 1


@pytest.mark.parametrize("changed", [False, True])
def test_guesses_without_the_record_against_a_plain_loop(changed):
    random = np.random.default_rng(2)
    pay = random.lognormal(3, 1, 50) * random.choice([-1, 0, 1, 1], 50)
    data = pd.DataFrame({"id": random.permutation(50), "town": random.choice(list("ABCDEFGH"), 50), "pay": pay})
    # Sums of values that are out of all proportion lose nothing of the others.
    released = data.assign(pay=[*random.permutation(pay).round(-1)[:48], 1e300, -1e300])
    if changed:
        released["town"] = np.where(random.random(50) < 0.3, "A", released["town"])
        released = released[released["id"] != 7]
    released = released.sample(frac=1, random_state=1)
    found: Any = guess_values(data, released, replace(NEIGHBOUR, radius=0.5), key="id")
    errors = []
    for i in range(50):
        truth = data["pay"][i]
        others = released[(released["town"] == data["town"][i]) & (released["id"] != data["id"][i])]["pay"]
        others = others if len(others) else released[released["id"] != data["id"][i]]["pay"]
        own = released[released["id"] == data["id"][i]]["pay"]
        for guesses, ours in ((own if len(own) else others, found.own), (others, found.without)):
            assert ours[0, i] == pytest.approx((abs(guesses - truth) <= 0.5 * abs(truth)).mean())
            wrong = np.minimum(abs(guesses - truth) / abs(truth), 1) if truth else guesses != truth
            errors.append(wrong.mean())
    own, without = np.mean(errors[::2]), np.mean(errors[1::2])
    assert values(found.error) == pytest.approx([own, without, without - own])


def test_nothing_is_gained_where_values_are_drawn_from_their_patterns():
    random = np.random.default_rng(21)
    town = random.integers(0, 12, 400)
    data = pd.DataFrame({"town": town, "pay": np.exp(random.normal(3, 0.8, 400)) * (1 + town)})
    gains: dict[str, list[float]] = {"right": [], "error": [], "pooled": []}
    for _ in range(60):
        tables = [data.assign(pay=np.exp(random.normal(3, 0.8, 400)) * (1 + town)) for _ in range(3)]
        found: Any = guess_values(data, tables, replace(NEIGHBOUR, radius=0.2))
        for name, values in gains.items():
            values.append(getattr(found, name).gain.value)
    # The median of the others would be right more often than a draw, by .09.
    for name, values in gains.items():
        assert_mean(values, 0.0, detects=0.025, of=name)
    # One record in ten as it is adds what is right of a tenth that would not have been.
    kept = random.random(400) < 0.1
    tables = [data.assign(pay=np.exp(random.normal(3, 0.8, 400)) * (1 + town)) for _ in range(3)]
    leaking = [table.assign(pay=np.where(kept, data["pay"], table["pay"])) for table in tables]
    assert guess_values(data, leaking, replace(NEIGHBOUR, radius=0.2)).right.gain.value > 0.05


def test_a_record_without_a_value_is_not_guessed():
    data = PAY.assign(pay=[100.0, np.nan, 120.0, 900.0, 0.0])
    found: Any = guess_values(data, [data, data], replace(NEIGHBOUR, missing_values="keep"))
    assert np.isnan(found.own[:, 1]).all()
    assert found.right.own.value == 1


def test_the_pooled_interval_is_that_of_independent_releases():
    random = np.random.default_rng(9)
    data = pd.DataFrame({"town": "A", "pay": random.lognormal(3, 0.5, 150)})
    factors = np.exp(random.normal(0, 0.5, (1000, 15, 150)))
    rates = (np.abs(np.median(factors, axis=1) - 1) <= 0.1).mean(axis=1)
    told = []
    for release in factors[:30]:
        tables = [data.assign(pay=data["pay"] * factor) for factor in release]
        found: Any = guess_values(data, tables, NEIGHBOUR)
        figure = found.pooled.own
        told.append((figure.high - figure.value) / 2.145)
    # Medians of resampled tables repeat themselves, so that the interval is a little short.
    error = np.hypot(standard_error(told) / np.mean(told), spread_error(rates))
    assert_agrees(np.log(np.mean(told) / rates.std()), 0.0, error, bias=np.log(1.2), detects=np.log(1.8))


def test_guesses_are_of_one_column():
    with pytest.raises(InputError, match="sensitive: attribution needs exactly one variable"):
        guess_values(DATA, DATA, Intruder(known=[], sensitive=["town", "pay"], radius=0.1))


def test_a_guess_is_compared_with_records_of_which_kept_variables_say_the_same():
    data = pd.DataFrame({"town": ["A"] * 4, "pay": [0.0, 0.0, 100.0, 110.0]})
    released = data.assign(pay=[0.0, 0.0, 105.0, 300.0])
    plain: Any = guess_values(data, released, NEIGHBOUR)
    assert plain.right.without.value == pytest.approx((1 / 3 + 1 / 3 + 0 + 1 / 3) / 4)
    # The first two cannot have a wage: of the others one guess of two is right.
    told: Any = guess_values(data, released, NEIGHBOUR, alike=np.array([0, 0, 1, 1]))
    assert (told.right.own.value, told.right.without.value) == (3 / 4, (1 + 1 + 0 + 1) / 4)
    # Alone in the town: another one of the group; alone in the group: anybody.
    towns = [one.assign(town=["A", "B", "A", "B"]) for one in (data, released)]
    own: Any = guess_values(towns[0], towns[1], NEIGHBOUR, alike=np.array([0, 0, 1, 2]))
    assert own.without[0].tolist() == pytest.approx([1, 1, 0, 1 / 3])
