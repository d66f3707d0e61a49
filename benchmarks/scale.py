"""Growth with the number of records, each size in a process of its own.

Run `python benchmarks/scale.py --records 5000 50000 500000`: of the built-in survey with all ten predictors, seconds of
one gradient of the mixture (K = 10; a sweep has about 15), of growing ten trees of a forest, of drawing one table from
them, of the risk of the confidential table and of one synthetic one, and of an evaluation of five tables without the
comparison of analyses by bootstrap; beside them `numpy.argsort` of as many numbers and one product of the design with
ten vectors, as what the machine can do at all; and the peak memory. Below, how many times as long each took as for the
size before. `--run 200000` makes a whole default release without comparisons (five tables) instead, from a Parquet file
to the folder with the report, and tells the seconds of its stages and the peak memory.
"""

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from molehill import Intruder, Settings, confidential_risk, evaluate, read_table, release_risk, synthesize
from molehill.machine import prepare_jax
from molehill.models import forest, tdp_engine
from molehill.models.tdp_mixture import tdp_mixture
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.synthesizer import Data
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
    maker = forest("income", predictors, leaf=max(100.0, records / 500), trees=TREES, **LIMITS)
    fit(maker, data.iloc[:1000], seed=1, progress=False)
    begun = time.perf_counter()
    posterior = fit(maker, data, seed=1, progress=False)
    told["ten trees"] = (time.perf_counter() - begun) * 10 / TREES
    tables = draw(posterior, datasets=5, seed=1)
    told["drawing a table"] = best(lambda: draw(posterior, datasets=1, seed=2), times)
    view = Intruder(KNOWN, "income", radius=0.2).look(data)
    told["risk of the table"] = best(lambda: confidential_risk(view), times)
    told["risk of a synthetic table"] = best(lambda: release_risk(view, tables[:1]), times)
    told["evaluation of five tables"] = best(lambda: evaluate(view, tables, analyses=[], related=predictors), 1)
    numbers, design = np.random.default_rng(1).random(records), np.random.default_rng(2).random((records, 34))
    told["numpy.argsort"] = best(lambda: np.argsort(numbers), times)
    vectors = np.ones((34, 10))
    told["a product of the design"] = best(lambda: design @ vectors, times)
    return told | {"GiB at most": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def gradient(data: pd.DataFrame, times: int) -> float:
    """Seconds of the likelihood and its gradient, in one thread as a chain has it."""
    prepare_jax()
    positive = data.query("income > 0").reset_index(drop=True)
    mixture = tdp_mixture("income", [str(name) for name in data if name != "income"], components=10)
    assert mixture.learn is not None
    weights = np.ones(len(positive))
    with jax.enable_x64(new_val=True):
        learned = mixture.learn(as_table(positive), weights).inputs
        prepared = tdp_engine.prepare(Data(learned, weights), least_sigma=0.1)
        inputs = {name: jax.device_put(value) for name, value in prepared.items()}
        size = prepared["white"].shape[-1]
        point = (np.zeros((10, size)), np.linspace(-1, 0, 10), np.full(10, -2.3))
        both = jax.jit(jax.value_and_grad(tdp_engine.weighted_loglik, (0, 1, 2)))

        def call() -> None:
            jax.block_until_ready(both(*point, inputs))

        call()
        return best(call, 4 * times)


def run_whole(records: int, kept: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.parquet"
        consumer_survey(records, seed=1).to_parquet(path)
        begun = time.perf_counter()
        table = read_table(path)
        others = [str(name) for name in table.frame if name != "income"]
        how: dict[str, Any] = {"compare": (), "datasets": 5, "seed": 1, **LIMITS}
        release = synthesize(table, Settings(replace="income", keep=others, known=KNOWN, **how), progress=False)
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
    parser.add_argument("--run", type=int, metavar="RECORDS", help="a whole release of so many records instead")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to leave that release")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
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
