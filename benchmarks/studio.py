"""How fast the studio answers: opening files of growing size, and sliders at 100 thousand records, asked over HTTP.

python benchmarks/studio.py --records 10000 100000 1000000
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from molehill.studio.looking import warm_up
from molehill.tables.populations import consumer_survey

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from opened_studio import OpenStudio


def timed(call, times=1):
    found, answer = [], {}
    for _ in range(times):
        begun = time.perf_counter()
        answer = call()
        found.append(time.perf_counter() - begun)
        assert "error" not in answer, answer["error"]
    return np.array(found), answer


def measure(records, sort):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.csv"
        consumer_survey(n=records, seed=1).to_csv(path, index=False)
        studio = OpenStudio(Path(folder))
        try:
            opened, answer = timed(lambda: studio.do("open", path="survey.csv"))
            project = answer["project"]
            dropped, _ = timed(lambda: studio.send("survey.csv", path.read_bytes()))
            places = iter(np.linspace(0.05, 0.6, 20))
            slid, _ = timed(
                lambda: studio.do(
                    "reach", project, "intruder", setting="radius", value=f"{next(places):.2f}", **{"try": True}
                ),
                20,
            )
            known = iter([False, True] * 5)
            ticked, _ = timed(lambda: studio.do("known", project, "intruder", column="region", value=next(known)), 10)
        finally:
            studio.close()
    print(
        f"| {records:,} | {opened[0]:.2f} s | {dropped[0]:.2f} s | {1000 * np.median(slid):.0f} ms | "
        f"{1000 * slid.max():.0f} ms | {1000 * np.median(ticked):.0f} ms | {np.median(slid) / sort(records):.1f} |"
    )


def time_sort(records):
    values = np.random.default_rng(1).lognormal(10, 1, records)
    return min(timed(lambda: {"sorted": np.argsort(values)}, 5)[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    warm_up()
    print(
        "| records | open by its path | drop | slider, median | slowest of 20 | a known column | slider over argsort |"
    )
    print("|---|---|---|---|---|---|---|")
    for records in parser.parse_args().records:
        measure(records, time_sort)


if __name__ == "__main__":
    main()
