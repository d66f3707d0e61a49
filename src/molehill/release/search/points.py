"""Points of a search: a scheme fitted and how it predicts, measured, judged, and kept in a checkpoint at once.

A point that meets the targets is confirmed by measuring it anew, with draws that chose nothing: see `confirm_point`.
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from molehill.arrays import Booleans, Floats, derive_seed
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.catalogue.distributions import tell_apart
from molehill.evaluation.catalogue.identity import find_isolated, rates
from molehill.evaluation.context import Context
from molehill.evaluation.criteria import Criterion, read_criteria
from molehill.evaluation.measure import read_values
from molehill.evaluation.options import EvaluationOptions
from molehill.plan.settings import Settings
from molehill.release.making import Job, fit_quietly, weighted_by
from molehill.release.measuring import options_of
from molehill.release.schemes import Scheme, weigh
from molehill.release.search.judging import Judgement, Measured, breaking_records, count_breaks, judge
from molehill.release.search.picks import expected_picks
from molehill.risk.attacks import pooled_mean
from molehill.risk.expected import BLOCKS, expected_risk
from molehill.risk.identification import ConfidentialRisk, confidential_risk
from molehill.risk.intruder import View, read_released
from molehill.runtime import doing, is_spreading, parallel_map, sees_files
from molehill.synthesis.fitting import NothingCountsError, draw
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.checkpoints import Store, open_store, read_chunks, write_chunk
from molehill.tables.table import Table
from molehill.utility import Agreement, agreement, estimate
from molehill.utility.distances import ecdf_distances

# Tables that the utility of a point rests on.
LOOKED_AT = 100
# Tables of a confirmation; runs at least, where a realised target asks for some, and those for a chance of 1.
CONFIRMED_WITH, LEAST_RUNS, RUNS_BY_CHANCE = 1000, 50, 8
# Sweeps of a fit that starts from the draws of another.
WARM = {"warmup": 200, "draws": 500}
# Pairs of samples that the U_m of a fresh sample rests on.
_FRESH_SAMPLES = 400
_ARRAYS = ("blocks", "runs", "coverage", "distances", "isolated", "agreement", "lost", "picks")
# Without a rule to judge by, fewer tables tell which point keeps as much as the best; relations are looked at in few.
FEWER, FEWER_LOOKED_AT = 100, 20
# Tables that a classifier looks at.
CLASSIFIED = 2
# What the table of points says of each target.
TOLD = ("value", "error", "chance", "records", "met")


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit of a search: its scheme, the weights, the posterior, and what it cost.

    `made` is the posterior, or what makes it: a forest that was measured before an interruption is grown again only if
    it is asked for.
    """

    number: int
    scheme: Scheme
    weights: Floats
    made: Posterior | Callable[[], Posterior]
    warm: bool
    seconds: float

    @property
    def posterior(self) -> Posterior:
        """The fit itself."""
        return self.made if isinstance(self.made, Posterior) else self.made()

    @property
    def converged(self) -> bool:
        """Whether its draws can be trusted; those of a forest always can."""
        return not (isinstance(self.made, Posterior) and self.made.diagnostics.problems)

    @property
    def membership(self) -> str:
        """How components are drawn; empty for a model that has none."""
        return _membership_of(self.made) if isinstance(self.made, Posterior) else ""


