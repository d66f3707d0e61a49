"""Evaluations of a few figures that are said, and not measured."""

from functools import cache

import pandas as pd

from molehill.evaluation.catalogue import MEASURES
from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import COLUMNS, describe_measures
from molehill.evaluation.scorecard import describe_rules, read_bounds, set_rules

NAN = float("nan")
FINE = {
    "risk_mean": (0.12, 0.11, 0.13),
    "combined_mean": (0.13, 0.12, 0.14),
    "matches_true": (0.002, 0.001, 0.003),
    "isolated_mean": (0.05, 0.04, 0.06),
    "largest_mean": (0.04, 0.03, 0.05),
    "U_m": (0.02, 0.018, 0.022),
    "U_m_benchmark": (0.016, NAN, NAN),
    "pmse_ratio": (1.2, 1.0, 1.4),
    "overlap": (0.9, NAN, NAN),
    "spread_ratio": (0.97, 0.95, 0.99),
    "reach_ratio": (1.5, NAN, NAN),
}


@cache
def _about():
    """The family and the words of every measure."""
    return describe_measures(MEASURES).set_index("id")[["family", "label"]].to_dict()


@cache
def _rules():
    return describe_rules(set_rules(read_bounds({}), MEASURES))


def evaluation(bounds=None, **schemes):
    """An evaluation of a confidential table with mean risk 0.87, and of schemes by their measures."""
    about = _about()
    rows = {"risk": [], "utility": []}
    for scheme, measures in {"confidential": {"risk_mean": (0.87, NAN, NAN)}, **schemes}.items():
        for name, ends in measures.items():
            of = {
                "overlap": "mean of income",
                "overlap_benchmark": "mean of income",
                "pmse_ratio": "logistic",
                "reach_ratio": "largest",
                "reach_ratio_benchmark": "largest",
            }.get(name, "")
            row = (scheme, "income", name, of, NAN, "", about["label"][name], *ends)
            rows[about["family"][name]].append(row)
    frames = {name: pd.DataFrame(found, columns=COLUMNS) for name, found in rows.items()}
    nothing = pd.DataFrame()
    rules = describe_rules(set_rules(read_bounds(bounds), MEASURES)) if bounds else _rules()
    return Evaluation(**frames, groups=nothing, top=nothing, records=nothing, rules=rules)
