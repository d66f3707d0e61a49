"""The mixture: its sampler's density against NumPyro's, its predictions against closed forms."""

import subprocess
import sys
import textwrap
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from jax.scipy.special import logsumexp
from numpyro.distributions import biject_to, constraints
from numpyro.infer.util import potential_energy
from scipy import stats

from molehill import InputError, weighted
from molehill.models import semicontinuous, tdp_engine, tdp_mixture
from molehill.models.tdp_mixture import (
    balanced_uniforms,
    log_mass_between,
    mixture_functionals,
    mixture_model,
    predict_mixture,
)
from molehill.tables.table import Table

COMPONENTS, SIZE, RECORDS = 3, 3, 40


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(new_val=True):
        yield


def make_inputs(seed=0):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(RECORDS), rng.normal(size=RECORDS), rng.integers(0, 2, RECORDS)])
    outcome = design @ [0.2, 0.5, -0.3] + rng.normal(size=RECORDS)
    return {"design": design, "outcome": outcome, "weights": rng.uniform(0, 1, RECORDS) * (np.arange(RECORDS) != 7)}


def random_mixture(key):
    keys = jax.random.split(key, 6)
    return tdp_engine.Mixture(
        jax.random.normal(keys[0], (COMPONENTS, SIZE)),
        0.5 * jax.random.normal(keys[1], (COMPONENTS,)),
        jnp.log(jax.random.dirichlet(keys[2], jnp.ones(COMPONENTS))) + 0.05,
        0.3 * jax.random.normal(keys[3]),
        0.5 * jax.random.normal(keys[4], (SIZE,)),
        0.5 * jax.random.normal(keys[5], (SIZE * (SIZE - 1) // 2,)),
    )


@pytest.mark.parametrize(("priors", "least_sigma"), [("paper", 0.0), ("weak", 0.1)])
def test_density_of_the_sampler_is_that_of_the_numpyro_model(priors, least_sigma):
    """Both, carried over by the Jacobian of the whole map between their coordinates, differ by a constant only."""
    raw = make_inputs()
    inputs = {name: jnp.asarray(v) for name, v in tdp_engine.prepare(raw, least_sigma=least_sigma).items()}
    model = partial(mixture_model, components=COMPONENTS, priors=priors, least_sigma=least_sigma)
    arguments = {"design": inputs["design"], "outcome": inputs["outcome"]}
    differences = []
    for number in range(4):
        mixture = random_mixture(jax.random.key(number))
        target = tdp_engine.joint_target(jax.random.key(10 + number), mixture, inputs, priors)

        def unconstrained(position, target=target):
            moved = target.restore(position)
            u, _ = tdp_engine._stretch(moved.v, moved.log_gamma)
            total = logsumexp(u)
            sites = tdp_engine._sites(moved, inputs)
            values = {
                "beta": sites["beta"],
                "sigma": moved.log_excess,
                "tau": moved.log_tau,
                "gamma": moved.log_gamma,
                "omega": moved.correlations,
                "pi": biject_to(constraints.simplex).inv(jnp.exp(u - total)),
            }
            return values, total

        def flat(position, unconstrained=unconstrained):
            values, total = unconstrained(position)
            return jnp.concatenate([jnp.ravel(values[name]) for name in sorted(values)] + [total[None]])

        values, total = unconstrained(target.position)
        _, log_determinant = jnp.linalg.slogdet(jax.jacrev(flat)(target.position))
        theirs = -potential_energy(weighted(model, inputs["weights"]), (), arguments, values)
        log_pi, _ = tdp_engine._log_pi(mixture.v, mixture.log_gamma)
        exact = jnp.stack(
            tdp_engine._occupancy(tdp_engine._log_sigma(mixture.log_excess, inputs), log_pi, inputs["total"])
        )
        # What the sampler adds on purpose: the narrow normal of the total, and the auxiliary copies.
        key_copy = tdp_engine.NOISE * jax.random.normal(jax.random.key(10 + number), exact.shape)
        added = -0.5 * (total / tdp_engine.TOTAL_SD) ** 2 - 0.5 * (key_copy**2).sum() / tdp_engine.NOISE**2
        differences.append(float(target.log_density(target.position) - added - log_determinant - theirs))
    assert np.ptp(differences) < 1e-8


def test_position_and_parameters_go_there_and_back():
    inputs = {k: jnp.asarray(v) for k, v in tdp_engine.prepare(make_inputs(), least_sigma=0.1).items()}
    mixture = random_mixture(jax.random.key(3))
    target = tdp_engine.joint_target(jax.random.key(4), mixture, inputs, "weak")
    for before, after in zip(mixture, target.restore(target.position), strict=True):
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-10)


def test_gradient_written_by_hand_is_the_derivative():
    inputs = {k: jnp.asarray(v) for k, v in tdp_engine.prepare(make_inputs(), least_sigma=0.0).items()}
    target = tdp_engine.joint_target(jax.random.key(5), random_mixture(jax.random.key(6)), inputs, "paper")
    gradient = jax.grad(target.log_density)(target.position)
    for place in range(len(gradient)):
        step = jnp.zeros_like(gradient).at[place].set(1e-5)
        slope = (target.log_density(target.position + step) - target.log_density(target.position - step)) / 2e-5
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-5, atol=1e-5)


