"""One evaluation of any releases: hand-computed tables, the paper's topcoding, and what may be shown."""

import re
import stat
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from conjugate import pay_by_town
from molehill import sdc_methods, utility
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate, read_evaluation
from molehill.evaluation.measure import COLUMNS
from molehill.evaluation.options import EvaluationOptions
from molehill.risk import intruder
from molehill.risk.identification import release_risk
from molehill.risk.intruder import Intruder
from molehill.synthesis.fitting import draw
from molehill.tables import schema
from molehill.tables.formats.formats import read_table
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Table
from molehill.utility import distances, sides

DATA = pd.DataFrame({"town": ["A"] * 4 + ["B"] * 2, "pay": [101.0, 111.0, 121.0, 909.0, 51.0, 53.0]})
NOISY = [
    DATA.assign(pay=[103.0, 300.0, 119.0, 905.0, 50.0, 99.0]),
    DATA.assign(pay=[301.0, 113.0, 119.0, 20.0, 50.0, 52.0]),
]
NEIGHBOUR = Intruder(known="town", sensitive="pay", radius=0.1)


def figure(evaluation: Any, measure, scheme="released", column="pay", frame="risk", group="", **about) -> Any:
    rows = getattr(evaluation, frame)
    for name, value in {"scheme": scheme, "column": column, "measure": measure, "group": group, **about}.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 1
    return rows.iloc[0]


def of_scheme(evaluation: Any, scheme) -> Any:
    return evaluation.records[evaluation.records["scheme"] == scheme].reset_index(drop=True)


@pytest.fixture(scope="module")
def small():
    return evaluate(DATA, {"noisy": NOISY, "as it is": DATA}, NEIGHBOUR, EvaluationOptions(reference="as it is"))


def test_every_measure_of_every_scene_moves_the_bar(monkeypatch):
    moved, asked = [], []

    @contextmanager
    def bar(_title, **how):
        asked.append(how["shown"])
        yield (lambda total: moved.append(-total)), moved.append

    monkeypatch.setattr("molehill.evaluation.evaluation.progress_bar", bar)
    evaluate(DATA, {"noisy": NOISY, "as it is": DATA}, NEIGHBOUR, EvaluationOptions(analyses=[], skip="singling_out"))
    # As many steps as were announced, none of them as large as a scene.
    assert sum(moved) == 0
    assert max(moved) == 1
    assert len(moved) > 300
    evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(measures=MEASURES[:1], progress=False))
    assert asked == [True, False]


def test_risk_by_hand(small):
    # Table 1: of A 103, 119 and 905 are close to their own, each with 1 (103), 1 (119: 113 is not there), 1 close:
    # none of three others covers them; of B 50 (with itself alone) and not 99.
    # Table 2: 113 (with 119) and 119 (with 113): two of three others are not close; of B 50 and 52 are, to each other.
    by_dataset = np.array([[1, 0, 1, 1, 1, 0], [0, 2 / 3, 2 / 3, 0, 0, 0]])
    realised = by_dataset.mean(axis=0)
    records = small.records[small.records["scheme"] == "noisy"]
    assert records["risk"].to_numpy() == pytest.approx(realised)
    assert records["error"].to_numpy() == pytest.approx(np.abs(np.diff(by_dataset, axis=0))[0] / 2)
    assert records["is_close"].tolist() == [0.5, 0.5, 1.0, 0.5, 1.0, 0.5]
    assert records["record"].tolist() == [1, 2, 3, 4, 5, 6]
    assert figure(small, "risk_mean", "noisy")["value"] == pytest.approx(realised.mean())
    assert figure(small, "risk_above_50", "noisy")["value"] == 1
    assert figure(small, "risk_largest", "noisy")["value"] == pytest.approx(5 / 6)
    assert figure(small, "risk_mean", "confidential")["value"] == pytest.approx((2 / 3 + 1 / 3 + 2 / 3 + 1) / 6)


def test_the_floor_and_what_is_above_it(small):
    # Of A 2, 3, 2 and 1 of 4 are in the balls, of B both: p (1 - p).
    floor = (1 / 4 + 3 / 16 + 1 / 4 + 3 / 16) / 6
    assert figure(small, "risk_baseline", "noisy")["value"] == pytest.approx(floor)
    above, mean = (figure(small, name, "noisy")[["value", "low", "high"]] for name in ("risk_excess", "risk_mean"))
    assert (above + floor).tolist() == pytest.approx(mean.tolist())
    assert not (
        (small.risk["scheme"] == "confidential") & small.risk["measure"].isin(["risk_baseline", "risk_excess"])
    ).any()


