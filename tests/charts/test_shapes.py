"""Charts of the data themselves: what they draw is what the evaluation holds."""

import numpy as np
import pytest

from molehill import InputError
from molehill.charts import group_spread, level_shares, shape_curve


def test_a_tail_is_the_share_above_round_numbers(data, released, charts):
    rows = charts["tail"].data_with("at")
    assert set(rows["scheme"]) == {"confidential", "noise"}
    for scheme, tables in (("confidential", [data]), ("noise", released["noise"])):
        values = np.concatenate([table["income"] for table in tables])
        own = rows[rows["scheme"] == scheme]
        assert own["value"].tolist() == pytest.approx([(values > at).mean() for at in own["at"]], rel=1e-4)
    # Between two neighbours a value is known to a quarter of its size at best.
    steps = np.sort(rows["at"].unique())
    assert (steps[1:] / steps[:-1]).min() > 1.2
    assert not set(steps) & set(data["income"][data["income"] % 1000 != 0])


def test_groups_have_their_own_quantiles_to_three_digits(data, charts):
    rows = charts["within groups"].data_with("median").set_index(["place", "scheme"])
    own = data.loc[data["gender"] == "female", "income"]
    assert rows.loc[("gender female", "confidential"), "median"] == float(f"{np.quantile(own, 0.5):.3g}")
    assert rows.loc[("all records", "confidential"), "highest"] == float(f"{np.quantile(data['income'], 0.99):.3g}")


def test_a_column_without_such_a_curve_is_refused(evaluation):
    with pytest.raises(InputError, match="'wealth' has no such curve"):
        shape_curve(evaluation, "wealth", "noise", curve="density")
    with pytest.raises(InputError, match="has no such curve"):
        level_shares(evaluation, "income", "noise")
    with pytest.raises(InputError, match="curve"):
        shape_curve(evaluation, "income", "noise", curve="sideways")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="no such curve"):
        group_spread(evaluation, "wealth", "noise")
