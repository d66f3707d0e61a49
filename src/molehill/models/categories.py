"""Multinomial regression for a categorical variable.

P(level k) proportional to exp(x beta_k),  beta of the first level 0,  intercepts ~ N(0, 2.5^2),  the others ~ N(0, 1)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular

from molehill.arrays import Floats
from molehill.synthesis.collapsing import collapse_records
from molehill.synthesis.design import code_levels, find_codes, learn_design, spread_rows
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Data, Draw, Inputs, Learned, Observed, Prediction, Synthesizer
from molehill.synthesis.weighting import who_counts
from molehill.tables.schema import Kind
from molehill.tables.table import Table, find_columns


def multinomial(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
) -> Synthesizer:
    """Synthesize a categorical variable by a multinomial (with two levels: logistic) regression.

    Predictions are level codes, in the order of the categories, or sorted. Only levels that occur are drawn. The site
    `beta` has one row per column of the design and one column per level but the first.

    Parameters
    ----------
    column
        The sensitive variable.
    predictors, breaks, kinds
        Predictors: see `molehill.synthesis.design.learn_design`.

    Examples
    --------
    >>> multinomial("occupation", "age + region").sensitive
    ('occupation',)
    """

    def learn(table: Table, weights: Floats) -> Learned:
        find_columns(table, [column], "column")
        codes, levels = code_levels(table, column)
        # Indicators of the levels, (records, levels).
        outcome = codes[:, None] == np.arange(len(levels))
        counted = (codes >= 0) & who_counts(weights)
        shown = np.where(counted[:, None], outcome, np.nan)
        design = learn_design(table, predictors, sensitive=column, breaks=breaks, kinds=kinds, outcome=shown)
        return Learned(
            {"design": design.matrix, "outcome": outcome},
            {"column": column, "levels": levels, "design": design.facts},
            again=design.again,
            observed=partial(_observe, column=column, levels=levels),
        )

    return Synthesizer(
        model=_model,
        sensitive=(column,),
        name="multinomial",
        words="a multinomial regression",
        predict=partial(_predict, column=column),
        learn=learn,
        start=_start,
        functionals=_functionals,
        engine=partial(model_engine, warmup=250, moved=_moved_model, move=_moved_sites, collapse=_collapse),
        levels=lambda learned: {column: learned.facts["levels"]},
    )


def _observe(table: Table, *, column: str, levels: tuple[Any, ...]) -> Observed:
    codes = find_codes(table.frame[column], (*levels, None), column, "guesses")
    return Observed({"outcome": codes[:, None] == np.arange(len(levels))}, codes < len(levels))


def _model(design: Any, outcome: Any) -> None:
    beta = numpyro.sample("beta", dist.Normal(0.0, _prior_scale(design, outcome)).to_event(2))
    _observe_levels(design, outcome, beta)


def _moved_model(design: Any, outcome: Any, root: Any, prior_root: Any) -> None:
    """The same model in whitened coordinates z = L' beta, with L L' about the posterior precision.

    L L' is the precision of the prior plus that of the records if no predictor mattered. Coefficients of rare levels
    and collinear design columns are strongly correlated; z is not. L and the prior factor of z are computed by
    `_collapse`.
    """
    z = numpyro.sample("z", dist.MultivariateNormal(jnp.zeros(len(root)), scale_tril=prior_root))
    flat = solve_triangular(root.T, z, lower=False)
    beta = numpyro.deterministic("beta", flat.reshape(outcome.shape[1] - 1, design.shape[1]).T)
    _observe_levels(design, outcome, beta)


def _moved_sites(sites: Draw, inputs: Inputs) -> dict[str, jax.Array]:
    """Sites of the model in the coordinates of the moved model."""
    return {"z": inputs["root"].T @ sites["beta"].T.reshape(-1)}


def _collapse(data: Data) -> Data:
    """Collapse the records, and compute the factors of the moved model from all records, unweighted."""
    few = collapse_records(data)
    design, outcome = (np.asarray(data.inputs[name], dtype=np.float64) for name in ("design", "outcome"))
    scale = np.asarray(_prior_scale(design, outcome)).T.reshape(-1)
    shares = (outcome.sum(axis=0) + 1.0)[1:] / (len(outcome) + outcome.shape[1])
    each = np.diag(shares) - np.outer(shares, shares)
    root = np.linalg.cholesky(np.kron(each, design.T @ design) + np.diag(scale**-2.0))
    spread = root.T * scale
    return few._replace(inputs={**few.inputs, "root": root, "prior_root": np.linalg.cholesky(spread @ spread.T)})


def _prior_scale(design: Any, outcome: Any) -> jax.Array:
    return jnp.ones((design.shape[1], outcome.shape[1] - 1)).at[0].set(2.5)


def _observe_levels(design: Any, outcome: Any, beta: Any) -> None:
    with numpyro.plate("records", design.shape[0]):
        numpyro.sample("outcome", dist.CategoricalLogits(_logits(design, beta)), obs=outcome.argmax(axis=1))


def _logits(design: Any, beta: Any) -> jax.Array:
    return jnp.pad(design @ beta, ((0, 0), (1, 0)))


def _predict(key: jax.Array, draw: Draw, inputs: Inputs, *, column: str) -> Prediction:
    return Prediction({column: jax.random.categorical(key, _logits(inputs["design"], draw["beta"]))})


def _start(key: jax.Array, inputs: Inputs, weights: jax.Array) -> dict[str, jax.Array]:
    """The weighted shares of the levels, jittered."""
    size, levels = inputs["design"].shape[1], inputs["outcome"].shape[1]
    share = jnp.log(weights @ inputs["outcome"] + 1.0)
    beta = jnp.zeros((size, levels - 1)).at[0].set(share[1:] - share[0])
    return {"beta": beta + 0.05 * jax.random.normal(key, beta.shape)}


def _functionals(
    draw: Draw, inputs: Inputs, weights: jax.Array, *, likelihood: jax.Array | None = None
) -> dict[str, jax.Array]:
    rows = spread_rows(inputs["design"].shape[0], 13)
    watched = jax.nn.softmax(_logits(inputs["design"][rows], draw["beta"]))[:, 1:]
    if likelihood is None:
        logs = jax.nn.log_softmax(_logits(inputs["design"], draw["beta"]))
        each = jnp.sum(jnp.where(inputs["outcome"], logs, 0.0), axis=1)
        likelihood = jnp.sum(jnp.where(weights > 0, weights * each, 0.0))
    return {"predictive_probability": watched.reshape(-1), "weighted_loglik": likelihood[None]}
