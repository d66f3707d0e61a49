"""The first page of a report: what to do in a sentence, five key figures, and what a review board should look at."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from molehill.evaluation.catalogue.estimates import LOW_OVERLAP
from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.telling import (
    Teller,
    as_figure,
    cut_measure,
    cut_name,
    find_figure,
    join_names,
    list_figures,
)
from molehill.evaluation.verdict import (
    MATCH_RATES,
    WEIGHTS,
    Remark,
    Verdict,
    decide,
    list_findings,
    list_gaps,
    list_overlaps,
    mean_risk,
    name_column,
)
from molehill.report.dossier import Dossier
from molehill.report.public import count_replaced
from molehill.tables.intervals import Figure

# Where a remark is made; docs/review-boards.md says why.
OUTSIDE = 0.01


@dataclass(frozen=True)
class Card:
    """A key figure: what it is, before and after by the same measure, and how to read it."""

    title: str
    value: str
    before: str
    note: str


def judge_release(dossier: Dossier, teller: Teller) -> Verdict:
    """Say whether to publish, and why, in one sentence. For the agency: in public it would be no news."""
    return decide(dossier.evaluation, dossier.scheme, list_remarks(dossier, teller), teller)


def list_cards(dossier: Dossier, teller: Teller) -> list[Card]:
    """At most five key figures, match rates first; no figure of risk falls by publishing more tables."""
    parts = (_card_matches, _card_patterns, _card_new_people, _card_utility, _card_mean)
    return [card for part in parts for card in part(dossier, teller)]


def _card_mean(dossier: Dossier, teller: Teller) -> Iterator[Card]:
    before, after = _before(dossier, "risk_mean"), mean_risk(dossier.evaluation, dossier.scheme)
    realised = find_figure(dossier.evaluation.risk, dossier.scheme, "risk_mean")
    if after is None:
        return
    note = "It is no probability of being recognized: see below."
    floor = find_figure(dossier.evaluation.risk, dossier.scheme, "risk_baseline")
    if floor is not None:
        note += f" Baseline risk, of values drawn from the pattern alone: {teller.share(floor.value)}."
    if realised is not None:
        tables = int(dossier.facts["tables"])
        note += f" The paper's realised mean over {_tables(tables)}: {teller.share(realised.value)}."
    yield Card("mean identification risk", teller.figure("share", after).text, _tell(teller, before), note)


def _card_matches(dossier: Dossier, teller: Teller) -> Iterator[Card]:
    notes = {
        "matches_true": "of the records: exactly one is close, and it is the right one.",
        "combined_match_rate": "of the records: the one that fits best over all datasets is the right one.",
    }
    for measure, note in notes.items():
        after = find_figure(dossier.evaluation.risk, dossier.scheme, measure)
        if after is not None:
            before = _before(dossier, measure)
            told = "" if before is None else teller.percentage(before.value)
            yield Card(MATCH_RATES[measure], teller.percentage(after.value), told, note)


def _card_patterns(dossier: Dossier, teller: Teller) -> Iterator[Card]:
    names = ("smallest_pattern", "in_small_patterns")
    smallest, few = (find_figure(dossier.evaluation.risk, dossier.scheme, name) for name in names)
    if few is None:
        return
    if smallest is None:
        yield Card("records in patterns of fewer than 5", teller.count(few.value), "", "who share all known columns.")
        return
    note = f"the smallest pattern: who share all known columns. {teller.count(few.value)} of {teller.records:,} records"
    yield Card("k-anonymity", f"k = {smallest.value:,.0f}", "", f"{note} are in patterns of fewer than 5.")


def _card_new_people(dossier: Dossier, teller: Teller) -> Iterator[Card]:
    titles = {
        "membership_distance": (
            "tables nearer to who was in the data",
            "50%: no sign of who was in it. 100%: it shows everybody.",
        ),
        "membership_distance_isolated": ("that for the most isolated 1%", "those whom the tables could show first."),
        "closer_to_participants": (
            "released records nearer to who was in the data",
            "than to who was held out. 50%: no sign.",
        ),
    }
    for measure, (title, note) in titles.items():
        found = find_figure(dossier.evaluation.risk, dossier.scheme, measure)
        if found is not None:
            yield Card(title, teller.percentage(found.value), "", note)
    gains = list_figures(dossier.evaluation.risk, dossier.scheme, "lookup_gain")
    if gains:
        most = max(gains, key=lambda row: row["value"])
        note = f"more right than other people of the confidential table would be, of {cut_name(most['column'])}."
        yield Card("what look-alikes tell of a person", f"{100 * most['value']:+.1f}%", "", note)


def _card_utility(dossier: Dossier, teller: Teller) -> Iterator[Card]:
    overlaps = list_overlaps(dossier.evaluation, dossier.scheme)
    if not overlaps:
        for column, distance, fresh in list_gaps(dossier.evaluation, dossier.scheme)[:1]:
            note = f"a fresh sample of the same people: {teller.figure('number', fresh).text}"
            title = f"largest gap of the distributions{name_column(dossier.evaluation, column)}, U_m"
            yield Card(title, teller.figure("number", distance, "up").text, "", note)
    elif teller.edition == "public":
        value = f"{len(overlaps) - len(_list_low(dossier))} of {len(overlaps)}"
        yield Card(f"estimates whose intervals overlap by {LOW_OVERLAP} or more", value, "", "1 is the same interval")
    else:
        lowest = min(overlaps, key=lambda name: overlaps[name])
        note = f"mean of {len(overlaps)}; 1 is the same interval. Lowest {overlaps[lowest]:.2f}, {cut_measure(lowest)}"
        yield Card("interval overlap of estimates", f"{np.mean(list(overlaps.values())):.2f}", "", note)


def tell_verdict(dossier: Dossier, teller: Teller) -> list[tuple[str, str]]:
    """Say in a few sentences, each with its topic, what the release gives away and what it keeps."""
    sentences = [
        *_tell_columns(dossier),
        *_tell_risk(dossier, teller),
        *_tell_rises(dossier, teller),
        *_tell_overlaps(dossier, teller),
        *_tell_gaps(dossier, teller),
    ]
    others = [name for name in dossier.evaluation.schemes if name != dossier.scheme]
    beside = {name: mean_risk(dossier.evaluation, name) for name in others}
    told = [
        f"{teller.share(figure.value)} under {cut_name(name)}" for name, figure in beside.items() if figure is not None
    ]
    return (
        [*sentences, ("Other schemes", f"For comparison, the expected risk is {', '.join(told)}.")]
        if told
        else sentences
    )


def list_remarks(dossier: Dossier, teller: Teller) -> list[Remark]:
    """Find what a board should look at before it signs, the gravest first."""
    unreliable = {f"{fit['scheme']}" for fit in dossier.fits.to_dict("records") if not fit["converged"]}
    remarks = [
        *_remark_search(dossier, teller),
        *_remark_model(dossier),
        *list_findings(dossier.evaluation, dossier.scheme, teller, unreliable),
        *_remark_columns(dossier, teller),
    ]
    touched = dossier.policies.get("unique in the pattern", 0)
    if touched:
        text = f"Records alone in their pattern: {teller.count(touched)}. See which policy treats them."
        remarks.append(Remark(text, "policies"))
    if int(dossier.facts["tables"]) == 1:
        remarks.append(Remark("One table alone: no figure has an interval over tables.", "done"))
    return sorted(remarks, key=lambda remark: WEIGHTS.index(remark.weight))


def _list_low(dossier: Dossier) -> list[str]:
    overlaps = list_overlaps(dossier.evaluation, dossier.scheme)
    return [name for name, value in overlaps.items() if value < LOW_OVERLAP]


def _before(dossier: Dossier, measure: str) -> Figure | None:
    """The same measure if the confidential table were published as it is."""
    return find_figure(dossier.evaluation.risk, CONFIDENTIAL, measure)


def _tell(teller: Teller, figure: Figure | None) -> str:
    return "" if figure is None else teller.figure("share", figure).text


def _tables(number: int) -> str:
    return "1 table" if number == 1 else f"{number} tables"


def _tell_columns(dossier: Dossier) -> Iterator[tuple[str, str]]:
    """Say how many values are new, and in which order the records stand."""
    facts, column = dossier.facts, join_names(dossier.settings.synthesize)
    if dossier.settings.fully_synthetic_records is not None:
        number = f"{_tables(int(facts['tables']))} of {dossier.settings.fully_synthetic_records:,} new people"
        yield "Replaced", f"All of {column} is drawn: {number}, no record of which is anybody's."
    elif dossier.is_ours:
        records, replaced = int(facts["records"]), count_replaced(dossier)
        text = f"The values of {column} are new in {replaced:,} of {records:,} records"
        missing = "" if replaced == records else f"; the other {records - replaced:,} have none, and stay without"
        yield "Replaced", f"{text}{missing}."
    if facts["order"] and facts["shuffled"]:
        text = (
            f"The order of the file tells of {join_names(facts['order'])}: the records are published in another order."
        )
        yield "Order", text


def _tell_risk(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    before, after = _before(dossier, "risk_mean"), mean_risk(dossier.evaluation, release)
    if before is not None and after is not None:
        words = "falls" if after.value < before.value else "does not fall: it goes"
        text = f"The expected risk of a record {words} from {teller.share(before.value)}, were the confidential table"
        yield "Risk", f"{text} published as it is, to {teller.sentence('share', after)}."
    pooled = find_figure(risk, release, "combined_mean")
    if pooled is not None:
        told = teller.sentence("share", pooled)
        yield "All tables together", f"To an intruder who pools all tables the mean risk is {told}."
    isolated = (find_figure(risk, name, "isolated_mean") for name in (CONFIDENTIAL, release))
    before, after = isolated
    if before is not None and after is not None:
        told = f"from {teller.share(before.value)} to {teller.sentence('share', after)}"
        yield "Who stands out", f"For the most isolated 1% of the records the expected risk goes {told}."
    several = len(dossier.settings.synthesize) > 1
    for row in list_figures(risk, release, "attribution_correct"):
        without = find_figure(risk, release, "attribution_leave_one_out", row["column"])
        if without is not None:
            of = name_column(dossier.evaluation, row["column"])
            whose = f"{of} in a person's record" if several else " of a person's record"
            text = (
                f"Whoever takes the released value{whose} for the true one is close in "
                f"{teller.percentage(row['value'])} of the cases; without that record, from the others like it, in "
                f"{teller.percentage(without.value)}."
            )
            yield "Guessing the value", text


def _tell_gaps(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    for column, distance, fresh in list_gaps(dossier.evaluation, dossier.scheme):
        gap, other = teller.figure("number", distance, "up").text, teller.figure("number", fresh).text
        of = name_column(dossier.evaluation, column)
        text = f"The largest gap of the distributions{of} (U_m) is {gap}; a fresh sample of the same people: {other}."
        yield "Distribution", text


def _tell_rises(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    null, moles = (find_figure(risk, release, name) for name in ("increases_by_chance", "moles"))
    for row in list_figures(risk, release, "increases") if null is not None else ():
        chance = teller.figure("expectation", null)
        interval = f" ({chance.interval})" if chance.interval else ""
        text = (
            f"Against no weights, the risk of {teller.count(row['value'])} records rises by more than {row['at']:g}; "
            f"by chance alone it would be {chance.text}{interval}."
        )
        yield "Rises", text
    if moles is not None:
        yield "Moles", f"Records whose expected risk rises because of the weights: {teller.count(moles.value)}."


def _tell_overlaps(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    overlaps = list_overlaps(dossier.evaluation, dossier.scheme)
    if not overlaps:
        return
    if teller.edition == "public":
        enough = len(overlaps) - len(_list_low(dossier))
        text = f"Of {len(overlaps)} estimates the intervals of {enough} overlap those of the confidential table by"
        yield "Utility", f"{text} {LOW_OVERLAP} or more."
        return
    lowest = min(overlaps, key=lambda name: overlaps[name])
    biases = list_figures(dossier.evaluation.utility, dossier.scheme, "relative_bias")
    told = [teller.figure("percent", as_figure(row)).text for row in biases if row["of"] == lowest]
    also = f" (relative bias {told[0]})" if told else ""
    text = (
        f"Of {len(overlaps)} estimates the intervals overlap those of the confidential table by "
        f"{np.mean(list(overlaps.values())):.2f} on average, and least, {overlaps[lowest]:.2f}, for the "
        f"{cut_measure(lowest)}{also}."
    )
    yield "Utility", text


def _remark_search(dossier: Dossier, teller: Teller) -> Iterator[Remark]:
    searched = dossier.search
    if searched is None:
        return
    if not searched.fit_to_publish:
        why = "no scheme was found that keeps the targets"
        if searched.met:
            why = "the fit of the scheme that was found has not converged"
        text = "Nothing was released: all figures are of tables that were drawn for this report only."
        yield Remark(text, "found", "stop", why)
    if searched.redrawn:
        text = f"Records drawn anew because by bad luck they broke a target: {teller.count(searched.redrawn)}"
        often = f"{searched.probability:.0%} of independent releases would break one"
        yield Remark(f"{text}. Without that, {often}.", "found")


def _remark_columns(dossier: Dossier, teller: Teller) -> Iterator[Remark]:
    facts, settings = dossier.facts, dossier.settings
    named = [name for name in settings.accept_identifying if name in settings.keep]
    if named:
        text = f"Published as collected although they may name people, knowingly: {join_names(named)}."
        yield Remark(text, "columns", "decide", f"{join_names(named)} may name people and would be published")
    follow = [name for name in settings.accept_derivable if name in (*settings.synthesize, *settings.derived)]
    # To a reader of the public edition it would be a hint where to look.
    if follow and teller.edition == "internal":
        why = f"true values of {join_names(follow)} may follow from variables that are released unchanged"
        text = f"{why[0].upper()}{why[1:]}, which the settings accept (accept_derivable)."
        yield Remark(text, "columns", "decide", f"{why}, which the settings accept")
    if facts["order"] and not facts["shuffled"]:
        text = f"The order of the records tells of {join_names(facts['order'])}, and they are published in that order."
        why = f"the order of the published records tells of {join_names(facts['order'])}"
        yield Remark(f"{text} Let them be shuffled.", "columns", "decide", why)
    sensitive = [f"{row['column']}" for row in facts["columns"] if row["fate"] == "keep" and row.get("sensitive")]
    for told in facts.get("together", []) if teller.edition == "internal" else []:
        clause = f"records belong together, and risk is per record, not per person or household: {told}"
        yield Remark(f"{clause[0].upper()}{clause[1:]}.", "columns", "decide", clause)
    if sensitive:
        yield Remark(f"Published as collected although they look sensitive: {join_names(sensitive)}.", "columns")
    for column, outside in _count_outside(dossier):
        text = f"Records whose {cut_name(column)} lies outside the limits of what may be released"
        yield Remark(f"{text}: {teller.count(outside)}. Such a value is never released.", "columns")


def _count_outside(dossier: Dossier) -> Iterator[tuple[str, int]]:
    """How many confidential values of every replaced column lie outside its limits; nothing of it is public."""
    for place, column in enumerate(dossier.settings.synthesize):
        # Of the first column the values are called just that.
        held = "value" if place == 0 else f"value_{place + 1}"
        if held not in dossier.weights:
            continue
        values = pd.to_numeric(dossier.weights[held], errors="coerce")
        low, high = (dossier.settings.of_column(end, column) for end in ("lower", "upper"))
        outside = int((values < low).sum() if low is not None else 0) + int(
            (values > high).sum() if high is not None else 0
        )
        if outside:
            yield column, outside


def _remark_model(dossier: Dossier) -> Iterator[Remark]:
    for fit in dossier.fits.to_dict("records"):
        if not fit["converged"]:
            what = "the release" if fit["scheme"] == dossier.scheme else "a comparison"
            name = cut_name(f"{fit['scheme']}")
            text = f"The fit of {name}, {what}, has not converged: its figures are not to be relied on."
            stops = fit["scheme"] == dossier.scheme
            why = "the fit of the release has not converged" if stops else ""
            yield Remark(text, "diagnostics", "stop" if stops else "note", why)
    outside = dossier.facts.get("outside", 0.0)
    if outside and outside > OUTSIDE:
        text = f"{outside:.1%} of what the model predicts lies outside the declared support, and was cut off."
        yield Remark(text, "diagnostics", "decide", f"{outside:.1%} of the predictions lie outside what can be")
