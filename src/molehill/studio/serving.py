"""The studio as a local server: the page and its steps, what is clicked, files, and what is opened beside it.

Everything that is about a table is asked for by POST, so that no address, and nothing that logs addresses, holds any of
it. What the page shows is made here, from templates that escape all text.
"""

import logging
import os
import secrets
import socket
import sys
import threading
import time
import traceback
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import uvicorn
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from molehill.errors import InputError
from molehill.files import write_text
from molehill.plan.settings import Settings, read_settings
from molehill.report.page.page import content_policy
from molehill.studio import changing, comparing, looking, projects, running
from molehill.studio.guard import ONCE, App, TooLargeError, guard, new_token
from molehill.studio.places import SETTINGS, find_path, list_place, settle_folders, take_file, tidy_file_name
from molehill.studio.projects import Project
from molehill.tables.formats.formats import write_table
from molehill.tables.populations import consumer_survey

STEPS = ("file", "columns", "intruder", "rule", "run", "compare", "sign")
UPLOAD = "/upload"
MOST_BYTES = 4 * 2**30
# Seconds that an address which works once can be used in.
_SOON = 60.0
_EXAMPLE = "example survey"
_MEDIA = {".html": "text/html; charset=utf-8", ".toml": "application/toml", ".zip": "application/zip"}


@dataclass(frozen=True, eq=False)
class Studio:
    """A studio that was opened: the folders it may see, the projects in the first of them, and its tickets."""

    folders: tuple[Path, ...]
    home: Path
    token: str
    tickets: dict[str, tuple[Path, str, float]] = field(default_factory=dict)
    changing: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True)
class Asked:
    """What a request asks for: a project, a step, and the fields of what was clicked."""

    project: Project | None
    step: str
    fields: Mapping[str, Any]

    def of_project(self) -> Project:
        """Give the project, which must be open."""
        if self.project is None:
            raise InputError("project", "none is open", "Choose a file first")
        return self.project


def open_studio(folders: Sequence[Path], *, port: int = 0, browser: bool = True, tell: Callable[[str], None]) -> None:
    """Open the studio on this machine, for whoever has the address that is told, until it is stopped."""
    seen = settle_folders(folders)
    studio = Studio(seen, projects.open_home(seen[0]), new_token())
    with listen(port) as listening:
        taken = listening.getsockname()[1]
        address = f"http://127.0.0.1:{taken}/#token={studio.token}"
        opener = _write_opener(studio.home, address)
        tell(f"Studio: {address}")
        tell(f"Files: {', '.join(map(str, seen))}. Projects: {studio.home}. Ctrl-C closes it; runs go on.")
        if browser:
            # The address as an argument of the browser could be read by others on this machine: it is in a file.
            webbrowser.open(opener.as_uri())
        threading.Thread(target=looking.warm_up, daemon=True).start()
        try:
            make_server(studio, taken).run(sockets=[listening])
        finally:
            opener.unlink(missing_ok=True)


def make_server(studio: Studio, port: int) -> uvicorn.Server:
    """Give the server of a studio: no log of requests, and no name of what answers."""
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "date_header": False}
    return uvicorn.Server(uvicorn.Config(make_app(studio, port), **quiet, timeout_graceful_shutdown=2))


def listen(port: int) -> socket.socket:
    """Listen on this machine alone, on a port or on any that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        problem = f"{port} cannot be used ({getattr(error, 'strerror', None) or 'it is no port'})"
        raise InputError("port", problem, "Give another one, or none") from None
    return listening


def _write_opener(home: Path, address: str) -> Path:
    """Write a page, for its owner only, that leads to the address."""
    page = (
        f'<!DOCTYPE html><meta charset="utf-8"><title>Molehill</title><meta http-equiv="refresh" content="0;{address}">'
    )
    write_text(home / ".open.html", page, private=True)
    return home / ".open.html"


def make_app(studio: Studio, port: int) -> App:
    """Give what answers the requests of the studio's page, guarded."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    routes = [
        Route("/", _static("shell.html", "text/html; charset=utf-8")),
        Route("/studio.js", _static("studio.js", "text/javascript; charset=utf-8")),
        Route("/studio.css", _static("studio.css", "text/css; charset=utf-8")),
        Route("/favicon.ico", _static("icon.svg", "image/svg+xml")),
        Route("/view", _answering(studio, view), methods=["POST"]),
        Route("/do", _answering(studio, do), methods=["POST"]),
        Route("/ticket", _answering(studio, give_ticket), methods=["POST"]),
        Route(UPLOAD, _uploading(studio), methods=["PUT"]),
        Route(ONCE + "{ticket}", _once(studio)),
    ]
    return guard(Starlette(routes=routes), token=studio.token, port=port, upload=UPLOAD, most_bytes=MOST_BYTES)


