"""Numbers of an evaluation as a report tells them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from molehill.charts.style import short_label
from molehill.report.public import ESTIMATES, FEW, round_count
from molehill.tables.intervals import Figure

Edition = Literal["internal", "public"]

_COUNTS = ("records with ", "records whose ", "moles", "expected right matches", "unique matches")
_LONGEST_NAME, _LONGEST_MEASURE = 48, 96


class Told(NamedTuple):
    """A number in words, and its interval; an empty text where there is none."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Teller:
    """Puts numbers into words, as an edition allows: in public, counts go in tens and none below ten is told."""

    edition: Edition
    records: int

    def count(self, value: float) -> str:
        """Tell a number of records."""
        if self.edition == "internal":
            return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
        if value < FEW:
            return f"fewer than {FEW}"
        if value > self.records - FEW:
            return f"all but fewer than {FEW}"
        return f"about {round_count(value):,}"

    def figure(self, measure: str, figure: Figure | None) -> Told:
        """Tell a figure of an evaluation by the name of its measure."""
        if figure is None or np.isnan(figure.value):
            return Told("")
        if measure.startswith(_COUNTS):
            return self._counted(measure, figure)
        if measure.startswith(ESTIMATES[2]):
            decimals = 1 if self.edition == "internal" else 0
            text = f"{100 * figure.value:+.{decimals}f}%"
            return Told(text if text.strip("+-0.%") else text[1:])
        number = _decimals if measure.startswith(ESTIMATES[:2]) or _is_share(measure) else significant
        if measure.startswith(ESTIMATES[1]) and self.edition == "public":
            return Told(f"{figure.value:.1f}")
        text, low, high = (number(part) for part in figure)
        # What is the same for every table has no interval to speak of.
        missing = np.isnan(figure.low) or np.isnan(figure.high) or (number is significant and text == low == high)
        return Told(text, "" if missing else f"{low} to {high}")

    def _counted(self, measure: str, figure: Figure) -> Told:
        text = self.count(figure.value)
        if self.edition == "internal" and measure.endswith("by chance alone"):
            # An expectation, and no count of records.
            text = f"{figure.value:,.1f}"
        missing = np.isnan(figure.low) or np.isnan(figure.high)
        if missing or (self.edition == "public" and not text.startswith("about")):
            return Told(text)
        low, high = (round_count(end) if self.edition == "public" else end for end in (figure.low, figure.high))
        return Told(text, f"{low:,.0f} to {high:,.0f}")


def find_figure(frame: pd.DataFrame, scheme: str, measure: str) -> Figure | None:
    """Look a figure up; None if it was not measured."""
    rows = frame[(frame["scheme"] == scheme) & (frame["measure"] == measure)]
    if rows.empty or pd.isna(rows["value"].iloc[0]):
        return None
    return as_figure(rows.iloc[:1].to_dict("records")[0])


def as_figure(row: Mapping[Any, Any]) -> Figure:
    """Make a figure of a row of an evaluation's frame."""
    return Figure(*(float(row[name]) for name in ("value", "low", "high")))


def list_estimates(utility: pd.DataFrame) -> list[str]:
    """Names of the analyses that were compared, those of the whole table first."""
    found = [name.removeprefix(ESTIMATES[0]) for name in utility["measure"].unique() if name.startswith(ESTIMATES[0])]
    return sorted(found, key=lambda name: ", within " in name)


def significant(value: float) -> str:
    """Tell a number in three digits, or four where it is large.

    Examples
    --------
    >>> significant(61234.5), significant(0.0000012344), significant(2.5)
    ('61,230', '0.00000123', '2.5')
    """
    if np.isnan(value):
        return ""
    if abs(value) >= 1000:
        digits = int(np.floor(np.log10(abs(value)))) - 3
        return f"{round(value, -digits) if digits > 0 else value:,.0f}"
    return np.format_float_positional(float(f"{value:.3g}"), trim="-")


def cut_name(name: str) -> str:
    """Make the name of a column, scheme or level fit for a sentence: visibly cut where it is too long."""
    return short_label(name, _LONGEST_NAME)


def cut_measure(name: str) -> str:
    """Make the name of a measure, which may hold that of a column, fit for a table."""
    return short_label(name, _LONGEST_MEASURE)


def join_names(names: Iterable[str]) -> str:
    """Join names as a sentence does.

    Examples
    --------
    >>> join_names(["age", "gender", "region"])
    'age, gender and region'
    """
    cut = [cut_name(name) for name in names]
    return " and ".join([", ".join(cut[:-1]), cut[-1]] if len(cut) > 1 else cut)


def _is_share(measure: str) -> bool:
    return any(word in measure for word in ("risk", "guess", "share", "rate"))


def _decimals(value: float) -> str:
    return f"{value:.3f}"
