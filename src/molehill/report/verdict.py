"""The verdict of a report: the numbers in sentences, and what a review board should look at."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.evaluation.evaluation import CONFIDENTIAL
from molehill.report.dossier import Dossier
from molehill.report.numbers import (
    Teller,
    as_figure,
    cut_measure,
    cut_name,
    find_figure,
    join_names,
    list_figures,
    tell_by_column,
)
from molehill.report.public import count_replaced
from molehill.tables.intervals import Figure

# Where a remark is made; docs/review-boards.md says why.
RISK_STEP = 0.05
HIGH_RISK, ABOVE_HIGH = 0.8, "risk_above_80"
LOW_OVERLAP = 0.5
FAR = 2.0
TELLABLE = 3.0
OUTSIDE = 0.01


@dataclass(frozen=True)
class Card:
    """A key figure: what it is, before and after, and how to read it."""

    title: str
    value: str
    before: str
    note: str


@dataclass(frozen=True)
class Remark:
    """Something to look at, and the section where it is."""

    text: str
    section: str


def list_cards(dossier: Dossier, teller: Teller) -> list[Card]:
    """Key figures of the release beside those of the confidential table."""
    cards = []
    mean, above = _before_and_after(dossier, "risk_mean"), _before_and_after(dossier, "risk_above_50")
    of_all = f"of {teller.records:,} records"
    if mean:
        before, told = teller.figure("share", mean[0]).text, teller.figure("share", mean[1])
        note = f"95% interval {told.interval}" if told.interval else of_all
        cards.append(Card("mean risk of a record", told.text, before, note))
    if above:
        before, after = (teller.figure("count", figure).text for figure in above)
        cards.append(Card("records with risk above 0.5", after, before, of_all))
    overlaps = list_overlaps(dossier)
    if overlaps and teller.edition == "public":
        low = _list_low(dossier)
        value = f"{len(overlaps) - len(low)} of {len(overlaps)}"
        cards.append(
            Card(f"estimates whose intervals overlap by {LOW_OVERLAP} or more", value, "", "1 is the same interval")
        )
    elif overlaps:
        lowest = min(overlaps, key=lambda name: overlaps[name])
        note = f"mean of {len(overlaps)}; lowest {overlaps[lowest]:.2f}, {cut_measure(lowest)}"
        cards.append(Card("interval overlap of estimates", f"{np.mean(list(overlaps.values())):.2f}", "", note))
    for column, distance, fresh in _list_gaps(dossier):
        note = f"a fresh sample of the same people: {teller.figure('number', fresh).text}"
        title = f"largest gap of the distributions{_of(dossier, column)}, U_m"
        cards.append(Card(title, teller.figure("number", distance, "up").text, "", note))
    return cards


def tell_verdict(dossier: Dossier, teller: Teller) -> list[tuple[str, str]]:
    """Say in a few sentences, each with its topic, what the release gives away and what it keeps."""
    sentences = [
        *_tell_columns(dossier),
        *_tell_risk(dossier, teller),
        *_tell_rises(dossier, teller),
        *_tell_overlaps(dossier, teller),
    ]
    risk = dossier.evaluation.risk
    others = [name for name in dossier.evaluation.schemes if name != dossier.scheme]
    beside = {name: find_figure(risk, name, "risk_mean") for name in others}
    told = [
        f"{teller.share(figure.value)} under {cut_name(name)}" for name, figure in beside.items() if figure is not None
    ]
    return (
        [*sentences, ("Other schemes", f"For comparison, the mean risk is {', '.join(told)}.")] if told else sentences
    )


def list_remarks(dossier: Dossier, teller: Teller) -> list[Remark]:
    """Find what a board should look at before it signs, the gravest first."""
    remarks = [
        *_remark_search(dossier, teller),
        *_remark_columns(dossier, teller),
        *_remark_model(dossier),
        *_remark_risk(dossier, teller),
        *_remark_utility(dossier, teller),
    ]
    touched = dossier.policies.get("alone in the pattern", 0)
    if touched:
        text = f"Records alone in their pattern: {teller.count(touched)}. See which policy treats them."
        remarks.append(Remark(text, "policies"))
    if int(dossier.facts["tables"]) == 1:
        remarks.append(Remark("One table alone: no figure has an interval over tables.", "done"))
    return remarks


def list_overlaps(dossier: Dossier) -> dict[str, float]:
    """Interval overlap of the release's estimates by analysis, without those within groups."""
    rows = list_figures(dossier.evaluation.utility, dossier.scheme, "overlap")
    return {row["of"]: float(row["value"]) for row in rows}


def _list_low(dossier: Dossier) -> list[str]:
    return [name for name, value in list_overlaps(dossier).items() if value < LOW_OVERLAP]


