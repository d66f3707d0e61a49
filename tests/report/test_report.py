import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from drawing import all_figures, drawn_once, in_words, said_in_words, showing  # noqa: F401
from modes import is_private
from molehill.errors import InputError
from molehill.evaluation.catalogue import ATTACK_MEASURES, MEASURES
from molehill.evaluation.catalogue.identity import IDENTIFICATION_RISK
from molehill.evaluation.evaluation import evaluate
from molehill.evaluation.measure import Measure
from molehill.evaluation.options import EvaluationOptions
from molehill.evaluation.scorecard import describe_rules, read_bounds, score, set_rules
from molehill.evaluation.telling import Teller, cut_name, significant
from molehill.plan.settings import Settings, setting
from molehill.report.dossier import read_dossier, tell_cost, write_dossier
from molehill.report.methods import methods_note
from molehill.report.page.first_page import judge_release, list_cards, list_remarks, tell_verdict
from molehill.report.page.page import leads_nowhere, render_report
from molehill.report.page.pictures import Picture, _profiles, _search, _shapes, list_pictures
from molehill.report.public import PICTURES, public_bins, redact
from molehill.runtime import tell_doing
from molehill.sdc_methods import multiply_noise
from molehill.tables.formats.formats import write_table
from molehill.tables.intervals import Figure
from molehill.tables.populations import consumer_survey
from molehill.tables.table import Dialect, Table
from molehill.utility import combine
from report_dossier import (
    DROPPED,
    FEW,
    FLOOR,
    HOSTILE,
    HOSTILE_SCHEME,
    RADIUS,
    RARE,
    RELEASED,
    SCALE,
    SEED,
    SHIFT,
    WORDS,
    hostile_dossier,
    make_search,
    plain_dossier,
    searched_dossier,
    small_dossier,
    with_few_measures,
)
from sketches import sketch

INTERNAL = [
    "verdict",
    "done",
    "columns",
    "data",
    "risk",
    "top",
    "attacks",
    "utility",
    "map",
    "two",
    "sortable",
    "weights",
    "diagnostics",
    "radius",
    "policies",
    "repeat",
]
NAN = float("nan")
# The internal edition is read in words but for the pages below; the public one has its figures.
pytestmark = pytest.mark.usefixtures("drawn_once", "in_words")


def with_figures(dossier, edition):
    """The public edition as it is; the internal one with its figures specified, but not drawn."""
    with all_figures() if edition == "public" else all_figures(sketch):
        return render_report(dossier, edition=edition)


def said(dossier, edition):
    """What a page says in words and tables, without a figure in either edition."""
    with showing(lambda *_: []):
        return render_report(dossier, edition=edition)


@cache
def page(edition, *, hostile=False):
    return with_figures(hostile_dossier() if hostile else plain_dossier(), edition)


@cache
def own_content(html):
    """What the page says and draws, with its pictures decoded and without the drawing library."""
    pictures = [b64decode(found).decode() for found in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)]
    before, _, rest = html.partition('<script type="module">')
    return "\n".join([re.sub(r'src="data:[^"]*"', "", before), rest.rpartition("</script>")[2], *pictures])


class Reader(HTMLParser):
    """Collects the cells of every table, without what explains them, and every element with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.tables, self.elements, self._cell, self._explains = [], [], None, False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self._cell = []
        self._explains |= dict(attrs).get("class") == "what"

    def handle_endtag(self, tag):
        self._explains &= tag != "span"
        if tag in {"td", "th"} and self._cell is not None:
            self.tables[-1][-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None and not self._explains:
            self._cell.append(data)


@cache
def read(edition):
    return Reader(page(edition))


@cache
def plain_note():
    return methods_note(plain_dossier())


def change(dossier, measure, value, *, of=None, at=None, **ends):
    """The dossier with another value of the release's measure."""
    measures = dossier.evaluation.measures.set_index("id")
    frame = measures.loc[measure, "family"]
    rows = getattr(dossier.evaluation, frame).copy()
    chosen = (rows["scheme"] == dossier.scheme) & (rows["measure"] == measure)
    chosen &= True if of is None else rows["of"] == of
    chosen &= True if at is None else rows["at"] == at
    assert chosen.any()
    rows.loc[chosen, ["value", *ends]] = [value, *ends.values()]
    return replace(dossier, evaluation=replace(dossier.evaluation, **{frame: rows}))


def test_a_tail_within_groups_alone_is_drawn_for_these():
    dossier = plain_dossier()
    shapes = dossier.evaluation.shapes
    overall = (shapes["curve"] == "above") & (shapes["by"] == "")
    assert overall.any()
    less = replace(dossier, evaluation=replace(dossier.evaluation, shapes=shapes[~overall]))
    drawn, left = ([one.name for one in _shapes(some)] for some in (dossier, less))
    assert [sum(name.startswith("above-1") for name in some) for some in (drawn, left)] == [3, 2]


def test_sections_stand_in_order():
    found = re.findall(r'<section id="(\w+)"', page("internal"))
    assert found == INTERNAL
    public = re.findall(r'<section id="(\w+)"', page("public"))
    assert public == [name for name in INTERNAL if name not in {"data", "top", "attacks", "two", "sortable", "radius"}]


def test_attacks_and_scorecard_stay_inside():
    inside, public = page("internal"), page("public")
    dossier = plain_dossier()
    measured = set(dossier.evaluation.measures["id"])
    for words in ("Scorecard", 'class="colour', 'class="sortable"'):
        assert words in inside
        assert words not in public
    assert {one.id for one in ATTACK_MEASURES} <= measured
    shown = redact(dossier).evaluation
    left = {*shown.measures["id"], *shown.risk["measure"], *shown.utility["measure"]}
    assert not left & {one.id for one in ATTACK_MEASURES}
    for title in {one.title for one in ATTACK_MEASURES}:
        assert title not in public


