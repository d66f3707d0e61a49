"""A forest: its law against closed forms, what weights do, what it recovers, and columns of every kind."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from agreement import (
    assert_agrees,
    assert_at_least,
    assert_at_most,
    assert_differs,
    assert_mean,
    assert_rate,
    standard_error,
)
from molehill import Settings, synthesize
from molehill.errors import InputError
from molehill.models import BUILT_IN, forest
from molehill.models.forests.forest import MOST_CODES, SITES, WINDOW
from molehill.models.forests.grid import Grid
from molehill.models.forests.trees import find_leaves
from molehill.rules.support import Support
from molehill.synthesis.fitting import NothingCountsError, draw, fit
from molehill.synthesis.posterior import Posterior, predict_from
from molehill.synthesis.synthesizer import SequentialSynthesizer
from molehill.utility.estimates import combine, mean_and_variance, quantile_and_variance
from people import HOUSEHOLDS, refusal

MANY_TREES = 1_000


def grown(frame: pd.DataFrame, weights: Any = None, *, seed: int = 1, column: str = "y", **about: Any) -> Posterior:
    predictors = about.pop("predictors", None)
    return fit(forest(column, predictors, **about), frame, weights, seed=seed, progress=False)


def tables(posterior: Posterior, datasets: int = 20, seed: int = 2, column: str = "y") -> np.ndarray:
    """The column in every table, (tables, records)."""
    return np.array([table[column].to_numpy() for table in draw(posterior, datasets=datasets, seed=seed)])


def leaf_shares(posterior: Posterior, rows: Any) -> np.ndarray:
    """The distribution that each tree gives to some records, (trees, records, levels)."""
    feature, left, child, shares, lean = (posterior.draws[site][0] for site in SITES)
    facts, codes = posterior.learned.facts, np.ascontiguousarray(posterior.learned.inputs["codes"][rows])
    found = []
    for tree in range(len(child)):
        own = shares[tree, find_leaves(codes, feature[tree], left[tree], child[tree])].astype(np.float64)
        for place in range(codes.shape[1]):
            cell = facts["cells"][place, codes[:, place]]
            own *= np.where(cell[:, None] >= 0, lean[tree][cell][:, facts["group"]], 1.0)
        found.append(own / own.sum(axis=1, keepdims=True))
    return np.array(found)


def same_draws(one: Posterior, other: Posterior) -> bool:
    return all(one.draws[site].tobytes() == other.draws[site].tobytes() for site in SITES)


def mixed(records: int = 400, seed: int = 7) -> pd.DataFrame:
    """An amount that depends on a category and on whether a number passes 0."""
    random = np.random.default_rng(seed)
    group, x = random.choice(["a", "b", "c"], records, p=[0.5, 0.3, 0.2]), random.normal(0, 1, records)
    y = 2.0 * (group == "c") + 3.0 * (x > 0) + random.normal(0, 1, records)
    return pd.DataFrame({"group": group, "x": x, "noise": random.normal(0, 1, records), "y": y})


# The law of the shares, in closed form.


def dirichlet_moments(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = sums.sum()
    share = sums / total
    return share, (np.diag(share) - np.outer(share, share)) / (total + 1)


def shrunk_moments(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of (m_k + 1/K) / (m + 1) with m_k ~ Gamma(sums_k).

    It is w D + (1 - w) / K with D ~ Dirichlet(sums) and w = m / (m + 1), which are independent.
    """
    total, number = sums.sum(), len(sums)
    law: Any = stats.gamma(total)

    def moment(power: int) -> float:
        upto = law.ppf(1 - 1e-15)
        return integrate.quad(lambda m: (m / (m + 1)) ** power * law.pdf(m), 0, upto, limit=500)[0]

    share, covariance = dirichlet_moments(sums)
    first, second = moment(1), moment(2)
    away = share - 1 / number
    return 1 / number + first * away, second * covariance + (second - first**2) * np.outer(away, away)


