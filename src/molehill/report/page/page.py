"""The report behind a release: one HTML file that needs no network, in an internal and a public edition."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from molehill.charts.files import drawing_library
from molehill.charts.style import evaluation_looks
from molehill.errors import InputError, check_choice
from molehill.evaluation.catalogue.identity import IDENTIFICATION_RISK
from molehill.evaluation.measure import FEW
from molehill.evaluation.scorecard import list_rules, score
from molehill.evaluation.telling import Edition, Teller, cut_name, join_names, tell_by_column
from molehill.evaluation.verdict import decide
from molehill.plan.predictors import uncarried_relations
from molehill.plan.settings import Settings, format_settings
from molehill.report.dossier import Dossier, Searched, tell_cost, tell_runners_up
from molehill.report.methods import is_weighted, tell_model, tell_survey_use
from molehill.report.page.first_page import list_cards, list_remarks, tell_verdict
from molehill.report.page.pictures import Picture, list_pictures
from molehill.report.page.tables import (
    TableView,
    list_attack_tables,
    list_column_tables,
    list_fit_tables,
    list_glance_tables,
    list_group_tables,
    list_measure_tables,
    list_policy_tables,
    list_radius_tables,
    list_search_tables,
    list_sortable_tables,
    list_standing_tables,
    list_top_tables,
    list_weight_tables,
)
from molehill.report.public import count_replaced, redact
from molehill.report.trail import show_fingerprint
from molehill.risk.intruder import CLOSE_DAYS
from molehill.runtime import doing

# What a search calls the settings of risk weights.
_WEIGHTING = {"order": "risk_order", "scale": "weight_scale", "shift": "weight_shift"}
_WITHHELD = {"not recommended": "The recommendation is not to release."}


def render_report(dossier: Dossier, *, edition: Edition, fingerprint: str = "") -> str:
    """Make the report of a release: one HTML file to open from disk, to choose schemes in, and to print.

    Parameters
    ----------
    dossier
        The evidence, from `molehill.report.dossier`.
    edition
        "internal": all of it, for the agency and its board. "public": only what is marked public, so nothing about
        single records, no seed, no tuned threshold, no estimate of the confidential table, and no count below 10.
    fingerprint
        That of the published files (`molehill.report.trail.fingerprint_files`), for the block to sign at the end of the
        internal edition; the public one is itself among these files.

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
    with doing("the library that draws"):
        library, script = drawing_library(), _resource("report.js")
    pictures = list_pictures(dossier, shown, edition)
    specifications = {picture.name: picture.specification for picture in pictures}
    remarks = list_remarks(shown, teller)
    return _template().render(
        internal=internal,
        few=FEW,
        policy=content_policy(),
        # Neither script holds text from data; the specifications do, and cannot end the element that they stand in.
        library=Markup(library),  # noqa: S704
        script=Markup(script),  # noqa: S704
        specifications=Markup(json.dumps(specifications).replace("<", "\\u003c")),  # noqa: S704
        # The map of any two measures has with it what there is to choose from.
        choices=specifications.get("two", {}).get("usermeta"),
        was_searched=dossier.search is not None and bool(dossier.search.targets),
        weighted=is_weighted(dossier),
        cards=list_cards(shown, teller),
        decision=decide(shown.evaluation, shown.scheme, remarks, teller) if internal else None,
        identification_risk=IDENTIFICATION_RISK,
        scores=score(shown.evaluation, shown.scheme) if internal else [],
        changed=[f"{rule.family}: {rule}" for rule in list_rules(shown.evaluation) if rule.ours] if internal else [],
        verdict=tell_verdict(shown, teller),
        ours=dossier.is_ours,
        linked=dossier.evaluation.is_linked,
        remarks=remarks,
        pictures=_by_section(pictures),
        stills=_draw(pictures, edition),
        by_column=_by_column(pictures, shown),
        tables=_list_tables(dossier, shown, teller),
        # Of what nobody publishes there is nothing to sign.
        fingerprint=show_fingerprint(fingerprint) if internal and dossier.is_ours and dossier.fit_to_publish else "",
        settings_file=format_settings(dossier.settings, notes=dossier.notes) if internal else "",
        **_tell_release(shown),
        **_tell_search(shown.search),
        withheld=_WITHHELD.get(shown.publication, "") or _tell_nothing_found(shown),
        publication=shown.publication,
    )


