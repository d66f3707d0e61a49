"""From an engine to draws: compiled chunks of sweeps, chains on all cores, progress, checkpoints and resumption.

An `Engine` says how one chain starts and moves; this module knows nothing of models. A chunk of sweeps is compiled once
and called again and again, so that a run can show its progress, be interrupted between chunks, and go on from its last
checkpoint to the same bytes. What a checkpoint holds is read, and nothing is compiled before a chunk is missing.

Data are always arguments of compiled functions, never captured: a captured array would be written, with its
confidential values, into the compile cache on disk.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from molehill.synthesis.sampling.checkpoints import Store, open_store, read_chunks, read_leaves, write_chunk

State = Any
Pytree = Any
# Sweeps of a chunk, and numbers of the data times sweeps: a kill costs a second or two, on large tables some ten.
LONGEST_CHUNK = 25
LARGEST_CHUNK = 25_000_000
# Whose other version makes other draws.
DECIDING = ("molehill", "jax", "jaxlib", "numpyro", "blackjax")


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
    compiled, into those that the other two take. Inputs are a pytree of arrays. `name` says all that decides the draws
    beside them.
    """

    name: str
    start: Callable[[jax.Array, Pytree], State]
    sweep: Callable[[State, Pytree], tuple[State, Sweep]]
    warmup: int
    draws: int
    prepare: Callable[[Pytree], Pytree] = lambda inputs: inputs


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of a run: arrays (chains, draws, ...), and the seconds of each stage.

    `sweeps` counts those of a chain after the warm-up, the ones that were not kept included; so does `gradients`, for
    all chains together. `resumed` counts the chunks that a checkpoint held already.
    """

    draws: Mapping[str, np.ndarray]
    functionals: Mapping[str, np.ndarray]
    accept: np.ndarray
    divergent: np.ndarray
    gradients: int
    sweeps: int
    resumed: int
    seconds: Mapping[str, float]


def sample(
    engine: Engine,
    inputs: Pytree,
    *,
    seed: int,
    chains: int = 2,
    checkpoint: str | Path | None = None,
    enough: Callable[[Run], bool] | None = None,
    patience: int = 0,
    hopeless: Callable[[Run, float], bool] | None = None,
    early: bool = False,
    progress: bool = True,
    title: str = "sampling",
) -> Run:
    """Run the chains of an engine, on and on while they do not satisfy.

    Parameters
    ----------
    engine
        How to start and move a chain.
    inputs
        The data, as a pytree of arrays.
    seed
        The same inputs, engine, seed and versions give the same draws.
    chains
        How many; they run side by side on the cores at hand.
    checkpoint
        Folder to keep checkpoints in (made if need be, readable by its owner only). The same call then goes on where an
        interrupted one stopped, and ends with the same draws.
    enough, patience
        A run that is not `enough` goes on until it is twice as long, at most `patience` times. What it has so far then
        counts as warm-up, and of the rest as many draws are kept, evenly spaced.
    hopeless
        Asked after a quarter and half of the draws, and before the run is made longer, with how many times as long it
        may still become: whether that is not worth it. The run then ends with what it has.
    early
        Whether half of the draws may be `enough`.
    progress
        Show a bar with the time left, if standard error is a terminal.
    title
        What the bar calls the work.
    """
    # LAPACK with threads of its own would fight for the cores with the chains (7 times slower with 100 predictors).
    with jax.enable_x64(new_val=True), threadpool_limits(1, user_api="blas"):
        length = _chunk_length(engine, inputs)
        facts = _facts(engine, seed, chains, length)
        store = None if checkpoint is None else open_store(checkpoint, facts, _by_path(inputs))
        clock = _Clock()
        chunks = _chunks(engine, inputs, jax.random.split(jax.random.key(seed), chains), length, store, clock)
        with progress_bar(title, shown=progress) as (extend, advance):

            def take(sweeps: int) -> list[_Chunk]:
                extend(sweeps // length)
                taken = []
                for _ in range(sweeps // length):
                    taken.append(next(chunks))
                    advance(1)
                return taken

            spent, kept, done = take(engine.warmup), [], 0
            most = engine.draws << patience
            # Whole chunks, and enough draws to tell anything at all.
            quarter, half = (max(engine.draws // (share * length), 1) * length for share in (4, 2))
            looks = (quarter, half) if quarter < half < engine.draws else ()
            ends = iter((*looks, *(engine.draws << turn for turn in range(patience + 1))))
            while True:
                end = next(ends)
                kept += take(end - done)
                done = end
                run = _collect(kept, spent, done, clock.seconds())
                # Asked even when it is too late to go on: the caller may want to know.
                judged = done >= engine.draws or (early and done == half)
                if (judged and (enough is None or enough(run))) or done == most:
                    return run
                if hopeless is not None and hopeless(run, most / done):
                    return run
                if done >= engine.draws:
                    spent += [replace(chunk, arrays={}) for chunk in kept]
                    kept = []


@dataclass(frozen=True, eq=False)
class _Chunk:
    """The draws of a chunk that are kept, how many gradients it took, and whether a checkpoint held it already."""

    arrays: Mapping[str, np.ndarray]
    gradients: int
    resumed: bool


class _Clock:
    """How long a run has compiled and started, and how long it has sampled, so far."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.starting = 0.0

    def seconds(self) -> dict[str, float]:
        """Seconds of each stage."""
        passed = time.perf_counter() - self.begun
        return {"compiling and starting": self.starting, "sampling": passed - self.starting}


