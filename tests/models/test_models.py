"""The regressions that ship: their density against scipy's, their predictions against their law, their bad inputs."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
import pytest
from numpyro.infer.util import log_density
from scipy import stats
from scipy.special import gammaln

from agreement import assert_agrees, assert_distribution, assert_spread
from molehill.errors import InputError
from molehill.models import multinomial, negative_binomial, normal_linear, poisson
from molehill.synthesis.synthesizer import Data, Synthesizer
from molehill.synthesis.weighting import weight_likelihood
from molehill.tables.table import Table

RNG = np.random.default_rng(11)
COUNT = 40
HOURS = RNG.normal(35, 5, COUNT)
PEOPLE = pd.DataFrame(
    {
        "hours": HOURS,
        "region": RNG.choice(["N", "S", "W"], COUNT),
        "wage": np.exp(RNG.normal(2 + 0.02 * HOURS, 0.5)),
        "children": RNG.poisson(2.0, COUNT),
        "job": pd.Categorical(RNG.choice(["c", "a", "b"], COUNT), categories=["c", "none", "a", "b"]),
    }
)
WEIGHTS = RNG.uniform(0, 1, COUNT)
WEIGHTS[3] = 0.0
DRAWS = {
    "normal": {"beta": np.array([0.1, 0.4, -0.3, 0.2]), "sigma": np.array(0.7)},
    "poisson": {"beta": np.array([0.7, 0.2, -0.3, 0.4])},
    "negative": {
        "beta": np.array([0.7, 0.2, -0.3, 0.4]),
        "inverse_phi": np.array(0.4),
        "D": np.array([0.5, 1.0, 2.0, 0.8]),
        "Omega_cholesky": np.linalg.cholesky(0.3 + 0.7 * np.eye(4)),
    },
    "multinomial": {"beta": np.array([[0.2, -0.5], [0.4, 0.1], [-0.3, 0.6], [0.0, 1.0]])},
}


def made(name: str, **settings: Any) -> Synthesizer:
    makers: dict[str, Any] = {
        "normal": lambda: normal_linear("wage", "hours + region", transform="log", **settings),
        "poisson": lambda: poisson("children", "hours + region", **settings),
        "negative": lambda: negative_binomial("children", "hours + region", **settings),
        "multinomial": lambda: multinomial("job", "hours + region", **settings),
    }
    return makers[name]()


def learned(synthesizer: Synthesizer, frame: pd.DataFrame = PEOPLE):
    assert synthesizer.learn
    return synthesizer.learn(Table(frame), np.ones(len(frame)))


def density_of(synthesizer: Synthesizer, inputs, draw) -> float:
    compiled = jax.jit(lambda inputs, draw: log_density(synthesizer.model, (), inputs, draw)[0])
    return float(compiled(dict(inputs), draw))


def predictions(synthesizer: Synthesizer, draw, inputs, count: int, seed: int = 0):
    """Predict `count` tables from one draw, compiled with data as arguments."""
    predict = synthesizer.predict
    assert predict
    compiled = jax.jit(jax.vmap(predict, in_axes=(0, None, None)))
    made_of = compiled(jax.random.split(jax.random.key(seed), count), draw, dict(inputs))
    return np.asarray(made_of.values[synthesizer.sensitive[0]]), np.asarray(made_of.outside)


# The prior and the likelihood, transcribed.


def half_t(x):
    return stats.t.logpdf(x, 3).sum() + np.log(2) * np.size(x)


def lkj_cholesky(factor, shape):
    """Lewandowski, Kurowicka and Joe (2009), theorem 5, times the Jacobian of the Cholesky factor."""
    size = len(factor)
    k = np.arange(1, size)
    constant = k / 2 * np.log(np.pi) + gammaln(shape + (size - 1 - k) / 2) - gammaln(shape + (size - 1) / 2)
    return ((size - k - 1 + 2 * shape - 2) * np.log(np.diag(factor)[1:])).sum() - constant.sum()


def prior_of(name, draw):
    beta = draw["beta"]
    if name == "normal":
        return stats.norm.logpdf(beta, 0, 2.5).sum() + half_t(draw["sigma"])
    if name == "poisson":
        return stats.norm.logpdf(beta, 0, [5, 1, 1, 1]).sum()
    if name == "multinomial":
        return stats.norm.logpdf(beta, 0, np.array([[2.5], [1], [1], [1]])).sum()
    factor, spread = draw["Omega_cholesky"], draw["D"]
    covariance = np.diag(spread) @ factor @ factor.T @ np.diag(spread)
    given = stats.multivariate_normal.logpdf(beta, np.zeros(4), covariance)
    others = half_t(spread) + stats.halfcauchy.logpdf(draw["inverse_phi"], scale=5)
    return given + others + lkj_cholesky(factor, 6)


def design_by_hand():
    hours = (HOURS - HOURS.mean()) / HOURS.std()
    region = PEOPLE["region"].to_numpy()
    return np.column_stack([np.ones(COUNT), hours, region == "S", region == "W"])


def each_by_hand(name, draw):
    """The log-likelihood of every record, and the laws that predictions are drawn from."""
    predictor = design_by_hand() @ draw["beta"]
    if name == "normal":
        logs = np.log(PEOPLE["wage"].to_numpy())
        return stats.norm.logpdf((logs - logs.mean()) / logs.std(), predictor, draw["sigma"])
    if name == "multinomial":
        odds = np.exp(np.column_stack([np.zeros(COUNT), predictor]))
        codes = PEOPLE["job"].map({"c": 0, "a": 1, "b": 2}).to_numpy(int)
        return np.log(odds[np.arange(COUNT), codes] / odds.sum(axis=1))
    if name == "poisson":
        return stats.poisson.logpmf(PEOPLE["children"], np.exp(predictor))
    phi = 1 / draw["inverse_phi"]
    return stats.nbinom.logpmf(PEOPLE["children"], phi, phi / (phi + np.exp(predictor)))


@pytest.mark.parametrize("name", DRAWS)
def test_the_density_is_the_one_written_down(name):
    synthesizer, draw = made(name), DRAWS[name]
    value = density_of(synthesizer, learned(synthesizer).inputs, draw)
    assert value == pytest.approx(prior_of(name, draw) + each_by_hand(name, draw).sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["negative", "multinomial"])
def test_the_moved_model_is_the_same_in_other_coordinates(name):
    synthesizer, inputs = made(name), dict(learned(made(name)).inputs)
    assert isinstance(synthesizer.engine, partial)
    moved, move, collapse = (synthesizer.engine.keywords[part] for part in ("moved", "move", "collapse"))
    few = collapse(Data(inputs, np.ones(COUNT)))
    sites = {key: jnp.asarray(value) for key, value in DRAWS[name].items()}

    def of_beta(beta, inputs):
        return move({**sites, "beta": beta.reshape(sites["beta"].shape)}, inputs)["z"]

    def in_other_coordinates(inputs):
        there = move(sites, inputs)
        trace = numpyro.handlers.trace(numpyro.handlers.substitute(moved, there)).get_trace(**inputs)
        stretch = jnp.linalg.slogdet(jax.jacobian(of_beta)(jnp.ravel(sites["beta"]), inputs))[1]
        return trace["beta"]["value"], stretch + log_density(weight_likelihood(moved, few.weights), (), inputs, there)[
            0
        ]

    beta, value = jax.jit(in_other_coordinates)(few.inputs)
    np.testing.assert_allclose(beta, sites["beta"], rtol=1e-9, atol=1e-12)
    # The density of z is that of beta over the volume that the change of coordinates gives it.
    assert float(value) == pytest.approx(density_of(synthesizer, inputs, DRAWS[name]), rel=1e-9)


def test_the_negative_binomial_without_predictors_has_no_correlations():
    synthesizer = negative_binomial("children")
    draw: Any = {"beta": np.array([0.6]), "D": np.array([0.9]), "inverse_phi": np.array(0.5)}
    value = density_of(synthesizer, learned(synthesizer).inputs, draw)
    by_hand = stats.norm.logpdf(0.6, 0, 0.9) + half_t(0.9) + stats.halfcauchy.logpdf(0.5, scale=5)
    by_hand += stats.nbinom.logpmf(PEOPLE["children"], 2, 2 / (2 + np.exp(0.6))).sum()
    assert value == pytest.approx(by_hand, rel=1e-12)
    trace = numpyro.handlers.trace(numpyro.handlers.substitute(synthesizer.model, draw))
    assert float(trace.get_trace(**learned(synthesizer).inputs)["phi"]["value"]) == 2.0


@pytest.mark.parametrize("name", DRAWS)
def test_one_observed_term_per_record(name):
    synthesizer = made(name)
    model = numpyro.handlers.substitute(synthesizer.model, DRAWS[name])
    trace = numpyro.handlers.trace(model).get_trace(**learned(synthesizer).inputs)
    assert [site["fn"].batch_shape for site in trace.values() if site.get("is_observed")] == [(COUNT,)]


@pytest.mark.parametrize("name", DRAWS)
def test_functionals_are_the_ones_written_down(name):
    synthesizer, draw = made(name), DRAWS[name]
    assert synthesizer.functionals
    found = jax.jit(synthesizer.functionals)(draw, dict(learned(synthesizer).inputs), WEIGHTS)
    each = each_by_hand(name, draw)
    np.testing.assert_allclose(found["weighted_loglik"], [(WEIGHTS * each).sum()], rtol=1e-12)
    predictor = design_by_hand() @ draw["beta"]
    if name == "multinomial":
        odds = np.exp(predictor[np.linspace(0, COUNT - 1, 13).astype(int)])
        shares = odds / (1 + odds.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(found["predictive_probability"], shares.ravel(), rtol=1e-12)
        return
    watched = predictor[np.linspace(0, COUNT - 1, 26).astype(int)]
    mean = watched if name == "normal" else np.exp(watched)
    variance = {"normal": np.full(26, 0.49), "poisson": mean, "negative": mean + 0.4 * mean**2}[name]
    np.testing.assert_allclose(found["predictive_mean"], mean, rtol=1e-12)
    np.testing.assert_allclose(found["predictive_variance"], variance, rtol=1e-12)


@pytest.mark.parametrize("name", ["normal", "poisson", "negative"])
def test_a_record_of_weight_0_cannot_spoil_the_log_likelihood(name):
    synthesizer, draw = made(name), DRAWS[name]
    inputs = dict(learned(synthesizer).inputs)
    outcome = np.array(inputs["outcome"])
    outcome[3] = np.inf
    assert synthesizer.functionals
    found = jax.jit(synthesizer.functionals)(draw, {**inputs, "outcome": outcome}, WEIGHTS)
    assert np.isfinite(found["weighted_loglik"]).all()


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("weights", [np.ones(COUNT), WEIGHTS, np.zeros(COUNT)], ids=["ones", "some", "zeros"])
def test_starts_are_inside_the_model_near_each_other_and_better_than_nothing(name, weights):
    synthesizer = made(name)
    inputs = dict(learned(synthesizer).inputs)
    assert synthesizer.start
    first, second = (jax.jit(synthesizer.start)(jax.random.key(seed), inputs, weights) for seed in (1, 2))
    # The Cholesky factor of a correlation matrix and positive numbers: else the density would not be finite.
    density = density_of(synthesizer, inputs, first)
    assert np.isfinite(density)
    if weights.all():
        assert density > density_of(synthesizer, inputs, {**first, "beta": jnp.zeros_like(first["beta"])})
    assert not np.array_equal(first["beta"], second["beta"])
    # Jittered by 0.05 each.
    np.testing.assert_allclose(first["beta"], second["beta"], atol=5 * 0.05 * np.sqrt(2))


def test_the_normal_start_is_weighted_least_squares():
    synthesizer = normal_linear("wage", ["hours"])
    inputs = learned(synthesizer).inputs
    assert synthesizer.start
    root = np.sqrt(WEIGHTS)
    by_hand = np.linalg.lstsq(root[:, None] * inputs["design"], root * inputs["outcome"])[0]
    start = synthesizer.start(jax.random.key(0), inputs, jnp.asarray(WEIGHTS))
    np.testing.assert_allclose(start["beta"], by_hand, atol=5 * 0.05)


# Predictions.


def test_normal_predictions_have_the_mean_and_spread_of_the_regression_in_units_of_the_data():
    synthesizer = normal_linear("wage", "hours + region")
    known = learned(synthesizer)
    values, outside = predictions(synthesizer, DRAWS["normal"], known.inputs, 4000)
    wage = PEOPLE["wage"].to_numpy()
    mean = wage.mean() + wage.std() * (design_by_hand() @ DRAWS["normal"]["beta"])
    # A tenth of the spread of the outcome, and a twentieth of that of the noise.
    error = 0.7 * wage.std() / np.sqrt(4000)
    assert_agrees(values.mean(axis=0), mean, error, detects=wage.std() / 10)
    assert_spread(((values - mean) / wage.std()).ravel(), 0.7, detects=0.05)
    assert not outside.any()
    assert known.facts["centre"] == known.inputs["centre"] == pytest.approx(wage.mean())


def test_log_normal_predictions_are_brought_back():
    synthesizer = made("normal")
    known = learned(synthesizer)
    values, _ = predictions(synthesizer, DRAWS["normal"], known.inputs, 500)
    logs = np.log(PEOPLE["wage"])
    mean = design_by_hand() @ DRAWS["normal"]["beta"]
    noise = ((np.log(values) - logs.mean()) / logs.std(ddof=0) - mean) / 0.7
    # A spread that is off by a seventh.
    assert_distribution(noise.ravel(), stats.norm.cdf, other=stats.norm(0, 8 / 7).cdf)


def test_levels_are_drawn_with_their_probabilities():
    synthesizer = made("multinomial")
    known = learned(synthesizer)
    values, _ = predictions(synthesizer, DRAWS["multinomial"], known.inputs, 4000)
    odds = np.exp(np.column_stack([np.zeros(COUNT), design_by_hand() @ DRAWS["multinomial"]["beta"]]))
    for code in range(3):
        share = odds[:, code] / odds.sum(axis=1)
        error = np.sqrt(share * (1 - share) / 4000)
        assert_agrees((values == code).mean(axis=0), share, error, detects=0.07)
    assert synthesizer.levels
    assert synthesizer.levels(known) == {"job": ("c", "a", "b")}
    assert known.facts["levels"] == ("c", "a", "b")


# The declared support.


@pytest.mark.parametrize("transform", ["identity", "log"])
def test_amounts_stay_within_the_declared_support(transform):
    draw = {"beta": np.array([0.0]), "sigma": np.array(1.0)}
    synthesizer = normal_linear("wage", transform=transform, lower=8, upper=20)
    known = learned(synthesizer)
    values, outside = predictions(synthesizer, draw, known.inputs, 400)
    assert values.min() >= 8
    assert values.max() <= 20
    move = np.log if transform == "log" else np.asarray
    law = stats.norm(known.facts["centre"], known.facts["scale"])
    low, high = law.cdf(move(8)), law.cdf(move(20))
    uniform = (law.cdf(move(values.ravel())) - low) / (high - low)
    # A seventh of the spread lower than it should be.
    at = law.mean() - law.std() / 7
    assert_distribution(
        uniform,
        stats.uniform.cdf,
        other=lambda share: stats.norm(at, law.std()).cdf(law.ppf(low + share * (high - low))),
    )
    np.testing.assert_allclose(outside, 1 - (high - low), rtol=1e-9)
    wage = PEOPLE["wage"]
    assert known.facts["records_outside"] == ((wage < 8) | (wage > 20)).sum()


# What is learned, and what is refused.


@pytest.mark.parametrize("name", DRAWS)
def test_a_missing_sensitive_value_becomes_a_harmless_number(name):
    column = made(name).sensitive[0]
    gap = PEOPLE[column].astype("Int64" if column == "children" else PEOPLE[column].dtype).where(PEOPLE.index != 3)
    synthesizer = made(name)
    inputs = learned(synthesizer, PEOPLE.assign(**{column: gap})).inputs
    assert np.isfinite(inputs["outcome"]).all()
    assert len(inputs["design"]) == COUNT
    assert np.isfinite(density_of(synthesizer, inputs, DRAWS[name]))


@pytest.mark.parametrize("name", DRAWS)
def test_facts_are_plain_values_that_name_the_design(name):
    facts = learned(made(name)).facts
    assert facts["design"]["names"] == ("Intercept", "hours", "region[S]", "region[W]")
    assert not any(isinstance(value, np.ndarray) for value in [*facts.values(), *facts["design"].values()])


def problem_of(synthesizer: Synthesizer, frame: pd.DataFrame = PEOPLE):
    with pytest.raises(InputError) as caught:
        learned(synthesizer, frame)
    return str(caught.value)


@pytest.mark.parametrize("maker", [poisson, negative_binomial])
def test_counts_must_be_whole_numbers_from_0_up(maker):
    for bad in (-7.0, 2.125):
        frame = PEOPLE.assign(children=PEOPLE["children"].where(PEOPLE.index != 5, bad))
        problem = problem_of(maker("children"), frame)
        assert "'children' is not a whole number, 0 or larger, in 1 record(s), the first in row 6" in problem
        assert "7" not in problem
        assert "125" not in problem
    infinite = PEOPLE.assign(children=PEOPLE["children"].where(PEOPLE.index != 5, np.inf))
    assert "'children' is infinite in row 6" in problem_of(maker("children"), infinite)
    assert "not numeric" in problem_of(maker("region"))
    assert "Did you mean 'children'?" in problem_of(maker("childen"))
    assert "missing in every record" in problem_of(maker("children"), PEOPLE.assign(children=np.nan))
    assert "'children' is also a predictor" in problem_of(maker("children", ["children"]))


def test_amounts_must_be_numbers_that_fit_the_transform():
    for bad in (0.0, -7.0):
        frame = PEOPLE.assign(wage=PEOPLE["wage"].where(PEOPLE.index != 5, bad))
        problem = problem_of(normal_linear("wage", transform="log"), frame)
        assert "'wage' is not positive in 1 record(s), the first in row 6" in problem
    assert "not numeric" in problem_of(normal_linear("job"))
    assert "Did you mean 'wage'?" in problem_of(normal_linear("wages"))
    assert "the same for every record" in problem_of(normal_linear("wage"), PEOPLE.assign(wage=3.0))
    assert "missing in every record" in problem_of(normal_linear("wage"), PEOPLE.assign(wage=np.nan))
    infinite = PEOPLE.assign(wage=PEOPLE["wage"].where(PEOPLE.index != 5, -np.inf))
    assert "'wage' is infinite in row 6" in problem_of(normal_linear("wage"), infinite)


def test_a_categorical_column_needs_two_levels():
    assert "fewer than two levels" in problem_of(multinomial("job"), PEOPLE.assign(job="c"))
    assert "fewer than two levels" in problem_of(multinomial("job"), PEOPLE.assign(job=None))
    many = pd.DataFrame({"job": [f"job {number}" for number in range(501)]})
    assert "501 levels, more than 500" in problem_of(multinomial("job"), many)
    assert "Did you mean 'job'?" in problem_of(multinomial("jobs"))


@pytest.mark.parametrize("maker", [normal_linear, poisson, negative_binomial])
@pytest.mark.parametrize(
    ("lower", "upper", "argument"),
    [(3, 3, "lower"), (4, 3, "lower"), (np.nan, 3, "lower"), (None, "9", "upper"), (True, None, "lower")],
)
def test_supports_that_are_refused(maker, lower, upper, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        maker("wage", lower=lower, upper=upper)


@pytest.mark.parametrize(
    ("maker", "settings", "argument"),
    [
        (poisson, {"lower": 2.2, "upper": 2.9}, "upper"),
        (poisson, {"upper": -3}, "upper"),
        (negative_binomial, {"lower": 2.5, "upper": 3.5}, "upper"),
        (normal_linear, {"transform": "sqrt"}, "transform"),
        (normal_linear, {"transform": "log", "upper": 0}, "upper"),
        (normal_linear, {"prior_scale": 0}, "prior_scale"),
        (normal_linear, {"prior_scale": np.inf}, "prior_scale"),
    ],
)
def test_settings_that_are_refused(maker, settings, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        maker("wage", **settings)


def test_breaks_and_kinds_reach_the_design():
    synthesizer = poisson("children", ["hours"], breaks={"hours": [30, 40]})
    assert learned(synthesizer).facts["design"]["names"][1:] == ("hours[30 to under 40]", "hours[40 and over]")
    as_kind = multinomial("job", ["children"], kinds={"children": "count"})
    assert learned(as_kind).inputs["design"].shape == (COUNT, 2)
