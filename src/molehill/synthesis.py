"""From a synthesizer and weights to a posterior, and from a posterior to synthetic tables."""

import hashlib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
from numpyro import handlers
from numpyro.infer import init_to_uniform
from numpyro.infer.util import compute_log_probs, constrain_fn, potential_energy, unconstrain_fn
from numpyro.primitives import Messenger

from molehill.arguments import check_choice
from molehill.diagnostics import ConvergenceWarning, Diagnostics, diagnose, join_diagnostics
from molehill.errors import InputError
from molehill.frames import Table, as_table
from molehill.nuts import nuts_engine
from molehill.sampling import Engine, Inputs, sample
from molehill.schema import find_columns
from molehill.synthesizer import Composite, Draw, Learned, Prediction, Synthesizer

WEIGHTS = "weights"
START = "start."
START_DRAWS = 20
START_STEPS = 300


class _Weigh(Messenger):
    def __init__(self, model: Callable[..., Any], weights: Any) -> None:
        super().__init__(model)
        self.weights = weights

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "sample" or not msg["is_observed"] or _is_change_of_variables(msg):
            return
        shape, records = tuple(msg["fn"].batch_shape), jnp.shape(self.weights)
        if shape != records:
            raise InputError(
                "model",
                f"the observed site {msg['name']!r} has terms of shape {shape}, not one for each record {records}",
                "Sample it in a plate over the records, without .to_event, and with no other plate around it",
            )
        # A record of weight 0 is left out even where its density is zero or not a number.
        msg["fn"] = msg["fn"].mask(self.weights > 0)
        msg["scale"] = self.weights if msg.get("scale") is None else self.weights * msg["scale"]


def _is_change_of_variables(msg: Mapping[str, Any]) -> bool:
    """Whether a site is NumPyro's own log determinant of an unconstrained latent site: part of the prior."""
    return bool(msg["infer"].get("is_auxiliary")) and re.fullmatch("_.*_log_det", msg["name"]) is not None


