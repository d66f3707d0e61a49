"""The way in: signals are answered in one line, also while the commands are still being imported."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

# What answers each signal, and the exit code that shells know it by.
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
RESUMABLE = ("run", "demo")
# Signals that were answered so far.
_ASKED: list[int] = []


class StoppedError(SystemExit):
    """The program was asked to end; what it is doing is given up in order, so that nothing is left in part."""


def main() -> None:
    """Import the commands and run them."""
    answer_signals(_end)
    from molehill.cli.main import main as run_commands

    run_commands()


def answer_signals(answer: Callable[[int, Any], Any] | signal.Handlers) -> None:
    """Say what shall be done when the program is asked to end."""
    for number in WORDS:
        signal.signal(number, answer)


def stop(number: int, _: Any) -> NoReturn:
    """Give up what is being done."""
    # Raised while a compiled function calls back, it may be lost on the way: `still_wanted` asks again.
    _ASKED.append(number)
    raise StoppedError(128 + number)


def still_wanted() -> None:
    """Give up what is being done if the program was asked to end, and went on all the same."""
    if _ASKED:
        raise StoppedError(128 + _ASKED[-1])


def tell_stop(code: int | str | None) -> str:
    """Say in one line what an exit code of a signal means."""
    words = next((words for number, words in WORDS.items() if 128 + number == code), "stopped")
    resumable = "; add --resume to go on" if {*RESUMABLE} & {*sys.argv[1:2]} else ""
    return f"{words}; no file was written in part{resumable}"


def _end(number: int, _: Any) -> NoReturn:
    """End at once: nothing has been begun."""
    os.write(2, f"Error: {tell_stop(128 + number)}\n".encode())
    os._exit(128 + number)
