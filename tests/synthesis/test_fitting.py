"""Fits against known answers, what is refused before hours of sampling, and fits that go on where they stopped."""

import os
import re
import signal
import stat
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats

from agreement import assert_agrees
from molehill.models.counts import negative_binomial
from molehill.models.linear import normal_linear
from molehill.models.mixtures import tdp_mixture
from molehill.risk.identification import confidential_risk, release_risk, risk_weights
from molehill.risk.intruder import Intruder
from molehill.synthesis import fitting, model_fit
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.sampling.nuts import model_engine
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.utility.distances import ecdf_distances
from people import (
    COUNT,
    PEOPLE,
    WAGES,
    WARMUP,
    WEIGHTS,
    plain_fit,
    programs_shared,
    quick_fit,
    refusal,
    user_fit,
    wages,
)
from processes import run_python

AXES = {"chain_axis": 0, "draw_axis": 1}
STATS: Any = array_stats


# Against known answers.


def test_the_conjugate_normal_has_its_closed_form():
    posterior = user_fit()
    assert posterior.diagnostics.problems == ()
    age, pay = PEOPLE["age"], PEOPLE["pay"]
    precision = 1 + (WEIGHTS * age**2).sum()
    slope = posterior.draws["slope"]
    assert slope.shape == (2, 1500)
    # Weights that are ignored: the plain posterior lies elsewhere, and is narrower.
    plain = 1 + (age**2).sum()
    means = [(WEIGHTS * age * pay).sum() / precision, (age * pay).sum() / plain]
    error = float(STATS.mcse(slope, **AXES))
    assert_agrees(slope.mean(), means[0], error, detects=means[1] - means[0], of="mean")
    error = float(STATS.mcse(slope, method="sd", **AXES))
    assert_agrees(slope.std(), precision**-0.5, error, detects=precision**-0.5 - plain**-0.5, of="spread")


# Mean and standard deviation over 100 replicates of 20 tables of the authors' model in RStan: U_m, U_a, the mean of
# the means, and the mean risk at the scheme's own radius (README of the shared data).
AUTHORS: dict[str, tuple[float, list[tuple[float, float]]]] = {
    "notw": (0.15, [(0.0458, 0.0027), (0.00055, 0.00008), (100.7, 0.35), (0.1831, 0.0019)]),
    "marg_r030": (0.30, [(0.1100, 0.0040), (0.00440, 0.00032), (103.2, 0.27), (0.1787, 0.0017)]),
    "marg_r025": (0.25, [(0.1127, 0.0033), (0.00460, 0.00027), (102.8, 0.29), (0.1911, 0.0017)]),
    "marg_r020": (0.20, [(0.1131, 0.0031), (0.00467, 0.00024), (102.3, 0.28), (0.1956, 0.0019)]),
    "marg_r015": (0.15, [(0.1135, 0.0039), (0.00478, 0.00031), (101.9, 0.33), (0.1847, 0.0019)]),
    "pw_r015": (0.15, [(0.0415, 0.0027), (0.00051, 0.00010), (101.2, 0.33), (0.1864, 0.0020)]),
}


# The wide weights: the others are like them, and weights of 1 are no weights (test_weighting.py).
FIRST = ("marg_r030",)


