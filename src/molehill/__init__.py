"""Molehill: risk-weighted synthetic microdata, and the evidence to defend its release.

A newcomer needs `Settings` and `synthesize`, or `run`, which saves and resumes; an expert all the parts: `Intruder`,
`confidential_risk`, `risk_weights`, `fit`, `draw`, `evaluate`.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from molehill import charts, models, sdc_methods, utility
    from molehill.errors import InputError
    from molehill.evaluation.evaluation import Evaluation, evaluate
    from molehill.evaluation.measure import Measure
    from molehill.evaluation.options import EvaluationOptions
    from molehill.plan.settings import Settings, read_settings
    from molehill.release.runs import run
    from molehill.release.synthesize import synthesize
    from molehill.risk.identification import confidential_risk, match_rates, release_risk, risk_weights
    from molehill.risk.intruder import Intruder
    from molehill.risk.moles import moles
    from molehill.synthesis.fitting import draw, fit
    from molehill.synthesis.synthesizer import SequentialSynthesizer, Synthesizer
    from molehill.synthesis.weighting import weight_likelihood
    from molehill.tables.formats.formats import read_table, write_table
    from molehill.tables.populations import consumer_survey, nb_mixture
    from molehill.tables.schema import infer_schema
    from molehill.tables.table import Table

__version__ = version("molehill")
__all__ = [
    "Evaluation",
    "EvaluationOptions",
    "InputError",
    "Intruder",
    "Measure",
    "SequentialSynthesizer",
    "Settings",
    "Synthesizer",
    "Table",
    "charts",
    "confidential_risk",
    "consumer_survey",
    "draw",
    "evaluate",
    "fit",
    "infer_schema",
    "match_rates",
    "models",
    "moles",
    "nb_mixture",
    "read_settings",
    "read_table",
    "release_risk",
    "risk_weights",
    "run",
    "sdc_methods",
    "synthesize",
    "utility",
    "weight_likelihood",
    "write_table",
]

# Where each name is defined. Loaded when asked for: the help of a command must not wait for pandas, nor risk for JAX.
_ON_DEMAND = {
    "SequentialSynthesizer": "synthesis.synthesizer",
    "Evaluation": "evaluation.evaluation",
    "EvaluationOptions": "evaluation.options",
    "InputError": "errors",
    "Intruder": "risk.intruder",
    "Measure": "evaluation.measure",
    "Settings": "plan.settings",
    "Synthesizer": "synthesis.synthesizer",
    "Table": "tables.table",
    "confidential_risk": "risk.identification",
    "consumer_survey": "tables.populations",
    "draw": "synthesis.fitting",
    "evaluate": "evaluation.evaluation",
    "fit": "synthesis.fitting",
    "infer_schema": "tables.schema",
    "match_rates": "risk.identification",
    "moles": "risk.moles",
    "nb_mixture": "tables.populations",
    "read_settings": "plan.settings",
    "read_table": "tables.formats.formats",
    "release_risk": "risk.identification",
    "risk_weights": "risk.identification",
    "run": "release.runs",
    "synthesize": "release.synthesize",
    "weight_likelihood": "synthesis.weighting",
    "write_table": "tables.formats.formats",
}


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(f"molehill.{_ON_DEMAND[name]}"), name)
    if name in __all__:
        return import_module(f"molehill.{name}")
    raise AttributeError(f"module 'molehill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
