from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import t

from agreement import assert_agrees, assert_rate, assert_rate_at_most
from molehill import InputError, Table
from molehill.utility import correlation, estimate, interval_overlap, mean, median, quantile, regression, sd
from molehill.utility.comparison import overlap_by_chance

# Coverage of 95% intervals is counted in so many runs: one of 75% is found.
RUNS = 200
PAY = pd.DataFrame(
    {"pay": [10.0, 12.0, 14.0, 16.0, 18.0], "age": [30.0, 20.0, 50.0, 40.0, 60.0], "town": list("AAABB")}
)
SUMMARIES = [mean("pay"), median("pay"), quantile("pay", 0.9), sd("pay"), correlation("pay", "age")]


def test_a_mean_by_hand():
    released = [PAY.assign(pay=PAY["pay"] + shift) for shift in (-1.0, 1.0, 3.0)]
    row = estimate(PAY, released, mean("pay")).iloc[0]
    # s^2 = 10, so v = 2; t with 4 degrees: 2.776445.
    own = 2.776445 * np.sqrt(2)
    assert row["confidential"] == 14.0
    assert (row["confidential_low"], row["confidential_high"]) == pytest.approx((14 - own, 14 + own), abs=1e-5)
    # b = 4: T = 2 + 4/3, 2 (1 + 3 * 2 / 4)^2 = 12.5 degrees of the rule, 1 / (1 / 12.5 + 1 / 4) = 100 / 33 in all.
    reach = t.ppf(0.975, 100 / 33) * np.sqrt(10 / 3)
    assert row["released"] == pytest.approx(15.0)
    assert (row["released_low"], row["released_high"]) == pytest.approx((15 - reach, 15 + reach))
    shared = min(14 + own, 15 + reach) - max(14 - own, 15 - reach)
    assert row["overlap"] == pytest.approx((shared / (2 * own) + shared / (2 * reach)) / 2)
    assert row["width_ratio"] == pytest.approx(reach / own)
    assert row["relative_bias"] == pytest.approx(1 / 14)


@pytest.mark.parametrize(
    ("ends", "overlap"),
    [
        ((0, 4, 2, 10), (2 / 4 + 2 / 8) / 2),
        ((0, 4, 0, 4), 1.0),
        ((0, 4, 1, 2), (1 / 4 + 1) / 2),
        ((0, 1, 2, 3), 0.0),
        ((0, 1, 1, 2), 0.0),
        ((1, 1, 0, 2), 0.5),
        ((1, 1, 1, 1), 1.0),
        ((1, 1, 2, 2), 0.0),
    ],
)
def test_overlap_by_hand(ends, overlap):
    assert interval_overlap(*ends) == pytest.approx(overlap)
    assert interval_overlap(*ends[2:], *ends[:2]) == pytest.approx(overlap)
    assert interval_overlap(*(np.array([end, end]) for end in ends)) == pytest.approx([overlap, overlap])


@pytest.mark.parametrize("datasets", [1, 20])
def test_a_fresh_sample_overlaps_by_as_much_as_chance_lets_it_and_a_biased_one_does_not(datasets):
    alarms, found, several = 0, 0, [mean("pay"), median("pay"), quantile("pay", 0.9), sd("pay")]
    for run in range(RUNS):
        data, *drawn = np.random.default_rng(run).lognormal(10.0, 0.6, (1 + datasets, 300))
        for shift in (1.0, 1.3):
            released = [pd.DataFrame({"pay": shift * one}) for one in drawn]
            rows = estimate(pd.DataFrame({"pay": data}), released, several).to_dict("records")
            ends = [
                [row[f"{of}{end}"] for of in ("confidential", "released") for end in ("_low", "_high")] for row in rows
            ]
            least = [overlap_by_chance(*one, tables=datasets, estimates=4) for one in ends]
            odd = any(row["overlap"] < one for row, one in zip(rows, least, strict=True))
            alarms, found = alarms + (odd and shift == 1.0), found + (odd and shift != 1.0)
    assert_rate_at_most(alarms, RUNS, 0.03, detects=0.2)
    assert_rate_at_most(RUNS - found, RUNS, 0.05, detects=0.2)


def test_chance_never_explains_intervals_that_do_not_meet():
    assert overlap_by_chance(0.0, 1.0, 0.0, 1.0, tables=1, estimates=1_000) > 0


