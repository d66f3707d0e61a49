"""What the steps before a run show: the file, its columns and their fates, and the file to an intruder, at once."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import FrozenDict
from molehill.errors import InputError
from molehill.plan.columns import Finding, look_at_columns
from molehill.plan.plan import Plan, plan_settings, tell_derivable
from molehill.plan.pooling import group_values, pool_levels
from molehill.plan.settings import FATES, Settings, gather_columns
from molehill.plan.suggest import Suggestion, suggest_settings
from molehill.risk.identification import confidential_risk, risk_floor
from molehill.risk.profile import count_bins, profile_risk
from molehill.runtime import call_alone
from molehill.studio.projects import Project, read_reasons
from molehill.tables.cells import declare_missing
from molehill.tables.formats.formats import FORMATS, read_table
from molehill.tables.table import Dialect, Table

# Rows of the preview, which are shown when they are asked for.
PREVIEW = 20
_LONGEST_CELL = 60
# A known number of more values than this is better known in groups.
MANY = 20
_BINS = 10
_READING = threading.RLock()


@dataclass(frozen=True, eq=False)
class Looked:
    """A file that was read: the table, its missing cells declared, and what was found of every column."""

    table: Table
    findings: tuple[Finding, ...]

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.table.frame.columns)

    def finding(self, name: str) -> Finding:
        """Give what was found of a column."""
        return self.findings[self.columns.index(name)]


def look(project: Project, settings: Settings) -> Looked:
    """Read the file of a project, or give it as it was read: sliders cannot wait for a file."""
    return look_at(project.data, settings.reading, settings.missing_codes)


def look_at(path: Path, reading: Mapping[str, Any], codes: Mapping[str, Any]) -> Looked:
    """Read a file in a way, with codes for missing values; the last ones that were read are kept."""
    with _READING:
        return _look(path, _stamp(path), _said(reading), FrozenDict(codes))


def _said(reading: Mapping[str, Any]) -> FrozenDict:
    return FrozenDict({name: value for name, value in reading.items() if value is not None})


def _stamp(path: Path) -> tuple[int, ...]:
    """Give what becomes another when a file does."""
    try:
        found = path.stat()
    except OSError:
        raise InputError("data", f"the file {path.name!r} is not there any more", "Put it back") from None
    return found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=2)
def _read(path: Path, _stamp: tuple[int, ...], reading: FrozenDict) -> Table:
    return read_table(path, **reading)


@lru_cache(maxsize=4)
def _look(path: Path, stamp: tuple[int, ...], reading: FrozenDict, codes: FrozenDict) -> Looked:
    table = _read(path, stamp, reading)
    known = {name: own for name, own in codes.items() if name in table.frame}
    table = declare_missing(table, known) if known else table
    return Looked(table, look_at_columns(table))


def suggest(path: Path, data: str, reading: Mapping[str, Any]) -> Suggestion:
    """Suggest settings for a file, as `molehill init` does."""
    with _READING:
        return suggest_settings(_read(path, _stamp(path), _said(reading)), path=data, reading=reading)


def tell_file(project: Project, settings: Settings, *, shown: bool) -> dict[str, Any]:
    """Tell what the file is, how it was read, and its columns; values only if they are asked for."""
    looked = look(project, settings)
    table, frame = looked.table, looked.table.frame
    options = FORMATS[project.data.suffix.lower()].options
    codes = {name: ", ".join(map(_tell_code, own)) for name, own in settings.missing_codes.items()}
    return {
        "file": project.data.name,
        "records": len(frame),
        "dialect": table.dialect if project.data.suffix.lower() in (".csv", ".tsv", ".txt") else None,
        "options": options,
        "reading": {name: value if value is not None else "" for name, value in settings.reading.items()},
        "found": _tell_dialect(table.dialect),
        "columns": [
            {
                "name": found.name,
                "label": table.column_labels.get(found.name, ""),
                "kind": found.kind,
                "reason": found.reason,
                "levels": found.levels,
                "missing": found.missing,
                "codes": codes.get(found.name, ""),
                "labels": len(table.value_labels.get(found.name, {})),
            }
            for found in looked.findings
        ],
        "preview": _preview(frame) if shown else None,
    }


def _tell_code(code: float | str) -> str:
    return f"{code:g}" if isinstance(code, float) else f"{code}"


def _tell_dialect(dialect: Dialect | None) -> dict[str, str]:
    if dialect is None:
        return {}
    return {name: getattr(dialect, name) for name in ("encoding", "separator", "decimal", "thousands")}


def _preview(frame: pd.DataFrame) -> list[list[str]]:
    head = frame.head(PREVIEW)
    cells = [["" if pd.isna(cell) else f"{cell}" for cell in head[name].tolist()] for name in head]
    cut = [[cell if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]}…" for cell in column] for column in cells]
    return [list(row) for row in zip(*cut, strict=True)]


def plan(project: Project, settings: Settings) -> tuple[Plan | None, InputError | None]:
    """Plan what settings make of the file; or say what is still wrong."""
    # Codes that are missing already are declared once more, which changes nothing.
    try:
        return plan_settings(look(project, settings.but(missing_codes={})).table, settings), None
    except InputError as error:
        return None, error


def tell_columns(project: Project, settings: Settings) -> dict[str, Any]:
    """Tell what becomes of every column, why it was proposed, and what the plan says of it."""
    looked = look(project, settings)
    planned, problem = plan(project, settings)
    entries, reasons = gather_columns(settings), read_reasons(project)
    remarks = {} if planned is None else {row["column"]: row for row in planned.columns.to_dict("records")}
    rows = []
    for found in looked.findings:
        entry = entries.get(found.name, {})
        fate = entry.get("release", "undecided")
        kind = entry.get("kind", "")
        told = remarks.get(found.name, {})
        numeric = (kind or found.kind) != "categorical" or found.dates
        rows.append(
            {
                "name": found.name,
                "label": looked.table.column_labels.get(found.name, ""),
                "fate": fate,
                "kind": kind,
                "inferred": "date" if found.dates and fate == "synthesize" else found.kind,
                "limited": fate == "synthesize" and numeric and kind != "categorical",
                "lower": _tell_entry(entry.get("lower", settings.lower)),
                "upper": _tell_entry(entry.get("upper", settings.upper)),
                "radius": _tell_entry(settings.of_column("radius", found.name)),
                "floor": _tell_entry(settings.of_column("min_radius", found.name)),
                "likely": _tell_entry(settings.knowledge_probability.get(found.name)),
                "levels": "\n".join(map(_tell_code, settings.levels.get(found.name, ()))),
                "is_date": found.dates and kind in ("", "date"),
                "reason": reasons.get(found.name, found.reason),
                "identifying": found.identifying,
                "accepted": found.name in settings.accept_identifying,
                "remark": "; ".join(filter(None, (told.get("remark"), told.get("handling")))),
            }
        )
    return {
        "rows": rows,
        "gone": [name for name in entries if name not in looked.columns],
        "fates": FATES,
        "drawn": [(name, looked.columns.index(name)) for name in settings.synthesize if name in looked.columns],
        "plan": planned,
        "problem": problem,
        "rules": {} if planned is None else planned.rules,
        "derivable": [] if planned is None else tell_derivable(planned),
        "constraints": "\n".join(settings.constraints),
    }


def _tell_entry(value: Any) -> str:
    if value is None or isinstance(value, Mapping):
        return ""
    return f"{value:.12g}" if isinstance(value, float | int) else f"{value}"


def tell_intruder(project: Project, settings: Settings) -> dict[str, Any]:
    """Tell what the intruder may know, and what the file gives away to one who knows it."""
    looked = look(project, settings)
    kept = [
        name
        for name in looked.columns
        if name in settings.keep or (settings.fully_synthetic_records and name in settings.synthesize)
    ]
    return {
        "gone": [name for name in settings.known if name not in kept],
        "choices": [
            {
                "name": name,
                "known": name in settings.known,
                "knowable": looked.finding(name).knowable,
                "breaks": ", ".join(f"{end:g}" for end in settings.breaks.get(name, ())),
                "grouped": name in settings.grouped,
                "may_group": looked.finding(name).kind != "categorical" and looked.finding(name).levels > 2,
                "many": looked.finding(name).kind != "categorical" and looked.finding(name).levels > MANY,
            }
            for name in kept
        ],
        "radius": settings.radius if isinstance(settings.radius, float) else None,
        "radii": [
            {"name": name, "radius": settings.of_column("radius", name)}
            for name in settings.synthesize
            if isinstance(settings.radius, Mapping) and settings.of_column("radius", name) is not None
        ],
        "floor": settings.min_radius if isinstance(settings.min_radius, float) else None,
        **tell_figures(looked, settings),
    }


def tell_figures(looked: Looked, settings: Settings) -> dict[str, Any]:
    """Measure what the file gives away: patterns, how many share them, and the risk; or say why it cannot be."""
    try:
        table = pool_levels(group_values(looked.table, settings), settings)[0]
        return {"figures": call_alone(_measure, table, settings), "problem": None}
    except InputError as error:
        return {"figures": None, "problem": error}


def _measure(table: Table, settings: Settings) -> dict[str, Any]:
    view = settings.intruder.view(table)
    risk = confidential_risk(view, order=1)
    profile = profile_risk(risk, table, patterns=5)
    sizes = view.sizes[view.sizes > 0]
    distribution = dict(zip(profile.distribution["measure"], profile.distribution["value"], strict=True))
    histogram = count_bins(risk.risk[~np.isnan(risk.risk)], _BINS)
    widest = max(histogram["share"].max(), 1e-12)
    bins = [
        {"low": row["low"], "high": row["high"], "records": int(row["records"]), "width": row["share"] / widest}
        for row in histogram.to_dict("records")
    ]
    return {
        "records": view.records,
        "patterns": len(sizes),
        "sizes": _count_sizes(sizes),
        "mean": distribution["mean"],
        "floor": float(np.nanmean(risk_floor(view))),
        "above": profile.above.to_dict("records"),
        "bins": bins,
        "riskiest": _tell_riskiest(profile.patterns),
    }


def _count_sizes(sizes: np.ndarray) -> list[dict[str, Any]]:
    """How many records share all known columns with so many: k-anonymity."""
    bounds = (("alone", 1, 1), ("2", 2, 2), ("3 to 4", 3, 4), ("5 to 9", 5, 9), ("10 and more", 10, np.inf))
    counted = []
    for words, low, high in bounds:
        within = (sizes >= low) & (sizes <= high)
        counted.append({"words": words, "patterns": int(within.sum()), "records": int(sizes[within].sum())})
    return counted


def _tell_riskiest(patterns: pd.DataFrame) -> dict[str, Any]:
    """The riskiest patterns as rows of cells, values as ranges."""
    headings = [f"{name}" for _, name in patterns.columns]
    rows = [
        [f"{cell:.3f}" if isinstance(cell, float) else f"{cell}" for cell in row]
        for row in patterns.itertuples(index=False)
    ]
    return {"headings": headings, "rows": rows}


def warm_up() -> None:
    """Compile what measures the risk, before anybody waits for it."""
    frame = pd.DataFrame({"group": ["a", "b"] * 30, "amount": np.linspace(1.0, 60.0, 60)})
    settings = Settings(synthesize=["amount"], known=["group"], keep=["group"])
    call_alone(_measure, Table(frame), settings)
