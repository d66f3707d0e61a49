"""Agreement of marginals by hand, against the definition transcribed, and against the reference program."""

import importlib.util
from itertools import combinations, islice, product
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import assert_mean
from molehill import EvaluationOptions, InputError, Intruder, Table, evaluate
from molehill.evaluation.catalogue import MEASURES
from molehill.utility import Agreement, agreement, fresh_agreement, marginals
from molehill.utility.marginals import code_column, learn_levels, list_sets
from properties import examples

FOUR = pd.DataFrame({"town": list("AABB"), "sex": list("fmfm"), "job": list("xyxx")})
REPLACED = ["MSP", "EDU", "INDP_CAT", "PINCP", "POVPIP"]


def slowly(data, released, replaced, ways):
    """The definition, with values as they are: `nan` stands for missing."""
    ways, distances = min(ways, data.shape[1]), []
    for columns in combinations(data.columns, ways):
        if set(columns) & set(replaced):
            sides = [[tuple(map(str, row)) for row in frame[list(columns)].to_numpy()] for frame in (data, released)]
            shares = [{cell: side.count(cell) / len(side) for cell in side} for side in sides]
            cells = set().union(*shares)
            distances.append(sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in cells) / 2)
    return 1000 * (1 - np.mean(distances))


def people(rng, records=300):
    town = rng.choice(list("ABCD"), records)
    job = np.where(town == "A", rng.choice(["x", "y"], records, p=[0.9, 0.1]), rng.choice(["x", "y"], records))
    pay = rng.lognormal(3, 0.5, records) * (1 + (job == "x")) * (rng.random(records) > 0.1)
    return pd.DataFrame({"town": town, "sex": rng.choice(list("fm"), records), "job": job, "pay": pay})


def test_pairs_and_triples_by_hand():
    found = agreement(FOUR, FOUR.assign(sex=list("fffm")), "sex")
    # town x sex: Am becomes Af. sex x job: fx, my, fx, mx become fx, fy, fx, mx. All three: the same quarter.
    assert found.value("agreement_2") == 750.0
    assert found.value("agreement_3") == 750.0
    # m and f change places: town and sex agree; mx, fy, mx, fx have two quarters elsewhere: my to fy, fx to mx.
    found = agreement(FOUR, FOUR.assign(sex=list("mfmf")), "sex")
    assert found.value("agreement_2") == 1000 * (1 - (0 + 1 / 2) / 2)
    # Afx, Amy, Bfx, Bmx become Amx, Afy, Bmx, Bfx: those of B are the same two.
    assert found.value("agreement_3") == 500.0
    # Only sets with a replaced column count: town x job is the same, and would raise the mean.
    assert found.sets[["ways", "columns", "distance"]].to_dict("split")["data"] == [
        [2, ("sex", "job"), 0.5],
        [2, ("sex", "town"), 0.0],
        [3, ("sex", "town", "job"), 0.5],
    ]


def test_both_replaced_and_sets_by_hand():
    released = FOUR.assign(sex=list("ffff"), job=list("xxxx"))
    found = agreement(FOUR, released, ["sex", "job"], ways=2)
    # sex x job: half was f and x; sex x town: two quarters; job x town: y in A.
    assert dict(zip(found.sets["columns"], found.sets["distance"], strict=True)) == {
        ("sex", "job"): 0.5,
        ("sex", "town"): 0.5,
        ("job", "town"): 0.25,
    }
    assert found.value("agreement_2") == pytest.approx(1000 * (1 - 1.25 / 3))
    # Ways of one: the columns themselves.
    assert agreement(FOUR, released, ["sex", "job"], ways=1).value("agreement_1") == 1000 * (1 - (0.5 + 0.25) / 2)


def test_a_fresh_sample_is_the_mean_over_all_samples():
    """Every sample of three or of two records from four."""
    for records in (3, 2):
        shown = [
            [slowly(FOUR, FOUR.iloc[list(rows)], ["sex"], ways) for ways in (2, 3)]
            for rows in product(range(4), repeat=records)
        ]
        expected = fresh_agreement(FOUR, "sex", records=records)
        assert list(expected.values()) == pytest.approx(np.mean(shown, axis=0))
        found = agreement(FOUR, FOUR.iloc[:records], "sex")
        assert {k: found.value(f"agreement_{k}_benchmark") for k in (2, 3)} == expected


