"""Normal values within a support, also where it holds next to nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from agreement import assert_distribution
from molehill.models.linear import draw_truncated_normal

drawing = jax.jit(draw_truncated_normal)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 0.5), (-np.inf, -2.0), (1.0, 1.5), (3.0, np.inf), (9.0, 10.0), (-30.0, -20.0), (0.0, 50.0)],
)
def test_truncated_normal_draws_follow_the_truncated_law(low, high):
    drawn, outside = drawing(jax.random.key(3), jnp.full(20_000, low), jnp.full(20_000, high))
    assert low <= drawn.min()
    assert drawn.max() <= high
    # A mean that is off by a tenth of what the values spread.
    law = stats.truncnorm(low, high)
    assert_distribution(drawn, law.cdf, other=lambda at: law.cdf(at - 0.1 * law.std()))
    assert float(outside[0]) == pytest.approx(stats.norm.cdf(low) + stats.norm.sf(high), rel=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("start", [38.0, 60.0, 1e4])
def test_beyond_the_floating_range_the_excess_is_still_exact(start, sign):
    ends = jnp.full(20_000, start), jnp.full(20_000, start + 3 / start)
    low, high = ends if sign > 0 else (-ends[1], -ends[0])
    drawn, outside = drawing(jax.random.key(4), low, high)
    excess = np.asarray(sign * drawn - start)
    assert excess.min() >= 0
    assert excess.max() <= 3 / start * (1 + 1e-9)
    # From scipy's logarithm of the upper tail.
    inside = 1 - np.exp(stats.norm.logsf(start + excess) - stats.norm.logsf(start))
    whole = 1 - np.exp(stats.norm.logsf(start + 3 / start) - stats.norm.logsf(start))
    # Values that are even over the support, which is three times as wide as the tail is long.
    assert_distribution(inside / whole, stats.uniform.cdf, other=lambda at: -np.log1p(-at * whole) / 3)
    assert float(outside[0]) == 1.0
