"""A run that was not recommended, as the studio tells it, and what it takes to release it all the same."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from molehill import Settings
from molehill.studio.projects import Project
from molehill.studio.running import Run, begin_run, go_on, tell_run


@pytest.fixture
def run(tmp_path):
    (tmp_path / "run-1" / "internal").mkdir(parents=True)
    return Run(Project(tmp_path), 1)


@pytest.mark.parametrize(
    ("manifest", "state"),
    [
        ({"publication": "not recommended"}, "not recommended"),
        ({"publication": "nothing found"}, "nothing found"),
        ({}, "nothing found"),
    ],
)
def test_why_nothing_was_released_is_told(run, manifest, state):
    (run.out / "internal" / "manifest.json").write_text(json.dumps(manifest))
    told = tell_run(run)
    assert (told["state"], told["share"]) == (state, 1.0)
    (run.out / "release").mkdir()
    assert tell_run(run)["state"] == "released"


def test_what_is_released_against_the_recommendation_was_asked_for_by_name_also_when_it_goes_on(tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **_: called.append(command) or SimpleNamespace(pid=0, poll=lambda: 0),
    )
    settings = Settings(data="people.csv", synthesize=["pay"], keep=["age"], known=["age"])
    begin_run(Project(tmp_path), settings)
    go_on(begin_run(Project(tmp_path), settings, release_anyway=True))
    assert ["--release-anyway" in command for command in called] == [False, True, True]
