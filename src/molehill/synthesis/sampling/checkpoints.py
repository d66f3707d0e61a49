"""Checkpoints of a run: one file per chunk, with a checksum, so that a damaged one loses only the chunks after it."""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from molehill.errors import InputError
from molehill.files import written_whole

# Packages whose version determines the draws.
DECIDING = ("molehill", "jax", "jaxlib", "numpyro", "blackjax")


@dataclass(frozen=True)
class Store:
    """A folder of checkpoints, and the checksum of the arguments of the run."""

    folder: Path
    fingerprint: str


def open_store(folder: str | Path, facts: Sequence[Any], inputs: Mapping[str, Any]) -> Store:
    """Open the checkpoints of a run, identified by everything that determines its draws."""
    fingerprint = _fingerprint(facts, inputs)
    path = Path(folder)
    note = path / "run.json"
    with _in_folder(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if note.exists() and not _is_note(note.read_bytes()):
            # Every chunk has the checksum of the run in its own.
            note.rename(note.with_suffix(".damaged"))
        kept = json.loads(note.read_bytes())["fingerprint"] if note.exists() else None
    if kept is None:
        with written_whole(note, private=True, argument="checkpoint") as temporary:
            temporary.write_text(json.dumps({"fingerprint": fingerprint}))
    elif kept != fingerprint:
        problem = f"the folder {str(path)!r} contains a run with other data, settings or versions"
        raise InputError("checkpoint", problem, "Use another folder, or delete this one to start again")
    return Store(path, fingerprint)


def write_chunk(store: Store, number: int, leaves: Sequence[np.ndarray], arrays: Mapping[str, np.ndarray]) -> None:
    """Write the draws of a chunk and the leaves of its final state."""
    state = {f"state/{i}": leaf for i, leaf in enumerate(leaves)}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **state, **arrays)
    content = buffer.getvalue()
    if not store.folder.is_dir():
        problem = f"the folder {str(store.folder)!r} was deleted during the run"
        raise InputError("checkpoint", problem, "Start again, and keep the folder until the run has ended")
    with written_whole(store.folder / f"chunk-{number:05}.bin", private=True, argument="checkpoint") as temporary:
        temporary.write_bytes(hashlib.sha256(content + store.fingerprint.encode()).digest() + content)


def read_chunks(store: Store) -> Iterator[tuple[bytes, dict[str, np.ndarray]]]:
    """Read the intact chunks in order; rename a damaged one and all after it.

    Yields the content of each, from which `read_leaves` reads the final state, and its draws.
    """
    number = 0
    while (path := store.folder / f"chunk-{number:05}.bin").exists():
        with _in_folder(store.folder):
            content = path.read_bytes()
        if hashlib.sha256(content[32:] + store.fingerprint.encode()).digest() != content[:32]:
            for later in sorted(store.folder.glob("chunk-*.bin"))[number:]:
                later.rename(later.with_suffix(".damaged"))
            return
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved if not name.startswith("state/")}
        yield content, arrays
        number += 1


def read_leaves(content: bytes) -> list[np.ndarray]:
    """Read the leaves of the final state of a chunk."""
    with np.load(io.BytesIO(content[32:]), allow_pickle=False) as saved:
        return [saved[f"state/{i}"] for i in range(sum(name.startswith("state/") for name in saved))]


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    """Name the folder in errors of the operating system."""
    try:
        yield
    except OSError as error:
        problem = f"the folder {str(folder)!r} cannot be used ({error.strerror or type(error).__name__})"
        raise InputError("checkpoint", problem, "Use another folder, or make it readable and writable") from None


def _fingerprint(facts: Sequence[Any], inputs: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(facts).encode())
    for name in sorted(inputs):
        array = np.ascontiguousarray(inputs[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _is_note(content: bytes) -> bool:
    try:
        return "fingerprint" in dict(json.loads(content))
    except (ValueError, TypeError):
        return False