def weighted(model: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    """Raise each observed record's likelihood to its weight, and touch nothing else.

    The pseudo posterior of the paper's equation 4: the product of `p(y_i | x_i, theta) ** weight_i` times the prior. A
    weight of 0 leaves the record out, 2 counts it twice.

    Parameters
    ----------
    model
        Any NumPyro model whose observed sites have one term per record.
    weights
        One number per record, from 0 up.

    Examples
    --------
    >>> import numpyro, numpyro.distributions as dist
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0, 1))
    ...     with numpyro.plate("records", len(y)):
    ...         numpyro.sample("y", dist.Normal(mean, 1), obs=y)
    >>> y, weights = jnp.array([0.5, 3.0]), jnp.array([1.0, 0.0])
    >>> one = potential_energy(weighted(model, weights), (y,), {}, {"mean": 0.1})
    >>> bool(jnp.allclose(one, potential_energy(model, (y[:1],), {}, {"mean": 0.1})))
    True
    """
    return _Weigh(model, weights)


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """A fitted synthesizer.

    Attributes
    ----------
    synthesizer, table, weights
        What was fitted, to what, and how each record counted.
    learned
        Everything that the synthesizer took from the table.
    draws
        Sites to arrays (chains, draws, ...).
    diagnostics
        Whether the draws can be trusted.
    outside
        Share of the predictive mass outside the declared support, which drawing cuts off.
    parts
        Of a synthesizer that has parts, the posterior of each; its sites are in `draws` too, as "part.site".
    """

    synthesizer: Synthesizer | Composite
    table: Table
    weights: np.ndarray
    learned: Learned
    draws: Mapping[str, np.ndarray]
    diagnostics: Diagnostics
    outside: float
    parts: Mapping[str, "Posterior"] = field(default_factory=dict)

    def __repr__(self) -> str:
        chains, draws = next(iter(self.draws.values())).shape[:2]
        state = "converged" if not self.diagnostics.problems else "NOT converged"
        return f"Posterior({', '.join(self.synthesizer.sensitive)}: {chains} chains x {draws} draws, {state})"


def fit(
    synthesizer: Synthesizer | Composite,
    data: Any,
    weights: Any = None,
    *,
    seed: int,
    chains: int = 2,
    warmup: int | None = None,
    draws: int | None = None,
    engine: Literal["default", "nuts"] = "default",
    checkpoint: str | Path | None = None,
    start_from: Posterior | None = None,
    progress: bool = True,
) -> Posterior:
    """Sample the pseudo posterior of a synthesizer, each record raised to its weight.

    Parameters
    ----------
    synthesizer
        One of `molehill.models`, or your own.
    data
        The confidential table.
    weights
        One number per record, from 0 up, as from `risk_weights`; without them every record counts fully.
    seed
        The same data, weights, settings, seed and versions give the same draws.
    chains, warmup, draws
        How many chains, and how many sweeps of each to tune and to keep; by default what the engine needs.
    engine
        "default" for the synthesizer's own sampler, "nuts" for NUTS with Stan's warm-up.
    checkpoint
        Folder for checkpoints: an interrupted call, made again, goes on where it stopped and ends with the same bytes.
    start_from
        A posterior of the same synthesizer and table under other weights: its draws are a good place to start.
    progress
        Show a bar with the time left, on a terminal.
    """
    table = as_table(data)
    _check_settings(seed, chains, warmup, draws)
    check_choice("engine", engine, ("default", "nuts"))
    find_columns(table, synthesizer.sensitive, "sensitive")
    settings = {"chains": chains, "engine": engine, "warmup": warmup, "draws": draws, "progress": progress}
    places = {"seed": seed, "checkpoint": checkpoint, "start_from": start_from}
    if isinstance(synthesizer, Composite):
        posterior = _fit_parts(synthesizer, table, weights, **places, settings=settings)
    else:
        posterior = _fit_one(synthesizer, table, weights, **places, **settings)
    problems = posterior.diagnostics.problems
    if problems:
        warnings.warn("the fit has not converged: " + "; ".join(problems), ConvergenceWarning, stacklevel=2)
    return posterior


def _fit_one(
    synthesizer: Synthesizer,
    table: Table,
    weights: Any,
    *,
    seed: int,
    chains: int,
    engine: str,
    warmup: int | None,
    draws: int | None,
    checkpoint: str | Path | None,
    start_from: Posterior | None,
    progress: bool,
    title: str = "",
) -> Posterior:
    learned = (synthesizer.learn or _learn_by_name(synthesizer))(table)
    counted = _check_weights(weights, table, synthesizer, learned)
    with jax.enable_x64(new_val=True):
        inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()} | {WEIGHTS: jnp.asarray(counted)}
        inputs |= _starting_draws(start_from)
        chosen = synthesizer.engine if synthesizer.engine is not None and engine == "default" else _nuts
        if synthesizer.predict is None:
            _check_blind(synthesizer, learned.inputs)
        lengths = {name: n for name, n in (("warmup", warmup), ("draws", draws)) if n is not None}
        run = sample(
            chosen(synthesizer, inputs, **lengths),
            inputs,
            seed=seed,
            chains=chains,
            checkpoint=checkpoint,
            progress=progress,
            title=f"fitting {', '.join(synthesizer.sensitive)} {title}".strip(),
        )
        diagnostics = diagnose(
            run.functionals,
            divergent=run.divergent,
            accept=run.accept,
            gradients=run.gradients,
            seconds=run.seconds,
        )
        posterior = Posterior(synthesizer, table, counted, learned, run.draws, diagnostics, 0.0)
        outside = np.mean([float(p.outside) for p in _predictions(posterior, _spread(posterior, 10), seed)])
    return replace(posterior, outside=float(outside))


