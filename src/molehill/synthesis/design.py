"""Design matrices of the predictors.

A design matrix has one row per record: the intercept, one column per numeric predictor (standardized; in logarithms if
very skewed), indicators of all levels of a categorical predictor but the first, and indicators of missing numbers. The
encoding (levels, centres, scales, bins) is kept, so that another dataset can be encoded alike. Rare levels of a
predictor with many levels are combined, and if there are too many predictors, those with the weakest association with
the outcome are left out.

Formulaic parses formulas and codes interactions. It would also evaluate Python in a formula; only names, numbers and
operators are accepted here, and names are replaced by neutral ones before Formulaic sees them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, model_matrix
from formulaic.errors import FormulaicError
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from molehill.arrays import Floats
from molehill.errors import InputError
from molehill.synthesis.transforms import apply_transform
from molehill.tables.schema import (
    Column,
    Kind,
    column_numbers,
    cut_into_groups,
    group_labels,
    infer_schema,
    refuse_infinite,
)
from molehill.tables.table import Table, find_columns, plain_code
from molehill.utility.analyses import expand_terms

# Maximum number of levels of a predictor, and minimum number of records per level; other levels are combined.
KEPT_LEVELS, LEAST_RECORDS = 50, 10
# With more columns than NARROWEST, a design has at most one column per SHARE_OF_RECORDS records.
NARROWEST, SHARE_OF_RECORDS = 50, 5
# Maximum width for models that estimate the correlations of all coefficients.
WIDEST_CORRELATED = 120
# Numbers with larger skewness are log-transformed, so that a few very large values do not determine the coefficient.
SKEWED = 2.0
# Maximum number of levels of a synthesized category.
MOST_LEVELS = 500

_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<other>\d\b|[-+:*()^])|(?P<space>\s+)|(?P<bad>.)", re.DOTALL
)
_FORMULA_REMEDY = "Write names of variables joined by + : * - ^ and brackets; put unusual names in backticks"


@dataclass(frozen=True, eq=False)
class Design:
    """A design matrix and its encoding, learned from the confidential data.

    Attributes
    ----------
    matrix
        One row per record; the first column is the intercept.
    names
        Name of every column, for example `Region[South]` or `Age:Region[South]`.
    formula
        The terms as text.
    terms
        The columns of the dataset that each term multiplies; the intercept is the empty term.
    levels
        For each categorical predictor its levels, the first being the reference; None stands for a missing value.
    centre, scale
        For each numeric predictor what was subtracted, and then divided by.
    breaks
        Lower bounds of the bins of a binned predictor.
    dropped
        Predictors and columns left out because they are constant.
    collinear
        Columns that are linear combinations of previous ones. They are kept: the prior identifies them.
    missing
        Number of missing values of every predictor that has any.
    pooled
        For a predictor with many levels, the number of levels combined into the last one.
    left_out
        Predictors left out because of too many columns: those with the weakest association with the outcome.
    logged
        Very skewed numeric predictors x, which enter as sign(x) log(1 + |x|).
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
    missing: Mapping[str, int] = field(default_factory=dict)
    pooled: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    logged: tuple[str, ...] = ()

    def again(self, table: Table) -> dict[str, Floats]:
        """The model input `design` for a dataset with other values of the predictors."""
        return {"design": apply_design(self, table)}

    @property
    def width(self) -> int:
        """Approximate number of columns, before the matrix is built."""
        widths = {name: len(levels) - 1 for name, levels in self.levels.items()} | dict.fromkeys(self.centre, 1)
        indicators = sum(name in self.centre for name in self.missing)
        return int(sum(np.prod([widths[name] for name in term]) for term in self.terms)) + indicators

    @property
    def facts(self) -> dict[str, Any]:
        """The encoding as plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "matrix"}


def learn_design(
    table: Table,
    predictors: str | Sequence[str] | None,
    *,
    sensitive: str | Sequence[str],
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    outcome: Floats | None = None,
    widest: int | None = None,
    complete: bool = True,
) -> Design:
    """Learn the design matrix of the confidential data.

    A categorical predictor with more than 50 levels keeps the 50 most frequent levels with at least 10 records each;
    the others become "other". If the design would have more than 50 columns and more than a fifth of the number of
    records, predictors are left out, in order of increasing adjusted R^2 with the outcome.

    Parameters
    ----------
    table
        The confidential data.
    predictors
        Names of variables, the right-hand side of a formula such as "age + education*earner", or None for the intercept
        only. Missing is a level of its own in a categorical predictor; in a numeric one it is replaced by the mean, and
        an indicator is added.
    sensitive
        The variables that the model synthesizes; none of them can be a predictor.
    breaks
        Bins of numeric predictors, left-closed, which become categorical.
    kinds
        Kinds of predictors, where the inferred kind is wrong.
    outcome
        The outcome on the scale of the model: one or several numbers per record, NaN where there is none. Without it no
        predictor is left out.
    widest
        Maximum number of columns of the model, if less than a fifth of the records; at least 50.
    complete
        False leaves out the matrix, to see quickly how the predictors will be used.

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
    grouped = {column.name: column.breaks for column in schema.columns if column.breaks}
    known = {column.name: _learn_predictor(table, column) for column in schema.columns}
    left_out = () if outcome is None else _too_many(terms, known, _Room(table, grouped, outcome, widest))
    terms = [term for term in terms if not set(term) & set(left_out)]
    known = {name: one for name, one in known.items() if name not in left_out}
    dropped = tuple(name for name, one in known.items() if one.constant)
    made = replace(_as_design(known.values(), grouped), formula=_in_words(terms), terms=tuple(terms))
    made = replace(made, dropped=dropped, left_out=tuple(left_out))
    return _complete(made, table) if complete else made