@pytest.mark.parametrize("interval", ["combined", "bootstrap"])
def test_releasing_the_data_changes_nothing(interval):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"pay": rng.lognormal(size=400), "age": rng.normal(size=400)})
    found = estimate(data, [data] * 3, SUMMARIES, interval=interval, replicates=4000)
    tolerance = 1e-12 if interval == "combined" else 0.1
    assert found["overlap"].to_numpy() == pytest.approx(np.ones(5), abs=tolerance)
    assert found["width_ratio"].to_numpy() == pytest.approx(np.ones(5), abs=tolerance)
    assert found["relative_bias"].to_numpy() == pytest.approx(np.zeros(5), abs=tolerance)


def test_the_data_row_of_the_paper(shared):
    data = pd.read_csv(shared / "nb_mixture_paper.csv")
    found = estimate(data, data, [mean("outcome"), median("outcome")], interval="bootstrap", replicates=20_000)
    ends = found[["confidential", "confidential_low", "confidential_high"]].to_numpy()
    # The paper's own 1,000 replicates have the Monte Carlo error here: of a mean sd / sqrt(1000), of an end 2.7 times
    # that. The medians of 1,000 counts lie on a grid of halves.
    error = 1.0 / np.sqrt(1000)
    assert_agrees(ends[0], [100.70, 98.68, 102.58], [error, 2.7 * error, 2.7 * error], detects=0.7)
    assert ends[1] == pytest.approx([97.93, 95.49, 101.00], abs=0.5)
    assert_agrees(ends[1, 0], 97.93, 1.4 * error, detects=0.5)
    thousand = estimate(data, data, [mean("outcome")], interval="bootstrap").iloc[0]
    assert_agrees(thousand["confidential"], 100.70, 2**0.5 * error, detects=0.5)


