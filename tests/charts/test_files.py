import json
import os
import re

import pytest

from molehill import InputError
from molehill.charts import risk_histogram, save_chart


@pytest.mark.parametrize("ending", [".svg", ".png"])
def test_charts_are_written_whole_and_for_their_owner(bins, tmp_path, ending):
    path = tmp_path / f"risk{ending}"
    save_chart(risk_histogram(bins), path)
    assert path.stat().st_size > 5000
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_html_needs_no_network_and_text_cannot_run(bins, tmp_path):
    path = tmp_path / "risk.html"
    save_chart(risk_histogram(bins), path)
    assert os.name != "posix" or path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    text = path.read_text()
    assert len(text) > 5000
    assert not re.search(r"<(script|link)[^>]+(src|href)=", text)
    assert "<script>alert(1)</script>" not in text


def test_svg_text_is_escaped(bins, tmp_path):
    save_chart(risk_histogram(bins), tmp_path / "risk.svg")
    assert "<script>" not in (tmp_path / "risk.svg").read_text()


def test_chart_holds_counts_and_a_text_alternative(bins):
    chart = json.loads(risk_histogram(bins).to_json())
    rows = next(iter(chart["datasets"].values()))
    assert sum(row["records"] for row in rows) == 59
    assert "most records between 0.00 and 0.05" in chart["description"]


def test_unknown_endings_are_refused(bins, tmp_path):
    with pytest.raises(InputError, match=r"chart: '\.jpg' is not a format"):
        save_chart(risk_histogram(bins), tmp_path / "risk.jpg")
    with pytest.raises(InputError, match="chart: there is no folder"):
        save_chart(risk_histogram(bins), tmp_path / "none" / "risk.svg")
