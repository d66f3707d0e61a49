"""Convergence diagnostics of label-invariant functionals: R-hat, effective sample size, divergences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from arviz_stats.base.array import array_stats

if TYPE_CHECKING:
    from molehill.synthesis.sampling.chains import Run

HIGHEST_RHAT = 1.02
LEAST_BULK = 200
LEAST_TAIL = 100
LARGEST_DIVERGENT_SHARE = 0.01
# Share of the functionals that must mix before others may be excused by their tolerances.
LEAST_MIXED = 0.5


class ConvergenceWarning(UserWarning):
    """A fit has not converged; `draw` raises an error for it."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """Convergence diagnostics of a fit.

    Attributes
    ----------
    table
        One row per functional: mean, sd, R-hat (rank-normalized, split), bulk and tail effective sample size, Monte
        Carlo standard error of the mean; `apart`, the range of the means of half chains; its `tolerance`; and
        `decides`, whether the functional counts: not if it has not mixed but lies within its tolerance.
    divergent
        Share of divergent trajectories.
    accept
        Mean acceptance probability.
    gradients
        Gradient evaluations after warm-up, of all chains.
    sweeps
        Sweeps per chain after warm-up; more than the draws if the run was extended, see `fit`.
    seconds
        Wall time by stage.
    problems
        Problems and remedies; empty if the fit can be used.
    remarks
        Remarks that do not affect released datasets.
    """

    table: pd.DataFrame
    divergent: float
    accept: float
    gradients: int
    sweeps: int
    seconds: Mapping[str, float]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def effective_size(self) -> float:
        """Smallest bulk effective sample size over the functionals that count; 0 if there is none."""
        return float(np.nan_to_num(self.table.loc[self.table["decides"], "bulk"].min()))

    @property
    def largest_rhat(self) -> float:
        """Largest R-hat over the functionals that count."""
        return float(self.table.loc[self.table["decides"], "rhat"].max())

    def is_hopeless(self, longer: float, effective: int) -> bool:
        """Whether chains `longer` times as long would still be too short, as chains in different modes are."""
        far = self.table["apart"] > self.table["tolerance"]
        return bool((far & (self.table["bulk"] * longer < effective)).any())


def diagnose(run: "Run", *, tolerances: Mapping[str, float] = {}, effective: int = LEAST_BULK) -> Diagnostics:
    """Compute the convergence diagnostics of a run.

    Parameters
    ----------
    run
        Its functionals are (chains, draws, number).
    tolerances
        By functional, the largest range of the means of half chains that does not affect released datasets: infinite
        for functionals that no dataset depends on, 0 for those not named. Used if chains lie in different modes, and at
        least half of the functionals mix.
    effective
        Required bulk effective sample size.
    """
    names, columns, allowed = [], [], []
    for name, values in run.functionals.items():
        flat = values.reshape(*values.shape[:2], -1)
        names += [f"{name}[{i}]" if flat.shape[2] > 1 else name for i in range(flat.shape[2])]
        allowed += [tolerances.get(name, 0.0)] * flat.shape[2]
        columns.append(flat)
    chains = np.concatenate(columns, axis=2).astype(np.float64)
    axes: dict[str, Any] = {"chain_axis": 0, "draw_axis": 1}
    # A constant functional has no R-hat.
    moving = (chains.max(axis=(0, 1)) > chains.min(axis=(0, 1))) & np.isfinite(chains).all(axis=(0, 1))
    # Infinite values, and chains that are constant at different values, are reported as problems.
    with np.errstate(divide="ignore", invalid="ignore"):
        table = pd.DataFrame({"mean": chains.mean(axis=(0, 1)), "sd": chains.std(axis=(0, 1))}, index=pd.Index(names))
        measures = {
            "rhat": array_stats.rhat(chains[..., moving], **axes),
            "bulk": array_stats.ess(chains[..., moving], **axes),
            "tail": array_stats.ess(chains[..., moving], method="tail", prob=(0.05, 0.95), **axes),
            "error": array_stats.mcse(chains[..., moving], **axes),
        }
    for measure, values in measures.items():
        column = np.full(len(table), np.nan)
        column[moving] = values
        table[measure] = column
    half = max(chains.shape[1] // 2, 1)
    halves = np.concatenate([chains[:, :half].mean(axis=1), chains[:, -half:].mean(axis=1)])
    table["apart"], table["tolerance"] = np.ptp(halves, axis=0), allowed
    mixed = (table["rhat"] <= HIGHEST_RHAT) & (table["bulk"] >= effective) & (table["tail"] >= LEAST_TAIL)
    asked = np.isfinite(table["tolerance"])
    excused = ~mixed & (table["apart"] <= table["tolerance"]) & (mixed[moving & asked].mean() >= LEAST_MIXED)
    table["decides"] = asked & ~excused
    share = float(np.mean(run.divergent))
    modes = table.loc[moving & ~table["decides"] & (table["rhat"] > HIGHEST_RHAT), "rhat"]
    remarks = [] if modes.empty else [_describe_modes(modes)]
    broken = table.index[np.flatnonzero(~np.isfinite(chains).all(axis=(0, 1)))]
    problems = _find_problems(table[moving & table["decides"]], share, broken, effective)
    return Diagnostics(
        table,
        share,
        float(np.nanmean(run.accept)),
        run.gradients,
        run.sweeps,
        run.seconds,
        problems,
        () if problems else tuple(remarks),
    )


def trust_independent(functionals: Mapping[str, np.ndarray], seconds: Mapping[str, float]) -> Diagnostics:
    """Diagnostics of draws that are independent by construction.

    Parameters
    ----------
    functionals
        (1, draws, number) by name.
    seconds
        Wall time by stage.
    """
    rows = {}
    for name, values in functionals.items():
        flat = np.asarray(values, dtype=np.float64).reshape(values.shape[1], -1)
        for place in range(flat.shape[1]):
            label = f"{name}[{place}]" if flat.shape[1] > 1 else name
            spread = float(flat[:, place].std())
            rows[label] = {"mean": float(flat[:, place].mean()), "sd": spread, "error": spread / np.sqrt(len(flat))}
    number = next(iter(functionals.values())).shape[1]
    table = pd.DataFrame.from_dict(rows, orient="index")
    table = table.assign(rhat=1.0, bulk=float(number), tail=float(number), apart=0.0, tolerance=0.0, decides=True)
    return Diagnostics(table, 0.0, 1.0, 0, number, seconds, ())


def _describe_modes(rhats: pd.Series) -> str:
    worst = f"R-hat of {rhats.idxmax()} is {rhats.max():.3f}"
    return f"the chains are in different modes ({worst}), which differ by less than the tolerances in all functionals"


def _find_problems(table: pd.DataFrame, divergent: float, broken: pd.Index, effective: int) -> tuple[str, ...]:
    problems = []
    more = "run it longer (patience=, draws=)"
    if len(broken):
        problems.append(
            f"{len(broken)} functionals are not finite, for example {broken[0]}: check the data and the model, or give "
            "a value range"
        )
    elif not len(table):
        problems.append("no chain moved: check the data and the model, or use narrower priors")
    if table[["rhat", "bulk", "tail"]].isna().any(axis=None):
        problems.append(f"there are too few draws to assess convergence; {more}")
    if len(table) and table["rhat"].max() > HIGHEST_RHAT:
        problems.append(
            f"R-hat of {table['rhat'].idxmax()} is {table['rhat'].max():.3f}, above {HIGHEST_RHAT}: "
            f"the chains have not converged; {more}"
        )
    for measure, least in (("bulk", effective), ("tail", LEAST_TAIL)):
        if len(table) and table[measure].min() < least:
            problems.append(
                f"the {measure} effective size of {table[measure].idxmin()} is {table[measure].min():.0f}, "
                f"below {least}: {more}"
            )
    if divergent > LARGEST_DIVERGENT_SHARE:
        problems.append(f"{divergent:.1%} of the trajectories diverged: use narrower priors or fewer predictors")
    return tuple(problems)


def join_diagnostics(parts: Mapping[str, Diagnostics]) -> Diagnostics:
    """Combine the diagnostics of separately fitted parts."""
    tables = {
        name: part.table.rename(index=lambda functional, name=name: f"{name}.{functional}")
        for name, part in parts.items()
    }
    return Diagnostics(
        pd.concat(tables.values()),
        max(part.divergent for part in parts.values()),
        min(part.accept for part in parts.values()),
        sum(part.gradients for part in parts.values()),
        max(part.sweeps for part in parts.values()),
        {f"{name}, {stage}": s for name, part in parts.items() for stage, s in part.seconds.items()},
        tuple(f"{name}: {problem}" for name, part in parts.items() for problem in part.problems),
        tuple(f"{name}: {remark}" for name, part in parts.items() for remark in part.remarks),
    )
