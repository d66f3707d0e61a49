import copy
import json
import re
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
import vl_convert

from molehill import InputError
from molehill.baselines import add_noise, swap_ranks, topcode
from molehill.charts import (
    densities,
    draw_svg,
    ecdfs,
    estimate_intervals,
    radius_lines,
    risk_histogram,
    risk_scatter,
    risk_utility_map,
    risk_violins,
    save_figure,
    scheme_looks,
    search_map,
    specify,
    weights_scatter,
)
from molehill.evaluation.evaluation import evaluate
from molehill.risk.profile import count_bins
from molehill.tables.populations import consumer_survey
from report_dossier import make_search

BINS = {"order 1": count_bins(np.linspace(0, 1, 50)), "<script>alert(1)</script>": count_bins(np.zeros(9))}
NASTY = {
    "topcoding": "<script>alert('x')</script>",
    "noise": 'a.b[0]"\n\u202e=cmd|x',
    "swapping": "y" * 10_000,
    "income": "in.co[me]<b>\n" + "合成" * 2_000,
}
STEP = 0.2
VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
SEARCH = make_search(("U_m <= 0.1",))


@pytest.fixture(scope="module")
def data():
    return consumer_survey(n=240, seed=1)


@pytest.fixture(scope="module")
def released(data):
    return {
        "topcoding": topcode(data, "income"),
        "noise": [add_noise(data, "income", scale=0.1, seed=seed) for seed in range(3)],
        "swapping": [swap_ranks(data, "income", window=0.1, seed=seed) for seed in range(3)],
    }


@pytest.fixture(scope="module")
def evaluation(data, released):
    about = {"known": ["gender", "age"], "sensitive": "income", "radius": 0.2}
    return evaluate(data, released, **about, reference="noise", step=STEP, propensity_methods=(), groups="urban")


@pytest.fixture(scope="module")
def expected(evaluation):
    """The same with expected risks, as posteriors would add them: those of the releases without their error."""
    known = ~evaluation.records["scheme"].isin(["confidential", "topcoding"])
    records = evaluation.records.assign(
        expected_risk=evaluation.records["risk"].where(known), expected_error=np.where(known, 0.01, np.nan)
    )
    return replace(evaluation, records=records)


@dataclass(frozen=True)
class Drawn:
    """A chart's specification and drawing, each made once."""

    specification: dict[str, Any]
    svg: str


def draw(chart):
    specification = specify(chart)
    return Drawn(specification, draw_svg(specification))


def rows_of(figure):
    """Rows of every dataset in a figure."""
    specification = figure.specification if isinstance(figure, Drawn) else specify(figure)
    return [row for rows in specification["datasets"].values() for row in rows]


def data_with(figure, field) -> Any:
    return pd.DataFrame([row for row in rows_of(figure) if field in row])


def parts_of(node):
    """Every object inside a specification but its data."""
    if isinstance(node, dict):
        yield node
        for key, child in node.items():
            if key != "datasets":
                yield from parts_of(child)
    elif isinstance(node, list):
        for child in node:
            yield from parts_of(child)


def all_charts(data, released, evaluation, expected, weights):
    column = next(name for name in data if name not in {"gender", "age"} and data[name].dtype.kind in "if")
    names = list(evaluation.schemes)
    made = {
        "histogram": risk_histogram(BINS),
        "violins": risk_violins(evaluation),
        "expected violins": risk_violins(expected, measure="expected"),
        "scatter": risk_scatter(evaluation, names[2], names[1]),
        "expected scatter": risk_scatter(expected, names[2], names[1]),
        "intervals": estimate_intervals(evaluation),
        "map": risk_utility_map(evaluation),
        "search": search_map(SEARCH.points, SEARCH.baselines, floor=SEARCH.floor, chosen=1, column=column),
        "radii": radius_lines(evaluation, radius=0.2),
        "densities": densities(data, released, column),
        "ecdfs": ecdfs(data, released, column),
        "weights": weights_scatter(weights, data[column], column=column),
        "weights by scheme": weights_scatter(dict.fromkeys(names[:2], weights), data[column], column=column),
    }
    return {name: draw(chart) for name, chart in made.items()}


