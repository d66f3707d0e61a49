"""Equal records combined: fewer rows with larger weights, and the same pseudo posterior.

A record of weight 2 is the record twice, so records that are equal in everything the model uses can be combined into
one with the sum of their weights, and those of weight 0 removed. This is used only to compute the density of the
parameters.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from molehill.synthesis.synthesizer import Data

# Minimum number of rows to compile for.
LEAST_ROWS = 64


def collapse_records(data: Data) -> Data:
    """Combine the records with equal design and outcome, with the sums of their weights.

    Parameters
    ----------
    data
        Inputs, and one weight per record. `design` and `outcome` have a row per record, the others stay as they are.

    Examples
    --------
    >>> inputs = {"design": np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), "outcome": np.array([3.0, 2.0, 3.0])}
    >>> made = collapse_records(Data(inputs, np.array([0.5, 1.0, 0.25])))
    >>> made.inputs["outcome"][:2], made.weights[:3]
    (array([3., 2.]), array([0.75, 1.  , 0.  ]))
    """
    weights = np.asarray(data.weights, dtype=np.float64)
    counted = np.flatnonzero(weights > 0)
    parts = {name: np.asarray(data.inputs[name])[counted] for name in ("design", "outcome")}
    codes, first = number_rows(np.column_stack([part.reshape(len(counted), -1) for part in parts.values()]))
    rows = padded_number(len(first))
    # Padded with the first record at weight 0.
    first = np.concatenate([first, np.zeros(rows - len(first), dtype=np.int64)])
    inputs = {**data.inputs, **{name: part[first] for name, part in parts.items()}}
    return Data(inputs, np.bincount(codes, weights[counted], minlength=rows))


def number_rows(matrix: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes of equal rows, in order of first appearance, and the first row of each.

    Examples
    --------
    >>> number_rows(np.array([[1, 0], [2, 5], [1, 0]]))
    (array([0, 1, 0]), array([0, 1]))
    """
    codes, number = np.zeros(len(matrix), dtype=np.int64), min(len(matrix), 1)
    for column in matrix.T:
        # Column by column: faster than sorting whole rows.
        own, distinct = pd.factorize(column, use_na_sentinel=False)
        codes, found = pd.factorize(codes * len(distinct) + own)
        number = len(found)
        if number == len(matrix):
            break
    first = np.zeros(number, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(matrix))[::-1]
    return codes.astype(np.int64), first


def padded_number(number: int, multiple: int = LEAST_ROWS) -> int:
    """Round up by at most about 3%, so that similar numbers of records share compiled code.

    Examples
    --------
    >>> padded_number(60), padded_number(70_000), padded_number(71_000)
    (64, 73728, 73728)
    """
    step = max(multiple, 1 << max(number.bit_length() - 5, 0))
    return max(-(-number // step), 1) * step
