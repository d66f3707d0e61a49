"""Predictions of a model that runs on JAX: new values of every record from draws of its parameters."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer import init_to_uniform

from molehill.errors import InputError
from molehill.synthesis.posterior import Posterior, inputs_again
from molehill.synthesis.synthesizer import Draw, Inputs, Learned, Prediction, Synthesizer
from molehill.tables.table import Table


def predict_by_model(
    posterior: Posterior, chosen: Sequence[tuple[int, int]], seed: int, tables: Sequence[Table] | None
) -> list[Prediction]:
    """Predict every record from each of the chosen draws; `tables` have new values in the predictors, if given."""
    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    predict = _compile(synthesizer.predict or _model_prediction(synthesizer), *synthesizer.options.items())
    shared = {name: jnp.asarray(value) for name, value in posterior.learned.inputs.items()}
    # Keys one by one: split and taken apart, they would be compiled for every number of datasets.
    root, predictions = jax.random.key(seed), []
    for number, (chain, place) in enumerate(chosen):
        values = {name: jnp.asarray(array[chain, place]) for name, array in posterior.draws.items()}
        again = {} if tables is None else learn_again(synthesizer.name, posterior.learned, tables[number])
        predictions.append(jax.tree.map(np.asarray, predict(jax.random.fold_in(root, number), values, shared | again)))
    return predictions


def learn_again(name: str, learned: Learned, table: Table) -> dict[str, jax.Array]:
    """The inputs that come from predictors, for a dataset in which some of these were replaced."""
    return {name: jnp.asarray(value) for name, value in inputs_again(name, learned, table).items()}


@lru_cache(maxsize=128)
def _compile(predict: Callable[..., Prediction], *options: tuple[str, Any]) -> Callable[..., Prediction]:
    """Compile a prediction with its options, once for each choice of these."""
    return jax.jit(partial(predict, **dict(options)))


@lru_cache(maxsize=128)
def _model_prediction(synthesizer: Synthesizer) -> Callable[[jax.Array, Draw, Inputs], Prediction]:
    """Run the model itself with the sensitive arguments left out."""

    def predict(key: jax.Array, values: Draw, inputs: Inputs) -> Prediction:
        # Only what the model samples: a deterministic site may have been computed from confidential values.
        def choose(site: Mapping[str, Any]) -> Any:
            return values.get(site["name"]) if site["type"] == "sample" else None

        model = handlers.seed(handlers.substitute(synthesizer.model, substitute_fn=choose), key)
        sites = _run_blind(synthesizer, model, inputs)
        return Prediction({name: sites[name]["value"] for name in synthesizer.sensitive})

    return predict


def check_blind(synthesizer: Synthesizer, inputs: Inputs) -> None:
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
