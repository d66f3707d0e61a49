"""From a rule to a release: the scheme that keeps the most utility under targets of risk, or why there is none.

Arguments and settings are checked, and what they need is chosen; `search_order` then tries one move after the other,
`search_points` fits and measures them, and `search_found` confirms the best. Every point is kept.
"""

import json
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from molehill.errors import InputError, check_choice
from molehill.evaluation.utility_measures import default_analyses
from molehill.files import written_whole
from molehill.plan.settings import Settings
from molehill.plan.targets import Target, impossible, read_targets
from molehill.release.making import choose_synthesizer, column_roles, complete_settings, read_regressions
from molehill.release.search.moves import FEEDBACK, Move, along_path, has_membership, weigh_down
from molehill.release.search.outcome import EXPECTED_TABLES, Budget, Found, conclude, nothing_found
from molehill.release.search.points import (
    Bench,
    Fitted,
    Point,
    find_breaking,
    fit_move,
    judge_measured,
    measure_point,
    mix_measured,
    open_bench,
)
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.tables.schema import infer_schema
from molehill.tables.table import Table, as_table
from molehill.utility import Analysis


def try_moves(bench: Bench, budget: Budget) -> Iterator[Point]:
    """Try moves, the least distorting first, and give every point as it is measured."""
    seconds = np.inf if budget.seconds is None else budget.seconds

    def left() -> int:
        return budget.fits - len(bench.fits) if bench.spent < seconds else 0

    plain = fit_move(bench, Move())
    assert plain is not None
    yield from _memberships(bench, plain)
    plain = yield from _simplify(bench, plain, left)
    if _good_enough(bench):
        return
    for order in [bench.settings.order, *(order for order in (1, 2) if order != bench.settings.order)]:
        for tries in (partial(_follow_path, order=order, plain=plain), _feed_back):
            if _good_enough(bench) or left() < 1:
                return
            # Half of what is left is kept for what comes after.
            kept = left() // 2
            yield from tries(bench, left=lambda kept=kept: left() - kept)


def _simplify(bench: Bench, plain: Fitted, left: Callable[[], int]) -> Generator[Point, None, Fitted]:
    """Where the mixture has not converged, halve its components until it does; give the fit to go on from."""
    fitted, components = plain, bench.settings.components
    while not fitted.converged and components > 1 and left() > 1 and bench.fewer and has_membership(plain.posterior):
        components //= 2
        smaller = fit_move(bench, Move(components=components))
        assert smaller is not None
        yield from _memberships(bench, smaller)
        fitted = smaller
    return fitted if fitted.converged else plain


def _memberships(bench: Bench, fitted: Fitted) -> Iterator[Point]:
    """Measure a fit with posterior membership and, if that is not enough, with ever more of the prior one."""
    given = measure_point(bench, fitted, 0.0)
    yield given
    if _settles(given) or not has_membership(fitted.posterior):
        return
    free = measure_point(bench, fitted, 1.0)
    yield free
    if not _settles(free):
        return
    codes = bench.confidential.patterns.codes
    breaking = find_breaking(bench, given)
    tried: list[Any] = [np.isin(codes, np.unique(codes[breaking])).astype(np.float64)]
    for by_prior in chain(tried, np.arange(0.1, 1.0, 0.1).round(1)):
        # What cannot do is seen from the two points that are known, without drawing a table.
        foreseen = mix_measured(given.measured, free.measured, by_prior)
        share = np.broadcast_to(by_prior, codes.shape)
        judged = judge_measured(bench, foreseen, np.array(share, dtype=np.float64))
        if np.mean(by_prior) < 1 and all(verdict.met for verdict in judged if verdict.target.is_risk):
            point = measure_point(bench, fitted, by_prior)
            yield point
            if _settles(point) and by_prior is not tried[0]:
                return


