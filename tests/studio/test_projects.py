"""Projects: settings on disk with every earlier state, and nothing that others could read."""

import pytest

from molehill import Settings, read_settings
from molehill.errors import InputError
from molehill.studio import projects

FIRST = Settings(synthesize=["pay"], keep=["town"], known=["town"], data="people.csv")


@pytest.fixture
def project(tmp_path):
    folder = projects.make_folder(projects.open_home(tmp_path), "people")
    return projects.begin(folder, FIRST, reasons={"pay": "money"}, notes={"known": "two"})


@pytest.mark.posix
def test_a_project_is_a_settings_file_that_only_its_owner_reads(project):
    assert read_settings(project.path) == FIRST
    assert "# money" in project.path.read_text(encoding="utf-8")
    assert projects.read_reasons(project) == {"pay": "money"}
    for path in (project.folder.parent, project.folder, *project.folder.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    assert project.data == project.folder / "people.csv"


def test_every_change_can_be_undone_and_done_again(project):
    states = [FIRST, *(FIRST.but(datasets=number) for number in (5, 6, 7))]
    for settings in states[1:]:
        projects.keep(project, settings)
    assert projects.can_go(project) == (True, False)
    for settings in states[-2::-1]:
        projects.go(project, -1)
        assert project.settings == settings
    assert projects.can_go(project) == (False, True)
    with pytest.raises(InputError, match="nothing to go back to"):
        projects.go(project, -1)
    for settings in states[1:]:
        projects.go(project, 1)
        assert project.settings == settings
    with pytest.raises(InputError, match="nothing was undone"):
        projects.go(project, 1)


def test_a_change_after_an_undo_forgets_what_was_undone(project):
    projects.keep(project, FIRST.but(datasets=5))
    projects.go(project, -1)
    projects.keep(project, FIRST.but(datasets=9))
    assert projects.can_go(project) == (True, False)
    projects.go(project, -1)
    projects.go(project, 1)
    assert project.settings.datasets == 9


def test_the_same_settings_are_no_change(project):
    projects.keep(project, FIRST)
    assert projects.can_go(project) == (False, False)


def test_old_states_are_given_up_one_by_one(project, monkeypatch):
    monkeypatch.setattr(projects, "_MOST_STATES", 3)
    for number in range(2, 12):
        projects.keep(project, FIRST.but(datasets=number))
    assert len(list((project.folder / "history").iterdir())) == 3
    for _ in range(2):
        projects.go(project, -1)
    assert project.settings.datasets == 9
    assert projects.can_go(project)[0] is False


@pytest.mark.parametrize("content", ["", "{", "[]", '{"place": "x"}'])
def test_a_damaged_state_loses_the_past_and_not_the_settings(project, content):
    projects.keep(project, FIRST.but(datasets=5))
    (project.folder / "studio.json").write_text(content, encoding="utf-8")
    assert project.settings.datasets == 5
    assert projects.can_go(project) == (False, False)
    projects.keep(project, FIRST.but(datasets=6))
    assert project.settings.datasets == 6


@pytest.mark.posix
def test_projects_have_names_of_their_own_and_are_found_by_them(tmp_path):
    home = projects.open_home(tmp_path)
    names = [projects.make_folder(home, name).name for name in ("a", "a", "../x", "Löhne 2020", "", "...")]
    assert names == ["a", "a-2", "x", "Löhne-2020", "table", "table-2"]
    for name in names:
        (home / name / "settings.toml").write_text("", encoding="utf-8")
    assert {project.name for project in projects.list_projects(home)} == {*names}
    for name in ("../..", "b", "", ".", "a/../a"):
        with pytest.raises(InputError, match="not there any more"):
            projects.find_project(home, name)
    (home / "link").symlink_to(home / "a")
    assert "link" not in {project.name for project in projects.list_projects(home)}


@pytest.mark.posix
def test_a_home_that_others_may_have_made_is_refused(tmp_path):
    home = tmp_path / projects.HOME
    home.mkdir(mode=0o700)
    home.chmod(0o770)
    with pytest.raises(InputError, match="open to others"):
        projects.open_home(tmp_path)
    home.rmdir()
    home.symlink_to(tmp_path)
    with pytest.raises(InputError, match="a link"):
        projects.open_home(tmp_path)


@pytest.mark.posix
def test_removing_follows_no_link(project, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept.csv").write_text("a", encoding="utf-8")
    (project.folder / "way").symlink_to(other)
    projects.remove_unused(project.folder)
    assert (other / "kept.csv").exists()
    assert not project.folder.exists()
    assert list(projects.open_home(tmp_path).iterdir()) == []


def test_a_home_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / projects.HOME).write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be made"):
        projects.open_home(tmp_path)
