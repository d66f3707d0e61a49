import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from molehill import InputError
from molehill.dossier import read_dossier, write_dossier
from molehill.evaluation.evaluation import evaluate
from molehill.report import methods_note, render_report
from molehill.report.numbers import Teller, cut_name, significant
from molehill.report.public import public_bins, redact
from molehill.report.verdict import list_points
from molehill.tables.intervals import Figure
from molehill.tables.populations import consumer_survey
from report_dossier import (
    FLOOR,
    HOSTILE,
    HOSTILE_SCHEME,
    RADIUS,
    RARE,
    RELEASED,
    SCALE,
    SEED,
    SHIFT,
    hostile_dossier,
    make_search,
    plain_dossier,
    searched_dossier,
)

INTERNAL = [
    "verdict",
    "done",
    "risk",
    "top",
    "utility",
    "map",
    "weights",
    "diagnostics",
    "radius",
    "policies",
    "repeat",
]
NAN = float("nan")


@cache
def page(edition, *, hostile=False):
    return render_report(hostile_dossier() if hostile else plain_dossier(), edition=edition)


def own_content(html):
    """What the page says and draws, with its pictures decoded and without the drawing library."""
    pictures = [b64decode(found).decode() for found in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)]
    before, _, rest = html.partition('<script type="module">')
    return "\n".join([re.sub(r'src="data:[^"]*"', "", before), rest.rpartition("</script>")[2], *pictures])


class Reader(HTMLParser):
    """Collects the cells of every table, the ids, and every element with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.elements, self._cell = [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self._cell = []

    def handle_endtag(self, tag):
        if tag in {"td", "th"} and self._cell is not None:
            self.tables[-1][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)


def change(dossier, frame, measure, value, **ends):
    """The dossier with another value of the release's measure."""
    rows = getattr(dossier.evaluation, frame).copy()
    chosen = (rows["scheme"] == dossier.scheme) & (rows["measure"] == measure)
    assert chosen.any()
    rows.loc[chosen, ["value", *ends]] = [value, *ends.values()]
    return replace(dossier, evaluation=replace(dossier.evaluation, **{frame: rows}))


def test_sections_stand_in_order():
    found = re.findall(r'<section id="(\w+)"', page("internal"))
    assert found == INTERNAL
    public = re.findall(r'<section id="(\w+)"', page("public"))
    assert public == [name for name in INTERNAL if name not in {"top", "radius"}]


def test_an_unknown_edition_is_refused():
    with pytest.raises(InputError, match="edition"):
        render_report(plain_dossier(), edition="secret")  # pyright: ignore[reportArgumentType]


def test_numbers_of_the_page_are_those_of_the_evaluation():
    risk = plain_dossier().evaluation.risk.query("measure == 'mean risk'")
    row = next(row for table in Reader(page("internal")).tables for row in table if row[0] == "mean risk")
    figures = risk[["value", "low", "high"]].to_numpy(dtype=float)
    assert len(row) == 1 + len(figures) == 6
    for cell, (value, low, high) in zip(row[1:], figures, strict=True):
        assert cell == f"{value:.3f}" + ("" if np.isnan(low) else f" {low:.3f} to {high:.3f}")


def test_other_numbers_make_another_page():
    changed = change(plain_dossier(), "risk", "mean risk", 0.13579, low=0.1, high=0.2)
    text = own_content(render_report(changed, edition="internal"))
    assert text.count("0.136") >= 3
    assert "0.136" not in own_content(page("internal"))


def test_a_report_can_be_made_again_from_disk(tmp_path):
    write_dossier(plain_dossier(), tmp_path)
    assert render_report(read_dossier(tmp_path), edition="public") == page("public")


@pytest.mark.parametrize("secret", [RADIUS, FLOOR, SCALE, SHIFT, SEED, "survey.csv", "31.2", "mean[3]", RELEASED])
def test_the_public_side_tells_no_tuned_number(secret):
    assert f"{secret}" in own_content(page("internal"))
    assert f"{secret}" not in own_content(page("public"))
    assert f"{secret}" not in methods_note(plain_dossier())


