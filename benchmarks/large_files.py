"""Memory and seconds of risk chunk by chunk against risk in memory, each in a process of its own.

`python benchmarks/large_files.py --records 20000000 --whole 2000000` makes datasets of so many records in files of a
million, measures both, and the smaller one in memory as well. Memory is the most that a process held above what it held
before.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from molehill import Intruder, confidential_risk, release_risk
from molehill.larger_than_memory.files import write_files
from molehill.larger_than_memory.risk import measure_confidential, measure_release
from molehill.tables.table import Table, from_arrow
from risk import peak_above

EYES = Intruder(known=["gender", "age", "region"], sensitive="income", radius=0.2, breaks={"age": [30, 45, 60, 75]})
PART = 1_000_000


def make(records: int, seed: int) -> Iterator[pa.Table]:
    """Records of 2 x 5 x 50 patterns, file by file; those of other seeds differ in income only."""
    for number, first in enumerate(range(0, records, PART)):
        size = min(PART, records - first)
        random, other = np.random.default_rng([number, 0]), np.random.default_rng([number, seed])
        yield pa.table(
            {
                "gender": pa.array(["f", "m"]).take(pa.array(random.integers(0, 2, size))),
                "age": random.integers(15, 95, size),
                "region": pa.array([f"region {place}" for place in range(50)]).take(
                    pa.array(random.integers(0, 50, size))
                ),
                "income": np.round(other.lognormal(10, 1, size), -1),
                "weight": random.random(size),
            }
        )


def read(folder: Path) -> Table:
    return Table(from_arrow(parquet.read_table(folder), "data"))


def measure(how: str, folder: Path, memory: float) -> dict[str, float]:
    """Measure one thing in this process: its seconds, its memory, and the mean risk that was found."""
    own, other = folder / "own", folder / "released"
    found: dict[str, float] = {"chunks": 0}

    def call() -> None:
        start = time.perf_counter()
        if how == "risk by chunk":
            risk = measure_confidential(own, EYES, order=2, memory=memory, folder=folder, out=folder / "out")
            found.update(mean=risk.mean, chunks=len(risk.chunks))
        elif how == "release by chunk":
            release = measure_release(own, other, EYES, memory=memory, folder=folder)
            found.update(mean=release.profile["mean"].value, chunks=len(release.chunks))
        elif how == "risk in memory":
            found.update(mean=float(confidential_risk(read(own), EYES, order=2).risk.mean()))
        else:
            found.update(mean=float(release_risk(read(own), read(other), EYES).by_dataset[0].mean()))
        found.update(seconds=time.perf_counter() - start)

    above = peak_above(call)
    return found | {"mib": above / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000)
    parser.add_argument("--whole", type=int, default=2_000_000, help="records of the table that is in memory as well")
    parser.add_argument("--memory", type=float, default=0.5, help="GiB that may be held")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    bound = given.memory * 2**30
    if given.one:
        print(json.dumps(measure(given.one[0], Path(given.one[1]), bound)))
        return
    print("| records | | seconds | MiB at most | chunks | mean risk |")
    print("|---|---|---|---|---|---|")
    for records in sorted({given.whole, given.records}):
        with tempfile.TemporaryDirectory(prefix="molehill-benchmark-") as name:
            for called, seed in (("own", 1), ("released", 2)):
                write_files(make(records, seed), Path(name) / called)
            found = {}
            for how in ("risk by chunk", "risk in memory", "release by chunk", "release in memory"):
                if "memory" in how and records > given.whole:
                    continue
                command = [sys.executable, __file__, "--memory", f"{given.memory}", "--one", how, name]
                found[how] = json.loads(subprocess.check_output(command, text=True))
                row = found[how]
                figures = f"{row['seconds']:.1f} | {row['mib']:,.0f} | {row['chunks'] or ''} | {row['mean']!r}"
                print(f"| {records:,} | {how} | {figures} |", flush=True)
        for what in ("risk", "release"):
            if f"{what} in memory" in found:
                ours, whole = found[f"{what} by chunk"], found[f"{what} in memory"]
                seconds, memory = (ours[name] / whole[name] for name in ("seconds", "mib"))
                print(f"{what}, by chunk over in memory: {seconds:.1f} x seconds, {memory:.2f} x memory")


if __name__ == "__main__":
    main()