def test_match_rates_radii_and_guesses_are_those_of_their_functions(small):
    wide = release_risk(DATA, NOISY, replace(NEIGHBOUR, radius=0.2)).realised
    assert figure(small, "radius_mean", "noisy", at=0.2)["value"] == pytest.approx(wide.mean())
    assert not ((small.risk["measure"] == "radius_mean") & (small.risk["at"] == 0.1)).any()
    # The second record is found uniquely in no table, the others of A in table 1, none in table 2 (113, 119 are two).
    assert figure(small, "matches_true", "noisy")["value"] == pytest.approx((4 / 6 + 0 / 6) / 2)
    assert figure(small, "matches_expected", "noisy")["value"] == pytest.approx((4 + (1 / 2 + 1 / 2 + 1)) / 2)
    assert figure(small, "attribution_correct", "noisy")["value"] == pytest.approx((4 + 4) / 12)
    # Medians: 202, 206.5, 119, 462.5, 50, 75.5.
    assert figure(small, "combined_attribution_correct", "noisy")["value"] == pytest.approx(2 / 6)
    assert figure(small, "combined_mean", "noisy")["value"] == pytest.approx((1 + 1) / 6)


def test_the_confidential_table_released_as_it_is(small):
    assert figure(small, "risk_mean", "as it is")["value"] == figure(small, "risk_mean", "confidential")["value"]
    assert figure(small, "U_m", "as it is", frame="utility")["value"] == 0
    assert figure(small, "overlap", "as it is", frame="utility", of="mean of pay")["value"] == 1
    assert np.isnan(figure(small, "risk_mean", "as it is")["low"])


def test_rises_against_a_reference(small):
    # Means 1/2, 1/3, 5/6, 1/2, 1/2, 0 against 2/3, 1/3, 2/3, 1, 0, 0: only the fifth rises by more than 0.2.
    assert figure(small, "increases", "noisy", at=0.2)["value"] == 1
    assert np.isnan(figure(small, "increases_by_chance", "noisy", at=0.2)["value"])
    assert not (small.risk["measure"] == "moles").any()


def test_utility_by_hand(small):
    assert figure(small, "estimate", "confidential", frame="utility", of="mean of pay")["value"] == pytest.approx(
        DATA["pay"].mean()
    )
    points = [table["pay"].mean() for table in NOISY]
    assert figure(small, "estimate", "noisy", frame="utility", of="mean of pay")["value"] == pytest.approx(
        np.mean(points)
    )
    bias = np.mean(points) / DATA["pay"].mean() - 1
    assert figure(small, "relative_bias", "noisy", frame="utility", of="mean of pay")["value"] == pytest.approx(bias)
    ours = figure(small, "U_m", "noisy", frame="utility")
    theirs = utility.ecdf_distances(DATA, NOISY, "pay").summary[["value", "low", "high"]].to_numpy()[0]
    assert [ours["value"], ours["low"], ours["high"]] == pytest.approx(theirs)


def test_frames_are_tidy(small):
    for frame in (small.risk, small.utility):
        assert frame.columns.tolist() == COLUMNS
        assert not frame.duplicated(COLUMNS[:6]).any()
        told = frame.dropna(subset=["value", "low", "high"])
        assert len(told) > 10
        assert ((told["low"] <= told["value"]) & (told["value"] <= told["high"])).all()
    assert small.schemes == ("noisy", "as it is")
    assert small.groups.columns.tolist() == [
        *("scheme", "column", "by", "group", "records", "measure", "value", "low", "high")
    ]
    assert len(small.records) == 3 * 6
    assert repr(small) == "Evaluation(noisy, as it is: 6 records)"


def test_groups_by_hand(small):
    rows = small.groups[(small.groups["scheme"] == "noisy") & (small.groups["measure"] == "risk_mean")]
    found = {(row.by, row.group): (row.records, row.value) for row in rows.itertuples()}
    assert found[("pattern", "town A")] == (4, pytest.approx((1 / 2 + 1 / 3 + 5 / 6 + 1 / 2) / 4))
    assert found[("pattern", "town B")] == (2, pytest.approx(0.25))
    assert found[("size", "50 to 100")] == (2, pytest.approx(0.25))
    assert found[("size", "500 to 1,000")] == (1, pytest.approx(0.5))
    guesses = small.groups[(small.groups["scheme"] == "noisy") & (small.groups["measure"] == "attribution_correct")]
    assert guesses[guesses["group"] == "town B"]["value"].tolist() == [pytest.approx(3 / 4)]


