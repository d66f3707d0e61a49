from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.regression.linear_model import OLS, WLS
from statsmodels.stats.weightstats import DescrStatsW

from agreement import assert_rate
from molehill import InputError
from molehill.surveys import (
    SurveyDesign,
    bootstrap,
    population_risk,
    weighted_correlation,
    weighted_distances,
    weighted_mean,
    weighted_quantile,
    weighted_regression,
    weighted_sd,
    weighted_share,
    weighted_table,
    weighted_total,
)
from molehill.utility import combine
from molehill.utility.estimates import (
    correlation_and_variance,
    mean_and_variance,
    quantile_and_variance,
    quantile_degrees,
    sd_and_variance,
)
from properties import examples

TABLE = pd.DataFrame(
    {
        "w": [2.0, 2.0, 6.0, 6.0, 6.0, 2.0],
        "area": list("AABBBA"),
        "psu": [1, 2, 3, 4, 4, 2],
        "pay": [1.0, 3.0, 4.0, 8.0, 6.0, 2.0],
        "age": [20.0, 40.0, 30.0, 60.0, 45.0, 35.0],
    }
)


def people(number=120, seed=7):
    rng = np.random.default_rng(seed)
    area = np.sort(rng.integers(0, 4, number))
    x = rng.normal(size=number) + area
    return pd.DataFrame(
        {
            "w": rng.gamma(3, 10, number),
            "area": area,
            "psu": 100 * area + rng.integers(0, 5, number),
            "size": 40 + area,
            "x": x,
            "y": 2 * x + rng.standard_t(5, number),
            "sex": rng.choice(["f", "m"], number),
        }
    )


# Facts: results of R's survey package on the samples of schools that it comes with.


@pytest.mark.parametrize(
    ("file", "design", "mean", "total", "coefficients", "errors"),
    [
        (
            "api_strat.csv",
            {"stratum": "stype"},
            (662.29, 9.4089),
            None,
            [823.858, -0.5057, -3.1106],
            [8.759, 0.3879, 0.2758],
        ),
        (
            "api_clus1.csv",
            {"cluster": "dnum"},
            (644.17, 23.542),
            (3404940.13, 932235.03),
            [817.182, -0.5088, -3.1456],
            [18.671, 0.3259, 0.3018],
        ),
    ],
)
def test_schools_as_in_the_survey_package(shared, file, design, mean, total, coefficients, errors):
    table = pd.read_csv(shared / file)
    sample = SurveyDesign("pw", population="fpc", **design).read(table)
    found = weighted_mean(sample, table["api00"])
    assert found.point == pytest.approx(mean[0], abs=0.005)
    assert found.error == pytest.approx(mean[1], abs=0.0005)
    if total is not None:
        enrolled = weighted_total(sample, table["enroll"])
        assert [enrolled.point, enrolled.error] == pytest.approx(total, abs=0.005)
    fitted = weighted_regression(
        sample, table["api00"], np.column_stack([np.ones(len(table)), table["ell"], table["meals"]])
    )
    # To half of the last digit that was published.
    digits = np.array([0.0005, 0.00005, 0.00005])
    assert (np.abs(fitted.point - coefficients) < digits).all()
    assert (np.abs(fitted.error - errors) < digits).all()
    assert fitted.degrees == sample.degrees + 1 - 3


