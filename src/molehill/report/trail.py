"""The trail of a release: hashes that tie the table and the settings to the files, and whether a folder still is it.

Nothing here reads a value of a table: files are hashed, and only those that say what was made are parsed.
"""

import getpass
import hashlib
import json
import os
import platform
import shlex
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from molehill.errors import InputError
from molehill.files import hash_file
from molehill.plan.settings import printable, read_settings
from molehill.runtime import workers
from molehill.tables.table import Table

try:
    import pwd
except ImportError:  # as on Windows
    pwd = None

PUBLIC, INTERNAL = "release", "internal"
MANIFEST, TIMES, ARCHIVE = f"{INTERNAL}/manifest.json", f"{INTERNAL}/times.json", f"{INTERNAL}/dossier.json"
_SETTINGS, _FACTS = f"{INTERNAL}/settings.toml", f"{INTERNAL}/facts.json"
# Half of a SHA-256: nobody finds two releases with the same one, and it can be compared by eye.
_DIGITS, _GROUP = 32, 4

Kind = Literal["missing", "changed", "added", "link", "special", "unreadable", "damaged", "open"]
Where = Literal["folder", "published"]
_Told = tuple[Kind, str]
WORDS: dict[Kind, str] = {
    "missing": "is missing",
    "changed": "is another file than the one that was written",
    "added": "does not belong to the release",
    "link": "is a link, which is not followed",
    "special": "is neither a file nor a folder",
    "unreadable": "cannot be read",
    "damaged": "does not say what it should",
    "open": "is open to others than its owner",
}
_NEVER_READ = ("link", "special", "unreadable")


def hash_files(folder: Path) -> dict[str, str]:
    """Give the SHA-256 of every file in a folder and below, by its name from there, with / between."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in files}


def hash_source(table: Table) -> dict[str, str | None]:
    """Give the hashes of a confidential table: of the file that it was read from, if it was, and of its content."""
    return {"file": table.source or None, "content": table.content_hash}


def fingerprint_files(hashes: Mapping[str, str]) -> str:
    """Give the one number by which a folder of files is known again, from the SHA-256 of each by its name in it.

    It can be had without Molehill, in the folder: `sha256sum * | sha256sum | cut -c 1-32` (in the locale C). No files
    have none.

    Examples
    --------
    >>> fingerprint_files({"b.csv": "0" * 64, "a.csv": "1" * 64})
    'c01ffe5f4d6349ae04c6987c76c05fd8'
    """
    if not hashes:
        return ""
    # A name that is no text is none of ours, and must not stop the check that tells it.
    named = sorted((name.encode(errors="surrogatepass"), found) for name, found in hashes.items())
    lines = b"".join(found.encode(errors="surrogatepass") + b"  " + name + b"\n" for name, found in named)
    return hashlib.sha256(lines).hexdigest()[:_DIGITS]


def show_fingerprint(fingerprint: str) -> str:
    """Write a fingerprint in groups, to be compared on paper.

    Examples
    --------
    >>> show_fingerprint("c01ffe5f4d6349ae04c6987c76c05fd8")
    'c01f fe5f 4d63 49ae 04c6 987c 76c0 5fd8'
    """
    return " ".join(fingerprint[start : start + _GROUP] for start in range(0, len(fingerprint), _GROUP))


def list_files(manifest: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Give the hashes of the files that a manifest names; None if it is no manifest."""
    files = None if manifest is None else manifest.get("files")
    return files if isinstance(files, dict) and all(isinstance(found, str) for found in files.values()) else None


def published_part(files: Mapping[str, str]) -> dict[str, str]:
    """Give of the files of a manifest those that are published, by their names in that folder."""
    prefix = f"{PUBLIC}/"
    return {name.removeprefix(prefix): found for name, found in files.items() if name.startswith(prefix)}


