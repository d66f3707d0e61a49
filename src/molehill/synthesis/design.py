"""From the predictors of a table to the numbers that a model multiplies with its coefficients.

A design matrix has one row per record: the intercept first, then one column per numeric predictor (centred, scaled to
standard deviation 1) and one per level of a categorical predictor but the first. What was learned (levels, centres,
scales, groups) is kept beside the matrix, so that another table can be brought onto the same columns.

Formulaic parses the formulas and codes the interactions. It would also evaluate Python found in a formula; here only
names, numbers and operators are let through, and the names are replaced by neutral ones before Formulaic sees them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, model_matrix
from formulaic.errors import FormulaicError
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.tables.schema import Kind, column_numbers, cut_into_groups, group_labels, infer_schema
from molehill.tables.table import Table, find_columns, plain_code

MOST_LEVELS = 500

_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<other>\d\b|[-+:*()^])|(?P<space>\s+)|(?P<bad>.)", re.DOTALL
)
_FORMULA_REMEDY = "Write column names joined by + : * - ^ and brackets, a name with other signs between backticks"


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix, and what was learned from the confidential table to make it.

    Attributes
    ----------
    matrix
        One row per record; the first column is the intercept.
    names
        What each column stands for, such as `Region[South]` or `Age:Region[South]`.
    formula
        The terms in words.
    terms
        The columns of the table that each term multiplies; the intercept is the empty term.
    levels
        For each categorical predictor its levels, the first being the reference; None stands for a missing value.
    centre, scale
        For each numeric predictor what was subtracted, and then divided by.
    breaks
        Where the groups of a grouped predictor begin.
    dropped
        Predictors and columns left out because they are the same for every record.
    collinear
        Columns that are a linear combination of columns before them. They are kept: the prior settles their share.
    """

    matrix: Floats
    names: tuple[str, ...]
    formula: str
    terms: tuple[tuple[str, ...], ...]
    levels: Mapping[str, tuple[Any, ...]]
    centre: Mapping[str, float]
    scale: Mapping[str, float]
    breaks: Mapping[str, tuple[float, ...]]
    dropped: tuple[str, ...]
    collinear: tuple[str, ...]

    def again(self, table: Table) -> dict[str, Floats]:
        """The input of a model that this design is, for a table with other values in the predictors."""
        return {"design": apply_design(self, table)}

    @property
    def facts(self) -> dict[str, Any]:
        """All but the matrix, as plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "matrix"}


def learn_design(
    table: Table,
    predictors: str | Sequence[str] | None,
    *,
    sensitive: str | Sequence[str],
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
) -> Design:
    """Make the design matrix of a table.

    Parameters
    ----------
    table
        The confidential table.
    predictors
        Names of columns, or the right-hand side of a formula such as "age + education*earner", or None for the
        intercept alone. A column is categorical or numeric as `infer_schema` finds it. A missing value is a level of
        its own in a categorical predictor, and an error in a numeric one.
    sensitive
        The columns that the model replaces: none of them can be a predictor.
    breaks
        Where the groups of a numeric predictor begin; it is categorical then. A break is in the group above it.
    kinds
        The kind of a predictor, where the inferred one is wrong.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"age": [31, 54, 47], "region": ["N", "S", None], "wage": [9.5, 20.1, 14.2]}))
    >>> design = learn_design(people, "age*region", sensitive="wage", breaks={"age": [40]})
    >>> design.names
    ('Intercept', 'age[40 and over]', 'region[S]', 'region[missing]', 'age[40 and over]:region[S]',
     'age[40 and over]:region[missing]')
    >>> design.collinear
    ('region[missing]', 'age[40 and over]:region[S]', 'age[40 and over]:region[missing]')
    """
    terms = _find_terms(table, predictors)
    names = list(dict.fromkeys(name for term in terms for name in term))
    schema = infer_schema(
        table, sensitive=sensitive, predictors=names, breaks=breaks, kinds=kinds, columns=names, missing="keep"
    )
    levels, centre, scale, dropped = {}, {}, {}, []
    for column in schema.columns:
        if column.breaks or column.kind == "categorical":
            levels[column.name] = find_levels(_categories(table, column.name, column.breaks), column.name, "predictors")
            constant = len(levels[column.name]) == 1
        else:
            values = _numbers(table, column.name)
            constant = bool(values.min() == values.max())
            centre[column.name], scale[column.name] = float(values.mean()), 1.0 if constant else float(values.std())
        dropped += [column.name] * constant
    grouped = {column.name: column.breaks for column in schema.columns if column.breaks}
    made = Design(np.empty((0, 0)), (), _in_words(terms), tuple(terms), levels, centre, scale, grouped, (), ())
    matrix, columns = _build(made, table)
    same = (matrix == matrix[:1]).all(axis=0)
    same[0] = False
    kept = tuple(name for name, constant in zip(columns, same, strict=True) if not constant)
    dropped += [name for name, constant in zip(columns, same, strict=True) if constant and name not in dropped]
    matrix = np.ascontiguousarray(matrix[:, ~same])
    collinear = tuple(kept[column] for column in _dependent(matrix))
    return replace(made, matrix=matrix, names=kept, dropped=tuple(dropped), collinear=collinear)


def apply_design(design: Design, table: Table) -> Floats:
    """Bring another table onto the columns of a design; a level that the design has not seen is an error.

    Examples
    --------
    >>> seen = Table(pd.DataFrame({"region": ["N", "S", "W"], "wage": [9.5, 20.1, 14.2]}))
    >>> apply_design(learn_design(seen, ["region"], sensitive="wage"), Table(pd.DataFrame({"region": ["W", "N"]})))
    array([[1., 0., 1.],
           [1., 0., 0.]])
    """
    find_columns(table, [*design.levels, *design.centre], "predictors")
    matrix, columns = _build(design, table)
    return np.ascontiguousarray(matrix[:, [columns.index(name) for name in design.names]])


def find_levels(column: pd.Series, name: str, argument: str) -> tuple[Any, ...]:
    """Give the levels that occur: in the order of the categories, sorted otherwise; None last where some are missing.

    `name` is what to call the column in errors, and `argument` what the caller calls it.
    """
    found = list(_distinct(column, name, argument)[1])
    if isinstance(column.dtype, pd.CategoricalDtype):
        occurring = set(found)
        found = [level for level in column.cat.categories if level in occurring]
    else:
        try:
            found.sort()
        except TypeError:
            found.sort(key=lambda level: (type(level).__name__, str(level)))
    if len(found) > MOST_LEVELS:
        problem = f"{name!r} has {len(found):,} levels, more than {MOST_LEVELS}"
        raise InputError(argument, problem, "Group them into fewer, or leave the column out")
    plain = [level.item() if isinstance(level, np.generic) else level for level in found]
    plain = [plain_code(level) if isinstance(level, float) else level for level in plain]
    return (*plain, *[None] * bool(column.isna().any()))


def find_codes(column: pd.Series, levels: Sequence[Any], name: str, argument: str) -> NDArray[np.int64]:
    """Number the level of every record; a value that is none of the levels is an error."""
    codes, distinct = _distinct(column, name, argument)
    number = {level: place for place, level in enumerate(levels)}
    # A missing value has the code -1, which takes the last of these.
    found = np.array([number.get(level, -1) for level in [*distinct, None]], dtype=np.int64)[codes]
    if unseen := int((found < 0).sum()):
        problem = f"{name!r} has a level that was not there when the model learned, in {unseen:,} record(s)"
        raise InputError(argument, problem, "Leave these records out, or learn from a table that has the level")
    return found


def _distinct(column: pd.Series, name: str, argument: str) -> tuple[NDArray[np.int64], Any]:
    if pd.api.types.is_float_dtype(column.dtype) and np.isinf(column.to_numpy(np.float64, na_value=np.nan)).any():
        raise _infinite(column.to_numpy(np.float64, na_value=np.nan), name)
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:
        # Not chained: pandas may quote a value.
        problem = f"{name!r} holds values that cannot be compared, such as lists"
        raise InputError(argument, problem, "Turn them into text") from None
    return codes.astype(np.int64), distinct


def spread_rows(count: int, at_most: int = 26) -> NDArray[np.int64]:
    """Give the numbers of evenly spaced records, at which a model is watched.

    Examples
    --------
    >>> spread_rows(10, 4)
    array([0, 3, 6, 9])
    """
    return np.linspace(0, count - 1, min(count, at_most)).astype(np.int64)


def _find_terms(table: Table, predictors: str | Sequence[str] | None) -> list[tuple[str, ...]]:
    """Give the columns that each term multiplies, the intercept first."""
    if predictors is None:
        return [()]
    if isinstance(predictors, str) and predictors not in table.frame.columns:
        return _parse(table, predictors)
    return [(), *((name,) for name in find_columns(table, predictors, "predictors"))]


def _parse(table: Table, formula: str) -> list[tuple[str, ...]]:
    names, neutral = [], []
    for token in _TOKEN.finditer(formula):
        if token["bad"]:
            raise InputError("predictors", f"{token['bad']!r} cannot stand in a formula", _FORMULA_REMEDY)
        name = token["quoted"] or token["name"]
        if name and formula[token.end() :].lstrip().startswith("("):
            problem = f"the formula calls {name!r} like a function"
            raise InputError("predictors", problem, "Formulas call none: add the transformed column to the table")
        if name and name not in names:
            names.append(name)
        neutral.append(f"x{names.index(name)}" if name else token[0])
    find_columns(table, names, "predictors")
    try:
        parsed: Any = Formula.from_spec("".join(neutral)) if formula.strip() else None
    except FormulaicError:
        parsed = None
    if parsed is None:
        raise InputError("predictors", "the formula cannot be read", _FORMULA_REMEDY)
    factors = [[factor.expr for factor in term.factors if factor.expr != "1"] for term in parsed]
    terms = list(dict.fromkeys(tuple(names[int(factor[1:])] for factor in term) for term in factors))
    if () not in terms:
        raise InputError("predictors", "the formula takes the intercept away", "Leave out 0 and - 1")
    return terms


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`"


def _in_words(terms: Sequence[Sequence[str]]) -> str:
    return " + ".join(":".join(map(_quoted, term)) or "1" for term in terms)


def _categories(table: Table, name: str, breaks: Sequence[float]) -> pd.Series:
    """Give a categorical predictor, or the groups of a numeric one."""
    if not breaks:
        return table.frame[name]
    groups = cut_into_groups(column_numbers(table, name), breaks, name)
    return pd.Series(pd.Categorical.from_codes(groups.tolist(), pd.Index(group_labels(breaks))))


def _numbers(table: Table, name: str) -> Floats:
    values = column_numbers(table, name)
    if np.isinf(values).any():
        raise _infinite(values, name)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        problem = f"the predictor {name!r} is missing in {len(missing):,} record(s), the first in row {missing[0] + 1}"
        remedy = f"Group it, for instance breaks={{{name!r}: [25, 45, 65]}}: missing is then a group of its own"
        raise InputError("data", problem, remedy)
    return values


def _infinite(values: Floats, name: str) -> InputError:
    record = np.flatnonzero(np.isinf(values))[0]
    problem = f"the column {name!r} is infinite in row {record + 1}"
    return InputError("data", problem, "Correct it, or make it missing")


def _build(design: Design, table: Table) -> tuple[Floats, list[str]]:
    """Make the columns of every term, the constant ones included, and their names."""
    names = list(dict.fromkeys(name for term in design.terms for name in term))
    if not names:
        return np.ones((len(table.frame), 1)), ["Intercept"]
    frame, labels = {}, {}
    for place, name in enumerate(names):
        if name in design.levels:
            levels = design.levels[name]
            codes = find_codes(_categories(table, name, design.breaks.get(name, ())), levels, name, "predictors")
            frame[f"x{place}"] = pd.Categorical.from_codes(codes.tolist(), pd.RangeIndex(len(levels)))
            labels[f"x{place}"] = _labels(levels)
        else:
            frame[f"x{place}"] = (_numbers(table, name) - design.centre[name]) / design.scale[name]
    neutral = [":".join(f"x{names.index(name)}" for name in term) or "1" for term in design.terms]
    made: Any = model_matrix(" + ".join(neutral), pd.DataFrame(frame), context={}, output="numpy", na_action="raise")

    def in_words(part: str) -> str:
        factor, _, level = part.rstrip("]").partition("[")
        called = _quoted(names[int(factor[1:])])
        return f"{called}[{labels[factor][int(level.removeprefix('T.'))]}]" if level else called

    coded = made.model_spec.column_names[1:]
    matrix = np.asarray(made, dtype=np.float64)
    return matrix, ["Intercept", *(":".join(map(in_words, column.split(":"))) for column in coded)]


def _labels(levels: Sequence[Any]) -> list[str]:
    missing = "no value" if "missing" in levels else "missing"
    shown = [missing if level is None else str(level) for level in levels]
    return shown if len(set(shown)) == len(shown) else [repr(level) for level in levels]


def _dependent(matrix: Floats) -> list[int]:
    """Number the columns that are linear combinations of columns before them."""
    # The triangle of the QR has the columns' geometry in few rows, so that the loop below is cheap for any n.
    triangle: Any = np.linalg.qr(matrix / np.linalg.norm(matrix, axis=0), mode="r")
    basis, dependent = np.empty((len(triangle), 0)), []
    for place, column in enumerate(triangle.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        size = np.linalg.norm(rest)
        if size < 1e-9:
            dependent.append(place)
        else:
            basis = np.column_stack([basis, rest / size])
    return dependent
