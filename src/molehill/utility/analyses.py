"""What users compute: summaries of a column, and regressions, whose formulas are read with care.

Formulaic would run any Python that it finds in a formula. Only names of columns, numbers, operators and some functions
are let through. Columns get neutral names before Formulaic sees them, so that a column may be called anything, and
their own names again in the coefficients.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from molehill.errors import InputError, check_choice

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


RegressionFamily = Literal["linear", "logit", "poisson"]
AnalysisKind = Literal["mean", "quantile", "sd", "correlation", "regression"]


@dataclass(frozen=True)
class Analysis:
    """What a user of the data would compute: made by `mean`, `quantile`, `regression` and the like.

    Attributes
    ----------
    name
        In words, such as "90% quantile of income".
    column
        The column that it is about; of a regression, the outcome.
    kind
        Which of the summaries it is.
    share
        Of a quantile: the share of the records below it.
    other
        Of a correlation: the second column.
    formula, family, terms
        Of a regression: its formula, its family, and the coefficients to report (none named: all).
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
    """The mean of a numeric column.

    Examples
    --------
    >>> mean("income").name
    'mean of income'
    """
    return Analysis(f"mean of {column}", column, "mean")


def median(column: str) -> Analysis:
    """The median of a numeric column."""
    return Analysis(f"median of {column}", column, "quantile", share=0.5)


def quantile(column: str, share: float) -> Analysis:
    """The value that a share of a numeric column's values lie below (type 7: linear between order statistics).

    Examples
    --------
    >>> quantile("income", 0.9).name
    '90% quantile of income'
    """
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        raise InputError("share", "it must be a number between 0 and 1", "For the 90% quantile write 0.9")
    return Analysis(f"{100 * float(share):.10g}% quantile of {column}", column, "quantile", share=float(share))


def sd(column: str) -> Analysis:
    """The standard deviation of a numeric column, with denominator n - 1."""
    return Analysis(f"sd of {column}", column, "sd")


def correlation(column: str, other: str) -> Analysis:
    """The product-moment correlation of two numeric columns."""
    if column == other:
        raise InputError("other", f"it is {column!r} as well", "Name two different columns")
    return Analysis(f"correlation of {column} and {other}", column, "correlation", other=other)


def regression(formula: str, family: RegressionFamily = "linear", terms: str | Sequence[str] | None = None) -> Analysis:
    """The coefficients of a regression, fitted by statsmodels.

    Parameters
    ----------
    formula
        Such as "log(income) ~ age + C(region)". Text is categorical, a number is a number unless it is within C();
        C, I, log, log10, log1p, exp, sqrt, center, scale, poly and bs are the functions that may be used. A name
        with other signs stands between backticks.
    family
        "linear" (ordinary least squares), "logit" (an outcome of 0 and 1, or of two categories, of which the second
        in their order is modelled) or "poisson" (log link).
    terms
        Coefficients to report, such as "region[south]"; all by default.

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
