"""Figures over released datasets, with intervals for the Monte Carlo variation between datasets."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from molehill.arrays import Floats, freeze

# Number of resampled runs, and of candidates for each.
RUNS = 100
_CANDIDATES = 20


class Figure(NamedTuple):
    """A number with its interval; the ends are NaN for a single dataset."""

    value: float
    low: float
    high: float


def mean_over_tables(values: Floats, *, level: float = 0.95, least: float = -np.inf, most: float = np.inf) -> Figure:
    """Average one value per dataset, with Student's t interval.

    Parameters
    ----------
    values
        One per dataset.
    level
        Confidence level.
    least, most
        Possible range of the figure; the interval is truncated to it.

    Examples
    --------
    >>> mean_over_tables(np.array([1.0, 2.0, 3.0]), level=0.5)  # doctest: +ELLIPSIS
    Figure(value=2.0, low=1.52859..., high=2.47140...)
    """
    value = float(values.mean())
    if len(values) < 2:
        return Figure(value, np.nan, np.nan)
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    return _around(value, error, len(values), level, least, most)


def resample(
    measure: Callable[[Floats], Floats],
    by_dataset: Floats,
    *,
    level: float = 0.95,
    least: float = -np.inf,
    most: float | Sequence[float] = np.inf,
) -> list[Figure]:
    """Compute figures of the mean over the datasets, with intervals from resampled datasets.

    For quantiles, maxima and counts, which are not means over datasets. The standard deviation of the figure over
    resampled runs gives a t interval around the figure itself (resampled runs are noisier than the release, which would
    shift quantiles). A jackknife would be up to twice too wide.

    Parameters
    ----------
    measure
        `(records,) -> (figures,)`: one or several figures.
    by_dataset
        (datasets, records).
    level, least, most
        As in `mean_over_tables`; `most` may be one for each figure.
    """
    tables = len(by_dataset)
    values = measure(by_dataset.mean(axis=0))
    ends = np.broadcast_to(most, values.shape)
    # One by one, to save memory.
    runs = [measure(row / tables @ by_dataset) for row in resampled_counts(tables)] if tables > 1 else [values]
    return [
        figure_of_runs(float(value), of_runs, tables, level=level, least=least, most=float(end))
        for value, of_runs, end in zip(values, np.transpose(runs), ends, strict=True)
    ]


def figure_of_runs(
    value: float,
    values: Floats,
    tables: int,
    *,
    level: float = 0.95,
    least: float = -np.inf,
    most: float = np.inf,
) -> Figure:
    """Figure with an interval from the figures of resampled runs (`resampled_counts`)."""
    if tables < 2:
        return Figure(value, np.nan, np.nan)
    counts = resampled_counts(tables)[: len(values)]
    # Corrects for the variance of resampled runs, which is not exact for few datasets.
    variance = float((((counts - 1) / tables) ** 2).sum(axis=1).mean())
    error = float(np.std(values, ddof=1)) / np.sqrt(tables * variance)
    return _around(value, error, tables, level, least, most)


def jackknife(
    value: float,
    without: Floats,
    tables: int,
    *,
    level: float = 0.95,
    least: float = -np.inf,
    most: float = np.inf,
) -> Figure:
    """Smooth figure with a jackknife interval, from the figures without each dataset in turn.

    The standard error is the root of (L - 1) / L times the sum of their squared deviations from their mean.

    Examples
    --------
    >>> jackknife(2.0, np.array([2.5, 2.0, 1.5]), 3, level=0.5)  # doctest: +ELLIPSIS
    Figure(value=2.0, low=1.52859..., high=2.47140...)
    """
    if len(without) != tables or not np.isfinite(without).all():
        return Figure(value, np.nan, np.nan)
    error = float(np.std(without)) * np.sqrt(tables - 1)
    return _around(value, error, tables, level, least, most)


@cache
def resampled_counts(tables: int) -> NDArray[np.int64]:
    """(runs, datasets): how often each dataset is drawn in resampled runs.

    Of many runs those are used whose mean has the variance of the mean of new datasets, 1 / datasets of that of one: on
    average resampled runs vary too little. The seed is fixed, so that an evaluation can be repeated.
    """
    random = np.random.default_rng(20)
    counts = random.multinomial(tables, np.full(tables, 1 / tables), _CANDIDATES * RUNS)
    variance = (((counts - 1) / tables) ** 2).sum(axis=1)
    chosen = np.argsort(np.abs(variance - 1 / tables), kind="stable")[:RUNS]
    return freeze(counts[np.sort(chosen)])


def _around(value: float, error: float, tables: int, level: float, least: float, most: float) -> Figure:
    reach = float(stdtrit(tables - 1, (1 + level) / 2)) * error
    return Figure(value, float(max(value - reach, least)), float(min(value + reach, most)))
