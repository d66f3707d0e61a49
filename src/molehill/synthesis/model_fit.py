"""Synthesizers with a NumPyro model: MCMC, and predictions from draws of the parameters."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import init_to_uniform

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.runtime import double_precision
from molehill.synthesis.posterior import Posterior, inputs_again, spread_draws
from molehill.synthesis.sampling.chains import Run, sample
from molehill.synthesis.sampling.diagnostics import Diagnostics, diagnose
from molehill.synthesis.sampling.nuts import START_DRAWS, model_engine
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Learned, Prediction, Synthesizer
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.synthesis.fitting import How


def sample_model(
    synthesizer: Synthesizer, table: Table, learned: Learned, counted: Floats, how: "How"
) -> tuple[Mapping[str, np.ndarray], Diagnostics]:
    """Run chains until they converge, or up to the maximum length.

    Parameters
    ----------
    synthesizer, table, learned
        The model, the confidential data, and what the synthesizer learned from them.
    counted
        Exponents of the records' likelihoods; 0 for records that are left out.
    how
        The arguments of `fit`.

    Returns
    -------
    draws
        Sites to arrays (chains, draws, ...).
    diagnostics
        Convergence diagnostics.
    """
    with double_precision():
        # What drawing needs is tried first, not after hours of sampling.
        if synthesizer.predict is None:
            check_blind(synthesizer, learned.inputs)
        if how.after_others:
            learn_again(synthesizer.name, learned, table)
        inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()}
        data = Data(inputs, jnp.asarray(counted), _starting_draws(how.start_from, learned))
        chosen = synthesizer.engine if synthesizer.engine is not None and how.engine == "default" else model_engine
        lengths: dict[str, Any] = {
            name: n for name, n in (("warmup", how.warmup), ("draws", how.draws)) if n is not None
        }
        # A run is judged several times.
        judge = lru_cache(1)(partial(diagnose, tolerances=synthesizer.tolerances, effective=how.effective))

        def hopeless(run: Run, longer: float) -> bool:
            return judge(run).is_hopeless(longer, how.effective)

        run = sample(
            chosen(synthesizer, data, **lengths),
            data,
            seed=how.seed,
            chains=how.chains,
            shards=how.shards,
            checkpoint=how.checkpoint,
            enough=lambda run: not judge(run).problems,
            # If there is a simpler model, it is tried as soon as this one is hopeless.
            hopeless=None if synthesizer.simpler is None else hopeless,
            early=how.draws is None,
            patience=how.patience if synthesizer.simpler is None else min(how.patience, 1),
            progress=how.progress,
            title=" ".join(("fitting", ", ".join(synthesizer.sensitive), how.title, synthesizer.variant)).strip(),
        )
        return run.draws, judge(run)


def _starting_draws(posterior: Posterior | None, learned: Learned) -> dict[str, jax.Array]:
    """Draws of another posterior as starting values, if its inputs have the same shapes."""
    if posterior is None or _forms(posterior.learned) != _forms(learned):
        return {}
    chain, place = np.transpose(spread_draws(posterior, START_DRAWS))
    return {name: jnp.asarray(values[chain, place]) for name, values in posterior.draws.items()}


def _forms(learned: Learned) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(values) for name, values in learned.inputs.items()}


def predict_by_model(
    posterior: Posterior, chosen: Sequence[tuple[int, int]], seed: int, tables: Sequence[Table] | None
) -> list[Prediction]:
    """Predict every record from each of the chosen draws; `tables` have synthesized predictors, if given."""
    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    predict = _compile(synthesizer.predict or _model_prediction(synthesizer), *synthesizer.options.items())
    shared = {name: jnp.asarray(value) for name, value in posterior.learned.inputs.items()}
    # Keys one by one: a split would be compiled for every number of datasets.
    root, predictions = jax.random.key(seed), []
    for number, (chain, place) in enumerate(chosen):
        values = {name: jnp.asarray(array[chain, place]) for name, array in posterior.draws.items()}
        again = {} if tables is None else learn_again(synthesizer.name, posterior.learned, tables[number])
        predictions.append(jax.tree.map(np.asarray, predict(jax.random.fold_in(root, number), values, shared | again)))
    return predictions


def learn_again(name: str, learned: Learned, table: Table) -> dict[str, jax.Array]:
    """Inputs computed from predictors, for a dataset in which some of these were synthesized."""
    return {name: jnp.asarray(value) for name, value in inputs_again(name, learned, table).items()}


@lru_cache(maxsize=128)
def _compile(predict: Callable[..., Prediction], *options: tuple[str, Any]) -> Callable[..., Prediction]:
    """Compile a prediction, once per choice of options."""
    return jax.jit(partial(predict, **dict(options)))


@lru_cache(maxsize=128)
def _model_prediction(synthesizer: Synthesizer) -> Callable[[jax.Array, Draw, Inputs], Prediction]:
    """Prediction by the model with the sensitive arguments None."""

    def predict(key: jax.Array, values: Draw, inputs: Inputs) -> Prediction:
        # Sampled sites only: a deterministic site may depend on confidential values.
        def choose(site: Mapping[str, Any]) -> Any:
            return values.get(site["name"]) if site["type"] == "sample" else None

        model = handlers.seed(handlers.substitute(synthesizer.model, substitute_fn=choose), key)
        sites = _run_blind(synthesizer, model, inputs)
        return Prediction({name: sites[name]["value"] for name in synthesizer.sensitive})

    return predict


def check_blind(synthesizer: Synthesizer, inputs: Inputs) -> None:
    """Check that the model can predict, before sampling."""

    def run(key: jax.Array, inputs: Inputs) -> None:
        seeded = handlers.seed(synthesizer.model, key)
        _run_blind(synthesizer, handlers.substitute(seeded, substitute_fn=init_to_uniform), inputs)

    jax.eval_shape(run, jax.random.key(0), dict(inputs))


def _run_blind(synthesizer: Synthesizer, model: Callable[..., Any], inputs: Inputs) -> Mapping[str, Any]:
    """Run a model without its sensitive arguments, and check that it samples every sensitive variable."""
    arguments = {name: None if name in synthesizer.sensitive else value for name, value in inputs.items()}
    sites = handlers.trace(model).get_trace(**arguments)
    for name in synthesizer.sensitive:
        if name not in sites:
            problem, remedy = f"it has no site {name!r}", "Name the site like the sensitive variable, or give `predict`"
            raise InputError("model", problem, remedy)
    for name, site in sites.items():
        if site["type"] == "sample" and site["is_observed"]:
            problem = f"its site {name!r} is observed even when the sensitive arguments are None"
            raise InputError("model", problem, "Use obs= with sensitive arguments only, or give `predict`")
    return sites
