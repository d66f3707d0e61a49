"""Python in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

SUPPORT = str(Path(__file__).parent)


def run_python(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without the settings of JAX that this process has; it can import what lies beside this file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env=kept | {"PYTHONPATH": os.pathsep.join([SUPPORT, *filter(None, [kept.get("PYTHONPATH")])])} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
