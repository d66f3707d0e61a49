"""Membership: against closed forms, an attack that is carried out, and fits without the record."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy import stats

from agreement import assert_agrees, assert_at_most, assert_differs, assert_mean, spread_error
from conjugate import conjugate, draws_around, joined, kinds, level, levels_on_a_grid, normal, posterior_of, shop
from molehill.attacks.worst_case.membership import membership
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.models import forest, multinomial, semicontinuous, tdp_mixture
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
from molehill.synthesis.synthesizer import DirectSynthesizer, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table

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
    truth = np.array([exact(VALUES, WEIGHTS, row) for row in rows])
    # A record that counted half as much, or twice, would have about half the advantage, or twice it.
    assert_agrees(found.advantage, truth, found.error, detects=truth / 2)


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
        draws = random.normal(*normal(VALUES, WEIGHTS), (50_000, 5))
        worlds = -np.expm1(np.minimum(ratios(VALUES, WEIGHTS, row, draws), 0.0))
        error = np.hypot(five.error[place], worlds.std() / 50_000**0.5)
        assert_agrees(five.advantage[place], worlds.mean(), error, detects=worlds.mean() / 2)
        assert one.advantage[place] < five.advantage[place] < 1 - (1 - one.advantage[place]) ** 5


def test_the_best_attack_has_the_advantage_that_is_told(posterior):
    # Ten thousand worlds with the record and as many without; the attacker says "with" where that is likelier.
    random, (with_it, without) = np.random.default_rng(4), both(VALUES, WEIGHTS, OUTLIER)
    found = membership(posterior, datasets=3, seed=5, rows=np.array([OUTLIER]))
    worlds = [random.normal(*law, (10_000, 3)) for law in (with_it, without)]
    right, wrong = ((ratios(VALUES, WEIGHTS, OUTLIER, draws) < 0).mean() for draws in worlds)
    error = np.hypot(found.error[0], 0.5 * (2 / 10_000) ** 0.5)
    assert_agrees(found.advantage[0], right - wrong, error, detects=(right - wrong) / 2)


def test_the_error_is_the_spread_of_independent_repeats(posterior, monkeypatch):
    monkeypatch.setattr("molehill.attacks.worst_case.records.RELEASES", 100)
    repeats = []
    for seed in range(120):
        drawn = np.random.default_rng(seed).normal(*normal(VALUES, WEIGHTS), (2, 50))
        again = replace(posterior, draws={"mean": drawn})
        repeats.append(membership(again, datasets=5, seed=seed, rows=np.array([OUTLIER])))
    found, told = (np.array([getattr(one, name)[0] for one in repeats]) for name in ("advantage", "error"))
    away = (found - found.mean()) ** 2
    error = np.hypot(away.std() / away.mean(), (told**2).std() / (told**2).mean()) / len(repeats) ** 0.5
    # An error that is told as half of what it is, or as twice, has a variance of a quarter, or four times.
    assert_agrees(np.log((told**2).mean() / away.mean()), 0.0, error, detects=np.log(4))


def test_duplicates_of_a_record_hide_it(posterior):
    values, weights = VALUES.copy(), WEIGHTS.copy()
    values[-20:], weights[-20:] = VALUES[OUTLIER], WEIGHTS[OUTLIER]
    rows = np.array([OUTLIER])
    alone = membership(posterior, datasets=1, seed=1, rows=rows)
    hidden = membership(conjugate(values, weights), datasets=1, seed=1, rows=rows)
    truth, error = exact(values, weights, OUTLIER), np.hypot(alone.error[0], hidden.error[0])
    assert_agrees(hidden.advantage[0], truth, hidden.error[0], detects=truth / 2)
    effect = exact(VALUES, WEIGHTS, OUTLIER) - truth
    assert_differs(alone.advantage[0], hidden.advantage[0], error, effect=effect)


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


# Models, against closed forms without the record.


def assert_weighted_mean(posterior, row, values, truth, before):
    """Draws that are weighted to be those without a record have the mean without it, and not the one before."""
    (removal,) = posterior.removals(np.array([row]), datasets=1, releases=1, seed=1)
    assert removal.by_draw is not None
    weights, values = np.exp(removal.by_draw[:, 0]), values[spread_places(len(values), len(removal.by_draw))]
    ours = (weights * values).mean()
    error = (weights * (values - ours)).std() / np.sqrt(len(values))
    assert_agrees(ours, truth, error, detects=truth - before)


def test_a_multinomial_without_a_record_is_that_of_the_others():
    points, chances, draws = levels_on_a_grid([5, 4, 3])
    posterior = posterior_of(multinomial("kind"), pd.DataFrame({"kind": list("aaaaabbbbccc")}), {"beta": draws})
    _, others, _ = levels_on_a_grid([5, 4, 2])
    assert_weighted_mean(posterior, 11, draws[..., 0, 1].reshape(-1), others @ points[:, 1], chances @ points[:, 1])


def test_a_fit_without_a_record_is_that_of_the_others(posterior):
    again = refit_without(posterior, OUTLIER, seed=2, draws=1000, progress=False)
    (before, _), (mean, spread) = both(VALUES, WEIGHTS, OUTLIER)
    assert len(again.table.frame) == 29
    error = spread / np.sqrt(again.diagnostics.effective_size)
    assert_agrees(again.draws["mean"].mean(), mean, error, detects=before - mean)


def test_columns_of_a_chain_multiply(posterior):
    # Two columns with the same values: each has parameters of its own.
    twins = SequentialSynthesizer((Synthesizer(level, "y"), Synthesizer(level, "z")))
    other = np.random.default_rng(9).normal(*normal(VALUES, WEIGHTS), (2, 2000))
    chain = joined(twins, {"y": posterior, "z": replace(posterior, draws={"mean": other})})
    found = membership(chain, datasets=1, seed=1, rows=np.array([OUTLIER, TYPICAL]))
    for place, row in enumerate((OUTLIER, TYPICAL)):
        draws = np.random.default_rng(3).normal(*normal(VALUES, WEIGHTS), (50_000, 2))
        worlds = -np.expm1(np.minimum(ratios(VALUES, WEIGHTS, row, draws), 0.0))
        error = np.hypot(found.error[place], worlds.std() / 50_000**0.5)
        # One column alone tells less: that the other is left out must be seen.
        alone = exact(VALUES, WEIGHTS, row)
        assert_agrees(found.advantage[place], worlds.mean(), error, detects=worlds.mean() - alone)


def test_a_part_counts_only_for_the_records_that_it_speaks_of():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"pay": np.where(random.random(50) < 0.3, 0.0, np.exp(random.normal(8, 1, 50)))})
    whole = semicontinuous("pay")
    sites = {"sign": {"beta": np.full((1, 1), 0.8)}, "positive": {"beta": np.full(1, 0.2), "sigma": 1.0}}
    made = whole.parts(Table(frame))
    parts = {name: posterior_of(made[name], frame, draws_around(**around)) for name, around in sites.items()}
    zero = np.flatnonzero(frame["pay"] == 0)[:1]
    assert (log_contributions(parts["positive"], zero) == 0).all()
    assert log_contributions(parts["sign"], zero).std() > 0
    assert membership(joined(whole, parts), datasets=1, seed=1, rows=zero).advantage[0] > 0


def test_what_cannot_be_said_is_refused():
    frame = shop()
    mixture = draws_around(
        gamma=1.0, pi=np.full(2, 0.5), tau=np.ones(1), beta=np.array([[-0.5], [0.5]]), sigma=np.ones(2)
    )
    looking = posterior_of(tdp_mixture("pay", components=2, component_draw="posterior"), frame, mixture)
    assert not looking.is_removable
    with pytest.raises(InputError, match="from the prior"):
        membership(looking, datasets=1, seed=1)
    assert membership(looking.drawing_by(component_draw="prior"), datasets=1, seed=1, number=3).advantage.max() > 0
    weighed = frame.assign(weight=np.linspace(1, 3, len(frame)), block=np.arange(len(frame)) // 3)
    for design in (SurveyDesign("weight", cluster="block"), SurveyDesign("weight", stratum="block")):
        together = fit(forest("pay", ["town"]), weighed, survey=design, seed=1, progress=False)
        with pytest.raises(InputError, match="are not independent"):
            membership(together, datasets=1, seed=1)
        apart = fit(forest("pay", ["town"]), weighed, survey=design, sandwich=False, seed=1, progress=False)
        assert membership(apart, datasets=1, seed=1, number=3).advantage.max() > 0
    assert isinstance(apart.synthesizer, DirectSynthesizer)
    silent = replace(apart, synthesizer=replace(apart.synthesizer, compare_releases=None))
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
    posterior = posterior_of(Synthesizer(level, "y"), frame, draws_around(mean=1.0), survey=design, sandwich=sandwich)
    rows = np.array([0, 1, 9])
    law = corrected_law(posterior)
    posterior = replace(posterior, draws={"mean": np.random.default_rng(3).normal(*law, (2, 3000))})
    found = membership(posterior, datasets=1, seed=1, rows=rows)
    truth = np.array([variation(law, corrected_law(posterior, row)) for row in rows])
    assert_agrees(found.advantage, truth, found.error, detects=truth / 2)
    # The correction matters here: a spread that is not that of the likelihood hides a record, or shows it.
    plain = normal(frame["y"].to_numpy(), posterior.weights)
    others = normal(frame["y"].to_numpy(), np.where(np.arange(60) == 0, 0.0, posterior.weights))
    if sandwich:
        uncorrected = variation(plain, others)
        assert_differs(found.advantage[0], uncorrected, found.error[0], effect=truth[0] - uncorrected)


def line(x, y=None):
    """A regression of known spread: the pseudo posterior of its coefficients is normal."""
    coefficients: Any = numpyro.sample("coefficients", dist.Normal(jnp.zeros(2), 10.0).to_event(1))
    with numpyro.plate("records", len(x)):
        numpyro.sample("y", dist.Normal(coefficients[0] + coefficients[1] * x, 1.0), obs=y)


def test_a_corrected_regression_without_a_record_is_that_of_the_others():
    frame, design = surveyed(clustered=True)
    frame["x"] = np.random.default_rng(1).normal(size=len(frame))
    frame.loc[0, ["x", "y"]] = [2.0, 9.0]
    matrix = np.column_stack([np.ones(len(frame)), frame["x"]])

    def mean_and_precision(weights):
        precision = matrix.T @ (matrix * weights[:, None]) + np.eye(2) / 100
        return np.linalg.solve(precision, matrix.T @ (weights * frame["y"].to_numpy())), precision

    before, precision = mean_and_precision(np.ones(len(frame)))
    without, _ = mean_and_precision(np.r_[0.0, np.ones(len(frame) - 1)])
    spread = np.linalg.cholesky(np.linalg.inv(precision))
    draws = before + np.random.default_rng(4).normal(size=(2, 2000, 2)) @ spread.T
    posterior = posterior_of(Synthesizer(line, "y"), frame, {"coefficients": draws}, survey=design)
    assert posterior.correction is not None
    assert posterior.correction.corrected
    slopes = np.asarray(posterior.draws["coefficients"])[..., 1].reshape(-1)
    assert_weighted_mean(posterior, 0, slopes, without[1], before[1])


def test_what_is_not_corrected_is_told_as_it_is():
    frame, design = surveyed(clustered=True)
    about = (frame, {"mean": np.random.default_rng(3).normal(*normal(frame["y"].to_numpy(), np.ones(60)), (2, 300))})
    loose = posterior_of(Synthesizer(level, "y", identified=False), *about, survey=design)
    assert loose.correction is not None
    assert not loose.correction.corrected
    plain = posterior_of(Synthesizer(level, "y"), *about, survey=design, sandwich=False)
    own, truth = (membership(one, datasets=1, seed=1, rows=np.arange(4)) for one in (loose, plain))
    assert own.advantage == pytest.approx(truth.advantage, abs=1e-9)


# Forests.


def test_the_beta_binomial_is_that_of_scipy():
    for alpha, beta, values, of_level in ((0.3, 5.0, 7, 2), (20.0, 3.0, 100, 90), (1e6, 1e6, 60, 30)):
        ways = np.log(stats.binom.pmf(of_level, values, 0.5)) + values * np.log(2)
        truth = stats.betabinom.logpmf(of_level, values, alpha, beta) - ways
        assert beta_binomial(alpha, beta, values, of_level) == pytest.approx(truth, rel=1e-7)


def own_share(posterior, row):
    """The share of a record's level in its leaf, tree by tree."""
    feature, left, child, shares = (posterior.draws[name][0] for name in ("feature", "left", "child", "shares"))
    codes, kind = posterior.learned.inputs["codes"][[row]], posterior.learned.inputs["outcome"][row]
    leaves = [find_leaves(codes, feature[t], left[t], child[t])[0] for t in range(len(child))]
    return shares[np.arange(len(child)), leaves, kind].astype(np.float64)


