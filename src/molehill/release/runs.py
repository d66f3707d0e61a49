"""A run that can be interrupted: a release made and saved, with its seed and checkpoints kept until it is whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from molehill.plan.plan import Plan
from molehill.plan.settings import Settings
from molehill.release.locks import held
from molehill.release.making import Tell
from molehill.release.release import Release, check_target, take_back, write_release
from molehill.release.synthesize import synthesize
from molehill.release.unfinished import begin, clear
from molehill.runtime import doing, find_stop
from molehill.tables.table import as_table


def run(
    data: Any,
    settings: Settings,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    release_anyway: bool = False,
    progress: bool = True,
    on_stage: Tell | None = None,
    on_plan: Callable[[Plan], None] | None = None,
) -> Release:
    """Make the release that settings describe, and save it: `synthesize`, then `Release.save`.

    Where nothing that was found keeps the targets, only `internal/` is written, with the report on the closest point;
    so it is where the recommendation is "do not release".

    While it runs, its seed and checkpoints lie in a hidden folder beside `out`, for the owner only, and no other run
    can work on `out`. Interrupted or killed, the same call with `resume` goes on from there and ends with the same
    bytes; if settings or table are no longer the same, it says what has changed.

    Parameters
    ----------
    data
        The confidential table.
    settings
        What to make.
    out
        The folder for the release, which must not exist yet.
    resume
        Go on with an interrupted run; without one, begin.
    overwrite
        Replace a folder that holds an earlier release.
    release_anyway
        Write `release/` also against the recommendation; report, dossier and manifest then say so.
    progress, on_stage, on_plan
        As in `molehill.synthesize`.
    """
    target, table = Path(out), as_table(data)
    check_target(target, overwrite=overwrite)
    with held(target) as folder:
        take_back(target, on_stage)
        check_target(target, overwrite=overwrite)
        seeded = begin(settings, table, folder, resume=resume)
        try:
            how: dict[str, Any] = {"progress": progress, "on_stage": on_stage, "on_plan": on_plan}
            release = synthesize(table, seeded, checkpoint=folder / "checkpoints", **how)
            if on_stage is not None:
                on_stage("writing the report")
            with doing("writing the report"):
                write_release(release, target, release_anyway=release_anyway)
        except BaseException as error:
            stopped = find_stop(error)
            # Refused before any work was done, there is nothing to go on with; interrupted, there is the seed.
            if stopped is None and not any(folder.rglob("chunk-*.bin")):
                clear(folder)
            if stopped is not None:
                raise stopped from None
            raise
        clear(folder)
    return release
