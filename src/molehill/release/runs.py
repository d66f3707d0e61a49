"""A run that can be interrupted: a release made and saved, with its seed and checkpoints kept until it is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from molehill.plan.settings import Settings
from molehill.release.locks import held
from molehill.release.making import Tell, synthesize
from molehill.release.release import Release, check_target, take_back, write_release
from molehill.release.search.outcome import Found
from molehill.release.search.search import search
from molehill.release.unfinished import begin, clear
from molehill.tables.table import as_table


def run(
    data: Any,
    settings: Settings,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    tell: Tell | None = None,
) -> Release:
    """Make the release that settings describe, and save it: `synthesize`, then `Release.save`.

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
    progress, tell
        As in `molehill.synthesize`.
    """
    how = _How(Path(out), "run", resume=resume, overwrite=overwrite, tell=tell)
    with _resumable(data, settings, how) as (seeded, checkpoint):
        release = synthesize(data, seeded, checkpoint=checkpoint, progress=progress, tell=tell)
        _save(release, how)
    return release


def run_search(
    data: Any,
    settings: Settings,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Search for the release that settings describe, and save it: as `run`, but `search` in place of `synthesize`.

    Where nothing is fit to publish, only `internal/` is written, with the report on the closest point; where nothing
    was fitted, nothing is.
    """
    how = _How(Path(out), "search", resume=resume, overwrite=overwrite, tell=tell)
    with _resumable(data, settings, how) as (seeded, checkpoint):
        found = search(data, seeded, checkpoint=checkpoint, progress=progress, tell=tell)
        if found.point is not None:
            _save(found.release(tell), how)
    return found


@dataclass(frozen=True)
class _How:
    """Where a release shall be, by which command, and what may be there."""

    target: Path
    by: str
    resume: bool
    overwrite: bool
    tell: Tell | None


def _save(release: Release, how: _How) -> None:
    if how.tell is not None:
        how.tell("writing the report")
    write_release(release, how.target)


@contextmanager
def _resumable(data: Any, settings: Settings, how: _How) -> Iterator[tuple[Settings, Path]]:
    """Give the settings with their seed, and a folder for checkpoints that is gone once the block ends well."""
    table = as_table(data)
    check_target(how.target, overwrite=how.overwrite)
    with held(how.target) as folder:
        take_back(how.target, how.tell)
        check_target(how.target, overwrite=how.overwrite)
        seeded = begin(settings, table, folder, by=how.by, resume=how.resume)
        try:
            yield seeded, folder / "checkpoints"
        except BaseException:
            # Refused or interrupted before any work was done: there is nothing to go on with.
            if not any(folder.rglob("chunk-*.bin")):
                clear(folder)
            raise
        clear(folder)