@pytest.fixture(scope="module")
def charts(data, released, evaluation, expected):
    return all_charts(data, released, evaluation, expected, np.linspace(0, 1, len(data)))


def renamed(evaluation):
    """An evaluation whose names are as bad as names can be."""
    column = NASTY["income"]

    def rename(frame):
        frame = frame.assign(scheme=[NASTY.get(name, name) for name in frame["scheme"]])
        if "measure" not in frame:
            return frame
        measures = [measure.replace("income", column) for measure in frame["measure"]]
        return frame.assign(measure=measures, column=[name.replace("income", column) for name in frame["column"]])

    frames = {name: rename(getattr(evaluation, name)) for name in ("risk", "utility", "records")}
    return replace(evaluation, **frames)


@pytest.fixture(scope="module")
def nasty_charts(data, released, evaluation, expected):
    about = {"income": NASTY["income"]}
    tables = {
        NASTY[name]: [table.rename(columns=about) for table in tables]
        if isinstance(tables, list)
        else tables.rename(columns=about)
        for name, tables in released.items()
    }
    weights = np.linspace(0, 1, len(data))
    return all_charts(data.rename(columns=about), tables, renamed(evaluation), renamed(expected), weights)


AXES = {
    "violins": ["identification risk of the record", "confidential", "topcoding", "noise", "swapping"],
    "scatter": ["realised risk, noise", "realised risk, swapping"],
    "expected scatter": ["expected risk, noise", "expected risk, swapping"],
    "search": ["mean risk of a record", "U_m of income", "topcoding", "noise", "fresh sample", "keeps the targets"],
    "map": ["U_m, greatest gap between distribution functions (income)", "mean risk"],
    "radii": ["intruder's radius, as a share of the value", "mean identification risk"],
    "densities": ["income", "density"],
    "ecdfs": ["income", "share of records at or below"],
    "weights": ["income", "weight"],
}


def test_every_chart_says_what_it_shows(charts):
    for name, figure in charts.items():
        told = figure.specification["description"]
        drawn = [unescape(text) for text in re.findall("<text[^>]*>([^<]*)</text>", figure.svg)]
        for text in [figure.specification["title"]["text"], *AXES.get(name, [])]:
            assert text in drawn, (name, text)
        assert len(told) > 60, name
        assert figure.svg.startswith('<svg role="img" aria-label="'), name
        assert f"><title>{told[:30]}" in figure.svg, name
        assert len(json.dumps(figure.specification)) < 150_000, name


def test_no_chart_makes_the_drawing_library_warn(charts, capfd):
    def compile_aloud(specification):
        vl_convert.vegalite_to_vega(specification, vl_version=VERSION, show_warnings=True)
        return "".join(capfd.readouterr())

    wrong = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"shade": {"field": "a"}}}
    assert "WARN" in compile_aloud(wrong)
    for name, figure in charts.items():
        assert compile_aloud(figure.specification) == "", name


def test_bad_names_are_harmless(nasty_charts):
    for name, figure in nasty_charts.items():
        assert "<script" not in figure.svg, name
        assert "<b>" not in figure.svg, name
        text = json.dumps(figure.specification, ensure_ascii=False)
        for cut in ("y" * 100, "合成" * 50, "\u202e"):
            assert cut not in text, name
        # Vega takes a dot or a bracket in the name of a field for a path, so that names are data here, never fields.
        assert all(re.fullmatch("[a-z_]+", field) for row in rows_of(figure) for field in row), name
        for part in parts_of(figure.specification):
            for expression in (part[key] for key in ("filter", "labelExpr", "expr", "signal") if key in part):
                assert not re.search("script|cmd|yyy|合", expression), name


def test_schemes_keep_their_looks():
    alone = scheme_looks(["pairwise"])["pairwise"]
    looks = scheme_looks(["confidential", "mine", "topcoding", "pairwise", "yours", "unweighted"])
    assert looks["pairwise"] == alone
    assert looks["confidential"].colour == "#000000"
    for part in ("colour", "shape", "dash", "label"):
        assert len({getattr(look, part) for look in looks.values() if look.label != "confidential"}) == 5
    many = scheme_looks([f"scheme {number}" for number in range(42)])
    assert len({(look.colour, look.shape) for look in many.values()}) == 42


