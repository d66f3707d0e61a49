"""Shapes of the sensitive columns under every scheme: the curves and shares that a board sees before any measure.

All of it is told on grids of round numbers and for the agency alone: a curve of the confidential table lets its values
be read to the next grid point.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.arrays import Floats
from molehill.evaluation.catalogue.relations import agreements
from molehill.evaluation.context import Context
from molehill.evaluation.measure import FEW
from molehill.tables.resolution import years_of
from molehill.utility.densities import (
    masked_grid,
    share_above,
    share_below,
    smooth_density,
    tail_grid,
    usual_bandwidth,
)

COLUMNS = ["scheme", "column", "by", "group", "curve", "level", "at", "value"]
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_POINTS, _POINTS_OF_GROUP = 120, 48
# Of fewer records a group has no curve worth looking at.
_LEAST = 30
_MOST_LEVELS, _MOST_COLUMNS = 8, 3
_MOST_CATEGORIES = 30

Curve = tuple[str, str, float, float]


def list_shapes(contexts: Mapping[str, Context]) -> pd.DataFrame:
    """Describe every sensitive column in every context, the confidential one first.

    Returns
    -------
    pandas.DataFrame
        scheme, column, by and group (empty for all records), curve, level, at, value. Of a number the curves are
        "density", "below" (share at or below), "above" and "beneath" (share above `at`, and below minus `at`: the
        tails) and "quantile" (at a share, to three digits); of a category "level", the share of each level. Dates are
        in years, without tails. The tables of a release are taken together. "pair" is how far the shares of the
        combinations of a column and another, `by`, lie from the confidential ones (total variation), and `at` what a
        fresh sample would be expected to show.
    """
    contexts = {name: context.compared for name, context in contexts.items()}
    first = next(iter(contexts.values()))
    rows: list[tuple[object, ...]] = []
    for column in first.view.intruder.sensitive:
        found = (_numbers if column in first.view.numeric else _categories)(contexts, column)
        rows += [(scheme, column, *about) for scheme, *about in found]
    rows += [row for scheme, context in contexts.items() for row in _pairs(scheme, context)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _pairs(scheme: str, context: Context) -> Iterator[tuple[object, ...]]:
    """How far every pair of columns lies apart that contains a sensitive one, from either side if both are."""
    found = agreements(context)
    if found is None:
        return
    sensitive, sets = context.view.schema.having("sensitive"), found.sets
    # One column alone has no pair.
    for row in sets[(sets["ways"] == 2) & (sets["columns"].map(len) == 2)].to_dict("records"):
        one, other = row["columns"]
        for column, by in ((one, other), (other, one)):
            if column in sensitive:
                told = float(f"{row['fresh']:.4g}"), float(f"{row['distance']:.4g}")
                yield scheme, column, by, "", "pair", "", *told


def values_of(context: Context, column: str) -> list[Floats]:
    """Give the values of a numeric column in every table of a context, of the records that have one."""
    tables = context.readings if context.is_release else [context.view]
    return [values[~np.isnan(values)] for values in (table.column(column) for table in tables)]


def _numbers(contexts: Mapping[str, Context], column: str) -> Iterator[tuple[object, ...]]:
    for by, group, codes in [("", "", None), *_groups(next(iter(contexts.values())))]:
        values = {name: _values_in(context, column, codes) for name, context in contexts.items()}
        dated = next(iter(contexts.values())).view.schema[column].kind == "date"
        if dated:
            values = {name: years_of(days) for name, days in values.items()}
        own = next(iter(values.values()))
        if len(own) < (_LEAST if by else 2):
            continue
        # Dates have no tails that would be told by their size.
        tail = tail_grid(own[:0] if dated else own, np.concatenate(list(values.values())))
        losses = tail_grid(-own if (own < 0).sum() >= FEW else own[:0], -np.concatenate(list(values.values())))
        grid = masked_grid(own, _POINTS_OF_GROUP if by else _POINTS)
        bandwidth = usual_bandwidth(own, grid)
        for scheme, of_scheme in values.items():
            if len(of_scheme):
                for curve in _curves(of_scheme, grid, bandwidth, tail, losses):
                    yield (scheme, by, group, *curve)


def _curves(values: Floats, grid: Floats, bandwidth: float, tail: Floats, losses: Floats) -> Iterator[Curve]:
    found = {
        "density": (grid, smooth_density(values, grid, bandwidth)),
        "below": (grid, share_below(values, grid)),
        "above": (tail, share_above(values, tail)),
        "beneath": (losses, share_above(-values, losses)),
        # To three digits: a quantile is somebody's value.
        "quantile": (np.array(QUANTILES), np.array([float(f"{q:.3g}") for q in np.quantile(values, QUANTILES)])),
    }
    for curve, (places, heights) in found.items():
        for at, height in zip(places.tolist(), heights.tolist(), strict=True):
            yield curve, "", float(f"{at:.6g}"), float(f"{height:.5g}")


def _categories(contexts: Mapping[str, Context], column: str) -> Iterator[tuple[object, ...]]:
    first = next(iter(contexts.values()))
    frame = first.view.table.frame
    levels = frame[column].astype(str).value_counts().index[:_MOST_CATEGORIES]
    for scheme, context in contexts.items():
        frames = [table.frame for table in context.tables] if context.is_release else [frame]
        shares = pd.concat([one[column] for one in frames]).dropna().astype(str).value_counts(normalize=True)
        for level in levels:
            yield scheme, "", "", "level", level, np.nan, float(shares.get(level, 0.0))


def _groups(context: Context) -> Iterator[tuple[str, str, NDArray[np.intp]]]:
    """Give the levels of the first known columns that have few: each with the patterns that are of it."""
    labels = context.view.patterns.labels()
    few = [name for name in labels if 1 < labels[name].nunique() <= _MOST_LEVELS]
    for name in few[:_MOST_COLUMNS]:
        for level in sorted(labels[name].unique(), key=str):
            yield f"{name}", f"{level}", np.flatnonzero(labels[name] == level)


def _values_in(context: Context, column: str, patterns: NDArray[np.intp] | None) -> Floats:
    if patterns is None:
        return np.concatenate(values_of(context, column))
    tables = [(one.column(column), one.patterns) for one in context.readings]
    tables = tables or [(context.view.column(column), context.view.patterns.codes)]
    return np.concatenate([values[~np.isnan(values) & np.isin(codes, patterns)] for values, codes in tables])
