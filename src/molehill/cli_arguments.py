"""What is typed on the command line, turned into arguments of the library."""

from pathlib import Path

from molehill.errors import InputError
from molehill.frames import Table
from molehill.schema import Kind
from molehill.table import read_table


def split_names(given: list[str], table: Table) -> list[str]:
    """Names with commas between; a name that itself has a comma is taken whole."""
    names = []
    for text in given:
        names += [text] if text in table.frame.columns else [name.strip() for name in text.split(",")]
    return [name for name in names if name]


def parse_pairs(given: list[str], argument: str, example: str) -> dict[str, str]:
    """Take texts of the form NAME=...; the name may hold an equals sign itself."""
    pairs = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise InputError(argument, f"{text!r} is not of the form NAME=...", f"Write {example}")
        pairs[name] = value
    return pairs


def parse_breaks(given: list[str]) -> dict[str, list[float]]:
    """Take texts such as age=25,35,50,65."""
    breaks = {}
    for name, value in parse_pairs(given, "breaks", "age=25,35,50,65").items():
        try:
            breaks[name] = [float(number) for number in value.split(",")]
        except ValueError:
            raise InputError("breaks", f"those of {name!r} are not numbers", "Write age=25,35,50,65") from None
    return breaks


def parse_kinds(given: list[str]) -> dict[str, Kind]:
    """Take texts such as income=continuous."""
    return parse_pairs(given, "kind", "income=continuous")  # pyright: ignore[reportReturnType]


def read_releases(files: list[Path], against: list[str], encoding: str | None) -> dict[str, list[Table]]:
    """Read the released tables, and those of other releases given as NAME=FILE,FILE."""
    named = {"released": files}
    for name, value in parse_pairs(against, "against", "topcoded=top.csv").items():
        named[name] = [Path(file) for file in value.split(",")]
    return {name: [read_table(file, encoding=encoding) for file in paths] for name, paths in named.items()}
