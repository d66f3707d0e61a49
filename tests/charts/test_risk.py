import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.charts import radius_lines, risk_scatter, risk_violins

STEP = 0.2


def test_violins_hold_densities_quartiles_and_means_but_no_risk_of_a_record(evaluation, charts):
    marks = charts["violins"].data_with("mean").set_index("scheme")
    means = evaluation.risk.query("measure == 'risk_mean'").set_index("scheme")["value"]
    assert np.allclose(marks["mean"], means[marks.index], atol=5e-5)
    noise = evaluation.records.query("scheme == 'noise'")["risk"]
    assert np.allclose(
        marks.loc["noise", ["quarter", "median", "three"]].astype(float), noise.quantile([0.25, 0.5, 0.75]), atol=5e-4
    )
    outlines = charts["violins"].data_with("above")
    assert len(charts["violins"].rows) == len(outlines) + 4
    assert set(outlines["risk"]) <= set(np.linspace(0, 1, 101).round(2))
    assert (outlines.groupby("scheme").size() <= 101).all()
    widths = outlines.assign(width=outlines["below"] - outlines["above"]).groupby("scheme")["width"].max()
    assert np.allclose(widths, 0.76, atol=0.002)


def test_a_violin_of_records_that_are_all_at_the_same_risk_stands_there(evaluation, draw):
    records = evaluation.records.assign(risk=np.where(evaluation.records["scheme"] == "noise", 1.0, 0.3))
    outlines = draw(risk_violins(replace(evaluation, records=records))).data_with("above")
    outlines = outlines.assign(width=outlines["below"] - outlines["above"]).sort_values("width")
    highest = outlines.drop_duplicates("scheme", keep="last").set_index("scheme")["risk"]
    assert highest["noise"] == pytest.approx(1.0, abs=0.011)
    assert highest["swapping"] == pytest.approx(0.3, abs=0.011)


def test_expected_violins_leave_out_schemes_without_a_posterior(evaluation, charts):
    assert set(charts["expected violins"].data_with("mean")["scheme"]) == {"confidential", "noise", "swapping"}
    with pytest.raises(InputError, match="the expected risk of no release is known"):
        risk_violins(evaluation, measure="expected")
    with pytest.raises(InputError, match="measure"):
        risk_violins(evaluation, measure="hoped")  # pyright: ignore[reportArgumentType]


def test_scatter_marks_the_rises_that_the_evaluation_counts(evaluation, charts, draw):
    counted = evaluation.risk.query("scheme == 'swapping'").set_index("measure")["value"]
    marked = charts["scatter"].data_with("record")
    assert len(marked) == counted["increases"] > 0
    assert (marked["up"] - marked["across"] > STEP - 0.001).all()
    assert f"Expected by chance: {counted['increases_by_chance']:,.0f} (" in charts["scatter"].subtitle
    # Against another reference, or with another step, the evaluation does not know it.
    for other in (
        risk_scatter(evaluation, "noise", "swapping"),
        risk_scatter(evaluation, "swapping", "noise", step=0.3),
    ):
        assert "chance" not in draw(other).subtitle


def test_expected_scatter_marks_moles_only(expected, charts, draw):
    risk = {name: rows["expected_risk"].to_numpy() for name, rows in expected.records.groupby("scheme")}
    by_hand = risk["swapping"] - risk["noise"] - 3 * np.hypot(0.01, 0.01) > STEP
    marked = charts["expected scatter"].data_with("record")
    assert marked["record"].tolist() == (np.flatnonzero(by_hand) + 1).tolist()
    realised = draw(risk_scatter(expected, "swapping", "noise", measure="realised"))
    assert len(realised.data_with("record")) > by_hand.sum()
    with pytest.raises(InputError, match="measure: the expected risk of one of the two is not known"):
        risk_scatter(expected, "topcoding", "noise", measure="expected")
    with pytest.raises(InputError, match=r"scheme: there is no method 'swaping'.*swapping"):
        risk_scatter(expected, "swaping", "noise")


def test_scatter_of_many_records_is_thinned_but_keeps_every_mark(evaluation, draw):
    random = np.random.default_rng(1)
    records, names = 6208, ["confidential", "topcoding", "noise", "swapping"]
    frame = pd.DataFrame(
        {
            "scheme": np.repeat(names, records),
            "record": np.tile(np.arange(1, records + 1), len(names)),
            "risk": random.random(len(names) * records),
            "expected_risk": np.nan,
            "expected_error": np.nan,
        }
    )
    risk = {name: rows["risk"].to_numpy() for name, rows in frame.groupby("scheme")}
    chart = draw(risk_scatter(replace(evaluation, records=frame), "swapping", "noise", step=0.5))
    rising = int((risk["swapping"] - risk["noise"] > 0.5).sum())
    assert len(chart.data_with("record")) == rising > 500
    # Two ends of the diagonal are points, too.
    assert len(chart.data_with("across")) == 2000 + rising + 2
    assert "Of the others 2,000 are shown" in chart.subtitle
    assert len(json.dumps(chart.specification)) < 150_000
    assert len(chart.svg) < 600_000


def test_radius_lines_join_the_risks_of_the_table(evaluation, charts, draw):
    found = charts["radii"].data_with("value").query("scheme == 'noise'").set_index("radius")["value"]
    own = evaluation.risk.query("scheme == 'noise'")
    assert found.index.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found[0.2] == pytest.approx(own.query("measure == 'risk_mean'")["value"].item(), abs=1e-4)
    assert found[0.3] == pytest.approx(own.query("measure == 'radius_mean' and at == 0.3")["value"].item(), abs=1e-4)
    without = draw(radius_lines(evaluation)).data_with("value")
    assert set(without["radius"]) == {0.1, 0.3, 0.4}
    alone = evaluation.risk[evaluation.risk["measure"] != "radius_mean"]
    with pytest.raises(InputError, match="it has only one radius"):
        radius_lines(replace(evaluation, risk=alone))


def test_radii_by_column_are_told_as_text(evaluation, draw):
    rows = evaluation.risk
    of = [f"{at:g} of income, 0.1 of a.b" for at in rows["at"]]
    by_column = rows.assign(of=of, at=np.nan).where(rows["measure"] == "radius_mean", rows)
    chart = draw(radius_lines(replace(evaluation, risk=by_column)))
    assert "0.3 of income, 0.1 of a.b" in set(chart.data_with("value")["radius"])
    with pytest.raises(InputError, match="radius: the variables have different radii"):
        radius_lines(replace(evaluation, risk=by_column), radius=0.2)