def test_the_public_side_tells_no_value_of_a_record():
    values = {round(value) for value in plain_dossier().weights["value"] if abs(value) >= 10_000}
    assert round(RARE) in values
    for text in (own_content(page("public")), methods_note(plain_dossier())):
        numbers = {int(found.replace(",", "")) for found in re.findall(r"\d[\d,]{4,}", text) if found.strip(",")}
        # Ends of ranges are round numbers, which people tell as well.
        assert not {number for number in values & numbers if number % 5000}


def test_the_public_side_tells_no_estimate_of_tables_that_are_not_published():
    utility = plain_dossier().evaluation.utility
    texts = own_content(page("public"))
    for scheme in ("confidential", "topcoding"):
        rows = utility[(utility["scheme"] == scheme) & utility["measure"].str.endswith("of income")]
        estimates = rows[~rows["measure"].str.startswith(("interval", "width", "relative"))]
        assert len(estimates) == 4  # mean, median, 90% quantile, standard deviation
        for value in estimates["value"]:
            assert significant(value) in own_content(page("internal"))
            assert significant(value) not in texts
            assert f"{value:.0f}" not in texts


def test_public_counts_are_in_tens_and_never_small():
    rows = [
        row for table in Reader(page("public")).tables for row in table if row[0].startswith(("records w", "unique"))
    ]
    assert len(rows) >= 5
    cells = [cell for row in rows for cell in row[1:] if cell]
    told = re.compile(r"fewer than 10|all but fewer than 10|about \d*0( \d*0 to \d*0)?")
    assert [cell for cell in cells if not told.fullmatch(cell)] == []
    assert "fewer than 10" in cells


def test_public_evidence_has_no_records_left():
    public = redact(plain_dossier())
    assert not len(public.evaluation.records)
    assert not len(public.evaluation.top)
    assert not len(public.weights)
    assert not len(public.diagnostics)
    assert public.settings.seed is None
    measures = set(public.evaluation.risk["measure"])
    # Of 300 records 3 lie beyond the 99% quantile, and 75 beyond the quartiles.
    assert not {"99% quantile of risk", "largest risk"} & measures
    assert {"25% quantile of risk", "median risk"} <= measures
    assert set(public.evaluation.groups["by"]) == {"size of income"}


def test_public_bins_leave_out_small_ones():
    records = pd.DataFrame({"scheme": "topcoding", "risk": [0.01] * 25 + [0.52] * 9 + [0.99] * 14 + [NAN]})
    evaluation = replace(plain_dossier().evaluation, records=records)
    (bins,) = public_bins(replace(plain_dossier(), evaluation=evaluation)).values()
    assert bins.loc[bins["records"] > 0, ["low", "records"]].round(2).to_numpy().tolist() == [[0.0, 30], [0.95, 10]]


@pytest.mark.parametrize(
    ("edition", "measure", "figure", "told"),
    [
        ("internal", "mean risk", Figure(0.2414, 0.24, 0.2449), ("0.241", "0.240 to 0.245")),
        ("internal", "records with risk above 0.5", Figure(3, 1, 5), ("3", "1 to 5")),
        ("public", "records with risk above 0.5", Figure(3, 1, 5), ("fewer than 10", "")),
        ("public", "records with risk above 0.5", Figure(0, NAN, NAN), ("fewer than 10", "")),
        ("public", "records with risk above 0.5", Figure(6205, NAN, NAN), ("all but fewer than 10", "")),
        ("public", "records with risk above 0.5", Figure(391, 360, 422), ("about 390", "360 to 420")),
        ("public", "relative bias of median of income", Figure(-0.0123, NAN, NAN), ("-1%", "")),
        ("public", "relative bias of median of income", Figure(0.0023, NAN, NAN), ("0%", "")),
        ("internal", "relative bias of median of income", Figure(0.0123, NAN, NAN), ("+1.2%", "")),
        ("internal", "mean of income", Figure(72374.4, 70291, 74449), ("72,370", "70,290 to 74,450")),
        ("internal", "U_m", Figure(NAN, NAN, NAN), ("", "")),
    ],
)
def test_numbers_are_told_as_the_edition_allows(edition, measure, figure, told):
    assert Teller(edition, 6208).figure(measure, figure) == told


