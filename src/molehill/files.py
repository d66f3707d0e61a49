"""Files and folders written atomically, and their SHA-256 checksums."""

import ctypes
import errno
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from molehill.errors import InputError

# Arguments of renameat2 (Linux): the current folder, and RENAME_EXCHANGE.
_FROM_HERE, _EXCHANGE = -100, 2
_CHUNK = 2**20


@contextmanager
def written_whole(path: str | Path, *, private: bool = False, argument: str = "path") -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` if the block ends without an error.

    Readers of `path` see the old or the new file, never a part: the temporary file is in the same folder, is flushed to
    disk, and renamed in one step. After an error or interruption it is removed and `path` is unchanged.

    Parameters
    ----------
    path
        The file. The temporary file has the same ending, for writers that use it.
    private
        Readable by its owner only (mode 0600), for record-level content.
    argument
        Name of the argument in errors.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise InputError(argument, f"there is no folder {str(folder)!r}", "Create the folder first")
    if target.is_dir():
        raise InputError(argument, f"{str(target)!r} is a folder", "Give the name of a file in it")
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".writing-", suffix="".join(target.suffixes[-1:]))
    except OSError as error:
        raise InputError(
            argument,
            f"the folder {str(folder)!r} cannot be written to ({error.strerror})",
            "Use another folder, or get permission to write there",
        ) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o600 if private else 0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    # Windows flushes only files that are open for writing.
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    # The umask can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, *, private: bool = False, argument: str = "path") -> None:
    """Write a text file atomically."""
    with written_whole(path, private=private, argument=argument) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def hash_file(path: Path, *, advance: Callable[[int], None] | None = None) -> str:
    """SHA-256 of a file that is not a link; `advance` is called with the size of every piece read."""
    found = hashlib.sha256()
    # Where the system cannot refuse links, the caller has checked.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
            if advance is not None:
                advance(len(piece))
    return found.hexdigest()


@contextmanager
def folder_written_whole(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary folder, which replaces `path` if the block ends without an error.

    If the process is killed, `path` is the old or the new folder. Where the system cannot exchange two folders in one
    step, the old one has a hidden name for a moment, from which `restore_folder` restores it. Remains of killed
    processes are removed: only one process at a time may write a path.

    Parameters
    ----------
    path
        The folder; an existing one is replaced.
    private
        Accessible to its owner only (mode 0700).
    """
    # The target of a link is replaced.
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{target.name}.writing-"
    restore_folder(target)
    lying = [left for left in target.parent.iterdir() if re.fullmatch(re.escape(prefix) + r"\w{8}", left.name)]
    for left in (*lying, _aside(target)):
        shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
    try:
        yield temporary
        temporary.chmod(0o700 if private else 0o755)
        _take_place(temporary, target)
    finally:
        # The replaced or unfinished folder.
        shutil.rmtree(temporary, ignore_errors=True)


def is_set_aside(path: str | Path) -> bool:
    """Whether a killed process left a folder under its hidden name."""
    target = Path(path)
    return bool(target.name) and not target.exists() and _aside(target).is_dir()


def restore_folder(path: str | Path) -> bool:
    """Restore a folder from its hidden name; return whether there was one."""
    if not is_set_aside(path):
        return False
    _aside(Path(path)).rename(path)
    return True


def _take_place(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):
        try:
            target.rename(_aside(target))
            new.rename(target)
        except BaseException:
            restore_folder(target)
            raise
        shutil.rmtree(_aside(target), ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.replaced")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False if the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_FROM_HERE, os.fsencode(one), _FROM_HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))