def test_a_fresh_sample_by_simulation():
    rng = np.random.default_rng(1)
    data = people(rng, 2000)
    samples = [data.sample(1500, replace=True, random_state=seed) for seed in range(60)]
    found = agreement(data, samples, "job")
    for ways in (2, 3):
        shown = found.by_dataset.query(f"measure == 'agreement_{ways}'")["value"]
        fresh = found.value(f"agreement_{ways}_benchmark")
        assert_mean(shown, fresh, detects=(1000 - fresh) / 4)
    assert fresh_agreement(data, "job", records=1500)[3] == pytest.approx(found.value("agreement_3_benchmark"))
    # Larger samples agree better, and one value alone always does.
    assert fresh_agreement(data, "job", records=6000)[2] > fresh_agreement(data, "job")[2]
    assert fresh_agreement(pd.DataFrame({"one": ["a"] * 5}), "one") == {2: 1000.0, 3: 1000.0}


def test_the_mean_over_tables_and_its_interval():
    tables = [FOUR.assign(sex=list("fffm")), FOUR, FOUR.assign(sex=list("ffff"))]
    found = agreement(FOUR, tables, "sex", columns=["town"], ways=2)
    rows = found.by_dataset.query("measure == 'agreement_2'")
    assert rows[["table", "column", "value"]].to_dict("split")["data"] == [
        [1, "sex", 750.0],
        [2, "sex", 1000.0],
        [3, "sex", 500.0],
    ]
    row = found.summary.query("measure == 'agreement_2'").iloc[0]
    assert row["value"] == 750.0
    assert row["high"] - 750 == pytest.approx(4.302653 * 250 / np.sqrt(3), abs=1e-3)
    assert found.sets["distance"].tolist() == [0.25]
    assert np.isnan(agreement(FOUR, FOUR, "sex").summary["low"]).all()


def test_relations_that_are_lost_are_named_first():
    rng = np.random.default_rng(2)
    data = people(rng, 3000)
    # Within sexes, jobs are shuffled: with the sex they agree as before, with the town and the pay they do not.
    shuffled = data.assign(job=data.groupby("sex")["job"].transform(rng.permutation))
    found = agreement(data, shuffled, "job")
    assert isinstance(found, Agreement)
    distance = dict(zip(found.sets["columns"], found.sets["distance"], strict=True))
    assert distance["job", "sex"] == 0.0
    assert found.worst(2, 1)["columns"].tolist() == [("job", "pay")]
    assert found.worst(2)["columns"].tolist() == [("job", "pay"), ("job", "town"), ("job", "sex")]
    assert set(found.worst(3, 2)["ways"]) == {3}
    beyond = found.worst(3)["distance"] - found.worst(3)["fresh"]
    assert beyond.is_monotonic_decreasing
    for ways in (2, 3):
        assert found.value(f"agreement_{ways}") < found.value(f"agreement_{ways}_benchmark") < 1000


def test_the_order_of_records_does_not_matter():
    rng = np.random.default_rng(3)
    data = people(rng)
    released = data.assign(pay=rng.permutation(data["pay"]), job=rng.permutation(data["job"]))
    straight = agreement(data, released, ["job", "pay"])
    mixed = agreement(data.sample(frac=1, random_state=1), released.sample(frac=1, random_state=2), ["job", "pay"])
    pd.testing.assert_frame_equal(straight.by_dataset, mixed.by_dataset)
    assert agreement(data, data.sample(frac=1, random_state=4), "pay").value("agreement_3") == 1000


