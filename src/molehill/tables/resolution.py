"""Rounding units of numbers (cents, hundreds), rounding to them, and dates as days."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from molehill.arrays import Booleans, Floats

_SMALLEST, _LARGEST = -6, 6
# Relative tolerances: some rounding errors in double precision, one in single precision.
_DOUBLE, _SINGLE = 8 * np.finfo(np.float64).eps, np.finfo(np.float32).eps
_FIRST = 1000
# One in _ONE_IN numbers may be no multiple of the unit, and up to _FEW of small numbers, so that no record decides.
_ONE_IN, _FEW, _OF = 100, 2, 20
_LOOKED_AT = 10_000
_DAY = pd.Timedelta(days=1)
# Mean number of days of a calendar year.
_YEAR = 365.2425


def resolution(values: ArrayLike, others: int | None = None) -> float:
    """The largest unit of which 99% of the finite non-zero values are multiples, within floating-point error.

    Units are 10^k and 5 * 10^k with k from -6 to 6; 0 if there is none. Of fewer than 300 values two may be no
    multiples, of fewer than 40 one, of fewer than 20 none, so that no single record changes the unit, unless the others
    lie exactly at this threshold; therefore a release draws this number (`others`, see
    `molehill.plan.pooling.write_in_units`).

    Examples
    --------
    >>> resolution([12.5, 3.07, np.nan]), resolution([200.0, 1300.0]), resolution([4, 19, 250])
    (0.01, 100.0, 1.0)
    >>> resolution([0.35, 1.1]), resolution([1 / 3, 2.0])
    (0.05, 0.0)
    >>> resolution([*range(100, 10_100, 100), 12_345])
    100.0
    """
    given = np.asarray(values)
    tolerance = _DOUBLE + (_SINGLE if given.dtype.kind == "f" and given.dtype.itemsize < 8 else 0.0)
    numbers = given.astype(np.float64)
    numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
    if not len(numbers):
        return 0.0
    others = count_others(len(numbers)) if others is None else others
    # The first values are usually enough to rule out a unit.
    first = numbers[: max(_FIRST, 3 * others)]
    for exponent in range(_LARGEST, _SMALLEST - 1, -1):
        for digit in (5, 1):
            unit = float(f"{digit}e{exponent}")
            if all(np.sum(~are_multiples(some, unit, tolerance)) <= others for some in (first, numbers)):
                return unit
    return 0.0


def count_others(number: int) -> int:
    """Maximum number of values that are no multiples of the unit."""
    return max(number // _ONE_IN, min(_FEW, number // _OF))


def column_unit(column: pd.Series) -> float:
    """Rounding unit of a variable, 0 for none: see `resolution`."""
    if holds_dates(column):
        return resolution(days_of(column))
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    # Single precision is kept, for its tolerance.
    single = getattr(kind, "kind", "") == "f" and kind.itemsize < 8
    return resolution(column.to_numpy(dtype=kind if single else np.float64, na_value=np.nan))


def are_multiples(numbers: Floats, unit: float, tolerance: float = _DOUBLE) -> Booleans:
    """Which numbers are multiples of a unit, within floating-point error; 0 is a multiple only for the number 0."""
    times = numbers / unit
    nearest = np.rint(times)
    return (np.abs(times - nearest) <= tolerance * np.abs(times)) & ((nearest != 0) | (numbers == 0))


def round_to_unit(values: ArrayLike, unit: float, lower: float = -np.inf, upper: float = np.inf) -> Floats:
    """Round to the nearest multiple of a unit between two bounds.

    A unit of 0, or without a multiple between the bounds, changes nothing.

    Examples
    --------
    >>> round_to_unit([2.344, 99.999], 0.01, upper=99.995).tolist()
    [2.34, 99.99]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not unit:
        return numbers
    first, last = lower / unit, upper / unit
    # Bounds that are multiples up to floating-point error are included.
    first = np.ceil(first - _DOUBLE * abs(first)) if np.isfinite(first) else first
    last = np.floor(last + _DOUBLE * abs(last)) if np.isfinite(last) else last
    if first > last:
        return numbers
    decimals = max(0, -int(np.floor(np.log10(unit) + 1e-9)))
    # 3 * 0.1 is not 0.3: rounded to the decimals of the unit.
    return np.round(np.clip(np.rint(numbers / unit), first, last) * unit, decimals)


# Dates as days since 1970-01-01.


def holds_dates(column: pd.Series) -> bool:
    """Whether a variable holds dates, with or without time of day."""
    if column.dtype != object:
        return pd.api.types.is_datetime64_any_dtype(column.dtype)
    # Dates without time of day have type object.
    inferred = pd.api.types.infer_dtype(column.iloc[:_LOOKED_AT], skipna=True)
    return inferred in ("date", "datetime", "datetime64")


def days_of(column: pd.Series) -> Floats:
    """Dates as days since 1970, with time of day as fraction; NaN where missing.

    Examples
    --------
    >>> days_of(pd.Series(pd.to_datetime(["1970-01-02 00:00", None, "1969-12-31 12:00"])))
    array([ 1. ,  nan, -0.5])
    """
    when = pd.to_datetime(column) if column.dtype == object else column
    zone = getattr(when.dtype, "tz", None)
    # Local time: a day begins at its own midnight.
    plain = when.dt.tz_localize(None) if zone is not None else when
    return np.asarray((plain - pd.Timestamp(0)) / _DAY, dtype=np.float64)


def dates_like(days: Floats, column: pd.Series) -> pd.Series:
    """Days as dates of the type of a variable, rounded to seconds.

    Examples
    --------
    >>> dates_like(np.array([1.0, 0.5]), pd.Series(pd.to_datetime(["2001-05-03", None]))).astype(str).tolist()
    ['1970-01-02 00:00:00', '1970-01-01 12:00:00']
    """
    seconds = pd.Series(np.rint(np.asarray(days, dtype=np.float64) * 86_400), index=column.index)
    when = pd.Timestamp(0) + pd.to_timedelta(seconds, unit="s")
    if column.dtype != object:
        zone = getattr(column.dtype, "tz", None)
        if zone is not None:
            when = when.dt.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
        return when.astype(column.dtype)
    held = column.dropna()
    timed = len(held) and hasattr(held.iloc[0], "hour")
    made = [None if pd.isna(one) else (one.to_pydatetime() if timed else one.date()) for one in when]
    return pd.Series(made, index=column.index, dtype=object)


def day_of(given: Any) -> float:
    """A date in settings as days since 1970; a number is returned as it is."""
    return float((given - date(1970, 1, 1)).days) if isinstance(given, date) else float(given)


def years_of(days: Any) -> Any:
    """Days since 1970 as years, for an axis.

    Examples
    --------
    >>> years_of(0.0), years_of(365.2425)
    (1970.0, 1971.0)
    """
    return 1970.0 + days / _YEAR
