"""Attacks: how long all take for twenty tables, and the same attacks by anonymeter.

Run `python benchmarks/attacks.py`. anonymeter 1.1 wants a NumPy below 1.27, and is installed into an environment of its
own in a temporary folder; `--python PATH` names one that has it already, `--without` leaves the comparison out. The
data are `../shared/data/nist_ma.csv`, with synthpop's tables for the times.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One core, so that times are of the work.
os.environ.setdefault("MOLEHILL_CORES", "1")

import numpy as np
import pandas as pd

from molehill.attacks.attribute import correct_attribution, disco, l_diversity
from molehill.attacks.closeness import closest_records
from molehill.attacks.consistency import check_heaps, check_pairs, check_ranges
from molehill.attacks.criteria import inference, linkability, singling_out
from molehill.attacks.digits import shared_digits
from molehill.attacks.identity import k_anonymity, linkage, replicated_uniques
from molehill.attacks.prediction import predict_synthesized
from molehill.attacks.rates import Attack, wilson
from molehill.attacks.reconstruction import infer_unchanged
from molehill.evaluation.catalogue import ATTACK_MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import COLOURS, score
from molehill.risk.intruder import Intruder
from molehill.tables.intervals import Figure

SHARED = Path(__file__).parents[2] / "shared" / "data"
# What the intruder knows: age in groups; in years where programs are compared.
KNOWN, IN_YEARS = ["PUMA", "AGE", "SEX", "RAC1P"], ["PUMA", "AGEP", "SEX", "RAC1P"]
REPLACED = ["MSP", "EDU", "INDP_CAT", "PINCP", "POVPIP"]
LEVELS, NUMBERS = ["PUMA", "SEX", "RAC1P", "MSP", "EDU", "INDP_CAT"], ["AGEP", "PINCP", "POVPIP"]
AGES = [15, 25, 35, 50, 65]
INCOMES = {"PINCP": [0.5, 10_000, 20_000, 40_000, 60_000, 100_000]}
ATTACKS = 1_000

# What runs in the other environment: tables and attacks in, counts out.
THEIRS = """
import json, sys, time, warnings
import numpy as np, pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
warnings.simplefilter("ignore")
folder, asked = sys.argv[1], json.loads(sys.argv[2])
levels = {name: str for name in asked["levels"]}
read = lambda name: pd.read_csv(f"{folder}/{name}.csv", dtype=levels)
data, control = read("data"), read("control")
found = []
for release in asked["releases"]:
    made = read(release)
    for attack in asked["attacks"]:
        np.random.seed(1)
        start = time.perf_counter()
        own = dict(ori=data, syn=made, control=control, n_attacks=asked["number"])
        if attack["kind"] == "inference":
            secret, sized = attack["secret"], attack["secret"] not in levels
            one = InferenceEvaluator(aux_cols=attack["known"], secret=secret, regression=sized, **own)
            one.evaluate(n_jobs=1)
        elif attack["kind"] == "linkability":
            columns = (attack["first"], attack["second"])
            one = LinkabilityEvaluator(aux_cols=columns, n_neighbors=attack["neighbours"], **own).evaluate(n_jobs=1)
        else:
            one = SinglingOutEvaluator(n_cols=attack["size"], seed=1, **own)
            one.evaluate(mode="univariate" if attack["size"] == 1 else "multivariate")
        counts = one.results()
        found.append([float(counts.n_success), float(counts.n_control), float(counts.n_baseline), one.risk().value,
                      list(one.risk().ci), time.perf_counter() - start])
