"""The machine at hand: its cores, the threads that share them, and JAX set up. Called, never done by importing."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path


def workers() -> int:
    """How many cores this process may use."""
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
    kernel(*calls[0])
    for other in others:
        other.result()


# The threads of a process do not live on in its fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


@cache
def prepare_jax() -> None:
    """Let JAX use every core for chains, and keep compiled code for the next run; what is set already stays.

    `fit` calls it. It must be called before anything runs on JAX in this process: where JAX is running already, chains
    share the devices that it has.
    """
    # One thread for the arithmetic of a chain: the other cores run the other chains. Read when JAX starts.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
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
