"""The settings of a release: one frozen value, and the commented TOML file that says the same."""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit

from molehill.errors import InputError, nearest
from molehill.files import written_whole
from molehill.plan.targets import EXAMPLES, parse_targets

SYNTHESIZERS = (
    "auto",
    "tdp_mixture",
    "semicontinuous",
    "negative_binomial",
    "poisson",
    "normal_linear",
    "multinomial",
)
SCHEMES = ("unweighted", "marginal", "pairwise", "topcoding")
_KINDS = ("categorical", "count", "continuous", "semicontinuous")


@dataclass(frozen=True)
class _Rule:
    """What a setting may be, in a comment for people and in a check."""

    comment: str
    wanted: str
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _one_of(*choices: str) -> tuple[str, Callable[[Any], bool]]:
    return " or ".join(f'"{choice}"' for choice in choices), lambda value: value in choices


def _are_breaks(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(ends, list | tuple) and len(ends) > 0 and all(map(_is_number, ends)) for ends in value.values()
    )


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "data": _Rule("The confidential table: .csv, .parquet, .dta, .sav, .sas7bdat or .xpt.", "a path", _is_text),
        "sensitive": _Rule("The column to protect: its values are replaced.", "the name of a column", _is_text),
        "known": _Rule("Columns that an intruder may know about a person.", "a list of column names", _are_texts),
        "predictors": _Rule(
            "What the model conditions on; left out: every column but the sensitive one.",
            "a list of column names",
            _or_none(_are_texts),
        ),
        "radius": _Rule(
            "What counts as close to the true value: 0.2 is within 20%.",
            "a number from 0 to 1",
            lambda value: _is_number(value) and 0 <= value <= 1,
        ),
        "floor": _Rule(
            "Least radius, in the units of the data.", "a number from 0 up", lambda v: _is_number(v) and v >= 0
        ),
        "order": _Rule("1 marginal, 2 pairwise, k: how risk is measured for the weights.", "1 or more", _is_whole(1)),
        "scale": _Rule(
            "Weights are scale * (1 - risk) + shift, cut to between 0 and 1.",
            "a number above 0",
            lambda value: _is_number(value) and value > 0,
        ),
        "shift": _Rule("See scale.", "a number", _is_number),
        "synthesizer": _Rule("Chosen by the kind of the column, if auto.", *_one_of(*SYNTHESIZERS)),
        "components": _Rule(
            "Components of a mixture: more than will be occupied. Fewer converge more easily.",
            "1 or more",
            _is_whole(1),
        ),
        "membership": _Rule(
            "How a mixture draws a record's component: given its true value, as the paper does, or not: less risk.",
            *_one_of("posterior", "prior"),
        ),
        "noise": _Rule(
            "How a mixture draws records: each by itself, as in the paper, or evenly over records alike: as much risk.",
            *_one_of("independent", "balanced"),
        ),
        "lower": _Rule(
            "Least value that may be released, from a codebook; never the confidential minimum.",
            "a number",
            _or_none(_is_number),
        ),
        "upper": _Rule(
            "Largest value that may be released, from a codebook; never the confidential maximum.",
            "a number",
            _or_none(_is_number),
        ),
        "datasets": _Rule("How many synthetic tables to release.", "1 or more", _is_whole(1)),
        "compare": _Rule(
            "What the report shows beside the release.",
            "a list of " + ", ".join(f'"{name}"' for name in SCHEMES),
            lambda value: _are_texts(value) and set(value) <= set(SCHEMES),
        ),
        "regressions": _Rule(
            "Linear regressions whose coefficients the report compares, beside mean, median, 90% quantile and sd.",
            'a list of formulas such as "income ~ age + region"',
            _are_texts,
        ),
        "expected_tables": _Rule(
            "How many predicted tables the expected risk rests on; 0 leaves it out.",
            "0, or a multiple of 20 from 40 up",
            lambda value: _is_whole(0)(value) and value % 20 == 0 and value != 20,
        ),
        "targets": _Rule(
            "Rules for `molehill search`. `molehill run` makes the release without them; its report says so.",
            f'a list of rules such as "{EXAMPLES[0]}"',
            _are_texts,
        ),
        "singletons": _Rule("A record alone in its pattern.", *_one_of("protect", "formula", "error")),
        "small_patterns": _Rule("A pattern smaller than the order.", *_one_of("error", "marginal")),
        "missing": _Rule(
            "A missing sensitive value: refuse the table, or leave it missing.", *_one_of("error", "keep")
        ),
        "seed": _Rule(
            "Leave it out for fresh randomness. A seed can undo the protection: keep it to yourself.",
            "a whole number from 0 up",
            _or_none(_is_whole(0)),
        ),
        "breaks": _Rule(
            "Groups of a numeric known column or predictor: where each begins.", "lists of numbers", _are_breaks
        ),
        "kinds": _Rule(
            "Kinds of columns, where the inferred one is wrong.",
            "kinds of columns: " + ", ".join(f'"{kind}"' for kind in _KINDS),
            lambda value: isinstance(value, Mapping) and all(kind in _KINDS for kind in value.values()),
        ),
    }
)