def _before_and_after(dossier: Dossier, measure: str) -> tuple[Figure | None, Figure] | None:
    """A measure of risk of the confidential table and of the release; None if it was not measured."""
    before, after = (find_figure(dossier.evaluation.risk, name, measure) for name in (CONFIDENTIAL, dossier.scheme))
    return None if after is None else (before, after)


def _list_gaps(dossier: Dossier) -> list[tuple[str, Figure, Figure]]:
    """For every numeric column that is replaced, U_m and what a fresh sample would show."""
    utility, release = dossier.evaluation.utility, dossier.scheme
    found = [(row["column"], as_figure(row)) for row in list_figures(utility, release, "U_m")]
    beside = [(*gap, find_figure(utility, release, "U_m_fresh", gap[0])) for gap in found]
    return [(column, gap, fresh) for column, gap, fresh in beside if fresh is not None]


def _of(dossier: Dossier, column: str) -> str:
    """Name a column where several are replaced."""
    return f" of {cut_name(column)}" if len(dossier.settings.replace) > 1 else ""


def _tell_columns(dossier: Dossier) -> Iterator[tuple[str, str]]:
    """Say how many values are new, and in which order the records stand."""
    facts, column = dossier.facts, join_names(dossier.settings.replace)
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
    mean, above = _before_and_after(dossier, "risk_mean"), _before_and_after(dossier, "risk_above_50")
    if mean and mean[0] is not None:
        words = "falls" if mean[1].value < mean[0].value else "does not fall: it goes"
        text = (
            f"The mean identification risk of a record {words} from {teller.share(mean[0].value)} in the confidential "
            "table to "
        )
        text += f"{teller.sentence('share', mean[1])} in the release"
        if above and above[0] is not None:
            before, after = (teller.figure("count", figure).text for figure in above)
            text += f"; records with a risk above 0.5: {before} before, {after} after, of {teller.records:,}"
        yield "Risk", f"{text}."
    pooled = find_figure(risk, release, "pooled_mean")
    if pooled is not None:
        told = teller.sentence("share", pooled)
        yield "All tables together", f"To an intruder who pools all tables the mean risk is {told}."
    several = len(dossier.settings.replace) > 1
    for row in list_figures(risk, release, "guess_right"):
        without = find_figure(risk, release, "guess_right_without", row["column"])
        if without is not None:
            whose = f"{_of(dossier, row['column'])} in a person's record" if several else " of a person's record"
            text = (
                f"Whoever takes the released value{whose} for the true one is close in "
                f"{teller.percentage(row['value'])} of the cases; without that record, from the others like it, in "
                f"{teller.percentage(without.value)}."
            )
            yield "Guessing the value", text


