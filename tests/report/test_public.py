"""What leaves the building by the public edition and the methods note: nothing finer than was meant, and no more."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from drawing import all_figures, drawn_once, in_words, showing  # noqa: F401
from molehill.evaluation.telling import Teller, tell_range
from molehill.report.methods import methods_note
from molehill.report.page.first_page import judge_release, list_cards, list_remarks, tell_verdict
from molehill.report.page.page import render_report
from molehill.report.public import FACTS, FITS, PICTURES, PUBLIC_POLICIES, coarsen, redact, share_step
from molehill.tables.intervals import Figure
from report_dossier import (
    DROPPED,
    LABELS,
    plain_dossier,
    with_few_measures,
)

NAN = float("nan")
# The internal edition is read in words, the public one with its figures.
pytestmark = pytest.mark.usefixtures("drawn_once", "in_words")
RECORDS = 300
ESTIMATED = {"mean of income", "median of income", "90% quantile of income", "sd of income"}


def said(dossier, edition):
    """What a page says in words and tables, without a figure in either edition."""
    with showing(lambda *_: []):
        return render_report(dossier, edition=edition)


@cache
def page(edition):
    if edition == "internal":
        return render_report(plain_dossier(), edition="internal")
    with all_figures():
        return render_report(plain_dossier(), edition="public")


def words_of(html):
    """What the page says in words and tables."""
    body = html.partition("<body>")[2].partition('<script type="application/json"')[0]
    body = re.sub(r'src="data:[^"]*"', "", body)
    return re.sub(r"<[^>]*>", " ", body)


def specifications(html):
    (found,) = re.findall(r'id="specifications">(.*?)</script>', html, re.DOTALL)
    return json.loads(found)


def figures(dossier, family, measure, scheme=None):
    rows = getattr(dossier.evaluation, family)
    rows = rows[(rows["measure"] == measure) & (rows["group"] == "")]
    return rows if scheme is None else rows[rows["scheme"] == scheme]


def change_columns(dossier, **by_column):
    """The dossier with more said of some columns."""
    columns = [{**row, **by_column.get(row["column"], {})} for row in dossier.facts["columns"]]
    return replace(dossier, facts={**dossier.facts, "columns": columns})


# What follows from several numbers together.


def test_no_two_public_numbers_give_the_standard_deviation():
    """A distance in dollars over the same in standard deviations, or the width of an interval of the mean."""
    whole, public = plain_dossier(), redact(plain_dossier())
    sd = figures(whole, "utility", "estimate", "confidential").set_index("of").loc["sd of income", "value"]
    distance, scaled = (
        figures(whole, "utility", name, whole.scheme)["value"].iloc[0] for name in ("wasserstein", "wasserstein_sd")
    )
    assert distance / scaled == pytest.approx(sd, rel=0.001)
    # In public nothing is in dollars but what the tables tell themselves, and all else lies on a grid.
    told = public.evaluation.utility
    assert not set(told["measure"]) & {"wasserstein", "wasserstein_sd", "width_ratio", "relative_bias"}
    grids = {"overlap": {0.25, 0.75}, "pmse_ratio": {1.5, 6.5, 15.0}, "U_m": set(np.arange(0.05, 1.01, 0.05).round(2))}
    for measure, rows in told[~told["measure"].isin(["estimate", "U_m_benchmark"])].groupby("measure"):
        assert set(rows["value"]) <= grids[f"{measure}"], measure
        assert rows[["low", "high"]].isna().all(axis=None)


def test_the_confidential_estimates_follow_no_closer_than_their_sampling_error():
    """From the released estimates, which anybody computes, and all that is told beside them."""
    whole, public = plain_dossier(), redact(plain_dossier())
    confidential = figures(whole, "utility", "estimate", "confidential").set_index("of")
    released = figures(whole, "utility", "estimate", whole.scheme).set_index("of")
    told = figures(public, "utility", "overlap", "this release").set_index("of")["value"]
    # How the standard deviation came out a single extreme value may decide.
    assert set(told.index) == ESTIMATED - {"sd of income"}
    assert not set(public.evaluation.utility["measure"]) & {"relative_bias", "width_ratio", "pmse", "U_a"}
    for name, own in released.loc[told.index].iterrows():
        half = (own["high"] - own["low"]) / 2
        error = (confidential.loc[name, "high"] - confidential.loc[name, "low"]) / 2 / 1.96
        # Every confidential interval that is as wide as the released one and overlaps by so much is possible.
        centres = own["value"] + np.linspace(-3, 3, 6001) * half
        shared = np.clip(2 * half - np.abs(centres - own["value"]), 0, None) / (2 * half)
        possible = centres[(shared >= 0.5) == (told[name] >= 0.5)]
        assert np.ptp(possible) / 2 >= error, name


def test_another_confidential_table_in_the_same_ranges_makes_the_same_page():
    """The page is a function of what may be known: what lies within its steps, or stays inside, changes nothing."""
    dossier = plain_dossier()
    public = dossier.evaluation.measures.set_index("id").to_dict("index")
    frames = {}
    for family in ("risk", "utility"):
        rows = getattr(dossier.evaluation, family)
        ends = []
        for row in rows.to_dict("records"):
            about, own = public[row["measure"]], [row[name] for name in ("value", "low", "high")]
            if not about["public"] or (about["release_only"] and row["scheme"] != dossier.scheme):
                ends.append([1234.5, 1000.5, 2000.5])
            elif about["coarse"] == "exact":
                ends.append(own)
            else:
                ends.append(coarsen(about["unit"], about["coarse"], own, RECORDS))
        frames[family] = rows.assign(**dict(zip(("value", "low", "high"), np.array(ends).T, strict=True)))
    changed = replace(dossier, evaluation=replace(dossier.evaluation, **frames))
    inside = Teller("internal", RECORDS)
    assert list_cards(changed, inside) != list_cards(dossier, inside)
    with all_figures():
        assert render_report(changed, edition="public") == page("public")


@pytest.mark.parametrize(
    ("unit", "coarse", "figure", "records", "told"),
    [
        ("share", "", (0.1263, 0.1211, 0.1315), 6208, (0.13, 0.12, 0.14)),
        # Ten of 300 records are more than 0.02 of them.
        ("share", "", (0.1263, 0.1211, 0.1315), 300, (0.15, 0.1, 0.15)),
        ("share", "", (0.26, NAN, NAN), 30, (0.5, NAN, NAN)),
        ("share", "", (-0.001, -0.004, 0.002), 6208, (0.0, -0.01, 0.01)),
        ("share", "up", (0.0301, 0.02, 0.04), 6208, (0.04, NAN, NAN)),
        # That two distributions are the same, or nearly so, is nobody's business.
        ("share", "up", (0.0, 0.0, 0.0), 6208, (0.01, NAN, NAN)),
        ("number", "up", (0.05, NAN, NAN), 300, (0.05, NAN, NAN)),
        ("share", "half", (0.49, 0.4, 0.6), 6208, (0.25, NAN, NAN)),
        ("share", "half", (0.5, NAN, NAN), 6208, (0.75, NAN, NAN)),
        ("number", "ratio", (49_900.0, 1.0, 2.0), 6208, (15.0, NAN, NAN)),
        ("count", "", (3.0, 1.0, 5.0), 300, (0.0, 0.0, 0.0)),
        ("count", "", (296.0, NAN, NAN), 300, (300.0, NAN, NAN)),
        ("expectation", "", (24.6, 11.0, 44.0), 300, (20.0, 10.0, 40.0)),
        ("number", "", (61_234.0, NAN, NAN), 300, (61_000.0, NAN, NAN)),
        ("number", "exact", (61_234.5, 60_000.5, 62_000.5), 300, (61_234.5, 60_000.5, 62_000.5)),
        ("share", "", (NAN, NAN, NAN), 300, (NAN, NAN, NAN)),
    ],
)
def test_figures_are_as_coarse_as_their_measure_says(unit, coarse, figure, records, told):
    found = coarsen(unit, coarse, figure, records)
    assert found == pytest.approx(told, nan_ok=True)
    assert "-0.0" not in [f"{part}" for part in found]
    # What is coarse already stays as it is.
    assert coarsen(unit, coarse, found, records) == pytest.approx(told, nan_ok=True)


@pytest.mark.parametrize("records", [12, 40, 99, 100, 300, 999, 1000, 6208, 10**6])
def test_a_step_of_a_share_holds_ten_records(records):
    assert share_step(records) * records >= 10
    assert share_step(records) >= 0.01


def test_mean_risks_by_size_are_in_tenths_and_rest_on_ten_records():
    whole, groups = plain_dossier().evaluation.groups, redact(plain_dossier()).evaluation.groups
    assert len(groups)
    assert (groups["value"] * 10 == (groups["value"] * 10).round()).all()
    assert groups[["records", "low", "high"]].isna().all(axis=None)
    few = set(whole.loc[(whole["by"] == "size") & (whole["records"] < 10), "group"])
    assert few
    assert not few & set(groups["group"])
    # The ends of the ranges are round numbers and no quantiles.
    ends = {float(end.replace(",", "")) for name in groups["group"] for end in name.split(" to ")}
    assert all(end == 0 or (f"{abs(end):e}"[0] in "125" and float(f"{abs(end):.0e}") == abs(end)) for end in ends)


def test_policies_that_tell_of_values_or_of_the_order_stay_inside():
    dossier = plain_dossier()
    names = ["negative value", "radius of zero", "minimum radius used", "in a pattern smaller than the order"]
    touched = replace(dossier, policies={**dossier.policies, **dict.fromkeys(names, 177)})
    few = with_few_measures(touched)
    internal, public = (said(few, edition) for edition in ("internal", "public"))
    assert all(name in internal for name in names)
    assert not [name for name in names if name in public]
    assert "about 180" not in words_of(public)
    # How many have no value is in the tables only if such records stay without.
    missing = replace(dossier, policies={"missing sensitive value": 77})
    assert not redact(missing).policies
    kept = replace(missing, settings=missing.settings.but(missing_values="keep"))
    assert redact(kept).policies == {"missing sensitive value": 77}


def test_an_analysis_of_a_dropped_column_stays_inside():
    dossier = plain_dossier()
    utility, name = dossier.evaluation.utility, f"C({DROPPED})[rare illness] in income ~ C({DROPPED})"
    row = figures(dossier, "utility", "estimate", dossier.scheme).iloc[:1]
    more = replace(
        dossier,
        evaluation=replace(
            dossier.evaluation,
            utility=pd.concat([utility, row.assign(of=name, name=name, value=0.5)], ignore_index=True),
        ),
    )
    assert "rare illness" in said(with_few_measures(more), "internal")
    assert "rare illness" not in render_report(with_few_measures(more), edition="public")
    assert set(figures(redact(more), "utility", "estimate")["of"]) == ESTIMATED


def test_the_name_of_the_release_does_not_tell_its_order():
    dossier = plain_dossier()
    frames = {
        name: getattr(dossier.evaluation, name).replace({"scheme": {dossier.scheme: "pairwise"}})
        for name in ("risk", "utility", "groups", "records")
    }
    assert all((rows["scheme"] == "pairwise").any() for rows in frames.values())
    fits = dossier.fits.replace({"scheme": {dossier.scheme: "pairwise"}})
    named = replace(dossier, scheme="pairwise", fits=fits, evaluation=replace(dossier.evaluation, **frames))
    assert redact(named).scheme == "this release"
    assert "pairwise" not in render_report(named, edition="public")


def test_diagnostics_of_the_fits_are_coarse():
    dossier = plain_dossier()
    fits = redact(replace(dossier, fits=dossier.fits.assign(effective_size=587.3, largest_rhat=1.0084))).fits
    assert fits["effective_size"].tolist() == [500.0] * 2
    assert fits["largest_rhat"].tolist() == [1.01] * 2
    assert set(fits) <= set(FITS)


# Every number, name and picture of the page is listed.

# Of the page itself: headings, explanations, thresholds, the references to the measures.
SAID = {"0", "1", "0.5", "0.8", "0.95", "0.2", "10", "95", "25", "50", "75", "90"}


def test_every_number_of_the_page_is_one_that_may_be_known():
    dossier = plain_dossier()
    public, teller = redact(dossier), Teller("public", RECORDS)
    told = set(SAID)

    def add(*texts):
        for text in texts:
            told.update(re.findall(r"\d[\d,]*(?:\.\d+)*", text))

    measures = public.evaluation.measures.set_index("id")
    assert measures["public"].all()
    assert measures["reveals"].str.len().gt(10).all()
    for row in pd.concat([public.evaluation.risk, public.evaluation.utility]).to_dict("records"):
        about = measures.loc[row["measure"]]
        add(*teller.figure(about["unit"], figure_of(row), about["coarse"]))
        if about["unit"] == "share" and not about["coarse"]:
            add(teller.percentage(row["value"]))
    for row in public.evaluation.groups.to_dict("records"):
        add(row["group"], *teller.figure("share", figure_of(row)))
    # Of a sample of a survey alone.
    assert set(public.facts) == set(FACTS) - {"uneven"}
    facts = {name: public.facts[name] for name in public.facts if name not in ("columns", "order")}
    add(*map(str, facts.values()), f"{RECORDS}")
    add(*(f"{fit['effective_size']:,.0f} {fit['largest_rhat']:.3f}" for fit in public.fits.to_dict("records")))
    counts = {name: teller.count(number) for name, number in public.policies.items()}
    assert set(counts) <= set(PUBLIC_POLICIES)
    add(*counts.values())
    # Weights in fifths, their counts in tens, and how far the release is from a fresh sample.
    weights = np.histogram(dossier.weights["weight"], bins=5, range=(0, 1))[0]
    add("0.0 0.2 0.4 0.6 0.8 1.0", *(teller.count(float(number)) for number in weights))
    gaps = [figures(public, "utility", name, "this release")["value"].iloc[0] for name in ("U_m", "U_m_benchmark")]
    add(f"{gaps[0] / gaps[1]:.1f}", "4 of 4", "scheme 1")
    text = re.sub(r"&#\d+;", "'", words_of(page("public"))).replace("scheme 1", "")
    found = {number.strip(",") for number in re.findall(r"\d[\d,]*(?:\.\d+)*", text)}
    assert found - told == set()


def figure_of(row):
    return Figure(*(float(row[name]) for name in ("value", "low", "high")))


def test_every_row_behind_a_picture_is_one_that_may_be_known():
    dossier = plain_dossier()
    public, found = redact(dossier).evaluation, specifications(page("public"))
    assert set(found) == set(PICTURES)
    histogram, chart = (found[name]["datasets"] for name in ("histogram", "map"))
    for rows in histogram.values():
        for row in rows:
            assert set(row) == {"low", "high", "records", "share", "scheme"}
            assert row["records"] % 10 == 0
            assert round(row["low"] * 20, 9) == round(row["low"] * 20)
    known = (
        public.risk[public.risk["measure"] == "risk_mean"],
        public.utility[public.utility["measure"].str.startswith("U_m")],
    )
    numbers = {
        round(float(number), 4)
        for rows in known
        for number in rows[["value", "low", "high"]].to_numpy(float).ravel()
        if not np.isnan(number)
    }
    drawn = {
        round(value, 4)
        for rows in chart.values()
        for row in rows
        for name, value in row.items()
        if isinstance(value, float) and name in ("across", "left", "right", "up", "bottom", "top")
    }
    assert drawn
    assert drawn <= numbers


def test_pictures_tell_in_words_no_more_than_in_rows():
    for name in re.findall(r'alt="([^"]+)"', page("public")):
        assert not re.search(r"\d\.\d{3}", name), name
    for found in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page("public")):
        labels = re.findall(r'aria-label="([^"]*)"', b64decode(found).decode())
        assert not [label for label in labels if re.search(r"\d\.\d{4}", label)]


# Treatment of each variable.


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_both_editions_say_what_became_of_every_column(edition):
    lost = {"handling": "3 missing: a level of their own"}
    html = said(with_few_measures(change_columns(plain_dossier(), gender=lost, **{DROPPED: lost})), edition)
    section = html[html.index('<section id="columns"') :]
    section = section[: section.index("</section>")]
    rows = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", row)) for row in re.findall(r"<tr.*?</tr>", section, re.DOTALL)]
    rows = [[cell.strip() for cell in row.split("|") if cell.strip()] for row in rows]
    inside = edition == "internal"
    assert rows[0] == [
        "column",
        "label",
        "fate",
        "kind",
        "handling",
        *(["model", "limits", "remark"] if inside else []),
    ]
    by_name = {row[0]: row[1:] for row in rows[1:]}
    assert list(by_name) == [row["column"] for row in plain_dossier().facts["columns"]]
    assert by_name["income"][:3] == ["Income before taxes", "replaced", "semicontinuous" if inside else "number"]
    assert by_name["income"][3].startswith("written as ")
    assert by_name["gender"][:3] == ["published as collected", "categorical", lost["handling"]]
    assert ("the intruder knows it" in by_name["gender"]) == inside
    # Of a dropped column its name is public, and nothing else.
    assert by_name[DROPPED] == (
        [LABELS[DROPPED], "dropped", "categorical", lost["handling"]] if inside else ["dropped"]
    )
    assert "stand in a random order, the same in every table" in section


def test_the_first_page_names_columns_that_are_kept_knowingly_or_look_sensitive():
    dossier = plain_dossier()
    assert "may name people" not in words_of(page("public"))
    told = change_columns(dossier, marital={"sensitive": "health"}, income={"sensitive": "money"})
    told = replace(told, settings=told.settings.but(accept_identifying=["region", DROPPED]))
    for edition in ("internal", "public"):
        html = said(with_few_measures(told), edition)
        first = words_of(html.partition('<section id="done"')[0])
        assert "Published as collected although they may name people, knowingly: region." in first
        # Income looks sensitive and is replaced, as it should be.
        assert "Published as collected although they look sensitive: marital." in first


def test_what_follows_from_kept_variables_and_is_accepted_is_for_the_board_to_decide():
    dossier = plain_dossier()
    accepted = replace(dossier, settings=dossier.settings.but(accept_derivable=["income", "marital"]))
    [remark] = [one for one in list_remarks(accepted, Teller("internal", RECORDS)) if "accept_derivable" in one.text]
    # What is kept or dropped now has no true values to give away.
    assert remark.because.startswith("true values of income may follow from variables that are released unchanged")
    assert remark.weight == "decide"
    assert judge_release(accepted, Teller("internal", RECORDS)).decision != "no objection"
    assert "may follow from" not in words_of(said(with_few_measures(accepted), "public"))


def test_an_order_that_tells_is_told():
    dossier = plain_dossier()
    assert not dossier.facts["order"]
    sorted_ = replace(dossier, facts={**dossier.facts, "order": ["income"]})
    text = "The order of the file tells of income: the records are published in another order."
    assert ("Order", text) in tell_verdict(sorted_, Teller("internal", RECORDS))
    assert ("Order", text) in tell_verdict(redact(sorted_), Teller("public", RECORDS))
    plain = replace(sorted_, facts={**sorted_.facts, "shuffled": False})
    (remark,) = [one for one in list_remarks(plain, Teller("internal", RECORDS)) if "order" in one.text]
    assert "tells of income, and they are published in that order" in remark.text
    # To a reader it would be a hint where to look.
    public = words_of(said(with_few_measures(plain), "public"))
    assert "tells of income" not in public
    assert "stand in the order of the file" in public


def test_how_many_values_are_new_is_said_in_both_editions():
    dossier = plain_dossier()
    everybody = "The values of income are new in 300 of 300 records."
    values = dossier.weights["value"].where(dossier.weights["record"] > 17)
    some = replace(
        dossier, weights=dossier.weights.assign(value=values), settings=dossier.settings.but(missing_values="keep")
    )
    most = "The values of income are new in 283 of 300 records; the other 17 have none, and stay without."
    for edition in ("internal", "public"):
        assert everybody in words_of(page(edition))
        text = words_of(said(with_few_measures(some), edition))
        assert most in text
        assert "283 of 300 records, as the others have none" in text


def test_values_outside_the_limits_are_counted_inside_only():
    dossier = plain_dossier()
    values = dossier.weights["value"]
    settings = dossier.settings.but(lower={"income": 0.0}, upper={"income": 500_000.0})
    number = int(((values < 0) | (values > 500_000)).sum())
    assert number > 0
    narrow = replace(dossier, settings=settings)
    words = "lies outside the limits of what may be released"
    assert f"Records whose income {words}: {number}." in words_of(said(with_few_measures(narrow), "internal"))
    assert words not in page("internal")
    assert words not in said(with_few_measures(narrow), "public")


# The methods note.


def test_the_methods_note_names_every_column_with_its_fate():
    note = methods_note(plain_dossier())
    kept = re.search(r"As they were collected: (.*?)\.", note, re.DOTALL)
    assert kept is not None
    assert re.findall("`([^`]+)`", kept[1]) == list(plain_dossier().settings.keep)
    assert f"Not published: `{DROPPED}`." in note
    assert LABELS[DROPPED] not in note


@pytest.mark.parametrize(("shuffle", "tables"), [(True, 4), (False, 4), (True, 1), (False, 1)])
def test_the_methods_note_says_in_which_order_records_stand(shuffle, tables):
    dossier = plain_dossier()
    facts = {**dossier.facts, "tables": tables}
    note = methods_note(replace(dossier, settings=dossier.settings.but(shuffle=shuffle), facts=facts))
    assert ("put in a random order" in note) == shuffle
    assert ("same row of every table" in note) == (tables > 1)


def test_ranges_are_told_by_their_ends():
    assert [tell_range("ratio", value) for value in (2.99, 3.0, 9.9, 10.0)] == [
        "below 3",
        "3 to 10",
        "3 to 10",
        "10 or more",
    ]