@dataclass(frozen=True)
class Settings:
    """Everything that decides a release beside the table: the arguments of `molehill.synthesize`, and targets.

    Every field is described, with what it may be, in `RULES`, from which the comments of the file and the reference
    in the documentation are made.

    Examples
    --------
    >>> Settings(sensitive="income", known=("gender", "age")).radius
    0.2
    """

    sensitive: str
    known: tuple[str, ...]
    data: str | None = None
    predictors: tuple[str, ...] | None = None
    radius: float = 0.2
    floor: float = 0.0
    order: int = 2
    scale: float = 1.0
    shift: float = 0.0
    synthesizer: str = "auto"
    components: int = 10
    membership: str = "posterior"
    noise: str = "independent"
    lower: float | None = None
    upper: float | None = None
    datasets: int = 20
    compare: tuple[str, ...] = SCHEMES
    regressions: tuple[str, ...] = ()
    expected_tables: int = 200
    targets: tuple[str, ...] = ()
    singletons: str = "protect"
    small_patterns: str = "error"
    missing: str = "error"
    seed: int | None = None
    breaks: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("known", "predictors", "compare", "regressions", "targets"):
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, (value,))
            elif isinstance(value, list | tuple):
                object.__setattr__(self, name, tuple(value))
        problems = _find_problems({entry.name: getattr(self, entry.name) for entry in fields(self)})
        if problems:
            raise InputError("settings", _list_problems(problems), "Correct each of them")


def read_settings(path: str | Path) -> Settings:
    """Read settings from a TOML file; every problem in it is told at once."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("settings", f"there is no file {str(path)!r}", "Make one with `molehill init DATA`") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("settings", f"it is not TOML ({error})", "Correct the file, or begin with init") from None
    problems = [f"there is no setting {name!r}: {nearest(name, RULES)}" for name in content if name not in RULES]
    known = {name: value for name, value in content.items() if name in RULES}
    problems += [f"{name!r} is missing" for name in ("sensitive", "known") if name not in known]
    problems += _find_problems(known)
    if problems:
        raise InputError("settings", _list_problems(problems), "Correct each of them in the file")
    return Settings(**known)


def write_settings(settings: Settings, path: str | Path, *, notes: Mapping[str, str] | None = None) -> None:
    """Write settings as TOML, each with a comment; `notes` adds to the comments of some."""
    with written_whole(path, private=True, argument="settings") as temporary:
        temporary.write_text(format_settings(settings, notes=notes), encoding="utf-8")


def format_settings(settings: Settings, *, notes: Mapping[str, str] | None = None) -> str:
    """Give settings as the text of a TOML file."""
    document = tomlkit.document()
    document.add(tomlkit.comment("Settings of a release: `molehill run` with this file makes it."))
    tables = []
    for name, rule in RULES.items():
        value = getattr(settings, name)
        comments = [f"{rule.comment} ({rule.wanted})", *map(_printable, (notes or {}).get(name, "").splitlines())]
        if isinstance(value, Mapping):
            tables.append((name, value, comments))
            continue
        document.add(tomlkit.nl())
        for comment in comments:
            document.add(tomlkit.comment(comment))
        if value is None:
            document.add(tomlkit.comment(f"{name} ="))
        else:
            document.add(name, tomlkit.item(list(value) if isinstance(value, tuple) else value))
    for name, value, comments in tables:
        document.add(tomlkit.nl())
        for comment in comments:
            document.add(tomlkit.comment(comment))
        table = tomlkit.table()
        for key, entry in value.items():
            table.add(key, list(entry) if isinstance(entry, list | tuple) else entry)
        document.add(name, table)
    return tomlkit.dumps(document)


def _find_problems(values: Mapping[str, Any]) -> list[str]:
    unset = {"data": None}
    targets = values.get("targets", ())
    unread = parse_targets(targets)[1] if _are_texts(targets) else []
    return [
        f"{name!r} must be {RULES[name].wanted}"
        for name, value in values.items()
        if not (RULES[name].fits(value) or (name in unset and value is None))
    ] + [f"'targets': {problem}" for problem in unread]


def _printable(text: str) -> str:
    """Leave out what may not stand in a comment: a column's name can hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _list_problems(problems: list[str]) -> str:
    return problems[0] if len(problems) == 1 else f"{len(problems)} problems: " + "; ".join(problems)
