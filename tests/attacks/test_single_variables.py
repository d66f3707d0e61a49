"""True values that one other variable discloses: through the command line, without a control."""

import json

import numpy as np
import pandas as pd
import pytest

from molehill.attacks.prediction import predict_synthesized
from processes import run_command

RECORDS, KEYS = 480, ["sex", "region"]
# What is of no interest here, and takes time.
WITHOUT = ("singling_out", "linkability", "inference", "linkage", "small_cells", "new_pairs", "pmse_ratio")


def draw(frame, random):
    return np.exp(10 + 0.3 * (frame["sex"] == "m") + 0.6 * random.normal(size=len(frame))).round()


def make_people(random, number=RECORDS):
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], number), "region": random.choice(list("nes"), number)})
    frame["hours"] = random.integers(10, 60, number)
    return frame.assign(income=draw(frame, random), rent=draw(frame, random))


def make_released(data, random, columns, number=3):
    return [data.assign(**{name: draw(data, random) for name in columns}) for _ in range(number)]


def sort_rows(random, order):
    data = make_people(random).sort_values(order, ignore_index=True)
    return data, make_released(data, random, ["income"]), ["income"]


def keep(add, random):
    """A release of which another variable, made by `add`, is released unchanged."""
    data = make_people(random)
    data = data.assign(**add(data, random))
    data = data.iloc[random.permutation(RECORDS)].reset_index(drop=True)
    return data, make_released(data, random, ["income"]), ["income"]


def copy_another(random):
    data = make_people(random)
    made = make_released(data, random, ["income", "rent"])
    return data, [made[0], made[1].assign(rent=data["income"]), made[2]], ["income", "rent"]


def exchange(data, random):
    country, rates = random.integers(0, 40, RECORDS), np.exp(random.normal(0, 2, 40))
    return {"country": [f"c{one}" for one in country], "abroad": (data["income"] * rates[country]).round(2)}


def pair_up(data):
    return data["income"].to_numpy().reshape(-1, 2)[:, ::-1].ravel()


def last_wave(data):
    waves = data["income"].to_numpy().reshape(-1, 4)
    return np.column_stack([np.full(len(waves), np.nan), waves[:, :-1]]).ravel()


