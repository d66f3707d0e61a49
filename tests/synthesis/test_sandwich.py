"""Design weights and the sandwich in a fit: closed forms, coverage, what is told, and both factors to be seen."""

from dataclasses import replace
from typing import Any

import cloudpickle
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy import stats

from agreement import assert_agrees, assert_rate
from molehill.errors import InputError
from molehill.models.forests.forest import forest
from molehill.models.linear import normal_linear
from molehill.models.mixtures import tdp_mixture
from molehill.models.signed_amounts import semicontinuous
from molehill.surveys import SurveyDesign
from molehill.synthesis import fitting
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sandwich import correct_draws
from molehill.synthesis.survey_fit import Correction, Survey, column_effects, read_survey
from molehill.synthesis.synthesizer import DirectSynthesizer, Learned, Prediction, SequentialSynthesizer, Synthesizer
from molehill.tables.table import Table, as_table
from people import PEOPLE, quick_fit

SHORT: dict[str, Any] = {"draws": 200, "effective": 50}
PRIOR = 10.0


def mean_model(y: Any = None) -> None:
    mean = numpyro.sample("mean", dist.Normal(0.0, PRIOR))
    with numpyro.plate("records", 300 if y is None else len(y)):
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)


MEAN = Synthesizer(mean_model, "y")


def survey_of(table: pd.DataFrame, **design: Any) -> Survey:
    found = read_survey(SurveyDesign(weight="w", **design), as_table(table), sandwich=True)
    assert found is not None
    return found


def exact_draws(y: np.ndarray, weights: np.ndarray, random: np.random.Generator, draws: int = 400) -> Any:
    """Draws of the conjugate pseudo posterior, with just its mean and its variance."""
    precision = weights.sum() + PRIOR**-2
    noise = random.normal(size=draws)
    noise = (noise - noise.mean()) / noise.std()
    return {"mean": (weights @ y / precision + noise / np.sqrt(precision))[None]}


def corrected(y: np.ndarray, weights: np.ndarray, survey: Survey, draws: Any) -> tuple[Any, Correction]:
    with jax.enable_x64(new_val=True):
        return correct_draws(MEAN, Learned({"y": y}), draws, weights, survey)


