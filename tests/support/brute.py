"""The definitions, transcribed as directly as possible: slow, obvious, and the truth for the tests."""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd


def is_gap(value):
    # pandas asks so many things of a value that most of the time would be spent here.
    return value is None or value is pd.NA or value != value  # noqa: PLR0124


def as_lists(frame):
    return {name: frame[name].tolist() for name in frame}


def in_ball(table, i, h, sensitive, exact, radius, floor):
    """Whether record h lies in the closed ball of record i; a gap is close to nothing but a gap."""
    for name in sensitive:
        centre, value = table[name][i], table[name][h]
        if is_gap(centre) or is_gap(value):
            if not (is_gap(centre) and is_gap(value)):
                return False
        elif name in exact:
            if centre != value:
                return False
        else:
            own, least = (of[name] if isinstance(of, dict) else of for of in (radius, floor))
            reach = max(abs(centre) * own, least)
            if not centre - reach <= value <= centre + reach:
                return False
    return True


def takes_part(table, i, sensitive):
    """Whether a record has any of its sensitive values."""
    return any(not is_gap(table[name][i]) for name in sensitive)


def confidential_risk(
    frame: pd.DataFrame, known, sensitive, radius, order, floor: Any = 0.0, exact=(), count_self=False
):
    """Mean over the sets S of order - 1 others of the share that is in no ball of S + {i}; NaN where there is none.

    The share is of the records that are not in S + {i}; as the paper has it, of all records of the pattern. A record
    without any sensitive value is not there.
    """
    keys = [tuple(row) for row in frame[list(known)].to_numpy(dtype=object)]
    table = as_lists(frame)
    there = [i for i in range(len(frame)) if takes_part(table, i, sensitive)]
    risk = np.full(len(frame), np.nan)
    for i in there:
        members = [h for h in there if keys[h] == keys[i]]
        close = {j: {h for h in members if in_ball(table, j, h, sensitive, exact, radius, floor)} for j in members}
        sets = list(combinations([j for j in members if j != i], order - 1))
        uncovered = counted = 0
        for s in sets:
            rest = [h for h in members if count_self or h not in {i, *s}]
            uncovered += sum(not any(h in close[j] for j in (i, *s)) for h in rest)
            counted += len(rest)
        # All sets leave equally many, so that the mean of the shares is one division of whole numbers, rounded once.
        if counted:
            risk[i] = uncovered / counted
    return risk


def release_counts(frame, released, known, sensitive, radius, floor: Any = 0.0, exact=()) -> tuple[np.ndarray, ...]:
    """c, M and T of every record: close ones, pattern size in the released table, own value close.

    A released record without any sensitive value is not there.
    """
    ours = [tuple(row) for row in frame[list(known)].to_numpy(dtype=object)]
    theirs = [tuple(row) for row in released[list(known)].to_numpy(dtype=object)]
    both = {name: frame[name].tolist() + released[name].tolist() for name in sensitive}
    n = len(frame)
    counts = []
    there = [h for h in range(len(released)) if takes_part(both, n + h, sensitive)]
    for i in range(n):
        members = [h for h in there if theirs[h] == ours[i]]
        close = [h for h in members if in_ball(both, i, n + h, sensitive, exact, radius, floor)]
        counts.append((len(close), len(members), i in close))
    return tuple(np.array(column) for column in zip(*counts, strict=True))
