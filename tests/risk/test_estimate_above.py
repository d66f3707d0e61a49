"""How many records have a high expected risk, from few tables: numbers of close tables as a known spread has them."""

import numpy as np
import pytest
from scipy.stats import betabinom

from molehill.risk.profile import estimate_above


def tables_of(datasets, copies):
    """Risks of 3,000 records as chances of Beta(1, 9) have them on average, and of copies that are always close."""
    expected = 3000 * betabinom.pmf(np.arange(datasets + 1), datasets, 1.0, 9.0)
    number = np.repeat(np.arange(datasets + 1), expected.round().astype(int))
    number = np.concatenate([number, np.full(copies, datasets)])
    close = np.arange(datasets)[:, None] < number
    return np.where(close, 0.95, 0.0), close, np.full(len(number), 0.95)


@pytest.mark.parametrize("datasets", [3, 5, 10, 20])
def test_luck_is_not_counted_and_copies_are_however_many_tables_there_are(datasets):
    risk, close, before = tables_of(datasets, 0)
    # With a chance of Beta(1, 9) none of 3,000 is above 0.8 / 0.95: (1 - 0.842)^9 is 6e-8.
    assert estimate_above(risk, close, before, 0.8) < 0.5
    found = estimate_above(*tables_of(datasets, 8), 0.8)
    # Of three tables 14 of the 3,000 have values close in all by luck: they tell that there are more, not how many.
    assert found > 0.5
    if datasets > 3:
        assert found == pytest.approx(8, abs=3)


def test_the_realised_risk_of_few_tables_is_high_by_luck():
    assert (tables_of(3, 0)[0].mean(axis=0) > 0.8).sum() > 5
    assert (tables_of(20, 0)[0].mean(axis=0) > 0.8).sum() == 0


def test_who_cannot_have_a_high_risk_does_not():
    close = np.ones((5, 100), dtype=bool)
    assert estimate_above(np.full((5, 100), 0.5), close, np.full(100, 0.5), 0.8) == 0


@pytest.mark.parametrize("datasets", [1, 2])
def test_one_or_two_tables_cannot_tell(datasets):
    assert np.isnan(estimate_above(*tables_of(datasets, 0), 0.8))
