"""Where the labels of points go, so that none covers another, a point or a line."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

# In pixels: the width of a letter and the height of a line (a little more than they take), half a point, and how far a
# label lies from its point before a thin line must join them.
_LETTER, _LINE, _POINT, _NEAR = 6.8, 15.0, 8.0, 20.0


class Box(NamedTuple):
    """A rectangle in pixels from the lower left corner of the figure."""

    left: float
    low: float
    right: float
    high: float

    def covers(self, other: "Box") -> bool:
        """Whether the two have a part in common."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high

    def within(self, other: "Box") -> bool:
        """Whether all of this lies in the other."""
        return (
            self.left >= other.left and self.right <= other.right and self.low >= other.low and self.high <= other.high
        )


class Place(NamedTuple):
    """Where a label begins (its middle line) and where a line from its point ends, in pixels; `far` if it needs one."""

    left: float
    middle: float
    end: float
    far: bool


def place_labels(
    labels: Sequence[str], points: Sequence[tuple[float, float]], obstacles: Sequence[Box], size: tuple[int, int]
) -> list[Place]:
    """Give every label the nearest free place around its point: beside it, above or below, then further away.

    A label for which there is none stands beside its point.

    Parameters
    ----------
    labels, points
        Texts, and where their points are, in pixels.
    obstacles
        What no label may cover, beside the points and the other labels.
    size
        Width and height of the figure, in pixels.

    Examples
    --------
    >>> [place.left for place in place_labels(["one"], [(50.0, 50.0)], [], (100, 100))]
    [60.0]
    >>> wall = Box(60.0, 0.0, 61.0, 100.0)
    >>> [round(place.left, 1) for place in place_labels(["one"], [(50.0, 50.0)], [wall], (100, 100))]
    [19.6]
    """
    taken = [*obstacles, *(Box(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in points)]
    whole = Box(0.0, 0.0, float(size[0]), float(size[1]))
    places = []
    for label, (x, y) in zip(labels, points, strict=True):
        width = _LETTER * len(label)
        candidates = [_label_box(left, middle, width) for left, middle in _around(x, y, width)]
        free = [box for box in candidates if box.within(whole) and not any(box.covers(other) for other in taken)]
        # A line between a label and its point would seem to part them, unless it is the point's own.
        others = [obstacle for obstacle in obstacles if not obstacle.covers(Box(x, y, x, y))]
        joined = [box for box in free if not any(_between(x, y, box).covers(other) for other in others)]
        box = (joined or free or candidates)[0]
        taken.append(box)
        middle = (box.low + box.high) / 2
        end = box.left - 2 if box.left >= x else min(box.right + 2, x)
        places.append(Place(box.left, middle, end, abs(middle - y) > _NEAR))
    return places


def label_columns(
    table: pd.DataFrame,
    lines: Mapping[str, float | None],
    reach: tuple[tuple[float, float], tuple[float, float]],
    size: tuple[int, int],
    labels: Sequence[str],
) -> pd.DataFrame:
    """Where labels begin and their lines end, in the units of the axes, clear of points, bars and reference lines.

    Parameters
    ----------
    table
        across, left, right, up, bottom, top: points and the ends of their bars, which may be missing.
    lines
        Where reference lines are: across and up, or None.
    reach, size
        Ends of the two axes in their units, and how many pixels they are long.
    labels
        A text for every point; an empty one takes no room.
    """
    (left, right), (bottom, top) = reach
    wide, high = size[0] / (right - left), size[1] / (top - bottom)
    across, low_end, high_end = ((table[name].to_numpy() - left) * wide for name in ("across", "left", "right"))
    up, under, over = ((table[name].to_numpy() - bottom) * high for name in ("up", "bottom", "top"))
    rows = range(len(table))
    # No bar compares false: its ends are NaN.
    bars = [Box(low_end[row], up[row] - 2, high_end[row], up[row] + 2) for row in rows if high_end[row] > low_end[row]]
    bars += [Box(across[row] - 2, under[row], across[row] + 2, over[row]) for row in rows if over[row] > under[row]]
    if lines["up"] is not None:
        # With the text on it, which stands at the right.
        place = (lines["up"] - bottom) * high
        bars += [Box(0, place - 2, size[0], place + 2), Box(size[0] - 130, place, size[0], place + 16)]
    if lines["across"] is not None:
        place = (lines["across"] - left) * wide
        bars += [Box(place - 2, 0, place + 2, size[1]), Box(place, 0, place + 100, 18)]
    points = list(zip(across, up, strict=True))
    places = place_labels(labels, points, bars, size)
    found = pd.DataFrame(places)
    return pd.DataFrame(
        {
            "label_across": found["left"] / wide + left,
            "label_up": found["middle"] / high + bottom,
            "leader": found["end"] / wide + left,
            "far": found["far"],
        },
        index=table.index,
    )


def _between(x: float, y: float, box: Box) -> Box:
    nearest = min(max(x, box.left), box.right), min(max(y, box.low), box.high)
    return Box(min(x, nearest[0]), min(y, nearest[1]), max(x, nearest[0]), max(y, nearest[1]))


def _label_box(left: float, middle: float, width: float) -> Box:
    return Box(left, middle - _LINE / 2, left + width, middle + _LINE / 2)


def _around(x: float, y: float, width: float) -> list[tuple[float, float]]:
    """Starts of a label around a point, the nearest first."""
    near = [(x + 10, y), (x - 10 - width, y)]
    near += [(start, y + side * 17) for side in (1, -1) for start in (x + 4, x - width / 2, x - width - 4)]
    far = [
        (start, y + side * distance)
        for distance in range(22, 160, 6)
        for side in (1, -1)
        for start in (x + 14, x - width - 14)
    ]
    return near + far
