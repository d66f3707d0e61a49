"""What every way to make a release shares: what was asked for, read and checked once; and drawn tables made one."""

import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Self

import numpy as np
import pandas as pd

from molehill.arrays import Floats, derive_seed
from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.catalogue.estimates import default_analyses
from molehill.evaluation.criteria import check_criteria, parse_criteria
from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import Measure
from molehill.evaluation.scorecard import RULES, set_rules
from molehill.evaluation.telling import find_figure, list_figures
from molehill.evaluation.verdict import mean_risk, remark_shape
from molehill.models import BUILT_IN
from molehill.models.missing import model_missing
from molehill.plan.cost import candidate_leaves
from molehill.plan.derivable import refuse_derivable
from molehill.plan.plan import (
    Plan,
    check_columns,
    complete_plan,
    complete_settings,
    find_rules,
    make_plan,
    model_of,
    read_formulas,
    take_table,
)
from molehill.plan.pooling import draw_least, pool_levels, write_in_units
from molehill.plan.predictors import predictors_of
from molehill.plan.settings import Settings
from molehill.release.release import Release
from molehill.release.schemes import Scheme
from molehill.report.dossier import Searched
from molehill.report.trail import hash_source
from molehill.risk.identification import ConfidentialRisk
from molehill.risk.intruder import View
from molehill.rules.emptiness import may_be_empty
from molehill.rules.formulas import derive
from molehill.rules.rules import Rules
from molehill.sdc_methods import BASELINES
from molehill.surveys.rarity import population_risk
from molehill.synthesis.fitting import fit
from molehill.synthesis.posterior import Posterior, as_given
from molehill.synthesis.sampling.diagnostics import ConvergenceWarning
from molehill.synthesis.synthesizer import AnySynthesizer, SequentialSynthesizer
from molehill.tables.resolution import column_unit
from molehill.tables.table import Table, as_table, whole_if_whole
from molehill.utility import Analysis, correlation, estimate, regression

# The schemes of the paper, by the names that settings compare them under.
PAPER = {"unweighted": Scheme(), "marginal": Scheme(1), "pairwise": Scheme(2)}

NO_RULES = Rules()
# Of fewer records a correlation says nothing, and more of them nobody reads.
_CORRELATED, _MOST_CORRELATIONS = 20, 10

Tell = Callable[[str], None]


class Stage(str):
    """The name of a stage as people read it; that of a point of a search carries the figures of the point."""

    __slots__ = ("point",)

    def __new__(cls, words: str, point: Mapping[Any, Any]) -> Self:
        """Name a stage in which a point was measured."""
        stage = super().__new__(cls, words)
        stage.point = point
        return stage


Evaluating = Callable[["Job", Mapping[str, Sequence[Any]], Mapping[str, Posterior]], Evaluation]


