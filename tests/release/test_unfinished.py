"""An unfinished run goes on with what it was begun with, or says what has changed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.plan.settings import Settings
from molehill.release import runs as running
from molehill.release.runs import run
from molehill.release.unfinished import begin, clear, is_begun
from molehill.tables.table import Table

PLANTED = "Quilliam"
PEOPLE = pd.DataFrame(
    {"town": ["A", "B", "A", PLANTED], "age": [31, 32, 33, 44], "pay": [100.0, 200.0, 300.0, 918273.0]}
)
SETTINGS = Settings(synthesize="pay", keep=["town", "age"], known=["town"], lower=0, upper=1000, radius=0.2)


class StoppedRunError(Exception):
    pass


@pytest.fixture
def interrupted(tmp_path, monkeypatch) -> Path:
    """A run that was interrupted after its first chunk; whatever goes on with it is not begun."""

    def interrupt(data, settings, *, checkpoint, **_):
        del data, settings
        (checkpoint / "pairwise").mkdir(parents=True)
        (checkpoint / "pairwise" / "chunk-00000.bin").write_bytes(b"")
        raise StoppedRunError

    monkeypatch.setattr(running, "synthesize", interrupt)
    with pytest.raises(StoppedRunError):
        run(PEOPLE, SETTINGS, tmp_path / "out", progress=False)
    monkeypatch.setattr(running, "synthesize", refuse_work)
    return tmp_path / ".out.unfinished"


class WorkedError(Exception):
    pass


def refuse_work(*_, **__):
    raise WorkedError


def go_on(folder: Path, data=PEOPLE, settings=SETTINGS) -> None:
    run(data, settings, folder.parent / "out", resume=True, progress=False)


def refusal(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.__context__ is None
    text = str(caught.value)
    assert "\n" not in text
    assert PLANTED not in text
    assert "918273" not in text
    return text


@pytest.mark.posix
def test_the_notes_are_private_and_hold_no_value(interrupted):
    assert {path.name for path in interrupted.iterdir()} == {"seed.json", "begun.json", "checkpoints", "lock"}
    for path in interrupted.rglob("*.json"):
        assert path.stat().st_mode & 0o777 == 0o600
    text = (interrupted / "begun.json").read_text()
    for value in (PLANTED, "918273", "1000", "0.2"):
        assert f'"{value}' not in text
        assert f" {value}" not in text
    with pytest.raises(WorkedError):
        go_on(interrupted)


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_run_without_checkpoints_goes_on_with_its_seed(tmp_path, monkeypatch, stopped, compiled):
    seeds = []

    def stop(data, settings, **_):
        del data
        seeds.append(settings.seed)
        try:
            raise stopped
        except stopped as error:
            if compiled:
                raise SystemError("returned a result with an exception set") from error
            raise

    monkeypatch.setattr(running, "synthesize", stop)
    for resume in (False, True):
        with pytest.raises(stopped):
            run(PEOPLE, SETTINGS, tmp_path / "out", resume=resume, progress=False)
    assert seeds[0] == seeds[1]
    # What is refused has come to nothing.
    monkeypatch.setattr(running, "synthesize", refuse_work)
    with pytest.raises(WorkedError):
        run(PEOPLE, SETTINGS, tmp_path / "out", resume=True, progress=False)
    assert not (tmp_path / ".out.unfinished").exists()


def test_without_resume_it_is_not_begun_anew(interrupted):
    text = refusal(lambda: run(PEOPLE, SETTINGS, interrupted.parent / "out"))
    assert f"an unfinished run for this folder is in {str(interrupted)!r}. Add --resume" in text


OTHERS = {
    "a setting": ({"settings": SETTINGS.but(radius=0.3)}, "the settings 'radius'"),
    "two settings": ({"settings": SETTINGS.but(datasets=3, lower=-1)}, "the settings 'lower', 'datasets'"),
    "contents": ({"data": PEOPLE.assign(age=[31, 32, 33, 45])}, "the contents of the columns 'age'"),
    "a type": ({"data": PEOPLE.astype({"age": float})}, "the contents of the columns 'age'"),
    "a label": ({"data": Table(PEOPLE, {"town": "Town"})}, "the contents of the columns 'town'"),
    "rows in another order": (
        {"data": PEOPLE.iloc[::-1].reset_index(drop=True)},
        "the contents of the columns 'town', 'age', 'pay'",
    ),
    "a column more": ({"data": PEOPLE.assign(new=1)}, "columns that were added: 'new'"),
    "a column less": ({"data": PEOPLE.drop(columns="age")}, "columns that are gone: 'age'"),
    "a column renamed": (
        {"data": PEOPLE.rename(columns={"age": "years"})},
        "columns that were added: 'years'; columns that are gone: 'age'",
    ),
    "columns in another order": ({"data": PEOPLE[["age", "town", "pay"]]}, "the order of the columns"),
    "a record more": ({"data": pd.concat([PEOPLE, PEOPLE.iloc[:1]])}, "the number of records"),
}


@pytest.mark.parametrize(("change", "words"), OTHERS.values(), ids=OTHERS.keys())
def test_what_has_changed_is_named_before_any_work(interrupted, change, words):
    before = {path: path.read_bytes() for path in interrupted.rglob("*") if path.is_file()}
    text = refusal(lambda: go_on(interrupted, **change))
    assert f"since the run in {str(interrupted)!r} was begun there have changed: {words}. Go on with" in text
    assert {path: path.read_bytes() for path in interrupted.rglob("*") if path.is_file()} == before


def test_another_version_is_named(interrupted, monkeypatch):
    monkeypatch.setattr("molehill.release.unfinished.version", lambda name: f"{name} of tomorrow")
    assert "the version of jax" in refusal(lambda: go_on(interrupted))


def test_another_seed_is_refused_and_the_same_goes_on(interrupted):
    seed = json.loads((interrupted / "seed.json").read_text())["seed"]
    with pytest.raises(WorkedError):
        go_on(interrupted, settings=SETTINGS.but(seed=seed))
    text = refusal(lambda: go_on(interrupted, settings=SETTINGS.but(seed=seed + 1)))
    assert str(interrupted) in text
    assert str(seed) not in text


DAMAGED = [b"", b"{", b"null", b"[]", b"{}", b"\xff\xfe", b'{"seed": null}', b'{"seed": "1"}', b'{"seed": -1}']


@pytest.mark.parametrize("content", [*DAMAGED, b'{"seed": 1e400}', b'{"seed": 9223372036854775808}'])
def test_a_damaged_seed_is_told_with_its_path_and_what_to_do(interrupted, content):
    (interrupted / "seed.json").write_bytes(content)
    text = refusal(lambda: go_on(interrupted))
    assert f"{str(interrupted / 'seed.json')!r} is damaged" in text
    assert f"to begin anew remove the folder {str(interrupted)!r}" in text
    # Whoever knows the seed can go on.
    with pytest.raises(WorkedError):
        go_on(interrupted, settings=SETTINGS.but(seed=3))
    assert json.loads((interrupted / "seed.json").read_text()) == {"seed": 3}


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_note_of_the_beginning_is_set_aside(interrupted, content):
    (interrupted / "begun.json").write_bytes(content)
    with pytest.raises(WorkedError):
        go_on(interrupted)
    assert (interrupted / "begun.damaged").read_bytes() == content
    assert "radius" in json.loads((interrupted / "begun.json").read_text())["settings"]
    clear(interrupted)
    assert not is_begun(interrupted)
    assert [path.name for path in interrupted.iterdir()] == ["lock"]


@pytest.mark.parametrize("lost", ["checkpoints", "seed.json", "begun.json", "."])
def test_what_was_removed_is_made_again(interrupted, lost):
    path = interrupted / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(WorkedError):
        go_on(interrupted)


@pytest.mark.posix
@pytest.mark.parametrize("name", ["seed.json", "begun.json"])
def test_a_note_that_cannot_be_read_is_told(interrupted, name):
    (interrupted / name).unlink()
    (interrupted / name).mkdir()
    text = refusal(lambda: go_on(interrupted))
    assert f"the folder {str(interrupted)!r} cannot be used (Is a directory)" in text


@pytest.mark.posix
def test_a_folder_of_somebody_else_is_told(interrupted):
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from molehill.errors import InputError\n"
        "from molehill.release.locks import held\n"
        "os.setuid(65534)\n"
        "try:\n"
        "    held(Path(sys.argv[1])).__enter__()\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    for folder in (interrupted.parent, *interrupted.parent.parents[:1]):
        folder.chmod(0o755)
    out = interrupted.parent / "out"
    done = subprocess.run([sys.executable, "-c", program, str(out)], capture_output=True, text=True, check=False)
    assert "cannot be written to (Permission denied)" in done.stdout, done.stderr


def test_what_cannot_be_hashed_at_once_still_tells_a_change(tmp_path):
    odd = pd.DataFrame({"mixed": pd.Series([1, "a", None, (1, 2)], dtype=object), "b": [True, False, None, True]})
    odd["levels"] = pd.Categorical(["x", "y", "x", "y"], categories=["y", "x"])
    begin(SETTINGS, Table(odd), tmp_path, resume=False)
    begin(SETTINGS, Table(odd.copy()), tmp_path, resume=True)
    other = odd.assign(mixed=pd.Series([1, "a", None, (1, 3)], dtype=object))
    with pytest.raises(InputError, match="the contents of the columns 'mixed'"):
        begin(SETTINGS, Table(other), tmp_path, resume=True)
    with pytest.raises(InputError, match="the contents of the columns 'levels'"):
        begin(SETTINGS, Table(odd.assign(levels=["x", "y", "x", "y"])), tmp_path, resume=True)
