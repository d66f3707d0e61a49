"""Identification risk of files larger than memory: of every record the same as in memory.

The engine sorts the records by a hash of their pattern, so that a pattern lies whole in one chunk, and a chunk is
measured like a table in memory. What depends on more than a pattern is decided before, of all records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from molehill.arrays import Floats, freeze
from molehill.errors import InputError, check_order, check_whole
from molehill.files import written_whole
from molehill.larger_than_memory.engine import Workspace, find_quantiles, open_workspace, sum_exactly
from molehill.larger_than_memory.files import ParquetFiles, open_files, quote, scan, write_files
from molehill.larger_than_memory.kinds import check_columns, check_values, decide
from molehill.larger_than_memory.utility import ColumnComparison, compare_columns
from molehill.risk.identification import (
    MatchRates,
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
from molehill.risk.intruder import Intruder, View, read_part
from molehill.risk.profile import (
    ABOVE,
    BINS,
    QUANTILES,
    SHARES,
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
from molehill.tables.patterns import coded_otherwise
from molehill.tables.schema import Schema
from molehill.tables.table import Table, series_from_arrow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# What is written of every record.
COLUMNS = ("position", "pattern_size", "within", "risk", "weight")
# Bytes for a cell that is read, and for a record that is measured, in each dataset.
_CELL_BYTES, _RECORD_BYTES = 48, 200
# Chunks are made smaller than they may be, because patterns are of different sizes.
_SPARE, _SMALL = 4, 1_000


@dataclass(frozen=True, eq=False, repr=False)
class ConfidentialSummary:
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
    chunks
        How many records were measured at once, chunk by chunk.
    """

    records: int
    patterns: int
    order: int
    mean: float
    profile: RiskProfile
    policies: Mapping[str, int]
    schema: Schema
    chunks: tuple[int, ...]

    def __repr__(self) -> str:
        return f"ConfidentialSummary(order={self.order}, {self.records:,} records, mean risk {self.mean:.4f})"


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseSummary:
    """Risk and utility of released datasets, without their records.

    Attributes
    ----------
    records, datasets
        How many records there are, and how many released datasets.
    by_dataset
        Mean risk in every one.
    profile
        As `molehill.risk.profile.profile_release` gives it; the quantiles but the largest without their interval.
    rates
        As `molehill.risk.identification.match_rates` gives them.
    baseline
        The mean of `molehill.risk.identification.risk_floor`.
    utility
        How far the sensitive columns lie apart.
    schema
        Role and kind of the columns.
    chunks
        How many confidential records were measured at once, chunk by chunk.
    """

    records: int
    datasets: int
    by_dataset: Floats
    profile: Mapping[str, Figure]
    rates: MatchRates
    baseline: float
    utility: ColumnComparison
    schema: Schema
    chunks: tuple[int, ...]

    def __repr__(self) -> str:
        mean = self.profile["mean"].value
        return f"ReleaseSummary({self.datasets} datasets, {self.records:,} records, mean risk {mean:.4f})"