def _complete(made: Design, table: Table) -> Design:
    """Build the matrix, without constant columns."""
    matrix, columns = _build(made, table)
    same = (matrix == matrix[:1]).all(axis=0)
    same[0] = False
    kept = tuple(name for name, constant in zip(columns, same, strict=True) if not constant)
    dropped = [name for name, constant in zip(columns, same, strict=True) if constant and name not in made.dropped]
    matrix = np.ascontiguousarray(matrix[:, ~same])
    collinear = tuple(kept[column] for column in _dependent(matrix))
    return replace(made, matrix=matrix, names=kept, dropped=(*made.dropped, *dropped), collinear=collinear)


@dataclass(frozen=True)
class _Predictor:
    """Encoding of one predictor: levels of a category, centre and scale of a number."""

    name: str
    levels: tuple[Any, ...] = ()
    centre: float = 0.0
    scale: float = 1.0
    missing: int = 0
    pooled: int = 0
    constant: bool = False
    logged: bool = False

    @property
    def width(self) -> int:
        """Number of columns in a term."""
        return len(self.levels) - 1 if self.levels else 1 - self.constant


def _learn_predictor(table: Table, column: Column) -> _Predictor:
    if column.breaks or column.kind == "categorical":
        values = _categories(table, column.name, column.breaks)
        levels = find_levels(values, column.name, "predictors")
        levels, pooled = _pool(values, levels, column.name)
        absent = int(values.isna().sum())
        return _Predictor(column.name, levels, missing=absent, pooled=pooled, constant=len(levels) == 1)
    values = predictor_numbers(table, column.name)
    present = values[~np.isnan(values)]
    absent = len(values) - len(present)
    logged = abs(_skewness(present)) > max(SKEWED, abs(_skewness(apply_transform(present, "signed"))))
    present = apply_transform(present, "signed") if logged else present
    if not len(present) or present.min() == present.max():
        centre = float(present[0]) if len(present) else 0.0
        return _Predictor(column.name, (), centre, missing=absent, constant=True)
    return _Predictor(column.name, (), float(present.mean()), float(present.std()), absent, logged=logged)


def _skewness(values: Floats) -> float:
    spread = float(values.std()) if len(values) else 0.0
    return float(np.mean((values - values.mean()) ** 3)) / spread**3 if spread > 0 else 0.0


def _pool(column: pd.Series, levels: tuple[Any, ...], name: str) -> tuple[tuple[Any, ...], int]:
    """Keep the frequent levels, in their order; also return the number of the others."""
    given = [level for level in levels if level is not None]
    if len(given) <= KEPT_LEVELS:
        return levels, 0
    records = np.bincount(find_codes(column, (*given, None), name, "predictors"), minlength=len(given) + 1)[:-1]
    by_size = np.argsort(-records, kind="stable")[:KEPT_LEVELS]
    kept = [given[place] for place in sorted(by_size.tolist()) if records[place] >= LEAST_RECORDS]
    other = "other" if "other" not in kept else "all others"
    return (*kept, other, *[None] * (len(given) < len(levels))), len(given) - len(kept)


