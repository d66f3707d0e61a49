"""How far the sensitive columns of released datasets lie from the confidential ones, exactly, without holding any."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.parts.buckets import numbers_of
from molehill.parts.counts import sum_in_order, walk_together
from molehill.parts.dataset import Dataset, read_batches, to_frame
from molehill.tables.intervals import mean_over_tables
from molehill.tables.schema import Schema
from molehill.utility.distances import Distances, expect_ecdf, gather

# Values that are added at once.
_BLOCK = 2**18


@dataclass(frozen=True, eq=False)
class UtilityInParts:
    """How the sensitive columns of released datasets compare.

    Attributes
    ----------
    distances
        Of every numeric column: U_m, U_a, what a fresh sample would show, and the Wasserstein distance, as
        `molehill.utility.ecdf_distances` and `molehill.utility.wasserstein` give them. None without such a column.
    moments
        column, table (0 is the confidential one), records with a value, mean and sd, of every numeric column.
    shares
        column, level, confidential, released, low, high: the share of the records in every level of a categorical
        column, the released one as a mean over the tables with its interval. A missing value is the last level.
    """

    distances: Distances | None
    moments: pd.DataFrame
    shares: pd.DataFrame


def compare_columns(datasets: Sequence[Dataset], schema: Schema, folders: Sequence[Path], batch: int) -> UtilityInParts:
    """Compare the sensitive columns of the datasets, of which the confidential one comes first.

    Parameters
    ----------
    datasets
        All of them.
    schema
        What each column is.
    folders
        Where buckets have left the different values of the numeric columns, counted.
    batch
        How many records to hold at once.
    """
    sensitive = schema.having("sensitive")
    numeric = [name for name in sensitive if schema[name].kind != "categorical"]
    moments = pd.DataFrame(
        [(name, number, *_moments(one, name, batch)) for name in numeric for number, one in enumerate(datasets)],
        columns=["column", "table", "records", "mean", "sd"],
    )
    rows = []
    for place, name in enumerate(numeric):
        own = [folder / f"own-{place}.npy" for folder in folders]
        counts = moments.loc[moments["column"] == name, "records"].tolist()
        for number in range(1, len(datasets)):
            other = [folder / f"released-{number}-{place}.npy" for folder in folders]
            measures = _distances(own, other, counts[0], counts[number], batch)
            called = {"group": "", "table": number, "column": name}
            rows += [{**called, "measure": measure, "value": value} for measure, value in measures.items()]
    exact = [name for name in sensitive if name not in numeric]
    return UtilityInParts(gather(rows, grouped=False) if rows else None, moments, _shares(datasets, exact, batch))


def _moments(dataset: Dataset, name: str, batch: int) -> tuple[int, float, float]:
    """Number, mean and standard deviation of a column, as NumPy has them of the whole one."""

    def values() -> Iterator[Floats]:
        for one in read_batches(dataset, [name], records=batch):
            numbers = numbers_of(one, name, dataset.argument)
            yield numbers[~np.isnan(numbers)]

    number = sum(map(len, values()))
    mean = sum_in_order(values(), number) / number
    squares = sum_in_order(((piece - mean) ** 2 for piece in values()), number)
    return number, mean, float(np.sqrt(squares / (number - 1))) if number > 1 else np.nan


def _distances(own: Sequence[Path], other: Sequence[Path], first: int, second: int, batch: int) -> dict[str, float]:
    """The measures of two columns with so many values, by walking through the values of both from the smallest up."""

    def gaps() -> Iterator[tuple[Floats, Floats, Floats, NDArray[np.int64]]]:
        """Value, difference of the distribution functions, values at or below it, and how often it occurs in both."""
        below = np.zeros(2, dtype=np.int64)
        for values, here, there in walk_together(own, other, most=batch):
            ours, theirs = below[0] + np.cumsum(here), below[1] + np.cumsum(there)
            yield values, ours / first - theirs / second, (ours + theirs).astype(np.float64), here + there
            below = np.array([ours[-1], theirs[-1]])

    total = first + second
    squares = sum_in_order(_each(((gap**2, often) for _, gap, _, often in gaps())), total)
    spread = sum_in_order(_each(((below * (total - below), often) for _, _, below, often in gaps())), total)
    largest = max(float(np.abs(gap).max()) for _, gap, _, _ in gaps())
    area = sum_in_order(_areas(gaps()), total - 1)
    return (
        {"U_m": largest, "U_a": squares / total}
        | expect_ecdf(spread / total, first, second)
        | {"wasserstein": area, "wasserstein_sd": _scaled(area, own, first, batch)}
    )


def _scaled(area: float, own: Sequence[Path], number: int, batch: int) -> float:
    """The area in standard deviations of the sorted confidential values."""

    def values() -> Iterator[Floats]:
        return _each((values, here) for values, here, _ in walk_together(own, [], most=batch))

    if number < 2:
        return np.nan
    mean = sum_in_order(values(), number) / number
    spread = np.sqrt(sum_in_order(((piece - mean) ** 2 for piece in values()), number) / (number - 1))
    return float(area / spread) if spread > 0 else np.nan


def _each(pieces: Iterator[tuple[Floats, NDArray[np.int64]]]) -> Iterator[Floats]:
    """Every number as often as it occurs, in pieces that are never long."""
    for numbers, often in pieces:
        ends = np.cumsum(often)
        for first in range(0, int(ends[-1]), _BLOCK):
            at = np.searchsorted(ends, np.arange(first, min(first + _BLOCK, int(ends[-1]))), side="right")
            yield numbers[at]


def _areas(gaps: Iterator[tuple[Floats, Floats, Floats, NDArray[np.int64]]]) -> Iterator[Floats]:
    """Between each two pooled values, in order, the area between the distribution functions: 0 between equal ones."""
    before: tuple[float, float] | None = None
    for values, gap, _, often in gaps:
        # To the first of the equal ones comes the area from the value before.
        ahead = np.empty(0) if before is None else np.abs([before[1]]) * (values[:1] - before[0])
        steps = np.concatenate([ahead, np.abs(gap[:-1]) * np.diff(values)])
        counts = often if before is not None else often[1:]
        if before is None:
            yield from _zeros(int(often[0]) - 1)
        yield from _spaced(steps, counts)
        before = (float(values[-1]), float(gap[-1]))


def _zeros(number: int) -> Iterator[Floats]:
    for first in range(0, number, _BLOCK):
        yield np.zeros(min(_BLOCK, number - first))


def _spaced(steps: Floats, often: NDArray[np.int64]) -> Iterator[Floats]:
    """Each step, and then a zero for every further time that its value occurs."""
    ends = np.cumsum(often)
    starts = ends - often
    for first in range(0, int(ends[-1]) if len(ends) else 0, _BLOCK):
        last = min(first + _BLOCK, int(ends[-1]))
        piece = np.zeros(last - first)
        low, high = np.searchsorted(starts, [first, last])
        piece[starts[low:high] - first] = steps[low:high]
        yield piece


def _shares(datasets: Sequence[Dataset], exact: Sequence[str], batch: int) -> pd.DataFrame:
    rows = []
    for name in exact:
        counted = [_count_levels(one, name, batch) for one in datasets]
        levels = sorted({level for one in counted for level in one}, key=lambda level: (level is None, f"{level}"))
        for level in levels:
            own, *others = (one[level] / data.records for one, data in zip(counted, datasets, strict=True))
            told = "missing" if level is None else level
            rows.append((name, told, own, *mean_over_tables(np.array(others), least=0.0, most=1.0)))
    return pd.DataFrame(rows, columns=["column", "level", "confidential", "released", "low", "high"])


def _count_levels(dataset: Dataset, name: str, batch: int) -> Counter[str | None]:
    counts: Counter[str | None] = Counter()
    for one in read_batches(dataset, [name], records=batch):
        found = to_frame(one, frozenset())[name].dropna()
        counts[None] += len(one) - len(found)
        for level, number in found.value_counts().items():
            counts[f"{level}"] += int(number)
    # Adding zeros takes away what does not occur.
    return +counts
