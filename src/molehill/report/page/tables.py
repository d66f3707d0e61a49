"""Tables of a report: what was measured, one row a measure and one column a scheme, ready to be set.

A measure stands in the table that its `block` names and is told by its `unit`; nothing reads its words.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.charts.style import evaluation_looks
from molehill.evaluation.catalogue.estimates import ESTIMATES
from molehill.evaluation.catalogue.identity import BY_RADIUS, RECORDS
from molehill.evaluation.measure import CONFIDENTIAL, FEW, MeasureFamily
from molehill.evaluation.telling import Teller, Told, as_figure, cut_measure, cut_name, tell_by_column
from molehill.evaluation.verdict import SIDE_BY_SIDE
from molehill.report.dossier import Dossier, Searched
from molehill.report.public import POLICIES
from molehill.risk.profile import count_bins

_PATTERNS, _STANDING = 10, 20
_FUNCTIONALS = 5
# Decimals of what a target is about, 3 where nothing is said.
_DIGITS = {"moles": 0, "U_m": 4}
FATES = {
    "synthesize": "replaced",
    "keep": "published as collected",
    "drop": "dropped",
    "derived": "computed from others",
    "change": "published, changed",
}
# Measures of what users compute: their block says what they are, so that a row need only name the analysis.
_OF_ANALYSES = ("estimate", "overlap", "width_ratio", "relative_bias")
# What is told by the intruder's radius, each with the measure that is the same under the agency's.
_BY_RADIUS = {
    "radius_mean": ("risk_mean", "Mean risk, by the intruder's radius"),
    "radius_above_50": ("risk_above_50", "Records with risk above 0.5, by the intruder's radius"),
}
_FIT: dict[str, tuple[str, Callable[[float], str]]] = {
    "effective_size": ("effective draws", "{:,.0f}".format),
    "largest_rhat": ("largest R-hat", "{:.3f}".format),
    "divergent": ("divergent", "{:.2%}".format),
    "sweeps": ("sweeps", "{:,.0f}".format),
}


@dataclass(frozen=True)
class Heading:
    """A column's heading, the number of the scheme that it is about, and something small below it."""

    text: str
    scheme: int | None = None
    released: bool = False
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A row's heading and its cells, whether it stands out from the others, and what it means in a few words.

    `scheme` is the number of the scheme that a row is about, and `values` are the numbers that its cells tell, to sort
    by.
    """

    text: str
    cells: tuple[Told, ...]
    marked: bool = False
    what: str = ""
    scheme: int | None = None
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class TableView:
    """A table as it is shown.

    `words` if its cells are read like text, `more` if it is not seen at first, `sortable` if a click on a heading sorts
    its rows.
    """

    caption: str
    first: str
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    note: str = ""
    words: bool = False
    more: bool = False
    sortable: bool = False


def list_column_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Treatment of each variable; inside the agency also how, within which limits, and what was found of it."""
    fields = ["label", "fate", "kind", "handling"]
    if teller.edition == "internal":
        told = dossier.facts["columns"]
        fields += [name for name in ("model", "limits", "remark") if any(column[name] for column in told)]
    rows = []
    for column in dossier.facts["columns"]:
        # A release of an earlier version does not tell the last.
        grouped = column["column"] in dossier.settings.grouped and column["fate"] == "keep"
        told = {"handling": "", **column, "fate": "published in groups" if grouped else FATES[column["fate"]]}
        cells = [Told(cut_measure(f"{told[name]}") if told[name] else "") for name in fields]
        rows.append(Row(cut_name(f"{column['column']}"), tuple(cells), column["fate"] == "synthesize"))
    note = "Of columns that were dropped only the name is told." if teller.edition == "public" else ""
    return [
        TableView("Treatment of each variable", "column", tuple(map(Heading, fields)), tuple(rows), note, words=True)
    ]


def list_measure_tables(dossier: Dossier, teller: Teller, family: MeasureFamily) -> list[TableView]:
    """Everything about risk or utility but other radii and attacks, a table a block; what is seen at first first."""
    measures, frame = dossier.evaluation.measures, getattr(dossier.evaluation, family)
    tables_of_release = int(dossier.facts["tables"])
    wanted = (measures["family"] == family) & ~measures["attack"].astype(bool) & (measures["block"] != BY_RADIUS.title)
    tables = []
    for title, found, note, first_seen in _list_blocks(dossier, measures[wanted], frame):
        rows = found
        if title == ESTIMATES.title:
            # Weighted and unweighted ones of an analysis stand side by side.
            places = {about: place for place, about in enumerate(dict.fromkeys(_about(rows)))}
            rows = rows.iloc[np.argsort([places[about] for about in _about(rows)], kind="stable")]
        first = "analysis" if rows["measure"].isin([*_OF_ANALYSES, "estimate_unweighted"]).all() else "measure"
        many = f", realised, mean over {tables_of_release} tables" if title == RECORDS.title else ""
        table = _by_scheme(dossier, teller, rows, f"{cut_measure(title)}{many}", first, note)
        own = first_seen or (title == RECORDS.title and not _has_expected(dossier))
        tables.append(replace(table, more=not own))
    return tables


