"""What a measure is: everything that anybody needs to know about a figure, in one place.

To add a measure is to pass one more `Measure` to `evaluate` or to `synthesize`. The report, the charts, the scorecard,
the search and the studio go by its fields; nothing reads its words, and nothing that is not marked public ever leaves
`internal/`. A quantity that several measures need is a function with `shared` above it: it is computed once.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
import pandas as pd

from molehill.errors import InputError, check_choice, check_names, check_whole, nearest
from molehill.runtime import doing
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.context import Context

Found = TypeVar("Found")
Unit = Literal["share", "count", "expectation", "ratio", "percent", "number"]
MeasureFamily = Literal["risk", "utility"]
Coarse = Literal["", "exact", "up", "half", "ratio"]
Need = Literal["own record", "posterior", "control", "halves", "survey design"]
RiskType = Literal[
    "identity",
    "attribute",
    "singling out",
    "linkability",
    "inference",
    "membership",
    "unchanged_inference",
    "consistency",
    "utility",
]

# The name of the confidential table among the schemes of an evaluation.
CONFIDENTIAL = "confidential"
# Fewer records than this are never counted in public, nor is anything told that rests on them.
FEW = 10
# Where the ranges begin and end that a public figure is told by: beyond them nothing finer is published.
RANGES: dict[str, tuple[float, ...]] = {"half": (0.5,), "ratio": (3.0, 10.0)}


class Value(NamedTuple):
    """A figure, and what it is about.

    Attributes
    ----------
    figure
        The number with its interval over the tables.
    column
        The column that it is about; empty for all sensitive columns together.
    of
        What it is of: an analysis, a classifier; empty where there is nothing to choose.
    at
        A number that it depends on: the intruder's radius, the step of a rise; NaN where there is none.
    group
        The group that it is within; empty for all records.
    """

    figure: Figure
    column: str = ""
    of: str = ""
    at: float = np.nan
    group: str = ""


@dataclass(frozen=True)
class Block:
    """A table of the report, in which the measures stand that belong together.

    Attributes
    ----------
    title, note
        Its title, and how it is to be read.
    attack
        Whether it stands among the attack simulations and plausibility checks.
    first
        Whether it is seen at first; others stand behind them.
    """

    title: str
    note: str = ""
    attack: bool = False
    first: bool = False


@dataclass(frozen=True)
class Threshold:
    """When a measure makes its risk type amber on the scorecard, and when red.

    Attributes
    ----------
    family
        The risk type that it is about.
    amber, red
        From here on; the worse the higher if red is above amber, else the worse the lower. Infinite: never.
    words
        What the measure is, in a few words; {of} and {at} stand for those of the figure. Empty: the measure's label.
    null
        The null value: a figure whose interval includes it is green.
    take
        "worst" of the figures; "mean" of them; "ratio", of the worst in either direction.
    at
        What a figure is at, with {} for the number: "by {} column(s)".
    unless
        The id of a measure that tells more: where it was taken, this one is not asked. Not so of thresholds that the
        agency set.
    benchmark
        The id of a measure whose interval holds what correct releases would show: what lies in it is green, whatever
        its size. Not so of thresholds that the agency set.
    """

    family: RiskType
    amber: float
    red: float = np.inf
    words: str = ""
    null: float | None = None
    take: Literal["worst", "mean", "ratio"] = "worst"
    at: str = ""
    unless: str = ""
    benchmark: str = ""

    def __post_init__(self) -> None:
        check_choice("family", self.family, get_args(RiskType))


@dataclass(frozen=True)
class CriterionWords:
    """As what a measure can be a release criterion.

    Attributes
    ----------
    text
        How it is written there, such as "unique matches"; of a quantity of every record what follows the statistic:
        "expected" in "99% expected".
    kind
        "figure": the figure itself; "records": a statistic over the records, of what the measure is the mean of;
        "step": a number follows it, such as the smallest increase that counts.
    impossible
        Why no release has 0, or, where more is better, 1; empty if one may.
    is_share
        Whether it is a share as a criterion, though the measure is a count.
    offers
        What the studio offers: a statistic or nothing, a bound to begin with, and what it means.
    """

    text: str
    kind: Literal["figure", "records", "step"] = "figure"
    impossible: str = ""
    is_share: bool = False
    offers: Sequence[tuple[str, float, str]] = ()


@dataclass(frozen=True)
class Measure:
    """A measure of risk or utility.

    Attributes
    ----------
    id
        What programs call it: `evaluation.risk.query("measure == 'risk_mean'")`.
    label
        What people call it; `{of}` and `{at}` stand for those of the value.
    family
        "risk" or "utility": which frame of an evaluation it is in.
    block
        The table of a report that it stands in: a `Block`, or its title alone.
    unit
        "share" (0 to 1), "count" (of records), "expectation" (of a count), "ratio", "percent" (of a difference) or
        "number" (in units of the data, or without any).
    compute
        `(context) -> values`: one figure, or a list of `Value`; an empty list where it says nothing.
    better
        "lower", "higher", or empty where neither is.
    explanation
        What it means, in a few words that stand beside it in the report.
    reference
        The formula, or where it comes from.
    needs
        What it cannot be computed without: "own record" (released records are those of people, as they are not in fully
        synthetic data), "posterior", "control", "halves" (fits to halves of the records), "survey design". By default
        a risk needs the own record and a utility nothing but the datasets.
    threshold
        When it is amber and red on the scorecard, if it is rated.
    criteria
        As what it can be a release criterion, if it has words of its own there. Any measure that is better one way or
        the other can be one by its id.
    public
        Whether it may be published. What is not marked stays in `internal/`.
    least_records
        Of a public one: how many records there must be, so that it does not rest on a few.
    release_only
        Of a public one: told of the release alone, never of the confidential table or of tables that stay inside.
    reveals
        Of a public one, and then not empty: what a reader who has the tables learns from it of the confidential one.
    coarse
        How coarsely a public one is told. Empty, by its unit: a share in steps of at least 10 records, a count in tens,
        all others in two digits. "exact": as it is, for what readers can compute from the tables. "up": a share
        that is never told too low. "half", "ratio": in the ranges of `RANGES`.
    part_of
        The attack that it is a figure of: `evaluate(..., skip=...)` leaves all figures of one out by this name.
    """

    id: str
    label: str
    family: MeasureFamily
    block: Block | str
    unit: Unit
    compute: "Callable[[Context], Figure | Iterable[Value]]"
    better: Literal["lower", "higher", ""] = "lower"
    explanation: str = ""
    reference: str = ""
    needs: Sequence[Need] | None = None
    threshold: Threshold | None = None
    criteria: Sequence[CriterionWords] = ()
    public: bool = False
    least_records: int = 0
    release_only: bool = False
    reveals: str = ""
    coarse: Coarse = ""
    part_of: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or re.fullmatch(r"[A-Za-z]\w*", self.id, re.ASCII) is None:
            raise InputError("id", "it is not a plain word", "Use letters, digits and _, such as 'largest_change'")
        if isinstance(self.block, str):
            object.__setattr__(self, "block", Block(self.block))
        if not isinstance(self.block, Block):
            raise InputError("block", "it is not text", "Give a title, or a Block(title, note)")
        for name in ("label", "explanation", "reference", "reveals", "part_of"):
            if not isinstance(getattr(self, name), str):
                raise InputError(name, "it is not text", "Say it in words")
        check_choice("family", self.family, get_args(MeasureFamily))
        check_choice("unit", self.unit, get_args(Unit))
        check_choice("better", self.better, ("lower", "higher", ""))
        if not callable(self.compute):
            raise InputError("compute", "it is not a function", "Give one that takes a context and gives a Figure")
        needs = (("own record",) if self.family == "risk" else ()) if self.needs is None else self.needs
        object.__setattr__(self, "needs", tuple(needs))
        for need in self.needs or ():
            check_choice("needs", need, get_args(Need))
        if not isinstance(self.threshold, Threshold | None):
            raise InputError("threshold", "it is not a Threshold", "Give Threshold('identity', amber, red)")
        self._check_publication()

    def _check_publication(self) -> None:
        for name in ("public", "release_only"):
            # Any text would count as true.
            if not isinstance(getattr(self, name), bool):
                raise InputError(name, "it is not True or False", "Give one of the two")
        check_whole("least_records", self.least_records, 0)
        if self.public and not self.reveals:
            problem = f"the measure {self.id!r} is public and does not say what it gives away"
            raise InputError("reveals", problem, "Say it in a sentence; or keep the measure inside: public=False")

    def name(self, value: Value) -> str:
        """Give a value its name in words."""
        at = value.of if np.isnan(value.at) else f"{value.at:g}"
        # Not by str.format: what a value is of may hold braces.
        words = self.label.replace("{at}", at).replace("{of}", value.of)
        return f"{words}, within {value.group}" if value.group else words

    @property
    def title(self) -> str:
        """The title of the table of a report that it stands in."""
        return self.block.title if isinstance(self.block, Block) else self.block

    @property
    def is_attack(self) -> bool:
        """Whether it is one of the attack simulations and plausibility checks."""
        return isinstance(self.block, Block) and self.block.attack

    @property
    def facts(self) -> dict[str, Any]:
        """What a saved evaluation keeps of it; its threshold is among the rules of the scorecard."""
        block: Any = self.block
        plain = {name: getattr(self, name) for name in _PLAIN}
        table = {"block": block.title, "note": block.note, "attack": block.attack, "first": block.first}
        return {**plain, **table, "needs": ", ".join(self.needs or ())}


def risk_measure(
    id_: str,
    label: str,
    block: Block,
    compute: "Callable[[Context], Figure | Iterable[Value]]",
    explanation: str = "",
    *,
    unit: Unit = "share",
    better: Literal["lower", "higher", ""] = "lower",
    **about: Any,
) -> Measure:
    """Give a measure of risk: a share, by default, that is better the lower it is."""
    return Measure(id_, label, "risk", block, unit, compute, better, explanation, **about)


def utility_measure(
    id_: str,
    label: str,
    block: Block,
    compute: "Callable[[Context], Figure | Iterable[Value]]",
    explanation: str = "",
    *,
    unit: Unit = "number",
    better: Literal["lower", "higher", ""] = "lower",
    **about: Any,
) -> Measure:
    """Give a measure of utility: a number, by default, that is better the lower it is."""
    return Measure(id_, label, "utility", block, unit, compute, better, explanation, **about)


_PLAIN = [one.name for one in fields(Measure) if one.name not in ("block", "compute", "needs", "threshold", "criteria")]
FACTS = [*_PLAIN, "block", "note", "attack", "first", "needs"]
COLUMNS = ["scheme", "column", "measure", "of", "at", "group", "name", "value", "low", "high"]


def shared(compute: "Callable[[Context], Found]") -> "Callable[[Context], Found]":
    """Compute a quantity of a context once, when a measure first asks for it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> @shared
    ... def twice(context):
    ...     print("computing")
    ...     return 2 * context.number
    >>> context = SimpleNamespace(number=3, found={})
    >>> twice(context) + twice(context)
    computing
    12
    """
    place = f"{compute.__module__}.{compute.__qualname__}"

    @wraps(compute)
    def once(context: "Context") -> Found:
        if place not in context.found:
            context.found[place] = compute(context)
        return context.found[place]

    return once


def check_measures(measures: Any) -> tuple[Measure, ...]:
    """Accept measures, one or several, each with an id of its own."""
    remedy = "Give measures, such as (*MEASURES, mine)"
    if not isinstance(measures, Measure) and (isinstance(measures, str) or not isinstance(measures, Iterable)):
        raise InputError("measures", f"it is of type {type(measures).__name__}, not a Measure", remedy)
    several = (measures,) if isinstance(measures, Measure) else tuple(measures)
    found = set()
    for one in several:
        if not isinstance(one, Measure):
            raise InputError("measures", f"one is of type {type(one).__name__}, not a Measure", remedy)
        if one.id in found:
            raise InputError("measures", f"two are called {one.id!r}", "Give each an id of its own")
        found.add(one.id)
    return several


def leave_out(measures: Sequence[Measure], without: str | Sequence[str]) -> tuple[Measure, ...]:
    """Give the measures without those that are named, by their id or by the attack that they are figures of."""
    named = check_names("skip", without)
    names = {one.id for one in measures} | {one.part_of for one in measures if one.part_of}
    for name in named:
        if name not in names:
            raise InputError("skip", f"there is no measure {name!r}", nearest(name, sorted(names)))
    return tuple(one for one in measures if one.id not in named and one.part_of not in named)


def describe_measures(measures: Sequence[Measure]) -> pd.DataFrame:
    """Give what measures are as a frame, one row a measure, by which an evaluation that was saved is described."""
    return pd.DataFrame([measure.facts for measure in measures], columns=FACTS)


def measure_context(
    measures: Sequence[Measure],
    context: "Context",
    scheme: str,
    column: str,
    advance: Callable[[int], None] = lambda _: None,
) -> list[tuple[Any, ...]]:
    """Take every measure of a context: rows with the columns of `COLUMNS`. `advance` is told of each that is taken."""
    rows = []
    for measure in measures:
        if not set(measure.needs or ()) <= context.has:
            advance(1)
            continue
        with doing(f"{measure.id} of {scheme}"):
            values = read_values(measure, measure.compute(context))
        for value in values:
            about = (value.column or column, measure.id, value.of, value.at, value.group)
            rows.append((scheme, *about, measure.name(value), *value.figure))
        advance(1)
    return rows


def read_values(measure: Measure, given: Any) -> list[Value]:
    """Take what a measure computed: a figure, a value, or several values."""
    alone = Value(given) if isinstance(given, Figure) else given
    if isinstance(alone, str) or not isinstance(alone, Iterable):
        raise _refuse(measure, alone)
    values = [alone] if isinstance(alone, Value) else list(alone)
    for value in values:
        if not isinstance(value, Value) or not isinstance(value.figure, Figure):
            raise _refuse(measure, value)
        if not all(isinstance(number, Real) for number in (*value.figure, value.at)):
            raise _refuse(measure, value, " whose numbers are none")
        if not all(isinstance(text, str) for text in (value.column, value.of, value.group)):
            raise _refuse(measure, value, " whose column, of or group is no text")
    return values


def _refuse(measure: Measure, given: Any, why: str = "") -> InputError:
    problem = f"{measure.id!r} gave something of type {type(given).__name__}{why}"
    return InputError("measures", problem, "Give a Figure, or a list of Value(Figure(value, low, high))")
