"""The machine at hand: its cores, the threads that share them, JAX set up, where pieces of work run, and how far.

Called, never done by importing.
"""

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
    """How many cores this process may use; fewer, if `MOLEHILL_CORES` says so."""
    given = os.environ.get("MOLEHILL_CORES", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """How many bytes of memory this process may still take, as far as the system says; None if it does not."""
    found = []
    with suppress(OSError, ValueError, KeyError):
        found.append(1024 * _read_facts(Path("/proc/meminfo"))["MemAvailable"])
    # A container may have less than its machine; what it keeps of files can be given up.
    with suppress(OSError, ValueError, KeyError):
        group = Path("/sys/fs/cgroup")
        most, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        found.append(most - used + _read_facts(group / "memory.stat")["inactive_file"])
    if not found and hasattr(os, "sysconf"):
        with suppress(OSError, ValueError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return max(min(found), 0) if found else None


def _read_facts(path: Path) -> dict[str, int]:
    """Read lines of a name and a whole number."""
    lines = (line.replace(":", " ").split() for line in path.read_text(encoding="ascii").splitlines())
    return {words[0]: int(words[1]) for words in lines}


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers(), thread_name_prefix="molehill")


def in_threads(kernel: Callable[..., None], calls: Sequence[tuple[int, ...]]) -> None:
    """Make all calls side by side, the first of them here: a thread less to wake."""
    others = [_pool().submit(kernel, *call) for call in calls[1:]]
    try:
        kernel(*calls[0])
    except SystemError as error:
        # Ctrl-C must not look like a fault.
        if stopped := find_stop(error):
            raise stopped from None
        raise
    for other in others:
        other.result()


def find_stop(error: BaseException) -> BaseException | None:
    """Give the interruption that an error is, or comes from; None if there was none.

    A signal that is answered as a compiled function returns is wrapped into an error of the interpreter.
    """
    while isinstance(error, Exception):
        following = error.__cause__ or error.__context__
        if following is None:
            return None
        error = following
    return error


# The threads of a process do not live on in its fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


class Executor(Protocol):
    """Where pieces of work run, if not here one after the other; `shares_files` if they see the files that are here."""

    shares_files: bool

    def spread(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        """Give `function(*shared, *call)` for every call, in order; who stops asking ends what is not begun."""
        ...


_EXECUTOR: ContextVar[Executor | None] = ContextVar("executor", default=None)


@contextmanager
def executing(executor: Executor | None) -> Iterator[None]:
    """Let pieces of work run there, within the block; None for here."""
    token = _EXECUTOR.set(executor)
    try:
        yield
    finally:
        _EXECUTOR.reset(token)


def call_alone(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function with one thread for the libraries of linear algebra, here as anywhere.

    With more threads they may add numbers in another order, and bytes would depend on the number of cores.
    """
    with threadpool_limits(1, user_api="blas"):
        return function(*given)


def is_running(process: int) -> bool:
    """Whether there is a process of this number on this machine; one of somebody else counts, too."""
    if sys.platform == "win32":
        # There a signal of any number would end it; so it is asked for the right to wait for it.
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
    """Hash the files of this package: whoever changes it makes other results."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def sees_files() -> bool:
    """Whether pieces of work can read and write the files of this machine."""
    executor = _EXECUTOR.get()
    return executor is None or executor.shares_files


def is_spreading() -> bool:
    """Whether pieces of work run elsewhere."""
    return _EXECUTOR.get() is not None


def parallel_map(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], *, shared: tuple[Any, ...] = ()
) -> Iterator[Any]:
    """Give `function(*shared, *call)` for every call, in order, wherever `executing` has pieces of work run.

    Here each is made as it is asked for. The function is of the module level and depends on its arguments alone, so
    that it makes no difference where it runs; `shared` are the large ones, which travel once. A single call is made
    here, so that what it is made of may be spread in its place; a piece that runs elsewhere is not spread further.
    """
    listed, executor = list(calls), _EXECUTOR.get()
    if executor is None or len(listed) < 2:
        return (call_alone(function, *shared, *call) for call in listed)
    return executor.spread(function, listed, shared)


@dataclass
class Doing:
    """What is being done: words, and how much of it is done, of how many (0 where nobody counts)."""

    words: str
    number: int = 0
    done: int = 0

    def count(self, more: int = 1) -> None:
        """Say that so many more are done."""
        self.done += more

    def __str__(self) -> str:
        return f"{self.words}, {self.done} of {self.number}" if self.number else self.words


# The inner within the outer.
_DOING: list[Doing] = []


@contextmanager
def doing(words: str, number: int = 0) -> Iterator[Doing]:
    """Say what is being done within the block, for `tell_doing`: no value of a record, it is for logs."""
    own = Doing(words, number)
    _DOING.append(own)
    try:
        yield own
    finally:
        # Not what is like it.
        _DOING[:] = [one for one in _DOING if one is not own]


def tell_doing() -> str:
    """Say what is being done now, in any thread of this process, the outer first; nothing where nobody says."""
    return ": ".join(map(str, [*_DOING]))


@contextmanager
def progress_bar(
    title: str, *, shown: bool, patience: float = 0.0
) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """A bar on a terminal, with one function that makes it longer and one that moves it on; `tell_doing` tells it, too.

    It is there from the first move on after so many seconds of patience: what is done before then needs none.
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
        told.number += chunks
        show()

    def advance(chunks: int) -> None:
        bar.advance(task, chunks)
        told.count(chunks)
        show()

    try:
        show()
        with doing(title) as told:
            yield extend, advance
    finally:
        # One that was never started would leave an empty line.
        if bar.live.is_started:
            bar.stop()


def prepare_xla() -> None:
    """Say how JAX computes, before it starts: opening a packet that holds a model may start it."""
    # One thread for the arithmetic of a chain: the other cores run the other chains. Read when JAX starts.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")


@contextmanager
def double_precision() -> Iterator[None]:
    """Let JAX compute in double precision in this thread, if it is loaded: a forest does without it."""
    if "jax" not in sys.modules:
        yield
        return
    import jax  # noqa: PLC0415

    with jax.enable_x64(new_val=True):
        yield


@cache
def prepare_jax() -> None:
    """Let JAX use every core for chains, and keep compiled code for the next run; what is set already stays.

    `fit` calls it. It must be called before anything runs on JAX in this process: where JAX is running already, chains
    share the devices that it has.
    """
    prepare_xla()
    # Here, because measuring risk must not wait for JAX to load.
    import jax  # noqa: PLC0415

    if getattr(jax.config, "jax_compilation_cache_dir", None) is None:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "molehill" / "compiled"
        # Without a folder that can be written to, nothing is kept.
        with suppress(OSError, RuntimeError):
            folder = folder.expanduser()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    if getattr(jax.config, "jax_num_cpu_devices", -1) < 1:
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", workers())
