import copy
import json
import re

import altair as alt
import pandas as pd
import vl_convert

from molehill.charts import save_chart
from molehill.charts.files import vega_lite_version
from molehill.charts.style import by_scheme, dress, evaluation_looks, is_shown, share_axis

DRAWN = {
    "violins": ["identification risk of the record", "confidential", "topcoding", "noise", "swapping"],
    "scatter": ["realised risk, noise", "realised risk, swapping"],
    "expected scatter": ["expected risk, noise", "expected risk, swapping"],
    "search": [
        "mean risk of a record",
        "U_m of income",
        "topcoding",
        "noise, 10% of the sd",
        "sampling benchmark",
        "confidential data",
        "meets the criteria",
        "fails a criterion",
    ],
    "map": [
        "U_m, largest difference of distribution functions (income)",
        "mean risk",
        "topcoding",
        "noise",
        "swapping",
    ],
    "any two": ["true match rate", "Matches; lower is better", "confidential data", "noise", "swapping"],
    "radii": ["intruder's radius, as a share of the value", "mean identification risk"],
    "densities": ["income", "density"],
    "ecdfs": ["income", "share of records at or below"],
    "weights": ["income", "weight"],
    "tail": ["income (logarithmic)", "share above (logarithmic)", "confidential", "noise"],
    "density by group": ["income", "female", "male", "noise"],
    "within groups": ["all records", "gender female", "age 25-34", "noise"],
    "levels": ["owner <b>", "tenant", "+10.0", "-10.0"],
}


def test_every_chart_says_what_it_shows(charts):
    for name, chart in charts.items():
        told = chart.specification["description"]
        for text in [chart.specification["title"]["text"], *DRAWN.get(name, [])]:
            assert text in chart.texts, (name, text)
        assert len(told) > 60, name
        assert chart.svg.startswith('<svg role="img" aria-label="'), name
        assert f"><title>{told[:30]}" in chart.svg, name
        assert len(json.dumps(chart.specification)) < 150_000, name


def test_no_chart_makes_the_drawing_library_warn(charts, capfd):
    def compile_aloud(specification):
        vl_convert.vegalite_to_vega(specification, vl_version=vega_lite_version(), show_warnings=True)
        return "".join(capfd.readouterr())

    wrong = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"shade": {"field": "a"}}}
    assert "WARN" in compile_aloud(wrong)
    for name, chart in charts.items():
        assert compile_aloud(chart.specification) == "", name


def test_bad_names_are_harmless(nasty_charts):
    # The same few functions write the text of all of them.
    for name in ("violins", "search", "any two", "densities", "within groups", "levels"):
        assert "<script" not in nasty_charts[name].svg, name
        assert "<b>" not in nasty_charts[name].svg, name
    for name, chart in nasty_charts.items():
        text = json.dumps(chart.specification, ensure_ascii=False)
        for cut in ("y" * 100, "合成" * 50, "\u202e"):
            assert cut not in text, name
        # Vega takes a dot or a bracket in the name of a field for a path, so that names are data here, never fields.
        assert all(re.fullmatch("[a-z_]+", field) for row in chart.rows for field in row), name
        for part in chart.parts:
            for expression in (part[key] for key in ("filter", "labelExpr", "expr", "signal") if key in part):
                assert not re.search("script|cmd|yyy|合", expression), name


def test_the_same_scheme_has_the_same_colour_in_every_chart(charts):
    wanted = {"violins", "expected violins", "intervals", "map", "radii", "densities", "ecdfs"}
    parts = (part for name in wanted for part in charts[name].parts)
    scales = [part["encoding"]["color"]["scale"] for part in parts if "color" in part.get("encoding", {})]
    found = [pair for scale in scales for pair in zip(scale["domain"], scale["range"], strict=True)]
    assert {name for name, _ in found} == {"confidential", "topcoding", "noise", "swapping"}
    assert len(set(found)) == 4


def test_a_page_can_choose_schemes(charts):
    specification = copy.deepcopy(charts["densities"].specification)
    (shown,) = (parameter for parameter in specification["params"] if parameter["name"] == "shown")
    assert shown["value"] == ["confidential", "topcoding", "noise", "swapping"]
    shown["value"] = ["noise"]
    few = vl_convert.vegalite_to_svg(specification, vl_version=vega_lite_version())
    line = re.compile('class="mark-line[^>]*>(.*?)</g>')
    numbers = [sum(part.count("<path") for part in line.findall(svg)) for svg in (charts["densities"].svg, few)]
    assert numbers == [4, 1]


def test_a_chart_of_ones_own_is_a_few_lines_outside_the_package(evaluation, tmp_path):
    looks = evaluation_looks(evaluation)
    largest = evaluation.risk.query("measure == 'risk_largest'").set_index("scheme")["value"]
    table = pd.DataFrame({"scheme": [look.label for look in looks.values()], "largest": largest[list(looks)].round(3)})
    bars = alt.Chart(table).transform_filter(is_shown()).mark_bar()
    bars = bars.encode(
        x=share_axis(alt.X, "largest", "largest risk"), y="scheme:N", color=by_scheme(looks.values(), "color")
    )
    chart = dress(bars, "Largest risk", description="The largest risk of a record.", shown=looks.values())
    save_chart(chart, tmp_path / "largest.svg")

    svg = (tmp_path / "largest.svg").read_text()
    assert svg.startswith('<svg role="img" aria-label="The largest risk of a record."')
    assert all(look.label in svg and f'fill="{look.colour}"' in svg for look in looks.values())
