"""What a search found: the best point confirmed with fresh draws, the release drawn from it, all of it in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

from molehill.frames import as_table
from molehill.posterior import Posterior
from molehill.profile import range_ends, value_range
from molehill.risk import release_risk
from molehill.search_moves import with_membership
from molehill.search_points import (
    Bench,
    Point,
    find_breaking,
    judge_measured,
    list_points,
    measure,
    measured_by,
)
from molehill.search_targets import record_figure
from molehill.settings import format_settings
from molehill.synthesis import draw

Floats = NDArray[np.float64]
Tell = Callable[[str], None]

# Tables of the confirmation, as far as the fit has draws.
CONFIRMED_WITH = 1000
# Releases drawn at most until one keeps the realised targets, and rounds of drawing unlucky records anew in each.
RELEASES = 5
ROUNDS = 20
RUNNERS_UP = 3


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """What a search found.

    Attributes
    ----------
    met
        Whether a release that keeps every target was found.
    verdict
        The answer in plain words.
    points
        One row a point: how it was made, risk and utility with their errors, whether each target is met.
    chosen
        The row of the chosen point, or of the closest one if none meets the targets; None if nothing was fitted.
    runners_up
        The rows of the next best.
    standing_in_the_way
        pattern, range, records: who breaks the targets at the closest point, values as ranges. Empty if none does.
    settings
        The text of a settings file that repeats the chosen point.
    cost
        fits, seconds of a cold and of a warm fit (means), seconds of measuring a point, seconds in all.
    probability, probability_low, probability_high
        That L fresh tables break a realised target: the share of independent runs of the confirmation that did, with
        a 95% interval (Clopper and Pearson). NaN without such targets.
    floor, floor_error
        The U_m that a fresh sample of the same size would show, and its standard error.
    datasets, releases, redrawn
        The released tables, on which the realised targets were seen to hold; how many releases were drawn for it; and
        how many records of this one were drawn anew. Empty if the targets are not met.
    weights, by_prior, posterior
        Of the chosen point: weight of every record, its chance of prior membership (None without a mixture), the fit.
        Not for publication.
    """

    met: bool
    verdict: str
    points: pd.DataFrame
    chosen: pd.Series | None
    runners_up: pd.DataFrame
    standing_in_the_way: pd.DataFrame
    settings: str
    cost: Mapping[str, float]
    probability: float
    probability_low: float
    probability_high: float
    floor: float
    floor_error: float
    datasets: Sequence[Any]
    releases: int
    redrawn: int
    weights: Floats | None
    by_prior: Floats | None
    posterior: Posterior | None

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"Found({'met' if self.met else 'not met'}: {len(self.points)} points)"


def rank_points(bench: Bench) -> list[Point]:
    """The best first: of those that lose as little as the least, within its error, the least risky.

    What lies below the noise floor loses nothing.
    """
    met = [point for point in bench.points if point.met]
    if not met:
        return sorted(bench.points, key=lambda point: (point.gap, point.number))
    least = min(met, key=lambda point: (bench.loss(point), point.number))
    alike = {p.number for p in met if bench.loss(p) - bench.loss(least) <= least.distance_error}
    first = sorted((p for p in met if p.number in alike), key=lambda p: (float(np.nanmean(p.measured.risk)), p.number))
    rest = sorted((p for p in met if p.number not in alike), key=lambda p: (p.distance, p.number))
    return first + rest


def conclude(bench: Bench, tell: Tell | None) -> Found:
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
    row = frame.iloc[chosen.number]
    way = pd.DataFrame(columns=["pattern", "range", "records"]) if met else _stand_in_the_way(bench, chosen)
    verdict = _tell_verdict(bench, row, way, met=met, probability=probability, drawn=drawn[1:])
    return Found(
        met,
        verdict,
        frame,
        row,
        frame.iloc[[point.number for point in others]],
        way,
        _write_settings(bench, chosen),
        _count_cost(bench),
        *probability,
        *bench.floor,
        *drawn,
        chosen.fitted.weights,
        chosen.by_prior,
        _posterior(chosen),
    )


def _confirm(bench: Bench, point: Point) -> tuple[bool, tuple[float, float, float]]:
    """Measure a point anew: whether it still meets the targets, and the chance that a release breaks a realised one."""
    seed = int(np.random.SeedSequence([bench.settings.seed or 0, 3, point.number]).generate_state(1)[0])
    fresh = measure(bench, _posterior(point), seed=seed, tables=CONFIRMED_WITH)
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


def _posterior(point: Point) -> Posterior:
    """The fit of a point, predicting as the point does."""
    posterior = point.fitted.posterior
    return posterior if point.by_prior is None else with_membership(posterior, point.by_prior)


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
        tables = draw(_posterior(point), seed=seeds[0], **draws)
        anew = np.zeros(len(expected), dtype=bool)
        for seed in seeds[1:]:
            risk = release_risk(bench.table, tables, **how).realised
            if all(record_figure(target, risk[None])[0] <= target.bound + 1e-12 for target in realised):
                return tables, number + 1, int(anew.sum())
            unlucky = (np.nan_to_num(risk) > bound + 1e-12) & (expected <= bound)
            if bench.redraw == 0 or not unlucky.any():
                break
            anew |= unlucky
            for table, other in zip(tables, draw(_posterior(point), seed=seed, **draws), strict=True):
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
    wanted = "; ".join(map(str, bench.targets))
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
        told = f"In the release that was drawn they hold; {drawn[1]} records were drawn anew for it"
        others = f", and {drawn[0] - 1} releases before it were given up" if drawn[0] > 1 else ""
        lines.append(f"{told}{others}." if met else "")
    if not met and len(way):
        told = "; ".join(f"{entry.records} in {entry.pattern}, {entry.range}" for entry in way.head(5).itertuples())
        lines.append(f"{int(way['records'].sum()):,} records stand in the way, most of them: {told}.")
    if not row["converged"]:
        lines.append("Its fit has not converged: it must run longer before anything is released.")
    return "\n".join(line for line in lines if line)


def _write_settings(bench: Bench, point: Point) -> str:
    """Give the settings file of the point: for `molehill run` if order, scale, shift and membership say it all."""
    move, by_prior = point.fitted.move, point.by_prior
    plain = move.rounds == 0 and (by_prior is None or (np.ptp(by_prior) == 0 and float(by_prior[0]) in (0.0, 1.0)))
    settings = replace(
        bench.settings,
        order=move.order or bench.settings.order,
        scale=move.scale,
        # No weighting is a shift that lifts every weight to 1.
        shift=move.shift if move.order else 1.0,
        membership="prior" if by_prior is not None and float(by_prior.mean()) == 1 else "posterior",
    )
    lines = [f"# Found by a search: {point}.", *(f"# Target: {target}." for target in bench.targets)]
    if not plain:
        lines.append(
            "# Weights or memberships of single records are part of it, which no setting says: the same search"
        )
        lines.append("# (same targets, budget and seed) makes it again.")
    return "\n".join(lines) + "\n" + format_settings(settings)


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


def nothing_found(verdict: str) -> Found:
    """Give the result of a search that made no fit."""
    empty = pd.DataFrame()
    cost = {"fits": 0.0, "seconds": 0.0}
    none: dict[str, Any] = dict.fromkeys(("chosen", "weights", "by_prior", "posterior"))
    unknown = dict.fromkeys(("probability", "probability_low", "probability_high", "floor", "floor_error"), np.nan)
    frames: dict[str, Any] = dict.fromkeys(("points", "runners_up", "standing_in_the_way"), empty)
    drawn: dict[str, Any] = {"datasets": [], "releases": 0, "redrawn": 0}
    return Found(met=False, verdict=verdict, settings="", cost=cost, **none, **unknown, **frames, **drawn)