def test_the_scorecard_says_the_colour_in_words_with_its_rule():
    dossier = plain_dossier()
    scores = score(dossier.evaluation, dossier.scheme)
    table = next(table for table in read("internal").tables if table[0] == ["family", "standing", "why"])
    assert [row[:2] for row in table[1:]] == [[one.family, one.colour] for one in scores]
    for row, one in zip(table[1:], scores, strict=True):
        assert row[2].lower() == one.why.partition(": ")[2].lower()
        for rule in one.rules:
            assert escape(rule).lower().replace("&#x27;", "&#39;") in page("internal").lower()
    # Without people who were not used there is nothing to judge these by.
    assert {one.colour for one in scores if one.family in ("singling out", "inference")} == {"not judged"}


def test_bounds_that_the_agency_set_are_marked_inside_and_unknown_in_public():
    dossier = plain_dossier()
    bounds = {"matches_true": {"amber": 0.04567, "red": "never"}, "overlap": {"amber": 0.97531}, "pmse_ratio": "off"}
    rules = describe_rules(set_rules(read_bounds(bounds), MEASURES))
    bound = replace(dossier, evaluation=replace(dossier.evaluation, rules=rules))
    some = with_few_measures(dossier, more=bounds)
    inside = render_report(replace(some, evaluation=replace(some.evaluation, rules=rules)), edition="internal")
    listed = inside.partition('<div id="bounds">')[2].partition("</div>")[0]
    assert "Identity: records matched uniquely and rightly: amber from 0.04567, never red (set by the agency;" in listed
    assert "over chance: not asked (set by the agency; ours: amber from 3, red from 10)" in listed
    assert "overlap by less than 0.97531" in inside
    # In public nothing is judged by what was tuned.
    assert render_report(bound, edition="public") == page("public")
    assert 'id="bounds"' not in page("internal")


def test_an_unknown_edition_is_refused():
    with pytest.raises(InputError, match="edition"):
        render_report(plain_dossier(), edition="secret")  # pyright: ignore[reportArgumentType]


def test_numbers_of_the_page_are_those_of_the_evaluation():
    risk = plain_dossier().evaluation.risk.query("measure == 'risk_mean'")
    row = next(row for table in read("internal").tables for row in table if row[0] == "mean risk")
    figures = risk[["value", "low", "high"]].to_numpy(dtype=float)
    assert len(row) == 1 + len(figures) == 6
    for cell, (value, low, high) in zip(row[1:], figures, strict=True):
        assert cell == f"{value:.3f}" + ("" if np.isnan(low) else f" {low:.3f} to {high:.3f}")


def test_a_report_can_be_made_again_from_disk(tmp_path):
    write_dossier(plain_dossier(), tmp_path)
    assert with_figures(read_dossier(tmp_path), "public") == page("public")


@pytest.mark.parametrize(
    "secret", ["-98,765", "2,345,678", RADIUS, FLOOR, SCALE, SHIFT, SEED, "survey.csv", "mean[3]", RELEASED]
)
def test_the_public_side_tells_no_tuned_number(secret):
    assert f"{secret}" in own_content(page("internal"))
    assert f"{secret}" not in own_content(page("public"))
    assert f"{secret}" not in plain_note()


def test_the_public_side_tells_no_value_of_a_record():
    values = {round(value) for value in plain_dossier().weights["value"] if abs(value) >= 10_000}
    assert round(RARE) in values
    for text in (own_content(page("public")), plain_note()):
        numbers = {int(found.replace(",", "")) for found in re.findall(r"\d[\d,]{4,}", text) if found.strip(",")}
        # Ends of ranges are round numbers, which people tell as well.
        assert not {number for number in values & numbers if number % 5000}


def test_the_public_side_tells_no_estimate_of_tables_that_are_not_published():
    utility = plain_dossier().evaluation.utility
    texts = own_content(page("public"))
    for scheme in ("confidential", "topcoding"):
        estimates = utility[(utility["scheme"] == scheme) & (utility["measure"] == "estimate")]
        assert len(estimates) == 4  # mean, median, 90% quantile, standard deviation
        for value in estimates["value"]:
            assert significant(value) in own_content(page("internal"))
            assert significant(value) not in texts
            assert f"{value:.0f}" not in texts


def test_public_counts_are_in_tens_and_never_small():
    rows = [row for table in read("public").tables for row in table if row[0].startswith(("records w", "unique"))]
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
    assert not {"risk_q99", "risk_largest"} & measures
    assert "spread_ratio" in set(plain_dossier().evaluation.utility["measure"])
    assert "spread_ratio" not in set(public.evaluation.utility["measure"])
    assert {"risk_q25", "risk_median"} <= measures
    assert measures <= set(public.evaluation.measures["id"])
    assert set(public.evaluation.groups["by"]) == {"size"}
    assert set(public.evaluation.schemes) == {"this release", "unweighted", "scheme 1", "topcoding"}


def test_public_bins_leave_out_small_ones():
    records = pd.DataFrame({"scheme": "topcoding", "risk": [0.01] * 25 + [0.52] * 9 + [0.99] * 14 + [NAN]})
    evaluation = replace(plain_dossier().evaluation, records=records)
    (bins,) = public_bins(replace(plain_dossier(), evaluation=evaluation)).values()
    assert bins.loc[bins["records"] > 0, ["low", "records"]].round(2).to_numpy().tolist() == [[0.0, 30], [0.95, 10]]