@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in AUTHORS]
)
def test_negative_binomial_posteriors_and_tables_are_those_of_rstan(shared, model):
    folder = shared / "reference_nb"
    reference = pd.read_csv(folder / "posterior.csv").set_index(["model", "param"]).loc[model]
    table = pd.read_csv(folder / "weights.csv")
    weights = None if model == "notw" else table[model].to_numpy()
    data = table[["outcome"]]
    with programs_shared():
        posterior = fit(negative_binomial("outcome"), data, weights, seed=11, warmup=WARMUP, draws=1500, progress=False)
    ours = {"mu": np.exp(posterior.draws["beta"][..., 0]), "phi": posterior.draws["phi"]}
    assert set(reference.index) == set(ours)
    for name, values in ours.items():
        theirs = reference.loc[name]
        error = np.hypot(theirs["sd"] / np.sqrt(theirs["n_eff"]), float(STATS.mcse(values, **AXES)))
        # A record more or less moves it by less than half of its standard deviation.
        assert_agrees(values.mean(), theirs["mean"], error, detects=theirs["sd"] / 2, of=name)
        error = np.hypot(theirs["sd"] / np.sqrt(2 * theirs["n_eff"]), float(STATS.mcse(values, method="sd", **AXES)))
        assert_agrees(values.std(), theirs["sd"], error, detects=theirs["sd"] / 3, of=f"spread of {name}")

    radius, authors = AUTHORS[model]
    tables = draw(posterior, datasets=20, seed=4)
    distances = ecdf_distances(data, tables, "outcome")
    measured = [
        distances.value("U_m"),
        distances.value("U_a"),
        np.mean([table["outcome"].mean() for table in tables]),
        release_risk(data, tables, Intruder([], "outcome", radius, count_self=True)).realised.mean(),
    ]
    # Weights that are ignored, or that are counted twice, change each distance by more than half.
    detects = [0.06, 0.004, 3.0, 0.02]
    for number, (mean, sd), departure in zip(measured, authors, detects, strict=True):
        assert_agrees(number, mean, sd * np.sqrt(1 + 1 / 100), detects=departure, of=(model, measured))


@pytest.mark.slow
def test_the_mixture_is_that_of_a_long_exact_run(shared):
    survey = pd.read_csv(shared / "ce_sample.csv").query("Income > 0").reset_index(drop=True)
    breaks, categorical = {"Age": [25, 35, 50, 65]}, ["Urban", "Tenure", "Educ", "Marital"]
    intruder = Intruder(["Age", "Urban", "Marital"], "Income", radius=0.2, breaks=breaks, count_self=True)
    weights = risk_weights(confidential_risk(survey, intruder, order=2))
    given_weights = pd.read_csv(shared / "reference_tdp" / "weights.csv")["weight"]
    np.testing.assert_allclose(weights, given_weights, atol=1e-12)
    logs = np.log(survey["Income"])
    # Standardised by the plain moments, as the reference was, and not by the weighted ones.
    survey = survey.assign(Income=(logs - logs.mean()) / logs.std(ddof=0))
    synthesizer = tdp_mixture(
        "Income",
        ["Age", *categorical],
        components=10,
        transform="identity",
        standardize=False,
        breaks=breaks,
        kinds=dict.fromkeys(categorical, "categorical"),
        priors="paper",
    )
    posterior = fit(synthesizer, survey, weights, seed=1, draws=1200, progress=False)
    table = posterior.diagnostics.table
    assert posterior.diagnostics.problems == ()
    assert table["rhat"].max() <= 1.01
    assert table["bulk"].min() >= 400

    reference = pd.read_csv(shared / "reference_tdp" / "functionals.csv").set_index("functional")
    assert len(reference) == 53
    rows = [int(name.rsplit("_", 1)[1]) for name in reference.index if name.startswith("predictive_mean")]
    design, draws = posterior.learned.inputs["design"][rows], posterior.draws
    centres = np.einsum("mr,cdkr->cdmk", design, draws["beta"])
    mean = np.einsum("cdmk,cdk->cdm", centres, draws["pi"])
    squares = np.einsum("cdmk,cdk->cdm", centres**2 + draws["sigma"][:, :, None] ** 2, draws["pi"])
    functionals = np.concatenate([mean, squares - mean**2], axis=2)
    ours = pd.DataFrame(
        {"mean": functionals.mean(axis=(0, 1)), "error": STATS.mcse(functionals, **AXES)},
        index=[f"{name}_{row}" for name in ("predictive_mean", "predictive_variance") for row in rows],
    )
    ours.loc["weighted_loglik"] = table.loc["weighted_loglik", ["mean", "error"]]
    assert set(ours.index) == set(reference.index)
    ours = ours.loc[reference.index]
    error = np.hypot(ours["error"], reference["sd"] / np.sqrt(reference["ess"]))
    assert_agrees(ours["mean"], reference["mean"], error, detects=reference["sd"], of="functionals")