def describe_maker() -> dict[str, Any]:
    """Say who is at work, where, and by which command: what differs between two runs, so not for what must not."""
    return {
        "user": _name_user(),
        "host": platform.node(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cores": workers(),
        "command": _tell_command(sys.argv),
    }


def _name_user() -> str:
    """Name the user as the system does, not as the environment may."""
    try:
        return getpass.getuser() if pwd is None else pwd.getpwuid(os.geteuid()).pw_name
    except (KeyError, OSError):
        return f"{os.geteuid()}" if hasattr(os, "geteuid") else ""


def _tell_command(arguments: list[str]) -> str:
    """Give the command line, if it is Molehill's own: that of another program can hold anything."""
    path = Path(arguments[0]) if arguments else Path()
    own = path.stem == "molehill" or (path.name == "__main__.py" and path.parent.name == "molehill")
    return shlex.join(["molehill", *arguments[1:]]) if own else "Python"


@dataclass(frozen=True)
class Problem:
    """Something that is not as it was written.

    Attributes
    ----------
    kind
        What is wrong with it: see `WORDS`.
    where
        "folder", that of the release, or "published", the copy.
    file
        Its name from there.
    """

    kind: Kind
    where: Where
    file: str

    def __str__(self) -> str:
        return f"{self.file} {WORDS[self.kind]}"


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Whether a folder is the release that its dossier describes.

    Attributes
    ----------
    files
        How many files were compared, those of the published copy included.
    problems
        What is not as it was written.
    notes
        Files that were added where that does no harm, such as a signed page in `internal/`.
    fingerprint
        Of what lies in `release/` now; empty if there is nothing.
    described
        That of the manifest: what was signed. Empty if nothing was released, or no manifest can be read.
    published
        The fingerprint of the published copy, if there is one to compare.
    """

    files: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    fingerprint: str
    described: str
    published: str | None = None

    @property
    def holds(self) -> bool:
        """Whether all is as it was written."""
        return not self.problems


@dataclass(frozen=True)
class _Seen:
    """What lies in a folder: files and folders by name with their modes and sizes, what is neither, what is beside."""

    files: Mapping[str, os.stat_result]
    folders: Mapping[str, os.stat_result]
    problems: tuple[_Told, ...]
    beside: tuple[str, ...]


def verify_release(
    folder: str | Path, *, published: str | Path | None = None, advance: Callable[[int, int], None] | None = None
) -> Verification:
    """Check that a folder still is the release that its manifest and its dossier describe.

    Every file of the manifest must be there with its hash, nothing else in `release/`, and `internal/` must be open to
    its owner only. Links are told and never followed.

    Parameters
    ----------
    folder
        That of a saved release, by whatever version.
    published
        A copy of its `release/`, as it was published: it must hold the same files, byte for byte, and no others.
    advance
        Called with the bytes that were read so far, and with all that there are to read.
    """
    root, copy = Path(folder), None if published is None else Path(published)
    _check_release(root)
    seen = _look(root, within=(PUBLIC, INTERNAL))
    manifest = _read_object(root, MANIFEST, seen.files)
    listed = list_files(manifest)
    described = published_part(listed or {})
    copied = None if copy is None else _look_at_copy(copy, may_be=listed is None or bool(described))
    compared = [name for name in seen.files if _is_compared(name, listed)]
    sizes = {root / name: seen.files[name].st_size for name in compared}
    if copy is not None and copied is not None:
        sizes |= {copy / name: about.st_size for name, about in copied.files.items()}
    hashed = _hash_all(sizes, advance)
    hashes = {name: hashed[root / name] for name in compared if root / name in hashed}
    told = [*seen.problems, *_each("unreadable", (name for name in compared if name not in hashes))]
    told += [*_compare(hashes, listed), *_check_content(root, manifest, listed, hashes), *_list_open(seen)]
    told += _each("added", (name for name in seen.folders if name.startswith(f"{PUBLIC}/")))
    problems, of_copy = _tell("folder", told), None
    if copy is not None and copied is not None:
        of_copy = {name: hashed[copy / name] for name in copied.files if copy / name in hashed}
        unread = _each("unreadable", (name for name in copied.files if name not in of_copy))
        differing = _differences(of_copy, described) if listed is not None else []
        problems += _tell("published", [*copied.problems, *unread, *differing, *_each("added", copied.folders)])
    return Verification(
        files=len(hashed),
        problems=tuple(problems),
        notes=tuple(printable(name) for name in (*seen.beside, *seen.files) if name not in compared),
        fingerprint=fingerprint_files(published_part(hashes)),
        described=fingerprint_files(described),
        published=None if of_copy is None else fingerprint_files(of_copy),
    )


def _check_release(root: Path) -> None:
    _check_folder(root, "folder")
    if (root / INTERNAL).is_dir():
        # Most are not its owner: they are told so, and not that there is no release.
        _check_folder(root / INTERNAL, "folder")
    if (root / INTERNAL).is_symlink() or not any(_is_own(root / name) for name in (MANIFEST, _FACTS)):
        raise InputError("folder", f"{str(root)!r} holds no saved release", "Give the folder that `run` wrote")


def _check_folder(path: Path, argument: str) -> None:
    if not path.exists():
        raise InputError(argument, f"there is no folder {str(path)!r}", "Correct its name")
    if not path.is_dir():
        raise InputError(argument, f"{str(path)!r} is no folder", "Give the folder that holds it")
    try:
        os.scandir(path).close()
    except OSError as error:
        problem = f"the folder {str(path)!r} cannot be read ({error.strerror or type(error).__name__})"
        raise InputError(argument, problem, "Ask its owner for the right to read it") from None


def _is_own(path: Path) -> bool:
    """Whether there is a file of this name, and it is no link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _look(root: Path, within: Iterable[str] | None = None) -> _Seen:
    """Find what lies in a folder; of what it holds itself look only at what is named, if anything is."""
    files, folders, waiting = {}, {}, [""]
    problems: list[_Told] = []
    beside: list[str] = []
    while waiting:
        under = waiting.pop()
        try:
            with os.scandir(root / under) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            problems.append(("unreadable", under))
            continue
        for entry in found:
            name = f"{under}/{entry.name}" if under else entry.name
            if not under and within is not None and name not in within:
                beside.append(name)
            elif entry.is_symlink():
                problems.append(("link", name))
            elif entry.is_file(follow_symlinks=False):
                files[name] = entry.stat(follow_symlinks=False)
            elif entry.is_dir(follow_symlinks=False):
                folders[name] = entry.stat(follow_symlinks=False)
                waiting.append(name)
            else:
                problems.append(("special", name))
    return _Seen(files, folders, tuple(problems), tuple(beside))


def _look_at_copy(path: Path, *, may_be: bool) -> _Seen:
    _check_folder(path, "published")
    if not may_be:
        raise InputError("published", "nothing was released that could have been published", "Leave it out")
    return _look(path)


def _is_compared(name: str, listed: Mapping[str, str] | None) -> bool:
    """Whether a file is hashed: all of what is published, and of the rest what the manifest names."""
    return name.startswith(f"{PUBLIC}/") or name in (MANIFEST, TIMES) or name in (listed or {})


def _read_object(root: Path, name: str, there: Container[str]) -> dict[str, Any] | None:
    """Read an object of JSON from a file that is there, and so is no link; None if it is none."""
    try:
        content = json.loads((root / name).read_bytes()) if name in there else None
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _hash_all(sizes: Mapping[Path, int], advance: Callable[[int, int], None] | None) -> dict[Path, str]:
    """Hash those of the files that can be read."""
    hashes, done, total = {}, 0, sum(sizes.values())

    def count(read: int) -> None:
        nonlocal done
        done += read
        if advance is not None:
            advance(done, total)

    for path in sizes:
        with suppress(OSError):
            hashes[path] = hash_file(path, advance=count)
    return hashes


def _compare(hashes: Mapping[str, str], listed: Mapping[str, str] | None) -> list[_Told]:
    """Tell what is not as the manifest says; of manifest and times, which it does not name, that they are there."""
    own = {name: hashes.get(name, "") for name in (MANIFEST, TIMES)}
    if listed is None:
        there = {name: found for name, found in hashes.items() if name in own}
        return [*_each("damaged", {MANIFEST} & there.keys()), *_differences(there, own)]
    return _differences(hashes, {**listed, **own})


def _differences(hashes: Mapping[str, str], listed: Mapping[str, str]) -> list[_Told]:
    missing = (name for name in listed if name not in hashes)
    changed = (name for name in listed if name in hashes and hashes[name] != listed[name])
    added = (name for name in hashes if name not in listed)
    return [*_each("missing", missing), *_each("changed", changed), *_each("added", added)]


def _each(kind: Kind, names: Iterable[str]) -> list[_Told]:
    return [(kind, name) for name in names]


def _check_content(
    root: Path, manifest: Mapping[str, Any] | None, listed: Mapping[str, str] | None, hashes: Mapping[str, str]
) -> Iterator[_Told]:
    """Tell which of the files that say what was made cannot be read, or contradict each other."""
    read = {name: _read_object(root, name, hashes) for name in (TIMES, ARCHIVE, _FACTS)}
    yield from _each("damaged", (name for name, content in read.items() if content is None and name in hashes))
    times, archive = read[TIMES] or {}, read[ARCHIVE] or {}
    # Releases of earlier versions have neither.
    if MANIFEST in hashes and times.get("manifest", hashes[MANIFEST]) != hashes[MANIFEST]:
        yield "changed", MANIFEST
    if manifest is not None and listed is not None:
        fingerprint = fingerprint_files(published_part(listed))
        if manifest.get("fingerprint", fingerprint) != fingerprint:
            yield "damaged", MANIFEST
        of_archive = archive.get("release")
        if archive and (not isinstance(of_archive, dict) or of_archive.get("fingerprint") != fingerprint):
            yield "damaged", ARCHIVE
    if _SETTINGS in hashes:
        try:
            read_settings(root / _SETTINGS)
        except InputError:
            yield "damaged", _SETTINGS


def _list_open(seen: _Seen) -> list[_Told]:
    """Tell what of the internal part others than its owner may open; only some systems know that."""
    if os.name != "posix":
        return []
    inside = {name: about for name, about in {**seen.folders, **seen.files}.items() if name.split("/")[0] == INTERNAL}
    return _each("open", (name for name, about in inside.items() if about.st_mode & 0o077))


def _tell(where: Where, found: Iterable[_Told]) -> list[Problem]:
    """Give problems once each; what could not be read is not missing as well."""
    once = dict.fromkeys(found)
    unread = {name for kind, name in once if kind in _NEVER_READ}

    def is_news(kind: Kind, name: str) -> bool:
        return kind != "missing" or not any(name == one or name.startswith(f"{one}/") for one in unread)

    return [Problem(kind, where, printable(name)) for kind, name in once if is_news(kind, name)]
