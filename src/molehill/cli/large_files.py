"""The commands on files larger than memory: what is typed to what is measured, and that to what is printed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import ArrowException, parquet

from molehill.cli.terminal import parse_pairs, rows_of
from molehill.errors import InputError, check_number
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.context import fixed_ends
from molehill.evaluation.evaluation import tell_figures
from molehill.evaluation.measure import COLUMNS, CONFIDENTIAL, Value
from molehill.larger_than_memory.files import ParquetFiles
from molehill.larger_than_memory.risk import ConfidentialSummary, ReleaseSummary
from molehill.risk.profile import ABOVE, QUANTILES, SHARES
from molehill.runtime import available_memory
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.table import Table, memory_needed

_REMEDY = "Leave it out, or give one file that fits into memory"


def is_large(path: Path, memory: float | None) -> bool:
    """Whether data are measured chunk by chunk: a folder, or a Parquet file that needs more memory than it may have."""
    if path.is_dir():
        return True
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    try:
        notes = parquet.read_metadata(path)
    except (ArrowException, OSError):
        # Whoever reads it says what is wrong.
        return False
    size = sum(notes.row_group(number).total_byte_size for number in range(notes.num_row_groups))
    bound = available_memory() if memory is None else bytes_of(memory)
    return bound is not None and memory_needed(2 * size, notes.num_rows, notes.num_columns) > bound


def bytes_of(memory: float | None) -> float | None:
    """Turn GiB into bytes."""
    return None if memory is None else check_number("memory-gib", memory, above=0) * 2**30


def refuse_options(given: Mapping[str, Any]) -> None:
    """Refuse options that need all records in memory, by their names."""
    for name, value in given.items():
        if value:
            raise InputError(name, "it cannot be done with files that are measured chunk by chunk", _REMEDY)


def names_of(files: ParquetFiles) -> Table:
    """Give the names of the columns as a table without records."""
    return Table(pd.DataFrame(columns=files.schema.names))


def name_releases(released: Sequence[Path], compare: Sequence[str]) -> dict[str, list[Path]]:
    """Give the datasets of every release by its name, the others being given as NAME=FOLDER,FOLDER."""
    named = {"released": list(released)}
    for name, value in parse_pairs(list(compare), "compare", "topcoded=folder").items():
        if name in ("released", CONFIDENTIAL):
            raise InputError("compare", f"{name!r} is taken", "Choose another name, such as topcoded=folder")
        named[name] = [Path(folder) for folder in value.split(",")]
    return named


def lay_out_figures(
    confidential: ConfidentialSummary, releases: Mapping[str, ReleaseSummary]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Set what was measured out in the frames of an evaluation: risk, and utility."""
    column = ", ".join(confidential.schema.having("sensitive"))
    risk = [(CONFIDENTIAL, column, f"risk_{name}", figure) for name, figure in _of_confidential(confidential).items()]
    utility = []
    for scheme, found in releases.items():
        mean = found.profile["mean"]
        figures = {f"risk_{name}": figure for name, figure in found.profile.items()}
        figures |= {"risk_baseline": Figure(found.baseline, np.nan, np.nan)}
        figures |= {"risk_excess": Figure(*(end - found.baseline for end in mean))}
        for name, most in (("expected", found.records), ("unique", found.records), ("true", 1.0), ("false", 1.0)):
            rates = np.asarray(getattr(found.rates, name), dtype=np.float64)
            figures[f"matches_{name}"] = mean_over_tables(rates, least=0.0, most=most)
        risk += [(scheme, column, name, figure) for name, figure in figures.items()]
        if found.utility.distances is not None:
            for row in found.utility.distances.summary.to_dict("records"):
                figure = Figure(float(row["value"]), float(row["low"]), float(row["high"]))
                utility.append((scheme, row["column"], row["measure"], fixed_ends(figure)))
    return _frame(risk), _frame(utility)


def _of_confidential(found: ConfidentialSummary) -> dict[str, Figure]:
    told = dict(zip(found.profile.distribution["measure"], found.profile.distribution["value"], strict=True))
    at = {share: name for name, share in SHARES.items()}
    figures = {"mean": told["mean"]} | {name: told[at[share]] for name, share in QUANTILES.items()}
    figures |= dict(zip(ABOVE, found.profile.above["records"], strict=True))
    return {name: Figure(float(value), np.nan, np.nan) for name, value in figures.items()}


def _frame(rows: Sequence[tuple[str, str, str, Figure]]) -> pd.DataFrame:
    """Rows in the order of the measures that ship, with their words."""
    order = {measure.id: (place, measure) for place, measure in enumerate(MEASURES)}
    made = []
    for scheme, column, name, figure in sorted(rows, key=lambda row: order[row[2]][0]):
        told = order[name][1].name(Value(figure, column))
        made.append((scheme, column, name, "", np.nan, "", told, *figure))
    return pd.DataFrame(made, columns=COLUMNS)


def tell_evaluation(risk: pd.DataFrame, utility: pd.DataFrame, releases: Mapping[str, ReleaseSummary]) -> str:
    """Say what releases disclose and preserve, as far as it is measured chunk by chunk."""
    parts = tell_figures("Risk (95% intervals over the tables)", risk)
    parts += tell_figures("Utility", utility) if len(utility) else []
    for scheme, found in releases.items():
        shares = found.utility.shares
        for column, rows in shares.groupby("column", sort=False):
            apart = float((rows["confidential"] - rows["released"]).abs().sum() / 2)
            parts.append(
                f"{scheme}: {column}, half the sum of the differences of the shares of its levels: {apart:.4g}"
            )
    return "\n\n".join(parts)


def plain_evaluation(
    risk: pd.DataFrame, utility: pd.DataFrame, releases: Mapping[str, ReleaseSummary]
) -> dict[str, Any]:
    """Give the same as JSON takes it, with the moments of released columns and the shares of levels."""
    moments = [found.utility.moments.assign(scheme=scheme) for scheme, found in releases.items()]
    shares = [found.utility.shares.assign(scheme=scheme) for scheme, found in releases.items()]
    of_released = pd.concat(moments, ignore_index=True)
    return {
        "risk": rows_of(risk),
        "utility": rows_of(utility),
        "moments": rows_of(of_released[of_released["table"] > 0]),
        "shares": rows_of(pd.concat(shares, ignore_index=True)),
    }