def _as_design(predictors: Collection[_Predictor], grouped: Mapping[str, tuple[float, ...]]) -> Design:
    """A design without matrix from the encodings of its predictors."""
    levels, centre, scale, missing, pooled = {}, {}, {}, {}, {}
    for one in predictors:
        if one.levels:
            levels[one.name] = one.levels
        else:
            centre[one.name], scale[one.name] = one.centre, one.scale
        if one.missing:
            missing[one.name] = one.missing
        if one.pooled:
            pooled[one.name] = one.pooled
    kept = {name: breaks for name, breaks in grouped.items() if name in levels}
    logged = tuple(one.name for one in predictors if one.logged)
    made = Design(np.empty((0, 0)), (), "", (), levels, centre, scale, kept, (), (), missing, pooled)
    return replace(made, logged=logged)


def _too_many(
    terms: Sequence[Sequence[str]],
    known: Mapping[str, _Predictor],
    room: "_Room",
) -> list[str]:
    """Choose the predictors to leave out so that the design is not too wide."""

    def width(left_out: set[str]) -> int:
        products = [np.prod([known[name].width for name in term]) for term in terms if not set(term) & left_out]
        indicators = sum(bool(one.missing and not one.levels) and name not in left_out for name, one in known.items())
        return int(sum(products)) + indicators

    if width(set()) <= room.columns:
        return []
    strength = {name: room.association(one) for name, one in known.items()}
    left_out: list[str] = []
    for name in sorted(known, key=lambda name: strength[name]):
        if width(set(left_out)) <= room.columns:
            break
        left_out.append(name)
    return [name for name in known if name in left_out]


@dataclass(frozen=True, eq=False)
class _Room:
    """Maximum width of a design, and the association of predictors with the outcome."""

    table: Table
    grouped: Mapping[str, tuple[float, ...]]
    outcome: Floats
    widest: int | None

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Which records have an outcome."""
        return np.asarray(np.isfinite(self.outcome.reshape(len(self.outcome), -1)).all(axis=1))

    @property
    def columns(self) -> int:
        """Maximum number of columns."""
        allowed = max(NARROWEST, int(self.counts.sum()) // SHARE_OF_RECORDS)
        return allowed if self.widest is None else min(allowed, self.widest)

    def association(self, predictor: _Predictor) -> float:
        """Adjusted R^2 of the outcome with one predictor, over the records that have an outcome."""
        outcome = self.outcome.reshape(len(self.outcome), -1)[self.counts]
        rest = outcome - outcome.mean(axis=0)
        if predictor.levels:
            codes = predictor_codes(_as_design([predictor], self.grouped), self.table, predictor.name)[self.counts]
            sizes = np.bincount(codes)
            sums = np.column_stack([np.bincount(codes, column) for column in rest.T])
            explained, width = float((sums**2 / np.maximum(sizes, 1)[:, None]).sum()), int((sizes > 0).sum()) - 1
        else:
            values = predictor_numbers(self.table, predictor.name, logged=predictor.logged)[self.counts]
            absent = np.isnan(values)
            filled = np.where(absent, 0.0, (values - predictor.centre) / predictor.scale)
            columns = np.column_stack([np.ones(len(filled)), filled, absent])
            fitted = columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]
            explained, width = float((fitted**2).sum()), 1 + bool(absent.any())
        total = float((rest**2).sum())
        if total == 0 or len(rest) <= width + 1:
            return 0.0
        return 1.0 - (1.0 - explained / total) * (len(rest) - 1) / (len(rest) - width - 1)


def apply_design(design: Design, table: Table) -> Floats:
    """Encode another dataset by a design.

    A new level becomes "other" if levels were combined; a new number or bin becomes the nearest one; any other new
    value is an error. A missing number is replaced by the mean.

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
    """The levels that occur, in the order of the categories or sorted; None last if some are missing.

    `name` and `argument` name the variable and the caller's argument in errors.
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
    plain = [level.item() if isinstance(level, np.generic) else level for level in found]
    plain = [plain_code(level) if isinstance(level, float) else level for level in plain]
    return (*plain, *[None] * bool(column.isna().any()))


def find_codes(column: pd.Series, levels: Sequence[Any], name: str, argument: str) -> NDArray[np.int64]:
    """Level code of every record; an unknown level is an error."""
    return _check_seen(_places(column, levels, name, argument), name, argument)


def code_levels(
    table: Table, column: str, order: Sequence[Any] | None = None
) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Level codes of a variable to be synthesized, -1 where missing, and its levels (in `order` if given)."""
    values = table.frame[column]
    levels = tuple(level for level in find_levels(values, column, "column") if level is not None)
    if order is not None:
        places = {level: place for place, level in enumerate(order)}
        if any(level not in places for level in levels):
            raise InputError("levels", f"some of {column!r} are not among them", "List all levels, in their order")
        levels = tuple(sorted(levels, key=places.__getitem__))
    if len(levels) < 2:
        raise InputError("column", f"{column!r} has fewer than two levels", "Keep it unchanged, or drop it")
    if len(levels) > MOST_LEVELS:
        problem = f"{column!r} has {len(levels):,} levels, more than {MOST_LEVELS}"
        raise InputError("column", problem, "Combine levels")
    codes = find_codes(values, (*levels, None), column, "column")
    return np.where(codes < len(levels), codes, -1), levels


