"""The simulated populations match what the paper prints about theirs."""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from agreement import assert_mean, assert_rate
from molehill.errors import InputError
from molehill.tables import populations as simulation
from molehill.tables.populations import consumer_survey, nb_mixture

TABLE_1 = {
    "gender": 2,
    "age": 5,
    "education": 8,
    "region": 4,
    "urban": 2,
    "marital": 5,
    "urban_type": 3,
    "cbsa": 3,
    "family_size": 11,
    "earner": 2,
}
PAPER = {"mean": 72_075.60, "median": 50_225.15, "q90": 153_916.30}
SEEDS = (1, 2, 3)
PERCENTAGES = (
    *(simulation.GENDER, simulation.AGE, simulation.REGION, simulation.EDUCATION_BY_AGE),
    *(simulation.URBAN_BY_REGION, simulation.URBAN_TYPE_BY_URBAN, simulation.CBSA_BY_URBAN_TYPE),
    *(simulation.MARITAL_BY_AGE_GENDER, simulation.FAMILY_SIZE_BY_MARRIED_AGE),
    *(simulation.INCOME_KIND_BY_EARNER, simulation.ROUNDING),
)


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    return consumer_survey()


@pytest.fixture(scope="module")
def surveys(survey) -> list[pd.DataFrame]:
    return [survey, *(consumer_survey(seed=seed) for seed in SEEDS)]


@pytest.fixture(scope="module")
def population() -> pd.DataFrame:
    return consumer_survey(150_000, seed=8)


def design(table: pd.DataFrame) -> np.ndarray:
    dummies = pd.get_dummies(table, drop_first=True, dtype=float)
    return np.column_stack([np.ones(len(table)), dummies])


def summaries(income: pd.Series) -> dict[str, float]:
    return {
        "mean": float(income.mean()),
        "median": float(income.median()),
        "q90": float(income.quantile(0.9)),
    }


def earner_coefficient(table: pd.DataFrame) -> float:
    columns = design(table[["region", "urban", "earner"]])
    return np.linalg.lstsq(columns, table["income"].to_numpy(float))[0][-1]


def log_income_fit(table: pd.DataFrame) -> tuple[pd.Series, pd.Series, int]:
    """Log income where it is positive, its residual given all predictors, and what the design lacks in rank."""
    positive = table[table["income"] > 0]
    columns, outcome = design(positive.drop(columns="income")), positive["income"].map(np.log)
    coefficients, _, rank, _ = np.linalg.lstsq(columns, outcome.to_numpy())
    return outcome, outcome - columns @ coefficients, columns.shape[1] - rank


def test_nb_mixture_moments_agree_with_the_closed_form():
    table = nb_mixture(200_000, 3)
    assert list(table) == ["outcome"]
    assert table["outcome"].dtype == np.int64
    assert table["outcome"].min() >= 0
    deviation = table["outcome"].to_numpy() - 100.0
    # Gamma-Poisson: third central moment mu + 3 mu^2 / phi + 2 mu^3 / phi^2; the components share their mean.
    third = 0.7 * (100 + 1500 + 5_000) + 0.3 * (100 + 6000 + 80_000)
    # Off by a hundredth of the mean, a tenth of the variance, or a third of the skewness.
    truths = (0, 100 + 100**2 * (0.7 / 20 + 0.3 / 5), third)
    for power, truth, detects in zip((1, 2, 3), truths, (1, truths[1] / 10, third / 3), strict=True):
        assert_mean(deviation**power, truth, detects=detects)


def test_nb_mixture_takes_its_arguments_by_place_or_by_name_and_repeats():
    pd.testing.assert_frame_equal(nb_mixture(50, 1), nb_mixture(n=50, seed=1))
    assert not nb_mixture(50, 1).equals(nb_mixture(50, 2))


def test_survey_columns_are_those_of_table_1(survey):
    assert len(survey) == 6208
    assert list(survey) == [*TABLE_1, "income"]
    assert {name: len(survey[name].cat.categories) for name in TABLE_1} == TABLE_1
    assert [name for name in TABLE_1 if survey[name].cat.ordered] == ["age", "education", "family_size"]
    assert survey["income"].dtype == np.int64
    assert not survey.isna().any(axis=None)


def test_every_category_and_all_forty_patterns_occur(surveys):
    for table in surveys:
        assert all(table[name].value_counts().min() > 0 for name in TABLE_1)
        cells = table.groupby(["gender", "age", "region"], observed=True).size()
        assert len(cells) == 40
        assert cells.min() > 1
        assert cells.max() > 5 * cells.min()


@pytest.mark.parametrize("table", PERCENTAGES)
def test_percentages_sum_to_100(table):
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=-1), 100)


