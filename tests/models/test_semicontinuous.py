"""Losses, zeros and gains: parts that speak of their own records, within a support that may end at zero."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agreement import assert_agrees, assert_rate
from molehill.errors import InputError
from molehill.models import semicontinuous
from molehill.synthesis.fitting import draw
from molehill.tables import schema
from molehill.tables.table import Table
from people import HOUSEHOLDS, PEOPLE, quick_fit

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
    with pytest.raises(InputError, match="lower: the value range does not contain zero"):
        semicontinuous("income", lower=1)


def test_a_support_may_end_at_zero_where_nothing_lies_beyond_it():
    gains = incomes([10, 0, 20])
    assert list(semicontinuous("income", lower=0).parts(gains)) == ["sign", "positive"]
    assert list(semicontinuous("income", upper=0).parts(incomes([-10, 0, -20]))) == ["sign", "negative"]
    with pytest.raises(InputError, match=r"^lower: 'income' is negative in 2 record\(s\), but the value range"):
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


# Of as many records as other tests fit, whose compiled code is used again: too few for mixtures.
HOW: Any = {"loss_predictors": ["region"], "transform": "log", "lower": -5000, "upper": 1e6}
LOSS, NOTHING = (PEOPLE["income"] < 0).to_numpy(), (PEOPLE["income"] == 0).to_numpy()


def test_the_sign_is_fitted_without_the_weights_of_the_amount():
    """Weights that thin out the zeros must not thin them out of the released tables."""
    weights = np.where(NOTHING, 0.0, 0.5)
    posterior = quick_fit(semicontinuous("income", ["region"], **HOW), PEOPLE, weights)
    assert (posterior.parts["sign"].weights == 1).all()
    np.testing.assert_array_equal(posterior.parts["positive"].weights, np.where(PEOPLE["income"] > 0, 0.5, 0.0))
    np.testing.assert_array_equal(posterior.weights, weights)
    # The same sign is learned as without any weights, and zeros are drawn.
    plain = quick_fit(semicontinuous("income", ["region"], **HOW), PEOPLE)
    np.testing.assert_array_equal(posterior.parts["sign"].draws["beta"], plain.parts["sign"].draws["beta"])
    assert any((table["income"] == 0).any() for table in draw(posterior, datasets=20, seed=1, **ALLOWED))


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


@pytest.mark.slow
def test_where_no_loss_has_a_weight_losses_are_drawn_like_gains():
    posterior = quick_fit(semicontinuous("income", ["region"], **HOW), PEOPLE, np.where(LOSS, 0.0, 1.0))
    assert list(posterior.parts) == ["sign", "positive"]
    assert posterior.given_up == ("negative: not fitted, as none of its records has a positive weight",)
    # A sign of which nearly half are losses, so that there are enough to compare.
    sign = posterior.parts["sign"]
    evenly = np.broadcast_to(np.array([[-9.0, 0.0]] + [[0.0, 0.0]] * 2), sign.draws["beta"].shape)
    posterior = replace(posterior, parts={**posterior.parts, "sign": replace(sign, draws={"beta": evenly})})
    drawn = np.concatenate([table["income"] for table in draw(posterior, datasets=50, seed=1, **ALLOWED)])
    assert_rate((drawn < 0).sum(), drawn.size, 1 / 2, detects=0.1, of="losses")
    assert drawn.min() >= -5000
    # Of gains as large a share is small, but for what the support cuts off.
    losses, gains = -drawn[drawn < 0], np.minimum(drawn[drawn > 0], 5000)
    share = (gains < 3000).mean()
    error = np.sqrt(2 * share * (1 - share) / min(len(losses), len(gains)))
    assert_agrees((losses < 3000).mean(), share, error, detects=0.15, of="losses that are small")
    with pytest.raises(InputError, match="all weights"):
        quick_fit(semicontinuous("income", ["region"], **HOW), PEOPLE, np.where(NOTHING, 1.0, 0.0))
