"""Scales of amounts: there and back, within a support, and the one that fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from molehill.errors import InputError
from molehill.synthesis import transforms
from molehill.synthesis.transforms import POSITIVE, TRANSFORMS, apply_transform, restore, transformed_support

RNG = np.random.default_rng(0)
AMOUNTS = {
    "log": [np.exp(10 + RNG.normal(size=3000)), 1e4 * (1 + RNG.pareto(2.0, size=20_000)), np.array([2.0, 3.0])],
    "root": [1e4 * RNG.gamma(2.0, size=3000), (7 + RNG.normal(size=20_000)) ** 6],
    "signed": [np.array([0.0, 1.0]), np.array([-5.0, 3.0])],
}


@pytest.mark.parametrize(("scale", "values"), [(scale, values) for scale, of in AMOUNTS.items() for values in of])
def test_the_scale_is_the_one_that_fits(scale, values):
    assert transforms.usual_transform(values) == scale
    # In any unit and order, and whatever is missing.
    moved = np.append(RNG.permutation(values) * 37.5, np.nan)
    assert transforms.usual_transform(moved) == scale


@pytest.mark.parametrize("number", [300, 1000, 2000, 5000])
@pytest.mark.parametrize("added", [0.01, 1.0, 10.0, 1e9])
def test_one_record_does_not_choose_the_scale_of_all_others(number, added):
    amounts = np.exp(10 + 0.9 * np.random.default_rng(number).normal(size=number))
    assert transforms.usual_transform(np.append(amounts, added)) == transforms.usual_transform(amounts) == "log"


@pytest.mark.parametrize("values", [np.array([]), np.array([np.nan]), np.array([4.0, 4.0])])
def test_where_there_is_nothing_to_choose_by_it_is_logarithms(values):
    assert transforms.usual_transform(values) == "log"


@given(value=st.floats(1e-3, 1e12), scale=st.sampled_from(TRANSFORMS), loss=st.booleans())
def test_scales_are_undone(value, scale, loss):
    amount = np.array([-value if loss and scale not in POSITIVE else value])
    np.testing.assert_allclose(restore(apply_transform(amount, scale), scale), amount, rtol=1e-9)


def test_likelihoods_of_scales_are_densities_of_the_amounts():
    """One component in all but name: what is left is the density of a transformed normal, which is known."""
    values = np.exp(10 + 0.5 * RNG.normal(size=4000))
    for scale in POSITIVE:
        moved = apply_transform(values, scale)
        slope = 1 / values if scale == "log" else values ** (1 / 6 - 1) / 6
        one = -0.5 * np.log(2 * np.pi * moved.var()) - 0.5 + np.log(slope).mean()
        # Two components, each with a little more variance than it has, can be better by little.
        assert transforms._likelihood(values, scale) == pytest.approx(one, abs=0.01)


def test_a_support_of_positive_amounts_ends_at_zero():
    assert transformed_support((-100.0, 64.0), "root") == (0.0, 2.0)
    assert transformed_support((-100.0, np.e), "log") == (-np.inf, 1.0)
    assert transformed_support((-np.inf, np.inf), "root") == (0.0, np.inf)
    for scale in POSITIVE:
        with pytest.raises(InputError, match=f"upper: it is not positive, as '{scale}' requires"):
            transformed_support((-5.0, 0.0), scale)