def _tell_rises(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    null, moles = (find_figure(risk, release, name) for name in ("rises_by_chance", "moles"))
    for row in list_figures(risk, release, "rises") if null is not None else ():
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
    overlaps = list_overlaps(dossier)
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
        if dossier.settings.targets:
            told = "; ".join(map(cut_measure, dossier.settings.targets))
            text = f"The settings name targets ({told}). This release was made without a search for them"
            yield Remark(f"{text}, and nothing here says that it keeps them.", "repeat")
        return
    if not searched.fit_to_publish:
        yield Remark("Nothing was released: all figures are of tables that were drawn for this report only.", "found")
    if searched.redrawn:
        text = f"Records drawn anew because by bad luck they broke a target: {teller.count(searched.redrawn)}"
        often = f"{searched.probability:.0%} of independent releases would break one"
        yield Remark(f"{text}. Without that, {often}.", "found")


def _remark_columns(dossier: Dossier, teller: Teller) -> Iterator[Remark]:
    facts, settings = dossier.facts, dossier.settings
    named = [name for name in settings.accept if name in settings.keep]
    if named:
        yield Remark(
            f"Published as collected although they may name people, knowingly: {join_names(named)}.", "columns"
        )
    if facts["order"] and not facts["shuffled"]:
        text = f"The order of the records tells of {join_names(facts['order'])}, and they are published in that order."
        yield Remark(f"{text} Let them be shuffled.", "columns")
    sensitive = [f"{row['column']}" for row in facts["columns"] if row["fate"] == "keep" and row.get("sensitive")]
    if sensitive:
        yield Remark(f"Published as collected although they look sensitive: {join_names(sensitive)}.", "columns")
    outside = _count_outside(dossier)
    if outside:
        text = f"Records whose {join_names(settings.replace[:1])} lies outside the limits of what may be released"
        yield Remark(f"{text}: {teller.count(outside)}. Such a value is never released.", "columns")


def _count_outside(dossier: Dossier) -> int:
    """How many confidential values of the first replaced column lie outside its limits; nothing of it is public."""
    values = pd.to_numeric(dossier.weights["value"], errors="coerce")
    low, high = (dossier.settings.of_column(end, dossier.settings.replace[0]) for end in ("lower", "upper"))
    outside = [values < low] if low is not None else []
    outside += [values > high] if high is not None else []
    return int(sum(part.sum() for part in outside))


def _remark_model(dossier: Dossier) -> Iterator[Remark]:
    for fit in dossier.fits.to_dict("records"):
        if not fit["converged"]:
            what = "the release" if fit["scheme"] == dossier.scheme else "a comparison"
            name = cut_name(f"{fit['scheme']}")
            text = f"The fit of {name}, {what}, has not converged: its figures are not to be relied on."
            yield Remark(text, "diagnostics")
    outside = dossier.facts.get("outside", 0.0)
    if outside and outside > OUTSIDE:
        text = f"{outside:.1%} of what the model predicts lies outside the declared support, and was cut off."
        yield Remark(text, "diagnostics")


def _remark_risk(dossier: Dossier, teller: Teller) -> Iterator[Remark]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    names = ("risk_mean", "pooled_mean", ABOVE_HIGH, "rises", "rises_by_chance", "moles")
    mean, pooled, high, rises, null, moles = (find_figure(risk, release, name) for name in names)
    if mean is not None and pooled is not None and pooled.value > mean.value + RISK_STEP:
        text = (
            f"Pooling the tables raises the mean risk from {teller.share(mean.value)} to {teller.share(pooled.value)}."
        )
        yield Remark(f"{text} Fewer tables would give away less.", "risk")
    if high is not None and high.value > 0:
        yield Remark(f"Records with a risk above {HIGH_RISK} in the release: {teller.count(high.value)}.", "risk")
    if rises is not None and null is not None and rises.value > null.high:
        yield Remark("More records rise in risk under the weights than chance alone would show.", "risk")
    if moles is not None and moles.value > 0:
        yield Remark(f"Moles, records at more risk because of the weights: {teller.count(moles.value)}.", "risk")
    for row in list_figures(risk, release, "guess_right_gain"):
        if row["value"] > RISK_STEP:
            text = f"A person's own record makes guesses of the value{_of(dossier, row['column'])} right in"
            yield Remark(f"{text} {teller.percentage(row['value'])} more of the cases.", "risk")
    others = list_figures(risk, release, "radius_mean")
    worst: Any = max(others, key=lambda row: row["value"], default=None)
    if mean is not None and worst is not None and worst["value"] > mean.value + RISK_STEP:
        radius = cut_name(worst["of"]) if np.isnan(worst["at"]) else tell_by_column(worst["at"])
        text = f"To an intruder with the radius {radius} the mean risk is {worst['value']:.3f}, above {mean.value:.3f}."
        yield Remark(text, "radius")


def _remark_utility(dossier: Dossier, teller: Teller) -> Iterator[Remark]:
    utility, release = dossier.evaluation.utility, dossier.scheme
    low = _list_low(dossier)
    if low:
        text = f"Estimates whose intervals overlap by less than {LOW_OVERLAP}: {join_names(low)}."
        yield Remark(f"{text} Users should not rely on them.", "utility")
    for column, distance, fresh in _list_gaps(dossier):
        if distance.value > FAR * fresh.value:
            text = f"The distribution{_of(dossier, column)} differs from the confidential one by"
            upto = "up to " if teller.edition == "public" else ""
            often = f"{upto}{distance.value / fresh.value:.1f} times what a fresh sample would show (U_m)"
            yield Remark(f"{text} {often}.", "utility")
    for row in list_figures(utility, release, "pmse_ratio"):
        if row["value"] > TELLABLE:
            told = f"{row['name']} {teller.figure('number', as_figure(row), 'ratio').text}"
            yield Remark(f"A classifier tells released records from confidential ones: {told}.", "utility")
    better = [name for name in dossier.evaluation.schemes if name != release and _beats(dossier, name)]
    if better:
        text = "Clearly better than the release in mean risk or in utility (U_m), and in the other not clearly worse: "
        yield Remark(f"{text}{join_names(better)}.", "map")


def _beats(dossier: Dossier, name: str) -> bool:
    """Whether another scheme is clearly better in risk or in U_m, and in the other not clearly worse."""
    risk, utility = dossier.evaluation.risk, dossier.evaluation.utility
    gaps = [(utility, "U_m", row["column"]) for row in list_figures(utility, dossier.scheme, "U_m")]
    clearly, hardly = [], []
    for where in [(risk, "risk_mean", None), *gaps]:
        other, own = (find_figure(where[0], scheme, *where[1:]) for scheme in (name, dossier.scheme))
        if other is None or own is None:
            return False
        clearly.append(_end(other, other.high) < _end(own, own.low))
        hardly.append(_end(other, other.low) <= _end(own, own.high))
    return bool(gaps) and any(clearly) and all(hardly)


def _end(figure: Figure, end: float) -> float:
    return figure.value if np.isnan(end) else end
