"""Predicting a synthesized variable from variables released unchanged: formulas, and nothing to learn."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from agreement import assert_mean
from molehill.attacks.prediction import group_by_kept, predict_synthesized
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import score
from molehill.evaluation.verdict import judge
from molehill.risk.intruder import Intruder
from molehill.sdc_methods import swap_ranks
from molehill.tables.table import Table
from processes import run_command

KEYS = ["sex", "region"]

PREDICTION_MEASURES = [one for one in MEASURES if one.part_of == "prediction"]


def households(random, number=500):
    """EU-SILC in small: an income that is the sum of its components."""
    paid, own, aid = (
        np.where(random.random(number) < share, random.lognormal(9.5, 0.8, number), 0).round()
        for share in (0.8, 0.4, 0.3)
    )
    sex, region = random.choice(["f", "m"], number), random.choice(list("ABCD"), number)
    return pd.DataFrame(
        {"sex": sex, "region": region, "paid": paid, "own": own, "aid": aid, "income": paid + own + aid + 500}
    )


def pupils(random, number=500):
    grade = random.integers(6, 18, number)
    age = grade + 6 + random.integers(0, 30, number)
    return pd.DataFrame(
        {"age": age, "sex": random.choice(["f", "m"], number), "experience": age - grade - 6, "grade": grade}
    )


def noisy(random, data, column, spread=0.3, datasets=3):
    noise = np.exp(spread * random.normal(size=(datasets, len(data))))
    return [data.assign(**{column: (data[column] * one).round()}) for one in noise]


def test_a_sum_is_rebuilt_from_its_components_though_every_released_value_is_noise():
    random = np.random.default_rng(1)
    data = households(random)
    kept = ["sex", "region", "paid", "own", "aid"]
    found = predict_synthesized(data, noisy(random, data, "income", 0.05), "income", kept, known=KEYS, seed=1)
    assert found.rate.value > 0.95
    assert found.fine.value > 0.5
    assert found.baseline.value < 0.3
    # The most frequent income, of those without any component.
    assert found.fine_baseline.value == pytest.approx((data["income"] == 500).mean())
    assert found.risk.low > 0.9


@pytest.mark.parametrize("kept", ["copy", "total"])
def test_a_formula_is_found_though_the_released_values_do_not_keep_to_it(kept):
    random = np.random.default_rng(7)
    data = households(random).assign(copy=lambda people: people["income"])
    names = {"copy": ["copy"], "total": ["paid", "own", "aid"]}[kept]
    drawn = [data.assign(income=random.permutation(data["income"])) for _ in range(3)]
    found = predict_synthesized(data, drawn, "income", ["sex", "region", *names], known=KEYS, seed=1)
    assert found.fine.value > 0.95
    assert found.fine_risk.low > 0.9


def test_a_formula_of_key_variables_is_found_too():
    random = np.random.default_rng(2)
    data = pupils(random)
    released = [data.assign(grade=data["grade"] + random.integers(-3, 4, len(data))) for _ in range(3)]
    keys = ["age", "sex", "experience"]
    found = predict_synthesized(data, released, "grade", keys, known=keys, breaks={"experience": [10]}, seed=1)
    assert found.rate.value == 1
    assert found.baseline.value < 0.9
    # 1% of a grade is less than the step to the next.
    assert np.isnan(found.fine.value)


def test_a_household_total_over_its_equivalized_size_and_a_recoded_category_are_found():
    random = np.random.default_rng(3)
    household = np.sort(random.integers(0, 200, 500))
    paid = random.lognormal(9.5, 0.8, 500).round()
    town, size = random.choice(list("ABCDE"), 200)[household], random.choice([1.0, 1.5, 1.8, 2.1], 200)[household]
    total = np.bincount(household, paid, minlength=200)[household] / size
    data = pd.DataFrame({"household": household, "town": town, "size": size, "paid": paid, "income": total})
    data["rich"] = np.where(paid > 15_000, "yes", "no")
    released = noisy(random, data, "income", 0.1)
    kept = ["household", "town", "size", "paid"]
    found = predict_synthesized(data, released, "income", kept, known="town", seed=1)
    assert found.risk.low > 0.75
    # Without the number of the household nobody can add up its incomes.
    assert predict_synthesized(data, released, "income", kept[1:], known="town", seed=1).risk.high < 0.6
    wrong = [data.assign(rich=data["rich"].mask(random.random(500) < 0.2, "no")) for _ in range(3)]
    coded = predict_synthesized(data, wrong, "rich", kept, known="town", exact=True, seed=1)
    assert coded.risk.low > 0.9
    assert np.isnan(coded.fine.value)


def test_nothing_is_gained_where_what_is_kept_is_independent_of_the_values():
    random = np.random.default_rng(4)
    gains = []
    for seed in range(20):
        data = households(random, 200).assign(income=random.lognormal(9, 1, 200).round(2))
        released = [data.assign(income=random.permutation(data["income"])) for _ in range(2)]
        kept = ["sex", "region", "paid", "own", "aid"]
        found = predict_synthesized(data, released, "income", kept, known=KEYS, seed=seed)
        gains.append(found.rate.value - found.baseline.value)
    assert_mean(gains, 0.0, detects=0.15)


def test_values_of_other_people_are_learned_from_and_never_the_own_one():
    random = np.random.default_rng(5)
    data = households(random).assign(income=random.lognormal(9, 1, 500).round(2))
    # Published as they are, values that nothing else explains are no better predicted.
    own = predict_synthesized(data, data, "income", ["sex", "region", "paid"], known=KEYS, seed=1)
    assert own.rate.value < 0.3


def test_too_few_people_and_another_number_of_records():
    random = np.random.default_rng(6)
    data = households(random, 60)
    few = predict_synthesized(data.head(15), data.head(15), "income", ["paid"], seed=1)
    assert np.isnan(few.rate.value)
    with pytest.raises(InputError, match="60 records"):
        predict_synthesized(data.head(50), data, "income", ["paid"], seed=1)


# Values swapped with those of similar ranks, in five datasets: no figure of a person's own record shows anything.
@pytest.mark.parametrize(
    ("make", "column", "known", "breaks", "window"),
    [
        (households, "income", KEYS, {}, 0.3),
        (pupils, "grade", ["age", "sex"], {"age": [25, 35]}, 0.6),
        (pupils, "grade", ["age", "sex", "experience"], {"age": [25, 35], "experience": [10, 20]}, 0.6),
    ],
)
def test_a_release_from_which_values_are_rebuilt_is_not_recommended(make, column, known, breaks, window):
    data = make(np.random.default_rng(7))
    released = [swap_ranks(data, column, window=window, seed=seed) for seed in range(5)]
    intruder = Intruder(known=known, sensitive=column, radius=0.2, breaks=breaks)
    about = {"analyses": [], "radii": [], "propensity_methods": (), "progress": False}
    found = evaluate(data, released, intruder, EvaluationOptions(**about))
    [rated] = [one for one in score(found) if one.family == "attribute"]
    assert rated.colour == "red"
    assert "predicted from other released variables" in rated.why
    assert judge(found).decision == "do not release"
    without = replace(found, risk=found.risk[~found.risk["measure"].str.startswith("predicted")])
    assert judge(without).decision == "no objection"


def test_evaluate_on_the_command_line_does_not_recommend_a_sum_whose_components_are_released(tmp_path):
    data = households(np.random.default_rng(7))
    data.to_csv(tmp_path / "own.csv", index=False)
    made = [tmp_path / f"made_{seed}.csv" for seed in range(5)]
    for seed, path in enumerate(made):
        swap_ranks(data, "income", window=0.3, seed=seed).to_csv(path, index=False)
    known = ["--known", "sex,region", "--sensitive", "income", "--radius", "0.2"]
    done = run_command("evaluate", tmp_path / "own.csv", *made, *known)
    told = " ".join(done.stdout.split())
    assert "released: Do not release, because attribute is red: synthesized values predicted from" in told, done.stderr
    assert "attribute: Red" in told


def test_without_the_components_the_same_release_is_not_red():
    data = households(np.random.default_rng(7))
    released = [swap_ranks(data, "income", window=0.3, seed=seed)[[*KEYS, "income"]] for seed in range(5)]
    found = evaluate(
        data,
        released,
        Intruder(known=KEYS, sensitive="income", radius=0.2),
        EvaluationOptions(measures=PREDICTION_MEASURES),
    )
    # The last is of categories.
    assert set(found.risk["measure"]) == {one.id for one in PREDICTION_MEASURES[:-1]}
    [rated] = [one for one in score(found) if one.family == "attribute"]
    assert rated.colour == "green"


@pytest.mark.parametrize("exact", [True, False])
def test_records_are_alike_of_which_kept_variables_say_the_same(exact):
    random = np.random.default_rng(3)
    child = random.random(300) < 0.3
    # A level, or a wage of zero, that all children have; the others have one of several.
    drawn = np.where(child, 0.0, random.integers(1, 6, (2, 300)) if exact else np.exp(random.normal(size=(2, 300))))
    table = Table(pd.DataFrame({"child": np.where(child, "yes", "no"), "hair": random.choice(list("abc"), 300)}))
    groups = group_by_kept(table, drawn, ["child", "hair"], exact=exact, seed=1)
    assert groups is not None
    assert not {*groups[child]} & {*groups[~child]}
    # Nothing that is kept, or too few records to learn from, says nothing.
    assert group_by_kept(table, drawn, [], exact=exact, seed=1) is None
    assert group_by_kept(table, drawn[:, :40], ["child"], exact=exact, seed=1) is None


def test_groups_are_as_narrow_as_what_is_kept_predicts():
    # Of an amount that a kept one explains by 95%, the values of a group are close by about as often as draws are.
    random = np.random.default_rng(3)
    spending = random.normal(size=2_000)
    drawn = np.exp(9 + 0.8 * spending + 0.18 * random.normal(size=(2, 2_000)))
    groups = group_by_kept(Table(pd.DataFrame({"spending": spending})), drawn, ["spending"], exact=False, seed=1)
    assert groups is not None

    def close(one, other):
        return (np.abs(one - other) <= 0.2 * other).mean()

    swapped = drawn[0].copy()
    for rows in pd.Series(np.arange(2_000)).groupby(groups).indices.values():
        swapped[rows] = np.roll(drawn[0, rows], 1)
    assert close(drawn[0], drawn[1]) - close(swapped, drawn[1]) < 0.06
