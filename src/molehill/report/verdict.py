"""The verdict of a report: the numbers in sentences, and what a review board should look at."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from molehill.dossier import Dossier
from molehill.evaluation.evaluation import CONFIDENTIAL
from molehill.report.numbers import Teller, as_figure, cut_measure, cut_name, find_figure, join_names, list_estimates
from molehill.report.public import ESTIMATES
from molehill.tables.intervals import Figure

# Where a point is raised; docs/review-boards.md says why.
RISK_STEP = 0.05
HIGH_RISK = 0.8
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
class Point:
    """Something to look at, and the section where it is."""

    text: str
    section: str


def list_cards(dossier: Dossier, teller: Teller) -> list[Card]:
    """Key figures of the release beside those of the confidential table."""
    risk, utility = dossier.evaluation.risk, dossier.evaluation.utility
    cards = []
    for measure, title in (("mean risk", "mean risk of a record"), ("records with risk above 0.5",) * 2):
        before, after = (find_figure(risk, name, measure) for name in (CONFIDENTIAL, dossier.scheme))
        if after is not None:
            told = teller.figure(measure, after)
            note = f"95% interval {told.interval}" if told.interval else f"of {teller.records:,} records"
            if measure.startswith("records"):
                note = f"of {teller.records:,} records"
            cards.append(Card(title, told.text, teller.figure(measure, before).text, note))
    overlaps = overlaps_of(dossier, dossier.scheme)
    if overlaps:
        lowest = min(overlaps, key=lambda name: overlaps[name])
        note = f"mean of {len(overlaps)}; lowest {overlaps[lowest]:.2f}, {cut_measure(lowest)}"
        cards.append(Card("interval overlap of estimates", f"{np.mean(list(overlaps.values())):.2f}", "", note))
    distance, fresh = (find_figure(utility, dossier.scheme, name) for name in ("U_m", "U_m of a fresh sample"))
    if distance is not None and fresh is not None:
        told = teller.figure("U_m", distance).text
        note = f"a fresh sample of the same people: {teller.figure('U_m', fresh).text}"
        cards.append(Card("largest gap of the distributions, U_m", told, "", note))
    return cards


def tell_verdict(dossier: Dossier, teller: Teller) -> list[tuple[str, str]]:
    """Say in a few sentences, each with its topic, what the release gives away and what it keeps."""
    risk = dossier.evaluation.risk
    release = dossier.scheme
    own, before = (find_figure(risk, name, "mean risk") for name in (release, CONFIDENTIAL))
    sentences = []
    if own is not None and before is not None:
        words = "falls" if own.value < before.value else "does not fall: it goes"
        text = (
            f"The mean identification risk of a record {words} from {before.value:.3f} in the confidential table to "
            f"{_tell(teller, 'mean risk', own)} in the release" + _above(dossier, teller) + "."
        )
        sentences.append(("Risk", text))
    sentences += list(_tell_attacks(dossier, teller))
    sentences += list(_tell_rises(dossier, teller))
    overlaps = overlaps_of(dossier, release)
    if overlaps:
        lowest = min(overlaps, key=lambda name: overlaps[name])
        bias = find_figure(dossier.evaluation.utility, release, f"{ESTIMATES[2]}{lowest}")
        also = f" (relative bias {teller.figure(ESTIMATES[2], bias).text})" if bias is not None else ""
        text = (
            f"Of {len(overlaps)} estimates the intervals overlap those of the confidential table by "
            f"{np.mean(list(overlaps.values())):.2f} on average, and least, {overlaps[lowest]:.2f}, for the "
            f"{cut_measure(lowest)}{also}."
        )
        sentences.append(("Utility", text))
    others = [name for name in dossier.evaluation.schemes if name != release]
    beside = {name: find_figure(risk, name, "mean risk") for name in others}
    told = [f"{figure.value:.3f} under {cut_name(name)}" for name, figure in beside.items() if figure is not None]
    if told:
        sentences.append(("Other schemes", f"For comparison, the mean risk is {', '.join(told)}."))
    return sentences


def list_points(dossier: Dossier, teller: Teller) -> list[Point]:
    """Find what a board should look at before it signs, the gravest first."""
    points = [
        *_search_points(dossier, teller),
        *_model_points(dossier),
        *_risk_points(dossier, teller),
        *_utility_points(dossier, teller),
    ]
    touched = dossier.policies.get("alone in the pattern", 0)
    if touched:
        text = f"Records alone in their pattern: {teller.count(touched)}. See which policy treats them."
        points.append(Point(text, "policies"))
    if int(dossier.facts["tables"]) == 1:
        points.append(Point("One table alone: no figure has an interval over tables.", "done"))
    return points


def overlaps_of(dossier: Dossier, scheme: str) -> dict[str, float]:
    """Interval overlap of a scheme's estimates, without those within groups."""
    utility = dossier.evaluation.utility
    found = {
        name: find_figure(utility, scheme, f"{ESTIMATES[0]}{name}")
        for name in list_estimates(utility)
        if ", within " not in name
    }
    return {name: figure.value for name, figure in found.items() if figure is not None}


