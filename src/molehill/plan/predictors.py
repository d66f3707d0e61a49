"""What becomes of the predictors of a model, told before it is fitted and without JAX."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats
from molehill.plan.settings import Settings
from molehill.synthesis.design import WIDEST_CORRELATED, Design, learn_design
from molehill.synthesis.transforms import apply_transform, usual_transform
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

# Models that learn the correlation of every two coefficients bear fewer of them.
_CORRELATED = ("tdp_mixture", "semicontinuous", "negative_binomial")


def sketch_predictors(table: Table, settings: Settings, models: Mapping[str, str]) -> list[Design]:
    """Sketch the designs of the models of the replaced columns; a model of several parts has several.

    Parameters
    ----------
    table, settings
        The confidential table, and settings with predictors.
    models
        The name of the built-in synthesizer of every replaced column, in the order of the settings.
    """
    sketches = []
    for place, (column, model) in enumerate(models.items()):
        about = predictors_of(settings, place)
        for part, outcome in _outcomes(table, column, model).items():
            widest = WIDEST_CORRELATED if model in _CORRELATED and part != "sign" else None
            how: dict[str, Any] = {"sensitive": column, "outcome": outcome, "widest": widest}
            sketches.append(learn_design(table, **about, **how, complete=False))
    return sketches


def predictors_of(settings: Settings, place: int) -> dict[str, Any]:
    """What the model of a replaced column conditions on, the columns replaced before it included: as models take it."""
    predictors = [*(settings.predictors or ()), *settings.synthesize[:place]]
    about = {
        field: {name: value for name, value in given.items() if name in predictors}
        for field, given in (("breaks", settings.number_breaks), ("kinds", settings.kinds))
    }
    return {"predictors": predictors, **about}


def uncarried_relations(settings: Settings) -> list[str]:
    """Kept columns that are no predictors: the tables do not carry how the replaced ones relate to them.

    Of a synthesizer of the caller's, and of settings without predictors, nobody can tell.
    """
    if settings.synthesizer == "custom" or settings.predictors is None:
        return []
    return [name for name in settings.keep if name not in settings.predictors]


def tell_handling(name: str, sketches: list[Design]) -> list[str]:
    """Say in words, without a value, what the models make of a predictor that they cannot take as it is."""
    told = []
    for design in [design for design in sketches if name in design.levels or name in design.centre][:1]:
        if name in design.pooled:
            told.append(f"{design.pooled[name]:,} rare levels are one level of the model")
        if missing := design.missing.get(name):
            level = name in design.levels
            how = "a level of their own" if level else "the mean stands for them, an indicator tells where"
            told.append(f"{missing:,} missing: {how}")
    out = [name in design.left_out for design in sketches]
    if any(out):
        part = "" if all(out) else "parts of "
        told.append(f"left out of {part}the model, which has too many predictors for the records")
    return told


def tell_unit(unit: float) -> str:
    """Say in which unit released values are written.

    Examples
    --------
    >>> tell_unit(0.01), tell_unit(1.0), tell_unit(500.0), tell_unit(0.0)
    ('multiples of 0.01', 'whole numbers', 'multiples of 500', 'numbers as drawn')
    """
    return "whole numbers" if unit == 1 else f"multiples of {unit:g}" if unit else "numbers as drawn"


def _outcomes(table: Table, column: str, model: str) -> dict[str, Floats | None]:
    """What the model predicts, on its scale but for centre and unit, by part: as the built-in synthesizers learn it."""
    if model == "forest":
        # It takes all predictors.
        return {"": None}
    if model == "multinomial":
        return {"": _indicators(table.frame[column])}
    values = column_numbers(table, column)
    values = np.where(np.isfinite(values), values, np.nan)
    if model == "semicontinuous":
        signs = pd.Series(np.sign(values))
        sizes = np.where(values > 0, values, np.nan)
        return {"sign": _indicators(signs), "size": np.log(sizes)}
    if model in ("negative_binomial", "poisson"):
        return {"": np.log1p(np.maximum(values, 0.0))}
    if model == "normal_linear":
        return {"": values}
    return {"": apply_transform(values, usual_transform(values))}


def _indicators(column: pd.Series) -> Floats:
    codes, levels = pd.factorize(column)
    shown = codes[:, None] == np.arange(len(levels))
    return np.where((codes >= 0)[:, None], shown, np.nan)
