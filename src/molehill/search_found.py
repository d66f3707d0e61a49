"""What a search found: the best point confirmed with fresh draws, the release drawn from it, all of it in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from molehill.errors import InputError
from molehill.figures.style import short_label
from molehill.frames import as_table
from molehill.profile import range_ends, value_range
from molehill.release import Release, measured_by
from molehill.risk import release_risk
from molehill.search_points import Bench, Point, find_breaking, judge_measured, list_points, measure
from molehill.search_release import is_plain, measure_baselines, point_settings, release_point
from molehill.search_targets import record_figure
from molehill.searched import Searched
from molehill.settings import format_settings
from molehill.synthesis import draw
from molehill.targets import Target

Floats = NDArray[np.float64]
Tell = Callable[[str], None]

# Tables of the confirmation, as far as the fit has draws.
CONFIRMED_WITH = 1000
# Releases drawn at most until one keeps the realised targets, and rounds of drawing unlucky records anew in each.
RELEASES = 5
ROUNDS = 20
RUNNERS_UP = 3
# Predicted tables that a point is measured with, unless the caller says otherwise.
EXPECTED_TABLES = 400
_LONGEST = 96


@dataclass(frozen=True)
class Budget:
    """How much a search may cost: fits, and seconds if they are limited."""

    fits: int
    seconds: float | None = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Found(Searched):
    """What a search found: the answer as in `molehill.searched.Searched`, with what it was made of.

    Attributes
    ----------
    settings
        The text of a settings file that repeats the search.
    datasets
        The tables that keep the targets, on which the realised ones were seen to hold. Empty if none does.
    bench
        All fits and points. Not for publication.
    """

    settings: str
    datasets: Sequence[Any]
    bench: Bench | None

    @property
    def point(self) -> Point | None:
        """The chosen point, or the closest one: its fit, weights and memberships. Not for publication."""
        return None if self.bench is None or self.place is None else self.bench.points[self.place]

    def release(self, tell: Tell | None = None) -> Release:
        """Give the chosen point, or the closest one, as a release beside what it is compared with; see its `save`."""
        if self.bench is None or self.point is None:
            raise InputError("targets", "nothing was fitted, so that there is no release", "Ask for what can be kept")
        return release_point(self.bench, self.point, self, self.datasets, tell)


def rank_points(bench: Bench) -> list[Point]:
    """The best first: of those that lose as little as the least, within its error, the least risky.

    What lies below the noise floor loses nothing. Fits that have not converged come after those that have.
    """
    met = [point for point in bench.points if point.met]
    if not met:
        return sorted(bench.points, key=lambda point: (point.gap, point.number))
    usable, doubtful = [p for p in met if p.usable], [p for p in met if not p.usable]
    return _rank_met(bench, usable) + _rank_met(bench, doubtful)


def _rank_met(bench: Bench, met: list[Point]) -> list[Point]:
    if not met:
        return []
    least = min(met, key=lambda point: (bench.loss(point), point.number))
    alike = {p.number for p in met if bench.loss(p) - bench.loss(least) <= least.distance_error}
    first = sorted((p for p in met if p.number in alike), key=lambda p: (float(np.nanmean(p.measured.risk)), p.number))
    return first + sorted((p for p in met if p.number not in alike), key=lambda p: (p.distance, p.number))


def conclude(bench: Bench, budget: Budget, tell: Tell | None) -> Found:
    """Confirm the best point with fresh draws, draw the release, and put the result into words."""
    ranked = rank_points(bench)
    chosen, met, drawn = ranked[0], False, ([], 0, 0)
    probability = _count_breaks(bench, chosen.measured.runs)
    for point in [point for point in ranked if point.met][:RUNNERS_UP]:
        if tell is not None:
            tell(f"confirming with fresh draws: {point}")
        confirmed, confirmed_probability = _confirm(bench, point)
        if confirmed:
            drawn = _draw_release(bench, point)
        if drawn[0]:
            chosen, met, probability = point, True, confirmed_probability
            break
    others = [point for point in ranked if point is not chosen][:RUNNERS_UP]
    frame = list_points(bench.points, bench.floor[0])
    way = pd.DataFrame(columns=["pattern", "range", "records"]) if met else _stand_in_the_way(bench, chosen)
    row = frame.iloc[chosen.number]
    tables, releases, redrawn = drawn
    command = repeat_command(bench, chosen, budget)
    note = _write_note(chosen, command)
    realised = any(target.basis == "realised" and target.measure == "maximum" for target in bench.targets)
    return Found(
        met=met,
        verdict=_tell_verdict(bench, row, way, met=met, probability=probability, drawn=(releases, redrawn)),
        targets=bench.settings.targets,
        points=frame,
        place=chosen.number,
        next_places=tuple(point.number for point in others),
        standing_in_the_way=way,
        baselines=measure_baselines(bench),
        cost=_count_cost(bench),
        probability=probability[0],
        probability_low=probability[1],
        probability_high=probability[2],
        floor=bench.floor[0],
        floor_error=bench.floor[1],
        releases=releases,
        redrawn=redrawn,
        may_redraw=realised and bench.redraw > 0,
        command=command,
        note=note,
        settings=format_settings(point_settings(bench, chosen), notes={"targets": note}),
        datasets=tables,
        bench=bench,
    )


def _confirm(bench: Bench, point: Point) -> tuple[bool, tuple[float, float, float]]:
    """Measure a point anew: whether it still meets the targets, and the chance that a release breaks a realised one."""
    seed = int(np.random.SeedSequence([bench.settings.seed or 0, 3, point.number]).generate_state(1)[0])
    fresh = measure(bench, point.posterior, seed=seed, tables=CONFIRMED_WITH)
    judged = judge_measured(bench, fresh, point.by_prior, margin=0.0)
    probability = _count_breaks(bench, fresh.runs)
    # A chance is judged by its interval: few runs cannot tell a fifth from a quarter.
    held = [
        verdict.met or (verdict.target.basis == "realised" and probability[1] <= bench.chance) for verdict in judged
    ]
    return all(held), probability


def _count_breaks(bench: Bench, runs: Floats) -> tuple[float, float, float]:
    """Share of independent runs that break a realised target, with its interval; NaN without such a target."""
    realised = [target for target in bench.targets if target.basis == "realised"]
    if not realised:
        return np.nan, np.nan, np.nan
    broken = np.zeros(len(runs), dtype=bool)
    for target in realised:
        broken |= record_figure(target, runs) > target.bound + 1e-12
    number, all_runs = int(broken.sum()), len(broken)
    low = float(beta.ppf(0.025, number, all_runs - number + 1)) if number else 0.0
    high = float(beta.ppf(0.975, number + 1, all_runs - number)) if number < all_runs else 1.0
    return number / all_runs, low, high


def _draw_release(bench: Bench, point: Point) -> tuple[list[Any], int, int]:
    """Draw tables until a release keeps the realised targets: the tables, how many releases, and records drawn anew.

    A record whose luck breaks a target on the maximum is drawn anew, in all tables and from the same draws of the
    parameters, until it keeps it: the release is then one drawn at random among those that keep the target. It is done
    only for records whose expected risk keeps the bound, so that bad luck is undone and no risk is hidden.
    """
    realised = [target for target in bench.targets if target.basis == "realised"]
    bound = min((target.bound for target in realised if target.measure == "maximum"), default=1.0)
    how: dict[str, Any] = measured_by(bench.settings) | {"singletons": bench.settings.singletons}
    column, expected = bench.settings.sensitive, np.nan_to_num(point.measured.risk)
    for number in range(RELEASES):
        state = np.random.SeedSequence([bench.settings.seed or 0, 4, point.number, number])
        seeds = [int(seed) for seed in state.generate_state(1 + ROUNDS)]
        draws: dict[str, Any] = {"datasets": bench.settings.datasets, "unconverged": "allow"}
        tables = draw(point.posterior, seed=seeds[0], **draws)
        anew = np.zeros(len(expected), dtype=bool)
        for seed in seeds[1:]:
            risk = release_risk(bench.table, tables, **how).realised
            if all(record_figure(target, risk[None])[0] <= target.bound + 1e-12 for target in realised):
                return tables, number + 1, int(anew.sum())
            unlucky = (np.nan_to_num(risk) > bound + 1e-12) & (expected <= bound)
            if bench.redraw == 0 or not unlucky.any():
                break
            anew |= unlucky
            for table, other in zip(tables, draw(point.posterior, seed=seed, **draws), strict=True):
                own, fresh = as_table(table).frame, as_table(other).frame
                own.loc[unlucky, column] = fresh.loc[unlucky, column]
    return [], RELEASES, 0


def _stand_in_the_way(bench: Bench, point: Point) -> pd.DataFrame:
    """Say in which patterns and ranges of values the records lie that break the targets."""
    breaking = np.flatnonzero(find_breaking(bench, point))
    patterns, values = bench.confidential.patterns, bench.values
    ends = range_ends(values[~np.isnan(values)])
    labels = patterns.labels().to_dict("records")
    rows = []
    for record in breaking:
        known = ", ".join(f"{name} {value}" for name, value in labels[patterns.codes[record]].items())
        rows.append((known or "all records", value_range(values[[record]], ends)))
    frame = pd.DataFrame(rows, columns=["pattern", "range"])
    counted = frame.groupby(["pattern", "range"], sort=False).size().rename("records").reset_index()
    return counted.sort_values("records", ascending=False, kind="stable", ignore_index=True)


def _tell_verdict(
    bench: Bench,
    row: pd.Series,
    way: pd.DataFrame,
    *,
    met: bool,
    probability: tuple[float, float, float],
    drawn: tuple[int, int],
) -> str:
    """Put the answer into words, with values as ranges only."""
    first = bench.points[0]
    lines = []
    wanted = "; ".join(short_label(str(target), _LONGEST) for target in bench.targets)
    if met:
        lines.append(f"Found: {row['scheme']} keeps {wanted}.")
    else:
        lines.append(
            f"No release was found that keeps {wanted}, with {len(bench.fits)} fits. Closest: {row['scheme']}."
        )
    lines.append(
        f"Mean expected risk {row['mean_expected_risk']:.3f}, U_m {row['U_m']:.4f} (standard error "
        f"{row['U_m_error']:.4f}); a fresh sample would show U_m {bench.floor[0]:.4f}, the unweighted synthesizer "
        f"shows {first.distance:.4f}."
    )
    if not np.isnan(probability[0]):
        lines.append(
            f"{bench.settings.datasets} fresh tables break the realised targets in {probability[0]:.0%} of independent "
            f"runs (95% interval {probability[1]:.0%} to {probability[2]:.0%})."
        )
        number = "1 record was" if drawn[1] == 1 else f"{drawn[1]} records were"
        told = f"In the release that was drawn they hold; {number} drawn anew for it"
        others = f", and {drawn[0] - 1} releases before it were given up" if drawn[0] > 1 else ""
        lines.append(f"{told}{others}." if met else "")
    if not met and len(way):
        told = "; ".join(
            f"{entry.records} in {short_label(f'{entry.pattern}', _LONGEST)}, {entry.range}"
            for entry in way.head(5).itertuples()
        )
        lines.append(f"{int(way['records'].sum()):,} records stand in the way, most of them: {told}.")
    if not row["converged"]:
        lines.append("Its fit has not converged: it must run longer before anything is released.")
    return "\n".join(line for line in lines if line)


def _write_note(point: Point, command: str) -> str:
    """Say in a settings file what was found and how: for `molehill run`, if the settings say all of it."""
    lines = [f"Found by a search: {point}.", f"The same search again, with this file: {command}"]
    if not is_plain(point):
        lines.append("Weights or memberships of single records are part of it, which no setting says: only the search")
        lines.append("makes it again.")
    return "\n".join(lines)


def repeat_command(bench: Bench, point: Point, budget: Budget) -> str:
    """Give the command that repeats the search from the settings of the point."""
    parts = ["molehill search settings.toml", f"--fits {budget.fits}"]
    parts += [] if budget.seconds is None else [f"--seconds {budget.seconds:g}"]
    parts += [f"--chance {bench.chance:g}", f"--redraw {bench.redraw:g}"]
    parts += [] if bench.tables == EXPECTED_TABLES else [f"--expected-tables {bench.tables}"]
    if point.fitted.move.order not in (0, bench.settings.order):
        parts.append(f"--order {bench.settings.order}")
    parts += [f"--components {bench.settings.components}"] if point.fitted.move.components else []
    return " ".join(parts)


def _count_cost(bench: Bench) -> dict[str, float]:
    cold = [fitted.seconds for fitted in bench.fits if not fitted.warm]
    warm = [fitted.seconds for fitted in bench.fits if fitted.warm]
    return {
        "fits": float(len(bench.fits)),
        "seconds of a cold fit": float(np.mean(cold)) if cold else np.nan,
        "seconds of a warm fit": float(np.mean(warm)) if warm else np.nan,
        "seconds of measuring a point": float(np.mean([point.seconds for point in bench.points])),
        "seconds": bench.spent,
    }


def nothing_found(verdict: str, targets: Sequence[Target]) -> Found:
    """Give the result of a search that made no fit."""
    unknown = dict.fromkeys(("probability", "probability_low", "probability_high", "floor", "floor_error"), np.nan)
    frames: dict[str, Any] = {name: pd.DataFrame() for name in ("points", "standing_in_the_way", "baselines")}
    drawn: dict[str, Any] = {"datasets": [], "releases": 0, "redrawn": 0, "may_redraw": False}
    told: dict[str, Any] = {"command": "", "note": "", "settings": "", "targets": tuple(map(str, targets))}
    nothing: dict[str, Any] = {"met": False, "place": None, "next_places": (), "bench": None}
    cost = {"fits": 0.0, "seconds": 0.0}
    return Found(verdict=verdict, cost=cost, **unknown, **frames, **drawn, **told, **nothing)