def test_shares_and_replicates_of_schools_as_in_the_survey_package(shared):
    table = pd.read_csv(shared / "api_clus1.csv")
    sample = SurveyDesign("pw", cluster="dnum", population="fpc").read(table)
    left_out = {
        f"r{number}": np.where(table["dnum"] == unit, 0.0, table["pw"] * 15 / 14)
        for number, unit in enumerate(table["dnum"].unique())
    }
    with_replicates = pd.concat([table, pd.DataFrame(left_out)], axis=1)
    # Published with replicates centred at their mean and the finite population correction.
    scale = 14 / 15 * (1 - 15 / 757)
    replicates = SurveyDesign("pw", replicates=tuple(left_out), method="jk1", scale=scale, centre="mean")
    again = replicates.read(with_replicates)
    assert sample.degrees == again.degrees == 14
    for level, share, error, replicated in (
        ("E", 0.786885, 0.0463, 0.0514),
        ("H", 0.076503, 0.0268, 0.0278),
        ("M", 0.136612, 0.0296, 0.0332),
    ):
        found = weighted_share(sample, table["stype"] == level)
        assert found.point == pytest.approx(share, abs=5e-7)
        assert found.error == pytest.approx(error, abs=5e-5)
        assert weighted_share(again, table["stype"] == level).error == pytest.approx(replicated, abs=5e-5)
    for column, error in (("api00", 26.3294), ("api99", 26.9985)):
        assert weighted_mean(again, table[column]).error == pytest.approx(error, abs=5e-5)
    assert weighted_total(again, table["enroll"]).error == pytest.approx(932235.03, abs=0.005)


def test_totals_of_groups_as_in_the_survey_package():
    # The eight records of its example "fpc", where cluster numbers begin again in the second stratum.
    table = pd.DataFrame(
        {
            "stratid": [1, 1, 1, 1, 1, 2, 2, 2],
            "psuid": [1, 2, 3, 4, 5, 1, 2, 3],
            "weight": [3, 3, 3, 3, 3, 4, 4, 4],
            "x": [2.8, 4.1, 6.8, 6.8, 9.2, 3.7, 6.6, 4.2],
        }
    )
    sample = SurveyDesign("weight", stratum="stratid", cluster="psuid", nested=True).read(table)
    for group, total, error in ((table["x"] > 4, 123.9, 33.00409), (table["x"] <= 4, 23.2, 17.01764)):
        found = weighted_total(sample, table["x"], within=group)
        assert [found.point, found.error] == pytest.approx([total, error], abs=5e-6)


# Their twins, small enough to be done by hand.


def test_a_stratified_mean_by_hand():
    found = weighted_mean(
        SurveyDesign("w", stratum="area", population="size").read(TABLE.assign(size=[6] * 2 + [18] * 3 + [6])),
        TABLE["pay"],
    )
    # Means 2 and 6 of strata with shares 1/4 and 3/4; variances 1 and 4, three records each, half and a sixth drawn.
    assert found.point == 5
    assert found.variance == pytest.approx((1 / 4) ** 2 * (1 - 1 / 2) * 1 / 3 + (3 / 4) ** 2 * (1 - 1 / 6) * 4 / 3)
    assert found.degrees == 4
    assert found.high - found.point == pytest.approx(2.776445 * np.sqrt(found.variance), rel=1e-6)


def test_a_clustered_mean_and_regression_by_hand():
    sample = SurveyDesign("w", cluster="psu").read(TABLE)
    w, y = TABLE["w"].to_numpy(), TABLE["pay"].to_numpy()
    totals = np.array([[2 * (1 - 5)], [2 * (3 - 5) + 2 * (2 - 5)], [6 * (4 - 5)], [6 * (8 - 5) + 6 * (6 - 5)]]) / 24
    found = weighted_mean(sample, y)
    assert found.variance == pytest.approx(4 / 3 * (totals**2).sum())
    # A regression on a constant is the mean.
    alone = weighted_regression(sample, y, np.ones((6, 1)))
    assert (alone.point[0], alone.variance[0]) == (pytest.approx(5), pytest.approx(found.variance))
    # Written out for two coefficients: bread, meat and bread.
    x = np.column_stack([np.ones(6), TABLE["age"]])
    bread = np.linalg.inv(x.T @ np.diag(w) @ x)
    point = bread @ x.T @ (w * y)
    parts = [(w * (y - x @ point))[rows] @ x[rows] for rows in ([0], [1, 5], [2], [3, 4])]
    meat = 4 / 3 * sum(np.outer(part, part) for part in parts)
    fitted = weighted_regression(sample, y, x)
    np.testing.assert_allclose(fitted.point, point)
    np.testing.assert_allclose(fitted.variance, np.diag(bread @ meat @ bread))


# Equal weights without strata.


