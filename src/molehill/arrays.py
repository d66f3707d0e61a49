"""Names for arrays, arrays that stay as they are, and seeds by name."""

import hashlib
import json
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]
Array = TypeVar("Array", bound=np.ndarray)


def freeze(array: Array) -> Array:
    """Make an array of a result read-only, and give it back."""
    array.flags.writeable = False
    return array


def named_seed(seed: int, *names: str | int) -> int:
    """Give the seed of something by what it is called: the order in which things are done changes nothing.

    Examples
    --------
    >>> named_seed(1, "fit", "pairwise") == named_seed(1, "fit", "pairwise") != named_seed(1, "fit", "marginal")
    True
    """
    digest = hashlib.sha256(json.dumps([seed, *names]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
