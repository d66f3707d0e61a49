"""Several columns one after the other: what depends on what, where they are empty, and constraints in every record."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from scipy import stats

from agreement import assert_agrees, assert_at_most, assert_mean, assert_rate, assert_rate_at_most
from molehill import Settings
from molehill.arrays import derive_seed
from molehill.errors import InputError
from molehill.models import forest
from molehill.plan.plan import find_rules, plan_settings
from molehill.release.making import choose_synthesizer
from molehill.rules.constraints import Sum
from molehill.rules.emptiness import find_emptiness, may_be_empty
from molehill.rules.reading import read_constraints
from molehill.rules.rules import Rules
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.posterior import Posterior, see_before
from molehill.synthesis.synthesizer import DirectSynthesizer, Learned, Prediction, SequentialSynthesizer
from molehill.tables.table import Table
from molehill.utility.estimates import combine, correlation_and_variance, mean_and_variance
from people import refusal
from properties import examples


def grown(chain: SequentialSynthesizer, frame: pd.DataFrame, weights: Any = None, seed: int = 1) -> Posterior:
    return fit(chain, frame, weights, seed=seed, progress=False)


def forests(*columns: tuple[str, list[str]], rules: Rules | None = None, **about: Any) -> SequentialSynthesizer:
    """A chain of small forests: each column with its predictors; limits, kinds and so on are of all numbers."""
    kinds = about.pop("kinds", {})
    links = []
    for name, predictors in columns:
        own = {column: kind for column, kind in kinds.items() if column in (name, *predictors)}
        links.append(forest(name, predictors, **{"trees": 20, "kinds": own, **about}))
    return SequentialSynthesizer(tuple(links), rules or Rules())


def tables_of(posterior: Posterior, datasets: int = 4, seed: int = 2) -> list[pd.DataFrame]:
    return draw(posterior, datasets=datasets, seed=seed)


# Conjugate links, so that what a chain does is all that is tested: draws of their pseudo posteriors are exact.


def design(table: Table, predictors: list[str], *_: Any) -> dict[str, Any]:
    """A column of ones, numbers as they are, and of a category an indicator of every level but the first."""
    columns = [np.ones(len(table.frame))]
    for name in predictors:
        values = table.frame[name]
        levels = {"group": "bc", "job": "y"}.get(name)
        columns += [values.to_numpy()] if levels is None else [(values == level).to_numpy() for level in levels]
    return {"design": np.column_stack(columns).astype(float)}


def normal_link(column: str, predictors: list[str], number: int = 40) -> DirectSynthesizer:
    """A regression with the prior 1 / sigma^2, every likelihood raised to its weight."""

    def learn(table: Table, weights: Any) -> Learned:
        del weights
        again = partial(design, predictors=predictors)
        outcome = {"outcome": table.frame[column].to_numpy(dtype=float)}
        return Learned({**again(table), **outcome}, again=lambda other, *_: again(other))

    def sample(learned: Learned, weights: Any, seed: int, advance: Any = None) -> dict[str, np.ndarray]:
        del advance
        x, y, random = learned.inputs["design"], learned.inputs["outcome"], np.random.default_rng([seed, 77])
        inverse = np.linalg.inv(x.T @ (weights[:, None] * x))
        centre = inverse @ (x.T @ (weights * y))
        rest = weights @ (y - x @ centre) ** 2
        sigma = np.sqrt(rest / random.chisquare(weights.sum() - x.shape[1], number))
        spread = random.standard_normal((number, x.shape[1])) @ np.linalg.cholesky(inverse).T
        return {"beta": (centre + sigma[:, None] * spread)[None], "sigma": sigma[None]}

    def predict(random: Any, draws: Any, place: int, learned: Learned, inputs: Any) -> Prediction:
        del learned
        x = inputs["design"]
        return Prediction({column: x @ draws["beta"][0, place] + draws["sigma"][0, place] * random.normal(size=len(x))})

    return DirectSynthesizer(column, "normal", "a regression", learn, sample, predict, lambda draws, *_: draws)


def category_link(column: str, by: str, number: int = 40) -> DirectSynthesizer:
    """Shares of two levels in every group, with Jeffreys' prior, every record counting as much as its weight."""

    def learn(table: Table, weights: Any) -> Learned:
        del weights
        groups = np.searchsorted(["a", "b", "c"], table.frame[by])
        return Learned({"groups": groups, "second": (table.frame[column] == "y").to_numpy()}, {"levels": ("x", "y")})

    def sample(learned: Learned, weights: Any, seed: int, advance: Any = None) -> dict[str, np.ndarray]:
        del advance
        counts = [np.bincount(learned.inputs["groups"], weights * side, minlength=3) for side in _sides(learned)]
        return {"share": np.random.default_rng([seed, 77]).beta(counts[1] + 0.5, counts[0] + 0.5, (1, number, 3))}

    def predict(random: Any, draws: Any, place: int, learned: Learned, inputs: Any) -> Prediction:
        del learned
        share = draws["share"][0, place][inputs["groups"]]
        return Prediction({column: (random.random(len(share)) < share).astype(int)})

    return DirectSynthesizer(
        column,
        "shares",
        "shares",
        learn,
        sample,
        predict,
        functionals=lambda draws, *_: draws,
        levels=lambda learned: {column: learned.facts["levels"]},
    )


