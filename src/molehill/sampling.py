"""From an engine to draws: compiled chunks of sweeps, chains on all cores, progress, checkpoints and resumption.

An `Engine` says how one chain starts and moves; this module knows nothing of models. A chunk of sweeps is compiled once
and called again and again, so that a run can show its progress, be interrupted between chunks, and go on from its last
checkpoint to the same bytes.

Data are always arguments of compiled functions, never captured: a captured array would be written, with its
confidential values, into the compile cache on disk.
"""

import hashlib
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

# One thread for the arithmetic of a chain: the other cores run the other chains. Read by JAX when it is first loaded.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from molehill.balls import workers
from molehill.errors import InputError
from molehill.files import written_whole

State = Any
Inputs = Mapping[str, Any]
LONGEST_CHUNK = 100


class Sweep(NamedTuple):
    """What one sweep of a chain gives.

    `draw` maps sites to values; `functionals` maps names to vectors that do not depend on labels; `accept` is the mean
    acceptance, `divergent` whether the trajectory broke down, `gradients` how many gradients it took.
    """

    draw: Mapping[str, jax.Array]
    functionals: Mapping[str, jax.Array]
    accept: Any
    divergent: Any
    gradients: Any


class Engine(NamedTuple):
    """How draws are made, one chain at a time: pure functions that can be compiled.

    `start(key, inputs)` gives the state of a new chain; `sweep(state, inputs)` moves it once and gives a `Sweep`. The
    state is a pytree of arrays and holds all that is needed to go on, its key and its tuning included. The first
    `warmup` sweeps are for tuning and are not kept. `prepare` may turn the inputs, once and before anything is
    compiled, into those that the other two take. `name` says all that decides the draws beside the inputs.
    """

    name: str
    start: Callable[[jax.Array, Inputs], State]
    sweep: Callable[[State, Inputs], tuple[State, Sweep]]
    warmup: int
    draws: int
    prepare: Callable[[Inputs], Inputs] = dict


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of a run: arrays (chains, draws, ...), and the seconds of each stage."""

    draws: Mapping[str, np.ndarray]
    functionals: Mapping[str, np.ndarray]
    accept: np.ndarray
    divergent: np.ndarray
    gradients: int
    seconds: Mapping[str, float]


def sample(
    engine: Engine,
    inputs: Inputs,
    *,
    seed: int,
    chains: int = 2,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    title: str = "sampling",
) -> Run:
    """Run the chains of an engine.

    Parameters
    ----------
    engine
        How to start and move a chain.
    inputs
        The data, as arrays by name.
    seed
        The same inputs, engine, seed and versions give the same draws.
    chains
        How many; they run side by side on the cores at hand.
    checkpoint
        Folder to keep checkpoints in (made if need be, readable by its owner only). The same call then goes on where an
        interrupted one stopped, and ends with the same draws.
    progress
        Show a bar with the time left, if standard error is a terminal.
    title
        What the bar calls the work.
    """
    with jax.enable_x64(new_val=True):
        return _sample(engine, inputs, seed, chains, checkpoint, progress, title)


def _sample(
    engine: Engine,
    inputs: Inputs,
    seed: int,
    chains: int,
    checkpoint: str | Path | None,
    progress: bool,  # noqa: FBT001 (private)
    title: str,
) -> Run:
    begun = time.perf_counter()
    length = _chunk_length(engine)
    total = (engine.warmup + engine.draws) // length
    store = None if checkpoint is None else _open_store(checkpoint, _fingerprint(engine, inputs, seed, chains))
    start, chunk, placed = _compile(engine, engine.prepare(inputs), chains, length)
    states = start(jax.random.split(jax.random.key(seed), chains), placed)
    compiled = time.perf_counter()
    kept: list[dict[str, np.ndarray]] = []
    done = 0
    if store is not None:
        for leaves, arrays in _read_chunks(store):
            states = _refill(states, leaves)
            kept.append(arrays)
            done += 1
    resumed = done
    with _bar(title, total, done, shown=progress) as advance:
        for number in range(done, total):
            states, sweeps = chunk(states, placed)
            arrays = _flatten(sweeps) if (number + 1) * length > engine.warmup else {}
            kept.append(arrays)
            if store is not None:
                _write_chunk(store, number, states, arrays)
            advance()
    seconds = {
        "compiling and starting": compiled - begun,
        "sampling": time.perf_counter() - compiled,
        "chunks resumed": float(resumed),
    }
    return _collect(kept, seconds)


def _chunk_length(engine: Engine) -> int:
    """Give the longest length up to LONGEST_CHUNK that divides both stages: one function to compile."""
    common = math.gcd(engine.warmup, engine.draws)
    return max(size for size in range(1, min(common, LONGEST_CHUNK) + 1) if common % size == 0)


def _compile(engine: Engine, inputs: Inputs, chains: int, length: int) -> tuple[Callable, Callable, Inputs]:
    """Spread the chains over the devices; those of one device run one after the other, not in lock step."""
    devices = jax.devices("cpu")
    number = max(count for count in range(1, len(devices) + 1) if chains % count == 0)
    mesh = Mesh(np.array(devices[:number]), ("chain",))
    by_chain, everywhere = PartitionSpec("chain"), PartitionSpec()

    def move(state: State, data: Inputs) -> tuple[State, Sweep]:
        return jax.lax.scan(lambda now, _: engine.sweep(now, data), state, None, length=length)

    def start_all(keys: jax.Array, data: Inputs) -> State:
        # A weak type, which no later state has, would have the chunk compiled twice.
        return jax.tree.map(_settle, jax.lax.map(lambda key: engine.start(key, data), keys))

    def move_all(states: State, data: Inputs) -> tuple[State, Sweep]:
        return jax.lax.map(lambda state: move(state, data), states)

    def spread(function: Callable) -> Callable:
        return jax.jit(
            jax.shard_map(function, mesh=mesh, in_specs=(by_chain, everywhere), out_specs=by_chain, check_vma=False)
        )

    arrays = {name: jnp.asarray(value) for name, value in inputs.items()}
    return spread(start_all), spread(move_all), jax.device_put(arrays, NamedSharding(mesh, everywhere))


def _flatten(sweeps: Sweep) -> dict[str, np.ndarray]:
    parts = {"draws": sweeps.draw, "functionals": sweeps.functionals}
    arrays = {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}
    arrays |= {name: getattr(sweeps, name) for name in ("accept", "divergent", "gradients")}
    return {name: np.asarray(value) for name, value in arrays.items()}


def _collect(kept: list[dict[str, np.ndarray]], seconds: Mapping[str, float]) -> Run:
    chunks = [arrays for arrays in kept if arrays]
    joined = {name: np.concatenate([arrays[name] for arrays in chunks], axis=1) for name in chunks[0]}

    def part(prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): value for name, value in joined.items() if name.startswith(prefix)}

    return Run(
        part("draws/"),
        part("functionals/"),
        joined["accept"],
        joined["divergent"],
        int(joined["gradients"].sum()),
        seconds,
    )


# Checkpoints: one file a chunk, each with its own checksum, so that a damaged one costs only what came after it.


@dataclass(frozen=True)
class _Store:
    folder: Path
    fingerprint: str


def _fingerprint(engine: Engine, inputs: Inputs, seed: int, chains: int) -> str:
    """Name a run by all that decides its draws."""
    known = {name: version(name) for name in ("molehill", "jax", "jaxlib", "numpyro", "blackjax")}
    digest = hashlib.sha256(json.dumps([engine.name, engine.warmup, engine.draws, int(seed), chains, known]).encode())
    for name in sorted(inputs):
        array = np.ascontiguousarray(inputs[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _open_store(folder: str | Path, fingerprint: str) -> _Store:
    path = Path(folder)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = path / "run.json"
    if note.exists() and not _is_note(note.read_bytes()):
        # The chunks answer for themselves: each has the fingerprint in its checksum.
        note.rename(note.with_suffix(".damaged"))
    if note.exists():
        if json.loads(note.read_bytes())["fingerprint"] != fingerprint:
            raise InputError(
                "checkpoint",
                f"the folder {str(path)!r} holds a run of other data, settings or versions",
                "Give another folder, or remove this one to begin anew",
            )
    else:
        with written_whole(note, private=True, argument="checkpoint") as temporary:
            temporary.write_text(json.dumps({"fingerprint": fingerprint}))
    return _Store(path, fingerprint)


def _is_note(content: bytes) -> bool:
    try:
        return "fingerprint" in dict(json.loads(content))
    except (ValueError, TypeError):
        return False


def _write_chunk(store: _Store, number: int, states: State, arrays: Mapping[str, np.ndarray]) -> None:
    leaves = {f"state/{i}": np.asarray(_plain(leaf)) for i, leaf in enumerate(jax.tree.leaves(states))}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **leaves, **arrays)
    content = buffer.getvalue()
    with written_whole(store.folder / f"chunk-{number:05}.bin", private=True, argument="checkpoint") as temporary:
        temporary.write_bytes(hashlib.sha256(content + store.fingerprint.encode()).digest() + content)


def _read_chunks(store: _Store) -> Iterator[tuple[list[np.ndarray], dict[str, np.ndarray]]]:
    """Read the chunks that are there and whole, in order; set aside a damaged one and all that follow it."""
    number = 0
    while (path := store.folder / f"chunk-{number:05}.bin").exists():
        content = path.read_bytes()
        if hashlib.sha256(content[32:] + store.fingerprint.encode()).digest() != content[:32]:
            for later in sorted(store.folder.glob("chunk-*.bin"))[number:]:
                later.rename(later.with_suffix(".damaged"))
            return
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as saved:
            names = list(saved)
            leaves = [saved[f"state/{i}"] for i in range(sum(name.startswith("state/") for name in names))]
            yield leaves, {name: saved[name] for name in names if not name.startswith("state/")}
        number += 1


def _is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _settle(leaf: jax.Array) -> jax.Array:
    return leaf if _is_key(leaf) else jax.lax.convert_element_type(leaf, leaf.dtype)


def _plain(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _refill(template: State, leaves: list[np.ndarray]) -> State:
    """Put saved leaves where those of a fresh state are."""
    old, shape = jax.tree.flatten(template)
    new = []
    for leaf, saved in zip(old, leaves, strict=True):
        array = jax.random.wrap_key_data(jnp.asarray(saved)) if _is_key(leaf) else jnp.asarray(saved, leaf.dtype)
        new.append(jax.device_put(array, leaf.sharding))
    return jax.tree.unflatten(shape, new)


@contextmanager
def _bar(title: str, total: int, done: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not (shown and console.is_terminal), transient=True
    ) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda: bar.advance(task)


def prepare_jax() -> None:
    """Let JAX use every core for chains, and keep compiled code for the next run; what is set already stays."""
    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "molehill" / "compiled"
        # Without a folder that can be written to, nothing is kept.
        with suppress(OSError, RuntimeError):
            folder = folder.expanduser()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    if getattr(jax.config, "jax_num_cpu_devices", -1) < 1:
        # Where JAX is running already, with the devices that it has, chains share them.
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", workers())


prepare_jax()
