"""The page "What leaves the building" lists every file and every public number, and no other."""

import re
from dataclasses import replace
from html import escape
from pathlib import Path

import pandas as pd
import pytest

from molehill.evaluation.catalogue import MEASURES
from molehill.plan.settings import Settings
from molehill.report.dossier import write_dossier
from molehill.report.public import BY_SIZE, FACTS, FITS, PICTURES, PUBLIC_POLICIES, WEIGHTS
from report_dossier import make_search, plain_dossier
from small_release import made_release

PAGE = (Path(__file__).parents[2] / "docs" / "leaves.md").read_text(encoding="utf-8")


def rows_under(heading):
    """The rows of the table with this first heading: the name in the first cell, and the other cells."""
    (table,) = re.findall(rf"^\| {heading} \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|\n ").split(" | ")] for line in table.splitlines()]
    return {re.findall("`([^`]+)`", row[0])[0]: row[1:] for row in rows}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return made_release(tmp_path_factory)


def test_a_release_shows_what_its_report_says(saved):
    folder, release = saved
    sentence = release.verdict.sentence
    assert f"{release}".splitlines()[:2] == [repr(release), sentence]
    assert "pMSE ratio, logistic" in f"{release}"
    html = (folder / "internal" / "report.html").read_text(encoding="utf-8")
    assert escape(sentence[len(release.verdict.decision) :]).replace("&#x27;", "&#39;") in html
    shown = release._repr_html_()
    assert escape(sentence) in shown
    assert shown.count("<img") == 2


def test_every_file_of_a_release_is_listed_and_no_other(saved, tmp_path):
    saved = saved[0]
    listed = rows_under("file")
    assert all(len(cells) == 3 and all(cells) for cells in listed.values())
    written = {str(path.relative_to(saved)) for path in saved.rglob("*") if path.is_file()}
    written = {re.sub(r"synthetic_\d+", "synthetic_01", name) for name in written}
    way = pd.DataFrame({"pattern": ["town A"], "range": ["1 to 2"], "records": [21]})
    # Of a search that did not find what it should, all parts are written.
    write_dossier(replace(plain_dossier(), search=make_search(("U_m <= 0.1987",), way=way)), tmp_path)
    written |= {f"internal/{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    assert written == set(listed)
    # What is published may be seen by everybody, and nothing else.
    assert {name for name, cells in listed.items() if cells[-1] == "everybody"} == {
        name for name in listed if name.startswith("release/")
    }


def test_every_public_measure_is_listed_with_what_it_reveals():
    told = {"share": "in steps", "count": "in tens", "expectation": "in tens", "exact": "exactly"}
    told |= {"up": "in steps, upwards", "half": "below 0.5, or not", "ratio": "below 3, to 10, or above"}
    public = {one.id: [told[one.coarse or one.unit], one.reveals] for one in MEASURES if one.public}
    assert rows_under("measure") == public


@pytest.mark.parametrize(
    ("heading", "listed"),
    [
        ("fact", FACTS),
        ("of every fit", FITS),
        ("picture", PICTURES),
        ("policy", PUBLIC_POLICIES),
        ("table", {"Records by their weight": WEIGHTS, "Mean risk by size": BY_SIZE}),
    ],
)
def test_everything_else_that_is_public_is_listed_with_what_it_reveals(heading, listed):
    assert rows_under(heading) == {name: [reveals] for name, reveals in listed.items()}


def test_every_public_setting_is_listed():
    public = [name for name in Settings.model_fields if Settings.describe(name)["public"]]
    assert list(rows_under("setting")) == public