def test_topcoding_protects_the_topcoded_only_as_the_paper_says():
    survey = consumer_survey()
    neighbour = Intruder(known=["gender", "age", "region"], sensitive="income", radius=0.2)
    topcoded = sdc_methods.topcode(survey, "income", percentile=97.5)
    changed = (survey["income"] != topcoded["income"]).to_numpy()
    assert 0.02 < changed.mean() < 0.03
    found = evaluate(survey, {"topcoded": topcoded}, neighbour, EvaluationOptions(propensity_methods=()))
    risk, confidential = (of_scheme(found, name)["risk"].to_numpy() for name in ("topcoded", "confidential"))
    mean = topcoded["income"].max()
    near = np.abs(mean - survey["income"]) <= 0.2 * np.abs(survey["income"])
    # The topcoded are found only where the common value happens to be near their own; the paper's table has one such.
    assert (risk[changed & ~near] == 0).all()
    # Released as they are, the others keep what the confidential table has, but for those within reach of the common
    # value, which lies far above most of them; a record with nobody close but itself is at full risk.
    reach = (np.abs(survey["income"]) * 1.2 >= survey.loc[changed, "income"].min()) | changed
    assert risk[~reach] == pytest.approx(confidential[~reach])
    isolated = ~changed & (confidential > 0.99)
    assert isolated.sum() > 10
    assert risk[isolated].min() > 0.98
    # In the list of the largest all are topcoded: zero risk.
    top = found.top[(found.top["list"] == "largest") & (found.top["scheme"] == "topcoded")]
    assert (top["risk"].iloc[:5] == 0).all()


def test_nothing_printed_is_a_value_of_a_record(small):
    text = str(small)
    for value in {f"{number:g}" for number in DATA["pay"]}:
        assert not re.search(rf"(?<![\d.,]){value}(?![\d,]|\.\d)", text)
    for name in ("top", "groups"):
        frame = getattr(small, name)
        words = " ".join(frame.select_dtypes(exclude="number").astype(str).to_numpy().ravel())
        assert not any(f" {value:g}" in f" {words}" for value in DATA["pay"])
    assert "500 to 1,000" in text
    assert "mean risk" in text
    # An estimate of the confidential table can be a record's value, as a median is: not printed.
    odd = DATA.iloc[:3]
    assert " 111" not in str(evaluate(odd, odd.assign(pay=[300.0, 200.0, 400.0]), NEIGHBOUR))


def test_save_and_read_back(small, tmp_path):
    for ending in ("csv", "parquet"):
        folder = tmp_path / ending / "evaluation"
        small.save(folder, ending=ending)
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            f"{name}.{ending}"
            for name in ("risk", "utility", "groups", "top", "records", "measures", "shapes", "rules")
        )
        back = read_table(folder / f"risk.{ending}").frame
        pd.testing.assert_frame_equal(back, small.risk, check_dtype=False)
    back = read_evaluation(tmp_path / "parquet" / "evaluation")
    assert str(back) == str(small)
    for name in ("groups", "top", "records", "measures", "shapes", "rules"):
        pd.testing.assert_frame_equal(getattr(back, name), getattr(small, name), check_dtype=False)
    bare = evaluate(DATA.assign(pay=DATA["pay"]), DATA, NEIGHBOUR, EvaluationOptions(analyses=[]))
    bare.save(tmp_path / "csv" / "evaluation")
    with pytest.raises(InputError, match="ending"):
        small.save(tmp_path, ending="xlsx")  # pyright: ignore[reportArgumentType]


@pytest.mark.posix
def test_a_saved_evaluation_is_for_its_owner_only(small, tmp_path):
    small.save(tmp_path / "evaluation")
    assert stat.S_IMODE((tmp_path / "evaluation").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "evaluation").iterdir()} == {0o600}