def test_missing_values_are_a_level():
    data = pd.DataFrame({"town": ["A", None, "B", "B"], "pay": [1.0, np.nan, 1.0, 2.0]})
    released = data.assign(pay=[1.0, 1.0, 1.0, np.nan])
    # A1, ??, B1, B2 become A1, ?1, B1, B?.
    assert agreement(data, released, "pay", ways=2).value("agreement_2") == 500.0
    assert agreement(data, data, "pay", ways=2).value("agreement_2") == 1000.0
    # Missing in one table only: a level that the other does not have.
    assert agreement(data.fillna({"pay": 1.0, "town": "A"}), data, "pay", ways=1).value("agreement_1") == 750.0
    # In a number with bins, and by breaks, as well.
    numbers = pd.DataFrame({"pay": [*np.arange(30.0), *[np.nan] * 30]})
    for breaks in (None, {"pay": [15.0]}):
        half = numbers.assign(pay=numbers["pay"].fillna(0.0))
        assert agreement(numbers, half, "pay", breaks=breaks).value("agreement_2") == 500.0


def test_a_value_that_was_never_seen_is_one_more_level():
    # Af, Am, Bf, Bm become Ad, Ae, Bf, Bm: two cells of a quarter each that only the released table has.
    found = agreement(FOUR, FOUR.assign(sex=list("defm")), "sex", columns=["town"], ways=2)
    assert found.value("agreement_2") == 500.0
    data = pd.DataFrame({"job": pd.Categorical(["x", "y", "x", None])})
    released = pd.DataFrame({"job": pd.Categorical(["y", "z", "x", None], categories=["z", "y", "x"])})
    assert agreement(data, released, "job").value("agreement_2") == 750.0
    assert agreement(data, released.astype(object), "job").value("agreement_2") == 750.0
    assert agreement(data.astype(object), released, "job").value("agreement_2") == 750.0
    # Nothing in common at all.
    assert agreement(FOUR, FOUR.assign(sex="?"), "sex").value("agreement_2") == 0.0


def test_constant_columns_and_fewer_columns_than_asked_for():
    data = FOUR.assign(one="a")[["one", "sex"]]
    released = data.assign(sex=list("fffm"))
    found = agreement(data, released, "sex", ways=(2, 3))
    assert found.value("agreement_2") == found.value("agreement_3") == 750.0
    assert found.sets["columns"].tolist() == [("sex", "one")] * 2
    # One column alone, which is constant.
    alone = agreement(data[["one"]], data[["one"]], "one")
    assert alone.value("agreement_2") == alone.value("agreement_3_benchmark") == 1000.0


def test_numbers_are_cut_by_the_confidential_table_alone():
    rng = np.random.default_rng(4)
    pay = np.concatenate([np.zeros(100), np.full(30, 501.0), rng.lognormal(4, 1, 860), np.full(10, np.nan)])
    learned = learn_levels(Table(pd.DataFrame({"pay": pay})), "pay")
    # Zero and the top code are levels; the others, 860 of 1,000, are cut into 17 bins of as many records.
    assert learned.values.tolist() == [0.0, 501.0]
    assert learned.cuts is not None
    assert len(learned.cuts) == 16
    counts = np.bincount(code_column(learned, Table(pd.DataFrame({"pay": pay}))), minlength=learned.number)
    assert counts[:2].tolist() == [100, 30]
    assert counts[-1] == 10
    assert len(counts) == 20
    assert set(counts[2:-1]) == {50, 51}
    # Other values fall into these bins: 0.5 beside a common 0, what lies beyond both ends, and a break begins a bin.
    other = pd.DataFrame({"pay": [0.5, -1e9, 1e9, 501.0, 500.999, learned.cuts[0], np.nan]})
    codes = code_column(learned, Table(other), "released")
    assert codes[[0, 1, 2, 3, 5, 6]].tolist() == [2, 2, 18, 1, 3, 19]
    assert codes[4] not in (0, 1)


def test_common_values_are_levels_however_many():
    # 19 common values and a rare rest; 45 common values; all numbers common but one.
    for common, rare, bins in ((19, 100, 1), (45, 90, 1), (25, 1, 1)):
        values = [*np.repeat(np.arange(common), 100), *np.linspace(-5.5, -1.5, rare)]
        learned = learn_levels(Table(pd.DataFrame({"x": np.array(values, dtype=float)})), "x")
        assert len(learned.values) == common
        assert learned.cuts is not None
        assert len(learned.cuts) + 1 == bins
    # Every value is common.
    learned = learn_levels(Table(pd.DataFrame({"x": np.repeat(np.arange(25.0), 4)})), "x")
    assert (len(learned.values), learned.cuts) == (25, ())


