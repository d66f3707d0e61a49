"""`fit` samples the pseudo posterior of a synthesizer; `draw` draws synthetic datasets from it."""

import inspect
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from molehill.arrays import derive_seed
from molehill.errors import InputError, check_choice, check_whole, is_whole
from molehill.files import folder_written_whole
from molehill.runtime import (
    call_alone,
    doing,
    double_precision,
    is_spreading,
    parallel_map,
    prepare_jax,
    progress_bar,
    sees_files,
)
from molehill.surveys.design import Sample, SurveyDesign
from molehill.synthesis.posterior import (
    Posterior,
    modelled_columns,
    predict_from,
    see_before,
    share_accepted,
    spread_draws,
)
from molehill.synthesis.sampling.diagnostics import (
    LEAST_BULK,
    ConvergenceWarning,
    join_diagnostics,
    trust_independent,
)
from molehill.synthesis.survey_fit import (
    Corrected,
    Correction,
    Survey,
    column_effects,
    join_corrections,
    read_survey,
)
from molehill.synthesis.synthesizer import (
    AnySynthesizer,
    Composite,
    DirectSynthesizer,
    Learned,
    Link,
    Observed,
    SequentialSynthesizer,
    Synthesizer,
)
from molehill.tables.formats.formats import write_table
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table, find_columns

# A fit to more than MANY records starts with a fit to a sample of FEW.
MANY, FEW = 100_000, 20_000


class NothingCountsError(InputError):
    """No record that a synthesizer, or a part of it, applies to has a positive weight."""


def fit(
    synthesizer: AnySynthesizer,
    data: Any,
    weights: Any = None,
    *,
    survey: SurveyDesign | Sample | None = None,
    sandwich: bool = True,
    seed: int,
    chains: int = 2,
    warmup: int | None = None,
    draws: int | None = None,
    effective: int = LEAST_BULK,
    patience: int = 2,
    engine: Literal["default", "nuts"] = "default",
    shards: int = 1,
    checkpoint: str | Path | None = None,
    start_from: Posterior | None = None,
    progress: bool = True,
) -> Posterior:
    """Sample the pseudo posterior of a synthesizer: each record's likelihood is raised to its weight.

    Parameters
    ----------
    synthesizer
        One of `molehill.models`, or your own; a `SequentialSynthesizer` for several variables.
    data
        The confidential data.
    weights
        One number per record, 0 or larger, as from `risk_weights`; 1 for every record by default.
    survey
        The survey design of the data. Each record's likelihood is then raised to its weight times its survey weight,
        scaled to sum to the number of records, so that the fit estimates the population.
    sandwich
        Whether to correct the posterior variance for the survey design: strata, clusters, unequal weights.
        `Posterior.correction` reports what was corrected.
    seed
        The same data, weights, settings, seed and versions give the same draws.
    chains, warmup, draws
        Number of chains, and of warm-up and kept iterations of each; by default those of the engine, and half as many
        draws if these have converged.
    effective
        Required effective sample size; at most this many datasets can be drawn.
    patience
        How often a fit that has not converged is doubled in length. Previous draws then count as warm-up, and of the
        rest `draws` are kept, evenly spaced.
    engine
        "default" for the synthesizer's own sampler, "nuts" for NUTS with Stan's warm-up.
    shards
        Number of JAX devices that share the records of every chain, for very large data: 2, 4, 8 or 16; chains times
        shards devices are needed. The draws are the same up to rounding.
    checkpoint
        Folder for checkpoints: a repeated call continues an interrupted one and ends with the same bytes.
    start_from
        A posterior of the same synthesizer and data under other weights, whose draws serve as starting values.
    progress
        Show a progress bar on a terminal.
    """
    if not isinstance(synthesizer, AnySynthesizer):
        problem = f"it is of type {type(synthesizer).__name__}, not a Synthesizer"
        raise InputError(
            "synthesizer", problem, "Use one of molehill.models, or Synthesizer(model, sensitive='income')"
        )
    table = as_table(data)
    check_choice("engine", engine, ("default", "nuts"))
    folder = None if checkpoint is None else Path(checkpoint)
    how = How(seed, chains, warmup, draws, effective, patience, engine, folder, start_from, progress, shards)
    how = replace(how, survey=read_survey(survey, table, sandwich=sandwich))
    _check_how(how)
    find_columns(table, synthesizer.sensitive, "sensitive")
    posterior = call_alone(_fit, synthesizer, table, weights, how)
    problems = posterior.diagnostics.problems
    if problems:
        warnings.warn("the fit has not converged: " + "; ".join(problems), ConvergenceWarning, stacklevel=2)
    return posterior