@dataclass(frozen=True, eq=False)
class Point:
    """A fit and how it predicts, measured and judged; once it is confirmed, by draws that chose nothing.

    `drawing` is the posterior where it draws otherwise than that of the fit.
    """

    number: int
    fitted: Fitted
    drawing: Posterior | None
    measured: Measured
    judgements: tuple[Judgement, ...]
    seconds: float
    confirmed: bool = False

    @property
    def posterior(self) -> Posterior:
        """The fit, drawing as this point does."""
        return self.drawing or self.fitted.posterior

    @property
    def met(self) -> bool:
        """Whether every target is met."""
        return all(judgement.met for judgement in self.judgements)

    @property
    def usable(self) -> bool:
        """Whether it could be released: every target is met, by a fit that has converged."""
        return self.met and self.fitted.converged

    @property
    def gap(self) -> float:
        """How far the targets are missed by, 0 if none is."""
        return sum(judgement.gap for judgement in self.judgements)

    @property
    def distance(self) -> float:
        """U_m, the mean over tables."""
        return float(self.measured.distances.mean())

    @property
    def distance_error(self) -> float:
        """Standard error of U_m."""
        return float(self.measured.distances.std(ddof=1) / np.sqrt(len(self.measured.distances)))

    @property
    def membership(self) -> str:
        """How components are drawn; empty for a model that has none."""
        return _membership_of(self.drawing) if self.drawing else self.fitted.membership

    @property
    def fitted_as_drawn(self) -> Fitted:
        """The fit, drawing as this point does."""
        return replace(self.fitted, made=self.drawing) if self.drawing else self.fitted

    @property
    def seed_key(self) -> str:
        """What seeds are derived from, with fixed words as those of the scheme."""
        return self.fitted.scheme.seed_key + (", posterior membership" if self.membership == "posterior" else "")

    @property
    def name(self) -> str:
        """What its release is called beside others that tell as many records apart."""
        return str(self.in_any_leaf)

    @property
    def in_any_leaf(self) -> "Point":
        """The same without its minimum leaf size, of which its name and the seed of draws for measuring say nothing."""
        return replace(self, fitted=replace(self.fitted, scheme=replace(self.fitted.scheme, leaf=0.0)))

    def __str__(self) -> str:
        return f"{self.fitted.scheme}" + (", posterior component draw" if self.membership == "posterior" else "")


@dataclass(eq=False)
class Bench:
    """What every point of a search shares, and the points so far: the one thing that grows during it.

    Attributes
    ----------
    job
        The table, the settings and the synthesizer.
    view, confidential
        The table as the intruder sees it who counts others only, and its risk of order 1.
    fresh, fresh_agreement
        U_m of a fresh sample, and how well its pairs of columns agree.
    store, saved
        Where points are kept, and those that an interrupted search kept.
    progress
        Whether to show bars.
    fits, points
        What was fitted and measured so far.
    """

    job: Job
    view: View
    confidential: ConfidentialRisk
    fresh: float
    fresh_agreement: float
    store: Store | None
    saved: Sequence[Mapping[str, np.ndarray]]
    progress: bool
    fits: list[Fitted] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        """What was asked for."""
        return self.job.settings

    @cached_property
    def targets(self) -> tuple[Criterion, ...]:
        """The rules."""
        return read_criteria(self.settings.release_criteria) if self.settings.release_criteria else ()

    @property
    def rules_risk(self) -> bool:
        """Whether a rule is about risk, and not only about what is kept."""
        return any(not target.is_utility for target in self.targets)

    def loss(self, point: Point) -> float:
        """U_m of a point, or that of a fresh sample if it is higher: no release needs to do better."""
        return max(point.distance, self.fresh)

    @property
    def spent(self) -> float:
        """Seconds of all fits and measurements so far, those before an interruption included."""
        return sum(fitted.seconds for fitted in self.fits) + sum(point.seconds for point in self.points)


def open_bench(job: Job, *, checkpoint: str | Path | None, progress: bool) -> Bench:
    """Begin a search, or open an interrupted one: what it measured so far is read and not measured again."""
    store, saved = None, []
    if checkpoint is not None:
        # A synthesizer of the user's own has no name but that of its model; the fits check it in full.
        store = open_store(checkpoint, [job.settings.model_dump_json(), job.source["content"]], {})
        saved = [arrays for _, arrays in read_chunks(store)]
    # Of several columns, the one that is furthest away counts, here as in a release.
    distances = [fresh_distance(job.view.column(name), seed=job.settings.seed or 0) for name in job.view.numeric]
    fresh = max(distances, default=0.0)
    # The paper's cover lets a pattern of two keep a rule of one half, whatever is released: so only others count here.
    others = not job.settings.count_self
    view = job.view if others else replace(job.settings.intruder, count_self=False).view(job.table)
    pairs = _agreement(job, [job.table]).value("agreement_2_benchmark")
    return Bench(job, view, confidential_risk(view), fresh, pairs, store, saved, progress)


