"""Equal records as one: exact sums of weights, the same pseudo posterior, and everything else still per record."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpyro.infer.util import potential_energy

from agreement import assert_agrees
from molehill.models.categories import multinomial
from molehill.models.counts import negative_binomial, poisson
from molehill.models.linear import normal_linear
from molehill.synthesis.collapsing import collapse_records, number_rows, padded_number
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.synthesizer import Data
from molehill.synthesis.weighting import weight_likelihood
from molehill.tables.table import as_table

RECORDS = 400
RANDOM = np.random.default_rng(8)
SURVEY = pd.DataFrame(
    {
        "region": RANDOM.choice(["north", "south", "west"], RECORDS),
        "sex": RANDOM.choice(["f", "m"], RECORDS),
        "visits": RANDOM.poisson(2.0, RECORDS).astype(float),
        "trade": RANDOM.choice(["farm", "shop", "office"], RECORDS, p=[0.2, 0.5, 0.3]),
        "pay": np.exp(RANDOM.normal(size=RECORDS)),
    }
)
WEIGHTS = RANDOM.uniform(0, 1, RECORDS) * (np.arange(RECORDS) % 5 != 0)
MODELS = {
    "multinomial": multinomial("trade", ["region", "sex"]),
    "poisson": poisson("visits", ["region", "sex"]),
    "negative_binomial": negative_binomial("visits", ["region", "sex"]),
    "normal_linear": normal_linear("pay", ["region", "sex"], transform="log"),
}


def test_rows_are_numbered_as_a_dictionary_numbers_them():
    matrix = RANDOM.integers(0, 3, (200, 4)).astype(float)
    matrix[5, 0] = -0.0
    seen: dict[tuple[float, ...], int] = {}
    slow = [seen.setdefault(tuple(row), len(seen)) for row in matrix]
    codes, first = number_rows(matrix)
    assert codes.tolist() == slow
    np.testing.assert_array_equal(matrix[first], list(seen))


def test_weights_of_equal_records_are_summed_and_those_of_weight_0_are_gone():
    design, outcome = np.array([[1.0, 0], [1, 1], [1, 0], [1, 0], [1, 2]]), np.array([3.0, 2, 3, 4, 9])
    few = collapse_records(Data({"design": design, "outcome": outcome, "centre": 7.0}, np.array([0.5, 1, 0.25, 1, 0])))
    assert few.weights[:3].tolist() == [0.75, 1.0, 1.0]
    assert few.weights[3:].tolist() == [0.0] * 61
    np.testing.assert_array_equal(few.inputs["design"][:3], [[1, 0], [1, 1], [1, 0]])
    np.testing.assert_array_equal(few.inputs["outcome"][:3], [3, 2, 4])
    assert few.inputs["centre"] == 7.0


@pytest.mark.parametrize("number", [0, 1, 64, 65, 5_000, 123_456])
def test_few_sizes_are_compiled_for(number):
    padded = padded_number(number)
    assert number <= padded <= max(64, number + 64, number * 1.07)
    assert len({padded_number(n) for n in range(number, number + max(number // 32, 1))}) <= 2


def prepared(name: str):
    """Everything that an engine has of a model: itself, its inputs and weights, and what it works on."""
    synthesizer = MODELS[name]
    assert synthesizer.learn is not None
    assert synthesizer.engine is not None
    learned = synthesizer.learn(as_table(SURVEY), WEIGHTS)
    data = Data({key: jnp.asarray(value) for key, value in learned.inputs.items()}, jnp.asarray(WEIGHTS))
    engine = synthesizer.engine(synthesizer, data)
    return synthesizer, data, engine, engine.prepare(data)


# Rows after collapsing, filled up: 6 rows of the design by the levels; for the normal its columns, and one.
@pytest.mark.parametrize(
    ("name", "rows"), [("multinomial", 64), ("poisson", 64), ("negative_binomial", 64), ("normal_linear", 5)]
)
def test_the_density_of_few_records_is_that_of_all(name, rows):
    with jax.enable_x64(new_val=True):
        synthesizer, data, _, made = prepared(name)
        assert len(made.few.weights) == rows
        assert float(made.few.weights.sum()) == pytest.approx(WEIGHTS.sum(), rel=1e-13)
        inputs = {key: value for key, value in made.few.inputs.items() if key in data.inputs}
        assert synthesizer.start is not None

        def potentials(place):
            whole = potential_energy(weight_likelihood(synthesizer.model, data.weights), (), dict(data.inputs), place)
            return whole, potential_energy(weight_likelihood(synthesizer.model, made.few.weights), (), inputs, place)

        compiled, begin = jax.jit(potentials), jax.jit(synthesizer.start)
        for number in range(4):
            site = begin(jax.random.key(number), data.inputs, data.weights)
            place = {key: 0.3 * value + 0.1 for key, value in site.items() if key != "Omega_cholesky"}
            place |= {"Omega_cholesky": jnp.full(6, 0.2)} if "Omega_cholesky" in site else {}
            whole, few = compiled(place)
            assert float(few) == pytest.approx(float(whole), rel=1e-12)


def test_other_data_than_those_that_the_engine_was_made_with_are_collapsed_anew():
    with jax.enable_x64(new_val=True):
        _, data, engine, made = prepared("poisson")
        other = engine.prepare(data._replace(weights=jnp.ones(RECORDS)))
    assert float(other.few.weights.sum()) == RECORDS
    assert float(made.few.weights.sum()) < RECORDS


# That the density is the same is tested above, and in tests/models/test_contract.py that what is watched is.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["multinomial", "normal_linear"])
def test_fits_agree_with_those_of_all_records_and_tables_have_every_record(name):
    synthesizer = MODELS[name]
    lengths = {"warmup": 200, "draws": 1000, "progress": False}
    few = fit(synthesizer, SURVEY, WEIGHTS, seed=3, **lengths)
    whole = fit(synthesizer, SURVEY, WEIGHTS, seed=4, engine="nuts", **lengths)
    ours, theirs = few.diagnostics.table, whole.diagnostics.table.loc[few.diagnostics.table.index]
    # Equal records that count once would move estimates by a standard deviation and more.
    error = np.hypot(ours["error"], theirs["error"])
    assert_agrees(ours["mean"], theirs["mean"], error, detects=theirs["sd"], of="means")
    size = np.minimum(ours["bulk"], theirs["bulk"])
    assert_agrees(ours["sd"] / theirs["sd"], 1.0, 1 / np.sqrt(size), detects=0.5, of="spreads")
    assert len(few.learned.inputs["design"]) == RECORDS
    (table,) = draw(few, datasets=1, seed=1)
    assert len(table) == RECORDS
