"""Growth with the number of records, each size in a process of its own.

Run `python benchmarks/scale.py --records 5000 50000 500000`: of the built-in survey with all ten predictors, seconds of
one gradient of the mixture (K = 10; a sweep has about 15), of growing ten trees of a forest, of drawing one table from
them, of the risk of the confidential table and of one synthetic one, and of an evaluation of five tables without the
comparison of analyses by bootstrap; beside them `numpy.argsort` of as many numbers and one product of the design with
ten vectors, as what the machine can do at all; and the peak memory. Below, how many times as long each took as for the
size before. `--gradients 5000 50000 500000 5000000` measures nothing but the gradient, all sizes by turns in one
process, so that other work on the machine hits them alike. `--collapsed 5000 50000 500000` measures one gradient of the
models with and without equal records as one, by turns, with all predictors and with four. `--shared 50000 500000`
measures a sweep of one chain of the mixture on one device and on all of them, which share the records. `--workers
50000` measures the points of a default search here, on one worker, on two, and on two of which one is killed; it fails
where they do not find the same. `--run 200000`
makes a whole default release without comparisons (five tables) instead, from a Parquet file to the folder with the
report, and tells the seconds of its stages and the peak memory.
"""

import argparse
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import numpy as np
import pandas as pd
from numpyro.infer.util import potential_energy, unconstrain_fn

from molehill import (
    EvaluationOptions,
    Intruder,
    Settings,
    confidential_risk,
    evaluate,
    read_table,
    release_risk,
    runtime,
    synthesize,
)
from molehill.cluster import connect
from molehill.models import forest, multinomial, normal_linear, poisson, tdp_engine
from molehill.models.mixtures import tdp_mixture
from molehill.release.making import prepare
from molehill.release.search.moves import try_moves
from molehill.release.search.points import open_bench
from molehill.runtime import prepare_jax
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.sampling import chains
from molehill.synthesis.synthesizer import Data
from molehill.synthesis.weighting import weight_likelihood
from molehill.tables.populations import consumer_survey
from molehill.tables.table import as_table
from risk import best

KNOWN = ("gender", "age", "region")
LIMITS: dict[str, Any] = {"lower": -100_000.0, "upper": 2_000_000.0}
TREES = 20