def test_few_different_numbers_labels_and_declared_codes_are_categories():
    twenty = pd.DataFrame({"x": np.tile(np.arange(20), 3), "y": np.tile(np.arange(30), 2)})
    assert learn_levels(Table(twenty), "x").cuts is None
    assert learn_levels(Table(twenty), "y").cuts is not None
    assert learn_levels(Table(twenty), "y", ()).cuts is None
    labels: Any = {"y": {code: f"job {code}" for code in range(30)}}
    assert learn_levels(Table(twenty, value_labels=labels), "y").cuts is None
    # Whole numbers match the same numbers with a decimal point.
    assert agreement(twenty, twenty.astype(float), "x").value("agreement_2") == 1000
    assert agreement(twenty.astype(float), twenty.astype("Int64"), "y").value("agreement_2") == 1000
    flags = pd.DataFrame({"x": [True, False, True, True]})
    assert agreement(flags, pd.DataFrame({"x": [True, False, None, True]}), "x").value("agreement_2") == 750


def test_breaks_of_the_caller():
    data = pd.DataFrame({"town": list("AABB"), "pay": [10.0, 30.0, 10.0, 50.0]})
    released = data.assign(pay=[11.0, 20.0, 12.5, 19.0])
    assert agreement(data, released, "pay", breaks={"pay": [20]}).value("agreement_2") == 750.0
    assert agreement(data, released, "pay", breaks={"pay": [20.5]}).value("agreement_2") == 500.0
    assert agreement(data, released, "pay", breaks={"pay": []}).value("agreement_2") == 0.0


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_the_definition_transcribed(ways):
    rng = np.random.default_rng(ways)
    levels = {"v": "ab", "w": "abc", "x": "abcde", "y": "abcdef", "z": "abcd"}
    data, released = (
        pd.DataFrame({name: rng.choice([*each, "?"], records) for name, each in levels.items()}).replace("?", None)
        for records in (80, 113)
    )
    replaced = ["x", "z"]
    found = agreement(data, released, replaced, ways=ways)
    assert found.value(f"agreement_{ways}") == pytest.approx(slowly(data, released, replaced, ways))


def test_cells_that_are_too_many_to_list(monkeypatch):
    """The slow way for sets of many cells gives the same."""
    rng = np.random.default_rng(5)
    data = people(rng)
    released = [data.assign(pay=rng.permutation(data["pay"]), job=rng.permutation(data["job"])) for _ in range(2)]
    listed = agreement(data, released, ["job", "pay"])
    cells = learn_levels(Table(data), "pay").number * 6
    monkeypatch.setattr(marginals, "_MOST_CELLS", cells)
    monkeypatch.setattr(marginals, "_CELLS_A_RECORD", 0)
    counted = []
    slow = marginals._count_sparse
    monkeypatch.setattr(marginals, "_count_sparse", lambda *given: counted.append(1) or slow(*given))
    hashed = agreement(data, released, ["job", "pay"])
    assert counted
    pd.testing.assert_frame_equal(listed.by_dataset, hashed.by_dataset)
    pd.testing.assert_frame_equal(listed.sets, hashed.sets)


def test_a_name_for_every_record_is_counted_too():
    data = pd.DataFrame(
        {"id": [f"{i}" for i in range(3000)], "key": np.arange(3000).astype(str), "sex": ["f", "m"] * 1500}
    )
    found = agreement(data, data.assign(sex=["m", *data["sex"][1:]]), "sex", ways=3)
    assert found.value("agreement_3") == pytest.approx(1000 * (1 - 1 / 3000))


def test_threads_give_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    data = people(rng)
    released = data.assign(pay=rng.permutation(data["pay"]))
    alone = agreement(data, released, ["job", "pay"])
    monkeypatch.setattr(marginals, "_ENOUGH_WORK", 1)
    monkeypatch.setattr(marginals, "workers", lambda: 3)
    pd.testing.assert_frame_equal(alone.sets, agreement(data, released, ["job", "pay"]).sets)


