"""Formulas of derived variables: text from settings is never executed.

    age - experience - 6                            + - * / of variables and numbers, and parentheses
    100 * weight / (height * height)
    log(wage), exp(x), sqrt(x), abs(x)              of one argument
    min(a, b), max(a, b, 0)                         of two arguments or more
    coalesce(bonus, 0)                              the first argument that is not missing
    sum(pay + benefits) by household                over the records that share a value; also mean, min and max
    count() by household                            number of records that share it

Names with other characters stand in backticks, doubled within a name. The value is missing where an argument is
missing, for a division by zero, and for invalid logarithms and roots; `sum` and the others with `by` leave out missing
values.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.rules.reading import ProblemError, Token, TokenReader
from molehill.tables.resolution import column_unit, holds_dates, round_to_unit
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, with_columns

_LONGEST, _MOST, _DEEPEST, _DIGITS = 5_000, 500, 40, 30
_TOKEN = re.compile(
    r"`(?P<quoted>(?:[^`]|``)+)`|(?P<word>(?:log|exp|sqrt|abs|min|max|coalesce|sum|mean|count)(?=\s*\())|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?(?![\w.]))"
    r"|(?P<name>[^\W\d][\w.]*)|(?P<sign>[+\-*/(),])|(?P<space>\s+)|(?P<bad>.)",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^\W\d][\w.]*")
_OF_ONE: Mapping[str, Callable[[Floats], Floats]] = {"log": np.log, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs}
_OF_SEVERAL: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "min": np.minimum,
    "max": np.maximum,
    "coalesce": lambda one, other: np.where(np.isnan(one), other, one),
}
_WITHIN = ("sum", "mean", "min", "max", "count")

_Values = Callable[[Table], Floats]


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula of a derived variable.

    Attributes
    ----------
    text
        The formula as declared.
    parts
        The variables it is computed from, in the order of the text.
    units
        The variables after `by`, which define groups of records.
    values
        Computes it for every record of a dataset.
    """

    text: str
    parts: tuple[str, ...]
    units: tuple[str, ...]
    values: _Values


def read_formula_of(name: str, text: str) -> Formula:
    """Parse the formula of a derived variable.

    Examples
    --------
    >>> formula = read_formula_of("grade", "age - experience - 6")
    >>> formula.parts, formula.values(Table(pd.DataFrame({"age": [30, 41], "experience": [12, 20]}))).tolist()
    (('age', 'experience'), [12.0, 15.0])
    >>> read_formula_of("grade", "age ** 2")
    Traceback (most recent call last):
    molehill.errors.InputError: derived: 'grade': it has '*' where a variable, a number or a parenthesis is expected.
    For example "age - experience - 6".
    """
    try:
        return _Reader(_take_apart(text)).read(text)
    except ProblemError as problem:
        raise InputError("derived", f"{name!r}: {problem}", 'For example "age - experience - 6"') from None


def quote_part(name: str) -> str:
    """Name of a variable as written in a formula.

    Examples
    --------
    >>> quote_part("age"), quote_part("age (years)"), quote_part("sum")
    ('age', '`age (years)`', 'sum')
    """
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def derive(table: Table, formulas: Mapping[str, Formula], like: Table) -> Table:
    """Compute derived variables, in their order, with the types and units of another dataset.

    Examples
    --------
    >>> formulas = {"total": read_formula_of("total", "a + b")}
    >>> before = Table(pd.DataFrame({"a": [1.25, 2.5], "b": [2, 3], "total": [3.25, 5.5]}))
    >>> derive(Table(pd.DataFrame({"a": [2.0, 2.5], "b": [2, 3]})), formulas, before).frame["total"].tolist()
    [4.0, 5.5]
    """
    for name, formula in formulas.items():
        column = like.frame[name]
        values = pd.Series(round_to_unit(formula.values(table), column_unit(column)), index=table.frame.index)
        if pd.api.types.is_integer_dtype(column.dtype) and (values.dropna() % 1 == 0).all():
            gaps = values.isna().any() and isinstance(column.dtype, np.dtype)
            values = values.astype("Int64" if gaps else column.dtype)
        table = with_columns(table, {name: values})
    return table


def _take_apart(text: str) -> list[Token]:
    if len(text) > _LONGEST:
        raise ProblemError(f"it is longer than {_LONGEST:,} characters")
    tokens = []
    for found in _TOKEN.finditer(text):
        kind, piece = str(found.lastgroup), found[0]
        if kind == "bad":
            raise ProblemError(f"the character {piece!r} is not allowed: put names with it in backticks")
        if kind == "quoted":
            tokens.append(Token("name", piece[1:-1].replace("``", "`")))
        elif kind != "space":
            tokens.append(Token(kind, piece))
    if len(tokens) > _MOST:
        raise ProblemError(f"it has more than {_MOST:,} names, numbers and operators")
    return tokens


