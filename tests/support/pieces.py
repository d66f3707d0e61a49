"""Pieces of work that go wrong in every way, for the tests of clusters: workers can import this file."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from molehill.errors import InputError
from molehill.runtime import is_spreading, workers


def add(shared: Any, number: int) -> Any:
    return shared["value"] + number


def give_back(shared: Any, number: int) -> Any:
    return [shared, number]


def say_where(number: int) -> tuple[int, int, int, bool]:
    return number, os.getpid(), workers(), is_spreading()


def refuse(number: int) -> int:
    if number == 1:
        raise InputError("data", "it is bad", "Mend it")
    return number


def fail(secret: str) -> int:
    raise ValueError(f"this text holds {secret}")


class AwkwardError(Exception):
    """It cannot be made again from its text."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what} {why}")


def raise_awkwardly(secret: str) -> int:
    raise AwkwardError(secret, "is in it")


def die(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fill_memory(number: int) -> int:
    """Take more memory than there is, a little at a time."""
    held = []
    while number == 1:
        held.append(bytearray(os.urandom(1024) * 20_000))
        time.sleep(0.05)
    return number


def note_only(folder: Path, number: int) -> int:
    """Leave a note that it was begun."""
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return number


def note_and_stay(folder: Path, number: int) -> None:
    """Leave a note that it was begun, and work until it is ended."""
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    while True:
        time.sleep(0.01)


def note_and_die_once(folder: Path, number: int) -> int:
    """Leave a note that it was begun; the fourth ends its worker the first time."""
    (folder / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    if number == 3:
        _die_once(folder / "died")
    return number


def work_and_die_once(died: Path, asker: int, function: Callable[..., Any], *given: Any) -> Any:
    """Do a piece of work; the first worker that has done one is killed before it can say so."""
    made = function(*given)
    if os.getpid() != asker:
        _die_once(died)
    return made


def _die_once(died: Path) -> None:
    """Kill this process, unless another one was killed here before."""
    try:
        died.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
