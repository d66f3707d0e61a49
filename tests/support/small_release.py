"""A release that is made in seconds, from a file with a value that nobody else has."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from drawing import drawing
from molehill import Settings, read_table, run, write_table
from molehill.release.release import Release
from sketches import sketch

PLANTED = 918273
SEED = 876543210123
# A bound that can be found again wherever it stands.
TUNED = 0.04567
SETTINGS = Settings(
    data="people.csv",
    synthesize=["visits"],
    keep=["town"],
    known=["town"],
    synthesizer="forest",
    min_leaf_size=5,
    lower=0,
    upper=100,
    datasets=2,
    compare=[],
    expected_risk_draws=0,
    kinds={"visits": "count"},
    seed=SEED,
    thresholds={
        "matches_true": {"amber": TUNED},
        "combined_match_rate": {"amber": 0.5, "red": "never"},
        "tail_ratio": "off",
    },
)


def make_release(folder: Path) -> Path:
    """Make the release in a folder, from a file beside it, and give its path."""
    _run(folder)
    return folder / "out"


def _run(folder: Path) -> Release:
    random = np.random.default_rng(3)
    people = pd.DataFrame({"town": random.choice(["A", "B"], 60), "visits": random.poisson(5, 60)})
    people.loc[7, "visits"] = PLANTED
    write_table(people, folder / "people.csv")
    return run(read_table(folder / "people.csv"), SETTINGS, folder / "out", release_anyway=True, progress=False)


_MADE: list[tuple[Path, Release]] = []


def made_release(folders: Any) -> tuple[Path, Release]:
    """Make the release once in a process, for tests that only read it; its figures are sketched."""
    if not _MADE:
        folder = folders.mktemp("small")
        with drawing(sketch):
            _MADE.append((folder / "out", _run(folder)))
    return _MADE[0]
