import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from molehill import InputError, files
from molehill.files import folder_written_whole, is_set_aside, restore_folder, written_whole


@pytest.mark.posix
def test_a_file_appears_whole_with_its_ending_and_mode(tmp_path):
    target = tmp_path / "a.csv"
    with written_whole(target) as temporary:
        assert temporary.suffix == ".csv"
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask
    with written_whole(target, private=True) as temporary:
        temporary.write_text("newer")
    assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("trouble", [RuntimeError, KeyboardInterrupt, OSError])
def test_trouble_leaves_the_old_file_and_nothing_else(tmp_path, trouble):
    target = tmp_path / "a.csv"
    target.write_text("old")

    def interrupted():
        with written_whole(target) as temporary:
            temporary.write_text("half")
            raise trouble

    with pytest.raises(trouble):
        interrupted()
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_folders_that_cannot_hold_the_file_are_named(tmp_path):
    with (
        pytest.raises(InputError, match="out: there is no folder"),
        written_whole(tmp_path / "b" / "c", argument="out"),
    ):
        pass
    with pytest.raises(InputError, match=r"path: .* is a folder"), written_whole(tmp_path):
        pass


@pytest.mark.linux
def test_an_unwritable_folder_is_named():
    # Root may write anywhere but in /proc.
    with pytest.raises(InputError, match="cannot be written to"), written_whole("/proc/molehill.csv"):
        pass


@pytest.mark.posix
def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A process that may write 100 bytes to a file meets the same error as a full disk."""
    target = tmp_path / "records.csv"
    target.write_text("old")
    code = (
        "import resource, signal, sys, pandas as pd, molehill\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "molehill.write_table(pd.DataFrame({'a': range(10_000)}), sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "OSError" in done.stderr
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["records.csv"]


# Folders.


@pytest.fixture(params=["in one step", "in two"])
def exchange(request, monkeypatch):
    """Whether the system lets two folders change places."""
    if request.param == "in two":
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    return request.param


def replace_folder(target: Path) -> None:
    with folder_written_whole(target) as folder:
        (folder / "new").write_text("new")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_whole_and_replaces_another(tmp_path, exchange):
    del exchange
    out = tmp_path / "made" / "out"
    replace_folder(out)
    (out / "old").write_text("old")
    replace_folder(out)
    assert names(out) == ["new"]
    assert names(out.parent) == ["out"]


@pytest.mark.posix
def test_a_folder_is_private_until_it_appears(tmp_path, exchange):
    del exchange
    out = tmp_path / "out"
    for _ in range(2):
        with folder_written_whole(out) as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
        assert out.stat().st_mode & 0o777 == 0o755


@pytest.mark.linux
def test_linux_lets_folders_change_places_in_one_step(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert files._exchange(tmp_path / "one", tmp_path / "other")
    assert [names(tmp_path / "one"), names(tmp_path / "other")] == [["other"], ["one"]]
    with pytest.raises(FileNotFoundError):
        files._exchange(tmp_path / "one", tmp_path / "none")


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(errno.ENOSPC, "full")])
def test_trouble_while_a_folder_is_filled_leaves_the_old_one_and_nothing_else(tmp_path, exchange, trouble):
    del exchange
    out = tmp_path / "out"
    replace_folder(out)

    def interrupted():
        with folder_written_whole(out) as folder:
            (folder / "half").write_text("half")
            raise trouble

    with pytest.raises((KeyboardInterrupt, OSError)):
        interrupted()
    assert names(out) == ["new"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(errno.EIO, "broken")])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", [0, 1])
def test_trouble_at_any_step_of_replacing_leaves_the_old_or_the_new_folder(tmp_path, monkeypatch, step, after, trouble):
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").touch()
    rename, steps = Path.rename, []

    def break_down(path: Path, target: Path) -> Path:
        steps.append(path.name)
        at = len(steps) - 1 == step
        if at and not after:
            raise trouble
        done = rename(path, target)
        if at:
            raise trouble
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", break_down)
        with pytest.raises((KeyboardInterrupt, OSError)):
            replace_folder(out)
    assert names(out) == (["new"] if (step, after) == (1, True) else ["old"])
    replace_folder(out)
    assert names(tmp_path) == ["out"]


@pytest.mark.posix
@pytest.mark.parametrize("step", [0, 1])
def test_a_kill_between_the_steps_leaves_a_folder_that_is_found(tmp_path, step):
    out = tmp_path / "out"
    out.mkdir()
    (out / "old").touch()
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from molehill import files\n"
        "files._exchange = lambda *_: False\n"
        "rename, steps = Path.rename, []\n"
        "def die(path, target):\n"
        "    rename(path, target)\n"
        "    steps.append(path)\n"
        "    if len(steps) > int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
        "Path.rename = die\n"
        "with files.folder_written_whole(sys.argv[1]) as folder: (folder / 'new').touch()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(out), str(step)], check=False)
    assert done.returncode == -9
    assert is_set_aside(out) == (step == 0)
    assert restore_folder(out) == (step == 0)
    assert names(out) == [["old"], ["new"]][step]
    assert not restore_folder(out)
    replace_folder(out)
    assert names(tmp_path) == ["out"]


def test_of_what_lies_beside_only_ones_own_leftovers_are_removed(tmp_path):
    others = [".out.writing-1", ".out.writing-12345678.unfinished", ".o[ut].writing-12345678", ".out2.writing-12345678"]
    for name in (*others, ".out.writing-12345678"):
        (tmp_path / name).mkdir()
    replace_folder(tmp_path / "out")
    assert names(tmp_path) == sorted([*others, "out"])


@pytest.mark.posix
def test_of_a_link_what_it_leads_to_is_replaced(tmp_path, exchange):
    del exchange
    (tmp_path / "disk" / "out").mkdir(parents=True)
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "out")
    replace_folder(tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert names(tmp_path / "out") == ["new"]
    assert names(tmp_path / "disk") == ["out"]
