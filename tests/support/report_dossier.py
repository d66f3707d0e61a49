"""Evidence to make reports from: baselines in place of synthesizers, so that nothing is fitted."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.criteria import Criterion, read_criteria
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.plan.columns import look_at_columns
from molehill.plan.plan import make_plan
from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier, Searched
from molehill.risk.identification import confidential_risk, risk_weights
from molehill.sdc_methods import multiply_noise, swap_ranks, topcode
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table

# Tuned numbers that can be found again wherever they stand.
RADIUS, FLOOR, SCALE, SHIFT, SEED = 0.2137, 3.0517, 0.9131, 0.0871, 987654321
RELEASED = f"order 2, scale {SCALE}, shift {SHIFT}"
RARE = 1_234_567.0
TABLES = 4
LIMITS = (-98_765.0, 2_345_678.0)
DROPPED = "cbsa"
LABELS = {"income": "Income before taxes", "earner": "Earner status", DROPPED: "Core area of the household"}
WORDS = "a regression of the sign of the value, and mixtures of regressions of its size"
NAN = float("nan")
HOSTILE = {
    "income": "<img src=x onerror=\"alert('a')\">\n=cmd|'/C calc'!A0 </script><script>alert(1)</script> доход {{7*7}}",
    "gender": "\"'><svg onload=alert(2)>" + "x" * 10_000,
    "age": "возраст `<b>`",
    "cbsa": "`</th><script>alert('dropped')</script>" + "z" * 10_000,
}
HOSTILE_SCHEME = "</script><script>alert(3)</script>" + "長" * 10_000
HOSTILE_LABEL = "\u202e\x1b[31m</td><script>alert('label')</script>\n=1+1 `код` {{7*7}}" + "w" * 10_000
HOSTILE_LEVEL = "<script>alert('level')</script>" + "y" * 10_000


@cache
def plain_dossier(*added):
    """Make a dossier with the measures that ship and any that are added."""
    survey, measures = consumer_survey(n=300, seed=1), (*MEASURES, *added)
    return _make(survey, "income", ["gender", "age"], RELEASED, "swapped", measures)


# Measures without which a page would look like that of another kind of release.
FEW = ("risk_mean", "matches_true", "U_m", "U_m_benchmark", "overlap", "estimate")


@cache
def small_dossier(*added):
    """Make a dossier with few of the measures that ship and any that are added."""
    measures = (*(one for one in MEASURES if one.id in FEW), *added)
    return _make(consumer_survey(n=300, seed=1), "income", ["gender", "age"], RELEASED, "swapped", measures)


def with_few_measures(dossier, more=()):
    """The dossier with a few measures and no shapes, for tests that look for a sentence of the page."""
    evaluation, kept = dossier.evaluation, [*FEW, *more]
    frames = {name: getattr(evaluation, name) for name in ("risk", "utility")}
    frames = {name: rows[rows["measure"].isin(kept)] for name, rows in frames.items()}
    frames |= {name: getattr(evaluation, name).iloc[:0] for name in ("groups", "shapes")}
    measures = evaluation.measures[evaluation.measures["id"].isin(kept)]
    return replace(dossier, evaluation=replace(evaluation, **frames, measures=measures))


@cache
def hostile_dossier():
    survey = consumer_survey(n=300, seed=1)
    survey["gender"] = survey["gender"].astype(str).replace("female", HOSTILE_LEVEL)
    survey = survey.rename(columns=HOSTILE)
    labels = dict.fromkeys(survey.columns, HOSTILE_LABEL)
    made = _make(survey, HOSTILE["income"], [HOSTILE["gender"], HOSTILE["age"]], HOSTILE_SCHEME, "=1+1", labels=labels)
    target = Criterion("overlap", f"mean of {HOSTILE['income']}", 0.5, ">=")
    way = pd.DataFrame({"pattern": [f"{HOSTILE['gender']} {HOSTILE_LEVEL}"], "range": ["0 to 10"], "records": [3]})
    columns = [{**row, "label": HOSTILE_LABEL, "remark": HOSTILE_LABEL} for row in made.facts["columns"]]
    return replace(made, search=make_search((target,), way=way), facts={**made.facts, "columns": columns})


@cache
def searched_dossier():
    """The plain one as if a search had found it."""
    search = make_search(("maximum realised <= 0.4321", "U_m <= 0.1987"))
    made = plain_dossier()
    return replace(made, search=search, settings=made.settings.but(release_criteria=list(map(str, search.targets))))


def make_search(targets, *, met=True, converged=True, way=None):
    """Make three points: the first breaks the first target, the second keeps all, the third as well."""
    targets, rows = read_criteria(targets), []
    for number, scheme in enumerate(("unweighted", "pairwise, shift 0.5", "pairwise")):
        row = {"point": number, "scheme": f"{scheme}, membership prior", "fit": number, "warm": number > 0}
        row |= {"rounds": 0}
        row |= {"converged": converged, "met": met and number > 0}
        row |= {"mean_expected_risk": 0.21357 - number / 100, "mean_expected_risk_error": 0.001}
        row |= {"q99_expected_risk": 0.4, "largest_realised_risk": 0.5, "U_m": 0.03579 + number / 100}
        row |= {"U_m_error": 0.0005}
        for place in range(1, len(targets) + 1):
            target = {"value": 0.2468 + number / 10, "error": 0.002 if number else NAN, "met": number > 0}
            target |= {"chance": NAN if number else 0.87, "records": 0.0}
            row |= {f"target_{place}_{name}": value for name, value in target.items()}
        rows.append(row)
    measures = ("risk", "risk_low", "risk_high", "U_m", "U_m_low", "U_m_high")
    numbers = [(0.9, NAN, NAN, NAN, NAN, NAN), (0.8, NAN, NAN, 0.02, NAN, NAN), (0.5, 0.48, 0.52, 0.05, 0.04, 0.06)]
    baselines = pd.DataFrame(numbers, columns=measures)
    baselines.insert(0, "scheme", ["confidential", "topcoding", "noise, 10% of the sd"])
    return Searched(
        met=met,
        verdict="Found: pairwise keeps what it shall.\nIt was confirmed.",
        targets=targets,
        candidates=pd.DataFrame(rows),
        place=1,
        next_places=(2, 0),
        blocking_records=pd.DataFrame() if way is None else way,
        baselines=baselines,
        cost={"fits": 3.0},
        probability=0.6543,
        probability_low=0.6,
        probability_high=0.7,
        fresh=0.0311,
        releases=1,
        redrawn=13,
        may_redraw=True,
        note="Found by a search.\nThe same again: --fits 77",
    )


def _make(survey, column, known, released, other, measures=MEASURES, labels=LABELS):
    survey[column] = survey[column].astype(float)
    survey.loc[0, column] = RARE
    schemes = {
        released: [multiply_noise(survey, column, least=0.1, most=0.5, seed=seed) for seed in range(TABLES)],
        "unweighted": [swap_ranks(survey, column, window=0.05, seed=seed) for seed in range(TABLES)],
        other: [swap_ranks(survey, column, window=0.4, seed=seed) for seed in range(TABLES)],
        "topcoding": [topcode(survey, column, percentile=97.5)],
    }
    dropped = HOSTILE[DROPPED] if HOSTILE[DROPPED] in survey else DROPPED
    settings = Settings(
        data="/agency/secret/survey.csv",
        synthesize=[column],
        keep=[name for name in survey if name not in (column, dropped)],
        drop=[dropped],
        lower=LIMITS[0],
        upper=LIMITS[1],
        known=known,
        predictors=known,
        radius=RADIUS,
        min_radius=FLOOR,
        weight_scale=SCALE,
        weight_shift=SHIFT,
        seed=SEED,
        small_patterns="marginal",
    )
    view = settings.intruder.view(survey)
    evaluation = evaluate(
        view,
        schemes,
        options=EvaluationOptions(reference="unweighted", propensity_methods=("logistic",), measures=measures),
    )
    shown = Table(survey, {name: label for name, label in labels.items() if label != HOSTILE_LABEL})
    plan = make_plan(settings, view, look_at_columns(shown))
    columns = plan.columns.assign(label=plan.columns["column"].map(labels).fillna(""))
    risk = confidential_risk(view, order=2)
    weights = risk_weights(risk, scale=SCALE, shift=SHIFT)
    values = survey[column].to_numpy()
    rows = np.random.default_rng(1).permutation(len(survey)) + 1
    weights = pd.DataFrame({"record": np.arange(1, 301), "value": values, "risk": risk.risk, "weight": weights})
    fits = [_fit(released, True, ""), _fit("unweighted", False, "R-hat of mean[3] is 1.051, above 1.02")]
    return Dossier(
        settings,
        released,
        evaluation,
        weights.assign(row=rows),
        pd.DataFrame(fits),
        pd.DataFrame([_functional(name, number) for name in (released, "unweighted") for number in range(6)]),
        dict(risk.policies),
        {
            "records": 300,
            "patterns": risk.patterns.number,
            "tables": TABLES,
            "model": "semicontinuous",
            "words": WORDS,
            "outside": 0.0004,
            "columns": columns.to_dict("records"),
            "order": list(plan.order),
            "shuffled": plan.shuffled,
            "kind": "semicontinuous",
            "reason": "it has zeros",
            "versions": {"molehill": "0.1.0", "numpy": "2.4"},
        },
    )


def _fit(scheme, converged, problems):
    fit = {"scheme": scheme, "converged": converged, "problems": problems, "sweeps": 400, "effective_size": 512.0}
    return fit | {"largest_rhat": 1.008 if converged else 1.051, "divergent": 0.0}


def _functional(scheme, number):
    about = {"scheme": scheme, "functional": f"mean[{number}]", "mean": 71234.5, "sd": 99.0}
    return about | {"rhat": 1 + number / 200, "bulk": 500.0 - number, "tail": 300.0, "error": 4.5}
