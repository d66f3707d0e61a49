"""Stages of a study: each is saved whole under the hash of all that decides it, so that a study can be resumed."""

import hashlib
import io
import json
import multiprocessing
import signal
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError
from molehill.files import written_whole
from molehill.machine import call_alone, hash_code, is_spreading, spread
from molehill.release.making import Tell

Arrays = Mapping[str, np.ndarray]


_VERSIONS = ("molehill", "numpy", "jax", "numpyro", "blackjax")


@dataclass(frozen=True)
class Stage:
    """One step of a study: a function of the module level, and the plain values that decide what it gives."""

    name: str
    compute: Callable[..., Arrays]
    arguments: tuple[Any, ...]
    facts: Mapping[str, Any]


def fingerprint_frame(data: pd.DataFrame) -> str:
    """Hash a table: its columns, their types and its values."""
    digest = hashlib.sha256(json.dumps([[str(name), str(kind)] for name, kind in data.dtypes.items()]).encode())
    digest.update(pd.util.hash_pandas_object(data, index=False).to_numpy().tobytes())
    return digest.hexdigest()


def open_folder(out: str | Path, *, resume: bool) -> Path:
    """Make the folder of a study, or go on with the one that is there."""
    folder = Path(out)
    if folder.exists() and not resume and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("out", f"{str(folder)!r} exists already", "Choose another folder, or add --resume to go on")
    (folder / "stages").mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def run_stages(stages: Sequence[Stage], folder: Path, *, workers: int, tell: Tell | None = None) -> dict[str, Arrays]:
    """Give what every stage computes: from its file if there is one, else computed now and saved.

    Parameters
    ----------
    stages
        Independent of each other.
    folder
        Of the study, as of `open_folder`.
    workers
        How many to compute at a time, each in a process of its own; 1 computes here.
    tell
        Called with what is done as it is done.
    """
    paths = {stage.name: folder / "stages" / f"{stage.name}-{_fingerprint(stage)}.npz" for stage in stages}
    found = {name: _read(path) for name, path in paths.items()}
    missing = [stage for stage in stages if found[stage.name] is None]
    for number, (stage, arrays) in enumerate(_compute(missing, workers), 1):
        _write(paths[stage.name], arrays)
        found[stage.name] = arrays
        if tell is not None:
            tell(f"{number} of {len(missing)}: {stage.name.replace('_', ' ')}")
    return {name: arrays for name, arrays in found.items() if arrays is not None}


def _compute(stages: Sequence[Stage], workers: int) -> Iterator[tuple[Stage, Arrays]]:
    if is_spreading():
        yield from zip(stages, spread(_compute_stage, [(stage,) for stage in stages]), strict=True)
        return
    if workers == 1 or len(stages) < 2:
        yield from ((stage, call_alone(_compute_stage, stage)) for stage in stages)
        return
    # A fork would copy the threads of JAX in the middle of their work.
    context = multiprocessing.get_context("spawn")
    # Ctrl-C goes to all processes of a terminal, and must end these at once: compiled code asks no handler.
    ended = (signal.SIGINT, signal.SIG_DFL)
    pool = ProcessPoolExecutor(min(workers, len(stages)), context, initializer=signal.signal, initargs=ended)
    try:
        futures = [pool.submit(call_alone, _compute_stage, stage) for stage in stages]
        yield from ((stage, future.result()) for stage, future in zip(stages, futures, strict=True))
    finally:
        # Whoever interrupts a study does not wait for the stages that have not begun.
        pool.shutdown(wait=False, cancel_futures=True)


def _compute_stage(stage: Stage) -> Arrays:
    return stage.compute(*stage.arguments)


def _fingerprint(stage: Stage) -> str:
    facts = {**stage.facts, "code": hash_code(), "versions": {name: version(name) for name in _VERSIONS}}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:20]


def _read(path: Path) -> Arrays | None:
    """Read a stage; one that is damaged counts as not there."""
    try:
        # From memory: a damaged file would be left open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as saved:
            return {name: saved[name] for name in saved}
    except (FileNotFoundError, zipfile.BadZipFile, ValueError, EOFError, KeyError):
        return None


def _write(path: Path, arrays: Arrays) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    with written_whole(path, private=True, argument="out") as temporary:
        temporary.write_bytes(buffer.getvalue())