def fit_scheme(
    bench: Bench, scheme: Scheme, weights: Floats | None = None, start: Fitted | None = None
) -> Fitted | None:
    """Fit the synthesizer with the weights of a scheme; None if so few records count that it cannot be fitted."""
    fitted = _fit_one(bench, scheme, weights, start)
    return None if fitted is None else _take_fit(bench, fitted)


def fit_several(bench: Bench, schemes: Sequence[Scheme]) -> Iterator[Fitted | None]:
    """Fit several schemes that know nothing of each other: each a piece of work."""
    made = parallel_map(_fit_piece, [(scheme,) for scheme in schemes], shared=(_share(bench), bench.job.table))
    return (None if fitted is None else _take_fit(bench, fitted) for fitted in made)


def try_several(bench: Bench, schemes: Sequence[Scheme]) -> Iterator[Point | None]:
    """Fit, measure and judge several schemes that know nothing of each other, each a piece of work: point after point.

    None where so few records count that nothing can be fitted.
    """
    first, shared = len(bench.points), _share(bench)
    # What an interrupted search has measured is fitted when it is asked for.
    known = schemes[: max(len(bench.saved) - first, 0)]
    for scheme in known:
        yield _take_point(bench, _take_fit(bench, _fit_later(shared, scheme)), None, None, 0.0)
    made = parallel_map(_try_piece, [(scheme,) for scheme in schemes[len(known) :]], shared=(shared, bench.job.table))
    for place, scheme in enumerate(schemes[len(known) :], first + len(known) + 1):
        with doing(f"point {place} of at most {first + len(schemes)}: {scheme}"):
            fitted, measured, seconds = next(made)
        yield None if fitted is None else _take_point(bench, _take_fit(bench, fitted), None, measured, seconds)


def _share(bench: Bench) -> Bench:
    """What pieces of work share of a search: without its points, and what it keeps on disk."""
    elsewhere: dict[str, Any] = {
        "progress": bench.progress and not is_spreading(),
        "saved": (),
        "fits": [],
        "points": [],
    }
    return replace(bench, store=bench.store if sees_files() else None, **elsewhere)


def _fit_piece(bench: Bench, _table: Table, scheme: Scheme) -> Fitted | None:
    return _fit_one(bench, scheme, None, None)


def _try_piece(bench: Bench, _table: Table, scheme: Scheme) -> tuple[Fitted | None, Measured | None, float]:
    fitted, begun = _fit_one(bench, scheme, None, None), time.perf_counter()
    measured = None if fitted is None else _measure_fitted(bench, fitted, fitted.posterior)
    return fitted, measured, time.perf_counter() - begun


def _fit_later(bench: Bench, scheme: Scheme) -> Fitted:
    """Give the fit of a scheme that was measured before an interruption, to be made once it is asked for."""

    def make() -> Posterior:
        fitted = _fit_one(bench, scheme, weights, None)
        assert fitted is not None
        return fitted.posterior

    weights = _weigh(bench, scheme)
    return Fitted(0, scheme, weights, cache(make), warm=False, seconds=0.0)


def _weigh(bench: Bench, scheme: Scheme) -> Floats:
    view = bench.job.view
    return weigh(scheme, confidential_risk(view, order=scheme.order) if scheme.order else None, view.records)


def _fit_one(bench: Bench, scheme: Scheme, weights: Floats | None, start: Fitted | None) -> Fitted | None:
    weights = _weigh(bench, scheme) if weights is None else weights
    begun = time.perf_counter()
    tag = _digest(weights)
    try:
        with doing(f"fitting {scheme}"):
            posterior = fit_quietly(
                bench.job.model_at(scheme.leaf),
                bench.job.table,
                weights,
                seed=bench.job.seed("search", "fit", scheme.seed_key, tag),
                # The first fit may well be the release.
                patience=2 if start is None else 0,
                checkpoint=None
                if bench.store is None
                else bench.store.folder / f"fit-{_digest(scheme.seed_key)}-{tag}",
                start_from=None if start is None else start.posterior,
                progress=bench.progress,
                **bench.job.design,
                **({} if start is None else WARM),
            )
    except NothingCountsError:
        return None
    # Where draws are independent, nothing starts from others.
    warm = start is not None and not posterior.independent
    return Fitted(0, scheme, weights, posterior, warm, time.perf_counter() - begun)


