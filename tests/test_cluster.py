"""Pieces of work elsewhere: the same bytes as here, through faults, and nothing of the data where others look."""

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pieces
from molehill import cluster as clusters
from molehill import runtime
from molehill.cluster import Cluster, connect, pack, unpack
from molehill.errors import InputError
from molehill.larger_than_memory import risk as large_risk
from molehill.larger_than_memory.files import write_files
from molehill.larger_than_memory.risk import measure_confidential
from molehill.plan.settings import Settings
from molehill.release import release as releases
from molehill.release.search import points
from molehill.release.synthesize import synthesize
from molehill.risk.identification import confidential_risk
from molehill.risk.intruder import Intruder
from molehill.runtime import executing, parallel_map
from molehill.synthesis.sampling import chains
from molehill.tables.formats.formats import read_table
from molehill.tables.populations import consumer_survey
from people import PEOPLE, WAGES, quick_fit, refusal
from processes import SUPPORT, run_command

# Of a confidential table.
CANARY = "Xanthippe-48151623"
# Ends a test that hangs; nothing is expected to take so long.
PATIENCE = 1500.0
pytestmark = [pytest.mark.posix, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


def connected() -> Cluster:
    found = runtime._EXECUTOR.get()
    assert isinstance(found, Cluster)
    return found


def worker_pids() -> list[int]:
    found: Any = connected().client.run(os.getpid)
    return list(found.values())


@pytest.fixture(autouse=True)
def at_any_speed(monkeypatch):
    """A busy machine may take its time to answer; tests of what does not answer set a time of their own."""
    for name in ("ANSWER", "FIRST_WORKER", "GONE"):
        monkeypatch.setattr(clusters, name, PATIENCE)


@pytest.fixture(scope="module")
def started_two() -> Iterator[Cluster]:
    with connect("local:2"):
        yield connected()


@pytest.fixture
def two(started_two: Cluster) -> Iterator[None]:
    """Two workers on this machine, which tests share."""
    with executing(started_two):
        yield


@pytest.fixture
def doomed() -> Iterator[None]:
    """Two workers of one test, to be killed: on a busy machine Dask may start no successor of one that dies early."""
    with connect("local:2"):
        yield


@pytest.fixture(scope="module")
def started_near() -> Iterator[Cluster]:
    from distributed import Client, LocalCluster  # noqa: PLC0415

    how: Any = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
    with tempfile.TemporaryDirectory() as folder, clusters._quiet():
        how |= {"local_directory": folder, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
        with LocalCluster(n_workers=2, threads_per_worker=1, **how) as started, Client(started) as client:
            yield Cluster(client, shares_files=True)


@pytest.fixture
def near(started_near: Cluster) -> Iterator[None]:
    """Two workers that are threads of this process, where all is imported: a process takes seconds to import it."""
    with executing(started_near):
        yield


def list_begun(folder: Path) -> list[int]:
    """The numbers of the pieces that left a note."""
    return sorted(int(path.name.partition("-")[0]) for path in folder.glob("*-*-*"))


@pytest.fixture
def dying(tmp_path, monkeypatch) -> Iterator[Callable[[Any], None]]:
    """Let the first worker that has done a piece of work for a module be killed before it can say so."""
    died, asked = tmp_path / "died", []

    def let_die(module: Any) -> None:
        def spread_and_die(function: Any, calls: Any, *, shared: tuple[Any, ...] = ()) -> Iterator[Any]:
            return parallel_map(partial(pieces.work_and_die_once, died, os.getpid(), function), calls, shared=shared)

        asked.append(module)
        monkeypatch.setattr(module, "parallel_map", spread_and_die)

    yield let_die
    assert died.exists() == bool(asked)


@pytest.fixture
def alone() -> Iterator[None]:
    """No cluster, as in a process that begins."""
    with executing(None):
        yield


# Addresses.


@pytest.mark.parametrize("address", ["nowhere", "local:0", "local:many", "ws://host:1", "tls://host", "tcp://[:1", ""])
@pytest.mark.usefixtures("alone")
def test_what_is_no_address_is_refused(address):
    def call() -> None:
        with connect(address):
            pass

    assert "local" in refusal(call, "scheduler")


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:8786", "192.0.2.1:8786"])
@pytest.mark.usefixtures("alone")
def test_values_do_not_travel_to_another_machine_in_the_open(address):
    def call() -> None:
        with connect(address):
            pass

    assert "unencrypted" in refusal(call, "scheduler")


@pytest.mark.usefixtures("alone")
def test_a_worker_on_another_machine_is_refused_without_tls():
    found = Cluster(None, shares_files=False)  # type: ignore[arg-type]
    found._check_reached("tls://192.0.2.1:8786")
    found._check_reached("tcp://127.0.0.1:8786")
    assert "unencrypted" in refusal(lambda: found._check_reached("tcp://192.0.2.1:8786"), "scheduler")


@pytest.mark.usefixtures("alone")
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(clusters, "ANSWER", 0.1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        def call() -> None:
            with connect(f"tcp://127.0.0.1:{port}"):
                pass

        assert "no scheduler answers" in refusal(call, "scheduler")


@pytest.mark.usefixtures("alone")
def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    def call() -> None:
        with connect("local"):
            pass

    assert "molehill[cluster]" in refusal(call, "scheduler")


# Packets.


def test_what_is_shared_does_not_travel_again():
    large = pd.DataFrame({"value": np.arange(100_000)})
    packet = pack({"table": large, "more": 1}, (large,))
    assert len(packet.content) < 1_000
    assert unpack(packet, (large,))["table"] is large


def test_a_packet_shows_nothing_of_what_is_in_it():
    assert CANARY not in repr(pack(CANARY))


# Working elsewhere.


@pytest.mark.usefixtures("two")
def test_pieces_come_in_order_from_other_processes_that_spread_nothing_further():
    found = list(parallel_map(pieces.say_where, [(number,) for number in range(7)]))
    assert [number for number, *_ in found] == list(range(7))
    assert {pid for _, pid, *_ in found} <= set(worker_pids())
    assert {(cores, spreading) for *_, cores, spreading in found} == {(max(1, runtime.workers() // 2), False)}


@pytest.mark.usefixtures("two")
def test_what_is_shared_comes_back_as_itself():
    shared = {"value": 40}
    assert list(parallel_map(pieces.add, [(1,), (2,)], shared=(shared,))) == [41, 42]
    for found, number in parallel_map(pieces.give_back, [(1,), (2,)], shared=(shared,)):
        assert found is shared
        assert number in (1, 2)


@pytest.mark.usefixtures("two")
def test_a_single_piece_runs_here():
    assert next(iter(parallel_map(pieces.say_where, [(5,)])))[1] == os.getpid()


@pytest.mark.usefixtures("two")
def test_what_a_piece_raises_is_raised_here_after_what_came_before():
    found = []
    with pytest.raises(InputError, match="data: it is bad"):
        found += parallel_map(pieces.refuse, [(0,), (1,), (2,)])
    made = parallel_map(pieces.refuse, [(0,), (1,), (2,)])
    assert next(made) == 0


@pytest.mark.usefixtures("alone")
def test_a_folder_that_a_killed_process_left_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    for name in (f"{gone.pid}-left", f"{os.getpid()}-mine", "foreign"):
        (tmp_path / f"molehill-workers-{name}" / "worker").mkdir(parents=True)
    clusters._sweep()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == sorted([f"molehill-workers-{os.getpid()}-mine", "molehill-workers-foreign"])


@pytest.mark.usefixtures("two")
def test_an_error_that_cannot_travel_is_told_by_its_kind():
    with pytest.raises(RuntimeError, match=r"failed with AwkwardError$"):
        list(parallel_map(pieces.raise_awkwardly, [(CANARY,), (CANARY,)]))


def states_of_pieces() -> list[str]:
    """The states of all pieces that workers know of, as Dask names them."""

    def look(dask_worker: Any) -> list[str]:
        tasks = dask_worker.state.tasks.values()
        return [task.state for task in tasks if str(task.key).startswith("molehill-piece")]

    found: Any = connected().client.run(look)
    return [state for states in found.values() for state in states]


@pytest.mark.usefixtures("two")
def test_who_stops_asking_ends_what_is_not_begun(tmp_path):
    made = parallel_map(pieces.note_only, [(number,) for number in range(40)], shared=(tmp_path,))
    assert next(made) == 0
    made.close()  # type: ignore[attr-defined]
    wait_for(lambda: not states_of_pieces())
    # No more than were handed over before the first came back.
    assert len(list_begun(tmp_path)) <= connected()._room() < 40


@pytest.mark.usefixtures("two")
def test_pieces_are_forgotten_in_any_thread(tmp_path):
    # Python may collect what is left of them in the thread that speaks with the workers, which cannot wait for itself.
    made, closed = (
        parallel_map(pieces.note_only, [(number,) for number in range(8)], shared=(tmp_path,)),
        threading.Event(),
    )
    assert next(made) == 0

    def forget() -> None:
        made.close()  # type: ignore[attr-defined]
        closed.set()

    loop: Any = connected().client.loop
    loop.add_callback(forget)
    assert closed.wait(PATIENCE)
    gc.collect()
    assert list(parallel_map(pieces.refuse, [(0,), (2,)])) == [0, 2]


@pytest.mark.usefixtures("two")
def test_workers_of_other_versions_are_refused(monkeypatch):
    monkeypatch.setattr(clusters, "_versions", lambda: {"jax": "0.0"})
    assert "other versions of jax" in refusal(connected().check, "scheduler")


@pytest.mark.usefixtures("two")
def test_workers_lay_what_they_cannot_hold_into_private_folders():
    told: Any = connected().client.run(clusters._describe_worker)
    assert [one["private"] for one in told.values()] == [True, True]
    connected().client.run(lambda dask_worker: Path(dask_worker.local_directory).chmod(0o750))
    try:
        assert "others can read" in refusal(connected().check, "scheduler")
    finally:
        connected().client.run(lambda dask_worker: Path(dask_worker.local_directory).chmod(0o700))


# Faults.


@pytest.mark.usefixtures("doomed")
def test_a_killed_worker_costs_only_what_it_had_begun(tmp_path):
    calls = [(number,) for number in range(8)]
    assert list(parallel_map(pieces.note_and_die_once, calls, shared=(tmp_path,))) == list(range(8))
    begun = Counter(list_begun(tmp_path))
    assert begun[3] == 2
    # What it had made and nobody had fetched is made again: no more than was under way.
    assert begun.total() <= 8 + 1 + clusters.AHEAD * 2


@pytest.mark.usefixtures("doomed")
def test_a_piece_that_ends_every_worker_is_given_up():
    def allow_one(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = 1

    asked: Any = connected().client.run_on_scheduler
    asked(allow_one)
    text = refusal(lambda: list(parallel_map(pieces.die, [(0,), (1,), (2,)])), "scheduler")
    assert "ended 2 workers" in text
    assert "--resume" in text


@pytest.mark.usefixtures("two")
def test_a_result_that_takes_long_to_fetch_is_not_asked_for_again(monkeypatch):
    # Dask keeps a request that was given up, and hands it to whoever asks next.
    monkeypatch.setattr(clusters, "LOOK", 0.001)
    fetched, fetch = [], connected().client._gather_remote

    async def fetch_late(*given: Any) -> Any:
        fetched.append(given)
        await asyncio.sleep(0.2)
        return await fetch(*given)

    monkeypatch.setattr(connected().client, "_gather_remote", fetch_late)
    assert list(parallel_map(pieces.refuse, [(0,), (2,), (4,)])) == [0, 2, 4]
    assert len(fetched) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_worker_that_hangs_is_replaced(monkeypatch):
    patience = {**clusters._CONFIGURED, "distributed.scheduler.worker-ttl": "3s"}
    monkeypatch.setattr(clusters, "_CONFIGURED", patience)
    with connect("local:2"):
        made = []
        for number, *_ in parallel_map(pieces.say_where, [(number,) for number in range(6)]):
            made.append(number)
            if number == 0:
                os.kill(worker_pids()[0], signal.SIGSTOP)
    assert made == list(range(6))


@pytest.fixture(scope="module")
def small() -> tuple[pd.DataFrame, Settings]:
    # Of so many records a search tries two sizes of leaves, each a piece of work; of 100 only one.
    survey = consumer_survey(200, seed=2)
    kept = [name for name in survey.columns if name not in ("education", "income")]
    settings = Settings(
        synthesize=["education", "income"],
        keep=kept,
        known=["gender", "region"],
        predictors=["age", "region"],
        lower={"income": -1e5},
        upper={"income": 2e6},
        compare=["pairwise"],
        datasets=2,
        expected_risk_draws=40,
        search_draws=40,
        max_fits=2,
        attacks="none",
        seed=5,
    )
    return survey, settings


@pytest.fixture(scope="module")
def made_here(small, tmp_path_factory) -> dict[str, bytes]:
    with executing(None):
        return written(small, tmp_path_factory.mktemp("here") / "out")


def written(given: tuple[pd.DataFrame, Settings], folder: Path) -> dict[str, bytes]:
    """All bytes of a release but those that tell how long it took; its pages, of the same evidence, are not drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "render_report", lambda *_, **__: "")
        made = synthesize(*given, progress=False).save(folder)
    files = [path for path in made.rglob("*") if path.is_file() and path.name != "times.json"]
    return {str(path.relative_to(made)): path.read_bytes() for path in files}


# That a killed worker costs only what it had begun is seen above on pieces of a moment; whole jobs with one are slow.
# So are those in processes, of which each worker imports everything first.
WHERE = pytest.mark.parametrize("where", ["near", pytest.param("doomed", marks=pytest.mark.slow)])


@WHERE
def test_a_release_on_workers_is_the_same_bytes(small, made_here, tmp_path, dying, where, request):
    request.getfixturevalue(where)
    if where == "doomed":
        dying(points)
    assert written(small, tmp_path / "out") == made_here


@WHERE
def test_chains_on_workers_are_the_same_bytes(tmp_path, dying, where, request):
    request.getfixturevalue(where)
    with executing(None):
        here = quick_fit(WAGES, PEOPLE, chains=2)
    if where == "doomed":
        dying(chains)
    there = quick_fit(WAGES, PEOPLE, chains=2, checkpoint=tmp_path / "kept")
    assert there.draws["slope"].tobytes() == here.draws["slope"].tobytes()
    # What was kept of it is what would have been kept here.
    with executing(None):
        again = quick_fit(WAGES, PEOPLE, chains=2, checkpoint=tmp_path / "kept")
    assert again.draws["slope"].tobytes() == here.draws["slope"].tobytes()


@WHERE
def test_files_larger_than_memory_are_measured_alike_on_workers(small, tmp_path, dying, where, request):
    request.getfixturevalue(where)
    survey, _ = small
    table = pa.Table.from_pandas(survey, preserve_index=False)
    write_files([table.slice(0, 80), table.slice(80)], tmp_path / "own")
    intruder = Intruder(known=["gender", "region"], sensitive="income", radius=0.2)
    if where == "doomed":
        dying(large_risk)
    measure_confidential(tmp_path / "own", intruder, order=2, chunks=6, out=tmp_path / "there")
    there = read_table(tmp_path / "there" / "part-00000.parquet").frame
    assert there["risk"].tolist() == confidential_risk(survey, intruder, order=2).risk.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.usefixtures("alone")
def test_any_number_of_workers_makes_the_same_bytes(small, made_here, tmp_path, workers):
    survey, settings = small
    assert written((survey, settings.but(scheduler=f"local:{workers}")), tmp_path / "out") == made_here


# A scheduler of its own, as a cluster has it.


@contextmanager
def started(*words: object, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask, with its log."""
    command = [sys.executable, "-m", "dask", *map(str, words)]
    path = os.pathsep.join([SUPPORT, *filter(None, [os.environ.get("PYTHONPATH")])])
    with (
        log.open("ab") as told,
        subprocess.Popen(
            command, stdout=told, stderr=told, env=os.environ | {"PYTHONPATH": path} | environment
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def scheduler(log: Path, where: str = "tcp://127.0.0.1:0", **environment: str) -> Iterator[tuple[Any, str]]:
    """A process of a scheduler that listens, and its address; with 0 for a port it takes a free one."""
    host, _, port = where.rpartition(":")
    told = log.with_name(f"scheduler-{time.monotonic_ns()}.json")
    words = ("scheduler", "--host", host, "--port", port, "--no-dashboard", "--scheduler-file", told)
    with started(*words, log=log, **environment) as process:
        address = ""

        def find() -> bool:
            nonlocal address
            assert process.poll() is None, log.read_text(errors="replace")
            with suppress(FileNotFoundError, json.JSONDecodeError):
                address = json.loads(told.read_text(encoding="utf-8"))["address"]
            return bool(address)

        wait_for(find)
        yield process, address


@contextmanager
def scheduler_and_worker(
    log: Path, *worker: object, where: str = "tcp://127.0.0.1:0", **environment: str
) -> Iterator[tuple[Any, str]]:
    with scheduler(log, where, **environment) as (process, address):
        words = ("worker", address, "--nthreads", 1, "--no-dashboard", *(worker or ["--no-nanny"]))
        with started(*words, log=log, **environment):
            yield process, address


@pytest.fixture
def keys(tmp_path) -> dict[str, str]:
    """Keys for TLS, as Dask's configuration names them."""
    from distributed import Security  # noqa: PLC0415

    made, named = Security.temporary(), {"distributed.comm.require-encryption": "true"}
    parts = {"ca-file": "tls_ca_file"}
    parts |= {
        f"{who}.{what}": f"tls_{who}_{what}" for who in ("scheduler", "worker", "client") for what in ("key", "cert")
    }
    for name, attribute in parts.items():
        path = tmp_path / f"{name}.pem"
        path.write_text(str(getattr(made, attribute)))
        named[f"distributed.comm.tls.{name}"] = str(path)
    return named


def count_clients() -> int:
    """Count the threads in which clients and clusters speak with others."""
    return sum(thread.name == "IO loop" for thread in threading.enumerate())


@pytest.mark.usefixtures("alone")
def test_over_tls_nothing_of_the_data_is_logged_and_nobody_enters_without_keys(tmp_path, keys):
    from dask import config  # noqa: PLC0415

    log = tmp_path / "log"
    shared = {"value": pd.Series([CANARY] * 3)}
    told = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": value for name, value in keys.items()}
    with scheduler_and_worker(log, where="tls://127.0.0.1:0", **told) as (_, address):
        before = count_clients()
        with pytest.raises(InputError, match="keys for TLS"), connect(address):
            pass
        # A client that stays could hold up the start of the next one while Python collects it.
        assert count_clients() == before
        with config.set(keys), connect(address):
            assert [
                found["value"][0] for found, _ in parallel_map(pieces.give_back, [(1,), (2,)], shared=(shared,))
            ] == [CANARY] * 2
            with pytest.raises(ValueError, match=CANARY):
                list(parallel_map(pieces.fail, [(CANARY,), (CANARY,)]))
            asked = connected().client.run_on_scheduler
            names: Any = asked(lambda dask_scheduler: list(map(str, dask_scheduler.tasks)))
            assert names
            assert all(name.startswith("molehill-") for name in names)
    logged = log.read_text(errors="replace")
    assert "Scheduler at" in logged
    assert CANARY not in logged


@pytest.mark.usefixtures("alone")
def test_a_scheduler_that_is_restarted_is_given_the_rest_again(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "LOOK", 0.5)
    log = tmp_path / "log"
    with ExitStack() as later, scheduler_and_worker(log) as (process, address), connect(address):
        made = []
        # No piece waits for another: in which order a worker begins them is Dask's choice.
        for number in parallel_map(pieces.note_only, [(number,) for number in range(6)], shared=(tmp_path,)):
            made.append(number)
            if number == 0:
                process.kill()
                process.wait()
                later.enter_context(scheduler_and_worker(log, where=address))
    assert made == list(range(6))


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_scheduler_that_stays_away_is_told_with_the_way_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(clusters, "LOOK", 0.2)
    monkeypatch.setattr(clusters, "GONE", 1.0)
    # How long Dask asks a scheduler that is not there.
    monkeypatch.setattr(clusters, "ANSWER", 20.0)
    with scheduler_and_worker(tmp_path / "log") as (process, address), connect(address):
        made = parallel_map(pieces.note_only, [(number,) for number in range(6)], shared=(tmp_path,))
        assert next(made) == 0
        process.kill()
        assert "--resume" in refusal(lambda: list(made), "scheduler")


@pytest.mark.usefixtures("alone")
def test_a_scheduler_without_workers_is_told(monkeypatch):
    from distributed import LocalCluster  # noqa: PLC0415

    monkeypatch.setattr(clusters, "FIRST_WORKER", 0.1)
    how: Any = {"protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
    how |= {"scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with clusters._quiet(), LocalCluster(n_workers=0, processes=False, **how) as started:
        empty: Any = started
        address = empty.scheduler_address

        def call() -> None:
            with connect(address):
                pass

        assert "no worker" in refusal(call, "scheduler")


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_worker_out_of_memory_is_told(tmp_path):
    with scheduler_and_worker(tmp_path / "log", "--memory-limit", "500MB") as (_, address), connect(address):
        text = refusal(lambda: list(parallel_map(pieces.fill_memory, [(0,), (1,)])), "scheduler")
    assert "ran out of memory" in text


# The process that was begun with.

WORKING = """
    import os, signal, sys
    from pathlib import Path
    import pieces
    from molehill import runtime
    from molehill.cluster import connect
    if __name__ == "__main__":
        # As in a terminal: a shell lets what it starts in the background, these tests perhaps, ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with connect("local:1"):
            print(*runtime._EXECUTOR.get().client.run(os.getpid).values(), flush=True)
            list(runtime.parallel_map(pieces.note_and_stay, [(n,) for n in range(7)], shared=(Path(sys.argv[1]),)))
"""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.linux
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_worker_ends_with_the_process_that_began_it_in_the_middle_of_a_piece(tmp_path, number):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(WORKING), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([SUPPORT, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(script), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as begun:
        assert begun.stdout is not None
        (pid,) = map(int, begun.stdout.readline().split())
        wait_for(lambda: list_begun(tmp_path) or begun.poll() is not None)
        begun.send_signal(number)
        begun.communicate(timeout=PATIENCE)
    assert begun.returncode == -number
    wait_for(lambda: not is_running(pid))


# The command line.


@pytest.mark.usefixtures("alone")
def test_a_command_takes_the_address(tmp_path):
    ended = run_command("demo", "--out", tmp_path / "out", "--scheduler", "tcp://192.0.2.1:1", "--quiet")
    assert ended.returncode == 2
    assert "unencrypted" in ended.stderr
    assert not (tmp_path / "out").exists()
