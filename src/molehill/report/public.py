"""What the public edition of a report may know: an allow-list. What is new, and not marked public, stays inside.

The edition is drawn from the dossier that `redact` gives: what was left out of it cannot be shown by mistake, and no
text, table or picture can tell a number more finely than it stands there. docs/leaves.md says what each reveals.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from molehill.evaluation.evaluation import Evaluation
from molehill.evaluation.measure import CONFIDENTIAL, FEW
from molehill.evaluation.telling import in_range, round_count, round_digits
from molehill.plan.settings import COMPARED
from molehill.report.dossier import Dossier
from molehill.risk.profile import count_bins

RELEASED = "this release"
# What is published beside measures and settings, each with what it reveals.
FACTS = {
    "records": "nothing: it is the number of rows of the tables; of new people, how many the model was fitted to",
    "tables": "nothing: they are there",
    "patterns": "how many different known values there are, which the columns that are kept show",
    "words": "what kind of model was fitted",
    "versions": "with which programs",
    "columns": (
        "the names of all columns of the confidential table, those that were dropped too, and their fates; which of "
        "those that are kept the model left out, for they say least of the replaced one; all else the tables show"
    ),
    "order": "that the file was sorted by a replaced column; told only if the records were put in another order",
    "shuffled": "whether the records stand in the order of the file",
    "replaced": "how many records have a value, which the tables show",
    "uneven": "of new people drawn from the population of a survey, how uneven its weights are, in tenths",
}
FITS = {
    "scheme": "which models were fitted for comparison",
    "converged": "whether the draws can be relied on",
    "effective_size": "how many draws they are worth, in hundreds",
    "largest_rhat": "how well the chains agree, in two digits",
}
PICTURES = {
    "histogram": "how many records have which risk, in tens, without bars of fewer than ten",
    "map": "mean risk and U_m of every scheme, as they stand in the tables of the report",
}
WEIGHTS = (
    "how many records count how much in the fit, in fifths and tens; roughly the scale and the shift of the weights"
)
BY_SIZE = (
    "that at least ten records have values of such a size, and the mean of their risk in tenths; the ends are "
    "round numbers, and those of the smallest range tell the typical size of the values"
)
# What each policy means, for readers who have not read the documentation.
POLICIES = {
    "unique in the pattern": "sample unique: identifiable by the key variables, whatever values are released",
    "in a pattern smaller than the order": "too few others for risk of this order",
    "in a pattern as small as the order": "too few others; with the paper's cover risk 0 and weight 1",
    "negative value": "close is measured by the size of the value",
    "radius of zero": "zero, or close to nothing: only equal values are close",
    "minimum radius used": "the least radius was used",
    "missing key variable": "missing is a category of its own",
    "missing sensitive value": "released as missing; without risk and weight",
}
# Those that the tables show. The others would tell how many values are negative, zero or small, or the order.
PUBLIC_POLICIES = {
    "unique in the pattern": "nothing: the columns that are kept show it",
    "missing key variable": "nothing: the tables show it",
    "missing sensitive value": "nothing: the tables show it, as values that are missing stay so",
}
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_TENTH = 0.1


def redact(dossier: Dossier) -> Dossier:
    """Give of a dossier what may be published, as coarsely as it may be published.

    What stays: of the evaluation, the measures that are marked public, of all records and about no column that was
    dropped; estimates of the release alone; mean risk by the size of values, in tenths and in ranges of 10 records and
    more. Of the settings those marked public; of the fits whether they converged; and the facts and policies that are
    named in this module. All else goes: whatever is about single records, the seed, what was tuned, and what a search
    found. Schemes are called by names that do not tell what was tuned: the release is "this release".
    """
    names, records = public_names(dossier), count_replaced(dossier)
    whole, measures = dossier.evaluation, _public_measures(dossier)
    utility = whole.utility[whole.utility["scheme"] != CONFIDENTIAL]
    by_size = whole.groups[(whole.groups["by"] == "size") & (whole.groups["records"] >= FEW)]
    if not whole.is_linked:
        by_size = by_size.iloc[:0]
    by_size = by_size[by_size["measure"].isin(measures["id"])].assign(records=np.nan, low=np.nan, high=np.nan)
    step = max(_TENTH, share_step(records))
    evaluation = Evaluation(
        _rename(_coarsen(_public_rows(whole.risk, measures, dossier), measures, records), names),
        _rename(_coarsen(_public_rows(utility, measures, dossier), measures, records), names),
        _rename(by_size.assign(value=[_nearest(value, step) for value in by_size["value"]]), names),
        whole.top.iloc[:0],
        whole.records.iloc[:0],
        measures,
        whole.shapes.iloc[:0],
    )
    return Dossier(
        dossier.settings.public,
        names[dossier.scheme],
        evaluation,
        dossier.weights.iloc[:0],
        _rename(_public_fits(dossier.fits), names),
        dossier.diagnostics.iloc[:0],
        {name: number for name, number in dossier.policies.items() if name in _shown_policies(dossier)},
        _public_facts(dossier),
    )


def public_names(dossier: Dossier) -> dict[str, str]:
    """Give every scheme the name that it has in public: its own only if it tells nothing that was tuned."""
    names = [CONFIDENTIAL, *dossier.evaluation.schemes, *map(str, dossier.fits.get("scheme", []))]
    others = [name for name in dict.fromkeys(names) if name not in (CONFIDENTIAL, dossier.scheme, *COMPARED)]
    numbered = {name: f"scheme {place}" for place, name in enumerate(others, 1)}
    return {name: name for name in names} | numbered | {dossier.scheme: RELEASED}


def public_bins(dossier: Dossier) -> dict[str, pd.DataFrame]:
    """Count the records in bins of risk, by scheme: in tens, without the bins that hold fewer than ten."""
    records, names = dossier.evaluation.records, public_names(dossier)
    bins = {}
    for scheme, rows in records.groupby("scheme", sort=False):
        risk = rows["risk"].to_numpy(dtype=np.float64)
        bins[names[f"{scheme}"]] = _in_tens(count_bins(risk[~np.isnan(risk)]))
    return bins


def count_replaced(dossier: Dossier) -> int:
    """How many records have a value that was replaced: those without one stay without."""
    facts = dossier.facts
    if "replaced" in facts:
        return int(facts["replaced"])
    # Where missing values are drawn too, every record is new.
    if dossier.is_ours and dossier.settings.missing_values == "model":
        return int(facts["records"])
    values = [name for name in dossier.weights if f"{name}".startswith("value")]
    return int(dossier.weights[values].notna().any(axis=1).sum())


def share_step(records: int) -> float:
    """Give the step in which shares are told: a hundredth, or as many of them as ten records are.

    Examples
    --------
    >>> share_step(6208), share_step(300)
    (0.01, 0.05)
    """
    return next((step for step in _STEPS if step * records >= FEW), 1.0)


def _public_facts(dossier: Dossier) -> dict[str, Any]:
    facts = {name: dossier.facts[name] for name in FACTS if name in dossier.facts}
    # To whoever has the tables in the order of the file, what the order tells would be a hint.
    order = list(facts["order"]) if facts["shuffled"] else []
    columns = [_public_column(row) for row in facts["columns"]]
    if not dossier.evaluation.is_linked:
        # Of new people the tables show nothing of the file.
        facts, order = {name: value for name, value in facts.items() if name != "patterns"}, []
    return {**facts, "order": order, "columns": columns, "replaced": count_replaced(dossier)}


def _public_column(row: Mapping[str, Any]) -> dict[str, Any]:
    """Of a column that is dropped its name alone; of the others also what the tables show, or what was decided."""
    shown = (
        ("column", "fate") if row["fate"] == "drop" else ("column", "label", "fate", "kind", "sensitive", "handling")
    )
    told = {name: row[name] for name in shown if name in row}
    # A single value below zero, or above 9,999, makes a number one of another kind: see `infer_kind`.
    number = {"kind": "number"} if told.get("kind") in ("continuous", "semicontinuous", "count") else {}
    return {"label": "", "kind": "", "sensitive": "", "handling": "", **told, **number}


def _shown_policies(dossier: Dossier) -> Iterable[str]:
    shown = dict(PUBLIC_POLICIES) if dossier.evaluation.is_linked else {}
    if dossier.settings.missing_values != "keep" and shown:
        del shown["missing sensitive value"]
    return shown


def _public_fits(fits: pd.DataFrame) -> pd.DataFrame:
    shown = fits[[name for name in FITS if name in fits]]
    coarse = {"effective_size": lambda size: np.floor(size / 100) * 100, "largest_rhat": lambda rhat: rhat.round(2)}
    return shown.assign(**{name: tell(shown[name]) for name, tell in coarse.items() if name in shown})


def _in_tens(bins: pd.DataFrame) -> pd.DataFrame:
    counts = [0 if count < FEW else round_count(count) for count in bins["records"]]
    share = np.array(counts) / max(sum(counts), 1)
    return bins.assign(records=counts, share=share.round(3))


def _public_measures(dossier: Dossier) -> pd.DataFrame:
    """Measures that may be published, and rest on enough records."""
    measures = dossier.evaluation.measures
    return measures[measures["public"] & (measures["least_records"] <= count_replaced(dossier))]


def _public_rows(frame: pd.DataFrame, measures: pd.DataFrame, dossier: Dossier) -> pd.DataFrame:
    """Rows of public measures, of all records, about no dropped column; of some, for the release alone."""
    of_release = measures.loc[measures["release_only"], "id"]
    kept = frame["measure"].isin(measures["id"]) & (frame["group"] == "")
    kept &= (frame["scheme"] == dossier.scheme) | ~frame["measure"].isin(of_release)
    # Whether a standard deviation comes out near that of the collected data, a single extreme value may decide.
    kept &= ~((frame["measure"] == "overlap") & frame["of"].astype(str).str.startswith("sd of "))
    # A coefficient can name the level of a column that nobody outside shall know.
    for name in dossier.settings.drop:
        kept &= ~frame["of"].astype(str).str.contains(rf"(?<!\w){re.escape(name)}(?!\w)", regex=True)
    return frame[kept]


def _coarsen(frame: pd.DataFrame, measures: pd.DataFrame, records: int) -> pd.DataFrame:
    units, coarse = (dict(zip(measures["id"], measures[name], strict=True)) for name in ("unit", "coarse"))
    ends = ["value", "low", "high"]
    rounded = [
        coarsen(units[row["measure"]], coarse[row["measure"]], (row[end] for end in ends), records)
        for row in frame.to_dict("records")
    ]
    return frame.assign(**dict(zip(ends, np.array(rounded).reshape(-1, 3).T, strict=True)))


def coarsen(unit: str, coarse: str, figure: Iterable[float], records: int) -> tuple[float, float, float]:
    """Round a figure, its value and the ends of its interval, to what may be published of it.

    Examples
    --------
    >>> coarsen("share", "", (0.1263, 0.1211, 0.1315), 6208)
    (0.13, 0.12, 0.14)
    >>> coarsen("share", "half", (0.43, 0.4, 0.5), 6208)
    (0.25, nan, nan)
    """
    value, low, high = (float(part) for part in figure)
    if coarse == "exact" or np.isnan(value):
        return value, low, high
    if coarse == "up":
        step = share_step(records)
        return max(_up(value, step), step), np.nan, np.nan
    if coarse:
        return in_range(coarse, value), np.nan, np.nan
    if unit == "share":
        step = share_step(records)
        return _nearest(value, step), 0.0 - _up(-low, step), _up(high, step)
    if unit in ("count", "expectation"):
        return _tens(value, records), _tens(low, records), _tens(high, records)
    return round_digits(value), round_digits(low), round_digits(high)


def _nearest(value: float, step: float) -> float:
    # Added to zero, a number that is nothing has no sign.
    return value if np.isnan(value) else 0.0 + round(round(value / step) * step, 2)


def _up(value: float, step: float) -> float:
    # What lies on a step stays there, whatever the last digits of the computer say.
    return value if np.isnan(value) else 0.0 + round(float(np.ceil(round(value / step, 9))) * step, 2)


def _tens(count: float, records: int) -> float:
    if np.isnan(count):
        return count
    return 0.0 if count < FEW else float(records) if count > records - FEW else float(round_count(count))


def _rename(frame: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    return frame.assign(scheme=frame["scheme"].map(names)).reset_index(drop=True)
