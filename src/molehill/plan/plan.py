"""The plan: what becomes of every column, checked before anything is fitted, and told on one page."""

import json
import re
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr

from molehill.errors import InputError
from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.criteria import check_criteria, parse_criteria
from molehill.evaluation.scorecard import set_rules, tell_bounds
from molehill.plan.columns import Finding, look_at_columns, order_tells
from molehill.plan.cost import estimate_seconds
from molehill.plan.derivable import Derivable, find_derivable, find_ties, tell_remedies
from molehill.plan.pooling import Pooled, count_rare, draw_least, group_values, pool_levels, write_in_units
from molehill.plan.predictors import sketch_predictors, tell_handling, tell_unit
from molehill.plan.settings import BESIDE, FATES, OF_COLUMNS, Settings, printable
from molehill.risk.intruder import View
from molehill.rules.constraints import Sum, count_broken
from molehill.rules.emptiness import find_emptiness
from molehill.rules.formulas import Formula, check_formula, read_formula_of
from molehill.rules.reading import read_constraints
from molehill.rules.rules import Rules
from molehill.runtime import available_memory
from molehill.surveys.design import Sample, SurveyDesign
from molehill.synthesis.design import Design, find_levels
from molehill.tables.cells import declare_missing
from molehill.tables.labels import align_rows
from molehill.tables.patterns import learn_patterns
from molehill.tables.resolution import column_unit
from molehill.tables.schema import column_numbers, group_labels
from molehill.tables.table import Table, as_table, find_columns
from molehill.utility.analyses import read_formula, refuse_wide
from molehill.utility.marginals import code_column, learn_levels

