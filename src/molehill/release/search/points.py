"""Points of a search: a fit and how it predicts, measured, judged, and kept in a checkpoint as soon as it is made."""

import hashlib
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.errors import InputError
from molehill.evaluation.expected import BLOCKS, expected_risk
from molehill.plan.settings import Settings
from molehill.plan.targets import Target
from molehill.release.making import measured_by
from molehill.release.search.judging import Judgement, Measured, breaking_records, judge
from molehill.release.search.moves import Move, has_membership, name_membership, path_weights, with_membership
from molehill.risk.identification import ConfidentialRisk, confidential_risk, release_risk
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.checkpoints import Store, open_store, read_chunks, write_chunk
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table
from molehill.utility import Analysis, estimate
from molehill.utility.distances import ecdf_distances

Floats = NDArray[np.float64]

# Tables that the utility of a point rests on.
LOOKED_AT = 100
# Sweeps of a fit that starts from the draws of another.
WARM = {"warmup": 200, "draws": 500}
_FLOOR_SAMPLES = 400


@dataclass(frozen=True, eq=False)
class Fitted:
    """One fit of a search: its move, the weights, the posterior, and what it cost."""

    number: int
    move: Move
    weights: Floats
    posterior: Posterior
    warm: bool
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether its draws can be trusted."""
        return not self.posterior.diagnostics.problems


@dataclass(frozen=True, eq=False)
class Point:
    """A fit with a way to draw components, measured and judged."""

    number: int
    fitted: Fitted
    by_prior: Floats | None
    measured: Measured
    judgements: tuple[Judgement, ...]
    seconds: float

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
    def posterior(self) -> Posterior:
        """The fit, predicting as the point does."""
        posterior = self.fitted.posterior
        return posterior if self.by_prior is None else with_membership(posterior, self.by_prior)

    @property
    def is_flat(self) -> bool:
        """Whether no record, or every one, has prior membership."""
        return self.by_prior is None or (np.ptp(self.by_prior) == 0 and float(self.by_prior[0]) in (0.0, 1.0))

    def __str__(self) -> str:
        membership = name_membership(self.by_prior)
        return f"{self.fitted.move}" + ("" if membership == "none" else f", membership {membership}")


@dataclass(frozen=True, eq=False)
class Bench:
    """What every point of a search shares, and the points so far."""

    table: Table
    settings: Settings
    model: Synthesizer | Composite
    fewer: Callable[[int], Synthesizer | Composite] | None
    targets: tuple[Target, ...]
    tables: int
    chance: float
    redraw: float
    analyses: Sequence[Analysis]
    confidential: ConfidentialRisk
    floor: tuple[float, float]
    store: Store | None
    saved: Sequence[Mapping[str, np.ndarray]]
    progress: bool
    fits: list[Fitted] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    @property
    def values(self) -> Floats:
        """The sensitive values."""
        return column_numbers(self.table, self.settings.sensitive)

    def loss(self, point: Point) -> float:
        """U_m of a point, or the noise floor if that is higher: no release needs to do better."""
        return max(point.distance, self.floor[0])

    @property
    def spent(self) -> float:
        """Seconds of all fits and measurements so far, those before an interruption included."""
        return sum(fitted.seconds for fitted in self.fits) + sum(point.seconds for point in self.points)


def open_bench(
    table: Table,
    settings: Settings,
    model: Synthesizer | Composite,
    targets: tuple[Target, ...],
    *,
    tables: int,
    chance: float,
    redraw: float,
    analyses: Sequence[Analysis],
    checkpoint: str | Path | None,
    progress: bool,
    fewer: Callable[[int], Synthesizer | Composite] | None = None,
) -> Bench:
    """Begin a search, or open an interrupted one: what it measured so far is read and not measured again.

    `fewer` makes the synthesizer with another number of components, if it is one that can be so made.
    """
    store, saved = None, []
    if checkpoint is not None:
        facts = [str(settings), [str(target) for target in targets], tables, chance, redraw]
        # A synthesizer of the user's own has no name but that of its model; the fits check it in full.
        values = column_numbers(table, settings.sensitive)
        store = open_store(checkpoint, facts, {"values": values})
        saved = [arrays for _, arrays in read_chunks(store)]
    floor = noise_floor(column_numbers(table, settings.sensitive), seed=settings.seed or 0)
    confidential = confidential_risk(table, order=1, singletons=_singletons(settings), **measured_by(settings))
    measured = (tables, chance, redraw, analyses, confidential, floor)
    return Bench(table, settings, model, fewer, targets, *measured, store, saved, progress)


def fit_move(bench: Bench, move: Move, weights: Floats | None = None, start: Fitted | None = None) -> Fitted | None:
    """Fit the synthesizer with the weights of a move; None if so few records count that it cannot be fitted."""
    if weights is None:
        risk = risk_of_order(bench, move.order) if move.order else None
        weights = path_weights(move, risk, len(bench.table.frame))
    model = bench.fewer(move.components) if move.components and bench.fewer else bench.model
    number = len(bench.fits)
    lengths: dict[str, Any] = {} if start is None else dict(WARM)
    # A move that could not be fitted may have left a part behind: the next one must not go on from it.
    tag = hashlib.sha256(np.ascontiguousarray(weights).tobytes()).hexdigest()[:8]
    folder = None if bench.store is None else bench.store.folder / f"fit-{number:03}-{tag}"
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # A column of the points says so.
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = fit(
                model,
                bench.table,
                np.nan_to_num(weights),
                seed=seed_of(bench, 1, number),
                patience=0,
                checkpoint=folder,
                start_from=None if start is None else start.posterior,
                progress=bench.progress,
                **lengths,
            )
    except InputError as error:
        if error.argument != "weights":
            raise
        return None
    seconds = time.perf_counter() - begun
    if len(bench.points) < len(bench.saved):
        seconds = float(bench.saved[len(bench.points)]["seconds"][0])
    fitted = Fitted(number, move, weights, posterior, start is not None, seconds)
    bench.fits.append(fitted)
    return fitted


def measure_point(bench: Bench, fitted: Fitted, by_prior: float | Floats = 0.0) -> Point:
    """Measure and judge a fit, with components drawn without the record's value at a chance, of all or of each."""
    number = len(bench.points)
    chances = None
    posterior = fitted.posterior
    if has_membership(posterior):
        chances = np.broadcast_to(np.asarray(by_prior, dtype=np.float64), fitted.weights.shape)
        posterior = with_membership(posterior, chances)
    begun = time.perf_counter()
    if number < len(bench.saved):
        measured, seconds = _unpack(bench.saved[number]), float(bench.saved[number]["seconds"][1])
    else:
        measured = measure(bench, posterior, seed=seed_of(bench, 2, number))
        seconds = time.perf_counter() - begun
        if bench.store is not None:
            write_chunk(bench.store, number, [], _pack(measured, (fitted.seconds, seconds)))
    judgements = judge_measured(bench, measured, chances)
    point = Point(number, fitted, chances, measured, judgements, seconds)
    bench.points.append(point)
    return point


