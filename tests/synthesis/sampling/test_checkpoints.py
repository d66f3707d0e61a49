"""Runs that were interrupted, killed or damaged go on to the same bytes."""

import errno
import io
import json
import os
import shutil
import signal
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from molehill.errors import InputError
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.checkpoints import write_chunk
from processes import run_python
from walks import CENTRE, same, walk, walk_engine


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "LONGEST_CHUNK", 10)
        walk(checkpoint=folder)
    return folder


@pytest.fixture
def finished(finished_folder, tmp_path) -> Path:
    """A copy of the checkpoints of a run that came to its end."""
    return Path(shutil.copytree(finished_folder, tmp_path / "finished"))


def chunks(folder: Path) -> list[Path]:
    return sorted(folder.glob("chunk-*.bin"))


def test_a_checkpoint_changes_nothing(plain, tmp_path):
    folder = tmp_path / "kept"
    assert same(plain, walk(checkpoint=folder))
    assert len(chunks(folder)) == 6
    again = walk(checkpoint=folder)
    assert same(plain, again)
    assert again.resumed == 6


@pytest.mark.posix
def test_checkpoints_are_for_their_owner_only_and_hold_no_pickle(tmp_path):
    folder = tmp_path / "kept"
    mask = os.umask(0o022)
    try:
        walk(checkpoint=folder)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert len(files) == 7
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    for file in chunks(folder):
        content = file.read_bytes()
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as saved:
            assert not any(saved[name].dtype.hasobject for name in saved)
    assert json.loads((folder / "run.json").read_text()).keys() == {"fingerprint"}


class StoppedError(Exception):
    pass


