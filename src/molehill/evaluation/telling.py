"""Numbers and names as a report tells them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from weakref import ref

import numpy as np
import pandas as pd

from molehill.evaluation.measure import FEW, RANGES, Unit
from molehill.tables.intervals import Figure
from molehill.tables.labels import short_label

Edition = Literal["internal", "public"]

_LONGEST_NAME, _LONGEST_MEASURE = 48, 96


class Told(NamedTuple):
    """A number in words, and its interval; an empty text where there is none."""

    text: str
    interval: str = ""


@dataclass(frozen=True)
class Teller:
    """Puts numbers into words, as an edition allows: in public, counts go in tens and none below ten is told.

    What an edition may tell of a figure is settled before, by `molehill.report.public`; here it is only said.
    """

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

    def share(self, value: float) -> str:
        """Tell a share."""
        return f"{value:.{3 if self.edition == 'internal' else 2}f}"

    def percentage(self, value: float) -> str:
        """Tell a share in hundredths."""
        return f"{value:.{1 if self.edition == 'internal' else 0}%}"

    def figure(self, unit: Unit, figure: Figure | None, coarse: str = "") -> Told:
        """Tell a figure of an evaluation by the unit of its measure, in public also by how coarse that is."""
        if figure is None or np.isnan(figure.value):
            return Told("")
        if self.edition == "public" and coarse in RANGES:
            return Told(tell_range(coarse, figure.value))
        if self.edition == "public" and coarse == "up":
            return Told(f"up to {figure.value:.2f}")
        if unit in ("count", "expectation"):
            return self._counted(unit, figure)
        if unit == "percent":
            text = f"{100 * figure.value:+.{1 if self.edition == 'internal' else 0}f}%"
            return Told(text if text.strip("+-0.%") else text[1:])
        plain = unit == "number" or (unit == "ratio" and self.edition == "public")
        number = significant if plain else self.share if unit == "share" else "{:.3f}".format
        text, low, high = (number(part) for part in figure)
        # What is the same for every table has no interval to speak of.
        missing = np.isnan(figure.low) or np.isnan(figure.high) or (unit == "number" and text == low == high)
        return Told(text, "" if missing else f"{low} to {high}")

    def sentence(self, unit: Unit, figure: Figure) -> str:
        """Tell a figure with its interval in brackets."""
        told = self.figure(unit, figure)
        return f"{told.text} (95% interval {told.interval})" if told.interval else told.text

    def _counted(self, unit: Unit, figure: Figure) -> Told:
        public = self.edition == "public"
        text = self.count(figure.value) if public or unit == "count" else f"{figure.value:,.1f}"
        missing = np.isnan(figure.low) or np.isnan(figure.high)
        if missing or (public and not FEW <= figure.value <= self.records - FEW):
            return Told(text)
        low, high = (round_count(end) if public else end for end in (figure.low, figure.high))
        return Told(text, f"{low:,.0f} to {high:,.0f}")


class _Index(NamedTuple):
    """The rows of a frame by measure and scheme, and the figures that it had when they were sorted."""

    frame: "ref[pd.DataFrame]"
    figures: bytes
    rows: Mapping[tuple[str, str], list[dict[Any, Any]]]


# By the identity of the frame: a report asks hundreds of times, of two frames.
_INDICES: dict[int, _Index] = {}


def list_figures(frame: pd.DataFrame, scheme: str, measure: str, column: str | None = None) -> list[dict[Any, Any]]:
    """Look up the rows of a measure of a scheme that have a value, without those within groups."""
    rows = _index(frame).get((measure, scheme), ())
    return [dict(row) for row in rows if column is None or row["column"] == column]


def _index(frame: pd.DataFrame) -> Mapping[tuple[str, str], list[dict[Any, Any]]]:
    """Sort the rows of a frame, or give how they were sorted before, unless it was changed since."""
    # One column after the other: three at once are copied into a frame, at forty times the price.
    figures = b"".join(frame[name].to_numpy().tobytes() for name in ("value", "low", "high"))
    known = _INDICES.get(id(frame))
    if known is not None and known.frame() is frame and known.figures == figures:
        return known.rows
    rows: dict[tuple[str, str], list[dict[Any, Any]]] = {}
    for row in frame[((frame["group"] == "") & frame["value"].notna()).to_numpy()].to_dict("records"):
        rows.setdefault((row["measure"], row["scheme"]), []).append(row)
    place = id(frame)
    _INDICES[place] = _Index(ref(frame, lambda _: _INDICES.pop(place, None)), figures, rows)
    return rows


def find_figure(frame: pd.DataFrame, scheme: str, measure: str, column: str | None = None) -> Figure | None:
    """Look up a figure; None if it was not measured."""
    rows = list_figures(frame, scheme, measure, column)
    return as_figure(rows[0]) if rows else None


def as_figure(row: Mapping[Any, Any]) -> Figure:
    """Make a figure of a row of an evaluation's frame."""
    return Figure(*(float(row[name]) for name in ("value", "low", "high")))


