"""Files and folders that appear whole or not at all, and the hashes by which they are known again."""

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

# Of renameat2 in Linux: paths are taken from here, and the two change places.
_FROM_HERE, _EXCHANGE = -100, 2
_CHUNK = 2**20


@contextmanager
def written_whole(path: str | Path, *, private: bool = False, argument: str = "path") -> Iterator[Path]:
    """Give a temporary path to write to; rename it to `path` once the block ends without an error.

    A reader of `path` sees the old file or the new one, never a part: the temporary file lies in the same
    folder, is flushed to the disk, and takes the name in one step. If the block fails, or the disk is full,
    or the process is interrupted, the temporary file is removed and `path` is as it was.

    Parameters
    ----------
    path
        Where the file shall be. The temporary file keeps its ending, for writers that look at it.
    private
        Readable by its owner only (mode 0600): for anything at the level of records.
    argument
        What to call the path in errors.
    """
    target = Path(path)
    folder = target.parent
    if not folder.is_dir():
        raise InputError(argument, f"there is no folder {str(folder)!r}", "Make the folder first")
    if target.is_dir():
        raise InputError(argument, f"{str(target)!r} is a folder", "Give the name of a file in it")
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".writing-", suffix="".join(target.suffixes[-1:]))
    except OSError as error:
        raise InputError(
            argument,
            f"the folder {str(folder)!r} cannot be written to ({error.strerror})",
            "Choose another folder, or ask for the right to write there",
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
    # To write: Windows flushes no file that is open to be read.
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, *, private: bool = False, argument: str = "path") -> None:
    """Write a text file, whole or not at all."""
    with written_whole(path, private=private, argument=argument) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def hash_file(path: Path, *, advance: Callable[[int], None] | None = None) -> str:
    """Give the SHA-256 of a file that is no link, read in pieces; `advance` is called with the bytes of each."""
    found = hashlib.sha256()
    # Where the system cannot refuse links, whoever calls has looked before.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
            if advance is not None:
                advance(len(piece))
    return found.hexdigest()


@contextmanager
def folder_written_whole(path: str | Path, *, private: bool = False) -> Iterator[Path]:
    """Give a temporary folder to fill; let it take the place of `path` once the block ends without an error.

    Killed at any moment, `path` is the old folder or the new one. Where the system cannot let two folders change places
    in one step, the old one has a hidden name for a moment, from which `restore_folder` takes it back. What a killed
    process left is removed: only one process at a time may do this for a path.

    Parameters
    ----------
    path
        Where the folder shall be; one that is there is replaced.
    private
        Open to its owner only (mode 0700).
    """
    # Of a link, what it leads to is replaced.
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
        # What was replaced, or what was not finished.
        shutil.rmtree(temporary, ignore_errors=True)


def is_set_aside(path: str | Path) -> bool:
    """Whether a folder was about to be replaced when its process was killed, and is not in its place."""
    target = Path(path)
    return bool(target.name) and not target.exists() and _aside(target).is_dir()


def restore_folder(path: str | Path) -> bool:
    """Take a folder back that was set aside, to its place; say whether there was one."""
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
    """Let two folders change places in one step; False where system or file system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    if rename(_FROM_HERE, os.fsencode(one), _FROM_HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))