def _places(column: pd.Series, levels: Sequence[Any], name: str, argument: str) -> NDArray[np.int64]:
    """Level code of every record, -1 if it is unknown."""
    codes, distinct = _distinct(column, name, argument)
    number = {level: place for place, level in enumerate(levels)}
    # A missing value has the code -1, which takes the last of these.
    return np.array([number.get(level, -1) for level in [*distinct, None]], dtype=np.int64)[codes]


def _check_seen(found: NDArray[np.int64], name: str, argument: str) -> NDArray[np.int64]:
    if unseen := int((found < 0).sum()):
        problem = f"{name!r} has a level that the model was not fitted to, in {unseen:,} record(s)"
        raise InputError(argument, problem, "Remove these records, or fit to data with this level")
    return found


def _distinct(column: pd.Series, name: str, argument: str) -> tuple[NDArray[np.int64], Any]:
    if pd.api.types.is_float_dtype(column.dtype):
        refuse_infinite(column.to_numpy(np.float64, na_value=np.nan), name)
    try:
        codes, distinct = pd.factorize(column)
    except TypeError:
        # Not chained: pandas may quote a value.
        problem = f"{name!r} contains values that cannot be compared, such as lists"
        raise InputError(argument, problem, "Convert them to text") from None
    return codes.astype(np.int64), distinct


def spread_rows(count: int, at_most: int = 26) -> NDArray[np.int64]:
    """Evenly spaced rows, at which the convergence of a model is monitored.

    Examples
    --------
    >>> spread_rows(10, 4)
    array([0, 3, 6, 9])
    """
    return np.linspace(0, count - 1, min(count, at_most)).astype(np.int64)


def _find_terms(table: Table, predictors: str | Sequence[str] | None) -> list[tuple[str, ...]]:
    """The variables of every term, the intercept first."""
    if predictors is None:
        return [()]
    if isinstance(predictors, str) and predictors not in table.frame.columns:
        return _parse(table, predictors)
    return [(), *((name,) for name in find_columns(table, predictors, "predictors"))]


def _parse(table: Table, formula: str) -> list[tuple[str, ...]]:
    names, neutral = [], []
    for token in _TOKEN.finditer(formula):
        if token["bad"]:
            raise InputError("predictors", f"{token['bad']!r} is not allowed in a formula", _FORMULA_REMEDY)
        name = token["quoted"] or token["name"]
        if name and formula[token.end() :].lstrip().startswith("("):
            problem = f"the formula calls {name!r} like a function"
            raise InputError("predictors", problem, "Add the transformed variable to the data instead")
        if name and name not in names:
            names.append(name)
        neutral.append(f"x{names.index(name)}" if name else token[0])
    find_columns(table, names, "predictors")
    expand_terms("".join(neutral), "predictors", _FORMULA_REMEDY)
    try:
        parsed: Any = Formula.from_spec("".join(neutral)) if formula.strip() else None
    except FormulaicError:
        parsed = None
    if parsed is None:
        raise InputError("predictors", "the formula cannot be read", _FORMULA_REMEDY)
    factors = [[factor.expr for factor in term.factors if factor.expr != "1"] for term in parsed]
    terms = list(dict.fromkeys(tuple(names[int(factor[1:])] for factor in term) for term in factors))
    if () not in terms:
        raise InputError("predictors", "the formula removes the intercept", "Remove 0 and - 1")
    return terms


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d][\w.]*", name) else f"`{name}`"


