import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.charts import estimate_intervals, specify
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.options import EvaluationOptions
from molehill.risk.intruder import Intruder
from molehill.sdc_methods import topcode


def _titles(specification):
    return [panel["title"]["text"] for panel in specification["concat"]]


def test_intervals_are_those_of_the_table_and_no_value_of_a_record(data, evaluation, charts, draw):
    assert _titles(charts["intervals"].specification) == [
        f"{what} of income" for what in ("mean", "median", "90% quantile", "sd")
    ]
    rows = draw(estimate_intervals(evaluation, analyses=["median of income"])).data_with("value")
    wanted = evaluation.utility.query("measure == 'estimate' and of == 'median of income' and group == ''")
    wanted = wanted.set_index("scheme")
    span = np.ptp(wanted[["value", "low", "high"]].to_numpy())
    drawn = rows.set_index(rows["scheme"].fillna("confidential")).loc[wanted.index]
    for end in ("value", "low", "high"):
        assert np.allclose(drawn[end].astype(float), wanted[end].astype(float), atol=span / 200)
    # The median of an odd number of records is one of them.
    odd = data.iloc[:151].assign(income=data["income"] // 10 * 10 + 7)
    exact = float(odd["income"].median())
    intruder = Intruder(known="gender", sensitive="income", radius=0.2)
    estimates = [one for one in MEASURES if one.id == "estimate"]
    small = evaluate(
        odd, topcode(odd, "income"), intruder, EvaluationOptions(radii=[], propensity_methods=(), measures=estimates)
    )
    assert exact in set(small.utility["value"])
    text = json.dumps(specify(estimate_intervals(small)))
    assert not re.search(rf"\b{exact:.0f}(\.0)?\b", text)


@pytest.mark.slow
def test_intervals_can_be_chosen_and_are_limited(evaluation):
    names = ["sd of income", "mean of income"]
    assert _titles(specify(estimate_intervals(evaluation, analyses=names), validate=False)) == names
    within = [f"mean of income{group}" for group in ("", ", within rural", ", within urban")]
    assert _titles(specify(estimate_intervals(evaluation, analyses=names[1:], groups=True), validate=False)) == within
    own = evaluation.utility.query("measure == 'estimate' and of == 'mean of income' and group == ''")
    many = pd.concat([own.assign(of=f"analysis {number}") for number in range(13)])
    # As many panels as there may be, with one bar each.
    many = many[many["scheme"].isin(["confidential", "noise"])]
    chart = specify(estimate_intervals(replace(evaluation, utility=many)), validate=False)
    assert len(chart["concat"]) == 12
    assert "1 more estimates are not shown." in chart["title"]["subtitle"]
    with pytest.raises(InputError, match=r"analyses: there is no analysis 'mean of incme'.*mean of income"):
        estimate_intervals(evaluation, analyses=["mean of incme"])
    with pytest.raises(InputError, match="it has no estimates"):
        estimate_intervals(replace(evaluation, utility=own[own["scheme"] != "confidential"]))
