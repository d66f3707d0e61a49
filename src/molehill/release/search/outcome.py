"""What a search found: the best point confirmed with fresh draws, the release drawn from it, all of it in words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from molehill.charts.style import CONFIDENTIAL
from molehill.release.making import PAPER, Tell, assemble, make_baselines, timed_stage
from molehill.release.measuring import evaluate_schemes
from molehill.release.release import Release
from molehill.release.search.judging import count_breaks, record_figure
from molehill.release.search.points import (
    Bench,
    Fitted,
    Point,
    confirm_point,
    find_breaking,
    fit_several,
    list_points,
)
from molehill.release.search.ranking import decide_points, rank_points
from molehill.report.dossier import Searched
from molehill.risk.identification import confidential_risk, release_risk
from molehill.risk.profile import range_ends, value_range
from molehill.sdc_methods import BASELINES
from molehill.synthesis.fitting import draw
from molehill.tables.intervals import mean_over_tables
from molehill.tables.labels import short_label
from molehill.tables.table import as_table
from molehill.utility.distances import ecdf_distances

# Releases drawn at most until one keeps the realised targets, and rounds of drawing unlucky records anew in each.
RELEASES = 5
ROUNDS = 20
RUNNERS_UP = 3
_COMPARED = {"topcoding": 1, "noise": 20}
# Where no replaced column is a number.
NO_RANGE = "-"
_LONGEST = 96


def release_point(
    bench: Bench, point: Point, searched: Searched, datasets: Sequence[Any], on_stage: Tell | None = None
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
    settings, released = bench.settings, point.name
    schemes = {released: point.fitted_as_drawn, **_find_paper(bench, point), **_fit_beside(bench, point, on_stage)}
    seconds = {"searching": bench.spent}
    with timed_stage("drawing tables", seconds, on_stage):
        tables: dict[str, Sequence[Any]] = {}
        for name, entry in schemes.items():
            key = point.in_any_leaf.seed_key if name == released else name
            how: dict[str, Any] = {"seed": bench.job.seed("search", "beside", key), "unconverged": "allow"}
            drawn = datasets if name == released else []
            tables[name] = drawn or draw(entry.posterior, datasets=settings.datasets, **how)
        tables |= make_baselines(bench.job)
    return assemble(
        bench.job,
        tables,
        {name: entry.posterior for name, entry in schemes.items()},
        weights={name: np.nan_to_num(entry.weights) for name, entry in schemes.items()},
        risk=confidential_risk(bench.job.view, order=point.fitted.scheme.order or settings.risk_order),
        fitting={name: entry.seconds for name, entry in schemes.items()},
        seconds=seconds,
        on_stage=on_stage,
        evaluated_by=partial(evaluate_schemes, progress=bench.progress),
        search=searched,
    )


def measure_baselines(bench: Bench) -> pd.DataFrame:
    """Measure mean risk and U_m of topcoding and of noise, and the risk of the confidential table itself."""
    job, rows = bench.job, [{"scheme": CONFIDENTIAL, "risk": float(np.nanmean(bench.confidential.risk))}]
    missing = job.settings.absent
    for name, number in _COMPARED.items() if job.view.numeric else ():
        column = job.view.numeric[0]
        tables = [BASELINES[name](job.table, list(job.view.numeric), seed) for seed in range(number)]
        by_dataset = np.nanmean(release_risk(job.view, tables).by_dataset, axis=1)
        risk = mean_over_tables(by_dataset, least=0.0, most=1.0)
        found = ecdf_distances(job.table, tables, column, missing=missing).summary.set_index("measure").loc["U_m"]
        ends = {"": "value", "_low": "low", "_high": "high"}
        rows.append(
            {"scheme": name}
            | {f"risk{end}": getattr(risk, field) for end, field in ends.items()}
            | {f"U_m{end}": found[field] for end, field in ends.items()}
        )
    return pd.DataFrame(rows)


def _find_paper(bench: Bench, chosen: Point) -> dict[str, Fitted]:
    """The paper's schemes that the search happened to fit, without the chosen point."""
    found = {str(point): point.fitted_as_drawn for point in bench.points if str(point) != str(chosen)}
    return {name: found[name] for name in PAPER if name in found and name in bench.settings.compare}