@pytest.mark.parametrize(
    ("edition", "unit", "figure", "told"),
    [
        ("internal", "share", Figure(0.2414, 0.24, 0.2449), ("0.241", "0.240 to 0.245")),
        ("internal", "count", Figure(3, 1, 5), ("3", "1 to 5")),
        ("internal", "count", Figure(3.25, 1, 5), ("3.2", "1 to 5")),
        ("internal", "expectation", Figure(3, 1, 5), ("3.0", "1 to 5")),
        ("public", "count", Figure(3, 1, 5), ("fewer than 10", "")),
        ("public", "count", Figure(0, NAN, NAN), ("fewer than 10", "")),
        ("public", "count", Figure(6205, NAN, NAN), ("all but fewer than 10", "")),
        ("public", "count", Figure(391, 360, 422), ("about 390", "360 to 420")),
        ("public", "expectation", Figure(3.4, 1, 5), ("fewer than 10", "")),
        ("public", "percent", Figure(-0.0123, NAN, NAN), ("-1%", "")),
        ("public", "percent", Figure(0.0023, NAN, NAN), ("0%", "")),
        ("internal", "percent", Figure(0.0123, NAN, NAN), ("+1.2%", "")),
        ("internal", "ratio", Figure(1.0234, 1, 1.1), ("1.023", "1.000 to 1.100")),
        ("public", "ratio", Figure(1.0, 1, 1.1), ("1", "1 to 1.1")),
        ("public", "share", Figure(0.13, 0.12, 0.14), ("0.13", "0.12 to 0.14")),
        ("internal", "number", Figure(72374.4, 70291, 74449), ("72,370", "70,290 to 74,450")),
        ("internal", "number", Figure(0.5, 0.5, 0.5), ("0.5", "")),
        ("internal", "number", Figure(NAN, NAN, NAN), ("", "")),
    ],
)
def test_numbers_are_told_as_the_edition_allows(edition, unit, figure, told):
    assert Teller(edition, 6208).figure(unit, figure) == told


# Its words say "rate": a measure is told by its unit, and stands in the table that it names.
ADDED = Measure(
    "corporate", "mean of corporate_income", "utility", "Companies & co", "number", lambda _: Figure(72374.4, 1.0, 9e4)
)
SHARP = Measure("sharp", "largest risk of all", "risk", "Our rule", "share", lambda _: Figure(0.98765, NAN, NAN))
OPEN = Measure(
    "open",
    "our open figure",
    "risk",
    "Our rule",
    "share",
    lambda _: Figure(0.4567, NAN, NAN),
    public=True,
    reveals="how often it happens",
)
# Of 300 records; and all that is measured once.
OWN = (
    ADDED,
    SHARP,
    OPEN,
    replace(OPEN, id="narrow", label="of the release alone", release_only=True),
    replace(OPEN, id="enough", label="of 300 or more", least_records=300),
    replace(OPEN, id="more", label="of 301 or more", least_records=301),
)


def test_a_measure_of_the_user_s_own_stands_in_its_table_with_its_unit():
    html = said(small_dossier(*OWN), "internal")
    sections = dict(re.findall(r'<section id="(\w+)"(.*?)</section>', html, re.DOTALL))
    assert "Companies &amp; co" in sections["utility"]
    assert "Our rule" in sections["risk"]
    rows = {row[0]: row[1:] for table in Reader(html).tables for row in table}
    assert rows["mean of corporate_income"] == ["72,370 1 to 90,000"] * 5
    assert rows["largest risk of all"] == ["0.988"] * 5
    assert rows["our open figure"] == ["0.457"] * 5


def test_a_measure_that_is_not_marked_public_stays_inside():
    text = own_content(said(small_dossier(*OWN), "public"))
    assert "our open figure" in text
    assert not [words for words in ("corporate", "72,370", "largest risk", "0.988") if words in text]
    public = redact(small_dossier(*OWN)).evaluation
    assert {"corporate", "sharp"} & {
        *public.risk["measure"],
        *public.utility["measure"],
        *public.measures["id"],
    } == set()


def test_a_public_measure_may_ask_for_more():
    public = redact(small_dossier(*OWN)).evaluation.risk
    everyone = {"confidential", "this release", "unweighted", "scheme 1", "topcoding"}
    schemes = {"open": everyone, "narrow": {"this release"}, "enough": everyone, "more": set()}
    for measure, wanted in schemes.items():
        assert set(public.loc[public["measure"] == measure, "scheme"]) == wanted, measure


class Extended(Settings):
    """Settings with one more."""

    auditor: str = setting("", "Who looks at it.", "a name")


def test_settings_facts_and_policies_that_are_not_listed_stay_inside():
    dossier = plain_dossier()
    given = {name: getattr(dossier.settings, name) for name in dossier.settings.model_fields_set}
    dossier = replace(
        dossier,
        settings=Extended(**given, auditor="Ombudsman"),
        facts={**dossier.facts, "place": "somewhere"},
        policies={**dossier.policies, "looked at twice": 123},
    )
    public, known = redact(dossier), ("gender", "age")
    named = {name: getattr(dossier.settings, name) for name in ("synthesize", "keep", "drop", "known", "predictors")}
    assert public.settings == Extended(**named)
    assert public.settings.known == known
    assert "place" not in public.facts
    assert "looked at twice" not in public.policies
    internal = own_content(said(with_few_measures(dossier), "internal"))
    assert "Ombudsman" in internal
    assert "looked at twice" in internal
    text = own_content(said(with_few_measures(dossier), "public")) + methods_note(dossier)
    assert not [words for words in ("Ombudsman", "auditor", "somewhere", "looked at twice") if words in text]


@cache
def quiet_dossier():
    """The plain one with nothing to look at."""
    dossier = plain_dossier()
    for measure, value in (
        ("risk_mean", 0.1),
        ("radius_mean", 0.1),
        ("radius_left", 0.1),
        ("radius_matches", 0.0),
        ("turned_back_risk", 0.0),
        ("combined_mean", 0.12),
        ("isolated_mean", 0.05),
        ("largest_mean", 0.05),
        ("matches_true", 0.0),
        ("matches_gain", 0.0),
        ("U_m_combined", 0.0),
        ("risk_above_80", 0.0),
        ("estimated_above_80", 0.0),
        ("increases", 0.0),
        ("attribution_gain", 0.01),
        ("U_m", 0.0),
        ("pmse_ratio", 1.1),
        ("overlap", 0.9),
        ("excess_digits", 0.0),
        ("round_gap", 0.0),
        # Its values are not drawn, but true ones with noise.
        *((f"{name}_gain", 0.0) for name in ("dependence", "worst_group", "linked_by_values")),
        # No chance of anything else.
        *((f"{name}_ratio_benchmark", 1.0) for name in ("spread", "tail", "reach")),
    ):
        dossier = change(dossier, measure, value, low=value, high=value)
    fits = dossier.fits.assign(converged=True)
    return replace(dossier, fits=fits, policies=dict.fromkeys(dossier.policies, 0))


