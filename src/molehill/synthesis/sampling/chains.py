"""Running the chains of an engine: compiled chunks of sweeps, parallel chains, progress, checkpoints and resumption.

An `Engine` defines how a chain starts and moves. A chunk of sweeps is compiled once and called repeatedly, so that a
run can show progress, be interrupted between chunks, and continue from its last checkpoint to the same bytes.

Data are always arguments of compiled functions, never captured: a captured array would be written, with its
confidential values, into the compile cache on disk.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from threadpoolctl import threadpool_limits

from molehill.errors import InputError, is_whole
from molehill.runtime import in_threads, is_spreading, parallel_map, prepare_jax, progress_bar
from molehill.synthesis.sampling.checkpoints import DECIDING, Store, open_store, read_chunks, read_leaves, write_chunk

State = Any
Pytree = Any
# Maximum number of sweeps per chunk, and of data values times sweeps, so that a kill loses a few seconds at most.
LONGEST_CHUNK = 25
LARGEST_CHUNK = 25_000_000
# Name of the device axis along records, and maximum number of devices per chain.
RECORDS, MOST_SHARDS = "records", 16
# Chunks of one chain per task on a cluster.
STRETCH = 4


class Sweep(NamedTuple):
    """Result of one sweep of a chain.

    `draw` maps sites to values; `functionals` maps names to label-invariant vectors; `accept` is the mean acceptance
    probability, `divergent` whether the trajectory diverged, `gradients` the number of gradient evaluations.
    """

    draw: Mapping[str, jax.Array]
    functionals: Mapping[str, jax.Array]
    accept: Any
    divergent: Any
    gradients: Any


class Engine(NamedTuple):
    """A sampler: pure functions of one chain that can be compiled.

    `start(key, inputs)` returns the initial state; `sweep(state, inputs)` moves it once and returns it with a `Sweep`.
    The state is a pytree of arrays that contains everything needed to continue, including key and tuning. The first
    `warmup` sweeps are not kept. `prepare` transforms the inputs, a pytree of arrays, once before compilation. `name`
    identifies everything that determines the draws beside the inputs. `by_record` marks the prepared inputs whose first
    axis runs over records, so that several devices can share them.
    """

    name: str
    start: Callable[[jax.Array, Pytree], State]
    sweep: Callable[[State, Pytree], tuple[State, Sweep]]
    warmup: int
    draws: int
    prepare: Callable[[Pytree], Pytree] = lambda inputs: inputs
    by_record: Callable[[Pytree], Pytree] | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """Result of a run: arrays (chains, draws, ...), and the seconds of each stage.

    `sweeps` counts the sweeps of a chain after warm-up, including those not kept; `gradients` those of all chains.
    `resumed` counts the chunks read from a checkpoint.
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
    shards: int = 1,
    checkpoint: str | Path | None = None,
    enough: Callable[[Run], bool] | None = None,
    patience: int = 0,
    hopeless: Callable[[Run, float], bool] | None = None,
    early: bool = False,
    progress: bool = True,
    title: str = "sampling",
) -> Run:
    """Run the chains of an engine until they are long enough.

    Parameters
    ----------
    engine
        The sampler.
    inputs
        The data, as a pytree of arrays.
    seed
        The same inputs, engine, seed and versions give the same draws.
    chains
        Number of chains, which run in parallel.
    shards
        Number of devices that share the records of every chain; the draws are the same up to rounding.
    checkpoint
        Folder for checkpoints, readable by its owner only. A repeated call continues an interrupted one and ends with
        the same draws.
    enough, patience
        A run that is not `enough` is doubled in length, at most `patience` times. Previous draws then count as warm-up,
        and of the rest the same number of draws is kept, evenly spaced.
    hopeless
        Called after a quarter and half of the draws, and before the run is extended, with the factor by which it may
        still be extended; True ends the run.
    early
        Whether half of the draws can be `enough`.
    progress
        Show a progress bar if standard error is a terminal.
    title
        Title of the progress bar.
    """
    # LAPACK threads would compete with the chains for the cores (7 times slower with 100 predictors).
    with jax.enable_x64(new_val=True), threadpool_limits(1, user_api="blas"):
        length = _chunk_length(engine, inputs)
        _check_shards(engine, chains, shards)
        # Rounding of sums depends on the number of shards.
        facts = [*_facts(engine, seed, chains, length), *([shards] if shards > 1 else [])]
        store = None if checkpoint is None else open_store(checkpoint, facts, _by_path(inputs))
        clock = _Clock()
        moving = _Moving(engine, inputs, length, shards)
        chunks = _chunks(moving, jax.random.split(jax.random.key(seed), chains), store, clock)
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
            # Whole chunks.
            quarter, half = (max(engine.draws // (share * length), 1) * length for share in (4, 2))
            looks = (quarter, half) if quarter < half < engine.draws else ()
            ends = iter((*looks, *(engine.draws << turn for turn in range(patience + 1))))
            while True:
                end = next(ends)
                kept += take(end - done)
                done = end
                run = _collect(kept, spent, done, clock.seconds())
                # Called even when the run cannot be extended: the caller may want to know.
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
    """The kept draws of a chunk, its number of gradients, and whether it was read from a checkpoint."""

    arrays: Mapping[str, np.ndarray]
    gradients: int
    resumed: bool


class _Clock:
    """Time spent on compiling and starting, and on sampling."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.starting = 0.0

    def seconds(self) -> dict[str, float]:
        """Seconds of each stage."""
        passed = time.perf_counter() - self.begun
        return {"compiling and starting": self.starting, "sampling": passed - self.starting}


def _chunks(moving: "_Moving", keys: jax.Array, store: Store | None, clock: _Clock) -> Iterator[_Chunk]:
    """Yield chunks, first those of the checkpoint."""
    number, last = 0, None
    for content, arrays in () if store is None else read_chunks(store):
        yield _Chunk(arrays, _count_gradients(arrays), resumed=True)
        number, last = number + 1, content
    leaves = None if last is None else read_leaves(last)
    # Shards run on this machine.
    moved = _move_elsewhere if is_spreading() and len(keys) > 1 and moving.shards == 1 else _move_here
    for chunk in moved(moving, keys, leaves, number, clock):
        given = [arrays for _, arrays in chunk]
        arrays = {name: np.stack([one[name] for one in given]) for name in given[0]}
        if store is not None:
            write_chunk(
                store, number, [np.stack(rows) for rows in zip(*(state for state, _ in chunk), strict=True)], arrays
            )
        yield _Chunk(arrays, _count_gradients(arrays), resumed=False)
        number += 1


@dataclass(frozen=True, eq=False)
class _Moving:
    """Moves a chain by a chunk; compiled on first use.

    Every chain is moved by the same compiled code, wherever it runs, so that its draws are the same bytes.
    """

    engine: Engine
    inputs: Pytree
    length: int
    shards: int = 1

    @cached_property
    def prepared(self) -> Pytree:
        """The inputs as the engine takes them."""
        return self.engine.prepare(self.inputs)

    @cached_property
    def alone(self) -> "_Compiled":
        """The compiled functions and inputs on one device."""
        return _compile(self.engine, self.prepared, self.length)

    def compiled(self, chain: int) -> "_Compiled":
        """The compiled functions and inputs of one chain, on its own devices if shards are used."""
        if self.shards == 1:
            return self.alone
        devices = jax.devices("cpu")[chain * self.shards : (chain + 1) * self.shards]
        return _compile(self.engine, self.prepared, self.length, Mesh(np.array(devices), (RECORDS,)))

    def flatten(self, sweeps: Sweep, number: int) -> dict[str, np.ndarray]:
        """The kept sweeps of a chunk."""
        engine = self.engine
        return _flatten(sweeps, _spaced(number * self.length - engine.warmup, self.length, engine.draws))


# Leaves of the final state of a chunk, and its draws.
_Moved = tuple[list[np.ndarray], dict[str, np.ndarray]]


def _move_here(
    moving: _Moving, keys: jax.Array, leaves: Sequence[np.ndarray] | None, number: int, clock: "_Clock"
) -> Iterator[list[_Moved]]:
    """Yield chunks of all chains, moved in parallel, from new states or from saved leaves."""
    begun = time.perf_counter()
    compiled = [moving.compiled(chain) for chain in range(len(keys))]
    # Sequentially: large parallel solves use JAX's thread pool, and would deadlock if every thread of it held a chain
    # (seen with 100 predictors).
    states = [compiled[chain].begin(key, leaves, chain) for chain, key in enumerate(keys)]
    sweeps: list[Any] = [None] * len(states)
    clock.starting = time.perf_counter() - begun

    def move(chain: int) -> None:
        # JAX's precision setting is per thread.
        with jax.enable_x64(new_val=True):
            own = compiled[chain]
            states[chain], sweeps[chain] = jax.block_until_ready(own.move(states[chain], own.inputs))

    while True:
        in_threads(move, [(chain,) for chain in range(len(states))])
        yield [
            ([np.asarray(_plain(leaf)) for leaf in jax.tree.leaves(state)], moving.flatten(own, number))
            for state, own in zip(states, sweeps, strict=True)
        ]
        number += 1


def _move_elsewhere(
    moving: _Moving, keys: jax.Array, leaves: Sequence[np.ndarray] | None, number: int, _clock: "_Clock"
) -> Iterator[list[_Moved]]:
    """Yield chunks of all chains, each moved by its own tasks on a cluster."""
    plain = replace(moving, inputs=jax.tree.map(np.asarray, moving.inputs))
    seeds = np.asarray(jax.random.key_data(keys))
    own = [None if leaves is None else [leaf[chain : chain + 1] for leaf in leaves] for chain in range(len(keys))]
    while True:
        calls = [(seeds[chain : chain + 1], own[chain], number) for chain in range(len(keys))]
        for chunk in zip(*parallel_map(_move_chain, calls, shared=(plain,)), strict=True):
            own = [[leaf[None] for leaf in state] for state, _ in chunk]
            yield list(chunk)
            number += 1


def _move_chain(moving: _Moving, seed: np.ndarray, leaves: Sequence[np.ndarray] | None, number: int) -> list[_Moved]:
    """Move one chain by some chunks, as a task."""
    prepare_jax()
    with jax.enable_x64(new_val=True), threadpool_limits(1, user_api="blas"):
        chunks = _move_here(moving, jax.random.wrap_key_data(jnp.asarray(seed)), leaves, number, _Clock())
        return [next(chunks)[0] for _ in range(STRETCH)]


def _spaced(first: int, length: int, draws: int) -> slice:
    """Which sweeps of a chunk are kept, given the number of sweeps since warm-up.

    All of the first `draws` sweeps and of the next `draws`; every second of the `2 draws` after those, and so on.
    """
    if first < 0:
        return slice(0)
    thin = 1 << max((first // draws).bit_length() - 1, 0)
    return slice(-(first + 1) % thin, length, thin)


def _chunk_length(engine: Engine, inputs: Pytree = ()) -> int:
    """Length of a chunk: it divides warm-up and draws, and is shorter for large data."""
    common = math.gcd(engine.warmup, engine.draws)
    numbers = sum(np.size(leaf) for leaf in jax.tree.leaves(inputs))
    longest = min(common, LONGEST_CHUNK, max(LARGEST_CHUNK // max(numbers, 1), 1))
    return max(size for size in range(1, longest + 1) if common % size == 0)


@dataclass(frozen=True, eq=False)
class _Compiled:
    """Compiled functions that start and move a chain, their inputs, and shape and placement of a state."""

    start: Callable[[jax.Array, Pytree], State]
    move: Callable[[State, Pytree], tuple[State, Sweep]]
    inputs: Pytree
    shape: State
    place: Any = None

    def begin(self, key: jax.Array, leaves: Sequence[np.ndarray] | None, chain: int) -> State:
        """Start a chain, or restore its state."""
        if leaves is None:
            return jax.device_put(self.start(key, self.inputs), self.place)
        return jax.device_put(_refill(self.shape, [leaf[chain] for leaf in leaves]), self.place)


def _compile(engine: Engine, inputs: Pytree, length: int, mesh: Mesh | None = None) -> _Compiled:
    """Compile for one device, or for a mesh of devices that share the records."""

    def start(key: jax.Array, data: Pytree) -> State:
        # Without weak types, which later states do not have and which would cause a second compilation.
        return jax.tree.map(lambda leaf: _settle(jnp.asarray(leaf)), engine.start(key, data))

    def move(state: State, data: Pytree) -> tuple[State, Sweep]:
        if mesh is not None and engine.by_record is not None:
            # Arrays that could not be divided evenly when they were placed.
            data = jax.tree.map(lambda array, own: share_records(array) if own else array, data, along)
        return jax.lax.scan(lambda now, _: engine.sweep(now, data), state, None, length=length)

    along = None if engine.by_record is None else engine.by_record(inputs)
    first = jax.devices("cpu")[0] if mesh is None else mesh.devices.flat[0]
    here = jax.device_put(jax.tree.map(jnp.asarray, inputs), first)
    shape = jax.eval_shape(start, jax.random.key(0), here)
    # Compiled before threads start, which would compile it once each.
    if mesh is None:
        return _Compiled(jax.jit(start), jax.jit(move).lower(shape, here).compile(), here, shape)
    everywhere, placed = NamedSharding(mesh, PartitionSpec()), _place(engine, inputs, mesh)
    # `shards` reads this mesh, and JAX divides the work by the placement of the records.
    with jax.set_mesh(mesh):
        given = (everywhere, jax.tree.map(lambda array: array.sharding, placed))
        moved = jax.jit(move, in_shardings=given, out_shardings=everywhere).lower(shape, placed).compile()

    def start_whole(key: jax.Array, _: Pytree) -> State:
        return jax.jit(start)(jax.device_put(key, first), here)

    return _Compiled(start_whole, moved, placed, shape, everywhere)


def _check_shards(engine: Engine, chains: int, number: int) -> None:
    if number == 1:
        return
    if engine.by_record is None:
        raise InputError("shards", "this model cannot share its records among devices", "Omit it")
    if not is_whole(number, 1) or number & (number - 1) or number > MOST_SHARDS:
        problem, remedy = f"it must be a power of 2, at most {MOST_SHARDS}", "Use 2 or 4, or omit it"
        raise InputError("shards", problem, remedy)
    if len(jax.devices("cpu")) < chains * number:
        problem = f"{chains} chains need {chains * number} devices, and JAX has {len(jax.devices('cpu'))}"
        raise InputError("shards", problem, "Use fewer shards, or set JAX_NUM_CPU_DEVICES")


def shards() -> int:
    """Number of devices that share the records, within compiled code of an engine."""
    return dict(jax.sharding.get_abstract_mesh().shape).get(RECORDS, 1)


def share_records(array: jax.Array) -> jax.Array:
    """Divide the first axis over the devices that share the records, within compiled code."""
    return array if shards() == 1 else jax.lax.with_sharding_constraint(array, PartitionSpec(RECORDS))


def _place(engine: Engine, inputs: Pytree, mesh: Mesh) -> Pytree:
    """Place the data on the devices: arrays along records are divided, others replicated."""
    assert engine.by_record is not None
    everywhere, along = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), (RECORDS,)))
    number, arrays = mesh.shape[RECORDS], jax.tree.map(jnp.asarray, inputs)
    # Arrays that cannot be divided evenly are divided within compiled code.
    places = jax.tree.map(
        lambda array, own: along if own and len(array) % number == 0 else everywhere, arrays, engine.by_record(inputs)
    )
    return jax.tree.map(jax.device_put, arrays, places)


def _flatten(sweeps: Sweep, kept: slice) -> dict[str, np.ndarray]:
    parts = {"draws": sweeps.draw, "functionals": sweeps.functionals}
    arrays = {f"{part}/{name}": value for part, values in parts.items() for name, value in values.items()}
    arrays |= {name: getattr(sweeps, name) for name in ("accept", "divergent")}
    arrays = {name: np.asarray(value)[kept] for name, value in arrays.items()}
    return arrays | {"gradients": np.asarray(sweeps.gradients).sum() * (kept != slice(0))}


def _count_gradients(arrays: Mapping[str, np.ndarray]) -> int:
    return int(arrays["gradients"].sum())


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
    """Everything beside the inputs that determines the draws and chunks."""
    versions = {name: version(name) for name in DECIDING}
    return [engine.name, engine.warmup, engine.draws, int(seed), chains, length, versions]


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Select one of two pytrees, leaf by leaf, within compiled code."""
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


def _refill(template: State, leaves: Sequence[np.ndarray]) -> State:
    """Restore a state from saved leaves."""
    old, shape = jax.tree.flatten(template)
    new = [
        jax.random.wrap_key_data(jnp.asarray(saved)) if _is_key(leaf) else jnp.asarray(saved, leaf.dtype)
        for leaf, saved in zip(old, leaves, strict=True)
    ]
    return jax.tree.unflatten(shape, new)
