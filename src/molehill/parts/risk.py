"""Identification risk of tables larger than memory, record by record the same as of tables in memory.

A pattern lies whole in one bucket, so that a bucket is measured like a table. What depends on more than a pattern is
decided before, of the whole dataset; sums are taken in the order of its records.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_order
from molehill.parts.buckets import (
    Sizes,
    check_buckets,
    choose_sizes,
    load_bucket,
    shuffle,
    temporary_folder,
)
from molehill.parts.counts import count_values, median, quantiles, save_whole, sum_in_order
from molehill.parts.dataset import Dataset, open_dataset, read_batches, to_frame, write_dataset
from molehill.parts.deciding import check_columns, check_numeric, check_values, decide, find_facts
from molehill.parts.utility import UtilityInParts, compare_columns
from molehill.risk import balls
from molehill.risk.identification import (
    MatchRates,
    ReleaseRisk,
    confidential_risk,
    count_small,
    match_rates,
    pick_chances,
    refuse_alone,
    refuse_small,
    release_risk,
    risk_floor,
    risk_weights,
)
from molehill.risk.intruder import Intruder, Reading, View, read_part
from molehill.risk.profile import (
    ABOVE,
    BINS,
    QUANTILES,
    SHARES,
    THRESHOLDS,
    RankedPatterns,
    RiskProfile,
    count_above,
    ends_for,
    lay_out,
    numeric_columns,
    rank_patterns,
    tell_bins,
    tell_patterns,
)
from molehill.runtime import parallel_map
from molehill.tables.intervals import Figure, figure_of_runs, mean_over_tables, resampled_counts
from molehill.tables.patterns import coded_otherwise, learn_patterns, occurs
from molehill.tables.schema import Schema, column_numbers
from molehill.tables.table import Table

# What of a record is put back in the order of the dataset, by the row of the file that a bucket leaves.
_PLACE, _RISK, _SIZE, _WITHIN = range(4)
_FLOOR = 1
# What is written of every record.
COLUMNS = ("position", "pattern_size", "within", "risk", "weight")
_RESULT = "result.npy"


@dataclass(frozen=True, eq=False, repr=False)
class RiskInParts:
    """The risk of a confidential dataset, without its records.

    Attributes
    ----------
    records, patterns, order
        How many records and patterns there are, and the order of the risk.
    mean
        Of the records that take part.
    profile
        What may be told of it: see `molehill.risk.profile.profile_risk`.
    policies, schema
        As in `molehill.risk.identification.ConfidentialRisk`.
    buckets
        How many records were measured at once, bucket by bucket.
    """

    records: int
    patterns: int
    order: int
    mean: float
    profile: RiskProfile
    policies: Mapping[str, int]
    schema: Schema
    buckets: tuple[int, ...]

    def __repr__(self) -> str:
        return f"RiskInParts(order={self.order}, {self.records:,} records, mean risk {self.mean:.4f})"


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseInParts:
    """Risk and utility of released datasets, without their records.

    Attributes
    ----------
    records, tables
        How many records there are, and how many released datasets.
    by_dataset
        Mean risk in every one.
    profile
        As `molehill.risk.profile.profile_release` gives it; the quantiles but the largest without their interval.
    rates
        As `molehill.risk.identification.match_rates` gives them.
    floor
        The mean of `molehill.risk.identification.risk_floor`.
    utility
        How far the sensitive columns lie apart.
    schema
        Role and kind of the columns.
    buckets
        How many confidential records were measured at once, bucket by bucket.
    """

    records: int
    tables: int
    by_dataset: Floats
    profile: Mapping[str, Figure]
    rates: MatchRates
    floor: float
    utility: UtilityInParts
    schema: Schema
    buckets: tuple[int, ...]

    def match_figures(self) -> dict[str, Figure]:
        """Give the match rates as means over the tables, each with its interval."""
        found = {}
        for name in ("expected", "unique", "true", "false"):
            values = np.asarray(getattr(self.rates, name), dtype=np.float64)
            most = 1.0 if name in {"true", "false"} else float(self.records)
            found[name] = mean_over_tables(values, least=0.0, most=most)
        return found

    def __repr__(self) -> str:
        mean = self.profile["mean"].value
        return f"ReleaseInParts({self.tables} tables, {self.records:,} records, mean risk {mean:.4f})"


def confidential_risk_in_parts(
    data: Any,
    intruder: Intruder,
    *,
    order: int = 1,
    out: str | Path | None = None,
    scale: float = 1.0,
    shift: float = 0.0,
    patterns: int = 10,
    memory: float | None = None,
    buckets: int | None = None,
    folder: str | Path | None = None,
) -> RiskInParts:
    """Measure how exposed every record of a confidential dataset is, as `confidential_risk` does of a table.

    Parameters
    ----------
    data
        A folder of Parquet files, a list of them, or what `open_dataset` gave.
    intruder, order
        As in `confidential_risk`.
    out
        Folder for a private dataset with position, pattern_size, within, risk and weight of every record.
    scale, shift
        Of the weights, as in `risk_weights`.
    patterns
        How many of the riskiest patterns to tell.
    memory
        Bytes to hold at once; by default half of what is free.
    buckets
        Into how many to shuffle the records; by default as few as the memory allows.
    folder
        Where to keep temporary files, which are confidential; by default beside `out`, else where the system does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     write_dataset([pa.table({"town": ["A", "B"], "pay": [100.0, 900.0]})] * 2, Path(where) / "people")
    ...     confidential_risk_in_parts(Path(where) / "people", Intruder("town", "pay", radius=0.1))
    RiskInParts(order=1, 4 records, mean risk 0.0000)
    """
    order, dataset = check_order(order), open_dataset(data)
    columns = check_columns(dataset, intruder)
    risk_weights([], scale=scale, shift=shift)
    sizes = choose_sizes(dataset.records, len(columns), memory=memory, buckets=buckets)
    with temporary_folder(folder, out) as temporary:
        told = _prepare(dataset, intruder, columns, sizes)
        counts = shuffle(dataset, temporary, "own", columns, intruder.known, intruder.breaks, sizes)
        if buckets is None:
            check_buckets(counts, sizes)
        folders = [temporary / f"{bucket:04}" for bucket in np.flatnonzero(counts).tolist()]
        calls = [(str(one),) for one in folders]
        told = _with_scan(told, order, calls)
        found: list[_Bucket] = list(parallel_map(_measure_bucket, calls, shared=(told, order, patterns)))
        if intruder.small_patterns == "error":
            small = np.sum([one.small for one in found], axis=0).tolist()
            refuse_small(small[0], small[1], order)
        result = _summarise(dataset, told, order, patterns, found, folders, sizes, counts)
        if out is not None:
            pieces = merge(folders, dataset.records, [_RISK, _SIZE, _WITHIN], sizes.batch)
            write_dataset((_record_level(*piece, scale, shift) for piece in pieces), out, private=True)
    return result


@dataclass(frozen=True)
class _Told:
    """What every bucket is told: whose eyes, what was decided, and which columns have a missing value somewhere."""

    intruder: Intruder
    schema: Schema
    columns: tuple[str, ...]
    gaps: frozenset[str]
    types: pa.Schema
    scan: tuple[int, ...] | None = None

    def load(self, folder: str, called: str = "own") -> tuple[Table, NDArray[np.int64]]:
        """Read the records of a bucket."""
        return load_bucket(Path(folder) / f"{called}.arrow", self.columns, self.gaps, self.types)

    def look(self, table: Table) -> View:
        """See them as the intruder does."""
        return replace(self.intruder.view(table, schema=self.schema), scan=self.scan)


@dataclass(frozen=True, eq=False)
class _Bucket:
    """What a bucket says of its confidential records."""

    patterns: int
    part: int
    policies: Mapping[str, int]
    small: tuple[int, int]
    above: Sequence[int]
    bins: NDArray[np.int64]
    ranked: RankedPatterns
    largest: Mapping[str, float]


def _prepare(dataset: Dataset, intruder: Intruder, columns: Sequence[str], sizes: Sizes) -> _Told:
    """Decide what concerns the whole dataset, and refuse what a table in memory is refused for."""
    facts = find_facts(dataset, columns, intruder.sensitive, sizes)
    schema = decide(dataset, intruder, facts, sizes)
    numeric = _numeric(intruder, schema)
    check_values(dataset, facts, intruder, numeric)
    # Whether a pattern is too small is counted over all buckets: a bucket refuses none.
    eyes = replace(intruder, small_patterns="maximum_risk") if intruder.small_patterns == "error" else intruder
    return _Told(eyes, schema, tuple(columns), facts.gaps, dataset.schema)


def _numeric(intruder: Intruder, schema: Schema) -> list[str]:
    return [name for name in intruder.sensitive if schema[name].kind != "categorical"]


def _with_scan(told: _Told, order: int, calls: Sequence[tuple[str]]) -> _Told:
    """Decide in which order three or more columns are scanned: sums depend on it, in their last digit."""
    if order == 1 or len(_numeric(told.intruder, told.schema)) < 3:
        return told
    if told.intruder.knowledge_probability:
        problem = "with three or more numeric sensitive columns it cannot be measured in parts, but for order 1"
        raise InputError(
            "knowledge_probability", problem, "Leave it out, or choose order 1, or measure a table in memory"
        )
    held = np.sum(list(parallel_map(_measure_widths, calls, shared=(told,))), axis=0)
    return replace(told, scan=tuple(balls.narrowest_first(held)))


def _measure_widths(told: _Told, folder: str) -> NDArray[np.int64]:
    view = told.look(told.load(folder)[0])
    grouped = balls.group(view.cells, view.by_cell.number)
    return balls.widths(view.values, grouped, balls.bounds(view.values, view.radius, view.min_radius))


def _measure_bucket(told: _Told, order: int, patterns: int, folder: str) -> _Bucket:
    """Measure the records of a bucket, and leave the risk of each beside them."""
    table, places = told.load(folder)
    view = told.look(table)
    found = confidential_risk(view, order=order)
    rows = (places, found.risk, found.pattern_size, found.within)
    save_whole(Path(folder) / _RESULT, np.stack([np.asarray(row, dtype=np.float64) for row in rows]))
    values = found.risk[view.part]
    count_values(values, Path(folder) / "risk.npy")
    columns = numeric_columns(found, table)
    largest = {}
    for number, (name, column) in enumerate(columns.items()):
        of_part = np.abs(column[view.part])
        of_part = of_part[np.isfinite(of_part) & (of_part != 0)]
        count_values(of_part, Path(folder) / f"size-{number}.npy")
        largest[name] = float(of_part.max()) if len(of_part) else 0.0
    return _Bucket(
        view.patterns.number,
        len(values),
        found.policies,
        count_small(view.sizes, order, told.intruder),
        count_above(values),
        np.histogram(values, bins=BINS, range=(0.0, 1.0))[0],
        rank_patterns(found, columns, patterns, places),
        largest,
    )


def _summarise(
    dataset: Dataset,
    told: _Told,
    order: int,
    patterns: int,
    found: Sequence[_Bucket],
    folders: Sequence[Path],
    sizes: Sizes,
    counts: NDArray[np.int64],
) -> RiskInParts:
    part = sum(one.part for one in found)
    risks = (risk[~np.isnan(risk)] for _, (risk,) in merge(folders, dataset.records, [_RISK], sizes.batch))
    mean = sum_in_order(risks, part) / part
    ends = {}
    for number, name in enumerate(found[0].largest):
        typical = median([one / f"size-{number}.npy" for one in folders])
        ends[name] = ends_for(typical, max(one.largest[name] for one in found))
    policies = {name: sum(one.policies[name] for one in found) for name in found[0].policies}
    profile = lay_out(
        mean,
        quantiles([one / "risk.npy" for one in folders], list(SHARES.values())),
        np.sum([one.above for one in found], axis=0).tolist(),
        tell_bins(np.sum([one.bins for one in found], axis=0), part),
        tell_patterns(_join_ranked([one.ranked for one in found]).best(patterns), ends),
        policies,
    )
    number = sum(one.patterns for one in found)
    measured = tuple(counts[counts > 0].tolist())
    return RiskInParts(dataset.records, number, order, mean, profile, policies, told.schema, measured)


def _join_ranked(ranked: Sequence[RankedPatterns]) -> RankedPatterns:
    spans = {name: np.concatenate([one.spans[name] for one in ranked]) for name in ranked[0].spans}
    known, figures = (
        pd.concat([getattr(one, name) for one in ranked], ignore_index=True) for name in ("known", "figures")
    )
    return RankedPatterns(known, figures, spans)


def merge(
    folders: Sequence[Path], records: int, rows: Sequence[int], batch: int
) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Put what the buckets found back in the order of the dataset, at most so many records at once.

    Gives the places of some records, and the chosen rows of what was found of them, (rows, records).
    """
    starts = [0] * len(folders)
    for first in range(0, records, batch):
        last = min(first + batch, records)
        found = np.empty((len(rows), last - first))
        for number, folder in enumerate(folders):
            # Opened anew: what was read of a file stays in memory as long as it is open.
            result = np.load(folder / _RESULT, mmap_mode="r")
            end = int(np.searchsorted(result[_PLACE], last))
            if end > starts[number]:
                at = np.asarray(result[_PLACE, starts[number] : end]).astype(np.int64) - first
                for target, row in zip(found, rows, strict=True):
                    target[at] = result[row, starts[number] : end]
            starts[number] = end
        yield np.arange(first, last), found


