"""The point that a search chose as a release like any other, beside what the search fitted anyway."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.baselines import add_noise, topcode
from molehill.distances import ecdf_distances
from molehill.figures.style import CONFIDENTIAL
from molehill.over_tables import mean_over_tables
from molehill.release import TOPCODED_ABOVE, Release, evaluate_schemes, measured_by, read_regressions, timed_stage
from molehill.risk import release_risk
from molehill.search_moves import Move
from molehill.search_points import Bench, Point, risk_of_order, seed_of
from molehill.searched import Searched
from molehill.settings import Settings
from molehill.synthesis import draw

Tell = Callable[[str], None]

BASELINES = ["scheme", "risk", "risk_low", "risk_high", "U_m", "U_m_low", "U_m_high"]
_NOISE_TABLES = 20
# The schemes of the paper, if the search fitted them.
_PAPER = {"unweighted": Move(), "marginal": Move(1), "pairwise": Move(2)}


def release_point(
    bench: Bench, point: Point, searched: Searched, datasets: Sequence[Any], tell: Tell | None = None
) -> Release:
    """Make the release of a point, measured beside the paper's schemes as far as they were fitted, and topcoding.

    Parameters
    ----------
    bench, point
        The search, and the chosen or the closest point.
    searched
        What the search found, for the report.
    datasets
        The tables that keep the targets; if there are none, some of the point are drawn, to be measured only.
    tell
        Called with the name of every stage as it begins.
    """
    settings, released = point_settings(bench, point), name_scheme(point)
    schemes = {released: point, **_find_paper(bench, point)}
    seconds = {"searching": bench.spent}
    seconds |= {f"fitting: {name}": entry.fitted.seconds for name, entry in schemes.items()}
    with timed_stage("drawing tables", seconds, tell):
        tables: dict[str, Sequence[Any]] = {}
        for number, (name, entry) in enumerate(schemes.items()):
            how: dict[str, Any] = {"seed": seed_of(bench, 5, number), "unconverged": "allow"}
            drawn = datasets if name == released else []
            tables[name] = drawn or draw(entry.posterior, datasets=settings.datasets, **how)
        if "topcoding" in settings.compare:
            tables["topcoding"] = [topcode(bench.table, settings.sensitive, percentile=TOPCODED_ABOVE)]
    with timed_stage("measuring risk and utility", seconds, tell):
        posteriors = {name: entry.posterior for name, entry in schemes.items()}
        analyses = [*bench.analyses, *read_regressions(settings, bench.table)]
        evaluation = evaluate_schemes(
            bench.table, tables, posteriors, settings, released=released, analyses=analyses, seed=seed_of(bench, 6, 0)
        )
    risk = risk_of_order(bench, settings.order)
    return Release(
        tables[released],
        released,
        np.nan_to_num(point.fitted.weights),
        risk,
        point.posterior,
        {name: made for name, made in tables.items() if name != released},
        {name: entry.fitted.posterior.diagnostics for name, entry in schemes.items()},
        evaluation,
        settings,
        seconds,
        searched,
        point.by_prior,
    )


def point_settings(bench: Bench, point: Point) -> Settings:
    """Give the settings of a point, as far as order, scale, shift and membership say it."""
    move, by_prior = point.fitted.move, point.by_prior
    return replace(
        bench.settings,
        order=move.order or bench.settings.order,
        scale=move.scale,
        # No weighting is a shift that lifts every weight to 1.
        shift=move.shift if move.order else 1.0,
        components=move.components or bench.settings.components,
        membership="prior" if by_prior is not None and float(by_prior.mean()) == 1 else "posterior",
    )


def is_plain(point: Point) -> bool:
    """Whether settings say all of a point: no weight and no membership is that of single records."""
    return point.fitted.move.rounds == 0 and point.is_flat


def name_scheme(point: Point) -> str:
    """Name a point as a scheme: the paper's have their usual names."""
    return str(point.fitted.move) if _has_posterior_membership(point) else str(point)


def measure_baselines(bench: Bench) -> pd.DataFrame:
    """Measure mean risk and U_m of topcoding and of noise, and the risk of the confidential table itself."""
    settings, unknown = bench.settings, (np.nan, np.nan)
    rows: list[tuple[Any, ...]] = [
        (CONFIDENTIAL, float(np.nanmean(bench.confidential.risk)), *unknown, np.nan, *unknown)
    ]
    column, missing = settings.sensitive, settings.missing
    noisy = [add_noise(bench.table, column, scale=0.1, seed=number) for number in range(_NOISE_TABLES)]
    capped = [topcode(bench.table, column, percentile=TOPCODED_ABOVE)]
    shared: dict[str, Any] = measured_by(settings) | {"singletons": settings.singletons}
    for name, tables in {"topcoding": capped, "noise, 10% of the sd": noisy}.items():
        by_table = np.nanmean(release_risk(bench.table, tables, **shared).by_table, axis=1)
        found = ecdf_distances(bench.table, tables, column, missing=missing).summary  # pyright: ignore[reportArgumentType]
        distance = found.set_index("measure").loc["U_m", ["value", "low", "high"]]
        rows.append((name, *mean_over_tables(by_table, least=0.0, most=1.0), *distance))
    return pd.DataFrame(rows, columns=BASELINES)


def _find_paper(bench: Bench, chosen: Point) -> dict[str, Point]:
    """The paper's schemes that the search happened to fit, with posterior membership, without the chosen point."""
    found = {}
    for name, move in _PAPER.items():
        own = [point for point in bench.points if point.fitted.move == move and _has_posterior_membership(point)]
        if own and own[0] is not chosen and name in bench.settings.compare:
            found[name] = own[0]
    return found


def _has_posterior_membership(point: Point) -> bool:
    return point.by_prior is None or not point.by_prior.any()