def _chunks(
    engine: Engine, inputs: Pytree, keys: jax.Array, length: int, store: Store | None, clock: _Clock
) -> Iterator[_Chunk]:
    """Give chunk after chunk, first those of the checkpoint."""
    number, last = 0, None
    for content, arrays in () if store is None else read_chunks(store):
        yield _Chunk(arrays, _count_gradients(arrays), resumed=True)
        number, last = number + 1, content
    begun = time.perf_counter()
    start, move, placed = _compile(engine, engine.prepare(inputs), len(keys), length)
    # Not started where a state is there to go on from: only its shape is needed.
    states = start(keys, placed) if last is None else _refill(jax.eval_shape(start, keys, placed), read_leaves(last))
    clock.starting = time.perf_counter() - begun
    while True:
        states, told = move(states, placed)
        arrays = _flatten(told, _spaced(number * length - engine.warmup, length, engine.draws))
        if store is not None:
            write_chunk(store, number, [np.asarray(_plain(leaf)) for leaf in jax.tree.leaves(states)], arrays)
        yield _Chunk(arrays, _count_gradients(arrays), resumed=False)
        number += 1


def _spaced(first: int, length: int, draws: int) -> slice:
    """Which sweeps of a chunk are kept, given how many there were since the warm-up.

    All of the first `draws` sweeps and of the next `draws`; every second of the `2 draws` after those, and so on.
    """
    if first < 0:
        return slice(0)
    thin = 1 << max((first // draws).bit_length() - 1, 0)
    return slice(-(first + 1) % thin, length, thin)


def _chunk_length(engine: Engine, inputs: Pytree = ()) -> int:
    """Give the longest length that divides both stages, one function to compile: shorter where the data are large."""
    common = math.gcd(engine.warmup, engine.draws)
    numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(inputs))
    longest = min(common, LONGEST_CHUNK, max(LARGEST_CHUNK // max(numbers, 1), 1))
    return max(size for size in range(1, longest + 1) if common % size == 0)


def _spread(chains: int) -> Mesh:
    """Give the devices that share the chains evenly."""
    devices = jax.devices("cpu")
    number = max(count for count in range(1, len(devices) + 1) if chains % count == 0)
    return Mesh(np.array(devices[:number]), ("chain",))


def _compile(engine: Engine, inputs: Pytree, chains: int, length: int) -> tuple[Callable, Callable, Pytree]:
    """Spread the chains over the devices; those of one device run one after the other, not in lock step."""
    mesh = _spread(chains)
    by_chain, everywhere = PartitionSpec("chain"), PartitionSpec()

    def move(state: State, data: Pytree) -> tuple[State, Sweep]:
        return jax.lax.scan(lambda now, _: engine.sweep(now, data), state, None, length=length)

    def start_all(keys: jax.Array, data: Pytree) -> State:
        # A weak type, which no later state has, would have the chunk compiled twice.
        return jax.tree.map(_settle, jax.lax.map(lambda key: engine.start(key, data), keys))

    def move_all(states: State, data: Pytree) -> tuple[State, Sweep]:
        return jax.lax.map(lambda state: move(state, data), states)

    def start_here(keys: jax.Array, data: Pytree) -> State:
        # All chains on one device. Large matrices that are solved side by side are given to JAX's pool of threads, and
        # if every thread of it held a chain that waits for them, all would wait for ever (seen with 100 predictors).
        here = jax.device_put(data, mesh.devices[0])
        return jax.device_put(jax.jit(start_all)(keys, here), NamedSharding(mesh, by_chain))

    arrays = jax.tree.map(jnp.asarray, inputs)
    moved = jax.shard_map(move_all, mesh=mesh, in_specs=(by_chain, everywhere), out_specs=by_chain, check_vma=False)
    # Told where its results lie: an empty array would come back on every device, and have the chunk compiled twice.
    spread = jax.jit(moved, out_shardings=NamedSharding(mesh, by_chain))
    return start_here, spread, jax.device_put(arrays, NamedSharding(mesh, everywhere))


def _flatten(sweeps: Sweep, kept: slice) -> dict[str, np.ndarray]:
    parts = {"draws": sweeps.draw, "functionals": sweeps.functionals}
    arrays = {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}
    arrays |= {name: getattr(sweeps, name) for name in ("accept", "divergent")}
    arrays = {name: np.asarray(value)[:, kept] for name, value in arrays.items()}
    return arrays | {"gradients": np.asarray(sweeps.gradients).sum() * (kept != slice(0))}


def _count_gradients(arrays: Mapping[str, np.ndarray]) -> int:
    return int(arrays["gradients"])


def _collect(kept: list[_Chunk], before: list[_Chunk], sweeps: int, seconds: Mapping[str, float]) -> Run:
    names = [name for name in kept[0].arrays if name != "gradients"]
    joined = {name: np.concatenate([chunk.arrays[name] for chunk in kept], axis=1) for name in names}

    def part(prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): value for name, value in joined.items() if name.startswith(prefix)}

    return Run(
        part("draws/"),
        part("functionals/"),
        joined["accept"],
        joined["divergent"],
        sum(chunk.gradients for chunk in (*before, *kept)),
        sweeps,
        sum(chunk.resumed for chunk in (*before, *kept)),
        seconds,
    )


def _facts(engine: Engine, seed: int, chains: int, length: int) -> list[Any]:
    """All that decides the draws, and which of them a chunk holds, beside the inputs."""
    versions = {name: version(name) for name in DECIDING}
    return [engine.name, engine.warmup, engine.draws, int(seed), chains, length, versions]


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Take one pytree or the other, leaf by leaf, within compiled code."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b).astype(jnp.asarray(b).dtype), yes, no)


def _by_path(inputs: Pytree) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(inputs)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _settle(leaf: jax.Array) -> jax.Array:
    return leaf if _is_key(leaf) else jax.lax.convert_element_type(leaf, leaf.dtype)


def _plain(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _refill(template: State, leaves: list[np.ndarray]) -> State:
    """Put saved leaves where those of a fresh state would be."""
    old, shape = jax.tree.flatten(template)
    place = NamedSharding(_spread(len(leaves[0])), PartitionSpec("chain"))
    new = []
    for leaf, saved in zip(old, leaves, strict=True):
        array = jax.random.wrap_key_data(jnp.asarray(saved)) if _is_key(leaf) else jnp.asarray(saved, leaf.dtype)
        new.append(jax.device_put(array, place))
    return jax.tree.unflatten(shape, new)


@contextmanager
def progress_bar(title: str, *, shown: bool) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """A bar, with one function that makes it longer and one that moves it on."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not (shown and console.is_terminal), transient=True
    ) as bar:
        task = bar.add_task(title, total=0)

        def extend(chunks: int) -> None:
            bar.update(task, total=(bar.tasks[0].total or 0) + chunks)

        def advance(chunks: int) -> None:
            bar.advance(task, chunks)

        yield extend, advance
