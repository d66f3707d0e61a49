"""Several columns of mixed kinds, with constraints and structural emptiness: from settings to what is published."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from drawing import said_in_words
from molehill import Settings, synthesize
from molehill.errors import InputError
from molehill.plan.plan import plan_settings, suggest_order
from molehill.tables.table import as_table

RNG = np.random.default_rng(8)
N = 500
AGE = RNG.integers(5, 80, N)
WAGES = np.where(AGE < 15, np.nan, np.round(RNG.gamma(2.0, 900.0, N), -1))
BENEFITS = np.where(AGE < 15, np.nan, np.round(RNG.gamma(1.0, 200.0, N), -1))
PEOPLE = pd.DataFrame(
    {
        "town": RNG.choice(["A", "B"], N),
        "age": AGE,
        "marital": np.where(AGE < 18, "single", RNG.choice(["single", "married", "widowed"], N)),
        "wages": WAGES,
        "benefits": BENEFITS,
        "total": WAGES + BENEFITS,
    }
)
RULES = ("wages + benefits = total", "age < 18 -> marital = 'single'", "benefits <= 3000")
CALL: dict[str, Any] = {
    "synthesize": ("marital", "wages", "benefits", "total"),
    "keep": ("town", "age"),
    "known": ("town",),
    "lower": {"wages": 0.0, "benefits": 0.0, "total": 0.0},
    "upper": {"wages": 50_000.0, "benefits": 20_000.0, "total": 70_000.0},
    "constraints": RULES,
    "missing_values": "model",
    "compare": ("pairwise",),
    "expected_risk_draws": 0,
    "attacks": "none",
    "datasets": 3,
    "seed": 2,
    "min_leaf_size": 20,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    release = synthesize(PEOPLE, Settings(**CALL), progress=False)
    folder = tmp_path_factory.mktemp("several") / "out"
    with said_in_words():
        release.save(folder, release_anyway=True)
    return release, folder


def test_every_record_of_every_table_keeps_to_the_rules(made):
    for table in (*made[0].datasets, *made[0].comparisons["pairwise"]):
        there = table["age"] >= 15
        for name in ("wages", "benefits", "total"):
            assert (table[name].notna() == there).all()
        assert (table["total"] == table["wages"] + table["benefits"])[there].all()
        assert (table["benefits"].dropna() <= 3000).all()
        assert (table.loc[table["age"] < 18, "marital"] == "single").all()


def test_the_kept_columns_are_kept_and_the_replaced_ones_are_new(made):
    release = made[0]
    for table in release.datasets:
        back = table.iloc[np.argsort(release.order)].reset_index(drop=True)
        pd.testing.assert_frame_equal(back[["town", "age"]], PEOPLE[["town", "age"]])
        for name in release.settings.synthesize:
            assert not back[name].equals(PEOPLE[name])


def test_the_report_tells_the_order_and_the_rules_and_the_public_one_no_rule(made):
    internal = (made[1] / "internal" / "report.html").read_text(encoding="utf-8")
    public = (made[1] / "release" / "report.html").read_text(encoding="utf-8")
    assert "What every released record keeps to" in internal
    assert "wages is empty where age &lt; 15" in internal
    assert "wages + benefits = total" in internal
    assert "marital, wages, benefits, total" in internal
    assert "keeps to" not in public
    assert "is empty where" not in public


def test_the_plan_shows_order_and_rules_and_counts_who_breaks_them():
    broken = PEOPLE.assign(benefits=PEOPLE["benefits"].mask(PEOPLE.index == 3, 9000.0))
    page = str(plan_settings(broken, Settings(**{**CALL, "constraints": RULES[2:]})))
    assert "Drawn one after the other, each given those before it: marital, wages, benefits, total." in page
    assert "Kept in every record: wages is empty where age < 15." in page
    assert "Kept in every record: benefits <= 3000" in page
    assert "break it now" in page
    assert page.count("9000") == 0


def test_few_missing_and_few_levels_come_first():
    assert suggest_order(as_table(PEOPLE), ["total", "wages", "marital"]) == ("marital", "wages", "total")


def test_of_columns_alike_in_levels_the_one_that_tells_most_of_the_others_comes_first():
    rng = np.random.default_rng(2)
    job = rng.integers(0, 8, 4000)
    people = pd.DataFrame(
        {
            "coin": rng.integers(0, 2, 4000),
            "sector": np.where(rng.random(4000) < 0.9, job // 3, 0),
            "job": job,
            "pay": np.exp(0.6 * job + rng.normal(0, 0.3, 4000)),
        }
    ).astype({"coin": str, "sector": str, "job": str})
    assert suggest_order(as_table(people), ["pay", "coin", "sector", "job"]) == ("job", "sector", "coin", "pay")
    # Beyond chance: of few records many levels would seem to tell everything.
    few = people.iloc[:60].assign(job=[str(one) for one in rng.permutation(60) // 6])
    assert suggest_order(as_table(few), ["job", "coin"]) == ("coin", "job")


def test_the_suggested_order_leaves_the_last_of_a_sum_behind_the_others():
    random = np.random.default_rng(5)
    first, second = (random.gamma(2.0, 900.0, 400).round(-2) for _ in range(2))
    table = pd.DataFrame({"town": random.choice(["A", "B"], 400), "a": first, "b": second, "all": first + second})
    limits = {"lower": 0, "upper": 50_000}
    given = Settings(synthesize=["a", "b", "all"], keep=["town"], known=["town"], constraints=["a + b = all"], **limits)
    assert plan_settings(table, given).better[-1] == "all"


def test_columns_in_which_there_is_nothing_to_replace_are_refused_by_the_plan_all_at_once():
    table = PEOPLE.assign(one="x", none=np.nan)
    given = {**CALL, "synthesize": ("one", "marital", "none"), "constraints": (), "lower": {}, "upper": {}}
    with pytest.raises(InputError, match="fewer than two different values to replace in 'one', 'none'"):
        plan_settings(table, Settings(**{**given, "drop": ("wages", "benefits", "total")}))


@pytest.mark.parametrize("missing", ["keep", "model"])
def test_no_record_need_be_complete(missing):
    """As in a survey that asks some of their wage, others of their pension, and nobody for a note."""
    works = np.arange(300) < 150
    random = np.random.default_rng(6)
    amount = random.gamma(2.0, 900.0, 300).round()
    table = pd.DataFrame(
        {
            "town": random.choice(["A", "B"], 300),
            "note": np.full(300, None, dtype=object),
            "wage": np.where(works, amount, np.nan),
            "pension": np.where(works, np.nan, amount / 2),
        }
    )
    how: dict[str, Any] = {"lower": 0, "upper": 50_000, "datasets": 2, "compare": (), "seed": 1, "min_leaf_size": 50}
    how |= {"expected_risk_draws": 0, "attacks": "none"}
    given = Settings(
        synthesize=["wage", "pension"], keep=["town", "note"], known=["town"], missing_values=missing, **how
    )
    made = synthesize(table, given, progress=False)
    assert (made.evaluation.utility["measure"] == "pmse_ratio").any()


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        (["wagez <= total"], "Did you mean 'wages'"),
        (["wages <= 3", "wages >= 5"], "wages"),
        (["marital < 3"], "text"),
        (["benefits >= 4000"], "benefits >= 4000"),
    ],
)
def test_constraints_that_cannot_be_are_refused(constraints, told):
    settings = {**CALL, "constraints": constraints, "compare": (), "expected_risk_draws": 0, "datasets": 1}
    settings |= {"upper": {"wages": 50_000.0, "benefits": 3_000.0, "total": 70_000.0}}
    with pytest.raises(InputError, match="constraints") as raised:
        synthesize(PEOPLE, Settings(**settings), progress=False)
    assert told in str(raised.value)


def test_a_constraint_of_a_dropped_column_is_refused():
    settings = {**CALL, "keep": ("town",), "drop": ("age",), "missing_values": "keep"}
    with pytest.raises(InputError, match="which is dropped"):
        synthesize(PEOPLE, Settings(**settings), progress=False)
