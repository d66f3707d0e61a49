"""Pieces of work on a Dask cluster, of this machine or of others. The results are those of working here, to the byte.

What `molehill.runtime.parallel_map` is given becomes tasks of Dask. Functions and their arguments are packed here and
opened where they run, so that a scheduler, its log and its dashboard see packets with numbers for names and nothing
in them. A worker that dies takes nothing along: what it held is made again by another. A scheduler that is restarted
is given again what is still to do. What goes wrong in a piece is raised here, as if it had run here.
"""

import asyncio
import io
import logging
import os
import pickle
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from threading import Lock, current_thread, main_thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from molehill.errors import InputError
from molehill.runtime import call_alone, executing, hash_code, is_running, is_spreading, prepare_xla, workers

if TYPE_CHECKING:
    from distributed import Client

# Whose other version may make other bytes.
ALIKE = ("molehill", "numpy", "pandas", "pyarrow", "scipy", "numba", "jax", "jaxlib", "numpyro", "blackjax")
ALIKE += ("formulaic", "scikit-learn", "statsmodels")
# Seconds between looks at a piece that is awaited; until a scheduler answers; until a first worker is there; until a
# worker or a scheduler that went away is there again.
LOOK, ANSWER, FIRST_WORKER, GONE = 2.0, 10.0, 60.0, 120.0
# How often pieces are handed over anew, because a scheduler forgot them.
TURNS = 3
# Pieces that are under way at once, for every thread of a worker: what is done waits in memory to be fetched.
AHEAD = 2
_FOLDER = "molehill-workers-"
_OPENED: OrderedDict[str, Any] = OrderedDict()
_OPENING, _MOST_OPENED = Lock(), 2
# What is shared lies on the scheduler, whatever its size. A cluster that is started here serves no page, lays nothing
# on disk, and does not look every hundredth of a second at what its workers do.
_CONFIGURED = {
    "distributed.admin.large-graph-warning-threshold": "1 TB",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
_FORMS = 'Give "local", "local:2" (so many workers), or an address such as "tls://host:8786"'


@contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Let pieces of work run on a cluster, within the block.

    Parameters
    ----------
    address
        "local" starts a worker for every core of this machine, or "local:N" so many, and stops them in the end; they
        speak over TLS with keys made for them alone. "tls://host:8786" is the address of a scheduler, with the keys
        that Dask's own configuration names; "tcp://..." only if scheduler and workers are on this machine. None, or a
        cluster that is connected already: nothing changes.

    Examples
    --------
    >>> with connect(None):
    ...     pass
    """
    if address is None or is_spreading():
        yield
        return
    try:
        import distributed  # noqa: F401, PLC0415 (an extra: whoever does without does not need it)
    except ImportError:
        raise InputError(
            "scheduler", "Dask is not installed", "Install it: pip install 'molehill[cluster]'; or leave it out"
        ) from None
    opened = _start_local if address.partition(":")[0] == "local" else _join
    with _quiet(), opened(address) as client:
        yield from _with_cluster(client, local=opened is _start_local)


def _with_cluster(client: "Client", *, local: bool) -> Iterator[None]:
    _await_workers(client)
    cluster = Cluster(client, shares_files=local)
    cluster.check()
    with executing(cluster):
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to Molehill to say what becomes of a run: Dask logs every worker that comes and goes."""
    from dask import config  # noqa: PLC0415

    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with config.set(_CONFIGURED):
            yield
    finally:
        log.setLevel(before)


@contextmanager
def _start_local(address: str) -> "Iterator[Client]":
    from dask import config  # noqa: PLC0415
    from distributed import Client, LocalCluster  # noqa: PLC0415

    _, colon, number = address.partition(":")
    if colon and not (number.isdecimal() and 1 <= int(number) <= 1024):
        raise InputError("scheduler", f"{address!r} does not say how many workers", _FORMS)
    wanted = int(number) if colon else workers()
    _sweep()
    folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-")
    cores = {"MOLEHILL_CORES": str(max(1, workers() // wanted))}
    try:
        how: dict[str, Any] = {"local_directory": folder, "env": cores, "silence_logs": logging.CRITICAL}
        how |= {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
        try:
            with _deaf(), config.set({"temporary-directory": folder}):
                started = LocalCluster(n_workers=wanted, threads_per_worker=1, host="127.0.0.1", security=True, **how)
        except RuntimeError:
            # Python starts a process by running the script again, up to where this is asked for.
            remedy = 'Put the call of a script under `if __name__ == "__main__":`, or use the command line'
            raise InputError("scheduler", "no worker could be started on this machine", remedy) from None
        with started as cluster, Client(cluster) as client:
            yield client
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Do not hear Ctrl-C, so that workers that are started do not hear it either: it is answered here."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _sweep() -> None:
    """Remove the folders of workers whose process was killed before it could do so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        begun_by = folder.name.removeprefix(_FOLDER).partition("-")[0]
        with suppress(OSError):
            if begun_by.isdecimal() and not is_running(int(begun_by)) and _is_own(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    # On Windows everybody has a folder of their own for such files.
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


@contextmanager
def _join(address: str) -> "Iterator[Client]":
    from distributed import Client  # noqa: PLC0415

    place = _check_address(address)
    _check_keys(place)
    try:
        client = Client(place, timeout=ANSWER)
    except (OSError, TimeoutError):
        problem = f"no scheduler answers at {address!r}"
        raise InputError("scheduler", problem, "See to it that it runs and can be reached; or leave it out") from None
    except (TypeError, ValueError, RuntimeError):
        raise _keys_refused() from None
    try:
        yield client
    finally:
        # All is done and fetched: that a busy machine is slow to say goodbye is no fault of the work.
        with suppress(TimeoutError):
            client.close(timeout=5)


def _check_keys(place: str) -> None:
    """Refuse TLS without keys before there is a client.

    One that was made in vain stays, with its thread, until Python collects it. If that happens while the next one
    starts, in the thread that it starts, both wait for the same lock, and the next one fails.
    """
    from distributed import Security  # noqa: PLC0415

    try:
        has_keys = Security().get_connection_args("client")["ssl_context"] is not None
    except (OSError, TypeError, ValueError):
        has_keys = False
    if place.startswith("tls:") and not has_keys:
        raise _keys_refused()


def _keys_refused() -> InputError:
    problem = "the keys for TLS are missing or do not fit"
    remedy = "Name them in Dask's configuration (distributed.comm.tls): docs/cluster.md shows it"
    return InputError("scheduler", problem, remedy)


def _check_address(address: str) -> str:
    """Accept the address of a scheduler: without TLS only on this machine."""
    place = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(place)
        complete = parts.hostname is not None and parts.port is not None
    except ValueError:
        parts, complete = None, False
    if parts is None or not complete or parts.scheme not in ("tls", "tcp"):
        raise InputError("scheduler", f"{address!r} is no address of a scheduler", _FORMS)
    if parts.scheme == "tcp" and not _is_here(str(parts.hostname)):
        problem = (
            f"the scheduler at {address!r} is on another machine, and confidential values would travel in the open"
        )
        raise InputError(
            "scheduler", problem, "Run scheduler and workers with TLS, and give tls://...: docs/cluster.md"
        )
    return place


@cache
def _is_here(host: str) -> bool:
    """Whether a host is this machine: only its own addresses can be taken."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as one:
                one.bind((place[0], 0, *place[2:]))
        except OSError:
            return False
    return bool(found)


def _await_workers(client: "Client") -> None:
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER)
    except TimeoutError:
        problem = f"the scheduler has had no worker for {FIRST_WORKER:.0f} seconds"
        raise InputError("scheduler", problem, "Start workers: dask worker ADDRESS --nthreads 1") from None


class Packet:
    """Bytes that show nothing of what is in them."""

    def __init__(self, content: bytes) -> None:
        self.name = uuid.uuid4().hex
        self.content = content

    def __repr__(self) -> str:
        return f"Packet({len(self.content):,} bytes)"

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.content)


def pack(value: Any, shared: tuple[Any, ...] = ()) -> Packet:
    """Pack a value, without those of `shared` that it holds: whoever opens it has them."""
    import cloudpickle  # noqa: PLC0415

    places = {id(one): place for place, one in enumerate(shared)}

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, obj: Any) -> int | None:
            return places.get(id(obj))

    written = io.BytesIO()
    Packer(written, protocol=5).dump(value)
    return Packet(written.getvalue())


def unpack(packet: Packet, shared: tuple[Any, ...] = ()) -> Any:
    """Open a packet that this process, or one that it trusts with the data, has packed."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, pid: int) -> Any:
            return shared[pid]

    return Unpacker(io.BytesIO(packet.content)).load()


@dataclass(frozen=True)
class _Failed:
    """What a piece raised. Dask would write the arguments of a piece that raises into its log."""

    error: BaseException


def hold(packet: Packet) -> Packet:
    """Lie on a worker until pieces need it."""
    return packet


def run_piece(held: Packet, piece: Packet) -> Packet:
    """Run a piece of work, on a worker: what comes of it, packed."""
    try:
        shared = _open(held)
        function, call = unpack(piece, shared)
        return pack(call_alone(function, *shared, *call), shared)
    except Exception as error:  # noqa: BLE001 (whatever it is, it is raised where the piece was asked for)
        return _pack_error(error)


def _open(held: Packet) -> Any:
    """Open what pieces share, once for all of them."""
    prepare_xla()
    with _OPENING:
        if held.name not in _OPENED:
            _OPENED[held.name] = unpack(held)
        _OPENED.move_to_end(held.name)
        while len(_OPENED) > _MOST_OPENED:
            _OPENED.popitem(last=False)
        return _OPENED[held.name]


def _pack_error(error: Exception) -> Packet:
    """Pack what went wrong; of an error that cannot be packed and opened again only what kind it is."""
    try:
        packet = pack(_Failed(error.with_traceback(None)))
        unpack(packet)
    except Exception:  # noqa: BLE001 (an error may hold anything)
        return pack(_Failed(RuntimeError(f"a piece of work failed with {type(error).__name__}")))
    return packet


@dataclass(eq=False)
class Cluster:
    """A cluster to which pieces of work are handed: a `molehill.runtime.Executor`.

    Attributes
    ----------
    client
        Of Dask.
    shares_files
        Whether workers can read and write the files of this machine.
    """

    client: "Client"
    shares_files: bool
    _last: tuple[tuple[Any, ...], Packet] | None = field(default=None, init=False)
    _held: Any = field(default=None, init=False)
    _checked: set[str] = field(default_factory=set, init=False)

    def _pack_shared(self, shared: tuple[Any, ...]) -> Packet:
        """Pack what pieces share, or give the packet of the last ones that shared it: workers have opened it."""
        last = self._last
        if last is None or len(last[0]) != len(shared) or any(a is not b for a, b in zip(last[0], shared, strict=True)):
            self._last = last = (shared, pack(shared))
        return last[1]

    def check(self) -> None:
        """Refuse workers that would make other bytes, that lie open to others, or that are reached in the open."""
        self._checked.clear()
        self._check_new(self._find_workers())

    def _check_new(self, found: Iterable[str]) -> None:
        """Ask every worker once, also those that come later, before it is given anything."""
        new = [address for address in found if address not in self._checked]
        for address in new:
            self._check_reached(address)
        # What a worker cannot answer is as good as another version.
        told: Any = self.client.run(_describe_worker, workers=new, on_error="return") if new else {}
        for address, about in told.items():
            # One that has just gone is no worker any more.
            if isinstance(about, OSError):
                continue
            known = about["versions"] if isinstance(about, dict) else {}
            other = [name for name, number in _versions().items() if known.get(name) != number]
            if other:
                problem = f"a worker has other versions of {', '.join(other)} than this process, or lacks them"
                raise InputError("scheduler", problem, "Install the same versions on all machines")
            if not about["private"]:
                problem = "a worker would lay confidential values into a folder that others can read"
                raise InputError("scheduler", problem, "Give it a folder of its own: dask worker --local-directory")
            if about["threads"] != 1:
                problem = f"a worker has {about['threads']} threads, which would share what is set for one piece"
                raise InputError(
                    "scheduler", problem, "Start several workers of one: dask worker --nworkers 8 --nthreads 1"
                )
            self._checked.add(address)

    def _check_reached(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "tls" and not _is_here(str(parts.hostname)):
            problem = "a worker is on another machine, and confidential values would travel to it in the open"
            raise InputError("scheduler", problem, "Run scheduler and workers with TLS: docs/cluster.md")

    def spread(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Give `function(*shared, *call)` for every call, in order; who stops asking ends what is not begun."""
        waiting = deque(calls)
        common, turns = self._pack_shared(shared), 0
        while waiting:
            try:
                pieces = (pack((function, call), shared) for call in [*waiting])
                with closing(self._hand_over(common, pieces)) as packets:
                    for packet in packets:
                        made = unpack(packet, shared)
                        if isinstance(made, _Failed):
                            raise made.error
                        waiting.popleft()
                        turns = 0
                        yield made
            except _ForgottenError:
                turns += 1
                self._await_return(last=turns == TURNS)

    def _hand_over(self, common: Packet, pieces: Iterable[Packet]) -> Generator[Packet, None, None]:
        """Give what comes of the pieces, in order; some more than there are threads are under way."""
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415
        from distributed.comm.core import CommClosedError  # noqa: PLC0415

        under_way: deque[Any] = deque()
        waiting = iter(enumerate(pieces))
        try:
            own, _ = uuid.uuid4().hex, self._room()
            # Kept, so that those who share the same next time find it where it lies.
            self._held = held = self.client.submit(hold, common, key=f"molehill-held-{common.name}", pure=False)
            while True:
                for number, piece in waiting:
                    name = f"molehill-piece-{own}-{number}"
                    under_way.append(self.client.submit(run_piece, held, piece, key=name, pure=False))
                    if len(under_way) >= self._room():
                        break
                if not under_way:
                    return
                yield self._await(under_way.popleft())
        except KilledWorker as killed:
            problem = f"a piece of work ended {killed.allowed_failures + 1} workers one after the other"
            remedy = "They were killed, or had too little memory: give them more, or have fewer of them, and go on"
            raise InputError("scheduler", problem, f"{remedy} (--resume)") from None
        except (CancelledError, CommClosedError, OSError):
            raise _ForgottenError from None
        finally:
            # Pieces that nobody wants any more are not begun. Said without waiting for an answer: a generator may be
            # collected in the thread that would have to bring it.
            for future in under_way:
                future.release()

    def _room(self) -> int:
        found = self._find_workers()
        self._check_new(found)
        return 1 + AHEAD * len(found)

    def _find_workers(self) -> dict[str, Any]:
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def _await(self, future: Any) -> Packet:
        """Wait for a piece as long as there are workers that may be at it."""
        # Asked for once, however often it is looked for: a request that is given up in the middle would begin anew
        # every time, and Dask would answer later ones by it.
        loop: Any = self.client.loop
        fetched = asyncio.run_coroutine_threadsafe(_fetch(future), loop.asyncio_loop)
        missed = 0.0
        try:
            while True:
                try:
                    return fetched.result(timeout=LOOK)
                except TimeoutError:
                    # It came just now, or the piece itself raised such an error.
                    if fetched.done():
                        return fetched.result()
                    missed = 0.0 if self._find_workers() else missed + LOOK
                    if missed > GONE:
                        problem = f"there has been no worker for {GONE:.0f} seconds"
                        raise InputError("scheduler", problem, "Start some, and go on (--resume)") from None
        finally:
            # Also ends a request that nobody waits for any more.
            future.release()

    def _await_return(self, *, last: bool) -> None:
        """Wait until a scheduler that went away is there again, with a worker."""
        begun = time.monotonic()
        while not last and time.monotonic() - begun < GONE:
            with suppress(OSError, TimeoutError, ValueError):
                self.client.wait_for_workers(1, timeout=LOOK)
                return
            time.sleep(LOOK / 4)
        raise InputError(
            "scheduler", "the scheduler went away in the middle of the work", "Start it, and go on (--resume)"
        )


async def _fetch(future: Any) -> Packet:
    return (await future.client.gather([future], asynchronous=True))[0]


class _ForgottenError(Exception):
    """The scheduler knows nothing any more of pieces that it was given."""


def _versions() -> dict[str, str]:
    found = {name: version(name) for name in ALIKE} | {"python": ".".join(map(str, sys.version_info[:2]))}
    return found | {"molehill's own code": hash_code()}


def _describe_worker(dask_worker: Any) -> dict[str, Any]:
    """Say what matters of a worker, on it."""
    folder = Path(dask_worker.local_directory)
    private = os.name != "posix" or not stat.S_IMODE(folder.stat().st_mode) & 0o077
    return {"versions": _versions(), "private": private, "threads": dask_worker.state.nthreads}
