"""Shapes of columns and those who stand out: worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from molehill.evaluation.catalogue.distributions import repeated_share, spread_ratio, tail_ratio
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.risk.intruder import Intruder
from molehill.utility.densities import tail_grid

TOWN = Intruder(known="town", sensitive="pay", radius=0.1)
# 100 people in a town whose pays are 1, 2, ..., 100 thousand, and four in another.
PEOPLE = pd.DataFrame({"town": ["A"] * 100 + ["B"] * 4, "pay": [*(1000.0 * np.arange(1, 101)), 50.0, 60.0, 70.0, 80.0]})


def value(evaluation, measure, scheme="released", of=None, at=None):
    rows = pd.concat([evaluation.risk, evaluation.utility])
    rows = rows[(rows["measure"] == measure) & (rows["scheme"] == scheme)]
    rows = rows if of is None else rows[rows["of"] == of]
    rows = rows if at is None else rows[rows["at"] == at]
    assert len(rows) == 1
    return rows["value"].iloc[0]


@pytest.fixture(scope="module")
def doubled():
    """Everybody's pay is doubled around nothing, and one value of the second table is absurd."""
    tables = [PEOPLE.assign(pay=2 * PEOPLE["pay"]) for _ in range(2)]
    tables[1].loc[0, "pay"] = -37_937_755_159.0
    return evaluate(PEOPLE, tables, TOWN, EvaluationOptions(propensity_methods=()))


def test_an_absurd_release_is_seen_by_its_shape(doubled):
    middle = np.median(PEOPLE["pay"])
    assert value(doubled, "reach_ratio", of="largest") == pytest.approx((200_000 - middle) / (100_000 - middle))
    assert value(doubled, "reach_ratio", of="smallest") == pytest.approx((middle + 37_937_755_159) / (middle - 50))
    assert value(doubled, "spread_ratio") > 1000
    assert spread_ratio(2 * PEOPLE["pay"].to_numpy(), PEOPLE["pay"].to_numpy()) == pytest.approx(2)
    assert tail_ratio(3 * PEOPLE["pay"].to_numpy(), PEOPLE["pay"].to_numpy()) == pytest.approx(3)
    assert str(doubled).startswith("released: Do not release, because the standard deviation of pay is")


def test_heaps_are_counted(doubled):
    # All of A are multiples of a thousand, the four of B of ten.
    assert value(doubled, "heaped", "confidential", at=100.0) == pytest.approx(100 / 104)
    assert value(doubled, "heaped", "confidential", at=10_000.0) == pytest.approx(10 / 104)
    assert value(doubled, "losses") == pytest.approx(1 / 104 / 2)
    assert repeated_share(np.array([1.0, 1.0, 2.0, 3.0])) == 0.5


def test_the_pooled_gap_is_that_of_all_tables_together():
    """One table lies low and the other high: together they are right, one by one they are not."""
    low, high = PEOPLE.copy(), PEOPLE.copy()
    low.loc[:99, "pay"] = np.repeat(1000.0 * np.arange(1, 51), 2)
    high.loc[:99, "pay"] = np.repeat(1000.0 * np.arange(51, 101), 2)
    found = evaluate(PEOPLE, [low, high], TOWN, EvaluationOptions(propensity_methods=()))
    assert value(found, "U_m") == pytest.approx(50 / 104)
    assert value(found, "U_m_combined") < 0.01 + 1e-9


def test_small_patterns_are_counted(doubled):
    for scheme in ("confidential", "released"):
        assert value(doubled, "smallest_pattern", scheme) == 4
        assert value(doubled, "in_small_patterns", scheme) == 4


def test_those_who_stand_out_are_the_isolated_and_the_largest():
    people = pd.DataFrame({"town": ["A"] * 200, "pay": [1_000_000.0, *np.linspace(100, 120, 199)]})
    safe = people.assign(pay=[110.0, *people["pay"][1:]])
    found = evaluate(people, {"as it is": people, "safe": safe}, TOWN, EvaluationOptions(propensity_methods=()))
    # The one with a million is far from all 199 others, in a pattern of 200; next come those at the ends.
    for measure in ("isolated_mean", "largest_mean"):
        assert value(found, measure, "as it is") == value(found, measure, "confidential")
        assert value(found, measure, "safe") < value(found, measure, "as it is")
    top = found.top[(found.top["list"] == "released") & (found.top["rank"] == 1)]
    assert top["range"].iloc[0] == "1,000,000 to 2,000,000"


