"""How far a run is, for programs that watch it: a file of lines of JSON, each written as a stage begins."""

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from molehill.errors import InputError

# Of a point what a watcher draws: nothing in it is about a record.
SHOWN = ("point", "scheme", "leaf", "order", "mean_expected_risk", "U_m", "agreement", "smallest_overlap", "met")


# Seconds after which a stage that is still at work says so.
PATIENCE = 10.0


@contextmanager
def telling(say: Callable[[str], None], *, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Give a function that says every stage as it begins; one that goes on says so as often as the patience ends."""
    begun, ended, changed = time.monotonic(), threading.Event(), threading.Condition()
    current: list[tuple[str, float]] = []

    def tell(stage: str) -> None:
        now = time.monotonic()
        with changed:
            current[:] = [(f"{stage}", now)]
            say(f"{now - begun:6.1f} s  {stage}")
            changed.notify()

    def go_on() -> None:
        with changed:
            while not ended.is_set():
                # A stage that began meanwhile has a patience of its own.
                if changed.wait(patience) or not current or ended.is_set():
                    continue
                stage, since = current[0]
                now = time.monotonic()
                say(f"{now - begun:6.1f} s  {stage}, for {now - since:.0f} s so far")

    teller = threading.Thread(target=go_on, name="telling", daemon=True)
    teller.start()
    try:
        yield tell
    finally:
        ended.set()
        with changed:
            changed.notify()
        teller.join()


@contextmanager
def watched(path: Path | None, tell: Callable[[str], None], *, estimate: float) -> Iterator[Callable[[str], None]]:
    """Give a function that tells every stage, and writes it to a file for its owner only; without a path it only tells.

    The first line has the estimated `seconds`, the others `stage`, and with it the figures of a `point` if there is
    one; the last has `ended`: true, if nothing went wrong. All have the time `at` which they were written.

    Parameters
    ----------
    path
        The file, which is begun anew.
    tell
        What else to do with the name of every stage.
    estimate
        Seconds that the plan expects.
    """
    if path is None:
        yield tell
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        problem = f"{str(path)!r} cannot be written ({error.strerror})"
        raise InputError("progress", problem, "Give a file in a folder that can be written to") from None

    def write(**content: Any) -> None:
        line = json.dumps({"at": time.time(), **content}, ensure_ascii=False)
        os.write(handle, f"{line}\n".encode(errors="backslashreplace"))

    def tell_and_write(stage: str) -> None:
        tell(stage)
        point = getattr(stage, "point", None)
        write(stage=f"{stage}", **({} if point is None else {"point": _plain(point)}))

    try:
        write(seconds=estimate)
        yield tell_and_write
        write(ended=True)
    except BaseException:
        write(ended=False)
        raise
    finally:
        os.close(handle)


def _plain(point: Mapping[Any, Any]) -> dict[str, Any]:
    taken = {name: getattr(point[name], "item", lambda own=point[name]: own)() for name in SHOWN}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in taken.items()}