class _Reader(TokenReader):
    """Parser of formulas."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__(tokens)
        self._depth = 0
        self._parts: dict[str, None] = {}
        self._units: dict[str, None] = {}

    def read(self, text: str) -> Formula:
        values = self._read_sum()
        if self.ahead().kind != "end":
            self.refuse("+, -, *, / or the end")
        if not (self._parts or self._units):
            raise ProblemError("it names no variable")

        def compute(table: Table) -> Floats:
            with np.errstate(all="ignore"):
                found = np.broadcast_to(values(table), len(table.frame))
                return np.where(np.isfinite(found), found, np.nan)

        return Formula(text, tuple(self._parts), tuple(self._units), compute)

    def _read_sum(self) -> _Values:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ProblemError(f"it is nested more than {_DEEPEST} times")
        found = self._read_product()
        while sign := self.take("sign", "+", "-"):
            found = _combine(np.add if sign.text == "+" else np.subtract, found, self._read_product())
        self._depth -= 1
        return found

    def _read_product(self) -> _Values:
        found = self._read_part()
        while sign := self.take("sign", "*", "/"):
            found = _combine(np.multiply if sign.text == "*" else _divide, found, self._read_part())
        return found

    def _read_part(self) -> _Values:
        negative = False
        while self.take("sign", "-"):
            negative = not negative
        found = self._read_plain()
        return (lambda table: -found(table)) if negative else found

    def _read_plain(self) -> _Values:
        if token := self.take("number"):
            if len(token.text) > _DIGITS:
                raise ProblemError(f"a number has more than {_DIGITS} digits")
            number = np.float64(token.text)
            return lambda table: np.full(len(table.frame), number)
        if token := self.take("name"):
            name = token.text
            self._parts[name] = None
            return lambda table: column_numbers(table, name, "derived")
        if self.take("sign", "("):
            found = self._read_sum()
            self.need("sign", ")")
            return found
        if token := self.take("word"):
            return self._read_function(token.text)
        return self.refuse("a variable, a number or a parenthesis")

    def _read_function(self, word: str) -> _Values:
        self.need("sign", "(")
        given = []
        if word != "count":
            given = [self._read_sum()]
            while self.take("sign", ","):
                given.append(self._read_sum())
        self.need("sign", ")")
        if word in _WITHIN and len(given) < 2 and self.take("name", "by"):
            token = self.take("name")
            if token is None:
                self.refuse("the variable that defines the groups")
            self._units[token.text] = None
            return _within(word, given, token.text)
        if word in _OF_ONE and len(given) == 1:
            function, one = _OF_ONE[word], given[0]
            return lambda table: function(one(table))
        if word in _OF_SEVERAL and len(given) > 1:
            found = given[0]
            for other in given[1:]:
                found = _combine(_OF_SEVERAL[word], found, other)
            return found
        needed = (
            "one argument" if word in _OF_ONE else "'by' and a variable" if word in _WITHIN else "two arguments or more"
        )
        raise ProblemError(f"{word} needs {needed}")


def _combine(operation: Callable[[Floats, Floats], Floats], one: _Values, other: _Values) -> _Values:
    return lambda table: operation(one(table), other(table))


def _divide(one: Floats, other: Floats) -> Floats:
    return np.where(other == 0, np.nan, one / np.where(other == 0, 1.0, other))


def _within(word: Any, given: Sequence[_Values], unit: str) -> _Values:
    def compute(table: Table) -> Floats:
        values = pd.Series(given[0](table) if given else np.zeros(len(table.frame)))
        groups = values.groupby(pd.factorize(table.frame[unit], use_na_sentinel=False)[0])
        return groups.transform("size" if word == "count" else word).to_numpy(dtype=np.float64)

    return compute


def check_formula(formula: Formula, table: Table, name: str) -> None:
    """Raise an error if a formula names an unknown or non-numeric variable."""
    for part in (*formula.parts, *formula.units):
        problem = ""
        if part not in table.frame:
            problem = f"{name!r}: there is no variable {part!r}"
        elif part in formula.parts and (holds_dates(table.frame[part]) or not _is_number(table, part)):
            problem = f"{name!r}: {part!r} is not numeric"
        if problem:
            raise InputError("derived", problem, "Use numeric variables of the dataset")


def _is_number(table: Table, name: str) -> bool:
    return pd.api.types.is_numeric_dtype(table.frame[name].dtype)
