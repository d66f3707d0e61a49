"""Membership: against closed forms, an attack that is carried out, and fits without the record."""

from dataclasses import replace

import jax
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conjugate import conjugate, level, normal
from molehill.errors import InputError
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.scenery.membership import membership
from molehill.models import forest, multinomial, normal_linear, semicontinuous, tdp_mixture
from molehill.models.forests.forest import SHRINKAGE, WINDOW
from molehill.models.forests.trees import find_leaves
from molehill.models.forests.without import (
    beta_binomial,
    compare_releases,
    describe_masses,
    find_company,
    find_surveyed_company,
)
from molehill.risk.intruder import Intruder
from molehill.surveys.design import SurveyDesign
from molehill.synthesis.fitting import draw, fit, refit_without
from molehill.synthesis.sampling.removal import log_contributions, spread_places
from molehill.synthesis.sandwich import correct_draws
from molehill.synthesis.synthesizer import Chain, DirectSynthesizer, Synthesizer

# What chance alone passes once in thousands of tests.
ERRORS = 4.0
VALUES = np.r_[4.0, 0.0, 1.0, np.random.default_rng(2).normal(0, 1, 27)]
WEIGHTS = np.r_[0.8, 1.0, 0.0, np.full(27, 0.9)]
OUTLIER, TYPICAL, LEFT_OUT = 0, 1, 2


def both(values, weights, row):
    return normal(values, weights), normal(values, np.where(np.arange(len(values)) == row, 0.0, weights))


def exact(values, weights, row):
    """The total variation between the two normals: by where their densities cross."""
    (mean, sd), (other, wide) = both(values, weights, row)
    grid = np.linspace(mean - 12 * sd, mean + 12 * sd, 200_001)
    return 0.5 * np.abs(stats.norm.pdf(grid, mean, sd) - stats.norm.pdf(grid, other, wide)).sum() * (grid[1] - grid[0])


def ratios(values, weights, row, draws):
    """Log of how much likelier draws, (releases, tables), are without a record."""
    with_it, without = both(values, weights, row)
    return (stats.norm.logpdf(draws, *without) - stats.norm.logpdf(draws, *with_it)).sum(axis=1)


@pytest.fixture(scope="module")
def posterior():
    return conjugate(VALUES, WEIGHTS)


def test_it_is_the_total_variation_of_the_closed_form(posterior):
    rows = np.array([OUTLIER, TYPICAL, LEFT_OUT, 7])
    found = membership(posterior, datasets=1, seed=1, rows=rows)
    for place, row in enumerate(rows):
        error = max(found.error[place], 1e-9)
        assert abs(found.advantage[place] - exact(VALUES, WEIGHTS, row)) < ERRORS * error
    assert found.error.max() < 0.02


def test_draws_are_weighted_by_the_ratio_of_the_two_densities(posterior):
    (removal,) = posterior.removals(np.array([OUTLIER]), datasets=1, releases=1, seed=1)
    assert removal.by_draw is not None
    drawn = posterior.draws["mean"].reshape(-1)[2::4]
    truth = ratios(VALUES, WEIGHTS, OUTLIER, drawn[:, None])
    # The largest are smoothed, and the factor is that of these draws.
    small = truth < np.quantile(truth, 0.8)
    assert removal.by_draw[small, 0] == pytest.approx(truth[small], abs=0.1)
    assert np.ptp(truth[small]) > 1


def test_a_record_that_does_not_count_shows_nothing_and_an_outlier_most(posterior):
    found = membership(posterior, datasets=5, seed=1, rows=np.array([OUTLIER, TYPICAL, LEFT_OUT]))
    outlier, typical, left_out = found.advantage
    assert left_out == 0.0
    assert found.error[2] == 0.0
    assert outlier > 3 * typical > 0


def test_several_tables_are_the_product_of_their_ratios(posterior):
    rows, random = np.array([OUTLIER, TYPICAL, 7]), np.random.default_rng(3)
    one, five = (membership(posterior, datasets=tables, seed=2, rows=rows) for tables in (1, 5))
    for place, row in enumerate(rows):
        draws = random.normal(*normal(VALUES, WEIGHTS), (200_000, 5))
        truth = -np.expm1(np.minimum(ratios(VALUES, WEIGHTS, row, draws), 0.0)).mean()
        assert abs(five.advantage[place] - truth) < ERRORS * five.error[place]
        assert one.advantage[place] < five.advantage[place] < 1 - (1 - one.advantage[place]) ** 5


