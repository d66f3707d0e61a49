"""Stages are told as they begin, and that they go on."""

import threading
from contextlib import suppress

from molehill.cli.progress import telling


def test_a_stage_that_goes_on_says_so_until_another_begins():
    lines, gone_on = [], threading.Event()

    def say(line):
        lines.append(line)
        if "so far" in line:
            gone_on.set()

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
