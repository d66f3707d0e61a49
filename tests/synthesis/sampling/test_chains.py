"""Samplers: right moments, same bytes for the same seed, runs that survive kills, nothing confidential in the cache."""

import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from molehill.errors import InputError
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.chains import Engine, Run, Sweep, sample
from molehill.synthesis.sampling.diagnostics import LEAST_BULK, diagnose, join_diagnostics
from molehill.synthesis.sampling.nuts import nuts_engine

# isort: split
import jax
import jax.numpy as jnp

AXES = {"chain_axis": 0, "draw_axis": 1}
STATS: Any = array_stats
CENTRE = np.array([1.5, -2.0, 0.0])
RNG = np.random.default_rng(5)
ROOT = RNG.normal(size=(5, 5)) / 2 + np.diag([0.1, 0.5, 1.0, 2.0, 10.0])
NORMAL = {"mean": np.array([0.0, 1.0, -3.0, 10.0, 100.0]), "precision": np.linalg.inv(ROOT @ ROOT.T)}


class Walker(NamedTuple):
    place: jax.Array
    key: jax.Array


def walk_engine(name: str = "walk", warmup: int = 20, draws: int = 40) -> Engine:
    """A random walk on N(centre, 1): ten lines, a typed key in its state."""

    def begin(key, inputs):
        return Walker(jnp.zeros_like(inputs["centre"]), key)

    def sweep(state, inputs):
        key, key_step, key_accept = jax.random.split(state.key, 3)
        new = state.place + 1.2 * jax.random.normal(key_step, state.place.shape)
        gain = 0.5 * (jnp.sum((state.place - inputs["centre"]) ** 2) - jnp.sum((new - inputs["centre"]) ** 2))
        accepted = jnp.log(jax.random.uniform(key_accept)) < gain
        place = jnp.where(accepted, new, state.place)
        told = Sweep({"place": place}, {"place": place}, jnp.minimum(1.0, jnp.exp(gain)), gain < -1000, 1)
        return Walker(place, key), told

    return Engine(name, begin, sweep, warmup, draws)


def walk(seed: int = 1, centre=CENTRE, **settings: Any) -> Run:
    lengths = {name: settings.pop(name) for name in ("name", "warmup", "draws") if name in settings}
    return sample(walk_engine(**lengths), {"centre": centre}, seed=seed, progress=False, **settings)


def same(one: Run, other: Run) -> bool:
    """Whether two runs are the same, byte for byte."""
    pairs = [(one.accept, other.accept), (one.divergent, other.divergent)]
    for mine, theirs in ((one.draws, other.draws), (one.functionals, other.functionals)):
        assert mine.keys() == theirs.keys()
        pairs += [(mine[name], theirs[name]) for name in mine]
    equal = [a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs]
    return all(equal) and one.gradients == other.gradients


@pytest.fixture(scope="module")
def plain() -> Run:
    return walk()


@pytest.fixture(scope="module")
def long_walk() -> Run:
    return walk(seed=7, warmup=100, draws=10_000)


@pytest.fixture(scope="module")
def nuts_run() -> Run:
    def log_density(position, inputs):
        away = position - inputs["mean"]
        return -0.5 * away @ inputs["precision"] @ away

    def start(key, inputs):
        return inputs["mean"] + jax.random.normal(key, inputs["mean"].shape)

    def report(position, inputs):
        del inputs
        return {"x": position}, {"x": position}

    engine = nuts_engine(log_density, start, report, warmup=400, draws=2000)
    return sample(engine, NORMAL, seed=3, progress=False)


def distance(values: np.ndarray, truth) -> np.ndarray:
    """Errors of means, in Monte Carlo standard errors."""
    return np.abs(values.mean(axis=(0, 1)) - truth) / STATS.mcse(values, **AXES)


# Draws.


def test_a_random_walk_finds_mean_and_variance(long_walk):
    place = long_walk.draws["place"]
    assert (distance(place, CENTRE) < 4).all()
    assert (distance((place - CENTRE) ** 2, 1.0) < 4).all()


def test_nuts_finds_the_moments_of_a_correlated_normal(nuts_run):
    x, covariance = nuts_run.draws["x"], ROOT @ ROOT.T
    assert (distance(x, NORMAL["mean"]) < 4).all()
    away = x - NORMAL["mean"]
    products = (away[..., :, None] * away[..., None, :]).reshape(*x.shape[:2], 25)
    assert (distance(products, covariance.ravel()) < 4).all()
    assert nuts_run.divergent.mean() < 0.01
    # Tuned for 0.8, and above it on correlated targets, as BlackJAX's own adaptation is.
    assert 0.75 < nuts_run.accept.mean() < 0.97
    assert nuts_run.gradients >= x.shape[0] * x.shape[1]


