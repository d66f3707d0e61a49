"""What a study found, and its tables: the paper's number, ours, and how far ours moves from run to run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill.reproduction.paper import Interval
from molehill.reproduction.replicates import TABLES, Study
from molehill.reproduction.stages import Arrays
from molehill.risk.moles import moles
from molehill.utility.sides import Floats

# The scheme that the others are compared with.
UNWEIGHTED = "Synthesizer"
Measure = Callable[[Arrays], Floats]


@dataclass(frozen=True, eq=False)
class Results:
    """All that a study measured.

    Attributes
    ----------
    study, data
        What was measured, of which table.
    confidential
        Of the table itself, as of `measure_data`.
    schemes
        By name the fits of a scheme, each as of `measure_scheme`; the first has the most replicates.
    tables
        Numbers of tables in a release that estimates were made of.
    radius
        At which the risk of a scheme is told: that of its weights.
    printed_on
        Whether the data are those that the paper printed its numbers of.
    """

    study: Study
    data: pd.DataFrame
    confidential: Arrays
    schemes: Mapping[str, Sequence[Arrays]]
    tables: tuple[int, ...]
    radius: Mapping[str, float]
    printed_on: bool

    def runs(self, scheme: str, measure: Measure) -> Floats:
        """One number per replicate, those of all fits in a row."""
        return np.concatenate([np.atleast_1d(measure(arrays)) for arrays in self.schemes[scheme]])

    def risks(self, scheme: str, radius: float | None = None) -> Floats:
        """Realised risk, (replicates, records), of all fits."""
        key = f"risk/{self.radius[scheme] if radius is None else radius}"
        return np.concatenate([arrays[key] for arrays in self.schemes[scheme]])

    def estimate(self, scheme: str, name: str, *, tables: int = TABLES, way: str = "pooled") -> Floats:
        """Point, low and high of an estimate, (replicates, 3), of all fits."""
        way = way if f"{way}/{name}" in self.schemes[scheme][0] else "combined"
        place = self.tables.index(tables) if tables in self.tables else 0
        parts = [arrays[f"{way}/{name}"] for arrays in self.schemes[scheme]]
        return np.concatenate([part[min(place, len(part) - 1)] for part in parts])


def spread(values: Floats) -> float:
    """Standard deviation over replicates; 0 where nothing is random."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def ecdf_table(results: Results, printed: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """U_m and U_a of every scheme."""
    rows = []
    for scheme in results.schemes:
        for place, measure in enumerate(("U_m", "U_a")):
            paper = printed.get(scheme, (np.nan, np.nan))[place]
            rows.append(
                {"scheme": scheme, "measure": measure} | _row(results, scheme, lambda a, m=measure: a[m], paper)
            )
    return pd.DataFrame(rows)


def estimates_table(
    results: Results, printed: Mapping[str, Mapping[str, Interval]], *, tables: int = TABLES
) -> pd.DataFrame:
    """Estimates of every scheme at one number of tables, by the paper's interval and by the combining rule."""
    rows = []
    for name in results.study.estimates:
        for scheme in ("Data", *results.schemes):
            paper = printed.get(scheme, {}).get(name)
            row: dict[str, Any] = {"estimate": name, "scheme": scheme, "tables": tables}
            row |= {"paper": np.nan, "paper_low": np.nan, "paper_high": np.nan}
            if paper is not None:
                row |= {"paper": paper.point, "paper_low": paper.low, "paper_high": paper.high}
            for way in ("pooled", "combined"):
                if scheme == "Data":
                    key = f"{way}/{name}" if f"{way}/{name}" in results.confidential else f"combined/{name}"
                    found = results.confidential[key][None]
                else:
                    found = results.estimate(scheme, name, tables=tables, way=way)
                low, high = found[:, 1].mean(), found[:, 2].mean()
                row |= {f"{way}_low": low, f"{way}_high": high, f"{way}_length": high - low}
                row[f"{way}_length_spread"] = spread(found[:, 2] - found[:, 1])
                if way == "pooled":
                    row |= {"ours": found[:, 0].mean(), "spread": spread(found[:, 0])}
            rows.append(row)
    return pd.DataFrame(rows)


def risk_table(results: Results, printed_iqr: Mapping[str, float]) -> pd.DataFrame:
    """How risk is spread over the records under every scheme, at the radius of its weights."""
    rows = []
    for scheme in results.schemes:
        risk = results.risks(scheme)
        quarter, three = np.quantile(risk, [0.25, 0.75], axis=1)
        measured = {
            "mean": risk.mean(axis=1),
            "interquartile range": three - quarter,
            "largest": risk.max(axis=1),
            "records above 0.5": (risk > 0.5).sum(axis=1),
        }
        for measure, values in measured.items():
            paper = printed_iqr.get(scheme, np.nan) if measure == "interquartile range" else np.nan
            row = {"scheme": scheme, "radius": results.radius[scheme], "measure": measure, "paper": paper}
            rows.append(row | {"ours": float(values.mean()), "spread": spread(values)})
    return pd.DataFrame(rows)


def rises_table(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Records whose risk rises against the unweighted scheme, beside what chance alone gives, and true moles."""
    rows = []
    for scheme in schemes:
        radius = results.radius[scheme]
        counts, chance = count_rises(results, scheme), chance_rises(results, radius)
        own, other = results.schemes[scheme][0], results.schemes[UNWEIGHTED][0]
        keys = (f"expected/{radius}", f"expected_error/{radius}")
        found = moles(*(own[key] for key in keys), *(other[key] for key in keys), step=results.study.step)
        row = {"scheme": scheme, "radius": radius, "step": results.study.step}
        row |= {"rises": counts.mean(), "spread": spread(counts), "by_chance": chance.mean()}
        row |= {"by_chance_spread": spread(chance), "largest_expected_rise": float(found.rise.max())}
        rows.append(row | {"moles": found.number})
    return pd.DataFrame(rows)


def count_rises(results: Results, scheme: str) -> Floats:
    """Number of records that rise by more than the step, replicate by replicate."""
    radius = results.radius[scheme]
    own, other = results.risks(scheme, radius), results.risks(UNWEIGHTED, radius)
    return (own[: len(other)] - other[: len(own)] > results.study.step).sum(axis=1).astype(np.float64)


def chance_rises(results: Results, radius: float) -> Floats:
    """The same number between two runs of the unweighted scheme."""
    risk = results.risks(UNWEIGHTED, radius)
    return (risk - np.roll(risk, 1, axis=0) > results.study.step).sum(axis=1).astype(np.float64)


def fits_table(results: Results) -> pd.DataFrame:
    """Whether the fits can be trusted."""
    rows = []
    for scheme, fits in results.schemes.items():
        for number, arrays in enumerate(fits, 1):
            if "rhat" in arrays:
                row = {"scheme": scheme, "fit": number, "rhat": float(arrays["rhat"])}
                row |= {"effective_size": float(arrays["effective_size"]), "converged": bool(arrays["converged"])}
                rows.append(row | {"mean_weight": float(arrays["weights"].mean())})
    return pd.DataFrame(rows)


def _row(results: Results, scheme: str, measure: Measure, paper: float) -> dict[str, float]:
    values = results.runs(scheme, measure)
    means = np.array([float(np.mean(measure(arrays))) for arrays in results.schemes[scheme]])
    ours, sd = float(values.mean()), spread(values)
    of_fits = spread(means) if len(means) > 1 else np.nan
    away = (paper - ours) / sd if sd > 0 and results.printed_on else np.nan
    return {"paper": paper, "ours": ours, "spread": sd, "spread_of_fits": of_fits, "paper_away_in_spreads": away}
