"""Releases on disk: whole or not at all, private where they must be, nothing confidential where they must not."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import in_words, said_in_words  # noqa: F401
from modes import is_private
from molehill import files
from molehill.errors import InputError
from molehill.plan.settings import Settings
from molehill.release import locks
from molehill.release import release as saving
from molehill.release import runs as running
from molehill.release.release import Release, make_dossier
from molehill.release.runs import run
from molehill.release.synthesize import synthesize
from molehill.report.dossier import read_dossier
from molehill.report.trail import verify_release
from molehill.synthesis.sampling import chains
from molehill.synthesis.sampling.checkpoints import write_chunk
from molehill.tables.table import as_table
from processes import SUPPORT

pytestmark = pytest.mark.usefixtures("in_words")
RNG = np.random.default_rng(9)
# A rare value that nobody else has, a rare town, and a strange name: none may reach what is published.
PLANTED = 918273
PEOPLE = pd.DataFrame(
    {
        "town": pd.Categorical(RNG.choice(["A", "B"], 120)),
        "sex": pd.Categorical(RNG.choice(["f", "m"], 120)),
        "visits": RNG.negative_binomial(3, 0.02, 120),
    }
)
PEOPLE.loc[7, "visits"] = PLANTED
SEED = 876543210123
SETTINGS = Settings(
    risk_order=2,
    synthesize=("visits",),
    keep=("town", "sex"),
    known=("town", "sex"),
    predictors=("town", "sex"),
    synthesizer="poisson",
    lower=0,
    upper=2000,
    datasets=2,
    compare=("topcoding",),
    expected_risk_draws=0,
    attacks="none",
    seed=SEED,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Release]:
    folder = tmp_path_factory.mktemp("releases") / "out"
    with said_in_words():
        return folder, run(PEOPLE, SETTINGS, folder, release_anyway=True, progress=False)


@pytest.fixture(scope="module")
def saved(made) -> Path:
    return made[0]


@pytest.fixture(scope="module")
def release(made) -> Release:
    return made[1]


def pages_of(folder: Path) -> Callable[..., str]:
    """Stand in for the writing of reports, most of the time of a run: give those that a folder has."""
    places = {"public": folder / "release", "internal": folder / "internal"}
    pages = {edition: (place / "report.html").read_text(encoding="utf-8") for edition, place in places.items()}
    return lambda *_, edition, **__: pages[edition]


def test_two_folders_and_nothing_left_over(saved):
    assert sorted(path.name for path in saved.parent.iterdir()) == ["out"]
    assert sorted(path.name for path in saved.iterdir()) == ["internal", "release"]
    published = sorted(path.name for path in (saved / "release").iterdir())
    assert published == ["methods.md", "report.html", "synthetic_01.csv", "synthetic_02.csv"]
    kept = {path.name for path in (saved / "internal").iterdir()}
    known = {
        "report.html",
        "settings.toml",
        "manifest.json",
        "draws.npz",
        "evaluation",
        "weights.parquet",
        "times.json",
    }
    assert known <= kept


def test_what_is_kept_is_for_its_owner_only(saved):
    internal = saved / "internal"
    assert all(map(is_private, [internal, *internal.rglob("*")]))


def test_nothing_confidential_is_published(saved):
    record_risks = read_dossier(saved).evaluation.records["risk"].dropna()
    told = {f"{risk:.6f}" for risk in record_risks if 0 < risk < 1}
    for path in (saved / "release").iterdir():
        text = path.read_text(encoding="utf-8")
        plain = re.sub(r"(?<=\d)[,\u202f\u00a0 ](?=\d{3})", "", text)
        for secret in (str(PLANTED), str(SEED)):
            assert secret not in plain, (path, secret)
        assert "seed" not in text.lower() or path.name == "report.html"
        if path.suffix in (".md", ".html"):
            # Quartiles and the like are the risk of some record; a list of records would hold nearly all of them.
            assert sum(risk in text for risk in told) < len(told) / 4, path


def test_the_manifest_has_the_hash_of_every_file(saved):
    manifest = json.loads((saved / "internal" / "manifest.json").read_text())
    files = {str(path.relative_to(saved)) for path in saved.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"internal/manifest.json", "internal/times.json"}
    assert manifest["records"] == 120
    assert manifest["versions"]["molehill"]
    assert manifest["input"] == {"file": None, "content": as_table(PEOPLE).content_hash}
    assert verify_release(saved).holds


def test_the_dossier_comes_back_as_it_was(saved):
    again = read_dossier(saved)
    assert again.settings.seed == SEED
    assert again.scheme == "pairwise"
    assert again.evaluation.schemes == ("pairwise", "topcoding")
    assert len(again.weights) == 120
    assert again.fits["converged"].dtype == bool


def test_the_report_is_made_again_to_the_same_bytes(saved, tmp_path):
    copy = shutil.copytree(saved, tmp_path / "copy")
    before = {path: path.read_bytes() for path in (copy / "release" / "report.html", copy / "internal" / "report.html")}
    for path in before:
        path.unlink()
    assert set(saving.rebuild_report(copy)) == set(before)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert is_private(copy / "internal" / "report.html")


def test_reports_made_again_otherwise_are_written_down(saved, tmp_path, monkeypatch):
    copy, told = Path(shutil.copytree(saved, tmp_path / "copy")), []
    before = verify_release(saved)
    pages = pages_of(saved)
    monkeypatch.setattr(saving, "render_report", lambda *given, **named: pages(*given, **named) + "<!-- later -->")
    saving.rebuild_report(copy, on_stage=told.append)
    after = verify_release(copy)
    assert after.holds
    assert after.fingerprint != before.fingerprint
    assert told == ["the public report is another than before: what was signed or published is not this release"]
    times = json.loads((copy / "internal" / "times.json").read_text())
    (again,) = times["again"]
    assert again["fingerprint_before"] == before.fingerprint
    assert again["by"] == times["by"]
    assert json.loads((copy / "internal" / "dossier.json").read_text())["release"]["fingerprint"] == after.fingerprint
    # Other files are held to what they were.
    (copy / "release" / "synthetic_01.csv").write_text("other")
    saving.rebuild_report(copy)
    assert [(one.kind, one.file) for one in verify_release(copy).problems] == [("changed", "release/synthetic_01.csv")]


def test_a_release_of_an_earlier_version_gets_its_dossier_for_archives(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "render_report", pages_of(saved))
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    internal = copy / "internal"
    (internal / "dossier.json").unlink()
    manifest = json.loads((internal / "manifest.json").read_text())
    manifest["files"].pop("internal/dossier.json")
    facts = json.loads((internal / "facts.json").read_text())
    facts["facts"].pop("input")
    (internal / "facts.json").write_text(json.dumps(facts))
    manifest["files"]["internal/facts.json"] = files.hash_file(internal / "facts.json")
    left = {name: value for name, value in manifest.items() if name not in ("input", "fingerprint")}
    (internal / "manifest.json").write_text(json.dumps(left))
    (internal / "times.json").write_text('{"made": "2026-01-01T00:00:00+00:00"}')
    assert verify_release(copy).holds
    told = []
    saving.rebuild_report(copy, on_stage=told.append)
    assert told == []
    assert verify_release(copy).holds
    assert json.loads((internal / "dossier.json").read_text())["inputs"]["confidential"] is None


def test_a_report_is_made_again_without_a_manifest(saved, tmp_path, monkeypatch):
    copy, pages, fingerprints = Path(shutil.copytree(saved, tmp_path / "copy")), pages_of(saved), []

    def render(*_, edition, fingerprint=None):
        fingerprints.append(fingerprint)
        return pages(edition=edition)

    monkeypatch.setattr(saving, "render_report", render)
    (copy / "internal" / "manifest.json").write_text("{")
    saving.rebuild_report(copy)
    assert fingerprints == [None, json.loads((saved / "internal" / "manifest.json").read_text())["fingerprint"]]
    assert (copy / "internal" / "manifest.json").read_text() == "{"
    for name in ("release/report.html", "internal/report.html", "internal/dossier.json"):
        assert (copy / name).read_bytes() == (saved / name).read_bytes()


def test_a_folder_that_exists_is_refused_before_any_work(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "synthesize", None)
    with pytest.raises(InputError, match="exists already"):
        run(PEOPLE, SETTINGS, saved)
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="holds no release"):
        run(PEOPLE, SETTINGS, tmp_path / "mine", overwrite=True)


def test_no_release_in_a_folder_is_told(tmp_path):
    with pytest.raises(InputError, match="holds no saved release"):
        read_dossier(tmp_path)


def test_an_unfinished_run_is_not_begun_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "synthesize", None)
    (tmp_path / ".out.unfinished").mkdir()
    (tmp_path / ".out.unfinished" / "seed.json").write_text('{"seed": 3}')
    with pytest.raises(InputError, match=r"--resume .*, or remove that folder"):
        run(PEOPLE, SETTINGS, tmp_path / "out")
    assert (tmp_path / ".out.unfinished" / "seed.json").exists()


def test_what_is_refused_before_any_work_leaves_nothing_behind(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'town'"):
        run(PEOPLE, SETTINGS.but(known=("twon",)), tmp_path / "out", progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        run(PEOPLE, SETTINGS, tmp_path / "file" / "out")


def same_release(one: Path, other: Path) -> None:
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    different = {str(name) for name in files if (one / name).read_bytes() != (other / name).read_bytes()}
    assert different <= {"internal/times.json"}


def test_when_it_was_made_and_how_long_it_took_is_in_one_file(saved):
    times = json.loads((saved / "internal" / "times.json").read_text())
    assert datetime.fromisoformat(times["made"]) > datetime(2026, 1, 1, tzinfo=UTC)
    assert times["seconds"]["fitting: pairwise"] == times["fits"]["pairwise"] > 0
    day = times["made"][:10]
    for path in saved.rglob("*"):
        if path.suffix in (".json", ".md", ".html", ".toml", ".csv") and path.name != "times.json":
            assert day not in path.read_text(encoding="utf-8"), path


# Killed, and two at once: in processes that are forked from one in which all is imported.

FORKING = """
import json, os, sys
sys.path[:0] = sys.argv[1:]
import test_runs
for line in iter(sys.stdin.readline, ""):
    name, arguments = json.loads(line)
    process = os.fork()
    if not process:
        getattr(test_runs, name)(*arguments)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Forking:
    """Calls of functions of this file, each in a process of its own."""

    def __init__(self, process: Any) -> None:
        self.process = process

    def begin(self, call: Callable[..., None], *arguments: object) -> None:
        print(json.dumps([call.__name__, [*map(str, arguments)]]), file=self.process.stdin, flush=True)

    def read(self) -> str:
        """A line that the process has printed; at last its exit code."""
        return self.process.stdout.readline().strip()

    def call(self, call: Callable[..., None], *arguments: object) -> int:
        self.begin(call, *arguments)
        return int(self.read())


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    command = [sys.executable, "-c", FORKING, str(Path(__file__).parent), SUPPORT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Forking(process)
        process.stdin.close()  # type: ignore[union-attr]


def die(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def run_until(place: str, out: str, pages: str) -> None:
    """Begin a run, or go on with it, and be killed where a stage begins, after the third chunk, or amid the report."""
    page, chunks, patch = pages_of(Path(pages)), count(1), pytest.MonkeyPatch()

    def write(*given: Any) -> None:
        write_chunk(*given)
        if place == "after a chunk" and next(chunks) == 3:
            die()

    def render(*_: Any, edition: Any, **__: Any) -> str:
        return die() if place == "amid the report" and edition == "internal" else page(edition=edition)

    patch.setattr(chains, "write_chunk", write)
    patch.setattr(saving, "render_report", render)
    run(
        PEOPLE,
        SETTINGS,
        out,
        resume=True,
        release_anyway=True,
        progress=False,
        on_stage=lambda stage: die() if stage == place else None,
    )


def write_until(place: str, out: str) -> None:
    """Go on with a run whose release is made in no time, and be killed amid the writing of it."""

    def write(release: Any, target: Path, **_how: Any) -> None:
        del release
        with files.folder_written_whole(target) as folder:
            (folder / "release").mkdir()
            (folder / "release" / "synthetic_01.csv").write_text(place)
            die()

    running.synthesize = lambda *_, **__: None  # type: ignore[assignment]
    running.write_release = write  # type: ignore[attr-defined]
    run(PEOPLE, SETTINGS, out, resume=True, release_anyway=True, progress=False)


AMID = "amid the writing"
STAGES = ["measuring the risk", "fitting: pairwise", "drawing tables", "measuring risk and utility"]
ALONE = (*STAGES, "writing the report", "after a chunk", "amid the report")
EVERYWHERE = [*([stage] for stage in ALONE), ["after a chunk", "amid the report"]]


@pytest.mark.linux
@pytest.mark.parametrize(
    "places",
    [["after a chunk", AMID], *(pytest.param(one, marks=pytest.mark.slow) for one in EVERYWHERE)],
    ids=", ".join,
)
def test_killed_at_any_stage_it_goes_on_to_the_same_bytes(saved, forking, tmp_path, monkeypatch, places):
    out = tmp_path / "out"
    for place in places:
        call = (write_until, place, out) if place == AMID else (run_until, place, out, saved)
        assert forking.call(*call) == -signal.SIGKILL
        assert not out.exists()
        assert (tmp_path / ".out.unfinished" / "seed.json").exists()
    # What was sampled before is not sampled again.
    before, sampled = len([*tmp_path.rglob("chunk-*.bin")]), []
    monkeypatch.setattr(chains, "write_chunk", lambda *given: sampled.append(given[1]) or write_chunk(*given))
    monkeypatch.setattr(saving, "render_report", pages_of(saved))
    run(PEOPLE, SETTINGS, out, resume=True, release_anyway=True, progress=False)
    assert sampled[:1] == ([before] if places[-1] in ("after a chunk", AMID, *STAGES[:2]) else [])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    same_release(saved, out)


# It needs the right to mount, which few have who run the tests.
@pytest.mark.slow
@pytest.mark.linux
def test_on_a_full_disk_nothing_is_half_written_and_a_rerun_completes(saved, release, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "render_report", pages_of(saved))
    # What is found of the tables is the same as of the first run.
    making = sys.modules[synthesize.__module__]
    monkeypatch.setattr(making, "evaluate_schemes", lambda *_, **__: release.evaluation)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        with pytest.raises((OSError, InputError)):
            run(PEOPLE, SETTINGS, disk / "out", release_anyway=True, progress=False)
        assert not (disk / "out").exists()
        subprocess.run(["mount", "-o", "remount,size=80m", str(disk)], check=True)
        run(PEOPLE, SETTINGS, disk / "out", resume=True, release_anyway=True, progress=False)
        same_release(saved, disk / "out")
        assert [path.name for path in disk.iterdir()] == ["out"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_failed_save_leaves_nothing_behind(release, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "write_dossier", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space"):
        release.save(tmp_path / "out", release_anyway=True)
    assert list(tmp_path.iterdir()) == []


def test_what_a_dossier_says_of_the_fits(release):
    fits = make_dossier(release).fits
    assert list(fits["scheme"]) == ["pairwise"]
    assert (fits["effective_size"] > 0).all()
    assert "seconds" not in fits
    assert release.fits["seconds"].notna().all()


# Two runs at once.


def hold_at(place: str, out: str) -> None:
    """Begin a run in place of a release, say who it is where a stage begins, and stay there."""

    def wait(stage: str) -> None:
        if stage == place:
            print(os.getpid(), flush=True)  # noqa: T201
            signal.pause()

    # The lock is held by the run, whatever is made in it.
    running.synthesize = lambda *_, on_stage, **__: on_stage(STAGES[0])  # type: ignore[assignment]
    run(PEOPLE, SETTINGS, out, overwrite=True, release_anyway=True, progress=False, on_stage=wait)


@pytest.mark.linux
@pytest.mark.parametrize("stage", [STAGES[0], "writing the report"])
def test_a_second_run_is_told_who_holds_the_folder_from_the_first_stage_to_the_last(saved, forking, tmp_path, stage):
    out = Path(shutil.copytree(saved, tmp_path / "out"))
    forking.begin(hold_at, stage, out)
    first = int(forking.read())
    try:
        before = sorted(tmp_path.rglob("*"))
        for resume in (False, True):
            with pytest.raises(InputError, match=rf"out: process {first}, since 2.* UTC, is at work") as caught:
                run(PEOPLE, SETTINGS, out, resume=resume, overwrite=True, release_anyway=True, progress=False)
            assert "remove" not in str(caught.value)
        with pytest.raises(InputError, match="is at work"):
            saving.save_release(None, out, overwrite=True)  # type: ignore[arg-type]
        assert sorted(tmp_path.rglob("*")) == before
    finally:
        os.kill(first, signal.SIGKILL)
        assert int(forking.read()) == -signal.SIGKILL
    same_release(saved, out)
    # The killed one holds nothing any more.
    with locks.held(out) as folder:
        assert (folder / "seed.json").exists()


# Replaced: the old release or the new one, whatever happens.

FILES = 5


def replace_until(number: str, out: str, how: str) -> None:
    """Replace a release, and be killed before the system is asked for the so-manieth time to do something to a file."""

    def fill(release: Any, target: Path, **_how: Any) -> None:
        del release
        with files.folder_written_whole(target) as folder:
            (folder / "internal").mkdir()
            for name in ("facts.json", *map(str, range(1, FILES))):
                (folder / "internal" / name).write_text("new")

    asked = count(1)

    def look(event: str, _: object) -> None:
        if event.startswith(("open", "os.", "shutil.")) and next(asked) == int(number):
            die()

    if how == "without exchange":
        files._exchange = lambda *_: False
    saving.write_release = fill
    sys.addaudithook(look)
    saving.save_release(None, out, overwrite=True)  # type: ignore[arg-type]


def old_release(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    (out / "internal").mkdir(parents=True)
    (out / "internal" / "facts.json").write_text("old")


@pytest.mark.linux
@pytest.mark.parametrize("how", ["with exchange", "without exchange"])
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_while_it_replaces_a_release_the_old_or_the_new_one_is_there(forking, tmp_path, how, every):
    out, found = tmp_path / "out", []
    for number in count(1, every):
        old_release(out)
        code = forking.call(replace_until, number, out, how)
        if how == "with exchange":
            assert out.exists()
        told = []
        with locks.held(out):
            saving.take_back(out, told.append)
        if told:
            assert "the earlier release is back" in told[0]
        content = (out / "internal" / "facts.json").read_text()
        assert content == "old" or (content == "new" and len([*(out / "internal").iterdir()]) == FILES)
        found.append(content)
        if code == 0:
            break
        assert code == -signal.SIGKILL
    # Killed early it is the old one, and late the new one; what a killed one left is first removed by the next.
    assert (found[0], found[-1]) == ("old", "new")
    assert len(found) > 5
    with files.folder_written_whole(out) as folder:
        (folder / "last").write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_release_that_was_set_aside_is_found_by_report_and_by_run(saved, tmp_path, monkeypatch):
    out = Path(shutil.copytree(saved, tmp_path / "out"))
    told = []
    monkeypatch.setattr(saving, "render_report", pages_of(saved))
    out.rename(tmp_path / ".out.replaced")
    assert saving.rebuild_report(out, on_stage=told.append)[-1].exists()
    same = [f"the earlier release is back in {str(out)!r}: a run was killed that was about to replace it"]
    assert told == same
    out.rename(tmp_path / ".out.replaced")
    monkeypatch.setattr(running, "synthesize", None)
    with pytest.raises(InputError, match="exists already"):
        run(PEOPLE, SETTINGS, out, on_stage=told.append)
    assert told == same * 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_checkpoints_removed_meanwhile_is_told_in_one_line(tmp_path, monkeypatch, resume):
    def remove(*_, checkpoint, **__):
        checkpoint.mkdir()
        shutil.rmtree(tmp_path / ".out.unfinished")
        raise InputError("checkpoint", f"the folder {str(checkpoint)!r} is gone", "Begin it again")

    monkeypatch.setattr(running, "synthesize", remove)
    with pytest.raises(InputError, match="is gone"):
        run(PEOPLE, SETTINGS, tmp_path / "out", resume=resume, release_anyway=True, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_dossier_is_told(saved, tmp_path):
    copy = shutil.copytree(saved, tmp_path / "copy")
    (copy / "internal" / "facts.json").write_text("{")
    with pytest.raises(InputError, match=r"facts.json' is damaged"):
        read_dossier(copy)