def _take_fit(bench: Bench, fitted: Fitted) -> Fitted:
    """Add a fit to those of a search."""
    seconds = fitted.seconds
    if len(bench.points) < len(bench.saved):
        seconds = float(bench.saved[len(bench.points)]["seconds"][0])
    bench.fits.append(replace(fitted, number=len(bench.fits), seconds=seconds))
    return bench.fits[-1]


def measure_point(bench: Bench, fitted: Fitted, posterior: Posterior | None = None) -> Point:
    """Measure and judge a fit, as it predicts or as another posterior of it does."""
    saved, begun = len(bench.points) < len(bench.saved), time.perf_counter()
    measured = None if saved else _measure_fitted(bench, fitted, posterior or fitted.posterior)
    return _take_point(bench, fitted, posterior, measured, time.perf_counter() - begun)


def _measure_fitted(bench: Bench, fitted: Fitted, posterior: Posterior) -> Measured:
    names = (fitted.scheme.seed_key, _digest(fitted.weights), _membership_of(posterior))
    with doing(f"measuring {fitted.scheme}"):
        return measure(bench, posterior, seed=bench.job.seed("search", "measure", *names))


def _take_point(
    bench: Bench, fitted: Fitted, drawing: Posterior | None, measured: Measured | None, seconds: float
) -> Point:
    """Add a point to those of a search: as it was measured now or, if not, before an interruption; judged, and kept."""
    number = len(bench.points)
    if measured is None:
        measured, seconds = _unpack(bench.saved[number]), float(bench.saved[number]["seconds"][1])
    elif bench.store is not None:
        write_chunk(bench.store, number, [], _pack(measured, (fitted.seconds, seconds)))
    point = Point(number, fitted, drawing, measured, (), seconds)
    bench.points.append(replace(point, judgements=judge_point(bench, point)))
    return bench.points[-1]


def confirm_point(bench: Bench, point: Point) -> Point:
    """Measure a point anew, with draws that chose nothing, and put what they show in its place, be it met or not.

    It is judged by the unfavourable end of every interval: of what is expected by its error, of the chance to break a
    realised target by the upper end of what is counted.
    """
    if point.confirmed:
        return point
    settings, begun = bench.settings, time.perf_counter()
    realised = any(target.is_realised for target in bench.targets)
    runs = max(LEAST_RUNS, math.ceil(RUNS_BY_CHANCE / settings.max_failure_probability)) if realised else 0
    tables = max(CONFIRMED_WITH, runs * settings.datasets) if bench.targets else FEWER
    seed, store = bench.job.seed("search", "confirm", point.seed_key), _confirmations(bench, point)
    saved = [] if store is None else [arrays for _, arrays in read_chunks(store)]
    if saved:
        measured, own = _unpack(saved[0]), float(saved[0]["seconds"][1])
    else:
        with doing(f"confirming with fresh draws: {point}"):
            measured = measure(bench, point.posterior, seed=seed, tables=tables)
        own = time.perf_counter() - begun
        if store is not None:
            write_chunk(store, 0, [], _pack(measured, (0.0, own)))
    judgements = judge_point(bench, replace(point, measured=measured))
    over = count_breaks(bench.targets, measured.runs)[2] - settings.max_failure_probability
    if not settings.max_redraw_share and over > 0:
        judgements = tuple(
            replace(one, met=False, gap=max(one.gap, 0.1 * over)) if one.target.is_realised else one
            for one in judgements
        )
    seconds = point.seconds + own
    confirmed = replace(point, measured=measured, judgements=judgements, seconds=seconds, confirmed=True)
    bench.points[point.number] = confirmed
    return confirmed


