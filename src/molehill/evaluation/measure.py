"""What a measure is: a number about a release, with the words, the unit and the rules by which everybody tells it.

To add a measure is to pass one more `Measure` to `evaluate`. Reports, charts and targets go by its fields; nothing
reads its words, and nothing that is not marked public ever leaves `internal/`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from molehill.tables.intervals import Figure

if TYPE_CHECKING:
    from molehill.evaluation.scene import Scene

Unit = Literal["share", "count", "expectation", "ratio", "percent", "number"]
MeasureFamily = Literal["risk", "utility"]

# Fewer records than this are never counted in public, nor is anything told that rests on them.
FEW = 10


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

    def name(self, value: Value) -> str:
        """Give a value its name in words."""
        at = value.of if np.isnan(value.at) else f"{value.at:g}"
        # Not by str.format: what a value is of may hold braces.
        words = self.words.replace("{at}", at).replace("{of}", value.of)
        return f"{words}, within {value.group}" if value.group else words


FACTS = [each.name for each in fields(Measure) if each.name != "compute"]
COLUMNS = ["scheme", "column", "measure", "of", "at", "group", "name", "value", "low", "high"]


def describe_measures(measures: Sequence[Measure]) -> pd.DataFrame:
    """Give the fields of measures as a frame, one row a measure, by which an evaluation that was saved is told."""
    return pd.DataFrame([[getattr(measure, name) for name in FACTS] for measure in measures], columns=FACTS)


def measure_scene(measures: Sequence[Measure], scene: "Scene", scheme: str, column: str) -> list[tuple[Any, ...]]:
    """Take every measure of a scene: rows with the columns of `COLUMNS`."""
    rows = []
    for measure in measures:
        found = measure.compute(scene)
        for value in [Value(found)] if isinstance(found, Figure) else found:
            about = (value.column or column, measure.id, value.of, value.at, value.group)
            rows.append((scheme, *about, measure.name(value), *value.figure))
    return rows