def _fit_parts(
    composite: Composite,
    table: Table,
    weights: Any,
    *,
    seed: int,
    checkpoint: str | Path | None,
    start_from: Posterior | None,
    settings: Mapping[str, Any],
) -> Posterior:
    parts = {}
    if checkpoint is not None:
        Path(checkpoint).mkdir(mode=0o700, parents=True, exist_ok=True)
    for number, (name, part) in enumerate(composite.parts(table).items()):
        folder = None if checkpoint is None else Path(checkpoint) / name
        own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
        start = None if start_from is None else start_from.parts.get(name)
        places = {"seed": own_seed, "checkpoint": folder, "start_from": start}
        parts[name] = _fit_one(part, table, weights, **places, title=name, **settings)
    draws = {f"{name}.{site}": values for name, part in parts.items() for site, values in part.draws.items()}
    facts = {name: part.learned.facts for name, part in parts.items()}
    share = sum(part.outside * part.weights.sum() for part in parts.values())
    outside = share / sum(part.weights.sum() for part in parts.values())
    diagnostics = join_diagnostics({name: part.diagnostics for name, part in parts.items()})
    counted = next(iter(parts.values())).weights
    return Posterior(composite, table, counted, Learned({}, facts), draws, diagnostics, float(outside), parts)


def draw(
    posterior: Posterior, *, datasets: int, seed: int, unconverged: Literal["error", "allow"] = "error"
) -> list[Any]:
    """Draw synthetic tables: new sensitive values for every record, everything else as it was.

    Each table is predicted from another draw, spread over the whole posterior. Columns, their order, types and labels
    are those of the confidential table; whole numbers stay whole, and missing sensitive values stay missing.

    Parameters
    ----------
    posterior
        From `fit`.
    datasets
        How many tables; at most the effective sample size of the fit.
    seed
        The same posterior and seed give the same tables.
    unconverged
        "error" refuses a fit that has not converged; "allow" draws from it all the same.

    Returns
    -------
    list
        Frames of pandas, or `Table`s with their labels if the confidential data were a `Table` with labels.
    """
    check_choice("unconverged", unconverged, ("error", "allow"))
    _check_seed(seed)
    problems, size = posterior.diagnostics.problems, posterior.diagnostics.effective_size
    if problems and unconverged == "error":
        raise InputError(
            "posterior", f"it has not converged: {'; '.join(problems)}", "Or allow it: unconverged='allow'"
        )
    if not _is_whole(datasets, 1):
        raise InputError("datasets", "it must be a whole number from 1 up", "20 is usual")
    if datasets > size and unconverged == "error":
        raise InputError(
            "datasets",
            f"{datasets} tables from {size:.0f} effective draws would repeat each other",
            f"Draw at most {int(size)}, or fit with more draws",
        )
    with jax.enable_x64(new_val=True):
        if not isinstance(posterior.synthesizer, Composite):
            predictions = _predictions(posterior, _spread(posterior, datasets), seed)
            return [_put_back(posterior, prediction.values) for prediction in predictions]
        seeds = np.random.SeedSequence(seed).generate_state(len(posterior.parts))
        drawn = {
            name: _predictions(part, _spread(part, datasets), int(own))
            for (name, part), own in zip(posterior.parts.items(), seeds, strict=True)
        }
    learned = {name: part.learned for name, part in posterior.parts.items()}
    joined = (
        posterior.synthesizer.join({name: predictions[i].values for name, predictions in drawn.items()}, learned)
        for i in range(datasets)
    )
    return [_put_back(posterior, values) for values in joined]


