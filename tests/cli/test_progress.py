"""Stages are told as they begin, and that they go on."""

import json
import threading
from contextlib import suppress

from molehill.cli import progress
from molehill.cli.progress import telling, watched
from molehill.runtime import doing


def listener():
    """The lines that are given, and an event: that a stage went on."""
    lines, gone_on = [], threading.Event()

    def say(line):
        lines.append(line)
        if "so far" in line:
            gone_on.set()

    return lines, gone_on, say


def test_a_stage_that_goes_on_says_so_until_another_begins():
    lines, gone_on, say = listener()
    with telling(say, patience=0.01) as tell:
        tell("fitting")
        assert gone_on.wait(300)
        tell("drawing")
    assert lines[0].endswith(" s  fitting")
    assert " s  fitting, for 0 s so far" in lines[1]
    # Who went on, and not what was over.
    place = next(number for number, line in enumerate(lines) if line.endswith(" s  drawing"))
    assert not any("fitting" in line for line in lines[place:])


def test_what_is_interrupted_goes_on_no_more():
    with suppress(KeyboardInterrupt), telling(lambda _: None, patience=0.01) as tell:
        tell("fitting")
        raise KeyboardInterrupt
    assert not [one for one in threading.enumerate() if one.name == "telling"]


def test_what_goes_on_is_told_with_its_counts():
    lines, gone_on, say = listener()
    with telling(say, patience=0.01) as tell, doing("point 3 of at most 6"), doing("fitting", 16) as told:
        told.count(5)
        tell("point 2: unweighted")
        assert gone_on.wait(300)
    assert " s  point 3 of at most 6: fitting, 5 of 16, for 0 s so far" in lines[1]


def test_a_file_of_stages_says_between_them_what_is_done(tmp_path, monkeypatch):
    path, asked = tmp_path / "stages", threading.Event()
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "tell_doing", lambda: asked.set() or "variable 2 of 3")
    with watched(path, lambda _: None) as (tell, write_seconds):
        write_seconds(60.0)
        tell("fitting")
        asked.clear()
        assert asked.wait(300)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert ([line["seconds"] for line in found if "seconds" in line], found[-1]["ended"]) == ([60.0], True)
    assert "fitting" in [line.get("stage") for line in found]
    assert "variable 2 of 3" in [line.get("doing") for line in found]