def test_records_of_weight_zero_are_left_out_of_the_likelihood():
    raw = make_inputs()
    kept = raw["weights"] > 0
    less = {name: value[kept] for name, value in raw.items()}
    mixture = random_mixture(jax.random.key(1))
    values = []
    for chosen in (raw, less):
        inputs = {k: jnp.asarray(v) for k, v in tdp_engine.prepare(chosen, least_sigma=0.0).items()}
        log_pi, _ = tdp_engine._log_pi(mixture.v, mixture.log_gamma)
        values.append(float(tdp_engine.weighted_loglik(mixture.b, mixture.log_excess, log_pi, inputs)))
    assert values[0] == pytest.approx(values[1], abs=1e-10)


def test_collinear_columns_do_not_break_the_whitening():
    raw = make_inputs()
    raw["design"] = np.column_stack([raw["design"], raw["design"][:, 1]])
    prepared = tdp_engine.prepare(raw, least_sigma=0.0)
    assert np.isfinite(prepared["white"]).all()
    np.testing.assert_allclose(
        prepared["white"] @ prepared["factor"], raw["design"][raw["weights"] > 0], rtol=0, atol=1e-8
    )


DRAW = {
    "pi": np.array([0.7, 0.3, 0.0]),
    "beta": np.array([[0.5, 0.0], [-1.0, 0.5], [50.0, 0.0]]),
    "sigma": np.array([0.4, 1.2, 0.1]),
}