def test_an_unconverged_fit_warns_and_is_refused_with_numbers_and_remedies():
    with pytest.warns(ConvergenceWarning, match=r"has not converged: .*effective size"):
        posterior = fit(WAGES, PEOPLE, seed=1, warmup=WARMUP, draws=50, patience=0, progress=False)
    text = refusal(lambda: draw(posterior, datasets=2, seed=1), "posterior")
    assert re.search(r"effective size of \w+ is \d+, below 200", text)
    assert "draws=" in text
    assert "unconverged='allow'" in text
    assert len(draw(posterior, datasets=2, seed=1, unconverged="allow")) == 2


def test_more_tables_than_effective_draws_are_refused_with_the_numbers():
    posterior = user_fit()
    size = int(posterior.diagnostics.effective_size)
    text = refusal(lambda: draw(posterior, datasets=size + 1, seed=1), "datasets")
    assert f"it is {size + 1}" in text
    assert f"at most {size}" in text


@pytest.mark.parametrize("datasets", [0, -1, 2.0, True, "3", None])
def test_bad_numbers_of_tables_are_refused(datasets):
    refusal(lambda: draw(user_fit(), datasets=datasets, seed=1), "datasets")


def test_a_misspelt_choice_does_not_let_an_unconverged_fit_through():
    choice: Any = "eror"
    refusal(lambda: draw(user_fit(), datasets=1, seed=1, unconverged=choice), "unconverged")
    refusal(lambda: fit(WAGES, PEOPLE, seed=1, engine=choice), "engine")


NAN = np.where(np.arange(COUNT) == 5, np.nan, 1.0)
REFUSED = {
    "one chain": ({"chains": 1}, "chains"),
    "chains in fractions": ({"chains": 2.0}, "chains"),
    "no draws": ({"draws": 0}, "draws"),
    "no warm-up": ({"warmup": 0}, "warmup"),
    "a negative seed": ({"seed": -1}, "seed"),
    "an endless seed": ({"seed": 2**64}, "seed"),
    "too few weights": ({"weights": np.ones(COUNT - 1)}, "weights"),
    "weights in columns": ({"weights": np.ones((COUNT, 1))}, "weights"),
    "a negative weight": ({"weights": np.where(np.arange(COUNT) == 5, -0.1, 1.0)}, "weights"),
    "a weight that is no number": ({"weights": NAN}, "weights"),
    "an infinite weight": ({"weights": np.nan_to_num(NAN, nan=np.inf)}, "weights"),
    "no weight": ({"weights": np.zeros(COUNT)}, "weights"),
    "an unknown column": ({"synthesizer": Synthesizer(wages, ("payy",))}, "sensitive"),
    "an unknown argument": ({"data": PEOPLE.rename(columns={"age": "years"})}, "model"),
    "a missing predictor": ({"data": PEOPLE.assign(age=PEOPLE["age"].where(PEOPLE["age"] < 1))}, "data"),
    "an infinite value": ({"data": PEOPLE.assign(pay=PEOPLE["pay"].where(PEOPLE["pay"] < 1, np.inf))}, "data"),
}