def measure_confidential(
    data: Any,
    intruder: Intruder,
    *,
    order: int = 1,
    out: str | Path | None = None,
    patterns: int = 10,
    memory: float | None = None,
    chunks: int | None = None,
    folder: str | Path | None = None,
) -> ConfidentialSummary:
    """Measure how exposed every record of confidential files is, as `confidential_risk` does of a table in memory.

    Parameters
    ----------
    data
        A folder of Parquet files, a list of them, or what `open_files` gave.
    intruder, order
        As in `confidential_risk`.
    out
        Folder for a private dataset with position, pattern_size, within, risk and weight of every record.
    patterns
        How many of the riskiest patterns to list.
    memory
        Bytes to hold at once; by default half of what is free.
    chunks
        How many to measure one after the other; by default as few as the memory allows.
    folder
        Where to keep temporary files, which are confidential; by default beside `out`, else where the system does.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     write_files([pa.table({"town": ["A", "B"], "pay": [100.0, 900.0]})] * 2, Path(where) / "people")
    ...     measure_confidential(Path(where) / "people", Intruder("town", "pay", radius=0.1))
    ConfidentialSummary(order=1, 4 records, mean risk 0.0000)
    """
    order, files = check_order(order), open_files(data)
    columns = check_columns(files, intruder)
    with open_workspace(memory, folder, out) as work:
        shared, counts = _prepare(work, (files,), intruder, columns, chunks)
        calls = [(chunk,) for chunk in np.flatnonzero(counts).tolist()]
        found = list(parallel_map(_measure_chunk, calls, shared=(shared, order, patterns)))
        if intruder.small_patterns == "error":
            few, records = _add(found, "small").tolist()
            refuse_small(few, records, order)
        with work.engine() as connection:
            profile = _profile(connection, shared, files, found, patterns)
            if out is not None:
                _write(connection, shared, COLUMNS, out)
    mean, policies = float(profile.distribution["value"][0]), _add_policies(found)
    number, measured = int(_add(found, "patterns")), tuple(counts[counts > 0].tolist())
    return ConfidentialSummary(files.records, number, order, mean, profile, policies, shared.schema, measured)


def measure_release(
    data: Any,
    released: Any,
    intruder: Intruder,
    *,
    out: str | Path | None = None,
    memory: float | None = None,
    chunks: int | None = None,
    folder: str | Path | None = None,
) -> ReleaseSummary:
    """Measure disclosure risk and utility of released files, as `release_risk` and others do of tables in memory.

    Records are linked by their position.

    Parameters
    ----------
    data, intruder, memory, chunks, folder
        As in `measure_confidential`.
    released
        A list of released datasets, each a folder or what `open_files` gave; or one of them.
    out
        Folder for a private dataset with position, realised risk and baseline risk of every confidential record.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as where:
    ...     for name, pay in (("own", [100.0, 110.0, 900.0]), ("other", [105.0, 300.0, 200.0])):
    ...         write_files([pa.table({"town": ["A"] * 3, "pay": pay})], Path(where) / name)
    ...     eyes = Intruder("town", "pay", radius=0.1)
    ...     measure_release(Path(where) / "own", Path(where) / "other", eyes).rates.mean()
    {'expected': 1.0, 'true': 0.3333333333333333, 'false': 0.5, 'unique': 2.0}
    """
    files = open_files(data)
    several = list(released) if isinstance(released, list | tuple) else [released]
    if not several:
        raise InputError("released", "it holds no dataset", "Give one dataset or a list of datasets")
    others = [replace(open_files(one, argument="released"), argument="released") for one in several]
    columns = check_columns(files, intruder)
    for other in others:
        check_columns(other, intruder)
        if other.records != files.records:
            problem = f"it has {other.records:,} records where the confidential table has {files.records:,}"
            raise InputError("released", problem, "Give the same records in the same order: they go by position")
    with open_workspace(memory, folder, out) as work:
        shared, counts = _prepare(work, (files, *others), intruder, columns, chunks)
        calls = [(chunk,) for chunk in np.flatnonzero(counts).tolist()]
        found = list(parallel_map(_measure_release, calls, shared=(shared, len(others))))
        if intruder.small_patterns == "error":
            for number, alone in enumerate(_add(found, "alone").tolist(), 1):
                refuse_alone(number, alone)
            # The risk of values drawn from the pattern is of order 1.
            few, records = _add(found, "small").tolist()
            refuse_small(few, records, 1)
        with work.engine() as connection:
            utility = compare_columns(connection, (files, *others), shared.schema)
            figures = _summarise(connection, shared, found, len(others))
            if out is not None:
                _write(connection, shared, ("position", "realised", "baseline"), out)
    measured = tuple(counts[counts > 0].tolist())
    return ReleaseSummary(files.records, len(others), *figures, utility, shared.schema, measured)


