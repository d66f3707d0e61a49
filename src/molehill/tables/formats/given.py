"""Options of reading a file, where detection is not possible or wrong."""

import codecs
import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from molehill.errors import InputError

_THOUSANDS = ("", ",", ".", " ", "'", "\u2019", "\u00a0", "\u2009", "\u202f")


@dataclass(frozen=True)
class Given:
    """Options of `read_table`; None means detection."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None


def check_given(given: Given, options: Collection[str], ending: str) -> Given:
    """Check options, and that the format has them; an encoding that is not needed is dropped."""
    for name in (each.name for each in fields(given) if getattr(given, each.name) is not None):
        if name not in options and name != "encoding":
            raise InputError(name, f"a {ending} file has none", "Omit it")
    try:
        codecs.lookup(given.encoding or "utf-8")
    except LookupError:
        raise InputError(
            "encoding", f"{given.encoding!r} is unknown", "For example utf-8, latin-1, cp1252 or utf-16"
        ) from None
    if given.separator is not None and not re.fullmatch(r"[^\w\r\n\"'.\0]", given.separator):
        raise InputError("separator", f"{given.separator!r} is not a separator", "Use ',', ';', '|' or a tab")
    if given.decimal not in (None, ".", ","):
        raise InputError("decimal", f"{given.decimal!r} is not a decimal mark", "Use '.' or ','")
    if given.thousands not in (None, *_THOUSANDS) or (given.thousands and given.thousands == given.decimal):
        problem = f"{given.thousands!r} is not a thousands separator, or it is the decimal mark"
        raise InputError("thousands", problem, "Use ',', '.', a space, an apostrophe, or '' for none")
    return given if "encoding" in options else replace(given, encoding=None)
