"""Who may read a file."""

import os
from pathlib import Path


def is_private(path: Path) -> bool:
    """Whether its owner alone may read it; of a system without such modes nothing is asked."""
    return os.name != "posix" or path.stat().st_mode & 0o077 == 0