def quiet(dossier):
    """The dossier with nothing to look at."""
    for frame, measure, value in (
        ("risk", "mean risk", 0.1),
        ("risk", "mean risk, tables pooled", 0.12),
        ("risk", "records with risk above 0.8", 0.0),
        ("risk", "records whose risk rises by more than 0.2", 0.0),
        ("risk", "guesses within the radius, gain over without the record", 0.01),
        ("utility", "U_m", 0.0),
        ("utility", "pMSE ratio, logistic", 1.1),
    ):
        dossier = change(dossier, frame, measure, value, low=value, high=value)
    rows = dossier.evaluation.risk
    other = rows["measure"].str.startswith("mean risk, intruder radius")
    rows = rows.assign(value=rows["value"].where(~other, 0.1))
    utility = dossier.evaluation.utility
    utility = utility.assign(value=utility["value"].where(~utility["measure"].str.startswith("interval overlap"), 0.9))
    evaluation = replace(dossier.evaluation, risk=rows, utility=utility)
    fits = dossier.fits.assign(converged=True)
    policies = dict.fromkeys(dossier.policies, 0)
    return replace(dossier, evaluation=evaluation, fits=fits, policies=policies)


def test_nothing_is_raised_where_nothing_stands_out():
    assert list_points(quiet(plain_dossier()), Teller("internal", 300)) == []
    assert "That is no proof of safety" in render_report(quiet(plain_dossier()), edition="public")


@pytest.mark.parametrize(
    ("frame", "measure", "value", "section", "words"),
    [
        ("risk", "mean risk, tables pooled", 0.16, "risk", "from 0.100 to 0.160"),
        ("risk", "records with risk above 0.8", 12.0, "risk", "above 0.8 in the release: 12"),
        ("risk", "records whose risk rises by more than 0.2", 299.0, "risk", "than chance alone would show"),
        ("risk", "guesses within the radius, gain over without the record", 0.2, "risk", "20.0% more"),
        ("risk", "mean risk, intruder radius 0.10685", 0.3, "radius", "radius 0.10685 the mean risk is 0.300"),
        ("utility", "interval overlap of median of income", 0.49, "utility", "median of income"),
        ("utility", "U_m", 1.0, "utility", "times what a fresh sample"),
        ("utility", "pMSE ratio, logistic", 3.5, "utility", "3.5"),
    ],
)
def test_what_stands_out_is_raised(frame, measure, value, section, words):
    points = list_points(change(quiet(plain_dossier()), frame, measure, value), Teller("internal", 300))
    assert points[0].section == section
    assert words in points[0].text


def test_a_scheme_that_beats_the_release_is_told():
    dossier = change(quiet(plain_dossier()), "utility", "U_m", 0.02, low=0.015, high=0.025)
    rows = dossier.evaluation.risk.copy()
    rows.loc[(rows["scheme"] == "swapped") & (rows["measure"] == "mean risk"), "value"] = 0.05
    utility = dossier.evaluation.utility
    utility = utility.assign(value=utility["value"].where(utility["measure"] != "U_m of a fresh sample", 0.05))
    beaten = replace(dossier, evaluation=replace(dossier.evaluation, risk=rows, utility=utility))
    (point,) = list_points(beaten, Teller("internal", 300))
    assert point.section == "map"
    assert point.text.endswith("not clearly worse: swapped.")
    rows.loc[(rows["scheme"] == "swapped") & (rows["measure"] == "mean risk"), ["value", "low", "high"]] = [
        0.5,
        0.4,
        0.6,
    ]
    rows.loc[(rows["scheme"] == RELEASED) & (rows["measure"] == "mean risk"), ["low", "high"]] = [0.09, 0.11]
    better = replace(dossier, evaluation=replace(dossier.evaluation, risk=rows, utility=utility))
    assert list_points(better, Teller("internal", 300)) == []


