"""From a rule to a release: the scheme that keeps the most utility under targets of risk, or why there is none."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from molehill.errors import InputError, check_choice
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.criteria import Criterion, impossible, read_criteria
from molehill.plan.settings import Settings
from molehill.release.making import Job, Stage, Tell
from molehill.release.search.moves import try_moves
from molehill.release.search.outcome import Found, conclude
from molehill.release.search.points import list_points, open_bench
from molehill.runtime import doing


def find_impossible(settings: Settings) -> list[str]:
    """Say which targets no release can meet, and why, without looking at the data."""
    return impossible(read_criteria(settings.release_criteria)) if settings.release_criteria else []


def search(
    job: Job, *, checkpoint: str | Path | None = None, progress: bool = True, on_stage: Tell | None = None
) -> Found:
    """Find the release that keeps the most utility under the targets of the settings, or say why there is none.

    What settings fix is one point, which is judged; with `scheme = "auto"` moves are tried, the least distorting first.
    Without targets it is the safest of those that keep as much as the best.
    `fits`, `seconds`, `chance`, `redraw` and `search_tables` are settings of its own. It abbreviates:

        bench = open_bench(job)
        points = list(try_moves(bench))          # fit, measure and judge, one after the other
        found = conclude(bench)                  # the best confirmed with fresh draws, and put into words

    Parameters
    ----------
    job
        What was asked for, from `molehill.release.making.prepare`.
    checkpoint
        Folder to keep every fit and every measured point in (record-level: owner only). An interrupted call, made
        again with the same settings, the seed among them, goes on from there and ends with the same result.
    progress, tell
        As in `molehill.synthesize`.
    """
    if job.settings.release_criteria:
        _check_targets(read_criteria(job.settings.release_criteria), job)
    with doing("measuring the confidential data"):
        bench = open_bench(job, checkpoint=checkpoint, progress=progress)
    for point in try_moves(bench):
        if on_stage is not None:
            state = f"{'meets the targets' if point.met else 'misses them'}, " if bench.targets else ""
            risk = f"mean expected risk {float(np.nanmean(point.measured.risk)):.3f}"
            distance = f", U_m {point.distance:.4f}" if job.view.numeric else ""
            words = f"point {point.number + 1}: {point}: {state}{risk}{distance}"
            on_stage(Stage(words, list_points([point], bench.fresh).iloc[0].to_dict()))
    return conclude(bench, on_stage)


def _check_targets(targets: Sequence[Criterion], job: Job) -> None:
    """Refuse, before any fit, rules on what this search cannot measure."""
    names = [analysis.name for analysis in job.analyses]
    for target in targets:
        if target.measure == "U_m" and not job.view.numeric:
            raise InputError("release_criteria", f"{str(target)!r}: no replaced column is a number", "Leave it out")
        if target.measure == "moles" and job.settings.method != "auto":
            problem = f"{str(target)!r}: rises are against the unweighted fit, and a fixed scheme is the only one"
            raise InputError("release_criteria", problem, 'Leave it out, or set method = "auto"')
        if target.measure == "overlap":
            if not names:
                raise InputError("release_criteria", f"{str(target)!r}: there are no analyses", "Give some")
            if target.statistic:
                check_choice("release_criteria", target.statistic, names)
        needed = {need for one in (*MEASURES, *job.measures) if one.id == target.measure for need in one.needs or ()}
        for need in sorted(needed & {"control", "halves"}):
            problem = f"{str(target)!r}: it needs {'a control group' if need == 'control' else 'fits to halves'}"
            raise InputError("release_criteria", f"{problem}, which a search has not", "Leave it out")
