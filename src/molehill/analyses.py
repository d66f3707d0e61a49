"""What a user of the data would compute, in words: means, quantiles, correlations, regressions."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from molehill.arguments import check_choice
from molehill.errors import InputError
from molehill.formulas import read_formula

Family = Literal["linear", "logit", "poisson"]
Kind = Literal["mean", "quantile", "sd", "correlation", "regression"]


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
    kind: Kind
    share: float = 0.5
    other: str = ""
    formula: str = ""
    family: Family = "linear"
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


def regression(formula: str, family: Family = "linear", terms: str | Sequence[str] | None = None) -> Analysis:
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
