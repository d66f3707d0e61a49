"""Speed of fitting the mixture, measured side by side in one run.

`python benchmarks/sampling.py` fits the CE sample in ../shared/data where it is present (positive incomes, log scale,
age group, Urban, Tenure, Educ, Marital; K = 10; pairwise weights at radius 0.2; the paper's priors), else the built-in
survey; measures one gradient against a hand-fused likelihood kernel in Numba; and runs NumPyro's NUTS with its default
warm-up on the same model for a bounded time. `--cold` makes the same fit in two fresh processes, with an empty compile
cache and with the one that the first has left. `--exact` compares the default engine with a run of NUTS (about 20
minutes). `--growth` measures the seconds of a sweep for n = 5, 50 and 500 thousand and K = 5, 10, 20 on the built-in
survey.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
from numba import njit
from numpyro.infer import MCMC, NUTS

import molehill
from molehill.models import tdp_engine
from molehill.models.mixtures import tdp_mixture
from molehill.runtime import prepare_jax
from molehill.synthesis.sampling.chains import Run, sample
from molehill.synthesis.sampling.diagnostics import diagnose
from molehill.synthesis.synthesizer import Data
from molehill.tables.populations import consumer_survey
from molehill.tables.table import as_table

CE_SAMPLE = Path(__file__).parents[2] / "shared" / "data" / "ce_sample.csv"
AGES = [25, 35, 50, 65]


def problem() -> tuple[str, pd.DataFrame, Any, np.ndarray]:
    """Give a name, a table, a synthesizer and weights."""
    if CE_SAMPLE.exists():
        data = pd.read_csv(CE_SAMPLE).query("Income > 0").reset_index(drop=True)
        codes: Any = dict.fromkeys(("Urban", "Tenure", "Educ", "Marital"), "categorical")
        synthesizer = tdp_mixture("Income", ["Age", *codes], breaks={"Age": AGES}, kinds=codes, priors="paper")
        intruder = molehill.Intruder(
            ["Age", "Urban", "Marital"], "Income", radius=0.2, breaks={"Age": AGES}, count_self=True
        )
        name = "the CE sample"
    else:
        data = consumer_survey().query("income > 0").reset_index(drop=True)
        synthesizer = tdp_mixture("income", [str(name) for name in data if name != "income"], priors="paper")
        intruder = molehill.Intruder(["gender", "age", "region"], "income", radius=0.2, count_self=True)
        name = "the built-in survey"
    risk = molehill.confidential_risk(data, intruder, order=2)
    return f"{name}, {len(data):,} positive incomes", data, synthesizer, molehill.risk_weights(risk)


def default_fit(seed: int) -> float:
    name, data, synthesizer, weights = problem()
    start = time.perf_counter()
    posterior = molehill.fit(synthesizer, data, weights, seed=seed)
    seconds = time.perf_counter() - start
    told = posterior.diagnostics
    size = told.effective_size
    print(f"{name}; design of {posterior.learned.inputs['design'].shape[1]} columns")
    print(f"seed {seed}: {seconds:.1f} s in all, { {k: round(v, 1) for k, v in told.seconds.items()} }")
    print(f"effective size at least {size:.0f} (bulk), {told.table['tail'].min():.0f} (tail); R-hat at most", end=" ")
    print(f"{told.table['rhat'].max():.4f}; acceptance {told.accept:.2f}, diverged {told.divergent:.2%}")
    print(
        f"EFFECTIVE DRAWS PER SECOND: {size / seconds:.1f}; gradients per effective draw: {told.gradients / size:.0f}"
    )
    return size / seconds


def cold_and_warm() -> None:
    """Time the default fit in fresh processes: nothing compiled before, then everything."""
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "warm"):
            print(f"\n{state} compile cache", flush=True)
            begun = time.perf_counter()
            fresh = {**os.environ, "XDG_CACHE_HOME": cache}
            subprocess.run([sys.executable, __file__, "--only-fit"], env=fresh, check=True)
            print(f"the whole process, imports included: {time.perf_counter() - begun:.1f} s", flush=True)


def against_exact(sweeps: int) -> None:
    """Compare the default engine with NUTS on every functional, in Monte Carlo standard errors."""
    name, data, synthesizer, weights = problem()
    ours = molehill.fit(synthesizer, data, weights, seed=7).diagnostics
    begun = time.perf_counter()
    nuts: dict[str, Any] = {"engine": "nuts", "warmup": sweeps, "draws": sweeps, "patience": 0}
    exact = molehill.fit(synthesizer, data, weights, seed=8, **nuts).diagnostics
    seconds = time.perf_counter() - begun
    z = (ours.table["mean"] - exact.table["mean"]) / np.hypot(ours.table["error"], exact.table["error"])
    print(f"{name}; NUTS, 2 chains of {sweeps} + {sweeps}: {seconds:.0f} s, {exact.divergent:.1%} divergent")
    for engine, told in (("default", ours), ("NUTS", exact)):
        size, rhat = told.effective_size, told.table["rhat"].max()
        total = told.table.loc["weighted_loglik", "mean"]
        print(f"{engine}: effective size at least {size:.0f}, R-hat at most {rhat:.4f}, log-likelihood {total:.1f}")
    print(f"{len(z)} functionals; z of the log-likelihood {z['weighted_loglik']:.1f}; largest |z| {z.abs().max():.1f}")


def numpyro_nuts(limit: int) -> None:
    """NumPyro's NUTS, default warm-up, two chains, in a process that is stopped after `limit` seconds."""
    begun = time.perf_counter()
    try:
        subprocess.run([sys.executable, __file__, "--only-numpyro"], timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        print(
            f"NumPyro's NUTS: not through 1,000 + 1,000 sweeps after {time.perf_counter() - begun:.0f} s: no draws yet"
        )


def run_numpyro() -> None:
    _, data, synthesizer, weights = problem()
    learned = synthesizer.learn(as_table(data), np.ones(len(data)))
    with jax.enable_x64(new_val=True):
        inputs = {name: jnp.asarray(value) for name, value in learned.inputs.items()}
        counted = jnp.asarray(weights)
        numpyro.set_host_device_count(2)
        begun = time.perf_counter()
        chains = MCMC(
            NUTS(molehill.weight_likelihood(synthesizer.model, counted)),
            num_warmup=1000,
            num_samples=1000,
            num_chains=2,
            progress_bar=False,
        )
        chains.run(jax.random.key(1), **inputs)
        watch = jax.jit(jax.vmap(jax.vmap(lambda draw: synthesizer.functionals(draw, inputs, counted))))
        functionals = {k: np.asarray(v) for k, v in watch(chains.get_samples(group_by_chain=True)).items()}
        seconds = time.perf_counter() - begun
    zeros = np.zeros((2, 1000))
    size = diagnose(Run({}, functionals, zeros, zeros, 0, 0, 0, {})).effective_size
    print(f"NumPyro's NUTS: {seconds:.0f} s, {size / seconds:.2f} effective draws per second")


@njit(fastmath=True)
def fused(design, outcome, weights, b, log_sigma, log_pi, to_b, to_sigma, to_pi):
    """The likelihood and its gradient in one loop over the records, by hand."""
    records, size = design.shape
    components = len(log_sigma)
    logs, residual = np.empty(components), np.empty(components)
    total = 0.0
    to_b[:], to_sigma[:], to_pi[:] = 0.0, 0.0, 0.0
    for i in range(records):
        highest = -np.inf
        for k in range(components):
            centre = 0.0
            for r in range(size):
                centre += design[i, r] * b[k, r]
            residual[k] = (outcome[i] - centre) * np.exp(-log_sigma[k])
            logs[k] = log_pi[k] - log_sigma[k] - 0.5 * residual[k] ** 2
            highest = max(highest, logs[k])
        whole = 0.0
        for k in range(components):
            logs[k] = np.exp(logs[k] - highest)
            whole += logs[k]
        total += weights[i] * (highest + np.log(whole))
        for k in range(components):
            share = weights[i] * logs[k] / whole
            to_pi[k] += share
            to_sigma[k] += share * (residual[k] ** 2 - 1)
            pull = share * residual[k] * np.exp(-log_sigma[k])
            for r in range(size):
                to_b[k, r] += pull * design[i, r]
    return total


def gradients() -> None:
    """One gradient of the whole potential against the likelihood alone, fused by hand."""
    _, data, synthesizer, weights = problem()
    learned = synthesizer.learn(as_table(data), np.ones(len(data)))
    with jax.enable_x64(new_val=True):
        prepared = tdp_engine.prepare(Data(learned.inputs, weights), least_sigma=0.0)
        inputs = {name: jnp.asarray(value) for name, value in prepared.items()}
        mixture = tdp_engine._start(jax.random.key(1), inputs, 10)
        key = jax.random.key(2)
        position = tdp_engine.joint_target(key, mixture, inputs, "paper").position

        # The data are arguments, as they are in a sweep, so that nothing is folded into a constant.
        def potential(position: jax.Array, mixture: Any, inputs: Any) -> jax.Array:
            return tdp_engine.joint_target(key, mixture, inputs, "paper").log_density(position)

        both = jax.jit(jax.value_and_grad(potential))
        both(position, mixture, inputs)[0].block_until_ready()

        def ready() -> None:
            both(position, mixture, inputs)[0].block_until_ready()

        whole = [_seconds(ready) for _ in range(200)]
    components, size = np.asarray(mixture.b).shape
    white, outcome, counted = (prepared[name] for name in ("white", "counted_outcome", "counted_weights"))
    # Records that share a row of the design stand together; the kernel by hand has a row for each.
    white = np.repeat(white, outcome.shape[1] // white.shape[1], axis=1)
    white, outcome, counted = white.reshape(-1, size), outcome.ravel(), counted.ravel()
    arguments = (white, outcome, counted, np.asarray(mixture.b), np.zeros(components), np.full(components, -2.3))
    outputs = (np.empty((components, size)), np.empty(components), np.empty(components))
    fused(*arguments, *outputs)
    alone = [_seconds(partial(fused, *arguments, *outputs)) for _ in range(200)]
    print(f"one gradient of the whole potential: {1000 * min(whole):.2f} ms", end="; ")
    print(f"the likelihood alone, fused by hand: {1000 * min(alone):.2f} ms; ratio {min(whole) / min(alone):.2f}")


def _seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def growth() -> None:
    """Seconds of one sweep, without compiling, two chains side by side."""
    print("| records | components | seconds a sweep |\n|---|---|---|")
    for records, components in ((5_000, 5), (5_000, 10), (5_000, 20), (50_000, 10), (500_000, 10)):
        data = consumer_survey(records, seed=1).query("income > 0").reset_index(drop=True)
        synthesizer = tdp_mixture("income", ["age", "education", "earner", "marital"], components=components)
        assert synthesizer.learn is not None
        assert synthesizer.engine is not None
        fitted_to = Data(synthesizer.learn(as_table(data), np.ones(len(data))).inputs, np.ones(len(data)))
        sweeps = 20 if records < 100_000 else 4
        engine = synthesizer.engine(synthesizer, fitted_to, warmup=sweeps, draws=sweeps)
        ends: list[float] = []

        def note_end(_: Run, ends: list[float] = ends) -> bool:
            ends.append(time.perf_counter())
            return False

        # The second round is as long as the first, and nothing is left to compile in it.
        sample(engine, fitted_to, seed=1, enough=note_end, patience=1, progress=False)
        seconds = (ends[1] - ends[0]) / sweeps
        print(f"| {records:,} | {components} | {seconds:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many default fits")
    parser.add_argument(
        "--numpyro", type=int, default=180, metavar="SECONDS", help="bound for NumPyro's NUTS; 0: skip it"
    )
    parser.add_argument("--cold", action="store_true", help="cold and warm compile cache instead")
    parser.add_argument(
        "--exact", type=int, const=400, nargs="?", metavar="SWEEPS", help="against NUTS instead; warm-up and draws"
    )
    parser.add_argument("--growth", action="store_true", help="growth with n and K instead")
    parser.add_argument("--only-fit", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only-numpyro", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    prepare_jax()
    if chosen.only_numpyro:
        run_numpyro()
    elif chosen.only_fit:
        default_fit(1)
    elif chosen.cold:
        cold_and_warm()
    elif chosen.exact:
        against_exact(chosen.exact)
    elif chosen.growth:
        growth()
    else:
        for seed in range(1, chosen.seeds + 1):
            default_fit(seed)
        gradients()
        if chosen.numpyro:
            numpyro_nuts(chosen.numpyro)


if __name__ == "__main__":
    main()
