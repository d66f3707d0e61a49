"""The expected chance to be picked: that an intruder who picks at random among the close picks the record itself.

With c released records of the true pattern in the ball around the true value, and T whether the record's own is one of
them, that chance is T / c in a table. It stands beside the risk, which does not see how few a pattern holds: of two
records with the same value neither stands out, and yet every second pick is right.
"""

import numpy as np

from molehill.arrays import Floats
from molehill.risk.expected import BLOCKS, spread_batches
from molehill.risk.identification import pick_chances
from molehill.risk.intruder import View
from molehill.synthesis.posterior import Posterior
from molehill.tables.table import Table


def expected_picks(posterior: Posterior, view: View, *, datasets: int, seed: int) -> Floats:
    """Give the mean of T / c of every record in each block of neighbouring draws, (blocks, records).

    As `molehill.risk.expected.expected_risk` does it for the risk, of as many tables.
    """
    blocks, number = np.zeros((BLOCKS, view.records)), 0
    for rows in spread_batches(_measure_batch, posterior, view, datasets, seed):
        for row in rows:
            blocks[number * BLOCKS // datasets] += row
            number += 1
    return blocks * (BLOCKS / datasets)


def _measure_batch(
    posterior: Posterior, view: View, _table: Table, datasets: int, seed: int, at_once: int, start: int
) -> Floats:
    """Give the chance of every record in every table of a batch."""
    return pick_chances(view, posterior.predict_batch(datasets, start, seed=seed, at_once=at_once))
