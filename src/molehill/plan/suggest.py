"""Settings to begin with, from a look at the table: what an agency then edits."""

from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.plan.settings import Settings
from molehill.tables.patterns import learn_patterns
from molehill.tables.schema import Schema, column_numbers, infer_schema
from molehill.tables.table import Table, as_table

MOST_LEVELS = 12
MOST_PREDICTOR_LEVELS = 50
LEAST_PATTERN = 10
MOST_KNOWN = 4


def suggest_settings(data: Any, *, path: str | None = None) -> tuple[Settings, dict[str, str]]:
    """Suggest settings for a table, with the reasons as notes by setting.

    The sensitive column is the amount that varies most for its size; known are the first categorical columns with few
    levels, as long as no pattern of them gets too small; the model conditions on everything that is not like a name.

    Examples
    --------
    >>> from molehill.tables.populations import consumer_survey
    >>> settings, notes = suggest_settings(consumer_survey(n=2000, seed=1))
    >>> settings.replace
    ('income',)
    """
    table = as_table(data)
    schema = infer_schema(table)
    sensitive, why = _suggest_sensitive(table, schema)
    known, about_patterns = _suggest_known(table, schema, sensitive)
    predictors, left_out = _suggest_predictors(table, schema, sensitive)
    notes = {
        "data": "\n".join(f"{column.name!r}: {column.kind} ({column.reason})" for column in schema.columns),
        "replace": why,
        "known": about_patterns,
        "predictors": left_out,
    }
    if schema[sensitive].kind != "categorical":
        notes["upper"] = (
            "Without it a heavy tail may give values that nobody believes: look the limit up in a codebook."
        )
    missing = "keep" if table.frame[sensitive].isna().any() else "error"
    if missing == "keep":
        notes["missing"] = f"{int(table.frame[sensitive].isna().sum()):,} records have no sensitive value."
    settings = Settings(replace=(sensitive,), known=known, data=path, predictors=predictors, missing=missing)
    return settings, {name: note for name, note in notes.items() if note}


def _suggest_sensitive(table: Table, schema: Schema) -> tuple[str, str]:
    ranks = {"semicontinuous": 3, "continuous": 3, "count": 2, "categorical": 1}
    best: tuple[float, float] = (0.0, 0.0)
    chosen = None
    for column in schema.columns:
        if table.frame[column.name].nunique() < 2:
            continue
        spread = 0.0
        if column.kind != "categorical":
            numbers = column_numbers(table, column.name)
            numbers = numbers[np.isfinite(numbers)]
            spread = float(numbers.std() / max(abs(float(numbers.mean())), 1e-300)) if len(numbers) else 0.0
        if (ranks[column.kind], spread) > best and not _is_name(table.frame[column.name], column.kind):
            best, chosen = (ranks[column.kind], spread), column
    if chosen is None:
        raise InputError("data", "no column varies", "Give a table with something to protect")
    return chosen.name, f"Chosen as the {chosen.kind} column that varies most for its size."


def _suggest_known(table: Table, schema: Schema, sensitive: str) -> tuple[tuple[str, ...], str]:
    chosen: list[str] = []
    for column in schema.columns:
        levels = table.frame[column.name].nunique()
        if column.name == sensitive or column.kind != "categorical" or not 2 <= levels <= MOST_LEVELS:
            continue
        if len(chosen) < MOST_KNOWN and _pattern_sizes(table, [*chosen, column.name]).min() >= LEAST_PATTERN:
            chosen.append(column.name)
    sizes = _pattern_sizes(table, chosen)
    note = f"{len(sizes):,} patterns, of {sizes.min():,} to {sizes.max():,} records."
    others = [
        column.name
        for column in schema.columns
        if column.kind == "categorical" and column.name not in (*chosen, sensitive)
    ]
    if others:
        alone = int((_pattern_sizes(table, [*chosen, others[0]]) == 1).sum())
        note += f"\nWith {others[0]!r} as well, {alone:,} records would be alone in their pattern."
    return tuple(chosen), note


def _pattern_sizes(table: Table, columns: list[str]) -> np.ndarray:
    return np.bincount(learn_patterns(table, columns).codes)


def _suggest_predictors(table: Table, schema: Schema, sensitive: str) -> tuple[tuple[str, ...], str]:
    chosen, left_out = [], []
    for column in schema.columns:
        values = table.frame[column.name]
        usable = values.nunique() > 1 and not _is_name(values, column.kind)
        if column.name != sensitive:
            (chosen if usable else left_out).append(column.name)
    return tuple(chosen), f"Left out, as constant or like a name: {', '.join(left_out)}." if left_out else ""


def _is_name(values: pd.Series, kind: str) -> bool:
    """Whether a column names records rather than describes them: hardly any value occurs twice."""
    different = values.nunique()
    if kind == "categorical":
        return different > MOST_PREDICTOR_LEVELS
    # Whole numbers that are all different are more likely a number of the record than an amount.
    whole = pd.api.types.is_integer_dtype(values.dtype)
    return bool(whole and different == values.notna().sum() and different > MOST_PREDICTOR_LEVELS)
