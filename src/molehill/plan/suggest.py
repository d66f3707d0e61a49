"""Settings to begin with, from a look at the table: what an agency then edits."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from molehill.errors import InputError
from molehill.plan.columns import Finding, look_at_columns, propose_limits
from molehill.plan.derivable import Derivable, find_derivable
from molehill.plan.settings import Settings
from molehill.rules.formulas import read_formula_of
from molehill.surveys.design import SurveyDesign
from molehill.surveys.recognising import recognise_design
from molehill.tables.cells import declare_missing, find_missing_codes
from molehill.tables.patterns import learn_patterns
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table

# An age in years is known by its group: an intruder who knew the year would know the group as well.
AGE_BREAKS = (15.0, 25.0, 35.0, 50.0, 65.0)
# Known columns are added as long as no more than this share of the records is in a pattern of fewer than three.
IN_SMALL = 0.1
_ORDER = ("age", "sex", "place", "marital status", "origin", "household")
_MANY = 20
# What is synthesized because a variable follows from it may follow from others itself.
_ROUNDS = 3


@dataclass(frozen=True)
class Suggestion:
    """Settings to begin with, and why: notes by setting, and reasons by column."""

    settings: Settings
    notes: dict[str, str]
    reasons: dict[str, str]


def suggest_settings(data: Any, *, path: str | None = None, reading: Mapping[str, Any] | None = None) -> Suggestion:
    """Suggest settings for a table: a fate for every column, what an intruder may know, limits of what is replaced.

    The replaced column is the amount that looks most like money, or varies most for its size. A column that may name
    people is dropped, and so is one whose values nobody can compare; another that looks sensitive, or is numbers but
    for some cells, is left to be decided; all others are kept. Cells that probably stand for a missing value are named.
    `path` and `reading` say where the table comes from, for the settings.

    Examples
    --------
    >>> from molehill.tables.populations import consumer_survey
    >>> settings = suggest_settings(consumer_survey(n=2000, seed=1)).settings
    >>> settings.replace, settings.known[:2], settings.decide
    (('income',), ('age', 'gender'), ())
    """
    table = as_table(data)
    codes = find_missing_codes(table)
    table = declare_missing(table, codes)
    findings = look_at_columns(table)
    design, about_design = _recognise(table, [found.name for found in findings if not found.problem])
    parts = {} if design is None else {name: role for role, name in design.columns}
    replaced = _choose_replaced(table, [found for found in findings if found.name not in parts])
    others = [found for found in findings if found.name != replaced.name]
    # Text that is nearly all numbers can be mended; of what nobody can compare there is nothing to decide.
    drop = tuple(
        found.name
        for found in others
        if found.name not in parts and (not found.levels if found.problem else found.identifying)
    )
    decide = tuple(
        found.name
        for found in others
        if (found.sensitive or found.problem)
        and found.name not in drop
        and parts.get(found.name, "stratum") == "stratum"
    )
    keep = tuple(found.name for found in others if found.name not in (*drop, *decide))
    knowable = [found for found in others if found.name in keep and parts.get(found.name, "stratum") == "stratum"]
    known, breaks, about_patterns = _choose_known(table, knowable)
    numeric = replaced.kind != "categorical"
    low, high = _limits(table, replaced) if numeric else (None, None)
    settings = Settings(
        replace=(replaced.name,),
        keep=keep,
        drop=drop,
        decide=decide,
        known=known,
        data=path,
        breaks=breaks,
        lower={replaced.name: low} if numeric else None,
        upper={replaced.name: high} if numeric else None,
        missing="model" if replaced.missing else "error",
        missing_codes=codes,
        survey=design,
        accept=tuple(found.name for found in others if found.name in parts and found.identifying),
        **{name: value for name, value in (reading or {}).items() if value is not None},
    )
    settings, follow = _settle_derivable(table, settings, {found.name: found for found in findings})
    notes = {"known": about_patterns, "columns": _tell_open(decide), "survey": about_design}
    if table.dialect is not None:
        notes["data"] = f"Read with {table.dialect}."
    if codes:
        told = "The codes for missing values are proposals: look them up in a codebook."
        notes["columns"] = f"{notes['columns']}\n{told}".strip()
    if replaced.missing:
        notes["missing"] = f"{replaced.missing:,} records have no {replaced.name}."
    reasons = {found.name: _reason(found, found.name if found.name in settings.replace else "") for found in findings}
    reasons |= {name: f"{reason}; {reasons[name]}" for name, reason in follow.items()}
    reasons |= {name: f"the survey's {role}; {reasons[name]}" for name, role in parts.items()}
    return Suggestion(settings, {name: note for name, note in notes.items() if note}, reasons)


def _settle_derivable(
    table: Table, settings: Settings, findings: Mapping[str, Finding]
) -> tuple[Settings, dict[str, str]]:
    """Propose to synthesize also what a synthesized variable follows from, and to compute it again; with reasons."""
    own, reasons = settings.replace, dict[str, str]()
    design = [] if settings.survey is None else [name for _, name in settings.survey.columns]
    for _ in range(_ROUNDS):
        found = [one for one in find_derivable(table, settings) if not one.partly]
        # A part that follows from what is left, such as a size from a count, hides nothing: it stays.
        back = [one.column for one in found if one.column in settings.replace and one.column not in own]
        settings = _release_unchanged(settings, back)
        reasons = {name: reason for name, reason in reasons.items() if name not in back}
        for one in [one for one in found if one.column not in reasons and one.column not in back]:
            parts = read_formula_of(one.column, one.formula).parts if one.formula else one.parts
            chosen = [
                findings[name]
                for name in parts
                # What an intruder knows anyway, and what has few levels, stays: the others are enough to hide it.
                if name in settings.keep and name not in design and _is_amount(findings[name])
            ]
            if chosen:
                settings = _synthesize_too(table, settings, chosen, one)
                reasons |= {each.name: f"synthesized because {one.column} follows from it" for each in chosen}
            reasons[one.column] = f"from what would be kept, {one}"
    return settings, reasons


def _is_amount(found: Finding) -> bool:
    return found.kind != "categorical" and not (found.dates or found.knowable) and found.levels > _MANY


def _release_unchanged(settings: Settings, names: Sequence[str]) -> Settings:
    ends = {
        end: {name: value for name, value in (getattr(settings, end) or {}).items() if name not in names}
        for end in ("lower", "upper")
    }
    left = tuple(name for name in settings.replace if name not in names)
    return settings.but(replace=left, keep=(*settings.keep, *names), **ends) if names else settings


def _synthesize_too(table: Table, settings: Settings, chosen: Sequence[Finding], found: Derivable) -> Settings:
    """Synthesize what a variable follows from, and compute it from these if it is known how."""
    names = [each.name for each in chosen]
    made = {found.column: found.formula} if found.formula else {}
    limits = {each.name: _limits(table, each) for each in chosen if each.kind != "categorical"}
    ends = {end: {**(getattr(settings, end) or {})} for end in ("lower", "upper")}
    for place, own in enumerate(ends.values()):
        own |= {name: both[place] for name, both in limits.items()}
        own.pop(found.column if made else "", None)
    return settings.but(
        replace=tuple(name for name in (*settings.replace, *names) if name not in made),
        keep=tuple(name for name in settings.keep if name not in names),
        derived={**settings.derived, **made},
        missing="model" if any(each.missing for each in chosen) else settings.missing,
        **ends,
    )


def _recognise(table: Table, usable: Sequence[str]) -> tuple[SurveyDesign | None, str]:
    """Propose how the table was sampled, as far as it can be read, and say why."""
    found = recognise_design(replace(table, frame=table.frame[list(usable)]))
    told = [
        f"{one.role} {one.columns[0]}{' and others' if len(one.columns) > 1 else ''}: {one.reason}"
        f"{'' if one.taken else ' (not taken)'}."
        for one in found.suggested
    ]
    if found.design is None:
        return None, "\n".join(told)
    for single in ("error", "adjust"):
        design = replace(found.design, single=single)
        with suppress(InputError):
            design.read(table)
            return design, "\n".join([*told, "A proposal: confirm it with the documentation of the survey."])
    return None, "\n".join(told)


def _tell_open(decide: Sequence[str]) -> str:
    told = 'Those marked "decide" look sensitive, or cannot be used as they are: say replace, keep or drop.'
    return f"{told} Nothing runs before." if decide else ""


def _reason(found: Finding, replaced: str) -> str:
    if found.name == replaced:
        limits = "" if found.kind == "categorical" else "; the limits are PROPOSALS: look them up in a codebook"
        return f"{found.kind} ({found.reason}){limits}"
    if found.problem:
        return f"{found.problem}. {found.remedy}"
    if found.identifying:
        return f"may name people: {found.identifying}"
    told = f"looks sensitive: {found.sensitive}; " if found.sensitive else ""
    return f"{told}{found.kind} ({found.reason})"


def _choose_replaced(table: Table, findings: Sequence[Finding]) -> Finding:
    """The amount that looks like money and varies most for its size; else any number, else a category."""
    candidates = [found for found in findings if found.levels > 1 and not (found.identifying or found.problem)]
    if not candidates:
        raise InputError("data", "no column varies without naming people", "Give a table with something to protect")
    kinds = {"semicontinuous": 3, "continuous": 3, "count": 2, "categorical": 1}

    def rank(found: Finding) -> tuple[float, ...]:
        amount = kinds[found.kind]
        return (amount == 3 and found.sensitive == "money", amount, bool(found.sensitive), _spread(table, found))

    return max(candidates, key=rank)


def _spread(table: Table, found: Finding) -> float:
    if found.kind == "categorical":
        return 0.0
    numbers = column_numbers(table, found.name)
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.std() / max(abs(float(numbers.mean())), 1e-300)) if len(numbers) else 0.0


def _limits(table: Table, found: Finding) -> tuple[float, float]:
    values = column_numbers(table, found.name)
    return propose_limits(values[np.isfinite(values)])


def _choose_known(table: Table, kept: Sequence[Finding]) -> tuple[tuple[str, ...], dict[str, tuple[float, ...]], str]:
    """What an intruder may have, the likeliest first, as long as patterns do not get too small."""
    likely = sorted((found for found in kept if found.knowable), key=lambda found: _ORDER.index(found.knowable))
    likely = likely or [found for found in kept if found.kind == "categorical" and 1 < found.levels <= _MANY]
    chosen: list[str] = []
    breaks: dict[str, tuple[float, ...]] = {}
    left = []
    for found in likely:
        own = _breaks(table, found)
        sizes = _pattern_sizes(table, [*chosen, found.name], {**breaks, found.name: own} if own else breaks)
        if sizes[sizes < 3].sum() <= IN_SMALL * len(table.frame):
            chosen.append(found.name)
            breaks |= {found.name: own} if own else {}
        else:
            left.append((found.name, int((sizes == 1).sum())))
    sizes = _pattern_sizes(table, chosen, breaks)
    note = f"{len(sizes):,} patterns, of {sizes.min():,} to {sizes.max():,} records."
    told = [f"With {name!r} as well, {alone:,} records would be alone in their pattern." for name, alone in left]
    return tuple(chosen), breaks, "\n".join([note, *told])


def _breaks(table: Table, found: Finding) -> tuple[float, ...]:
    """Groups of a known number with many values."""
    if found.kind == "categorical" or found.levels <= _MANY:
        return ()
    values = column_numbers(table, found.name)
    values = values[np.isfinite(values)]
    if found.knowable == "age" and values.min() >= 0 and values.max() <= 130:
        return tuple(end for end in AGE_BREAKS if values.min() < end <= values.max())
    # Round numbers, which are nobody's value.
    step = 10.0 ** np.floor(np.log10(max(np.ptp(values), 1e-300) / 2))
    first = np.ceil(values.min() / step) * step
    return tuple(float(end) for end in np.arange(first, values.max(), step) if end > values.min())


def _pattern_sizes(table: Table, columns: Sequence[str], breaks: dict[str, tuple[float, ...]]) -> np.ndarray:
    return np.bincount(learn_patterns(table, columns, breaks).codes)
