import json

import numpy as np
import pytest

from molehill import InputError
from molehill.charts import densities, ecdfs, scheme_looks, specify, weights_scatter
from molehill.utility.densities import smooth_density


def test_curves_are_on_a_grid_without_the_tails(data, released, charts):
    income = data["income"].to_numpy()
    for name in ("densities", "ecdfs"):
        curves = charts[name].data_with("share")
        assert (curves.groupby("scheme").size() <= 200).all()
        # Of 240 records five are about 2%.
        assert curves["value"].min() >= np.quantile(income, 5 / 240)
        assert curves["value"].max() <= np.quantile(income, 1 - 5 / 240)
    curves = charts["ecdfs"].data_with("share").query("scheme == 'noise'")
    pooled = np.concatenate([table["income"] for table in released["noise"]])
    by_hand = [(pooled <= value).mean() for value in curves["value"]]
    assert np.allclose(curves["share"], by_hand, atol=2 / len(pooled))
    assert "highest and lowest 2.1%" in charts["ecdfs"].subtitle


def test_densities_are_those_of_a_normal_kernel(data, charts):
    curve = charts["densities"].data_with("share").query("scheme == 'confidential'")
    income = data["income"].to_numpy(dtype=float)
    spread = min(income.std(), np.ptp(np.quantile(income, [0.25, 0.75])) / 1.34)
    bandwidth = 0.9 * spread * len(income) ** -0.2
    by_hand = _normal_kernel(income, curve["value"].to_numpy(), bandwidth)
    assert np.allclose(curve["share"], by_hand, atol=0.003 * by_hand.max())


def _normal_kernel(values, grid, bandwidth):
    distances = (grid[:, None] - values) / bandwidth
    return np.exp(-0.5 * distances**2).mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))


def test_a_density_sees_what_lies_beyond_its_grid_and_nothing_more():
    values = np.random.default_rng(3).standard_t(2, 400)
    grid = np.linspace(-1, 1, 41)
    assert np.allclose(smooth_density(values, grid, 0.3), _normal_kernel(values, grid, 0.3), atol=0.001)
    assert (smooth_density(values + 1e6, grid, 0.3) == 0).all()


def test_a_density_between_bounds_is_reflected_there():
    values = np.random.default_rng(4).beta(0.5, 2, 400)
    grid = np.linspace(0, 1, 101)
    found = smooth_density(values, grid, 0.05, bounds=(0.0, 1.0))
    by_hand = np.sum([_normal_kernel(mirrored, grid, 0.05) for mirrored in (values, -values, 2 - values)], axis=0)
    assert np.allclose(found, by_hand, atol=0.01 * by_hand.max())
    assert np.trapezoid(found, grid) == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("share_of_zeros", [0.6, 1.0])
def test_densities_of_values_that_are_mostly_the_same_can_be_drawn(data, draw, share_of_zeros):
    zeros = data.assign(income=data["income"].where(np.arange(len(data)) >= share_of_zeros * len(data), 0))
    curve = draw(densities(zeros, {"same": zeros}, "income")).data_with("share").query("scheme == 'same'")
    assert curve.loc[curve["share"].idxmax(), "value"] == pytest.approx(0, abs=np.ptp(curve["value"]) / 100)
    assert (curve["share"] >= 0).all()


def test_a_part_of_the_schemes_looks_as_in_the_whole(data, released):
    part = {"swapping": released["swapping"]}
    specification = json.dumps(specify(densities(data, part, "income", schemes=released)))
    assert scheme_looks(["confidential", *released])["swapping"].colour in specification
    with pytest.raises(InputError, match=r"column: .*'wealth'"):
        ecdfs(data, part, "wealth")


def test_weights_count_every_record_and_hold_no_value(draw):
    random = np.random.default_rng(2)
    values = np.round(np.exp(random.normal(10, 1.5, 6208)), 2)
    values[:50] *= -1
    values[50:100] = 0
    weights = random.random(6208)
    chart = draw(weights_scatter(weights, values, column="income"))
    assert "income (logarithmic scale)" in chart.texts
    cells = chart.data_with("weight")
    assert cells["records"].sum() == 6208
    assert 1000 < len(cells) <= 2000
    assert not set(cells["value"]) & set(values[values != 0])
    # Weighted by the records, the cells lie where the records do.
    assert np.average(cells["weight"], weights=cells["records"]) == pytest.approx(weights.mean(), abs=0.002)
    median = cells.sort_values("value").set_index("value")["records"].cumsum().searchsorted(3104)
    assert np.sort(cells["value"])[median] == pytest.approx(np.median(values), rel=0.1)


def test_weights_of_plain_values_lie_on_a_plain_scale(draw):
    values = np.linspace(20, 60, 300)
    chart = draw(weights_scatter(np.full(300, 0.5), np.append(values[:-1], np.nan), column="age"))
    assert chart.data_with("weight")["records"].sum() == 299
    assert "logarithmic" not in json.dumps(chart.specification)
    with pytest.raises(InputError, match="weights: their number differs from that of the values"):
        weights_scatter([0.5], values)
    with pytest.raises(InputError, match="values: all are missing"):
        weights_scatter([0.5], [np.nan])