def measure(bench: Bench, posterior: Posterior, *, seed: int, tables: int | None = None) -> Measured:
    """Measure risk and utility of what a posterior could release."""
    chains, draws = next(iter(posterior.draws.values())).shape[:2]
    number = min(bench.tables if tables is None else tables, chains * draws) // BLOCKS * BLOCKS
    shared = measured_by(bench.settings) | {"singletons": _singletons(bench.settings)}
    in_run = min(bench.settings.datasets, number // 2)
    seeds = [int(state) for state in np.random.SeedSequence(seed).generate_state(2)]
    expected = expected_risk(
        posterior, datasets=number, tables_in_run=in_run, seed=seeds[0], unconverged="allow", **shared
    )
    drawn = draw(posterior, datasets=LOOKED_AT, seed=seeds[1], unconverged="allow")
    risk = release_risk(bench.table, drawn, **shared)
    linked = risk.linked.sum(axis=0)
    alone = bench.confidential.risk
    coverage = np.divide(risk.by_table.sum(axis=0), linked, out=np.array(alone), where=linked > 0)
    column, missing = bench.settings.sensitive, bench.settings.missing
    found = ecdf_distances(bench.table, drawn, column, missing=missing).by_table  # pyright: ignore[reportArgumentType]
    distances = found.loc[found["measure"] == "U_m", "value"].to_numpy(dtype=np.float64)
    overlaps: dict[str, float] = {}
    if bench.analyses:
        released = drawn[: bench.settings.datasets]
        rows = estimate(bench.table, released, bench.analyses, missing=missing)  # pyright: ignore[reportArgumentType]
        overlaps = dict(zip(rows["analysis"], rows["overlap"].astype(float), strict=True))
    return Measured(np.array(expected.blocks), np.array(expected.runs), coverage, distances, overlaps)


def judge_measured(
    bench: Bench, measured: Measured, by_prior: Floats | None, *, margin: float | None = None
) -> tuple[Judgement, ...]:
    """Judge what was measured by every target."""
    how = {} if margin is None else {"margin": margin}
    reference = unweighted_risk(bench, by_prior)
    return tuple(
        judge(
            target,
            measured,
            tables=bench.settings.datasets,
            chance=bench.chance,
            redraw=bench.redraw,
            reference=reference,
            **how,
        )
        for target in bench.targets
    )


def unweighted_risk(bench: Bench, by_prior: Floats | None) -> tuple[Floats, Floats] | None:
    """Give expected risk and error under the unweighted synthesizer with the same membership, once it is known."""
    plain = [point for point in bench.points if point.fitted.move == Move() and point.is_flat]
    if not plain:
        return None
    if by_prior is None:
        return plain[0].measured.risk, plain[0].measured.error
    risks = {float(point.by_prior[0]): point.measured for point in plain if point.by_prior is not None}
    given, free = risks.get(0.0), risks.get(1.0)
    if given is None or free is None:
        return next(iter(risks.values())).risk, next(iter(risks.values())).error
    risk = (1 - by_prior) * given.risk + by_prior * free.risk
    return risk, np.hypot((1 - by_prior) * given.error, by_prior * free.error)


def find_breaking(bench: Bench, point: Point) -> NDArray[np.bool_]:
    """Say which records stand in the way of the targets that a point misses."""
    found = np.zeros(len(bench.values), dtype=bool)
    reference = unweighted_risk(bench, point.by_prior)
    for verdict in point.judgements:
        if not verdict.met:
            how: dict[str, Any] = {"tables": bench.settings.datasets, "reference": reference}
            found |= breaking_records(verdict.target, point.measured, **how)
    return found


def mix_measured(given: Measured, free: Measured, by_prior: float | Floats) -> Measured:
    """Foresee what a point between posterior and prior membership would show."""
    blocks, runs, coverage = (
        (1 - by_prior) * getattr(given, name) + by_prior * getattr(free, name)
        for name in ("blocks", "runs", "coverage")
    )
    return Measured(blocks, runs, coverage, given.distances, given.overlaps)


def noise_floor(values: Floats, *, seed: int) -> tuple[float, float]:
    """Give the U_m that a fresh sample of the same size from the same population would show, and its standard error.

    The population is taken to be that of the values at hand, ties included: pairs of independent samples with
    replacement are compared. (One sample against the values themselves would show less, by the square root of 2.)

    Examples
    --------
    >>> round(noise_floor(np.arange(1000.0), seed=1)[0], 2)
    0.04
    """
    random = np.random.default_rng(seed)
    _, places = np.unique(values[~np.isnan(values)], return_inverse=True)
    size, levels = len(places), int(places.max()) + 1
    gaps = np.empty(_FLOOR_SAMPLES)
    for sample in range(_FLOOR_SAMPLES):
        counts = [np.bincount(random.choice(places, size), minlength=levels) for _ in range(2)]
        gaps[sample] = np.abs(np.cumsum(counts[0] - counts[1])).max() / size
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(_FLOOR_SAMPLES))


