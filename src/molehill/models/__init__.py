"""Built-in synthesizers: functions that return a synthesizer of one sensitive variable.

They are loaded on first use: a forest needs neither JAX nor NumPyro.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from molehill.models.forests.forest import LEAF, forest
from molehill.synthesis.transforms import usual_transform
from molehill.tables.schema import column_numbers
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.models.categories import multinomial
    from molehill.models.counts import negative_binomial, poisson
    from molehill.models.linear import normal_linear
    from molehill.models.mixtures import tdp_mixture
    from molehill.models.signed_amounts import semicontinuous

__all__ = ["forest", "multinomial", "negative_binomial", "normal_linear", "poisson", "semicontinuous", "tdp_mixture"]

# Modules of the synthesizers that run on JAX.
_ON_DEMAND = {
    "multinomial": "categories",
    "negative_binomial": "counts",
    "normal_linear": "linear",
    "poisson": "counts",
    "semicontinuous": "signed_amounts",
    "tdp_mixture": "mixtures",
}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(f"molehill.models.{_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module 'molehill.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "BUILT_IN"]


@dataclass(frozen=True)
class BuiltIn:
    """A synthesizer that settings can name: its name, the kind of variable, and the settings it takes.

    `choose` returns arguments chosen from the values of the variable where settings say "auto". `any_kind` marks a
    synthesizer of variables of any kind, which also models missing values.
    """

    name: str
    kind: str = ""
    takes: tuple[str, ...] = ("lower", "upper")
    choose: Callable[[Table, str], Mapping[str, Any]] = lambda *_: {}
    any_kind: bool = False

    @property
    def make(self) -> Callable[..., Any]:
        """The function that creates it."""
        return forest if self.name == "forest" else __getattr__(self.name)


def _choose_scale(table: Table, column: str) -> dict[str, Any]:
    return {"transform": usual_transform(column_numbers(table, column))}


_FOREST = ("lower", "upper", "min_leaf_size", "levels", "min_level_records", "seed")
_MIXTURE = ("lower", "upper", "components", "component_draw", "transform", "priors", "standardize")
BUILT_IN = {
    built_in.name: built_in
    for built_in in (
        BuiltIn("forest", "", _FOREST, lambda *_: {"min_leaf_size": LEAF}, any_kind=True),
        BuiltIn("tdp_mixture", "continuous", _MIXTURE, _choose_scale),
        BuiltIn("semicontinuous", "semicontinuous", _MIXTURE),
        BuiltIn("negative_binomial", "count"),
        BuiltIn("poisson"),
        BuiltIn("normal_linear"),
        BuiltIn("multinomial", "categorical", ()),
    )
}