def test_nothing_is_raised_where_nothing_stands_out():
    assert list_remarks(quiet_dossier(), Teller("internal", 300)) == []
    assert "That is no proof of safety" in said(quiet_dossier(), "public")


def test_figures_are_counted_as_they_are_drawn(monkeypatch):
    told = []
    monkeypatch.setattr(Picture, "draw", lambda _: told.append(tell_doing()) or "data:image/svg+xml;base64,")
    for edition in ("public", "internal"):
        with showing(list_pictures):
            render_report(plain_dossier(), edition=edition)
        own = [one for one in told if edition in one]
        number = len(own)
        assert number > 1
        assert own == [f"figures of the {edition} report drawn, {done} of {number}" for done in range(number)]


def test_records_that_belong_together_need_a_board_as_init_and_plan_say():
    dossier = quiet_dossier()
    told = ["'nr' shows which records belong together (300 records, 60 values), and is dropped"]
    panel = replace(dossier, facts={**dossier.facts, "together": told})
    verdict = judge_release(panel, Teller("internal", 300))
    assert verdict.decision == "board decision needed"
    assert "risk is per record, not per person or household: 'nr' shows which" in verdict.sentence
    assert list_remarks(panel, Teller("public", 300)) == []


@pytest.mark.parametrize(
    ("measure", "value", "about", "section", "words"),
    [
        ("combined_mean", 0.16, {}, "risk", "from 0.100 to 0.160"),
        ("estimated_above_80", 12.0, {}, "risk", "estimated from the tables: 12"),
        ("increases", 299.0, {}, "risk", "than chance alone would show"),
        ("attribution_gain", 0.2, {}, "risk", "20.0% more"),
        ("overlap", 0.49, {"of": "median of income"}, "utility", "median of income"),
        ("U_m", 1.0, {}, "utility", "times what a fresh sample"),
        ("pmse_ratio", 3.5, {"of": "logistic"}, "utility", "3.5"),
    ],
)
def test_what_stands_out_is_raised(measure, value, about, section, words):
    remarks = list_remarks(change(quiet_dossier(), measure, value, **about), Teller("internal", 300))
    # Where one number is worse than another scheme's, that is told as well.
    remarks = [remark for remark in remarks if remark.section != "map"]
    assert remarks[0].section == section
    assert words in remarks[0].text


def test_a_comparison_that_has_not_converged_beats_nobody():
    """In the tables of the dossier the swapped one is much better; the unconverged one would be as well."""
    dossier = quiet_dossier()
    frames = {}
    for family in ("risk", "utility"):
        rows = getattr(dossier.evaluation, family)
        own = rows[rows["scheme"] == dossier.scheme]
        better = own.assign(scheme="swapped", value=own["value"].where(own["measure"] != "risk_mean", 0.05))
        better = better.assign(low=better["value"], high=better["value"])
        frames[family] = pd.concat([rows[rows["scheme"] != "swapped"], better], ignore_index=True)
    beaten = replace(dossier, evaluation=replace(dossier.evaluation, **frames))
    (remark,) = list_remarks(beaten, Teller("internal", 300))
    assert (remark.section, remark.weight) == ("map", "stop")
    assert "The scheme swapped is better in mean risk (0.05 against 0.1)" in remark.text
    verdict = judge_release(beaten, Teller("internal", 300)).sentence
    assert verdict.startswith("Do not release, because the scheme swapped is better in mean risk")
    public = redact(beaten)
    told = [remark.text for remark in list_remarks(public, Teller("public", 300))]
    told += [text for _, text in tell_verdict(public, Teller("public", 300))]
    assert told
    assert not [text for text in told if "is better" in text]
    failed = pd.DataFrame([{**dossier.fits.iloc[0].to_dict(), "scheme": "swapped", "converged": False}])
    ignored = replace(beaten, fits=pd.concat([dossier.fits, failed], ignore_index=True))
    assert [remark.weight for remark in list_remarks(ignored, Teller("internal", 300))] == ["note"]


def test_a_verdict_is_the_first_thing_on_the_page():
    html = said(quiet_dossier(), "internal")
    header = html[html.index("<header>") : html.index("</header>")]
    before = (
        plain_dossier().evaluation.risk.query("scheme == 'confidential' and measure == 'risk_mean'")["value"].item()
    )
    assert f"the mean identification risk is 0.100 ({before:.3f} for the confidential data)" in header
    assert "<strong>No objection</strong>" not in page("public")
    assert html.count('<span class="title">') == 5
    for dossier, words in (
        (change(quiet_dossier(), "spread_ratio", 2.6), "the standard deviation of income is 2.60 times"),
        (change(quiet_dossier(), "tail_ratio", 0.4), "quantile of income it is 0.40 times"),
        (change(quiet_dossier(), "reach_ratio", 19_000.0, of="smallest"), "lies 19,000 times as far out"),
    ):
        remarks = list_remarks(dossier, Teller("internal", 300))
        assert remarks[0].weight == "stop"
        assert words in remarks[0].because


