"""The synthesizers that ship: each a function that returns a synthesizer for one sensitive column.

Importing this package loads JAX and NumPyro; `import molehill` does not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from molehill.models.counts import negative_binomial, poisson
from molehill.models.forests.forest import LEAF, forest
from molehill.models.multinomial import multinomial
from molehill.models.normal_linear import normal_linear
from molehill.models.semicontinuous import semicontinuous
from molehill.models.tdp_mixture import tdp_mixture
from molehill.synthesis.transforms import usual_transform
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

__all__ = ["forest", "multinomial", "negative_binomial", "normal_linear", "poisson", "semicontinuous", "tdp_mixture"]


@dataclass(frozen=True)
class BuiltIn:
    """A synthesizer that settings can name: how it is made, for which kind of column, and which settings it takes.

    `choose` gives the arguments that are chosen by the values of the column, where settings say "auto". `any_kind`
    tells that it takes columns of any kind, and says itself which values are missing.
    """

    make: Callable[..., Any]
    kind: str = ""
    takes: tuple[str, ...] = ("lower", "upper")
    choose: Callable[[Table, str], Mapping[str, Any]] = lambda *_: {}
    any_kind: bool = False


def _choose_scale(table: Table, column: str) -> dict[str, Any]:
    return {"transform": usual_transform(column_numbers(table, column))}


_MIXTURE = ("lower", "upper", "components", "membership", "transform", "priors", "standardise")
BUILT_IN = {
    "forest": BuiltIn(forest, "", ("lower", "upper", "leaf", "levels"), lambda *_: {"leaf": LEAF}, any_kind=True),
    "tdp_mixture": BuiltIn(tdp_mixture, "continuous", _MIXTURE, _choose_scale),
    "semicontinuous": BuiltIn(semicontinuous, "semicontinuous", _MIXTURE),
    "negative_binomial": BuiltIn(negative_binomial, "count"),
    "poisson": BuiltIn(poisson),
    "normal_linear": BuiltIn(normal_linear),
    "multinomial": BuiltIn(multinomial, "categorical", ()),
}