def predicted(
    membership: Any = "prior",
    transform: Any = "identity",
    support=(-np.inf, np.inf),
    outcome=None,
    n=40_000,
    noise: Any = "independent",
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
    how = {"membership": membership, "noise": noise, "transform": transform, "support": support}

    def predict(key):
        result = predict_mixture(key, draw, inputs, column="y", **how)
        return result.values["y"], result.outside

    values, outside = jax.jit(jax.vmap(predict))(jax.random.split(jax.random.key(8), tables))
    return np.asarray(values.squeeze()), float(outside[0])


def mixture_cdf(x):
    # At the row (1, 2) the components are N(0.5, 0.4) and N(0, 1.2) on the standardised scale, y = 10 + 2 t.
    t = (np.asarray(x) - 10) / 2
    return 0.7 * stats.norm.cdf(t, 0.5, 0.4) + 0.3 * stats.norm.cdf(t, 0.0, 1.2)


def test_prior_membership_draws_from_the_mixture():
    values, outside = predicted()
    assert outside == 0.0
    assert stats.kstest(values, mixture_cdf).pvalue > 1e-3


def test_values_are_drawn_from_the_truncated_mixture_and_the_mass_cut_off_is_told():
    values, outside = predicted(support=(9.0, 12.0))
    low, high = mixture_cdf(9.0), mixture_cdf(12.0)
    assert outside == pytest.approx(1 - (high - low), abs=1e-12)
    assert values.min() >= 9
    assert values.max() <= 12
    assert stats.kstest(values, lambda x: (mixture_cdf(np.clip(x, 9, 12)) - low) / (high - low)).pvalue > 1e-3


def test_posterior_membership_keeps_a_record_in_its_component():
    outcome = np.full(20_000, 0.5)
    weights = np.array([0.7 * stats.norm.pdf(0.5, 0.5, 0.4), 0.3 * stats.norm.pdf(0.5, 0.0, 1.2)])
    share = weights / weights.sum()
    values, _ = predicted("posterior", outcome=outcome, n=20_000)
    standard = (values - 10) / 2

    def cdf(x):
        return share[0] * stats.norm.cdf(x, 0.5, 0.4) + share[1] * stats.norm.cdf(x, 0.0, 1.2)

    assert stats.kstest(standard, cdf).pvalue > 1e-3
    # A value that only the wide component can explain stays with it.
    far, _ = predicted("posterior", outcome=np.full(20_000, -3.0), n=20_000)
    assert stats.kstest((far - 10) / 2, stats.norm(0.0, 1.2).cdf).pvalue > 1e-3


def test_balanced_numbers_are_uniform_for_each_record_and_even_for_a_block():
    means = jnp.asarray(np.random.default_rng(1).permutation(70) % 64 * 1.0)
    draw = jax.jit(jax.vmap(lambda key: balanced_uniforms(key, means)))
    numbers = np.asarray(draw(jax.random.split(jax.random.key(2), 4000)))
    # Sorted by the means (ties lie within the first block): blocks of 32, 32 and 6, one number from each part.
    ordered = numbers[:, np.argsort(np.asarray(means), kind="stable")]
    for start, end in ((0, 32), (32, 64), (64, 70)):
        parts = np.sort(np.floor((end - start) * ordered[:, start:end]), axis=1)
        assert (parts == np.arange(end - start)).all()
    # By itself every record's number is uniform, and two of different blocks know nothing of each other.
    smallest = min(stats.kstest(numbers[:, record], "uniform").pvalue for record in range(70))
    assert smallest > 1e-3 / 70
    first, last = np.argmin(np.asarray(means)), np.argmax(np.asarray(means))
    assert abs(np.corrcoef(numbers[:, first], numbers[:, last])[0, 1]) < 4 / np.sqrt(4000)
    assert 0 <= float(balanced_uniforms(jax.random.key(3), jnp.zeros(1))[0]) < 1


@pytest.mark.parametrize("membership", ["prior", "posterior"])
def test_balanced_noise_leaves_each_record_its_distribution_and_makes_the_table_even(membership):
    outcome = np.tile([0.5, -3.0], 100)
    tables = {
        noise: predicted(membership, outcome=outcome, n=200, noise=noise, tables=300)[0]
        for noise in ("independent", "balanced")
    }
    for record in (0, 1):
        one, other = (tables[noise][:, record::2].ravel()[::40] for noise in tables)
        same: Any = stats.ks_2samp(one, other)
        assert same.pvalue > 1e-3
    below = {noise: (values < 11).mean(axis=1) for noise, values in tables.items()}
    assert below["balanced"].mean() == pytest.approx(below["independent"].mean(), abs=0.01)
    # Of a table's share below a value, more than half of the chance is gone.
    assert below["balanced"].std() < 0.5 * below["independent"].std()
    values, _ = predicted(membership, outcome=outcome, n=200, noise="balanced", support=(9.0, 12.0))
    assert values.min() >= 9
    assert values.max() <= 12


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
    np.testing.assert_allclose(log_mass_between(jnp.asarray(ends[:, 0]), jnp.asarray(ends[:, 1])), expected, rtol=1e-9)


def test_functionals_by_hand():
    inputs = {"design": np.array([[1.0, 2.0], [1.0, 0.0]]), "outcome": np.array([0.3, 9.0])}
    draw = {name: jnp.asarray(value) for name, value in DRAW.items()}
    told = mixture_functionals(draw, {k: jnp.asarray(v) for k, v in inputs.items()}, jnp.array([0.5, 0.0]))
    assert told["predictive_mean"][0] == pytest.approx(0.7 * 0.5)
    assert told["predictive_variance"][0] == pytest.approx(0.7 * (0.25 + 0.16) + 0.3 * 1.44 - 0.35**2)
    density = 0.7 * stats.norm.pdf(0.3, 0.5, 0.4) + 0.3 * stats.norm.pdf(0.3, 0.0, 1.2)
    assert told["weighted_loglik"][0] == pytest.approx(0.5 * np.log(density))


def test_start_from_a_draw_is_that_draw():
    raw = make_inputs()
    plain = {k: jnp.asarray(v) for k, v in tdp_engine.prepare(raw, least_sigma=0.1).items()}
    sites = tdp_engine._sites(random_mixture(jax.random.key(2)), plain)
    inputs = plain | {f"start.{name}": value[None] for name, value in sites.items()}
    started = tdp_engine._sites(tdp_engine._start_from_draw(jax.random.key(0), inputs, COMPONENTS), plain)
    for name, value in sites.items():
        np.testing.assert_allclose(started[name], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"components": 0}, "components"),
        ({"components": 2.5}, "components"),
        ({"membership": "both"}, "membership"),
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
        learn(incomes([10, 0, 30]))
    learned = tdp_mixture("income", transform="signed").learn
    assert learned is not None
    np.testing.assert_allclose(learned(incomes([10, 0, -30])).inputs["outcome"].mean(), 0.0, atol=1e-12)