print(json.dumps(found))
"""


def read_people(shared: Path) -> pd.DataFrame:
    """Read the survey: categories as text that nobody takes for numbers, numbers missing where they do not apply."""
    frame = pd.read_csv(shared / "nist_ma.csv", dtype=str)
    people = _type(frame[[*IN_YEARS, *REPLACED]])
    return people.assign(AGE=[f"_{group}" for group in np.searchsorted(AGES, people["AGEP"], side="right")])


def _type(frame: pd.DataFrame) -> pd.DataFrame:
    levels: dict[str, Any] = {name: "_" + frame[name].astype(str) for name in LEVELS if name in frame}
    numbers: dict[str, Any] = {
        name: pd.to_numeric(frame[name].replace("N", np.nan)) for name in NUMBERS if name in frame
    }
    return frame.assign(**levels, **numbers)


def read_released(people: pd.DataFrame, shared: Path) -> list[pd.DataFrame]:
    paths = sorted((shared / "nist_ma_synthpop").glob("*.csv"))
    read = [_type(pd.read_csv(path, dtype=str)) for path in paths]
    return [people.assign(**{name: one[name] for name in REPLACED}) for one in read]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def show(value: Any) -> str:
    return f"{value.value:.4f} [{value.low:.4f}, {value.high:.4f}]"


def _tell(found: Any) -> str:
    """Tell the figures of a result in a line, those within others too."""
    told = []
    for name, value in vars(found).items():
        if isinstance(value, Figure):
            told.append(f"{name} {show(value)}")
        elif isinstance(value, Attack):
            told.append(f"{name}: {_tell(value)}")
        elif not isinstance(value, np.ndarray):
            told.append(f"{name} {value}")
    return "; ".join(told)


def measure_all(tables: int, shared: Path) -> None:
    """Time everything on so many tables, and print what comes out of synthpop's ten."""
    people = read_people(shared)
    ten = read_released(people, shared)
    many = [ten[number % len(ten)] for number in range(tables)]
    known, every = KNOWN, [*IN_YEARS, *REPLACED]
    half = np.random.default_rng(1).permutation(len(people)) < len(people) // 2
    calls: dict[str, Callable[[list[pd.DataFrame]], Any]] = {
        "k_anonymity": lambda _: k_anonymity(people, known),
        "replicated_uniques": lambda made: replicated_uniques(people, made, known),
        "linkage, by the replaced columns but incomes": lambda made: linkage(people, made, REPLACED[:3]),
        "l_diversity MSP": lambda _: l_diversity(people, known, "MSP"),
        "disclosive MSP": lambda made: disco(people, made, known, "MSP"),
        "disclosive PINCP in 7 groups": lambda made: disco(people, made, known, "PINCP", breaks=INCOMES),
        "correct_attribution MSP": lambda made: correct_attribution(people, made, known, "MSP"),
        "singling_out, 1 column": lambda made: singling_out(people, made, every, size=1, seed=1),
        "singling_out, 3 columns": lambda made: singling_out(people, made, every, size=3, seed=1),
        "singling_out, 3 replaced columns": lambda made: singling_out(people, made, REPLACED, size=3, seed=1),
        "linkability": lambda made: linkability(people, made, known, REPLACED, neighbours=10, seed=1),
        "inference MSP": lambda made: inference(people, made, known, "MSP", seed=1),
        "inference PINCP": lambda made: inference(people, made, known, "PINCP", seed=1),
        "inference POVPIP": lambda made: inference(people, made, known, "POVPIP", seed=1),
        "inference EDU": lambda made: inference(people, made, known, "EDU", seed=1),
        "closest_records (half stands in for a holdout)": lambda made: closest_records(
            people[half], made, people[~half], REPLACED, seed=1
        ),
        "reconstruct": lambda made: infer_unchanged(people, made, known),
        "check_pairs": lambda made: check_pairs(people, made, every),
        "check_ranges": lambda made: check_ranges(people, made, ["PINCP", "POVPIP"]),
        "check_heaps": lambda made: check_heaps(people, made, ["PINCP", "POVPIP"]),
    }
    small = people.iloc[:300]
    whole = 0.0
    for name, call in calls.items():
        _ = singling_out(small, small, seed=1)  # what is compiled is compiled before
        _, seconds = timed(lambda call=call: call(many))
        whole += seconds
        found = call(ten)
        print(f"{seconds:7.2f} s  {name}")
        for one in found if isinstance(found, list) else [found]:
            print(f"{'':11}{_tell(one)}")
    print(f"{whole:7.2f} s  all, {tables} tables of {len(people):,} records")


