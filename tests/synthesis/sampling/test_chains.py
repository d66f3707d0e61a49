"""Chains: right moments, the same bytes for the same seed, and nothing confidential in the cache."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base.array import array_stats

from agreement import assert_agrees
from molehill.synthesis.sampling import chains as sampling
from molehill.synthesis.sampling.chains import Engine, Run, Sweep, sample
from molehill.synthesis.sampling.checkpoints import write_chunk
from processes import run_python
from walks import CENTRE, Walker, same, walk, walk_engine

STATS: Any = array_stats


@pytest.fixture(scope="module")
def long_walk() -> Run:
    return walk(seed=7, warmup=100, draws=10_000)


def test_a_random_walk_finds_mean_and_variance(long_walk):
    place = long_walk.draws["place"]
    for values, truth in ((place, CENTRE), ((place - CENTRE) ** 2, 1.0)):
        error = STATS.mcse(values, chain_axis=0, draw_axis=1)
        # A chain that accepts what it should not is wider by half and more.
        assert_agrees(values.mean(axis=(0, 1)), truth, error, detects=0.5, of="moments")


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


def test_half_of_the_draws_may_be_enough(plain, monkeypatch):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 5)
    half = walk(enough=lambda _: True, patience=9, early=True)
    assert half.sweeps == 20
    assert half.gradients == plain.gradients / 2
    assert (half.draws["place"] == plain.draws["place"][:, :20]).all()
    assert same(walk(enough=lambda run: run.sweeps > 20, patience=9, early=True), plain)


def test_a_hopeless_run_ends_as_soon_as_it_is_known(plain, monkeypatch):
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 5)
    asked = []

    def hopeless(run: Run, longer: float) -> bool:
        asked.append((run.sweeps, longer))
        return longer < 2

    assert walk(enough=lambda _: False, hopeless=lambda *_: True, patience=2).sweeps == 10
    # 40 sweeps, and at most 160: asked after a quarter, half, all and twice as many, and not when nothing is left.
    assert walk(enough=lambda _: False, hopeless=hopeless, patience=2).sweeps == 160
    assert asked == [(10, 16), (20, 8), (40, 4), (80, 2)]
    assert same(walk(enough=lambda _: True, hopeless=hopeless), plain)


@pytest.mark.parametrize("number", [3, 5, 8])
def test_an_interrupted_run_goes_on_beyond_its_first_draws(tmp_path, monkeypatch, number):
    settings: Any = {"enough": lambda _: False, "patience": 2}
    whole = walk(**settings)
    monkeypatch.setattr(sampling, "LONGEST_CHUNK", 20)

    def interrupt(store, n, *rest):
        write_chunk(store, n, *rest)
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


@pytest.fixture
def compiled() -> Iterator[list[bool]]:
    """One True for every time that something is compiled."""
    events = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        events.append("backend_compile" in event)

    jax.monitoring.register_event_duration_secs_listener(note)
    yield events
    jax.monitoring.unregister_event_duration_listener(note)


@pytest.mark.parametrize("first", [lambda: jnp.asarray(0.5), lambda: jnp.zeros(0)], ids=["of weak type", "empty"])
def test_a_chunk_is_compiled_once_whatever_the_first_state(monkeypatch, compiled, first):
    after_chunk = []

    def begin(key, inputs):
        del inputs
        return Walker(first(), key)

    def sweep(state, inputs):
        place = 0.9 * state.place + inputs["centre"][0] + jax.random.normal(state.key, dtype=jnp.float64)
        told = Sweep({"place": place}, {"place": place[None]}, 1.0, False, 1)
        return Walker(place, jax.random.split(state.key)[0]), told

    compile_ = sampling._compile

    def watch(*arguments):
        made = compile_(*arguments)

        def counted(*state):
            result = made.move(*state)
            after_chunk.append(sum(compiled))
            return result

        return replace(made, move=counted)

    monkeypatch.setattr(sampling, "_compile", watch)
    sample(Engine("weak", begin, sweep, 20, 40), {"centre": CENTRE}, seed=1, progress=False)
    # Six chunks of either chain.
    assert len(after_chunk) == 12
    assert len(set(after_chunk)) == 1
    assert after_chunk[0] > 0


CACHED = """
    import sys, warnings
    from pathlib import Path
    import numpy as np, numpyro, numpyro.distributions as dist, pandas as pd
    from molehill import Synthesizer, draw, fit
    from molehill.runtime import prepare_jax
    from molehill.models import tdp_mixture
    import jax, jax.numpy as jnp
    from jax._src.compilation_cache import decompress_executable
    # Keep everything that is compiled, however small.
    prepare_jax()
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
    for synthesizer in (Synthesizer(wages, ("income",)), tdp_mixture("income", components=2))[: int(sys.argv[2])]:
        posterior = fit(synthesizer, data, seed=1, warmup=10, draws=10, patience=0, progress=False)
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