def _static(name: str, media: str) -> Callable[[Request], Awaitable[Response]]:
    content = files("molehill.studio.page.assets").joinpath(name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=media)

    return answer


Handler = Callable[[Studio, Asked], dict[str, Any]]


def _answering(studio: Studio, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Answer a request by a function, in a thread; what goes wrong is told in words without a value of the table."""

    async def answer(request: Request) -> Response:
        async with _told() as problem:
            given = await request.json()
            content = await run_in_threadpool(_call, studio, handler, given)
            return JSONResponse(content)
        return problem[0]

    return answer


def _call(studio: Studio, handler: Handler, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError("request", "it is no form", "Load the page again")
    name, step, fields = given.get("project"), given.get("step"), given.get("fields")
    fields = fields if isinstance(fields, Mapping) else {}
    # Whoever opens another project need not have the one that was open.
    leaves = handler is do and fields.get("action") in _LEAVING
    named = isinstance(name, str) and name and not leaves
    project = projects.find_project(studio.home, f"{name}") if named else None
    return handler(studio, Asked(project, step if step in STEPS else "file", fields))


_LEAVING = ("close", "open", "project", "example", "remove")


@asynccontextmanager
async def _told() -> AsyncIterator[list[Response]]:
    """Turn errors into an answer, which is put into the list that is given.

    It is one that went well: browsers note any other on their console, and a change that is refused is no fault.
    """
    problem: list[Response] = []
    try:
        yield problem
    except InputError as error:
        problem.append(JSONResponse({"error": f"{error}"}))
    except TooLargeError:
        problem.append(JSONResponse({"error": "It is larger than the studio takes."}, status_code=413))
    except ClientDisconnect:
        problem.append(Response(status_code=400))
    except OSError as error:
        told = f"The system refused: {error.strerror or type(error).__name__}."
        problem.append(JSONResponse({"error": told}))
    except Exception as error:  # noqa: BLE001 (told to the page; where it was raised, without what it says)
        where = traceback.extract_tb(error.__traceback__)[-1]
        # An error of a library may quote a value: only its kind and its place are written.
        sys.stderr.write(f"studio: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}\n")
        told = f"The studio failed ({type(error).__name__}). Undo the last step, or load the page again."
        problem.append(JSONResponse({"error": told}))


def _uploading(studio: Studio) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        async with _told() as problem:
            name = tidy_file_name(unquote(request.headers.get("x-molehill-name", "")))
            folder = projects.make_folder(studio.home, Path(name).stem)
            try:
                await take_file(request.stream(), folder / name, most_bytes=MOST_BYTES)
                sheet = unquote(request.headers.get("x-molehill-sheet", "")) or None
                content = await run_in_threadpool(_begin_dropped, studio, folder, folder / name, sheet)
            except BaseException:
                projects.remove_unused(folder)
                raise
            return JSONResponse(content)
        return problem[0]

    return answer


def _begin_dropped(studio: Studio, folder: Path, path: Path, sheet: str | None) -> dict[str, Any]:
    if path.suffix.lower() == SETTINGS:
        # Where it came from, nobody knows: its table is looked for in the folders of the studio.
        return _begin_with(studio, folder, read_settings(path), studio.folders)
    return _begin(studio, folder, path, {"sheet": sheet})


def _begin(studio: Studio, folder: Path, path: Path, reading: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Look at a file, and begin a project with the settings that are suggested for it."""
    data = path.name if path.parent == folder else os.path.relpath(path, folder)
    suggested = looking.suggest(path, data, reading or {})
    project = projects.begin(folder, suggested.settings, reasons=suggested.reasons, notes=suggested.notes)
    return _show(studio, Asked(project, "file", {}), f"{path.name} was read. Look at how, then go on.")


def _begin_with(studio: Studio, folder: Path, settings: Settings, bases: Sequence[Path]) -> dict[str, Any]:
    """Begin a project with settings that are there, if the file that they name may be read."""
    if settings.data is None:
        raise InputError("settings", "'data' is missing", "Say in the file where the confidential table is")
    path = _find_data(studio, settings.data, bases)
    project = projects.begin(folder, settings.but(data=os.path.relpath(path, folder)), reasons={}, notes={})
    looking.look(project, project.settings)
    return _show(studio, Asked(project, "columns", {}), "The settings were opened.")


def _find_data(studio: Studio, data: str, bases: Sequence[Path]) -> Path:
    """Find the table of settings from the folders that its path may begin in, the first that has it."""
    problem = ""
    for base in bases:
        # What is wrong with the last one is told.
        try:
            return find_path(studio.folders, str(base / data))
        except InputError as error:
            problem = error.problem
    remedy = "Put the file that 'data' names into a folder of the studio, or open the settings by their path"
    raise InputError("data", problem, remedy)


def _once(studio: Studio) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        path, name, until = studio.tickets.pop(request.path_params["ticket"], (None, "", 0.0))
        if path is None or time.monotonic() > until or not path.is_file():
            return Response("This address worked once. Open it again in the studio.", 410, media_type="text/plain")
        if path.suffix == ".html":
            return FileResponse(path, media_type=_MEDIA[".html"], headers={"content-security-policy": _stand_alone()})
        return FileResponse(path, media_type=_MEDIA.get(path.suffix, "application/octet-stream"), filename=name)

    return answer


def _stand_alone() -> str:
    """Run a report's own scripts, and no other, in an origin of its own that can neither ask the studio nor send."""
    return f"sandbox allow-scripts allow-modals; {content_policy()}; frame-ancestors 'none'"


def give_ticket(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Give an address, which works once, of a report or of a file to save."""
    project, what = asked.of_project(), asked.fields.get("what")
    if what == "settings":
        path, name = project.path, f"{project.name}.toml"
    else:
        run = running.find_run(project, asked.fields.get("run"))
        chosen = {
            "internal": lambda: comparing.find_report(run, "internal"),
            "public": lambda: comparing.find_report(run, "release"),
            "used": lambda: run.out / "internal" / "settings.toml",
            "release": lambda: comparing.pack_release(run),
        }
        if what not in chosen:
            raise InputError("what", "there is no such file", "Choose one that is shown")
        path, name = chosen[what](), f"{project.name}-{run.number}-{what}"
        name += {"used": ".toml", "release": ".zip"}.get(f"{what}", ".html")
    # Wherever a link leads that somebody put in its place.
    if path.is_symlink() or not find_path(studio.folders, str(path)).is_file():
        raise InputError("what", "it is not there", "Run it again")
    ticket = secrets.token_urlsafe(32)
    now = time.monotonic()
    for old in [old for old, (_, _, until) in studio.tickets.items() if until < now]:
        studio.tickets.pop(old, None)
    studio.tickets[ticket] = (path, name, now + _SOON)
    return {"address": ONCE + ticket}


def view(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Show a step, or a part of it that is asked for by its name."""
    part = asked.fields.get("part")
    if part is None:
        return _show(studio, asked)
    shown = {
        "progress": lambda: _render("run.html", "progress", **_tell_progress(asked.of_project())),
        "picture": lambda: _draw(asked),
        "other": lambda: _render("compare.html", "other", **_tell_other(asked)),
        "place": lambda: _render(
            "file.html", "place", place=list_place(studio.folders, f"{asked.fields.get('path', '')}")
        ),
    }
    if part not in shown:
        raise InputError("part", "there is no such part", "Load the page again")
    return {"part": part, "html": shown[part]()}


def do(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Do what was clicked, and show what has become of it."""
    action = f"{asked.fields.get('action')}"
    with studio.changing:
        if action in _OTHER:
            return _OTHER[action](studio, asked)
        return _change(studio, asked, action)


def _change(studio: Studio, asked: Asked, action: str) -> dict[str, Any]:
    """Change the settings of a project; with `try` only to see what they would give."""
    if action not in changing.CHANGES:
        raise InputError("action", "there is no such change", "Load the page again")
    project = asked.of_project()
    _check_data(studio, project)
    settings = project.settings
    looked = looking.look(project, settings)
    changed = changing.CHANGES[action](settings, looked, asked.fields)
    if asked.fields.get("try"):
        told = looking.tell_figures(looked, changed)
        return {"part": "figures", "html": _render("intruder.html", "figures", **told)}
    looking.look(project, changed)
    projects.keep(project, changed)
    return _show(studio, asked)


def _open_path(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Open a file, a settings file, or the folder of a finished run, by its path."""
    path = find_path(studio.folders, f"{asked.fields.get('path', '')}")
    if path.is_dir() and not (path / "internal" / "manifest.json").is_file():
        return {"part": "place", "html": _render("file.html", "place", place=list_place(studio.folders, str(path)))}
    folder = projects.make_folder(studio.home, path.stem)
    try:
        if path.is_dir():
            return _open_run(studio, folder, path)
        if path.suffix.lower() == SETTINGS:
            return _begin_with(studio, folder, read_settings(path), [path.parent])
        return _begin(studio, folder, path, {"sheet": f"{asked.fields.get('sheet', '')}".strip() or None})
    except BaseException:
        projects.remove_unused(folder)
        raise


def _open_run(studio: Studio, folder: Path, out: Path) -> dict[str, Any]:
    """Begin a project with a finished run, which stays where it lies."""
    settings = read_settings(find_path(studio.folders, str(out / "internal" / "settings.toml")))
    _begin_with(studio, folder, settings, [out.parent, out, *studio.folders])
    project = Project(folder)
    run = running.adopt(project, out)
    return _show(studio, Asked(project, "compare", {"run": run.number}), "The run was opened.")


def _open_example(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Begin a project with the built-in survey, which is nobody's data."""
    del asked
    folder = projects.make_folder(studio.home, _EXAMPLE)
    try:
        write_table(consumer_survey(), folder / "survey.csv", private=True)
        return _begin(studio, folder, folder / "survey.csv")
    except BaseException:
        projects.remove_unused(folder)
        raise


def _open_project(studio: Studio, asked: Asked) -> dict[str, Any]:
    project = projects.find_project(studio.home, f"{asked.fields.get('name')}")
    runs = running.list_runs(project)
    step = "run" if runs and running.is_alive(runs[0]) else "columns"
    return _show(studio, Asked(project, step, {}))


def _close_project(studio: Studio, asked: Asked) -> dict[str, Any]:
    del asked
    return _show(studio, Asked(None, "file", {}))


def _remove_project(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Remove a project with all that lies in its folder; what was opened where it lies stays there."""
    project = projects.find_project(studio.home, f"{asked.fields.get('name')}")
    if any(map(running.is_alive, running.list_runs(project))):
        raise InputError("project", "one of its runs is at work", "Stop it first")
    projects.remove_unused(project.folder)
    return _show(studio, Asked(None, "file", {}), f"{project.name} was removed.")


def _read_anew(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Read the file in another way; if its columns become others, settings are suggested anew."""
    project = asked.of_project()
    settings = project.settings
    own = {name: f"{asked.fields[name]}" for name in settings.reading if name in asked.fields}
    own = {name: "\t" if text == "\\t" else text for name, text in own.items()}
    reading = settings.reading | {name: text or None for name, text in own.items()}
    if own.get("thousands") == "none":
        reading["thousands"] = ""
    looked = looking.look_at(project.data, reading, settings.missing_codes)
    if {*looked.columns} == {*looking.look(project, settings).columns}:
        projects.keep(project, settings.but(**reading))
        return _show(studio, asked, "The file was read anew.")
    suggested = looking.suggest(project.data, f"{settings.data}", reading)
    told = {"reasons": suggested.reasons, "notes": suggested.notes}
    projects.keep(project, suggested.settings, told=told)
    return _show(studio, asked, "The file was read anew: its columns are others, and so are the suggestions.")


def _undo(studio: Studio, asked: Asked) -> dict[str, Any]:
    projects.go(asked.of_project(), -1)
    return _show(studio, asked, "Undone.")


def _redo(studio: Studio, asked: Asked) -> dict[str, Any]:
    projects.go(asked.of_project(), 1)
    return _show(studio, asked, "Done again.")


def _begin_run(studio: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    settings = project.settings
    _, problem = looking.plan(project, settings)
    if problem is not None:
        raise problem
    running.begin_run(project, settings)
    return _show(studio, asked)


def _release_anyway(studio: Studio, asked: Asked) -> dict[str, Any]:
    """Make a run that was not recommended again, with its seed, and release it all the same."""
    project = asked.of_project()
    run = running.find_run(project, asked.fields.get("run"))
    dossier = comparing.read_run(run)
    if dossier.publication != "not recommended":
        raise InputError("run", "it was not withheld by its recommendation", "Choose one that was")
    running.begin_run(project, run.settings.but(seed=dossier.settings.seed), release_anyway=True)
    return _show(studio, Asked(project, "run", {}), "It is made again, to be released against the recommendation.")


def _steer(steer: Callable[[running.Run], None]) -> Handler:
    def act(studio: Studio, asked: Asked) -> dict[str, Any]:
        steer(running.find_run(asked.of_project(), asked.fields.get("run")))
        return _show(studio, asked)

    return act


def _take_point(studio: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    run = running.find_run(project, asked.fields.get("run"))
    projects.keep(project, comparing.settle_point(project.settings, run, asked.fields.get("point")))
    return _show(studio, Asked(project, "run", {}), "The point is now what the settings say. Begin a run to make it.")


def _sign(studio: Studio, asked: Asked) -> dict[str, Any]:
    comparing.sign(running.find_run(asked.of_project(), asked.fields.get("run")), asked.fields)
    return _show(studio, asked, "Signed: written into internal/ of the release.")


_OTHER: dict[str, Handler] = {
    "open": _open_path,
    "example": _open_example,
    "project": _open_project,
    "close": _close_project,
    "remove": _remove_project,
    "reading": _read_anew,
    "undo": _undo,
    "redo": _redo,
    "begin": _begin_run,
    "release-anyway": _release_anyway,
    "pause": _steer(running.pause),
    "stop": _steer(running.stop),
    "go-on": _steer(running.go_on),
    "point": _take_point,
    "sign": _sign,
}


def _show(studio: Studio, asked: Asked, message: str = "") -> dict[str, Any]:
    """Show a step of a project, in the frame of all steps."""
    project, step = asked.project, asked.step
    if project is None:
        known = [(one, time.strftime("%Y-%m-%d %H:%M", one.changed)) for one in projects.list_projects(studio.home)]
        html = _render("file.html", studio=studio, project=None, known=known)
        return {"html": html, "project": None, "step": "file", "message": message}
    _check_data(studio, project)
    told = _TELLING[step](studio, asked)
    undo, redo = projects.can_go(project)
    frame: dict[str, Any] = {"step": step, "steps": STEPS, "undo": undo, "redo": redo, "project": project}
    frame["settings_text"] = project.path.read_text(encoding="utf-8")
    html = _render(f"{step}.html", studio=studio, settings=project.settings, **frame, **told)
    return {"html": html, "project": project.name, "step": step, "message": message}


def _check_data(studio: Studio, project: Project) -> None:
    """Refuse a project whose table lies elsewhere than in the folders of the studio: its settings are a file, too."""
    try:
        find_path(studio.folders, str(project.data))
    except InputError as error:
        raise InputError("data", f"{project.data.name!r}: {error.problem}", "Put it back, or open another") from None


def _tell_file(_: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    return {"told": looking.tell_file(project, project.settings, shown=asked.fields.get("shown") is True)}


def _tell_columns(_: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    return looking.tell_columns(project, project.settings)


def _tell_intruder(_: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    return looking.tell_intruder(project, project.settings)


def _tell_rule(_: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    settings = project.settings
    figures = looking.tell_figures(looking.look(project, settings), settings)
    set_here = [name for name in Settings.model_fields if name not in changing.APART and name not in settings.reading]
    controls = [
        {
            "name": name,
            "control": changing.control_of(name),
            "choices": changing.choices_of(name),
            "value": getattr(settings, name),
            "text": _tell_value(getattr(settings, name)),
            **Settings.describe(name),
        }
        for name in set_here
    ]
    first = ("regressions", "preserve", "datasets", "max_fits", "max_seconds", "seed")
    return {
        "rules": comparing.list_rules(settings),
        "bounds": changing.tell_bounds(settings),
        "offered": comparing.OFFERED,
        "first": [one for name in first for one in controls if one["name"] == name],
        "rest": [one for one in controls if one["name"] not in first],
        **figures,
    }


def _tell_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "\n".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _tell_progress(project: Project) -> dict[str, Any]:
    runs = running.list_runs(project)
    told = [running.tell_run(run) for run in runs]
    points = comparing.lay_out_points(told[0]["points"]) if told else []
    return {"runs": told, "points": points, "busy": bool(told) and told[0]["is_alive"]}


def _tell_run(_: Studio, asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    planned, problem = looking.plan(project, project.settings)
    return {"plan": planned, "problem": problem, **_tell_progress(project)}


def _finished(asked: Asked) -> tuple[list[running.Run], running.Run | None]:
    """Give the runs that have ended with evidence, and the one that is asked for, or the last."""
    runs = [run for run in running.list_runs(asked.of_project()) if (run.out / "internal" / "manifest.json").exists()]
    chosen = [run for run in runs if f"{run.number}" == f"{asked.fields.get('run')}"]
    return runs, (chosen or runs or [None])[0]


def _tell_compare(_: Studio, asked: Asked) -> dict[str, Any]:
    runs, run = _finished(asked)
    if run is None:
        return {"run": None, "runs": []}
    told = comparing.tell_result(run) | comparing.tell_comparison(run)
    return {"run": run, "runs": runs, **told}


def _tell_other(asked: Asked) -> dict[str, Any]:
    project = asked.of_project()
    run = running.find_run(project, asked.fields.get("run"))
    known = [f"{name}" for name in asked.fields.get("known", ())]
    try:
        radius = float(f"{asked.fields.get('radius')}")
    except ValueError:
        raise InputError("radius", "it is no number", "Write a number from 0 to 1") from None
    return {"other": comparing.tell_other_intruder(project, run, known, radius)}


def _draw(asked: Asked) -> str:
    run = running.find_run(asked.of_project(), asked.fields.get("run"))
    name = f"{asked.fields.get('name')}"
    picture = comparing.list_run_pictures(run).get(name)
    address = comparing.draw_picture(run, name)
    return _render("compare.html", "drawn", picture=picture, address=address)


def _tell_sign(_: Studio, asked: Asked) -> dict[str, Any]:
    runs, run = _finished(asked)
    if run is None:
        return {"run": None, "runs": []}
    return {"run": run, "runs": runs, **comparing.tell_result(run), **comparing.tell_signing(run)}


_TELLING: dict[str, Callable[[Studio, Asked], dict[str, Any]]] = {
    "file": _tell_file,
    "columns": _tell_columns,
    "intruder": _tell_intruder,
    "rule": _tell_rule,
    "run": _tell_run,
    "compare": _tell_compare,
    "sign": _tell_sign,
}


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("molehill.studio", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"seconds": _tell_seconds, "pair": lambda word: (word, word)}
    made.globals |= {"help": Settings.describe, "preview_rows": looking.PREVIEW}
    made.globals["ui"] = made.get_template("controls.html").module
    return made


def _tell_seconds(seconds: float) -> str:
    """Tell a time in words.

    Examples
    --------
    >>> _tell_seconds(7.2), _tell_seconds(130), _tell_seconds(7300)
    ('7 s', '2 min', '2 h 2 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


_ENVIRONMENT = _environment()


def _render(template: str, part: str | None = None, **told: Any) -> str:
    """Fill the template of a step, or one block of it."""
    found = _ENVIRONMENT.get_template(f"steps/{template}")
    return found.render(**told) if part is None else "".join(found.blocks[part](found.new_context(told)))
