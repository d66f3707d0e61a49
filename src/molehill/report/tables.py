"""Tables of a report: what was measured, one row a measure and one column a scheme, ready to be set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from molehill.charts.risk import evaluation_looks
from molehill.dossier import Dossier
from molehill.evaluation.evaluation import CONFIDENTIAL
from molehill.evaluation.risk_measures import MATCHES
from molehill.report.numbers import Teller, Told, as_figure, cut_measure, cut_name, list_estimates
from molehill.report.public import ESTIMATES, FEW

_PATTERNS = 10
_FUNCTIONALS = 5
_RADIUS = ", intruder radius "


@dataclass(frozen=True)
class Heading:
    """A column's heading, and the number of the scheme that it is about."""

    text: str
    scheme: int | None = None
    released: bool = False


@dataclass(frozen=True)
class Row:
    """A row's heading and its cells, and whether it stands out from the others."""

    text: str
    cells: tuple[Told, ...]
    marked: bool = False


@dataclass(frozen=True)
class TableView:
    """A table as it is shown."""

    caption: str
    first: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    note: str = ""


def list_risk_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Everything about risk but other radii, in blocks."""
    frame = dossier.evaluation.risk
    blocks: dict[str, list[str]] = {}
    for measure in frame["measure"].unique():
        title = _risk_block(measure)
        if title:
            blocks.setdefault(title, []).append(measure)
    order = {title: place for place, title in enumerate(_NOTES)}
    return [
        _by_scheme(dossier, frame, teller, title, "measure", {name: name for name in measures}, note=_NOTES[title])
        for title, measures in sorted(blocks.items(), key=lambda block: order[block[0]])
    ]


def list_group_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Mean risk by size of the sensitive value; inside the agency also of the patterns at most risk in the release."""
    groups = dossier.evaluation.groups
    means = groups[groups["measure"] == "mean risk"]
    tables = []
    for by, rows in means.groupby("by", sort=False):
        if by == "pattern":
            released = rows[rows["scheme"] == dossier.scheme].sort_values("value", ascending=False, kind="stable")
            chosen = released["group"].head(_PATTERNS).tolist()
            title = f"Mean risk in the {len(chosen)} patterns with most risk in the release"
        else:
            chosen = rows["group"].unique().tolist()
            title = f"Mean risk by {cut_measure(f'{by}')}"
        sizes = rows.drop_duplicates("group").set_index("group")["records"]
        public = teller.edition == "public"
        note = f"Ranges with fewer than {FEW} records are left out." if public else ""
        extra = None if public else ("records", [teller.count(float(sizes[group])) for group in chosen])
        renamed = rows.assign(measure=rows["group"])
        named = {group: f"{group}" for group in chosen}
        first = "known values" if by == "pattern" else "range"
        tables.append(_by_scheme(dossier, renamed, teller, title, first, named, note=note, extra=extra, kind="risk"))
    return [table for table in tables if table.rows]


def list_top_tables(dossier: Dossier) -> list[TableView]:
    """The riskiest and the largest records, in ranges."""
    tables = []
    top = dossier.evaluation.top
    schemes = [CONFIDENTIAL, *dossier.evaluation.schemes]
    for title, rows in top.groupby("list", sort=False):
        words = "The riskiest records of the confidential table"
        if title != "riskiest":
            words = f"The records with the largest {cut_name(f'{title}'.removeprefix('largest '))}"
        shown = []
        for rank, ranked in rows.groupby("rank", sort=True):
            risk = dict(zip(ranked["scheme"], ranked["risk"], strict=True))
            cells = [Told(f"{risk[name]:.3f}" if name in risk else "") for name in schemes]
            shown.append(Row(f"{rank}", (Told(f"{ranked['range'].iloc[0]}"), *cells)))
        headings = (Heading("range of the value"), *_scheme_headings(dossier, schemes))
        note = "Values as ranges between round numbers; risk in each scheme, mean over its tables."
        tables.append(TableView(words, "rank", headings, tuple(shown), note))
    return tables


def list_utility_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Estimates and how they compare, distances of the tables, and what a classifier can tell."""
    frame = dossier.evaluation.utility
    estimates = list_estimates(frame)
    tables = []
    titles = ("Estimates", "Interval overlap", "Width ratio of the intervals", "Relative bias")
    for start, title in zip(("", *ESTIMATES), titles, strict=True):
        named = {f"{start}{name}": name for name in estimates}
        tables.append(_by_scheme(dossier, frame, teller, title, "analysis", named, note=_ABOUT[title]))
    told = {f"{start}{name}" for start in ("", *ESTIMATES) for name in estimates}
    rest = [name for name in frame["measure"].unique() if name not in told]
    classified = {name: name for name in rest if name.startswith("pMSE")}
    distances = {name: name for name in rest if name not in classified}
    for title, named in (("Distances of the tables", distances), ("Told apart by a classifier", classified)):
        tables.append(_by_scheme(dossier, frame, teller, title, "measure", named, note=_ABOUT[title]))
    return [table for table in tables if table.rows]


def list_radius_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Mean risk and records above 0.5, by the radius that the intruder takes."""
    frame = dossier.evaluation.risk
    tables = []
    for measure, title in (("mean risk", "Mean risk"), ("records with risk above 0.5", "Records with risk above 0.5")):
        named = {
            name: name.removeprefix(f"{measure}{_RADIUS}")
            for name in frame["measure"].unique()
            if name.startswith(f"{measure}{_RADIUS}")
        }
        if not named:
            continue
        named = {measure: f"{dossier.settings.radius:g} (the agency's)", **named}
        named = dict(sorted(named.items(), key=lambda item: _leading_number(item[1])))
        caption = f"{title}, by the intruder's radius"
        tables.append(_by_scheme(dossier, frame, teller, caption, "radius", named, released_only=True))
    return tables