def refit_without(posterior: Posterior, row: int, *, seed: int, **how: Any) -> Posterior:
    """Refit without a record: the exact result that `molehill.synthesis.sampling.removal` approximates.

    With a survey the record stays in the design with weight 0; the survey weights of the others do not change.

    Parameters
    ----------
    posterior
        From `fit`.
    row
        Row of the record, from 0.
    seed, how
        As in `fit`.
    """
    kept = np.arange(len(posterior.table.frame)) != row
    survey = posterior.survey
    if survey is None:
        table = replace(posterior.table, frame=posterior.table.frame[kept].reset_index(drop=True))
        return fit(posterior.synthesizer, table, posterior.weights[kept], seed=seed, **how)
    parts = (
        posterior.synthesizer.links
        if isinstance(posterior.synthesizer, SequentialSynthesizer)
        else (posterior.synthesizer,)
    )
    if any(isinstance(part, Composite) and part.unweighted for part in parts):
        problem = "it is fitted to a survey, and one of its parts ignores risk weights"
        raise InputError("posterior", problem, "Use a synthesizer without such a part, or no survey")
    weights = np.where(kept, posterior.risk_weights, 0.0)
    again: dict[str, Any] = {"survey": survey.sample, "sandwich": survey.sandwich, **how}
    return fit(posterior.synthesizer, posterior.table, weights, seed=seed, **again)


@dataclass(frozen=True)
class How:
    """The arguments of `fit`, for a synthesizer or one of its parts."""

    seed: int
    chains: int
    warmup: int | None
    draws: int | None
    effective: int
    patience: int
    engine: str
    checkpoint: Path | None
    start_from: Posterior | None
    progress: bool
    shards: int = 1
    title: str = ""
    after_others: bool = False
    survey: Survey | None = None

    def of(self, part: str, folder: str, seed: int, **changes: Any) -> "How":
        """The arguments for a part: with its own seed, checkpoint folder and starting draws."""
        checkpoint = None if self.checkpoint is None else self.checkpoint / folder
        start_from = None if self.start_from is None else self.start_from.parts.get(part)
        return replace(self, seed=seed, checkpoint=checkpoint, start_from=start_from, **changes)

    def as_piece(self, pieces: int) -> "How":
        """The arguments for one of several parallel tasks: without progress bar and, on other machines, checkpoints."""
        if pieces < 2 or not is_spreading():
            return self
        return replace(self, checkpoint=self.checkpoint if sees_files() else None, progress=False)


def _fit(synthesizer: AnySynthesizer, table: Table, weights: Any, how: How) -> Posterior:
    if isinstance(synthesizer, Synthesizer):
        prepare_jax()
        return _sample(synthesizer, table, weights, how)
    if isinstance(synthesizer, DirectSynthesizer):
        return _sample_directly(synthesizer, table, weights, how)
    if how.checkpoint is not None:
        how.checkpoint.mkdir(mode=0o700, parents=True, exist_ok=True)
    if isinstance(synthesizer, Composite):
        return _fit_parts(synthesizer, table, weights, how)
    return _fit_links(synthesizer, table, weights, how)