# What chains of every model compile is searched in tests/models/test_contract.py, in every run of the tests.
@pytest.mark.slow
@pytest.mark.parametrize("models", [1, 2])
def test_no_confidential_value_is_in_the_compile_cache(tmp_path, models):
    done = run_python(
        CACHED.format(rare=123456.789012345),
        tmp_path,
        models,
        XDG_CACHE_HOME=str(tmp_path),
        # Compiled quickly: what is captured is in it all the same, as the control shows.
        XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    )
    assert done.returncode == 0, done.stderr
    (secrets, files, *found), (_, _, *control) = (line.split() for line in done.stdout.splitlines())
    # 50 values of either column, 49 pairs of each, and one as text; the mixture has its own scale of them.
    assert int(secrets) >= 199
    assert int(files) >= 3
    assert found == ["[]"]
    assert control == ["['double',", "'single']"]


def test_where_jax_runs_already_chains_share_its_device(tmp_path):
    program = """
    import jax, sys
    jax.devices()
    from molehill.runtime import prepare_jax
    from walks import walk
    prepare_jax()
    run = walk()
    run.draws["place"].tofile(sys.argv[1])
    print(len(jax.devices()))
    """
    done = run_python(program, tmp_path / "place")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]
    assert np.fromfile(tmp_path / "place").shape == (2 * 40 * 3,)


# Devices share the records of a chain. How many there are is set when JAX starts.

