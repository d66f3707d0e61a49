"""Schemes: the path of strength, feedback, and membership changed without a fit."""

from dataclasses import replace
from itertools import pairwise

import jax
import numpy as np
import pandas as pd
import pytest

from agreement import assert_rate
from molehill import Intruder, confidential_risk
from molehill.models import tdp_mixture
from molehill.release.schemes import Scheme, along_path, weigh, weigh_down, with_prior_membership
from molehill.synthesis.posterior import Posterior, predict_from
from molehill.synthesis.sampling.diagnostics import Diagnostics
from molehill.synthesis.synthesizer import Synthesizer
from molehill.tables.table import Table

RNG = np.random.default_rng(11)
# Values that no round number of a report can be mistaken for.
PEOPLE = pd.DataFrame({"town": np.repeat(["A", "B"], 60), "pay": np.exp(RNG.normal(7.0, 0.5, 120)).round(3) + 0.0007})
INTRUDER = Intruder(known="town", sensitive="pay", radius=0.2)


def test_path_of_strength():
    assert along_path(2, 0) == Scheme()
    risk = confidential_risk(PEOPLE, INTRUDER, order=2)
    strengths = [weigh(along_path(2, t), risk, 120) for t in (0.25, 0.5, 1.0, 1.5)]
    np.testing.assert_allclose(strengths[2], 1 - risk.risk)
    np.testing.assert_allclose(strengths[1], np.minimum(1.5 - risk.risk, 1))
    np.testing.assert_allclose(strengths[3], (1 - risk.risk) / 2)
    assert all((stronger <= weaker).all() for weaker, stronger in pairwise(strengths))
    assert str(Scheme(1, shift=0.5, rounds=2)) == "marginal, shift 0.5, 2 rounds of feedback by 50%"


@pytest.mark.parametrize("columns", [["town"], ["pay"], ["pay", "rent"], ["pay", "town", "rent"]])
def test_feedback_reaches_just_those_that_shape_the_prediction(columns):
    random = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "age": random.integers(0, 3, 200),
            "pay": random.normal(0, 100, 200),
            "rent": random.normal(50, 20, 200),
            "town": random.choice(list("AB"), 200),
        }
    )
    people.loc[7, "pay"] = np.nan
    radius, floor = (0.1, 10.0) if columns != ["town"] else (None, 0.0)
    view = Intruder(known=["age"], sensitive=columns, missing_values="keep", radius=radius, min_radius=floor).view(
        people
    )
    weights, breaking = random.uniform(0.2, 1, 200), random.random(200) < 0.05
    found = weigh_down(weights, breaking & view.part, view, 0.25)

    def close(one, other):
        if people["age"][one] != people["age"][other] or not (view.part[one] and view.part[other]):
            return False
        if "town" in columns and people["town"][one] != people["town"][other]:
            return False
        pairs = [(people[name][one], people[name][other]) for name in columns if name != "town"]
        return all((np.isnan(a) and np.isnan(b)) or abs(a - b) <= max(0.1 * abs(a), 10.0) for a, b in pairs)

    for i in range(200):
        near = any(breaking[h] and close(h, i) for h in np.flatnonzero(breaking))
        assert found[i] == pytest.approx(weights[i] * (0.75 if near else 1.0))


def two_heaps():
    """A mixture whose two components lie far apart, as if it had been fitted."""
    table = Table(pd.DataFrame({"town": np.tile(["A", "B"], 100), "pay": np.repeat([1.0, 1000.0], 100)}))
    synthesizer = tdp_mixture("pay", [], components=2)
    assert synthesizer.learn is not None
    learned = synthesizer.learn(table, np.ones(len(table.frame)))
    draws = {"pi": [0.5, 0.5], "beta": [[-1.0], [1.0]], "sigma": [0.1, 0.1]}
    arrays = {name: np.array(value)[None, None] for name, value in draws.items()}
    nothing = Diagnostics(pd.DataFrame(), 0.0, 0.0, 0, 0, {}, ())
    return Posterior(synthesizer, table, np.ones(200), learned, arrays, nothing, 0.0)


def test_membership_is_swapped_without_a_fit():
    given = two_heaps().drawing_by(component_draw="posterior")
    free = with_prior_membership(given)
    assert free is not None
    high, shares = np.repeat([False, True], 100), []
    for posterior in (given, free):
        with jax.enable_x64(new_val=True):
            values = [p.values["pay"] > 30 for p in predict_from(posterior, [(0, 0)] * 40, 1)]
        shares.append((np.array(values) == high).mean(axis=0))
    assert (shares[0] == 1).all()
    # Of 40 tables x 200 records half keep their heap.
    assert_rate(shares[1].sum() * 40, 8000, 0.5, detects=0.05, of="records that keep their heap")
    # There is nothing to swap where components are drawn so already, or where there are none.
    assert with_prior_membership(free) is None
    assert with_prior_membership(replace(given, synthesizer=Synthesizer(print, ("pay",)))) is None
