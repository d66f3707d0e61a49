"""Molehill: risk-weighted synthetic microdata, and the evidence to defend its release."""

from importlib.metadata import version

from molehill.errors import InputError
from molehill.frames import Table
from molehill.profile import profile_risk
from molehill.risk import confidential_risk, match_rates, release_risk
from molehill.schema import Schema, infer_schema
from molehill.table import read_table, write_table
from molehill.weights import risk_weights

__version__ = version("molehill")
__all__ = [
    "InputError",
    "Schema",
    "Table",
    "confidential_risk",
    "infer_schema",
    "match_rates",
    "profile_risk",
    "read_table",
    "release_risk",
    "risk_weights",
    "write_table",
]
