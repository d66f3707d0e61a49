"""Runs of the studio: each a `molehill run` of its own, which goes on whatever becomes of page, browser or studio.

A run holds a lock on a file for as long as it lives. So any studio, also one that was started later, knows whether it
is at work, and how far it is from the file of its stages.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from molehill.errors import InputError
from molehill.files import write_text
from molehill.plan.settings import Settings, format_settings, read_settings
from molehill.studio.projects import Project

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None

State = Literal["running", "paused", "stopping", "released", "not recommended", "nothing found", "stopped", "failed"]
CAN_PAUSE = hasattr(signal, "SIGSTOP")
_NAME = re.compile(r"run-(\d+)\.toml")
_LEAST_LEFT = 5.0
# Bytes of a log that are looked at: its end says what went wrong.
_END = 20_000
# Those that this process began must be asked how they ended, or they stay as ghosts.
_CHILDREN: dict[Path, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Run:
    """A run of a project, by its number."""

    project: Project
    number: int

    @property
    def settings_file(self) -> Path:
        """What it was begun with: `molehill run` with it makes the same."""
        return self._beside(".toml")

    @property
    def out(self) -> Path:
        """The release that it makes; of a finished one that was opened, where that lies."""
        elsewhere = _read_note(self).get("out")
        return self._beside("") if elsewhere is None else Path(elsewhere)

    def _beside(self, ending: str) -> Path:
        return self.project.folder / f"run-{self.number}{ending}"

    @property
    def settings(self) -> Settings:
        """What it was begun with, as settings."""
        return read_settings(self.settings_file)

    @property
    def stages_file(self) -> Path:
        """Its stages, as lines of JSON."""
        return self._beside(".progress")

    @property
    def log(self) -> Path:
        """What it said."""
        return self._beside(".log")

    @property
    def note(self) -> Path:
        """Which process it is, and whether it was asked to pause."""
        return self._beside(".json")

    @property
    def lock(self) -> Path:
        """The file that it locks while it lives."""
        return self._beside(".lock")


def list_runs(project: Project) -> list[Run]:
    """Give the runs of a project, the last one first."""
    found = [_NAME.fullmatch(path.name) for path in project.folder.iterdir()]
    return [Run(project, number) for number in sorted((int(one[1]) for one in found if one), reverse=True)]


def find_run(project: Project, number: Any) -> Run:
    """Find a run by its number; without one the last."""
    runs = list_runs(project)
    if not runs:
        raise InputError("run", "there is none yet", "Begin one in the step Run")
    chosen = [run for run in runs if f"{run.number}" == f"{number}"] or ([] if number else runs[:1])
    if not chosen:
        raise InputError("run", "it is not there any more", "Choose another")
    return chosen[0]


def begin_run(project: Project, settings: Settings, *, release_anyway: bool = False) -> Run:
    """Begin a run of settings, as a process of its own; against the recommendation it releases only if asked to."""
    runs = list_runs(project)
    at_work = [run for run in runs if is_alive(run)]
    if at_work:
        raise InputError("run", f"run {at_work[0].number} is still at work", "Wait for it, or stop it")
    run = Run(project, runs[0].number + 1 if runs else 1)
    write_text(run.settings_file, format_settings(settings), private=True)
    if release_anyway:
        _note(run, release_anyway=True)
    _start(run)
    return run


def go_on(run: Run) -> None:
    """Go on with a run that was paused, stopped or killed, or that failed."""
    if is_alive(run):
        _signal(run, "SIGCONT")
        _note(run, paused=False)
    else:
        _start(run)


def pause(run: Run) -> None:
    """Hold a run where it is; it keeps its memory and gives the cores back."""
    if not CAN_PAUSE:
        raise InputError("run", "this system cannot hold a process", "Stop it, and go on later")
    _signal(run, "SIGSTOP")
    _note(run, paused=True)


def stop(run: Run) -> None:
    """Stop a run in order: what it has kept on the disk is there to go on from."""
    _signal(run, "SIGTERM")
    # One that is held hears nothing; one that has ended at once needs nothing more.
    with suppress(InputError):
        _signal(run, "SIGCONT")
    _note(run, paused=False, stopped=True)


def is_alive(run: Run) -> bool:
    """Whether the process of a run, or one that it began, is there."""
    child = _CHILDREN.get(run.lock)
    if child is not None and child.poll() is not None:
        del _CHILDREN[run.lock]
    if fcntl is None:
        return child is not None and child.poll() is None
    try:
        handle = os.open(run.lock, os.O_RDWR)
    except OSError:
        return False
    try:
        # Shared: who only looks must not look like a run to another who does.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return child is not None and child.poll() is None
    finally:
        os.close(handle)
    return False


def tell_run(run: Run) -> dict[str, Any]:
    """Tell how far a run is: its stages with their seconds, the points of its search so far, and the time left."""
    lines, note, alive = _read_lines(run.stages_file), _read_note(run), is_alive(run)
    state = _state(run, note, lines, alive=alive)
    # What goes on is told of the last stage alone.
    doing = f"{lines[-1]['doing']}" if lines and "doing" in lines[-1] else ""
    lines = [line for line in lines if "doing" not in line]
    stages = [line for line in lines if "stage" in line]
    now = lines[-1]["at"] if lines and not alive else time.time()
    estimate = next((line["seconds"] for line in lines if "seconds" in line), None)
    spent = now - lines[0]["at"] if lines else 0.0
    left = None if estimate is None else max(estimate - spent, 0.0)
    return {
        "run": run,
        "state": state,
        "is_alive": alive,
        "stages": list(_tell_stages(lines, now, doing, alive=alive)),
        "points": [line["point"] for line in stages if isinstance(line.get("point"), Mapping)],
        "spent": spent,
        "share": 1.0
        if state in ("released", "not recommended", "nothing found")
        else 0.0
        if not estimate
        else min(spent / estimate, 0.97),
        "left": left if left is None or left >= _LEAST_LEFT else 0.0,
        "problem": _read_problem(run) if state == "failed" else "",
        "can_pause": CAN_PAUSE,
    }


def _tell_stages(lines: list[dict[str, Any]], now: float, doing: str, *, alive: bool) -> Iterator[dict[str, Any]]:
    """Tell every stage with its seconds: one is told as it begins, but a point of a search once it is measured."""
    for place, line in enumerate(lines):
        following = lines[place + 1]["at"] if place + 1 < len(lines) else now
        if "point" in line:
            yield {"words": line["stage"], "seconds": max(line["at"] - lines[place - 1]["at"], 0.0)}
        elif "stage" in line:
            goes_on = place + 1 == len(lines) and doing
            yield {"words": doing if goes_on else line["stage"], "seconds": max(following - line["at"], 0.0)}
    last = lines[-1] if lines else {"at": now}
    if alive and ("point" in last or "stage" not in last):
        words = "reading the table" if not lines else "trying the next point" if "point" in last else "first point"
        yield {"words": doing or words, "seconds": max(now - last["at"], 0.0)}


def _state(run: Run, note: Mapping[str, Any], lines: list[dict[str, Any]], *, alive: bool) -> State:
    if alive:
        return "stopping" if note.get("stopped") else "paused" if note.get("paused") else "running"
    if (run.out / "internal" / "manifest.json").exists():
        if (run.out / "release").is_dir():
            return "released"
        manifest = _read_object(run.out / "internal" / "manifest.json")
        return "not recommended" if manifest.get("publication") == "not recommended" else "nothing found"
    ended = [line["ended"] for line in lines if "ended" in line]
    # One that was killed could write nothing.
    return "stopped" if note.get("stopped") or not ended else "failed"


def _start(run: Run) -> None:
    command = [sys.executable, "-m", "molehill", "run", str(run.settings_file), "--out", str(run.out), "--resume"]
    command += ["--progress", str(run.stages_file), "--quiet"]
    command += ["--release-anyway"] if _read_note(run).get("release_anyway") else []
    lock = os.open(run.lock, os.O_RDWR | os.O_CREAT, 0o600)
    log = os.open(run.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # In a session of its own: neither Ctrl-C in the studio nor its end reaches it. It inherits the lock.
        how: dict[str, Any] = {"start_new_session": True, "pass_fds": (lock,)} if os.name == "posix" else {}
        child: Any = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, cwd=run.project.folder, **how
        )
    except BlockingIOError:
        raise InputError("run", "it is at work already", "Wait for it, or stop it") from None
    finally:
        os.close(lock)
        os.close(log)
    _CHILDREN[run.lock] = child
    _note(run, pid=child.pid, paused=False, stopped=False)


def _signal(run: Run, name: str) -> None:
    """Send a signal to a run and to all that it began."""
    pid = _read_note(run).get("pid")
    if not isinstance(pid, int) or pid < 2 or not is_alive(run):
        raise InputError("run", "it is not at work", "Go on with it, or begin another")
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(pid, getattr(signal, name))
        elif name == "SIGTERM":
            os.kill(pid, signal.SIGTERM)


def _note(run: Run, **changes: Any) -> None:
    write_text(run.note, json.dumps({**_read_note(run), **changes}), private=True)


def _read_note(run: Run) -> dict[str, Any]:
    return _read_object(run.note)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Read the lines that are whole; the last one may be in the middle of being written."""
    lines = []
    with suppress(OSError):
        for text in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                line = json.loads(text)
                lines += [line] if isinstance(line, dict) and isinstance(line.get("at"), int | float) else []
    return lines


def _read_problem(run: Run) -> str:
    """Give what a run said when it could not go on, in its own words: they never hold a value of the table."""
    with suppress(OSError):
        text = run.log.read_bytes()[-_END:].decode(errors="replace")
        found = [line for line in text.splitlines() if line.startswith("Error: ")]
        if found:
            return found[-1].removeprefix("Error: ")
    return ""


def adopt(project: Project, out: Path) -> Run:
    """Take a finished run from elsewhere into a project; it stays where it lies."""
    run = Run(project, 1)
    write_text(run.settings_file, format_settings(project.settings), private=True)
    _note(run, out=str(out))
    return run
