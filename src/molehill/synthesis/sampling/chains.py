"""From an engine to draws: compiled chunks of sweeps, chains on all cores, progress, checkpoints and resumption.

An `Engine` says how one chain starts and moves; this module knows nothing of models. A chunk of sweeps is compiled once
and called again and again, so that a run can show its progress, be interrupted between chunks, and go on from its last
checkpoint to the same bytes. What a checkpoint holds is read, and nothing is compiled before a chunk is missing.

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
# Sweeps of a chunk, and numbers of the data times sweeps: a kill costs a second or two, on large datasets some ten.
LONGEST_CHUNK = 25
LARGEST_CHUNK = 25_000_000
# The axis along which devices share the records of a chain, and how many of them may.
RECORDS, MOST_SHARDS = "records", 16
# Chunks of one chain that make a piece of work, where pieces of work run elsewhere.
STRETCH = 4


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
    beside them. `by_record` says of every one of the prepared inputs whether its first axis goes along the records, so
    that several devices can share them; without it they cannot.
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
    shards: int = 1,
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
    shards
        How many devices share the records of every chain; the draws are then the same but for rounding.
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
        _check_shards(engine, chains, shards)
        # Sums over records that are divided otherwise are rounded otherwise.
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


def _chunks(moving: "_Moving", keys: jax.Array, store: Store | None, clock: _Clock) -> Iterator[_Chunk]:
    """Give chunk after chunk, first those of the checkpoint."""
    number, last = 0, None
    for content, arrays in () if store is None else read_chunks(store):
        yield _Chunk(arrays, _count_gradients(arrays), resumed=True)
        number, last = number + 1, content
    leaves = None if last is None else read_leaves(last)
    # Devices that share the records of a chain are here.
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
    """How a chain is moved by a chunk; compiled when it is first asked for.

    Chains are moved one by one, by the same code wherever they run and however many there are, so that their draws are
    the same bytes.
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
        """What starts a chain, what moves it by a chunk, and the inputs of both, on one device."""
        return _compile(self.engine, self.prepared, self.length)

    def compiled(self, chain: int) -> "_Compiled":
        """The same for one of the chains: each has devices of its own, if several share its records."""
        if self.shards == 1:
            return self.alone
        devices = jax.devices("cpu")[chain * self.shards : (chain + 1) * self.shards]
        return _compile(self.engine, self.prepared, self.length, Mesh(np.array(devices), (RECORDS,)))

    def flatten(self, told: Sweep, number: int) -> dict[str, np.ndarray]:
        """Give what is kept of the sweeps of a chunk."""
        engine = self.engine
        return _flatten(told, _spaced(number * self.length - engine.warmup, self.length, engine.draws))


# The leaves of the state that a chunk of a chain ended in, and what it gave.
_Moved = tuple[list[np.ndarray], dict[str, np.ndarray]]


def _move_here(
    moving: _Moving, keys: jax.Array, leaves: Sequence[np.ndarray] | None, number: int, clock: "_Clock"
) -> Iterator[list[_Moved]]:
    """Move all chains by chunk after chunk, side by side, from new states or from those of earlier leaves."""
    begun = time.perf_counter()
    compiled = [moving.compiled(chain) for chain in range(len(keys))]
    # One after the other. Large matrices that are solved side by side are given to JAX's pool of threads, and if every
    # thread of it held a chain that waits for them, all would wait for ever (seen with 100 predictors).
    states = [compiled[chain].begin(key, leaves, chain) for chain, key in enumerate(keys)]
    told: list[Any] = [None] * len(states)
    clock.starting = time.perf_counter() - begun

    def move(chain: int) -> None:
        # What JAX is told holds in one thread only.
        with jax.enable_x64(new_val=True):
            own = compiled[chain]
            states[chain], told[chain] = jax.block_until_ready(own.move(states[chain], own.inputs))

    while True:
        in_threads(move, [(chain,) for chain in range(len(states))])
        yield [
            ([np.asarray(_plain(leaf)) for leaf in jax.tree.leaves(state)], moving.flatten(own, number))
            for state, own in zip(states, told, strict=True)
        ]
        number += 1