@pytest.mark.parametrize("weight", [1.0, 0.3, 250.0])
def test_equal_weights_give_the_plain_formulas(weight):
    rng = np.random.default_rng(2)
    y = np.round(rng.lognormal(size=83), 1)
    x = y + rng.normal(size=83)
    sample = SurveyDesign("w").read(pd.DataFrame({"w": np.full(83, weight)}))

    def same(found, plain):
        np.testing.assert_allclose([found.point, found.variance], plain, rtol=1e-11)

    same(weighted_mean(sample, y), mean_and_variance(y))
    assert weighted_mean(sample, y).degrees == 82
    same(weighted_sd(sample, y), sd_and_variance(y))
    same(weighted_correlation(sample, y, x, fisher=True), correlation_and_variance(y, x))
    for share in (0.03, 0.25, 0.5, 0.9, 0.985):
        found = weighted_quantile(sample, y, share)
        same(found, quantile_and_variance(y, share))
        assert found.degrees == pytest.approx(quantile_degrees(83, share))
    design = np.column_stack([np.ones(83), x])
    fitted = weighted_regression(sample, y, design)
    plain = OLS(y, design).fit(cov_type="HC0")
    np.testing.assert_allclose(fitted.point, plain.params)
    np.testing.assert_allclose(fitted.variance, np.diag(plain.cov_params()) * 83 / 82)
    assert fitted.degrees == 81


# Weighted points of statsmodels.


def test_points_are_those_of_statsmodels():
    table = people()
    sample = SurveyDesign("w", stratum="area", cluster="psu").read(table)
    w, x, y = (table[name].to_numpy() for name in ("w", "x", "y"))
    known: Any = DescrStatsW(np.column_stack([x, y]), weights=w)
    assert weighted_mean(sample, x).point == pytest.approx(known.mean[0], rel=1e-12)
    assert weighted_total(sample, y).point == pytest.approx(known.sum[1], rel=1e-12)
    assert weighted_sd(sample, y).point == pytest.approx(known.std[1] * np.sqrt(120 / 119), rel=1e-12)
    assert weighted_correlation(sample, x, y).point == pytest.approx(known.corrcoef[0, 1], rel=1e-12)
    for share in (0.1, 0.5, 0.77):
        alone: Any = DescrStatsW(y, weights=w)
        expected = float(alone.quantile(share, return_pandas=False)[0])
        assert weighted_quantile(sample, y, share, rule="step").point == pytest.approx(expected, rel=1e-12)
    design = np.column_stack([np.ones(120), x, table["sex"] == "m"])
    np.testing.assert_allclose(weighted_regression(sample, y, design).point, WLS(y, design, weights=w).fit().params)


def test_quantiles_by_hand():
    sample = SurveyDesign("w").read(pd.DataFrame({"w": [1.0, 1.0, 2.0, 0.0]}))
    values = [10.0, 20.0, 40.0, 99.0]
    # Middles of the weights 1, 1, 2 at .5, 1.5, 3: from the first to the last, 0, .4 and 1.
    assert weighted_quantile(sample, values, 0.2).point == pytest.approx(15)
    assert weighted_quantile(sample, values, 0.7).point == pytest.approx(30)
    assert weighted_quantile(sample, values, 0.3, rule="step").point == 20
    # Half of the weight is reached exactly at 20.
    assert weighted_quantile(sample, values, 0.5, rule="step").point == 30


# Variances by linearisation against replicates that were made another way: clusters left out one by one.


def jackknife(table):
    columns, factors = {}, []
    for stratum, rows in table.groupby("area"):
        units = rows["psu"].unique()
        for unit in units:
            keep = len(units) / (len(units) - 1)
            weight = np.where(table["area"] == stratum, table["w"] * keep, table["w"])
            columns[f"r{len(columns)}"] = np.where(table["psu"] == unit, 0.0, weight)
            factors.append((len(units) - 1) / len(units))
    made = pd.concat([table, pd.DataFrame(columns)], axis=1)
    return SurveyDesign("w", replicates=tuple(columns), method="jkn", factors=tuple(factors)).read(made)


