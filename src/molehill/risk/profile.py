"""Summaries of risk for reports: distribution, thresholds and riskiest patterns. Values appear as ranges only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, Integers
from molehill.errors import InputError
from molehill.risk.identification import ConfidentialRisk
from molehill.tables.intervals import Figure, mean_over_tables, resample
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table

THRESHOLDS = (0.5, 0.8, 0.95)
BINS = 20
# Quantiles of the confidential risk that are reported.
SHARES = {
    "minimum": 0.0,
    "25% quantile": 0.25,
    "median": 0.5,
    "75% quantile": 0.75,
    "99% quantile": 0.99,
    "maximum": 1.0,
}
# Minimum number of datasets to estimate the distribution of expected risk; its grid, and the EM iterations.
LEAST_TABLES = 3
_CHANCES, _ROUNDS = np.linspace(0.005, 0.995, 100), 30


@dataclass(frozen=True, eq=False)
class RiskProfile:
    """Summary of the risk of a dataset that shows no record.

    Attributes
    ----------
    distribution
        Mean, minimum, quartiles, 99% quantile, maximum.
    above
        Number and share of the records above each threshold.
    histogram
        Bounds of every bin of risk, number and share of its records.
    patterns
        The patterns with the highest mean risk: key variables, number of records, mean and highest risk, and for every
        numeric sensitive variable the range of values of the riskiest tenth.
    policies
        Special cases that occurred, and their number of records.
    """

    distribution: pd.DataFrame
    above: pd.DataFrame
    histogram: pd.DataFrame
    patterns: pd.DataFrame
    policies: pd.DataFrame


def profile_risk(risk: ConfidentialRisk, data: Any, *, patterns: int = 10) -> RiskProfile:
    """Summarize the risk of the confidential data.

    Parameters
    ----------
    risk
        The result of `confidential_risk`.
    data
        The data from which it was computed.
    patterns
        Number of the riskiest patterns to list.
    """
    table = as_table(data)
    if len(table.frame) != len(risk.risk):
        raise InputError(
            "data", "it has another number of records than the risk", "Give the data from which it was computed"
        )
    values = risk.risk[~np.isnan(risk.risk)]
    columns = numeric_columns(risk, table)
    ends = {name: range_ends(column[~np.isnan(risk.risk)]) for name, column in columns.items()}
    riskiest = tell_patterns(rank_patterns(risk, columns, patterns), ends)
    figures = (float(values.mean()), np.quantile(values, list(SHARES.values())), count_above(values))
    return lay_out(*figures, count_bins(values), riskiest, risk.policies)


def lay_out(
    mean: float,
    quantiles: Sequence[float] | Floats,
    above: Sequence[int],
    histogram: pd.DataFrame,
    patterns: pd.DataFrame,
    policies: Mapping[str, int],
) -> RiskProfile:
    """Build a profile from its figures; the quantiles are those of `SHARES`."""
    distribution = pd.DataFrame({"measure": ("mean", *SHARES), "value": [mean, *quantiles]})
    shares = np.array(above) / histogram["records"].sum()
    over = pd.DataFrame({"threshold": THRESHOLDS, "records": list(above), "share": shares})
    touched = {name: number for name, number in policies.items() if number}
    cases = pd.DataFrame({"policy": list(touched), "records": list(touched.values())})
    return RiskProfile(distribution, over, histogram, patterns, cases)


def count_above(risk: Floats) -> list[int]:
    """Count the records above each threshold."""
    return [int((risk > threshold).sum()) for threshold in THRESHOLDS]


def count_bins(risk: Floats, bins: int = BINS) -> pd.DataFrame:
    """Count records in bins of risk of the same width; the last one includes 1."""
    return tell_bins(np.histogram(risk, bins=bins, range=(0.0, 1.0))[0], len(risk))


def tell_bins(counts: Integers, records: int) -> pd.DataFrame:
    """Histogram frame from the counts in bins of risk of equal width."""
    edges = np.histogram_bin_edges(np.empty(0), bins=len(counts), range=(0.0, 1.0))
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "records": counts, "share": counts / records})


@dataclass(frozen=True, eq=False)
class RankedPatterns:
    """The riskiest patterns: labels of the key variables, and `records`, `mean`, `highest` and `first` of each.

    `first` is the row of the first record; `spans` has, by variable, the smallest and the largest value of the riskiest
    tenth, NaN if there is none.
    """

    known: pd.DataFrame
    figures: pd.DataFrame
    spans: Mapping[str, Floats]

    def best(self, number: int) -> "RankedPatterns":
        """The first `number`, ranked by mean risk, then size, then first row."""
        of = self.figures
        ranked = np.lexsort((of["first"], -of["records"], -of["mean"]))[:number]
        frames = [frame.iloc[ranked].reset_index(drop=True) for frame in (self.known, self.figures)]
        return RankedPatterns(frames[0], frames[1], {name: spans[ranked] for name, spans in self.spans.items()})


def rank_patterns(
    risk: ConfidentialRisk, columns: Mapping[str, Floats], number: int, rows: Integers | None = None
) -> RankedPatterns:
    """Find the riskiest patterns; `rows` are the row numbers of the records if they are a chunk of a larger dataset."""
    part = np.flatnonzero(~np.isnan(risk.risk))
    codes, values = risk.patterns.codes[part], risk.risk[part]
    sizes = np.bincount(codes, minlength=risk.patterns.number)
    means = np.bincount(codes, values, minlength=len(sizes)) / np.maximum(sizes, 1)

    first = np.full(len(sizes), len(risk.risk))
    first[codes[::-1]] = part[::-1]
    ranked = np.lexsort((first, -sizes, -means))
    chosen = ranked[sizes[ranked] > 0][:number]
    members = [part[codes == pattern] for pattern in chosen]
    tenth = [m[np.argsort(-risk.risk[m], kind="stable")][: max(len(m) // 10, 2)] for m in members]
    figures = {
        "records": sizes[chosen],
        "mean": means[chosen],
        "highest": [risk.risk[m].max() for m in members],
        "first": (first if rows is None else np.append(rows, -1)[first])[chosen],
    }
    spans = {name: np.array([_span(column[m]) for m in tenth]).reshape(-1, 2) for name, column in columns.items()}
    known = risk.patterns.labels().iloc[chosen].reset_index(drop=True)
    return RankedPatterns(known, pd.DataFrame(figures), spans)


def _span(values: Floats) -> tuple[float, float]:
    there = values[~np.isnan(values)]
    return (float(there.min()), float(there.max())) if len(there) else (np.nan, np.nan)


def tell_patterns(ranked: RankedPatterns, ends: Mapping[str, Floats]) -> pd.DataFrame:
    """Frame of the riskiest patterns, with values as ranges between round numbers (`range_ends`)."""
    measures: dict[str, Any] = {
        "records": ranked.figures["records"],
        "mean risk": ranked.figures["mean"],
        "highest risk": ranked.figures["highest"],
    }
    for name, spans in ranked.spans.items():
        measures[f"{name} of the riskiest tenth"] = [value_range(span, ends[name]) for span in spans]
    # Key variables may have any name, so the measures get a heading of their own.
    return pd.concat({"known": ranked.known, "measure": pd.DataFrame(measures)}, axis=1)


def range_ends(values: Floats) -> Floats:
    """Round numbers (1, 2 and 5 times powers of ten, and zero) as bounds of ranges.

    The smallest is about a fiftieth of the median absolute value, so that small values share one range.
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return ends_for(float(np.median(sizes)), float(sizes.max())) if len(sizes) else ends_for(np.nan, np.nan)


