"""Distances to the closest record against counting by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks.closeness import closest_records

DATA, OTHERS = pd.DataFrame({"pay": [0.5, 10.5]}), pd.DataFrame({"pay": [3.5, 8.5]})


def test_distances_and_shares_are_those_counted_by_hand():
    released = pd.DataFrame({"pay": [0.5, 1.5, 8.5, 10.0]})
    found = closest_records(DATA, released, OTHERS, "pay", scale="range", seed=1)
    np.testing.assert_allclose(found.inside, [0.0, 0.1, 0.2, 0.05])
    np.testing.assert_allclose(found.outside, [0.3, 0.2, 0.0, 0.15])
    assert found.nearer.value == 0.75
    assert found.copies.value == found.copies_held_out.value == 0.25
    assert found.median == pytest.approx(0.075)
    assert found.median_held_out == pytest.approx(0.175)
    # Closest are the first of the data twice, its second once and the second of the holdout once: 2 1 0 1 of 4.
    spread = 4 / 3 * (1 + 0 + 1 + 0)
    assert found.nearer.low == pytest.approx(0.75 - 1.96 * np.sqrt(max(spread, 4) / 4) / 4)


def test_many_records_about_few_people_tell_little():
    few = pd.DataFrame({"pay": np.repeat([0.5, 8.5], 500)})
    found = closest_records(DATA, few, OTHERS, "pay", scale="range", seed=1)
    assert found.nearer.value == 0.5
    # 500 0 500 0: either may have been in the data.
    assert found.nearer.high - found.nearer.low > 0.9


def test_as_many_people_are_on_either_side():
    random = np.random.default_rng(1)
    data, others = (pd.DataFrame({"pay": random.random(number)}) for number in (900, 100))
    found = closest_records(data, pd.DataFrame({"pay": random.random(400)}), others, "pay", seed=1)
    assert found.records == 100
    assert found.nearer.low < 0.5 < found.nearer.high


def test_several_tables_are_asked_together_up_to_a_number():
    found = closest_records(DATA, [DATA, OTHERS], OTHERS, "pay", seed=1)
    assert found.nearer.value == 0.5
    assert len(closest_records(DATA, [DATA, OTHERS], OTHERS, "pay", attacks=3, seed=1).inside) == 3


def test_it_needs_a_holdout():
    with pytest.raises(InputError, match="holdout: there is none"):
        closest_records(DATA, DATA, None, "pay", seed=1)
