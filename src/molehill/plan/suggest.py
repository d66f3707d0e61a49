"""Settings to begin with, from a look at the table: what an agency then edits."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from molehill.errors import InputError
from molehill.plan.columns import Finding, look_at_columns, propose_limits
from molehill.plan.derivable import Derivable, find_derivable
from molehill.plan.key_variables import MANY, KeyVariables, choose_key_variables
from molehill.plan.plan import TOGETHER, suggest_order, take_table, tell_units
from molehill.plan.pooling import count_rare
from molehill.plan.settings import FEWEST, Settings
from molehill.rules.formulas import quote_part, read_formula_of
from molehill.surveys.design import SurveyDesign
from molehill.surveys.recognising import detect_design
from molehill.tables.cells import declare_missing, explain_missing_codes
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table, as_table

# More variables than this are not proposed for synthesis: the others are left to be decided.
MOST_REPLACED = 20
# A tenth more, or less, on the scale of logarithms: what is close within 20% of the amount.
_LOG_FLOOR = 0.182
# A sensitive category of which so many records have one level, or none, tells of few people only.
_NEARLY_ALL_ALIKE = 0.98
# An amount that fewer people have than Eurostat asks of an estimate of EU-SILC, and hardly anybody, is not released;
# what is computed from it is computed without it if that changes it for hardly anybody.
_FEWEST_RECIPIENTS, _HARDLY_ANYBODY = 20, 0.05
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

    Amounts, and what looks sensitive, are replaced: all of them up to `MOST_REPLACED`. What may name people or says
    which records belong together is dropped, and so is what nobody can compare. A sensitive category of many levels, or
    of fewer than two that enough records have, a long list, exact dates, a possible survey weight, and numbers but for
    some cells are left to be decided; all others are kept. Cells that probably stand for a missing value are named.
    `path` and `reading` say where the table comes from, for the settings.

    Examples
    --------
    >>> from molehill.tables.populations import consumer_survey
    >>> settings = suggest_settings(consumer_survey(n=2000, seed=1)).settings
    >>> settings.synthesize, settings.known[:2], settings.undecided
    (('urban_type', 'urban', 'cbsa', 'education', 'family_size', 'income'), ('age', 'gender'), ())
    """
    table = as_table(data)
    explained = explain_missing_codes(table)
    codes = {name: tuple(own) for name, own in explained.items()}
    table = declare_missing(table, codes)
    findings = look_at_columns(table)
    design, about_design, weights = _recognise(table, [found.name for found in findings if not found.problem])
    parts = {} if design is None else {name: role for role, name in design.columns}
    fates, reasons = _choose_fates(table, findings, parts, weights)
    by_fate = {
        fate: [name for name in fates if fates[name] == fate] for fate in ("synthesize", "keep", "drop", "undecided")
    }
    named = {found.name: found for found in findings}
    drawn = suggest_order(table, by_fate["synthesize"])
    replaced = [named[name] for name in drawn]
    numeric = {found.name: _limits(table, found) for found in replaced if found.kind != "categorical" or found.dates}
    settings = Settings(
        synthesize=drawn,
        keep=tuple(by_fate["keep"]),
        drop=tuple(by_fate["drop"]),
        undecided=tuple(by_fate["undecided"]),
        known=(),
        data=path,
        lower={name: low for name, (low, _) in numeric.items()} or None,
        upper={name: high for name, (_, high) in numeric.items()} or None,
        missing_values="model" if any(found.missing for found in replaced) else "error",
        missing_codes=codes,
        survey_design=design,
        accept_identifying=tuple(found.name for found in findings if found.name in parts and found.identifying),
        **{name: value for name, value in (reading or {}).items() if value is not None},
    )
    units = [found.name for found in findings if found.unit and found.identifying]
    settings, follow = _settle_derivable(table, settings, named)
    reasons |= {name: f"{reason}; {reasons[name]}" for name, reason in follow.items()}
    settings, few = _drop_rare_amounts(table, settings, named, units)
    reasons |= few | {name: f"{few[name]}; {reasons[name]}" for name in few if name in settings.derived}
    knowable = [named[name] for name in settings.keep if parts.get(name, "stratum") == "stratum"]
    settings, keys = _choose_keys(table, settings, knowable, [*parts], units)
    reasons |= {name: f"{reason}; {reasons[name]}" for name, reason in keys.reasons.items()}
    replaced = [named[name] for name in settings.synthesize]
    notes = {"known": keys.note, "survey_design": about_design, "radius": _tell_logarithms(replaced)}
    together = [f"{one}." for one in tell_units(settings, findings, take_table(table, settings))]
    together += [TOGETHER] if together else []
    told = [_tell_open(by_fate["undecided"]), *together, *_tell_codes(explained)]
    notes["columns"] = "\n".join(filter(None, told))
    if table.dialect is not None:
        notes["data"] = f"Read with {table.dialect}."
    notes["missing_values"] = "\n".join(
        f"{found.missing:,} records have no {found.name}." for found in replaced if found.missing
    )
    return Suggestion(settings, {name: note for name, note in notes.items() if note}, reasons)