def _fit_beside(bench: Bench, chosen: Point, on_stage: Tell | None) -> dict[str, Fitted]:
    """The paper's weights in a forest that tells as many records apart, which costs next to nothing."""
    leaf = chosen.fitted.scheme.leaf
    compared = [name for name in PAPER if name in bench.settings.compare and name != chosen.name] if leaf else []
    wanted = {name: replace(PAPER[name], leaf=leaf) for name in compared}
    had = {name: fitted for fitted in bench.fits for name, scheme in wanted.items() if fitted.scheme == scheme}
    lacking = {name: scheme for name, scheme in wanted.items() if name not in had}
    if on_stage is not None and lacking:
        on_stage(f"fitting: {', '.join(lacking)}")
    had |= dict(zip(lacking, fit_several(bench, list(lacking.values())), strict=True))
    return {name: fitted for name in wanted if (fitted := had[name]) is not None}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Found(Searched):
    """What a search found: the answer as in `molehill.report.dossier.Searched`, with what it was made of.

    Attributes
    ----------
    datasets
        The tables that keep the targets, on which the realised ones were seen to hold. Empty if none does.
    bench
        All fits and points. Not for publication.
    """

    datasets: Sequence[Any]
    bench: Bench

    @property
    def point(self) -> Point:
        """The chosen point, or the closest one: its fit and weights. Not for publication."""
        return self.bench.points[self.place]

    def release(self, on_stage: Tell | None = None) -> Release:
        """Give the chosen point, or the closest one, as a release beside what it is compared with; see its `save`."""
        return release_point(self.bench, self.point, self, self.datasets, on_stage)


def conclude(bench: Bench, on_stage: Tell | None = None) -> Found:
    """Confirm the best point with fresh draws, draw the release, and put the result into words."""
    chosen, (tables, releases, redrawn) = _choose(bench, on_stage)
    met = bool(tables)
    others = [point for point in rank_points(bench) if point.number != chosen.number][:RUNNERS_UP]
    probability = count_breaks(bench.targets, chosen.measured.runs)
    way = pd.DataFrame(columns=["pattern", "range", "records"]) if met else _stand_in_the_way(bench, chosen)
    frame = list_points(bench.points, bench.fresh).join(decide_points(bench, chosen))
    if not bench.targets:
        frame["met"] = frame["keeps_as_much"]
    realised = any(target.is_realised and target.statistic == "maximum" for target in bench.targets)
    return Found(
        met=met,
        verdict=_tell_verdict(bench, chosen, frame, way, probability=probability, drawn=(releases, redrawn)),
        targets=bench.targets,
        candidates=frame,
        place=chosen.number,
        next_places=tuple(point.number for point in others),
        blocking_records=way,
        baselines=measure_baselines(bench),
        cost=_count_cost(bench),
        probability=probability[0],
        probability_low=probability[1],
        probability_high=probability[2],
        fresh=bench.fresh,
        releases=releases,
        redrawn=redrawn,
        may_redraw=realised and bench.settings.max_redraw_share > 0,
        note=_write_note(chosen),
        datasets=tables,
        bench=bench,
    )


def _choose(bench: Bench, on_stage: Tell | None) -> tuple[Point, tuple[list[Any], int, int]]:
    """Find the best point that fresh draws confirm, and draw its release; or the closest one, and no tables.

    What is not confirmed does not meet the targets any more, and the next best has its turn; so it has where no rule is
    about risk, and the point turns out to keep less than others.
    """
    unlucky: set[int] = set()
    while met := [point for point in rank_points(bench) if point.met and point.number not in unlucky]:
        if on_stage is not None and not met[0].confirmed:
            on_stage(f"confirming with fresh draws: {met[0]}")
        point = confirm_point(bench, met[0])
        if not bench.rules_risk and rank_points(bench)[0] is not point:
            continue
        drawn = _draw_release(bench, point) if point.met else ([], 0, 0)
        if drawn[0]:
            return point, drawn
        unlucky.add(point.number)
    return rank_points(bench)[0], ([], 0, 0)


def _draw_release(bench: Bench, point: Point) -> tuple[list[Any], int, int]:
    """Draw tables until a release keeps the realised targets: the tables, how many releases, and records drawn anew.

    A record whose luck breaks a target on the maximum is drawn anew, in all tables and from the same draws of the
    parameters, until it keeps it: the release is then one drawn at random among those that keep the target. It is done
    only for records whose expected risk keeps the bound, so that bad luck is undone and no risk is hidden.
    """
    realised = [target for target in bench.targets if target.is_realised]
    bound = min((target.bound for target in realised if target.statistic == "maximum"), default=1.0)
    columns, expected = list(bench.settings.synthesize), np.nan_to_num(point.measured.risk)
    for number in range(RELEASES):
        seeds = [bench.job.seed("search", "release", point.seed_key, number, round_) for round_ in range(1 + ROUNDS)]
        draws: dict[str, Any] = {"datasets": bench.settings.datasets, "unconverged": "allow"}
        tables = draw(point.posterior, seed=seeds[0], **draws)
        anew = np.zeros(len(expected), dtype=bool)
        for seed in seeds[1:]:
            risk = release_risk(bench.view, tables).realised
            if all(record_figure(target, risk[None])[0] <= target.bound + 1e-12 for target in realised):
                return tables, number + 1, int(anew.sum())
            unlucky = (np.nan_to_num(risk) > bound + 1e-12) & (expected <= bound)
            if bench.settings.max_redraw_share == 0 or not unlucky.any():
                break
            anew |= unlucky
            for table, other in zip(tables, draw(point.posterior, seed=seed, **draws), strict=True):
                own, fresh = as_table(table).frame, as_table(other).frame
                own.loc[unlucky, columns] = fresh.loc[unlucky, columns]
    return [], RELEASES, 0