ESTIMATES = {
    "mean": lambda sample, table, **more: weighted_mean(sample, table["y"], **more),
    "total": lambda sample, table, **more: weighted_total(sample, table["y"], **more),
    "sd": lambda sample, table, **more: weighted_sd(sample, table["y"], **more),
    "correlation": lambda sample, table, **more: weighted_correlation(sample, table["x"], table["y"], **more),
    "share": lambda sample, table, **more: weighted_share(sample, table["sex"] == "m", **more),
    "quantile": lambda sample, table, **more: weighted_quantile(sample, table["y"], 0.6, **more),
    "regression": lambda sample, table, **more: weighted_regression(
        sample, table["y"], np.column_stack([np.ones(len(table)), table["x"]]), **more
    ),
}


@pytest.mark.parametrize("name", ESTIMATES)
def test_linearisation_agrees_with_the_jackknife(name):
    table = people(1200)
    plain = ESTIMATES[name](SurveyDesign("w", stratum="area", cluster="psu").read(table), table)
    again = ESTIMATES[name](jackknife(table), table)
    np.testing.assert_allclose(again.point, plain.point)
    np.testing.assert_allclose(again.error, plain.error, rtol=0.05)
    assert again.degrees == pytest.approx(plain.degrees)


# Groups.


@pytest.mark.parametrize("name", ESTIMATES)
def test_a_group_keeps_the_whole_design(name):
    table = people(1200)
    group = ((table["sex"] == "f") & (table["psu"] % 7 > 1)).to_numpy()
    sample = SurveyDesign("w", stratum="area", cluster="psu").read(table)
    inside = ESTIMATES[name](sample, table, within=group if name != "share" else table["x"] > 1)
    again = ESTIMATES[name](jackknife(table), table, within=group if name != "share" else table["x"] > 1)
    np.testing.assert_allclose(again.point, inside.point)
    np.testing.assert_allclose(again.error, inside.error, rtol=0.06)


def test_the_mean_of_a_group_by_hand():
    sample = SurveyDesign("w", cluster="psu").read(TABLE)
    group = (TABLE["area"] == "B").to_numpy()
    found = weighted_mean(sample, TABLE["pay"], within=group)
    # The two clusters outside count, with nothing in them.
    totals = np.array([0.0, 0.0, 6 * (4 - 6), 6 * (8 - 6)]) / 18
    assert (found.point, found.variance) == (6, pytest.approx(4 / 3 * (totals**2).sum()))
    cut = SurveyDesign("w", cluster="psu").read(TABLE[group])
    assert weighted_mean(cut, TABLE["pay"][group]).variance != pytest.approx(found.variance)
    # Missing values are left out in the same way.
    gaps = TABLE["pay"].where(group)
    kept = weighted_mean(sample, gaps, missing="keep")
    assert (kept.point, kept.variance) == (found.point, found.variance)
    with pytest.raises(InputError, match=r"^values: 3 records have a missing value"):
        weighted_mean(sample, gaps)


# Shares and tables.


def test_shares_have_intervals_between_0_and_1():
    sample = SurveyDesign("w").read(pd.DataFrame({"w": np.ones(50)}))
    none = weighted_share(sample, np.zeros(50, dtype=bool))
    assert (none.point, none.low) == (0, 0)
    # No hit among n: the upper end of Clopper and Pearson, 1 - .025^(1/n).
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 50))
    every = weighted_share(sample, np.ones(50, dtype=bool))
    assert (every.low, every.high) == (pytest.approx(0.025 ** (1 / 50)), 1)
    few = weighted_share(sample, np.arange(50) < 2)
    assert 0 < few.low < 0.04 < few.high < 0.2
    assert few.variance == pytest.approx(0.04 * 0.96 / 49)


def test_the_interval_of_a_share_in_clusters_by_hand():
    sample = SurveyDesign("w", cluster="psu").read(TABLE)
    found = weighted_share(sample, TABLE["age"] > 38)
    # 14 of 24 by weight. Four clusters have three degrees of freedom, six records five.
    share = 14 / 24
    totals = np.array([-2 * share, 2 * (1 - share) - 2 * share, -6 * share, 12 * (1 - share)]) / 24
    variance = 4 / 3 * (totals**2).sum()
    assert (found.point, found.variance, found.degrees) == (pytest.approx(share), pytest.approx(variance), 3)
    size = share * (1 - share) / variance * (stats.t.ppf(0.975, 5) / stats.t.ppf(0.975, 3)) ** 2
    hits = share * size
    assert found.low == pytest.approx(stats.beta.ppf(0.025, hits, size - hits + 1))
    assert found.high == pytest.approx(stats.beta.ppf(0.975, hits + 1, size - hits))