def _follow_path(bench: Bench, left: Callable[[], int], *, order: int, plain: Fitted) -> Iterator[Point]:
    """Find by bisection the least strength of the weights that meets the targets."""
    fails, meets, strength, nearest = 0.0, None, 0.5, plain
    while left() > 0 and (meets is None or meets - fails > 0.1):
        move = replace(along_path(order, strength), components=plain.move.components)
        fitted = fit_move(bench, move, start=nearest)
        if fitted is None:
            meets = strength if meets is None else meets
        else:
            nearest = fitted
            points = list(_memberships(bench, fitted))
            yield from points
            if any(map(_settles, points)):
                meets = strength
            else:
                fails = strength
        if meets is None and fails >= 1.75:
            return
        strength = (fails + meets) / 2 if meets is not None else fails + (0.5 if fails < 1 else 0.25)


def _feed_back(bench: Bench, left: Callable[[], int]) -> Iterator[Point]:
    """From the best near miss on, weight down the records that break the targets, round by round.

    Once that does it, the same is tried in smaller steps, which distort less.
    """
    step = FEEDBACK
    while left() > 0 and step > FEEDBACK / 8 and not _good_enough(bench):
        points = list(_feed_rounds(bench, _near_miss(bench), step, left))
        yield from points
        if not any(map(_settles, points)):
            return
        step /= 2


def _feed_rounds(bench: Bench, near: Point | None, step: float, left: Callable[[], int]) -> Iterator[Point]:
    stuck = 0
    while near is not None and left() > 0 and stuck < 2:
        breaking = find_breaking(bench, near)
        if not breaking.any():
            return
        weights = weigh_down(
            near.fitted.weights,
            breaking,
            bench.confidential.patterns.codes,
            bench.values,
            radius=bench.settings.radius,
            floor=bench.settings.floor,
            step=step,
        )
        move = replace(near.fitted.move, rounds=near.fitted.move.rounds + 1, step=step)
        fitted = fit_move(bench, move, weights, near.fitted)
        if fitted is None:
            return
        points = list(_memberships(bench, fitted))
        yield from points
        if any(map(_settles, points)):
            return
        best = min(points, key=lambda point: point.gap)
        stuck = 0 if best.gap < near.gap else stuck + 1
        near = best


def _near_miss(bench: Bench) -> Point | None:
    """The point closest to the targets of those that would be worth it: no met point is nearer to the data."""
    best = min((bench.loss(point) for point in bench.points if point.usable), default=np.inf)
    missed = [
        point
        for point in bench.points
        if not _risks_met(point) and bench.loss(point) < best and point.fitted.move.rounds == 0
    ]
    return min(missed, key=lambda point: point.gap, default=None)


def _risks_met(point: Point) -> bool:
    """Whether the targets that moves can reach by lowering risk are met."""
    return all(verdict.met for verdict in point.judgements if verdict.target.measure not in ("U_m", "overlap"))


def _settles(point: Point) -> bool:
    """Whether nothing stronger is needed: the targets of risk are met, by a fit that has converged."""
    return point.fitted.converged and _risks_met(point)


def _good_enough(bench: Bench) -> bool:
    """Whether a point meets the targets and none nearer to the data can be expected, beyond the error of U_m.

    The unweighted synthesizer with posterior membership is as near as it gets, and a fresh sample is near enough.
    """
    usable = [point for point in bench.points if point.usable]
    if not usable:
        return False
    best, first = min(usable, key=lambda point: point.distance), bench.points[0]
    return bench.loss(best) - bench.loss(first) <= 2 * np.hypot(best.distance_error, first.distance_error)


__all__ = ["Found", "search", "search_settings"]

Tell = Callable[[str], None]