def _stand_in_the_way(bench: Bench, point: Point) -> pd.DataFrame:
    """Say in which patterns and ranges of values the records lie that break the targets."""
    breaking = np.flatnonzero(find_breaking(bench, point))
    patterns, several = bench.view.patterns, len(bench.settings.synthesize) > 1
    columns = {name: bench.view.column(name) for name in bench.view.numeric}
    ends = {name: range_ends(values[~np.isnan(values)]) for name, values in columns.items()}
    labels = patterns.labels().to_dict("records")
    rows = []
    for record in breaking:
        known = ", ".join(f"{name} {value}" for name, value in labels[patterns.codes[record]].items())
        ranges = {name: value_range(values[[record]], ends[name]) for name, values in columns.items()}
        told = "; ".join(f"{name} {range_}" if several else range_ for name, range_ in ranges.items())
        rows.append((known or "all records", told or NO_RANGE))
    frame = pd.DataFrame(rows, columns=["pattern", "range"])
    counted = frame.groupby(["pattern", "range"], sort=False).size().rename("records").reset_index()
    return counted.sort_values("records", ascending=False, kind="stable", ignore_index=True)


def _tell_verdict(
    bench: Bench,
    chosen: Point,
    frame: pd.DataFrame,
    way: pd.DataFrame,
    *,
    probability: tuple[float, float, float],
    drawn: tuple[int, int],
) -> str:
    """Put the answer into words, with values as ranges only."""
    releases, redrawn = drawn
    met, lines = releases > 0, []
    wanted = "; ".join(short_label(str(target), _LONGEST) for target in bench.targets)
    if not bench.targets:
        why = "the safest of those that keep as much as the best"
        if not frame["keeps_as_much"].iloc[chosen.number]:
            why = "the first that was tried: none keeps as much as the best in every criterion"
        lines.append(f"Chosen of {len(bench.points)}: {chosen}, {why}.")
    elif met:
        lines.append(f"Found: {chosen} keeps {wanted}.")
    else:
        lines.append(f"No release was found that keeps {wanted}, with {len(bench.fits)} fits. Closest: {chosen}.")
    lines.append(_tell_kept(bench, chosen, frame.iloc[chosen.number]))
    if not np.isnan(probability[0]):
        lines.append(
            f"{bench.settings.datasets} fresh tables break the realised targets in {probability[0]:.0%} of independent "
            f"runs (95% interval {probability[1]:.0%} to {probability[2]:.0%})."
        )
        number = "1 record was" if redrawn == 1 else f"{redrawn} records were"
        told = f"In the release that was drawn they hold; {number} drawn anew for it"
        others = f", and {releases - 1} releases before it were given up" if releases > 1 else ""
        lines.append(f"{told}{others}." if met else "")
    if not met and len(way):
        told = "; ".join(
            f"{entry.records} in {short_label(f'{entry.pattern}', _LONGEST)}"
            + (f", {entry.range}" if entry.range != NO_RANGE else "")
            for entry in way.head(5).itertuples()
        )
        lines.append(f"{int(way['records'].sum()):,} records stand in the way, most of them: {told}.")
    if not chosen.fitted.converged:
        lines.append("Its fit has not converged: it must run longer before anything is released.")
    return "\n".join(line for line in lines if line)


def _tell_kept(bench: Bench, chosen: Point, row: pd.Series) -> str:
    """Say how a point stands to a fresh sample and to the first point, which is as near to the data as it gets."""
    first = bench.points[0]
    risk = f"Mean expected risk {row['mean_expected_risk']:.3f}"
    if not bench.view.numeric:
        pairs = f"pairs of columns agree by {row['agreement']:.0f} of 1,000"
        return f"{risk}, {pairs}; those of a fresh sample would by {bench.fresh_agreement:.0f}."
    told = f"{risk}, U_m {row['U_m']:.4f} (standard error {row['U_m_error']:.4f}); "
    told += f"a fresh sample would show U_m {bench.fresh:.4f}"
    return f"{told}." if chosen.number == 0 else f"{told}, the first point ({first}) shows {first.distance:.4f}."


def _write_note(point: Point) -> str:
    """Say in a settings file what was found by it."""
    return f"With these a search found: {point}.\n`molehill run` with this file finds the same again."


def _count_cost(bench: Bench) -> dict[str, float]:
    cold = [fitted.seconds for fitted in bench.fits if not fitted.warm]
    warm = [fitted.seconds for fitted in bench.fits if fitted.warm]
    return {
        "fits": float(len(bench.fits)),
        "cold": float(np.mean(cold)) if cold else np.nan,
        "warm": float(np.mean(warm)) if warm else np.nan,
        "measuring": float(np.mean([point.seconds for point in bench.points])),
        "seconds": bench.spent,
    }