def _record_level(places: NDArray[np.int64], found: Floats, scale: float, shift: float) -> pa.Table:
    risk, size, within = found
    part = ~np.isnan(risk)
    weight = np.zeros(len(risk))
    weight[part] = risk_weights(risk[part], scale=scale, shift=shift)
    whole = (size.astype(np.int64), within.astype(np.int64))
    return pa.table([places, *whole, risk, weight], names=list(COLUMNS))


def release_risk_in_parts(
    data: Any,
    released: Any,
    intruder: Intruder,
    *,
    out: str | Path | None = None,
    memory: float | None = None,
    buckets: int | None = None,
    folder: str | Path | None = None,
) -> ReleaseInParts:
    """Measure what released datasets give away and keep, as `release_risk` and others do of tables in memory.

    Records are linked by their place in the datasets.

    Parameters
    ----------
    data, intruder, memory, buckets, folder
        As in `confidential_risk_in_parts`.
    released
        A list of released datasets, each a folder or what `open_dataset` gave; or one of them.
    out
        Folder for a private dataset with position, realised risk and floor of every confidential record.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     for name, pay in (("own", [100.0, 110.0, 900.0]), ("other", [105.0, 300.0, 200.0])):
    ...         write_dataset([pa.table({"town": ["A"] * 3, "pay": pay})], Path(where) / name)
    ...     eyes = Intruder("town", "pay", radius=0.1)
    ...     release_risk_in_parts(Path(where) / "own", Path(where) / "other", eyes).rates.mean()
    {'expected': 1.0, 'true': 0.3333333333333333, 'false': 0.5, 'unique': 2.0}
    """
    dataset, others = open_dataset(data), _open_released(released)
    columns = check_columns(dataset, intruder)
    for other in others:
        check_columns(other, intruder)
        _check_records(dataset, other)
    sizes = choose_sizes(dataset.records, len(columns), tables=1 + len(others), memory=memory, buckets=buckets)
    with temporary_folder(folder, out) as temporary:
        told = _prepare(dataset, intruder, columns, sizes)
        all_told = (told, *(_prepare_released(other, told, sizes) for other in others))
        counts = np.stack(
            [
                shuffle(one, temporary, _called(number), columns, intruder.known, intruder.breaks, sizes)
                for number, one in enumerate((dataset, *others))
            ]
        )
        if buckets is None:
            check_buckets(counts.max(axis=0), sizes)
        filled = np.flatnonzero(counts.any(axis=0)).tolist()
        folders = [temporary / f"{bucket:04}" for bucket in filled]
        found: list[_Released] = list(
            parallel_map(_measure_release, [(str(one),) for one in folders], shared=(all_told,))
        )
        _check_coding(dataset, others, told, found, sizes)
        if intruder.small_patterns == "error":
            for number, alone in enumerate(np.sum([one.alone for one in found], axis=0).tolist(), 1):
                refuse_alone(number, alone)
            # The risk of values drawn from the pattern is of order 1.
            small = np.sum([one.small for one in found], axis=0).tolist()
            refuse_small(small[0], small[1], 1)
        owned = [one for one, own in zip(folders, counts[0][filled], strict=True) if own]
        utility = compare_columns((dataset, *others), told.schema, folders, sizes.batch)
        result = _summarise_release(dataset, told, found, owned, utility, sizes, counts[0])
        if out is not None:
            tables = len(others)
            rows = [_FLOOR, *range(2, 2 + tables)]
            pieces = merge(owned, dataset.records, rows, sizes.batch)
            write_dataset((_realised(places, piece, dataset.records) for places, piece in pieces), out, private=True)
    return result


