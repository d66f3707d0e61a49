"""The synthesizers that ship: each a function that returns a synthesizer for one sensitive column.

Importing this package loads JAX and NumPyro; `import molehill` does not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from molehill.models.counts import negative_binomial, poisson
from molehill.models.multinomial import multinomial
from molehill.models.normal_linear import normal_linear
from molehill.models.semicontinuous import semicontinuous
from molehill.models.tdp_mixture import tdp_mixture

__all__ = ["multinomial", "negative_binomial", "normal_linear", "poisson", "semicontinuous", "tdp_mixture"]


@dataclass(frozen=True)
class BuiltIn:
    """A synthesizer that settings can name: how it is made, for which kind of column, and which settings it takes."""

    make: Callable[..., Any]
    kind: str = ""
    takes: tuple[str, ...] = ("lower", "upper")


_MIXTURE = ("lower", "upper", "components", "membership", "priors", "standardise")
BUILT_IN = {
    "tdp_mixture": BuiltIn(tdp_mixture, "continuous", _MIXTURE),
    "semicontinuous": BuiltIn(semicontinuous, "semicontinuous", _MIXTURE),
    "negative_binomial": BuiltIn(negative_binomial, "count"),
    "poisson": BuiltIn(poisson),
    "normal_linear": BuiltIn(normal_linear),
    "multinomial": BuiltIn(multinomial, "categorical", ()),
}