LEAKS = {
    "another variable released": copy_another,
    "40 bands": lambda random: keep(lambda data, _: {"code": (data["income"].rank(pct=True) * 39).round()}, random),
    "rank": lambda random: keep(lambda data, _: {"code": -data["income"].rank()}, random),
    "code of rounded amounts": lambda random: keep(
        lambda data, _: {"code": (data["income"].round(-2) * 7_919) % 1_000_003}, random
    ),
    "amount in the money of 40 countries": lambda random: keep(exchange, random),
    "order of the rows": lambda random: sort_rows(random, "income"),
    "order of the rows within groups": lambda random: sort_rows(random, ["sex", "income"]),
    "partner of a household": lambda random: keep(
        lambda data, _: {"home": np.arange(RECORDS) // 2, "partner": pair_up(data)}, random
    ),
    "partner of a household by two numbers": lambda random: keep(
        lambda data, _: {
            "block": np.arange(RECORDS) // 40,
            "flat": np.arange(RECORDS) // 2 % 20,
            "partner": pair_up(data),
        },
        random,
    ),
    "partner of a household, rounded": lambda random: keep(
        lambda data, _: {"home": np.arange(RECORDS) // 2, "partner": pair_up(data).round(-3)}, random
    ),
    "partner in another row": lambda random: keep(lambda data, _: {"partner": pair_up(data)}, random),
    "last wave": lambda random: keep(
        lambda data, _: {"person": np.arange(RECORDS) // 4, "before": last_wave(data)}, random
    ),
}


def recommend(folder, data, released, sensitive, *more):
    data.to_csv(folder / "own.csv", index=False)
    paths = [folder / f"made_{number}.csv" for number in range(len(released))]
    for one, path in zip(released, paths, strict=True):
        one.to_csv(path, index=False)
    asked = ["--known", ",".join(KEYS), "--sensitive", ",".join(sensitive), "--radius", 0.2, "--json", *more]
    without = [part for name in WITHOUT for part in ("--skip", name)]
    done = run_command("evaluate", folder / "own.csv", *paths, *asked, *without)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["recommendation"]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_release_from_which_one_variable_gives_true_values_is_not_recommended(leak, tmp_path):
    found = recommend(tmp_path, *LEAKS[leak](np.random.default_rng(1)))
    assert found["decision"] == "do not release", found["sentence"]
    named = {
        "another": "rent",
        "order": "the order of the rows",
        "partner": "partner",
        "last": "before",
        "amount": "abroad within country",
    }
    assert f"(by {named.get(leak.split()[0], 'code')} alone)" in found["sentence"]


@pytest.mark.parametrize("sensitive", [["income"], ["income", "rent"]])
def test_draws_from_the_true_model_show_nothing(sensitive, tmp_path):
    random = np.random.default_rng(2)
    data = make_people(random)
    data = data.assign(home=np.arange(RECORDS) // 2)
    found = recommend(tmp_path, data, make_released(data, random, sensitive), sensitive)
    assert "synthesized values" not in found["sentence"], found["sentence"]


@pytest.mark.parametrize("key", [["--id", "person"], []])
def test_the_order_of_released_rows_counts_where_they_stand_in_another_one(key, tmp_path):
    random = np.random.default_rng(3)
    data = make_people(random).assign(person=random.permutation(RECORDS))
    order = np.argsort(data["income"].to_numpy())
    released = [one.iloc[order] for one in make_released(data, random, ["income"])]
    found = recommend(tmp_path, data, released, ["income"], *key)
    assert found["decision"] == "do not release", found["sentence"]


def test_two_sorted_files_disclose_values_by_the_place_of_the_row(tmp_path):
    random = np.random.default_rng(9)
    data, released, _ = sort_rows(random, "income")
    found = recommend(tmp_path, data, [one.sort_values("income") for one in released], ["income"])
    assert found["decision"] == "do not release", found["sentence"]
    assert "(by the order of the rows alone)" in found["sentence"]


def test_rows_that_are_shuffled_afterwards_disclose_nothing_by_their_order():
    random = np.random.default_rng(4)
    data, released, _ = sort_rows(random, "income")
    about = {"known": KEYS, "seed": 1}
    kept = [*KEYS, "hours"]
    assert predict_synthesized(data, released, "income", kept, **about).risk.high < 0.2
    places = [np.arange(RECORDS)] * 3
    assert predict_synthesized(data, released, "income", kept, places=places, **about).risk.low > 0.9


def test_a_category_beside_a_code_of_it_is_found():
    random = np.random.default_rng(5)
    data = make_people(random)
    data["job"] = random.choice(list("uvwxyz"), RECORDS)
    # Ten codes of each job.
    code = pd.factorize(data["job"])[0] + 6 * random.integers(0, 10, RECORDS)
    released = [data.assign(job=random.choice(list("uvwxyz"), RECORDS), code=code) for _ in range(3)]
    about = {"known": KEYS, "exact": True, "seed": 1}
    kept = [*KEYS, "hours"]
    assert predict_synthesized(data, released, "job", kept, **about).risk.high < 0.2
    assert predict_synthesized(data.assign(code=code), released, "job", [*kept, "code"], **about).risk.low > 0.9


@pytest.mark.parametrize("kept", [True, False])
def test_a_level_that_is_never_redrawn_counts_beside_another_synthesized_variable(kept, tmp_path):
    random = np.random.default_rng(6)
    data = make_people(random)

    def draw_jobs():
        return random.choice(list("uvwxyz"), RECORDS, p=[0.3, 0.26, 0.2, 0.12, 0.07, 0.05])

    data["job"] = draw_jobs()
    released = [one.assign(job=draw_jobs()) for one in make_released(data, random, ["income"])]
    if kept:
        released = [one.assign(job=one["job"].mask(data["job"] == "z", "z")) for one in released]
    found = recommend(tmp_path, data, released, ["income", "job"])
    assert ("people of one level" in found["sentence"]) == kept, found["sentence"]
    assert (found["decision"] == "do not release") == kept, found["sentence"]


@pytest.mark.parametrize(
    ("sensitive", "whole"), [(["income"], True), (["income", "rent"], True), (["income", "rent"], False)]
)
def test_the_confidential_values_in_another_order_are_not_recommended(sensitive, whole, tmp_path):
    random = np.random.default_rng(7)
    data = make_people(random)
    orders = [random.permutation(RECORDS) for _ in range(3)]
    released = [
        data.iloc[order] if whole else data.assign(**{name: data[name].to_numpy()[order] for name in sensitive})
        for order in orders
    ]
    found = recommend(tmp_path, data, released, sensitive)
    assert found["decision"] == "do not release", found["sentence"]
    assert "of the confidential data, in any order" in found["sentence"]


@pytest.mark.parametrize("share", [0.04, 0.0])
def test_three_true_values_of_a_few_people_in_each_dataset_are_red(share, tmp_path):
    random = np.random.default_rng(8)
    data = make_people(random)
    data["wealth"] = draw(data, random)
    names, released = ["income", "rent", "wealth"], []
    for one in make_released(data, random, ["income", "rent", "wealth"]):
        rows = random.random(RECORDS) < share
        released.append(one.assign(**{name: one[name].mask(rows, data[name]) for name in names}))
    found = recommend(tmp_path, data, released, names)
    assert (found["decision"] == "do not release") == (share > 0), found["sentence"]
    assert ("with two true values or more" in found["sentence"]) == (share > 0)
