"""NUTS with Stan's warm-up as an engine: for any model, always available."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# First, because importing BlackJAX starts JAX, which cannot be given more devices after that.
from molehill.sampling import Engine, Inputs, Sweep

# isort: split
import jax
import jax.numpy as jnp
from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
from blackjax.adaptation.step_size import dual_averaging_adaptation
from blackjax.adaptation.window_adaptation import build_schedule
from blackjax.mcmc import hmc, nuts

FIRST_STEP = 0.1
ACCEPT = 0.8
DEEPEST_TREE = 10


class NutsState(NamedTuple):
    """A chain and its tuning."""

    chain: hmc.HMCState
    step: Any
    metric: Any
    inverse_mass: jax.Array
    key: jax.Array
    sweep: jax.Array


def nuts_engine(
    log_density: Callable[[Any, Inputs], jax.Array],
    start: Callable[[jax.Array, Inputs], Any],
    report: Callable[[Any, Inputs], tuple[Mapping[str, jax.Array], Mapping[str, jax.Array]]],
    *,
    name: str = "nuts",
    warmup: int = 500,
    draws: int = 500,
    accept: float = ACCEPT,
) -> Engine:
    """Make an engine of NUTS with a diagonal metric, tuned by Stan's schedule of windows.

    Parameters
    ----------
    log_density
        Of a position (a pytree of unconstrained arrays), given the inputs.
    start
        A position to start from.
    report
        Sites and functionals of a position.
    name, warmup, draws
        As in `Engine`.
    accept
        Mean acceptance that the step size is tuned for: more, for smaller steps, where the posterior has corners.
    """
    kernel: Callable[..., tuple[Any, Any]] = nuts.build_kernel()
    step_start, step_update, step_final = dual_averaging_adaptation(accept)
    metric_start, metric_update, metric_final = mass_matrix_adaptation(is_diagonal_matrix=True)
    schedule = build_schedule(warmup)

    def begin(key: jax.Array, inputs: Inputs) -> NutsState:
        key_start, key_run = jax.random.split(key)
        position = start(key_start, inputs)
        metric = metric_start(sum(leaf.size for leaf in jax.tree.leaves(position)))
        return NutsState(
            hmc.init(position, lambda z: log_density(z, inputs)),
            step_start(FIRST_STEP),
            metric,
            metric.inverse_mass_matrix,
            key_run,
            jnp.zeros((), jnp.int64),
        )

    def sweep(state: NutsState, inputs: Inputs) -> tuple[NutsState, Sweep]:
        key, key_move = jax.random.split(state.key)
        warm = state.sweep < warmup
        stage, window_ends = schedule[jnp.minimum(state.sweep, warmup - 1)]
        size = jnp.where(warm, jnp.exp(state.step.log_step_size), step_final(state.step))
        chain, info = kernel(
            key_move, state.chain, lambda z: log_density(z, inputs), size, state.inverse_mass, DEEPEST_TREE
        )
        step = step_update(state.step, jnp.nan_to_num(info.acceptance_rate))
        metric = _choose(stage == 1, metric_update(state.metric, chain.position), state.metric)
        ended = metric_final(metric)
        metric = _choose(window_ends == 1, ended, metric)
        step = _choose(window_ends == 1, step_start(step_final(step)), step)
        inverse_mass = jnp.where(window_ends == 1, ended.inverse_mass_matrix, state.inverse_mass)
        before = (state.step, state.metric, state.inverse_mass)
        step, metric, inverse_mass = _choose(warm, (step, metric, inverse_mass), before)
        sites, functionals = report(chain.position, inputs)
        told = Sweep(sites, functionals, info.acceptance_rate, info.is_divergent, info.num_integration_steps)
        return NutsState(chain, step, metric, inverse_mass, key, state.sweep + 1), told

    return Engine(name, begin, sweep, warmup, draws)


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b).astype(jnp.asarray(b).dtype), yes, no)
