"""Risk of files larger than memory is that in memory: of every record to the last bit, whatever the chunks.

Sums over all records are rounded once, and so differ from NumPy's in their last digits: by 1e-12 at most.
"""

import pickle
import stat
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from molehill import InputError, Intruder, Table, confidential_risk, match_rates, release_risk, risk_weights
from molehill.larger_than_memory import risk as large_risk
from molehill.larger_than_memory.files import open_files, write_files
from molehill.larger_than_memory.risk import measure_confidential, measure_release
from molehill.risk.identification import risk_floor
from molehill.risk.profile import profile_release, profile_risk
from molehill.runtime import executing
from molehill.tables.populations import consumer_survey
from molehill.tables.schema import column_numbers
from molehill.tables.table import from_arrow
from molehill.utility import ecdf_distances, wasserstein
from properties import examples

ANY_SIZE = [HealthCheck.too_slow, HealthCheck.data_too_large]
PAY = Intruder(known=["town", "age"], sensitive="pay", radius=0.2, breaks={"age": [30, 50]})
TOWNS = ["A", "b=c", "ü / 'x'", "", "\u2603"]


def write(frame: pd.DataFrame, folder: Path, parts: int = 3) -> Path:
    """A frame as a dataset of parts of unequal length."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    edges = sorted({0, *(len(frame) * step**2 // parts**2 for step in range(1, parts)), len(frame)})
    write_files([table.slice(a, b - a) for a, b in pairwise(edges)], folder)
    return folder


def in_memory(folder: Path) -> Table:
    """The same dataset as a table in memory."""
    files = [parquet.ParquetFile(path).read() for path in open_files(folder).paths]
    return Table(from_arrow(pa.concat_tables(files).unify_dictionaries(), "data"))


def people(number: int = 400, seed: int = 0, gaps: bool = False) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": random.choice(TOWNS, number),
            "age": random.integers(15, 90, number),
            "pay": np.round(random.lognormal(3, 1.5, number), 1) * random.choice([1, 1, 1, 0, -1], number),
            "rent": random.lognormal(2, 1, number),
            "tax": random.lognormal(1, 1, number),
            "job": random.choice(["x", "y", "z"], number, p=[0.7, 0.25, 0.05]),
        }
    )
    if gaps:
        for name in frame.columns:
            frame[name] = frame[name].astype("Int64" if name == "age" else frame[name].dtype)
            frame.loc[random.random(number) < 0.1, name] = None
    return frame


def released(frame: pd.DataFrame, tables: int, seed: int = 1) -> list[pd.DataFrame]:
    """Other values for everything, known columns included, now and then."""
    random, made = np.random.default_rng(seed), []
    for number in range(tables):
        other = frame.copy()
        for name in ("pay", "rent", "tax", "job", *(["town"] if number else [])):
            moved = random.random(len(frame)) < (0.1 if name == "town" else 0.6)
            other.loc[moved, name] = random.permutation(frame.loc[moved, name].to_numpy(copy=True))
        made.append(other)
    return made


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def close(one: Any, other: Any) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-12)


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """What a call gives, or the words in which it refuses."""
    try:
        return call(), ""
    except InputError as error:
        return None, str(error)


def check_confidential(frame: pd.DataFrame, intruder: Intruder, where: Path, order: int, chunks: int) -> None:
    dataset = open_files(write(frame, where / "own"))
    whole = in_memory(where / "own")
    expected, refused = attempt(lambda: confidential_risk(whole, intruder, order=order))
    if refused:
        assert attempt(lambda: measure_confidential(dataset, intruder, order=order, chunks=chunks))[1] == refused
        return
    result = measure_confidential(dataset, intruder, order=order, chunks=chunks, out=where / "out")
    records = in_memory(where / "out").frame
    same(records["position"], np.arange(len(frame)))
    # Three and more amounts are scanned in an order that the records decide, in which their sums are taken.
    several = (
        order > 1 and len([name for name in intruder.sensitive if expected.schema[name].kind != "categorical"]) > 2
    )
    for name in ("risk", "pattern_size", "within"):
        (close if several and name == "risk" else same)(records[name], getattr(expected, name))
    (close if several else same)(records["weight"], risk_weights(expected))
    assert result.records == len(frame) == sum(result.chunks)
    assert result.patterns == expected.patterns.number
    assert result.policies == expected.policies
    assert result.schema == expected.schema
    told = profile_risk(expected, whole)
    close(result.mean, told.distribution["value"][0])
    for name in ("distribution", "above", "histogram", "patterns", "policies"):
        ours, theirs = getattr(result.profile, name), getattr(told, name)
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-12, atol=1e-12)
    same(result.profile.distribution["value"][1:], told.distribution["value"][1:]) if not several else None


@st.composite
def tables(draw):
    number = draw(st.integers(1, 30))
    values = st.sampled_from([0.0, -0.0, -5.0, 1.0, 1.1, 1.15, 2.5, 100.0, 110.0, -5.5])
    missing = draw(st.booleans())

    def column(strategy):
        cells = st.one_of(strategy, st.none()) if missing else strategy
        return draw(st.lists(cells, min_size=number, max_size=number))

    frame = pd.DataFrame(
        {
            "town": pd.Series(column(st.sampled_from(TOWNS)), dtype=object),
            "age": pd.array(column(st.integers(20, 60)), dtype="Int64"),
            **{name: np.array(column(values), dtype=float) for name in ("pay", "rent", "tax")},
            "job": pd.Series(column(st.sampled_from(["x", "y", "z"])), dtype=object),
        }
    )
    sensitive = draw(
        st.sampled_from([("pay",), ("job",), ("pay", "job"), ("pay", "rent"), ("job", "rent", "pay", "tax")])
    )
    kinds: dict[str, Any] = {name: "continuous" for name in sensitive if name != "job"} | ({"job": "categorical"})
    intruder = Intruder(
        known=draw(st.sampled_from([[], ["town"], ["age"], ["town", "age"]])),
        sensitive=sensitive,
        radius=draw(st.sampled_from([0.1, 0.5, 1.0])),
        min_radius=draw(st.sampled_from([0.0, 2.0])),
        kinds=kinds,
        count_self=draw(st.booleans()),
        small_patterns=draw(st.sampled_from(["maximum_risk", "marginal", "error"])),
        missing_values="keep" if missing else draw(st.sampled_from(["keep", "error"])),
    )
    if "age" in intruder.known and draw(st.booleans()):
        intruder = replace(intruder, breaks={"age": [30.0, 50.0]})
    return frame, intruder


@settings(examples(8), suppress_health_check=ANY_SIZE)
@given(tables(), st.integers(1, 3), st.sampled_from([1, 2, 7]))
def test_every_record_has_the_risk_that_it_has_in_memory(table, order, chunks):
    frame, intruder = table
    with TemporaryDirectory() as where:
        check_confidential(frame, intruder, Path(where), order, chunks)


SEVERAL = ["pay", ["pay", "job"], ["pay", "rent", "tax"], ["job"], ["pay", "rent", "tax", "job"]]


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("sensitive", SEVERAL)
def test_larger_tables_are_the_same_to_the_last_bit(tmp_path, sensitive, order):
    intruder = replace(PAY, sensitive=sensitive, missing_values="keep")
    check_confidential(people(gaps=True), intruder, tmp_path, order, 5)


def check_release(
    frame: pd.DataFrame, others: list[pd.DataFrame], intruder: Intruder, where: Path, chunks: int
) -> None:
    own = open_files(write(frame, where / "own"))
    datasets = [write(other, where / f"released-{number}", 2) for number, other in enumerate(others)]
    whole, tables = in_memory(where / "own"), [in_memory(one) for one in datasets]
    # The baseline is that of the confidential table, whose small patterns may be refused where no released record is.
    measured, refused = attempt(lambda: (release_risk(whole, tables, intruder), risk_floor(whole, intruder)))
    if refused:
        assert attempt(lambda: measure_release(own, datasets, intruder, chunks=chunks))[1] == refused
        return
    expected, floor = measured
    result = measure_release(own, datasets, intruder, chunks=chunks, out=where / "out")
    records = in_memory(where / "out").frame
    same(records["realised"], expected.realised)
    same(records["baseline"], floor)
    close(result.baseline, np.nanmean(floor))
    rates = match_rates(whole, tables, intruder)
    for name in ("expected", "true", "false", "unique"):
        (close if name == "expected" else same)(getattr(result.rates, name), getattr(rates, name))
    profile = profile_release(expected.by_dataset)
    assert list(result.profile) == list(profile)
    for name, figure in profile.items():
        close(result.profile[name].value, figure.value)
        if name in ("mean", "largest") or name.startswith("above"):
            assert result.profile[name] == pytest.approx(figure, abs=1e-12, nan_ok=True)
    for name in (name for name in intruder.sensitive if name != "job"):
        check_column(whole, tables, name, result)


def check_column(whole, tables, name, result):
    for measure in (ecdf_distances, wasserstein):
        found = measure(whole, tables, name, missing="keep").by_dataset
        ours = result.utility.distances.by_dataset
        for row in found.itertuples():
            of = ours[(ours["table"] == row.table) & (ours["column"] == name) & (ours["measure"] == row.measure)]
            (same if row.measure == "U_m" else close)(of["value"], [row.value])
    for number, table in enumerate([whole, *tables]):
        values = column_numbers(table, name)
        values = values[~np.isnan(values)]
        row = result.utility.moments.set_index(["column", "table"]).loc[name, number]
        assert row["records"] == len(values)
        close(row["mean"], values.mean())
        close(row["sd"], values.std(ddof=1) if len(values) > 1 else np.nan)


@pytest.mark.parametrize("pay", [[1.0, 2.0, np.nan], [1.0, 2.0, 5.0]])
def test_small_patterns_are_refused_by_chunk_as_in_memory(tmp_path, pay):
    frame = pd.DataFrame({"town": ["A", "A", "B"], "pay": pay})
    eyes = Intruder("town", "pay", radius=0.1, small_patterns="error", missing_values="keep")
    elsewhere = frame.assign(pay=[9.0, 9.0, 9.0])
    # No released record is close: only the risk of values drawn from the pattern is refused.
    assert attempt(lambda: release_risk(frame, [elsewhere], eyes))[1] == ""
    assert bool(attempt(lambda: risk_floor(frame, eyes))[1]) == np.isfinite(pay).all()
    check_release(frame, [elsewhere], eyes, tmp_path, 1)


@settings(examples(4), suppress_health_check=ANY_SIZE)
@given(tables(), st.integers(1, 9), st.integers(0, 100), st.sampled_from([1, 4]))
def test_a_release_has_the_risk_and_utility_that_it_has_in_memory(table, number, seed, chunks):
    frame, intruder = table
    if any(frame[name].isna().all() for name in frame):
        return
    with TemporaryDirectory() as where:
        check_release(frame, released(frame, number, seed), intruder, Path(where), chunks)


# Sums of more than eight tables are taken in another order.
@pytest.mark.parametrize(("sensitive", "tables"), [("pay", 9), (["pay", "job"], 2), (["pay", "rent", "tax", "job"], 2)])
def test_a_larger_release_is_the_same_to_the_last_bit(tmp_path, sensitive, tables):
    frame = people(1000, gaps=True)
    check_release(frame, released(frame, tables), replace(PAY, sensitive=sensitive, missing_values="keep"), tmp_path, 7)


def test_kinds_are_those_of_the_whole_and_not_of_a_chunk(tmp_path):
    # Whole numbers in most chunks, a fraction in one; few different ones in each chunk, many in all.
    frame = pd.DataFrame({"town": np.repeat([f"{n}" for n in range(60)], 400), "pay": np.repeat(np.arange(60.0), 400)})
    frame.loc[23_999, "pay"] = 59.5
    frame["count"] = frame["pay"].astype(int) + 20_000 * (np.arange(len(frame)) == 7)
    for name in ("pay", "count"):
        check_confidential(frame, Intruder("town", name, radius=0.1), tmp_path / name, 1, 9)


def test_types_of_columns_make_no_difference(tmp_path):
    frame = people(300)
    frame["town"] = frame["town"].astype("category")
    frame["born"] = pd.Timestamp("1980-01-01") + pd.to_timedelta(frame["age"] * 100, unit="D")
    frame["member"] = frame["age"] % 2 == 0
    frame["small"] = frame["age"].astype("int8")
    frame["many"] = frame["age"].astype("uint64") + 2**60
    eyes = Intruder(["town", "member", "small", "many"], ["born", "job"], min_radius=500.0)
    check_confidential(frame, eyes, tmp_path / "types", 2, 6)
    check_confidential(frame, Intruder(["born"], "pay", radius=0.2), tmp_path / "dates", 2, 6)
    # Numbers are equal in any type.
    other = frame.assign(small=frame["small"].astype("float32"), town=frame["town"].astype(object))
    check_release(frame, [other, other], replace(eyes, known=["town", "small"]), tmp_path / "release", 5)


@pytest.mark.parametrize(
    ("change", "intruder"),
    [
        ({"pay": np.inf}, {}),
        ({"pay": None}, {}),
        ({"age": np.inf}, {}),
        ({}, {"known": ["twon"]}),
        ({}, {"sensitive": "pya"}),
        ({}, {"radius": 7.0}),
        ({}, {"radius": None}),
        ({}, {"breaks": {"age": [3, 1]}}),
        ({}, {"breaks": {"town": [3.0]}, "known": ["town"]}),
        ({}, {"kinds": {"town": "continuous"}}),
        ({}, {"small_patterns": "error", "breaks": {}}),
        ({}, {"sensitive": ["pay", "town"]}),
        ({}, {"sensitive": "digits"}),
        ({}, {"known": ["stray"], "breaks": {}}),
    ],
)
def test_what_is_refused_in_memory_is_refused_here_in_the_same_words(tmp_path, change, intruder):
    frame = people(500).assign(age=lambda data: data["age"].astype(float))
    frame["digits"] = frame["rent"].map("{:.3f}".format)
    frame["stray"] = frame["digits"].where(np.arange(500) % 97 > 0, "n/a")
    for name, value in change.items():
        frame.loc[[377, 401], name] = value
    eyes = replace(PAY, **intruder)
    dataset = open_files(write(frame, tmp_path / "own"))
    _, refused = attempt(lambda: confidential_risk(in_memory(tmp_path / "own"), eyes))
    assert refused
    left = set(tmp_path.iterdir())
    how: dict[str, Any] = {"chunks": 7, "out": tmp_path / "out", "folder": tmp_path}
    assert attempt(lambda: measure_confidential(dataset, eyes, **how))[1] == refused
    assert set(tmp_path.iterdir()) == left


@pytest.mark.parametrize(
    "change", [{"pay": np.inf}, {"pay": None}, {"town": "elsewhere"}, {"age": 7.0, "town": "A"}, {"pay": "text"}]
)
def test_a_release_is_refused_in_the_same_words(tmp_path, change):
    frame = people(200).assign(age=lambda data: data["age"].astype(float))
    other = frame.assign(**{name: value for name, value in change.items() if value in ("elsewhere", "text")})
    for name in change.keys() - {name for name in change if change[name] in ("elsewhere", "text")}:
        other.loc[[37, 41], name] = change[name]
    check_release(frame, [frame, other], PAY, tmp_path, 5)


def test_records_must_be_as_many_and_columns_the_same(tmp_path):
    frame = people(50)
    own = write(frame, tmp_path / "own")
    with pytest.raises(InputError, match="49 records where the confidential table has 50"):
        measure_release(own, [write(frame[1:], tmp_path / "short")], PAY)
    with pytest.raises(InputError, match=r"there is no (column|variable) 'pay'"):
        measure_release(own, [write(frame.drop(columns="pay"), tmp_path / "narrow")], PAY)


def test_no_more_is_measured_at_once_than_a_chunk(tmp_path, monkeypatch):
    own, held, load = write(people(5_000), tmp_path / "own", 2), [], large_risk._Shared.load

    def noted(*given: Any) -> Any:
        found = load(*given)
        held.append(len(found[1]))
        return found

    monkeypatch.setattr(large_risk._Shared, "load", noted)
    # The fifteen patterns lie in different chunks.
    result = measure_confidential(own, PAY, chunks=20)
    assert tuple(held) == result.chunks
    assert max(held) < 5_000 / 2
    # As few as the memory allows, in which records of two datasets need twice the room.
    one = measure_confidential(own, PAY, memory=2**20)
    two = measure_release(own, own, PAY, memory=2**20)
    assert 3 <= len(one.chunks) < len(two.chunks)


def test_a_pattern_that_is_larger_than_memory_is_refused(tmp_path):
    own = write(people(5000), tmp_path / "own")
    with pytest.raises(InputError, match="memory: the 5,000 records of the largest patterns need about"):
        measure_confidential(own, replace(PAY, known=[], breaks={}), memory=2**19)
    with pytest.raises(InputError, match="memory: it must be above 0"):
        measure_confidential(own, PAY, memory=0)


def test_chunks_are_gone_however_it_ends(tmp_path, monkeypatch):
    own, folder = write(people(300), tmp_path / "own"), tmp_path / "temporary"
    folder.mkdir()

    def stopped(*_: Any) -> None:
        (made,) = folder.iterdir()
        assert list(made.rglob("*.parquet"))
        raise error

    monkeypatch.setattr(large_risk, "_measure_chunk", stopped)
    for error in (KeyboardInterrupt(), RuntimeError("no"), SystemExit(143)):
        with pytest.raises(type(error)):
            measure_confidential(own, PAY, folder=folder, out=tmp_path / "out")
        assert not list(folder.iterdir())
        assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    measure_confidential(own, PAY, folder=folder, out=tmp_path / "out")
    assert not list(folder.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "own", "temporary"]


@pytest.mark.posix
def test_chunks_and_what_is_written_are_for_their_owner_only(tmp_path, monkeypatch):
    own, folder = write(people(300), tmp_path / "own"), tmp_path / "temporary"
    folder.mkdir()
    seen, measure = set(), large_risk._measure_chunk

    def look(*given: Any) -> Any:
        seen.update(stat.S_IMODE(made.stat().st_mode) for made in folder.iterdir())
        return measure(*given)

    monkeypatch.setattr(large_risk, "_measure_chunk", look)
    measure_confidential(own, PAY, folder=folder, out=tmp_path / "out")
    assert seen == {0o700}
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()}
    assert (stat.S_IMODE((tmp_path / "out").stat().st_mode), modes) == (0o700, {0o600})


def test_chunks_may_be_measured_elsewhere_told_no_more_than_paths_and_settings(tmp_path):
    class Elsewhere:
        """Sends every call through bytes, as another machine would."""

        sent, shares_files = 0, True

        def spread(self, function: Any, calls: Any, shared: Any) -> Any:
            for call in calls:
                sent = pickle.dumps((function, shared, call))
                Elsewhere.sent = max(Elsewhere.sent, len(sent))
                made, told, given_ = pickle.loads(sent)  # noqa: S301 (our own bytes)
                yield made(*told, *given_)

    frame = people(2000)
    with executing(Elsewhere()):
        check_confidential(frame, replace(PAY, sensitive=["pay", "rent", "tax"]), tmp_path / "risk", 2, 5)
        check_release(frame, released(frame, 2), PAY, tmp_path / "release", 5)
    assert 0 < Elsewhere.sent < 10_000


def test_a_survey_with_chances_of_knowing(tmp_path):
    frame = consumer_survey()[:1500]
    eyes = Intruder(["gender", "region"], ["income", "education"], radius=0.2, knowledge_probability={"education": 0.4})
    check_confidential(frame, eyes, tmp_path / "risk", 2, 3)
    three = Intruder("town", ["pay", "rent", "tax"], radius=0.2, knowledge_probability={"tax": 0.5})
    check_confidential(people(300), three, tmp_path / "three", 2, 4)