# Whose level is rare, and by how much its share would be off if a record were not left out, or were of another level.
RARE, COMMON = (0, 0.008), (5, 0.1)


@pytest.mark.parametrize(("row", "detects"), [RARE, COMMON])
def test_a_leaf_without_a_record_is_that_of_a_true_fit(row, detects):
    frame = kinds()
    model = forest("kind", ["town", "sex"], trees=1000, min_leaf_size=100)
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
        assert_agrees(told.mean(), shares.mean(), np.hypot(shares.std(), told.std()) / 1000**0.5, detects=detects)


@pytest.mark.parametrize("sandwich", [True, False])
@pytest.mark.parametrize(("row", "detects"), [RARE, COMMON])
def test_a_leaf_under_a_survey_is_that_of_a_true_fit(row, detects, sandwich):
    frame = kinds().assign(weight=np.random.default_rng(1).choice([0.5, 1.0, 4.0], 300))
    model, risk = forest("kind", ["town", "sex"], trees=1000, min_leaf_size=100), np.full(300, 0.7)
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
        assert_agrees(told.mean(), shares.mean(), np.hypot(shares.std(), told.std()) / 1000**0.5, detects=detects)
        # How the trees part differs from fit to fit, and goes with the masses: the spread agrees to a fifth.
        if varies.mean() > 1e-6:
            ratio, error = (
                np.sqrt(varies.mean() + told.var()) / shares.std(),
                np.hypot(*map(spread_error, (told, shares))),
            )
            assert_agrees(np.log(ratio), 0.0, error, bias=np.log(1.2), detects=np.log(2.5))