def assert_moments(found: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Assert mean and covariance of shares: a prior that is left out, or a weight squared, is found."""
    number, spread = len(found), np.sqrt(np.diag(covariance))
    assert_agrees(found.mean(axis=0), mean, spread / np.sqrt(number), detects=spread / 5, of="mean")
    # Shares of rare levels are far from normal: the error of a covariance is that of the mean of these products.
    away = found - mean
    products = away[:, :, None] * away[:, None, :]
    assert_mean(products, covariance, detects=np.outer(spread, spread), of="covariance")


def test_without_predictors_the_shares_are_those_of_a_dirichlet_distribution():
    records = np.array([70, 25, 5])
    posterior = grown(pd.DataFrame({"y": np.repeat(["a", "b", "c"], records)}), trees=4_000)
    assert posterior.draws["shares"].shape == (1, 4_000, 1, 3)
    shares = posterior.draws["shares"][0, :, 0].astype(float)
    assert_moments(shares, *shrunk_moments(records.astype(float)))
    # The prior of 1/3 a level has its mean, and no variance of its own, which only a rare level would show.
    mean, covariance = dirichlet_moments(records + 1 / 3)
    spread = np.sqrt(np.diag(covariance))
    assert_agrees(shares.mean(axis=0), mean, spread / np.sqrt(4_000), detects=spread / 5, of="mean")
    wide = np.outer(spread, spread)[:2, :2]
    # The prior has no variance of its own: a hundredth less.
    error = wide * np.sqrt(2 / 4_000) + wide / 500
    assert_agrees(np.cov(shares[:, :2].T), covariance[:2, :2], error, detects=wide / 4, of="covariance")


@pytest.mark.parametrize("total", [3.0, 12.0, 60.0])
def test_fractional_weights_add_up_exactly_even_where_the_prior_matters(total):
    random = np.random.default_rng(8)
    frame = pd.DataFrame({"y": random.choice(["a", "b", "c", "d"], 60, p=[0.6, 0.2, 0.1, 0.1])})
    weights = random.uniform(0, 1, 60)
    weights *= total / weights.sum()
    posterior = grown(frame, weights, trees=5_000)
    sums = np.array([weights[frame["y"] == level].sum() for level in "abcd"])
    assert_moments(posterior.draws["shares"][0, :, 0].astype(float), *shrunk_moments(sums))


def test_numbers_have_the_same_law():
    values = np.random.default_rng(9).normal(0, 1, 45)
    posterior = grown(pd.DataFrame({"y": values}), trees=4_000)
    grid = posterior.learned.facts["levels"]
    sums = np.bincount(grid.codes(values), minlength=grid.number).astype(float)
    assert_moments(posterior.draws["shares"][0, :, 0].astype(float), *shrunk_moments(sums))


# Weights.


def agree(one: np.ndarray, other: np.ndarray) -> None:
    """Means and variances over independent trees are the same but for error."""
    # Shares of other records twice differ by 0.2 and more; a spread of 0.3, the widest, that is off by a fifth.
    squares = ((one - one.mean(axis=0)) ** 2, (other - other.mean(axis=0)) ** 2)
    for (first, second), detects in (((one, other), 0.15), (squares, 0.045)):
        # A level that no tree has seen has no error at all.
        error = np.hypot(standard_error(first), standard_error(second)) + 1e-9
        assert_agrees(first.mean(axis=0), second.mean(axis=0), error, detects=detects, of="shares")


@pytest.mark.parametrize("column", ["y", "kind"])
def test_weight_2_is_the_record_twice(column):
    frame = mixed(150).assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    twice = np.arange(150) % 3 == 0
    about: dict[str, Any] = {"column": column, "predictors": ["group", "x"], "trees": MANY_TREES, "min_leaf_size": 25}
    weighted = grown(frame, np.where(twice, 2.0, 1.0), **about)
    repeated = grown(pd.concat([frame, frame[twice]], ignore_index=True), seed=2, **about)
    rows = np.arange(0, 150, 10)
    agree(leaf_shares(weighted, rows), leaf_shares(repeated, rows))
    # A test that can fail: with other records twice the shares are others.
    others = grown(frame, np.where(np.roll(twice, 1), 2.0, 1.0), seed=3, **about)
    with pytest.raises(AssertionError, match="beyond 5 of them"):
        agree(leaf_shares(weighted, rows), leaf_shares(others, rows))


def test_a_record_of_weight_0_is_as_good_as_left_out():
    frame, random = mixed(), np.random.default_rng(10)
    weights = random.uniform(0.1, 1, 400)
    gone = random.choice(400, 25, replace=False)
    weights[gone] = 0.0
    about: dict[str, Any] = {"predictors": ["group", "x"], "trees": 40}
    left_out = grown(frame.drop(index=gone.tolist()), weights[weights > 0], **about)
    kept = grown(frame, weights, **about)
    changed = frame.copy()
    changed.loc[gone, "y"] = random.normal(1000, 500, 25)
    changed.loc[gone, "x"] = random.normal(-50, 500, 25)
    changed.loc[gone, "group"] = "a"
    others = grown(changed, weights, **about)
    for each in fields(Grid):
        grids = [posterior.learned.facts["levels"] for posterior in (left_out, kept, others)]
        first, *rest = (getattr(grid, each.name) for grid in grids)
        assert all(np.array_equal(first, other) for other in rest), each.name
    ends = [posterior.learned.facts["coding"].ends["x"] for posterior in (left_out, kept, others)]
    assert ends[0].tobytes() == ends[1].tobytes() == ends[2].tobytes()
    assert same_draws(left_out, kept)
    assert same_draws(kept, others)
    drawn, again = tables(kept, 5), tables(others, 5)
    assert drawn[:, weights > 0].tobytes() == again[:, weights > 0].tobytes()
    assert np.isfinite(again).all()


def test_a_category_of_weight_0_changes_no_tree():
    random = np.random.default_rng(11)
    frame = pd.DataFrame({"x": random.normal(0, 1, 200), "y": random.choice(["a", "b", "c"], 200)})
    weights = np.where(np.arange(200) < 20, 0.0, 1.0)
    changed = frame.assign(y=np.where(weights > 0, frame["y"], "a"))
    about: dict[str, Any] = {"predictors": ["x"], "trees": 40}
    kept, others = grown(frame, weights, **about), grown(changed, weights, **about)
    assert same_draws(kept, others)
    assert (tables(kept, 5) == tables(others, 5)).all()


def test_where_nothing_counts_the_search_is_told():
    frame = mixed(60)
    frame.loc[:9, "y"] = np.nan
    gaps = frame["y"].isna().to_numpy()
    for weights, missing in ((np.zeros(60), False), (gaps * 1.0, False), (gaps * 1.0, True)):
        with pytest.raises(NothingCountsError):
            grown(frame, weights, missing=missing)


def test_weights_of_many_records_are_no_reason_to_run_out_of_memory():
    posterior = grown(mixed(100), np.full(100, 1e9), predictors=["x"], trees=20)
    assert posterior.draws["child"].shape[2] <= 200


# Seeds, threads and chains.


def test_the_same_seed_gives_the_same_bytes_whatever_the_number_of_threads(monkeypatch):
    frame, made = mixed(), []
    for number in (1, 2, 3):
        monkeypatch.setattr("molehill.models.forests.forest.workers", lambda number=number: number)
        made.append(grown(frame, predictors=["group", "x", "noise"], trees=90, seed=5))
    assert all(same_draws(made[0], other) for other in made[1:])
    assert tables(made[0]).tobytes() == tables(made[1]).tobytes()
    other = grown(frame, predictors=["group", "x", "noise"], trees=90, seed=6)
    assert not same_draws(made[0], other)
    assert (tables(made[0]) != tables(made[0], seed=3)).all()
    # A number of trees more changes none of the others.
    more = grown(frame, predictors=["group", "x", "noise"], trees=120, seed=5)
    for site in SITES:
        size = min(made[0].draws[site].shape[2], more.draws[site].shape[2])
        np.testing.assert_array_equal(made[0].draws[site][0, :, :size], more.draws[site][0, :90, :size])


def test_one_seed_for_fit_and_draw_does_not_make_masses_and_values_the_same_numbers():
    # With as many tables as trees, every table begins with the tree of its own number.
    frame = pd.DataFrame({"y": np.random.default_rng(12).normal(0, 1, 50)})
    posterior = grown(frame, trees=WINDOW, seed=3)
    first = np.random.default_rng([3, 0]).standard_gamma(np.ones(50))
    grid = posterior.learned.facts["levels"]
    counts = np.bincount(grid.codes(frame["y"].to_numpy()), first, minlength=grid.number)
    shares = (counts + 1 / grid.number) / (first.sum() + 1)
    assert not np.allclose(posterior.draws["shares"][0, 0, 0], shares, rtol=1e-3)


def test_a_column_is_drawn_through_a_chain_as_it_is_alone():
    frame = mixed()
    alone = forest("y", ["group", "x"], trees=40)
    later = forest("noise", ["group", "y"], trees=40)
    one = fit(alone, frame.drop(columns="noise"), seed=4, progress=False)
    for chain in (SequentialSynthesizer((alone,)), SequentialSynthesizer((alone, later))):
        posterior = fit(chain, frame, seed=4, progress=False)
        assert same_draws(one, posterior.parts["y"])
        np.testing.assert_array_equal(tables(posterior, 5), tables(one, 5))
    # The later column is drawn from what was drawn of the one before.
    bound = frame.assign(noise=10 * frame["y"])
    both = fit(SequentialSynthesizer((alone, later)), bound, seed=4, progress=False)
    made = draw(both, datasets=8, seed=2)
    # The collected one has three quarters of its variance in common with the drawn one, by the predictors of both.
    # On Fisher's scale 1.65 and 0.89 over four fits, with standard deviations of 0.15 and 0.06 between tables at most.
    relations = [(np.corrcoef(table["y"], table["noise"]), np.corrcoef(bound["y"], table["noise"])) for table in made]
    drawn, collected = np.arctanh(np.asarray(relations)[:, :, 0, 1]).mean(axis=0)
    assert_differs(drawn, collected, np.hypot(0.15, 0.06) / np.sqrt(8), effect=1.65 - 0.89)


# What it recovers.


def test_a_category_and_a_threshold_are_recovered():
    frame = mixed(4_000)
    values = tables(grown(frame, predictors=["group", "x", "noise"], min_leaf_size=15, trees=80), 8)
    for group in ("a", "c"):
        for above in (False, True):
            # Near the threshold a bin may lie on both sides.
            chosen = (frame["group"] == group) & (frame["x"] > 0.3 if above else frame["x"] < -0.3)
            expected = frame.loc[chosen, "y"]
            # Parts are shrunk a little: up to 2 of 15, and half of the trees do not try the right predictor at once.
            # Half of what the group makes would be found.
            error = expected.std() * np.sqrt(2 / len(expected))
            assert_agrees(values[:, chosen].mean(), expected.mean(), error, bias=0.1, detects=1.0)


def test_an_unrelated_predictor_does_not_change_the_marginal():
    random = np.random.default_rng(13)
    frame = pd.DataFrame({"y": random.gamma(2, 1, 1000), "x": random.normal(0, 1, 1000)})
    frame["z"] = random.choice(list("abcdefgh"), 1000)
    values = tables(grown(frame, predictors=["x", "z"]), 50)
    # Each table is a sample from about the collected distribution, whose own error is shared by the trees of a window.
    assert_agrees(values.mean(), frame["y"].mean(), frame["y"].std() / np.sqrt(1000 * 25), detects=0.1)
    for share in (0.1, 0.5, 0.9):
        point = frame["y"].quantile(share)
        assert_agrees((values <= point).mean(), share, np.sqrt(share * (1 - share) / (1000 * 25)), detects=0.03)
    for above in (frame["x"] > 0, frame["z"] == "a"):
        counted = above.to_numpy()
        # It follows the records' own chance difference at most.
        own = abs(frame.loc[counted, "y"].mean() - frame["y"].mean())
        error = frame["y"].std() / np.sqrt(counted.sum() * 25)
        assert_at_most(abs(values[:, counted].mean() - values.mean()), own, error, detects=0.25)


@pytest.mark.parametrize(("column", "leaf"), [("y", 400), ("kind", 2000)])
def test_with_parts_as_large_as_the_table_it_depends_on_nothing(column, leaf):
    frame = mixed().assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    posterior = grown(frame, column=column, predictors=["group", "x"], min_leaf_size=leaf)
    assert posterior.draws["child"].shape[2] == 1
    assert (grown(frame, column=column, predictors=["group", "x"]).draws["child"][0, :, 0] > 0).all()


def test_a_category_may_be_told_apart_in_a_fifth_of_the_mass():
    frame = mixed().assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    for column, least in (("y", 50.0), ("kind", 10.0)):
        assert grown(frame, column=column, min_leaf_size=50, trees=20).learned.facts["leaf"] == least
    assert grown(frame, column="kind", min_leaf_size=2, trees=20).learned.facts["leaf"] == 1


# In repeated samples.


@cache
def population() -> Mapping[str, float]:
    people = sample_people(300_000, 99)
    pay = people["pay"]
    figures = {"mean": pay.mean(), "quantile": pay.quantile(0.75), "group": pay[people["group"] == "c"].mean()}
    return {name: float(figure) for name, figure in figures.items()}


def sample_people(records: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    group = random.choice(["a", "b", "c"], records, p=[0.4, 0.3, 0.3])
    pay = 100 + 30 * (group == "c") + random.gamma(4, 15, records)
    return pd.DataFrame({"group": group, "pay": pay})


def estimates(table: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    pay = table["pay"].to_numpy()
    return {
        "mean": mean_and_variance(pay),
        "quantile": quantile_and_variance(pay, 0.75),
        "group": mean_and_variance(pay[table["group"] == "c"]),
    }


@pytest.mark.parametrize("written", ["as drawn", pytest.param("whole", marks=pytest.mark.slow)])
def test_estimates_are_unbiased_and_intervals_cover(written):
    replicates, true = 50, population()
    points: dict[str, list[float]] = {name: [] for name in true}
    covered = dict.fromkeys(true, 0)
    for replicate in range(replicates):
        people = sample_people(400, replicate)
        people["pay"] = people["pay"].round() if written == "whole" else people["pay"]
        posterior = fit(forest("pay", ["group"], trees=60), people, seed=replicate, progress=False)
        found = [estimates(table) for table in draw(posterior, datasets=5, seed=replicate + 1000)]
        for name in true:
            one = combine(*np.transpose([each[name] for each in found]))
            points[name].append(one.point)
            covered[name] += one.low <= true[name] <= one.high
    for name in true:
        # A third of what the groups differ by; intervals from one table alone cover half of the time.
        assert_mean(points[name], true[name], detects=10.0, of=name)
        assert_rate(covered[name], replicates, 0.95, detects=0.45, of=name)


# Columns and predictors of every kind.

ODD = ["<b>&amp;", 'a "quote"', "it's", "two\nlines", "京都", "العربية", "", " ", "None", "nan", "🙂"]


def test_levels_may_be_called_anything():
    random = np.random.default_rng(14)
    first = random.choice(ODD, 1_100)
    frame = pd.DataFrame({"x": first, "y": np.where(random.random(1_100) < 0.95, first, ODD[0])})
    posterior = grown(frame, predictors=["x"])
    values = tables(posterior, 5)
    assert set(np.unique(values)) == set(ODD)
    # Sets of levels are parted by chance, one level at a time, so that all are told apart in time.
    # With all told apart 0.95 and an eleventh of the rest keep theirs; were one of the eleven not, a tenth less would.
    share = 0.95 + 0.05 / 11
    error = np.sqrt(share * (1 - share) * 2 / 1_100)
    assert_at_least((values == frame["x"].to_numpy()).mean(), share, error, detects=0.08)


def test_categories_keep_their_order_and_the_unused_ones():
    frame = HOUSEHOLDS.assign(y=HOUSEHOLDS["job"])
    table = draw(grown(frame, predictors=["age", "region"]), datasets=1, seed=2)[0]
    assert list(table["y"].cat.categories) == ["top", "none", "mid", "low"]
    assert table["y"].cat.ordered
    assert set(table["y"]) == {"top", "mid", "low"}
    facts = grown(frame, predictors=["region"], trees=20).learned.facts
    assert facts["levels"] == ("top", "mid", "low")
    # Their order helps to order the levels of predictors; without one nothing does.
    assert facts["scores"].tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    plain = frame.assign(y=frame["y"].astype(str))
    assert not len(grown(plain, predictors=["region"], trees=20).learned.facts["scores"])


@pytest.mark.parametrize("column", ["wage", "children", "job", "income", "pay"])
def test_any_kind_of_column(column):
    frame = HOUSEHOLDS.rename(columns={"region": "<region>"})
    posterior = grown(frame, column=column, predictors=["age", "<region>"])
    given = frame[column]
    for table in draw(posterior, datasets=3, seed=2):
        assert table[column].dtype == given.dtype
        assert table[column].notna().all()
        assert not table[column].equals(given)
    if column == "income":
        values = tables(posterior, 20, column=column)
        for chosen in (lambda income: income == 0, lambda income: income < 0):
            share = chosen(given).mean()
            error = np.sqrt(2 * share * (1 - share) / 600 / 20)
            assert_agrees(chosen(values).mean(), share, error, detects=0.03)
        assert (values == np.rint(values)).all()


def test_a_number_coded_as_a_category_and_the_other_way_round():
    random = np.random.default_rng(15)
    frame = pd.DataFrame({"y": random.choice([1, 2, 7], 300)})
    assert grown(frame).learned.facts["levels"] == (1, 2, 7)
    assert set(np.unique(tables(grown(frame)))) == {1, 2, 7}
    number = grown(frame, kinds={"y": "continuous"})
    assert number.learned.facts["levels"].spikes.tolist() == [1, 2, 7]


def test_too_many_levels_are_refused_and_so_are_too_few():
    many = pd.DataFrame({"y": [f"level {place}" for place in range(501)] * 2})
    text = refusal(lambda: grown(many), "column")
    assert "501" in text
    assert "level 7" not in text
    grown(many[many["y"] != "level 7"], trees=20)
    for constant in (["a"] * 30, [3.5] * 30, ["a"], [3.5], ["a", None]):
        refusal(lambda constant=constant: grown(pd.DataFrame({"y": constant})), "column")


def test_settings_that_cannot_be_are_refused():
    refused: list[tuple[dict[str, Any], str]] = [
        ({"min_leaf_size": 0.5}, "min_leaf_size"),
        ({"min_leaf_size": np.nan}, "min_leaf_size"),
        ({"min_leaf_size": True}, "min_leaf_size"),
        ({"trees": WINDOW - 1}, "trees"),
        ({"trees": 50.5}, "trees"),
        ({"lower": 3, "upper": 2}, "lower"),
    ]
    for about, argument in refused:
        refusal(lambda about=about: forest("y", **about), argument)
    with pytest.raises(InputError):
        grown(mixed(), predictors=["y"])
    assert forest("y").words == "a forest of trees"
    assert BUILT_IN["forest"].choose(None, "y") == {"min_leaf_size": 30}  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("distinct", [2, 62, 63, 64, 65, 3_000])
def test_a_number_of_any_many_values_has_at_most_64_codes(distinct):
    random = np.random.default_rng(16)
    x = np.append(np.arange(distinct), random.integers(0, distinct, 3_000 - distinct)) / 7
    frame = pd.DataFrame({"x": x, "y": np.where(x > np.median(x), 10.0, 0.0) + random.normal(0, 1, 3_000)})
    posterior = grown(frame, predictors=["x"], trees=40)
    codes = posterior.learned.inputs["codes"]
    sizes = posterior.learned.facts["coding"].sizes
    assert codes.min() >= (0 if distinct == 2 else 1)
    assert codes.max() < sizes[0] <= MOST_CODES
    if distinct == 63:
        assert len(np.unique(codes)) == 63
    if distinct > 2:
        # Codes are in the order of the values, each with its share where these are many.
        assert (np.diff(codes[np.argsort(x), 0].astype(int)) >= 0).all()
    values = tables(posterior, 5)
    away = np.abs(x - np.median(x)) > np.ptp(x) / 30
    high = away & (x > np.median(x))
    if distinct > 2:
        # Shrinkage may take 0.2 of the 10.
        for place, truth in ((high, 10.0), (away & ~high, 0.0)):
            assert_agrees(values[:, place].mean(), truth, np.sqrt(2 / place.sum()), bias=0.2, detects=1.0)


def test_a_predictor_of_many_levels_is_pooled():
    random = np.random.default_rng(17)
    towns = random.choice([f"town {place}" for place in range(200)], 4_000)
    towns[:1_500] = "capital"
    frame = pd.DataFrame({"town": towns, "y": 5.0 * (towns == "capital") + random.normal(0, 1, 4_000)})
    posterior = grown(frame, predictors=["town"])
    assert posterior.learned.facts["coding"].sizes[0] <= MOST_CODES
    assert posterior.learned.facts["design"]["pooled"]["town"] >= 150
    values = tables(posterior, 5)
    assert_agrees(values[:, :1_500].mean(), 5.0, np.sqrt(2 / 1_500), detects=0.5)
    assert_agrees(values[:, 1_500:].mean(), 0.0, np.sqrt(2 / 2_500), detects=0.5)


def test_a_number_that_is_missing_is_a_code_of_its_own():
    random = np.random.default_rng(18)
    x = np.where(random.random(1_000) < 0.3, np.nan, random.normal(0, 1, 1_000))
    frame = pd.DataFrame({"x": x, "y": 6.0 * np.isnan(x) + random.normal(0, 1, 1_000)})
    posterior = grown(frame, predictors=["x"])
    assert ((posterior.learned.inputs["codes"][:, 0] == 0) == np.isnan(x)).all()
    values = tables(posterior, 10)
    errors = np.sqrt(2 / np.isnan(x).sum()), np.sqrt(2 / (~np.isnan(x)).sum())
    assert_agrees(values[:, np.isnan(x)].mean(), 6.0, errors[0], detects=1.0)
    assert_agrees(values[:, ~np.isnan(x)].mean(), 0.0, errors[1], detects=1.0)
    # So it is where all others are the same.
    same = frame.assign(x=np.where(np.isnan(x), np.nan, 4.0))
    assert_agrees(tables(grown(same, predictors=["x"]), 10)[:, np.isnan(x)].mean(), 6.0, errors[0], detects=1.0)


def test_a_predictor_that_is_always_the_same_tells_nothing():
    frame = mixed().assign(still=4.5, word="w", nothing=np.nan)
    bare, about = grown(frame, seed=3), {"predictors": ["still", "word", "nothing"], "seed": 3}
    with_them = grown(frame, **about)
    assert with_them.learned.inputs["codes"].shape == (400, 0)
    assert same_draws(bare, with_them)


def test_breaks_and_formulas_name_predictors():
    frame = mixed()
    posterior = grown(frame, predictors="group * x", breaks={"x": [-1, 0, 1]}, trees=40)
    coding = posterior.learned.facts["coding"]
    assert coding.names == ("group", "x")
    assert coding.sizes.tolist() == [3, 4]
    assert coding.unordered.tolist() == [True, False]


# Missing values.


@pytest.mark.parametrize("column", ["y", "kind"])
def test_missing_values_come_in_their_shares_in_every_group(column):
    random = np.random.default_rng(19)
    frame = mixed(1_500).assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    frame[column] = frame[column].mask(random.random(1_500) < np.where(frame["group"] == "c", 0.6, 0.05))
    gone = frame[column].isna().to_numpy()
    posterior = grown(frame, column=column, predictors=["group"], missing=True)
    made = draw(posterior, datasets=20, seed=2)
    absent = np.array([table[column].isna() for table in made])
    for chosen in (frame["group"] == "c", frame["group"] != "c"):
        share = gone[chosen].mean()
        # Draws of 20 tables, and of the shares that they are from.
        error = np.sqrt(2 * share * (1 - share) / chosen.sum() / 20)
        assert_agrees(absent[:, chosen].mean(), share, error, detects=0.1)
    west = (frame["group"] == "c").to_numpy()
    sides = absent[:, gone & west], absent[:, ~gone & west]
    error = np.sqrt(sum(0.25 / side.size for side in sides))
    assert_agrees(sides[0].mean(), sides[1].mean(), error, detects=0.12)
    assert made[0][column].dtype == frame[column].dtype
    assert set(made[0]["kind"].dropna()) == {"high", "low"}


@pytest.mark.parametrize("column", ["y", "kind"])
def test_missing_values_stay_missing_unless_they_are_asked_for(column):
    frame = mixed().assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    frame[column] = frame[column].mask(np.arange(400) % 7 == 0)
    posterior = grown(frame, column=column, predictors=["x"])
    assert (posterior.weights == frame[column].notna()).all()
    for table in draw(posterior, datasets=5, seed=2):
        assert (table[column].isna() == frame[column].isna()).all()


@pytest.mark.parametrize("column", ["y", "kind"])
def test_where_nothing_is_missing_nothing_will_be(column):
    frame = mixed(60).assign(kind=lambda frame: np.where(frame["y"] > 2, "high", "low"))
    posterior = grown(frame, column=column, missing=True)
    assert not any(table[column].isna().any() for table in draw(posterior, datasets=200, seed=2))
    # Nor where only a record that does not count has no value.
    frame.loc[3, column] = None
    posterior = grown(frame, np.where(np.arange(60) == 3, 0.0, 1.0), column=column, missing=True)
    assert not any(table[column].isna().any() for table in draw(posterior, datasets=200, seed=2))


def test_a_missing_value_stands_before_all_others_in_the_order():
    frame = mixed()
    frame.loc[:99, "y"] = np.nan
    facts = grown(frame, missing=True, trees=20).learned.facts
    assert facts["number"] == facts["levels"].number + 1 == len(facts["scores"])
    assert facts["scores"].argmin() == facts["levels"].number
    # The levels in the order of their values, all different.
    assert np.array_equal(np.argsort(facts["scores"][:-1]), np.argsort(facts["levels"].middles(), kind="stable"))
    assert len(set(facts["scores"])) == facts["number"]


# The support, and what a record must keep to.


def test_the_share_outside_is_told_of_a_tail_that_is_cut_off():
    frame = pd.DataFrame({"y": np.random.default_rng(20).normal(0, 1, 2_000)})
    plain = grown(frame)
    assert plain.mass_outside_range == 0
    free = tables(plain, 50)
    for lower, upper in ((None, 2.5), (-3.0, None), (None, 0.0), (-1.0, 0.5), (-9.0, 9.0)):
        posterior = grown(frame, lower=lower, upper=upper)
        low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
        share = ((free < low) | (free > high)).mean()
        # Of 100,000 draws, and of the 200 trees that they are from.
        error = np.sqrt(max(share, 1e-5) * (1 / 100_000 + 1 / 2_000 / 200))
        assert_agrees(posterior.mass_outside_range, share, error, detects=0.03)
        values = tables(posterior, 5)
        assert ((values >= low) & (values <= high)).all()


def test_whole_numbers_and_cents_stay_so_within_the_support():
    random = np.random.default_rng(21)
    for unit, dtype in ((1, "int64"), (1, "Int64"), (0.01, "float64"), (500, "float64")):
        values = np.round(random.gamma(2, 40, 500)) * unit
        frame = pd.DataFrame({"y": values}).astype({"y": dtype})
        drawn = tables(grown(frame, lower=20 * unit, upper=90 * unit), 10).astype(float)
        assert drawn.min() >= 20 * unit
        assert drawn.max() <= 90 * unit
        np.testing.assert_allclose(drawn / unit, np.rint(drawn / unit), atol=1e-8)


def ruled(posterior: Posterior, **about: Any) -> np.ndarray:
    """Draw once, every record within a support of its own."""
    records = len(posterior.table.frame)
    nowhere, infinite = np.zeros(records, dtype=bool), np.full(records, np.inf)
    given = {"lower": -infinite, "upper": infinite, "allowed": None, "filled": nowhere, **about}
    support = Support("y", fixed=np.full(records, np.nan), empty=nowhere, impossible=nowhere, **given)
    (made,) = predict_from(posterior, [(0, 0)], 1, None, [{"y": support}])
    return np.asarray(made.values["y"])


def test_every_record_keeps_within_its_own_ends():
    frame, random = mixed(2_000), np.random.default_rng(22)
    posterior = grown(frame, predictors=["group", "x"], lower=-20, upper=20)
    low, high = np.sort(random.normal(1, 4, (2, 2_000)), axis=0)
    values = ruled(posterior, lower=low, upper=high)
    assert ((values >= np.maximum(low, -20)) & (values <= np.minimum(high, 20))).all()
    # A record without any value left has none.
    assert np.isnan(ruled(posterior, lower=np.full(2_000, 21.0))).all()


def test_every_record_has_levels_of_its_own_and_is_filled_where_it_must_be():
    random = np.random.default_rng(23)
    frame = pd.DataFrame({"y": pd.Series(random.choice(["a", "b", "c"], 900)).mask(random.random(900) < 0.4)})
    posterior = grown(frame, missing=True)
    allowed = random.random((900, 3)) < 0.5
    filled = random.random(900) < 0.5
    values = ruled(posterior, allowed=allowed, filled=filled)
    there = values >= 0
    assert allowed[there, values[there].astype(int)].all()
    # Missing only where that may be, or where no level is left.
    assert (~there <= (~filled | ~allowed.any(axis=1))).all()
    # Missing is 0.4 against the levels that are left, and certain where none is.
    odds = 0.4 / (0.4 + 0.2 * allowed[~filled].sum(axis=1))
    error = np.sqrt((odds * (1 - odds)).sum()) / len(odds)
    assert_agrees((values[~filled] < 0).mean(), odds.mean(), np.hypot(error, 0.02), detects=0.25)


def test_levels_may_have_an_order_that_settings_give():
    # What a part is ordered by: with an order, levels that lie side by side are parted together.
    random = np.random.default_rng(3)
    table = pd.DataFrame({"age": random.choice(list("abcdef"), 600), "grade": random.choice([3, 1, 2], 600)})
    plain, given = (
        forest("grade", ["age"], kinds={"grade": "categorical"}, levels=levels) for levels in (None, [2.0, 1, 3, 4])
    )
    learned = [fit(one, table, seed=1, progress=False).learned.facts for one in (plain, given)]
    assert [facts["levels"] for facts in learned] == [(1, 2, 3), (2, 1, 3)]
    assert [len(facts["scores"]) for facts in learned] == [0, 3]
    tables = draw(fit(given, table, seed=1, progress=False), datasets=1, seed=1)
    assert tables[0]["grade"].isin([1, 2, 3]).all()
    assert tables[0]["grade"].dtype == table["grade"].dtype
    with pytest.raises(InputError, match="some of 'grade' are not among them"):
        fit(forest("grade", [], kinds={"grade": "categorical"}, levels=[1, 2]), table, seed=1, progress=False)


def test_an_order_of_levels_goes_through_settings():
    random = np.random.default_rng(4)
    table = pd.DataFrame({"sex": random.choice(["f", "m"], 300), "grade": random.choice(["low", "mid", "high"], 300)})
    how = {
        "synthesize": ["grade"],
        "keep": ["sex"],
        "known": ["sex"],
        "datasets": 2,
        "compare": (),
        "seed": 1,
        "expected_risk_draws": 0,
    }
    release = synthesize(
        table, Settings(**how, min_leaf_size=20, levels={"grade": ["low", "mid", "high"]}), progress=False
    )
    assert release.posterior.learned.facts["levels"] == ("low", "mid", "high")
    with pytest.raises(InputError, match="1 levels of 'grade' are not among them"):
        synthesize(table, Settings(**how, levels={"grade": ["low", "high"]}), progress=False)
    with pytest.raises(InputError, match="one of 'grade' is named twice"):
        synthesize(table, Settings(**how, levels={"grade": ["low", "mid", "high", "low"]}), progress=False)
    with pytest.raises(InputError, match="'sex' is no replaced category"):
        synthesize(table, Settings(**how, levels={"sex": ["f", "m"]}), progress=False)


def test_what_only_few_differ_in_is_carried_although_parts_are_large():
    # One in twenty lives on the land and earns half; parts are parted by age, which tells far more.
    random = np.random.default_rng(12)
    rural, age = random.random(4000) < 0.06, random.integers(20, 80, 4000)
    pay = np.exp(random.normal(9.5 + age / 40 - 0.7 * rural, 0.3)).round()
    frame = pd.DataFrame({"rural": np.where(rural, "yes", "no"), "age": age, "pay": pay})
    about: dict[str, Any] = {"column": "pay", "predictors": ["rural", "age"], "lower": 0, "upper": 10**6}

    def told(leaf):
        posterior = fit(forest(**about, min_leaf_size=leaf), frame, seed=1, progress=False)
        made = draw(posterior, datasets=10, seed=1)
        return np.mean([table.loc[rural, "pay"].mean() / table.loc[~rural, "pay"].mean() for table in made])

    # Of what they earn less, 0.87 is carried in three fits; between their ten tables it varies by 0.06 at most.
    lost = 1 - pay[rural].mean() / pay[~rural].mean()
    error = 0.06 / np.sqrt(10)
    assert_at_least((1 - told(200)) / lost, 0.8, error, detects=0.2)
    # Fewer than a part live on the land: then hardly anything is told of them, as of any so few: 0.09.
    assert_at_most((1 - told(400)) / lost, 0.1, error, detects=0.2)


def test_with_parts_as_large_as_the_table_nothing_leans():
    frame = mixed(300)
    posterior = fit(forest("y", ["group", "x"], min_leaf_size=300.0), frame, seed=1, progress=False)
    assert (posterior.draws["lean"] == 1).all()