@dataclass(frozen=True, eq=False)
class Job:
    """What every way to make a release shares: read and checked once, before any work.

    Attributes
    ----------
    settings
        Complete: with predictors and a seed.
    view
        The confidential table as the intruder of the settings sees it.
    model
        The synthesizer.
    own
        Whether that is one that the caller gave.
    analyses
        What users will compute, the regressions of the settings included.
    measures
        What is measured.
    plan
        What becomes of every column.
    rules
        What every released record keeps to.
    source
        Hashes of the confidential table as it was given.
    """

    settings: Settings
    view: View
    model: AnySynthesizer
    own: bool
    analyses: Sequence[Analysis]
    measures: Sequence[Measure]
    plan: Plan
    rules: Rules
    source: Mapping[str, str | None]

    @property
    def table(self) -> Table:
        """The confidential table."""
        return self.view.table

    @cached_property
    def is_grown(self) -> bool:
        """Whether all columns are drawn by forests, which are fitted in a second."""
        models = {model_of(self.settings, self.view.schema[name].kind) for name in self.settings.synthesize}
        return not self.own and all("min_leaf_size" in BUILT_IN[name].takes for name in models)

    @cached_property
    def leaves(self) -> tuple[float, ...]:
        """How few records a forest may tell apart, where that is left to be found: from few to many."""
        return candidate_leaves(self.settings, self.view.records) if self.is_grown else ()

    def model_at(self, leaf: float) -> AnySynthesizer:
        """Give the synthesizer with another least number of records that a forest tells apart; 0 for the same."""
        return choose_synthesizer(self.view, self.settings.but(min_leaf_size=leaf), self.rules) if leaf else self.model

    @cached_property
    def order(self) -> np.ndarray:
        """The record of the confidential table that every published row is of."""
        records = np.arange(self.view.records)
        return np.random.default_rng(self.seed("order")).permutation(records) if self.settings.shuffle else records

    @property
    def design(self) -> dict[str, Any]:
        """How `fit` is to use the design of a survey."""
        settings = self.settings
        return (
            {"survey": settings.survey_design, "sandwich": settings.design_variance} if settings.fits_by_weight else {}
        )

    def derive(self, tables: Sequence[Any]) -> list[Any]:
        """Compute in drawn tables, from what was drawn, the variables that are derived."""
        formulas = read_formulas(self.settings)
        if not formulas:
            return list(tables)
        return [as_given(derive(as_table(one), formulas, self.table)) for one in tables]

    def expand(self, tables: Sequence[Any]) -> list[Table]:
        """Give tables as they are compared: those of the population with each record as often as it stands for."""
        found = [as_table(one) for one in tables]
        if self.settings.weighs != "weights" or self.settings.survey_design is None:
            return found
        rows = self.settings.survey_design.read(self.table).expanded
        return [replace(one, frame=one.frame.iloc[rows].reset_index(drop=True)) for one in found]

    @cached_property
    def in_sample(self) -> Floats:
        """The chance that who has a record's pattern in the population is in the sample; 1 where it is unknown."""
        design, known = self.settings.survey_design, self.settings.known
        sample = None if design is None else design.read(self.table)
        if sample is None or not sample.expands or not known:
            return np.ones(self.view.records)
        breaks = self.view.intruder.breaks
        return population_risk(self.table, known, sample.weights, breaks=breaks).in_sample

    def seed(self, *names: str | int) -> int:
        """Give the seed of something that is done at random, by what that is called."""
        return derive_seed(self.settings.seed or 0, *names)


def prepare(
    data: Any,
    settings: Settings,
    *,
    synthesizer: AnySynthesizer | None = None,
    analyses: Sequence[Analysis] | None = None,
    measures: Sequence[Measure] = MEASURES,
    on_plan: Callable[[Plan], None] | None = None,
) -> Job:
    """Read the table once, complete the settings, and check everything that only the table can tell."""
    if not isinstance(settings, Settings):
        raise InputError("settings", "they are not Settings", "Write Settings(synthesize=['income'], known=['age'])")
    set_rules(settings.thresholds, measures)
    check_criteria(parse_criteria(settings.release_criteria)[0], measures)
    table = take_table(data, settings)
    findings = check_columns(settings, table, own=synthesizer is not None)
    settings = settings if settings.seed is not None else settings.but(seed=secrets.randbits(62))
    table, pooled = pool_levels(write_in_units(table, settings), settings)
    settings = _complete(settings, table, synthesizer)
    view = settings.intruder.view(table)
    if analyses is None:
        # Nobody asks for the mean of a weight.
        own = [
            name
            for name in settings.synthesize
            if settings.survey_design is None or name != settings.survey_design.weight
        ]
        analyses = [*default_analyses(view.schema, own), *_correlations(view, settings, own)]
    wanted = [*analyses, *map(regression, settings.regressions)]
    # What the table and the columns cannot do must be told now, and not after hours of fitting.
    if wanted:
        estimate(table, table, wanted, missing=settings.absent, **weighted_by(settings))
    rules = find_rules(table, settings, {name: view.schema[name].kind for name in settings.synthesize}, pooled)
    model, own = synthesizer or choose_synthesizer(view, settings, rules), synthesizer is not None
    if set(model.sensitive) != set(settings.synthesize):
        problem = f"it replaces {', '.join(map(repr, model.sensitive))}, and the settings {settings.column!r}"
        raise InputError("synthesizer", problem, "Name the same columns in both")
    plan = make_plan(settings, view, findings, rules, pooled=pooled)
    if on_plan is not None:
        on_plan(complete_plan(plan, settings, table))
    refuse_derivable(plan.derivable, settings)
    return Job(settings, view, model, own, wanted, measures, plan, rules, hash_source(as_table(data)))


def weighted_by(settings: Settings) -> dict[str, Any]:
    """Say how estimates use the design of a survey, as far as those who will have the tables can."""
    return {} if settings.survey_design is None else {"design": settings.survey_design, "hidden": settings.drop}


