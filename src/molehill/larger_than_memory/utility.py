"""How far the sensitive columns of released files lie from the confidential ones: counted by value, in the engine."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from molehill.larger_than_memory.engine import sum_exactly
from molehill.larger_than_memory.files import ParquetFiles
from molehill.tables.intervals import mean_over_tables
from molehill.tables.schema import Schema
from molehill.utility.distances import Distances, expect_ecdf, gather

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, eq=False)
class ColumnComparison:
    """How the sensitive columns of released datasets compare.

    Attributes
    ----------
    distances
        Of every numeric column: U_m, U_a, the sampling benchmark of both, and the Wasserstein distance, as
        `molehill.utility.ecdf_distances` and `molehill.utility.wasserstein` give them. None without such a column.
    moments
        column, table (0 is the confidential one), records with a value, mean and sd, of every numeric column.
    shares
        column, level, confidential, released, low, high: the share of the records in every level of a categorical
        column, the released one as a mean over the datasets with its interval. A missing value is the last level.
    """

    distances: Distances | None
    moments: pd.DataFrame
    shares: pd.DataFrame


def compare_columns(
    connection: "DuckDBPyConnection", datasets: Sequence[ParquetFiles], schema: Schema
) -> ColumnComparison:
    """Compare the sensitive columns of the datasets, of which the confidential one comes first."""
    moments, distances, shares = [], [], []
    for name in schema.having("sensitive"):
        if schema[name].kind == "categorical":
            shares += _shares(connection, datasets, name)
            continue
        queries = [one.numbers(name) for one in datasets]
        found = [_moments(connection, query) for query in queries]
        moments += [(name, table, *of) for table, of in enumerate(found)]
        for table in range(1, len(datasets)):
            counts = (found[0][0], found[table][0])
            measures = _distances(connection, queries[0], queries[table], *counts) if all(counts) else {}
            measures |= {"wasserstein_sd": measures["wasserstein"] / found[0][2] if found[0][2] > 0 else np.nan}
            called = {"group": "", "table": table, "column": name}
            distances += [{**called, "measure": measure, "value": value} for measure, value in measures.items()]
    return ColumnComparison(
        gather(distances, grouped=False) if distances else None,
        pd.DataFrame(moments, columns=["column", "table", "records", "mean", "sd"]),
        pd.DataFrame(shares, columns=["column", "level", "confidential", "released", "low", "high"]),
    )


def _moments(connection: "DuckDBPyConnection", query: str) -> tuple[int, float, float]:
    """Number, mean and standard deviation."""
    number = connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
    mean = sum_exactly(connection, f"SELECT x FROM ({query})") / number if number else np.nan
    if number < 2:
        return number, mean, np.nan
    squares = sum_exactly(connection, f"SELECT (x - {mean!r}) * (x - {mean!r}) FROM ({query})")
    return number, mean, float(np.sqrt(squares / (number - 1)))


def _distances(connection: "DuckDBPyConnection", own: str, other: str, first: int, second: int) -> dict[str, float]:
    """The measures of two columns with so many values, from the distribution functions at every value of either."""
    both = f"SELECT x, 1 AS own FROM ({own}) UNION ALL SELECT x, 0 AS own FROM ({other})"
    counted = f"SELECT x, sum(own) AS own, count(*) AS number FROM ({both}) GROUP BY x"
    sums = "CAST(sum(own) OVER up AS DOUBLE) AS own, CAST(sum(number) OVER up AS DOUBLE) AS below"
    steps = (
        f"SELECT number, {sums}, coalesce(lead(x) OVER up - x, 0) AS width FROM ({counted}) WINDOW up AS (ORDER BY x)"
    )
    gap = f"own / {first} - (below - own) / {second} AS gap"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE steps AS SELECT number, below, width, {gap} FROM ({steps})")
    total = first + second
    largest = connection.execute("SELECT max(abs(gap)) FROM steps").fetchall()[0][0]
    squares = sum_exactly(connection, "SELECT gap * gap * number FROM steps")
    spread = sum_exactly(connection, f"SELECT below * ({total} - below) * number FROM steps")
    area = sum_exactly(connection, "SELECT abs(gap) * width FROM steps")
    return {"U_m": largest, "U_a": squares / total} | expect_ecdf(spread / total, first, second) | {"wasserstein": area}


def _shares(
    connection: "DuckDBPyConnection", datasets: Sequence[ParquetFiles], name: str
) -> list[tuple[str, str, float, float, float, float]]:
    counted = []
    for one in datasets:
        rows = connection.execute(f"SELECT c0, count(*) FROM ({one.select([name])}) GROUP BY c0").fetchall()
        counted.append(Counter({None if level is None else f"{level}": number for level, number in rows}))
    levels = sorted({level for one in counted for level in one}, key=lambda level: (level is None, f"{level}"))
    found = []
    for level in levels:
        own, *others = (one[level] / data.records for one, data in zip(counted, datasets, strict=True))
        released = mean_over_tables(np.array(others), least=0.0, most=1.0)
        found.append((name, "missing" if level is None else level, own, *released))
    return found
