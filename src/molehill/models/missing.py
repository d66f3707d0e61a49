"""Synthesis of missingness: which values are missing is modelled and drawn too."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.synthesis.synthesizer import Composite, Learned, Observed, Synthesizer
from molehill.tables.schema import Kind
from molehill.tables.table import Table, with_columns

LEVELS = ("there", "missing")


def model_missing(
    inner: Synthesizer | Composite,
    predictors: str | Sequence[str] | None = None,
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
) -> Composite:
    """Add a logistic regression of missingness to the synthesizer of one variable.

    It is fitted without risk weights to all records: a missing value has no identification risk.

    Parameters
    ----------
    inner
        The synthesizer of the values.
    predictors, breaks, kinds
        Predictors of missingness: see `molehill.synthesis.design.learn_design`.

    Examples
    --------
    >>> from molehill.models.linear import normal_linear
    >>> model_missing(normal_linear("income", ["age"]), ["age"]).name
    'normal_linear'
    """
    # Imported here so that forests do not load JAX.
    from molehill.models.categories import multinomial  # noqa: PLC0415

    (column,) = inner.sensitive
    absent = multinomial(column, predictors, breaks=breaks, kinds=kinds)
    absent = replace(absent, learn=partial(_learn_absent, inner=absent, column=column), missing=True)

    def parts(table: Table) -> dict[str, Synthesizer]:
        return {"missing": absent, **(inner.parts(table) if isinstance(inner, Composite) else {"value": inner})}

    coded = isinstance(inner, Synthesizer) and inner.levels is not None
    return Composite(
        (column,),
        parts,
        partial(_join, inner=inner, column=column, coded=coded),
        inner.name,
        f"a regression of whether the value is missing, and {inner.words}",
        inner.options,
        unweighted=("missing", *(inner.unweighted if isinstance(inner, Composite) else ())),
        optional=inner.optional if isinstance(inner, Composite) else (),
        missing=True,
        coded_by="value" if coded else "",
    )


def _learn_absent(table: Table, weights: Floats, *, inner: Synthesizer, column: str) -> Learned:
    assert inner.learn is not None
    learned = inner.learn(_as_absent(table, column), weights)
    assert learned.observed is not None
    return replace(learned, observed=partial(_observe_absent, inner=learned.observed, column=column))


def _observe_absent(table: Table, *, inner: Callable[[Table], Observed], column: str) -> Observed:
    return inner(_as_absent(table, column))


def _as_absent(table: Table, column: str) -> Table:
    codes = table.frame[column].isna().to_numpy().astype(int)
    return with_columns(table, {column: pd.Categorical.from_codes(codes.tolist(), pd.Index(LEVELS))})


def _join(
    values: Mapping[str, Mapping[str, Any]],
    learned: Mapping[str, Learned],
    *,
    inner: Synthesizer | Composite,
    column: str,
    coded: bool,
) -> dict[str, np.ndarray]:
    rest = {name: part for name, part in values.items() if name != "missing"}
    drawn = inner.join(rest, learned) if isinstance(inner, Composite) else rest["value"]
    absent = np.asarray(values["missing"][column]).astype(int) == learned["missing"].facts["levels"].index("missing")
    return {column: np.where(absent, -1 if coded else np.nan, np.asarray(drawn[column]))}