def _correlations(view: View, settings: Settings, columns: Sequence[str]) -> list[Analysis]:
    """Correlations between the replaced numbers, of the first few: as far as enough records of both vary."""
    frame, schema = view.table.frame, view.schema
    numbers = [name for name in columns if schema[name].kind not in ("categorical", "date")]
    found = []
    for one, other in combinations(numbers, 2):
        both = frame[[one, other]].dropna()
        # A column that is one value but for a few records may be only that in a released table.
        few = [len(both) - both[name].value_counts().max() for name in both] if len(both) else [0]
        if min(few) * min(1.0, (settings.fully_synthetic_records or np.inf) / len(frame)) >= _CORRELATED:
            found.append(correlation(one, other))
    return found[:_MOST_CORRELATIONS]


def _complete(settings: Settings, table: Table, synthesizer: AnySynthesizer | None) -> Settings:
    if synthesizer is None and settings.synthesizer == "custom":
        problem = "they were made with a synthesizer that was given in Python"
        raise InputError("settings", problem, "Give it again: synthesize(data, settings, synthesizer=...)")
    own = {} if synthesizer is None else {"synthesizer": "custom"}
    # Where it was made decides nothing of a release, and is not told by it.
    return complete_settings(settings, table).but(scheduler=None, **own)


def choose_synthesizer(view: View, settings: Settings, rules: Rules = NO_RULES) -> AnySynthesizer:
    """Build the synthesizer that settings name, or those for the kinds of the columns.

    Several columns are drawn one after the other, in the order of the settings, each given those before it; so is one
    column that has rules to keep.
    """
    links = [_choose_one(view, settings, place, rules) for place in range(len(settings.synthesize))]
    return links[0] if len(links) == 1 and not rules else SequentialSynthesizer(tuple(links), rules)


def _choose_one(view: View, settings: Settings, place: int, rules: Rules) -> Any:
    column = settings.synthesize[place]
    name = model_of(settings, view.schema[column].kind)
    about = predictors_of(settings, place)
    given = {setting: settings.of_column(setting, column) for setting in BUILT_IN[name].takes}
    chosen = BUILT_IN[name].choose(view.table, column)
    given |= {argument: value for argument, value in chosen.items() if given[argument] == "auto"}
    least = draw_least(settings, column, "missing values", settings.least_records(column))
    given |= {"min_level_records": least} if "min_level_records" in given else {}
    modelled = settings.missing_values == "model" and view.table.frame[column].isna().any()
    modelled = modelled and may_be_empty(rules.empty, column)
    if BUILT_IN[name].any_kind:
        about["kinds"] = {**about["kinds"], column: view.schema[column].kind}
        return BUILT_IN[name].make(column, **about, **given, missing=bool(modelled))
    made = BUILT_IN[name].make(column, **about, **given)
    return model_missing(made, **about) if modelled else made


def assemble(
    job: Job,
    tables: Mapping[str, Sequence[Any]],
    posteriors: Mapping[str, Posterior],
    *,
    weights: Mapping[str, Floats],
    risk: ConfidentialRisk,
    fitting: Mapping[str, float],
    seconds: dict[str, float],
    on_stage: Tell | None,
    evaluated_by: Evaluating,
    search: Searched | None = None,
) -> Release:
    """Measure tables that were drawn, and make a release of the first scheme among them, or of the chosen one.

    Parameters
    ----------
    job, tables, posteriors
        What was asked for; the tables of every scheme by its name, that of the release first; and the fits.
    weights, risk
        The weights of the fits by scheme, and the risk that those of the release come from.
    fitting, seconds
        How long every fit took, and every stage so far.
    evaluated_by
        How tables are measured.
    search
        What a search found, if there was one.
    """
    released = next(iter(posteriors))
    tables = {name: job.derive(made) for name, made in tables.items()}
    with timed_stage("measuring risk and utility", seconds, on_stage):
        evaluation = evaluated_by(job, tables, posteriors)
    if search is None and job.settings.method == "auto":
        converged = [name for name, posterior in posteriors.items() if not posterior.diagnostics.problems]
        released = choose_scheme(evaluation, converged)
    for column in job.settings.synthesize if job.settings.fully_synthetic_records is None else ():
        true = job.table.frame[column]
        if any(as_table(table).frame[column].equals(true) for table in tables[released]):
            problem = f"its values of {column!r} are the collected ones"
            raise InputError("synthesizer", problem, "Nothing is published: mend how it predicts")
    return Release(
        datasets=[publish(table, job) for table in tables[released]],
        scheme=released,
        weights=weights[released],
        risk=risk,
        posterior=posteriors[released],
        comparisons={name: made for name, made in tables.items() if name != released},
        fits=list_fits(posteriors, fitting),
        diagnostics={name: posterior.diagnostics for name, posterior in posteriors.items()},
        evaluation=evaluation,
        settings=job.settings,
        seconds={**seconds, **{f"fitting: {name}": value for name, value in fitting.items()}},
        plan=job.plan,
        order=job.order,
        source=job.source,
        search=search,
    )