TOGETHER = (
    "Records belong together: risk is measured per record, not per person or household, so that the recommendation "
    "will be 'Board decision needed' at best. A file with one record per person or household (one wave, one member) "
    "does not have this limitation."
)
# The parametric model of a kind of column, as `molehill.models.BUILT_IN` has them, which need JAX.
MODELS = {
    "continuous": "tdp_mixture",
    "semicontinuous": "semicontinuous",
    "count": "negative_binomial",
    "categorical": "multinomial",
    "date": "normal_linear",
}
# Of a category with more levels than this share of the records, most values are those of single people.
MOST_LEVELS = 0.2
SMALL = (2, 3, 5, 10)
# A record that counts as so many of mean weight may rule what is drawn of those like it: docs/surveys.md has a case.
HEAVY = 25.0
# Columns of up to so many levels are alike in what few records tell of them.
_FEW_LEVELS = (10, 50)
# Seconds of a fit for every record and column of its design, measured on the built-in survey with two cores (6,208
# records, 34 columns: 36 s); above ten thousand records the work leaves the caches.
_SECONDS, _CACHED, _SLOWER = 1.7e-4, 10_000, 1.6
# Bytes at once for every record: of the design in several copies, and of every table; of forests what a search keeps.
_DESIGN_BYTES, _TABLE_BYTES, _FOREST_BYTES = 8 * 12, 8 * 3, 6000


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be made of a table.

    Attributes
    ----------
    columns
        column, label, fate, kind, model, limits, remark, sensitive, handling: one row a column of the table. The last
        says what the model makes of a predictor that it cannot take as it is, and in which unit new values are written.
    drawn
        The replaced columns in the order of drawing, and `better`, an order that may carry more; the same if it does.
    rules
        What every released record keeps to, in words, each with how many confidential records break it.
    known
        What the intruder knows.
    patterns, small
        How many patterns there are; and by 2, 3, 5, 10, how many of them have fewer records, with how many in all.
    outside
        Of the replaced numbers: how many records lie outside their limits.
    order
        Replaced columns that the order of the rows tells something of.
    shuffled
        Whether the records are published in another order.
    seconds, bytes
        An estimate of what a run needs; where all variables are drawn by forests, `plan_settings` measures the machine
        for it.
    survey
        What the design of a survey says, and how it is used, in sentences.
    bounds
        Bounds of the scorecard that are not ours, in words.
    together
        By which columns records belong together, in sentences, and what becomes of each; empty if none does.
    derivable, accepted
        Synthesized and derived variables whose true values can be computed from what is kept; and those of them that
        are accepted knowingly.
    ties
        Synthesized variables that follow from other synthesized ones, which synthetic values do not keep to.
    """

    columns: pd.DataFrame
    known: tuple[str, ...]
    patterns: int
    small: dict[int, tuple[int, int]]
    outside: dict[str, int]
    order: tuple[str, ...]
    shuffled: bool
    seconds: float
    bytes: float
    drawn: tuple[str, ...] = ()
    better: tuple[str, ...] = ()
    rules: dict[str, int] = field(default_factory=dict)
    survey: tuple[str, ...] = ()
    bounds: str = ""
    together: tuple[str, ...] = ()
    derivable: tuple[Derivable, ...] = ()
    accepted: tuple[str, ...] = ()
    ties: tuple[Derivable, ...] = ()

    def __str__(self) -> str:
        return tell_plan(self)


def plan_settings(data: Any, settings: Settings) -> Plan:
    """Plan what settings make of a table, without fitting anything: every problem that the table can tell comes now.

    Examples
    --------
    >>> people = pd.DataFrame({"town": ["A", "B"] * 20, "pay": np.linspace(900.5, 5000, 40)})
    >>> settings = Settings(synthesize=["pay"], keep=["town"], known=["town"], lower=0.0, upper=20_000.0)
    >>> plan_settings(people, settings).columns[["column", "fate", "model"]].to_numpy().tolist()
    [['town', 'keep', ''], ['pay', 'synthesize', 'forest']]
    """
    set_rules(settings.thresholds, MEASURES)
    check_criteria(parse_criteria(settings.release_criteria)[0], MEASURES)
    table = take_table(data, settings)
    findings = check_columns(settings, table, own=settings.synthesizer == "custom")
    table, pooled = pool_levels(write_in_units(table, settings), settings)
    settings = complete_settings(settings, table)
    return complete_plan(make_plan(settings, settings.intruder.view(table), findings, pooled=pooled), settings, table)


def complete_plan(plan: Plan, settings: Settings, table: Table) -> Plan:
    """Add to a plan what only its readers need: the estimated time, measured on this machine, and the ties."""
    if all(model == "forest" for model in plan.columns.loc[plan.columns["fate"] == "synthesize", "model"]):
        plan = replace(plan, seconds=estimate_seconds(settings, table))
    stated = [{*one.columns} for one in read_constraints(settings.constraints, table)] if settings.constraints else []
    ties = [one for one in find_ties(table, settings) if not any({one.column, *one.parts} <= own for own in stated)]
    return replace(plan, ties=tuple(ties))


def _refuse_few(table: Table, settings: Settings, models: Mapping[str, str]) -> None:
    """Refuse a model that would release losses, or missing values, because a few records have some.

    A forest releases none of these (`molehill.models.forests.grid`). How many are few is drawn, as for levels.
    """
    for name, model in models.items():
        if model in ("forest", "own"):
            continue
        least = settings.least_records(name)
        held = {
            "missing values": (int(table.frame[name].isna().sum()) if settings.missing_values == "model" else 0, least)
        }
        if model == "semicontinuous":
            values = column_numbers(table, name)
            # Of an amount it is a matter of kind, and not of one level more.
            held |= {"losses": (int((values < 0).sum()), 2 * least), "gains": (int((values > 0).sum()), 2 * least)}
        few = [what for what, (own, enough) in held.items() if 0 < own < draw_least(settings, name, what, enough)]
        if few:
            problem = f"{name!r} has few {few[0]}, and {model} would release some because of these records"
            raise InputError("synthesizer", problem, 'Use "forest", which then releases none, or correct the table')


def take_table(data: Any, settings: Settings) -> Table:
    """Take the table with the cells missing that settings say are, and in groups what is released in groups."""
    table = as_table(data)
    table = declare_missing(table, settings.missing_codes) if settings.missing_codes else table
    return group_values(table, settings)


def complete_settings(settings: Settings, table: Table) -> Settings:
    """Settle what the settings leave to the table: what the model conditions on.

    Predictors that nobody asked for raise the risk for nothing. So where relations or regressions are named, only their
    columns are predictors; the paper's scheme, and settings that name neither, condition on all that is kept.
    """
    find_columns(table, settings.known, "known")
    find_columns(table, settings.preserve, "preserve")
    # One that names people says nothing of others, and would need a coefficient for each of them.
    kept = tuple(name for name in settings.keep if name not in settings.accept_identifying)
    regressed = _find_regressed(settings, table)
    asked = {*settings.preserve, *regressed}
    formulas = read_formulas(settings)
    # What is computed from others is carried by these.
    for name in [name for name in formulas if name in asked]:
        asked = asked - {name} | {*formulas[name].parts}
    if settings.survey_design is not None:
        carried = settings.survey_design.weight if settings.fits_given_weight else settings.survey_design.stratum
        # Clusters and replicates are no predictors: they are too many, or tell what the weight tells.
        others = (
            {name for _, name in settings.survey_design.columns} - {settings.survey_design.stratum, carried} - asked
        )
        kept = tuple(name for name in kept if name not in others)
        asked |= {carried} & {*kept} if asked - {*settings.synthesize} else set()
    if settings.method != "paper" and asked - {*settings.synthesize}:
        kept = tuple(name for name in kept if name in asked)
    predictors = kept if settings.predictors is None else settings.predictors
    find_columns(table, predictors, "predictors")
    return settings.but(predictors=predictors)


def _find_regressed(settings: Settings, table: Table) -> list[str]:
    """Give the columns of the regressions, none of which takes more than it can tell."""
    found = []
    for text in settings.regressions:
        try:
            formula = read_formula(text)
        except InputError as error:
            short = text if len(text) <= 100 else text[:99] + "…"
            raise InputError("regressions", f"of {short!r} {error.problem}", error.remedy) from None
        find_columns(table, formula.columns, "regressions")
        refuse_wide(table.frame, formula, "regressions")
        found += formula.columns
    return found


def make_plan(
    settings: Settings,
    view: View,
    findings: Sequence[Finding] | None = None,
    rules: Rules | None = None,
    *,
    pooled: Sequence[Pooled] = (),
) -> Plan:
    """Say what becomes of every column, and what it will cost: settings with predictors, checked by `check_columns`."""
    table = view.table
    kinds = {name: view.schema[name].kind for name in settings.synthesize}
    rules = rules or find_rules(table, settings, kinds, pooled)
    found = {one.name: one for one in findings or look_at_columns(table)}
    models = {name: _model(settings, found[name]) for name in settings.synthesize}
    _refuse_few(table, settings, models)
    # What a synthesizer of the caller's makes of predictors, nobody can tell.
    sketches = [] if settings.synthesizer == "custom" else sketch_predictors(table, settings, models)
    rows = [_describe(table, settings, found[name], sketches, pooled) for name in table.frame.columns]
    sizes = view.sizes[view.sizes > 0]
    # What is done where all are alone is a policy of its own.
    if settings.risk_order > max(int(sizes.max(initial=0)), 2):
        problem = f"it is {settings.risk_order}, and no pattern has more than {sizes.max(initial=0):,} records"
        raise InputError("risk_order", problem, "Give a smaller one, or coarser known columns")
    outside = {}
    for name in view.numeric:
        low, high = (settings.of_column(end, name) for end in ("lower", "upper"))
        values = view.column(name)
        below, above = (0 if low is None else values < low), (0 if high is None else values > high)
        outside[name] = int(np.sum(below) + np.sum(above))
    width = max((design.width for design in sketches), default=1 + len(settings.predictors or ()))
    fits = 1 + len({"unweighted", "marginal", "pairwise"} & set(settings.compare))
    slower = _SLOWER if view.records > _CACHED else 1.0
    seconds = fits * slower * _SECONDS * view.records * width
    # A design weight that is drawn comes first.
    first = tuple(
        name
        for name in settings.synthesize
        if settings.survey_design is not None and name == settings.survey_design.weight
    )
    others = [name for name in settings.synthesize if name not in first]
    held = _FOREST_BYTES if "forest" in models.values() else _DESIGN_BYTES * width
    return Plan(
        pd.DataFrame(rows),
        settings.known,
        len(sizes),
        {size: (int((sizes < size).sum()), int(sizes[sizes < size].sum())) for size in SMALL},
        outside,
        order_tells(table, settings.synthesize),
        settings.shuffle,
        seconds,
        view.records * (held + _TABLE_BYTES * settings.datasets * len(settings.synthesize)),
        settings.synthesize,
        (*first, *_sums_last(suggest_order(table, others), others, rules)),
        {f"{rule}": 0 for rule in rules.empty if rule.by is not None} | count_broken(rules.constraints, table),
        tuple(tell_survey(settings, table)),
        tell_bounds(settings.thresholds),
        tuple(tell_units(settings, found.values(), table)),
        find_derivable(table, settings),
        tuple(settings.accept_derivable),
    )


def tell_units(settings: Settings, findings: Iterable[Finding], table: Table) -> list[str]:
    """Say by which columns records belong together, as far as they name units or are published as they are.

    Records with the same key variables may all be those of one unit: so it is said how many are.
    """
    fates = {name: words for fate, words in _FATES.items() for name in getattr(settings, fate)}
    units = [
        found
        for found in findings
        if found.unit and found.name in fates and (found.identifying or found.name in settings.keep)
    ]
    told = []
    for found in units:
        alone = int((pattern_sizes(table, settings.known, settings.number_breaks, [found.name]) <= 1).sum())
        told.append(
            f"{found.name!r} shows which records belong together ({found.unit}), and is {fates[found.name]}; "
            f"{alone:,} records share their key variables with no other value of {found.name!r}"
        )
    return told


def pattern_sizes(
    table: Table, names: Sequence[str], breaks: Mapping[str, Sequence[float]], units: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Count for every record the records that share some variables or, where these belong together, their units.

    Examples
    --------
    >>> people = Table(pd.DataFrame({"person": [1, 1, 2, 3], "town": ["A", "A", "B", "B"]}))
    >>> pattern_sizes(people, ["town"], {}).tolist(), pattern_sizes(people, ["town"], {}, ["person"]).tolist()
    ([2, 2, 2, 2], [1, 1, 2, 2])
    """
    codes = learn_patterns(table, names, {name: ends for name, ends in breaks.items() if name in names}).codes
    if not units:
        return np.bincount(codes)[codes]
    counted = pd.DataFrame({"pattern": codes})
    # The fewest, where there are several kinds of units; a record without one is a unit of its own.
    return np.min(
        [
            counted.assign(unit=_number_units(table.frame[name])).groupby("pattern")["unit"].transform("nunique")
            for name in units
        ],
        axis=0,
    )


