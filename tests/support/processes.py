"""Python in a process of its own, and the command line in this one."""

import io
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

SUPPORT = str(Path(__file__).parent)


def run_python(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without the settings of JAX that this process has; it can import what lies beside this file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env=kept | {"PYTHONPATH": os.pathsep.join([SUPPORT, *filter(None, [kept.get("PYTHONPATH")])])} | environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )


@dataclass(frozen=True)
class Ended:
    """How a command ended, as `subprocess.run` tells it."""

    returncode: int
    stdout: str
    stderr: str


def run_command(*arguments: object, folder: Path | None = None, ends: bool = False, **environment: str) -> Ended:
    """Run the command line in this process, where all is imported already: a process of its own takes seconds longer.

    Nothing is a terminal to it. What it sets, signals among it, is set back. It answers when these tests as a whole are
    ended, by a time limit for instance: then no test has failed, unless this one sends the signal itself (`ends`).
    """
    from molehill.cli.main import main  # noqa: PLC0415

    code: object = 0
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["molehill", *map(str, arguments)])
        for name, value in ({"COLUMNS": "200"} | environment).items():
            patch.setenv(name, value)
        if folder is not None:
            patch.chdir(folder)
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            try:
                main()
            except SystemExit as ended:
                code = ended.code
            finally:
                for number, answer in kept.items():
                    signal.signal(number, answer)
    if code == 128 + signal.SIGTERM and not ends:
        pytest.exit("terminated from outside", 128 + signal.SIGTERM)
    return Ended(code if isinstance(code, int) else int(code is not None), out.getvalue(), error.getvalue())
