"""Files that the studio may read: those in the folders that it was opened with, and those that are dropped into it."""

import re
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.tables.formats.formats import FORMATS

SETTINGS = ".toml"
# Names beyond this many are not listed: their path can be typed.
MOST_LISTED = 500
_STRANGE = re.compile(r"[^\w.()+=@ -]+")
_ENDINGS = (*FORMATS, SETTINGS)
_OUTSIDE = "Choose a file there, drop it here, or start again: molehill studio FOLDER"
# Room that is left on the disk whatever is dropped.
_SPARE = 64 * 2**20


@dataclass(frozen=True)
class Listing:
    """What is in a folder: folders, tables and settings files; `above` is the folder around it, if it may be seen."""

    folder: Path
    above: Path | None
    folders: tuple[Path, ...]
    files: tuple[Path, ...]


def settle_folders(given: Sequence[Path]) -> tuple[Path, ...]:
    """Take the folders that the studio is opened with, links in their paths followed once and for all."""
    for folder in given:
        if not folder.is_dir():
            raise InputError("folders", f"there is no folder {str(folder)!r}", "Name one that is there")
    return tuple(folder.resolve() for folder in given)


def find_path(folders: Sequence[Path], text: str) -> Path:
    """Find a file or a folder by its path, wherever links lead; refuse what lies outside of the folders.

    Of what lies outside nothing is told, not even whether it is there.
    """
    if not text.strip() or "\0" in text:
        raise InputError("path", "it is empty, or cannot be one", "Write the path of a file")
    try:
        path = (folders[0] / Path(text.strip()).expanduser()).resolve()
    except (OSError, RuntimeError):
        raise InputError("path", "it leads nowhere", "Write the path of a file") from None
    if not any(path == folder or folder in path.parents for folder in folders):
        raise InputError("path", "it lies outside of the folders that the studio was opened with", _OUTSIDE)
    try:
        path.lstat()
    except OSError:
        raise InputError("path", "there is no such file", "Check its name") from None
    return path


def list_place(folders: Sequence[Path], text: str = "") -> Listing:
    """List what can be opened in a folder; by default the first one."""
    folder = find_path(folders, text) if text else folders[0]
    if not folder.is_dir():
        raise InputError("path", f"{folder.name!r} is no folder", "Choose a folder")
    try:
        entries = sorted(folder.iterdir(), key=lambda path: path.name.lower())
    except OSError as error:
        raise InputError("path", f"the folder cannot be read ({error.strerror})", "Choose another") from None
    shown = [path for path in entries if not path.name.startswith(".") and _is_inside(folders, path)]
    # Another of the chosen folders may lie around this one.
    above = folder.parent if any(one == folder.parent or one in folder.parent.parents for one in folders) else None
    return Listing(
        folder,
        above,
        tuple(path for path in shown if path.is_dir())[:MOST_LISTED],
        tuple(path for path in shown if path.is_file() and path.suffix.lower() in _ENDINGS)[:MOST_LISTED],
    )


def _is_inside(folders: Sequence[Path], path: Path) -> bool:
    """Whether an entry still is inside where a link in its place leads."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    return any(folder in real.parents for folder in folders)


def tidy_file_name(name: str) -> str:
    r"""Give a name that is safe as that of a file in any folder, or refuse it.

    Examples
    --------
    >>> tidy_file_name("../../etc/survey.csv"), tidy_file_name("C:\\data\\a<b>.sav")
    ('survey.csv', 'a_b_.sav')
    """
    plain = _STRANGE.sub("_", re.split(r"[\\/]", name)[-1]).strip(". ")
    # Systems count the bytes of a name.
    plain = plain.encode()[-120:].decode(errors="ignore")
    ending = Path(plain).suffix.lower()
    if ending not in _ENDINGS or not Path(plain).stem:
        problem = f"{ending!r} is no format" if ending else "it has no ending, which is no format"
        raise InputError("file", problem, f"Give a file that ends in {', '.join(_ENDINGS)}")
    return plain


async def take_file(pieces: AsyncIterator[bytes], path: Path, *, most_bytes: int) -> None:
    """Write a file that is sent in pieces, for its owner only: whole or not at all."""
    free = shutil.disk_usage(path.parent).free - _SPARE
    with written_whole(path, private=True, argument="file") as temporary, temporary.open("wb") as file:
        written = 0
        async for piece in pieces:
            written += len(piece)
            if written > min(most_bytes, free):
                why = f"it has more than {most_bytes / 2**20:,.0f} MiB" if written > most_bytes else "the disk is full"
                raise InputError("file", why, "Put it into a folder of the studio, and choose it there")
            file.write(piece)
    if not written:
        path.unlink()
        raise InputError("file", "it is empty", "Give a file with a header and records")
