"""The part of an internal report on the search that a release comes from."""

import math
from dataclasses import dataclass
from typing import Any

from molehill.dossier import Dossier, Searched, tell_cost, tell_runners_up
from molehill.report.numbers import Told, cut_measure, cut_name
from molehill.report.tables import Heading, Row, TableView

_PATTERNS = 20


@dataclass(frozen=True)
class SearchView:
    """What a search found, as it is shown: the answer, the next best and the cost in words, and tables."""

    title: str
    withheld: str
    answer: tuple[str, ...]
    runners_up: tuple[str, ...]
    cost: str
    command: str
    points: TableView
    standing: tuple[TableView, ...]


def view_search(dossier: Dossier) -> SearchView | None:
    """Put what a search found into words and tables; None if there was none."""
    searched = dossier.search
    if searched is None:
        return None
    return SearchView(
        "How this release was found" if searched.fit_to_publish else "What the search found",
        _why_withheld(searched),
        tuple(searched.verdict.splitlines()),
        tuple(tell_runners_up(searched)),
        tell_cost(searched),
        searched.command,
        _list_points(searched),
        _list_standing(searched),
    )


def _why_withheld(searched: Searched) -> str:
    if searched.fit_to_publish:
        return ""
    if searched.met:
        return "The chosen scheme keeps the targets, but its fit has not converged: it must run longer."
    return "No scheme was found that keeps the targets."


def _list_points(searched: Searched) -> TableView:
    """Every point, with what it measures and how it stands to each target."""
    first = ("targets kept", "mean expected risk", "99% of expected risk", "largest realised risk", "U_m")
    headings = [Heading(text) for text in first]
    headings += [Heading(cut_name(target)) for target in searched.targets]
    headings.append(Heading("fit"))
    chosen = "chosen" if searched.met else "closest"
    rows = []
    for place, row in enumerate(searched.points.to_dict("records")):
        marked = place == searched.place
        fit = f"{row['fit'] + 1}" if row["converged"] else f"{row['fit'] + 1}, NOT converged"
        cells = [
            Told("yes" if row["met"] else "no"),
            _with_interval(row, "mean_expected_risk", 3),
            Told(f"{row['q99_expected_risk']:.3f}"),
            Told(f"{row['largest_realised_risk']:.3f}"),
            _with_interval(row, "U_m", 4),
            *(_tell_target(row, target) for target in searched.targets),
            Told(fit, f"{'warm' if row['warm'] else 'cold'}, {row['fit_seconds']:.1f} s"),
        ]
        name = f"{row['point'] + 1}: {row['scheme']}" + (f" ({chosen})" if marked else "")
        rows.append(Row(cut_measure(name), tuple(cells), marked))
    note = (
        "Small: 95% intervals; for a target on the expected risk or U_m its standard error, for one on the realised "
        "risk the chance that fresh tables break it."
    )
    if searched.may_redraw:
        note += (
            " A maximum of the realised risk is kept as well if few records pass it by bad luck: these are drawn anew."
        )
    return TableView("Every point that was tried", "point", tuple(headings), tuple(rows), note)


def _with_interval(row: dict[Any, Any], name: str, digits: int) -> Told:
    value, reach = row[name], 1.96 * row[f"{name}_error"]
    return Told(f"{value:.{digits}f}", f"{value - reach:.{digits}f} to {value + reach:.{digits}f}")


def _tell_target(row: dict[Any, Any], target: str) -> Told:
    value, error = row[f"{target}: value"], row[f"{target}: error"]
    chance = row.get(f"{target}: chance of breaking", math.nan)
    digits = {"moles": 0, "U_m": 4}.get(target.partition(" ")[0], 3)
    text = f"{value:.{digits}f}"
    small = "" if math.isnan(error) else f"± {error:.4f}"
    small = small if math.isnan(chance) else f"chance {chance:.0%}"
    return Told(text if row[f"{target}: met"] else f"{text}, missed", small)


def _list_standing(searched: Searched) -> tuple[TableView, ...]:
    """Who stands in the way: patterns and ranges of values, never a value."""
    way = searched.standing_in_the_way
    if not len(way):
        return ()
    rows = [
        Row(cut_measure(f"{row['pattern']}"), (Told(f"{row['range']}"), Told(f"{row['records']:,}")))
        for row in way.head(_PATTERNS).to_dict("records")
    ]
    left = len(way) - len(rows)
    note = "Values as ranges between round numbers." + (f" {left:,} further rows are not shown." if left else "")
    headings = (Heading("range of the value"), Heading("records"))
    return (TableView("Records that stand in the way", "known values", headings, tuple(rows), note),)
