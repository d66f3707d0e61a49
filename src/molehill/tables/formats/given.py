"""What the caller says about a file that is to be read, for a file cannot always tell it."""

import codecs
import re
from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from molehill.errors import InputError

_THOUSANDS = ("", ",", ".", " ", "'", "\u2019", "\u00a0", "\u2009", "\u202f")


@dataclass(frozen=True)
class Given:
    """What the caller of `read_table` said about a file; None where it is to be found out."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None


def check_given(given: Given, options: Collection[str], ending: str) -> Given:
    """Refuse what cannot be, and what a file of this kind does not have; a needless encoding is left out."""
    for name in (each.name for each in fields(given) if getattr(given, each.name) is not None):
        if name not in options and name != "encoding":
            raise InputError(name, f"a {ending} file has none", "Leave it out")
    try:
        codecs.lookup(given.encoding or "utf-8")
    except LookupError:
        raise InputError("encoding", f"{given.encoding!r} is unknown", "utf-8, latin-1, cp1252, utf-16 are") from None
    if given.separator is not None and not re.fullmatch(r"[^\w\r\n\"'.\0]", given.separator):
        raise InputError("separator", f"{given.separator!r} is none", "Give one character: ',', ';', '|' or a tab")
    if given.decimal not in (None, ".", ","):
        raise InputError("decimal", f"{given.decimal!r} is no decimal mark", "Give '.' or ','")
    if given.thousands not in (None, *_THOUSANDS) or (given.thousands and given.thousands == given.decimal):
        problem = f"{given.thousands!r} is no mark between thousands, or it is the decimal mark"
        raise InputError("thousands", problem, "Give ',', '.', a blank, an apostrophe, or '' for none")
    return given if "encoding" in options else replace(given, encoding=None)
