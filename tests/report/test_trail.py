"""Whether a folder still is the release that was made: every byte, nothing added, nothing followed, nothing told."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from molehill.errors import InputError
from molehill.files import hash_file
from molehill.report import trail
from molehill.report.trail import (
    ARCHIVE,
    MANIFEST,
    TIMES,
    WORDS,
    Problem,
    describe_maker,
    fingerprint_files,
    hash_files,
    hash_source,
    verify_release,
)
from molehill.tables.formats.formats import read_table
from molehill.tables.table import Table
from small_release import PLANTED, SEED, made_release

TABLE = "release/synthetic_01.csv"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_release(tmp_path_factory)[0]


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made, tmp_path / "out")


@pytest.fixture
def copy(made, tmp_path):
    return shutil.copytree(made / "release", tmp_path / "copy")


def problems(folder, **given):
    return [(one.kind, one.where, one.file) for one in verify_release(folder, **given).problems]


def edit_json(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# What is written.


def test_the_manifest_ties_the_table_to_the_files(made):
    manifest = json.loads((made / MANIFEST).read_text())
    data = (made.parent / "people.csv").read_bytes()
    assert manifest["input"]["file"] == hashlib.sha256(data).hexdigest()
    assert len(manifest["input"]["content"]) == 64
    settings = (made / "internal" / "settings.toml").read_bytes()
    assert manifest["files"]["internal/settings.toml"] == hashlib.sha256(settings).hexdigest()
    assert manifest["fingerprint"] == fingerprint_files(hash_files(made / "release"))
    assert {ARCHIVE, "internal/report.html"} < manifest["files"].keys()


def test_who_made_it_where_and_how_is_beside_the_times_and_nowhere_else(made):
    times = json.loads((made / TIMES).read_text())
    assert times["by"] == describe_maker()
    assert times["by"].keys() == {"user", "host", "platform", "python", "cores", "command"}
    assert times["by"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert times["manifest"] == hash_file(made / MANIFEST)
    for path in made.rglob("*"):
        if path.suffix in (".json", ".md", ".html", ".toml") and path.name != "times.json":
            assert times["by"]["platform"] not in path.read_text(encoding="utf-8"), path


def test_nothing_of_the_trail_is_published(made):
    manifest = json.loads((made / MANIFEST).read_text())
    told = [manifest["fingerprint"], trail.show_fingerprint(manifest["fingerprint"]), *manifest["input"].values()]
    for path in (made / "release").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not [one for one in told if one in text], path
        assert "Sign-off" not in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/usr/bin/molehill", "run", "my settings.toml"], "molehill run 'my settings.toml'"),
        (["/usr/bin/molehill.exe", "demo"], "molehill demo"),
        (["notebook", "--password", "secret"], "Python"),
        ([], "Python"),
    ],
)
def test_only_a_command_of_our_own_is_kept(arguments, told, monkeypatch):
    monkeypatch.setattr(sys, "argv", arguments)
    assert describe_maker()["command"] == told


@pytest.mark.posix
def test_a_user_without_a_name_is_a_number(monkeypatch):
    monkeypatch.setattr(trail, "pwd", type("", (), {"getpwuid": lambda number: {}[number]}))
    assert describe_maker()["user"] == f"{os.geteuid()}"


def test_the_content_has_the_same_hash_wherever_it_comes_from(made):
    read = read_table(made.parent / "people.csv")
    again = hash_source(Table(read.frame.copy()))
    assert again == {"file": None, "content": hash_source(read)["content"]}
    for other in (
        read.frame.assign(visits=read.frame["visits"] + (read.frame.index == 3)),
        read.frame.rename(columns={"town": "place"}),
        read.frame[["visits", "town"]],
        read.frame.iloc[:-1],
        read.frame.astype({"visits": float}),
    ):
        assert hash_source(Table(other))["content"] != again["content"]


@pytest.mark.posix
def test_the_fingerprint_can_be_had_without_molehill(made):
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum here")
    command = "LC_ALL=C; sha256sum * | sha256sum | cut -c 1-32"
    said = subprocess.check_output(command, shell=True, text=True, cwd=made / "release")  # noqa: S602
    assert said.strip() == verify_release(made).fingerprint


def test_the_signed_page_has_the_fingerprint_of_the_folder(made):
    found = verify_release(made)
    html = (made / "internal" / "report.html").read_text(encoding="utf-8")
    assert html.count(trail.show_fingerprint(found.fingerprint)) == 1
    for words in ("Sign-off", "Data custodian", "Review board", "Signature", "Conditions", "The report proposes"):
        assert words in html
    assert json.loads((made / MANIFEST).read_text())["input"]["file"] in html


# What holds.


def test_a_release_as_it_was_written_holds(made, copy):
    seen = []
    found = verify_release(made, published=copy, advance=lambda done, total: seen.append((done, total)))
    assert found.holds
    assert found.problems == found.notes == ()
    assert found.fingerprint == found.described == found.published
    listed = json.loads((made / MANIFEST).read_text())["files"]
    assert found.files == len(listed) + 2 + len(list(copy.iterdir()))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]


def test_a_release_of_an_earlier_version_holds(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"].pop(ARCHIVE)
    (folder / ARCHIVE).unlink()
    (folder / MANIFEST).write_text(json.dumps({k: v for k, v in manifest.items() if k not in ("input", "fingerprint")}))
    times = json.loads((folder / TIMES).read_text())
    (folder / TIMES).write_text(json.dumps({k: v for k, v in times.items() if k not in ("by", "manifest")}))
    found = verify_release(folder)
    assert found.holds
    assert found.fingerprint == found.described == manifest["fingerprint"]


@pytest.mark.posix
def test_a_link_to_the_folder_and_what_lies_beside_are_fine(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    (folder / "signed.pdf").write_text("scan")
    (folder / "internal" / "signed.pdf").touch(mode=0o600)
    found = verify_release(tmp_path / "link")
    assert found.holds
    assert found.notes == ("signed.pdf", "internal/signed.pdf")


def test_nothing_released_has_no_fingerprint_and_no_copy(folder, copy):
    shutil.rmtree(folder / "release")
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {name: found for name, found in manifest["files"].items() if not name.startswith("release/")}
    archive = json.loads((folder / ARCHIVE).read_text())
    archive["release"] |= {"files": {}, "fingerprint": ""}
    (folder / ARCHIVE).write_text(json.dumps(archive))
    manifest["files"][ARCHIVE] = hash_file(folder / ARCHIVE)
    (folder / MANIFEST).write_text(json.dumps({**manifest, "fingerprint": ""}))
    edit_json(folder / TIMES, manifest=hash_file(folder / MANIFEST))
    found = verify_release(folder)
    assert found.holds
    assert found.fingerprint == found.described == ""
    with pytest.raises(InputError, match="published: nothing was released"):
        verify_release(folder, published=copy)


# What does not.


@pytest.mark.parametrize("name", [TABLE, "internal/weights.parquet", "internal/settings.toml", "internal/report.html"])
def test_one_changed_byte_is_told(folder, name):
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    found = verify_release(folder)
    assert Problem("changed", "folder", name) in found.problems
    assert (found.fingerprint == found.described) == (name != TABLE)


@pytest.mark.parametrize("name", [TABLE, "internal/draws.npz", ARCHIVE, TIMES])
def test_a_file_that_is_gone_is_told(folder, name):
    (folder / name).unlink()
    assert problems(folder) == [("missing", "folder", name)]


def test_a_missing_manifest_is_told(folder):
    (folder / MANIFEST).unlink()
    found = verify_release(folder)
    assert [str(one) for one in found.problems] == [f"{MANIFEST} is missing"]
    assert found.described == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": {"a": 1}}', "[" * 100_000, "\udcff"])
def test_a_broken_manifest_is_told(folder, text):
    (folder / MANIFEST).write_bytes(text.encode(errors="surrogateescape"))
    assert problems(folder) == [("damaged", "folder", MANIFEST), ("changed", "folder", MANIFEST)]


@pytest.mark.parametrize("text", ["{", "[]", ""])
def test_broken_times_are_told(folder, text):
    (folder / TIMES).write_text(text)
    assert problems(folder) == [("damaged", "folder", TIMES)]


@pytest.mark.parametrize("name", [ARCHIVE, "internal/facts.json", "internal/settings.toml"])
def test_what_cannot_be_read_is_told_even_if_the_manifest_agrees(folder, name):
    (folder / name).write_text("{ no")
    manifest = json.loads((folder / MANIFEST).read_text())
    edit_json(folder / MANIFEST, files={**manifest["files"], name: hash_file(folder / name)})
    edit_json(folder / TIMES, manifest=hash_file(folder / MANIFEST))
    assert problems(folder) == [("damaged", "folder", name)]


def test_a_manifest_that_was_changed_after_all_else_is_told(folder):
    """A table and its line in the manifest are changed together: the other files still say otherwise."""
    (folder / TABLE).write_text("town,visits\nA,1\n")
    manifest = json.loads((folder / MANIFEST).read_text())
    files = {**manifest["files"], TABLE: hash_file(folder / TABLE)}
    edit_json(folder / MANIFEST, files=files)
    told = problems(folder)
    assert ("changed", "folder", MANIFEST) in told
    assert ("damaged", "folder", MANIFEST) in told
    assert ("damaged", "folder", ARCHIVE) in told


@pytest.mark.parametrize("name", ["more.csv", ".hidden", "a\nb\x1b[31m"])
def test_an_added_file_is_told_in_letters_that_can_be_shown(folder, name):
    (folder / "release" / name).write_text("1")
    (told,) = problems(folder)
    assert told[:2] == ("added", "folder")
    assert told[2].startswith("release/")
    assert told[2].isprintable()


def test_an_added_folder_is_told(folder):
    (folder / "release" / "more").mkdir()
    assert problems(folder) == [("added", "folder", "release/more")]


@pytest.mark.posix
def test_links_are_told_and_not_followed(folder, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_bytes((folder / TABLE).read_bytes())
    (folder / TABLE).unlink()
    # Even one that leads to the same bytes.
    (folder / TABLE).symlink_to(secret)
    (folder / "release" / "outside").symlink_to(tmp_path)
    assert problems(folder) == [("link", "folder", "release/outside"), ("link", "folder", TABLE)]


@pytest.mark.posix
def test_a_linked_part_is_told_once(folder, tmp_path):
    (folder / "release").rename(tmp_path / "elsewhere")
    (folder / "release").symlink_to(tmp_path / "elsewhere")
    assert problems(folder) == [("link", "folder", "release")]
    (folder / "internal").rename(tmp_path / "inside")
    (folder / "internal").symlink_to(tmp_path / "inside")
    with pytest.raises(InputError, match="holds no saved release"):
        verify_release(folder)


def test_a_manifest_cannot_have_a_file_outside_read(folder, tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("x")
    read = []
    monkeypatch.setattr(trail, "hash_file", lambda path, **_: read.append(path) or "0" * 64)
    manifest = json.loads((folder / MANIFEST).read_text())
    names = ["../secret", str(tmp_path / "secret"), "release/../../secret"]
    edit_json(folder / MANIFEST, files={**manifest["files"], **dict.fromkeys(names, "0" * 64)})
    told = problems(folder)
    assert {("missing", "folder", name) for name in names} < set(told)
    assert all(path.is_relative_to(folder) and ".." not in path.parts for path in read)


@pytest.mark.posix
def test_names_that_are_no_text_are_told_all_the_same(folder):
    manifest = json.loads((folder / MANIFEST).read_text())
    edit_json(folder / MANIFEST, files={**manifest["files"], "release/\ud800": "\ud800"})
    (folder / "release" / os.fsdecode(b"\xff.csv")).write_text("1")
    told = problems(folder)
    assert ("missing", "folder", "release/\N{REPLACEMENT CHARACTER}") in told
    assert ("added", "folder", "release/\N{REPLACEMENT CHARACTER}.csv") in told


@pytest.mark.posix
def test_a_pipe_is_told_and_not_waited_for(folder):
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no pipes here")
    os.mkfifo(folder / "release" / "pipe")
    assert problems(folder) == [("special", "folder", "release/pipe")]


@pytest.mark.posix
@pytest.mark.parametrize(("name", "mode"), [("internal", 0o755), ("internal/evaluation", 0o750), (MANIFEST, 0o640)])
def test_what_others_may_open_is_told(folder, name, mode):
    (folder / name).chmod(mode)
    assert problems(folder) == [("open", "folder", name)]


@pytest.mark.posix
def test_a_file_that_cannot_be_read_is_told_and_is_not_missing(folder, monkeypatch):
    def refuse(path, **given):
        if path.name == "draws.npz":
            raise PermissionError(13, "Permission denied", str(path))
        return hash_file(path, **given)

    monkeypatch.setattr(trail, "hash_file", refuse)
    assert problems(folder) == [("unreadable", "folder", "internal/draws.npz")]


@pytest.mark.posix
def test_a_part_that_cannot_be_read_is_told(folder, monkeypatch):
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("release"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert problems(folder) == [("unreadable", "folder", "release")]


@pytest.mark.posix
@pytest.mark.parametrize("part", ["out", "internal"])
def test_a_folder_that_cannot_be_read_is_refused(folder, monkeypatch, part):
    scan = os.scandir

    def refuse(path):
        if path.name == part:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=r"folder: the folder .* cannot be read \(Permission denied\)"):
        verify_release(folder)


def test_what_is_no_release_is_refused(folder, tmp_path):
    for path, words in (
        (tmp_path / "nowhere", "there is no folder"),
        (folder / TABLE, "is no folder"),
        (tmp_path, "holds no saved release"),
        (folder / "release", "holds no saved release"),
    ):
        with pytest.raises(InputError, match=f"folder: .*{words}"):
            verify_release(path)
    for path, words in ((tmp_path / "nowhere", "there is no folder"), (folder / TABLE, "is no folder")):
        with pytest.raises(InputError, match=f"published: .*{words}"):
            verify_release(folder, published=path)


# The published copy.


@pytest.mark.posix
def test_a_copy_that_differs_is_told_by_name(folder, copy):
    (copy / "synthetic_01.csv").write_bytes((copy / "synthetic_02.csv").read_bytes())
    (copy / "methods.md").unlink()
    (copy / "index.html").write_text("<p>")
    (copy / "old").mkdir()
    (copy / "old" / "synthetic_01.csv").write_text("x")
    (copy / "latest").symlink_to(copy / "report.html")
    assert set(problems(folder, published=copy)) == {
        ("changed", "published", "synthetic_01.csv"),
        ("missing", "published", "methods.md"),
        ("added", "published", "index.html"),
        ("added", "published", "old"),
        ("added", "published", "old/synthetic_01.csv"),
        ("link", "published", "latest"),
    }


def test_the_copy_is_held_to_the_dossier_and_not_to_the_folder(folder, copy):
    """Both were changed alike after the board had signed."""
    for path in (folder / TABLE, copy / "synthetic_01.csv"):
        path.write_text("town,visits\n")
    found = verify_release(folder, published=copy)
    assert [one.where for one in found.problems if one.kind == "changed"] == ["folder", "published"]
    assert found.published == found.fingerprint != found.described


def test_a_copy_cannot_be_compared_without_a_manifest(folder, copy):
    (folder / MANIFEST).unlink()
    assert problems(folder, published=copy) == [("missing", "folder", MANIFEST)]


def test_no_value_is_told_whatever_is_wrong(folder, copy):
    for path in [*folder.rglob("*"), *copy.iterdir()]:
        if path.is_file() and path.suffix != ".toml" and path.name != "manifest.json":
            path.write_bytes(path.read_bytes() + f"{PLANTED} {SEED}".encode())
    said = repr(verify_release(folder, published=copy))
    assert str(PLANTED) not in said
    assert str(SEED) not in said
    assert set(WORDS) >= {one.kind for one in verify_release(folder).problems}
