"""What is measured of a release: everything that `evaluate` does, with controls that come from fitting to halves.

People who were not used tell what an attack gives that is true of a kind of people and of no person. Nobody has such
people beside the table: so the model is fitted anew to a random half of the records, tables are drawn from that for the
people of this half, and the others are the control.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans
from molehill.attacks.rates import Trial
from molehill.evaluation.attack_data import TABLES
from molehill.evaluation.catalogue import ATTACK_MEASURES
from molehill.evaluation.evaluation import Evaluation, evaluate
from molehill.evaluation.measure import Measure, describe_measures, leave_out
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import describe_rules, set_rules
from molehill.plan.predictors import uncarried_relations
from molehill.release.making import Job, fit_quietly
from molehill.risk.holdout import Holdout, compare_halves
from molehill.runtime import doing, parallel_map
from molehill.synthesis.fitting import NothingCountsError, draw
from molehill.synthesis.posterior import Posterior
from molehill.tables.table import Table, as_table

# Nothing of what is kept depends on what is close.
_RADIUS = 0.2


def options_of(job: Job) -> EvaluationOptions:
    """How releases of a job are measured."""
    settings = job.settings
    return EvaluationOptions(
        analyses=job.analyses,
        measures=measures_of(job),
        # What the tables are not made to carry, they are not blamed for; the methods note says what that is.
        related=settings.predictors if uncarried_relations(settings) else None,
        survey=settings.survey_design,
        hidden=settings.drop,
        population=settings.weighs == "weights",
        edit_rules=job.rules,
        shuffled=settings.shuffle,
        datasets=settings.expected_risk_draws,
        # Whether the release has converged is asked before it is published.
        unconverged="allow",
        seed=job.seed("evaluation"),
        progress=False,
    )


def evaluate_schemes(
    job: Job, tables: Mapping[str, Sequence[Any]], posteriors: Mapping[str, Posterior], *, progress: bool = False
) -> Evaluation:
    """Measure risk and utility of a release and of what it is compared with, all by name, as settings say."""
    options = replace(
        options_of(job),
        trials=make_trials(job, posteriors),
        posteriors=posteriors if job.settings.expected_risk_draws else None,
        reference="unweighted" if "unweighted" in tables and len(posteriors) > 1 else None,
        progress=progress,
    )
    return replace(evaluate(job.view, tables, options=options), rules=rules_of(job))


def measures_of(job: Job) -> Sequence[Measure]:
    """Give what is measured: without the attacks where the settings say so."""
    ids = {one.id for one in ATTACK_MEASURES} & {one.id for one in job.measures}
    return leave_out(job.measures, sorted(ids)) if job.settings.attacks == "none" else job.measures


def rules_of(job: Job) -> pd.DataFrame:
    """Give the rules by which it is judged: of all measures, those that are left out here too."""
    return describe_rules(set_rules(job.settings.thresholds, job.measures))


def make_trials(job: Job, posteriors: Mapping[str, Posterior]) -> dict[str, Trial]:
    """Give the release a control, where the settings say so, and where it costs little if they leave that open.

    Only the first, which is to be released: comparisons are not published.
    """
    wanted = job.settings.attacks == "always" or (job.settings.attacks == "auto" and job.is_grown)
    trials: dict[str, Trial] = {}
    if wanted and posteriors:
        name = next(iter(posteriors))
        # Half of the records may be too few for a column that hardly varies.
        with suppress(NothingCountsError):
            half = choose_half(job, name)
            with doing("fitting to half of the records, for a control"):
                trials[name] = set_trial(job, half, fit_half(job, job.table, posteriors[name], name, 0, half))
    return trials


def choose_half(job: Job, name: str) -> Booleans:
    """Choose half of the records at random."""
    random = np.random.default_rng(job.seed("halves", name))
    return random.permutation(job.view.records) < job.view.records // 2


def fit_half(job: Job, table: Table, posterior: Posterior, name: str, number: int, side: Booleans) -> list[Any]:
    """Fit the same to one half of the records, and draw tables from it."""
    own: dict[str, Any] = {"seed": job.seed("half", name, number), "patience": 0, "progress": False}
    fitted = fit_quietly(posterior.synthesizer, table, np.where(side, posterior.risk_weights, 0.0), **own, **job.design)
    how: dict[str, Any] = {"seed": job.seed("draw half", name, number), "unconverged": "allow"}
    return draw(
        fitted,
        datasets=TABLES,
        records=None if job.settings.fully_synthetic_records is None else job.view.records,
        **how,
    )


def set_trial(job: Job, half: Booleans, tables: Sequence[Any]) -> Trial:
    """Set tables that were drawn from half of the records beside both halves."""
    frames = [as_table(table).frame for table in tables]
    # Where records are people's own, those of the others are not part of what that half would release.
    own = [
        frame if job.settings.fully_synthetic_records is not None else frame[half].reset_index(drop=True)
        for frame in frames
    ]
    inside, outside = (Table(job.table.frame[side].reset_index(drop=True)) for side in (half, ~half))
    return Trial(inside, [Table(frame) for frame in own], outside)


def evaluate_new_people(
    job: Job, tables: Mapping[str, Sequence[Any]], posteriors: Mapping[str, Posterior], *, progress: bool = False
) -> Evaluation:
    """Measure tables of new people: risk by what can be asked of them, utility of all columns alike."""
    about: dict[str, Any] = {"fully_synthetic": True, "seed": job.seed("evaluation"), "progress": progress}
    measures = measures_of(job)
    risks = [one for one in measures if one.family == "risk"]
    utilities = [one for one in measures if one.family == "utility"]
    holdouts, trials = dict[str, Holdout](), dict[str, Trial]()
    for name, posterior in posteriors.items():
        # Half of the records may be too few for a column that hardly varies.
        with suppress(NothingCountsError):
            holdouts[name], trials[name] = hold_out(job, posterior, name)
    options = EvaluationOptions(analyses=[], measures=risks, holdouts=holdouts, trials=trials, **about)
    found = evaluate(job.view, tables, options=options)
    # Who uses the tables makes no difference between what is known and what is not.
    intruder, columns = job.view.intruder, job.settings.synthesize
    everything = replace(intruder, known=(), breaks={}, sensitive=columns, radius=_RADIUS, min_radius=0.0).view(
        job.view
    )
    about |= {"survey": job.settings.survey_design, "hidden": job.settings.drop}
    about |= {"population": job.settings.weighs == "weights", "edit_rules": job.rules}
    options = EvaluationOptions(analyses=job.analyses, measures=utilities, radii=(), **about)
    kept = evaluate(everything, tables, options=options)
    own: dict[str, Any] = {"measures": describe_measures(measures), "rules": rules_of(job)}
    return replace(found, utility=kept.utility, shapes=kept.shapes, **own)


def hold_out(job: Job, posterior: Posterior, name: str) -> tuple[Holdout, Trial]:
    """Fit the same to either half of the records, and see whether tables lie nearer to those that were fitted to."""
    half = choose_half(job, name)
    calls = [(name, number, side) for number, side in enumerate((half, ~half))]
    first, second = parallel_map(fit_half, calls, shared=(job, job.table, posterior))
    seed = job.seed("asked", name)
    found = compare_halves(job.table, half, first, second, job.settings.synthesize, seed=seed)
    return found, set_trial(job, half, first)
