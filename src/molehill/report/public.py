"""What the public edition of a report may know: an allow-list. What is new, and not marked public, stays inside.

The edition is drawn from the dossier that `redact` gives, so that what was left out cannot be shown by mistake.
"""

import numpy as np
import pandas as pd

from molehill.evaluation.evaluation import CONFIDENTIAL, Evaluation
from molehill.evaluation.measure import FEW
from molehill.plan.settings import COMPARED
from molehill.report.dossier import Dossier
from molehill.report.numbers import round_count
from molehill.risk.profile import count_bins

RELEASED = "this release"
FACTS = ("records", "patterns", "tables", "words", "versions", "made")
FITS = ("scheme", "converged", "effective_size", "largest_rhat")
# What each policy means, for readers who have not read the documentation; only those named here are published.
POLICIES = {
    "alone in the pattern": "nobody shares the known values: identified whatever is released about the value",
    "in a pattern smaller than the order": "too few others for risk of this order",
    "in a pattern as small as the order": "risk of this order is 0 by its definition, and the weight 1",
    "negative value": "close is measured by the size of the value",
    "ball without width": "zero, or close to nothing: only equal values are close",
    "ball widened to the floor": "the least radius was used",
    "missing known value": "missing is a category of its own",
    "missing sensitive value": "released as missing; without risk and weight",
}


def redact(dossier: Dossier) -> Dossier:
    """Give of a dossier what may be published.

    What stays: of the evaluation, the measures that are marked public, of all records; estimates of the release alone;
    mean risk by the size of values, in ranges of 10 records and more. Of the settings those marked public; of the fits
    whether they converged; and the facts and policies that are named in this module. All else goes: whatever is about
    single records, the seed, what was tuned, and what a search found. A name of a scheme that tells what was tuned is
    replaced: the release becomes "this release".
    """
    names = public_names(dossier)
    whole, measures = dossier.evaluation, _public_measures(dossier)
    utility = whole.utility[whole.utility["scheme"] != CONFIDENTIAL]
    by_size = whole.groups[(whole.groups["by"] == "size") & (whole.groups["records"] >= FEW)]
    evaluation = Evaluation(
        _rename(_public_rows(whole.risk, measures, dossier.scheme), names),
        _rename(_public_rows(utility, measures, dossier.scheme), names),
        _rename(by_size[by_size["measure"].isin(measures["id"])].assign(records=np.nan), names),
        whole.top.iloc[:0],
        whole.records.iloc[:0],
        measures,
    )
    facts = {name: dossier.facts[name] for name in FACTS}
    return Dossier(
        dossier.settings.public,
        names[dossier.scheme],
        evaluation,
        dossier.weights.iloc[:0],
        _rename(dossier.fits[[name for name in FITS if name in dossier.fits]], names),
        dossier.diagnostics.iloc[:0],
        {name: number for name, number in dossier.policies.items() if name in POLICIES},
        {**facts, "made": f"{facts['made']}"[:10]},
    )


def public_names(dossier: Dossier) -> dict[str, str]:
    """Give every scheme the name that it has in public: its own only where settings know it by that."""
    names = [CONFIDENTIAL, *dossier.evaluation.schemes, *map(str, dossier.fits.get("scheme", []))]
    others = [name for name in dict.fromkeys(names) if name not in (CONFIDENTIAL, dossier.scheme, *COMPARED)]
    own = dossier.scheme if dossier.scheme in COMPARED else RELEASED
    numbered = {name: f"scheme {place}" for place, name in enumerate(others, 1)}
    return {name: name for name in names} | numbered | {dossier.scheme: own}


def public_bins(dossier: Dossier) -> dict[str, pd.DataFrame]:
    """Count the records in bins of risk, by scheme: in tens, without the bins that hold fewer than ten."""
    records, names = dossier.evaluation.records, public_names(dossier)
    bins = {}
    for scheme, rows in records.groupby("scheme", sort=False):
        risk = rows["risk"].to_numpy(dtype=np.float64)
        bins[names[f"{scheme}"]] = _in_tens(count_bins(risk[~np.isnan(risk)]))
    return bins


def _in_tens(bins: pd.DataFrame) -> pd.DataFrame:
    counts = [0 if count < FEW else round_count(count) for count in bins["records"]]
    share = np.array(counts) / max(sum(counts), 1)
    return bins.assign(records=counts, share=share.round(3))


def _public_measures(dossier: Dossier) -> pd.DataFrame:
    """Measures that may be published, and rest on enough records."""
    measures = dossier.evaluation.measures
    return measures[measures["public"] & (measures["least_records"] <= int(dossier.facts["records"]))]


def _public_rows(frame: pd.DataFrame, measures: pd.DataFrame, released: str) -> pd.DataFrame:
    """Rows of public measures, of all records, and of those for the release alone no others."""
    of_release = measures.loc[measures["release_only"], "id"]
    kept = frame["measure"].isin(measures["id"]) & (frame["group"] == "")
    return frame[kept & ((frame["scheme"] == released) | ~frame["measure"].isin(of_release))]


def _rename(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    return frame.assign(scheme=frame["scheme"].map(names)).reset_index(drop=True)
