"""Types of arrays, frozen arrays and mappings, and seeds derived from names."""

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
    """Make an array read-only, and return it."""
    array.flags.writeable = False
    return array


class FrozenDict(dict[Any, Any]):
    """An immutable, hashable mapping.

    Examples
    --------
    >>> hash(FrozenDict({"age": 1, "sex": 2})) == hash(FrozenDict({"sex": 2, "age": 1}))
    True
    """

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, a dictionary is unpickled entry by entry.
        return type(self), (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a frozen mapping cannot be changed: create another")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = _refuse
    setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]


def derive_seed(seed: SupportsIndex, *names: str | SupportsIndex) -> int:
    """Derive a seed from a seed and names, so that it does not depend on the order of computations.

    Examples
    --------
    >>> derive_seed(1, "fit", "pairwise") == derive_seed(1, "fit", "pairwise") != derive_seed(1, "fit", "marginal")
    True
    """
    digest = hashlib.sha256(json.dumps([seed, *names], default=index).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
