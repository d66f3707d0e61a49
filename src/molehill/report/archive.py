"""The dossier as one file of JSON, for archives: what was decided on what grounds, readable without Molehill.

It holds figures and no records: neither a value, nor the seed, nor an estimate of the confidential table, as a median
can be somebody's value. `dossier.schema.json` describes it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

import pandas as pd

from molehill.evaluation.measure import CONFIDENTIAL
from molehill.evaluation.scorecard import list_rules, score
from molehill.evaluation.telling import Teller
from molehill.report.dossier import Dossier, Searched
from molehill.report.page.first_page import judge_release, list_remarks
from molehill.report.trail import fingerprint_files

# The version is the last part; it goes up when what was there changes its meaning or is taken away.
SCHEMA = "urn:molehill:dossier:1"
# With the first, the protection is undone; the second says where it was computed.
_LEFT_OUT = {"seed", "scheduler"}
_FIGURE = ["scheme", "column", "measure", "of", "at", "group", "name", "value", "low", "high"]
# How well the chains mixed, and not where the model has its means.
_MIXING = ["scheme", "functional", "rhat", "bulk", "tail"]
_SEARCHED = ("met", "verdict", "probability", "probability_low", "probability_high", "fresh", "releases", "redrawn")


def archive_dossier(dossier: Dossier, *, published: Mapping[str, str], settings: str) -> str:
    """Give a dossier as the text of a file of JSON; what is not known, or no number, is null.

    Parameters
    ----------
    dossier
        The evidence.
    published
        The SHA-256 of every file of the release by its name in `release/`.
    settings
        That of the settings file, which has the seed.
    """
    return json.dumps(describe_dossier(dossier, published, settings), indent=1, ensure_ascii=False, allow_nan=False)


def describe_dossier(dossier: Dossier, published: Mapping[str, str], settings: str) -> dict[str, Any]:
    """Give a dossier as JSON takes it: see `archive_dossier`."""
    teller, evaluation = Teller("internal", int(dossier.facts["records"])), dossier.evaluation
    facts = {name: value for name, value in dossier.facts.items() if name not in ("input", "versions")}
    compared = evaluation.utility[evaluation.utility["scheme"] != CONFIDENTIAL]
    verdict = judge_release(dossier, teller)
    told = {
        "schema": SCHEMA,
        "versions": dict(dossier.facts["versions"]),
        "release": {
            "scheme": dossier.scheme,
            "fit_to_publish": dossier.fit_to_publish,
            "publication": dossier.publication,
            "files": dict(published),
            "fingerprint": fingerprint_files(published),
        },
        "inputs": {"confidential": dossier.facts.get("input"), "settings": settings},
        "verdict": {**asdict(verdict), "remarks": [asdict(remark) for remark in list_remarks(dossier, teller)]},
        "scorecard": _describe_scorecard(dossier),
        "settings": dossier.settings.model_dump(mode="json", exclude=_LEFT_OUT),
        "facts": facts,
        "policies": dict(dossier.policies),
        "measures": _rows(evaluation.measures),
        "risk": _rows(evaluation.risk[_FIGURE]),
        "utility": _rows(compared[_FIGURE]),
        "fits": _rows(dossier.fits),
        "diagnostics": _rows(dossier.diagnostics.reindex(columns=_MIXING)),
        "search": None if dossier.search is None else _describe_search(dossier.search),
    }
    return _plain(told)


def _describe_scorecard(dossier: Dossier) -> list[dict[str, Any]]:
    """Give the colour of every family, and the rules in force; where there is no red bound, none is told."""
    rules = list_rules(dossier.evaluation)
    return [
        {
            **{name: getattr(one, name) for name in ("family", "colour", "why")},
            "rules": [asdict(rule) for rule in rules if rule.family == one.family],
        }
        for one in score(dossier.evaluation, dossier.scheme)
    ]


def read_schema() -> dict[str, Any]:
    """Read the JSON Schema of the file."""
    return json.loads(files("molehill.report").joinpath("dossier.schema.json").read_text(encoding="utf-8"))


def _describe_search(found: Searched) -> dict[str, Any]:
    """Say what a search found, without who stood in the way."""
    return {
        **{name: getattr(found, name) for name in _SEARCHED},
        "targets": [f"{target}" for target in found.targets],
        "fits": found.cost["fits"],
        "chosen": found.place,
        "next": list(found.next_places),
        "candidates": _rows(found.candidates),
        "baselines": _rows(found.baselines),
    }


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.astype(object).to_dict("records")  # pyright: ignore[reportReturnType]


def _plain(value: Any) -> Any:
    """Give a value as JSON knows it; NumPy's numbers among the rest."""
    if isinstance(value, Mapping):
        return {f"{name}": _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # What pandas has for nothing.
    return None if pd.isna(value) else f"{value}"