def test_no_attack_on_the_values_of_a_forest_does_better():
    # One leaf, and a record that is alone with its level: the attacker looks whether anybody is drawn with it.
    frame, releases = pd.DataFrame({"kind": ["d", *"abc" * 13]}), 400
    # Every table has trees of its own.
    model, worlds = forest("kind", trees=WINDOW * releases), []
    for weights in (np.ones(40), np.r_[0.0, np.ones(39)]):
        released = draw(fit(model, frame, weights, seed=1, progress=False), datasets=releases, seed=2)
        worlds.append(np.array([(table["kind"] == "d").any() for table in released]))
    found = membership(fit(forest("kind"), frame, seed=1, progress=False), datasets=1, seed=1, rows=np.array([0]))
    error = np.hypot(found.error[0], np.sqrt(sum(world.var() for world in worlds) / releases))
    assert_at_most(worlds[0].mean() - worlds[1].mean(), found.advantage[0], error, detects=0.3)


def test_releases_of_a_forest_are_compared_as_they_are_simulated():
    # The mean over releases with a record of how much likelier they are without it is 1.
    posterior = fit(forest("kind", ["town", "sex"]), kinds(), seed=1, progress=False)
    rows = np.arange(2, 12)
    (found,) = posterior.removals(rows, datasets=1, releases=4000, seed=1)
    assert found.releases is not None
    assert_mean(np.exp(found.releases), 1.0, detects=0.05)


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


