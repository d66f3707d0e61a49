"""The sampler of the mixture: its density is NumPyro's, its gradient the derivative, and it comes to an end."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from numpyro.distributions import biject_to, constraints
from numpyro.infer.util import potential_energy

from molehill.models import tdp_engine
from molehill.models.mixtures import mixture_model
from molehill.synthesis.synthesizer import Data
from molehill.synthesis.weighting import weight_likelihood
from processes import run_python

COMPONENTS, SIZE, RECORDS = 3, 3, 40


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(RECORDS), rng.normal(size=RECORDS), rng.integers(0, 2, RECORDS)])
    outcome = design @ [0.2, 0.5, -0.3] + rng.normal(size=RECORDS)
    weights = rng.uniform(0, 1, RECORDS) * (np.arange(RECORDS) != 7)
    return Data({"design": design, "outcome": outcome}, weights)


def prepared(data, least_sigma=0.0):
    return {name: jnp.asarray(value) for name, value in tdp_engine.prepare(data, least_sigma=least_sigma).items()}


# What is not compiled as a whole is compiled step by step, which takes longer than all else here.
@jax.jit
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


@pytest.mark.parametrize(("priors", "least_sigma"), [pytest.param("paper", 0.0, marks=pytest.mark.slow), ("weak", 0.1)])
def test_density_of_the_sampler_is_that_of_the_numpyro_model(priors, least_sigma):
    """Both, carried over by the Jacobian of the whole map between their coordinates, differ by a constant only."""
    model = partial(mixture_model, components=COMPONENTS, priors=priors, least_sigma=least_sigma)

    def difference(number, inputs):
        arguments = {"design": inputs["design"], "outcome": inputs["outcome"]}
        mixture, key_copy = random_mixture(jax.random.key(number)), jax.random.key(10 + number)
        target = tdp_engine.joint_target(key_copy, mixture, inputs, priors)

        def unconstrained(position):
            moved = target.restore(position)
            u, _ = tdp_engine._stretch(moved.v, moved.log_gamma)
            total = logsumexp(u)
            values = {
                "beta": tdp_engine._sites(moved, inputs)["beta"],
                "sigma": moved.log_excess,
                "tau": moved.log_tau,
                "gamma": moved.log_gamma,
                "omega": moved.correlations,
                "pi": biject_to(constraints.simplex).inv(jnp.exp(u - total)),
            }
            return values, total

        def flat(position):
            values, total = unconstrained(position)
            return jnp.concatenate([jnp.ravel(values[name]) for name in sorted(values)] + [total[None]])

        values, total = unconstrained(target.position)
        _, log_determinant = jnp.linalg.slogdet(jax.jacrev(flat)(target.position))
        theirs = -potential_energy(weight_likelihood(model, inputs["weights"]), (), arguments, values)
        # What the sampler adds on purpose: the narrow normal of the total, and the auxiliary copies.
        copies = jax.random.normal(key_copy, (2, COMPONENTS))
        added = -0.5 * (total / tdp_engine.TOTAL_SD) ** 2 - 0.5 * (copies**2).sum()
        return target.log_density(target.position) - added - log_determinant - theirs

    compiled, inputs = jax.jit(difference), prepared(make_data(), least_sigma)
    assert np.ptp([float(compiled(number, inputs)) for number in range(4)]) < 1e-8


def test_position_and_parameters_go_there_and_back():
    def there_and_back(mixture, inputs):
        target = tdp_engine.joint_target(jax.random.key(4), mixture, inputs, "weak")
        return target.restore(target.position)

    mixture = random_mixture(jax.random.key(3))
    for before, after in zip(mixture, jax.jit(there_and_back)(mixture, prepared(make_data(), 0.1)), strict=True):
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-10)


def test_gradient_written_by_hand_is_the_derivative():
    @jax.jit
    def gradient_and_slopes(mixture, inputs):
        target = tdp_engine.joint_target(jax.random.key(5), mixture, inputs, "paper")

        def slope(step):
            ends = (target.log_density(target.position + sign * step) for sign in (1, -1))
            return jnp.subtract(*ends) / 2e-5

        steps = 1e-5 * jnp.eye(target.position.size)
        return jax.grad(target.log_density)(target.position), jax.lax.map(slope, steps)

    gradient, slopes = gradient_and_slopes(random_mixture(jax.random.key(6)), prepared(make_data()))
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("records", [40, 2 * tdp_engine.BLOCK + 1])
def test_the_likelihood_in_blocks_is_the_sum_over_the_records(records):
    rng = np.random.default_rng(records)
    design = np.column_stack([np.ones(records), rng.normal(size=(records, 2))])
    outcome, weights = rng.normal(size=records), rng.uniform(0, 1, records)
    inputs = prepared(Data({"design": design, "outcome": outcome}, weights))
    assert inputs["white"].shape[:2] == inputs["counted_weights"].shape
    mixture = random_mixture(jax.random.key(1))
    log_pi, _ = tdp_engine._log_pi(mixture.v, mixture.log_gamma)

    def plain(b, log_sigma, log_pi):
        residual = (outcome[:, None] - design @ jnp.linalg.solve(inputs["factor"], b.T)) * jnp.exp(-log_sigma)
        return weights @ logsumexp(log_pi - log_sigma - 0.5 * residual**2 - 0.5 * np.log(2 * np.pi), axis=1)

    def blocked(b, log_sigma, log_pi):
        return tdp_engine.weighted_loglik(b, log_sigma, log_pi, inputs)

    point = (mixture.b, mixture.log_excess, log_pi)
    both = (jax.jit(jax.value_and_grad(f, (0, 1, 2)))(*point) for f in (blocked, plain))
    for ours, theirs in zip(*both, strict=True):
        jax.tree.map(lambda own, other: np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9), ours, theirs)


@pytest.mark.parametrize(("rows", "together"), [(1, 16), (40, 4), (900, 1)])
def test_records_that_share_a_row_have_the_likelihood_of_single_ones(rows, together):
    rng, size = np.random.default_rng(rows), 12
    design = rng.normal(size=(rows, size))[rng.integers(0, rows, 1100)]
    outcome, weights = rng.normal(size=1100), rng.uniform(0, 1, 1100) * (np.arange(1100) % 7 > 0)
    made = prepared(Data({"design": design, "outcome": outcome}, weights))
    records = made["counted_weights"].shape[1]
    assert records // made["white"].shape[1] == together
    assert float(made["counted_weights"].sum()) == pytest.approx(weights.sum(), rel=1e-13)
    # Every record with a weight stands at a row of its own design.
    stood = np.repeat(np.asarray(made["white"] @ made["factor"]), together, axis=1).reshape(-1, size)
    told = np.column_stack([stood, made["counted_outcome"].ravel(), made["counted_weights"].ravel()])
    there = np.column_stack([design, outcome, weights])
    for_both = [part[part[:, -1] > 0] for part in (told, there)]
    ours, theirs = (part[np.argsort(part[:, -1])] for part in for_both)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    keys = jax.random.split(jax.random.key(1), 3)
    point = (jax.random.normal(keys[0], (4, size)), jax.random.normal(keys[1], (4,)), jnp.full(4, np.log(0.25)))

    def plain(b, log_sigma, log_pi):
        residual = (outcome[:, None] - design @ jnp.linalg.solve(made["factor"], b.T)) * jnp.exp(-log_sigma)
        return weights @ logsumexp(log_pi - log_sigma - 0.5 * residual**2 - 0.5 * np.log(2 * np.pi), axis=1)

    def grouped(b, log_sigma, log_pi):
        return tdp_engine.weighted_loglik(b, log_sigma, log_pi, made)

    both = (jax.jit(jax.value_and_grad(f, (0, 1, 2)))(*point) for f in (grouped, plain))
    for own, other in zip(*both, strict=True):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-7), own, other)


def test_shares_move_by_the_gradient_of_their_likelihood():
    rng = np.random.default_rng(3)
    density, weights = rng.uniform(0, 1, (5, COMPONENTS, 64)), rng.uniform(0, 1, (5, 64))
    pi = jnp.array([0.5, 0.3, 0.2])

    def plain(pi):
        return jnp.sum(weights * jnp.log(jnp.einsum("k,bkn->bn", pi, density)))

    ours = jax.jit(jax.value_and_grad(tdp_engine._shares_loglik))(pi, jnp.asarray(density), jnp.asarray(weights))
    for own, other in zip(ours, jax.jit(jax.value_and_grad(plain))(pi), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)


def test_records_of_weight_zero_are_left_out_of_the_likelihood():
    data = make_data()
    kept = data.weights > 0
    less = Data({name: value[kept] for name, value in data.inputs.items()}, data.weights[kept])
    mixture = random_mixture(jax.random.key(1))

    @jax.jit
    def loglik(inputs):
        log_pi, _ = tdp_engine._log_pi(mixture.v, mixture.log_gamma)
        return tdp_engine.weighted_loglik(mixture.b, mixture.log_excess, log_pi, inputs)

    whole, part = (float(loglik(prepared(chosen))) for chosen in (data, less))
    assert whole == pytest.approx(part, abs=1e-10)


def test_collinear_columns_do_not_break_the_whitening():
    data = make_data()
    design = np.column_stack([data.inputs["design"], data.inputs["design"][:, 1]])
    made = tdp_engine.prepare(Data({**data.inputs, "design": design}, data.weights), least_sigma=0.0)
    assert np.isfinite(made["white"]).all()
    counted = made["counted_weights"] > 0
    np.testing.assert_allclose((made["white"] @ made["factor"])[counted], design[data.weights > 0], rtol=0, atol=1e-8)


def test_start_from_a_draw_is_that_draw():
    data = make_data()
    plain = prepared(data, 0.1)
    sites = jax.jit(tdp_engine._sites)(random_mixture(jax.random.key(2)), plain)
    inputs = prepared(data._replace(start={name: value[None] for name, value in sites.items()}), 0.1)

    @jax.jit
    def start(inputs):
        return tdp_engine._sites(tdp_engine._start_from_draw(jax.random.key(0), inputs, COMPONENTS), plain)

    started = start(inputs)
    for name, value in sites.items():
        np.testing.assert_allclose(started[name], value, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
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
    ended = run_python(code)
    assert ended.stdout.strip() == "(2, 1, 3, 101)", ended.stderr
