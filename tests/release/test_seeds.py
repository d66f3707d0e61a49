"""Seeds of a search: fixed words of their own, so that rewording a report changes no released byte."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from molehill import Settings, synthesize
from molehill.arrays import derive_seed
from molehill.release.schemes import Scheme


@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        (Scheme(), "unweighted"),
        (Scheme(leaf=200), "unweighted, parts of 200"),
        (Scheme(1), "marginal"),
        (Scheme(2, scale=0.75, shift=0.25), "pairwise, scale 0.75, shift 0.25"),
        (Scheme(3, shift=-0.1, rounds=1, leaf=12.5), "order 3, shift -0.1, 1 round of feedback by 50%, parts of 12.5"),
        (Scheme(0, rounds=2, step=0.25), "unweighted, 2 rounds of feedback by 25%"),
    ],
)
def test_seed_keys_of_methods_are_fixed(scheme, key):
    assert scheme.seed_key == key


def test_derived_seeds_are_fixed():
    assert derive_seed(7, "search", "fit", "unweighted, parts of 10") == 4483384563641237427


def test_released_bytes_for_a_seed_are_fixed():
    random = np.random.default_rng(5)
    region = random.choice(["east", "west"], 240)
    work = random.choice(["none", "part", "full"], 240, p=[0.2, 0.3, 0.5])
    visits = random.poisson(np.where(work == "none", 9, 4))
    settings = Settings(
        synthesize=["work"],
        keep=["region", "visits"],
        known=["region", "visits"],
        breaks={"visits": [3, 6]},
        release_criteria=["mean expected <= 0.5"],
        datasets=2,
        compare=[],
        expected_risk_draws=0,
        seed=7,
    )
    data = pd.DataFrame({"region": region, "work": work, "visits": visits})
    release = synthesize(data, settings, progress=False)
    content = "".join(one.to_csv(index=False, lineterminator="\n") for one in release.datasets)
    found = hashlib.sha256(content.encode()).hexdigest()
    assert found == "5df0e47e9c0705420ce128757b84613f75b67be8682904d8ebf867d14da5b10e"
