"""The first run, with the settings that `molehill init` writes: what it takes, what it says, and what stands beside it.

Run `python benchmarks/first_run.py` (ce_sample and nist_ma need ../shared/data). What `init` leaves to be decided is
dropped; the built-in survey has the settings of `molehill demo`. The second of two runs is measured: the first fills
the compile cache (`--cold` measures one).
"""

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd

from molehill import Settings, read_table, synthesize
from molehill.plan.suggest import suggest_settings
from molehill.tables.populations import consumer_survey

SHARED = Path(__file__).parents[2] / "shared" / "data"
SHOWN = {
    "expected_mean": "mean expected risk",
    "isolated_mean": "isolated 1%",
    "matches_true": "unique and right",
    "combined_mean": "pooled risk",
    "U_m": "U_m",
    "U_m_combined": "U_m pooled",
    "spread_ratio": "sd ratio",
    "pmse_ratio": "pMSE ratio",
    "overlap": "least overlap",
}


def read_case(name: str) -> tuple[Any, Settings]:
    if name != "survey":
        table = read_table(SHARED / f"{name}.csv")
        settings = suggest_settings(table).settings
        return table, settings.but(undecided=(), drop=(*settings.drop, *settings.undecided), seed=1)
    survey = consumer_survey()
    kept = [column for column in survey.columns if column != "income"]
    about: dict[str, Any] = {"regressions": ("income ~ region + urban + earner",), "seed": 1}
    limits: dict[str, Any] = {"lower": -100_000.0, "upper": 2_000_000.0}
    return survey, Settings(synthesize="income", keep=kept, known=("gender", "age", "region"), **limits, **about)


def measure(name: str, *, cold: bool) -> None:
    table, settings = read_case(name)
    if not cold:
        synthesize(table, settings, progress=False)
    begun = time.perf_counter()
    release = synthesize(table, settings, progress=False)
    seconds = time.perf_counter() - begun
    print(f"\n## {name}: {seconds:.0f} s without the report; {release.verdict.sentence}")
    print(release.fits[["scheme", "converged", "variant", "largest_rhat", "effective_size"]].to_string(index=False))
    figures = pd.concat([release.evaluation.risk, release.evaluation.utility])
    rows = {}
    for scheme in release.evaluation.schemes:
        own = figures[figures["scheme"] == scheme].groupby("measure", sort=False)["value"]
        values = {"overlap": own.min(), "others": own.max()}
        rows[scheme] = {
            words: values["overlap" if measure == "overlap" else "others"].get(measure)
            for measure, words in SHOWN.items()
        }
    print("| scheme | " + " | ".join(SHOWN.values()) + " |\n" + "|---" * (1 + len(SHOWN)) + "|")
    for scheme, row in rows.items():
        cells = ["" if value is None else f"{value:.4f}" for value in row.values()]
        print(f"| {scheme} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=("survey", "ce_sample", "nist_ma"))
    parser.add_argument("--cold", action="store_true", help="measure one run, whatever is compiled already")
    given = parser.parse_args()
    for name in given.data:
        measure(name, cold=given.cold)


if __name__ == "__main__":
    main()
