"""Signals are answered in one line, whenever they come."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from molehill.cli import entry

SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
START = "from molehill.cli.entry import main; main()"
# The same, but it says when it has come to a place, and waits there.
WAITING = """
import sys, time
def wait(*_, **__):
    print("here", flush=True)
    time.sleep(60)
place = sys.argv.pop(1)
if place == "imports":
    class Finder:
        def find_spec(self, name, *_):
            if name == "typer":
                wait()
    sys.meta_path.insert(0, Finder())
elif place == "pandas":
    class Finder:
        def find_spec(self, name, *_):
            if name == "pandas":
                wait()
    sys.meta_path.insert(0, Finder())
else:
    import molehill.release.runs as runs
    if place == "fitting":
        def synthesize(*_, checkpoint, **__):
            (checkpoint / "pairwise").mkdir(parents=True)
            (checkpoint / "pairwise" / "chunk-00000.bin").touch()
            wait()
        runs.synthesize = synthesize
    if place == "writing":
        import molehill.files as files
        def write(release, target):
            with files.folder_written_whole(target) as folder:
                (folder / "half").touch()
                wait()
        runs.synthesize, runs.write_release = (lambda *_, **__: None), write
from molehill.cli.entry import main
main()
"""


def stop(program: str, *arguments: object, number: signal.Signals, wait: float | None = None) -> tuple[int, str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if wait is None:
            assert process.stdout.readline() == "here\n"
        else:
            time.sleep(wait)
        process.send_signal(number)
        _, told = process.communicate(timeout=100)
        return process.returncode, told


# Later places take seconds to come to: there one signal each, the other when there is time.
LATER = {("fitting", signal.SIGTERM), ("writing", signal.SIGINT)}
PLACES = [(place, number) for place in ("imports", "pandas", "fitting", "writing") for number in SIGNALS]


@pytest.mark.parametrize(
    ("place", "number"),
    [
        pytest.param(*one, id=f"{one[0]}-{one[1].name}", marks=pytest.mark.slow if one in LATER else ())
        for one in PLACES
    ],
)
def test_a_signal_ends_in_one_line_with_nothing_in_part(tmp_path, place, number):
    out = tmp_path / "out"
    code, words = SIGNALS[number]
    ended, told = stop(WAITING, place, "demo", "--out", out, "--quiet", number=number)
    assert (ended, told) == (code, f"Error: {words}; no file was written in part; add --resume to go on\n")
    left = [".out.unfinished"] if place == "fitting" else []
    assert [path.name for path in tmp_path.iterdir()] == left


def test_what_cannot_be_resumed_is_not_said_to_be():
    assert stop(WAITING, "imports", "risk", number=signal.SIGINT) == (
        130,
        "Error: interrupted; no file was written in part\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.3 + 0.4 * step for step in range(30)])
def test_a_signal_at_any_moment_ends_in_one_line(tmp_path, wait):
    number = (signal.SIGINT, signal.SIGTERM)[int(wait * 10) % 2]
    ended, told = stop(START, "demo", "--out", tmp_path / "out", "--quiet", number=number, wait=wait)
    assert (ended, told.count("\n")) == (SIGNALS[number][0], 1), told


def test_what_the_system_refuses_is_told_with_its_path(tmp_path):
    program = (
        "import os, sys\n"
        "import molehill.release.runs as runs\n"
        "def full(*_, **__): raise OSError(28, 'No space left on device', '/disk/file')\n"
        "runs.synthesize = full\n"
        "from molehill.cli.entry import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "demo", "--out", str(tmp_path / "out"), "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert (done.returncode, done.stderr) == (1, "Error: the system refused: No space left on device ('/disk/file')\n")
    assert list(tmp_path.iterdir()) == []


def test_the_installed_command_goes_this_way():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert 'molehill = "molehill.cli.entry:main"' in text


def test_a_signal_that_was_lost_is_heard_at_the_next_stage(monkeypatch):
    monkeypatch.setattr(entry, "_ASKED", [])
    entry.still_wanted()
    with pytest.raises(entry.StoppedError):
        entry.stop(signal.SIGTERM, None)
    with pytest.raises(entry.StoppedError) as again:
        entry.still_wanted()
    assert again.value.code == 128 + signal.SIGTERM
