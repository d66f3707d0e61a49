"""Molehill: risk-weighted synthetic microdata, and the evidence to defend its release."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from molehill.errors import InputError
from molehill.frames import Table
from molehill.risk import confidential_risk, match_rates, release_risk
from molehill.schema import infer_schema
from molehill.table import read_table, write_table
from molehill.weights import risk_weights

if TYPE_CHECKING:
    from molehill.evaluation import evaluate
    from molehill.release import synthesize
    from molehill.synthesis import draw, fit
    from molehill.synthesizer import Synthesizer
    from molehill.weighting import weighted

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
    "Synthesizer": "synthesizer",
    "draw": "synthesis",
    "evaluate": "evaluation",
    "fit": "synthesis",
    "synthesize": "release",
    "weighted": "weighting",
}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(f"molehill.{_ON_DEMAND[name]}"), name)
    if name in ("baselines", "models", "search", "utility"):
        return import_module(f"molehill.{name}")
    raise AttributeError(f"module 'molehill' has no attribute {name!r}")