def _sides(learned: Learned) -> tuple[Any, Any]:
    return ~learned.inputs["second"], learned.inputs["second"]


EXACT = SequentialSynthesizer(
    (
        category_link("job", "group"),
        normal_link("pay", ["group", "job"]),
        normal_link("spend", ["group", "job", "pay"]),
    )
)


# A population with known dependence.

DEPENDENCE = ("job", ["group"]), ("pay", ["group", "job"]), ("spend", ["group", "job", "pay"])


def sample_people(records: int, seed: int, *, rounded: bool = False) -> pd.DataFrame:
    """A category and two amounts, each given those before it and a group that is kept."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, records)
    job = (random.random(records) < np.array([0.2, 0.5, 0.7])[group]).astype(int)
    pay = 10 + 2 * group + 3 * job + random.normal(0, 2, records)
    pay = 4 * np.clip(np.rint(pay / 4), 2, 4) if rounded else pay
    spend = 3 + 0.5 * pay + random.normal(0, 1, records)
    spend = 2 * np.clip(np.rint(spend / 2), 3, 6) if rounded else spend
    names = {"group": np.array(list("abc"))[group], "job": np.array(["x", "y"])[job]}
    return pd.DataFrame({**names, "pay": pay, "spend": spend})


def estimates(table: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    """Means, a correlation, a regression between two replaced columns, and a difference by a replaced category."""
    pay, spend = table["pay"].to_numpy(), table["spend"].to_numpy()
    line: Any = stats.linregress(pay, spend)
    parts = [mean_and_variance(pay[(table["job"] == level).to_numpy()]) for level in ("x", "y")]
    return {
        "mean": mean_and_variance(spend),
        "correlation": correlation_and_variance(pay, spend),
        "slope": (line.slope, line.stderr**2),
        "by job": (parts[1][0] - parts[0][0], parts[1][1] + parts[0][1]),
    }


@cache
def population(*, rounded: bool) -> Mapping[str, float]:
    return {name: found[0] for name, found in estimates(sample_people(300_000, 999, rounded=rounded)).items()}


def check_coverage(
    chain: SequentialSynthesizer, replicates: int, records: int, *, rounded: bool, datasets: int = 5
) -> None:
    """Of estimates that the combining rule joins: the mean over replicates is true, and 95% intervals cover."""
    true = population(rounded=rounded)
    points: dict[str, list[float]] = {name: [] for name in true}
    covered = dict.fromkeys(true, 0)
    for replicate in range(replicates):
        posterior = grown(chain, sample_people(records, replicate, rounded=rounded), seed=replicate)
        found = [estimates(table) for table in tables_of(posterior, datasets, replicate + 1000)]
        for name in true:
            one = combine(*np.transpose([each[name] for each in found]))
            points[name].append(one.point)
            covered[name] += one.low <= true[name] <= one.high
    for name in true:
        # A dependence that is lost would be off by all of it.
        assert_mean(points[name], true[name], detects=0.2 * abs(true[name]), of=name)
        if replicates >= 40:
            # Intervals from one table alone, or too narrow by two thirds, cover half of the time.
            assert_rate(covered[name], replicates, 0.95, detects=0.5, of=name)


@pytest.mark.slow
@pytest.mark.parametrize("replicates", [100])
def test_correlations_and_regressions_between_replaced_columns_are_unbiased_and_covered(replicates):
    check_coverage(EXACT, replicates, 300, rounded=False)


@pytest.mark.parametrize("replicates", [6, pytest.param(40, marks=pytest.mark.slow)])
def test_so_are_those_of_forests_where_amounts_have_few_values(replicates):
    kinds = {"pay": "continuous", "spend": "continuous"}
    chain = forests(*DEPENDENCE, min_leaf_size=10, trees=40, kinds=kinds)
    # Parts are shrunk by a mass of two: with fewer records that is more than the error.
    check_coverage(chain, replicates, 2_000, rounded=True)


def test_a_forest_cuts_an_amount_into_parts_and_loses_what_goes_on_within_them():
    people = sample_people(4_000, 1)
    tables = tables_of(grown(forests(*DEPENDENCE, min_leaf_size=30), people), 10)
    true, found = estimates(people), [estimates(table) for table in tables]
    for name in ("slope", "correlation"):
        # The error of ten tables, each a draw from a draw of the posterior.
        mean, error = np.mean([each[name][0] for each in found]), np.sqrt(2 * true[name][1] / 10)
        # Weaker, by less than a twentieth; never stronger.
        half = 0.025 * true[name][0]
        assert_agrees(mean, true[name][0] - half, error, bias=half, detects=0.1 * true[name][0])
    # With the collected pay the drawn one has only the group in common, a correlation of 0.4, by Fisher's scale.
    relation = np.arctanh(np.corrcoef(people["pay"], tables[0]["spend"])[0, 1])
    assert_at_most(relation, np.arctanh(0.45), 1 / np.sqrt(4_000 - 3), detects=np.arctanh(0.6) - np.arctanh(0.45))
    assert np.corrcoef(tables[0]["pay"], tables[0]["spend"])[0, 1] > 0.8


# What a chain leaves as it is.


def test_rules_of_other_columns_do_not_change_a_column():
    people = sample_people(300, 4)
    alone = forest("pay", ["group"], trees=20)
    one = fit(alone, people.drop(columns="spend"), seed=3, progress=False)
    rules = Rules(constraints=read_constraints("spend >= 0", people), limits={"spend": (-50.0, 50.0)})
    for links, ruled in (((alone,), Rules()), ((alone, forest("spend", ["pay"], trees=20)), rules)):
        both = grown(SequentialSynthesizer(links, ruled), people, seed=3)
        for table, same in zip(tables_of(both), tables_of(one), strict=True):
            np.testing.assert_array_equal(table["pay"], same["pay"])


def test_columns_are_drawn_in_the_order_of_the_settings_each_given_those_before_it():
    people = sample_people(300, 4)
    for order in (("spend", "job", "pay"), ("job", "pay", "spend")):
        limits: Any = {"lower": {"pay": -50.0, "spend": -50.0}, "upper": {"pay": 90.0, "spend": 90.0}}
        asked = Settings(
            synthesize=order, keep=["group"], known=["group"], predictors=["group"], min_leaf_size=20, **limits
        )
        assert plan_settings(people, asked).drawn == order
        chain = choose_synthesizer(asked.intruder.view(people), asked)
        assert isinstance(chain, SequentialSynthesizer)
        assert chain.sensitive == order
        posterior = grown(chain, people)
        assert list(posterior.parts) == list(order)
        for place, part in enumerate(posterior.parts.values()):
            assert part.learned.facts["coding"].names == ("group", *order[:place])
            # Columns of later links are not even there where a link learns and predicts.
            assert not set(order[place + 1 :]) & set(see_before(chain, place, part.table).frame.columns)


@pytest.mark.parametrize("links", [EXACT, forests(("job", ["group"]), ("pay", ["job"]), ("spend", ["pay"]))])
def test_weights_go_to_every_link(links):
    people = sample_people(300, 4)
    twice = pd.concat([people, people.iloc[::-1]], ignore_index=True)
    weights = np.repeat([0.7, 0.0], 300)
    counted, only = grown(links, twice, weights), grown(links, people, np.full(300, 0.7))
    for name in ("job", "pay", "spend"):
        np.testing.assert_array_equal(counted.parts[name].weights, weights)
        for site, values in counted.parts[name].draws.items():
            np.testing.assert_allclose(values, only.parts[name].draws[site], rtol=1e-9)
    fully = grown(links, people)
    for name, part in fully.parts.items():
        assert any(part.draws[site].tobytes() != only.parts[name].draws[site].tobytes() for site in part.draws)


# Where columns are empty because of others.


def survey(records: int = 400) -> pd.DataFrame:
    """Pay is empty below 15 and hours where nobody works, without exception; rent is empty at random as well."""
    random = np.random.default_rng(6)
    age = random.integers(5, 80, records)
    job = np.where((age < 18) | (random.random(records) < 0.3), "none", random.choice(["field", "shop"], records))
    pay = np.where(age < 15, np.nan, random.gamma(2, 100, records).round() + 300 * (job != "none"))
    hours = np.where(job == "none", np.nan, random.integers(5, 60, records))
    rent = np.where((age < 18) | (random.random(records) < 0.2), np.nan, random.gamma(2, 50, records))
    return pd.DataFrame({"age": age, "job": job, "pay": pay, "hours": hours, "rent": rent})


EMPTIED = ("job", "pay", "hours", "rent")


@cache
def emptied() -> tuple[Rules, Posterior]:
    people = survey()
    rules = Rules(find_emptiness(Table(people), EMPTIED, ["age"]))
    links = tuple(
        forest(name, ["age", *EMPTIED[:place]], trees=20, min_leaf_size=10, missing=may_be_empty(rules.empty, name))
        for place, name in enumerate(EMPTIED)
    )
    return rules, grown(SequentialSynthesizer(links, rules), people)


def test_where_a_column_is_empty_because_of_another_is_found():
    told = [str(rule) for rule in emptied()[0].empty]
    assert told == [
        "job is never empty",
        "pay is empty where age < 15",
        "hours is empty where job = 'none'",
        "rent is empty where age < 18",
    ]


def test_a_column_is_empty_by_a_kept_one_and_by_a_replaced_one_in_every_record_of_every_table():
    people, (_, posterior) = survey(), emptied()
    moved = 0
    for table in tables_of(posterior, 10):
        assert table["job"].notna().all()
        assert (table["pay"].isna() == (people["age"] < 15)).all()
        assert (table["hours"].isna() == (table["job"] == "none")).all()
        assert table["rent"][people["age"] < 18].isna().all()
        moved += int((table["hours"].isna() != people["hours"].isna()).sum())
    # It is empty where the new job says so, and not where the old one did.
    assert moved > 500


def test_what_no_rule_says_of_emptiness_is_drawn():
    people, (_, posterior) = survey(), emptied()
    adults = (people["age"] >= 18).to_numpy()
    tables = tables_of(posterior, 10)
    share = np.mean([table["rent"].isna()[adults].mean() for table in tables])
    true = people["rent"].isna()[adults].mean()
    # A table of its own has the error of its records, and the ten have one posterior in common. It is
    # about a quarter: what must be found is that hardly any value is missing, or nearly half of them.
    assert_agrees(share, true, np.sqrt(true * (1 - true) / adults.sum()), detects=0.2, of="rent")
    assert any((table["rent"].isna() != people["rent"].isna()).any() for table in tables)


def test_records_that_are_empty_by_a_rule_do_not_count_for_the_column():
    people, (_, posterior) = survey(), emptied()
    weights = {name: part.weights for name, part in posterior.parts.items()}
    assert (weights["job"] == 1).all()
    np.testing.assert_array_equal(weights["pay"], people["age"] >= 15)
    np.testing.assert_array_equal(weights["hours"], people["job"] != "none")
    # Of those that rules leave over, emptiness is a level.
    np.testing.assert_array_equal(weights["rent"], people["age"] >= 18)


# Constraints, in every record of every table.

LEVELS = ("p", "q", "u")
LIMITS = {"a": (0.0, 3.0), "b": (0.0, 3.0), "c": (0.0, 10.0)}
ALL = ("a", "b", "c", "r", "s")


@cache
def small() -> pd.DataFrame:
    """Two whole numbers, an amount that may be missing, and two categories; k and g are kept."""
    random = np.random.default_rng(9)
    frame = pd.DataFrame({"k": random.integers(0, 4, 80).astype(float), "g": random.choice(LEVELS, 80)})
    frame["a"] = random.integers(0, 4, 80).astype(float)
    frame["b"] = np.minimum(frame["a"], random.integers(0, 4, 80))
    frame["c"] = np.where(random.random(80) < 0.2, np.nan, random.uniform(0, 10, 80).round(3))
    frame["r"] = np.where(random.random(80) < 0.5, frame["g"], random.choice(LEVELS, 80))
    frame["s"] = pd.Series(random.choice(LEVELS, 80)).where(random.random(80) < 0.9)
    return frame


@cache
def small_fit(order: tuple[str, ...]) -> Posterior:
    """A fit does not know of constraints, so that many declarations share it."""
    links = []
    for place, name in enumerate(order):
        ends = dict(zip(("lower", "upper"), LIMITS.get(name, ()), strict=False))
        kinds: Any = {column: "continuous" for column in ("k", *order[: place + 1]) if column in (*LIMITS, "k")}
        missing = bool(small()[name].isna().any())
        links.append(
            forest(name, ["k", "g", *order[:place]], trees=20, min_leaf_size=15, kinds=kinds, missing=missing, **ends)
        )
    return grown(SequentialSynthesizer(tuple(links)), small())


def with_rules(posterior: Posterior, texts: Any, **about: Any) -> Posterior:
    """The same fit, to draw from under constraints."""
    chain, frame = posterior.synthesizer, posterior.table.frame
    assert isinstance(chain, SequentialSynthesizer)
    units = {name: 1.0 for name in ("a", "b") if name in LIMITS}
    constraints = read_constraints(texts, frame, limits=LIMITS, units=units)
    empty = find_emptiness(posterior.table, chain.sensitive, ["k", "g"])
    rules = Rules(empty, constraints, limits=LIMITS, levels={"r": LEVELS, "s": LEVELS}, units=units)
    return replace(posterior, synthesizer=replace(chain, rules=rules), **about)


def check_kept(posterior: Posterior, datasets: int = 1) -> None:
    chain = posterior.synthesizer
    assert isinstance(chain, SequentialSynthesizer)
    # A sum that must equal a bound and has an addend with decimals demands decimals of its last addend, too.
    claims = [claim for each in chain.rules.constraints for claim in (*each.condition, *each.conclusion)]
    finer = any(isinstance(claim, Sum) and claim.sign in ("=", "!=") and "c" in claim.columns for claim in claims)
    for table in tables_of(posterior, datasets):
        assert finer or (table[["a", "b"]].round() == table[["a", "b"]]).all(axis=None)
        for constraint in chain.rules.constraints:
            if set(constraint.columns) & set(chain.sensitive):
                assert constraint.holds(table).all(), constraint.text
        for name, (low, high) in LIMITS.items():
            assert table[name].dropna().between(low, high).all()


EVERY_FORM = (
    ["b <= a"],
    ["b < a + 1", "a > 0"],
    ["a + b = 3"],
    ["a + b - c <= 2"],
    ["a != 2"],
    ["a in (1, 3)", "b not in (2, 3)"],
    ["r = 'p'"],
    ["r != g", "s in ('p', 'q')"],
    ["s = r"],
    ["k > 1 -> r = 'q'"],
    ["r = 'p' and k < 2 -> a = 0 and b = 0"],
    ["a = 3 -> s is empty", "a < 2 -> s is not empty"],
    ["r = 'u' -> c is empty", "c > 5 -> a >= 1"],
    ["(g, r) fixed", "(a, b) fixed"],
    ["c <= k"],
    ["a >= k", "b <= k"],
)


@pytest.mark.parametrize("texts", EVERY_FORM, ids=" & ".join)
@pytest.mark.parametrize("order", [ALL, ALL[::-1], ("r", "c", "b", "s", "a")], ids=" ".join)
def test_a_constraint_of_every_form_is_kept(order, texts):
    check_kept(with_rules(small_fit(order), texts))


@st.composite
def claims(pick):
    kind = pick(st.sampled_from(["sum", "sum", "list", "level", "same", "empty"]))
    if kind == "sum":
        columns = pick(st.lists(st.sampled_from(["a", "b", "c", "k"]), min_size=1, max_size=3, unique=True))
        left = " + ".join(columns) if pick(st.booleans()) else " - ".join(columns)
        return f"{left} {pick(st.sampled_from(['<', '<=', '>', '>=', '=', '!=']))} {pick(st.integers(0, 4))}"
    if kind == "list":
        return f"{pick(st.sampled_from('ab'))} {pick(st.sampled_from(['in', 'not in']))} (0, 2)"
    if kind == "level":
        return f"{pick(st.sampled_from('rs'))} {pick(st.sampled_from(['=', '!=']))} '{pick(st.sampled_from(LEVELS))}'"
    if kind == "same":
        return f"r {pick(st.sampled_from(['= s', '!= s', '= g', '!= g']))}"
    return f"{pick(st.sampled_from('cs'))} is {pick(st.sampled_from(['', 'not ']))}empty"


@st.composite
def declarations(pick):
    if pick(st.integers(0, 9)) == 0:
        return pick(st.sampled_from(["(r, s) fixed", "(g, r) fixed", "(a, b, r) fixed"]))
    conclusion = pick(claims())
    return conclusion if pick(st.booleans()) else f"{pick(claims())} -> {conclusion}"


DECLARED = st.lists(declarations(), min_size=1, max_size=3, unique=True)
ORDERS = st.sampled_from([ALL, ALL[::-1], ("r", "c", "b", "s", "a")])


@examples(8)
@given(DECLARED, ORDERS)
def test_random_constraints_are_kept_or_refused(texts, order):
    told = ""
    try:
        check_kept(with_rules(small_fit(order), texts))
    except InputError as refused:
        told = refused.argument
    # Contradictions are refused before anything is drawn, and records that cannot be drawn then.
    assert told in ("", "constraints")
    event("refused" if told else "kept")


def test_a_record_that_cannot_keep_a_constraint_is_refused_and_no_value_is_told():
    # Nobody can have more than three, whatever the kept column asks for.
    posterior = with_rules(small_fit(("a",)), ["a > k"])
    text = refusal(lambda: tables_of(posterior, 1), "constraints")
    number = int((small()["k"] == 3).sum())
    assert f"for {number} record(s)" in text
    assert "3.0" not in text
    assert "contradict" in refusal(lambda: with_rules(small_fit(ALL), ["a > 2", "a < b", "b < 3"]), "constraints")


def test_what_was_drawn_before_is_drawn_again_where_nothing_is_left_for_a_later_column():
    # Of a, b and r only combinations that occur: what a and b leave to r may be nothing, and s comes after it.
    posterior = with_rules(small_fit(ALL), ["(a, b, r) fixed"])
    frequent = small().groupby(["a", "b", "r"]).size()
    frequent = set(frequent.index[frequent >= 3])
    for table in tables_of(posterior, 4):
        assert set(table[["a", "b", "r"]].itertuples(index=False, name=None)) <= frequent
    constraint = read_constraints(["(a, b, r) fixed"], small())[0]
    free = tables_of(small_fit(ALL), 4)
    assert not all(constraint.holds(table).all() for table in free)


def chance_link(records: int = 3) -> DirectSynthesizer:
    """A column that is 1, 2 or 3 with equal chances, whatever the table holds."""

    def predict(random: Any, draws: Any, place: int, learned: Learned, inputs: Any) -> Prediction:
        del draws, place, inputs
        return Prediction({"x": random.integers(1, records + 1, len(learned.inputs["x"])).astype(float)})

    return DirectSynthesizer(
        "x",
        "dice",
        "dice",
        learn=lambda table, _: Learned({"x": table.frame["x"].to_numpy()}, again=lambda *_: {}),
        sample=lambda *_, **__: {"none": np.zeros((1, 40, 1))},
        predict=predict,
        functionals=lambda draws, *_: draws,
    )


def ruled(*texts: str, frame: pd.DataFrame, **about: Any) -> Rules:
    limits: dict[str, tuple[float, float]] = {"x": (0.0, 9.0)}
    return Rules(constraints=read_constraints(texts, frame, limits=limits), limits=limits, **about)


def test_accepted_is_the_share_that_keeps_the_constraints_at_first():
    frame = pd.DataFrame({"k": np.tile([1.0, 2.0], 1000), "x": np.tile([1.0, 2.0, 3.0, 1.0], 500)})
    posterior = grown(SequentialSynthesizer((chance_link(),), ruled("x != 3", frame=frame)), frame)
    # Five tables of 2,000 records: the error of a third.
    assert_rate(round(posterior.acceptance_rate * 10_000), 10_000, 2 / 3, detects=0.05, of="accepted")
    tables = tables_of(posterior, 5)
    assert set(np.unique([table["x"] for table in tables])) == {1.0, 2.0}
    # Who was drawn again has either of the two as likely as who was not.
    first = np.sum([table["x"] == 1 for table in tables])
    assert_rate(first, 10_000, 1 / 2, detects=0.05, of="either of two")
    half = grown(SequentialSynthesizer((chance_link(),), ruled("x <= k", frame=frame)), frame)
    # This link cannot draw within a support: a third and two thirds of its values keep it, by the kept column.
    assert_rate(round(half.acceptance_rate * 10_000), 10_000, 1 / 2, detects=0.05, of="accepted")
    assert grown(SequentialSynthesizer((chance_link(),)), frame).acceptance_rate == 1
    assert grown(SequentialSynthesizer((chance_link(),), ruled("k > 9", frame=frame)), frame).acceptance_rate == 1


def test_accepted_of_forests_is_one_by_construction_and_else_what_drawing_without_rules_shows():
    kinds = {"a": "continuous", "b": "continuous"}
    posterior = grown(forests(("a", ["k"]), ("b", ["a"]), lower=0, upper=3, kinds=kinds), small())
    chain = posterior.synthesizer
    assert isinstance(chain, SequentialSynthesizer)
    free = next(posterior.predict_tables(5, seed=derive_seed(1, "accepted")))
    share = float(np.mean([table["a"] != 2 for table in free]))
    assert 0.5 < share < 0.9
    for text, kept in (("b <= a", 1.0), ("a != 2", share)):
        rules = Rules(constraints=read_constraints(text, small(), limits=LIMITS), limits={"a": (0, 3), "b": (0, 3)})
        found = grown(replace(chain, rules=rules), small())
        assert found.acceptance_rate == pytest.approx(kept, abs=1e-12)


@pytest.mark.parametrize("order", [("wages", "benefits"), ("benefits", "total", "wages")], ids=" ".join)
def test_a_sum_of_columns_is_its_total_in_every_record(order):
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"wages": random.gamma(2, 900, 300).round(2), "benefits": random.gamma(1, 200, 300).round(2)})
    frame["total"] = (frame["wages"] + frame["benefits"]).round(2)
    limits = dict.fromkeys(frame.columns, (0.0, 50_000.0))
    asked = Settings(
        synthesize=order,
        keep=[name for name in frame if name not in order],
        known=[],
        lower=0.0,
        upper=50_000.0,
        constraints=["wages + benefits = total"],
        min_leaf_size=20,
    )
    rules = find_rules(Table(frame), asked, dict.fromkeys(order, "continuous"))
    assert rules.limits == {name: limits[name] for name in order}
    posterior = grown(forests(*((name, []) for name in order), lower=0, upper=50_000, rules=rules), frame)
    for table in tables_of(posterior):
        np.testing.assert_array_equal((table["wages"] + table["benefits"]).round(2), table["total"])
        assert table[list(order)].apply(lambda column: column.between(0, 50_000)).all(axis=None)
        # In cents, as collected, and drawn anew.
        assert (table.round(2) == table).all(axis=None)
        assert_rate_at_most((table[order[0]] == frame[order[0]]).sum(), 300, 0.02, detects=0.13)
    # The last column is what the others leave to it.
    assert posterior.acceptance_rate == 1


@pytest.mark.parametrize("kind", ["int64", "float64", "uint8", "Int64", "bool", "str", "category"])
def test_a_column_that_was_never_empty_can_become_so_by_a_constraint(kind):
    frame = small()[["k", "a"]].assign(a=lambda table: (table["a"] > 1 if kind == "bool" else table["a"]).astype(kind))
    numeric = kind not in ("bool", "str", "category")
    known: Any = {"limits": {"a": (0.0, 3.0)}} if numeric else {"levels": {"a": sorted(frame["a"].unique())}}
    rules = Rules(constraints=read_constraints("k < 1 -> a is empty", frame), **known)
    about = {"lower": 0, "upper": 3, "kinds": {"a": "count"}} if numeric else {"kinds": {"a": "categorical"}}
    posterior = grown(forests(("a", ["k"]), rules=rules, **about), frame)
    for table in tables_of(posterior):
        assert (table["a"].isna() == (frame["k"] < 1)).all()
        assert set(table["a"].dropna().unique()) == set(frame["a"].unique())
    assert posterior.acceptance_rate == 1