def with_expected(dossier, moles):
    """The dossier as if posteriors had been given: expected risks, and moles."""
    evaluation, step = dossier.evaluation, "rises by more than 0.2"
    records = evaluation.records
    fitted = records["scheme"].isin([dossier.scheme, "unweighted"])
    expected = records["risk"].where(fitted).clip(0.05, 0.6)
    records = records.assign(expected_risk=expected, expected_error=expected * 0.01)
    rows = [(dossier.scheme, "income", "mean expected risk", 0.1234, 0.12, 0.13)]
    rows += [(dossier.scheme, "income", f"moles: records whose expected risk {step}", float(moles), NAN, NAN)]
    risk = pd.concat([evaluation.risk, pd.DataFrame(rows, columns=evaluation.risk.columns)], ignore_index=True)
    return replace(dossier, evaluation=replace(evaluation, records=records, risk=risk))


def test_expected_risk_and_moles_are_shown_where_they_are_known():
    assert list_points(with_expected(quiet(plain_dossier()), 0), Teller("internal", 300)) == []
    dossier = with_expected(quiet(plain_dossier()), 7)
    (point,) = list_points(dossier, Teller("internal", 300))
    assert point.text == "Moles, records at more risk because of the weights: 7."
    html = render_report(dossier, edition="internal")
    assert 'data-figure="expected"' in html
    assert "0.123 <small>0.120 to 0.130</small>" in html
    public = render_report(dossier, edition="public")
    assert "because of the weights: fewer than 10." in public
    assert 'data-figure="expected"' not in public


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_a_fit_that_has_not_converged_is_said_plainly(edition):
    assert "unweighted has not converged." in page(edition)
    assert "The fit of unweighted, a comparison, has not converged" in page(edition)
    assert ("R-hat of mean[3] is 1.051" in page(edition)) == (edition == "internal")


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_names_from_data_are_inert(edition):
    html = page(edition, hostile=True)
    elements = Reader(re.sub(r'(<script type="module">).*?(</script>)', r"\1\2", html, flags=re.DOTALL)).elements
    assert [name for _, attrs in elements for name in attrs if name.startswith("on")] == []
    assert [attrs.get("type") for tag, attrs in elements if tag == "script"] == ["application/json", *["module"] * 2]
    assert all(attrs["src"].startswith("data:image/svg+xml") for tag, attrs in elements if tag == "img")
    assert not [tag for tag, _ in elements if tag in {"svg", "b"}]
    assert "\u202e" not in html.partition("<pre>")[0]
    assert "49" not in re.search("<h1>(.*?)</h1>", html, re.DOTALL)[1]  # pyright: ignore[reportOptionalSubscript]


def test_long_names_are_cut_where_they_can_be_seen():
    html = page("public", hostile=True)
    assert "x" * 200 not in html
    assert "長" * 100 not in html
    assert cut_name(HOSTILE["gender"]).endswith("x…")
    # In the settings, which must make the same release again, nothing is cut.
    assert "x" * 10_000 in page("internal", hostile=True)
    assert HOSTILE_SCHEME not in html


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_the_page_needs_no_network_and_runs_its_own_scripts_only(edition):
    html = page(edition)
    elements = Reader(re.sub(r'(<script type="module">).*?(</script>)', r"\1\2", html, flags=re.DOTALL)).elements
    addresses = {value for _, attrs in elements for name, value in attrs.items() if name in {"src", "href", "action"}}
    assert {(address or "").partition(":")[0] for address in addresses if not f"{address}".startswith("#")} == {"data"}
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    scripts = re.findall(r'<script type="module">(.*?)</script>', html, re.DOTALL)
    for script in scripts:
        assert b64encode(sha256(script.encode()).digest()).decode() in policy.replace("&#43;", "+")
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe-eval" not in policy
    assert len(scripts) == 2


def test_every_figure_has_a_picture_and_words():
    html = page("internal")
    figures = [attrs for tag, attrs in Reader(html).elements if tag == "figure"]
    pictures = [attrs for tag, attrs in Reader(html).elements if tag == "img"]
    assert len(figures) == len(pictures) == 7
    assert all(len(picture["alt"] or "") > 60 for picture in pictures)
    (specifications,) = re.findall(r'id="specifications">(.*?)</script>', html, re.DOTALL)
    assert set(json.loads(specifications)) == {figure["data-figure"] for figure in figures}


