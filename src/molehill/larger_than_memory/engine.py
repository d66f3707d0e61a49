"""DuckDB, an engine that works on disk within a limit of memory, in a private folder; and figures that it finds."""

import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from molehill.errors import InputError, check_number
from molehill.runtime import available_memory, workers

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Where the system does not say how much memory is free; and what the engine needs, be there as much or not.
_UNKNOWN_MEMORY, _LEAST_MEMORY = 4 * 2**30, 2**27
_REMEDY = "Check that no file changes or is damaged, and that the disk of the temporary folder has room"


@dataclass(frozen=True)
class Workspace:
    """A private folder for what does not fit into memory, and how many bytes may be held at once."""

    folder: Path
    memory: int

    @contextmanager
    def engine(self, argument: str = "data") -> Iterator["DuckDBPyConnection"]:
        """Open the engine; what it refuses is told without its words, which may quote a value.

        It is closed before chunks are measured, so that its memory is free again.
        """
        import duckdb  # noqa: PLC0415 (an extra)

        config: dict[str, Any] = {
            "memory_limit": f"{max(self.memory // 2, _LEAST_MEMORY)}B",
            "temp_directory": str(self.folder / "spilled"),
            "threads": workers(),
            # What it has read of files would stay in memory.
            "enable_external_file_cache": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        try:
            with duckdb.connect(":memory:", config=config) as connection:
                yield connection
        except duckdb.OutOfMemoryException:
            raise InputError("memory", "the engine needs more than it may hold", "Allow more memory") from None
        except duckdb.Error as error:
            problem = f"the engine could not read or write it ({type(error).__name__})"
            raise InputError(argument, problem, _REMEDY) from None
        except RuntimeError as error:
            # Whatever a signal raises while it works, DuckDB raises this.
            if f"{error}" == "Query interrupted":
                raise KeyboardInterrupt from None
            raise


@contextmanager
def open_workspace(memory: Any, folder: str | Path | None, out: str | Path | None = None) -> Iterator[Workspace]:
    """Give a workspace whose folder is gone when the block ends, however it ends.

    It lies in `folder`, or else beside `out`, or else where the system keeps what is temporary; by default half of the
    free memory may be held.
    """
    try:
        import duckdb  # noqa: F401, PLC0415 (an extra: who has small files does not need it)
    except ImportError:
        problem = "DuckDB, which works on files larger than memory, is not installed"
        raise InputError("data", problem, "Install it: pip install 'molehill[large]'") from None
    near = folder if folder is not None else None if out is None else Path(out).absolute().parent
    if near is not None and not Path(near).is_dir():
        problem = f"there is no folder {str(near)!r}"
        raise InputError("folder" if folder is not None else "out", problem, "Make the folder first")
    free = available_memory()
    bound = (_UNKNOWN_MEMORY if free is None else free // 2) if memory is None else memory
    limit = int(check_number("memory", bound, above=0))
    # Only its owner may enter (mode 0700).
    made = Path(tempfile.mkdtemp(prefix=".molehill-work-", dir=near))
    try:
        yield Workspace(made, limit)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def sum_exactly(connection: "DuckDBPyConnection", query: str) -> float:
    """Add the numbers that a query gives: the sum is rounded once, so that their order makes no difference."""
    batches = connection.sql(query).to_arrow_reader()
    return math.fsum(chain.from_iterable(batch.column(0).to_numpy(zero_copy_only=False) for batch in batches))


def find_quantiles(connection: "DuckDBPyConnection", query: str, shares: Sequence[float]) -> list[float]:
    """Give quantiles of the numbers that a query calls x, as `numpy.quantile` does; NaN of none."""
    ((number,),) = connection.execute(f"SELECT count(*) FROM ({query})").fetchall()
    if not number:
        return [np.nan for _ in shares]
    places = [(number - 1) * share for share in shares]
    ranks = sorted({min(int(place) + step, number - 1) for place in places for step in (0, 1)})
    ranked = f"SELECT x, row_number() OVER (ORDER BY x) - 1 AS rank FROM ({query})"
    wanted = ", ".join(map(str, ranks))
    rows = connection.execute(f"SELECT rank, x FROM ({ranked}) WHERE rank IN ({wanted})").fetchall()
    at: dict[int, float] = dict(rows)
    ends = ([at[int(place)], at[min(int(place) + 1, number - 1)]] for place in places)
    return [float(np.quantile(two, place - int(place))) for two, place in zip(ends, places, strict=True)]
