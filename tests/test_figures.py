import json
import re

import numpy as np
import pytest

from molehill import InputError
from molehill.figures import risk_histogram, save_figure
from molehill.profile import count_bins

BINS = {"order 1": count_bins(np.linspace(0, 1, 50)), "<script>alert(1)</script>": count_bins(np.zeros(9))}


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
    assert "most records between 0.00 and 0.05" in chart["spec"]["description"]


def test_unknown_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"figure: '\.jpg' is not a format"):
        save_figure(risk_histogram(BINS), tmp_path / "risk.jpg")
    with pytest.raises(InputError, match="figure: there is no folder"):
        save_figure(risk_histogram(BINS), tmp_path / "none" / "risk.svg")
