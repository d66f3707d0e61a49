"""A sampler for the TDP mixture of regressions: exact, and fast whichever components are occupied.

Hamiltonian Monte Carlo on all parameters at once, in coordinates in which the posterior is close to a standard normal.
Two things make that so.

1. Coordinates of the coefficients between centred and non-centred. With b = W beta (the design whitened by its weighted
   QR factor W) and S = W D Omega D W' the prior covariance of b, component k is written

       b_k = (S^-1 + s_k I)^(-1/2) z_k.

   This is non-centred, S^(1/2) z, where the prior dominates, and centred, z / sqrt(s_k), where the data do; s_k is
   about n_k / sigma_k^2. D and Omega can then move freely at fixed z.
2. A metric that follows the labels. s_k and n_k cannot be tuned constants, because labels switch, nor functions of the
   moving state. They are auxiliary variables: noisy copies of log(1 + n_k) and log(2 + n_k / sigma_k^2), drawn before
   each trajectory and held fixed, with their density as part of the target. The posterior of the parameters is
   unchanged, and only the step size needs tuning.

pi = softmax(u); log sum exp(u) has an arbitrary narrow normal of its own, independent of pi. Below V0, where a
component is empty, u stretches with K / gamma, which takes away the funnel between gamma and the empty components.
Omega has the
coordinates of its canonical partial correlations.

A sweep is: a random walk of gamma given pi; a cheap trajectory of (pi, gamma) given the component densities; and one
trajectory of everything.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from numpyro.distributions.transforms import CorrCholeskyTransform

from molehill.synthesis.collapsing import number_rows, padded_number
from molehill.synthesis.sampling.chains import MOST_SHARDS, Engine, Sweep, choose, shards, share_records
from molehill.synthesis.synthesizer import Data, Inputs

Priors = Literal["weak", "paper"]

# Standard deviation of the auxiliary copies: small enough that the metric fits, large enough that labels may switch.
NOISE = 0.5
# Added to every precision, so that the metric of an empty component is that of its prior.
LEAST_PRECISION = 2.0
# Below V0 a component is empty (e^-10 of the records) and u stretches; BEND is how sharply the stretch sets in.
V0, BEND = -10.0, 2.0
# Standard deviation of the free direction of u.
TOTAL_SD = 0.1
# Initial step size; tuning restarts after RESTART sweeps, when the chain has left its start.
FIRST_STEP, RESTART = 0.15, 50
# Leapfrog steps and target acceptance of the trajectory of all parameters, and of (pi, gamma), whose gradient is cheap.
# Chosen by effective draws per second on the CE sample.
STEPS, TARGET = 14, 0.65
PI_STEPS, PI_TARGET = 10, 0.8
# Occasional small steps, so that a chain leaves regions where the tuned step size is rejected.
SMALL_CHANCE, SMALL_SHARE = 0.05, 0.3
# Components and iterations of the EM that gives starting values.
START_COMPONENTS, START_ITERATIONS = 4, 30
# Maximum number of records of that EM, approximately.
START_RECORDS = 20_000
# The likelihood is summed over blocks of BLOCK records, for the processor's cache; fewer records are one block, padded
# to a multiple of ROUND.
BLOCK, ROUND = 256, 64
# Records with equal design rows can be grouped, so many of them, to share the product with the coefficients. The
# product with COLUMNS design columns takes as long as the rest of the work per record; records are grouped if this
# reduces the cost by the factor GAIN (measured on the built-in survey).
TOGETHER, COLUMNS, GAIN = (4, 8, 16), 32, 0.9
# Relative ridge of the weighted QR, for collinear columns.
RIDGE = 1e-6

# Inputs divided into blocks.
BLOCKED = ("white", "counted_outcome", "counted_weights")

SITES = ("pi", "beta", "sigma", "gamma", "tau", "omega")


class Mixture(NamedTuple):
    """The parameters, in whitened and unconstrained coordinates."""

    b: jax.Array
    log_excess: jax.Array
    v: jax.Array
    log_gamma: jax.Array
    log_tau: jax.Array
    correlations: jax.Array


class MixtureState(NamedTuple):
    """A chain and its tuning."""

    mixture: Mixture
    joint_step: Any
    pi_step: Any
    key: jax.Array
    sweep: jax.Array


def tdp_engine(
    report: Callable[[dict[str, jax.Array], Inputs, jax.Array], dict[str, jax.Array]],
    *,
    components: int,
    priors: Priors,
    least_sigma: float,
    warmup: int,
    draws: int = 1200,
) -> Engine:
    """The engine of a mixture of normal regressions.

    Parameters
    ----------
    report
        Functionals of the sites (pi, beta, sigma, gamma, tau, omega), given the inputs and the weighted log-likelihood.
    components
        K.
    priors
        "paper": half-t(3, 0, 1) for sigma and D; "weak": half-normal(0, 1), on the standardized scale.
    least_sigma
        Minimum standard deviation of a component; the prior applies to the excess.
    warmup, draws
        As in `molehill.synthesis.sampling.chains.Engine`.
    """

    def start(key: jax.Array, inputs: Inputs) -> MixtureState:
        key_start, key_run = jax.random.split(key)
        start = _start_from_draw if "start.pi" in inputs else _start
        mixture = start(key_start, inputs, components)
        joint, pi = (_tuning(target)[0](FIRST_STEP) for target in (TARGET, PI_TARGET))
        return MixtureState(mixture, joint, pi, key_run, jnp.zeros((), jnp.int64))

    def sweep(state: MixtureState, inputs: Inputs) -> tuple[MixtureState, Sweep]:
        key, key_gamma, key_pi, key_joint = jax.random.split(state.key, 4)
        mixture = _walk_gamma(key_gamma, state.mixture)
        mixture, pi_step, _ = _move_pi(key_pi, mixture, state, inputs, warmup)
        mixture, joint_step, info = _move_all(key_joint, mixture, state, inputs, warmup, priors)
        sites = _sites(mixture, inputs)
        log_pi, _ = _log_pi(mixture.v, mixture.log_gamma)
        likelihood = weighted_loglik(mixture.b, _log_sigma(mixture.log_excess, inputs), log_pi, inputs)
        functionals = report(sites, inputs, likelihood)
        result = Sweep(sites, functionals, info["accept"], info["divergent"], info["gradients"])
        return MixtureState(mixture, joint_step, pi_step, key, state.sweep + 1), result

    name = f"tdp {components} {priors} {least_sigma}"
    return Engine(name, start, sweep, warmup, draws, partial(prepare, least_sigma=least_sigma), _by_record)


def _by_record(prepared: Inputs) -> dict[str, bool]:
    """Mark the inputs divided into blocks of records, if their number suits any number of devices."""
    even = len(prepared["white"]) % MOST_SHARDS == 0
    return {name: even and name in BLOCKED for name in prepared}


# BlackJAX is imported in functions because it initializes JAX, which fixes the number of devices.


def _tuning(target: float) -> Any:
    from blackjax.adaptation.step_size import dual_averaging_adaptation  # noqa: PLC0415

    return dual_averaging_adaptation(target)


def _hmc() -> Any:
    from blackjax.mcmc import hmc  # noqa: PLC0415

    return hmc


def prepare(data: Data, *, least_sigma: float) -> Inputs:
    """Whiten the design by its weighted QR factor, drop records of weight 0, and divide the others into blocks.

    Blocks, and their number, are padded with records of weight 0, so that fits to similar numbers of records share
    compiled code. A block has a design row per record or, if records with equal rows are grouped, per 4, 8 or 16
    records.
    """
    design, outcome = (np.asarray(data.inputs[name], dtype=np.float64) for name in ("design", "outcome"))
    weights = np.asarray(data.weights, dtype=np.float64)
    total = weights.sum()
    rooted = np.vstack([design * np.sqrt(weights)[:, None], np.sqrt(RIDGE * total) * np.eye(design.shape[1])])
    factor = np.linalg.qr(rooted, mode="r") / np.sqrt(total)
    counted = np.flatnonzero(weights > 0)
    rows, places, together = _stand_together(design[counted])
    number = max(len(rows) * together, 1)
    padded = padded_number(number, BLOCK if number > BLOCK else ROUND)
    block = min(padded, BLOCK)

    def parted(values: np.ndarray, places: Any, each: int) -> np.ndarray:
        filled = np.zeros((padded // each, *values.shape[1:]))
        filled[places] = values
        return filled.reshape(padded // block, block // each, *values.shape[1:])

    white = np.linalg.solve(factor.T, design[counted[rows]].T).T
    return {
        **data.inputs,
        **{f"start.{site}": values for site, values in data.start.items()},
        "weights": weights,
        "white": parted(white, slice(len(white)), together),
        "counted_outcome": parted(outcome[counted], places, 1),
        "counted_weights": parted(weights[counted], places, 1),
        "factor": factor,
        "total": np.float64(total),
        "least_sigma": np.float64(least_sigma),
    }


def _stand_together(design: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Group records with equal design rows, if that is faster.

    Returns the record that gives each group its row, the position of every record, and the size of a group.
    """
    codes, first = number_rows(design)
    sizes = np.bincount(codes)

    def cost(together: int) -> float:
        return float((-(-sizes // together)).sum() * (together + design.shape[1] / COLUMNS))

    together = min(TOGETHER, key=cost)
    if cost(together) > GAIN * cost(1):
        return np.arange(len(design)), np.arange(len(design)), 1
    groups = -(-sizes // together)
    begins = (np.cumsum(groups) - groups) * together
    places = np.empty(len(design), dtype=np.int64)
    places[np.argsort(codes, kind="stable")] = np.arange(len(design)) + np.repeat(
        begins - np.cumsum(sizes) + sizes, sizes
    )
    return np.repeat(first, groups), places, together


def _sites(mixture: Mixture, inputs: Inputs) -> dict[str, jax.Array]:
    log_pi, _ = _log_pi(mixture.v, mixture.log_gamma)
    omega, _ = _correlation_factor(mixture.correlations, mixture.b.shape[1])
    return {
        "pi": jnp.exp(log_pi),
        "beta": jnp.linalg.solve(inputs["factor"], mixture.b.T).T,
        "sigma": jnp.exp(_log_sigma(mixture.log_excess, inputs)),
        "gamma": jnp.exp(mixture.log_gamma),
        "tau": jnp.exp(mixture.log_tau),
        "omega": omega,
    }


def _log_sigma(log_excess: jax.Array, inputs: Inputs) -> jax.Array:
    return jnp.log(inputs["least_sigma"] + jnp.exp(log_excess))


# The likelihood and its gradient in one pass, block by block.


@jax.custom_vjp
def weighted_loglik(b: jax.Array, log_sigma: jax.Array, log_pi: jax.Array, inputs: Inputs) -> jax.Array:
    """Sum over the records of weight * log sum_k pi_k N(y; x b_k, sigma_k)."""
    return _loglik_forward(b, log_sigma, log_pi, inputs)[0]


def _loglik_forward(b: jax.Array, log_sigma: jax.Array, log_pi: jax.Array, inputs: Inputs) -> tuple[jax.Array, Any]:
    inverse = jnp.exp(-log_sigma)[:, None]

    def of_block(white: jax.Array, outcome: jax.Array, weights: jax.Array) -> tuple[jax.Array, ...]:
        residual = (outcome - _centres(b, white, len(outcome))) * inverse
        logs = (log_pi - log_sigma)[:, None] - 0.5 * residual * residual
        highest = logs.max(axis=0)
        parts = jnp.exp(logs - highest)
        whole = parts.sum(axis=0)
        share = parts * (weights / whole)
        pull = share * residual
        to_b = _by_row(pull, len(white)) @ white
        return weights @ (highest + jnp.log(whole)), to_b, (pull * residual).sum(axis=1), share.sum(axis=1)

    value, to_b, to_sigma, shares = _sum_blocks(of_block, _blocks(inputs))
    return value - 0.5 * np.log(2 * np.pi) * inputs["total"], (to_b * inverse, to_sigma - shares, shares)


def _centres(b: jax.Array, white: jax.Array, records: int) -> jax.Array:
    """Centres x b_k of the records of a block, computed once per group: (components, records)."""
    centres = b @ white.T
    return centres if len(white) == records else jnp.repeat(centres, records // len(white), axis=1)


def _by_row(values: jax.Array, rows: int) -> jax.Array:
    """Sum over the records that share a row."""
    return values if values.shape[1] == rows else values.reshape(len(values), rows, -1).sum(axis=2)


def _blocks(inputs: Inputs) -> tuple[jax.Array, ...]:
    return tuple(inputs[name] for name in BLOCKED)


def _sum_blocks(of_block: Callable[..., tuple[jax.Array, ...]], blocks: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    """Sum a function over the blocks of records, first within devices that share them."""
    if len(blocks[0]) == 1:
        return of_block(*(part[0] for part in blocks))

    def add(summed: tuple[jax.Array, ...], block: tuple[jax.Array, ...]) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, summed, of_block(*block)), None

    def sum_own(blocks: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        shapes = jax.eval_shape(of_block, *(part[0] for part in blocks))
        nothing = jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), shapes)
        return jax.lax.scan(add, nothing, blocks)[0]

    own = _own_blocks(blocks)
    return sum_own(blocks) if own is None else jax.tree.map(lambda sums: sums.sum(axis=0), jax.vmap(sum_own)(own))


def _map_blocks(of_block: Callable[[Any], jax.Array], blocks: tuple[jax.Array, ...]) -> jax.Array:
    """Map a function over the blocks of records."""
    own = _own_blocks(blocks)
    if own is None:
        return jax.lax.map(of_block, blocks)
    made = jax.vmap(lambda own: jax.lax.map(of_block, own))(own)
    return share_records(made.reshape(-1, *made.shape[2:]))


def _own_blocks(blocks: tuple[jax.Array, ...]) -> tuple[jax.Array, ...] | None:
    """The blocks by device, (devices, blocks, ...); None without sharding."""
    number, devices = len(blocks[0]), shards()
    if devices == 1 or number % devices:
        return None
    return tuple(share_records(part.reshape(devices, number // devices, *part.shape[1:])) for part in blocks)


def _loglik_backward(gradients: Any, tangent: jax.Array) -> tuple[Any, ...]:
    return (*(tangent * gradient for gradient in gradients), None)


weighted_loglik.defvjp(_loglik_forward, _loglik_backward)


@jax.custom_vjp
def _shares_loglik(pi: jax.Array, density: jax.Array, weights: jax.Array) -> jax.Array:
    """Sum over the records of weight * log sum_k pi_k density_k, of blocks (components, records)."""
    return _shares_forward(pi, density, weights)[0]


def _shares_forward(pi: jax.Array, density: jax.Array, weights: jax.Array) -> tuple[jax.Array, Any]:
    def of_block(density: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        whole = pi @ density
        return weights @ jnp.log(whole), density @ (weights / whole)

    value, gradient = _sum_blocks(of_block, (density, weights))
    return value, gradient


def _shares_backward(gradient: jax.Array, tangent: jax.Array) -> tuple[Any, ...]:
    return tangent * gradient, None, None


_shares_loglik.defvjp(_shares_forward, _shares_backward)


# The prior of the coefficients in the coordinates z.


@jax.custom_vjp
def _interweave(z: jax.Array, covariance: jax.Array, precision: jax.Array) -> tuple[jax.Array, jax.Array]:
    """b_k = (S^-1 + s_k I)^(-1/2) z_k, and log N(b; 0, S) + log |db/dz| up to a constant."""
    return _interweave_forward(z, covariance, precision)[0]


def _interweave_forward(z: jax.Array, covariance: jax.Array, precision: jax.Array) -> tuple[Any, Any]:
    values, vectors = jnp.linalg.eigh(covariance, symmetrize_input=False)
    values = jnp.maximum(values, 1e-14)
    spread = 1 + precision[:, None] * values
    root = jnp.sqrt(values / spread)
    turned = z @ vectors
    log_prior = -0.5 * (jnp.log(spread) + turned * turned / spread).sum()
    return ((turned * root) @ vectors.T, log_prior), (vectors, spread, root, turned, precision)


def _interweave_backward(kept: Any, tangents: Any) -> tuple[Any, ...]:
    # The derivative of a matrix function (Daleckii and Krein), with divided differences in closed form, because the
    # derivative of eigh is infinite at equal eigenvalues.
    vectors, spread, root, turned, precision = kept
    to_b, to_prior = tangents
    turned_b, scaled = to_b @ vectors, turned / spread
    a = turned_b / spread
    pairs = a[:, :, None] * scaled[:, None, :] + scaled[:, :, None] * a[:, None, :]
    inner = 0.5 * (pairs / (root[:, :, None] + root[:, None, :])).sum(axis=0)
    of_prior = (scaled * precision[:, None]).T @ scaled - jnp.diag((precision[:, None] / spread).sum(axis=0))
    inner += 0.5 * to_prior * of_prior
    return (turned_b * root - to_prior * scaled) @ vectors.T, vectors @ inner @ vectors.T, None


_interweave.defvjp(_interweave_forward, _interweave_backward)


def _scale_coefficients(
    b: jax.Array, mixture: Mixture, precision: jax.Array, inputs: Inputs, power: float
) -> jax.Array:
    """(S^-1 + s_k I)^power b_k: from b to z with power 1/2, and back with -1/2."""
    covariance, _ = _prior_covariance(mixture.log_tau, mixture.correlations, inputs)
    values, vectors = jnp.linalg.eigh(covariance)
    root = (1 / jnp.maximum(values, 1e-14) + precision[:, None]) ** power
    return ((b @ vectors) * root) @ vectors.T


def _prior_covariance(log_tau: jax.Array, correlations: jax.Array, inputs: Inputs) -> tuple[jax.Array, jax.Array]:
    factor, log_prior = _correlation_factor(correlations, log_tau.shape[0])
    root = inputs["factor"] @ (jnp.exp(log_tau)[:, None] * factor)
    return root @ root.T, log_prior


def _correlation_shapes(size: int) -> np.ndarray:
    """Shapes of the beta densities of the canonical partial correlations under LKJ(1)."""
    _, column = np.tril_indices(size, -1)
    return 1 + (size - 2 - column) / 2.0


def _correlation_factor(correlations: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """Cholesky factor of Omega from its partial correlations, and their log prior with the Jacobian."""
    rows, columns = np.tril_indices(size, -1)
    index = np.full((size, size), len(rows))
    index[rows, columns] = np.arange(len(rows))
    square = jnp.append(correlations, 0.0)[index]
    scale = jnp.exp(-(_log_cosh(square) @ np.triu(np.ones((size, size)), 1)))
    factor = jnp.tril(jnp.tanh(square) * scale, -1) + jnp.diag(jnp.diag(scale))
    return factor, -(2 * _correlation_shapes(size) * _log_cosh(correlations)).sum()


def _log_cosh(x: jax.Array) -> jax.Array:
    size = jnp.abs(x)
    return size + jnp.log1p(jnp.exp(-2 * size)) - np.log(2.0)


def _log_scale_prior(log_x: jax.Array, priors: Priors) -> jax.Array:
    """Density of log x, up to a constant, for x half-t(3, 0, 1) or half-normal(0, 1)."""
    if priors == "paper":
        return (log_x - 2 * jnp.log1p(jnp.exp(2 * log_x) / 3)).sum()
    return (log_x - 0.5 * jnp.exp(2 * log_x)).sum()


# Shares and their concentration.


def _stretch(v: jax.Array, log_gamma: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The share coordinate u of v, and the log Jacobian; below V0 the slope is 1 + K / gamma."""
    slope, x = v.shape[0] * jnp.exp(-log_gamma), BEND * (V0 - v)
    return v - slope * jax.nn.softplus(x) / BEND, jnp.log1p(slope * jax.nn.sigmoid(x)).sum()


def _unstretch(u: jax.Array, log_gamma: jax.Array) -> jax.Array:
    """The inverse v of u by Newton's method, which converges from the left: the function is increasing and concave."""
    slope = u.shape[0] * jnp.exp(-log_gamma)
    v = jnp.where(u > V0, u, V0 + (u - V0) / (1 + slope)) - 1.0

    def step(_: Any, v: jax.Array) -> jax.Array:
        x = BEND * (V0 - v)
        return v - (v - slope * jax.nn.softplus(x) / BEND - u) / (1 + slope * jax.nn.sigmoid(x))

    return jax.lax.fori_loop(0, 15, step, v)


def _log_pi(v: jax.Array, log_gamma: jax.Array) -> tuple[jax.Array, jax.Array]:
    u, jacobian = _stretch(v, log_gamma)
    total = logsumexp(u)
    return u - total, jacobian - 0.5 * (total / TOTAL_SD) ** 2


def _log_dirichlet(log_pi: jax.Array, log_gamma: jax.Array) -> jax.Array:
    """Dirichlet(gamma / K) in softmax coordinates times Gamma(1, 1) of gamma in log coordinates."""
    number, gamma = log_pi.shape[0], jnp.exp(log_gamma)
    shares = gamma / number * log_pi.sum() + gammaln(gamma) - number * gammaln(gamma / number)
    return shares - gamma + log_gamma


def _occupancy(log_sigma: jax.Array, log_pi: jax.Array, total: jax.Array) -> tuple[jax.Array, jax.Array]:
    number = total * jnp.exp(log_pi)
    return jnp.log1p(number), jnp.log(LEAST_PRECISION + number * jnp.exp(-2 * log_sigma))


def _share_masses(occupancy: jax.Array, total: jax.Array) -> tuple[jax.Array, jax.Array]:
    number = jnp.clip(jnp.expm1(occupancy), 0.0, total)
    share = number / total
    return number, 1 / (number * jnp.maximum(1 - share, 0.1) + (share / TOTAL_SD) ** 2 + 4)


# The three moves of a sweep.


def _walk_gamma(key: jax.Array, mixture: Mixture) -> Mixture:
    steps, size = 8, 0.8
    u, _ = _stretch(mixture.v, mixture.log_gamma)
    log_pi = u - logsumexp(u)
    key_move, key_accept = jax.random.split(key)
    moves = size * jax.random.normal(key_move, (steps,))
    limits = jnp.log(jax.random.uniform(key_accept, (steps,)))

    def step(i: Any, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        log_gamma, value = now
        new = log_gamma + moves[i]
        new_value = _log_dirichlet(log_pi, new)
        accepted = limits[i] < new_value - value
        return jnp.where(accepted, new, log_gamma), jnp.where(accepted, new_value, value)

    first = _log_dirichlet(log_pi, mixture.log_gamma)
    log_gamma, _ = jax.lax.fori_loop(0, steps, step, (mixture.log_gamma, first))
    return mixture._replace(log_gamma=log_gamma, v=_unstretch(u, log_gamma))


def _move_pi(key: jax.Array, mixture: Mixture, state: MixtureState, inputs: Inputs, warmup: int) -> tuple[Any, ...]:
    """Move (pi, gamma) given the density of every record in every component."""
    key_noise, key_move = jax.random.split(key)
    log_pi, _ = _log_pi(mixture.v, mixture.log_gamma)
    log_sigma = _log_sigma(mixture.log_excess, inputs)
    occupancy, _ = _occupancy(log_sigma, log_pi, inputs["total"])
    copy = occupancy + NOISE * jax.random.normal(key_noise, occupancy.shape)

    def density_of(block: tuple[jax.Array, jax.Array]) -> jax.Array:
        white, outcome = block
        residual = (outcome - _centres(mixture.b, white, len(outcome))) * jnp.exp(-log_sigma)[:, None]
        logs = -log_sigma[:, None] - 0.5 * residual * residual
        return jnp.exp(logs - logs.max(axis=0))

    density = _map_blocks(density_of, _blocks(inputs)[:2])

    def log_density(position: jax.Array) -> jax.Array:
        log_pi, log_prior = _log_pi(position[:-1], position[-1])
        now, _ = _occupancy(log_sigma, log_pi, inputs["total"])
        likelihood = _shares_loglik(jnp.exp(log_pi), density, inputs["counted_weights"])
        return likelihood + log_prior + _log_dirichlet(log_pi, position[-1]) + _log_noise(copy, now)

    inverse_mass = jnp.append(_share_masses(copy, inputs["total"])[1], 0.1)
    position = jnp.append(mixture.v, mixture.log_gamma)
    tuning = (state.pi_step, PI_TARGET, PI_STEPS, state.sweep, warmup)
    position, accepted, step, info = _move(key_move, position, log_density, inverse_mass, tuning)
    moved = mixture._replace(v=position[:-1], log_gamma=position[-1])
    return choose(accepted, moved, mixture), step, info


class Trajectory(NamedTuple):
    """Target of a trajectory of all parameters: density, start, metric, and the inverse transformation."""

    log_density: Callable[[jax.Array], jax.Array]
    position: jax.Array
    inverse_mass: jax.Array
    restore: Callable[[jax.Array], Mixture]


def joint_target(key: jax.Array, mixture: Mixture, inputs: Inputs, priors: Priors) -> Trajectory:
    """Draw the auxiliary copies, and return the target of a trajectory with them held fixed."""
    components, size = mixture.b.shape
    total = inputs["total"]
    log_pi, _ = _log_pi(mixture.v, mixture.log_gamma)
    exact = jnp.stack(_occupancy(_log_sigma(mixture.log_excess, inputs), log_pi, total))
    copy = exact + NOISE * jax.random.normal(key, exact.shape)
    precision = jnp.maximum(jnp.exp(copy[1]) - LEAST_PRECISION, 0.0)
    ends = np.cumsum([components * size, components, components, 1, size])

    def split(position: jax.Array) -> Mixture:
        z, log_excess, v, log_gamma, log_tau, correlations = jnp.split(position, ends)
        return Mixture(z.reshape(components, size), log_excess, v, log_gamma[0], log_tau, correlations)

    def restore(position: jax.Array) -> Mixture:
        moved = split(position)
        return moved._replace(b=_scale_coefficients(moved.b, moved, precision, inputs, -0.5))

    def log_density(position: jax.Array) -> jax.Array:
        z, log_excess, v, log_gamma, log_tau, correlations = split(position)
        log_sigma = _log_sigma(log_excess, inputs)
        covariance, log_omega = _prior_covariance(log_tau, correlations, inputs)
        b, log_b = _interweave(z, covariance, precision)
        log_pi, log_v = _log_pi(v, log_gamma)
        scales = _log_scale_prior(log_tau, priors) + _log_scale_prior(log_excess, priors)
        prior = log_b + log_omega + log_v + scales + _log_dirichlet(log_pi, log_gamma)
        noise = _log_noise(copy, jnp.stack(_occupancy(log_sigma, log_pi, total)))
        return weighted_loglik(b, log_sigma, log_pi, inputs) + prior + noise

    z = _scale_coefficients(mixture.b, mixture, precision, inputs, 0.5)
    position = jnp.concatenate([jnp.ravel(part) for part in mixture._replace(b=z)])
    number, share_mass = _share_masses(copy[0], total)
    masses = [
        jnp.ones(components * size),
        1 / (2 * number + 2),
        share_mass,
        jnp.array([0.1]),
        jnp.full(size, 0.2),
        jnp.asarray(1 / (2 * _correlation_shapes(size))),
    ]
    return Trajectory(log_density, position, jnp.concatenate(masses), restore)


def _move_all(
    key: jax.Array, mixture: Mixture, state: MixtureState, inputs: Inputs, warmup: int, priors: Priors
) -> tuple[Any, ...]:
    key_noise, key_move = jax.random.split(key)
    target = joint_target(key_noise, mixture, inputs, priors)
    tuning = (state.joint_step, TARGET, STEPS, state.sweep, warmup)
    position, accepted, step, info = _move(key_move, target.position, target.log_density, target.inverse_mass, tuning)
    # A rejected trajectory leaves the parameters unchanged to the bit.
    return choose(accepted, target.restore(position), mixture), step, info


def _log_noise(copy: jax.Array, exact: jax.Array) -> jax.Array:
    return -0.5 * ((copy - exact) ** 2).sum() / NOISE**2


def _move(
    key: jax.Array,
    position: jax.Array,
    log_density: Callable[[jax.Array], jax.Array],
    inverse_mass: jax.Array,
    tuning: Any,
) -> tuple[jax.Array, jax.Array, Any, dict[str, Any]]:
    """One trajectory of random length, sometimes with small steps; the step size is tuned during warm-up."""
    step, target, steps, sweep, warmup = tuning
    begin, update, final = _tuning(target)
    step = choose(sweep == RESTART, begin(jnp.exp(step.log_step_size)), step)
    warm = sweep < warmup
    key_length, key_size, key_small, key_move = jax.random.split(key, 4)
    size = jnp.where(warm, jnp.exp(step.log_step_size), final(step))
    size *= jax.random.uniform(key_size, minval=0.9, maxval=1.1)
    small = jax.random.uniform(key_small) < SMALL_CHANCE
    size = jnp.where(small, SMALL_SHARE * size, size)
    length = jax.random.randint(key_length, (), (steps + 1) // 2, steps + steps // 2 + 1)
    hmc = _hmc()
    kernel: Callable[..., tuple[Any, Any]] = hmc.build_kernel()
    state, info = kernel(key_move, hmc.init(position, log_density), log_density, size, inverse_mass, length)
    accept = jnp.nan_to_num(info.acceptance_rate)
    step = choose(warm & ~small, update(step, accept), step)
    statistics = {"accept": accept, "divergent": info.is_divergent, "gradients": length + 1}
    return state.position, info.is_accepted, step, statistics


def _start_from_draw(key: jax.Array, inputs: Inputs, components: int) -> Mixture:
    """Start from a draw of another posterior, in the coordinates of this one."""
    chosen = jax.random.randint(key, (), 0, inputs["start.pi"].shape[0])
    pi, beta, sigma, gamma, tau, omega = (inputs[f"start.{site}"][chosen] for site in SITES)
    log_gamma = jnp.log(gamma)
    log_pi = jnp.log(jnp.maximum(pi, jnp.finfo(pi.dtype).tiny))
    size = tau.shape[0]
    correlations = jnp.asarray(CorrCholeskyTransform().inv(omega)) if size > 1 else jnp.zeros(0)
    v = _unstretch(log_pi, log_gamma)
    log_excess = jnp.log(jnp.maximum(sigma - inputs["least_sigma"], 1e-6))
    return Mixture(beta @ inputs["factor"].T, log_excess, v[:components], log_gamma, jnp.log(tau), correlations)


def _start(key: jax.Array, inputs: Inputs, components: int) -> Mixture:
    """Weighted EM with a ridge on a few components; the others start empty, from about their prior.

    The number of components and the initial split of the records (by residuals, their size, or a direction of the
    design) differ between chains, so that chains do not agree just because they started alike.
    """
    size = inputs["white"].shape[-1]
    places = np.arange(0, inputs["counted_weights"].size, max(inputs["counted_weights"].size // START_RECORDS, 1))
    together = inputs["counted_weights"].shape[1] // inputs["white"].shape[1]
    design = inputs["white"].reshape(-1, size)[places // together]
    outcome, weights = (inputs[f"counted_{name}"].ravel()[places] for name in ("outcome", "weights"))
    records = len(outcome)
    occupied = min(START_COMPONENTS, components)
    keys = jax.random.split(key, 8)
    weighted = design * weights[:, None]
    ridge = 0.5 * jnp.eye(size)
    centre = jnp.linalg.solve(design.T @ weighted + ridge, weighted.T @ outcome)
    residual = outcome - design @ centre
    along = design @ jax.random.normal(keys[5], (size,)) / np.sqrt(size)
    scores = jnp.stack([residual, jnp.abs(residual), along, 0.3 * jax.random.normal(keys[0], (records,))])
    score = jax.random.normal(keys[6], (4,)).at[3].set(1.0) @ scores
    groups = jax.random.randint(keys[7], (), 1, occupied + 1)
    group = jnp.argsort(jnp.argsort(score)) * groups // records
    shares = 0.8 * jax.nn.one_hot(group, occupied, dtype=outcome.dtype) + 0.2 / occupied

    def improve(_: Any, now: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        shares = now[0]
        part = shares * weights[:, None]
        number = part.sum(axis=0)
        pi = (number + 0.5) / (number + 0.5).sum()
        grams = jnp.einsum("nr,nk,ns->krs", design, part, design) + ridge
        b = jnp.linalg.solve(grams, jnp.einsum("nr,nk,n->kr", design, part, outcome)[..., None])[..., 0]
        residual = outcome[:, None] - design @ b.T
        sigma = jnp.sqrt(((part * residual**2).sum(axis=0) + 0.1) / (number + 1))
        logs = jnp.log(pi) - jnp.log(sigma) - 0.5 * (residual / sigma) ** 2
        return jax.nn.softmax(logs, axis=1), pi, b, sigma

    empty = (shares, jnp.ones(occupied), jnp.zeros((occupied, size)), jnp.ones(occupied))
    _, pi, b, sigma = jax.lax.fori_loop(0, START_ITERATIONS, improve, empty)
    from_prior = 0.5 * jax.random.normal(keys[1], (components, size)) @ inputs["factor"].T
    return Mixture(
        from_prior.at[:occupied].set(b),
        jnp.zeros(components).at[:occupied].set(jnp.log(jnp.maximum(sigma - inputs["least_sigma"], 0.05))),
        jnp.full(components, V0 - 0.5).at[:occupied].set(jnp.log(pi)),
        0.5 * jax.random.normal(keys[2]) - 0.5,
        np.log(0.5) + 0.3 * jax.random.normal(keys[3], (size,)),
        0.1 * jax.random.normal(keys[4], (size * (size - 1) // 2,)),
    )
