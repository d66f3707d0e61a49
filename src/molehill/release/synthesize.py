"""The one door: from a confidential table and settings to tables that may be published, and what a board asks.

`synthesize` strings the parts of the library together and adds nothing of its own: its docstring shows the calls.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from molehill.arrays import Floats
from molehill.cluster import connect
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.measure import Measure
from molehill.plan.plan import Plan
from molehill.plan.settings import Settings
from molehill.release.making import PAPER, Job, Tell, assemble, fit_quietly, make_baselines, prepare, timed_stage
from molehill.release.measuring import evaluate_new_people, evaluate_schemes
from molehill.release.release import Release
from molehill.release.schemes import Scheme, weigh
from molehill.release.search.new_people import find_parts
from molehill.release.search.search import find_impossible, search
from molehill.risk.identification import ConfidentialRisk, confidential_risk
from molehill.runtime import call_alone, doing, is_spreading, parallel_map, sees_files
from molehill.synthesis.fitting import draw
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.diagnostics import LEAST_BULK
from molehill.synthesis.synthesizer import AnySynthesizer
from molehill.tables.table import Table
from molehill.utility import Analysis


def synthesize(
    data: Any,
    settings: Settings,
    *,
    synthesizer: AnySynthesizer | None = None,
    analyses: Sequence[Analysis] | None = None,
    measures: Sequence[Measure] = MEASURES,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    on_stage: Tell | None = None,
    on_plan: Callable[[Plan], None] | None = None,
) -> Release:
    """Make synthetic tables of a confidential one, and measure what they give away and what they keep.

    It abbreviates, for a release with pairwise weights:

        view = settings.intruder.view(data)
        weights = risk_weights(confidential_risk(view, order=settings.order), scale=settings.scale)
        posterior = fit(synthesizer, data, weights, seed=derive_seed(settings.seed, "fit", "pairwise"))
        tables = draw(posterior, datasets=settings.datasets, seed=derive_seed(settings.seed, "draw", "pairwise"))
        evaluation = evaluate(view, {"pairwise": tables, ...})

    and the same for every scheme that it is compared with.

    Parameters
    ----------
    data
        The confidential table.
    settings
        What to make; `Settings` says what can be set, and `molehill init` suggests them for a file.
    synthesizer
        One of your own, in place of the built-in one that settings choose.
    analyses
        What users will compute beside the regressions of the settings, see `evaluate`.
    measures
        What to measure, see `evaluate`.
    checkpoint
        Folder for checkpoints: an interrupted call, made again with the same seed, goes on where it stopped.
    progress
        Show bars with the time left, on a terminal.
    on_stage
        Called with the name of every stage as it begins.
    on_plan
        Called with the release plan, once it is made and before anything is fitted.
    """
    impossible = find_impossible(settings)
    if impossible:
        raise InputError("release_criteria", f"no release can meet them: {'; '.join(impossible)}", "Ask for less")
    with doing("checking settings and data"):
        job = prepare(data, settings, synthesizer=synthesizer, analyses=analyses, measures=measures, on_plan=on_plan)
    with connect(settings.scheduler):
        return call_alone(partial(_make, job, checkpoint=checkpoint, progress=progress, on_stage=on_stage))


def _make(job: Job, **how: Any) -> Release:
    settings = job.settings
    if settings.fully_synthetic_records is not None:
        with timed_stage("finding how much to tell apart", seconds := {}, how["on_stage"]):
            job = find_parts(job, progress=how["progress"])
        return _make_fixed(job, **how, seconds=seconds)
    # A forest is grown in a second: how much it tells apart is found by trying, with a rule to keep or without.
    return (
        search(job, **how).release(how["on_stage"])
        if settings.release_criteria or job.leaves
        else _make_fixed(job, **how)
    )


def _make_fixed(
    job: Job,
    *,
    checkpoint: str | Path | None,
    progress: bool,
    on_stage: Tell | None,
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> Release:
    """Make the release of the scheme that settings name, beside those that it is compared with."""
    settings, seconds = job.settings, dict(seconds)
    with timed_stage("measuring the risk", seconds, on_stage):
        schemes, risk = _plan(job)
    released, *beside = schemes
    folder = None if checkpoint is None else Path(checkpoint)
    with timed_stage(f"fitting: {released}", seconds, on_stage):
        # What is only shown beside the release need not be made to converge at any cost; the report says so.
        first, _ = _fit_named(job, job.table, None, folder, released, schemes[released], 2, progress)
    # Nothing else is worth fitting if there is nothing to compare it with.
    _check_converged(first)
    posteriors = {released: first}
    pieces = is_spreading() and len(beside) > 1
    how: tuple[Any, ...] = (0, progress and not pieces)
    shared = (job, job.table, first, folder if sees_files() or not pieces else None)
    fits = parallel_map(_fit_named, [(name, schemes[name], *how) for name in beside], shared=shared)
    for name in beside:
        if on_stage is not None:
            on_stage(f"fitting: {name}")
        posteriors[name], seconds[f"fitting: {name}"] = next(fits)
    tables: dict[str, Sequence[Any]] = {}
    with timed_stage("drawing tables", seconds, on_stage):
        for name, posterior in posteriors.items():
            own = {"seed": job.seed("draw", name), "unconverged": "error" if name == released else "allow"}
            tables[name] = draw(posterior, datasets=settings.datasets, records=settings.fully_synthetic_records, **own)
        tables |= make_baselines(job)
    fitting = {name: seconds[f"fitting: {name}"] for name in posteriors}
    about: dict[str, Any] = {
        "weights": schemes,
        "risk": risk,
        "fitting": fitting,
        "seconds": seconds,
        "on_stage": on_stage,
    }
    by = evaluate_schemes if settings.fully_synthetic_records is None else evaluate_new_people
    return assemble(job, tables, posteriors, **about, evaluated_by=partial(by, progress=progress))


def _fit_named(
    job: Job,
    table: Table,
    first: Posterior | None,
    folder: Path | None,
    name: str,
    weights: Floats,
    patience: int,
    progress: bool,  # noqa: FBT001 (a piece of work has no names for what it is given)
) -> tuple[Posterior, float]:
    """Fit a scheme, from the draws of the first one on if there is one, and tell how many seconds it took.

    Schemes are made with random numbers of their own: rises between them are judged against independent runs.
    """
    begun = time.perf_counter()
    own = None if folder is None else folder / name.replace(" ", "-")
    how: dict[str, Any] = {"patience": patience, "start_from": first, "checkpoint": own, "progress": progress}
    how |= {"seed": job.seed("fit", name), "effective": max(LEAST_BULK, job.settings.datasets), **job.design}
    return fit_quietly(job.model, table, weights, **how), time.perf_counter() - begun


def _check_converged(posterior: Posterior) -> None:
    """Refuse to go on from a fit that cannot be released, with remedies that are settings."""
    problems, given_up = posterior.diagnostics.problems, posterior.given_up
    if problems:
        tried = f", after {len(given_up)} larger model(s)" if given_up else ""
        remedies = ['condition on fewer predictors, or set synthesizer = "normal_linear"']
        remedies += ['set components = "auto"'] if posterior.variant and not given_up else []
        problem = f"the fit of the release has not converged{tried}: {problems[0]}"
        raise InputError("settings", problem, f"Try this: {'; or '.join(remedies[::-1])}")


def _plan(job: Job) -> tuple[dict[str, Floats], ConfidentialRisk]:
    """Give the weights of every scheme that is fitted, the release first, and the risk that its own come from.

    Nothing keeps more than every record counting fully. So that comes first, where nothing is said of weights; if one
    of the others turns out to keep as much, and to be safer, it is released in its place: see `choose_scheme`.
    """
    settings = job.settings
    own = (
        Scheme()
        if settings.method == "auto"
        else Scheme(settings.risk_order, settings.weight_scale, settings.weight_shift)
    )
    beside = {name: scheme for name, scheme in PAPER.items() if name in settings.compare and scheme != own}
    # The unweighted one last: it takes longest.
    schemes = {str(own): own} | dict(sorted(beside.items(), key=lambda item: item[1].order == 0))
    risks = {
        order: confidential_risk(job.view, order=order)
        for order in {settings.risk_order, *(scheme.order for scheme in schemes.values())}
        if order
    }
    weights = {name: weigh(scheme, risks.get(scheme.order), job.view.records) for name, scheme in schemes.items()}
    if not weights[str(own)].any():
        raise InputError("weight_scale", "every record has weight 0", "Use a larger scale or shift, or a higher order")
    # Where everybody stands out, a comparison may count nobody: there is nothing to fit.
    counting = {name: given for name, given in weights.items() if given.any()}
    return counting, risks[own.order or settings.risk_order]
