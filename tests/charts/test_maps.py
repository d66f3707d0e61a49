from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from molehill import InputError
from molehill.charts import Which, measure_map, risk_utility_map, search_map
from molehill.charts.maps import list_choices


def test_map_holds_risk_and_utility_of_every_scheme(evaluation, charts, draw):
    points = charts["map"].data_with("left").set_index("scheme")
    risks: Any = evaluation.risk.query("measure == 'risk_mean'").set_index("scheme")
    losses: Any = evaluation.utility.query("measure == 'U_m' and group == ''").set_index("scheme")
    assert points.index.tolist() == list(evaluation.schemes)
    for name in evaluation.schemes:
        assert points.loc[name, "up"] == pytest.approx(risks.loc[name, "value"], rel=1e-3)
        assert points.loc[name, "across"] == pytest.approx(losses.loc[name, "value"], rel=1e-3)
    assert points.loc["noise", ["left", "right"]].tolist() == pytest.approx(
        losses.loc["noise", ["low", "high"]], rel=1e-3
    )
    lines = charts["map"].data_with("label")
    assert lines["up"].dropna().tolist() == [risks.loc["confidential", "value"]]
    other = draw(risk_utility_map(evaluation, utility="wasserstein", risk="risk_above_50"))
    assert "Wasserstein distance" in other.specification["description"]
    with pytest.raises(InputError, match="utility: there is no measure 'U_n'"):
        risk_utility_map(evaluation, utility="U_n")
    with pytest.raises(InputError, match="column: there is no 'U_m' of 'age'"):
        risk_utility_map(evaluation, column="age")


def test_map_says_which_corner_is_the_good_one(evaluation, charts, draw):
    assert "Lower left: lower risk" in charts["map"].subtitle
    overlap = draw(risk_utility_map(evaluation, utility="overlap", of="sd of income"))
    assert "Lower right: lower risk" in overlap.subtitle
    assert "interval overlap of sd of income" in overlap.specification["description"]
    # Neither more nor less of it is better.
    assert "lower risk" not in draw(risk_utility_map(evaluation, utility="width_ratio")).subtitle
    with pytest.raises(InputError, match="of: there is no 'overlap' of 'mode of income'"):
        risk_utility_map(evaluation, utility="overlap", of="mode of income")


def test_any_two_measures_make_a_map_with_the_intervals_of_both(evaluation, draw):
    drawn = draw(measure_map(evaluation, "risk_mean", Which("matches_true")))
    rows = drawn.data_with("left").set_index("scheme")
    assert rows.index.tolist() == ["confidential", *evaluation.schemes]
    for name in rows.index:
        for measure, fields in (("risk_mean", ["across", "left", "right"]), ("matches_true", ["up", "bottom", "top"])):
            figures: Any = evaluation.risk[evaluation.risk["measure"] == measure].set_index("scheme")
            wanted = figures.loc[name, ["value", "low", "high"]].to_numpy(dtype=float)
            np.testing.assert_allclose(rows.loc[name, fields].to_numpy(dtype=float), wanted, rtol=1e-3)
    # It has both figures, and is a point.
    assert drawn.data_with("label").empty
    assert drawn.subtitle.startswith("Lower left is better.")


def test_what_has_one_of_two_figures_is_a_line(evaluation, draw):
    drawn = draw(measure_map(evaluation, "isolated_mean", Which("overlap", of="sd of income")))
    (line,) = drawn.data_with("label").to_dict("records")
    confidential = evaluation.risk.query("measure == 'isolated_mean' and scheme == 'confidential'")["value"]
    assert line["across"] == pytest.approx(confidential.item(), rel=1e-3)
    assert drawn.subtitle.startswith("Upper left is better.")
    assert "interval overlap of sd of income" in drawn.texts
    other = draw(measure_map(evaluation, Which("overlap", column="income"), "isolated_mean"))
    assert other.data_with("label")["up"].tolist() == [line["across"]]
    # Neither more nor less of it is better.
    assert draw(measure_map(evaluation, "U_m", "width_ratio")).subtitle.startswith("Left is better.")


