"""Analyses that users compute: summaries of a variable, and regressions with checked formulas.

Formulaic would evaluate any Python code in a formula. Only names of variables, numbers, operators and some functions
are accepted. Variables get neutral names before Formulaic sees them, so that they may have any name, and their own
names again in the coefficients.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from numbers import Real
from typing import Literal

import pandas as pd

from molehill.errors import InputError, check_choice

FUNCTIONS = ("C", "I", "bs", "center", "exp", "log", "log10", "log1p", "poly", "scale", "sqrt")

_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<call>[^\W\d]\w*)(?=\s*\()|(?P<name>[^\W\d]\w*)"
    r"|(?P<other>\d+(\.\d+)?|[-+:*/^(),])|(?P<tilde>~)|(?P<space>\s+)|(?P<bad>.)",
    re.DOTALL,
)
_NEUTRAL = re.compile(r"column_(\d+)_")
_REMEDY = "For example 'income ~ age + C(region)'"
# Limits that keep a formula from taking long or never ending.
MOST_TERMS, MOST_COEFFICIENTS = 1_000, 1_000
_LONGEST, _DEEPEST, _HIGHEST_POWER, _HIGHEST_DEGREE, _LARGEST = 2_000, 50, 20, 30, 1e15
_SIGN = re.compile(r"\*\*|\d+(?:\.\d+)?|\w+|[-+:*/^(),~]")

_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}

Term = frozenset[str]


@dataclass(frozen=True)
class ReadFormula:
    """A formula with neutral names: `column_0_` stands for `columns[0]`, which is the outcome."""

    text: str
    columns: tuple[str, ...]
    terms: tuple[Term, ...] = field(default=(), repr=False)

    @property
    def outcome(self) -> str:
        """The variable on the left-hand side."""
        return self.columns[0]

    def neutral(self, name: str) -> str:
        """The neutral name of a variable."""
        return f"column_{self.columns.index(name)}_"

    def restore(self, term: str) -> str:
        """Restore the names of variables in a coefficient.

        Examples
        --------
        >>> ReadFormula("column_0_ ~ column_1_", ("income", "region")).restore("column_1_[T.south]")
        'region[south]'
        """
        plain = _NEUTRAL.sub(lambda found: self.columns[int(found[1])], term)
        return plain.replace("[T.", "[")


def read_formula(formula: str) -> ReadFormula:
    """Parse a formula, or raise an error about what is not allowed in it.

    Examples
    --------
    >>> read_formula("log(income) ~ age + C(region)")
    ReadFormula(text='log(column_0_) ~ column_1_ + C(column_2_)', columns=('income', 'age', 'region'))
    """
    if not isinstance(formula, str):
        raise InputError("formula", f"it is of type {type(formula).__name__}, not text", _REMEDY)
    if len(formula) > _LONGEST:
        raise InputError("formula", f"it is longer than {_LONGEST:,} characters", "Use fewer variables")
    columns: list[str] = []
    pieces: list[str] = []
    outcomes = 0
    for token in _TOKEN.finditer(formula):
        name = token["quoted"] or token["name"]
        if token["bad"] is not None:
            raise InputError("formula", f"the character {token['bad']!r} is not allowed", _remedy_for_signs())
        if token["call"] and token["call"] not in FUNCTIONS:
            raise InputError("formula", f"the function {token['call']!r} is not allowed", _remedy_for_signs())
        if token["tilde"]:
            outcomes = outcomes + len(columns) if "~" not in pieces else -1
        if name and name not in columns:
            columns.append(name)
        pieces.append(f"column_{columns.index(name)}_" if name else token[0])
    if "~" not in pieces or outcomes != 1:
        raise InputError("formula", "it must have the form 'outcome ~ predictors'", _REMEDY)
    text = "".join(pieces).strip()
    left, right = text.split("~")
    expand_terms(left, "formula")
    return ReadFormula(text, tuple(columns), expand_terms(right, "formula"))


def _remedy_for_signs() -> str:
    functions: Sequence[str] = FUNCTIONS
    return f"Use names of variables (in backticks if necessary), + - * : / ^ and {', '.join(functions)}"


def expand_terms(text: str, argument: str, remedy: str = _REMEDY) -> tuple[Term, ...]:
    """Expand one side of a formula into the factors of its terms, or raise an error if that would take too long.

    Parameters
    ----------
    text
        The side, of neutral names, numbers, operators and calls.
    argument, remedy
        The argument to name in errors, and the remedy for one that cannot be parsed.

    Examples
    --------
    >>> [sorted(term) for term in expand_terms("(a + b)**2 + log(c)", "formula")]
    [['a'], ['a', 'b'], ['b'], ['log(c)']]
    """
    reader = _Expansion(_SIGN.findall(text), argument, remedy)
    terms = reader.read_sum()
    reader.end()
    return tuple(sorted(terms, key=sorted))


class _Expansion:
    """Reads one side of a formula from left to right; the precedence of its operators is that of Formulaic."""

    def __init__(self, signs: Sequence[str], argument: str, remedy: str) -> None:
        self._signs, self._argument, self._remedy = signs, argument, remedy
        self._place = self._depth = 0

    def _ahead(self, by: int = 0) -> str:
        return self._signs[self._place + by] if self._place + by < len(self._signs) else ""

    def _take(self, *wanted: str) -> str:
        sign = self._ahead()
        if sign not in wanted:
            return ""
        self._place += 1
        return sign

    def _next(self) -> str:
        self._place += 1
        return self._signs[self._place - 1] if self._place <= len(self._signs) else ""

    def _refuse(self, problem: str, remedy: str) -> InputError:
        return InputError(self._argument, problem, remedy)

    def end(self) -> None:
        """Refuse what is left over."""
        if self._ahead():
            raise self._refuse("the formula cannot be read", self._remedy)

    def _within(self, closing: str) -> None:
        self._depth -= 1
        if self._next() != closing:
            raise self._refuse("the formula cannot be read: a bracket is not closed", self._remedy)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refuse(f"brackets stand in each other more than {_DEEPEST} deep", "Write it without them")

    def _checked(self, many: int) -> None:
        if many > MOST_TERMS:
            problem = f"multiplied out it has more than {MOST_TERMS:,} terms"
            raise self._refuse(problem, "Multiply fewer variables, or give a lower power")

    # Operators of formulas, on sets of terms.

    def read_sum(self) -> set[Term]:
        """Read terms with + and - between them."""
        terms = self._read_product()
        while sign := self._take("+", "-"):
            other = self._read_product()
            terms = terms | other if sign == "+" else terms - other
        self._checked(len(terms))
        return terms

    def _read_product(self) -> set[Term]:
        terms = self._read_interaction()
        while sign := self._take("*", "/"):
            other = self._read_interaction()
            if sign == "/":
                whole = frozenset[str]().union(*terms)
                terms = terms | {whole | term for term in other}
                continue
            self._checked(len(terms) * len(other))
            terms = terms | other | {one | another for one, another in product(terms, other)}
        return terms

    def _read_interaction(self) -> set[Term]:
        terms = self._read_power()
        while self._take(":"):
            other = self._read_power()
            self._checked(len(terms) * len(other))
            terms = {one | another for one, another in product(terms, other)}
        return terms

    def _read_power(self) -> set[Term]:
        if sign := self._take("-", "+"):
            # Nothing is added, or taken away from it.
            terms = self._read_power()
            return set() if sign == "-" else terms
        terms = self._read_atom()
        if self._take("**", "^"):
            power = self._next()
            if not power.isdecimal() or not 1 <= len(power) <= 2 or int(power) > _HIGHEST_POWER or int(power) < 1:
                problem = f"the power {power[:20]!r} is no whole number from 1 to {_HIGHEST_POWER}"
                raise self._refuse(problem, "Give one; the square of a variable is I(age**2)")
            if self._ahead() in ("**", "^"):
                raise self._refuse("it has the power of a power", "Multiply the two, or use brackets")
            # Formulaic makes all products before it drops those that are the same.
            self._checked(len(terms) ** int(power))
            once = terms
            for _ in range(int(power) - 1):
                terms = {one | another for one, another in product(terms, once)}
        return terms

    def _read_atom(self) -> set[Term]:
        begun, sign = self._place, self._next()
        if sign == "(":
            self._enter()
            terms = self.read_sum()
            self._within(")")
            return terms
        if sign[:1].isdecimal():
            return {frozenset()} if sign == "1" else set() if sign == "0" else {frozenset((sign,))}
        if not sign.isidentifier():
            raise self._refuse("the formula cannot be read", self._remedy)
        if self._ahead() == "(":
            self._read_call(sign)
        return {frozenset(("".join(self._signs[begun : self._place]),))}

    # Python within a call: a number for what has no variable in it, None for what has.

    def _read_call(self, function: str) -> None:
        self._enter()
        self._next()
        self._read_value()
        while self._take(","):
            number = self._read_value()
            if function in ("poly", "bs") and number is not None and number > _HIGHEST_DEGREE:
                problem = f"{function!r} has a number above {_HIGHEST_DEGREE}"
                raise self._refuse(problem, f"Give one of at most {_HIGHEST_DEGREE}")
        self._within(")")

    def _fold(self, sign: str, one: float | None, other: float | None) -> float | None:
        if (sign == "/" and other == 0) or (sign == "**" and one == 0 and other is not None and other < 0):
            raise self._refuse("it divides by 0", self._remedy)
        if sign == "**" and other is not None and abs(other) > _HIGHEST_POWER:
            raise self._refuse(f"it has a power above {_HIGHEST_POWER}", "Give a lower one")
        return None if one is None or other is None else self._bounded(_ARITHMETIC[sign](one, other))

    def _bounded(self, number: float | complex) -> float:
        if isinstance(number, complex) or abs(number) > _LARGEST:
            raise self._refuse("a number in it is too large", f"Write numbers up to {_LARGEST:.0e}, as they are")
        return number

    def _read_value(self) -> float | None:
        value = self._read_quotient()
        while sign := self._take("+", "-"):
            value = self._fold(sign, value, self._read_quotient())
        return value

    def _read_quotient(self) -> float | None:
        value = self._read_sign()
        while sign := self._take("*", "/"):
            value = self._fold(sign, value, self._read_sign())
        return value

    def _read_sign(self) -> float | None:
        minus = 0
        while sign := self._take("-", "+"):
            minus += sign == "-"
        value = self._read_own()
        if self._take("**", "^"):
            value = self._fold("**", value, self._read_sign())
        return -value if value is not None and minus % 2 else value

    def _read_own(self) -> float | None:
        sign = self._next()
        if sign == "(":
            self._enter()
            value = self._read_value()
            self._within(")")
            return value
        if sign[:1].isdecimal():
            return self._bounded(float(sign))
        if not sign.isidentifier():
            raise self._refuse("the formula cannot be read", self._remedy)
        if self._ahead() == "(":
            self._read_call(sign)
        return None


def refuse_wide(frame: pd.DataFrame, formula: ReadFormula, argument: str = "formula") -> None:
    """Raise an error if a formula has too many coefficients, before its design matrix is built."""
    most = 0
    for term in formula.terms:
        most += prod(_count_columns(frame, formula, factor) for factor in term)
        if most > MOST_COEFFICIENTS:
            problem = f"it has more than {MOST_COEFFICIENTS:,} coefficients"
            raise InputError(argument, problem, "Leave out products of categories, or use coarser ones")


def _count_columns(frame: pd.DataFrame, formula: ReadFormula, factor: str) -> int:
    """Minimum number of columns of a factor in the design matrix."""
    named = re.fullmatch(r"(C\()?column_(\d+)_\)?", factor)
    if named is None:
        return 1
    column = frame[formula.columns[int(named[2])]]
    if not named[1] and pd.api.types.is_numeric_dtype(column.dtype):
        return 1
    return max(column.nunique() - 1, 0)


RegressionFamily = Literal["linear", "logit", "poisson"]
AnalysisKind = Literal["mean", "quantile", "sd", "correlation", "regression"]


@dataclass(frozen=True)
class Analysis:
    """An estimate that users of the data compute: made by `mean`, `quantile`, `regression` and the like.

    Attributes
    ----------
    name
        Description, for example "90% quantile of income".
    column
        The variable; the outcome of a regression.
    kind
        The type of estimate.
    share
        Of a quantile: the share of the records below it.
    other
        Of a correlation: the second variable.
    formula, family, terms
        Of a regression: its formula, its family, and the coefficients to report (empty: all).
    """

    name: str
    column: str
    kind: AnalysisKind
    share: float = 0.5
    other: str = ""
    formula: str = ""
    family: RegressionFamily = "linear"
    terms: tuple[str, ...] = ()


def mean(column: str) -> Analysis:
    """The mean of a numeric variable.

    Examples
    --------
    >>> mean("income").name
    'mean of income'
    """
    return Analysis(f"mean of {column}", column, "mean")


def median(column: str) -> Analysis:
    """The median of a numeric variable."""
    return Analysis(f"median of {column}", column, "quantile", share=0.5)


def quantile(column: str, share: float) -> Analysis:
    """A quantile of a numeric variable (type 7: linear between order statistics).

    Examples
    --------
    >>> quantile("income", 0.9).name
    '90% quantile of income'
    """
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise InputError("share", "it must be a number between 0 and 1", "For the 90% quantile write 0.9")
    return Analysis(f"{100 * float(share):.10g}% quantile of {column}", column, "quantile", share=float(share))


def sd(column: str) -> Analysis:
    """The standard deviation of a numeric variable, with denominator n - 1."""
    return Analysis(f"sd of {column}", column, "sd")


def correlation(column: str, other: str) -> Analysis:
    """The product-moment correlation of two numeric variables."""
    if column == other:
        raise InputError("other", f"it is {column!r} as well", "Name two different variables")
    return Analysis(f"correlation of {column} and {other}", column, "correlation", other=other)


def regression(formula: str, family: RegressionFamily = "linear", terms: str | Sequence[str] | None = None) -> Analysis:
    """The coefficients of a regression, fitted by statsmodels.

    Parameters
    ----------
    formula
        For example "log(income) ~ age + C(region)". Text is categorical; a number is categorical within C(). Functions
        allowed: C, I, log, log10, log1p, exp, sqrt, center, scale, poly and bs. Names with other characters stand in
        backticks.
    family
        "linear" (ordinary least squares), "logit" (outcome 0 or 1, or two categories, of which the second in their
        order is modelled) or "poisson" (log link).
    terms
        Coefficients to report, for example "region[south]"; all by default.

    Examples
    --------
    >>> regression("income ~ age + earner", terms="age").column
    'income'
    """
    check_choice("family", family, ("linear", "logit", "poisson"))
    outcome = read_formula(formula).outcome
    named = () if terms is None else (terms,) if isinstance(terms, str) else tuple(terms)
    name = formula.strip() if family == "linear" else f"{formula.strip()} ({family})"
    return Analysis(name, outcome, "regression", formula=formula, family=family, terms=named)