def test_the_best_attack_has_the_advantage_that_is_told(posterior):
    # Ten thousand worlds with the record and as many without; the attacker says "with" where that is likelier.
    random, (with_it, without) = np.random.default_rng(4), both(VALUES, WEIGHTS, OUTLIER)
    found = membership(posterior, datasets=3, seed=5, rows=np.array([OUTLIER]))
    worlds = [random.normal(*law, (10_000, 3)) for law in (with_it, without)]
    right, wrong = ((ratios(VALUES, WEIGHTS, OUTLIER, draws) < 0).mean() for draws in worlds)
    assert abs(right - wrong - found.advantage[0]) < ERRORS * np.hypot(found.error[0], 0.5 * (2 / 10_000) ** 0.5)


def test_the_error_is_the_spread_of_independent_repeats(posterior):
    repeats = []
    for seed in range(12):
        drawn = np.random.default_rng(seed).normal(*normal(VALUES, WEIGHTS), (2, 300))
        repeats.append(membership(replace(posterior, draws={"mean": drawn}), datasets=5, seed=seed, rows=np.arange(30)))
    spread = np.stack([one.advantage for one in repeats]).var(axis=0, ddof=1).mean()
    told = np.mean([one.error**2 for one in repeats])
    # One mean moves all records: both variances are known to about a half.
    assert 0.3 < told / spread < 3.0


def test_duplicates_of_a_record_hide_it():
    twice = np.r_[VALUES, np.full(6, 4.0)], np.r_[WEIGHTS, np.full(6, 0.8)]
    alone, hidden = (
        membership(conjugate(*about), datasets=1, seed=1, rows=np.array([OUTLIER]))
        for about in ((VALUES, WEIGHTS), twice)
    )
    error = np.hypot(alone.error[0], hidden.error[0])
    assert hidden.advantage[0] < alone.advantage[0] - ERRORS * error
    assert abs(hidden.advantage[0] - exact(*twice, OUTLIER)) < ERRORS * error


def test_weights_that_are_too_uneven_are_not_told():
    # A value 12 standard deviations off: without it the mean lies where hardly any draw is.
    values = np.r_[12.0, np.random.default_rng(1).normal(0, 0.3, 4)]
    found = membership(conjugate(values, np.ones(5), draws=600), datasets=1, seed=1, rows=np.array([0, 2]))
    assert np.isnan(found.advantage[0])
    assert found.advantage[1] > 0
    assert found.unsure() == 0.5
    assert "1 of 2 need a fit" in repr(found)


def test_the_figures_of_some_records(posterior):
    risk = np.where(np.arange(30) == 5, np.nan, np.arange(30.0))
    found = membership(posterior, datasets=1, seed=1, riskiest=risk, number=4)
    assert found.asked.records[found.asked.riskiest].tolist() == [26, 27, 28, 29]
    assert found.asked.chosen.sum() == 4
    own = found.advantage[found.asked.riskiest]
    assert found.mean(riskiest=True).value == pytest.approx(own.mean())
    assert found.largest(riskiest=True).value == own.max()
    figure = found.mean()
    assert 0 <= figure.low < figure.value < figure.high
    again = membership(posterior, datasets=1, seed=1, riskiest=risk, number=4)
    assert again.advantage.tolist() == found.advantage.tolist()
    with pytest.raises(InputError, match="rows"):
        membership(posterior, datasets=1, seed=1, rows=np.array([30]))
    with pytest.raises(InputError, match="riskiest"):
        membership(posterior, datasets=1, seed=1, riskiest=np.ones(3))


# Models, against fits without the record.


def shop(records=150, seed=3):
    random = np.random.default_rng(seed)
    kind = random.choice(["a", "b", "c"], records, p=[0.6, 0.35, 0.05])
    pay = np.exp(7 + 0.5 * (kind == "b") + 0.4 * random.normal(size=records))
    return pd.DataFrame({"town": random.choice(["N", "S"], records), "kind": kind, "pay": pay})


