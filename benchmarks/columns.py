"""Several columns at once: seconds, agreement of marginals, risk and impossible records, beside synthpop's CART.

Run `python benchmarks/columns.py` (needs ../shared). Of `nist_ma.csv` MSP, EDU, INDP_CAT, PINCP and POVPIP are
replaced, of `ce_sample.csv` Tenure, Expenditure and Income; ten tables. What is fitted is what settings choose: forests
in a chain, every record with weight 1; age in groups is for the intruder alone, and the forests see the years.
`--leaves 25 32 38 45` gives a row for each, and `--families` forests without what makes them forests. A row is the mean
over all seeds; of what is impossible, the largest. Below it stands how many of the runs meet every goal.

Seconds are of the fits and of the drawing, in the second of two runs: the first compiles. Agreement of marginals is
that of ../shared/tools/kmarginal.py. Risk is the paper's, of people with an income, as ../shared/data/README.md has it:
not applicable is a level of its own.
"""

import argparse
import importlib.util
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from molehill import Intruder, Settings, draw, fit, read_table, release_risk
from molehill.release.making import Job, choose_synthesizer, prepare
from molehill.tables.table import Table, as_table
from molehill.utility import agreement

SHARED = Path(__file__).parents[2] / "shared"
REPLACED = ("MSP", "EDU", "INDP_CAT", "PINCP", "POVPIP")
CATEGORIES = ("MSP", "EDU", "INDP_CAT")
AGES = (15.0, 25.0, 35.0, 50.0, 65.0)
TABLES = 10
# The least mass of a leaf by which runs meet every goal below most often, of 100, 150 and 200, on these seeds.
LEAF, SEEDS = 200.0, tuple(range(13, 25))
# What the issue asks for: at least, of the agreement; at most, of all others.
GOALS = {"agreement_3": 950.0, "PINCP mean": 0.125, "box mean": 0.0195, "impossible": 0.0, "seconds": 70.0}
# What makes trees a forest, taken away: how they lean, the share of the predictors that a split is chosen from, and the
# trees that a table is drawn from. Groups of age that the settings declare for the intruder would be those of the
# predictor, too.
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "forest": {},
    "without a lean": {"SWEEPS": 0},
    "all predictors tried": {"TRIED": 1.0},
    "one tree a table": {"WINDOW": 1},
    "one tree a table, all predictors tried": {"TRIED": 1.0, "WINDOW": 1},
    "forest, age in groups": {"grouped": True},
}
SHOWN = {
    "agreement_3": ("3-way", ".1f"),
    "agreement_2": ("2-way", ".1f"),
    "PINCP mean": ("PINCP mean", ".4f"),
    "PINCP 99%": ("99%", ".3f"),
    "PINCP largest": ("largest", ".3f"),
    "PINCP of two": ("of those not alone", ".3f"),
    "box mean": ("box mean", ".4f"),
    "box 99%": ("99%", ".3f"),
    "box largest": ("largest", ".3f"),
    "impossible": ("impossible", ".0f"),
    "fit": ("fits, s", ".1f"),
    "draw": ("drawing, s", ".1f"),
}

Row = dict[str, float]


@dataclass(frozen=True)
class Case:
    """A table, and how its released ones are judged."""

    name: str
    settings: Settings
    alone: str
    breaks: Mapping[str, Sequence[float]]


def read_cases() -> dict[str, tuple[Table, Case]]:
    """Read both tables, with the settings to replace several of their columns."""
    people, homes = read_table(SHARED / "data" / "nist_ma.csv"), read_table(SHARED / "data" / "ce_sample.csv")
    kept = [name for name in people.frame.columns if name not in REPLACED]
    empty = {name: ("N",) for name in people.frame.columns if (people.frame[name].astype(str) == "N").any()}
    of_people = Settings(
        synthesize=REPLACED,
        keep=kept,
        predictors=[name for name in kept if name != "PWGTP"],
        known=("PUMA", "AGEP", "SEX", "RAC1P"),
        breaks={"AGEP": AGES},
        kinds=dict.fromkeys(CATEGORIES, "categorical"),
        missing_codes=empty,
        missing_values="model",
        lower={"PINCP": -20_000.0, "POVPIP": 0.0},
        upper={"PINCP": 2_000_000.0, "POVPIP": 501.0},
    )
    of_homes = Settings(
        synthesize=("Tenure", "Expenditure", "Income"),
        keep=("Age", "Urban", "Educ", "Marital"),
        known=("Age", "Urban", "Marital"),
        breaks={"Age": AGES[1:]},
        kinds={"Tenure": "categorical"},
        lower={"Income": -200_000.0, "Expenditure": 0.0},
        upper={"Income": 2_000_000.0, "Expenditure": 1_000_000.0},
    )
    return {
        "nist_ma": (people, Case("nist_ma", of_people, "PINCP", _read_bins())),
        "ce_sample": (homes, Case("ce_sample", of_homes, "Income", {})),
    }


