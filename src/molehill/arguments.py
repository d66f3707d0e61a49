"""Checks that several public functions share: numbers and choices that a caller gives."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from molehill.errors import InputError
from molehill.schema import nearest


def check_order(order: int) -> int:
    """Accept a whole number from 1 up."""
    if isinstance(order, bool) or not isinstance(order, Integral) or order < 1:
        raise InputError("order", "it must be a whole number from 1 up", "1 is marginal, 2 is pairwise")
    return int(order)


def check_choice(argument: str, value: str, choices: Sequence[str]) -> str:
    """Accept one of the named choices."""
    if value not in choices:
        raise InputError(argument, f"{value!r} is not a choice", f"Choose one of {', '.join(map(repr, choices))}")
    return value


def check_radius(
    radius: float | Mapping[str, float] | None, floor: float | Mapping[str, float], columns: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the relative radius and the floor of every numeric sensitive column."""
    if radius is None and columns:
        raise InputError("radius", "the sensitive columns are numeric and need one", "Give it, such as 0.2 for 20%")
    relative = _per_column("radius", 0.0 if radius is None else radius, columns)
    least = _per_column("floor", floor, columns)
    if (relative > 1).any():
        raise InputError(
            "radius",
            "a relative radius above 1 would reach past zero",
            "For 20 percent write 0.2; for a radius in the units of the data write radius=0 and floor=20",
        )
    if ((relative == 0) & (least == 0)).any():
        raise InputError(
            "radius",
            "it is 0, so that no two different values would be close",
            "Give a radius such as 0.2, or a floor for a radius in the units of the data, "
            "or call the column categorical for exact matches only",
        )
    return relative, least


def _per_column(argument: str, given: float | Mapping[str, float], columns: Sequence[str]) -> NDArray[np.float64]:
    if isinstance(given, Mapping):
        for name in given:
            if name not in columns:
                raise InputError(argument, f"{name!r} is not a numeric sensitive column", nearest(str(name), columns))
        lacking = [name for name in columns if name not in given]
        if lacking:
            raise InputError(
                argument, f"it says nothing of {lacking[0]!r}", "Give one for every numeric sensitive column"
            )
        numbers = [given[name] for name in columns]
    else:
        numbers = [given] * len(columns)
    for number in [given] if not isinstance(given, Mapping) else numbers:
        if isinstance(number, bool) or not isinstance(number, Real) or not np.isfinite(float(number)):
            raise InputError(argument, "it must be a finite number", "Give a number, or one for every column by name")
        if number < 0:
            raise InputError(argument, "it is negative", "Give a number from 0 up")
    return np.array(numbers, dtype=np.float64)
