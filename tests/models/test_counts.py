"""Counts, plain and within a support: those of both models that draw them."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from agreement import assert_counts, assert_mean
from molehill.models import counts, negative_binomial, poisson

MEANS = np.array([2.0, 30.0, 150.0, 1e-20, 1e6])
PHI = 8.0
OTHER = {"poisson": "negative", "negative": "poisson"}


def counts_of(name, settings, means=MEANS, each=3000):
    """Draw counts for records with several means; compiled, because supports are static and data are not."""
    maker: Any = poisson if name == "poisson" else negative_binomial
    synthesizer = maker("children", **settings)
    draw = {"beta": np.log(means), "inverse_phi": np.array(1 / PHI)}
    inputs = {"design": np.repeat(np.eye(len(means)), each, axis=0), "outcome": np.zeros(each * len(means))}
    made_of = jax.jit(synthesizer.predict)(jax.random.key(5), draw, inputs)
    return np.asarray(made_of.values["children"]).reshape(len(means), each), float(made_of.outside)


def law_of(name, mean) -> Any:
    return stats.poisson(mean) if name == "poisson" else stats.nbinom(PHI, PHI / (PHI + mean))


def assert_law(values, name, mean, low=0, high=np.inf):
    """Assert that counts follow a law within [low, high].

    Where the ends cut off a tenth or more, they must be told from counts that are moved to the ends; else from those
    of a mean that is half as large again.
    """
    law, inflated = law_of(name, mean), law_of(name, 1.5 * mean)
    other = law if law.cdf(high) - law.cdf(low - 1) < 0.9 else inflated
    cells = np.arange(int(low), int(min(high, values.max() + 1)) + 1)
    found = np.bincount((values - low).astype(int), minlength=len(cells))
    logs = law.logpmf(cells)
    shares = np.exp(logs - logs.max())
    # An open end has all that lies beyond the largest value in its last cell.
    shares[-1] += 0.0 if high < np.inf else np.exp(law.logsf(cells[-1]) - logs.max())
    shares /= shares.sum()
    if shares.max() > 1 - 1e-9:
        assert found.argmax() == shares.argmax()
        assert (found > 0).sum() == 1
        return
    # All that lies beyond a last cell is in it.
    moved = np.diff(other.cdf(cells), prepend=0.0)
    moved[-1] += 1 - moved.sum()
    assert_counts(found, shares, other=moved, of=f"mean {mean:.4g}")


@pytest.mark.parametrize("name", ["poisson", "negative"])
def test_counts_are_whole_numbers_with_the_moments_of_their_law_and_finite_for_absurd_draws(name):
    values, outside = counts_of(name, {}, np.array([0.3, 12.0, 1e300]))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.floor(values))
    assert values.min() >= 0
    assert outside == 0.0
    for mean, drawn in zip([0.3, 12.0], values[:2], strict=True):
        law = law_of(name, mean)
        assert_mean(drawn, mean, detects=law.std() / 4)
        assert_law(drawn, name, mean)
    # At a mean of 12 the counts of one model are told from those of the other.
    cells = np.arange(int(values[1].max()) + 2)
    own, others = (
        np.append(law_of(one, 12.0).pmf(cells), law_of(one, 12.0).sf(cells[-1])) for one in (name, OTHER[name])
    )
    assert_counts(np.bincount(values[1].astype(int), minlength=len(own)), own, other=others)
    assert np.isfinite(values).all()
    assert values[2].min() > 1e15


@pytest.mark.parametrize(
    ("name", "low", "high"), [pytest.param("poisson", None, 40, marks=pytest.mark.slow), ("negative", 25, 40)]
)
def test_truncated_counts_follow_the_truncated_law(name, low, high):
    """Probable supports, supports in a far tail that plain draws never reach, and supports without floating mass."""
    values, outside = counts_of(name, {"lower": low, "upper": high})
    least = low or 0
    assert least <= values.min()
    assert values.max() <= high
    np.testing.assert_array_equal(values, np.floor(values))
    inside = []
    for mean, drawn in zip(MEANS, values, strict=True):
        law = law_of(name, mean)
        inside.append(law.pmf(np.arange(least, high + 1)).sum())
        if inside[-1] > 1e-290:
            assert_law(drawn, name, mean, least, high)
        else:
            assert (drawn == (least if mean < least else high)).all()
    assert outside == pytest.approx(1 - np.mean(inside), rel=1e-9)


def test_the_inverse_alone_gives_the_same_law_with_an_open_end(monkeypatch):
    monkeypatch.setattr(counts, "ROUNDS", 0)
    values, outside = counts_of("poisson", {"lower": 25}, MEANS[:3])
    for mean, drawn in zip(MEANS[:3], values, strict=True):
        assert_law(drawn, "poisson", mean, 25)
    assert outside == pytest.approx(np.mean([law_of("poisson", mean).cdf(24) for mean in MEANS[:3]]), rel=1e-9)