def test_tables_have_headings_for_screen_readers():
    elements = Reader(page("internal")).elements
    headings = [attrs for tag, attrs in elements if tag == "th"]
    assert headings
    assert {attrs.get("scope") for attrs in headings} == {"row", "col"}
    assert len([tag for tag, _ in elements if tag == "caption"]) == len([tag for tag, _ in elements if tag == "table"])


@cache
def searched_page(edition):
    return render_report(searched_dossier(), edition=edition)


def test_how_a_release_was_found_is_told_after_the_verdict():
    found = re.findall(r'<section id="(\w+)"', searched_page("internal"))
    assert found == ["verdict", "found", *INTERNAL[1:]]
    assert "How this release was found" in searched_page("internal")
    rows = next(table for table in Reader(searched_page("internal")).tables if table[0][0] == "point")
    assert rows[0][-3:] == ["maximum realised <= 0.4321", "U_m <= 0.1987", "fit"]
    # 0.20357 and 0.04579 with standard errors of 0.001 and 0.0005.
    assert rows[2][:3] == ["2: pairwise, shift 0.5, membership prior (chosen)", "yes", "0.204 0.202 to 0.206"]
    assert rows[2][5:] == ["0.0458 0.0448 to 0.0468", "0.347 ± 0.0020", "0.3468 ± 0.0020", "2 warm, 7.8 s"]
    assert rows[1][6:8] == ["0.247, missed chance 87%", "0.2468, missed chance 87%"]
    text = own_content(searched_page("internal"))
    for words in (
        "It was confirmed.",
        "Point 3, pairwise, membership prior: keeps the targets, mean expected risk 0.194, U_m 0.0558.",
        "3 fits and 3 points in 44 s; a cold fit took 8.8 s, measuring a point 1.0 s.",
        "Records drawn anew because by bad luck they broke a target: 13. Without that, 65% of",
        "# The same again: --fits 77",
    ):
        assert words in text
    assert "molehill run</code> with these" not in text
    assert 'data-figure="search"' in text


@pytest.mark.parametrize(
    "words",
    ["0.4321", "0.1987", "membership", "fits 77", "0.0123", "65%", "0.2136", "0.0358", "they broke", "44 s"],
)
def test_the_public_side_tells_nothing_of_the_search_but_that_there_was_one(words):
    assert words in own_content(searched_page("internal"))
    assert words not in own_content(searched_page("public"))
    sentence = " The scheme was found by a search, under rules that the agency set on risk and utility."
    # The page of the same release without a search, with one sentence more.
    assert searched_page("public").replace(sentence, "") == page("public")
    note = methods_note(searched_dossier())
    assert words not in note
    assert "could be drawn anew" in note


def test_the_search_comes_back_from_disk(tmp_path):
    write_dossier(searched_dossier(), tmp_path)
    again = read_dossier(tmp_path)
    for edition in ("internal", "public"):
        assert render_report(again, edition=edition) == searched_page(edition)
    assert again.search is not None
    assert again.search.next_places == (2, 0)
    assert np.isnan(again.search.cost["seconds of a warm fit"])
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.rglob("search*"))


@pytest.mark.parametrize(
    ("change", "words"),
    [({"met": False}, "No scheme was found that keeps the targets."), ({"converged": False}, "has not converged")],
)
def test_nothing_released_is_said_at_the_top(change, words):
    way = pd.DataFrame({"pattern": ["town A"], "range": ["1,000 to 2,000"], "records": [21]})
    dossier = replace(plain_dossier(), search=make_search(("U_m <= 0.1987",), way=way, **change))
    html = render_report(dossier, edition="internal")
    top = html[html.index("<header>") : html.index("</header>")]
    assert "Nothing was released." in top
    assert words in top
    assert ["town A", "1,000 to 2,000", "21"] in [row for table in Reader(html).tables for row in table]
    with pytest.raises(InputError, match="nothing was released"):
        render_report(dossier, edition="public")


def test_targets_that_were_not_searched_for_are_a_point():
    dossier = quiet(plain_dossier())
    dossier = replace(dossier, settings=replace(dossier.settings, targets=("U_m <= 0.0271",)))
    (point,) = list_points(dossier, Teller("internal", 300))
    assert "(U_m <= 0.0271). This release was made without a search" in point.text
    assert "0.0271" not in render_report(dossier, edition="public")


