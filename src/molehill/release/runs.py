"""Releases on disk: two folders, one to publish and one to keep, that appear whole or not at all."""

import json
import secrets
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from molehill.errors import InputError
from molehill.files import write_text
from molehill.plan.settings import Settings
from molehill.release.making import make_release
from molehill.release.release import Release, check_target


def run_settings(
    data: Any,
    settings: Settings,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = True,
    tell: Callable[[str], None] | None = None,
) -> Release:
    """Make the release that settings describe, and save it.

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
    target = Path(out)
    check_target(target, overwrite=overwrite)
    unfinished = target.with_name(f".{target.name}.unfinished")
    settings = replace(settings, seed=_keep_seed(settings.seed, unfinished, resume=resume))
    try:
        release = make_release(data, settings, checkpoint=unfinished / "checkpoints", progress=progress, tell=tell)
    except BaseException:
        # Refused or interrupted before any work was done: there is nothing to go on with.
        if not any(unfinished.rglob("chunk-*.bin")):
            shutil.rmtree(unfinished)
        raise
    if tell is not None:
        tell("writing the report")
    release.save(target, overwrite=overwrite)
    shutil.rmtree(unfinished)
    return release


def _keep_seed(given: int | None, folder: Path, *, resume: bool) -> int:
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