@pytest.mark.parametrize(("edition", "title"), [("internal", "Summary"), ("public", "At a glance")])
def test_the_first_section_is_called_by_what_is_in_it(edition, title):
    html = page(edition)
    assert f'<h2 id="verdict-title">{title}</h2>' in html
    assert f'<a href="#verdict">{title}</a>' in html
    assert any(
        f"{label}</strong>" in html for label in ("No objection", "Board decision needed", "Do not release")
    ) == (edition == "internal")


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_match_rates_lead_and_identification_risk_is_no_recognition(edition):
    cards = [card.title for card in list_cards(plain_dossier(), Teller(edition, 300))]
    assert cards[:2] == ["true match rate", "match rate with all datasets combined"]
    assert cards[-1] == "mean identification risk"
    text = page(edition).replace("&#39;", "'")
    assert IDENTIFICATION_RISK in text
    # Of the library that draws the figures, nothing.
    own = text.partition('<script type="module">')[0]
    assert "recogni" not in own.replace("no probability of being recognized", "")


def test_no_card_improves_by_publishing_more_tables():
    """The realised risk does: its name says over how many tables, and the headline is another number."""
    dossier = change(plain_dossier(), "risk_above_50", 0.0)
    dossier = change(dossier, "risk_largest", 0.0)
    html, teller = page("internal"), Teller("internal", 300)
    cards = list_cards(dossier, teller)
    assert html.count('<span class="title">') == len(cards) == 5
    assert cards == list_cards(plain_dossier(), teller)
    (mean,) = dossier.evaluation.risk.query("scheme == @RELEASED and measure == 'risk_mean'")["value"]
    assert f"The paper&#39;s realised mean over 4 tables: {mean:.3f}." in html
    assert "Risk of the records, realised, mean over 4 tables" in html


def with_expected(dossier, moles):
    """The dossier as if posteriors had been given: expected risks, and moles."""
    evaluation = dossier.evaluation
    records = evaluation.records
    fitted = records["scheme"].isin([dossier.scheme, "unweighted"])
    expected = records["risk"].where(fitted).clip(0.05, 0.6)
    records = records.assign(expected_risk=expected, expected_error=expected * 0.01)
    about = {"scheme": dossier.scheme, "column": "income", "of": "", "group": "", "at": NAN, "low": NAN, "high": NAN}
    rows = [
        about | {"measure": "expected_mean", "name": "mean expected risk", "value": 0.1234, "low": 0.12, "high": 0.13}
    ]
    rows += [about | {"measure": "moles", "name": "moles", "value": float(moles), "at": 0.2}]
    risk = pd.concat([evaluation.risk, pd.DataFrame(rows)], ignore_index=True)
    return replace(dossier, evaluation=replace(evaluation, records=records, risk=risk))


def test_expected_risk_and_moles_are_shown_where_they_are_known():
    assert list_remarks(with_expected(quiet_dossier(), 0), Teller("internal", 300)) == []
    dossier = with_expected(quiet_dossier(), 7)
    (remark,) = list_remarks(dossier, Teller("internal", 300))
    assert remark.text == "Moles, records at more risk because of the weights: 7."
    assert "expected" in [one.name for one in _profiles(dossier)]
    assert "expected" not in [one.name for one in _profiles(plain_dossier())]
    assert "expected" not in PICTURES
    few = with_few_measures(dossier, more=["expected_mean", "moles"])
    assert "0.123 <small>0.120 to 0.130</small>" in said(few, "internal")
    assert "because of the weights: fewer than 10." in said(few, "public")


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


def test_hostile_names_and_labels_are_inert_and_cut():
    note = methods_note(hostile_dossier())
    for text in (note, page("public", hostile=True)):
        for piece in ("<script>alert('dropped')", "<script>alert('label')", "\u202e", "\x1b", "z" * 200, "w" * 200):
            assert piece not in re.sub(r"`[^`\n]*`", "", text)
    # The settings at the end are what they are: there names are escaped, and not cut.
    internal = page("internal", hostile=True).partition('<section id="repeat"')[0]
    for piece in ("<script>alert('dropped')", "<script>alert('label')", "\u202e", "\x1b", "z" * 200, "w" * 200):
        assert piece not in internal
    assert "&lt;/td&gt;&lt;script&gt;alert(" in internal
    # In Markdown a backtick of a name cannot end the code that it stands in.
    dropped = re.search(r"Not published: (.*)\.\n", note)
    assert dropped is not None
    assert dropped[1].count("`") == 2
    assert HOSTILE[DROPPED][:20].replace("`", "'") in dropped[1]


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
    elements = read("internal").elements
    figures = [attrs for tag, attrs in elements if tag == "figure"]
    pictures = [attrs for tag, attrs in elements if tag == "img"]
    assert len(figures) == len(pictures) == 17
    assert all(len(picture["alt"] or "") > 60 for picture in pictures)
    (specifications,) = re.findall(r'id="specifications">(.*?)</script>', html, re.DOTALL)
    assert set(json.loads(specifications)) == {figure["data-figure"] for figure in figures}


def test_tables_have_headings_for_screen_readers():
    elements = read("internal").elements
    headings = [attrs for tag, attrs in elements if tag == "th"]
    assert headings
    assert {attrs.get("scope") for attrs in headings} == {"row", "col"}
    assert len([tag for tag, _ in elements if tag == "caption"]) == len([tag for tag, _ in elements if tag == "table"])


@cache
def searched_page(edition):
    """Of the figures of the internal edition the one of the search."""
    if edition == "public":
        return with_figures(searched_dossier(), "public")
    with showing(lambda dossier, *_: list(_search(dossier))):
        return render_report(searched_dossier(), edition="internal")


@cache
def searched_note():
    return methods_note(searched_dossier())


