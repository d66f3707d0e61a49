"""Losses, zeros and gains: parts that speak of their own records, within a support that may end at zero."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.models import semicontinuous
from molehill.synthesis.fitting import draw
from molehill.tables import schema
from molehill.tables.table import Table
from people import HOUSEHOLDS, quick_fit

ALLOWED: Any = {"unconverged": "allow"}


def incomes(values):
    return Table(pd.DataFrame({"income": np.asarray(values, dtype=float)}))


def test_semicontinuous_parts_speak_of_their_own_records():
    parts = semicontinuous("income", lower=-100, upper=1000).parts(incomes([10, 0, -30, 20, np.nan]))
    learned = {
        name: part.learn(incomes([10, 0, -30, 20, np.nan]), np.ones(5)) for name, part in parts.items() if part.learn
    }
    assert list(parts) == ["sign", "negative", "positive"]
    assert learned["sign"].facts["levels"] == ("negative", "zero", "positive")
    assert learned["positive"].applies is not None
    assert learned["positive"].applies.tolist() == [True, False, False, True, False]
    assert learned["negative"].applies is not None
    assert learned["negative"].applies.tolist() == [False, False, True, False, False]
    assert learned["negative"].facts["support"] == (-np.inf, 100.0)
    assert "negative" not in semicontinuous("income").parts(incomes([10, 0]))
    with pytest.raises(InputError, match="column: all values of 'income' are positive"):
        semicontinuous("income").parts(incomes([10, 20]))
    with pytest.raises(InputError, match="lower: the support leaves zero out"):
        semicontinuous("income", lower=1)


def test_a_support_may_end_at_zero_where_nothing_lies_beyond_it():
    gains = incomes([10, 0, 20])
    assert list(semicontinuous("income", lower=0).parts(gains)) == ["sign", "positive"]
    assert list(semicontinuous("income", upper=0).parts(incomes([-10, 0, -20]))) == ["sign", "negative"]
    with pytest.raises(InputError, match=r"^lower: 'income' is negative in 2 record\(s\), and the support"):
        semicontinuous("income", lower=0).parts(incomes([10, 0, -20, -1]))
    with pytest.raises(InputError, match=r"^upper: 'income' is positive in 1 record\(s\)"):
        semicontinuous("income", upper=0).parts(incomes([10, 0, -20]))


def test_what_is_known_of_the_predictors_is_not_looked_for_again(monkeypatch):
    """A look at a column takes long in a large table, and every part needs the kinds of all predictors."""
    looks = []
    look_at = schema._look_at
    monkeypatch.setattr(schema, "_look_at", lambda table, name: looks.append(name) or look_at(table, name))
    table = Table(pd.DataFrame({"income": [10.0, 0, -30, 20], "age": [31, 54, 40, 22], "region": list("NSSN")}))
    schema.infer_schema(table)
    made = semicontinuous("income", ["age", "region"])
    for part in made.parts(table).values():
        assert part.learn is not None
        part.learn(table, np.ones(len(table.frame)))
    assert sorted(looks) == ["age", "income", "region"]


def test_the_sign_is_fitted_without_the_weights_of_the_amount():
    """Weights that thin out the zeros must not thin them out of the released tables."""
    weights = np.where(HOUSEHOLDS["income"] == 0, 0.0, 0.5)
    posterior = quick_fit(semicontinuous("income", components=2, lower=-1e6, upper=1e6), HOUSEHOLDS, weights)
    assert (posterior.parts["sign"].weights == 1).all()
    np.testing.assert_array_equal(posterior.parts["positive"].weights, np.where(HOUSEHOLDS["income"] > 0, 0.5, 0.0))
    np.testing.assert_array_equal(posterior.weights, weights)
    share = np.mean([(table["income"] == 0).mean() for table in draw(posterior, datasets=20, seed=1, **ALLOWED)])
    true = (HOUSEHOLDS["income"] == 0).mean()
    assert share == pytest.approx(true, abs=4 * np.sqrt(true / 600))


def test_what_is_simpler_speaks_of_the_same_records():
    part = semicontinuous("income").parts(Table(HOUSEHOLDS))["positive"]
    sizes = []
    while part is not None:
        assert part.learn is not None
        applies = part.learn(Table(HOUSEHOLDS), np.ones(600)).applies
        assert applies is not None
        sizes.append((part.variant, int(applies.sum())))
        part = part.simpler
    positive = int((HOUSEHOLDS["income"] > 0).sum())
    assert sizes == [(f"{number} components", positive) for number in (10, 5, 4, 3, 2)]


def test_where_no_loss_has_a_weight_losses_are_drawn_like_gains():
    weights = np.where(HOUSEHOLDS["income"] < 0, 0.0, 1.0)
    posterior = quick_fit(semicontinuous("income", components=2, lower=-5000, upper=1e6), HOUSEHOLDS, weights)
    assert list(posterior.parts) == ["sign", "positive"]
    assert posterior.given_up == ("negative: no record of it has a weight, and it is drawn like the others",)
    drawn = np.concatenate([table["income"] for table in draw(posterior, datasets=20, seed=1, **ALLOWED)])
    losses = drawn[drawn < 0]
    assert len(losses) / len(drawn) == pytest.approx((HOUSEHOLDS["income"] < 0).mean(), abs=0.03)
    assert losses.min() >= -5000
    gains = np.minimum(drawn[drawn > 0], 5000)
    assert np.median(-losses) == pytest.approx(np.median(gains), rel=0.3)
    with pytest.raises(InputError, match="no record counts"):
        quick_fit(semicontinuous("income", components=2), HOUSEHOLDS, np.where(HOUSEHOLDS["income"] == 0, 1.0, 0.0))