def measure_evaluation(tables: int, shared: Path) -> None:
    """Time `evaluate` of so many tables without the attacks and with them, a half standing in for a control."""
    people = read_people(shared)[[*KNOWN, *REPLACED]]
    ten = [one[[*KNOWN, *REPLACED]] for one in read_released(read_people(shared), shared)]
    released = {"synthpop": [ten[number % len(ten)] for number in range(tables)]}
    view = Intruder(known=KNOWN, sensitive=REPLACED, radius=0.2, missing_values="keep").view(people)
    attacks = [one.id for one in ATTACK_MEASURES]
    half = people.sample(frac=0.5, random_state=1)
    evaluate(view, {"few": ten[:1]}, options=EvaluationOptions(control=half))  # what is compiled is compiled before
    calls = {"without attacks": {"skip": attacks}, "with them": {}, "with a control": {"control": half}}
    for name, about in calls.items():
        found, seconds = timed(lambda about=about: evaluate(view, released, options=EvaluationOptions(**about)))
        print(f"{seconds:7.2f} s  evaluate {name}, {tables} tables of {len(people):,} records")
        if name == "with them":
            print("\n".join(f"{'':11}{one.family}: {one.why}" for one in score(found)))


def calibrate(shared: Path, splits: int) -> None:
    """Print the colours of releases of which is known what must come out, over random splits of real people.

    A third of the people is the data, a third the control. Released are the data themselves, record by record; the data
    with half of their values drawn anew; and the last third, of whom no record is anybody's in the data.
    """
    cases = {
        "nist_ma.csv, age in groups": lambda shared: _people_of_nist(shared, KNOWN),
        "nist_ma.csv, age in years": lambda shared: _people_of_nist(shared, IN_YEARS),
        "ce_sample.csv": _people_of_ce,
    }
    for file, read in cases.items():
        people, intruder = read(shared)
        number = len(people) // 3
        found: dict[tuple[str, str], list[str]] = {}
        worst: dict[tuple[str, str], tuple[int, str]] = {}
        for split in range(splits):
            random = np.random.default_rng(split)
            order = random.permutation(len(people))
            parts = [
                people.iloc[order[place : place + number]].reset_index(drop=True) for place in (0, number, 2 * number)
            ]
            data, control, fresh = parts
            noise = data.assign(**{name: _redraw(data[name], 0.5, random) for name in intruder.sensitive})
            view = intruder.view(data)
            own = {"control": control, "seed": split}
            linked = evaluate(view, {"the data": data, "half redrawn": noise}, options=EvaluationOptions(**own))
            unlinked = evaluate(view, {"fresh sample": fresh}, options=EvaluationOptions(fully_synthetic=True, **own))
            for name, evaluation in (("the data", linked), ("half redrawn", linked), ("fresh sample", unlinked)):
                for one in score(evaluation, name):
                    key = (one.family, name)
                    found.setdefault(key, []).append(one.colour)
                    worst[key] = max(worst.get(key, (-1, "")), (COLOURS.index(one.colour), one.why))
        print(f"\n{file}: {number:,} people each, {splits} split(s); how often which colour, and why at worst")
        for (family, name), colours in found.items():
            counts = ", ".join(f"{colour} {colours.count(colour)}" for colour in COLOURS if colour in colours)
            print(f"{family:14} {name:13} {counts}. {worst[family, name][1]}")


def _people_of_nist(shared: Path, known: list[str]) -> tuple[pd.DataFrame, Intruder]:
    intruder = Intruder(known=known, sensitive=REPLACED, radius=0.2, missing_values="keep")
    return read_people(shared)[[*known, *REPLACED]], intruder


def _people_of_ce(shared: Path) -> tuple[pd.DataFrame, Intruder]:
    people = pd.read_csv(shared / "ce_sample.csv")
    people["Age"] = np.searchsorted(AGES[1:], people["Age"], side="right").astype(str)
    return people, Intruder(known=["Age", "Urban", "Marital"], sensitive="Income", radius=0.2)