def _called(number: int) -> str:
    return "own" if number == 0 else f"released-{number}"


def _open_released(released: Any) -> list[Dataset]:
    several = list(released) if isinstance(released, list | tuple) else [released]
    if not several:
        raise InputError("released", "it holds no table", "Give one dataset or a list of datasets")
    return [replace(open_dataset(one, argument="released"), argument="released") for one in several]


def _check_records(dataset: Dataset, other: Dataset) -> None:
    if other.records != dataset.records:
        problem = f"it has {other.records:,} records where the confidential table has {dataset.records:,}"
        raise InputError(
            "released", problem, "In parts records go by position: give the same records in the same order"
        )


def _prepare_released(dataset: Dataset, told: _Told, sizes: Sizes) -> _Told:
    numeric = _numeric(told.intruder, told.schema)
    check_numeric(dataset, [*numeric, *told.intruder.breaks])
    facts = find_facts(dataset, told.columns, told.intruder.sensitive, sizes)
    check_values(dataset, facts, told.intruder, numeric, "released")
    return replace(told, gaps=facts.gaps, types=dataset.schema)


@dataclass(frozen=True, eq=False)
class _Released:
    """What a bucket says of released tables: of each how many unique matches, right ones, and alone; and more."""

    part: int
    small: tuple[int, int]
    unique: NDArray[np.int64]
    right: NDArray[np.int64]
    alone: NDArray[np.int64]
    above: Sequence[int]
    largest: float
    runs: Floats
    occurs: tuple[Mapping[str, bool], ...]