def ends_for(typical: float, largest: float) -> Floats:
    """As `range_ends`, from the median and the maximum of the absolute values (NaN if all are zero)."""
    if np.isnan(typical):
        return np.array([-1.0, 0.0, 1.0])
    least = int(np.floor(np.log10(typical))) - 1
    most = int(np.floor(np.log10(largest))) + 1
    steps = np.array([step * 10.0**power for power in range(min(least, most), most + 1) for step in (1, 2, 5)])
    return np.concatenate([-steps[::-1], [0.0], steps])


def value_range(values: Floats, ends: Sequence[float] | Floats) -> str:
    """Range of round numbers that contains the values, never a value itself.

    The upper end is strictly above the largest value, so that a single round value also becomes a range.

    Examples
    --------
    >>> value_range(np.array([20000.0]), [0, 10000, 20000, 50000])
    '20,000 to 50,000'
    >>> value_range(np.array([np.nan]), [0, 10000])
    'none'
    """
    if np.isnan(values).all():
        return "none"
    ends = np.asarray(ends, dtype=np.float64)
    low = ends[np.searchsorted(ends, np.nanmin(values), side="right") - 1]
    high = ends[np.searchsorted(ends, np.nanmax(values), side="right")]
    return f"{low:,.12g} to {high:,.12g}"


