"""Risk against hand-computed cases, the definition, the authors' numbers and its own laws."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import brute
from agreement import assert_mean, assert_rate_at_most
from molehill import InputError, confidential_risk, match_rates, release_risk, risk_weights
from molehill.risk.identification import matches_beyond_chance, risk_by_chance, risk_floor
from molehill.risk.intruder import Intruder
from properties import examples

NEIGHBOUR = Intruder(known=["town"], sensitive="pay", radius=0.1)


def neighbour(**changed):
    return replace(NEIGHBOUR, **changed)


def frame(pay, town: Any = "A"):
    return pd.DataFrame({"town": town, "pay": np.asarray(pay, dtype=float)})


def betty(close_by, own_close):
    """Thirteen records of one pattern, Betty first: how many released values lie near her true one."""
    confidential = np.r_[100.0, np.linspace(500, 900, 12)]
    others = np.full(12, 700.0)
    others[: close_by - own_close] = 105.0
    return frame(confidential), frame(np.r_[95.0 if own_close else 300.0, others])


@pytest.mark.parametrize(
    ("close_by", "own_close", "risk"),
    [(3, True, 10 / 13), (8, True, 5 / 13), (8, False, 0.0), (3, False, 0.0)],
)
def test_betty(close_by, own_close, risk):
    data, released = betty(close_by, own_close)
    result = release_risk(data, released, neighbour(count_self=True))
    assert result.realised[0] == pytest.approx(risk, abs=1e-15)
    assert result.is_close[0, 0] == own_close
    # The others are twelve.
    assert release_risk(data, released, NEIGHBOUR).realised[0] == pytest.approx(risk * 13 / 12, abs=1e-15)


def test_pairwise_by_hand():
    # The balls hold records {0, 1}, {0, 1, 2}, {1, 2} and {3}. What each pair leaves out, of four records:
    # 0 with 1, 2, 3: one each. 1 with 0, 2, 3: one, one, none. 2: one each. 3 with 0, 1, 2: one, none, one.
    result = confidential_risk(frame([100, 110, 120, 900]), neighbour(count_self=True), order=2)
    assert result.risk.tolist() == pytest.approx([1 / 4, 1 / 6, 1 / 4, 1 / 6], abs=1e-15)
    # The same of the two that are not of the pair.
    others = confidential_risk(frame([100, 110, 120, 900]), NEIGHBOUR, order=2)
    assert others.risk.tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 2, 1 / 3], abs=1e-15)
    assert result.pattern_size.tolist() == [4] * 4
    assert result.within.tolist() == [2, 3, 2, 1]


@st.composite
def tables(draw):
    rows = draw(st.integers(2, 11))
    pay = st.integers(-4, 12) if draw(st.booleans()) else st.floats(-1e5, 1e5)
    hours = st.integers(0, 5)
    record = st.tuples(st.sampled_from("AB"), st.sampled_from([1, 2, None]), pay, hours, st.sampled_from("xy"))
    rows = draw(st.lists(record, min_size=rows, max_size=rows))
    return pd.DataFrame(rows, columns=["town", "sex", "pay", "hours", "job"]).assign(
        sex=lambda f: f["sex"].fillna(9).astype(int), pay=lambda f: f["pay"].astype(float)
    )


SENSITIVE = st.sampled_from([["pay"], ["pay", "hours"], ["job"], ["pay", "job"], ["pay", "hours", "job"]])
COVER = st.booleans()
KINDS: dict[str, Any] = {"pay": "continuous", "hours": "count", "job": "categorical"}


def only(names):
    return {name: kind for name, kind in KINDS.items() if name in names}


RADII, FLOORS = st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 1.0])


@given(tables(), SENSITIVE, RADII, FLOORS, st.integers(1, 4), COVER)
@examples(60)
def test_closed_form_is_the_definition(data, sensitive, radius, floor, order, cover):
    if radius == floor == 0:
        radius = 0.2
    known = ["town", "sex"] if order < 3 else []
    expected = brute.confidential_risk(data, known, sensitive, radius, order, floor, {"job"}, cover)
    intruder = Intruder(
        known=known,
        sensitive=sensitive,
        radius=radius,
        min_radius=floor,
        count_self=cover,
        kinds=only(sensitive),
    )
    result = confidential_risk(data, intruder, order=order)
    # Who is alone is protected, also where the paper's formula would say 0 of 1.
    expected[np.isnan(expected) | (result.pattern_size == 1)] = 1.0
    # A share of three factors rounds about six times, and M = 5 of them are divided by M - k = 1: 30 times 1.1e-16.
    np.testing.assert_allclose(result.risk, expected, rtol=0, atol=4e-15)


# Several columns with gaps: a missing value is close to nothing but another one.

BOX = ("pay", "job", "rent", "hours", "home")
BOX_KINDS: dict[str, Any] = {**KINDS, "rent": "continuous", "home": "categorical"}
EXACT = {"job", "home"}


def gaps(values):
    return st.one_of(values, values, st.none())


@st.composite
def tables_with_gaps(draw, most=9):
    size = draw(st.integers(2, most))
    amount, job, home = gaps(st.integers(-3, 9)), gaps(st.sampled_from("xy")), gaps(st.sampled_from(["own", "let"]))
    record = st.tuples(st.sampled_from("AB"), amount, job, amount, gaps(st.integers(0, 4)), home)
    frame = pd.DataFrame(draw(st.lists(record, min_size=size, max_size=size)), columns=["town", *BOX])
    return frame.astype({"pay": float, "rent": float, "hours": float})


def box(sensitive, **changed):
    kinds = {name: BOX_KINDS[name] for name in sensitive}
    radius = {name: reach for name, reach in (("pay", 0.3), ("rent", 0.5), ("hours", 0.0)) if name in sensitive}
    floor = {name: 1.0 if name == "hours" else 0.0 for name in radius}
    numbers: dict[str, Any] = {"radius": radius, "min_radius": floor} if radius else {}
    return Intruder(known=["town"], sensitive=sensitive, kinds=kinds, missing_values="keep", **numbers, **changed)


def any_value(frame, sensitive):
    return frame[list(sensitive)].notna().any(axis=1).to_numpy()


@pytest.mark.parametrize("number", [2, 3, 5])
@pytest.mark.parametrize("order", [1, 2, 3])
@given(tables_with_gaps(), COVER)
@examples(12)
def test_joint_risk_is_the_definition_with_categories_and_gaps(number, order, data, cover):
    sensitive = BOX[:number]
    there = any_value(data, sensitive)
    if not there.any():
        return
    intruder = box(sensitive, count_self=cover)
    result = confidential_risk(data, intruder, order=order)
    expected = brute.confidential_risk(
        data, ["town"], sensitive, intruder.radius, order, intruder.min_radius, EXACT, cover
    )
    # Who is alone is protected, and so are patterns that are too small for the order.
    expected[there & (np.isnan(expected) | (result.pattern_size == 1))] = 1.0
    np.testing.assert_allclose(result.risk, expected, rtol=0, atol=4e-15)
    assert (np.isnan(result.risk) == ~there).all()


@pytest.mark.parametrize("number", [2, 3, 5])
@given(tables_with_gaps(8), COVER, st.randoms(use_true_random=False))
@examples(20)
def test_joint_risk_of_a_release_is_the_definition_with_categories_and_gaps(number, data, cover, random):
    sensitive = BOX[:number]
    there = any_value(data, sensitive)
    shuffled = {name: data[name].to_numpy()[random.sample(range(len(data)), len(data))] for name in sensitive}
    released = data.assign(**shuffled)
    if not there.any() or not any_value(released, sensitive).any():
        return
    intruder = box(sensitive, count_self=cover)
    result = release_risk(data, [released, data], intruder)
    for row, table in enumerate((released, data)):
        within, size, linked = brute.release_counts(
            data, table, ["town"], sensitive, intruder.radius, intruder.min_radius, EXACT
        )
        share = (size - within) / np.maximum(size - (not cover), 1)
        expected = np.where(linked, np.where(size == 1, 1.0, share), 0.0)
        np.testing.assert_allclose(result.by_dataset[row][there], expected[there], rtol=0, atol=1e-15)
        assert (result.is_close[row][there] == linked[there]).all()
    assert np.isnan(result.by_dataset[:, ~there]).all()


def test_a_gap_is_close_to_a_gap_by_hand():
    # In each column: the first two agree, gap to gap; the third has a value where they have none.
    data = pd.DataFrame(
        {"town": "A", "pay": [100.0, 105.0, 100.0, 100.0], "job": ["x", "x", "x", "y"], "rent": [None, None, 50, None]}
    )
    result = confidential_risk(data.astype({"rent": float}), box(("pay", "job", "rent")))
    assert result.within.tolist() == [2, 2, 1, 1]
    assert result.risk.tolist() == pytest.approx([2 / 3, 2 / 3, 1, 1], abs=1e-15)
    # Alone, a column with gaps counts those who have a value.
    alone = confidential_risk(data.astype({"rent": float}), replace(box(("rent",)), small_patterns="marginal"))
    assert np.isnan(alone.risk).tolist() == [True, True, False, True]


@given(tables(), SENSITIVE, COVER)
@examples(40)
def test_weights_rise_with_the_order(data, sensitive, cover):
    view = Intruder(known=[], sensitive=sensitive, radius=0.3, kinds=only(sensitive), count_self=cover).view(data)
    # As long as somebody is left to be covered.
    most = len(data) - (not cover)
    weights = [risk_weights(confidential_risk(view, order=order)) for order in range(1, most + 1)]
    assert (np.diff(weights, axis=0) >= -1e-13).all()


@given(tables(), SENSITIVE, COVER, st.randoms(use_true_random=False))
@examples(50)
def test_release_risk_is_the_definition(data, sensitive, cover, random):
    shuffled = random.sample(range(len(data)), len(data))
    released = data.assign(**{name: data[name].to_numpy()[shuffled] for name in [*sensitive, "town"]})
    intruder = Intruder(known=["town", "sex"], sensitive=sensitive, radius=0.3, kinds=only(sensitive))
    within, size, linked = brute.release_counts(data, released, ["town", "sex"], sensitive, 0.3, exact={"job"})
    result = release_risk(data, [released, data], replace(intruder, count_self=cover))
    share = (size - within) / np.maximum(size - (not cover), 1)
    expected = np.where(linked, np.where(size == 1, 1.0, share), 0.0)
    np.testing.assert_allclose(result.by_dataset[0], expected, rtol=0, atol=1e-15)
    assert (result.is_close[0] == linked).all()
    assert result.is_close[1].all()
    np.testing.assert_allclose(result.realised, result.by_dataset.mean(axis=0), rtol=0, atol=0)

    rates = match_rates(data, [released, data], intruder)
    unique = within == 1
    assert rates.expected[0] == pytest.approx((linked / np.maximum(within, 1)).sum(), abs=1e-13)
    assert rates.true[0] == (unique & linked).mean()
    assert rates.unique[0] == unique.sum()
    assert rates.false[0] == ((unique & ~linked).sum() / unique.sum() if unique.any() else 0.0)


def test_who_is_alone_is_matched_by_chance_as_often_as_others_are_close():
    data = frame([100, 500, 900, 950], ["A", "B", "C", "C"])
    released = frame([105, 97, 910, 300], ["A", "B", "C", "C"])
    # Alone in A: of three other values one is close to 100. In B none is close. In C each has one close value of two.
    by_chance, gain = matches_beyond_chance(data, released, NEIGHBOUR)
    assert by_chance.tolist() == pytest.approx([(1 / 3 + 0 + 1 / 2 + 1 / 2) / 4])
    assert gain.value == pytest.approx((1 + 0 + 1 + 0) / 4 - by_chance[0])


def test_a_match_that_other_variables_predict_is_no_sign():
    town = np.repeat(np.arange(30), 4)
    # One of every town has no work, and no wage, as a variable shows that is released unchanged.
    idle = np.arange(120) % 4 == 0
    pay, drawn = (np.where(idle, 0.0, np.exp(5 * np.random.default_rng(seed).normal(size=120))) for seed in (1, 2))
    data, released = frame(pay, town), frame(drawn, town)
    assert matches_beyond_chance(data, released, NEIGHBOUR)[1].low > 0.05
    assert matches_beyond_chance(data, released, NEIGHBOUR, alike=np.where(idle, 1.0, 0.02)[None])[1].low < 0
    # Of copies they say less than is right.
    assert matches_beyond_chance(data, data, NEIGHBOUR, alike=np.where(idle, 1.0, 0.02)[None])[1].low > 0.3


@pytest.mark.parametrize("datasets", [1, 5])
def test_draws_from_small_patterns_are_matched_by_chance_and_copies_are_not(datasets):
    runs, alarms, found = 60, 0, 0
    for run in range(runs):
        random = np.random.default_rng(run)
        town = random.integers(30, size=120)
        pay, *drawn = np.exp(10 + 0.4 * town / 30 + 0.6 * random.normal(size=(1 + datasets, 120)))
        own = np.arange(120) % 2 == 0
        view = neighbour(radius=0.2).view(frame(pay, town))
        gains = [
            matches_beyond_chance(view, [frame(one, town) for one in made])[1]
            for made in (drawn, [np.where(own, pay, one) for one in drawn])
        ]
        alarms, found = alarms + (gains[0].low > 0), found + (gains[1].low > 0)
        # By the rate itself any of them would be red.
        assert match_rates(view, frame(drawn[0], town)).true[0] > 0.01
    assert_rate_at_most(alarms, runs, 0.02, detects=0.4)
    assert_rate_at_most(runs - found, runs, 0.05, detects=0.5)


@pytest.mark.parametrize("count_self", [False, True])
def test_risk_by_chance_by_hand(count_self):
    data = frame([100, 500, 900, 950], ["A", "B", "C", "C"])
    released = [frame([105, 97, 910, 300], ["A", "B", "C", "C"]), data]
    alike = np.full((2, 4), 0.25)
    found = risk_by_chance(data, released, neighbour(count_self=count_self), alike=alike)
    # Of three other values 97 is close to 100, none to 500 and 900, and 910 to 950; of the pattern 910 to 950 alone.
    np.testing.assert_allclose(found["anybody"][0], [[1 / 3, 0, 0, 1 / 3], [0, 0, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(found["pattern"][0], [[1 / 3, 0, 0, 1], [0, 0, 1, 1]])
    np.testing.assert_allclose(found["alike"][0], alike)
    # Who is alone has the risk 1 if found, unless the record itself counts as its cover.
    alone, half = (0.0, 0.5) if count_self else (1.0, 1.0)
    np.testing.assert_allclose(found["pattern"][1], [[alone, alone, half, 0], [alone, alone, 0, 0]])


@pytest.mark.parametrize("levels", [(0.5, 0.5), (0.9, 0.1)])
def test_a_coin_is_found_by_chance_by_who_is_alone(levels):
    random = np.random.default_rng(1)
    people = np.arange(400)
    data, released = (frame(random.choice([10.0, 20.0], 400, p=levels), people) for _ in range(2))
    chance, risk = risk_by_chance(data, released, NEIGHBOUR)["anybody"]
    assert_mean(release_risk(data, released, NEIGHBOUR).realised - (chance * risk)[0], 0.0, detects=0.25)
    assert (risk == 1).all()


@given(tables(), SENSITIVE, COVER)
@examples(25)
def test_releasing_the_confidential_table_gives_its_own_risk(data, sensitive, cover):
    intruder = Intruder(known=["town", "sex"], sensitive=sensitive, radius=0.2, kinds=only(sensitive), count_self=cover)
    released = release_risk(data, data, intruder)
    np.testing.assert_array_equal(released.realised, confidential_risk(data, intruder).risk)


CE = Intruder(known=["Age", "Urban", "Marital"], breaks={"Age": [25, 35, 50, 65]}, sensitive="Income", radius=0.2)


@pytest.mark.parametrize("radius", ["015", "020", "025", "030"])
@pytest.mark.parametrize(("order", "prefix"), [(1, "marg"), (2, "pw")])
def test_weights_of_the_authors(shared, radius, order, prefix):
    reference = pd.read_csv(shared / "reference_nb" / "weights.csv")
    intruder = Intruder(known=[], sensitive="outcome", radius=int(radius) / 100, count_self=True)
    result = confidential_risk(reference[["outcome"]], intruder, order=order)
    np.testing.assert_allclose(risk_weights(result), reference[f"{prefix}_r{radius}"], rtol=0, atol=1e-12)


def test_weights_of_the_ce_sample(shared):
    data = pd.read_csv(shared / "ce_sample.csv").query("Income > 0")
    reference = pd.read_csv(shared / "reference_tdp" / "weights.csv")["weight"]
    result = confidential_risk(data, replace(CE, count_self=True), order=2)
    np.testing.assert_allclose(risk_weights(result), reference, rtol=0, atol=1e-12)
    # The pattern of two, far apart, had weight 1 where the mean is a quarter.
    pair = result.pattern_size == 2
    assert risk_weights(result)[pair].tolist() == [1.0, 1.0]
    assert risk_weights(confidential_risk(data, CE, order=2))[pair].tolist() == [0.0, 0.0]


# Edge policies.


@pytest.mark.parametrize("cover", [False, True])
def test_who_is_alone_is_protected(cover):
    data = pd.concat([frame([10, 10, 11, 11]), frame([50], "B")], ignore_index=True)
    assert confidential_risk(data, neighbour(count_self=cover)).risk.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
    for order in (1, 2, 3):
        for policy in ("maximum_risk", "marginal"):
            protected = confidential_risk(data, neighbour(count_self=cover, small_patterns=policy), order=order)
            assert protected.risk.tolist() == [0.0, 0.0, 0.0, 0.0, 1.0]
            assert protected.policies["unique in the pattern"] == 1
    with pytest.raises(InputError, match=r"small_patterns: 1 patterns \(1 records\) are too small for risk of order 1"):
        confidential_risk(data, neighbour(count_self=cover, small_patterns="error"))
    assert confidential_risk(frame([5.0]), neighbour(count_self=cover), order=2).risk.tolist() == [1.0]


def test_who_is_alone_in_a_release():
    data = pd.concat([frame([10, 20]), frame([50], "B")], ignore_index=True)
    assert release_risk(data, data, neighbour(count_self=True)).realised.tolist() == [0.5, 0.5, 1.0]
    strict = neighbour(small_patterns="error")
    with pytest.raises(InputError, match="small_patterns: in released dataset 1, 1 records are unique"):
        release_risk(data, data, strict)
    moved = data.assign(pay=[10.0, 20.0, 500.0])
    assert release_risk(data, moved, strict).realised.tolist() == [1.0, 1.0, 0.0]


def test_true_values_of_a_pattern_of_two_do_not_pass_for_a_half():
    # By the paper's count each is half covered by itself: the rule "at most one half" holds for the truth itself.
    data = frame([100, 900])
    assert release_risk(data, data, neighbour(count_self=True)).realised.max() <= 0.5
    assert release_risk(data, data, NEIGHBOUR).realised.tolist() == [1.0, 1.0]
    assert release_risk(data, frame([105, 105]), NEIGHBOUR).realised.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("number", [2, 3, 4, 5, 50])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_where_all_are_far_apart_nobody_has_a_weight(number, order):
    data = frame(4.0 ** np.arange(number) if number < 50 else 1.3 ** np.arange(number))
    np.testing.assert_allclose(confidential_risk(data, NEIGHBOUR, order=order).risk, 1.0, rtol=0, atol=2e-16)
    if order == 2:
        paper = risk_weights(confidential_risk(data, neighbour(count_self=True), order=2))
        np.testing.assert_allclose(paper, 2 / number, rtol=0, atol=2e-16)


def test_cover_by_others_is_the_papers_for_large_patterns():
    pay = np.random.default_rng(8).lognormal(3, 1, 4000)
    for order in (1, 2, 3):
        ours, paper = (confidential_risk(frame(pay), neighbour(count_self=c), order=order).risk for c in (False, True))
        np.testing.assert_allclose(ours, paper * 4000 / (4000 - order), rtol=1e-13, atol=0)


def test_patterns_too_small_for_the_order():
    data = pd.concat([frame([10, 20, 30, 40]), frame([50, 60], "B")], ignore_index=True)
    expected = {
        # Order 3 there is nobody's but in the first pattern; of two records at order 2 none is left to be covered.
        (False, 2, "maximum_risk"): 1.0,
        (False, 2, "marginal"): 1.0,
        (False, 3, "maximum_risk"): 1.0,
        (True, 2, "maximum_risk"): 0.0,
        (True, 2, "error"): 0.0,
        (True, 3, "maximum_risk"): 1.0,
        (True, 3, "marginal"): 0.5,
    }
    for (cover, order, policy), risk in expected.items():
        result = confidential_risk(data, neighbour(count_self=cover, small_patterns=policy), order=order)
        assert result.risk[4:].tolist() == [risk, risk]
        counted = "smaller than the order" if order == 3 else "as small as the order"
        assert result.policies[f"in a pattern {counted}"] == 2
    near = pd.concat([frame([10, 20, 30, 40]), frame([50, 51], "B")], ignore_index=True)
    for policy, risk in {"maximum_risk": 1.0, "marginal": 0.0}.items():
        assert confidential_risk(near, neighbour(small_patterns=policy), order=2).risk[4:].tolist() == [risk, risk]
    for cover, order in ((False, 2), (False, 3), (True, 3)):
        with pytest.raises(InputError, match=rf"1 patterns \(2 records\) are too small for risk of order {order}"):
            confidential_risk(data, neighbour(count_self=cover, small_patterns="error"), order=order)


# The floor: tables that tell nothing of a person beyond the pattern.


@pytest.mark.parametrize("cover", [False, True])
def test_the_floor_is_the_mean_over_all_tables_drawn_within_the_pattern(cover):
    # Every table that can be drawn, each once: 4 ** 4 of one pattern times 2 ** 2 of the other.
    pay, other = [100.0, 105.0, 0.0, 900.0], [50.0, 70.0]
    data = pd.concat([frame(pay), frame(other, "B")], ignore_index=True)
    drawn = [
        frame([*one, *two], ["A"] * 4 + ["B"] * 2) for one in product(pay, repeat=4) for two in product(other, repeat=2)
    ]
    view = neighbour(count_self=cover).view(data)
    np.testing.assert_allclose(release_risk(view, drawn).realised, risk_floor(view), rtol=0, atol=1e-14)


@pytest.mark.parametrize("cover", [False, True])
def test_the_floor_of_a_box_by_simulation(cover):
    random = np.random.default_rng(4)
    data = pd.DataFrame({"town": list("AAB") * 20, "pay": random.lognormal(3, 0.3, 60), "job": list("xxxyy") * 12})
    view = Intruder("town", ["pay", "job"], 0.3, count_self=cover).view(data)
    rows = np.arange(60)
    towns = [rows[data["town"] == town] for town in data["town"]]
    number = 1000
    taken = np.column_stack([random.choice(town, number) for town in towns])
    pay, job = (data[name].to_numpy()[taken] for name in ("pay", "job"))
    drawn = [data.assign(pay=pay[table], job=job[table]) for table in range(number)]
    by_dataset = release_risk(view, drawn).by_dataset
    # A record that is never close to its own value, or of which nobody covers it, is off by more.
    assert_mean(by_dataset, risk_floor(view), detects=0.15)
    # On average over the records, that the own value is left out of the pattern: one of twenty, or of forty.
    assert_mean(by_dataset.mean(axis=1), risk_floor(view).mean(), detects=0.02)


def test_the_floor_of_real_tables(shared):
    data = pd.read_csv(shared / "ce_sample.csv").query("Income > 0")
    assert risk_floor(data, replace(CE, count_self=True)).mean() == pytest.approx(0.115, abs=5e-4)
    people = pd.read_csv(shared / "nist_ma.csv", na_values="N").dropna(subset="PINCP")
    how: dict[str, Any] = {"radius": 0.2, "breaks": {"AGEP": [15, 25, 35, 50, 65]}, "count_self": True}
    intruder = Intruder(["PUMA", "AGEP", "SEX", "RAC1P"], "PINCP", **how)
    assert risk_floor(people, intruder).mean() == pytest.approx(0.111, abs=5e-4)


def test_the_floor_of_who_is_alone_or_left_out():
    data = pd.concat([frame([10, 90, np.nan]), frame([50], "B")], ignore_index=True)
    np.testing.assert_array_equal(risk_floor(data, neighbour(missing_values="keep")), [0.25, 0.25, np.nan, 0.0])


def test_zeros_negatives_and_the_floor():
    data = frame([0, 0, 1, -100, -109, -112])
    result = confidential_risk(data, NEIGHBOUR)
    assert result.within.tolist() == [2, 2, 1, 2, 3, 2]
    assert result.policies["negative value"] == 3
    assert result.policies["radius of zero"] == 2
    floored = confidential_risk(data, neighbour(min_radius=2.0))
    assert floored.within.tolist() == [3, 3, 3, 2, 3, 2]
    assert floored.policies["radius of zero"] == 0
    assert floored.policies["minimum radius used"] == 3


def test_absolute_radius_is_a_floor_alone():
    result = confidential_risk(frame([10, 15, 21, 1000, 1005]), neighbour(known=[], radius=0, min_radius=5))
    assert result.within.tolist() == [2, 2, 1, 2, 2]


def test_ties_count_and_the_ball_is_closed():
    result = confidential_risk(frame([100, 110, 110, 90, 89.9]), NEIGHBOUR)
    assert result.within[0] == 4


def test_constant_column_covers_everyone():
    assert confidential_risk(frame([7, 7, 7]), NEIGHBOUR).risk.tolist() == [0.0] * 3


def test_missing_known_value_is_a_category():
    data = pd.DataFrame({"town": ["A", None, None, "A"], "pay": [10.0, 10.0, 10.0, 99.0]})
    result = confidential_risk(data, NEIGHBOUR)
    assert result.pattern_size.tolist() == [2, 2, 2, 2]
    assert result.risk.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert result.policies["missing key variable"] == 2
    every = data.assign(town=pd.Series([None] * 4, dtype="str"))
    assert confidential_risk(every, NEIGHBOUR).pattern_size.tolist() == [4] * 4


def test_missing_sensitive_value():
    data = frame([10, np.nan, 10, 50])
    with pytest.raises(InputError, match=r"data: 1 records have a missing sensitive value, the first in row 2"):
        confidential_risk(data, NEIGHBOUR)
    result = confidential_risk(data, neighbour(missing_values="keep"))
    np.testing.assert_array_equal(result.risk, [1 / 2, np.nan, 1 / 2, 1.0])
    assert result.pattern_size.tolist() == [3, 0, 3, 3]
    assert result.policies["missing sensitive value"] == 1
    released = release_risk(data, [data, data], neighbour(missing_values="keep"))
    np.testing.assert_array_equal(released.realised, result.risk)
    assert match_rates(data, data, neighbour(missing_values="keep")).true.tolist() == [1 / 3]
    with pytest.raises(InputError, match="no record has all its sensitive values"):
        confidential_risk(frame([np.nan, np.nan]), neighbour(kinds={"pay": "continuous"}, missing_values="keep"))


def test_missing_categorical_sensitive_value():
    data = pd.DataFrame({"town": "A", "job": ["x", None, "y", "y"]})
    intruder = Intruder(known="town", sensitive="job")
    with pytest.raises(InputError, match="row 2"):
        confidential_risk(data, intruder)
    result = confidential_risk(data, replace(intruder, missing_values="keep"))
    np.testing.assert_array_equal(result.risk, [1.0, np.nan, 1 / 2, 1 / 2])


# Linking, groups, other frames.


def test_records_are_linked_by_key():
    data = frame([100, 200, 300]).assign(id=[7, 8, 9])
    released = pd.DataFrame({"id": [9, 7], "town": "A", "pay": [300.0, 500.0]})
    result = release_risk(data, released, NEIGHBOUR, id_column="id")
    assert result.is_close.tolist() == [[False, False, True]]
    assert result.realised.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(InputError, match=r"released: it has 2 records, the confidential data 3"):
        release_risk(data, released, NEIGHBOUR)
    with pytest.raises(InputError, match="id_column: variable 'id' of a released dataset has repeated"):
        release_risk(data, released.assign(id=[7, 7]), NEIGHBOUR, id_column="id")
    with pytest.raises(InputError, match="id_column: "):
        release_risk(data, released, NEIGHBOUR, id_column="idd")


def test_a_record_whose_known_columns_changed_is_not_in_its_pattern():
    data = frame([100, 101, 200])
    released = data.assign(town=["B", "A", "A"])
    result = release_risk(data, released, NEIGHBOUR)
    assert result.is_close.tolist() == [[False, True, True]]
    assert result.realised.tolist() == [0.0, 1.0, 1.0]


def test_known_numbers_are_cut_into_left_closed_groups():
    data = pd.DataFrame({"age": [24, 25, 34, 35, np.nan], "pay": [1.0, 1, 1, 1, 1]})
    intruder = Intruder(known="age", sensitive="pay", radius=0.1, breaks={"age": [25, 35]})
    result = confidential_risk(data, intruder)
    assert result.pattern_size.tolist() == [1, 2, 2, 1, 1]
    assert set(result.patterns.labels()["age"]) == {"under 25", "25 to under 35", "35 and over", "missing"}
    older = data.assign(age=[24, 26, 30, 90, np.nan])
    assert release_risk(data, older, intruder).is_close.all()


def test_polars_and_pandas_agree():
    data = pd.DataFrame({"town": ["A", "B", "A", "B"], "pay": [10, 20, 11, 90]})
    intruder = Intruder(known="town", sensitive="pay", radius=0.2, kinds={"pay": "count"})
    ours, polars = confidential_risk(data, intruder), confidential_risk(pl.from_pandas(data), intruder)
    np.testing.assert_array_equal(ours.risk, polars.risk)


@pytest.mark.parametrize("kind", ["category", "str", "object"])
def test_text_columns_of_any_type_form_the_same_patterns(kind):
    data = frame([10, 11, 12, 90]).assign(town=pd.Series(["A", "B", "A", "B"], dtype=kind))
    plain = frame([10, 11, 12, 90], ["A", "B", "A", "B"])
    assert release_risk(data, plain, NEIGHBOUR).is_close.all()
    assert release_risk(plain, data, NEIGHBOUR).is_close.all()


def test_released_columns_coded_otherwise_are_refused():
    data = pd.DataFrame({"town": [1, 2, 1, 2], "pay": [1.0, 2, 3, 4]})
    with pytest.raises(InputError, match="released: no value of variable 'town' occurs in the confidential data"):
        release_risk(data, data.assign(town=["1", "2", "1", "2"]), NEIGHBOUR)
    with pytest.raises(InputError, match=r"released: .*'pay'"):
        release_risk(data, data.drop(columns="pay"), NEIGHBOUR)
    with pytest.raises(InputError, match="released: it contains no dataset"):
        release_risk(data, [], NEIGHBOUR)


def test_radius_of_each_column():
    data = pd.DataFrame({"pay": [100.0, 110.0, 300.0], "hours": [40.0, 20.0, 38.0]})
    intruder = Intruder(
        known=[],
        sensitive=["pay", "hours"],
        radius={"pay": 0.2, "hours": 0.0},
        min_radius={"pay": 0, "hours": 25},
        kinds={"pay": "continuous", "hours": "continuous"},
    )
    assert confidential_risk(data, intruder).within.tolist() == [2, 2, 1]


# Bad input.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"known": ["twon"]}, r"known: .*'twon'.*'town'"),
        ({"sensitive": "payy"}, r"sensitive: .*'payy'.*'pay'"),
        ({"sensitive": []}, "sensitive: no variable is named"),
        ({"known": ["pay"]}, "'pay'"),
        ({"known": ["town", "town"]}, "known: "),
        ({"radius": 0}, "radius: it is 0"),
        ({"radius": -0.1}, "radius: it is negative"),
        ({"radius": 20}, "radius: it is 20, but must lie between 0 and 1"),
        ({"radius": np.nan}, r"radius: it is of type \w+, expected a finite number"),
        ({"radius": "0.2"}, r"radius: it is of type \w+, expected a finite number"),
        ({"radius": True}, r"radius: it is of type \w+, expected a finite number"),
        ({"radius": None}, "radius: numeric sensitive variables need one"),
        ({"radius": {"pya": 0.2}}, "radius: 'pya' is not a numeric sensitive variable.*'pay'"),
        ({"radius": {}}, "radius: it has no value for 'pay'"),
        ({"min_radius": -1}, "min_radius: it is negative"),
        ({"min_radius": np.inf}, r"min_radius: it is of type \w+, expected a finite number"),
        ({"count_self": "self"}, "count_self: it must be True or False"),
        ({"missing_values": "drop"}, "missing_values: 'drop' is not a choice"),
        ({"small_patterns": "drop"}, "small_patterns: 'drop' is not a choice"),
        ({"kinds": {"pay": "number"}}, "kinds: "),
        ({"breaks": {"town": [1]}}, "breaks: "),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(InputError, match=message):
        confidential_risk(frame([1, 2, 3, 4]), neighbour(**change))


@pytest.mark.parametrize("order", [0, 1.5, True])
def test_a_bad_order_is_named(order):
    with pytest.raises(InputError, match="order: it must be a whole number"):
        confidential_risk(frame([1, 2, 3, 4]), NEIGHBOUR, order=order)


def test_who_looks_must_be_said():
    unsaid: Any = "pay"
    for call in (
        lambda intruder: confidential_risk(frame([1, 2]), intruder),
        lambda intruder: release_risk(frame([1, 2]), frame([1, 2]), intruder),
        lambda intruder: match_rates(frame([1, 2]), frame([1, 2]), intruder),
    ):
        for intruder in (None, unsaid):
            with pytest.raises(InputError, match="intruder: it is not an Intruder"):
                call(intruder)


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="data"):
        confidential_risk(frame([]), NEIGHBOUR)
    with pytest.raises(InputError, match=r"data: .*infinite in row 2"):
        confidential_risk(frame([1, np.inf, 3]), NEIGHBOUR)
    with pytest.raises(InputError, match="pay"):
        confidential_risk(pd.DataFrame([["A", 1.0, 2.0]], columns=["town", "pay", "pay"]), NEIGHBOUR)
    with pytest.raises(InputError, match="pay"):
        confidential_risk(frame([1, 2]).assign(pay=["1", "two"]), neighbour(kinds={"pay": "continuous"}))
    with pytest.raises(InputError, match="data"):
        confidential_risk("people.csv", NEIGHBOUR)


def test_errors_do_not_show_values():
    secret = 123456.789
    for data in (
        frame([secret, np.inf]),
        frame([secret, np.nan]),
        frame([1, 2]).assign(pay=[str(secret), "x"]),
    ):
        with pytest.raises(InputError) as caught:
            confidential_risk(data, neighbour(kinds={"pay": "continuous"}))
        assert "123456" not in str(caught.value)


def test_results_are_frozen():
    result = confidential_risk(frame([1, 2, 3]), NEIGHBOUR)
    with pytest.raises(ValueError, match="read-only"):
        result.risk[0] = 0.0
    assert "3 records" in repr(result)
    assert repr(release_risk(frame([1, 2]), frame([1, 2]), NEIGHBOUR)).startswith("ReleaseRisk(1 datasets, 2 records")


def test_strange_labels_form_patterns():
    labels = ["<b>x</b>", 'a "quoted", one', "line\nbreak", "日本", "=cmd()", ""]
    data = frame(np.tile([10.0, 11.0], 6), np.repeat(labels, 2))
    result = confidential_risk(data, NEIGHBOUR)
    assert result.pattern_size.tolist() == [2] * 12
    assert set(result.patterns.labels()["town"]) == set(labels)


def test_many_columns_of_many_values_do_not_overflow():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({f"k{j}": rng.permutation(5000) for j in range(8)}).assign(pay=1.0)
    twice = pd.concat([data, data], ignore_index=True)
    result = confidential_risk(twice, neighbour(known=[f"k{j}" for j in range(8)]))
    assert (result.pattern_size == 2).all()
    assert release_risk(twice, twice[::1].copy(), neighbour(known=["k0", "k7"])).is_close.all()


def test_a_value_that_a_dataset_gives_nobody_is_no_risk_and_no_mistake():
    # Of few people it may be drawn for nobody.
    data = pd.DataFrame({"town": ["A"] * 6, "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "rank": [None] * 4 + ["x", "y"]})
    released = data.assign(rank=pd.Series([None] * 6, dtype=data["rank"].dtype))
    view = Intruder(known="town", sensitive=["pay", "rank"], radius=0.1, missing_values="keep").view(data)
    found = release_risk(view.alone("rank"), released)
    np.testing.assert_array_equal(found.realised, [np.nan] * 4 + [0.0, 0.0])
