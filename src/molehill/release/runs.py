"""A run that can be interrupted: a release made and saved, with its seed and checkpoints kept until it is whole."""

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from molehill.errors import InputError
from molehill.files import write_text
from molehill.plan.settings import Settings
from molehill.release.making import Tell, synthesize
from molehill.release.release import Release, check_target
from molehill.release.search.outcome import Found
from molehill.release.search.search import search


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

    While it runs, its seed and checkpoints lie in a hidden folder beside `out`, for the owner only. Interrupted or
    killed, the same call with `resume` goes on from there and ends with the same bytes.

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
    with _resumable(settings, Path(out), resume=resume, overwrite=overwrite) as (seeded, checkpoint):
        release = synthesize(data, seeded, checkpoint=checkpoint, progress=progress, tell=tell)
        _save(release, Path(out), overwrite=overwrite, tell=tell)
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
    with _resumable(settings, Path(out), resume=resume, overwrite=overwrite) as (seeded, checkpoint):
        found = search(data, seeded, checkpoint=checkpoint, progress=progress, tell=tell)
        if found.point is not None:
            _save(found.release(tell), Path(out), overwrite=overwrite, tell=tell)
    return found


def _save(release: Release, target: Path, *, overwrite: bool, tell: Tell | None) -> None:
    if tell is not None:
        tell("writing the report")
    release.save(target, overwrite=overwrite)


@contextmanager
def _resumable(settings: Settings, target: Path, *, resume: bool, overwrite: bool) -> Iterator[tuple[Settings, Path]]:
    """Give the settings with their seed, and a folder for checkpoints that is gone once the block ends well."""
    check_target(target, overwrite=overwrite)
    unfinished = target.with_name(f".{target.name}.unfinished")
    seeded = settings.but(seed=keep_seed(settings.seed, unfinished, resume=resume))
    try:
        yield seeded, unfinished / "checkpoints"
    except BaseException:
        # Refused or interrupted before any work was done: there is nothing to go on with.
        if not any(unfinished.rglob("chunk-*.bin")):
            shutil.rmtree(unfinished)
        raise
    shutil.rmtree(unfinished)


def keep_seed(given: int | None, folder: Path, *, resume: bool) -> int:
    """Write down the seed of a new run, or find that of the interrupted one."""
    note = folder / "seed.json"
    if folder.exists() and not resume:
        problem = f"an unfinished run for this folder is in {str(folder)!r}"
        raise InputError("resume", problem, "Add --resume to go on with it, or remove that folder")
    if note.exists():
        seed = json.loads(note.read_text(encoding="utf-8"))["seed"]
        if given not in (None, seed):
            raise InputError("seed", "the unfinished run has another", "Leave the seed out, or remove the folder")
        return seed
    seed = secrets.randbits(62) if given is None else given
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder {str(folder.parent)!r} cannot be written to ({error.strerror})"
        raise InputError("out", problem, "Choose another folder") from None
    write_text(note, json.dumps({"seed": seed}), private=True)
    return seed