def test_any_kind_of_table_is_taken(small):
    for data, released in (
        (Table(DATA), tuple(map(Table, NOISY))),
        (pl.from_pandas(DATA), [pl.from_pandas(table) for table in NOISY]),
    ):
        found = evaluate(data, released, NEIGHBOUR)
        assert found.schemes == ("released",)
        assert figure(found, "risk_mean")["value"] == figure(small, "risk_mean", "noisy")["value"]


def test_several_sensitive_columns_and_kinds():
    random = np.random.default_rng(3)
    data = pd.DataFrame(
        {
            "id": np.arange(80),
            "town": random.choice(["A", "B"], 80),
            "pay": random.lognormal(3, 0.5, 80),
            "debt": random.lognormal(5, 0.5, 80),
            "job": random.choice(["x", "y"], 80),
        }
    )
    released = [
        data.assign(pay=data["pay"] * random.lognormal(0, 0.1, 80), job=random.permutation(data["job"])).sample(
            frac=1, random_state=seed
        )
        for seed in range(3)
    ]
    found = evaluate(
        data,
        released,
        Intruder(known="town", sensitive=["pay", "debt", "job"], radius={"pay": 0.2, "debt": 0.3}),
        EvaluationOptions(
            id_column="id", groups="town", analyses=[utility.mean("pay"), utility.correlation("pay", "debt")]
        ),
    )
    column = "pay, debt, job"
    assert figure(found, "radius_mean", column=column, of="0.1 of pay, 0.15 of debt")["value"] >= 0
    assert figure(found, "attribution_correct", column="debt")["value"] == 1
    assert figure(found, "attribution_leave_one_out", column="job")["value"] > 0
    assert figure(found, "variation", column="job x town", frame="utility")["value"] > 0
    assert figure(found, "estimate", frame="utility", of="mean of pay", group="A")["value"] > 0
    assert figure(found, "U_m", column="debt", frame="utility", group="B")["value"] == 0
    assert figure(found, "pmse_ratio", column=f"{column}, town", frame="utility", of="logistic")["value"] > 0
    assert set(zip(found.top["list"], found.top["column"], strict=True)) == {
        ("riskiest", ""),
        ("released", ""),
        ("largest", "pay"),
        ("largest", "debt"),
    }


def test_a_missing_value_is_kept_out():
    data = DATA.assign(pay=[101.0, np.nan, 121.0, 909.0, 51.0, 53.0])
    found = evaluate(data, [data, data], replace(NEIGHBOUR, missing_values="keep"))
    assert np.isnan(found.records["risk"].iloc[1])
    assert figure(found, "attribution_correct")["value"] == 1
    assert figure(found, "estimate", frame="utility", of="mean of pay")["value"] == pytest.approx(data["pay"].mean())


@pytest.fixture
def fitted():
    return pay_by_town()


def test_expected_risk_and_moles_of_posteriors(fitted):
    people, posterior = fitted
    schemes = {"one": draw(posterior, datasets=20, seed=2), "other": draw(posterior, datasets=20, seed=3)}
    # As a third scheme tables that release the first record as it is: its risk rises, and is no matter of chance.
    schemes["leaky"] = [table.assign(pay=[people["pay"][0], *table["pay"][1:]]) for table in schemes["other"]]
    found = evaluate(
        people,
        schemes,
        NEIGHBOUR,
        EvaluationOptions(
            posteriors={"one": posterior, "other": posterior},
            reference="one",
            propensity_methods=(),
            analyses=[],
            skip=["membership", "attribute_risk", "singling_out"],
            datasets=100,
        ),
    )
    expected, realised = (figure(found, name, "other") for name in ("expected_mean", "risk_mean"))
    # Where the expected risk is known, it is what stands above the floor.
    floor = figure(found, "risk_baseline", "other")["value"]
    assert figure(found, "risk_excess", "other")["value"] == pytest.approx(expected["value"] - floor)
    assert expected["high"] - expected["low"] < realised["high"] - realised["low"]
    assert expected["value"] == pytest.approx(realised["value"], abs=2 * (realised["high"] - realised["low"]))
    assert figure(found, "moles", "other", at=0.2)["value"] == 0
    null = figure(found, "increases_by_chance", "other")
    rises = figure(found, "increases", "other")["value"]
    assert 0 < null["value"] < 20
    assert null["low"] - 3 <= rises <= null["high"] + 3
    one, other, leaky = (of_scheme(found, name) for name in schemes)
    assert leaky["risk"][0] > one["risk"][0] + 0.2
    assert other["mole"].eq(False).all()
    assert leaky["mole"].isna().all()
    assert other["rise"].to_numpy() == pytest.approx((other["expected_risk"] - one["expected_risk"]).to_numpy())
    assert (other["expected_error"] > 0).mean() > 0.9