def _choose_fates(
    table: Table, findings: Sequence[Finding], parts: Mapping[str, str], weights: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Propose what becomes of every column, on the safe side, and say why."""
    fates: dict[str, str] = {}
    reasons: dict[str, str] = {}
    wanted = []
    plain = [found for found in findings if not (found.identifying or found.sensitive or found.problem)]
    categories = [found for found in plain if found.kind == "categorical" and 1 < found.levels <= MANY]
    for found in findings:
        name = found.name
        fate, why = _first_fate(table, found, parts, weights)
        if not fate:
            fate, why = _fate_of_values(table, found, categories)
        if fate == "keep" and found.alone and name not in parts and not found.knowable:
            fate, why = "undecided", _tell_single(found.alone)
        fates[name], reasons[name] = fate, why or _describe(found)
        if fate == "synthesize":
            wanted.append(found)
    wanted = wanted or [
        _choose_replaced(
            table, [found for found in findings if fates[found.name] == "keep" and found.name not in parts]
        )
    ]
    wanted = sorted(wanted, key=lambda found: _rank(table, found), reverse=True)
    described = {found.name for found in wanted[MOST_REPLACED:] if found.kind != "categorical"}
    for place, found in enumerate(wanted):
        name, limits = found.name, found.kind != "categorical"
        fates[name] = "synthesize" if place < MOST_REPLACED else "undecided"
        told = (
            "; the limits are PROPOSALS: look them up in a codebook" if limits and fates[name] == "synthesize" else ""
        )
        if fates[name] == "undecided":
            told = f"; {MOST_REPLACED} others are replaced already: {_remedy(table, found, limits=name in described)}"
        reasons[name] = f"{_describe(found)}{told}"
    return fates, reasons


def _first_fate(table: Table, found: Finding, parts: Mapping[str, str], weights: Mapping[str, str]) -> tuple[str, str]:
    """Propose a fate for what is no usual column, and say why; nothing for another."""
    name = found.name
    same = [one for one, role in parts.items() if role == "weight" and table.frame[one].equals(table.frame[name])]
    unit = f"; {found.unit}" if found.unit else ""
    fate, why = "", ""
    if name in parts:
        fate, why = "keep", f"the survey's {parts[name]}; {_describe(found)}"
    elif found.problem:
        # Text that is nearly all numbers can be mended; of what nobody can compare there is nothing to decide.
        fate, why = ("undecided" if found.levels else "drop"), f"{found.problem}. {found.remedy}"
    elif found.identifying:
        fate, why = "drop", f"may name people: {found.identifying}{unit}"
    elif same:
        fate, why = "drop", f"the same as the survey's weight {same[0]!r}"
    elif name in weights:
        fate, why = "undecided", f'{weights[name]}; name it under [survey] and write "keep", or write "drop"'
    elif found.fine:
        fate, why = "undecided", _tell_single(found.fine)
    return fate, why


def _tell_single(what: str) -> str:
    how = 'write "drop", or put a coarser variable into the file; "keep" publishes it as it is'
    return f"{what}: single ones say nearly who a person is; {how}"


def _fate_of_values(table: Table, found: Finding, categories: Sequence[Finding]) -> tuple[str, str]:
    """Propose a fate for a column of usual values: amounts, and what looks sensitive, are replaced."""
    seen = found.knowable and not found.sensitive
    if found.levels < 2 or seen or (found.kind == "categorical" and not found.sensitive):
        return "keep", ""
    if found.kind == "categorical":
        left = found.levels - count_rare(table, found.name, FEWEST)[0]
        usual = int(table.frame[found.name].value_counts(dropna=False).max())
        if left > 1 and usual >= _NEARLY_ALL_ALIKE * len(table.frame):
            how = f"{usual / len(table.frame):.1%} of the records are alike in it, and it tells of the other"
            other = len(table.frame) - usual
            return "drop", f'{_describe(found)}; {how} {other:,} only; to release it, write "synthesize"'
        told = f"{found.levels:,} levels" if left > 1 else f"fewer than two levels with {FEWEST} records"
        how = f"{_describe(found)}, {told}; {_remedy(table, found, limits=False)}"
        return ("undecided", how) if found.levels > MANY or left < 2 else ("synthesize", "")
    described = found.timing or (not found.sensitive and _describes_category(table, found, categories))
    return ("keep" if described else "synthesize"), ""


def _describes_category(table: Table, found: Finding, categories: Sequence[Finding]) -> bool:
    """Whether a number is the same for all records of some category that is kept, as the density of a place."""
    others = [one.name for one in categories if found.levels <= one.levels <= MANY]
    grouped = (table.frame.groupby(name, observed=True)[found.name] for name in others)
    return any(bool((one.nunique() <= 1).all()) for one in grouped)


def _remedy(table: Table, found: Finding, *, limits: bool) -> str:
    """Say what may be written for a column that is left to be decided."""
    told = '"synthesize"'
    if limits:
        low, high = _limits(table, found)
        told = f'{{ release = "synthesize", lower = {low:.15g}, upper = {high:.15g} }} (limits from a codebook)'
    return f'write {told}, "drop" or "keep"'


def _tell_codes(explained: Mapping[str, Mapping[float | str, str]]) -> list[str]:
    """Say of every code that is taken for a missing value what speaks for it."""
    told = [
        f"{name}: {code} is taken as missing ({why})." for name, own in explained.items() for code, why in own.items()
    ]
    return [*told, "The codes for missing values are proposals: look them up in a codebook."] if told else []


def _tell_logarithms(replaced: Sequence[Finding]) -> str:
    told = [
        f"{found.name} looks like a logarithm, {found.logarithm}: a radius of 20% of a logarithm is no 20% of the "
        f"amount. For that write radius = 0.0, min_radius = {_LOG_FLOOR} in its entry (natural logarithms)."
        for found in replaced
        if found.logarithm
    ]
    return "\n".join(told)


def _settle_derivable(
    table: Table, settings: Settings, findings: Mapping[str, Finding]
) -> tuple[Settings, dict[str, str]]:
    """Propose to synthesize also what a synthesized variable follows from, and to compute it again; with reasons."""
    settings, reasons = _derive_from_synthesized(table, settings, findings)
    own = settings.synthesize
    design = [] if settings.survey_design is None else [name for _, name in settings.survey_design.columns]
    for _ in range(_ROUNDS):
        found = [one for one in find_derivable(table, settings) if not one.partly]
        # A part that follows from what is left, such as a size from a count, hides nothing: it stays.
        back = [one.column for one in found if one.column in settings.synthesize and one.column not in own]
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


def _derive_from_synthesized(
    table: Table, settings: Settings, findings: Mapping[str, Finding]
) -> tuple[Settings, dict[str, str]]:
    """Propose to compute the synthesized variables that follow from other synthesized ones by a formula; with reasons.

    Of those that follow from each other a total is computed from its parts, and not a part from the total.
    """
    found: list[Derivable] = []
    # Which records belong together is known here, though it is not released.
    units = tuple(name for name in settings.drop if findings[name].unit)
    drop = tuple(name for name in settings.drop if name not in units)
    known = settings.but(
        drop=drop, keep=(*settings.keep, *units), accept_identifying=(*settings.accept_identifying, *units)
    )
    for name in settings.synthesize if len(settings.synthesize) > 1 else ():
        others = [other for other in settings.synthesize if other != name]
        found += [one for one in find_derivable(table, _release_unchanged(known, others)) if one.formula]
    reasons: dict[str, str] = {}
    used: set[str] = set()
    # Else what many have none of is a part.
    for one in sorted(
        found,
        key=lambda one: (one.formula.count("-"), -len(one.parts), findings[one.column].kind == "semicontinuous"),
    ):
        parts = {*read_formula_of(one.column, one.formula).parts}
        if one.partly or one.column in used or parts & {*settings.derived} or not parts & {*settings.synthesize}:
            continue
        used |= parts
        ends = {
            end: {name: value for name, value in (getattr(settings, end) or {}).items() if name != one.column}
            for end in ("lower", "upper")
        }
        left = tuple(name for name in settings.synthesize if name != one.column)
        reasons |= {
            name: f"synthesized because {one.column} follows from it" for name in parts if name in settings.synthesize
        }
        settings = settings.but(synthesize=left, derived={**settings.derived, one.column: one.formula}, **ends)
        reasons[one.column] = f"from what is synthesized, {one}"
    return settings, reasons


def _drop_rare_amounts(
    table: Table, settings: Settings, findings: Mapping[str, Finding], units: Sequence[str]
) -> tuple[Settings, dict[str, str]]:
    """Propose not to release amounts that few people have, and to compute others without them; with reasons."""
    reasons: dict[str, str] = {}
    formulas, left, dropped = {**settings.derived}, [*settings.synthesize], list[str]()
    for name in settings.synthesize:
        found, values = findings[name], column_numbers(table, name) if findings[name].kind != "categorical" else None
        if values is None or found.dates or len(left) == 1:
            continue
        have = np.isfinite(values) & (values != 0)
        people = table.frame.loc[have, units[0]].nunique() if units else int(have.sum())
        if people >= _FEWEST_RECIPIENTS or have.mean() > _HARDLY_ANYBODY:
            continue
        changed = {
            one: _without(text, name) for one, text in formulas.items() if name in read_formula_of(one, text).parts
        }
        if any(_differ(table, settings.derived[one], text) > _HARDLY_ANYBODY for one, text in changed.items()):
            continue
        formulas |= changed
        left.remove(name)
        dropped.append(name)
        whose = f" ({people:,} values of {units[0]!r})" if units and people < have.sum() else ""
        reasons[name] = (
            f"{_describe(found)}; {have.sum():,} records{whose} have an amount other than 0, too few to learn "
            f'synthetic amounts from; add it to a similar variable in the file, or, to release it, write "synthesize"'
        )
    for name, text in formulas.items():
        if text != settings.derived[name]:
            without = [one for one in dropped if one in read_formula_of(name, settings.derived[name]).parts]
            share = _differ(table, settings.derived[name], text)
            reasons[name] = (
                f"computed without {', '.join(without)}, which few have; what was collected includes that, and differs "
                f"for {share:.1%} of the records"
            )
    ends = {
        end: {name: value for name, value in (getattr(settings, end) or {}).items() if name not in dropped} or None
        for end in ("lower", "upper")
    }
    made = settings.but(synthesize=tuple(left), drop=(*settings.drop, *dropped), derived=formulas, **ends)
    return (made if dropped else settings), reasons


def _without(formula: str, name: str) -> str:
    """Leave a variable out of the sums of a formula; the formula itself, where it is no part of a sum.

    Examples
    --------
    >>> _without("(sum(a + b) by home + c - d) / size", "a"), _without("(a - b) / size", "b"), _without("a / b", "b")
    ('(sum(b) by home + c - d) / size', '(a) / size', 'a / b')
    """
    part = re.escape(quote_part(name))
    part = rf"(?:{part}|coalesce\({part}, 0\))"
    last = re.sub(rf" [+-] {part}(?= [+-] |\)|$)", "", formula)
    return re.sub(rf"(?:(?<=\()|^){part} \+ ", "", last)


def _differ(table: Table, formula: str, other: str) -> float:
    """Share of the records for which two formulas give different values; of all, if they are the same formula."""
    if formula == other:
        return 1.0
    values, others = (read_formula_of("", text).values(table) for text in (formula, other))
    return float(np.mean(~np.isclose(values, others, equal_nan=True)))


def _choose_keys(
    table: Table, settings: Settings, kept: Sequence[Finding], fixed: Sequence[str], units: Sequence[str]
) -> tuple[Settings, KeyVariables]:
    """Choose key variables; what follows from what is kept, as a household's size from its weight, is one for sure."""
    findings, shown = {found.name: found for found in kept}, dict[str, str]()
    # Each round adds one that is shown at least.
    while True:
        keys = choose_key_variables(table, settings, kept, fixed=[*fixed, *shown], units=units)
        made = _take_keys(table, settings, keys, findings)
        found = find_derivable(take_table(table, made), made) if keys.synthesize else ()
        told = {one.column: f"{one}" for one in found if one.column in keys.synthesize and not one.partly}
        if not told:
            break
        shown |= told
    reasons = {name: f"to synthesize it would hide nothing: {one}" for name, one in shown.items() if name in made.keep}
    return made, replace(keys, reasons={**keys.reasons, **reasons})


def _take_keys(table: Table, settings: Settings, keys: KeyVariables, findings: Mapping[str, Finding]) -> Settings:
    """Take the key variables that are proposed, and synthesize those with which too many people would be alone."""
    # Few numbers that describe people are codes, of which only those that occur may be drawn.
    codes = [name for name in keys.synthesize if findings[name].kind != "categorical" and findings[name].levels <= MANY]
    pooled = {"min_level_records": {**keys.pooled}} if keys.pooled else {}
    settings = settings.but(
        known=keys.known,
        breaks={**keys.breaks},
        grouped=tuple(keys.breaks),
        kinds=dict.fromkeys(codes, "categorical"),
        **pooled,
    )
    if not keys.synthesize:
        return settings
    also = [
        replace(findings[name], kind="categorical") if name in codes else findings[name] for name in keys.synthesize
    ]
    settings = _synthesize_too(table, settings, also)
    return settings.but(synthesize=suggest_order(table, settings.synthesize))


def _is_amount(found: Finding) -> bool:
    return found.kind != "categorical" and not (found.dates or found.knowable) and found.levels > MANY


def _release_unchanged(settings: Settings, names: Sequence[str]) -> Settings:
    ends = {
        end: {name: value for name, value in (getattr(settings, end) or {}).items() if name not in names}
        for end in ("lower", "upper")
    }
    left = tuple(name for name in settings.synthesize if name not in names)
    return settings.but(synthesize=left, keep=(*settings.keep, *names), **ends) if names else settings


def _synthesize_too(
    table: Table, settings: Settings, chosen: Sequence[Finding], found: Derivable | None = None
) -> Settings:
    """Synthesize more variables, such as what a variable follows from, and compute it from these if it is known how."""
    names = [each.name for each in chosen]
    made = {found.column: found.formula} if found is not None and found.formula else {}
    limits = {each.name: _limits(table, each) for each in chosen if each.kind != "categorical"}
    ends = {end: {**(getattr(settings, end) or {})} for end in ("lower", "upper")}
    for place, own in enumerate(ends.values()):
        own |= {name: both[place] for name, both in limits.items()}
        for name in made:
            own.pop(name, None)
    return settings.but(
        synthesize=tuple(name for name in (*settings.synthesize, *names) if name not in made),
        keep=tuple(name for name in settings.keep if name not in names),
        derived={**settings.derived, **made},
        missing_values="model" if any(each.missing for each in chosen) else settings.missing_values,
        **{end: own or None for end, own in ends.items()},
    )


def _recognise(table: Table, usable: Sequence[str]) -> tuple[SurveyDesign | None, str, dict[str, str]]:
    """Propose how the table was sampled, as far as it can be read, and say why; and what else may be of the survey."""
    found = detect_design(replace(table, frame=table.frame[list(usable)]))
    told = [
        f"{one.role} {one.columns[0]}{' and others' if len(one.columns) > 1 else ''}: {one.reason}"
        f"{'' if one.taken else ' (not taken)'}."
        for one in found.suggested
    ]
    weights = {one.columns[0]: f"may be the survey's {one.role}: {one.reason}" for one in found.suggested if one.open}
    if found.design is None:
        return None, "\n".join(told), weights
    for single in ("error", "adjust"):
        design = replace(found.design, single=single)
        with suppress(InputError):
            design.read(table)
            return design, "\n".join([*told, "A proposal: confirm it with the documentation of the survey."]), weights
    return (
        None,
        "\n".join(told),
        weights | {found.design.weight: "may be the survey's weight, of a design that cannot be read"},
    )


def _tell_open(decide: Sequence[str]) -> str:
    told = 'Those marked "undecided" need you: what to write is beside each.'
    return f"{told} Nothing runs before." if decide else ""


def _describe(found: Finding) -> str:
    told = f"looks sensitive: {found.sensitive}; " if found.sensitive else ""
    log = "; looks like a logarithm, of which a radius of 20% is no 20% of the amount" if found.logarithm else ""
    return f"{told}{found.kind} ({found.reason}){log}"


def _choose_replaced(table: Table, findings: Sequence[Finding]) -> Finding:
    """Where nothing looks like an amount or sensitive: the number that varies most for its size, else a category."""
    candidates = [found for found in findings if found.levels > 1]
    if not candidates:
        raise InputError("data", "no column varies without naming people", "Give a table with something to protect")
    return max(candidates, key=lambda found: _rank(table, found))


def _rank(table: Table, found: Finding) -> tuple[float, ...]:
    """What looks most like money comes first, then what varies most for its size."""
    amount = {"semicontinuous": 3, "continuous": 3, "count": 2}.get(found.kind, 1)
    return (amount == 3 and found.sensitive == "money", amount, bool(found.sensitive), _spread(table, found))


def _spread(table: Table, found: Finding) -> float:
    if found.kind == "categorical":
        return 0.0
    numbers = column_numbers(table, found.name)
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.std() / max(abs(float(numbers.mean())), 1e-300)) if len(numbers) else 0.0


def _limits(table: Table, found: Finding) -> tuple[float, float]:
    values = column_numbers(table, found.name)
    return propose_limits(values[np.isfinite(values)])