def test_how_a_release_was_found_is_told_after_the_verdict():
    found = re.findall(r'<section id="(\w+)"', searched_page("internal"))
    # The map of two measures is not drawn here.
    assert found == ["verdict", "found", *(name for name in INTERNAL[1:] if name != "two")]
    assert "How the method was selected" in searched_page("internal")
    rows = next(table for table in Reader(searched_page("internal")).tables if table[0][0] == "point")
    assert rows[0][-3:] == ["maximum realised <= 0.4321", "U_m <= 0.1987", "fit"]
    # 0.20357 and 0.04579 with standard errors of 0.001 and 0.0005.
    assert rows[2][:3] == ["2: pairwise, shift 0.5, membership prior (chosen)", "yes", "0.204 0.202 to 0.206"]
    assert rows[2][5:] == ["0.0458 0.0448 to 0.0468", "0.347 ± 0.0020", "0.3468 ± 0.0020", "2 warm"]
    assert rows[1][6:8] == ["0.247, missed chance 87%", "0.2468, missed chance 87%"]
    text = own_content(searched_page("internal"))
    for words in (
        "It was confirmed.",
        "Point 3, pairwise, membership prior: keeps the targets, mean expected risk 0.194, U_m 0.0558.",
        "3 fits and 3 points.",
        "Records drawn anew because by bad luck they broke a target: 13. Without that, 65% of",
        "# The same again: --fits 77",
    ):
        assert words in text
    assert "molehill run</code> with these settings makes the same tables again" in text
    assert 'data-figure="search"' in text


@pytest.mark.parametrize(
    "words",
    ["0.4321", "0.1987", "membership", "fits 77", "65%", "0.2136", "0.0358", "they broke", "3 points"],
)
def test_the_public_side_tells_nothing_of_the_search_but_that_there_was_one(words):
    assert words in own_content(searched_page("internal"))
    assert words not in own_content(searched_page("public"))
    sentence = " The scheme was found by a search, under rules that the agency set on risk and utility."
    # The page of the same release without a search, with one sentence more.
    assert searched_page("public").replace(sentence, "") == page("public")
    note = searched_note()
    assert words not in note
    assert "could be drawn anew" in note


def test_what_a_search_cost_is_told_with_its_seconds_where_they_are_known():
    search = make_search(("U_m <= 0.1987",))
    cost = {"fits": 3.0, "cold": 8.765, "warm": NAN, "measuring": 1.0, "seconds": 44.0}
    told = "3 fits and 3 points in 44 s; a cold fit took 8.8 s, measuring a point 1.0 s."
    assert tell_cost(replace(search, cost=cost)) == told
    assert tell_cost(search) == "3 fits and 3 points."


def test_the_search_comes_back_from_disk(tmp_path):
    write_dossier(searched_dossier(), tmp_path)
    again, before = read_dossier(tmp_path), searched_dossier()
    with showing(lambda dossier, *_: list(_search(dossier))):
        assert render_report(again, edition="internal") == searched_page("internal")
    # What the other figures are made from.
    for name in ("records", "shapes", "risk", "utility", "groups"):
        one, other = (getattr(some.evaluation, name) for some in (again, before))
        pd.testing.assert_frame_equal(one, other.reset_index(drop=True), check_dtype=False)
    pd.testing.assert_frame_equal(again.weights, before.weights, check_dtype=False)
    assert again.search is not None
    assert again.search.next_places == (2, 0)
    assert again.search.cost == {"fits": 3.0}
    assert all(map(is_private, tmp_path.rglob("search*")))


@pytest.mark.parametrize(
    ("change", "words"),
    [({"met": False}, "No scheme was found that keeps the targets."), ({"converged": False}, "has not converged")],
)
def test_nothing_released_is_said_at_the_top(change, words):
    way = pd.DataFrame({"pattern": ["town A"], "range": ["1,000 to 2,000"], "records": [21]})
    dossier = replace(plain_dossier(), search=make_search(("U_m <= 0.1987",), way=way, **change))
    html = said(with_few_measures(dossier), "internal")
    top = html[html.index("<header>") : html.index("</header>")]
    assert "Nothing was released." in top
    assert words in top
    assert ["town A", "1,000 to 2,000", "21"] in [row for table in Reader(html).tables for row in table]
    with pytest.raises(InputError, match="nothing was released"):
        render_report(dossier, edition="public")


def test_the_methods_note_says_whether_there_are_weights():
    dossier = plain_dossier()
    assert "weights between 0 and 1" in methods_note(dossier)
    flat = replace(dossier, weights=dossier.weights.assign(weight=1.0))
    assert "weights between 0 and 1" not in methods_note(flat)
    assert "Every record counts the same" in methods_note(flat)
    assert "Every record has the same weight" in said(with_few_measures(flat), "public")


def test_a_model_is_described_in_its_author_s_words():
    dossier = plain_dossier()
    words = "a copula that <b>we</b> wrote, `ours`"
    own = replace(
        dossier,
        settings=dossier.settings.but(synthesizer="custom"),
        facts={**dossier.facts, "model": "ours", "words": words},
    )
    note = methods_note(own)
    assert "A statistical model, a copula that &lt;b&gt;we&lt;/b&gt; wrote, \\`ours\\`, describes `income`" in note
    assert WORDS not in note
    assert "mixture" not in note
    for edition in ("internal", "public"):
        html = said(with_few_measures(own), edition)
        assert "draws from a copula that &lt;b&gt;we&lt;/b&gt; wrote, `ours`, given gender and age." in html
        assert ("ours was given in Python: `molehill run` cannot make" in html) == (edition == "internal")


