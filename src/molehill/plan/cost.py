"""How long a run of forests takes: what will be done, counted, times what each of it takes on this machine.

The seconds of the parts were fitted to what five files took on one core of ours. Trees and tables of a simulated survey
say how much slower this machine is at this moment. Where a search will stop is not known: all candidates are counted.
"""

import time
from functools import cache
from math import log2
from statistics import median

import numpy as np

from molehill.models.forests.trees import SWEEPS, UNDER_DESIGN, count_trees, grow_tree
from molehill.plan.settings import Settings
from molehill.risk.identification import release_risk
from molehill.risk.intruder import Intruder
from molehill.sdc_methods import BASELINES
from molehill.tables.populations import consumer_survey
from molehill.tables.schema import is_number
from molehill.tables.table import Table
from molehill.utility.distances import MOST_LEVELS, MOST_TERMS

# Numbers of records that a forest may tell apart at least, from few to many.
LEAVES = (10.0, 25.0, 50.0, *(100.0 * 2**double for double in range(14)))
# More parts than this are not tried: of 200,000 records of the survey 2,000 kept no more than 62.
MOST_PARTS = 2500
# Seconds of a run, of a variable, of guessing its values (not after a fit to a survey), of a scheme, of `slowness`.
_RUN, _VARIABLE, _GUESSED, _SCHEME, _SMALL = 9.0, 0.75, 2.0, 0.3, 0.012
_PEOPLE = 2000
# Seconds of a tree for every record: by predictor and sweep, by predictor and level of the tree, and at least.
_LEAN, _SPLIT, _MASSES = 3.4e-9, 4e-9, 1e-7
# Of a variable of a dataset that is drawn and its risk measured: at least; for every record, and by each predictor.
_DRAWN, _VALUE, _GIVEN = 7e-4, 4e-7, 1.5e-8
# Of a dataset that is looked at by a search, and by the evaluation, for every record: at least, and by each variable.
_SEEN, _SEEN_VARIABLE = 2e-6, 1e-6
_MEASURED, _MEASURED_VARIABLE, _ONCE = 4.5e-5, 4e-6, 2.5e-4
# Of attacks that ask the fitted model, for every record and variable; of the report: at least, by variable, by record.
_ATTACKED, _REPORT, _FIGURES, _POINTS = 2.5e-4, 4.5, 0.6, 4e-4
# Of a classifier, for every record of both tables and pair of its terms.
_TERMS = 2.8e-10
# Datasets that a search looks at and confirms a candidate with, and without rules draws of each; two are confirmed.
_UNDER_RULES, _FREE, _CONFIRMED = (100, 1000), (20, 100), 2
# Columns that a classifier sees of the predictors: as in `molehill.evaluation.catalogue.distributions`.
_MOST_INDICATORS = 30


def candidate_leaves(settings: Settings, records: int) -> tuple[float, ...]:
    """How few records a forest may tell apart, where that is left to be found: from few to many."""
    # Which parts are safe is judged by the risk of people's own records: new people have none.
    if settings.min_leaf_size != "auto" or settings.method != "auto" or settings.fully_synthetic_records:
        return ()
    least, most = records / MOST_PARTS, max(records / 8, LEAVES[0])
    return tuple(leaf for leaf in LEAVES if least <= leaf <= most)


def estimate_seconds(settings: Settings, table: Table) -> float:
    """Estimate how long a run takes all of whose variables are drawn by forests; the settings have predictors."""
    records, datasets = len(table.frame), settings.datasets
    # Each variable is given those before it.
    given = [len(settings.predictors or ()) + place for place in range(len(settings.synthesize))]
    leaves = candidate_leaves(settings, records)[: settings.max_fits]
    beside = len({"marginal", "pairwise", *([] if settings.method == "auto" else ["unweighted"])} & {*settings.compare})
    drawn = sum(_DRAWN + records * (_VALUE + _GIVEN * predictors) for predictors in given)
    told_apart = _TERMS * 2 * records * _count_terms(settings, table) ** 2
    fits = len(leaves or [0]) + beside + (0 if settings.attacks == "none" else 0.5)
    seconds = fits * _fit_seconds(settings, records, given, median(leaves or [30.0]))
    if leaves:
        looked_at, confirming = _UNDER_RULES if settings.release_criteria else _FREE
        number = settings.search_draws if settings.release_criteria else confirming
        seen = drawn + records * (_SEEN + _SEEN_VARIABLE * len(given))
        seconds += len(leaves) * number * drawn + _CONFIRMED * confirming * drawn
        seconds += (len(leaves) + _CONFIRMED) * (
            looked_at * seen + (0 if settings.release_criteria else 2 * told_apart)
        )
    seconds += (1 + beside) * settings.expected_risk_draws * drawn
    measured = records * (_MEASURED + _MEASURED_VARIABLE * len(given)) + told_apart
    once = _SCHEME + records * _ONCE
    seconds += (1 + beside) * (datasets * measured + once) + len({*BASELINES} & {*settings.compare}) * (measured + once)
    seconds += records * _ATTACKED * len(given) + _REPORT + _FIGURES * len(given) + _POINTS * records
    seconds += _RUN + (_VARIABLE + (0.0 if settings.fits_by_weight else _GUESSED)) * len(given)
    return seconds * slowness()


def _fit_seconds(settings: Settings, records: int, given: list[int], leaf: float) -> float:
    sweeps = UNDER_DESIGN if settings.fits_by_weight else SWEEPS
    depth = max(log2(records / leaf), 1.0)
    return (
        count_trees(records)
        * records
        * sum((sweeps * _LEAN + depth * _SPLIT) * predictors + _MASSES for predictors in given)
    )


def _count_terms(settings: Settings, table: Table) -> int:
    """About how many terms a classifier has that tells released records: with products of any two, unless too many."""
    widths, numbers, seen = list[int](), 0, 0
    for place, name in enumerate([*settings.synthesize, *(settings.predictors or ())]):
        width = 1 if is_number(table, name) else min(table.frame[name].nunique() - 1, MOST_LEVELS)
        seen += width if place >= len(settings.synthesize) else 0
        if seen > _MOST_INDICATORS:
            break
        widths.append(width)
        numbers += is_number(table, name)
    alone = sum(widths)
    terms = alone + numbers + (alone**2 - sum(width**2 for width in widths)) // 2
    return terms if terms <= MOST_TERMS else min(alone, MOST_TERMS)


@cache
def slowness() -> float:
    """How much longer trees and tables of a simulated survey take here and now than they took us."""
    random, people = np.random.default_rng(1), consumer_survey(_PEOPLE)
    view = Intruder(known=("gender", "age", "region"), sensitive="income", radius=0.2).view(people)
    tables = [people.assign(income=random.permutation(people["income"])) for _ in range(10)]
    codes, outcome = random.integers(0, 8, (_PEOPLE, 6)).astype(np.uint8), random.integers(0, 20, _PEOPLE)
    kinds = (np.full(6, 8), np.zeros(6, dtype=bool), outcome, 20, np.arange(20) / 20, 10.0, 3)
    passed, spent = list[float](), list[float]()
    for _ in range(12):
        passed.append(time.perf_counter())
        spent.append(time.process_time())
        for seed in range(20):
            grow_tree(codes, *kinds, random.standard_gamma(np.ones(_PEOPLE)), seed, 2.0)
        release_risk(view, tables)
    # The first time what is compiled is loaded, or compiled. Others may leave us little of the machine.
    return max(one[-1] - one[1] for one in (passed, spent)) / _SMALL / (len(spent) - 2)