def test_the_pooled_bootstrap_has_the_variance_within_and_between():
    """Tables whose means differ: pooling gives u + b, where the rule gives u + b / L."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"pay": rng.normal(size=500)})
    released = [pd.DataFrame({"pay": centre + rng.normal(size=500)}) for centre in rng.normal(0, 0.05, 40)]
    means = np.array([table["pay"].mean() for table in released])
    within = np.mean([table["pay"].var() / 500 for table in released])
    row = estimate(data, released, mean("pay"), interval="bootstrap").iloc[0]
    # Of 1,000 resamples of each of 40 tables. 40 means are no normal distribution; by the rule the interval is shorter
    # by a third.
    assert_agrees(row["released"], means.mean(), np.sqrt(within / 40_000), detects=0.01)
    width = row["released_high"] - row["released_low"]
    ratio = width / (2 * 1.96 * np.sqrt(within + means.var()))
    assert_agrees(np.log(ratio), 0.0, 0.005, bias=0.05, detects=0.2)
    combined = estimate(data, released, mean("pay")).iloc[0]
    narrow = combined["released_high"] - combined["released_low"]
    assert narrow == pytest.approx(2 * 1.96 * np.sqrt(within + means.var(ddof=1) / 40), rel=0.02)


@pytest.mark.slow
def test_bootstrap_intervals_cover_the_population():
    rng = np.random.default_rng(3)
    hits, truths = np.zeros(4), np.array([0.0, 0.0, 1.2815516, 1.0])
    analyses = [mean("pay"), median("pay"), quantile("pay", 0.9), sd("pay")]
    for sample in rng.normal(size=(RUNS, 400)):
        data = pd.DataFrame({"pay": sample})
        found = estimate(data, data, analyses, interval="bootstrap", replicates=300)
        hits += ((found["confidential_low"] <= truths) & (truths <= found["confidential_high"])).to_numpy()
    # The percentile bootstrap of 300 replicates of 400 records covers a percent or so less than it says.
    for one in hits:
        assert_rate(one, RUNS, 0.94, detects=0.2)


def test_bootstrap_repeats_with_its_seed():
    one, again, other = (estimate(PAY, PAY, SUMMARIES[:4], interval="bootstrap", seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, again)
    assert (one["confidential"] != other["confidential"]).all()


def test_regressions_are_combined_in_either_case():
    line = regression("pay ~ age")
    pd.testing.assert_frame_equal(estimate(PAY, PAY, line, interval="bootstrap"), estimate(PAY, PAY, line))


@pytest.mark.parametrize("interval", ["combined", "bootstrap"])
def test_groups_are_tables_of_their_own(interval):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {"pay": rng.lognormal(size=300), "town": rng.choice(["B", "A"], 300), "age": rng.normal(size=300)}
    )
    released = [data.assign(pay=rng.lognormal(size=300), town=rng.permutation(data["town"])) for _ in range(2)]
    analyses = [*SUMMARIES, regression("pay ~ age")]
    found = estimate(data, released, analyses, groups="town", interval=interval)
    assert found["group"].tolist() == ["A"] * 7 + ["B"] * 7
    for town in "AB":
        alone = estimate(
            data[data["town"] == town],
            [table[table["town"] == town] for table in released],
            analyses,
            interval=interval,
        )
        ours = found[found["group"] == town].drop(columns="group").reset_index(drop=True)
        if interval == "combined" or town == "A":
            pd.testing.assert_frame_equal(ours, alone)


def test_groups_of_two_columns_are_named_by_both():
    data = pd.concat([PAY.assign(sex="f"), PAY.assign(sex="m")])
    found = estimate(data, data, median("pay"), groups=["town", "sex"])
    assert found["group"].tolist() == ["A, f", "A, m", "B, f", "B, m"]


def test_every_kind_of_table_is_taken():
    expected = estimate(PAY, PAY, SUMMARIES)
    for data in (Table(PAY), pl.from_pandas(PAY), PAY.astype({"pay": "Int64"}), PAY.set_index("town", drop=False)):
        pd.testing.assert_frame_equal(estimate(data, [data], SUMMARIES), expected)


def test_missing_values_take_no_part_where_that_is_asked():
    gap = pd.concat([PAY, pd.DataFrame({"pay": [np.nan], "age": [99.0], "town": ["A"]})])
    found = estimate(gap, gap, [*SUMMARIES, regression("pay ~ age")], missing="keep")
    pd.testing.assert_frame_equal(found, estimate(PAY, PAY, [*SUMMARIES, regression("pay ~ age")]))


def test_a_constant_column_has_an_interval_without_width():
    data = PAY.assign(pay=0.0)
    for interval in ("combined", "bootstrap"):
        found = estimate(data, data, [mean("pay"), median("pay"), sd("pay")], interval=interval)
        assert (found["overlap"] == 1.0).all()
        assert found[["width_ratio", "relative_bias"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("data", "released", "change", "message"),
    [
        (PAY, PAY, {"analyses": mean("pya")}, "analyses: there is no variable 'pya'. Did you mean 'pay'"),
        (PAY, PAY, {"analyses": mean("town")}, "data: the variable 'town' is not numeric"),
        (PAY, PAY, {"analyses": []}, "analyses: it must be one or more analyses"),
        (PAY, PAY, {"analyses": ["mean"]}, "analyses: it must be one or more analyses"),
        (PAY, PAY.rename(columns={"pay": "Pay"}), {}, "released: there is no variable 'pay'. Did you mean 'Pay'"),
        (PAY, PAY.assign(pay="x"), {}, "released: the variable 'pay' is not numeric"),
        (PAY, [], {}, "released: it contains no dataset"),
        (PAY[:1], PAY, {}, "data: 1 records have a value, but 2 are needed"),
        (PAY, [PAY, PAY[:1]], {}, "released: in table 2, 1 records"),
        (PAY.assign(pay=[1.0, np.nan, 3, 4, 5]), PAY, {}, "data: 1 records have a missing value of 'pay'"),
        (PAY, PAY.assign(pay=np.nan), {"missing": "keep"}, "released: 0 records have a value"),
        (PAY, PAY.assign(pay=[1.0, np.inf, 3, 4, 5]), {}, "released: variable 'pay' holds an infinite value"),
        (PAY.assign(age=1.0), PAY, {"analyses": SUMMARIES[4]}, "data: variable 'age' is the same for every record"),
        (PAY, PAY.assign(pay=1.0), {"analyses": SUMMARIES[4]}, "released: variable 'pay' is the same"),
        (PAY, PAY, {"groups": "twon"}, "groups: there is no variable 'twon'. Did you mean 'town'"),
        (PAY, PAY[:3], {"groups": "town"}, "released: no record belongs to group 2 of 'town'"),
        (PAY, PAY[:4], {"groups": "town"}, "released: in group 2 of 'town', 1 records"),
        (PAY, PAY, {"interval": "both"}, "interval: 'both' is not a choice"),
        (PAY, PAY, {"rule": "both"}, "rule: 'both' is not a choice"),
        (PAY, PAY, {"rule": "full"}, "rule: 'full' needs at least two released datasets"),
        (PAY, PAY, {"level": 1.0}, "level: it must be a number between 0 and 1"),
        (PAY, PAY, {"replicates": 1}, "replicates: it must be a whole number from 2 up"),
        (PAY, PAY, {"seed": -1}, "seed: it must be a whole number from 0 up"),
        (PAY, PAY, {"missing": "drop"}, "missing: 'drop' is not a choice"),
    ],
)
def test_bad_arguments_are_named(data, released, change, message):
    settings = {"analyses": mean("pay"), **change}
    with pytest.raises(InputError, match=message):
        estimate(data, released, settings.pop("analyses"), **settings)


def test_bad_analyses_are_named():
    shares: list[Any] = [0, 1, 90, "half"]
    for share in shares:
        with pytest.raises(InputError, match="share: it must be a number between 0 and 1"):
            quantile("pay", share)
    with pytest.raises(InputError, match="other: it is 'pay' as well"):
        correlation("pay", "pay")


@pytest.mark.parametrize("analysis", [mean("pay"), quantile("pay", 0.9)])
@pytest.mark.parametrize("measure", ["overlap", "width_ratio", "relative_bias"])
def test_comparisons_have_the_jackknife_interval_over_the_tables(analysis, measure):
    random = np.random.default_rng(3)
    data = pd.DataFrame({"pay": random.lognormal(3, 1, 200)})
    tables = [pd.DataFrame({"pay": random.lognormal(3.1, 1, 200)}) for _ in range(6)]
    row = estimate(data, tables, analysis).iloc[0]
    rest = np.array([estimate(data, tables[:i] + tables[i + 1 :], analysis)[measure].iloc[0] for i in range(6)])
    reach = t.ppf(0.975, 5) * np.sqrt(5 / 6 * ((rest - rest.mean()) ** 2).sum())
    most = 1.0 if measure == "overlap" else np.inf
    assert row[f"{measure}_high"] == pytest.approx(min(row[measure] + reach, most))
    assert row[f"{measure}_low"] == pytest.approx(row[measure] - reach)


def test_comparisons_of_bootstrap_intervals_have_about_those_of_the_rule():
    random = np.random.default_rng(4)
    data = pd.DataFrame({"pay": random.normal(20, 2, 300)})
    tables = [pd.DataFrame({"pay": random.normal(20, 2, 300)}) for _ in range(20)]
    rule, pooled = (estimate(data, tables, mean("pay"), interval=i).iloc[0] for i in ("combined", "bootstrap"))
    widths = [row["relative_bias_high"] - row["relative_bias_low"] for row in (rule, pooled)]
    # The means of 1,000 resamples have a thirtieth of the error of the means themselves.
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


@pytest.mark.slow
def test_the_interval_of_the_relative_bias_covers_what_endless_tables_would_show():
    # Tables of one population: the mean over endless ones is known, and 95% intervals should hold it.
    random = np.random.default_rng(8)
    data = pd.DataFrame({"pay": [8.0, 9.0, 10.0, 11.0, 12.0]})
    held = 0
    for _ in range(RUNS):
        tables = [pd.DataFrame({"pay": random.exponential(11.0, 30)}) for _ in range(8)]
        row = estimate(data, tables, mean("pay")).iloc[0]
        held += row["relative_bias_low"] <= 0.1 <= row["relative_bias_high"]
    assert_rate(held, RUNS, 0.95, detects=0.2)


@pytest.mark.parametrize("number", [1, 2])
def test_few_tables_give_comparisons_no_interval(number):
    data = pd.DataFrame({"pay": [1.0, 2.0, 4.0, 8.0]})
    row = estimate(data, [data * 1.1] * number, mean("pay")).iloc[0]
    assert row["relative_bias"] == pytest.approx(0.1)
    assert np.isnan(row[["relative_bias_low", "overlap_high", "width_ratio_low"]].astype(float)).all()
