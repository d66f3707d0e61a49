import os
import subprocess
import sys

import pytest

from molehill import InputError
from molehill.files import written_whole


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


def test_an_unwritable_folder_is_named():
    # Root may write anywhere but in /proc.
    with pytest.raises(InputError, match="cannot be written to"), written_whole("/proc/molehill.csv"):
        pass


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
