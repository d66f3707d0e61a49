"""Forests under a rule and without one: answers that are known beforehand to be best."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_at_least, assert_at_most, assert_differs, standard_error
from measured import measure, measuring_once
from molehill import Settings, release_risk, synthesize
from molehill.errors import InputError
from molehill.release.making import fit_quietly, prepare
from molehill.release.search import points
from molehill.release.search.outcome import Found
from molehill.release.search.points import unweighted_risk
from molehill.release.search.search import search
from molehill.risk.identification import risk_floor
from molehill.utility import agreement
from molehill.utility.distances import ecdf_distances

RNG = np.random.default_rng(5)
TOWNS = RNG.choice(list("ABC"), 800)
LEVELS = pd.Series(TOWNS).map({"A": 7.0, "B": 7.4, "C": 7.8})
# Pay depends on the town, and on nothing else; the reading of a meter is another in every household.
PEOPLE = pd.DataFrame(
    {
        "town": TOWNS,
        "meter": RNG.normal(500, 100, 800).round(4),
        "pay": np.exp(LEVELS + RNG.normal(0, 0.5, 800)).round(2),
    }
)
QUICK: dict[str, Any] = {"synthesize": "pay", "keep": ("town", "meter"), "known": "town", "lower": 0.0, "upper": 1e5}
QUICK |= {"datasets": 5, "seed": 4, "search_draws": 100, "attacks": "none"}
LEAVES = [10, 25, 50, 100]


@pytest.fixture(autouse=True, scope="module")
def short():
    with measuring_once():
        yield


def find(targets=(), data=PEOPLE, *, checkpoint=None, on_stage=None, **changes) -> Found:
    settings = Settings(**{**QUICK, "release_criteria": targets, **changes})
    return search(prepare(data, settings), checkpoint=checkpoint, progress=False, on_stage=on_stage)


def written(found: Found) -> list[bytes]:
    return [table.to_csv().encode() for table in found.datasets]


@pytest.fixture(scope="module")
def free():
    return find()


# Without a rule


def test_a_predictor_that_matters_to_nothing_costs_nothing(free):
    assert free.candidates["leaf"].tolist() == LEAVES
    assert free.met
    # Small parts repeat what chance has put beside a reading of the meter.
    risk, errors = free.candidates["mean_expected_risk"], free.candidates["mean_expected_risk_error"]
    floor = np.nanmean(risk_floor(free.bench.view))
    assert_differs(risk[0], floor, errors[0], effect=0.2 * floor)
    assert free.chosen["leaf"] >= 50
    assert_at_most(risk[free.place], 1.05 * floor, errors[free.place], detects=0.1 * floor)
    # What is told was measured with draws that chose nothing.
    assert [point.confirmed for point in free.bench.points] == [place == free.place for place in range(4)]
    # Nothing is lost: new samples of the population itself are no nearer to the table.
    rng = np.random.default_rng(7)
    truth = [PEOPLE.assign(pay=np.exp(LEVELS + rng.normal(0, 0.5, 800))) for _ in range(20)]
    nearness = np.array([agreement(PEOPLE, [table], "pay", ways=2).value("agreement_2") for table in truth])
    error = np.hypot(standard_error(nearness), standard_error(free.point.measured.agreement))
    assert_at_least(free.chosen["agreement"], nearness.mean(), error, detects=50)
    distances = np.array([ecdf_distances(PEOPLE, [table], "pay").value("U_m") for table in truth])
    error = np.hypot(standard_error(distances), free.chosen["U_m_error"])
    assert_at_most(free.chosen["U_m"], distances.mean(), error, detects=0.04)


@pytest.mark.parametrize("asked", [{"preserve": ("town",)}, {"regressions": ("pay ~ town",)}])
def test_what_nobody_asks_for_is_no_predictor(asked):
    job = prepare(PEOPLE, Settings(**QUICK, **asked))
    assert job.settings.predictors == ("town",)
    assert prepare(PEOPLE, Settings(**QUICK)).settings.predictors == ("town", "meter")


@pytest.mark.slow
def test_a_relation_is_worth_its_risk():
    """With a strong relation the smallest parts are needed, whatever they cost."""
    rng = np.random.default_rng(6)
    data = PEOPLE.assign(pay=np.exp(7 + (PEOPLE["meter"] - 500) / 100 + rng.normal(0, 0.05, 800)).round(2))
    found = find((), data.head(400), accept_derivable="pay")
    assert found.chosen["leaf"] == 10
    assert found.candidates["pairs_lost"].is_monotonic_increasing


@pytest.mark.slow
def test_a_rule_on_utility_alone_asks_for_the_safest(free):
    found = find("overlap >= 0.01", search_draws=40)
    assert found.candidates["leaf"].tolist() == LEAVES
    # Not the first that keeps it, as under a rule on risk. Which of the two largest depends on overlaps of five tables.
    assert min(found.chosen["leaf"], free.chosen["leaf"]) >= 50


# Under a rule


@pytest.mark.slow
def test_what_the_most_detailed_forest_keeps_ends_at_once(free):
    bound = free.candidates["mean_expected_risk"][0] + 0.02
    found = find(f"mean expected <= {bound:.4f}")
    assert found.met
    assert (len(found.candidates), found.cost["fits"], found.chosen["leaf"]) == (1, 1, 10)


@pytest.fixture(scope="module")
def between(free):
    """A rule that parts of 25 break and parts of 50 keep."""
    risk = free.candidates["mean_expected_risk"]
    return f"mean expected <= {(risk[1] + risk[2]) / 2:.5f}"


def test_between_two_leaves_the_smallest_that_keeps_the_rule_is_chosen(between, tmp_path, monkeypatch):
    found = find(between, checkpoint=tmp_path / "whole")
    assert found.candidates["leaf"].tolist() == [10, 25, 50]
    assert found.candidates["met"].tolist() == [False, False, True]
    assert found.met
    assert (found.cost["fits"], found.chosen["leaf"]) == (3, 50)
    assert f"Found: unweighted, minimum leaf size 50 keeps {between}." in found.verdict
    assert "the first point (unweighted, minimum leaf size 10) shows" in found.verdict

    # After an interruption the same again, all measured anew.
    calls = []

    def fail(*arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(*arguments, **named)

    monkeypatch.setattr(points, "measure", fail)
    with pytest.raises(KeyboardInterrupt):
        find(between, checkpoint=tmp_path / "cut")
    calls.append(1)
    resumed = find(between, checkpoint=tmp_path / "cut")
    # One point was kept; two are measured, and the last of them is confirmed.
    assert len(calls) == 3 + 3
    assert written(resumed) == written(found)
    assert resumed.verdict == found.verdict
    # What was measured and confirmed is read, and of the forests only the chosen one is grown again.
    fits = count_fits(monkeypatch)
    resumed = find(between, checkpoint=tmp_path / "cut")
    assert (len(calls), len(fits)) == (3 + 3, 1)
    assert written(resumed) == written(found)
    assert resumed.verdict == found.verdict
    # Another table is refused, be it only a predictor that differs.
    with pytest.raises(InputError, match="other data"):
        find(between, PEOPLE.assign(meter=PEOPLE["meter"] + 1), checkpoint=tmp_path / "cut")


def test_what_fresh_draws_do_not_confirm_is_not_met_and_the_search_goes_on(free, monkeypatch):
    whole, confirmed = points.measure, []

    def doubt(*arguments, **named):
        measured = whole(*arguments, **named)
        if named.get("tables") is None:
            return measured
        confirmed.append(measured)
        return replace(measured, blocks=measured.blocks + 0.2) if len(confirmed) == 1 else measured

    monkeypatch.setattr(points, "measure", doubt)
    found = find(f"mean expected <= {free.candidates['mean_expected_risk'][0] + 0.02:.4f}")
    assert found.candidates["leaf"].tolist() == [10, 25]
    assert found.candidates["met"].tolist() == [False, True]
    assert found.met
    # What is told of the chosen one is what was confirmed, not what chose it.
    assert len(confirmed) == 2
    assert f"Mean expected risk {np.nanmean(confirmed[1].risk):.3f}, U_m {confirmed[1].distances.mean():.4f}" in (
        found.verdict
    )


def test_zero_needs_no_fit_and_one_a_single_fit(monkeypatch):
    few = PEOPLE.head(200)
    found = find(["maximum expected <= 1", "maximum pick <= 1", "maximum realised <= 1", "right picks <= 1"], few)
    assert found.met
    assert (found.cost["fits"], len(found.candidates), found.chosen["leaf"]) == (1, 1, 10)
    assert found.probability == 0
    monkeypatch.setattr(points, "fit_quietly", None)
    for rule in ("maximum expected", "maximum pick", "99% pick", "mean realised", "right picks", "unique matches"):
        with pytest.raises(InputError, match="no release can meet them"):
            synthesize(few, Settings(**QUICK, release_criteria=f"{rule} <= 0"), progress=False)


def test_a_realised_rule_can_be_confirmed_though_a_forest_has_few_trees():
    found = find("maximum realised <= 0.99", PEOPLE.head(200), datasets=8)
    assert found.met
    assert len(found.point.measured.runs) >= 50
    assert found.probability_high <= 0.2
    assert release_risk(found.bench.view, found.datasets).realised.max() <= 0.99


def count_fits(monkeypatch) -> list[int]:
    fits, fit = [], fit_quietly
    monkeypatch.setattr(points, "fit_quietly", lambda *given, **how: fits.append(1) or fit(*given, **how))
    return fits


@pytest.mark.slow
def test_a_fixed_scheme_is_one_fit(monkeypatch):
    fits = count_fits(monkeypatch)
    how: dict[str, Any] = {"method": "risk_weighted", "weight_scale": 0.7, "expected_risk_draws": 40}
    few = PEOPLE.head(150)
    release = synthesize(few, Settings(**QUICK, **how, release_criteria="mean expected <= 0.001"), progress=False)
    assert len(fits) == 1
    assert release.search is not None
    assert release.search.candidates["scheme"].tolist() == ["pairwise, scale 0.7"]
    assert "shows" not in release.search.verdict
    assert not release.is_released
    with pytest.raises(InputError, match="against the unweighted fit"):
        find("moles 0.1 <= 0", few, **how)


@pytest.mark.slow
def test_the_budget_is_kept(monkeypatch):
    fits = count_fits(monkeypatch)
    found = find("mean expected <= 0.001", max_fits=6)
    assert len(fits) == found.cost["fits"] == 6
    assert found.candidates["leaf"].tolist()[:4] == LEAVES
    # Weights follow at the leaf that is nearest to the rule, and nothing starts from the draws of another.
    nearest = int(found.candidates["gap"][:4].argmin())
    assert set(found.candidates["leaf"][4:]) == {LEAVES[nearest]}
    weighted = (found.candidates["order"] > 0) | (found.candidates["rounds"] > 0)
    assert weighted.tolist() == [False] * 4 + [True] * 2
    assert not found.candidates["warm"].any()
    # Moles are rises against the forest that tells as many records apart.
    weighted = found.bench.points[4]
    reference = unweighted_risk(found.bench, weighted)
    assert reference is not None
    np.testing.assert_array_equal(reference[0], found.bench.points[nearest].measured.risk)
    assert unweighted_risk(found.bench, found.bench.points[0]) is None


# Nothing to be found


# Three in five have the same pay. Nobody has more of it than others in C or D, but there they are two and one.
SAME = np.where(RNG.random(400) < 0.6, 1000.0, np.exp(RNG.normal(8.5, 0.6, 400)).round(2))
LONELY = pd.DataFrame({"town": ["A"] * 200 + ["B"] * 197 + ["C"] * 2 + ["D"], "pay": SAME})
LONELY.loc[397:, "pay"] = 1000.0


@pytest.mark.parametrize(
    ("rule", "named"), [("maximum pick <= 0.3", {"town C": 2, "town D": 1}), ("maximum expected <= 0.4", {"town D": 1})]
)
def test_records_that_no_weight_can_protect_are_named(rule, named):
    found = find(rule, LONELY, keep="town", max_fits=3, min_leaf_size=50)
    assert not found.met
    assert found.cost["fits"] == 3
    assert ((found.candidates["order"] > 0) | (found.candidates["rounds"] > 0)).tolist() == [False, True, True]
    way = found.blocking_records
    assert dict(zip(way["pattern"], way["records"], strict=True)) == named
    assert set(way["range"]) == {"1,000 to 2,000"}
    for place, number in named.items():
        assert f"{number} in {place}, 1,000 to 2,000" in found.verdict
    # Of the two, p (p / 2 + 1 - p) is the chance to be picked, of the one p: by the share p of those who have that pay.
    share = ((SAME > 800) & (SAME < 1200)).mean()
    if "pick" in rule:
        # In 100 tables: found is one of the three who is picked in all of them or in none.
        picks = found.bench.points[0].measured.picks.mean(axis=0)
        truth = np.array([share * (1 - share / 2)] * 2 + [share])
        assert_agrees(picks[397:], truth, np.sqrt(truth * (1 - truth) / 100), detects=0.41)
        # Of the others hardly anybody is picked, and none as often as the rule forbids.
        assert_at_most(picks[:397], 0.05, np.sqrt(0.05 * 0.95 / 100), detects=0.25)


def test_a_rule_that_nothing_can_keep():
    rule = "mean expected <= 0.01"
    settings = Settings(**QUICK, release_criteria=rule, max_fits=2, compare=(), expected_risk_draws=0)
    release = synthesize(PEOPLE.head(150), settings, progress=False)
    assert not release.is_released
    assert release.search is not None
    assert f"No release was found that keeps {rule}, with 2 fits." in release.search.verdict


# Categories, and several columns


def test_a_category_keeps_a_rule_or_says_who_stands_in_the_way():
    jobs = PEOPLE.assign(pay=np.where(PEOPLE["pay"] > 1500, "high", "low")).head(400)
    how: dict[str, Any] = {"lower": None, "upper": None}
    risk = find((), jobs, **how).candidates["mean_expected_risk"]
    found = find(f"mean expected <= {(risk[1] + risk[2]) / 2:.5f}", jobs, **how)
    assert found.met
    assert found.chosen["leaf"] >= 50
    assert found.candidates["met"].tolist() == [False] * found.place + [True]
    assert "U_m" not in found.verdict
    assert "pairs of columns agree by" in found.verdict
    # One leaf, two fits along the path of weights, and one of feedback.
    missed = find("maximum expected <= 0.01", jobs.head(150), **how, max_fits=4, search_draws=40, datasets=2)
    assert not missed.met
    assert missed.candidates["rounds"].tolist() == [0, 0, 0, 1]
    assert set(missed.blocking_records["pattern"]) == {"town A", "town B", "town C"}
    assert set(missed.blocking_records["range"]) == {"-"}
    assert " in town A;" in missed.verdict.replace(".", ";")
    with pytest.raises(InputError, match="no replaced column is a number"):
        find("U_m <= 0.1", jobs, **how)


@pytest.mark.slow
def test_of_several_columns_all_ranges_are_told():
    rng = np.random.default_rng(8)
    data = PEOPLE.drop(columns="meter").head(150)
    data = data.assign(job=np.where(rng.random(150) < 0.5, "x", "y"), hours=rng.integers(10, 60, 150).astype(float))
    data.loc[:20, "hours"] = np.nan
    both: dict[str, Any] = {"synthesize": ("job", "pay", "hours"), "keep": "town"}
    both |= {"lower": {"pay": 0.0, "hours": 0.0}, "upper": {"pay": 1e5, "hours": 100.0}}
    found = find(
        "mean expected <= 0.0001", data, **both, missing_values="keep", max_fits=4, search_draws=40, datasets=2
    )
    assert not found.met
    assert found.candidates["rounds"].tolist() == [0, 0, 0, 1]
    way = found.blocking_records["range"]
    assert way.str.match(r"pay [\d,]+ to [\d,]+; hours (\d+ to \d+|none)$").all()