@pytest.mark.parametrize(
    ("number", "kind"), [*((number, KeyboardInterrupt) for number in (0, 1, 3, 5)), (2, StoppedError)]
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(plain, tmp_path, monkeypatch, number, kind):

    def interrupt(store, at, *rest):
        if at == number:
            raise kind
        write_chunk(store, at, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(sampling, "write_chunk", interrupt)
        with pytest.raises(kind):
            walk(checkpoint=tmp_path)
    assert len(chunks(tmp_path)) == number
    resumed = walk(checkpoint=tmp_path)
    assert resumed.resumed == number
    assert same(plain, resumed)


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "a flipped bit": flip,
    "its first byte changed": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "cut in half": lambda content: content[: len(content) // 2],
    "only a checksum left": lambda content: content[:32],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize("number", [0, 3])
def test_a_damaged_chunk_is_set_aside_with_all_that_follow(plain, finished, number, damage):
    broken = finished / f"chunk-{number:05}.bin"
    broken.write_bytes(damage(broken.read_bytes()))
    resumed = walk(checkpoint=finished)
    assert resumed.resumed == number
    assert same(plain, resumed)
    aside = [file.stem for file in sorted(finished.glob("*.damaged"))]
    assert aside == [f"chunk-{k:05}" for k in range(number, 6)]
    assert len(chunks(finished)) == 6


def test_chunks_of_another_run_do_not_pass_for_ones_own(plain, finished, tmp_path):
    walk(checkpoint=tmp_path / "other", seed=2)
    (tmp_path / "other" / "chunk-00002.bin").replace(finished / "chunk-00002.bin")
    resumed = walk(checkpoint=finished)
    assert resumed.resumed == 2
    assert same(plain, resumed)


def test_a_lost_chunk_is_made_again(plain, finished):
    (finished / "chunk-00003.bin").unlink()
    assert same(plain, walk(checkpoint=finished))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null"])
def test_a_damaged_note_is_set_aside_and_whole_chunks_still_serve(plain, finished, content):
    (finished / "run.json").write_bytes(content)
    resumed = walk(checkpoint=finished)
    assert (finished / "run.damaged").read_bytes() == content
    assert resumed.resumed == 6
    assert same(plain, resumed)


OTHERS = {
    "seed": {"seed": 2},
    "data": {"centre": CENTRE + np.array([0.0, 0.0, 1e-12])},
    "shape of the data": {"centre": CENTRE[None]},
    "chains": {"chains": 4},
    "engine": {"name": "another walk"},
    "warm-up": {"warmup": 10},
    "draws": {"draws": 50},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS.keys())
def test_a_checkpoint_of_another_run_is_refused(finished, change):
    before = {file.name: file.read_bytes() for file in finished.iterdir()}
    with pytest.raises(InputError, match=r"checkpoint: .* other data, settings or versions\. Use another") as caught:
        walk(**{"checkpoint": finished, **change})
    assert caught.value.argument == "checkpoint"
    assert {file.name: file.read_bytes() for file in finished.iterdir()} == before


def test_another_version_of_a_library_is_another_run(finished, monkeypatch):
    monkeypatch.setattr(sampling, "version", lambda name: f"{name} of tomorrow")
    with pytest.raises(InputError, match="checkpoint"):
        walk(checkpoint=finished)


def test_a_seed_may_be_a_number_of_numpy(plain, finished):
    assert same(plain, walk(seed=np.int64(1), checkpoint=finished))  # type: ignore[arg-type]


# Runs in processes of their own.

KILLED = """
    import os, signal, sys
    from pathlib import Path
    import numpy as np
    from molehill.runtime import prepare_jax
    from molehill.synthesis.sampling import chains
    from walks import walk
    prepare_jax()
    chains.LONGEST_CHUNK = 10
    folder, place, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    def die():
        os.kill(os.getpid(), signal.SIGKILL)
    write, half = chains.write_chunk, Path.write_bytes
    def write_and_die(store, number, *rest):
        if number == last and place == "before":
            die()
        if number == last and place == "within":
            Path.write_bytes = lambda path, content: (half(path, content[: len(content) // 2]), die())
        write(store, number, *rest)
        if number == last and place == "after":
            die()
    chains.write_chunk = write_and_die
    run = walk(seed=1, checkpoint=folder)
    np.savez(sys.argv[4], place=run.draws["place"], accept=run.accept)
"""


def run_killed(folder: Path, place: str = "never", last: int = -1) -> int:
    """Run a walk that kills itself before, within or after the writing of a chunk."""
    done = run_python(KILLED, folder, place, last, folder.parent / "result.npz")
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.posix
def test_kill_9_at_a_chunk_then_the_same_call_gives_the_same_bytes(plain, tmp_path):
    folder, kept = tmp_path / "kept", 0
    # Each attempt goes on from the one before; the last had all chunks, and no result.
    for place, last in (("before", 1), ("within", 3), ("after", 5)):
        assert run_killed(folder, place, last) == -signal.SIGKILL
        kept = last + (place == "after")
        assert len(chunks(folder)) == kept
    resumed = walk(checkpoint=folder)
    assert resumed.resumed == kept
    assert same(plain, resumed)


def test_a_run_in_another_process_has_the_same_bytes(plain, tmp_path):
    assert run_killed(tmp_path / "kept") == 0
    with np.load(tmp_path / "result.npz") as saved:
        assert saved["place"].tobytes() == plain.draws["place"].tobytes()
        assert saved["accept"].tobytes() == plain.accept.tobytes()


# Going on costs little.


def test_a_finished_run_is_read_and_nothing_is_compiled_or_prepared(plain, finished, monkeypatch):
    def fail(*_: Any) -> Any:
        raise AssertionError("compiled")

    monkeypatch.setattr(sampling, "_compile", fail)
    assert same(plain, walk(checkpoint=finished))


def test_a_run_that_goes_on_is_not_started_again(plain, finished, monkeypatch):
    (finished / "chunk-00005.bin").unlink()
    compile_ = sampling._compile

    def watch(*arguments: Any) -> Any:
        def fail(*_: Any) -> Any:
            raise AssertionError("started")

        return replace(compile_(*arguments), start=fail)

    monkeypatch.setattr(sampling, "_compile", watch)
    resumed = walk(checkpoint=finished)
    assert resumed.resumed == 5
    assert same(plain, resumed)


@pytest.mark.parametrize(("numbers", "length"), [(3, 20), (10**6, 20), (10**7, 2), (10**9, 1)])
def test_chunks_are_shorter_where_data_are_large(monkeypatch, numbers, length):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 25)
    large = np.broadcast_to(np.float64(0.0), numbers)
    assert sampling._chunk_length(walk_engine(), {"data": large}) == length


def test_a_folder_of_checkpoints_that_is_removed_meanwhile_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "kept"

    def remove(store: Any, number: int, *rest: Any) -> None:
        if number == 2:
            shutil.rmtree(folder)
        write_chunk(store, number, *rest)

    monkeypatch.setattr(sampling, "write_chunk", remove)
    with pytest.raises(InputError, match=r"checkpoint: the folder '.*/kept' was deleted.*\. Start again") as caught:
        walk(checkpoint=folder)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("trouble", ["a file", "in a file"])
def test_a_folder_that_cannot_hold_checkpoints_is_named(tmp_path, trouble):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" if trouble == "a file" else tmp_path / "file" / "kept"
    with pytest.raises(InputError, match=r"checkpoint: the folder '.*' cannot be used \(") as caught:
        walk(checkpoint=folder)
    assert str(folder) in str(caught.value)


def test_a_chunk_that_cannot_be_read_is_told_with_its_folder(finished):
    (finished / "chunk-00002.bin").unlink()
    (finished / "chunk-00002.bin").mkdir()
    with pytest.raises(InputError, match=r"checkpoint: the folder '.*/finished' cannot be used \("):
        walk(checkpoint=finished)


def test_a_full_disk_keeps_the_chunks_so_far(plain, tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if len(chunks(tmp_path)) == 3:
            write(path, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            walk(checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "chunk-00000.bin",
        "chunk-00001.bin",
        "chunk-00002.bin",
        "run.json",
    ]
    assert same(plain, walk(checkpoint=tmp_path))
