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
from molehill.runtime import tell_doing

# Of a point what a watcher draws: nothing in it is about a record.
SHOWN = ("point", "scheme", "leaf", "order", "mean_expected_risk", "U_m", "agreement", "smallest_overlap", "met")


# Seconds after which a stage that is still at work says so.
PATIENCE = 10.0


@contextmanager
def telling(say: Callable[[str], None], *, patience: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Give a function that says every stage as it begins; as often as the patience ends, what is done now is said."""
    begun = time.monotonic()

    def tell(words: str) -> None:
        say(f"{time.monotonic() - begun:6.1f} s  {words}")

    with heartbeat(
        tell, lambda now, stage, seconds: tell(f"{now or stage}, for {seconds:.0f} s so far"), patience
    ) as told:
        yield told


@contextmanager
def heartbeat(
    tell: Callable[[str], None], beat: Callable[[str, str, float], None], patience: float
) -> Iterator[Callable[[str], None]]:
    """Give a function that tells every stage as it begins.

    As often as the patience ends without another stage, `beat` is told what is being done (see `tell_doing`), the
    stage, and for how many seconds that goes on.
    """
    begun, ended, changed = time.monotonic(), threading.Event(), threading.Condition()
    current: list[tuple[str, float]] = []

    def begin(stage: str) -> None:
        with changed:
            current[:] = [(f"{stage}", time.monotonic())]
            tell(stage)
            changed.notify()

    def go_on() -> None:
        with changed:
            while not ended.is_set():
                # A stage that began meanwhile has a patience of its own.
                if changed.wait(patience) or ended.is_set():
                    continue
                now, (stage, since) = tell_doing(), current[0] if current else ("", begun)
                if now or stage:
                    beat(now, stage, time.monotonic() - since)

    teller = threading.Thread(target=go_on, name="telling", daemon=True)
    teller.start()
    try:
        yield begin
    finally:
        ended.set()
        with changed:
            changed.notify()
        teller.join()


@contextmanager
def watched(
    path: Path | None, tell: Callable[[str], None]
) -> Iterator[tuple[Callable[[str], None], Callable[[float], None]]]:
    """Give functions for every stage and for the estimated seconds; both write to a file for its owner only, if any.

    A line has the estimated `seconds`, the others `stage`, and with it the figures of a `point` if there is
    one, or, every ten seconds of a stage that goes on, what is `doing`; the last has `ended`: true, if nothing went
    wrong. All have the time `at` which they were written.

    Parameters
    ----------
    path
        The file, which is begun anew.
    tell
        What else to do with the name of every stage.
    """
    if path is None:
        yield tell, lambda _: None
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
        with heartbeat(tell_and_write, lambda now, stage, _: write(doing=now or stage), PATIENCE) as told:
            yield told, lambda seconds: write(seconds=seconds)
        write(ended=True)
    except BaseException:
        write(ended=False)
        raise
    finally:
        os.close(handle)


def _plain(point: Mapping[Any, Any]) -> dict[str, Any]:
    taken = {name: getattr(point[name], "item", lambda own=point[name]: own)() for name in SHOWN}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in taken.items()}
