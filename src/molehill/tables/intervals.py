"""How far a figure would move if other datasets had been drawn: intervals over the released datasets."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from molehill.arrays import Floats, freeze

# Resampled runs, and how many are drawn for each one that is kept.
RUNS = 100
_CANDIDATES = 20


class Figure(NamedTuple):
    """A number with its interval; the ends are NaN where one dataset, or no chance at all, made it."""

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
        Of the interval.
    least, most
        What the figure cannot pass; the interval is cut there.

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
    """Measure the mean over the datasets, with intervals from resampled datasets.

    For quantiles, maxima and counts, which are no means. Runs of as many datasets are resampled, the figure is taken of
    each, and its standard deviation makes Student's interval around the figure itself: a resampled run has more noise
    than the release, which would push up every quantile. Leaving out each dataset in turn would be no better than twice
    the right width, because all records then jump from twentieths to nineteenths.

    Parameters
    ----------
    measure
        `(records,) -> (figures,)`: one or several figures of the records.
    by_dataset
        (datasets, records).
    level, least, most
        As in `mean_over_tables`; `most` may be one for each figure.
    """
    tables = len(by_dataset)
    values = measure(by_dataset.mean(axis=0))
    ends = np.broadcast_to(most, values.shape)
    # One after the other: all resampled runs at once would be far larger than the datasets.
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
    """Give a figure its interval, where the figures of resampled runs (`resampled_counts`) are known."""
    if tables < 2:
        return Figure(value, np.nan, np.nan)
    counts = resampled_counts(tables)[: len(values)]
    # Few datasets cannot be resampled with just the right variance.
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
    """Give a smooth figure its interval, from the figures without each dataset in turn.

    The standard error is the root of (L - 1) / L times the sum of their squared distances from their mean. Without
    figures for every dataset there is no interval.

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
    """(runs, datasets): how often each dataset is taken in runs of as many datasets.

    Of many runs with replacement those are chosen whose mean has the variance that the mean of new datasets would have,
    1 / datasets of that of one: any run may repeat few datasets often, and on average they vary too little. The random
    numbers are always the same, so that an evaluation can be repeated.
    """
    random = np.random.default_rng(20)
    counts = random.multinomial(tables, np.full(tables, 1 / tables), _CANDIDATES * RUNS)
    variance = (((counts - 1) / tables) ** 2).sum(axis=1)
    chosen = np.argsort(np.abs(variance - 1 / tables), kind="stable")[:RUNS]
    return freeze(counts[np.sort(chosen)])


def _around(value: float, error: float, tables: int, level: float, least: float, most: float) -> Figure:
    reach = float(stdtrit(tables - 1, (1 + level) / 2)) * error
    return Figure(value, float(max(value - reach, least)), float(min(value + reach, most)))