def test_several_columns_are_named_one_by_one():
    survey = consumer_survey(n=300, seed=1)[["gender", "age", "income"]].assign(
        spending=lambda rows: rows["income"] / 2
    )
    columns = ["income", "spending"]
    released = [multiply_noise(survey, columns, least=0.1, most=0.5, seed=seed) for seed in (1, 2)]
    small = plain_dossier()
    settings = small.settings.but(synthesize=columns, radius={"income": 0.2, "spending": 0.1}, min_radius=0.0)
    measures = [
        one for one in MEASURES if one.id in (*FEW, "radius_mean", "attribution_correct", "attribution_leave_one_out")
    ]
    evaluation = evaluate(
        survey, {RELEASED: released}, settings.intruder, EvaluationOptions(propensity_methods=(), measures=measures)
    )
    dossier = replace(small, evaluation=evaluation, settings=settings, fits=small.fits.iloc[:0])
    html = said(dossier, "internal")
    rows = [row[0] for table in Reader(html).tables for row in table]
    assert {"U_m, income", "U_m, spending", "mean of income", "mean of spending"} <= set(rows)
    assert {"0.2 of income, 0.1 of spending (the agency's)", "0.1 of income, 0.05 of spending"} <= set(rows)
    assert "Whoever takes the released value of spending in a person" in html
    assert "The values of <strong>income and spending</strong> were replaced" in html
    public = said(dossier, "public")
    assert "The largest gap of the distributions of spending (U_m) is up to" in public
    assert "0.1 of spending" not in public
    assert "the values of `income` and `spending` are not those" in methods_note(dossier)


@pytest.mark.slow
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
    # Nine figures are drawn from shapes, whatever the number of records: they weigh less than 500 kB.
    shapes = small.evaluation.shapes
    evaluation = replace(small.evaluation, records=records, risk=risk, shapes=shapes.iloc[:0])
    large = replace(small, evaluation=evaluation, weights=weights, facts={**small.facts, "records": 6208})
    with all_figures():
        html = render_report(large, edition="internal")
    # Chance spreads these risks over the whole square; those of a real survey lie closer and weigh less.
    assert len(html.encode()) < 2_500_000
    drawings = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert len(drawings) == html.count("<figure") == 8
    assert all(b64decode(drawing).count(b"<path") > 5 for drawing in drawings)


def test_a_categorical_column_has_a_report():
    survey = consumer_survey(n=300, seed=2)
    released = [
        survey.assign(marital=survey["marital"].sample(frac=1, random_state=seed).to_numpy()) for seed in (1, 2)
    ]
    small = plain_dossier()
    columns = {"synthesize": ["marital"], "keep": [name for name in survey if name != "marital"], "drop": []}
    settings = small.settings.but(**columns, lower=None, upper=None)
    measures = [one for one in MEASURES if one.id in (*FEW, "variation", "two_way")]
    evaluation = evaluate(
        survey, {"pairwise": released}, settings.intruder, EvaluationOptions(propensity_methods=(), measures=measures)
    )
    dossier = replace(
        small,
        scheme="pairwise",
        evaluation=evaluation,
        settings=settings,
        weights=small.weights.assign(value=survey["marital"].astype(str)),
        fits=small.fits.iloc[:0],
        diagnostics=small.diagnostics.iloc[:0],
        facts={**small.facts, "kind": "categorical", "words": "a multinomial regression"},
    )
    for edition in ("internal", "public"):
        html = said(dossier, edition)
        assert "a multinomial regression" in html
        assert "there is no map" in html
        assert "No model was fitted." in html
        # One row for every two-way table, each of which has the same measures.
        rows = [row[0] for table in Reader(html).tables for row in table]
        assert {"total variation, marital x gender", "total variation, marital x age"} <= set(rows)


def test_the_methods_note_says_how_to_combine():
    note = plain_note()
    assert "4 tables of 300 records" in note
    assert "the values of `income` are not those that were collected" in note
    assert "*T* = *v* + *b* / 4" in note
    assert "3 times the\n   square of 1 + 4 *v* / *b*" in note
    words, code, rest = (part for part in re.split(r"(## Combining.*```\n)", note, flags=re.DOTALL))
    allowed = {"0", "1", "2", "3", "4", "5", "300", "95", "1.96", "2003", "0.1.0"}
    # What a simulation found of intervals under weights; and the distribution, in steps, as the public edition has it.
    measured, told = {"100", "84", "85", "90", "68", "55"}, {"0.10"}
    assert set(re.findall(r"\d+(?:\.\d+)*", words + rest)) <= allowed | measured | told
    assert code.count("```") == 8


def test_a_note_promises_95_percent_only_without_weights():
    note = " ".join(plain_note().split())
    assert "did so 84 times for a mean, 85 for a 90% quantile, 68 for a standard deviation and 55 for the slope" in note
    flat = replace(plain_dossier(), weights=plain_dossier().weights.assign(weight=1.0))
    plain = " ".join(methods_note(flat).split())
    assert "held the truth about as often as they should" in plain
    assert "84" not in plain


def test_a_note_names_what_not_to_rely_on_and_has_a_codebook():
    note = methods_note(change(plain_dossier(), "overlap", 0.2, of="mean of income"))
    assert "Do not rely on these estimates: `mean of income`. They lie further" in note
    assert "Within about two standard errors of what the collected data show: `median of income` and `90%" in note
    # What a single extreme value may decide is not told: of which kind a number is, nor how its sd came out.
    far = methods_note(change(plain_dossier(), "overlap", 0.2, of="sd of income"))
    assert far == methods_note(plain_dossier())
    assert "sd of" not in far
    assert "| `income` | Income before taxes | number | replaced by draws |" in note
    assert "| `cbsa` |  |  | not published |" in note


def run_code(note, folder, monkeypatch, capsys):
    """Run the Python of a note where the tables are, and give what it prints."""
    (code,) = re.findall(r"```python\n(.*?)```", note, re.DOTALL)
    monkeypatch.chdir(folder)
    exec(compile(code, "methods.md", "exec"), {"__name__": "__main__"})  # noqa: S102
    return capsys.readouterr().out


def test_the_code_of_the_note_combines_as_the_library_does(tmp_path, monkeypatch, capsys):
    tables = [multiply_noise(consumer_survey(n=300, seed=1), "income", most=0.5, seed=seed) for seed in range(4)]
    for number, table in enumerate(tables, 1):
        table.to_csv(tmp_path / f"synthetic_{number:02}.csv", index=False)
    said = run_code(plain_note(), tmp_path, monkeypatch, capsys)
    found = [float(number) for number in re.findall(r"-?\d+\.\d*", said)]
    points, variances = (
        np.array(part) for part in zip(*((t["income"].mean(), t["income"].var() / 300) for t in tables), strict=True)
    )
    by_rule = combine(points, variances)
    assert found == pytest.approx([by_rule.point, by_rule.low, by_rule.high], rel=1e-6)


