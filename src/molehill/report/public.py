"""What the public edition of a report may know: the evidence without records, seed, thresholds and small cells.

The edition is drawn from the dossier that `redact` gives, so that what was taken out cannot be shown by mistake.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from molehill.dossier import Dossier
from molehill.evaluation.evaluation import CONFIDENTIAL, Evaluation
from molehill.plan.settings import SCHEMES
from molehill.risk.profile import count_bins

# Fewer records than this are never counted, nor is anything told that rests on them.
FEW = 10
RELEASED = "this release"
ESTIMATES = ("interval overlap of ", "width ratio of ", "relative bias of ")

_QUANTILE = re.compile(r"(\d+)% quantile of (expected )?risk")


def redact(dossier: Dossier) -> Dossier:
    """Take out of a dossier what is not for publication.

    What goes: every frame of records and weights, the lists of extreme records, the risk at other radii, the largest
    risk and quantiles of risk with fewer than 10 records beyond them, groups of fewer than 10 records and all groups by
    pattern, every estimate of the confidential table and of tables that are not published, the diagnosed functionals,
    from the settings the seed, the radius, the floor, scale and shift, the targets, the path and the groups, and all
    that a search found. A name of the release that tells its scale and shift becomes "this release".
    """
    tuned: dict[str, Any] = {"radius": 0.0, "floor": 0.0, "scale": 1.0, "shift": 0.0, "seed": None, "targets": ()}
    settings = replace(dossier.settings, **tuned, data=None, breaks={}, kinds={})
    names = public_names(dossier)
    whole = dossier.evaluation
    records = int(dossier.facts["records"])
    evaluation = Evaluation(
        _rename(whole.risk[[_is_public_risk(measure, records) for measure in whole.risk["measure"]]], names),
        _rename(_public_utility(whole.utility, dossier.scheme), names),
        _rename(_public_groups(whole.groups), names),
        whole.top.iloc[:0],
        whole.records.iloc[:0],
    )
    kept = [name for name in ("scheme", "converged", "effective_size", "largest_rhat") if name in dossier.fits]
    facts = {name: dossier.facts[name] for name in ("records", "patterns", "tables", "kind", "versions", "made")}
    return Dossier(
        settings,
        names[dossier.scheme],
        evaluation,
        dossier.weights.iloc[:0],
        _rename(dossier.fits[kept], names),
        dossier.diagnostics.iloc[:0],
        dossier.policies,
        {**facts, "made": f"{facts['made']}"[:10]},
    )


def public_names(dossier: Dossier) -> dict[str, str]:
    """Give every scheme the name that it has in public."""
    names = {name: name for name in (CONFIDENTIAL, *dossier.evaluation.schemes, *dossier.fits.get("scheme", []))}
    if dossier.scheme not in SCHEMES:
        names[dossier.scheme] = RELEASED
    return names


def public_bins(dossier: Dossier) -> dict[str, pd.DataFrame]:
    """Count the records in bins of risk, by scheme: in tens, without the bins that hold fewer than ten."""
    records, names = dossier.evaluation.records, public_names(dossier)
    bins = {}
    for scheme, rows in records.groupby("scheme", sort=False):
        risk = rows["risk"].to_numpy(dtype=np.float64)
        bins[names[f"{scheme}"]] = _in_tens(count_bins(risk[~np.isnan(risk)]))
    return bins


def round_count(count: float) -> int:
    """Round a count to tens, half of them up.

    Examples
    --------
    >>> round_count(25)
    30
    """
    return int(np.floor(count / FEW + 0.5)) * FEW


def _in_tens(bins: pd.DataFrame) -> pd.DataFrame:
    counts = [0 if count < FEW else round_count(count) for count in bins["records"]]
    share = np.array(counts) / max(sum(counts), 1)
    return bins.assign(records=counts, share=share.round(3))


def _is_public_risk(measure: str, records: int) -> bool:
    """Whether a measure is neither tuned nor a record's own."""
    if ", intruder radius " in measure or measure.startswith("largest "):
        return False
    found = _QUANTILE.fullmatch(measure)
    return found is None or min(int(found[1]), 100 - int(found[1])) / 100 * records >= FEW


def _public_utility(utility: pd.DataFrame, released: str) -> pd.DataFrame:
    """Leave out the confidential table's estimates, those of tables that are not published, and groups."""
    measures = utility["measure"]
    estimates = {
        name.removeprefix(start) for name in measures.unique() for start in ESTIMATES if name.startswith(start)
    }
    kept = (utility["scheme"] != CONFIDENTIAL) & ~measures.str.contains(", within ", regex=False)
    return utility[kept & (~measures.isin(estimates) | (utility["scheme"] == released))]


def _public_groups(groups: pd.DataFrame) -> pd.DataFrame:
    kept = groups[(groups["by"] != "pattern") & (groups["records"] >= FEW)]
    return kept.assign(records=np.nan)


def _rename(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    return frame.assign(scheme=frame["scheme"].map(lambda name: names.get(f"{name}", f"{name}"))).reset_index(drop=True)
