"""Simulation-based calibration: parameters from the prior, data from the parameters, the default engine on the data.

The rank of a true quantity among its posterior draws is then uniform, for any quantity, if model and engine are right
(Talts and others 2018; Modrák and others 2023). What `learn` standardises is left out of the circle: it would use the
data before the prior does. So the design is what `learn` made of a fixed table, and the outcome is simulated on the
scale on which the model's priors are.

The test is that of Säilynoja, Bürkner and Vehtari (2022): the least probability, over all points, of the count of ranks
below the point. Its p-values are computed, not simulated. docs/calibration_figure.py draws what is tested here.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats
from jax.sharding import Mesh, PartitionSpec
from numpyro import handlers
from scipy.stats import binom

from molehill import models
from molehill.models import signed_amounts
from molehill.runtime import prepare_jax
from molehill.synthesis.sampling.chains import Engine
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Composite, Data, Draw, Learned, Synthesizer
from molehill.tables.table import as_table

REPLICATIONS = 160
RECORDS = 60
CHAINS = 2
KEPT = 50
SEED = 20
BATCH = 40
FALSE_ALARM = 0.01

Quantities = Callable[[Draw, Mapping[str, jax.Array]], Mapping[str, jax.Array]]


def make_table() -> pd.DataFrame:
    """The fixed design: a number and a category. The outcomes only have the right kind."""
    random = np.random.default_rng(SEED)
    income = np.exp(random.normal(size=RECORDS))
    sign = np.repeat([-1.0, 0.0, 1.0], [RECORDS // 5, RECORDS // 5, RECORDS - 2 * (RECORDS // 5)])
    return pd.DataFrame(
        {
            "age": random.normal(size=RECORDS),
            "region": random.choice(["north", "south"], RECORDS),
            "income": income,
            "gain": income * random.permutation(sign),
            "visits": random.poisson(3.0, RECORDS).astype(float),
            "trade": random.choice(["farm", "shop", "office"], RECORDS),
        }
    )


# What is ranked: parameters where labels do not switch, else functionals without labels; always the log-likelihood.


def entries(name: str, values: jax.Array) -> dict[str, jax.Array]:
    return {f"{name}[{', '.join(map(str, index))}]": values[index] for index in np.ndindex(values.shape)}


def correlations(name: str, factor: jax.Array) -> dict[str, jax.Array]:
    matrix = factor @ factor.T
    return {f"{name}[{i}, {j}]": matrix[i, j] for i, j in zip(*np.tril_indices(len(matrix), -1), strict=True)}


def rank_linear(draw: Draw, functionals: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    known = {"log-likelihood": functionals["weighted_loglik"][0], **entries("beta", draw["beta"])}
    return known | {name: draw[name] for name in ("sigma", "phi") if name in draw}


def rank_negative_binomial(draw: Draw, functionals: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    return (
        rank_linear(draw, functionals)
        | entries("D", draw["D"])
        | correlations("Omega", jnp.asarray(draw["Omega_cholesky"]))
    )


def rank_mixture(draw: Draw, functionals: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
    mean, variance = functionals["predictive_mean"], functionals["predictive_variance"]
    quantities = {
        "log-likelihood": functionals["weighted_loglik"][0],
        "gamma": draw["gamma"],
        "largest pi": draw["pi"].max(),
        "mean, first row": mean[0],
        "variance, first row": variance[0],
        **entries("D", draw["tau"]),
    }
    if draw["tau"].size == 1:
        return quantities
    last = {"mean, last row": mean[-1], "variance, last row": variance[-1]}
    return quantities | last | correlations("Omega", draw["omega"])


class Case(NamedTuple):
    """What is calibrated: a synthesizer, what it learned of the fixed table, what is ranked, and a seed of its own."""

    synthesizer: Synthesizer
    learned: Learned
    rank: Quantities
    seed: int


def find_cases(name: str) -> dict[str, Case]:
    """The synthesizer of that name on the fixed table, or its parts."""
    columns = {"semicontinuous": "gain", "multinomial": "trade", "tdp_mixture": "income", "normal_linear": "income"}
    ranks = {"negative_binomial": rank_negative_binomial, "tdp_mixture": rank_mixture}
    synthesizer = getattr(models, name)(columns.get(name, "visits"), ["age", "region"])
    table = as_table(make_table())
    # The table is too small for a mixture, but the mixtures are what is to be calibrated.
    with patch.object(signed_amounts, "LEAST_FOR_MIXTURE", 0):
        parts = synthesizer.parts(table) if isinstance(synthesizer, Composite) else {"": synthesizer}
    cases = {}
    for number, (part, inner) in enumerate(parts.items()):
        assert inner.learn is not None
        rank = rank_mixture if part in {"negative", "positive"} else ranks.get(name, rank_linear)
        seed = SEED + 10 * models.__all__.index(name) + number
        cases[part] = Case(inner, inner.learn(table, np.ones(len(table.frame))), rank, seed)
    return cases


# One replication: a truth, data of it, and a posterior of the data.


@dataclass(frozen=True)
class Calibration:
    """Ranks (replications), and bulk effective sizes of the draws that were thinned, by quantity."""

    ranks: Mapping[str, np.ndarray]
    effective: Mapping[str, np.ndarray]
    divergent: float


def simulate(case: Case, replications: int) -> tuple[Draw, np.ndarray]:
    """Draw parameters from the prior, and outcomes from the parameters: both stacked over the replications."""
    inputs = {name: jnp.asarray(value) for name, value in case.learned.inputs.items()}

    def once(key: jax.Array, inputs: dict[str, jax.Array]) -> Draw:
        trace = handlers.trace(handlers.seed(handlers.uncondition(case.synthesizer.model), key)).get_trace(**inputs)
        return {name: site["value"] for name, site in trace.items() if site["type"] in {"sample", "deterministic"}}

    keys = jax.random.split(jax.random.key(case.seed), replications)
    truth = jax.jit(jax.vmap(once, in_axes=(0, None)))(keys, inputs)
    outcome = truth.pop("outcome")
    if inputs["outcome"].ndim == 2:
        outcome = jax.nn.one_hot(outcome, inputs["outcome"].shape[1], dtype=bool)
    return truth, np.asarray(outcome, inputs["outcome"].dtype)


def run_chains(engine: Engine, data: Any, case: Case) -> tuple[dict[str, np.ndarray], float]:
    """Run the chains of all replications in one compiled call: quantities (replications, chains, draws)."""
    chains = len(jax.tree.leaves(data)[0]) * CHAINS
    devices = jax.devices("cpu")
    number = max(count for count in range(1, len(devices) + 1) if chains % count == 0)
    mesh, split = Mesh(np.array(devices[:number]), ("chain",)), PartitionSpec("chain")

    def start(keys: jax.Array, data: Any) -> Any:
        return jax.lax.map(lambda one: engine.start(*one), (keys, data))

    # Trees of NUTS differ too much in depth to be grown side by side; the mixture's trajectories do not.
    batch = None if engine.name.startswith("nuts") else BATCH

    def move(states: Any, data: Any) -> Any:
        return jax.lax.map(lambda one: chain(*one), (states, data), batch_size=batch)

    def chain(state: Any, own: Any) -> Any:
        def sweep(state: Any, _: Any) -> Any:
            state, told = engine.sweep(state, own)
            return state, (case.rank(told.draw, told.functionals), told.divergent)

        return jax.lax.scan(sweep, state, None, length=engine.warmup + engine.draws)[1]

    def spread(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=split, out_specs=split, check_vma=False))

    each = jax.tree.map(lambda value: jnp.repeat(value, CHAINS, axis=0), data)
    states = spread(start)(jax.random.split(jax.random.fold_in(jax.random.key(case.seed), 1), chains), each)
    quantities, divergent = spread(move)(states, each)
    shaped = {
        name: np.asarray(value)[:, engine.warmup :].reshape(-1, CHAINS, engine.draws)
        for name, value in quantities.items()
    }
    return shaped, float(np.mean(divergent[:, engine.warmup :]))


def calibrate(case: Case, *, weight: float = 1.0, replications: int = REPLICATIONS) -> Calibration:
    """Rank the true quantities of every replication among their draws, which were fitted with `weight`."""
    prepare_jax()
    with jax.enable_x64(new_val=True):
        truth, outcomes = simulate(case, replications)
        counted = np.ones(RECORDS) if case.learned.applies is None else case.learned.applies.astype(float)
        inputs, weights = dict(case.learned.inputs), jnp.asarray(weight * counted)

        def judge(draw: Draw, outcome: jax.Array) -> Mapping[str, jax.Array]:
            assert case.synthesizer.functionals is not None
            return case.rank(draw, case.synthesizer.functionals(draw, inputs | {"outcome": outcome}, weights))

        true = jax.jit(jax.vmap(judge))(truth, jnp.asarray(outcomes))
        engine = (case.synthesizer.engine or model_engine)(case.synthesizer, Data(inputs, weights))
        prepared = [engine.prepare(Data(inputs | {"outcome": outcome}, weights)) for outcome in outcomes]
        drawn, divergent = run_chains(engine, jax.tree.map(lambda *each: jnp.stack(each), *prepared), case)
    effective = {
        name: np.array([array_stats.ess(chains, chain_axis=0, draw_axis=1) for chains in values])
        for name, values in drawn.items()
    }
    return Calibration(find_ranks(drawn, true, case.seed), effective, divergent)


def find_ranks(drawn: Mapping[str, np.ndarray], true: Mapping[str, jax.Array], seed: int) -> dict[str, np.ndarray]:
    """Rank the truth among draws at even distances. Ties, as where the largest pi is 1 but for rounding, go by lot."""
    random, ranks = np.random.default_rng(seed), {}
    for name, values in drawn.items():
        step = CHAINS * values.shape[2] // KEPT
        kept, truth = values[:, :, step - 1 :: step].reshape(len(values), KEPT), np.asarray(true[name])[:, None]
        ranks[name] = (kept < truth).sum(axis=1) + random.integers((kept == truth).sum(axis=1) + 1)
    return ranks


# Whether ranks are uniform on 0, ..., kept.


@cache
def _transitions(number: int, kept: int) -> np.ndarray:
    """Chances of the count below a point given that below the point before, for every point 1, ..., kept."""
    before, after = np.arange(number + 1)[:, None], np.arange(number + 1)
    return np.stack(
        [binom.pmf(after - before, number - before, 1 / (kept + 2 - point)) for point in range(1, kept + 1)]
    )


def count_tails(number: int, kept: int) -> np.ndarray:
    """Two-sided tail probability of every count (columns) of ranks below every point (rows), if ranks are uniform."""
    counts, below = np.arange(number + 1), np.arange(1, kept + 1)[:, None] / (kept + 1)
    return 2 * np.minimum(binom.cdf(counts, number, below), binom.sf(counts - 1, number, below))


def chance_of(level: float, number: int, kept: int) -> float:
    """Chance that uniform ranks have, at some point, a count whose tail probability is at most `level`."""
    inside = count_tails(number, kept) > level * (1 + 1e-9)
    state = np.zeros(number + 1)
    state[0] = 1.0
    for moves, allowed in zip(_transitions(number, kept), inside, strict=True):
        state = (state @ moves) * allowed
    return max(0.0, 1.0 - float(state.sum()))


def uniformity(ranks: np.ndarray, kept: int = KEPT) -> float:
    """The p-value of ranks under uniformity, exact."""
    below = (ranks[:, None] < np.arange(1, kept + 1)).sum(axis=0)
    return chance_of(count_tails(len(ranks), kept)[np.arange(kept), below].min(), len(ranks), kept)


def envelope(chance: float, number: int, kept: int = KEPT) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest count below every point that are not rejected when the false alarm rate is `chance`."""
    levels = np.unique(count_tails(number, kept))
    place = bisect_right(levels, chance, key=lambda level: chance_of(level, number, kept))
    inside = count_tails(number, kept) > (levels[place - 1] if place else 0.0) * (1 + 1e-9)
    return inside.argmax(axis=1), number - inside[:, ::-1].argmax(axis=1)