def _move_elsewhere(
    moving: _Moving, keys: jax.Array, leaves: Sequence[np.ndarray] | None, number: int, _clock: "_Clock"
) -> Iterator[list[_Moved]]:
    """Move every chain as pieces of work of its own, some chunks at a time."""
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
    """Move one chain by some chunks, where pieces of work run."""
    prepare_jax()
    with jax.enable_x64(new_val=True), threadpool_limits(1, user_api="blas"):
        chunks = _move_here(moving, jax.random.wrap_key_data(jnp.asarray(seed)), leaves, number, _Clock())
        return [next(chunks)[0] for _ in range(STRETCH)]


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


@dataclass(frozen=True, eq=False)
class _Compiled:
    """What starts a chain and what moves it by a chunk, compiled; their inputs, and shape and place of a state."""

    start: Callable[[jax.Array, Pytree], State]
    move: Callable[[State, Pytree], tuple[State, Sweep]]
    inputs: Pytree
    shape: State
    place: Any = None

    def begin(self, key: jax.Array, leaves: Sequence[np.ndarray] | None, chain: int) -> State:
        """Start a chain, or give the state that it had."""
        if leaves is None:
            return jax.device_put(self.start(key, self.inputs), self.place)
        return jax.device_put(_refill(self.shape, [leaf[chain] for leaf in leaves]), self.place)


def _compile(engine: Engine, inputs: Pytree, length: int, mesh: Mesh | None = None) -> _Compiled:
    """Compile for one device, or for those of a mesh that share the records."""

    def start(key: jax.Array, data: Pytree) -> State:
        # A weak type, which no later state has, would have the chunk compiled twice.
        return jax.tree.map(lambda leaf: _settle(jnp.asarray(leaf)), engine.start(key, data))

    def move(state: State, data: Pytree) -> tuple[State, Sweep]:
        if mesh is not None and engine.by_record is not None:
            # What could not be divided evenly where it lies.
            data = jax.tree.map(lambda array, own: share_records(array) if own else array, data, along)
        return jax.lax.scan(lambda now, _: engine.sweep(now, data), state, None, length=length)

    along = None if engine.by_record is None else engine.by_record(inputs)
    first = jax.devices("cpu")[0] if mesh is None else mesh.devices.flat[0]
    here = jax.device_put(jax.tree.map(jnp.asarray, inputs), first)
    shape = jax.eval_shape(start, jax.random.key(0), here)
    # Before there are threads, which would compile it once each.
    if mesh is None:
        return _Compiled(jax.jit(start), jax.jit(move).lower(shape, here).compile(), here, shape)
    everywhere, placed = NamedSharding(mesh, PartitionSpec()), _place(engine, inputs, mesh)
    # Within it `shards` knows of the mesh, and JAX divides the work by where the records are.
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
        raise InputError("shards", "this model cannot share its records among devices", "Leave it out")
    if not is_whole(number, 1) or number & (number - 1) or number > MOST_SHARDS:
        problem, remedy = f"it must be a power of 2, at most {MOST_SHARDS}", "Give 2 or 4, or leave it out"
        raise InputError("shards", problem, remedy)
    if len(jax.devices("cpu")) < chains * number:
        problem = f"{chains} chains need {chains * number} devices, and JAX has {len(jax.devices('cpu'))}"
        raise InputError("shards", problem, "Give fewer, or more devices to JAX (JAX_NUM_CPU_DEVICES)")


def shards() -> int:
    """How many devices share the records, within compiled code of an engine."""
    return dict(jax.sharding.get_abstract_mesh().shape).get(RECORDS, 1)


def share_records(array: jax.Array) -> jax.Array:
    """Divide the first axis over the devices that share the records, within compiled code; JAX adds what they add."""
    return array if shards() == 1 else jax.lax.with_sharding_constraint(array, PartitionSpec(RECORDS))


def _place(engine: Engine, inputs: Pytree, mesh: Mesh) -> Pytree:
    """Put the data where they are worked on: of what goes along the records, every device has its own."""
    assert engine.by_record is not None
    everywhere, along = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), (RECORDS,)))
    number, arrays = mesh.shape[RECORDS], jax.tree.map(jnp.asarray, inputs)
    # What cannot be divided evenly here is divided within compiled code.
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


def _refill(template: State, leaves: Sequence[np.ndarray]) -> State:
    """Put saved leaves where those of a fresh state would be."""
    old, shape = jax.tree.flatten(template)
    new = [
        jax.random.wrap_key_data(jnp.asarray(saved)) if _is_key(leaf) else jnp.asarray(saved, leaf.dtype)
        for leaf, saved in zip(old, leaves, strict=True)
    ]
    return jax.tree.unflatten(shape, new)
