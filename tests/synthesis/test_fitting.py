"""The frame of synthesizers: weights on the potential itself, fits against known answers, tables like the one given."""

import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpyro.infer.util import potential_energy
from scipy import stats

from molehill.errors import InputError
from molehill.models import multinomial, negative_binomial, normal_linear, poisson
from molehill.models.semicontinuous import semicontinuous
from molehill.models.tdp_mixture import tdp_mixture
from molehill.risk.identification import confidential_risk, release_risk
from molehill.risk.weights import risk_weights
from molehill.synthesis.fitting import _learn_by_name, draw, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.synthesis.weighting import weighted
from molehill.tables.table import Table
from molehill.utility.distances import ecdf_distances

# isort: split
import jax
import jax.numpy as jnp

AXES = {"chain_axis": 0, "draw_axis": 1}
STATS: Any = array_stats
COUNT = 120


def people(count: int = COUNT) -> pd.DataFrame:
    random = np.random.default_rng(21)
    age = random.normal(0, 1, count)
    sign = random.choice([-1, 0, 1], count, p=[0.03, 0.1, 0.87])
    return pd.DataFrame(
        {
            "region": random.choice(["N", "S", "W"], count),
            "wage": np.exp(2 + 0.5 * age + random.normal(0, 0.6, count)),
            "age": age,
            "children": random.poisson(np.exp(0.5 + 0.2 * age)),
            "job": pd.Categorical(
                random.choice(["low", "mid", "top"], count), ["top", "none", "mid", "low"], ordered=True
            ),
            "income": (sign * np.exp(random.normal(8, 1, count))).round(),
            "pay": 2 * age + random.normal(0, 1, count),
        }
    )


PEOPLE, HOUSEHOLDS = people(), people(600)
WEIGHTS = np.random.default_rng(3).uniform(0, 1, COUNT)


def wages(age, pay=None):
    """The user's own model of the style guide."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", len(age)):
        numpyro.sample("pay", dist.Normal(slope * age, 1), obs=pay)


WAGES = Synthesizer(wages, sensitive=("pay",))


def quick_fit(synthesizer, data, weights=None, *, seed=1, warmup=100, draws=100, **settings) -> Posterior:
    """A fit that is too short to have converged, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(synthesizer, data, weights, seed=seed, warmup=warmup, draws=draws, progress=False, **settings)


@cache
def user_fit() -> Posterior:
    return fit(WAGES, PEOPLE, WEIGHTS, seed=4, warmup=300, draws=1500, progress=False)


# Weights, on the potential itself.


def regression(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    sigma = numpyro.sample("sigma", dist.HalfNormal(3))
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Normal(mean * x, sigma), obs=y)


def shares(x, y):
    """A likelihood that is 0 where y is, and not a number below."""
    shape = numpyro.sample("mean", dist.LogNormal(0.5, 0.1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(3))
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Gamma(1 + shape + x**2, sigma), obs=y)


X, Y = np.array([0.5, -1.0, 2.0, 3.5, 1.0]), np.array([0.4, 1.9, 1.2, 4.0, 0.7])
PLACE = {"mean": 0.3, "sigma": -0.2}


def potential(weights, x=X, y=Y, model=regression, place=None) -> float:
    with jax.enable_x64(True):
        weighed = model if weights is None else weighted(model, jnp.asarray(np.array(weights, dtype=np.float64)))
        return float(potential_energy(weighed, (jnp.asarray(x), jnp.asarray(y)), {}, place or PLACE))


def slope_of(weights, y, model) -> dict[str, Any]:
    with jax.enable_x64(True):
        arguments = (jnp.asarray(X), jnp.asarray(y))
        place = {name: jnp.asarray(value) for name, value in PLACE.items()}
        return jax.grad(lambda z: potential_energy(weighted(model, jnp.asarray(weights)), arguments, {}, z))(place)


def by_hand(weights, x=X, y=Y, mean=0.3, log_sigma=-0.2) -> float:
    """Of `regression`: minus the log of prior, Jacobian and weighted likelihood."""
    sigma = np.exp(log_sigma)
    prior = stats.norm.logpdf(mean, 0, 2) + stats.halfnorm.logpdf(sigma, scale=3) + log_sigma
    return -(prior + np.dot(weights, stats.norm.logpdf(y, mean * x, sigma)))


def close(value: float):
    return pytest.approx(value, rel=1e-12, abs=0)


@pytest.mark.parametrize("model", [regression, shares])
def test_weight_2_is_the_record_twice(model):
    twice = [0, 1, 2, 2, 3, 4]
    assert potential([1, 1, 2.0, 1, 1], model=model) == close(potential(None, X[twice], Y[twice], model))


