"""Amounts: value ranges, and transformed and standardized values for a model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from molehill.arrays import Booleans, Floats
from molehill.errors import InputError
from molehill.synthesis.synthesizer import Observed
from molehill.synthesis.transforms import POSITIVE, Support, Transform, apply_transform
from molehill.tables.schema import column_numbers, refuse_infinite
from molehill.tables.table import Table, find_columns


def check_support(lower: float | None, upper: float | None) -> Support:
    """Check a value range, whose ends are optional."""
    for argument, end in (("lower", lower), ("upper", upper)):
        if end is not None and (isinstance(end, bool | str) or np.isnan(end)):
            raise InputError(argument, "it must be a number", "Give a number in the units of the data, or None")
    low, high = -np.inf if lower is None else float(lower), np.inf if upper is None else float(upper)
    if low >= high:
        raise InputError("lower", "it is not below upper", "Give the smallest and the largest value allowed")
    return low, high


def learn_amount(
    table: Table, weights: Floats, column: str, transform: Transform, support: Support, *, standardize: bool = True
) -> tuple[Floats, Booleans, dict[str, Any]]:
    """Transform a numeric variable and standardize it by its weighted moments.

    Returns
    -------
    outcome
        The standardized values, 0 where missing.
    counted
        Records with a value and a positive weight; if there are none, all records with a value.
    facts
        The encoding, including centre and scale.
    """
    values = find_amounts(table, column)
    present = ~np.isnan(values)
    chosen = values[present]
    facts = {"column": column, "transform": transform, "support": support}
    facts["records_outside"] = int(((chosen < support[0]) | (chosen > support[1])).sum())
    if transform in POSITIVE and (chosen <= 0).any():
        first = int(np.flatnonzero(present & (values <= 0))[0])
        problem = f"{column!r} is not positive in {int((chosen <= 0).sum()):,} record(s), the first in row {first + 1}"
        raise InputError("transform", problem, "Use 'identity' or 'signed', or the semicontinuous synthesizer")
    moved = apply_transform(chosen, transform)
    if len(moved) > 1 and moved.min() == moved.max():
        raise InputError("column", f"{column!r} is the same for every record", "Keep it unchanged")
    counts = weights[present] if weights[present].any() else np.ones(len(moved))
    centre, scale = 0.0, 1.0
    if standardize:
        centre = float(np.average(moved, weights=counts))
        scale = float(np.sqrt(np.average((moved - centre) ** 2, weights=counts))) or 1.0
    outcome, counted = np.zeros(len(values)), np.zeros(len(values), dtype=bool)
    outcome[present], counted[present] = (moved - centre) / scale, counts > 0
    return outcome, counted, {**facts, "centre": centre, "scale": scale}


def observe_amount(table: Table, *, facts: Mapping[str, Any]) -> Observed:
    """Other values of an amount, encoded like the learned ones."""
    values = column_numbers(table, facts["column"])
    there = values > 0 if facts["transform"] in POSITIVE else ~np.isnan(values)
    outcome = np.zeros(len(values))
    outcome[there] = (apply_transform(values[there], facts["transform"]) - facts["centre"]) / facts["scale"]
    return Observed({"outcome": outcome}, there)


def find_amounts(table: Table, column: str) -> Floats:
    """Values of a numeric variable, NaN where missing; infinite values are an error."""
    find_columns(table, [column], "column")
    values = column_numbers(table, column)
    refuse_infinite(values, column)
    if np.isnan(values).all():
        raise InputError("column", f"{column!r} is missing in every record", "Choose another variable")
    return values