def _fit_parts(synthesizer: Composite, table: Table, weights: Any, how: How) -> Posterior:
    """Fit the parts of a composite synthesizer separately."""
    fitted: dict[str, Posterior | None] = {}
    calls, parts = {}, synthesizer.parts(table)
    for number, (name, part) in enumerate(parts.items()):
        own_seed = int(np.random.SeedSequence([how.seed, number]).generate_state(1)[0])
        own = None if name in synthesizer.unweighted else weights
        its = how.of(name, name, own_seed, title=name)
        # An unweighted part has the same posterior under all weights.
        same = own is None and its.start_from is not None and _is_fitted(part, table, its.start_from, how.survey)
        fitted[name] = its.start_from if same else None
        if not same:
            calls[name] = (part, own, its)
    pieces = [(part, own, its.as_piece(len(calls))) for part, own, its in calls.values()]
    without = []
    for name, found in zip(calls, parallel_map(_sample_if_counting, pieces, shared=(table,)), strict=True):
        if isinstance(found, NothingCountsError):
            without.append(name)
            if not set(without) < set(synthesizer.optional):
                raise found
            del fitted[name]
        else:
            fitted[name] = found
    made = {name: part for name, part in fitted.items() if part is not None}
    posterior = _join(synthesizer, table, weights, made, how.survey)
    skipped = [f"{name}: not fitted, as none of its records has a positive weight" for name in without]
    return replace(posterior, given_up=(*posterior.given_up, *skipped))


def _sample_if_counting(table: Table, part: Synthesizer, weights: Any, how: How) -> "Posterior | NothingCountsError":
    """Fit a part, or return the error if none of its records has a positive weight."""
    try:
        return _fit(part, table, weights, how)
    except NothingCountsError as error:
        return error


def _fit_links(synthesizer: SequentialSynthesizer, table: Table, weights: Any, how: How) -> Posterior:
    """Fit the synthesizers of a sequence, each given the true values of the variables before it.

    If the survey weight itself is synthesized, it and the variables before it are fitted unweighted, as they are in the
    sample: otherwise the design would count twice.
    """
    calls = {}
    heavy = "" if how.survey is None else how.survey.sample.weight
    drawn = [heavy in link.sensitive for link in synthesizer.links]
    first = drawn.index(True) + 1 if True in drawn else 0
    for number, link in enumerate(synthesizer.links):
        name = ", ".join(link.sensitive)
        # The first variable is fitted as it would be by itself.
        own_seed = derive_seed(how.seed, "link", name) if number else how.seed
        # Names of variables are not used as folder names.
        own = how.of(name, f"link-{number}", own_seed, after_others=number > 0)
        own = own if number >= first else replace(own, survey=None)
        counted = _without_empty(synthesizer, link, table, weights)
        calls[name] = (synthesizer, number, counted, own.as_piece(len(synthesizer.links)))
    made = parallel_map(_fit_link, list(calls.values()), shared=(table,))
    posterior = _join(synthesizer, table, weights, dict(zip(calls, made, strict=True)), how.survey)
    if not synthesizer.rules.constraints:
        return posterior
    return replace(posterior, acceptance_rate=share_accepted(posterior, how.seed))


def _fit_link(table: Table, chain: SequentialSynthesizer, place: int, weights: Any, how: How) -> Posterior:
    """Fit one synthesizer of a sequence; its posterior refers to the whole dataset."""
    with doing(f"variable {place + 1} of {len(chain.links)}"):
        fitted = _fit(chain.links[place], see_before(chain, place, table), weights, how)
    parts = {name: replace(part, table=table) for name, part in fitted.parts.items()}
    return replace(fitted, table=table, parts=parts)


def _without_empty(chain: SequentialSynthesizer, link: Link, table: Table, weights: Any) -> Any:
    """Set the weight of records in which a variable is structurally missing to 0."""
    ruled = [name for name in link.sensitive if chain.rules.empties(name)]
    if not ruled:
        return weights
    empty = np.any([chain.rules.empty_in(name, table.frame) for name in ruled], axis=0)
    return np.where(empty, 0.0, _check_weights(weights, table))


def _is_fitted(part: Synthesizer, table: Table, posterior: Posterior, survey: Survey | None) -> bool:
    """Whether a converged posterior is that of an unweighted part with the same inputs and survey."""
    if posterior.diagnostics.problems or part.learn is None:
        return False
    if posterior.survey is not None if survey is None else not survey.same_as(posterior.survey):
        return False
    powers = _powers(np.ones(len(table.frame)), survey)
    now, before = part.learn(table, powers).inputs, posterior.learned.inputs
    same = now.keys() == before.keys() and all(np.array_equal(now[name], before[name]) for name in now)
    return same and bool(((posterior.weights == 0) | (posterior.weights == powers)).all())


