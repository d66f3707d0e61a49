"""Dates as numbers, days since the first of January 1970, and back."""

from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Floats

_LOOKED_AT = 10_000
_DAY = pd.Timedelta(days=1)
# Days of a year of the calendar, on average.
_YEAR = 365.2425


def holds_dates(column: pd.Series) -> bool:
    """Whether a column holds dates, with a time of day or without."""
    if column.dtype != object:
        return pd.api.types.is_datetime64_any_dtype(column.dtype)
    # Dates without a time of day lie in a frame as objects.
    inferred = pd.api.types.infer_dtype(column.iloc[:_LOOKED_AT], skipna=True)
    return inferred in ("date", "datetime", "datetime64")


def days_of(column: pd.Series) -> Floats:
    """Give dates as days since 1970, a time of day as a part of one; NaN where it is missing.

    Examples
    --------
    >>> days_of(pd.Series(pd.to_datetime(["1970-01-02", None, "1969-12-31 12:00"])))
    array([ 1. ,  nan, -0.5])
    """
    when = pd.to_datetime(column) if column.dtype == object else column
    zone = getattr(when.dtype, "tz", None)
    # In the clock of the column: a day has its own midnight.
    plain = when.dt.tz_localize(None) if zone is not None else when
    return np.asarray((plain - pd.Timestamp(0)) / _DAY, dtype=np.float64)


def dates_like(days: Floats, column: pd.Series) -> pd.Series:
    """Give days as dates of the type of a column; whole seconds.

    Examples
    --------
    >>> dates_like(np.array([1.0, np.nan]), pd.Series(pd.to_datetime(["2001-05-03", None]))).astype(str).tolist()
    ['1970-01-02', 'NaT']
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
