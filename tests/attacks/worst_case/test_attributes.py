"""Attribute risk: against closed forms, other intruders, and fits with another value."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from agreement import assert_agrees, assert_differs, assert_mean
from conjugate import conjugate, draws_around, joined, kinds, level, levels_on_a_grid, normal, posterior_of, shop
from molehill.attacks.worst_case.attributes import attribute_risk
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.models import forest, multinomial, normal_linear, semicontinuous
from molehill.models.forests.forest import SHRINKAGE
from molehill.models.forests.guesses import shares_of
from molehill.models.forests.trees import fill_counts, find_leaves
from molehill.risk.intruder import Intruder
from molehill.rules import read_constraints
from molehill.rules.rules import Rules
from molehill.surveys.design import SurveyDesign
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.sampling.removal import log_densities, spread_places
from molehill.synthesis.synthesizer import DirectSynthesizer, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table

VALUES = np.r_[2.5, 0.0, 1.0, np.random.default_rng(2).normal(0, 1, 27)]
WEIGHTS = np.r_[0.8, 1.0, 0.0, np.full(27, 0.9)]
GRID = np.array([-2.0, -1.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def posterior():
    return conjugate(VALUES, WEIGHTS, draws=8000)


def law(row, value):
    """Mean and standard deviation of the pseudo posterior with another value of a record."""
    return normal(np.where(np.arange(len(VALUES)) == row, value, VALUES), WEIGHTS)


def chances(row, truth, guesses, tables, seed=3, seen=None):
    """What is given to the truth on average, by closed forms: by who is told parameters, or sees so many values."""
    mean, spread = law(row, truth)
    wider = np.hypot(spread, 0.0 if seen is None else seen**-0.5)
    draws = np.random.default_rng(seed).normal(mean, wider, (50_000, tables))
    logs = np.stack([stats.norm.logpdf(draws, law(row, guess)[0], wider).sum(axis=1) for guess in guesses])
    given = np.exp(logs - logs.max(axis=0))
    own = (given / given.sum(axis=0))[list(guesses).index(truth)]
    return own.mean(), own.std() / np.sqrt(len(own))


@pytest.mark.parametrize("tables", [1, 5])
def test_it_is_bayes_rule_of_the_closed_form(posterior, tables):
    rows = np.array([0, 1])
    found = attribute_risk(posterior, datasets=tables, seed=1, rows=rows, guesses=GRID)
    for place, row in enumerate(rows):
        truth = float(VALUES[row])
        guesses = [truth, *(one for one in GRID if one != truth)]
        expected, error = chances(row, truth, guesses, tables)
        # If the release told nothing, it would be 1 over the number of guesses.
        gained = expected - 1 / len(guesses)
        assert_agrees(found.probability[place], expected, np.hypot(found.error[place], error), detects=gained)
        assert found.guesses[place] == len(guesses)
    assert found.among == "given"


def test_a_record_that_does_not_count_is_guessed_as_before(posterior):
    found = attribute_risk(posterior, datasets=20, seed=1, rows=np.array([2, 0]), spread=None)
    outlier, left_out = found.probability[0], found.probability[1]
    assert left_out == pytest.approx(1 / 11, abs=1e-14)
    assert found.error[1] == pytest.approx(0, abs=1e-14)
    assert found.rank[1] == 6.0
    assert found.first[1] == pytest.approx(1 / 11, abs=1e-14)
    assert outlier > 3 / 11
    assert found.likeliest().value > found.baseline() == pytest.approx(1 / 11)


def test_who_is_nearly_alone_is_given_away_by_many_tables():
    values, weights = np.r_[1.0, np.random.default_rng(1).normal(0, 1, 9)], np.r_[1.0, np.full(9, 0.02)]
    found = attribute_risk(
        conjugate(values, weights), datasets=200, seed=1, rows=np.array([0]), guesses=[0.0, 0.5, 2.0]
    )
    assert found.probability[0] > 0.99
    assert found.rank[0] < 1.01


def test_the_order_of_the_guesses_does_not_matter(posterior):
    rows, orders = np.array([0, 5]), (GRID, GRID[::-1], GRID[[2, 0, 3, 1]])
    found = [attribute_risk(posterior, datasets=5, seed=1, rows=rows, guesses=order).probability for order in orders]
    assert found[1] == pytest.approx(found[0], rel=1e-9)
    assert found[2] == pytest.approx(found[0], rel=1e-9)


def test_guesses_that_are_too_far_off_are_not_told(posterior):
    few = conjugate(np.r_[12.0, np.random.default_rng(1).normal(0, 0.3, 4)], np.ones(5), draws=600)
    found = attribute_risk(few, datasets=1, seed=1, rows=np.array([0, 2]), guesses=[0.0, 0.5])
    assert np.isnan(found.probability[0])
    assert found.probability[1] > 0
    assert found.unsure() == 0.5
    assert found.mean().value == found.probability[1]
    assert np.isnan(attribute_risk(posterior, datasets=1, seed=1, rows=np.array([1])).probability[0])


def test_who_is_told_the_parameters_is_right_more_often_than_who_sees_the_tables():
    # With every guess true in turn: for a single truth it need not be so.
    told, by_values, errors = [], [], []
    for guess in GRID.tolist():
        values = np.where(np.arange(30) == 0, guess, VALUES)
        found = attribute_risk(conjugate(values, WEIGHTS, 8000), datasets=5, seed=1, rows=np.array([0]), guesses=GRID)
        told.append(found.probability[0])
        seen, error = chances(0, guess, GRID.tolist(), 5, seen=30)
        by_values.append(seen)
        errors.append(np.hypot(found.error[0], error))
    effect = np.mean([chances(0, guess, GRID.tolist(), 5)[0] for guess in GRID.tolist()]) - np.mean(by_values)
    assert_differs(np.mean(told), np.mean(by_values), np.linalg.norm(errors) / 4, effect=effect)
    assert np.mean(by_values) > 1 / len(GRID)


def test_the_mean_of_the_ratios_is_what_hornby_and_hu_have(posterior):
    # A released table of 30 values, by its mean; their sum over draws, and its limit.
    (one,) = posterior.guesses(np.array([0]), "y", GRID[None], datasets=1, releases=1, seed=1)
    assert one.by_draw is not None
    draws = posterior.draws["mean"].reshape(-1)[spread_places(8000, len(one.by_draw))]
    released = law(0, VALUES[0])[0] + 0.1
    ratios, densities = np.exp(one.by_draw[:, 0]), stats.norm.pdf(released, draws, 30**-0.5)[:, None]
    spread = np.hypot(law(0, 0.0)[1], 30**-0.5)
    truth = np.array([stats.norm.pdf(released, law(0, guess)[0], spread) for guess in GRID])
    # The ratios were brought to the mean 1 by the same draws: the error is that of a ratio of two means.
    error = (ratios * (densities - truth)).std(axis=0) / np.sqrt(len(draws))
    assert_agrees((ratios * densities).mean(axis=0), truth, error, detects=np.ptp(truth))


def test_guesses_of_numbers_are_in_the_unit_of_the_column():
    counts = pd.DataFrame({"age": np.zeros(60), "visits": np.random.default_rng(1).poisson(3.0, 60)})
    counts.loc[:1, "visits"] = [2, 40]
    posterior = fit(forest("visits", lower=0, kinds={"visits": "count"}), counts, seed=1, progress=False)
    found = attribute_risk(posterior, datasets=1, seed=1, rows=np.array([0, 1]))
    codes = fit(forest("visits", kinds={"visits": "categorical"}), counts, seed=1, progress=False)
    levels = attribute_risk(codes, datasets=20, seed=1, rows=np.array([0, 1]))
    assert set(levels.guesses) == {counts["visits"].nunique()}
    assert levels.probability.min() > 1 / levels.guesses[0]
    # Nothing but 2 is within a tenth of it; 36 to 44 are of 40.
    assert found.guesses.tolist() == [1, 9]
    assert np.isnan(found.probability[0])


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"column": "age"}, "column"),
        ({"guesses": 1}, "guesses"),
        ({"spread": 0.0}, "spread"),
        ({"rows": np.array([30])}, "rows"),
        ({"datasets": 0}, "datasets"),
    ],
)
def test_what_makes_no_sense_is_refused(posterior, wrong, argument):
    with pytest.raises(InputError, match=argument):
        attribute_risk(posterior, **{"datasets": 1, "seed": 1, **wrong})


# Models, against closed forms with the other value.


def test_a_multinomial_with_another_level_is_that_of_the_other_table():
    points, chances, draws = levels_on_a_grid([5, 4, 3])
    posterior = posterior_of(multinomial("kind"), pd.DataFrame({"kind": list("aaaaabbbbccc")}), {"beta": draws})
    guesses = np.array([["b"]], dtype=object)
    (found,) = posterior.guesses(np.array([11]), "kind", guesses, datasets=1, releases=1, seed=1)
    assert found.by_draw is not None
    weights = np.exp(found.by_draw[:, 0, 0])
    values = draws[..., 0, 1].reshape(-1)[spread_places(draws[..., 0, 1].size, len(weights))]
    ours = (weights * values).mean()
    error = (weights * (values - ours)).std() / np.sqrt(len(values))
    # With a "b" in the place of the last "c".
    _, others, _ = levels_on_a_grid([5, 5, 2])
    truth, before = others @ points[:, 1], chances @ points[:, 1]
    assert_agrees(ours, truth, error, detects=truth - before)


def test_columns_that_come_after_tell_of_a_guess():
    frame = pd.DataFrame({"kind": list("aaaabbbb"), "pay": np.exp([1.0, 1.3, 0.7, 1.0, 2.0, 2.3, 1.7, 2.0])})
    of_kind, of_pay = multinomial("kind"), normal_linear("pay", ["kind"], transform="log")
    chain, random = SequentialSynthesizer((of_kind, of_pay)), np.random.default_rng(1)
    kind = posterior_of(of_kind, frame, {"beta": random.normal(0, 0.7, (2, 500, 1, 1))})
    coefficients = [-0.9, 1.8] + 0.2 * random.normal(size=(2, 500, 2))
    pay = posterior_of(of_pay, frame, {"beta": coefficients, "sigma": random.uniform(0.4, 0.6, (2, 500))})
    both, rows = joined(chain, {"kind": kind, "pay": pay}), np.arange(8)
    first, whole = (attribute_risk(one, "kind", datasets=3, seed=1, rows=rows) for one in (kind, both))
    # The pay gives the kind away, beside what the model of the kind tells.
    assert whole.mean().value > first.mean().value + 0.1
    guesses = np.array([["a", "b"]], dtype=object)
    about = {"datasets": 1, "releases": 1, "seed": 1}
    assert len(both.guesses(np.array([0]), "kind", guesses, **about)) == 2
    assert len(both.guesses(np.array([0]), "pay", np.array([[1.0, 2.0]]), **about)) == 1


def test_a_guess_may_be_of_another_part():
    random = np.random.default_rng(1)
    pay, weights = np.where(np.arange(50) < 15, 0.0, np.exp(random.normal(8, 1, 50))), np.full(50, 0.5)
    frame, whole = pd.DataFrame({"pay": pay}), semicontinuous("pay")
    sites = {"sign": {"beta": np.full((1, 1), 0.8)}, "positive": {"beta": np.full(1, 0.2), "sigma": 1.0}}
    made = whole.parts(Table(frame))
    parts = {name: posterior_of(made[name], frame, draws_around(**around), weights) for name, around in sites.items()}
    rows, guesses, part = np.array([0, 20]), np.array([[3000.0], [0.0]]), parts["positive"]
    sign, size = joined(whole, parts).guesses(rows, "pay", guesses, datasets=1, releases=1, seed=1)
    assert sign.by_draw is not None
    assert size.by_draw is not None
    table = replace(part.table, frame=pd.DataFrame({"pay": np.where(np.arange(50) == 0, 3000.0, pay)}))
    assert part.learned.observed is not None
    guessed, own = part.learned.observed(table).inputs, part.learned.inputs
    gained = 0.5 * log_densities(part, {**own, **guessed}, rows[:1], 1000)[:, 0]
    lost = -0.5 * log_densities(part, own, rows[1:], 1000)[:, 0]
    for place, logs in enumerate((gained, lost)):
        told = size.by_draw[:, place, 0]
        small = logs < np.quantile(logs, 0.7)
        assert (told - logs)[small] == pytest.approx((told - logs)[small].mean(), abs=1e-6)
        assert np.ptp(logs[small]) > 0.01
    # The sign counts fully, whatever the weight.
    assert sign.by_draw[:, 0, 0].std() > 0


def test_what_cannot_be_said_is_refused():
    frame = pd.DataFrame({"age": 0.0, "y": VALUES, "weight": np.linspace(1, 3, 30)})
    draws = {"mean": np.random.default_rng(1).normal(*normal(VALUES, np.ones(30)), (2, 300))}
    about = (Synthesizer(level, "y"), frame, draws)
    corrected, weighted = (
        posterior_of(*about, survey=SurveyDesign(weight="weight"), sandwich=sandwich) for sandwich in (True, False)
    )
    assert not corrected.can_guess("y")
    with pytest.raises(InputError, match="survey"):
        attribute_risk(corrected, datasets=1, seed=1)
    assert attribute_risk(weighted, datasets=1, seed=1, number=3, spread=None).probability.min() > 0
    blind = replace(weighted, learned=replace(weighted.learned, observed=None))
    with pytest.raises(InputError, match="observed"):
        attribute_risk(blind, datasets=1, seed=1)
    plain = fit(forest("y"), frame, seed=1, progress=False)
    assert isinstance(plain.synthesizer, DirectSynthesizer)
    silent = replace(plain, synthesizer=replace(plain.synthesizer, compare_guesses=None))
    with pytest.raises(InputError, match="compare_guesses"):
        attribute_risk(silent, datasets=1, seed=1)


# Forests.


def test_what_is_simulated_is_what_is_compared():
    # The mean over releases of how much likelier a guess makes them is 1, if both are of the same distribution.
    frame = kinds()
    posterior = fit(
        SequentialSynthesizer((forest("sex", ["town"]), forest("kind", ["town", "sex"]))), frame, seed=1, progress=False
    )
    # The first two are alone with their level, and whether they are there decides nearly everything.
    rows = np.arange(2, 8)
    other = np.where(frame["sex"].iloc[rows] == "f", "m", "f").astype(object)[:, None]
    about = {"datasets": 1, "releases": 4000, "seed": 1}
    first, later = posterior.guesses(rows, "sex", other, **about)
    letters = np.tile(np.array(["a", "b", "c"], dtype=object), (len(rows), 1))
    (levels,) = posterior.guesses(rows, "kind", letters, **about)
    for one in (first, later, levels):
        assert one.releases is not None
        assert_mean(np.exp(one.releases), 1.0, detects=0.1)
        assert np.exp(one.releases).std() > 0.02


@pytest.mark.parametrize(("row", "guess", "detects"), [(0, "a", 0.1), (2, "d", 0.008)])
def test_a_leaf_with_another_level_is_that_of_a_true_fit(row, guess, detects):
    frame = kinds()
    model = forest("kind", ["town", "sex"], trees=1000, min_leaf_size=100)
    posterior = fit(model, frame, seed=1, progress=False)
    again = fit(model, frame.assign(kind=np.where(np.arange(300) == row, guess, frame["kind"])), seed=2, progress=False)
    feature, left, child = (posterior.draws[name][0] for name in ("feature", "left", "child"))
    inputs, levels = posterior.learned.inputs, posterior.learned.facts["levels"]
    codes, outcome = np.ascontiguousarray(inputs["codes"]), inputs["outcome"]
    true, guessed = outcome[row], levels.index(guess)
    counts, people, told = np.zeros((child.shape[1], len(levels))), np.zeros(child.shape[1]), []
    for tree in range(1000):
        fill_counts(codes, outcome, posterior.weights, feature[tree], left[tree], child[tree], counts, people)
        about = (codes[row], codes[row], guessed, true)
        own, total = shares_of(*about, 1.0, counts, feature, left, child, tree, SHRINKAGE)
        told.append(own / total)
    feature, left, child, shares = (again.draws[name][0] for name in ("feature", "left", "child", "shares"))
    leaves = [find_leaves(codes[[row]], feature[t], left[t], child[t])[0] for t in range(1000)]
    place = again.learned.facts["levels"].index(guess)
    found = shares[np.arange(1000), leaves, place].astype(np.float64)
    assert_agrees(np.mean(told), found.mean(), np.hypot(found.std(), np.std(told)) / np.sqrt(1000), detects=detects)


def test_the_records_of_a_forest():
    frame = kinds()
    weights = np.r_[1.0, 0.0, np.ones(298)]
    posterior = fit(forest("kind", ["town", "sex"]), frame, weights, seed=1, progress=False)
    one, many = (attribute_risk(posterior, datasets=tables, seed=1, rows=np.arange(30)) for tables in (1, 20))
    assert one.probability[1] == many.probability[1] == pytest.approx(0.25, abs=1e-14)
    assert 0.25 < one.mean().value < many.mean().value < 1
    assert one.among == "levels"
    pay = pd.DataFrame({"pay": 1000.37 + 1.01 * np.arange(300)})
    # All of a bin are the same to a forest.
    near = attribute_risk(fit(forest("pay"), pay, seed=1, progress=False), datasets=1, seed=1, number=5, spread=1e-4)
    assert near.probability == pytest.approx(1 / near.guesses, abs=1e-14)


# In an evaluation.


def test_an_evaluation_tells_it_of_the_first_release():
    frame = shop(100)
    chain = SequentialSynthesizer((forest("kind", ["town"]), forest("pay", ["town", "kind"], lower=0)))
    posterior = fit(chain, frame, seed=1, progress=False)
    intruder = Intruder(known=["town"], sensitive=["kind", "pay"], radius=0.2)
    released = {"forest": draw(posterior, datasets=2, seed=2), "other": draw(posterior, datasets=2, seed=3)}
    strongest = [one for one in MEASURES if one.id.startswith(("risk_mean", "attribute_risk", "advantage"))]
    about = {"posteriors": {"forest": posterior, "other": posterior}, "datasets": 40, "measures": strongest}
    evaluation = evaluate(frame, released, intruder, EvaluationOptions(**about))
    told = evaluation.risk[evaluation.risk["measure"].str.startswith("attribute_risk")]
    assert set(told["scheme"]) == {"forest"}
    assert len(told) == 3 * 7
    by = told.set_index(["measure", "column", "of"])["value"].astype(float)
    assert by["attribute_risk_baseline", "kind", "its levels"] == pytest.approx(1 / 3)
    for column, of in {(column, of) for _, column, of in by.index}:
        mean, largest = by["attribute_risk", column, of], by["attribute_risk_largest", column, of]
        assert by["attribute_risk_baseline", column, of] * 0.9 < mean <= largest <= 1
    facts = evaluation.measures[evaluation.measures["id"].isin(list(told["measure"]))]
    assert not facts["public"].any()
    without = evaluate(frame, released, intruder, EvaluationOptions(**about, skip=["attribute_risk", "membership"]))
    assert not without.risk["measure"].str.startswith(("attribute_risk", "advantage")).any()


@pytest.mark.parametrize("kind", ["string", "Int64", "boolean", "category", "object"])
def test_gaps_of_any_kind_are_no_guesses(kind):
    values = {"string": ["a", "b", None], "Int64": [1, 2, None], "boolean": [True, False, None]}
    cells = values.get(kind, values["string"]) * 40
    people = pd.DataFrame({"x": ["u", "v"] * 60, "job": pd.array(cells, dtype=None if kind == "object" else kind)})
    model = forest("job", ["x"], min_leaf_size=20, missing=True, kinds={"job": "categorical"})
    # Any whole number is one.
    five: Any = np.int64(5)
    fitted = fit(model, people, seed=1, progress=False)
    found = attribute_risk(fitted, datasets=2, seed=1, rows=np.arange(6), guesses=five)
    gaps = people["job"].isna().to_numpy()[:6]
    assert np.isnan(found.probability[gaps]).all()
    assert (found.probability[~gaps] > 0).all()


def test_a_column_that_a_constraint_names_is_not_guessed():
    people = pd.DataFrame({"x": ["u", "v"] * 60, "rent": np.arange(120) % 9 + 1.0, "pay": np.arange(120) % 11 + 12.0})
    links = (
        forest("rent", ["x"], min_leaf_size=20, lower=0, upper=50),
        forest("pay", ["x", "rent"], min_leaf_size=20, lower=0, upper=50),
    )
    rules = Rules(constraints=read_constraints("rent <= pay", people))
    ruled = fit(SequentialSynthesizer(links, rules), people, seed=1, progress=False)
    assert not ruled.can_guess("pay")
    with pytest.raises(InputError, match="edit rule"):
        attribute_risk(ruled, "pay", datasets=2, seed=1, rows=np.arange(3))
    assert fit(SequentialSynthesizer(links), people, seed=1, progress=False).can_guess("pay")