def _join(
    synthesizer: Composite | SequentialSynthesizer,
    table: Table,
    weights: Any,
    parts: Mapping[str, Posterior],
    survey: Survey | None,
) -> Posterior:
    draws = {f"{name}.{site}": values for name, part in parts.items() for site, values in part.draws.items()}
    facts = {name: part.learned.facts for name, part in parts.items()}
    share = sum(part.mass_outside_range * part.weights.sum() for part in parts.values())
    outside = share / sum(part.weights.sum() for part in parts.values())
    diagnostics = join_diagnostics({name: part.diagnostics for name, part in parts.items()})
    counted = _powers(_check_weights(weights, table), survey)
    given_up = tuple(f"{name}: {reason}" for name, part in parts.items() for reason in part.given_up)
    fitted = Posterior(synthesizer, table, counted, Learned({}, facts), draws, diagnostics, float(outside), parts)
    correction = join_corrections({name: part.correction for name, part in parts.items()})
    return replace(fitted, given_up=given_up, survey=survey, correction=correction)


def _sample(synthesizer: Synthesizer, table: Table, weights: Any, how: How) -> Posterior:
    """Fit a synthesizer or, if it does not converge, a simpler one."""
    while how.start_from is not None and synthesizer.simpler is not None:
        # Use the variant that converged in the previous fit: its draws are starting values.
        if synthesizer.variant == getattr(how.start_from.synthesizer, "variant", ""):
            break
        synthesizer = synthesizer.simpler
    few = _fit_to_few(synthesizer, table, weights, how)
    if few is not None:
        started = _sample(synthesizer, table, weights, replace(how, start_from=few))
        return replace(started, given_up=(*few.given_up, *started.given_up))
    given_up: list[str] = []
    while True:
        folder = how.checkpoint / f"simpler-{len(given_up)}" if how.checkpoint and given_up else how.checkpoint
        posterior = _sample_one(synthesizer, table, weights, replace(how, checkpoint=folder))
        if synthesizer.simpler is None or not posterior.diagnostics.problems:
            return _correct(replace(posterior, given_up=tuple(given_up)), how)
        given_up.append(f"{synthesizer.variant}: {posterior.diagnostics.problems[0]}")
        synthesizer = synthesizer.simpler
        how = replace(how, start_from=None)


def _fit_to_few(synthesizer: Synthesizer, table: Table, weights: Any, how: How) -> Posterior | None:
    """Fit to a sample of very many records, to find starting values and a variant that converges.

    The other records have weight 0, so that the design is that of all records.
    """
    checked = _check_weights(weights, table)
    counted = np.flatnonzero(_powers(checked, how.survey) > 0)
    # Without a sampler of its own, a model is as slow with records of weight 0.
    own = synthesizer.engine is not None and how.engine == "default"
    if len(counted) <= MANY or not own or how.start_from is not None or how.warmup is not None:
        return None
    chosen = np.random.default_rng(how.seed).choice(counted, FEW, replace=False)
    few = np.zeros(len(checked))
    few[chosen] = checked[chosen]
    if how.checkpoint is not None:
        how.checkpoint.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = None if how.checkpoint is None else how.checkpoint / "few"
    # Starting values need no variance correction.
    survey = None if how.survey is None else replace(how.survey, sandwich=False)
    begin = replace(how, checkpoint=folder, title=f"{how.title} (to begin)".strip(), survey=survey)
    # A part without records in the sample is fitted without starting values.
    with suppress(NothingCountsError):
        return _sample(synthesizer, table, few, begin)
    return None


def _correct(posterior: Posterior, how: How) -> Posterior:
    """Correct the posterior variance for the survey design, where possible."""
    if posterior.survey is None:
        return posterior
    synthesizer = posterior.synthesizer
    assert isinstance(synthesizer, Synthesizer)
    about = (synthesizer, posterior.learned, posterior.draws, posterior.risk_weights, posterior.survey)
    from molehill.synthesis.sandwich import correct_draws  # noqa: PLC0415

    with double_precision():
        draws, correction = correct_draws(*about)
    moved = replace(posterior, draws=draws, correction=correction)
    return replace(
        moved,
        mass_outside_range=_share_outside(moved, how.seed) if correction.corrected else posterior.mass_outside_range,
    )


