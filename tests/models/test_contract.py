"""What every built-in synthesizer must do, run for each of `BUILT_IN`: fit a small table, and draw tables like it."""

import inspect
import json
import re
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees
from molehill.models import BUILT_IN, signed_amounts
from molehill.synthesis.fitting import draw
from molehill.synthesis.posterior import Posterior, spread_draws
from molehill.synthesis.synthesizer import DirectSynthesizer, Synthesizer
from people import PEOPLE, quick_fit, shared_programs

# Nobody whose income is not positive has a wage: the mixtures of both are of as many records, and compiled once.
EARNING = (PEOPLE["income"] > 0).to_numpy()
MISSING = [3, 50]


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a few missing values in every column that is replaced."""
    gaps = frame.astype({"children": "Int64"})
    gaps["wage"] = gaps["wage"].where(EARNING)
    gaps.loc[MISSING, ["wage", "children", "job", "income"]] = None
    return gaps


PEOPLE_WITH_GAPS = with_gaps(PEOPLE)


class Case(NamedTuple):
    """How a built-in is called, the sites that its draws must have, and the support that it is told."""

    column: str
    settings: dict[str, Any]
    sites: set[str]
    low: float = -np.inf
    high: float = np.inf
    draws: int = 100
    chains: int = 2


MIXTURE = {"pi", "beta", "sigma", "gamma"}
# A tree is made of whole numbers, sets of bits and shares.
TREE = {"feature": np.int32, "left": np.uint64, "child": np.int32, "shares": np.float32, "lean": np.float32}
CASES = {
    # As many draws as there are trees, all of them independent.
    "forest": Case("wage", {"lower": 1, "upper": 60}, {*TREE}, 1, 60, draws=200, chains=1),
    "normal_linear": Case("wage", {"transform": "log", "lower": 1, "upper": 60}, {"beta", "sigma"}, 1, 60),
    "poisson": Case("children", {"upper": 5}, {"beta"}, 0, 5),
    "negative_binomial": Case("children", {}, {"beta", "phi"}, 0),
    "multinomial": Case("job", {}, {"beta"}),
    "tdp_mixture": Case("wage", {"components": 3, "lower": 1, "upper": 60}, MIXTURE, 1, 60),
    "semicontinuous": Case(
        "income",
        {"components": 3, "transform": "log", "loss_predictors": ["region"], "lower": -20_000, "upper": 60_000},
        # Too few losses for a mixture.
        {"sign.beta", *(f"positive.{site}" for site in MIXTURE), "negative.beta", "negative.sigma"},
        -20_000,
        60_000,
    ),
}
OTHER_CHOICES: dict[str, Any] = {"component_draw": "posterior"}


@cache
def made(name: str) -> Any:
    case = CASES[name]
    return BUILT_IN[name].make(case.column, ["region"], **case.settings)


@cache
def contract_fit(name: str) -> Posterior:
    # Of 120 records, so that there are mixtures of them.
    with patch.object(signed_amounts, "LEAST_FOR_MIXTURE", 50):
        return quick_fit(made(name), PEOPLE_WITH_GAPS, draws=CASES[name].draws)


def released_of(posterior: Posterior, datasets: int = 2, seed: int = 5) -> list[Any]:
    return draw(posterior, datasets=datasets, seed=seed, unconverged="allow")


@pytest.mark.parametrize("name", BUILT_IN)
def test_settings_and_reports_know_what_it_is(name):
    synthesizer, arguments = made(name), inspect.signature(BUILT_IN[name].make).parameters
    assert synthesizer.name == name
    assert re.fullmatch("an? [^.]+", synthesizer.words)
    assert synthesizer.sensitive == (CASES[name].column,)
    assert {"column", "predictors", "breaks", "kinds", *BUILT_IN[name].takes} <= arguments.keys()
    assert synthesizer.options.keys() <= arguments.keys()


@pytest.mark.parametrize("name", BUILT_IN)
def test_its_draws_are_finite_and_say_whether_they_can_be_trusted(name):
    case, posterior = CASES[name], contract_fit(name)
    assert case.sites <= posterior.draws.keys()
    for site, values in posterior.draws.items():
        assert values.shape[:2] == (case.chains, case.draws), site
        assert values.dtype == (TREE[site] if name == "forest" else np.float64), site
        assert np.isfinite(values).all(), site
        # Chains differ; without chains, one half of the draws from the other.
        first, other = np.split(values[0], 2) if case.chains == 1 else values
        assert (first != other).any() or site.endswith(("omega", "Omega_cholesky")), site
    table = posterior.diagnostics.table
    assert len(table)
    assert np.isfinite(table[["mean", "sd"]].to_numpy()).all()
    assert any("weighted_loglik" in functional for functional in table.index)
    assert 0 <= posterior.mass_outside_range <= 1
    assert (posterior.mass_outside_range > 0) == np.isfinite(case.high)
    assert posterior.learned.facts
    state = "NOT converged" if posterior.diagnostics.problems else "converged"
    assert repr(posterior) == f"Posterior({case.column}: {case.chains} chains x {case.draws} draws, {state})"
    assert json.loads(json.dumps(posterior.evidence))["converged"] == (state == "converged")
    assert posterior.independent == isinstance(made(name), DirectSynthesizer) == (case.chains == 1)


@pytest.mark.parametrize("name", BUILT_IN)
def test_its_tables_are_like_the_one_given(name):
    case = CASES[name]
    column, data = case.column, PEOPLE_WITH_GAPS
    missing = np.flatnonzero(data[column].isna()).tolist()
    before = data.copy(deep=True)
    posterior = contract_fit(name)
    first, second = released_of(posterior)
    again, _ = released_of(posterior)
    other, _ = released_of(posterior, seed=6)
    pd.testing.assert_frame_equal(first, again)
    for released in (first, second, other):
        pd.testing.assert_frame_equal(released.drop(columns=column), before.drop(columns=column))
        assert list(released.columns) == list(before.columns)
        assert released[column].dtype == before[column].dtype
        assert np.flatnonzero(released[column].isna()).tolist() == missing
        assert not released[column].equals(before[column])
        if name != "multinomial":
            assert released[column].dropna().between(case.low, case.high).all()
    assert not first[column].equals(other[column])
    assert not first[column].equals(second[column])
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.parametrize("name", BUILT_IN)
def test_its_options_change_how_is_drawn_and_not_what_was_fitted(name):
    posterior = contract_fit(name)
    assert posterior.options == made(name).options
    before = released_of(posterior, 5)
    for option in posterior.options:
        changed = posterior.drawing_by(**{option: OTHER_CHOICES[option]})
        assert changed.options == {**posterior.options, option: OTHER_CHOICES[option]}
        assert changed.draws is posterior.draws
        # One draw alone may have but one component that matters.
        assert any(not one.equals(other) for one, other in zip(released_of(changed, 5), before, strict=True))
    unchanged = posterior.drawing_by(colour="red")
    assert all(one.equals(other) for one, other in zip(released_of(unchanged, 5), before, strict=True))


@pytest.mark.parametrize("name", ["normal_linear", "poisson", "negative_binomial", "multinomial"])
def test_what_is_watched_of_equal_records_as_one_is_that_of_all_records(name):
    posterior = contract_fit(name)
    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    assert synthesizer.functionals is not None
    watch = jax.jit(jax.vmap(synthesizer.functionals, in_axes=(0, None, None)))
    draws = {site: values.reshape(-1, *values.shape[2:]) for site, values in posterior.draws.items()}
    table = posterior.diagnostics.table
    for functional, values in watch(draws, dict(posterior.learned.inputs), posterior.weights).items():
        rows = [place for place in table.index if place.split("[")[0] == functional]
        np.testing.assert_allclose(table.loc[rows, "mean"], np.asarray(values).mean(axis=0), rtol=1e-9, err_msg=name)


def test_no_confidential_value_is_in_what_is_compiled():
    posteriors = [contract_fit(name) for name in BUILT_IN]
    parts = [part for posterior in posteriors for part in (posterior, *posterior.parts.values())]
    arrays = [PEOPLE[name] for name in ("age", "wage", "income", "pay")]
    arrays += [values for part in parts for values in part.learned.inputs.values() if np.size(values) >= len(PEOPLE)]
    values = np.unique(np.concatenate([np.ravel(np.asarray(array, dtype=np.float64)) for array in arrays]))
    secrets = values[values != np.rint(values)].view(np.uint64)
    assert len(secrets) > 400
    # Of all eight bytes that follow each other, those whose first two are the first two of a secret are looked at.
    marked = np.isin(np.arange(2**16), secrets & 0xFFFF)

    def found_in(programs: list[bytes]) -> int:
        found = 0
        for program in programs:
            starts = [
                np.frombuffer(program[start:][: (len(program) - start) // 8 * 8], np.uint64) for start in range(8)
            ]
            words = np.concatenate(starts)
            found += int(np.isin(secrets, words[marked[words & 0xFFFF]]).sum())
        return found

    programs = shared_programs()
    assert len(programs) >= 5
    assert found_in(programs) == 0
    # The control: of an array that is captured, the same search finds every value.
    captured = jnp.asarray(PEOPLE["pay"].to_numpy())
    compiled = jax.jit(lambda x: x + captured).lower(jnp.ones(len(PEOPLE))).compile().runtime_executable()
    assert found_in([jax.devices("cpu")[0].client.serialize_executable(compiled)]) == len(PEOPLE)


def test_a_mixture_has_shares_and_spreads():
    draws = contract_fit("tdp_mixture").draws
    np.testing.assert_allclose(draws["pi"].sum(axis=-1), 1)
    assert draws["beta"].shape == (2, 100, 3, 3)
    assert (draws["sigma"] > 0).all()
    assert (draws["gamma"] > 0).all()


def test_an_option_chosen_before_the_fit_is_that_chosen_after_it():
    posterior = contract_fit("tdp_mixture")
    case = CASES["tdp_mixture"]
    synthesizer = BUILT_IN["tdp_mixture"].make(case.column, ["region"], **case.settings, component_draw="posterior")
    chosen = quick_fit(synthesizer, PEOPLE_WITH_GAPS)
    np.testing.assert_array_equal(chosen.draws["beta"], posterior.draws["beta"])
    for one, other in zip(
        released_of(chosen), released_of(posterior.drawing_by(component_draw="posterior")), strict=True
    ):
        pd.testing.assert_frame_equal(one, other)


def test_phi_is_the_size_of_the_negative_binomial():
    draws = contract_fit("negative_binomial").draws
    np.testing.assert_allclose(draws["phi"], 1 / draws["inverse_phi"])


def test_categories_keep_their_order_and_the_unused_ones():
    (released,) = released_of(contract_fit("multinomial"), 1)
    assert list(released["job"].cat.categories) == ["top", "none", "mid", "low"]
    assert released["job"].cat.ordered
    assert set(released["job"].dropna()) == {"top", "mid", "low"}


def test_zeros_losses_and_gains_come_as_the_parts_say():
    datasets, posterior = 40, contract_fit("semicontinuous")
    given = PEOPLE_WITH_GAPS["income"].notna()
    drawn = np.array([table["income"][given] for table in released_of(posterior, datasets, seed=8)])
    # What the part of the sign says of every record, by the draw that a table is from.
    sign, places = posterior.parts["sign"], spread_draws(posterior, datasets)
    logits = np.array([sign.learned.inputs["design"][given] @ sign.draws["beta"][place] for place in places])
    odds = np.exp(np.concatenate([np.zeros((*drawn.shape, 1)), logits], axis=2))
    chances = odds / odds.sum(axis=2, keepdims=True)
    for code, chosen in enumerate((drawn < 0, drawn == 0, drawn > 0)):
        error = np.sqrt((chances[..., code] * (1 - chances[..., code])).sum()) / drawn.size
        # Zeros drawn as if they were losses, or the other way round.
        assert_agrees(chosen.mean(), chances[..., code].mean(), error, detects=0.05, of=f"sign {code}")
    # The posterior mean of the logarithms of gains lies about theirs; its error is at most that of one draw.
    logs, data = np.log(drawn[drawn > 0]), np.log(PEOPLE["income"][EARNING])
    error = np.hypot(np.sqrt(2) * data.std() / np.sqrt(len(data)), logs.std() / np.sqrt(logs.size))
    assert_agrees(logs.mean(), data.mean(), error, detects=2.0, of="gains as large as losses, or by another unit")