def calibrate_all(name: str, **settings: Any) -> dict[str, Calibration]:
    return {part: calibrate(case, **settings) for part, case in find_cases(name).items()}


def allowed_chance(parts: Mapping[str, Calibration]) -> float:
    """Split the false alarm rate evenly over the synthesizers, and then over what is ranked of each."""
    return FALSE_ALARM / len(models.__all__) / sum(len(part.ranks) for part in parts.values())


def test_the_chance_of_a_false_alarm_is_that_of_all_possible_ranks():
    number, kept = 4, 3
    possible = np.array(list(product(range(kept + 1), repeat=number)))
    chances = np.array([uniformity(ranks, kept) for ranks in possible])
    for chance in np.unique(chances):
        assert np.mean(chances <= chance * (1 + 1e-9)) == pytest.approx(chance)
    low, high = envelope(0.2, number, kept)
    below = (possible[:, :, None] < np.arange(1, kept + 1)).sum(axis=1)
    within = ((below >= low) & (below <= high)).all(axis=1)
    np.testing.assert_array_equal(within, chances > 0.2)


@pytest.mark.slow
# A forest has no model to simulate from; its draws are held to closed forms in tests/models/forests.
@pytest.mark.parametrize("name", [name for name in models.__all__ if name != "forest"])
def test_the_ranks_of_true_quantities_are_uniform(name):
    parts = calibrate_all(name)
    chances = {
        (part, quantity): uniformity(ranks) for part, of in parts.items() for quantity, ranks in of.ranks.items()
    }
    assert {key: chance for key, chance in chances.items() if chance <= allowed_chance(parts)} == {}


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_a_posterior_that_counts_records_wrongly_is_found_out(weight):
    parts = calibrate_all("normal_linear", weight=weight)
    assert min(uniformity(ranks) for ranks in parts[""].ranks.values()) < allowed_chance(parts)
