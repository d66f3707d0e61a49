"""What a study found, and its tables: the paper's number, ours, and how far ours moves from run to run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from molehill import moles
from studies.paper.replicates import TABLES, Floats, PaperScheme, Study
from studies.paper.stages import Arrays

# The scheme that the others are compared with, and the confidential table where it stands beside schemes.
UNWEIGHTED, DATA = "Synthesizer", "Data"
# By name a number for each replicate, of risks (replicates, records).
RISK_NUMBERS = {
    "mean": lambda risk: risk.mean(axis=1),
    "interquartile range": lambda risk: np.subtract(*np.quantile(risk, [0.75, 0.25], axis=1)),
    "largest": lambda risk: risk.max(axis=1),
    "records above 0.5": lambda risk: (risk > 0.5).sum(axis=1).astype(np.float64),
}


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
        By name how the records were weighted; risk is told at the radius of the weights.
    fits
        By name the fits of a scheme, each as of `measure_scheme`; the first has the most replicates.
    printed_on
        Whether the data are those that the paper printed its numbers of.
    """

    study: Study
    data: pd.DataFrame
    confidential: Arrays
    schemes: Mapping[str, PaperScheme]
    fits: Mapping[str, Sequence[Arrays]]
    printed_on: bool

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self.data)

    @property
    def values(self) -> Floats:
        """The confidential values of the sensitive column."""
        return self.data[self.study.survey.sensitive].to_numpy(np.float64)

    def runs(self, scheme: str, measure: str) -> Floats:
        """One number per replicate, those of all fits in a row."""
        return np.concatenate([arrays[measure] for arrays in self.of(scheme)])

    def risks(self, scheme: str, radius: float | None = None) -> Floats:
        """Realised risk, (replicates, records), of all fits."""
        return self.runs(scheme, f"risk/{self.schemes[scheme].radius if radius is None else radius}")

    def risk(self, scheme: str, name: str = "mean", radius: float | None = None) -> Floats:
        """One of `RISK_NUMBERS`, by replicate."""
        return RISK_NUMBERS[name](self.risks(scheme, radius))

    def estimate(self, scheme: str, name: str, *, tables: int = TABLES, way: str = "pooled") -> Floats:
        """Point, low and high of an estimate, (replicates, 3), of all fits; combined where it is not pooled."""
        fits = self.of(scheme)
        key = f"{way}/{name}" if f"{way}/{name}" in fits[0] else f"combined/{name}"
        numbers = (1,) if scheme == DATA else self.schemes[scheme].tables
        # What is always one table, or was measured at one number of them, stands beside every number.
        place = numbers.index(tables) if len(numbers) > 1 else 0
        return np.concatenate([arrays[key][place] for arrays in fits])

    def of(self, scheme: str) -> Sequence[Arrays]:
        """Give the fits of a scheme, or what is known of the data."""
        return [self.confidential] if scheme == DATA else self.fits[scheme]

    def rises(self, scheme: str) -> Floats:
        """Count the records that rise by more than the step, replicate by replicate."""
        radius = self.schemes[scheme].radius
        own, other = self.risks(scheme, radius), self.risks(UNWEIGHTED, radius)
        return (own[: len(other)] - other[: len(own)] > self.study.step).sum(axis=1).astype(np.float64)

    def chance_rises(self, radius: float) -> Floats:
        """Count the same between two runs of the unweighted scheme."""
        risk = self.risks(UNWEIGHTED, radius)
        return (risk - np.roll(risk, 1, axis=0) > self.study.step).sum(axis=1).astype(np.float64)