def list_fit_tables(dossier: Dossier) -> list[TableView]:
    """How the fits went, and the functionals that mix worst."""
    fits = dossier.fits
    columns: dict[str, tuple[str, Callable[[float], str]]] = {
        "effective_size": ("effective draws", lambda value: f"{value:,.0f}"),
        "largest_rhat": ("largest R-hat", lambda value: f"{value:.3f}"),
        "divergent": ("divergent", lambda value: f"{value:.2%}"),
        "sweeps": ("sweeps", lambda value: f"{value:,.0f}"),
        "seconds": ("seconds", lambda value: f"{value:,.0f}"),
    }
    columns = {name: about for name, about in columns.items() if name in fits}
    rows = [
        Row(
            cut_name(f"{fit['scheme']}"),
            (
                Told("yes" if fit["converged"] else "NO"),
                *(Told("" if np.isnan(fit[name]) else tell(float(fit[name]))) for name, (_, tell) in columns.items()),
            ),
        )
        for fit in fits.to_dict("records")
    ]
    headings = (Heading("converged"), *(Heading(title) for title, _ in columns.values()))
    tables = [TableView("Fits", "scheme", headings, tuple(rows))] if rows else []
    worst = []
    for scheme, table in dossier.diagnostics.groupby("scheme", sort=False) if len(dossier.diagnostics) else ():
        for row in table.sort_values("rhat", ascending=False, kind="stable").head(_FUNCTIONALS).itertuples():
            numbers = (f"{row.rhat:.3f}", f"{row.bulk:,.0f}", f"{row.tail:,.0f}")
            worst.append(Row(cut_measure(f"{row.functional}"), tuple(map(Told, (cut_name(f"{scheme}"), *numbers)))))
    if worst:
        headings = tuple(map(Heading, ("scheme", "R-hat", "bulk effective draws", "tail effective draws")))
        title = f"The {_FUNCTIONALS} functionals of every fit that mix worst"
        tables.append(TableView(title, "functional", headings, tuple(worst)))
    return tables


def list_counts(caption: str, first: str, second: str, counts: dict[str, str]) -> TableView:
    """A table of two columns."""
    rows = tuple(Row(name, (Told(count),)) for name, count in counts.items())
    return TableView(caption, first, (Heading(second),), rows)


def _by_scheme(
    dossier: Dossier,
    frame: pd.DataFrame,
    teller: Teller,
    caption: str,
    first: str,
    named: dict[str, str],
    *,
    note: str = "",
    extra: tuple[str, Sequence[str]] | None = None,
    kind: str | None = None,
    released_only: bool = False,
) -> TableView:
    """Set measures, each under the name that it is shown by, against the schemes that any of them is known of.

    `extra` is a column before the schemes; `kind` a measure by which all are told.
    """
    part = frame[frame["measure"].isin(named) & frame["value"].notna()]
    if released_only:
        part = part[part["scheme"] != CONFIDENTIAL]
    found = {(row["scheme"], row["measure"]): as_figure(row) for row in part[::-1].to_dict("records")}
    schemes = [name for name in (CONFIDENTIAL, *dossier.evaluation.schemes) if name in set(part["scheme"])]
    rows = []
    for place, (measure, title) in enumerate(named.items()):
        cells = [teller.figure(kind or measure, found.get((scheme, measure))) for scheme in schemes]
        if any(cell.text for cell in cells):
            before = [Told(extra[1][place])] if extra else []
            rows.append(Row(cut_measure(title), (*before, *cells)))
    before = [Heading(extra[0])] if extra else []
    return TableView(caption, first, (*before, *_scheme_headings(dossier, schemes)), tuple(rows), note)


def _scheme_headings(dossier: Dossier, schemes: Sequence[str]) -> list[Heading]:
    looks = evaluation_looks(dossier.evaluation)
    places = {name: place for place, name in enumerate(looks)}
    return [Heading(looks[name].label, places[name], name == dossier.scheme) for name in schemes]


def _risk_block(measure: str) -> str:
    if _RADIUS in measure:
        return ""
    if "rise" in measure:
        return "Rises and moles"
    if "expected risk" in measure:
        return "Expected risk of the records"
    if "guess" in measure:
        return "Guessing the value"
    if "tables pooled" in measure:
        return "An intruder who pools the tables"
    return "Matches" if measure in MATCHES else "Risk of the records"


def _leading_number(text: str) -> float:
    start = text.split(" ", maxsplit=1)[0]
    return float(start) if start.replace(".", "", 1).isdigit() else float("inf")


_NOTES = {
    "Risk of the records": "In the released tables, as they are.",
    "Expected risk of the records": "Over all tables that the scheme could have drawn: without the luck of the draw.",
    "An intruder who pools the tables": "Taking all released tables together.",
    "Rises and moles": (
        "Against the scheme without weights. Some rise by chance alone; a mole is a record whose expected risk rises."
    ),
    "Matches": "Records that an intruder would pick by the known columns and a value that is close.",
    "Guessing the value": (
        "The released value of the person's record as a guess, against a guess from the others of the same pattern."
    ),
}
_ABOUT = {
    "Estimates": "With 95% intervals, by the combining rule where there are several tables.",
    "Interval overlap": "1: the same interval as from the confidential table; 0: the two do not meet.",
    "Width ratio of the intervals": "Above 1: the release is less certain than the confidential table.",
    "Relative bias": "How far the estimate lies from the confidential one, as a share of that.",
    "Distances of the tables": (
        "U_m and U_a: largest and mean squared difference of the distribution functions; beside them what a fresh "
        "sample of the same people would show."
    ),
    "Told apart by a classifier": "A ratio near 1: released records are as hard to tell as those of a fresh sample.",
}
