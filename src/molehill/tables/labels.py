"""Text from data, prepared for display."""

import unicodedata
from collections.abc import Sequence

LONGEST = 36
# Characters that change the writing direction, also of adjacent text.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def short_label(text: str, longest: int = LONGEST) -> str:
    """A text as a label: one line, without invisible characters, and truncated with an ellipsis.

    Examples
    --------
    >>> short_label("two" + chr(10) + "lines")
    'two lines'
    >>> short_label("x" * 10_000, 5)
    'xxxx…'
    """
    # More than can be shown, for speed with huge texts.
    start = text[: 4 * longest]
    visible = "".join(
        " " if unicodedata.category(letter) in {"Cc", "Cs", "Co", "Zl", "Zp"} or letter in _TURNING else letter
        for letter in start
    )
    line = " ".join(visible.split())
    cut = len(line) > longest or len(text) > len(start)
    return (line[: longest - 1] + "…" if cut else line) or "(no name)"


def align_rows(rows: Sequence[Sequence[str]], right: Sequence[bool] | None = None) -> list[str]:
    """Align the cells of a text table in columns, two spaces apart, right-aligned where requested.

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
