"""Every measure of risk of one release, as figures by column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from molehill.risk.attacks import guess_values, pooled_risk
from molehill.risk.identification import ReleaseRisk, Singletons, match_rates, release_risk
from molehill.risk.intruder import Radius
from molehill.risk.moles import Moles, count_rises
from molehill.risk.profile import profile_release
from molehill.tables.intervals import Figure, mean_over_tables
from molehill.tables.schema import Schema
from molehill.tables.table import Table

Floats = NDArray[np.float64]
Figures = dict[str, dict[str, Figure]]

# An intruder's radius as a multiple of the agency's.
RADII = (0.5, 1.5, 2.0)
MATCHES = {
    "expected right matches": "expected",
    "unique matches": "unique",
    "true match rate": "true",
    "false match rate": "false",
}


def measure_risk(
    table: Table,
    tables: list[Table],
    risk: ReleaseRisk,
    schema: Schema,
    *,
    settings: Mapping[str, Any],
    singletons: Singletons,
    radii: Sequence[Radius] | None,
) -> Figures:
    """Profile, other radii, pooled tables and match rates, under the names of all sensitive columns.

    `settings` are those that `release_risk`, `match_rates` and `pooled_risk` share.
    """
    figures = profile_release(risk.by_table)
    for other in other_radii(settings["radius"]) if radii is None else radii:
        at = release_risk(table, tables, singletons=singletons, **{**settings, "radius": other})
        profile = profile_release(at.by_table)
        for measure in ("mean risk", "records with risk above 0.5"):
            figures[f"{measure}, intruder radius {_tell_radius(other)}"] = profile[measure]
    if len(tables) > 1:
        pooled = pooled_risk(table, tables, singletons=singletons, **settings)
        figures["mean risk, tables pooled"] = pooled.mean
        figures["share of right picks, tables pooled"] = pooled.right_picks
    rates = match_rates(table, tables, **settings)
    for words, name in MATCHES.items():
        most = 1.0 if name in {"true", "false"} else float(len(risk.realised))
        values = np.asarray(getattr(rates, name), dtype=np.float64)
        figures[words] = mean_over_tables(values, least=0.0, most=most)
    return {", ".join(schema.having("sensitive")): figures}


def measure_guesses(
    table: Table, tables: list[Table], schema: Schema, *, settings: Mapping[str, Any]
) -> tuple[Figures, dict[str, dict[str, Floats]]]:
    """Attribute disclosure of each sensitive column: figures, and (tables, records) with 1 for a right guess."""
    figures: Figures = {}
    by_record = {}
    for column in schema.having("sensitive"):
        guesses = guess_values(table, tables, **_for_column(settings, schema, column))
        figures[column] = dict(guesses.figures)
        words = next(iter(guesses.figures))
        by_record[column] = {words: guesses.own, f"{words}, without the record": guesses.without}
    return figures, by_record


def measure_rises(
    risk: ReleaseRisk, reference: ReleaseRisk, *, runs: Floats | None, found: Moles | None, step: float, seed: int
) -> dict[str, Figure]:
    """Rises against the reference with what chance alone would show, and moles if the expected risks are known."""
    rises = count_rises(risk.by_table, reference.by_table, step=step, runs=runs, seed=seed)
    words = f"records whose risk rises by more than {step:g}"
    figures = {
        words: Figure(float(rises.number), np.nan, np.nan),
        f"{words}, by chance alone": Figure(rises.null, rises.null_low, rises.null_high),
    }
    if found is not None:
        figures[f"moles: records whose expected risk rises by more than {step:g}"] = Figure(
            float(found.number), np.nan, np.nan
        )
    return figures


def other_radii(radius: Radius) -> list[Radius]:
    """Multiples of a radius, none above 1 and each once.

    Examples
    --------
    >>> other_radii(0.6)
    [0.3, 0.9, 1.0]
    """
    radii: list[Radius] = []
    for factor in RADII:
        if isinstance(radius, Mapping):
            other: Radius = {name: _round(factor * value) for name, value in radius.items()}
        else:
            other = None if radius is None else _round(factor * radius)
        if other != radius and other not in radii:
            radii.append(other)
    return radii


def _round(radius: float) -> float:
    # Half as much again of 0.2 is 0.3, and not a hair above it.
    return min(round(radius, 12), 1.0)


def _tell_radius(radius: Radius) -> str:
    if isinstance(radius, Mapping):
        return ", ".join(f"{value:g} of {name}" for name, value in radius.items())
    return f"{radius:g}"


def _for_column(settings: Mapping[str, Any], schema: Schema, column: str) -> dict[str, Any]:
    """Settings for one sensitive column alone."""
    kind = schema[column].kind
    alone = dict(settings) | {"sensitive": column, "kinds": {**(settings["kinds"] or {}), column: kind}}
    for name, nothing in (("radius", None), ("floor", 0.0)):
        given = settings[name]
        if isinstance(given, Mapping):
            alone[name] = nothing if kind == "categorical" else {column: given[column]}
    return alone
