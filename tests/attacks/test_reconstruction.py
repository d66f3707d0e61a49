"""What is guessed of one column from all others, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.attacks.reconstruction import frequent_others, infer_unchanged

DATA = pd.DataFrame(
    {
        "town": ["A", "A", "A", "B", "B", "C"],
        "sex": ["f", "f", "f", "m", "m", "m"],
        "age": [20, 20, 50, 31, 33, 62],
    }
)


def test_a_category_is_guessed_by_the_most_frequent():
    town, sex, _ = infer_unchanged(DATA, DATA, ["town", "sex", "age"])
    # Town by sex and age: f 20 has A A, every other is alone: all right. Without the own record: A and A; the others
    # are guessed by the most frequent of all, A, right for the third.
    assert town.rate.value == 1.0
    assert town.without.value == pytest.approx(3 / 6)
    assert town.baseline.value == pytest.approx(3 / 6)
    assert town.alone.value == pytest.approx(4 / 6)
    # Sex by town and age: the same records are alone; f and m are as frequent, and f comes first.
    assert sex.rate.value == 1.0
    assert sex.without.value == pytest.approx(3 / 6)


def test_a_number_is_guessed_by_the_median_within_its_tolerance():
    found = infer_unchanged(DATA, DATA, ["town", "age"], tolerance=0.05)[1]
    # Medians: A 20, B 32, C 62. Right are A A, B B (within 5%), C. Without: A: 35 35 20, B: 33 31, C: of all 32.
    assert found.rate.value == pytest.approx(5 / 6)
    assert found.without.value == 0
    assert found.baseline.value == pytest.approx(2 / 6)  # 32 for 31 and 33


def test_a_table_of_others_has_no_own_records():
    released = pd.DataFrame({"town": ["A", "A", "A", "B"], "sex": ["f", "f", "m", "m"]})
    _, sex = infer_unchanged(DATA, released, ["town", "sex"], linked=False)
    # A: f, B: m, C is nowhere: of f f m m the first, f.
    assert sex.rate.value == pytest.approx(5 / 6)
    assert np.isnan(sex.without.value)


def test_the_most_frequent_is_that_of_counting():
    random = np.random.default_rng(1)
    for _ in range(20):
        levels, patterns = random.integers(4, size=40), random.integers(-1, 8, size=40)
        rows = np.where(random.random(40) < 0.3, -1, np.arange(40))
        wanted = random.integers(9, size=40)
        found = frequent_others(levels.astype(float), patterns, rows, wanted)
        for i in range(40):
            among = (patterns == wanted[i]) & (np.arange(40) != rows[i])
            counts = np.bincount(levels[among], minlength=4)
            assert np.isnan(found[i]) if not among.any() else found[i] == counts.argmax()


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="columns: one is not enough"):
        infer_unchanged(DATA, DATA, "town")
    with pytest.raises(InputError, match="released: it has 5 records where"):
        infer_unchanged(DATA, DATA.iloc[1:], ["town", "sex"])
    with pytest.raises(InputError, match="tolerance: it is negative"):
        infer_unchanged(DATA, DATA, ["town", "sex"], tolerance=-0.1)
