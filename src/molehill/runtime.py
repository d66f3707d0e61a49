"""The runtime environment: cores, threads, memory, JAX, parallel tasks and progress. Importing it has no effects."""

import ctypes
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits


def workers() -> int:
    """Number of cores this process can use, limited by the environment variable `MOLEHILL_CORES`."""
    given = os.environ.get("MOLEHILL_CORES", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Available memory in bytes; None if the system does not report it."""
    found = []
    with suppress(OSError, ValueError, KeyError):
        found.append(1024 * _read_facts(Path("/proc/meminfo"))["MemAvailable"])
    # A container may have less memory than its machine; its file cache can be freed.
    with suppress(OSError, ValueError, KeyError):
        group = Path("/sys/fs/cgroup")
        most, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        found.append(most - used + _read_facts(group / "memory.stat")["inactive_file"])
    if not found and hasattr(os, "sysconf"):
        with suppress(OSError, ValueError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return max(min(found), 0) if found else None


def _read_facts(path: Path) -> dict[str, int]:
    """Read lines with a name and a whole number."""
    lines = (line.replace(":", " ").split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines}


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers(), thread_name_prefix="molehill")


def in_threads(kernel: Callable[..., None], calls: Sequence[tuple[int, ...]]) -> None:
    """Make all calls in parallel threads, the first in this one."""
    others = [_pool().submit(kernel, *call) for call in calls[1:]]
    try:
        kernel(*calls[0])
    except SystemError as error:
        # Ctrl-C is not an error of the kernel.
        if stopped := find_stop(error):
            raise stopped from None
        raise
    for other in others:
        other.result()


def find_stop(error: BaseException) -> BaseException | None:
    """The interruption that an error is or comes from; None if there is none.

    A signal handled when a compiled function returns is wrapped into a SystemError.
    """
    while isinstance(error, Exception):
        following = error.__cause__ or error.__context__
        if following is None:
            return None
        error = following
    return error


# Threads do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


class Executor(Protocol):
    """Runs parallel tasks elsewhere; `shares_files` is whether they can use the files of this machine."""

    shares_files: bool

    def spread(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Yield `function(*shared, *call)` for every call, in order; closing the iterator cancels tasks not started."""
        ...


_EXECUTOR: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def executing(executor: Executor | None) -> Iterator[None]:
    """Use an executor for `parallel_map` within the block; None runs tasks in this process."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


def call_alone(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with a single BLAS thread, so that results do not depend on the number of cores."""
    with threadpool_limits(1, user_api="blas"):
        return function(*given)


def is_running(process: int) -> bool:
    """Whether a process with this number runs on this machine."""
    if sys.platform == "win32":
        # On Windows any signal would end it; SYNCHRONIZE access is requested instead.
        found = ctypes.windll.kernel32.OpenProcess(0x00100000, False, process)  # noqa: FBT003
        return bool(found and ctypes.windll.kernel32.CloseHandle(found))
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@cache
def hash_code() -> str:
    """Checksum of the source files of this package."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def sees_files() -> bool:
    """Whether parallel tasks can use the files of this machine."""
    executor = _EXECUTOR.get()
    return executor is None or executor.shares_files


def is_spreading() -> bool:
    """Whether parallel tasks run elsewhere."""
    return _EXECUTOR.get() is not None


def parallel_map(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], *, shared: tuple[Any, ...] = ()
) -> Iterator[Any]:
    """Yield `function(*shared, *call)` for every call, in order, run by the executor of `executing`.

    Without an executor, calls are made one by one in this process as results are requested. The function must be
    defined at module level and depend on its arguments only; `shared` are large arguments, sent once. A single call is
    made here, so that its own parallel tasks can be distributed; tasks that run elsewhere are not distributed further.
    """
    listed, executor = list(calls), _EXECUTOR.get()
    if executor is None or len(listed) < 2:
        return (call_alone(function, *shared, *call) for call in listed)
    return executor.spread(function, listed, shared)


@dataclass
class Doing:
    """A running step: its description, and how much of it is done (`number` is 0 if this is not counted)."""

    words: str
    number: int = 0
    done: int = 0

    def count(self, more: int = 1) -> None:
        """Count completed work."""
        self.done += more

    def __str__(self) -> str:
        return f"{self.words}, {self.done} of {self.number}" if self.number else self.words


# Nested steps, outermost first.
_DOING: list[Doing] = []


@contextmanager
def doing(words: str, number: int = 0) -> Iterator[Doing]:
    """Register a running step within the block, for `tell_doing`; the description is logged."""
    own = Doing(words, number)
    _DOING.append(own)
    try:
        yield own
    finally:
        # By identity, not equality.
        _DOING[:] = [one for one in _DOING if one is not own]


def tell_doing() -> str:
    """Description of the running steps of this process, outermost first."""
    return ": ".join(map(str, [*_DOING]))


@contextmanager
def progress_bar(
    title: str, *, shown: bool, patience: float = 0.0
) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """Progress bar on a terminal; yields functions that extend its total and advance it.

    It is shown at the first update after `patience` seconds.
    """
    console, begun = Console(stderr=True), time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
    task, seen = bar.add_task(title, total=0), shown and console.is_terminal

    def show() -> None:
        if seen and time.monotonic() - begun >= patience:
            bar.start()

    def extend(chunks: int) -> None:
        bar.update(task, total=(bar.tasks[0].total or 0) + chunks)
        step.number += chunks
        show()

    def advance(chunks: int) -> None:
        bar.advance(task, chunks)
        step.count(chunks)
        show()

    try:
        show()
        with doing(title) as step:
            yield extend, advance
    finally:
        # Stopping a bar that was never started leaves an empty line.
        if bar.live.is_started:
            bar.stop()


def prepare_xla() -> None:
    """Configure XLA before JAX starts, which unpickling a model may do."""
    # One thread per chain: the other cores run the other chains. Read when JAX starts.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")


@contextmanager
def double_precision() -> Iterator[None]:
    """Double precision of JAX in this thread, if JAX is loaded."""
    if "jax" not in sys.modules:
        yield
        return
    import jax  # noqa: PLC0415

    with jax.enable_x64(new_val=True):
        yield


@cache
def prepare_jax() -> None:
    """Configure JAX to use one device per core and a compile cache; existing settings are kept.

    `fit` calls it. It must be called before JAX runs in this process; otherwise chains share the existing devices.
    """
    prepare_xla()
    # Imported here so that measuring risk does not load JAX.
    import jax  # noqa: PLC0415

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "molehill" / "compiled"
        # Without a writable folder there is no cache.
        with suppress(OSError, RuntimeError):
            folder = folder.expanduser()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    if getattr(jax.config, "jax_num_cpu_devices", -1) < 1:
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", workers())