def test_the_methods_note_says_whether_there_are_weights():
    dossier = plain_dossier()
    assert "weights between 0 and 1" in methods_note(dossier)
    flat = replace(dossier, weights=dossier.weights.assign(weight=1.0))
    assert "weights between 0 and 1" not in methods_note(flat)
    assert "Every record counts the same" in methods_note(flat)
    assert "Every record has the same weight" in render_report(flat, edition="public")


def test_the_methods_note_says_whether_draws_are_balanced():
    dossier = plain_dossier()
    balanced = replace(dossier, settings=replace(dossier.settings, noise="balanced", synthesizer="semicontinuous"))
    assert "spread evenly" in methods_note(balanced)
    for other in ({"noise": "independent"}, {"synthesizer": "normal_linear"}):
        assert "spread evenly" not in methods_note(replace(balanced, settings=replace(balanced.settings, **other)))


def test_a_large_survey_stays_below_three_megabytes():
    small = plain_dossier()
    random = np.random.default_rng(0)
    names = ["confidential", *small.evaluation.schemes, "fifth"]
    parts = [small.evaluation.records.iloc[:1].assign(scheme=name) for name in names]
    records = pd.concat([part.loc[part.index.repeat(6208)] for part in parts], ignore_index=True)
    records = records.assign(record=np.tile(np.arange(1, 6209), len(names)), risk=random.uniform(size=len(records)))
    risk = small.evaluation.risk
    risk = pd.concat([risk, risk[risk["scheme"] == "topcoding"].assign(scheme="fifth")], ignore_index=True)
    value, weight = np.exp(random.normal(11, 1, 6208)), random.uniform(size=6208)
    weights = pd.DataFrame({"record": np.arange(1, 6209), "value": value, "risk": 1 - weight, "weight": weight})
    evaluation = replace(small.evaluation, records=records, risk=risk)
    large = replace(small, evaluation=evaluation, weights=weights, facts={**small.facts, "records": 6208})
    # Chance spreads these risks over the whole square; those of a real survey lie closer and weigh less.
    assert len(render_report(large, edition="internal").encode()) < 3_000_000


def test_a_categorical_column_has_a_report():
    survey = consumer_survey(n=300, seed=2)
    released = [
        survey.assign(marital=survey["marital"].sample(frac=1, random_state=seed).to_numpy()) for seed in (1, 2)
    ]
    about = {"known": ["gender", "age"], "sensitive": "marital", "radius": None}
    evaluation = evaluate(survey, {"pairwise": released}, propensity_methods=(), **about)
    small = plain_dossier()
    dossier = replace(
        small,
        scheme="pairwise",
        evaluation=evaluation,
        settings=replace(small.settings, sensitive="marital"),
        weights=small.weights.assign(value=survey["marital"].astype(str)),
        fits=small.fits.iloc[:0],
        diagnostics=small.diagnostics.iloc[:0],
        facts={**small.facts, "kind": "categorical"},
    )
    for edition in ("internal", "public"):
        html = render_report(dossier, edition=edition)
        assert "a multinomial regression" in html
        assert "there is no map" in html
        assert "No model was fitted." in html


def test_the_methods_note_says_how_to_combine():
    note = methods_note(plain_dossier())
    assert "4 tables of 300 records" in note
    assert "the values of `income` are not those that were collected" in note
    assert "*T* = *v* + *b* / 4" in note
    assert "3 times the\n   square of 1 + 4 *v* / *b*" in note
    allowed = {"0", "1", "2", "3", "4", "5", "300", "95", "1.96", "2003", "0.1.0"}
    assert set(re.findall(r"\d+(?:\.\d+)*", note)) <= allowed


def test_the_methods_note_of_one_table_combines_nothing():
    dossier = plain_dossier()
    note = methods_note(replace(dossier, facts={**dossier.facts, "tables": 1}))
    assert "There is 1 table of 300 records" in note
    assert "combine" not in note
    assert "too short" in note


def test_names_in_the_methods_note_are_code():
    note = methods_note(hostile_dossier())
    assert len(note) < 4000
    outside = re.sub(r"`[^`\n]*`", "", note)
    assert "<" not in outside
    assert "alert" not in outside
