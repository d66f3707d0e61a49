"""Parallel tasks on a Dask cluster, local or remote, with the same results to the byte as in one process.

The calls of `molehill.runtime.parallel_map` become Dask tasks. Functions and arguments are serialized here and opened
on the workers, so that the scheduler, its logs and its dashboard see only packets with random names. Tasks of a worker
that dies are repeated elsewhere, and a restarted scheduler gets the remaining tasks again. Errors of a task are raised
here.
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

# Packages whose version can change results.
ALIKE = ("molehill", "numpy", "pandas", "pyarrow", "scipy", "numba", "jax", "jaxlib", "numpyro", "blackjax")
ALIKE += ("formulaic", "scikit-learn", "statsmodels")
# Seconds between checks of an awaited task; timeouts for the scheduler's answer, for the first worker, and for a worker
# or scheduler to return.
LOOK, ANSWER, FIRST_WORKER, GONE = 2.0, 10.0, 60.0, 120.0
# How often tasks are resubmitted after a scheduler lost them.
TURNS = 3
# Tasks submitted at once per worker thread; results wait in memory until they are fetched.
AHEAD = 2
_FOLDER = "molehill-workers-"
_OPENED: OrderedDict[str, Any] = OrderedDict()
_OPENING, _MOST_OPENED = Lock(), 2
# Shared arguments pass through the scheduler, whatever their size. A local cluster serves no pages, writes nothing to
# disk and does not profile its workers.
_CONFIGURED = {
    "distributed.admin.large-graph-warning-threshold": "1 TB",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
_FORMS = 'Use "local", "local:2" (two workers), or an address such as "tls://host:8786"'


@contextmanager
def connect(address: str | None) -> Iterator[None]:
    """Run parallel tasks on a cluster, within the block.

    Parameters
    ----------
    address
        "local" starts one worker per core of this machine, "local:N" N workers, which are stopped at the end and
        communicate over TLS with temporary keys. "tls://host:8786" is the address of a scheduler, with the keys of
        Dask's configuration; "tcp://..." is allowed only for a cluster on this machine. With None, or if a cluster is
        connected already, nothing changes.

    Examples
    --------
    >>> with connect(None):
    ...     pass
    """
    if address is None or is_spreading():
        yield
        return
    try:
        import distributed  # noqa: F401, PLC0415 (an optional dependency)
    except ImportError:
        raise InputError(
            "scheduler", "Dask is not installed", "Install it: pip install 'molehill[cluster]'; or omit the scheduler"
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
    """Silence Dask's logs of workers."""
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
        raise InputError("scheduler", f"{address!r} is not a valid number of workers", _FORMS)
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
            # Python starts a process by importing the script again.
            remedy = 'Put the call in a script under `if __name__ == "__main__":`, or use the command line'
            raise InputError("scheduler", "no worker could be started on this machine", remedy) from None
        with started as cluster, Client(cluster) as client:
            yield client
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore Ctrl-C while workers start, so that they inherit this: it is handled in this process."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _sweep() -> None:
    """Remove worker folders left by killed processes."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        begun_by = folder.name.removeprefix(_FOLDER).partition("-")[0]
        with suppress(OSError):
            if begun_by.isdecimal() and not is_running(int(begun_by)) and _is_own(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    # On Windows temporary folders are per user.
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
        raise InputError("scheduler", problem, "Check that it runs and can be reached, or omit the scheduler") from None
    except (TypeError, ValueError, RuntimeError):
        raise _keys_refused() from None
    try:
        yield client
    finally:
        # All results are fetched: a slow disconnect is not an error.
        with suppress(TimeoutError):
            client.close(timeout=5)


def _check_keys(place: str) -> None:
    """Raise an error for TLS without keys before creating a client.

    A client that fails stays, with its thread, until Python collects it. If this happens while the next one starts,
    both wait for the same lock, and the next one fails.
    """
    from distributed import Security  # noqa: PLC0415

    try:
        has_keys = Security().get_connection_args("client")["ssl_context"] is not None
    except (OSError, TypeError, ValueError):
        has_keys = False
    if place.startswith("tls:") and not has_keys:
        raise _keys_refused()


def _keys_refused() -> InputError:
    problem = "the keys for TLS are missing or invalid"
    remedy = "Name them in Dask's configuration (distributed.comm.tls), see docs/cluster.md"
    return InputError("scheduler", problem, remedy)


def _check_address(address: str) -> str:
    """Check the address of a scheduler: without TLS only on this machine."""
    place = address if "://" in address else f"tcp://{address}"
    try:
        parts = urlsplit(place)
        complete = parts.hostname is not None and parts.port is not None
    except ValueError:
        parts, complete = None, False
    if parts is None or not complete or parts.scheme not in ("tls", "tcp"):
        raise InputError("scheduler", f"{address!r} is not the address of a scheduler", _FORMS)
    if parts.scheme == "tcp" and not _is_here(str(parts.hostname)):
        problem = (
            f"the scheduler at {address!r} is on another machine, and confidential values would be sent unencrypted"
        )
        raise InputError(
            "scheduler", problem, "Run scheduler and workers with TLS, and use tls://..., see docs/cluster.md"
        )
    return place


@cache
def _is_here(host: str) -> bool:
    """Whether a host is this machine: only its own addresses can be bound."""
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
    """Serialized content whose representation shows only its size."""

    def __init__(self, content: bytes) -> None:
        self.name = uuid.uuid4().hex
        self.content = content

    def __repr__(self) -> str:
        return f"Packet({len(self.content):,} bytes)"

    def __sizeof__(self) -> int:
        return sys.getsizeof(self.content)


def pack(value: Any, shared: tuple[Any, ...] = ()) -> Packet:
    """Serialize a value, with references to the objects of `shared` that it contains."""
    import cloudpickle  # noqa: PLC0415

    places = {id(one): place for place, one in enumerate(shared)}

    class Packer(cloudpickle.Pickler):
        def persistent_id(self, obj: Any) -> int | None:
            return places.get(id(obj))

    written = io.BytesIO()
    Packer(written, protocol=5).dump(value)
    return Packet(written.getvalue())


def unpack(packet: Packet, shared: tuple[Any, ...] = ()) -> Any:
    """Open a packet of this process, or of one that is trusted with the data."""

    class Unpacker(pickle.Unpickler):
        def persistent_load(self, pid: int) -> Any:
            return shared[pid]

    return Unpacker(io.BytesIO(packet.content)).load()


@dataclass(frozen=True)
class _Failed:
    """The error of a task, returned as a result because Dask logs the arguments of a failing task."""

    error: BaseException


def hold(packet: Packet) -> Packet:
    """Keep a packet on a worker until tasks need it."""
    return packet


def run_piece(held: Packet, piece: Packet) -> Packet:
    """Run a task on a worker, and pack its result."""
    try:
        shared = _open(held)
        function, call = unpack(piece, shared)
        return pack(call_alone(function, *shared, *call), shared)
    except Exception as error:  # noqa: BLE001 (any error is raised in the calling process)
        return _pack_error(error)


def _open(held: Packet) -> Any:
    """Open shared arguments, once for all tasks."""
    prepare_xla()
    with _OPENING:
        if held.name not in _OPENED:
            _OPENED[held.name] = unpack(held)
        _OPENED.move_to_end(held.name)
        while len(_OPENED) > _MOST_OPENED:
            _OPENED.popitem(last=False)
        return _OPENED[held.name]


def _pack_error(error: Exception) -> Packet:
    """Pack an error; one that cannot be serialized is replaced by its type."""
    try:
        packet = pack(_Failed(error.with_traceback(None)))
        unpack(packet)
    except Exception:  # noqa: BLE001 (an error may hold anything)
        return pack(_Failed(RuntimeError(f"a task failed with {type(error).__name__}")))
    return packet


@dataclass(eq=False)
class Cluster:
    """A `molehill.runtime.Executor` on a Dask cluster.

    Attributes
    ----------
    client
        The Dask client.
    shares_files
        Whether workers can use the files of this machine.
    """

    client: "Client"
    shares_files: bool
    _last: tuple[tuple[Any, ...], Packet] | None = field(default=None, init=False)
    _held: Any = field(default=None, init=False)
    _checked: set[str] = field(default_factory=set, init=False)

    def _pack_shared(self, shared: tuple[Any, ...]) -> Packet:
        """Pack shared arguments, or reuse the last packet if they are the same."""
        last = self._last
        if last is None or len(last[0]) != len(shared) or any(a is not b for a, b in zip(last[0], shared, strict=True)):
            self._last = last = (shared, pack(shared))
        return last[1]

    def check(self) -> None:
        """Raise an error for workers with other versions, with readable folders, or without encryption."""
        self._checked.clear()
        self._check_new(self._find_workers())

    def _check_new(self, found: Iterable[str]) -> None:
        """Check every worker once, also later ones, before it gets a task."""
        new = [address for address in found if address not in self._checked]
        for address in new:
            self._check_reached(address)
        # A worker that cannot answer counts as another version.
        answers: Any = self.client.run(_describe_worker, workers=new, on_error="return") if new else {}
        for address, about in answers.items():
            # The worker has just left.
            if isinstance(about, OSError):
                continue
            known = about["versions"] if isinstance(about, dict) else {}
            other = [name for name, number in _versions().items() if known.get(name) != number]
            if other:
                problem = f"a worker has other versions of {', '.join(other)} than this process, or lacks them"
                raise InputError("scheduler", problem, "Install the same versions on all machines")
            if not about["private"]:
                problem = "a worker would lay confidential values into a folder that others can read"
                raise InputError("scheduler", problem, "Use a private folder: dask worker --local-directory")
            if about["threads"] != 1:
                problem = f"a worker has {about['threads']} threads, but tasks need a single one"
                raise InputError(
                    "scheduler", problem, "Start several workers with one thread: dask worker --nworkers 8 --nthreads 1"
                )
            self._checked.add(address)

    def _check_reached(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "tls" and not _is_here(str(parts.hostname)):
            problem = "a worker is on another machine, and confidential values would be sent to it unencrypted"
            raise InputError("scheduler", problem, "Run scheduler and workers with TLS, see docs/cluster.md")

    def spread(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Yield `function(*shared, *call)` for every call, in order; closing the iterator cancels tasks not started."""
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
        """Yield the results of tasks in order, with somewhat more tasks submitted than there are threads."""
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415
        from distributed.comm.core import CommClosedError  # noqa: PLC0415

        under_way: deque[Any] = deque()
        waiting = iter(enumerate(pieces))
        try:
            own, _ = uuid.uuid4().hex, self._room()
            # Kept for later calls with the same shared arguments.
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
            problem = f"a task ended {killed.allowed_failures + 1} workers"
            remedy = "They were killed, or ran out of memory: use fewer workers or more memory, and continue (--resume)"
            raise InputError("scheduler", problem, remedy) from None
        except (CancelledError, CommClosedError, OSError):
            raise _ForgottenError from None
        finally:
            # Cancels tasks not started. Without waiting for an answer: a generator may be collected in the thread that
            # would have to deliver it.
            for future in under_way:
                future.release()

    def _room(self) -> int:
        found = self._find_workers()
        self._check_new(found)
        return 1 + AHEAD * len(found)

    def _find_workers(self) -> dict[str, Any]:
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def _await(self, future: Any) -> Packet:
        """Wait for a task as long as there are workers."""
        # Requested once and polled: a cancelled request would start again every time, and confuse later ones.
        loop: Any = self.client.loop
        fetched = asyncio.run_coroutine_threadsafe(_fetch(future), loop.asyncio_loop)
        missed = 0.0
        try:
            while True:
                try:
                    return fetched.result(timeout=LOOK)
                except TimeoutError:
                    # It has just arrived, or the task itself raised a TimeoutError.
                    if fetched.done():
                        return fetched.result()
                    missed = 0.0 if self._find_workers() else missed + LOOK
                    if missed > GONE:
                        problem = f"there has been no worker for {GONE:.0f} seconds"
                        raise InputError("scheduler", problem, "Start workers, and continue (--resume)") from None
        finally:
            # Also cancels the request.
            future.release()

    def _await_return(self, *, last: bool) -> None:
        """Wait until the scheduler is back, with a worker."""
        begun = time.monotonic()
        while not last and time.monotonic() - begun < GONE:
            with suppress(OSError, TimeoutError, ValueError):
                self.client.wait_for_workers(1, timeout=LOOK)
                return
            time.sleep(LOOK / 4)
        raise InputError("scheduler", "the connection to the scheduler was lost", "Restart it, and continue (--resume)")


async def _fetch(future: Any) -> Packet:
    return (await future.client.gather([future], asynchronous=True))[0]


class _ForgottenError(Exception):
    """The scheduler has lost its tasks."""


def _versions() -> dict[str, str]:
    found = {name: version(name) for name in ALIKE} | {"python": ".".join(map(str, sys.version_info[:2]))}
    return found | {"molehill's own code": hash_code()}


def _describe_worker(dask_worker: Any) -> dict[str, Any]:
    """Versions, privacy and threads of a worker, determined on it."""
    folder = Path(dask_worker.local_directory)
    private = os.name != "posix" or not stat.S_IMODE(folder.stat().st_mode) & 0o077
    return {"versions": _versions(), "private": private, "threads": dask_worker.state.nthreads}
