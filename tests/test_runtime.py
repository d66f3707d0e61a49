"""JAX is set up by a call: every core a device, and what is set already stays."""

import sys
from functools import partial
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from molehill import runtime
from molehill.runtime import doing, in_threads, progress_bar, tell_doing
from processes import run_python

PREPARED = """
    import os
    from molehill.runtime import prepare_jax, workers
    prepare_jax()
    import jax
    print(len(jax.devices()), workers(), jax.config.jax_compilation_cache_dir, os.environ["XLA_FLAGS"])
"""


def test_every_core_is_a_device_with_one_thread_for_arithmetic(tmp_path):
    done = run_python(PREPARED, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    devices, cores, folder, flags = done.stdout.split()
    assert devices == cores
    assert folder == str(tmp_path / "molehill" / "compiled")
    assert flags == "--xla_cpu_multi_thread_eigen=false"


def test_settings_of_jax_that_are_there_already_stay(tmp_path):
    kept, flags = str(tmp_path / "mine"), "--xla_cpu_multi_thread_eigen=true"
    done = run_python(PREPARED, JAX_NUM_CPU_DEVICES="3", JAX_COMPILATION_CACHE_DIR=kept, XLA_FLAGS=flags)
    devices, _, folder, found = done.stdout.split()
    assert (devices, folder, found) == ("3", kept, flags), done.stderr


@pytest.mark.posix
@pytest.mark.parametrize("home", ["/dev/null/nowhere", ""])
def test_without_a_place_for_compiled_code_all_still_works(tmp_path, home, monkeypatch):
    config = SimpleNamespace(jax_compilation_cache_dir=None, jax_num_cpu_devices=-1)
    config.update = partial(setattr, config)
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(config=config))
    monkeypatch.setattr(runtime, "prepare_xla", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path))
    runtime.prepare_jax.__wrapped__()
    expected = None if home else str(tmp_path / ".cache" / "molehill" / "compiled")
    assert config.jax_compilation_cache_dir == expected
    assert config.jax_num_cpu_devices == runtime.workers()


def test_a_signal_that_a_compiled_function_wraps_is_not_a_fault():
    def interrupted(_: int) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    def broken(_: int) -> None:
        raise SystemError("broken") from ValueError()

    with pytest.raises(KeyboardInterrupt):
        in_threads(interrupted, [(1,)])
    with pytest.raises(SystemError):
        in_threads(broken, [(1,)])


@pytest.mark.parametrize(
    ("shown", "terminal", "patience", "seen"),
    [(True, True, 0.0, True), (False, True, 0.0, False), (True, False, 0.0, False), (True, True, np.inf, False)],
)
def test_a_bar_is_for_those_who_wait_at_a_terminal(shown, terminal, patience, seen, monkeypatch):
    written = StringIO()
    monkeypatch.setattr("molehill.runtime.Console", lambda **_: Console(file=written, force_terminal=terminal))
    with progress_bar("counting sheep", shown=shown, patience=patience) as (extend, advance):
        extend(4)
        advance(3)
    assert ("counting sheep" in written.getvalue()) == seen
    assert seen or not written.getvalue()


def test_a_bar_ends_with_what_it_is_of(monkeypatch):
    written = StringIO()
    monkeypatch.setattr("molehill.runtime.Console", lambda **_: Console(file=written, force_terminal=True))
    with pytest.raises(ZeroDivisionError), progress_bar("counting sheep", shown=True):
        raise ZeroDivisionError
    # A second one may be shown: two at once may not.
    with progress_bar("counting goats", shown=True) as (_, advance):
        advance(1)
    assert "counting goats" in written.getvalue()


def test_what_is_being_done_is_told_the_outer_first():
    with doing("point 1 of 6"), progress_bar("fitting pay", shown=False) as (extend, advance):
        assert tell_doing() == "point 1 of 6: fitting pay"
        extend(8)
        advance(3)
        assert tell_doing() == "point 1 of 6: fitting pay, 3 of 8"
    assert tell_doing() == ""
    with pytest.raises(ZeroDivisionError), doing("dividing"):
        raise ZeroDivisionError
    assert tell_doing() == ""