def choose_scheme(evaluation: Evaluation, names: Sequence[str]) -> str:
    """Choose the safest of the schemes that keep as much as the best, within error.

    What is kept is how near the tables, pooled and one by one, are to the confidential distribution. The first scheme
    stays, if it keeps as much and none of the others is clearly safer.
    """
    first = names[0]
    # What no board would believe is no choice, however safe it is. By our bounds: tables do not depend on those by
    # which they are judged.
    alike = {name for name in names if not any(one.weight == "stop" for one in remark_shape(evaluation, name, RULES))}
    for measure in ("U_m", "U_m_combined", "variation"):
        for row in list_figures(evaluation.utility, first, measure):
            of = {name: find_figure(evaluation.utility, name, measure, row["column"]) for name in names}
            known = {name: figure for name, figure in of.items() if figure is not None}
            best = min(known.values(), key=lambda figure: figure.value)
            alike &= {name for name, figure in known.items() if not figure.low > best.high}
    risks = {name: figure for name in names if (figure := mean_risk(evaluation, name)) is not None}
    own = risks.get(first)
    bar = np.inf if own is None or first not in alike else own.low
    safer = [name for name, figure in risks.items() if name in alike and figure.high < bar]
    return min(safer, key=lambda name: risks[name].value, default=first)


def publish(table: Any, job: Job) -> Any:
    """Give a synthetic table as it goes out: without the columns that are dropped, its records in their new order."""
    frame = as_table(table).frame
    if job.settings.fully_synthetic_records is None:
        frame = frame.drop(columns=list(job.settings.drop)).iloc[job.order].reset_index(drop=True)
    source = job.table
    if source.dialect is not None:
        frame = frame.assign(**{name: _as_whole(frame[name], source.frame[name]) for name in job.view.numeric})
    if not (source.column_labels or source.value_labels or source.dialect):
        return frame
    labels = {name: label for name, label in source.column_labels.items() if name in frame}
    held = {name: set(frame[name].dropna().unique()) for name in source.value_labels if name in frame}
    # The label of a code that no record has could tell of the file.
    codes = {
        name: {code: label for code, label in source.value_labels[name].items() if code in present}
        for name, present in held.items()
    }
    return Table(frame, labels, {name: shown for name, shown in codes.items() if shown}, source.dialect)


def _as_whole(drawn: pd.Series, column: pd.Series) -> pd.Series:
    """Give whole numbers of a text file as such: a single fraction among the collected ones changes nothing."""
    if drawn.dtype.kind != "f" or column_unit(column) < 1:
        return drawn
    return whole_if_whole(drawn)


def make_baselines(job: Job) -> dict[str, list[Any]]:
    """Make the tables of what agencies do today, as far as settings compare with it and the column is a number."""
    # What is done to people's own values makes no new people.
    able = job.view.numeric and job.settings.fully_synthetic_records is None
    compared = [name for name in BASELINES if name in job.settings.compare] if able else []
    amounts = [name for name in job.view.numeric if job.view.schema[name].kind != "date"]
    return {name: [BASELINES[name](job.table, amounts, job.seed("baseline", name))] for name in compared if amounts}


def list_fits(posteriors: Mapping[str, Posterior], seconds: Mapping[str, float]) -> pd.DataFrame:
    """Say of every fit whether its draws can be trusted, and how long it took: one row a scheme."""
    rows = [{"scheme": name, **posterior.evidence, "seconds": seconds[name]} for name, posterior in posteriors.items()]
    return pd.DataFrame(rows)


def fit_quietly(model: AnySynthesizer, table: Table, weights: Floats, **how: Any) -> Posterior:
    """Fit without a warning: whether it converged is told in the report, and refused by `draw` for what is released."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(model, table, np.nan_to_num(weights), **how)


@contextmanager
def timed_stage(name: str, seconds: dict[str, float], on_stage: Tell | None) -> Iterator[None]:
    """Tell that a stage begins, and note how many seconds it took."""
    if on_stage is not None:
        on_stage(name)
    begun = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begun
