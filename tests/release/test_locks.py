"""One process at a time works on a release."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from molehill.errors import InputError
from molehill.release import locks
from molehill.release.locks import held

# Windows has no fcntl: there only the lock without it is tested.
SYSTEMS = [
    pytest.param("locked by the system", marks=pytest.mark.posix),
    "no fcntl",
    pytest.param("a file system without locks", marks=pytest.mark.posix),
]


@pytest.fixture(params=SYSTEMS, autouse=True)
def system(request, monkeypatch):
    if request.param == "no fcntl":
        monkeypatch.setattr(locks, "fcntl", None)
    if request.param == "a file system without locks":

        def refuse(*_):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr("molehill.release.locks.fcntl.flock", refuse)
    return request.param


@pytest.mark.posix
def test_it_is_held_while_the_block_runs_and_leaves_nothing(tmp_path):
    with held(tmp_path / "out") as folder:
        assert folder == tmp_path / ".out.unfinished"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "lock").stat().st_mode & 0o777 == 0o600
        with pytest.raises(InputError, match=rf"out: process {os.getpid()}, since 2.* is at work .* Wait") as caught:
            held(tmp_path / "out").__enter__()
        assert "remove" not in str(caught.value)
        with held(tmp_path / "other"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_what_lies_beside_the_lock_stays(tmp_path):
    def interrupted():
        with held(tmp_path / "out") as folder:
            (folder / "seed.json").write_text("")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / ".out.unfinished" / "seed.json").exists()
    with held(tmp_path / "out") as folder:
        (folder / "seed.json").unlink()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_removed_meanwhile_is_no_trouble(tmp_path):
    with held(tmp_path / "out") as folder:
        (folder / "lock").unlink()
        folder.rmdir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "null", "[]", '{"pid": "x"}', "\x00\xff"])
def test_a_damaged_lock_that_nobody_holds_is_taken_over(tmp_path, content):
    folder = tmp_path / ".out.unfinished"
    folder.mkdir()
    (folder / "lock").write_text(content)
    with held(tmp_path / "out"):
        assert json.loads((folder / "lock").read_text())["pid"] == os.getpid()


HOLD = """
import os, sys
from pathlib import Path
from molehill.release import locks
if sys.argv[2] == "no fcntl":
    locks.fcntl = None
if sys.argv[2] == "a file system without locks":
    def refuse(*_):
        raise OSError(95, "Operation not supported")
    locks.fcntl.flock = refuse
with locks.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, system):
    out = tmp_path / "out"
    command, pipes = [sys.executable, "-c", HOLD, str(out), system], dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "held\n"
            with pytest.raises(InputError, match=f"process {other.pid}, since"):
                held(out).__enter__()
        finally:
            other.kill()
    assert (tmp_path / ".out.unfinished" / "lock").exists()
    with held(out):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_machine_is_believed_where_the_system_cannot_tell(tmp_path, system):
    folder = tmp_path / ".out.unfinished"
    folder.mkdir()
    (folder / "lock").write_text('{"pid": 7, "host": "elsewhere", "since": "yesterday"}')
    if system == "locked by the system":
        with held(tmp_path / "out"):
            return
    with pytest.raises(InputError, match=r"process 7 on 'elsewhere', since yesterday, .* remove '.*lock'"):
        held(tmp_path / "out").__enter__()


RACE = """
import sys
from pathlib import Path
from molehill.errors import InputError
from molehill.release.locks import held
print("here", flush=True)
sys.stdin.readline()
taken = refused = 0
while taken < 30 and refused < 3000:
    try:
        with held(Path(sys.argv[1])) as folder:
            (folder / "mine").touch(exist_ok=False)
            (folder / "mine").unlink()
            taken += 1
    except InputError as error:
        assert "is at work" in str(error)
        refused += 1
print(taken)
"""


def test_of_many_at_once_one_holds_it(tmp_path, system):
    if system != "locked by the system":
        pytest.skip("needs locks of the system")
    command = [sys.executable, "-c", RACE, str(tmp_path / "out")]
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    racers: list[Any] = [subprocess.Popen(command, **pipes, text=True) for _ in range(3)]
    # All have imported what they need, and begin together.
    assert [racer.stdout.readline() for racer in racers] == ["here\n"] * 3
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    told = [racer.communicate() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0], told
    # Whoever is last meets nobody any more.
    assert max(int(out) for out, _ in told) == 30
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["file/out", pytest.param("/proc/out", marks=pytest.mark.linux), "x" * 250])
def test_a_folder_that_cannot_be_made_is_told(tmp_path, target):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"out: the folder '.*' cannot be written to \(.*\)\. Choose another"):
        held(tmp_path / target).__enter__()
