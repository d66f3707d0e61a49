"""The worst of several released datasets: one that discloses more than the others do, beyond chance.

A mean over the datasets hides the one that is the original. An intruder need not take the mean.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, stdtrit

from molehill.arrays import Floats, Integers, freeze
from molehill.tables.intervals import Figure

# How often some dataset of a release whose datasets are all alike is taken for worse, by one measure.
ALARM = 0.001
# The largest variance that a share can have counts as if it had been seen in so many datasets.
_PRIOR = 4
# A median absolute deviation as a standard deviation, and what it is worth beside that, of normal figures.
_TO_DEVIATION, _EFFICIENCY = 1.4826, 0.37


def worst_dataset(values: Floats, records: float) -> tuple[Figure, int]:
    """Give by how much the highest of several shares lies above the median of the others, and which one it is.

    The lower end of the interval is above 0 where that is no chance. The highest is compared with the others by
    Student's t. The variance is between that of the others, by their median absolute deviation, which a second bad
    dataset does not change, and the largest that a share of so many records can have; the level is divided by the
    number of datasets, of which it is the highest. Besides, with all that is counted dealt out to the datasets at
    random, as many must not come to one of them: a share of a few records is not judged by its spread alone.

    Parameters
    ----------
    values
        One share per dataset, from 0 to 1: at least two.
    records
        Of how many records it is a share.

    Examples
    --------
    >>> figure, place = worst_dataset(np.array([0.1, 0.11, 0.09, 0.8]), 200)
    >>> round(figure.value, 3), figure.low > 0, place
    (0.7, True, 3)
    >>> worst_dataset(np.array([0.1, 0.11, 0.09, 0.14]), 200)[0].low > 0
    False
    """
    number, place = len(values), int(np.argmax(values))
    others = np.delete(values, place)
    middle = float(np.median(others))
    gain = float(values[place]) - middle
    total = float(values.sum()) * records
    share = (total + 1) / (number * records + 2)
    spread = _TO_DEVIATION * float(np.median(np.abs(others - middle)))
    known = _EFFICIENCY * (number - 2)
    freedom = known + _PRIOR
    variance = (known * spread**2 + _PRIOR * share * (1 - share) / records) / freedom
    error = float(np.sqrt(variance * (1 + 1 / (number - 1))))
    reach = float(stdtrit(freedom, 1 - ALARM / number)) * error
    low = gain - reach
    own = float(values[place]) * records
    # The probability that of all that is counted so much falls to one dataset.
    chance = float(betainc(own, total - own + 1, 1 / number)) if own > 0 else 1.0
    return Figure(gain, low if chance < ALARM / number else min(low, 0.0), min(gain + reach, 1.0)), place


def copied_records(cells: Integers, values: Floats, released: Sequence[tuple[Integers, Floats]]) -> Floats:
    """Give the share of the records of every released dataset that are records of the confidential data.

    Each confidential record can be copied once. Records are the same in all key and all synthesized variables.

    Parameters
    ----------
    cells
        One per confidential record: its key variables and categories; -1 for one that takes no part.
    values
        (records, variables): its numbers.
    released
        The same of every released dataset, of any number of records.

    Examples
    --------
    >>> numbers = np.array([[1.0], [2.0], [2.0]])
    >>> copied_records(np.zeros(3, dtype=int), numbers, [(np.zeros(3, dtype=int), np.array([[2.0], [1.0], [1.0]]))])
    array([0.66666667])
    """
    sizes = np.array([len(cells), *(len(one) for one, _ in released)])
    every = np.concatenate([cells, *(one for one, _ in released)]).astype(np.int64)
    part = every >= 0
    # One code per record: equal where all is equal.
    codes = np.unique(every, return_inverse=True)[1]
    for column in range(values.shape[1]):
        numbers = np.concatenate([values[:, column], *(one[:, column] for _, one in released)])
        places, own = np.unique(numbers, return_inverse=True)
        codes = np.unique(codes * len(places) + own, return_inverse=True)[1]
    ends = np.cumsum(sizes)
    wide = int(codes.max(initial=0)) + 1
    counts = [
        np.bincount(codes[start:end][part[start:end]], minlength=wide)
        for start, end in zip(ends - sizes, ends, strict=True)
    ]
    return freeze(
        np.array([np.minimum(counts[0], one).sum() for one in counts[1:]], dtype=np.float64) / np.maximum(sizes[1:], 1)
    )
