"""Utility under the design of a survey: weighted as `molehill.surveys` does, by what a released table has of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees
from molehill import InputError
from molehill.surveys import (
    SurveyDesign,
    weighted_correlation,
    weighted_distances,
    weighted_mean,
    weighted_quantile,
    weighted_regression,
    weighted_sd,
)
from molehill.utility import (
    combine,
    correlation,
    ecdf_distances,
    estimate,
    mean,
    quantile,
    regression,
    sd,
    table_difference,
)


def draw_sample(seed: int = 1, records: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "w": rng.uniform(1, 9, records),
            "area": rng.choice(list("ABC"), records),
            "psu": rng.integers(0, 40, records),
            "age": rng.normal(size=records),
            "sex": rng.choice(["f", "m"], records),
        }
    )
    frame["psu"] = frame["area"] + frame["psu"].astype(str)
    return frame.assign(pay=np.exp(frame["age"] / 2 + rng.normal(size=records)), work=rng.random(records) < 0.4)


OWN = draw_sample()
DESIGN = SurveyDesign(weight="w", stratum="area", cluster="psu")
RELEASED = [OWN.assign(pay=draw_sample(seed)["pay"]) for seed in (2, 3, 4)]


def weighted_one(frame: pd.DataFrame, analysis: Any, design: SurveyDesign = DESIGN, **how: Any) -> Any:
    sample = design.read(frame)
    if analysis.kind == "mean":
        return weighted_mean(sample, frame["pay"], **how)
    if analysis.kind == "quantile":
        return weighted_quantile(sample, frame["pay"], analysis.share, **how)
    if analysis.kind == "sd":
        return weighted_sd(sample, frame["pay"], **how)
    return weighted_correlation(sample, frame["pay"], frame["age"], fisher=True, **how)


@pytest.mark.parametrize("analysis", [mean("pay"), quantile("pay", 0.8), sd("pay"), correlation("pay", "age")])
def test_estimates_are_those_of_the_survey_combined_by_the_rule(analysis):
    row = estimate(OWN, RELEASED, analysis, design=DESIGN).iloc[0]
    own, *others = (weighted_one(frame, analysis) for frame in (OWN, *RELEASED))
    points, variances = [one.point for one in others], [one.variance for one in others]
    both = combine(points, variances, degrees=min(one.degrees for one in others))
    back = np.tanh if analysis.kind == "correlation" else float
    assert row["confidential"] == pytest.approx(back(own.point))
    assert row["released"] == pytest.approx(back(both.point))
    assert (row["released_low"], row["released_high"]) == pytest.approx((back(both.low), back(both.high)))


def test_a_group_keeps_the_design_whole():
    found = estimate(OWN, RELEASED, mean("pay"), design=DESIGN, groups="sex").set_index("group")
    for sex in ("f", "m"):
        own = weighted_one(OWN, mean("pay"), within=OWN["sex"] == sex)
        row = found.loc[sex]
        assert (row["confidential"], row["confidential_high"]) == pytest.approx((own.point, own.high))


def test_whoever_does_not_have_a_column_of_the_design_does_without():
    row = estimate(OWN, RELEASED, mean("pay"), design=DESIGN, hidden=["area", "psu"]).iloc[0]
    # The confidential table is as it was drawn; users of the release know the weight alone.
    assert row["confidential_high"] == pytest.approx(weighted_one(OWN, mean("pay")).high)
    others = [weighted_one(frame, mean("pay"), SurveyDesign(weight="w")) for frame in RELEASED]
    both = combine([one.point for one in others], [one.variance for one in others], degrees=others[0].degrees)
    assert row["released_high"] == pytest.approx(both.high)


@pytest.mark.parametrize("way", ["hidden", "dropped"])
def test_without_the_weight_a_release_is_read_as_it_is(way):
    released = [frame.drop(columns="w") for frame in RELEASED] if way == "dropped" else RELEASED
    hidden = ["w"] if way == "hidden" else []
    row = estimate(OWN, released, mean("pay"), design=DESIGN, hidden=hidden).iloc[0]
    plain = estimate(OWN, RELEASED, mean("pay")).iloc[0]
    assert (row["released"], row["released_low"]) == pytest.approx((plain["released"], plain["released_low"]))
    assert row["confidential"] == pytest.approx(weighted_one(OWN, mean("pay")).point)


@pytest.mark.parametrize("family", ["linear", "logit", "poisson"])
def test_regressions_are_those_of_the_survey(family):
    data = OWN.assign(y={"linear": OWN["pay"], "logit": OWN["work"] * 1, "poisson": OWN["pay"].round()}[family])
    analysis = regression("y ~ age + sex", family)
    found = estimate(data, [data, data], analysis, design=DESIGN)
    matrix = np.column_stack([np.ones(len(data)), data["age"], data["sex"] == "m"]).astype(float)
    names = ["Intercept", "age", "sex[m]"]
    one = weighted_regression(DESIGN.read(data), data["y"], matrix, family=family)
    assert [name.split(" in ")[0] for name in found["analysis"]] == names
    assert found["confidential"].to_numpy() == pytest.approx(one.point)
    assert found["confidential_high"].to_numpy() == pytest.approx(one.high)


def test_records_without_a_value_are_outside_of_the_group_and_in_the_design():
    data = OWN.assign(pay=OWN["pay"].where(np.arange(len(OWN)) % 7 != 0))
    row = estimate(data, data, mean("pay"), design=DESIGN, missing="keep").iloc[0]
    own = weighted_one(data, mean("pay"), missing="keep")
    assert (row["confidential"], row["confidential_low"]) == pytest.approx((own.point, own.low))
    with pytest.raises(InputError, match="43 records have a missing value of 'pay'"):
        estimate(data, data, mean("pay"), design=DESIGN)
    linear = estimate(data, data, regression("pay ~ age"), design=DESIGN, missing="keep").iloc[1]
    matrix = np.column_stack([np.ones(len(data)), data["age"]])
    slope = weighted_regression(DESIGN.read(data), data["pay"], matrix, missing="keep")
    assert linear["confidential_high"] == pytest.approx(slope.high[1])


def test_variances_by_the_bootstrap_of_clusters_are_those_of_linearisation_but_for_chance():
    lines = estimate(OWN, RELEASED, [mean("pay"), sd("pay")], design=DESIGN)
    drawn = estimate(OWN, RELEASED, [mean("pay"), sd("pay")], design=DESIGN, interval="bootstrap", replicates=2000)
    width = [frame["confidential_high"] - frame["confidential_low"] for frame in (lines, drawn)]
    # Of 2,000 replicates a standard error is sure to 1.6%. Records for clusters would have it off by more than this.
    assert_agrees(np.log(width[1] / width[0]), 0.0, 1 / np.sqrt(2 * 2000), detects=0.15)
    assert (drawn["confidential"] == lines["confidential"]).all()


def test_weights_of_one_are_no_weights():
    data, released = OWN.assign(w=1.0), [frame.assign(w=1.0) for frame in RELEASED]
    design = SurveyDesign(weight="w")
    plain = estimate(data, released, [mean("pay"), quantile("pay", 0.9)])
    weighted = estimate(data, released, [mean("pay"), quantile("pay", 0.9)], design=design)
    for name in ("confidential", "confidential_low", "released", "released_high", "overlap"):
        assert weighted[name].to_numpy() == pytest.approx(plain[name].to_numpy())
    assert ecdf_distances(data, released, "pay", design=design).value("U_m") == pytest.approx(
        ecdf_distances(data, released, "pay").value("U_m")
    )


def test_distribution_functions_are_weighted():
    found = ecdf_distances(OWN, RELEASED, "pay", design=DESIGN)
    by_hand = [weighted_distances(OWN["pay"], OWN["w"], frame["pay"], frame["w"]) for frame in RELEASED]
    assert found.value("U_m") == pytest.approx(np.mean([one.U_m for one in by_hand]))
    assert found.value("U_a") == pytest.approx(np.mean([one.U_a for one in by_hand]))


def test_a_two_way_table_by_hand():
    data = pd.DataFrame({"town": list("AABB"), "sex": list("fmfm"), "w": [1.0, 3.0, 2.0, 2.0]})
    released = data.assign(sex=list("ffmm"))
    # Of 8: A f 1 -> 4, A m 3 -> 0, B f 2 -> 0, B m 2 -> 4.
    found = table_difference(data, released, [("town", "sex")], design=SurveyDesign(weight="w"))
    assert found.value("variation") == pytest.approx((3 + 3 + 2 + 2) / 8 / 2)
    assert found.value("difference") == pytest.approx(3 / 8)
    grouped = table_difference(data, released, [("town", "sex")], design=SurveyDesign(weight="w"), groups="town")
    assert grouped.value("variation", group="A") == pytest.approx(3 / 4)


def test_what_cannot_be_a_design_is_refused():
    for given, words in (("w", "design: it is of type str"), (SurveyDesign(weight="wt"), "weight: ")):
        with pytest.raises(InputError, match=words):
            estimate(OWN, RELEASED, mean("pay"), design=given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="correlation of 'pay' and 'age': it is constant"):
        estimate(OWN.assign(age=1.0), RELEASED, correlation("pay", "age"), design=DESIGN)
    released = [RELEASED[0].assign(w=-1.0)]
    with pytest.raises(InputError, match="released: weight: 300 records have a negative value"):
        estimate(OWN, released, mean("pay"), design=DESIGN)