def _in_words(terms: Sequence[Sequence[str]]) -> str:
    return " + ".join(":".join(map(_quoted, term)) or "1" for term in terms)


def _categories(table: Table, name: str, breaks: Sequence[float]) -> pd.Series:
    """A categorical predictor, or the bins of a numeric one."""
    if not breaks:
        return table.frame[name]
    groups = cut_into_groups(column_numbers(table, name), breaks, name)
    return pd.Series(pd.Categorical.from_codes(groups.tolist(), pd.Index(group_labels(breaks))))


def predictor_codes(design: Design, table: Table, name: str) -> NDArray[np.int64]:
    """Level code of a categorical predictor in every record, also for new levels where possible."""
    levels, breaks = design.levels[name], design.breaks.get(name, ())
    column = _categories(table, name, breaks)
    if name in design.pooled:
        other = len(levels) - 1 - (levels[-1] is None)
        # The combined level may have the name of one of its members.
        named = [object() if place == other else level for place, level in enumerate(levels)]
        found = _places(column, named, name, "predictors")
        return np.where(found < 0, other, found)
    found = _places(column, levels, name, "predictors")
    unseen = (found < 0) & column.notna().to_numpy()
    order = _order(levels, breaks)
    if unseen.any() and order is not None and is_numeric_dtype(table.frame[name].dtype):
        values = column_numbers(table, name)[unseen]
        values = cut_into_groups(values, breaks, name) if breaks else values
        found[unseen] = np.abs(values[:, None] - order).argmin(axis=1)
    return _check_seen(found, name, "predictors")


def _order(levels: Sequence[Any], breaks: Sequence[float]) -> Floats | None:
    """Positions of levels that are bins or numbers; None for others."""
    given = [level for level in levels if level is not None]
    if breaks:
        labels = group_labels(breaks)
        given = [labels.index(level) for level in given]
    numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in given)
    return np.array(given, dtype=np.float64) if given and numbers else None


def predictor_numbers(table: Table, name: str, *, logged: bool = False) -> Floats:
    """Values of a numeric predictor, log-transformed if requested, NaN where missing."""
    values = column_numbers(table, name)
    refuse_infinite(values, name)
    return apply_transform(values, "signed") if logged else values


def _build(design: Design, table: Table) -> tuple[Floats, list[str]]:
    """Build all columns, including constant ones, and their names."""
    names = list(dict.fromkeys(name for term in design.terms for name in term))
    if not names:
        return np.ones((len(table.frame), 1)), ["Intercept"]
    frame, labels, missing = {}, {}, {}
    for place, name in enumerate(names):
        if name in design.levels:
            levels = design.levels[name]
            codes = predictor_codes(design, table, name)
            frame[f"x{place}"] = pd.Categorical.from_codes(codes.tolist(), pd.RangeIndex(len(levels)))
            labels[f"x{place}"] = _labels(levels)
        else:
            values = predictor_numbers(table, name, logged=name in design.logged)
            absent = np.isnan(values)
            frame[f"x{place}"] = np.where(absent, 0.0, (values - design.centre[name]) / design.scale[name])
            if name in design.missing:
                missing[f"{_quoted(name)}[missing]"] = absent.astype(np.float64)
    neutral = [":".join(f"x{names.index(name)}" for name in term) or "1" for term in design.terms]
    made: Any = model_matrix(" + ".join(neutral), pd.DataFrame(frame), context={}, output="numpy", na_action="raise")

    def in_words(part: str) -> str:
        factor, _, level = part.rstrip("]").partition("[")
        name = names[int(factor[1:])]
        called = _quoted(name) + "[log]" * (name in design.logged)
        return f"{called}[{labels[factor][int(level.removeprefix('T.'))]}]" if level else called

    coded = made.model_spec.column_names[1:]
    matrix = np.column_stack([np.asarray(made, dtype=np.float64), *missing.values()])
    return matrix, ["Intercept", *(":".join(map(in_words, column.split(":"))) for column in coded), *missing]


def _labels(levels: Sequence[Any]) -> list[str]:
    missing = "no value" if "missing" in levels else "missing"
    shown = [missing if level is None else str(level) for level in levels]
    return shown if len(set(shown)) == len(shown) else [repr(level) for level in levels]


def _dependent(matrix: Floats) -> list[int]:
    """Indices of columns that are linear combinations of previous columns."""
    # R of the QR decomposition has the same geometry in few rows.
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
