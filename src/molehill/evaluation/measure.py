"""What a measure is: a number about a release, with the words, the unit and the rules by which everybody tells it.

To add a measure is to pass one more `Measure` to `evaluate`. Reports, charts and targets go by its fields; nothing
reads its words, and nothing that is not marked public ever leaves `internal/`.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from molehill.errors import InputError, check_choice, check_names, check_whole, nearest
from molehill.runtime import doing
from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.scene import Scene

Unit = Literal["share", "count", "expectation", "ratio", "percent", "number"]
MeasureFamily = Literal["risk", "utility"]
Coarse = Literal["", "exact", "up", "half", "ratio"]

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
class Measure:
    """A measure of risk or utility.

    Attributes
    ----------
    id
        What programs call it: `evaluation.risk.query("measure == 'risk_mean'")`.
    words
        What people call it; `{of}` and `{at}` stand for those of the value.
    family
        "risk" or "utility": which frame of an evaluation it is in.
    block
        The table of a report that it stands in, by its title.
    unit
        "share" (0 to 1), "count" (of records), "expectation" (of a count), "ratio", "percent" (of a difference) or
        "number" (in units of the data, or without any).
    compute
        `(scene) -> values`: one figure, or a list of `Value`; an empty list where it says nothing.
    better
        "lower", "higher", or empty where neither is.
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
    of_anybody
        Whether a risk makes sense for tables of new people, no record of which is anybody's; a utility always does.
    part_of
        The attack that it is a figure of: `evaluate(..., without=...)` leaves all figures of one out by this name.
    """

    id: str
    words: str
    family: MeasureFamily
    block: str
    unit: Unit
    compute: "Callable[[Scene], Figure | Iterable[Value]]"
    better: Literal["lower", "higher", ""] = "lower"
    public: bool = False
    least_records: int = 0
    release_only: bool = False
    reveals: str = ""
    coarse: Coarse = ""
    of_anybody: bool = False
    part_of: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or re.fullmatch(r"[A-Za-z]\w*", self.id, re.ASCII) is None:
            raise InputError("id", "it is not a plain word", "Use letters, digits and _, such as 'largest_change'")
        for name in ("words", "block", "part_of"):
            if not isinstance(getattr(self, name), str):
                raise InputError(name, "it is not text", "Say it in words")
        check_choice("family", self.family, get_args(MeasureFamily))
        check_choice("unit", self.unit, get_args(Unit))
        check_choice("better", self.better, ("lower", "higher", ""))
        if not callable(self.compute):
            raise InputError("compute", "it is not a function", "Give one that takes a scene and gives a Figure")
        for name in ("public", "release_only", "of_anybody"):
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
        words = self.words.replace("{at}", at).replace("{of}", value.of)
        return f"{words}, within {value.group}" if value.group else words


FACTS = [each.name for each in fields(Measure) if each.name != "compute"]
COLUMNS = ["scheme", "column", "measure", "of", "at", "group", "name", "value", "low", "high"]


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
    """Give the fields of measures as a frame, one row a measure, by which an evaluation that was saved is told."""
    return pd.DataFrame([[getattr(measure, name) for name in FACTS] for measure in measures], columns=FACTS)


def measure_scene(
    measures: Sequence[Measure],
    scene: "Scene",
    scheme: str,
    column: str,
    advance: Callable[[int], None] = lambda _: None,
) -> list[tuple[Any, ...]]:
    """Take every measure of a scene: rows with the columns of `COLUMNS`. `advance` is told of each that is taken."""
    rows = []
    for measure in measures:
        with doing(f"{measure.id} of {scheme}"):
            values = _read_values(measure, measure.compute(scene))
        for value in values:
            about = (value.column or column, measure.id, value.of, value.at, value.group)
            rows.append((scheme, *about, measure.name(value), *value.figure))
        advance(1)
    return rows


def _read_values(measure: Measure, given: Any) -> list[Value]:
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