def test_a_share_that_the_design_fixes_is_sure():
    table = people()
    table["w"] = 5.0
    sample = SurveyDesign("w", stratum="area").read(table)
    found = weighted_share(sample, table["area"] == 1)
    assert found.low == found.point == found.high


@pytest.mark.parametrize("how", ["linearised", "bootstrap"])
def test_a_table_has_the_shares_of_its_cells(how):
    table = people()
    sample = SurveyDesign("w", stratum="area", cluster="psu").read(table)
    sample = bootstrap(sample, replicates=40, seed=1) if how == "bootstrap" else sample
    sex = table["sex"].where(table["x"] < 3)
    found = weighted_table(sample, table["area"], sex)
    assert len(found) == 4 * 3
    assert found["share"].sum() == pytest.approx(1)
    cells: Any = found.itertuples()
    for cell in cells:
        hits = (table["area"] == cell.row) & (sex.isna() if cell.column == "missing" else sex == cell.column)
        one = weighted_share(sample, hits)
        np.testing.assert_allclose(
            [cell.share, cell.variance, cell.low, cell.high], [one.point, one.variance, one.low, one.high], atol=1e-12
        )


# Properties.


@st.composite
def samples(draw):
    number = draw(st.integers(8, 25))
    whole = st.integers(1, 50)
    column = st.lists(st.integers(-40, 40), min_size=number, max_size=number).filter(lambda y: len(set(y)) > 2)
    table = pd.DataFrame(
        {
            "w": draw(st.lists(whole, min_size=number, max_size=number)),
            "area": [i % 2 for i in range(number)],
            "psu": [i % 6 for i in range(number)],
            "y": draw(column),
            "x": [float((7 * i) % 11) for i in range(number)],
        }
    ).astype(float)
    return table, draw(st.permutations(range(number)))


def all_estimates(table):
    sample = SurveyDesign("w", stratum="area", cluster="psu").read(table)
    design = np.column_stack([np.ones(len(table)), table["x"]])
    found = [
        weighted_mean(sample, table["y"]),
        weighted_sd(sample, table["y"]),
        weighted_share(sample, table["y"] > 0),
        weighted_quantile(sample, table["y"], 0.37),
        weighted_regression(sample, table["y"], design),
    ]
    return np.concatenate([np.ravel([one.point, one.variance, one.low, one.high]) for one in found])


@examples(30)
@given(samples(), st.floats(0.01, 1000))
def test_no_scale_of_the_weights_matters(drawn, scale):
    table, _ = drawn
    np.testing.assert_allclose(
        all_estimates(table.assign(w=table["w"] * scale)), all_estimates(table), rtol=1e-6, atol=1e-8
    )


@examples(30)
@given(samples())
def test_no_order_of_the_records_matters(drawn):
    table, order = drawn
    mixed = table.iloc[order].reset_index(drop=True)
    np.testing.assert_allclose(all_estimates(mixed), all_estimates(table), rtol=1e-6, atol=1e-8)


# Coverage.

SAMPLES = 300


def covered(ends, truth):
    ends = np.array(ends)
    return int(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).sum())