def test_figures_are_chosen_by_column_of_and_at(evaluation, draw):
    radii: Any = evaluation.risk.query("measure == 'radius_mean' and scheme == 'noise'").set_index("at")["value"]
    assert len(radii) == 3
    for at in radii.index[[0, -1]]:
        rows = draw(measure_map(evaluation, "U_m", Which("radius_mean", at=at))).data_with("left")
        assert rows.set_index("scheme").loc["noise", "up"] == pytest.approx(radii[at], rel=1e-3)
    for which, words in [
        ("risk_men", "up: there is no measure 'risk_men' that a release has. Did you mean 'risk_mean'"),
        (Which("overlap", of="mode of income"), "up: there is no 'overlap' whose 'of' is 'mode of income'. Did you"),
        (Which("overlap", column="age"), "up: there is no 'overlap' whose 'column' is 'age'"),
        (Which("radius_mean", at=9.0), "up: there is no 'radius_mean' whose 'at' is 9.0"),
        (Which("risk_mean", at=0.2), "up: there is no 'risk_mean' whose 'at' is 0.2"),
    ]:
        with pytest.raises(InputError) as raised:
            measure_map(evaluation, "U_m", which)
        assert words in str(raised.value)


def test_every_figure_of_a_release_can_be_chosen_once(evaluation):
    choices = list_choices(evaluation)
    both = [frame[frame["group"] == ""] for frame in (evaluation.risk, evaluation.utility)]
    own = {
        (row.measure, row.column, row.of, f"{row.at}")
        for frame in both
        for row in frame.itertuples()
        if row.scheme != "confidential" and np.isfinite(row.value)
    }
    asked = [(*one.which[:3], "nan" if one.which.at is None else f"{one.which.at}") for one in choices]
    assert len(asked) == len(set(asked))
    assert set(asked) == own
    assert {one.better for one in choices} == {"lower", "higher", ""}
    for one in choices:
        ends = np.array(list(one.values.values()))
        assert one.reach[0] <= np.nanmin(ends) <= np.nanmax(ends) < one.reach[1]


def test_releases_without_both_figures_make_no_map(evaluation):
    with pytest.raises(InputError, match="no release has both 'increases' and 'U_m'"):
        measure_map(replace(evaluation, utility=evaluation.utility.query("scheme == 'noise'")), "U_m", "increases")


def test_the_search_has_every_point_with_its_bars_and_marks_the_chosen_one(points, baselines, charts, draw):
    drawn = charts["search"].data_with("chosen")
    # Three points and two baselines in the first panel, the points again in the second.
    assert len(drawn) == 5 + 3
    assert set(drawn.loc[drawn["chosen"], "label"]) == {"2: pairwise, shift 0.5, membership prior"}
    first = drawn[drawn["number"] == "1"].iloc[0]
    assert first[["up", "across"]].tolist() == [0.2136, 0.03579]
    assert first[["bottom", "left"]].tolist() == pytest.approx(
        [0.2136 - 1.96 * 0.001, 0.03579 - 1.96 * 0.0005], abs=1e-4
    )
    states = ["fails a criterion", *["meets the criteria"] * 2]
    assert drawn["scheme"].tolist() == [*states, "topcoding", "noise, 10% of the sd", *states]
    # All have a number in the panel that is closer, in the other one only the chosen one.
    assert drawn["number"].tolist() == ["", "2", "", "", "", "1", "2", "3"]
    assert "Ring: the selected one" in charts["search"].subtitle
    missed = draw(search_map(points, baselines, fresh=np.nan, chosen=0, column="income"))
    assert "Ring: the closest one" in missed.subtitle
    assert "sampling benchmark" not in missed.texts
    alone = draw(search_map(points.head(1), baselines, fresh=np.nan, chosen=0, column="income"))
    assert alone.data_with("chosen")["number"].tolist() == ["1", "", ""]
