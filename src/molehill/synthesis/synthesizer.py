"""What a synthesizer is: a NumPyro model of the sensitive columns, and how it predicts them.

The contract that `fit` and `draw` work by, and that every built-in of `molehill.models` meets. To extend is to pass
functions. All of them are pure and written with `jax.numpy`; data are always arguments and never captured, because a
captured array would be written, with its confidential values, into the compile cache on disk.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from molehill.tables.table import Table

Inputs = Mapping[str, Any]
Draw = Mapping[str, jax.Array]


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """Everything that a synthesizer took from the confidential table: one value to inspect.

    Attributes
    ----------
    inputs
        The arguments of the model by name, arrays with one row per record (the observed ones included) or scalars.
    facts
        What the inputs were made with, in plain values: names of design columns, levels, centre and scale.
    applies
        Which records the model speaks of; the others have weight 0, and only their predictors are used.
    """

    inputs: Inputs
    facts: Mapping[str, Any] = field(default_factory=dict)
    applies: np.ndarray | None = None

    def __repr__(self) -> str:
        # The arrays are confidential: only what they are called and how large they are is shown.
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in self.inputs.items())
        return f"Learned(inputs: {shapes}; facts: {', '.join(self.facts)})"


class Prediction(NamedTuple):
    """New values for every record from one draw.

    `values` maps each sensitive column to one number per record in the units of the data (codes of the levels for a
    categorical column). `outside` is the share of the predictive mass, over all records, that lay outside the
    declared support and was cut off.
    """

    values: Mapping[str, jax.Array]
    outside: jax.Array | float = 0.0


@dataclass(frozen=True)
class Synthesizer:
    """A model that can replace sensitive columns.

    Attributes
    ----------
    model
        A NumPyro model. Its arguments are `inputs`; each observed site has one term per record.
    sensitive
        The columns that it replaces.
    predict
        `(key, draw, inputs) -> Prediction`. Without it the model itself is run with the sensitive arguments None and
        the sites named like the sensitive columns are taken.
    learn
        `(table) -> Learned`. Without it the inputs are the columns that the model's arguments name.
    start
        `(key, inputs, weights) -> {site: value}`: a good place to start a chain, on the scale of the sites.
    functionals
        `(draw, inputs, weights) -> {name: vector}`: quantities that do not depend on labels, watched for convergence.
        Without it all latent sites are watched.
    engine
        `(synthesizer) -> molehill.sampling.Engine`, where another than NUTS is the default.
    levels
        For a categorical sensitive column, its levels in the order of the codes: `(learned) -> {column: levels}`.
    """

    model: Callable[..., Any]
    sensitive: tuple[str, ...]
    predict: Callable[[jax.Array, Draw, Inputs], Prediction] | None = None
    learn: Callable[[Table], Learned] | None = None
    start: Callable[[jax.Array, Inputs, jax.Array], Mapping[str, Any]] | None = None
    functionals: Callable[[Draw, Inputs, jax.Array], Mapping[str, jax.Array]] | None = None
    engine: Callable[..., Any] | None = None
    levels: Callable[[Learned], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Composite:
    """Synthesizers that share no parameter, and a rule that joins what they predict: each is fitted on its own.

    Attributes
    ----------
    sensitive
        The columns that it replaces.
    parts
        `(table) -> {name: Synthesizer}`: which parts the table needs.
    join
        `({name of part: values}, {name of part: Learned}) -> values`, both values as in `Prediction`.
    """

    sensitive: tuple[str, ...]
    parts: Callable[[Table], Mapping[str, Synthesizer]]
    join: Callable[[Mapping[str, Mapping[str, Any]], Mapping[str, Learned]], Mapping[str, Any]]