@dataclass(frozen=True)
class _Shared:
    """What every chunk is measured with: where the sorted records are, whose eyes, and what was decided."""

    folder: Path
    intruder: Intruder
    schema: Schema
    columns: tuple[str, ...]

    def load(self, number: int, chunk: int) -> tuple[Table, NDArray[np.int64]]:
        """Read the records of a chunk of a dataset (0: the confidential one), and their positions, which rise."""
        path = self.folder / f"dataset-{number}.parquet"
        if not path.exists():
            problem = "a worker does not see the folder that the records were sorted into"
            raise InputError("folder", problem, "Use one that all machines share: beside --out, or where TMPDIR says")
        found = parquet.read_table(path, filters=[("chunk", "=", chunk)]).combine_chunks()
        frame = {}
        for place, name in enumerate(self.columns):
            cells = found[f"c{place}"]
            frame[name] = series_from_arrow(cells.dictionary_encode() if pa.types.is_string(cells.type) else cells)
        return Table(pd.DataFrame(frame)), found["position"].to_numpy()

    def look(self, table: Table) -> View:
        """See records as the intruder does."""
        return self.intruder.view(table, schema=self.schema)

    def leave(self, chunk: int, columns: Mapping[str, Any]) -> None:
        """Leave what was found of the records of a chunk, whole: a worker that was given up may do so as well."""
        with written_whole(self.folder / f"found-{chunk}.parquet", private=True) as temporary:
            parquet.write_table(pa.table(dict(columns)), temporary)

    def found(self) -> str:
        """Write how the engine reads what was found of all records."""
        return scan(sorted(self.folder.glob("found-*.parquet")))


