"""Releases that leak in what only all of their datasets show, through the command line, and one that does not."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from molehill import EvaluationOptions, Intruder, evaluate
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.scorecard import judge_rule, list_rules, score
from processes import run_command

PEOPLE, DATASETS = 300, 8
WHO = Intruder(known=["town"], sensitive="pay", radius=0.2)
# What takes long and is about something else.
OTHERS = ["singling_out", "linkability", "inference", "pmse_ratio", "small_cells", "new_pairs"]

FOLLOWED = ("worst", "repeats", "copies", "avoided", "turned_back")
ALL_DATASETS_MEASURES = [one for one in MEASURES if one.part_of in FOLLOWED]


def draw(random, town, size):
    """Incomes heaped at hundreds and thousands, some of them zero."""
    pay = np.exp(10 + 0.1 * town + 0.7 * random.normal(size=size))
    coin = random.random(size)
    rounded = np.where(coin < 0.5, np.round(pay, -3), np.where(coin < 0.8, np.round(pay, -2), np.round(pay)))
    return np.where(random.random(size) < 0.1, 0.0, rounded)


@cache
def survey():
    """The confidential data, and datasets drawn from the distribution that they come from."""
    random = np.random.default_rng(11)
    town = random.integers(6, size=PEOPLE)
    data = pd.DataFrame({"town": town, "edu": random.integers(5, size=PEOPLE), "pay": draw(random, town, PEOPLE)})
    return data, draw(random, town, (DATASETS, PEOPLE))


def one_is_the_confidential(data, made, _):
    made[-1] = data["pay"]


def half_of_them_copied(data, made, random):
    for row in random.choice(PEOPLE, 18, replace=False):
        made[random.choice(DATASETS, DATASETS // 2, replace=False), row] = data["pay"][row]


def some_copied_into_all(data, made, random):
    rows = random.choice(PEOPLE, 12, replace=False)
    made[:, rows] = data["pay"].to_numpy()[rows]


def a_group_copied_into_all(data, made, _):
    rows = np.flatnonzero(data["edu"] == 3)
    made[:, rows] = data["pay"].to_numpy()[rows]


def swapped_with_a_partner(data, made, _):
    """The nearest partner who earns 25.5% more, or that much less."""
    pay = data["pay"].to_numpy()
    left, swapped = list(np.argsort(pay)[np.sort(pay) > 0]), pay.copy()
    while len(left) > 1:
        row = left.pop(0)
        place = int(np.argmin(np.abs(pay[left] / pay[row] - 1.265)))
        if abs(pay[left[place]] / pay[row] - 1.265) < 0.05:
            other = left.pop(place)
            swapped[[row, other]] = pay[[other, row]]
        else:
            swapped[row] = pay[row] * 1.265
    made[:] = swapped


LEAKS = {
    one_is_the_confidential: ("identity", "attribute"),
    half_of_them_copied: ("identity", "attribute"),
    some_copied_into_all: ("identity", "attribute"),
    a_group_copied_into_all: ("identity", "attribute"),
    swapped_with_a_partner: ("identity", "attribute"),
}


@pytest.mark.parametrize("leak", LEAKS, ids=lambda one: one.__name__)
def test_what_only_all_datasets_show_is_not_to_be_released(leak, tmp_path):
    data, safe = survey()
    made = safe.copy()
    leak(data, made, np.random.default_rng(12))
    data.to_csv(tmp_path / "data.csv", index=False)
    paths = [tmp_path / f"made_{number}.csv" for number in range(DATASETS)]
    for path, pay in zip(paths, made, strict=True):
        data.assign(pay=pay).to_csv(path, index=False)
    without = [word for name in OTHERS for word in ("--skip", name)]
    about = ["--known", "town", "--sensitive", "pay", "--radius", 0.2]
    done = run_command("evaluate", tmp_path / "data.csv", *paths, *about, *without)
    assert "released: Do not release, because" in done.stdout
    for family in LEAKS[leak]:
        assert f"\n{family}: Red" in done.stdout


def rated(released, measures=ALL_DATASETS_MEASURES, **about):
    wanted = {one.id for one in measures} | {"radius_left", "radius_matches"}
    chosen = [one for one in MEASURES if one.id in wanted]
    found = evaluate(survey()[0], released, WHO, EvaluationOptions(measures=chosen, progress=False, **about))
    rules = [rule for rule in list_rules(found) if rule.measure in wanted]
    return found, {rule.measure: colour for rule in rules for colour, _ in judge_rule(found, "released", rule)}


def datasets(made):
    return [survey()[0].assign(pay=pay) for pay in made]


def test_a_release_from_the_true_distribution_is_green_in_all_of_them():
    found, colours = rated(datasets(survey()[1]))
    assert set(colours.values()) == {"green"}
    assert {"worst_risk", "worst_copies", "worst_guesses", "turned_back_risk", "avoided", "radius_left"} <= set(colours)
    # Both of an intruder who takes half the radius, and of one who takes twice as much.
    assert set(found.risk.query("measure == 'radius_left'")["at"]) == {0.1, 0.3, 0.4}


def test_the_worst_dataset_is_named_and_one_alone_has_no_others():
    data, safe = survey()
    made = safe.copy()
    made[4] = data["pay"]
    found, colours = rated(datasets(made))
    row = found.risk.query("measure == 'worst_guesses'").iloc[0]
    assert row["of"] == " (dataset 5)"
    own = [(np.abs(pay - data["pay"]) <= 0.2 * data["pay"]).mean() for pay in safe]
    assert row["value"] == pytest.approx(1 - np.median(np.delete(own, 4)))
    assert colours["worst_guesses"] == "red"
    why = next(one.why for one in score(found) if one.family == "attribute")
    assert "correct attribution rate of a dataset (dataset 5), above that of the others" in why
    alone = rated(datasets(safe[:1]))[1]
    assert not [name for name in alone if name.startswith(("worst", "repeats"))]
    assert {"turned_back_risk", "avoided"} <= set(alone)


def test_records_in_another_order_are_copies_and_fully_synthetic_data_have_no_rows_to_follow():
    data, safe = survey()
    made = safe.copy()
    random = np.random.default_rng(1)
    for town in range(6):
        rows = np.flatnonzero(data["town"] == town)
        made[2, rows] = data["pay"].to_numpy()[random.permutation(rows)]
    assert rated(datasets(made))[1]["worst_copies"] == "red"
    shuffled = [one.sample(frac=0.9, random_state=1) for one in datasets(made)]
    found, colours = rated(shuffled, fully_synthetic=True)
    assert colours["worst_copies"] == "red"
    assert colours["worst_alike"] == "green"
    assert not found.risk["measure"].str.startswith(("repeats", "turned", "avoided")).any()


@pytest.mark.parametrize(("told", "colours"), [(True, ["green", "green"]), (False, ["red", "red"])])
def test_zeros_that_a_kept_variable_tells_are_no_gain_and_others_are(told, colours):
    random = np.random.default_rng(6)
    works = random.random(600) < 0.5
    pay, drawn = np.where(works, np.exp(10 + 0.7 * random.normal(size=(2, 600))).round(), 0.0)
    people = pd.DataFrame({"town": random.integers(6, size=600), "pay": pay})
    people["hours"] = np.where(works if told else random.random(600) < 0.5, random.integers(10, 50, 600), 0)
    chosen = [one for one in MEASURES if one.id in ("turned_back_risk", "attribution_gain")]
    found = evaluate(people, people.assign(pay=drawn), WHO, EvaluationOptions(measures=chosen, progress=False))
    rules = [rule for rule in list_rules(found) if rule.measure in ("turned_back_risk", "attribution_gain")]
    assert [one for rule in rules for one, _ in judge_rule(found, "released", rule)] == colours


def test_categories_missing_values_and_rows_in_another_order():
    data, safe = survey()
    made = datasets(safe)
    keyed = [one.assign(id=np.arange(PEOPLE)).sample(frac=1, random_state=place) for place, one in enumerate(made)]
    for one in keyed:
        one["pay"] = one["pay"].where(np.arange(PEOPLE) >= 40)
    who = Intruder(
        known=["town"], sensitive=["pay", "edu"], radius=0.2, missing_values="keep", kinds={"edu": "categorical"}
    )
    ids = {one.id for one in ALL_DATASETS_MEASURES} | {"radius_left", "radius_matches"}
    measures = [one for one in MEASURES if one.id in ids]
    found = evaluate(
        data.assign(id=np.arange(PEOPLE)),
        keyed,
        who,
        EvaluationOptions(id_column="id", measures=measures, progress=False),
    )
    assert set(found.risk.query("measure == 'avoided'")["column"]) == {"pay"}
    category = Intruder(known=["town"], sensitive="edu", kinds={"edu": "categorical"})
    alone = evaluate(data, made, category, EvaluationOptions(measures=measures, progress=False)).risk["measure"]
    assert not alone.str.startswith(("repeats", "turned", "avoided")).any()
    assert "worst_copies" in set(alone)