def test_intervals_cover_under_an_informative_design_and_only_with_it():
    rng = np.random.default_rng(11)
    size = rng.gamma(2, 1, 8000)
    y = 10 + 2 * size + rng.normal(size=8000)
    area = (size > 2).astype(int)
    design = SurveyDesign("w", stratum="area")
    chances = [np.where(area == h, size, 0) / size[area == h].sum() for h in (0, 1)]
    truths = {"mean": y.mean(), "median": np.median(y), "sd": y.std()}
    ends, plain = {name: [] for name in truths}, []
    for _ in range(SAMPLES):
        # Drawn in proportion to size, with replacement: 60 of the small and 120 of the large.
        rows = np.concatenate([rng.choice(8000, n, p=p) for n, p in zip((60, 120), chances, strict=True)])
        weight = np.concatenate(
            [1 / (n * p[part]) for n, p, part in zip((60, 120), chances, np.split(rows, [60]), strict=True)]
        )
        sample = design.read(pd.DataFrame({"w": weight, "area": area[rows]}))
        values = y[rows]
        for name, found in {
            "mean": weighted_mean(sample, values),
            "median": weighted_quantile(sample, values, 0.5),
            "sd": weighted_sd(sample, values),
        }.items():
            ends[name].append((found.low, found.high))
        alone = weighted_mean(SurveyDesign("w").read(pd.DataFrame({"w": np.ones(180)})), values)
        plain.append((alone.low, alone.high))
    for name, truth in truths.items():
        assert_rate(covered(ends[name], truth), SAMPLES, 0.95, detects=0.16, of=name)
    assert covered(plain, truths["mean"]) < 0.05 * SAMPLES


def test_intervals_cover_in_clusters_and_only_with_them():
    rng = np.random.default_rng(12)
    centres = rng.normal(50, 4, 500)
    number = rng.integers(5, 15, 500)
    psu = np.repeat(np.arange(500), number)
    y = centres[psu] + rng.normal(0, 4, len(psu))
    inside, cut = [], []
    for _ in range(SAMPLES):
        drawn = np.isin(psu, rng.choice(500, 25, replace=False))
        table = pd.DataFrame({"w": 20.0, "psu": psu[drawn], "y": y[drawn], "size": 500})
        for design, into in ((SurveyDesign("w", cluster="psu", population="size"), inside), (SurveyDesign("w"), cut)):
            found = weighted_mean(design.read(table), table["y"])
            into.append((found.low, found.high))
    assert_rate(covered(inside, y.mean()), SAMPLES, 0.95, detects=0.16)
    assert covered(cut, y.mean()) < 0.7 * SAMPLES


# Beside the rest of the library.


def test_released_tables_are_combined_by_the_usual_rule():
    table = people()
    sample = SurveyDesign("w", stratum="area", cluster="psu").read(table)
    own = weighted_mean(sample, table["y"])
    once = combine([own.point], [own.variance], degrees=own.degrees)
    assert (once.point, once.low, once.high) == (own.point, pytest.approx(own.low), pytest.approx(own.high))
    released = [weighted_mean(sample, table["y"] + shift) for shift in (-0.1, 0.0, 0.1)]
    many = combine([one.point for one in released], [one.variance for one in released], degrees=own.degrees)
    assert many.high - many.low > own.high - own.low
    z = weighted_correlation(sample, table["x"], table["y"], fisher=True)
    r = weighted_correlation(sample, table["x"], table["y"])
    np.testing.assert_allclose([r.point, r.low, r.high], np.tanh([z.point, z.low, z.high]))


# What cannot be estimated.

TYPE_7: Any = "type7"


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda sample: weighted_mean(sample, [1.0, 2.0]), "values"),
        (lambda sample: weighted_mean(sample, list("abcdef")), "values"),
        (lambda sample: weighted_mean(sample, [np.inf, 1, 1, 1, 1, 1]), "values"),
        (lambda sample: weighted_mean(sample, TABLE["pay"], within=[1, 0, 1, 1, 1, 1]), "within"),
        (lambda sample: weighted_mean(sample, TABLE["pay"], within=np.zeros(6, dtype=bool)), "within"),
        (lambda sample: weighted_mean(sample, TABLE["pay"], level=95), "level"),
        (lambda sample: weighted_quantile(sample, TABLE["pay"], 1.0), "share"),
        (lambda sample: weighted_quantile(sample, TABLE["pay"], 0.5, rule=TYPE_7), "rule"),
        (lambda sample: weighted_correlation(sample, TABLE["pay"], np.ones(6)), "others"),
        (lambda sample: weighted_share(sample, TABLE["pay"]), "hits"),
        (lambda sample: weighted_table(sample, TABLE["pay"], [1, 2]), "columns"),
        (lambda sample: weighted_regression(sample, TABLE["pay"], np.ones(6)), "design"),
        (lambda sample: weighted_regression(sample, TABLE["pay"], np.ones((6, 2))), "design"),
        (lambda sample: weighted_regression(sample, TABLE["pay"], np.eye(6)), "values"),
    ],
)
def test_what_cannot_be_estimated_is_refused(call, argument):
    with pytest.raises(InputError) as error:
        call(SurveyDesign("w").read(TABLE))
    assert error.value.argument == argument