def round_count(count: float) -> int:
    """Round a count to tens, half of them up.

    Examples
    --------
    >>> round_count(25)
    30
    """
    return int(np.floor(count / FEW + 0.5)) * FEW


def in_range(name: str, value: float) -> float:
    """Give a number that stands for the range of `RANGES` in which a value lies.

    Examples
    --------
    >>> in_range("ratio", 1.0), in_range("ratio", 9.9), in_range("ratio", 10.0)
    (1.5, 6.5, 15.0)
    """
    ends = RANGES[name]
    place = int(np.searchsorted(ends, value, side="right"))
    if place == len(ends):
        return 1.5 * ends[-1]
    return (ends[place] + (ends[place - 1] if place else 0.0)) / 2


def tell_range(name: str, value: float) -> str:
    """Tell the range of `RANGES` in which a value lies.

    Examples
    --------
    >>> tell_range("half", 0.2), tell_range("ratio", 5.0), tell_range("ratio", 12.0)
    ('below 0.5', '3 to 10', '10 or more')
    """
    ends = RANGES[name]
    place = int(np.searchsorted(ends, value, side="right"))
    if place == 0:
        return f"below {ends[0]:g}"
    return f"{ends[-1]:g} or more" if place == len(ends) else f"{ends[place - 1]:g} to {ends[place]:g}"


def round_digits(value: float) -> float:
    """Round a number to two digits.

    Examples
    --------
    >>> round_digits(61234.5), round_digits(0.01263)
    (61000.0, 0.013)
    """
    return float(f"{value:.2g}")


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


def tell_by_column(setting: float | Mapping[str, float]) -> str:
    """Tell a setting that is one number, or one for each column.

    Examples
    --------
    >>> tell_by_column(0.2), tell_by_column({"income": 0.2, "wealth": 0.1})
    ('0.2', '0.2 of income, 0.1 of wealth')
    """
    if isinstance(setting, Mapping):
        return ", ".join(f"{value:g} of {cut_name(name)}" for name, value in setting.items())
    return f"{setting:g}"


def cut_name(name: str) -> str:
    """Make the name of a column, scheme or level fit for a sentence: visibly cut where it is too long."""
    return short_label(name, _LONGEST_NAME)


def cut_measure(name: str) -> str:
    """Make the name of a measure, which may hold that of a column, fit for a table."""
    return short_label(name, _LONGEST_MEASURE)


def join_names(names: Iterable[str], *, longest: int = _LONGEST_NAME) -> str:
    """Join names as a sentence does, each cut where it is too long.

    Examples
    --------
    >>> join_names(["age", "gender", "region"])
    'age, gender and region'
    """
    cut = [short_label(name, longest) for name in names]
    return " and ".join([", ".join(cut[:-1]), cut[-1]] if len(cut) > 1 else cut)