def test_nuts_keeps_its_tuning_after_the_warm_up(nuts_run):
    # Halves of the run accept alike: the step size no longer moves.
    half = nuts_run.accept.shape[1] // 2
    first, second = nuts_run.accept[:, :half].mean(axis=1), nuts_run.accept[:, half:].mean(axis=1)
    assert np.abs(first - second).max() < 0.05


def test_shapes_and_precision(plain):
    assert plain.draws["place"].shape == plain.functionals["place"].shape == (2, 40, 3)
    assert plain.accept.shape == plain.divergent.shape == (2, 40)
    assert plain.draws["place"].dtype == np.float64
    assert plain.gradients == 80
    assert not jax.config.read("jax_enable_x64"), "double precision is for the run alone"


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others(plain):
    assert same(plain, walk())
    other = walk(seed=2)
    assert not (other.draws["place"] == plain.draws["place"]).all(axis=2).any()


def test_chains_differ(plain):
    first, second = plain.draws["place"]
    assert not (first == second).all(axis=1).any()


@pytest.mark.parametrize(("warmup", "draws", "length"), [(20, 40, 20), (200, 1200, 100), (7, 5, 1), (150, 450, 75)])
def test_chunks_divide_warm_up_and_draws(warmup, draws, length, monkeypatch):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 100)
    assert sampling._chunk_length(walk_engine(warmup=warmup, draws=draws)) == length


def test_draws_do_not_depend_on_the_chunks(plain, monkeypatch):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 4)
    assert same(plain, walk())


def test_a_run_that_is_not_enough_goes_on_and_keeps_as_many_draws():
    whole = walk(draws=320)
    asked = []

    def never(run: Run) -> bool:
        asked.append(run)
        return False

    last = walk(enough=never, patience=3)
    # 40, then 40 more, then 80, then 160 sweeps; the last two thinned by 2 and by 4.
    parts = [slice(0, 40), slice(40, 80), slice(81, 160, 2), slice(163, 320, 4)]
    for run, part in zip(asked, parts, strict=True):
        assert (run.draws["place"] == whole.draws["place"][:, part]).all()
        assert (run.accept == whole.accept[:, part]).all()
    assert [run.sweeps for run in asked] == [40, 80, 160, 320]
    assert [run.gradients for run in asked] == [80, 160, 320, 640]
    assert last is asked[-1]


def test_a_run_stops_where_it_is_enough(plain):
    asked = []

    def second(run: Run) -> bool:
        asked.append(run)
        return len(asked) == 2

    assert walk(enough=second, patience=9).sweeps == 80
    assert same(walk(enough=lambda _: True, patience=9), plain)


@pytest.mark.parametrize("number", [3, 5, 8])
def test_an_interrupted_run_goes_on_beyond_its_first_draws(tmp_path, monkeypatch, number):
    settings: Any = {"enough": lambda _: False, "patience": 2}
    whole = walk(**settings)
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 20)
    write = sampling.write_chunk

    def interrupt(store, n, *rest):
        write(store, n, *rest)
        if n == number - 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sampling, "write_chunk", interrupt)
        with pytest.raises(KeyboardInterrupt):
            walk(checkpoint=tmp_path, **settings)
    resumed = walk(checkpoint=tmp_path, **settings)
    assert resumed.resumed == number
    assert same(resumed, whole)


@pytest.mark.parametrize("chains", [3, 4])
def test_more_chains_than_cores(chains):
    run = walk(chains=chains)
    assert run.draws["place"].shape == (chains, 40, 3)
    assert len({chain.tobytes() for chain in run.draws["place"]}) == chains


def test_prepare_sees_the_inputs_once_and_outside_of_compiled_code():
    seen = []

    def prepare(inputs):
        seen.append(type(inputs["raw"]))
        return {"centre": inputs["raw"] + 1.5}

    run = sample(walk_engine()._replace(prepare=prepare), {"raw": CENTRE - 1.5}, seed=1, progress=False)
    assert seen == [np.ndarray]
    assert same(run, walk())


