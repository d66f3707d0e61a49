"""What an unfinished run was begun with: its seed, its settings and its table. It goes on as itself or not at all.

The notes lie beside the checkpoints, for the owner only. Of settings and columns there are checksums and no values.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from molehill.errors import InputError, is_whole
from molehill.files import write_text
from molehill.plan.settings import Settings
from molehill.synthesis.sampling.checkpoints import DECIDING
from molehill.tables.table import Table, show_names

_SEED, _BEGUN = "seed.json", "begun.json"
_RECORDS, _ORDER = "the number of records", "the order of the columns"
_LENGTH = 20
_ANEW = "to begin anew remove the folder"


def begin(settings: Settings, table: Table, folder: Path, *, resume: bool) -> Settings:
    """Write down what a new run begins with, or check that an interrupted one goes on with the same.

    Parameters
    ----------
    settings, table
        What the run is given.
    folder
        Its hidden folder, as of `molehill.release.locks.held`.
    resume
        Whether an interrupted run may be there.

    Returns
    -------
    Settings
        With the seed of the run.
    """
    try:
        if is_begun(folder) and not resume:
            problem = f"an unfinished run for this folder is in {str(folder)!r}"
            raise InputError("resume", problem, "Add --resume to go on with it, or remove that folder")
        begun = _describe(settings, table)
        earlier = _read_begun(folder / _BEGUN)
        if earlier is not None:
            _compare(earlier, begun, folder)
        seed = _keep_seed(settings.seed, folder)
        if earlier is None:
            write_text(folder / _BEGUN, json.dumps(begun), private=True)
    except OSError as error:
        problem = f"the folder {str(folder)!r} cannot be used ({error.strerror or type(error).__name__})"
        remedy = "See to it that it can be read and written, or remove it to begin anew"
        raise InputError("resume", problem, remedy) from None
    return settings.but(seed=seed)


def is_begun(folder: Path) -> bool:
    """Whether there is something to go on with."""
    return any((folder / name).exists() for name in (_SEED, _BEGUN, "checkpoints"))


def clear(folder: Path) -> None:
    """Remove what a run has kept, once it is finished, or if it has come to nothing."""
    for name in (_SEED, _BEGUN):
        (folder / name).unlink(missing_ok=True)
    for path in folder.glob("*.damaged"):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def _keep_seed(given: int | None, folder: Path) -> int:
    """Write down the seed of a new run, or find that of the interrupted one."""
    note = folder / _SEED
    if not note.exists():
        seed = secrets.randbits(62) if given is None else given
        write_text(note, json.dumps({"seed": seed}), private=True)
        return seed
    seed = _read_seed(note)
    if seed is not None and given not in (None, seed):
        problem = f"the unfinished run in {str(folder)!r} has another"
        raise InputError("seed", problem, f"Leave the seed out to go on with it; {_ANEW}")
    if seed is None and given is None:
        problem = f"the seed of the unfinished run cannot be read: {str(note)!r} is damaged"
        raise InputError("resume", problem, f"Without it nothing can go on; {_ANEW} {str(folder)!r}")
    if seed is None:
        note.unlink()
        return _keep_seed(given, folder)
    return seed


def _read_seed(note: Path) -> int | None:
    try:
        seed = json.loads(note.read_bytes())["seed"]
    except (ValueError, TypeError, KeyError):
        return None
    return seed if is_whole(seed, 0) and seed < 2**63 else None


def _read_begun(note: Path) -> dict[str, Any] | None:
    """Read what a run was begun with; a damaged note is set aside, as the checkpoints answer for themselves."""
    if not note.exists():
        return None
    try:
        begun = dict(json.loads(note.read_bytes()))
        return {name: dict(begun[name]) for name in ("settings", "columns", "rest")}
    except (ValueError, TypeError, KeyError):
        note.replace(note.with_suffix(".damaged"))
        return None


def _describe(settings: Settings, table: Table) -> dict[str, Any]:
    fields = settings.model_dump(mode="json", exclude={"seed", "scheduler"})
    return {
        "settings": {name: _digest(json.dumps(value)) for name, value in fields.items()},
        "columns": {name: found[:_LENGTH] for name, found in table.column_hashes.items()},
        "rest": {
            _RECORDS: _digest(len(table.frame)),
            _ORDER: _digest(list(table.frame.columns)),
            "the way in which the file is written": _digest(table.dialect),
            **{f"the version of {name}": _digest(version(name)) for name in DECIDING},
        },
    }


def _digest(words: Any) -> str:
    return hashlib.sha256(f"{words}".encode(errors="surrogatepass") + b"\0").hexdigest()[:_LENGTH]


def _compare(earlier: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on with anything but what the run was begun with, and say what has changed."""
    before, after = earlier["columns"], now["columns"]
    settings, contents = _changed(earlier["settings"], now["settings"]), _changed(before, after)
    added, gone = ([name for name in contents if name not in columns] for columns in (before, after))
    contents = [name for name in contents if name not in (*added, *gone)]
    rest = _changed(earlier["rest"], now["rest"])
    told = {
        "the settings": settings,
        "columns that were added:": added,
        "columns that are gone:": gone,
        # Of another number of records, every column is another.
        "the contents of the columns": [] if _RECORDS in rest else contents,
    }
    words = [f"{what} {show_names(names)}" for what, names in told.items() if names]
    words += [what for what in rest if what != _ORDER or not (added or gone)]
    if words:
        problem = f"since the run in {str(folder)!r} was begun there have changed: {'; '.join(words)}"
        raise InputError("resume", problem, f"Go on with what it was begun with; {_ANEW}")


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]