def test_before_is_the_same_measure_as_after():
    """What is published as it is has after what it had before, whatever is measured."""
    found = evaluate(PEOPLE, {"as it is": [PEOPLE, PEOPLE]}, TOWN, EvaluationOptions(propensity_methods=()))
    for measure in (
        "risk_mean",
        "matches_true",
        "combined_mean",
        "combined_match_rate",
        "isolated_mean",
        "largest_mean",
    ):
        assert value(found, measure, "as it is") == pytest.approx(value(found, measure, "confidential")), measure


def test_curves_are_kept_for_all_records_and_within_groups(doubled):
    shapes = doubled.shapes
    assert set(shapes["scheme"]) == {"confidential", "released"}
    own = shapes[(shapes["scheme"] == "confidential") & (shapes["by"] == "")]
    below = own[own["curve"] == "below"]
    assert below["value"].tolist() == pytest.approx([(PEOPLE["pay"] <= at).mean() for at in below["at"]], abs=1e-4)
    # Of the four of B there is no curve: it would be their values.
    curves = shapes[shapes["curve"] != "pair"]
    assert set(curves.loc[curves["by"] == "town", "group"]) == {"A"}
    assert "beneath" not in set(shapes["curve"])


def test_levels_have_shares():
    homes = pd.DataFrame({"town": ["A"] * 60, "home": ["own"] * 40 + ["rent"] * 20})
    other = homes.assign(home=["own"] * 20 + ["rent"] * 40)
    seen = Intruder(known="town", sensitive="home", kinds={"home": "categorical"})
    found = evaluate(homes, other, seen, EvaluationOptions(propensity_methods=()))
    levels = found.shapes[found.shapes["curve"] == "level"].set_index(["scheme", "level"])["value"]
    assert levels["confidential", "own"] == pytest.approx(2 / 3)
    assert levels["released", "own"] == pytest.approx(1 / 3)


def test_a_tail_is_not_followed_for_ever():
    assert tail_grid(np.array([1.0, 2.0]), np.array([1e12])).max() <= 2500
    assert not len(tail_grid(np.array([-1.0, 0.0]), np.array([5.0])))


def test_a_notebook_shows_verdict_table_and_figures():
    evaluation = evaluate(PEOPLE, {"<b>": PEOPLE, "other": PEOPLE}, TOWN, EvaluationOptions(propensity_methods=()))
    html = evaluation._repr_html_()
    assert "Do not release, because most of the risk is left" in html
    assert "mean risk, tables pooled" in html
    assert html.count("data:image/svg+xml;base64,") == 2
    assert "<b>" not in html


def test_patterns_of_those_without_a_value_are_no_smallest_pattern():
    people = pd.DataFrame({"town": ["A"] * 4 + ["B"], "pay": [100.0, 105.0, 300.0, 50.5, np.nan]})
    intruder = Intruder(known="town", sensitive="pay", radius=0.1, missing_values="keep")
    found = evaluate(
        people, people.assign(pay=people["pay"] + 1), intruder, EvaluationOptions(propensity_methods=(), analyses=())
    )
    assert value(found, "smallest_pattern") == 4
    assert value(found, "in_small_patterns") == 4


def test_pairs_of_columns_are_kept_from_either_side_and_one_column_has_none():
    random = np.random.default_rng(1)
    homes = pd.DataFrame({"town": random.choice(list("AB"), 80), "pay": random.lognormal(size=80)})
    other = homes.assign(pay=random.permutation(homes["pay"]))
    alone = evaluate(
        homes, other, Intruder(known=(), sensitive="pay", radius=0.1), EvaluationOptions(propensity_methods=())
    )
    assert "pair" not in set(alone.shapes["curve"])
    both = evaluate(
        homes,
        other,
        Intruder(known=(), sensitive=["town", "pay"], radius=0.1),
        EvaluationOptions(propensity_methods=()),
    )
    pairs = both.shapes[both.shapes["curve"] == "pair"]
    assert pairs[["column", "by"]].to_dict("split")["data"] == [["town", "pay"], ["pay", "town"]]
    assert pairs["value"].nunique() == 1
    assert (pairs["at"] > 0).all()