def _measure_release(all_told: tuple[_Told, ...], folder: str) -> _Released:
    """Measure the records of a bucket in released tables, and leave what concerns each record beside them."""
    told, *others = all_told
    table, places = told.load(folder)
    loaded = [one.load(folder, _called(number)) for number, one in enumerate(others, 1)]
    tables = len(others)
    for number, one in enumerate((table, *(other for other, _ in loaded))):
        _count_columns(told, one, Path(folder), _called(number))
    nothing = np.zeros(tables, dtype=np.int64)
    if not len(places):
        count_values(np.empty(0), Path(folder) / "realised.npy")
        return _Released(0, (0, 0), nothing, nothing, nothing, [0] * len(THRESHOLDS), -np.inf, np.empty((0, 0)), ())
    view = told.look(table)
    readings = [read_part(view, other, _rows(places, theirs)) for other, theirs in loaded]
    risk = release_risk(view, readings)
    chances = np.nan_to_num(pick_chances(view, readings))
    rows = [places, risk_floor(view), *risk.by_dataset, *chances]
    save_whole(Path(folder) / _RESULT, np.stack([np.asarray(row, dtype=np.float64) for row in rows]))
    # As `profile_release` has them, the tables of a record side by side.
    by_dataset = np.asfortranarray(risk.by_dataset[:, view.part])
    realised = by_dataset.mean(axis=0)
    count_values(realised, Path(folder) / "realised.npy")
    part = int(view.part.sum())
    rates = match_rates(view, readings) if part else None
    return _Released(
        part,
        count_small(view.sizes, 1, told.intruder),
        nothing if rates is None else rates.unique,
        nothing if rates is None else np.rint(rates.true * part).astype(np.int64),
        _count_alone(risk, readings),
        count_above(realised),
        float(realised.max()) if part else -np.inf,
        _resample(by_dataset),
        tuple(occurs(view.by_cell, other) for other, _ in loaded),
    )


