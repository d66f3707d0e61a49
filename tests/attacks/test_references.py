"""Attacks on releases of which is known what must come out: the data, a fresh sample, and noise of known size."""

import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate_at_most
from molehill.attacks.attribute import disco
from molehill.attacks.closeness import closest_records
from molehill.attacks.criteria import inference, linkability, singling_out
from molehill.attacks.identity import replicated_uniques_vs_control

COLUMNS = ["age", "sex", "town", "pay", "job"]
KNOWN = ["age", "sex", "town"]
RECORDS = 150


def sample(random, number=RECORDS):
    age, sex = random.integers(18, 80, number), random.choice(["f", "m"], number)
    town = random.choice(list("ABCDE"), number, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    pay = np.exp(9 + age / 80 + 0.3 * (sex == "m") + random.normal(0, 0.5, number))
    job = np.where(random.random(number) < 0.6, random.choice(list("xyz"), number), town)
    return pd.DataFrame({"age": age, "sex": sex, "town": town, "pay": pay, "job": job})


def attack(data, released, people, seed):
    """Every attack's risk, and how far the share nearer to the data lies above one half."""
    options = {"control": people, "seed": seed}
    nearer = closest_records(data, released, people, COLUMNS, seed=seed).nearer
    return {
        "inference": inference(data, released, KNOWN, "job", **options).risk,
        "inference of a number": inference(data, released, KNOWN, "pay", tolerance=0.2, **options).risk,
        "linkability": linkability(data, released, KNOWN[:2], ["town", "pay"], neighbours=3, **options).risk,
        "singling out, one column": singling_out(data, released, size=1, attacks=200, **options).risk,
        "singling out": singling_out(data, released, size=3, attacks=200, **options).risk,
        "disclosive": disco(data, released, KNOWN, "job", control=people).attack.risk,
        "unique again": replicated_uniques_vs_control(data, released, KNOWN, control=people, seed=seed).risk,
        "closest": type(nearer)(*(2 * (end - 0.5) for end in nearer)),
    }


def test_the_data_themselves_are_found_out():
    random = np.random.default_rng(1)
    data, people = sample(random), sample(random)
    for name, risk in attack(data, data, people, 1).items():
        assert risk.low > 0.1, name
        assert risk.value > 0.5, name


def count_shown(replications):
    """How often each attack on a fresh sample shows something that is not there."""
    shown = {}
    for run in range(replications):
        random = np.random.default_rng(run)
        risks = attack(sample(random), sample(random), sample(random), run)
        for name, risk in risks.items():
            shown.setdefault(name, []).append((risk.low > 0, risk.high < 0))
    return {name: np.array(told).sum(axis=0) for name, told in shown.items()}


def check_nominal(replications, detects):
    # One side of a 95% interval: 1 in 40, or less often.
    for name, sides in count_shown(replications).items():
        for hits in sides:
            assert_rate_at_most(hits, replications, 0.025, detects=detects, of=name)


def test_a_fresh_sample_shows_nothing_beyond_its_control():
    check_nominal(20, detects=0.7)


@pytest.mark.slow
def test_a_fresh_sample_shows_something_as_often_as_chance_does():
    check_nominal(200, detects=0.2)