def _draw(pictures: Sequence[Picture], edition: Edition) -> dict[str, str]:
    """Draw figures as images, by their names."""
    stills: dict[str, str] = {}
    with doing(f"figures of the {edition} report drawn", len(pictures)) as drawn:
        for picture in pictures:
            stills[picture.name] = picture.draw()
            drawn.count()
    return stills


def _tell_release(dossier: Dossier) -> dict[str, Any]:
    """What was done, in words that fit into sentences."""
    settings, facts, schemes = dossier.settings, dossier.facts, dossier.evaluation.schemes
    chosen = {} if dossier.search is None else dossier.search.chosen.to_dict()
    return {
        "settings": settings,
        "facts": facts,
        "column": join_names(settings.synthesize),
        "known": join_names(settings.known),
        "unknown": _tell_unknown(settings),
        "replaced": count_replaced(dossier),
        "predictors": join_names(settings.predictors or ()),
        "survey": tell_survey_use(settings),
        "uncarried": join_names(uncarried_relations(settings)),
        "used": {name: chosen.get(name, getattr(settings, own)) for name, own in _WEIGHTING.items()},
        **_tell_reach(dossier),
        "scheme": cut_name(dossier.scheme),
        "schemes": list(enumerate(evaluation_looks(dossier.evaluation).values())),
        "others": join_names(name for name in schemes if name != dossier.scheme),
        "model": tell_model(dossier),
        "command": _tell_command(dossier),
        "fits": dossier.fits.to_dict("records"),
        "problems": _list_problems(dossier),
    }


def _tell_reach(dossier: Dossier) -> dict[str, str]:
    """Tell the radius and the floor: of dates the days, of which a share means nothing."""
    settings = dossier.settings
    dates = [row["column"] for row in dossier.facts.get("columns", ()) if row["kind"] == "date"]
    days = {name: settings.of_column("min_radius", name) or CLOSE_DAYS for name in settings.synthesize if name in dates}
    told = [f"{number:g} days of {cut_name(name)}" for name, number in days.items()]
    floor = settings.min_radius
    if isinstance(floor, Mapping):
        floor = {name: value for name, value in floor.items() if name not in days}
    if days and len(days) == len(settings.synthesize):
        return {"radius": ", ".join(told), "floor": ""}
    radius = ", ".join([tell_by_column(settings.radius), *told])
    return {"radius": radius, "floor": tell_by_column(floor) if floor else ""}


def _tell_unknown(settings: Settings) -> str:
    """Name what the intruder knows roughly, and what only perhaps."""
    sure = [name for name in settings.intruder.sensitive if name not in settings.knowledge_probability]
    perhaps = [
        f"with the chance {chance:g} that of {cut_name(name)}"
        for name, chance in settings.knowledge_probability.items()
    ]
    return " and ".join([*([join_names(sure)] if sure else []), *perhaps])


def _tell_nothing_found(dossier: Dossier) -> str:
    """Say why a search found nothing to publish; nothing if it found something."""
    if dossier.search is None or dossier.search.fit_to_publish:
        return ""
    if dossier.search.met:
        return "The chosen scheme keeps the targets, but its fit has not converged: it must run longer."
    return "No scheme was found that keeps the targets."


def _tell_search(searched: Searched | None) -> dict[str, Any]:
    if searched is None:
        return {"search": None}
    return {
        "search": searched,
        "cost": tell_cost(searched),
        "next_best": tell_runners_up(searched),
    }