SHARED = """
    import sys
    import jax, jax.numpy as jnp, numpy as np
    from molehill.runtime import prepare_jax
    prepare_jax()
    from molehill.models import tdp_engine
    from molehill.synthesis.sampling import chains as sampling
    from molehill.synthesis.sampling.nuts import model_engine
    from molehill.synthesis.synthesizer import Data, Synthesizer
    from people import wages

    random = np.random.default_rng(1)
    count = 4001
    age = random.normal(size=count)
    inputs = {"age": age, "pay": 2 * age + random.normal(size=count)}
    data = Data(inputs, random.uniform(0, 1, count))
    engine = model_engine(Synthesizer(wages, ("pay",)), data, warmup=10, draws=20)
    # Of the same length throughout, so that it is compiled once for each device.
    sampling.LONGEST_CHUNK = 5
    compile_, made = sampling._compile, {}
    def compile_once(engine, inputs, length, mesh=None):
        devices = str(mesh and mesh.devices)
        if devices not in made:
            made[devices] = compile_(engine, inputs, length, mesh)
        return made[devices]
    sampling._compile = compile_once

    def run(shards, **settings):
        return sampling.sample(engine, data, seed=1, shards=shards, progress=False, **settings).draws["slope"]

    alone, shared = run(1), run(2)
    print(alone.shape, np.abs(alone - shared)[:, :5].max() < 1e-8, (alone == shared).all())

    # Stopped after the first chunk, and gone on with.
    write = sampling.write_chunk
    def stop(*given):
        write(*given)
        raise KeyboardInterrupt
    sampling.write_chunk = stop
    try:
        run(2, checkpoint=sys.argv[1])
    except KeyboardInterrupt:
        sampling.write_chunk = write
    print((run(2, checkpoint=sys.argv[1]) == shared).all())
    try:
        run(1, checkpoint=sys.argv[1])
    except ValueError as error:
        print("other data, settings or versions" in str(error))

    # The likelihood of the mixture and its gradient, of 16 blocks.
    with jax.enable_x64(True):
        design = np.column_stack([np.ones(count), age])
        made = tdp_engine.prepare(Data({"design": design, "outcome": inputs["pay"]}, data.weights), least_sigma=0.0)
        engine = tdp_engine.tdp_engine(None, components=3, priors="weak", least_sigma=0.0, warmup=1)
        plain = {name: jnp.asarray(value) for name, value in made.items()}
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("records",))
        placed = sampling._place(engine, made, mesh)
        print([part.data.shape[0] for part in placed["white"].addressable_shards])
        point = (jnp.ones((3, 2)) * jnp.arange(3.0)[:, None], jnp.zeros(3), jnp.log(jnp.array([0.2, 0.3, 0.5])))
        both = jax.value_and_grad(tdp_engine.weighted_loglik, (0, 1, 2))
        theirs = jax.jit(both)(*point, plain)
        with jax.set_mesh(mesh):
            compiled = jax.jit(lambda point, data: both(*point, data)).lower(point, placed).compile()
            ours = compiled(point, placed)
        close = jax.tree.map(lambda a, b: np.allclose(a, b, rtol=1e-11, atol=1e-9), ours, theirs)
        print(all(jax.tree.leaves(close)), "all-reduce" in compiled.as_text())
    try:
        sampling.sample(engine, data, seed=1, shards=4, progress=False)
    except ValueError as error:
        print("8 devices" in str(error))
"""


@pytest.mark.slow
def test_devices_share_the_records_of_a_chain(tmp_path):
    done = run_python(SHARED, tmp_path / "kept", JAX_NUM_CPU_DEVICES="4")
    assert done.returncode == 0, done.stderr
    draws, resumed, refused, blocks, mixture, too_many = done.stdout.splitlines()
    assert draws == "(2, 20) True False"
    assert resumed == refused == too_many == "True"
    assert blocks == "[4, 4, 4, 4]"
    assert mixture == "True True"


SHARED_FIT = """
    import sys, warnings
    import numpy as np, pandas as pd
    from molehill.models import tdp_mixture
    from molehill.synthesis.fitting import fit
    warnings.simplefilter("ignore")
    random = np.random.default_rng(1)
    data = pd.DataFrame({"age": random.normal(size=4001)})
    data["pay"] = np.exp(data["age"] + random.normal(size=4001) * random.choice([0.3, 1.0], 4001))
    for shards, seed, draws in ((1, 1, 10), (2, 1, 10), (1, 1, 600), (2, 2, 600)):
        told = fit(tdp_mixture("pay", ["age"], components=2), data, seed=seed, warmup=1 if draws == 10 else 200,
            draws=draws, patience=0, shards=shards, progress=False)
        if draws == 10:
            np.save(f"{sys.argv[1]}/{shards}.npy", told.draws["sigma"])
        else:
            told.diagnostics.table.to_csv(f"{sys.argv[1]}/{shards}.csv")
"""


@pytest.mark.slow
def test_a_fit_whose_records_are_shared_is_that_of_one_device(tmp_path):
    done = run_python(SHARED_FIT, tmp_path, JAX_NUM_CPU_DEVICES="4")
    assert done.returncode == 0, done.stderr
    alone, shared = (np.load(tmp_path / f"{shards}.npy") for shards in (1, 2))
    assert np.abs(alone - shared)[:, :3].max() < 1e-8
    alone, shared = (pd.read_csv(tmp_path / f"{shards}.csv", index_col=0) for shards in (1, 2))
    error = np.hypot(alone["error"], shared["error"])
    # Half of the records left out would move most of them by more than a standard deviation.
    assert_agrees(shared["mean"], alone["mean"], error, detects=alone["sd"], of="functionals")
