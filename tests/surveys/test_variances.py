import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees
from molehill import InputError
from molehill.surveys import SurveyDesign, bootstrap, weighted_mean, weighted_regression, weighted_total
from molehill.surveys.variances import covariances, linearised, replicated

TABLE = pd.DataFrame(
    {
        "w": [2.0, 2.0, 5.0, 5.0, 1.0, 1.0],
        "area": ["A", "A", "B", "B", "B", "A"],
        "psu": [1, 2, 3, 4, 4, 2],
        "size": [10, 10, 8, 8, 8, 10],
        "pay": [3.0, 5.0, 2.0, 8.0, 6.0, 1.0],
    }
)


def test_the_variance_of_a_total_by_hand():
    sample = SurveyDesign("w", stratum="area", cluster="psu", population="size").read(TABLE)
    # Clusters: 6 and 11 in A, 10 and 46 in B. Two clusters: 2 / 1 times half the squared difference.
    expected = (1 - 2 / 10) * 5**2 + (1 - 2 / 8) * 36**2
    assert linearised(sample, TABLE["w"].to_numpy() * TABLE["pay"].to_numpy()) == pytest.approx(expected)
    found = weighted_total(sample, TABLE["pay"])
    assert (found.point, found.variance, found.degrees) == (pytest.approx(73), pytest.approx(expected), 2)


def test_single_clusters_by_hand():
    table = TABLE.assign(psu=[1, 2, 3, 3, 3, 2])
    # Clusters: 6 and 11 in A, 56 in B; their mean is 73 / 3.
    adjust, certainty = (
        SurveyDesign("w", stratum="area", cluster="psu", single=single) for single in ("adjust", "certainty")
    )
    adjusted = weighted_total(adjust.read(table), table["pay"])
    assert adjusted.variance == pytest.approx(5**2 + (56 - 73 / 3) ** 2)
    certain = weighted_total(certainty.read(table), table["pay"])
    assert certain.variance == pytest.approx(5**2)


def test_a_census_has_no_variance():
    sample = SurveyDesign("w", population="all").read(TABLE.assign(w=1.0, all=6))
    assert weighted_mean(sample, TABLE["pay"]).variance == 0


def survey(strata=12, clusters=4, seed=3):
    """Clusters that differ, in strata that differ, some records each."""
    rng = np.random.default_rng(seed)
    area, psu, y, w = [], [], [], []
    for h in range(strata):
        for c in range(clusters):
            number = int(rng.integers(2, 6))
            area += [h] * number
            psu += [c] * number
            y += (h + rng.normal() + rng.normal(size=number)).tolist()
            w += [float(h % 3 + 1)] * number
    return pd.DataFrame(
        {"area": area, "psu": psu, "y": y, "w": w, "size": 10, "x": np.random.default_rng(1).normal(size=len(y))}
    )


@pytest.mark.parametrize("population", [None, "size"])
def test_the_bootstrap_agrees_with_linearisation(population):
    table = survey()
    sample = SurveyDesign("w", stratum="area", cluster="psu", nested=True, population=population).read(table)
    made = bootstrap(sample, replicates=2000, seed=1)
    # The variance of a total is that of linearisation but for chance; without the factor for the clusters that are not
    # drawn it would be off by a quarter or more.
    plain, again = (weighted_total(one, table["y"]) for one in (sample, made))
    assert_agrees(again.variance / plain.variance, 1.0, np.sqrt(2 / 2000), detects=0.26)
    assert again.point == plain.point
    assert again.degrees == plain.degrees == 36
    design = np.column_stack([np.ones(len(table)), table["x"]])
    plain, again = (weighted_regression(one, table["y"], design) for one in (sample, made))
    assert_agrees(np.log(again.error / plain.error), 0.0, 1 / np.sqrt(2 * 2000), bias=0.1, detects=0.25)


def test_the_bootstrap_keeps_strata_and_clusters():
    table = survey()
    made = bootstrap(SurveyDesign("w", stratum="area", cluster="psu", nested=True).read(table), replicates=50, seed=1)
    assert made.replicates is not None
    values = made.replicates.values
    # Of four clusters three are drawn: multiples of 4 / 3 that add up to 4 in every stratum.
    np.testing.assert_allclose(values * 3 / 4, np.round(values * 3 / 4), atol=1e-12)
    for stratum in range(12):
        np.testing.assert_allclose(values[:, made.stratum_of == stratum].sum(axis=1), 4)
    again = bootstrap(SurveyDesign("w", stratum="area", cluster="psu", nested=True).read(table), replicates=50, seed=1)
    assert again.replicates is not None
    assert (again.replicates.values == values).all()


def test_the_bootstrap_refuses_what_it_cannot_do():
    table = TABLE.assign(psu=[1, 2, 3, 3, 3, 2])
    adjusted = SurveyDesign("w", stratum="area", cluster="psu", single="adjust").read(table)
    with pytest.raises(InputError, match="the bootstrap cannot adjust"):
        bootstrap(adjusted, seed=1)
    certain = SurveyDesign("w", stratum="area", cluster="psu", single="certainty").read(table)
    made = bootstrap(certain, replicates=2000, seed=1)
    # The certain cluster never varies: only the 6 and 11 of the other stratum do.
    # One of two is drawn twice: the total is off by 5 in every replicate.
    assert weighted_total(made, table["pay"]).variance == pytest.approx(25, rel=0.01)
    with pytest.raises(InputError, match="no replicate weights"):
        replicated(certain, np.ones(6, dtype=bool), 0.0, lambda many: many.sum(axis=1))


def test_a_group_that_replicates_lose_is_refused():
    made = bootstrap(SurveyDesign("w").read(TABLE), replicates=100, seed=1)
    with pytest.raises(InputError, match="replicates cannot be computed"):
        weighted_mean(made, TABLE["pay"], within=np.arange(6) == 2)


@pytest.mark.parametrize("single", ["adjust", "certainty"])
def test_covariances_have_the_variances_in_their_diagonal(single: str):
    random = np.random.default_rng(1)
    table = pd.DataFrame({"w": random.uniform(1, 3, 60), "s": np.arange(60) // 12, "c": np.arange(60) // 3})
    table.loc[table["s"] == 4, "c"] = 99
    table["n"] = np.where(table["s"] == 4, 3, 9)
    design = SurveyDesign("w", stratum="s", cluster="c", population="n", single=single)  # pyright: ignore[reportArgumentType]
    sample, scores = design.read(table), random.normal(size=(60, 3))
    found = covariances(sample, scores)
    np.testing.assert_allclose(np.diag(found), linearised(sample, scores))
    # The variance of a sum of two is that of both and twice their covariance.
    both = linearised(sample, scores[:, 0] + scores[:, 1])
    assert found[0, 0] + found[1, 1] + 2 * found[0, 1] == pytest.approx(float(both))


@pytest.mark.parametrize("centre", ["estimate", "mean"])
def test_covariances_from_replicates_by_hand(centre: str):
    table = pd.DataFrame({"w": [2.0, 2.0, 0.0], "r1": [4.0, 0.0, 9.0], "r2": [0.0, 4.0, 9.0]})
    design = SurveyDesign("w", replicates=("r1", "r2"), method="brr", centre=centre)  # pyright: ignore[reportArgumentType]
    # Totals of 3 and 5 with the full weights, 6 and 10 with those of the replicates; no weight, no score.
    scores = np.array([[3.0, 1.0], [5.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(covariances(design.read(table), scores), [[4.0, -2.0], [-2.0, 1.0]])