def _read_bins() -> dict[str, list[float]]:
    """The bins of the tool that the goals were measured with."""
    spec = importlib.util.spec_from_file_location("kmarginal", SHARED / "tools" / "kmarginal.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return {name: cuts for name, cuts in tool.BINS.items() if name != "PWGTP"}


def read_synthpop(confidential: pd.DataFrame) -> list[pd.DataFrame]:
    """The ten tables of synthpop, in the types of the confidential one."""
    tables = []
    for path in sorted((SHARED / "data" / "nist_ma_synthpop").glob("*.csv")):
        cells = pd.read_csv(path, dtype=str, keep_default_na=False)
        new = {name: pd.to_numeric(cells[name], errors="coerce") for name in REPLACED}
        new = {name: column.astype(confidential[name].dtype) for name, column in new.items()}
        tables.append(confidential.assign(**new))
    return tables


def judge(case: Case, confidential: pd.DataFrame, tables: Sequence[pd.DataFrame]) -> Row:
    """Agreement, risk of one column and of all, and impossible records a table."""
    columns = [name for name in confidential.columns if name != "PWGTP"]
    near = agreement(confidential, tables, case.settings.synthesize, columns=columns, breaks=case.breaks)
    row = {f"agreement_{ways}": near.value(f"agreement_{ways}") for ways in (2, 3)}
    row |= {f"fresh_{ways}": near.value(f"agreement_{ways}_benchmark") for ways in (2, 3)}
    paid = confidential[case.alone].notna().to_numpy()
    seen, released = _as_levels(confidential, paid), [_as_levels(table, paid) for table in tables]
    for name, sensitive in ((case.alone, [case.alone]), ("box", list(case.settings.synthesize))):
        intruder = Intruder(
            known=case.settings.known,
            sensitive=sensitive,
            radius=0.2,
            breaks=case.settings.breaks,
            kinds={column: kind for column, kind in case.settings.kinds.items() if column in sensitive},
            count_self=True,
            missing_values="keep",
        )
        view = intruder.view(seen)
        risk = np.nanmean(release_risk(view, released).by_dataset, axis=0)
        row |= {f"{name} mean": risk.mean(), f"{name} 99%": np.quantile(risk, 0.99), f"{name} largest": risk.max()}
        # Who is alone in a pattern has risk 1 in a table that hits: one of 15 without income is hit in nearly all.
        row |= {f"{name} of two": risk[view.size > 1].max(), f"{name} above 0.5": float((risk > 0.5).sum())}
    row["impossible"] = float(max(map(count_impossible, tables))) if case.name == "nist_ma" else np.nan
    return row


def _as_levels(table: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """People with an income; not applicable is a level of its own."""
    some = table[rows].reset_index(drop=True)
    if "POVPIP" not in some:
        return some
    return some.assign(**{name: some[name].fillna(-1) for name in (*CATEGORIES, "POVPIP")})


def count_impossible(table: pd.DataFrame) -> int:
    """Records with an industry below the age of 16, an income or a marital status below 15, schooling below 3."""
    least = {"INDP_CAT": 16, "PINCP": 15, "MSP": 15, "EDU": 3}
    return int(np.any([table[name].notna() & (table["AGEP"] < age) for name, age in least.items()], axis=0).sum())


@contextmanager
def changed(constants: Mapping[str, float]) -> Iterator[None]:
    """Change constants of the forest for a while."""
    with ExitStack() as stack:
        for name, value in constants.items():
            stack.enter_context(patch(f"molehill.models.forests.forest.{name}", value))
        yield


def make(
    job: Job, leaf: float, seed: int, *, grouped: bool = False, **constants: float
) -> tuple[list[pd.DataFrame], Row]:
    """Fit and draw, and measure the seconds of both."""
    settings = job.settings.but(min_leaf_size=leaf, **({} if grouped else {"breaks": {}}))
    with changed(constants):
        model = choose_synthesizer(job.view, settings, job.rules)
        begun = time.perf_counter()
        posterior = fit(model, job.table, seed=seed, progress=False)
        fitted = time.perf_counter()
        tables = draw(posterior, datasets=TABLES, seed=seed + 1000)
        seconds = {"fit": fitted - begun, "draw": time.perf_counter() - fitted}
    return [as_table(table).frame for table in tables], {**seconds, "seconds": sum(seconds.values())}


def is_met(row: Row, other: Row) -> list[str]:
    """Name the goals that are missed: those of the issue, and 99% and largest below synthpop's."""
    missed = [name for name, goal in GOALS.items() if (row[name] < goal if "agree" in name else row[name] > goal)]
    below = [f"{of} {what}" for of in ("PINCP", "box") for what in ("99%", "largest")]
    return missed + [name for name in below if row[name] >= other[name]]


def mean_of(rows: Sequence[Row]) -> Row:
    """The mean over seeds; of what is impossible, the largest."""
    frame = pd.DataFrame(rows)
    return {**frame.mean(), "impossible": frame["impossible"].max()}


def tell_goals(words: str, rows: Sequence[Row], other: Row) -> str:
    """Say how many runs meet every goal, which are missed how often, and how far runs lie apart."""
    missed = [is_met(row, other) for row in rows]
    often = Counter(name for names in missed for name in names)
    listed = ", ".join(f"{name} {number}" for name, number in often.most_common())
    spread = pd.DataFrame(rows).std()
    apart = ", ".join(f"{name} {spread[name]:.2g}" for name in ("agreement_3", "PINCP mean", "box mean"))
    met = sum(not names for names in missed)
    return f"- {words}: {met} of {len(rows)} runs meet every goal; missed: {listed or 'none'}; sd of runs: {apart}"


def tell(words: str, row: Row, case: Case) -> None:
    """Print a row of the table of a case."""
    values = [row.get(key.replace("PINCP", case.alone), np.nan) for key in SHOWN]
    cells = [
        "" if np.isnan(value) else f"{value:{how}}" for value, (_, how) in zip(values, SHOWN.values(), strict=True)
    ]
    print(f"| {words} | " + " | ".join(cells) + " |", flush=True)


def measure(
    table: Table, case: Case, *, leaves: Sequence[float], seeds: Sequence[int], families: Sequence[str]
) -> None:
    """Print the table of a case: its leaves or families, and what stands beside them."""
    job = prepare(table, case.settings.but(seed=1, min_leaf_size=leaves[0]))
    confidential = job.table.frame
    rules = [str(rule) for rule in job.rules.empty if rule.by is not None]
    print(f"\n## {case.name}: {len(confidential):,} records, {', '.join(case.settings.synthesize)}")
    print("\n".join(f"- {rule}" for rule in rules))
    print("\n| | " + " | ".join(words.replace("PINCP", case.alone) for words, _ in SHOWN.values()) + " |")
    print("|---" * (1 + len(SHOWN)) + "|")
    other: Row = {}
    if case.name == "nist_ma":
        row = other = judge(case, confidential, read_synthpop(confidential))
        tell("synthpop, CART", other, case)
    else:
        alone = ("Income mean", "Income 99%", "Income largest", "Income of two")
        made = pd.read_csv(SHARED / "data" / "ce_synthpop_income.csv").iloc[:, :TABLES]
        row = judge(case, confidential, [confidential.assign(Income=made[name]) for name in made])
        tell("synthpop, CART, Income alone", {name: row[name] for name in alone}, case)
    # What is compiled in the first run is there in all others.
    make(job, leaves[0], seeds[0])
    told = []
    for leaf in leaves:
        for name in families:
            rows = []
            for seed in seeds:
                tables, seconds = make(job, leaf, seed, **FAMILIES[name])
                rows.append({**judge(case, confidential, tables), **seconds})
            tell(f"{name}, leaf {leaf:g}", mean_of(rows), case)
            told += [tell_goals(f"{name}, leaf {leaf:g}", rows, other)] if other else []
    print(f"\nA fresh sample is expected to agree to {row['fresh_3']:.1f} (3-way) and {row['fresh_2']:.1f} (2-way).")
    print("\n".join(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=("nist_ma", "ce_sample"))
    parser.add_argument("--leaf", type=float, default=LEAF, help="least mass of a leaf")
    parser.add_argument("--leaves", nargs="*", type=float, default=(), help="several, a row each")
    parser.add_argument("--seeds", nargs="*", type=int, default=SEEDS, help="what a row is the mean of")
    parser.add_argument(
        "--families", nargs="*", choices=FAMILIES, help="without what makes a forest; all if none is named"
    )
    given = parser.parse_args()
    cases, families = read_cases(), ("forest",) if given.families is None else given.families or tuple(FAMILIES)
    for name in given.data:
        measure(*cases[name], leaves=given.leaves or (given.leaf,), seeds=given.seeds, families=families)


if __name__ == "__main__":
    main()
