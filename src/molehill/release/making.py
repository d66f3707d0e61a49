"""The one-call door: from a confidential table to tables that may be published, and all that a review board asks.

`synthesize` strings the parts of the library together and adds nothing of its own: its docstring shows the calls.
"""

import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from molehill import models
from molehill.baselines import topcode
from molehill.errors import InputError
from molehill.evaluation.evaluation import Evaluation, evaluate
from molehill.evaluation.utility_measures import default_analyses
from molehill.plan.settings import SCHEMES, Settings
from molehill.release.release import Release
from molehill.risk.identification import ConfidentialRisk, confidential_risk
from molehill.risk.weights import risk_weights
from molehill.synthesis.fitting import draw, fit
from molehill.synthesis.posterior import Posterior
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.synthesizer import Composite, Synthesizer
from molehill.tables.schema import Schema, column_numbers, find_columns, infer_schema
from molehill.tables.table import Table, as_table
from molehill.utility import Analysis, regression
from molehill.utility.analyses import read_formula

ORDERS = {"marginal": 1, "pairwise": 2}
TOPCODED_ABOVE = 97.5

Tell = Callable[[str], None]


def synthesize(
    data: Any,
    *,
    sensitive: str,
    known: str | Sequence[str],
    predictors: str | Sequence[str] | None = None,
    radius: float = 0.2,
    floor: float = 0.0,
    order: int = 2,
    scale: float = 1.0,
    shift: float = 0.0,
    synthesizer: str | Synthesizer | Composite = "auto",
    components: int = 10,
    membership: str = "posterior",
    noise: str = "independent",
    lower: float | None = None,
    upper: float | None = None,
    datasets: int = 20,
    compare: Sequence[str] = SCHEMES,
    regressions: Sequence[str] = (),
    expected_tables: int = 200,
    analyses: Sequence[Analysis] | None = None,
    singletons: str = "protect",
    small_patterns: str = "error",
    missing: str = "error",
    seed: int | None = None,
    breaks: Mapping[str, Sequence[float]] | None = None,
    kinds: Mapping[str, str] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Release:
    """Make synthetic tables of a confidential one, and measure what they give away and what they keep.

    It abbreviates, for the release itself:

        risk = confidential_risk(data, known=known, sensitive=sensitive, radius=radius, order=order)
        weights = risk_weights(risk, scale=scale, shift=shift)
        posterior = fit(synthesizer, data, weights, seed=seed)
        tables = draw(posterior, datasets=datasets, seed=seed)
        evaluation = evaluate(data, {"pairwise": tables, ...}, known=known, sensitive=sensitive, radius=radius)

    and the same for every scheme that it is compared with.

    Parameters
    ----------
    data
        The confidential table.
    sensitive, known, predictors
        The column to protect, those that an intruder knows, and those that the model conditions on (by default all
        but the sensitive one).
    radius, floor, order, scale, shift, singletons, small_patterns, missing, breaks, kinds
        As in `confidential_risk` and `risk_weights`.
    synthesizer
        A name from `molehill.models`, a synthesizer of your own, or "auto": by the kind of the column.
    components, membership, noise, lower, upper
        Of the built-in synthesizers that have them.
    datasets
        How many tables.
    compare
        Schemes to show beside the release: "unweighted", "marginal", "pairwise", "topcoding".
    regressions
        Formulas of linear regressions to compare, such as "income ~ age + region", beside the analyses.
    expected_tables
        How many predicted tables the expected risk rests on; 0 leaves it out.
    analyses
        What users will compute, see `evaluate`.
    seed
        By default fresh randomness of the operating system.
    checkpoint
        Folder for checkpoints: an interrupted call, made again with the same seed, goes on where it stopped.
    progress
        Show bars with the time left, on a terminal.
    tell
        Called with the name of every stage as it begins.
    """
    settings = Settings(
        sensitive=sensitive,
        known=known,  # pyright: ignore[reportArgumentType]
        predictors=predictors,  # pyright: ignore[reportArgumentType]
        radius=radius,
        floor=floor,
        order=order,
        scale=scale,
        shift=shift,
        synthesizer=synthesizer if isinstance(synthesizer, str) else "auto",
        components=components,
        membership=membership,
        noise=noise,
        lower=lower,
        upper=upper,
        datasets=datasets,
        compare=tuple(compare),
        regressions=regressions,  # pyright: ignore[reportArgumentType]
        expected_tables=expected_tables,
        singletons=singletons,
        small_patterns=small_patterns,
        missing=missing,
        seed=seed,
        breaks={name: tuple(ends) for name, ends in (breaks or {}).items()},
        kinds=dict(kinds or {}),
    )
    own = None if isinstance(synthesizer, str) else synthesizer
    return make_release(
        data, settings, synthesizer=own, analyses=analyses, checkpoint=checkpoint, progress=progress, tell=tell
    )


def make_release(
    data: Any,
    settings: Settings,
    *,
    synthesizer: Synthesizer | Composite | None = None,
    analyses: Sequence[Analysis] | None = None,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    tell: Tell | None = None,
) -> Release:
    """Make the release that settings describe: `synthesize` with its arguments in one value."""
    table = as_table(data)
    settings = complete_settings(settings, table)
    seeds = np.random.SeedSequence(settings.seed).generate_state(3 + 2 * len(SCHEMES), np.uint64) >> 1
    evaluation_seed, *scheme_seeds = map(int, seeds)
    seconds: dict[str, float] = {}

    with timed_stage("measuring the risk", seconds, tell):
        schema = infer_schema(table, **column_roles(settings))
        formulas = read_regressions(settings, table)
        schemes, risks = _plan(table, settings)
        model = synthesizer or choose_synthesizer(table, settings, schema)
    posteriors: dict[str, Posterior] = {}
    released = next(iter(schemes))
    # Schemes are made with random numbers of their own: rises between them are judged against independent runs.
    for (name, weights), own_seed in zip(schemes.items(), scheme_seeds[::2], strict=False):
        with timed_stage(f"fitting: {name}", seconds, tell):
            folder = None if checkpoint is None else Path(checkpoint) / name.replace(" ", "-")
            # What is only shown beside the release need not be made to converge at any cost; the report says so.
            settled: dict[str, Any] = {"seed": own_seed, "patience": 2 if name == released else 0}
            places = {"checkpoint": folder, "start_from": posteriors.get(released), "progress": progress}
            posteriors[name] = _fit(model, table, weights, **settled, **places)
    tables = {}
    with timed_stage("drawing tables", seconds, tell):
        for (name, posterior), own_seed in zip(posteriors.items(), scheme_seeds[1::2], strict=False):
            allowed = "error" if name == released else "allow"
            tables[name] = draw(posterior, datasets=settings.datasets, seed=own_seed, unconverged=allowed)
        if "topcoding" in settings.compare and schema[settings.sensitive].kind != "categorical":
            tables["topcoding"] = [topcode(data, settings.sensitive, percentile=TOPCODED_ABOVE)]
    with timed_stage("measuring risk and utility", seconds, tell):
        wanted = [*(default_analyses(schema) if analyses is None else analyses), *formulas]
        evaluation = evaluate_schemes(
            table, tables, posteriors, settings, released=released, analyses=wanted, seed=evaluation_seed
        )
    return Release(
        tables[released],
        released,
        schemes[released],
        risks[released],
        posteriors[released],
        {name: made for name, made in tables.items() if name != released},
        {name: posterior.diagnostics for name, posterior in posteriors.items()},
        evaluation,
        settings,
        seconds,
    )


def evaluate_schemes(
    table: Table,
    tables: Mapping[str, Sequence[Any]],
    posteriors: Mapping[str, Posterior],
    settings: Settings,
    *,
    released: str,
    analyses: Sequence[Analysis],
    seed: int,
) -> Evaluation:
    """Measure risk and utility of a release and of what it is compared with, all by name, as settings say."""
    return evaluate(
        table,
        tables,
        analyses=analyses,
        posteriors=posteriors if settings.expected_tables else None,
        reference="unweighted" if "unweighted" in tables and released != "unweighted" else None,
        datasets=settings.expected_tables,
        # Whether the release has converged is asked before it is published.
        unconverged="allow",
        seed=seed,
        singletons=settings.singletons,  # pyright: ignore[reportArgumentType]
        **measured_by(settings),
    )


def choose_synthesizer(table: Table, settings: Settings, schema: Schema) -> Synthesizer | Composite:
    """Build the synthesizer that settings name, or the one for the kind of the sensitive column."""
    column, kind = settings.sensitive, schema[settings.sensitive].kind
    name = settings.synthesizer
    if name == "auto":
        by_kind = {"categorical": "multinomial", "count": "negative_binomial", "semicontinuous": "semicontinuous"}
        name = by_kind.get(kind, "tdp_mixture")
    shared: dict[str, Any] = {
        "predictors": list(settings.predictors or ()),
        "breaks": {key: ends for key, ends in settings.breaks.items() if key in (settings.predictors or ())},
        "kinds": {key: kind for key, kind in settings.kinds.items() if key in (settings.predictors or ())},
    }
    if name != "multinomial":
        shared |= {"lower": settings.lower, "upper": settings.upper}
    if name in ("tdp_mixture", "semicontinuous"):
        shared |= {setting: getattr(settings, setting) for setting in ("components", "membership", "noise")}
    if name == "tdp_mixture":
        numbers = column_numbers(table, column)
        shared["transform"] = "log" if (numbers[~np.isnan(numbers)] > 0).all() else "signed"
    return getattr(models, name)(column, **shared)


def complete_settings(settings: Settings, table: Table) -> Settings:
    """Fill in what settings leave open, and check what only the table can tell."""
    find_columns(table, settings.sensitive, "sensitive")
    find_columns(table, settings.known, "known")
    predictors = settings.predictors
    if predictors is None:
        predictors = tuple(name for name in table.frame.columns if name != settings.sensitive)
    find_columns(table, predictors, "predictors")
    seed = secrets.randbits(62) if settings.seed is None else settings.seed
    return replace(settings, predictors=predictors, seed=seed)


def read_regressions(settings: Settings, table: Table) -> list[Analysis]:
    """Give the regressions that settings name, all of whose columns the table must have."""
    for formula in settings.regressions:
        find_columns(table, read_formula(formula).columns, "regressions")
    return [regression(formula) for formula in settings.regressions]


def _plan(table: Table, settings: Settings) -> tuple[dict[str, np.ndarray], dict[str, ConfidentialRisk]]:
    """Name the schemes to fit, the release first, each with its weights and the risk that they come from."""
    plain = settings.scale == 1 and settings.shift == 0
    standard = {order: name for name, order in ORDERS.items()}
    released = standard.get(settings.order, "") if plain else ""
    if not released:
        parts = [f"order {settings.order}"]
        parts += [] if plain else [f"scale {settings.scale:g}", f"shift {settings.shift:g}"]
        released = ", ".join(parts)
    asked = [(released, settings.order, settings.scale, settings.shift)]
    asked += [(name, ORDERS[name], 1.0, 0.0) for name in ORDERS if name in settings.compare and name != released]
    schemes, risks = {}, {}
    for name, order, scale, shift in asked:
        risks[name] = confidential_risk(
            table,
            order=order,
            singletons=settings.singletons,  # pyright: ignore[reportArgumentType]
            small_patterns=settings.small_patterns,  # pyright: ignore[reportArgumentType]
            **measured_by(settings),
        )
        schemes[name] = np.nan_to_num(risk_weights(risks[name], scale=scale, shift=shift))
    if "unweighted" in settings.compare:
        schemes["unweighted"] = np.ones(len(table.frame))
        risks["unweighted"] = risks[released]
    if not schemes[released].any():
        raise InputError("scale", "every record has weight 0", "Use a larger scale or shift, or a higher order")
    return schemes, risks


def _fit(model: Synthesizer | Composite, table: Table, weights: np.ndarray, **how: Any) -> Posterior:
    with warnings.catch_warnings():
        # Told in the report for what is compared; refused by `draw` for what is released.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(model, table, weights, **how)


def measured_by(settings: Settings) -> dict[str, Any]:
    """Give the arguments that all measures of risk share."""
    shared = {name: getattr(settings, name) for name in ("known", "sensitive", "radius", "floor", "missing", "kinds")}
    return shared | {"breaks": {name: ends for name, ends in settings.breaks.items() if name in settings.known}}


def column_roles(settings: Settings) -> dict[str, Any]:
    """Give what settings say of the columns, as `infer_schema` takes it."""
    return {
        "known": settings.known,
        "sensitive": settings.sensitive,
        "predictors": settings.predictors,
        "kinds": settings.kinds,
        "breaks": settings.breaks,
        "missing": settings.missing,
    }


@contextmanager
def timed_stage(name: str, seconds: dict[str, float], tell: Tell | None) -> Iterator[None]:
    """Tell that a stage begins, and note how many seconds it took."""
    if tell is not None:
        tell(name)
    begun = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begun
