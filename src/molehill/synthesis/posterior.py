"""A fitted synthesizer, and new values from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from numpyro import handlers
from numpyro.infer import init_to_uniform

from molehill.errors import InputError
from molehill.synthesis.sampling.chains import Inputs
from molehill.synthesis.sampling.diagnostics import Diagnostics
from molehill.synthesis.synthesizer import Composite, Draw, Learned, Prediction, Synthesizer
from molehill.tables.table import Table


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


def spread_draws(posterior: Posterior, number: int) -> list[tuple[int, int]]:
    """Choose draws (chain, place) evenly over the chains and along them."""
    chains, draws = next(iter(posterior.draws.values())).shape[:2]
    places = ((np.arange(number) + 0.5) * chains * draws / number).astype(int)
    return [divmod(int(place), draws) for place in places]


def predict_from(posterior: Posterior, chosen: list[tuple[int, int]], seed: int) -> list[Prediction]:
    """Predict every record from each of the chosen draws."""
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


def put_back(posterior: Posterior, values: Mapping[str, Any]) -> Any:
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
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    if isinstance(kind, np.dtype) and kind.kind in "iuf":
        limits = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        if not ((values >= float(limits.min)) & (values < float(limits.max) + 1.0)).all():
            problem = f"a value drawn for {column.name!r} does not fit into its type, {column.dtype}"
            raise InputError("posterior", problem, "Declare a support (lower, upper), or give the column a wider type")
