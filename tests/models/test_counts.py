"""Counts, plain and within a support: those of both models that draw them."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from molehill.models import counts, negative_binomial, poisson

MEANS = np.array([2.0, 30.0, 150.0, 1e-20, 1e6])
PHI = 8.0


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


def chi_square(values, law, low, high):
    """Compare drawn counts with a law truncated to [low, high], in cells with at least five expected."""
    most = int(min(high, values.max() + 1))
    cells = np.arange(int(low), most + 1)
    expected = np.exp(law.logpmf(cells) - law.logpmf(cells).max())
    expected *= len(values) / expected.sum()
    found = np.bincount((values - low).astype(int), minlength=len(cells))
    kept = expected >= 5
    rest = expected[~kept].sum() > 1
    both = [np.append(v[kept], v[~kept].sum()) if rest else v[kept] for v in (found, expected)]
    if len(both[0]) == 1:
        return float(found[kept].sum() == len(values))
    return stats.chisquare(both[0], both[1] * both[0].sum() / both[1].sum()).pvalue


@pytest.mark.parametrize("name", ["poisson", "negative"])
def test_counts_are_whole_numbers_with_the_moments_of_their_law_and_finite_for_absurd_draws(name):
    values, outside = counts_of(name, {}, np.array([0.3, 12.0, 1e300]))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.floor(values))
    assert values.min() >= 0
    assert outside == 0.0
    for mean, drawn in zip([0.3, 12.0], values[:2], strict=True):
        law = law_of(name, mean)
        assert abs(drawn.mean() - mean) < 4.5 * law.std() / np.sqrt(len(drawn))
        assert chi_square(drawn, law, 0, np.inf) > 0.001
    assert np.isfinite(values).all()
    assert values[2].min() > 1e15


@pytest.mark.parametrize(("name", "low", "high"), [("poisson", None, 40), ("negative", 25, 40)])
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
            assert chi_square(drawn, law, least, high) > 0.001
        else:
            assert (drawn == (least if mean < least else high)).all()
    assert outside == pytest.approx(1 - np.mean(inside), rel=1e-9)


def test_the_inverse_alone_gives_the_same_law_with_an_open_end(monkeypatch):
    monkeypatch.setattr(counts, "ROUNDS", 0)
    values, outside = counts_of("poisson", {"lower": 25}, MEANS[:3])
    for mean, drawn in zip(MEANS[:3], values, strict=True):
        assert chi_square(drawn, law_of("poisson", mean), 25, np.inf) > 0.001
    assert outside == pytest.approx(np.mean([law_of("poisson", mean).cdf(24) for mean in MEANS[:3]]), rel=1e-9)
