"""Stages of a study: each result is a file named after all that decides it, so that an interrupted study goes on."""

import hashlib
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

Arrays = Mapping[str, np.ndarray]
_VERSIONS = tuple(f"{name} {version(name)}" for name in ("molehill", "numpy", "jax", "numpyro", "blackjax"))


def run_stages(
    compute: Callable[..., Arrays],
    data: pd.DataFrame,
    stages: Mapping[str, tuple[Any, ...]],
    folder: Path,
    *,
    workers: int = 1,
) -> dict[str, Arrays]:
    """Give `compute(data, *arguments)` for the arguments of every stage, from its file if there is one.

    Parameters
    ----------
    compute
        A function of the module level.
    data
        The confidential data.
    stages
        By name the arguments, whose `repr` says all of them.
    folder
        Of the study.
    workers
        Processes; 1 computes here.
    """
    (folder / "stages").mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = {
        name: folder / "stages" / f"{name}-{_fingerprint(data, arguments)}.npz" for name, arguments in stages.items()
    }
    missing = {paths[name]: (data, *arguments) for name, arguments in stages.items() if not paths[name].exists()}
    for number, path in enumerate(_compute(compute, missing, workers), 1):
        print(f"{number} of {len(missing)}: {path.stem}", file=sys.stderr)
    found = {}
    for name, path in paths.items():
        with np.load(path, allow_pickle=False) as saved:
            found[name] = dict(saved)
    return found


def _compute(compute: Callable[..., Arrays], missing: Mapping[Path, tuple[Any, ...]], workers: int) -> Iterator[Path]:
    if workers == 1:
        yield from (_keep(path, compute, given) for path, given in missing.items())
        return
    # A fork would copy the threads of JAX. Ctrl-C must end the processes at once: compiled code asks no handler.
    spawn, ended = multiprocessing.get_context("spawn"), (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(workers, spawn, initializer=signal.signal, initargs=ended) as pool:
        futures = [pool.submit(_keep, path, compute, given) for path, given in missing.items()]
        yield from (future.result() for future in as_completed(futures))


def _keep(path: Path, compute: Callable[..., Arrays], given: tuple[Any, ...]) -> Path:
    # With more threads, linear algebra may add in another order: bytes would depend on the number of cores.
    with threadpool_limits(1, user_api="blas"):
        arrays = compute(*given)
    temporary = path.with_suffix(".unfinished.npz")
    np.savez_compressed(temporary, allow_pickle=False, **arrays)
    temporary.replace(path)
    return path


def _fingerprint(data: pd.DataFrame, arguments: tuple[Any, ...]) -> str:
    digest = hashlib.sha256(repr((_VERSIONS, data.dtypes.to_dict(), arguments)).encode())
    digest.update(pd.util.hash_pandas_object(data, index=False).to_numpy().tobytes())
    return digest.hexdigest()[:20]