def _list_blocks(
    dossier: Dossier, measures: pd.DataFrame, frame: pd.DataFrame
) -> list[tuple[str, pd.DataFrame, str, bool]]:
    """Title, rows and note of every block of which something was measured, and whether it is seen at first."""
    # A block without a note is not one of ours, or needs none.
    about = measures[measures["id"].isin(frame["measure"].unique())]
    about = about.assign(seen=about["first"].astype(bool) | (about["note"] == ""))
    found = []
    for title, own in about.groupby("block", sort=False):
        rows = _name_rows(dossier, frame[frame["measure"].isin(own["id"])])
        found.append((f"{title}", rows, f"{own['note'].iloc[0]}", bool(own["seen"].any())))
    return sorted(found, key=lambda block: not block[-1])


def list_attack_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """The attacks and checks that boards know, a table a block; the three criteria are seen at first."""
    measures = dossier.evaluation.measures
    both = pd.concat([dossier.evaluation.risk, dossier.evaluation.utility], ignore_index=True)
    tables = []
    for title, rows, note, first_seen in _list_blocks(dossier, measures[measures["attack"].astype(bool)], both):
        # What belongs to one column, or to one number of columns, stands together.
        places = {about: place for place, about in enumerate(dict.fromkeys(_of_attack(rows)))}
        ordered = rows.iloc[np.argsort([places[about] for about in _of_attack(rows)], kind="stable")]
        tables.append(replace(_by_scheme(dossier, teller, ordered, title, "measure", note), more=not first_seen))
    return tables