def test_semicontinuous_parts_speak_of_their_own_records():
    parts = semicontinuous("income", lower=-100, upper=1000).parts(incomes([10, 0, -30, 20, np.nan]))
    learned = {name: part.learn(incomes([10, 0, -30, 20, np.nan])) for name, part in parts.items() if part.learn}
    assert list(parts) == ["sign", "negative", "positive"]
    assert learned["sign"].facts["levels"] == ("negative", "zero", "positive")
    assert learned["positive"].applies is not None
    assert learned["positive"].applies.tolist() == [True, False, False, True, False]
    assert learned["negative"].applies is not None
    assert learned["negative"].applies.tolist() == [False, False, True, False, False]
    assert learned["negative"].facts["support"] == (-np.inf, 100.0)
    assert "negative" not in semicontinuous("income").parts(incomes([10, 0]))
    with pytest.raises(InputError, match="column: all values of 'income' are positive"):
        semicontinuous("income").parts(incomes([10, 20]))
    with pytest.raises(InputError, match="lower: the support leaves zero out"):
        semicontinuous("income", lower=1)


def test_a_fit_with_a_hundred_predictors_ends():
    # Chains that filled JAX's pool of threads waited for each other for ever; a process can be given up on.
    code = """
        import warnings
        import numpy as np, pandas as pd
        from molehill import fit, models
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(1)
        names = [f"x{i}" for i in range(100)]
        data = pd.DataFrame(rng.normal(size=(1500, 100)), columns=names).assign(pay=rng.lognormal(size=1500))
        synthesizer = models.tdp_mixture("pay", names, components=3)
        print(fit(synthesizer, data, seed=1, warmup=1, draws=1, patience=0).draws["beta"].shape)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.stdout.strip() == "(2, 1, 3, 101)"
