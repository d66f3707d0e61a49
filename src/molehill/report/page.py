"""The report behind a release: one HTML file that needs no network, in an internal and a public edition."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from molehill.charts.risk import evaluation_looks
from molehill.dossier import Dossier, settings_notes
from molehill.errors import InputError, check_choice
from molehill.plan.settings import format_settings
from molehill.report.methods import describe_model, is_weighted
from molehill.report.numbers import Edition, Teller, cut_name, join_names
from molehill.report.pictures import Picture, drawing_library, list_pictures
from molehill.report.public import FEW, redact
from molehill.report.search import view_search
from molehill.report.tables import (
    TableView,
    list_counts,
    list_fit_tables,
    list_group_tables,
    list_radius_tables,
    list_risk_tables,
    list_top_tables,
    list_utility_tables,
)
from molehill.report.verdict import list_cards, list_points, tell_verdict
from molehill.risk.profile import count_bins

# What each policy means, for readers who have not read the documentation.
POLICIES = {
    "alone in the pattern": "nobody shares the known values: identified whatever is released about the value",
    "in a pattern smaller than the order": "too few others for risk of this order",
    "in a pattern as small as the order": "risk of this order is 0 by its definition, and the weight 1",
    "negative value": "close is measured by the size of the value",
    "ball without width": "zero, or close to nothing: only equal values are close",
    "ball widened to the floor": "the least radius was used",
    "missing known value": "missing is a category of its own",
    "missing sensitive value": "released as missing; without risk and weight",
}


def render_report(dossier: Dossier, *, edition: Edition) -> str:
    """Make the report of a release: one HTML file to open from disk, to choose schemes in, and to print.

    Parameters
    ----------
    dossier
        The evidence, from `molehill.dossier`.
    edition
        "internal": all of it, for the agency and its board. "public": nothing about single records, no seed, no tuned
        threshold, no estimate of the confidential table, and no count below 10.

    Returns
    -------
    str
        The page. Names from data are escaped, long ones cut visibly, and no script but the page's own can run in it.
    """
    check_choice("edition", edition, ("internal", "public"))
    internal = edition == "internal"
    if not internal and not dossier.fit_to_publish:
        raise InputError("edition", "nothing was released that a public one could be about", "Make the internal one")
    shown = dossier if internal else redact(dossier)
    teller = Teller(edition, int(dossier.facts["records"]))
    pictures = list_pictures(dossier, edition)
    library, script = drawing_library(), _resource("report.js")
    specifications = {picture.name: picture.specification for picture in pictures}
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("report.html")).render(
        internal=internal,
        few=FEW,
        policy=_content_policy(library, script),
        # Neither script holds text from data; the specifications do, and cannot end the element that they stand in.
        library=Markup(library),  # noqa: S704
        script=Markup(script),  # noqa: S704
        specifications=Markup(json.dumps(specifications).replace("<", "\\u003c")),  # noqa: S704
        column=cut_name(shown.settings.sensitive),
        known=join_names(shown.settings.known),
        predictors=join_names(shown.settings.predictors or ()),
        scheme=cut_name(shown.scheme),
        settings=shown.settings,
        searched=dossier.search is not None,
        weighted=is_weighted(dossier),
        search=view_search(shown),
        facts=shown.facts,
        made=f"{shown.facts['made']}".replace("T", " ").replace("+00:00", " UTC"),
        model=describe_model(shown),
        schemes=[(place, look) for place, look in enumerate(evaluation_looks(shown.evaluation).values())],
        others=join_names(name for name in shown.evaluation.schemes if name != shown.scheme),
        cards=list_cards(shown, teller),
        verdict=tell_verdict(shown, teller),
        points=list_points(shown, teller),
        pictures=_by_section(pictures),
        tables=_list_tables(dossier, shown, teller),
        fits=shown.fits.to_dict("records"),
        problems=_list_problems(shown),
        settings_file=format_settings(dossier.settings, notes=settings_notes(dossier)) if internal else "",
        seconds={cut_name(name): f"{value:,.1f}" for name, value in shown.facts.get("seconds", {}).items()},
    )


def _list_tables(dossier: Dossier, shown: Dossier, teller: Teller) -> dict[str, list[TableView]]:
    internal = teller.edition == "internal"
    touched = {name: number for name, number in shown.policies.items() if number}
    policies = {_explain(name): teller.count(number) for name, number in touched.items()}
    tables = {
        "risk": list_risk_tables(shown, teller),
        "groups": list_group_tables(shown, teller),
        "top": list_top_tables(shown) if internal else [],
        "utility": list_utility_tables(shown, teller),
        "weights": [_count_weights(dossier, teller)],
        "diagnostics": list_fit_tables(shown),
        "radius": list_radius_tables(shown, teller) if internal else [],
        "policies": [list_counts("Records that a policy touched", "policy", "records", policies)] if policies else [],
    }
    return {name: [table for table in views if table.rows] for name, views in tables.items()}


def _count_weights(dossier: Dossier, teller: Teller) -> TableView:
    bins = count_bins(dossier.weights["weight"].to_numpy(dtype=float), bins=5)
    counts = {
        f"{row['low']:.1f} to {row['high']:.1f}": teller.count(float(row["records"])) for row in bins.to_dict("records")
    }
    return list_counts("Records by their weight", "weight", "records", counts)


def _explain(policy: str) -> str:
    return f"{policy}: {POLICIES[policy]}" if policy in POLICIES else policy


def _list_problems(dossier: Dossier) -> list[tuple[str, str]]:
    """Schemes that have not converged, each with what is wrong as far as the edition says it."""
    return [
        (cut_name(f"{fit['scheme']}"), f"{fit.get('problems', '')}")
        for fit in dossier.fits.to_dict("records")
        if not fit["converged"]
    ]


def _by_section(pictures: list[Picture]) -> Mapping[str, list[Picture]]:
    sections: dict[str, list[Picture]] = {}
    for picture in pictures:
        sections.setdefault(picture.section, []).append(picture)
    return sections


def _content_policy(*scripts: str) -> str:
    """Let the browser run these scripts and no other, and load nothing from anywhere."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    parts = ("default-src 'none'", f"script-src {hashes}", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def _resource(name: str) -> Any:
    return files("molehill.report").joinpath(name).read_text(encoding="utf-8")
