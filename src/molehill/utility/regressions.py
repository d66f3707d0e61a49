"""Regressions on confidential and released data: design matrices by Formulaic, fits by statsmodels.

Levels of categories and other encoding state are learned from the confidential data, so that a coefficient means the
same in every dataset.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from formulaic import ModelSpecs, model_matrix
from formulaic.errors import DataMismatchWarning, FormulaicError

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError, nearest
from molehill.surveys.estimates import weighted_regression
from molehill.tables.schema import Missing, column_numbers
from molehill.tables.table import Table
from molehill.utility.analyses import Analysis, ReadFormula, read_formula, refuse_wide
from molehill.utility.sides import Part, Side, find_complete

_CONTEXT = {"sqrt": np.sqrt, "log1p": np.log1p, "log10": np.log10, "log": np.log, "exp": np.exp}
_FAMILIES = {"logit": "Binomial", "poisson": "Poisson"}
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Fits:
    """The requested coefficients from every dataset, the confidential data first.

    `points` and `variances` are (datasets, coefficients); `degrees` are residual degrees of freedom, one per dataset,
    infinite for "logit" and "poisson".
    """

    names: tuple[str, ...]
    points: Floats
    variances: Floats
    degrees: Floats


def fit_regression(analysis: Analysis, part: Part, missing: Missing) -> Fits:
    """Fit one regression to every dataset."""
    formula = read_formula(analysis.formula)
    complete = [find_complete(side, formula.columns, missing, least=2) for side in part.sides]
    frames = [
        side.frame.loc[chosen, list(formula.columns)].reset_index(drop=True)
        for side, chosen in zip(part.sides, complete, strict=True)
    ]
    refuse_wide(frames[0], formula)
    levels = {name: _levels(frames[0][name]) for name in formula.columns}
    spec: ModelSpecs | None = None
    names: list[str] = []
    rows = []
    for side, chosen, frame in zip(part.sides, complete, frames, strict=True):
        coded = _code(side, frame, formula, levels)
        outcome, made, spec = _design(side, coded, formula, spec)
        names = names or [formula.restore(column) for column in made.columns]
        values, design = _check_outcome(side, outcome, analysis), made.to_numpy(np.float64)
        rows.append(
            _fit(side, analysis, values, design)
            if side.sample is None
            else _fit_weighted(side, analysis, chosen, values, design)
        )
    chosen = _choose(names, analysis.terms, formula.columns)
    points, variances, degrees = (np.stack(column) for column in zip(*rows, strict=True))
    return Fits(tuple(names[place] for place in chosen), points[:, chosen], variances[:, chosen], degrees)


def _levels(column: pd.Series) -> pd.Index | None:
    """The categories that occur, in their order; None for a numeric variable."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_unused_categories().cat.categories
    return pd.Index(sorted(column.unique(), key=str))


def _code(side: Side, frame: pd.DataFrame, formula: ReadFormula, levels: dict[str, pd.Index | None]) -> pd.DataFrame:
    """Variables under neutral names: numbers, and categoricals with the categories of the confidential data."""
    coded: dict[str, Any] = {}
    for name, categories in levels.items():
        if categories is None:
            numbers = column_numbers(Table(frame), name, side.argument)
            # Integers are kept, so that a level of C() is called 2, not 2.0.
            whole = pd.api.types.is_integer_dtype(frame[name].dtype)
            coded[formula.neutral(name)] = numbers.astype(np.int64) if whole else numbers
            continue
        places = categories.get_indexer(pd.Index(frame[name]))
        if (places < 0).any():
            problem = f"variable {name!r} has a category that does not occur in the confidential data"
            raise side.refuse(problem, "Use the same categories, or remove the variable from the formula")
        coded[formula.neutral(name)] = pd.Categorical.from_codes(places, categories=categories)
    return pd.DataFrame(coded)