def _learn_by_name(synthesizer: Synthesizer) -> Callable[[Table], Learned]:
    """Give a user's model the columns that its arguments name."""

    def learn(table: Table) -> Learned:
        names = list(inspect.signature(synthesizer.model).parameters)
        find_columns(table, names, "model")
        inputs, levels = {}, {}
        for name in names:
            column = table.frame[name]
            if pd.api.types.is_numeric_dtype(column.dtype):
                inputs[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
                refused = np.isinf(inputs[name]) if name in synthesizer.sensitive else ~np.isfinite(inputs[name])
                if refused.any():
                    problem = f"column {name!r} is missing or infinite in row {np.flatnonzero(refused)[0] + 1}"
                    raise InputError("data", problem, "Correct it, or give the synthesizer a learn of its own")
                # A missing sensitive value has weight 0, but as NaN it would still spoil gradients: any other will do.
                filler = column.dropna().iloc[0] if column.notna().any() else 0.0
                inputs[name] = np.where(np.isnan(inputs[name]), filler, inputs[name])
            else:
                # A missing predictor is a level of its own; a code of -1 would stand for the last level.
                sensitive = name in synthesizer.sensitive
                inputs[name], levels[name] = pd.factorize(column, sort=True, use_na_sentinel=sensitive)
        return Learned(inputs, {"levels": levels})

    return learn


def _check_settings(seed: int, chains: int, warmup: int | None, draws: int | None) -> None:
    _check_seed(seed)
    if not _is_whole(chains, 2):
        raise InputError("chains", "one chain cannot show that it converged", "Run at least 2, a whole number")
    for argument, number in (("warmup", warmup), ("draws", draws)):
        if number is not None and not _is_whole(number, 1):
            raise InputError(argument, "it must be a whole number from 1 up", "Leave it out for what the engine needs")


def _check_seed(seed: int) -> None:
    if not _is_whole(seed, 0) or seed >= 2**63:
        raise InputError("seed", "it must be a whole number from 0 up, below 2**63", "Give any such number")


def _is_whole(number: Any, least: int) -> bool:
    return isinstance(number, Integral) and not isinstance(number, bool) and int(number) >= least


def _check_weights(weights: Any, table: Table, synthesizer: Synthesizer, learned: Learned) -> np.ndarray:
    records = len(table.frame)
    counted = np.ones(records) if weights is None else np.array(weights, dtype=np.float64)
    if counted.shape != (records,):
        raise InputError("weights", f"they have shape {counted.shape}", f"Give one for each of the {records:,} records")
    if not (np.isfinite(counted).all() and (counted >= 0).all()):
        raise InputError("weights", "some are negative or not finite", "Give numbers from 0 up, as from risk_weights")
    present = table.frame[list(synthesizer.sensitive)].notna().all(axis=1).to_numpy()
    counted = np.where(present if learned.applies is None else present & learned.applies, counted, 0.0)
    if not counted.any():
        raise InputError("weights", "no record counts: all weights are 0", "Give some record a weight above 0")
    return counted


def _starting_draws(posterior: Posterior | None) -> dict[str, jax.Array]:
    """Give some draws of another posterior as inputs; a chain starts from one of them."""
    if posterior is None:
        return {}
    chain, place = np.transpose(_spread(posterior, START_DRAWS))
    return {START + name: jnp.asarray(values[chain, place]) for name, values in posterior.draws.items()}


def _nuts(synthesizer: Synthesizer, inputs: Inputs, *, warmup: int = 500, draws: int = 500) -> Engine:
    """NUTS on the unconstrained sites of the model; only the shapes of the inputs are looked at here."""
    model = synthesizer.model

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
            return unconstrain_fn(model, (), arguments, sites)
        keys = jax.random.split(key, len(shapes))
        position = {
            name: jax.random.uniform(sub, shapes[name], minval=-0.5, maxval=0.5)
            for name, sub in zip(shapes, keys, strict=True)
        }
        return _climb(lambda z: log_density(z, inputs), position)

    def everything(position: Any, key: jax.Array, inputs: Inputs) -> Any:
        return log_density(position, inputs), report(position, inputs), start(key, inputs)

    program = _write_out(jax.make_jaxpr(everything)(template, jax.random.key(0), dict(inputs)))
    return nuts_engine(log_density, start, report, name=f"nuts {program}", warmup=warmup, draws=draws)


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


def _spread(posterior: Posterior, number: int) -> list[tuple[int, int]]:
    """Choose draws (chain, place) evenly over the chains and along them."""
    chains, draws = next(iter(posterior.draws.values())).shape[:2]
    places = ((np.arange(number) + 0.5) * chains * draws / number).astype(int)
    return [divmod(int(place), draws) for place in places]


def _predictions(posterior: Posterior, chosen: list[tuple[int, int]], seed: int) -> list[Prediction]:
    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    predict = jax.jit(synthesizer.predict or _predict_by_model(synthesizer))
    inputs = {name: jnp.asarray(value) for name, value in posterior.learned.inputs.items()}
    keys = jax.random.split(jax.random.key(seed), len(chosen))
    predictions = []
    for key, (chain, place) in zip(keys, chosen, strict=True):
        values = {name: jnp.asarray(array[chain, place]) for name, array in posterior.draws.items()}
        predictions.append(jax.tree.map(np.asarray, predict(key, values, inputs)))
    return predictions


def _predict_by_model(synthesizer: Synthesizer) -> Callable[[jax.Array, Draw, Inputs], Prediction]:
    """Run the model itself with the sensitive arguments left out."""

    def predict(key: jax.Array, values: Draw, inputs: Inputs) -> Prediction:
        # Only what the model samples: a deterministic site may have been computed from confidential values.
        def choose(site: Mapping[str, Any]) -> Any:
            return values.get(site["name"]) if site["type"] == "sample" else None

        model = handlers.seed(handlers.substitute(synthesizer.model, substitute_fn=choose), key)
        sites = _run_blind(synthesizer, model, inputs)
        return Prediction({name: sites[name]["value"] for name in synthesizer.sensitive})

    return predict


def _check_blind(synthesizer: Synthesizer, inputs: Inputs) -> None:
    """See that the model can predict: before hours of sampling, not after."""

    def run(key: jax.Array, inputs: Inputs) -> None:
        seeded = handlers.seed(synthesizer.model, key)
        _run_blind(synthesizer, handlers.substitute(seeded, substitute_fn=init_to_uniform), inputs)

    jax.eval_shape(run, jax.random.key(0), dict(inputs))


def _run_blind(synthesizer: Synthesizer, model: Callable[..., Any], inputs: Inputs) -> Mapping[str, Any]:
    """Run a model without its sensitive arguments, and see that nothing of them is left in what it gives."""
    arguments = {name: None if name in synthesizer.sensitive else value for name, value in inputs.items()}
    sites = handlers.trace(model).get_trace(**arguments)
    for name in synthesizer.sensitive:
        if name not in sites:
            problem, remedy = f"it has no site {name!r}", "Name the site like the sensitive column, or give predict"
            raise InputError("model", problem, remedy)
    for name, site in sites.items():
        if site["type"] == "sample" and site["is_observed"]:
            problem = f"its site {name!r} is observed even when the sensitive arguments are None"
            raise InputError("model", problem, "Observe only what the sensitive arguments give, or give predict")
    return sites


def _put_back(posterior: Posterior, values: Mapping[str, Any]) -> Any:
    """Write predicted values into a copy of the table, in the columns' own types."""
    table, synthesizer = posterior.table, posterior.synthesizer
    levels: Mapping[str, Any] = {}
    if isinstance(synthesizer, Synthesizer):
        by_name = posterior.learned.facts["levels"] if synthesizer.learn is None else {}
        levels = synthesizer.levels(posterior.learned) if synthesizer.levels else by_name
    frame = table.frame.copy()
    for name, predicted in values.items():
        column = table.frame[name]
        new = np.asarray(predicted)
        if name in levels:
            new = np.array([*levels[name], None], dtype=object)[:-1][new.astype(int)]
        else:
            new = np.rint(new) if pd.api.types.is_integer_dtype(column.dtype) else new
            _check_fits(new[column.notna()], column)
        frame[name] = pd.Series(new, index=frame.index).where(column.notna()).astype(column.dtype)
    return replace(table, frame=frame) if table.column_labels or table.value_labels else frame


def _check_fits(values: np.ndarray, column: pd.Series) -> None:
    """Refuse values that the type of the column cannot hold: whole numbers would wrap around in silence."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        if not ((values >= float(limits.min)) & (values < float(limits.max) + 1.0)).all():
            problem = f"a value drawn for {column.name!r} does not fit into its type, {column.dtype}"
            raise InputError("posterior", problem, "Declare a support (lower, upper), or give the column a wider type")
