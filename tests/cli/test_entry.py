"""Signals are answered in one line, whenever they come."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from molehill import files
from molehill.cli import entry
from molehill.release import runs
from processes import run_command

pytestmark = pytest.mark.posix

SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
# The commands; but they say when a module is asked for, and wait there.
WAITING = """
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == place:
            print("here", flush=True)
            signal.pause()
place = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
from molehill.cli.entry import main
main()
"""
# The same, and the signal comes when a module is imported or a file opened for the so-manieth time.
COUNTING = """
import itertools, signal, sys
event, number = int(sys.argv.pop(1)), int(sys.argv.pop(1))
counted = itertools.count(1)
def look(name, _):
    if name in ("import", "open") and next(counted) == event:
        signal.raise_signal(number)
import molehill.cli.entry as entry
answer_signals = entry.answer_signals
def begin(answer):
    answer_signals(answer)
    entry.answer_signals = answer_signals
    sys.addaudithook(look)
entry.answer_signals = begin
entry.main()
"""
EVENTS = [1, 30, 100, 300, *(pytest.param(event, marks=pytest.mark.slow) for event in (1000, 3000, 6000))]


def stop(program: str, *arguments: object, number: signal.Signals) -> tuple[int, str]:
    """Send a signal to a program as soon as it says that it is there."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=1500)
        return process.returncode, told


# How a signal that is answered as compiled code returns reaches Python.
def return_from_compiled_code(number: int) -> None:
    try:
        signal.raise_signal(number)
    except BaseException as stopped:
        raise SystemError("returned a result with an exception set") from stopped


ENDED = [pytest.param(number, id=number.name) for number in SIGNALS]


@pytest.mark.parametrize("number", ENDED)
@pytest.mark.parametrize("place", ["typer", "pandas"])
def test_a_signal_while_it_imports_ends_in_one_line(tmp_path, place, number):
    code, words = SIGNALS[number]
    ended, told = stop(WAITING, place, "demo", "--out", tmp_path / "out", "--quiet", number=number)
    assert (ended, told) == (code, f"Error: {words}; no file was written in part; add --resume to go on\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", ENDED)
@pytest.mark.parametrize("place", ["fitting", "growing", "compiled", "writing"])
def test_a_signal_ends_in_one_line_with_nothing_in_part(tmp_path, monkeypatch, place, number):
    def synthesize(*_, checkpoint, **__):
        if place == "fitting":
            (checkpoint / "pairwise").mkdir(parents=True)
            (checkpoint / "pairwise" / "chunk-00000.bin").touch()
        if place in ("fitting", "growing"):
            signal.raise_signal(number)
        if place == "compiled":
            return_from_compiled_code(number)

    def write(_, target, **_how):
        with files.folder_written_whole(target) as folder:
            (folder / "half").touch()
            signal.raise_signal(number)

    monkeypatch.setattr(entry, "_ASKED", [])
    monkeypatch.setattr(runs, "synthesize", synthesize)
    monkeypatch.setattr(runs, "write_release", write)
    code, words = SIGNALS[number]
    ended = run_command("demo", "--out", tmp_path / "out", "--quiet", ends=True)
    assert (ended.returncode, ended.stderr) == (
        code,
        f"Error: {words}; no file was written in part; add --resume to go on\n",
    )
    # What has been done, or if nothing can be gone on with, the seed: --resume ends in the same release.
    assert [path.name for path in tmp_path.iterdir()] == [".out.unfinished"]
    assert (tmp_path / ".out.unfinished" / "seed.json").is_file()


def test_what_cannot_be_resumed_is_not_said_to_be():
    assert stop(WAITING, "typer", "risk", number=signal.SIGINT) == (
        130,
        "Error: interrupted; no file was written in part\n",
    )


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("number", ENDED)
def test_a_signal_at_any_moment_ends_in_one_line(tmp_path, event, number):
    command = [sys.executable, "-c", COUNTING, str(event), str(int(number)), "demo", "--out", tmp_path / "out"]
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (SIGNALS[number][0], 1), done.stderr


def test_what_the_system_refuses_is_told_with_its_path(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device", "/disk/file")

    monkeypatch.setattr(runs, "synthesize", refuse)
    done = run_command("demo", "--out", tmp_path / "out", "--quiet")
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
