"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from molehill.errors import InputError


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
        ) from error
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
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, *, private: bool = False, argument: str = "path") -> None:
    """Write a text file, whole or not at all."""
    with written_whole(path, private=private, argument=argument) as temporary:
        temporary.write_text(text, encoding="utf-8")