def _design(
    side: Side, coded: pd.DataFrame, formula: ReadFormula, spec: ModelSpecs | None
) -> tuple[pd.DataFrame, pd.DataFrame, ModelSpecs]:
    """The outcome, the design matrix, and Formulaic's specification of both."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            made: Any = model_matrix(spec or formula.text, coded, context=_CONTEXT, na_action="ignore")
    except DataMismatchWarning:
        problem = "a variable within C() has a value that does not occur in the confidential data"
        raise side.refuse(problem, "Use the same categories, or remove the variable from the formula") from None
    except (FormulaicError, SyntaxError, TypeError, ValueError):
        # Not chained: Formulaic's message may quote values.
        raise InputError("formula", "it cannot be evaluated", "For example 'income ~ age + C(region)'") from None
    outcome, design = pd.DataFrame(made.lhs), pd.DataFrame(made.rhs)
    if not (np.isfinite(outcome.to_numpy(np.float64)).all() and np.isfinite(design.to_numpy(np.float64)).all()):
        problem = f"the formula {formula.restore(formula.text)!r} gives a value that is not finite"
        raise side.refuse(problem, "A logarithm needs positive numbers: remove it, or use log1p")
    return outcome, design, made.model_spec


def _check_outcome(side: Side, outcome: pd.DataFrame, analysis: Analysis) -> Floats:
    """The outcome as numbers that are valid for the family."""
    if outcome.shape[1] > 2 or (outcome.shape[1] == 2 and analysis.family != "logit"):
        problem = f"the outcome {analysis.column!r} is categorical"
        raise side.refuse(problem, "Use a numeric outcome, or one of two categories with family='logit'")
    # Of two categories, the second is the event.
    values = outcome.iloc[:, -1].to_numpy(np.float64)
    if analysis.family == "logit" and not np.isin(values, (0.0, 1.0)).all():
        problem = f"the outcome {analysis.column!r} has values other than 0 and 1"
        raise side.refuse(problem, "Use an outcome of 0 and 1, or of two categories")
    if analysis.family == "poisson" and (values < 0).any():
        raise side.refuse(
            f"the outcome {analysis.column!r} has negative values", "Use an outcome of counts, 0 or larger"
        )
    if np.ptp(values) == 0:
        problem = f"the outcome {analysis.column!r} is the same for every record"
        raise side.refuse(problem, "Use another outcome, or more records")
    return values


def _fit(side: Side, analysis: Analysis, outcome: Floats, design: Floats) -> tuple[Floats, Floats, float]:
    """Coefficients, their variances and the degrees of freedom."""
    # Imported here because it loads slowly and most commands do not need it.
    from statsmodels.genmod import families  # noqa: PLC0415
    from statsmodels.genmod.generalized_linear_model import GLM  # noqa: PLC0415
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415

    records, terms = design.shape
    if records <= terms:
        problem = f"there are {records} records for {terms} coefficients"
        raise side.refuse(problem, "Use more records, or fewer terms")
    _check_rank(side, design)
    try:
        with warnings.catch_warnings():
            # Deprecation warnings do not concern the fit.
            for kind in (RuntimeWarning, UserWarning):
                warnings.simplefilter("error", kind)
            if analysis.family == "linear":
                found: Any = OLS(outcome, design).fit()
            else:
                found = GLM(outcome, design, family=getattr(families, _FAMILIES[analysis.family])()).fit()
    except (Warning, np.linalg.LinAlgError, ValueError):
        problem = f"the {analysis.family} regression of {analysis.column!r} did not converge"
        raise side.refuse(problem, "Remove terms that predict the outcome perfectly, or rescale") from None
    degrees = float(records - terms) if analysis.family == "linear" else np.inf
    return np.asarray(found.params), np.asarray(found.bse) ** 2, degrees


def _fit_weighted(
    side: Side, analysis: Analysis, rows: Booleans, outcome: Floats, design: Floats
) -> tuple[Floats, Floats, float]:
    """Survey-weighted coefficients, their variances under the survey design, and the degrees of freedom."""
    assert side.sample is not None
    _check_rank(side, design)
    # Records that are left out still belong to the sample.
    values, terms = np.zeros(len(rows)), np.zeros((len(rows), design.shape[1]))
    values[rows], terms[rows] = outcome, design
    try:
        found = weighted_regression(side.sample, values, terms, family=analysis.family, within=rows)
    except InputError as error:
        raise side.refuse(
            f"the {analysis.family} regression of {analysis.column!r}: {error.problem}", error.remedy
        ) from None
    return found.point, found.variance, found.degrees


def _check_rank(side: Side, design: Floats) -> None:
    sizes = np.sqrt((design**2).sum(axis=0))
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        # By number: the name of a coefficient may contain a level, which is a value of the dataset.
        problem = f"coefficient number {empty[0] + 1} of the formula cannot be estimated: its column is zero"
        raise side.refuse(problem, "Remove the term, or combine rare categories")
    unit = design / sizes
    if np.linalg.eigvalsh(unit.T @ unit)[0] < _SINGULAR:
        problem = "the predictors of the formula are constant or collinear"
        raise side.refuse(problem, "Remove redundant terms")


def _choose(names: Sequence[str], terms: Sequence[str], columns: Sequence[str]) -> list[int]:
    for term in terms:
        if term not in names:
            # Names of variables only: the names of coefficients contain levels, which are values of the dataset.
            remedy = f"{nearest(term.partition('[')[0], columns)}; a level of a category is written name[level]"
            raise InputError("terms", f"there is no coefficient {term!r}", remedy)
    return [names.index(term) for term in terms] or list(range(len(names)))
