"""How far released tables lie from the confidential one: empirical distributions and two-way tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.frames import Table
from molehill.over_tables import mean_over_tables
from molehill.parts import Floats, Groups, Missing, Side, read_numbers, read_parts
from molehill.patterns import learn_patterns

MOST_LEVELS = 100

# The mean of Kolmogorov's distribution, sqrt(pi / 2) log(2).
_KOLMOGOROV_MEAN = float(np.sqrt(np.pi / 2) * np.log(2))


@dataclass(frozen=True, eq=False)
class Distances:
    """Measures of how far released tables lie from the confidential one.

    Attributes
    ----------
    summary
        One row per measure: `column`, `measure`, `value` (the mean over the tables) and its 95% interval from `low` to
        `high`, missing for a single table; with groups, also `group`.
    by_table
        The same measures of every table, numbered from 1 in the column `table`.
    """

    summary: pd.DataFrame
    by_table: pd.DataFrame

    def value(self, measure: str, *, column: str | None = None, group: str | None = None) -> float:
        """Give one mean over the tables; say which column or group where there are several."""
        rows = self.summary[self.summary["measure"] == measure]
        for name, wanted in (("column", column), ("group", group)):
            if wanted is not None and name in rows:
                rows = rows[rows[name] == wanted]
        if len(rows) != 1:
            measures = ", ".join(map(repr, self.summary["measure"].unique()))
            problem = f"{len(rows)} rows of the summary are {measure!r} with that column and group"
            raise InputError("measure", problem, f"The measures are {measures}; name the column or the group as well")
        return float(rows["value"].iloc[0])


def ecdf_distances(
    data: Any, released: Any, column: str, *, groups: Groups = None, missing: Missing = "error"
) -> Distances:
    """Compare the empirical distribution functions of one numeric column.

    Over the pooled points z of the confidential and the released table, each as often as it occurs, `U_m` is the
    largest |F(z) - F*(z)| and `U_a` the mean of (F(z) - F*(z))^2. Two further measures say what a fresh sample of the
    same population, as large as the released table, would be expected to show: no release needs to do better.

    Parameters
    ----------
    data
        The confidential table.
    released
        One released table, or a sequence of them.
    column
        A numeric column.
    groups
        Columns within whose groups to compare.
    missing
        A missing value: "error", or "keep": the record takes no part.

    References
    ----------
    Woo, Reiter, Oganian and Karr, Global Measures of Data Utility for Microdata Masked for Disclosure Limitation
    (2009).

    Examples
    --------
    >>> data, released = pd.DataFrame({"pay": [1.0, 2.0]}), pd.DataFrame({"pay": [2.0, 3.0]})
    >>> found = ecdf_distances(data, released, "pay")
    >>> found.value("U_m"), found.value("U_a")
    (0.5, 0.1875)
    """
    return _compare_numbers(data, released, column, groups, missing, _ecdf_measures)


def wasserstein(
    data: Any, released: Any, column: str, *, groups: Groups = None, missing: Missing = "error"
) -> Distances:
    """Measure how far the values of one numeric column must be moved to turn one distribution into the other.

    The area between the two empirical distribution functions (the first Wasserstein distance), in the units of the
    column and in standard deviations of the confidential one.

    Parameters
    ----------
    data, released, column, groups, missing
        As in `ecdf_distances`.

    Examples
    --------
    >>> data, released = pd.DataFrame({"pay": [1.0, 2.0]}), pd.DataFrame({"pay": [2.0, 5.0]})
    >>> wasserstein(data, released, "pay").value("Wasserstein distance")
    2.0
    """
    return _compare_numbers(data, released, column, groups, missing, _wasserstein_measures)


def table_difference(
    data: Any,
    released: Any,
    pairs: Sequence[tuple[str, str]],
    *,
    breaks: Mapping[str, Sequence[float]] | None = None,
    groups: Groups = None,
) -> Distances:
    """Compare the shares of records in the cells of two-way tables.

    "total variation" is half the sum of the absolute differences of all cells: the share of records that would have
    to change their cell. "largest difference" is that of one cell. A missing value is a category of its own.

    Parameters
    ----------
    data
        The confidential table.
    released
        One released table, or a sequence of them.
    pairs
        Pairs of categorical columns, such as `[("region", "earner")]`.
    breaks
        Groups for numeric columns, by name: `{"income": [20_000, 50_000]}`, left-closed.
    groups
        Columns within whose groups to compare.

    Examples
    --------
    >>> data = pd.DataFrame({"town": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "m"]})
    >>> released = data.assign(sex=["f", "f", "f", "m"])
    >>> table_difference(data, released, [("town", "sex")]).value("total variation")
    0.25
    """
    listed = list(pairs)
    for pair in listed or [("", "")]:
        if isinstance(pair, str) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError("pairs", "a pair is two different columns", "Write for instance [('region', 'earner')]")
    names = [name for pair in listed for name in pair]
    rows = []
    for part in read_parts(data, released, names, groups=groups, missing="keep", argument="pairs"):
        for pair in listed:
            for number, side in enumerate(part.released, 1):
                cells = _cell_differences(part.confidential, side, list(pair), breaks or {})
                called = {"group": part.group, "table": number, "column": " x ".join(pair)}
                rows.append({**called, "measure": "total variation", "value": float(np.abs(cells).sum() / 2)})
                rows.append({**called, "measure": "largest difference", "value": float(np.abs(cells).max())})
    return gather(rows, grouped=groups is not None)


def gather(rows: list[dict[str, Any]], *, grouped: bool) -> Distances:
    """Make the result from rows with group, table, column, measure and value."""
    by_table = pd.DataFrame(rows)
    summary = []
    for (group, column, measure), values in by_table.groupby(["group", "column", "measure"], sort=False)["value"]:
        named = {"group": group, "column": column, "measure": measure}
        summary.append(named | mean_over_tables(values.to_numpy())._asdict())
    frames = (pd.DataFrame(summary), by_table)
    return Distances(*(frame if grouped else frame.drop(columns="group") for frame in frames))


def _compare_numbers(
    data: Any, released: Any, column: str, groups: Groups, missing: Missing, measures: Any
) -> Distances:
    rows = []
    for part in read_parts(data, released, [column], groups=groups, missing=missing, argument="column"):
        own = np.sort(read_numbers(part.confidential, [column], missing)[0])
        for number, side in enumerate(part.released, 1):
            other = np.sort(read_numbers(side, [column], missing)[0])
            called = {"group": part.group, "table": number, "column": column}
            rows += [{**called, "measure": name, "value": value} for name, value in measures(own, other).items()]
    return gather(rows, grouped=groups is not None)


def _pooled_differences(own: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    """The pooled points in order, F - F* there, and how many of the pooled points lie at or below each."""
    pooled = np.sort(np.concatenate([own, other]), kind="stable")
    first = np.searchsorted(own, pooled, side="right")
    second = np.searchsorted(other, pooled, side="right")
    return pooled, first / len(own) - second / len(other), (first + second).astype(np.float64)


def _ecdf_measures(own: Floats, other: Floats) -> dict[str, float]:
    _, difference, below = _pooled_differences(own, other)
    number, total = len(own) * len(other), len(own) + len(other)
    # Under random labels the number of confidential points at or below z is hypergeometric.
    fresh = float((below * (total - below)).mean() / (number * (total - 1)))
    return {
        "U_m": float(np.abs(difference).max()),
        "U_a": float((difference**2).mean()),
        "U_m of a fresh sample": _KOLMOGOROV_MEAN * float(np.sqrt(total / number)),
        "U_a of a fresh sample": fresh,
    }


def _wasserstein_measures(own: Floats, other: Floats) -> dict[str, float]:
    pooled, difference, _ = _pooled_differences(own, other)
    area = float((np.abs(difference[:-1]) * np.diff(pooled)).sum())
    spread = float(own.std(ddof=1)) if len(own) > 1 else 0.0
    scaled = area / spread if spread > 0 else np.nan
    return {"Wasserstein distance": area, "Wasserstein distance in sd": scaled}


def _cell_differences(own: Side, other: Side, pair: list[str], breaks: Mapping[str, Sequence[float]]) -> Floats:
    """Share of records in every cell that occurs in either table: released less confidential."""
    chosen = {name: ends for name, ends in breaks.items() if name in pair}
    for name in pair:
        values = own.frame[name].drop_duplicates()
        if name in chosen:
            continue
        if len(values) > MOST_LEVELS:
            problem = f"column {name!r} has more than {MOST_LEVELS} different values"
            raise InputError("pairs", problem, f"Group it, for instance by breaks={{{name!r}: [...]}}")
        if not other.frame[name].isin(values).any():
            problem = f"no value of column {name!r} occurs in the confidential table"
            raise other.refuse(problem, "Code the column as it is coded there (the same labels, or the same numbers)")
    stacked = pd.concat([own.frame[pair].astype(object), other.frame[pair].astype(object)], ignore_index=True)
    for name in chosen:
        stacked[name] = stacked[name].astype(np.float64)
    patterns = learn_patterns(Table(stacked), pair, chosen)
    split = len(own.frame)
    counts = [np.bincount(codes, minlength=patterns.number) for codes in np.split(patterns.codes, [split])]
    return counts[1] / len(other.frame) - counts[0] / split