def test_long_names_that_begin_alike_get_labels_of_their_own():
    looks = scheme_looks(["z" * 9_000, "z" * 9_001, "z" * 9_002, "\n", ""])
    assert [look.label for look in looks.values()][1:3] == [f"({number}) {'z' * 31}…" for number in (2, 3)]
    assert [look.label for look in looks.values()][3:] == ["(no name)", "(2) (no name)"]


def test_the_same_scheme_has_the_same_colour_in_every_figure(charts):
    wanted = {"violins", "expected violins", "intervals", "map", "radii", "densities", "ecdfs"}
    parts = (part for name in wanted for part in parts_of(charts[name].specification))
    scales = [part["encoding"]["color"]["scale"] for part in parts if "color" in part.get("encoding", {})]
    found = [pair for scale in scales for pair in zip(scale["domain"], scale["range"], strict=True)]
    assert {name for name, _ in found} == {"confidential", "topcoding", "noise", "swapping"}
    assert len(set(found)) == 4


def test_a_page_can_choose_schemes(charts):
    specification = copy.deepcopy(charts["densities"].specification)
    (shown,) = (parameter for parameter in specification["params"] if parameter["name"] == "shown")
    assert shown["value"] == ["confidential", "topcoding", "noise", "swapping"]
    shown["value"] = ["noise"]
    few = vl_convert.vegalite_to_svg(specification, vl_version=VERSION)
    line = re.compile('class="mark-line[^>]*>(.*?)</g>')
    numbers = [sum(part.count("<path") for part in line.findall(svg)) for svg in (charts["densities"].svg, few)]
    assert numbers == [4, 1]


def test_violins_hold_densities_quartiles_and_means_but_no_risk_of_a_record(evaluation, charts):
    marks = data_with(charts["violins"], "mean").set_index("scheme")
    means = evaluation.risk.query("measure == 'mean risk'").set_index("scheme")["value"]
    assert np.allclose(marks["mean"], means[marks.index], atol=5e-5)
    noise = evaluation.records.query("scheme == 'noise'")["risk"]
    assert np.allclose(
        marks.loc["noise", ["quarter", "median", "three"]].astype(float), noise.quantile([0.25, 0.5, 0.75]), atol=5e-4
    )
    outlines = data_with(charts["violins"], "above")
    assert len(rows_of(charts["violins"])) == len(outlines) + 4
    assert set(outlines["risk"]) <= set(np.linspace(0, 1, 101).round(2))
    assert (outlines.groupby("scheme").size() <= 101).all()
    widths = outlines.assign(width=outlines["below"] - outlines["above"]).groupby("scheme")["width"].max()
    assert np.allclose(widths, 0.76, atol=0.002)


def test_expected_violins_leave_out_schemes_without_a_posterior(evaluation, charts):
    assert set(data_with(charts["expected violins"], "mean")["scheme"]) == {"confidential", "noise", "swapping"}
    with pytest.raises(InputError, match="the expected risk of no release is known"):
        risk_violins(evaluation, measure="expected")
    with pytest.raises(InputError, match="measure"):
        risk_violins(evaluation, measure="hoped")  # pyright: ignore[reportArgumentType]


def test_scatter_marks_the_rises_that_the_evaluation_counts(evaluation, charts):
    counted = evaluation.risk.query("scheme == 'swapping'").set_index("measure")["value"]
    words = f"records whose risk rises by more than {STEP:g}"
    marked = data_with(charts["scatter"], "record")
    assert len(marked) == counted[words] > 0
    assert (marked["up"] - marked["across"] > STEP - 0.001).all()
    subtitle = " ".join(charts["scatter"].specification["title"]["subtitle"])
    assert f"By chance alone there would be {counted[f'{words}, by chance alone']:,.0f} (" in subtitle
    # Against another reference, or with another step, the evaluation does not know it.
    for other in (
        risk_scatter(evaluation, "noise", "swapping"),
        risk_scatter(evaluation, "swapping", "noise", step=0.3),
    ):
        assert "chance" not in " ".join(specify(other)["title"]["subtitle"])