@pytest.mark.parametrize(("changes", "argument"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_arguments_are_refused(changes, argument):
    call = {"synthesizer": WAGES, "data": PEOPLE, "weights": None, "seed": 1, **changes}
    text = refusal(lambda: fit(**call), argument)
    assert not any(str(value) in text for value in PEOPLE["pay"])


def test_a_column_without_any_value_is_refused():
    refusal(lambda: quick_fit(WAGES, PEOPLE.assign(pay=np.nan)), "weights")


def test_models_that_cannot_predict_are_refused_before_they_are_fitted(monkeypatch):
    monkeypatch.setattr("molehill.synthesis.model_fit.sample", None)

    def misnamed(age, pay=None):
        with numpyro.plate("records", len(age)):
            numpyro.sample("y", dist.Normal(numpyro.sample("mean", dist.Normal(0, 1)), 1), obs=pay)

    def leaking(wage, pay=None):
        mean = numpyro.sample("mean", dist.Normal(0, 1))
        with numpyro.plate("records", len(wage)):
            logs = numpyro.sample("logs", dist.Normal(mean, 1), obs=jnp.log(wage))
            numpyro.deterministic("pay", jnp.exp(logs) + (0 if pay is None else 0 * pay))

    def labelled(age, pay=None):
        with numpyro.plate("records", len(age)):
            group: Any = numpyro.sample("group", dist.Bernoulli(0.5))
            numpyro.sample("pay", dist.Normal(group * age, 1), obs=pay)

    for model, words in (
        (misnamed, "no site 'pay'"),
        (leaking, "'logs' is observed"),
        (labelled, "'group' is discrete"),
    ):
        assert words in refusal(lambda model=model: quick_fit(Synthesizer(model, ("pay",)), PEOPLE), "model")


# Checkpoints of fits. The note of a run is written before anything is compiled.


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


ONE = np.array([1.0, 1.0])


def with_scale(captured: Any, scale: float = 2.0) -> Synthesizer:
    def model(age, pay=None):
        slope = numpyro.sample("slope", dist.Normal(0, jnp.max(jnp.asarray(captured))))
        with numpyro.plate("records", len(age)):
            numpyro.sample("pay", dist.Normal(slope * age, scale), obs=pay)

    return Synthesizer(model, sensitive=("pay",))


@pytest.mark.parametrize(
    "change",
    [
        {"weights": WEIGHTS},
        {"data": PEOPLE.assign(pay=PEOPLE["pay"].where(np.arange(COUNT) != 7, 0.0))},
        {"synthesizer": with_scale(ONE, 3.0)},
        {"synthesizer": with_scale(np.array([1.0, 2.0]))},
        {"synthesizer": replace(with_scale(ONE), functionals=lambda sites, *_: {"slope": sites["slope"][None]})},
        {"synthesizer": replace(with_scale(ONE), start=lambda *_: {"slope": jnp.zeros(())})},
    ],
    ids=["weights", "data", "prior", "captured array", "functionals", "start"],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, change, monkeypatch):
    monkeypatch.setattr(sampling, "_compile", interrupt)
    call: dict[str, Any] = {"synthesizer": with_scale(ONE), "data": PEOPLE, "weights": None, "checkpoint": tmp_path}
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            quick_fit(**call)
    text = refusal(lambda: quick_fit(**{**call, **change}), "checkpoint")
    assert "other data, settings or versions" in text


KILLED = """
    import os, signal, sys
    from molehill.synthesis.sampling import chains as sampling
    import people
    write = sampling.write_chunk
    def die(store, number, *rest):
        write(store, number, *rest)
        os.kill(os.getpid(), signal.SIGKILL)
    sampling.write_chunk = die
    people.quick_fit(people.WAGES, people.PEOPLE, people.WEIGHTS, checkpoint=sys.argv[1])
"""


# Whole runs that are killed and go on are in tests/release/test_runs.py, in every run of the tests.
@pytest.mark.slow
@pytest.mark.posix
def test_a_fit_killed_in_another_process_goes_on_to_the_same_bytes(tmp_path):
    folder = tmp_path / "kept"
    done = run_python(KILLED, folder)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [path.name for path in sorted(folder.glob("chunk-*"))] == ["chunk-00000.bin"]
    resumed = quick_fit(WAGES, PEOPLE, WEIGHTS, checkpoint=folder)
    assert resumed.draws["slope"].tobytes() == plain_fit().draws["slope"].tobytes()


@pytest.mark.posix
def test_checkpoints_of_parts_lie_in_private_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sampling, "_compile", interrupt)
    two = Composite(("pay",), lambda _: {"first": WAGES, "second": WAGES}, lambda values, _: values["first"])
    folder, mask = tmp_path / "kept", os.umask(0o022)
    try:
        with pytest.raises(KeyboardInterrupt):
            quick_fit(two, PEOPLE, checkpoint=folder)
    finally:
        os.umask(mask)
    assert {path.name for path in folder.iterdir()} == {"first"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {0o700}


MODES = dist.Normal(np.array([-50.0, 50.0]), 0.1)


def two_modes(age, pay=None):
    """A model whose chains stay where they begin: the size of `place` is known, and its sign is not."""
    place = numpyro.sample("place", dist.MixtureSameFamily(dist.Categorical(np.array([0.5, 0.5])), MODES))
    with numpyro.plate("records", len(age)):
        numpyro.sample("pay", dist.Normal(0.0 * place * age, 3.0), obs=pay)


def begins_left(key):
    return jax.random.key_data(key)[-1] % 2 == 0


def watch_both(sites, inputs, weights):
    del inputs, weights
    return {"size": jnp.abs(sites["place"])[None], "place": sites["place"][None]}


LARGE = Synthesizer(
    two_modes,
    "pay",
    start=lambda key, *_: {"place": jnp.where(begins_left(key), -50.0, 50.0)},
    functionals=watch_both,
    variant="large",
    simpler=replace(WAGES, variant="small"),
)


def apart(seed: int) -> bool:
    """Whether the two chains of a fit begin on either side."""
    keys = [jax.random.split(key)[0] for key in jax.random.split(jax.random.key(seed), 2)]
    return len({bool(begins_left(key)) for key in keys}) == 2


SHORT: dict[str, Any] = {"warmup": WARMUP, "draws": 1000, "patience": 2}


def test_what_does_not_converge_is_followed_by_what_is_simpler(tmp_path):
    seed = next(seed for seed in range(20) if apart(seed))
    # Chains 100 apart do not converge however few draws there are.
    how: dict[str, Any] = {**SHORT, "draws": 200, "effective": 50}
    posterior = quick_fit(LARGE, PEOPLE, WEIGHTS, seed=seed, checkpoint=tmp_path / "kept", **how)
    assert posterior.variant == posterior.evidence["variant"] == "small"
    assert len(posterior.given_up) == 1
    assert posterior.given_up[0].startswith("large: R-hat of place is")
    assert "large" in posterior.evidence["remarks"]
    # It is what the simpler one gives by itself, and what a call made again reads.
    alone = quick_fit(WAGES, PEOPLE, WEIGHTS, seed=seed, **how)
    again = quick_fit(LARGE, PEOPLE, WEIGHTS, seed=seed, checkpoint=tmp_path / "kept", **how)
    for other in (alone, again):
        np.testing.assert_array_equal(other.draws["slope"], posterior.draws["slope"])
    # Another fit that starts from it does not try the larger one again.
    other = quick_fit(LARGE, PEOPLE, seed=seed, start_from=posterior, **how)
    assert (other.variant, other.given_up) == ("small", ())


def test_of_very_many_records_a_fit_to_some_is_where_the_fit_to_all_begins(monkeypatch, tmp_path):
    monkeypatch.setattr(fitting, "MANY", COUNT - 1)
    monkeypatch.setattr(fitting, "FEW", 30)
    seen: list[tuple[int, int]] = []

    def engine(synthesizer, data, **lengths):
        seen.append((int((data.weights > 0).sum()), len(data.start)))
        return model_engine(synthesizer, data, **{**lengths, "warmup": WARMUP})

    # Without a length of the warm-up, which would say that nothing is to be tried before.
    how: dict[str, Any] = {"seed": 3, "draws": 1500, "warmup": None, "patience": 2, "checkpoint": tmp_path / "kept"}
    posterior = quick_fit(replace(WAGES, engine=engine), PEOPLE, WEIGHTS, **how)
    assert seen == [(30, 0), (COUNT, 1)]
    age, slope = PEOPLE["age"], posterior.draws["slope"]
    precision = 1 + (WEIGHTS * age**2).sum()
    error, mean = float(STATS.mcse(slope, **AXES)), (WEIGHTS * age * PEOPLE["pay"]).sum() / precision
    # As wide as the posterior is: a fit to 30 records lies elsewhere by about twice that.
    assert_agrees(slope.mean(), mean, error, detects=precision**-0.5, of="slope")
    again = quick_fit(replace(WAGES, engine=engine), PEOPLE, WEIGHTS, **how)
    np.testing.assert_array_equal(again.draws["slope"], slope)
    # Draws of another form are no place to start from.
    assert model_fit._starting_draws(posterior, replace(posterior.learned, inputs={"age": np.zeros(3)})) == {}


@pytest.mark.slow
def test_draws_that_begin_with_some_of_the_records_are_those_of_all_of_them(monkeypatch):
    """More than 50 functionals of a mixture are those of a fit that begins with all records."""
    random = np.random.default_rng(4)
    age = random.normal(0, 1, 4000)
    people = pd.DataFrame({"age": age, "pay": np.exp(2 + 0.5 * age + random.normal(0, 0.6, 4000))})
    mixture = tdp_mixture("pay", ["age"], components=10)
    plain = fit(mixture, people, seed=1, progress=False)
    monkeypatch.setattr(fitting, "MANY", 3000)
    monkeypatch.setattr(fitting, "FEW", 1000)
    begun = fit(mixture, people, seed=2, progress=False)
    assert not plain.diagnostics.problems
    assert not begun.diagnostics.problems
    ours, theirs = begun.diagnostics.table, plain.diagnostics.table
    assert len(ours) > 50
    error = np.hypot(ours["error"], theirs["error"])
    # The tolerance of a functional is what a released table would show; of the log-likelihood none does. A fit that
    # stays with a quarter of the records is further off: by 1.7 standard deviations, on average.
    seen = np.where(np.isfinite(theirs["tolerance"]), theirs["tolerance"], theirs["sd"])
    assert_agrees(ours["mean"], theirs["mean"], error, detects=seen, of="functionals")


def test_modes_that_change_nothing_of_a_release_are_told_and_refuse_nothing():
    seed = next(seed for seed in range(20) if apart(seed))
    large = replace(LARGE, simpler=None)
    posterior = quick_fit(replace(large, tolerances={"place": np.inf}), PEOPLE, seed=seed, **SHORT)
    assert posterior.diagnostics.problems == ()
    assert "different modes (R-hat of place is" in posterior.diagnostics.remarks[0]
    assert posterior.diagnostics.largest_rhat < 1.02
    told = quick_fit(large, PEOPLE, seed=seed, **{**SHORT, "patience": 0}).diagnostics.problems
    assert any(problem.startswith("R-hat of place") for problem in told)


@pytest.mark.parametrize(
    "make",
    [
        # What the mixture is fitted to is looked at in the tests of its engine.
        pytest.param(partial(tdp_mixture, components=3), marks=pytest.mark.slow),
        partial(normal_linear, transform="log"),
    ],
)
def test_a_record_of_weight_0_is_truly_left_out(make):
    """Its value shapes neither the moments that priors rest on nor anything else."""
    weights = np.where(np.isin(np.arange(COUNT), [7, 50]), 0.0, 1.0)
    frames = [PEOPLE.assign(wage=PEOPLE["wage"].where(weights > 0, value)) for value in (1.0, 1e6)]
    one, other = (quick_fit(make("wage", "region"), frame, weights) for frame in frames)
    for site, values in one.draws.items():
        np.testing.assert_array_equal(values, other.draws[site])
    counted = np.log(PEOPLE["wage"].to_numpy()[weights > 0])
    assert one.learned.facts["centre"] == pytest.approx(counted.mean(), rel=1e-12)
    assert one.learned.facts["scale"] == pytest.approx(counted.std(), rel=1e-12)


def test_a_part_without_weights_is_fitted_once_and_only_to_the_same_table():
    """In the one table the pay rises with age, in the other it falls: a fit of one says nothing of the other."""
    part = replace(WAGES, learn=lambda table, _: fitting._learn_by_name(WAGES, table))
    both = Composite(
        ("pay",), lambda _: {"plain": part, "weighed": part}, lambda values, _: values["plain"], unweighted=("plain",)
    )
    how: dict[str, Any] = {"draws": 400, "effective": 50}
    first = quick_fit(both, PEOPLE, **how)
    again = quick_fit(both, PEOPLE, WEIGHTS, start_from=first, **how)
    assert again.parts["plain"] is first.parts["plain"]
    assert again.parts["weighed"] is not first.parts["weighed"]
    falling = PEOPLE.assign(pay=-PEOPLE["pay"])
    other = quick_fit(both, falling, start_from=first, **how)
    assert other.parts["plain"] is not first.parts["plain"]
    assert other.parts["plain"].draws["slope"].max() < 0 < first.parts["plain"].draws["slope"].min()
