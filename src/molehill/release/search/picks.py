"""The chance to be picked: of every record, that an intruder who picks at random among the close picks its own.

With c released records of the true pattern in the ball around the true value, and T whether the record's own is one of
them, that chance is T / c in a table. It stands beside the risk, which does not see how few a pattern holds: of two
records with the same value neither stands out, and yet every second pick is right.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from molehill.arrays import Floats
from molehill.evaluation.expected import BLOCKS
from molehill.risk.identification import release_risk
from molehill.risk.intruder import View, read_released
from molehill.synthesis.posterior import Posterior

# Tables are made and measured in batches of about this many values.
_BATCH = 2_000_000


def pick_chances(view: View, released: Sequence[Any]) -> Floats:
    """Give T / c of every record in every released table, (tables, records); NaN for a record that takes no part.

    Parameters
    ----------
    view
        The confidential table as an intruder sees it who counts others only (`cover="others"`).
    released
        The tables.

    Examples
    --------
    >>> import pandas as pd
    >>> from molehill import Intruder
    >>> data = pd.DataFrame({"town": ["A"] * 4, "pay": [100.0, 110.0, 120.0, 900.0]})
    >>> released = data.assign(pay=[105.0, 300.0, 118.0, 105.0])
    >>> pick_chances(Intruder(known="town", sensitive="pay", radius=0.1).look(data), [released])
    array([[0.5, 0. , 1. , 0. ]])
    """
    readings = read_released(view, list(released))
    found, size = release_risk(view, readings), np.stack([reading.size for reading in readings])
    # Where T = 1 the risk is (M - c) / (M - 1), or 1 for a record alone in its pattern: that gives c.
    close = np.rint(size - found.by_table * (size - 1))
    return found.linked / np.maximum(close, 1)


def expected_picks(posterior: Posterior, view: View, *, datasets: int, seed: int) -> Floats:
    """Give the mean of T / c of every record in each block of neighbouring draws, (blocks, records).

    As `molehill.evaluation.expected.expected_risk` does it for the risk, of as many tables.
    """
    blocks, number = np.zeros((BLOCKS, view.records)), 0
    for tables in posterior.predict_tables(datasets, seed=seed, at_once=max(1, _BATCH // view.records)):
        for row in pick_chances(view, tables):
            blocks[number * BLOCKS // datasets] += row
            number += 1
    return blocks * (BLOCKS / datasets)
