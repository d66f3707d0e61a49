"""Semicontinuous amounts, which can be negative, zero or positive, for example income.

Three parts without shared parameters: a multinomial regression of the sign, and a mixture of regressions of the size
(log|y| or a root of |y|) for losses and for gains, or a normal regression if there are few of them. Sizes are fitted
with the records' weights; the sign is not, because weights follow the risk of the amount and would bias the share of
zeros. A record draws its sign from the first part and its size from the part of that sign (or of the other sign if no
record of that sign has a positive weight).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.errors import InputError, check_choice
from molehill.models.amounts import check_support, find_amounts
from molehill.models.categories import multinomial
from molehill.models.linear import normal_linear
from molehill.models.mixtures import Membership, tdp_mixture
from molehill.models.tdp_engine import Priors
from molehill.synthesis.synthesizer import Composite, Learned, Observed, Synthesizer
from molehill.synthesis.transforms import POSITIVE, usual_transform
from molehill.tables.schema import Kind, column_numbers
from molehill.tables.table import Table, with_columns

SIGNS = {"negative": -1.0, "zero": 0.0, "positive": 1.0}
LEAST_FOR_MIXTURE = 200


def semicontinuous(
    column: str,
    predictors: str | Sequence[str] | None = None,
    *,
    loss_predictors: str | Sequence[str] | None = None,
    components: int | Literal["auto"] = "auto",
    component_draw: Membership = "prior",
    transform: Literal["auto", "log", "root"] = "auto",
    priors: Priors = "weak",
    standardize: bool = True,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, Kind] | None = None,
    lower: float | None = None,
    upper: float | None = None,
) -> Composite:
    """Synthesize an amount with losses and zeros by a model of its sign and of its size.

    Parameters
    ----------
    column
        The sensitive variable.
    predictors, breaks, kinds
        Predictors of the sign and of the size of gains: see `molehill.synthesis.design.learn_design`.
    loss_predictors
        Predictors of the size of losses; none by default, since losses are few.
    components, component_draw, priors, standardize
        As in `tdp_mixture`.
    transform
        Transformation of the sizes, as in `tdp_mixture`; "auto": chosen by
        `molehill.synthesis.transforms.usual_transform`.
    lower, upper
        Value range in the units of the data; `lower` bounds the losses and `upper` the gains.

    Examples
    --------
    >>> semicontinuous("income", ["age", "education"], lower=-10_000, upper=2_000_000).sensitive
    ('income',)
    """
    check_choice("transform", transform, ("auto", *POSITIVE))
    low, high = check_support(lower, upper)
    if low > 0 or high < 0:
        raise InputError(
            "lower", "the value range does not contain zero", "Use tdp_mixture for an amount without zeros"
        )
    shared: dict[str, Any] = {"components": components, "component_draw": component_draw, "priors": priors}
    shared["standardize"] = standardize
    grouping: dict[str, Any] = {"breaks": breaks, "kinds": kinds}
    losses: dict[str, Any] = {"breaks": {k: v for k, v in (breaks or {}).items() if k in _names(loss_predictors)}}
    about: dict[str, dict[str, Any]] = {
        "positive": {"predictors": predictors, "upper": high, **grouping},
        "negative": {"predictors": loss_predictors, "upper": -low, **losses, "kinds": kinds},
    }
    about = {name: given for name, given in about.items() if given["upper"] > 0}
    of_sign = multinomial(column, predictors, **grouping)
    made = {
        (name, scale): tdp_mixture(column, **given, **shared, transform=scale)
        for name, given in about.items()
        for scale in POSITIVE
    }
    simple = {name: normal_linear(column, transform="log", **given) for name, given in about.items()}

    def parts(table: Table) -> dict[str, Synthesizer]:
        values = find_amounts(table, column)
        signs = np.sign(values)
        found = {name: int((signs == sign).sum()) for name, sign in SIGNS.items() if (signs == sign).any()}
        if len(found) == 1:
            (only,) = found
            raise InputError("column", f"all values of {column!r} are {only}", "Use tdp_mixture, or keep it unchanged")
        parts = {"sign": replace(of_sign, learn=partial(_learn_sign, inner=of_sign, column=column))}
        for name in (name for name in found if name != "zero"):
            if name not in about:
                problem = f"{column!r} is {name} in {found[name]:,} record(s), but the value range ends at zero"
                raise InputError(
                    "lower" if name == "negative" else "upper", problem, "Widen it, or correct the dataset"
                )
            sizes = np.abs(values[signs == SIGNS[name]])
            scale = usual_transform(sizes) if transform == "auto" else transform
            inner = made[name, scale] if found[name] >= LEAST_FOR_MIXTURE else simple[name]
            parts[name] = _for_sign(inner, column, SIGNS[name])
        return parts

    return Composite(
        (column,),
        parts,
        partial(_join, column=column, most={name: given["upper"] for name, given in about.items()}),
        "semicontinuous",
        "a regression of the sign of the value (negative, zero, positive), and mixtures of regressions of its size",
        {"component_draw": component_draw},
        unweighted=("sign",),
        optional=tuple(about),
    )


def _names(predictors: str | Sequence[str] | None) -> Sequence[str]:
    return () if predictors is None else predictors


def _for_sign(inner: Synthesizer, column: str, sign: float) -> Synthesizer:
    """A synthesizer, with its simpler alternatives, applied to the sizes of one sign."""
    simpler = None if inner.simpler is None else _for_sign(inner.simpler, column, sign)
    return replace(inner, learn=partial(_learn_size, inner=inner, column=column, sign=sign), simpler=simpler)


def _learn_sign(table: Table, weights: Floats, *, inner: Synthesizer, column: str) -> Learned:
    values = find_amounts(table, column)
    assert inner.learn is not None
    learned = inner.learn(with_columns(table, {column: _as_signs(values)}), weights)
    assert learned.observed is not None
    return replace(learned, observed=partial(_observe_sign, inner=learned.observed, column=column))


def _observe_sign(table: Table, *, inner: Callable[[Table], Observed], column: str) -> Observed:
    return inner(with_columns(table, {column: _as_signs(column_numbers(table, column))}))


def _as_signs(values: Floats) -> Any:
    codes = np.where(np.isnan(values), -1, np.sign(values) + 1).astype(int)
    return pd.Categorical.from_codes(codes.tolist(), pd.Index(SIGNS))


def _learn_size(table: Table, weights: Floats, *, inner: Synthesizer, column: str, sign: float) -> Learned:
    values = sign * find_amounts(table, column)
    applies = np.nan_to_num(values) > 0
    sizes = np.where(applies, values, np.nan)
    assert inner.learn is not None
    learned = inner.learn(with_columns(table, {column: sizes}), weights)
    assert learned.observed is not None
    observed = partial(_observe_size, inner=learned.observed, column=column, sign=sign)
    return replace(learned, applies=applies, observed=observed)


def _observe_size(table: Table, *, inner: Callable[[Table], Observed], column: str, sign: float) -> Observed:
    values = sign * column_numbers(table, column)
    applies = np.nan_to_num(values) > 0
    found = inner(with_columns(table, {column: np.where(applies, values, np.nan)}))
    return Observed(found.inputs, applies)


def _join(
    values: Mapping[str, Mapping[str, Any]], learned: Mapping[str, Learned], *, column: str, most: Mapping[str, float]
) -> dict[str, np.ndarray]:
    signs = np.array(learned["sign"].facts["levels"])[np.asarray(values["sign"][column]).astype(int)]
    joined = np.zeros(len(signs))
    fitted = next(name for name in values if name != "sign")
    for name in set(signs) - {"zero"}:
        sizes = np.asarray(values[name if name in values else fitted][column])
        joined = np.where(signs == name, SIGNS[name] * np.minimum(sizes, most[name]), joined)
    return {column: joined}