def test_sets_with_a_replaced_column_and_an_even_choice_of_many():
    for columns, replaced, ways in ((6, 1, 2), (6, 2, 3), (7, 7, 3), (5, 2, 5), (4, 1, 1)):
        wanted = [list(each) for each in combinations(range(columns), ways) if each[0] < replaced]
        assert list_sets(columns, replaced, ways).tolist() == wanted
    total = comb(40, 3) - comb(37, 3)
    ordered = list(islice(combinations(range(40), 3), total))
    chosen = list(map(tuple, list_sets(40, 3, 3, most=500).tolist()))
    places = [ordered.index(each) for each in chosen]
    assert len(places) == 500
    assert set(np.diff(places)) <= {total // 500, total // 500 + 1}
    # By itself 2,000 at most; far more sets than could be gone through take no longer.
    assert len(list_sets(400, 5, 3)) == 2000
    assert len(list_sets(5000, 50, 6, most=10)) == 10
    data = pd.DataFrame({f"c{i}": [0, 1] for i in range(30)})
    assert len(agreement(data, data, ["c3", "c7"], most_sets=20).sets) == 40


def test_any_kind_of_table_is_taken():
    released = FOUR.assign(sex=list("fffm"))
    for data, other in ((Table(FOUR), (Table(released),)), (pl.from_pandas(FOUR), [pl.from_pandas(released)])):
        assert agreement(data, other, "sex").value("agreement_2") == 750.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"replaced": []}, "replaced: no variable is named"),
        ({"replaced": "sexx"}, "replaced: there is no variable 'sexx'. Did you mean 'sex'?"),
        ({"columns": ["toun"]}, "columns: there is no variable 'toun'"),
        ({"ways": 0}, "ways: it must be a whole number from 1 up"),
        ({"ways": ()}, "ways: it is empty"),
        ({"ways": 2.5}, "ways: it must be a whole number"),
        ({"most_sets": 0}, "most_sets: it must be a whole number from 1 up"),
        ({"breaks": {"age": [3]}}, "breaks: there is no variable 'age'"),
        ({"breaks": {"pay": [3, 2]}}, "breaks: those of 'pay' are not a list of increasing"),
        ({"breaks": {"town": [3]}}, "data: the variable 'town' is not numeric"),
        ({"released": FOUR[["town"]]}, "released: there is no variable 'sex'"),
        ({"released": []}, "released: it contains no dataset"),
        ({"released": FOUR.assign(pay="1")}, "released: the variable 'pay' is not numeric"),
        ({"released": FOUR.assign(pay=np.inf)}, "released: the variable 'pay' is infinite in row 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(change: Any, words):
    data = pd.concat([FOUR] * 10, ignore_index=True).assign(pay=np.arange(40.0) * 1.5)
    given: Any = {"released": data, "replaced": "sex"} | change
    with pytest.raises(InputError, match=words):
        agreement(data, **given)


values = st.sampled_from(["a", "b", "c", None])


@st.composite
def two_tables(draw):
    columns = draw(st.integers(1, 5))
    names = [f"c{i}" for i in range(columns)]
    records = st.lists(st.tuples(*[values] * columns), min_size=1, max_size=12)
    data, released = (pd.DataFrame(draw(records), columns=names, dtype=object) for _ in range(2))
    replaced = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return data, released, replaced, draw(st.permutations(names))


@given(two_tables())
@examples(6)
def test_it_is_from_0_to_1000_and_no_order_matters(drawn):
    data, released, replaced, order = drawn
    found = agreement(data, released, replaced)
    for ways in (2, 3):
        measure = f"agreement_{ways}"
        assert -1e-9 <= found.value(measure) <= 1000
        assert 0 < found.value(f"{measure}_benchmark") <= 1000
        assert found.value(measure) == pytest.approx(slowly(data, released, replaced, ways), abs=1e-9)
        for kept, other in ((data[order], released), (data, released[order])):
            moved = agreement(kept, other, replaced)
            assert moved.value(measure) == pytest.approx(found.value(measure), abs=1e-9)
            assert moved.value(f"{measure}_benchmark") == pytest.approx(found.value(f"{measure}_benchmark"), abs=1e-9)
        # As far from one to the other as back.
        assert agreement(released, data, replaced).value(measure) == pytest.approx(found.value(measure), abs=1e-9)
        assert agreement(data, data.iloc[::-1], replaced).value(measure) == 1000
    # A triple differs at least as much as the pairs in it.
    if data.shape[1] > 2:
        apart = dict(zip(found.sets["columns"], found.sets["distance"], strict=True))
        for columns in found.sets.query("ways == 3")["columns"]:
            within = combinations(columns, 2)
            assert all(apart[pair] <= apart[columns] + 1e-12 for pair in within if pair in apart)


def test_the_reference_program_says_the_same(shared):
    path = shared.parent / "tools" / "kmarginal.py"
    spec = importlib.util.spec_from_file_location("kmarginal", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    files = ("nist_ma.csv", "nist_ma_synthpop/table_01.csv", "nist_ma_synthpop/table_02.csv")
    read = {"dtype": str, "keep_default_na": False, "nrows": 3000}
    data, *replaced = (pd.read_csv(shared / name, **read) for name in files)
    tables = [data.assign(**{name: table[name].to_numpy() for name in REPLACED}) for table in replaced]
    own, *others = (
        table.assign(**{name: pd.to_numeric(table[name], errors="coerce") for name in program.BINS})
        for table in (data, *tables)
    )
    found = agreement(own, others, REPLACED, breaks=program.BINS)
    for ways in (2, 3):
        theirs = [program.kmarginal(data, table, ways, REPLACED) for table in tables]
        ours = found.by_dataset.query(f"measure == 'agreement_{ways}'")["value"].tolist()
        assert ours == pytest.approx(theirs, abs=1e-8)
    # The kept columns are there as they were: mixed rows change nothing.
    again = agreement(own, others[0].sample(frac=1, random_state=1), REPLACED, ways=2, breaks=program.BINS)
    assert again.value("agreement_2") == found.by_dataset.query("measure == 'agreement_2'")["value"].iloc[0]


# In an evaluation.


def of_evaluation(found, measure):
    rows = found.utility[(found.utility["measure"] == measure) & (found.utility["scheme"] == "released")]
    (value,) = rows["value"]
    return value


ONES = [measure for measure in MEASURES if measure.id.startswith("agreement_")]


def test_an_evaluation_compares_sensitive_with_known_or_related_columns():
    rng = np.random.default_rng(7)
    data = people(rng).assign(id=[f"{i}" for i in range(300)], code=rng.integers(0, 30, 300))
    tables = [data.assign(pay=rng.permutation(data["pay"]), code=rng.permutation(data["code"])) for _ in range(2)]
    intruder = Intruder(known=["town", "id"], sensitive=["pay", "code"], radius=0.2, kinds={"code": "categorical"})
    found = evaluate(data, tables, intruder, EvaluationOptions(measures=ONES))
    # A name for every record says nothing; codes are not cut.
    how: Any = {"breaks": {"code": ()}}
    direct = agreement(data, tables, ["pay", "code"], columns=["town"], **how)
    for measure in ("agreement_2", "agreement_2_benchmark", "agreement_3", "agreement_3_benchmark"):
        assert of_evaluation(found, measure) == direct.value(measure)
    assert set(found.utility["column"]) == {"pay, code"}
    assert set(found.utility["scheme"]) == {"released"}
    # What a fresh sample would show is the same for every table.
    fresh = found.utility[found.utility["measure"] == "agreement_2_benchmark"]
    assert fresh[["low", "high"]].isna().all(axis=None)
    near = evaluate(data, tables, intruder, EvaluationOptions(measures=ONES, related=["job", "sex", "town"]))
    direct = agreement(data, tables, ["pay", "code"], columns=["job", "sex", "town"], **how)
    assert of_evaluation(near, "agreement_3") == direct.value("agreement_3")


def test_an_evaluation_looks_at_25_columns_at_most():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({f"c{i}": rng.integers(0, 2, 60) for i in range(30)}).assign(pay=rng.lognormal(size=60))
    tables = [data.assign(pay=rng.permutation(data["pay"]))]
    known = [f"c{i}" for i in range(30)]
    found = evaluate(data, tables, Intruder(known=known, sensitive="pay", radius=0.2), EvaluationOptions(measures=ONES))
    direct = agreement(data, tables, "pay", columns=known[:24])
    assert of_evaluation(found, "agreement_3") == direct.value("agreement_3")