@pytest.mark.slow
def test_the_confidential_table_is_looked_at_once(fitted, monkeypatch):
    people, posterior = fitted
    patterned, typed = [], []

    def count(module, name, calls):
        real = getattr(module, name)

        def counted(table, *arguments):
            calls.append((table, arguments[0]))
            return real(table, *arguments)

        monkeypatch.setattr(module, name, counted)

    for module in (intruder, sides, distances):
        count(module, "learn_patterns", patterned)
    count(schema, "_look_at", typed)
    releases = {name: draw(posterior, datasets=2, seed=seed) for seed, name in enumerate(("one", "two"))}
    about: Any = {"reference": "one", "posteriors": {"one": posterior}, "datasets": 40}
    for several in (False, True):
        data = Table(people.assign(debt=people["pay"].to_numpy()[::-1] + 0.5))
        released = {name: [table.assign(debt=data.frame["debt"]) for table in releases[name]] for name in releases}
        patterned.clear()
        typed.clear()
        # Guesses are made column by column, expected risk is of the column that is replaced.
        seen = replace(NEIGHBOUR, sensitive=["pay", "debt"] if several else "pay").view(data)
        evaluate(seen, released, options=EvaluationOptions(**{} if several else about))
        assert [columns for table, columns in patterned if table is data] == [["town"]]
        # Also what is released unchanged: others are predicted from it. And so may released tables be, of which there
        # are four; no copy of the confidential one is.
        assert sorted(name for table, name in typed if table is data) == ["debt", "pay", "town"]
        others = {id(table.frame): table.frame for table, _ in typed if table is not data}
        assert not any(frame["pay"].equals(data.frame["pay"]) for frame in others.values())


def test_wrong_arguments_are_refused(fitted):
    with pytest.raises(InputError, match=r"reference: there is no release 'nosy'. Did you mean 'noisy'"):
        evaluate(DATA, {"noisy": NOISY}, NEIGHBOUR, EvaluationOptions(reference="nosy"))
    with pytest.raises(InputError, match="posteriors: there is no release"):
        evaluate(DATA, {"noisy": NOISY}, NEIGHBOUR, EvaluationOptions(posteriors={"other": fitted[1]}))
    with pytest.raises(InputError, match="posteriors: one was fitted to a table of another length"):
        evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(posteriors={"released": fitted[1]}, datasets=40))
    with pytest.raises(InputError, match="released: 'confidential' cannot be the name"):
        evaluate(DATA, {"confidential": NOISY}, NEIGHBOUR)
    with pytest.raises(InputError, match="released: it names no release"):
        evaluate(DATA, {}, NEIGHBOUR)


def test_one_radius_analysis_or_method_may_be_given_alone():
    about: Any = {"measures": [one for one in MEASURES if one.id in ("radius_mean", "estimate", "pmse_ratio")]}
    for radius, at, of in ((0.3, 0.3, ""), (np.float64(0.3), 0.3, ""), ({"pay": 0.3}, np.nan, "0.3 of pay")):
        found = evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(radii=radius, **about))
        listed = evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(radii=[radius], **about))
        pd.testing.assert_frame_equal(found.risk, listed.risk)
        row = figure(found, "radius_mean", of=of)
        assert row["at"] == pytest.approx(at, nan_ok=True)
    found = evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(analyses=utility.mean("pay"), **about))
    pd.testing.assert_frame_equal(
        found.utility,
        evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(analyses=[utility.mean("pay")], **about)).utility,
    )
    random = np.random.default_rng(1)
    people = pd.DataFrame({"town": ["A"] * 60, "pay": random.lognormal(3, 1, 60)})
    noisy = people.assign(pay=people["pay"] * random.lognormal(0, 0.2, 60))
    found = evaluate(people, noisy, NEIGHBOUR, EvaluationOptions(propensity_methods="logistic", **about))
    assert set(found.utility.loc[found.utility["measure"] == "pmse_ratio", "of"]) == {"logistic"}


