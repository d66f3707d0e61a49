"""Dangerous releases that were once recommended, through the command line: files as users have them.

Each was seen to get "no objection", or the measure named here not to see it.
"""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from processes import run_command

KEYS = ["county", "gender", "band"]


def people(number: int = 600, seed: int = 5) -> tuple[pd.DataFrame, np.random.Generator]:
    """Key variables and two others, of which pay depends on one."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"county": random.choice(list("ABCDE"), number), "gender": random.choice(["f", "m"], number)})
    frame = frame.assign(band=random.integers(1, 5, number), school=random.integers(1, 6, number))
    return frame.assign(cars=random.poisson(1.1, number)), random


def pay(frame: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    """Draw amounts; drawn again, a safe release."""
    mean = 8.2 + 0.15 * frame["school"].to_numpy() + 0.1 * frame["band"].to_numpy()
    return np.exp(mean + 0.7 * random.normal(size=len(frame))).round()


def noisy(values: Any, random: np.random.Generator) -> Any:
    """True values, all but one percent."""
    return (values * np.exp(0.01 * random.normal(size=len(values)))).round()


def flipped():
    """Each answer exchanged for the other one."""
    frame, random = people()
    frame["ill"] = np.where(random.random(len(frame)) < 0.5, "no", "yes")
    return frame, [frame.assign(ill=frame["ill"].map({"no": "yes", "yes": "no"}))], "ill", {}


def cycled():
    """Each of seven levels exchanged for the next one, in several datasets."""
    frame, random = people()
    frame["faith"] = random.choice(list("abcdefg"), len(frame))
    made = frame.assign(faith=frame["faith"].map(dict(zip("abcdefg", "bcdefga", strict=True))))
    return frame, [made] * 3, "faith", {}


def true_zeros():
    """Amounts drawn anew, for the same few people who have any."""
    frame, random = people(1_200)
    paid = random.random(len(frame)) < 0.06
    own = frame.assign(benefit=np.where(paid, pay(frame, random), 0))
    made = [frame.assign(benefit=np.where(paid, pay(frame, random), 0)) for _ in range(3)]
    return own, made, "benefit", {}


def small_radius():
    """Noise of 4%, and a radius of a tenth of a percent."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    made = [own.assign(pay=(own["pay"] * np.exp(0.04 * random.normal(size=len(own)))).round()) for _ in range(3)]
    return own, made, "pay", {"radius": 0.001}


def noise_in_many():
    """Twelve amounts with as much noise as they vary, in ranks, so that each by itself keeps its distribution."""
    frame, random = people()
    names = [f"x{number}" for number in range(12)]
    own = frame.assign(**{name: np.exp(7 + 0.6 * random.normal(size=len(frame))).round() for name in names})
    ranks = {name: np.log(own[name]) + 0.6 * random.normal(size=len(own)) for name in names}
    made = {name: np.sort(own[name])[np.argsort(np.argsort(ranks[name]))] for name in names}
    return own, [own.assign(**made)], ",".join(names), {}


def small_group():
    """The thirty people of one town, true but for little noise."""
    frame, random = people(900)
    own = frame.assign(town=random.integers(0, 30, len(frame)), pay=pay(frame, random))
    there = own["town"] == 3
    made = [own.assign(pay=np.where(there, noisy(own["pay"], random), pay(own, random))) for _ in range(3)]
    return own, made, "pay", {}


def last_of_many():
    """Three and a half times the amount, the 171st of the variables released unchanged."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    asked = pd.DataFrame({f"q{number}": random.normal(0, 10, len(own)).round(1) for number in range(170)})
    own = pd.concat([own.drop(columns="pay"), asked, own["pay"] * 3.5 + 11, own["pay"]], axis=1, ignore_index=False)
    own.columns = [*people()[0], *asked, "last", "pay"]
    return own, [own.assign(pay=pay(own, random)) for _ in range(3)], "pay", {}


def key_swapped():
    """A key variable swapped between people, by which records are not to be found: they stand where they stood."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    made = [own.assign(band=random.permutation(own["band"]), pay=noisy(own["pay"], random)) for _ in range(3)]
    return own, made, "pay", {}


def shuffled_within():
    """Records in another order within patterns: what is released unchanged says whose they are."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random), plot=random.normal(50, 20, len(frame)).round())
    own = own.sort_values(KEYS, ignore_index=True)
    made = []
    for _ in range(3):
        mixed = own.assign(at=random.random(len(own)), pay=noisy(own["pay"], random)).sort_values([*KEYS, "at"])
        made.append(mixed.drop(columns="at").reset_index(drop=True))
    return own, made, "pay", {}


def shuffled_and_swapped():
    """Records in another order, and one key variable swapped: the others say whose they are."""
    own, made, *rest = key_swapped()
    random = np.random.default_rng(2)
    plot = random.normal(50, 20, len(own)).round(1)
    made = [one.assign(plot=plot).iloc[random.permutation(len(one))].reset_index(drop=True) for one in made]
    return own.assign(plot=plot), made, *rest


def rows_away():
    """The values of the record some rows before, of others in each dataset."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    return own, [own.assign(pay=np.roll(own["pay"], 7 + 5 * number)) for number in range(3)], "pay", {}


