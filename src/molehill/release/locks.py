"""Who is at work on a release: one process at a time, from the first draw to the last file."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from molehill.errors import InputError
from molehill.runtime import is_running

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None

_LOCK = "lock"
# Another process may remove the folder between any two steps; that it does so time and again is not to be expected.
_ATTEMPTS = 100


def unfinished_folder(target: Path) -> Path:
    """Give the hidden folder beside a release in which it is made."""
    return target.with_name(f".{target.name}.unfinished")


@contextmanager
def held(target: Path) -> Iterator[Path]:
    """Hold the hidden folder of a release while the block runs, and give it; refuse if another process holds it.

    The lock is a file that the system locks, so that it ends with its process, however that ends. Where nothing can be
    locked, the process that the file names counts, if it still lives. A folder that is empty at the end is removed.
    """
    folder = unfinished_folder(target)
    handle = _take(folder, target)
    try:
        yield folder
    finally:
        # Still locked: whoever has opened it meanwhile finds that it is gone.
        with suppress(OSError):
            if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
                (folder / _LOCK).unlink(missing_ok=True)
                folder.rmdir()
            else:
                os.ftruncate(handle, 0)
        os.close(handle)


def _take(folder: Path, target: Path) -> int:
    path = folder / _LOCK
    for _ in range(_ATTEMPTS):
        handle = _open(folder, path)
        if handle is None:
            continue
        owner = _read_owner(handle)
        if not _lock(handle, owner):
            os.close(handle)
            remedy = "Wait for it to end, or choose another folder"
            if owner and owner["host"] != platform.node():
                remedy += f"; if it has ended there, remove {str(path)!r}"
            raise InputError("out", f"{_name(owner)} is at work on {str(target)!r}", remedy)
        if _is_same(handle, path):
            _write_owner(handle)
            return handle
        os.close(handle)
    raise InputError("out", f"the folder {str(folder)!r} comes and goes", "Choose another folder")


def _open(folder: Path, path: Path) -> int | None:
    """Open the file of the lock; None if its folder was removed between the two steps."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        # A folder that was there, then was not, and perhaps is again, is another process coming and going.
        if not isinstance(error, FileExistsError) or folder.is_file():
            problem = f"the folder {str(folder)!r} cannot be written to ({error.strerror})"
            raise InputError("out", problem, "Choose another folder, or ask for the right to write there") from None
    return None


def _lock(handle: int, owner: dict[str, Any]) -> bool:
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # This file system has no locks.
            return not _is_alive(owner)
        return True
    return not _is_alive(owner)


def _is_alive(owner: dict[str, Any]) -> bool:
    """Whether the process that a lock names may still be at work; of another machine nobody knows."""
    if not owner:
        return False
    if owner["host"] != platform.node():
        return True
    return is_running(owner["pid"])


def _name(owner: dict[str, Any]) -> str:
    if not owner:
        return "another process"
    where = "" if owner["host"] == platform.node() else f" on {owner['host']!r}"
    return f"process {owner['pid']}{where}, since {owner['since']},"


def _write_owner(handle: int) -> None:
    since = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    content = json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}).encode()
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, content)


def _read_owner(handle: int) -> dict[str, Any]:
    """Read who holds the lock; nothing if that is not written yet, or damaged."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        owner = dict(json.loads(os.read(handle, 10_000)))
        return {"pid": int(owner["pid"]), "host": f"{owner['host']}", "since": f"{owner['since']}"}
    except (ValueError, TypeError, KeyError):
        return {}


def _is_same(handle: int, path: Path) -> bool:
    """Whether the file that is open is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