def run_spread(values: Sequence[float] | Floats) -> float:
    """Standard deviation over replicates; 0 where nothing is random."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def ecdf_table(results: Results, printed: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """U_m and U_a of every scheme."""
    rows = []
    for scheme, fits in results.fits.items():
        for measure, paper in zip(("U_m", "U_a"), printed.get(scheme, (np.nan, np.nan)), strict=True):
            values = results.runs(scheme, measure)
            row = {"scheme": scheme, "measure": measure, "paper": paper, **_ours(values)}
            row["spread_of_fits"] = run_spread([arrays[measure].mean() for arrays in fits]) if len(fits) > 1 else np.nan
            known = row["spread"] > 0 and results.printed_on
            rows.append(row | {"paper_away_in_spreads": (paper - row["ours"]) / row["spread"] if known else np.nan})
    return pd.DataFrame(rows)


def estimates_table(
    results: Results,
    printed: Mapping[tuple[str, int], Mapping[str, tuple[float, float, float]]],
    wanted: Sequence[tuple[str, int]] | None = None,
) -> pd.DataFrame:
    """Estimates of schemes at numbers of tables, by the paper's interval and by the combining rule.

    By default of the data and of every scheme at twenty tables.
    """
    rows = []
    for name in results.study.estimates:
        for scheme, tables in wanted or [(scheme, TABLES) for scheme in (DATA, *results.fits)]:
            paper = printed.get((scheme, tables), {}).get(name, (np.nan,) * 3)
            row: dict[str, Any] = {"estimate": name, "scheme": scheme, "tables": tables}
            row |= dict(zip(("paper", "paper_low", "paper_high"), paper, strict=True))
            for way in ("pooled", "combined"):
                point, low, high = results.estimate(scheme, name, tables=tables, way=way).T
                ends = (float(low.mean()), float(high.mean()))
                row |= {f"{way}_low": ends[0], f"{way}_high": ends[1], f"{way}_length": ends[1] - ends[0]}
                row[f"{way}_length_spread"] = run_spread(high - low)
                row |= _ours(point) if way == "pooled" else {}
            rows.append(row)
    return pd.DataFrame(rows)


def risk_table(results: Results, printed_iqr: Mapping[str, float]) -> pd.DataFrame:
    """How risk is spread over the records under every scheme, at the radius of its weights."""
    rows = []
    for scheme in results.fits:
        for name in RISK_NUMBERS:
            paper = printed_iqr.get(scheme, np.nan) if name == "interquartile range" else np.nan
            row = {"scheme": scheme, "radius": results.schemes[scheme].radius, "measure": name, "paper": paper}
            rows.append(row | _ours(results.risk(scheme, name)))
    return pd.DataFrame(rows)


def rises_table(results: Results, schemes: Sequence[str]) -> pd.DataFrame:
    """Records whose risk rises against the unweighted scheme, beside what chance alone gives, and true moles."""
    rows = []
    for scheme in schemes:
        radius, step = results.schemes[scheme].radius, results.study.step
        counts, chance = results.rises(scheme), results.chance_rises(radius)
        keys = (f"expected/{radius}", f"expected_error/{radius}")
        found = moles(*(results.fits[name][0][key] for name in (scheme, UNWEIGHTED) for key in keys), step=step)
        row = {"scheme": scheme, "radius": radius, "step": step, "rises": counts.mean(), "spread": run_spread(counts)}
        row |= {"by_chance": chance.mean(), "by_chance_spread": run_spread(chance)}
        rows.append(row | {"largest_expected_rise": float(found.rise.max()), "moles": found.number})
    return pd.DataFrame(rows)


def fits_table(results: Results) -> pd.DataFrame:
    """Whether the fits can be trusted."""
    rows = []
    for scheme, fits in results.fits.items():
        for number, arrays in enumerate(fits, 1):
            if "rhat" in arrays:
                row = {"scheme": scheme, "fit": number, "rhat": float(arrays["rhat"])}
                row |= {"effective_size": float(arrays["effective_size"]), "converged": bool(arrays["converged"])}
                rows.append(row | {"mean_weight": float(arrays["weights"].mean())})
    return pd.DataFrame(rows)


def _ours(values: Floats) -> dict[str, float]:
    return {"ours": float(values.mean()), "spread": run_spread(values)}