def _confirmations(bench: Bench, point: Point) -> Store | None:
    """Where the confirmation of a point is kept: beside the points, in a folder of its own."""
    if bench.store is None:
        return None
    folder = bench.store.folder / f"confirmed-{point.number}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return replace(bench.store, folder=folder)


def measure(bench: Bench, posterior: Posterior, *, seed: int, tables: int | None = None) -> Measured:
    """Measure risk and utility of what a posterior could release."""
    job, settings, view = bench.job, bench.settings, bench.view
    wanted = tables or (settings.search_draws if bench.targets else FEWER)
    looked_at = max(LOOKED_AT, settings.datasets) if bench.targets else FEWER_LOOKED_AT
    # In whole blocks, and enough for two releases; draws that are not independent are used once.
    number = math.ceil(max(wanted, 2 * settings.datasets) / BLOCKS) * BLOCKS
    number = number if posterior.independent else min(number, posterior.number // BLOCKS * BLOCKS)
    expected = expected_risk(
        posterior,
        view,
        datasets=number,
        tables_in_run=min(settings.datasets, number // 2),
        seed=derive_seed(seed, "expected"),
        unconverged="allow",
    )
    drawn = job.derive(draw(posterior, datasets=looked_at, seed=derive_seed(seed, "drawn"), unconverged="allow"))
    # What a criterion is about is computed as `evaluate` does it, of as many datasets as are released.
    context = Context(view, bench.confidential, read_released(view, drawn), options_of(job), expected)
    release = replace(context, readings=context.readings[: settings.datasets], found={})
    risk = context.risk
    linked = risk.is_close.sum(axis=0)
    coverage = np.divide(risk.by_dataset.sum(axis=0), linked, out=np.array(bench.confidential.risk), where=linked > 0)
    # Of several columns, the one that is furthest away counts.
    distances = np.max([np.zeros(len(drawn)), *(_distances(job, drawn, one) for one in job.view.numeric)], axis=0)
    pairs = _agreement(job, drawn[:FEWER_LOOKED_AT])
    agreed = pairs.by_dataset.loc[pairs.by_dataset["measure"] == "agreement_2", "value"].to_numpy(dtype=np.float64)
    # Two samples of one population differ by the root of 2 more than a sample of the records does from these. To come
    # nearer to the table than that is no gain: it is to repeat what chance has put there.
    lost = np.maximum(pairs.sets["distance"] - np.sqrt(2) * pairs.sets["fresh"], 0.0).to_numpy(dtype=np.float64)
    released = drawn[: settings.datasets]
    overlaps = _overlaps(job, released) if job.analyses else {}
    matched = rates(context)
    of_tables = {"matches_true": matched.true, "matches_expected": matched.expected / view.part.sum()}
    figures = {name: (float(one.mean()), float(one.std(ddof=1) / np.sqrt(len(one)))) for name, one in of_tables.items()}
    combined = pooled_mean(view, release.readings)
    error = (combined.high - combined.low) / 4
    figures["combined_mean"] = (combined.value, 0.0 if np.isnan(error) else float(error))
    for target in bench.targets:
        if target.quantity not in figures and not target.has_own_estimate:
            figures[target.quantity] = _measure_criterion(target, job, release)
    if not bench.rules_risk:
        figures["told"] = (_tell_apart(bench, drawn[:CLASSIFIED]), 0.0)
    blocks, runs = np.array(expected.blocks), np.array(expected.runs)
    isolated = find_isolated(bench.confidential.risk)
    picks = np.empty((0, view.records))
    if any(target.measure == "matches_expected" and target.is_of_records for target in bench.targets):
        picks = expected_picks(posterior, view, datasets=number, seed=derive_seed(seed, "picks"))
    return Measured(blocks, runs, coverage, distances, overlaps, figures, isolated, agreed, lost, picks)


def _measure_criterion(target: Criterion, job: Job, context: Context) -> tuple[float, float]:
    """The worst figure that a criterion is about, and its error by the interval over the datasets."""
    measure = {one.id: one for one in (*MEASURES, *job.measures)}[target.measure]
    values = read_values(measure, measure.compute(context))
    taken = [one for one in values if not one.group and target.statistic in ("", one.column, one.of)]
    taken = [one.figure for one in taken if not np.isnan(one.figure.value)]
    if not taken:
        problem = f"{str(target)!r}: of these releases there is no such figure"
        raise InputError("release_criteria", problem, "Leave it out")
    worst = (max if target.sign == "<=" else min)(taken, key=lambda figure: figure.value)
    error = (worst.high - worst.low) / 4
    return worst.value, 0.0 if np.isnan(error) else float(error)


def _tell_apart(bench: Bench, tables: Sequence[Any]) -> float:
    """How well a logistic regression tells released records, over what chance alone would show: about 1 if not."""
    view, related = bench.job.view, bench.job.settings.predictors
    options = EvaluationOptions(
        propensity_methods="logistic",
        related=related or None,
        survey=bench.settings.survey_design,
        population=bench.settings.weighs == "weights",
    )
    context = Context(view, bench.confidential, read_released(view, list(tables)), options)
    found = tell_apart(context.compared)
    ratios = [one.loc[one["measure"] == "pmse_ratio", "value"].max() for one in found]
    # Of few records, or of very many columns, it says nothing.
    return float(np.nanmax(ratios)) if ratios and not np.isnan(ratios).all() else 0.0


def _agreement(job: Job, tables: Sequence[Any]) -> Agreement:
    """How well the pairs agree of a replaced column with another one that the model conditions on."""
    columns = [*job.settings.synthesize, *(job.settings.predictors or ())]
    own, *others = job.expand([job.table, *tables])
    return agreement(own, others, job.settings.synthesize, ways=2, columns=columns)


def _overlaps(job: Job, tables: Sequence[Any]) -> dict[str, float]:
    """Interval overlap by analysis; of a regression, the coefficient that is kept worst counts."""
    found = estimate(job.table, tables, job.analyses, missing=job.settings.absent, **weighted_by(job.settings))
    overlaps: dict[str, float] = {}
    for one in job.analyses:
        own = (
            found["analysis"].str.endswith(f" in {one.name}")
            if one.kind == "regression"
            else found["analysis"] == one.name
        )
        overlaps[one.name] = float(found.loc[own, "overlap"].min())
    return overlaps


def _distances(job: Job, drawn: Sequence[Any], column: str) -> Floats:
    """U_m of every table."""
    own, *others = job.expand([job.table, *drawn])
    found = ecdf_distances(own, others, column, missing=job.settings.absent).by_dataset
    return found.loc[found["measure"] == "U_m", "value"].to_numpy(dtype=np.float64)


def judge_point(bench: Bench, point: Point) -> tuple[Judgement, ...]:
    """Judge a point by every target, by what was measured of it."""
    reference = unweighted_risk(bench, point)
    return tuple(
        judge(
            target,
            point.measured,
            tables=bench.settings.datasets,
            chance=bench.settings.max_failure_probability,
            redraw=bench.settings.max_redraw_share,
            reference=reference,
            in_sample=bench.job.in_sample,
        )
        for target in bench.targets
    )


def unweighted_risk(bench: Bench, point: Point) -> tuple[Floats, Floats] | None:
    """Give expected risk and error of the point that differs from one in nothing but its weights; None for no such."""
    unweighted = Scheme(leaf=point.fitted.scheme.leaf)
    if point.fitted.scheme == unweighted:
        return None
    plain = [one for one in bench.points if one.fitted.scheme == unweighted]
    same = [one for one in plain if one.membership == point.membership]
    return (same[0].measured.risk, same[0].measured.error) if same else None


def find_breaking(bench: Bench, point: Point) -> Booleans:
    """Say which records stand in the way of the targets that a point misses."""
    found = np.zeros(bench.view.records, dtype=bool)
    reference = unweighted_risk(bench, point)
    for verdict in point.judgements:
        if not verdict.met:
            how: dict[str, Any] = {"tables": bench.settings.datasets, "reference": reference}
            how["in_sample"] = bench.job.in_sample
            found |= breaking_records(verdict.target, point.measured, **how)
    return found


def fresh_distance(values: Floats, *, seed: int) -> float:
    """Give the U_m that a fresh sample of the same size from the same population would show.

    The population is taken to be that of the values at hand, ties included: pairs of independent samples with
    replacement are compared. (One sample against the values themselves would show less, by the square root of 2.)
    The measure `U_m_benchmark` is published, so that it must not tell of ties: it follows from the number of records
    alone, and is larger where many values are the same. A search would then take losses for nothing.

    Examples
    --------
    >>> round(fresh_distance(np.arange(1000.0), seed=1), 2)
    0.04
    """
    random = np.random.default_rng(seed)
    _, places = np.unique(values[~np.isnan(values)], return_inverse=True)
    size, levels = len(places), int(places.max()) + 1
    gaps = np.empty(_FRESH_SAMPLES)
    for sample in range(_FRESH_SAMPLES):
        counts = [np.bincount(random.choice(places, size), minlength=levels) for _ in range(2)]
        gaps[sample] = np.abs(np.cumsum(counts[0] - counts[1])).max() / size
    return float(gaps.mean())


def list_points(points: Sequence[Point], fresh: float) -> pd.DataFrame:
    """Give every point as a row: how it was made, its risk and utility with errors, and which targets it meets."""
    rows = []
    for point in points:
        fitted, measured = point.fitted, point.measured
        mean, error = measured.mean
        row: dict[str, Any] = {
            "point": point.number,
            "scheme": str(point),
            "fit": fitted.number,
            "order": fitted.scheme.order,
            "scale": fitted.scheme.scale,
            "shift": fitted.scheme.shift,
            "rounds": fitted.scheme.rounds,
            "membership": point.membership,
            "leaf": fitted.scheme.leaf,
            "mean_weight": float(np.nanmean(fitted.weights)),
            "warm": fitted.warm,
            "converged": fitted.converged,
            "fit_seconds": fitted.seconds,
            "seconds": point.seconds,
            "mean_expected_risk": mean,
            "mean_expected_risk_error": error,
            "q99_expected_risk": float(np.nanquantile(measured.risk, 0.99)),
            "largest_realised_risk": float(np.nanmax(measured.runs, axis=1).mean()),
            "U_m": point.distance,
            "U_m_error": point.distance_error,
            "U_m_excess": point.distance - fresh,
            "agreement": float(measured.agreement.mean()),
            "pairs_lost": float(measured.lost.mean()),
            "smallest_overlap": min(measured.overlaps.values(), default=np.nan),
        }
        for place, judgement in enumerate(point.judgements, start=1):
            row |= {f"target_{place}_{name}": getattr(judgement, name) for name in TOLD}
        rows.append(row | {"met": point.met, "gap": point.gap})
    return pd.DataFrame(rows)


def _membership_of(posterior: Posterior) -> str:
    return str(posterior.options.get("component_draw", ""))


def _digest(of: Floats | str) -> str:
    return hashlib.sha256(of.encode() if isinstance(of, str) else np.ascontiguousarray(of).tobytes()).hexdigest()[:8]


def _pack(measured: Measured, seconds: tuple[float, float]) -> dict[str, np.ndarray]:
    arrays = {name: getattr(measured, name) for name in _ARRAYS}
    names, overlaps = list(measured.overlaps), list(measured.overlaps.values())
    return (
        arrays
        | {"names": np.array(names, dtype=str), "overlaps": np.array(overlaps), "seconds": np.array(seconds)}
        | {f"figure/{name}": np.array(figure) for name, figure in measured.figures.items()}
    )


def _unpack(arrays: Mapping[str, np.ndarray]) -> Measured:
    overlaps = dict(zip(arrays["names"].tolist(), arrays["overlaps"].tolist(), strict=True))
    figures = {
        name.partition("/")[2]: tuple(one.tolist()) for name, one in arrays.items() if name.startswith("figure/")
    }
    return Measured(overlaps=overlaps, figures=figures, **{name: arrays[name] for name in _ARRAYS})