def _share_outside(posterior: Posterior, seed: int) -> float:
    """Share of the predictive mass outside the support, from some draws."""
    with double_precision():
        made = predict_from(posterior, spread_draws(posterior, 10), seed)
    return float(np.mean([float(one.outside) for one in made]))


def _sample_directly(synthesizer: DirectSynthesizer, table: Table, weights: Any, how: How) -> Posterior:
    """Take independent draws, without tuning, convergence or checkpoints."""
    survey, checked = how.survey, _check_weights(weights, table)
    powers = _powers(checked, survey)
    # A synthesizer that is `surveyed` gets risk weights and survey separately.
    apart = synthesizer.surveyed and survey is not None and not survey.plain
    given, surveyed = np.where(powers > 0, checked, 0.0) if apart else powers, {"survey": survey} if apart else {}
    learned = synthesizer.learn(table, given, **surveyed)
    counted = _count_records(given, table, synthesizer, learned)
    begun = time.perf_counter()
    with progress_bar(f"fitting {', '.join(synthesizer.sensitive)}", shown=how.progress) as (_, advance):
        draws = synthesizer.sample(learned, counted, how.seed, advance=advance, **surveyed)
    seconds = {"sampling": time.perf_counter() - begun}
    counted = np.where(counted > 0, powers, 0.0)
    diagnostics = trust_independent(synthesizer.functionals(draws, learned, counted), seconds)
    posterior = Posterior(synthesizer, table, counted, learned, draws, diagnostics, 0.0, survey=survey)
    posterior = replace(posterior, correction=_tell_directly(posterior))
    return replace(posterior, mass_outside_range=_share_outside(posterior, how.seed))


def _tell_directly(posterior: Posterior) -> Correction | None:
    """How a direct synthesizer used the survey design."""
    synthesizer, survey = posterior.synthesizer, posterior.survey
    if survey is None:
        return None
    of, surveyed = ", ".join(synthesizer.sensitive), isinstance(synthesizer, DirectSynthesizer) and synthesizer.surveyed
    if not survey.sandwich:
        return Correction((Corrected(of, corrected=False, how="switched off: uncorrected pseudo posterior"),))
    effects = column_effects(posterior.table.frame[synthesizer.sensitive[0]], posterior.risk_weights, survey)
    if not surveyed:
        how = "not corrected: the synthesizer does not support survey designs"
    elif survey.sample.replicates is not None:
        how = "Bayesian-bootstrap weights by strata and clusters of the design, without its replicate weights"
    else:
        how = "Bayesian-bootstrap weights by strata and clusters of the design"
    return Correction((Corrected(of, corrected=surveyed, how=how, effects=effects),))


def _sample_one(synthesizer: Synthesizer, table: Table, weights: Any, how: How) -> Posterior:
    checked = _powers(_check_weights(weights, table), how.survey)
    learned = synthesizer.learn(table, checked) if synthesizer.learn else _learn_by_name(synthesizer, table)
    counted = _count_records(checked, table, synthesizer, learned)
    # Imported here so that forests do not load JAX.
    from molehill.synthesis.model_fit import sample_model  # noqa: PLC0415

    draws, diagnostics = sample_model(synthesizer, table, learned, counted, how)
    posterior = Posterior(synthesizer, table, counted, learned, draws, diagnostics, 0.0, survey=how.survey)
    return replace(posterior, mass_outside_range=_share_outside(posterior, how.seed))


def draw(
    posterior: Posterior,
    *,
    datasets: int,
    seed: int,
    unconverged: Literal["error", "allow"] = "error",
    records: int | None = None,
) -> list[Any]:
    """Draw synthetic datasets: new values of the synthesized variables, everything else unchanged.

    Each dataset is predicted from a different draw of the posterior. Variables, their order, types and labels are those
    of the confidential data; whole numbers stay whole, and missing sensitive values stay missing.

    Parameters
    ----------
    posterior
        From `fit`.
    datasets
        Number of datasets; at most the effective sample size, unless the draws are independent.
    seed
        The same posterior and seed give the same datasets.
    unconverged
        "error", or "allow" to draw from a fit that has not converged.
    records
        Full synthesis: number of records per dataset, with the synthesized variables only. The synthesizer must not
        condition on other variables. By default the records of the confidential data, with new values.

    Returns
    -------
    list
        pandas frames, or `Table`s if the confidential data were a `Table` with labels.
    """
    _check_drawing(posterior, datasets, seed, unconverged)
    if records is not None:
        check_whole("records", records, 1)
        _check_nobody(posterior)
    return next(posterior.predict_tables(datasets, seed=seed, records=records))


