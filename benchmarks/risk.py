"""Speed and memory of the risk half: ratios measured side by side in one run, and growth with n.

Run `make bench`, or `python benchmarks/risk.py --quick` for a tenth of the size. Every time is the best of a few
runs after one that compiles. Memory is the peak of the whole process above what it held before the call.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from molehill import Intruder, confidential_risk, release_risk
from molehill.tables.populations import consumer_survey, nb_mixture

RADIUS = 0.2


def best(call: Callable[[], object], times: int = 3) -> float:
    """Shortest of a few runs, in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peak_above(call: Callable[[], object]) -> int:
    """Bytes of resident memory that a call needed at its peak, sampled every millisecond."""

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    before, highest, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.001):
            highest = max(highest, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    done.set()
    watcher.join()
    return highest - before


def survey(n: int, columns: int = 1) -> pd.DataFrame:
    """Records in 40 patterns of three categorical columns, with skewed sensitive columns."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                rng.integers(0, levels, n), dtype=pd.CategoricalDtype([f"{name} {j}" for j in range(levels)])
            )
            for name, levels in (("gender", 2), ("age", 5), ("region", 4))
        }
    )
    for j in range(columns):
        frame[f"y{j}"] = rng.lognormal(11, 1, n)
    return frame


def risk_of(frame: pd.DataFrame, order: int) -> Callable[[], object]:
    """Make the call that is measured."""
    sensitive = [name for name in frame.columns if name.startswith("y")]
    intruder = Intruder(known=["gender", "age", "region"], sensitive=sensitive, radius=RADIUS)
    return lambda: confidential_risk(frame, intruder, order=order)


def one_column(n: int) -> None:
    frame = survey(n)
    for order in (1, 2, 8):
        risk_of(frame.iloc[:1000], order)()
    column = frame["y0"].to_numpy()
    small = survey(n // 10)
    small_column = small["y0"].to_numpy()
    calls = {"sort": lambda: np.argsort(column), "tenth sort": lambda: np.argsort(small_column)}
    calls |= {f"{order}": risk_of(frame, order) for order in (1, 2, 8)}
    calls |= {f"tenth {order}": risk_of(small, order) for order in (1, 2)}
    # In turns, so that whatever else the machine does falls on all of them, and each begins a round once: what runs
    # right after another pays for the memory that the other left behind.
    fastest = dict.fromkeys(calls, np.inf)
    names = list(calls)
    for turn in range(len(names)):
        for name in [*names[turn:], *names[:turn]]:
            fastest[name] = min(fastest[name], best(calls[name], 2))
    sort, seconds = fastest["sort"], {order: fastest[f"{order}"] for order in (1, 2, 8)}
    tenth = {order: fastest[f"tenth {order}"] for order in (1, 2)}
    print(f"\none column, {n:,} records, 40 patterns; numpy.argsort of the column: {sort:.2f} s")
    print(f"growth of numpy.argsort from a tenth: {sort / fastest['tenth sort']:.1f}")
    print("| order | seconds | times argsort | growth from a tenth | peak memory, times the column |")
    print("|---|---|---|---|---|")
    for order in (1, 2, 8):
        growth = f"{seconds[order] / tenth[order]:.1f}" if order in tenth else ""
        memory = peak_above(risk_of(frame, order)) / column.nbytes
        print(f"| {order} | {seconds[order]:.2f} | {seconds[order] / sort:.2f} | {growth} | {memory:.1f} |")
    print(f"order 8 over order 2: {seconds[8] / seconds[2]:.2f}")


def definition(y: np.ndarray, order: int) -> np.ndarray:
    """The definition, transcribed: every set, every record (one pattern)."""
    n, reach = len(y), RADIUS * np.abs(y)
    outside = (y[None] < (y - reach)[:, None]) | (y[None] > (y + reach)[:, None])
    risk = np.empty(n)
    for i in range(n):
        if order == 1:
            risk[i] = outside[i].mean()
        else:
            risk[i] = np.mean([(outside[i] & outside[j]).mean() for j in range(n) if j != i])
    return risk


def against_definition(n: int) -> None:
    frame = nb_mixture(n, seed=1)
    y = frame["outcome"].to_numpy().astype(float)
    intruder = Intruder(known=[], sensitive="outcome", radius=RADIUS, count_self=True)
    print(f"\nagainst the definition, {n:,} records in one pattern")
    print("| order | definition (NumPy), seconds | Molehill, milliseconds | factor | largest difference |")
    print("|---|---|---|---|---|")
    for order in (1, 2):

        def ours(order: int = order) -> np.ndarray:
            return confidential_risk(frame, intruder, order=order).risk

        difference = np.abs(definition(y, order) - ours()).max()
        slow, fast = best(lambda: definition(y, order), 1), best(ours, 20)  # noqa: B023 (called at once)
        print(f"| {order} | {slow:.3f} | {1000 * fast:.2f} | {slow / fast:,.0f} | {difference:.1e} |")


def releases(tables: int = 20) -> None:
    data = consumer_survey()
    rng = np.random.default_rng(1)
    released = [data.assign(income=rng.permutation(data["income"])) for _ in range(tables)]
    column = data["income"].to_numpy().astype(float)
    intruder = Intruder(known=["gender", "age", "region"], sensitive="income", radius=RADIUS)

    def call() -> object:
        return release_risk(data, released, intruder)

    call()
    seconds = best(call, 200)
    sorts = {
        'sorts of one table (its sort_values("income"))': best(lambda: released[0].sort_values("income"), 200),
        "sorts of one bare column (numpy.argsort)": best(lambda: np.argsort(column), 200),
    }
    print(f"\nrelease risk of {tables} tables of {len(data):,} records: {1000 * seconds:.2f} ms")
    for name, sort in sorts.items():
        print(f"= {seconds / sort:.1f} {name}, {1e6 * sort:.0f} microseconds each")


def several_columns(n: int) -> None:
    print("\nseveral sensitive columns, order 2, 40 patterns")
    print("| columns | records | seconds | growth |")
    print("|---|---|---|---|")
    for columns, sizes in ((2, (n // 100, n // 10, n)), (3, (n // 100, n // 20, n // 10))):
        risk_of(survey(1000, columns), 2)()
        last = None
        for size in sizes:
            seconds = best(risk_of(survey(size, columns), 2), 2)
            print(f"| {columns} | {size:,} | {seconds:.3f} | {f'{seconds / last:.1f}' if last else ''} |")
            last = seconds


def imports() -> None:
    code = (
        "import time; s = time.perf_counter(); import {0}; t = time.perf_counter() - s; "
        "import sys; print(t, 'jax' in sys.modules)"
    )
    print("\nimport, best of five fresh processes")
    for module in ("pandas", "numba", "molehill"):
        runs = [
            subprocess.check_output([sys.executable, "-c", code.format(module)], text=True).split() for _ in range(5)
        ]
        print(f"{module}: {min(float(run[0]) for run in runs):.2f} s, loads JAX: {runs[0][1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records")
    share = 10 if parser.parse_args().quick else 1
    one_column(10_000_000 // share)
    several_columns(1_000_000 // share)
    against_definition(1000)
    releases()
    imports()


if __name__ == "__main__":
    main()