def _number_units(column: pd.Series) -> NDArray[np.int64]:
    codes = pd.factorize(column)[0].astype(np.int64)
    return np.where(codes < 0, -1 - np.arange(len(codes)), codes)


def read_formulas(settings: Settings) -> dict[str, Formula]:
    """Read the formulas of the derived variables, by their names."""
    return {name: read_formula_of(name, text) for name, text in settings.derived.items()}


def tell_survey(settings: Settings, table: Table) -> list[str]:
    """Say what the design of a survey is, and what is made of it."""
    design = settings.survey_design
    if design is None:
        return []
    sample = design.read(table)
    effective = f"{sample.effective:,.0f} of equal weight would tell as much of a mean"
    told = [f"A sample by {design.weight!r}: {_tell_sample(design, sample)}; {effective}."]
    spread = (
        ", with the spread of the design" if settings.design_variance else "; their spread is not that of the design"
    )
    words = {
        "both": f"New values are drawn given {design.weight!r}, by models that count a record as often as it says, "
        f"beside its weight for risk{spread}.",
        "weights": f"Models count a record as often as {design.weight!r} says, beside its weight for risk: new values "
        f"are drawn from the population{spread}.",
        "predictor": f"New values are drawn given {design.weight!r}, from the sample as it is: whoever weights them "
        "estimates the population.",
        "": f"Models do not use {design.weight!r}.",
    }
    told.append(words[settings.weighs])
    if design.weight in settings.drop and settings.fully_synthetic_records is None:
        told.append(f"{design.weight!r} IS DROPPED: nobody can weight the tables, whose kept columns are the sample's.")
    if design.weight in settings.keep and design.weight not in settings.known:
        breaks = {name: ends for name, ends in settings.number_breaks.items() if name in settings.known}
        alone = [
            int((np.bincount(learn_patterns(table, names, breaks).codes) == 1).sum())
            for names in (settings.known, [*settings.known, design.weight])
        ]
        told.append(
            f"{design.weight!r} is published: to who knows it {alone[1]:,} records are alone in their pattern, "
            f"{alone[0]:,} without it."
        )
    heaviest = float(sample.normalised.max())
    if settings.fits_by_weight and heaviest > HEAVY:
        told.append(
            f"THE HEAVIEST RECORD COUNTS AS {heaviest:.0f} OF MEAN WEIGHT: what is drawn may lean to its values. Trim "
            "the weights, or look at its risk in the report."
        )
    if not sample.expands:
        told.append(
            f"{design.weight!r} adds up to the records, not to a population: how rare people are there is unknown."
        )
    return told