def sharing(number):
    """200 incomes, of which so many are 33,333, and nobody shares any other; the first record has it."""
    pay = np.random.default_rng(6).lognormal(10, 0.6, 200).round(2)
    pay[:number] = 33_333.0
    return pd.DataFrame({"pay": pay})


def test_the_tenth_person_who_shares_a_value_is_seen():
    # Which ten make a value one that is released as it is may be drawn: without one of so many it is not released.
    model, first = forest("pay", lower=0), np.array([0])
    posteriors = {number: fit(model, sharing(number), seed=1, progress=False) for number in range(9, 22)}
    released = {
        number: np.mean([(frame["pay"] == 33_333.0).any() for frame in draw(one, datasets=10, seed=2)])
        for number, one in posteriors.items()
    }
    least = min(number for number, share in released.items() if share > 0)
    told = membership(posteriors[least], datasets=5, seed=1, rows=np.array([0, 150]))
    # An attacker who looks for the value is right nearly always.
    assert released[least] - released[least - 1] >= 0.8
    assert told.advantage[0] == 1.0
    assert told.advantage[1] < 0.9
    one_more = membership(posteriors[least + 1], datasets=5, seed=1, rows=first)
    assert one_more.advantage[0] < 0.5


def test_a_level_that_one_person_has_shows_the_person():
    frame = pd.DataFrame({"kind": ["a", "b"] * 40 + ["c"]})
    posterior = fit(forest("kind"), frame, seed=1, progress=False)
    told = membership(posterior, datasets=1, seed=1, rows=np.array([0, 80]))
    assert told.advantage[1] == 1.0 > told.advantage[0]


# In an evaluation.


def test_an_evaluation_tells_it_of_the_first_release():
    frame = shop(300)
    posterior = fit(forest("pay", ["town", "kind"], lower=0), frame, seed=1, progress=False)
    intruder = Intruder(known=["town", "kind"], sensitive="pay", radius=0.2)
    released = {"forest": draw(posterior, datasets=4, seed=2), "other": draw(posterior, datasets=4, seed=3)}
    advantages = [one for one in MEASURES if one.id.startswith("advantage")]
    about = {"posteriors": {"forest": posterior, "other": posterior}, "datasets": 40, "measures": advantages}
    evaluation = evaluate(frame, released, intruder, EvaluationOptions(**about))
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
