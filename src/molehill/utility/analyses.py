"""Analyses that users compute: summaries of a variable, and regressions with checked formulas.

Formulaic would evaluate any Python code in a formula. Only names of variables, numbers, operators and some functions
are accepted. Variables get neutral names before Formulaic sees them, so that they may have any name, and their own
names again in the coefficients.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, product
from math import prod
from numbers import Real
from typing import Any, Literal

import pandas as pd
from formulaic.errors import FormulaicError
from formulaic.parser import DefaultFormulaParser
from formulaic.parser.types import Token

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
_ARITHMETIC: Mapping[type, Callable[[float, float], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}

Term = frozenset[str]
_Refuse = Callable[[str, str], InputError]


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
    depth = max(accumulate((sign == "(") - (sign == ")") for sign in text), default=0)
    if depth > _DEEPEST:
        raise InputError(argument, f"its brackets are nested more than {_DEEPEST} deep", "Use fewer brackets")
    try:
        tree = DefaultFormulaParser(include_intercept=False).get_ast(text)
    except FormulaicError:
        tree = None
    if tree is None:
        raise InputError(argument, "the formula cannot be read", remedy)
    return tuple(sorted(_terms_of(tree, partial(InputError, argument)), key=sorted))


def _terms_of(node: Any, refuse: _Refuse) -> set[Term]:
    """The terms of a parsed formula, each the set of its factors; that of the intercept is empty."""
    if isinstance(node, Token):
        if node.kind is Token.Kind.PYTHON:
            _check_call(node.token, refuse)
        factor = node.token.replace(" ", "")
        return {frozenset() if factor == "1" else frozenset((factor,))}
    sign, terms = node.operator.symbol, _terms_of(node.args[0], refuse)
    if len(node.args) == 1:
        return terms if sign == "+" else set()
    if sign in ("**", "^"):
        return _to_power(terms, node.args[1], refuse)
    other = _terms_of(node.args[1], refuse)
    _check_terms(len(terms) * len(other) if sign in ("*", ":") else len(terms) + len(other), refuse)
    if sign in ("+", "-"):
        return terms | other if sign == "+" else terms - other
    if sign == "/":
        whole = frozenset[str]().union(*terms)
        return terms | {whole | term for term in other}
    products = {one | another for one, another in product(terms, other)}
    return products if sign == ":" else terms | other | products


def _to_power(terms: set[Term], given: Any, refuse: _Refuse) -> set[Term]:
    power = given.token if isinstance(given, Token) else "of a power"
    if not power.isdecimal() or len(power) > 2 or not 1 <= int(power) <= _HIGHEST_POWER:
        problem = f"the power {power[:20]!r} is not a whole number from 1 to {_HIGHEST_POWER}"
        raise refuse(problem, "Use such a power; the square of a variable is I(age**2)")
    # Formulaic makes all products before it removes equal ones.
    _check_terms(len(terms) ** int(power), refuse)
    found = terms
    for _ in range(int(power) - 1):
        found = {one | another for one, another in product(found, terms)}
    return found


def _check_terms(number: int, refuse: _Refuse) -> None:
    if number > MOST_TERMS:
        problem = f"expanded it has more than {MOST_TERMS:,} terms"
        raise refuse(problem, "Multiply fewer variables, or use lower powers")


def _check_call(text: str, refuse: _Refuse) -> None:
    """Raise an error for a call whose constants are too large to evaluate."""
    try:
        _fold(ast.parse(text.strip(), mode="eval").body, refuse)
    except (SyntaxError, ValueError) as error:
        raise error if isinstance(error, InputError) else refuse("the formula cannot be read", _REMEDY) from None


def _fold(node: ast.expr, refuse: _Refuse) -> float | None:
    """The value of a constant expression; None with variables."""
    if isinstance(node, ast.Call):
        numbers = [_fold(given, refuse) for given in node.args][1:]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("poly", "bs") and any(number is not None and number > _HIGHEST_DEGREE for number in numbers):
            raise refuse(f"{name!r} has a number above {_HIGHEST_DEGREE}", f"Use at most {_HIGHEST_DEGREE}")
        return None
    if isinstance(node, ast.Name):
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _fold(node.operand, refuse)
        return -value if value is not None and isinstance(node.op, ast.USub) else value
    value: Any = _operate(node, refuse) if isinstance(node, ast.BinOp) else getattr(node, "value", "")
    if isinstance(value, str):
        raise refuse("the formula cannot be read", _REMEDY)
    if value is not None and (isinstance(value, complex) or abs(value) > _LARGEST):
        raise refuse("a number in it is too large", f"Use numbers up to {_LARGEST:.0e}")
    return value


def _operate(node: ast.BinOp, refuse: _Refuse) -> Any:
    one, other, power = _fold(node.left, refuse), _fold(node.right, refuse), isinstance(node.op, ast.Pow)
    if (isinstance(node.op, ast.Div) and other == 0) or (power and one == 0 and other is not None and other < 0):
        raise refuse("it divides by 0", _REMEDY)
    if power and other is not None and abs(other) > _HIGHEST_POWER:
        raise refuse(f"it has a power above {_HIGHEST_POWER}", "Use a lower power")
    if type(node.op) not in _ARITHMETIC:
        raise refuse("the formula cannot be read", _REMEDY)
    return None if one is None or other is None else _ARITHMETIC[type(node.op)](one, other)


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