def reweighted_mean(posterior, row, functional):
    """Mean of a functional of the draws without a record, by weights, and its standard error."""
    (removal,) = posterior.removals(np.array([row]), datasets=1, releases=1, seed=1)
    assert removal.by_draw is not None
    weights = np.exp(removal.by_draw[:, 0])
    every = posterior.number // len(weights)
    values = np.concatenate([functional(values) for values in posterior.draws["beta"]])[every // 2 :: every]
    mean = (weights * values).mean() / weights.mean()
    return mean, (weights * (values - mean)).std() / np.sqrt(min(len(values), posterior.diagnostics.effective_size))


def test_a_multinomial_without_a_record_is_that_of_a_true_fit():
    frame = shop()
    row = int(np.flatnonzero(frame["kind"] == "c")[0])
    model = multinomial("kind", ["town"])
    posterior = fit(model, frame, seed=1, draws=2000, progress=False)
    again = refit_without(posterior, row, seed=2, draws=2000, progress=False)

    def intercept(beta):
        return beta[..., 0, 1]

    ours, error = reweighted_mean(posterior, row, intercept)
    truth = intercept(again.draws["beta"])
    before = intercept(posterior.draws["beta"])
    size = again.diagnostics.effective_size
    assert abs(ours - truth.mean()) < ERRORS * np.hypot(error, truth.std() / np.sqrt(size))
    # The record moves it by more than the error that it is compared with.
    assert abs(before.mean() - truth.mean()) > ERRORS * truth.std() / np.sqrt(size)


def test_columns_of_a_chain_multiply():
    frame = shop()
    chain = Chain((multinomial("kind", ["town"]), normal_linear("pay", ["town", "kind"], transform="log")))
    posterior = fit(chain, frame, seed=1, draws=1000, progress=False)
    rows = np.array([0, 1, 2])
    whole = membership(posterior, datasets=1, seed=1, rows=rows)
    parts = [membership(part, datasets=1, seed=1, rows=rows) for part in posterior.parts.values()]
    for place in range(3):
        own = [part.advantage[place] for part in parts]
        noise = ERRORS * whole.error[place]
        assert max(own) - noise < whole.advantage[place] < 1 - (1 - own[0]) * (1 - own[1]) + noise


def test_a_part_counts_only_for_the_records_that_it_speaks_of():
    random = np.random.default_rng(1)
    pay = np.where(random.random(300) < 0.3, 0.0, np.exp(random.normal(8, 1, 300)))
    posterior = fit(semicontinuous("pay", components=2), pd.DataFrame({"pay": pay}), seed=1, progress=False)
    zero = np.flatnonzero(pay == 0)[:1]
    sizes = posterior.parts["positive"]
    assert (log_contributions(sizes, zero) == 0).all()
    assert log_contributions(posterior.parts["sign"], zero).std() > 0
    assert membership(posterior, datasets=1, seed=1, rows=zero).advantage[0] > 0


def test_what_cannot_be_said_is_refused():
    frame = shop()
    looking = fit(tdp_mixture("pay", components=2, membership="posterior"), frame, seed=1, progress=False)
    assert not looking.is_removable
    with pytest.raises(InputError, match="prior membership"):
        membership(looking, datasets=1, seed=1)
    assert membership(looking.drawing_by(membership="prior"), datasets=1, seed=1, number=3).advantage.max() > 0
    weighed = frame.assign(weight=np.linspace(1, 3, len(frame)), block=np.arange(len(frame)) // 3)
    for design in (SurveyDesign("weight", cluster="block"), SurveyDesign("weight", stratum="block")):
        together = fit(forest("pay", ["town"]), weighed, survey=design, seed=1, progress=False)
        with pytest.raises(InputError, match="vary together"):
            membership(together, datasets=1, seed=1)
        apart = fit(forest("pay", ["town"]), weighed, survey=design, sandwich=False, seed=1, progress=False)
        assert membership(apart, datasets=1, seed=1, number=3).advantage.max() > 0
    plain = fit(forest("pay", ["town"]), frame, seed=1, progress=False)
    assert isinstance(plain.synthesizer, DirectSynthesizer)
    silent = replace(plain, synthesizer=replace(plain.synthesizer, compare_releases=None))
    with pytest.raises(InputError, match="compare_releases"):
        membership(silent, datasets=1, seed=1)


# Under a survey.


def surveyed(*, clustered: bool, records: int = 60):
    """Values of which one lies far out, with design weights or in clusters that are alike within."""
    random = np.random.default_rng(5)
    cluster = np.repeat(np.arange(records // 4), 4)
    y = random.normal(size=records) + (2 * random.normal(size=records // 4)[cluster] if clustered else 0.0)
    y[0] = 4.0 * y.std()
    weight = np.ones(records) if clustered else np.where(np.arange(records) % 3 == 0, 4.0, 0.5)
    frame = pd.DataFrame({"age": 0.0, "cluster": cluster, "weight": weight, "y": y})
    return frame, SurveyDesign(weight="weight", cluster="cluster" if clustered else None)


def corrected_law(posterior, row=None):
    """Mean and standard deviation of what is released: of the conjugate pseudo posterior, as the design widens it."""
    risk = np.where(np.arange(len(posterior.weights)) == row, 0.0, posterior.risk_weights)
    mean, spread = normal(posterior.learned.inputs["y"], risk * posterior.survey.times)
    noise = np.random.default_rng(0).normal(size=(2, 5000))
    draws = {"mean": mean + spread * (noise - noise.mean()) / noise.std()}
    if posterior.survey.sandwich:
        with jax.enable_x64(new_val=True):
            draws, told = correct_draws(posterior.synthesizer, posterior.learned, draws, risk, posterior.survey)
        assert told.corrected
    return draws["mean"].mean(), draws["mean"].std()


def variation(first, second):
    grid = np.linspace(first[0] - 12 * first[1], first[0] + 12 * first[1], 200_001)
    apart = np.abs(stats.norm.pdf(grid, *first) - stats.norm.pdf(grid, *second))
    return 0.5 * apart.sum() * (grid[1] - grid[0])


@pytest.mark.parametrize("clustered", [True, False])
@pytest.mark.parametrize("sandwich", [True, False])
def test_under_a_survey_it_is_that_of_what_is_released(clustered, sandwich):
    frame, design = surveyed(clustered=clustered)
    short = {"seed": 1, "draws": 200, "patience": 0, "effective": 10, "progress": False}
    posterior = fit(Synthesizer(level, "y"), frame, survey=design, sandwich=sandwich, **short)
    rows = np.array([0, 1, 9])
    law = corrected_law(posterior)
    posterior = replace(posterior, draws={"mean": np.random.default_rng(3).normal(*law, (2, 3000))})
    found = membership(posterior, datasets=1, seed=1, rows=rows)
    for place, row in enumerate(rows):
        truth = variation(law, corrected_law(posterior, row))
        assert abs(found.advantage[place] - truth) < ERRORS * found.error[place]
    assert found.error.max() < 0.02
    # The correction matters here: a spread that is not that of the likelihood hides a record, or shows it.
    plain = normal(frame["y"].to_numpy(), posterior.weights)
    others = normal(frame["y"].to_numpy(), np.where(np.arange(60) == 0, 0.0, posterior.weights))
    assert (abs(variation(plain, others) - found.advantage[0]) > ERRORS * found.error[0]) == sandwich


def test_a_corrected_regression_without_a_record_is_that_of_a_true_fit():
    frame, design = surveyed(clustered=True, records=120)
    frame["x"] = np.random.default_rng(1).normal(size=120)
    frame.loc[0, ["x", "y"]] = [3.0, 7.0 * frame["y"].std()]
    how = {"draws": 2000, "progress": False}
    posterior = fit(normal_linear("y", ["x"]), frame, survey=design, seed=1, **how)
    again = refit_without(posterior, 0, seed=2, **how)
    assert posterior.correction is not None
    assert posterior.correction.corrected
    (removal,) = posterior.removals(np.array([0]), datasets=1, releases=1, seed=1)
    assert removal.by_draw is not None
    weights = np.exp(removal.by_draw[:, 0])

    def in_units(one):
        facts = one.learned.facts
        return facts["centre"] + facts["scale"] * one.draws["beta"][..., 0].reshape(-1)

    before, truth = in_units(posterior), in_units(again)
    values = before[spread_places(len(before), len(weights))]
    ours = (weights * values).mean()
    error = np.hypot((weights * (values - ours)).std() / np.sqrt(len(values)), truth.std() / np.sqrt(len(truth) / 2))
    assert abs(ours - truth.mean()) < ERRORS * error
    assert abs(before.mean() - truth.mean()) > ERRORS * error


def test_what_is_not_corrected_is_told_as_it_is():
    frame, design = surveyed(clustered=True)
    short = {"seed": 1, "draws": 200, "patience": 0, "effective": 10, "progress": False}
    loose = fit(Synthesizer(level, "y", identified=False), frame, survey=design, **short)
    assert loose.correction is not None
    assert not loose.correction.corrected
    plain = fit(Synthesizer(level, "y"), frame, survey=design, sandwich=False, **short)
    own, truth = (membership(one, datasets=1, seed=1, rows=np.arange(4)) for one in (loose, plain))
    assert own.advantage == pytest.approx(truth.advantage, abs=1e-9)


# Forests.


def test_the_beta_binomial_is_that_of_scipy():
    for alpha, beta, values, of_level in ((0.3, 5.0, 7, 2), (20.0, 3.0, 100, 90), (1e6, 1e6, 60, 30)):
        ways = np.log(stats.binom.pmf(of_level, values, 0.5)) + values * np.log(2)
        truth = stats.betabinom.logpmf(of_level, values, alpha, beta) - ways
        assert beta_binomial(alpha, beta, values, of_level) == pytest.approx(truth, rel=1e-7)


def kinds(records=300, seed=3):
    """A category of which one level is rare, and the records of it."""
    random = np.random.default_rng(seed)
    town, sex = random.choice(["N", "S", "W"], records), random.choice(["f", "m"], records)
    kind = np.where(random.random(records) < 0.3 + 0.4 * (town == "N"), "a", random.choice(["b", "c"], records))
    kind[:2] = "d"
    return pd.DataFrame({"town": town, "sex": sex, "kind": kind})


def own_share(posterior, row):
    """The share of a record's level in its leaf, tree by tree."""
    feature, left, child, shares = (posterior.draws[name][0] for name in ("feature", "left", "child", "shares"))
    codes, kind = posterior.learned.inputs["codes"][[row]], posterior.learned.inputs["outcome"][row]
    leaves = [find_leaves(codes, feature[t], left[t], child[t])[0] for t in range(len(child))]
    return shares[np.arange(len(child)), leaves, kind].astype(np.float64)


@pytest.mark.parametrize("row", [0, 2, 5])
def test_a_leaf_without_a_record_is_that_of_a_true_fit(row):
    frame = kinds()
    model = forest("kind", ["town", "sex"], trees=1000, leaf=100)
    posterior = fit(model, frame, seed=1, progress=False)
    again = fit(model, frame, np.where(np.arange(len(frame)) == row, 0.0, 1.0), seed=2, progress=False)
    company = np.empty((5, 1, 1000))
    sites = [posterior.draws[name][0] for name in ("feature", "left", "child")]
    inputs, number = posterior.learned.inputs, posterior.learned.facts["number"]
    about = (inputs["codes"], inputs["outcome"], posterior.weights, np.array([row]))
    for tree in range(1000):
        feature, left, child = (site[tree] for site in sites)
        find_company(*about, feature, left, child, number, SHRINKAGE, company[:, :, tree])
    alpha, beta, alpha_less, beta_less, _ = company[:, 0]
    for told, truth in ((alpha / (alpha + beta), posterior), (alpha_less / (alpha_less + beta_less), again)):
        shares = own_share(truth, row)
        error = np.hypot(shares.std(), told.std()) / np.sqrt(1000)
        assert abs(told.mean() - shares.mean()) < ERRORS * error


@pytest.mark.parametrize("sandwich", [True, False])
@pytest.mark.parametrize("row", [0, 5])
def test_a_leaf_under_a_survey_is_that_of_a_true_fit(row, sandwich):
    frame = kinds().assign(weight=np.random.default_rng(1).choice([0.5, 1.0, 4.0], 300))
    model, risk = forest("kind", ["town", "sex"], trees=1000, leaf=100), np.full(300, 0.7)
    about = {"survey": SurveyDesign(weight="weight"), "sandwich": sandwich}
    posterior = fit(model, frame, risk, seed=1, progress=False, **about)
    again = refit_without(posterior, row, seed=2, progress=False)
    company = np.empty((5, 1, 1000))
    feature, left, child = (posterior.draws[name][0] for name in ("feature", "left", "child"))
    inputs, number, survey = posterior.learned.inputs, posterior.learned.facts["number"], posterior.survey
    assert survey is not None
    known = (inputs["codes"], inputs["outcome"], describe_masses(posterior.risk_weights, survey), np.array([row]))
    for tree in range(1000):
        trees = (feature[tree], left[tree], child[tree], number, SHRINKAGE)
        find_surveyed_company(*known, *trees, company[:, :, tree])
    for place, truth in ((0, posterior), (2, again)):
        alpha, beta = company[place : place + 2, 0]
        told, varies = alpha / (alpha + beta), alpha * beta / (alpha + beta) ** 2 / (alpha + beta + 1)
        shares = own_share(truth, row)
        error = np.hypot(shares.std(), told.std()) / np.sqrt(1000)
        assert abs(told.mean() - shares.mean()) < ERRORS * error
        # How the trees part differs from fit to fit, and goes with the masses: the spread agrees to a fifth.
        if varies.mean() > 1e-6:
            assert np.sqrt(varies.mean() + told.var()) == pytest.approx(shares.std(), rel=0.2)


def test_no_attack_on_the_values_of_a_forest_does_better():
    # One leaf: the attacker counts the rare level, which is all that the values can tell.
    frame, row = kinds()[["kind"]], 0
    model, tables = forest("kind", trees=200), 3
    worlds = []
    for weights in (np.ones(300), np.where(np.arange(300) == row, 0.0, 1.0)):
        posteriors = [fit(model, frame, weights, seed=seed, progress=False) for seed in range(30)]
        released = [draw(one, datasets=10, seed=seed) for seed, one in enumerate(posteriors)]
        # Ten tables of one fit have windows of their own.
        counts = np.array([[(table["kind"] == "d").sum() for table in ten] for ten in released])
        worlds.append(counts[:, :9].reshape(-1, tables).sum(axis=1))
    best = max((worlds[0] >= most).mean() - (worlds[1] >= most).mean() for most in range(60))
    found = membership(fit(model, frame, seed=1, progress=False), datasets=tables, seed=1, rows=np.array([row]))
    # 90 releases of either kind.
    error = np.hypot(found.error[0], np.sqrt(0.5 / 90))
    assert best < found.advantage[0] + 2 * error
    assert best > found.advantage[0] - ERRORS * error


def test_the_records_of_a_forest():
    frame = kinds()
    weights = np.r_[1.0, 0.0, np.ones(298)]
    posterior = fit(forest("kind", ["town", "sex"]), frame, weights, seed=1, progress=False)
    one, many = (membership(posterior, datasets=tables, seed=1, rows=np.arange(40)) for tables in (1, 20))
    assert one.advantage[1] == many.advantage[1] == 0.0
    # Alone of its kind, now that the other one does not count.
    assert one.advantage[0] == one.advantage.max()
    assert (many.advantage[2:] > one.advantage[2:]).mean() > 0.9
    known = compare_releases(
        posterior.draws, posterior.learned, posterior.weights, np.arange(2), [0], 5, 1, window=WINDOW, shrinkage=2.0
    )
    assert known.shape == (5, 2)


# In an evaluation.


def test_an_evaluation_tells_it_of_the_first_release():
    frame = shop(300)
    posterior = fit(forest("pay", ["town", "kind"], lower=0), frame, seed=1, progress=False)
    intruder = Intruder(known=["town", "kind"], sensitive="pay", radius=0.2)
    released = {"forest": draw(posterior, datasets=4, seed=2), "other": draw(posterior, datasets=4, seed=3)}
    evaluation = evaluate(
        frame, released, intruder, posteriors={"forest": posterior, "other": posterior}, datasets=40, analyses=[]
    )
    told = evaluation.risk[evaluation.risk["measure"].str.startswith("advantage")]
    assert set(told["scheme"]) == {"forest"}
    assert set(told["at"]) == {4.0}
    value, low = (dict(zip(told["measure"], told[name].astype(float), strict=True)) for name in ("value", "low"))
    assert 0 < value["advantage_random"] <= value["advantage_random_largest"] <= 1
    assert low["advantage_random"] < value["advantage_random"]
    assert value["advantage_unsure"] == 0
    facts = evaluation.measures[evaluation.measures["id"].isin(list(value))]
    assert not facts["public"].any()
    assert set(facts["block"]) == {"Membership"}