def measure(records: int) -> dict[str, float]:
    times = 5 if records <= 50_000 else 2
    data = consumer_survey(records, seed=1)
    told = {"gradient of the mixture": gradient(data, times)}
    predictors = [str(name) for name in data if name != "income"]
    maker = forest("income", predictors, min_leaf_size=max(100.0, records / 500), trees=TREES, **LIMITS)
    fit(maker, data.iloc[:1000], seed=1, progress=False)
    begun = time.perf_counter()
    posterior = fit(maker, data, seed=1, progress=False)
    told["ten trees"] = (time.perf_counter() - begun) * 10 / TREES
    tables = draw(posterior, datasets=5, seed=1)
    told["drawing a table"] = best(lambda: draw(posterior, datasets=1, seed=2), times)
    view = Intruder(KNOWN, "income", radius=0.2).view(data)
    told["risk of the table"] = best(lambda: confidential_risk(view), times)
    told["risk of a synthetic table"] = best(lambda: release_risk(view, tables[:1]), times)
    told["evaluation of five tables"] = best(
        lambda: evaluate(view, tables, options=EvaluationOptions(analyses=[], related=predictors)), 1
    )
    numbers, design = np.random.default_rng(1).random(records), np.random.default_rng(2).random((records, 34))
    told["numpy.argsort"] = best(lambda: np.argsort(numbers), times)
    vectors = np.ones((34, 10))
    told["a product of the design"] = best(lambda: design @ vectors, times)
    return told | {"GiB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def gradient(data: pd.DataFrame, times: int) -> float:
    """Seconds of the likelihood of the mixture and its gradient, in one thread as a chain has it."""
    prepare_jax()
    with jax.enable_x64(new_val=True):
        return best(gradient_call(learn_mixture(data, predictors_of(data))), 4 * times)


def predictors_of(data: pd.DataFrame, column: str = "income") -> list[str]:
    return [str(name) for name in data if name not in (column, "income")]


def learn_mixture(data: pd.DataFrame, predictors: Sequence[str]) -> Data:
    positive = data.query("income > 0").reset_index(drop=True)
    mixture, weights = tdp_mixture("income", predictors, components=10), np.ones(len(positive))
    assert mixture.learn is not None
    return Data(mixture.learn(as_table(positive), weights).inputs, weights)


def gradient_call(data: Data, *, together: bool = True) -> Callable[[], None]:
    """Make a call that computes the gradient of the mixture once; it has been called, and is compiled."""
    with patch.object(tdp_engine, "GAIN", tdp_engine.GAIN if together else 0.0):
        prepared = tdp_engine.prepare(data, least_sigma=0.1)
    size = prepared["white"].shape[-1]
    point = (np.zeros((10, size)), np.linspace(-1, 0, 10), np.full(10, -2.3))
    needed = ("white", "counted_outcome", "counted_weights", "total")
    both = jax.jit(jax.value_and_grad(tdp_engine.weighted_loglik, (0, 1, 2)))
    return ready(both, *point, {name: prepared[name] for name in needed})


def ready(function: Callable[..., Any], *given: Any) -> Callable[[], None]:
    placed = jax.device_put(given)

    def call() -> None:
        jax.block_until_ready(function(*placed))

    call()
    return call


def by_turns(calls: Mapping[Any, Callable[[], None]], rounds: int) -> dict[Any, float]:
    """Median seconds of every call, all of them by turns: of the processor, so that waiting for it is left out."""
    found: dict[Any, list[float]] = {name: [] for name in calls}
    for _, (name, call) in itertools.product(range(rounds), calls.items()):
        begun = time.process_time()
        call()
        found[name].append(time.process_time() - begun)
    return {name: float(np.median(seconds)) for name, seconds in found.items()}


def growth_of_gradients(sizes: Sequence[int]) -> None:
    with jax.enable_x64(new_val=True):
        calls = {}
        for records in sizes:
            survey = consumer_survey(records, seed=1)
            data = learn_mixture(survey, predictors_of(survey))
            calls |= {records: gradient_call(data, together=False), (records, "together"): gradient_call(data)}
        found = by_turns(calls, 15)
    print("| records | seconds | growth | records of a row together | growth |\n|---|---|---|---|---|")
    for before, records in zip((None, *sizes), sizes, strict=False):
        cells = []
        for key in (lambda records: records, lambda records: (records, "together")):
            growth = f"x {found[key(records)] / found[key(before)]:.1f}" if before else ""
            cells += [f"{found[key(records)]:.3g}", growth]
        print(f"| {records:,} | " + " | ".join(cells) + " |", flush=True)


def density_calls(synthesizer: Any, data: pd.DataFrame) -> dict[str, Any]:
    """Calls of one gradient of the density, of all records and of distinct ones, and how many of each there are."""
    learned = synthesizer.learn(as_table(data), np.ones(len(data)))
    whole = Data(learned.inputs, np.ones(len(data)))
    few = synthesizer.engine.keywords["collapse"](whole)
    few = few._replace(inputs={name: few.inputs[name] for name in learned.inputs})
    sites = synthesizer.start(jax.random.key(1), learned.inputs, whole.weights)
    place = unconstrain_fn(synthesizer.model, (), dict(learned.inputs), sites)

    @jax.jit
    @jax.value_and_grad
    def density(place: Any, given: Data) -> Any:
        return potential_energy(weight_likelihood(synthesizer.model, given.weights), (), dict(given.inputs), place)

    calls = {name: ready(density, place, given) for name, given in (("all", whole), ("few", few))}
    return {"calls": calls, "rows": int((few.weights > 0).sum())}


def collapsed(sizes: Sequence[int]) -> None:
    print("| model | predictors | records | rows | ms, all | ms, rows | ratio |\n|---|---|---|---|---|---|---|")
    for records, number in itertools.product(sizes, (10, 4)):
        data = consumer_survey(records, seed=1).query("income > 0").reset_index(drop=True)
        data = data.assign(earners=np.random.default_rng(1).poisson(1.3, len(data)).astype(float))
        four = ["age", "education", "earner", "marital"]
        chosen = {
            "multinomial of region": multinomial("region", four if number == 4 else predictors_of(data, "region")[:-1]),
            "poisson": poisson("earners", four if number == 4 else predictors_of(data, "earners")),
            "normal_linear": normal_linear("income", four if number == 4 else predictors_of(data)[:-1]),
        }
        with jax.enable_x64(new_val=True):
            for name, synthesizer in chosen.items():
                made = density_calls(synthesizer, data)
                found = by_turns(made["calls"], 15)
                told = [f"{1000 * found[which]:.3f}" for which in ("all", "few")]
                ratio = found["all"] / found["few"]
                print(
                    f"| {name} | {number} | {len(data):,} | {made['rows']:,} | {' | '.join(told)} | {ratio:.1f} |",
                    flush=True,
                )
            learned = learn_mixture(data, four if number == 4 else predictors_of(data)[:-1])
            calls = {which: gradient_call(learned, together=which == "few") for which in ("all", "few")}
            found = by_turns(calls, 15)
            ratio = found["all"] / found["few"]
            print(
                f"| tdp_mixture, K = 10 | {number} | {len(data):,} | | {1000 * found['all']:.3f} |"
                f" {1000 * found['few']:.3f} | {ratio:.1f} |",
                flush=True,
            )


def shared(sizes: Sequence[int]) -> None:
    """Seconds of a sweep of one chain, without compiling: the better of three runs by turns."""
    print("| records | one device | all devices | ratio |\n|---|---|---|---|")
    for records in sizes:
        survey = consumer_survey(records, seed=1)
        mixture, sweeps = tdp_mixture("income", predictors_of(survey), components=10), 4
        data = learn_mixture(survey, predictors_of(survey))
        assert mixture.engine is not None
        engine = mixture.engine(mixture, data, warmup=sweeps, draws=sweeps)
        devices = len(jax.devices())
        found = {1: np.inf, devices: np.inf}
        for _, shards in itertools.product(range(3), found):
            ends: list[float] = []

            def note_end(_: chains.Run, ends: list[float] = ends) -> bool:
                ends.append(time.perf_counter())
                return False

            how: dict[str, Any] = {"chains": 1, "shards": shards, "patience": 1, "progress": False}
            chains.sample(engine, data, seed=1, enough=note_end, **how)
            found[shards] = min(found[shards], (ends[1] - ends[0]) / sweeps)
        alone, together = found.values()
        print(f"| {records:,} | {alone:.4f} | {together:.4f} | {alone / together:.2f} |", flush=True)


def search_points(records: int, executor: str | None, *, kill: bool = False) -> dict[str, Any]:
    """Seconds of the points of a default search, and of starting workers until they have made a small one.

    With `kill`, a worker is killed at the first point.
    """
    small, bench = opened_bench(2_000), opened_bench(records)
    begun = time.perf_counter()
    with connect(executor):
        list(try_moves(small))
        started, risks = time.perf_counter(), []
        for point in try_moves(bench):
            risks.append(point.measured.mean[0])
            if kill and len(risks) == 1:
                client = runtime._EXECUTOR.get().client  # type: ignore[union-attr]
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        ended = time.perf_counter()
    return {"points": len(risks), "starting": started - begun, "seconds": ended - started, "risks": risks}


def opened_bench(records: int) -> Any:
    data = consumer_survey(records, seed=1)
    kept = [str(name) for name in data if name != "income"]
    settings = Settings(synthesize="income", keep=kept, known=KNOWN, compare=(), datasets=5, seed=1, **LIMITS)
    return open_bench(prepare(data, settings), checkpoint=None, progress=False)


def by_workers(sizes: Sequence[int]) -> None:
    """A search here, on one worker, on two, and on two of which one is killed."""
    search_points(2_000, None)
    print("| records | points | where | seconds | of working here | starting workers |\n|---|---|---|---|---|---|")
    for records in sizes:
        ways = {"here": (None, False), "1 worker": ("local:1", False), "2 workers": ("local:2", False)}
        ways["2 workers, one killed"] = ("local:2", True)
        found: dict[str, dict[str, Any]] = {}
        for name, (executor, kill) in ways.items():
            found[name] = told = search_points(records, executor, kill=kill)
            assert told["risks"] == found["here"]["risks"], "other numbers"
            ratio = told["seconds"] / found["here"]["seconds"]
            cells = (
                f"{records:,}",
                told["points"],
                name,
                f"{told['seconds']:.1f}",
                f"{ratio:.2f}",
                f"{told['starting']:.1f}",
            )
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def run_whole(records: int, kept: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.parquet"
        consumer_survey(records, seed=1).to_parquet(path)
        begun = time.perf_counter()
        table = read_table(path)
        others = [str(name) for name in table.frame if name != "income"]
        how: dict[str, Any] = {"compare": (), "datasets": 5, "seed": 1, **LIMITS}
        release = synthesize(table, Settings(synthesize="income", keep=others, known=KNOWN, **how), progress=False)
        made = release.save(kept or Path(folder) / "out")
        seconds = time.perf_counter() - begun
        size = (made / "internal" / "report.html").stat().st_size / 2**20
    stages = {name: round(value, 1) for name, value in release.seconds.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    chosen = None if release.search is None else release.search.chosen.to_dict().get("leaf")
    return {
        "records": records,
        "seconds": round(seconds, 1),
        "stages": stages,
        "GiB at most": round(peak, 2),
        "MiB of the report": round(size, 2),
        "parts of": chosen,
        "verdict": release.verdict.sentence,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="+", default=[5_000, 50_000, 500_000])
    parser.add_argument("--gradients", type=int, nargs="+", metavar="RECORDS", help="of the mixture alone, by turns")
    parser.add_argument("--collapsed", type=int, nargs="+", metavar="RECORDS", help="equal records as one, or not")
    parser.add_argument("--shared", type=int, nargs="+", metavar="RECORDS", help="records shared by devices, or not")
    parser.add_argument("--workers", type=int, nargs="+", metavar="RECORDS", help="points of a search on workers")
    parser.add_argument("--run", type=int, metavar="RECORDS", help="a whole release of so many records instead")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to leave that release")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    for sizes, measured in (
        (given.gradients, growth_of_gradients),
        (given.collapsed, collapsed),
        (given.shared, shared),
        (given.workers, by_workers),
    ):
        if sizes:
            prepare_jax()
            measured(sizes)
            return
    if given.run:
        print(json.dumps(run_whole(given.run, given.keep), indent=2))
        return
    found = {}
    for records in given.records:
        told = subprocess.run([sys.executable, __file__, "--one", str(records)], capture_output=True, check=True)
        found[records] = json.loads(told.stdout)
        print(f"{records:,} records", {name: f"{value:.3g}" for name, value in found[records].items()}, flush=True)
    print("\n| | " + " | ".join(f"{records:,}" for records in found) + " |\n|---|" + "---|" * len(found))
    for name in found[given.records[0]]:
        values = [found[records][name] for records in found]
        growth = ["", *(f" (x {after / before:.1f})" for before, after in itertools.pairwise(values))]
        print(
            f"| {name} | "
            + " | ".join(f"{value:.3g}{times}" for value, times in zip(values, growth, strict=True))
            + " |"
        )


if __name__ == "__main__":
    main()