@pytest.mark.parametrize("model", [regression, shares])
@pytest.mark.parametrize("value", [1.2, 0.0, -1.0, np.nan, np.inf, 1e300])
def test_weight_0_is_the_record_left_out(model, value):
    kept, y = [0, 1, 3, 4], Y.copy()
    y[2] = value
    weights = np.array([1.0, 1, 0, 1, 1])
    assert potential(weights, y=y, model=model) == close(potential(None, X[kept], Y[kept], model))
    for gradient, plain in zip(slope_of(weights, y, model).values(), slope_of(weights, Y, model).values(), strict=True):
        assert float(gradient) == close(float(plain))


def test_the_records_left_out_would_have_mattered():
    y = Y.copy()
    with numpyro.validation_enabled(False):
        y[2] = 0.0
        assert potential(np.ones(5), y=y, model=shares) == np.inf
        y[2] = np.nan
        assert np.isnan(potential(np.ones(5), y=y))


@pytest.mark.parametrize("model", [regression, shares])
def test_all_weights_1_is_the_plain_potential(model):
    assert potential(np.ones(5), model=model) == close(potential(None, model=model))


def test_the_prior_is_untouched():
    nothing = potential(np.zeros(5))
    assert nothing == close(by_hand(np.zeros(5)))
    one, other = np.array([0.2, 0, 1, 0.7, 0]), np.array([0.5, 1, 0, 0.1, 3])
    total = potential(one) + potential(other) - nothing
    assert potential(one + other) == close(total)
    assert potential(3 * one) - nothing == pytest.approx(3 * (potential(one) - nothing), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    weights=st.lists(st.floats(0, 5), min_size=5, max_size=5),
    mean=st.floats(-3, 3),
    log_sigma=st.floats(-2, 2),
)
def test_any_weights_anywhere_against_a_transcription(weights, mean, log_sigma):
    value = potential(weights, place={"mean": mean, "sigma": log_sigma})
    assert value == pytest.approx(by_hand(weights, mean=mean, log_sigma=log_sigma), rel=1e-12, abs=1e-12)


def test_a_factor_with_one_term_per_record_is_weighted():
    def model(x, y):
        mean, sigma = numpyro.sample("mean", dist.Normal(0, 2)), numpyro.sample("sigma", dist.HalfNormal(3))
        numpyro.factor("y", dist.Normal(mean * x, sigma).log_prob(y))

    weights = np.array([0.2, 0, 1, 0.7, 2])
    assert potential(weights, model=model) == close(by_hand(weights))
    y = Y.copy()
    y[1] = np.nan
    with numpyro.validation_enabled(False):
        assert potential(weights, y=y, model=model) == close(by_hand(weights, y=np.nan_to_num(y)))


def test_a_scale_within_the_model_is_kept():
    def model(x, y):
        with numpyro.handlers.scale(scale=0.5):
            regression(x, y)

    weights = np.array([0.2, 0, 1, 0.7, 2])
    assert potential(weights, model=model) == close(0.5 * by_hand(weights))