def compare(python: str | None, shared: Path) -> None:
    """Run the same attacks with anonymeter, on releases from which it is known what must come out."""
    random = np.random.default_rng(1)
    people = read_people(shared).dropna()[[*IN_YEARS, *REPLACED]]
    order, number = random.permutation(len(people)), len(people) // 3
    parts = [people.iloc[order[start : start + number]].reset_index(drop=True) for start in (0, number, 2 * number)]
    data, control, fresh = parts
    redrawn = {name: _redraw(data[name], 0.5, random) for name in REPLACED}
    releases = {"the data": data, "half redrawn": data.assign(**redrawn), "fresh sample": fresh}
    attacks: list[dict[str, Any]] = [
        *({"kind": "inference", "known": IN_YEARS, "secret": secret} for secret in ("MSP", "EDU", "PINCP")),
        {"kind": "linkability", "first": IN_YEARS, "second": REPLACED, "neighbours": 10},
        {"kind": "singling out", "size": 1},
        {"kind": "singling out", "size": 3},
    ]
    with tempfile.TemporaryDirectory() as folder:
        tables = {"data": data, "control": control, **{name.replace(" ", "_"): one for name, one in releases.items()}}
        for name, one in tables.items():
            one.to_csv(f"{folder}/{name}.csv", index=False)
        asked = {
            "levels": LEVELS,
            "releases": [name.replace(" ", "_") for name in releases],
            "attacks": attacks,
            "number": ATTACKS,
        }
        python = python or _install(Path(folder) / "environment")
        told = subprocess.check_output([python, "-c", THEIRS, folder, json.dumps(asked)], text=True)
    theirs = iter(json.loads(told))
    print(f"\n{number:,} records each; rate, control and baseline of {ATTACKS:,} attacks; risk; seconds")
    for name, made in releases.items():
        for attack in attacks:
            success, held, naive, risk, ends, seconds = next(theirs)
            ours, own_seconds = timed(lambda attack=attack, made=made: _attack(data, made, control, attack))
            # It divides by the attacks asked for; of single columns there are fewer.
            made_by_both = ours.attacks if attack.get("size") == 1 else ATTACKS
            told = [wilson(count, made_by_both) for count in (success, held)]
            same = all(map(_overlap, (ours.rate, ours.control), told))
            about = " ".join(str(attack[key]) for key in ("kind", "secret", "size") if key in attack)
            rates = " ".join(f"{count / made_by_both:.3f}" for count in (success, held))
            own_rates = " ".join(f"{figure.value:.3f}" for figure in (ours.rate, ours.control, ours.baseline))
            print(f"{name:13} {about:18} ours {own_rates} risk {show(ours.risk)} {own_seconds:.2f} s")
            told_risk = f"{risk:.4f} [{ends[0]:.4f}, {ends[1]:.4f}]"
            print(f"{'':30} theirs {rates} {naive / ATTACKS:.3f} risk {told_risk} {seconds:.2f} s, alike: {same}")


