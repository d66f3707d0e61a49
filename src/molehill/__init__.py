"""Molehill: risk-weighted synthetic microdata, and the evidence to defend its release."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from molehill.errors import InputError
from molehill.frames import Table
from molehill.profile import profile_risk
from molehill.risk import confidential_risk, match_rates, release_risk
from molehill.schema import Schema, infer_schema
from molehill.table import read_table, write_table
from molehill.weights import risk_weights

if TYPE_CHECKING:
    from molehill.synthesis import draw, fit
    from molehill.synthesizer import Synthesizer
    from molehill.weighting import weighted

__version__ = version("molehill")
__all__ = [
    "InputError",
    "Schema",
    "Synthesizer",
    "Table",
    "confidential_risk",
    "draw",
    "fit",
    "infer_schema",
    "match_rates",
    "profile_risk",
    "read_table",
    "release_risk",
    "risk_weights",
    "weighted",
    "write_table",
]

# Synthesis needs JAX, which takes a while to load; measuring risk does not, and must not wait for it.
_ON_DEMAND = {"Synthesizer": "synthesizer", "draw": "synthesis", "fit": "synthesis", "weighted": "weighting"}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(f"molehill.{_ON_DEMAND[name]}"), name)
    if name == "models":
        return import_module("molehill.models")
    raise AttributeError(f"module 'molehill' has no attribute {name!r}")
