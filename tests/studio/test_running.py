"""Runs: processes of their own, which outlive the studio, can be held and stopped, and make the same bytes."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from types import SimpleNamespace

import pytest

from drawing import with_few_figures, without_library  # noqa: F401
from molehill.report.trail import Verification, hash_files
from molehill.studio import comparing, running
from molehill.studio.projects import Project, find_project
from molehill.studio.running import Run
from opened_studio import PLANTED, OpenStudio, write_people
from processes import run_command

CHANGES = {
    "datasets": "2",
    "seed": "5",
    "compare": "",
    "expected_risk_draws": "0",
    "attacks": "none",
    "min_leaf_size": "20",
}
# The modes of files, the locks and the signals that runs are known and held by.
pytestmark = [pytest.mark.posix, pytest.mark.usefixtures("without_library")]


def wait_for(condition, patience=1500):
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def walked(tmp_path_factory, without_library):  # noqa: ARG001, F811
    """A studio that was killed in the middle of a run, and another one in which the run came to its end."""
    folder = tmp_path_factory.mktemp("runs")
    write_people(folder / "people.csv", 100)
    command = [sys.executable, "-m", "molehill", "studio", str(folder), "--no-browser"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    told = first.stdout.readline()
    seen = {"address": told, "private": (folder / "molehill-studio" / ".open.html").stat().st_mode & 0o777}
    other = OpenStudio(folder)
    project = other.do("open", path="people.csv")["project"]
    for name, value in CHANGES.items():
        assert "error" not in other.do("set", project, "rule", name=name, value=value)
    own = find_project(other.studio.home, project)
    seen["begun"] = _ask_first(told, project)
    first.kill()
    first.wait()
    first.stdout.close()
    run = Run(own, 1)
    seen["alive"] = running.is_alive(run)
    seen["twice"] = other.do("begin", project, "run")
    other.do("pause", project, "run", run=1)
    seen["paused"] = other.ask("/view", project, "run")["html"]
    seen["held"] = running.is_alive(run)
    other.do("go-on", project, "run", run=1)
    other.do("stop", project, "run", run=1)
    wait_for(lambda: not running.is_alive(run))
    seen["stopped"] = other.ask("/view", project, "run")["html"]
    # A hundred people make no release that anybody would recommend.
    running._note(run, release_anyway=True)
    other.do("go-on", project, "run", run=1)
    wait_for(lambda: not running.is_alive(run))
    yield other, own, run, seen
    other.close()


def _ask_first(told, project):
    """Begin the run in the first studio, as its page would."""
    import http.client  # noqa: PLC0415

    ((port, token),) = re.findall(r":(\d+)/#token=(\S+)", told)
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=1500)
    body = json.dumps({"project": project, "step": "run", "fields": {"action": "begin"}})
    with closing(connection):
        connection.request("POST", "/do", body, {"x-molehill-token": token})
        return json.loads(connection.getresponse().read())


def test_a_run_outlives_the_studio_that_began_it(walked):
    _, _, _, seen = walked
    assert "error" not in seen["begun"]
    assert seen["alive"]
    assert seen["private"] == 0o600


def test_a_run_is_held_stopped_and_gone_on_with(walked):
    _, _, run, seen = walked
    assert "still at work" in seen["twice"]["error"]
    assert "paused" in seen["paused"]
    assert seen["held"]
    assert "stopped" in seen["stopped"]
    told = running.tell_run(run)
    assert told["state"] == "released"
    assert [stage["words"] for stage in told["stages"]][-1] == "writing the report"
    with pytest.raises(Exception, match="not at work"):
        running.pause(run)


def test_the_command_line_makes_the_same_bytes_of_the_settings_file(walked, tmp_path):
    _, _, run, _ = walked
    ended = run_command("run", run.settings_file, "--out", tmp_path / "out", "--quiet", "--release-anyway")
    assert ended.returncode == 0, ended.stderr
    own, other = hash_files(run.out), hash_files(tmp_path / "out")
    # When and by which command it was made is told in one file alone.
    assert own.pop("internal/times.json") != other.pop("internal/times.json")
    assert own == other


def test_what_a_run_made_is_compared(walked):
    opened, project, _, _ = walked
    html = opened.ask("/view", project.name, "compare")["html"]
    assert 'id="verdict"' in html
    assert f"{PLANTED}" not in html
    name, *_ = re.findall(r'data-picture="([\w-]+)"', html)
    picture = opened.ask("/view", project.name, "compare", part="picture", name=name)["html"]
    assert picture.startswith('<img src="data:image/svg+xml;base64,')
    assert "error" in opened.ask("/view", project.name, "compare", part="picture", name="none")


def test_another_intruder_looks_at_the_same_tables(walked):
    opened, project, run, _ = walked
    asked = {"part": "other", "run": 1}
    same = opened.ask("/view", project.name, "compare", **asked, known=list(run.settings.known), radius="0.2")["html"]
    told = float(re.findall(r"→ </span>([\d.]+)", same)[0])
    from molehill.report.dossier import read_dossier  # noqa: PLC0415

    risk = read_dossier(run.out).evaluation.risk
    (realised,) = risk[(risk["scheme"] != "confidential") & (risk["measure"] == "risk_mean")]["value"]
    assert told == pytest.approx(realised, abs=5e-4)
    wide = opened.ask("/view", project.name, "compare", **asked, known=["sex"], radius="0.6")["html"]
    assert wide != same
    for radius in ("2", "x", None):
        assert "error" in opened.ask("/view", project.name, "compare", **asked, known=["sex"], radius=radius)


def test_a_release_is_signed_exported_and_told_when_it_was_changed(walked):
    opened, project, run, _ = walked
    assert "error" in opened.do("sign", project.name, "sign", name="", decision="publish")
    assert "error" in opened.do("sign", project.name, "sign", name="A", decision="perhaps")
    signed = opened.do("sign", project.name, "sign", name="A. <b>Board</b>", role="chair", decision="publish")
    assert "A. &lt;b&gt;Board&lt;/b&gt;" in signed["html"]
    written = json.loads((run.out / "internal" / "sign-off.json").read_text(encoding="utf-8"))["signed"]
    assert [one["decision"] for one in written] == ["publish"]
    assert run_command("verify", run.out).returncode == 0
    address = opened.ask("/ticket", project.name, what="release")["address"]
    packed = opened.request("GET", address)[2]
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        names = file.namelist()
        assert {name.removeprefix("release/") for name in names} == {
            path.name for path in (run.out / "release").iterdir()
        }
        assert all(PLANTED.__str__().encode() not in file.read(name) for name in names)
    page = opened.request("GET", opened.ask("/ticket", project.name, what="internal")["address"])
    assert page[1]["content-type"].startswith("text/html")
    assert b"Content-Security-Policy" in page[2]
    # No script runs but those whose hashes the installed version knows.
    policy = page[1]["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts allow-modals;")
    scripts = re.findall(r"script-src ([^;]*)", policy)
    assert len(scripts) == 1
    assert all(one.startswith("'sha256-") for one in scripts[0].split())
    table = next((run.out / "release").glob("synthetic_*"))
    content = table.read_bytes()
    table.write_bytes(content + b"\n")
    try:
        assert "not as it was written" in opened.ask("/view", project.name, "sign")["html"]
        assert "not as it was written" in opened.do("sign", project.name, "sign", name="B", decision="publish")["error"]
        assert "not as it was written" in opened.ask("/ticket", project.name, what="release")["error"]
        for what in ("internal", "public"):
            assert "may not be ours" in opened.ask("/ticket", project.name, what=what)["error"]
    finally:
        table.write_bytes(content)


def test_a_report_that_leads_out_is_not_opened_even_if_the_folder_is_as_it_was_written(walked, monkeypatch):
    opened, project, run, _ = walked
    monkeypatch.setattr(comparing, "verify_release", lambda _: SimpleNamespace(holds=True))
    assert "address" in opened.ask("/ticket", project.name, what="internal")
    path = run.out / "internal" / "report.html"
    content = path.read_bytes()
    try:
        path.write_bytes(content.replace(b"<main", b'<meta http-equiv="refresh" content="0;https://a.b"><main', 1))
        assert "links or elements" in opened.ask("/ticket", project.name, what="internal")["error"]
    finally:
        path.write_bytes(content)


def test_nothing_but_own_files_of_a_run_is_handed_out(walked, tmp_path):
    opened, project, run, _ = walked
    secret, own = tmp_path / "secret.toml", run.out / "internal" / "settings.toml"
    secret.write_text("secret", encoding="utf-8")
    content = own.read_bytes()
    own.unlink()
    own.symlink_to(secret)
    try:
        assert "error" in opened.ask("/ticket", project.name, what="used")
    finally:
        own.unlink()
        own.write_bytes(content)
        own.chmod(0o600)


@pytest.mark.parametrize("content", ['{"signed": [1]}', '{"signed": [{"name": "x"}]}', "[]", "{"])
def test_signatures_that_are_none_are_told(walked, content):
    opened, project, run, _ = walked
    path = run.out / "internal" / "sign-off.json"
    kept = path.read_bytes() if path.exists() else None
    path.write_text(content, encoding="utf-8")
    try:
        assert "is damaged" in opened.ask("/view", project.name, "sign")["error"]
    finally:
        path.unlink() if kept is None else path.write_bytes(kept)


def test_a_finished_run_is_opened_where_it_lies(walked):
    opened, _, run, _ = walked
    answer = opened.do("open", path=str(run.out))
    assert answer["step"] == "compare", answer
    own = find_project(opened.studio.home, answer["project"])
    assert own.settings.seed == run.settings.seed
    assert running.list_runs(own)[0].out == run.out
    assert "as they were written" in opened.ask("/view", answer["project"], "sign")["html"]


def test_nothing_of_a_run_is_open_to_others(walked):
    _, _, run, _ = walked
    for path in (run.settings_file, run.log, run.stages_file, run.note, run.lock, run.out / "internal"):
        assert path.stat().st_mode & 0o077 == 0, path
    assert f"{PLANTED}" not in run.log.read_text(encoding="utf-8") + run.stages_file.read_text(encoding="utf-8")


def test_what_was_not_released_cannot_be_signed_for_publication(walked, monkeypatch):
    opened, project, run, _ = walked
    held = Verification(files=3, problems=(), notes=(), fingerprint="", described="")
    monkeypatch.setattr(comparing, "verify_release", lambda _: held)
    assert "nothing to publish" in opened.do("sign", project.name, "sign", name="A", decision="publish")["error"]
    assert "error" not in opened.do("sign", project.name, "sign", name="A", decision="do not publish")
    (run.out / "internal" / "sign-off.json").unlink()


@pytest.fixture
def quiet(tmp_path):
    """A run that is not there yet."""
    (tmp_path / "run-1.toml").write_text('[columns]\na = "synthesize"\n[intruder]\nknown = ["b"]\n', encoding="utf-8")
    return Run(Project(tmp_path), 1)


def test_stages_are_told_also_while_one_is_being_written(quiet, monkeypatch):
    lines = [
        {"at": 10.0, "seconds": 50.0},
        {"at": 12.0, "stage": "point 1", "point": {"point": 0}},
        {"at": 15.0, "stage": "drawing"},
        {"at": 17.0, "doing": "drawing, 3 of 20"},
        {"at": 19.0, "ended": False},
    ]
    text = "\n".join(map(json.dumps, lines))
    quiet.stages_file.write_text(f'{text}\n{{"at": 20.0, "sta', encoding="utf-8")
    quiet.log.write_text("something\nError: radius: it is 7. Give less.\n", encoding="utf-8")
    told = running.tell_run(quiet)
    assert [(one["words"], one["seconds"]) for one in told["stages"]] == [("point 1", 2.0), ("drawing", 4.0)]
    assert told["state"] == "failed"
    assert told["problem"] == "radius: it is 7. Give less."
    assert told["spent"] == 9.0
    # As long as it is at work, what it does now is told.
    with monkeypatch.context() as patch:
        patch.setattr(running, "is_alive", lambda _: True)
        quiet.stages_file.write_text("\n".join(map(json.dumps, lines[:4])), encoding="utf-8")
        assert [one["words"] for one in running.tell_run(quiet)["stages"]] == ["point 1", "drawing, 3 of 20"]
    # One that was killed could write nothing of its end.
    quiet.stages_file.write_text(json.dumps(lines[0]), encoding="utf-8")
    assert running.tell_run(quiet)["state"] == "stopped"


def test_a_process_number_that_another_one_has_is_not_signalled(quiet):
    sleeping = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    try:
        quiet.note.write_text(json.dumps({"pid": sleeping.pid}), encoding="utf-8")
        for act in (running.pause, running.stop):
            with pytest.raises(Exception, match="not at work"):
                act(quiet)
        assert sleeping.poll() is None
    finally:
        os.killpg(sleeping.pid, signal.SIGKILL)
        sleeping.wait()


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_a_damaged_note_is_no_reason_to_fail(quiet, content):
    quiet.note.write_text(content, encoding="utf-8")
    quiet.stages_file.write_text(content, encoding="utf-8")
    assert running.tell_run(quiet)["state"] == "stopped"