def test_a_chunk_is_compiled_once_even_if_the_first_state_is_of_weak_type(monkeypatch):
    traced, after_chunk = [], []

    def begin(key, inputs):
        del inputs
        return Walker(jnp.asarray(0.5), key)

    def sweep(state, inputs):
        traced.append(1)
        place = 0.9 * state.place + inputs["centre"][0] + jax.random.normal(state.key, dtype=jnp.float64)
        told = Sweep({"place": place}, {"place": place[None]}, 1.0, False, 1)
        return Walker(place, jax.random.split(state.key)[0]), told

    compile_ = sampling._compile

    def watch(*arguments):
        start, chunk, placed = compile_(*arguments)

        def counted(*state):
            result = chunk(*state)
            after_chunk.append(len(traced))
            return result

        return start, counted, placed

    monkeypatch.setattr(sampling, "_compile", watch)
    sample(Engine("weak", begin, sweep, 20, 40), {"centre": CENTRE}, seed=1, progress=False)
    assert len(after_chunk) == 6
    assert len(set(after_chunk)) == 1


# Checkpoints: six chunks of ten sweeps, the first two warm-up.


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 10)


@pytest.fixture(scope="module")
def finished_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "LONGEST_CHUNK", 10)
        walk(checkpoint=folder)
    return folder


@pytest.fixture
def finished(finished_folder, tmp_path) -> Path:
    """A copy of the checkpoints of a run that came to its end."""
    return Path(shutil.copytree(finished_folder, tmp_path / "finished"))


def chunks(folder: Path) -> list[Path]:
    return sorted(folder.glob("chunk-*.bin"))


def test_a_checkpoint_changes_nothing(plain, tmp_path):
    folder = tmp_path / "kept"
    assert same(plain, walk(checkpoint=folder))
    assert len(chunks(folder)) == 6
    again = walk(checkpoint=folder)
    assert same(plain, again)
    assert again.resumed == 6


def test_checkpoints_are_for_their_owner_only_and_hold_no_pickle(tmp_path):
    folder = tmp_path / "kept"
    mask = os.umask(0o022)
    try:
        walk(checkpoint=folder)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = list(folder.iterdir())
    assert len(files) == 7
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    for file in chunks(folder):
        content = file.read_bytes()
        with np.load(io.BytesIO(content[32:]), allow_pickle=False) as saved:
            assert not any(saved[name].dtype.hasobject for name in saved)
    assert json.loads((folder / "run.json").read_text()).keys() == {"fingerprint"}


class StoppedError(Exception):
    pass


