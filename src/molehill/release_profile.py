"""The risk of a release, told to a person: its profile, by groups of records, and its extreme records, as ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.frames import Table
from molehill.over_tables import Figure, mean_over_tables, resample
from molehill.profile import THRESHOLDS, range_ends, value_range
from molehill.risk import ConfidentialRisk
from molehill.schema import column_numbers

Floats = NDArray[np.float64]

QUANTILES = {
    "25% quantile of {}": 0.25,
    "median {}": 0.5,
    "75% quantile of {}": 0.75,
    "99% quantile of {}": 0.99,
    "largest {}": 1.0,
}


@dataclass(frozen=True, eq=False)
class Groups:
    """A way to group the records: by what, the column that it is about, names of the groups, and each one's records."""

    by: str
    column: str
    names: Sequence[str]
    codes: NDArray[np.int64]


def profile_release(by_table: Floats, what: str = "risk") -> dict[str, Figure]:
    """Summarise the record risks of a release, each figure with its interval over the tables.

    Parameters
    ----------
    by_table
        (tables, records): risk in every table, or mean risk in blocks of tables; NaN for a record that takes no part.
    what
        What to call it: "risk", "expected risk".

    Examples
    --------
    >>> profile_release(np.array([[0.0, 0.5, 1.0]]))["median risk"].value
    0.5
    """
    risk = by_table[:, ~np.isnan(by_table).any(axis=0)]
    figures = {f"mean {what}": mean_over_tables(risk.mean(axis=1), least=0.0, most=1.0)}
    shares = list(QUANTILES.values())

    def measure(records: Floats) -> Floats:
        return np.concatenate([np.quantile(records, shares), [(records > threshold).sum() for threshold in THRESHOLDS]])

    names = [name.format(what) for name in QUANTILES]
    names += [f"records with {what} above {threshold}" for threshold in THRESHOLDS]
    most = [1.0] * len(shares) + [float(risk.shape[1])] * len(THRESHOLDS)
    figures |= zip(names, resample(measure, risk, least=0.0, most=most), strict=True)
    return figures


def pattern_groups(risk: ConfidentialRisk) -> Groups:
    """Group the records by their pattern."""
    labels = risk.patterns.labels()
    names = [", ".join(f"{name} {value}" for name, value in row.items()) for row in labels.to_dict("records")]
    column = ", ".join(risk.schema.having("sensitive"))
    return Groups("pattern", column, names if len(labels.columns) else ["all records"], _as_codes(risk.patterns.codes))


def size_groups(risk: ConfidentialRisk, table: Table) -> list[Groups]:
    """Group the records by the size of each numeric sensitive column, in ranges between round numbers."""
    groups = []
    for column, values in _numeric(risk, table).items():
        present = ~np.isnan(values)
        ends = range_ends(values[present])
        places = np.searchsorted(ends, values, side="right")
        occupied, codes = np.unique(places[present], return_inverse=True)
        names = [value_range(ends[[place - 1]], ends) for place in occupied]
        every = np.full(len(values), -1)
        every[present] = codes
        groups.append(Groups(f"size of {column}", column, names, every))
    return groups


def describe_groups(groups: Groups, measures: Mapping[str, Floats]) -> pd.DataFrame:
    """Average measures within groups, with intervals over the tables.

    Parameters
    ----------
    groups
        From `pattern_groups` or `size_groups`.
    measures
        By name, (tables, records); NaN for a record that takes no part.

    Returns
    -------
    pandas.DataFrame
        column, by, group, records, measure, value, low, high.
    """
    rows = []
    for measure, by_table in measures.items():
        part = (groups.codes >= 0) & ~np.isnan(by_table).any(axis=0)
        codes = groups.codes[part]
        sizes = np.bincount(codes, minlength=len(groups.names))
        sums = np.stack([np.bincount(codes, row[part], minlength=len(sizes)) for row in by_table])
        for code in np.flatnonzero(sizes).tolist():
            figure = mean_over_tables(sums[:, code] / sizes[code], least=0.0, most=1.0)
            rows.append((groups.column, groups.by, groups.names[code], int(sizes[code]), measure, *figure))
    return pd.DataFrame(rows, columns=["column", "by", "group", "records", "measure", "value", "low", "high"])


def top_records(
    risk: ConfidentialRisk, table: Table, schemes: Mapping[str, Floats], *, number: int = 10
) -> pd.DataFrame:
    """List the riskiest records of the confidential table and those with the largest values, as the paper does.

    Parameters
    ----------
    risk
        Of the confidential table.
    table
        The confidential table.
    schemes
        Risk of every record under each scheme.
    number
        How many of each.

    Returns
    -------
    pandas.DataFrame
        list ("riskiest", and "largest income" for each numeric sensitive column), rank, range (of the sensitive values,
        never a value), scheme, risk.
    """
    columns = _numeric(risk, table)
    part = np.flatnonzero(~np.isnan(risk.risk))
    lists = {"riskiest": part[np.argsort(-risk.risk[part], kind="stable")][:number]}
    for column, values in columns.items():
        lists[f"largest {column}"] = part[np.argsort(-values[part], kind="stable")][:number]
    ends = {column: range_ends(values[part]) for column, values in columns.items()}
    several = len(columns) > 1
    rows = []
    for title, records in lists.items():
        for rank, record in enumerate(records, 1):
            told = [
                (f"{column} " if several else "") + value_range(values[[record]], ends[column])
                for column, values in columns.items()
            ]
            rows += [(title, rank, "; ".join(told) or "-", name, float(of[record])) for name, of in schemes.items()]
    return pd.DataFrame(rows, columns=["list", "rank", "range", "scheme", "risk"])


def _numeric(risk: ConfidentialRisk, table: Table) -> dict[str, Floats]:
    names = [name for name in risk.schema.having("sensitive") if risk.schema[name].kind != "categorical"]
    return {name: column_numbers(table, name) for name in names}


def _as_codes(codes: NDArray) -> NDArray[np.int64]:
    return codes.astype(np.int64)
