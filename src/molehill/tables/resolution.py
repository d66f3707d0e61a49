"""How values are written: the unit of numbers, such as cents or hundreds, and new values in it; dates as days."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from molehill.arrays import Booleans, Floats

_SMALLEST, _LARGEST = -6, 6
# Sums and products of decimals are off by some roundings; a number kept in single precision by one of its own.
_DOUBLE, _SINGLE = 8 * np.finfo(np.float64).eps, np.finfo(np.float32).eps
_FIRST = 1000
# Of so many numbers one may be no multiple of the unit, and of a few times ten two: no single record decides.
_ONE_IN, _FEW, _OF = 100, 2, 20
_LOOKED_AT = 10_000
_DAY = pd.Timedelta(days=1)
# Days of a year of the calendar, on average.
_YEAR = 365.2425


def resolution(values: ArrayLike, others: int | None = None) -> float:
    """Give the largest unit of which 99% of the finite values are multiples, within floating error.

    Units are 10^k and 5 * 10^k with k from -6 to 6. It is 0 where there is no such unit, or nothing but zeros and
    missing values. Zeros count nowhere. Of fewer than 300 values two may be no multiples, of fewer than 40 one, of
    fewer than 20 none: no single record makes the unit another, unless the others lie exactly at this threshold. With
    `others` so many may be none: a release draws how many (`molehill.plan.pooling.write_in_units`).

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
    # The first values mostly show already that it is another unit.
    first = numbers[: max(_FIRST, 3 * others)]
    for exponent in range(_LARGEST, _SMALLEST - 1, -1):
        for digit in (5, 1):
            unit = float(f"{digit}e{exponent}")
            if all(np.sum(~are_multiples(some, unit, tolerance)) <= others for some in (first, numbers)):
                return unit
    return 0.0


def count_others(number: int) -> int:
    """Of so many numbers, how many at most are no multiples of their unit."""
    return max(number // _ONE_IN, min(_FEW, number // _OF))


def column_unit(column: pd.Series) -> float:
    """Give the unit that a variable of numbers is written in, 0 for none: see `resolution`."""
    if holds_dates(column):
        return resolution(days_of(column))
    kind: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    # Single precision is kept so, since a decimal is written less exactly in it.
    single = getattr(kind, "kind", "") == "f" and kind.itemsize < 8
    return resolution(column.to_numpy(dtype=kind if single else np.float64, na_value=np.nan))


def are_multiples(numbers: Floats, unit: float, tolerance: float = _DOUBLE) -> Booleans:
    """Say which numbers are multiples of a unit, within floating error; but for zero, zero is none."""
    times = numbers / unit
    nearest = np.rint(times)
    return (np.abs(times - nearest) <= tolerance * np.abs(times)) & ((nearest != 0) | (numbers == 0))


def round_to_unit(values: ArrayLike, unit: float, lower: float = -np.inf, upper: float = np.inf) -> Floats:
    """Give the multiple of a unit that is nearest to each value and lies within the ends.

    A unit of 0, or one of which no multiple lies within the ends, changes nothing.

    Examples
    --------
    >>> round_to_unit([2.344, 99.999], 0.01, upper=99.995).tolist()
    [2.34, 99.99]
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not unit:
        return numbers
    first, last = lower / unit, upper / unit
    # An end that is a multiple itself, but for floating error, is within. An open end has no error.
    first = np.ceil(first - _DOUBLE * abs(first)) if np.isfinite(first) else first
    last = np.floor(last + _DOUBLE * abs(last)) if np.isfinite(last) else last
    if first > last:
        return numbers
    decimals = max(0, -int(np.floor(np.log10(unit) + 1e-9)))
    # 3 * 0.1 is not 0.3: rounding to decimals gives the number that is written so.
    return np.round(np.clip(np.rint(numbers / unit), first, last) * unit, decimals)


# Dates as numbers: days since the first of January 1970.


def holds_dates(column: pd.Series) -> bool:
    """Whether a variable holds dates, with a time of day or without."""
    if column.dtype != object:
        return pd.api.types.is_datetime64_any_dtype(column.dtype)
    # Dates without a time of day lie in a frame as objects.
    inferred = pd.api.types.infer_dtype(column.iloc[:_LOOKED_AT], skipna=True)
    return inferred in ("date", "datetime", "datetime64")


def days_of(column: pd.Series) -> Floats:
    """Give dates as days since 1970, a time of day as a part of one; NaN where it is missing.

    Examples
    --------
    >>> days_of(pd.Series(pd.to_datetime(["1970-01-02 00:00", None, "1969-12-31 12:00"])))
    array([ 1. ,  nan, -0.5])
    """
    when = pd.to_datetime(column) if column.dtype == object else column
    zone = getattr(when.dtype, "tz", None)
    # In the clock of the variable: a day has its own midnight.
    plain = when.dt.tz_localize(None) if zone is not None else when
    return np.asarray((plain - pd.Timestamp(0)) / _DAY, dtype=np.float64)


def dates_like(days: Floats, column: pd.Series) -> pd.Series:
    """Give days as dates of the type of a variable; whole seconds.

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
    """Give a date of a setting as a day; a number is one."""
    return float((given - date(1970, 1, 1)).days) if isinstance(given, date) else float(given)


def years_of(days: Any) -> Any:
    """Give days since 1970 as years, for an axis.

    Examples
    --------
    >>> years_of(0.0), years_of(365.2425)
    (1970.0, 1971.0)
    """
    return 1970.0 + days / _YEAR