def draw_to(
    folder: str | Path,
    posterior: Posterior,
    *,
    datasets: int,
    seed: int,
    ending: str = ".parquet",
    unconverged: Literal["error", "allow"] = "error",
) -> list[Path]:
    """Draw synthetic datasets straight to disk, one after the other: no more than one of them is in memory.

    Parameters
    ----------
    folder
        Where the files shall be, which appear all at once; readable by the owner only, as nothing is measured yet. It
        must not exist yet.
    posterior, datasets, unconverged
        As in `draw`.
    seed
        The same posterior and seed give the same datasets: others than `draw`, which makes all of them at once.
    ending
        The format of the files, as in `molehill.write_table`.

    Returns
    -------
    list
        The paths of the datasets.
    """
    _check_drawing(posterior, datasets, seed, unconverged)
    if Path(folder).exists():
        raise InputError("folder", f"{str(folder)!r} exists already", "Choose another name")
    names = [f"synthetic_{number:0{max(2, len(str(datasets)))}}{ending}" for number in range(1, datasets + 1)]
    with folder_written_whole(folder, private=True) as temporary:
        for name, (table,) in zip(names, posterior.predict_tables(datasets, seed=seed, at_once=1), strict=True):
            write_table(table, temporary / name, private=True)
    return [Path(folder) / name for name in names]


def _check_drawing(posterior: Posterior, datasets: int, seed: int, unconverged: str) -> None:
    check_choice("unconverged", unconverged, ("error", "allow"))
    _check_seed(seed)
    problems, size = posterior.diagnostics.problems, posterior.diagnostics.effective_size
    if problems and unconverged == "error":
        raise InputError(
            "posterior", f"it has not converged: {'; '.join(problems)}", "Fit longer, or use unconverged='allow'"
        )
    check_whole("datasets", datasets, 1)
    if datasets > size and unconverged == "error" and not posterior.independent:
        raise InputError(
            "datasets",
            f"it is {datasets}, but the effective sample size is {size:.0f}",
            f"Draw at most {int(size)}, or fit with more draws",
        )


def _single_parts(posterior: Posterior) -> list[Posterior]:
    return [one for part in posterior.parts.values() for one in _single_parts(part)] or [posterior]


def _check_nobody(posterior: Posterior) -> None:
    """Raise an error if new records cannot be drawn without the confidential ones."""
    own = posterior.synthesizer.sensitive
    for part in _single_parts(posterior):
        design = part.learned.facts.get("design")
        given = [name for term in (design or {}).get("terms", ()) for name in term if name not in own]
        if design is None or given or posterior.options.get("component_draw") == "posterior":
            what = repr(given[0]) if given else "other values of the confidential records"
            problem = f"values are drawn given {what}, which new records do not have"
            raise InputError("records", problem, "Use a synthesizer that conditions on synthesized variables only")
    frame, modelled = posterior.table.frame, modelled_columns(posterior)
    kept = [name for name in own if name not in modelled and frame[name].isna().any()]
    if kept:
        problem = f"missingness of {kept[0]!r} is not modelled"
        raise InputError("records", problem, 'Use missing_values = "model"')