def _list_tables(dossier: Dossier, shown: Dossier, teller: Teller) -> dict[str, list[TableView]]:
    linked = dossier.evaluation.is_linked
    tables = {
        "standing": list_standing_tables(shown.search),
        "found": list_search_tables(shown.search),
        "glance": list_glance_tables(shown, teller),
        "columns": list_column_tables(shown, teller),
        # Of new people nobody has a risk of the own record, in groups or one by one.
        "risk": [*list_measure_tables(shown, teller, "risk"), *(list_group_tables(shown, teller) if linked else [])],
        "top": list_top_tables(shown) if linked else [],
        "attacks": list_attack_tables(shown, teller) if teller.edition == "internal" else [],
        "sortable": list_sortable_tables(shown, teller) if teller.edition == "internal" else [],
        "utility": list_measure_tables(shown, teller, "utility"),
        "weights": list_weight_tables(dossier, teller) if dossier.is_ours else [],
        "diagnostics": list_fit_tables(shown),
        "radius": list_radius_tables(shown, teller),
        "policies": list_policy_tables(shown, teller),
    }
    return {name: [table for table in views if table.rows] for name, views in tables.items()}


def _tell_command(dossier: Dossier) -> str:
    """Say what makes the release again."""
    own = dossier.settings.synthesizer == "custom"
    return "molehill.synthesize(data, settings, synthesizer=...)" if own else "molehill run"


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


def _by_column(pictures: list[Picture], dossier: Dossier) -> list[tuple[str, list[Picture]]]:
    """The figures of every replaced column that has some, with its name."""
    found = [
        (cut_name(name), [picture for picture in pictures if picture.column == place])
        for place, name in enumerate(dossier.settings.synthesize, 1)
    ]
    return [(name, own) for name, own in found if own]


def content_policy() -> str:
    """Let the browser run the scripts of a report and no other, and load nothing from anywhere."""
    scripts = (drawing_library(), _resource("report.js"))
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    parts = ("default-src 'none'", f"script-src {hashes}", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


# An element as our template and what escapes text write it; of any other nobody knows what a browser makes.
_ELEMENT = re.compile(r"<(?P<end>/?)(?P<name>[a-z][a-z0-9]*)(?P<attributes>(?:\s+[a-z-]+(?:=\"[^<>\"]*\")?)*)\s*/?>")
_ATTRIBUTE = re.compile(r"([a-z-]+)(?:=\"([^<>\"]*)\")?")
# Attributes that could lead elsewhere, and how a value that does not begins.
_LEADING = {"href": "#", "src": "data:image/", "http-equiv": "Content-Security-Policy"}
_SENDING = ("action", "background", "data", "formaction", "ping", "poster", "srcdoc", "srcset", "target")


def leads_nowhere(page: str) -> bool:
    """Whether a page is made of elements of a report, and has no script, link, form or frame that leads out of it.

    Examples
    --------
    >>> leads_nowhere('<p>As <a href="#found">found</a></p>'), leads_nowhere('<a href="https://a.b">here</a>')
    (True, False)
    """
    for script in (drawing_library(), _resource("report.js")):
        page = page.replace(f">{script}</script>", "></script>")
    rest = page.removeprefix("<!DOCTYPE html>").split("<")[1:]
    return all(_is_plain(_ELEMENT.match(f"<{piece}")) for piece in rest)


def _is_plain(element: re.Match[str] | None) -> bool:
    if element is None or element["name"] not in _elements():
        return False
    given = _ATTRIBUTE.findall(element["attributes"])
    return all(
        value.startswith(_LEADING[name]) if name in _LEADING else name not in _SENDING and not name.startswith("on")
        for name, value in given
    )


@cache
def _elements() -> frozenset[str]:
    return frozenset(re.findall(r"<([a-z][a-z0-9]*)", _resource("report.html")))


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return environment.from_string(_resource("report.html"))


def _resource(name: str) -> Any:
    return files("molehill.report.page").joinpath(name).read_text(encoding="utf-8")
