"""Compiled loops against what NumPy does, or a hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from molehill.risk import kernels


@given(st.lists(st.floats(allow_nan=False), max_size=40), st.integers(512, 700), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_sort_order_sorts_any_numbers(special, size, seed):
    rng = np.random.default_rng(seed)
    points = np.concatenate([special, rng.normal(0, 10.0 ** rng.integers(-300, 300), size).round(2)])
    for some in (points, points[: len(special)], np.full(600, 3.5)):
        order = kernels.sort_order(some)
        assert (np.sort(order) == np.arange(len(some))).all()
        assert (some[order] == np.sort(some)).all()


def test_the_share_of_sets_that_miss_a_record_is_a_ratio_of_binomials():
    # C(13 - 1 - 4, 2) / C(13 - 1, 2) = 28 / 66; who is in all balls, or in all but one of a pair, is never missed.
    cases = {(13, 4, 3): 28 / 66, (13, 13, 2): 0.0, (13, 11, 3): 0.0, (1, 1, 1): 1.0}
    for (size, covers, order), share in cases.items():
        assert kernels.miss_in_cell(size, np.array([float(covers)]), order) == pytest.approx([share], abs=1e-15)
    size, covers, order = np.array(list(cases)).T
    assert kernels.miss_by_record(size, covers, order) == pytest.approx(list(cases.values()), abs=1e-15)


def test_prefix_sums_keep_their_last_digits():
    weight = np.full(1_000_000, 0.1)
    exact = np.arange(1_000_001) / 10
    assert np.abs(kernels.sum_prefixes(weight) - exact).max() <= 2e-11
    assert np.abs(np.cumsum(weight) - exact[1:]).max() > 1e-7