def _rows(places: NDArray[np.int64], theirs: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where every confidential record's own released one is, -1 where it is in another bucket."""
    if not len(theirs):
        return np.full(len(places), -1, dtype=np.intp)
    rows = np.minimum(np.searchsorted(theirs, places), len(theirs) - 1)
    return np.where(theirs[rows] == places, rows, -1)


def _count_alone(risk: ReleaseRisk, readings: Sequence[Reading]) -> NDArray[np.int64]:
    return np.array(
        [int((linked & (one.size == 1)).sum()) for linked, one in zip(risk.is_close, readings, strict=True)],
        dtype=np.int64,
    )


def _resample(by_dataset: Floats) -> Floats:
    """The largest risk and the numbers above thresholds, of every resampled run of tables: (runs, figures)."""
    tables, records = by_dataset.shape
    if tables < 2 or not records:
        return np.empty((0, 0))
    runs = (row / tables @ by_dataset for row in resampled_counts(tables))
    return np.array([[run.max(), *count_above(run)] for run in runs])


def _count_columns(told: _Told, table: Table, folder: Path, called: str) -> None:
    """Leave the values of numeric columns, counted, for how far the tables lie apart."""
    for number, name in enumerate(_numeric(told.intruder, told.schema)):
        values = column_numbers(table, name) if len(table.frame) else np.empty(0)
        count_values(values[~np.isnan(values)], folder / f"{called}-{number}.npy")


def _check_coding(
    dataset: Dataset, others: Sequence[Dataset], told: _Told, found: Sequence[_Released], sizes: Sizes
) -> None:
    """Refuse a released column that has no value in common with the confidential one."""
    exact = [name for name in told.intruder.sensitive if told.schema[name].kind == "categorical"]
    for number, other in enumerate(others):
        for name in (*told.intruder.known, *exact):
            # Buckets go by patterns: a value that no bucket has in both may lie in different ones.
            if any(one.occurs and one.occurs[number][name] for one in found):
                continue
            if not _share_a_value(dataset, other, name, told.intruder, sizes):
                raise coded_otherwise(name, "released")


def _share_a_value(dataset: Dataset, other: Dataset, name: str, intruder: Intruder, sizes: Sizes) -> bool:
    pieces = [
        to_frame(batch, frozenset()).drop_duplicates() for batch in read_batches(dataset, [name], records=sizes.batch)
    ]
    own = Table(pd.concat(pieces, ignore_index=True).drop_duplicates(ignore_index=True))
    breaks = {name: intruder.breaks[name]} if name in intruder.breaks else None
    patterns = learn_patterns(own, [name], breaks)
    batches = read_batches(other, [name], records=sizes.batch)
    return any(occurs(patterns, Table(to_frame(batch, frozenset())))[name] for batch in batches)


def _summarise_release(
    dataset: Dataset,
    told: _Told,
    found: Sequence[_Released],
    folders: Sequence[Path],
    utility: UtilityInParts,
    sizes: Sizes,
    counts: NDArray[np.int64],
) -> ReleaseInParts:
    tables, part = len(found[0].unique), sum(one.part for one in found)
    by_dataset = _mean_by_table(folders, dataset.records, tables, part, sizes)
    expected = [
        sum_in_order(
            (row for _, (row,) in merge(folders, dataset.records, [2 + tables + number], sizes.batch)), dataset.records
        )
        for number in range(tables)
    ]
    floors = (np.nan_to_num(row) for _, (row,) in merge(folders, dataset.records, [_FLOOR], sizes.batch))
    floor = sum_in_order(floors, dataset.records) / part
    unique, right = (np.sum([getattr(one, name) for one in found], axis=0) for name in ("unique", "right"))
    rates = MatchRates(
        *map(freeze, (np.array(expected), right / part, (unique - right) / np.maximum(unique, 1), unique))
    )
    profile = _profile(by_dataset, found, folders, part)
    measured = tuple(counts[counts > 0].tolist())
    return ReleaseInParts(
        dataset.records, tables, freeze(by_dataset), profile, rates, floor, utility, told.schema, measured
    )


def _mean_by_table(folders: Sequence[Path], records: int, tables: int, part: int, sizes: Sizes) -> Floats:
    """Mean risk in every table, added as `profile_release` adds it."""
    rows = list(range(2, 2 + tables))
    pieces = (found[:, ~np.isnan(found).any(axis=0)] for _, found in merge(folders, records, rows, sizes.batch))
    if tables == 1:
        return np.array([sum_in_order((piece[0] for piece in pieces), part) / part])
    total = np.zeros((tables, 1))
    for piece in pieces:
        # Of several tables NumPy adds record after record.
        total = np.cumsum(np.concatenate([total, piece], axis=1), axis=1)[:, -1:]
    return total[:, 0] / part


def _profile(by_dataset: Floats, found: Sequence[_Released], folders: Sequence[Path], part: int) -> dict[str, Figure]:
    shares = list(QUANTILES.values())
    told = dict(zip(QUANTILES, quantiles([one / "realised.npy" for one in folders], shares), strict=True))
    profile = {"mean": mean_over_tables(by_dataset, least=0.0, most=1.0)}
    profile |= {name: Figure(value, np.nan, np.nan) for name, value in told.items()}
    above = np.sum([one.above for one in found], axis=0)
    profile |= {name: Figure(float(number), np.nan, np.nan) for name, number in zip(ABOVE, above, strict=True)}
    runs = [one.runs for one in found if len(one.runs)]
    if runs:
        joined = np.column_stack(
            [np.max([one[:, 0] for one in runs], axis=0), np.sum([one[:, 1:] for one in runs], axis=0)]
        )
        most = dict.fromkeys(ABOVE, float(part)) | {"largest": 1.0}
        for values, name in zip(joined.T, ("largest", *ABOVE), strict=True):
            ends = {"least": 0.0, "most": most[name]}
            profile[name] = figure_of_runs(profile[name].value, values, len(by_dataset), **ends)
    return profile


def _realised(places: NDArray[np.int64], piece: Floats, records: int) -> pa.Table:
    floor, by_dataset = piece[0], piece[1:]
    realised = by_dataset.mean(axis=0)
    if records > 1 and by_dataset.shape[1] == 1:
        # Alone in its piece, a record would be added by halves.
        realised = np.cumsum(by_dataset, axis=0)[-1] / len(by_dataset)
    return pa.table({"position": places, "realised": realised, "floor": floor})
