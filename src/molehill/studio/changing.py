"""What is clicked, turned into settings: every change is one call, and what cannot be is refused in words."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import numpy as np
from pandas.api.types import is_numeric_dtype

from molehill.errors import InputError, check_choice
from molehill.plan.columns import propose_limits
from molehill.plan.settings import FATES, OF_COLUMNS, SYNTHESIZERS, Settings
from molehill.studio.looking import Looked
from molehill.tables.schema import column_numbers

# What an own limit of a date or an amount is kept under.
_LIMITS = ("lower", "upper")
# Settings that are changed by controls of their own, or that nobody changes in a form.
APART = (
    "data",
    *FATES,
    "accept_identifying",
    "derived",
    "grouped",
    "known",
    "release_criteria",
    "survey_design",
    "thresholds",
    "constraints",
    *OF_COLUMNS.values(),
    "scheduler",
)
Fields = Mapping[str, Any]


def set_fate(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Give a column another fate; what only the old one needs goes with it."""
    name, fate = _column(looked, fields), check_choice("fate", f"{fields.get('value')}", FATES)
    fates = {one: tuple(own for own in getattr(settings, one) if own != name) for one in FATES}
    if fate == "synthesize":
        fates[fate] = (*fates[fate], name)
    else:
        fates[fate] = tuple(own for own in looked.columns if own in {*fates[fate], name})
    changes: dict[str, Any] = {**fates, "derived": _without(settings.derived, name)}
    if not fates["synthesize"]:
        raise InputError("columns", "no column would be replaced", "First choose another one to be replaced")
    known = fate == "keep" or (fate == "synthesize" and settings.fully_synthetic_records is not None)
    if name in settings.known and not known:
        changes["known"] = tuple(own for own in settings.known if own != name)
        changes |= _without_breaks(settings, name)
    if fate != "keep":
        changes |= _without_breaks(settings, name) if name in settings.grouped else {}
        changes["accept_identifying"] = tuple(own for own in settings.accept_identifying if own != name)
        changes["preserve"] = tuple(own for own in settings.preserve if own != name)
        if settings.predictors is not None:
            changes["predictors"] = tuple(own for own in settings.predictors if own != name)
    if fate == "synthesize":
        changes |= _propose(settings, looked, name)
    else:
        changes |= {field: _without(getattr(settings, field), name) for field in (*_LIMITS, "radius", "min_radius")}
        changes |= {field: _without(getattr(settings, field), name) for field in ("knowledge_probability", "levels")}
    return settings.but(**changes)


def _is_amount(settings: Settings, looked: Looked, name: str) -> bool:
    """Whether a column is a number, or dates that are drawn as days."""
    if name not in looked.columns:
        return False
    found = looked.finding(name)
    return settings.kinds.get(name, "date" if found.dates else found.kind) != "categorical"


def _propose(settings: Settings, looked: Looked, name: str) -> dict[str, Any]:
    """Propose limits for an amount that is to be replaced and has none, and what becomes of missing values."""
    found, changes = looked.finding(name), {}
    kind = settings.kinds.get(name, found.kind)
    if kind != "categorical" and not found.dates and not found.problem:
        values = column_numbers(looked.table, name)
        values = values[np.isfinite(values)]
        limits = propose_limits(values) if len(values) else (None, None)
        for end, limit in zip(_LIMITS, limits, strict=True):
            own = getattr(settings, end)
            if own is None or (isinstance(own, Mapping) and name not in own):
                changes[end] = {**(own or {}), name: limit}
    if found.missing and settings.missing_values == "error":
        changes["missing_values"] = "model"
    for setting in ("radius", "min_radius"):
        own = getattr(settings, setting)
        # Where every column has its own, a new one has what is usual.
        if isinstance(own, Mapping) and name not in own and _is_amount(settings, looked, name):
            changes[setting] = {**own, name: Settings.model_fields[setting].get_default()}
    return changes


