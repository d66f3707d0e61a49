"""MCMC for synthesizers with a NumPyro model."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from molehill.arrays import Floats
from molehill.runtime import double_precision
from molehill.synthesis.model_predictions import check_blind, learn_again
from molehill.synthesis.posterior import Posterior, spread_draws
from molehill.synthesis.sampling.chains import Run, sample
from molehill.synthesis.sampling.diagnostics import Diagnostics, diagnose
from molehill.synthesis.sampling.nuts import START_DRAWS, model_engine
from molehill.synthesis.synthesizer import Data, Learned, Synthesizer
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
