"""From a synthesizer and weights to a posterior, and from a posterior to synthetic tables."""

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
from numpyro import handlers
from numpyro.infer import init_to_uniform
from numpyro.infer.util import compute_log_probs, constrain_fn, initialize_model, potential_energy, unconstrain_fn
from numpyro.primitives import Messenger

from molehill.diagnostics import ConvergenceWarning, Diagnostics, diagnose
from molehill.errors import InputError
from molehill.frames import Table, as_table
from molehill.nuts import nuts_engine
from molehill.sampling import Engine, Inputs, sample
from molehill.schema import find_columns
from molehill.synthesizer import Draw, Learned, Prediction, Synthesizer

WEIGHTS = "weights"
START_STEPS = 300


class _Weigh(Messenger):
    def __init__(self, model: Callable[..., Any], weights: Any) -> None:
        super().__init__(model)
        self.weights = weights

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "sample" or not msg["is_observed"]:
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
    """

    synthesizer: Synthesizer
    table: Table
    weights: np.ndarray
    learned: Learned
    draws: Mapping[str, np.ndarray]
    diagnostics: Diagnostics
    outside: float

    def __repr__(self) -> str:
        chains, draws = next(iter(self.draws.values())).shape[:2]
        state = "converged" if not self.diagnostics.problems else "NOT converged"
        return f"Posterior({', '.join(self.synthesizer.sensitive)}: {chains} chains x {draws} draws, {state})"


def fit(
    synthesizer: Synthesizer,
    data: Any,
    weights: Any = None,
    *,
    seed: int,
    chains: int = 2,
    warmup: int | None = None,
    draws: int | None = None,
    engine: Literal["default", "nuts"] = "default",
    checkpoint: str | Path | None = None,
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
    progress
        Show a bar with the time left, on a terminal.
    """
    table = as_table(data)
    if chains < 2:
        raise InputError("chains", "one chain cannot show that it converged", "Run at least 2")
    find_columns(table, synthesizer.sensitive, "sensitive")
    learned = (synthesizer.learn or _learn_by_name(synthesizer))(table)
    counted = _check_weights(weights, table, synthesizer, learned)
    with jax.enable_x64(new_val=True):
        inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()} | {WEIGHTS: jnp.asarray(counted)}
        chosen = synthesizer.engine if synthesizer.engine is not None and engine == "default" else _nuts
        lengths = {name: n for name, n in (("warmup", warmup), ("draws", draws)) if n is not None}
        run = sample(
            chosen(synthesizer, inputs, **lengths),
            inputs,
            seed=seed,
            chains=chains,
            checkpoint=checkpoint,
            progress=progress,
            title=f"fitting {', '.join(synthesizer.sensitive)}",
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
    if diagnostics.problems:
        warnings.warn("the fit has not converged: " + "; ".join(diagnostics.problems), ConvergenceWarning, stacklevel=2)
    return replace(posterior, outside=float(outside))


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
    problems, size = posterior.diagnostics.problems, posterior.diagnostics.effective_size
    if problems and unconverged == "error":
        raise InputError(
            "posterior", f"it has not converged: {'; '.join(problems)}", "Or allow it: unconverged='allow'"
        )
    if isinstance(datasets, bool) or not isinstance(datasets, int) or datasets < 1:
        raise InputError("datasets", "it must be a whole number from 1 up", "20 is usual")
    if datasets > size and unconverged == "error":
        raise InputError(
            "datasets",
            f"{datasets} tables from {size:.0f} effective draws would repeat each other",
            f"Draw at most {int(size)}, or fit with more draws",
        )
    with jax.enable_x64(new_val=True):
        predictions = _predictions(posterior, _spread(posterior, datasets), seed)
    return [_put_back(posterior, prediction.values) for prediction in predictions]


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
            else:
                codes, levels[name] = pd.factorize(column, sort=True)
                inputs[name] = codes
        return Learned(inputs, {"levels": levels})

    return learn


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


def _nuts(synthesizer: Synthesizer, inputs: Inputs, *, warmup: int = 500, draws: int = 500) -> Engine:
    """NUTS on the unconstrained sites of the model; only the shapes of the inputs are looked at here."""
    model = synthesizer.model

    def of_model(inputs: Inputs) -> tuple[dict[str, Any], Any]:
        return {name: value for name, value in inputs.items() if name != WEIGHTS}, inputs[WEIGHTS]

    def log_density(position: Any, inputs: Inputs) -> jax.Array:
        arguments, weights = of_model(inputs)
        return jnp.negative(potential_energy(weighted(model, weights), (), arguments, position))

    def report(position: Any, inputs: Inputs) -> tuple[Mapping[str, jax.Array], Mapping[str, jax.Array]]:
        arguments, weights = of_model(inputs)
        sites = constrain_fn(model, (), arguments, position, return_deterministic=True)
        watched = synthesizer.functionals or _watch_all(model)
        return sites, watched(sites, arguments, weights)

    arguments, _ = of_model(inputs)
    template = initialize_model(
        jax.random.key(0), model, model_kwargs=arguments, init_strategy=init_to_uniform, validate_grad=False
    ).param_info.z
    shapes = jax.tree.map(jnp.shape, template)

    def start(key: jax.Array, inputs: Inputs) -> Any:
        arguments, weights = of_model(inputs)
        if synthesizer.start is not None:
            sites = synthesizer.start(key, arguments, weights)
            return unconstrain_fn(model, (), arguments, sites)
        keys = jax.random.split(key, len(shapes))
        position = {
            name: jax.random.uniform(sub, shapes[name], minval=-0.5, maxval=0.5)
            for name, sub in zip(shapes, keys, strict=True)
        }
        return _climb(lambda z: log_density(z, inputs), position)

    program = re.sub("0x[0-9a-f]+", "", str(jax.make_jaxpr(log_density)(template, dict(inputs))))
    return nuts_engine(log_density, start, report, name=f"nuts {program}", warmup=warmup, draws=draws)


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
        arguments = {name: None if name in synthesizer.sensitive else value for name, value in inputs.items()}
        trace = handlers.trace(handlers.seed(handlers.substitute(synthesizer.model, data=dict(values)), key))
        sites = trace.get_trace(**arguments)
        return Prediction({name: sites[name]["value"] for name in synthesizer.sensitive})

    return predict


def _put_back(posterior: Posterior, values: Mapping[str, Any]) -> Any:
    """Write predicted values into a copy of the table, in the columns' own types."""
    table = posterior.table
    levels = posterior.synthesizer.levels(posterior.learned) if posterior.synthesizer.levels else {}
    frame = table.frame.copy()
    for name, predicted in values.items():
        column = table.frame[name]
        if name in levels:
            new = pd.Series(
                pd.Categorical.from_codes(predicted.astype(int), categories=levels[name]), index=frame.index
            )
            new = new.astype(levels[name].dtype)
        elif pd.api.types.is_integer_dtype(column.dtype):
            new = pd.Series(np.rint(predicted), index=frame.index)
        else:
            new = pd.Series(predicted, index=frame.index)
        frame[name] = new.where(column.notna()).astype(column.dtype)
    return replace(table, frame=frame) if table.column_labels or table.value_labels else frame
