"""Files: only those in the folders of the studio, wherever paths and links lead; and what is dropped."""

import asyncio
import os

import pytest

from molehill.errors import InputError
from molehill.studio.places import find_path, list_place, settle_folders, take_file, tidy_file_name

# Links, and the modes of files.
pytestmark = pytest.mark.posix


@pytest.fixture
def folders(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "deeper").mkdir(parents=True)
    outside.mkdir()
    for path in (inside / "a.csv", inside / "deeper" / "b.sav", outside / "secret.csv"):
        path.write_text("a,b\n1,2\n", encoding="utf-8")
    (inside / "link.csv").symlink_to(outside / "secret.csv")
    (inside / "way").symlink_to(outside)
    (inside / "own.csv").symlink_to(inside / "a.csv")
    (inside / "loop").symlink_to(inside / "loop")
    (inside / ".hidden.csv").write_text("a\n1\n", encoding="utf-8")
    (inside / "notes.txt").write_text("nothing", encoding="utf-8")
    return settle_folders([inside])


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.csv",
        "deeper/../../outside/secret.csv",
        "link.csv",
        "way/secret.csv",
        "way",
        "/etc/passwd",
        "/",
        "..",
        "~",
        "/proc/self/environ",
        "inside/../../../../../etc/passwd",
    ],
)
def test_nothing_outside_is_found_and_nothing_is_told_of_it(folders, path):
    with pytest.raises(InputError, match="outside of the folders") as there:
        find_path(folders, path)
    with pytest.raises(InputError) as nowhere:
        find_path(folders, f"{path}/not-there")
    assert there.value.problem == nowhere.value.problem


def test_what_is_inside_is_found_by_any_path(folders):
    inside = folders[0]
    for path in ("a.csv", "./a.csv", str(inside / "a.csv"), "deeper/../a.csv", "own.csv", " a.csv "):
        assert find_path(folders, path) == inside / "a.csv"
    for path in ("missing.csv", "", "\0", "a\0.csv", "loop", "a.csv/b", "x" * 10_000):
        with pytest.raises(InputError):
            find_path(folders, path)


def test_a_listing_shows_what_can_be_opened_and_no_way_out(folders):
    listing = list_place(folders)
    assert [path.name for path in listing.files] == ["a.csv", "own.csv"]
    assert [path.name for path in listing.folders] == ["deeper"]
    assert listing.above is None
    deeper = list_place(folders, "deeper")
    assert deeper.above == folders[0]
    assert [path.name for path in deeper.files] == ["b.sav"]
    with pytest.raises(InputError, match="no folder"):
        list_place(folders, "a.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_that_cannot_be_read_is_told(folders):
    closed = folders[0] / "deeper"
    closed.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        list_place(folders, "deeper")
    closed.chmod(0o700)


def test_a_folder_that_is_not_there_opens_nothing(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        settle_folders([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("name", "tidy"),
    [
        ("survey.csv", "survey.csv"),
        ("../../x.csv", "x.csv"),
        ("..\\..\\x.csv", "x.csv"),
        ("C:\\people\\Löhne 2020.SAV", "Löhne 2020.SAV"),
        ("<img src=x onerror=alert(1)>.csv", "_img src=x onerror=alert(1)_.csv"),
        ("a\nb\x1b[2J.csv", "a_b_2J.csv"),
        ("...csv.csv", "csv.csv"),
        ("x" * 500 + ".csv", "x" * 116 + ".csv"),
    ],
)
def test_a_name_becomes_one_that_is_safe_anywhere(name, tidy):
    assert tidy_file_name(name) == tidy


@pytest.mark.parametrize("name", ["", ".csv", "..", "a.exe", "a.csv/", "a.pkl", "csv", "a.csv.sh", "../.csv"])
def test_a_name_that_is_no_tables_is_refused(name):
    with pytest.raises(InputError, match="is no format"):
        tidy_file_name(name)


def pieces(*content):
    async def give():
        for piece in content:
            yield piece

    return give()


def test_a_file_is_taken_whole_for_its_owner_or_not_at_all(tmp_path):
    path = tmp_path / "a.csv"
    asyncio.run(take_file(pieces(b"a,", b"b\n"), path, most_bytes=100))
    assert path.read_bytes() == b"a,b\n"
    assert path.stat().st_mode & 0o077 == 0
    for content, most, words in (((b"12", b"345"), 4, "MiB"), ((), 4, "empty")):
        other = tmp_path / "b.csv"
        with pytest.raises(InputError, match=words):
            asyncio.run(take_file(pieces(*content), other, most_bytes=most))
        assert not other.exists()
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_a_file_stops_before_the_disk_is_full(tmp_path, monkeypatch):
    monkeypatch.setattr("molehill.studio.places._SPARE", 2**80)
    with pytest.raises(InputError, match="the disk is full"):
        asyncio.run(take_file(pieces(b"1"), tmp_path / "a.csv", most_bytes=100))
    assert not list(tmp_path.iterdir())