def _tell(teller: Teller, measure: str, figure: Figure) -> str:
    told = teller.figure(measure, figure)
    return f"{told.text} (95% interval {told.interval})" if told.interval else told.text


def _above(dossier: Dossier, teller: Teller) -> str:
    measure = "records with risk above 0.5"
    before, after = (find_figure(dossier.evaluation.risk, name, measure) for name in (CONFIDENTIAL, dossier.scheme))
    if before is None or after is None:
        return ""
    told = [teller.figure(measure, figure).text for figure in (before, after)]
    return f"; records with a risk above 0.5: {told[0]} before, {told[1]} after, of {teller.records:,}"


def _tell_attacks(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    pooled = find_figure(risk, release, "mean risk, tables pooled")
    if pooled is not None:
        text = (
            f"To an intruder who pools all tables the mean risk is {_tell(teller, 'mean risk, tables pooled', pooled)}."
        )
        yield "All tables together", text
    for measure in ("guesses within the radius", "right guesses"):
        own, without = (find_figure(risk, release, f"{measure}{end}") for end in ("", ", without the record"))
        if own is not None and without is not None:
            text = (
                f"Whoever takes the released value of a person's record for the true one is close in {own.value:.1%} "
                f"of the cases; without that record, from the others like it, in {without.value:.1%}."
            )
            yield "Guessing the value", text


def _tell_rises(dossier: Dossier, teller: Teller) -> Iterator[tuple[str, str]]:
    rises, null, moles = _rises(dossier)
    if rises is not None and null is not None:
        number = teller.count(rises[1].value)
        chance = teller.figure(null[0], null[1])
        interval = f" ({chance.interval})" if chance.interval else ""
        text = (
            f"Against no weights, the risk of {number} records rises by more than {rises[0].rsplit(' ', 1)[1]}; by "
            f"chance alone it would be {chance.text}{interval}."
        )
        yield "Rises", text
    if moles is not None:
        yield "Moles", f"Records whose expected risk rises because of the weights: {teller.count(moles[1].value)}."


def _rises(dossier: Dossier) -> tuple[tuple[str, Figure] | None, ...]:
    """The measure and figure of the release's rises, of what chance would show, and of its moles."""
    rows = dossier.evaluation.risk
    own = rows[(rows["scheme"] == dossier.scheme) & rows["value"].notna()]
    kinds: list[tuple[str, Figure] | None] = [None, None, None]
    for row in own.to_dict("records"):
        measure = f"{row['measure']}"
        if measure.startswith(("records whose risk rises", "moles")):
            place = 2 if measure.startswith("moles") else int(measure.endswith("by chance alone"))
            kinds[place] = (measure, as_figure(row))
    return tuple(kinds)


def _search_points(dossier: Dossier, teller: Teller) -> Iterator[Point]:
    searched = dossier.search
    if searched is None:
        if dossier.settings.targets:
            told = "; ".join(map(cut_measure, dossier.settings.targets))
            text = f"The settings name targets ({told}). This release was made without a search for them"
            yield Point(f"{text}, and nothing here says that it keeps them.", "repeat")
        return
    if not searched.fit_to_publish:
        yield Point("Nothing was released: all figures are of tables that were drawn for this report only.", "found")
    if searched.redrawn:
        text = f"Records drawn anew because by bad luck they broke a target: {teller.count(searched.redrawn)}"
        often = f"{searched.probability:.0%} of independent releases would break one"
        yield Point(f"{text}. Without that, {often}.", "found")


def _model_points(dossier: Dossier) -> Iterator[Point]:
    for fit in dossier.fits.to_dict("records"):
        if not fit["converged"]:
            what = "the release" if fit["scheme"] == dossier.scheme else "a comparison"
            name = cut_name(f"{fit['scheme']}")
            yield Point(
                f"The fit of {name}, {what}, has not converged: its figures are not to be relied on.", "diagnostics"
            )
    outside = dossier.facts.get("outside", 0.0)
    if outside and outside > OUTSIDE:
        text = f"{outside:.1%} of what the model predicts lies outside the declared support, and was cut off."
        yield Point(text, "diagnostics")


def _risk_points(dossier: Dossier, teller: Teller) -> Iterator[Point]:
    risk, release = dossier.evaluation.risk, dossier.scheme
    mean = find_figure(risk, release, "mean risk")
    pooled = find_figure(risk, release, "mean risk, tables pooled")
    if mean is not None and pooled is not None and pooled.value > mean.value + RISK_STEP:
        text = f"Pooling the tables raises the mean risk from {mean.value:.3f} to {pooled.value:.3f}."
        yield Point(f"{text} Fewer tables would give away less.", "risk")
    high = find_figure(risk, release, f"records with risk above {HIGH_RISK}")
    if high is not None and high.value > 0:
        yield Point(f"Records with a risk above {HIGH_RISK} in the release: {teller.count(high.value)}.", "risk")
    rises, null, moles = _rises(dossier)
    if rises is not None and null is not None and rises[1].value > null[1].high:
        yield Point("More records rise in risk under the weights than chance alone would show.", "risk")
    if moles is not None and moles[1].value > 0:
        yield Point(f"Moles, records at more risk because of the weights: {teller.count(moles[1].value)}.", "risk")
    for measure in ("guesses within the radius", "right guesses"):
        gain = find_figure(risk, release, f"{measure}, gain over without the record")
        if gain is not None and gain.value > RISK_STEP:
            text = f"A person's own record makes guesses of the value right in {gain.value:.1%} more of the cases."
            yield Point(text, "risk")
    if teller.edition == "internal" and mean is not None:
        yield from _radius_points(dossier, mean)


def _radius_points(dossier: Dossier, mean: Figure) -> Iterator[Point]:
    start = "mean risk, intruder radius "
    rows = dossier.evaluation.risk
    own = rows[(rows["scheme"] == dossier.scheme) & rows["measure"].str.startswith(start)]
    if len(own) and own["value"].max() > mean.value + RISK_STEP:
        worst = own.sort_values("value").to_dict("records")[-1]
        radius = cut_name(f"{worst['measure']}".removeprefix(start))
        text = f"To an intruder with the radius {radius} the mean risk is {worst['value']:.3f}, above {mean.value:.3f}."
        yield Point(text, "radius")


def _utility_points(dossier: Dossier, teller: Teller) -> Iterator[Point]:
    utility, release = dossier.evaluation.utility, dossier.scheme
    low = {name: value for name, value in overlaps_of(dossier, release).items() if value < LOW_OVERLAP}
    if low:
        text = f"Estimates whose intervals overlap by less than {LOW_OVERLAP}: {join_names(low)}."
        yield Point(f"{text} Users should not rely on them.", "utility")
    distance, fresh = (find_figure(utility, release, name) for name in ("U_m", "U_m of a fresh sample"))
    if distance is not None and fresh is not None and distance.value > FAR * fresh.value:
        text = f"The distribution differs from the confidential one by {distance.value / fresh.value:.1f} times"
        yield Point(f"{text} what a fresh sample would show (U_m).", "utility")
    for measure in utility["measure"].unique():
        ratio = find_figure(utility, release, measure) if measure.startswith("pMSE ratio") else None
        if ratio is not None and ratio.value > TELLABLE:
            told = teller.figure(measure, ratio).text
            yield Point(f"A classifier tells released records from confidential ones: {measure} {told}.", "utility")
    better = [name for name in dossier.evaluation.schemes if name != release and _beats(dossier, name, release)]
    if better:
        text = "Clearly better than the release in mean risk or in utility (U_m), and in the other not clearly worse: "
        yield Point(f"{text}{join_names(better)}.", "map")


def _beats(dossier: Dossier, name: str, release: str) -> bool:
    """Whether another scheme is clearly better in risk or in U_m, and in the other not clearly worse."""
    frames = ((dossier.evaluation.risk, "mean risk"), (dossier.evaluation.utility, "U_m"))
    clearly, hardly = [], []
    for frame, measure in frames:
        other, own = find_figure(frame, name, measure), find_figure(frame, release, measure)
        if other is None or own is None:
            return False
        clearly.append(_end(other, other.high) < _end(own, own.low))
        hardly.append(_end(other, other.low) <= _end(own, own.high))
    return any(clearly) and all(hardly)


def _end(figure: Figure, end: float) -> float:
    return figure.value if np.isnan(end) else end
