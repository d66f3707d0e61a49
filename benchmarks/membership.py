"""What a release shows to who knows everybody else: the CE sample, and an attack on true fits without a record.

python benchmarks/membership.py [members] [values] [attack] [--fits 25]

Members: the advantage of who asks whether a person was in the data. Values: what is given to the true value of a
person, among guesses. Without a name all of them are told.

The attack fits a forest again and again with a record and without it, draws tables, and counts the record's level among
those who share leaves with it, each as often as they do. Half of the tables choose the threshold, the others say how
often it is right. That is one attack of many: the advantage that is told has to be larger, but for chance.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from molehill.arrays import Floats, Integers
from molehill.attacks.worst_case.attributes import attribute_risk
from molehill.attacks.worst_case.membership import membership
from molehill.models import forest, multinomial, normal_linear
from molehill.models.forests.trees import find_leaves
from molehill.risk.identification import confidential_risk, risk_weights
from molehill.risk.intruder import Intruder
from molehill.synthesis.fitting import fit, refit_without
from molehill.synthesis.posterior import Posterior

CE_SAMPLE = Path(__file__).parents[2] / "shared" / "data" / "ce_sample.csv"
CATEGORIES = ["Urban", "Tenure", "Educ", "Marital"]
PREDICTORS = ["Age", *CATEGORIES]
INTRUDER = Intruder(known=["Urban", "Tenure", "Marital"], sensitive="Income", radius=0.2)
# Windows of trees that do not overlap: tables of one fit that share no tree.
WINDOWS = 10
# Tables of a whole release.
MANY = 20


def tell_sample(sample: pd.DataFrame) -> None:
    """Mean and largest advantage, for records chosen at random and for the riskiest, of 1, 5 and 20 tables."""
    risk = confidential_risk(sample, INTRUDER, order=2)
    weights = risk_weights(risk)
    schemes = {
        "forest": (forest("Income", PREDICTORS), None),
        "forest, leaf 300": (forest("Income", PREDICTORS, min_leaf_size=300), None),
        "forest, pairwise weights": (forest("Income", PREDICTORS), weights),
        "normal regression": (normal_linear("Income", PREDICTORS, transform="signed"), None),
    }
    print(f"{len(sample):,} records; advantage: mean and largest at random, mean and largest of the riskiest")
    for name, (model, own) in schemes.items():
        posterior = fit(model, sample, own, seed=1, progress=False)
        for datasets in (1, 5, 20):
            begun = time.perf_counter()
            found = membership(posterior, datasets=datasets, seed=3, riskiest=risk.risk)
            seconds = time.perf_counter() - begun
            figures = [found.mean(), found.largest(), found.mean(riskiest=True), found.largest(riskiest=True)]
            told = "  ".join(f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in figures)
            unsure = f"unsure {found.unsure():.2f}, {found.unsure(riskiest=True):.2f}"
            print(f"{name:26} {datasets:3}  {told}  {unsure}  {seconds:.1f} s", flush=True)


def tell_values(sample: pd.DataFrame) -> None:
    """Mean and largest probability of the true value, at random and of the riskiest, of 1 and 20 tables."""
    risk = confidential_risk(sample, INTRUDER, order=2)
    others = [name for name in PREDICTORS if name != "Educ"]
    schemes = {
        "forest": (forest("Income", PREDICTORS), None),
        "forest, leaf 300": (forest("Income", PREDICTORS, min_leaf_size=300), None),
        "forest, pairwise weights": (forest("Income", PREDICTORS), risk_weights(risk)),
        "normal regression": (normal_linear("Income", PREDICTORS, transform="signed"), None),
        "Educ: forest": (forest("Educ", others), None),
        "Educ: multinomial": (multinomial("Educ", others), None),
    }
    print(f"{len(sample):,} records; probability: mean and largest at random, mean and largest of the riskiest")
    for name, (model, own) in schemes.items():
        posterior = fit(model, sample, own, seed=1, progress=False)
        for spread in (0.1, None) if not name.startswith("Educ") else (None,):
            for datasets in (1, 20):
                begun = time.perf_counter()
                found = attribute_risk(posterior, datasets=datasets, seed=3, riskiest=risk.risk, spread=spread)
                seconds = time.perf_counter() - begun
                figures = [found.mean(), found.largest(), found.mean(riskiest=True), found.largest(riskiest=True)]
                told = "  ".join(f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in figures)
                rest = f"baseline {found.baseline():.3f}, likeliest {found.likeliest().value:.3f}"
                unsure = f"unsure {found.unsure():.2f}, {found.unsure(riskiest=True):.2f}"
                print(f"{name:26} {found.among:9} {datasets:3}  {told}  {rest}  {unsure}  {seconds:.1f} s", flush=True)


def attack(sample: pd.DataFrame, *, fits: int, asked: int) -> None:
    """Carry out the attack on some records, and set it beside what is told."""
    model = forest("Income", PREDICTORS)
    posterior = fit(model, sample, seed=1, progress=False)
    rows = np.sort(np.random.default_rng(5).choice(len(sample), asked, replace=False))
    told = {tables: membership(posterior, datasets=tables, seed=3, rows=rows).advantage for tables in (1, 3, MANY)}
    close, levels = proximity(posterior, rows), posterior.learned.inputs["outcome"][rows]
    members = [fit(model, sample, seed=100 + seed, progress=False) for seed in range(fits)]
    print(f"{len(sample):,} records, {fits} fits with and without each: told and found on 1, 3 and {MANY} tables")
    for place, row in enumerate(rows.tolist()):
        others = [refit_without(posterior, row, seed=900 + seed, progress=False) for seed in range(fits)]
        kept = np.arange(len(sample)) != row
        # The record's own value is no part of the attack: without the record there is none.
        sides = ((members, close[place] * kept), (others, close[place][kept]))
        seen, all_seen = (
            [count(posterior, one, near, levels[place], tables) for one, near in sides] for tables in (WINDOWS, MANY)
        )
        three = [one[:, : WINDOWS // 3 * 3].reshape(-1, 3).sum(axis=1) for one in seen]
        found = {
            1: advantage(seen[0].ravel(), seen[1].ravel()),
            3: advantage(three[0], three[1]),
            MANY: normal_advantage(*(one.sum(axis=1) for one in all_seen)),
        }
        print(f"{row:6}  " + "   ".join(f"{told[n][place]:.3f} {found[n]:.3f}" for n in found), flush=True)


def proximity(posterior: Posterior, rows: Integers) -> Floats:
    """Share of the trees in which every record is in the leaf of some, (rows, records)."""
    codes = posterior.learned.inputs["codes"]
    feature, left, child = (posterior.draws[name][0] for name in ("feature", "left", "child"))
    close = np.zeros((len(rows), len(codes)))
    for tree in range(len(child)):
        leaves = find_leaves(codes, feature[tree], left[tree], child[tree])
        close += leaves == leaves[rows][:, None]
    return close / len(child)


def count(posterior: Posterior, fits: list[Posterior], close: Floats, level: int, number: int) -> Floats:
    """How many values of tables are of a level, each counted by how close its record is, (fits, tables)."""
    grid = posterior.learned.facts["levels"]
    tables = [next(one.predict_tables(number, seed=seed)) for seed, one in enumerate(fits)]
    return np.array([[close @ (grid.codes(one["Income"].to_numpy()) == level) for one in of] for of in tables])


def advantage(members: Floats, others: Floats) -> float:
    """Right less wrong claims at a threshold from one half of the releases, on the other; the mean over many halves."""
    found = []
    for seed in range(50):
        random = np.random.default_rng(seed)
        (learn, test), (learn_others, test_others) = (
            np.array_split(random.permutation(one), 2) for one in (members, others)
        )
        ends = np.unique(np.r_[learn, learn_others])
        best = ends[np.argmax([(learn >= end).mean() - (learn_others >= end).mean() for end in ends])]
        found.append((test >= best).mean() - (test_others >= best).mean())
    return float(np.mean(found))


def normal_advantage(members: Floats, others: Floats) -> float:
    """The same as if the counts were normal, all of one spread: there are only as many releases as fits."""
    spread = np.sqrt((members.var(ddof=1) + others.var(ddof=1)) / 2)
    return float(2 * norm.cdf((members.mean() - others.mean()) / spread / 2) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="members, values, attack; left out: all of them")
    parser.add_argument("--fits", type=int, default=25, help="fits with and without every record that is attacked")
    parser.add_argument("--asked", type=int, default=8, help="records that are attacked")
    given = parser.parse_args()
    sample = pd.read_csv(CE_SAMPLE).astype({"Income": float} | dict.fromkeys(CATEGORIES, str))
    first = sample.iloc[:2000].reset_index(drop=True)
    parts = {
        "members": partial(tell_sample, sample),
        "values": partial(tell_values, sample),
        "attack": partial(attack, first, fits=given.fits, asked=given.asked),
    }
    for name in given.parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