# Quantiles of the risk of a release that are reported.
QUANTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75, "q99": 0.99, "largest": 1.0}
ABOVE = {f"above_{round(100 * threshold)}": threshold for threshold in THRESHOLDS}


@dataclass(frozen=True, eq=False)
class Groups:
    """A grouping of the records: "pattern" or "size", the variable, names of the groups, code of every record."""

    by: str
    column: str
    names: Sequence[str]
    codes: Integers


def profile_release(by_dataset: Floats) -> dict[str, Figure]:
    """Summarize the record risks of a release, each figure with its interval over the datasets.

    Parameters
    ----------
    by_dataset
        (datasets, records): risk in every dataset, or mean risk in blocks of datasets; NaN for a record left out.

    Returns
    -------
    dict
        "mean", the names of `QUANTILES`, and those of `ABOVE` (numbers of records above a threshold).

    Examples
    --------
    >>> profile_release(np.array([[0.0, 0.5, 1.0]]))["median"].value
    0.5
    """
    risk = by_dataset[:, ~np.isnan(by_dataset).any(axis=0)]
    shares = list(QUANTILES.values())

    def measure(records: Floats) -> Floats:
        return np.concatenate([np.quantile(records, shares), [(records > threshold).sum() for threshold in THRESHOLDS]])

    most = [1.0] * len(shares) + [float(risk.shape[1])] * len(THRESHOLDS)
    found = resample(measure, risk, least=0.0, most=most)
    mean = mean_over_tables(risk.mean(axis=1), least=0.0, most=1.0)
    return {"mean": mean} | dict(zip((*QUANTILES, *ABOVE), found, strict=True))


def pattern_groups(risk: ConfidentialRisk) -> Groups:
    """Group the records by their pattern."""
    labels = risk.patterns.labels()
    names = [", ".join(f"{name} {value}" for name, value in row.items()) for row in labels.to_dict("records")]
    column = ", ".join(risk.schema.having("sensitive"))
    return Groups("pattern", column, names if len(labels.columns) else ["all records"], risk.patterns.codes)


def size_groups(risk: ConfidentialRisk, table: Table) -> list[Groups]:
    """Group the records by the size of each numeric sensitive variable, in ranges between round numbers."""
    groups = []
    for column, values in numeric_columns(risk, table).items():
        present = ~np.isnan(values)
        ends = range_ends(values[present])
        places = np.searchsorted(ends, values, side="right")
        occupied, codes = np.unique(places[present], return_inverse=True)
        names = [value_range(ends[[place - 1]], ends) for place in occupied]
        every = np.full(len(values), -1)
        every[present] = codes
        groups.append(Groups("size", column, names, every))
    return groups


def describe_groups(groups: Groups, measures: Mapping[str, Floats]) -> pd.DataFrame:
    """Average measures within groups, with intervals over the datasets.

    Parameters
    ----------
    groups
        From `pattern_groups` or `size_groups`.
    measures
        By name, (datasets, records); NaN for a record left out.

    Returns
    -------
    pandas.DataFrame
        column, by, group, records, measure, value, low, high.
    """
    rows = []
    for measure, by_dataset in measures.items():
        part = (groups.codes >= 0) & ~np.isnan(by_dataset).any(axis=0)
        codes = groups.codes[part]
        sizes = np.bincount(codes, minlength=len(groups.names))
        sums = np.stack([np.bincount(codes, row[part], minlength=len(sizes)) for row in by_dataset])
        for code in np.flatnonzero(sizes).tolist():
            figure = mean_over_tables(sums[:, code] / sizes[code], least=0.0, most=1.0)
            rows.append((groups.column, groups.by, groups.names[code], int(sizes[code]), measure, *figure))
    return pd.DataFrame(rows, columns=["column", "by", "group", "records", "measure", "value", "low", "high"])