def search(
    data: Any,
    *,
    sensitive: str,
    known: str | Sequence[str],
    radius: float = 0.2,
    targets: str | Target | Sequence[str | Target],
    predictors: str | Sequence[str] | None = None,
    synthesizer: str | Synthesizer | Composite = "auto",
    components: int = 10,
    datasets: int = 20,
    seed: int | None = None,
    fits: int = 12,
    seconds: float | None = None,
    chance: float = 0.2,
    redraw: float = 0.001,
    expected_tables: int = EXPECTED_TABLES,
    order: int = 2,
    floor: float = 0.0,
    lower: float | None = None,
    upper: float | None = None,
    analyses: Sequence[Analysis] | None = None,
    singletons: str = "protect",
    missing: str = "error",
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, str] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Find the release that keeps the most utility under targets, or say that there is none and why.

    Parameters
    ----------
    data, sensitive, known, predictors, radius, floor, synthesizer, components, lower, upper, datasets
        As in `molehill.synthesize`. The sensitive column must be numeric.
    targets
        One or several: "maximum realised <= 0.5", "99% expected <= 0.4", "mean expected <= 0.15", "moles 0.1 <= 0" (no
        record's expected risk rises by more than 0.1 against the unweighted fit), "U_m <= 0.03", "overlap >= 0.6",
        "overlap of mean of income >= 0.6".
    seed
        The same data, settings, seed and versions give the same result, unless the budget is in seconds.
    fits, seconds
        The budget. No fit is begun once that many were made or so many seconds have been spent on fits and
        measurements. How much is done within a number of seconds depends on the machine.
    chance
        The largest chance that a release breaks a realised target which still counts as meeting it.
    redraw
        A realised maximum also counts as met if no expected risk is above its bound and no larger share of the records
        (or one record, if that is more) is expected to pass it by bad luck. Those are drawn anew until they keep it. 0
        forbids it.
    expected_tables
        How many predicted tables each point is measured with: a multiple of 20.
    order
        Of the weights along the path of strength; other orders are tried after it.
    analyses
        What the overlap is of; by default mean, median, 90% quantile and standard deviation.
    singletons, missing, breaks, kinds
        As in `confidential_risk`.
    checkpoint
        Folder to keep every fit and every measured point in (record-level: owner only). An interrupted call, made
        again with the same arguments, goes on from there and ends with the same result.
    progress, tell
        As in `molehill.synthesize`.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> search(data, sensitive="pay", known="town", targets="maximum expected <= 0").met
    False
    """
    settings = Settings(
        sensitive=sensitive,
        known=known,  # pyright: ignore[reportArgumentType]
        predictors=predictors,  # pyright: ignore[reportArgumentType]
        radius=radius,
        floor=floor,
        order=order,
        synthesizer=synthesizer if isinstance(synthesizer, str) else "auto",
        components=components,
        lower=lower,
        upper=upper,
        datasets=datasets,
        singletons=singletons,
        small_patterns="marginal",
        missing=missing,
        seed=seed,
        breaks={name: tuple(ends) for name, ends in (breaks or {}).items()},
        kinds=dict(kinds or {}),
    )
    return search_settings(
        data,
        settings,
        targets,
        fits=fits,
        seconds=seconds,
        chance=chance,
        redraw=redraw,
        expected_tables=expected_tables,
        synthesizer=None if isinstance(synthesizer, str) else synthesizer,
        analyses=analyses,
        checkpoint=checkpoint,
        progress=progress,
        tell=tell,
    )


def search_settings(
    data: Any,
    settings: Settings,
    targets: str | Target | Sequence[str | Target] | None = None,
    *,
    fits: int = 12,
    seconds: float | None = None,
    chance: float = 0.2,
    redraw: float = 0.001,
    expected_tables: int = EXPECTED_TABLES,
    synthesizer: Synthesizer | Composite | None = None,
    analyses: Sequence[Analysis] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Found:
    """Search from settings as a file has them: `search` with its arguments in one value.

    Order and synthesizer of the settings are where it begins; scale, shift and membership are for the search to find,
    and noise is balanced. Targets take the place of those in the settings.
    """
    wanted = read_targets(settings.targets if targets is None else targets)
    _check_budget(fits, seconds, chance, redraw, expected_tables)
    reasons = impossible(wanted)
    if reasons:
        told = " ".join(f"{reason}." for reason in reasons)
        return nothing_found(f"No release can meet the targets. {told}", wanted)
    table = as_table(data)
    read_regressions(settings, table)
    settings = _complete(replace(settings, targets=tuple(map(str, wanted))), table, checkpoint)
    schema = infer_schema(table, **column_roles(settings))
    if schema[settings.sensitive].kind == "categorical":
        raise InputError("sensitive", f"{settings.sensitive!r} is categorical", "The search is for numbers only")
    looked_at = list(default_analyses(schema) if analyses is None else analyses)
    _check_overlaps(wanted, looked_at)

    @cache
    def choose(components: int) -> Synthesizer | Composite:
        return choose_synthesizer(table, replace(settings, components=components), schema)

    bench = open_bench(
        table,
        settings,
        synthesizer or choose(settings.components),
        wanted,
        tables=expected_tables,
        chance=chance,
        redraw=redraw,
        analyses=looked_at,
        checkpoint=checkpoint,
        progress=progress,
        fewer=choose if synthesizer is None else None,
    )
    budget = Budget(fits, seconds)
    for point in try_moves(bench, budget):
        if tell is not None:
            state = "meets the targets" if point.met else "misses them"
            tell(f"point {point.number + 1}: {point}: {state}, U_m {point.distance:.4f}")
    return conclude(bench, budget, tell)


def _complete(settings: Settings, table: Table, checkpoint: str | Path | None) -> Settings:
    # Scale, shift and membership are for the search to find: they must not make two searches differ. Balanced noise
    # costs no record more risk, and keeps more.
    found = {"scale": 1.0, "shift": 0.0, "membership": "posterior", "noise": "balanced", "small_patterns": "marginal"}
    completed = complete_settings(settings, table)
    return replace(completed, seed=_keep_seed(settings.seed, checkpoint), **found)


def _keep_seed(given: int | None, checkpoint: str | Path | None) -> int:
    """Take a fresh seed where none is given, and that of the interrupted search where there is one."""
    if checkpoint is None:
        return secrets.randbits(62) if given is None else given
    folder = Path(checkpoint)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    note = folder / "seed.json"
    if note.exists():
        seed = int(json.loads(note.read_text(encoding="utf-8"))["seed"])
        if given not in (None, seed):
            raise InputError("seed", "the interrupted search has another", "Leave the seed out, or remove the folder")
        return seed
    seed = secrets.randbits(62) if given is None else given
    with written_whole(note, private=True, argument="checkpoint") as temporary:
        temporary.write_text(json.dumps({"seed": seed}), encoding="utf-8")
    return seed


def _check_budget(fits: int, seconds: float | None, chance: float, redraw: float, expected_tables: int) -> None:
    if isinstance(fits, bool) or not isinstance(fits, int) or fits < 1:
        raise InputError("fits", "it must be a whole number from 1 up", "12 is usual")
    if seconds is not None and not seconds > 0:
        raise InputError("seconds", "it must be a number above 0", "Leave it out for a budget of fits alone")
    if not 0 < chance < 1:
        raise InputError("chance", "it must be between 0 and 1", "0.2 lets one release in five break the target")
    if not 0 <= redraw < 1:
        raise InputError("redraw", "it must be from 0 to below 1", "0.001 is one record in a thousand, 0 is none")
    if expected_tables < 40 or expected_tables % 20:
        raise InputError("expected_tables", "it must be a multiple of 20, from 40 up", "400 is usual")


def _check_overlaps(targets: Sequence[Target], analyses: Sequence[Analysis]) -> None:
    names = [analysis.name for analysis in analyses]
    for target in targets:
        if target.measure == "overlap":
            if not names:
                raise InputError("targets", f"{str(target)!r}: there are no analyses", "Give some")
            if target.analysis:
                check_choice("targets", target.analysis, names)