def test_expected_scatter_marks_moles_only(expected, charts):
    risk = {name: rows["expected_risk"].to_numpy() for name, rows in expected.records.groupby("scheme")}
    by_hand = risk["swapping"] - risk["noise"] - 3 * np.hypot(0.01, 0.01) > STEP
    assert data_with(charts["expected scatter"], "record")["record"].tolist() == (np.flatnonzero(by_hand) + 1).tolist()
    realised = risk_scatter(expected, "swapping", "noise", measure="realised")
    assert len(data_with(realised, "record")) > by_hand.sum()
    with pytest.raises(InputError, match="measure: the expected risk of one of the two is not known"):
        risk_scatter(expected, "topcoding", "noise", measure="expected")
    with pytest.raises(InputError, match=r"scheme: there is no scheme 'swaping'.*swapping"):
        risk_scatter(expected, "swaping", "noise")


def test_scatter_of_many_records_is_thinned_but_keeps_every_mark(evaluation):
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
    chart = risk_scatter(replace(evaluation, records=frame), "swapping", "noise", step=0.5)
    rising = int((risk["swapping"] - risk["noise"] > 0.5).sum())
    assert len(data_with(chart, "record")) == rising > 500
    # Two ends of the diagonal are points, too.
    assert len(data_with(chart, "across")) == 2000 + rising + 2
    assert "Of the others 2,000 are drawn" in " ".join(specify(chart)["title"]["subtitle"])
    assert len(json.dumps(specify(chart))) < 150_000
    assert len(draw_svg(chart)) < 600_000