def _prepare(
    work: Workspace, datasets: Sequence[ParquetFiles], intruder: Intruder, columns: list[str], chunks: Any
) -> tuple[_Shared, NDArray[np.int64]]:
    """Decide what concerns all records, refuse what is refused in memory, and sort: confidential records by chunk."""
    record = len(datasets) * (_RECORD_BYTES + _CELL_BYTES * len(columns))
    needed = max(-(-_SPARE * datasets[0].records * record // work.memory), 1)
    number = needed if chunks is None else check_whole("chunks", chunks, 1)
    # Whether a pattern is too small is counted over all chunks: a chunk refuses none.
    eyes = replace(intruder, small_patterns="maximum_risk") if intruder.small_patterns == "error" else intruder
    schema, counts = Schema(()), []
    for place, files in enumerate(datasets):
        with work.engine(files.argument) as connection:
            schema = schema if place else decide(connection, files, intruder, columns)
            check_values(connection, files, intruder, schema)
            if place:
                _check_coding(connection, datasets[0], files, intruder, schema)
            path = work.folder / f"dataset-{place}.parquet"
            counts.append(_sort(connection, files, path, columns, intruder, number))
    largest = int(np.max(counts))
    if chunks is None and largest * record > work.memory and largest > _SMALL:
        problem = f"the {largest:,} records of the largest patterns need about {largest * record / 2**30:,.2f} GiB"
        raise InputError("memory", problem, "Allow more memory, or let the intruder know more columns, or finer ones")
    return _Shared(work.folder, eyes, schema, tuple(columns)), counts[0]


def _key(files: ParquetFiles, name: str, place: int, breaks: Sequence[float] = ()) -> str:
    """Write what records of one pattern have in common in a column: the same of equal values of any type."""
    if len(breaks):
        return " + ".join(f"CAST(c{place} >= {float(end)!r} AS INTEGER)" for end in breaks)
    types = {"numbers": "DOUBLE", "dates": "TIMESTAMP"}
    return f"CAST(c{place} AS {types.get(files.kind_of(name), 'VARCHAR')})"


def _sort(
    connection: "DuckDBPyConnection",
    files: ParquetFiles,
    path: Path,
    columns: list[str],
    intruder: Intruder,
    chunks: int,
) -> NDArray[np.int64]:
    """Write the records sorted by chunk, in each by position, and count them."""
    keys = [_key(files, name, columns.index(name), intruder.breaks.get(name, ())) for name in intruder.known]
    chunk = f"CAST(hash({', '.join(keys)}) % {chunks} AS BIGINT)" if keys else "0"
    rows = f"SELECT {chunk} AS chunk, * FROM ({files.select(columns)}) ORDER BY chunk, position"
    connection.execute(f"COPY ({rows}) TO {quote(str(path))} (FORMAT parquet, ROW_GROUP_SIZE 65536)")
    counts = np.zeros(chunks, dtype=np.int64)
    for one, number in connection.execute(f"SELECT chunk, count(*) FROM {scan([path])} GROUP BY chunk").fetchall():
        counts[one] = number
    if counts.sum() != files.records:
        problem = "it has changed since it was opened"
        raise InputError(files.argument, problem, "Open it again, when nothing writes to it any more")
    return counts


def _check_coding(
    connection: "DuckDBPyConnection", files: ParquetFiles, other: ParquetFiles, intruder: Intruder, schema: Schema
) -> None:
    """Refuse a released column that has no value in common with the confidential one."""
    exact = [name for name in intruder.sensitive if schema[name].kind == "categorical"]
    for name in (*intruder.known, *exact):
        # As text, so that values of two types can be compared at all.
        key = (name, 0, intruder.breaks.get(name, ()))
        own, theirs = (
            f"SELECT CAST({_key(one, *key)} AS VARCHAR) AS x FROM ({one.select([name])})" for one in (files, other)
        )
        common = f"SELECT EXISTS ({theirs} INTERSECT {own}) OR EXISTS (SELECT 1 FROM ({theirs}) WHERE x IS NULL)"
        if not connection.execute(common).fetchall()[0][0]:
            raise coded_otherwise(name, "released")


def _measure_chunk(shared: _Shared, order: int, patterns: int, chunk: int) -> dict[str, Any]:
    """Measure the records of a chunk, and leave the risk of each."""
    table, positions = shared.load(0, chunk)
    view = shared.look(table)
    found = confidential_risk(view, order=order)
    rows = (positions, found.pattern_size, found.within, found.risk, risk_weights(found))
    shared.leave(chunk, dict(zip(COLUMNS, rows, strict=True)))
    values = found.risk[view.part]
    return {
        "patterns": view.patterns.number,
        "policies": found.policies,
        "small": count_small(view.sizes, order, shared.intruder),
        "above": count_above(values),
        "bins": np.histogram(values, bins=BINS, range=(0.0, 1.0))[0],
        "ranked": rank_patterns(found, numeric_columns(found, table), patterns, positions),
    }


def _measure_release(shared: _Shared, datasets: int, chunk: int) -> dict[str, Any]:
    """Measure the records of a chunk in released datasets, and leave what concerns each record."""
    table, positions = shared.load(0, chunk)
    view, readings = shared.look(table), []
    for number in range(1, datasets + 1):
        other, theirs = shared.load(number, chunk)
        # Where every confidential record's own released one is, -1 where it is in another chunk.
        readings.append(read_part(view, other, pd.Index(theirs).get_indexer(pd.Index(positions))))
    risk, part = release_risk(view, readings), int(view.part.sum())
    # Added one dataset after the other, as of all records at once.
    rows = {"position": positions, "realised": sum(risk.by_dataset) / datasets, "baseline": risk_floor(view)}
    rows |= {f"risk_{number}": row for number, row in enumerate(risk.by_dataset)}
    rows |= {f"chance_{number}": row for number, row in enumerate(np.nan_to_num(pick_chances(view, readings)))}
    shared.leave(chunk, rows)
    # As `profile_release` has them, the datasets of a record side by side.
    by_dataset = np.asfortranarray(risk.by_dataset[:, view.part])
    runs = [row / datasets @ by_dataset for row in resampled_counts(datasets)] if part and datasets > 1 else []
    rates = match_rates(view, readings) if part else None
    return {
        "part": part,
        "small": count_small(view.sizes, 1, shared.intruder),
        "alone": [int((close & (one.size == 1)).sum()) for close, one in zip(risk.is_close, readings, strict=True)],
        "unique": rates.unique if rates else np.zeros(datasets, dtype=np.int64),
        "right": np.rint(rates.true * part) if rates else np.zeros(datasets),
        "above": count_above(by_dataset.mean(axis=0)),
        "largest": [run.max() for run in runs],
        "runs": [count_above(run) for run in runs],
    }


def _add(found: Sequence[Mapping[str, Any]], name: str) -> NDArray[Any]:
    return np.sum([one[name] for one in found], axis=0)


def _add_policies(found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {name: sum(one["policies"][name] for one in found) for name in found[0]["policies"]}


def _profile(
    connection: "DuckDBPyConnection",
    shared: _Shared,
    files: ParquetFiles,
    found: Sequence[Mapping[str, Any]],
    patterns: int,
) -> RiskProfile:
    """Put together what may be said about the risk."""
    bins = _add(found, "bins")
    risks = f"SELECT risk AS x FROM {shared.found()} WHERE NOT isnan(risk)"
    ranked: list[RankedPatterns] = [one["ranked"] for one in found]
    known, figures = (
        pd.concat([getattr(one, frame) for one in ranked], ignore_index=True) for frame in ("known", "figures")
    )
    spans = {name: np.concatenate([one.spans[name] for one in ranked]) for name in ranked[0].spans}
    sizes = {name: f"SELECT abs(x) AS x FROM ({files.numbers(name)}) WHERE x <> 0" for name in spans}
    ends = {name: ends_for(*find_quantiles(connection, query, [0.5, 1.0])) for name, query in sizes.items()}
    return lay_out(
        sum_exactly(connection, risks) / bins.sum(),
        find_quantiles(connection, risks, list(SHARES.values())),
        _add(found, "above").tolist(),
        tell_bins(bins, bins.sum()),
        tell_patterns(RankedPatterns(known, figures, spans).best(patterns), ends),
        _add_policies(found),
    )


def _summarise(
    connection: "DuckDBPyConnection", shared: _Shared, found: Sequence[Mapping[str, Any]], datasets: int
) -> tuple[Floats, dict[str, Figure], MatchRates, float]:
    """Mean risk of every dataset, the profile, match rates, and the baseline risk."""
    part, source = int(_add(found, "part")), f"{shared.found()} WHERE NOT isnan(realised)"

    def add(column: str) -> float:
        return sum_exactly(connection, f"SELECT {column} FROM {source}")

    by_dataset = freeze(np.array([add(f"risk_{number}") for number in range(datasets)]) / part)
    expected = np.array([add(f"chance_{number}") for number in range(datasets)])
    unique, right = (_add(found, name).astype(np.int64) for name in ("unique", "right"))
    false = (unique - right) / np.maximum(unique, 1)
    rates = MatchRates(freeze(expected), freeze(right / part), freeze(false), freeze(unique))
    realised = find_quantiles(connection, f"SELECT realised AS x FROM {source}", list(QUANTILES.values()))
    values = dict(zip((*QUANTILES, *ABOVE), [*realised, *_add(found, "above").astype(float).tolist()], strict=True))
    profile = {"mean": mean_over_tables(by_dataset, least=0.0, most=1.0)}
    profile |= {name: Figure(value, np.nan, np.nan) for name, value in values.items()}
    measured = [one for one in found if one["runs"]]
    if measured:
        runs = [np.max([one["largest"] for one in measured], axis=0), *_add(measured, "runs").T]
        for name, of_runs in zip(("largest", *ABOVE), runs, strict=True):
            most = 1.0 if name == "largest" else float(part)
            profile[name] = figure_of_runs(values[name], of_runs.astype(float), datasets, least=0.0, most=most)
    return by_dataset, profile, rates, add("baseline") / part


def _write(connection: "DuckDBPyConnection", shared: _Shared, columns: Sequence[str], out: str | Path) -> None:
    """Write what was found of the records in the order of the dataset, about a million in a file."""
    query = f"SELECT {', '.join(columns)} FROM {shared.found()} ORDER BY position"
    batches = connection.sql(query).to_arrow_reader(2**20)
    write_files((pa.Table.from_batches([batch]) for batch in batches), out, private=True)
