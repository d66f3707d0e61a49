"""The mixture: its predictions against closed forms, and what it refuses."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from agreement import assert_distribution
from molehill import InputError
from molehill.models import tdp_mixture
from molehill.models.mixtures import (
    log_mass_between,
    mixture_functionals,
    predict_mixture,
)
from molehill.tables.table import Table

DRAW = {
    "pi": np.array([0.7, 0.3, 0.0]),
    "beta": np.array([[0.5, 0.0], [-1.0, 0.5], [50.0, 0.0]]),
    "sigma": np.array([0.4, 1.2, 0.1]),
}


def predicted(
    component_draw: Any = "prior",
    transform: Any = "identity",
    support=(-np.inf, np.inf),
    outcome=None,
    n=40_000,
    tables=1,
):
    draw = {name: jnp.asarray(value) for name, value in DRAW.items()}
    inputs = {
        "design": jnp.tile(jnp.array([1.0, 2.0]), (n, 1)),
        "outcome": jnp.zeros(n) if outcome is None else jnp.asarray(outcome),
        "present": jnp.ones(n, dtype=bool) if outcome is not None else jnp.zeros(n, dtype=bool),
        "centre": jnp.asarray(10.0),
        "scale": jnp.asarray(2.0),
    }
    how = {"component_draw": component_draw, "transform": transform, "support": support}
    predict = jax.jit(partial(predict_mixture, column="y", **how))
    made = [predict(key, draw, inputs) for key in jax.random.split(jax.random.key(8), tables)]
    return np.stack([one.values["y"] for one in made]).squeeze(), float(made[0].outside)


def mixture_cdf(x, share=0.7):
    # At the row (1, 2) the components are N(0.5, 0.4) and N(0, 1.2) on the standardised scale, y = 10 + 2 t.
    t = (np.asarray(x) - 10) / 2
    return share * stats.norm.cdf(t, 0.5, 0.4) + (1 - share) * stats.norm.cdf(t, 0.0, 1.2)


def truncated_cdf(x, share=0.7, low=9.0, high=12.0):
    ends = mixture_cdf(low, share), mixture_cdf(high, share)
    return (mixture_cdf(np.clip(x, low, high), share) - ends[0]) / (ends[1] - ends[0])


# Probabilities of the components that are off by a tenth.
OFF = 0.6


def test_prior_membership_draws_from_the_mixture():
    values, outside = predicted()
    assert outside == 0.0
    assert_distribution(values, mixture_cdf, other=partial(mixture_cdf, share=OFF))


def test_values_are_drawn_from_the_truncated_mixture_and_the_mass_cut_off_is_told():
    values, outside = predicted(support=(9.0, 12.0))
    low, high = mixture_cdf(9.0), mixture_cdf(12.0)
    assert outside == pytest.approx(1 - (high - low), abs=1e-12)
    assert values.min() >= 9
    assert values.max() <= 12
    # Components with the probabilities that they have without ends: more of the narrow one lies between them.
    parts = stats.norm(0.5, 0.4), stats.norm(0.0, 1.2)

    def each_truncated(x):
        inside = [(part.cdf((x - 10) / 2) - part.cdf(-0.5)) / (part.cdf(1) - part.cdf(-0.5)) for part in parts]
        return 0.7 * inside[0] + 0.3 * inside[1]

    assert_distribution(values, truncated_cdf, other=each_truncated)


def test_posterior_membership_keeps_a_record_in_its_component():
    outcome = np.full(20_000, 0.5)
    weights = np.array([0.7 * stats.norm.pdf(0.5, 0.5, 0.4), 0.3 * stats.norm.pdf(0.5, 0.0, 1.2)])
    share = weights / weights.sum()
    values, _ = predicted("posterior", outcome=outcome, n=20_000)
    # Were its own value left out of account, it would be in the components as any other record is.
    own, any_other = partial(mixture_cdf, share=share[0]), mixture_cdf
    assert_distribution(values, own, other=any_other)
    # A value that only the wide component can explain stays with it.
    far, _ = predicted("posterior", outcome=np.full(20_000, -3.0), n=20_000)
    assert_distribution(far, partial(mixture_cdf, share=0.0), other=any_other)


@pytest.mark.parametrize(
    ("transform", "back"), [("log", np.exp), ("signed", lambda t: np.sign(t) * np.expm1(np.abs(t)))]
)
def test_transforms_are_undone(transform, back):
    plain, _ = predicted()
    values, _ = predicted(transform=transform)
    np.testing.assert_allclose(values, back(plain), rtol=1e-9)


def test_mass_between_two_ends_is_exact_in_the_tails():
    ends = np.array([[-1.0, 2.0], [30.0, 31.0], [-31.0, -30.0], [-np.inf, -38.0], [5.0, np.inf], [-np.inf, np.inf]])
    expected = [
        np.log(stats.norm.cdf(2) - stats.norm.cdf(-1)),
        stats.norm.logsf(30) + np.log1p(-np.exp(stats.norm.logsf(31) - stats.norm.logsf(30))),
        stats.norm.logsf(30) + np.log1p(-np.exp(stats.norm.logsf(31) - stats.norm.logsf(30))),
        stats.norm.logcdf(-38),
        stats.norm.logsf(5),
        0.0,
    ]
    np.testing.assert_allclose(jax.jit(log_mass_between)(*ends.T), expected, rtol=1e-9)


def test_functionals_by_hand():
    # On the scale of the data y = exp(8 + 2 t): 0.3 stands for exp(8.6).
    shared = {"centre": np.float64(8.0), "scale": np.float64(2.0), "tail_ends": np.array([-3.0, -2.0, 2.0, 3.0])}
    inputs = {"design": np.array([[1.0, 2.0], [1.0, 0.0]]), "outcome": np.array([0.3, 9.0]), **shared}
    told = jax.jit(partial(mixture_functionals, transform="log"))(DRAW, inputs, np.array([0.5, 0.0]))

    def below(end, row):
        centres = (0.5, 0.0) if row == 0 else (0.5, -1.0)
        return 0.7 * stats.norm.cdf(end, centres[0], 0.4) + 0.3 * stats.norm.cdf(end, centres[1], 1.2)

    shares = [(below(end, 0) + below(end, 1)) / 2 for end in (0.3, 9.0)]
    np.testing.assert_allclose(told["distribution"], shares, rtol=1e-6)
    low, high = ([np.mean([below(end, 0), below(end, 1)]) for end in ends] for ends in ((-3.0, -2.0), (2.0, 3.0)))
    np.testing.assert_allclose(told["tails"], np.log([*low, *(1 - share for share in high)]), rtol=1e-5)
    # The second record has weight 0, and so no share in what is close.
    near = below(0.3 + np.log(1.2) / 2, 0) - below(0.3 + np.log(0.8) / 2, 0)
    np.testing.assert_allclose(told["share_close"], [near], rtol=1e-6)
    assert told["predictive_mean"][0] == pytest.approx(0.7 * 0.5)
    assert told["predictive_variance"][0] == pytest.approx(0.7 * (0.25 + 0.16) + 0.3 * 1.44 - 0.35**2)
    density = 0.7 * stats.norm.pdf(0.3, 0.5, 0.4) + 0.3 * stats.norm.pdf(0.3, 0.0, 1.2)
    assert told["weighted_loglik"][0] == pytest.approx(0.5 * np.log(density))


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"components": 0}, "components"),
        ({"components": 2.5}, "components"),
        ({"component_draw": "both"}, "component_draw"),
        ({"transform": "sqrt"}, "transform"),
        ({"priors": "flat"}, "priors"),
        ({"least_sigma": -0.1}, "least_sigma"),
        ({"least_sigma": 1.0}, "least_sigma"),
        ({"lower": 5, "upper": 5}, "lower"),
    ],
)
def test_bad_settings_are_named(arguments, argument):
    with pytest.raises(InputError) as caught:
        tdp_mixture("income", **arguments)
    assert caught.value.argument == argument


def incomes(values):
    return Table(pd.DataFrame({"income": np.asarray(values, dtype=float)}))


def test_logs_need_positive_values_and_show_none():
    learn = tdp_mixture("income").learn
    assert learn is not None
    with pytest.raises(InputError, match=r"transform: 'income' is not positive in 1 record\(s\), the first in row 2"):
        learn(incomes([10, 0, 30]), np.ones(3))
    learned = tdp_mixture("income", transform="signed").learn
    assert learned is not None
    np.testing.assert_allclose(learned(incomes([10, 0, -30]), np.ones(3)).inputs["outcome"].mean(), 0.0, atol=1e-12)
