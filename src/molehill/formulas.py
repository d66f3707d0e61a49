"""Formulas of regressions: read with care, because Formulaic would run any Python that it finds in one.

Only names of columns, numbers, operators and some functions are let through. Columns get neutral names before
Formulaic sees them, so that a column may be called anything, and their own names again in the coefficients.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from molehill.errors import InputError

FUNCTIONS = ("C", "I", "bs", "center", "exp", "log", "log10", "log1p", "poly", "scale", "sqrt")

_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<call>[^\W\d]\w*)(?=\s*\()|(?P<name>[^\W\d]\w*)"
    r"|(?P<other>\d+(\.\d+)?|[-+:*/^(),])|(?P<tilde>~)|(?P<space>\s+)|(?P<bad>.)",
    re.DOTALL,
)
_NEUTRAL = re.compile(r"column_(\d+)_")
_REMEDY = "Write for instance 'income ~ age + C(region)'"


@dataclass(frozen=True)
class ReadFormula:
    """A formula with neutral names: `column_0_` stands for `columns[0]`, which is the outcome."""

    text: str
    columns: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The column of the left-hand side."""
        return self.columns[0]

    def neutral(self, name: str) -> str:
        """Give what a column is called in the text."""
        return f"column_{self.columns.index(name)}_"

    def restore(self, term: str) -> str:
        """Give a coefficient its name in the words of the caller.

        Examples
        --------
        >>> ReadFormula("column_0_ ~ column_1_", ("income", "region")).restore("column_1_[T.south]")
        'region[south]'
        """
        plain = _NEUTRAL.sub(lambda found: self.columns[int(found[1])], term)
        return plain.replace("[T.", "[")


def read_formula(formula: str) -> ReadFormula:
    """Take a formula apart, or say what in it cannot be used.

    Examples
    --------
    >>> read_formula("log(income) ~ age + C(region)")
    ReadFormula(text='log(column_0_) ~ column_1_ + C(column_2_)', columns=('income', 'age', 'region'))
    """
    if not isinstance(formula, str):
        raise InputError("formula", f"it is of type {type(formula).__name__}, not text", _REMEDY)
    columns: list[str] = []
    pieces: list[str] = []
    outcomes = 0
    for token in _TOKEN.finditer(formula):
        name = token["quoted"] or token["name"]
        if token["bad"] is not None:
            raise InputError("formula", f"the sign {token['bad']!r} cannot be used in it", _remedy_for_signs())
        if token["call"] and token["call"] not in FUNCTIONS:
            raise InputError("formula", f"{token['call']!r} is not a function that can be used", _remedy_for_signs())
        if token["tilde"]:
            outcomes = outcomes + len(columns) if "~" not in pieces else -1
        if name and name not in columns:
            columns.append(name)
        pieces.append(f"column_{columns.index(name)}_" if name else token[0])
    if "~" not in pieces or outcomes != 1:
        raise InputError("formula", "it does not have one outcome, then '~', then predictors", _REMEDY)
    return ReadFormula("".join(pieces).strip(), tuple(columns))


def _remedy_for_signs() -> str:
    functions: Sequence[str] = FUNCTIONS
    return f"Use column names (between backticks if need be), + - * : / ^ and {', '.join(functions)}"