def _tell_sample(design: SurveyDesign, sample: Sample) -> str:
    told = [f"{sample.records:,} records"]
    told += [f"{len(sample.fractions):,} strata"] if design.stratum else []
    told += [f"{len(sample.stratum_of):,} clusters"] if design.cluster else []
    told += [f"{len(design.replicates):,} replicate weights"] if design.replicates else []
    return ", ".join(told)


def find_rules(table: Table, settings: Settings, kinds: Mapping[str, str], pooled: Sequence[Pooled] = ()) -> Rules:
    """Find where columns are empty because of others, if missing values are modelled, and read the constraints.

    Parameters
    ----------
    table, settings
        The confidential table, and what was asked for.
    kinds
        The kind of every replaced column.
    pooled
        Rare levels that the table had, of which no constraint can speak.
    """
    numeric = [name for name in settings.synthesize if kinds[name] != "categorical"]
    limits = {name: tuple(map(float, _limits(settings, name))) for name in numeric}
    units = {name: column_unit(table.frame[name]) for name in numeric}
    exact = [name for name in settings.synthesize if name not in numeric]
    levels = {name: _levels(table, name) for name in exact}
    empty = find_emptiness(table, settings.synthesize, settings.keep) if settings.missing_values == "model" else ()
    about: dict[str, Any] = {"limits": limits, "units": {name: unit for name, unit in units.items() if unit}}
    try:
        constraints = read_constraints(settings.constraints, table, **about) if settings.constraints else ()
    except InputError as error:
        if not pooled:
            raise
        names = ", ".join(repr(one.name) for one in pooled)
        remedy = f"{error.remedy}. Rare levels of {names} are pooled: a smaller min_level_records keeps them"
        raise InputError(error.argument, error.problem, remedy) from None
    hidden = [name for one in constraints for name in one.columns if name in settings.derived]
    if hidden:
        problem = f"they speak of {hidden[0]!r}, which is derived"
        raise InputError("constraints", problem, "Write its parts instead, or leave the constraint out")
    hidden = [name for one in constraints for name in one.columns if name in settings.drop]
    if hidden:
        problem = f"they speak of {hidden[0]!r}, which is dropped"
        raise InputError("constraints", problem, "Keep or replace it, or leave the constraint out")
    return Rules(empty, constraints, levels=levels, **about)


def _limits(settings: Settings, name: str) -> tuple[float, float]:
    low, high = (settings.of_column(end, name) for end in ("lower", "upper"))
    return -np.inf if low is None else low, np.inf if high is None else high


def _levels(table: Table, name: str) -> tuple[Any, ...]:
    return tuple(level for level in find_levels(table.frame[name], name, "synthesize") if level is not None)


