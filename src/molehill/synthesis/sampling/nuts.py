"""NUTS with Stan's warm-up as an engine: for any model, always available."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
from blackjax.adaptation.step_size import dual_averaging_adaptation
from blackjax.adaptation.window_adaptation import build_schedule
from blackjax.mcmc import hmc, nuts
from numpyro import handlers
from numpyro.infer import init_to_uniform
from numpyro.infer.util import compute_log_probs, constrain_fn, potential_energy, unconstrain_fn

from molehill.errors import InputError
from molehill.synthesis.sampling.chains import Engine, Inputs, Sweep
from molehill.synthesis.synthesizer import Draw, Synthesizer
from molehill.synthesis.weighting import weighted

# First, because importing BlackJAX starts JAX, which cannot be given more devices after that.

# isort: split

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


WEIGHTS = "weights"
START = "start."
START_DRAWS = 20
START_STEPS = 300


def model_engine(
    synthesizer: Synthesizer,
    inputs: Inputs,
    *,
    warmup: int = 500,
    draws: int = 500,
    accept: float = ACCEPT,
    moved: Callable[..., Any] | None = None,
    move: Callable[[Draw, Inputs], Draw] | None = None,
) -> Engine:
    """NUTS on the unconstrained sites of the model; only the shapes of the inputs are looked at here.

    `moved` is the same model in coordinates that NUTS finds easier, with the sites of the model among its own or as
    deterministic ones; `move` turns sites to start from into those of the moved model.
    """
    model = moved or synthesizer.model

    def of_model(inputs: Inputs) -> tuple[dict[str, Any], Any]:
        own = {name: value for name, value in inputs.items() if name != WEIGHTS and not name.startswith(START)}
        return own, inputs[WEIGHTS]

    def log_density(position: Any, inputs: Inputs) -> jax.Array:
        arguments, weights = of_model(inputs)
        return jnp.negative(potential_energy(weighted(model, weights), (), arguments, position))

    def report(position: Any, inputs: Inputs) -> tuple[Mapping[str, jax.Array], Mapping[str, jax.Array]]:
        arguments, weights = of_model(inputs)
        sites = constrain_fn(model, (), arguments, position, return_deterministic=True)
        watched = synthesizer.functionals or _watch_all(model)
        return sites, watched(sites, arguments, weights)

    def guess(key: jax.Array, inputs: Inputs) -> Any:
        arguments, weights = of_model(inputs)
        guessed = _guess_sites(handlers.seed(weighted(model, weights), key), arguments)
        return unconstrain_fn(model, (), arguments, guessed)

    template = jax.eval_shape(guess, jax.random.key(0), dict(inputs))
    shapes = jax.tree.map(jnp.shape, template)

    def start(key: jax.Array, inputs: Inputs) -> Any:
        arguments, weights = of_model(inputs)
        if any(name.startswith(START) for name in inputs):
            chosen = jax.random.randint(key, (), 0, START_DRAWS)
            return unconstrain_fn(model, (), arguments, {name: inputs[START + name][chosen] for name in shapes})
        if synthesizer.start is not None:
            sites = synthesizer.start(key, arguments, weights)
            return unconstrain_fn(model, (), arguments, dict(move(sites, arguments) if move else sites))
        keys = jax.random.split(key, len(shapes))
        position = {
            name: jax.random.uniform(sub, shapes[name], minval=-0.5, maxval=0.5)
            for name, sub in zip(shapes, keys, strict=True)
        }
        return _climb(lambda z: log_density(z, inputs), position)

    def everything(position: Any, key: jax.Array, inputs: Inputs) -> Any:
        return log_density(position, inputs), report(position, inputs), start(key, inputs)

    program = _write_out(jax.make_jaxpr(everything)(template, jax.random.key(0), dict(inputs)))
    name = f"nuts {accept} {program}"
    return nuts_engine(log_density, start, report, name=name, warmup=warmup, draws=draws, accept=accept)


def _guess_sites(model: Callable[..., Any], arguments: Inputs) -> dict[str, Any]:
    """Give a value to every latent site, also where nothing can be drawn from its prior."""
    guessed = {}
    trace = handlers.trace(handlers.substitute(model, substitute_fn=init_to_uniform))
    for name, site in trace.get_trace(**arguments).items():
        if site["type"] == "sample" and not site["is_observed"]:
            if site["fn"].support.is_discrete:
                problem = f"the latent site {name!r} is discrete, and NUTS needs continuous ones"
                raise InputError("model", problem, "Sum it out, as with MixtureSameFamily")
            guessed[name] = site["value"]
    return guessed


def _write_out(program: Any) -> str:
    """Give a traced program as text, with a checksum of the arrays that it captured, which the text leaves out."""
    digest = hashlib.sha256()
    for constant in program.consts:
        digest.update(np.asarray(constant).tobytes())
    return re.sub("0x[0-9a-f]+", "", str(program)) + digest.hexdigest()


def _climb(log_density: Callable[[Any], jax.Array], position: Any) -> Any:
    """Climb towards the mode for a while, to start where the mass is."""
    adam = optax.adam(0.05)

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        now, memory = carry
        slope = jax.tree.map(lambda g: -jnp.nan_to_num(g), jax.grad(log_density)(now))
        change, memory = adam.update(slope, memory)
        return (optax.apply_updates(now, change), memory), None

    (position, _), _ = jax.lax.scan(step, (position, adam.init(position)), None, length=START_STEPS)
    return position


def _watch_all(model: Callable[..., Any]) -> Callable[[Draw, Inputs, jax.Array], Mapping[str, jax.Array]]:
    """Watch every site and the weighted log-likelihood: for a model whose labels do not switch."""

    def watch(sites: Draw, arguments: Inputs, weights: jax.Array) -> Mapping[str, jax.Array]:
        logs, trace = compute_log_probs(weighted(model, weights), (), dict(arguments), dict(sites))
        observed = jnp.stack([value for name, value in logs.items() if trace[name]["is_observed"]])
        return {name: jnp.ravel(value) for name, value in sites.items()} | {"weighted_loglik": observed.sum()[None]}

    return watch