def sample_table(random: np.random.Generator, *, clustered: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """300 records of a population of mean 0: strata drawn at unequal rates, or clusters that are alike within."""
    if clustered:
        cluster = np.repeat(np.arange(60), 5)
        y = random.normal(size=60)[cluster] * np.sqrt(0.5) + random.normal(size=300) * np.sqrt(0.5)
        return pd.DataFrame({"w": 1.0, "c": cluster, "y": y}), {"cluster": "c"}
    # Nine tenths of the population in the stratum of which a third of the sample is.
    stratum = np.repeat([0, 1], [100, 200])
    y = np.where(stratum == 0, 0.1, -0.9) + random.normal(size=300)
    return pd.DataFrame({"w": np.where(stratum == 0, 9.0, 0.5), "s": stratum, "y": y}), {"stratum": "s"}


# By hand.


def test_the_sandwich_of_a_mean_is_that_by_hand():
    random = np.random.default_rng(1)
    table, design = sample_table(random, clustered=False)
    y, weights, survey = table["y"].to_numpy(), random.uniform(0.2, 1.0, 300), survey_of(table, **design)
    d = table["w"].to_numpy() * 300 / table["w"].sum()
    np.testing.assert_allclose(survey.times, d)
    before = exact_draws(y, weights * d, random)
    after, told = corrected(y, weights, survey, before)
    centre = before["mean"].mean()
    h = (weights * d).sum() + PRIOR**-2
    scores = weights * d * (y - centre)
    within = [scores[table["s"] == one] for one in (0, 1)]
    j = sum(len(own) / (len(own) - 1) * ((own - own.mean()) ** 2).sum() for own in within)
    j += (weights * (1 - weights) * d**2 * (y - centre) ** 2).sum()
    np.testing.assert_allclose(after["mean"].var(), (j + PRIOR**-2) / h**2)
    np.testing.assert_allclose(after["mean"].mean(), centre)
    assert told.corrected
    np.testing.assert_allclose(told.parts[0].effects["mean"], [(j + PRIOR**-2) / h])


@pytest.mark.parametrize("clustered", [False, True])
def test_corrected_intervals_cover_as_they_should_and_others_do_not(clustered: bool):
    random = np.random.default_rng(2 + clustered)
    covered, turns = np.zeros(2), 360
    # Only the values differ from sample to sample.
    table, design = sample_table(random, clustered=clustered)
    survey = survey_of(table, **design)
    for _ in range(turns):
        y = sample_table(random, clustered=clustered)[0]["y"].to_numpy()
        # However few, they have just the mean and the variance that are looked at.
        before = exact_draws(y, survey.times, random, draws=20)
        after, _ = corrected(y, np.ones(300), survey, before)
        for place, draws in enumerate((before, after)):
            low, high = draws["mean"].mean() + np.array([-1.96, 1.96]) * draws["mean"].std()
            covered[place] += low <= 0.0 <= high
    # The variance of the mean is known, by clusters or by strata, and 1 / 300 is what is thought without the design.
    variance = 0.5 / 60 + 0.5 / 300 if clustered else 0.9**2 / 100 + 0.1**2 / 200
    thought = float(2 * stats.norm.cdf(1.96 / np.sqrt(300 * variance)) - 1)
    right = float(2 * stats.t.cdf(1.96, 59 if clustered else 298) - 1)
    assert_rate(covered[0], turns, thought, detects=0.2, of="without the design")
    assert_rate(covered[1], turns, right, detects=right - thought, of="by the design")


@pytest.mark.parametrize("weighted", [False, True])
def test_where_the_design_says_nothing_hardly_anything_moves_whatever_the_risk_weights(weighted: bool):
    random = np.random.default_rng(3)
    y = random.normal(size=300)
    y = (y - y.mean()) / y.std()
    weights = random.uniform(0.1, 1.0, 300) if weighted else np.ones(300)
    survey = survey_of(pd.DataFrame({"w": np.full(300, 0.7)}))
    assert (survey.times == 1).all()
    before = exact_draws(y, weights, random)
    after, told = corrected(y, weights, survey, before)
    (effect,) = told.parts[0].effects["mean"]
    if weighted:
        # The variance of 300 squares of normal numbers, by their weights. Risk weights taken for those of a design
        # would make it smaller, as sum(w^2) / sum(w) is.
        error = np.sqrt(2 * (weights**2).sum()) / weights.sum()
        assert_agrees(effect, 1.0, error, detects=0.9, of="design effect")
    else:
        assert effect == pytest.approx(1.0, abs=0.005)
    np.testing.assert_allclose((after["mean"].std() / before["mean"].std()) ** 2, effect)


def test_a_prior_that_rules_stays_as_sure_as_it_is():
    survey = survey_of(pd.DataFrame({"w": np.ones(300), "c": np.arange(300) // 5}), cluster="c")
    random = np.random.default_rng(4)
    weights = np.full(300, 1e-9)
    before = exact_draws(random.normal(size=300), weights, random)
    after, _ = corrected(random.normal(size=300), weights, survey, before)
    np.testing.assert_allclose(after["mean"], before["mean"], rtol=1e-4)


def test_a_record_of_weight_two_is_the_record_twice_in_its_cluster():
    random = np.random.default_rng(5)
    cluster, y = np.arange(300) // 10, random.normal(size=300)
    twice = np.flatnonzero(np.arange(300) % 10 == 0)
    one = pd.DataFrame({"w": 1.0, "c": cluster})
    rows = np.append(np.arange(300), twice)
    weights = np.where(np.isin(np.arange(300), twice), 2.0, 1.0)
    draws = exact_draws(y, weights, random)
    with_two = corrected(y, weights, survey_of(one, cluster="c"), draws)[0]
    both = corrected(y[rows], np.ones(len(rows)), survey_of(one.iloc[rows], cluster="c"), draws)[0]
    np.testing.assert_allclose(with_two["mean"], both["mean"])


def test_replicates_say_the_same_as_clusters():
    random = np.random.default_rng(6)
    cluster, y = np.arange(300) // 5, random.normal(size=300)
    table = pd.DataFrame({"w": random.uniform(1, 3, 300), "c": cluster})
    names = [f"r{one}" for one in range(60)]
    out = {name: table["w"] * np.where(cluster == place, 0.0, 60 / 59) for place, name in enumerate(names)}
    table = pd.concat([table, pd.DataFrame(out)], axis=1)
    design = SurveyDesign(weight="w", replicates=tuple(names), method="jk1")
    by_replicates = read_survey(design, as_table(table), sandwich=True)
    by_clusters = survey_of(table, cluster="c")
    assert by_replicates is not None
    draws = exact_draws(y, by_clusters.times, random)
    first, told = corrected(y, np.ones(300), by_replicates, draws)
    second, _ = corrected(y, np.ones(300), by_clusters, draws)
    np.testing.assert_allclose(first["mean"], second["mean"])
    assert "replicate weights" in told.words


# What cannot be corrected is told.


def test_parameters_that_are_not_identified_stay_and_their_design_effects_are_told():
    random = np.random.default_rng(7)
    table, design = sample_table(random, clustered=True)
    y, survey = table["y"].to_numpy(), survey_of(table, **design)
    draws = exact_draws(y, np.ones(300), random)
    labelled = replace(MEAN, identified=False)
    with jax.enable_x64(new_val=True):
        after, told = correct_draws(labelled, Learned({"y": y}), draws, np.ones(300), survey)
    assert after is draws
    assert not told.corrected
    assert "not identified" in told.words
    # By the infinitesimal jackknife the same as by the sandwich, but for the chance of 400 draws.
    exact = np.array(corrected(y, np.ones(300), survey, draws)[1].parts[0].effects["mean"])
    error = exact * np.sqrt(2 / 400)
    assert_agrees(told.parts[0].effects["mean"], exact, error, detects=exact - 1, of="design effect")


def test_more_parameters_than_degrees_of_freedom_are_not_corrected():
    random, model = np.random.default_rng(8), normal_linear("wage", ["region"], transform="log")
    survey = survey_of(PEOPLE.assign(w=1.0, c=np.arange(120) // 40), cluster="c")
    assert model.learn is not None
    draws = {"beta": random.normal(size=(2, 20, 3)), "sigma": random.uniform(0.5, 1.5, (2, 20))}
    with jax.enable_x64(new_val=True):
        after, told = correct_draws(model, model.learn(Table(PEOPLE), np.ones(120)), draws, np.ones(120), survey)
    assert after is draws
    assert not told.corrected
    assert "4 parameters, and 2 degrees of freedom" in told.words
    assert set(told.table["functional"]) == {"beta", "sigma"}


def test_parameters_of_single_records_are_not_corrected():
    def model(y: Any = None) -> None:
        with numpyro.plate("records", 300):
            own = numpyro.sample("own", dist.Normal(0.0, 1.0))
            numpyro.sample("y", dist.Normal(own, 1.0), obs=y)

    random = np.random.default_rng(9)
    draws = {"own": random.normal(size=(2, 50, 300))}
    survey = survey_of(pd.DataFrame({"w": random.uniform(1, 2, 300)}))
    with jax.enable_x64(new_val=True):
        learned = Learned({"y": random.normal(size=300)})
        after, told = correct_draws(Synthesizer(model, "y"), learned, draws, np.ones(300), survey)
    assert after is draws
    assert "parameters of single records" in told.words


def test_the_design_effect_of_a_mean_is_that_by_hand():
    table, design = sample_table(np.random.default_rng(10), clustered=True)
    survey = survey_of(table, **design)
    (effect,) = column_effects(table["y"], np.ones(300), survey)["mean"]
    apart = (table["y"] - table["y"].mean()).to_numpy()
    totals = np.bincount(table["c"], apart / 300)
    before = (apart**2).mean() / 301
    assert effect == pytest.approx(60 / 59 * (totals**2).sum() / before)
    assert effect > 1.5
    shares = column_effects(pd.Series(["a", "b", "c"] * 100), np.ones(300), survey)["shares"]
    assert len(shares) == 3


# Through fit.


def households() -> pd.DataFrame:
    """People of whom four live together, drawn by clusters in strata: of the form of other tests' table."""
    random = np.random.default_rng(11)
    cluster = np.arange(len(PEOPLE)) // 4
    y = 2 + PEOPLE["age"] + random.normal(size=30)[cluster] + 0.5 * random.normal(size=len(PEOPLE))
    return PEOPLE.assign(w=random.uniform(0.5, 4.0, len(PEOPLE)), c=cluster, s=cluster % 2, y=y)


HOUSEHOLDS = households()
DESIGN = SurveyDesign(weight="w", stratum="s", cluster="c")
RISK = np.random.default_rng(12).uniform(0.3, 1.0, len(HOUSEHOLDS))
TIMES = HOUSEHOLDS["w"].to_numpy() * len(HOUSEHOLDS) / HOUSEHOLDS["w"].sum()
OF_WAGES = normal_linear("wage", ["region"], transform="log")


def same_draws(one: Posterior, other: Posterior) -> bool:
    return all(np.array_equal(one.draws[name], other.draws[name]) for name in one.draws)


@pytest.fixture(scope="module")
def own_fit() -> Posterior:
    return quick_fit(Synthesizer(own_model, "y"), HOUSEHOLDS, RISK, survey=DESIGN, patience=2, **SHORT)


def own_model(age: Any, y: Any = None) -> None:
    slope: Any = numpyro.sample("slope", dist.Normal(0.0, 5.0).expand([2]).to_event(1))
    scale: Any = numpyro.sample("scale", dist.HalfNormal(3.0))
    numpyro.deterministic("variance", scale**2)
    with numpyro.plate("records", len(age)):
        numpyro.sample("y", dist.Normal(slope[0] + slope[1] * age, scale), obs=y)


def test_a_users_own_model_is_corrected_and_both_factors_can_be_seen(own_fit: Posterior):
    np.testing.assert_allclose(own_fit.weights, RISK * TIMES)
    assert own_fit.survey_weights is not None
    np.testing.assert_allclose(own_fit.survey_weights, TIMES)
    np.testing.assert_allclose(own_fit.risk_weights, RISK)
    plain = quick_fit(Synthesizer(own_model, "y"), HOUSEHOLDS, RISK, survey=DESIGN, sandwich=False, patience=2, **SHORT)
    assert own_fit.correction is not None
    assert own_fit.correction.corrected
    effects = own_fit.correction.parts[0].effects
    for name in ("slope", "scale"):
        before, after = (one.draws[name].reshape(400, -1) for one in (plain, own_fit))
        before, after = (np.log(values) if name == "scale" else values for values in (before, after))
        np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), atol=1e-6)
        # Uncorrected draws, whose ratio would be 1, are found; the Hessian says how wide draws were but for chance.
        size = plain.diagnostics.effective_size
        ratio = after.var(axis=0) / before.var(axis=0) / effects[name]
        assert_agrees(np.log(ratio), 0.0, np.sqrt(2 / size), detects=1.5, of=f"effect on {name}")
    np.testing.assert_allclose(own_fit.draws["variance"], own_fit.draws["scale"] ** 2)
    assert (own_fit.draws["scale"] > 0).all()
    assert plain.correction is not None
    assert "off by setting" in plain.correction.words
    assert len(draw(own_fit, datasets=2, seed=1)) == 2


def test_a_posterior_with_a_survey_can_be_packed_and_started_from(own_fit: Posterior):
    packed = cloudpickle.loads(cloudpickle.dumps(own_fit))
    assert packed.correction == own_fit.correction
    np.testing.assert_array_equal(packed.survey_weights, own_fit.survey_weights)
    again = quick_fit(Synthesizer(own_model, "y"), HOUSEHOLDS, survey=DESIGN, start_from=own_fit, **SHORT)
    np.testing.assert_allclose(again.weights, TIMES)
    assert replace(again, mass_outside_range=0.5).correction == again.correction


def test_without_the_sandwich_a_survey_is_nothing_but_weights():
    one = quick_fit(OF_WAGES, HOUSEHOLDS, RISK, survey=DESIGN, sandwich=False)
    assert same_draws(one, quick_fit(OF_WAGES, HOUSEHOLDS, one.weights))
    equal, frame = SurveyDesign(weight="one"), HOUSEHOLDS.assign(one=3.7)
    for synthesizer in (OF_WAGES, forest("y", ["age"], trees=20)):
        same = quick_fit(synthesizer, frame, RISK, survey=equal, sandwich=False)
        assert same_draws(same, quick_fit(synthesizer, frame, RISK))


def test_a_chain_is_corrected_column_by_column():
    chain = SequentialSynthesizer((forest("region", ["age"], trees=20), OF_WAGES))
    posterior = quick_fit(chain, HOUSEHOLDS, RISK, survey=DESIGN)
    assert posterior.correction is not None
    assert [one.of for one in posterior.correction.parts] == ["region", "wage"]
    assert posterior.correction.corrected
    assert set(posterior.correction.table["functional"]) == {"shares", "beta", "sigma"}
    for part in (posterior, *posterior.parts.values()):
        np.testing.assert_allclose(part.weights, RISK * TIMES)
        np.testing.assert_allclose(part.risk_weights, RISK)
    again = cloudpickle.loads(cloudpickle.dumps(posterior))
    assert again.parts["wage"].correction == posterior.parts["wage"].correction
    assert list(draw(posterior, datasets=1, seed=1, unconverged="allow")[0].columns) == list(HOUSEHOLDS.columns)


def test_the_part_of_the_sign_counts_by_the_design_and_not_by_risk():
    # Nearly half have nothing, and stand for four times as many; a few have losses, as in other tests' tables.
    income = PEOPLE["income"].where((PEOPLE["income"] < 0) | (np.arange(120) % 5 > 1), 0.0)
    frame = HOUSEHOLDS.assign(w=np.where(income == 0, 4.0, 1.0), income=income)
    design = SurveyDesign(weight="w", cluster="c")
    synthesizer = semicontinuous("income", ["region"], loss_predictors=["region"], transform="log")
    posterior = quick_fit(synthesizer, frame, np.full(120, 0.5), survey=design, draws=200, effective=20, patience=2)
    times = frame["w"].to_numpy() * 120 / frame["w"].sum()
    sign = posterior.parts["sign"]
    assert sign.diagnostics.problems == ()
    np.testing.assert_allclose(sign.weights, times)
    np.testing.assert_allclose(posterior.parts["positive"].weights, np.where(income > 0, times / 2, 0.0))
    shares = [(table["income"] == 0).mean() for table in draw(posterior, datasets=40, seed=1, unconverged="allow")]
    wanted, plain = times[income == 0].sum() / 120, (income == 0).mean()
    # The share has the error of a posterior of 40 draws, and moves a little by the prior.
    error = np.std(shares) / np.sqrt(40)
    assert_agrees(np.mean(shares), wanted, np.hypot(error, 0.01), detects=wanted - plain, of="zeros")
    # Another fit under the same design takes it as it is, whatever the risk weights, and not under another one.
    part = synthesizer.parts(Table(frame))["sign"]
    other = read_survey(SurveyDesign(weight="w"), as_table(frame), sandwich=True)
    off = read_survey(design, as_table(frame), sandwich=False)
    for survey in (other, off, None):
        assert not fitting._is_fitted(part, Table(frame), sign, survey)
    assert fitting._is_fitted(part, Table(frame), sign, posterior.survey)


@pytest.mark.slow
def test_the_draws_of_a_mixture_are_not_moved():
    synthesizer = tdp_mixture("y", ["age"], components=2, transform="identity")
    made = [
        fit(synthesizer, HOUSEHOLDS, RISK, survey=DESIGN, sandwich=on, seed=1, progress=False) for on in (True, False)
    ]
    assert same_draws(*made)
    assert made[0].correction is not None
    assert "not identified" in made[0].correction.words
    effects = made[0].correction.parts[0].effects
    assert "weighted_loglik" not in effects
    assert 1.5 < np.median(effects["distribution"]) < 6


def test_a_mixture_says_that_its_parameters_are_not_identified():
    assert not tdp_mixture("y").identified
    assert all(one.identified for one in (normal_linear("y"), MEAN))


def test_a_direct_synthesizer_that_takes_no_survey_is_given_the_product():
    given = {}

    def learn(table: Table, weights: np.ndarray) -> Learned:
        del table
        given["learn"] = weights
        return Learned({}, {})

    def sample(learned: Learned, weights: np.ndarray, seed: int, advance: Any = None) -> dict[str, np.ndarray]:
        del learned, advance
        given["sample"] = weights
        return {"mean": np.random.default_rng(seed).normal(size=(1, 20))}

    def predict(random: Any, draws: Any, place: int, learned: Learned, inputs: Any) -> Prediction:
        del random, learned, inputs
        return Prediction({"y": np.full(len(HOUSEHOLDS), draws["mean"][0, place])})

    made = DirectSynthesizer(
        "y", "mean", "a mean", learn, sample, predict, lambda draws, *_: {"m": draws["mean"][..., None]}
    )
    posterior = quick_fit(made, HOUSEHOLDS, RISK, survey=DESIGN)
    np.testing.assert_allclose(given["learn"], RISK * TIMES)
    np.testing.assert_allclose(given["sample"], RISK * TIMES)
    assert posterior.correction is not None
    assert not posterior.correction.corrected
    assert "not corrected" in posterior.correction.words
    assert posterior.correction.parts[0].effects["mean"][0] > 1


def test_what_is_no_survey_is_refused():
    with pytest.raises(InputError, match="survey: it is of type str, not a SurveyDesign"):
        quick_fit(MEAN, HOUSEHOLDS, survey="w")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="survey: it has 10 records, and the dataset 120"):
        quick_fit(MEAN, HOUSEHOLDS, survey=SurveyDesign(weight="w").read(HOUSEHOLDS.iloc[:10]))
    with pytest.raises(InputError, match="sandwich: it must be True or False"):
        quick_fit(MEAN, HOUSEHOLDS, survey=DESIGN, sandwich="yes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="weight"):
        quick_fit(MEAN, HOUSEHOLDS, survey=SurveyDesign(weight="absent"))
    with pytest.raises(InputError, match="negative"):
        quick_fit(MEAN, HOUSEHOLDS.assign(w=-1.0), survey=DESIGN)
