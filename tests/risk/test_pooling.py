"""The intruder who pools the tables: by hand, and against a plain transcription."""

import numpy as np
import pandas as pd
import pytest

from molehill.risk.attacks import middle, most_frequent, pooled_risk
from molehill.risk.identification import release_risk

DATA = pd.DataFrame({"town": ["A"] * 3 + ["B"], "pay": [100.0, 110.0, 900.0, 50.0]})


def tables(*columns):
    return [DATA.assign(pay=list(map(float, column))) for column in columns]


def test_noise_that_differs_from_table_to_table_averages_out():
    # Each table hides two of three; the medians are 100, 110, 900, so that pooling finds all.
    released = tables((100, 300, 100, 70), (500, 110, 900, 51), (90, 104, 950, 48))
    found = pooled_risk(DATA, released, known="town", sensitive="pay", radius=0.05)
    assert found.risk == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1.0])
    assert found.mean.value == pytest.approx(0.75)
    apart = release_risk(DATA, released, known="town", sensitive="pay", radius=0.05)
    assert found.mean.value > apart.realised.mean()


def test_one_table_pooled_is_that_table():
    released = tables((104, 300, 890, 50))
    settings = {"known": "town", "sensitive": "pay", "radius": 0.05}
    found = pooled_risk(DATA, released, **settings)
    assert found.risk == pytest.approx(release_risk(DATA, released, **settings).realised)
    assert np.isnan(found.mean.low)
    # Alone within 5% of 100 is the first record, of 110 nobody, of 900 the third, of 50 the fourth.
    assert found.right_picks.value == pytest.approx(3 / 4)
    assert pooled_risk(DATA, released, singletons="formula", **settings).risk[3] == 0


def test_chances_are_added_over_the_tables():
    # Around 100 +- 10: tables 1 and 2 hold the first two records each, table 3 the second alone. Chances 1/2 + 1/2
    # against 1/2 + 1/2 + 1: the second is picked, wrongly for the first. Around 110 +- 11 the same two, in table 3 the
    # second alone: rightly. 900 is never near: no pick. 50 is close once: picked.
    released = tables((105, 100, 500, 0), (102, 108, 500, 0), (300, 109, 500, 50))
    found = pooled_risk(DATA, released, known="town", sensitive="pay", radius=0.1)
    assert found.right_picks.value == pytest.approx((0 + 1 + 0 + 1) / 4)
    assert found.targets == 4


def test_a_tie_is_broken_at_random():
    found = pooled_risk(DATA, tables((105, 100, 500, 0), (105, 100, 500, 0)), known="town", sensitive="pay", radius=0.1)
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
    found = pooled_risk(data, released, known="town", sensitive=["pay", "job"], radius=0.2)
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
    settings = {"known": "town", "sensitive": "pay", "radius": 0.1}
    everything = pooled_risk(data, released, **settings)
    monkeypatch.setattr("molehill.risk.attacks._MOST_COMPARISONS", 300 * 300)
    some = pooled_risk(data, released, **settings)
    assert (everything.targets, some.targets) == (300, 100)
    share = everything.right_picks.value
    assert some.right_picks.value == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / 100))


def test_records_are_followed_by_their_key():
    keyed = DATA.assign(id=[7, 8, 9, 10])
    released = [keyed.assign(pay=pay).iloc[order] for pay, order in (([101, 111, 905, 51], [3, 1, 0, 2]),) * 2]
    found = pooled_risk(keyed, released, known="town", sensitive="pay", radius=0.05, key="id")
    assert found.risk == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1.0])
    # Who is in one table only counts there; who is in none is not found.
    fewer = [released[0], released[1][released[1]["id"] != 9].copy()]
    assert pooled_risk(keyed, fewer, known="town", sensitive="pay", radius=0.05, key="id").risk[2] == pytest.approx(
        2 / 3
    )
    none = [table[table["id"] != 9] for table in released]
    found = pooled_risk(keyed, none, known="town", sensitive="pay", radius=0.05, key="id")
    assert found.risk == pytest.approx([1 / 2, 1 / 2, 0.0, 1.0])


def test_a_record_without_a_value_takes_no_part():
    data = DATA.assign(pay=[100.0, np.nan, 900.0, 50.0])
    found = pooled_risk(data, [data, data], known="town", sensitive="pay", radius=0.1, missing="keep")
    assert np.isnan(found.risk[1])
    assert found.risk[[0, 2]] == pytest.approx([1 / 2, 1 / 2])
    assert found.right_picks.value == 1
    assert (found.mean.value, found.targets) == (pytest.approx((0.5 + 0.5 + 1) / 3), 3)


def test_the_most_frequent_and_the_middle():
    codes = np.array([[1, 5, -1, 3], [1, 4, -1, -1], [2, 4, -1, -1], [2, 5, -1, -1]])
    assert most_frequent(codes).tolist() == [1, 4, -1, 3]
    values = np.array([[1.0, 9.0, 7.0], [5.0, 9.0, 7.0], [3.0, 2.0, 7.0], [4.0, 9.0, 7.0]])
    present = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)
    assert middle(values, present).tolist() == [3.5, 5.5, 0.0]
    assert middle(values, np.ones((4, 3), dtype=bool)).tolist() == [3.5, 9.0, 7.0]
