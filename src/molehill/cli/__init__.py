"""The command line: thin doors to the library."""

from molehill.cli.main import main

__all__ = ["main"]
