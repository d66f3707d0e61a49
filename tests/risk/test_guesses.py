"""Attribute disclosure: guesses with and without the record, by hand and against a plain loop."""

import numpy as np
import pandas as pd
import pytest

from molehill.risk.attacks import guess_values

PAY = pd.DataFrame({"town": ["A"] * 4 + ["B"], "pay": [100.0, 110.0, 120.0, 900.0, 0.0]})


def test_one_table_by_hand():
    released = PAY.assign(pay=[105.0, 300.0, 125.0, 890.0, 10.0])
    found = guess_values(PAY, released, known="town", sensitive="pay", radius=0.1)
    # Own values are within 10% for the records 1, 3 and 4.
    assert found.own.tolist() == [[1, 0, 1, 1, 0]]
    # Others of town A: medians 300, 125, 300, 125; of B there is no other, and the median of all others is 212.5.
    assert found.without.tolist() == [[0, 0, 0, 0, 0]]
    figures = {name: figure.value for name, figure in found.figures.items()}
    assert figures == {
        "guesses within the radius": pytest.approx(3 / 5),
        "guesses within the radius, without the record": 0.0,
        "guesses within the radius, gain over without the record": pytest.approx(3 / 5),
        # Errors .05, 1 (190/110, cut), 5/120, 10/900, and 1 for a wrong guess of zero.
        "mean relative error of the guess": pytest.approx((0.05 + 1 + 5 / 120 + 10 / 900 + 1) / 5),
        # 200/100 cut, 15/110, 180/120 cut, 775/900, 1.
        "mean relative error of the guess, without the record": pytest.approx((1 + 15 / 110 + 1 + 775 / 900 + 1) / 5),
        "mean relative error of the guess, gain over without the record": pytest.approx(
            (1 + 15 / 110 + 1 + 775 / 900 + 1 - 0.05 - 1 - 5 / 120 - 10 / 900 - 1) / 5
        ),
    }
    assert all(np.isnan(figure.low) for figure in found.figures.values())
    assert repr(found) == "Guesses(pay: 60.0% right, 0.0% without)"


def test_a_right_guess_of_zero_has_no_error():
    found = guess_values(PAY, PAY, known="town", sensitive="pay", radius=0.1)
    assert found.figures["mean relative error of the guess"].value == 0
    assert found.figures["guesses within the radius"].value == 1


def test_several_tables_are_averaged_and_pooled():
    released = [PAY.assign(pay=[pay, 0.0, 0.0, 0.0, 0.0]) for pay in (100.0, 104.0, 500.0)]
    found = guess_values(PAY, released, known="town", sensitive="pay", radius=0.1)
    # The first record is within the radius in two tables of three, and its median is; the fifth always is.
    assert found.figures["guesses within the radius"].value == pytest.approx((2 / 3 + 1) / 5)
    assert found.figures["guesses within the radius, tables pooled"].value == pytest.approx(2 / 5)
    assert found.figures["guesses within the radius, tables pooled, without the record"].value == pytest.approx(1 / 5)
    assert found.figures["guesses within the radius, tables pooled, gain over without the record"].value == (
        pytest.approx(1 / 5)
    )
    low, high = found.figures["guesses within the radius"][1:]
    assert 0 <= low < (2 / 3 + 1) / 5 < high <= 1


def test_a_categorical_column_by_hand():
    data = pd.DataFrame({"town": ["A"] * 4 + ["B"] * 2, "job": ["x", "x", "y", "z", "x", "y"]})
    released = data.assign(job=["x", "y", "y", "new", "y", "y"])
    found = guess_values(data, released, known="town", sensitive="job", radius=None)
    assert found.own.tolist() == [[1, 0, 1, 0, 0, 1]]
    # Others: y y new -> y; x y new -> x, the first of equals; x y new -> x; x y y -> y; y; y.
    assert found.without.tolist() == [[0, 1, 0, 0, 0, 1]]
    assert list(found.figures) == [
        "right guesses",
        "right guesses, without the record",
        "right guesses, gain over without the record",
    ]
    pooled = guess_values(data, [released, data, data], known="town", sensitive="job", radius=None)
    assert pooled.figures["right guesses, tables pooled"].value == 1


@pytest.mark.parametrize("changed", [False, True])
def test_guesses_without_the_record_against_a_plain_loop(changed):
    random = np.random.default_rng(2)
    data = pd.DataFrame(
        {"id": random.permutation(50), "town": random.choice(list("ABCDEFGH"), 50), "pay": random.lognormal(3, 1, 50)}
    )
    released = data.assign(pay=random.permutation(data["pay"]).round(-1))
    if changed:
        released["town"] = np.where(random.random(50) < 0.3, "A", released["town"])
        released = released[released["id"] != 7]
    released = released.sample(frac=1, random_state=1)
    found = guess_values(data, released, known="town", sensitive="pay", radius=0.5, key="id")
    for i in range(50):
        others = released[(released["town"] == data["town"][i]) & (released["id"] != data["id"][i])]["pay"]
        others = others if len(others) else released[released["id"] != data["id"][i]]["pay"]
        without = others.median()
        own = released.set_index("id")["pay"].get(data["id"][i], without)
        for guess, ours in ((own, found.own), (without, found.without)):
            assert ours[0, i] == (abs(guess - data["pay"][i]) <= 0.5 * data["pay"][i])


def test_a_record_without_a_value_takes_no_part():
    data = PAY.assign(pay=[100.0, np.nan, 120.0, 900.0, 0.0])
    found = guess_values(data, [data, data], known="town", sensitive="pay", radius=0.1, missing="keep")
    assert np.isnan(found.own[:, 1]).all()
    assert found.figures["guesses within the radius"].value == 1


def test_the_pooled_interval_is_that_of_independent_releases():
    random = np.random.default_rng(9)
    data = pd.DataFrame({"town": "A", "pay": random.lognormal(3, 0.5, 150)})
    factors = np.exp(random.normal(0, 0.5, (1000, 15, 150)))
    spread = (np.abs(np.median(factors, axis=1) - 1) <= 0.1).mean(axis=1).std()
    told = []
    for release in factors[:30]:
        tables = [data.assign(pay=data["pay"] * factor) for factor in release]
        found = guess_values(data, tables, known="town", sensitive="pay", radius=0.1)
        figure = found.figures["guesses within the radius, tables pooled"]
        told.append((figure.high - figure.value) / 2.145)
    # Each of the 30 is known to about 11%, their mean to 2%. Medians of resampled tables repeat themselves, so that
    # the interval is a little short.
    assert np.mean(told) == pytest.approx(spread, rel=0.2)
