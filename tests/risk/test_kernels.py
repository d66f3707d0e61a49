"""Compiled loops against what NumPy does, or a hand."""

import numpy as np
import pytest

from molehill.risk import kernels


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