@pytest.mark.parametrize(
    ("number", "kind"), [*((number, KeyboardInterrupt) for number in (0, 1, 3, 5)), (2, StoppedError)]
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(plain, tmp_path, monkeypatch, number, kind):
    write = sampling.write_chunk

    def interrupt(store, at, *rest):
        if at == number:
            raise kind
        write(store, at, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(sampling, "write_chunk", interrupt)
        with pytest.raises(kind):
            walk(checkpoint=tmp_path)
    assert len(chunks(tmp_path)) == number
    resumed = walk(checkpoint=tmp_path)
    assert resumed.resumed == number
    assert same(plain, resumed)


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE = {
    "a flipped bit": flip,
    "its first byte changed": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "cut in half": lambda content: content[: len(content) // 2],
    "only a checksum left": lambda content: content[:32],
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
@pytest.mark.parametrize("number", [0, 3])
def test_a_damaged_chunk_is_set_aside_with_all_that_follow(plain, finished, number, damage):
    broken = finished / f"chunk-{number:05}.bin"
    broken.write_bytes(damage(broken.read_bytes()))
    resumed = walk(checkpoint=finished)
    assert resumed.resumed == number
    assert same(plain, resumed)
    aside = [file.stem for file in sorted(finished.glob("*.damaged"))]
    assert aside == [f"chunk-{k:05}" for k in range(number, 6)]
    assert len(chunks(finished)) == 6


def test_chunks_of_another_run_do_not_pass_for_ones_own(plain, finished, tmp_path):
    walk(checkpoint=tmp_path / "other", seed=2)
    (tmp_path / "other" / "chunk-00002.bin").replace(finished / "chunk-00002.bin")
    resumed = walk(checkpoint=finished)
    assert resumed.resumed == 2
    assert same(plain, resumed)


def test_a_lost_chunk_is_made_again(plain, finished):
    (finished / "chunk-00003.bin").unlink()
    assert same(plain, walk(checkpoint=finished))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null"])
def test_a_damaged_note_is_set_aside_and_whole_chunks_still_serve(plain, finished, content):
    (finished / "run.json").write_bytes(content)
    resumed = walk(checkpoint=finished)
    assert (finished / "run.damaged").read_bytes() == content
    assert resumed.resumed == 6
    assert same(plain, resumed)


OTHERS = {
    "seed": {"seed": 2},
    "data": {"centre": CENTRE + np.array([0.0, 0.0, 1e-12])},
    "shape of the data": {"centre": CENTRE[None]},
    "chains": {"chains": 4},
    "engine": {"name": "another walk"},
    "warm-up": {"warmup": 10},
    "draws": {"draws": 50},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS.keys())
def test_a_checkpoint_of_another_run_is_refused(finished, change):
    before = {file.name: file.read_bytes() for file in finished.iterdir()}
    with pytest.raises(InputError, match=r"checkpoint: .* other data, settings or versions\. Give another") as caught:
        walk(**{"checkpoint": finished, **change})
    assert caught.value.argument == "checkpoint"
    assert {file.name: file.read_bytes() for file in finished.iterdir()} == before


def test_another_version_of_a_library_is_another_run(finished, monkeypatch):
    monkeypatch.setattr(sampling, "version", lambda name: f"{name} of tomorrow")
    with pytest.raises(InputError, match="checkpoint"):
        walk(checkpoint=finished)


def test_a_seed_may_be_a_number_of_numpy(plain, finished):
    assert same(plain, walk(seed=np.int64(1), checkpoint=finished))  # type: ignore[arg-type]


# Runs in processes of their own.

KILLED = """
    import os, signal, sys, threading, time
    import numpy as np
    sys.path.insert(0, {tests!r})
    from molehill.synthesis.sampling import chains as sampling
    from test_chains import walk
    sampling.LONGEST_CHUNK = 10
    folder, last, wait = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    write, written = sampling.write_chunk, []
    def kill():
        time.sleep(wait)
        os.kill(os.getpid(), signal.SIGKILL)
    def die(store, number, *rest):
        write(store, number, *rest)
        if number == last:
            os.kill(os.getpid(), signal.SIGKILL)
        if wait and not written:
            threading.Thread(target=kill, daemon=True).start()
        written.append(number)
    sampling.write_chunk = die
    run = walk(seed=1, checkpoint=folder, warmup=20, draws=int(sys.argv[4]))
    np.savez(sys.argv[5], place=run.draws["place"], accept=run.accept)
"""


def run_python(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        env={name: value for name, value in os.environ.items() if not name.startswith("JAX_")} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_killed(folder: Path, *, last: int = -1, wait: float = 0.0, draws: int = 40) -> int:
    program = KILLED.format(tests=str(Path(__file__).parent))
    done = run_python(program, folder, last, wait, draws, folder.parent / "result.npz")
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.parametrize("borders", [(1, 4), (5,)])
def test_kill_9_at_chunk_borders_then_the_same_call_gives_the_same_bytes(plain, tmp_path, borders):
    folder = tmp_path / "kept"
    for last in borders:
        assert run_killed(folder, last=last) == -signal.SIGKILL
        assert len(chunks(folder)) == last + 1
    resumed = walk(checkpoint=folder)
    assert resumed.resumed == borders[-1] + 1
    assert same(plain, resumed)


def test_kill_9_at_random_moments_then_the_same_call_gives_the_same_bytes(tmp_path):
    folder = tmp_path / "kept"
    # Long enough that a kill falls amid chunks; each attempt goes on from the one before.
    draws, waits = 5000, np.random.default_rng(8).uniform(0.001, 0.1, 2)
    ends = [run_killed(folder, wait=wait, draws=draws) for wait in waits]
    assert ends[0] == -signal.SIGKILL
    kept = len(chunks(folder))
    assert kept > 0
    resumed = walk(checkpoint=folder, draws=draws)
    assert resumed.resumed >= kept
    assert same(walk(draws=draws), resumed)


def test_a_run_in_another_process_has_the_same_bytes(plain, tmp_path):
    assert run_killed(tmp_path / "kept") == 0
    with np.load(tmp_path / "result.npz") as saved:
        assert saved["place"].tobytes() == plain.draws["place"].tobytes()
        assert saved["accept"].tobytes() == plain.accept.tobytes()


CACHED = """
    import sys, warnings
    from pathlib import Path
    import numpy as np, numpyro, numpyro.distributions as dist, pandas as pd
    from molehill.models.tdp_mixture import tdp_mixture
    from molehill.synthesis import draw, fit
    from molehill.synthesizer import Synthesizer
    import jax, jax.numpy as jnp
    from jax._src.compilation_cache import decompress_executable
    # Keep everything that is compiled, however small.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    folder = Path(sys.argv[1])

    def wages(age, income=None):
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            numpyro.sample("income", dist.Normal(slope * age, 1), obs=income)

    random = np.random.default_rng(4)
    count = 50
    data = pd.DataFrame({{"age": random.normal(40, 9, count), "income": random.lognormal(size=count)}})
    data.loc[7, "income"] = {rare!r}
    warnings.simplefilter("ignore")
    secrets = {{repr({rare!r}).encode(): "text"}}
    for synthesizer in (Synthesizer(wages, ("income",)), tdp_mixture("income", components=2)):
        posterior = fit(synthesizer, data, seed=1, warmup=10, draws=10, progress=False)
        draw(posterior, datasets=2, seed=2, unconverged="allow")
        for array in (data["age"], data["income"], *posterior.learned.inputs.values()):
            values = np.ravel(np.asarray(array, dtype=np.float64))
            values = values[values != np.rint(values)]
            secrets |= {{value.tobytes(): "double" for value in values}}
            # Four bytes alone would be found by chance.
            secrets |= {{np.float32(pair).tobytes(): "single" for pair in zip(values, values[1:])}}

    def search():
        found, files = set(), [file for file in folder.rglob("*-cache") if file.is_file()]
        for file in files:
            content = file.read_bytes()
            content += decompress_executable(content)
            found |= {{kind for secret, kind in secrets.items() if secret in content}}
        return len(files), sorted(found)

    print(len(secrets), *search())
    # The control: of an array that is captured, the same search finds the values.
    for double in (True, False):
        with jax.enable_x64(double):
            captured = jnp.asarray(data["income"].to_numpy())
            jax.jit(lambda x: x + captured)(jnp.ones(count))
    print(len(secrets), *search())
"""


def test_no_confidential_value_is_in_the_compile_cache(tmp_path):
    done = run_python(CACHED.format(rare=123456.789012345), tmp_path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (secrets, files, *found), (_, _, *control) = (line.split() for line in done.stdout.splitlines())
    assert int(secrets) > 200
    assert int(files) >= 3
    assert found == ["[]"]
    assert control == ["['double',", "'single']"]


DEVICES = (
    "import jax, molehill.synthesis as s; from molehill.balls import workers; print(len(jax.devices()), workers())"
)


def test_every_core_is_a_device():
    done = run_python(DEVICES)
    assert done.returncode == 0, done.stderr
    devices, cores = done.stdout.split()
    assert devices == cores


def test_where_jax_runs_already_chains_share_its_device(tmp_path):
    program = f"""
    import jax, sys
    jax.devices()
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from test_chains import walk
    from molehill.synthesis.sampling import chains as sampling
    sampling.LONGEST_CHUNK = 10
    run = walk()
    run.draws["place"].tofile(sys.argv[1])
    print(len(jax.devices()))
    """
    done = run_python(program, tmp_path / "place")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]
    assert np.fromfile(tmp_path / "place").shape == (2 * 40 * 3,)


def test_settings_of_jax_that_are_there_already_stay(tmp_path):
    program = "import jax, molehill.synthesis; print(len(jax.devices()), jax.config.jax_compilation_cache_dir)"
    kept = tmp_path / "mine"
    done = run_python(program, JAX_NUM_CPU_DEVICES="3", JAX_COMPILATION_CACHE_DIR=str(kept))
    assert done.stdout.split() == ["3", str(kept)], done.stderr


@pytest.mark.parametrize("home", ["/dev/null/nowhere", ""])
def test_without_a_place_for_compiled_code_all_still_works(tmp_path, home):
    program = "import jax, molehill.synthesis; print(jax.config.jax_compilation_cache_dir)"
    done = run_python(program, XDG_CACHE_HOME=home, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    expected = "None" if home else str(tmp_path / ".cache" / "molehill" / "compiled")
    assert done.stdout.strip() == expected


# Diagnostics.


def judge(functionals: dict[str, np.ndarray], divergent: float = 0.0):
    shape = next(iter(functionals.values())).shape[:2]
    broke = np.arange(np.prod(shape)).reshape(shape) < divergent * np.prod(shape)
    return diagnose(Run({}, functionals, np.full(shape, 0.8), broke, 9, shape[1], 0, {"sampling": 1.0}))


def noise(draws: int = 600, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, draws, 1))


def test_numbers_are_those_of_arviz():
    chains = np.cumsum(noise(), axis=1) * 0.01 + noise(seed=1)
    diagnostics = judge({"level": chains, "pair": np.concatenate([chains**2, noise(seed=2)], axis=2)})
    assert list(diagnostics.table.index) == ["level", "pair[0]", "pair[1]"]
    row = diagnostics.table.loc["level"].to_dict()
    values = chains[..., 0]
    assert row["mean"] == pytest.approx(values.mean())
    assert row["sd"] == pytest.approx(values.std())
    assert row["rhat"] == pytest.approx(float(STATS.rhat(values, **AXES)))
    assert row["bulk"] == pytest.approx(float(STATS.ess(values, **AXES)))
    assert row["tail"] == pytest.approx(float(STATS.ess(values, method="tail", prob=(0.05, 0.95), **AXES)))
    assert row["error"] == pytest.approx(float(STATS.mcse(values, **AXES)))
    assert diagnostics.effective_size == diagnostics.table["bulk"].min()
    assert (diagnostics.divergent, diagnostics.accept, diagnostics.gradients) == (0.0, pytest.approx(0.8), 9)


def test_good_chains_have_no_problem():
    assert judge({"a": noise()}).problems == ()


def test_chains_apart_are_told_with_the_functional_and_the_number():
    apart = noise() + np.array([0.0, 3.0])[:, None, None]
    problems = judge({"fine": noise(seed=1), "apart": apart}).problems
    rhat = float(STATS.rhat(apart[..., 0], **AXES))
    assert problems[0].startswith(f"R-hat of apart is {rhat:.3f}, above ")
    assert "draws=" in problems[0]


@pytest.mark.parametrize("stuck", [[0, 1], [0]], ids=["both", "one"])
def test_chains_that_never_move_each_at_its_own_place(stuck):
    chains = noise()
    for chain in stuck:
        chains[chain] = 5.0 + chain
    assert any(problem.startswith("R-hat of a is") for problem in judge({"a": chains}).problems)


def test_short_chains_have_too_small_an_effective_size():
    problems = judge({"a": noise(50)}).problems
    assert any(problem.startswith("the bulk effective size of a is") for problem in problems)
    assert any(f"below {LEAST_BULK}" in problem for problem in problems)


def test_slow_chains_have_too_small_an_effective_size():
    slow = np.cumsum(noise(2000), axis=1)
    assert any("effective size of slow" in problem for problem in judge({"slow": slow, "fast": noise(2000)}).problems)


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_too_few_draws_to_judge_is_a_problem(draws):
    diagnostics = judge({"a": noise(draws)})
    assert "too few draws" in "".join(diagnostics.problems)
    assert diagnostics.effective_size == 0


def test_a_constant_functional_says_nothing():
    diagnostics = judge({"constant": np.full((2, 600, 1), 3.0), "a": noise()})
    assert diagnostics.problems == ()
    assert diagnostics.effective_size == diagnostics.table.loc["a", "bulk"]
    assert np.isnan(diagnostics.table["rhat"].to_dict()["constant"])


def test_chains_that_all_stand_still_have_not_converged():
    diagnostics = judge({"a": np.full((2, 600, 2), 3.0)})
    assert "no chain ever moved" in "".join(diagnostics.problems)
    assert diagnostics.effective_size == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_functional_that_is_not_finite_is_named(value):
    chains = np.concatenate([noise(), noise(seed=1)], axis=2)
    chains[1, 7, 1] = value
    diagnostics = judge({"mean": chains})
    assert len(diagnostics.problems) == 1
    assert "1 functionals are not finite, mean[1] among them" in diagnostics.problems[0]
    assert diagnostics.effective_size == diagnostics.table.loc["mean[0]", "bulk"]


def test_divergences_are_told():
    assert judge({"a": noise()}, divergent=0.005).problems == ()
    diagnostics = judge({"a": noise()}, divergent=0.05)
    assert diagnostics.divergent == pytest.approx(0.05)
    assert diagnostics.problems[0].startswith("5.0% of the trajectories diverged")


def test_parts_keep_their_names_when_joined():
    parts = {"sign": judge({"a": noise()}), "size": judge({"a": noise(50)}, divergent=0.5)}
    joined = join_diagnostics(parts)
    assert list(joined.table.index) == ["sign.a", "size.a"]
    assert joined.problems == tuple(f"size: {problem}" for problem in parts["size"].problems)
    assert joined.effective_size == parts["size"].effective_size
    assert (joined.divergent, joined.gradients) == (pytest.approx(0.5), 18)
    assert joined.seconds == {"sign, sampling": 1.0, "size, sampling": 1.0}
