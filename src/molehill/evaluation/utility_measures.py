"""Every default measure of utility of one release, as figures by column."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.tables.intervals import Figure
from molehill.tables.schema import Schema
from molehill.tables.table import Table
from molehill.utility import (
    Analysis,
    Distances,
    ecdf_distances,
    estimate,
    mean,
    median,
    propensity,
    quantile,
    sd,
    table_difference,
    wasserstein,
)

Interval = Literal["combined", "bootstrap"]
Rule = Literal["partial", "full"]
Method = Literal["logistic", "tree"]
Figures = dict[str, dict[str, Figure]]

# How an estimate of a release compares with the confidential one: column of `estimate`, and words.
COMPARED = {"overlap": "interval overlap", "width_ratio": "width ratio", "relative_bias": "relative bias"}
# Shuffles for what a fresh sample would show, over all tables of a release.
PERMUTATIONS = 20
# Of fewer records a classifier says nothing.
LEAST_RECORDS = 50
# Indicators of known columns that the classifier sees at most; their products with each other make many more.
_MOST_INDICATORS = 30
_MOST_LEVELS = 100


def default_analyses(schema: Schema) -> list[Analysis]:
    """Mean, median, 90% quantile and standard deviation of every numeric sensitive column."""
    return [
        analysis
        for column in numeric_columns(schema)
        for analysis in (mean(column), median(column), quantile(column, 0.9), sd(column))
    ]


def numeric_columns(schema: Schema) -> list[str]:
    """Sensitive columns that are numbers."""
    return [name for name in schema.having("sensitive") if schema[name].kind != "categorical"]


def compare_estimates(
    table: Table,
    tables: Sequence[Table],
    analyses: Sequence[Analysis],
    *,
    interval: Interval,
    rule: Rule,
    groups: str | Sequence[str] | None,
    missing: Literal["error", "keep"],
    seed: int,
) -> tuple[Figures, Figures]:
    """Give the estimates of the confidential table, and those of the release with how they compare."""
    if not analyses:
        return {}, {}
    settings: dict[str, Any] = {"interval": interval, "rule": rule, "missing": missing, "seed": seed}
    frames = [estimate(table, list(tables), analyses, **settings)]
    if groups is not None:
        frames.append(estimate(table, list(tables), analyses, groups=groups, **settings))
    confidential: Figures = {}
    released: Figures = {}
    for frame in frames:
        for row in frame.to_dict("records"):
            name = _within(f"{row['analysis']}", row.get("group"))
            own, other = (
                [row[f"{side}{end}"] for end in ("", "_low", "_high")] for side in ("confidential", "released")
            )
            confidential.setdefault(row["column"], {})[name] = Figure(*own)
            figures = released.setdefault(row["column"], {})
            figures[name] = Figure(*other)
            for measure, words in COMPARED.items():
                figures[f"{words} of {name}"] = Figure(*(row[f"{measure}{end}"] for end in ("", "_low", "_high")))
    return confidential, released


def compare_tables(
    table: Table,
    tables: Sequence[Table],
    schema: Schema,
    *,
    methods: Sequence[Method],
    groups: str | Sequence[str] | None,
    missing: Literal["error", "keep"],
    seed: int,
) -> Figures:
    """Measure how far the tables themselves lie apart.

    Distances of every numeric sensitive column; two-way tables of every categorical one with each known column of few
    levels; and, from 50 records up, how well a classifier tells released records by the sensitive and known columns.
    Where the known columns were kept as they are, that is compared with shuffling each pair of a confidential and a
    released record.
    """
    released = list(tables)
    figures: Figures = {}
    for column in numeric_columns(schema):
        for measure in (ecdf_distances, wasserstein):
            _add(figures, measure(table, released, column, missing=missing))
            if groups is not None:
                _add(figures, measure(table, released, column, groups=groups, missing=missing))
    few = [name for name in schema.having("known") if table.frame[name].nunique(dropna=False) <= _MOST_LEVELS]
    pairs = [
        (name, other)
        for name in schema.having("sensitive")
        if schema[name].kind == "categorical" and table.frame[name].nunique(dropna=False) <= _MOST_LEVELS
        for other in few
    ]
    if pairs:
        _add(figures, table_difference(table, released, pairs))
    columns = [*schema.having("sensitive"), *_seen_by_classifier(table, schema)]
    if len(table.frame) < LEAST_RECORDS or all(table.frame[name].nunique(dropna=False) < 2 for name in columns):
        return figures
    kept = _kept_as_they_are(table, released, columns, schema.having("known"))
    for method in methods:
        found = propensity(
            table,
            released,
            columns,
            method=method,
            permutations=PERMUTATIONS if kept or method == "tree" else None,
            pairs=kept,
            seed=seed,
            missing="error" if kept else "keep",
        )
        _add(figures, found, suffix=f", {'logistic' if method == 'logistic' else 'classification tree'}")
    return figures


def _seen_by_classifier(table: Table, schema: Schema) -> list[str]:
    chosen, indicators = [], 0
    for name in schema.having("known"):
        numeric = schema[name].kind != "categorical"
        indicators += 1 if numeric else table.frame[name].nunique(dropna=False) - 1
        if indicators > _MOST_INDICATORS:
            break
        chosen.append(name)
    return chosen


def _kept_as_they_are(table: Table, tables: Sequence[Table], columns: Sequence[str], known: Sequence[str]) -> bool:
    """Whether every table has the known values of the confidential one, record by record, and no value is missing."""
    kept = table.frame[list(known)]
    return not table.frame[list(columns)].isna().any(axis=None) and all(
        len(other.frame) == len(kept)
        and other.frame[list(known)].equals(kept)
        and not other.frame[list(columns)].isna().any(axis=None)
        for other in tables
    )


def _add(figures: Figures, found: Distances, suffix: str = "") -> None:
    for row in found.summary.to_dict("records"):
        # What is the same for every table, such as an expectation, has no interval over tables.
        fixed = bool(np.isclose(row["low"], row["high"], rtol=1e-9, atol=0.0))
        ends = (np.nan, np.nan) if fixed else (float(row["low"]), float(row["high"]))
        name = _within(f"{row['measure']}{suffix}", row.get("group"))
        figures.setdefault(f"{row['column']}", {})[name] = Figure(float(row["value"]), *ends)


def _within(name: str, group: Any) -> str:
    return name if group is None or pd.isna(group) else f"{name}, within {group}"
