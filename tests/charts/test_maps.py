from typing import Any

import numpy as np
import pytest

from molehill import InputError
from molehill.charts import risk_utility_map, search_map


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
    lines = charts["map"].data_with("told")
    assert lines["up"].dropna().tolist() == [risks.loc["confidential", "value"]]
    other = draw(risk_utility_map(evaluation, utility="wasserstein", risk="risk_above_50"))
    assert "Wasserstein distance" in other.specification["description"]
    with pytest.raises(InputError, match="utility: there is no measure 'U_n'"):
        risk_utility_map(evaluation, utility="U_n")
    with pytest.raises(InputError, match="column: there is no 'U_m' of 'age'"):
        risk_utility_map(evaluation, column="age")


def test_map_says_which_corner_is_the_good_one(evaluation, charts, draw):
    assert "Lower left: safer" in charts["map"].subtitle
    overlap = draw(risk_utility_map(evaluation, utility="overlap", of="sd of income"))
    assert "Lower right: safer" in overlap.subtitle
    assert "interval overlap of sd of income" in overlap.specification["description"]
    # Neither more nor less of it is better.
    assert "safer" not in draw(risk_utility_map(evaluation, utility="width_ratio")).subtitle
    with pytest.raises(InputError, match="of: there is no 'overlap' of 'mode of income'"):
        risk_utility_map(evaluation, utility="overlap", of="mode of income")


def test_the_search_has_every_point_with_its_bars_and_marks_the_chosen_one(points, baselines, charts, draw):
    drawn = charts["search"].data_with("chosen")
    # Three points and two baselines in the first panel, the points again in the second.
    assert len(drawn) == 5 + 3
    assert set(drawn.loc[drawn["chosen"], "told"]) == {"2: pairwise, shift 0.5, membership prior"}
    first = drawn[drawn["number"] == "1"].iloc[0]
    assert first[["up", "across"]].tolist() == [0.2136, 0.03579]
    assert first[["bottom", "left"]].tolist() == pytest.approx(
        [0.2136 - 1.96 * 0.001, 0.03579 - 1.96 * 0.0005], abs=1e-4
    )
    states = ["misses a target", *["keeps the targets"] * 2]
    assert drawn["scheme"].tolist() == [*states, "topcoding", "noise, 10% of the sd", *states]
    # All have a number in the panel that is closer, in the other one only the chosen one.
    assert drawn["number"].tolist() == ["", "2", "", "", "", "1", "2", "3"]
    assert "Ring: the chosen one" in charts["search"].subtitle
    missed = draw(search_map(points, baselines, fresh=np.nan, chosen=0, column="income"))
    assert "Ring: the closest one" in missed.subtitle
    assert "fresh sample" not in missed.texts
    alone = draw(search_map(points.head(1), baselines, fresh=np.nan, chosen=0, column="income"))
    assert alone.data_with("chosen")["number"].tolist() == ["1", "", ""]
