"""Round values in tables by a forest: their share, mean risk and the distance of the distributions.

Run `python benchmarks/heaping.py --seeds 1 2 3 4 5 6`. The data are `../shared/data/ce_sample.csv`.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from molehill import Intruder, draw, fit, release_risk
from molehill.models import forest

SHARED = Path(__file__).parents[2] / "shared" / "data"
UNITS = (100, 1_000, 5_000)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    at = np.concatenate([one, other])
    below = [np.searchsorted(np.sort(each), at, side="right") / len(each) for each in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--data", type=Path, default=SHARED / "ce_sample.csv")
    given = parser.parse_args()
    data = pd.read_csv(given.data)
    income = data["Income"].to_numpy(dtype=np.float64)
    known = {"known": ["Age", "Urban", "Marital"], "breaks": {"Age": [25, 35, 50, 65]}}
    intruder = Intruder(sensitive="Income", radius=0.2, min_radius=1.0, **known)
    predictors = [f"{name}" for name in data if name != "Income"]
    rows = []
    for seed in given.seeds:
        model = forest("Income", predictors, min_leaf_size=25, lower=-20_000, upper=2_000_000, seed=seed)
        posterior = fit(model, data, np.ones(len(data)), seed=seed, progress=False)
        tables = draw(posterior, datasets=20, seed=seed)
        values = [table["Income"].to_numpy(dtype=np.float64) for table in tables]
        row = {"risk": float(np.nanmean(release_risk(data, tables, intruder).realised))}
        row |= {"U_m": np.mean([distance(income, each) for each in values])}
        row |= {f"multiples of {unit:,}": np.mean([np.mean(each % unit == 0) for each in values]) for unit in UNITS}
        rows.append(row)
    found = pd.DataFrame(rows)
    print(pd.DataFrame({"mean": found.mean(), "sd": found.std()}).round(4).to_string())
    print("collected:", {f"multiples of {unit:,}": round(float(np.mean(income % unit == 0)), 4) for unit in UNITS})


if __name__ == "__main__":
    main()