def top_records(
    risk: ConfidentialRisk,
    table: Table,
    schemes: Mapping[str, Floats],
    *,
    released: Floats | None = None,
    number: int = 10,
) -> pd.DataFrame:
    """List the records with the highest confidential risk and with the largest values, as in the paper.

    Parameters
    ----------
    risk
        Confidential risk.
    table
        The confidential data.
    schemes
        Risk of every record under each method.
    released
        Risk of every record in a release; its riskiest records are then listed as well.
    number
        Number of records per list.

    Returns
    -------
    pandas.DataFrame
        list ("riskiest", "released", or "largest" for each numeric sensitive variable), variable (of the largest),
        rank, range (of the sensitive values, never a value), scheme, risk.
    """
    columns = numeric_columns(risk, table)
    part = np.flatnonzero(~np.isnan(risk.risk))
    lists = {("riskiest", ""): part[np.argsort(-risk.risk[part], kind="stable")][:number]}
    if released is not None:
        lists["released", ""] = part[np.argsort(-released[part], kind="stable")][:number]
    for column, values in columns.items():
        there = part[~np.isnan(values[part])]
        lists["largest", column] = there[np.argsort(-values[there], kind="stable")][:number]
    ends = {column: range_ends(values[part]) for column, values in columns.items()}
    several = len(columns) > 1
    rows = []
    for which, records in lists.items():
        for rank, record in enumerate(records, 1):
            ranges = [
                (f"{column} " if several else "") + value_range(values[[record]], ends[column])
                for column, values in columns.items()
            ]
            rows += [(*which, rank, "; ".join(ranges) or "-", name, float(of[record])) for name, of in schemes.items()]
    return pd.DataFrame(rows, columns=["list", "column", "rank", "range", "scheme", "risk"])


def numeric_columns(risk: ConfidentialRisk, table: Table) -> dict[str, Floats]:
    """Values of the numeric sensitive variables, without dates."""
    names = [name for name in risk.schema.having("sensitive") if risk.schema[name].kind not in ("categorical", "date")]
    return {name: column_numbers(table, name) for name in names}


def estimate_above(by_dataset: Floats, linked: Booleans, confidential: Floats, threshold: float) -> float:
    """Estimate how many records have an expected risk above a threshold, from a few released datasets.

    Counting means over few datasets overestimates this number. A record whose own value is close with probability q,
    and which then has risk c, has expected risk q c. The distribution of q over the records with c above the threshold
    is estimated from their numbers of close datasets, which are binomial (nonparametric mixture, a few EM iterations
    from a uniform start). The result is the sum of the posterior probabilities that q c exceeds the threshold.

    Parameters
    ----------
    by_dataset, linked
        (datasets, records): as in `molehill.risk.identification.ReleaseRisk`.
    confidential
        Confidential risk of every record, used as c if its value is close in no dataset.
    threshold
        The risk above which records are counted.

    Returns
    -------
    float
        NaN for fewer than `LEAST_TABLES` datasets.

    Examples
    --------
    >>> close = np.zeros((20, 1000), dtype=bool)
    >>> close[:, :3] = True
    >>> round(estimate_above(np.where(close, 0.99, 0.0), close, np.full(1000, 0.99), 0.8), 2)
    3.0
    """
    tables = len(by_dataset)
    if tables < LEAST_TABLES:
        return np.nan
    number = linked.sum(axis=0)
    total = np.nansum(by_dataset, axis=0)
    reached = np.divide(total, number, out=np.array(confidential, dtype=np.float64), where=number > 0)
    can = reached > threshold
    seen = np.bincount(number[can], minlength=tables + 1).astype(np.float64)
    if not can.any():
        return 0.0
    # Imported here because it loads slowly and most commands do not need it.
    from scipy.stats import binom  # noqa: PLC0415

    likelihood = binom.pmf(np.arange(tables + 1)[:, None], tables, _CHANCES)
    shares = np.full(len(_CHANCES), 1 / len(_CHANCES))
    for _ in range(_ROUNDS):
        given = likelihood * shares
        shares = seen @ (given / given.sum(axis=1, keepdims=True)) / seen.sum()
    given = likelihood * shares
    given /= given.sum(axis=1, keepdims=True)
    beyond = np.column_stack([np.cumsum(given[:, ::-1], axis=1)[:, ::-1], np.zeros(tables + 1)])
    return float(beyond[number[can], np.searchsorted(_CHANCES, threshold / reached[can])].sum())