def _learn_by_name(synthesizer: Synthesizer, table: Table) -> Learned:
    """Inputs of a user's model: the variables named by its arguments."""
    names = list(inspect.signature(synthesizer.model).parameters)
    find_columns(table, names, "model")
    inputs, levels = {}, {}
    for name in names:
        column = table.frame[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            inputs[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            refused = np.isinf(inputs[name]) if name in synthesizer.sensitive else ~np.isfinite(inputs[name])
            if refused.any():
                problem = f"variable {name!r} is missing or infinite in row {np.flatnonzero(refused)[0] + 1}"
                raise InputError("data", problem, "Correct it, or give the synthesizer its own `learn`")
            # A missing sensitive value has weight 0, but NaN would spoil gradients: use any other value.
            filler = column.dropna().iloc[0] if column.notna().any() else 0.0
            inputs[name] = np.where(np.isnan(inputs[name]), filler, inputs[name])
        else:
            # A missing predictor is a level of its own; code -1 would select the last level.
            sensitive = name in synthesizer.sensitive
            inputs[name], levels[name] = pd.factorize(column, sort=True, use_na_sentinel=sensitive)
    again = partial(_learn_by_name_again, synthesizer, levels)
    return Learned(inputs, {"levels": levels}, again=again, observed=partial(_observe_by_name, synthesizer, levels))


def _observe_by_name(synthesizer: Synthesizer, levels: Mapping[str, Any], table: Table) -> Observed:
    """Inputs of a user's model for other values of the sensitive variables."""
    inputs, there = {}, np.ones(len(table.frame), dtype=bool)
    for name in set(synthesizer.sensitive) & set(inspect.signature(synthesizer.model).parameters):
        coded = name in levels
        values = (
            pd.Index(levels[name]).get_indexer(pd.Index(table.frame[name])) if coded else column_numbers(table, name)
        )
        own = values >= 0 if coded else ~np.isnan(values)
        inputs[name], there = np.where(own, values, values[own][0] if own.any() else 0), there & own
    return Observed(inputs, there)


def _learn_by_name_again(synthesizer: Synthesizer, levels: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Inputs of a user's model for other values of the predictors."""
    inputs = {}
    for name in inspect.signature(synthesizer.model).parameters:
        if name not in synthesizer.sensitive:
            coded = name in levels
            values = pd.Index(table.frame[name])
            inputs[name] = pd.Index(levels[name]).get_indexer(values) if coded else column_numbers(table, name)
    return inputs


def _check_how(how: How) -> None:
    _check_seed(how.seed)
    if not is_whole(how.patience, 0):
        raise InputError("patience", "it must be a whole number, 0 or larger", "The default is 2")
    if not is_whole(how.effective, 1):
        raise InputError("effective", "it must be a whole number, 1 or larger", f"The default is {LEAST_BULK}")
    if not is_whole(how.chains, 2):
        raise InputError("chains", "convergence needs at least 2 chains", "Give a whole number, 2 or larger")
    for argument, number in (("warmup", how.warmup), ("draws", how.draws)):
        if number is not None and not is_whole(number, 1):
            raise InputError(argument, "it must be a whole number, 1 or larger", "Omit it for the engine's default")


def _check_seed(seed: int) -> None:
    if not is_whole(seed, 0) or seed >= 2**63:
        raise InputError("seed", "it must be a whole number from 0 to 2**63 - 1", "Give, for example, seed=1")


def _check_weights(weights: Any, table: Table) -> np.ndarray:
    records = len(table.frame)
    counted = np.ones(records) if weights is None else np.array(weights, dtype=np.float64)
    if counted.shape != (records,):
        raise InputError("weights", f"they have shape {counted.shape}", f"Give one for each of the {records:,} records")
    if not (np.isfinite(counted).all() and (counted >= 0).all()):
        raise InputError("weights", "some are negative or not finite", "Give 0 or more, as returned by risk_weights")
    return counted


def _powers(weights: np.ndarray, survey: Survey | None) -> np.ndarray:
    """Exponents of the records' likelihoods: risk weight times scaled survey weight."""
    return weights if survey is None else weights * survey.times


def _count_records(
    counted: np.ndarray, table: Table, synthesizer: Synthesizer | DirectSynthesizer, learned: Learned
) -> np.ndarray:
    """Set the weight of records that the synthesizer does not apply to, or that are missing, to 0."""
    present = synthesizer.missing | table.frame[list(synthesizer.sensitive)].notna().all(axis=1).to_numpy()
    counted = np.where(present if learned.applies is None else present & learned.applies, counted, 0.0)
    if not counted.any():
        which = "" if learned.applies is None else f" of the {int(learned.applies.sum()):,} records of this part"
        raise NothingCountsError("weights", f"all weights{which} are 0", "Use a larger scale or shift of the weights")
    return counted