def test_a_seed_of_numpy_is_the_same_seed(fitted):
    people, posterior = fitted
    seeds: list[Any] = [np.int64(3), 3]
    tables = draw(posterior, datasets=5, seed=seeds[0])
    how: Any = {"posteriors": {"released": posterior}, "datasets": 40, "analyses": [], "propensity_methods": ()}
    how["skip"] = ["attribute_risk", "singling_out"]
    found, same = (evaluate(people, tables, NEIGHBOUR, EvaluationOptions(seed=seed, **how)) for seed in seeds)
    pd.testing.assert_frame_equal(found.records, same.records)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"radii": "0.3"}, "radii: one is of type str, not a radius"),
        ({"radii": [None]}, "radii: one is of type NoneType, not a radius"),
        ({"radii": [[0.3]]}, "radii: one is of type list, not a radius"),
        ({"radii": 3}, "radius: it is 3, but must lie between 0 and 1"),
        ({"radii": [-0.1]}, "radius: it is negative"),
        ({"analyses": "mean"}, "analyses: it holds something else"),
        ({"analyses": [utility.mean("pay"), 3]}, "analyses: it holds something else"),
        ({"analyses": 3}, "analyses: it holds something else"),
        ({"posteriors": {"released": 1}}, "posteriors: that of 'released' is of type int, not a Posterior"),
        ({"posteriors": 1}, "posteriors: it is of type int, not posteriors by the name of their release"),
        ({"posteriors": {"released": DATA}}, "posteriors: that of 'released' is of type DataFrame, not a Posterior"),
        ({"reference": ["released"]}, "reference: it is of type list, not text"),
        ({"reference": 3}, "reference: it is of type int, not text"),
        ({"step": "x"}, "step: it is of type str, expected a finite number"),
        ({"seed": -1}, "seed: it must be a whole number from 0 up"),
        ({"seed": 1.5}, "seed: it must be a whole number from 0 up"),
        ({"interval": "both"}, "interval: 'both' is not a choice"),
        ({"rule": None}, "rule: it is of type NoneType"),
        ({"propensity_methods": "forest"}, "propensity_methods: 'forest' is not a choice"),
        ({"propensity_methods": 3}, "propensity_methods: it is of type int"),
        ({"unconverged": "x"}, "unconverged: 'x' is not a choice"),
        ({"groups": 3}, "groups: a variable's name must be text"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_measured(change: Any, words, monkeypatch):
    def measure(*_: Any) -> Any:
        raise AssertionError("it was measured")

    if not words.startswith(("radius", "groups")):
        monkeypatch.setattr("molehill.evaluation.evaluation.measure_context", measure)
    with pytest.raises(InputError, match=words):
        evaluate(DATA, NOISY, NEIGHBOUR, EvaluationOptions(**change))


def test_categories_of_hundreds_of_levels_are_told_apart_by_their_commonest():
    generator = np.random.default_rng(1)
    names = [f"job {number}" for number in range(700)]
    people = pd.DataFrame({"job": [*names, *generator.choice(names, 300)], "town": generator.choice(["A", "B"], 1_000)})
    people["street"] = generator.permutation([f"street {number // 2}" for number in range(1_000)])
    view = Intruder(known=["town", "street"], sensitive=["job"]).view(people)
    released = [people.assign(job=generator.permutation(people["job"])) for _ in range(2)]
    measures = [one for one in MEASURES if one.id == "pmse_ratio"]
    found = evaluate(view, {"permuted": released}, options=EvaluationOptions(measures=measures)).utility
    of = found[found["measure"] == "pmse_ratio"].set_index("of")
    assert set(of.index) == {"logistic", "classification tree"}
    assert of["value"].notna()["logistic"]


def test_a_dataset_that_gives_nobody_what_few_people_have_is_measured():
    rng, n = np.random.default_rng(1), 120
    pay, rank = rng.lognormal(7, 0.5, n).round(), pd.array([None] * (n - 12) + [1, 2] * 6, dtype="Int64")
    data = pd.DataFrame({"town": rng.choice(list("AB"), n), "pay": pay, "rank": rank})
    first = data.assign(pay=rng.permutation(pay))
    second = first.assign(rank=pd.array([None] * n, dtype="Int64"))
    kinds: dict[str, Any] = {"rank": "categorical"}
    intruder = Intruder(known="town", sensitive=["pay", "rank"], radius=0.2, missing_values="keep", kinds=kinds)
    found = evaluate(data, [first, second], intruder, EvaluationOptions(progress=False))
    assert figure(found, "single_variable_mean", column="rank")["value"] > 0