def in_one_event(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    numpyro.sample("wealth", dist.Normal(mean * x, 1).to_event(1), obs=y)


def without_plate(x, y):
    del x
    numpyro.sample("wealth", dist.Normal(numpyro.sample("mean", dist.Normal(0, 2)), 1), obs=y)


def in_two_plates(x, y):
    mean = numpyro.sample("mean", dist.Normal(0, 2))
    with numpyro.plate("records", len(x)), numpyro.plate("sides", 2):
        numpyro.sample("wealth", dist.Normal(mean * x, 1), obs=jnp.stack([y, y]))


def with_factor(x, y):
    regression(x, y)
    numpyro.factor("wealth", jnp.asarray(-1.0))


@pytest.mark.parametrize("model", [in_one_event, without_plate, in_two_plates, with_factor])
def test_a_likelihood_that_is_not_one_term_per_record_is_refused(model):
    with pytest.raises(InputError, match=r"model: the observed site 'wealth' .* plate over the records") as caught:
        potential(np.ones(5), model=model)
    assert "(5,)" in str(caught.value)
    assert ".to_event" in str(caught.value)


@pytest.mark.parametrize("number", [1, 4, 6])
def test_another_number_of_weights_is_refused(number):
    with pytest.raises(InputError, match=rf"'y' has terms of shape \(5,\), not one for each record \({number},\)"):
        potential(np.ones(number))


def test_a_fit_refuses_such_a_model_before_it_samples():
    def model(age, pay=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        numpyro.sample("pay", dist.Normal(slope * age, 1).to_event(1), obs=pay)

    with pytest.raises(InputError, match="'pay' has terms of shape"):
        quick_fit(Synthesizer(model, ("pay",)), PEOPLE)


# Against known answers.


def test_the_conjugate_normal_has_its_closed_form():
    posterior = user_fit()
    assert posterior.diagnostics.problems == ()
    age, pay = PEOPLE["age"], PEOPLE["pay"]
    precision = 1 + (WEIGHTS * age**2).sum()
    slope = posterior.draws["slope"]
    assert slope.shape == (2, 1500)
    error = float(STATS.mcse(slope, **AXES))
    assert abs(slope.mean() - (WEIGHTS * age * pay).sum() / precision) < 4 * error
    error = float(STATS.mcse(slope, method="sd", **AXES))
    assert abs(slope.std() - precision**-0.5) < 4 * error
    # The weights matter: the plain posterior is narrower by far more than that.
    assert precision**-0.5 - (1 + (age**2).sum()) ** -0.5 > 8 * error


# Mean and standard deviation over 100 replicates of 20 tables of the authors' model in RStan: U_m, U_a, the mean of
# the means, and the mean risk at the scheme's own radius (README of the shared data).
AUTHORS: dict[str, tuple[float, list[tuple[float, float]]]] = {
    "notw": (0.15, [(0.0458, 0.0027), (0.00055, 0.00008), (100.7, 0.35), (0.1831, 0.0019)]),
    "marg_r030": (0.30, [(0.1100, 0.0040), (0.00440, 0.00032), (103.2, 0.27), (0.1787, 0.0017)]),
    "marg_r025": (0.25, [(0.1127, 0.0033), (0.00460, 0.00027), (102.8, 0.29), (0.1911, 0.0017)]),
    "marg_r020": (0.20, [(0.1131, 0.0031), (0.00467, 0.00024), (102.3, 0.28), (0.1956, 0.0019)]),
    "marg_r015": (0.15, [(0.1135, 0.0039), (0.00478, 0.00031), (101.9, 0.33), (0.1847, 0.0019)]),
    "pw_r015": (0.15, [(0.0415, 0.0027), (0.00051, 0.00010), (101.2, 0.33), (0.1864, 0.0020)]),
}


@pytest.mark.parametrize("model", AUTHORS)
def test_negative_binomial_posteriors_and_tables_are_those_of_rstan(shared, model):
    folder = shared / "reference_nb"
    reference = pd.read_csv(folder / "posterior.csv").set_index(["model", "param"]).loc[model]
    table = pd.read_csv(folder / "weights.csv")
    weights = None if model == "notw" else table[model].to_numpy()
    data = table[["outcome"]]
    posterior = fit(negative_binomial("outcome"), data, weights, seed=11, warmup=300, draws=1500, progress=False)
    ours = {"mu": np.exp(posterior.draws["beta"][..., 0]), "phi": posterior.draws["phi"]}
    assert set(reference.index) == set(ours)
    for name, values in ours.items():
        theirs = reference.loc[name]
        error = np.hypot(theirs["sd"] / np.sqrt(theirs["n_eff"]), float(STATS.mcse(values, **AXES)))
        assert abs(values.mean() - theirs["mean"]) < 4 * error, name
        assert values.std() == pytest.approx(theirs["sd"], rel=0.1), name

    radius, authors = AUTHORS[model]
    tables = draw(posterior, datasets=20, seed=4)
    distances = ecdf_distances(data, tables, "outcome")
    measured = [
        distances.value("U_m"),
        distances.value("U_a"),
        np.mean([table["outcome"].mean() for table in tables]),
        release_risk(data, tables, known=[], sensitive="outcome", radius=radius).realised.mean(),
    ]
    for number, (mean, sd) in zip(measured, authors, strict=True):
        assert abs(number - mean) < 3 * sd, (measured, authors)


@pytest.mark.slow
def test_the_mixture_is_that_of_a_long_exact_run(shared):
    survey = pd.read_csv(shared / "ce_sample.csv").query("Income > 0").reset_index(drop=True)
    breaks, categorical = {"Age": [25, 35, 50, 65]}, ["Urban", "Tenure", "Educ", "Marital"]
    known = ["Age", "Urban", "Marital"]
    risk = confidential_risk(survey, known=known, sensitive="Income", radius=0.2, order=2, breaks=breaks)
    weights = risk_weights(risk)
    given_weights = pd.read_csv(shared / "reference_tdp" / "weights.csv")["weight"]
    np.testing.assert_allclose(weights, given_weights, atol=1e-12)
    synthesizer = tdp_mixture(
        "Income",
        ["Age", *categorical],
        breaks=breaks,
        kinds=dict.fromkeys(categorical, "categorical"),
        priors="paper",
        upper=2e6,
    )
    posterior = fit(synthesizer, survey, weights, seed=1, progress=False)
    table = posterior.diagnostics.table
    assert posterior.diagnostics.problems == ()
    assert table["rhat"].max() <= 1.01
    assert table["bulk"].min() >= 400

    reference = pd.read_csv(shared / "reference_tdp" / "functionals.csv").set_index("functional")
    assert len(reference) == 53
    rows = [int(name.rsplit("_", 1)[1]) for name in reference.index if name.startswith("predictive_mean")]
    design, draws = posterior.learned.inputs["design"][rows], posterior.draws
    centres = np.einsum("mr,cdkr->cdmk", design, draws["beta"])
    mean = np.einsum("cdmk,cdk->cdm", centres, draws["pi"])
    squares = np.einsum("cdmk,cdk->cdm", centres**2 + draws["sigma"][:, :, None] ** 2, draws["pi"])
    functionals = np.concatenate([mean, squares - mean**2], axis=2)
    ours = pd.DataFrame(
        {"mean": functionals.mean(axis=(0, 1)), "error": STATS.mcse(functionals, **AXES)},
        index=[f"{name}_{row}" for name in ("predictive_mean", "predictive_variance") for row in rows],
    )
    ours.loc["weighted_loglik"] = table.loc["weighted_loglik", ["mean", "error"]]
    assert set(ours.index) == set(reference.index)
    ours = ours.loc[reference.index]
    z = (ours["mean"] - reference["mean"]) / np.hypot(ours["error"], reference["sd"] / np.sqrt(reference["ess"]))
    assert z.abs().max() <= 4, z[z.abs() > 4].to_dict()


# What every synthesizer must do.


class Case(NamedTuple):
    synthesizer: Synthesizer | Composite
    sites: set[str]
    low: float = -np.inf
    high: float = np.inf
    data: pd.DataFrame = PEOPLE


def linear(age, pay=None):
    """A user's model with several sites, one of them deterministic."""
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    centre = numpyro.deterministic("centre", slope * age)
    with numpyro.plate("records", len(age)):
        numpyro.sample("pay", dist.Normal(centre, sigma), obs=pay)


MIXTURE = {"pi", "beta", "sigma", "gamma"}
CASES = {
    "normal_linear": Case(
        normal_linear("wage", "age + region", transform="log", lower=1, upper=60), {"beta", "sigma"}, 1, 60
    ),
    "poisson": Case(poisson("children", "age", upper=5), {"beta"}, 0, 5),
    "negative_binomial": Case(negative_binomial("children", "age"), {"beta", "phi"}, 0),
    "multinomial": Case(multinomial("job", "age"), {"beta"}),
    "tdp_mixture": Case(tdp_mixture("wage", "age", components=3, lower=1, upper=60), MIXTURE, 1, 60),
    "tdp_mixture, prior": Case(
        tdp_mixture("wage", "age", components=3, membership="prior", lower=1, upper=60), MIXTURE, 1, 60
    ),
    "semicontinuous": Case(
        semicontinuous("income", components=2, lower=-20_000, upper=60_000),
        # Too few losses for a mixture.
        {"sign.beta", *(f"positive.{site}" for site in MIXTURE), "negative.beta", "negative.sigma"},
        -20_000,
        60_000,
        HOUSEHOLDS,
    ),
    "a user's model": Case(Synthesizer(linear, ("pay",)), {"slope", "sigma", "centre"}),
}


@cache
def contract_fit(name: str) -> Posterior:
    return quick_fit(CASES[name].synthesizer, CASES[name].data, draws=200 if name == "semicontinuous" else 100)


@pytest.mark.parametrize("name", CASES)
def test_every_synthesizer_meets_the_contract(name):
    case = CASES[name]
    before = case.data.copy(deep=True)
    posterior = contract_fit(name)
    (column,) = case.synthesizer.sensitive

    assert case.sites <= posterior.draws.keys()
    for site, values in posterior.draws.items():
        assert values.shape[:2] == ((2, 200) if name == "semicontinuous" else (2, 100)), site
        assert values.dtype == np.float64, site
        assert np.isfinite(values).all(), site
        assert (values[0] != values[1]).any() or site.endswith(("omega", "Omega_cholesky")), site
    table = posterior.diagnostics.table
    assert len(table)
    assert np.isfinite(table[["mean", "sd"]].to_numpy()).all()
    assert any("weighted_loglik" in functional for functional in table.index)
    assert 0 <= posterior.outside <= 1
    assert (posterior.outside > 0) == np.isfinite(case.high)
    assert posterior.learned.facts
    state = "NOT converged" if posterior.diagnostics.problems else "converged"
    assert re.fullmatch(rf"Posterior\({column}: 2 chains x \d00 draws, {state}\)", repr(posterior))

    first, second = draw(posterior, datasets=2, seed=5, unconverged="allow")
    again, _ = draw(posterior, datasets=2, seed=5, unconverged="allow")
    other, _ = draw(posterior, datasets=2, seed=6, unconverged="allow")
    pd.testing.assert_frame_equal(first, again)
    for released in (first, second, other):
        pd.testing.assert_frame_equal(released.drop(columns=column), before.drop(columns=column))
        assert list(released.columns) == list(before.columns)
        assert released[column].dtype == before[column].dtype
        assert released[column].notna().all()
        assert not released[column].equals(before[column])
        if name != "multinomial":
            assert released[column].between(case.low, case.high).all()
    assert not first[column].equals(other[column])
    assert not first[column].equals(second[column])
    pd.testing.assert_frame_equal(case.data, before)


def test_a_mixture_has_shares_and_spreads():
    draws = contract_fit("tdp_mixture").draws
    np.testing.assert_allclose(draws["pi"].sum(axis=-1), 1)
    assert draws["beta"].shape == (2, 100, 3, 2)
    assert (draws["sigma"] > 0).all()
    assert (draws["gamma"] > 0).all()


def test_phi_is_the_size_of_the_negative_binomial():
    draws = contract_fit("negative_binomial").draws
    np.testing.assert_allclose(draws["phi"], 1 / draws["inverse_phi"])


def test_both_memberships_share_one_posterior():
    given_value, from_pi = (contract_fit(name).draws for name in ("tdp_mixture", "tdp_mixture, prior"))
    np.testing.assert_array_equal(given_value["beta"], from_pi["beta"])


def test_categories_keep_their_order_and_the_unused_ones():
    released = draw(contract_fit("multinomial"), datasets=1, seed=2, unconverged="allow")[0]["job"]
    assert list(released.cat.categories) == ["top", "none", "mid", "low"]
    assert released.cat.ordered
    assert set(released) == {"top", "mid", "low"}


def test_zeros_and_losses_come_in_their_shares():
    posterior, datasets = contract_fit("semicontinuous"), 20
    tables = draw(posterior, datasets=datasets, seed=8, unconverged="allow")
    for chosen in (lambda income: income == 0, lambda income: income < 0):
        share = chosen(HOUSEHOLDS["income"]).mean()
        released = np.mean([chosen(table["income"]).mean() for table in tables])
        # Each table has the posterior's uncertainty of the share, and its own.
        error = np.sqrt(2 * share * (1 - share) / len(HOUSEHOLDS) / datasets)
        assert abs(released - share) < 4 * error
    # The sizes too: medians of gains in the right region.
    gains = pd.concat(tables).query("income > 0")["income"]
    assert gains.median() == pytest.approx(HOUSEHOLDS.query("income > 0")["income"].median(), rel=0.15)


def test_tables_are_spread_over_chains_and_draws():
    posterior = user_fit()
    chains, draws = 2, 1500
    marked = np.arange(chains * draws, dtype=float).reshape(chains, draws) * 1e6
    marked_posterior = replace(posterior, draws={"slope": marked})
    tables = draw(marked_posterior, datasets=20, seed=1)
    used = [round(float(np.median(table["pay"] / PEOPLE["age"])) / 1e6) for table in tables]
    assert used == [75 + 150 * k for k in range(20)]


# Tables like the one given.


def released_of(frame: Any, synthesizer: Synthesizer = WAGES, **settings: Any) -> Any:
    return draw(quick_fit(synthesizer, frame, **settings), datasets=1, seed=3, unconverged="allow")[0]


def test_whole_numbers_stay_whole_and_the_index_is_kept():
    whole = PEOPLE.assign(pay=PEOPLE["pay"].round().astype("int32"))
    released = released_of(whole)
    assert released["pay"].dtype == "int32"
    assert released["pay"].nunique() > 4
    pd.testing.assert_index_equal(released.index, whole.index)
    pd.testing.assert_index_equal(released.columns, whole.columns)


@pytest.mark.parametrize("kind", ["Int64", "float64"])
def test_missing_values_stay_missing_and_take_no_part(kind):
    gaps = PEOPLE.assign(pay=PEOPLE["pay"].round().astype(kind))
    gaps.loc[[3, 50], "pay"] = pd.NA if kind == "Int64" else np.nan
    before = gaps.copy(deep=True)
    posterior = quick_fit(WAGES, gaps)
    assert posterior.diagnostics.accept > 0.5
    assert np.isfinite(posterior.draws["slope"]).all()
    np.testing.assert_array_equal(np.flatnonzero(posterior.weights == 0), [3, 50])
    released = draw(posterior, datasets=1, seed=3, unconverged="allow")[0]
    assert released["pay"].dtype == gaps["pay"].dtype
    np.testing.assert_array_equal(np.flatnonzero(released["pay"].isna()), [3, 50])
    pd.testing.assert_frame_equal(gaps, before)
    # A record without a value is as good as one of weight 0.
    weights = np.ones(COUNT)
    weights[[3, 50]] = 0
    full = PEOPLE.assign(pay=PEOPLE["pay"].round())
    whole = quick_fit(WAGES, full, weights)
    assert whole.draws["slope"].mean() == pytest.approx(posterior.draws["slope"].mean(), rel=0.02)


def test_labels_of_a_table_survive():
    labels = {"column_labels": {"pay": "Pay by the hour"}, "value_labels": {"region": {"N": "North"}}}
    released = released_of(Table(PEOPLE, **labels))
    assert isinstance(released, Table)
    assert released.column_labels == labels["column_labels"]
    assert released.value_labels == labels["value_labels"]
    assert not released.frame["pay"].equals(PEOPLE["pay"])


def chance(age, poor=None):
    slope = numpyro.sample("slope", dist.Normal(0, 1))
    with numpyro.plate("records", len(age)):
        numpyro.sample("poor", dist.Bernoulli(logits=slope * age), obs=poor)


POOR = np.where(PEOPLE["age"] + np.random.default_rng(2).logistic(size=COUNT) > 0, "no", "yes")
KINDS = {
    "text": pd.Series(POOR),
    "ordered": pd.Series(pd.Categorical(POOR, ["yes", "maybe", "no"], ordered=True)),
    "boolean": pd.Series(POOR == "no"),
    "nullable": pd.Series(POOR == "no", dtype="boolean").mask(np.arange(COUNT) < 2),
}


def made_posterior(synthesizer: Synthesizer, frame: pd.DataFrame, **sites: Any) -> Posterior:
    """A posterior with given draws, without a fit."""
    learned = _learn_by_name(synthesizer)(Table(frame))
    draws = {name: np.broadcast_to(value, (2, 10, *np.shape(value))) for name, value in sites.items()}
    return Posterior(synthesizer, Table(frame), np.ones(len(frame)), learned, draws, user_fit().diagnostics, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_model_gives_levels_back_for_codes(kind):
    column = KINDS[kind]
    # Code 1 is "yes" in the order of the alphabet, "no" in that of the categories.
    slope = -1.0 if kind == "text" else 1.0
    posterior = made_posterior(Synthesizer(chance, ("poor",)), PEOPLE.assign(poor=column), slope=slope)
    released = draw(posterior, datasets=1, seed=3)[0]["poor"]
    assert released.dtype == column.dtype
    assert set(released.dropna()) == set(column.dropna())
    np.testing.assert_array_equal(released.isna(), column.isna())
    # The codes are not mixed up: the levels still go with age.
    high = released == ("no" if kind in ("text", "ordered") else True)
    assert PEOPLE["age"][high.fillna(False)].mean() > PEOPLE["age"][~high.fillna(True)].mean()


def test_a_missing_predictor_of_text_is_a_level_of_its_own():
    def model(region, pay=None):
        level: Any = numpyro.sample("level", dist.Normal(0, 10).expand([4]).to_event(1))
        with numpyro.plate("records", len(region)):
            numpyro.sample("pay", dist.Normal(level[region], 0.01), obs=pay)

    gaps = PEOPLE.assign(region=PEOPLE["region"].where(np.arange(COUNT) >= 20))
    posterior = made_posterior(Synthesizer(model, ("pay",)), gaps, level=np.arange(4.0))
    assert list(posterior.learned.facts["levels"]["region"][:3]) == ["N", "S", "W"]
    drawn = draw(posterior, datasets=1, seed=1)[0]["pay"].round()
    np.testing.assert_array_equal(drawn, gaps["region"].map({"N": 0, "S": 1, "W": 2}).fillna(3))


def test_two_sensitive_columns_of_which_one_is_missing():
    def model(age, pay=None, bonus=None):
        slope, share = numpyro.sample("slope", dist.Normal(0, 1)), numpyro.sample("share", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            pay = numpyro.sample("pay", dist.Normal(slope * age, 1), obs=pay)
            numpyro.sample("bonus", dist.Normal(share * pay, 1), obs=bonus)

    gaps = PEOPLE.assign(bonus=0.5 * PEOPLE["pay"], pay=PEOPLE["pay"].where(np.arange(COUNT) > 0))
    posterior = quick_fit(Synthesizer(model, ("pay", "bonus")), gaps)
    assert posterior.draws["share"].mean() == pytest.approx(0.5, abs=0.05)
    released = draw(posterior, datasets=1, seed=1, unconverged="allow")[0]
    # The bonus goes with the new pay, not with the old one.
    assert np.corrcoef(released["pay"][1:], released["bonus"][1:])[0, 1] > 0.5
    assert released["bonus"].notna().all()


def test_a_site_computed_from_confidential_values_is_not_released():
    def model(age, wage=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            logs = numpyro.sample("log_wage", dist.Normal(slope * age, 1), obs=None if wage is None else jnp.log(wage))
            numpyro.deterministic("wage", jnp.exp(logs))

    posterior = made_posterior(Synthesizer(model, ("wage",)), PEOPLE, slope=0.5, wage=PEOPLE["wage"].to_numpy())
    released = draw(posterior, datasets=1, seed=1)[0]
    assert not np.isclose(released["wage"], PEOPLE["wage"]).any()


def test_a_value_too_large_for_its_column_is_not_wrapped_around():
    narrow = PEOPLE.assign(pay=PEOPLE["pay"].round().astype("int8"))
    posterior = quick_fit(WAGES, narrow)
    posterior = replace(posterior, draws={"slope": posterior.draws["slope"] + 1000})
    with pytest.raises(InputError, match="a value drawn for 'pay' does not fit into its type, int8"):
        draw(posterior, datasets=1, seed=1, unconverged="allow")


def test_a_value_that_is_not_finite_is_not_released():
    posterior = replace(user_fit(), draws={"slope": np.full((2, 1500), np.nan)})
    with pytest.raises(InputError, match="does not fit into its type, float64"):
        draw(posterior, datasets=1, seed=1)


# Refusals.


def refusal(call: Any, argument: str) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.argument == argument
    return str(caught.value)


def test_an_unconverged_fit_warns_and_is_refused_with_numbers_and_remedies():
    with pytest.warns(ConvergenceWarning, match=r"has not converged: .*effective size"):
        posterior = fit(WAGES, PEOPLE, seed=1, warmup=100, draws=100, progress=False)
    text = refusal(lambda: draw(posterior, datasets=2, seed=1), "posterior")
    assert re.search(r"effective size of \w+ is \d+, below 200", text)
    assert "draws=" in text
    assert "unconverged='allow'" in text
    assert len(draw(posterior, datasets=2, seed=1, unconverged="allow")) == 2


def test_more_tables_than_effective_draws_are_refused_with_the_numbers():
    posterior = user_fit()
    size = int(posterior.diagnostics.effective_size)
    text = refusal(lambda: draw(posterior, datasets=size + 1, seed=1), "datasets")
    assert f"{size + 1} tables from" in text
    assert f"at most {size}" in text


@pytest.mark.parametrize("datasets", [0, -1, 2.0, True, "3", None])
def test_bad_numbers_of_tables_are_refused(datasets):
    refusal(lambda: draw(user_fit(), datasets=datasets, seed=1), "datasets")


def test_a_misspelt_choice_does_not_let_an_unconverged_fit_through():
    posterior: Any = contract_fit("poisson")
    choice: Any = "eror"
    refusal(lambda: draw(posterior, datasets=1, seed=1, unconverged=choice), "unconverged")
    refusal(lambda: fit(WAGES, PEOPLE, seed=1, engine=choice), "engine")


NAN = np.where(np.arange(COUNT) == 5, np.nan, 1.0)
REFUSED = {
    "one chain": ({"chains": 1}, "chains"),
    "chains in fractions": ({"chains": 2.0}, "chains"),
    "no draws": ({"draws": 0}, "draws"),
    "no warm-up": ({"warmup": 0}, "warmup"),
    "a negative seed": ({"seed": -1}, "seed"),
    "an endless seed": ({"seed": 2**64}, "seed"),
    "too few weights": ({"weights": np.ones(COUNT - 1)}, "weights"),
    "weights in columns": ({"weights": np.ones((COUNT, 1))}, "weights"),
    "a negative weight": ({"weights": np.where(np.arange(COUNT) == 5, -0.1, 1.0)}, "weights"),
    "a weight that is no number": ({"weights": NAN}, "weights"),
    "an infinite weight": ({"weights": np.nan_to_num(NAN, nan=np.inf)}, "weights"),
    "no weight": ({"weights": np.zeros(COUNT)}, "weights"),
    "an unknown column": ({"synthesizer": Synthesizer(wages, ("payy",))}, "sensitive"),
    "an unknown argument": ({"data": PEOPLE.rename(columns={"age": "years"})}, "model"),
    "a missing predictor": ({"data": PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE["age"] < 1))}, "data"),
    "an infinite value": ({"data": PEOPLE.assign(pay=PEOPLE["pay"].where(PEOPLE["pay"] < 1, np.inf))}, "data"),
}


@pytest.mark.parametrize(("changes", "argument"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_arguments_are_refused(changes, argument):
    call = {"synthesizer": WAGES, "data": PEOPLE, "weights": None, "seed": 1, **changes}
    text = refusal(lambda: fit(**call), argument)
    assert not any(str(value) in text for value in PEOPLE["pay"])


def test_a_column_without_any_value_is_refused():
    refusal(lambda: quick_fit(WAGES, PEOPLE.assign(pay=np.nan)), "weights")


def test_models_that_cannot_predict_are_refused_before_they_are_fitted(monkeypatch):
    monkeypatch.setattr("molehill.synthesis.fitting.sample", None)

    def misnamed(age, pay=None):
        with numpyro.plate("records", len(age)):
            numpyro.sample("y", dist.Normal(numpyro.sample("mean", dist.Normal(0, 1)), 1), obs=pay)

    def leaking(wage, pay=None):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", len(wage)):
            logs = numpyro.sample("logs", dist.Normal(mean, 1), obs=jnp.log(wage))
            numpyro.deterministic("pay", jnp.exp(logs) + (0 if pay is None else 0 * pay))

    def labelled(age, pay=None):
        with numpyro.plate("records", len(age)):
            group: Any = numpyro.sample("group", dist.Bernoulli(0.5))
            numpyro.sample("pay", dist.Normal(group * age, 1), obs=pay)

    for model, words in (
        (misnamed, "no site 'pay'"),
        (leaking, "'logs' is observed"),
        (labelled, "'group' is discrete"),
    ):
        assert words in refusal(lambda model=model: quick_fit(Synthesizer(model, ("pay",)), PEOPLE), "model")


# Checkpoints of fits. The note of a run is written before anything is compiled.


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


ONE = np.array([1.0, 1.0])


def with_scale(captured: Any, scale: float = 2.0) -> Synthesizer:
    def model(age, pay=None):
        slope = numpyro.sample("slope", dist.Normal(0, jnp.max(jnp.asarray(captured))))
        with numpyro.plate("records", len(age)):
            numpyro.sample("pay", dist.Normal(slope * age, scale), obs=pay)

    return Synthesizer(model, sensitive=("pay",))


@pytest.mark.parametrize(
    "change",
    [
        {"weights": WEIGHTS},
        {"data": PEOPLE.assign(pay=PEOPLE["pay"].where(np.arange(COUNT) != 7, 0.0))},
        {"synthesizer": with_scale(ONE, 3.0)},
        {"synthesizer": with_scale(np.array([1.0, 2.0]))},
        {"synthesizer": replace(with_scale(ONE), functionals=lambda sites, *_: {"slope": sites["slope"][None]})},
        {"synthesizer": replace(with_scale(ONE), start=lambda *_: {"slope": jnp.zeros(())})},
    ],
    ids=["weights", "data", "prior", "captured array", "functionals", "start"],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, change, monkeypatch):
    monkeypatch.setattr(sampling, "_compile", interrupt)
    call: dict[str, Any] = {"synthesizer": with_scale(ONE), "data": PEOPLE, "weights": None, "checkpoint": tmp_path}
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            quick_fit(**call)
    text = refusal(lambda: quick_fit(**{**call, **change}), "checkpoint")
    assert "other data, settings or versions" in text


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {tests!r})
    from molehill.synthesis.sampling import chains as sampling
    import test_fitting as t
    write = sampling.write_chunk
    def die(store, number, *rest):
        write(store, number, *rest)
        os.kill(os.getpid(), signal.SIGKILL)
    sampling.write_chunk = die
    t.quick_fit(t.WAGES, t.PEOPLE, checkpoint=sys.argv[1])
"""


def test_a_fit_killed_in_another_process_goes_on_to_the_same_bytes(tmp_path):
    program = textwrap.dedent(KILLED).format(tests=str(Path(__file__).parent))
    folder = tmp_path / "kept"
    call = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [path.name for path in sorted(folder.glob("chunk-*"))] == ["chunk-00000.bin"]
    resumed = quick_fit(WAGES, PEOPLE, checkpoint=folder)
    assert resumed.draws["slope"].tobytes() == quick_fit(WAGES, PEOPLE).draws["slope"].tobytes()


def test_checkpoints_of_parts_lie_in_private_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "_compile", interrupt)
    folder, mask = tmp_path / "kept", os.umask(0o022)
    try:
        with pytest.raises(KeyboardInterrupt):
            quick_fit(CASES["semicontinuous"].synthesizer, HOUSEHOLDS, checkpoint=folder)
    finally:
        os.umask(mask)
    assert {path.name for path in folder.iterdir()} == {"sign"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {0o700}
