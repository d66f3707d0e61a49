"""Names from data, made fit to be shown."""

import unicodedata
from collections.abc import Sequence

LONGEST = 36
# A direction turned around by a name would turn what stands beside it as well.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def short_label(text: str, longest: int = LONGEST) -> str:
    """Make a text fit to be drawn: one line, nothing invisible, and cut, with an ellipsis, where it is too long.

    Examples
    --------
    >>> short_label("two" + chr(10) + "lines")
    'two lines'
    >>> short_label("x" * 10_000, 5)
    'xxxx…'
    """
    # Far more than can be shown; the rest of a huge text need not be looked at.
    start = text[: 4 * longest]
    visible = "".join(
        " " if unicodedata.category(letter) in {"Cc", "Cs", "Co", "Zl", "Zp"} or letter in _TURNING else letter
        for letter in start
    )
    line = " ".join(visible.split())
    cut = len(line) > longest or len(text) > len(start)
    return (line[: longest - 1] + "…" if cut else line) or "(no name)"


def align_rows(rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Set the cells of a dataset below each other, two spaces between the variables; to the right where that is said.

    Examples
    --------
    >>> align_rows([("name", "records"), ("A", "12")], right=(False, True))
    ['name  records', 'A          12']
    """
    places = right or [False] * len(rows[0])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, places, strict=True)
        ).rstrip()
        for row in rows
    ]