def test_intervals_are_those_of_the_table_and_no_value_of_a_record(data, evaluation, charts):
    panels = charts["intervals"].specification["concat"]
    assert [panel["title"]["text"] for panel in panels] == [
        f"{what} of income" for what in ("mean", "median", "90% quantile", "sd")
    ]
    rows = data_with(estimate_intervals(evaluation, analyses=["median of income"]), "value")
    wanted = evaluation.utility.query("measure == 'median of income'").set_index("scheme")
    span = np.ptp(wanted[["value", "low", "high"]].to_numpy())
    drawn = rows.set_index(rows["scheme"].fillna("confidential")).loc[wanted.index]
    for end in ("value", "low", "high"):
        assert np.allclose(drawn[end].astype(float), wanted[end].astype(float), atol=span / 200)
    # The median of an odd number of records is one of them.
    odd = data.iloc[:151].assign(income=data["income"] // 10 * 10 + 7)
    exact = float(odd["income"].median())
    about = {"known": ["gender"], "sensitive": "income", "radius": 0.2, "radii": [], "propensity_methods": ()}
    small = evaluate(odd, topcode(odd, "income"), **about)
    assert exact in set(small.utility["value"])
    text = json.dumps(specify(estimate_intervals(small)))
    assert not re.search(rf"\b{exact:.0f}(\.0)?\b", text)


def test_intervals_can_be_chosen_and_are_limited(evaluation):
    within = [name for name in evaluation.utility["measure"].unique() if name.startswith("mean of income, within")]
    chosen = specify(estimate_intervals(evaluation, analyses=within[::-1]))["concat"]
    assert [panel["title"]["text"] for panel in chosen] == within[::-1]
    own = evaluation.utility.query("measure == 'mean of income'")
    many = pd.concat([own.assign(measure=f"analysis {number}") for number in range(13)])
    chart = specify(estimate_intervals(replace(evaluation, utility=many)))
    assert len(chart["concat"]) == 12
    assert "1 further estimates are not drawn." in chart["title"]["subtitle"]
    with pytest.raises(InputError, match=r"analyses: there is no analysis 'mean of incme'.*mean of income"):
        estimate_intervals(evaluation, analyses=["mean of incme"])
    with pytest.raises(InputError, match="it holds no estimates"):
        estimate_intervals(replace(evaluation, utility=own[own["scheme"] != "confidential"]))


def test_map_holds_risk_and_utility_of_every_scheme(evaluation, charts):
    points = data_with(charts["map"], "far").set_index("scheme")
    risks: Any = evaluation.risk.query("measure == 'mean risk'").set_index("scheme")
    losses: Any = evaluation.utility.query("measure == 'U_m'").set_index("scheme")
    for name in evaluation.schemes:
        assert points.loc[name, "up"] == pytest.approx(risks.loc[name, "value"], rel=1e-3)
        assert points.loc[name, "across"] == pytest.approx(losses.loc[name, "value"], rel=1e-3)
    assert points.loc["noise", ["left", "right"]].tolist() == pytest.approx(
        losses.loc["noise", ["low", "high"]], rel=1e-3
    )
    lines = data_with(charts["map"], "told")
    assert lines["up"].dropna().tolist() == [risks.loc["confidential", "value"]]
    other = risk_utility_map(evaluation, utility="Wasserstein distance", risk="records with risk above 0.5")
    assert "Wasserstein distance" in specify(other)["description"]
    with pytest.raises(InputError, match="utility: there is no measure 'U_n'"):
        risk_utility_map(evaluation, utility="U_n")
    with pytest.raises(InputError, match="column: there is no 'U_m' of 'age'"):
        risk_utility_map(evaluation, column="age")


def test_the_search_has_every_point_with_its_bars_and_marks_the_chosen_one(charts):
    drawn = data_with(charts["search"], "state")
    # Three points and two baselines in the first panel, the points again in the second.
    assert len(drawn) == 5 + 3
    assert set(drawn.loc[drawn["chosen"], "scheme"]) == {"2: pairwise, shift 0.5, membership prior"}
    first = drawn[drawn["label"] == "1"].iloc[0]
    assert first[["up", "across"]].tolist() == [0.2136, 0.03579]
    assert first[["bottom", "left"]].tolist() == pytest.approx(
        [0.2136 - 1.96 * 0.001, 0.03579 - 1.96 * 0.0005], abs=1e-4
    )
    assert drawn["state"].tolist()[:5] == ["misses a target", *["keeps the targets"] * 2, *["not synthesized"] * 2]
    # All have a label in the panel that is closer, in the other one the chosen one and the baselines.
    assert drawn["shown_label"].tolist() == ["", "2", "", "topcoding", "noise", "1", "2", "3"]
    alone = search_map(SEARCH.points.head(1), SEARCH.baselines, floor=np.nan, chosen=0, column="income")
    assert data_with(alone, "state")["shown_label"].tolist() == ["1", "topcoding", "noise"]


def test_radius_lines_join_the_risks_of_the_table(evaluation, charts):
    found = data_with(charts["radii"], "value").query("scheme == 'noise'").set_index("radius")["value"]
    own = evaluation.risk.query("scheme == 'noise'").set_index("measure")["value"]
    assert found.index.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found[0.2] == pytest.approx(own["mean risk"], abs=1e-4)
    assert found[0.3] == pytest.approx(own["mean risk, intruder radius 0.3"], abs=1e-4)
    without = data_with(radius_lines(evaluation), "value")
    assert set(without["radius"]) == {0.1, 0.3, 0.4}
    alone = evaluation.risk[~evaluation.risk["measure"].str.contains("intruder")]
    with pytest.raises(InputError, match="no other radius"):
        radius_lines(replace(evaluation, risk=alone))


def test_radii_by_column_are_told_as_text(evaluation):
    told = evaluation.risk["measure"].str.replace(r"radius (\S+)", r"radius \1 of income, 0.1 of a.b", regex=True)
    chart = radius_lines(replace(evaluation, risk=evaluation.risk.assign(measure=told)))
    assert "0.3 of income, 0.1 of a.b" in set(data_with(chart, "value")["radius"])
    draw_svg(chart)
    with pytest.raises(InputError, match="radius: the columns have radii of their own"):
        radius_lines(replace(evaluation, risk=evaluation.risk.assign(measure=told)), radius=0.2)


def test_weights_count_every_record_and_hold_no_value():
    random = np.random.default_rng(2)
    values = np.round(np.exp(random.normal(10, 1.5, 6208)), 2)
    values[:50] *= -1
    values[50:100] = 0
    weights = random.random(6208)
    chart = weights_scatter(weights, values, column="income")
    assert "income (logarithmic scale)" in draw_svg(chart)
    cells = data_with(chart, "weight")
    assert cells["records"].sum() == 6208
    assert 1000 < len(cells) <= 2000
    assert not set(cells["value"]) & set(values[values != 0])
    # Weighted by the records, the cells lie where the records do.
    assert np.average(cells["weight"], weights=cells["records"]) == pytest.approx(weights.mean(), abs=0.002)
    median = cells.sort_values("value").set_index("value")["records"].cumsum().searchsorted(3104)
    assert np.sort(cells["value"])[median] == pytest.approx(np.median(values), rel=0.1)


def test_weights_of_plain_values_lie_on_a_plain_scale():
    values = np.linspace(20, 60, 300)
    chart = weights_scatter(np.full(300, 0.5), np.append(values[:-1], np.nan), column="age")
    assert data_with(chart, "weight")["records"].sum() == 299
    assert "logarithmic" not in json.dumps(specify(chart))
    with pytest.raises(InputError, match="weights: they are not of the length of the values"):
        weights_scatter([0.5], values)
    with pytest.raises(InputError, match="values: there is none"):
        weights_scatter([0.5], [np.nan])


def test_curves_are_on_a_grid_without_the_tails(data, released, charts):
    income = data["income"].to_numpy()
    for name in ("densities", "ecdfs"):
        curves = data_with(charts[name], "share")
        assert (curves.groupby("scheme").size() <= 200).all()
        # Of 240 records five are about 2%.
        assert curves["value"].min() >= np.quantile(income, 5 / 240)
        assert curves["value"].max() <= np.quantile(income, 1 - 5 / 240)
    curves = data_with(charts["ecdfs"], "share").query("scheme == 'noise'")
    pooled = np.concatenate([table["income"] for table in released["noise"]])
    by_hand = [(pooled <= value).mean() for value in curves["value"]]
    assert np.allclose(curves["share"], by_hand, atol=2 / len(pooled))
    assert "highest and lowest 2.1%" in charts["ecdfs"].specification["title"]["subtitle"][0]


def test_densities_are_those_of_a_normal_kernel(data, charts):
    curve = data_with(charts["densities"], "share").query("scheme == 'confidential'")
    income = data["income"].to_numpy(dtype=float)
    spread = min(income.std(), np.ptp(np.quantile(income, [0.25, 0.75])) / 1.349)
    bandwidth = 0.9 * spread * len(income) ** -0.2
    distances = (curve["value"].to_numpy()[:, None] - income) / bandwidth
    by_hand = np.exp(-0.5 * distances**2).mean(axis=1) / (bandwidth * np.sqrt(2 * np.pi))
    assert np.allclose(curve["share"], by_hand, atol=0.003 * by_hand.max())


def test_a_part_of_the_schemes_looks_as_in_the_whole(data, released):
    part = {"swapping": released["swapping"]}
    specification = json.dumps(specify(densities(data, part, "income", schemes=released)))
    assert scheme_looks(["confidential", *released])["swapping"].colour in specification
    with pytest.raises(InputError, match=r"column: .*'wealth'"):
        ecdfs(data, part, "wealth")


@pytest.mark.parametrize("ending", [".svg", ".png", ".html"])
def test_figures_are_written_whole_and_for_their_owner(tmp_path, ending):
    path = tmp_path / f"risk{ending}"
    save_figure(risk_histogram(BINS), path)
    assert path.stat().st_size > 5000
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_html_needs_no_network_and_text_cannot_run(tmp_path):
    path = tmp_path / "risk.html"
    save_figure(risk_histogram(BINS), path)
    text = path.read_text()
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text)
    assert "<script>alert(1)</script>" not in text


def test_svg_text_is_escaped(tmp_path):
    save_figure(risk_histogram(BINS), tmp_path / "risk.svg")
    assert "<script>" not in (tmp_path / "risk.svg").read_text()


def test_figure_holds_counts_and_a_text_alternative():
    chart = json.loads(risk_histogram(BINS).to_json())
    rows = next(iter(chart["datasets"].values()))
    assert sum(row["records"] for row in rows) == 59
    assert "most records between 0.00 and 0.05" in chart["description"]


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"figure: '\.jpg' is not a format"):
        save_figure(risk_histogram(BINS), tmp_path / "risk.jpg")
    with pytest.raises(InputError, match="figure: there is no folder"):
        save_figure(risk_histogram(BINS), tmp_path / "none" / "risk.svg")
