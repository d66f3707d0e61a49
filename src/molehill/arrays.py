"""Names for arrays, arrays and mappings that stay as they are, and seeds by name."""

import hashlib
import json
from operator import index
from typing import Any, NoReturn, SupportsIndex, TypeVar

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


class FrozenDict(dict[Any, Any]):
    """A mapping that cannot be changed in place: one that frozen values hold, and are hashed by.

    Examples
    --------
    >>> hash(FrozenDict({"age": 1, "sex": 2})) == hash(FrozenDict({"sex": 2, "age": 1}))
    True
    """

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        # Left to itself, a dictionary is made again entry by entry.
        return type(self), (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("it belongs to a frozen value and cannot be changed: make another")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = _refuse
    setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]


def derive_seed(seed: SupportsIndex, *names: str | SupportsIndex) -> int:
    """Give the seed of something by what it is called: the order in which things are done changes nothing.

    Examples
    --------
    >>> derive_seed(1, "fit", "pairwise") == derive_seed(1, "fit", "pairwise") != derive_seed(1, "fit", "marginal")
    True
    """
    digest = hashlib.sha256(json.dumps([seed, *names], default=index).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