def suggest_order(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """Suggest in which order to draw columns: few missing values and few levels first, then strong predictors.

    What is drawn early is carried best, and conditions all that comes after it: a category of few levels is known well
    from few records, and parts the others cleanly. Among columns alike in this, one that tells more of the others goes
    first (the mean share of their entropy that it explains, in tenths, beyond what chance would).

    Examples
    --------
    >>> people = pd.DataFrame({"pay": [float(pay) for pay in range(12)], "job": ["a", "b"] * 6})
    >>> suggest_order(Table(people), ["pay", "job"])
    ('job', 'pay')
    """
    frame = table.frame
    codes = {name: code_column(learn_levels(table, name), table) for name in columns}

    def rank(name: str) -> tuple[float, int, float, int]:
        levels = frame[name].nunique()
        told = [_explained(codes[name], codes[other]) for other in columns if other != name]
        missing = round(float(frame[name].isna().mean()), 1)
        return missing, bisect(_FEW_LEVELS, levels), -round(float(np.mean(told or 0)), 1), levels

    return tuple(sorted(columns, key=rank))


def _sums_last(order: Sequence[str], own: Sequence[str], rules: Rules) -> tuple[str, ...]:
    """Put behind the others of a sum the one that the user has last: it is computed from them."""
    moved = list(order)
    for claim in (claim for one in rules.constraints for claim in one.conclusion):
        drawn = [name for name in own if name in claim.columns]
        if isinstance(claim, Sum) and claim.sign == "=" and len(drawn) > 1:
            moved.remove(drawn[-1])
            moved.insert(1 + max(map(moved.index, drawn[:-1])), drawn[-1])
    return tuple(moved)


def _explained(codes: NDArray[np.int32], others: NDArray[np.int32]) -> float:
    """Share of the entropy of others that codes explain, less what unrelated ones would on average."""
    across = int(others.max()) + 1
    joint = np.bincount(codes.astype(np.int64) * across + others, minlength=(int(codes.max()) + 1) * across)
    joint = joint.reshape(-1, across)
    joint = joint[np.ix_(joint.any(axis=1), joint.any(axis=0))]
    inside, total = joint.sum(axis=1, keepdims=True), joint.sum()
    entropy = float(entr(joint.sum(axis=0) / total).sum())
    by_chance = (joint.shape[0] - 1) * (joint.shape[1] - 1) / (2 * total)
    left = float((entr(joint / inside).sum(axis=1) * inside[:, 0]).sum() / total)
    return max(0.0, entropy - left - by_chance) / entropy if entropy else 0.0


def check_columns(settings: Settings, table: Table, *, own: bool = False) -> tuple[Finding, ...]:
    """Refuse settings that leave a column without a fate, or with one that is not safe; give what was found.

    Parameters
    ----------
    settings, table
        What was asked for, and of what.
    own
        Whether the synthesizer is one of the caller's, which knows its limits itself.
    """
    for fate in (*FATES, *BESIDE):
        find_columns(table, list(getattr(settings, fate)), fate)
    for setting in OF_COLUMNS.values():
        value = getattr(settings, setting)
        find_columns(table, list(value) if isinstance(value, Mapping) else [], setting)
    _check_fates(settings, table)
    _check_survey(settings, table)
    _check_derived(settings, table)
    hidden = [name for name in settings.known if name in settings.drop]
    if hidden:
        problem = f"{hidden[0]!r} is dropped, so that no released record can be found by it"
        raise InputError("known", problem, "Keep it, or take it from the known columns")
    findings = tuple(look_at_columns(table))
    _check_varying(settings, table, findings)
    for found in findings:
        used = found.name not in settings.drop or found.name in (settings.predictors or ())
        # That text is a list of codes can be said; what cannot be compared is no list.
        if found.problem and used and (found.name not in settings.kinds or not found.levels):
            raise InputError("data", found.problem, f"{found.remedy}; or drop the column")
        if found.unit and found.identifying and found.name not in _decided(settings):
            raise _unit_kept(found)
        decided = found.name in settings.accept_identifying or found.unit
        if found.identifying and found.name in settings.keep and not decided:
            problem = f"{found.name!r} may name people ({found.identifying})"
            remedy = 'Drop it; or keep it knowingly: identifying = "accept" in its entry, in Python accept=[its name]'
            raise InputError("keep", problem, remedy)
        if found.name in settings.synthesize:
            _check_replaced(settings, found, len(table.frame), own=own)
        if found.name in settings.levels:
            _check_levels(settings, found.name, table)
    return findings


def _decided(settings: Settings) -> set[str]:
    """Columns by which records may belong together: dropped, accepted by name, or said to be of the survey's design."""
    roles = () if settings.survey_design is None else settings.survey_design.columns
    return {*settings.drop, *settings.accept_identifying, *(name for _, name in roles)}


def _unit_kept(found: Finding) -> InputError:
    problem = f"records belong together, and {found.name!r} would be released, which says how: {found.unit}"
    plain = re.fullmatch(r"[A-Za-z0-9_-]+", found.name)
    name = found.name if plain else json.dumps(found.name, ensure_ascii=False)
    remedy = (
        f'Households and panels are not protected as such yet. Write under [columns] {name} = "drop"; or, to release '
        f'it knowingly, {name} = {{ release = "keep", accept_identifying = true }} (in Python accept_identifying=[...])'
    )
    return InputError("keep", problem, remedy)


def _check_fates(settings: Settings, table: Table) -> None:
    named = {name for fate in (*FATES[:3], "derived") for name in getattr(settings, fate)}
    left = [name for name in table.frame.columns if name not in named]
    if left:
        shown = ", ".join(map(repr, left[:20])) + (f" and {len(left) - 20} more" if len(left) > 20 else "")
        problem = f"it is not said what becomes of {shown}"
        remedy = "Name every column of the table under replace, keep or drop"
        if {*left} & {*settings.undecided}:
            remedy += '; what is "undecided" is still open: the settings of `molehill init` say beside it what to write'
        raise InputError("columns", problem, remedy)


def _check_derived(settings: Settings, table: Table) -> None:
    """Refuse formulas that cannot be computed from what is released, and those whose parts are all true values."""
    made: set[str] = {*settings.synthesize}
    for name, formula in read_formulas(settings).items():
        check_formula(formula, table, name)
        if name in settings.known:
            problem = f"{name!r} is derived, so that no released record can be found by it"
            raise InputError("known", problem, "Take it from the known columns")
        other = [part for part in formula.parts if part not in made and part not in settings.keep]
        if other:
            problem = (
                f"{name!r} is computed from {other[0]!r}, which is neither replaced nor kept nor derived before it"
            )
            raise InputError("derived", problem, "Replace or keep its parts, or write them in their order")
        if not {*formula.parts} & made:
            problem = (
                f"{name!r} is computed from variables that are released unchanged: its values would be the true ones"
            )
            raise InputError("derived", problem, "Replace one of its parts, or drop it")
        missing = [
            unit
            for unit in formula.units
            if unit in settings.synthesize or settings.fully_synthetic_records is not None
        ]
        if missing:
            problem = f"{name!r} is computed by {missing[0]!r}, by which synthetic records do not belong together"
            raise InputError("derived", problem, "Keep or drop that variable, or write a formula without it")
        made.add(name)


def _check_survey(settings: Settings, table: Table) -> None:
    """Refuse a design that the table does not have, and a new weight that could be negative."""
    design = settings.survey_design
    if design is None:
        _check_population(settings, None)
        return
    for _, name in design.columns:
        find_columns(table, name, "survey_design")
    try:
        sample = design.read(table)
    except InputError as error:
        raise InputError("survey_design", f"{error.argument}: {error.problem}", error.remedy) from None
    _check_population(settings, sample)
    if design.weight in settings.synthesize:
        low = settings.of_column("lower", design.weight)
        if low is not None and low <= 0:
            problem = f"{design.weight!r} is the design weight, and its lower limit is not above 0"
            raise InputError("lower", problem, "Give one above 0: a record stands for itself at least")


def _check_population(settings: Settings, sample: Sample | None) -> None:
    """Refuse rules on the risk in the population where nothing tells of that."""
    asked = [
        target for target in parse_criteria(settings.release_criteria)[0] if target.measure.startswith("population_")
    ]
    if not asked or (sample is not None and sample.expands):
        return
    what, remedy = "there is no survey weight", "Name it in survey"
    if sample is not None:
        what, remedy = (
            "the survey weight adds up to the records alone",
            "Multiply it so that it adds up to the population",
        )
    raise InputError(
        "release_criteria", f"'{asked[0]}' asks for the population, and {what}", f"{remedy}; or use 'expected'"
    )


def _check_varying(settings: Settings, table: Table, findings: Sequence[Finding]) -> None:
    """Refuse to replace columns in which there is nothing to replace, all of them at once."""
    known = [found.name for found in findings if found.name in settings.synthesize and not found.problem]
    alike = [name for name in settings.synthesize if name in known and table.frame[name].nunique() < 2]
    if alike:
        problem = f"there are fewer than two different values to replace in {', '.join(map(repr, alike))}"
        raise InputError("synthesize", problem, "Keep such a column as it is, or drop it")


def _check_replaced(settings: Settings, found: Finding, records: int, *, own: bool) -> None:
    name = found.name
    kind = _kind(settings, found)
    if kind != "categorical":
        left = [end for end in ("lower", "upper") if settings.of_column(end, name) is None]
        if left and not own:
            what = "a date" if kind == "date" else "an amount"
            problem = f"{name!r} is {what} and has no {' and no '.join(left)}"
            raise InputError("columns", problem, "Look its limits up in a codebook; never take the true extremes")
        given = [(getattr(settings, end) or {}) for end in ("lower", "upper")]
        other = [isinstance(one.get(name), date) != (kind == "date") for one in given if isinstance(one, Mapping)]
        if any(other) and not left:
            what, wanted = ("a date", "dates, such as 1900-01-01") if kind == "date" else ("an amount", "numbers")
            raise InputError("lower", f"{name!r} is {what}, and its limits are not", f"Give {wanted}")
        low, high = (settings.of_column(end, name) for end in ("lower", "upper"))
        if low is not None and high is not None and low >= high:
            problem = f"that of {name!r} is not below its upper"
            raise InputError("lower", problem, "Give the smallest and the largest value that may appear")
        return
    for limit in ("lower", "upper", "radius", "min_radius"):
        value = getattr(settings, limit)
        if (isinstance(value, Mapping) and name in value) or (limit in ("lower", "upper") and isinstance(value, float)):
            problem = f"{name!r} is a category ({found.reason}), for which it says nothing"
            raise InputError(limit, problem, 'Leave it out; or say that the column is a number: kind = "continuous"')
    if found.levels > max(MOST_LEVELS * records, 20):
        problem = f"{name!r} is a category of {found.levels:,} levels for {records:,} records: new values would be true"
        raise InputError("synthesize", problem, "Drop it, group its levels, or say what kind of number it is")


def _check_levels(settings: Settings, name: str, table: Table) -> None:
    if name not in settings.synthesize or settings.kinds.get(name) != "categorical":
        raise InputError("levels", f"{name!r} is no replaced category", "Leave them out: only such a column needs them")
    own = {*settings.levels[name]}
    other = sum(level is not None and level not in own for level in find_levels(table.frame[name], name, "levels"))
    if other or len(own) < len(settings.levels[name]):
        what = f"{other:,} levels of {name!r} are not among them" if other else f"one of {name!r} is named twice"
        texts = all(isinstance(level, str) for level in own)
        as_text = texts and pd.api.types.is_numeric_dtype(table.frame[name].dtype)
        remedy = "; they are numbers: without quotes" if as_text else ""
        raise InputError("levels", what, f"Name every level once, in their order{remedy}")


def model_of(settings: Settings, kind: str) -> str:
    """Name the synthesizer of a column of a kind: a forest, or the paper's where settings speak of it.

    Examples
    --------
    >>> asked = Settings(synthesize=["pay"], known=["town"])
    >>> model_of(asked, "continuous"), model_of(asked.but(components=5), "continuous")
    ('forest', 'tdp_mixture')
    """
    if settings.synthesizer != "auto":
        return settings.synthesizer
    return MODELS[kind] if settings.is_parametric else "forest"


def _model(settings: Settings, found: Finding) -> str:
    return model_of(settings, _kind(settings, found))


def _kind(settings: Settings, found: Finding) -> str:
    """The kind of a column as it is used: dates that are drawn are days."""
    drawn = found.dates and found.name in settings.synthesize
    return settings.kinds.get(found.name, "date" if drawn else found.kind)


def _describe(
    table: Table, settings: Settings, found: Finding, sketches: list[Design], pooled: Sequence[Pooled]
) -> dict[str, str]:
    fate = next(fate for fate in (*FATES, "derived") if found.name in getattr(settings, fate))
    kind, limits, model, remarks = _kind(settings, found), "", "", []
    if fate == "synthesize":
        model = _model(settings, found)
        ends = [settings.of_column(end, found.name) for end in ("lower", "upper")]
        limits = " to ".join(_tell_limit(end, kind) for end in ends) if kind != "categorical" else ""
    elif found.name in settings.known:
        remarks.append("the intruder knows it")
    remarks += [f"{one}" for one in pooled if one.name == found.name]
    remarks += [f"the survey's {role}" for role, name in _roles(settings) if name == found.name]
    remarks += _remark_kept(table, settings, found, kind) if fate == "keep" else []
    if found.problem and found.name not in settings.kinds:
        kind = ""
        remarks.append(found.problem)
    handling = tell_handling(found.name, sketches)
    if fate == "keep" and found.name not in (settings.predictors or ()):
        handling.append("no predictor of the model")
    if fate == "synthesize":
        # What is told of handling may be published: counts of the true values only if the tables show them.
        remarks += handling
        handling = _tell_replaced(table, found, kind, settings.missing_values)
    if found.name in settings.grouped:
        handling.append(f"in groups: {', '.join(group_labels(settings.breaks[found.name]))}")
    if fate == "derived":
        handling = [f"computed in every dataset: {settings.derived[found.name]}"]
    if found.missing and not any(found.name in design.missing for design in sketches):
        remarks.append(f"{found.missing:,} missing")
    return {
        "column": found.name,
        "label": table.column_labels.get(found.name, ""),
        "fate": fate,
        "kind": kind,
        "model": model,
        "limits": limits,
        "remark": "; ".join(remarks),
        "sensitive": found.sensitive,
        "handling": "; ".join(handling),
    }


def _remark_kept(table: Table, settings: Settings, found: Finding, kind: str) -> list[str]:
    """What to think of before a column is published as collected."""
    remarks = [f"may name people ({found.identifying}), accepted"] if found.identifying else []
    remarks += [f"looks sensitive ({found.sensitive}), published as collected"] if found.sensitive else []
    single = found.fine or ("" if found.identifying else found.alone)
    remarks += [f"SINGLE VALUES SAY NEARLY WHO A PERSON IS ({single})"] if single else []
    if kind == "categorical" and not found.problem:
        levels, records = count_rare(table, found.name, settings.least_records(found.name))
        rare = f"{levels:,} level{'' if levels == 1 else 's'} of few records ({records:,} in all)"
        remarks += [f"{rare} published as collected"] if levels else []
    return remarks


def _roles(settings: Settings) -> list[tuple[str, str]]:
    """Every column of the survey's design, with its part in words."""
    words = {"replicates": "replicate weight", "population": "population size"}
    return (
        []
        if settings.survey_design is None
        else [(words.get(role, role), name) for role, name in settings.survey_design.columns]
    )


def _tell_limit(end: float | None, kind: str) -> str:
    if end is None:
        return "open"
    return f"{date(1970, 1, 1) + timedelta(days=end)}" if kind == "date" else f"{end:,.12g}"


def _tell_replaced(table: Table, found: Finding, kind: str, missing: str) -> list[str]:
    told = [] if kind in ("categorical", "date") else [f"written as {tell_unit(column_unit(table.frame[found.name]))}"]
    if found.missing and missing != "error":
        told.append("which are missing is modelled too" if missing == "model" else "missing values stay missing")
    return told


def tell_plan(plan: Plan) -> str:
    """Tell a plan on one page of plain text, without a value of the table."""
    told_of = plan.columns[["remark", "handling"]].to_numpy().tolist()
    remarks = ["; ".join(filter(None, told)) for told in told_of]
    shown = plan.columns.drop(columns=["label", "sensitive", "handling"]).assign(remark=remarks)
    # The name of a column can hold anything: nothing in it may move the cursor of a terminal.
    rows = [[printable(f"{cell}") for cell in row] for row in (list(shown.columns), *shown.to_numpy().tolist())]
    fates = plan.columns["fate"].value_counts()
    counted = ", ".join(f"{fates.get(fate, 0)} {words}" for fate, words in _FATES.items())
    counted += f", {fates['derived']} derived" if "derived" in fates else ""
    small = "; ".join(
        f"fewer than {size} records: {number:,}, with {records:,} in all"
        for size, (number, records) in plan.small.items()
    )
    told = [
        f"Columns: {counted}.",
        *align_rows(rows),
        "",
        f"The intruder knows {', '.join(plan.known) or 'nothing'}: {plan.patterns:,} patterns. Of these with {small}.",
    ]
    told += [f"{number:,} records have a {name} outside its limits." for name, number in plan.outside.items() if number]
    if plan.order:
        hidden = "the records are published in another order" if plan.shuffled else "SET shuffle = true"
        told.append(f"The order of the rows tells of {', '.join(plan.order)}: {hidden}.")
    elif not plan.shuffled:
        told.append("The records are published in the order of the file.")
    if len(plan.drawn) > 1:
        told.append(f"Drawn one after the other, each given those before it: {', '.join(map(printable, plan.drawn))}.")
        if plan.better != plan.drawn:
            told.append(f"An order that may carry more: {', '.join(map(printable, plan.better))}.")
    told += map(printable, plan.survey)
    if plan.together:
        told += [f"{printable(one)}." for one in plan.together]
        told.append(TOGETHER)
    for rule, broken in plan.rules.items():
        told.append(f"Kept in every record: {printable(rule)}" + (f" ({broken:,} break it now)." if broken else "."))
    told += tell_derivable(plan)
    told += [f"Judged by bounds of yours: {printable(plan.bounds)}."] if plan.bounds else []
    told.append(f"Estimate: {_tell_time(plan.seconds)}, {plan.bytes / 2**20:,.0f} MiB beside the table.")
    free = available_memory()
    if free is not None and plan.bytes > free:
        remedy = "fewer tables, or a larger machine" if plan.bytes < 2 * free else "a larger machine"
        told.append(f"THAT IS MORE MEMORY THAN THE {free / 2**20:,.0f} MiB THAT ARE FREE: take {remedy}.")
    return "\n".join(told)


def tell_derivable(plan: Plan) -> list[str]:
    """Say what can be computed from what is released unchanged, and what to do; and what new values do not keep to."""
    told = []
    for one in plan.derivable:
        accepted = one.column in plan.accepted
        found = "Accepted: true values" if accepted else "Some true values" if one.partly else "TRUE VALUES"
        told.append(f"{found} can be computed from what is released unchanged: {one}.")
        told += [] if accepted or one.partly else [f"{tell_remedies(one)}. Nothing runs before."]
    for one in plan.ties:
        told.append(
            f"Synthetic values will not keep to this: {one}. To make them so, derive one of them from the others "
            '({ release = "derived", formula = "..." }), or state it as a constraint.'
        )
    return [printable(one) for one in told]


_FATES = {"synthesize": "replaced", "keep": "published as collected", "drop": "dropped"}


def _tell_time(seconds: float) -> str:
    return f"about {max(round(seconds, -1), 10):.0f} s" if seconds < 120 else f"about {seconds / 60:,.0f} min"