@pytest.mark.parametrize(
    ("given", "drawn", "table"),
    [
        (["age"], "education", simulation.EDUCATION_BY_AGE),
        (["region"], "urban", simulation.URBAN_BY_REGION),
        (["age", "gender"], "marital", simulation.MARITAL_BY_AGE_GENDER),
        (["urban_type"], "cbsa", simulation.CBSA_BY_URBAN_TYPE),
    ],
)
def test_draws_follow_their_tables(population, given, drawn, table):
    counts = population.groupby([*given, drawn], observed=False).size().to_numpy().reshape(table.shape)
    for row, shares in zip(counts.reshape(-1, counts.shape[-1]), table.reshape(-1, counts.shape[-1]), strict=True):
        for count, share in zip(row, shares / 100, strict=True):
            assert_rate(count, row.sum(), share, detects=0.05)


def test_predictors_hang_together(population):
    rural = population[population["urban"] == "rural"]
    assert (rural["urban_type"] == "rural area").all()
    assert not (population.loc[population["urban_type"] == "rural area", "cbsa"] == "principal city").any()
    alone = (population["family_size"] == "1").groupby(population["marital"], observed=True).mean()
    assert alone["married"] < 0.05
    assert alone["widowed"] > 0.4
    earner = population.assign(earner=population["earner"] == "earner")
    share = earner.groupby(["age", "education"], observed=True)["earner"].mean()
    assert share["35-49", "bachelor's degree"] > share["35-49", "grades 1-8"] + 0.1
    assert share["35-49", "high school"] > share["65 and over", "high school"] + 0.4


def test_default_survey_reproduces_the_papers_row_of_data(survey):
    income = survey["income"]
    assert summaries(income) == pytest.approx(PAPER, rel=0.05)
    assert 255_000 < income.quantile(0.975) < 285_000
    assert -7_500 < income.min() < -4_000
    assert 1_200_000 < income.max() < 1_800_000


def test_income_summaries_hold_over_seeds(surveys):
    for table in surveys:
        assert summaries(table["income"]) == pytest.approx(PAPER, rel=0.10)
        assert -54_000 < earner_coefficient(table) < -38_000
        outcome, residual, lacking = log_income_fit(table)
        assert 0.35 < 1 - residual.var() / outcome.var() < 0.5
        assert lacking == 0


def test_zeros_losses_and_low_incomes_have_their_share(population):
    income = population["income"]
    assert 0.01 < (income == 0).mean() < 0.02
    assert 0.0015 < (income < 0).mean() < 0.003
    assert -7_000 <= income.min() < -6_500
    log_normal = NormalDist(np.log(PAPER["median"]), np.log(PAPER["q90"] / PAPER["median"]) / 1.2816)
    assert income.between(1, 5_000).mean() > 2 * log_normal.cdf(np.log(5_000))
    assert income.between(1, 100).any()


@pytest.mark.parametrize(
    ("unit", "low", "high"),
    [(100, 0.46, 0.53), (500, 0.36, 0.42), (1_000, 0.33, 0.39), (5_000, 0.13, 0.19), (10_000, 0.07, 0.12)],
)
def test_incomes_heap_at_round_numbers(population, unit, low, high):
    positive = population.loc[population["income"] > 0, "income"]
    assert low < (positive % unit == 0).mean() < high


def test_no_income_is_rounded_by_more_than_an_eighth(population, monkeypatch):
    monkeypatch.setattr(simulation, "ROUNDING_UNITS", np.ones_like(simulation.ROUNDING_UNITS))
    exact, told = consumer_survey(len(population), seed=8)["income"], population["income"]
    assert ((told - exact).abs() <= exact.abs() / 8 + 1).all()
    assert (told[exact <= 0] == exact[exact <= 0]).all()
    assert told[exact > 0].min() > 0
    assert (exact[exact > 0] % 1_000 == 0).mean() < 0.005


def test_incomes_stay_below_the_cap_and_do_not_pile_up_there(population, monkeypatch):
    assert population["income"].max() <= 1_800_000
    # So few usual incomes reach the real cap that only a lower one shows what becomes of them.
    monkeypatch.setattr(simulation, "INCOME_CAP", 500_000)
    income = consumer_survey(100_000, seed=1)["income"]
    assert income.max() <= 500_000
    assert income.between(499_001, 500_000).mean() < 2e-4
    assert (population["income"] > 500_000).mean() > 1e-3


def test_same_size_and_seed_give_the_same_survey(survey):
    pd.testing.assert_frame_equal(survey, consumer_survey(6208, 2017))
    assert not survey["income"].equals(consumer_survey(seed=1)["income"])


@pytest.mark.parametrize("n", [1, 50, np.int64(50)])
def test_small_surveys_keep_their_declared_categories(n):
    table = consumer_survey(n, seed=1)
    assert len(table) == n
    assert {name: len(table[name].cat.categories) for name in TABLE_1} == TABLE_1


@pytest.mark.parametrize("draw", [nb_mixture, consumer_survey])
@pytest.mark.parametrize("n", [0, -5, 2.5, 100.0, True, "100", None])
def test_a_bad_size_is_named(draw, n):
    with pytest.raises(InputError, match=r"^n: ") as caught:
        draw(n, seed=1)
    assert caught.value.argument == "n"


@pytest.mark.parametrize("draw", [nb_mixture, consumer_survey])
@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_a_bad_seed_is_named(draw, seed):
    with pytest.raises(InputError, match=r"^seed: "):
        draw(10, seed=seed)