def measure_predictions(shared: Path) -> None:
    """Predict synthesized variables from those released unchanged, and compare last digits, of known releases."""
    random, about = np.random.default_rng(0), {"radius": 0.2, "seed": 1}

    def show_one(
        name: str, data: pd.DataFrame, released: Any, column: str, kept: list[str], known: list[str], **how: Any
    ):
        found, seconds = timed(lambda: predict_synthesized(data, released, column, kept, known=known, **about, **how))
        figures = (found.rate, found.baseline, found.risk, found.fine)
        print(f"| {name} | {' | '.join(f'{one.value:.3f}' for one in figures)} | {seconds:.1f} s |", flush=True)

    def noisy(data: pd.DataFrame, column: str, spread: float, datasets: int) -> list[pd.DataFrame]:
        factors = np.exp(spread * random.normal(size=(datasets, len(data))))
        return [data.assign(**{column: data[column] * one}) for one in factors]

    print("| data | within the radius | baseline | gain | within 1% | |\n|---|---|---|---|---|---|")
    people = pd.read_csv(shared / "households" / "eusilc.csv")
    kept = [f"{name}" for name in people if name != "eqIncome"]
    for spread in (0.2, 0.5):
        released = noisy(people, "eqIncome", spread, 5)
        show_one(f"EU-SILC, noise {spread}", people, released, "eqIncome", kept, ["db040", "rb090", "hsize"])
    parts = [np.where(random.random(500) < share, random.lognormal(9.5, 0.8, 500), 0) for share in (0.8, 0.4, 0.3)]
    total = pd.DataFrame({"a": parts[0], "b": parts[1], "c": parts[2], "total": sum(parts) + 500})
    show_one("a sum, noise 0.5", total, noisy(total, "total", 0.5, 1), "total", ["a", "b", "c"], [])
    age, grade = random.integers(18, 65, 600), random.integers(6, 18, 600)
    pupils = pd.DataFrame({"age": age, "experience": np.maximum(age - grade - 6, 0)})
    pupils["grade"] = pupils["age"] - pupils["experience"] - 6
    off = [pupils.assign(grade=pupils["grade"] + random.integers(-3, 4, 600)) for _ in range(5)]
    show_one("grades", pupils, off, "grade", ["age", "experience"], ["age", "experience"])
    survey, synthpop = pd.read_csv(shared / "ce_sample.csv"), pd.read_csv(shared / "ce_synthpop_income.csv")
    survey["group"] = pd.cut(survey["Age"], [0, 24, 34, 49, 64, 200], labels=False)
    released = [survey.assign(Income=synthpop[name]) for name in synthpop]
    kept = [f"{name}" for name in survey if name not in ("Income", "group")]
    show_one("CE by synthpop", survey, released, "Income", kept, ["group", "Urban", "Marital"])
    for found in shared_digits(survey["Income"].to_numpy(float), synthpop.to_numpy(float).T, 1.0):
        print(f"digits of CE, {found.step:g}: {found.gain.value:.4f}")
    nist = pd.read_csv(shared / "nist_ma.csv", na_values=["N"])
    made = [pd.read_csv(path, na_values=["N"]) for path in sorted((shared / "nist_ma_synthpop").glob("*.csv"))]
    replaced = [f"{name}" for name in made[0]]
    kept = [f"{name}" for name in nist if name not in replaced]
    nist["group"] = pd.cut(nist["AGEP"], [-1, 14, 24, 34, 49, 64, 200], labels=False)
    for column in replaced:
        released, exact = [nist.assign(**{column: one[column]}) for one in made], column in ("MSP", "INDP_CAT")
        show_one(f"PUMS, {column}", nist, released, column, kept, ["PUMA", "group", "SEX", "RAC1P"], exact=exact)
    values = np.array([one["PINCP"] for one in made], dtype=np.float64)
    for found in shared_digits(nist["PINCP"].to_numpy(float), values, 1.0):
        print(f"digits of PINCP, {found.step:g}: {found.gain.value:.4f}")
    men = pd.read_csv(shared / "households" / "males.csv")
    show_one(
        "the wage itself", men, men, "wage", [f"{name}" for name in men if name != "wage"], ["year", "ethn", "married"]
    )


def _overlap(one: Any, other: Any) -> bool:
    return one.low <= other.high and other.low <= one.high


def _attack(data: pd.DataFrame, made: pd.DataFrame, control: pd.DataFrame, attack: dict[str, Any]) -> Any:
    number = ATTACKS
    if attack["kind"] == "inference":
        return inference(data, made, attack["known"], attack["secret"], control=control, attacks=number, seed=1)
    if attack["kind"] == "linkability":
        first, second, neighbours = attack["first"], attack["second"], attack["neighbours"]
        return linkability(data, made, first, second, neighbours=neighbours, control=control, attacks=number, seed=1)
    # anonymeter drops records that repeat another.
    data, made, control = (one.drop_duplicates() for one in (data, made, control))
    return singling_out(data, made, control=control, size=attack["size"], attacks=number, seed=1)


def _redraw(column: pd.Series, share: float, random: np.random.Generator) -> np.ndarray:
    """Draw some of the values anew from the column."""
    drawn = column.to_numpy()[random.integers(len(column), size=len(column))]
    return np.where(random.random(len(column)) < share, drawn, column.to_numpy())


def _install(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.check_call([python, "-m", "pip", "install", "--quiet", "anonymeter==1.1.0"])
    return python


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="an interpreter that has anonymeter")
    parser.add_argument("--without", action="store_true", help="leave anonymeter out")
    parser.add_argument("--scorecard", type=int, metavar="SPLITS", help="only the colours of known releases, so often")
    parser.add_argument("--prediction", action="store_true", help="only what is predicted from kept variables")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--shared", type=Path, default=SHARED, help="the folder of reference data")
    given = parser.parse_args()
    if not given.shared.is_dir():
        sys.exit("the reference data in ../shared/data are not here")
    if given.scorecard:
        calibrate(given.shared, given.scorecard)
        sys.exit()
    if given.prediction:
        measure_predictions(given.shared)
        sys.exit()
    measure_all(given.tables, given.shared)
    measure_evaluation(given.tables, given.shared)
    if not given.without:
        compare(given.python, given.shared)
