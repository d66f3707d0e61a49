import pytest

from opened_studio import OpenStudio, write_people


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A studio with a folder of its own, in which there is a file of people."""
    folder = tmp_path_factory.mktemp("studio")
    write_people(folder / "people.csv")
    studio = OpenStudio(folder)
    yield studio
    studio.close()


@pytest.fixture
def project(opened):
    """The name of a new project with the file of people."""
    answer = opened.do("open", path="people.csv")
    assert "error" not in answer, answer
    return answer["project"]


@pytest.fixture
def settings(opened, project):
    """Give the settings of the project as they are now."""
    from molehill.studio.projects import find_project  # noqa: PLC0415

    return lambda: find_project(opened.studio.home, project).settings