def list_points(points: Sequence[Point], floor: float) -> pd.DataFrame:
    """Give every point as a row: how it was made, its risk and utility with errors, and which targets it meets."""
    rows = []
    for point in points:
        fitted, measured = point.fitted, point.measured
        risk = measured.blocks[:, ~np.isnan(measured.blocks).any(axis=0)]
        means = risk.mean(axis=1)
        row: dict[str, Any] = {
            "point": point.number,
            "scheme": str(point),
            "fit": fitted.number,
            "order": fitted.move.order,
            "scale": fitted.move.scale,
            "shift": fitted.move.shift,
            "rounds": fitted.move.rounds,
            "membership": name_membership(point.by_prior),
            "mean_weight": float(np.nanmean(fitted.weights)),
            "warm": fitted.warm,
            "converged": fitted.converged,
            "fit_seconds": fitted.seconds,
            "seconds": point.seconds,
            "mean_expected_risk": float(means.mean()),
            "mean_expected_risk_error": float(means.std(ddof=1) / np.sqrt(len(means))),
            "q99_expected_risk": float(np.quantile(risk.mean(axis=0), 0.99)),
            "largest_realised_risk": float(np.nanmax(measured.runs, axis=1).mean()),
            "U_m": point.distance,
            "U_m_error": point.distance_error,
            "U_m_excess": point.distance - floor,
            "smallest_overlap": min(measured.overlaps.values(), default=np.nan),
        }
        for judgement in point.judgements:
            name = str(judgement.target)
            row |= {f"{name}: value": judgement.value, f"{name}: error": judgement.error}
            if judgement.target.basis == "realised":
                row |= {f"{name}: chance of breaking": judgement.chance, f"{name}: records": judgement.records}
            row |= {f"{name}: met": judgement.met}
        rows.append(row | {"met": point.met, "gap": point.gap})
    return pd.DataFrame(rows)


def risk_of_order(bench: Bench, order: int) -> ConfidentialRisk:
    """Measure the confidential risk that weights of an order come from."""
    settings = bench.settings
    how: dict[str, Any] = {"singletons": _singletons(settings), "small_patterns": "marginal"}
    return confidential_risk(bench.table, order=order, **how, **measured_by(settings))


def _singletons(settings: Settings) -> Any:
    return settings.singletons


def seed_of(bench: Bench, purpose: int, number: int) -> int:
    """Give the seed of one of the things that a search does at random."""
    state = np.random.SeedSequence([bench.settings.seed or 0, purpose, number]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def _pack(measured: Measured, seconds: tuple[float, float]) -> dict[str, np.ndarray]:
    arrays = {name: getattr(measured, name) for name in ("blocks", "runs", "coverage", "distances")}
    names, overlaps = list(measured.overlaps), list(measured.overlaps.values())
    return arrays | {"names": np.array(names, dtype=str), "overlaps": np.array(overlaps), "seconds": np.array(seconds)}


def _unpack(arrays: Mapping[str, np.ndarray]) -> Measured:
    overlaps = dict(zip(arrays["names"].tolist(), arrays["overlaps"].tolist(), strict=True))
    return Measured(arrays["blocks"], arrays["runs"], arrays["coverage"], arrays["distances"], overlaps)