WRITTEN = {"ending": ".csv", "separator": ";", "decimal": ",", "thousands": "", "encoding": "cp1252"}


@pytest.mark.parametrize("thousands", ["", "."])
def test_the_code_of_the_note_reads_the_files_as_they_are_written(tmp_path, thousands, monkeypatch, capsys):
    dossier, survey = plain_dossier(), consumer_survey(n=300, seed=1)
    dossier = replace(
        dossier, facts={**dossier.facts, "written_as": {**WRITTEN, "thousands": thousands, "grouped": ["income"]}}
    )
    dialect = Dialect(";", ",", thousands, "cp1252", grouped=("income",) if thousands else ())
    tables = [survey.assign(income=survey["income"] * (1 + seed / 7), Größe="ä") for seed in range(4)]
    for number, table in enumerate(tables, 1):
        write_table(Table(table, dialect=dialect), tmp_path / f"synthetic_{number:02}.csv")
    note = methods_note(dossier)
    found = float(re.findall(r"-?\d+\.\d*", run_code(note, tmp_path, monkeypatch, capsys))[0])
    assert found == pytest.approx(np.mean([table["income"].mean() for table in tables]), rel=1e-6)
    assert 'sep = ";", dec = ",", fileEncoding = "windows-1252"' in note
    assert 'clear case(preserve) delimiters(";") encoding("windows-1252") stringcols(_all)\n' in note
    assert "    destring income, replace dpcomma\n" in note
    assert 'dlm=";" dsd firstobs=2 truncover lrecl=1000000 encoding="wlatin1"' in note
    columns = [name for name in survey.columns if name != DROPPED]
    assert f"input (skip1-skip{columns.index('income')}) (:$1.) income :commax32.;" in note
    assert (
        ('subinstr(income, ".", "", .)' in note) == ('colClasses = c(income = "character")' in note) == bool(thousands)
    )


def test_files_in_the_usual_form_are_read_without_a_word():
    dossier = plain_dossier()
    usual = {"ending": ".csv", "separator": ",", "decimal": ".", "thousands": "", "encoding": "utf-8"}
    assert methods_note(replace(dossier, facts={**dossier.facts, "written_as": usual})) == methods_note(dossier)
    tabs = methods_note(
        replace(dossier, facts={**dossier.facts, "written_as": {**usual, "ending": ".tsv", "separator": "\t"}})
    )
    assert 'pd.read_csv(f"synthetic_{number:02}.tsv", sep="\\t")' in tabs
    assert "dlm='09'x" in tabs


def test_the_methods_note_of_one_table_combines_nothing():
    dossier = plain_dossier()
    note = methods_note(replace(dossier, facts={**dossier.facts, "tables": 1}))
    assert "There is 1 table of 300 records" in note
    assert "combine" not in note
    assert "too short" in note
    flat = replace(dossier, weights=dossier.weights.assign(weight=1.0), facts={**dossier.facts, "tables": 1})
    assert "95 times in 100" not in methods_note(flat)


def test_the_methods_note_says_which_relations_the_tables_carry():
    dossier = plain_dossier()
    narrow = replace(dossier, settings=dossier.settings.but(predictors=("gender", "age")))
    note = " ".join(methods_note(narrow).split())
    assert "The tables carry how `income` relates to `gender` and `age`. They do not carry how it relates to" in note
    left = [name for name in narrow.settings.keep if name not in ("gender", "age")]
    assert left
    assert all(f"`{name}`" in note for name in left)
    page_text = own_content(said(with_few_measures(narrow), "public"))
    assert "How income relates to" in page_text
    assert "the tables do not carry." in page_text
    alone = replace(dossier, settings=dossier.settings.but(predictors=()))
    assert "`income` was drawn by itself. They do not carry" in " ".join(methods_note(alone).split())
    every = replace(dossier, settings=dossier.settings.but(predictors=dossier.settings.keep))
    assert "They do not carry" not in methods_note(every)


def test_names_in_the_methods_note_are_code():
    note = methods_note(hostile_dossier())
    assert len(note) < 10_000
    outside = re.sub(r"`[^`\n]*`", "", note)
    assert "<" not in outside
    # Labels are words, and cannot end the cell that they stand in.
    codebook = re.findall(r"^\|.*$", outside, re.MULTILINE)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in codebook} == {5}
    assert "alert" not in re.sub(r"^\|.*$", "", outside, flags=re.MULTILINE)


OUTWARD = (
    '<a href="https://a.b/?x">here</a>',
    "<a href=https://a.b>here</a>",
    '<a href="/view">here</a>',
    '<meta http-equiv="refresh" content="0;https://a.b">',
    '<form action="https://a.b"></form>',
    '<button formaction="https://a.b">here</button>',
    '<iframe src="https://a.b"></iframe>',
    '<img src="https://a.b/c.png">',
    '<img src="data:image/png;base64,A" onerror="location=1">',
    '<a ping="https://a.b" href="#found">here</a>',
    '<base href="https://a.b">',
    '<svg><animate attributeName="href" to="https://a.b"></svg>',
    '<!--><a href="https://a.b">-->',
    '<A HREF="https://a.b">here</A>',
    '<p title="<a href=">',
)


def test_a_report_leads_nowhere_and_one_that_was_changed_is_known():
    with said_in_words():
        page = render_report(hostile_dossier(), edition="internal")
    assert leads_nowhere(page)
    for element in OUTWARD:
        assert not leads_nowhere(page.replace("<main", f"{element}<main", 1)), element
