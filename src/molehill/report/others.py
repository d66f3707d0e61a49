"""A report on tables that anybody made: the evidence that an evaluation holds, without model, weights or settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from molehill.errors import InputError, nearest
from molehill.evaluation.evaluation import Evaluation
from molehill.plan.settings import Settings
from molehill.report.dossier import Dossier
from molehill.report.page.page import render_report
from molehill.risk.identification import confidential_risk
from molehill.risk.intruder import Intruder, View, as_view
from molehill.tables.schema import infer_kind
from molehill.tables.table import Table, as_table

_VERSIONS = ("molehill", "numpy", "pandas")
# What an intruder and the settings of a release call the same.
_SHARED = {each.name for each in fields(Intruder)} & set(Settings.model_fields) - {"known"}


def report_tables(
    data: Any, released: Any, evaluation: Evaluation, intruder: Intruder | None = None, *, scheme: str | None = None
) -> str:
    """Make the internal report of tables that anybody made, such as synthpop's: one HTML file.

    It is the report of a release without what only its maker knows: no weights, no fits, no settings to repeat it.

    Parameters
    ----------
    data, released, intruder
        As they were given to `molehill.evaluate`.
    evaluation
        What that gave.
    scheme
        The name of the release that the report is about; by default the first.
    """
    return render_report(gather_evidence(data, released, evaluation, intruder, scheme=scheme), edition="internal")


def gather_evidence(
    data: Any, released: Any, evaluation: Evaluation, intruder: Intruder | None = None, *, scheme: str | None = None
) -> Dossier:
    """Make a dossier of an evaluation and of the tables that it is about: see `report_tables`."""
    view = as_view(data, intruder)
    named = released if isinstance(released, Mapping) else {"released": released}
    name = scheme or evaluation.schemes[0]
    if name not in named or name not in evaluation.schemes:
        raise InputError("scheme", f"there is no release {name!r}", nearest(name, named))
    given: Any = named[name]
    tables = [as_table(table) for table in (given if isinstance(given, Sequence) else [given])]
    columns = _list_columns(view, tables)
    risk = confidential_risk(view)
    weights = pd.DataFrame({"record": np.arange(1, view.records + 1)})
    for place, column in enumerate(view.intruder.sensitive, 1):
        weights["value" if place == 1 else f"value_{place}"] = view.table.frame[column].to_numpy()
    facts = {
        "records": view.records,
        "patterns": view.patterns.number,
        "tables": len(tables),
        "model": "",
        "words": "",
        "columns": columns,
        "order": [],
        "shuffled": False,
        "ours": False,
        "versions": {package: version(package) for package in _VERSIONS},
    }
    return Dossier(
        _settings(view, columns),
        name,
        evaluation,
        weights.assign(risk=risk.risk, weight=1.0, row=weights["record"]),
        pd.DataFrame(columns=["scheme", "converged", "problems"]),
        pd.DataFrame(),
        dict(risk.policies),
        facts,
    )


def _settings(view: View, columns: list[dict[str, str]]) -> Settings:
    """Say in settings what is known of the tables: the intruder, and which columns there are."""
    given = {name: getattr(view.intruder, name) for name in _SHARED}
    given = {name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items()}
    given = {name: value for name, value in given.items() if value is not None}
    known = list(view.intruder.known)
    kept = [row["column"] for row in columns if row["fate"] in ("keep", "change")]
    drop = [row["column"] for row in columns if row["fate"] == "drop"]
    return Settings(synthesize=list(view.intruder.sensitive), known=known, keep=kept, drop=drop, **given)


def _list_columns(view: View, tables: Sequence[Table]) -> list[dict[str, str]]:
    """Say of every column whether it is protected, as collected in all tables, changed, or not there."""
    rows = []
    for name in view.table.frame.columns:
        own = view.table.frame[name]
        if name in view.intruder.sensitive:
            fate = "synthesize"
        elif not all(name in table.frame for table in tables):
            fate = "drop"
        else:
            fate = "keep" if all(_same(own, table.frame[name]) for table in tables) else "change"
        remark = "the intruder knows it" if name in view.intruder.known else ""
        label = view.table.column_labels.get(name, "")
        row = {"column": name, "label": label, "fate": fate, "kind": infer_kind(view.table, name)[0]}
        rows.append(row | {"model": "", "limits": "", "remark": remark, "sensitive": ""})
    return rows


def _same(own: pd.Series, other: pd.Series) -> bool:
    """Whether two columns hold the same values, record by record, however they are stored."""
    return len(own) == len(other) and own.astype(str).tolist() == other.astype(str).tolist()
