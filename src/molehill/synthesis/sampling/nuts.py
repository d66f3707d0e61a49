"""NUTS with Stan's warm-up for any NumPyro model."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpyro import handlers
from numpyro.infer import init_to_uniform
from numpyro.infer.util import compute_log_probs, constrain_fn, potential_energy, unconstrain_fn

from molehill.errors import InputError
from molehill.synthesis.sampling.chains import Engine, Pytree, Sweep, choose
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Synthesizer
from molehill.synthesis.weighting import weight_likelihood

FIRST_STEP = 0.1
ACCEPT = 0.8
DEEPEST_TREE = 10


class NutsState(NamedTuple):
    """A chain and its tuning."""

    chain: Any
    step: Any
    metric: Any
    inverse_mass: jax.Array
    key: jax.Array
    sweep: jax.Array


def nuts_engine(
    log_density: Callable[[Any, Pytree], jax.Array],
    start: Callable[[jax.Array, Pytree], Any],
    report: Callable[[Any, Pytree], tuple[Mapping[str, jax.Array], Mapping[str, jax.Array]]],
    *,
    name: str = "nuts",
    warmup: int = 500,
    draws: int = 500,
    accept: float = ACCEPT,
) -> Engine:
    """NUTS with a diagonal metric, tuned by Stan's windowed schedule.

    Parameters
    ----------
    log_density
        Log density of a position (a pytree of unconstrained arrays), given the inputs.
    start
        Initial position.
    report
        Sites and functionals of a position.
    name, warmup, draws
        As in `Engine`.
    accept
        Target acceptance probability; higher means smaller steps.
    """
    # Imported here because BlackJAX initializes JAX, which fixes the number of devices.
    from blackjax.adaptation.mass_matrix import mass_matrix_adaptation  # noqa: PLC0415
    from blackjax.adaptation.step_size import dual_averaging_adaptation  # noqa: PLC0415
    from blackjax.adaptation.window_adaptation import build_schedule  # noqa: PLC0415
    from blackjax.mcmc import hmc, nuts  # noqa: PLC0415

    kernel: Callable[..., tuple[Any, Any]] = nuts.build_kernel()
    step_start, step_update, step_final = dual_averaging_adaptation(accept)
    metric_start, metric_update, metric_final = mass_matrix_adaptation(is_diagonal_matrix=True)
    schedule = build_schedule(warmup)

    def begin(key: jax.Array, inputs: Pytree) -> NutsState:
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

    def sweep(state: NutsState, inputs: Pytree) -> tuple[NutsState, Sweep]:
        key, key_move = jax.random.split(state.key)
        warm = state.sweep < warmup
        stage, window_ends = schedule[jnp.minimum(state.sweep, warmup - 1)]
        size = jnp.where(warm, jnp.exp(state.step.log_step_size), step_final(state.step))
        chain, info = kernel(
            key_move, state.chain, lambda z: log_density(z, inputs), size, state.inverse_mass, DEEPEST_TREE
        )
        step = step_update(state.step, jnp.nan_to_num(info.acceptance_rate))
        metric = choose(stage == 1, metric_update(state.metric, chain.position), state.metric)
        ended = metric_final(metric)
        metric = choose(window_ends == 1, ended, metric)
        step = choose(window_ends == 1, step_start(step_final(step)), step)
        inverse_mass = jnp.where(window_ends == 1, ended.inverse_mass_matrix, state.inverse_mass)
        before = (state.step, state.metric, state.inverse_mass)
        step, metric, inverse_mass = choose(warm, (step, metric, inverse_mass), before)
        sites, functionals = report(chain.position, inputs)
        result = Sweep(sites, functionals, info.acceptance_rate, info.is_divergent, info.num_integration_steps)
        return NutsState(chain, step, metric, inverse_mass, key, state.sweep + 1), result

    return Engine(name, begin, sweep, warmup, draws)


START_DRAWS = 20
START_STEPS = 300


class _Prepared(NamedTuple):
    """The records, and the collapsed records from which the density is computed, if any."""

    records: Data
    collapsed: Data | None = None

    @property
    def few(self) -> Data:
        """The records from which the density is computed."""
        return self.records if self.collapsed is None else self.collapsed


def model_engine(
    synthesizer: Synthesizer,
    data: Data,
    *,
    warmup: int = 500,
    draws: int = 500,
    accept: float = ACCEPT,
    moved: Callable[..., Any] | None = None,
    move: Callable[[Draw, Inputs], Draw] | None = None,
    collapse: Callable[[Data], Data] | None = None,
) -> Engine:
    """NUTS on the unconstrained sites of a model; only `collapse` looks at values of the data.

    `moved` is the same model in coordinates that suit NUTS better, with the sites of the model among its own or as
    deterministic ones; `move` transforms starting values accordingly. `collapse` combines records without changing the
    density, as `collapse_records` does; functionals then get the weighted log-likelihood as `likelihood`.
    """
    model = moved or synthesizer.model
    prepare = _prepare_once(data, collapse)
    prepared = prepare(data)

    def log_density(position: Any, prepared: _Prepared) -> jax.Array:
        few = prepared.few
        return jnp.negative(potential_energy(weight_likelihood(model, few.weights), (), dict(few.inputs), position))

    def report(position: Any, prepared: _Prepared) -> tuple[Mapping[str, jax.Array], Mapping[str, jax.Array]]:
        data, few = prepared.records, prepared.few
        sites = constrain_fn(model, (), dict(few.inputs), position, return_deterministic=True)
        watched: Callable[..., Any] = synthesizer.functionals or _watch_all(model)
        if collapse is None:
            return sites, watched(sites, data.inputs, data.weights)
        likelihood = _weighted_loglik(model, sites, few.inputs, few.weights)
        return sites, watched(sites, data.inputs, data.weights, likelihood=likelihood)

    def guess(key: jax.Array, prepared: _Prepared) -> Any:
        few = prepared.few
        guessed = _guess_sites(handlers.seed(weight_likelihood(model, few.weights), key), few.inputs)
        return unconstrain_fn(model, (), dict(few.inputs), guessed)

    template = jax.eval_shape(guess, jax.random.key(0), prepared)
    shapes = jax.tree.map(jnp.shape, template)

    def start(key: jax.Array, prepared: _Prepared) -> Any:
        data, arguments = prepared.records, dict(prepared.few.inputs)
        if data.start:
            chosen = jax.random.randint(key, (), 0, START_DRAWS)
            return unconstrain_fn(model, (), arguments, {name: data.start[name][chosen] for name in shapes})
        if synthesizer.start is not None:
            sites = synthesizer.start(key, dict(data.inputs), data.weights)
            return unconstrain_fn(model, (), arguments, dict(move(sites, arguments) if move else sites))
        keys = jax.random.split(key, len(shapes))
        position = {
            name: jax.random.uniform(sub, shapes[name], minval=-0.5, maxval=0.5)
            for name, sub in zip(shapes, keys, strict=True)
        }
        return _climb(lambda z: log_density(z, prepared), position)

    def everything(position: Any, key: jax.Array, prepared: _Prepared) -> Any:
        return log_density(position, prepared), report(position, prepared), start(key, prepared)

    program = _write_out(jax.make_jaxpr(everything)(template, jax.random.key(0), prepared))
    name = f"nuts {accept} {program}"
    engine = nuts_engine(log_density, start, report, name=name, warmup=warmup, draws=draws, accept=accept)
    return engine._replace(prepare=prepare, by_record=_by_record)


def _prepare_once(data: Data, collapse: Callable[[Data], Data] | None) -> Callable[[Data], _Prepared]:
    """A function that prepares data; the result for `data` is computed once."""

    def prepare(given: Data) -> _Prepared:
        return _Prepared(given, None if collapse is None else collapse(given))

    prepared = prepare(data)
    return lambda given: prepared if given is data else prepare(given)


def _by_record(prepared: _Prepared) -> Any:
    """Mark the arrays with one row per record."""
    few, records = prepared.few, np.shape(prepared.few.weights)
    of_few = few._replace(
        inputs={name: np.shape(value)[:1] == records for name, value in few.inputs.items()},
        weights=True,
        start=dict.fromkeys(few.start, False),
    )
    if prepared.collapsed is None:
        return _Prepared(of_few)
    return _Prepared(jax.tree.map(lambda _: False, prepared.records), of_few)


def _guess_sites(model: Callable[..., Any], arguments: Inputs) -> dict[str, Any]:
    """Initial values of all latent sites, also for improper priors."""
    guessed = {}
    trace = handlers.trace(handlers.substitute(model, substitute_fn=init_to_uniform))
    for name, site in trace.get_trace(**arguments).items():
        if site["type"] == "sample" and not site["is_observed"]:
            if site["fn"].support.is_discrete:
                problem = f"the latent site {name!r} is discrete, but NUTS needs continuous sites"
                raise InputError("model", problem, "Marginalize it, for example with MixtureSameFamily")
            guessed[name] = site["value"]
    return guessed


def _write_out(program: Any) -> str:
    """Text of a traced program, with a checksum of captured arrays, which the text omits."""
    digest = hashlib.sha256()
    for constant in program.consts:
        digest.update(np.asarray(constant).tobytes())
    return re.sub("0x[0-9a-f]+", "", str(program)) + digest.hexdigest()


def _climb(log_density: Callable[[Any], jax.Array], position: Any) -> Any:
    """Starting values from some steps of Adam towards the mode."""
    adam = optax.adam(0.05)

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        now, memory = carry
        slope = jax.tree.map(lambda g: -jnp.nan_to_num(g), jax.grad(log_density)(now))
        change, memory = adam.update(slope, memory)
        return (optax.apply_updates(now, change), memory), None

    (position, _), _ = jax.lax.scan(step, (position, adam.init(position)), None, length=START_STEPS)
    return position


def _watch_all(model: Callable[..., Any]) -> Callable[..., Mapping[str, jax.Array]]:
    """Monitor every site and the weighted log-likelihood, for models without label switching."""

    def watch(
        sites: Draw, arguments: Inputs, weights: jax.Array, likelihood: jax.Array | None = None
    ) -> Mapping[str, jax.Array]:
        likelihood = _weighted_loglik(model, sites, arguments, weights) if likelihood is None else likelihood
        return {name: jnp.ravel(value) for name, value in sites.items()} | {"weighted_loglik": likelihood[None]}

    return watch


def _weighted_loglik(model: Callable[..., Any], sites: Draw, arguments: Inputs, weights: jax.Array) -> jax.Array:
    logs, trace = compute_log_probs(weight_likelihood(model, weights), (), dict(arguments), dict(sites))
    return jnp.stack([value for name, value in logs.items() if trace[name]["is_observed"]]).sum()