def _of_attack(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return [(f"{column}", f"{at}") for column, at in zip(rows["column"], rows["at"], strict=True)]


def list_sortable_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Every method against every measure that is better one way or the other, to be sorted by any of them."""
    evaluation, looks = dossier.evaluation, evaluation_looks(dossier.evaluation)
    both = pd.concat([evaluation.risk, evaluation.utility], ignore_index=True)
    measures = evaluation.measures
    wanted = measures.loc[(measures["better"] != "") & (measures["block"] != BY_RADIUS.title), "id"]
    rows = both[both["measure"].isin(wanted) & (both["group"] == "") & both["value"].notna()]
    # What matters most comes first.
    order = {name: place for place, name in enumerate(SIDE_BY_SIDE)}
    rows = rows.sort_values("measure", key=lambda ids: ids.map(order).fillna(len(order)), kind="stable")
    rows = _name_rows(dossier, rows)
    better = dict(zip(measures["id"], measures["better"], strict=True))
    headings, columns = [], []
    for part in _by_key(rows):
        about = part[0]
        words = f"{about['name']}, {about['column']}" if about["column"] in about["label"] else about["name"]
        headings.append(Heading(cut_measure(words), note=f"{better[about['measure']]} is better"))
        figures = {row["scheme"]: as_figure(row) for row in part}
        columns.append((about["unit"], about["coarse"], figures))
    shown = []
    for place, name in enumerate(looks):
        told = [(unit, figures.get(name), coarse) for unit, coarse, figures in columns]
        # Intervals would make the table too wide to be compared along.
        cells = tuple(Told(teller.figure(*one).text) for one in told)
        values = tuple(math.nan if figure is None else figure.value for _, figure, _ in told)
        shown.append(Row(looks[name].label, cells, name == dossier.scheme, scheme=place, values=values))
    title = "Figures of every scheme, those that are better one way or the other"
    note = "A click on a heading sorts the schemes by it, another one the other way round."
    return [TableView(title, "scheme", tuple(headings), tuple(shown), note, sortable=True)]


def _about(rows: pd.DataFrame) -> list[tuple[str, ...]]:
    return list(rows[["column", "of", "group"]].itertuples(index=False, name=None))


def list_glance_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """The release beside its comparisons in what matters most."""
    both = pd.concat([dossier.evaluation.risk, dossier.evaluation.utility], ignore_index=True)
    rows = both[both["measure"].isin(SIDE_BY_SIDE) & (both["group"] == "")]
    order = {name: place for place, name in enumerate(SIDE_BY_SIDE)}
    rows = _name_rows(dossier, rows.sort_values("measure", key=lambda ids: ids.map(order), kind="stable"))
    return [_by_scheme(dossier, teller, rows, "The schemes side by side", "measure")]


def _has_expected(dossier: Dossier) -> bool:
    return "expected_mean" in set(dossier.evaluation.risk["measure"])


def list_radius_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Risk by the radius that the intruder takes."""
    frame, own_radius = dossier.evaluation.risk, dossier.settings.radius
    frame = frame[frame["scheme"] != CONFIDENTIAL]
    tables = []
    for measure, (own, title) in _BY_RADIUS.items():
        others = frame[frame["measure"] == measure]
        if others.empty:
            continue
        others = others.assign(
            label=others["of"].where(others["at"].isna(), others["at"].map("{:g}".format)), key=others["name"]
        )
        # Radii of the columns' own have no order: the agency's come first.
        at = -math.inf if isinstance(own_radius, dict) else own_radius
        agency = frame[frame["measure"] == own]
        agency = agency.assign(at=at, label=f"{tell_by_column(own_radius)} (the agency's)", key=agency["name"])
        rows = _add_unit(dossier, pd.concat([agency, others], ignore_index=True))
        tables.append(_by_scheme(dossier, teller, rows.sort_values("at", kind="stable"), title, "radius"))
    measures = dossier.evaluation.measures
    added = measures.loc[(measures["block"] == BY_RADIUS.title) & ~measures["id"].isin(list(_BY_RADIUS)), "id"]
    rows = _name_rows(dossier, frame[frame["measure"].isin(added)])
    tables = [*tables, _by_scheme(dossier, teller, rows, "By the intruder's radius", "measure")]
    return [replace(table, more=True) for table in tables]


def list_group_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """Mean risk by size of the sensitive values; inside the agency also of the patterns at most risk in the release."""
    groups = dossier.evaluation.groups
    means = _add_unit(dossier, groups[groups["measure"] == "risk_mean"])
    means = means.assign(key=means["group"], label=means["group"])
    public = teller.edition == "public"
    note = f"In tenths. Ranges with fewer than {FEW} records are left out." if public else ""
    tables = []
    for (by, column), part in means.groupby(["by", "column"], sort=False):
        rows, first, title = part, "range", f"Mean risk by size of {cut_name(f'{column}')}"
        if by == "pattern":
            released = part[part["scheme"] == dossier.scheme].sort_values("value", ascending=False, kind="stable")
            order = {group: place for place, group in enumerate(released["group"].head(_PATTERNS))}
            rows = part[part["group"].isin(order)].sort_values(
                "group", key=lambda names: names.map(order), kind="stable"
            )
            first, title = "known values", f"Mean risk in the {len(order)} patterns with most risk in the release"
        rows = rows if public else rows.assign(counted=rows["records"].map(teller.count))
        tables.append(replace(_by_scheme(dossier, teller, rows, title, first, note), more=True))
    return tables


def list_top_tables(dossier: Dossier) -> list[TableView]:
    """Highest-risk and largest-value records, in ranges."""
    tables = []
    schemes = [CONFIDENTIAL, *dossier.evaluation.schemes]
    for (which, column), rows in dossier.evaluation.top.groupby(["list", "column"], sort=False):
        words = {
            "riskiest": "The riskiest records of the confidential table",
            "released": "The riskiest records of the release",
        }.get(f"{which}", f"The records with the largest {cut_name(f'{column}')}")
        shown = []
        for rank, ranked in rows.groupby("rank", sort=True):
            risk = dict(zip(ranked["scheme"], ranked["risk"], strict=True))
            cells = [Told(f"{risk[name]:.3f}" if name in risk else "") for name in schemes]
            shown.append(Row(f"{rank}", (Told(f"{ranked['range'].iloc[0]}"), *cells)))
        headings = (Heading("range of the value"), *_scheme_headings(dossier, schemes))
        note = "Values as ranges between round numbers; risk in each scheme, mean over its tables."
        tables.append(TableView(words, "rank", headings, tuple(shown), note, more=which != "released"))
    return sorted(tables, key=lambda table: table.more)


def list_fit_tables(dossier: Dossier) -> list[TableView]:
    """How the fits went, and the functionals that mix worst."""
    columns = {name: about for name, about in _FIT.items() if name in dossier.fits}
    # What was fitted, what did not converge before it, and what is not as it should be but changes nothing.
    words = [name for name in ("variant", "remarks") if name in dossier.fits]
    rows = []
    for fit in dossier.fits.to_dict("records"):
        numbers = [Told("" if np.isnan(fit[name]) else tell(float(fit[name]))) for name, (_, tell) in columns.items()]
        told = [Told(f"{fit[name]}") for name in words]
        rows.append(Row(cut_name(f"{fit['scheme']}"), (Told("yes" if fit["converged"] else "NO"), *numbers, *told)))
    titles = ("converged", *(title for title, _ in columns.values()), *words)
    headings = tuple(map(Heading, titles))
    worst = []
    for scheme, table in dossier.diagnostics.groupby("scheme", sort=False) if len(dossier.diagnostics) else ():
        for row in table.sort_values("rhat", ascending=False, kind="stable").head(_FUNCTIONALS).itertuples():
            numbers = (f"{row.rhat:.3f}", f"{row.bulk:,.0f}", f"{row.tail:,.0f}")
            worst.append(Row(cut_measure(f"{row.functional}"), tuple(map(Told, (cut_name(f"{scheme}"), *numbers)))))
    about = tuple(map(Heading, ("scheme", "R-hat", "bulk effective draws", "tail effective draws")))
    title = f"The {_FUNCTIONALS} functionals of every fit that mix worst"
    note = (
        "R-hat: how far the chains disagree, 1 is not at all. Effective draws: independent ones that these are worth."
    )
    return [
        TableView("Fits", "scheme", headings, tuple(rows), note),
        TableView(title, "functional", about, tuple(worst), more=True),
    ]


def list_weight_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """How many records have which weight."""
    bins = count_bins(dossier.weights["weight"].to_numpy(dtype=float), bins=5).to_dict("records")
    counts = {f"{row['low']:.1f} to {row['high']:.1f}": teller.count(float(row["records"])) for row in bins}
    return [replace(_count("Records by their weight", "weight", counts), more=True)]


def list_policy_tables(dossier: Dossier, teller: Teller) -> list[TableView]:
    """How many records each policy touched, and what it means."""
    told = {name: f"{name}: {POLICIES[name]}" if name in POLICIES else name for name in dossier.policies}
    counts = {told[name]: teller.count(number) for name, number in dossier.policies.items() if number}
    return [_count("Records that a policy touched", "policy", counts)]


def list_search_tables(searched: Searched | None) -> list[TableView]:
    """Every point of a search, with how it stands to each target."""
    if searched is None:
        return []
    kept = "targets kept" if searched.targets else "keeps as much as the best"
    decided = ("decided by",) if "decided_why" in searched.candidates else ()
    first = (kept, *decided, "mean expected risk", "99% of expected risk", "largest realised risk", "U_m")
    first += ("pairs of columns",) if "agreement" in searched.candidates else ()
    headings = map(Heading, (*first, *(cut_name(f"{target}") for target in searched.targets), "fit"))
    rows = []
    for place, point in enumerate(searched.candidates.to_dict("records")):
        marked = place == searched.place
        name = f"{point['point'] + 1}: {point['scheme']}"
        name += f" ({'chosen' if searched.met else 'closest'})" if marked else ""
        rows.append(Row(cut_measure(name), tuple(_tell_point(point, searched)), marked))
    note = (
        "Small: 95% intervals; for a target on the expected risk or U_m its standard error, for one on the realised "
        "risk the chance that fresh tables break it."
    )
    if not searched.targets:
        note = (
            "A forest parts the records: the larger its least part, the less it tells of a person, and of how columns "
            "relate. What keeps as much as the best has pairs of columns within a tenth of what another sample would "
            "differ by, and no loss in the distribution or in what users compute. Of these the safest is released."
        )
    if searched.may_redraw:
        note += (
            " A maximum of the realised risk is kept as well if few records pass it by bad luck: these are drawn anew."
        )
    return [TableView("Every point that was tried", "point", tuple(headings), tuple(rows), note)]


def list_standing_tables(searched: Searched | None) -> list[TableView]:
    """Who stands in the way of the targets: patterns and ranges of values, never a value."""
    way = pd.DataFrame() if searched is None else searched.blocking_records
    rows = [
        Row(cut_measure(f"{row['pattern']}"), (Told(f"{row['range']}"), Told(f"{row['records']:,}")))
        for row in way.head(_STANDING).to_dict("records")
    ]
    left = len(way) - len(rows)
    note = "Values as ranges between round numbers." + (f" {left:,} further rows are not shown." if left else "")
    headings = (Heading("range of the value"), Heading("records"))
    return [TableView("Records that stand in the way", "known values", headings, tuple(rows), note)]


def _tell_point(point: dict[Any, Any], searched: Searched) -> list[Told]:
    fit = f"{point['fit'] + 1}" if point["converged"] else f"{point['fit'] + 1}, NOT converged"
    cells = [
        Told("yes" if point["met"] else "no"),
        *([Told(f"{point['decided_why']}")] if "decided_why" in point else []),
        _with_interval(point, "mean_expected_risk", 3),
        Told(f"{point['q99_expected_risk']:.3f}"),
        Told(f"{point['largest_realised_risk']:.3f}"),
        _with_interval(point, "U_m", 4),
    ]
    if "agreement" in point:
        cells.append(Told(f"{point['agreement']:.1f}", "of 1000"))
    for number, target in enumerate(searched.targets, 1):
        value, error, chance, met = (point[f"target_{number}_{name}"] for name in ("value", "error", "chance", "met"))
        text = f"{value:.{_DIGITS.get(target.measure, 3)}f}"
        small = "" if math.isnan(error) else f"± {error:.4f}"
        small = small if math.isnan(chance) else f"chance {chance:.0%}"
        cells.append(Told(text if met else f"{text}, missed", small))
    return [*cells, Told(fit, "warm" if point["warm"] else "cold")]


def _with_interval(point: dict[Any, Any], name: str, digits: int) -> Told:
    value, reach = point[name], 1.96 * point[f"{name}_error"]
    return Told(f"{value:.{digits}f}", f"{value - reach:.{digits}f} to {value + reach:.{digits}f}")


def _count(caption: str, first: str, counts: dict[str, str]) -> TableView:
    """A table of two columns."""
    rows = tuple(Row(name, (Told(count),)) for name, count in counts.items())
    return TableView(caption, first, (Heading("records"),), rows)


def _name_rows(dossier: Dossier, rows: pd.DataFrame) -> pd.DataFrame:
    """Give rows of an evaluation their units, a `key` for what each is about, and the `label` that it is shown by."""
    keys, labels = [], []
    for row in rows.to_dict("records"):
        keys.append((row["column"], row["measure"], row["of"], f"{row['at']}", row["group"]))
        within = f", within {row['group']}" if row["group"] else ""
        labels.append(f"{row['of']}{within}" if row["measure"] in _OF_ANALYSES else row["name"])
    rows = rows.assign(key=pd.Series(keys, rows.index, dtype=object), label=pd.Series(labels, rows.index, dtype="str"))
    # The same measure of several columns, whose words do not say which.
    alike = rows.groupby("label")["column"].transform("nunique") > 1
    return _add_unit(dossier, rows.assign(label=rows["label"].where(~alike, rows["label"] + ", " + rows["column"])))


def _add_unit(dossier: Dossier, rows: pd.DataFrame) -> pd.DataFrame:
    measures = dossier.evaluation.measures.set_index("id")
    return rows.assign(**{name: rows["measure"].map(measures[name]) for name in ("unit", "coarse", "explanation")})


def _by_scheme(
    dossier: Dossier, teller: Teller, rows: pd.DataFrame, caption: str, first: str, note: str = ""
) -> TableView:
    """Set figures, one row a `key` with its `label`, against the schemes that any of them is known of.

    A column `counted` of the rows, if there is one, stands before the schemes.
    """
    rows = rows[rows["value"].notna()]
    schemes = [name for name in (CONFIDENTIAL, *dossier.evaluation.schemes) if name in set(rows["scheme"])]
    shown = []
    for part in _by_key(rows):
        about = part[0]
        figures = {row["scheme"]: as_figure(row) for row in part}
        cells = [teller.figure(about["unit"], figures.get(scheme), about["coarse"]) for scheme in schemes]
        before = [Told(about["counted"])] if "counted" in rows else []
        shown.append(Row(cut_measure(f"{about['label']}"), (*before, *cells), what=about["explanation"]))
    before = [Heading("records")] if "counted" in rows else []
    return TableView(caption, first, (*before, *_scheme_headings(dossier, schemes)), tuple(shown), note)


def _by_key(rows: pd.DataFrame) -> list[list[dict[Any, Any]]]:
    """Put rows of the same `key` together, in the order in which keys first stand: a report has hundreds of keys."""
    parts: dict[Any, list[dict[Any, Any]]] = {}
    for row in rows.to_dict("records"):
        parts.setdefault(row["key"], []).append(row)
    return list(parts.values())


def _scheme_headings(dossier: Dossier, schemes: Sequence[str]) -> list[Heading]:
    looks = evaluation_looks(dossier.evaluation)
    places = {name: place for place, name in enumerate(looks)}
    return [Heading(looks[name].label, places[name], name == dossier.scheme) for name in schemes]
