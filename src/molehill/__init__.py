"""Molehill: risk-weighted synthetic microdata, and the evidence to defend its release."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from molehill.errors import InputError
from molehill.risk.identification import confidential_risk, match_rates, release_risk
from molehill.risk.weights import risk_weights
from molehill.tables.formats import read_table, write_table
from molehill.tables.schema import infer_schema
from molehill.tables.table import Table

if TYPE_CHECKING:
    from molehill.evaluation.evaluation import evaluate
    from molehill.release.making import synthesize
    from molehill.synthesis.fitting import draw, fit
    from molehill.synthesis.synthesizer import Synthesizer
    from molehill.synthesis.weighting import weighted

__version__ = version("molehill")
__all__ = [
    "InputError",
    "Synthesizer",
    "Table",
    "confidential_risk",
    "draw",
    "evaluate",
    "fit",
    "infer_schema",
    "match_rates",
    "read_table",
    "release_risk",
    "risk_weights",
    "synthesize",
    "weighted",
    "write_table",
]

# Synthesis needs JAX, and evaluation statsmodels, which take a while to load; measuring risk must not wait for them.
_ON_DEMAND = {
    "Synthesizer": "synthesis.synthesizer",
    "draw": "synthesis.fitting",
    "evaluate": "evaluation.evaluation",
    "fit": "synthesis.fitting",
    "synthesize": "release.making",
    "weighted": "synthesis.weighting",
}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(f"molehill.{_ON_DEMAND[name]}"), name)
    if name in ("baselines", "models", "utility"):
        return import_module(f"molehill.{name}")
    if name == "search":
        return import_module("molehill.release.search.order")
    raise AttributeError(f"module 'molehill' has no attribute {name!r}")
