"""Parser of constraints: text from settings is never executed.

    rent <= income                          a comparison: < <= > >= = !=, with + and - of variables and numbers
    wages + benefits = total
    age < 15 -> marital = 'single'          a condition and its conclusion; `and` joins several on either side
    region in ('north', 'south')
    age < 15 -> income is empty             or `is not empty`
    (region, state) fixed                   only combinations that occur in the confidential data

Names with other characters stand in backticks, text in quotes; either is doubled within itself.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from molehill.errors import InputError, check_whole, nearest
from molehill.rules.constraints import (
    KEYWORDS,
    Claim,
    Constraint,
    Empty,
    Fixed,
    Key,
    Levels,
    Same,
    Sum,
    key_of,
    quote_key,
    quote_name,
    type_of,
)
from molehill.rules.contradictions import find_contradictions
from molehill.tables.table import Table, as_table

# Minimum number of records of a combination, so that it does not disclose a record.
LEAST_RECORDS = 3
_LONGEST, _MOST, _DIGITS = 2_000, 1_000, 30
_TOKEN = re.compile(
    r"`(?P<quoted>(?:[^`]|``)+)`|'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\""
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?(?![\w.]))|(?P<name>[^\W\d][\w.]*)"
    r"|(?P<sign>->|<=|>=|!=|==|<>|[<>=+\-(),])|(?P<space>\s+)|(?P<bad>.)",
    re.DOTALL,
)
_COMPARISONS = ("<=", ">=", "!=", "<", ">", "=")
_INSTEAD = {"==": "=", "<>": "!="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class ProblemError(Exception):
    """A problem in one constraint or formula."""


@dataclass(frozen=True)
class Token:
    """A piece of text and its kind."""

    kind: str
    text: str


class TokenReader:
    """Reads tokens from left to right."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens, self._place = tokens, 0

    def ahead(self) -> Token:
        """The next token, or the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else Token("end", "the end")

    def take(self, kind: str, *texts: str) -> Token | None:
        """Take the next token if it has this kind, and one of these texts."""
        token = self.ahead()
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._place += 1
        return token

    def need(self, kind: str, text: str) -> None:
        """Take the next token, or raise an error if it is another one."""
        if not self.take(kind, text):
            self.refuse(repr(text))

    def refuse(self, wanted: str) -> NoReturn:
        """Raise an error that names what was expected."""
        found = self.ahead()
        at = "it ends" if found.kind == "end" else f"it has {found.text!r}"
        raise ProblemError(f"{at} where {wanted} is expected")


@dataclass(frozen=True)
class _Side:
    """One side of a comparison: variables with multiplicities, a number, and texts (at most one, alone)."""

    terms: tuple[tuple[str, int], ...]
    number: Fraction
    texts: tuple[str, ...]
    parts: int


def read_constraints(
    texts: str | Sequence[str],
    data: object,
    *,
    least: int = LEAST_RECORDS,
    limits: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, float] | None = None,
) -> tuple[Constraint, ...]:
    """Parse constraints, and report all problems in one error.

    Problems are unknown variables, invalid comparisons, levels that no record has, repeated constraints, and
    contradictions (`find_contradictions`). For a number with value labels, a label can be written.

    Parameters
    ----------
    texts
        One or several constraints; the docstring of this module shows the syntax.
    data
        The confidential data: variables, their types, and the combinations that occur.
    least
        Minimum number of records of a combination that `fixed` allows.
    limits, units
        Value ranges and units of numbers, to find contradictions.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [8, 40], "income": [None, 900.0], "home": ["own", "rent"]})
    >>> [only] = read_constraints(["age < 15 -> income is empty"], people)
    >>> only.columns, only.holds(people).tolist()
    (('age', 'income'), [True, True])
    >>> read_constraints(["agee < 15", "home < 3"], people)
    Traceback (most recent call last):
    molehill.errors.InputError: constraints: 2 problems: 'agee < 15': there is no variable 'agee': Did you mean 'age'?
    The names are 'age', 'income', 'home'; 'home < 3': 'home' is text, which has no order: use = or !=.
    Correct all of them.
    """
    table, given = as_table(data), [texts] if isinstance(texts, str) else texts
    check_whole("least", least, 1)
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise InputError("constraints", "they are not texts", "For example ['rent <= income']")
    if len(given) > _MOST:
        raise InputError("constraints", f"there are {len(given):,}, more than {_MOST:,}", "Declare fewer")
    read: list[Constraint] = []
    problems: list[str] = []
    for text in given:
        try:
            constraint = _read(text, table, least)
        except ProblemError as problem:
            problems.append(f"{_show(text)}: {problem}")
            continue
        twice = [other for other in read if _means(other) == _means(constraint)]
        if twice:
            problems.append(f"{_show(text)} is equivalent to {_show(twice[0].text)}: remove one of the two")
        else:
            read.append(constraint)
    levels = {name: _levels_in(table, name) for each in read for name in _text_columns(table, each)}
    problems += find_contradictions(read, table, limits=limits, levels=levels, units=units)
    if problems:
        shown = problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
        raise InputError("constraints", shown, "Correct it" if len(problems) == 1 else "Correct all of them")
    return tuple(read)


def _show(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:99] + "…")


def _means(constraint: Constraint) -> tuple[frozenset[Claim], frozenset[Claim]]:
    return frozenset(constraint.condition), frozenset(constraint.conclusion)


def _text_columns(table: Table, constraint: Constraint) -> list[str]:
    return [name for name in constraint.columns if type_of(table.frame[name]) == "text"]


# Tokens to claims.


def _read(text: str, table: Table, least: int) -> Constraint:
    tokens = _take_apart(text)
    if not tokens:
        raise ProblemError("it is empty: remove it")
    reader = _Reader(tokens, table, least)
    if tokens[0].text == "(" and tokens[0].kind == "sign":
        claims: tuple[Claim, ...] = (reader.read_fixed(),)
        reader.end()
        return Constraint(text.strip(), (), claims)
    first = reader.read_claims()
    if not reader.take("sign", "->"):
        reader.end()
        return Constraint(text.strip(), (), first)
    second = reader.read_claims()
    reader.end()
    return Constraint(text.strip(), first, second)


def _take_apart(text: str) -> list[Token]:
    if len(text) > _LONGEST:
        raise ProblemError(f"it is longer than {_LONGEST:,} characters: split it")
    tokens = []
    for found in _TOKEN.finditer(text):
        kind, piece = str(found.lastgroup), found[0]
        if kind == "bad":
            _refuse_sign(piece)
        if piece in _INSTEAD:
            raise ProblemError(f"write {_INSTEAD[piece]} instead of {piece}")
        if kind == "quoted":
            tokens.append(Token("name", piece[1:-1].replace("``", "`")))
        elif kind in ("single", "double"):
            tokens.append(Token("text", piece[1:-1].replace(piece[0] * 2, piece[0])))
        elif kind == "name":
            tokens.append(Token("word" if piece in KEYWORDS else "name", piece))
        elif kind != "space":
            tokens.append(Token(kind, piece))
    return tokens


def _refuse_sign(sign: str) -> NoReturn:
    if sign in "'\"`":
        raise ProblemError(f"a {sign} is not closed; within a text or a name it is doubled")
    if sign in "0123456789.":
        raise ProblemError("a number is invalid: use a decimal point and no thousands separators")
    raise ProblemError(f"the character {sign!r} is not allowed: put names with it in backticks, texts in quotes")


class _Reader(TokenReader):
    """Parser of claims."""

    def __init__(self, tokens: Sequence[Token], table: Table, least: int) -> None:
        super().__init__(tokens)
        self._table, self._least = table, least

    def end(self) -> None:
        """Raise an error if tokens are left over."""
        token = self.ahead()
        if token.kind == "sign" and token.text in _COMPARISONS:
            raise ProblemError("it chains comparisons: join them by 'and'")
        if token.text == "->" and token.kind == "sign":
            raise ProblemError("it has more than one ->: split it into several constraints")
        if token.kind != "end":
            self.refuse("'and', '->' or the end")

    def read_claims(self) -> tuple[Claim, ...]:
        """Read claims that are joined by `and`."""
        claims = [self._read_claim()]
        while self.take("word", "and"):
            claims.append(self._read_claim())
        return tuple(claims)

    def read_fixed(self) -> Fixed:
        """Read names between parentheses, and `fixed`."""
        self.need("sign", "(")
        names = [self._read_column()]
        while self.take("sign", ","):
            names.append(self._read_column())
        self.need("sign", ")")
        self.need("word", "fixed")
        if len(names) < 2 or len(set(names)) < len(names):
            raise ProblemError("fixed needs two or more different variables")
        dated = [name for name in names if type_of(self._table.frame[name]) == "dates"]
        if dated:
            raise ProblemError(f"{dated[0]!r} is a date, which 'fixed' does not support")
        return Fixed(tuple(names), _combinations(self._table.frame, names, self._least))

    def _read_column(self) -> str:
        token = self.take("name")
        if token is None:
            self.refuse("the name of a variable")
        columns = self._table.frame.columns
        if token.text not in columns:
            raise ProblemError(f"there is no variable {token.text!r}: {nearest(token.text, columns)}")
        if pd.api.types.infer_dtype(self._table.frame[token.text], skipna=True) == "mixed":
            raise ProblemError(f"{token.text!r} has values of several types, which cannot be compared")
        return token.text

    def _read_claim(self) -> Claim:
        left = self._read_side()
        if self.take("word", "is"):
            claim = Empty(_one_column(left, "is"), empty=not self.take("word", "not"))
            self.need("word", "empty")
            return claim
        among = not self.take("word", "not")
        if self.take("word", "in"):
            return _claim_levels(self._table, _one_column(left, "in"), self._read_list(), among=among)
        sign = self.take("sign", *_COMPARISONS) if among else None
        if sign is None:
            self.refuse("a comparison, 'in' or 'is'" if among else "'in'")
        return _claim_comparison(self._table, left, sign.text, self._read_side())

    def _read_list(self) -> list[Fraction | str]:
        self.need("sign", "(")
        listed = [self._read_value()]
        while self.take("sign", ","):
            listed.append(self._read_value())
        self.need("sign", ")")
        return listed

    def _read_value(self) -> Fraction | str:
        if text := self.take("text"):
            return text.text
        minus = self.take("sign", "-")
        if number := self.take("number"):
            return -_as_number(number.text) if minus else _as_number(number.text)
        return self.refuse("a number or a text in quotes")

    def _read_side(self) -> _Side:
        terms: Counter[str] = Counter()
        number, texts, parts = Fraction(0), [], 0
        times = -1 if self.take("sign", "-") else 1
        while True:
            parts += 1
            if text := self.take("text"):
                texts.append(text.text)
            elif found := self.take("number"):
                number += times * _as_number(found.text)
            else:
                terms[self._read_column()] += times
            sign = self.take("sign", "+", "-")
            if sign is None:
                break
            times = 1 if sign.text == "+" else -1
        if texts and (parts > 1 or times < 0):
            raise ProblemError("text in quotes cannot be added")
        return _Side(tuple(terms.items()), number, tuple(texts), parts)


def _as_number(text: str) -> Fraction:
    if len(text) > _DIGITS:
        raise ProblemError(f"a number has more than {_DIGITS} digits")
    return Fraction(text)


def _one_column(side: _Side, word: str) -> str:
    if side.parts != 1 or len(side.terms) != 1 or side.terms[0][1] != 1:
        raise ProblemError(f"{word!r} needs a single variable on its left")
    return side.terms[0][0]


# Checks of types.


def _claim_comparison(table: Table, left: _Side, sign: str, right: _Side) -> Claim:
    if left.texts or right.texts:
        if left.texts:
            left, sign, right = right, _TURNED[sign], left
        if left.texts:
            raise ProblemError("it compares two texts, and no variable")
        if sign not in ("=", "!="):
            raise ProblemError(f"text has no order: use = or != instead of {sign}")
        return _claim_levels(table, _one_column(left, sign), list(right.texts), among=sign == "=")
    names = [name for name, _ in (*left.terms, *right.terms)]
    if not names:
        raise ProblemError("it names no variable")
    types = {name: type_of(table.frame[name]) for name in names}
    text = [name for name in names if types[name] == "text"]
    if text:
        return _claim_same(table, left, sign, right, text[0], types)
    terms = Counter(dict(left.terms))
    for name, times in right.terms:
        terms[name] -= times
    if not any(terms.values()):
        raise ProblemError("the variables cancel out, and nothing is left to compare")
    bound = right.number - left.number
    dated = [name for name in names if types[name] == "dates"]
    if dated and (len(set(types.values())) > 1 or sum(terms.values()) != 0 or bound):
        raise ProblemError(f"{dated[0]!r} is a date, which can be compared with dates only: convert it to numbers")
    return _as_sum(terms, sign, bound)


def _as_sum(terms: Mapping[str, int], sign: str, bound: Fraction) -> Sum:
    """Normal form of a comparison: with <, <=, = or !=, and variables sorted by name."""
    left = sorted((name, times) for name, times in terms.items() if times)
    # The first variable of an equation has a positive coefficient.
    if sign in (">", ">=") or (sign in ("=", "!=") and left[0][1] < 0):
        left, bound = [(name, -times) for name, times in left], -bound
    signs: Mapping[str, Any] = {">": "<", ">=": "<="}
    return Sum(tuple(left), signs.get(sign, sign), bound)


def _claim_same(table: Table, left: _Side, sign: str, right: _Side, text: str, types: Mapping[str, str]) -> Claim:
    alone = all(side.parts == 1 for side in (left, right))
    if sign not in ("=", "!="):
        raise ProblemError(f"{text!r} is text, which has no order: use = or !=")
    if not alone or any(times < 0 for _, times in (*left.terms, *right.terms)):
        raise ProblemError(f"{text!r} is text, and cannot be added")
    if not left.terms or not right.terms:
        number = left.number if right.terms else right.number
        return _claim_levels(table, text, [number], among=sign == "=")
    one, other = left.terms[0][0], right.terms[0][0]
    if one == other:
        raise ProblemError("it compares a variable with itself")
    if len(set(types.values())) > 1:
        raise ProblemError(f"{one!r} is {types[one]}, and {other!r} is {types[other]}: they cannot be compared")
    return Same((one, other) if one < other else (other, one), equal=sign == "=")


def _claim_levels(table: Table, name: str, values: Sequence[Fraction | str], *, among: bool) -> Claim:
    """Claim that a variable has, or has not, one of some values of its own type."""
    column, kind = table.frame[name], type_of(table.frame[name])
    if kind == "dates":
        raise ProblemError(f"{name!r} is a date, which can be compared with dates only: convert it to numbers")
    keys: list[Key] = []
    for value in values:
        if kind == "text" and not isinstance(value, str):
            raise ProblemError(f"{name!r} is text: put {quote_key(float(value))} in quotes")
        if kind == "numbers" and isinstance(value, str):
            keys += _codes_labelled(table, name, value)
        else:
            keys.append(value if isinstance(value, str) else float(value))
    if kind == "text" and not set(keys) & set(_levels_in(table, name)):
        raise ProblemError(
            f"no record has this text in {quote_name(name)}: write it as it is in the data"
            + (", 'True' or 'False'" if pd.api.types.is_bool_dtype(column.dtype) else "")
        )
    if kind == "numbers" and len(set(keys)) == 1:
        return Sum(((name, 1),), "=" if among else "!=", Fraction(str(keys[0])))
    return Levels(name, frozenset(keys), among)


def _codes_labelled(table: Table, name: str, label: str) -> list[Key]:
    labels = table.value_labels.get(name, {})
    found = [key_of(code) for code, text in labels.items() if text == label and not isinstance(code, str)]
    if not found:
        what = "none of its value labels" if labels else "no number"
        raise ProblemError(f"{name!r} is numeric, and the text in quotes is {what}")
    return found


def _levels_in(table: Table, name: str) -> tuple[Key, ...]:
    column = table.frame[name]
    known = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column.dropna().unique()
    return tuple(dict.fromkeys(map(key_of, known)))


def _combinations(frame: pd.DataFrame, names: list[str], least: int) -> tuple[tuple[Key, ...], ...]:
    """Combinations of values without missing that at least `least` records have."""
    sizes = frame[names].dropna().groupby(names, observed=True).size()
    often = sizes.index[np.asarray(sizes) >= least]
    found = [tuple(map(key_of, row)) for row in often]
    if not found:
        raise ProblemError(f"no combination of these variables occurs in {least:,} records")
    return tuple(found)