def test_errors_quote_no_value():
    secret: list[Any] = ["secret", 1.0, 2.0, 3.0, 4.0, 5.0]
    sample = SurveyDesign("w").read(TABLE)
    for call in (
        lambda: weighted_mean(sample, secret),
        lambda: weighted_regression(sample, TABLE["pay"], [[cell] for cell in secret]),
        lambda: weighted_distances(secret, np.ones(6), [1.0], [1.0]),
        lambda: population_risk(TABLE, "area", secret),
        lambda: SurveyDesign("w").read(TABLE.assign(w=pd.Series(secret, dtype=object))),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert "secret" not in str(error.value)
        assert error.value.__cause__ is None


def test_constants_have_no_variance():
    sample = SurveyDesign("w").read(TABLE)
    assert weighted_sd(sample, np.full(6, 3.0)).high == 0
    exact = weighted_correlation(sample, TABLE["pay"], 2 * TABLE["pay"])
    assert (exact.point, exact.variance) == (pytest.approx(1), 0)
    assert weighted_quantile(sample, np.full(6, 3.0), 0.5).variance == 0


# Regressions of other families.


@pytest.mark.parametrize(("family", "of"), [("logit", families.Binomial()), ("poisson", families.Poisson())])
def test_families_are_those_of_statsmodels(family, of):
    data = people(200)
    y = (data["y"] > 0).astype(float) if family == "logit" else (data["y"].abs()).round()
    matrix = np.column_stack([np.ones(len(data)), data["x"]])
    found = weighted_regression(SurveyDesign(weight="w").read(data), y, matrix, family=family)
    assert found.point == pytest.approx(GLM(y, matrix, family=of, freq_weights=data["w"]).fit().params.to_numpy())
    even = weighted_regression(SurveyDesign(weight="w").read(data.assign(w=3.0)), y, matrix, family=family)
    robust = GLM(y, matrix, family=of).fit(cov_type="HC0")
    # The survey's variance has n / (n - 1).
    assert even.error * np.sqrt(199 / 200) == pytest.approx(robust.bse.to_numpy(), rel=1e-6)


def test_a_jackknife_of_a_logistic_regression_agrees_with_linearisation():
    data = people(150, seed=3)
    names = [f"r{number}" for number in range(len(data))]
    left = pd.DataFrame(np.outer(data["w"], np.ones(len(data))) * (1 - np.eye(len(data))) * 150 / 149, columns=names)
    design = SurveyDesign(weight="w", replicates=tuple(names), method="jk1")
    # An outcome that the predictor tells little of: near separation a jackknife is far from any line.
    y, matrix = (data["y"] > 1.7 * data["x"]).astype(float), np.column_stack([np.ones(len(data)), data["x"]])
    lines = weighted_regression(SurveyDesign(weight="w").read(data), y, matrix, family="logit")
    again = weighted_regression(design.read(pd.concat([data, left], axis=1)), y, matrix, family="logit")
    assert again.point == pytest.approx(lines.point)
    assert again.error == pytest.approx(lines.error, rel=0.1)


def test_a_regression_that_runs_off_is_refused():
    data = people(60)
    matrix = np.column_stack([np.ones(60), data["x"]])
    with pytest.raises(InputError, match="does not converge"):
        weighted_regression(SurveyDesign(weight="w").read(data), data["x"] > 1, matrix, family="logit")
    with pytest.raises(InputError, match="family"):
        weighted_regression(SurveyDesign(weight="w").read(data), data["y"], matrix, family="probit")  # type: ignore[arg-type]
