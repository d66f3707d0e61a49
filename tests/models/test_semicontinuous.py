"""Losses, zeros and gains: parts that speak of their own records, within a support that may end at zero."""

import numpy as np
import pandas as pd
import pytest

from molehill.errors import InputError
from molehill.models import semicontinuous
from molehill.tables import schema
from molehill.tables.table import Table


def incomes(values):
    return Table(pd.DataFrame({"income": np.asarray(values, dtype=float)}))


def test_semicontinuous_parts_speak_of_their_own_records():
    parts = semicontinuous("income", lower=-100, upper=1000).parts(incomes([10, 0, -30, 20, np.nan]))
    learned = {name: part.learn(incomes([10, 0, -30, 20, np.nan])) for name, part in parts.items() if part.learn}
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
        part.learn(table)
    assert sorted(looks) == ["age", "income", "region"]
