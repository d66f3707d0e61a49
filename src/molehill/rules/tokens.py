"""Text of settings taken apart into names, numbers, words and signs: what readers of formulas and constraints share."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn

# How names between backticks, other names and numbers are written.
QUOTED, NAME = r"`(?P<quoted>(?:[^`]|``)+)`", r"(?P<name>[^\W\d][\w.]*)"
NUMBER = r"(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?(?![\w.]))"
_PLAIN, _DIGITS = re.compile(r"[^\W\d][\w.]*"), 30


class ProblemError(Exception):
    """What is wrong with a text, in words."""


@dataclass(frozen=True)
class Token:
    """A piece of a text: a "name", "number", "text", "word" or "sign"; "end" after the last one."""

    kind: str
    text: str


def take_apart(
    text: str, pattern: re.Pattern[str], *, longest: int, refuse: Callable[[str], NoReturn], words: Collection[str] = ()
) -> list[Token]:
    """Take a text apart by a pattern whose groups name the kinds; names that are keywords are words.

    Parameters
    ----------
    text, pattern
        The text, and what its pieces look like. Of the group `bad` is what none of them is.
    longest
        Signs at most.
    refuse
        Says what is wrong with such a sign.
    words
        The keywords.
    """
    if len(text) > longest:
        raise ProblemError(f"it is longer than {longest:,} signs: write several, or a shorter one")
    tokens = []
    for found in pattern.finditer(text):
        kind, piece = str(found.lastgroup), found[0]
        if kind == "bad":
            refuse(piece)
        if kind == "number" and len(piece) > _DIGITS:
            raise ProblemError(f"a number has more than {_DIGITS} digits")
        if kind == "quoted":
            tokens.append(Token("name", piece[1:-1].replace("``", "`")))
        elif kind in ("single", "double"):
            tokens.append(Token("text", piece[1:-1].replace(piece[0] * 2, piece[0])))
        elif kind != "space":
            tokens.append(Token("word" if kind == "name" and piece in words else kind, piece))
    return tokens


def quote(name: str, words: Collection[str] = ()) -> str:
    """Write a name as it must be written to be read again, which is not taken for a keyword."""
    plain = _PLAIN.fullmatch(name) is not None and name not in words
    return name if plain else "`" + name.replace("`", "``") + "`"


class Tokens:
    """Tokens that are read from left to right."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._place = tokens, 0

    def ahead(self) -> Token:
        """Give the next token."""
        return self._tokens[self._place] if self._place < len(self._tokens) else Token("end", "the end")

    def take(self, kind: str, *texts: str) -> Token | None:
        """Take the next token if it is such a one."""
        token = self.ahead()
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._place += 1
        return token

    def need(self, kind: str, text: str) -> None:
        """Take the next token, which must be this one."""
        if not self.take(kind, text):
            self.refuse(repr(text))

    def refuse(self, wanted: str) -> NoReturn:
        """Say what should stand in the place of the next token."""
        found = self.ahead()
        at = "it ends" if found.kind == "end" else f"there is {found.text!r}"
        raise ProblemError(f"{at} where {wanted} should be")