def backwards():
    """The values in the opposite order of the records, with a little noise."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    return own, [own.assign(pay=noisy(own["pay"].to_numpy(), random)[::-1]) for _ in range(3)], "pay", {}


def few_records():
    """A total whose parts are released unchanged, of 45 people."""
    frame, random = people(45)
    own = frame.assign(one=pay(frame, random), other=pay(frame, random))
    own["pay"] = own["one"] + own["other"]
    return own, [own.assign(pay=pay(own, random) + pay(own, random)) for _ in range(3)], "pay", {}


def some_elsewhere():
    """The amount of 18% of the people under another name."""
    frame, random = people()
    own = frame.assign(pay=pay(frame, random))
    own["other"] = np.where(random.random(len(own)) < 0.18, own["pay"], pay(own, random))
    return own, [own.assign(pay=pay(own, random)) for _ in range(3)], "pay", {}


DANGEROUS = {
    flipped: "uncertainty of the true value removed",
    cycled: "uncertainty of the true value removed",
    true_zeros: "uncertainty of the true value removed",
    small_radius: "uncertainty of the true value removed",
    noise_in_many: "people found by all synthesized values together",
    small_group: "people of a level of town who have their true value",
    last_of_many: "by last alone",
    key_swapped: "a person's own record makes guesses",
    shuffled_within: "a person's own record makes guesses",
    shuffled_and_swapped: "a person's own record makes guesses",
    rows_away: "by the order of the rows alone",
    backwards: "by the order of the rows alone",
    few_records: "computed to within 1%",
    some_elsewhere: "computed to within 1%",
}


def recommend(folder, own, made, sensitive, *more, radius=0.2):
    own.to_csv(folder / "own.csv", index=False)
    for number, one in enumerate(made):
        one.to_csv(folder / f"made{number}.csv", index=False)
    files = [folder / f"made{number}.csv" for number in range(len(made))]
    numeric = pd.api.types.is_numeric_dtype(own[sensitive.split(",")[0]])
    asked = ["--known", ",".join(KEYS), "--sensitive", sensitive, "--radius", radius if numeric else 0, "--json", *more]
    told = run_command("evaluate", folder / "own.csv", *files, *asked)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)["recommendation"]


@pytest.mark.parametrize("make", DANGEROUS, ids=lambda make: make.__name__)
def test_a_dangerous_release_is_not_recommended(make, tmp_path):
    own, made, sensitive, more = make()
    found = recommend(tmp_path, own, made, sensitive, **more)
    reasons, _, _ = found["sentence"].partition(" Points for the board")
    assert found["decision"] == "do not release"
    assert DANGEROUS[make] in reasons


def drawn_again(number: int = 600):
    frame, random = people(number)
    own = frame.assign(pay=pay(frame, random))
    return own, [own.assign(pay=pay(own, random)) for _ in range(5)]


def test_a_safe_release_of_the_same_data_is_not_refused(tmp_path):
    own, made = drawn_again(1_500)
    found = recommend(tmp_path, own, made, "pay")
    assert found["decision"] != "do not release"
    assert "red" not in found["sentence"]


# An injective code of exact amounts, a number of the person, one that differs from that by the release, a measurement.
IDENTIFYING = {
    "code": lambda own, random: (own["pay"] * 7_919 + random.random(len(own)).round(4)) % 100_003,
    "number": lambda own, random: random.permutation(len(own)) + 1_000,
    "text": lambda own, random: pd.Series(random.permutation(len(own))).map("P{:05}".format),
    "weight": lambda own, random: random.normal(70, 12, len(own)).round(3),
}


@pytest.mark.parametrize("kind", IDENTIFYING)
@pytest.mark.parametrize("changed", [False, True])
def test_a_variable_whose_values_all_differ_needs_a_decision(kind, changed, tmp_path):
    own, made = drawn_again()
    values = IDENTIFYING[kind](own, np.random.default_rng(7))
    own["nr"] = values
    # One that is not the person's own, and the same in all datasets, names the record as well.
    released = (
        values if not changed else values.sample(frac=1, random_state=1).to_numpy() if kind == "text" else values * 7
    )
    found = recommend(tmp_path, own, [one.assign(nr=released) for one in made], "pay")
    assert found["decision"] != "no objection"
    assert "people who alone have their value of nr, released unchanged" in found["sentence"]


def test_attacks_that_were_left_out_are_named_and_leave_the_decision_to_the_board(tmp_path):
    own, made = drawn_again()
    found = recommend(tmp_path, own, made, "pay", "--skip", "prediction", "--skip", "digits")
    assert found["decision"] == "board decision needed"
    assert "measures of risk were left out: digits_gain and predicted_gain" in found["sentence"]
