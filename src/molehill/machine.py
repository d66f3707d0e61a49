"""The machine at hand: its cores, the threads that share them, and JAX set up. Called, never done by importing."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache


def workers() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
