"""Projects of the studio: each a folder with a settings file, every earlier state of it, and the runs that it made.

molehill-studio/survey/settings.toml      what `molehill run` takes
molehill-studio/survey/history/0001.toml  every state, for undo
molehill-studio/survey/run-1.toml         the settings of a run
molehill-studio/survey/run-1/             the release that it made
"""

import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from molehill.errors import InputError
from molehill.files import write_text
from molehill.plan.settings import Settings, format_settings, read_settings

HOME = "molehill-studio"
_SETTINGS, _HISTORY, _STATE = "settings.toml", "history", "studio.json"
# States that are kept to go back to.
_MOST_STATES = 500


@dataclass(frozen=True)
class Project:
    """A folder in which a file becomes a release."""

    folder: Path

    @property
    def name(self) -> str:
        """What it is called."""
        return self.folder.name

    @property
    def path(self) -> Path:
        """Its settings file, which `molehill run` takes."""
        return self.folder / _SETTINGS

    @property
    def changed(self) -> time.struct_time:
        """When it was changed."""
        return time.localtime(self.path.stat().st_mtime)

    @property
    def settings(self) -> Settings:
        """What is set at this moment."""
        return read_settings(self.path)

    @property
    def data(self) -> Path:
        """The confidential file."""
        data = self.settings.data
        if data is None:
            raise InputError("data", "the settings name no file", "Open the file, and begin anew")
        return Path(os.path.normpath(self.folder / data))


def open_home(folder: Path) -> Path:
    """Give the folder of all projects, for its owner only, made if it is not there."""
    home = folder / HOME
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
    except OSError as error:
        problem = f"the folder {str(home)!r} cannot be made ({error.strerror})"
        raise InputError("folders", problem, "Open the studio with a folder that you may write to") from None
    # Where others may write, somebody else can have made it.
    foreign = hasattr(os, "geteuid") and found.st_uid != os.geteuid()
    if not stat.S_ISDIR(found.st_mode) or foreign or (os.name == "posix" and found.st_mode & 0o077):
        problem = f"{str(home)!r} is a link, another user's, or open to others"
        raise InputError("folders", problem, "Remove it, or take its rights from all others: chmod 700")
    return home


def list_projects(home: Path) -> list[Project]:
    """Give all projects, the one that was changed last first."""
    folders = [path.parent for path in home.glob(f"*/{_SETTINGS}")]
    found = [Project(folder) for folder in folders if not folder.is_symlink() and not folder.name.startswith(".")]
    return sorted(found, key=lambda project: -project.path.stat().st_mtime)


def find_project(home: Path, name: str) -> Project:
    """Find a project by its name."""
    known = {project.name: project for project in list_projects(home)}
    if name not in known:
        raise InputError("project", "it is not there any more", "Choose another one")
    return known[name]


def make_folder(home: Path, name: str) -> Path:
    """Make the folder of a new project, named after a file."""
    plain = re.sub(r"[^\w-]+", "-", name).strip("-.")[:60] or "table"
    for number in range(1, 10_000):
        folder = home / (plain if number == 1 else f"{plain}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise InputError("project", "there are too many of this name", "Remove some of them")


def begin(folder: Path, settings: Settings, *, reasons: Mapping[str, str], notes: Mapping[str, str]) -> Project:
    """Begin a project with settings: its first state."""
    (folder / _HISTORY).mkdir(mode=0o700)
    told = {"reasons": dict(reasons), "notes": dict(notes)}
    _write_state(folder, {"place": 0, "last": 0, "told": told})
    project = Project(folder)
    keep(project, settings)
    return project


def keep(project: Project, settings: Settings, *, told: Mapping[str, Any] | None = None) -> None:
    """Make settings the present state; what was undone before is forgotten. `told` are new reasons and notes."""
    state = _read_state(project.folder)
    words: dict[str, Any] = state["told"] if told is None else dict(told)
    text = format_settings(settings, reasons=words["reasons"], notes=words["notes"])
    if project.path.exists() and project.path.read_text(encoding="utf-8") == text:
        return
    place = state["place"] + 1
    write_text(_past(project, place), text, private=True)
    write_text(project.path, text, private=True)
    for later in range(place + 1, state["last"] + 1):
        _past(project, later).unlink(missing_ok=True)
    _past(project, place - _MOST_STATES).unlink(missing_ok=True)
    _write_state(project.folder, {"place": place, "last": place, "told": words})


def can_go(project: Project) -> tuple[bool, bool]:
    """Whether there is a state before this one, and one behind it that was undone."""
    state = _read_state(project.folder)
    return _past(project, state["place"] - 1).exists(), state["place"] < state["last"]


def go(project: Project, step: int) -> None:
    """Go back to the state before (-1), or forth again (1)."""
    state = _read_state(project.folder)
    place = state["place"] + step
    if not can_go(project)[step > 0]:
        raise InputError("undo", "there is nothing to go back to" if step < 0 else "nothing was undone", "Go on")
    write_text(project.path, _past(project, place).read_text(encoding="utf-8"), private=True)
    _write_state(project.folder, {**state, "place": place})


def read_reasons(project: Project) -> dict[str, str]:
    """Give what was found of every column when the file was looked at."""
    return dict(_read_state(project.folder)["told"]["reasons"])


def _past(project: Project, place: int) -> Path:
    return project.folder / _HISTORY / f"{place:04}.toml"


def _read_state(folder: Path) -> dict[str, Any]:
    try:
        state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        told = {name: dict(state["told"][name]) for name in ("reasons", "notes")}
        return {"place": int(state["place"]), "last": int(state["last"]), "told": told}
    except (OSError, ValueError, TypeError, KeyError):
        # Nothing to go back to is no reason to lose what is set.
        return {"place": 0, "last": 0, "told": {"reasons": {}, "notes": {}}}


def _write_state(folder: Path, state: Mapping[str, Any]) -> None:
    write_text(folder / _STATE, json.dumps(state, ensure_ascii=False), private=True)


def remove_unused(folder: Path) -> None:
    """Remove the folder of a project, out of the way at once; no link in it is followed."""
    aside = folder.with_name(f".removed-{secrets.token_hex(4)}")
    folder.rename(aside)
    shutil.rmtree(aside)