def set_kind(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say of what kind a column is; empty: as it looks."""
    name, kind = _column(looked, fields), f"{fields.get('value', '')}"
    made = settings.but(kinds=_without(settings.kinds, name) | ({name: kind} if kind else {}))
    if not _is_amount(made, looked, name):
        return made.but(**{field: _without(getattr(made, field), name) for field in (*_LIMITS, "radius", "min_radius")})
    return made.but(**_propose(made, looked, name)) if name in made.synthesize else made


def set_limit(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Give the least or the largest value of a column that may be released."""
    name, end = _column(looked, fields), check_choice("limit", f"{fields.get('end')}", _LIMITS)
    own = getattr(settings, end)
    # A number for all columns becomes one for each, so that one of them can be another.
    each = dict(own) if isinstance(own, Mapping) else dict.fromkeys(settings.synthesize, own) if own is not None else {}
    text = f"{fields.get('value', '')}".strip()
    if not text:
        return settings.but(**{end: _without(each, name) or None})
    return settings.but(**{end: each | {name: _limit(text)}})


def _limit(text: str) -> float | date:
    plain = text.replace(" ", "")
    # A comma may be a decimal mark: it is taken for one of thousands only where it cannot be.
    if re.fullmatch(r"-?\d{1,3}(,\d{3}){2,}(\.\d+)?|-?\d{1,3},\d{3}\.\d+", plain):
        plain = plain.replace(",", "")
    with suppress(ValueError):
        return float(plain)
    with suppress(ValueError):
        return date.fromisoformat(text)
    raise InputError("limit", "it is neither a number with a decimal point nor a date", "Write 250000, or 1990-12-31")


def accept(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Keep a column that may name people knowingly, or no longer."""
    name = _column(looked, fields)
    others = tuple(own for own in settings.accept_identifying if own != name)
    return settings.but(accept_identifying=(*others, name) if _is_on(fields) else others)


def set_codes(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say which cells of a column stand for a missing value: codes with commas between."""
    name = _column(looked, fields)
    codes = [_code(text.strip()) for text in f"{fields.get('value', '')}".split(",") if text.strip()]
    return settings.but(missing_codes=_without(settings.missing_codes, name) | ({name: tuple(codes)} if codes else {}))


def _code(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if np.isfinite(number) else text


def forget(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Take a column out of the settings that the file does not have any more."""
    name = f"{fields.get('column')}"
    if name in looked.columns:
        raise InputError("column", "the file has it", "Drop it in place of forgetting it")
    changes: dict[str, Any] = {}
    for field in settings.model_fields_set:
        value = getattr(settings, field)
        if isinstance(value, Mapping) and name in value:
            changes[field] = _without(value, name)
        elif isinstance(value, tuple) and name in value:
            changes[field] = tuple(own for own in value if own != name)
    if not changes.get("synthesize", settings.synthesize):
        raise InputError("columns", "no column would be replaced", "First choose another one to be replaced")
    return settings.but(**changes)


def set_likely(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say how likely an intruder knows a replaced column roughly; empty or 1: for sure."""
    name, text = _column(looked, fields), f"{fields.get('value', '')}".strip()
    chance = _number("knowledge_probability", text) if text else 1.0
    return settings.but(
        knowledge_probability=_without(settings.knowledge_probability, name) | ({name: chance} if chance != 1 else {})
    )


def set_levels(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Give the levels of a category in their order, one a line, as the file has them."""
    name, given = _column(looked, fields), _lines(fields)
    kinds = _without(settings.kinds, name) if name in settings.levels else settings.kinds
    if not given:
        return settings.but(levels=_without(settings.levels, name), kinds=kinds)
    numeric = is_numeric_dtype(looked.table.frame[name].dtype)
    levels = tuple(_number("levels", level) if numeric else level for level in given)
    return settings.but(levels=_without(settings.levels, name) | {name: levels}, kinds=kinds)


def order_columns(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Draw the replaced columns in another order: a column before another one, or a step up or down."""
    names, name = list(settings.synthesize), f"{fields.get('column')}"
    if name not in names:
        raise InputError("column", "it is not replaced", "Choose one that is")
    place = names.index(name)
    if "before" in fields:
        names.remove(name)
        before = f"{fields['before']}"
        names.insert(names.index(before) if before in names else len(names), name)
    else:
        other = min(max(place + (1 if fields.get("way") == "down" else -1), 0), len(names) - 1)
        names.insert(other, names.pop(place))
    return settings.but(synthesize=tuple(names))


def take_order(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Draw the replaced columns in the order that the plan proposes."""
    return settings.but(synthesize=tuple(f"{name}" for name in fields.get("order", ())))


def set_known(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say that an intruder knows a column, or does not; one that is gone can only be taken away."""
    name = _column(looked, fields) if _is_on(fields) else f"{fields.get('column')}"
    known = {*settings.known} - {name} | ({name} if _is_on(fields) else set())
    changes: dict[str, Any] = {"known": tuple(own for own in looked.columns if own in known)}
    if not _is_on(fields) and name not in settings.grouped:
        changes["breaks"] = _without(settings.breaks, name)
    return settings.but(**changes)


def set_breaks(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say in which groups a number is known: where each begins, with commas between."""
    name, text = _column(looked, fields), f"{fields.get('value', '')}"
    try:
        # With semicolons between, a comma could only be a decimal mark.
        ends = tuple(float(part) for part in text.split(";" if ";" in text else ",") if part.strip())
    except ValueError:
        problem = "one is no number with a decimal point"
        raise InputError("breaks", problem, "Write for instance 25, 35, 50, 65") from None
    if not ends:
        return settings.but(**_without_breaks(settings, name))
    return settings.but(breaks=_without(settings.breaks, name) | {name: ends})


def set_grouped(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Release a variable in the groups of its breaks, or its single values."""
    name = _column(looked, fields)
    others = tuple(own for own in settings.grouped if own != name)
    return settings.but(grouped=(*others, name) if _is_on(fields) else others)


def _without_breaks(settings: Settings, name: str) -> dict[str, Any]:
    grouped = tuple(own for own in settings.grouped if own != name)
    return {"breaks": _without(settings.breaks, name), "grouped": grouped}


def set_reach(settings: Settings, looked: Looked, fields: Fields) -> Settings:
    """Say what counts as close, by radius or floor: of all columns, or of one."""
    setting = check_choice("setting", f"{fields.get('setting')}", ("radius", "min_radius"))
    own, text = getattr(settings, setting), f"{fields.get('value', '')}".strip()
    if "column" not in fields:
        return settings.but(**{setting: _number(setting, text)})
    name = _column(looked, fields)
    common = Settings.model_fields[setting].get_default() if isinstance(own, Mapping) else own
    # Of a category nothing is near. One that says nothing has what all have that say nothing.
    amounts = [one for one in settings.synthesize if _is_amount(settings, looked, one)]
    each = dict(own) if isinstance(own, Mapping) else {}
    each = {one: each.get(one, common) for one in amounts} | {name: _number(setting, text) if text else common}
    return settings.but(**{setting: common if {*each.values()} == {common} else each})


def set_targets(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Take the rules, one a line."""
    return settings.but(release_criteria=_lines(fields))


def add_target(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Add a rule, or give one that is there another bound."""
    words, bound = f"{fields.get('words', '')}".strip(), _number("bound", fields.get("value"))
    sign = ">=" if words.startswith("overlap") else "<="
    others = [target for target in settings.release_criteria if target.rpartition(sign)[0].strip() != words]
    return settings.but(release_criteria=(*others, f"{words} {sign} {bound:g}"))


def drop_target(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Take a rule away."""
    return settings.but(
        release_criteria=tuple(target for target in settings.release_criteria if target != fields.get("value"))
    )


def set_constraints(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Take the constraints, one a line."""
    return settings.but(constraints=_lines(fields))


def set_survey(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Name the columns of a survey's design; without a weight there is none."""
    own = settings.survey_design
    parts = {part: f"{fields.get(part, '')}" for part in ("weight", "stratum", "cluster", "population")}
    told = {part: name for part, name in parts.items() if name}
    if "weight" not in told:
        return settings.but(survey_design=None, survey_fit="auto")
    kept = {} if own is None else {"nested": own.nested, "single": own.single}
    return settings.but(survey_design={**kept, **told})


def set_bounds(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Take bounds of the scorecard as a settings file has them, one a line."""
    try:
        bounds = tomllib.loads(f"{fields.get('value', '')}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        remedy = "Write for instance matches_true = { amber = 0.02, red = 0.1 }"
        raise InputError("thresholds", "a line cannot be read", remedy) from None
    return settings.but(thresholds=bounds)


def tell_bounds(settings: Settings) -> str:
    """Give the bounds of the scorecard as a settings file has them."""
    lines = []
    for name, entry in settings.thresholds.items():
        told = (
            json.dumps(entry)
            if isinstance(entry, str)
            else ", ".join(f"{k} = {json.dumps(v)}" for k, v in entry.items())
        )
        lines.append(f"{name} = {told}" if isinstance(entry, str) else f"{name} = {{ {told} }}")
    return "\n".join(lines)


def set_any(settings: Settings, _: Looked, fields: Fields) -> Settings:
    """Set any other setting, as it stands in a form: what is empty is as if nothing were said."""
    name = f"{fields.get('name')}"
    if name not in Settings.model_fields or name in (*APART, "synthesize"):
        raise InputError("name", "there is no such setting", "Choose another")
    given = fields.get("value")
    kind = control_of(name)
    field = Settings.model_fields[name]
    value: Any = given
    if kind == "list":
        # No predictors at all is nothing that a form can say: it would look like nothing said.
        value = _lines(fields) or (None if field.get_default() is None else ())
    elif kind == "tick":
        value = _is_on(fields)
    elif given in ("", None):
        value = field.get_default()
    elif kind in ("whole", "number"):
        value = _as_number(name, f"{given}", whole=kind == "whole")
    changes = {name: value}
    if name in ("risk_order", "weight_scale", "weight_shift") and settings.method == "auto":
        changes["method"] = "risk_weighted"
    if name == "fully_synthetic_records" and value is None:
        # Of people's own records nobody knows what is replaced.
        changes["known"] = tuple(own for own in settings.known if own not in settings.synthesize)
    if name == "method" and value != "risk_weighted":
        return _unset(settings, ("risk_order", "weight_scale", "weight_shift", *_PAPER)).but(**changes)
    return settings.but(**changes)


_PAPER = ("components", "component_draw", "transform", "count_self")


def _unset(settings: Settings, names: Sequence[str]) -> Settings:
    left = {name: getattr(settings, name) for name in settings.model_fields_set if name not in (*names, "method")}
    return type(settings)(**left)


def _as_number(name: str, text: str, *, whole: bool) -> Any:
    choices = [choice for choice in choices_of(name) if choice == text]
    if choices:
        return text
    if not whole:
        return _number(name, text)
    try:
        return int(text)
    except ValueError:
        wanted = Settings.describe(name)["wanted"]
        raise InputError(name, "it is no whole number", f"Give {wanted}") from None


Control = Literal["choice", "tick", "whole", "number", "list", "text"]


def control_of(name: str) -> Control:
    """Say by what kind of control a setting is changed, by its type.

    Examples
    --------
    >>> [control_of(name) for name in ("method", "shuffle", "datasets", "max_seconds", "regressions", "encoding")]
    ['choice', 'tick', 'whole', 'number', 'list', 'text']
    """
    kinds = _kinds(Settings.model_fields[name].annotation)
    if bool in kinds:
        return "tick"
    controls: tuple[tuple[type, Control], ...] = ((tuple, "list"), (int, "whole"), (float, "number"))
    for kind, control in controls:
        if kind in kinds:
            return control
    return "choice" if choices_of(name) else "text"


def _kinds(annotation: Any) -> set[Any]:
    """The plain types that a setting may have."""
    origin = get_origin(annotation)
    if origin in (tuple, dict):
        return {origin}
    if origin is Literal:
        return {str}
    inner = [own for own in get_args(annotation) if own is not NoneType]
    if origin is not None and inner and not isinstance(annotation, type):
        # What is annotated with limits is of its first type.
        taken = inner[:1] if hasattr(annotation, "__metadata__") else inner
        return {kind for own in taken for kind in _kinds(own)}
    return {annotation}


def choices_of(name: str) -> tuple[str, ...]:
    """Give the choices that a setting has, in its own words; none where it is anything else."""
    if name == "synthesizer":
        # One of the caller's own is given in Python.
        return tuple(choice for choice in SYNTHESIZERS if choice != "custom")
    return _literals(Settings.model_fields[name].annotation)


def _literals(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(choice for own in get_args(annotation) for choice in _literals(own) if get_origin(own) is not None)


def _column(looked: Looked, fields: Fields) -> str:
    name = f"{fields.get('column')}"
    if name not in looked.columns:
        raise InputError("column", "the file has no such column", "Choose one that is shown")
    return name


def _lines(fields: Fields) -> tuple[str, ...]:
    return tuple(line.strip() for line in f"{fields.get('value', '')}".splitlines() if line.strip())


def _is_on(fields: Fields) -> bool:
    return fields.get("value") is True


def _number(argument: str, value: Any) -> float:
    try:
        return float(f"{value}")
    except ValueError:
        raise InputError(argument, "it is no number", "Write a number such as 0.2") from None


def _without(mapping: Any, name: str) -> Any:
    if not isinstance(mapping, Mapping):
        return mapping
    return {own: value for own, value in mapping.items() if own != name}


# Every change by its name, as the page asks for it.
CHANGES: dict[str, Callable[[Settings, Looked, Fields], Settings]] = {
    "fate": set_fate,
    "kind": set_kind,
    "limit": set_limit,
    "accept": accept,
    "codes": set_codes,
    "forget": forget,
    "likely": set_likely,
    "levels": set_levels,
    "order": order_columns,
    "take-order": take_order,
    "known": set_known,
    "breaks": set_breaks,
    "grouped": set_grouped,
    "reach": set_reach,
    "targets": set_targets,
    "add-target": add_target,
    "drop-target": drop_target,
    "constraints": set_constraints,
    "survey": set_survey,
    "bounds": set_bounds,
    "set": set_any,
}
